/* loop.c - one epoll, a heap of timers, a list of tasks, a stack of posts.
 *
 * Removed objects are never called: the events of a round are in an array of the loop, and removing
 * a watch removes its pending events. Tasks are in rings, one for each part of a round and one for
 * those being called; loop_drop unlinks a task from its ring. A timer knows its slot in the heap.
 *
 * Posts are a stack that any thread pushes to and only the loop empties, all at once, so the ABA
 * problem of such stacks cannot occur. A thread that pushes onto an empty stack wakes the loop;
 * other threads need not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/loop.h"

#include "base/spare.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_MAX 128
#define STEPS_MAX 8            /* of a round; further ones run in the next round */
#define EARLY_LEAST (8 * 1024) /* less is no room */
#define EARLY_COUNT_MAX 4      /* rooms for early bytes, the one in use among them */
#define BULK_NS 500000u        /* of a round, for what may wait */
#define BULK_TASKS_MAX 64
#define TIMERS_MAX ((size_t)1 << 26)

/* Room for bytes that are read early; another one is used while a part of it is held. */
struct loop_early {
    size_t held; /* number of holders */
    char bytes[LOOP_EARLY_SIZE];
};

struct loop {
    const struct clock *clock;
    uint64_t now_ns;
    int epoll_fd, wake_fd;
    struct epoll_event events[EVENTS_MAX]; /* of the round under way */
    int event_at, event_count;
    struct loop_timer **heap;
    size_t timer_count, timer_cap;
    uint64_t timer_order;
    struct loop_task soon, out, deferred, bulk; /* rings; these are their heads */
    _Atomic(struct loop_task *) posted;
    bool posted_own; /* some of these were posted without a wake-up */
    atomic_bool stop;
    struct buf_pool bufs;
    struct loop_early *early[EARLY_COUNT_MAX]; /* the first is in use, the others if needed */
    size_t early_at;                           /* of the first, in use */
    char scratch[LOOP_SCRATCH_SIZE];
};

static void ring_init(struct loop_task *ring)
{
    ring->next = ring->prev = ring;
}

static bool ring_empty(const struct loop_task *ring)
{
    return ring->next == ring;
}

static struct loop_early *early_new(void)
{
    struct loop_early *early = base_alloc(sizeof *early);

    early->held = 0;
    return early;
}

struct loop *loop_new(const struct clock *clock, struct err *e)
{
    struct loop *l = base_alloc(sizeof *l);
    struct epoll_event wake = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};

    memset(l, 0, offsetof(struct loop, scratch));
    l->clock = clock;
    l->early[0] = early_new();
    l->now_ns = clock_mono_ns(clock);
    atomic_init(&l->posted, NULL);
    atomic_init(&l->stop, false);
    ring_init(&l->soon);
    ring_init(&l->out);
    ring_init(&l->deferred);
    ring_init(&l->bulk);
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (l->epoll_fd >= 0 && l->wake_fd >= 0 &&
        epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->wake_fd, &wake) == 0)
        return l;
    err_sys(e, "cannot make an event loop");
    if (l->epoll_fd >= 0)
        close(l->epoll_fd);
    if (l->wake_fd >= 0)
        close(l->wake_fd);
    free(l->early[0]);
    free(l);
    return NULL;
}

const struct clock *loop_clock(const struct loop *l)
{
    return l->clock;
}

uint64_t loop_now_ns(const struct loop *l)
{
    return l->now_ns;
}

char *loop_scratch(struct loop *l)
{
    return l->scratch;
}

char *loop_early(struct loop *l, size_t *room)
{
    size_t left = LOOP_EARLY_SIZE - l->early_at;

    assert(l->early_at <= LOOP_EARLY_SIZE);
    *room = left < EARLY_LEAST ? 0 : left;
    return l->early[0]->bytes + l->early_at;
}

/* The index of an unheld or unallocated buffer after the first; the count if all are held. */
static size_t early_free(const struct loop *l)
{
    size_t i = 1;

    while (i < EARLY_COUNT_MAX && l->early[i] && l->early[i]->held)
        i++;
    return i;
}

struct loop_early *loop_early_hold(struct loop *l, str bytes)
{
    struct loop_early *early = l->early[0];

    /* Held memory cannot be used in the next round, so there must be another piece. */
    if (bytes.p < early->bytes || bytes.p >= early->bytes + l->early_at ||
        (!early->held && early_free(l) == EARLY_COUNT_MAX))
        return NULL;
    early->held++;
    return early;
}

void loop_early_let_go(struct loop_early *held)
{
    if (!held)
        return;
    assert(held->held > 0);
    held->held--;
}

/* All that was read is dealt with, or held. */
static void early_over(struct loop *l)
{
    struct loop_early *first = l->early[0];
    size_t i;

    l->early_at = 0;
    if (!first->held)
        return;
    i = early_free(l);
    assert(i < EARLY_COUNT_MAX);
    l->early[0] = l->early[i] ? l->early[i] : early_new();
    l->early[i] = first;
}

void loop_early_keep(struct loop *l, size_t n)
{
    assert(n <= LOOP_EARLY_SIZE - l->early_at);
    l->early_at += n;
}

struct buf_pool *loop_bufs(struct loop *l)
{
    return &l->bufs;
}

/* Watches. */

void loop_watch_init(struct loop_watch *w, int fd, void (*fn)(void *, unsigned), void *ctx)
{
    *w = (struct loop_watch){.fd = fd, .fn = fn, .ctx = ctx};
}

bool loop_watch_add(struct loop *l, struct loop_watch *w, unsigned want, struct err *e)
{
    struct epoll_event event = {.events = EPOLLET | EPOLLRDHUP, .data.ptr = w};

    assert(w->want == 0 && (want & (LOOP_IN | LOOP_OUT)) != 0);
    assert(w->fn);
    if (want & LOOP_IN)
        event.events |= EPOLLIN;
    if (want & LOOP_OUT)
        event.events |= EPOLLOUT;
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, w->fd, &event) < 0)
        return err_sys(e, "cannot watch a descriptor");
    w->want = want;
    return true;
}

void loop_watch_remove(struct loop *l, struct loop_watch *w)
{
    if (w->want == 0)
        return;
    w->want = 0;
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL) < 0)
        base_die("a watch was removed after its descriptor was closed");
    for (int i = l->event_at; i < l->event_count; i++)
        if (l->events[i].data.ptr == w)
            l->events[i].data.ptr = l; /* no watch: skipped */
}

static unsigned loop_ready_of(uint32_t events)
{
    unsigned ready = 0;

    if (events & EPOLLIN)
        ready |= LOOP_IN;
    if (events & EPOLLOUT)
        ready |= LOOP_OUT;
    if (events & EPOLLRDHUP)
        ready |= LOOP_END;
    if (events & (EPOLLERR | EPOLLHUP))
        ready |= LOOP_GONE;
    return ready;
}

static void loop_wake_taken(struct loop *l)
{
    uint64_t count;

    /* The count has no meaning; only the loop reads it, so it is there. */
    if (read(l->wake_fd, &count, sizeof count) < 0 && errno != EAGAIN)
        base_die("an eventfd cannot be read");
}

static void loop_call_watches(struct loop *l)
{
    while (l->event_at < l->event_count) {
        struct epoll_event event = l->events[l->event_at++];
        struct loop_watch *w = event.data.ptr;

        assert(!w || event.data.ptr == l || w->want != 0);
        if (!w)
            loop_wake_taken(l);
        else if (event.data.ptr != l)
            w->fn(w->ctx, loop_ready_of(event.events));
    }
}

/* Timers: a binary heap, the soonest at its root. */

static bool loop_timer_is_sooner(const struct loop_timer *a, const struct loop_timer *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void loop_put(struct loop *l, size_t i, struct loop_timer *t)
{
    assert_slow(i < l->timer_cap);
    l->heap[i] = t;
    t->slot = i + 1;
}

static void loop_move_up(struct loop *l, size_t i, struct loop_timer *t)
{
    while (i > 0 && loop_timer_is_sooner(t, l->heap[(i - 1) / 2])) {
        loop_put(l, i, l->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    loop_put(l, i, t);
}

static void loop_move_down(struct loop *l, size_t i, struct loop_timer *t)
{
    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= l->timer_count)
            break;
        if (child + 1 < l->timer_count && loop_timer_is_sooner(l->heap[child + 1], l->heap[child]))
            child++;
        if (!loop_timer_is_sooner(l->heap[child], t))
            break;
        loop_put(l, i, l->heap[child]);
        i = child;
    }
    loop_put(l, i, t);
}

static void loop_settle(struct loop *l, size_t i, struct loop_timer *t)
{
    assert(i < l->timer_count);
    if (i > 0 && loop_timer_is_sooner(t, l->heap[(i - 1) / 2]))
        loop_move_up(l, i, t);
    else
        loop_move_down(l, i, t);
}

void loop_timer_init(struct loop_timer *t, void (*fn)(void *), void *ctx)
{
    *t = (struct loop_timer){.fn = fn, .ctx = ctx};
}

void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t ms)
{
    uint64_t ms_max = (CLOCK_NEVER - 1 - l->now_ns) / CLOCK_NS_PER_MS;

    assert(t->fn);
    t->at_ns = l->now_ns + (ms < ms_max ? ms : ms_max) * CLOCK_NS_PER_MS;
    t->order = l->timer_order++;
    if (t->slot > 0) {
        assert(t->slot <= l->timer_count && l->heap[t->slot - 1] == t);
        loop_settle(l, t->slot - 1, t);
        return;
    }
    if (l->timer_count == l->timer_cap) {
        l->timer_cap = l->timer_cap ? l->timer_cap * 2 : 64;
        if (l->timer_cap > TIMERS_MAX)
            base_die("more than %zu timers are set", TIMERS_MAX);
        l->heap = base_realloc(l->heap, l->timer_cap * sizeof *l->heap);
    }
    loop_move_up(l, l->timer_count++, t);
}

void loop_timer_clear(struct loop *l, struct loop_timer *t)
{
    size_t i = t->slot - 1;
    struct loop_timer *last;

    if (t->slot == 0)
        return;
    assert(i < l->timer_count && l->heap[i] == t);
    t->slot = 0;
    last = l->heap[--l->timer_count];
    if (last != t)
        loop_settle(l, i, last);
}

static void loop_call_timers(struct loop *l)
{
    uint64_t order = l->timer_order;

    /* Timers that are set from here on come after all that are due now. */
    while (l->timer_count > 0) {
        struct loop_timer *t = l->heap[0];

        if (t->at_ns > l->now_ns || t->order >= order)
            break;
        assert(t->slot == 1 && (l->timer_count < 2 || !loop_timer_is_sooner(l->heap[1], t)));
        loop_timer_clear(l, t);
        t->fn(t->ctx);
    }
}

/* Tasks. */

void loop_task_init(struct loop_task *t, void (*fn)(void *), void *ctx)
{
    *t = (struct loop_task){.fn = fn, .ctx = ctx};
}

static void loop_ring_add(struct loop_task *ring, struct loop_task *t)
{
    assert(!t->queued && t->fn);
    t->queued = true;
    t->next = ring;
    t->prev = ring->prev;
    t->prev->next = t;
    ring->prev = t;
}

void loop_defer(struct loop *l, struct loop_task *t)
{
    if (t->queued && !t->bulk)
        return;
    loop_drop(l, t);
    t->bulk = false;
    loop_ring_add(&l->deferred, t);
}

void loop_soon(struct loop *l, struct loop_task *t)
{
    loop_drop(l, t);
    t->bulk = false;
    loop_ring_add(&l->soon, t);
}

void loop_out(struct loop *l, struct loop_task *t)
{
    if (t->queued)
        return;
    loop_ring_add(&l->out, t);
}

void loop_yield(struct loop *l, struct loop_task *t)
{
    if (t->queued)
        return;
    t->bulk = true;
    loop_ring_add(&l->bulk, t);
}

void loop_drop(struct loop *l, struct loop_task *t)
{
    (void)l;
    if (!t->queued)
        return;
    assert(t->prev->next == t && t->next->prev == t);
    t->queued = false;
    t->prev->next = t->next;
    t->next->prev = t->prev;
}

/* Calls the tasks that are in the ring now; later ones wait for the next time. */
static void loop_call_ring(struct loop *l, struct loop_task *ring)
{
    struct loop_task now;

    if (ring_empty(ring))
        return;
    now = *ring;
    now.next->prev = now.prev->next = &now;
    ring_init(ring);
    while (!ring_empty(&now)) {
        struct loop_task *t = now.next;

        loop_drop(l, t);
        t->fn(t->ctx);
    }
}

static void loop_call_soon(struct loop *l)
{
    for (int i = 0; i < STEPS_MAX && !ring_empty(&l->soon); i++)
        loop_call_ring(l, &l->soon);
    early_over(l);
}

/* Calls the first tasks until their time is used up; the others keep their places. The count limits
 * them if the clock does not move. */
static void loop_call_bulk(struct loop *l)
{
    uint64_t until;

    if (ring_empty(&l->bulk))
        return;
    until = clock_mono_ns(l->clock) + BULK_NS;
    for (unsigned n = 0; n < BULK_TASKS_MAX && !ring_empty(&l->bulk); n++) {
        struct loop_task *t = l->bulk.next;

        loop_drop(l, t);
        t->fn(t->ctx);
        if (clock_mono_ns(l->clock) >= until)
            break;
    }
}

static void loop_wake(struct loop *l)
{
    uint64_t one = 1;

    if (write(l->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN)
        base_die("an eventfd cannot be written");
}

/* Returns whether no other task was posted, so that the loop must be woken. */
static bool net_loop_post(struct loop *l, struct loop_task *t)
{
    struct loop_task *top = atomic_load_explicit(&l->posted, memory_order_relaxed);

    assert(!t->queued && t->fn); /* a post and a ring would share its links */
    do
        t->next = top;
    while (!atomic_compare_exchange_weak_explicit(
        &l->posted, &top, t, memory_order_acq_rel, memory_order_relaxed));
    return !top;
}

void loop_post(struct loop *l, struct loop_task *t)
{
    if (net_loop_post(l, t))
        loop_wake(l);
}

void loop_post_own(struct loop *l, struct loop_task *t)
{
    if (net_loop_post(l, t))
        l->posted_own = true;
}

void loop_call_posted(struct loop *l)
{
    struct loop_task *t, *next, *first = NULL;

    if (!atomic_load_explicit(&l->posted, memory_order_relaxed))
        return;
    l->posted_own = false;
    for (t = atomic_exchange_explicit(&l->posted, NULL, memory_order_acquire); t; t = next) {
        next = t->next;
        t->next = first;
        first = t;
    }
    for (t = first; t; t = next) {
        next = t->next;
        t->fn(t->ctx);
    }
}

void loop_stop(struct loop *l)
{
    atomic_store_explicit(&l->stop, true, memory_order_release);
    loop_wake(l);
}

static bool loop_tasks_wait(const struct loop *l)
{
    return !ring_empty(&l->soon) || !ring_empty(&l->out) || !ring_empty(&l->deferred) ||
           !ring_empty(&l->bulk);
}

static int loop_wait_ms(const struct loop *l)
{
    int ms;

    if (loop_tasks_wait(l) || l->posted_own)
        return 0;
    ms = l->timer_count == 0 ? -1 : clock_left_ms(l->clock, l->heap[0]->at_ns);
    /* Moving a fake clock does not wake the loop. */
    return l->clock->fake && (ms < 0 || ms > 1) ? 1 : ms;
}

static void loop_turn(struct loop *l)
{
    int n = epoll_wait(l->epoll_fd, l->events, EVENTS_MAX, loop_wait_ms(l));

    if (n < 0 && errno != EINTR)
        base_die("epoll_wait: %s", strerrordesc_np(errno));
    l->now_ns = clock_mono_ns(l->clock);
    l->event_at = 0;
    l->event_count = n < 0 ? 0 : n;
    loop_call_watches(l);
    l->event_at = l->event_count = 0;
    loop_call_soon(l);
    loop_call_timers(l);
    loop_call_posted(l);
    loop_call_ring(l, &l->out);
    loop_call_ring(l, &l->deferred);
    loop_call_ring(l, &l->out);
    loop_call_bulk(l);
}

void loop_run(struct loop *l)
{
    spare_open();
    l->now_ns = clock_mono_ns(l->clock);
    while (!atomic_exchange_explicit(&l->stop, false, memory_order_acquire))
        loop_turn(l);
    spare_close();
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    while (loop_tasks_wait(l) || atomic_load_explicit(&l->posted, memory_order_acquire)) {
        loop_call_soon(l);
        loop_call_posted(l);
        loop_call_ring(l, &l->out);
        loop_call_ring(l, &l->deferred);
        loop_call_bulk(l);
    }
    close(l->epoll_fd);
    close(l->wake_fd);
    free(l->heap);
    buf_pool_release(&l->bufs);
    for (size_t i = 0; i < EARLY_COUNT_MAX; i++) {
        assert(!l->early[i] || !l->early[i]->held);
        free(l->early[i]);
    }
    free(l);
}
