/* status.c - health, readiness, metrics.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/provider_probe.h"

#define DAY_MS ((uint64_t)24 * 60 * 60 * 1000)

/* How many providers accept connections, without their names, because everybody may ask. */
static void health_write_providers(struct exchange *ex, struct buf *out)
{
    const struct config *c = ex->setup->config;
    size_t counts[PROVIDER_PROBE_UNREACHABLE + 1] = {0};
    struct provider_probe_result r;

    for (size_t i = 0; i < c->provider_count; i++) {
        provider_probe_look_up(ex->worker->daemon, c, &c->providers[i], &r);
        assert((size_t)r.state < COUNT_OF(counts));
        counts[r.state]++;
    }
    buf_printf(out,
               ",\"providers\":{\"reachable\":%zu,\"unreachable\":%zu,\"unknown\":%zu}",
               counts[PROVIDER_PROBE_REACHABLE],
               counts[PROVIDER_PROBE_UNREACHABLE],
               counts[PROVIDER_PROBE_UNKNOWN] + counts[PROVIDER_PROBE_OFF]);
}

/* Reports the health with status 200 in any case, so that a full disk does not cause a restart. */
void health_handle(struct exchange *ex)
{
    const struct config *c = ex->setup->config;
    struct gateway *g = &ex->worker->daemon->gateway;
    struct store_health h;
    struct buf body;

    store_health(g->store, &h);
    buf_init(&body, 4096);
    buf_printf(&body,
               "{\"status\":\"%s\",\"service\":\"rationale\",\"version\":\"" RATIONALE_VERSION
               "\",\"timestamp\":%lld,\"services\":{\"alert_processing\":\"healthy\","
               "\"history_service\":\"%s\",\"database\":{\"enabled\":%s,\"connected\":%s,"
               "\"retention_days\":",
               h.ok && h.tables_ok ? "healthy"
               : h.ok              ? "degraded"
                                   : "unhealthy",
               (long long)clock_wall_ms(g->clock) * 1000,
               !g->records           ? "disabled"
               : h.ok && h.tables_ok ? "healthy"
               : h.ok                ? "degraded"
                                     : "unhealthy",
               g->records ? "true" : "false",
               g->records && h.tables_ok ? "true" : "false");
    if (c->retention_age_ms)
        buf_add_u64(&body, c->retention_age_ms / DAY_MS);
    else
        buf_add(&body, STR("null"));
    buf_add(&body, STR("}"));
    health_write_providers(ex, &body);
    buf_add(&body, STR("}"));
    if (g->records)
        buf_printf(&body,
                   ",\"store_id\":\"" STR_FMT "\",\"stored_records\":%llu,\"pending_records\":%llu"
                   ",\"pending_bytes\":%llu,\"pending_seconds\":%llu,\"message\":",
                   STR_ARG(store_id(g->store)),
                   (unsigned long long)h.stored,
                   (unsigned long long)h.pending,
                   (unsigned long long)h.journal_bytes,
                   (unsigned long long)h.pending_s);
    if (g->records)
        (void)json_quote(&body, str_c(h.why));
    buf_add_c(&body, '}');
    exchange_reply(ex, 200, STR("application/json"), buf_str(&body));
    buf_release(&body);
}

void ready_handle(struct exchange *ex)
{
    bool draining = ex->worker->daemon->draining;
    struct store_health h;
    struct json_text t;

    store_health(ex->worker->daemon->gateway.store, &h);
    json_text_begin(&t, 4096);
    json_member_bool(&t.o, "ready", h.ok && !draining);
    if (draining || !h.ok)
        json_member_str(&t.o, "why", draining ? STR("draining") : str_c(h.why));
    exchange_reply_json(ex, h.ok && !draining ? 200 : 503, &t);
}

/* Gauges of keys with a spending limit. */
static void status_key_gauges(struct exchange *ex, struct metrics_gauges *g)
{
    const struct config *c = ex->setup->config;
    struct metrics_budget *keys = arena_zero(server_arena(ex->x), METRICS_SERIES_MAX, sizeof *keys);

    assert(g->key_count == 0);
    for (size_t i = 0; i < c->key_count && g->key_count < METRICS_SERIES_MAX; i++) {
        double may = c->keys[i].spend_usd;
        double spent = limits_spent(ex->worker->daemon->gateway.limits, c->keys[i].name);

        if (may < 0)
            continue;
        keys[g->key_count++] =
            (struct metrics_budget){c->keys[i].name, may > 0 ? 1 - spent / may : 0};
    }
    g->keys = keys;
}

static void status_read_gauges(struct daemon *d, const struct config *c, struct metrics_gauges *g)
{
    struct store_health h;
    struct hub_counts live;

    *g = (struct metrics_gauges){0};
    store_health(d->gateway.store, &h);
    g->history_window_ms = c->durability == STORE_FAST ? STORE_FAST_MS : 0;
    g->queue_depth = h.queue_bytes;
    g->history_pending = h.journal_bytes;
    g->history_free = h.free_bytes;
    g->history_errors = h.errors;
    g->history_dropped = h.dropped;
    g->queue_capacity = h.queue_capacity;
    g->history_bytes = h.history_bytes;
    g->history_records = h.pending;
    g->history_seconds = h.pending_s;
    g->history_commit_ns = h.commit_ns;
    memcpy(g->history_commits, h.commit_steps, sizeof g->history_commits);
    if (d->gateway.otlp)
        otlp_counts(d->gateway.otlp, &g->export_depth, &g->export_sent, &g->export_dropped);
    hub_counts(d->gateway.hub, &live);
    for (size_t i = 0; i < METRICS_WAYS; i++)
        g->live[i] = (struct metrics_live){live.viewers[i], live.lag_bytes[i], live.dropped[i]};
    for (unsigned i = 0; i < d->worker_count; i++)
        g->connections += server_count(d->workers[i].server);
}

void metrics_handle(struct exchange *ex)
{
    str accept = http1_find(server_request(ex->x), STR("accept"));
    bool open = str_find(accept, STR("application/openmetrics-text")) != STR_NONE;
    struct metrics_gauges g;
    struct buf body;

    status_read_gauges(ex->worker->daemon, ex->setup->config, &g);
    status_key_gauges(ex, &g);
    buf_init(&body, (size_t)16 << 20);
    metrics_render(ex->worker->daemon->gateway.metrics, &g, open, &body);
    exchange_reply(ex,
                   200,
                   open ? STR("application/openmetrics-text; version=1.0.0; charset=utf-8")
                        : STR("text/plain; version=0.0.4; charset=utf-8"),
                   buf_str(&body));
    buf_release(&body);
}
