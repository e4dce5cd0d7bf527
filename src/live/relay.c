/* relay.c - shows the calls of other daemons as mirrors, and passes on our own while other daemons
 * have viewers.
 *
 * A message is the JSON of messages.c with the channel "relay", or {"relay": "session" | "event" |
 * "alert", ...}, or one of the words below. The words come first in any order, so each peer knows
 * whether the others watch. A peer that begins to watch gets all running calls, and after lost
 * messages it asks for them: between "begin" and "end" it then gets each call from its start, and
 * calls that it does not get have ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_get.h"
#include "live/messages.h"

#define RELAY_WATCH STR("watch")
#define RELAY_REST STR("rest")
#define RELAY_AGAIN STR("again")
#define RELAY_BEGIN STR("begin")
#define RELAY_END STR("end")
#define MEMBERS_MAX ((size_t)1 << 20)
#define RELAY_ARENA ((size_t)16 << 20)
#define RELAY_AGAIN_NS ((uint64_t)1000 * CLOCK_NS_PER_MS)
#define RELAY_TEXTS_MAX ((size_t)1 << 20) /* of all running calls; the bus drops more */

struct mirror {
    struct hub_call *call;
    unsigned peer;
    bool stale; /* not seen since the peer's "begin" */
};

void hub_relay_set(struct hub *h, const struct hub_relay *r)
{
    h->relay_ops = *r;
}

bool hub_relay_watched(const struct hub *h)
{
    return atomic_load_explicit(&h->relay.watched, memory_order_acquire);
}

/* ---- sending ---- */

static void relay_send_running(void *ctx, struct hub_message *m)
{
    struct hub *h = ctx;

    assert(m->kind == HUB_RELAY && !m->sent);
    if (m->audience != HUB_SEES_NONE)
        h->relay_ops.send(h->relay_ops.ctx, m->json);
    hub_message_free(m);
}

/* All running calls, from their start; the hub is locked. */
static void relay_replay(struct hub *h)
{
    struct hub_call *oldest = h->calls;
    size_t texts = HUB_TEXT_COUNT, text_max;

    for (; oldest && oldest->next; texts += HUB_TEXT_COUNT)
        oldest = oldest->next;
    text_max = RELAY_TEXTS_MAX / texts < HUB_TEXT_MAX ? RELAY_TEXTS_MAX / texts : HUB_TEXT_MAX;
    h->relay_ops.send(h->relay_ops.ctx, RELAY_BEGIN);
    for (struct hub_call *c = oldest; c; c = c->prev) {
        if (c->b.mirror)
            continue;
        hub_call_flush(c, HUB_RELAY, HUB_FLUSH_QUIET);
        hub_call_replay(c, &h->relay, text_max, relay_send_running, h);
    }
    h->relay_ops.send(h->relay_ops.ctx, RELAY_END);
}

static void relay_watch(struct hub *h, bool watched)
{
    hub_lock(h, NULL);
    atomic_store_explicit(&h->relay.watched, watched, memory_order_release);
    h->awake = h->watched > 0 || watched;
    if (watched) {
        hub_calls_enter(h);
        relay_replay(h);
    }
    hub_unlock(h);
}

/* Calls that do not fit into the queue of the bus leave a gap each time, so requests and answers
 * are limited to one per second. */
str hub_relay_state(struct hub *h)
{
    uint64_t now = clock_mono_ns(h->clock);
    struct hub_mirrors *m = &h->mirrors;
    bool watches;

    hub_lock(h, NULL);
    watches = h->watched > 0;
    if (m->ask && now - m->asked_ns >= RELAY_AGAIN_NS) {
        if (watches)
            h->relay_ops.send(h->relay_ops.ctx, RELAY_AGAIN);
        m->ask = false;
        m->asked_ns = now;
    }
    hub_unlock(h);
    if (m->replay && now - m->replayed_ns >= RELAY_AGAIN_NS) {
        m->replay = false;
        m->replayed_ns = now;
        if (hub_relay_watched(h))
            relay_watch(h, true);
    }
    return watches ? RELAY_WATCH : RELAY_REST;
}

static void relay_peer_watches(struct hub *h, unsigned peer, bool watches)
{
    bool any = false;

    assert(peer < HUB_PEERS_MAX);
    if (h->mirrors.watching[peer] == watches)
        return;
    h->mirrors.watching[peer] = watches;
    for (size_t i = 0; i < HUB_PEERS_MAX; i++)
        any |= h->mirrors.watching[i];
    if (watches || !any)
        relay_watch(h, any);
}

static void relay_begin(struct buf *b, struct json_out *o, const char *kind)
{
    buf_init(b, MEMBERS_MAX);
    json_out_init_object(o, b);
    json_member_str(o, "relay", str_c(kind));
}

static void relay_send_json(struct hub *h, struct buf *b, struct json_out *o)
{
    json_out_end(o);
    assert(o->depth == 0);
    hub_lock(h, NULL);
    if (!buf_full(b))
        h->relay_ops.send(h->relay_ops.ctx, buf_str(b));
    hub_unlock(h);
    buf_release(b);
}

void hub_relay_session(struct hub *h, const struct hub_session *s)
{
    struct json_out o;
    struct buf b;

    relay_begin(&b, &o, "session");
    json_member_str(&o, "id", s->id);
    json_member_str(&o, "key", s->key);
    json_member_str(&o, "status", s->status);
    json_member_str(&o, "agent_type", s->agent_type);
    json_member_str(&o, "alert_type", s->alert_type);
    json_member_str(&o, "error_message", s->error_message);
    json_member_i64(&o, "started_us", s->started_us);
    json_member_i64(&o, "completed_us", s->completed_us);
    relay_send_json(h, &b, &o);
}

void hub_relay_event(struct hub *h, const char *type, str session, str key, str members)
{
    struct json_out o;
    struct buf b;

    relay_begin(&b, &o, "event");
    json_member_str(&o, "type", str_c(type));
    json_member_str(&o, "session", session);
    json_member_str(&o, "key", key);
    json_member_str(&o, "members", members);
    relay_send_json(h, &b, &o);
}

void hub_relay_alert(struct hub *h, const struct hub_told_alert *a)
{
    struct json_out o;
    struct buf b;

    relay_begin(&b, &o, "alert");
    json_member_str(&o, "id", a->id);
    json_member_str(&o, "key", a->key);
    json_member_str(&o, "status", a->status);
    json_member_str(&o, "members", a->members);
    relay_send_json(h, &b, &o);
}

/* ---- mirrors ---- */

static struct mirror *mirror_find(struct hub *h, unsigned peer, str id)
{
    struct map_entry *found = map_find(&h->mirrors.calls, id);
    struct mirror *m = found ? found->value.ptr : NULL;

    return m && m->peer == peer ? m : NULL;
}

static struct hub_call *mirror_remove(struct hub *h, struct mirror *m)
{
    struct hub_call *c = m->call;

    assert(c && c->b.mirror && map_find(&h->mirrors.calls, c->about->id));
    map_remove(&h->mirrors.calls, c->about->id);
    free(m);
    return c;
}

static void mirror_end(struct hub *h, struct mirror *m, const struct hub_end *e)
{
    hub_call_end(mirror_remove(h, m), e);
}

static const struct hub_end mirror_no_end = {.status = -1,
                                             .provider = STR_INIT(""),
                                             .model = STR_INIT(""),
                                             .step = STR_INIT(""),
                                             .stop = STR_INIT(""),
                                             .error_message = STR_INIT(""),
                                             .decision = STR_INIT(""),
                                             .reasoning_state = STR_INIT(""),
                                             .stage = STR_INIT(""),
                                             .agent = STR_INIT(""),
                                             .duration_ms = -1,
                                             .thinking_ms = -1,
                                             .input_tokens = -1,
                                             .output_tokens = -1,
                                             .reasoning_tokens = -1,
                                             .cost_usd = -1};

/* Ends the calls of a peer: all of them, or those that the peer did not mention again. */
static void mirrors_end(struct hub *h, unsigned peer, bool stale, bool success)
{
    struct hub_end e = mirror_no_end;

    e.success = success;
    e.ended_us = clock_wall_ms(h->clock) * 1000;
    if (!success)
        e.error_message = STR("the daemon that ran this call has ended");
    for (struct map_entry *i = map_next(&h->mirrors.calls, NULL); i;
         i = map_next(&h->mirrors.calls, i)) {
        struct mirror *m = i->value.ptr;

        if (m->peer == peer && (!stale || m->stale))
            mirror_end(h, m, &e);
    }
}

static void mirrors_mark(struct hub *h, unsigned peer)
{
    for (struct map_entry *i = map_next(&h->mirrors.calls, NULL); i;
         i = map_next(&h->mirrors.calls, i)) {
        struct mirror *m = i->value.ptr;

        m->stale |= m->peer == peer;
    }
}

/* ---- receiving ---- */

struct received {
    struct hub *hub;
    unsigned peer;
    const struct json *doc;
    const struct json_node *at;
    struct arena *arena;
};

static str relay_text(const struct received *r, const char *name)
{
    return json_get_text(r->doc, r->at, name, r->arena);
}

static int64_t relay_count(const struct received *r, const char *name)
{
    return json_get_i64(r->doc, r->at, name, -1);
}

static bool relay_flag(const struct received *r, const char *name)
{
    return json_get_true(r->doc, r->at, name);
}

static void relay_started(const struct received *r)
{
    struct hub_begin b = {.started_us = relay_count(r, "started_us"),
                          .thoughts = relay_flag(r, "thoughts"),
                          .part = relay_flag(r, "part"),
                          .mirror = true,
                          .stream = relay_flag(r, "stream"),
                          .cap = relay_count(r, "cap_tokens"),
                          .id = relay_text(r, "interaction_id"),
                          .session = relay_text(r, "session_id"),
                          .key = relay_text(r, "key_name"),
                          .subject = relay_text(r, "subject"),
                          .dialect = relay_text(r, "dialect"),
                          .model = relay_text(r, "model"),
                          .provider = relay_text(r, "provider"),
                          .level = relay_text(r, "level"),
                          .asked = relay_text(r, "asked")};
    struct mirror *m = mirror_find(r->hub, r->peer, b.id);
    struct err e;

    if (m)
        hub_call_drop(mirror_remove(r->hub, m));
    if (!b.id.n || map_find(&r->hub->mirrors.calls, b.id))
        return;
    m = base_alloc(sizeof *m);
    *m = (struct mirror){hub_call_begin(r->hub, NULL, &b), r->peer, false};
    if (m->call) {
        hub_call_own(m->call);
        if (map_set(&r->hub->mirrors.calls, m->call->about->id, MAP_PTR(m), &e))
            return;
        hub_call_drop(m->call);
    }
    free(m);
}

static void relay_progress(const struct received *r, struct mirror *m)
{
    struct hub_progress p = {.thinking_ms = relay_count(r, "thinking_ms"),
                             .reasoning_tokens = relay_count(r, "reasoning_tokens"),
                             .cut = relay_flag(r, "cut")};
    size_t state = str_place(relay_text(r, "state"), "waiting thinking answering tool done");

    assert(m->call->b.mirror && m->peer == r->peer);
    if (state != STR_NONE)
        p.state = (enum hub_state)state;
    if (p.state != HUB_DONE) /* its end follows */
        hub_call_state(m->call, &p);
}

static void relay_ended(const struct received *r, struct mirror *m)
{
    const struct json_node *tokens = json_find(r->doc, r->at, STR("tokens")),
                           *cost = json_find(r->doc, r->at, STR("cost_usd"));
    struct received of = *r;
    struct hub_end e = {.success = relay_flag(r, "success"),
                        .has_tools = relay_flag(r, "has_tools"),
                        .has_reasoning = relay_flag(r, "has_reasoning"),
                        .cut = relay_flag(r, "cut"),
                        .decision_thought = relay_flag(r, "decision_thought"),
                        .error_thought = relay_flag(r, "error_thought"),
                        .status = (int)relay_count(r, "http_status"),
                        .provider = relay_text(r, "provider"),
                        .model = relay_text(r, "model_used"),
                        .step = relay_text(r, "step_description"),
                        .stop = relay_text(r, "stop"),
                        .error_message = relay_text(r, "error_message"),
                        .decision = relay_text(r, "decision"),
                        .reasoning_state = relay_text(r, "reasoning_state"),
                        .stage = relay_text(r, "stage"),
                        .agent = relay_text(r, "agent"),
                        .duration_ms = relay_count(r, "duration_ms"),
                        .thinking_ms = relay_count(r, "thinking_ms"),
                        .ended_us = relay_count(r, "ended_us"),
                        .input_tokens = -1,
                        .output_tokens = -1,
                        .reasoning_tokens = relay_count(r, "reasoning_tokens"),
                        .cost_usd = -1};

    assert(m->call->b.mirror && m->peer == r->peer);
    if (cost && !json_double(r->doc, cost, &e.cost_usd))
        e.cost_usd = -1;
    if (tokens && tokens->kind == JSON_OBJECT) {
        of.at = tokens;
        e.input_tokens = relay_count(&of, "input");
        e.output_tokens = relay_count(&of, "output");
    }
    mirror_end(r->hub, m, &e);
}

static void relay_call(const struct received *r)
{
    str type = relay_text(r, "type");
    size_t text = str_place(type, "reasoning_delta answer_delta tool_delta");
    struct mirror *m;

    if (str_eq(type, STR("llm_started"))) {
        relay_started(r);
        return;
    }
    m = mirror_find(r->hub, r->peer, relay_text(r, "interaction_id"));
    if (!m)
        return;
    if (text != STR_NONE)
        hub_call_text(m->call, (enum hub_text)text, relay_text(r, "text"));
    else if (str_eq(type, STR("reasoning_status")))
        relay_progress(r, m);
    else if (str_eq(type, STR("llm_interaction")))
        relay_ended(r, m);
}

static void relay_other(const struct received *r, str what)
{
    if (str_eq(what, STR("session"))) {
        hub_session_here(r->hub,
                         &(struct hub_session){.id = relay_text(r, "id"),
                                               .key = relay_text(r, "key"),
                                               .status = relay_text(r, "status"),
                                               .agent_type = relay_text(r, "agent_type"),
                                               .alert_type = relay_text(r, "alert_type"),
                                               .error_message = relay_text(r, "error_message"),
                                               .started_us = relay_count(r, "started_us"),
                                               .completed_us = relay_count(r, "completed_us")});
    } else if (str_eq(what, STR("event"))) {
        char type[64];

        (void)snprintf(type, sizeof type, STR_FMT, STR_ARG(relay_text(r, "type")));
        hub_event_here(
            r->hub, type, relay_text(r, "session"), relay_text(r, "key"), relay_text(r, "members"));
    } else if (str_eq(what, STR("alert"))) {
        hub_alert_here(r->hub,
                       &(struct hub_told_alert){relay_text(r, "id"),
                                                relay_text(r, "key"),
                                                relay_text(r, "status"),
                                                relay_text(r, "members")});
    }
}

static void relay_json(struct hub *h, unsigned peer, str message)
{
    struct received r = {.hub = h, .peer = peer};
    struct arena a;
    struct json doc;
    struct err e;
    str what;

    arena_init(&a, RELAY_ARENA);
    if (json_open(&doc, message, &e) && json_root(&doc)->kind == JSON_OBJECT) {
        r.doc = &doc;
        r.at = json_root(&doc);
        r.arena = &a;
        what = relay_text(&r, "relay");
        if (what.n) {
            relay_other(&r, what);
        } else {
            r.at = json_find(&doc, r.at, STR("data"));
            if (r.at && r.at->kind == JSON_OBJECT)
                relay_call(&r);
        }
    }
    json_release(&doc);
    arena_release(&a);
}

void hub_relay_receive(struct hub *h, unsigned peer, str message)
{
    assert(peer < HUB_PEERS_MAX);
    if (message.n && message.p[0] == '{')
        relay_json(h, peer, message);
    else if (str_eq(message, RELAY_WATCH) || str_eq(message, RELAY_REST))
        relay_peer_watches(h, peer, str_eq(message, RELAY_WATCH));
    else if (str_eq(message, RELAY_BEGIN))
        mirrors_mark(h, peer);
    else if (str_eq(message, RELAY_END))
        mirrors_end(h, peer, true, true);
    else if (str_eq(message, RELAY_AGAIN))
        h->mirrors.replay = true;
}

void hub_relay_gap(struct hub *h)
{
    h->mirrors.ask = true;
}

void hub_relay_gone(struct hub *h, unsigned peer)
{
    relay_peer_watches(h, peer, false);
    mirrors_end(h, peer, false, false);
}
