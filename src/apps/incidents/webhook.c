/* webhook.c - see webhook.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/webhook_reader.h"

#include "base/utf8.h"

#define DATA_MAX ((size_t)64 << 20)
#define AHEAD_MAX_US ((int64_t)24 * 3600 * 1000000) /* of a sender whose clock is wrong */
#define GROUP_COPIES_MAX ((size_t)16 << 20) /* bytes of one member of a group in all its alerts */

/* ---- shared by the readers ---- */

str webhook_text(const struct webhook_reader *r, const struct json_node *map, const char *name)
{
    str text;

    if (!json_text(r->doc, json_find(r->doc, map, str_c(name)), r->arena, &text))
        return STR("");
    return alert_text(r->arena, text, ALERT_RUNBOOK_MAX);
}

str webhook_text_of(const struct webhook_reader *r, const struct json_node *map,
                    const char *const *names, const char *otherwise)
{
    for (; *names; names++) {
        str found = webhook_text(r, map, *names);

        if (found.n)
            return found;
    }
    return str_c(otherwise);
}

int64_t webhook_time(const struct webhook_reader *r, const struct json_node *map, const char *name,
                     const char *field)
{
    const struct json_node *v = json_find(r->doc, map, str_c(name));
    int64_t ms;
    str text;

    if (!v || v->kind == JSON_NULL)
        return 0;
    if (json_text(r->doc, v, r->arena, &text)) {
        if (!text.n || str_starts(text, STR("0001-01-01")))
            return 0;
        if (clock_parse(text, &ms) && ms > 0)
            return ms * 1000;
    }
    alert_fault(r->faults,
                str_c(field),
                "string",
                v,
                "must be a date-time of RFC 3339, such as 2026-05-01T10:00:00Z");
    return 0;
}

void webhook_set_start(const struct webhook_reader *r, struct alert *out, int64_t us)
{
    assert(us >= 0 && out->timestamp_us == r->now_us);
    if (r->now_us && us > r->now_us + AHEAD_MAX_US)
        us = 0;
    if (us)
        out->timestamp_us = us;
    if (!out->resolved)
        out->starts_us = us;
}

str webhook_id(const struct webhook_reader *r, const struct json_node *map, const char *name,
               const char *field)
{
    const struct json_node *v = json_find(r->doc, map, str_c(name));
    str text = STR("");

    if (!v || v->kind == JSON_NULL)
        return text;
    if (!json_text(r->doc, v, r->arena, &text) || utf8_count(text) > ALERT_NAME_MAX)
        alert_fault(r->faults,
                    str_c(field),
                    "string",
                    v,
                    "must be a string of at most %d characters",
                    ALERT_NAME_MAX);
    return alert_text(r->arena, text, ALERT_NAME_MAX);
}

const struct json_node *webhook_object(const struct webhook_reader *r, const struct json_node *map,
                                       const char *name, const char *field)
{
    const struct json_node *v = json_find(r->doc, map, str_c(name));

    if (v && v->kind == JSON_OBJECT)
        return v;
    alert_fault(
        r->faults, str_c(field), "object", v, v ? "must be an object" : "is required: an object");
    return NULL;
}

void webhook_add_members(const struct webhook_reader *r, const struct json_node *v,
                         struct json_out *o, struct alert *out)
{
    struct buf part;

    buf_init(&part, DATA_MAX);
    JSON_FOREACH(k, r->doc, v) {
        str key = STR("");

        if (!json_text(r->doc, k, r->arena, &key))
            continue;
        buf_reset(&part);
        out->cut += alert_clean(r->doc, json_value(k), r->arena, &part);
        json_out_key(o, alert_text(r->arena, key, ALERT_TEXT_MAX));
        json_out_raw(o, buf_str(&part));
    }
    buf_release(&part);
}

/* ---- Alertmanager and Grafana ---- */

/* Members of a group that help to find its alerts again. */
static const char *const of_group[WEBHOOK_GROUP_MEMBERS] = {
    "groupKey", "groupLabels", "receiver", "externalURL"};

/* Reads the group once: a body has many alerts, and its members may be many and large. */
static void incident_webhook_read_shared(struct webhook_reader *r, size_t alerts)
{
    struct buf part;

    assert(alerts <= WEBHOOK_ALERTS_MAX);
    buf_init(&part, DATA_MAX);
    r->status = json_find(r->doc, r->root, STR("status"));
    for (size_t i = 0; i < COUNT_OF(of_group); i++) {
        const struct json_node *m = json_find(r->doc, r->root, str_c(of_group[i]));
        struct webhook_group_member *g = &r->group[i];

        *g = (struct webhook_group_member){.value = STR("")};
        if (!m)
            continue;
        buf_reset(&part);
        g->cut = alert_clean(r->doc, m, r->arena, &part);
        if (part.n * alerts <= GROUP_COPIES_MAX)
            g->value = arena_dup(r->arena, buf_str(&part));
        else
            g->cut = 1;
    }
    buf_release(&part);
}

/* All of the alert, and the members of its group. */
static void incident_webhook_read_data(const struct webhook_reader *r, const struct json_node *v,
                                       struct alert *out)
{
    struct json_text data;

    json_text_begin(&data, DATA_MAX);
    webhook_add_members(r, v, &data.o, out);
    for (size_t i = 0; i < COUNT_OF(of_group); i++) {
        if (json_find(r->doc, v, str_c(of_group[i])))
            continue;
        out->cut += r->group[i].cut;
        if (r->group[i].value.n)
            json_member_raw(&data.o, of_group[i], r->group[i].value);
    }
    out->data = json_text_end(&data, r->arena, STR("{}"));
}

static bool incident_webhook_read_status(const struct webhook_reader *r, const struct json_node *v,
                                         size_t i, bool *resolved)
{
    const struct json_node *status = json_find(r->doc, v, STR("status"));

    if (!status)
        status = r->status;
    *resolved = json_is(r->doc, status, STR("resolved"));
    if (!status || *resolved || json_is(r->doc, status, STR("firing")))
        return true;
    alert_fault(r->faults,
                arena_printf(r->arena, "alerts[%zu].status", i),
                "string",
                status,
                "must be \"firing\" or \"resolved\"");
    return false;
}

/* A sender without fingerprints is known by the labels: annotations contain readings. */
static str webhook_fingerprint_of(const struct webhook_reader *r, const struct json_node *v,
                                  const struct json_node *labels, size_t i)
{
    str given =
        webhook_id(r, v, "fingerprint", arena_printf(r->arena, "alerts[%zu].fingerprint", i).p);
    struct alert by_labels = {0};
    struct buf identity;

    if (given.n)
        return given;
    buf_init(&identity, DATA_MAX);
    (void)alert_clean(r->doc, labels, r->arena, &identity);
    alert_digest(&by_labels, buf_str(&identity));
    buf_release(&identity);
    return arena_dup(r->arena, str_c(by_labels.digest));
}

static void incident_webhook_read_one(const struct webhook_reader *r, const struct json_node *v,
                                      size_t i, struct alert *out)
{
    static const char *const types[] = {"alert_type", "alertname", NULL};
    static const char *const runbooks[] = {"runbook_url", "runbook", NULL};
    static const char *const environments[] = {"environment", "env", NULL};
    static const char *const severities[] = {"severity", NULL};
    const struct json_node *labels = json_find(r->doc, v, STR("labels"));
    const struct json_node *annotations = json_find(r->doc, v, STR("annotations"));

    *out = (struct alert){.timestamp_us = r->now_us};
    if (v->kind != JSON_OBJECT || !labels || labels->kind != JSON_OBJECT) {
        alert_fault(r->faults,
                    arena_printf(
                        r->arena, v->kind == JSON_OBJECT ? "alerts[%zu].labels" : "alerts[%zu]", i),
                    "object",
                    v->kind == JSON_OBJECT ? labels : v,
                    labels ? "must be an object" : "is required: an object of labels");
        return;
    }
    if (!incident_webhook_read_status(r, v, i, &out->resolved))
        return;
    out->alert_type = webhook_text_of(r, labels, types, "");
    out->other_types[0] = webhook_text(r, labels, "rulename"); /* of Grafana's DatasourceError */
    out->severity = webhook_text_of(r, labels, severities, "warning");
    out->environment = webhook_text_of(r, labels, environments, "production");
    out->runbook = webhook_text_of(r, annotations, runbooks, "");
    out->fingerprint = webhook_fingerprint_of(r, v, labels, i);
    webhook_set_start(
        r,
        out,
        webhook_time(r, v, "startsAt", arena_printf(r->arena, "alerts[%zu].startsAt", i).p));
    if (out->resolved)
        out->ends_us =
            webhook_time(r, v, "endsAt", arena_printf(r->arena, "alerts[%zu].endsAt", i).p);
    incident_webhook_read_data(r, v, out);
}

static bool webhook_version_ok(const struct webhook_reader *r)
{
    const struct json_node *version = json_find(r->doc, r->root, STR("version"));
    const char *known = r->out->source == ALERT_GRAFANA ? "1" : "4";

    assert(r->out->source == ALERT_GRAFANA || r->out->source == ALERT_ALERTMANAGER);
    if (!version || json_is(r->doc, version, str_c(known)))
        return true;
    alert_fault(r->faults,
                STR("version"),
                "string",
                version,
                "must be \"%s\", the version of %s webhook that is known here",
                known,
                r->out->source == ALERT_GRAFANA ? "Grafana's" : "Alertmanager's");
    return false;
}

/* Index keys are short, a group's key may be long. */
static void incident_webhook_read_group(const struct webhook_reader *r)
{
    uint8_t digest[SHA256_SIZE];
    str key;

    assert(!r->out->group[0]);
    if (!json_text(r->doc, json_find(r->doc, r->root, STR("groupKey")), r->arena, &key) || !key.n)
        return;
    sha256_of(key, digest);
    (void)sha256_hex(digest, r->out->group);
}

static void incident_webhook_read_alerts(struct webhook_reader *r)
{
    const struct json_node *list = json_find(r->doc, r->root, STR("alerts"));
    size_t count = json_count(r->doc, list), i = 0;

    assert(list && !r->out->n); /* the sender is known by its list */
    if (!webhook_version_ok(r))
        return;
    if (list->kind != JSON_ARRAY) {
        alert_fault(r->faults, STR("alerts"), "list", list, "must be a list of alerts");
        return;
    }
    if (count > WEBHOOK_ALERTS_MAX) {
        alert_fault(r->faults,
                    STR("alerts"),
                    "list",
                    list,
                    "may have %d alerts, and has %zu: set max_alerts of the sender's webhook",
                    WEBHOOK_ALERTS_MAX,
                    count);
        return;
    }
    incident_webhook_read_group(r);
    incident_webhook_read_shared(r, count);
    r->out->alerts = arena_zero(r->arena, count + 1, sizeof *r->out->alerts);
    JSON_FOREACH(v, r->doc, list)
        incident_webhook_read_one(r, v, i, &r->out->alerts[i]), i++;
    assert(i == count);
    r->out->n = i;
}

/* ---- the senders ---- */

static bool webhook_has_alerts(const struct json *doc, const struct json_node *root)
{
    return json_find(doc, root, STR("alerts")) != NULL;
}

static bool webhook_is_grafana(const struct json *doc, const struct json_node *root)
{
    return webhook_has_alerts(doc, root) && json_find(doc, root, STR("orgId"));
}

static bool webhook_is_pagerduty(const struct json *doc, const struct json_node *root)
{
    const struct json_node *event = json_find(doc, root, STR("event"));

    return event && event->kind == JSON_OBJECT;
}

static bool webhook_is_opsgenie(const struct json *doc, const struct json_node *root)
{
    const struct json_node *alert = json_find(doc, root, STR("alert"));

    return alert && alert->kind == JSON_OBJECT && json_find(doc, root, STR("action"));
}

static const struct {
    enum alert_source source;
    bool (*is)(const struct json *doc, const struct json_node *root);
    void (*read)(struct webhook_reader *r);
} senders[] = {
    {ALERT_GRAFANA, webhook_is_grafana, incident_webhook_read_alerts},
    {ALERT_ALERTMANAGER, webhook_has_alerts, incident_webhook_read_alerts},
    {ALERT_PAGERDUTY, webhook_is_pagerduty, webhook_read_pagerduty},
    {ALERT_OPSGENIE, webhook_is_opsgenie, webhook_read_opsgenie},
};

enum alert_source webhook_source(const struct json *doc)
{
    const struct json_node *root = json_root(doc);

    if (root && root->kind == JSON_OBJECT && !json_find(doc, root, STR("alert_type")))
        for (size_t i = 0; i < COUNT_OF(senders); i++)
            if (senders[i].is(doc, root))
                return senders[i].source;
    return ALERT_API;
}

bool webhook_read(const struct json *doc, int64_t now_us, struct arena *a, struct webhook *out,
                  struct alert_faults *faults)
{
    struct webhook_reader r = {.doc = doc,
                               .root = json_root(doc),
                               .arena = a,
                               .faults = faults,
                               .now_us = now_us,
                               .out = out};
    size_t before = faults->n;

    faults->arena = a;
    faults->doc = doc;
    *out = (struct webhook){.source = webhook_source(doc), .ignored = STR("")};
    for (size_t i = 0; i < COUNT_OF(senders); i++)
        if (senders[i].source == out->source)
            senders[i].read(&r);
    assert(!out->n || (out->alerts && !out->ignored.n));
    return faults->n == before;
}

const struct alert *webhook_first_firing(const struct webhook *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (!w->alerts[i].resolved)
            return &w->alerts[i];
    return NULL;
}
