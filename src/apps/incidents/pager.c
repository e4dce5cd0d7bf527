/* pager.c - webhooks of paging services, one incident or alert each: PagerDuty and Opsgenie.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/webhook_reader.h"

#define DATA_MAX ((size_t)64 << 20)
#define OPSGENIE_MS_MAX ((int64_t)CLOCK_WALL_MS_MAX)

enum pager_means { PAGER_FIRES, PAGER_FIRES_AGAIN, PAGER_ENDS };

struct pager_word {
    const char *word;
    enum pager_means means;
};

/* Meaning of each event; an event outside the list does not change whether an alert fires. */
static bool pager_meaning(const struct pager_word *words, str word, enum pager_means *out)
{
    for (; words->word; words++)
        if (str_eq(word, str_c(words->word))) {
            *out = words->means;
            return true;
        }
    return false;
}

/* The event's own word; "" after a fault. */
static str pager_word_at(const struct webhook_reader *r, const struct json_node *map,
                         const char *name, const char *field)
{
    const struct json_node *v = json_find(r->doc, map, str_c(name));
    str word = webhook_id(r, map, name, field);

    if (!word.n && (!v || v->kind == JSON_NULL || v->kind == JSON_STRING))
        alert_fault(r->faults, str_c(field), "string", v, "is required");
    return word;
}

static void pager_set_data(struct webhook_reader *r, const struct json_node *v, struct alert *out)
{
    struct json_text data;

    json_text_begin(&data, DATA_MAX);
    webhook_add_members(r, v, &data.o, out);
    out->data = json_text_end(&data, r->arena, STR("{}"));
}

/* The only alert of the body. A resolved one ends whichever firing is known. */
static struct alert *pager_alert(struct webhook_reader *r, const struct json_node *v,
                                 const char *id, const char *field, enum pager_means means)
{
    struct alert *out = arena_zero(r->arena, 1, sizeof *out);

    assert(!r->out->n && means <= PAGER_ENDS);
    *out = (struct alert){.timestamp_us = r->now_us,
                          .alert_type = STR(""),
                          .severity = STR("warning"),
                          .environment = STR("production"),
                          .runbook = STR(""),
                          .resolved = means == PAGER_ENDS};
    out->fingerprint = pager_word_at(r, v, id, field);
    pager_set_data(r, v, out);
    r->out->alerts = out;
    r->out->n = 1;
    return out;
}

static void pager_set_types(struct alert *out, const str *types, size_t n)
{
    size_t count = 0;

    assert(!out->alert_type.n && !out->other_types[0].n);
    for (size_t i = 0; i < n; i++) {
        if (!types[i].n)
            continue;
        if (!out->alert_type.n)
            out->alert_type = types[i];
        else if (count < ALERT_TYPES_MAX)
            out->other_types[count++] = types[i];
    }
}

/* ---- PagerDuty ---- */

static const struct pager_word pagerduty_events[] = {
    {"incident.triggered", PAGER_FIRES},
    {"incident.reopened", PAGER_FIRES_AGAIN},
    {"incident.resolved", PAGER_ENDS},
    {NULL, 0},
};

void webhook_read_pagerduty(struct webhook_reader *r)
{
    const struct json_node *event = json_find(r->doc, r->root, STR("event")), *v;
    str type = pager_word_at(r, event, "event_type", "event.event_type"), urgency, priority;
    enum pager_means means;
    struct alert *out;
    int64_t occurred_us;

    assert(event && event->kind == JSON_OBJECT); /* the sender is known by it */
    if (!type.n)
        return;
    if (!pager_meaning(pagerduty_events, type, &means)) {
        r->out->ignored = type;
        return;
    }
    v = webhook_object(r, event, "data", "event.data");
    if (!v)
        return;
    out = pager_alert(r, v, "id", "event.data.id", means);
    urgency = webhook_text(r, v, "urgency");
    priority = webhook_text(r, json_find(r->doc, v, STR("priority")), "summary");
    if (priority.n || urgency.n)
        out->severity = priority.n ? priority : urgency;
    pager_set_types(out,
                    (str[]){webhook_text(r, json_find(r->doc, v, STR("service")), "summary"),
                            webhook_text(r, v, "title")},
                    2);
    occurred_us = webhook_time(r, event, "occurred_at", "event.occurred_at");
    if (means == PAGER_ENDS)
        out->ends_us = occurred_us;
    webhook_set_start(r,
                      out,
                      means == PAGER_FIRES
                          ? webhook_time(r, v, "created_at", "event.data.created_at")
                          : occurred_us);
}

/* ---- Opsgenie ---- */

static const struct pager_word opsgenie_actions[] = {
    {"Create", PAGER_FIRES},
    {"Close", PAGER_ENDS},
    {"Delete", PAGER_ENDS},
    {NULL, 0},
};

/* Milliseconds since 1970. */
static int64_t webhook_opsgenie_time(const struct webhook_reader *r, const struct json_node *alert)
{
    const struct json_node *v = json_find(r->doc, alert, STR("createdAt"));
    int64_t ms = 0;

    if (!v || v->kind == JSON_NULL ||
        (json_i64(r->doc, v, &ms) && ms >= 0 && ms <= OPSGENIE_MS_MAX))
        return ms * 1000;
    alert_fault(r->faults, STR("alert.createdAt"), "integer", v, "must be milliseconds since 1970");
    return 0;
}

void webhook_read_opsgenie(struct webhook_reader *r)
{
    static const char *const runbooks[] = {"runbook_url", "runbook", NULL};
    static const char *const environments[] = {"environment", "env", NULL};
    const struct json_node *v = json_find(r->doc, r->root, STR("alert")), *details;
    str action = pager_word_at(r, r->root, "action", "action"), priority;
    enum pager_means means;
    struct alert *out;

    assert(v && v->kind == JSON_OBJECT); /* the sender is known by it */
    if (!action.n)
        return;
    if (!pager_meaning(opsgenie_actions, action, &means)) {
        r->out->ignored = action;
        return;
    }
    out = pager_alert(r, v, "alertId", "alert.alertId", means);
    details = json_find(r->doc, v, STR("details"));
    priority = webhook_text(r, v, "priority");
    if (priority.n)
        out->severity = priority;
    out->environment = webhook_text_of(r, details, environments, "production");
    out->runbook = webhook_text_of(r, details, runbooks, "");
    pager_set_types(out,
                    (str[]){webhook_text(r, details, "alert_type"),
                            webhook_text(r, details, "alertname"),
                            webhook_text(r, v, "message"),
                            webhook_text(r, v, "entity")},
                    4);
    webhook_set_start(r, out, webhook_opsgenie_time(r, v));
}
