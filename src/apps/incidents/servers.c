/* servers.c - the MCP servers of an investigation: clients, their tools, and which agent may use
 * which.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/engine.h"
#include "base/json.h"
#include "base/log.h"
#include "gateway/publish.h"
#include "store/step.h"

#define LIST_MS 30000
#define LIST_MAX ((size_t)8 << 20)
#define INSTEAD "tools" /* the server in place of those configured */

struct serving {
    const struct incident_server *row; /* NULL: the one in place of others */
    str name;
    struct mcp_client *client; /* NULL: error says why */
    struct err error;
    str tools, failure; /* the listed tools, or the error; one of them is "" */
};

struct servers {
    struct incident *in;
    struct arena arena;
    struct mcp_io *io;
    struct serving at[INCIDENT_SERVERS_MAX];
    size_t n;
};

/* ---- clients ---- */

static const char *const *plain_env(struct servers *s)
{
    static const char *const names[] = {"PATH", "HOME"};
    const char **env = arena_zero(&s->arena, COUNT_OF(names) + 1, sizeof *env);
    size_t n = 0;

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (getenv(names[i]))
            env[n++] = arena_printf(&s->arena, "%s=%s", names[i], getenv(names[i])).p;
    return env;
}

static void incident_servers_add(struct servers *s, const struct incident_server *row)
{
    const char *const *argv = row ? row->argv : s->in->o->server_argv;
    struct serving *v = &s->at[s->n++];
    struct mcp_client_options o = {0};

    *v = (struct serving){
        .row = row, .name = row ? row->name : STR(INSTEAD), .tools = STR(""), .failure = STR("")};
    if (row) {
        o.url = row->url;
        o.headers = row->headers;
        o.env = row->env;
        o.cwd = row->cwd;
    } else if (str_starts(str_c(argv[0]), STR("http"))) {
        o.url = str_c(argv[0]);
        argv = NULL;
    } else {
        o.env = plain_env(s);
    }
    o.argv = argv ? mcp_server_argv(argv, &s->arena) : NULL;
    o.url = o.url.p ? o.url : STR("");
    o.headers = o.headers.p ? o.headers : STR("");
    if (s->io)
        v->client = mcp_client_new(s->io, &o, &v->error);
    else
        err_set(&v->error, ERR_SYSTEM, "no thread for the servers could be started");
}

struct servers *servers_new(struct incident *in)
{
    struct servers *s = base_alloc(sizeof *s);
    str ca = in->config->ca_file;
    struct err e;

    memset(s, 0, sizeof *s);
    s->in = in;
    arena_init(&s->arena, INCIDENT_ARENA);
    s->io = mcp_io_new(ca.n ? ca.p : NULL, &e);
    if (in->o->server_argv) {
        if (in->o->server_argv[0])
            incident_servers_add(s, NULL);
        return s;
    }
    for (size_t i = 0; i < in->o->setup->server_count; i++)
        for (const char *const *name = in->chain->server_names; *name; name++)
            if (str_eq(str_c(*name), in->o->setup->servers[i].name))
                incident_servers_add(s, &in->o->setup->servers[i]);
    return s;
}

void servers_free(struct servers *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].client)
            mcp_client_free(s->at[i].client);
    if (s->io)
        mcp_io_free(s->io);
    arena_release(&s->arena);
    free(s);
}

/* ---- their tools ---- */

/* For those who read about it afterwards. */
static void incident_servers_record(struct servers *s, const struct serving *v, str list,
                                    const struct err *e, int64_t began_us)
{
    const struct app_host *host = s->in->o->host;
    int64_t now_us = clock_wall_ms(host->clock) * 1000;
    struct store_tool t = {
        .id = arena_printf(
            &s->arena, STR_FMT "/tools/" STR_FMT, STR_ARG(s->in->o->run), STR_ARG(v->name)),
        .session_id = s->in->session,
        .parent_id = STR(""),
        .server_name = v->name,
        .communication_type = STR("tool_list"),
        .tool_name = STR(""),
        .arguments = STR(""),
        .result = STR(""),
        .available_tools = list,
        .error_message = str_c(e ? e->text : ""),
        .step = step_write(&s->arena,
                           STR(""),
                           s->in->chain->name,
                           arena_printf(&s->arena, "list the tools of " STR_FMT, STR_ARG(v->name))),
        .timestamp_us = began_us,
        .duration_ms = (now_us - began_us) / 1000,
        .success = e == NULL};

    publish_tool_end(host->gateway->store, host->gateway->hub, &t, s->in->o->key);
}

static void incident_servers_list_one(struct servers *s, struct serving *v, struct json_out *o)
{
    int64_t began_us = clock_wall_ms(s->in->o->host->clock) * 1000;
    struct buf list;
    struct err e = v->error;

    buf_init(&list, LIST_MAX);
    json_out_object(o);
    if (v->client && mcp_toolset_list(v->client, LIST_MS, &list, &e)) {
        json_member_raw(o, "tools", buf_str(&list));
        incident_servers_record(s, v, buf_str(&list), NULL, began_us);
    } else {
        mcp_mask_error(v->row ? v->row->mask : NULL, &e);
        incident_servers_record(s, v, STR(""), &e, began_us);
        log_warn("an MCP server cannot be used", LOG_STR("server", v->name), LOG_ERR(&e));
        json_member_str(o, "error", str_c(e.text));
    }
    json_out_end(o);
    buf_release(&list);
}

bool servers_list(void *servers, struct buf *out, struct err *e)
{
    struct servers *s = servers;
    struct json_out o;

    json_out_init(&o, out);
    json_out_object(&o);
    for (size_t i = 0; i < s->n; i++) {
        if (atomic_load(&s->in->stop))
            return err_set(e, ERR_CANCELLED, "cancelled");
        json_out_key(&o, s->at[i].name);
        incident_servers_list_one(s, &s->at[i], &o);
    }
    json_out_end(&o);
    return json_out_ok(&o, e);
}

void servers_listed(struct servers *s, str json)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    for (size_t i = 0; json_parse(&doc, json, &e) && i < s->n; i++) {
        struct serving *v = &s->at[i];
        const struct json_node *one = json_find(&doc, json_root(&doc), v->name);
        const struct json_node *tools = json_find(&doc, one, STR("tools"));

        if (tools)
            v->tools = arena_dup(&s->arena, json_raw(&doc, tools));
        else if (json_text(&doc, json_find(&doc, one, STR("error")), &s->arena, &v->failure))
            v->failure = arena_dup(&s->arena, v->failure);
    }
    json_release(&doc);
}

/* ---- who may use it ---- */

static bool has_server(const struct incident_agent *g, const struct serving *v)
{
    if (!v->row)
        return true;
    for (size_t i = 0; g->server_names[i]; i++)
        if (str_eq(str_c(g->server_names[i]), v->name))
            return true;
    return false;
}

/* The entries of the agent's list that belong to this server: TOOL, or SERVER.TOOL. */
static const char *const *incident_servers_allowed(const struct incident_agent *g,
                                                   const struct serving *v, struct arena *a)
{
    str prefix = arena_join(a, v->name, STR("."), STR(""));
    const char **out;
    size_t n = 0, at = 0;

    if (!g->allow)
        return NULL;
    while (g->allow[n])
        n++;
    out = arena_zero(a, n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++) {
        str name = str_c(g->allow[i]);

        out[at++] = str_starts(name, prefix) ? name.p + prefix.n : name.p;
    }
    return out;
}

static bool agent_may_use(const struct incident_agent *g, const struct serving *v, str tool,
                          struct arena *a)
{
    bool may = has_server(g, v);
    const char *const *allow = may ? incident_servers_allowed(g, v, a) : NULL;

    if (!allow)
        return may;
    for (; *allow; allow++)
        if (str_eq(str_c(*allow), tool))
            return true;
    return false;
}

static bool chain_may_use(const struct servers *s, const struct serving *v, str tool,
                          struct arena *a)
{
    const struct incident_chain *c = s->in->chain;

    for (size_t i = 0; i < c->stage_count; i++)
        for (size_t k = 0; k < c->stages[i].agent_count; k++)
            if (agent_may_use(&s->in->o->setup->agents[c->stages[i].agents[k]], v, tool, a))
                return true;
    return false;
}

const char *const *servers_of_chain(const struct servers *s, struct arena *a)
{
    const char **out = arena_zero(a, TOOL_COUNT_MAX + 1, sizeof *out);
    struct json doc;
    struct err e;
    size_t n = 0;

    json_init(&doc);
    for (size_t i = 0; i < s->n; i++) {
        const struct serving *v = &s->at[i];
        const struct json_node *all =
            v->tools.n && json_parse(&doc, v->tools, &e) ? json_root(&doc) : NULL;

        for (const struct json_node *t = json_first(&doc, all); t && n < TOOL_COUNT_MAX;
             t = json_next(&doc, all, t)) {
            str tool;

            if (json_text(&doc, json_find(&doc, t, STR("name")), a, &tool) &&
                chain_may_use(s, v, tool, a))
                out[n++] = arena_join(a, v->name, STR("."), tool).p;
        }
    }
    json_release(&doc);
    return out;
}

bool servers_add(struct servers *s, struct agent_team *p, struct err *e)
{
    for (size_t i = 0; i < s->n; i++) {
        struct serving *v = &s->at[i];
        struct mcp_toolset_server row = {.name = v->name,
                                         .client = v->client,
                                         .mask = v->row ? v->row->mask : NULL,
                                         .timeout_ms = v->row ? v->row->timeout_ms : 0,
                                         .retries = 1,
                                         .approval = v->row && v->row->approval,
                                         .approve = v->row ? v->row->approve : NULL};

        if (!has_server(p->agent, v))
            continue;
        row.allow = incident_servers_allowed(p->agent, v, &p->arena);
        if (v->failure.n)
            agent_team_note(p,
                            "The server " STR_FMT " could not be used: " STR_FMT,
                            STR_ARG(v->name),
                            STR_ARG(v->failure));
        else if (v->tools.n && !mcp_toolset_add(p->set, p->box, &row, v->tools, e))
            return false;
    }
    return true;
}

/* ---- descriptions for prompts and reports ---- */

/* One a line, so that a person can read it too. */
static void write_tool(struct buf *out, const struct agent_team *p, const struct serving *v,
                       const struct json *doc, const struct json_node *t, struct arena *a)
{
    const struct json_node *schema = json_find(doc, t, STR("schema"));
    str name, box_name, description = STR("");
    struct json_out w, *o = &w;

    if (!json_text(doc, json_find(doc, t, STR("name")), a, &name) ||
        !mcp_toolset_name(p->set, v->name, name, &box_name))
        return; /* not one it may use */
    (void)!json_text(doc, json_find(doc, t, STR("description")), a, &description);
    buf_add(out, out->n > 1 ? STR(",\n") : STR("\n"));
    json_out_init(o, out);
    json_out_object(o);
    json_member_str(o, "server", v->name);
    json_member_str(o, "tool", name);
    json_member_str(o, "description", description);
    if (schema)
        json_member_raw(o, "parameters", json_raw(doc, schema));
    json_out_end(o);
}

void servers_write(const struct servers *s, const struct agent_team *p, struct buf *out)
{
    struct arena a;
    struct json doc;
    struct err e;

    assert(out->n == 0);
    arena_init(&a, INCIDENT_TEXT_MAX);
    json_init(&doc);
    buf_add_c(out, '[');
    for (size_t i = 0; i < s->n; i++) {
        const struct serving *v = &s->at[i];
        const struct json_node *all;

        if (!v->tools.n || !has_server(p->agent, v) || !json_parse(&doc, v->tools, &e))
            continue;
        all = json_root(&doc);
        JSON_FOREACH(t, &doc, all)
            write_tool(out, p, v, &doc, t, &a);
    }
    buf_add(out, STR("\n]"));
    json_release(&doc);
    arena_release(&a);
}

str servers_instructions(const struct servers *s, const struct agent_team *p, struct arena *a)
{
    str all = STR("");

    for (size_t i = 0; i < s->n; i++) {
        const struct serving *v = &s->at[i];

        if (v->row && v->row->instructions.n && has_server(p->agent, v))
            all = arena_printf(a,
                               STR_FMT "## " STR_FMT "\n\n" STR_FMT "\n\n",
                               STR_ARG(all),
                               STR_ARG(v->name),
                               STR_ARG(str_trim(v->row->instructions)));
    }
    return all;
}
