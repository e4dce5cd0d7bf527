/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"
#include "base/utf8.h"
#include "store/words.h"
#include "test.h"

/* The folded words of a text, each followed by "|". */
static const char *words_joined(str text)
{
    static char out[4096];
    struct words_reader r;
    size_t n = 0;

    words_read_init(&r, text);
    while (words_read(&r) && n + r.n + 2 < sizeof out) {
        memcpy(out + n, r.folded, r.n);
        n += r.n;
        out[n++] = '|';
    }
    out[n] = 0;
    return out;
}

#define CHECK_WORDS(text, want) CHECK_STR(str_c(words_joined(STR(text))), want)

TEST(words_are_runs_of_letters_and_digits)
{
    CHECK_WORDS("", "");
    CHECK_WORDS(" .,;", "");
    CHECK_WORDS("a", "a|");
    CHECK_WORDS("Hello, World", "hello|world|");
    CHECK_WORDS("don't a-b c_d", "don|t|a|b|c|d|");
    CHECK_WORDS("x1 2y 3.14", "x1|2y|3|14|");
    CHECK_WORDS("one\0two", "one|two|");
    CHECK_WORDS("@[`{/:09AZaz", "09azaz|");
    CHECK_WORDS("exactlysixteenby s", "exactlysixteenby|s|");
    CHECK_WORDS("exactlyfifteenb s, and then more text", "exactlyfifteenb|s|and|then|more|text|");
    CHECK_WORDS("a word of seventeenletters and more", "a|word|of|seventeenletters|and|more|");
}

TEST(words_fold_case_and_diacritics)
{
    CHECK_WORDS("Caf\u00e9 CAF\u00c9 cafe\u0301", "cafe|cafe|cafe|");
    CHECK_WORDS("\u00dcber \u0141\u00f3d\u017a \u010ce\u0161tina", "uber|lodz|cestina|");
    CHECK_WORDS("\u015etefan \u0218tefan \u1ea0\u1edf", "stefan|stefan|ao|");
    CHECK_WORDS("\u00c6\u00d0\u00de\u00df\u1e9e\u0152", "\u00e6\u00f0\u00fe\u00df\u00df\u0153|");
    CHECK_WORDS("\u041c\u043e\u0441\u043a\u0432\u0410 \u0401",
                "\u043c\u043e\u0441\u043a\u0432\u0430|\u0451|");
    CHECK_WORDS("\u039f\u0394\u039f\u03a3 \u03bf\u03b4\u03bf\u03c2",
                "\u03bf\u03b4\u03bf\u03c3|\u03bf\u03b4\u03bf\u03c3|");
    CHECK_WORDS("\uff21\uff42\uff11", "ab1|");
    CHECK_WORDS("\u0301 \u0301a", "a|");
}

TEST(words_are_separated_by_punctuation_of_all_scripts)
{
    CHECK_WORDS("a\u2014b\u2019c\u00a0d\u00d7e\u00f7f", "a|b|c|d|e|f|");
    CHECK_WORDS("\u6f22\u5b57\u3002\u4eba\u3005\uff0c\u305d", "\u6f22\u5b57|\u4eba\u3005|\u305d|");
    CHECK_WORDS("a\ue000b\U0001f600c\U000f0000d\ufffde", "a|b|c|d|e|");
    CHECK_WORDS("\u00aa\u00b5\u00ba", "\u00aa\u03bc\u00ba|");
    CHECK_WORDS("a\xff"
                "b\xc3 c\xe2\x82"
                "d\xed\xa0\x80"
                "e",
                "a|b|c|d|e|");
}

#define MARK WORDS_MARK

TEST(words_fold_at_the_edges_of_every_range)
{
    /* A character and its folded form. */
    static const uint32_t edges[] = {
        0x2F,    0,      '0',     '0',     '9',     '9',    0x3A,     0,      0x40,    0,
        'A',     'a',    'Z',     'z',     0x5B,    0,      0x60,     0,      'a',     'a',
        'z',     'z',    0x7B,    0,       0x7F,    0,      0x80,     0,      0xA9,    0,
        0xAA,    0xAA,   0xAB,    0,       0xB4,    0,      0xB5,     0x3BC,  0xB6,    0,
        0xB9,    0,      0xBA,    0xBA,    0xBB,    0,      0xBF,     0,      0xC0,    'a',
        0xD7,    0,      0xDF,    0xDF,    0xF7,    0,      0xFF,     'y',    0x100,   'a',
        0x17E,   'z',    0x17F,   's',     0x180,   0x180,  0x21B,    't',    0x24E,   0x24F,
        0x24F,   0x24F,  0x250,   0x250,   0x2FF,   0x2FF,  0x300,    MARK,   0x36F,   MARK,
        0x370,   0x371,  0x371,   0x371,   0x386,   0x3AC,  0x387,    0,      0x388,   0x3AD,
        0x38A,   0x3AF,  0x38C,   0x3CC,   0x38F,   0x3CE,  0x390,    0x390,  0x391,   0x3B1,
        0x3A9,   0x3C9,  0x3AB,   0x3CB,   0x3AC,   0x3AC,  0x3C2,    0x3C3,  0x3C3,   0x3C3,
        0x3EE,   0x3EF,  0x3FF,   0x3FF,   0x400,   0x450,  0x40F,    0x45F,  0x410,   0x430,
        0x42F,   0x44F,  0x430,   0x430,   0x45F,   0x45F,  0x460,    0x461,  0x461,   0x461,
        0x480,   0x481,  0x4C0,   0x4CF,   0x4C1,   0x4C2,  0x4CE,    0x4CE,  0x4CF,   0x4CF,
        0x4D0,   0x4D1,  0x52E,   0x52F,   0x52F,   0x52F,  0x530,    0x530,  0x531,   0x561,
        0x556,   0x586,  0x5D0,   0x5D0,   0x627,   0x627,  0x1DFF,   MARK,   0x1E00,  'a',
        0x1EF9,  'y',    0x1EFF,  0x1EFF,  0x1F00,  0x1F00, 0x1FFF,   0x1FFF, 0x2000,  0,
        0x206F,  0,      0x2070,  0x2070,  0x3000,  0,      0x3004,   0,      0x3005,  0x3005,
        0x3007,  0x3007, 0x3008,  0,       0x303F,  0,      0x3040,   0x3040, 0x4E00,  0x4E00,
        0xD7FF,  0xD7FF, 0xE000,  0,       0xF8FF,  0,      0xF900,   0xF900, 0xFEFE,  0xFEFE,
        0xFEFF,  0,      0xFF0F,  0,       0xFF10,  '0',    0xFF19,   '9',    0xFF1A,  0,
        0xFF20,  0,      0xFF21,  'a',     0xFF3A,  'z',    0xFF3B,   0,      0xFF40,  0,
        0xFF41,  'a',    0xFF5A,  'z',     0xFF5B,  0,      0xFF65,   0,      0xFF66,  0xFF66,
        0xFFFD,  0,      0x10000, 0x10000, 0x1F000, 0,      0x1FAFF,  0,      0x20000, 0x20000,
        0xE0100, MARK,   0xEFFFF, 0xEFFFF, 0xF0000, 0,      0x10FFFF, 0};

    for (size_t i = 0; i < COUNT_OF(edges); i += 2)
        CHECK_F(words_fold(edges[i]) == edges[i + 1],
                "U+%04X becomes U+%04X",
                edges[i],
                words_fold(edges[i]));
}

TEST(words_folded_once_stay_as_they_are)
{
    char bytes[UTF8_SIZE_MAX];

    for (uint32_t c = 0; c <= UTF8_CODE_MAX; c++) {
        uint32_t folded = words_fold(c);

        if (folded == 0 || folded == WORDS_MARK)
            continue;
        CHECK_F(words_fold(folded) == folded, "U+%04X", c);
        CHECK_F(utf8_encode(folded, bytes) > 0, "U+%04X", c);
    }
}

TEST(words_longer_than_the_ceiling_are_cut_at_a_character)
{
    char text[200];
    struct words_reader r;

    for (size_t n = 60; n < 140; n++) {
        memset(text, 'X', n);
        words_read_init(&r, (str){text, n});
        CHECK(words_read(&r) && r.n == (n < 64 ? n : 64) && !words_read(&r));
    }
    memset(text, 'x', 63);
    memcpy(text + 63, "\u0434yz b", 7);
    words_read_init(&r, (str){text, 69});
    CHECK(words_read(&r) && r.n == 63);
    CHECK(words_read(&r) && r.n == 1 && r.folded[0] == 'b');
}

/* A reference implementation, character by character. */
static size_t words_naive(str text, char words[][WORDS_SIZE_MAX + 1], size_t max)
{
    size_t count = 0, n = 0, size;
    bool full = false;

    for (size_t at = 0; at <= text.n; at += size) {
        uint32_t c = 0;
        char bytes[UTF8_SIZE_MAX];

        size = at < text.n ? utf8_decode(str_slice(text, at, text.n), &c) : 0;
        c = size ? words_fold(c) : 0;
        size = size ? size : 1;
        if (c == 0) {
            if (n > 0 && count < max)
                words[count++][n] = 0;
            n = 0;
            full = false;
        } else if (c != WORDS_MARK && count < max) {
            size_t more = utf8_encode(c, bytes);

            full = full || n + more > WORDS_SIZE_MAX;
            if (!full) {
                memcpy(words[count] + n, bytes, more);
                n += more;
            }
        }
    }
    return count;
}

/* Letters, spaces and unusual characters; sometimes part of a character. */
static str words_random_text(struct rand *r, char *out, size_t size)
{
    static const char *const pieces[] = {
        "a",          "b",
        "E",          "the",
        "Zebra",      "9",
        " ",          " ",
        " ",          "-",
        "\n",         "'",
        "\u00e9",     "\u00c9",
        "e\u0301",    "\u0416",
        "\u03a3",     "\u2014",
        "\u6f22",     "\u3002",
        "\xff",       "\xe2\x82",
        "\xc3",       "\u0301",
        "abcdefghij", "0123456789abcdef",
    };
    size_t n = 0, kinds = rand_below(r, 3) ? COUNT_OF(pieces) : 12;

    for (;;) {
        str p = str_c(pieces[rand_below(r, kinds)]);

        if (n + p.n > size)
            return (str){out, n};
        memcpy(out + n, p.p, p.n);
        n += p.n;
    }
}

static int words_compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

TEST(words_of_any_text_are_those_of_the_plain_reader)
{
    static char words[400][WORDS_SIZE_MAX + 1];
    char text[300];
    struct words_set set;
    struct rand rnd;

    rand_init(&rnd, 17);
    words_set_init(&set);
    for (int round = 0; round < 20000; round++) {
        str t = words_random_text(&rnd, text, rand_below(&rnd, sizeof text));
        char *copy = malloc(t.n + 1); /* exact size: a sanitizer detects an overread */
        uint64_t keys[400];
        size_t n = words_naive(t, words, 400), distinct = 0, got;
        const uint64_t *sorted;
        struct words_reader r;

        memcpy(copy, t.p, t.n);
        words_read_init(&r, (str){copy, t.n});
        for (size_t i = 0; i < n; i++) {
            CHECK(words_read(&r));
            CHECK_STR(((str){r.folded, r.n}), words[i]);
            CHECK(r.folded[r.n] == 0);
            keys[i] = words_key((str){r.folded, r.n});
            CHECK(keys[i] > 0 && keys[i] <= WORDS_KEY_MAX);
        }
        CHECK(!words_read(&r));
        qsort(keys, n, sizeof keys[0], words_compare_keys);
        for (size_t i = 0; i < n; i++)
            if (i == 0 || keys[i] != keys[i - 1])
                keys[distinct++] = keys[i];
        words_set_reset(&set);
        words_set_add_text(&set, (str){copy, t.n});
        sorted = words_set_sorted(&set, &got);
        CHECK_INT(got, distinct);
        CHECK(got == 0 || memcmp(sorted, keys, got * sizeof keys[0]) == 0);
        free(copy);
    }
    words_set_release(&set);
}

TEST(words_sets_grow_and_are_used_again)
{
    struct words_set set;
    char word[32];
    size_t n;

    words_set_init(&set);
    words_set_sorted(&set, &n);
    CHECK_INT(n, 0);
    for (int round = 0; round < 2; round++) {
        const uint64_t *keys;

        for (int i = 0; i < 100000; i++) {
            int size = snprintf(word, sizeof word, "%d", i);

            words_set_add_text(&set, (str){word, (size_t)size});
        }
        keys = words_set_sorted(&set, &n);
        /* A few words collide: a hundred words with the same four first digits share 65,536
         * keys. */
        CHECK_F(n > 99000 && n <= 100000, "%zu keys", n);
        for (size_t i = 1; i < n; i++)
            CHECK(keys[i - 1] < keys[i]);
        words_set_reset(&set);
        words_set_sorted(&set, &n);
        CHECK_INT(n, 0);
    }
    words_set_release(&set);
}

/* Keys are stored on disk, so a word must have the same key in every version and on every
 * machine. */
TEST(words_keys_do_not_change)
{
    CHECK_F(words_key(STR("a")) == UINT64_C(0x2C0000DADD),
            "%llx",
            (unsigned long long)words_key(STR("a")));
    CHECK_F(words_key(STR("reasoning")) == UINT64_C(0x70F2DD77B7),
            "%llx",
            (unsigned long long)words_key(STR("reasoning")));
    CHECK_F(words_key(STR("aseventeenletters")) == UINT64_C(0x2DD3E04D62),
            "%llx",
            (unsigned long long)words_key(STR("aseventeenletters")));
    CHECK_F(words_key(STR("\u043c\u043e\u0441\u043a\u0432\u0430")) == UINT64_C(0xA6BBA76C96),
            "%llx",
            (unsigned long long)words_key(STR("\u043c\u043e\u0441\u043a\u0432\u0430")));
}

TEST(words_keys_keep_the_order_of_the_first_characters)
{
    static const char *const ascending[] = {
        "0", "09", "1a", "9", "a", "ab", "aba", "abaz", "abb", "abba", "b", "zzzz"};

    for (size_t i = 1; i < COUNT_OF(ascending); i++)
        CHECK(words_key(str_c(ascending[i - 1])) >> 16 < words_key(str_c(ascending[i])) >> 16);
}

TEST(words_with_a_front_have_keys_in_its_range)
{
    static const char *const words[] = {"a",
                                        "abc",
                                        "abcd",
                                        "abcde",
                                        "9lives",
                                        "\u6f22\u5b57",
                                        "\u0436\u0438\u0437\u043d\u044c",
                                        "x\u0436y\u0437zz"};

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        str word = str_c(words[i]);
        uint64_t key = words_key(word), lo, hi, other = words_key(STR("qqqq"));

        for (size_t at = 0, size; at < word.n; at += size) {
            uint32_t c;

            size = utf8_decode(str_slice(word, at, word.n), &c);
            words_front_range(str_slice(word, 0, at + size), &lo, &hi);
            CHECK(lo <= key && key <= hi);
            CHECK(other < lo || other > hi);
        }
    }
}

static const struct words_scope scopes[] = {
    {STR_INIT("asked:"), 0}, {STR_INIT("answer:"), 1}, {STR_INIT("reasoning:"), 2}};

static struct arena words_arena;

static bool words_found(const char *typed, const str *fields, unsigned allowed, bool front,
                        struct words_hit *hit)
{
    struct words_query q;

    arena_release(&words_arena);
    arena_init(&words_arena, 1 << 20);
    return words_query_parse(str_c(typed), scopes, COUNT_OF(scopes), &words_arena, &q) &&
           words_match(&q, fields, allowed, front, hit);
}

TEST(words_of_a_query_must_all_be_there)
{
    const str fields[] = {STR("Where is the Caf\u00e9?"),
                          STR("I don't know a-b, nor a a b."),
                          STR("The user asks where")};
    static const struct {
        const char *typed;
        unsigned allowed;
        bool front, found;
        unsigned field;
        size_t at;
    } cases[] = {
        {"cafe", 7, false, true, 0, 13},
        {"CAF\u00c9 know", 7, false, true, 0, 13},
        {"know cafe", 7, false, true, 0, 13},
        {"know tea", 7, false, false, 0, 0},
        {"know", 7, false, true, 1, 8},
        {"don't", 7, false, true, 1, 2},
        {"don-t", 7, false, true, 1, 2},
        {"t-don", 7, false, false, 0, 0},
        {"t don", 7, false, true, 1, 2},
        {"a-b", 7, false, true, 1, 13},
        {"a-a-b", 7, false, true, 1, 22},
        {"nor-a-b", 7, false, false, 0, 0},
        {"caf\u00e9-i", 7, false, false, 0, 0}, /* a phrase does not span fields */
        {"where", 7, false, true, 0, 0},
        {"where", 6, false, true, 2, 14},
        {"where", 2, false, false, 0, 0},
        {"reasoning:where", 7, false, true, 2, 14},
        {"reasoning:where", 3, false, false, 0, 0},
        {"reasoning:where asked:cafe", 7, false, true, 0, 13},
        {"answer:cafe", 7, false, false, 0, 0},
        {"other:cafe", 7, false, false, 0, 0},
        {"Asked:cafe", 7, false, false, 0, 0},
        {"asked: cafe", 7, false, true, 0, 13},
        {"-- cafe !", 7, false, true, 0, 13},
        {"wher", 7, false, false, 0, 0},
        {"wher", 7, true, true, 0, 0},
        {"answer:wher", 7, true, false, 0, 0},
        {"know caf", 7, true, true, 0, 13},
        {"caf know", 7, true, false, 0, 0},
        {"the-caf", 7, true, true, 0, 9},
        {"wh", 7, true, false, 0, 0}, /* too short for a prefix */
        {"is", 7, true, true, 0, 6},
        {"", 7, true, false, 0, 0},
        {" ?! asked: ", 7, true, false, 0, 0},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct words_hit hit = {99, 99};

        CHECK_F(words_found(cases[i].typed, fields, cases[i].allowed, cases[i].front, &hit) ==
                    cases[i].found,
                "%s",
                cases[i].typed);
        if (cases[i].found)
            CHECK_F(hit.field == cases[i].field && hit.at == cases[i].at,
                    "%s: field %u at %zu",
                    cases[i].typed,
                    hit.field,
                    hit.at);
        else
            CHECK(hit.field == 99);
    }
    arena_release(&words_arena);
}

TEST(words_of_a_query_have_ceilings)
{
    const str text = STR("a b c d");
    struct words_query q;
    struct words_hit hit;
    char typed[1000];

    arena_init(&words_arena, 1 << 20);
    for (size_t i = 0; i + 1 < sizeof typed; i += 2)
        memcpy(typed + i, i < 2 * WORDS_TYPED_MAX ? "a " : "z ", 2);
    CHECK(words_query_parse((str){typed, sizeof typed}, NULL, 0, &words_arena, &q));
    CHECK(q.typed_count == WORDS_TYPED_MAX && q.part_count == WORDS_TYPED_MAX);
    CHECK(words_match(&q, &text, 1, false, &hit));
    for (size_t i = 0; i + 1 < sizeof typed; i += 2)
        memcpy(typed + i, "a-", 2);
    CHECK(words_query_parse((str){typed, sizeof typed}, NULL, 0, &words_arena, &q));
    CHECK(q.typed_count == 1 && q.part_count == WORDS_PARTS_MAX && q.firsts == 1);
    CHECK(words_match(&q, &(str){typed, sizeof typed}, 1, false, &hit) && hit.at == 0);
    CHECK(!words_match(&q, &(str){typed, 2 * WORDS_PARTS_MAX - 2}, 1, false, &hit));
    arena_release(&words_arena);
}

/* The index may give false positives, but no false negatives. */
TEST(words_that_match_have_their_keys_in_the_set)
{
    char text[300], typed[24];
    struct words_set set;
    struct rand rnd;
    size_t matches = 0;

    rand_init(&rnd, 5);
    words_set_init(&set);
    for (int round = 0; round < 20000; round++) {
        str t = words_random_text(&rnd, text, sizeof text);
        str asked = words_random_text(&rnd, typed, sizeof typed);
        bool front = rand_below(&rnd, 2);
        struct words_query q;
        struct words_hit hit;
        const uint64_t *keys;
        size_t n;

        arena_release(&words_arena);
        arena_init(&words_arena, 1 << 20);
        if (!words_query_parse(asked, NULL, 0, &words_arena, &q) ||
            !words_match(&q, &t, 1, front, &hit))
            continue;
        matches++;
        CHECK(hit.field == 0 && hit.at < t.n);
        words_set_reset(&set);
        words_set_add_text(&set, t);
        keys = words_set_sorted(&set, &n);
        for (size_t i = 0; i < q.part_count; i++) {
            uint64_t lo, hi;
            size_t at = 0;

            words_query_range(&q, i, front, &lo, &hi);
            while (at < n && keys[at] < lo)
                at++;
            CHECK(at < n && keys[at] <= hi);
        }
    }
    CHECK_F(matches > 100, "%zu matches", matches);
    words_set_release(&set);
    arena_release(&words_arena);
}

/* Parts that are searched by their bytes are found exactly where the reader finds such a word. */
TEST(words_of_ascii_are_found_by_their_bytes)
{
    static const char letters[] = "aAbB1 -\n";
    char text[200], typed[8], lower[sizeof text + 1 + WORDS_ROOM], whole[WORDS_SIZE_MAX + 9];
    struct words_query q;
    struct words_hit hit;
    struct rand rnd;
    size_t matches = 0;

    rand_init(&rnd, 6);
    for (int round = 0; round < 50000; round++) {
        bool front = rand_below(&rnd, 2);
        str t = {text, rand_below(&rnd, sizeof text)}, asked = {typed, 1 + rand_below(&rnd, 7)};
        bool match, has = true;

        for (size_t i = 0; i < t.n; i++)
            text[i] = letters[rand_below(&rnd, sizeof letters - 1)];
        for (size_t i = 0; i < asked.n; i++)
            typed[i] = letters[rand_below(&rnd, 5)];
        if (round % 3 == 0 && asked.n > 2)
            typed[asked.n / 2] = ' ';
        if (round % 5 == 0) { /* a word that is truncated or almost */
            memset(whole, 'a', sizeof whole);
            asked = (str){whole, WORDS_SIZE_MAX - 2 + rand_below(&rnd, 5)};
            t = (str){whole, WORDS_SIZE_MAX - 2 + rand_below(&rnd, 5)};
        }
        arena_release(&words_arena);
        arena_init(&words_arena, 1 << 20);
        CHECK(words_query_parse(asked, NULL, 0, &words_arena, &q));
        front = front && q.may_be_front;
        match = words_match(&q, &t, 1, front, &hit);
        lower[0] = ' ';
        CHECK(words_copy_lower(lower + 1, t));
        memset(lower + 1 + t.n, 0, WORDS_ROOM);
        for (size_t i = 0; i < q.part_count; i++)
            has &= words_lower_has(
                (str){lower + 1, t.n}, &q.parts[i], front && i + 1 == q.part_count);
        CHECK_INT(has, match);
        matches += match;
    }
    CHECK_F(matches > 1000, "%zu matches", matches);
    arena_release(&words_arena);
}

TEST(words_snippets_are_cut_at_words)
{
    const str text = STR("one two, three four. Five six seven eight nine ten!");
    struct arena a;

    arena_init(&a, 1 << 20);
    CHECK_STR(words_snippet(text, 0, 3, &a), "one two, three...");
    CHECK_STR(words_snippet(text, 21, 6, &a), "...three four. Five six seven eight...");
    CHECK_STR(words_snippet(text, 4, 6, &a), "one two, three four. Five six...");
    CHECK_STR(words_snippet(text, 47, 6, &a), "...eight nine ten!");
    CHECK_STR(words_snippet(text, 0, 24, &a),
              "one two, three four. Five six seven eight nine ten!");
    CHECK_STR(words_snippet(text, 0, 10, &a),
              "one two, three four. Five six seven eight nine ten!");
    CHECK_STR(words_snippet(STR(""), 5, 24, &a), "");
    CHECK_STR(words_snippet(STR("a \xff b"), 0, 24, &a), "a \xef\xbf\xbd b");
    arena_release(&a);
}

TEST(words_snippets_are_bounded_and_whole_characters)
{
    char text[6000];
    struct arena a;

    for (size_t i = 0; i < sizeof text; i += 3)
        memcpy(text + i, "\u6f22", 3);
    for (size_t at = 0; at <= sizeof text; at += 100) {
        str got;

        arena_init(&a, 1 << 20);
        got = words_snippet((str){text, sizeof text}, at, 24, &a);
        CHECK(got.n <= 3 * WORDS_SNIPPET_MAX && utf8_valid(got));
        arena_release(&a);
    }
}

TEST_MAIN(T(words_are_runs_of_letters_and_digits), T(words_fold_case_and_diacritics),
          T(words_are_separated_by_punctuation_of_all_scripts),
          T(words_fold_at_the_edges_of_every_range), T(words_folded_once_stay_as_they_are),
          T(words_longer_than_the_ceiling_are_cut_at_a_character),
          T(words_of_any_text_are_those_of_the_plain_reader), T(words_sets_grow_and_are_used_again),
          T(words_keys_do_not_change), T(words_keys_keep_the_order_of_the_first_characters),
          T(words_with_a_front_have_keys_in_its_range), T(words_of_a_query_must_all_be_there),
          T(words_of_a_query_have_ceilings), T(words_of_ascii_are_found_by_their_bytes),
          T(words_that_match_have_their_keys_in_the_set),
          T(words_snippets_are_cut_at_words), T(words_snippets_are_bounded_and_whole_characters))
