/* app.c - the application "optimize": routes for its runs, metrics, and a daily check of the
 * quality of verdicts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "apps/tune/folder.h"
#include "apps/tune/gepa_metrics.h"
#include "apps/tune/monitor.h"

#define FIRST_S 60   /* the first check, after the daemon's start */
#define REFRESH_S 30 /* between two readings of the metrics */
#define STALE_S 1800 /* a run that was not stored for this long has no process */

struct tuner {
    const struct app_host *host;
    struct tune_kept *kept;
    struct gepa_metrics *metrics;
    pthread_t watcher;
    pthread_mutex_t lock;
    pthread_cond_t more;
    _Atomic bool stop;
};

/* ---- once a day ---- */

/* Starts a proposed run, if the configuration allows it and has the cases. */
static void tune_app_start(struct tuner *t, const struct config *c, str run, struct arena *a)
{
    struct tune_options o = {.host = t->host,
                             .app = &tune_policy,
                             .train = c->policy.train.p,
                             .val = c->policy.val.n ? c->policy.val.p : NULL,
                             .run = run,
                             .model = c->policy.model,
                             .settings = optimize_defaults(),
                             .stop = &t->stop};
    struct tune_result r;
    struct err e;

    o.settings.frontier = OPTIMIZE_HYBRID;
    o.settings.merge = true;
    o.settings.pick = OPTIMIZE_USED_COMPONENTS;
    log_info("a run of the optimizer starts", LOG_STR("run", run));
    if (!tune_run(&o, a, &r, &e))
        log_warn("the run of the optimizer failed", LOG_STR("run", run), LOG_ERR(&e));
    else
        log_info("the run of the optimizer ended", LOG_STR("prompt", r.prompt_id));
}

/* The seconds until the next check. Another process may have left a run: it is checked again when
 * that can be decided. */
static int64_t tune_app_look(struct tuner *t)
{
    struct setup *s = gateway_setup(t->host->gateway);
    const struct config *c = s->config;
    int64_t now_us = clock_wall_ms(t->host->clock) * 1000;
    struct monitor_seen seen;
    bool claimed = true;
    struct arena a;
    struct err e;

    arena_init(&a, TUNE_ARENA_MAX);
    if (!monitor_check(c->store_url, now_us, &a, &seen, &e)) {
        log_warn("the quality of verdicts cannot be checked", LOG_ERR(&e));
    } else if (seen.proposed.n > 0) {
        log_warn("the quality of verdicts has fallen: a run of the optimizer is proposed",
                 LOG_STR("run", seen.proposed),
                 LOG_U64("verdicts", seen.verdicts));
        if (c->policy.optimize && c->policy.train.n > 0) {
            if (!tune_kept_claim(t->kept,
                                 seen.proposed,
                                 now_us,
                                 now_us - (int64_t)STALE_S * 1000000,
                                 &claimed,
                                 &e))
                log_warn("the run of the optimizer cannot be started", LOG_ERR(&e));
            else if (claimed)
                tune_app_start(t, c, seen.proposed, &a);
        }
    }
    arena_release(&a);
    setup_release(s);
    return claimed ? (int64_t)(MONITOR_EVERY_MS / 1000) : STALE_S;
}

static void *tune_app_watch(void *arg)
{
    struct tuner *t = arg;
    int64_t look_s = FIRST_S; /* until the next check of the verdicts */
    uint64_t until;

    pthread_mutex_lock(&t->lock);
    while (!t->stop) {
        pthread_mutex_unlock(&t->lock);
        gepa_metrics_refresh(t->metrics, t->kept);
        if (look_s <= 0)
            look_s = tune_app_look(t);
        assert(look_s > 0);
        until = clock_deadline_ns(&clock_real, REFRESH_S * 1000);
        pthread_mutex_lock(&t->lock);
        if (!t->stop && !clock_cond_wait(&t->more, &t->lock, until))
            look_s -= REFRESH_S;
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static bool tuner_open(const struct app_host *h, void **out, struct err *e)
{
    struct tuner *t;

    *out = NULL;
    if (!h->gateway->records)
        return true;
    t = base_alloc(sizeof *t);
    *t = (struct tuner){.host = h};
    if (!tune_kept_open(h->gateway->setup->config->store_url, &t->kept, e)) {
        free(t);
        return false;
    }
    t->metrics = gepa_metrics_new(h->gateway->metrics);
    pthread_mutex_init(&t->lock, NULL);
    clock_cond_init(&t->more);
    if (pthread_create(&t->watcher, NULL, tune_app_watch, t) != 0)
        base_die("no thread could be started");
    *out = t;
    return true;
}

static void tuner_close(void *app)
{
    struct tuner *t = app;

    pthread_mutex_lock(&t->lock);
    assert(!t->stop && t->kept && t->metrics);
    t->stop = true;
    pthread_cond_signal(&t->more);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->watcher, NULL);
    pthread_cond_destroy(&t->more);
    pthread_mutex_destroy(&t->lock);
    gepa_metrics_free(t->metrics);
    tune_kept_close(t->kept);
    free(t);
}

/* ---- answers ---- */

static void tune_app_put_row(struct json_out *o, const struct tune_row *r)
{
    assert(r->id.n > 0 && r->status.n > 0);
    json_member_str_or_null(o, "run_id", r->id);
    json_member_str_or_null(o, "app", r->app);
    json_member_str_or_null(o, "status", r->status);
    json_member_str_or_null(o, "reason", r->reason);
    json_member_i64(o, "calls", r->calls);
    json_member_i64(o, "budget", r->budget);
    json_member_i64(o, "candidates", r->candidates);
    json_member_double(o, "best_score", r->best_score < 0 ? NAN : r->best_score); /* null */
    json_member_double(o, "seed_score", r->seed_score < 0 ? NAN : r->seed_score);
    json_member_str_or_null(o, "prompt_id", r->prompt_id);
    json_member_i64(o, "created_at_us", r->created_us);
    json_member_i64(o, "updated_at_us", r->updated_us);
    json_member_raw(o, "input", r->input);
}

static void tune_answer_list(void *app, const struct app_request *q, struct app_reply *r)
{
    struct tuner *t = app;
    struct tune_row *list;
    struct json_out o;
    struct err e;
    size_t n;
    bool ok = tune_kept_list(t->kept, q->arena, &list, &n, &e);

    app_reply_begin(r, &o, "runs");
    for (size_t i = 0; ok && i < n; i++) {
        json_out_object(&o);
        tune_app_put_row(&o, &list[i]);
        json_out_end(&o);
    }
    app_reply_end(r, &o, ok, &e);
}

static void tune_app_answer_one(void *app, const struct app_request *q, struct app_reply *r)
{
    struct tuner *t = app;
    struct tune_row row;
    struct json_out o;
    struct err e;
    bool ok = tune_kept_get(t->kept, q->parts[0], q->arena, &row, &e);

    app_reply_begin(r, &o, NULL);
    if (ok) {
        tune_app_put_row(&o, &row);
        json_member_array(&o, "events");
        ok = tune_kept_events(t->kept, row.id, &o, &e);
        json_out_end(&o);
    }
    app_reply_end(r, &o, ok, &e);
}

static const struct app_route routes[] = {
    {"GET", "/api/v1/optimize", tune_answer_list, APP_OPERATOR, "", NULL},
    {"GET", "/api/v1/optimize/*", tune_app_answer_one, APP_OPERATOR, "", NULL},
    {NULL, NULL, NULL, 0, NULL, NULL},
};

const struct app app_optimize = {
    .name = "optimize", .open = tuner_open, .close = tuner_close, .routes = routes};
