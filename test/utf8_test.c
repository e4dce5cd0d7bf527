/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "test.h"

static const struct {
    uint32_t code;
    const char *bytes;
} characters[] = {
    {'A', "A"},
    {0x7F, "\x7F"},
    {0x80, "\xC2\x80"},
    {0x7FF, "\xDF\xBF"},
    {0x800, "\xE0\xA0\x80"},
    {0x20AC, "\xE2\x82\xAC"},
    {0xD7FF, "\xED\x9F\xBF"},
    {0xE000, "\xEE\x80\x80"},
    {0xFFFF, "\xEF\xBF\xBF"},
    {0x10000, "\xF0\x90\x80\x80"},
    {0x1F308, "\xF0\x9F\x8C\x88"},
    {0x10FFFF, "\xF4\x8F\xBF\xBF"},
};

TEST(utf8_decodes_and_encodes_each_length_at_its_bounds)
{
    for (size_t i = 0; i < COUNT_OF(characters); i++) {
        str bytes = str_c(characters[i].bytes);
        char out[UTF8_SIZE_MAX];
        uint32_t code = 0;

        CHECK_INT(utf8_decode(bytes, &code), bytes.n);
        CHECK_INT(code, characters[i].code);
        CHECK_INT(utf8_encode(code, out), bytes.n);
        CHECK(memcmp(out, bytes.p, bytes.n) == 0);
        CHECK_INT(utf8_bad(bytes), 0);
    }
}

TEST(utf8_every_character_comes_back_and_no_surrogate_goes_out)
{
    for (uint32_t code = 0; code <= UTF8_CODE_MAX + 16; code++) {
        bool exists = code <= UTF8_CODE_MAX && (code < 0xD800 || code > 0xDFFF);
        char out[UTF8_SIZE_MAX];
        size_t size = utf8_encode(code, out);
        uint32_t back = 0;

        CHECK_F((size > 0) == exists, "U+%04X", code);
        if (!exists)
            continue;
        CHECK_F(utf8_decode((str){out, size}, &back) == size && back == code, "U+%04X", code);
        for (size_t n = 0; n < size; n++) {
            CHECK(utf8_decode((str){out, n}, &back) == 0);
            CHECK_INT(utf8_tail((str){out, n}), n);
        }
        CHECK_INT(utf8_tail((str){out, size}), 0);
    }
}

/* Invalid sequences and their replacements; @ is U+FFFD. */
static const struct {
    const char *bytes, *copy;
    size_t tail;
} broken[] = {
    {"a\x80z", "a@z", 0},
    {"\xBF", "@", 0},
    {"\xC0\xAF", "@@", 0},             /* overlong */
    {"\xC1\xBF", "@@", 0},             /* overlong */
    {"\xE0\x80\xAF", "@@@", 0},        /* overlong */
    {"\xE0\x9F\xBF", "@@@", 0},        /* overlong */
    {"\xF0\x80\x80\xAF", "@@@@", 0},   /* overlong */
    {"\xF0\x8F\xBF\xBF", "@@@@", 0},   /* overlong */
    {"\xED\xA0\x80", "@@@", 0},        /* a surrogate */
    {"\xED\xBF\xBF", "@@@", 0},        /* a surrogate */
    {"\xF4\x90\x80\x80", "@@@@", 0},   /* past the end */
    {"\xF5\x80\x80\x80", "@@@@", 0},   /* past the end */
    {"\xFE\xFF", "@@", 0},             /* never in UTF-8 */
    {"\xE2\x82z", "@z", 0},            /* truncated, then another character */
    {"\xF0\x9F\x8Cz", "@z", 0},        /* the same */
    {"\xF0\x9F\xF0\x9F\x8C", "@@", 3}, /* two truncated ones */
    {"\xC3", "@", 1},                  /* truncated at the end */
    {"\xE2\x82", "@", 2},              /* the same */
    {"a\xF0\x9F\x8C", "a@", 3},        /* the same */
    {"a\xF0\x80", "a@@", 0},           /* no continuation can be valid */
    {"\xED\xA0", "@@", 0},             /* the same */
    {"\x80\x80\x80\x80", "@@@@", 0},   /* no lead byte */
    {"12345678\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "12345678@@@@A", 0},
};

static str with_replacements(struct buf *b, const char *copy)
{
    for (const char *c = copy; *c; c++)
        if (*c == '@')
            buf_add(b, STR("\xEF\xBF\xBD"));
        else
            buf_add_c(b, *c);
    return buf_str(b);
}

TEST(utf8_replaces_the_longest_front_of_a_character_by_one_mark)
{
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        str bytes = str_c(broken[i].bytes);
        struct buf got, want;

        buf_init(&got, 100);
        buf_init(&want, 100);
        CHECK(!utf8_valid(bytes));
        CHECK(!utf8_copy(&got, bytes));
        CHECK_F(str_eq(buf_str(&got), with_replacements(&want, broken[i].copy)), "row %zu", i);
        CHECK(utf8_valid(buf_str(&got)));
        CHECK_INT(utf8_count(bytes), strlen(broken[i].copy));
        CHECK_F(utf8_tail(bytes) == broken[i].tail, "row %zu", i);
        buf_release(&got);
        buf_release(&want);
    }
}

TEST(utf8_finds_the_bad_byte_wherever_the_words_begin)
{
    char text[64];

    for (size_t at = 0; at < sizeof text; at++)
        for (size_t from = 0; from <= at; from++) {
            memset(text, 'a', sizeof text);
            text[at] = '\xFF';
            CHECK_INT(utf8_valid_size((str){text + from, sizeof text - from}), at - from);
            CHECK(utf8_valid((str){text + from, at - from}));
        }
    CHECK(utf8_valid(STR("")));
}

TEST(utf8_cuts_at_a_character)
{
    static const struct {
        size_t max;
        const char *by_count, *by_size;
    } cases[] = {
        {0, "", ""},
        {1, "a", "a"},
        {2, "a\xC3\xA9", "a"},
        {3, "a\xC3\xA9\xE2\x82\xAC", "a\xC3\xA9"},
        {4, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\x88", "a\xC3\xA9"},
        {5, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\x88", "a\xC3\xA9"},
        {6, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\x88", "a\xC3\xA9\xE2\x82\xAC"},
        {9, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\x88", "a\xC3\xA9\xE2\x82\xAC"},
        {10, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\x88", "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\x88"},
        {99, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\x88", "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\x88"},
    };
    str s = STR("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8C\x88");

    CHECK_INT(utf8_count(s), 4);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK_STR(utf8_cut_count(s, cases[i].max), cases[i].by_count);
        CHECK_STR(utf8_cut_size(s, cases[i].max), cases[i].by_size);
    }
}

/* The bytes that utf8_tail reports are fed again before the next piece; no other state is
 * needed. */
TEST(utf8_tail_makes_replacement_blind_to_the_cuts)
{
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        str s = str_c(broken[i].bytes);

        for (size_t cut = 0; cut <= s.n; cut++) {
            str first = str_slice(s, 0, cut - utf8_tail(str_slice(s, 0, cut)));
            struct buf whole, pieces;

            buf_init(&whole, 100);
            buf_init(&pieces, 100);
            (void)utf8_copy(&whole, s);
            (void)utf8_copy(&pieces, first);
            (void)utf8_copy(&pieces, str_slice(s, first.n, s.n));
            CHECK_F(str_eq(buf_str(&whole), buf_str(&pieces)), "row %zu cut at %zu", i, cut);
            buf_release(&whole);
            buf_release(&pieces);
        }
    }
}

TEST(utf8_copy_keeps_valid_text_and_the_ceiling)
{
    struct buf b;

    buf_init(&b, 8);
    CHECK(utf8_copy(&b, STR("a\xE2\x82\xAC")));
    CHECK_STR(buf_str(&b), "a\xE2\x82\xAC");
    CHECK(!utf8_copy(&b, STR("bc\xFF")));
    CHECK(buf_full(&b));
    CHECK_STR(buf_str(&b),
              "a\xE2\x82\xAC"
              "bc");
    buf_release(&b);
}

TEST(utf8_tells_what_acts_from_what_is_seen)
{
    static const uint32_t acts[] = {0, '\n', '\t', 0x1B, 0x7F, 0x85, 0x9B, 0x2028, 0x202E, 0x2066};
    static const uint32_t seen[] = {' ', 'a', '~', 0xA0, 0xE9, 0x20AC, 0x1F308, 0xFFFD};

    for (size_t i = 0; i < COUNT_OF(acts); i++)
        CHECK_F(utf8_is_control(acts[i]), "U+%04X", acts[i]);
    for (size_t i = 0; i < COUNT_OF(seen); i++)
        CHECK_F(!utf8_is_control(seen[i]), "U+%04X", seen[i]);
}

TEST_MAIN(T(utf8_decodes_and_encodes_each_length_at_its_bounds),
          T(utf8_every_character_comes_back_and_no_surrogate_goes_out),
          T(utf8_replaces_the_longest_front_of_a_character_by_one_mark),
          T(utf8_finds_the_bad_byte_wherever_the_words_begin), T(utf8_cuts_at_a_character),
          T(utf8_tail_makes_replacement_blind_to_the_cuts),
          T(utf8_copy_keeps_valid_text_and_the_ceiling), T(utf8_tells_what_acts_from_what_is_seen))
