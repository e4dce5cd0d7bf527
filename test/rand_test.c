/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"
#include "test.h"

#define THREADS 4
#define IDS_EACH 5000

TEST(rand_os_fills_all_of_it_differently_each_time)
{
    unsigned char a[4096] = {0}, b[4096] = {0};
    size_t zeros = 0;

    rand_os(a, sizeof a);
    rand_os(b, sizeof b);
    CHECK(memcmp(a, b, sizeof a) != 0);
    for (size_t i = 0; i < sizeof a; i++)
        zeros += a[i] == 0;
    CHECK(zeros < 200); /* 16 are expected */
    rand_os(a, 0);
}

TEST(rand_with_the_same_seed_gives_the_same_numbers)
{
    struct rand a, b, c;
    bool differs = false;

    rand_init(&a, 7);
    rand_init(&b, 7);
    rand_init(&c, 8);
    for (int i = 0; i < 100; i++) {
        uint64_t x = rand_u64(&a);

        CHECK(x == rand_u64(&b));
        differs |= x != rand_u64(&c);
    }
    CHECK(differs);
    rand_init_os(&a);
    rand_init_os(&b);
    CHECK(rand_u64(&a) != rand_u64(&b));
}

/* The generator's output for the state 1, 2, 3, 4, computed by hand: the first number is rotl(2 *
 * 5, 7) * 9 = 11520. The state is then 7, 0, 262146, 6 << 45, so the second number is 0. */
TEST(rand_steps_as_xoshiro_does)
{
    struct rand r = {{1, 2, 3, 4}};

    CHECK_INT(rand_u64(&r), 11520);
    CHECK_INT(r.s[0], 7);
    CHECK_INT(r.s[1], 0);
    CHECK_INT(r.s[2], 262146);
    CHECK_INT(r.s[3], (uint64_t)6 << 45);
    CHECK_INT(rand_u64(&r), 0);
}

TEST(rand_below_is_even_and_inside)
{
    size_t seen[7] = {0};
    struct rand r;

    rand_init(&r, 1);
    for (int i = 0; i < 70000; i++) {
        uint64_t x = rand_below(&r, COUNT_OF(seen));

        CHECK(x < COUNT_OF(seen));
        seen[x]++;
    }
    for (size_t i = 0; i < COUNT_OF(seen); i++)
        CHECK_F(seen[i] > 9600 && seen[i] < 10400, "%zu of %zu", seen[i], i);
    CHECK_INT(rand_below(&r, 1), 0);
}

/* With n = 3/4 of 2^64, a plain modulo would give the lowest third twice as often. */
TEST(rand_below_is_even_for_large_bounds_too)
{
    uint64_t third = (uint64_t)1 << 62;
    size_t low = 0;
    struct rand r;

    rand_init(&r, 2);
    for (int i = 0; i < 30000; i++)
        low += rand_below(&r, third * 3) < third;
    CHECK_F(low > 9600 && low < 10400, "%zu", low);
}

TEST(ids_are_uuids_of_version_7_with_the_time_in_front)
{
    char out[RAND_ID_SIZE];
    struct rand_ids ids;
    struct clock c;
    str id;

    clock_fake_init(&c, 0x0123456789AB);
    rand_ids_init(&ids, &c);
    id = rand_id(&ids, out);
    CHECK_INT(id.n, 36);
    CHECK(str_starts(id, STR("01234567-89ab-7")));
    for (size_t i = 0; i < id.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        CHECK(dash ? id.p[i] == '-' : strchr("0123456789abcdef", id.p[i]) != NULL);
    }
    CHECK(strchr("89ab", id.p[19]));
    CHECK(rand_is_id(id) && !rand_is_id(str_slice(id, 0, 35)) && !rand_is_id(STR("")));
    for (size_t i = 0; i < id.n; i++) {
        char was = out[i];

        out[i] = 'g';
        CHECK(!rand_is_id(id));
        out[i] = was;
    }
    rand_ids_release(&ids);
}

TEST(ids_sort_in_their_order_whatever_the_clock_does)
{
    static const struct {
        const char *what;
        int64_t wall_ms;
    } clock_says[] = {
        {"stands still", 1000},
        {"goes on", 2000},
        {"is set back", 1500},
        {"is before 1970", -5},
        {"is far ahead", INT64_C(1) << 47},
        {"comes back", 3000},
    };
    char last[RAND_ID_SIZE] = "", id[RAND_ID_SIZE];
    struct rand_ids ids;
    struct clock c;

    clock_fake_init(&c, 1000);
    rand_ids_init(&ids, &c);
    for (size_t i = 0; i < COUNT_OF(clock_says); i++) {
        clock_fake_set_wall(&c, clock_says[i].wall_ms);
        for (int k = 0; k < 1000; k++) {
            rand_id(&ids, id);
            CHECK_F(strcmp(last, id) < 0, "%s: %s after %s", clock_says[i].what, id, last);
            memcpy(last, id, sizeof last);
        }
    }
    rand_ids_release(&ids);
}

TEST(ids_borrow_a_millisecond_when_the_counter_is_used_up)
{
    char before[RAND_ID_SIZE], after[RAND_ID_SIZE];
    struct rand_ids ids;
    struct clock c;

    clock_fake_init(&c, 0x1000);
    rand_ids_init(&ids, &c);
    rand_id(&ids, before);
    ids.counter = ((uint64_t)1 << 42) - 2;
    CHECK(str_starts(rand_id(&ids, before), STR("00000000-1000-7fff-bfff-ffff")));
    CHECK(str_starts(rand_id(&ids, after), STR("00000000-1001-7")));
    rand_ids_release(&ids);
}

struct asker {
    struct rand_ids *ids;
    char (*out)[RAND_ID_SIZE];
};

static void *ask(void *arg)
{
    const struct asker *a = arg;

    for (size_t i = 0; i < IDS_EACH; i++)
        rand_id(a->ids, a->out[i]);
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

TEST(ids_are_never_given_twice_by_many_threads)
{
    char(*all)[RAND_ID_SIZE] = base_alloc((size_t)THREADS * IDS_EACH * RAND_ID_SIZE);
    struct asker askers[THREADS];
    pthread_t threads[THREADS];
    struct rand_ids ids;

    rand_ids_init(&ids, &clock_real);
    for (size_t t = 0; t < THREADS; t++) {
        askers[t] = (struct asker){&ids, all + t * IDS_EACH};
        CHECK(pthread_create(&threads[t], NULL, ask, &askers[t]) == 0);
    }
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (size_t t = 0; t < THREADS; t++)
        for (size_t i = 1; i < IDS_EACH; i++)
            CHECK(strcmp(all[t * IDS_EACH + i - 1], all[t * IDS_EACH + i]) < 0);
    qsort(all, (size_t)THREADS * IDS_EACH, RAND_ID_SIZE, by_text);
    for (size_t i = 1; i < (size_t)THREADS * IDS_EACH; i++)
        CHECK(strcmp(all[i - 1], all[i]) < 0);
    rand_ids_release(&ids);
    free(all);
}

TEST_MAIN(T(rand_os_fills_all_of_it_differently_each_time),
          T(rand_with_the_same_seed_gives_the_same_numbers), T(rand_steps_as_xoshiro_does),
          T(rand_below_is_even_and_inside), T(rand_below_is_even_for_large_bounds_too),
          T(ids_are_uuids_of_version_7_with_the_time_in_front),
          T(ids_sort_in_their_order_whatever_the_clock_does),
          T(ids_borrow_a_millisecond_when_the_counter_is_used_up),
          T(ids_are_never_given_twice_by_many_threads))
