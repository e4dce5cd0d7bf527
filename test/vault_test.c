/* What providers want back is kept for a day, within a size, for its own origin alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/vault.h"

#include "test.h"

#include <pthread.h>

#define HOUR_MS ((uint64_t)3600 * 1000)

struct fixture {
    struct clock clock;
    struct vault *v;
    struct arena a;
    struct wire_kept kept[8];
};

static void begin(struct fixture *f, size_t size_max)
{
    clock_fake_init(&f->clock, 1700000000000);
    f->v = vault_new(&f->clock, size_max);
    arena_init(&f->a, 1 << 20);
}

static void end(struct fixture *f)
{
    vault_free(f->v);
    arena_release(&f->a);
}

static size_t find(struct fixture *f, const char *origin, const char *id)
{
    return vault_find(f->v, str_c(origin), str_c(id), &f->a, f->kept, COUNT_OF(f->kept));
}

TEST(fragments_come_back_in_order_and_byte_for_byte)
{
    struct fixture f;
    char bytes[] = "a\0b\xff";

    begin(&f, 1 << 20);
    vault_put(f.v, STR("o"), STR("id"), STR("thinking"), STR("first"));
    vault_put(f.v, STR("o"), STR("id"), STR("signature"), (str){bytes, 4});
    memset(bytes, 'x', sizeof bytes);
    CHECK_INT(find(&f, "o", "id"), 2);
    CHECK_STR(f.kept[0].name, "thinking");
    CHECK_STR(f.kept[0].text, "first");
    CHECK(f.kept[1].text.n == 4 && memcmp(f.kept[1].text.p, "a\0b\xff", 4) == 0);
    CHECK_INT(vault_find(f.v, STR("o"), STR("id"), &f.a, f.kept, 1), 2);
    vault_put(f.v, STR("o"), STR("id"), STR("thinking"), STR("first"));
    CHECK_INT(find(&f, "o", "id"), 2);
    end(&f);
}

TEST(another_origin_gets_nothing_but_the_id_is_known)
{
    struct fixture f;

    begin(&f, 1 << 20);
    vault_put(f.v, STR("a/m"), STR("id"), STR("s"), STR("1"));
    CHECK_INT(find(&f, "b/m", "id"), 0);
    CHECK_INT(find(&f, "a/m", "other"), 0);
    CHECK(vault_knows(f.v, STR("id")));
    CHECK(!vault_knows(f.v, STR("other")));
    vault_put(f.v, STR("b/m"), STR("id"), STR("s"), STR("2"));
    CHECK_INT(find(&f, "a/m", "id"), 1);
    CHECK_STR(f.kept[0].text, "1");
    CHECK_INT(find(&f, "b/m", "id"), 1);
    CHECK_STR(f.kept[0].text, "2");
    end(&f);
}

TEST(nothing_is_given_out_after_a_day)
{
    struct fixture f;

    begin(&f, 1 << 20);
    vault_put(f.v, STR("o"), STR("id"), STR("s"), STR("1"));
    clock_fake_advance_ms(&f.clock, 23 * HOUR_MS);
    CHECK_INT(find(&f, "o", "id"), 1);
    vault_put(f.v, STR("o"), STR("late"), STR("s"), STR("1"));
    clock_fake_advance_ms(&f.clock, HOUR_MS + 1);
    CHECK(!vault_knows(f.v, STR("id")));
    CHECK_INT(find(&f, "o", "id"), 0);
    CHECK_INT(find(&f, "o", "late"), 1);
    clock_fake_advance_ms(&f.clock, 24 * HOUR_MS);
    vault_put(f.v, STR("o"), STR("new"), STR("s"), STR("1"));
    CHECK(!vault_knows(f.v, STR("late")));
    CHECK(vault_knows(f.v, STR("new")));
    end(&f);
}

TEST(what_was_used_longest_ago_goes_first)
{
    struct fixture f;
    char id[16];

    begin(&f, 64 << 10);
    for (int i = 0; i < 1000; i++) {
        snprintf(id, sizeof id, "id%d", i);
        vault_put(f.v, STR("o"), str_c(id), STR("s"), STR("0123456789012345678901234567890123456"));
        CHECK_INT(find(&f, "o", "id0"), 1);
        arena_reset(&f.a);
    }
    CHECK(!vault_knows(f.v, STR("id1")));
    CHECK(vault_knows(f.v, STR("id999")));
    CHECK(vault_knows(f.v, STR("id900")));
    end(&f);
}

TEST(what_does_not_fit_is_not_half_kept)
{
    struct fixture f;
    struct buf large;

    begin(&f, 4096);
    buf_init(&large, 8192);
    while (!buf_full(&large))
        buf_add_c(&large, 'x');
    vault_put(f.v, STR("o"), STR("id"), STR("s"), STR("small"));
    vault_put(f.v, STR("o"), STR("id"), STR("s"), buf_str(&large));
    CHECK(!vault_knows(f.v, STR("id")));
    vault_put(f.v, STR("o"), STR("id2"), STR("s"), STR("small"));
    CHECK(vault_knows(f.v, STR("id2")));
    buf_release(&large);
    end(&f);
}

TEST(an_arena_without_room_is_as_if_nothing_were_there)
{
    struct fixture f;
    struct arena small;

    begin(&f, 1 << 20);
    vault_put(f.v, STR("o"), STR("id"), STR("s"), STR("some text that needs a place"));
    arena_init(&small, 16);
    CHECK_INT(vault_find(f.v, STR("o"), STR("id"), &small, f.kept, 8), 0);
    arena_release(&small);
    vault_put(f.v, STR(""), STR(""), STR(""), STR(""));
    CHECK_INT(find(&f, "", ""), 1);
    end(&f);
    vault_free(NULL);
}

static void *work(void *arg)
{
    struct vault *v = arg;
    struct wire_kept kept[4];
    struct arena a;
    char id[16];

    arena_init(&a, 1 << 20);
    for (int i = 0; i < 3000; i++) {
        snprintf(id, sizeof id, "%d", i % 50);
        vault_put(v, STR("o"), str_c(id), STR("s"), str_c(id));
        if (vault_find(v, STR("o"), str_c(id), &a, kept, 4) > 0)
            CHECK(str_eq(kept[0].text, str_c(id)));
        (void)vault_knows(v, STR("7"));
        arena_reset(&a);
    }
    arena_release(&a);
    return NULL;
}

TEST(any_thread_may_put_and_find)
{
    struct vault *v = vault_new(&clock_real, 8 << 10);
    pthread_t threads[4];

    for (size_t i = 0; i < COUNT_OF(threads); i++)
        CHECK(pthread_create(&threads[i], NULL, work, v) == 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    vault_free(v);
}

TEST_MAIN(T(fragments_come_back_in_order_and_byte_for_byte),
          T(another_origin_gets_nothing_but_the_id_is_known), T(nothing_is_given_out_after_a_day),
          T(what_was_used_longest_ago_goes_first), T(what_does_not_fit_is_not_half_kept),
          T(an_arena_without_room_is_as_if_nothing_were_there), T(any_thread_may_put_and_find))
