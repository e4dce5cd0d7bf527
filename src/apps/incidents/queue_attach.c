/* queue_attach.c - accepts reported alerts: finds the incident of each, or starts one.
 *
 * An alert in our own form is the same as one that is alive and agrees in all but its times. An
 * alert of a webhook has a fingerprint and a start, which identify its firing:
 *
 *   - A report with the start of a known firing, or an earlier one, is a repeat. So is one with a
 *     later start while the known firing has not ended and its incident is alive: two senders of a
 *     pair may disagree about the start.
 *   - Any other report is a new firing. It joins the incident of its group if an alert of the group
 *     still fires, else it starts an incident, and the firing before it has ended.
 *
 * A report that an alert is resolved ends its firing. If no alert of a queued incident fires any
 * more, the incident ends too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/queue_state.h"

#define ATTACH_ARENA ((size_t)1 << 30)
#define DATA_MAX ((size_t)64 << 20)
#define INVESTIGATED_MAX 50                 /* alerts of a group in the input of an investigation */
#define INVESTIGATED_SIZE ((size_t)1 << 20) /* bytes, after which no other alert is added */
#define INCIDENT_ALERTS_MAX 1000            /* then the group gets another incident */

struct attaching {
    struct queue *q;
    struct queue_intake *in;
    struct arena *arena;
    int64_t now_us;
    struct alert_table_row *rows;    /* new incidents */
    str *runbooks;                   /* of the rows, as sent: with credentials */
    struct alert_table_alert *fresh; /* new alerts */
    size_t row_count, fresh_count;
    str group; /* the group's incident, if it is known now */
    int64_t group_alerts;
    bool group_is_new;
};

static struct entry *attach_alive(struct queue *q, str id)
{
    return map_find_ptr(&q->ids, id);
}

/* Here, or in the queue of another daemon. */
static bool attach_is_alive(struct queue *q, const struct alert_table_alert *known)
{
    return attach_alive(q, known->incident) ||
           (q->host.daemon.n && str_is_one_of(known->state, QUEUE_ALIVE));
}

static void attach_answer(struct queue_item *item, enum queue_result result, str id)
{
    item->result = result;
    (void)snprintf(item->id, sizeof item->id, STR_FMT, STR_ARG(id));
}

/* ---- the data of an investigation ---- */

static bool attach_is_of_group(str key)
{
    return str_is_one_of(key, "groupKey groupLabels receiver externalURL");
}

static void attach_write_members(struct json_out *o, str data, bool of_group, struct arena *a)
{
    const struct json_node *root;
    struct json doc;
    struct err e;
    str key;

    root = json_open(&doc, data, &e) ? json_root(&doc) : NULL;
    JSON_FOREACH(k, &doc, root) {
        if (!json_text(&doc, k, a, &key) || attach_is_of_group(key) != of_group)
            continue;
        json_out_key(o, key);
        json_out_raw(o, json_raw(&doc, json_value(k)));
    }
    json_release(&doc);
}

str queue_alert_data(const struct alert_table_alert *alerts, size_t n, struct arena *a)
{
    struct json_out o;
    struct buf out;
    size_t i = 0;
    str data;

    assert(n > 0);
    if (n == 1)
        return alerts[0].data;
    buf_init(&out, DATA_MAX);
    json_out_init_object(&o, &out);
    attach_write_members(&o, alerts[0].data, true, a);
    json_member_array(&o, "alerts");
    for (; i < n && i < INVESTIGATED_MAX && out.n < INVESTIGATED_SIZE && alerts[i].data.n; i++) {
        json_out_object(&o);
        attach_write_members(&o, alerts[i].data, false, a);
        json_out_end(&o);
    }
    json_out_end(&o);
    if (n > i)
        json_member_i64(&o, "more_alerts", (int64_t)(n - i));
    json_out_end(&o);
    data = buf_full(&out) ? alerts[0].data : arena_dup(a, buf_str(&out));
    buf_release(&out);
    return data;
}

/* ---- new incidents ---- */

static struct alert_table_row *attach_new_row(struct attaching *t, const struct queue_item *item)
{
    const struct alert *alert = item->alert;
    struct alert_table_row *row = &t->rows[t->row_count++];
    char id[RAND_ID_SIZE];

    assert(t->row_count <= t->in->n);
    (void)rand_id(&t->q->new_ids, id);
    *row = (struct alert_table_row){.id = arena_dup(t->arena, str_c(id)),
                                    .key = t->in->key,
                                    .state = STR("queued"),
                                    .alert_type = STR(""),
                                    .step = STR("waiting for its turn"),
                                    .current_agent = STR(""),
                                    .created_us = t->now_us,
                                    .updated_us = t->now_us,
                                    .started_us = -1,
                                    .completed_us = -1,
                                    .resolved_us = -1};
    row->session = row->id;
    row->digest = alert->fingerprint.n ? row->id : str_c(alert->digest);
    return row;
}

/* Type, severity and runbook of an incident are those of its first alert with a known type. */
static void attach_describe(struct attaching *t, struct alert_table_row *row,
                            const struct queue_item *item)
{
    assert(row >= t->rows && row < t->rows + t->row_count);
    if (row->alert_type.n)
        return;
    row->alert_type = queue_masked(t->q, t->arena, item->type);
    if (!queue_agent(t->q, row->alert_type).n)
        row->alert_type = item->type; /* a configured type, not text of the sender */
    row->severity = queue_masked(t->q, t->arena, item->alert->severity);
    row->environment = queue_masked(t->q, t->arena, item->alert->environment);
    row->runbook = queue_masked(t->q, t->arena, item->alert->runbook);
    t->runbooks[row - t->rows] = item->alert->runbook;
    row->timestamp_us = item->alert->timestamp_us;
    row->agent = queue_agent(t->q, item->type);
}

static struct alert_table_alert attach_identity(const struct attaching *t,
                                                const struct alert *alert)
{
    return (struct alert_table_alert){.incident = STR(""),
                                      .key = t->in->key,
                                      .source = str_c(alert_source_name(t->in->source)),
                                      .fingerprint = alert->fingerprint.n ? alert->fingerprint
                                                                          : str_c(alert->digest),
                                      .group = t->in->group};
}

static void attach_add_fresh(struct attaching *t, const struct alert *alert, str incident,
                             int64_t position)
{
    struct alert_table_alert *x = &t->fresh[t->fresh_count++];

    assert(t->fresh_count <= t->in->n);
    *x = attach_identity(t, alert);
    x->incident = incident;
    x->position = position;
    x->name = queue_masked(t->q, t->arena, alert->alert_type);
    x->severity = queue_masked(t->q, t->arena, alert->severity);
    x->data = queue_masked(t->q, t->arena, alert->data);
    x->starts_us = alert->starts_us ? alert->starts_us : alert->timestamp_us;
    x->first_seen_us = x->last_seen_us = t->now_us;
    x->ended_us = -1;
    x->seen = 1;
}

static bool attach_find_group(struct attaching *t, const struct alert *alert, struct err *e)
{
    struct alert_table_alert of = attach_identity(t, alert);

    if (!t->in->group.n || t->group.n)
        return true;
    if (!alert_table_group_find(t->q->o.alert_table, &of, t->arena, &t->group, &t->group_alerts, e))
        return false;
    if (t->group_alerts >= INCIDENT_ALERTS_MAX)
        t->group = STR("");
    return true;
}

static bool attach_fresh(struct attaching *t, struct queue_item *item, struct err *e)
{
    struct alert_table_row *row;

    if (!attach_find_group(t, item->alert, e))
        return false;
    if (t->group.n) {
        attach_add_fresh(t, item->alert, t->group, t->group_alerts++);
        assert(!t->group_is_new || t->row_count == 1); /* the row of the group */
        if (t->group_is_new)
            attach_describe(t, &t->rows[0], item);
        attach_answer(item, t->group_is_new ? QUEUE_QUEUED : QUEUE_ATTACHED, t->group);
        return true;
    }
    row = attach_new_row(t, item);
    attach_describe(t, row, item);
    attach_add_fresh(t, item->alert, row->id, 0);
    attach_answer(item, QUEUE_QUEUED, row->id);
    if (t->in->group.n) {
        t->group = row->id;
        t->group_alerts = 1;
        t->group_is_new = true;
    }
    return true;
}

/* ---- alerts that are known ---- */

/* An incident that ended in the queue, because its alerts were resolved, was not investigated: a
 * repeat starts a new one. */
static bool attach_is_repeat(struct queue *q, const struct alert_table_alert *known,
                             const struct alert *alert)
{
    bool fires = known->ended_us < 0;

    if (!fires && str_eq(known->reason, STR("resolved")))
        return false;
    if (!alert->starts_us)
        return fires;
    return alert->starts_us <= known->starts_us || (fires && attach_is_alive(q, known));
}

/* A body may have the same alert twice. */
static const struct queue_item *attach_same_before(const struct attaching *t, size_t i)
{
    const struct queue_item *items = t->in->items;

    assert(i < t->in->n);
    for (size_t k = 0; k < i; k++)
        if (items[k].alert->resolved == items[i].alert->resolved &&
            str_eq(items[k].alert->fingerprint, items[i].alert->fingerprint))
            return &items[k];
    return NULL;
}

static bool attach_repeat(struct attaching *t, struct alert_table_alert *known,
                          struct queue_item *item, struct err *e)
{
    struct alert_table_intake put = {.alerts = known, .alert_count = 1};

    known->seen++;
    known->last_seen_us = t->now_us;
    known->ended_us = -1;
    if (item->alert->starts_us > known->starts_us)
        known->starts_us = item->alert->starts_us;
    attach_answer(item, QUEUE_ATTACHED, known->incident);
    return alert_table_add(t->q->o.alert_table, &put, e);
}

static bool attach_end_firing(struct attaching *t, struct alert_table_alert *known,
                              int64_t ended_us, struct err *e)
{
    struct alert_table_intake put = {.alerts = known, .alert_count = 1};

    known->ended_us = ended_us ? ended_us : t->now_us;
    return alert_table_add(t->q->o.alert_table, &put, e);
}

static bool attach_own(struct attaching *t, struct queue_item *item, struct err *e)
{
    str name = queue_name(t->arena, t->in->key, str_c(item->alert->digest));
    struct map_entry *alive = map_find(&t->q->names, name);
    struct alert_table_alert known, of = attach_identity(t, item->alert);
    str id = STR("");
    bool found;

    if (t->q->host.daemon.n) {
        if (!alert_table_find_alive(
                t->q->o.alert_table, t->in->key, str_c(item->alert->digest), t->arena, &id, e))
            return false;
    } else if (alive) {
        id = ((struct entry *)alive->value.ptr)->row.id;
    }
    if (!id.n)
        return attach_fresh(t, item, e);
    of.incident = id;
    if (!alert_table_alert_find(t->q->o.alert_table, &of, t->arena, &known, &found, e))
        return false;
    if (found)
        return attach_repeat(t, &known, item, e);
    attach_answer(item, QUEUE_ATTACHED, id);
    return true;
}

/* Whether the report is about this firing: one that ended before it is about an earlier one. */
static bool attach_is_end_of(const struct alert *alert, const struct alert_table_alert *firing)
{
    assert(alert->resolved);
    return !alert->ends_us || alert->ends_us >= firing->starts_us;
}

/* The firing that the same request has started, if the report is about this one. The table does not
 * have it yet. */
static struct alert_table_alert *attach_fresh_ended(struct attaching *t, const struct alert *alert)
{
    for (size_t i = 0; i < t->fresh_count; i++)
        if (str_eq(t->fresh[i].fingerprint, alert->fingerprint) &&
            attach_is_end_of(alert, &t->fresh[i]))
            return &t->fresh[i];
    return NULL;
}

static bool attach_resolve(struct attaching *t, struct queue_item *item,
                           struct alert_table_alert *known, bool found, struct err *e)
{
    const struct alert *alert = item->alert;
    struct alert_table_alert *fresh = attach_fresh_ended(t, alert);

    if (fresh) {
        fresh->ended_us = alert->ends_us ? alert->ends_us : t->now_us;
        attach_answer(item, QUEUE_RESOLVED, fresh->incident);
        return true;
    }
    found = found && attach_is_end_of(alert, known);
    attach_answer(item, QUEUE_RESOLVED, found ? known->incident : STR(""));
    return !found || known->ended_us >= 0 || attach_end_firing(t, known, alert->ends_us, e);
}

static bool attach_one(struct attaching *t, size_t i, struct err *e)
{
    struct queue_item *item = &t->in->items[i];
    const struct alert *alert = item->alert;
    const struct queue_item *before = attach_same_before(t, i);
    struct alert_table_alert known, of = attach_identity(t, alert);
    bool found;

    if (before) {
        attach_answer(item, alert->resolved ? QUEUE_RESOLVED : QUEUE_ATTACHED, str_c(before->id));
        return true;
    }
    if (!alert->fingerprint.n)
        return attach_own(t, item, e);
    if (!alert_table_alert_find(t->q->o.alert_table, &of, t->arena, &known, &found, e))
        return false;
    if (alert->resolved)
        return attach_resolve(t, item, &known, found, e);
    if (found && attach_is_repeat(t->q, &known, alert))
        return attach_repeat(t, &known, item, e);
    return (!found || known.ended_us >= 0 || attach_end_firing(t, &known, alert->starts_us, e)) &&
           attach_fresh(t, item, e);
}

/* ---- all of a body ---- */

/* Firing alerts are handled first: one joins its group even if the same request resolves the last
 * of the others. */
static bool attach_all(struct attaching *t, struct err *e)
{
    for (int resolved = 0; resolved < 2; resolved++)
        for (size_t i = 0; i < t->in->n; i++)
            if (t->in->items[i].alert->resolved == (resolved == 1) && !attach_one(t, i, e))
                return false;
    return true;
}

static bool attach_room(struct attaching *t, struct err *e)
{
    const struct queue *q = t->q;
    size_t places = (size_t)q->rules.running_max + q->rules.waiting_max;
    size_t used = q->waiting.n + q->running.n, room = used < places ? places - used : 0;

    t->in->incidents = t->row_count;
    for (size_t i = 0; i < t->row_count; i++)
        if (!t->rows[i].alert_type.n) {
            t->in->unknown_type = true;
            return err_input(e, "no agent takes alerts of this type");
        }
    return t->row_count <= room ||
           err_set(e,
                   ERR_LIMIT,
                   "the queue is full: %zu waiting, %zu being worked on, no room for %zu more "
                   "(max_queue_size %u, max_concurrent_alerts %u)",
                   q->waiting.n,
                   q->running.n,
                   t->row_count,
                   q->rules.waiting_max,
                   q->rules.running_max);
}

/* Fills the data of new incidents and stores all; the alerts of an incident are adjacent in
 * t->fresh. */
static bool attach_store(struct attaching *t, struct err *e)
{
    struct alert_table_intake put = {t->rows, t->fresh, t->row_count, t->fresh_count};
    size_t at = 0;

    for (size_t i = 0; i < t->row_count; i++) {
        size_t n = 0;

        for (; at + n < t->fresh_count && str_eq(t->fresh[at + n].incident, t->rows[i].id); n++)
            t->rows[i].firing += t->fresh[at + n].ended_us < 0;
        assert(n > 0); /* a new incident has the alert that started it */
        t->rows[i].data = queue_alert_data(&t->fresh[at], n, t->arena);
        t->rows[i].alerts = t->rows[i].seen = (int64_t)n;
        at += n;
    }
    return alert_table_add(t->q->o.alert_table, &put, e);
}

typedef bool attach_on_resolved(struct attaching *t, struct alert_table_row *row, struct err *e);

static bool attach_is_resolved(const struct queue_item *item)
{
    return item->result == QUEUE_RESOLVED && item->id[0];
}

/* Calls fn once for each incident of which the request resolves an alert, with the incident's row.
 * A row has the data and the report, so it is freed before the next is read. */
static bool attach_each_resolved(struct attaching *t, attach_on_resolved *fn, struct err *e)
{
    const struct queue_item *items = t->in->items;
    bool ok = true;

    for (size_t i = 0; ok && i < t->in->n; i++) {
        struct alert_table_row row;
        struct arena a;
        size_t k = 0;

        while (k < i && !(attach_is_resolved(&items[k]) && strcmp(items[k].id, items[i].id) == 0))
            k++;
        if (k < i || !attach_is_resolved(&items[i]))
            continue;
        arena_init(&a, ATTACH_ARENA);
        ok =
            alert_table_get(t->q->o.alert_table, str_c(items[i].id), &a, &row, e) && fn(t, &row, e);
        arena_release(&a);
    }
    return ok;
}

/* Ends a queued incident without a firing alert; else reports to watchers that an alert has
 * ended. */
static bool attach_report_resolved(struct attaching *t, struct alert_table_row *row, struct err *e)
{
    struct entry *n = attach_alive(t->q, row->id);

    (void)e;
    if (!(n && queue_end_resolved(t->q, n, row)) && t->q->o.on_change)
        t->q->o.on_change(t->q->o.ctx, row);
    return true;
}

static void attach_enter(struct attaching *t)
{
    struct queue *q = t->q;
    struct entry *n;
    struct err e;

    for (size_t i = 0; i < t->row_count; i++) {
        n = queue_enter(q, &t->rows[i]);
        n->runbook = arena_dup(&n->arena, t->runbooks[i]);
        queue_publish_session(q, &t->rows[i], t->rows[i].data);
        if (q->o.on_change)
            q->o.on_change(q->o.ctx, &t->rows[i]);
        queue_hire(q);
    }
    if (!attach_each_resolved(t, attach_report_resolved, &e))
        log_error("the end of alerts was not reported to the other daemons", LOG_ERR(&e));
}

/* Messages about incidents whose last alert has ended are part of the transaction. So is the
 * request to the daemon that has such an incident in its queue. */
static bool attach_announce(struct attaching *t, struct alert_table_row *row, struct err *e)
{
    struct alert_table *table = t->q->o.alert_table;
    bool mine;

    if (row->resolved_us < 0)
        return true;
    if (str_eq(row->state, STR("queued")) && !attach_alive(t->q, row->id) &&
        !alert_table_hand(table, row->id, "resolved", &mine, e))
        return false;
    row->state = STR("resolved");
    return alert_table_announce(table, row, e);
}

bool queue_add(struct queue *q, struct queue_intake *in, struct err *e)
{
    struct attaching t = {.q = q, .in = in, .group = STR("")};
    struct arena a;
    bool ok;

    arena_init(&a, ATTACH_ARENA);
    t.arena = &a;
    t.rows = arena_zero(&a, in->n + 1, sizeof *t.rows);
    t.runbooks = arena_zero(&a, in->n + 1, sizeof *t.runbooks);
    t.fresh = arena_zero(&a, in->n + 1, sizeof *t.fresh);
    pthread_mutex_lock(&q->lock);
    t.now_us = queue_now_us(q);
    in->unknown_type = false;
    ok = q->stop ? err_set(e, ERR_SYSTEM, "the gateway is going down")
                 : alert_table_begin(q->o.alert_table, e);
    if (ok) {
        ok = attach_all(&t, e) && attach_room(&t, e) && attach_store(&t, e) &&
             attach_each_resolved(&t, attach_announce, e);
        ok = alert_table_end(q->o.alert_table, ok, e);
    }
    if (ok)
        attach_enter(&t);
    pthread_mutex_unlock(&q->lock);
    arena_release(&a);
    return ok;
}
