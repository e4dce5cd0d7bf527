/* show.c - a call as it is shown to who watches: its beginning, its texts, its end.
 *
 * Reasoning is shown where the client may see it or the record keeps it; all texts go out the way
 * they go on record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"

#define STATUS_NS 1000000000u /* while it thinks, its count of tokens is told so often */

static str last_words(const struct chat_request *r)
{
    for (size_t i = r->message_count; i > 0; i--) {
        const struct chat_message *m = &r->messages[i - 1];

        for (size_t k = m->part_count; m->role == CHAT_USER && k > 0; k--)
            if (m->parts[k - 1].kind == CHAT_PART_TEXT && m->parts[k - 1].text.n)
                return m->parts[k - 1].text;
    }
    return STR("");
}

void call_show_begin(struct call *c)
{
    int64_t ago_ms = (int64_t)((loop_now_ns(c->gl->loop) - c->in.start_ns) / CLOCK_NS_PER_MS);
    struct hub_begin b = {
        .id = c->in.id,
        .session = c->in.session.n ? c->in.session : c->in.id,
        .key = c->in.key ? c->in.key->name : STR(""),
        .subject = c->in.request->user.n ? c->in.request->user
                   : c->in.key           ? c->in.key->name
                                         : STR(""),
        .dialect = str_c(c->in.wire->name),
        .model = c->level.model,
        .provider = c->chain[c->at]->name,
        .level = str_c(chat_level_name(c->level.asked)),
        .asked = last_words(c->in.request),
        .cap = c->level.cap,
        .stream = c->in.request->stream,
        .thoughts = !c->hide || c->config->keep == CONFIG_KEEP_TEXT,
        .started_us = (clock_wall_ms(c->gl->gateway->clock) - ago_ms) * 1000,
    };

    if (c->gl->port)
        c->show.live = hub_call_begin(c->gl->gateway->hub, c->gl->port, &b);
}

/* ---- how far it is ---- */

static int64_t thinking_ms(const struct call *c)
{
    uint64_t now = loop_now_ns(c->gl->loop);
    uint64_t more = c->show.state == HUB_THINKING ? (now - c->show.think_ns) / CLOCK_NS_PER_MS : 0;

    return c->show.thought ? c->show.thought_ms + (int64_t)more : -1;
}

static void tell(struct call *c)
{
    c->show.status_ns = loop_now_ns(c->gl->loop);
    hub_call_state(c->show.live,
                   &(struct hub_progress){c->show.state,
                                          thinking_ms(c),
                                          c->show.thought ? pipe_tokens(&c->pipe) : -1,
                                          c->pipe.over || c->sum.cut});
}

static void become(struct call *c, enum hub_state state)
{
    if (c->show.state == state)
        return;
    if (c->show.state == HUB_THINKING)
        c->show.thought_ms = thinking_ms(c);
    if (state == HUB_THINKING) {
        c->show.think_ns = loop_now_ns(c->gl->loop);
        c->show.thought = true;
    }
    c->show.state = state;
    tell(c);
}

void call_show_thought(struct call *c, str text)
{
    if (!c->show.live)
        return;
    become(c, HUB_THINKING);
    hub_call_text(c->show.live, HUB_REASONING, text);
    if (loop_now_ns(c->gl->loop) - c->show.status_ns >= STATUS_NS && hub_call_watched(c->show.live))
        tell(c);
}

static bool blank(str s)
{
    return str_trim(s).n == 0;
}

void call_show_frame(struct call *c)
{
    const struct pipe *p = &c->pipe;

    if (!c->show.live)
        return;
    if (c->sum.reasoning_ns && c->show.state == HUB_WAITING)
        become(c, HUB_THINKING); /* behind closed doors */
    for (size_t i = 0; i < p->count; i++) {
        const struct chat_event *ev = &p->events[i];

        if (ev->choice != 0)
            continue;
        if (ev->kind == CHAT_TEXT || ev->kind == CHAT_REFUSAL) {
            if (!blank(ev->text))
                become(c, HUB_ANSWERING);
            hub_call_text(c->show.live, HUB_ANSWER, ev->text);
        } else if (ev->kind == CHAT_CALL) {
            if (c->show.called)
                hub_call_text(c->show.live, HUB_TOOL, STR("\n"));
            c->show.called = true;
            become(c, HUB_CALLING);
            hub_call_text(c->show.live, HUB_TOOL, ev->name);
            hub_call_text(c->show.live, HUB_TOOL, STR(" "));
        } else if (ev->kind == CHAT_ARGUMENTS) {
            hub_call_text(c->show.live, HUB_TOOL, ev->text);
        }
    }
}

/* ---- its end ---- */

static str kept(struct call *c, str s)
{
    return arena_dup(&c->arena, s);
}

void call_show_done(struct call *c, const struct store_call *row)
{
    const struct summary *s = &c->sum;

    if (!c->show.live)
        return;
    c->show.end = (struct hub_end){
        .success = !s->error_type.n && s->complete,
        .has_tools = c->pipe.called,
        .has_reasoning = row->has_reasoning,
        .cut = s->cut,
        .decision_thought = c->pipe.reasoned,
        .status = row->status,
        .provider = kept(c, row->provider),
        .model = kept(c, row->upstream_model),
        .step = kept(c, row->step.n ? row->step : STR("model call")),
        .stop = kept(c, row->stop),
        .error_message = kept(c, row->error_message),
        .decision = kept(c, row->decision.n ? row->decision : STR("")),
        .reasoning_state = kept(c, row->state),
        .duration_ms = (int64_t)((s->end_ns - s->start_ns) / CLOCK_NS_PER_MS),
        .thinking_ms = thinking_ms(c),
        .ended_us = row->ended_ms * 1000,
        .input_tokens = row->input_tokens,
        .output_tokens = row->output_tokens,
        .reasoning_tokens = row->reasoning_tokens,
        .cost_usd = row->cost_usd,
    };
}

void call_show_end(struct call *c)
{
    struct hub_call *live = c->show.live;

    c->show.live = NULL;
    hub_call_end(live, &c->show.end);
}
