/* turn.c - the calls of one turn: checked, approved, made in parallel, and their results added to
 * the history.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_json.h"
#include "agent/turn_state.h"
#include "agent/work.h"

#include "base/json.h"
#include "base/utf8.h"

#define WHY_MAX 4096
#define NAME_SHOWN 80

/* ---- texts ---- */

str run_cut(struct run *r, str text, size_t size_max, const char *what)
{
    str front = utf8_cut_size(text, size_max);

    if (front.n == text.n)
        return text;
    return arena_printf(r->arena,
                        STR_FMT "\n[cut: %zu of %zu bytes shown; %s]",
                        STR_ARG(front),
                        front.n,
                        text.n,
                        what);
}

void run_step(struct run *r, str action, str observation, str tool, bool ok)
{
    struct agent_result *out = r->out;
    bool whole = utf8_cut_count(observation, AGENT_OBSERVATION).n == observation.n;
    str front = whole ? observation : utf8_cut_count(observation, AGENT_OBSERVATION - 3);
    struct agent_step *s;

    assert(out->step_count <= r->steps_max);
    if (out->step_count == RUN_STEPS_MAX)
        return;
    if (out->step_count == r->steps_max) {
        r->steps_max = r->steps_max ? 2 * r->steps_max : 16;
        s = arena_zero(r->arena, r->steps_max, sizeof *s);
        if (out->step_count)
            memcpy(s, out->steps, out->step_count * sizeof *s);
        out->steps = s;
    }
    assert(out->step_count < r->steps_max);
    s = &out->steps[out->step_count++];
    *s = (struct agent_step){.step = (unsigned)out->step_count,
                             .action = arena_dup(r->arena, action),
                             .observation =
                                 whole ? arena_dup(r->arena, front)
                                       : arena_printf(r->arena, STR_FMT "...", STR_ARG(front)),
                             .tool = arena_dup(r->arena, tool),
                             .thought = r->thought.n ? effect_masked(r, r->thought) : STR(""),
                             .ok = ok};
    r->thought = STR("");
    if (r->o->on_step)
        r->o->on_step(r->o->ctx, s);
}

static void turn_error_write(const struct run *r, struct buf *out, str why)
{
    buf_add(out, r->o->say_success ? STR("{\"success\":false,\"error\":") : STR("{\"error\":"));
    (void)json_quote(out, why);
    buf_add_c(out, '}');
}

str turn_error(struct run *r, str why)
{
    struct buf out;

    buf_init(&out, 8 * WHY_MAX);
    turn_error_write(r, &out, why);
    return arena_move_buf(r->arena, &out);
}

void turn_settle(struct turn *t, struct turn_call *c, bool ok, str result)
{
    assert(!c->settled && c >= t->calls && c < t->calls + t->n);
    c->settled = true;
    c->ok = ok;
    c->result = result;
}

/* ---- checks ---- */

static str turn_tool_names(struct run *r)
{
    struct buf all;

    buf_init(&all, WHY_MAX);
    for (size_t i = 0; i < toolbox_count(r->o->tools) && !buf_full(&all); i++)
        buf_printf(&all, "%s" STR_FMT, i ? ", " : "", STR_ARG(toolbox_at(r->o->tools, i)->called));
    return arena_move_buf(r->arena, &all);
}

/* Invalid arguments: the model gets the path and the reason as the tool's result. */
void turn_check(struct turn *t, struct turn_call *c)
{
    struct run *r = t->r;
    struct buf why;

    c->settled = c->valid = false;
    c->tool = toolbox_find(r->o->tools, c->asked->name);
    if (!c->tool) {
        turn_settle(t,
                    c,
                    false,
                    turn_error(r,
                               arena_printf(r->arena,
                                            "there is no tool \"" STR_FMT "\"; there are: " STR_FMT,
                                            STR_ARG(str_slice(c->asked->name, 0, NAME_SHOWN)),
                                            STR_ARG(turn_tool_names(r)))));
        return;
    }
    buf_init(&why, WHY_MAX);
    c->valid = toolbox_check(r->o->tools, c->tool, c->arguments, &why);
    if (!c->valid)
        turn_settle(t, c, false, turn_error(r, buf_str(&why)));
    buf_release(&why);
}

/* ---- results in the log ---- */

static bool agent_turn_again(const struct tool *tool)
{
    return (tool->flags & (TOOL_READ_ONLY | TOOL_IDEMPOTENT)) ||
           tool->unknown == TOOL_UNKNOWN_RETRY;
}

/* Whether the run continued after a call without a result: it asked the model or a person later, or
 * ended. Otherwise the call may still be running. */
static bool turn_was_left(const struct run *r, int64_t seq)
{
    if (r->ended)
        return true;
    for (size_t i = 0; i < r->logged_count; i++)
        if (r->logged[i].seq > seq && !str_eq(r->logged[i].kind, STR("tool")) &&
            !str_eq(r->logged[i].kind, STR("client")))
            return true;
    return false;
}

static bool turn_unknown_end(struct turn *t, struct turn_call *c)
{
    struct turn_word said = {.word = STR("deny")};
    bool again = agent_turn_again(c->tool);

    assert(c->valid && !c->settled);
    if (t->r->o->replay && !turn_was_left(t->r, c->seq))
        return effect_missing(t->r, c->seq);
    if (again && !t->r->o->replay)
        return true;
    if (!again && c->tool->unknown == TOOL_UNKNOWN_ASK &&
        !turn_ask_person(t, c, c->seq + AGENT_UNKNOWN_SEQ, STR("unknown"), &said))
        return false;
    if (str_eq(said.word, STR("deny")))
        turn_settle(t, c, false, turn_error(t->r, STR(AGENT_END_UNKNOWN)));
    return true;
}

/* Who makes the call: this process, or the run's caller. */
static str turn_kind(const struct tool *tool)
{
    return tool->flags & TOOL_CLIENT ? STR("client") : STR("tool");
}

static struct agent_effect turn_effect_of(const struct turn *t, struct turn_call *c)
{
    struct run *r = t->r;
    struct buf asked;
    struct agent_effect f;

    assert(c->valid && c->tool && c->seq < r->seq);
    buf_init(&asked, TOOL_RESULT_MAX);
    tool_canonical(&asked, c->arguments);
    c->shown = effect_masked(r, c->arguments);
    f = (struct agent_effect){
        .run = r->o->run,
        .seq = c->seq,
        .kind = turn_kind(c->tool),
        .care = agent_turn_again(c->tool) ? AGENT_LATER : AGENT_ON_DISK,
        .name = c->tool->name,
        .key = effect_key(r, c->seq, turn_kind(c->tool), c->tool->name, buf_str(&asked)),
        .request = c->shown,
        .result = STR(""),
        .started_us = run_now_us(r)};
    buf_release(&asked);
    return f;
}

/* A call that is not made (no such tool, invalid arguments, denied) is logged with its end at
 * once, so that the events of the run have it. In logs of older versions the next effect is
 * another one. */
static bool turn_log_refused(struct turn *t, struct turn_call *c, struct agent_effect *out)
{
    struct run *r = t->r;
    str name = c->tool ? c->tool->name : c->asked->name;
    const struct agent_effect *f = effect_at(r, r->seq);
    str key = effect_key(r, r->seq, STR("tool"), name, c->arguments);

    if (f && str_eq(f->kind, STR("tool")) && str_eq(f->key, key)) {
        r->seq++;
        return false;
    }
    if (f || r->o->replay)
        return false;
    *out = (struct agent_effect){.run = r->o->run,
                                 .seq = r->seq++,
                                 .kind = STR("tool"),
                                 .name = name,
                                 .key = key,
                                 .request = effect_masked(r, c->arguments),
                                 .result = effect_masked(r, c->result),
                                 .failed = true,
                                 .care = AGENT_LATER,
                                 .state = AGENT_DONE,
                                 .started_us = run_now_us(r),
                                 .ended_us = run_now_us(r)};
    return true;
}

/* Takes logged calls from the log, and logs an intent for each new call. */
static bool turn_log_intents(struct turn *t)
{
    struct agent_effect *fresh = arena_zero(t->r->arena, t->n + 1, sizeof *fresh), *f;
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++) {
        struct turn_call *c = &t->calls[i];
        enum known known;

        if (c->settled) {
            n += turn_log_refused(t, c, &fresh[n]);
            continue;
        }
        /* A daemon that was killed may have logged no intent of a call that is safe to repeat. */
        if (!effect_logged(t->r, t->r->seq) && run_replay_ends(t->r))
            return false;
        c->seq = t->r->seq++;
        fresh[n] = turn_effect_of(t, c);
        known = effect_find(t->r, c->seq, fresh[n].kind, fresh[n].key, &f);
        if (t->r->broken)
            return false;
        if (known == KNOWN_DONE) {
            turn_settle(t, c, !f->failed, f->result);
            t->r->out->tool_calls++;
            if (c->tool->flags & TOOL_CLIENT) /* the caller has made it meanwhile */
                agent_record_tool(t->r, c->tool, f, f->started_us);
        } else if (known == KNOWN_NOT) {
            n++;
        } else if (!(c->tool->flags & TOOL_CLIENT) && !turn_unknown_end(t, c)) {
            return false;
        }
    }
    assert(n <= t->n);
    return !n || effect_flush(t->r, fresh, n, NULL);
}

/* ---- making the calls ---- */

struct batch {
    struct turn *t;
    struct turn_call **of; /* by place in the batch */
    struct tool_result *first;
    bool alone;    /* a single call: its end is written with the next effect */
    int64_t at_us; /* the first call's place in the record; the others follow in order */
};

static void mask_result(struct run *r, struct tool_result *res)
{
    struct buf out;

    for (size_t i = 0; i < res->out.n; i++) /* the model sees the same text as the log */
        res->out.p[i] = res->out.p[i] ? res->out.p[i] : ' ';
    if (!r->o->mask || !res->out.n)
        return;
    buf_init(&out, 4 * res->out.n + 65536);
    if (mask_json(r->o->mask, buf_str(&res->out), &out, NULL)) {
        buf_release(&res->out);
        res->out = out;
        return;
    }
    buf_release(&out);
}

/* Logs the call's end at once, also while other calls still run. On the tool's thread, or the
 * run's. */
static void agent_turn_on_end(void *ctx, struct tool_result *res)
{
    struct batch *b = ctx;
    struct run *r = b->t->r;
    const struct turn_call *c = b->of[res - b->first];
    struct agent_effect f = {.run = r->o->run,
                             .seq = c->seq,
                             .kind = STR("tool"),
                             .care = agent_turn_again(c->tool) ? AGENT_SAFE : AGENT_ON_DISK,
                             .name = c->tool->name,
                             .key = res->call.key,
                             .request = c->shown,
                             .failed = !res->ok,
                             .state = AGENT_DONE,
                             .started_us = res->started_us,
                             .ended_us = run_now_us(r)};

    assert(res >= b->first && (size_t)(res - b->first) < b->t->n);
    if (!res->ok && !res->reported) {
        buf_reset(&res->out);
        turn_error_write(r, &res->out, str_c(res->err.text));
    }
    mask_result(r, res);
    if (!res->ok && res->err.code == ERR_CANCELLED && r->o->leave && atomic_load(r->o->leave))
        return; /* its outcome is unknown */
    f.result = buf_str(&res->out);
    if (b->alone)
        effect_hold(r, &f);
    else if (!effect_put(r, &f))
        return;
    agent_record_tool(r, c->tool, &f, b->at_us + (res - b->first));
}

static void agent_turn_carry_out(struct turn *t, bool finishing)
{
    struct tool_result *results = arena_zero(t->r->arena, t->n + 1, sizeof *results);
    struct turn_call **of = arena_zero(t->r->arena, t->n + 1, sizeof(struct turn_call *));
    struct batch b = {t, of, results, false, run_now_us(t->r)};
    struct tool_batch batch = {.results = results,
                               .cancel = t->r->o->cancel,
                               .timeout_ms = run_time_left_ms(t->r),
                               .on_end = agent_turn_on_end,
                               .ctx = &b};

    for (size_t i = 0; i < t->n; i++) {
        struct turn_call *c = &t->calls[i];

        if (!c->valid || c->settled || finishing != ((c->tool->flags & TOOL_FINISH) != 0) ||
            (c->tool->flags & TOOL_CLIENT))
            continue;
        assert(batch.n < t->n);
        of[batch.n] = c;
        results[batch.n].tool = c->tool;
        results[batch.n].call = (struct tool_call){.id = c->asked->id,
                                                   .name = c->tool->name,
                                                   .arguments = c->arguments,
                                                   .key = turn_effect_of(t, c).key,
                                                   .session = t->r->o->session};
        buf_init(&results[batch.n].out, TOOL_RESULT_MAX);
        batch.n++;
    }
    assert(batch.n <= TOOL_CALLS_MAX);
    b.alone = batch.n == 1 && t->r->looped;
    for (size_t i = 0; i < batch.n; i++)
        agent_record_tool_start(t->r, of[i]->tool, results[i].call.key, b.at_us + (int64_t)i);
    toolbox_run(t->r->o->tools, &batch);
    for (size_t i = 0; i < batch.n; i++) {
        assert(!of[i]->settled);
        turn_settle(t, of[i], results[i].ok, arena_move_buf(t->r->arena, &results[i].out));
        t->r->out->tool_calls++;
    }
}

/* ---- messages for the model ---- */

static void agent_turn_step_of(struct run *r, const struct turn_call *c)
{
    str name = c->tool ? c->tool->name : c->asked->name;

    run_step(r, agent_call_text(name, c->arguments, r->arena), c->result, name, c->ok);
}

static str turn_shown(struct run *r, const struct turn_call *c, size_t shown)
{
    return r->o->results ? agent_results_show(r->o->results, c->result, shown, r->arena)
                         : run_cut(r, c->result, shown, "the whole is on record");
}

/* Adds the user's message that came with results of the caller's tools. */
static void turn_add_user_text(struct turn *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct turn_call *c = &t->calls[i];
        const struct agent_effect *f = NULL;

        if (c->tool && (c->tool->flags & TOOL_CLIENT))
            f = effect_at(t->r, c->seq + AGENT_SAID_SEQ);
        if (f)
            history_text(&t->r->history, "user", f->result);
    }
}

static bool agent_turn_add_results(struct turn *t)
{
    struct run *r = t->r;
    size_t shown = r->o->result_shown ? r->o->result_shown : AGENT_RESULT_SHOWN;
    bool on = true;

    for (size_t i = 0; i < t->n; i++) {
        struct turn_call *c = &t->calls[i];

        assert(c->settled); /* every call has its result before the model is called again */
        history_result(&r->history, c->asked->id, turn_shown(r, c, shown));
        agent_turn_step_of(r, c);
        if (c->ok && (c->tool->flags & TOOL_FINISH) && on) {
            on = false;
            r->out->end = AGENT_FINISHED;
            r->out->finish = arena_dup(r->arena, c->arguments);
        }
    }
    turn_add_user_text(t);
    return on;
}

/* False: the caller of the run has not made all of its calls yet. */
static bool turn_has_client_results(struct turn *t)
{
    struct agent_result *out = t->r->out;
    size_t open = 0;

    for (size_t i = 0; i < t->n; i++) {
        const struct turn_call *c = &t->calls[i];

        if (!c->valid || c->settled || !(c->tool->flags & TOOL_CLIENT))
            continue;
        if (!open++)
            out->pending = (struct agent_pending){
                c->seq, c->tool->name, arena_dup(t->r->arena, c->arguments), STR("client")};
    }
    if (!open)
        return true;
    assert(out->pending.tool.n);
    (void)effect_flush(t->r, NULL, 0, NULL);
    out->end = AGENT_WAITING;
    out->reason = STR("client_tools");
    out->detail = arena_printf(t->r->arena,
                               "the caller of the run carries out " STR_FMT "%s",
                               STR_ARG(out->pending.tool),
                               open > 1 ? " and others" : "");
    return false;
}

static bool turn_run(struct turn *t, const struct ask_reply *reply)
{
    struct run *r = t->r;

    t->n = reply->call_count;
    t->calls = arena_zero(r->arena, t->n + 1, sizeof *t->calls);
    for (size_t i = 0; i < t->n; i++) {
        struct turn_call *c = &t->calls[i];

        c->asked = &reply->calls[i];
        c->arguments = c->asked->arguments.n ? c->asked->arguments : STR("{}");
        if (i < TOOL_CALLS_MAX)
            turn_check(t, c);
        else
            turn_settle(t, c, false, turn_error(r, STR("too many calls in one turn: not run")));
    }
    if (!turn_approve(t) || !turn_log_intents(t))
        return false;
    agent_turn_carry_out(t, false);
    if (r->broken || !turn_has_client_results(t))
        return false;
    agent_turn_carry_out(t, true); /* together with the results of the others */
    return !r->broken;
}

/* The results by call, in the arena. */
static struct agent_done *turn_done(const struct turn *t)
{
    struct agent_done *out = arena_zero(t->r->arena, t->n + 1, sizeof *out);

    for (size_t i = 0; i < t->n; i++)
        out[i] = (struct agent_done){t->calls[i].tool, t->calls[i].ok, t->calls[i].result};
    return out;
}

static bool turn_on_results(struct turn *t, const struct ask_reply *reply)
{
    struct run *r = t->r;
    bool finished = false;
    struct err e;

    if (r->o->on_results && !r->o->on_results(r->o->ctx, reply, turn_done(t), &finished, &e))
        return run_break(r, &e);
    if (finished)
        r->out->end = AGENT_FINISHED;
    return !finished;
}

bool turn_act(struct run *r, const struct ask_reply *reply)
{
    struct turn t = {.r = r};
    bool on = turn_run(&t, reply);

    if (!on)
        return false;
    on = agent_turn_add_results(&t);
    return turn_on_results(&t, reply) && on;
}

bool turn_do(struct run *r, const struct ask_reply *reply, struct agent_done *out)
{
    struct turn t = {.r = r};

    if (!turn_run(&t, reply))
        return false;
    assert(t.n == reply->call_count);
    memcpy(out, turn_done(&t), t.n * sizeof *out);
    for (size_t i = 0; i < t.n; i++)
        agent_turn_step_of(r, &t.calls[i]);
    return true;
}
