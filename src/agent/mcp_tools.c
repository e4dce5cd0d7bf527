/* mcp_tools.c - see mcp_tools.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/mcp_tools.h"

#include "base/json_get.h"
#include "base/log.h"
#include "mcp/name.h"

#include <unistd.h>

#define ARENA_MAX ((size_t)256 << 20)
#define CALL_ARENA ((size_t)128 << 20)
#define MARGIN_MS 500 /* the client's timeout comes before the box's */

struct served {
    str server, tool, name;
    struct mcp_client *client;
    const struct mask *mask;
    unsigned timeout_ms;
};

struct mcp_toolset {
    struct arena arena;
    struct mcp_names names;
    size_t count;
};

struct mcp_toolset *mcp_toolset_new(void)
{
    struct mcp_toolset *m = base_alloc(sizeof *m);

    memset(m, 0, sizeof *m);
    arena_init(&m->arena, ARENA_MAX);
    mcp_names_init(&m->names, &m->arena);
    return m;
}

void mcp_toolset_free(struct mcp_toolset *m)
{
    if (!m)
        return;
    mcp_names_release(&m->names);
    arena_release(&m->arena);
    free(m);
}

const char *const *mcp_server_argv(const char *const *argv, struct arena *a)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    const char **out;
    size_t count = 0;

    if (n <= 0 || strcmp(argv[0], "rationale") != 0)
        return argv;
    path[n] = '\0';
    if (!str_ends(str_c(path), STR("/rationale")))
        return argv;
    while (argv[count])
        count++;
    out = arena_zero(a, count + 1, sizeof *out);
    for (size_t i = 1; i < count; i++)
        out[i] = argv[i];
    out[0] = arena_dup(a, str_c(path)).p;
    return out;
}

/* ---- the tools of a server ---- */

bool mcp_toolset_list(struct mcp_client *c, int64_t timeout_ms, const _Atomic bool *cancel,
                      struct buf *out, struct err *e)
{
    struct mcp_tools tools;
    struct json_out o;
    struct arena a;
    bool ok;

    arena_init(&a, ARENA_MAX);
    ok = mcp_client_tools(c, timeout_ms, cancel, &a, &tools, e);
    json_out_init(&o, out);
    if (ok)
        json_out_array(&o);
    for (size_t i = 0; ok && i < tools.n; i++) {
        const struct mcp_tool_info *t = &tools.at[i];

        json_out_object(&o);
        json_member_str(&o, "name", t->name);
        json_member_str(&o, "description", t->description.n ? t->description : t->title);
        json_member_raw(
            &o, "schema", t->input_schema.n ? t->input_schema : STR("{\"type\":\"object\"}"));
        json_member_bool(&o, "read_only", t->read_only);
        json_member_bool(&o, "idempotent", t->idempotent);
        json_out_end(&o);
    }
    if (ok) {
        json_out_end(&o);
        ok = json_out_ok(&o, e);
    }
    arena_release(&a);
    return ok;
}

void mcp_mask_error(const struct mask *mask, struct err *e)
{
    struct buf masked;

    buf_init(&masked, 65536);
    if (mask && mask_text(mask, str_c(e->text), &masked, NULL))
        err_set(e, e->code, STR_FMT, STR_ARG(buf_str(&masked)));
    buf_release(&masked);
}

/* ---- one call ---- */

static void agent_mcp_tools_put_masked(const struct mask *mask, str text, struct buf *out)
{
    struct buf masked;

    buf_init(&masked, 4 * text.n + 65536);
    if (mask && mask_json(mask, text, &masked, NULL))
        buf_add(out, buf_full(&masked) ? STR(MASK_LEFT_OUT) : buf_str(&masked));
    else
        buf_add(out, text);
    buf_release(&masked);
}

static bool mcp_fail_masked(const struct served *t, struct err *e)
{
    char text[sizeof e->text];
    struct buf out;

    buf_init(&out, sizeof e->text * 8);
    (void)snprintf(text, sizeof text, "%s", e->text);
    agent_mcp_tools_put_masked(t->mask, str_c(text), &out);
    err_set(e, e->code, STR_FMT, STR_ARG(buf_str(&out)));
    buf_release(&out);
    return false;
}

static bool agent_mcp_tools_run_tool(void *ctx, const struct tool_call *call, struct buf *out,
                                     struct err *e)
{
    const struct served *t = ctx;
    struct mcp_result result;
    struct mcp_call mcp = {.tool = t->tool,
                           .arguments = call->arguments,
                           .timeout_ms = t->timeout_ms,
                           .total_ms = t->timeout_ms,
                           .cancel = call->cancel};
    struct buf text;
    struct arena a;
    bool ok;

    assert(t->timeout_ms > 0);
    if (!t->client)
        return err_set(e, ERR_NOT_FOUND, "the server " STR_FMT " is not there", STR_ARG(t->server));
    arena_init(&a, CALL_ARENA);
    buf_init(&text, MCP_TOOL_RESULT_MAX + 65536);
    ok = mcp_client_call(t->client, &mcp, &a, &result, e);
    if (ok) {
        if (result.is_error)
            buf_add(out, STR(TOOL_REPORTS));
        *call->reported = result.is_error;
        mcp_result_text(&result, MCP_TOOL_RESULT_MAX, &text);
        agent_mcp_tools_put_masked(t->mask, buf_str(&text), out);
    }
    buf_release(&text);
    arena_release(&a);
    return ok || mcp_fail_masked(t, e);
}

/* ---- into the box ---- */

static bool agent_mcp_tools_allowed(const struct mcp_toolset_server *s, str tool)
{
    if (!s->allow)
        return true;
    for (size_t i = 0; s->allow[i]; i++)
        if (str_eq(tool, str_c(s->allow[i])))
            return true;
    return false;
}

static bool agent_mcp_tools_needs_approval(const struct mcp_toolset_server *s, str tool)
{
    if (!s->approval || !s->approve)
        return s->approval;
    for (size_t i = 0; s->approve[i]; i++)
        if (str_eq(str_c(s->approve[i]), tool))
            return true;
    return false;
}

static struct tool agent_mcp_tools_row_of(const struct json *doc, const struct json_node *v,
                                          const struct mcp_toolset_server *s, struct served *t,
                                          struct arena *a)
{
    const struct json_node *schema = json_find(doc, v, STR("schema"));
    struct tool row = {.name = t->name,
                       .description = STR(""),
                       .schema = schema ? json_raw(doc, schema) : STR(""),
                       .server = t->server,
                       .own = t->tool,
                       .flags = agent_mcp_tools_needs_approval(s, t->tool) ? TOOL_APPROVAL : 0,
                       .unknown = s->unknown,
                       .timeout_ms = t->timeout_ms + MARGIN_MS,
                       .retries = s->retries,
                       .run = agent_mcp_tools_run_tool,
                       .ctx = t};

    if (json_get_true(doc, v, "read_only"))
        row.flags |= TOOL_READ_ONLY;
    if (json_get_true(doc, v, "idempotent"))
        row.flags |= TOOL_IDEMPOTENT;
    (void)!json_text(doc, json_find(doc, v, STR("description")), a, &row.description);
    return row;
}

static bool agent_mcp_tools_add_one(struct mcp_toolset *m, struct toolbox *box,
                                    const struct mcp_toolset_server *s, const struct json *doc,
                                    const struct json_node *v, struct err *e)
{
    struct served *t;
    struct tool row;
    str tool;

    assert(m->count <= TOOL_COUNT_MAX);
    if (!json_text(doc, json_find(doc, v, STR("name")), &m->arena, &tool))
        return err_input(e, "a tool of " STR_FMT " has no name", STR_ARG(s->name));
    if (!agent_mcp_tools_allowed(s, tool))
        return true;
    if (m->count == TOOL_COUNT_MAX)
        return err_set(e, ERR_LIMIT, "more than %d tools", TOOL_COUNT_MAX);
    t = arena_zero(&m->arena, 1, sizeof *t);
    *t = (struct served){.server = arena_dup(&m->arena, s->name),
                         .tool = arena_dup(&m->arena, tool),
                         .client = s->client,
                         .mask = s->mask,
                         .timeout_ms = s->timeout_ms ? s->timeout_ms : MCP_CALL_MS};
    if (!mcp_names_add(&m->names, t->server, t->tool, &t->name, e))
        return false;
    row = agent_mcp_tools_row_of(doc, v, s, t, &m->arena);
    if (!toolbox_add(box, &row, e)) {
        log_warn("the schema of a tool cannot be used: any arguments are taken",
                 LOG_STR("tool", t->name),
                 LOG_ERR(e));
        row.schema = STR("");
        if (!toolbox_add(box, &row, e))
            return false;
    }
    assert(t->name.n > 0 && toolbox_find(box, t->name));
    m->count++;
    return true;
}

bool mcp_toolset_add(struct mcp_toolset *m, struct toolbox *box, const struct mcp_toolset_server *s,
                     str list, struct err *e)
{
    const struct json_node *all;
    struct json doc;
    bool ok;

    ok = json_open(&doc, list, e);
    all = ok ? json_root(&doc) : NULL;
    for (const struct json_node *v = json_first(&doc, all); ok && v; v = json_next(&doc, all, v))
        ok = agent_mcp_tools_add_one(m, box, s, &doc, v, e);
    json_release(&doc);
    return ok;
}

/* ---- names ---- */

bool mcp_toolset_find(const struct mcp_toolset *m, str name, str *server, str *tool)
{
    return mcp_names_find(&m->names, name, server, tool);
}
