/* orders_score_test.c - the three scorers, with numbers computed by hand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/score.h"
#include "orders_help.h"

static struct order_line line(const char *id, const char *name, int64_t quantity, const char *size)
{
    return (struct order_line){.item_id = str_c(id),
                               .name = str_c(name),
                               .category = STR("C"),
                               .size = str_c(size),
                               .quantity = quantity};
}

static bool near(double a, double b)
{
    return a - b < 1e-9 && b - a < 1e-9;
}

TEST(an_order_is_scored_by_name_quantity_size_and_modifiers)
{
    static struct menu_modifier oat[] = {{STR_INIT("oat"), STR_INIT("Oat"), 0}};
    static struct menu_modifier two[] = {{STR_INIT("oat"), STR_INIT("Oat"), 0},
                                         {STR_INIT("x"), STR_INIT("X"), 0}};
    struct order want, got;
    struct order_line l;
    struct arena a;

    arena_init(&a, (size_t)1 << 20);
    order_init(&want, STR(""), &a);
    order_init(&got, STR(""), &a);
    CHECK(near(score_order(&want, &got), 1)); /* both orders are empty */
    l = line("a", "A", 2, "small");
    CHECK(order_add(&want, &l));
    CHECK(near(score_order(&want, &got), 0)); /* the line is missing */
    CHECK(order_add(&got, &l));
    CHECK(near(score_order(&want, &got), 1));
    got.lines[0].quantity = 4;
    CHECK(near(score_order(&want, &got), 0.85)); /* twice the quantity: 0.3 * 0.5 lost */
    got.lines[0].size = STR("large");
    CHECK(near(score_order(&want, &got), 0.75));
    got.lines[0].name = STR("B");
    CHECK(near(score_order(&want, &got), 0.35));
    got.lines[0] = l;
    want.lines[0].modifiers = oat;
    want.lines[0].modifier_count = 1;
    CHECK(near(score_order(&want, &got), 0.8)); /* Jaccard 0 */
    got.lines[0].modifiers = two;
    got.lines[0].modifier_count = 2;
    CHECK(near(score_order(&want, &got), 0.9)); /* Jaccard 1/2 */
    l = line("z", "Z", 1, "small");
    CHECK(order_add(&got, &l)); /* an extra line: the mean is over the ids of both orders */
    CHECK(near(score_order(&want, &got), 0.45));
    arena_release(&a);
}

TEST(two_sizes_of_an_item_are_paired_as_well_as_they_can_be)
{
    struct order want, got;
    struct order_line small = line("a", "A", 1, "small"), large = line("a", "A", 3, "large");
    struct arena a;

    arena_init(&a, (size_t)1 << 20);
    order_init(&want, STR(""), &a);
    order_init(&got, STR(""), &a);
    CHECK(order_add(&want, &small) && order_add(&want, &large));
    CHECK(order_add(&got, &large) && order_add(&got, &small));
    CHECK(near(score_order(&want, &got), 1));
    got.count = 1;
    CHECK(near(score_order(&want, &got), 0.5));
    arena_release(&a);
}

static double protocol(const char *messages, bool expects)
{
    double out;
    struct err e;

    CHECK_F(score_protocol(str_c(messages), expects, &out, &e), "%s", e.text);
    return out;
}

#define CALLS(calls) "{\"role\":\"assistant\",\"tool_calls\":[" calls "]}"
#define ADD_CALL(id)                                                                               \
    "{\"function\":{\"name\":\"add_item_to_order\",\"arguments\":\"{\\\"item_id\\\":\\\"" id       \
    "\\\",\\\"item_name\\\":\\\"Tea\\\"}\"}}"
#define LOOK_CALL "{\"function\":{\"name\":\"lookup_menu_item\",\"arguments\":\"{}\"}}"
#define FOUND(id)                                                                                  \
    "{\"role\":\"tool\",\"name\":\"lookup_menu_item\",\"content\":"                                \
    "\"{\\\"found\\\":true,\\\"item\\\":{\\\"item_id\\\":\\\"" id "\\\"}}\"}"

TEST(the_protocol_is_one_a_half_a_third_or_nothing)
{
    CHECK(near(protocol("[]", false), 1));
    CHECK(near(protocol("[]", true), 0));
    CHECK(near(protocol("[" CALLS(LOOK_CALL) "," FOUND("tea") "," CALLS(ADD_CALL("tea")) "]", true),
               1));
    CHECK(near(protocol("[" CALLS(LOOK_CALL "," ADD_CALL("tea")) "," FOUND("tea") "]", true), 0.5));
    CHECK(near(protocol("[" CALLS(LOOK_CALL) "," FOUND("tea") "," CALLS(
                            ADD_CALL("tea") "," ADD_CALL("cake")) "]",
                        true),
               0.3));
    CHECK(near(protocol("[" CALLS(ADD_CALL("tea")) "]", true), 0));
}

TEST(what_is_not_on_the_menu_is_made_up)
{
    struct order got;
    struct lane t;
    struct err e;
    double out;

    lane_begin(&t);
    order_init(&got, STR(""), &t.arena);
    CHECK(score_real(t.menu, STR("[" CALLS(ADD_CALL("tea")) "]"), &got, &out, &e));
    CHECK(near(out, 1));
    CHECK(score_real(t.menu, STR("[" CALLS(ADD_CALL("unicorn")) "]"), &got, &out, &e));
    CHECK(near(out, 0));
    CHECK(score_real(t.menu, STR("[" CALLS(ADD_CALL("coffee")) "]"), &got, &out, &e));
    CHECK(near(out, 0)); /* the id of one item with the name of another */
    got.lines[got.count++] = line("unicorn", "Unicorn", 1, "small");
    CHECK(score_real(t.menu, STR("[]"), &got, &out, &e));
    CHECK(near(out, 0));
    lane_end(&t);
}

TEST(a_line_of_utterances_is_read_or_refused_with_a_reason)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "JSON"},
        {"[]", "must be a JSON object"},
        {"{\"turns\":[\"x\"]}", "expected"},
        {"{\"turns\":[],\"expected\":[]}", "turns"},
        {"{\"turns\":[1],\"expected\":[]}", "turns"},
        {"{\"turns\":[\"x\"],\"expected\":[{\"item_id\":\"none\"}]}", "not on the menu"},
        {"{\"turns\":[\"x\"],\"expected\":[{\"item_id\":\"tea\",\"size\":\"huge\"}]}", "size"},
        {"{\"turns\":[\"x\"],\"expected\":[{\"item_id\":\"tea\",\"quantity\":0}]}", "quantity"},
        {"{\"turns\":[\"x\"],\"expected\":[{\"item_id\":\"tea\",\"quantity\":9000000000000000000}]"
         "}",
         "from 1 to 1000"},
        {"{\"turns\":[\"x\"],\"expected\":[{\"item_id\":\"tea\",\"modifiers\":[\"x\"]}]}",
         "modifier"},
    };
    struct orders_eval_case *c;
    struct lane t;
    struct err e;

    lane_begin(&t);
    c = arena_zero(&t.arena, 1, sizeof *c);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_F(!orders_eval_read(t.menu, str_c(bad[i].text), &t.arena, c, &e), "%s", bad[i].text);
        CHECK_F(str_find(str_c(e.text), str_c(bad[i].says)) != STR_NONE, "%s", e.text);
    }
    CHECK_F(orders_eval_read(t.menu,
                             STR("{\"id\":\"1\",\"utterance\":\"hi\",\"expected\":[{\"item_id\":"
                                 "\"coffee\",\"modifiers\":[\"oat milk\"]}]}"),
                             &t.arena,
                             c,
                             &e),
            "%s",
            e.text);
    CHECK_INT(c->turn_count, 1);
    CHECK_STR(c->expected.lines[0].size, "medium");
    CHECK_STR(c->expected.lines[0].modifiers[0].id, "oat");
    lane_end(&t);
}

TEST(a_modifier_that_is_expected_twice_counts_once)
{
    struct orders_eval_case *c;
    struct lane t;
    struct err e;

    lane_begin(&t);
    c = arena_zero(&t.arena, 1, sizeof *c);
    CHECK_F(orders_eval_read(t.menu,
                             STR("{\"utterance\":\"hi\",\"expected\":[{\"item_id\":\"coffee\","
                                 "\"modifiers\":[\"oat\",\"nosugar\",\"Oat Milk\"]}]}"),
                             &t.arena,
                             c,
                             &e),
            "%s",
            e.text);
    CHECK_INT(c->expected.lines[0].modifier_count, 2);
    CHECK(near(score_order(&c->expected, &c->expected), 1));
    lane_end(&t);
}

/* Another program may have written the line: neither sums nor prices may overflow. */
TEST(a_stored_line_out_of_range_is_damaged)
{
    static const struct {
        const char *quantity, *price;
        bool ok;
    } cases[] = {
        {"1000", "1.50", true},
        {"1", "null", true},
        {"1", "0", true},
        {"1001", "1.50", false},
        {"9223372036854775807", "1.50", false},
        {"0", "1.50", false},
        {"1.5", "1.50", false},
        {"1", "1e300", false},
        {"1", "-1e300", false},
        {"1", "-0.01", false},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct order o;
        struct arena a;
        char json[300];
        struct err e;

        (void)snprintf(json,
                       sizeof json,
                       "{\"order_id\":\"o\",\"items\":[{\"item_id\":\"i\",\"name\":\"n\","
                       "\"size\":\"s\",\"quantity\":%s,\"price\":%s}]}",
                       cases[i].quantity,
                       cases[i].price);
        arena_init(&a, (size_t)1 << 20);
        CHECK_F(order_read(str_c(json), &a, &o, &e) == cases[i].ok, "%s", json);
        CHECK(cases[i].ok || e.code == ERR_SYSTEM);
        arena_release(&a);
    }
}

TEST_MAIN(T(a_modifier_that_is_expected_twice_counts_once),
          T(a_stored_line_out_of_range_is_damaged),
          T(an_order_is_scored_by_name_quantity_size_and_modifiers),
          T(two_sizes_of_an_item_are_paired_as_well_as_they_can_be),
          T(the_protocol_is_one_a_half_a_third_or_nothing), T(what_is_not_on_the_menu_is_made_up),
          T(a_line_of_utterances_is_read_or_refused_with_a_reason))
