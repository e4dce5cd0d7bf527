/* session.c - sessions of applications: their status, and events of their runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/messages.h"

bool hub_awake(struct hub *h)
{
    return atomic_load(&h->awake);
}

/* The channels of a session that somebody watches; the hub is locked. */
static size_t session_channels(struct hub *h, str id, struct hub_channel *out[HUB_REPORTED])
{
    struct map_entry *found = map_find(&h->sessions, id);
    struct hub_channel *all[] = {&h->dash, found ? found->value.ptr : NULL};
    size_t n = 0;

    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i] && atomic_load_explicit(&all[i]->watched, memory_order_acquire))
            out[n++] = all[i];
    return n;
}

/* Applications may report the same status again. Two sessions may share an entry of the table; then
 * a status may be published twice. */
static bool session_changes(struct hub *h, const struct hub_session *s)
{
    static const uint64_t seed[2] = {0, 0};
    uint64_t id = map_hash(seed, s->id), status = map_hash(seed, s->status);
    uint64_t *last = h->statuses[id % HUB_STATUSES_MAX];
    bool same = last[0] == id && last[1] == status;

    last[0] = id;
    last[1] = status;
    return !same;
}

void hub_session(struct hub *h, const struct hub_session *s)
{
    hub_session_here(h, s);
    if (s->status.n && hub_relay_watched(h))
        hub_relay_session(h, s);
}

void hub_session_here(struct hub *h, const struct hub_session *s)
{
    struct hub_channel *to[HUB_REPORTED];
    size_t n = 0;

    if (!s->status.n || !hub_awake(h))
        return;
    hub_lock(h, NULL);
    if (session_changes(h, s))
        n = session_channels(h, s->id, to);
    for (size_t i = 0; i < n; i++) {
        hub_send_session(h, to[i], s, STR(""));
        hub_publish(h, to[i], hub_message_new(h, to[i], s->key, HUB_ANYONE));
    }
    hub_unlock(h);
}

void hub_publish_session(const struct hub_call *c, struct hub_channel *to, const struct hub_end *e,
                         enum hub_audience audience)
{
    const struct hub_session s = {.id = c->about->session,
                                  .key = c->about->key,
                                  .status = !e           ? STR("in_progress")
                                            : e->success ? STR("completed")
                                                         : STR("failed"),
                                  .agent_type = STR("gateway"),
                                  .alert_type = c->about->dialect,
                                  .error_message = e ? e->error_message : STR(""),
                                  .started_us = e ? -1 : c->b.started_us,
                                  .completed_us = e ? e->ended_us : -1};

    assert(to->kind == HUB_DASH || to == c->channel);
    hub_send_session(c->hub, to, &s, c->about->model);
    hub_publish(c->hub, to, hub_message_new(c->hub, to, c->about->key, audience));
}

void hub_event(struct hub *h, const char *type, str session, str key, str members)
{
    hub_event_here(h, type, session, key, members);
    if (hub_relay_watched(h))
        hub_relay_event(h, type, session, key, members);
}

void hub_event_here(struct hub *h, const char *type, str session, str key, str members)
{
    struct hub_channel *to[HUB_REPORTED];
    size_t n;

    if (!hub_awake(h))
        return;
    hub_lock(h, NULL);
    n = session_channels(h, session, to);
    for (size_t i = 0; i < n; i++) {
        hub_send_event(h, to[i], type, members);
        hub_publish(h, to[i], hub_message_new(h, to[i], key, HUB_ANYONE));
    }
    hub_unlock(h);
}
