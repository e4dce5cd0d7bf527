/* live.c - live updates: who may watch, and the WebSocket that carries them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/live.h"

#include "base/sha256.h"
#include "live/ask.h"
#include "net/ws.h"
#include "serve/exchange_key.h"

#define CLOSE_GOING 1001
#define CLOSE_POLICY 1008
#define WORDS_MAX 8192
#define PROTOCOL "rationale.v1"
#define BEARER "bearer."

/* ---- the viewer ---- */

void live_refuse(struct exchange *ex, int status, const char *code, const char *message)
{
    assert(status >= 400 && status < 600);
    ex->api = true; /* in the words of the API, whatever the address */
    exchange_fail(ex, status, code, "%s", message);
}

/* A browser cannot give a WebSocket a header, but it can name protocols. */
static str live_find_bearer(const struct http1_head *h)
{
    str list = http1_find(h, STR("sec-websocket-protocol")), item;

    while (http1_list_next(&list, &item))
        if (str_starts(item, STR(BEARER)))
            return str_slice(item, sizeof BEARER - 1, item.n);
    return STR("");
}

/* The subprotocol to answer with: ours, else the one that contains the key; a browser closes a
 * WebSocket without an answer. */
static str live_choose_protocol(const struct http1_head *h)
{
    str list = http1_find(h, STR("sec-websocket-protocol")), item, chosen = STR("");

    while (http1_list_next(&list, &item)) {
        if (str_eq(item, STR(PROTOCOL)))
            return item;
        if (str_starts(item, STR(BEARER)) && http1_is_token(item))
            chosen = item;
    }
    return chosen;
}

static const struct config_key *serve_live_key_of(struct exchange *ex, bool socket)
{
    const struct http1_head *h = server_request(ex->x);
    str shown = socket ? live_find_bearer(h) : STR("");
    uint8_t digest[32];

    if (ex->key || !shown.n)
        return ex->key;
    sha256_of(shown, digest);
    return config_key_find(ex->setup->config, digest);
}

static bool live_shows_key(struct exchange *ex, bool socket)
{
    return exchange_shown_key(ex).n || (socket && live_find_bearer(server_request(ex->x)).n);
}

struct hub_scope live_scope(struct live *l, const struct config_key *key)
{
    return (struct hub_scope){.all = !l->keyed || l->role == CONFIG_OPERATOR,
                              .key = key ? key->name : STR(""),
                              .hide = l->hide};
}

bool live_may_stay(const struct live *l)
{
    const struct config_key *key;
    struct setup *s;
    bool ok;

    s = gateway_setup(&l->worker->daemon->gateway);
    key = l->keyed ? config_key_find(s->config, l->digest) : NULL;
    ok = l->keyed ? key && key->role == l->role &&
                        l->hide == !config_shows_reasoning(s->config, key, l->asked)
                  : s->config->key_count == 0;
    setup_release(s);
    return ok;
}

struct live *live_new(struct exchange *ex, bool socket)
{
    const struct config_key *key = serve_live_key_of(ex, socket);
    struct live *l;

    if (ex->worker->daemon->draining) {
        live_refuse(ex, 503, "draining", "the gateway is going down");
        return NULL;
    }
    if (socket && exchange_from_elsewhere(server_request(ex->x), false)) {
        live_refuse(ex, 403, "foreign_origin", "a page of another site may not watch");
        return NULL;
    }
    if (!key && ex->setup->config->key_count && live_shows_key(ex, socket)) {
        ex->api = true;
        exchange_refuse_key(ex, "invalid_api_key", "the key is not known here");
        return NULL;
    }
    if (!key && ex->setup->config->key_count) {
        live_refuse(ex,
                    401,
                    "invalid_api_key",
                    "a key is needed: Authorization: Bearer, x-api-key, the cookie of a login, or "
                    "the WebSocket protocol bearer.KEY");
        return NULL;
    }
    l = base_alloc(sizeof *l);
    *l = (struct live){.worker = ex->worker, .keyed = key != NULL};
    if (key) {
        memcpy(l->digest, key->sha256, sizeof l->digest);
        l->asked = exchange_reasoning_asked(server_request(ex->x));
        l->hide = !config_shows_reasoning(ex->setup->config, key, l->asked);
        l->role = key->role;
    }
    l->sent_ns = loop_now_ns(ex->worker->gl.loop);
    return l;
}

void live_free(struct live *l)
{
    hub_viewer_free(l->viewer);
    free(l);
}

/* ---- messages for one viewer ---- */

void live_words(const struct live *l, const char *type, str members, struct buf *out)
{
    const struct clock *clock = l->worker->daemon->gateway.clock;

    buf_printf(out, "{\"type\":\"%s\"", type);
    if (members.n)
        buf_add_c(out, ',');
    buf_add(out, members);
    buf_printf(out, ",\"timestamp_us\":%lld}", (long long)clock_wall_ms(clock) * 1000);
}

static void serve_live_send(struct live *l, const char *type, str members)
{
    struct buf out;

    buf_init(&out, 2 * WORDS_MAX);
    live_words(l, type, members, &out);
    assert(l->ws && !l->ex); /* live_stream.c writes to the stream of events */
    server_ws_send(l->ws, true, buf_str(&out));
    buf_release(&out);
}

static void serve_live_send_error(struct live *l, const char *code, const char *message)
{
    struct buf out;

    buf_init(&out, WORDS_MAX);
    buf_add(&out, STR("\"message\":"));
    (void)json_quote(&out, str_c(message));
    buf_printf(&out, ",\"code\":\"%s\"", code);
    serve_live_send(l, "error", buf_str(&out));
    buf_release(&out);
}

static void serve_live_send_answer(struct live *l, const struct ask *ask, const char *code,
                                   const char *message)
{
    struct buf out;

    buf_init(&out, WORDS_MAX);
    buf_printf(&out,
               "\"action\":\"%s\",\"channel\":",
               ask->kind == ASK_SUBSCRIBE ? "subscribe" : "unsubscribe");
    (void)json_quote(&out, ask_channel(ask));
    buf_printf(&out, ",\"success\":%s,\"message\":", code ? "false" : "true");
    (void)json_quote(&out, str_c(message));
    if (code)
        buf_printf(&out, ",\"code\":\"%s\"", code);
    serve_live_send(l, "subscription_response", buf_str(&out));
    buf_release(&out);
    if (code)
        serve_live_send_error(l, code, message);
}

/* ---- requests of the viewer ---- */

static void serve_live_send_health(struct live *l)
{
    struct buf out;

    buf_init(&out, WORDS_MAX);
    buf_add(&out, STR("\"channel\":\"system_health\","));
    live_health_words(l->worker->daemon, &out);
    serve_live_send(l, "system_health", buf_str(&out));
    buf_release(&out);
}

static void serve_live_subscribe(struct live *l, const struct ask *ask)
{
    struct err e;

    if (!hub_channel_known(ask_channel(ask))) {
        serve_live_send_answer(
            l,
            ask,
            "unknown_channel",
            "there is no such channel: dashboard_updates, system_health, session_ID or "
            "alert_ID");
        return;
    }
    /* The answer is sent before the missed messages. */
    if (!hub_may_subscribe(l->viewer, ask_channel(ask), &e)) {
        serve_live_send_answer(l, ask, "too_many_subscriptions", e.text);
        return;
    }
    serve_live_send_answer(l, ask, NULL, "subscribed");
    if (!hub_subscribe(l->viewer, ask_channel(ask), 0, &e))
        serve_live_send_error(l, "too_many_subscriptions", e.text);
    else if (str_eq(ask_channel(ask), STR("system_health")))
        serve_live_send_health(l);
}

static void serve_live_on_message(void *ctx, struct server_ws *w, bool text, str data)
{
    struct live *l = ctx;
    const char *code;
    struct ask ask;
    struct err e;

    (void)w;
    if (server_ws_full(l->ws))
        return; /* a viewer that sends requests and does not read the replies */
    if (!text) {
        serve_live_send_error(l, "invalid_message", "messages are JSON text");
        return;
    }
    if (!ask_parse(data, &ask, &code, &e)) {
        serve_live_send_error(l, code, e.text);
        return;
    }
    if (ask.kind == ASK_PING)
        serve_live_send(l, "pong", STR(""));
    else if (ask.kind == ASK_SUBSCRIBE)
        serve_live_subscribe(l, &ask);
    else if (hub_unsubscribe(l->viewer, ask_channel(&ask)))
        serve_live_send_answer(l, &ask, NULL, "unsubscribed");
    else
        serve_live_send_answer(l, &ask, "not_subscribed", "there is no such subscription");
}

static void serve_live_on_close(void *ctx, struct server_ws *w, int code)
{
    (void)w;
    (void)code;
    live_free(ctx);
}

static const struct server_ws_handler socket_handler = {.message_max = ASK_MESSAGE_MAX,
                                                        .on_message = serve_live_on_message,
                                                        .on_close = serve_live_on_close};

/* ---- messages to the viewer ---- */

static void ws_send(void *ctx, const struct hub_message *m)
{
    struct live *l = ctx;

    assert(l->ws);
    server_ws_send_frames(l->ws, hub_message_frame(m));
}

static bool ws_full(void *ctx)
{
    return server_ws_full(((struct live *)ctx)->ws);
}

static size_t ws_queued(void *ctx)
{
    return server_ws_queued(((struct live *)ctx)->ws);
}

static void ws_flush(void *ctx)
{
    server_ws_flush(((struct live *)ctx)->ws);
}

static bool ws_tick(void *ctx)
{
    struct live *l = ctx;

    assert(l->ws);
    if (live_may_stay(l))
        return true;
    server_ws_close(l->ws, CLOSE_POLICY, STR("the key has changed"));
    live_free(l);
    return false;
}

static const struct hub_viewer_ops socket_ops = {
    HUB_BY_SOCKET, ws_send, ws_full, ws_queued, ws_flush, ws_tick};

static void serve_live_leave(void *ctx)
{
    struct live *l = ctx;

    if (l->ex) {
        live_stream_leave(l);
        return;
    }
    assert(l->ws);
    server_ws_close(l->ws, CLOSE_GOING, STR("the gateway is going down"));
    live_free(l);
}

void live_drain(struct worker *w)
{
    hub_viewers_each(w->gl.port, serve_live_leave);
}

/* ---- start ---- */

static bool live_user_ok(struct exchange *ex, struct live *l)
{
    struct ask_value user;

    if (!ask_unescape(ex->rest, &user) || user.size > LIVE_USER_MAX ||
        memchr(user.text, '/', user.size))
        return false;
    assert(user.size <= sizeof l->user);
    memcpy(l->user, user.text, user.size);
    l->user_size = user.size;
    return true;
}

static bool live_check_handshake(struct exchange *ex)
{
    struct http1_fault fault;
    char accept[WS_KEY_SIZE];

    if (ws_handshake(server_request(ex->x), accept, &fault))
        return true;
    if (fault.status == 426) {
        exchange_header(ex, STR("upgrade"), STR("websocket"));
        exchange_header(ex, STR("sec-websocket-version"), STR("13"));
    }
    live_refuse(ex, fault.status, "invalid_handshake", fault.why);
    return false;
}

static void live_send_greeting(struct live *l)
{
    struct buf out;

    assert(l->ws);
    buf_init(&out, WORDS_MAX);
    buf_add(&out, STR("\"user_id\":"));
    (void)json_quote(&out, (str){l->user, l->user_size});
    serve_live_send(l, "connection_established", buf_str(&out));
    buf_release(&out);
}

/* Switches to a WebSocket. False: a reply was sent, and `l` is freed. */
static bool live_upgrade_exchange(struct exchange *ex, struct live *l)
{
    struct hub_scope scope = live_scope(l, serve_live_key_of(ex, true));
    struct server_exchange *x = ex->x;
    struct server_header headers[2];
    size_t n = 0;

    l->viewer = hub_viewer_new(ex->worker->gl.port, &scope, &socket_ops, l);
    if (!l->viewer) {
        free(l);
        live_refuse(ex, 503, "too_many_viewers", "too many are watching already");
        return false;
    }
    assert(!l->ws && !l->ex);
    headers[n++] = (struct server_header){STR("x-rationale-id"), ex->id};
    if (live_choose_protocol(server_request(x)).n)
        headers[n++] = (struct server_header){STR("sec-websocket-protocol"),
                                              live_choose_protocol(server_request(x))};
    assert(n <= COUNT_OF(headers));
    ex->status = 101;
    exchange_done(ex);
    l->ws = server_upgrade(x, headers, n, &socket_handler, l);
    assert(l->ws);
    return true;
}

void live_socket_handle(struct exchange *ex)
{
    struct live *l;

    if (!live_check_handshake(ex) || !(l = live_new(ex, true)))
        return;
    if (!live_user_ok(ex, l)) {
        free(l);
        live_refuse(ex, 404, "unknown_url", "the address is /ws/dashboard/USER");
        return;
    }
    if (live_upgrade_exchange(ex, l))
        live_send_greeting(l);
}

/* ---- one alert ---- */

static bool alert_known(struct exchange *ex, struct live *l)
{
    struct hub_scope scope = live_scope(l, serve_live_key_of(ex, true));

    return live_user_ok(ex, l) &&
           hub_alert_known(ex->worker->daemon->gateway.hub, (str){l->user, l->user_size}, &scope);
}

/* Sends the state at once, and then each change. */
void live_alert_handle(struct exchange *ex)
{
    char channel[LIVE_USER_MAX + 16];
    struct live *l;
    struct err e;
    int n;

    if (!live_check_handshake(ex) || !(l = live_new(ex, true)))
        return;
    if (!alert_known(ex, l)) {
        free(l);
        live_refuse(ex, 404, "alert_not_found", "there is no such alert");
        return;
    }
    n = snprintf(channel, sizeof channel, "alert_" STR_FMT, (int)l->user_size, l->user);
    assert(n > 0 && (size_t)n < sizeof channel);
    if (live_upgrade_exchange(ex, l) && !hub_subscribe(l->viewer, (str){channel, (size_t)n}, 0, &e))
        serve_live_send_error(l, "too_many_subscriptions", e.text);
}
