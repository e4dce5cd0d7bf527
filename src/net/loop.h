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
 * Watches are edge-triggered: a callback reads or writes until EAGAIN, or requests another call
 * with loop_defer. Watches, timers and tasks are structs of the caller, linked in while in use. A
 * round handles ready sockets, then in steps the work they brought, due timers, posted tasks, data
 * to send, and deferred tasks. A step groups similar work: all sockets are read before the first
 * request is parsed, all requests are parsed before the first call is made, and so on. A request
 * executes more code than the instruction cache holds; code that has just run for another request
 * is still in the cache.
 *
 * Promises:
 *   - Only loop_post and loop_stop may be called from another thread.
 *   - A removed watch, a cleared timer and a dropped task are not called any more, not even in the
 *     current round.
 *   - Timers are called in the order of their times, equal ones in the order they were set.
 *   - A task that a callback defers, or a timer that it sets to 0 ms, is called in the next round,
 *     which then does not wait. So no callback can starve the others.
 *   - A running loop allocates only to grow the heap of timers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"

#define LOOP_IN 1u
#define LOOP_OUT 2u
#define LOOP_GONE 4u /* hang-up or error; always reported */
#define LOOP_END 8u  /* the peer has closed its side; always reported, perhaps with unread bytes */

struct loop;

struct loop_watch {
    int fd;
    unsigned want; /* 0 while not added */
    void (*fn)(void *ctx, unsigned ready);
    void *ctx;
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

/* The clock must outlive the loop. Any thread may move a fake clock; the loop reads it every
 * millisecond. */
struct loop *loop_new(const struct clock *clock, struct err *e) MUST_USE;
/* Still calls posted and deferred tasks, so that nobody waits for them in vain. */
void loop_free(struct loop *l);
void loop_run(struct loop *l);
/* Any thread: loop_run returns after the current round, or at once if it has not started. */
void loop_stop(struct loop *l);
/* The monotonic time at which this round began. */
uint64_t loop_now_ns(const struct loop *l);
const struct clock *loop_clock(const struct loop *l);

void loop_watch_init(struct loop_watch *w, int fd, void (*fn)(void *, unsigned), void *ctx);
bool loop_watch_add(struct loop *l, struct loop_watch *w, unsigned want, struct err *e) MUST_USE;
void loop_watch_remove(struct loop *l, struct loop_watch *w);

void loop_timer_init(struct loop_timer *t, void (*fn)(void *), void *ctx);
/* From now, rounded up to a millisecond; moves a timer that is already set. */
void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t ms);
void loop_timer_clear(struct loop *l, struct loop_timer *t);

void loop_task_init(struct loop_task *t, void (*fn)(void *), void *ctx);
/* Calls the task after the events of this round, before the loop waits again; once, however often
 * it was deferred. A deferred task must not be moved to another loop. */
void loop_defer(struct loop *l, struct loop_task *t);
/* Calls the task in the next step of this round: tasks from watches form the first step, tasks from
 * a step form the next one. Otherwise like loop_defer. */
void loop_soon(struct loop *l, struct loop_task *t);
/* Calls the task after all steps, to send what was written in them. */
void loop_out(struct loop *l, struct loop_task *t);
/* For endless work: every round calls some of these tasks, in turn, after all other work.
 * loop_defer takes precedence. */
void loop_yield(struct loop *l, struct loop_task *t);
void loop_drop(struct loop *l, struct loop_task *t);
/* Any thread: calls the task on the loop's thread, soon. The task must stay valid until then. */
void loop_post(struct loop *l, struct loop_task *t);
/* The same from the loop's own thread, without a wake-up. */
void loop_post_own(struct loop *l, struct loop_task *t);
/* Calls the posted tasks now, on the loop's thread: before their memory is freed. loop_drop does
 * not find them. */
void loop_call_posted(struct loop *l);

/* Memory that a callback may use while it runs, for example to read a socket. The bytes that a conn
 * passes to on_bytes are in it. */
#define LOOP_SCRATCH_SIZE 65536
char *loop_scratch(struct loop *l);
/* Memory for bytes that a watch reads for its task; valid until the end of the first step. If it is
 * full, the task has to read. */
#define LOOP_EARLY_SIZE (128 * 1024)
char *loop_early(struct loop *l, size_t *room);
void loop_early_keep(struct loop *l, size_t n); /* keeps the first n bytes of it */
/* These bytes may be held instead of copied, until loop_early_let_go: before the loop is freed, and
 * soon, because memory that others read into is held with them. NULL: the bytes are not in this
 * memory, or too much is already held. */
struct loop_early;
struct loop_early *loop_early_hold(struct loop *l, str bytes) MUST_USE;
void loop_early_let_go(struct loop_early *held); /* NULL is allowed */
/* Memory for buffers that do not outlive the loop. */
struct buf_pool *loop_bufs(struct loop *l);
