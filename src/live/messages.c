/* messages.c - the JSON of each message, as docs/reference/live.md has it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/messages.h"

/* ---- the envelope ---- */

static void hub_words_add_channel(struct json_out *o, const struct hub_channel *to)
{
    char name[512];
    int n;

    json_out_key(o, STR("channel"));
    if (to->kind == HUB_RELAY) {
        json_out_str(o, STR("relay"));
        return;
    }
    if (to->kind < HUB_SESSION) {
        json_out_str(o, to->kind == HUB_DASH ? STR("dashboard_updates") : STR("system_health"));
        return;
    }
    n = snprintf(name,
                 sizeof name,
                 "%s" STR_FMT,
                 to->kind == HUB_ALERT ? "alert_" : "session_",
                 STR_ARG(str_slice(to->name, 0, 400)));
    json_out_str(o, (str){name, (size_t)n});
}

static void hub_words_open(struct hub *h, struct json_out *o)
{
    h->passing = false;
    buf_reset(&h->scratch);
    json_out_init_object(o, &h->scratch);
}

static void hub_words_begin(struct hub *h, struct json_out *o, const struct hub_channel *to,
                            const char *type)
{
    hub_words_open(h, o);
    if (to->kind == HUB_SESSION) {
        json_member_str(o, "type", STR("session_update"));
        json_member_str(o, "session_id", to->name);
    } else {
        json_member_str(o, "type", STR("dashboard_update"));
    }
    hub_words_add_channel(o, to);
    json_member_object(o, "data");
    json_member_str(o, "type", str_c(type));
}

static void hub_words_add_timestamp(struct hub *h, struct json_out *o)
{
    json_member_i64(o, "timestamp_us", clock_wall_ms(h->clock) * 1000);
}

static void hub_words_end(struct hub *h, struct json_out *o)
{
    json_out_end(o);
    hub_words_add_timestamp(h, o);
    json_out_end(o);
    assert(o->depth == 0 && !o->after_key);
}

static void hub_words_add_ids(struct json_out *o, const struct hub_call *c)
{
    json_member_str(o, "interaction_id", c->about->id);
    json_member_str(o, "session_id", c->about->session);
}

/* ---- of a call ---- */

void hub_send_started(struct hub *h, const struct hub_channel *to, const struct hub_call *c)
{
    struct json_out o;

    hub_words_begin(h, &o, to, "llm_started");
    h->passing = true;
    hub_words_add_ids(&o, c);
    json_member_str(&o, "model", c->about->model);
    json_member_str(&o, "provider", c->about->provider);
    json_member_str_or_null(&o, "level", c->about->level);
    json_member_i64_or_null(&o, "cap_tokens", c->about->cap);
    json_member_str_or_null(&o, "key_name", c->about->key);
    json_member_str(&o, "asked", c->about->asked);
    json_member_bool(&o, "stream", c->about->stream);
    if (to->kind == HUB_RELAY) {
        json_member_str(&o, "subject", c->about->subject);
        json_member_str(&o, "dialect", c->about->dialect);
        json_member_bool(&o, "thoughts", c->b.thoughts);
        json_member_bool(&o, "part", c->b.part);
    }
    json_member_i64(&o, "started_us", c->b.started_us);
    hub_words_end(h, &o);
}

void hub_send_status(struct hub *h, const struct hub_channel *to, const struct hub_call *c,
                     bool shown)
{
    static const char *const states[] = {"waiting", "thinking", "answering", "tool", "done"};
    const struct hub_progress *p = &c->progress;
    struct json_out o;

    assert((size_t)p->state < COUNT_OF(states) &&
           (!shown || c->b.thoughts || to->kind == HUB_RELAY));
    hub_words_begin(h, &o, to, "reasoning_status");
    h->passing = true;
    hub_words_add_ids(&o, c);
    json_member_str(&o, "state", str_c(states[p->state]));
    json_member_i64_or_null(&o, "thinking_ms", p->thinking_ms);
    json_member_i64_or_null(&o, "reasoning_tokens", p->reasoning_tokens);
    json_member_i64_or_null(&o, "cap_tokens", c->about->cap);
    json_member_bool(&o, "cut", p->cut);
    json_member_bool(&o, "shown", shown);
    hub_words_end(h, &o);
}

void hub_send_text(struct hub *h, const struct hub_channel *to, const struct hub_call *c,
                   enum hub_text kind, str text, uint64_t at)
{
    static const char *const types[] = {"reasoning_delta", "answer_delta", "tool_delta"};
    struct json_out o;

    assert(kind < COUNT_OF(types) && to->kind != HUB_HEALTH && to->kind != HUB_ALERT);
    hub_words_begin(h, &o, to, types[kind]);
    h->passing = true;
    hub_words_add_ids(&o, c);
    json_member_u64(&o, "at", at);
    json_member_str(&o, "text", text);
    hub_words_end(h, &o);
}

static void hub_words_tokens(struct json_out *o, const struct hub_end *e)
{
    json_member_object(o, "tokens");
    json_member_i64_or_null(o, "input", e->input_tokens);
    json_member_i64_or_null(o, "output", e->output_tokens);
    json_member_i64_or_null(o, "reasoning", e->reasoning_tokens);
    json_out_end(o);
    json_member_double_or_null(o, "cost_usd", e->cost_usd);
}

void hub_send_end(struct hub *h, const struct hub_channel *to, const struct hub_call *c,
                  const struct hub_end *e)
{
    struct json_out o;

    hub_words_begin(h, &o, to, "llm_interaction");
    hub_words_add_ids(&o, c);
    json_member_str(&o, "step_description", e->step);
    json_member_str_or_null(&o, "stage", e->stage);
    json_member_str_or_null(&o, "agent", e->agent);
    json_member_str(&o, "model_used", e->model);
    json_member_str(&o, "provider", e->provider);
    json_member_bool(&o, "success", e->success);
    json_member_i64_or_null(&o, "duration_ms", e->duration_ms);
    json_member_bool(&o, "has_tools", e->has_tools);
    json_member_str_or_null(&o, "error_message", e->error_message);
    json_member_str(&o, "status", e->success ? STR("completed") : STR("failed"));
    json_member_i64_or_null(&o, "http_status", e->status);
    json_member_str_or_null(&o, "stop", e->stop);
    json_member_bool(&o, "has_reasoning", e->has_reasoning);
    json_member_str(&o, "reasoning_state", e->reasoning_state);
    json_member_i64_or_null(&o, "reasoning_tokens", e->reasoning_tokens);
    json_member_i64_or_null(&o, "cap_tokens", c->about->cap);
    json_member_i64_or_null(&o, "thinking_ms", e->thinking_ms);
    json_member_bool(&o, "cut", e->cut);
    json_member_str_or_null(&o, "level", c->about->level);
    json_member_str_or_null(&o, "key_name", c->about->key);
    json_member_str_or_null(&o, "decision", e->decision);
    hub_words_tokens(&o, e);
    if (to->kind == HUB_RELAY) {
        json_member_bool(&o, "decision_thought", e->decision_thought);
        json_member_bool(&o, "error_thought", e->error_thought);
    }
    json_member_i64(&o, "started_us", c->b.started_us);
    json_member_i64(&o, "ended_us", e->ended_us);
    hub_words_end(h, &o);
}

void hub_send_session(struct hub *h, const struct hub_channel *to, const struct hub_session *s,
                      str model)
{
    struct json_out o;

    hub_words_begin(h, &o, to, "session_status_change");
    json_member_str(&o, "session_id", s->id);
    json_member_str(&o, "status", s->status);
    json_member_str_or_null(&o, "agent_type", s->agent_type);
    json_member_str_or_null(&o, "alert_type", s->alert_type);
    json_member_str_or_null(&o, "model", model);
    json_member_str_or_null(&o, "key_name", s->key);
    json_member_i64_or_null(&o, "started_at_us", s->started_us);
    json_member_i64_or_null(&o, "completed_at_us", s->completed_us);
    json_member_str_or_null(&o, "error_message", s->error_message);
    hub_words_end(h, &o);
}

void hub_send_event(struct hub *h, const struct hub_channel *to, const char *type, str members)
{
    struct json_out o;

    hub_words_begin(h, &o, to, type);
    buf_add_c(&h->scratch, ',');
    buf_add(&h->scratch, members);
    hub_words_end(h, &o);
}

void hub_send_gap(struct hub *h, const struct hub_channel *to, int64_t missed)
{
    struct json_out o;

    hub_words_begin(h, &o, to, "gap");
    hub_words_add_channel(&o, to);
    json_member_i64_or_null(&o, "missed", missed);
    hub_words_end(h, &o);
}

void hub_send_health(struct hub *h, str members)
{
    h->passing = false;
    buf_reset(&h->scratch);
    buf_add(&h->scratch, STR("{\"type\":\"system_health\",\"channel\":\"system_health\","));
    buf_add(&h->scratch, members);
    buf_printf(&h->scratch, ",\"timestamp_us\":%lld}", (long long)clock_wall_ms(h->clock) * 1000);
}

uint64_t hub_units(str text)
{
    uint64_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        n += (c & 0xC0) != 0x80; /* the start of a character */
        n += c >= 0xF0;          /* a character of two UTF-16 units */
    }
    return n;
}

/* ---- of an alert ---- */

void hub_send_alert(struct hub *h, const struct hub_channel *to, str status)
{
    struct json_out o;

    hub_words_open(h, &o);
    json_member_str(&o, "type", STR("status_update"));
    hub_words_add_channel(&o, to);
    json_member_raw(&o, "data", status);
    hub_words_add_timestamp(h, &o);
    json_out_end(&o);
}

void hub_send_alert_status(struct hub *h, const struct hub_channel *to, str members)
{
    struct json_out o;

    hub_words_open(h, &o);
    json_member_str(&o, "type", STR("alert_status"));
    hub_words_add_channel(&o, to);
    hub_words_add_timestamp(h, &o);
    if (members.n)
        buf_add_c(&h->scratch, ',');
    buf_add(&h->scratch, members);
    json_out_end(&o);
}
