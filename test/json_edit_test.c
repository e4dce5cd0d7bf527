/* json_edit_test.c - many changes in one pass; all other bytes stay.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_edit.h"
#include "test.h"

struct fixture {
    struct json doc;
    struct arena arena;
    struct buf out;
    struct json_edits ed;
};

static void begin(struct fixture *f, const char *text)
{
    struct err e;

    json_init(&f->doc);
    arena_init(&f->arena, 1 << 20);
    buf_init(&f->out, 1 << 20);
    CHECK(json_parse(&f->doc, str_c(text), &e));
    json_edits_init(&f->ed, &f->doc, &f->arena);
}

static bool ends_as(struct fixture *f, const char *want)
{
    struct json again;
    struct err e;
    bool same;

    json_edits_apply(&f->ed, &f->out);
    same = str_eq(buf_str(&f->out), str_c(want));
    if (!same)
        print_message("got " STR_FMT "\n", STR_ARG(buf_str(&f->out)));
    json_init(&again);
    CHECK(json_parse(&again, buf_str(&f->out), &e));
    json_release(&again);
    json_release(&f->doc);
    arena_release(&f->arena);
    buf_release(&f->out);
    return same;
}

static const struct json_node *at(struct fixture *f, const char *pointer)
{
    const struct json_node *v = json_pointer(&f->doc, str_c(pointer));

    CHECK(v != NULL);
    return v;
}

TEST(no_edit_changes_no_byte)
{
    struct fixture f;

    begin(&f, " { \"a\" : 1.00, \"b\":[ ] }\n");
    CHECK(ends_as(&f, " { \"a\" : 1.00, \"b\":[ ] }\n"));
}

TEST(members_are_set_where_they_stand_or_at_the_end)
{
    struct fixture f;

    begin(&f, "{ \"a\" : 1.00, \"b\":{ } }");
    json_edit_set(&f.ed, at(&f, ""), STR("a"), STR("2"));
    json_edit_set(&f.ed, at(&f, ""), STR("c"), STR("3"));
    json_edit_set(&f.ed, at(&f, "/b"), STR("x"), STR("true"));
    json_edit_set(&f.ed, at(&f, ""), STR("c"), STR("4"));
    json_edit_set(&f.ed, at(&f, ""), STR("d\""), STR("[]"));
    CHECK(ends_as(&f, "{ \"a\" : 2, \"b\":{ \"x\":true} ,\"c\":4,\"d\\\"\":[]}"));
}

TEST(texts_are_put_in_quotes)
{
    struct fixture f;
    str inside;

    begin(&f, "{\"a\":\"<b>\xC3\xA9</b> c\",\"b\":1}");
    CHECK(json_text(&f.doc, at(&f, "/a"), &f.arena, &inside));
    json_edit_set_text(&f.ed, at(&f, ""), STR("b"), str_slice(inside, 3, 5));
    json_edit_set_text(&f.ed, at(&f, ""), STR("a"), str_slice(inside, 9, inside.n));
    json_edit_set_text(&f.ed, at(&f, ""), STR("c"), STR("one \"two\"\n\xFF"));
    json_edit_set_text(&f.ed, at(&f, ""), STR("d"), STR(""));
    CHECK(ends_as(&f,
                  "{\"a\":\" c\",\"b\":\"\xC3\xA9\",\"c\":\"one \\\"two\\\"\\n\xEF\xBF\xBD\","
                  "\"d\":\"\"}"));
}

/* A few edits are searched linearly, many by an index of their positions. Both must agree. */
TEST(many_edits_say_what_few_do)
{
    static const char keys[] = "abcdefgh";
    unsigned seed = 1;

    for (int round = 0; round < 2000; round++) {
        struct fixture f, g;
        struct buf want;
        char value[8];

        begin(&f, "{\"a\":1,\"b\":{\"x\":2},\"c\":3,\"d\":[4]}");
        begin(&g, "{\"a\":1,\"b\":{\"x\":2},\"c\":3,\"d\":[4]}");
        for (int i = 0; i < 20; i++) /* no effect, because d is dropped at the end */
            json_edit_insert(&g.ed, at(&g, "/d"), NULL, STR("0"));
        for (int i = 0; i < 6; i++) {
            str key, with;

            seed = seed * 1103515245u + 12345u;
            key = (str){keys + (seed >> 16) % 8, 1};
            (void)snprintf(value, sizeof value, "%u", seed >> 28);
            with = arena_dup(&f.arena, str_c(value));
            for (int k = 0; k < 2; k++) {
                struct fixture *x = k ? &g : &f;
                str path[2] = {key, STR("x")};

                switch (seed >> 20 & 3) {
                case 0:
                    json_edit_remove(&x->ed, at(x, ""), key);
                    break;
                case 1:
                    json_edit_set_path(&x->ed, at(x, ""), path, 2, with);
                    break;
                case 2:
                    json_edit_replace(&x->ed, at(x, "/c"), with);
                    break;
                default:
                    json_edit_set(&x->ed, at(x, ""), key, with);
                }
            }
        }
        json_edit_set(&f.ed, at(&f, ""), STR("d"), STR("[]"));
        json_edit_set(&g.ed, at(&g, ""), STR("d"), STR("[]"));
        buf_init(&want, 1 << 10);
        json_edits_apply(&f.ed, &want);
        buf_add_c(&want, '\0');
        CHECK(ends_as(&g, want.p));
        buf_release(&want);
        json_release(&f.doc);
        arena_release(&f.arena);
        buf_release(&f.out);
    }
}

TEST(members_go_with_one_comma)
{
    static const struct {
        const char *keys, *want;
    } rows[] = {
        {"a", "{\"b\":2, \"c\":3}"},
        {"b", "{\"a\":1, \"c\":3}"},
        {"c", "{\"a\":1, \"b\":2}"},
        {"ab", "{\"c\":3}"},
        {"bc", "{\"a\":1}"},
        {"ac", "{\"b\":2}"},
        {"abc", "{}"},
        {"cba", "{}"},
        {"x", "{\"a\":1, \"b\":2, \"c\":3}"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fixture f;

        begin(&f, "{\"a\":1, \"b\":2, \"c\":3}");
        for (const char *k = rows[i].keys; *k; k++)
            json_edit_remove(&f.ed, at(&f, ""), (str){k, 1});
        CHECK(ends_as(&f, rows[i].want));
    }
}

/* All members of a body are removed. A full arena ends the process. */
TEST(edits_of_every_member_fit_into_the_room_that_is_left_for_them)
{
    struct json_edits ed;
    struct arena a;
    struct json doc;
    struct buf b, out;
    struct err e;

    for (int drops = 0; drops < 2; drops++) {
        buf_init(&b, (size_t)4 << 20);
        buf_init(&out, (size_t)4 << 20);
        buf_add(&b, STR("{\"top_p\":1"));
        for (int i = 0; i < 300000; i++)
            buf_add(&b, STR(",\"top_p\":1"));
        buf_add_c(&b, '}');
        json_init(&doc);
        CHECK(json_parse(&doc, buf_str(&b), &e));
        arena_init(&a, JSON_EDITS_SIZE * b.n);
        json_edits_init(&ed, &doc, &a);
        if (drops)
            JSON_FOREACH(k, &doc, json_root(&doc))
                json_edit_drop(&ed, json_root(&doc), k);
        else
            json_edit_remove(&ed, json_root(&doc), STR("top_p"));
        json_edits_apply(&ed, &out);
        CHECK_STR(buf_str(&out), "{}");
        arena_release(&a);
        json_release(&doc);
        buf_release(&b);
        buf_release(&out);
    }
}

TEST(a_value_that_is_no_object_has_no_member_to_remove)
{
    struct fixture f;

    begin(&f, "{\"a\":[\"x\"]}");
    json_edit_remove(&f.ed, at(&f, "/a"), STR("x"));
    CHECK(ends_as(&f, "{\"a\":[\"x\"]}"));
}

TEST(the_later_word_about_a_member_holds)
{
    struct fixture f;

    begin(&f, "{\"a\":1,\"b\":2}");
    json_edit_remove(&f.ed, at(&f, ""), STR("a"));
    json_edit_set(&f.ed, at(&f, ""), STR("a"), STR("9"));
    json_edit_set(&f.ed, at(&f, ""), STR("b"), STR("8"));
    json_edit_remove(&f.ed, at(&f, ""), STR("b"));
    json_edit_set(&f.ed, at(&f, ""), STR("n"), STR("7"));
    json_edit_remove(&f.ed, at(&f, ""), STR("n"));
    CHECK(ends_as(&f, "{\"a\":9}"));
}

/* A value's position and its member's key name the same place. */
TEST(a_member_that_is_set_wins_over_an_earlier_replacement_of_its_value)
{
    struct fixture f;

    begin(&f, "{\"a\":1,\"b\":2}");
    json_edit_replace(&f.ed, at(&f, "/a"), STR("9"));
    json_edit_set(&f.ed, at(&f, ""), STR("a"), STR("8"));
    json_edit_set(&f.ed, at(&f, ""), STR("b"), STR("7"));
    json_edit_replace(&f.ed, at(&f, "/b"), STR("6"));
    json_edit_set(&f.ed, at(&f, ""), STR("b"), STR("5"));
    CHECK(ends_as(&f, "{\"a\":8,\"b\":5}"));
}

TEST(elements_come_and_go)
{
    struct fixture f;

    begin(&f, "{\"m\":[ 1, 2, 3 ],\"e\":[]}");
    json_edit_insert(&f.ed, at(&f, "/m"), at(&f, "/m/0"), STR("\"first\""));
    json_edit_drop(&f.ed, at(&f, "/m"), at(&f, "/m/2"));
    json_edit_insert(&f.ed, at(&f, "/m"), NULL, STR("4"));
    json_edit_insert(&f.ed, at(&f, "/m"), NULL, STR("5"));
    json_edit_insert(&f.ed, at(&f, "/e"), NULL, STR("{}"));
    CHECK(ends_as(&f, "{\"m\":[ \"first\",1, 2 ,4,5],\"e\":[{}]}"));
}

TEST(an_edit_inside_what_is_gone_is_lost)
{
    struct fixture f;

    begin(&f, "{\"a\":{\"b\":[1]},\"c\":2}");
    json_edit_insert(&f.ed, at(&f, "/a/b"), NULL, STR("2"));
    json_edit_set(&f.ed, at(&f, "/a"), STR("x"), STR("0"));
    json_edit_replace(&f.ed, at(&f, "/a"), STR("null"));
    CHECK(ends_as(&f, "{\"a\":null,\"c\":2}"));
}

TEST(what_is_dropped_stays_dropped_whatever_else_changes_it)
{
    struct fixture f;

    begin(&f, "{\"m\":[1,2,3],\"a\":4,\"b\":5}");
    json_edit_replace(&f.ed, at(&f, "/m/0"), STR("\"before\""));
    json_edit_drop(&f.ed, at(&f, "/m"), at(&f, "/m/0"));
    json_edit_drop(&f.ed, at(&f, "/m"), at(&f, "/m/2"));
    json_edit_replace(&f.ed, at(&f, "/m/2"), STR("\"after\""));
    json_edit_set(&f.ed, at(&f, ""), STR("a"), STR("\"before\""));
    json_edit_drop(&f.ed, at(&f, ""), at(&f, "/a") - 1);
    json_edit_drop(&f.ed, at(&f, ""), at(&f, "/b") - 1);
    json_edit_set(&f.ed, at(&f, ""), STR("b"), STR("\"after\""));
    CHECK(ends_as(&f, "{\"m\":[2]}"));
}

TEST(paths_make_what_is_missing_once)
{
    struct fixture f;
    const str deep[] = {STR_INIT("g"), STR_INIT("t"), STR_INIT("budget")};
    const str flat[] = {STR_INIT("g"), STR_INIT("temperature")};
    const str over[] = {STR_INIT("s"), STR_INIT("k")};

    begin(&f, "{\"s\":\"text\"}");
    json_edit_set_path(&f.ed, at(&f, ""), deep, 3, STR("1"));
    json_edit_set_path(&f.ed, at(&f, ""), flat, 2, STR("0.5"));
    json_edit_set_path(&f.ed, at(&f, ""), deep, 3, STR("2"));
    json_edit_set_path(&f.ed, at(&f, ""), over, 2, STR("true"));
    CHECK(ends_as(&f, "{\"s\":{\"k\":true},\"g\":{\"t\":{\"budget\":2},\"temperature\":0.5}}"));
}

TEST(merge_goes_deep_and_keeps_the_rest)
{
    struct fixture f;
    struct json from;
    struct err e;
    const str path[] = {STR_INIT("new"), STR_INIT("made")};

    begin(&f, "{\"a\":{\"keep\":1.0,\"x\":2},\"l\":[1,2],\"z\":0}");
    json_init(&from);
    CHECK(json_parse(
        &from, STR("{\"a\":{\"x\":{\"y\":3}},\"l\":[9],\"new\":{\"n\":{\"m\":1}},\"o\":{}}"), &e));
    json_edit_set_path(&f.ed, at(&f, ""), path, 2, STR("7"));
    json_edit_merge(&f.ed, at(&f, ""), &from, json_root(&from));
    CHECK(ends_as(&f,
                  "{\"a\":{\"keep\":1.0,\"x\":{\"y\":3}},\"l\":[9],\"z\":0,"
                  "\"new\":{\"made\":7,\"n\":{\"m\":1}},\"o\":{}}"));
    json_release(&from);
}

/* Linear search per edit would take minutes. */
TEST(many_edits_take_linear_time)
{
    enum { COUNT = 100000 };
    struct json doc, again;
    struct json_edits ed;
    struct arena a;
    struct buf text, out;
    struct err e;
    size_t n = 0;

    arena_init(&a, (size_t)256 << 20);
    buf_init(&text, (size_t)16 << 20);
    buf_init(&out, (size_t)16 << 20);
    json_init(&doc);
    json_init(&again);
    for (int i = 0; i < COUNT; i++)
        buf_add(&text, i ? STR(",{\"a\":1,\"b\":2}") : STR("[{\"a\":1,\"b\":2}"));
    buf_add_c(&text, ']');
    CHECK(json_parse(&doc, buf_str(&text), &e));
    json_edits_init(&ed, &doc, &a);
    for (const struct json_node *v = json_first(&doc, json_root(&doc)); v;
         v = json_next(&doc, json_root(&doc), v)) {
        json_edit_set(&ed, v, STR("a"), STR("3"));
        json_edit_replace(&ed, json_find(&doc, v, STR("b")), STR("4"));
        json_edit_set(&ed, v, STR("c"), STR("5"));
        json_edit_set(&ed, v, STR("a"), STR("6"));
        json_edit_remove(&ed, v, STR("b"));
        json_edit_set(&ed, v, STR("c"), STR("7"));
    }
    json_edits_apply(&ed, &out);
    CHECK(json_parse(&again, buf_str(&out), &e));
    for (const struct json_node *v = json_first(&again, json_root(&again)); v;
         v = json_next(&again, json_root(&again), v))
        n += str_eq(json_raw(&again, v), STR("{\"a\":6,\"c\":7}"));
    CHECK(n == COUNT);
    json_release(&doc);
    json_release(&again);
    buf_release(&text);
    buf_release(&out);
    arena_release(&a);
}

TEST_MAIN(T(many_edits_take_linear_time), T(a_value_that_is_no_object_has_no_member_to_remove),
          T(edits_of_every_member_fit_into_the_room_that_is_left_for_them),
          T(no_edit_changes_no_byte), T(members_are_set_where_they_stand_or_at_the_end),
          T(members_go_with_one_comma), T(the_later_word_about_a_member_holds),
          T(a_member_that_is_set_wins_over_an_earlier_replacement_of_its_value),
          T(elements_come_and_go), T(an_edit_inside_what_is_gone_is_lost),
          T(what_is_dropped_stays_dropped_whatever_else_changes_it),
          T(paths_make_what_is_missing_once), T(merge_goes_deep_and_keeps_the_rest),
          T(texts_are_put_in_quotes), T(many_edits_say_what_few_do))
