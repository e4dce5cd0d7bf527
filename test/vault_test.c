/* Provider data is kept for a day, within a size limit, and returned to its own origin only.
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
    struct vault_call call = {.id = str_c(id)};

    return vault_find(f->v, str_c(origin), &call, &f->a, f->kept, COUNT_OF(f->kept));
}

static void put(struct fixture *f, const char *origin, str id, str name, str text)
{
    struct vault_call call = {.id = id};

    vault_put(f->v, str_c(origin), &call, name, text);
}

/* The only fragment found for the call, or "". */
static str one_of(struct fixture *f, const struct vault_call *call)
{
    size_t n = vault_find(f->v, STR("o"), call, &f->a, f->kept, COUNT_OF(f->kept));

    CHECK(n <= 1);
    return n ? f->kept[0].text : STR("");
}

TEST(fragments_come_back_in_order_and_byte_for_byte)
{
    struct fixture f;
    char bytes[] = "a\0b\xff";

    begin(&f, 1 << 20);
    put(&f, "o", STR("id"), STR("thinking"), STR("first"));
    put(&f, "o", STR("id"), STR("signature"), (str){bytes, 4});
    memset(bytes, 'x', sizeof bytes);
    CHECK_INT(find(&f, "o", "id"), 2);
    CHECK_STR(f.kept[0].name, "thinking");
    CHECK_STR(f.kept[0].text, "first");
    CHECK(f.kept[1].text.n == 4 && memcmp(f.kept[1].text.p, "a\0b\xff", 4) == 0);
    CHECK_INT(vault_find(f.v, STR("o"), &(struct vault_call){.id = STR("id")}, &f.a, f.kept, 1), 2);
    put(&f, "o", STR("id"), STR("thinking"), STR("first"));
    CHECK_INT(find(&f, "o", "id"), 2);
    end(&f);
}

TEST(another_origin_gets_nothing_but_the_id_is_known)
{
    struct fixture f;

    begin(&f, 1 << 20);
    put(&f, "a/m", STR("id"), STR("s"), STR("1"));
    CHECK_INT(find(&f, "b/m", "id"), 0);
    CHECK_INT(find(&f, "a/m", "other"), 0);
    CHECK(vault_knows(f.v, STR("id")));
    CHECK(!vault_knows(f.v, STR("other")));
    put(&f, "b/m", STR("id"), STR("s"), STR("2"));
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
    put(&f, "o", STR("id"), STR("s"), STR("1"));
    clock_fake_advance_ms(&f.clock, 23 * HOUR_MS);
    CHECK_INT(find(&f, "o", "id"), 1);
    put(&f, "o", STR("late"), STR("s"), STR("1"));
    clock_fake_advance_ms(&f.clock, HOUR_MS + 1);
    CHECK(!vault_knows(f.v, STR("id")));
    CHECK_INT(find(&f, "o", "id"), 0);
    CHECK_INT(find(&f, "o", "late"), 1);
    clock_fake_advance_ms(&f.clock, 24 * HOUR_MS);
    put(&f, "o", STR("new"), STR("s"), STR("1"));
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
        put(&f, "o", str_c(id), STR("s"), STR("0123456789012345678901234567890123456"));
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
    put(&f, "o", STR("id"), STR("s"), STR("small"));
    put(&f, "o", STR("id"), STR("s"), buf_str(&large));
    CHECK(!vault_knows(f.v, STR("id")));
    put(&f, "o", STR("id2"), STR("s"), STR("small"));
    CHECK(vault_knows(f.v, STR("id2")));
    buf_release(&large);
    end(&f);
}

TEST(of_more_fragments_than_fit_none_is_kept)
{
    struct vault_call call = {.id = STR("many")};
    char name[16];
    struct fixture f;

    begin(&f, 1 << 20);
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        put(&f, "o", call.id, str_c(name), STR("text"));
    }
    CHECK_INT(find(&f, "o", "many"), 0);
    CHECK(!vault_knows(f.v, call.id));
    call.reply = 1; /* another reply has the same call id */
    vault_put(f.v, STR("o"), &call, STR("n"), STR("text"));
    CHECK_INT(find(&f, "o", "many"), 1);
    end(&f);
}

TEST(an_arena_without_room_is_as_if_nothing_were_there)
{
    static const char large[3000];
    struct fixture f;
    struct arena small;

    begin(&f, 1 << 20);
    put(&f, "o", STR("id"), STR("s"), STR("some text that needs a place"));
    arena_init(&small, 16);
    CHECK_INT(vault_find(f.v, STR("o"), &(struct vault_call){.id = STR("id")}, &small, f.kept, 8),
              0);
    arena_release(&small);
    put(&f, "o", STR("large"), STR("s"), (str){large, sizeof large});
    arena_init(&small, 4096);
    arena_reserve(&small, 2048); /* enough in total, but not contiguous */
    CHECK_INT(
        vault_find(f.v, STR("o"), &(struct vault_call){.id = STR("large")}, &small, f.kept, 8), 0);
    arena_release(&small);
    put(&f, "", STR(""), STR(""), STR(""));
    CHECK_INT(find(&f, "", ""), 1);
    end(&f);
    vault_free(NULL);
}

TEST(of_several_conversations_each_gets_its_own)
{
    struct vault_call alice = {.id = STR("id"), .asked = 1, .system = 7, .reply = 1},
                      carol = {.id = STR("id"), .asked = 2, .system = 7, .reply = 2}, other;
    struct fixture f;

    begin(&f, 1 << 20);
    vault_put(f.v, STR("o"), &alice, STR("s"), STR("a"));
    vault_put(f.v, STR("o"), &carol, STR("s"), STR("c"));
    CHECK_STR(one_of(&f, &alice), "a");
    CHECK_STR(one_of(&f, &carol), "c");
    other = alice; /* the client changed its system prompt and dropped a result */
    other.system = 8;
    other.results = 3;
    CHECK_STR(one_of(&f, &other), "a");
    other.asked = 3; /* matches neither conversation */
    CHECK_STR(one_of(&f, &other), "");
    other = alice; /* a later step of the same conversation */
    other.results = 1;
    other.reply = 3;
    vault_put(f.v, STR("o"), &other, STR("s"), STR("a2"));
    CHECK_STR(one_of(&f, &alice), "a");
    CHECK_STR(one_of(&f, &other), "a2");
    alice.reply = 4; /* the request is repeated */
    vault_put(f.v, STR("o"), &alice, STR("s"), STR("again"));
    CHECK_STR(one_of(&f, &alice), "again");
    CHECK_STR(one_of(&f, &other), "a2");
    end(&f);
}

TEST(places_of_one_call_are_bounded)
{
    struct vault_call call = {.id = STR("id")};
    struct fixture f;

    begin(&f, 1 << 20);
    for (uint64_t i = 1; i <= 1000; i++) {
        call.asked = call.reply = i;
        vault_put(f.v, STR("o"), &call, STR("s"), STR("x"));
    }
    CHECK_STR(one_of(&f, &call), "x");
    call.asked = 900;
    CHECK_STR(one_of(&f, &call), "x");
    call.asked = 1;
    CHECK_STR(one_of(&f, &call), "");
    CHECK(vault_hash(f.v, 0, STR("a")) == vault_hash(f.v, 0, STR("a")));
    CHECK(vault_hash(f.v, 0, STR("a")) != vault_hash(f.v, 1, STR("a")));
    CHECK(vault_reply(f.v) != vault_reply(f.v));
    end(&f);
}

static void *work(void *arg)
{
    struct vault *v = arg;
    struct wire_kept kept[4];
    struct arena a;
    struct vault_call call = {.asked = 0};
    char id[16];

    arena_init(&a, 1 << 20);
    for (int i = 0; i < 3000; i++) {
        snprintf(id, sizeof id, "%d", i % 50);
        call.id = str_c(id);
        vault_put(v, STR("o"), &call, STR("s"), str_c(id));
        if (vault_find(v, STR("o"), &call, &a, kept, 4) > 0)
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

TEST(the_latest_fragments_of_a_long_id_take_its_size_once)
{
    struct vault_fragment *all;
    struct fixture f;
    struct buf id;
    char text[32];
    size_t n;

    begin(&f, 8 << 20);
    buf_init(&id, 1 << 17);
    while (id.n < 100000)
        buf_add_c(&id, 'x');
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "%d", i);
        put(&f, "o", buf_str(&id), STR("s"), str_c(text));
    }
    n = vault_latest(f.v, 512 << 10, &f.a, &all); /* half of the arena's 1 MB */
    CHECK_INT(n, 200);
    CHECK_STR(all[199].text, "199");
    CHECK(str_eq(all[0].call.id, buf_str(&id)) && str_eq(all[199].call.id, buf_str(&id)));
    CHECK_STR(all[199].origin, "o");
    buf_release(&id);
    end(&f);
}

TEST_MAIN(T(fragments_come_back_in_order_and_byte_for_byte),
          T(the_latest_fragments_of_a_long_id_take_its_size_once),
          T(another_origin_gets_nothing_but_the_id_is_known), T(nothing_is_given_out_after_a_day),
          T(what_was_used_longest_ago_goes_first), T(what_does_not_fit_is_not_half_kept),
          T(of_more_fragments_than_fit_none_is_kept),
          T(an_arena_without_room_is_as_if_nothing_were_there),
          T(of_several_conversations_each_gets_its_own), T(places_of_one_call_are_bounded),
          T(any_thread_may_put_and_find))
