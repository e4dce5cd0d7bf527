/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/utf8.h"
#include "test.h"
#include "wire/utf8_repair.h"

/* Appends the text of a JSON string to `out`, repaired if necessary. */
static void hear(struct utf8_repair *m, str quoted, bool more, struct buf *out)
{
    struct buf b;
    struct arena a;
    struct json doc;
    struct err e;
    str text;

    buf_init(&b, 1 << 16);
    arena_init(&a, 1 << 16);
    json_init(&doc);
    if (!json_parse(&doc, quoted, &e)) {
        CHECK(utf8_repair_json(m, quoted, more, &b));
        CHECK_F(json_parse(&doc, buf_str(&b), &e), "%s: " STR_FMT, e.text, STR_ARG(buf_str(&b)));
    }
    CHECK(json_text(&doc, json_root(&doc), &a, &text));
    buf_add(out, text);
    json_release(&doc);
    arena_release(&a);
    buf_release(&b);
}

static void cut_in_two(str text, size_t at, const char *wanted)
{
    struct utf8_repair m = {.n = 0};
    struct buf out, piece;

    buf_init(&out, 1 << 16);
    buf_init(&piece, 1 << 16);
    buf_printf(&piece, "\"" STR_FMT "\"", STR_ARG(str_slice(text, 0, at)));
    hear(&m, buf_str(&piece), true, &out);
    buf_reset(&piece);
    buf_printf(&piece, "\"" STR_FMT "\"", STR_ARG(str_slice(text, at, text.n)));
    hear(&m, buf_str(&piece), true, &out);
    CHECK_STR(buf_str(&out), wanted);
    buf_release(&piece);
    buf_release(&out);
}

TEST(a_character_cut_anywhere_is_whole_again)
{
    static const char *const text = "a\xC3\xBC\xE2\x82\xAC\xF0\x9F\x8C\x8D.\xF0\x9F\x8C\x88";

    for (size_t at = 0; at <= strlen(text); at++)
        cut_in_two(str_c(text), at, text);
}

TEST(a_pair_cut_between_its_halves_is_whole_again)
{
    static const char *const text = "a\\ud83c\\udf0d.\\uD83C\\uDF08";

    for (size_t at = 1; at <= strlen(text); at += at == 13 ? 1 : 6)
        cut_in_two(str_c(text), at, "a\xF0\x9F\x8C\x8D.\xF0\x9F\x8C\x88");
}

TEST(what_has_no_other_half_is_replaced)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"\"a\\ud83cb\"",
         "a\xEF\xBF\xBD"
         "b"},
        {"\"a\\udf0db\"",
         "a\xEF\xBF\xBD"
         "b"},
        {"\"\\udf0d\"", "\xEF\xBF\xBD"},
        {"\"\\ud83c\"", "\xEF\xBF\xBD"},
        {"\"\\ud83c\\ud83c\\udf0d\"", "\xEF\xBF\xBD\xF0\x9F\x8C\x8D"},
        {"\"\\\\ud83c\\ud83c\"", "\\ud83c\xEF\xBF\xBD"},
        {"\"\xFF\"", "\xEF\xBF\xBD"},
        {"\"\x8C\x8D\"", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\"\xF0\x9F\x8C\"", "\xEF\xBF\xBD"},
        {"\"\xED\xA0\xBC\"", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct utf8_repair m = {.n = 0};
        struct buf out;

        buf_init(&out, 1 << 16);
        hear(&m, str_c(cases[i].text), false, &out);
        CHECK_STR(buf_str(&out), cases[i].wanted);
        CHECK(m.n == 0);
        buf_release(&out);
    }
}

TEST(what_is_broken_otherwise_stays_so)
{
    static const char *const texts[] = {"", "{", "\"", "\"\\", "\"\\u12", "\"\\ud83", "{\"a\":1,}"};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct utf8_repair m = {.n = 0};
        struct buf out;

        buf_init(&out, 1 << 16);
        CHECK(!utf8_repair_json(&m, str_c(texts[i]), true, &out));
        CHECK_STR(buf_str(&out), texts[i]);
        buf_release(&out);
    }
}

TEST_MAIN(T(a_character_cut_anywhere_is_whole_again),
          T(a_pair_cut_between_its_halves_is_whole_again), T(what_has_no_other_half_is_replaced),
          T(what_is_broken_otherwise_stays_so))
