/* Calls and viewers on many threads, starting and ending all the time: each message arrives or is
 * counted in a gap.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/rand.h"
#include "live_side.h"
#include "test.h"

#include <pthread.h>

enum { LOOPS = 3, CALLS = 60, PIECES = 60 };
#define WORDS "a text of sixty characters that is said one by one, 60 times"

struct side {
    struct hub *hub;
    struct loop *loop;
    struct hub_port *port;
    pthread_t thread;
    struct rand rand;
    struct loop_timer timer;
    /* Its current call, and its viewers. */
    struct hub_call *call;
    struct hub_lent lent;
    unsigned calls, pieces;
    struct seen watcher, other; /* of varying sessions; always of the neighbour's session */
    bool watching;
    char session[32];
};

static _Atomic unsigned texts_seen;

static void next(struct side *s)
{
    struct hub_begin b = side_begin("id", s->session, "");

    s->call = hub_call_begin(s->hub, s->port, &b);
    s->pieces = 0;
}

static void watch(struct side *s)
{
    char channel[40];
    struct err e;

    if (s->watching) {
        if (rand_below(&s->rand, 3) == 0) {
            s->watching = false;
            texts_seen += s->watcher.messages > 0;
            seen_end(&s->watcher);
        } else {
            s->watcher.full = rand_below(&s->rand, 4) == 0;
        }
        return;
    }
    snprintf(channel, sizeof channel, "session_s%u", (unsigned)rand_below(&s->rand, LOOPS + 1));
    seen_begin(&s->watcher, s->port, SIDE_ALL);
    CHECK(hub_subscribe(s->watcher.viewer, str_c(channel), rand_below(&s->rand, 2), &e));
    s->watching = true;
}

static bool count(void *ctx, const struct hub_running *r)
{
    (void)ctx;
    return r->session.n > 0;
}

static void wait_for_other(struct side *s)
{
    if (s->watching)
        seen_end(&s->watcher);
    s->watching = false;
    if (s->other.ended < CALLS)
        loop_timer_set(s->loop, &s->timer, 1);
    else
        loop_stop(s->loop);
}

/* Publishes one letter; at random, lends all of the remaining text at once. */
static void say(struct side *s)
{
    str rest = str_slice(STR(WORDS), s->pieces, STR(WORDS).n);

    if (rand_below(&s->rand, 40) == 0) {
        s->lent =
            (struct hub_lent){.n = 2,
                              .pieces = {{HUB_ANSWERING, HUB_ANSWER, str_slice(rest, 0, 9)},
                                         {HUB_ANSWERING, HUB_ANSWER, str_slice(rest, 9, rest.n)}},
                              .progress = {HUB_ANSWERING, 1, 2, false}};
        hub_call_lend(s->call, &s->lent);
        s->pieces = PIECES - 1;
        return;
    }
    hub_call_text(s->call, HUB_ANSWER, str_slice(rest, 0, 1));
    hub_call_text(s->call, HUB_REASONING, STR("hm "));
}

static void step(void *ctx)
{
    struct side *s = ctx;
    struct hub_counts counts;

    if (s->calls == CALLS) {
        wait_for_other(s);
        return;
    }
    if (!s->call)
        next(s);
    say(s);
    if (rand_below(&s->rand, 8) == 0)
        hub_call_state(s->call,
                       &(struct hub_progress){(enum hub_state)rand_below(&s->rand, 5), 1, 2, 0});
    if (rand_below(&s->rand, 10) == 0)
        watch(s);
    if (rand_below(&s->rand, 20) == 0)
        (void)hub_running(s->hub, STR(""), count, NULL);
    if (rand_below(&s->rand, 20) == 0)
        hub_counts(s->hub, &counts);
    if (++s->pieces == PIECES) {
        struct hub_end e = side_end();

        hub_call_end(s->call, &e);
        s->call = NULL;
        s->calls++;
    }
    loop_timer_set(s->loop, &s->timer, 0);
}

static void *run(void *arg)
{
    struct side *s = arg;

    loop_timer_init(&s->timer, step, s);
    loop_timer_set(s->loop, &s->timer, 0);
    loop_run(s->loop);
    return NULL;
}

/* A call on a thread without a loop. */
static void *elsewhere(void *arg)
{
    struct side *s = arg;
    struct hub_begin b = side_begin("away", "s3", "");
    struct hub_end e = side_end();

    for (int i = 0; i < CALLS; i++) {
        struct hub_call *c = hub_call_begin(s->hub, NULL, &b);

        for (int k = 0; k < PIECES; k++)
            hub_call_text(c, HUB_ANSWER, STR("a"));
        hub_call_end(c, &e);
        hub_health(s->hub, STR("\"status\":\"healthy\""));
    }
    return NULL;
}

TEST(calls_and_viewers_of_many_threads_do_not_get_in_each_others_way)
{
    struct hub *hub = hub_new(&clock_real);
    struct side sides[LOOPS] = {0};
    struct hub_counts counts;
    char channel[40];
    pthread_t away;
    struct err e;

    for (unsigned i = 0; i < LOOPS; i++) {
        sides[i].hub = hub;
        sides[i].loop = loop_new(&clock_real, &e);
        sides[i].port = hub_port_new(hub, sides[i].loop);
        rand_init(&sides[i].rand, i + 1);
        snprintf(sides[i].session, sizeof sides[i].session, "s%u", i);
        seen_begin(&sides[i].other, sides[i].port, SIDE_ALL);
        sides[i].other.expect = STR(WORDS);
        snprintf(channel, sizeof channel, "session_s%u", (i + 1) % LOOPS);
        CHECK(hub_subscribe(sides[i].other.viewer, str_c(channel), 0, &e));
    }
    for (unsigned i = 0; i < LOOPS; i++)
        CHECK(pthread_create(&sides[i].thread, NULL, run, &sides[i]) == 0);
    CHECK(pthread_create(&away, NULL, elsewhere, &sides[0]) == 0);
    pthread_join(away, NULL);
    for (unsigned i = 0; i < LOOPS; i++)
        pthread_join(sides[i].thread, NULL);
    for (unsigned i = 0; i < LOOPS; i++) {
        CHECK_INT(sides[i].other.ended, CALLS);
        CHECK_INT(sides[i].other.wrong, 0);
        CHECK(!sides[i].other.torn && !sides[i].other.gaps);
        seen_end(&sides[i].other);
        loop_free(sides[i].loop);
        hub_port_free(sides[i].port);
    }
    hub_counts(hub, &counts);
    CHECK_INT(counts.running, 0);
    CHECK_INT(counts.viewers[0] + counts.viewers[1], 0);
    CHECK_INT(counts.text_bytes, 0);
    CHECK(texts_seen > 10);
    hub_free(hub);
}

/* ---- running calls are listed without a viewer ---- */

static void on_open(void *ctx, struct hub_begin *b)
{
    (void)ctx;
    b->asked = STR("masked");
}

/* The texts passed to hub_call_begin must stay valid until the call ends, or until hub_call_own has
 * copied them. */
static void *run_quietly(void *arg)
{
    struct side *s = arg;
    struct hub_end e = side_end();

    for (int i = 0; i < 20 * CALLS; i++) {
        char *text = base_alloc(8);
        struct hub_begin b;
        struct hub_call *c;
        bool own = rand_below(&s->rand, 4) == 0;

        memcpy(text, "id\0s\0why", 8);
        b = side_begin(text, text + 3, "");
        b.asked = (str){text + 5, 3};
        b.filter.open = on_open;
        c = hub_call_begin(s->hub, s->port, &b);
        hub_call_text(c, HUB_ANSWER, STR("yes"));
        if (own) {
            hub_call_own(c);
            free(text);
        }
        hub_call_state(c, &(struct hub_progress){HUB_ANSWERING, 1, 2, false});
        hub_call_end(c, &e);
        if (!own)
            free(text);
    }
    return NULL;
}

static bool look(void *ctx, const struct hub_running *r)
{
    ++*(unsigned *)ctx;
    CHECK_STR(r->id, "id");
    CHECK_STR(r->session, "s");
    CHECK_STR(r->asked, "masked");
    return true;
}

TEST(quiet_calls_of_many_threads_are_listed_while_they_begin_and_end)
{
    struct hub *hub = hub_new(&clock_real);
    struct side sides[LOOPS] = {0};
    struct hub_counts counts;
    unsigned seen = 0;
    struct err e;

    for (unsigned i = 0; i < LOOPS; i++) {
        sides[i].hub = hub;
        sides[i].loop = loop_new(&clock_real, &e);
        sides[i].port = hub_port_new(hub, sides[i].loop);
        rand_init(&sides[i].rand, i + 1);
        CHECK(pthread_create(&sides[i].thread, NULL, run_quietly, &sides[i]) == 0);
    }
    for (int i = 0; i < 200 * CALLS; i++)
        (void)hub_running(hub, i % 2 ? STR("s") : STR(""), look, &seen);
    for (unsigned i = 0; i < LOOPS; i++) {
        pthread_join(sides[i].thread, NULL);
        loop_free(sides[i].loop);
        hub_port_free(sides[i].port);
    }
    hub_counts(hub, &counts);
    CHECK_INT(counts.running, 0);
    CHECK_INT(counts.text_bytes, 0);
    hub_free(hub);
}

TEST_MAIN(T(calls_and_viewers_of_many_threads_do_not_get_in_each_others_way),
          T(quiet_calls_of_many_threads_are_listed_while_they_begin_and_end))
