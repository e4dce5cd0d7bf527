/* Earlier messages are found by the id of a response, only by its owner, until they expire.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/previous_response.h"

#include "test.h"

#include <pthread.h>

#define HOUR_MS ((uint64_t)3600 * 1000)

struct fixture {
    struct clock clock;
    struct previous_responses *p;
    struct buf out;
    struct err e;
};

static void begin(struct fixture *f, size_t size_max)
{
    clock_fake_init(&f->clock, 1700000000000);
    f->p = previous_response_new(&f->clock, size_max);
    buf_init(&f->out, 1 << 20);
}

static void end(struct fixture *f)
{
    previous_response_free(f->p);
    buf_release(&f->out);
}

static void put(struct fixture *f, const char *id, const char *previous, str items)
{
    previous_response_put(f->p,
                          &(struct previous_response){.who = STR("alice"),
                                                      .id = str_c(id),
                                                      .previous = str_c(previous),
                                                      .session = STR("s"),
                                                      .items = items});
}

static bool find(struct fixture *f, const char *id)
{
    buf_reset(&f->out);
    return previous_response_find(f->p, STR("alice"), str_c(id), &f->out, &f->e);
}

TEST(a_conversation_comes_back_whole_and_in_order)
{
    struct fixture f;

    begin(&f, 1 << 20);
    put(&f, "a", "", STR("1,2"));
    put(&f, "b", "a", STR(""));
    put(&f, "c", "b", STR("3"));
    put(&f, "d", "a", STR("4"));
    CHECK(find(&f, "a"));
    CHECK_STR(buf_str(&f.out), "1,2");
    CHECK(find(&f, "c"));
    CHECK_STR(buf_str(&f.out), "1,2,3");
    CHECK(find(&f, "d"));
    CHECK_STR(buf_str(&f.out), "1,2,4");
    put(&f, "a", "", STR("other"));
    CHECK(find(&f, "d"));
    CHECK_STR(buf_str(&f.out), "other,4");
    end(&f);
}

TEST(nobody_else_finds_it)
{
    struct fixture f;

    begin(&f, 1 << 20);
    put(&f, "a", "", STR("1"));
    CHECK(!previous_response_find(f.p, STR("bob"), STR("a"), &f.out, &f.e) &&
          f.e.code == ERR_NOT_FOUND);
    CHECK(!previous_response_find(f.p, STR(""), STR("a"), &f.out, &f.e));
    CHECK(!previous_response_find(f.p, STR("alic"), (str){"e\0a", 3}, &f.out, &f.e));
    CHECK_INT(f.out.n, 0);
    end(&f);
}

TEST(with_a_link_missing_nothing_is_told)
{
    struct fixture f;

    begin(&f, 1 << 20);
    put(&f, "b", "a", STR("2"));
    CHECK(!find(&f, "b") && f.e.code == ERR_NOT_FOUND && f.out.n == 0);
    put(&f, "a", "b", STR("1")); /* no client can create a cycle, but it would end */
    CHECK(!find(&f, "b") && f.out.n == 0);
    end(&f);
}

TEST(the_size_is_kept_and_what_is_used_stays)
{
    static char big[10000];
    char id[16];
    struct fixture f;

    begin(&f, 20 * sizeof big);
    memset(big, 'x', sizeof big);
    put(&f, "first", "", STR("1"));
    put(&f, "second", "first", STR("2"));
    for (int i = 0; i < 200; i++) {
        (void)snprintf(id, sizeof id, "n%d", i);
        put(&f, id, "", (str){big, sizeof big});
        CHECK(i % 10 || find(&f, "second")); /* a lookup also refreshes the response before it */
    }
    CHECK(find(&f, "first") && find(&f, "n199") && find(&f, "n185"));
    CHECK(!find(&f, "n170"));
    put(&f, "huge", "", (str){big, 0});
    CHECK(find(&f, "huge"));
    end(&f);
    begin(&f, sizeof big);
    put(&f, "too large", "", (str){big, sizeof big});
    CHECK(!find(&f, "too large"));
    end(&f);
}

TEST(after_a_day_without_use_it_is_gone)
{
    struct fixture f;

    begin(&f, 1 << 20);
    put(&f, "a", "", STR("1"));
    put(&f, "b", "", STR("2"));
    for (int i = 0; i < 3; i++) {
        clock_fake_advance_ms(&f.clock, 20 * HOUR_MS);
        CHECK(find(&f, "a"));
    }
    CHECK(!find(&f, "b"));
    clock_fake_advance_ms(&f.clock, 25 * HOUR_MS);
    CHECK(!find(&f, "a"));
    end(&f);
}

TEST(what_does_not_fit_into_a_request_is_said)
{
    struct fixture f;
    struct buf small;

    begin(&f, 1 << 20);
    buf_init(&small, 4);
    put(&f, "a", "", STR("12345"));
    CHECK(!previous_response_find(f.p, STR("alice"), STR("a"), &small, &f.e) &&
          f.e.code == ERR_LIMIT);
    buf_release(&small);
    end(&f);
}

TEST(a_session_is_forgotten_or_all_are)
{
    struct fixture f;

    begin(&f, 1 << 20);
    put(&f, "a", "", STR("1"));
    previous_response_put(
        f.p, &(struct previous_response){STR("alice"), STR("b"), STR(""), STR("other"), STR("2")});
    previous_response_forget(f.p, STR("other"));
    CHECK(find(&f, "a") && !find(&f, "b"));
    previous_response_forget(f.p, STR(""));
    CHECK(!find(&f, "a"));
    end(&f);
}

static void *use(void *past)
{
    struct buf out;
    struct err e;
    char id[16];

    buf_init(&out, 1 << 20);
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(id, sizeof id, "%d", i % 50);
        previous_response_put(
            past, &(struct previous_response){STR("w"), str_c(id), STR(""), STR("s"), STR("12")});
        buf_reset(&out);
        if (previous_response_find(past, STR("w"), str_c(id), &out, &e))
            CHECK_STR(buf_str(&out), "12");
        if (i % 500 == 0)
            previous_response_forget(past, STR("s"));
    }
    buf_release(&out);
    return NULL;
}

TEST(threads_use_it_at_once)
{
    pthread_t threads[4];
    struct fixture f;

    begin(&f, 8192);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        CHECK_INT(pthread_create(&threads[i], NULL, use, f.p), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    end(&f);
}

TEST_MAIN(T(a_conversation_comes_back_whole_and_in_order), T(nobody_else_finds_it),
          T(with_a_link_missing_nothing_is_told), T(the_size_is_kept_and_what_is_used_stays),
          T(after_a_day_without_use_it_is_gone), T(what_does_not_fit_into_a_request_is_said),
          T(a_session_is_forgotten_or_all_are), T(threads_use_it_at_once))
