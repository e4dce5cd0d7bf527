/* request.c - a model's arguments as an HTTP request of an operation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "openapi/openapi.h"

#define SHOWN_MAX 80
#define ARENA_MAX ((size_t)64 << 20)

struct openapi_writer {
    const struct json *doc;
    struct arena *arena;
    struct buf *target, *headers;
    size_t query_count;
};

/* A text unchanged, other values as JSON. */
static str openapi_value_text(const struct openapi_writer *w, const struct json_node *v)
{
    str s;

    return json_text(w->doc, v, w->arena, &s) ? s : json_raw(w->doc, v);
}

/* The items of a list, or names and values of an object, with commas between them. */
static void openapi_join(const struct openapi_writer *w, const struct json_node *v, bool encode,
                         struct buf *out)
{
    bool first = true;

    if (v->kind < JSON_ARRAY) {
        str s = openapi_value_text(w, v);

        if (encode)
            buf_add_percent(out, s, "");
        else
            buf_add(out, s);
        return;
    }
    JSON_FOREACH(c, w->doc, v) {
        if (!first)
            buf_add_c(out, ',');
        first = false;
        openapi_join(w, c, encode, out);
        if (v->kind == JSON_OBJECT) {
            buf_add_c(out, ',');
            openapi_join(w, json_value(c), encode, out);
        }
    }
}

static void openapi_query_pair(struct openapi_writer *w, str name, str below,
                               const struct json_node *v)
{
    buf_add_c(w->target, w->query_count++ ? '&' : '?');
    buf_add_percent(w->target, name, "");
    if (below.n) {
        buf_add(w->target, STR("%5B"));
        buf_add_percent(w->target, below, "");
        buf_add(w->target, STR("%5D"));
    }
    buf_add_c(w->target, '=');
    openapi_join(w, v, true, w->target);
}

static void openapi_write_query(struct openapi_writer *w, const struct openapi_param *p,
                                const struct json_node *v)
{
    const struct json *doc = w->doc;
    bool deep = p->style == OPENAPI_DEEP;

    assert(p->place == OPENAPI_QUERY);
    if (p->style == OPENAPI_JSON) {
        buf_add_c(w->target, w->query_count++ ? '&' : '?');
        buf_add_percent(w->target, p->name, "");
        buf_add_c(w->target, '=');
        buf_add_percent(w->target, json_raw(doc, v), "");
        return;
    }
    if (v->kind < JSON_ARRAY || p->style == OPENAPI_JOINED) {
        openapi_query_pair(w, p->name, STR(""), v);
        return;
    }
    JSON_FOREACH(c, doc, v) {
        if (v->kind == JSON_ARRAY)
            openapi_query_pair(w, p->name, STR(""), c);
        else
            openapi_query_pair(w,
                               deep ? p->name : openapi_value_text(w, c),
                               deep ? openapi_value_text(w, c) : STR(""),
                               json_value(c));
    }
}

static bool openapi_write_header(struct openapi_writer *w, const struct openapi_param *p,
                                 const struct json_node *v, struct err *e)
{
    size_t from;

    assert(p->place == OPENAPI_HEADER);
    buf_printf(w->headers, STR_FMT ": ", STR_ARG(p->name));
    from = w->headers->n;
    openapi_join(w, v, false, w->headers);
    for (size_t i = from; i < w->headers->n; i++)
        if ((unsigned char)w->headers->p[i] < ' ' || w->headers->p[i] == 0x7f)
            return err_input(e,
                             STR_FMT ": a header can have no line break or control character",
                             STR_ARG(str_slice(p->member, 0, SHOWN_MAX)));
    buf_add(w->headers, STR("\r\n"));
    return true;
}

static const struct json_node *openapi_argument(const struct openapi_writer *w,
                                                const struct openapi_param *p)
{
    const struct json_node *v = json_find(w->doc, json_root(w->doc), p->member);

    return v && v->kind == JSON_NULL ? NULL : v;
}

/* A segment may not be empty or lead to another path: "..", and "." likewise. */
static bool openapi_fill_segment(const struct openapi_writer *w, const struct openapi_operation *op,
                                 str name, struct err *e)
{
    size_t from = w->target->n;
    str made;

    for (size_t i = 0; i < op->param_count; i++) {
        const struct openapi_param *p = &op->params[i];
        const struct json_node *v;

        if (p->place != OPENAPI_PATH || !str_eq(p->name, name))
            continue;
        v = openapi_argument(w, p);
        if (v)
            openapi_join(w, v, true, w->target);
    }
    made = str_slice(buf_str(w->target), from, w->target->n);
    return (made.n && !str_eq(made, STR(".")) && !str_eq(made, STR(".."))) ||
           err_input(e,
                     STR_FMT ": is part of the path, and must be neither empty nor \".\" or \"..\"",
                     STR_ARG(str_slice(name, 0, SHOWN_MAX)));
}

static bool openapi_write_path(struct openapi_writer *w, const struct openapi_operation *op,
                               struct err *e)
{
    str path = op->path;

    for (;;) {
        size_t open = str_find(path, STR("{")), close;

        buf_add(w->target, str_slice(path, 0, open));
        if (open == STR_NONE)
            return true;
        if (buf_full(w->target)) /* a path may repeat an argument any number of times */
            return buf_ok(w->target, "the address", e);
        path = str_slice(path, open + 1, path.n);
        close = str_find(path, STR("}"));
        assert(close != STR_NONE); /* openapi_read has checked the path */
        if (!openapi_fill_segment(w, op, str_slice(path, 0, close), e))
            return false;
        path = str_slice(path, close + 1, path.n);
    }
}

static bool openapi_write_all(struct openapi_writer *w, const struct openapi_operation *op,
                              struct buf *body, struct err *e)
{
    const struct json_node *v = json_find(w->doc, json_root(w->doc), STR("body"));

    if (!openapi_write_path(w, op, e))
        return false;
    for (size_t i = 0; i < op->param_count; i++) {
        const struct openapi_param *p = &op->params[i];
        const struct json_node *given = openapi_argument(w, p);

        if (given && p->place == OPENAPI_QUERY)
            openapi_write_query(w, p, given);
        if (given && p->place == OPENAPI_HEADER && !openapi_write_header(w, p, given, e))
            return false;
    }
    if (op->body && v)
        buf_add(body, json_raw(w->doc, v));
    return buf_ok(w->target, "the address", e) && buf_ok(w->headers, "the headers", e) &&
           buf_ok(body, "the body", e);
}

bool openapi_request(const struct openapi_operation *op, str arguments, struct buf *target,
                     struct buf *headers, struct buf *body, struct err *e)
{
    struct json doc;
    struct arena a;
    struct openapi_writer w = {.doc = &doc, .arena = &a, .target = target, .headers = headers};
    bool ok;

    arena_init(&a, ARENA_MAX);
    ok = json_open(&doc, arguments.n ? arguments : STR("{}"), e);
    if (ok && json_root(&doc)->kind != JSON_OBJECT)
        ok = err_input(e, "the arguments are no object");
    ok = ok && openapi_write_all(&w, op, body, e);
    json_release(&doc);
    arena_release(&a);
    return ok;
}

bool openapi_query(str arguments, bool more, struct buf *target, struct err *e)
{
    struct json doc;
    struct arena a;
    struct openapi_writer w = {.doc = &doc, .arena = &a, .target = target, .query_count = more};
    const struct json_node *root;
    bool ok;

    arena_init(&a, ARENA_MAX);
    ok = json_open(&doc, arguments.n ? arguments : STR("{}"), e);
    root = ok ? json_root(&doc) : NULL;
    if (ok && root->kind != JSON_OBJECT)
        ok = err_input(e, "the arguments are no object");
    for (const struct json_node *k = ok ? json_first(&doc, root) : NULL; k;
         k = json_next(&doc, root, k)) {
        struct openapi_param p = {.place = OPENAPI_QUERY, .style = OPENAPI_EXPLODED};

        p.name = openapi_value_text(&w, k);
        if (json_value(k)->kind != JSON_NULL)
            openapi_write_query(&w, &p, json_value(k));
    }
    ok = ok && buf_ok(target, "the address", e);
    json_release(&doc);
    arena_release(&a);
    return ok;
}
