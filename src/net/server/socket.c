/* socket.c - a connection that has become a WebSocket.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/server/internal.h"

#define MESSAGE_MAX ((size_t)1 << 20)
#define FRAME_MAX ((size_t)64 << 20)

enum { CLOSE_GOING = 1001, CLOSE_BROKEN = 1006 };

struct server_ws {
    struct server_exchange *x;
    const struct server_ws_handler *handler;
    void *ctx;
    struct ws codec;
    uint64_t heard_ns;
    bool pinged;
    bool paused;
    bool over; /* no more callbacks */
};

static void server_send_frame(struct server_ws *w, enum ws_op op, str payload)
{
    struct buf frame;

    if (w->x->state != ST_SOCKET)
        return;
    buf_init(&frame, FRAME_MAX);
    ws_encode(&frame, op, payload);
    conn_write(w->x->conn, buf_str(&frame));
    buf_release(&frame);
}

/* Our close frame, and no more after it. */
static void server_send_close(struct server_ws *w, int code, str reason)
{
    struct buf frame;

    assert(w->x->state == ST_SOCKET);
    buf_init(&frame, WS_CONTROL_MAX + 16);
    ws_encode_close(&frame, code, reason);
    conn_write(w->x->conn, buf_str(&frame));
    buf_release(&frame);
    server_exchange_linger(w->x);
}

static void server_ws_report_close(struct server_ws *w, int code)
{
    if (w->over)
        return;
    w->over = true;
    w->handler->on_close(w->ctx, w, code);
}

static void server_socket_on_message(void *ctx, enum ws_op op, str payload)
{
    struct server_ws *w = ctx;
    int code;

    if (w->over)
        return;
    switch (op) {
    case WS_PING:
        /* A client that does not read its replies gets no answer. */
        if (!conn_full(w->x->conn))
            server_send_frame(w, WS_PONG, payload);
        break;
    case WS_CLOSE:
        code = ws_close_code(payload);
        server_send_close(w, code, STR(""));
        server_ws_report_close(w, code);
        break;
    case WS_TEXT:
    case WS_BINARY:
        w->handler->on_message(w->ctx, w, op == WS_TEXT, payload);
        break;
    case WS_PONG:
    case WS_MORE:
        break;
    }
}

void server_ws_feed(struct server_exchange *x, str bytes)
{
    struct server_ws *w = x->ws;

    assert(w && w->x == x);
    w->heard_ns = server_now(x);
    w->pinged = false;
    ws_feed(&w->codec, bytes);
    if (w->codec.fault && x->state == ST_SOCKET) {
        int code = w->codec.fault;

        server_send_close(w, code, STR(""));
        server_ws_report_close(w, code);
    }
}

void server_ws_gone(struct server_exchange *x, int code)
{
    struct server_ws *w = x->ws;

    if (code != CLOSE_BROKEN && x->state == ST_SOCKET)
        server_send_close(w, code, STR(""));
    server_ws_report_close(w, code);
}

void server_ws_sweep(struct server_exchange *x, uint64_t now_ns)
{
    struct server_ws *w = x->ws;
    uint64_t silent_ms;

    if (w->paused)
        w->heard_ns = now_ns; /* the client is not read */
    silent_ms = (now_ns - w->heard_ns) / CLOCK_NS_PER_MS;
    if (silent_ms >= x->server->o.idle_ms) {
        server_exchange_gone(x);
    } else if (silent_ms >= x->server->o.idle_ms / 2 && !w->pinged) {
        w->pinged = true;
        server_send_frame(w, WS_PING, STR(""));
    }
}

void server_ws_room(struct server_exchange *x)
{
    if (x->ws->handler->on_room)
        x->ws->handler->on_room(x->ws->ctx, x->ws);
}

void server_ws_free(struct server_exchange *x)
{
    if (!x->ws)
        return;
    ws_release(&x->ws->codec);
    free(x->ws);
}

static void server_socket_refuse(struct server_exchange *x, const struct http1_fault *fault)
{
    const struct server_header headers[] = {
        {STR("Content-Type"), STR("text/plain")},
        {STR("Sec-WebSocket-Version"), STR("13")},
        {STR("Upgrade"), STR("websocket")},
    };

    server_reply(x, fault->status, headers, fault->status == 426 ? 3 : 1, str_c(fault->why));
}

struct server_ws *server_upgrade(struct server_exchange *x, const struct server_header *headers,
                                 size_t n, const struct server_ws_handler *h, void *ctx)
{
    char accept[WS_KEY_SIZE];
    struct http1_fault fault;
    struct server_ws *w;

    assert(x->state == ST_ANSWER && !x->head_sent && !x->ws);
    if (!ws_handshake(x->request, accept, &fault)) {
        server_socket_refuse(x, &fault);
        return NULL;
    }
    conn_write(x->conn,
               STR("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                   "Connection: Upgrade\r\nSec-WebSocket-Accept: "));
    conn_write(x->conn, str_c(accept));
    for (size_t i = 0; i < n; i++) {
        conn_write(x->conn, STR("\r\n"));
        conn_write(x->conn, headers[i].name);
        conn_write(x->conn, STR(": "));
        conn_write(x->conn, headers[i].value);
    }
    conn_write(x->conn, STR("\r\n\r\n"));
    w = base_alloc(sizeof *w);
    *w = (struct server_ws){.x = x, .handler = h, .ctx = ctx, .heard_ns = server_now(x)};
    ws_init(&w->codec,
            WS_FROM_CLIENT,
            h->message_max ? h->message_max : MESSAGE_MAX,
            (struct ws_sink){server_socket_on_message, w});
    x->ws = w;
    x->brief = true;
    x->state = ST_SOCKET;
    server_read_free_head(x);
    x->head = NULL;
    arena_release(&x->arena);
    server_read_free_large(x);
    /* Bytes after the handshake are fed once the handler is set up. */
    loop_defer(x->server->loop, &x->task);
    return w;
}

void server_ws_send(struct server_ws *w, bool text, str data)
{
    server_send_frame(w, text ? WS_TEXT : WS_BINARY, data);
}

void server_ws_send_frames(struct server_ws *w, str frames)
{
    if (w->x->state == ST_SOCKET)
        conn_write(w->x->conn, frames);
}

void server_ws_flush(struct server_ws *w)
{
    conn_flush(w->x->conn);
}

void server_ws_pause(struct server_ws *w)
{
    w->paused = true;
    if (w->x->state == ST_SOCKET)
        conn_pause(w->x->conn);
}

void server_ws_resume(struct server_ws *w)
{
    w->paused = false;
    if (w->x->state == ST_SOCKET)
        conn_resume(w->x->conn);
}

size_t server_ws_queued(const struct server_ws *w)
{
    return conn_queued(w->x->conn);
}

bool server_ws_full(const struct server_ws *w)
{
    return conn_full(w->x->conn);
}

void server_ws_close(struct server_ws *w, int code, str reason)
{
    w->over = true;
    if (w->x->state == ST_SOCKET)
        server_send_close(w, code, reason);
}
