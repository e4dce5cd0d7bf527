/* client_tools.c - caches a server's tools, and calls them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_get.h"
#include "base/log.h"
#include "base/map.h"
#include "mcp/client_state.h"

#define TOOL_TEXTS 6 /* of a struct mcp_tool_info */
#define CURSOR_MAX ((size_t)64 << 10)
#define KNOWN_ARENA ((size_t)256 << 20)
/* Size of the arena of tools. Twice the need, because its free space may be in two pieces. */
#define TOOL_ROOM (2 * MCP_MIRRORS_ARENA_MAX)
#define TABLE_ROOM (2 * MCP_TOOLS_MAX * sizeof(struct mcp_known_tool))

static bool mcp_is_allowed(const struct mcp_client *c, str name)
{
    if (!c->o.allow)
        return true;
    for (size_t i = 0; c->o.allow[i]; i++)
        if (str_eq(name, str_c(c->o.allow[i])))
            return true;
    return false;
}

void mcp_known_init(struct mcp_known_tools *k)
{
    *k = (struct mcp_known_tools){0};
    arena_init(&k->arena, KNOWN_ARENA);
}

void mcp_known_release(struct mcp_known_tools *k)
{
    for (size_t i = 0; i < k->n; i++)
        schema_free(k->at[i].output);
    arena_release(&k->arena);
}

const struct mcp_known_tool *mcp_known_find(const struct mcp_client *c, str name)
{
    for (size_t i = 0; i < c->known.n; i++)
        if (str_eq(c->known.at[i].info.name, name))
            return &c->known.at[i];
    return NULL;
}

/* ---- listing ---- */

struct listing {
    struct mcp_client *client;
    struct mcp_known_tools known; /* its array is on the heap while it grows */
    struct mcp_known_tool *tools;
    size_t n, cap;
    struct map names;           /* number of tools so far, in the arena of tools */
    const _Atomic bool *cancel; /* or NULL */
    bool full;                  /* the arena of tools has no room for the next one */
    int64_t ttl_ms;             /* the shortest time of all pages */
    struct err *e;
};

static str mcp_raw_member(const struct json *doc, const struct json_node *v, str key,
                          struct arena *a)
{
    const struct json_node *m = json_find(doc, v, key);

    return json_is_object(m) ? arena_dup(a, json_raw(doc, m)) : STR("");
}

static void mcp_read_info(const struct json *doc, const struct json_node *v, struct arena *a,
                          struct mcp_tool_info *t)
{
    const struct json_node *hints = json_find(doc, v, STR("annotations"));

    t->title = arena_dup(a, mcp_member(doc, v, STR("title"), a));
    t->description = arena_dup(a, mcp_member(doc, v, STR("description"), a));
    t->input_schema = mcp_raw_member(doc, v, STR("inputSchema"), a);
    t->output_schema = mcp_raw_member(doc, v, STR("outputSchema"), a);
    t->annotations = mcp_raw_member(doc, v, STR("annotations"), a);
    t->read_only = json_get_true(doc, hints, "readOnlyHint");
    t->idempotent = json_get_true(doc, hints, "idempotentHint");
}

/* Leaves out a single invalid tool. */
static void mcp_client_tools_add_tool(struct listing *l, const struct json *doc,
                                      const struct json_node *v)
{
    struct mcp_client *c = l->client;
    struct arena *a = &l->known.arena;
    struct mcp_known_tool t = {0};
    struct err e;

    assert(l->n <= MCP_TOOLS_MAX && l->n <= l->cap);
    l->full = l->full || arena_left(a) < 4 * (size_t)v->size + TOOL_ROOM + TABLE_ROOM;
    if (l->full)
        return;
    t.info.name = arena_dup(a, mcp_member(doc, v, STR("name"), a));
    if (!t.info.name.n || !mcp_is_allowed(c, t.info.name))
        return;
    if (map_find(&l->names, t.info.name))
        return; /* pages may overlap if the list changes between them */
    if (c->o.url.n && mcp_client_era(c) == MCP_ERA_MODERN &&
        !mcp_mirrors_read(doc, json_find(doc, v, STR("inputSchema")), a, &t.mirrors, &e)) {
        log_warn("mcp tool left out", LOG_STR("tool", t.info.name), LOG_ERR(&e));
        return;
    }
    mcp_read_info(doc, v, a, &t.info);
    if (t.info.output_schema.n) {
        t.output = schema_new();
        if (!schema_compile(t.output, t.info.output_schema, &e)) {
            log_warn("mcp output schema not used", LOG_STR("tool", t.info.name), LOG_ERR(&e));
            schema_free(t.output);
            t.output = NULL;
        }
    }
    l->tools = base_grow(l->tools, l->n, &l->cap, sizeof *l->tools);
    if (map_set(&l->names, t.info.name, MAP_U64(l->n), &e))
        l->tools[l->n++] = t;
}

static bool mcp_add_page(struct listing *l, str json, struct arena *a, str *cursor)
{
    const struct json_node *root, *tools;
    struct json doc;
    int64_t ttl = 0;
    bool ok;

    ok = json_open(&doc, json, l->e);
    if (ok) {
        root = json_root(&doc);
        tools = json_find(&doc, root, STR("tools"));
        if (!json_is_array(tools))
            ok = err_set(l->e, ERR_UPSTREAM, "the MCP server's list has no tools");
        l->full = ok && l->n + json_count(&doc, tools) > MCP_TOOLS_MAX;
        for (const struct json_node *v = json_first(&doc, ok ? tools : NULL); v && !l->full;
             v = json_next(&doc, tools, v))
            mcp_client_tools_add_tool(l, &doc, v);
        if (l->full)
            ok = err_set(l->e, ERR_LIMIT, "the MCP server lists too many tools");
        if (!json_i64(&doc, json_find(&doc, root, STR("ttlMs")), &ttl) || ttl < 0)
            ttl = 0;
        l->ttl_ms = ttl < l->ttl_ms ? ttl : l->ttl_ms;
        *cursor = arena_dup(a, mcp_member(&doc, root, STR("nextCursor"), a));
    }
    json_release(&doc);
    return ok;
}

/* Asks for the page at the cursor. Its texts are in the page's arena. */
static bool mcp_client_tools_page(struct listing *l, str cursor, int64_t timeout_ms,
                                  struct arena *page, str *next)
{
    str params = STR("{}"), result;
    struct buf b;

    assert(cursor.n <= CURSOR_MAX);
    if (cursor.n) {
        buf_init(&b, 6 * CURSOR_MAX + 64);
        buf_add(&b, STR("{\"cursor\":"));
        (void)json_quote(&b, cursor);
        buf_add_c(&b, '}');
        params = arena_move_buf(page, &b);
    }
    return mcp_client_request(
               l->client,
               &(struct mcp_client_ask){STR("tools/list"), params, timeout_ms, l->cancel},
               page,
               &result,
               l->e) &&
           mcp_add_page(l, result, page, next);
}

/* Reads all pages; a repeated cursor or too many pages end the list. */
static bool mcp_list_pages(struct listing *l, int64_t timeout_ms)
{
    uint64_t end_ns = clock_deadline_ns(&clock_real, MCP_CALL_TOTAL_MS);
    struct arena cursors, page;
    struct map seen;
    str cursor = STR(""), next;
    bool ok = true;

    arena_init(&cursors, 2 * MCP_PAGES_MAX * CURSOR_MAX);
    arena_init(&page, 8 * MCP_MESSAGE_MAX);
    map_init(&seen, &cursors, MCP_PAGES_MAX + 1);
    for (int n = 0; ok; n++) {
        int left_ms = clock_left_ms(&clock_real, end_ns);

        arena_reset(&page);
        ok = mcp_client_tools_page(
            l, cursor, timeout_ms < left_ms ? timeout_ms : left_ms, &page, &next);
        if (!ok || !next.n)
            break;
        if (n + 1 >= MCP_PAGES_MAX || map_find(&seen, next))
            ok = err_set(l->e, ERR_UPSTREAM, "the MCP server's list of tools does not end");
        else if (next.n > CURSOR_MAX)
            ok = err_set(l->e, ERR_LIMIT, "the MCP server's cursor is too large");
        else
            ok = map_set(&seen, next, MAP_U64(1), l->e);
        if (ok)
            cursor = map_find(&seen, next)->key;
    }
    map_release(&seen);
    arena_release(&page);
    arena_release(&cursors);
    return ok;
}

static int mcp_client_tools_by_name(const void *a, const void *b)
{
    const struct mcp_known_tool *x = a, *y = b;

    return str_cmp(x->info.name, y->info.name);
}

static bool mcp_client_list_again(struct mcp_client *c, int64_t timeout_ms,
                                  const _Atomic bool *cancel, struct err *e)
{
    struct listing l = {.client = c, .cancel = cancel, .ttl_ms = INT64_MAX, .e = e};
    struct mcp_known_tools before;
    bool ok;

    mcp_known_init(&l.known);
    atomic_store(&c->stale, false);
    map_init(&l.names, NULL, MCP_TOOLS_MAX);
    ok = mcp_list_pages(&l, timeout_ms);
    map_release(&l.names);
    assert(l.n <= MCP_TOOLS_MAX && l.n <= l.cap);
    if (l.n)
        qsort(l.tools, l.n, sizeof *l.tools, mcp_client_tools_by_name);
    l.known.at = arena_alloc(&l.known.arena, l.n * sizeof *l.tools);
    if (l.n)
        memcpy(l.known.at, l.tools, l.n * sizeof *l.tools);
    l.known.n = l.n;
    free(l.tools);
    if (ok) {
        pthread_mutex_lock(&c->knowing);
        before = c->known;
        c->known = l.known;
        l.known = before;
        pthread_mutex_unlock(&c->knowing);
    }
    mcp_known_release(&l.known);
    c->listed = ok;
    /* In the legacy era a list is valid until the server reports a change. */
    c->fresh_until_ns =
        mcp_client_era(c) == MCP_ERA_LEGACY
            ? CLOCK_NEVER
            : clock_deadline_ns(&clock_real, l.ttl_ms < 86400000 ? l.ttl_ms : 86400000);
    return ok;
}

/* With `listing` held. */
static bool mcp_tools_refresh(struct mcp_client *c, int64_t timeout_ms, bool restart,
                              const _Atomic bool *cancel, struct err *e)
{
    if (!mcp_ready(c, clock_deadline_ns(&clock_real, timeout_ms), cancel, e))
        return false;
    if (!restart && c->listed && !atomic_load(&c->stale) &&
        clock_mono_ns(&clock_real) < c->fresh_until_ns)
        return true;
    return mcp_client_list_again(c, timeout_ms, cancel, e);
}

static void mcp_copy_info(struct arena *a, const struct mcp_tool_info *from,
                          struct mcp_tool_info *to)
{
    *to = *from;
    to->name = arena_dup(a, from->name);
    to->title = arena_dup(a, from->title);
    to->description = arena_dup(a, from->description);
    to->input_schema = arena_dup(a, from->input_schema);
    to->output_schema = arena_dup(a, from->output_schema);
    to->annotations = arena_dup(a, from->annotations);
}

/* Whether the arena has room for copies of all tools. */
static bool mcp_client_tools_fit(const struct mcp_client *c, const struct arena *a)
{
    size_t size = 0;

    for (size_t i = 0; i < c->known.n; i++) {
        const struct mcp_tool_info *t = &c->known.at[i].info;

        size += sizeof *t + t->name.n + t->title.n + t->description.n + t->input_schema.n +
                t->output_schema.n + t->annotations.n + TOOL_TEXTS * 32;
    }
    return arena_fits(a, 2 * size, 0);
}

bool mcp_client_tools(struct mcp_client *c, int64_t timeout_ms, const _Atomic bool *cancel,
                      struct arena *a, struct mcp_tools *out, struct err *e)
{
    bool ok;

    if (!mcp_lock_until(&c->listing, clock_deadline_ns(&clock_real, timeout_ms), cancel, e))
        return false;
    ok = mcp_tools_refresh(c, timeout_ms, false, cancel, e);
    if (ok && !mcp_client_tools_fit(c, a))
        ok = err_set(e, ERR_LIMIT, "the MCP server's tools are too large for the caller's memory");
    if (ok) {
        out->n = c->known.n;
        out->at = arena_zero(a, out->n, sizeof *out->at);
        for (size_t i = 0; i < out->n; i++)
            mcp_copy_info(a, &c->known.at[i].info, &out->at[i]);
    }
    pthread_mutex_unlock(&c->listing);
    return ok;
}

/* ---- calling ---- */

/* Copies the marked arguments of a call, because the list of tools may change while the call runs.
 * Only HTTP in the modern era requires that the tool is known. */
static bool mcp_take_mirrors(struct mcp_client *c, const struct mcp_call *call, bool restart,
                             struct arena *a, struct mcp_mirrors *out, struct err *e)
{
    const struct mcp_known_tool *t;
    bool ok = true;

    *out = (struct mcp_mirrors){0};
    if (!mcp_lock_until(
            &c->listing, clock_deadline_ns(&clock_real, call->timeout_ms), call->cancel, e))
        return false;
    if (restart || !c->listed)
        ok = mcp_tools_refresh(c, call->timeout_ms, restart, call->cancel, e);
    t = ok ? mcp_known_find(c, call->tool) : NULL;
    if (ok && !t && c->o.url.n && mcp_client_era(c) == MCP_ERA_MODERN)
        ok = err_set(e,
                     ERR_NOT_FOUND,
                     "the MCP server has no tool \"" STR_FMT "\" that can be used",
                     STR_ARG(str_slice(call->tool, 0, 100)));
    if (ok && t && t->mirrors.n) {
        out->n = t->mirrors.n;
        out->at = arena_alloc(a, out->n * sizeof *out->at);
        for (size_t i = 0; i < out->n; i++) {
            out->at[i] = t->mirrors.at[i];
            out->at[i].header = arena_dup(a, out->at[i].header);
            for (size_t k = 0; k < out->at[i].depth; k++)
                out->at[i].path[k] = arena_dup(a, out->at[i].path[k]);
        }
    }
    pthread_mutex_unlock(&c->listing);
    return ok;
}

static bool mcp_check_structured(struct mcp_client *c, str tool, const struct mcp_result *r,
                                 struct err *e)
{
    const struct mcp_known_tool *t;
    bool ok = true;

    pthread_mutex_lock(&c->knowing);
    t = mcp_known_find(c, tool);
    if (t && t->output)
        ok = mcp_result_check(r, t->output, e);
    pthread_mutex_unlock(&c->knowing);
    return ok;
}

static bool mcp_client_tools_put_call(const struct mcp_call *call, struct buf *b, struct err *e)
{
    struct json doc;
    bool ok;

    assert(call->arguments.n > 0);
    ok = json_open(&doc, call->arguments, e) && json_root(&doc)->kind == JSON_OBJECT;
    json_release(&doc);
    if (!ok)
        return err_input(e, "the arguments must be a JSON object");
    buf_add(b, STR("{\"name\":"));
    (void)json_quote(b, call->tool);
    buf_add(b, STR(",\"arguments\":"));
    buf_add(b, call->arguments);
    buf_add_c(b, '}');
    return true;
}

static bool mcp_call_tool(struct mcp_client *c, struct mcp_exchange *x, const struct mcp_call *call,
                          str params, struct err *e)
{
    struct mcp_mirrors mirrors;

    assert(x->call == call);
    if (!mcp_take_mirrors(c, call, false, x->arena, &mirrors, e))
        return false;
    x->mirrors = &mirrors;
    if (mcp_ask(c, x, params, e))
        return true;
    if (x->code != MCP_HEADER_MISMATCH || !x->is_error)
        return false;
    /* The tool has changed since it was listed. */
    return mcp_take_mirrors(c, call, true, x->arena, &mirrors, e) && mcp_ask(c, x, params, e);
}

bool mcp_client_call(struct mcp_client *c, const struct mcp_call *given, struct arena *a,
                     struct mcp_result *out, struct err *e)
{
    struct mcp_call call = *given;
    struct mcp_exchange x = {.method = STR("tools/call"),
                             .name = call.tool,
                             .call = &call,
                             .cancel = call.cancel,
                             .arena = a};
    struct buf b;
    bool ok;

    call.arguments = call.arguments.n ? call.arguments : STR("{}");
    call.timeout_ms = call.timeout_ms ? call.timeout_ms : MCP_CALL_MS;
    call.total_ms = call.total_ms ? call.total_ms : MCP_CALL_TOTAL_MS;
    x.arguments = call.arguments;
    x.idle_ms = (uint64_t)call.timeout_ms;
    x.end_ns = clock_deadline_ns(&clock_real, call.total_ms);
    if (!mcp_is_allowed(c, call.tool))
        return err_set(e,
                       ERR_AUTH,
                       "the tool \"" STR_FMT "\" is not allowed",
                       STR_ARG(str_slice(call.tool, 0, 100)));
    if (arena_left(a) < MCP_ARENA_ROOM)
        return err_set(e, ERR_LIMIT, "there is too little memory for this call");
    if (c->o.approve && !c->o.approve(c->o.ctx, call.tool, call.arguments))
        return err_set(e, ERR_CANCELLED, "the call was not approved");
    buf_init(&b, MCP_MESSAGE_MAX);
    ok = mcp_client_tools_put_call(&call, &b, e) && buf_ok(&b, "the call", e) &&
         mcp_call_tool(c, &x, &call, buf_str(&b), e);
    buf_release(&b);
    if (!ok)
        return false;
    if (c->o.result_max && x.result.n > c->o.result_max)
        return err_set(e,
                       ERR_LIMIT,
                       "the result has %zu bytes; %zu is the limit",
                       x.result.n,
                       c->o.result_max);
    return mcp_result_read(x.result, a, out, e) && mcp_check_structured(c, call.tool, out, e);
}
