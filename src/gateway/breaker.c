/* breaker.c - one mutex, and an entry only for those that have failed since they last went well.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/breaker.h"

#include "base/map.h"

#define NAMES_MAX 4096 /* beyond it the oldest failing one is dropped */

struct entry {
    unsigned failures; /* in a row */
    bool open, trying; /* trying: the one admitted call is running */
    uint64_t until_ns; /* while open; while trying, when another may be tried if nothing is heard */
    char name[];
};

struct breaker {
    const struct clock *clock;
    pthread_mutex_t lock;
    struct map entries;
    _Atomic size_t count;          /* of the entries */
    _Atomic unsigned failures_max; /* as last asked with */
    _Atomic uint64_t open_ns;
};

struct breaker *breaker_new(const struct clock *clock)
{
    struct breaker *b = base_alloc(sizeof *b);

    *b = (struct breaker){.clock = clock, .failures_max = 5, .open_ns = 30000000000};
    pthread_mutex_init(&b->lock, NULL);
    map_init(&b->entries, NULL, NAMES_MAX);
    return b;
}

void breaker_free(struct breaker *b)
{
    if (!b)
        return;
    for (struct map_entry *i = map_next(&b->entries, NULL); i; i = map_next(&b->entries, i))
        free(i->value.ptr);
    map_release(&b->entries);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static struct entry *breaker_find(struct breaker *b, str name)
{
    struct map_entry *found = map_find(&b->entries, name);

    return found ? found->value.ptr : NULL;
}

static void breaker_forget(struct breaker *b, str name)
{
    struct entry *e = breaker_find(b, name);

    if (e && map_remove(&b->entries, name))
        free(e);
    b->count = map_count(&b->entries);
}

static struct entry *breaker_add(struct breaker *b, str name)
{
    struct entry *e = base_alloc(sizeof *e + name.n + 1);
    struct err full;

    *e = (struct entry){0};
    memcpy(e->name, name.p, name.n);
    e->name[name.n] = '\0';
    if (map_count(&b->entries) == NAMES_MAX)
        breaker_forget(b, map_next(&b->entries, NULL)->key);
    if (!map_set(&b->entries, (str){e->name, name.n}, MAP_PTR(e), &full))
        base_die("breaker: %s", full.text);
    b->count = map_count(&b->entries);
    return e;
}

static void breaker_note(struct breaker *b, unsigned failures_max, uint64_t open_ms)
{
    uint64_t open_ns = open_ms * CLOCK_NS_PER_MS;

    if (b->failures_max != failures_max)
        b->failures_max = failures_max;
    if (b->open_ns != open_ns)
        b->open_ns = open_ns;
}

bool breaker_idle(struct breaker *b, unsigned failures_max, uint64_t open_ms)
{
    breaker_note(b, failures_max, open_ms);
    return b->count == 0;
}

bool breaker_pass(struct breaker *b, str name, unsigned failures_max, uint64_t open_ms,
                  uint64_t *left_ms)
{
    uint64_t now = clock_mono_ns(b->clock);
    struct entry *e;
    bool pass = true;

    pthread_mutex_lock(&b->lock);
    breaker_note(b, failures_max, open_ms);
    e = breaker_find(b, name);
    assert(!e || !e->trying || e->open);
    if (e && e->open && now < e->until_ns) {
        pass = false;
        *left_ms = (e->until_ns - now + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
    } else if (e && e->open) {
        e->trying = true;
        e->until_ns = now + b->open_ns;
    }
    pthread_mutex_unlock(&b->lock);
    return pass;
}

void breaker_done(struct breaker *b, str name, bool ok)
{
    struct entry *e;

    pthread_mutex_lock(&b->lock);
    e = breaker_find(b, name);
    assert(!e || !e->trying || e->open);
    if (e && e->open && !e->trying) {
        /* The call began before the breaker opened: the admitted trial call decides, not this
         * one. */
    } else if (ok) {
        breaker_forget(b, name);
    } else {
        e = e ? e : breaker_add(b, name);
        e->failures += e->failures < UINT32_MAX;
        if (e->trying || e->failures >= b->failures_max) {
            e->open = true;
            e->trying = false;
            e->until_ns = clock_mono_ns(b->clock) + b->open_ns;
        }
    }
    pthread_mutex_unlock(&b->lock);
}

void breaker_undecided(struct breaker *b, str name)
{
    struct entry *e;

    pthread_mutex_lock(&b->lock);
    e = breaker_find(b, name);
    assert(!e || !e->trying || e->open);
    if (e && e->trying) {
        e->trying = false;
        e->until_ns = 0;
    }
    pthread_mutex_unlock(&b->lock);
}

bool breaker_look(struct breaker *b, str name, unsigned *failures, uint64_t *left_ms)
{
    uint64_t now = clock_mono_ns(b->clock);
    const struct entry *e;
    bool open;

    pthread_mutex_lock(&b->lock);
    e = breaker_find(b, name);
    open = e && e->open;
    assert(!e || !e->trying || e->open);
    *failures = e ? e->failures : 0;
    *left_ms = open && e->until_ns > now ? (e->until_ns - now) / CLOCK_NS_PER_MS : 0;
    pthread_mutex_unlock(&b->lock);
    return open;
}
