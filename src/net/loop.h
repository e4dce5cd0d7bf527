/* loop.h - an event loop: one thread, one epoll, many sockets and timers.
 *
 *     struct loop *l = loop_new(&clock_real, e);
 *     loop_watch_init(&w, fd, on_ready, ctx);
 *     loop_watch_add(l, &w, LOOP_IN | LOOP_OUT);
 *     loop_timer_init(&t, on_time, ctx);
 *     loop_timer_set(l, &t, 30000);
 *     loop_run(l);                                   until loop_stop
 *     loop_free(l);
 *
 * Watches are edge-triggered: whoever is told reads or writes until EAGAIN, or asks to be called
 * again by loop_defer. Watches, timers and tasks are the caller's structs, linked in while in use.
 * A round is: the sockets that are ready, then in steps what they brought, the timers that are due,
 * what was posted, what is to be sent, what was deferred. In a step stands what is alike: all
 * sockets are read before the first request is looked at, all requests are looked at before the
 * first call is made, and so on. A request runs through more code than a processor keeps at hand;
 * code that has just run for another is there already.
 *
 * Promises:
 *   - Only loop_post and loop_stop may be called from another thread.
 *   - A watch that was removed, a timer that was cleared and a task that was dropped is not called
 *     any more, not even by the round that is under way.
 *   - Timers are called in the order of their times, equal ones in the order they were set.
 *   - What a callback defers or sets to 0 ms is called in the next round, which then does not wait:
 *     nobody can keep the others from their turn.
 *   - Nothing is allocated while it runs, but to grow the heap of timers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#define LOOP_IN 1u
#define LOOP_OUT 2u
#define LOOP_GONE 4u /* hang-up or error; comes unasked */
#define LOOP_END 8u  /* the peer has closed its side; comes unasked, perhaps with bytes unread */

struct loop;

struct loop_watch {
    int fd;
    void (*fn)(void *ctx, unsigned ready);
    void *ctx;
    unsigned want; /* 0 while not added */
};

struct loop_timer {
    void (*fn)(void *ctx);
    void *ctx;
    uint64_t at_ns, order;
    size_t slot; /* 1 + its place in the heap; 0 while not set */
};

struct loop_task {
    void (*fn)(void *ctx);
    void *ctx;
    struct loop_task *next, *prev;
    bool queued, bulk;
};

/* The clock is lent. A fake one may be moved by any thread, and is looked at every millisecond. */
struct loop *loop_new(const struct clock *clock, struct err *e) MUST_USE;
/* What was posted or deferred is still called, so that whatever waits for its end gets it. */
void loop_free(struct loop *l);
void loop_run(struct loop *l);
/* Any thread: loop_run returns after the round under way, or at once if it comes before it. */
void loop_stop(struct loop *l);
/* The monotonic time at which this round began. */
uint64_t loop_now_ns(const struct loop *l);
const struct clock *loop_clock(const struct loop *l);

void loop_watch_init(struct loop_watch *w, int fd, void (*fn)(void *, unsigned), void *ctx);
bool loop_watch_add(struct loop *l, struct loop_watch *w, unsigned want, struct err *e) MUST_USE;
void loop_watch_remove(struct loop *l, struct loop_watch *w);

void loop_timer_init(struct loop_timer *t, void (*fn)(void *), void *ctx);
/* From now, rounded up to a millisecond; one that is set is moved. */
void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t ms);
void loop_timer_clear(struct loop *l, struct loop_timer *t);

void loop_task_init(struct loop_task *t, void (*fn)(void *), void *ctx);
/* Called when the events of this round are dealt with, before it waits again; once, however often
 * it was deferred. One that is deferred already may not be moved to another loop. */
void loop_defer(struct loop *l, struct loop_task *t);
/* Called in the next step of this round: what was asked for by watches makes the first, what is
 * asked for in a step the one behind it. Otherwise as loop_defer. */
void loop_soon(struct loop *l, struct loop_task *t);
/* Called when all steps are done: for what was written meanwhile to be sent. */
void loop_out(struct loop *l, struct loop_task *t);
/* For work that has no end: in every round some of it, in turn, behind all else. A task that is
 * deferred meanwhile is. */
void loop_yield(struct loop *l, struct loop_task *t);
void loop_drop(struct loop *l, struct loop_task *t);
/* Any thread: called on the loop's thread, soon. The task is the loop's until it was called. */
void loop_post(struct loop *l, struct loop_task *t);
/* The same on the loop's own thread: nobody has to be woken for it. */
void loop_post_own(struct loop *l, struct loop_task *t);

/* Bytes that anyone may use for the length of a callback, such as to read a socket into. What a
 * conn lends to on_bytes is in there. */
#define LOOP_SCRATCH_SIZE 65536
char *loop_scratch(struct loop *l);
/* Room for what a watch reads for its task in the first step, at the end of which it is gone. There
 * may be none: then the task has to read. */
#define LOOP_EARLY_SIZE (128 * 1024)
char *loop_early(struct loop *l, size_t *room);
void loop_early_keep(struct loop *l, size_t n); /* of the room, the first bytes */
/* They may be held instead of copied, until they are let go: before the loop is freed, and soon, as
 * the room that others read into is held with them. NULL: these are no such bytes, or too much is
 * held already. */
struct loop_early;
struct loop_early *loop_early_hold(struct loop *l, str bytes) MUST_USE;
void loop_early_let_go(struct loop_early *held); /* NULL is fine */
/* Memory for buffers that do not outlive the loop. */
struct buf_pool *loop_bufs(struct loop *l);
