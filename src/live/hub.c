/* hub.c - channels, messages, and the rings to resume from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/messages.h"
#include "net/ws.h"

#define SESSIONS_MAX ((size_t)65536)
#define SCRATCH_MAX ((size_t)8 << 20)
#define INBOX_SIZE_MAX ((size_t)16 << 20) /* messages that wait for a loop */
#define LINGER_SILENT_MAX 1024 /* channels without a call or a message that are kept for a while */

struct hub *hub_new(const struct clock *clock)
{
    struct hub *h = base_alloc(sizeof *h);

    *h = (struct hub){.clock = clock,
                      .dash = {.kind = HUB_DASH, .name = STR("")},
                      .health = {.kind = HUB_HEALTH, .name = STR("")},
                      .relay = {.kind = HUB_RELAY, .name = STR("")}};
    pthread_mutex_init(&h->lock, NULL);
    map_init(&h->sessions, NULL, SESSIONS_MAX);
    map_init(&h->alerts, NULL, SESSIONS_MAX);
    map_init(&h->mirrors.calls, NULL, HUB_CALLS_MAX);
    buf_init(&h->scratch, SCRATCH_MAX);
    /* So that message numbers of an earlier process are not mistaken for ours. */
    h->seq = (uint64_t)clock_wall_ms(clock) * 1000;
    for (size_t i = 0; i < HUB_CHANNEL_KINDS; i++) {
        h->rings[i] = base_alloc(sizeof *h->rings[i]);
        *h->rings[i] = (struct hub_ring){.lost = h->seq};
    }
    return h;
}

void hub_free(struct hub *h)
{
    if (!h)
        return;
    for (unsigned i = 0; i < HUB_PEERS_MAX; i++)
        hub_relay_gone(h, i);
    map_release(&h->mirrors.calls);
    assert(!h->calls);
    for (size_t i = 0; i < HUB_CHANNEL_KINDS; i++) {
        struct hub_ring *r = h->rings[i];

        for (size_t k = 0; k < r->n; k++)
            hub_message_free(r->at[(r->first + k) % HUB_RING_MAX]);
        free(r);
    }
    while (h->alert_oldest)
        hub_alert_forget(h, h->alert_oldest);
    assert(h->alert_count == 0 && h->alert_size == 0 && !h->alert_newest);
    for (struct map_entry *i = map_next(&h->sessions, NULL); i; i = map_next(&h->sessions, i))
        free(i->value.ptr);
    for (struct map_entry *i = map_next(&h->alerts, NULL); i; i = map_next(&h->alerts, i))
        free(i->value.ptr);
    map_release(&h->sessions);
    map_release(&h->alerts);
    buf_release(&h->scratch);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

void hub_lock(struct hub *h, struct hub_port *here)
{
    pthread_mutex_lock(&h->lock);
    h->here = here;
}

void hub_unlock(struct hub *h)
{
    h->here = NULL;
    pthread_mutex_unlock(&h->lock);
}

/* ---- channels ---- */

struct hub_channel *hub_channel_of(struct hub *h, enum hub_channel_kind kind, str session)
{
    struct map *all = kind == HUB_ALERT ? &h->alerts : &h->sessions;
    struct map_entry *found;
    struct hub_channel *c;
    struct err e;
    char *name;

    if (kind < HUB_SESSION)
        return kind == HUB_DASH ? &h->dash : &h->health;
    found = map_find(all, session);
    if (found)
        return found->value.ptr;
    c = base_alloc(sizeof *c + session.n + 1);
    name = (char *)(c + 1);
    memcpy(name, session.p, session.n);
    name[session.n] = '\0';
    *c = (struct hub_channel){.kind = kind, .name = {name, session.n}};
    if (map_set(all, c->name, MAP_PTR(c), &e))
        return c;
    free(c);
    return NULL;
}

static void hub_linger_end(struct hub *h, struct hub_channel *c)
{
    if (!c->lingers)
        return;
    assert(c->linger_older ? c->linger_older->linger_newer == c : h->linger_oldest == c);
    *(c->linger_older ? &c->linger_older->linger_newer : &h->linger_oldest) = c->linger_newer;
    *(c->linger_newer ? &c->linger_newer->linger_older : &h->linger_newest) = c->linger_older;
    c->linger_older = c->linger_newer = NULL;
    c->lingers = false;
    assert(!c->lingers_silent || h->linger_silent > 0);
    h->linger_silent -= c->lingers_silent;
    c->lingers_silent = false;
}

/* Whether calls publish on this channel. While they publish on any channel, the hub is awake. */
static void hub_channel_set(struct hub *h, struct hub_channel *c, bool watched)
{
    assert(atomic_load_explicit(&c->watched, memory_order_relaxed) != watched);
    atomic_store_explicit(&c->watched, watched, memory_order_release);
    if (c->kind != HUB_DASH && c->kind != HUB_SESSION)
        return;
    assert(watched || h->watched > 0);
    h->watched = watched ? h->watched + 1 : h->watched - 1;
    h->awake = h->watched > 0 || hub_relay_watched(h);
    if (h->relay_ops.wake && h->watched == watched)
        h->relay_ops.wake(h->relay_ops.ctx);
}

void hub_channel_watch(struct hub *h, struct hub_channel *c, struct hub_port *p)
{
    assert(h->ports[p->index] == p);
    hub_linger_end(h, c);
    c->ports |= (uint64_t)1 << p->index;
    if (c->watched)
        return;
    c->since = h->seq;
    c->spoke = false;
    hub_channel_set(h, c, true);
    hub_calls_enter(h);
}

void hub_channel_leave(struct hub *h, struct hub_channel *c, struct hub_port *p)
{
    assert(c->ports >> p->index & 1);
    c->ports &= ~((uint64_t)1 << p->index);
    if (c->ports || c->lingers)
        return;
    /* A viewer could name any number of sessions that do not exist, one after the other. */
    c->lingers_silent = c->kind >= HUB_SESSION && !c->spoke && !c->calls && !c->last;
    if (c->lingers_silent && h->linger_silent == LINGER_SILENT_MAX) {
        hub_channel_set(h, c, false);
        hub_channel_drop(h, c);
        return;
    }
    h->linger_silent += c->lingers_silent;
    c->idle_ns = clock_mono_ns(h->clock);
    c->lingers = true;
    c->linger_older = h->linger_newest;
    *(h->linger_newest ? &h->linger_newest->linger_newer : &h->linger_oldest) = c;
    h->linger_newest = c;
}

void hub_channel_drop(struct hub *h, struct hub_channel *c)
{
    if (c->kind < HUB_SESSION || c->calls || c->ports || c->lingers || c->last)
        return;
    map_remove(c->kind == HUB_ALERT ? &h->alerts : &h->sessions, c->name);
    free(c);
}

void hub_linger_sweep(struct hub *h)
{
    uint64_t now = clock_mono_ns(h->clock);
    struct hub_channel *c;

    while ((c = h->linger_oldest) &&
           now - c->idle_ns >= (uint64_t)HUB_LINGER_MS * CLOCK_NS_PER_MS) {
        assert(c->lingers && !c->ports);
        hub_linger_end(h, c);
        hub_channel_set(h, c, false);
        hub_channel_drop(h, c);
    }
}

/* ---- messages ---- */

struct hub_message *hub_message_new(struct hub *h, const struct hub_channel *to, str key,
                                    enum hub_audience audience)
{
    str json = buf_full(&h->scratch) ? STR("{}") : buf_str(&h->scratch);
    struct hub_message *m;
    struct buf frame;
    char *at;

    buf_init(&frame, SCRATCH_MAX + 16);
    ws_encode(&frame, WS_TEXT, json);
    assert(json.n <= frame.n);
    m = base_alloc(sizeof *m + to->name.n + key.n + frame.n);
    at = (char *)(m + 1);
    memcpy(at, buf_str(&frame).p, frame.n);
    memcpy(at + frame.n, to->name.p, to->name.n);
    memcpy(at + frame.n + to->name.n, key.p, key.n);
    *m = (struct hub_message){.refs = 1,
                              .seq = ++h->seq,
                              .passing = h->passing,
                              .kind = to->kind,
                              .audience = audience,
                              .session = {at + frame.n, to->name.n},
                              .key = {at + frame.n + to->name.n, key.n},
                              .frame = {at, frame.n},
                              .json = {at + frame.n - json.n, json.n},
                              .size = sizeof *m + to->name.n + key.n + frame.n};
    buf_release(&frame);
    return m;
}

void hub_message_free(struct hub_message *m)
{
    assert(atomic_load_explicit(&m->refs, memory_order_relaxed) > 0);
    if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1)
        free(m);
}

static struct hub_message *hub_message_keep(struct hub_message *m)
{
    assert(atomic_load_explicit(&m->refs, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

static void hub_ring_shift(struct hub_ring *r)
{
    struct hub_message *m = r->at[r->first];

    assert(r->n > 0 && r->size >= m->size);
    r->lost = m->seq;
    r->size -= m->size;
    r->first = (r->first + 1) % HUB_RING_MAX;
    r->n--;
    hub_message_free(m);
}

static void hub_ring_add(struct hub_ring *r, struct hub_message *m)
{
    while (r->n == HUB_RING_MAX || (r->n && r->size + m->size > HUB_RING_SIZE_MAX))
        hub_ring_shift(r);
    assert(r->n == 0 || r->at[(r->first + r->n - 1) % HUB_RING_MAX]->seq < m->seq);
    r->at[(r->first + r->n++) % HUB_RING_MAX] = hub_message_keep(m);
    r->size += m->size;
}

static void hub_inbox_add(struct hub *h, struct hub_port *p, struct hub_message *m)
{
    assert(p->inbox_n <= p->inbox_cap);
    if (p->inbox_size + m->size > INBOX_SIZE_MAX) {
        p->overrun = true;
        return;
    }
    p->inbox = base_grow(p->inbox, p->inbox_n, &p->inbox_cap, sizeof(struct hub_message *));
    p->inbox[p->inbox_n++] = hub_message_keep(m);
    p->inbox_size += m->size;
    if (p == h->here) {
        loop_defer(p->loop, &p->turn); /* the loop's own thread need not wake the loop */
    } else if (!p->posted) {
        p->posted = true;
        loop_post(p->loop, &p->task);
    }
}

void hub_publish(struct hub *h, struct hub_channel *to, struct hub_message *m)
{
    assert(!m->sent && m->kind == to->kind);
    if (to->kind == HUB_RELAY) {
        h->relay_ops.send(h->relay_ops.ctx, m->json);
        hub_message_free(m);
        return;
    }
    m->sent = to->spoke = true;
    hub_ring_add(h->rings[m->kind], m);
    for (uint64_t left = to->ports; left; left &= left - 1)
        hub_inbox_add(h, h->ports[__builtin_ctzll(left)], m);
    hub_message_free(m);
}

str hub_message_json(const struct hub_message *m)
{
    return m->json;
}

str hub_message_frame(const struct hub_message *m)
{
    return m->frame;
}

/* ---- health, counts ---- */

bool hub_health_watched(struct hub *h)
{
    return atomic_load_explicit(&h->health.watched, memory_order_acquire);
}

void hub_health(struct hub *h, str members)
{
    hub_lock(h, NULL);
    hub_send_health(h, members);
    hub_publish(h, &h->health, hub_message_new(h, &h->health, STR(""), HUB_ANYONE));
    hub_unlock(h);
}

void hub_counts(struct hub *h, struct hub_counts *out)
{
    *out = (struct hub_counts){.text_bytes =
                                   atomic_load_explicit(&h->text_bytes, memory_order_relaxed)};
    hub_lock(h, NULL);
    out->running = h->call_count;
    for (size_t way = 0; way < HUB_WAYS; way++) {
        out->viewers[way] = h->viewers[way];
        out->dropped[way] = atomic_load_explicit(&h->dropped[way], memory_order_relaxed);
        for (size_t i = 0; i < HUB_PORTS_MAX; i++)
            if (h->ports[i])
                out->lag_bytes[way] +=
                    atomic_load_explicit(&h->ports[i]->lag_bytes[way], memory_order_relaxed);
    }
    hub_unlock(h);
}
