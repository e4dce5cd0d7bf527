/* SPDX-License-Identifier: Apache-2.0 */
#include "net/loop.h"

#include "base/buf.h"
#include "base/rand.h"
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMERS 500
#define POSTERS 4
#define POSTS_EACH 2000

static struct loop *new_loop(const struct clock *clock)
{
    struct err e;
    struct loop *l = loop_new(clock, &e);

    CHECK_F(l, "%s", e.text);
    return l;
}

static void stop(void *ctx)
{
    loop_stop(ctx);
}

/* Runs exactly `rounds` rounds: a deferred task counts them and then stops the loop. */
struct counted {
    struct loop *loop;
    struct loop_task task;
    int left;
};

static void count_round(void *ctx)
{
    struct counted *c = ctx;

    if (--c->left == 0)
        loop_stop(c->loop);
    else
        loop_defer(c->loop, &c->task);
}

static void run_rounds(struct loop *l, int rounds)
{
    struct counted c = {.loop = l, .left = rounds};

    loop_task_init(&c.task, count_round, &c);
    loop_defer(l, &c.task);
    loop_run(l);
}

struct note {
    struct loop_timer timer;
    struct loop_task task;
    struct loop_watch watch;
    struct buf *log;
    char name;
    struct loop *loop;
    struct note *other; /* the note that its callback drops */
    unsigned ready;
};

static void note_call(void *ctx)
{
    struct note *n = ctx;

    buf_add_c(n->log, n->name);
}

static void note_ready(void *ctx, unsigned ready)
{
    struct note *n = ctx;

    buf_add_c(n->log, n->name);
    n->ready |= ready;
}

TEST(loop_calls_timers_in_the_order_of_their_times)
{
    struct note notes[5];
    static const uint64_t at_ms[5] = {30, 10, 20, 10, 0};
    struct clock clock;
    struct loop *l;
    struct buf log;

    clock_fake_init(&clock, 0);
    l = new_loop(&clock);
    buf_init(&log, 100);
    for (int i = 0; i < 5; i++) {
        notes[i].log = &log;
        notes[i].name = (char)('a' + i);
        loop_timer_init(&notes[i].timer, note_call, &notes[i]);
        loop_timer_set(l, &notes[i].timer, at_ms[i]);
    }
    run_rounds(l, 1);
    CHECK_STR(buf_str(&log), "e");
    clock_fake_advance_ms(&clock, 9);
    run_rounds(l, 2);
    CHECK_STR(buf_str(&log), "e");
    clock_fake_advance_ms(&clock, 1);
    run_rounds(l, 1);
    CHECK_STR(buf_str(&log), "ebd");
    loop_timer_set(l, &notes[0].timer, 5); /* moves before c */
    clock_fake_advance_ms(&clock, 100);
    run_rounds(l, 1);
    CHECK_STR(buf_str(&log), "ebdac");
    CHECK_INT(notes[0].timer.slot, 0);
    buf_release(&log);
    loop_free(l);
}

struct random_timers;

struct random_timer {
    struct loop_timer timer;
    struct random_timers *all;
};

struct random_timers {
    struct loop *loop;
    struct random_timer timers[TIMERS];
    struct rand rand;
    uint64_t last_ns;
    size_t fired, cleared;
};

static void random_fired(void *ctx)
{
    struct random_timer *t = ctx;
    struct random_timers *r = t->all;
    struct loop_timer *other = &r->timers[rand_below(&r->rand, TIMERS)].timer;

    CHECK_INT(t->timer.slot, 0);
    CHECK(t->timer.at_ns >= r->last_ns);
    r->last_ns = t->timer.at_ns;
    r->fired++;
    if (other->slot == 0)
        return;
    if (rand_below(&r->rand, 2) == 0) {
        loop_timer_clear(r->loop, other);
        r->cleared++;
    } else {
        loop_timer_set(r->loop, other, rand_below(&r->rand, 1000));
    }
}

TEST(loop_keeps_many_timers_sorted_while_they_are_moved_and_cleared)
{
    struct random_timers *r = base_alloc(sizeof *r);
    struct clock clock;

    memset(r, 0, sizeof *r);
    clock_fake_init(&clock, 0);
    r->loop = new_loop(&clock);
    rand_init(&r->rand, 5);
    for (size_t i = 0; i < TIMERS; i++) {
        r->timers[i].all = r;
        loop_timer_init(&r->timers[i].timer, random_fired, &r->timers[i]);
        loop_timer_set(r->loop, &r->timers[i].timer, rand_below(&r->rand, 1000));
    }
    for (int i = 0; r->fired + r->cleared < TIMERS && i < 100000; i++) {
        clock_fake_advance_ms(&clock, 1);
        run_rounds(r->loop, 1);
    }
    CHECK(r->cleared > 10);
    CHECK_INT(r->fired + r->cleared, TIMERS);
    loop_free(r->loop);
    free(r);
}

static void clear_other(void *ctx)
{
    struct note *n = ctx;

    note_call(n);
    loop_timer_clear(n->loop, &n->other->timer);
    loop_drop(n->loop, &n->other->task);
}

TEST(loop_does_not_call_what_was_cleared_or_dropped_in_the_same_round)
{
    struct note a, b;
    struct clock clock;
    struct loop *l;
    struct buf log;

    clock_fake_init(&clock, 0);
    l = new_loop(&clock);
    buf_init(&log, 100);
    a = (struct note){.log = &log, .name = 'a', .loop = l, .other = &b};
    b = (struct note){.log = &log, .name = 'b', .loop = l, .other = &a};
    loop_timer_init(&a.timer, clear_other, &a);
    loop_timer_init(&b.timer, clear_other, &b);
    loop_task_init(&a.task, clear_other, &a);
    loop_task_init(&b.task, clear_other, &b);
    loop_timer_set(l, &a.timer, 0);
    loop_timer_set(l, &b.timer, 0);
    run_rounds(l, 2);
    CHECK_STR(buf_str(&log), "a");
    loop_defer(l, &b.task);
    loop_defer(l, &a.task);
    loop_defer(l, &b.task);
    run_rounds(l, 2);
    CHECK_STR(buf_str(&log), "ab");
    loop_drop(l, &a.task); /* not queued: no effect */
    loop_timer_clear(l, &a.timer);
    buf_release(&log);
    loop_free(l);
}

static void remove_other(void *ctx, unsigned ready)
{
    struct note *n = ctx;

    note_ready(ctx, ready);
    loop_watch_remove(n->loop, &n->other->watch);
}

TEST(loop_does_not_call_a_watch_that_was_removed_in_the_same_round)
{
    struct loop *l = new_loop(&clock_real);
    struct note n[2];
    int one[2], two[2];
    struct buf log;
    struct err e;

    buf_init(&log, 100);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, one) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, two) == 0);
    n[0] = (struct note){.log = &log, .name = 'x', .loop = l, .other = &n[1]};
    n[1] = (struct note){.log = &log, .name = 'x', .loop = l, .other = &n[0]};
    loop_watch_init(&n[0].watch, one[0], remove_other, &n[0]);
    loop_watch_init(&n[1].watch, two[0], remove_other, &n[1]);
    CHECK(loop_watch_add(l, &n[0].watch, LOOP_IN, &e));
    CHECK(loop_watch_add(l, &n[1].watch, LOOP_IN, &e));
    CHECK(write(one[1], "1", 1) == 1 && write(two[1], "2", 1) == 1);
    run_rounds(l, 3);
    CHECK_STR(buf_str(&log), "x");
    loop_watch_remove(l, &n[0].watch);
    loop_watch_remove(l, &n[1].watch);
    for (int i = 0; i < 2; i++)
        close(one[i]), close(two[i]);
    buf_release(&log);
    loop_free(l);
}

TEST(loop_tells_of_a_peer_that_closed_its_side_and_of_one_that_is_gone)
{
    struct loop *l = new_loop(&clock_real);
    struct note n = {.name = 'x', .loop = l};
    struct buf log;
    struct err e;
    int pair[2];

    buf_init(&log, 100);
    n.log = &log;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    loop_watch_init(&n.watch, pair[0], note_ready, &n);
    CHECK(loop_watch_add(l, &n.watch, LOOP_IN | LOOP_OUT, &e));
    run_rounds(l, 2);
    CHECK_STR(buf_str(&log), "x"); /* edge-triggered: one call */
    CHECK_INT(n.ready, LOOP_OUT);
    shutdown(pair[1], SHUT_WR);
    run_rounds(l, 2);
    CHECK_INT(n.ready, LOOP_OUT | LOOP_IN | LOOP_END);
    close(pair[1]);
    run_rounds(l, 2);
    CHECK_INT(n.ready, LOOP_OUT | LOOP_IN | LOOP_END | LOOP_GONE);
    loop_watch_remove(l, &n.watch);
    close(pair[0]);
    buf_release(&log);
    loop_free(l);
}

TEST(loop_says_why_a_descriptor_cannot_be_watched)
{
    struct loop *l = new_loop(&clock_real);
    struct loop_watch w;
    struct err e;

    loop_watch_init(&w, -1, note_ready, NULL);
    CHECK(!loop_watch_add(l, &w, LOOP_IN, &e));
    CHECK_INT(e.code, ERR_SYSTEM);
    loop_watch_remove(l, &w); /* never added */
    loop_free(l);
}

struct again {
    struct loop *loop;
    struct loop_task task;
    struct loop_timer timer;
    int tasks, timers;
};

static void task_again(void *ctx)
{
    struct again *a = ctx;

    a->tasks++;
    loop_defer(a->loop, &a->task);
}

static void timer_again(void *ctx)
{
    struct again *a = ctx;

    a->timers++;
    loop_timer_set(a->loop, &a->timer, 0);
}

TEST(loop_gives_those_that_come_again_one_turn_a_round)
{
    struct again a = {.loop = new_loop(&clock_real)};

    loop_task_init(&a.task, task_again, &a);
    loop_timer_init(&a.timer, timer_again, &a);
    loop_defer(a.loop, &a.task);
    loop_timer_set(a.loop, &a.timer, 0);
    run_rounds(a.loop, 10);
    CHECK_INT(a.tasks, 10);
    CHECK_INT(a.timers, 10);
    loop_drop(a.loop, &a.task);
    loop_timer_clear(a.loop, &a.timer);
    loop_free(a.loop);
}

/* A task that writes its letter, queues the next task of its kind, and queues a send. */
struct step {
    struct loop *loop;
    struct loop_task task, out;
    char letter;
    struct buf *log;
    struct step *next;
};

static void step_out(void *ctx)
{
    struct step *s = ctx;

    buf_add_c(s->log, (char)(s->letter - 'a' + 'A'));
}

static void step_call(void *ctx)
{
    struct step *s = ctx;

    buf_add_c(s->log, s->letter);
    loop_out(s->loop, &s->out);
    if (s->next)
        loop_soon(s->loop, &s->next->task);
}

TEST(loop_does_a_rounds_work_in_steps_and_sends_behind_them)
{
    struct step steps[6];
    struct loop *l = new_loop(&clock_real);
    struct buf log;
    char *room;
    size_t left;

    buf_init(&log, 100);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        steps[i] = (struct step){.loop = l, .letter = (char)('a' + i), .log = &log};
        loop_task_init(&steps[i].task, step_call, &steps[i]);
        loop_task_init(&steps[i].out, step_out, &steps[i]);
        if (i >= 2)
            steps[i - 2].next = &steps[i];
    }
    loop_soon(l, &steps[0].task);
    loop_soon(l, &steps[1].task);
    loop_soon(l, &steps[0].task); /* moves after the other */
    room = loop_early(l, &left);
    CHECK_INT(left, LOOP_EARLY_SIZE);
    loop_early_keep(l, LOOP_EARLY_SIZE - 100);
    CHECK(loop_early(l, &left) == room + LOOP_EARLY_SIZE - 100);
    CHECK_INT(left, 0); /* less than the minimum */
    run_rounds(l, 1);
    CHECK_STR(buf_str(&log), "badcfeBADCFE");
    CHECK(loop_early(l, &left) == room);
    loop_free(l);
    buf_release(&log);
}

static void again_soon(void *ctx)
{
    struct step *s = ctx;

    buf_add_c(s->log, s->letter);
    loop_soon(s->loop, &s->task);
}

TEST(loop_ends_a_round_whose_steps_have_no_end)
{
    struct loop *l = new_loop(&clock_real);
    struct step s = {.loop = l, .letter = 's'};
    struct buf log;

    buf_init(&log, 1000);
    s.log = &log;
    loop_task_init(&s.task, again_soon, &s);
    loop_soon(l, &s.task);
    run_rounds(l, 3);
    CHECK(log.n >= 3 && log.n < 100);
    loop_drop(l, &s.task);
    loop_free(l);
    buf_release(&log);
}

TEST(loop_stop_before_the_run_is_not_lost)
{
    struct loop *l = new_loop(&clock_real);
    struct loop_task t;

    loop_stop(l);
    loop_run(l);
    loop_task_init(&t, stop, l);
    loop_post(l, &t);
    loop_run(l);
    loop_free(l);
}

struct poster;

struct posted {
    struct loop_task task;
    struct poster *by;
    int number;
};

struct poster {
    struct loop *loop;
    int *left;
    int next; /* the number expected next */
    pthread_t thread;
    struct posted posts[POSTS_EACH];
};

static void on_post(void *ctx)
{
    struct posted *p = ctx;

    CHECK_INT(p->number, p->by->next);
    p->by->next++;
    if (--*p->by->left == 0)
        loop_stop(p->by->loop);
}

static void *post_all(void *ctx)
{
    struct poster *p = ctx;

    for (int i = 0; i < POSTS_EACH; i++) {
        p->posts[i].by = p;
        p->posts[i].number = i;
        loop_task_init(&p->posts[i].task, on_post, &p->posts[i]);
        loop_post(p->loop, &p->posts[i].task);
    }
    return NULL;
}

TEST(loop_takes_the_posts_of_many_threads_each_in_its_order)
{
    struct poster *p = base_alloc(POSTERS * sizeof *p);
    struct loop *l = new_loop(&clock_real);
    int left = POSTERS * POSTS_EACH;

    for (int i = 0; i < POSTERS; i++) {
        p[i].loop = l;
        p[i].left = &left;
        p[i].next = 0;
        CHECK(pthread_create(&p[i].thread, NULL, post_all, &p[i]) == 0);
    }
    loop_run(l);
    for (int i = 0; i < POSTERS; i++)
        pthread_join(p[i].thread, NULL);
    CHECK_INT(left, 0);
    loop_free(l);
    free(p);
}

static void *stop_it(void *ctx)
{
    loop_stop(ctx);
    return NULL;
}

TEST(loop_is_stopped_by_another_thread_while_it_waits)
{
    struct loop *l = new_loop(&clock_real);
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, stop_it, l) == 0);
    loop_run(l);
    pthread_join(thread, NULL);
    loop_free(l);
}

TEST(loop_free_still_calls_what_was_posted_and_deferred)
{
    struct loop *l = new_loop(&clock_real);
    struct note a = {.name = 'a'}, b = {.name = 'b'};
    struct buf log;

    buf_init(&log, 100);
    a.log = b.log = &log;
    loop_task_init(&a.task, note_call, &a);
    loop_task_init(&b.task, note_call, &b);
    loop_defer(l, &a.task);
    loop_post(l, &b.task);
    loop_free(l);
    CHECK_STR(buf_str(&log), "ba");
    buf_release(&log);
    loop_free(NULL);
}

TEST(loop_waits_for_a_timer_of_the_real_clock)
{
    struct loop *l = new_loop(&clock_real);
    uint64_t began_ns = clock_mono_ns(&clock_real);
    struct loop_timer t;

    loop_timer_init(&t, stop, l);
    loop_timer_set(l, &t, 3);
    loop_run(l);
    CHECK(clock_mono_ns(&clock_real) - began_ns >= 2 * CLOCK_NS_PER_MS);
    CHECK(loop_now_ns(l) >= began_ns);
    loop_timer_set(l, &t, UINT64_MAX); /* never fires, and does not overflow */
    run_rounds(l, 2);
    CHECK(t.slot != 0);
    loop_timer_clear(l, &t);
    loop_free(l);
}

struct endless {
    struct loop *loop;
    struct loop_task task;
    unsigned turns;
    struct clock *clock;
};

static void endless_turn(void *ctx)
{
    struct endless *n = ctx;

    n->turns++;
    clock_fake_advance_ms(n->clock, 1);
    loop_yield(n->loop, &n->task);
}

TEST(loop_gives_work_without_end_some_of_each_round_and_each_its_turn)
{
    struct endless all[20];
    struct clock clock;
    struct loop *l;

    clock_fake_init(&clock, 0);
    l = new_loop(&clock);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        all[i] = (struct endless){.loop = l, .clock = &clock};
        loop_task_init(&all[i].task, endless_turn, &all[i]);
        loop_yield(l, &all[i].task);
        loop_yield(l, &all[i].task);
    }
    run_rounds(l, 60); /* one turn takes longer than a round's time for yielded tasks */
    for (size_t i = 0; i < COUNT_OF(all); i++)
        CHECK_F(all[i].turns >= 2 && all[i].turns <= 4, "%u turns", all[i].turns);

    /* A deferred task runs at once, not in turn. A dropped task does not run. */
    for (size_t i = 0; i < COUNT_OF(all); i++)
        all[i].turns = 0;
    loop_defer(l, &all[19].task);
    loop_drop(l, &all[18].task);
    run_rounds(l, 2);
    CHECK(all[19].turns == 1 && all[18].turns == 0);
    for (size_t i = 0; i < COUNT_OF(all); i++)
        loop_drop(l, &all[i].task);
    loop_free(l);
}

TEST_MAIN(T(loop_does_a_rounds_work_in_steps_and_sends_behind_them),
          T(loop_ends_a_round_whose_steps_have_no_end),
          T(loop_gives_work_without_end_some_of_each_round_and_each_its_turn),
          T(loop_calls_timers_in_the_order_of_their_times),
          T(loop_keeps_many_timers_sorted_while_they_are_moved_and_cleared),
          T(loop_does_not_call_what_was_cleared_or_dropped_in_the_same_round),
          T(loop_does_not_call_a_watch_that_was_removed_in_the_same_round),
          T(loop_tells_of_a_peer_that_closed_its_side_and_of_one_that_is_gone),
          T(loop_says_why_a_descriptor_cannot_be_watched),
          T(loop_gives_those_that_come_again_one_turn_a_round),
          T(loop_stop_before_the_run_is_not_lost),
          T(loop_takes_the_posts_of_many_threads_each_in_its_order),
          T(loop_is_stopped_by_another_thread_while_it_waits),
          T(loop_free_still_calls_what_was_posted_and_deferred),
          T(loop_waits_for_a_timer_of_the_real_clock))
