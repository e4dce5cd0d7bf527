/* tool_run.c - makes calls: in parallel, with a timeout, with retries of transient failures.
 *
 * A job belongs to its thread and to its waiter; the last of them frees it. So a tool that exceeds
 * its timeout costs only its own thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/tool_box.h"

#include "base/rand.h"

#define LOOK_MS 20   /* how often a wait checks the time and the cancel */
#define RETRY_MS 250 /* and up to as much again, at random */
#define STACK_SIZE ((size_t)256 << 10)
#define KEY_MAX ((size_t)1 << 20)

struct batch_state;

struct job {
    struct toolbox *box;
    const struct tool *tool;
    struct arena arena; /* holds the call's texts */
    struct tool_call call;
    _Atomic bool cancel;
    struct batch_state *batch; /* NULL once it was abandoned; under the box's lock */
    size_t index;
    unsigned tries;
    bool ok, reported;
    struct buf out;
    struct err err;
};

struct batch_state {
    struct tool_batch *batch;
    pthread_cond_t changed;
    size_t left;
    struct job **jobs;
};

static int64_t agent_wall_us(const struct clock *c)
{
    return clock_wall_ms(c) * 1000;
}

/* ---- cached results ---- */

static void cache_key(struct buf *out, const struct tool_call *c)
{
    buf_add(out, c->name);
    buf_add_c(out, '\0');
    tool_canonical(out, c->arguments);
}

static bool cache_find(struct toolbox *b, const struct tool_result *r, struct buf *out)
{
    struct map_entry *found = NULL;
    struct buf key;

    if (!(r->tool->flags & TOOL_CACHEABLE))
        return false;
    buf_init(&key, KEY_MAX);
    cache_key(&key, &r->call);
    pthread_mutex_lock(&b->lock);
    if (!buf_full(&key))
        found = map_find(&b->cache, buf_str(&key));
    if (found)
        buf_add(out, *(str *)found->value.ptr);
    pthread_mutex_unlock(&b->lock);
    buf_release(&key);
    return found != NULL;
}

/* A result that exceeds the cache's limit is not cached. */
static void agent_tool_run_cache_put(struct toolbox *b, const struct tool_result *r)
{
    struct buf key;
    struct err e;
    str *kept;

    if (!(r->tool->flags & TOOL_CACHEABLE) || !r->ok)
        return;
    buf_init(&key, KEY_MAX);
    cache_key(&key, &r->call);
    pthread_mutex_lock(&b->lock);
    if (!buf_full(&key) && arena_fits(&b->cached, 2 * (key.n + r->out.n) + 4096, 0)) {
        kept = arena_alloc(&b->cached, sizeof *kept);
        *kept = arena_dup(&b->cached, buf_str(&r->out));
        (void)!map_set(&b->cache, arena_dup(&b->cached, buf_str(&key)), MAP_PTR(kept), &e);
    }
    pthread_mutex_unlock(&b->lock);
    buf_release(&key);
}

/* Under the lock. */
static bool agent_tool_run_rate_ok(struct toolbox *b, const struct tool *t, struct err *e)
{
    struct box_tool *row = map_find(&b->by_name, t->name)->value.ptr;
    int64_t minute = clock_wall_ms(b->clock) / 60000;

    if (!t->calls_a_min)
        return true;
    if (row->minute != minute) {
        row->minute = minute;
        row->calls = 0;
    }
    if (row->calls >= t->calls_a_min)
        return err_set(e,
                       ERR_LIMIT,
                       "rate_limited: " STR_FMT " may be called %u time%s a minute",
                       STR_ARG(t->name),
                       t->calls_a_min,
                       t->calls_a_min == 1 ? "" : "s");
    assert(row->calls < t->calls_a_min);
    row->calls++;
    return true;
}

/* ---- one call ---- */

static void agent_tool_run_pause_ms(unsigned ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

    (void)nanosleep(&t, NULL);
}

static bool agent_tool_run_try(struct toolbox *b, const struct tool *t, const struct tool_call *c,
                               struct buf *out, unsigned *tries, struct err *e)
{
    struct rand r;

    rand_init_os(&r);
    for (*tries = 1;; ++*tries) {
        buf_reset(out);
        if (t->run(t->ctx, c, out, e)) {
            if (!buf_full(out))
                return true;
            return err_set(e, ERR_LIMIT, "the result is larger than %zu bytes", TOOL_RESULT_MAX);
        }
        if (*tries > t->retries || !err_retry(e->code) || e->code == ERR_TIMEOUT ||
            atomic_load(c->cancel) ||
            clock_mono_ns(b->clock) + 2 * RETRY_MS * (uint64_t)CLOCK_NS_PER_MS > c->deadline_ns)
            return false;
        agent_tool_run_pause_ms(RETRY_MS + (unsigned)rand_below(&r, RETRY_MS));
        if (atomic_load(c->cancel))
            return false;
    }
}

static void agent_tool_run_job_free(struct job *j)
{
    buf_release(&j->out);
    arena_release(&j->arena);
    free(j);
}

static void agent_tool_run_take_result(struct tool_result *r, struct job *j,
                                       const struct clock *clock)
{
    assert(j->tool == r->tool && !r->cached);
    buf_release(&r->out);
    r->out = j->out;
    buf_init(&j->out, 0);
    r->ok = j->ok && !j->reported;
    r->reported = j->ok && j->reported;
    r->err = j->err;
    r->tries = j->tries;
    r->ended_us = agent_wall_us(clock);
}

static void *agent_tool_run_work(void *arg)
{
    struct job *j = arg;
    struct toolbox *b = j->box;
    struct batch_state *s;

    /* A run may be cancelled before the thread of its call starts: then nobody waits for it. */
    j->ok = !atomic_load(&j->cancel) &&
            agent_tool_run_try(b, j->tool, &j->call, &j->out, &j->tries, &j->err);
    pthread_mutex_lock(&b->lock);
    s = j->batch;
    if (s) {
        assert(s->jobs[j->index] == j && s->left > 0);
        s->jobs[j->index] = NULL; /* no other thread has the job now, and it ended in time */
        agent_tool_run_take_result(&s->batch->results[j->index], j, b->clock);
    }
    pthread_mutex_unlock(&b->lock);
    if (s && s->batch->on_end)
        s->batch->on_end(s->batch->ctx, &s->batch->results[j->index]);
    pthread_mutex_lock(&b->lock);
    if (s) {
        assert(s->left > 0 && !s->jobs[j->index]);
        s->left--;
        pthread_cond_signal(&s->changed);
    }
    assert(b->working > 0);
    b->working--;
    if (!b->working)
        pthread_cond_broadcast(&b->idle);
    pthread_mutex_unlock(&b->lock);
    agent_tool_run_job_free(j);
    return NULL;
}

static bool agent_tool_run_begin(struct toolbox *b, struct batch_state *s, size_t i)
{
    struct tool_result *r = &s->batch->results[i];
    struct job *j = base_alloc(sizeof *j);
    pthread_attr_t attr;
    pthread_t thread;
    bool ok;

    memset(j, 0, sizeof *j);
    arena_init(&j->arena,
               2 * (r->call.id.n + r->call.name.n + r->call.arguments.n + r->call.key.n +
                    r->call.session.n) +
                   65536);
    buf_init(&j->out, TOOL_RESULT_MAX);
    j->box = b;
    j->tool = r->tool;
    j->call = r->call;
    j->call.id = arena_dup(&j->arena, r->call.id);
    j->call.name = arena_dup(&j->arena, r->call.name);
    j->call.arguments = arena_dup(&j->arena, r->call.arguments);
    j->call.key = arena_dup(&j->arena, r->call.key);
    j->call.session = arena_dup(&j->arena, r->call.session);
    j->call.cancel = &j->cancel;
    j->call.reported = &j->reported;
    j->batch = s;
    j->index = i;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_mutex_lock(&b->lock);
    assert(!s->jobs[i] && s->left < s->batch->n);
    s->jobs[i] = j;
    s->left++;
    b->working++;
    ok = pthread_create(&thread, &attr, agent_tool_run_work, j) == 0;
    if (!ok) {
        s->jobs[i] = NULL;
        s->left--;
        b->working--;
    }
    pthread_mutex_unlock(&b->lock);
    pthread_attr_destroy(&attr);
    if (!ok)
        agent_tool_run_job_free(j);
    return ok;
}

/* ---- all calls of a batch ---- */

static void agent_tool_run_ended(struct tool_batch *batch, struct tool_result *r,
                                 const struct clock *clock)
{
    r->ended_us = agent_wall_us(clock);
    if (batch->on_end)
        batch->on_end(batch->ctx, r);
}

static void agent_tool_run_here(struct toolbox *b, struct tool_batch *batch, struct tool_result *r)
{
    static const _Atomic bool never = false;

    assert(r->tool->flags & TOOL_PURE);

    r->call.cancel = batch->cancel ? batch->cancel : &never;
    r->call.reported = &r->reported;
    r->ok = agent_tool_run_try(b, r->tool, &r->call, &r->out, &r->tries, &r->err) && !r->reported;
    agent_tool_run_ended(batch, r, b->clock);
}

/* The tool's own timeout, or the rest of the run's time if that is shorter. */
static int64_t agent_tool_run_time_ms(const struct tool_batch *batch, const struct tool *t)
{
    int64_t ms = t->timeout_ms ? t->timeout_ms : TOOL_TIMEOUT_MS;

    return batch->timeout_ms > 0 && batch->timeout_ms < ms ? batch->timeout_ms : ms;
}

static void agent_tool_run_start(struct toolbox *b, struct batch_state *s, size_t i)
{
    struct tool_result *r = &s->batch->results[i];
    int64_t ms = agent_tool_run_time_ms(s->batch, r->tool);
    bool allowed;

    assert(ms > 0 && !r->ok && !r->cached);
    r->started_us = agent_wall_us(b->clock);
    r->call.deadline_ns = clock_deadline_ns(b->clock, ms);
    if (cache_find(b, r, &r->out)) {
        r->ok = r->cached = true;
        agent_tool_run_ended(s->batch, r, b->clock);
        return;
    }
    pthread_mutex_lock(&b->lock);
    allowed = agent_tool_run_rate_ok(b, r->tool, &r->err);
    pthread_mutex_unlock(&b->lock);
    if (!allowed) {
        agent_tool_run_ended(s->batch, r, b->clock);
    } else if (r->tool->flags & TOOL_PURE) {
        agent_tool_run_here(b, s->batch, r);
    } else if (!agent_tool_run_begin(b, s, i)) {
        err_set(&r->err, ERR_SYSTEM, "no thread could be started for the tool");
        agent_tool_run_ended(s->batch, r, b->clock);
    }
}

/* Abandons the job at i: its thread will find no waiter. Under the lock. */
static struct tool_result *agent_tool_run_give_up(struct batch_state *s, size_t i, bool cancelled)
{
    struct job *j = s->jobs[i];
    struct tool_result *r = &s->batch->results[i];

    assert(s->left > 0 && j->batch == s && j->index == i);
    atomic_store(&j->cancel, true);
    j->batch = NULL;
    s->jobs[i] = NULL;
    s->left--;
    r->ok = false;
    if (cancelled)
        err_set(&r->err, ERR_CANCELLED, "cancelled: the run was stopped");
    else
        err_set(&r->err,
                ERR_TIMEOUT,
                "tool_timeout: " STR_FMT " gave no answer in %lld ms",
                STR_ARG(r->tool->name),
                (long long)agent_tool_run_time_ms(s->batch, r->tool));
    return r;
}

/* Waits for the jobs, for each at most its time. */
static void agent_tool_run_wait(struct toolbox *b, struct batch_state *s)
{
    pthread_mutex_lock(&b->lock);
    while (s->left) {
        bool cancelled = s->batch->cancel && atomic_load(s->batch->cancel);
        uint64_t now = clock_mono_ns(b->clock);

        for (size_t i = 0; i < s->batch->n; i++)
            if (s->jobs[i] && (cancelled || now >= s->jobs[i]->call.deadline_ns)) {
                struct tool_result *r = agent_tool_run_give_up(s, i, cancelled);

                pthread_mutex_unlock(&b->lock);
                agent_tool_run_ended(s->batch, r, b->clock);
                pthread_mutex_lock(&b->lock);
            }
        if (!s->left)
            break;
        (void)clock_cond_wait(&s->changed, &b->lock, clock_deadline_ns(&clock_real, LOOK_MS));
    }
    pthread_mutex_unlock(&b->lock);
}

void toolbox_run(struct toolbox *b, struct tool_batch *batch)
{
    struct job *jobs[TOOL_CALLS_MAX] = {NULL};
    struct batch_state s = {.batch = batch, .jobs = jobs};

    assert(batch->n <= TOOL_CALLS_MAX);
    clock_cond_init(&s.changed);
    for (size_t i = 0; i < batch->n; i++)
        if (!batch->results[i].skip)
            agent_tool_run_start(b, &s, i);
    agent_tool_run_wait(b, &s);
    assert(!s.left); /* no thread has a pointer to the batch any more */
    for (size_t i = 0; i < batch->n; i++)
        if (!batch->results[i].skip && !batch->results[i].cached)
            agent_tool_run_cache_put(b, &batch->results[i]);
    pthread_cond_destroy(&s.changed);
}
