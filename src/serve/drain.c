/* drain.c - ends the loops: running calls may continue until the deadline, then they are cancelled.
 *
 * A loop is done when its last connection is closed and its last call is recorded; until then the
 * store may still post to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/internal.h"
#include "serve/watch_runs.h"

#include <unistd.h>

#define LOOK_MS 2
#define CUT_MS 10000 /* grace period for recording cancelled calls */

void *drain_work(void *arg)
{
    struct worker *w = arg;
    struct daemon *d = w->daemon;
    struct log_scope scope;

    log_scope_enter(&scope, d->log, STR(""));
    log_scope_batch(&scope, &w->log);
    loop_run(w->gl.loop);
    log_scope_leave(&scope);
    pthread_mutex_lock(&d->lock);
    assert(d->working > 0);
    d->working--;
    pthread_cond_signal(&d->ended);
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* ---- on the loops ---- */

static void serve_drain_look(void *ctx)
{
    struct worker *w = ctx;

    assert(w->daemon->draining);
    if (w->gl.calls == 0 && w->jobs == 0 && w->daemon->apps_ended)
        loop_stop(w->gl.loop);
    else
        loop_timer_set(w->gl.loop, &w->look, LOOK_MS);
}

static void drain_on_idle(void *ctx)
{
    serve_drain_look(ctx);
}

static void serve_drain_drain(void *ctx)
{
    struct worker *w = ctx;

    assert(w->daemon->draining);
    loop_timer_init(&w->look, serve_drain_look, w);
    server_drain(w->server, drain_on_idle, w);
    watch_runs_drain(w);
    live_drain(w); /* tells the loop that it need not wait for them */
}

static void serve_drain_cut(void *ctx)
{
    struct worker *w = ctx;

    assert(w->daemon->draining);
    server_cut(w->server);
}

/* ---- in the main thread ---- */

static bool drain_all_ended(struct daemon *d, uint64_t ms)
{
    uint64_t until = clock_deadline_ns(&clock_real, (int64_t)ms);
    bool all;

    pthread_mutex_lock(&d->lock);
    while (d->working > 0 && clock_cond_wait(&d->ended, &d->lock, until))
        ;
    all = d->working == 0;
    pthread_mutex_unlock(&d->lock);
    return all;
}

void drain_init(struct daemon *d)
{
    pthread_mutex_init(&d->lock, NULL);
    pthread_rwlock_init(&d->apps_use, NULL);
    clock_cond_init(&d->ended);
}

void drain_release(struct daemon *d)
{
    pthread_cond_destroy(&d->ended);
    pthread_rwlock_destroy(&d->apps_use);
    pthread_mutex_destroy(&d->lock);
}

void drain_all(struct daemon *d, uint64_t ms)
{
    assert(!d->draining);
    d->draining = true;
    watch_runs_stop(d->watch_runs);
    apps_end(d);
    for (unsigned i = 0; i < d->worker_count; i++) {
        loop_task_init(&d->workers[i].drain, serve_drain_drain, &d->workers[i]);
        loop_post(d->workers[i].gl.loop, &d->workers[i].drain);
    }
    if (!drain_all_ended(d, ms)) {
        log_warn("calls were still running at the deadline");
        for (unsigned i = 0; i < d->worker_count; i++) {
            loop_task_init(&d->workers[i].cut, serve_drain_cut, &d->workers[i]);
            loop_post(d->workers[i].gl.loop, &d->workers[i].cut);
        }
        if (!drain_all_ended(d, CUT_MS)) {
            log_error("a loop does not end; stopped at once");
            _exit(1);
        }
    }
    for (unsigned i = 0; i < d->worker_count; i++)
        pthread_join(d->workers[i].thread, NULL);
    apps_end_wait(d);
}
