/* webhook.c - see webhook.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/webhook.h"

#define DATA_MAX ((size_t)64 << 20)
#define VERSION "4"

bool webhook_is(const struct json *doc)
{
    const struct json_node *root = json_root(doc);

    return root && root->kind == JSON_OBJECT && !json_find(doc, root, STR("alert_type")) &&
           json_find(doc, root, STR("alerts"));
}

struct group {
    const struct json *doc;
    const struct json_node *root;
    struct arena *arena;
    struct alert_faults *faults;
    int64_t now_us;
};

static str incident_webhook_label(const struct group *g, const struct json_node *map,
                                  const char *name)
{
    str text;

    if (!json_text(g->doc, json_find(g->doc, map, str_c(name)), g->arena, &text))
        return STR("");
    return alert_text(g->arena, text, ALERT_RUNBOOK_MAX);
}

static str incident_webhook_first_of(const struct group *g, const struct json_node *map,
                                     const char *const *names, const char *otherwise)
{
    for (; *names; names++) {
        str found = incident_webhook_label(g, map, *names);

        if (found.n)
            return found;
    }
    return str_c(otherwise);
}

/* All of the alert, and of its group what helps to find it again. */
static void incident_webhook_read_data(const struct group *g, const struct json_node *v,
                                       struct alert *out)
{
    static const char *const of_group[] = {"groupKey", "groupLabels", "receiver", "externalURL"};
    struct buf data, part;
    struct json_out o;

    buf_init(&data, DATA_MAX);
    buf_init(&part, DATA_MAX);
    json_out_init(&o, &data);
    json_out_object(&o);
    for (const struct json_node *k = json_first(g->doc, v); k; k = json_next(g->doc, v, k)) {
        str key = STR("");

        if (!json_text(g->doc, k, g->arena, &key))
            continue;
        buf_reset(&part);
        out->cut += alert_clean(g->doc, json_value(k), g->arena, &part);
        json_out_key(&o, key);
        json_out_raw(&o, buf_str(&part));
    }
    for (size_t i = 0; i < COUNT_OF(of_group); i++) {
        const struct json_node *m = json_find(g->doc, g->root, str_c(of_group[i]));

        if (!m || json_find(g->doc, v, str_c(of_group[i])))
            continue;
        buf_reset(&part);
        out->cut += alert_clean(g->doc, m, g->arena, &part);
        json_out_key(&o, str_c(of_group[i]));
        json_out_raw(&o, buf_str(&part));
    }
    json_out_end(&o);
    out->data = arena_dup(g->arena, buf_str(&data));
    buf_release(&part);
    buf_release(&data);
}

static bool incident_webhook_read_status(const struct group *g, const struct json_node *v, size_t i,
                                         bool *resolved)
{
    const struct json_node *status = json_find(g->doc, v, STR("status"));

    if (!status)
        status = json_find(g->doc, g->root, STR("status"));
    *resolved = json_is(g->doc, status, STR("resolved"));
    if (!status || *resolved || json_is(g->doc, status, STR("firing")))
        return true;
    alert_fault(g->faults,
                g->arena,
                arena_printf(g->arena, "alerts[%zu].status", i),
                "string",
                g->doc,
                status,
                "must be firing or resolved");
    return false;
}

/* The labels it was found by are what makes it the same as another. */
static void tell_apart(const struct group *g, const struct json_node *labels, struct alert *out)
{
    struct buf identity;

    buf_init(&identity, DATA_MAX);
    buf_add(&identity, STR("{\"alertmanager\":"));
    (void)alert_clean(g->doc, labels, g->arena, &identity);
    buf_add_c(&identity, '}');
    alert_digest(out, buf_str(&identity));
    buf_release(&identity);
}

static bool incident_webhook_read_one(const struct group *g, const struct json_node *v, size_t i,
                                      struct alert *out)
{
    static const char *const types[] = {"alert_type", "alertname", NULL};
    static const char *const runbooks[] = {"runbook_url", "runbook", NULL};
    static const char *const environments[] = {"environment", "env", NULL};
    static const char *const severities[] = {"severity", NULL};
    const struct json_node *labels = json_find(g->doc, v, STR("labels"));
    const struct json_node *annotations = json_find(g->doc, v, STR("annotations"));
    int64_t ms;

    *out = (struct alert){.timestamp_us = g->now_us};
    if (v->kind != JSON_OBJECT || !labels || labels->kind != JSON_OBJECT) {
        alert_fault(g->faults,
                    g->arena,
                    arena_printf(
                        g->arena, v->kind == JSON_OBJECT ? "alerts[%zu].labels" : "alerts[%zu]", i),
                    "object",
                    g->doc,
                    v->kind == JSON_OBJECT ? labels : v,
                    labels ? "must be an object" : "is required: an object of labels");
        return false;
    }
    if (!incident_webhook_read_status(g, v, i, &out->resolved))
        return false;
    out->alert_type = incident_webhook_first_of(g, labels, types, "");
    out->severity = incident_webhook_first_of(g, labels, severities, "warning");
    out->environment = incident_webhook_first_of(g, labels, environments, "production");
    out->runbook = incident_webhook_first_of(g, annotations, runbooks, "");
    out->fingerprint = incident_webhook_label(g, v, "fingerprint");
    if (clock_parse(incident_webhook_label(g, v, "startsAt"), &ms) && ms > 0)
        out->timestamp_us = ms * 1000;
    incident_webhook_read_data(g, v, out);
    tell_apart(g, labels, out);
    return true;
}

static bool version_ok(const struct group *g)
{
    const struct json_node *version = json_find(g->doc, g->root, STR("version"));

    if (!version || json_is(g->doc, version, STR(VERSION)))
        return true;
    alert_fault(g->faults,
                g->arena,
                STR("version"),
                "string",
                g->doc,
                version,
                "must be \"" VERSION
                "\", the version of Alertmanager's webhook that is known here");
    return false;
}

bool webhook_read(const struct json *doc, int64_t now_us, struct arena *a, struct alert **out,
                  size_t *n, struct alert_faults *faults)
{
    struct group g = {doc, json_root(doc), a, faults, now_us};
    const struct json_node *list = json_find(doc, g.root, STR("alerts"));
    size_t count = json_count(doc, list), before = faults->n, i = 0;

    if (!version_ok(&g))
        return false;
    if (list->kind != JSON_ARRAY || count > WEBHOOK_ALERTS_MAX) {
        alert_fault(faults,
                    a,
                    STR("alerts"),
                    "list",
                    doc,
                    list,
                    list->kind == JSON_ARRAY ? "may have %d alerts" : "must be a list of alerts",
                    WEBHOOK_ALERTS_MAX);
        return false;
    }
    *out = arena_zero(a, count + 1, sizeof **out);
    for (const struct json_node *v = json_first(doc, list); v; v = json_next(doc, list, v), i++)
        (void)!incident_webhook_read_one(&g, v, i, &(*out)[i]);
    *n = i;
    return faults->n == before;
}
