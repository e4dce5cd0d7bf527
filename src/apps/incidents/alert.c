/* alert.c - see alert.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/alert.h"

#include "agent/tool.h"
#include "base/json_edit.h"
#include "base/map.h"
#include "base/utf8.h"

#define DATA_MAX ((size_t)64 << 20) /* cleaned: escapes may make it longer */
#define SHOWN_MAX 200               /* bytes of a wrong value in an answer */
#define SEVERITY "warning"
#define ENVIRONMENT "production"
#define US_MAX ((int64_t)CLOCK_WALL_MS_MAX * 1000)

const char *const alert_required[] = {"alert_type", "runbook", NULL};
const char *const alert_optional[] = {"data", "severity", "timestamp", "environment", NULL};

const char *alert_source_name(enum alert_source s)
{
    static const char *const names[ALERT_SOURCES] = {
        "api", "alertmanager", "grafana", "pagerduty", "opsgenie"};

    assert((size_t)s < ALERT_SOURCES);
    return names[s];
}

/* ---- errors ---- */

/* As JSON that fits into an answer: a long value is truncated and becomes a string. */
static str incident_alert_shown(const struct json *doc, const struct json_node *v, struct arena *a)
{
    struct buf out;
    str raw, kept;

    if (!v)
        return STR("");
    raw = json_raw(doc, v);
    if (raw.n <= SHOWN_MAX)
        return raw;
    buf_init(&out, 8 * SHOWN_MAX);
    kept = arena_join(a, utf8_cut_size(raw, SHOWN_MAX), STR("..."), STR(""));
    (void)json_quote(&out, kept);
    return arena_move_buf(a, &out);
}

void alert_fault(struct alert_faults *faults, str field, const char *expected,
                 const struct json_node *invalid, const char *fmt, ...)
{
    struct arena *a = faults->arena;
    char text[400];
    va_list args;

    assert(faults->n <= ALERT_FAULTS_MAX);
    if (faults->n == ALERT_FAULTS_MAX)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    faults->at[faults->n++] =
        (struct alert_fault){.field = arena_dup(a, field),
                             .message = arena_dup(a, utf8_cut_size(str_c(text), sizeof text)),
                             .expected = str_c(expected),
                             .invalid = incident_alert_shown(faults->doc, invalid, a)};
}

/* ---- cleaning ---- */

static bool alert_has_place(uint32_t code)
{
    return code == '\n' || code == '\t' || code == '\r' ||
           !(code < 0x20 || code == 0x7f || (code >= 0x80 && code < 0xa0));
}

/* The cleaned text; copied into the arena only if it had to change. */
static str incident_alert_clean_limited(struct arena *a, str text, size_t count_max, bool *cut)
{
    size_t size, count = 0, n = 0;
    uint32_t code;
    char *p = NULL;

    *cut = false;
    for (size_t at = 0; at < text.n; at += size) {
        size = utf8_decode(str_slice(text, at, text.n), &code);
        assert(size > 0); /* JSON is UTF-8 */
        if (alert_has_place(code) && count < count_max) {
            if (p)
                memcpy(p + n, text.p + at, size);
            n += size;
            count++;
            continue;
        }
        if (!p) {
            p = arena_alloc(a, text.n);
            memcpy(p, text.p, at);
        }
        if (alert_has_place(code)) {
            *cut = true;
            break;
        }
    }
    assert(n <= text.n);
    return p ? (str){p, n} : text;
}

str alert_text(struct arena *a, str text, size_t count_max)
{
    bool cut;

    return utf8_trim(incident_alert_clean_limited(a, text, count_max, &cut));
}

struct cleaning {
    const struct json *doc;
    struct arena *arena;
    struct json_out out;
    unsigned cut;
};

static str alert_clean_text(struct cleaning *c, const struct json_node *v)
{
    str text = STR("");
    bool cut = false;

    if (json_text(c->doc, v, c->arena, &text))
        text = incident_alert_clean_limited(c->arena, text, ALERT_TEXT_MAX, &cut);
    c->cut += cut;
    return text;
}

static void incident_alert_clean_value(struct cleaning *c, const struct json_node *v)
{
    size_t n = 0;

    switch (v->kind) {
    case JSON_OBJECT:
        json_out_object(&c->out);
        JSON_FOREACH(k, c->doc, v) {
            json_out_key(&c->out, alert_clean_text(c, k));
            incident_alert_clean_value(c, json_value(k));
        }
        json_out_end(&c->out);
        return;
    case JSON_ARRAY:
        json_out_array(&c->out);
        for (const struct json_node *x = json_first(c->doc, v); x && n < ALERT_LIST_MAX;
             x = json_next(c->doc, v, x), n++)
            incident_alert_clean_value(c, x);
        c->cut += json_count(c->doc, v) > ALERT_LIST_MAX;
        json_out_end(&c->out);
        return;
    case JSON_STRING:
        json_out_str(&c->out, alert_clean_text(c, v));
        return;
    default:
        json_out_raw(&c->out, json_raw(c->doc, v));
        return;
    }
}

unsigned alert_clean(const struct json *doc, const struct json_node *v, struct arena *a,
                     struct buf *out)
{
    struct cleaning c = {.doc = doc, .arena = a};

    assert(v && out->n == 0);
    json_out_init(&c.out, out);
    incident_alert_clean_value(&c, v);
    return c.cut;
}

/* ---- the same alert ---- */

void alert_digest(struct alert *alert, str identity)
{
    uint8_t digest[SHA256_SIZE];
    struct buf canonical;

    assert(!alert->digest[0] && identity.n > 0);
    buf_init(&canonical, 2 * DATA_MAX);
    tool_canonical(&canonical, identity);
    sha256_of(buf_str(&canonical), digest);
    (void)sha256_hex(digest, alert->digest);
    buf_release(&canonical);
}

/* All members except the times. */
static void alert_digest_of(struct alert *alert, struct arena *a)
{
    struct json_edits edits;
    struct json_text t;
    struct buf data;
    struct json doc;
    struct err e;

    buf_init(&data, DATA_MAX);
    if (json_open(&doc, alert->data, &e)) {
        json_edits_init(&edits, &doc, a);
        json_edit_remove(&edits, json_root(&doc), STR("timestamp"));
        json_edits_apply(&edits, &data);
    }
    json_text_begin(&t, 2 * DATA_MAX);
    json_member_str(&t.o, "alert_type", alert->alert_type);
    json_member_str(&t.o, "runbook", alert->runbook);
    json_member_str(&t.o, "severity", alert->severity);
    json_member_str(&t.o, "environment", alert->environment);
    json_member_raw(&t.o, "data", data.n ? buf_str(&data) : STR("{}"));
    json_out_end(&t.o);
    alert_digest(alert, buf_str(&t.buf));
    buf_release(&t.buf);
    buf_release(&data);
    json_release(&doc);
}

/* ---- its fields ---- */

struct reading {
    const struct json *doc;
    const struct json_node *root;
    struct arena *arena;
    struct alert_faults *faults;
};

static const char *kind_name(const struct json_node *v)
{
    return NAME_OF(
        v->kind, "null", "a boolean", "a boolean", "a number", "a string", "a list", "an object");
}

/* null is as good as nothing where nothing is needed. */
static str incident_alert_read_text(const struct reading *r, const char *name, size_t count_max,
                                    bool required, const char *otherwise)
{
    const struct json_node *v = json_find(r->doc, r->root, str_c(name));
    str text;

    if (!v || (v->kind == JSON_NULL && !required)) {
        if (required)
            alert_fault(r->faults, str_c(name), "string", NULL, "is required");
        return str_c(otherwise);
    }
    if (!json_text(r->doc, v, r->arena, &text)) {
        alert_fault(
            r->faults, str_c(name), "string", v, "must be a string, and is %s", kind_name(v));
        return str_c(otherwise);
    }
    if (utf8_count(text) > count_max)
        alert_fault(r->faults,
                    str_c(name),
                    "string",
                    v,
                    "may have %zu characters, and has %zu",
                    count_max,
                    utf8_count(text));
    text = alert_text(r->arena, text, count_max);
    if (text.n)
        return text;
    if (required)
        alert_fault(r->faults, str_c(name), "string", v, "must not be empty");
    return str_c(otherwise);
}

static int64_t alert_read_time(const struct reading *r, int64_t now_us)
{
    const struct json_node *v = json_find(r->doc, r->root, STR("timestamp"));
    int64_t us;
    str text;

    if (!v || v->kind == JSON_NULL)
        return now_us;
    if (json_i64(r->doc, v, &us) && us >= 0 && us <= US_MAX)
        return us;
    if (json_text(r->doc, v, r->arena, &text) && clock_parse(text, &us) && us >= 0)
        return us * 1000;
    alert_fault(r->faults,
                STR("timestamp"),
                "integer",
                v,
                "must be microseconds since 1970, an integer (or a date-time of RFC 3339)");
    return now_us;
}

static bool alert_is_own(str key)
{
    return str_is_one_of(key, "alert_type runbook data severity timestamp environment");
}

/* Unknown members next to "data" are added to the data, unless the data has a member of that
 * name. */
static void alert_add_others(struct cleaning *c, const struct reading *r,
                             const struct json_node *data)
{
    struct map names;
    struct err e;
    str key;

    map_init(&names, NULL, ALERT_NODES_MAX);
    JSON_FOREACH(k, r->doc, data)
        if (json_text(r->doc, k, r->arena, &key) && !map_set(&names, key, MAP_U64(0), &e))
            break; /* the caller limits the values: it has fewer members */
    JSON_FOREACH(k, r->doc, r->root) {
        if (!json_text(r->doc, k, r->arena, &key) || alert_is_own(key) || map_find(&names, key))
            continue;
        json_out_key(&c->out, alert_clean_text(c, k));
        incident_alert_clean_value(c, json_value(k));
    }
    map_release(&names);
}

static void incident_alert_read_data(const struct reading *r, struct alert *out)
{
    const struct json_node *data = json_find(r->doc, r->root, STR("data"));
    struct cleaning c = {.doc = r->doc, .arena = r->arena};
    struct buf text;

    if (data && data->kind == JSON_NULL)
        data = NULL;
    if (data && data->kind != JSON_OBJECT) {
        alert_fault(r->faults,
                    STR("data"),
                    "object",
                    data,
                    "must be an object, and is %s",
                    kind_name(data));
        data = NULL;
    }
    buf_init(&text, DATA_MAX);
    json_out_init_object(&c.out, &text);
    JSON_FOREACH(k, r->doc, data) {
        json_out_key(&c.out, alert_clean_text(&c, k));
        incident_alert_clean_value(&c, json_value(k));
    }
    alert_add_others(&c, r, data);
    json_out_end(&c.out);
    out->data = arena_dup(r->arena, buf_str(&text));
    out->cut = c.cut;
    buf_release(&text);
}

/* Beside the data, or in it. */
static str alert_read_environment(const struct reading *r)
{
    const struct json_node *data = json_find(r->doc, r->root, STR("data"));
    struct reading in = *r;

    if (json_find(r->doc, r->root, STR("environment")))
        return incident_alert_read_text(r, "environment", ALERT_NAME_MAX, false, ENVIRONMENT);
    in.root = data;
    if (json_find(r->doc, data, STR("environment")) &&
        json_find(r->doc, data, STR("environment"))->kind == JSON_STRING)
        return incident_alert_read_text(&in, "environment", ALERT_NAME_MAX, false, ENVIRONMENT);
    return STR(ENVIRONMENT);
}

bool alert_read(const struct json *doc, const struct json_node *v, int64_t now_us, struct arena *a,
                struct alert *out, struct alert_faults *faults)
{
    struct reading r = {doc, v, a, faults};
    size_t before = faults->n;

    faults->arena = a;
    faults->doc = doc;
    *out = (struct alert){.fingerprint = STR("")};
    out->alert_type = incident_alert_read_text(&r, "alert_type", ALERT_NAME_MAX, true, "");
    out->runbook = incident_alert_read_text(&r, "runbook", ALERT_RUNBOOK_MAX, true, "");
    incident_alert_read_data(&r, out);
    out->severity = incident_alert_read_text(&r, "severity", ALERT_NAME_MAX, false, SEVERITY);
    out->timestamp_us = alert_read_time(&r, now_us);
    out->environment = alert_read_environment(&r);
    if (faults->n > before)
        return false;
    alert_digest_of(out, a);
    return true;
}
