/* live_publish.c - publishes a running call to its watchers: begin, texts, end.
 *
 * Reasoning is published if the client may see it or the record keeps it, and all texts are masked
 * as they are for the record. A reply in one piece has mostly ended before anybody looks: its texts
 * are lent to the hub, not copied.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "gateway/call/internal.h"
#include "gateway/question.h"
#include "store/step.h"

#define ASKED_SIZE 4096
#define SPARE ((size_t)64 << 10)
#define ASKED_MARGIN 512
#define LIVE_MASK_NS (50 * CLOCK_NS_PER_MS) /* of patterns of the user's own, for a call */
#define STATUS_NS 1000000000u               /* interval of token counts during reasoning */

static str live_asked_text(const struct call *c)
{
    struct question q;
    str words;

    if (c->in.title.n)
        return c->in.title;
    question_init(&q, c->in.request);
    return question_next(&q, &words) ? words : STR("");
}

/* ---- for who looks: any thread, one at a time, and not the call's own memory ---- */

static void live_open_masks(struct call *c)
{
    struct call_live_masks *m;

    if (c->live.masks)
        return;
    m = base_alloc(sizeof *m);
    arena_init(&m->arena, CALL_ARENA_MAX);
    m->left_ns = LIVE_MASK_NS;
    for (size_t i = 0; i < HUB_TEXT_COUNT; i++)
        m->streams[i].m = NULL;
    c->live.masks = m;
}

/* Masking for viewers runs on the loop, so each text gets a part of the call's masking time. */
static void live_mask_begin(struct call *c, size_t size, struct mask_budget *b)
{
    live_open_masks(c);
    *b = call_mask_slice(c->live.masks->left_ns, size);
    assert(b->left_ns <= c->live.masks->left_ns);
    c->live.masks->left_ns -= b->left_ns;
    mask_budget_set(b);
}

static void live_mask_end(struct call *c, const struct mask_budget *b)
{
    assert(c->live.masks);
    mask_budget_set(NULL);
    c->live.masks->left_ns += b->left_ns;
}

static str live_mask_text(struct call *c, str text)
{
    struct mask_budget b;
    struct buf out;
    bool found;

    live_mask_begin(c, text.n, &b);
    buf_init(&out, 4 * text.n + SPARE);
    found = mask_text(c->in.setup->mask, text, &out, NULL);
    live_mask_end(c, &b);
    if (found)
        text =
            buf_full(&out) ? STR(MASK_LEFT_OUT) : arena_dup(&c->live.masks->arena, buf_str(&out));
    buf_release(&out);
    return text;
}

/* Its front. More than that is masked, so that no secret is cut before it is known. */
static str live_asked_front(struct call *c, str all)
{
    str some = utf8_cut_size(all, ASKED_SIZE);
    str masked = live_mask_text(c, some);

    if (some.n == all.n)
        return masked;
    return utf8_cut_size(masked, masked.n > ASKED_MARGIN ? masked.n - ASKED_MARGIN : 0);
}

static void live_on_open(void *ctx, struct hub_begin *b)
{
    struct call *c = ctx;

    assert(c->in.setup->mask);
    if (c->in.request->user.n)
        b->subject = live_mask_text(c, b->subject);
    b->model = live_mask_text(c, b->model);
    b->asked = live_asked_front(c, b->asked);
}

/* Texts are masked only when a viewer is about to get them. */
static void live_on_filter(void *ctx, enum hub_text kind, str raw, bool last, struct buf *out)
{
    struct call *c = ctx;
    struct mask_stream *s;
    struct mask_budget b;

    assert(kind < HUB_TEXT_COUNT);
    live_mask_begin(c, raw.n, &b);
    s = &c->live.masks->streams[kind];
    if (!s->m)
        mask_stream_init(s, c->in.setup->mask);
    mask_stream_feed(s, raw, out, NULL);
    if (last)
        mask_stream_finish(s, out, NULL);
    live_mask_end(c, &b);
}

static void live_on_close(void *ctx)
{
    struct call *c = ctx;
    struct call_live_masks *m = c->live.masks;

    if (!m)
        return;
    for (size_t i = 0; i < HUB_TEXT_COUNT; i++)
        if (m->streams[i].m)
            mask_stream_release(&m->streams[i]);
    arena_release(&m->arena);
    free(m);
    c->live.masks = NULL;
}

/* Describes the call by fields that do not change while it runs. */
static void live_on_describe(void *ctx, struct hub_begin *b)
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
    b->level = str_c(chat_level_name(c->live.level));
    b->asked = live_asked_text(c);
    b->cap = c->live.cap;
    b->stream = c->in.request->stream;
}

void call_live_begin(struct call *c)
{
    bool masks = c->in.setup->mask;
    struct hub_begin b = {
        .filter = {.describe = live_on_describe,
                   .feed = masks ? live_on_filter : NULL,
                   .open = masks ? live_on_open : NULL,
                   .close = masks ? live_on_close : NULL,
                   .ctx = c},
        .started_us = call_wall_start_ms(c) * 1000,
        .thoughts = !c->client.hides || c->config->keep == CONFIG_KEEP_TEXT,
        .part = c->in.part,
    };

    if (!c->gl->port)
        return;
    assert(!c->live.hub);
    c->live.level = c->level.asked;
    c->live.cap = c->level.cap;
    c->live.hub = hub_call_begin(c->gl->gateway->hub, c->gl->port, &b);
}

/* ---- how far it is ---- */

static int64_t live_thinking_ms(const struct call *c)
{
    uint64_t now = call_now_ns(c);
    uint64_t more = c->live.state == HUB_THINKING ? (now - c->live.think_ns) / CLOCK_NS_PER_MS : 0;

    assert(c->live.state != HUB_THINKING || now >= c->live.think_ns);
    return c->live.thought ? c->live.thought_ms + (int64_t)more : -1;
}

static struct hub_progress live_progress(struct call *c)
{
    c->live.status_ns = call_now_ns(c);
    return (struct hub_progress){c->live.state,
                                 live_thinking_ms(c),
                                 c->live.thought ? pipe_kept_tokens(&c->pipe) : -1,
                                 pipe_is_over(&c->pipe) || c->sum.cut};
}

static void live_flush_batch(struct call *c)
{
    struct gateway_loop *gl = c->gl;

    if (gl->live_n == 0)
        return;
    assert(gl->live_n <= sizeof gl->live_text && c->live.hub);
    assert(c->live.batches);
    hub_call_text(c->live.hub, c->live.kind, (str){gl->live_text, gl->live_n});
    gl->live_n = 0;
}

void call_live_begin_bytes(struct call *c)
{
    if (c->live.batches)
        return;
    assert(c->gl->live_n == 0);
    c->live.batches = c->live.hub && !hub_call_watched(c->live.hub);
}

void call_live_end_bytes(struct call *c)
{
    live_flush_batch(c);
    c->live.batches = false;
}

static void live_send_text(struct call *c, enum hub_text kind, str text)
{
    struct gateway_loop *gl = c->gl;

    if (c->live.batches && (kind != c->live.kind || text.n > sizeof gl->live_text - gl->live_n))
        live_flush_batch(c);
    if (!c->live.batches || text.n > sizeof gl->live_text) {
        hub_call_text(c->live.hub, kind, text);
        return;
    }
    assert(text.n <= sizeof gl->live_text - gl->live_n);
    c->live.kind = kind;
    memcpy(gl->live_text + gl->live_n, text.p, text.n);
    gl->live_n += text.n;
}

static void live_send_state(struct call *c)
{
    struct hub_progress p = live_progress(c);

    assert(c->live.hub && !c->live.gathers);
    live_flush_batch(c);
    hub_call_state(c->live.hub, &p);
}

static void live_lend(struct call *c)
{
    assert(c->live.gathers && !c->live.lent);
    assert(c->live.texts && c->live.texts->n <= HUB_LENT_MAX);
    c->live.gathers = false;
    c->live.lent = true;
    c->live.texts->progress = live_progress(c);
    hub_call_lend(c->live.hub, c->live.texts);
}

void call_live_begin_whole(struct call *c)
{
    c->live.gathers = c->live.hub && !hub_call_watched(c->live.hub);
    if (!c->live.gathers)
        return;
    c->live.texts = arena_alloc(&c->arena, sizeof *c->live.texts);
    c->live.texts->n = 0;
}

void call_live_copy(struct call *c)
{
    call_live_end_bytes(c);
    if (c->live.gathers)
        live_lend(c);
    if (c->live.lent)
        hub_call_keep(c->live.hub);
    c->live.lent = false;
}

static void live_add_text(struct call *c, enum hub_text kind, str text)
{
    struct hub_lent *l = c->live.texts;

    if (c->live.gathers && l->n == HUB_LENT_MAX)
        call_live_copy(c);
    if (!c->live.gathers) {
        live_send_text(c, kind, text);
        return;
    }
    assert(l->n < HUB_LENT_MAX);
    l->pieces[l->n].state = c->live.state;
    l->pieces[l->n].kind = kind;
    l->pieces[l->n++].text = text;
}

static void live_set_state(struct call *c, enum hub_state state)
{
    assert(c->live.hub);
    if (c->live.state == state)
        return;
    if (c->live.state == HUB_THINKING)
        c->live.thought_ms = live_thinking_ms(c);
    if (state == HUB_THINKING) {
        c->live.think_ns = call_now_ns(c);
        c->live.thought = true;
    }
    c->live.state = state;
    if (!c->live.gathers)
        live_send_state(c);
}

void call_live_reasoning(struct call *c, str text)
{
    if (!c->live.hub)
        return;
    live_set_state(c, HUB_THINKING);
    live_add_text(c, HUB_REASONING, text);
    if (!c->live.gathers && call_now_ns(c) - c->live.status_ns >= STATUS_NS &&
        hub_call_watched(c->live.hub))
        live_send_state(c);
}

void call_live_frame(struct call *c)
{
    const struct pipe *p = &c->pipe;

    if (!c->live.hub)
        return;
    if (c->sum.reasoning_ns && c->live.state == HUB_WAITING)
        live_set_state(c, HUB_THINKING); /* its reasoning is hidden */
    for (size_t i = 0; i < p->count; i++) {
        const struct chat_event *ev = &p->events[i];

        if (ev->choice != 0)
            continue;
        if (ev->kind == CHAT_TEXT || ev->kind == CHAT_REFUSAL) {
            if (c->live.state != HUB_ANSWERING && !str_is_blank(ev->text))
                live_set_state(c, HUB_ANSWERING);
            live_add_text(c, HUB_ANSWER, ev->text);
        } else if (ev->kind == CHAT_CALL) {
            if (c->live.called)
                live_add_text(c, HUB_TOOL, STR("\n"));
            c->live.called = true;
            live_set_state(c, HUB_CALLING);
            live_add_text(c, HUB_TOOL, ev->name);
            live_add_text(c, HUB_TOOL, STR(" "));
        } else if (ev->kind == CHAT_ARGUMENTS) {
            live_add_text(c, HUB_TOOL, ev->text);
        }
    }
    if (c->live.gathers)
        live_lend(c);
}

/* ---- its end ---- */

static str live_reasoning_state(const struct call *c, const struct store_call *row)
{
    if (row->state.n)
        return row->state;
    return c->pipe.reasoning.any ? STR("complete") : STR("none");
}

static bool live_has_failed(const struct call *c)
{
    return c->sum.error_type.n > 0 || !c->sum.complete;
}

static void live_make_end(struct call *c, const struct store_call *row)
{
    const struct summary *s = c->summary;
    int64_t took_ms = (int64_t)((s->end_ns - s->start_ns) / CLOCK_NS_PER_MS);
    str step = row->step.n ? row->step : STR("model call"), stage, agent;

    assert(!c->live.end && c->state >= CALL_COMMITTING);
    step_read(step, &stage, &agent);
    c->live.end = arena_alloc(&c->arena, sizeof *c->live.end);
    *c->live.end = (struct hub_end){
        .success = !live_has_failed(c),
        .has_tools = c->pipe.cap.called || row->tools.n > 0,
        .has_reasoning = c->pipe.reasoning.any || s->usage.reasoning > 0,
        .cut = s->cut,
        .decision_thought = c->pipe.reasoning.any,
        .status = s->status,
        .provider = s->provider,
        .model = s->upstream_model,
        .step = step,
        .stage = stage,
        .agent = agent,
        .stop = str_c(c->reply.stop_seen ? chat_stop_name(s->stop) : ""),
        .error_message = live_has_failed(c) ? call_mask_error(c) : STR(""),
        .error_thought = live_has_failed(c) && c->failure && c->failure->quotes,
        .decision = row->decision,
        .reasoning_state = live_reasoning_state(c, row),
        .duration_ms = took_ms,
        .thinking_ms = live_thinking_ms(c),
        .ended_us = (s->wall_start_ms + took_ms) * 1000,
        .input_tokens = s->usage.input,
        .output_tokens = s->usage.output,
        .reasoning_tokens = s->usage.reasoning,
        .cost_usd = s->cost_usd,
    };
}

/* For a successful call that is not recorded, the end is made only if a watcher needs it. */
void call_live_finish(struct call *c, const struct store_call *row)
{
    if (c->live.hub && (c->recorded || live_has_failed(c)))
        live_make_end(c, row);
}

static void live_ensure_end(struct call *c)
{
    if (!c->live.end)
        live_make_end(c, &store_call_none);
}

void call_live_detach(struct call *c)
{
    if (!c->live.hub)
        return;
    live_flush_batch(c);
    live_ensure_end(c);
    c->live.end->model = arena_dup(&c->arena, c->live.end->model);
    hub_call_own(c->live.hub);
}

void call_live_end(struct call *c)
{
    struct hub_call *live = c->live.hub;

    call_live_end_bytes(c);
    c->live.hub = NULL;
    c->live.gathers = c->live.lent = false;
    if (hub_call_leave(live))
        return;
    live_ensure_end(c);
    hub_call_end(live, c->live.end);
}
