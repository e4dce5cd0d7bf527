/* request.c - checks the request for a run, and stores it as the input of the run's row.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/runner_state.h"

#include "base/json_get.h"
#include "gateway/config_build.h"

static const struct {
    const char *name;
    size_t at;
} request_texts[] = {{"name", offsetof(struct agents_request, name)},
                     {"input", offsetof(struct agents_request, input)},
                     {"content", offsetof(struct agents_request, content)},
                     {"instructions", offsetof(struct agents_request, instructions)},
                     {"messages", offsetof(struct agents_request, messages)},
                     {"thread", offsetof(struct agents_request, thread)},
                     {"session", offsetof(struct agents_request, session)},
                     {"metadata", offsetof(struct agents_request, metadata)},
                     {"tools", offsetof(struct agents_request, tools)},
                     {"key", offsetof(struct agents_request, key)}};

static str *request_text_at(struct agents_request *q, size_t i)
{
    assert(i < COUNT_OF(request_texts));
    return (str *)(void *)((char *)q + request_texts[i].at);
}

void agents_request_write(const struct agents_request *q, struct buf *out)
{
    struct agents_request copy = *q;
    struct json_out o;

    json_out_init_object(&o, out);
    for (size_t i = 0; i < COUNT_OF(request_texts); i++)
        if (request_text_at(&copy, i)->n)
            json_member_str(&o, request_texts[i].name, *request_text_at(&copy, i));
    json_member_bool(&o, "workflow", q->workflow);
    json_out_end(&o);
}

bool agents_request_read(str json, struct arena *a, struct agents_request *out, struct err *e)
{
    struct json doc;
    bool ok;

    *out = (struct agents_request){.run = STR("")};
    ok = json_open(&doc, json, e);
    for (size_t i = 0; ok && i < COUNT_OF(request_texts); i++) {
        str *to = request_text_at(out, i);

        *to = STR("");
        if (json_text(&doc, json_find(&doc, json_root(&doc), str_c(request_texts[i].name)), a, to))
            *to = arena_dup(a, *to);
    }
    if (ok)
        out->workflow = json_get_true(&doc, json_root(&doc), "workflow");
    json_release(&doc);
    return ok;
}

/* ---- the caller's tools ---- */

static bool request_add_tool(const struct json *doc, const struct json_node *t, struct toolbox *box,
                             struct arena *a, struct err *e)
{
    const struct json_node *schema = json_find(doc, t, STR("parameters"));
    struct tool tool = {
        .description = STR(""), .schema = STR(""), .server = STR(""), .flags = TOOL_CLIENT};

    if (json_find(doc, t, STR("function"))) /* in the form of Chat Completions */
        return request_add_tool(doc, json_find(doc, t, STR("function")), box, a, e);
    if (t->kind != JSON_OBJECT || !json_text(doc, json_find(doc, t, STR("name")), a, &tool.name))
        return err_input(e, "tools: each must be an object with a name");
    if (!json_text(doc, json_find(doc, t, STR("description")), a, &tool.description))
        tool.description = STR("");
    if (schema && schema->kind != JSON_NULL) {
        tool.schema = json_raw(doc, schema);
        if (!config_arguments_check(tool.schema, e))
            return err_prefix(e,
                              "tools: the parameters of \"" STR_FMT "\": ",
                              STR_ARG(str_slice(tool.name, 0, 80)));
    }
    if (toolbox_find(box, tool.name))
        return err_input(e,
                         "tools: two tools have the name \"" STR_FMT "\": rename one",
                         STR_ARG(str_slice(tool.name, 0, 80)));
    return toolbox_add(box, &tool, e) || err_prefix(e, "tools: ");
}

bool agents_request_add_tools(str tools, struct toolbox *box, struct err *e)
{
    const struct json_node *root;
    struct arena a;
    struct json doc;
    size_t n = 0;
    bool ok;

    if (!tools.n)
        return true;
    arena_init(&a, 2 * tools.n + 65536);
    ok = json_open(&doc, tools, e);
    root = ok ? json_root(&doc) : NULL;
    if (ok && root->kind != JSON_ARRAY)
        ok = err_input(e, "tools: must be a list");
    for (const struct json_node *t = ok ? json_first(&doc, root) : NULL; ok && t;
         t = json_next(&doc, root, t)) {
        if (n++ == AGENTS_CLIENT_TOOLS_MAX)
            ok = err_input(e, "tools: at most %d are allowed", AGENTS_CLIENT_TOOLS_MAX);
        else
            ok = request_add_tool(&doc, t, box, &a, e);
    }
    json_release(&doc);
    arena_release(&a);
    return ok;
}

/* Whether the name is one of the agent's own, or may become one: its servers list their tools, each
 * SOURCE__TOOL, only when the run starts. */
static bool request_name_is_taken(const struct config_agents *c, const struct config_agent *d,
                                  str name)
{
    if (d->tool_count && str_eq(name, STR(RESULT_SEARCH)))
        return true;
    for (size_t i = 0; i < d->tool_count; i++) {
        const struct config_tools *t = &c->tools[d->tools[i].source];
        bool http = t->kind == CONFIG_TOOLS_HTTP;

        if (http ? str_eq(name, t->name)
                 : str_starts(name, t->name) &&
                       str_starts(str_slice(name, t->name.n, name.n), STR("__")))
            return true;
    }
    for (size_t i = 0; i < d->handoff_count; i++)
        if (str_starts(name, STR(AGENTS_HANDOFF)) &&
            str_eq(str_slice(name, sizeof AGENTS_HANDOFF - 1, name.n),
                   c->agents[d->handoff[i]].name))
            return true;
    return false;
}

static bool request_check_tools(const struct agents_request *q, const struct config *c,
                                struct err *e)
{
    struct toolbox *box = toolbox_new(&clock_real);
    bool ok = agents_request_add_tools(q->tools, box, e);

    for (size_t i = 0; ok && i < toolbox_count(box); i++) {
        str name = toolbox_at(box, i)->name;

        if (request_name_is_taken(c->agents, agents_find(c, q->name), name))
            ok = err_input(e,
                           "tools: \"" STR_FMT
                           "\" is the name of a tool of the agent: give yours another name",
                           STR_ARG(str_slice(name, 0, 80)));
    }
    toolbox_free(box);
    return ok;
}

/* ---- checks ---- */

static bool request_unknown(const struct agents_request *q, const struct config *c, struct err *e)
{
    const char *near = agents_nearest(c, q->name);

    return err_set(e,
                   ERR_NOT_FOUND,
                   "there is no %s \"" STR_FMT "\"%s%s%s",
                   q->workflow ? "workflow" : "agent",
                   STR_ARG(str_slice(q->name, 0, 80)),
                   near ? ": did you mean \"" : "",
                   near ? near : "",
                   near ? "\"?" : "");
}

static const struct config_key *request_key(const struct agents_request *q, const struct config *c)
{
    for (size_t i = 0; i < c->key_count; i++)
        if (str_eq(c->keys[i].name, q->key))
            return &c->keys[i];
    return NULL;
}

/* A key with a list of models may run an agent if the list has agent/NAME. */
static bool request_may_run(const struct config_key *k, str agent, struct err *e)
{
    assert(k->model_count); /* a key without a list may run all agents */
    for (size_t i = 0; i < k->model_count; i++)
        if (str_starts(k->models[i], STR("agent/")) &&
            str_eq(str_slice(k->models[i], 6, k->models[i].n), agent))
            return true;
    return err_set(e,
                   ERR_AUTH,
                   "the key \"" STR_FMT "\" may not run the agent \"" STR_FMT
                   "\": its models do not have \"agent/" STR_FMT "\"",
                   STR_ARG(str_slice(k->name, 0, 60)),
                   STR_ARG(str_slice(agent, 0, 60)),
                   STR_ARG(str_slice(agent, 0, 60)));
}

/* For a workflow, checks every agent; handoffs and guards belong to the definition. */
static bool request_allowed(const struct agents_request *q, const struct config *c, struct err *e)
{
    const struct config_key *k = q->key.n ? request_key(q, c) : NULL;
    const struct config_workflow *w = q->workflow ? agents_find_workflow(c, q->name) : NULL;

    if (!k || !k->model_count)
        return true;
    if (!w)
        return request_may_run(k, q->name, e);
    for (size_t i = 0; i < w->stage_count; i++)
        for (size_t n = 0; n < w->stages[i].agent_count; n++)
            if (!request_may_run(k, c->agents->agents[w->stages[i].agents[n]].name, e))
                return false;
    return true;
}

/* Checks the name of a session or a thread: some databases and terminals refuse control characters.
 */
static bool request_check_name(const char *what, str name, size_t size_max, struct err *e)
{
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.p[i] < ' ')
            return err_input(e, "%s: has a control character: choose another name", what);
    return name.n <= size_max || err_input(e, "%s: is longer than %zu bytes", what, size_max);
}

/* Beside files and images, a text of white space can be meant. */
static bool request_check_text(const struct agents_request *q, struct err *e)
{
    if (!q->input.n)
        return err_input(e, "input: is missing or empty: say what the agent should do");
    if (!q->content.n && !str_trim(q->input).n)
        return err_input(e, "input: has only white space: say what the agent should do");
    return !memchr(q->input.p, 0, q->input.n) ||
           err_input(e, "input: has a NUL character: send it without");
}

bool agents_request_check(const struct agents_request *q, const struct config *c, struct err *e)
{
    const struct config_agent *d;

    if (q->workflow ? !agents_find_workflow(c, q->name) : !agents_find(c, q->name))
        return request_unknown(q, c, e);
    if (!request_allowed(q, c, e))
        return false;
    if (!request_check_text(q, e))
        return false;
    if (q->input.n > AGENTS_INPUT_MAX)
        return err_input(e, "input: is larger than %zu bytes", AGENTS_INPUT_MAX);
    if (!request_check_name("session", q->session, CONVERSATION_SESSION_MAX, e) ||
        !request_check_name("thread", q->thread, THREAD_ID_MAX, e))
        return false;
    if (q->content.n + q->messages.n + q->tools.n + q->metadata.n + q->instructions.n >
        AGENTS_TEXT_MAX / 4)
        return err_input(e, "the conversation is larger than %zu bytes", AGENTS_TEXT_MAX / 4);
    d = agents_find(c, q->name);
    if (q->content.n && !q->workflow && d->guard_input.kind != CONFIG_GUARD_NONE)
        return err_input(e,
                         "the guard of the agent's input reads text only: send no images or files");
    if (q->workflow && q->tools.n)
        return err_input(e, "tools: a workflow takes none from its caller");
    return !q->tools.n || request_check_tools(q, c, e);
}
