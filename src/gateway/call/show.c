/* show.c - a call as it is shown to who watches: its beginning, its texts, its end.
 *
 * Reasoning is shown where the client may see it or the record keeps it; all texts go out the way
 * they go on record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "gateway/call/internal.h"

#define ASKED_SIZE 4096
#define SPARE ((size_t)64 << 10)
#define ASKED_MARGIN 512
#define STATUS_NS 1000000000u /* while it thinks, its count of tokens is told so often */

static str last_words(const struct chat_request *r)
{
    const struct chat_message *m = r->message_count ? &r->messages[r->message_count - 1] : NULL;

    for (size_t i = 0; m && m->role == CHAT_USER && i < m->part_count; i++)
        if (m->parts[i].kind == CHAT_PART_TEXT && m->parts[i].text.n)
            return m->parts[i].text;
    return STR("");
}

/* ---- for who looks: any thread, one at a time, and not the call's own memory ---- */

static str without_secrets(struct call *c, str text)
{
    struct buf out;

    buf_init(&out, 4 * text.n + SPARE);
    if (mask_text(c->in.setup->mask, text, &out, NULL))
        text = buf_full(&out) ? STR(MASK_LEFT_OUT) : arena_dup(&c->shown.arena, buf_str(&out));
    buf_release(&out);
    return text;
}

/* Its front. More than that is masked, so that no secret is cut before it is known. */
static str asked(struct call *c, str all)
{
    str some = utf8_cut_size(all, ASKED_SIZE);
    str masked = without_secrets(c, some);

    if (some.n == all.n)
        return masked;
    return utf8_cut_size(masked, masked.n > ASKED_MARGIN ? masked.n - ASKED_MARGIN : 0);
}

static void on_open(void *ctx, struct hub_begin *b)
{
    struct call *c = ctx;

    if (c->in.request->user.n)
        b->subject = without_secrets(c, b->subject);
    b->model = without_secrets(c, b->model);
    b->asked = asked(c, b->asked);
}

/* Texts lose their secrets when somebody is about to see them. */
static void on_filter(void *ctx, enum hub_text kind, str raw, bool last, struct buf *out)
{
    struct call *c = ctx;
    struct mask_stream *s = &c->shown.masks[kind];

    if (!s->m)
        mask_stream_init(s, c->in.setup->mask);
    mask_stream_feed(s, raw, out, NULL);
    if (last)
        mask_stream_finish(s, out, NULL);
}

static void filter_close(void *ctx)
{
    struct call *c = ctx;

    for (size_t i = 0; i < HUB_TEXT_COUNT; i++)
        if (c->shown.masks[i].m)
            mask_stream_release(&c->shown.masks[i]);
    arena_release(&c->shown.arena);
}

static struct hub_filter filter(struct call *c)
{
    if (!c->in.setup->mask)
        return (struct hub_filter){0};
    arena_init(&c->shown.arena, CALL_ARENA_MAX);
    for (size_t i = 0; i < HUB_TEXT_COUNT; i++)
        c->shown.masks[i].m = NULL;
    return (struct hub_filter){on_filter, on_open, filter_close, c};
}

void call_show_begin(struct call *c)
{
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
        .started_us = call_wall_start_ms(c) * 1000,
    };

    if (!c->gl->port)
        return;
    b.filter = filter(c);
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

static str state(const struct call *c, const struct store_call *row)
{
    if (row->state.n)
        return row->state;
    return c->pipe.reasoned ? STR("complete") : STR("none");
}

void call_show_done(struct call *c, const struct store_call *row)
{
    const struct summary *s = &c->sum;
    bool failed = s->error_type.n > 0 || !s->complete;
    int64_t took_ms = (int64_t)((s->end_ns - s->start_ns) / CLOCK_NS_PER_MS);

    if (!c->show.live)
        return;
    c->shown.end = (struct hub_end){
        .success = !failed,
        .has_tools = c->pipe.called,
        .has_reasoning = c->pipe.reasoned || s->usage.reasoning > 0,
        .cut = s->cut,
        .decision_thought = c->pipe.reasoned,
        .status = s->status,
        .provider = s->provider,
        .model = s->upstream_model,
        .step = row->step.n ? row->step : STR("model call"),
        .stop = str_c(c->stop_seen ? chat_stop_name(s->stop) : ""),
        .error_message = failed ? call_mask_text(c, c->error.message) : STR(""),
        .decision = row->decision,
        .reasoning_state = state(c, row),
        .duration_ms = took_ms,
        .thinking_ms = thinking_ms(c),
        .ended_us = (s->wall_start_ms + took_ms) * 1000,
        .input_tokens = s->usage.input,
        .output_tokens = s->usage.output,
        .reasoning_tokens = s->usage.reasoning,
        .cost_usd = s->cost_usd,
    };
}

void call_show_own(struct call *c)
{
    if (!c->show.live)
        return;
    c->shown.end.model = arena_dup(&c->arena, c->shown.end.model);
    hub_call_own(c->show.live);
}

void call_show_end(struct call *c)
{
    struct hub_call *live = c->show.live;

    c->show.live = NULL;
    hub_call_end(live, &c->shown.end);
}
