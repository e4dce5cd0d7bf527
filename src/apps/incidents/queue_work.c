/* queue_work.c - workers claim alerts, investigate them and store the results.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/queue_state.h"

#include "apps/incidents/metrics.h"
#include "apps/incidents/status.h"
#include "gateway/publish.h"

#define RUN_ARENA ((size_t)512 << 20)
#define REPORT_MAX ((size_t)64 << 20)
#define KEEP_MS 50 /* how often deadlines are looked at while something runs */

/* ---- the record of sessions ---- */

static const struct {
    const char *state, *session;
} states[] = {
    {"queued", "pending"},
    {"processing", "in_progress"},
    {"waiting", "in_progress"},
    {"completed", "completed"},
    {"error", "failed"},
    {"cancelled", "failed"},
};

static void incident_queue_work_write_metadata(struct buf *out, const struct alert_table_row *row)
{
    struct json_out o;

    json_out_init_object(&o, out);
    json_member_str(&o, "severity", row->severity);
    json_member_str(&o, "environment", row->environment);
    json_member_str(&o, "runbook", row->runbook);
    json_member_str(&o, "agent", row->agent);
    json_member_i64(&o, "alert_timestamp_us", row->timestamp_us);
    json_out_end(&o);
}

void queue_publish_session(struct queue *q, const struct alert_table_row *row, str data)
{
    struct store_session s = {.id = row->session,
                              .alert_id = row->id,
                              .agent_type = row->agent.n ? row->agent : STR("incidents"),
                              .alert_type = row->alert_type,
                              .status = STR(""),
                              .alert_data = data,
                              .error_message = row->error,
                              .final_analysis = STR(""), /* the engine has recorded it */
                              .started_us =
                                  row->started_us >= 0 ? row->started_us : row->created_us,
                              .completed_us = row->completed_us,
                              .key_name = row->key};
    struct buf metadata;

    for (size_t i = 0; i < COUNT_OF(states); i++)
        if (str_eq(row->state, str_c(states[i].state)))
            s.status = str_c(states[i].session);
    assert(s.status.n > 0);
    buf_init(&metadata, REPORT_MAX);
    incident_queue_work_write_metadata(&metadata, row);
    s.session_metadata = buf_str(&metadata);
    publish_session(q->o.host->gateway->store, q->o.host->gateway->hub, &s);
    buf_release(&metadata);
}

/* ---- how it goes ---- */

struct work {
    struct queue *queue;
    struct entry *entry;
};

static void incident_queue_work_on_progress(void *ctx, const struct incident_progress *p)
{
    struct work *w = ctx;
    struct entry *n = w->entry;

    assert(p->percent >= 0 && p->percent <= 100);
    pthread_mutex_lock(&w->queue->lock);
    if (p->percent > n->row.progress)
        n->row.progress = p->percent < 100 ? p->percent : 99; /* 100 is reached when it is stored */
    if (!n->row.cancelled) {
        buf_set(&n->step, p->step);
        buf_set(&n->agent, p->agent);
    }
    if (!queue_changed(w->queue, n, false, STR("")))
        atomic_store(&n->cancel, true);
    pthread_mutex_unlock(&w->queue->lock);
}

static void incident_queue_work_on_effect(void *ctx, const struct agent_effect *f)
{
    struct work *w = ctx;

    incident_metrics_effect(w->queue->o.metrics, f);
}

/* ---- results ---- */

static void queue_write_report(struct buf *out, const struct incident_report *r)
{
    struct json_out o;

    json_out_init_object(&o, out);
    json_member_str(&o, "markdown", r->markdown);
    json_member_str(&o, "final_analysis", r->final_analysis);
    json_member_str(&o, "summary", r->summary);
    json_member_str(&o, "prompt_id", r->prompt_id);
    json_member_u64(&o, "model_calls", r->model_calls);
    json_member_u64(&o, "tool_calls", r->tool_calls);
    json_member_i64(&o, "input_tokens", r->input_tokens);
    json_member_i64(&o, "output_tokens", r->output_tokens);
    json_member_i64(&o, "reasoning_tokens", r->reasoning_tokens);
    json_member_i64(&o, "duration_ms", r->duration_ms);
    json_member_raw(&o, "tools", r->tools.n ? r->tools : STR("[]"));
    json_out_end(&o);
}

static const struct outcome {
    const char *state, *step;
} outcomes[] = {
    [INCIDENT_COMPLETED] = {"completed", "completed"},
    [INCIDENT_FAILED] = {"error", "failed"},
    [INCIDENT_CANCELLED] = {"cancelled", "cancelled"},
    [INCIDENT_LEFT] = {"processing", ""},
    [INCIDENT_WAITING] = {"waiting", ""},
};

/* Its own words, or ours. */
static void incident_queue_work_explain(struct queue *q, struct entry *n, struct incident_report *r)
{
    if (n->timed_out && r->end != INCIDENT_COMPLETED) {
        r->end = INCIDENT_FAILED;
        r->error = arena_printf(&n->arena,
                                "timed out after %llu ms (incidents.timeout)",
                                (unsigned long long)q->rules.timeout_ms);
        r->reason = STR("timeout");
    } else if (r->end == INCIDENT_CANCELLED) {
        r->error = r->error.n ? r->error : STR("cancelled");
        r->reason = STR("cancelled");
    }
}

/* The alert waits for an approval without taking a worker. Its timeout restarts when it resumes. */
static void queue_put_aside(struct queue *q, struct entry *n)
{
    assert(n->running && !n->row.cancelled && q->asking.n < QUEUE_ASKING_MAX);
    n->timed_out = false; /* the time may have ended after the engine decided to wait */
    atomic_store(&n->cancel, false);
    n->row.state = STR("waiting");
    (void)queue_changed(q, n, true, STR(""));
    queue_put_back(q, n, !n->again);
}

/* The queue is locked. `retry`: the table or the log failed, and the alert continues from its log.
 * Afterwards the entry is freed, or set aside. */
static void incident_queue_work_finish(struct queue *q, struct entry *n, struct incident_report *r,
                                       bool retry)
{
    const struct outcome *how;
    struct buf report;
    bool stored;

    assert(n->running && q->running.n > 0);
    if (atomic_load(&q->leave) && !n->row.cancelled && !n->timed_out &&
        (r->end == INCIDENT_LEFT || r->end == INCIDENT_CANCELLED || r->end == INCIDENT_WAITING)) {
        queue_drop(q, n); /* it resumes at the next start */
        return;
    }
    if (retry && !n->row.cancelled && !n->timed_out) {
        queue_put_back(q, n, false);
        return;
    }
    if (r->end == INCIDENT_WAITING && !n->row.cancelled && q->asking.n < QUEUE_ASKING_MAX) {
        queue_put_aside(q, n);
        return;
    }
    if (r->end == INCIDENT_WAITING)
        queue_end_runs(q, n);
    if (r->end == INCIDENT_LEFT || r->end == INCIDENT_WAITING)
        r->end = INCIDENT_CANCELLED;
    incident_queue_work_explain(q, n, r);
    assert(r->end <= INCIDENT_CANCELLED); /* neither left nor waiting, so it has ended */
    how = &outcomes[r->end];
    n->row.state = str_c(how->state);
    n->row.completed_us = queue_now_us(q);
    n->row.error = r->end == INCIDENT_COMPLETED ? STR("") : r->error;
    n->row.reason = r->end == INCIDENT_COMPLETED ? STR("") : r->reason;
    if (r->end == INCIDENT_COMPLETED)
        n->row.progress = 100;
    n->row.stages = r->stages;
    buf_set(&n->step, str_c(how->step));
    buf_init(&report, REPORT_MAX);
    queue_write_report(&report, r);
    stored = queue_changed(q, n, true, buf_str(&report));
    buf_release(&report);
    if (stored && n->unstored && q->host.daemon.n && !atomic_load(&q->leave)) {
        n->row.error = n->row.reason = n->row.stages = STR(""); /* they are the caller's */
        n->row.completed_us = -1;
        queue_put_back(q, n, false); /* the next try stores the logged result */
        return;
    }
    if (stored) {
        queue_publish_session(q, &n->row, STR(""));
        incident_metrics_ended(q->o.metrics, n->row.state);
    }
    queue_drop(q, n);
}

/* A resumed run keeps the options it started with; the current configuration does not change
 * them. */
static bool incident_queue_work_as_started(struct queue *q, struct incident_options *o,
                                           struct arena *a, struct err *e)
{
    struct incident_options begun;
    struct agent_row row;

    if (!q->o.host->log)
        return true;
    if (!agent_log_run_get(q->o.host->log, o->run, a, &row, e))
        return e->code == ERR_NOT_FOUND;
    if (!incident_input_read(row.input, a, &begun, e))
        return true;
    o->alert = begun.alert;
    o->session = begun.session;
    o->runbook_text = begun.runbook_text;
    o->model = begun.model;
    if (begun.default_model.n)
        o->default_model = begun.default_model;
    o->strategy = begun.strategy;
    o->reasoning = begun.reasoning;
    return true;
}

/* False: a table failed. */
static bool incident_queue_work_run(struct queue *q, struct incident_options *o, struct arena *a,
                                    struct incident_report *r, struct err *e)
{
    struct alert_table_alert *alerts;
    struct alert_table_row row;
    size_t n;

    if (!alert_table_get(q->o.alert_table, o->run, a, &row, e) ||
        !incident_queue_work_as_started(q, o, a, e))
        return false;
    if (!o->alert.alert_type.n) {
        if (!alert_table_alerts(q->o.alert_table, row.id, a, &alerts, &n, e))
            return false;
        if (n > 1)
            row.data = queue_alert_data(alerts, n, a);
        o->alert = status_alert(&row);
    }
    if (q->o.engine->run(o, a, r, e))
        return true;
    r->reason = str_c(err_name(e->code));
    return false;
}

/* Whether to try it again. */
static bool incident_queue_work_investigate(struct queue *q, struct entry *n,
                                            const struct incident_setup *setup, struct arena *a,
                                            struct incident_report *r)
{
    struct work w = {q, n};
    struct incident_options o = {.host = &q->host,
                                 .setup = setup,
                                 .run = n->row.id,
                                 .session = n->row.session,
                                 .key = n->row.key,
                                 .runbook_address = n->runbook,
                                 .runbook_text = STR(""),
                                 .model = STR(""), /* the agent's, else as configured */
                                 .default_model = STR(""),
                                 .cancel = &n->cancel,
                                 .on_progress = incident_queue_work_on_progress,
                                 .on_effect = incident_queue_work_on_effect,
                                 .ctx = &w};
    struct err e;

    *r = INCIDENT_REPORT_NONE;
    r->reason = STR("store_failed");
    if (!incident_queue_work_run(q, &o, a, r, &e)) {
        r->end = INCIDENT_FAILED;
        r->error = arena_dup(a, str_c(e.text));
        if (q->host.daemon.n && e.code == ERR_SYSTEM) {
            log_warn("an alert cannot continue now", LOG_STR("alert", n->row.id), LOG_ERR(&e));
            r->end = INCIDENT_LEFT;
            return true;
        }
    }
    if (r->end != INCIDENT_LEFT && r->end != INCIDENT_WAITING && !atomic_load(&q->leave))
        incident_metrics_stages(q->o.metrics, q->o.host->log, n->row.id, n->row.session);
    r->markdown = queue_masked(q, a, r->markdown);
    r->final_analysis = queue_masked(q, a, r->final_analysis);
    r->summary = queue_masked(q, a, r->summary);
    r->error = queue_masked(q, a, r->error);
    r->stages = queue_masked(q, a, r->stages);
    if (r->end == INCIDENT_FAILED)
        log_warn("an investigation failed",
                 LOG_STR("incident", n->row.id),
                 LOG_STR("reason", r->reason),
                 LOG_STR("why", r->error));
    return false;
}

/* ---- workers ---- */

/* The queue is locked: the place is free, and taken. NULL: another daemon has claimed it. */
static struct entry *incident_queue_work_claim(struct queue *q)
{
    struct entry *n = q->waiting.first;

    assert(q->running.n < q->rules.running_max);
    assert(n && !n->running && !n->asking);
    list_take(&q->waiting, n);
    n->running = true;
    list_add(&q->running, n);
    queue_counted(q);
    n->row.state = STR("processing");
    if (n->row.started_us < 0)
        n->row.started_us = queue_now_us(q);
    if (n->row.progress < 5)
        n->row.progress = 5;
    n->deadline_ns = clock_deadline_ns(q->o.host->clock, (int64_t)q->rules.timeout_ms);
    buf_set(&n->step, STR("starting"));
    buf_set(&n->agent, n->row.agent);
    if (!queue_changed(q, n, false, STR(""))) {
        queue_drop(q, n);
        return NULL;
    }
    queue_publish_session(q, &n->row, STR(""));
    pthread_cond_signal(&q->keep);
    return n;
}

/* The queue is locked before and after. */
static void work_on(struct queue *q, struct entry *n)
{
    static const struct timespec pause = {.tv_sec = 1};
    struct incident_setup *setup = incident_setup_retain(q->rules.setup);
    struct incident_report report;
    struct arena a;
    bool retry;

    assert(n->running);
    arena_init(&a, RUN_ARENA);
    pthread_mutex_unlock(&q->lock);
    retry = incident_queue_work_investigate(q, n, setup, &a, &report);
    if (retry)
        (void)nanosleep(&pause, NULL);
    pthread_mutex_lock(&q->lock);
    incident_queue_work_finish(q, n, &report, retry);
    arena_release(&a);
    incident_setup_free(setup);
}

void *queue_worker(void *arg)
{
    struct queue *q = arg;
    struct entry *n;

    pthread_mutex_lock(&q->lock);
    for (;;) {
        q->idle++;
        while (!q->stop && (!q->waiting.first || q->running.n >= q->rules.running_max))
            pthread_cond_wait(&q->work, &q->lock);
        assert(q->idle > 0 && q->idle <= q->worker_count);
        q->idle--;
        if (q->stop)
            break;
        n = incident_queue_work_claim(q);
        if (n)
            work_on(q, n);
        pthread_cond_signal(&q->work); /* there is a place, where there are fewer of them now */
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

void queue_hire(struct queue *q)
{
    assert(q->idle <= q->worker_count);
    if (q->worker_count < q->rules.running_max && q->idle < q->waiting.n && !q->stop) {
        assert(q->worker_count < COUNT_OF(q->workers));
        if (pthread_create(&q->workers[q->worker_count], NULL, queue_worker, q) == 0)
            q->worker_count++;
        else if (!q->worker_count)
            base_die("no thread could be started");
    }
    pthread_cond_signal(&q->work);
}

/* ---- deadlines ---- */

static void incident_queue_work_look(struct queue *q)
{
    uint64_t now = clock_mono_ns(q->o.host->clock);

    if (q->o.host->leave && atomic_load(q->o.host->leave))
        atomic_store(&q->leave, true);
    for (struct entry *n = q->running.first; n; n = n->next) {
        assert(n->running);
        if (now >= n->deadline_ns && !n->row.cancelled && !atomic_load(&n->cancel)) {
            n->timed_out = true;
            atomic_store(&n->cancel, true);
        }
        if (atomic_load(&q->leave))
            atomic_store(&n->cancel, true);
    }
}

static void *incident_queue_work_keep(void *arg)
{
    struct queue *q = arg;

    pthread_mutex_lock(&q->lock);
    while (!q->stop) {
        if (!q->running.n) {
            pthread_cond_wait(&q->keep, &q->lock);
            continue;
        }
        incident_queue_work_look(q);
        (void)clock_cond_wait(&q->keep, &q->lock, clock_deadline_ns(&clock_real, KEEP_MS));
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

void queue_start(struct queue *q)
{
    if (pthread_create(&q->keeper, NULL, incident_queue_work_keep, q) != 0)
        base_die("no thread could be started");
}
