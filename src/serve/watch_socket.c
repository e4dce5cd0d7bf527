/* watch_socket.c - see watch_socket.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/watch_socket.h"

#include "net/conn.h"
#include "net/ws.h"
#include "serve/internal.h"

#define MESSAGE_MAX ((size_t)60 << 20) /* fits into CONN_QUEUE_MAX with other bytes */
#define TURN_ARENA_MAX ((size_t)512 << 20)
#define EVENT_MAX (MESSAGE_MAX + 64)
#define WAITING_MAX CONN_QUEUE_MAX
#define SECRETS_SIZE_MAX ((size_t)1 << 20)

enum { CLOSE_NORMAL = 1000, CLOSE_NO_CODE = 1005, CLOSE_CUT = 1006, CLOSE_BROKEN = 1011 };

struct watch_socket;

/* A call on the socket, from `response.create` until it is recorded. */
struct watch_turn {
    struct watch_socket *socket;
    struct call *call;
    struct call_watch record;
    struct upstream *shadow; /* takes the events; NULL: not yet, or no longer */
    bool sent, headed, last; /* the request was sent; the reply has begun, or is complete */
    struct json doc;
    struct chat_request request;
    char id[RAND_ID_SIZE];
    str body;
    struct arena arena;
};

struct watch_socket {
    struct worker *worker;
    struct setup *setup; /* held */
    struct watch_request request;
    const struct config_key *key;
    struct arena arena; /* holds the credentials of the handshake */
    str secrets[HEADERS_SECRETS_MAX];
    size_t secret_count;
    struct server_ws *ws; /* NULL: the client has left */
    struct conn *up;      /* NULL: the upstream has closed */
    struct ws codec;      /* of the upstream's frames */
    struct watch_turn *turn;
    struct buf held;    /* frames for the client that wait until the call is recorded */
    struct buf waiting; /* frames for the upstream that wait for an earlier request */
    bool holds, closing;
    int close_code;
    str close_reason;
    char reason[WS_CONTROL_MAX];
    struct loop_task gone;
};

/* ---- the end ---- */

static void watch_turn_free(struct watch_turn *t)
{
    if (!t)
        return;
    json_release(&t->doc);
    arena_release(&t->arena);
    free(t);
}

static void watch_socket_free(void *ctx)
{
    struct watch_socket *s = ctx;

    assert(!s->ws && !s->up && !s->turn);
    arena_release(&s->arena);
    ws_release(&s->codec);
    buf_release(&s->held);
    buf_release(&s->waiting);
    watch_run_release(s->request.run);
    setup_release(s->setup);
    free(s);
}

/* Frees the socket after the current callback, once nobody uses it. */
static void watch_socket_settle(struct watch_socket *s)
{
    if (s->closing && s->ws && !s->turn) {
        server_ws_close(s->ws, s->close_code, s->close_reason);
        s->ws = NULL;
    }
    if (s->ws || s->up || s->turn || s->gone.fn)
        return;
    loop_task_init(&s->gone, watch_socket_free, s);
    loop_defer(s->worker->gl.loop, &s->gone);
}

/* ---- to the upstream ---- */

static void watch_socket_send_up(struct watch_socket *s, enum ws_op op, str data)
{
    unsigned char mask[4];
    uint64_t any = rand_u64(&s->worker->gl.rand);
    struct buf frame;

    memcpy(mask, &any, sizeof mask);
    buf_init(&frame, EVENT_MAX);
    ws_encode_masked(&frame, op, data, mask);
    if (s->turn && !s->turn->sent)
        buf_add(&s->waiting, buf_str(&frame));
    else if (s->up)
        conn_write(s->up, buf_str(&frame));
    buf_release(&frame);
    if (s->ws && (s->waiting.n >= CONN_HIGH || (s->up && conn_full(s->up))))
        server_ws_pause(s->ws);
}

static void watch_socket_on_up_room(void *ctx)
{
    struct watch_socket *s = ctx;

    if (s->ws && s->waiting.n < CONN_HIGH)
        server_ws_resume(s->ws);
}

/* ---- to the client ---- */

static void watch_socket_send_down(struct watch_socket *s, bool text, str data)
{
    if (s->holds) {
        ws_encode(&s->held, text ? WS_TEXT : WS_BINARY, data);
        if (s->up && s->held.n >= CONN_HIGH)
            conn_pause(s->up);
        return;
    }
    if (!s->ws)
        return;
    server_ws_send(s->ws, text, data);
    server_ws_flush(s->ws);
    if (s->up && server_ws_full(s->ws))
        conn_pause(s->up);
}

static void watch_socket_release_held(struct watch_socket *s)
{
    s->holds = false;
    if (s->ws && s->held.n) {
        server_ws_send_frames(s->ws, buf_str(&s->held));
        server_ws_flush(s->ws);
    }
    buf_release(&s->held);
    buf_init(&s->held, WAITING_MAX);
    if (s->up && s->ws && !server_ws_full(s->ws))
        conn_resume(s->up);
}

/* ---- a call ---- */

static void watch_turn_on_start(void *ctx, struct upstream *u)
{
    struct watch_turn *t = ctx;
    struct watch_socket *s = t->socket;

    assert(!t->sent && s->turn == t);
    t->shadow = u;
    t->sent = true;
    watch_socket_send_up(s, WS_TEXT, t->body);
    if (s->up && s->waiting.n)
        conn_write(s->up, buf_str(&s->waiting));
    buf_reset(&s->waiting);
    if (!s->up || !conn_full(s->up))
        watch_socket_on_up_room(s);
}

static void watch_turn_on_detach(void *ctx)
{
    ((struct watch_turn *)ctx)->shadow = NULL;
}

static void watch_turn_on_frame(void *ctx, const struct wire_frame *frame,
                                const struct chat_event *events, size_t n, bool touched, bool last)
{
    struct watch_turn *t = ctx;

    (void)frame;
    (void)touched;
    for (size_t i = 0; i < n; i++)
        if (events[i].kind == CHAT_CALL)
            t->socket->request.run->tool_calls++;
    t->last |= last;
}

/* An error event in the form of the Responses API, for a call that did not reach the upstream. */
static void watch_turn_refuse(struct watch_turn *t, const struct chat_error *error)
{
    struct json_text out;

    assert(error->status >= 400);
    json_text_begin(&out, 65536);
    json_member_str(&out.o, "type", STR("error"));
    json_member_i64(&out.o, "status", error->status);
    json_member_object(&out.o, "error");
    json_member_str(&out.o, "type", STR("server_error"));
    json_member_str(&out.o, "code", error->code);
    json_member_str(&out.o, "message", error->message);
    json_out_close(&out.o, 2);
    watch_socket_send_down(t->socket, true, buf_str(&out.buf));
    buf_release(&out.buf);
}

static void watch_turn_on_error(void *ctx, const struct chat_error *error)
{
    struct watch_turn *t = ctx;

    if (!t->sent)
        watch_turn_refuse(t, error);
    t->last |= t->sent; /* the event of the error waits until the call is recorded */
}

static void watch_turn_on_end(void *ctx, const struct err *e)
{
    struct watch_turn *t = ctx;
    struct watch_socket *s = t->socket;

    assert(s->turn == t);
    if (e)
        log_error("a call could not be put on record", LOG_STR("id", str_c(t->id)), LOG_ERR(e));
    else
        s->request.run->calls++;
    s->turn = NULL;
    watch_turn_free(t);
    watch_socket_release_held(s);
    watch_socket_settle(s);
}

static const struct call_sink watch_turn_sink = {
    watch_turn_on_frame, watch_turn_on_error, watch_turn_on_end, NULL, NULL};

/* Reads a message; false: it is not a call or cannot be read, and is only passed on. */
static bool watch_turn_read(struct watch_turn *t)
{
    struct err e;

    if (!json_parse(&t->doc, t->body, &e) ||
        !json_is(
            &t->doc, json_find(&t->doc, json_root(&t->doc), STR("type")), STR("response.create")))
        return false;
    if (!arena_fits(&t->arena, (size_t)t->doc.n * WATCH_VALUE_SIZE, 0)) {
        log_warn("a call of a watched agent is not recorded",
                 LOG_TEXT("why", "the message has too many values"));
        return false;
    }
    if (!t->socket->turn && wire_get(CHAT_RESPONSES)->read(&t->doc, &t->arena, &t->request, &e)) {
        t->request.stream = true;
        return true;
    }
    log_warn("a call of a watched agent is not recorded",
             LOG_TEXT("why", t->socket->turn ? "the one before it has not ended" : e.text));
    return false;
}

static bool watch_turn_start(struct watch_socket *s, struct watch_turn *t)
{
    struct gateway *g = &s->worker->daemon->gateway;
    struct call_request r = {.wire = wire_get(CHAT_RESPONSES),
                             .request = &t->request,
                             .body = t->body,
                             .route = str_c(watch_any.path),
                             .id = rand_id(&g->ids, t->id),
                             .session = STR(""),
                             .title = STR(""),
                             .level = STR(""),
                             .key = s->key,
                             .setup = s->setup,
                             .show = CONFIG_SHOW,
                             .watch = &t->record,
                             .start_ns = loop_now_ns(s->worker->gl.loop)};
    struct chat_error error;

    assert(!s->turn);
    t->record = (struct call_watch){watched_provider(s->request.upstream, CHAT_RESPONSES),
                                    {watch_turn_on_start, watch_turn_on_detach, t},
                                    s->secrets,
                                    s->secret_count};
    (void)otlp_trace_begin(STR(""), &s->worker->gl.rand, &r.trace);
    s->turn = t;
    if (call_start(&s->worker->gl,
                   &r,
                   (struct call_listener){&watch_turn_sink, t},
                   &t->arena,
                   &t->call,
                   &error))
        return true;
    s->turn = NULL;
    watch_turn_refuse(t, &error);
    return false;
}

/* ---- messages ---- */

static void watch_socket_on_message(void *ctx, struct server_ws *ws, bool text, str data)
{
    struct watch_socket *s = ctx;
    struct watch_turn *t;

    (void)ws;
    if (!text) {
        watch_socket_send_up(s, WS_BINARY, data);
        return;
    }
    t = base_alloc(sizeof *t);
    memset(t, 0, sizeof *t);
    t->socket = s;
    arena_init(&t->arena, TURN_ARENA_MAX);
    json_init(&t->doc);
    t->body = arena_dup(&t->arena, data);
    if (!watch_turn_read(t)) {
        watch_socket_send_up(s, WS_TEXT, data);
        watch_turn_free(t);
    } else if (!watch_turn_start(s, t)) {
        watch_turn_free(t);
    }
}

/* The event as a frame of an event stream: a line feed in JSON is white space. */
static void watch_turn_feed(struct watch_turn *t, str data)
{
    static const struct upstream_head head = {.status = 200,
                                              .type = STR_INIT("text/event-stream"),
                                              .retry_after_ms = -1,
                                              .coding = STR_INIT("")};
    struct upstream *shadow;
    struct buf event;

    assert(t->shadow);
    if (!t->headed)
        upstream_feed_head(t->shadow, &head);
    t->headed = true;
    buf_init(&event, EVENT_MAX);
    buf_add(&event, STR("data: "));
    buf_add(&event, data);
    for (size_t i = 0; i < event.n; i++)
        if (event.p[i] == '\n' || event.p[i] == '\r')
            event.p[i] = ' ';
    buf_add(&event, STR("\n\n"));
    if (t->shadow)
        upstream_feed_bytes(t->shadow, buf_str(&event));
    buf_release(&event);
    shadow = t->shadow;
    if (t->last && shadow) {
        t->shadow = NULL;
        upstream_feed_end(shadow);
    }
}

/* ---- the upstream's side ---- */

static void watch_socket_up_over(struct watch_socket *s, int code, str reason)
{
    struct watch_turn *t = s->turn;
    struct upstream *shadow = t ? t->shadow : NULL;
    struct err e;

    if (!s->up)
        return;
    assert(!s->closing);
    conn_close(s->up);
    s->up = NULL;
    if (s->ws)
        server_ws_resume(s->ws); /* the upstream's close frame was read */
    s->closing = true;
    s->close_code = code == CLOSE_NO_CODE ? CLOSE_NORMAL : code;
    reason = str_slice(reason, 0, sizeof s->reason);
    memcpy(s->reason, reason.p, reason.n);
    s->close_reason = (str){s->reason, reason.n};
    if (shadow) {
        t->shadow = NULL;
        err_set(&e, ERR_UPSTREAM, "the provider closed the WebSocket before the end of the reply");
        upstream_feed_error(shadow, &e);
    } else if (t && !t->sent) {
        call_cancel(t->call);
        s->turn = NULL;
        watch_turn_free(t);
    }
    watch_socket_settle(s);
}

static void watch_socket_on_frame(void *ctx, enum ws_op op, str payload)
{
    struct watch_socket *s = ctx;

    if (op == WS_PING && s->up)
        watch_socket_send_up(s, WS_PONG, payload);
    if (op == WS_CLOSE)
        watch_socket_up_over(s, ws_close_code(payload), str_slice(payload, 2, payload.n));
    if (op != WS_TEXT && op != WS_BINARY)
        return;
    if (op == WS_TEXT && s->turn && s->turn->shadow)
        watch_turn_feed(s->turn, payload);
    s->holds |= s->turn && s->turn->last;
    watch_socket_send_down(s, op == WS_TEXT, payload);
}

static void watch_socket_on_bytes(void *ctx, str bytes)
{
    struct watch_socket *s = ctx;

    ws_feed(&s->codec, bytes);
    if (s->codec.fault)
        watch_socket_up_over(s, CLOSE_BROKEN, STR("the provider's frames break the protocol"));
    else if (buf_full(&s->held) || buf_full(&s->waiting))
        watch_socket_up_over(s, CLOSE_BROKEN, STR("too much waits for the record"));
}

static void watch_socket_on_up_end(void *ctx)
{
    watch_socket_up_over(ctx, CLOSE_BROKEN, STR("the provider closed the connection"));
}

static void watch_socket_on_up_error(void *ctx, const struct err *e)
{
    (void)e;
    watch_socket_on_up_end(ctx);
}

static const struct conn_handler watch_socket_up = {.on_bytes = watch_socket_on_bytes,
                                                    .on_room = watch_socket_on_up_room,
                                                    .on_end = watch_socket_on_up_end,
                                                    .on_error = watch_socket_on_up_error};

/* ---- the client's side ---- */

static void watch_socket_on_close(void *ctx, struct server_ws *ws, int code)
{
    struct watch_socket *s = ctx;
    struct watch_turn *t = s->turn;
    unsigned char payload[2] = {(unsigned char)(code >> 8), (unsigned char)code};
    bool says = code != CLOSE_NO_CODE && code != CLOSE_CUT;

    (void)ws;
    s->ws = NULL;
    s->turn = NULL;
    if (t) { /* it is recorded as cancelled */
        call_cancel(t->call);
        watch_turn_free(t);
        s->request.run->calls++;
    }
    if (s->up) {
        watch_socket_send_up(s, WS_CLOSE, (str){(char *)payload, says ? sizeof payload : 0});
        conn_flush(s->up);
        conn_close(s->up);
        s->up = NULL;
    }
    watch_socket_settle(s);
}

static void watch_socket_on_room(void *ctx, struct server_ws *ws)
{
    struct watch_socket *s = ctx;

    (void)ws;
    if (s->up)
        conn_resume(s->up);
}

static const struct server_ws_handler watch_socket_down = {
    MESSAGE_MAX, watch_socket_on_message, watch_socket_on_close, watch_socket_on_room};

/* ---- start ---- */

static size_t watch_socket_headers(const struct http1_head *h, struct server_header *out)
{
    size_t n = 0;

    for (size_t i = 0; i < h->field_count && n < WATCH_HEADERS_MAX; i++)
        if (!headers_is_hop(h->fields[i].name) &&
            !http1_same(h->fields[i].name, STR("sec-websocket-accept")) &&
            !http1_same(h->fields[i].name, STR("content-length")))
            out[n++] = (struct server_header){h->fields[i].name, h->fields[i].value};
    return n;
}

void watch_socket_begin(struct exchange *ex, const struct watch_request *r,
                        const struct http1_head *h, struct conn *c, str rest)
{
    struct watch_socket *s = base_alloc(sizeof *s);
    struct server_header headers[WATCH_HEADERS_MAX];
    struct server_exchange *x = ex->x;
    size_t n = watch_socket_headers(h, headers);

    memset(s, 0, sizeof *s);
    s->worker = ex->worker;
    s->setup = setup_retain(ex->setup);
    s->request = *r;
    s->key = ex->key;
    s->up = c;
    arena_init(&s->arena, SECRETS_SIZE_MAX);
    s->secret_count = headers_find_secrets(server_request(x), s->secrets);
    for (size_t i = 0; i < s->secret_count; i++)
        s->secrets[i] = arena_dup(&s->arena, s->secrets[i]);
    buf_init(&s->held, WAITING_MAX);
    buf_init(&s->waiting, WAITING_MAX);
    ws_init(&s->codec, WS_FROM_SERVER, MESSAGE_MAX, (struct ws_sink){watch_socket_on_frame, s});
    conn_handler_set(c, &watch_socket_up, s);
    ex->status = 101;
    exchange_done(ex);
    s->ws = server_upgrade(x, headers, n, &watch_socket_down, s);
    assert(s->ws); /* the handshake was checked before the upstream was contacted */
    if (rest.n)
        watch_socket_on_bytes(s, rest);
}
