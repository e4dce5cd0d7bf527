/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"
#include "tokens/internal.h"

#define IDS_MAX ((size_t)4 << 20)

/* A text, and its ids in o200k_base and cl100k_base from the reference. */
static const struct {
    const char *text, *ids[2];
} goldens[] = {
    {"Hello, world!", {"13225 11 2375 0", "9906 11 1917 0"}},
    {"I'll say it's DON'T", {"67504 2891 4275 153384", "40 3358 2019 433 596 45373 17773"}},
    {"don't'x 'tis", {"91418 168788 461 109773", "15357 956 6 87 364 83 285"}},
    {"na\xC3\xAFve caf\xC3\xA9 \xC3\xBC"
     "ber",
     {"1503 9954 737 30469 5469", "3458 38672 588 53050 14104"}},
    {"  two  spaces\n\n  and\tlines \n",
     {"220 1920 220 18608 279 220 326 188290 793", "220 1403 220 12908 271 220 323 79490 720"}},
    {"12345678 3.14", {"7633 19354 4388 220 18 13 1265", "4513 10961 2495 220 18 13 975"}},
    {"snake_case camelCase HTTPServer",
     {"162012 43667 83330 6187 21929 6444", "73239 19640 50252 4301 10339 5592"}},
    {"\xE4\xB8\xAD\xE6\x96\x87"
     "ABC\xE4\xB8\xAD\xE6\x96\x87\xE5\xAD\x97"
     "abc",
     {"10667 44197 192789 26682", "16325 17161 26484 16325 88435 13997"}},
    {"\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE3\x81\xAE\xE3\x83\x86\xE3\x82\xAD\xE3\x82\xB9\xE3\x83"
     "\x88\xE3\x80\x82",
     {"9048 40909 3385 16056 18368 38236 788",
      "9080 22656 45918 252 16144 57933 62903 71634 1811"}},
    {"\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82, \xD0\xBC\xD0\xB8\xD1\x80!",
     {"23881 131903 11 37934 0", "54745 28089 8341 11 11562 78746 0"}},
    {"\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7\xE2\x80\x8D\xF0\x9F"
     "\x91\xA6 \xF0\x9F\x8F\xB3\xEF\xB8\x8F\xE2\x80\x8D\xF0\x9F\x8C\x88!!",
     {"28823 102 2524 28823 102 2524 28823 100 2524 28823 99 9552 237 111 15148 2524 64364 230 "
      "2618",
      "9468 239 102 378 235 9468 239 102 378 235 9468 239 100 378 235 9468 239 99 11410 237 111 "
      "31643 378 235 9468 234 230 3001"}},
    {"if (x->y != 0) {\n    return a[i++];\n}\n",
     {"366 350 87 609 88 1666 220 15 8 405 271 622 261 1768 109298 739",
      "333 320 87 405 88 976 220 15 8 341 262 471 264 1004 48957 534"}},
    {"a/b//c\n//\n/", {"64 7611 393 66 198 22704 14", "64 3554 322 66 198 2341 14"}},
    {"<|endoftext|>", {"27 91 419 1440 919 91 29", "27 91 8862 728 428 91 29"}},
    {"e\xCC\x81te\xCC\x81 \xCC\x81x",
     {"68 13430 411 13430 220 13430 87", "68 54939 668 54939 220 54939 87"}},
    {"   ", {"271", "262"}},
    {"\n \n", {"47812", "27907"}},
    {"'", {"6", "6"}},
    {"x'L'lL", {"87 195838 54602 43", "87 92526 64966 43"}},
    {"\xC7\x85ungla \xCA\xB0x \xC2\xAA\xC2\xBA",
     {"131 227 988 1675 220 134 108 87 1322 103 11006",
      "131 227 2234 4355 220 134 108 87 2188 103 29300"}},
    {"\xC2\xA0x\xE3\x80\x80y\xE2\x80\xA8z",
     {"5310 87 1397 88 51008 89", "4194 87 23249 88 378 101 89"}},
    {"\xE1\xBA\x9E\xC5\xBF'\xC5\xBF", {"803 252 70067 6 70067", "6655 252 129 123 6 129 123"}},
    {"https://example.org/?q=1&r=two#three",
     {"4172 1684 18582 4519 32316 80 28 16 160014 28 38397 2 47660",
      "2485 1129 8858 2726 18236 80 28 16 61717 28 20375 2 28956"}},
    {"supercalifragilisticexpialidocious",
     {"17789 5842 366 17764 311 6207 8067 563 315 170661",
      "13066 3035 278 333 4193 321 4633 4683 532 307 78287"}},
    /* Byte order marks: the reference drops them, so these ids are from OpenAI's tokenizer. */
    {"\xEF\xBB\xBFusing System;", {"9251 1219 26", "4117 744 26"}},
    {"\xEF\xBB\xBF\xEF\xBB\xBFx", {"135153 87", "3305 3305 87"}},
};

/* Characters that the split patterns distinguish, for dense mixtures. */
static const char *const edges[] = {
    " ",
    " ",
    "\n",
    "\r",
    "\t",
    "\xC2\xA0",
    "a",
    "s",
    "ll",
    "zig",
    "A",
    "LL",
    "\xC3\xA9",
    "\xC3\x89",
    "\xE4\xB8\xAD",
    "\xCC\x81",
    "\xE3\x80\x80",
    "\xC7\x85",
    "1",
    "23",
    "!",
    "/",
    "'",
    "'s",
    "'ll",
    "\xF0\x9F\x98\x80",
    "=",
    "\xEF\xBB\xBF",
    "\xC5\xBF",
    "\xFF",
    "\xE4\xB8",
    "\xF0\x9F",
    "\xC3",
    "\x80",
    "\xED\xA0\x80",
    "\xF4\x90",
};
#define EDGES_VALID 29 /* later ones are not valid UTF-8 */

static uint64_t random_state = 88172645463325252U;

static size_t random_below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state >> 20) % n;
}

/* Writes a random sequence of the edges to `out`. */
static str random_text(struct buf *out, size_t parts_max, size_t edges_max)
{
    size_t parts = 1 + random_below(parts_max);

    buf_reset(out);
    while (parts-- > 0)
        buf_add(out, str_c(edges[random_below(edges_max)]));
    return buf_str(out);
}

/* A very long run of one character, then some others. */
static str random_run(struct buf *out, size_t size)
{
    size_t a = random_below(EDGES_VALID), b = random_below(EDGES_VALID),
           rare = 1 + random_below(90);

    buf_reset(out);
    if (random_below(2))
        buf_add(out, str_c(edges[random_below(EDGES_VALID)]));
    while (out->n < size)
        buf_add(out, str_c(edges[random_below(rare) ? a : b]));
    for (size_t i = random_below(5); i > 0; i--)
        buf_add(out, str_c(edges[random_below(EDGES_VALID)]));
    return buf_str(out);
}

static str ids_text(const struct tokens_vocab *v, str text, struct buf *out)
{
    struct tokens_list l;

    tokens_list_init(&l, IDS_MAX);
    tokens_encode(v, text, &l);
    CHECK(!l.full);
    CHECK_INT(tokens_count(v, text), l.n);
    buf_reset(out);
    for (size_t i = 0; i < l.n; i++)
        buf_printf(out, i ? " %u" : "%u", (unsigned)l.ids[i]);
    tokens_list_release(&l);
    return buf_str(out);
}

TEST(tokens_has_two_vocabularies)
{
    CHECK_STR(tokens_vocab_name(tokens_vocab_at(0)), "o200k_base");
    CHECK_STR(tokens_vocab_name(tokens_vocab_at(1)), "cl100k_base");
    CHECK(tokens_vocab_at(2) == NULL);
    CHECK(tokens_vocab_find(STR("cl100k_base")) == tokens_vocab_at(1));
    CHECK(tokens_vocab_find(STR("o200k")) == NULL);
    CHECK_INT(tokens_vocab_at(0)->packed->count, 199998);
    CHECK_INT(tokens_vocab_at(1)->packed->count, 100256);
}

TEST(tokens_are_those_of_the_reference)
{
    struct buf b;

    buf_init(&b, 1 << 16);
    for (size_t i = 0; i < COUNT_OF(goldens); i++)
        for (size_t v = 0; v < 2; v++)
            CHECK_STR(ids_text(tokens_vocab_at(v), str_c(goldens[i].text), &b), goldens[i].ids[v]);
    CHECK_INT(tokens_count(tokens_vocab_at(0), STR("")), 0);
    buf_release(&b);
}

/* Random edges, and characters at which a block of the vector code does not end. */
static str random_block_text(struct buf *out, int round)
{
    static const char ascii[] = "  \n\r\t\v\f\x1F''/(aAsLvEz012";
    static const char *const wide[] = {
        "\xC3\xA9", "\xC3\x89", "\xD1\x8F", "\xE2\x80\x9C", "\xE2\x80\x94", "\xF0\x9F\x98\x80"};

    if (round % 4 == 0)
        return random_text(out, 120, EDGES_VALID);
    for (buf_reset(out); out->n < 160;)
        if (round % 4 == 1 && random_below(3) == 0)
            buf_add(out, str_c(wide[random_below(COUNT_OF(wide))]));
        else
            buf_add(out, (str){ascii + random_below(sizeof ascii - 1), 1});
    return buf_str(out);
}

/* Finds many piece ends at once, starting at each piece, with every SIMD level of the machine. */
TEST(tokens_ends_are_where_the_splitter_cuts)
{
    enum simd_level best = simd_best();
    struct buf b;

    buf_init(&b, 1 << 10);
    for (int round = 0; round < 40000; round++) {
        str text = random_block_text(&b, round / 2);
        const struct tokens_vocab *v = tokens_vocab_at((size_t)round % 2);
        const uint8_t *p = (const uint8_t *)text.p;

        for (size_t at = 0; at < text.n;) {
            uint64_t ends = tokens_ends(p + at, text.n - at, v->cased, best);
            size_t from = at;

            CHECK(best == SIMD_WORD || ends == tokens_ends(p + at, text.n - at, v->cased, SIMD_16));

            for (; ends; ends &= ends - 1) {
                from += v->split(p + from, text.n - from, false);
                CHECK(from == at + (size_t)__builtin_ctzll(ends));
            }
            at += v->split(p + at, text.n - at, true);
        }
    }
    buf_release(&b);
}

TEST(tokens_of_broken_text_are_those_of_its_replacement)
{
    static const struct {
        str broken;
        const char *read;
    } cases[] = {
        {{"a\xFFz", 3}, "a\xEF\xBF\xBDz"},
        {{"\x80\x80", 2}, "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {{"\xE4\xB8z", 3}, "\xEF\xBF\xBDz"},
        {{"\xE4\xB8", 2}, "\xEF\xBF\xBD"},
        {{"\xF0\x9F\x98", 3}, "\xEF\xBF\xBD"},
        {{"\xF0\x9F\xC3\xA9", 4}, "\xEF\xBF\xBD\xC3\xA9"},
        {{"\xC0\xAF", 2}, "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {{"\xED\xA0\x80", 3}, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {{"\xF4\x90\x80\x80", 4}, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {{"\xE0\x80\x80", 3}, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    };
    struct buf a, b;

    buf_init(&a, 1 << 12);
    buf_init(&b, 1 << 12);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t v = 0; v < 2; v++) {
            str want = ids_text(tokens_vocab_at(v), str_c(cases[i].read), &b);

            CHECK(str_eq(ids_text(tokens_vocab_at(v), cases[i].broken, &a), want));
        }
    buf_release(&a);
    buf_release(&b);
}

/* Feeds the text in pieces of up to size_max bytes; after each, the count must be that of the
 * prefix. */
static void check_cuts(const struct tokens_vocab *v, str text, size_t size_max, bool ask)
{
    struct tokens_counter c;

    tokens_counter_init(&c, v, &(struct tokens_windows){.whole = {0}});
    CHECK_INT(tokens_counter_count(&c), 0);
    for (size_t at = 0; at < text.n;) {
        size_t size = 1 + random_below(size_max);

        tokens_counter_feed(&c, str_slice(text, at, at + size));
        at = at + size < text.n ? at + size : text.n;
        if (!ask && at < text.n)
            continue;
        CHECK_F(tokens_counter_count(&c) == tokens_count(v, str_slice(text, 0, at)),
                "%zu, not %zu, of \"" STR_FMT "\"",
                tokens_counter_count(&c),
                tokens_count(v, str_slice(text, 0, at)),
                STR_ARG(str_slice(text, 0, at)));
    }
}

TEST(tokens_counter_does_not_see_the_cuts)
{
    struct buf b;

    for (size_t i = 0; i < COUNT_OF(goldens); i++)
        for (size_t v = 0; v < 2; v++)
            check_cuts(tokens_vocab_at(v), str_c(goldens[i].text), 1, true);
    buf_init(&b, 1 << 16);
    for (size_t i = 0; i < 4000; i++) {
        str text = random_text(&b, 40, COUNT_OF(edges));

        check_cuts(tokens_vocab_at(i % 2), text, 1 + random_below(9), true);
        check_cuts(tokens_vocab_at(i % 2), text, 1 + random_below(60), false);
    }
    buf_release(&b);
}

TEST(tokens_counter_that_trusts_counts_the_same)
{
    for (size_t i = 0; i < COUNT_OF(goldens); i++)
        for (size_t v = 0; v < 2; v++) {
            str text = str_c(goldens[i].text);
            struct tokens_counter whole, parts;

            tokens_counter_init(&whole, tokens_vocab_at(v), &(struct tokens_windows){.whole = {0}});
            tokens_counter_init(&parts, tokens_vocab_at(v), &(struct tokens_windows){.whole = {0}});
            whole.trusted = parts.trusted = true;
            tokens_counter_feed(&whole, text);
            for (size_t at = 0, to; at < text.n; at = to) {
                for (to = at + 1; to < text.n && (text.p[to] & 0xC0) == 0x80;)
                    to++;
                tokens_counter_feed(&parts, str_slice(text, at, to));
            }
            CHECK_INT(tokens_counter_count(&whole), tokens_count(tokens_vocab_at(v), text));
            CHECK_INT(tokens_counter_count(&parts), tokens_count(tokens_vocab_at(v), text));
        }
}

TEST(tokens_counter_knows_every_prefix_of_an_endless_run)
{
    struct buf b;

    buf_init(&b, 1 << 16);
    for (size_t i = 0; i < 400; i++) {
        str text = random_run(&b, 20 + random_below(500));

        check_cuts(tokens_vocab_at(i % 2), text, 1 + random_below(40), true);
        check_cuts(tokens_vocab_at(i % 2), text, 400, false);
    }
    buf_release(&b);
}

/* A wrong division of a run changes the count only if a token would span it: 亚洲AV, don't, I'll. */
TEST(tokens_counter_cuts_an_endless_run_where_the_pattern_does)
{
    static const char *const units[] = {"\xE4\xBA\x9A\xE6\xB4\xB2\x41V",
                                        "x",
                                        "A",
                                        " ",
                                        "\n ",
                                        "\xE3\x80\x80",
                                        "=",
                                        "=/\n",
                                        "\xCC\x81"};
    static const char *const ends[] = {"",        "don't",        "don'tx",  "I'll",  "I'l",
                                       "I'lx",    "they've!",     "we're",   "DON'T", "'",
                                       "''s",     "'\xC3\xA9",    "\n//\n/", " x",    "\n  x",
                                       "x",       "\xE4\xB8\xAD", "1",       "\xFF",  "AVa",
                                       "!!!!!!!!"};
    struct buf b;

    buf_init(&b, 1 << 12);
    for (size_t u = 0; u < COUNT_OF(units); u++)
        for (size_t i = 0; i < COUNT_OF(ends) * 2; i++) {
            buf_reset(&b);
            while (b.n < 90)
                buf_add(&b, str_c(units[u]));
            buf_add(&b, str_c(ends[i / 2]));
            check_cuts(tokens_vocab_at(i % 2), buf_str(&b), 1, true);
            check_cuts(tokens_vocab_at(i % 2), buf_str(&b), 70, true);
        }
    buf_release(&b);
}

TEST(tokens_decode_to_the_text_they_were_encoded_from)
{
    struct buf text, back;
    struct err e;

    buf_init(&text, 1 << 16);
    buf_init(&back, 1 << 16);
    for (size_t i = 0; i < 2000; i++) {
        const struct tokens_vocab *v = tokens_vocab_at(i % 2);
        str s = i % 8 ? random_text(&text, 60, EDGES_VALID) : random_run(&text, random_below(900));
        struct tokens_list l;

        tokens_list_init(&l, IDS_MAX);
        tokens_encode(v, s, &l);
        buf_reset(&back);
        CHECK(tokens_decode(v, l.ids, l.n, &back, &e));
        CHECK(str_eq(buf_str(&back), s));
        tokens_list_release(&l);
    }
    buf_release(&text);
    buf_release(&back);
}

/* A sorted vocabulary for a reference implementation that shares no code with ours. */
struct naive {
    const struct tokens_vocab *v;
    struct naive_token {
        str bytes;
        uint32_t id;
    } * sorted;
    struct buf bytes;
};

static int naive_order(const void *a, const void *b)
{
    return str_cmp(((const struct naive_token *)a)->bytes, ((const struct naive_token *)b)->bytes);
}

static void naive_init(struct naive *o, const struct tokens_vocab *v)
{
    uint32_t n = v->packed->count;
    struct err e;
    size_t at = 0;

    o->v = v;
    o->sorted = base_alloc(n * sizeof *o->sorted);
    buf_init(&o->bytes, 1 << 24);
    for (uint32_t id = 0; id < n; id++) {
        size_t before = o->bytes.n;

        CHECK(tokens_decode(v, &id, 1, &o->bytes, &e));
        o->sorted[id] = (struct naive_token){{NULL, o->bytes.n - before}, id};
    }
    for (uint32_t id = 0; id < n; at += o->sorted[id++].bytes.n)
        o->sorted[id].bytes.p = o->bytes.p + at;
    qsort(o->sorted, n, sizeof *o->sorted, naive_order);
}

static uint32_t naive_rank(const struct naive *o, str bytes)
{
    const struct naive_token key = {bytes, 0};
    const struct naive_token *hit =
        bsearch(&key, o->sorted, o->v->packed->count, sizeof key, naive_order);

    return hit ? hit->id : UINT32_MAX;
}

/* The merge rule literally: lowest rank first, the leftmost of equals. Returns the number of
 * parts. */
static size_t naive_merge(const struct naive *o, str piece, size_t *start)
{
    size_t n = piece.n;

    for (size_t i = 0; i <= n; i++)
        start[i] = i;
    for (;;) {
        uint32_t best = UINT32_MAX;
        size_t at = 0;

        for (size_t i = 0; i + 2 <= n; i++) {
            uint32_t rank = naive_rank(o, str_slice(piece, start[i], start[i + 2]));

            if (rank < best)
                best = rank, at = i;
        }
        if (best == UINT32_MAX)
            return n;
        memmove(start + at + 1, start + at + 2, (n - at - 1) * sizeof *start);
        n--;
    }
}

TEST(tokens_of_one_word_are_merged_as_the_rule_says)
{
    static const char *const letters[] = {
        "abcdefghijklmnopqrstuvwxyz", "ab", "acgt", "etaoinshr", "x", "aeiou", "theand"};
    size_t start[512];
    char word[512];

    for (size_t v = 0; v < 2; v++) {
        struct naive o;

        naive_init(&o, tokens_vocab_at(v));
        for (size_t i = 0; i < 150; i++) {
            const char *from = letters[random_below(COUNT_OF(letters))];
            str s = {word, 1 + random_below(i % 4 ? 60 : 300)};
            struct tokens_list l;
            size_t n;

            for (size_t k = 0; k < s.n; k++)
                word[k] = from[random_below(strlen(from))];
            n = naive_merge(&o, s, start);
            tokens_list_init(&l, IDS_MAX);
            tokens_encode(tokens_vocab_at(v), s, &l);
            CHECK_INT(l.n, n);
            CHECK_INT(tokens_count(tokens_vocab_at(v), s), n);
            for (size_t k = 0; k < n; k++)
                CHECK_INT(l.ids[k], naive_rank(&o, str_slice(s, start[k], start[k + 1])));
            tokens_list_release(&l);
        }
        free(o.sorted);
        buf_release(&o.bytes);
    }
}

/* Long texts cache the tokens of rare words; a single line is too short for the cache. */
TEST(tokens_of_a_word_that_comes_again_are_the_same)
{
    struct tokens_list whole, lines;
    struct buf words, text;

    buf_init(&words, 1 << 16);
    buf_init(&text, 1 << 20);
    for (size_t at = 0; at < 400 * 16; at++)
        buf_add(&words, (str){&"aeiounstr_lKcdXz0"[random_below(at % 16 ? 17 : 9)], 1});
    for (size_t i = 0; tokens_vocab_at(i); i++) {
        const struct tokens_vocab *v = tokens_vocab_at(i);

        tokens_list_init(&whole, IDS_MAX);
        tokens_list_init(&lines, IDS_MAX);
        buf_reset(&text);
        for (int line = 0; line < 8000; line++) {
            size_t word = 16 * random_below(400), from = text.n;

            buf_add(&text, str_slice(buf_str(&words), word, word + 1 + word % 15));
            buf_add(&text, STR("\n"));
            tokens_encode(v, str_slice(buf_str(&text), from, text.n), &lines);
        }
        tokens_encode(v, buf_str(&text), &whole);
        CHECK(whole.n == lines.n && memcmp(whole.ids, lines.ids, whole.n * sizeof *whole.ids) == 0);
        CHECK(tokens_count(v, buf_str(&text)) == lines.n);
        tokens_list_release(&whole);
        tokens_list_release(&lines);
    }
    buf_release(&words);
    buf_release(&text);
}

/* In quadratic time this would take hours, so the test runner's time-out would fail it. */
TEST(tokens_of_a_word_without_end_take_linear_time)
{
    static const char *const units[] = {"a", " ", "\n", "-", "=", "Z", "ab", "\xE4\xB8\xAD", "qzx"};
    struct buf b;

    buf_init(&b, 1 << 20);
    for (size_t u = 0; u < COUNT_OF(units); u++)
        for (size_t v = 0; v < 2; v++) {
            struct tokens_counter c;
            size_t n;

            buf_reset(&b);
            while (b.n < 100 * 1024)
                buf_add(&b, str_c(units[u]));
            n = tokens_count(tokens_vocab_at(v), buf_str(&b));
            CHECK(n > 0 && n < b.n);
            tokens_counter_init(&c, tokens_vocab_at(v), &(struct tokens_windows){.whole = {0}});
            for (size_t at = 0; at < b.n; at++) {
                tokens_counter_feed(&c, str_slice(buf_str(&b), at, at + 1));
                CHECK(tokens_counter_count(&c) > 0);
            }
            CHECK_INT(tokens_counter_count(&c), n);
        }
    buf_release(&b);
}

TEST(tokens_lists_keep_whole_pieces_under_their_ceiling)
{
    const struct tokens_vocab *v = tokens_vocab_at(0);
    struct tokens_list l;
    struct buf b;
    struct err e;

    tokens_list_init(&l, 3);
    tokens_encode(v, STR("Hello, world!"), &l);
    CHECK(l.full);
    CHECK_INT(l.n, 3);
    buf_init(&b, 5);
    CHECK(!tokens_decode(v, l.ids, l.n, &b, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    l.ids[1] = v->packed->count;
    CHECK(!tokens_decode(v, l.ids, l.n, &b, &e));
    CHECK_STR(str_c(e.text), "o200k_base has no token 199998");
    buf_release(&b);
    tokens_list_release(&l);
}

static void *count_at_once(void *ctx)
{
    tokens_vocab_warm(tokens_vocab_at(0));
    (void)ctx;
    return (void *)(uintptr_t)tokens_count(tokens_vocab_at(0), STR("Hello, world!"));
}

TEST(a_vocabulary_is_unpacked_once_by_whoever_needs_it_first)
{
    pthread_t threads[8];
    void *count;

    for (size_t i = 0; i < 8; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, count_at_once, NULL), 0);
    for (size_t i = 0; i < 8; i++)
        CHECK(pthread_join(threads[i], &count) == 0 && (uintptr_t)count == 4);
}

TEST_MAIN(T(a_vocabulary_is_unpacked_once_by_whoever_needs_it_first),
          T(tokens_has_two_vocabularies), T(tokens_are_those_of_the_reference),
          T(tokens_ends_are_where_the_splitter_cuts),
          T(tokens_of_broken_text_are_those_of_its_replacement),
          T(tokens_counter_does_not_see_the_cuts), T(tokens_counter_that_trusts_counts_the_same),
          T(tokens_counter_knows_every_prefix_of_an_endless_run),
          T(tokens_counter_cuts_an_endless_run_where_the_pattern_does),
          T(tokens_decode_to_the_text_they_were_encoded_from),
          T(tokens_of_one_word_are_merged_as_the_rule_says),
          T(tokens_of_a_word_that_comes_again_are_the_same),
          T(tokens_of_a_word_without_end_take_linear_time),
          T(tokens_lists_keep_whole_pieces_under_their_ceiling))
