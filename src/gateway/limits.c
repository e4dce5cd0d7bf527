/* limits.c - token buckets and a purse for each key name, under one mutex.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/limits.h"

#include "base/map.h"

#include <float.h>

#define NAMES_MAX 65536
#define MINUTE_NS 60e9
#define UNDER_WAY_MS 1000 /* after this time, running calls have probably caused their cost */
#define TOKENS_MAX 1e15   /* higher than any real count, and a double is still exact to 1 */

/* The rest of a minute's amount; below zero after a call that was larger than estimated. */
struct bucket {
    double left;
    uint64_t at_ns;
    bool begun;
};

/* The use of a key by another daemon, as it reported last. */
struct peer_use {
    struct peer_use *next;
    unsigned peer;
    double requests, tokens, spent_usd, aside_usd;
};

struct entry {
    struct bucket requests, tokens;
    double spent_usd;
    double aside_usd; /* for calls under way */
    double peers_aside_usd;
    struct peer_use *peers;
    /* By this process, for the others. */
    struct limits_use own;
    bool changed;
    size_t name_size;
    char name[];
};

struct limits {
    pthread_mutex_t lock;
    struct map entries;
    struct entry *last; /* that was asked for: mostly the next is the same */
    void (*wake)(void *ctx);
    void *ctx;
    bool changed;
};

struct limits *limits_new(void)
{
    struct limits *l = base_alloc(sizeof *l);

    memset(l, 0, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    map_init(&l->entries, NULL, NAMES_MAX);
    return l;
}

void limits_free(struct limits *l)
{
    if (!l)
        return;
    for (struct map_entry *i = map_next(&l->entries, NULL); i; i = map_next(&l->entries, i)) {
        struct entry *e = i->value.ptr;

        for (struct peer_use *u = e->peers, *next; u; u = next) {
            next = u->next;
            free(u);
        }
        free(e);
    }
    map_release(&l->entries);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static struct entry *limits_find(struct limits *l, str name)
{
    struct map_entry *found;

    if (l->last && str_eq((str){l->last->name, l->last->name_size}, name))
        return l->last;
    found = map_find(&l->entries, name);
    l->last = found ? found->value.ptr : l->last;
    return found ? found->value.ptr : NULL;
}

/* NULL if there are too many names, which only years of reloads can bring about. */
static struct entry *limits_get(struct limits *l, str name)
{
    struct entry *e = limits_find(l, name);
    struct err full;

    if (e)
        return e;
    e = base_alloc(sizeof *e + name.n + 1);
    memset(e, 0, sizeof *e);
    e->name_size = name.n;
    memcpy(e->name, name.p, name.n);
    e->name[name.n] = '\0';
    if (map_set(&l->entries, (str){e->name, name.n}, MAP_PTR(e), &full))
        return e;
    free(e);
    return NULL;
}

/* Refills the bucket. A limit that a reload changed applies from now on. Before the first use,
 * `left` is the amount that other daemons used. */
static void limits_refill(struct bucket *b, double per_minute, uint64_t now)
{
    if (!b->begun)
        *b = (struct bucket){per_minute + b->left, now, true};
    if (now < b->at_ns)
        now = b->at_ns; /* another loop's round began later */
    b->left += per_minute * (double)(now - b->at_ns) / MINUTE_NS;
    b->left = b->left > per_minute ? per_minute : b->left;
    b->at_ns = now;
    assert(b->left <= per_minute && b->begun);
}

static int64_t limits_wait_ms(const struct bucket *b, double per_minute, double want)
{
    double ms = (want - b->left) / per_minute * 60e3;
    int64_t whole = ms < TOKENS_MAX ? (int64_t)ms : (int64_t)TOKENS_MAX;

    return whole + ((double)whole < ms);
}

static bool limits_refuse_rate(const struct config_key *key, const char *what, int64_t wait,
                               struct err *e)
{
    return err_set(e,
                   ERR_LIMIT,
                   "the key \"" STR_FMT "\" has used up its %s: try again in %lld s",
                   STR_ARG(key->name),
                   what,
                   (long long)(wait + 999) / 1000);
}

/* The rest after running calls may be too small for this call: then it is the last one. */
static bool limits_check_spend(const struct entry *s, const struct config_key *key,
                               int64_t *retry_after_ms, struct err *e)
{
    if (key->spend_usd < 0 || s->spent_usd + s->aside_usd + s->peers_aside_usd < key->spend_usd)
        return true;
    if (s->spent_usd >= key->spend_usd) {
        *retry_after_ms = LIMITS_SPENT;
        return err_set(e,
                       ERR_LIMIT,
                       "the key \"" STR_FMT "\" has spent its limit of %.15g USD; an operator can "
                       "raise its spend_usd",
                       STR_ARG(key->name),
                       key->spend_usd);
    }
    *retry_after_ms = UNDER_WAY_MS;
    return err_set(e,
                   ERR_LIMIT,
                   "the calls under way of the key \"" STR_FMT
                   "\" may cost all that is left of the %.15g USD it may spend: try again in %d s",
                   STR_ARG(key->name),
                   key->spend_usd,
                   UNDER_WAY_MS / 1000);
}

/* Checks all limits before it uses any of them up. */
static bool gateway_limits_take(struct entry *s, const struct config_key *key, double tokens,
                                uint64_t now, int64_t *retry_after_ms, struct err *e)
{
    char what[64];

    assert(tokens >= 0);
    if (!limits_check_spend(s, key, retry_after_ms, e))
        return false;
    if (key->rpm >= 0) {
        limits_refill(&s->requests, (double)key->rpm, now);
        if (s->requests.left < 1) {
            snprintf(what, sizeof what, "%lld requests a minute", (long long)key->rpm);
            *retry_after_ms = limits_wait_ms(&s->requests, (double)key->rpm, 1);
            return limits_refuse_rate(key, what, *retry_after_ms, e);
        }
    }
    if (key->tpm >= 0) {
        limits_refill(&s->tokens, (double)key->tpm, now);
        if (tokens > (double)key->tpm)
            return err_set(e,
                           ERR_LIMIT,
                           "some %.0f tokens are more than the %lld tokens a minute of the key "
                           "\"" STR_FMT "\"",
                           tokens,
                           (long long)key->tpm,
                           STR_ARG(key->name));
        if (s->tokens.left < tokens || s->tokens.left <= 0) {
            snprintf(what, sizeof what, "%lld tokens a minute", (long long)key->tpm);
            *retry_after_ms = limits_wait_ms(&s->tokens, (double)key->tpm, tokens > 1 ? tokens : 1);
            return limits_refuse_rate(key, what, *retry_after_ms, e);
        }
    }
    s->requests.left -= key->rpm >= 0;
    s->tokens.left -= key->tpm >= 0 ? tokens : 0;
    return true;
}

/* Only amounts that are reserved or spent: other values cannot be added up. */
static double limits_amount(double usd)
{
    return usd > 0 && usd <= DBL_MAX ? usd : 0;
}

static double limits_count(int64_t tokens)
{
    return tokens < 0 ? 0 : (double)tokens > TOKENS_MAX ? TOKENS_MAX : (double)tokens;
}

/* Nothing is asked of its entry then, and nothing changes there. */
static bool limits_is_unlimited(const struct config_key *key)
{
    return key->spend_usd < 0 && key->rpm < 0 && key->tpm < 0;
}

/* For limits_report. */
static void limits_changed(struct limits *l, struct entry *s)
{
    if (!l->wake)
        return;
    s->changed = true;
    if (!l->changed)
        l->wake(l->ctx);
    l->changed = true;
}

bool limits_take(struct limits *l, const struct config_key *key, const struct limits_want *want,
                 int64_t *retry_after_ms, struct err *e)
{
    struct entry *s;
    bool ok;

    *retry_after_ms = LIMITS_NEVER;
    if (limits_is_unlimited(key))
        return true;
    pthread_mutex_lock(&l->lock);
    s = limits_get(l, key->name);
    ok =
        s ? gateway_limits_take(s, key, limits_count(want->tokens), want->now_ns, retry_after_ms, e)
          : err_set(e, ERR_LIMIT, "too many keys to keep count of");
    if (ok) {
        s->aside_usd += limits_amount(want->usd);
        s->own.requests++;
        s->own.tokens += limits_count(want->tokens);
        limits_changed(l, s);
    }
    pthread_mutex_unlock(&l->lock);
    return ok;
}

void limits_settle(struct limits *l, const struct config_key *key, const struct limits_want *taken,
                   int64_t tokens, double cost_usd)
{
    double aside = limits_is_unlimited(key) ? 0 : limits_amount(taken->usd),
           cost = limits_amount(cost_usd);
    struct entry *s;

    if (key->tpm < 0 && cost <= 0 && aside <= 0)
        return;
    pthread_mutex_lock(&l->lock);
    s = limits_get(l, key->name);
    if (s && key->tpm >= 0 && s->tokens.begun) {
        s->tokens.left += limits_count(taken->tokens) - limits_count(tokens);
        if (s->tokens.left > (double)key->tpm)
            s->tokens.left = (double)key->tpm;
    }
    if (s) {
        s->spent_usd += cost;
        s->aside_usd = s->aside_usd > aside ? s->aside_usd - aside : 0;
        s->own.spent_usd += cost;
        s->own.tokens += limits_count(tokens) - limits_count(taken->tokens);
        limits_changed(l, s);
    }
    pthread_mutex_unlock(&l->lock);
}

double limits_spent(struct limits *l, str key_name)
{
    struct entry *s;
    double spent;

    pthread_mutex_lock(&l->lock);
    s = limits_find(l, key_name);
    spent = s ? s->spent_usd : 0;
    pthread_mutex_unlock(&l->lock);
    return spent;
}

void limits_spent_add(struct limits *l, str key_name, double usd)
{
    struct entry *s;

    pthread_mutex_lock(&l->lock);
    s = limits_get(l, key_name);
    if (s)
        s->spent_usd += limits_amount(usd);
    pthread_mutex_unlock(&l->lock);
}

/* ---- several daemons ---- */

void limits_share(struct limits *l, void (*wake)(void *ctx), void *ctx)
{
    l->wake = wake;
    l->ctx = ctx;
}

void limits_report(struct limits *l, bool all, void (*fn)(void *ctx, const struct limits_use *u),
                   void *ctx)
{
    pthread_mutex_lock(&l->lock);
    for (struct map_entry *i = all || l->changed ? map_next(&l->entries, NULL) : NULL; i;
         i = map_next(&l->entries, i)) {
        struct entry *s = i->value.ptr;

        if (!all && !s->changed)
            continue;
        s->changed = s->changed && all; /* a report of all is not for everybody */
        s->own.key = (str){s->name, s->name_size};
        s->own.aside_usd = s->aside_usd;
        fn(ctx, &s->own);
    }
    l->changed = l->changed && all;
    pthread_mutex_unlock(&l->lock);
}

/* Whether a total of another daemon can be counted: not NaN, and differences of two are finite. */
static bool limits_is_total(double total)
{
    return total >= -TOKENS_MAX && total <= TOKENS_MAX;
}

static struct peer_use *limits_peer_of(struct entry *s, unsigned peer)
{
    struct peer_use *u = s->peers;

    while (u && u->peer != peer)
        u = u->next;
    if (u)
        return u;
    u = base_alloc(sizeof *u);
    *u = (struct peer_use){.next = s->peers, .peer = peer};
    s->peers = u;
    return u;
}

void limits_peer_used(struct limits *l, unsigned peer, bool base, const struct limits_use *u)
{
    struct entry *s;
    struct peer_use *was;

    if (!limits_is_total(u->requests) || !limits_is_total(u->tokens) ||
        !limits_is_total(u->spent_usd))
        return;
    pthread_mutex_lock(&l->lock);
    s = limits_get(l, u->key);
    if (s) {
        was = limits_peer_of(s, peer);
        if (!base) {
            s->requests.left -= u->requests - was->requests;
            s->tokens.left -= u->tokens - was->tokens;
            s->spent_usd += limits_amount(u->spent_usd - was->spent_usd);
        }
        s->peers_aside_usd += limits_amount(u->aside_usd) - was->aside_usd;
        *was = (struct peer_use){
            was->next, peer, u->requests, u->tokens, u->spent_usd, limits_amount(u->aside_usd)};
    }
    pthread_mutex_unlock(&l->lock);
}

void limits_peer_silent(struct limits *l, unsigned peer)
{
    pthread_mutex_lock(&l->lock);
    for (struct map_entry *i = map_next(&l->entries, NULL); i; i = map_next(&l->entries, i)) {
        struct entry *s = i->value.ptr;

        for (struct peer_use *u = s->peers; u; u = u->next)
            if (u->peer == peer) {
                s->peers_aside_usd -= u->aside_usd;
                u->aside_usd = 0;
            }
    }
    pthread_mutex_unlock(&l->lock);
}

void limits_peer_gone(struct limits *l, unsigned peer)
{
    pthread_mutex_lock(&l->lock);
    for (struct map_entry *i = map_next(&l->entries, NULL); i; i = map_next(&l->entries, i)) {
        struct entry *s = i->value.ptr;

        for (struct peer_use **at = &s->peers, *u; (u = *at);) {
            if (u->peer != peer) {
                at = &u->next;
                continue;
            }
            s->peers_aside_usd -= u->aside_usd;
            *at = u->next;
            free(u);
        }
        if (!s->peers)
            s->peers_aside_usd = 0; /* without what rounding left */
    }
    pthread_mutex_unlock(&l->lock);
}
