/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/recall.h"

#include "base/log.h"
#include "gateway/gateway.h"

#include <pthread.h>
#include <stdatomic.h>

#define CONVERSATIONS_MAX 65536 /* places in conversations: two a call, mostly */
#define RECALL_MAX (CONVERSATIONS_MAX / 2)
#define RECALL_MS 3000
#define RECALL_STEP_MS 200 /* how soon a stop is seen */

struct recall {
    struct gateway *g;
    atomic_bool known, stop;
    bool threaded;
    pthread_t thread;
};

struct recalled_conversation {
    str session, talk;
};

struct recalled_talks {
    struct arena arena;
    struct recalled_conversation *items;
    size_t n;
};

static bool recall_on_conversation(void *ctx, str session, str talk)
{
    struct recalled_talks *r = ctx;

    assert(r->n < RECALL_MAX);
    r->items[r->n++] =
        (struct recalled_conversation){arena_dup(&r->arena, session), arena_dup(&r->arena, talk)};
    return r->n < RECALL_MAX;
}

static bool recall_on_spent(void *ctx, str key, double usd)
{
    limits_spent_add(ctx, key, usd);
    return true;
}

/* Reads conversations, oldest first. */
static void recall_all(struct gateway *g)
{
    struct recalled_talks r = {.items = base_alloc(RECALL_MAX * sizeof *r.items)};
    struct err e;

    arena_init(&r.arena, (size_t)64 << 20);
    if (!store_talks(g->store, RECALL_MAX, recall_on_conversation, &r, &e))
        log_warn("conversations of before are not recognised", LOG_ERR(&e));
    while (r.n-- > 0)
        conversations_recall(g->conversations, r.items[r.n].session, r.items[r.n].talk);
    arena_release(&r.arena);
    free(r.items);
    if (!store_spent(g->store, recall_on_spent, g->limits, &e))
        log_warn("the earlier spending of keys is not known", LOG_ERR(&e));
}

/* Whether the configuration has a key with a spending limit: its calls wait for the tables. */
static bool recall_delays_keys(struct gateway *g)
{
    struct setup *s = gateway_setup(g);
    bool delays = false;

    for (size_t i = 0; i < s->config->key_count; i++)
        delays |= s->config->keys[i].spend_usd >= 0;
    setup_release(s);
    return delays;
}

static void *recall_run(void *recall)
{
    struct recall *r = recall;
    struct err e;

    while (!store_settle(r->g->store, RECALL_STEP_MS, &e))
        if (atomic_load(&r->stop))
            return NULL;
    recall_all(r->g);
    atomic_store(&r->known, true);
    if (recall_delays_keys(r->g))
        log_info("the tables have all records: calls of keys with spend_usd go on");
    return NULL;
}

struct recall *recall_start(struct gateway *g)
{
    struct recall *r = base_alloc(sizeof *r);
    uint8_t secret[32];
    uint64_t seed[2];
    struct err e;

    *r = (struct recall){.g = g};
    store_secret(g->store, STR("talk"), secret);
    memcpy(seed, secret, sizeof seed);
    g->conversations = conversations_new(CONVERSATIONS_MAX, seed);
    if (g->records && !store_settle(g->store, RECALL_MS, &e)) {
        if (recall_delays_keys(g))
            log_warn("the tables do not have all records yet: calls of keys with spend_usd wait");
        r->threaded = pthread_create(&r->thread, NULL, recall_run, r) == 0;
        if (r->threaded)
            return r;
    }
    if (g->records)
        recall_all(g);
    atomic_store(&r->known, true);
    return r;
}

bool recall_known(const struct recall *r)
{
    return atomic_load_explicit(&r->known, memory_order_acquire);
}

void recall_stop(struct recall *r)
{
    atomic_store(&r->stop, true);
    if (r->threaded)
        pthread_join(r->thread, NULL);
    free(r);
}
