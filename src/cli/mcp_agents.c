/* mcp_agents.c - tools that `rationale mcp` serves: each agent and workflow of the configuration.
 *
 * A call opens what it needs and closes it again, so that a daemon can use the store between calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/mcp_agents.h"

#include "cli/agent_link.h"
#include "mcp/rpc.h"

#define ANSWER_MAX ((size_t)32 << 20)

static const char mcp_agents_input[] =
    "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\",\"description\":\"what "
    "the "
    "agent is to do\"},\"thread\":{\"type\":\"string\",\"description\":\"the conversation to go on "
    "with\"}},\"required\":[\"input\"],\"additionalProperties\":false}";

/* A run that waits for a person is reported, with how to continue it. */
static void mcp_agents_answer(const struct agent_show *s, str text, struct mcp_answer *answer)
{
    if (s->waiting.waits)
        mcp_answer_fail(answer,
                        "the run " STR_FMT " waits for approval of " STR_FMT
                        ": a person answers with `rationale runs approve`",
                        STR_ARG(s->run),
                        STR_ARG(s->waiting.tool));
    else if (str_eq(s->status, STR("done")))
        mcp_answer_text(answer, text);
    else
        mcp_answer_fail(answer,
                        "the run " STR_FMT " is " STR_FMT " (" STR_FMT ")",
                        STR_ARG(s->run),
                        STR_ARG(s->status.n ? s->status : STR("left")),
                        STR_ARG(s->reason));
}

static void mcp_agents_call(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
{
    struct cli_mcp_agents *m = ctx;
    const struct config_key *who = ask->who;
    struct cli cli = {.terminal = false};
    struct agents_request q = {
        .run = STR(""),
        .name = mcp_member(ask->doc, ask->params, STR("name"), ask->arena),
        .input = mcp_member(ask->doc, ask->arguments, STR("input"), ask->arena),
        .thread = mcp_member(ask->doc, ask->arguments, STR("thread"), ask->arena),
        .messages = STR(""),
        .session = STR(""),
        .metadata = STR(""),
        .tools = STR(""),
        .key = who ? who->name : STR("")};
    struct agent_link l;
    struct agent_show s;
    struct buf text;
    struct err e;
    int code;

    q.workflow = !agents_find(m->config, q.name);
    buf_init(&text, ANSWER_MAX);
    agent_show_init(&s, &cli, false);
    s.quiet = true;
    s.answer = &text;
    if (!agent_link_open(&l, m->path, &code))
        mcp_answer_fail(answer, "the agents cannot be run now: see the log of the server");
    else if (!agent_link_run(&l, &q, &s, &e))
        mcp_answer_fail(answer, "%s", e.text);
    else
        mcp_agents_answer(&s, buf_str(&text), answer);
    agent_link_close(&l);
    agent_show_release(&s);
    buf_release(&text);
}

static void mcp_agents_add(struct cli_mcp_agents *m, str name, str description)
{
    assert(name.n > 0 && name.p[name.n] == '\0');
    m->tools[m->set.tool_count++] = (struct mcp_tool){
        .name = name.p,
        .title = name.p,
        .description = description.n ? description.p : "An agent: give it a task in words.",
        .input = mcp_agents_input,
        .run = mcp_agents_call};
}

void cli_mcp_agents_init(struct cli_mcp_agents *m, const struct config *c, const char *path)
{
    const struct config_agents *all = c->agents;

    assert(all && path);
    *m = (struct cli_mcp_agents){.config = c, .path = path};
    m->tools = base_alloc((all->agent_count + all->workflow_count + 1) * sizeof *m->tools);
    for (size_t i = 0; i < all->agent_count; i++)
        mcp_agents_add(m, all->agents[i].name, all->agents[i].description);
    for (size_t i = 0; i < all->workflow_count; i++)
        if (!agents_find(c, all->workflows[i].name))
            mcp_agents_add(m, all->workflows[i].name, STR("A workflow of several agents."));
    m->set.tools = m->tools;
    m->set.ctx = m;
}

void cli_mcp_agents_release(struct cli_mcp_agents *m)
{
    free(m->tools);
}
