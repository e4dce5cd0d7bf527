/* viewer.c - subscriptions: who sees what; sent, missed and lost messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/messages.h"

#define TICK_MS 500
#define NAME_MAX_SIZE 400
#define REPLAY_CALLS_MAX 200 /* running calls that a late viewer of all calls gets, */
#define REPLAY_SUBS_MAX 8
#define REPLAY_NS 2000000000u
#define REPLAY_SOME ((size_t)4 << 10)     /* bytes of each of their texts, */
#define REPLAY_SIZE_MAX ((size_t)1 << 20) /* and bytes in total; beyond it, texts are omitted */

/* ---- who may see what ---- */

static bool hub_viewer_can_see_message(const struct hub_viewer *v, const struct hub_message *m)
{
    if (m->audience != HUB_ANYONE && (m->audience == HUB_SEES_NONE) != v->scope.hide)
        return false;
    return v->scope.all || m->kind == HUB_HEALTH || str_eq(v->scope.key, m->key);
}

/* ---- places ---- */

struct hub_place *hub_place_find(struct hub_port *p, enum hub_channel_kind kind, str session)
{
    struct map_entry *found;

    if (kind < HUB_SESSION)
        return kind == HUB_DASH ? &p->dash : &p->health;
    found = map_find(kind == HUB_ALERT ? &p->alerts : &p->sessions, session);
    return found ? found->value.ptr : NULL;
}

static bool hub_viewer_channel_parse(str name, enum hub_channel_kind *kind, str *session)
{
    str prefix = STR("session_"), alert = STR("alert_");

    *session = STR("");
    if (str_eq(name, STR("dashboard_updates"))) {
        *kind = HUB_DASH;
        return true;
    }
    if (str_eq(name, STR("system_health"))) {
        *kind = HUB_HEALTH;
        return true;
    }
    *kind = str_starts(name, alert) ? HUB_ALERT : HUB_SESSION;
    if (*kind == HUB_ALERT)
        prefix = alert;
    *session = str_slice(name, prefix.n, name.n);
    return str_starts(name, prefix) && session->n && session->n <= NAME_MAX_SIZE;
}

bool hub_channel_known(str channel)
{
    enum hub_channel_kind kind;
    str session;

    return hub_viewer_channel_parse(channel, &kind, &session);
}

static struct hub_sub *hub_viewer_sub_find(struct hub_viewer *v, enum hub_channel_kind kind,
                                           str session, size_t *at)
{
    for (*at = 0; *at < v->sub_count; (*at)++) {
        const struct hub_channel *c = v->subs[*at]->place->channel;

        if (c->kind == kind && str_eq(c->name, session))
            return v->subs[*at];
    }
    return NULL;
}

/* The hub is locked. NULL: too many sessions. */
static struct hub_place *hub_viewer_place_get(struct hub_port *p, enum hub_channel_kind kind,
                                              str session)
{
    struct hub_place *place = hub_place_find(p, kind, session);
    struct hub_channel *c;
    struct err e;

    if (place)
        return place;
    c = hub_channel_of(p->hub, kind, session);
    if (!c)
        return NULL;
    place = base_alloc(sizeof *place);
    *place = (struct hub_place){.channel = c};
    if (map_set(kind == HUB_ALERT ? &p->alerts : &p->sessions, c->name, MAP_PTR(place), &e))
        return place;
    free(place);
    hub_channel_drop(p->hub, c);
    return NULL;
}

/* ---- missed messages ---- */

/* Messages for one viewer, written under the lock and sent after it. */
struct parcel {
    struct hub_viewer *viewer;
    struct hub_message **at;
    size_t n, cap, size;
};

static void hub_viewer_parcel_add(void *ctx, struct hub_message *m)
{
    struct parcel *p = ctx;

    if (!hub_viewer_can_see_message(p->viewer, m)) {
        hub_message_free(m);
        return;
    }
    p->at = base_grow(p->at, p->n, &p->cap, sizeof(struct hub_message *));
    p->size += m->size;
    p->at[p->n++] = m;
}

static void hub_viewer_parcel_send(struct parcel *p)
{
    for (size_t i = 0; i < p->n; i++) {
        p->viewer->ops->send(p->viewer->ctx, p->at[i]);
        hub_message_free(p->at[i]);
    }
    free(p->at);
}

/* Publishes unsent text to the earlier viewers, so that all viewers are at the same position. */
static void hub_viewer_settle_calls(struct hub *h, struct hub_channel *c, enum hub_flush how)
{
    bool all = c->kind == HUB_DASH;
    struct hub_call *call = all ? h->calls : c->calls;

    for (size_t n = 0; call && n < REPLAY_CALLS_MAX; n++) {
        hub_call_flush(call, c->kind, how);
        call = all ? call->next : call->session_next;
    }
}

static bool hub_viewer_can_see_call(const struct hub_viewer *v, const struct hub_call *call)
{
    return v->scope.all || str_eq(v->scope.key, call->about->key);
}

static void hub_viewer_replay(struct hub *h, struct hub_channel *c, struct parcel *out)
{
    bool all = c->kind == HUB_DASH;
    struct hub_call *call = all ? h->calls : c->calls, *oldest = NULL;

    if (c->last) {
        atomic_fetch_add_explicit(&c->last->refs, 1, memory_order_relaxed);
        hub_viewer_parcel_add(out, c->last);
    }
    for (size_t n = 0; call && n < REPLAY_CALLS_MAX; n++) {
        oldest = call;
        call = all ? call->next : call->session_next;
    }
    for (call = oldest; call; call = all ? call->prev : call->session_prev) {
        size_t text_max = out->size >= REPLAY_SIZE_MAX ? 0 : all ? REPLAY_SOME : HUB_TEXT_MAX;

        if (hub_viewer_can_see_call(out->viewer, call))
            hub_call_replay(call, c, text_max, hub_viewer_parcel_add, out);
    }
}

static void hub_viewer_send_gap(struct hub *h, struct hub_channel *c, int64_t missed,
                                struct parcel *out)
{
    hub_send_gap(h, c, missed);
    hub_viewer_parcel_add(out, hub_message_new(h, c, out->viewer->scope.key, HUB_ANYONE));
}

/* All messages since that one, if it is still kept. */
static bool hub_viewer_resume(struct hub *h, struct hub_channel *c, uint64_t after,
                              struct parcel *out)
{
    const struct hub_ring *r = h->rings[c->kind];

    if (after < c->since || after < r->lost || after > h->seq)
        return false;
    for (size_t i = 0; i < r->n; i++) {
        struct hub_message *m = r->at[(r->first + i) % HUB_RING_MAX];

        if (m->seq <= after || !str_eq(m->session, c->name))
            continue;
        atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
        hub_viewer_parcel_add(out, m);
    }
    return true;
}

/* Whether the viewer gets the running calls again after a gap: for a session always, so that its
 * texts are complete; for all calls only if the viewers are few and the last time is long enough
 * ago. */
static bool hub_viewer_can_replay_calls(struct hub_sub *s)
{
    uint64_t now = loop_now_ns(s->viewer->port->loop);

    if (s->place->channel->kind >= HUB_SESSION)
        return true;
    if (s->place->sub_count > REPLAY_SUBS_MAX || now - s->replay_ns < REPLAY_NS)
        return false;
    s->replay_ns = now;
    return true;
}

void hub_viewer_catch_up(struct hub_sub *s)
{
    struct hub_viewer *v = s->viewer;
    struct hub *h = v->port->hub;
    struct hub_channel *c = s->place->channel;
    struct parcel out = {.viewer = v};
    bool again;

    if (v->ops->full(v->ctx))
        return;
    again = hub_viewer_can_replay_calls(s); /* counts as a replay, so not while it is full */
    hub_lock(h, v->port);
    if (again)
        hub_viewer_settle_calls(h, c, HUB_FLUSH);
    hub_viewer_send_gap(h, c, (int64_t)s->missed, &out);
    if (again)
        hub_viewer_replay(h, c, &out);
    if (again)
        s->caught = h->seq;
    s->missed = 0;
    hub_unlock(h);
    hub_viewer_parcel_send(&out);
}

uint64_t hub_viewer_mark(const struct hub_viewer *v, const struct hub_message *m)
{
    uint64_t mark = m->seq;

    if (!m->sent)
        return 0;
    for (size_t i = 0; i < v->sub_count; i++) {
        uint64_t oldest = hub_sweep_oldest(v->subs[i]);

        mark = oldest <= mark ? oldest - 1 : mark;
    }
    return mark;
}

void hub_viewer_offer(struct hub_sub *s, const struct hub_message *m)
{
    struct hub_viewer *v = s->viewer;

    assert(m->sent && s->done < m->seq);
    s->done = m->seq;
    if (m->seq <= s->from || !hub_viewer_can_see_message(v, m))
        return;
    if (s->missed)
        hub_viewer_catch_up(s);
    if (m->passing && m->seq <= s->caught)
        return; /* the message was part of the replay */
    if (s->missed || v->ops->full(v->ctx)) {
        s->missed++;
        atomic_fetch_add_explicit(&v->port->hub->dropped[v->ops->way], 1, memory_order_relaxed);
        return;
    }
    v->ops->send(v->ctx, m);
}

/* ---- life ---- */

struct hub_viewer *hub_viewer_new(struct hub_port *p, const struct hub_scope *scope,
                                  const struct hub_viewer_ops *ops, void *ctx)
{
    struct hub_viewer *v;
    char *key;
    bool ok;

    hub_lock(p->hub, p);
    ok = p->hub->viewers[HUB_BY_SOCKET] + p->hub->viewers[HUB_BY_STREAM] < HUB_VIEWERS_MAX;
    p->hub->viewers[ops->way] += ok;
    hub_unlock(p->hub);
    if (!ok)
        return NULL;
    v = base_alloc(sizeof *v + scope->key.n + 1);
    key = (char *)(v + 1);
    *v =
        (struct hub_viewer){.port = p, .scope = *scope, .ops = ops, .ctx = ctx, .next = p->viewers};
    memcpy(key, scope->key.p, scope->key.n);
    key[scope->key.n] = '\0';
    v->scope.key.p = key;
    if (v->next)
        v->next->prev = v;
    p->viewers = v;
    if (!p->tick.slot)
        loop_timer_set(p->loop, &p->tick, TICK_MS);
    return v;
}

/* From now on the channel is watched: calls publish everything. */
static void hub_viewer_join(struct hub *h, struct hub_channel *c, struct hub_port *p,
                            uint64_t after, struct parcel *out)
{
    bool was = c->watched;

    hub_channel_watch(h, c, p);
    hub_viewer_settle_calls(h, c, was ? HUB_FLUSH : HUB_FLUSH_QUIET);
    if (after && was && hub_viewer_resume(h, c, after, out))
        return;
    if (after)
        hub_viewer_send_gap(h, c, -1, out);
    hub_viewer_replay(h, c, out);
}

bool hub_may_subscribe(struct hub_viewer *v, str channel, struct err *e)
{
    enum hub_channel_kind kind;
    str session;
    size_t at;

    if (v->sub_count < HUB_SUBS_MAX || (hub_viewer_channel_parse(channel, &kind, &session) &&
                                        hub_viewer_sub_find(v, kind, session, &at)))
        return true;
    return err_set(e, ERR_LIMIT, "no more than %d subscriptions at a time", HUB_SUBS_MAX);
}

bool hub_subscribe(struct hub_viewer *v, str channel, uint64_t after, struct err *e)
{
    struct hub_port *p = v->port;
    struct hub *h = p->hub;
    struct parcel out = {.viewer = v};
    enum hub_channel_kind kind;
    struct hub_place *place;
    struct hub_sub *s;
    str session;
    size_t at;

    if (!hub_viewer_channel_parse(channel, &kind, &session))
        return err_set(e,
                       ERR_NOT_FOUND,
                       "there is no channel \"" STR_FMT
                       "\": dashboard_updates, system_health, session_ID or alert_ID",
                       STR_ARG(str_slice(channel, 0, 60)));
    if (hub_viewer_sub_find(v, kind, session, &at))
        return true;
    if (!hub_may_subscribe(v, channel, e))
        return false;
    hub_lock(h, p);
    place = hub_viewer_place_get(p, kind, session);
    if (!place) {
        hub_unlock(h);
        return err_set(e, ERR_LIMIT, "too many sessions are being watched");
    }
    hub_viewer_join(h, place->channel, p, after, &out);
    assert(v->sub_count < HUB_SUBS_MAX);
    s = base_alloc(sizeof *s);
    *s = (struct hub_sub){.viewer = v,
                          .place = place,
                          .from = h->seq,
                          .next = place->subs,
                          .missed_seen = place->missed};
    if (s->next)
        s->next->prev = s;
    place->subs = s;
    place->sub_count++;
    v->subs[v->sub_count++] = s;
    hub_unlock(h);
    hub_viewer_parcel_send(&out);
    return true;
}

static void hub_viewer_sub_free(struct hub_sub *s)
{
    struct hub_port *p = s->viewer->port;
    struct hub_place *place = s->place;
    struct hub_channel *c = place->channel;

    assert(s->prev ? s->prev->next == s : place->subs == s);
    *(s->prev ? &s->prev->next : &place->subs) = s->next;
    if (s->next)
        s->next->prev = s->prev;
    if (place->sweep_at == s)
        place->sweep_at = s->next;
    assert(place->sub_count > 0);
    place->sub_count--;
    free(s);
    if (place->subs)
        return;
    assert(place->sub_count == 0);
    hub_sweep_forget(p, place);
    hub_lock(p->hub, p);
    if (c->kind >= HUB_SESSION) {
        map_remove(c->kind == HUB_ALERT ? &p->alerts : &p->sessions, c->name);
        free(place);
    }
    hub_channel_leave(p->hub, c, p);
    hub_unlock(p->hub);
}

bool hub_unsubscribe(struct hub_viewer *v, str channel)
{
    enum hub_channel_kind kind;
    struct hub_sub *s;
    str session;
    size_t at;

    if (!hub_viewer_channel_parse(channel, &kind, &session) ||
        !(s = hub_viewer_sub_find(v, kind, session, &at)))
        return false;
    assert(at < v->sub_count && v->subs[at] == s);
    v->subs[at] = v->subs[--v->sub_count];
    hub_viewer_sub_free(s);
    return true;
}

void hub_viewer_free(struct hub_viewer *v)
{
    struct hub_port *p;

    if (!v)
        return;
    p = v->port;
    while (v->sub_count)
        hub_viewer_sub_free(v->subs[--v->sub_count]);
    if (p->tick_next == v)
        p->tick_next = v->next;
    assert(v->prev ? v->prev->next == v : p->viewers == v);
    *(v->prev ? &v->prev->next : &p->viewers) = v->next;
    if (v->next)
        v->next->prev = v->prev;
    hub_lock(p->hub, p);
    assert(p->hub->viewers[v->ops->way] > 0);
    p->hub->viewers[v->ops->way]--;
    hub_unlock(p->hub);
    free(v);
}

void hub_viewers_each(struct hub_port *p, void (*fn)(void *viewer_ctx))
{
    struct hub_viewer *next;

    for (struct hub_viewer *v = p->viewers; v; v = next) {
        next = v->next;
        fn(v->ctx);
    }
}
