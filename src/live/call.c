/* call.c - running calls: their state, and the messages about it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/messages.h"

#define IDLE_MAX 64 /* ended calls whose memory a port keeps for reuse */
#define PERIOD_MS (1000 / HUB_RATE)

/* ---- publishing ---- */

static bool hub_call_relays(const struct hub_call *c)
{
    return !c->b.mirror && hub_channel_tells(&c->hub->relay);
}

bool hub_call_watched(const struct hub_call *c)
{
    const struct hub_channel *of = c ? c->channel : NULL;

    return of && (hub_channel_tells(&c->hub->dash) || hub_channel_tells(of) || hub_call_relays(c));
}

static void hub_call_flush_all(struct hub_call *c, enum hub_flush how)
{
    hub_call_flush(c, HUB_DASH, how);
    hub_call_flush(c, HUB_SESSION, how);
    if (hub_call_relays(c))
        hub_call_flush(c, HUB_RELAY, how);
}

static void hub_call_publish_message(struct hub_call *c, struct hub_channel *to,
                                     enum hub_audience audience)
{
    hub_publish(c->hub, to, hub_message_new(c->hub, to, c->about->key, audience));
}

static void hub_call_publish_status(struct hub_call *c)
{
    struct hub *h = c->hub;
    struct hub_channel *to[] = {&h->dash, c->channel};

    for (size_t i = 0; i < COUNT_OF(to); i++) {
        if (!hub_channel_tells(to[i]))
            continue;
        hub_send_status(h, to[i], c, false);
        hub_call_publish_message(c, to[i], c->b.thoughts ? HUB_SEES_NONE : HUB_ANYONE);
        if (!c->b.thoughts)
            continue;
        hub_send_status(h, to[i], c, true);
        hub_call_publish_message(c, to[i], HUB_SEES_THOUGHTS);
    }
    if (hub_call_relays(c)) {
        hub_send_status(h, &h->relay, c, true);
        hub_call_publish_message(c, &h->relay, HUB_ANYONE);
    }
}

static void hub_call_publish_begin(struct hub_call *c, bool first)
{
    struct hub *h = c->hub;
    struct hub_channel *to[] = {&h->dash, c->channel};

    for (size_t i = 0; i < COUNT_OF(to); i++) {
        if (!hub_channel_tells(to[i]))
            continue;
        if (first)
            hub_publish_session(c, to[i], NULL, HUB_ANYONE);
        hub_send_started(h, to[i], c);
        hub_call_publish_message(c, to[i], HUB_ANYONE);
    }
    if (hub_call_relays(c)) {
        hub_send_started(h, &h->relay, c);
        hub_call_publish_message(c, &h->relay, HUB_ANYONE);
    }
}

static void hub_call_publish_end_to(struct hub_call *c, struct hub_channel *to,
                                    const struct hub_end *e, enum hub_audience audience, bool last)
{
    hub_send_end(c->hub, to, c, e);
    hub_call_publish_message(c, to, audience);
    if (last)
        hub_publish_session(c, to, e, audience);
}

static void hub_call_publish_end(struct hub_call *c, const struct hub_end *e, bool last)
{
    struct hub *h = c->hub;
    struct hub_channel *to[] = {&h->dash, c->channel};
    struct hub_end hidden = *e; /* for viewers who may not see the reasoning */
    bool split = (e->decision_thought && e->decision.n) || e->error_thought;

    if (e->decision_thought)
        hidden.decision = STR("");
    if (e->error_thought)
        hidden.error_message = STR("the call failed; its error quotes reasoning, which is hidden");
    for (size_t i = 0; i < COUNT_OF(to); i++) {
        if (!hub_channel_tells(to[i]))
            continue;
        if (split)
            hub_call_publish_end_to(c, to[i], &hidden, HUB_SEES_NONE, last);
        hub_call_publish_end_to(c, to[i], e, split ? HUB_SEES_THOUGHTS : HUB_ANYONE, last);
    }
    if (hub_call_relays(c)) {
        hub_send_end(h, &h->relay, c, e);
        hub_call_publish_message(c, &h->relay, HUB_ANYONE);
    }
}

/* ---- memory and lists ---- */

static struct hub_call *call_take(struct hub_port *home)
{
    struct hub_call *c = home ? home->idle : NULL;

    if (c) {
        assert(home->idle_count > 0);
        home->idle = c->next;
        home->idle_count--;
        return c;
    }
    c = base_alloc(sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

static struct hub_call *call_new(struct hub *h, struct hub_port *home, const struct hub_begin *b)
{
    struct hub_call *c = call_take(home);

    memset(&c->hub, 0, offsetof(struct hub_call, b) - offsetof(struct hub_call, hub));
    c->hub = h;
    c->home = home;
    memcpy(&c->b, b, offsetof(struct hub_begin, stream));
    if (!b->filter.describe) {
        c->about = base_alloc(sizeof *b);
        *c->about = *b;
    }
    c->progress = (struct hub_progress){.thinking_ms = -1, .reasoning_tokens = -1};
    return c;
}

static void hub_call_memory_free(struct hub_call *c)
{
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static void hub_call_text_free(struct hub_call *c, struct buf *b)
{
    if (!b->p)
        return;
    if (c->home)
        buf_give(loop_bufs(c->home->loop), b);
    else
        buf_release(b);
}

static void call_free(struct hub_call *c)
{
    struct hub_port *p = c->home;

    assert(atomic_load_explicit(&c->hub->call_count, memory_order_relaxed) > 0);
    for (size_t i = 0; i < HUB_TEXT_COUNT; i++) {
        if (!c->words[i])
            continue;
        hub_call_text_free(c, &c->words[i]->raw);
        if (c->words[i]->filtered)
            hub_call_text_free(c, &c->words[i]->filtered->text);
        free(c->words[i]->filtered);
        free(c->words[i]);
    }
    if (c->charged)
        atomic_fetch_sub_explicit(&c->hub->text_bytes, c->charged, memory_order_relaxed);
    atomic_fetch_sub_explicit(&c->hub->call_count, 1, memory_order_relaxed);
    if (c->b.filter.close)
        c->b.filter.close(c->b.filter.ctx);
    free(c->own);
    free(c->about);
    if (!p || p->idle_count == IDLE_MAX) {
        hub_call_memory_free(c);
        return;
    }
    assert(p->idle_count < IDLE_MAX);
    c->next = p->idle;
    p->idle = c;
    p->idle_count++;
}

void hub_port_calls_free(struct hub_port *p)
{
    while (p->idle) {
        struct hub_call *c = p->idle;

        p->idle = c->next;
        hub_call_memory_free(c);
    }
}

static void hub_call_link_in(struct hub *h, struct hub_call *c, struct hub_channel *of)
{
    assert(!c->channel);
    c->prev = NULL;
    c->next = h->calls;
    if (c->next)
        c->next->prev = c;
    h->calls = c;
    c->session_next = of->calls;
    if (c->session_next)
        c->session_next->session_prev = c;
    of->calls = c;
    c->channel = of;
}

static void hub_call_link_out(struct hub *h, struct hub_call *c)
{
    struct hub_channel *of = c->channel;

    assert(c->prev ? c->prev->next == c : h->calls == c);
    assert(c->session_prev ? c->session_prev->session_next == c : of->calls == c);
    *(c->prev ? &c->prev->next : &h->calls) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    *(c->session_prev ? &c->session_prev->session_next : &of->calls) = c->session_next;
    if (c->session_next)
        c->session_next->session_prev = c->session_prev;
    hub_channel_drop(h, of);
}

/* The hub is locked. If there are too many sessions, the call is not published. */
static void hub_call_enter(struct hub *h, struct hub_call *c)
{
    struct hub_channel *of;

    assert(!c->quiet && !c->channel && !c->session_next && !c->session_prev);
    hub_call_describe(c);
    of = hub_channel_of(h, HUB_SESSION, c->about->session);
    if (of)
        hub_call_link_in(h, c, of);
}

/* ---- quiet calls ---- */

/* Without viewers, only the call's port knows it. A viewer that wakes the hub then checks all
 * ports. */
static bool hub_call_quiet_begin(struct hub_call *c)
{
    struct hub_port *p = c->home;
    bool quiet;

    if (!p)
        return false;
    pthread_mutex_lock(&p->quiet_lock);
    quiet = c->quiet = !c->hub->awake;
    if (quiet) {
        c->next = p->quiet;
        if (c->next)
            c->next->prev = c;
        p->quiet = c;
    }
    pthread_mutex_unlock(&p->quiet_lock);
    return quiet;
}

static bool hub_call_quiet_end(struct hub_call *c)
{
    struct hub_port *p = c->home;
    bool quiet;

    if (!p)
        return false;
    pthread_mutex_lock(&p->quiet_lock);
    quiet = c->quiet;
    if (quiet) {
        assert(c->prev ? c->prev->next == c : p->quiet == c);
        *(c->prev ? &c->prev->next : &p->quiet) = c->next;
        if (c->next)
            c->next->prev = c->prev;
    }
    pthread_mutex_unlock(&p->quiet_lock);
    return quiet;
}

/* Removes the calls of a port from it; returns them, newest first. */
static struct hub_call *hub_call_quiet_take(struct hub_port *p)
{
    struct hub_call *all;

    pthread_mutex_lock(&p->quiet_lock);
    all = p->quiet;
    p->quiet = NULL;
    for (struct hub_call *c = all; c; c = c->next)
        c->quiet = false;
    pthread_mutex_unlock(&p->quiet_lock);
    return all;
}

/* Merges two lists, newest first, by the start of the calls. */
static struct hub_call *hub_call_merge(struct hub_call *a, struct hub_call *b)
{
    struct hub_call *all = NULL, **last = &all;

    while (a && b) {
        struct hub_call **newer = a->b.started_us >= b->b.started_us ? &a : &b;

        *last = *newer;
        last = &(*newer)->next;
        *newer = *last;
    }
    *last = a ? a : b;
    return all;
}

void hub_calls_enter(struct hub *h)
{
    struct hub_call *quiet = NULL, *oldest = NULL, *next;

    for (size_t i = 0; i < HUB_PORTS_MAX; i++)
        if (h->ports[i])
            quiet = hub_call_merge(quiet, hub_call_quiet_take(h->ports[i]));
    for (; quiet; quiet = next) {
        next = quiet->next;
        quiet->next = oldest;
        oldest = quiet;
    }
    for (; oldest; oldest = next) {
        next = oldest->next;
        hub_call_enter(h, oldest);
    }
}

/* ---- life ---- */

struct hub_call *hub_call_begin(struct hub *h, struct hub_port *home, const struct hub_begin *b)
{
    struct hub_call *c;

    if (atomic_fetch_add_explicit(&h->call_count, 1, memory_order_relaxed) >= HUB_CALLS_MAX) {
        atomic_fetch_sub_explicit(&h->call_count, 1, memory_order_relaxed);
        if (b->filter.close)
            b->filter.close(b->filter.ctx);
        return NULL;
    }
    c = call_new(h, home, b);
    if (hub_call_quiet_begin(c))
        return c;
    hub_call_describe(c);
    hub_call_open(c);
    hub_lock(h, home);
    hub_call_enter(h, c);
    if (c->channel)
        hub_call_publish_begin(c, !c->session_next && !c->b.part);
    hub_unlock(h);
    return c;
}

static str hub_call_put(char **at, str s)
{
    str out = {*at, s.n};

    memcpy(*at, s.p, s.n);
    (*at)[s.n] = '\0';
    *at += s.n + 1;
    return out;
}

/* Moves the texts into one piece of memory, which it returns. */
static char *hub_call_copy_texts(struct hub_begin *b)
{
    str *const texts[] = {&b->id,
                          &b->session,
                          &b->key,
                          &b->subject,
                          &b->dialect,
                          &b->model,
                          &b->provider,
                          &b->level,
                          &b->asked};
    size_t size = 0;
    char *own, *at;

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        size += texts[i]->n + 1;
    at = own = base_alloc(size);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        *texts[i] = hub_call_put(&at, *texts[i]);
    return own;
}

void hub_call_own(struct hub_call *c)
{
    if (!c || c->own)
        return;
    hub_lock(c->hub, c->home);
    hub_call_describe(c);
    pthread_mutex_lock(&c->lock);
    hub_call_open(c);
    c->own = hub_call_copy_texts(c->about);
    pthread_mutex_unlock(&c->lock);
    hub_unlock(c->hub);
}

static void hub_news_add(struct hub_port *p, struct hub_call *c, enum hub_news kind)
{
    struct hub_call *first = p->news[kind];

    assert(!c->news[kind].at);
    c->news[kind].next = first;
    c->news[kind].at = &p->news[kind];
    if (first)
        first->news[kind].at = &c->news[kind].next;
    p->news[kind] = c;
}

static void hub_news_remove(struct hub_call *c, enum hub_news kind)
{
    struct hub_call *next = c->news[kind].next;

    if (!c->news[kind].at)
        return;
    assert(*c->news[kind].at == c);
    *c->news[kind].at = next;
    if (next)
        next->news[kind].at = c->news[kind].at;
    c->news[kind].at = NULL;
}

static void hub_call_mark_dirty(struct hub_call *c)
{
    struct hub_port *p = c->home;

    assert(p && c->channel);
    if (!c->news[HUB_NEWS_SESSION].at && hub_channel_tells(c->channel)) {
        hub_news_add(p, c, HUB_NEWS_SESSION);
        loop_defer(p->loop, &p->flush);
    }
    if (!c->news[HUB_NEWS_LATE].at && (hub_channel_tells(&c->hub->dash) || hub_call_relays(c))) {
        hub_news_add(p, c, HUB_NEWS_LATE);
        if (!p->late_timer.slot)
            loop_timer_set(p->loop, &p->late_timer, PERIOD_MS);
    }
}

/* A call that runs on none of our loops publishes its own news. */
static void hub_call_publish_paced(struct hub_call *c)
{
    uint64_t now = clock_mono_ns(c->hub->clock);

    assert(!c->home);
    if (!c->b.mirror && now - c->reported_ns < (uint64_t)PERIOD_MS * CLOCK_NS_PER_MS)
        return;
    c->reported_ns = now;
    hub_lock(c->hub, NULL);
    hub_call_flush_all(c, HUB_FLUSH);
    hub_unlock(c->hub);
}

void hub_call_text(struct hub_call *c, enum hub_text kind, str text)
{
    if (!c || !text.n || (kind == HUB_REASONING && !c->b.thoughts))
        return;
    pthread_mutex_lock(&c->lock);
    hub_call_take(c);
    hub_call_add(c, kind, text);
    pthread_mutex_unlock(&c->lock);
    if (!hub_call_watched(c))
        return;
    if (c->home)
        hub_call_mark_dirty(c);
    else
        hub_call_publish_paced(c);
}

/* Publishes the progress of the call to its viewers. */
static void hub_call_publish_all(struct hub_call *c)
{
    if (!hub_call_watched(c))
        return;
    hub_call_prepare(c);
    hub_lock(c->hub, c->home);
    hub_call_flush_all(c, HUB_FLUSH);
    hub_call_publish_status(c);
    hub_unlock(c->hub);
}

void hub_call_state(struct hub_call *c, const struct hub_progress *p)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    hub_call_take(c);
    hub_call_become(c, p);
    pthread_mutex_unlock(&c->lock);
    hub_call_publish_all(c);
}

void hub_call_keep(struct hub_call *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    hub_call_take(c);
    pthread_mutex_unlock(&c->lock);
}

void hub_call_lend(struct hub_call *c, const struct hub_lent *l)
{
    if (!c)
        return;
    if (atomic_load_explicit(&c->lent, memory_order_relaxed))
        hub_call_keep(c);
    atomic_store_explicit(&c->lent, l, memory_order_release);
    hub_call_publish_all(c);
}

bool hub_call_leave(struct hub_call *c)
{
    if (c && !hub_call_quiet_end(c))
        return false;
    if (c)
        call_free(c);
    return true;
}

void hub_call_end(struct hub_call *c, const struct hub_end *e)
{
    struct hub *h;
    bool last;

    if (hub_call_leave(c))
        return;
    h = c->hub;
    hub_news_remove(c, HUB_NEWS_SESSION);
    hub_news_remove(c, HUB_NEWS_LATE);
    pthread_mutex_lock(&c->lock);
    hub_call_take(c);
    hub_call_close(c, ~0u);
    pthread_mutex_unlock(&c->lock);
    if (hub_call_watched(c))
        hub_call_prepare(c);
    hub_lock(h, c->home);
    if (hub_call_watched(c)) {
        last = c->channel->calls == c && !c->session_next && !c->b.part;
        hub_call_flush_all(c, HUB_FLUSH_LAST);
        c->progress = (struct hub_progress){HUB_DONE, e->thinking_ms, e->reasoning_tokens, e->cut};
        hub_call_publish_status(c);
        hub_call_publish_end(c, e, last);
    }
    if (c->channel)
        hub_call_link_out(h, c);
    hub_unlock(h);
    call_free(c);
}

void hub_call_drop(struct hub_call *c)
{
    assert(!c->quiet && !c->news[HUB_NEWS_SESSION].at && !c->news[HUB_NEWS_LATE].at);
    hub_lock(c->hub, NULL);
    if (c->channel)
        hub_call_link_out(c->hub, c);
    hub_unlock(c->hub);
    call_free(c);
}

/* ---- a port: publishes the news of its calls ---- */

static void hub_port_publish_news(struct hub_port *p, enum hub_news kind)
{
    struct hub_call *c;

    if (!p->news[kind])
        return;
    for (c = p->news[kind]; c; c = c->news[kind].next)
        hub_call_prepare(c);
    hub_lock(p->hub, p);
    while ((c = p->news[kind])) {
        hub_news_remove(c, kind);
        hub_call_flush(c, kind == HUB_NEWS_LATE ? HUB_DASH : HUB_SESSION, HUB_FLUSH);
        if (kind == HUB_NEWS_LATE && hub_call_relays(c))
            hub_call_flush(c, HUB_RELAY, HUB_FLUSH);
    }
    hub_unlock(p->hub);
}

void hub_port_flush(void *port)
{
    hub_port_publish_news(port, HUB_NEWS_SESSION);
}

void hub_port_flush_late(void *port)
{
    hub_port_publish_news(port, HUB_NEWS_LATE);
}
