/* settle.c - the last effect of a run: its result after guards and handoffs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_state.h"

#include "base/json_get.h"

#define NOTE_NAME "settled"
#define NOTE_MAX ((size_t)32 << 20)

static void settle_write(const struct agent_result *x, struct buf *out)
{
    struct json_out o;

    json_out_init_object(&o, out);
    json_member_str(&o, "status", str_c(agent_end_name(x->end)));
    json_member_str(&o, "reason", x->reason);
    json_member_str(&o, "detail", x->detail);
    json_member_str(&o, "text", x->text);
    json_member_str(&o, "finish", x->finish);
    json_member_i64(&o, "iterations", x->iterations);
    json_member_i64(&o, "input_tokens", x->input_tokens);
    json_member_i64(&o, "output_tokens", x->output_tokens);
    json_member_i64(&o, "reasoning_tokens", x->reasoning_tokens);
    json_member_i64(&o, "model_calls", x->model_calls);
    json_member_i64(&o, "tool_calls", x->tool_calls);
    json_member_double(&o, "cost_usd", x->cost_usd);
    json_out_end(&o);
}

static void settle_read(struct run *r, str json)
{
    struct agent_result *out = r->out;
    struct json doc;
    struct err e;
    str status;

    if (json_open(&doc, json, &e)) {
        status = json_copy_text(&doc, json_root(&doc), "status", r->arena);
        for (int i = AGENT_FINISHED; i <= AGENT_WAITING; i++)
            if (str_eq(status, str_c(agent_end_name((enum agent_end)i))))
                out->end = (enum agent_end)i;
        out->reason = json_copy_text(&doc, json_root(&doc), "reason", r->arena);
        out->detail = json_copy_text(&doc, json_root(&doc), "detail", r->arena);
        out->text = json_copy_text(&doc, json_root(&doc), "text", r->arena);
        out->finish = json_copy_text(&doc, json_root(&doc), "finish", r->arena);
        if (json_get_i64(&doc, json_root(&doc), "iterations", 0))
            out->iterations = (unsigned)json_get_i64(&doc, json_root(&doc), "iterations", 0);
        out->input_tokens = json_get_i64(&doc, json_root(&doc), "input_tokens", 0);
        out->output_tokens = json_get_i64(&doc, json_root(&doc), "output_tokens", 0);
        out->reasoning_tokens = json_get_i64(&doc, json_root(&doc), "reasoning_tokens", 0);
        out->model_calls = (unsigned)json_get_i64(&doc, json_root(&doc), "model_calls", 0);
        out->tool_calls = (unsigned)json_get_i64(&doc, json_root(&doc), "tool_calls", 0);
        if (!json_double(&doc, json_find(&doc, json_root(&doc), STR("cost_usd")), &out->cost_usd))
            out->cost_usd = 0;
    }
    json_release(&doc);
}

static void settle_log(struct run *r, int64_t seq)
{
    struct buf note;

    assert(seq == r->seq - 1 && r->out->end != AGENT_WAITING);
    buf_init(&note, NOTE_MAX);
    settle_write(r->out, &note);
    effect_hold(r,
                &(struct agent_effect){.run = r->o->run,
                                       .seq = seq,
                                       .kind = STR("note"),
                                       .name = STR(NOTE_NAME),
                                       .key = STR(NOTE_NAME),
                                       .request = STR(""),
                                       .result = effect_masked(r, buf_str(&note)),
                                       .care = AGENT_SAFE,
                                       .state = AGENT_DONE,
                                       .started_us = run_now_us(r),
                                       .ended_us = run_now_us(r)});
    buf_release(&note);
}

bool settle_is(const struct agent_effect *f)
{
    return f->state == AGENT_DONE && str_eq(f->name, STR(NOTE_NAME)) &&
           str_eq(f->kind, STR("note"));
}

void run_settle(struct run *r)
{
    struct agent_effect *f = effect_at(r, r->seq);
    struct err e;

    r->out->spent_ms = run_spent_ms(r);
    r->out->waited_ms = r->waited_us / 1000;
    if (r->broken || r->out->end == AGENT_CANCELLED || r->out->end == AGENT_WAITING)
        return;
    if (f && settle_is(f)) {
        r->seq++;
        settle_read(r, f->result);
        return;
    }
    if (!r->o->settle || r->o->replay)
        return;
    /* The model's last reply is on disk before settle acts on it. */
    if (!effect_flush(r, NULL, 0, NULL))
        return;
    r->out->messages = arena_join(r->arena, buf_str(&r->history.json), STR("]"), STR(""));
    if (!r->o->settle(r->o->ctx, r->arena, r->out, &e))
        (void)run_break(r, &e);
    else if (r->out->end == AGENT_FINISHED || r->out->end == AGENT_STOPPED ||
             r->out->end == AGENT_FAILED)
        settle_log(r, r->seq++);
}
