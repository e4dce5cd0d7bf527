/* text.c - the texts of running calls.
 *
 * A text has two parts: the filtered part, and the part that the filter has not seen yet. Without
 * viewers, new pieces are only appended to the second part; they are filtered when it has grown, or
 * when a viewer arrives. When the filtered part reaches its limit, its newer half is kept.
 *
 * For each kind of channel a cursor marks how much of the text was published there. Published
 * pieces end after a whole character.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "live/messages.h"

#define ASKED_MAX 500
#define DASH_MAX ((size_t)16 << 10) /* bytes of a late text that viewers of all calls get */

/* ---- texts; the call is locked ---- */

static size_t hub_words_size(const struct hub_words *w)
{
    return w->raw.cap + (w->filtered ? w->filtered->text.cap : 0);
}

static struct hub_filtered *hub_words_filtered(struct hub_words *w)
{
    if (!w->filtered) {
        w->filtered = base_alloc_zero(sizeof *w->filtered);
        buf_init(&w->filtered->text, 8 * HUB_TEXT_MAX);
    }
    return w->filtered;
}

static void hub_text_charge(struct hub_call *c)
{
    size_t held = 0;

    assert(c->charged <= atomic_load_explicit(&c->hub->text_bytes, memory_order_relaxed));
    for (size_t i = 0; i < HUB_TEXT_COUNT; i++)
        held += c->words[i] ? hub_words_size(c->words[i]) : 0;
    if (held == c->charged)
        return;
    atomic_fetch_add_explicit(&c->hub->text_bytes, held - c->charged, memory_order_relaxed);
    c->charged = (uint32_t)held;
}

static size_t hub_text_get_limit(const struct hub_call *c)
{
    uint64_t all = atomic_load_explicit(&c->hub->text_bytes, memory_order_relaxed);

    return all > HUB_TEXTS_MAX ? HUB_TEXT_MIN : HUB_TEXT_MAX;
}

static size_t hub_text_char_at(str text, size_t at)
{
    while (at < text.n && ((unsigned char)text.p[at] & 0xC0) == 0x80)
        at++;
    return at;
}

/* Keeps the newer half, starting with a whole character. */
static void hub_text_trim(struct hub_call *c, struct hub_filtered *w)
{
    size_t max = hub_text_get_limit(c), at;
    struct buf kept;

    if (!w || w->text.n <= max)
        return;
    at = w->text.n - max / 2;
    at = hub_text_char_at(buf_str(&w->text), at);
    assert(at <= w->text.n);
    w->base += at;
    w->base_units += hub_units(str_slice(buf_str(&w->text), 0, at));
    if (w->text.cap <= 2 * max) {
        buf_drop(&w->text, at);
        return;
    }
    buf_init(&kept, w->text.size_max); /* the limit was lowered: gives memory back */
    buf_add(&kept, str_slice(buf_str(&w->text), at, w->text.n));
    buf_release(&w->text);
    w->text = kept;
}

/* Filters the waiting text. */
static void hub_text_pass(struct hub_call *c, enum hub_text kind)
{
    const struct hub_filter *f = &c->b.filter;
    struct hub_words *w = c->words[kind];

    if (!w)
        return;
    if (f->feed && (w->raw.n || w->over)) {
        f->feed(f->ctx, kind, buf_str(&w->raw), w->over, &hub_words_filtered(w)->text);
        if (hub_text_get_limit(c) == HUB_TEXT_MIN)
            buf_release(&w->raw);
        else
            buf_reset(&w->raw);
    }
    w->begun &= !w->over;
    w->over = false;
    hub_text_trim(c, w->filtered);
    hub_text_charge(c);
}

NOINLINE static struct hub_words *hub_words_new(void)
{
    struct hub_words *w = base_alloc_zero(sizeof *w);

    buf_init(&w->raw, HUB_TEXT_MAX + HUB_RAW_MAX + 1);
    return w;
}

static void hub_text_add_some(struct hub_call *c, enum hub_text kind, str text)
{
    struct hub_words *w = c->words[kind];
    struct buf *to = c->b.filter.feed ? &w->raw : &hub_words_filtered(w)->text;
    size_t cap;

    assert(text.n && text.n <= HUB_TEXT_MAX / 2 && w->raw.n <= HUB_RAW_MAX);
    if (w->over)
        hub_text_pass(c, kind); /* the text had ended, and begins again */
    cap = to->cap;
    buf_add(to, text);
    w->begun = true;
    if (to->cap != cap)
        hub_text_charge(c);
    if (w->raw.n > HUB_RAW_MAX || (w->filtered && w->filtered->text.n > HUB_TEXT_MAX) ||
        hub_text_get_limit(c) == HUB_TEXT_MIN)
        hub_text_pass(c, kind);
}

void hub_call_add(struct hub_call *c, enum hub_text kind, str text)
{
    if (kind == HUB_REASONING && !c->b.thoughts)
        return;
    assert(kind < HUB_TEXT_COUNT);
    if (!c->words[kind])
        c->words[kind] = hub_words_new();
    while (text.n) {
        str some = str_slice(text, 0, HUB_TEXT_MAX / 2); /* a single piece may exceed the limit */

        hub_text_add_some(c, kind, some);
        text = str_slice(text, some.n, text.n);
    }
}

/* The texts are complete: the filter need not wait for more. */
void hub_call_close(struct hub_call *c, unsigned kinds)
{
    for (enum hub_text i = 0; i < HUB_TEXT_COUNT; i++)
        if (c->words[i])
            c->words[i]->over |= c->words[i]->begun && (kinds & (1u << i));
}

void hub_call_become(struct hub_call *c, const struct hub_progress *p)
{
    static const unsigned over[] = {
        [HUB_WAITING] = 0,
        [HUB_THINKING] = 1u << HUB_ANSWER | 1u << HUB_TOOL,
        [HUB_ANSWERING] = 1u << HUB_REASONING | 1u << HUB_TOOL,
        [HUB_CALLING] = 1u << HUB_REASONING | 1u << HUB_ANSWER,
        [HUB_DONE] = ~0u,
    };

    assert((size_t)p->state < COUNT_OF(over));
    if (p->state != c->progress.state)
        hub_call_close(c, over[p->state]);
    c->progress = *p;
}

void hub_call_take(struct hub_call *c)
{
    const struct hub_lent *l = atomic_load_explicit(&c->lent, memory_order_acquire);

    if (!l)
        return;
    assert(l->n <= HUB_LENT_MAX);
    for (size_t i = 0; i < l->n; i++) {
        struct hub_progress p = c->progress;

        p.state = l->pieces[i].state;
        hub_call_become(c, &p);
        hub_call_add(c, l->pieces[i].kind, l->pieces[i].text);
    }
    hub_call_become(c, &l->progress);
    atomic_store_explicit(&c->lent, NULL, memory_order_relaxed);
}

/* ---- publishing ---- */

static struct hub_channel *hub_text_channel_at(struct hub_call *c, enum hub_channel_kind kind)
{
    return kind == HUB_DASH ? &c->hub->dash : kind == HUB_RELAY ? &c->hub->relay : c->channel;
}

static struct hub_reported *hub_text_reported_at(struct hub_filtered *w,
                                                 const struct hub_channel *to)
{
    return &w->sent[to->kind == HUB_DASH ? 0 : to->kind == HUB_RELAY ? 2 : 1];
}

static void hub_text_reported_add(struct hub_reported *sent, str text)
{
    sent->at += text.n;
    sent->units += hub_units(text);
}

static void hub_text_publish(struct hub_call *c, enum hub_text kind, struct hub_channel *to,
                             enum hub_flush how)
{
    struct hub_filtered *w = c->words[kind]->filtered;
    struct hub_reported *sent = hub_text_reported_at(w, to);
    enum hub_audience audience = kind == HUB_REASONING ? HUB_SEES_THOUGHTS : HUB_ANYONE;
    str text;

    if (sent->at < w->base)
        *sent = (struct hub_reported){w->base, w->base_units};
    assert(sent->at - w->base <= w->text.n);
    text = str_slice(buf_str(&w->text), (size_t)(sent->at - w->base), w->text.n);
    if (how != HUB_FLUSH_LAST)
        text.n -= utf8_tail(text);
    if (to->kind == HUB_DASH && text.n > DASH_MAX) {
        size_t skip = hub_text_char_at(text, text.n - DASH_MAX);

        hub_text_reported_add(sent, str_slice(text, 0, skip));
        text = str_slice(text, skip, text.n);
    }
    if (text.n && how != HUB_FLUSH_QUIET && hub_channel_tells(to)) {
        hub_send_text(c->hub, to, c, kind, text, sent->units);
        hub_publish(c->hub, to, hub_message_new(c->hub, to, c->about->key, audience));
    }
    hub_text_reported_add(sent, text);
}

void hub_call_describe(struct hub_call *c)
{
    if (c->about)
        return;
    c->about = base_alloc_zero(sizeof *c->about);
    memcpy(c->about, &c->b, offsetof(struct hub_begin, stream));
    c->b.filter.describe(c->b.filter.ctx, c->about);
}

void hub_call_open(struct hub_call *c)
{
    hub_call_take(c);
    if (c->opened)
        return;
    assert(c->about);
    c->opened = true;
    if (c->b.filter.open)
        c->b.filter.open(c->b.filter.ctx, c->about);
    c->about->asked = utf8_cut_count(c->about->asked, ASKED_MAX);
}

static void hub_text_pass_all(struct hub_call *c)
{
    hub_call_open(c);
    for (enum hub_text i = 0; i < HUB_TEXT_COUNT; i++)
        hub_text_pass(c, i);
}

/* Called before the hub is locked, so that no other thread waits for the filter. */
void hub_call_prepare(struct hub_call *c)
{
    pthread_mutex_lock(&c->lock);
    hub_text_pass_all(c);
    pthread_mutex_unlock(&c->lock);
}

void hub_call_flush(struct hub_call *c, enum hub_channel_kind kind, enum hub_flush how)
{
    pthread_mutex_lock(&c->lock);
    hub_text_pass_all(c);
    for (enum hub_text i = 0; i < HUB_TEXT_COUNT; i++)
        if (c->words[i] && c->words[i]->filtered)
            hub_text_publish(c, i, hub_text_channel_at(c, kind), how);
    pthread_mutex_unlock(&c->lock);
}

/* ---- for late viewers ---- */

static void hub_text_replay_text(struct hub_call *c, enum hub_text kind,
                                 const struct hub_channel *to, size_t text_max,
                                 struct hub_message **out)
{
    struct hub_filtered *w = c->words[kind]->filtered;
    const struct hub_reported *sent = hub_text_reported_at(w, to);
    enum hub_audience audience = kind == HUB_REASONING ? HUB_SEES_THOUGHTS : HUB_ANYONE;
    /* Since the last flush, the call's own thread may have dropped the beginning of the text,
     * including all that was published. */
    size_t published = sent->at > w->base ? (size_t)(sent->at - w->base) : 0;
    str text = str_slice(buf_str(&w->text), 0, published);
    size_t skip = text.n > text_max ? text.n - text_max : 0;

    assert(published <= w->text.n);
    skip = hub_text_char_at(text, skip);
    *out = NULL;
    if (text.n == skip)
        return;
    hub_send_text(c->hub,
                  to,
                  c,
                  kind,
                  str_slice(text, skip, text.n),
                  w->base_units + hub_units(str_slice(text, 0, skip)));
    *out = hub_message_new(c->hub, to, c->about->key, audience);
}

static bool hub_text_begins_later(const struct hub_call *c)
{
    for (size_t i = 0; i < HUB_TEXT_COUNT; i++)
        if (c->words[i] && c->words[i]->filtered && c->words[i]->filtered->base)
            return true;
    return false;
}

void hub_call_replay(struct hub_call *c, const struct hub_channel *to, size_t text_max,
                     void (*fn)(void *ctx, struct hub_message *m), void *ctx)
{
    struct hub *h = c->hub;
    bool both = c->b.thoughts;

    assert(to->kind == HUB_DASH || to->kind == HUB_RELAY || to == c->channel);
    pthread_mutex_lock(&c->lock);
    hub_call_open(c);
    hub_send_started(h, to, c);
    fn(ctx, hub_message_new(h, to, c->about->key, HUB_ANYONE));
    if (c->progress.state != HUB_WAITING) {
        hub_send_status(h, to, c, false);
        fn(ctx, hub_message_new(h, to, c->about->key, both ? HUB_SEES_NONE : HUB_ANYONE));
    }
    if (c->progress.state != HUB_WAITING && both) {
        hub_send_status(h, to, c, true);
        fn(ctx, hub_message_new(h, to, c->about->key, HUB_SEES_THOUGHTS));
    }
    if (to->kind == HUB_SESSION && hub_text_begins_later(c)) {
        hub_send_gap(h, to, -1);
        fn(ctx, hub_message_new(h, to, c->about->key, HUB_ANYONE));
    }
    for (enum hub_text i = 0; i < HUB_TEXT_COUNT; i++) {
        struct hub_message *m = NULL;

        if (c->words[i] && c->words[i]->filtered)
            hub_text_replay_text(c, i, to, text_max, &m);
        if (m)
            fn(ctx, m);
    }
    pthread_mutex_unlock(&c->lock);
}
