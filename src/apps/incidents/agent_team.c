/* agent_team.c - one agent at work: its tools, its run, its strategy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/engine.h"
#include "base/utf8.h"

#define NOTE_SIZE 1024
#define RESULT_SHOWN ((size_t)256 << 10)

void agent_team_note(struct agent_team *p, const char *fmt, ...)
{
    char text[NOTE_SIZE];
    va_list args;

    assert(p->note_count <= INCIDENT_NOTES_MAX);
    if (p->note_count == INCIDENT_NOTES_MAX)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    /* A sentence that was cut may end inside a character. */
    p->notes[p->note_count++] =
        arena_dup(&p->arena, utf8_cut_size(str_c(text), sizeof text - UTF8_SIZE_MAX));
}

bool agent_team_ok(const struct agent_team *p)
{
    return !p->broken && p->result.text.n > 0 &&
           (p->result.end == AGENT_FINISHED || p->result.end == AGENT_STOPPED);
}

void agent_team_origin(struct agent_team *p, str name, str *server, str *tool)
{
    const struct tool *t = toolbox_find(p->tools->box, name);

    assert(p->tools);
    if (t) {
        *server = arena_dup(&p->arena, t->server);
        *tool = arena_dup(&p->arena, t->own);
    }
}

/* ---- events while it runs ---- */

/* "box__name(k='v')" as "box.name(k='v')". */
static str team_shown_action(struct agent_team *p, str action, str tool)
{
    if (!tool.n || !str_starts(action, tool))
        return action;
    return arena_join(
        &p->arena, agents_tool_name(p->tools, tool), str_slice(action, tool.n, action.n), STR(""));
}

static void incident_agent_on_step(void *ctx, const struct agent_step *s)
{
    struct agent_team *p = ctx;
    str why = p->why;

    if (p->strategy == INCIDENT_CLASSIC && p->step_at < p->point_count &&
        p->points[p->step_at++].reason.n)
        why = p->points[p->step_at - 1].reason;
    incident_step(p->in,
                  &(struct incident_step){.stage = p->stage->name,
                                          .agent = p->label,
                                          .action = team_shown_action(p, s->action, s->tool),
                                          .reason = why,
                                          .reasoning = p->reasoning_seen,
                                          .observation = s->observation,
                                          .ok = s->ok});
}

static void incident_agent_on_effect(void *ctx, const struct agent_effect *f)
{
    struct agent_team *p = ctx;

    if (p->in->o->on_effect)
        p->in->o->on_effect(p->in->o->ctx, f);
}

/* The remaining time as a limit that counts from the run's first start; the time in which no
 * process worked on the run does not count. */
static uint64_t team_time_limit_ms(struct agent_team *p)
{
    const struct app_host *host = p->in->o->host;
    uint64_t now = clock_mono_ns(&clock_real);
    uint64_t left = p->in->soft_ns > now ? (p->in->soft_ns - now) / CLOCK_NS_PER_MS : 0;
    struct agent_row row;
    int64_t before = 0;
    struct err e;

    if (host->log && agent_log_run_get(host->log, p->run, &p->arena, &row, &e))
        before = clock_wall_ms(host->clock) - row.created_us / 1000;
    return left + 1 + (before > 0 ? (uint64_t)before : 0);
}

struct agent_options agent_team_options(struct agent_team *p)
{
    struct agent_options o = incident_agent_options(p->in, p->run);

    if (p->agent->model.n && !p->in->o->model.n)
        o.model_name = p->agent->model;
    o.agent = p->label;
    o.stage = p->stage->name;
    o.tools = p->tools ? p->tools->box : NULL;
    o.limits.iterations = p->agent->iterations;
    o.limits.time_ms = team_time_limit_ms(p);
    o.on_step = incident_agent_on_step;
    o.on_effect = incident_agent_on_effect;
    o.ctx = p;
    return o;
}

/* ---- the strategies ---- */

static void team_fail_agent_team(struct agent_team *p, const struct err *e)
{
    /* A log that does not fit any more will not fit the next time either. */
    if (e->code == ERR_INPUT && str_starts(str_c(e->text), STR("replay_mismatch"))) {
        p->result.end = AGENT_FAILED;
        p->result.reason = STR("replay_mismatch");
        p->result.detail = arena_dup(&p->arena, str_c(e->text));
        p->result.text = STR("");
        return;
    }
    p->broken = true;
    p->err = *e;
}

static void work_classic(struct agent_team *p)
{
    struct agent_options o = agent_team_options(p);
    struct err e;

    assert(!p->work);
    o.ask = p->in->ask;
    if (!agent_work_begin(&o, &p->arena, &p->result, &p->work, &e)) {
        team_fail_agent_team(p, &e);
        return;
    }
    classic_work(p);
    if (!agent_work_end(p->work, STR(""), &e))
        team_fail_agent_team(p, &e);
    p->work = NULL;
}

/* The loop's tool calls as points, with the shortened results of the trace. */
static void team_points_of(struct agent_team *p)
{
    assert(p->point_count == 0);
    p->points = arena_zero(&p->arena, p->result.step_count + 1, sizeof *p->points);
    for (size_t i = 0; i < p->result.step_count; i++) {
        const struct agent_step *s = &p->result.steps[i];
        struct point *t = &p->points[p->point_count];

        if (!s->tool.n)
            continue;
        *t = (struct point){.server = STR(""),
                            .tool = s->tool,
                            .arguments = str_slice(s->action, s->tool.n, s->action.n),
                            .reason = STR(""),
                            .result = s->observation,
                            .ok = s->ok};
        agent_team_origin(p, s->tool, &t->server, &t->tool);
        p->point_count++;
    }
}

static void agent_team_on_reply(void *ctx, str reasoning)
{
    struct agent_team *p = ctx;

    p->reasoning_seen = arena_dup(&p->arena, reasoning);
    p->why = STR("");
    p->turns++;
    agent_team_report_progress(
        p,
        arena_printf(&p->arena, "turn %u of at most %u", p->turns, p->agent->iterations),
        p->turns,
        p->agent->iterations);
}

void agent_team_loop(struct agent_team *p, struct agent_options *o, str system, str user)
{
    static const enum agent_strategy strategies[] = {[INCIDENT_BY_AGENT] = AGENT_NATIVE,
                                                     [INCIDENT_CLASSIC] = AGENT_CLASSIC,
                                                     [INCIDENT_REACT] = AGENT_REACT,
                                                     [INCIDENT_NATIVE] = AGENT_NATIVE};
    struct agent_view *view = &p->tools->view;
    struct err e;

    assert((size_t)p->strategy < COUNT_OF(strategies));
    view->ask = p->in->ask;
    view->strategy = strategies[p->strategy];
    view->data_size = p->agent->data_size;
    view->own_prompt = true;
    view->on_reply = agent_team_on_reply;
    view->reply_ctx = p;
    o->system = system;
    o->user = user;
    o->level = p->level;
    o->ask = agent_view_ask(view);
    o->conclude = true;
    o->result_shown = RESULT_SHOWN; /* the view truncates further, to the room it has */
    if (!agent_run(o, &p->arena, &p->result, &e))
        team_fail_agent_team(p, &e);
}

static void work_loop(struct agent_team *p)
{
    struct agent_options o = agent_team_options(p);
    struct buf user;

    buf_init(&user, INCIDENT_TEXT_MAX);
    prompt_loop(p, &user);
    agent_team_loop(p, &o, prompt_system(p), buf_str(&user));
    if (!p->broken)
        team_points_of(p);
    if (p->result.end == AGENT_STOPPED)
        agent_team_note(p,
                        "The investigation ended early: " STR_FMT " (" STR_FMT ").",
                        STR_ARG(p->result.detail),
                        STR_ARG(p->result.reason));
    buf_release(&user);
}

bool agent_team_open_tools(struct agent_team *p, struct err *e)
{
    assert(!p->tools);
    p->why = p->reasoning_seen = STR("");
    p->result = (struct agent_result){.end = AGENT_FAILED,
                                      .reason = STR("tools_error"),
                                      .detail = STR(""),
                                      .text = STR(""),
                                      .finish = STR("")};
    if (servers_add(p, e))
        return true;
    p->result.detail = arena_dup(&p->arena, str_c(e->text));
    return false;
}

void agent_team_close_tools(struct agent_team *p)
{
    agents_close_tools(p->tools);
    p->tools = NULL;
}

void agent_team_work(struct agent_team *p)
{
    struct err e;

    agent_team_report_progress(p, STR("investigate"), 0, 0);
    if (!agent_team_open_tools(p, &e))
        ; /* the result has the reason */
    else if (p->strategy == INCIDENT_CLASSIC)
        work_classic(p);
    else
        work_loop(p);
    if (!p->broken && p->result.end == AGENT_WAITING)
        incident_report_progress(p->in,
                                 0,
                                 arena_join(&p->arena,
                                            STR("waiting for approval of "),
                                            agents_tool_name(p->tools, p->result.pending.tool),
                                            STR("")),
                                 p->label);
    agent_team_close_tools(p);
}

void agent_team_single(struct agent_team *p, str system, str user)
{
    struct agent_options o = agent_team_options(p);
    struct agent_prompt prompt = {.system = system,
                                  .user = user,
                                  .extra = STR(INCIDENT_EXTRA),
                                  .level = STR(""),
                                  .quiet = true,
                                  .what = STR("make one analysis of several")};
    struct ask_reply reply;
    struct err e;

    assert(!p->work);
    o.ask = p->in->ask;
    o.limits.time_ms = 0;
    if (!agent_work_begin(&o, &p->arena, &p->result, &p->work, &e)) {
        team_fail_agent_team(p, &e);
        return;
    }
    if (agent_work_answer(p->work, &prompt, &reply)) {
        p->result.end = AGENT_FINISHED;
        p->result.text = str_trim(reply.text);
    }
    if (!agent_work_end(p->work, STR(""), &e))
        team_fail_agent_team(p, &e);
    p->work = NULL;
}
