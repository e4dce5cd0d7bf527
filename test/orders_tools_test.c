/* orders_tools_test.c - the tools and their guards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "orders_help.h"

#include "gateway/retry.h"

#define LOOKUP(name) "lookup_menu_item {\"item_name\":\"" name "\"}"

static void begin_looked_up(struct lane *t)
{
    lane_begin(t);
    lane_customer(t);
    lane_batch(t,
               LOOKUP("coffee") "\n" LOOKUP("big breakfast") "\n" LOOKUP("Tea") "\n" LOOKUP(
                   "cake") "\n" LOOKUP("nine"));
}

/* ---- size is part of a line's identity ---- */

TEST(weak_1_a_medium_and_a_large_coffee_are_two_lines)
{
    struct lane t;

    begin_looked_up(&t);
    lane_batch(&t, ADD_COFFEE("") "\n" ADD_COFFEE(",\"size\":\"large\""));
    lane_batch(&t, ADD_COFFEE(",\"size\":\"Medium\",\"quantity\":2"));
    CHECK_INT(t.order.count, 2);
    CHECK_STR(t.order.lines[0].size, "medium");
    CHECK_INT(t.order.lines[0].quantity, 3);
    CHECK_STR(t.order.lines[1].size, "large");
    CHECK_INT(t.order.lines[1].quantity, 1);
    CHECK_INT(order_cents(&t.order), 900);
    lane_end(&t);
}

TEST(modifiers_are_a_set_and_part_of_the_identity)
{
    struct lane t;

    begin_looked_up(&t);
    lane_batch(&t, ADD_COFFEE(",\"modifiers\":[\"oat milk\",\"No Sugar\"]"));
    lane_batch(&t, ADD_COFFEE(",\"modifiers\":[\"nosugar\",\"oat\",\"oat\"]"));
    lane_batch(&t, ADD_COFFEE(",\"modifiers\":[{\"modifier_id\":\"oat\",\"name\":\"Oat Milk\"}]"));
    lane_batch(&t, ADD_COFFEE(",\"modifiers\":[]"));
    CHECK_INT(t.order.count, 3);
    CHECK_INT(t.order.lines[0].quantity, 2);
    CHECK_INT(t.order.lines[0].modifier_count, 2);
    CHECK_INT(t.order.lines[0].cents, 250);
    CHECK_INT(t.order.lines[1].modifier_count, 1);
    CHECK_INT(t.order.lines[2].modifier_count, 0);
    lane_end(&t);
}

/* ---- items that share a name ---- */

TEST(a_lookup_gives_all_items_of_a_name_and_each_can_be_added)
{
    struct lane t;

    lane_begin(&t);
    lane_batch(&t, LOOKUP("BIG breakfasts!"));
    CHECK(lane_says(&t, "\"found\":true") && lane_says(&t, "\"items\":["));
    CHECK(lane_says(&t, "\"big1\"") && lane_says(&t, "\"big2\""));
    lane_batch(&t, ADD("big2", "Big Breakfast", "Breakfast", ""));
    CHECK_INT(t.order.count, 1);
    CHECK_STR(t.order.lines[0].item_id, "big2");
    CHECK_STR(t.order.lines[0].size, "large");
    lane_end(&t);
}

TEST(a_lookup_that_finds_nothing_suggests_names)
{
    struct lane t;

    lane_begin(&t);
    lane_batch(&t, LOOKUP("iced coffee"));
    CHECK(lane_says(&t, "{\"found\":false,\"suggestions\":[\"Coffee\"]}"));
    lane_batch(&t, LOOKUP("qqq"));
    CHECK(lane_says(&t, "{\"found\":false,\"suggestions\":[]}"));
    /* An item that was only suggested does not count as looked up. */
    lane_batch(&t, ADD_COFFEE(""));
    CHECK(lane_says(&t, "was not looked up"));
    lane_end(&t);
}

/* ---- invalid size or quantity ---- */

TEST(weak_3_bad_arguments_are_errors_of_the_tool_and_never_a_crash)
{
    static const struct {
        const char *calls, *says;
    } cases[] = {
        {ADD_COFFEE(",\"size\":\"gigantic\""), "/size: there is no Coffee in size"},
        {ADD_COFFEE(",\"size\":7"), "/size"},
        {ADD_COFFEE(",\"size\":[]"), "/size"},
        {ADD_COFFEE(",\"quantity\":0"), "/quantity"},
        {ADD_COFFEE(",\"quantity\":-1"), "/quantity"},
        {ADD_COFFEE(",\"quantity\":1.5"), "/quantity"},
        {ADD_COFFEE(",\"quantity\":101"), "/quantity"},
        {ADD_COFFEE(",\"quantity\":1e9"), "/quantity"},
        {ADD_COFFEE(",\"quantity\":1e400"), "/quantity"},
        {ADD_COFFEE(",\"quantity\":9223372036854775808"), "/quantity"},
        {ADD_COFFEE(",\"quantity\":\"2\""), "/quantity"},
        {ADD_COFFEE(",\"quantity\":true"), "/quantity"},
        {ADD_COFFEE(",\"quantity\":{}"), "/quantity"},
        {ADD_COFFEE(",\"modifiers\":\"oat\""), "/modifiers"},
        {ADD_COFFEE(",\"modifiers\":[1]"), "/modifiers"},
        {ADD_COFFEE(",\"modifiers\":[{}]"), "/modifiers"},
        {ADD_COFFEE(",\"modifiers\":[\"bacon\"]"), "Oat Milk, No Sugar"},
        {ADD("tea", "Tea", "Drinks", ",\"modifiers\":[\"bacon\"]"), "what can: nothing"},
        {ADD("latte", "Latte", "Drinks", ""), "/item_id: nothing on the menu"},
        {ADD("coffee", "Tea", "Drinks", ""), "/item_name: the item coffee is called"},
        {ADD("coffee", "Coffee", "Sweets", ""), "/category_name"},
        {ADD("", "Coffee", "Drinks", ""), "/item_id: is missing"},
        {"add_item_to_order {}", "/item_id: is missing"},
        {"add_item_to_order {\"item_id\":null,\"item_name\":\"Tea\"}", "/item_id: is missing"},
        {"add_item_to_order {\"item_id\":\"tea\"}", "/item_name: is missing"},
        {"add_item_to_order {\"item_id\":{},\"item_name\":\"Tea\"}", "/item_id: must be a text"},
        {"add_item_to_order []", "must be one JSON object"},
        {"add_item_to_order {\"item_id\":", "are not JSON"},
        {"add_item_to_order null", "must be one JSON object"},
        {"lookup_menu_item {}", "/item_name: is missing"},
        {"lookup_menu_item {\"item_name\":[]}", "/item_name: must be a text"},
        {"lookup_menu_item {\"item_name\":\"  \"}", "/item_name: is missing"},
        {"drop_tables {}", "there is no tool"},
    };
    struct lane t;

    begin_looked_up(&t);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        lane_batch(&t, cases[i].calls);
        CHECK_F(lane_says(&t, "{\"error\":") && lane_says(&t, cases[i].says),
                "%s: " STR_FMT,
                cases[i].calls,
                STR_ARG(buf_str(&t.last)));
        CHECK_INT(t.order.count, 0);
    }
    lane_end(&t);
}

TEST(what_is_left_out_or_null_has_its_default)
{
    struct lane t;

    begin_looked_up(&t);
    lane_batch(&t, ADD_COFFEE(",\"size\":null,\"quantity\":null,\"modifiers\":null"));
    lane_batch(&t, ADD_COFFEE(",\"size\":\"\",\"quantity\":1.0"));
    lane_batch(
        &t,
        "add_item_to_order {\"item_id\":9,\"item_name\":\"nine\",\"category_name\":\"drinks\"}");
    CHECK_INT(t.order.count, 2);
    CHECK_STR(t.order.lines[0].size, "medium");
    CHECK_INT(t.order.lines[0].quantity, 2);
    CHECK_INT(order_cents(&t.order), MENU_NO_PRICE);
    lane_end(&t);
}

TEST(a_line_and_an_order_have_their_ceilings)
{
    struct lane t;
    struct buf many;

    begin_looked_up(&t);
    for (int i = 0; i < 12; i++)
        lane_batch(&t, ADD_COFFEE(",\"quantity\":100"));
    CHECK_INT(t.order.lines[0].quantity, ORDER_LINE_QUANTITY_MAX);
    CHECK(lane_says(&t, "/quantity: there are 1000"));
    buf_init(&many, 65536);
    for (int i = 0; i < TOOL_CALLS_MAX + 2; i++)
        buf_printf(&many, "%sget_current_order {}", i ? "\n" : "");
    buf_add_c(&many, '\0');
    lane_batch(&t, many.p);
    CHECK(lane_says(&t, "too many calls"));
    buf_release(&many);
    lane_end(&t);
}

/* ---- lookup before add ---- */

TEST(weak_6_lookup_first_is_a_guard)
{
    struct lane t;

    lane_begin(&t);
    lane_customer(&t);
    lane_batch(&t, ADD_COFFEE(""));
    CHECK(lane_says(&t, "was not looked up in this conversation"));
    lane_batch(&t, LOOKUP("tea"));
    lane_batch(&t, ADD_COFFEE(""));
    CHECK(lane_says(&t, "was not looked up"));
    /* In one batch with its lookup, the add was written without the lookup's result. */
    lane_batch(&t, LOOKUP("coffee") "\n" ADD_COFFEE(""));
    CHECK(lane_says(&t, "was not looked up"));
    CHECK_INT(t.order.count, 0);
    lane_customer(&t);
    lane_batch(&t, ADD_COFFEE(""));
    CHECK(lane_says(&t, "\"added\":true"));
    CHECK_INT(t.order.count, 1);
    lane_end(&t);
}

/* ---- finalizing is refused: an empty order, together with an add, unconfirmed ---- */

TEST(weak_5_an_empty_order_is_not_finalized)
{
    struct lane t;

    begin_looked_up(&t);
    lane_batch(&t, "get_current_order {}");
    lane_customer(&t);
    lane_batch(&t, "finalize_order {}");
    CHECK(lane_says(&t, "the order is empty"));
    CHECK(!t.order.finalized);
    lane_end(&t);
}

TEST(weak_4_nothing_is_finalized_in_the_batch_of_an_add)
{
    struct lane t;

    begin_looked_up(&t);
    lane_batch(&t, ADD_COFFEE(""));
    lane_batch(&t, "get_current_order {}");
    lane_customer(&t);
    lane_batch(&t, ADD("tea", "Tea", "Drinks", "") "\nfinalize_order {}");
    CHECK(lane_says(&t, "in the same step as something is added"));
    lane_batch(&t, "finalize_order {}\n" ADD_COFFEE(",\"quantity\":0"));
    CHECK(lane_says(&t, "in the same step as something is added"));
    CHECK(!t.order.finalized);
    lane_end(&t);
}

TEST(weak_7_a_customers_turn_after_get_current_order_is_what_confirms)
{
    struct lane t;

    begin_looked_up(&t);
    lane_batch(&t, ADD_COFFEE(""));
    lane_customer(&t);
    lane_batch(&t, "finalize_order {}");
    CHECK(lane_says(&t, "was not read back"));
    lane_batch(&t, "get_current_order {}\nfinalize_order {}");
    CHECK(lane_says(&t, "was not read back"));
    lane_batch(&t, "finalize_order {}");
    CHECK(lane_says(&t, "has not confirmed"));
    lane_customer(&t);
    lane_batch(&t, "finalize_order {}");
    CHECK(lane_says(&t, "{\"finalized\":true,\"total\":2.00}"));
    CHECK(t.order.finalized);
    lane_end(&t);
}

TEST(what_was_added_since_is_not_confirmed)
{
    struct lane t;

    begin_looked_up(&t);
    lane_batch(&t, ADD_COFFEE(""));
    lane_batch(&t, "get_current_order {}");
    lane_customer(&t);
    lane_batch(&t, ADD("tea", "Tea", "Drinks", ""));
    lane_batch(&t, "finalize_order {}");
    CHECK(lane_says(&t, "was not read back"));
    lane_customer(&t);
    lane_batch(&t, "finalize_order {}");
    CHECK(lane_says(&t, "was not read back"));
    /* An order read in one batch with an add was read without the added line. */
    lane_batch(&t, ADD("cake", "Cake", "Sweets", "") "\nget_current_order {}");
    lane_customer(&t);
    lane_batch(&t, "finalize_order {}");
    CHECK(lane_says(&t, "was not read back"));
    lane_batch(&t, "get_current_order {}");
    lane_customer(&t);
    lane_batch(&t, LOOKUP("tea"));
    lane_batch(&t, "finalize_order {}");
    CHECK(lane_says(&t, "\"finalized\":true"));
    lane_end(&t);
}

TEST(an_order_that_is_told_twice_is_confirmed_once)
{
    struct lane t;

    begin_looked_up(&t);
    lane_batch(&t, ADD_COFFEE(""));
    lane_batch(&t, "get_current_order {}");
    lane_customer(&t);
    lane_batch(&t, "get_current_order {}");
    lane_batch(&t, "finalize_order {}");
    CHECK(t.order.finalized);
    lane_end(&t);
}

TEST(a_finalized_order_is_closed)
{
    struct lane t;

    begin_looked_up(&t);
    lane_batch(&t, ADD_COFFEE(""));
    lane_batch(&t, "get_current_order {}");
    lane_customer(&t);
    lane_batch(&t, "finalize_order {}");
    CHECK(t.order.finalized);
    lane_customer(&t);
    lane_batch(&t, ADD("tea", "Tea", "Drinks", ""));
    CHECK(lane_says(&t, "is closed"));
    lane_batch(&t, "finalize_order {}");
    CHECK(lane_says(&t, "finalized already"));
    lane_batch(&t, "get_current_order {}");
    CHECK(lane_says(&t, "\"finalized\":true"));
    CHECK_INT(t.order.count, 1);
    lane_end(&t);
}

/* ---- removing and changing ---- */

TEST(an_item_is_removed_whole_or_by_pieces)
{
    struct lane t;

    begin_looked_up(&t);
    lane_batch(&t, ADD_COFFEE(",\"quantity\":3") "\n" ADD("tea", "Tea", "Drinks", ""));
    lane_batch(&t, "remove_item {\"item_id\":\"coffee\",\"quantity\":2}");
    CHECK(lane_says(&t, "\"removed\":true") && lane_says(&t, "\"left\":1}"));
    CHECK_INT(t.order.count, 2);
    CHECK_INT(t.order.lines[0].quantity, 1);
    lane_batch(&t, "remove_item {\"item_id\":\"coffee\",\"quantity\":2}");
    CHECK(lane_says(&t, "/quantity: must be a whole number from 1 to 1, got 2"));
    /* The second call of a batch sees the effect of the first. */
    lane_batch(&t, "remove_item {\"item_id\":\"coffee\"}\nremove_item {\"item_id\":\"coffee\"}");
    CHECK(lane_says(&t, "the order does not have this line"));
    CHECK_INT(t.order.count, 1);
    CHECK_STR(t.order.lines[0].item_id, "tea");
    lane_batch(&t, "remove_item {\"item_id\":\"tea\"}");
    CHECK_INT(t.order.count, 0);
    lane_end(&t);
}

TEST(lines_of_one_item_are_told_apart_by_size_and_modifiers)
{
    struct lane t;

    begin_looked_up(&t);
    lane_batch(&t,
               ADD_COFFEE("") "\n" ADD_COFFEE(",\"size\":\"large\"") "\n" ADD_COFFEE(
                   ",\"modifiers\":[\"oat\"]"));
    lane_batch(&t, "remove_item {\"item_id\":\"coffee\"}");
    CHECK(lane_says(&t, "several lines") && lane_says(&t, "1 x Coffee (large)"));
    lane_batch(&t, "remove_item {\"item_id\":\"coffee\",\"size\":\"medium\"}");
    CHECK(lane_says(&t, "several lines"));
    lane_batch(&t, "remove_item {\"item_id\":\"coffee\",\"size\":\"medium\",\"modifiers\":[]}");
    lane_batch(&t, "remove_item {\"item_id\":\"coffee\",\"size\":\"Large\"}");
    CHECK_INT(t.order.count, 1);
    CHECK_INT(t.order.lines[0].modifier_count, 1);
    lane_batch(&t, "remove_item {\"item_id\":\"coffee\",\"size\":\"huge\"}");
    CHECK(lane_says(&t, "/size: there is no Coffee in size"));
    lane_batch(&t, "remove_item {\"item_id\":\"latte\"}\nremove_item {}");
    CHECK(lane_says(&t, "nothing on the menu has this id") &&
          lane_says(&t, "/item_id: is missing"));
    lane_end(&t);
}

TEST(an_item_is_changed_in_its_place_and_merged_with_its_like)
{
    struct lane t;

    begin_looked_up(&t);
    lane_batch(&t, ADD_COFFEE(",\"modifiers\":[\"oat\"]") "\n" ADD("tea", "Tea", "Drinks", ""));
    lane_batch(&t, "change_item {\"item_id\":\"coffee\",\"quantity\":4,\"new_size\":\"large\"}");
    CHECK(lane_says(&t, "\"changed\":true"));
    CHECK_STR(t.order.lines[0].size, "large");
    CHECK_INT(t.order.lines[0].quantity, 4);
    CHECK_INT(t.order.lines[0].cents, 350); /* keeps the oat milk and its price */
    lane_batch(&t, "change_item {\"item_id\":\"coffee\",\"new_modifiers\":[]}");
    CHECK_INT(t.order.lines[0].modifier_count, 0);
    CHECK_INT(t.order.lines[0].cents, 300);
    lane_batch(&t, ADD_COFFEE(""));
    lane_batch(&t,
               "change_item {\"item_id\":\"coffee\",\"size\":\"medium\",\"new_size\":\"large\"}");
    CHECK_INT(t.order.count, 2);
    CHECK_INT(t.order.lines[0].quantity, 5);
    lane_batch(&t, "change_item {\"item_id\":\"tea\"}");
    CHECK(lane_says(&t, "nothing is to be changed"));
    lane_batch(&t, "change_item {\"item_id\":\"tea\",\"quantity\":0}");
    CHECK(lane_says(&t, "/quantity"));
    lane_batch(&t, "change_item {\"item_id\":\"tea\",\"new_modifiers\":[\"oat\"]}");
    CHECK(lane_says(&t, "cannot be had with Tea"));
    lane_end(&t);
}

/* The line is from a state that another program stored: a call could not name so many modifiers. */
TEST(a_line_with_many_modifiers_keeps_them_when_it_is_changed)
{
    enum { MANY = 600 };
    struct order_line line = {.item_id = STR("tea"),
                              .name = STR("Tea"),
                              .category = STR("Drinks"),
                              .size = STR("small"),
                              .quantity = 1};
    struct menu_item *tea = NULL;
    struct lane t;

    begin_looked_up(&t);
    for (size_t i = 0; i < t.menu->count; i++)
        if (str_eq(t.menu->items[i].id, line.item_id))
            tea = &t.menu->items[i];
    tea->modifiers = arena_zero(&t.arena, MANY, sizeof *tea->modifiers);
    for (; tea->modifier_count < MANY; tea->modifier_count++) {
        str name = arena_printf(&t.arena, "m%03zu", tea->modifier_count);

        tea->modifiers[tea->modifier_count] = (struct menu_modifier){name, name, 0};
    }
    line.modifiers = tea->modifiers;
    line.modifier_count = MANY;
    CHECK(order_add(&t.order, &line));
    lane_batch(&t, "change_item {\"item_id\":\"tea\",\"quantity\":2}");
    CHECK(lane_says(&t, "\"changed\":true"));
    CHECK_INT(t.order.lines[0].quantity, 2);
    CHECK_INT(t.order.lines[0].modifier_count, MANY);
    lane_end(&t);
}

TEST(what_was_removed_or_changed_since_is_not_confirmed)
{
    static const char *const calls[] = {"remove_item {\"item_id\":\"tea\"}",
                                        "change_item {\"item_id\":\"tea\",\"quantity\":2}"};

    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        struct lane t;

        begin_looked_up(&t);
        lane_batch(&t, ADD_COFFEE("") "\n" ADD("tea", "Tea", "Drinks", ""));
        lane_batch(&t, "get_current_order {}");
        lane_customer(&t);
        lane_batch(&t, calls[i]);
        lane_batch(&t, "finalize_order {}");
        CHECK(lane_says(&t, "was not read back"));
        lane_batch(&t, "get_current_order {}");
        lane_customer(&t);
        lane_batch(&t, "remove_item {\"item_id\":\"coffee\"}\nfinalize_order {}");
        CHECK(lane_says(&t, "in the same step"));
        CHECK(!t.order.finalized);
        lane_batch(&t, "get_current_order {}");
        lane_customer(&t);
        lane_batch(&t, i ? "finalize_order {}" : ADD_COFFEE(""));
        CHECK(t.order.finalized == (i == 1));
        lane_batch(&t, calls[1]);
        CHECK(lane_says(&t, i ? "is closed: nothing can be changed" : "does not have this line"));
        lane_end(&t);
    }
}

TEST(an_order_stays_within_its_limits)
{
    struct lane t;

    begin_looked_up(&t);
    t.limits.pieces = 5;
    lane_batch(&t, ADD_COFFEE(",\"quantity\":6"));
    CHECK(lane_says(&t, "an order has at most 5 pieces, and this one has 0: at most 5 more"));
    /* The limit applies to all calls of a batch together. */
    lane_batch(&t,
               ADD_COFFEE(",\"quantity\":3") "\n" ADD("tea", "Tea", "Drinks", ",\"quantity\":3"));
    CHECK(lane_says(&t, "at most 2 more"));
    CHECK_INT(order_quantity(&t.order), 3);
    lane_batch(&t, "change_item {\"item_id\":\"coffee\",\"quantity\":6}");
    CHECK(lane_says(&t, "at most 5 pieces"));
    t.limits = (struct order_limits){.cents = 700};
    lane_batch(&t, "change_item {\"item_id\":\"coffee\",\"new_size\":\"large\"}");
    CHECK(lane_says(&t, "an order costs at most 7.00, and with this it would cost 9.00"));
    lane_batch(&t, ADD("tea", "Tea", "Drinks", ",\"quantity\":2"));
    CHECK(lane_says(&t, "it would cost 8.00"));
    lane_batch(&t, ADD("tea", "Tea", "Drinks", ""));
    CHECK_INT(order_cents(&t.order), 700);
    /* After the limit was lowered, the order can only shrink, and is not finalized. */
    t.limits.cents = 500;
    lane_batch(&t, "get_current_order {}");
    lane_customer(&t);
    lane_batch(&t, "finalize_order {}");
    CHECK(lane_says(&t, "larger than orders may be"));
    lane_batch(&t, "change_item {\"item_id\":\"coffee\",\"quantity\":2}");
    CHECK_INT(order_cents(&t.order), 500);
    lane_end(&t);
}

TEST(a_tool_does_not_change_the_state_it_is_given)
{
    struct lane t;
    struct buf before, after;
    struct json_out o;

    begin_looked_up(&t);
    lane_batch(&t, ADD_COFFEE(""));
    for (int i = 0; i < 2; i++) {
        struct ask_call call = {STR("c"),
                                STR("add_item_to_order"),
                                STR("{\"item_id\":\"tea\","
                                    "\"item_name\":\"Tea\",\"category_name\":\"Drinks\"}")};
        struct facts f = {.batch = 1};
        struct tools_state s = {t.menu, &t.order, &f, &call, 1, {0, 0}, NULL};
        struct err e;

        map_init(&f.looked, NULL, 10);
        CHECK(map_set(&f.looked, STR("tea"), MAP_U64(1), &e));
        buf_init(&before, 65536);
        buf_init(&after, 65536);
        CHECK(tools_run(&s, &call, &before) && tools_run(&s, &call, &after));
        CHECK(str_eq(buf_str(&before), buf_str(&after)));
        map_release(&f.looked);
        buf_release(&before);
        buf_release(&after);
    }
    buf_init(&after, 65536);
    json_out_init(&o, &after);
    order_write(&o, &t.order, true);
    CHECK_STR(buf_str(&after),
              "{\"order_id\":\"o\",\"items\":[{\"item_id\":\"coffee\",\"name\":\"Coffee\","
              "\"category_name\":\"Drinks\",\"size\":\"medium\",\"quantity\":1,\"modifiers\":[],"
              "\"price\":2.00}],\"total\":2.00,\"finalized\":false}");
    buf_release(&after);
    lane_end(&t);
}

TEST(the_tools_are_told_as_json)
{
    struct toolbox *box = toolbox_new(&clock_real);
    struct tools_state s = {.menu = NULL};
    struct json doc;
    struct buf b;
    struct err e;

    CHECK_F(tools_add(box, &s, &e), "%s", e.text);
    buf_init(&b, 65536);
    toolbox_write(box, &b);
    json_init(&doc);
    CHECK_F(json_parse(&doc, buf_str(&b), &e), "%s", e.text);
    CHECK_INT(json_count(&doc, json_root(&doc)), 6);
    json_release(&doc);
    buf_release(&b);
    toolbox_free(box);
}

/* ---- the retry table ---- */

TEST(weak_9_the_retry_table_is_the_contracts)
{
    static const int transient[] = {0, 408, 409, 425, 429, 500, 502, 503, 504, 522, 529, 599};
    static const int permanent[] = {400, 401, 403, 404, 413, 422};

    for (size_t i = 0; i < COUNT_OF(transient); i++)
        CHECK_F(retry_transient(transient[i]), "%d", transient[i]);
    for (size_t i = 0; i < COUNT_OF(permanent); i++)
        CHECK_F(!retry_transient(permanent[i]), "%d", permanent[i]);
}

TEST_MAIN(T(weak_1_a_medium_and_a_large_coffee_are_two_lines),
          T(modifiers_are_a_set_and_part_of_the_identity),
          T(a_lookup_gives_all_items_of_a_name_and_each_can_be_added),
          T(a_lookup_that_finds_nothing_suggests_names),
          T(weak_3_bad_arguments_are_errors_of_the_tool_and_never_a_crash),
          T(what_is_left_out_or_null_has_its_default), T(a_line_and_an_order_have_their_ceilings),
          T(weak_6_lookup_first_is_a_guard), T(weak_5_an_empty_order_is_not_finalized),
          T(weak_4_nothing_is_finalized_in_the_batch_of_an_add),
          T(weak_7_a_customers_turn_after_get_current_order_is_what_confirms),
          T(what_was_added_since_is_not_confirmed),
          T(an_order_that_is_told_twice_is_confirmed_once), T(a_finalized_order_is_closed),
          T(an_item_is_removed_whole_or_by_pieces),
          T(lines_of_one_item_are_told_apart_by_size_and_modifiers),
          T(an_item_is_changed_in_its_place_and_merged_with_its_like),
          T(a_line_with_many_modifiers_keeps_them_when_it_is_changed),
          T(what_was_removed_or_changed_since_is_not_confirmed),
          T(an_order_stays_within_its_limits), T(a_tool_does_not_change_the_state_it_is_given),
          T(the_tools_are_told_as_json), T(weak_9_the_retry_table_is_the_contracts))
