/* header.c - encodes header values, and finds the marked properties of a schema.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/header.h"

#include "base/base64.h"
#include "base/json_get.h"
#include "net/http1.h"

#define SENTINEL "=?base64?"
#define SAFE_INTEGER_MAX 9007199254740991

static bool mcp_is_wrapped(str s)
{
    return s.n >= sizeof SENTINEL - 1 + 2 && str_starts(s, STR(SENTINEL)) && str_ends(s, STR("?="));
}

/* Visible ASCII, and spaces and tabs between. */
static bool mcp_header_is_plain(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] < ' ' || s.p[i] > '~') && s.p[i] != '\t')
            return false;
    return str_trim(s).n == s.n;
}

void mcp_header_value(struct buf *out, str value)
{
    if (mcp_header_is_plain(value) && !mcp_is_wrapped(value) && !memchr(value.p, '\t', value.n)) {
        buf_add(out, value);
        return;
    }
    buf_add(out, STR(SENTINEL));
    base64_add(out, value);
    buf_add(out, STR("?="));
}

bool mcp_header_read(str header, struct buf *out)
{
    if (!mcp_header_is_plain(header))
        return false;
    if (mcp_is_wrapped(header))
        return base64_decode(str_slice(header, sizeof SENTINEL - 1, header.n - 2), out);
    buf_add(out, header);
    return true;
}

struct walk {
    const struct json *doc;
    struct arena *arena;
    struct mcp_mirrors *out;
    struct mcp_mirror here; /* the path to the current schema */
    struct err *e;
};

static bool mcp_is_markable(const struct json *doc, const struct json_node *type)
{
    bool some = false;

    if (json_is_array(type)) { /* or null, for which no header is sent */
        JSON_FOREACH(t, doc, type) {
            if (json_is(doc, t, STR("null")))
                continue;
            if (!mcp_is_markable(doc, t))
                return false;
            some = true;
        }
        return some;
    }
    return json_is_one_of(doc, type, "string integer boolean");
}

/* Copies the mark once, because the schema's text may be gone when it is used. Otherwise one long
 * name above many marks would be copied for each of them. */
static bool mcp_header_keep(struct walk *w, const struct mcp_mirror *m)
{
    struct mcp_mirror *kept = &w->out->at[w->out->n];
    bool fits = m->header.n <= MCP_MIRROR_NAME_MAX;

    assert(w->out->n <= MCP_MIRRORS_MAX && m->depth > 0 && m->depth <= MCP_MIRROR_DEPTH_MAX);
    if (w->out->n == MCP_MIRRORS_MAX)
        return err_set(w->e, ERR_LIMIT, "more than %d x-mcp-header", MCP_MIRRORS_MAX);
    for (size_t i = 0; i < m->depth; i++)
        fits = fits && m->path[i].n <= MCP_MIRROR_NAME_MAX;
    if (!fits)
        return err_set(w->e,
                       ERR_LIMIT,
                       "x-mcp-header \"" STR_FMT
                       "\" or a property above it has a name of more than "
                       "%d bytes",
                       STR_ARG(str_slice(m->header, 0, 60)),
                       MCP_MIRROR_NAME_MAX);
    *kept = *m;
    kept->header = arena_dup(w->arena, m->header);
    for (size_t i = 0; i < m->depth; i++)
        kept->path[i] = arena_dup(w->arena, m->path[i]);
    w->out->n++;
    return true;
}

static bool mcp_header_mark(struct walk *w, const struct json_node *schema,
                            const struct json_node *name, bool reachable)
{
    struct mcp_mirror m = w->here;

    if (!json_text(w->doc, name, w->arena, &m.header))
        return err_input(w->e, "x-mcp-header must be a text");
    if (!http1_is_token(m.header))
        return err_input(w->e, "x-mcp-header is not a valid header name");
    if (!reachable || m.depth == 0)
        return err_input(w->e,
                         "x-mcp-header \"" STR_FMT "\" is not reached by properties alone",
                         STR_ARG(str_slice(m.header, 0, 60)));
    if (!mcp_is_markable(w->doc, json_find(w->doc, schema, STR("type"))))
        return err_input(w->e,
                         "x-mcp-header \"" STR_FMT "\" is not on a string, an integer or a boolean",
                         STR_ARG(str_slice(m.header, 0, 60)));
    for (size_t i = 0; i < w->out->n; i++)
        if (http1_same(w->out->at[i].header, m.header))
            return err_input(w->e,
                             "x-mcp-header \"" STR_FMT "\" is there twice",
                             STR_ARG(str_slice(m.header, 0, 60)));
    return mcp_header_keep(w, &m);
}

static bool walk_schema(struct walk *w, const struct json_node *v, bool reachable);

/* Keywords whose members are schemas with names of the author's choice. */
static bool walk_named(struct walk *w, const struct json_node *v, bool reachable)
{
    assert(w->here.depth <= MCP_MIRROR_DEPTH_MAX);
    for (const struct json_node *k = json_first(w->doc, v); k && v->kind == JSON_OBJECT;
         k = json_next(w->doc, v, k)) {
        bool fits = w->here.depth < MCP_MIRROR_DEPTH_MAX, ok;

        if (fits && !json_text(w->doc, k, w->arena, &w->here.path[w->here.depth]))
            fits = false;
        w->here.depth += fits;
        ok = walk_schema(w, json_value(k), reachable && fits);
        w->here.depth -= fits;
        if (!ok)
            return false;
    }
    return true;
}

static bool walk_schema(struct walk *w, const struct json_node *v, bool reachable)
{
    JSON_FOREACH(k, w->doc, v) {
        bool ok = true;

        if (v->kind == JSON_ARRAY) {
            if (!walk_schema(w, k, false))
                return false;
            continue;
        }
        if (json_is(w->doc, k, STR("x-mcp-header")))
            ok = mcp_header_mark(w, v, json_value(k), reachable);
        else if (json_is(w->doc, k, STR("properties")))
            ok = walk_named(w, json_value(k), reachable);
        else if (json_is_one_of(w->doc, k, "$defs definitions patternProperties dependentSchemas"))
            ok = walk_named(w, json_value(k), false);
        else if (!json_is_one_of(w->doc, k, "const enum default examples"))
            ok = walk_schema(w, json_value(k), false);
        if (!ok)
            return false;
    }
    return true;
}

bool mcp_mirrors_read(const struct json *doc, const struct json_node *schema, struct arena *a,
                      struct mcp_mirrors *out, struct err *e)
{
    struct mcp_mirror found[MCP_MIRRORS_MAX];
    struct mcp_mirrors all = {.at = found};
    struct walk w = {.doc = doc, .arena = a, .out = &all, .e = e};

    if (schema && !walk_schema(&w, schema, true))
        return false;
    assert(all.n <= MCP_MIRRORS_MAX && w.here.depth == 0);
    out->n = all.n;
    out->at = arena_alloc(a, all.n * sizeof *found);
    memcpy(out->at, found, all.n * sizeof *found);
    return true;
}

const struct json_node *mcp_mirror_find(const struct mcp_mirror *m, const struct json *doc,
                                        const struct json_node *arguments)
{
    const struct json_node *v = arguments;

    assert(m->depth > 0 && m->depth <= MCP_MIRROR_DEPTH_MAX);
    for (size_t i = 0; i < m->depth && v; i++)
        v = json_find(doc, v, m->path[i]);
    return v;
}

bool mcp_mirror_value(const struct mcp_mirror *m, const struct json *doc,
                      const struct json_node *arguments, struct arena *a, str *out)
{
    const struct json_node *v = mcp_mirror_find(m, doc, arguments);
    int64_t n;

    if (!v)
        return false;
    switch ((enum json_kind)v->kind) {
    case JSON_STRING:
        return json_text(doc, v, a, out);
    case JSON_TRUE:
    case JSON_FALSE:
        *out = json_raw(doc, v);
        return true;
    case JSON_NUMBER:
        if (json_i64(doc, v, &n) && n <= SAFE_INTEGER_MAX && n >= -SAFE_INTEGER_MAX)
            *out = arena_printf(a, "%lld", (long long)n);
        else
            *out = json_raw(doc, v);
        return true;
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return false;
}
