/* alert.c - the state of alerts: publishes changes, and keeps the last status for late viewers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/messages.h"

static void hub_alert_unlink_last(struct hub *h, struct hub_channel *c)
{
    assert(c->last && h->alert_count > 0 && h->alert_size >= c->last->size);
    assert(c->older ? c->older->newer == c : h->alert_oldest == c);
    *(c->older ? &c->older->newer : &h->alert_oldest) = c->newer;
    *(c->newer ? &c->newer->older : &h->alert_newest) = c->older;
    c->older = c->newer = NULL;
    h->alert_count--;
    h->alert_size -= c->last->size;
    hub_message_free(c->last);
    c->last = NULL;
}

void hub_alert_forget(struct hub *h, struct hub_channel *c)
{
    hub_alert_unlink_last(h, c);
    hub_channel_drop(h, c);
}

/* When there are too many, the last message of the oldest alert is dropped. */
static void hub_alert_keep_last(struct hub *h, struct hub_channel *c, struct hub_message *m)
{
    assert(c->kind == HUB_ALERT && m->kind == HUB_ALERT);
    if (c->last)
        hub_alert_unlink_last(h, c);
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    c->last = m;
    c->older = h->alert_newest;
    *(h->alert_newest ? &h->alert_newest->newer : &h->alert_oldest) = c;
    h->alert_newest = c;
    h->alert_count++;
    h->alert_size += m->size;
    while (h->alert_oldest != c &&
           (h->alert_count > HUB_ALERTS_MAX || h->alert_size > HUB_ALERTS_SIZE_MAX))
        hub_alert_forget(h, h->alert_oldest);
}

void hub_alert(struct hub *h, str id, str key, str status, str members)
{
    struct hub_told_alert a = {id, key, status, members};

    hub_alert_here(h, &a);
    if (h->relay_ops.send)
        hub_relay_alert(h, &a);
}

void hub_alert_here(struct hub *h, const struct hub_told_alert *a)
{
    struct hub_channel *c;
    struct hub_message *m;

    hub_lock(h, NULL);
    c = hub_channel_of(h, HUB_ALERT, a->id);
    if (c) {
        hub_send_alert(h, c, a->status);
        m = hub_message_new(h, c, a->key, HUB_ANYONE);
        hub_alert_keep_last(h, c, m);
        hub_publish(h, c, m);
    }
    if (atomic_load_explicit(&h->dash.watched, memory_order_acquire)) {
        hub_send_alert_status(h, &h->dash, a->members);
        hub_publish(h, &h->dash, hub_message_new(h, &h->dash, a->key, HUB_ANYONE));
    }
    hub_unlock(h);
}

bool hub_alert_known(struct hub *h, str id, const struct hub_scope *scope)
{
    struct map_entry *found;
    bool known = false;

    hub_lock(h, NULL);
    found = map_find(&h->alerts, id);
    if (found) {
        const struct hub_channel *c = found->value.ptr;

        known = c->last && (scope->all || str_eq(scope->key, c->last->key));
    }
    hub_unlock(h);
    return known;
}
