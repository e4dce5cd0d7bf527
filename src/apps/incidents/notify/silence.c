/* silence.c - proposes a silence to a person; nothing here creates one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/notify/notify.h"

#define LABELS_MAX 50
#define LINK_MAX 4000
#define JSON_MAX ((size_t)64 << 10)

struct proposal {
    const struct json *doc;
    struct arena *arena;
    struct json_out *out;
    struct buf *filter; /* a="b",c="d" */
};

/* The labels of the alert, or those that all alerts of its group have. */
static const struct json_node *silence_labels(const struct json *doc)
{
    static const char *const names[] = {"labels", "commonLabels", "groupLabels"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct json_node *v = json_find(doc, json_root(doc), str_c(names[i]));
        size_t n = v && v->kind == JSON_OBJECT ? json_count(doc, v) : 0;

        if (n > 0 && n <= LABELS_MAX)
            return v;
    }
    return NULL;
}

static void silence_add_matcher(const struct proposal *p, const struct json_node *key)
{
    str name, value;

    if (!json_text(p->doc, key, p->arena, &name) ||
        !json_text(p->doc, json_value(key), p->arena, &value))
        return;
    json_out_object(p->out);
    json_member_str(p->out, "name", name);
    json_member_str(p->out, "value", value);
    json_member_bool(p->out, "isRegex", false);
    json_member_bool(p->out, "isEqual", true);
    json_out_end(p->out);
    buf_add(p->filter, p->filter->n ? STR(",") : STR(""));
    buf_add(p->filter, name);
    buf_add_c(p->filter, '=');
    (void)json_quote(p->filter, value);
}

static void silence_write_rest(struct json_out *o, const struct alert_table_row *row, uint64_t ms,
                               str comment)
{
    int64_t from = (row->completed_us >= 0 ? row->completed_us : row->updated_us) / 1000;
    char text[CLOCK_TEXT_SIZE];

    json_member_str(o, "startsAt", clock_format(from, text));
    json_member_str(o, "endsAt", clock_format(from + (int64_t)ms, text));
    json_member_str(o, "createdBy", STR("rationale"));
    json_member_str(o, "comment", comment);
}

/* EXTERNAL/#/silences/new?filter={a="b"}; "" if Alertmanager did not say where it is. */
static str silence_form(const struct json *doc, str filter, struct arena *a)
{
    static const char hex[] = "0123456789ABCDEF";
    str base = json_get_text(doc, json_root(doc), "externalURL", a);
    struct client_url parsed;
    struct buf out;
    struct err e;
    str link;

    while (base.n && base.p[base.n - 1] == '/')
        base.n--;
    if (!client_url_parse(base, &parsed, &e))
        return STR("");
    buf_init(&out, LINK_MAX);
    buf_add(&out, base);
    buf_add(&out, STR("/#/silences/new?filter=%7B"));
    for (size_t i = 0; i < filter.n; i++) {
        unsigned char c = (unsigned char)filter.p[i];

        if ((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
            memchr("-_.~", c, 4)) {
            buf_add_c(&out, (char)c);
        } else {
            buf_add_c(&out, '%');
            buf_add_c(&out, hex[c >> 4]);
            buf_add_c(&out, hex[c & 15]);
        }
    }
    buf_add(&out, STR("%7D"));
    link = buf_full(&out) ? STR("") : arena_dup(a, buf_str(&out));
    buf_release(&out);
    return link;
}

void silence_propose(const struct alert_table_row *row, const struct config_incidents *c, str link,
                     struct arena *a, str *json, str *form)
{
    const struct json_node *labels;
    struct buf out, filter;
    struct json_out o;
    struct json doc;
    struct err e;

    *json = *form = STR("");
    json_init(&doc);
    buf_init(&out, JSON_MAX);
    buf_init(&filter, JSON_MAX);
    json_out_init(&o, &out);
    labels = c->silence_ms && json_parse(&doc, row->data, &e) ? silence_labels(&doc) : NULL;
    if (labels) {
        struct proposal p = {&doc, a, &o, &filter};

        json_out_object(&o);
        json_member_array(&o, "matchers");
        JSON_FOREACH(k, &doc, labels)
            silence_add_matcher(&p, k);
        json_out_end(&o);
        silence_write_rest(&o,
                           row,
                           c->silence_ms,
                           arena_printf(a,
                                        "Proposed after incident " STR_FMT "%s" STR_FMT,
                                        STR_ARG(row->id),
                                        link.n ? ": " : "",
                                        STR_ARG(link)));
        json_out_end(&o);
        if (json_out_ok(&o, &e) && filter.n && !buf_full(&filter)) {
            *json = arena_dup(a, buf_str(&out));
            *form = silence_form(&doc, buf_str(&filter), a);
        }
    }
    buf_release(&filter);
    buf_release(&out);
    json_release(&doc);
}
