/* intake.c - POST /alerts: one alert, or what Alertmanager sends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/intake.h"

#include "apps/incidents/engine.h"
#include "apps/incidents/webhook.h"

#define RETRY_S 30
#define TYPES_SHOWN 900 /* bytes of known types in a message */

/* ---- refusals ---- */

static void names(struct json_out *o, const char *key, const char *const *list)
{
    json_out_key(o, str_c(key));
    json_out_array(o);
    for (; *list; list++)
        json_out_str(o, str_c(*list));
    json_out_end(o);
}

static void write_fault(struct json_out *o, const struct alert_fault *f)
{
    json_out_object(o);
    json_member_str(o, "field", f->field);
    json_member_str(o, "message", f->message);
    json_out_key(o, STR("invalid_value"));
    if (f->invalid.n)
        json_out_raw(o, f->invalid);
    else
        json_out_null(o);
    json_member_str(o, "expected_type", f->expected);
    json_out_end(o);
}

static void incident_intake_refuse(struct app_reply *r, const struct alert_faults *faults)
{
    struct json_out o;

    r->status = 422;
    buf_reset(&r->body);
    json_out_init(&o, &r->body);
    json_out_object(&o);
    json_member_object(&o, "detail");
    json_member_str(&o, "error", STR("validation_failed"));
    json_member_str(&o, "message", STR("the alert is not as it must be: see validation_errors"));
    json_member_array(&o, "validation_errors");
    for (size_t i = 0; i < faults->n; i++)
        write_fault(&o, &faults->at[i]);
    json_out_end(&o);
    names(&o, "required_fields", alert_required);
    names(&o, "optional_fields", alert_optional);
    json_out_end(&o);
    json_out_end(&o);
}

static void refuse_type(const struct incidents *in, str type, struct app_reply *r)
{
    struct buf known;

    buf_init(&known, TYPES_SHOWN);
    for (size_t i = 0; in->types[i]; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", in->types[i]);
    app_fail(r,
             400,
             "unknown_alert_type",
             "no agent takes alerts of the type \"" STR_FMT "\": known are " STR_FMT "%s",
             STR_ARG(str_slice(type, 0, 80)),
             STR_ARG(buf_str(&known)),
             buf_full(&known) ? " and more" : "");
    buf_release(&known);
}

static void refuse_room(const struct incidents *in, size_t n, const struct err *e,
                        struct app_reply *r)
{
    size_t places = (size_t)in->config->max_queue + in->config->max_concurrent;

    if (e->code != ERR_LIMIT) {
        app_fail(r, 503, "not_stored", "the alert could not be stored: %s", e->text);
        r->retry_after_s = RETRY_S;
    } else if (n > places) {
        app_fail(r,
                 413,
                 "too_many_alerts",
                 "%zu alerts at once will never fit: there are %zu places (max_queue_size and "
                 "max_concurrent_alerts)",
                 n,
                 places);
    } else {
        app_fail(r, 429, "queue_full", "%s", e->text);
        r->retry_after_s = RETRY_S;
    }
}

/* ---- runbooks ---- */

/* What is wrong with it is said now, not when the alert's turn has come. */
static bool runbook_ok(const struct incidents *in, const struct alert *alert, struct arena *a,
                       struct alert_faults *faults)
{
    struct runbook_source source = {.folder = in->config->runbooks.p,
                                    .name = alert->runbook,
                                    .domains = in->config->domains,
                                    .domain_count = in->config->domain_count};
    struct buf quoted;
    struct err e;

    if (runbook_check(&source, &e))
        return true;
    alert_fault(faults, a, STR("runbook"), "string", NULL, NULL, "%s", e.text);
    buf_init(&quoted, (size_t)64 << 10);
    (void)json_quote(&quoted, alert->runbook);
    faults->at[faults->n - 1].invalid = arena_dup(a, buf_str(&quoted));
    buf_release(&quoted);
    return false;
}

/* ---- answers ---- */

static str incident_intake_describe(struct arena *a, const struct queue_item *item)
{
    if (item->alert->resolved)
        return STR("resolved: there is nothing to look into");
    if (item->duplicate)
        return STR("the same alert is already being looked into");
    if (item->alert->cut)
        return arena_printf(a,
                            "queued; %u values were longer than is kept (texts %d characters, "
                            "lists %d elements)",
                            item->alert->cut,
                            ALERT_TEXT_MAX,
                            ALERT_LIST_MAX);
    return STR("queued");
}

static void write_item(struct json_out *o, struct arena *a, const struct queue_item *item)
{
    json_out_key(o, STR("alert_id"));
    if (item->skip)
        json_out_null(o);
    else
        json_out_str(o, str_c(item->id));
    json_out_key(o, STR("status"));
    json_out_str(o,
                 item->alert->resolved ? STR("resolved")
                 : item->duplicate     ? STR("duplicate")
                                       : STR("queued"));
    json_member_str(o, "message", incident_intake_describe(a, item));
}

static void answer_group(const struct app_request *q, const struct queue_item *items, size_t n,
                         struct app_reply *r)
{
    size_t counts[3] = {0};
    struct json_out o;

    json_out_init(&o, &r->body);
    json_out_object(&o);
    json_member_str(&o, "status", STR("accepted"));
    json_member_array(&o, "alerts");
    for (size_t i = 0; i < n; i++) {
        counts[items[i].alert->resolved ? 2 : items[i].duplicate ? 1 : 0]++;
        json_out_object(&o);
        write_item(&o, q->arena, &items[i]);
        json_member_str(&o, "alert_type", items[i].alert->alert_type);
        json_member_str(&o, "fingerprint", items[i].alert->fingerprint);
        json_out_end(&o);
    }
    json_out_end(&o);
    json_out_key(&o, STR("message"));
    json_out_str(
        &o,
        arena_printf(
            q->arena, "%zu queued, %zu duplicate, %zu resolved", counts[0], counts[1], counts[2]));
    json_out_end(&o);
    r->status = counts[0] ? 202 : 200;
}

static void incident_intake_answer_one(const struct app_request *q, const struct queue_item *item,
                                       struct app_reply *r)
{
    struct json_out o;

    json_out_init(&o, &r->body);
    json_out_object(&o);
    write_item(&o, q->arena, item);
    json_out_end(&o);
    r->status = item->duplicate ? 200 : 202;
}

/* ---- taking them in ---- */

static bool incident_intake_take(struct incidents *in, const struct app_request *q,
                                 struct queue_item *items, size_t n, struct app_reply *r)
{
    struct err e;

    if (queue_add(in->queue, q->key, items, n, &e))
        return true;
    refuse_room(in, n, &e, r);
    return false;
}

/* The group's alerts may be of types that nobody has thought of, and have runbooks out of reach:
 * they are looked into all the same. */
static void take_group(struct incidents *in, const struct app_request *q, const struct json *doc,
                       int64_t now_us, struct app_reply *r)
{
    struct alert_faults *faults = arena_zero(q->arena, 1, sizeof *faults);
    struct queue_item *items;
    struct alert *alerts;
    size_t n;

    if (!webhook_read(doc, now_us, q->arena, &alerts, &n, faults)) {
        incident_intake_refuse(r, faults);
        return;
    }
    items = arena_zero(q->arena, n + 1, sizeof *items);
    for (size_t i = 0; i < n; i++) {
        if (!incidents_knows(in, alerts[i].alert_type))
            alerts[i].alert_type = incidents_default_type(in);
        items[i] = (struct queue_item){.alert = &alerts[i], .skip = alerts[i].resolved};
    }
    if (incident_intake_take(in, q, items, n, r))
        answer_group(q, items, n, r);
}

static void take_one(struct incidents *in, const struct app_request *q, const struct json *doc,
                     int64_t now_us, struct app_reply *r)
{
    struct alert_faults *faults = arena_zero(q->arena, 1, sizeof *faults);
    struct alert alert;
    struct queue_item item = {.alert = &alert};

    if (!alert_read(doc, json_root(doc), now_us, q->arena, &alert, faults))
        incident_intake_refuse(r, faults);
    else if (!incidents_knows(in, alert.alert_type))
        refuse_type(in, alert.alert_type, r);
    else if (!runbook_ok(in, &alert, q->arena, faults))
        incident_intake_refuse(r, faults);
    else if (incident_intake_take(in, q, &item, 1, r))
        incident_intake_answer_one(q, &item, r);
}

void intake_alert(void *app, const struct app_request *q, struct app_reply *r)
{
    struct incidents *in = app;
    int64_t now_us = clock_wall_ms(in->host->clock) * 1000;
    struct json doc;

    if (q->body.n > APP_BODY_MAX) {
        app_fail(r, 413, "too_large", "an alert may have %zu bytes", (size_t)APP_BODY_MAX);
        return;
    }
    json_init(&doc);
    if (!app_json(q, &doc, r))
        ; /* answered */
    else if (doc.n > ALERT_NODES_MAX)
        app_fail(r, 413, "too_large", "an alert may have %u values", (unsigned)ALERT_NODES_MAX);
    else if (webhook_is(&doc))
        take_group(in, q, &doc, now_us, r);
    else
        take_one(in, q, &doc, now_us, r);
    json_release(&doc);
}
