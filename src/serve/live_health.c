/* live_health.c - the health of the gateway: sent when it changes, and at intervals.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/live.h"

#define LOOK_MS 1000
#define TELL_MS 30000
#define TELL_ILL_MS 5000 /* the interval while it is not healthy */
#define WORDS_MAX 8192

static const char *serve_live_health_word(const struct store_health *h)
{
    return !h->ok ? "unhealthy" : !h->tables_ok ? "degraded" : "healthy";
}

void live_health_words(struct daemon *d, struct buf *out)
{
    struct store_health h;
    struct hub_counts live;

    store_health(d->gateway.store, &h);
    hub_counts(d->gateway.hub, &live);
    buf_printf(out,
               "\"status\":\"%s\",\"services\":{\"gateway\":{\"status\":\"%s\","
               "\"running_calls\":%llu,\"viewers\":%llu},\"store\":{\"status\":\"%s\",\"message\":",
               serve_live_health_word(&h),
               d->draining ? "draining" : "healthy",
               (unsigned long long)live.running,
               (unsigned long long)live.viewers[0] + live.viewers[1],
               serve_live_health_word(&h));
    (void)json_quote(out, str_c(h.ok && h.tables_ok ? "" : h.why));
    buf_printf(out,
               ",\"queue_bytes\":%llu,\"journal_bytes\":%llu,\"pending_records\":%llu,"
               "\"pending_seconds\":%llu,\"free_bytes\":%llu}}",
               (unsigned long long)h.queue_bytes,
               (unsigned long long)h.journal_bytes,
               (unsigned long long)h.pending,
               (unsigned long long)h.pending_s,
               (unsigned long long)h.free_bytes);
}

static void serve_live_health_look(void *ctx)
{
    struct worker *w = ctx;
    struct daemon *d = w->daemon;
    uint64_t now = loop_now_ns(w->gl.loop);
    struct store_health h;
    struct buf out;
    uint64_t every_ms;

    assert(w == d->workers);
    loop_timer_set(w->gl.loop, &w->health, LOOK_MS);
    if (!hub_health_watched(d->gateway.hub))
        return;
    store_health(d->gateway.store, &h);
    every_ms = h.ok && h.tables_ok ? TELL_MS : TELL_ILL_MS;
    if (serve_live_health_word(&h) == w->health_word &&
        now - w->health_ns < every_ms * CLOCK_NS_PER_MS)
        return;
    w->health_word = serve_live_health_word(&h);
    w->health_ns = now;
    buf_init(&out, WORDS_MAX);
    live_health_words(d, &out);
    hub_health(d->gateway.hub, buf_str(&out));
    buf_release(&out);
}

void live_health_begin(struct worker *w)
{
    loop_timer_init(&w->health, serve_live_health_look, w);
    loop_timer_set(w->gl.loop, &w->health, LOOK_MS);
}
