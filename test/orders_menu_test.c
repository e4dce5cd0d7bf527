/* orders_menu_test.c - menus: contents, refused files, lookup of names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/menu.h"
#include "test.h"

static struct menu *ours(void)
{
    const char *root = getenv("RATIONALE_SOURCE");
    char path[4096];
    struct menu *m = NULL;
    struct err e;

    (void)snprintf(path, sizeof path, "%s/example/orders/menu.json", root ? root : ".");
    CHECK_F(menu_load(path, &m, &e), "%s", e.text);
    return m;
}

TEST(our_menu_has_sixty_items_in_nine_categories)
{
    struct menu *m = ours();
    size_t categories = 0;

    for (size_t i = 0; i < m->count; i++) {
        bool first = true;

        for (size_t k = 0; k < i; k++)
            first &= !str_eq(m->items[k].category, m->items[i].category);
        categories += first;
        CHECK(menu_size(&m->items[i], m->items[i].default_size));
        for (size_t k = 0; k < m->items[i].size_count; k++)
            CHECK(m->items[i].sizes[k].cents > 0);
    }
    CHECK(m->count >= 60);
    CHECK_INT(categories, 9);
    CHECK_STR(m->location, "Harbor Lane Drive-Thru");
    CHECK_STR(m->address, "12 Quay Street, Port Ellery, ME, 04999");
    menu_free(m);
}

#define ITEM(more)                                                                                 \
    "{\"items\":[{\"item_id\":\"a\",\"name\":\"A\",\"category_name\":\"C\",\"sizes\":["            \
    "\"small\"]" more "}]}"

TEST(a_menu_that_is_wrong_is_refused_with_file_line_and_path)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "m.json: "},
        {"[]", "m.json: "},
        {"{}", "items"},
        {"{\"items\":[]}", "m.json:1: /items"},
        {"{\"items\":[{}]}", "/items/0"},
        {"{\"items\":[{\"item_id\":\"a\",\"name\":\"\",\"category_name\":\"C\",\"sizes\":[\"s\"]}]"
         "}",
         "/items/0/name"},
        {"{\"items\":[{\"item_id\":\"a\",\"name\":\"A\",\"category_name\":\"C\",\"sizes\":{}}]}",
         "/items/0/sizes"},
        {"{\"items\":[{\"item_id\":\"a\",\"name\":\"A\",\"category_name\":\"C\",\"sizes\":[3]}]}",
         "/items/0/sizes/0"},
        {ITEM(",\"default_size\":\"large\""), "/items/0/default_size"},
        {ITEM(",\"prices\":{\"small\":-1}"), "/items/0/prices/small"},
        {ITEM(",\"prices\":{\"small\":1.005}"),
         "/items/0: the price 1.005 has fractions of a cent"},
        {ITEM(",\"price\":99999.990001"), "/items/0: the price 99999.990001 has"},
        {ITEM(",\"available_modifiers\":[{\"modifier_id\":1,\"name\":\"x\",\"price\":0.125}]"),
         "/items/0: the price 0.125 has"},
        {ITEM(",\"available_modifiers\":[{\"name\":\"x\"}]"), "/items/0/available_modifiers/0"},
        {"{\"items\":["
         "{\"item_id\":\"a\",\"name\":\"A\",\"category_name\":\"C\",\"sizes\":[\"s\"]},"
         "{\"item_id\":\"a\",\"name\":\"B\",\"category_name\":\"C\",\"sizes\":[\"s\"]}]}",
         "m.json:1: /items/1/item_id: is there twice"},
        {"{\n\"items\": [\n"
         "{\"item_id\":\"a\",\"name\":\"A\",\"category_name\":\"C\",\"sizes\":[\"s\"]},\n"
         "{\"item_id\":\"b\",\"name\":\"B\",\"category_name\":\"C\",\"sizes\":[\"s\"],\n"
         "\"price\": \"2.50\"}\n]}",
         "m.json:5: /items/1/price: "},
        {"{\"items\": [\n"
         "{\"item_id\":\"a\",\"name\":\"A\",\"category_name\":\"C\",\"sizes\":[\"s\"]},\n"
         "{\"item_id\":\"a\",\"name\":\"B\",\"category_name\":\"C\",\"sizes\":[\"s\"]}]}",
         "m.json:3: /items/1/item_id: is there twice"},
        {"{\"items\":\n[,]}", "m.json: JSON: "},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct menu *m;
        struct err e;

        CHECK_F(!menu_parse(str_c(cases[i].text), "m.json", &m, &e), "%s", cases[i].text);
        CHECK_F(str_find(str_c(e.text), STR("m.json:")) == 0, "%s", e.text);
        CHECK_F(str_find(str_c(e.text), str_c(cases[i].says)) != STR_NONE, "%s", e.text);
    }
}

TEST(every_price_in_cents_is_read_as_it_is)
{
    for (int cents = 0; cents <= 10000000; cents += cents < 2000 ? 1 : 1999) {
        struct menu *m;
        char text[300];
        struct err e;

        (void)snprintf(text, sizeof text, ITEM(",\"price\":%d.%02d"), cents / 100, cents % 100);
        CHECK_F(menu_parse(str_c(text), "m.json", &m, &e), "%s", e.text);
        CHECK_INT(m->items[0].sizes[0].cents, cents);
        menu_free(m);
    }
}

TEST(a_recorded_menu_with_fractions_of_a_cent_is_rounded)
{
    struct menu *m;
    struct err e;

    CHECK_F(menu_parse_recorded(STR(ITEM(",\"price\":1.006")), &m, &e), "%s", e.text);
    CHECK_INT(m->items[0].sizes[0].cents, 101);
    menu_free(m);
}

TEST(names_that_are_spoken_alike_are_told_apart_as_they_are_written)
{
    struct menu *m;
    struct err e;

    CHECK_F(menu_parse(STR("{\"items\":[{\"item_id\":\"a\",\"name\":\"A\",\"category_name\":\"C\","
                           "\"sizes\":[\"S\",\"S+\"],\"prices\":{\"S\":1,\"S+\":2},"
                           "\"available_modifiers\":[{\"modifier_id\":\"1\",\"name\":\"Hot\"},"
                           "{\"modifier_id\":\"2\",\"name\":\"Hot!\",\"price\":3}]}]}"),
                       "m.json",
                       &m,
                       &e),
            "%s",
            e.text);
    CHECK_INT(menu_size(&m->items[0], STR("S+"))->cents, 200);
    CHECK_INT(menu_size(&m->items[0], STR("S"))->cents, 100);
    CHECK_INT(menu_size(&m->items[0], STR("s"))->cents, 100);
    CHECK_INT(menu_modifier(&m->items[0], STR("Hot!"))->cents, 300);
    CHECK_INT(menu_modifier(&m->items[0], STR("hot"))->cents, 0);
    menu_free(m);
}

TEST(the_least_menu_has_a_default_size_and_no_prices)
{
    struct menu *m;
    struct err e;

    CHECK_F(menu_parse(STR("{\"items\":[{\"item_id\":7,\"name\":\"Tea\",\"category_name\":\"C\","
                           "\"sizes\":[{\"name\":\"small\",\"price\":1.5},\"large\"]}]}"),
                       "m.json",
                       &m,
                       &e),
            "%s",
            e.text);
    CHECK(menu_find(m, STR("7")));
    CHECK_STR(m->items[0].default_size, "small");
    CHECK_INT(m->items[0].sizes[0].cents, 150);
    CHECK_INT(m->items[0].sizes[1].cents, MENU_NO_PRICE);
    menu_free(m);
}

TEST(no_size_is_one_size_and_a_modifier_may_be_a_name)
{
    const struct menu_item *item;
    struct menu *m;
    struct err e;

    CHECK_F(
        menu_parse(STR("{\"items\":[{\"item_id\":\"a\",\"name\":\"Pie\",\"category_name\":\"C\","
                       "\"sizes\":[],\"price\":2.5,\"default_size\":null,\"prices\":null,"
                       "\"available_modifiers\":[\"Cream\"]},{\"item_id\":\"b\",\"name\":\"B\","
                       "\"category_name\":\"C\",\"sizes\":[],\"price\":null,"
                       "\"available_modifiers\":null}]}"),
                   "m.json",
                   &m,
                   &e),
        "%s",
        e.text);
    item = menu_find(m, STR("a"));
    CHECK(item->size_count == 1 && item->sizes[0].cents == 250);
    CHECK_STR(item->default_size, "regular");
    CHECK(menu_modifier(item, STR("cream")));
    CHECK(menu_find(m, STR("b"))->modifier_count == 0);
    menu_free(m);
}

TEST(the_menu_in_the_program_is_a_menu)
{
    struct menu *m;
    struct err e;

    CHECK_F(menu_built_in(&m, &e), "%s", e.text);
    CHECK(m->count >= 60);
    menu_free(m);
}

TEST(names_are_compared_as_people_say_them)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"Harbor Burger", "harbor burgers", true},
        {"Harbor Burger", " the HARBOR-burger! ", true},
        {"Sea Salt Fries", "sea salt fry", true},
        {"Chocolate Chip Cookie", "chocolate-chip cookies", true},
        {"Caffè Latte", "caffe latte", true},
        {"Joe's Special", "joes special", true},
        {"Joe\xE2\x80\x99s", "Joe's", true},
        {"Grilled Chicken Sandwich", "grilled chicken sandwiches", true},
        {"Cola", "Diet Cola", false},
        {"Tea", "Teas", true},
        {"", "", true},
        {"bus", "bu", false},
        {"寿司", "寿司", true},
        {"寿司", "寿", false},
        {"7 Up", "7-up", true},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        CHECK_F(menu_same(str_c(cases[i].a), str_c(cases[i].b)) == cases[i].same,
                "%s, %s",
                cases[i].a,
                cases[i].b);
}

/* Two items share a name; both must be reachable. */
TEST(weak_2_both_items_of_a_shared_name_are_found)
{
    struct menu *m = ours();
    const struct menu_item *found[MENU_NAMED_MAX];

    CHECK_INT(menu_named(m, STR("sunrise platters"), found, MENU_NAMED_MAX), 2);
    CHECK_STR(found[0]->id, "bf-04");
    CHECK_STR(found[1]->id, "bf-05");
    menu_free(m);
}

TEST(what_is_not_found_has_at_most_three_names_near_it)
{
    static const struct {
        const char *asked, *first;
    } cases[] = {
        {"fries", "Loaded Fries"},
        {"pancakes", "Pancake Meal"},
        {"harbour burger", "Harbor Burger"},
        {"capuccino", "Cappuccino"},
        {"latte", "Caffè Latte"},
        {"large cola", "Cola"},
        {"", NULL},
        {"?", NULL},
        {"qqqq zzzz", NULL},
    };
    struct menu *m = ours();

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct menu_item *near[MENU_SUGGEST_MAX];
        size_t n = menu_suggest(m, str_c(cases[i].asked), near);

        CHECK(n <= MENU_SUGGEST_MAX);
        CHECK_F((n > 0) == (cases[i].first != NULL), "%s: %zu", cases[i].asked, n);
        if (n)
            CHECK_STR(near[0]->name, cases[i].first);
    }
    menu_free(m);
}

TEST(a_long_or_broken_name_is_no_trouble)
{
    struct menu *m = ours();
    const struct menu_item *found[MENU_NAMED_MAX];
    char name[5000];

    for (int fill = 0; fill < 256; fill += 15) {
        memset(name, fill, sizeof name);
        for (size_t n = 0; n < sizeof name; n += 61) {
            CHECK_INT(menu_named(m, (str){name, n}, found, MENU_NAMED_MAX), 0);
            CHECK(menu_suggest(m, (str){name, n}, found) <= MENU_SUGGEST_MAX);
        }
    }
    menu_free(m);
}

TEST_MAIN(T(our_menu_has_sixty_items_in_nine_categories),
          T(a_menu_that_is_wrong_is_refused_with_file_line_and_path),
          T(names_that_are_spoken_alike_are_told_apart_as_they_are_written),
          T(every_price_in_cents_is_read_as_it_is),
          T(a_recorded_menu_with_fractions_of_a_cent_is_rounded),
          T(the_least_menu_has_a_default_size_and_no_prices),
          T(no_size_is_one_size_and_a_modifier_may_be_a_name), T(the_menu_in_the_program_is_a_menu),
          T(names_are_compared_as_people_say_them), T(weak_2_both_items_of_a_shared_name_are_found),
          T(what_is_not_found_has_at_most_three_names_near_it),
          T(a_long_or_broken_name_is_no_trouble))
