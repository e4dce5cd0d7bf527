/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/json.h"
#include "optimize/twister.h"
#include "test.h"

static struct twister seeded(const char *decimal)
{
    struct twister_seed seed;
    struct twister t;
    struct err e;

    CHECK(twister_seed_read(str_c(decimal), &seed, &e));
    twister_init(&t, seed.word, seed.n);
    return t;
}

/* From the authors' mt19937ar.out: init_by_array of these four words. */
TEST(words_are_those_of_the_authors)
{
    static const uint32_t first[] = {1067595299u, 955945823u, 477289528u, 4107218783u, 4228976476u};
    struct twister t;

    twister_init(&t, (const uint32_t[]){0x123, 0x234, 0x345, 0x456}, 4);
    for (size_t i = 0; i < COUNT_OF(first); i++)
        CHECK_INT(twister_u32(&t), first[i]);
}

/* From CPython: random.seed(n); random.random(). */
TEST(random_is_pythons)
{
    static const struct {
        const char *seed;
        double first;
    } cases[] = {
        {"0", 0.8444218515250481},
        {"1", 0.13436424411240122},
        {"-1", 0.13436424411240122},
        {"42", 0.6394267984578837},
        {"00042", 0.6394267984578837},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct twister t = seeded(cases[i].seed);

        CHECK(twister_random(&t) == cases[i].first);
    }
}

TEST(seeds_of_many_words_are_read_lowest_first)
{
    struct twister_seed s;
    struct err e;

    CHECK(twister_seed_read(STR("4294967296"), &s, &e));
    CHECK(s.n == 2 && s.word[0] == 0 && s.word[1] == 1);
    CHECK(twister_seed_read(STR("-18446744073709551617"), &s, &e));
    CHECK(s.n == 3 && s.word[0] == 1 && s.word[1] == 0 && s.word[2] == 1);
    CHECK(twister_seed_read(STR("0"), &s, &e));
    CHECK(s.n == 1 && s.word[0] == 0);
}

TEST(what_is_no_whole_number_is_no_seed)
{
    static const char *const bad[] = {"", "-", "1.5", "1e3", "0x1", " 1", "+1", "--1", "seven"};
    char long_one[700];
    struct twister_seed s;
    struct err e;

    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK_F(!twister_seed_read(str_c(bad[i]), &s, &e), "%s", bad[i]);
    memset(long_one, '9', sizeof long_one);
    CHECK(!twister_seed_read((str){long_one, sizeof long_one}, &s, &e));
    CHECK_INT(e.code, ERR_LIMIT);
}

TEST(draws_stay_inside_and_meet_everything)
{
    struct twister t = seeded("7");

    for (uint64_t n = 1; n < 70; n++) {
        uint64_t seen = 0;

        for (size_t i = 0; i < 2000; i++) {
            uint64_t x = twister_below(&t, n);

            CHECK(x < n);
            seen |= x < 64 ? (uint64_t)1 << x : 0;
        }
        CHECK(seen == (n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1));
    }
    for (unsigned k = 1; k <= 64; k++)
        for (size_t i = 0; i < 50; i++)
            CHECK(k == 64 || twister_bits(&t, k) >> k == 0);
}

TEST(a_sample_has_no_place_twice)
{
    struct twister t = seeded("7");
    uint32_t out[40];

    for (size_t n = 1; n < 40; n++)
        for (size_t k = 0; k <= n; k++) {
            twister_sample(&t, n, k, out);
            for (size_t i = 0; i < k; i++) {
                CHECK(out[i] < n);
                for (size_t j = 0; j < i; j++)
                    CHECK(out[i] != out[j]);
            }
        }
}

TEST(a_shuffle_keeps_all)
{
    struct twister t = seeded("3");
    uint32_t x[100], seen = 0;

    for (uint32_t i = 0; i < 100; i++)
        x[i] = i;
    twister_shuffle(&t, x, 100);
    for (size_t i = 0; i < 100; i++)
        seen += x[i];
    CHECK_INT(seen, 4950);
    twister_shuffle(&t, x, 1);
    twister_shuffle(&t, x, 0);
}

TEST(weights_of_nothing_are_all_the_same)
{
    struct twister t = seeded("3");
    size_t seen[3] = {0};

    for (size_t i = 0; i < 300; i++)
        seen[twister_weighted(&t, (const double[]){0, 0, 0}, 3)]++;
    CHECK(seen[0] > 50 && seen[1] > 50 && seen[2] > 50);
    for (size_t i = 0; i < 300; i++)
        CHECK_INT(twister_weighted(&t, (const double[]){0, 1, 0}, 3), 1);
}

/* ---- against recorded draws of CPython ---- */

struct record {
    struct json doc;
    const struct json_node *row;
    struct twister t;
};

static double number(const struct record *r, const struct json_node *v)
{
    double out = -1;

    CHECK(json_double(&r->doc, v, &out));
    return out;
}

static const struct json_node *list(const struct record *r, const char *name)
{
    return json_find(&r->doc, r->row, str_c(name));
}

/* Draws of k places below n; the record is [n, k, places]. */
static void check_places(struct record *r, const char *name,
                         void (*draw)(struct twister *, size_t, size_t, uint32_t *))
{
    const struct json_node *all = list(r, name);

    for (const struct json_node *x = json_first(&r->doc, all); x; x = json_next(&r->doc, all, x)) {
        uint32_t out[64];
        const struct json_node *want = json_at(&r->doc, x, 2);
        size_t k = (size_t)number(r, json_at(&r->doc, x, 1));

        draw(&r->t, (size_t)number(r, json_at(&r->doc, x, 0)), k, out);
        for (size_t i = 0; i < k; i++)
            CHECK_INT(out[i], number(r, json_at(&r->doc, want, i)));
    }
}

static void check_weighted(struct record *r)
{
    const struct json_node *all = list(r, "choices_weighted");

    for (const struct json_node *x = json_first(&r->doc, all); x; x = json_next(&r->doc, all, x)) {
        const struct json_node *w = json_at(&r->doc, x, 0);
        double weights[16];
        size_t n = 0;

        for (const struct json_node *y = json_first(&r->doc, w); y; y = json_next(&r->doc, w, y))
            weights[n++] = number(r, y);
        CHECK_INT(twister_weighted(&r->t, weights, n), number(r, json_at(&r->doc, x, 1)));
    }
}

/* The record is [n, draw]. */
static void check_pairs(struct record *r, const char *name,
                        uint64_t (*draw)(struct twister *, uint64_t))
{
    const struct json_node *all = list(r, name);

    for (const struct json_node *x = json_first(&r->doc, all); x; x = json_next(&r->doc, all, x))
        CHECK(draw(&r->t, (uint64_t)number(r, json_at(&r->doc, x, 0))) ==
              (uint64_t)number(r, json_at(&r->doc, x, 1)));
}

static uint64_t bits(struct twister *t, uint64_t k)
{
    return twister_bits(t, (unsigned)k);
}

static uint64_t randint(struct twister *t, uint64_t m)
{
    return twister_below(t, m + 1);
}

static void check_row(struct record *r)
{
    uint32_t x[10];
    struct twister_seed seed;
    struct err e;

    CHECK(twister_seed_read(json_raw(&r->doc, list(r, "seed")), &seed, &e));
    twister_init(&r->t, seed.word, seed.n);
    for (size_t i = 0; i < json_count(&r->doc, list(r, "words")); i++)
        CHECK_INT(twister_u32(&r->t), number(r, json_at(&r->doc, list(r, "words"), i)));
    for (size_t i = 0; i < json_count(&r->doc, list(r, "random")); i++)
        CHECK(twister_random(&r->t) == number(r, json_at(&r->doc, list(r, "random"), i)));
    check_pairs(r, "bits", bits);
    check_pairs(r, "below", twister_below);
    for (uint32_t i = 0; i < 10; i++)
        x[i] = i;
    twister_shuffle(&r->t, x, 10);
    for (size_t i = 0; i < 10; i++)
        CHECK_INT(x[i], number(r, json_at(&r->doc, list(r, "shuffle_10"), i)));
    check_places(r, "sample", twister_sample);
    check_weighted(r);
    check_places(r, "choices_plain", twister_choices);
    check_pairs(r, "randint", randint);
    CHECK_INT(twister_u32(&r->t), number(r, list(r, "after")));
}

TEST(draws_are_those_that_were_recorded)
{
    const char *path = test_corpora("gepa/rng.json");
    const struct json_node *root;
    struct record r;
    struct arena a;
    struct err e;
    size_t rows = 0;
    str text;

    if (!path)
        return;
    arena_init(&a, (size_t)4 << 20);
    json_init(&r.doc);
    CHECK(file_read(&a, path, (size_t)2 << 20, &text, &e) && json_parse(&r.doc, text, &e));
    root = json_root(&r.doc);
    for (r.row = json_first(&r.doc, root); r.row; r.row = json_next(&r.doc, root, r.row), rows++)
        check_row(&r);
    CHECK(rows > 3);
    json_release(&r.doc);
    arena_release(&a);
}

TEST_MAIN(T(words_are_those_of_the_authors), T(random_is_pythons),
          T(seeds_of_many_words_are_read_lowest_first), T(what_is_no_whole_number_is_no_seed),
          T(draws_stay_inside_and_meet_everything), T(a_sample_has_no_place_twice),
          T(a_shuffle_keeps_all), T(weights_of_nothing_are_all_the_same),
          T(draws_are_those_that_were_recorded))
