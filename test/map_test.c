/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "base/rand.h"
#include "test.h"

#define NAMES 500

static str name_of(char out[32], size_t i)
{
    return (str){out, (size_t)snprintf(out, 32, "name %zu", i)};
}

TEST(map_finds_what_was_set_and_nothing_else)
{
    struct arena a;
    struct map m;
    struct err e;

    arena_init(&a, 1 << 20);
    map_init(&m, &a, 10);
    CHECK(map_find(&m, STR("a")) == NULL && map_next(&m, NULL) == NULL);
    CHECK(!map_remove(&m, STR("a")));
    CHECK(map_set(&m, STR("a"), MAP_U64(1), &e));
    CHECK(map_set(&m, STR(""), MAP_PTR(&m), &e));
    CHECK(map_set(&m, (str){"a\0b", 3}, MAP_U64(3), &e));
    CHECK(map_set(&m, STR("a"), MAP_U64(4), &e));
    CHECK_INT(map_count(&m), 3);
    CHECK_INT(map_find(&m, STR("a"))->value.u64, 4);
    CHECK(map_find(&m, STR(""))->value.ptr == &m);
    CHECK_INT(map_find(&m, (str){"a\0b", 3})->value.u64, 3);
    CHECK(map_find(&m, (str){"a\0c", 3}) == NULL);
    map_release(&m);
    arena_release(&a);
}

TEST(map_copies_keys_into_its_arena_or_borrows_them)
{
    char key[] = "key";
    struct map copied, borrowed;
    struct arena a;
    struct err e;

    arena_init(&a, 1 << 20);
    map_init(&copied, &a, 10);
    map_init(&borrowed, NULL, 10);
    CHECK(map_set(&copied, str_c(key), MAP_U64(1), &e));
    CHECK(map_set(&borrowed, str_c(key), MAP_U64(1), &e));
    CHECK(map_find(&borrowed, STR("key"))->key.p == key);
    memset(key, 'x', 3);
    CHECK_STR(map_find(&copied, STR("key"))->key, "key");
    map_release(&copied);
    map_release(&borrowed);
    arena_release(&a);
}

TEST(map_holds_no_more_than_its_ceiling)
{
    struct arena a;
    struct map m;
    struct err e;
    char out[32];

    arena_init(&a, 1 << 20);
    map_init(&m, &a, 3);
    for (size_t i = 0; i < 3; i++)
        CHECK(map_set(&m, name_of(out, i), MAP_U64(i), &e));
    CHECK(!map_set(&m, STR("one more"), MAP_U64(0), &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(map_set(&m, name_of(out, 1), MAP_U64(7), &e));
    CHECK(map_remove(&m, name_of(out, 0)));
    CHECK(map_set(&m, STR("one more"), MAP_U64(0), &e));
    map_release(&m);
    arena_release(&a);
}

/* Reference implementation: an array with linear search. */
struct plain {
    size_t names[NAMES], values[NAMES], n;
};

static size_t plain_at(const struct plain *p, size_t name)
{
    size_t i = 0;

    while (i < p->n && p->names[i] != name)
        i++;
    return i;
}

static void plain_set(struct plain *p, size_t name, size_t value)
{
    size_t at = plain_at(p, name);

    p->names[at] = name;
    p->values[at] = value;
    p->n += at == p->n;
}

static bool plain_remove(struct plain *p, size_t name)
{
    size_t at = plain_at(p, name);

    if (at == p->n)
        return false;
    p->n--;
    memmove(p->names + at, p->names + at + 1, (p->n - at) * sizeof p->names[0]);
    memmove(p->values + at, p->values + at + 1, (p->n - at) * sizeof p->values[0]);
    return true;
}

static void check_same(const struct map *m, const struct plain *p)
{
    size_t at = 0;
    char out[32];

    CHECK_INT(map_count(m), p->n);
    for (struct map_entry *i = map_next(m, NULL); i; i = map_next(m, i), at++) {
        CHECK(str_eq(i->key, name_of(out, p->names[at])));
        CHECK_INT(i->value.u64, p->values[at]);
    }
    CHECK_INT(at, p->n);
}

TEST(map_agrees_with_a_plain_list_in_content_and_order)
{
    struct plain p = {.n = 0};
    struct arena a;
    struct map m;
    struct rand r;
    struct err e;

    arena_init(&a, 64 << 20);
    map_init(&m, &a, NAMES);
    rand_init(&r, 11);
    for (size_t step = 0; step < 40000; step++) {
        size_t name = rand_below(&r, step / 5000 % 2 ? 10 : NAMES);
        struct map_entry *found;
        char out[32];

        if (rand_below(&r, 100) < (step / 10000 % 2 ? 60u : 40u)) {
            CHECK(map_set(&m, name_of(out, name), MAP_U64(step), &e));
            plain_set(&p, name, step);
        } else {
            CHECK(map_remove(&m, name_of(out, name)) == plain_remove(&p, name));
        }
        name = rand_below(&r, NAMES);
        found = map_find(&m, name_of(out, name));
        CHECK((found != NULL) == (plain_at(&p, name) < p.n));
        if (step % 100 == 0)
            check_same(&m, &p);
        CHECK(m.slot_count <= 4096);
    }
    check_same(&m, &p);
    map_release(&m);
    arena_release(&a);
}

TEST(map_lets_the_entry_one_stands_on_be_removed)
{
    struct arena a;
    struct map m;
    struct err e;
    size_t seen = 0;
    char out[32];

    arena_init(&a, 1 << 20);
    map_init(&m, &a, NAMES);
    for (size_t i = 0; i < NAMES; i++)
        CHECK(map_set(&m, name_of(out, i), MAP_U64(i), &e));
    for (struct map_entry *i = map_next(&m, NULL); i; i = map_next(&m, i), seen++)
        CHECK(map_remove(&m, i->key));
    CHECK_INT(seen, NAMES);
    CHECK_INT(map_count(&m), 0);
    CHECK(map_find(&m, name_of(out, 1)) == NULL);
    map_release(&m);
    arena_release(&a);
}

/* The values of hash(b"...") in Python 3.11 with PYTHONHASHSEED=0: SipHash-1-3 with key 0. */
TEST(map_hash_is_siphash_1_3)
{
    static const struct {
        const char *text;
        uint64_t hash;
    } cases[] = {
        {"a", 0x407448d2b89b1813},
        {"abc", 0xc03bc3a0042630f2},
        {"1234567", 0xa33d651594fdae81},
        {"12345678", 0x3489982430560a87},
        {"123456789", 0x0fbc0f0007965fcf},
        {"the quick brown fox", 0x5a17575ad3449cba},
    };
    static const uint64_t zero[2] = {0, 0}, other[2] = {0, 1};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK_F(map_hash(zero, str_c(cases[i].text)) == cases[i].hash, "%s", cases[i].text);
        CHECK(map_hash(other, str_c(cases[i].text)) != cases[i].hash);
    }
}

TEST(map_seeds_differ_from_map_to_map)
{
    struct map a, b;
    struct err e;

    map_init(&a, NULL, 1);
    map_init(&b, NULL, 1);
    CHECK(map_set(&a, STR("x"), MAP_U64(1), &e));
    CHECK(map_set(&b, STR("x"), MAP_U64(1), &e));
    CHECK(map_hash(a.seed, STR("x")) != map_hash(b.seed, STR("x")));
    map_release(&a);
    map_release(&b);
}

TEST_MAIN(T(map_finds_what_was_set_and_nothing_else),
          T(map_copies_keys_into_its_arena_or_borrows_them), T(map_holds_no_more_than_its_ceiling),
          T(map_agrees_with_a_plain_list_in_content_and_order),
          T(map_lets_the_entry_one_stands_on_be_removed), T(map_hash_is_siphash_1_3),
          T(map_seeds_differ_from_map_to_map))
