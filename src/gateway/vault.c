/* vault.c - calls by their id, in each the origins and places that gave something; least used out
 * first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/vault.h"

#include "base/map.h"
#include "base/rand.h"

#define AGE_MAX_NS ((uint64_t)86400 * 1000000000)
#define SWEEP_NS ((uint64_t)600 * 1000000000)
#define FRAGMENTS_MAX 256 /* of one call */
#define PLACES_MAX 256    /* of one call: they are looked through one by one */
#define CALLS_MAX ((size_t)1 << 24)

struct fragment {
    struct fragment *next;
    str name, text;
    char bytes[];
};

struct call {
    struct held *held; /* one for each origin and place */
    size_t held_count;
    str id;
    char bytes[];
};

/* The data of one origin for one call at one place. All entries are in one list, the latest used
 * first. */
struct held {
    struct call *call;
    struct held *sibling; /* the same call, another origin or place; the newest first */
    struct held *newer, *older;
    struct fragment *first, *last;
    size_t count, size; /* of its fragments; size is of all it takes */
    uint64_t put_ns;    /* when the last of them came */
    uint64_t asked, system, reply;
    uint32_t results;
    bool spoilt; /* more came than is kept: it has nothing, and gets nothing of this reply */
    str origin;
    char bytes[];
};

struct vault {
    const struct clock *clock;
    pthread_mutex_t lock;
    struct map calls;
    struct held *newest, *oldest;
    size_t size, size_max;
    uint64_t swept_ns;
    uint64_t seed[2];
    uint64_t replies;
};

struct vault *vault_new(const struct clock *clock, size_t size_max)
{
    struct vault *v = base_alloc(sizeof *v);

    *v = (struct vault){.clock = clock, .size_max = size_max, .swept_ns = clock_mono_ns(clock)};
    rand_os(v->seed, sizeof v->seed);
    rand_os(&v->replies, sizeof v->replies); /* other processes count from other numbers */
    pthread_mutex_init(&v->lock, NULL);
    map_init(&v->calls, NULL, CALLS_MAX);
    return v;
}

void vault_seed(struct vault *v, const uint64_t seed[2])
{
    memcpy(v->seed, seed, sizeof v->seed);
}

/* ---- the list ---- */

static void vault_unlink_held(struct vault *v, struct held *h)
{
    assert(h->newer ? h->newer->older == h : v->newest == h);
    assert(h->older ? h->older->newer == h : v->oldest == h);
    *(h->newer ? &h->newer->older : &v->newest) = h->older;
    *(h->older ? &h->older->newer : &v->oldest) = h->newer;
}

static void vault_link_newest(struct vault *v, struct held *h)
{
    assert(!v->newest == !v->oldest);
    h->newer = NULL;
    h->older = v->newest;
    *(v->newest ? &v->newest->newer : &v->oldest) = h;
    v->newest = h;
}

static void vault_free_fragments(struct held *h)
{
    for (struct fragment *f = h->first, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    h->first = h->last = NULL;
    h->count = 0;
}

static void vault_remove_held(struct vault *v, struct held *h)
{
    struct call *call = h->call;
    struct held **at = &call->held;

    vault_unlink_held(v, h);
    while (*at != h)
        at = &(*at)->sibling;
    *at = h->sibling;
    assert(call->held_count > 0);
    call->held_count--;
    assert(v->size >= h->size);
    v->size -= h->size;
    vault_free_fragments(h);
    free(h);
    assert(!call->held == !call->held_count);
    if (!call->held && map_remove(&v->calls, call->id))
        free(call);
}

void vault_free(struct vault *v)
{
    if (!v)
        return;
    while (v->oldest)
        vault_remove_held(v, v->oldest);
    assert(v->size == 0 && !v->newest && map_count(&v->calls) == 0);
    map_release(&v->calls);
    pthread_mutex_destroy(&v->lock);
    free(v);
}

static bool vault_is_old(const struct vault *v, const struct held *h)
{
    return clock_mono_ns(v->clock) - h->put_ns > AGE_MAX_NS;
}

static void vault_sweep(struct vault *v)
{
    uint64_t now = clock_mono_ns(v->clock);

    if (now - v->swept_ns < SWEEP_NS)
        return;
    v->swept_ns = now;
    for (struct held *h = v->oldest, *newer; h; h = newer) {
        newer = h->newer;
        if (vault_is_old(v, h))
            vault_remove_held(v, h);
    }
}

/* ---- in and out ---- */

static struct call *vault_find_call(const struct vault *v, str id)
{
    struct map_entry *found = map_find(&v->calls, id);

    return found ? found->value.ptr : NULL;
}

/* How well two places agree; the question has the largest weight. Never 0. */
static unsigned vault_score_agreement(const struct held *h, const struct vault_call *call)
{
    return 1U + 4U * (h->asked == call->asked) + 2U * (h->system == call->system) +
           (h->results == call->results);
}

static struct held *vault_find_best(const struct vault *v, str origin,
                                    const struct vault_call *call)
{
    struct call *there = vault_find_call(v, call->id);
    struct held *best = NULL;
    unsigned most = 0;

    for (struct held *h = there ? there->held : NULL; h; h = h->sibling) {
        unsigned n = !h->spoilt && str_eq(h->origin, origin) && !vault_is_old(v, h)
                         ? vault_score_agreement(h, call)
                         : 0;

        if (n && n == most)
            best = NULL; /* it is ambiguous which is meant */
        if (n > most) {
            best = h;
            most = n;
        }
    }
    return best;
}

/* The entry of exactly this place. */
static struct held *vault_find_same(struct vault *v, str origin, const struct vault_call *call)
{
    struct call *there = vault_find_call(v, call->id);
    struct held *same = there ? there->held : NULL;

    while (same && !(str_eq(same->origin, origin) && same->asked == call->asked &&
                     same->system == call->system && same->results == call->results))
        same = same->sibling;
    return same;
}

static struct call *vault_get_call(struct vault *v, str id)
{
    struct call *call = vault_find_call(v, id);
    struct err e;

    if (call)
        return call;
    call = base_alloc(sizeof *call + id.n + 1);
    call->held = NULL;
    call->held_count = 0;
    call->id = (str){call->bytes, id.n};
    memcpy(call->bytes, id.p, id.n);
    if (map_set(&v->calls, call->id, MAP_PTR(call), &e))
        return call;
    free(call);
    return NULL;
}

/* Removes the oldest place of a call that has PLACES_MAX of them. */
static void vault_make_room(struct vault *v, struct call *call)
{
    struct held *last = call->held;

    assert(call->held_count <= PLACES_MAX && !call->held == !call->held_count);
    if (call->held_count < PLACES_MAX)
        return;
    while (last->sibling)
        last = last->sibling;
    vault_remove_held(v, last);
}

static struct held *vault_add_held(struct vault *v, str origin, const struct vault_call *of)
{
    struct call *call = vault_get_call(v, of->id);
    struct held *h;

    if (!call)
        return NULL;
    vault_make_room(v, call);
    h = base_alloc(sizeof *h + origin.n + 1);
    *h = (struct held){.call = call,
                       .sibling = call->held,
                       .asked = of->asked,
                       .system = of->system,
                       .results = of->results,
                       .reply = of->reply};
    h->size = sizeof *h + origin.n + sizeof *call + of->id.n + sizeof(struct map_entry) * 2;
    h->origin = (str){h->bytes, origin.n};
    memcpy(h->bytes, origin.p, origin.n);
    call->held = h;
    call->held_count++;
    assert(call->held_count <= PLACES_MAX);
    v->size += h->size;
    vault_link_newest(v, h);
    return h;
}

static bool vault_has(const struct held *h, str name, str text)
{
    for (const struct fragment *f = h->first; f; f = f->next)
        if (str_eq(f->name, name) && str_eq(f->text, text))
            return true;
    return false;
}

static void vault_append_fragment(struct vault *v, struct held *h, str name, str text)
{
    size_t size = sizeof(struct fragment) + name.n + text.n;
    struct fragment *f = base_alloc(size + 1);

    assert(!h->first == !h->last && !h->first == !h->count);
    assert(h->count < FRAGMENTS_MAX);
    f->next = NULL;
    f->name = (str){f->bytes, name.n};
    f->text = (str){f->bytes + name.n, text.n};
    memcpy(f->bytes, name.p, name.n);
    memcpy(f->bytes + name.n, text.p, text.n);
    LIST_APPEND(h->first, h->last, f);
    h->count++;
    h->size += size;
    v->size += size;
}

uint64_t vault_hash(const struct vault *v, uint64_t chain, str text)
{
    uint64_t both[2] = {chain, map_hash(v->seed, text)};

    return map_hash(v->seed, (str){(const char *)both, sizeof both});
}

uint64_t vault_reply(struct vault *v)
{
    uint64_t n;

    pthread_mutex_lock(&v->lock);
    n = ++v->replies;
    pthread_mutex_unlock(&v->lock);
    return n;
}

/* Half of what must go back is worse than nothing. */
static void vault_spoil(struct vault *v, struct held *h)
{
    size_t size = 0;

    assert(!h->spoilt);
    for (const struct fragment *f = h->first; f; f = f->next)
        size += sizeof *f + f->name.n + f->text.n;
    assert(size <= h->size && size <= v->size);
    h->size -= size;
    v->size -= size;
    vault_free_fragments(h);
    h->spoilt = true;
}

/* Locked. */
static void vault_store(struct vault *v, str origin, const struct vault_call *call, str name,
                        str text, struct held *h)
{
    uint64_t now = clock_mono_ns(v->clock), put_ns = now > call->age_ns ? now - call->age_ns : 0;

    h = h ? h : vault_add_held(v, origin, call);
    if (h && !h->spoilt && !vault_has(h, name, text)) {
        h->put_ns = put_ns;
        vault_unlink_held(v, h);
        vault_link_newest(v, h);
        if (h->count == FRAGMENTS_MAX || text.n > v->size_max || name.n > v->size_max ||
            h->size + name.n + text.n + sizeof(struct fragment) > v->size_max)
            vault_spoil(v, h);
        else
            vault_append_fragment(v, h, name, text);
    } else if (h) {
        h->put_ns = put_ns;
    }
    while (v->size > v->size_max && v->oldest)
        vault_remove_held(v, v->oldest);
}

void vault_put(struct vault *v, str origin, const struct vault_call *call, str name, str text)
{
    struct held *h;

    pthread_mutex_lock(&v->lock);
    vault_sweep(v);
    h = vault_find_same(v, origin, call);
    if (h && (h->reply != call->reply || vault_is_old(v, h))) {
        vault_remove_held(v, h);
        h = NULL;
    }
    vault_store(v, origin, call, name, text, h);
    pthread_mutex_unlock(&v->lock);
}

void vault_add(struct vault *v, str origin, const struct vault_call *call, str name, str text)
{
    struct held *h;

    pthread_mutex_lock(&v->lock);
    h = vault_find_same(v, origin, call);
    if (call->age_ns <= AGE_MAX_NS && (!h || h->reply == call->reply))
        vault_store(v, origin, call, name, text, h);
    pthread_mutex_unlock(&v->lock);
}

size_t vault_latest(struct vault *v, size_t size_max, struct arena *a, struct vault_fragment **out)
{
    struct held *h, *from = NULL;
    size_t size = 0, count = 0, n = 0;
    uint64_t now = clock_mono_ns(v->clock);

    pthread_mutex_lock(&v->lock);
    for (h = v->newest; h && size + h->size <= size_max; h = h->older) {
        size += h->size;
        count += h->count;
        from = h;
    }
    *out = arena_zero(a, count + 1, sizeof **out);
    for (h = from; h; h = h->newer) {
        struct vault_call call = {
            STR(""), h->asked, h->system, h->results, h->reply, now - h->put_ns};
        str origin;

        if (vault_is_old(v, h))
            continue;
        /* One copy for all fragments: their number does not multiply the size of a long id. */
        call.id = arena_dup(a, h->call->id);
        origin = arena_dup(a, h->origin);
        for (const struct fragment *f = h->first; f; f = f->next)
            (*out)[n++] =
                (struct vault_fragment){call, origin, arena_dup(a, f->name), arena_dup(a, f->text)};
    }
    assert(n <= count);
    pthread_mutex_unlock(&v->lock);
    return n;
}

size_t vault_find(struct vault *v, str origin, const struct vault_call *call, struct arena *a,
                  struct wire_kept *out, size_t n_max)
{
    struct held *h;
    size_t n = 0;

    pthread_mutex_lock(&v->lock);
    h = vault_find_best(v, origin, call);
    /* Alignment and NULs of the copies are in it. */
    if (h && !arena_fits(a, 2 * (h->size + h->count * 64), 0))
        h = NULL;
    for (const struct fragment *f = h ? h->first : NULL; f && n < n_max; f = f->next, n++)
        out[n] = (struct wire_kept){arena_dup(a, f->name), arena_dup(a, f->text)};
    if (h) {
        assert(n <= h->count);
        n = h->count;
        vault_unlink_held(v, h);
        vault_link_newest(v, h);
    }
    pthread_mutex_unlock(&v->lock);
    return n;
}

bool vault_knows(struct vault *v, str call_id)
{
    const struct call *there;
    bool known = false;

    pthread_mutex_lock(&v->lock);
    there = vault_find_call(v, call_id);
    for (const struct held *h = there ? there->held : NULL; h; h = h->sibling)
        known |= !h->spoilt && !vault_is_old(v, h);
    pthread_mutex_unlock(&v->lock);
    return known;
}
