/* intake.c - POST /alerts: one alert, or a webhook of a monitoring system.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/intake.h"

#include "apps/incidents/engine.h"
#include "apps/incidents/metrics.h"
#include "apps/incidents/signature.h"
#include "apps/incidents/webhook.h"

#define RETRY_S 30
#define TYPES_SHOWN 900 /* bytes of known types in a message */

/* One request. */
struct intake {
    struct incidents *in;
    const struct app_request *q;
    struct app_reply *r;
    const char *refused; /* the code of the answer's error; NULL: none */
};

/* ---- refusals ---- */

static void incident_intake_write_names(struct json_out *o, const char *key,
                                        const char *const *list)
{
    json_member_array(o, key);
    for (; *list; list++)
        json_out_str(o, str_c(*list));
    json_out_end(o);
}

static void incident_write_fault(struct json_out *o, const struct alert_fault *f)
{
    json_out_object(o);
    json_member_str(o, "field", f->field);
    json_member_str(o, "message", f->message);
    json_member_raw(o, "invalid_value", f->invalid.n ? f->invalid : STR("null"));
    json_member_str(o, "expected_type", f->expected);
    json_out_end(o);
}

static void incident_intake_refuse(struct intake *t, const struct alert_faults *faults)
{
    struct json_out o;

    assert(faults->n > 0 && faults->n <= ALERT_FAULTS_MAX);
    t->refused = "validation_failed";
    app_fail_begin(
        t->r, &o, 422, t->refused, STR("the alert is not as it must be: see validation_errors"));
    json_member_array(&o, "validation_errors");
    for (size_t i = 0; i < faults->n; i++)
        incident_write_fault(&o, &faults->at[i]);
    json_out_end(&o);
    incident_intake_write_names(&o, "required_fields", alert_required);
    incident_intake_write_names(&o, "optional_fields", alert_optional);
    json_out_close(&o, 2);
}

static void incident_refuse_type(struct intake *t, str type)
{
    const char *const *types = t->in->types;
    struct buf known;

    t->refused = "unknown_alert_type";
    buf_init(&known, TYPES_SHOWN);
    for (size_t i = 0; types[i]; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", types[i]);
    app_fail(t->r,
             400,
             t->refused,
             "no agent takes alerts of the type \"" STR_FMT "\": known are " STR_FMT "%s. Others "
             "are taken if incidents.default_alert_type names one of these",
             STR_ARG(str_slice(type, 0, 80)),
             STR_ARG(buf_str(&known)),
             buf_full(&known) ? " and more" : "");
    buf_release(&known);
}

/* Alertmanager sends a notification again after a 5xx only. */
static void incident_refuse_room(struct intake *t, size_t n, const struct err *e)
{
    size_t places = (size_t)t->in->config->max_queue + t->in->config->max_concurrent;

    if (e->code == ERR_LIMIT && n > places) {
        t->refused = "too_many_alerts";
        app_fail(t->r,
                 413,
                 t->refused,
                 "%zu alerts at once will never fit: there are %zu places (max_queue_size and "
                 "max_concurrent_alerts)",
                 n,
                 places);
        return;
    }
    t->refused = e->code == ERR_LIMIT ? "queue_full" : "not_stored";
    app_fail(t->r,
             503,
             t->refused,
             "%s%s",
             e->code == ERR_LIMIT ? "" : "the alert could not be stored: ",
             e->text);
    t->r->retry_after_s = RETRY_S;
}

/* ---- runbooks ---- */

/* Reports errors now, not when a worker claims the alert. */
static bool incident_runbook_ok(const struct incidents *in, const struct alert *alert,
                                struct arena *a, struct alert_faults *faults)
{
    struct runbook_source source = {.folder = in->config->runbooks.p,
                                    .name = alert->runbook,
                                    .domains = in->config->domains,
                                    .domain_count = in->config->domain_count};
    struct buf quoted;
    struct err e;

    if (runbook_check(&source, &e))
        return true;
    alert_fault(faults, STR("runbook"), "string", NULL, "%s", e.text);
    assert(faults->n > 0);
    buf_init(&quoted, (size_t)64 << 10);
    (void)json_quote(&quoted, queue_masked(in->queue, a, alert->runbook));
    faults->at[faults->n - 1].invalid = arena_move_buf(a, &quoted);
    return false;
}

/* ---- answers ---- */

static str incident_intake_describe(struct arena *a, const struct queue_item *item)
{
    const struct alert *alert = item->alert;

    assert(item->id[0] || item->result == QUEUE_RESOLVED);
    if (item->result == QUEUE_RESOLVED)
        return item->id[0] ? STR("resolved: the alert of this incident has ended")
                           : STR("resolved: there is nothing to look into");
    if (item->result == QUEUE_ATTACHED)
        return alert->fingerprint.n ? STR("attached to the incident")
                                    : STR("the same alert is already being looked into");
    if (alert->cut)
        return arena_printf(a,
                            "queued; %u value%s longer than is kept (texts %d characters, "
                            "lists %d elements)",
                            alert->cut,
                            alert->cut == 1 ? " was" : "s were",
                            ALERT_TEXT_MAX,
                            ALERT_LIST_MAX);
    if (item->type.n && !str_eq(item->type, alert->alert_type))
        return arena_printf(a,
                            "queued as " STR_FMT ": no agent takes alerts of the type \"" STR_FMT
                            "\"",
                            STR_ARG(item->type),
                            STR_ARG(str_slice(alert->alert_type, 0, 80)));
    return STR("queued");
}

static void incident_write_item(struct json_out *o, struct arena *a, const struct queue_item *item)
{
    json_member_str_or_null(o, "alert_id", str_c(item->id));
    json_member_str(o,
                    "status",
                    item->result == QUEUE_ATTACHED && !item->alert->fingerprint.n
                        ? STR("duplicate")
                        : str_c(NAME_OF(item->result, "queued", "attached", "resolved")));
    json_member_str(o, "message", incident_intake_describe(a, item));
}

static void incident_answer_webhook(struct intake *t, const struct queue_intake *in)
{
    size_t counts[QUEUE_RESOLVED + 1] = {0};
    struct json_out o;

    json_out_init_object(&o, &t->r->body);
    json_member_str(&o, "status", STR("accepted"));
    json_member_str(&o, "source", str_c(alert_source_name(in->source)));
    json_member_array(&o, "alerts");
    for (size_t i = 0; i < in->n; i++) {
        const struct queue_item *item = &in->items[i];

        counts[item->result]++;
        json_out_object(&o);
        incident_write_item(&o, t->q->arena, item);
        json_member_str(&o, "alert_type", item->type.n ? item->type : item->alert->alert_type);
        json_member_str(&o, "fingerprint", item->alert->fingerprint);
        json_out_end(&o);
    }
    json_out_end(&o);
    json_member_str(&o,
                    "message",
                    arena_printf(t->q->arena,
                                 "%zu queued, %zu attached, %zu resolved",
                                 counts[QUEUE_QUEUED],
                                 counts[QUEUE_ATTACHED],
                                 counts[QUEUE_RESOLVED]));
    json_out_end(&o);
    t->r->status = counts[QUEUE_QUEUED] ? 202 : 200;
}

/* An acknowledgement, a note, a test of the connection: nothing changes. */
static void incident_answer_ignored(struct intake *t, const struct webhook *hook)
{
    struct json_out o;

    json_out_init_object(&o, &t->r->body);
    json_member_str(&o, "status", STR("ignored"));
    json_member_str(&o, "source", str_c(alert_source_name(hook->source)));
    json_member_array(&o, "alerts");
    json_out_end(&o);
    json_member_str(
        &o,
        "message",
        arena_join(t->q->arena, hook->ignored, STR(": no alert begins or ends"), STR("")));
    json_out_end(&o);
}

static void incident_intake_answer_one(struct intake *t, const struct queue_item *item)
{
    struct json_out o;

    json_out_init_object(&o, &t->r->body);
    incident_write_item(&o, t->q->arena, item);
    json_out_end(&o);
    t->r->status = item->result == QUEUE_QUEUED ? 202 : 200;
}

/* ---- taking them in ---- */

/* The first of its types that an agent takes, else the configured default; "" if neither exists. */
static str incident_intake_type(const struct incidents *in, const struct alert *alert)
{
    if (incidents_knows(in, alert->alert_type))
        return alert->alert_type;
    for (size_t i = 0; i < ALERT_TYPES_MAX; i++)
        if (incidents_knows(in, alert->other_types[i]))
            return alert->other_types[i];
    return incidents_knows(in, in->config->default_type) ? in->config->default_type : STR("");
}

/* The type of the first alert that no agent takes. */
static str incident_intake_unknown_type(const struct queue_intake *in)
{
    assert(in->n > 0);
    for (size_t i = 0; i < in->n; i++)
        if (!in->items[i].type.n && !in->items[i].alert->resolved)
            return in->items[i].alert->alert_type;
    return in->items[0].alert->alert_type;
}

static bool incident_intake_take(struct intake *t, struct queue_intake *in)
{
    struct err e;

    assert(!t->refused);
    if (queue_add(t->in->queue, in, &e)) {
        incident_metrics_alerts(t->in->metrics, in);
        return true;
    }
    if (in->unknown_type)
        incident_refuse_type(t, incident_intake_unknown_type(in));
    else
        incident_refuse_room(t, in->incidents, &e);
    return false;
}

/* The runbooks of a webhook are not checked: an alert is investigated without one, too. */
static void incident_take_webhook(struct intake *t, const struct json *doc, int64_t now_us)
{
    struct alert_faults *faults = arena_zero(t->q->arena, 1, sizeof *faults);
    struct queue_intake in = {.key = t->q->key};
    struct webhook hook;

    if (!webhook_read(doc, now_us, t->q->arena, &hook, faults)) {
        incident_intake_refuse(t, faults);
        return;
    }
    if (hook.ignored.n) {
        incident_answer_ignored(t, &hook);
        return;
    }
    in.source = hook.source;
    in.group = t->in->config->group_alerts ? str_c(hook.group) : STR("");
    in.n = hook.n;
    in.items = arena_zero(t->q->arena, hook.n + 1, sizeof *in.items);
    for (size_t i = 0; i < hook.n; i++)
        in.items[i] = (struct queue_item){.alert = &hook.alerts[i],
                                          .type = incident_intake_type(t->in, &hook.alerts[i])};
    if (incident_intake_take(t, &in))
        incident_answer_webhook(t, &in);
}

static void incident_take_one(struct intake *t, const struct json *doc, int64_t now_us)
{
    struct alert_faults *faults = arena_zero(t->q->arena, 1, sizeof *faults);
    struct alert alert;
    struct queue_item item = {.alert = &alert};
    struct queue_intake in = {.key = t->q->key, .group = STR(""), .items = &item, .n = 1};

    if (!alert_read(doc, json_root(doc), now_us, t->q->arena, &alert, faults)) {
        incident_intake_refuse(t, faults);
        return;
    }
    item.type = incident_intake_type(t->in, &alert);
    if (!item.type.n)
        incident_refuse_type(t, alert.alert_type);
    else if (!incident_runbook_ok(t->in, &alert, t->q->arena, faults))
        incident_intake_refuse(t, faults);
    else if (incident_intake_take(t, &in))
        incident_intake_answer_one(t, &item);
}

static void intake_take_body(struct intake *t, const struct json *doc)
{
    int64_t now_us = clock_wall_ms(t->in->host->clock) * 1000;
    enum alert_source source = webhook_source(doc);
    struct err e;

    if (!signature_check(t->in->config, source, t->q->signature, t->q->body, &e)) {
        t->refused = "bad_signature";
        app_fail(t->r, 401, t->refused, "%s", e.text);
    } else if (source) {
        incident_take_webhook(t, doc, now_us);
    } else {
        incident_take_one(t, doc, now_us);
    }
}

void intake_alert(void *app, const struct app_request *q, struct app_reply *r)
{
    struct intake t = {.in = app, .q = q, .r = r};
    struct json doc;

    json_init(&doc);
    if (q->body.n > APP_BODY_MAX) {
        t.refused = "too_large";
        app_fail(r, 413, t.refused, "an alert may have %zu bytes", (size_t)APP_BODY_MAX);
    } else if (!app_json(q, &doc, r)) {
        t.refused = "invalid_json"; /* answered already */
    } else if (doc.n > ALERT_NODES_MAX) {
        t.refused = "too_large";
        app_fail(r, 413, t.refused, "an alert may have %u values", (unsigned)ALERT_NODES_MAX);
    } else {
        intake_take_body(&t, &doc);
    }
    if (t.refused)
        incident_metrics_refused(t.in->metrics, t.refused);
    json_release(&doc);
}
