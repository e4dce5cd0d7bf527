/* pool.c - see pool.h.
 *
 * Each kept connection hangs in two lists: a stack of its key, from which it is taken, and a queue
 * of all, whose first is the one that has been idle longest. So one timer does for all, and only
 * moves when it fires.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/pool.h"

#include "base/map.h"

#define PLACES_MAX ((size_t)1 << 20)
#define PLACES_EMPTY_MAX 256 /* beyond this number, places without a connection are freed */

struct place;

struct kept {
    struct pool *pool;
    struct place *place;
    struct conn *conn;
    uint64_t since_ns;
    struct kept *above, *below; /* in the stack of its place */
    struct kept *older, *newer; /* in the queue of all */
};

struct place {
    struct kept *top;
    str key; /* after the struct */
};

struct pool {
    struct loop *loop;
    uint64_t idle_ns;
    struct loop_timer timer;
    struct map places;
    struct place *last; /* that was looked for: mostly the next one too; or NULL */
    size_t count;
    struct kept *oldest, *newest;
    struct kept *spare; /* not in use, by `below`: no more than were kept at once */
};

static void pool_on_timer(void *ctx);

struct pool *pool_new(struct loop *l, uint64_t idle_ms)
{
    struct pool *p = base_alloc(sizeof *p);

    *p = (struct pool){.loop = l, .idle_ns = idle_ms * CLOCK_NS_PER_MS};
    loop_timer_init(&p->timer, pool_on_timer, p);
    map_init(&p->places, NULL, PLACES_MAX);
    return p;
}

/* Out of both lists; the connection is the caller's. */
static struct conn *pool_unlink_kept(struct kept *k)
{
    struct pool *p = k->pool;
    struct conn *c = k->conn;

    assert(p->count > 0);
    assert(k->above ? k->above->below == k : k->place->top == k);
    assert(k->older ? k->older->newer == k : p->oldest == k);
    if (k->above)
        k->above->below = k->below;
    else
        k->place->top = k->below;
    if (k->below)
        k->below->above = k->above;
    if (k->older)
        k->older->newer = k->newer;
    else
        p->oldest = k->newer;
    if (k->newer)
        k->newer->older = k->older;
    else
        p->newest = k->older;
    p->count--;
    k->below = p->spare;
    p->spare = k;
    return c;
}

static void pool_drop(struct kept *k)
{
    conn_close(pool_unlink_kept(k));
}

/* Any event on an unused connection makes it useless, so the event itself does not matter. */
static void pool_on_bytes(void *ctx, str bytes)
{
    (void)bytes;
    pool_drop(ctx);
}

static void pool_on_end(void *ctx)
{
    pool_drop(ctx);
}

static void pool_on_error(void *ctx, const struct err *e)
{
    (void)e;
    pool_drop(ctx);
}

static const struct conn_handler handler = {
    .on_bytes = pool_on_bytes, .on_end = pool_on_end, .on_error = pool_on_error};

static void pool_arm(struct pool *p)
{
    uint64_t idle_ns = loop_now_ns(p->loop) - p->oldest->since_ns;
    uint64_t left_ns = idle_ns < p->idle_ns ? p->idle_ns - idle_ns : 0;

    assert(p->oldest);
    loop_timer_set(p->loop, &p->timer, left_ns / CLOCK_NS_PER_MS + 1);
}

static void pool_on_timer(void *ctx)
{
    struct pool *p = ctx;

    while (p->oldest && loop_now_ns(p->loop) - p->oldest->since_ns >= p->idle_ns)
        pool_drop(p->oldest);
    if (p->oldest)
        pool_arm(p);
}

static void pool_drop_empty_places(struct pool *p)
{
    p->last = NULL;
    for (struct map_entry *i = map_next(&p->places, NULL); i; i = map_next(&p->places, i)) {
        struct place *place = i->value.ptr;

        if (place->top)
            continue;
        map_remove(&p->places, place->key);
        free(place);
    }
}

static struct place *pool_find_place(struct pool *p, str key)
{
    struct map_entry *found;

    if (p->last && str_eq(p->last->key, key))
        return p->last;
    found = map_find(&p->places, key);
    if (found)
        p->last = found->value.ptr;
    return found ? found->value.ptr : NULL;
}

/* NULL if there are too many. */
static struct place *pool_get_place(struct pool *p, str key)
{
    struct place *place = pool_find_place(p, key);
    char *text;
    struct err e;

    if (place)
        return place;
    if (map_count(&p->places) >= PLACES_EMPTY_MAX)
        pool_drop_empty_places(p);
    place = base_alloc(sizeof *place + key.n);
    text = (char *)(place + 1);
    memcpy(text, key.p, key.n);
    *place = (struct place){.key = {text, key.n}};
    if (map_set(&p->places, place->key, MAP_PTR(place), &e))
        return place;
    free(place);
    return NULL;
}

struct conn *pool_take(struct pool *p, str key)
{
    struct place *place = pool_find_place(p, key);

    return place && place->top ? pool_unlink_kept(place->top) : NULL;
}

void pool_put(struct pool *p, str key, struct conn *c)
{
    struct place *place = pool_get_place(p, key);
    struct kept *k;

    assert(!p->oldest == !p->newest && !p->oldest == !p->count);
    if (!place) {
        conn_close(c);
        return;
    }
    k = p->spare ? p->spare : base_alloc(sizeof *k);
    if (p->spare)
        p->spare = k->below;
    *k = (struct kept){.pool = p,
                       .place = place,
                       .conn = c,
                       .since_ns = loop_now_ns(p->loop),
                       .below = place->top,
                       .older = p->newest};
    if (place->top)
        place->top->above = k;
    place->top = k;
    if (p->newest)
        p->newest->newer = k;
    else
        p->oldest = k;
    p->newest = k;
    p->count++;
    conn_handler_set(c, &handler, k);
    if (p->timer.slot == 0)
        pool_arm(p);
}

size_t pool_count(const struct pool *p)
{
    return p->count;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    while (p->oldest)
        pool_drop(p->oldest);
    pool_drop_empty_places(p);
    assert(p->count == 0 && !p->newest && map_count(&p->places) == 0);
    while (p->spare) {
        struct kept *k = p->spare;

        p->spare = k->below;
        free(k);
    }
    loop_timer_clear(p->loop, &p->timer);
    map_release(&p->places);
    free(p);
}
