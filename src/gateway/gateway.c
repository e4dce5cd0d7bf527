/* gateway.c - setups and the keepers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/gateway.h"

#include "gateway/call.h"
#include "gateway/guesses.h"
#include "gateway/provider.h"

#define VAULT_MAX ((size_t)64 << 20)
#define PAST_MAX ((size_t)64 << 20)
#define QUEUE_MAX ((size_t)64 << 20) /* records that wait for the disk: many large ones at once */

static bool gateway_masker_new(const struct config *c, struct mask **out, struct err *e)
{
    struct mask_options o = {c->mask_groups, c->mask_patterns, c->mask_pattern_count};

    return !c->masking || mask_new(&o, out, e);
}

static bool gateway_head_new(const struct config_provider *p, bool stream, struct secret *out,
                             struct err *e)
{
    const struct wire *w = wire_get(p->dialect);
    struct buf head;
    bool ok;

    buf_init(&head, SECRET_SIZE_MAX);
    buf_add(&head, STR("content-type: application/json\r\naccept: "));
    buf_add(&head, str_c(stream ? w->stream_type : w->whole_type));
    /* A request without accept-encoding would allow any compression. */
    buf_add(&head, STR("\r\naccept-encoding: identity\r\n"));
    if (secret_reveal(&p->key).n) {
        buf_add(&head, str_c(p->row->auth_header));
        buf_add(&head, STR(": "));
        buf_add(&head, str_c(p->row->auth_prefix));
        buf_add(&head, secret_reveal(&p->key));
        buf_add(&head, STR("\r\n"));
    }
    ok = buf_ok(&head, "the headers for a provider", e) && secret_init(out, buf_str(&head), e);
    if (head.n)
        secret_wipe(head.p, head.n);
    buf_release(&head);
    return ok;
}

static bool gateway_heads_new(struct setup *s, struct err *e)
{
    const struct config *c = s->config;

    for (size_t i = 0; i < c->provider_count; i++) {
        if (!gateway_head_new(&c->providers[i], false, &s->heads[i][0], e) ||
            !gateway_head_new(&c->providers[i], true, &s->heads[i][1], e))
            return false;
        s->sound[i] = client_lines(secret_reveal(&s->heads[i][0])) &&
                      client_lines(secret_reveal(&s->heads[i][1]));
    }
    return true;
}

str setup_head(const struct setup *s, const struct config_provider *p, bool stream)
{
    assert((size_t)(p - s->config->providers) < s->config->provider_count);
    return secret_reveal(&s->heads[p - s->config->providers][stream]);
}

bool setup_head_sound(const struct setup *s, const struct config_provider *p)
{
    assert((size_t)(p - s->config->providers) < s->config->provider_count);
    return s->sound[p - s->config->providers];
}

bool setup_new(struct config *c, struct setup **out, struct err *e)
{
    struct setup *s = base_alloc(sizeof *s);

    s->config = c;
    s->mask = NULL;
    s->refs = 1;
    s->unlisted = NULL;
    s->unlisted_count = 0;
    pthread_mutex_init(&s->lock, NULL);
    s->cassettes = base_alloc((c->provider_count + 1) * sizeof(struct cassette *));
    s->capability = base_alloc((c->provider_count + 1) * sizeof(struct setup_capability *));
    s->heads = base_alloc((c->provider_count + 1) * sizeof s->heads[0]);
    memset(s->heads, 0, (c->provider_count + 1) * sizeof s->heads[0]);
    s->sound = base_alloc(c->provider_count + 1);
    for (size_t i = 0; i <= c->provider_count; i++) {
        size_t n = i < c->provider_count ? c->providers[i].model_count : 0;

        s->cassettes[i] = NULL;
        s->capability[i] = base_alloc((n + 1) * sizeof *s->capability[i]);
        memset(s->capability[i], 0, (n + 1) * sizeof *s->capability[i]);
    }
    if (!gateway_masker_new(c, &s->mask, e)) {
        setup_release(s);
        return false;
    }
    for (size_t i = 0; i < c->provider_count; i++)
        if (c->providers[i].replay) {
            if (!cassette_load(c->providers[i].cassette.p, &s->cassettes[i], e)) {
                setup_release(s);
                return err_prefix(
                    e, "providers." STR_FMT ".cassette: ", STR_ARG(c->providers[i].name));
            }
            c->providers[i].dialect = cassette_dialect(s->cassettes[i]);
        }
    if (!gateway_heads_new(s, e)) {
        setup_release(s);
        return false;
    }
    *out = s;
    return true;
}

/* A model that its provider does not list; never moved or freed while the setup lives. */
struct setup_unlisted {
    const struct config_provider *provider;
    struct setup_unlisted *next;
    struct setup_capability capability;
    size_t n;
    char name[];
};

struct setup_capability *setup_find_capability(struct setup *s, const struct config_provider *p,
                                               str upstream)
{
    for (size_t i = 0; i < p->model_count; i++)
        if (str_eq(p->models[i].upstream, upstream))
            return &s->capability[p - s->config->providers][i];
    for (struct setup_unlisted *u = s->unlisted; u; u = u->next)
        if (u->provider == p && str_eq((str){u->name, u->n}, upstream))
            return &u->capability;
    return NULL;
}

struct setup_capability *setup_add_capability(struct setup *s, const struct config_provider *p,
                                              str upstream)
{
    struct setup_capability *known;
    struct setup_unlisted *u;

    pthread_mutex_lock(&s->lock);
    known = setup_find_capability(s, p, upstream);
    if (!known && s->unlisted_count < SETUP_UNLISTED_MAX) {
        u = base_alloc(sizeof *u + upstream.n);
        memset(u, 0, sizeof *u);
        u->provider = p;
        u->next = s->unlisted;
        u->n = upstream.n;
        memcpy(u->name, upstream.p, upstream.n);
        s->unlisted = u;
        s->unlisted_count++;
        known = &u->capability;
    }
    assert(s->unlisted_count <= SETUP_UNLISTED_MAX);
    pthread_mutex_unlock(&s->lock);
    return known;
}

static void setup_free_unlisted(struct setup *s)
{
    for (struct setup_unlisted *u = s->unlisted, *next; u; u = next) {
        next = u->next;
        free(u);
    }
    pthread_mutex_destroy(&s->lock);
}

struct setup *setup_retain(struct setup *s)
{
    assert(s->refs > 0);
    s->refs++;
    return s;
}

void setup_release(struct setup *s)
{
    assert(s->refs > 0);
    if (--s->refs > 0)
        return;
    for (size_t i = 0; i < s->config->provider_count; i++)
        if (s->cassettes[i])
            cassette_free(s->cassettes[i]);
    for (size_t i = 0; i <= s->config->provider_count; i++) {
        free(s->capability[i]);
        secret_release(&s->heads[i][0]);
        secret_release(&s->heads[i][1]);
    }
    setup_free_unlisted(s);
    free(s->heads);
    free(s->sound);
    free(s->capability);
    free(s->cassettes);
    mask_free(s->mask);
    config_release(s->config);
    free(s);
}

/* All daemons of a store have the same seed: a turn may come to any of them. */
static void gateway_open_vault(struct gateway *g, const struct config *c)
{
    char path[FILE_PATH_MAX], journal[FILE_PATH_MAX];
    uint8_t secret[VAULT_SECRET_SIZE];
    uint64_t seed[2];
    struct err e;

    g->vault = vault_new(g->clock, VAULT_MAX);
    store_secret(g->store, STR("vault"), secret);
    memcpy(seed, secret, sizeof seed);
    vault_seed(g->vault, seed);
    store_secret(g->store, STR("vault file"), secret);
    if (g->records && store_places(c->store_url, c->spool, path, journal, &e))
        g->vault_file = vault_file_open(journal, secret, g->clock, g->vault);
}

/* With the newest configuration. */
static void gateway_count_interrupted(void *gateway, struct store_call *row)
{
    struct setup *setup = gateway_setup(gateway);

    call_count_interrupted(setup->config, row);
    setup_release(setup);
}

bool gateway_init(struct gateway *g, const struct gateway_options *o, struct err *e)
{
    const struct config *c = o->setup->config;
    struct store_options so = {.url = c->store_url,
                               .spool = c->spool,
                               .durability = c->durability,
                               .retention_age_ms = c->retention_age_ms,
                               .retention_min_ms = c->retention_min_ms,
                               .retention_bytes = c->retention_size,
                               .queue_size_max = QUEUE_MAX,
                               .journal_size_max = c->journal_max,
                               .clock = o->clock,
                               .count_interrupted = gateway_count_interrupted,
                               .ctx = g};

    *g = (struct gateway){.clock = o->clock, .setup = o->setup};
    g->vocab = tokens_vocab_find(STR("o200k_base"));
    g->records = !str_eq(c->store_url, STR("none"));
    pthread_mutex_init(&g->lock, NULL);
    if (!store_open(&so, &g->store, e)) {
        pthread_mutex_destroy(&g->lock);
        setup_release(g->setup);
        return false;
    }
    if (c->otlp_url.n) {
        g->otlp = otlp_new(c->otlp_url, c->otlp_headers, c->ca_file.n ? c->ca_file.p : NULL, e);
        if (!g->otlp) {
            store_close(g->store);
            pthread_mutex_destroy(&g->lock);
            setup_release(g->setup);
            return false;
        }
    }
    rand_ids_init(&g->ids, o->clock);
    gateway_open_vault(g, c);
    g->previous_responses = previous_response_new(o->clock, PAST_MAX);
    g->breaker = breaker_new(o->clock);
    g->limits = limits_new();
    g->guesses = guesses_new();
    g->recall = recall_start(g);
    g->metrics = metrics_new(o->loops);
    g->cassette_writer = cassette_writer_new();
    g->mask_work = mask_work_new();
    g->hub = hub_new(o->clock);
    return true;
}

void gateway_release(struct gateway *g)
{
    if (g->otlp)
        otlp_free(g->otlp);
    cassette_writer_free(g->cassette_writer);
    mask_work_free(g->mask_work);
    hub_free(g->hub);
    recall_stop(g->recall);
    store_close(g->store);
    metrics_free(g->metrics);
    limits_free(g->limits);
    guesses_free(g->guesses);
    breaker_free(g->breaker);
    vault_file_close(g->vault_file);
    vault_free(g->vault);
    previous_response_free(g->previous_responses);
    conversations_free(g->conversations);
    rand_ids_release(&g->ids);
    pthread_mutex_destroy(&g->lock);
    setup_release(g->setup);
}

struct setup *gateway_setup(struct gateway *g)
{
    struct setup *s;

    pthread_mutex_lock(&g->lock);
    s = setup_retain(g->setup);
    pthread_mutex_unlock(&g->lock);
    return s;
}

void gateway_setup_set(struct gateway *g, struct setup *s)
{
    struct setup *old;

    pthread_mutex_lock(&g->lock);
    old = g->setup;
    g->setup = s;
    pthread_mutex_unlock(&g->lock);
    setup_release(old);
}

int64_t gateway_wall_ms(struct gateway_loop *gl)
{
    uint64_t round_ns = loop_now_ns(gl->loop);

    if (gl->wall_at_ns != round_ns) {
        gl->wall_at_ns = round_ns;
        gl->wall_ms = clock_wall_ms(gl->gateway->clock);
    }
    return gl->wall_ms;
}
