/* client.c - calls: a request out, a reply in, the connection kept.
 *
 *     DIALING --open--> SENT --first byte--> HEAD --whole head--> BODY --whole body--> OVER
 *        ^----it was closed, kept since an earlier call----/
 *
 * A call begins in SENT if a connection is kept, and in REFUSED if its request is invalid. It is
 * OVER before its last callback, or when it is cancelled: out of list, timer, dial and connection.
 * Its memory is freed at the end of the round, so that its callers can still see that it is over.
 *
 * One timer a call. Bytes only leave a stamp, which the timer compares when it fires.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/client.h"

#include "base/spare.h"
#include "net/client_check.h"
#include "net/client_head.h"
#include "net/client_parts.h"
#include "net/http1_again.h"
#include "net/pool.h"

#define PIECE_SIZE ((size_t)128 * 1024) /* of a request's body, given to the connection at once */
#define PLACE_SPARE 9                   /* bytes of a key besides the host: "s[]:65535" */
#define INTERIM_MAX 16                  /* replies of 1xx before the real one */
#define TIMEOUT_MS_MAX ((uint64_t)1000 * 3600 * 24)

struct client {
    struct loop *loop;
    struct resolver *resolver;
    struct tls *tls;
    struct pool *pool;
    struct client_call *calls;
    struct http1_again again; /* the heads of replies */
};

enum client_state { REFUSED, DIALING, SENT, HEAD, BODY, OVER };

struct client_call {
    enum client_state state;
    uint32_t size; /* of its memory: the struct, and the key and head that follow it */
    struct client *client;
    struct client_call *next, **at; /* in the list of all; `at` is the pointer to this one */
    const struct client_handler *handler;
    void *ctx;
    struct loop_timer timer;
    struct loop_task task; /* to fail at the start; to be freed at the end */
    struct dial *dial;
    struct conn *conn;

    /* The request. Its head may be in the bytes before the body instead. */
    uint16_t key_n, host_n; /* sizes of the key and of the host in it: see client_key */
    uint16_t port;
    bool tls, once;
    bool no_body;    /* it is a HEAD */
    uint8_t interim; /* replies of 1xx so far */
    str head, body;
    uint32_t connect_ms, first_ms, stall_ms;
    size_t body_at;       /* given to the connection */
    uint64_t sent_before; /* by others on the same connection */

    /* The reply. */
    struct buf in; /* a head that is not whole */
    struct http1_body framing;
    uint64_t body_count; /* bytes handed on */
    uint64_t last_ns;
    bool kept;          /* the connection has served an earlier call, and a new one may be tried */
    bool may_have_sent; /* bytes of the request, on that connection */
    bool keep_alive, paused;
    struct err *early; /* of REFUSED: why */
    void (*on_upgrade)(void *ctx, const struct http1_head *head, struct conn *c, str rest);
};

static void client_start_dial(struct client_call *call);

/* 's' for TLS or 'p', then the place. */
static str client_key(const struct client_call *call)
{
    return (str){(const char *)(call + 1), call->key_n};
}

/* host:port, for people. */
static str client_place(const struct client_call *call)
{
    return str_slice(client_key(call), 1, call->key_n);
}

static str client_host(const struct client_call *call)
{
    str place = client_place(call);

    return place.p[0] == '[' ? str_slice(place, 1, 1 + (size_t)call->host_n)
                             : str_slice(place, 0, call->host_n);
}

static bool client_some_was_sent(const struct client_call *call)
{
    return call->may_have_sent || (call->conn && conn_sent(call->conn) > call->sent_before);
}

static void client_set_over(struct client_call *call)
{
    assert(call->state != OVER);
    assert(*call->at == call);
    call->state = OVER;
    if (call->dial)
        dial_cancel(call->dial);
    conn_close(call->conn);
    call->dial = NULL;
    call->conn = NULL;
    loop_timer_clear(call->client->loop, &call->timer);
    *call->at = call->next;
    if (call->next)
        call->next->at = call->at;
    loop_defer(call->client->loop, &call->task);
}

static void client_fail(struct client_call *call, const struct err *e)
{
    struct err copy = *e;
    bool sent = client_some_was_sent(call);

    assert(call->state != OVER);
    err_prefix(&copy, "upstream " STR_FMT ": ", STR_ARG(client_place(call)));
    client_set_over(call);
    call->handler->on_error(call->ctx, &copy, sent);
}

/* The connection is of no more use, and the reply is not whole. */
static void client_fail_cut(struct client_call *call, const struct err *why)
{
    const char *what = why ? why->text : "it closed the connection";
    struct err e;

    if (why && why->code != ERR_UPSTREAM)
        e = *why;
    else if (call->state == BODY)
        err_set(&e,
                ERR_UPSTREAM,
                "%s after %llu bytes, before the end of its reply",
                what,
                (unsigned long long)call->body_count);
    else if (call->state == HEAD)
        err_set(&e, ERR_UPSTREAM, "%s in the middle of its reply's head", what);
    else
        err_set(&e, ERR_UPSTREAM, "%s before it replied", what);
    client_fail(call, &e);
}

bool client_has_sent(const struct client_call *call)
{
    return call->conn && call->body_at == call->body.n && conn_queued(call->conn) == 0;
}

static void client_finish(struct client_call *call, bool clean)
{
    struct conn *c = call->conn;
    bool keep = clean && call->keep_alive && call->framing.framing != HTTP1_TO_CLOSE &&
                client_has_sent(call);

    assert(call->state == BODY && c);
    if (keep) {
        call->conn = NULL;
        if (call->paused)
            conn_resume(c);
        pool_put(call->client->pool, client_key(call), c);
    }
    client_set_over(call);
    call->handler->on_end(call->ctx);
}

/* Sent on a connection that the server had closed meanwhile: on a new one it may fare better. */
static bool client_try_again(struct client_call *call)
{
    if (!call->kept || call->state != SENT || (call->once && client_some_was_sent(call)))
        return false;
    assert(!call->dial && call->conn);
    call->kept = false;
    call->may_have_sent = client_some_was_sent(call);
    call->body_at = 0;
    conn_close(call->conn);
    call->conn = NULL;
    loop_timer_clear(call->client->loop, &call->timer);
    client_start_dial(call);
    return true;
}

static void client_on_task(void *ctx)
{
    struct client_call *call = ctx;

    if (call->state == REFUSED) {
        client_fail(call, call->early);
        return;
    }
    buf_release(&call->in);
    free(call->early);
    spare_free(call, call->size);
}

/* Time. */

static void client_arm(struct client_call *call, uint64_t ms)
{
    call->last_ns = loop_now_ns(call->client->loop);
    if (ms == 0)
        loop_timer_clear(call->client->loop, &call->timer);
    else
        loop_timer_set(call->client->loop, &call->timer, ms);
}

static void client_on_timer(void *ctx)
{
    struct client_call *call = ctx;
    uint64_t limit_ms = call->state == BODY ? call->stall_ms : call->first_ms;
    uint64_t limit_ns = limit_ms * CLOCK_NS_PER_MS;
    uint64_t idle_ns = loop_now_ns(call->client->loop) - call->last_ns;
    char took[CLOCK_DURATION_SIZE];
    struct err e;

    assert(call->state != OVER && call->conn);
    if (call->paused && call->state == BODY)
        idle_ns = 0; /* it is not the server that we wait for */
    if (idle_ns < limit_ns) {
        loop_timer_set(call->client->loop,
                       &call->timer,
                       (limit_ns - idle_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS);
        return;
    }
    clock_duration(limit_ns, took);
    if (call->state == BODY)
        err_set(&e,
                ERR_TIMEOUT,
                "nothing came for %s after %llu bytes of its reply",
                took,
                (unsigned long long)call->body_count);
    else
        err_set(&e, ERR_TIMEOUT, "no reply within %s", took);
    client_fail(call, &e);
}

/* The reply. */

static void client_on_body_bytes(void *ctx, str bytes)
{
    struct client_call *call = ctx;

    if (call->state == OVER)
        return;
    call->body_count += bytes.n;
    call->handler->on_bytes(call->ctx, bytes);
}

static void client_feed_body(struct client_call *call, str bytes)
{
    struct http1_body *f = &call->framing;
    struct err e;
    size_t used;

    assert(call->state == BODY);
    used = http1_body_feed(f, bytes, (struct http1_sink){client_on_body_bytes, call});
    if (call->state == OVER)
        return;
    if (f->fault.status != 0) {
        err_set(&e,
                ERR_UPSTREAM,
                "its reply breaks HTTP/1.1 after %llu bytes: %s",
                (unsigned long long)call->body_count,
                f->fault.why);
        client_fail(call, &e);
    } else if (f->done) {
        client_finish(call, used == bytes.n);
    }
}

static void client_begin_body(struct client_call *call, const struct http1_head *head, str rest)
{
    assert(call->state == HEAD);
    http1_body_init(&call->framing, head);
    call->framing.joins = true; /* the bytes are in the loop's memory, a buffer's or this call's */
    call->keep_alive = head->keep_alive;
    call->state = BODY;
    call->last_ns = loop_now_ns(call->client->loop);
    call->handler->on_head(call->ctx, head);
    if (call->state != OVER)
        client_feed_body(call, rest);
    if (call->state != OVER)
        client_arm(call, call->stall_ms);
}

/* The connection is the handler's from here on. */
static void client_hand_over(struct client_call *call, const struct http1_head *head, str rest)
{
    struct conn *c = call->conn;

    call->conn = NULL;
    client_set_over(call);
    call->on_upgrade(call->ctx, head, c, rest);
}

static void client_fail_head(struct client_call *call, const char *why)
{
    struct err e;

    err_set(&e, ERR_UPSTREAM, "it did not answer in HTTP/1.1: %s", why);
    client_fail(call, &e);
}

/* The bytes are all that came since the last head. False if the head needs more. */
static bool client_take_head(struct client_call *call, str *bytes)
{
    struct http1_fault fault = {0};
    struct http1_head head;
    struct http1_reply_rules rules = {CLIENT_HEAD_MAX, call->no_body};
    size_t used;

    switch (http1_reply_again(&call->client->again, *bytes, rules, &head, &used, &fault)) {
    case HTTP1_MORE:
        return false;
    case HTTP1_BAD:
        client_fail_head(call, fault.why);
        return true;
    case HTTP1_DONE:
        break;
    }
    assert(used > 0 && used <= bytes->n);
    *bytes = str_slice(*bytes, used, bytes->n);
    if (head.status >= 200)
        client_begin_body(call, &head, *bytes);
    else if (head.status == 101 && call->on_upgrade)
        client_hand_over(call, &head, *bytes);
    else if (head.status == 101)
        client_fail_head(call, "it switched to another protocol without being asked");
    else if (++call->interim > INTERIM_MAX)
        client_fail_head(call, "its interim replies have no end");
    return true;
}

static void client_feed_head(struct client_call *call, str bytes)
{
    bool held = call->in.n > 0, line = memchr(bytes.p, '\n', bytes.n) != NULL;

    if (held) {
        buf_add(&call->in, bytes);
        /* Only the end of a line can end a head; so one that drips is not read again and again. */
        if (!line && call->in.n < CLIENT_HEAD_MAX)
            return;
        bytes = buf_str(&call->in);
    }
    while (call->state == HEAD && bytes.n > 0)
        if (!client_take_head(call, &bytes))
            break;
    if (call->state == BODY)
        buf_release(&call->in);
    if (call->state != HEAD)
        return;
    assert(!held || bytes.n <= call->in.n);
    if (held)
        buf_drop(&call->in, call->in.n - bytes.n);
    else
        buf_add(&call->in, bytes);
}

static void client_on_bytes(void *ctx, str bytes)
{
    struct client_call *call = ctx;

    assert(call->state >= SENT && call->conn && bytes.n > 0);
    if (call->state == BODY) {
        call->last_ns = loop_now_ns(call->client->loop);
        client_feed_body(call, bytes);
    } else {
        call->state = HEAD;
        client_feed_head(call, bytes);
    }
    if (call->state == BODY && call->handler->on_rest)
        call->handler->on_rest(call->ctx);
}

static void client_on_end(void *ctx)
{
    struct client_call *call = ctx;

    if (call->state == BODY && http1_body_finish(&call->framing))
        client_finish(call, false);
    else if (!client_try_again(call))
        client_fail_cut(call, NULL);
}

static void client_on_error(void *ctx, const struct err *e)
{
    struct client_call *call = ctx;

    if (!client_try_again(call))
        client_fail_cut(call, e);
}

/* The request. */

static str client_next_piece(struct client_call *call)
{
    str piece = str_slice(call->body, call->body_at, call->body_at + PIECE_SIZE);

    assert(call->body_at <= call->body.n);
    call->body_at += piece.n;
    return piece;
}

static void client_send_body(struct client_call *call)
{
    while (call->body_at < call->body.n && !conn_full(call->conn))
        conn_write(call->conn, client_next_piece(call));
}

static void client_on_room(void *ctx)
{
    struct client_call *call = ctx;

    if (call->state != BODY)
        call->last_ns = loop_now_ns(call->client->loop);
    client_send_body(call);
}

static const struct conn_handler handler = {.on_bytes = client_on_bytes,
                                            .on_room = client_on_room,
                                            .on_end = client_on_end,
                                            .on_error = client_on_error};

static void client_begin(struct client_call *call, struct conn *c)
{
    assert(!call->conn && !call->dial && call->body_at == 0);
    call->state = SENT;
    call->conn = c;
    call->sent_before = conn_sent(c);
    conn_handler_set(c, &handler, call);
    if (call->paused)
        conn_pause(c);
    client_arm(call, call->first_ms);
    if (call->head.p + call->head.n == call->body.p && call->body.n <= PIECE_SIZE)
        conn_write_lent(c, (str){call->head.p, call->head.n + client_next_piece(call).n});
    else
        conn_write_parts(c, (str[]){call->head, client_next_piece(call)}, 2);
    client_send_body(call);
}

static void client_on_dialed(void *ctx, struct conn *c, const struct err *e)
{
    struct client_call *call = ctx;

    assert(call->state == DIALING && !call->conn);
    call->dial = NULL;
    if (c)
        client_begin(call, c);
    else
        client_fail(call, e);
}

static void client_start_dial(struct client_call *call)
{
    struct client *c = call->client;

    assert(!call->dial && !call->conn);
    call->state = DIALING;
    call->dial = dial_start(&(struct dial_to){.loop = c->loop,
                                              .resolver = c->resolver,
                                              .tls = call->tls ? c->tls : NULL,
                                              .host = client_host(call),
                                              .port = call->port,
                                              .timeout_ms = call->connect_ms},
                            client_on_dialed,
                            call);
}

static void net_client_start(struct client_call *call)
{
    struct conn *c = pool_take(call->client->pool, client_key(call));

    if (c) {
        call->kept = true;
        client_begin(call, c);
    } else {
        client_start_dial(call);
    }
}

void client_dial_to(struct client *c, bool tls, struct dial_to *out)
{
    *out = (struct dial_to){
        .loop = c->loop, .resolver = c->resolver, .tls = tls ? c->tls : NULL, .host = STR("")};
}

void client_cancel(struct client_call *call)
{
    if (call->state != OVER)
        client_set_over(call);
}

void client_pause(struct client_call *call)
{
    call->paused = true;
    if (call->conn)
        conn_pause(call->conn);
}

void client_resume(struct client_call *call)
{
    if (!call->paused)
        return;
    call->paused = false;
    if (call->state == BODY)
        call->last_ns = loop_now_ns(call->client->loop);
    if (call->conn)
        conn_resume(call->conn);
}

/* The head goes to where the body follows it, if there is room. */
static void client_keep_texts(struct client_call *call, const struct client_request *r, size_t head)
{
    char *key = (char *)(call + 1), *p = client_head_put_key(key, r->url), *end;

    call->host_n = (uint16_t)r->url->host.n;
    call->key_n = (uint16_t)(p - key);
    if (r->front >= head)
        p = (char *)(uintptr_t)r->body.p - head;
    end = client_head_put(p, r);
    call->head = (str){p, head};
    assert(end == p + head && (r->front >= head || end <= (char *)call + call->size));
}

static uint32_t client_at_most_a_day(uint64_t ms)
{
    return ms < TIMEOUT_MS_MAX ? (uint32_t)ms : (uint32_t)TIMEOUT_MS_MAX;
}

struct client_call *client_start(struct client *c, const struct client_request *r,
                                 const struct client_handler *h, void *ctx)
{
    size_t head = client_head_size(r);
    size_t size =
        sizeof(struct client_call) + PLACE_SPARE + r->url->host.n + (r->front >= head ? 0 : head);
    struct client_call *call = spare_alloc(&size);
    struct err e;

    *call = (struct client_call){
        .size = (uint32_t)size,
        .client = c,
        .next = c->calls,
        .at = &c->calls,
        .handler = h,
        .ctx = ctx,
        .body = r->body,
        .port = (uint16_t)r->url->port,
        .tls = r->url->tls,
        .once = r->once,
        .no_body = str_eq(r->method, STR("HEAD")),
        .connect_ms = client_at_most_a_day(r->connect_ms ? r->connect_ms : CLIENT_CONNECT_MS),
        .first_ms = client_at_most_a_day(r->first_ms),
        .stall_ms = client_at_most_a_day(r->stall_ms),
        .on_upgrade = r->on_upgrade,
    };
    if (c->calls)
        c->calls->at = &call->next;
    c->calls = call;
    buf_init(&call->in, CLIENT_HEAD_MAX + LOOP_SCRATCH_SIZE);
    loop_timer_init(&call->timer, client_on_timer, call);
    loop_task_init(&call->task, client_on_task, call);
    client_keep_texts(call, r, head);
    if (client_check(r, c->tls != NULL, &e)) {
        net_client_start(call);
        return call;
    }
    call->early = base_alloc(sizeof e);
    *call->early = e;
    loop_defer(c->loop, &call->task);
    return call;
}

struct client *client_new(struct loop *l, struct resolver *r, struct tls *tls)
{
    struct client *c = base_alloc(sizeof *c);

    *c = (struct client){.loop = l, .resolver = r, .tls = tls, .pool = pool_new(l, CLIENT_IDLE_MS)};
    return c;
}

void client_free(struct client *c)
{
    while (c && c->calls)
        client_cancel(c->calls);
    if (c)
        pool_free(c->pool);
    free(c);
}

size_t client_idle_count(const struct client *c)
{
    return pool_count(c->pool);
}
