/* speak.c - see speak.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/speak.h"
#include "base/ctype.h"
#include "base/utf8.h"

#define OUT_MAX (8 * SPEAK_TEXT_MAX)

/* ---- after the filters ---- */

/* The part that can be sent: up to the last whole character. */
static void order_speak_emit(struct speak *s)
{
    str all = buf_str(&s->out);
    size_t end = all.n - utf8_tail(all);

    if (end == 0)
        return;
    s->sink.on_say(s->sink.ctx, str_slice(all, 0, end));
    buf_drop(&s->out, end);
}

static void order_speak_mask(struct speak *s, str text)
{
    if (text.n == 0)
        return;
    if (s->masks)
        mask_stream_feed(&s->mask, text, &s->out, NULL);
    else
        buf_add(&s->out, text);
}

/* White space is sent once other text follows it. */
static void order_speak_trim(struct speak *s, str text)
{
    size_t from = 0, end = text.n;

    while (!s->started && from < end && char_is_space(text.p[from]))
        from++;
    while (end > from && char_is_space(text.p[end - 1]))
        end--;
    if (end > from) {
        s->started = true;
        order_speak_mask(s, buf_str(&s->space));
        buf_reset(&s->space);
        order_speak_mask(s, str_slice(text, from, end));
    }
    assert(s->started || !s->space.n); /* no white space before the first word */
    if (s->started)
        buf_add(&s->space, str_slice(text, end, text.n));
}

static void speak_open_up(struct speak *s)
{
    assert(!s->open || !s->held.n);
    if (s->open)
        return;
    s->open = true;
    order_speak_trim(s, buf_str(&s->held));
    buf_reset(&s->held);
}

static void speak_on_guarded(void *ctx, str text)
{
    struct speak *s = ctx;

    if (s->open)
        order_speak_trim(s, text);
    else
        buf_add(&s->held, text);
}

/* ---- the filters ---- */

static void order_speak_on_run(void *ctx, bool thought, str run)
{
    struct speak_filter *v = ctx;

    assert(v->at < SPEAK_FILTERS);
    if (thought)
        speak_open_up(v->speak);
    else if (v->at + 1 == SPEAK_FILTERS && v->filter.taken)
        return; /* an attack: nothing more is sent */
    else if (v->at + 1 < SPEAK_FILTERS)
        customer_filter_feed(&v->speak->filters[v->at + 1].filter, run);
    else
        customer_guard_feed(&v->speak->guard, run);
}

static void order_speak_on_close(void *ctx, bool stray);

static void speak_init_filters(struct speak *s, size_t from)
{
    for (size_t i = from; i < SPEAK_FILTERS; i++) {
        s->filters[i].speak = s;
        s->filters[i].at = i;
        customer_filter_init(&s->filters[i].filter,
                             (struct customer_filter_sink){
                                 order_speak_on_run, order_speak_on_close, &s->filters[i]});
    }
    customer_guard_init(&s->guard, speak_on_guarded, s);
}

/* A closer before any opener: all text so far was reasoning, in every filter. */
static void order_speak_on_close(void *ctx, bool stray)
{
    struct speak_filter *v = ctx;

    if (stray && !v->speak->open) {
        speak_init_filters(v->speak, v->at + 1);
        buf_reset(&v->speak->held);
    }
    speak_open_up(v->speak);
}

void speak_init(struct speak *s, const struct mask *m, struct speak_sink sink)
{
    memset(s, 0, sizeof *s);
    s->sink = sink;
    buf_init(&s->held, SPEAK_TEXT_MAX);
    buf_init(&s->space, SPEAK_TEXT_MAX);
    buf_init(&s->out, OUT_MAX);
    s->masks = m != NULL;
    if (m)
        mask_stream_init(&s->mask, m);
    speak_init_filters(s, 0);
}

void speak_feed(struct speak *s, bool reasoning, str piece)
{
    if (reasoning) {
        speak_open_up(s);
        return;
    }
    assert(s->taken <= SPEAK_TEXT_MAX);
    piece = str_slice(piece, 0, SPEAK_TEXT_MAX - s->taken);
    s->taken += piece.n;
    customer_filter_feed(&s->filters[0].filter, piece);
    order_speak_emit(s);
}

void speak_release(struct speak *s)
{
    if (s->masks)
        mask_stream_release(&s->mask);
    buf_release(&s->held);
    buf_release(&s->space);
    buf_release(&s->out);
}
