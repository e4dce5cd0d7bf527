/* run.c - see run.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_state.h"

#include "agent/extract.h"
#include "base/json_get.h"

#define HISTORY_MAX ((size_t)32 << 20)
#define BODY_MAX ((size_t)64 << 20)
#define NUDGES_MAX 2
#define UNRECORDED_PAUSE_MS 250
#define UNRECORDED_RETRIES 1200 /* five minutes */

static const char nudge[] = "Your last answer was empty. Call a tool, or give your answer.";
static const char conclude_now[] =
    "The limit of this run is reached, and no more tools can be called. Conclude now with what you "
    "have, and say what is missing.";

const char *agent_end_name(enum agent_end end)
{
    return NAME_OF(end, "done", "stopped", "failed", "cancelled", "waiting");
}

/* ---- asking ---- */

static bool agent_through_gateway(void *ctx, const struct ask_request *q,
                                  const _Atomic bool *cancel, struct arena *a,
                                  struct ask_reply *reply)
{
    return ask_wait_for(ask_begin(ctx, q), cancel, a, reply);
}

struct agent_ask agent_ask_gateway(struct gateway_loop *gl)
{
    return (struct agent_ask){agent_through_gateway, gl};
}

static bool agent_run_body_write(struct run *r, struct buf *out, bool tools)
{
    struct err e;
    bool ok = true;

    buf_add(out, STR("{\"model\":"));
    (void)json_quote(out, r->o->model_name);
    if (r->o->extra.n) {
        buf_add_c(out, ',');
        buf_add(out, r->o->extra);
    }
    if (toolbox_count(r->o->tools)) {
        buf_add(out, STR(",\"tools\":"));
        buf_add(out, buf_str(&r->tools));
        if (!tools)
            buf_add(out, STR(",\"tool_choice\":\"none\""));
    }
    buf_add(out, STR(",\"messages\":"));
    if (r->o->write_messages) {
        buf_add_c(out, '[');
        ok = r->o->write_messages(r->o->ctx, out, &e) || run_break(r, &e);
    } else {
        buf_add(out, buf_str(&r->history.json));
    }
    buf_add(out, STR("]}"));
    return ok;
}

static void agent_run_count_usage(struct run *r, const struct ask_reply *reply)
{
    struct agent_result *out = r->out;

    out->model_calls++;
    out->input_tokens += reply->usage.input > 0 ? reply->usage.input : 0;
    out->output_tokens += reply->usage.output > 0 ? reply->usage.output : 0;
    out->reasoning_tokens += reply->usage.reasoning > 0 ? reply->usage.reasoning : 0;
    out->cost_usd += reply->cost_usd > 0 ? reply->cost_usd : 0;
}

bool run_fail(struct run *r, const struct chat_error *error)
{
    bool left = r->o->leave && atomic_load(r->o->leave);

    r->out->end = run_cancelled(r) ? AGENT_CANCELLED : AGENT_FAILED;
    r->out->reason = run_cancelled(r)       ? left ? STR("left") : STR("cancelled")
                           : error->status == 429 ? STR("rate_limit_exceeded")
                                            : STR("llm_error");
    r->out->detail = arena_dup(r->arena, error->message);
    return false;
}

/* Counts the tokens of a reply that broke off, as far as they are known. */
static void agent_error_write(struct buf *out, const struct ask_reply *reply)
{
    const struct chat_error *error = &reply->error;

    buf_printf(out,
               "{\"status\":%d,\"input_tokens\":%lld,\"output_tokens\":%lld,\"code\":",
               error->status,
               (long long)reply->usage.input,
               (long long)reply->usage.output);
    (void)json_quote(out, error->code);
    buf_add(out, STR(",\"message\":"));
    (void)json_quote(out, error->message);
    buf_add_c(out, '}');
}

static void agent_error_read(struct run *r, str text, struct ask_reply *reply)
{
    struct chat_error *out = &reply->error;
    struct json doc;
    struct err e;

    *reply = (struct ask_reply){.usage = chat_usage_none, .cost_usd = -1};
    *out = (struct chat_error){.status = 502, .message = STR("the call had failed")};
    if (json_open(&doc, text, &e)) {
        const struct json_node *root = json_root(&doc);

        reply->usage.input = json_get_i64(&doc, root, "input_tokens", reply->usage.input);
        reply->usage.output = json_get_i64(&doc, root, "output_tokens", reply->usage.output);
        out->status = (int)json_get_i64(&doc, root, "status", out->status);
        if (json_text(
                &doc, json_find(&doc, json_root(&doc), STR("message")), r->arena, &out->message))
            out->message = arena_dup(r->arena, out->message);
    }
    json_release(&doc);
}

/* Masks also the model's own text before it is logged; the run continues with the unmasked text. */
static void agent_run_log_reply(struct run *r, struct agent_effect *f,
                                const struct ask_reply *reply, bool ok)
{
    struct buf out, masked;

    assert(f->state != AGENT_DONE);
    buf_init(&out, BODY_MAX);
    buf_init(&masked, BODY_MAX);
    if (ok)
        reply_write(&out, reply, r->o->keep_reasoning);
    else
        agent_error_write(&out, reply);
    f->result = buf_str(&out);
    if (r->o->mask && mask_json(r->o->mask, buf_str(&out), &masked, NULL))
        f->result = buf_str(&masked);
    f->state = AGENT_DONE;
    f->care = AGENT_SAFE; /* the call cost money */
    f->failed = !ok;
    f->ended_us = run_now_us(r);
    effect_hold(r, f);
    buf_release(&out);
    buf_release(&masked);
}

/* The intent of the first effect is logged together with the run's inputs. */
static bool agent_run_put_intent(struct run *r, const struct agent_effect *f)
{
    struct agent_effect both[2];
    struct buf note;
    bool ok;

    assert(f->state == AGENT_INTENT && f->seq < r->seq);
    if (!r->looped || f->seq > 0 || effect_logged(r, REPLAY_SEQ) || !r->o->log)
        return effect_flush(r, f, 1, NULL);
    both[0] = replay_note(r, &note);
    both[1] = *f;
    ok = effect_flush(r, both, 2, NULL);
    buf_release(&note);
    return ok;
}

/* Repeats the call until it can be recorded, so that a store that is unreachable for a while does
 * not end the run. */
static bool agent_ask_until_recorded(struct run *r, const struct ask_request *q,
                                     struct ask_reply *reply)
{
    static const struct timespec pause = {.tv_nsec = UNRECORDED_PAUSE_MS * 1000000L};
    const struct agent_ask *to = &r->o->ask;
    bool ok = to->ask(to->ctx, q, r->o->cancel, r->arena, reply);

    for (int i = 0; !ok && i < UNRECORDED_RETRIES; i++) {
        if (!str_eq(reply->error.code, STR("not_recorded")) || run_cancelled(r) || run_is_late(r))
            break;
        assert(!r->o->replay);
        agent_run_count_usage(r, reply);
        assert(r->out->model_calls > 0);
        r->out->model_calls--;
        (void)nanosleep(&pause, NULL);
        ok = to->ask(to->ctx, q, r->o->cancel, r->arena, reply);
    }
    return ok;
}

static bool agent_run_ask_now(struct run *r, struct agent_effect *f, str body, str level,
                              struct ask_reply *reply)
{
    struct ask_request q = {
        .body = body,
        .route = arena_printf(r->arena, "agent:" STR_FMT, STR_ARG(r->o->app)),
        .session = r->o->session,
        .title = r->o->title,
        .step = agent_record_step(r, r->what.n ? r->what : STR("model call"), r->arena),
        .part = true,
        .quiet = r->quiet,
        .reader = r->reader,
        .id = STR(""),
        .level = level,
        .key = r->o->key,
        .defined = r->o->defined,
        .timeout_ms = run_time_left_ms(r)};
    bool ok;

    assert(!r->o->replay && !r->broken);
    if (!agent_run_put_intent(r, f))
        return false;
    ok = agent_ask_until_recorded(r, &q, reply);
    if (!ok)
        agent_run_count_usage(r, reply);
    if (!ok && run_cancelled(r))
        return run_fail(r, &reply->error); /* the end of the call is not logged */
    if (!ok && run_is_late(r))
        return run_stop_late(r); /* the end of the call is not logged */
    if (ok)
        agent_extract_reply(reply, r->arena);
    agent_run_log_reply(r, f, reply, ok);
    return ok || run_fail(r, &reply->error);
}

bool run_think(struct run *r, str body, str level, struct ask_reply *reply)
{
    struct agent_effect *f, fresh = {.run = r->o->run,
                                     .seq = r->seq++,
                                     .kind = STR("model"),
                                     .care = AGENT_LATER,
                                     .name = r->o->model_name,
                                     .request = STR(""),
                                     .result = STR(""),
                                     .started_us = run_now_us(r)};
    struct err e;
    enum known known;
    bool ok = false;

    assert(fresh.seq >= 0); /* negative numbers are notes */
    fresh.key = r->o->log ? effect_key(r, fresh.seq, fresh.kind, fresh.name, body) : STR("");
    known = effect_find(r, fresh.seq, fresh.kind, fresh.key, &f);
    if (r->broken) {
        ok = false;
    } else if (known != KNOWN_DONE && r->o->replay) {
        (void)effect_missing(r, fresh.seq);
    } else if (known != KNOWN_DONE) {
        ok = agent_run_ask_now(r, &fresh, body, level, reply);
    } else if (f->failed) {
        agent_error_read(r, f->result, reply);
        agent_run_count_usage(r, reply);
        (void)run_fail(r, &reply->error);
    } else if (!(ok = reply_read(f->result, r->arena, reply))) {
        err_set(&e,
                ERR_SYSTEM,
                "effect %lld of the log is damaged: the model's reply cannot be read",
                (long long)fresh.seq);
        (void)run_break(r, &e);
    }
    if (ok)
        agent_run_count_usage(r, reply);
    return ok;
}

static bool agent_run_ask(struct run *r, bool tools, struct ask_reply *reply)
{
    struct buf body;
    bool ok;

    buf_init(&body, BODY_MAX);
    ok = agent_run_body_write(r, &body, tools);
    r->what = tools ? arena_printf(r->arena, "turn %u", r->out->iterations + 1)
                    : STR("conclude with what is known");
    ok = ok && run_think(r, buf_str(&body), r->o->level, reply);
    buf_release(&body);
    return ok;
}

/* ---- the loop ---- */

static bool agent_run_answer(struct run *r, const struct ask_reply *reply)
{
    assert(!r->concluding);
    r->out->end = AGENT_FINISHED;
    r->out->text = reply->text;
    history_reply(&r->history, reply);
    run_step(r, STR("answer"), reply->text, STR(""), true);
    return false;
}

/* Passes the reply to the caller. False: the run is over or broken. */
static bool agent_run_on_reply(struct run *r, const struct ask_reply *reply)
{
    bool finished = false;
    struct err e;

    if (r->o->on_reply && !r->o->on_reply(r->o->ctx, reply, &finished, &e))
        return run_break(r, &e);
    return !finished || agent_run_answer(r, reply);
}

/* Handles a text without calls. False: the run is over. */
static bool agent_run_text_only(struct run *r, const struct ask_reply *reply, unsigned *nudges)
{
    str why;

    assert(!reply->call_count && r->corrections <= AGENT_CORRECTIONS);
    if (!reply->text.n || r->o->insist) {
        if (++*nudges > NUDGES_MAX)
            return agent_run_answer(r, reply);
        if (reply->text.n)
            history_reply(&r->history, reply);
        history_text(&r->history, "user", str_c(reply->text.n ? r->o->insist : nudge));
        return true;
    }
    if (output_check(r, reply->text, &why))
        return agent_run_answer(r, reply);
    if (r->corrections++ == AGENT_CORRECTIONS) {
        (void)agent_run_answer(r, reply);
        r->out->end = AGENT_FAILED;
        r->out->reason = STR("output_invalid");
        r->out->detail = why;
        return false;
    }
    run_step(r, STR("answer"), why, STR(""), false);
    history_reply(&r->history, reply);
    history_text(&r->history, "user", why);
    return true;
}

/* One turn. False: the run is over, broken or waits. */
static bool agent_run_turn(struct run *r, unsigned *nudges)
{
    struct ask_reply reply;

    assert(!r->concluding && !r->out->concluded);
    if (!run_within(r) || !agent_run_ask(r, true, &reply))
        return false;
    r->out->iterations++;
    r->thought = reply.call_count || reply.thought ? reply.text : STR("");
    if (reply.reasoning.n && r->o->keep_reasoning)
        r->thought = reply.reasoning;
    if (reply.text.n && !reply.thought)
        r->out->text = reply.text;
    ids_settle(r, &reply);
    if (!agent_run_on_reply(r, &reply))
        return false;
    if (!reply.call_count)
        return agent_run_text_only(r, &reply, nudges);
    r->why = reply.text.n || !r->o->keep_reasoning ? reply.text : reply.reasoning;
    history_reply(&r->history, &reply);
    r->reply_id = reply.id;
    if (!turn_act(r, &reply))
        return false;
    return run_makes_progress(r, &reply);
}

static void agent_run_conclude(struct run *r)
{
    struct agent_result kept = *r->out;
    struct ask_reply reply;

    if (!r->o->conclude || r->broken || r->out->end != AGENT_STOPPED || buf_full(&r->history.json))
        return;
    assert(!r->concluding && r->out->reason.n);
    r->concluding = true;
    history_text(&r->history, "user", str_c(conclude_now));
    if (agent_run_ask(r, false, &reply)) {
        reply.call_count = 0; /* a call without a result would make the conversation invalid */
        history_reply(&r->history, &reply);
        r->out->text = reply.text;
        r->out->concluded = true;
        run_step(r, STR("conclude"), reply.text, STR(""), true);
    }
    r->out->end = kept.end;
    r->out->reason = kept.reason;
    r->out->detail = kept.detail;
}

static void run_count_waiting(struct run *r)
{
    for (size_t i = 0; i < r->logged_count; i++) {
        const struct agent_effect *f = &r->logged[i];

        if (f->state == AGENT_DONE && f->ended_us > f->started_us &&
            (str_eq(f->kind, STR("approval")) || str_eq(f->kind, STR("client"))))
            r->waited_us += f->ended_us - f->started_us;
    }
}

bool run_open(struct run *r)
{
    struct agent_row row = {.id = r->o->run,
                            .app = r->o->app,
                            .session_id = r->o->session,
                            .key = r->o->key,
                            .status = STR("running"),
                            .reason = STR(""),
                            .input = r->o->input,
                            .result = STR(""),
                            .created_us = run_now_us(r),
                            .updated_us = run_now_us(r),
                            .care = r->o->part ? AGENT_LATER : AGENT_SAFE},
                     old;
    struct err e;

    assert(r->seq == 0 && !r->logged_count && !r->held_count); /* opened once */
    r->created_us = row.created_us;
    if (r->o->before)
        agent_result_add_usage(r->out, r->o->before);
    if (!r->o->log)
        return true;
    if (agent_log_run_get(r->o->log, r->o->run, r->arena, &old, &e)) {
        r->created_us = old.created_us;
        r->was = old.reason;
        r->was_status = old.status;
        r->ended = !str_eq(old.status, STR("running")) && !str_eq(old.status, STR("waiting"));
        r->out->resumed = true;
    } else if (e.code != ERR_NOT_FOUND) {
        return run_break(r, &e);
    }
    if (!r->o->replay && !agent_log_put_with(r->o->log, NULL, 0, &row, &e))
        return run_break(r, &e);
    if (r->out->resumed &&
        !agent_log_read(r->o->log, r->o->run, r->arena, &r->logged, &r->logged_count, &e))
        return run_break(r, &e);
    run_count_waiting(r);
    assert(!r->logged_count || r->out->resumed);
    return true;
}

static void history_system(struct run *r)
{
    struct buf text;

    buf_init(&text, HISTORY_MAX);
    buf_add(&text, r->o->system);
    output_describe(r, &text);
    history_text(&r->history, "system", buf_str(&text));
    buf_release(&text);
}

static void agent_run_begin(struct run *r)
{
    history_init(&r->history, HISTORY_MAX);
    buf_init(&r->tools, BODY_MAX);
    pthread_mutex_init(&r->lock, NULL);
    (void)output_init(r);
    toolbox_write(r->o->tools, &r->tools);
    ids_init(r);
    if (r->o->system.n || r->output)
        history_system(r);
    history_add_messages(&r->history, r->o->messages);
    if (r->o->user.n)
        history_text(&r->history, "user", r->o->user);
}

static void agent_run_loop(struct run *r)
{
    unsigned max = r->o->limits.iterations ? r->o->limits.iterations : AGENT_ITERATIONS;
    unsigned nudges = 0;

    while (r->out->iterations < max)
        if (!agent_run_turn(r, &nudges))
            return;
    (void)run_stop(
        r,
        "max_iterations_reached",
        arena_printf(r->arena, "there was no answer after %u turn%s", max, max == 1 ? "" : "s"));
}

static void agent_run_result_write(const struct run *r, struct buf *out)
{
    const struct agent_result *x = r->out;

    buf_printf(out, "{\"status\":\"%s\",\"reason\":", agent_end_name(x->end));
    (void)json_quote(out, x->reason);
    buf_add(out, STR(",\"detail\":"));
    (void)json_quote(out, x->detail);
    buf_add(out, STR(",\"text\":"));
    (void)json_quote(out, x->text);
    if (x->finish.n) {
        buf_add(out, STR(",\"finish\":"));
        buf_add(out, x->finish);
    }
    buf_printf(out,
               ",\"iterations\":%u,\"model_calls\":%u,\"tool_calls\":%u,\"tokens\":{\"input\":%lld,"
               "\"output\":%lld,\"reasoning\":%lld},\"cost_usd\":%.6f,\"over_budget\":%s}",
               x->iterations,
               x->model_calls,
               x->tool_calls,
               (long long)x->input_tokens,
               (long long)x->output_tokens,
               (long long)x->reasoning_tokens,
               x->cost_usd,
               x->over_budget ? "true" : "false");
}

bool run_close(struct run *r, str report)
{
    struct agent_row row = {.id = r->o->run,
                            .app = r->o->app,
                            .session_id = r->o->session,
                            .key = r->o->key,
                            .status = str_c(agent_end_name(r->out->end)),
                            .reason = r->out->reason,
                            .input = r->o->input,
                            .created_us = r->created_us,
                            .updated_us = r->ended_us ? r->ended_us : run_now_us(r),
                            .care = r->o->part ? AGENT_LATER : AGENT_ON_DISK};
    struct buf result, masked;
    bool ok;

    assert(!r->broken);
    if (r->o->replay)
        return true;
    if (!r->o->log || str_eq(r->out->reason, STR("left")))
        return effect_flush(r, NULL, 0, NULL);
    buf_init(&result, BODY_MAX);
    buf_init(&masked, BODY_MAX);
    if (report.n)
        buf_add(&result, report);
    else
        agent_run_result_write(r, &result);
    row.result = buf_str(&result);
    if (r->o->mask && mask_json(r->o->mask, row.result, &masked, NULL))
        row.result = buf_str(&masked);
    ok = effect_flush(r, NULL, 0, &row);
    assert(!r->held_count);
    buf_release(&result);
    buf_release(&masked);
    return ok;
}

bool agent_run(const struct agent_options *o, struct arena *a, struct agent_result *out,
               struct err *e)
{
    struct run r = {.o = o, .arena = a, .out = out, .looped = true, .thought = STR("")};

    assert(!o->log || (!o->write_messages && !o->on_reply && !o->on_results));
    *out = (struct agent_result){.reason = STR(""),
                                 .detail = STR(""),
                                 .text = STR(""),
                                 .finish = STR(""),
                                 .messages = STR("")};
    agent_run_begin(&r);
    if (!r.broken && run_open(&r)) {
        agent_record_begin(&r);
        agent_run_loop(&r);
        if (!r.broken && buf_full(&r.history.json)) {
            out->finish = STR(""); /* no handoff: the history is full */
            (void)run_stop_full(&r);
        }
        agent_run_conclude(&r);
        run_settle(&r);
        r.ended_us = run_now_us(&r);
        if (!r.broken)
            agent_record_end(&r);
    }
    if (!r.broken)
        (void)run_close(&r, STR(""));
    buf_add_c(&r.history.json, ']');
    out->messages = buf_full(&r.history.json) ? STR("[]") : arena_dup(a, buf_str(&r.history.json));
    history_release(&r.history);
    buf_release(&r.tools);
    ids_release(&r);
    output_release(&r);
    pthread_mutex_destroy(&r.lock);
    if (r.broken)
        *e = r.err;
    return !r.broken;
}
