/* live_stream.c - live updates as server-sent events: the same messages, with numbers to resume
 * from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/ask.h"
#include "serve/live.h"
#include "serve/params.h"

#define RETRY_MS 2000
#define EVENT_MAX ((size_t)16 << 20)

struct asked {
    struct ask_value channels[HUB_SUBS_MAX];
    size_t count;
    uint64_t after; /* the last message that the client got; 0: none */
};

/* ---- messages to the viewer ---- */

static void live_write_event(struct live *l, uint64_t seq, str json)
{
    struct buf out;

    assert(l->ex && !l->ws);
    buf_init(&out, EVENT_MAX);
    if (seq)
        buf_printf(&out, "id: %llu\n", (unsigned long long)seq);
    buf_add(&out, STR("event: message\ndata: "));
    buf_add(&out, json);
    buf_add(&out, STR("\n\n"));
    server_write(l->ex->x, buf_str(&out));
    l->sent_ns = loop_now_ns(l->worker->gl.loop);
    buf_release(&out);
}

static void live_on_send(void *ctx, const struct hub_message *m)
{
    struct live *l = ctx;

    live_write_event(l, hub_viewer_mark(l->viewer, m), hub_message_json(m));
}

static bool live_on_full(void *ctx)
{
    return server_full(((struct live *)ctx)->ex->x);
}

static size_t live_on_queued(void *ctx)
{
    return server_queued(((struct live *)ctx)->ex->x);
}

void live_stream_leave(struct live *l)
{
    struct exchange *ex = l->ex;
    struct server_exchange *x = ex->x;

    assert(ex->job == l);
    live_free(l);
    exchange_done(ex);
    server_leave(x);
}

static bool serve_live_stream_on_tick(void *ctx)
{
    struct live *l = ctx;
    uint64_t quiet_ms = (loop_now_ns(l->worker->gl.loop) - l->sent_ns) / CLOCK_NS_PER_MS;
    uint64_t every_ms = l->ex->setup->config->keepalive_ms;

    assert(l->ex);
    if (!live_may_stay(l)) {
        live_stream_leave(l);
        return false;
    }
    if (every_ms && quiet_ms >= every_ms && !live_on_full(l)) {
        server_write(l->ex->x, STR(": keep-alive\n\n"));
        l->sent_ns = loop_now_ns(l->worker->gl.loop);
    }
    return true;
}

static void live_on_flush(void *ctx)
{
    server_flush(((struct live *)ctx)->ex->x);
}

static const struct hub_viewer_ops ops = {HUB_BY_STREAM,
                                          live_on_send,
                                          live_on_full,
                                          live_on_queued,
                                          live_on_flush,
                                          serve_live_stream_on_tick};

static void serve_live_stream_on_gone(struct exchange *ex)
{
    assert(ex->job);
    live_free(ex->job);
}

/* ---- the request ---- */

static bool live_read_last(struct exchange *ex, str id, struct asked *out)
{
    if (!id.n || str_u64(id, &out->after))
        return true;
    live_refuse(ex,
                400,
                "invalid_event_id",
                "last_event_id: must be the id of an event as it was received, a whole number");
    return false;
}

static bool live_read_query(struct exchange *ex, struct asked *out)
{
    str query = server_request(ex->x)->query, name, value;
    struct ask_value v;

    while (ask_query_next(&query, &name, &value)) {
        if (!ask_unescape(value, &v)) {
            live_refuse(ex, 400, "invalid_query", "the query is not escaped as it should be");
            return false;
        }
        if (str_eq(name, STR("last_event_id")) && !live_read_last(ex, (str){v.text, v.size}, out))
            return false;
        if (!str_eq(name, STR("channel")))
            continue;
        if (!hub_channel_known((str){v.text, v.size})) {
            live_refuse(ex,
                        400,
                        "unknown_channel",
                        "there is no such channel: dashboard_updates, system_health, session_ID or "
                        "alert_ID");
            return false;
        }
        if (out->count == HUB_SUBS_MAX) {
            live_refuse(ex, 400, "too_many_subscriptions", "so many channels are too many");
            return false;
        }
        out->channels[out->count++] = v;
    }
    return params_are(ex, "channel* last_event_id") &&
           live_read_last(ex, http1_find(server_request(ex->x), STR("last-event-id")), out);
}

static void live_default_channel(struct asked *out)
{
    static const str all = STR_INIT("dashboard_updates");

    assert(out->count <= HUB_SUBS_MAX);
    if (out->count == 0) {
        memcpy(out->channels[0].text, all.p, all.n);
        out->channels[out->count++].size = all.n;
    }
}

static void serve_live_stream_send_health(struct live *l)
{
    struct buf words, out;

    buf_init(&words, 8192);
    buf_init(&out, 16384);
    buf_add(&words, STR("\"channel\":\"system_health\","));
    live_health_words(l->worker->daemon, &words);
    live_words(l, "system_health", buf_str(&words), &out);
    live_write_event(l, 0, buf_str(&out));
    buf_release(&words);
    buf_release(&out);
}

static void serve_live_stream_begin(struct live *l, const struct asked *asked)
{
    struct exchange *ex = l->ex;
    struct buf out;
    struct err e;

    assert(l->ex && l->viewer && asked->count > 0);
    ex->status = 200;
    exchange_header(ex, STR("content-type"), STR("text/event-stream"));
    api_protect(ex);
    exchange_header(ex, STR("x-accel-buffering"), STR("no"));
    server_head(ex->x, 200, ex->headers, ex->header_count);
    buf_init(&out, 1024);
    buf_printf(&out, "retry: %d\n\n", RETRY_MS);
    server_write(ex->x, buf_str(&out));
    buf_reset(&out);
    live_words(l, "connection_established", STR("\"user_id\":\"\""), &out);
    live_write_event(l, 0, buf_str(&out));
    buf_release(&out);
    for (size_t i = 0; i < asked->count; i++) {
        str channel = {asked->channels[i].text, asked->channels[i].size};

        if (hub_subscribe(l->viewer, channel, asked->after, &e) &&
            str_eq(channel, STR("system_health")))
            serve_live_stream_send_health(l);
    }
}

void live_stream_handle(struct exchange *ex)
{
    struct asked *asked = arena_zero(server_arena(ex->x), 1, sizeof *asked);
    struct hub_scope scope;
    struct live *l;

    if (!live_read_query(ex, asked) || !(l = live_new(ex, false)))
        return;
    live_default_channel(asked);
    if (str_eq(server_request(ex->x)->method, STR("HEAD"))) {
        free(l);
        exchange_reply(ex, 200, STR("text/event-stream"), STR(""));
        return;
    }
    l->ex = ex;
    scope = live_scope(l, ex->key);
    l->viewer = hub_viewer_new(ex->worker->gl.port, &scope, &ops, l);
    if (!l->viewer) {
        free(l);
        live_refuse(ex, 503, "too_many_viewers", "too many are watching already");
        return;
    }
    ex->job = l;
    ex->on_gone = serve_live_stream_on_gone;
    serve_live_stream_begin(l, asked);
}
