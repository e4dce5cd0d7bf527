/* queue.c - see queue.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/queue_state.h"

#include "apps/incidents/metrics.h"

#define ENTRY_ARENA ((size_t)1 << 20)
#define OPEN_ARENA ((size_t)1 << 30)
#define TEXT_MAX ((size_t)64 << 10)
#define ALIVE_MAX ((size_t)200000)

int64_t queue_now_us(const struct queue *q)
{
    return clock_wall_ms(q->o.host->clock) * 1000;
}

/* ---- entries ---- */

void list_add(struct list *l, struct entry *n)
{
    assert(!n->next && !n->prev && !l->first == !l->last && !l->first == !l->n);
    n->prev = l->last;
    n->next = NULL;
    LIST_APPEND(l->first, l->last, n);
    l->n++;
}

void list_take(struct list *l, struct entry *n)
{
    assert(l->n > 0 && (n->prev || l->first == n) && (n->next || l->last == n));
    *(n->prev ? &n->prev->next : &l->first) = n->next;
    *(n->next ? &n->next->prev : &l->last) = n->prev;
    n->next = n->prev = NULL;
    l->n--;
}

static struct list *incident_queue_list_of(struct queue *q, const struct entry *n)
{
    assert(!n->running || !n->asking);
    return n->running ? &q->running : n->asking ? &q->asking : &q->waiting;
}

static struct queue_counts incident_queue_counts_of(const struct queue *q)
{
    assert(!q->waiting.first == !q->waiting.n);
    return (struct queue_counts){q->waiting.n,
                                 q->running.n,
                                 q->asking.n,
                                 q->waiting.first ? q->waiting.first->row.created_us : 0};
}

void queue_counted(struct queue *q)
{
    struct queue_counts c = incident_queue_counts_of(q);

    incident_metrics_queue(q->o.metrics, &c);
}

void queue_put_back(struct queue *q, struct entry *n, bool asks)
{
    assert(n->running || n->asking);
    list_take(incident_queue_list_of(q, n), n);
    n->running = n->again = false;
    n->asking = asks;
    list_add(incident_queue_list_of(q, n), n);
    queue_counted(q);
    if (!asks)
        queue_hire(q);
    else if (!q->waiting.n && !q->running.n)
        pthread_cond_broadcast(&q->calm);
}

str queue_name(struct arena *a, str key, str digest)
{
    return arena_join(a, digest, STR(" "), key);
}

struct entry *queue_enter(struct queue *q, const struct alert_table_row *row)
{
    struct entry *n = base_alloc(sizeof *n);
    struct alert_table_row *r = &n->row;
    struct err e;

    memset(n, 0, sizeof *n);
    arena_init(&n->arena, ENTRY_ARENA);
    buf_init(&n->step, TEXT_MAX);
    buf_init(&n->agent, TEXT_MAX);
    *r = *row;
    for (str *const *t = (str *const[]){&r->id,
                                        &r->session,
                                        &r->digest,
                                        &r->key,
                                        &r->alert_type,
                                        &r->severity,
                                        &r->environment,
                                        &r->runbook,
                                        &r->agent,
                                        NULL};
         *t;
         t++)
        **t = arena_dup(&n->arena, **t);
    r->state = str_eq(row->state, STR("queued")) ? STR("queued") : STR("processing");
    r->data = r->report = r->error = r->reason = r->stages = STR("");
    buf_add(&n->step, row->step);
    buf_add(&n->agent, row->current_agent);
    r->step = buf_str(&n->step);
    r->current_agent = buf_str(&n->agent);
    n->name = queue_name(&n->arena, r->key, r->digest);
    n->runbook = STR("");
    if (!map_set(&q->ids, r->id, MAP_PTR(n), &e) || !map_set(&q->names, n->name, MAP_PTR(n), &e))
        base_die("the queue has more than %zu alerts", ALIVE_MAX);
    assert(!n->running && !n->asking);
    list_add(&q->waiting, n);
    queue_counted(q);
    return n;
}

void queue_drop(struct queue *q, struct entry *n)
{
    assert(map_find(&q->ids, n->row.id)->value.ptr == n);
    map_remove(&q->ids, n->row.id);
    map_remove(&q->names, n->name);
    list_take(incident_queue_list_of(q, n), n);
    queue_counted(q);
    buf_release(&n->step);
    buf_release(&n->agent);
    arena_release(&n->arena);
    free(n);
    if (!q->waiting.n && !q->running.n)
        pthread_cond_broadcast(&q->calm);
}

bool queue_changed(struct queue *q, struct entry *n, bool durable, str report)
{
    struct alert_table_row row;
    struct err e;
    bool ok;

    n->row.updated_us = queue_now_us(q);
    n->row.step = buf_str(&n->step);
    n->row.current_agent = buf_str(&n->agent);
    row = n->row;
    row.report = report;
    ok = alert_table_put(q->o.alert_table, &row, durable, &e);
    if (!ok)
        log_error("an alert's state is not stored", LOG_STR("alert", row.id), LOG_ERR(&e));
    if (!ok && e.code == ERR_CONFLICT)
        return false;
    n->unstored = !ok;
    if (q->o.on_change)
        q->o.on_change(q->o.ctx, &row);
    return true;
}

/* ---- helpers for the other files ---- */

str queue_masked(struct queue *q, struct arena *a, str data)
{
    struct setup *setup = gateway_setup(q->o.host->gateway);

    data = mask_json_kept(setup->mask, data, a);
    setup_release(setup);
    return data;
}

str queue_agent(struct queue *q, str alert_type)
{
    const char *const *servers;
    str agent;

    return q->o.engine->assigned(q->rules.setup, alert_type, &agent, &servers) ? agent : STR("");
}

static struct alert_table_row queue_row_of_run(struct queue *q, const struct agent_row *run,
                                               const struct incident_options *o, struct arena *a)
{
    return (struct alert_table_row){.id = run->id,
                                    .session = run->session_id,
                                    .digest = arena_join(a, STR("run "), run->id, STR("")),
                                    .key = STR(""),
                                    .state = STR("processing"),
                                    .alert_type = o->alert.alert_type,
                                    .severity = o->alert.severity,
                                    .environment = o->alert.environment,
                                    .runbook = o->alert.runbook,
                                    .data = o->alert.data,
                                    .agent = queue_agent(q, o->alert.alert_type),
                                    .step = STR("going on"),
                                    .current_agent = STR(""),
                                    .timestamp_us = o->alert.timestamp_us,
                                    .created_us = run->created_us,
                                    .started_us = run->created_us,
                                    .updated_us = queue_now_us(q),
                                    .completed_us = -1};
}

static bool incident_queue_adopt_run(struct queue *q, const struct agent_row *run,
                                     const struct incident_options *o, struct arena *a,
                                     struct err *e)
{
    struct alert_table_row row = queue_row_of_run(q, run, o, a);

    if (!row.agent.n)
        return err_input(e,
                         "no agent takes alerts of type \"" STR_FMT "\"",
                         STR_ARG(str_slice(row.alert_type, 0, 80)));
    if (!alert_table_add(
            q->o.alert_table, &(struct alert_table_intake){.rows = &row, .row_count = 1}, e))
        return false;
    (void)queue_changed(q, queue_enter(q, &row), false, STR(""));
    queue_hire(q);
    return true;
}

bool queue_adopt(struct queue *q, const struct agent_row *run, struct err *e)
{
    struct incident_options o;
    struct alert_table_row row;
    struct arena a;
    bool ok;

    arena_init(&a, OPEN_ARENA);
    pthread_mutex_lock(&q->lock);
    ok = alert_table_get(q->o.alert_table, run->id, &a, &row, e);
    if (!ok && e->code == ERR_NOT_FOUND)
        ok = incident_input_read(run->input, &a, &o, e) &&
             incident_queue_adopt_run(q, run, &o, &a, e);
    pthread_mutex_unlock(&q->lock);
    arena_release(&a);
    return ok;
}

bool queue_resume(struct queue *q, str id)
{
    struct entry *n;

    pthread_mutex_lock(&q->lock);
    n = map_find_ptr(&q->ids, id);
    if (n && n->asking)
        queue_put_back(q, n, false);
    else if (n && n->running)
        n->again = true;
    pthread_mutex_unlock(&q->lock);
    return n != NULL;
}

/* ---- cancelling ---- */

void queue_end_runs(struct queue *q, const struct entry *n)
{
    struct err e;

    if (n->row.started_us >= 0 && q->o.engine->drop && q->o.host->log &&
        !q->o.engine->drop(q->o.host->log, n->row.id, queue_now_us(q), &e))
        log_warn("the runs of an alert stay open", LOG_STR("alert", n->row.id), LOG_ERR(&e));
}

/* Ends an incident that is not running as cancelled, and frees the entry. */
static void queue_end_waiting(struct queue *q, struct entry *n, str error, str reason)
{
    assert(!n->running);
    n->row.state = STR("cancelled");
    n->row.error = error;
    n->row.reason = reason;
    n->row.completed_us = queue_now_us(q);
    buf_set(&n->step, STR("cancelled"));
    (void)queue_changed(q, n, true, STR(""));
    incident_metrics_ended(q->o.metrics, reason);
    queue_publish_session(q, &n->row, STR(""));
    queue_end_runs(q, n);
    queue_drop(q, n);
}

bool queue_end_resolved(struct queue *q, struct entry *n, const struct alert_table_row *row)
{
    if (n->running || n->asking || n->row.started_us >= 0 || row->resolved_us < 0)
        return false;
    queue_end_waiting(q, n, STR("resolved before it was started"), STR("resolved"));
    return true;
}

static void queue_cancel_waiting(struct queue *q, struct entry *n)
{
    n->row.cancelled = true;
    queue_end_waiting(q,
                      n,
                      n->row.started_us < 0 ? STR("cancelled before it was started")
                                            : STR("cancelled"),
                      STR("cancelled"));
}

static void incident_queue_cancel_running(struct queue *q, struct entry *n)
{
    assert(n->running);
    n->row.cancelled = true;
    buf_set(&n->step, STR("cancelling"));
    (void)queue_changed(q, n, true, STR(""));
    atomic_store(&n->cancel, true);
}

void queue_cancel_entry(struct queue *q, struct entry *n)
{
    if (n->running)
        incident_queue_cancel_running(q, n);
    else
        queue_cancel_waiting(q, n);
}

bool queue_cancel(struct queue *q, str id, struct arena *a, struct alert_table_row *row,
                  struct err *e)
{
    struct map_entry *found;

    pthread_mutex_lock(&q->lock);
    found = map_find(&q->ids, id);
    if (found)
        queue_cancel_entry(q, found->value.ptr);
    pthread_mutex_unlock(&q->lock);
    if (!alert_table_get(q->o.alert_table, id, a, row, e))
        return false;
    if (!found && queue_cancel_elsewhere(q, id))
        return row->cancelled = true;
    return found ||
           err_input(e, "the alert has ended already: it is " STR_FMT, STR_ARG(row->state));
}

/* ---- life ---- */

static void queue_take_rules(struct queue *q, const struct queue_rules *rules)
{
    struct incident_setup *old = q->rules.setup;

    assert(rules->running_max >= 1 && rules->running_max <= QUEUE_WORKERS_MAX);
    q->rules = *rules;
    q->rules.setup = incident_setup_retain(rules->setup);
    incident_setup_free(old);
}

void queue_change(struct queue *q, const struct queue_rules *rules)
{
    pthread_mutex_lock(&q->lock);
    queue_take_rules(q, rules);
    for (size_t i = 0; i < q->waiting.n && i < rules->running_max; i++)
        queue_hire(q);
    pthread_mutex_unlock(&q->lock);
}

/* Those that were worked on come first, as they did before. */
static bool incident_queue_take_up(struct queue *q, struct err *e)
{
    struct alert_table_row *rows;
    struct entry *n;
    struct arena a;
    size_t count;
    bool ok;

    arena_init(&a, OPEN_ARENA);
    ok = alert_table_adopt(q->o.alert_table, false, e) &&
         alert_table_alive(q->o.alert_table, &a, &rows, &count, e);
    for (int queued = 0; ok && queued < 2; queued++)
        for (size_t i = 0; i < count && q->waiting.n < ALIVE_MAX; i++) {
            if (str_eq(rows[i].state, STR("queued")) != queued)
                continue;
            n = queue_enter(q, &rows[i]);
            if (rows[i].cancelled) {
                queue_cancel_waiting(q, n);
                continue;
            }
            if (queue_end_resolved(q, n, &rows[i]))
                continue; /* the last process stored that its alerts ended, and went down */
            log_info("an alert continues", LOG_STR("alert", rows[i].id));
            (void)queue_changed(q, n, false, STR(""));
            queue_hire(q);
        }
    arena_release(&a);
    return ok;
}

bool queue_open(const struct queue_options *o, struct queue **out, struct err *e)
{
    struct queue *q = base_alloc(sizeof *q);
    bool ok;

    memset(q, 0, sizeof *q);
    q->o = *o;
    queue_take_rules(q, &o->rules);
    q->host = *o->host;
    q->host.leave = &q->leave;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->work, NULL);
    clock_cond_init(&q->keep);
    clock_cond_init(&q->calm);
    map_init(&q->ids, NULL, ALIVE_MAX);
    map_init(&q->names, NULL, ALIVE_MAX);
    rand_ids_init(&q->new_ids, o->host->clock);
    queue_start(q);
    pthread_mutex_lock(&q->lock);
    ok = incident_queue_take_up(q, e);
    pthread_mutex_unlock(&q->lock);
    if (ok)
        *out = q;
    else
        queue_close(q);
    return ok;
}

void queue_close(struct queue *q)
{
    if (!q)
        return;
    pthread_mutex_lock(&q->lock);
    q->stop = true;
    atomic_store(&q->leave, true);
    for (struct entry *n = q->running.first; n; n = n->next)
        atomic_store(&n->cancel, true); /* with `leave`: resumable, not ended */
    pthread_cond_broadcast(&q->work);
    pthread_cond_broadcast(&q->keep);
    pthread_mutex_unlock(&q->lock);
    assert(q->worker_count <= COUNT_OF(q->workers));
    for (size_t i = 0; i < q->worker_count; i++)
        pthread_join(q->workers[i], NULL);
    pthread_join(q->keeper, NULL);
    while (q->waiting.first)
        queue_drop(q, q->waiting.first);
    while (q->asking.first)
        queue_drop(q, q->asking.first);
    assert(!q->running.n);
    assert(!q->waiting.n && !q->asking.n);
    assert(map_count(&q->ids) == 0);
    map_release(&q->ids);
    map_release(&q->names);
    rand_ids_release(&q->new_ids);
    incident_setup_free(q->rules.setup);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->work);
    pthread_cond_destroy(&q->keep);
    pthread_cond_destroy(&q->calm);
    free(q);
}

void queue_counts(struct queue *q, struct queue_counts *out)
{
    pthread_mutex_lock(&q->lock);
    *out = incident_queue_counts_of(q);
    pthread_mutex_unlock(&q->lock);
}
