/* servers.c - the tools of an investigation: those of the agents' runtime, from servers that live
 * as long as the investigation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/engine.h"
#include "gateway/publish.h"
#include "store/step.h"

#define LIST_MS 30000
#define INSTEAD "tools" /* the server in place of those configured */

/* ---- the servers ---- */

static const char *const *servers_plain_env(struct arena *a)
{
    static const char *const names[] = {"PATH", "HOME"};
    const char **env = arena_zero(a, COUNT_OF(names) + 1, sizeof *env);
    size_t n = 0;

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (getenv(names[i]))
            env[n++] = arena_printf(a, "%s=%s", names[i], getenv(names[i])).p;
    return env;
}

void servers_open(struct incident *in)
{
    const char *const *argv = in->o->server_argv;
    struct config_tools *t;

    assert(!in->servers);
    in->defs =
        (struct config){.agents = in->o->setup->config->agents, .ca_file = in->config->ca_file};
    in->listed = STR("{}");
    in->servers = agents_servers_new();
    if (!argv)
        return;
    in->defs.agents = arena_zero(in->arena, 1, sizeof *in->defs.agents);
    in->defs.agents->tools = t = arena_zero(in->arena, 1, sizeof *t);
    in->defs.agents->tools_count = argv[0] ? 1 : 0;
    *t = (struct config_tools){.name = STR(INSTEAD), .url = STR(""), .digest = STR(INSTEAD)};
    if (argv[0] && str_starts(str_c(argv[0]), STR("http"))) {
        t->url = str_c(argv[0]);
    } else {
        t->argv = argv;
        t->env = servers_plain_env(in->arena);
        t->cwd = ".";
    }
}

/* The definition with the server in place of those configured, if there is one. */
static struct config_agent servers_definition(const struct incident *in,
                                              const struct config_agent *of, struct arena *a)
{
    struct config_agent d = *of;

    if (!in->o->server_argv)
        return d;
    d.approve_count = 0;
    d.tools = arena_zero(a, of->tool_count + 1, sizeof *d.tools);
    d.tools[0] = (struct config_tool_ref){.tool = STR("")};
    for (size_t i = 0; i < of->tool_count; i++)
        d.tools[i] = (struct config_tool_ref){.tool = of->tools[i].tool, .optional = true};
    d.tool_count = of->tool_count ? of->tool_count : 1;
    return d;
}

/* ---- their tools ---- */

/* For people who read about it later. */
static void incident_servers_record(void *ctx, const struct agents_listing *l)
{
    struct incident *in = ctx;
    const struct app_host *host = in->o->host;
    struct store_tool t = {
        .id = arena_printf(
            in->arena, STR_FMT "/tools/" STR_FMT, STR_ARG(in->o->run), STR_ARG(l->server)),
        .session_id = in->session,
        .parent_id = STR(""),
        .server_name = l->server,
        .communication_type = STR("tool_list"),
        .tool_name = STR(""),
        .arguments = STR(""),
        .result = STR(""),
        .available_tools = l->tools,
        .error_message = str_c(l->error ? l->error->text : ""),
        .step =
            step_write(in->arena,
                       STR(""),
                       in->chain->name,
                       arena_printf(in->arena, "list the tools of " STR_FMT, STR_ARG(l->server))),
        .timestamp_us = l->asked_us,
        .duration_ms = clock_wall_ms(host->clock) - l->asked_us / 1000,
        .success = !l->error};

    publish_tool_end(host->gateway->store, host->gateway->hub, &t, in->o->key);
}

static struct agents_tools_options servers_options(struct incident *in,
                                                   const struct config_agent *definition)
{
    return (struct agents_tools_options){.config = &in->defs,
                                         .agent = definition,
                                         .servers = in->servers,
                                         .clock = in->o->host->clock,
                                         .listed = in->listed,
                                         .cancel = &in->stop,
                                         .retries = 1,
                                         .list_ms = LIST_MS,
                                         .whole = true,
                                         .on_list = incident_servers_record,
                                         .ctx = in};
}

bool servers_list(void *incident, struct buf *out, struct err *e)
{
    struct incident *in = incident;
    struct config_agent d = servers_definition(in, &in->chain->def, in->arena);
    struct agents_tools_options o = servers_options(in, &d);

    return agents_list_tools(&o, out, e);
}

bool servers_add(struct agent_team *p, struct err *e)
{
    struct config_agent d = servers_definition(p->in, &p->agent->def, &p->arena);
    struct agents_tools_options o = servers_options(p->in, &d);

    assert(p->in->servers && p->in->listed.n > 0);
    if (!agents_open_tools(&o, &p->tools, e))
        return false;
    for (str rest = p->tools->notes; rest.n;) {
        str line = str_cut(&rest, '\n');

        agent_team_note(p, STR_FMT, STR_ARG(line));
    }
    return true;
}

/* ---- descriptions for prompts ---- */

/* One a line, so that a person can read it too. */
void servers_write(const struct agent_team *p, struct buf *out)
{
    assert(out->n == 0);
    buf_add_c(out, '[');
    for (size_t i = 0; i < toolbox_count(p->tools->box); i++) {
        const struct tool *t = toolbox_at(p->tools->box, i);
        struct json_out o;

        buf_add(out, i ? STR(",\n") : STR("\n"));
        json_out_init_object(&o, out);
        json_member_str(&o, "server", t->server);
        json_member_str(&o, "tool", t->own);
        json_member_str(&o, "description", t->description);
        if (t->schema.n)
            json_member_raw(&o, "parameters", t->schema);
        json_out_end(&o);
    }
    buf_add(out, STR("\n]"));
}

static bool servers_uses_server(const struct config_agent *d, size_t source)
{
    for (size_t i = 0; i < d->tool_count; i++)
        if (d->tools[i].source == source)
            return true;
    return false;
}

str servers_instructions(const struct agent_team *p, struct arena *a)
{
    const struct incident_setup *s = p->in->o->setup;
    str all = STR("");

    for (size_t i = 0; !p->in->o->server_argv && i < s->config->agents->tools_count; i++)
        if (s->servers[i].instructions.n && servers_uses_server(&p->agent->def, i))
            all = arena_printf(a,
                               STR_FMT "## " STR_FMT "\n\n" STR_FMT "\n\n",
                               STR_ARG(all),
                               STR_ARG(s->config->agents->tools[i].name),
                               STR_ARG(str_trim(s->servers[i].instructions)));
    return all;
}
