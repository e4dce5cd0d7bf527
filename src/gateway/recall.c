/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/recall.h"

#include "gateway/gateway.h"

#include <unistd.h>

#define CONVERSATIONS_MAX 65536 /* places in conversations: two a call, mostly */
#define RECALL_MAX (CONVERSATIONS_MAX / 2)
#define RECALL_MS 3000
#define RECALL_STEP_MS 200 /* how soon a stop is seen */

struct recall {
    struct gateway *g;
    atomic_bool known, stop; /* known: what keys have spent */
    bool conversations;      /* they are recalled */
    bool logged;             /* that something cannot be read */
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

struct recalled_spend {
    struct recalled_spend *next;
    str key;
    double usd;
};

struct recalled_keys {
    struct arena arena;
    struct recalled_spend *first;
};

static bool recall_on_conversation(void *ctx, str session, str talk)
{
    struct recalled_talks *r = ctx;

    assert(r->n < RECALL_MAX);
    r->items[r->n++] =
        (struct recalled_conversation){arena_dup(&r->arena, session), arena_dup(&r->arena, talk)};
    return r->n < RECALL_MAX;
}

/* Reads conversations, oldest first. */
static bool recall_conversations(struct gateway *g, struct err *e)
{
    struct recalled_talks r = {.items = base_alloc(RECALL_MAX * sizeof *r.items)};
    bool ok;

    arena_init(&r.arena, (size_t)64 << 20);
    ok = store_talks(g->store, RECALL_MAX, recall_on_conversation, &r, e);
    while (ok && r.n-- > 0)
        conversations_recall(g->conversations, r.items[r.n].session, r.items[r.n].talk);
    arena_release(&r.arena);
    free(r.items);
    return ok;
}

static bool recall_on_spent(void *ctx, str key, double usd)
{
    struct recalled_keys *r = ctx;
    struct recalled_spend *s = arena_alloc(&r->arena, sizeof *s);

    *s = (struct recalled_spend){r->first, arena_dup(&r->arena, key), usd};
    r->first = s;
    return true;
}

/* All of it or nothing: it is added to what the keys have spent. */
static bool recall_spent(struct gateway *g, struct err *e)
{
    struct recalled_keys r = {.first = NULL};
    bool ok;

    arena_init(&r.arena, (size_t)64 << 20);
    ok = store_spent(g->store, recall_on_spent, &r, e);
    for (const struct recalled_spend *s = ok ? r.first : NULL; s; s = s->next)
        limits_spent_add(g->limits, s->key, s->usd);
    arena_release(&r.arena);
    return ok;
}

/* False: to be tried again. The spend does not wait for the conversations. */
static bool recall_all(struct recall *r)
{
    struct err e;

    if (!r->conversations)
        r->conversations = recall_conversations(r->g, &e);
    if (!atomic_load(&r->known))
        atomic_store(&r->known, recall_spent(r->g, &e));
    if (r->conversations && atomic_load(&r->known))
        return true;
    if (!r->logged)
        log_warn("what conversations and keys did before cannot be read yet: calls of keys with "
                 "spend_usd wait",
                 LOG_ERR(&e));
    r->logged = true;
    return false;
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
    while (!recall_all(r)) {
        if (atomic_load(&r->stop))
            return NULL;
        (void)usleep(RECALL_STEP_MS * 1000);
    }
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
    bool settled;

    *r = (struct recall){.g = g};
    store_secret(g->store, STR("talk"), secret);
    memcpy(seed, secret, sizeof seed);
    g->conversations = conversations_new(CONVERSATIONS_MAX, seed);
    settled = !g->records || store_settle(g->store, RECALL_MS, &e);
    if (!settled && recall_delays_keys(g))
        log_warn("the tables do not have all records yet: calls of keys with spend_usd wait");
    if (!settled || !recall_all(r))
        r->threaded = pthread_create(&r->thread, NULL, recall_run, r) == 0;
    if (!r->threaded)
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
