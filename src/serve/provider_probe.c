/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/provider_probe.h"

#include "base/map.h"
#include "net/reach.h"

#define PROBE_FIRST_MS 200
#define PROBE_OFF_MS 5000 /* how often a disabled probe checks the configuration */
#define PROBE_TIMEOUT_MS_MAX 10000u
#define PROBE_PROVIDERS_MAX 1000
#define PROBE_AT_ONCE 4
#define PROBE_NAME_THREADS 8 /* an unanswered name may outlast its probe */

struct provider_probe {
    struct worker *w;
    struct resolver *resolver; /* its own, so that it never delays calls */
    struct client *client;
    struct loop_timer timer;
    struct setup *setup; /* the setup of the running probes */
    struct provider_look *looks;
    size_t running, next; /* the number of running probes; the index of the next provider */
    pthread_mutex_t lock; /* of results */
    struct map results;   /* by name and address: struct provider_probe_result */
    struct arena names;
};

struct provider_look {
    struct provider_probe *probe;
    struct provider_look *next;
    const struct config_provider *provider;
    struct reach *reach;
    uint64_t start_ns;
};

const char *provider_probe_word(enum provider_probe_state state)
{
    return NAME_OF(state, "unknown", "off", "reachable", "unreachable");
}

/* A provider with another address counts as another provider. */
static void provider_probe_name(const struct config_provider *p, struct buf *out)
{
    buf_init(out, 8192);
    buf_printf(out, STR_FMT "\n" STR_FMT, STR_ARG(p->name), STR_ARG(p->base_url));
}

static void provider_probe_keep(struct provider_probe *probe, const struct config_provider *p,
                                const struct provider_probe_result *r)
{
    struct provider_probe_result *to, before = {.state = PROVIDER_PROBE_UNKNOWN};
    struct map_entry *found;
    struct buf name;
    struct err e;

    provider_probe_name(p, &name);
    pthread_mutex_lock(&probe->lock);
    found = map_find(&probe->results, buf_str(&name));
    if (found) {
        to = found->value.ptr;
        before = *to;
        *to = *r;
    } else if (probe->results.count < PROBE_PROVIDERS_MAX) {
        to = arena_alloc(&probe->names, sizeof *to);
        *to = *r;
        if (!map_set(&probe->results, arena_dup(&probe->names, buf_str(&name)), MAP_PTR(to), &e))
            log_warn("a provider's state cannot be kept", LOG_ERR(&e));
    }
    pthread_mutex_unlock(&probe->lock);
    buf_release(&name);
    if (r->state == PROVIDER_PROBE_UNREACHABLE && before.state != PROVIDER_PROBE_UNREACHABLE)
        log_warn(
            "provider cannot be reached", LOG_STR("provider", p->name), LOG_TEXT("why", r->why));
    else if (r->state == PROVIDER_PROBE_REACHABLE && before.state == PROVIDER_PROBE_UNREACHABLE)
        log_info("provider can be reached again", LOG_STR("provider", p->name));
}

static bool provider_probe_wanted(const struct config *c, const struct config_provider *p)
{
    return c->probe_ms > 0 && !p->replay && p->url.host.n > 0;
}

static void provider_probe_more(struct provider_probe *probe);

static void provider_probe_on_done(void *ctx, const struct err *e)
{
    struct provider_look *look = ctx;
    struct provider_probe *probe = look->probe;
    struct loop *l = probe->w->gl.loop;
    struct provider_probe_result r = {
        .state = e ? PROVIDER_PROBE_UNREACHABLE : PROVIDER_PROBE_REACHABLE,
        .checked_ms = clock_wall_ms(probe->w->daemon->gateway.clock),
        .took_ms = (loop_now_ns(l) - look->start_ns) / CLOCK_NS_PER_MS};

    if (e)
        snprintf(r.why, sizeof r.why, "%s", e->text);
    provider_probe_keep(probe, look->provider, &r);
    for (struct provider_look **at = &probe->looks; *at; at = &(*at)->next)
        if (*at == look) {
            *at = look->next;
            break;
        }
    free(look);
    assert(probe->running > 0);
    probe->running--;
    provider_probe_more(probe);
}

static void provider_probe_start(struct provider_probe *probe, const struct config_provider *p)
{
    struct provider_look *look = base_alloc(sizeof *look);

    assert(probe->running < PROBE_AT_ONCE);
    *look = (struct provider_look){.probe = probe,
                                   .next = probe->looks,
                                   .provider = p,
                                   .start_ns = loop_now_ns(probe->w->gl.loop)};
    probe->looks = look;
    probe->running++;
    look->reach =
        reach_start(probe->client,
                    &p->url,
                    p->connect_ms && p->connect_ms < PROBE_TIMEOUT_MS_MAX ? p->connect_ms
                                                                          : PROBE_TIMEOUT_MS_MAX,
                    provider_probe_on_done,
                    look);
}

/* Starts as many probes as may run at once; after the last one, the setup is released. */
static void provider_probe_more(struct provider_probe *probe)
{
    const struct config *c = probe->setup->config;

    assert(probe->setup);
    while (probe->running < PROBE_AT_ONCE && probe->next < c->provider_count &&
           probe->next < PROBE_PROVIDERS_MAX) {
        const struct config_provider *p = &c->providers[probe->next++];

        if (provider_probe_wanted(c, p))
            provider_probe_start(probe, p);
    }
    assert(!probe->looks == !probe->running);
    if (!probe->looks) {
        setup_release(probe->setup);
        probe->setup = NULL;
    }
}

/* Starts a round of probes; the next one begins when the interval is over and all have answered. */
static void provider_probe_on_time(void *ctx)
{
    struct provider_probe *probe = ctx;

    if (probe->looks || probe->w->daemon->draining) {
        loop_timer_set(probe->w->gl.loop, &probe->timer, PROBE_FIRST_MS);
        return;
    }
    assert(!probe->setup && !probe->running);
    probe->setup = gateway_setup(&probe->w->daemon->gateway);
    loop_timer_set(probe->w->gl.loop,
                   &probe->timer,
                   probe->setup->config->probe_ms > 0 ? probe->setup->config->probe_ms
                                                      : PROBE_OFF_MS);
    probe->next = 0;
    provider_probe_more(probe);
}

bool provider_probe_begin(struct worker *w, struct err *e)
{
    struct provider_probe *probe = base_alloc(sizeof *probe);

    assert(!w->daemon->probe);
    *probe = (struct provider_probe){.w = w};
    pthread_mutex_init(&probe->lock, NULL);
    map_init(&probe->results, NULL, PROBE_PROVIDERS_MAX);
    arena_init(&probe->names, (size_t)16 << 20);
    loop_timer_init(&probe->timer, provider_probe_on_time, probe);
    loop_timer_set(w->gl.loop, &probe->timer, PROBE_FIRST_MS);
    w->daemon->probe = probe;
    probe->resolver = resolver_new(PROBE_NAME_THREADS, e);
    if (!probe->resolver)
        return false;
    probe->client = client_new(w->gl.loop, probe->resolver, w->daemon->tls_client);
    return true;
}

void provider_probe_end(struct worker *w)
{
    struct provider_probe *probe = w->daemon->probe;

    if (!probe)
        return;
    w->daemon->probe = NULL;
    loop_timer_clear(w->gl.loop, &probe->timer);
    while (probe->looks) {
        struct provider_look *look = probe->looks;

        probe->looks = look->next;
        reach_cancel(look->reach);
        free(look);
    }
    if (probe->setup)
        setup_release(probe->setup);
    if (probe->client)
        client_free(probe->client);
    resolver_free(probe->resolver);
    map_release(&probe->results);
    arena_release(&probe->names);
    pthread_mutex_destroy(&probe->lock);
    free(probe);
}

void provider_probe_look_up(struct daemon *d, const struct config *c,
                            const struct config_provider *p, struct provider_probe_result *out)
{
    struct map_entry *found;
    struct buf name;

    *out = (struct provider_probe_result){
        .state = provider_probe_wanted(c, p) ? PROVIDER_PROBE_UNKNOWN : PROVIDER_PROBE_OFF,
        .checked_ms = -1};
    if (!d->probe || out->state == PROVIDER_PROBE_OFF)
        return;
    provider_probe_name(p, &name);
    pthread_mutex_lock(&d->probe->lock);
    found = map_find(&d->probe->results, buf_str(&name));
    if (found)
        *out = *(const struct provider_probe_result *)found->value.ptr;
    pthread_mutex_unlock(&d->probe->lock);
    buf_release(&name);
}
