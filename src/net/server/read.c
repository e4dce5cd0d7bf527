/* read.c - bytes that come in, made into requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/server/internal.h"

#include "base/spare.h"

#define SMALL_MAX 4096 /* bytes that are put into the arena as they came, head and body */
#define ARENA_FACTOR 2 /* times the size of a request: its memory including parsed data */
#define ARENA_MORE 640 /* and for what every request needs */

/* ---- the body ---- */

static struct server_large *server_read_get_large(struct server_exchange *x)
{
    if (!x->large) {
        x->large = base_alloc_zero(sizeof *x->large);
        buf_init(&x->large->bytes, x->server->o.body_max);
    }
    return x->large;
}

void server_read_free_large(struct server_exchange *x)
{
    if (!x->large)
        return;
    gzip_unpacker_free(x->large->unpacker);
    buf_release(&x->large->bytes);
    free(x->large);
    x->large = NULL;
}

static void server_on_body(void *ctx, str bytes)
{
    struct server_exchange *x = ctx;

    assert(x->state == ST_BODY);
    buf_add(&x->large->bytes, bytes);
}

/* Whether the handler gets the body still compressed. */
static bool server_read_stays_packed(const struct server_exchange *x)
{
    str below = x->server->o.packed_below;

    return below.n > 0 && str_starts(x->request->path, below);
}

static bool server_is_gzip(str coding)
{
    return http1_same(coding, STR("gzip")) || http1_same(coding, STR("x-gzip"));
}

/* Makes x->body what the handler reads. False after a refusal, and while a large body is unpacked
 * in steps: then server_go is called again. */
static bool server_read_unpack(struct server_exchange *x)
{
    struct server_large *large = x->large;
    enum gzip_progress progress;
    struct err e;

    if (!large || !large->unpacker) {
        if (x->body.n == 0 || server_read_stays_packed(x) ||
            !server_is_gzip(http1_find(x->request, STR("content-encoding"))))
            return true;
        large = server_read_get_large(x);
        large->unpacker = gzip_unpacker_new(x->body, x->server->o.body_max);
    }
    progress = gzip_unpacker_step(large->unpacker, &e);
    if (progress == GZIP_MORE) {
        loop_yield(x->server->loop, &x->go);
        return false;
    }
    if (progress == GZIP_DONE) {
        buf_release(&large->bytes);
        buf_move(&large->bytes, gzip_unpacker_plain(large->unpacker));
        x->body = buf_str(&large->bytes);
    }
    gzip_unpacker_free(large->unpacker);
    large->unpacker = NULL;
    if (progress == GZIP_FAILED)
        server_refuse(x, e.code == ERR_LIMIT ? 413 : 400, e.text);
    return progress == GZIP_DONE;
}

/* A request that is whole: handed on in the next step. */
static void server_read_dispatch(struct server_exchange *x)
{
    struct server *s = x->server;

    assert((x->state == ST_HEAD || x->state == ST_BODY) && x->request);
    assert(!x->go.queued && !x->head_sent);
    x->state = ST_ANSWER;
    loop_soon(s->loop, &x->go);
}

void server_go(void *ctx)
{
    struct server_exchange *x = ctx;
    struct server *s = x->server;

    if (x->state != ST_ANSWER || !server_read_unpack(x))
        return;
    assert(x->request && !x->head_sent);
    x->keep = x->request->keep_alive;
    s->handler->on_request(s->ctx, x);
    if (x->ended && x->state == ST_ANSWER)
        server_exchange_gone(x); /* the handler is at work, and the client has disconnected */
}

static size_t server_take_body(struct server_exchange *x, str bytes)
{
    struct server_large *large = x->large;
    size_t used = http1_body_feed(&large->framing, bytes, (struct http1_sink){server_on_body, x});

    assert(x->state == ST_BODY && used <= bytes.n);
    x->since_ns = server_now(x);
    assert(!buf_full(&large->bytes)); /* a larger chunk is a fault */
    if (large->framing.fault.status) {
        server_refuse(x, large->framing.fault.status, large->framing.fault.why);
    } else if (large->framing.done) {
        x->body = buf_str(&large->bytes);
        server_read_dispatch(x);
    }
    return used;
}

/* ---- the head ---- */

/* Checks a body before it arrives. */
static bool server_body_welcome(struct server_exchange *x)
{
    const struct http1_head *h = x->request;

    if (h->framing == HTTP1_NONE)
        return true;
    if (h->framing == HTTP1_LENGTH && h->content_length > x->server->o.body_max) {
        server_refuse(x, 413, "the body is too large");
        return false;
    }
    if (!http1_has(h, STR("content-encoding")) || server_read_stays_packed(x))
        return true;
    for (size_t i = 0, codings = 0; i < h->field_count; i++) {
        if (!http1_same(h->fields[i].name, STR("content-encoding")))
            continue;
        if (codings++ || (!server_is_gzip(h->fields[i].value) &&
                          !http1_same(h->fields[i].value, STR("identity")))) {
            server_refuse(x, 415, "the only content coding taken is gzip");
            return false;
        }
    }
    return true;
}

void server_read_copy_head(struct server_exchange *x)
{
    const struct http1_head *h = &x->server->head;
    size_t used = offsetof(struct http1_head, fields) + h->field_count * sizeof h->fields[0];
    size_t size = used;

    assert(!x->request);
    x->request = spare_alloc(&size);
    assert(size >= used && size <= UINT16_MAX);
    x->request_size = (uint16_t)size;
    memcpy(x->request, h, used);
}

void server_read_free_head(struct server_exchange *x)
{
    if (x->request)
        spare_free(x->request, x->request_size);
    x->request = NULL;
}

/* The bytes of the head are kept in the arena, where they may be already, and its parsed form in
 * memory of its own, which can be freed earlier. */
static void server_read_keep_head(struct server_exchange *x, str bytes, bool kept)
{
    server_read_copy_head(x);
    x->head = bytes.p;
    x->head_size = (uint32_t)bytes.n;
    if (!kept) {
        x->head = arena_dup(&x->arena, bytes).p;
        http1_head_move(x->request, bytes, x->head);
    }
}

/* The head is complete: the body follows. Returns how many of its bytes were consumed. */
static size_t server_read_begin_body(struct server_exchange *x, str rest, bool kept)
{
    const struct http1_head *h = x->request;
    struct http1_body framing;

    assert(x->state == ST_HEAD);
    if (!server_body_welcome(x))
        return rest.n;
    http1_body_init(&framing, h);
    if (framing.done) {
        server_read_dispatch(x);
        return 0;
    }
    if (kept && h->framing == HTTP1_LENGTH && h->content_length <= rest.n) {
        x->body = str_slice(rest, 0, (size_t)h->content_length);
        server_read_dispatch(x);
        return x->body.n;
    }
    x->state = ST_BODY;
    server_read_get_large(x)->framing = framing;
    x->large->bytes.size_max = x->large->framing.room = x->server->o.body_max;
    if (rest.n > 0)
        return server_take_body(x, rest);
    if (h->expect_continue) {
        conn_write(x->conn, STR("HTTP/1.1 100 Continue\r\n\r\n"));
        conn_flush(x->conn);
    }
    return 0;
}

/* Some clients send an empty line after a body. It does not begin a request, so no timeout
 * starts. */
static size_t server_empty_lines(str bytes)
{
    size_t n = 0;

    for (;;) {
        if (n < bytes.n && bytes.p[n] == '\n')
            n++;
        else if (n + 1 < bytes.n && bytes.p[n] == '\r' && bytes.p[n + 1] == '\n')
            n += 2;
        else
            return n;
    }
}

/* How much was taken: nothing while the head is not whole. */
static size_t server_read_take_head(struct server_exchange *x, str bytes)
{
    struct server *s = x->server;
    bool kept = bytes.n <= SMALL_MAX;
    struct http1_fault fault;
    size_t used = server_empty_lines(bytes);

    assert(x->state == ST_HEAD && !x->head);
    if (used > 0)
        return used;
    if (kept) {
        arena_reserve(&x->arena, ARENA_FACTOR * bytes.n + ARENA_MORE);
        bytes = arena_dup(&x->arena, bytes);
    }
    switch (http1_request_again(&s->again, bytes, s->o.head_max, &s->head, &used, &fault)) {
    case HTTP1_MORE:
        arena_release(&x->arena);
        return 0;
    case HTTP1_BAD:
        server_refuse(x, fault.status, fault.why);
        return bytes.n;
    case HTTP1_DONE:
        break;
    }
    assert(used > 0 && used <= bytes.n);
    x->since_ns = server_now(x);
    server_read_keep_head(x, str_slice(bytes, 0, used), kept);
    return used + server_read_begin_body(x, str_slice(bytes, used, bytes.n), kept);
}

/* ---- both ---- */

static bool server_is_reading(const struct server_exchange *x)
{
    return x->state == ST_HEAD || x->state == ST_BODY;
}

/* Buffers bytes that cannot be handled now. */
static void server_wait_with(struct server_exchange *x, str bytes)
{
    if (bytes.n > 0) {
        assert(bytes.p);
        buf_add(&x->in, bytes);
        assert(!buf_full(&x->in)); /* nothing is read while something waits */
    }
    x->scanned = x->in.n;
}

static void server_read_run(struct server_exchange *x, str bytes)
{
    while (bytes.n > 0 && server_is_reading(x) && !conn_full(x->conn)) {
        size_t used =
            x->state == ST_HEAD ? server_read_take_head(x, bytes) : server_take_body(x, bytes);

        if (used == 0 && x->state == ST_HEAD)
            break;
        assert(used <= bytes.n);
        bytes = str_slice(bytes, used, bytes.n);
    }
    if (x->state == ST_LINGER || x->state == ST_CLOSED)
        return;
    if (x->state == ST_SOCKET) {
        server_ws_feed(x, bytes);
        return;
    }
    server_wait_with(x, bytes);
    if (!server_is_reading(x) || conn_full(x->conn))
        conn_pause(x->conn);
}

/* Handles the buffered bytes. */
static void server_read_run_waiting(struct server_exchange *x)
{
    struct buf got = x->in;

    buf_init(&x->in, got.size_max);
    server_read_run(x, buf_str(&got));
    buf_release(&got);
}

void server_take(struct server_exchange *x, str bytes)
{
    if (x->in.n == 0) {
        uint64_t before_ns = x->since_ns;
        bool rests = x->state == ST_HEAD;

        if (rests)
            x->since_ns = server_now(x);
        server_read_run(x, bytes);
        if (rests && x->state == ST_HEAD && x->in.n == 0)
            x->since_ns = before_ns; /* empty lines, which keep no connection alive */
        return;
    }
    assert(x->state == ST_HEAD);
    assert(x->scanned <= x->in.n);
    buf_add(&x->in, bytes);
    if (http1_head_end(buf_str(&x->in), x->scanned) == STR_NONE && x->in.n < x->server->o.head_max)
        x->scanned = x->in.n;
    else
        server_read_run_waiting(x);
}

void server_take_waiting(struct server_exchange *x)
{
    if (x->in.n > 0 && (x->state == ST_SOCKET || (server_is_reading(x) && !conn_full(x->conn))))
        server_read_run_waiting(x);
    if (x->state == ST_SOCKET || (server_is_reading(x) && !conn_full(x->conn)))
        conn_resume(x->conn);
}

/* ---- what the connection says ---- */

static void server_read_on_open(void *ctx)
{
    struct server_exchange *x = ctx;

    x->open = true;
    x->since_ns = server_now(x);
}

static void server_read_on_bytes(void *ctx, str bytes)
{
    struct server_exchange *x = ctx;

    switch (x->state) {
    case ST_HEAD:
    case ST_BODY:
        server_take(x, bytes);
        break;
    case ST_SOCKET:
        server_ws_feed(x, bytes);
        break;
    case ST_LINGER:
        x->since_ns = server_now(x);
        x->lingered += (uint32_t)bytes.n;
        if (x->lingered > SERVER_LINGER_BYTES_MAX)
            server_exchange_close(x);
        break;
    case ST_ANSWER:
        server_wait_with(x, bytes);
        conn_pause(x->conn);
        break;
    case ST_CLOSED:
        break;
    }
}

static void server_read_on_room(void *ctx)
{
    struct server_exchange *x = ctx;

    if (x->state == ST_ANSWER)
        x->server->handler->on_room(x->server->ctx, x);
    else if (x->state == ST_SOCKET)
        server_ws_room(x);
    else if (server_is_reading(x))
        server_take_waiting(x);
}

/* The client sends no more. Replies are still sent, and complete requests are still answered if
 * that is possible at once. */
static void server_read_on_end(void *ctx)
{
    struct server_exchange *x = ctx;

    x->ended = true;
    if (x->go.queued || (x->state == ST_HEAD && x->task.queued))
        return; /* server_go or server_take_waiting continues with them */
    if (server_is_reading(x) && conn_queued(x->conn) > 0)
        server_exchange_linger(x);
    else if (x->state != ST_LINGER || conn_queued(x->conn) == 0)
        server_exchange_gone(x);
}

static void server_read_on_error(void *ctx, const struct err *e)
{
    (void)e;
    server_exchange_gone(ctx);
}

const struct conn_handler server_conn_handler = {
    .on_open = server_read_on_open,
    .on_bytes = server_read_on_bytes,
    .on_room = server_read_on_room,
    .on_hangup = server_read_on_end,
    .on_end = server_read_on_end,
    .on_error = server_read_on_error,
};
