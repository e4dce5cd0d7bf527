/* SPDX-License-Identifier: Apache-2.0 */
#include "net/resolve.h"
#include "net/stream.h"

#include "test.h"

#include <arpa/inet.h>
#include <pthread.h>

#define ASKS 200

/* A lookup that can be blocked, and counts its calls. */
struct names {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held;
    int entered, count;
};

static bool look_up(void *ctx, const char *host, struct resolve_addrs *out, struct err *e)
{
    struct names *n = ctx;

    pthread_mutex_lock(&n->lock);
    n->entered++;
    pthread_cond_broadcast(&n->changed);
    while (n->held)
        pthread_cond_wait(&n->changed, &n->lock);
    n->count++;
    pthread_mutex_unlock(&n->lock);
    if (str_starts(str_c(host), STR("bad")))
        return err_set(e, ERR_UPSTREAM, "the host %s is not found", host);
    return resolve_literal(STR("127.0.0.7"), out);
}

static void hold(struct names *n, bool held)
{
    pthread_mutex_lock(&n->lock);
    n->held = held;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
}

static void wait_entered(struct names *n, int count)
{
    pthread_mutex_lock(&n->lock);
    while (n->entered < count)
        pthread_cond_wait(&n->changed, &n->lock);
    pthread_mutex_unlock(&n->lock);
}

static struct names names_new(void)
{
    return (struct names){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
}

struct asker {
    struct loop *loop;
    int good, bad, left;
    struct err err;
};

static void on_answer(void *ctx, const struct resolve_addrs *addrs, const struct err *e)
{
    struct asker *a = ctx;

    if (addrs) {
        CHECK_INT(addrs->n, 1);
        CHECK_INT(ntohl(addrs->addr[0].at.v4.sin_addr.s_addr), 0x7f000007);
        a->good++;
    } else {
        a->err = *e;
        a->bad++;
    }
    if (--a->left == 0)
        loop_stop(a->loop);
}

static struct asker asker_new(int left)
{
    struct err e;
    struct asker a = {.loop = loop_new(&clock_real, &e), .left = left};

    CHECK(a.loop);
    return a;
}

static struct resolver *resolver_with(struct names *n, const struct clock *clock, unsigned threads)
{
    struct err e;
    struct resolver *r = resolver_new_by(
        &(struct resolver_options){.threads = threads, .lookup = look_up, .ctx = n, .clock = clock},
        &e);

    CHECK_F(r, "%s", e.text);
    return r;
}

/* Checks the count after the resolver ended. Its threads are detached and use `n` until they
 * end. */
static void end(struct resolver *r, struct names *n, int looked_up)
{
    resolver_free(r);
    pthread_mutex_lock(&n->lock);
    CHECK_INT(n->count, looked_up);
    pthread_mutex_unlock(&n->lock);
}

TEST(resolve_knows_addresses_by_sight)
{
    static const struct {
        const char *text;
        int family;
    } cases[] = {{"127.0.0.1", AF_INET},
                 {"::1", AF_INET6},
                 {"2001:db8::1", AF_INET6},
                 {"localhost", 0},
                 {"127.1", 0},
                 {"", 0},
                 {"1.2.3.4.5", 0},
                 {"[::1]", 0},
                 {"0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", 0}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct resolve_addrs addrs;
        bool ok = resolve_literal(str_c(cases[i].text), &addrs);

        CHECK_F(ok == (cases[i].family != 0), "%s", cases[i].text);
        if (!ok)
            continue;
        CHECK_INT(addrs.addr[0].at.any.sa_family, cases[i].family);
        resolve_set_port(&addrs.addr[0], 443);
        CHECK_INT(addrs.addr[0].at.v4.sin_port, htons(443)); /* same offset in both families */
    }
}

TEST(resolve_lets_families_take_turns)
{
    static const struct {
        const char *before, *after; /* family (4 or 6) and a letter for each address */
    } cases[] = {{"", ""},
                 {"6a", "6a"},
                 {"6a6b4a4b", "6a4a6b4b"},
                 {"4a4b4c6a", "4a6a4b4c"},
                 {"4a4b", "4a4b"},
                 {"6a6b6c4a4b", "6a4a6b4b6c"}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct resolve_addrs addrs = {.n = strlen(cases[i].before) / 2};
        char after[32] = "";

        for (size_t j = 0; j < addrs.n; j++) {
            addrs.addr[j].at.any.sa_family = cases[i].before[2 * j] == '4' ? AF_INET : AF_INET6;
            addrs.addr[j].size = (unsigned char)cases[i].before[2 * j + 1];
        }
        resolve_take_turns(&addrs);
        for (size_t j = 0; j < addrs.n; j++) {
            after[2 * j] = addrs.addr[j].at.any.sa_family == AF_INET ? '4' : '6';
            after[2 * j + 1] = (char)addrs.addr[j].size;
        }
        CHECK_STR(str_c(after), cases[i].after);
    }
}

TEST(resolver_answers_on_the_loop_and_remembers_for_a_while)
{
    struct names n = names_new();
    struct asker a = asker_new(2);
    struct resolve_addrs addrs;
    struct resolver *r;
    struct clock clock;

    clock_fake_init(&clock, 0);
    r = resolver_with(&n, &clock, 2);
    CHECK(!resolver_known(r, STR("good"), &addrs));
    CHECK(resolver_ask(r, a.loop, STR("good"), on_answer, &a));
    CHECK(resolver_ask(r, a.loop, STR("bad"), on_answer, &a));
    loop_run(a.loop);
    CHECK_INT(a.good, 1);
    CHECK_INT(a.bad, 1);
    CHECK_STR(str_c(a.err.text), "the host bad is not found");
    CHECK(resolver_known(r, STR("good"), &addrs));
    CHECK(!resolver_known(r, STR("goo"), &addrs));
    CHECK(!resolver_known(r, STR("bad"), &addrs)); /* failures are not cached */
    clock_fake_advance_ms(&clock, RESOLVE_MEMORY_MS - 1);
    CHECK(resolver_known(r, STR("good"), &addrs));
    clock_fake_advance_ms(&clock, 1);
    CHECK(!resolver_known(r, STR("good"), &addrs));
    a.left = 1;
    CHECK(resolver_ask(r, a.loop, STR("good"), on_answer, &a));
    loop_run(a.loop);
    CHECK(resolver_known(r, STR("good"), &addrs));
    resolver_forget(r, STR("good"));
    resolver_forget(r, STR("good"));
    CHECK(!resolver_known(r, STR("good"), &addrs));
    loop_free(a.loop);
    end(r, &n, 3);
}

TEST(resolver_looks_a_name_up_once_for_all_who_ask_meanwhile)
{
    struct names n = names_new();
    struct asker a = asker_new(ASKS - 1);
    struct resolver *r = resolver_with(&n, NULL, 2);
    struct resolver_ask *first = NULL;

    hold(&n, true);
    for (int i = 0; i < ASKS; i++) {
        struct resolver_ask *ask = resolver_ask(r, a.loop, STR("good"), on_answer, &a);

        if (i == 7)
            first = ask;
    }
    resolver_drop(first);
    hold(&n, false);
    loop_run(a.loop);
    CHECK_INT(a.good, ASKS - 1);
    loop_free(a.loop);
    end(r, &n, 1);
}

TEST(resolver_does_not_answer_what_was_dropped_even_if_it_is_on_its_way)
{
    struct names n = names_new();
    struct asker a = asker_new(1);
    struct resolver *r = resolver_with(&n, NULL, 1);
    struct resolver_ask *ask = resolver_ask(r, a.loop, STR("good"), on_answer, &a), *other;
    struct resolve_addrs addrs;

    while (!resolver_known(r, STR("good"), &addrs)) /* the answer is posted next, under the lock */
        sched_yield();
    resolver_drop(ask);
    other = resolver_ask(r, a.loop, STR("bad"), on_answer, &a);
    CHECK(other);
    loop_run(a.loop);
    CHECK_INT(a.good, 0);
    CHECK_INT(a.bad, 1);
    loop_free(a.loop);
    end(r, &n, 2);
}

TEST(resolver_has_a_ceiling_and_says_so)
{
    struct names n = names_new();
    struct asker a = asker_new(1);
    struct resolver *r = resolver_with(&n, NULL, 1);
    static char longest[RESOLVE_HOST_MAX + 1];
    char host[32];

    hold(&n, true);
    for (int i = 0; i < RESOLVE_PENDING_MAX; i++) {
        snprintf(host, sizeof host, "good%d", i);
        CHECK(resolver_ask(r, a.loop, str_c(host), on_answer, &a));
    }
    CHECK(resolver_ask(r, a.loop, STR("one more"), on_answer, &a));
    loop_run(a.loop);
    CHECK_INT(a.bad, 1);
    CHECK_INT(a.err.code, ERR_LIMIT);
    memset(longest, 'a', sizeof longest);
    a.left = 3 + RESOLVE_PENDING_MAX;
    CHECK(resolver_ask(r, a.loop, (str){longest, sizeof longest}, on_answer, &a));
    CHECK(resolver_ask(r, a.loop, STR(""), on_answer, &a));
    CHECK(resolver_ask(r, a.loop, STR("a\0b"), on_answer, &a));
    hold(&n, false);
    loop_run(a.loop);
    CHECK_INT(a.bad, 4);
    CHECK_INT(a.good, RESOLVE_PENDING_MAX);
    loop_free(a.loop);
    end(r, &n, RESOLVE_PENDING_MAX);
}

TEST(resolver_free_does_not_wait_for_a_name_that_hangs)
{
    static struct names n; /* static: the thread may outlive the test */
    struct asker a = asker_new(1);
    struct resolver_ask *ask, *waiting;
    struct resolver *r;

    n = names_new();
    n.held = true;
    r = resolver_with(&n, NULL, 1);
    ask = resolver_ask(r, a.loop, STR("good"), on_answer, &a);
    waiting = resolver_ask(r, a.loop, STR("better"), on_answer, &a);
    wait_entered(&n, 1);
    resolver_drop(ask);
    resolver_drop(waiting);
    loop_free(a.loop);
    resolver_free(r);
    CHECK_INT(n.count, 0);
    hold(&n, false);
}

TEST(resolver_of_the_system_knows_this_machine)
{
    struct asker a = asker_new(1);
    struct resolve_addrs addrs;
    struct resolver *r;
    struct err e;

    r = resolver_new(1, &e);
    CHECK_F(r, "%s", e.text);
    CHECK(resolver_ask(r, a.loop, STR("127.0.0.7"), on_answer, &a));
    loop_run(a.loop);
    CHECK_INT(a.good, 1);
    CHECK(resolver_known(r, STR("127.0.0.7"), &addrs));
    loop_free(a.loop);
    resolver_free(r);
    resolver_free(NULL);
}

TEST(a_wait_for_a_name_ends_at_its_deadline_or_when_it_is_cancelled)
{
    static struct names n; /* static: abandoned lookups still use it */
    _Atomic bool cancel = true;
    struct stream_until until = {.deadline_ns = clock_deadline_ns(&clock_real, 600000)};
    struct resolve_addrs addrs;
    struct err e;

    n = names_new();
    CHECK_F(resolve_wait(look_up, &n, STR("good"), &until, &addrs, &e), "%s", e.text);
    CHECK_INT(addrs.n, 1);
    CHECK(!resolve_wait(look_up, &n, STR("bad"), &until, &addrs, &e));
    CHECK(e.code == ERR_UPSTREAM);
    CHECK(resolve_wait(NULL, NULL, STR("127.0.0.1"), &until, &addrs, &e));
    n.held = true;
    until.cancel = &cancel;
    CHECK(!resolve_wait(look_up, &n, STR("slow"), &until, &addrs, &e));
    CHECK(e.code == ERR_CANCELLED);
    until = (struct stream_until){.deadline_ns = clock_deadline_ns(&clock_real, 20)};
    CHECK(!resolve_wait(look_up, &n, STR("slow"), &until, &addrs, &e));
    CHECK(e.code == ERR_TIMEOUT);
    wait_entered(&n, 4);
    hold(&n, false);
}

TEST_MAIN(T(a_wait_for_a_name_ends_at_its_deadline_or_when_it_is_cancelled),
          T(resolve_knows_addresses_by_sight), T(resolve_lets_families_take_turns),
          T(resolver_answers_on_the_loop_and_remembers_for_a_while),
          T(resolver_looks_a_name_up_once_for_all_who_ask_meanwhile),
          T(resolver_does_not_answer_what_was_dropped_even_if_it_is_on_its_way),
          T(resolver_has_a_ceiling_and_says_so),
          T(resolver_free_does_not_wait_for_a_name_that_hangs),
          T(resolver_of_the_system_knows_this_machine))
