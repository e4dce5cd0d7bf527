/* sweep.c - serves many viewers of one channel, a few at a time, so that no call waits for all.
 *
 * New messages wait; a message without room is lost for all viewers, which costs one addition. A
 * sweep delivers the waiting messages to each subscriber: for SLICE_NS at a time, one slice in a
 * millisecond, with the loop's other work in between. Then it pauses for REST times as long as it
 * worked. So more viewers mean more dropped messages, but no slower calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/internal.h"

#define WAITING_SIZE_MAX ((size_t)64 << 10)
#define PERIOD_MS 25
#define SLICE_MS 1
#define SLICE_NS 100000u
#define REST 19

static void hub_sweep_batch_clear(struct hub_batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        hub_message_free(b->at[i]);
    free(b->at);
    *b = (struct hub_batch){0};
}

static void hub_sweep_enqueue_place(struct hub_port *p, struct hub_place *place)
{
    if (place->queued)
        return;
    place->queued = true;
    place->queue_next = p->queue;
    p->queue = place;
    if (!p->sweep.slot)
        loop_timer_set(p->loop, &p->sweep, PERIOD_MS);
}

void hub_sweep_add(struct hub_port *p, struct hub_place *place, struct hub_message *m)
{
    struct hub_batch *b = &place->waiting;

    hub_sweep_enqueue_place(p, place);
    if (b->n && b->size + m->size > WAITING_SIZE_MAX) {
        place->missed++;
        return;
    }
    b->at = base_grow(b->at, b->n, &b->cap, sizeof(struct hub_message *));
    assert(b->n == 0 || b->at[b->n - 1]->seq < m->seq); /* hub_sweep_first_after relies on it */
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    b->at[b->n++] = m;
    b->size += m->size;
}

void hub_sweep_forget(struct hub_port *p, struct hub_place *place)
{
    struct hub_place **at = &p->queue;

    hub_sweep_batch_clear(&place->waiting);
    hub_sweep_batch_clear(&place->batch);
    place->sweeping = false;
    if (!place->queued)
        return;
    while (*at != place)
        at = &(*at)->queue_next;
    *at = place->queue_next;
    place->queued = false;
}

static void hub_sweep_serve(struct hub_place *place, struct hub_sub *s)
{
    struct hub_viewer *v = s->viewer;
    uint64_t more = place->batch_missed - s->missed_seen;

    for (size_t i = 0; i < place->batch.n; i++)
        hub_viewer_offer(s, place->batch.at[i]);
    if (place->batch_missed > s->missed_seen) {
        s->missed_seen = place->batch_missed;
        s->missed += more;
        atomic_fetch_add_explicit(&v->port->hub->dropped[v->ops->way], more, memory_order_relaxed);
        hub_viewer_catch_up(s);
    }
    if (v->ops->flush)
        v->ops->flush(v->ctx);
}

static uint64_t hub_sweep_first_after(const struct hub_batch *b, uint64_t seq)
{
    size_t low = 0, high = b->n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (b->at[mid]->seq > seq)
            high = mid;
        else
            low = mid + 1;
    }
    return low < b->n ? b->at[low]->seq : UINT64_MAX;
}

uint64_t hub_sweep_oldest(const struct hub_sub *s)
{
    uint64_t after = s->done > s->from ? s->done : s->from;
    uint64_t oldest = hub_sweep_first_after(&s->place->batch, after);

    return oldest != UINT64_MAX ? oldest : hub_sweep_first_after(&s->place->waiting, after);
}

static void hub_sweep_begin(struct hub_place *place)
{
    assert(!place->sweeping && place->batch.n == 0);
    place->batch = place->waiting;
    place->waiting = (struct hub_batch){0};
    place->batch_missed = place->missed;
    place->sweep_at = place->subs;
    place->sweeping = true;
    place->spent_ns = 0;
}

/* A slice of one place. */
static void hub_sweep_go_on(struct hub_port *p, struct hub_place *place)
{
    const struct clock *clock = p->hub->clock;
    uint64_t from = clock_mono_ns(clock), now = from;

    assert(place->sweeping && place->queued);
    while (place->sweep_at && now - from < SLICE_NS) {
        struct hub_sub *s = place->sweep_at;

        place->sweep_at = s->next;
        hub_sweep_serve(place, s);
        now = clock_mono_ns(clock);
    }
    place->spent_ns += now - from;
    if (place->sweep_at)
        return;
    hub_sweep_batch_clear(&place->batch);
    place->sweeping = false;
    place->rest_until_ns = now + REST * place->spent_ns;
}

void hub_sweep(void *port)
{
    struct hub_port *p = port;
    uint64_t now = loop_now_ns(p->loop);
    struct hub_place *place, **at = &p->queue;
    bool busy = false;

    while ((place = *at)) {
        if (!place->sweeping && place->waiting.n && now >= place->rest_until_ns)
            hub_sweep_begin(place);
        if (place->sweeping)
            hub_sweep_go_on(p, place);
        busy |= place->sweeping;
        if (!place->sweeping && !place->waiting.n) {
            *at = place->queue_next;
            place->queued = false;
        } else {
            at = &place->queue_next;
        }
    }
    if (p->queue)
        loop_timer_set(p->loop, &p->sweep, busy ? SLICE_MS : PERIOD_MS);
}
