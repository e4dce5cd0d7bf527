/* show.c - a call as it is shown to who watches: its beginning, its texts, its end.
 *
 * Reasoning is shown where the client may see it or the record keeps it; all texts go out the way
 * they go on record. A reply in one piece is mostly over before anybody could look: its texts are
 * lent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "gateway/call/internal.h"
#include "gateway/question.h"

#define ASKED_SIZE 4096
#define SPARE ((size_t)64 << 10)
#define ASKED_MARGIN 512
#define STATUS_NS 1000000000u /* while it thinks, its count of tokens is told so often */

static str asked_words(const struct call *c)
{
    struct question q;
    str words;

    if (c->in.title.n)
        return c->in.title;
    question_init(&q, c->in.request);
    return question_next(&q, &words) ? words : STR("");
}

/* ---- for who looks: any thread, one at a time, and not the call's own memory ---- */

static void open_masks(struct call *c)
{
    if (c->show.opened)
        return;
    c->show.opened = true;
    arena_init(&c->shown.arena, CALL_ARENA_MAX);
    for (size_t i = 0; i < HUB_TEXT_COUNT; i++)
        c->shown.masks[i].m = NULL;
}

static str without_secrets(struct call *c, str text)
{
    struct buf out;

    open_masks(c);
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

    open_masks(c);
    if (!s->m)
        mask_stream_init(s, c->in.setup->mask);
    mask_stream_feed(s, raw, out, NULL);
    if (last)
        mask_stream_finish(s, out, NULL);
}

static void filter_close(void *ctx)
{
    struct call *c = ctx;

    if (!c->show.opened)
        return;
    for (size_t i = 0; i < HUB_TEXT_COUNT; i++)
        if (c->shown.masks[i].m)
            mask_stream_release(&c->shown.masks[i]);
    arena_release(&c->shown.arena);
}

/* Of nothing that changes while the call runs. */
static void on_describe(void *ctx, struct hub_begin *b)
{
    const struct call *c = ctx;
    str key = c->in.key ? c->in.key->name : STR("");

    b->id = c->in.id;
    b->session = c->in.session.n ? c->in.session : c->in.id;
    b->key = key;
    b->subject = c->in.request->user.n ? c->in.request->user : key;
    b->dialect = str_c(c->in.wire->name);
    b->model = c->level.model;
    b->provider = c->chain.links[0].provider->name;
    b->level = str_c(chat_level_name(c->shown.level));
    b->asked = asked_words(c);
    b->cap = c->shown.cap;
    b->stream = c->in.request->stream;
}

void call_show_begin(struct call *c)
{
    bool masks = c->in.setup->mask;
    struct hub_begin b = {
        .filter = {.describe = on_describe,
                   .feed = masks ? on_filter : NULL,
                   .open = masks ? on_open : NULL,
                   .close = masks ? filter_close : NULL,
                   .ctx = c},
        .started_us = call_wall_start_ms(c) * 1000,
        .thoughts = !c->client.hides || c->config->keep == CONFIG_KEEP_TEXT,
    };

    if (!c->gl->port)
        return;
    c->shown.level = c->level.asked;
    c->shown.cap = c->level.cap;
    c->show.live = hub_call_begin(c->gl->gateway->hub, c->gl->port, &b);
}

/* ---- how far it is ---- */

static int64_t thinking_ms(const struct call *c)
{
    uint64_t now = loop_now_ns(c->gl->loop);
    uint64_t more = c->show.state == HUB_THINKING ? (now - c->show.think_ns) / CLOCK_NS_PER_MS : 0;

    return c->show.thought ? c->show.thought_ms + (int64_t)more : -1;
}

static struct hub_progress progress(struct call *c)
{
    c->show.status_ns = loop_now_ns(c->gl->loop);
    return (struct hub_progress){c->show.state,
                                 thinking_ms(c),
                                 c->show.thought ? pipe_tokens(&c->pipe) : -1,
                                 c->pipe.over || c->sum.cut};
}

static void tell(struct call *c)
{
    struct hub_progress p = progress(c);

    hub_call_state(c->show.live, &p);
}

static void lend(struct call *c)
{
    c->show.gathers = false;
    c->show.lent = true;
    c->shown.lent.progress = progress(c);
    hub_call_lend(c->show.live, &c->shown.lent);
}

void call_show_whole(struct call *c)
{
    c->show.gathers = c->show.live && !hub_call_watched(c->show.live);
    c->shown.lent.n = 0;
}

void call_show_keep(struct call *c)
{
    if (c->show.gathers)
        lend(c);
    if (c->show.lent)
        hub_call_keep(c->show.live);
    c->show.lent = false;
}

static void say(struct call *c, enum hub_text kind, str text)
{
    struct hub_lent *l = &c->shown.lent;

    if (c->show.gathers && l->n == HUB_LENT_MAX)
        call_show_keep(c);
    if (!c->show.gathers) {
        hub_call_text(c->show.live, kind, text);
        return;
    }
    l->pieces[l->n].state = c->show.state;
    l->pieces[l->n].kind = kind;
    l->pieces[l->n++].text = text;
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
    if (!c->show.gathers)
        tell(c);
}

void call_show_thought(struct call *c, str text)
{
    if (!c->show.live)
        return;
    become(c, HUB_THINKING);
    say(c, HUB_REASONING, text);
    if (!c->show.gathers && loop_now_ns(c->gl->loop) - c->show.status_ns >= STATUS_NS &&
        hub_call_watched(c->show.live))
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
            say(c, HUB_ANSWER, ev->text);
        } else if (ev->kind == CHAT_CALL) {
            if (c->show.called)
                say(c, HUB_TOOL, STR("\n"));
            c->show.called = true;
            become(c, HUB_CALLING);
            say(c, HUB_TOOL, ev->name);
            say(c, HUB_TOOL, STR(" "));
        } else if (ev->kind == CHAT_ARGUMENTS) {
            say(c, HUB_TOOL, ev->text);
        }
    }
    if (c->show.gathers)
        lend(c);
}

/* ---- its end ---- */

static str state(const struct call *c, const struct store_call *row)
{
    if (row->state.n)
        return row->state;
    return c->pipe.reasoned ? STR("complete") : STR("none");
}

static bool failed(const struct call *c)
{
    return c->sum.error_type.n > 0 || !c->sum.complete;
}

static void make_end(struct call *c, const struct store_call *row)
{
    const struct summary *s = &c->sum;
    int64_t took_ms = (int64_t)((s->end_ns - s->start_ns) / CLOCK_NS_PER_MS);

    c->show.ended = true;
    c->shown.end = (struct hub_end){
        .success = !failed(c),
        .has_tools = c->pipe.called,
        .has_reasoning = c->pipe.reasoned || s->usage.reasoning > 0,
        .cut = s->cut,
        .decision_thought = c->pipe.reasoned,
        .status = s->status,
        .provider = s->provider,
        .model = s->upstream_model,
        .step = row->step.n ? row->step : STR("model call"),
        .stop = str_c(c->reply.stop_seen ? chat_stop_name(s->stop) : ""),
        .error_message = failed(c) ? call_mask_error(c) : STR(""),
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

/* What went well and is not on record has an end that can be made if somebody is to see it. */
void call_show_done(struct call *c, const struct store_call *row)
{
    if (c->show.live && (c->recorded || failed(c)))
        make_end(c, row);
}

static void end_known(struct call *c)
{
    if (!c->show.ended)
        make_end(c, &store_call_none);
}

void call_show_own(struct call *c)
{
    if (!c->show.live)
        return;
    end_known(c);
    c->shown.end.model = arena_dup(&c->arena, c->shown.end.model);
    hub_call_own(c->show.live);
}

void call_show_end(struct call *c)
{
    struct hub_call *live = c->show.live;

    c->show.live = NULL;
    c->show.gathers = c->show.lent = false;
    if (hub_call_leave(live))
        return;
    end_known(c);
    hub_call_end(live, &c->shown.end);
}
