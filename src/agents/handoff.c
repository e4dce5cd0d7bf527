/* handoff.c - passes the conversation on to another agent, with the reason.
 *
 * Each possible target is a tool, handoff_to_NAME, whose success ends the loop of the first agent.
 * The target continues the whole conversation in a run below the first one, and its result becomes
 * the result of the first run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/runner_state.h"
#include "base/json_get.h"

static const char handoff_schema[] =
    "{\"type\":\"object\",\"properties\":{\"reason\":{\"type\":\"string\",\"description\":\"Why "
    "the other agent is to go on, and what it needs to know\"}},\"required\":[\"reason\"],"
    "\"additionalProperties\":false}";

static bool handoff_accept(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)c, (void)e;
    buf_add(out, STR("{\"handed_over\":true}"));
    return true;
}

bool agents_handoff_add_tools(struct agents_part *p, struct err *e)
{
    assert(p->tools && (!p->handoff_count || p->handoffs));
    for (size_t i = 0; i < p->handoff_count; i++) {
        const struct agents_handoff *to = &p->handoffs[i];
        struct tool t = {.name = arena_join(p->arena, STR(AGENTS_HANDOFF), to->name, STR("")),
                         .description =
                             arena_printf(p->arena,
                                          "Passes the conversation on to the agent " STR_FMT
                                          ", which continues with it%s" STR_FMT,
                                          STR_ARG(to->name),
                                          to->description.n ? ": " : ".",
                                          STR_ARG(to->description)),
                         .schema = str_c(handoff_schema),
                         .server = STR(""),
                         .flags = TOOL_FINISH | TOOL_PURE | TOOL_IDEMPOTENT,
                         .run = handoff_accept};

        if (!toolbox_add(p->tools->box, &t, e))
            return false;
    }
    return true;
}

/* The agent that the run ended with a handoff to, or NULL. */
static const struct agents_handoff *handoff_target(const struct agents_part *p,
                                                   const struct agent_result *out)
{
    assert(!out->step_count || out->steps);
    for (size_t i = 0; out->finish.n && i < out->step_count; i++) {
        const struct agent_step *s = &out->steps[i];

        if (!s->ok || !str_starts(s->tool, STR(AGENTS_HANDOFF)))
            continue;
        for (size_t k = 0; k < p->handoff_count; k++)
            if (str_eq(str_slice(s->tool, sizeof AGENTS_HANDOFF - 1, s->tool.n),
                       p->handoffs[k].name))
                return &p->handoffs[k];
    }
    return NULL;
}

/* All messages except the first agent's own prompt. */
static str handoff_messages(str history, struct arena *a)
{
    struct json doc;
    struct buf out;
    struct err e;
    str all;

    buf_init(&out, history.n + 1);
    if (json_open(&doc, history, &e))
        JSON_FOREACH(m, &doc, json_root(&doc)) {
            if (json_is(&doc, json_find(&doc, m, STR("role")), STR("system")))
                continue;
            if (out.n)
                buf_add_c(&out, ',');
            buf_add(&out, json_raw(&doc, m));
        }
    all = arena_move_buf(a, &out);
    json_release(&doc);
    return all;
}

static void handoff_take_result(struct agent_result *out, const struct agent_result *from)
{
    assert(out->spent_ms >= 0 && from->waited_ms >= 0);
    out->end = from->end;
    out->reason = from->reason;
    out->detail = from->detail;
    out->text = from->text;
    out->finish = from->finish;
    out->pending = from->pending;
    agent_result_add_usage(out, from);
    /* The time of a resumed run includes the wait for the other run. */
    out->spent_ms -= from->waited_ms < out->spent_ms ? from->waited_ms : out->spent_ms;
    out->waited_ms += from->waited_ms;
}

/* The run ends here instead of handing over. */
static bool handoff_stop(struct agent_result *out, enum agent_end end, const char *reason,
                         str detail)
{
    out->end = end;
    out->reason = str_c(reason);
    out->detail = detail;
    out->finish = STR("");
    return true;
}

bool agents_handoff_follow(struct agents_part *p, struct agent_result *out, struct err *e)
{
    const struct agents_handoff *to = handoff_target(p, out);
    struct agents_part next = {.job = p->job, .arena = p->arena, .depth = p->depth + 1};
    struct agent_result result;

    assert(p->depth <= AGENTS_HANDOFFS_MAX);
    if (!to)
        return true;
    next.agent = agents_find(p->job->setup->config, to->name);
    if (!next.agent)
        return handoff_stop(out,
                            AGENT_FAILED,
                            "agent_not_found",
                            arena_printf(p->arena,
                                         "the agent \"" STR_FMT
                                         "\" of the handoff is not configured any more",
                                         STR_ARG(to->name)));
    if (next.depth > AGENTS_HANDOFFS_MAX)
        return handoff_stop(out,
                            AGENT_STOPPED,
                            "handoff_limit_exceeded",
                            STR("the conversation was passed on too often"));
    if (!agents_limits_left(p, out, &next.limits, out)) {
        out->finish = STR("");
        return true;
    }
    next.run = arena_printf(p->arena, STR_FMT "/" STR_FMT, STR_ARG(p->run), STR_ARG(to->name));
    next.messages = handoff_messages(out->messages, p->arena);
    next.input = arena_printf(p->arena,
                              "The agent " STR_FMT " has passed this conversation on to you. Its "
                              "reason: " STR_FMT "\nGo on with it: the user reads your answer.",
                              STR_ARG(p->agent->name),
                              STR_ARG(json_copy_member(out->finish, "reason", p->arena)));
    if (!agents_part_run(&next, &result, e))
        return false;
    handoff_take_result(out, &result);
    return true;
}
