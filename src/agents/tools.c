/* tools.c - puts the tools of one agent from their sources into a toolbox.
 *
 * Every source is listed first, as JSON that the log keeps, and then added from that list. So a
 * resumed run has the same tools as before, whatever its servers list now.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/mcp_tools.h"
#include "agents/http_tool.h"
#include "agents/servers.h"
#include "base/json_get.h"
#include "gateway/config_build.h"
#include "mcp/name.h"

#define OPEN_ARENA ((size_t)512 << 20)
#define LIST_MAX ((size_t)16 << 20)
#define LIST_MS 10000 /* at least, because a server must start first */
#define MARGIN_MS 500 /* so that the request's own timeout comes before the box's */
#define NAME_SHOWN 60

struct agents_open {
    struct agents_tools tools; /* first: the caller has a pointer to it */
    const struct agents_tools_options *o;
    struct agents_servers *servers;
    struct arena arena;
    struct mcp_toolset *set;
    struct mcp_names names;                                 /* of HTTP tools */
    struct agents_server *running[CONFIG_TOOL_SOURCES_MAX]; /* by source; NULL: none */
    struct buf notes;
};

static const struct config_tools *agents_source(const struct agents_open *p, size_t i)
{
    assert(p->o && i < p->o->config->agents->tools_count);
    return &p->o->config->agents->tools[i];
}

static bool agents_uses(const struct agents_open *p, size_t source)
{
    for (size_t i = 0; i < p->o->agent->tool_count; i++)
        if (p->o->agent->tools[i].source == source)
            return true;
    return false;
}

/* ---- the tools of the sources ---- */

static void agents_list_row(struct json_out *o, str name, str description, str schema,
                            bool read_only, bool idempotent)
{
    json_out_object(o);
    json_member_str(o, "name", name);
    json_member_str(o, "description", description);
    json_member_raw(o, "schema", schema.n ? schema : STR("{\"type\":\"object\"}"));
    json_member_bool(o, "read_only", read_only);
    json_member_bool(o, "idempotent", idempotent);
    json_out_end(o);
}

static void agents_list_http(const struct config_tools *t, struct json_out *o)
{
    assert(t->kind != CONFIG_TOOLS_MCP);
    json_out_array(o);
    if (t->kind == CONFIG_TOOLS_HTTP)
        agents_list_row(o, t->name, t->description, t->schema, t->read_only, t->idempotent);
    for (size_t i = 0; i < t->openapi.count; i++) {
        const struct openapi_operation *op = &t->openapi.operations[i];

        agents_list_row(o, op->name, op->description, op->schema, op->read_only, op->idempotent);
    }
    json_out_end(o);
}

/* A server that cannot list its tools is an error in the list; false only if cancelled. */
static bool agents_list_server(struct agents_open *p, size_t source, struct json_out *o,
                               struct err *e)
{
    const struct config_tools *t = agents_source(p, source);
    int64_t least_ms = p->o->list_ms ? p->o->list_ms : LIST_MS, given_ms = (int64_t)t->timeout_ms;
    struct agents_listing l = {.server = t->name, .tools = STR("")};
    struct mcp_client *client = agents_server_client(p->running[source]);
    struct buf list;

    assert(t->kind == CONFIG_TOOLS_MCP && (!client || p->running[source]));
    l.asked_us = clock_wall_ms(p->o->clock) * 1000;
    buf_init(&list, LIST_MAX);
    if (!client)
        err_set(e, ERR_SYSTEM, "it cannot be started");
    if (client && mcp_toolset_list(
                      client, given_ms > least_ms ? given_ms : least_ms, p->o->cancel, &list, e)) {
        l.tools = buf_str(&list);
        json_out_raw(o, l.tools);
    } else if (e->code == ERR_CANCELLED) {
        buf_release(&list);
        return false;
    } else {
        mcp_mask_error(t->mask ? t->mask : p->o->mask, e);
        log_warn("an MCP server cannot be used", LOG_STR("server", t->name), LOG_ERR(e));
        json_out_str(o, str_c(e->text)); /* in place of the list: the error */
        l.error = e;
    }
    if (p->o->on_list)
        p->o->on_list(p->o->ctx, &l);
    buf_release(&list);
    return true;
}

/* {"library": [tools], "stock": "the error"} */
static bool agents_list(struct agents_open *p, struct err *e)
{
    struct json_out o;
    struct buf out;
    bool ok = true;

    buf_init(&out, 4 * LIST_MAX);
    json_out_init_object(&o, &out);
    for (size_t i = 0; ok && i < p->o->config->agents->tools_count; i++) {
        if (!agents_uses(p, i))
            continue;
        json_out_key(&o, agents_source(p, i)->name);
        if (agents_source(p, i)->kind == CONFIG_TOOLS_MCP)
            ok = agents_list_server(p, i, &o, e);
        else
            agents_list_http(agents_source(p, i), &o);
        if (p->o->cancel && atomic_load(p->o->cancel))
            ok = err_set(e, ERR_CANCELLED, "cancelled");
    }
    if (ok) { /* a server that was abandoned has its name in the list, but no value */
        json_out_end(&o);
        ok = json_out_ok(&o, e);
        p->tools.listed = arena_dup(&p->arena, buf_str(&out));
    }
    buf_release(&out);
    return ok;
}

/* ---- the tools that the agent may use ---- */

static bool agents_named(const struct config_tool_ref *refs, size_t n, size_t source, str tool)
{
    for (size_t i = 0; i < n; i++)
        if (refs[i].source == source && (!refs[i].tool.n || str_eq(refs[i].tool, tool)))
            return true;
    return false;
}

/* The tools of a source that are listed by name, ending with NULL; NULL: all of them. */
static const char *const *agents_names(struct agents_open *p, const struct config_tool_ref *refs,
                                       size_t n, size_t source)
{
    const char **out = arena_zero(&p->arena, n + 1, sizeof *out);
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        if (refs[i].source != source)
            continue;
        if (!refs[i].tool.n)
            return NULL;
        out[count++] = arena_dup(&p->arena, refs[i].tool).p;
    }
    assert(count <= n && !out[count]);
    return out;
}

/* A name that the source lacks is an error: otherwise a call that needs approval would run without
 * it. */
static bool agents_check_refs(struct agents_open *p, const struct config_tool_ref *refs, size_t n,
                              size_t source, const char *const *have, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        const char *near;
        bool found = !refs[i].tool.n || refs[i].source != source || refs[i].optional;

        for (size_t j = 0; !found && have[j]; j++)
            found = str_eq(str_c(have[j]), refs[i].tool);
        if (found)
            continue;
        near = config_nearest(refs[i].tool, have);
        return err_input(e,
                         STR_FMT ":%u: the server " STR_FMT " has no tool \"" STR_FMT "\"%s%s%s",
                         STR_ARG(p->o->agent->file),
                         refs[i].line,
                         STR_ARG(agents_source(p, source)->name),
                         STR_ARG(str_slice(refs[i].tool, 0, NAME_SHOWN)),
                         near ? ", did you mean \"" : "",
                         near ? near : "",
                         near ? "\"?" : "");
    }
    return true;
}

static const char *const *agents_listed_names(struct agents_open *p, const struct json *doc,
                                              const struct json_node *list)
{
    const char **have = arena_zero(&p->arena, json_count(doc, list) + 1, sizeof *have);
    size_t n = 0;
    str name;

    JSON_FOREACH(v, doc, list)
        if (json_text(doc, json_find(doc, v, STR("name")), &p->arena, &name))
            have[n++] = arena_dup(&p->arena, name).p;
    assert(!have[n]);
    return have;
}

/* ---- into the toolbox ---- */

static bool agents_add_server(struct agents_open *p, size_t source, const struct json *doc,
                              const struct json_node *list, struct err *e)
{
    const struct config_tools *t = agents_source(p, source);
    const struct config_agent *a = p->o->agent;
    const char *const *have = agents_listed_names(p, doc, list);
    struct mcp_toolset_server row = {.name = t->name,
                                     .client = agents_server_client(p->running[source]),
                                     .mask = t->mask,
                                     .timeout_ms = (unsigned)t->timeout_ms,
                                     .retries = p->o->retries,
                                     .approval = true};

    assert(t->kind == CONFIG_TOOLS_MCP);
    if (!agents_check_refs(p, a->tools, a->tool_count, source, have, e) ||
        !agents_check_refs(p, a->approve, a->approve_count, source, have, e))
        return false;
    row.allow = agents_names(p, a->tools, a->tool_count, source);
    row.approve = agents_names(p, a->approve, a->approve_count, source);
    return mcp_toolset_add(p->set, p->tools.box, &row, json_raw(doc, list), e);
}

/* A call of an operation that is no longer configured fails with this error. */
static bool agents_gone(void *ctx, const struct tool_call *call, struct buf *out, struct err *e)
{
    (void)ctx;
    (void)call;
    (void)out;
    return err_set(e, ERR_NOT_FOUND, "this tool is not configured any more");
}

static bool agents_add_request(struct agents_open *p, size_t source, const struct json *doc,
                               const struct json_node *v, struct err *e)
{
    const struct config_tools *t = agents_source(p, source);
    const struct config_agent *a = p->o->agent;
    struct http_tool *h = arena_zero(&p->arena, 1, sizeof *h);
    struct tool row = {.server = t->name,
                       .timeout_ms = (unsigned)t->timeout_ms + MARGIN_MS,
                       .run = http_tool_run,
                       .ctx = h};
    str tool;

    assert(t->kind != CONFIG_TOOLS_MCP);
    if (!json_text(doc, json_find(doc, v, STR("name")), &p->arena, &tool) ||
        !json_text(doc, json_find(doc, v, STR("description")), &p->arena, &row.description))
        return err_input(e, "a tool of " STR_FMT " has no name", STR_ARG(t->name));
    if (!agents_named(a->tools, a->tool_count, source, tool))
        return true;
    row.schema = json_raw(doc, json_find(doc, v, STR("schema")));
    if (json_get_true(doc, v, "read_only"))
        row.flags |= TOOL_READ_ONLY;
    if (json_get_true(doc, v, "idempotent"))
        row.flags |= TOOL_IDEMPOTENT;
    if (agents_named(a->approve, a->approve_count, source, tool))
        row.flags |= TOOL_APPROVAL;
    row.retries = row.flags & TOOL_READ_ONLY ? 1 : 0;
    row.name = row.own = tool;
    if (t->kind == CONFIG_TOOLS_OPENAPI && !mcp_names_add(&p->names, t->name, tool, &row.name, e))
        return false;
    *h = (struct http_tool){.source = t, .operation = openapi_find(&t->openapi, tool)};
    if ((h->operation == NULL) != (t->kind == CONFIG_TOOLS_HTTP))
        row.run = agents_gone;
    h->io = agents_servers_io(p->servers, p->o->config, e);
    return h->io && toolbox_add(p->tools.box, &row, e);
}

static bool agents_add_source(struct agents_open *p, size_t source, const struct json *doc,
                              struct err *e)
{
    const struct config_tools *t = agents_source(p, source);
    const struct json_node *list = json_find(doc, json_root(doc), t->name);
    str why;

    if (list && list->kind == JSON_OBJECT) { /* logged by earlier versions */
        const struct json_node *tools = json_find(doc, list, STR("tools"));

        list = tools ? tools : json_find(doc, list, STR("error"));
    }
    if (json_text(doc, list, &p->arena, &why)) {
        buf_printf(&p->notes,
                   "The server " STR_FMT " could not be used: " STR_FMT "\n",
                   STR_ARG(t->name),
                   STR_ARG(why));
        return true;
    }
    if (t->kind == CONFIG_TOOLS_MCP)
        return !list || agents_add_server(p, source, doc, list, e);
    JSON_FOREACH(v, doc, list)
        if (!agents_add_request(p, source, doc, v, e))
            return false;
    return true;
}

static bool agents_add_all(struct agents_open *p, struct err *e)
{
    struct json doc;
    bool ok;

    ok = json_open(&doc, p->tools.listed, e);
    /* In the order of the list: a resumed run has the list from its log, and the configuration may
     * have changed its order. */
    for (const struct json_node *k = ok ? json_first(&doc, json_root(&doc)) : NULL; ok && k;
         k = json_next(&doc, json_root(&doc), k))
        for (size_t i = 0; ok && i < p->o->config->agents->tools_count; i++)
            if (json_is(&doc, k, agents_source(p, i)->name) && agents_uses(p, i))
                ok = agents_add_source(p, i, &doc, e);
    json_release(&doc);
    if (ok && !p->o->whole && toolbox_count(p->tools.box) > 0)
        ok = agent_results_add_tool(p->tools.results, p->tools.box, e);
    return ok;
}

/* ---- names ---- */

static bool agents_split_name(const struct agents_open *p, str box_name, str *server, str *tool)
{
    return mcp_toolset_find(p->set, box_name, server, tool) ||
           mcp_names_find(&p->names, box_name, server, tool);
}

str agents_tool_name(const struct agents_tools *t, str box_name)
{
    struct agents_open *p = (struct agents_open *)(void *)(uintptr_t)t;
    str server, tool;

    if (!agents_split_name(p, box_name, &server, &tool))
        return box_name;
    return arena_printf(&p->arena, STR_FMT "." STR_FMT, STR_ARG(server), STR_ARG(tool));
}

/* The name in the box, SOURCE.TOOL, or TOOL if only one source has it. */
static bool agents_find_name(const struct agents_open *p, str written, str *name)
{
    const struct tool *t = toolbox_find(p->tools.box, written);
    size_t dot = str_find(written, STR(".")), found = 0;

    if (t) {
        *name = t->called;
        return true;
    }
    for (size_t i = 0; i < toolbox_count(p->tools.box); i++) {
        str server, tool;
        bool whole;

        t = toolbox_at(p->tools.box, i);
        if (!agents_split_name(p, t->name, &server, &tool))
            continue;
        whole = dot == server.n && str_starts(written, server) &&
                str_eq(str_slice(written, dot + 1, written.n), tool);
        if (whole || str_eq(written, tool)) {
            *name = t->called;
            found++;
        }
        if (whole)
            return true;
    }
    return found == 1;
}

/* For a model that writes calls as text. Some models write the source twice, or a wrong source. */
static bool agents_find_written(void *ctx, str written, str *name)
{
    size_t dot = str_find(written, STR("."));

    return agents_find_name(ctx, written, name) ||
           (dot != STR_NONE && agents_find_name(ctx, str_slice(written, dot + 1, written.n), name));
}

/* ---- life ---- */

/* Errors are ignored here: the list has the reason of an unreachable server. */
static void agents_take_servers(struct agents_open *p)
{
    struct err e;

    for (size_t i = 0; i < p->o->config->agents->tools_count; i++)
        if (agents_uses(p, i) && agents_source(p, i)->kind == CONFIG_TOOLS_MCP) {
            assert(!p->running[i]);
            p->running[i] = agents_server_take(p->servers, p->o->config, agents_source(p, i), &e);
            if (!p->running[i])
                log_warn("an MCP server cannot be used",
                         LOG_STR("server", agents_source(p, i)->name),
                         LOG_ERR(&e));
        }
}

static struct agents_open *agents_open_new(const struct agents_tools_options *o)
{
    static const enum agent_strategy strategies[] = {[CONFIG_NATIVE] = AGENT_NATIVE,
                                                     [CONFIG_REACT] = AGENT_REACT,
                                                     [CONFIG_CLASSIC] = AGENT_CLASSIC};
    struct agents_open *p = base_alloc(sizeof *p);

    assert((size_t)o->agent->strategy < COUNT_OF(strategies));
    assert(o->config->agents->tools_count <= COUNT_OF(p->running));
    *p = (struct agents_open){.o = o, .servers = o->servers};
    arena_init(&p->arena, OPEN_ARENA);
    p->tools.box = toolbox_new(o->clock);
    p->tools.results = agent_results_new();
    p->tools.view = (struct agent_view){.strategy = strategies[o->agent->strategy],
                                        .tools = p->tools.box,
                                        .find_tool = agents_find_written,
                                        .ctx = p};
    p->tools.listed = arena_dup(&p->arena, o->listed);
    p->set = mcp_toolset_new();
    mcp_names_init(&p->names, &p->arena);
    buf_init(&p->notes, 65536);
    agents_take_servers(p);
    return p;
}

bool agents_list_tools(const struct agents_tools_options *o, struct buf *out, struct err *e)
{
    struct agents_open *p = agents_open_new(o);
    bool ok = agents_list(p, e);

    buf_add(out, ok ? p->tools.listed : STR(""));
    buf_release(&p->notes);
    agents_close_tools(&p->tools);
    return ok;
}

bool agents_open_tools(const struct agents_tools_options *o, struct agents_tools **out,
                       struct err *e)
{
    struct agents_open *p = agents_open_new(o);
    bool ok;

    ok = (o->listed.n || agents_list(p, e)) && agents_add_all(p, e);
    assert(!ok || toolbox_count(p->tools.box) <= TOOL_COUNT_MAX);
    p->tools.notes = arena_dup(&p->arena, str_trim(buf_str(&p->notes)));
    buf_release(&p->notes);
    p->o = NULL; /* lent only while the tools are opened */
    if (ok)
        *out = &p->tools;
    else
        agents_close_tools(&p->tools);
    return ok;
}

void agents_close_tools(struct agents_tools *t)
{
    struct agents_open *p = (struct agents_open *)t;

    if (!t)
        return;
    toolbox_free(t->box); /* waits for abandoned calls */
    mcp_toolset_free(p->set);
    agent_results_free(t->results);
    for (size_t i = 0; i < COUNT_OF(p->running); i++)
        agents_server_give(p->servers, p->running[i]);
    mcp_names_release(&p->names);
    arena_release(&p->arena);
    free(p);
}
