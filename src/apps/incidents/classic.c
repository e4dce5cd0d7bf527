/* classic.c - the classic strategy: select tools, select more, analyse.
 *
 * Each model call is one prompt with all known facts, not a conversation. The runtime has removed
 * the reasoning from each reply; the JSON in the rest is parsed as tolerantly as possible without
 * guessing. If it cannot be parsed, the model is asked once more, with the error; if that fails,
 * too, a note in the report says so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/decide.h"
#include "apps/incidents/engine.h"

/* ---- asking ---- */

enum asked { ASKED_OVER, ASKED_READ, ASKED_UNREAD };

/* The prompt; if its answer cannot be read, the prompt and why, once. */
static enum asked incident_classic_ask(struct agent_team *p, struct buf *user, str system,
                                       bool first, struct plan *s)
{
    struct agent_view *view = &p->tools->view;
    struct agent_prompt prompt = {.system = system,
                                  .extra = STR(INCIDENT_EXTRA),
                                  .level = p->reasoning ? p->level : STR(""),
                                  .quiet = !p->reasoning,
                                  .what = first ? STR("choose the first tools")
                                                : STR("go on or conclude"),
                                  .reader = agent_decide_reader(view)};
    struct ask_reply reply;
    struct err e;

    view->strategy = AGENT_CLASSIC;
    view->form = first ? PLAN_FIRST : PLAN_NEXT;
    for (int i = 0; i < 2; i++) {
        prompt.user = buf_str(user);
        if (!agent_work_ask(p->work, &prompt, &reply))
            return ASKED_OVER;
        p->reasoning_seen = reply.reasoning;
        if (!reply.text.n)
            err_input(&e, "the reply has no answer after its reasoning");
        else if (plan_parse(reply.text, view->form, &p->arena, s, &e))
            return ASKED_READ;
        if (i == 0)
            prompt_again(user, reply.text, e.text);
    }
    agent_team_note(
        p,
        "The model was asked twice which tools to call, and its answers could not be read "
        "(%s). %s",
        e.text,
        first ? "No tool was called." : "The investigation ended there.");
    return ASKED_UNREAD;
}

/* ---- acting ---- */

static bool incident_classic_called_before(const struct agent_team *p, size_t n,
                                           const struct point *c)
{
    struct buf now, then;
    bool same = false;

    assert(n <= p->point_count);
    buf_init(&now, INCIDENT_TEXT_MAX);
    buf_init(&then, INCIDENT_TEXT_MAX);
    tool_canonical(&now, c->arguments);
    for (size_t i = 0; i < n && !same; i++) {
        const struct point *t = &p->points[i];

        if (!str_eq(t->tool, c->tool) || !str_eq(t->server, c->server))
            continue;
        buf_reset(&then);
        tool_canonical(&then, t->arguments);
        same = str_eq(buf_str(&now), buf_str(&then));
    }
    buf_release(&now);
    buf_release(&then);
    return same;
}

/* The tools that may still be called, by the servers' names. False: a limit is reached. */
static bool incident_classic_admit_calls(struct agent_team *p, const struct plan *s,
                                         struct ask_call *calls, size_t *n)
{
    const struct agent_view *v = &p->tools->view;
    size_t from = p->point_count;

    assert(s->n <= PLAN_CALLS_MAX && *n == 0);
    for (size_t i = 0; i < s->n; i++) {
        const struct plan_call *said = &s->calls[i];
        struct point c = {said->server, said->tool, said->arguments, said->reason, STR(""), false};
        str name;

        if (p->point_count >= p->agent->max_tool_calls ||
            p->point_count >= p->agent->max_data_points || p->point_count >= INCIDENT_POINTS_MAX)
            return false;
        if (!v->find_tool(v->ctx, said->written, &name))
            name = c.tool.n ? c.tool : STR("none");
        agent_team_origin(p, name, &c.server, &c.tool);
        if (incident_classic_called_before(p, p->point_count, &c))
            continue;
        calls[*n] = (struct ask_call){
            arena_printf(&p->arena, "call-%zu", from + *n + 1), name, c.arguments};
        p->points[p->point_count++] = c;
        ++*n;
    }
    return true;
}

enum acted { ACTED_OVER, ACTED_ALL, ACTED_LIMIT, ACTED_NOTHING };

static enum acted incident_classic_act(struct agent_team *p, struct plan *s)
{
    struct ask_call *calls = arena_zero(&p->arena, PLAN_CALLS_MAX, sizeof *calls);
    struct agent_done *done = arena_zero(&p->arena, PLAN_CALLS_MAX, sizeof *done);
    size_t n = 0, from = p->point_count;
    bool all = incident_classic_admit_calls(p, s, calls, &n);

    assert(n <= PLAN_CALLS_MAX && from + n == p->point_count);
    p->step_at = from;
    if (n && !agent_work_act(p->work, calls, n, done)) {
        p->point_count = from;
        return ACTED_OVER;
    }
    for (size_t i = 0; i < n; i++) {
        p->points[from + i].ok = done[i].ok;
        p->points[from + i].result = done[i].result;
    }
    return !all ? ACTED_LIMIT : n ? ACTED_ALL : ACTED_NOTHING;
}

/* ---- the whole ---- */

/* Why it ended before the model was done: a code and a text; "" if it did not. */
struct early {
    str reason, words;
};

static bool incident_ends_early(struct early *out, str reason, str words)
{
    *out = (struct early){reason, words};
    return true;
}

static void incident_classic_record(struct agent_team *p, const char *action, str reason,
                                    str observation)
{
    incident_step(p->in,
                  &(struct incident_step){.stage = p->stage->name,
                                          .agent = p->label,
                                          .action = str_c(action),
                                          .reason = reason,
                                          .reasoning = p->reasoning_seen,
                                          .observation = observation,
                                          .ok = true});
}

static str incident_classic_limit(struct agent_team *p, unsigned n, const char *noun)
{
    return arena_printf(&p->arena, "the limit of %u %s%s is reached", n, noun, n == 1 ? "" : "s");
}

/* One selection and its calls. False: select again. *over: the run has ended. */
static bool incident_round_ends(struct agent_team *p, str system, unsigned i, struct plan *s,
                                bool *over, struct early *early)
{
    enum asked asked;
    enum acted acted;
    struct buf user;

    assert(i <= p->agent->iterations);
    buf_init(&user, INCIDENT_TEXT_MAX);
    agent_team_report_progress(
        p,
        i == 0 ? STR("choose the first tools")
               : arena_printf(&p->arena, "round %u of at most %u", i, p->agent->iterations),
        i,
        p->agent->iterations);
    if (i == 0)
        prompt_select(p, &user);
    else
        prompt_iterate(p, i, &user);
    asked = incident_classic_ask(p, &user, system, i == 0, s);
    buf_release(&user);
    *over = asked == ASKED_OVER;
    if (asked != ASKED_READ)
        return true;
    p->why = s->reason;
    if (!s->n || (i > 0 && !s->more)) {
        incident_classic_record(p, "conclude", s->reason, STR(""));
        return true;
    }
    acted = incident_classic_act(p, s);
    *over = acted == ACTED_OVER;
    if (acted == ACTED_LIMIT) {
        bool calls = p->agent->max_tool_calls <= p->agent->max_data_points;

        return incident_ends_early(
            early,
            calls ? STR("max_tool_calls_reached") : STR("max_data_points_reached"),
            calls ? incident_classic_limit(p, p->agent->max_tool_calls, "tool call")
                  : incident_classic_limit(p, p->agent->max_data_points, "data point"));
    }
    return *over || acted == ACTED_NOTHING; /* or the model repeats calls whose results it has */
}

/* False: there is nothing to be concluded. */
static bool incident_classic_investigate(struct agent_team *p, str system, struct early *early)
{
    struct plan *s = arena_zero(&p->arena, 1, sizeof *s);
    bool over = false;

    if (!toolbox_count(p->tools->box)) {
        agent_team_note(p, "There were no tools, so no facts could be gathered.");
        return true;
    }
    for (unsigned i = 0; i <= p->agent->iterations; i++) {
        if (!agent_work_within(p->work))
            return p->result.end == AGENT_STOPPED &&
                   incident_ends_early(early, p->result.reason, p->result.detail);
        if (incident_round_ends(p, system, i, s, &over, early))
            return !over;
    }
    return incident_ends_early(early,
                               STR("max_iterations_reached"),
                               incident_classic_limit(p, p->agent->iterations, "round"));
}

static void incident_classic_conclude(struct agent_team *p, str system, const struct early *early)
{
    struct agent_prompt prompt = {.system = system,
                                  .extra = STR(INCIDENT_EXTRA),
                                  .level = STR(""),
                                  .quiet = true,
                                  .what = early->reason.n ? STR("analyse what there is")
                                                          : STR("analyse the alert")};
    struct ask_reply reply;
    struct buf user;

    buf_init(&user, INCIDENT_TEXT_MAX);
    agent_team_report_progress(
        p, STR("write the analysis"), p->agent->iterations, p->agent->iterations);
    prompt_analysis(p, early->words, &user);
    prompt.user = buf_str(&user);
    p->why = STR("");
    if (early->reason.n)
        agent_team_note(p, "The investigation ended early: " STR_FMT ".", STR_ARG(early->words));
    if (agent_work_answer(p->work, &prompt, &reply)) {
        p->reasoning_seen = reply.reasoning;
        p->result.end = early->reason.n ? AGENT_STOPPED : AGENT_FINISHED;
        p->result.text = str_trim(reply.text);
        p->result.reason = early->reason;
        p->result.detail = early->words;
        incident_classic_record(p, "analysis", STR(""), p->result.text);
    }
    buf_release(&user);
}

void classic_work(struct agent_team *p)
{
    struct early early = {STR(""), STR("")};
    str system = prompt_system(p);

    p->points = arena_zero(&p->arena, p->agent->max_tool_calls + PLAN_CALLS_MAX, sizeof *p->points);
    if (incident_classic_investigate(p, system, &early))
        incident_classic_conclude(p, system, &early);
}
