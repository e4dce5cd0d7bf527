/* port.c - a loop's side of the hub: passes messages to its viewers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/internal.h"

#define TICK_MS 500
#define DIRECT_MAX 8 /* up to this number of viewers of one channel get messages at once */

static void hub_port_deliver_message(struct hub_port *p, struct hub_message *m)
{
    struct hub_place *place = hub_place_find(p, m->kind, m->session);
    struct hub_sub *next;

    if (!place || !place->subs)
        return;
    if (m->kind == HUB_DASH || place->sub_count > DIRECT_MAX || place->queued) {
        hub_sweep_add(p, place, m);
        return;
    }
    for (struct hub_sub *s = place->subs; s; s = next) {
        next = s->next;
        hub_viewer_offer(s, m);
    }
}

/* More messages came than the port could take: all its viewers have missed some. */
static void hub_port_all_missed(struct hub_port *p)
{
    for (struct hub_viewer *v = p->viewers; v; v = v->next)
        for (size_t i = 0; i < v->sub_count; i++)
            v->subs[i]->missed++;
}

static void hub_port_take_inbox(struct hub_port *p)
{
    struct hub_message **inbox = p->inbox;
    size_t n = p->inbox_n;
    bool overrun = p->overrun;

    assert(n <= p->inbox_cap && (n || !p->inbox_size));
    p->inbox = NULL;
    p->inbox_n = p->inbox_cap = p->inbox_size = 0;
    p->overrun = false;
    hub_unlock(p->hub);
    for (size_t i = 0; i < n; i++) {
        hub_port_deliver_message(p, inbox[i]);
        hub_message_free(inbox[i]);
    }
    free(inbox);
    if (overrun)
        hub_port_all_missed(p);
}

static void hub_port_on_post(void *ctx)
{
    struct hub_port *p = ctx;

    hub_lock(p->hub, p);
    p->posted = false;
    hub_port_take_inbox(p);
}

static void hub_port_on_turn(void *ctx)
{
    struct hub_port *p = ctx;

    hub_lock(p->hub, p);
    hub_port_take_inbox(p);
}

/* ---- timers ---- */

static uint64_t hub_port_look_at(struct hub_viewer *v)
{
    assert(v->sub_count <= HUB_SUBS_MAX);
    for (size_t i = 0; i < v->sub_count; i++)
        if (v->subs[i]->missed)
            hub_viewer_catch_up(v->subs[i]);
    return v->ops->queued ? v->ops->queued(v->ctx) : 0;
}

static void hub_port_on_tick(void *ctx)
{
    struct hub_port *p = ctx;
    uint64_t lag[HUB_WAYS] = {0};
    bool more;

    for (struct hub_viewer *v = p->viewers; v; v = p->tick_next) {
        p->tick_next = v->next; /* hub_viewer_free advances it */
        if (!v->ops->tick || v->ops->tick(v->ctx))
            lag[v->ops->way] += hub_port_look_at(v);
    }
    p->tick_next = NULL;
    for (size_t i = 0; i < HUB_WAYS; i++)
        atomic_store_explicit(&p->lag_bytes[i], lag[i], memory_order_relaxed);
    hub_lock(p->hub, p);
    hub_linger_sweep(p->hub);
    more = p->viewers || p->hub->linger_oldest;
    hub_unlock(p->hub);
    if (more)
        loop_timer_set(p->loop, &p->tick, TICK_MS);
}

/* ---- life ---- */

struct hub_port *hub_port_new(struct hub *h, struct loop *l)
{
    struct hub_port *p = base_alloc(sizeof *p);

    *p = (struct hub_port){
        .hub = h, .loop = l, .dash = {.channel = &h->dash}, .health = {.channel = &h->health}};
    map_init(&p->sessions, NULL, (size_t)HUB_VIEWERS_MAX * HUB_SUBS_MAX);
    map_init(&p->alerts, NULL, (size_t)HUB_VIEWERS_MAX * HUB_SUBS_MAX);
    pthread_mutex_init(&p->quiet_lock, NULL);
    loop_task_init(&p->task, hub_port_on_post, p);
    loop_task_init(&p->turn, hub_port_on_turn, p);
    loop_task_init(&p->flush, hub_port_flush, p);
    loop_timer_init(&p->late_timer, hub_port_flush_late, p);
    loop_timer_init(&p->tick, hub_port_on_tick, p);
    loop_timer_init(&p->sweep, hub_sweep, p);
    hub_lock(h, NULL);
    while (p->index < HUB_PORTS_MAX && h->ports[p->index])
        p->index++;
    assert(p->index < HUB_PORTS_MAX);
    h->ports[p->index] = p;
    hub_unlock(h);
    return p;
}

void hub_port_free(struct hub_port *p)
{
    struct hub *h;

    if (!p)
        return;
    h = p->hub;
    assert(!p->viewers && !p->news[HUB_NEWS_SESSION] && !p->news[HUB_NEWS_LATE] && !p->quiet);
    hub_lock(h, p);
    h->ports[p->index] = NULL;
    hub_unlock(h);
    for (size_t i = 0; i < p->inbox_n; i++)
        hub_message_free(p->inbox[i]);
    free(p->inbox);
    map_release(&p->sessions);
    map_release(&p->alerts);
    hub_port_calls_free(p);
    pthread_mutex_destroy(&p->quiet_lock);
    free(p);
}
