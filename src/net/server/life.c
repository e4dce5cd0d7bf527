/* life.c - a connection's life, and what a handler may ask of the exchange on it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/server/internal.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* The data that a handler derives from a request may be larger than the request, up to this
 * factor. */
#define ARENA_FACTOR 8
#define ARENA_MIN ((size_t)256 << 20)

uint64_t server_now(const struct server_exchange *x)
{
    return loop_now_ns(x->server->loop);
}

/* Whether both ends of the connection have one address: then the peer is this machine, at an
 * address other than loopback. */
static bool peer_is_self(int fd, const struct sockaddr_storage *from)
{
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof own;
    struct sockaddr_in v4[2];
    struct sockaddr_in6 v6[2];

    if (getsockname(fd, (struct sockaddr *)&own, &size) != 0 || own.ss_family != from->ss_family)
        return false;
    memcpy(&v4[0], &own, sizeof v4[0]);
    memcpy(&v4[1], from, sizeof v4[1]);
    memcpy(&v6[0], &own, sizeof v6[0]);
    memcpy(&v6[1], from, sizeof v6[1]);
    return own.ss_family == AF_INET
               ? v4[0].sin_addr.s_addr == v4[1].sin_addr.s_addr
               : own.ss_family == AF_INET6 &&
                     memcmp(&v6[0].sin6_addr, &v6[1].sin6_addr, sizeof v6[0].sin6_addr) == 0;
}

/* The address of an IPv4 peer, if it is one. */
static const unsigned char *peer_quad(const struct server_exchange *x)
{
    return IN6_IS_ADDR_V4MAPPED(&x->peer) ? x->peer.s6_addr + 12 : NULL;
}

static void server_set_peer(struct server_exchange *x, const struct sockaddr_storage *from)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    const unsigned char *quad;

    memcpy(&v4, from, sizeof v4);
    memcpy(&v6, from, sizeof v6);
    if (from->ss_family == AF_INET6) {
        x->peer = v6.sin6_addr;
    } else if (from->ss_family == AF_INET) {
        x->peer.s6_addr[10] = x->peer.s6_addr[11] = 0xFF;
        memcpy(x->peer.s6_addr + 12, &v4.sin_addr, 4);
    } else {
        x->local = x->near = true;
        return;
    }
    quad = peer_quad(x);
    x->near = (quad ? quad[0] == 127 : IN6_IS_ADDR_LOOPBACK(&x->peer)) || peer_is_self(x->fd, from);
}

static void server_unlink_and_free(struct server_exchange *x)
{
    struct server *s = x->server;

    assert(x->state == ST_CLOSED && !x->go.queued);
    assert(x->prev ? x->prev->next == x : s->first == x);
    if (x->prev)
        x->prev->next = x->next;
    else
        s->first = x->next;
    if (x->next)
        x->next->prev = x->prev;
    loop_drop(s->loop, &x->task);
    server_ws_free(x);
    server_read_free_head(x);
    server_read_free_large(x);
    arena_release(&x->arena);
    buf_release(&x->in);
    free(x);
}

static void server_life_on_task(void *ctx)
{
    struct server_exchange *x = ctx;

    if (x->state == ST_CLOSED)
        server_unlink_and_free(x);
    else
        server_take_waiting(x);
}

void server_exchange_add(struct server *s, int fd, const struct sockaddr_storage *from)
{
    struct server_exchange *x = base_alloc(sizeof *x);
    size_t arena_max = s->o.body_max * ARENA_FACTOR;
    struct err e;

    *x = (struct server_exchange){.server = s, .fd = fd, .open = !s->o.tls, .body = STR("")};
    loop_task_init(&x->task, server_life_on_task, x);
    loop_task_init(&x->go, server_go, x);
    arena_init(&x->arena, arena_max > ARENA_MIN ? arena_max : ARENA_MIN);
    buf_init(&x->in, s->o.head_max + LOOP_SCRATCH_SIZE);
    server_set_peer(x, from);
    x->since_ns = x->sent_ns = server_now(x);
    x->conn = conn_accept(s->loop, fd, s->o.tls, &server_conn_handler, x, &e);
    if (!x->conn) {
        free(x);
        return;
    }
    x->next = s->first;
    if (s->first)
        s->first->prev = x;
    s->first = x;
    if (s->count++ >= s->o.conns_max)
        server_refuse(x, 503, "too many connections");
}

void server_exchange_close(struct server_exchange *x)
{
    struct server *s = x->server;

    if (x->state == ST_CLOSED)
        return;
    x->state = ST_CLOSED;
    loop_drop(s->loop, &x->go);
    if (x->large) {
        gzip_unpacker_free(x->large->unpacker);
        x->large->unpacker = NULL;
    }
    conn_close(x->conn);
    loop_defer(s->loop, &x->task);
    assert(s->count > 0);
    if (--s->count == 0 && s->draining)
        loop_defer(s->loop, &s->idle_task);
}

void server_exchange_gone(struct server_exchange *x)
{
    if (x->go.queued)
        loop_drop(x->server->loop, &x->go); /* the handler does not know it yet */
    else if (x->state == ST_ANSWER)
        x->server->handler->on_gone(x->server->ctx, x);
    else if (x->state == ST_SOCKET)
        server_ws_gone(x, 1006);
    server_exchange_close(x);
}

void server_exchange_linger(struct server_exchange *x)
{
    if (x->state == ST_CLOSED)
        return;
    assert(!x->go.queued && !(x->large && x->large->unpacker));
    x->state = ST_LINGER;
    x->since_ns = x->linger_ns = server_now(x);
    server_read_free_head(x);
    x->head = NULL;
    arena_release(&x->arena);
    server_read_free_large(x);
    buf_release(&x->in);
    conn_finish(x->conn);
    conn_resume(x->conn);
}

/* Frees the data of one request. */
static void server_life_clean(struct server_exchange *x)
{
    assert(!x->go.queued);
    server_read_free_head(x);
    x->head = NULL;
    arena_release(&x->arena);
    if (x->large && x->large->bytes.cap > SERVER_KEEP_MAX)
        server_read_free_large(x);
    else if (x->large)
        buf_reset(&x->large->bytes);
    x->body = STR("");
    x->user = NULL;
    x->head_sent = x->chunked = x->no_body = false;
}

void server_exchange_end(struct server_exchange *x)
{
    assert(x->state == ST_ANSWER);
    assert(x->head);
    x->used = true;
    server_life_clean(x);
    if (!x->keep || x->server->draining) {
        server_exchange_linger(x);
        return;
    }
    x->state = ST_HEAD;
    x->since_ns = server_now(x);
    if (x->in.n > 0)
        loop_defer(x->server->loop, &x->task);
    else
        conn_resume(x->conn);
}

void server_leave(struct server_exchange *x)
{
    server_end(x);
    x->brief = x->state == ST_LINGER;
}

size_t server_queued(const struct server_exchange *x)
{
    return conn_queued(x->conn);
}

void server_abort(struct server_exchange *x)
{
    struct linger now = {.l_onoff = 1};

    assert(x->state == ST_ANSWER);
    /* A reply without length and chunks would look complete after a normal close. */
    if (x->head_sent && !x->chunked) {
        conn_flush(x->conn);
        (void)setsockopt(x->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        server_exchange_close(x);
        return;
    }
    server_exchange_linger(x);
}

/* A separate function, so that the usual path needs no stack frame. */
NOINLINE static void server_parse_request(struct server_exchange *x)
{
    struct server *s = x->server;
    struct http1_fault fault;
    size_t used;

    if (http1_request_again(
            &s->again, (str){x->head, x->head_size}, s->o.head_max, &s->head, &used, &fault) !=
        HTTP1_DONE)
        base_die("a head that was valid no longer is");
    server_read_copy_head(x);
}

const struct http1_head *server_request(struct server_exchange *x)
{
    assert(x->state == ST_ANSWER && x->head);
    if (!x->request)
        server_parse_request(x);
    return x->request;
}

void server_request_drop(struct server_exchange *x)
{
    assert(x->state == ST_ANSWER && x->head_sent);
    server_read_free_head(x);
}

str server_body(const struct server_exchange *x)
{
    return x->body;
}

str server_peer(const struct server_exchange *x)
{
    char *text = x->server->peer;
    const unsigned char *quad = peer_quad(x);

    if (x->local)
        return STR("unix");
    if (quad)
        inet_ntop(AF_INET, quad, text, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET6, &x->peer, text, INET6_ADDRSTRLEN);
    return str_c(text);
}

const unsigned char *server_peer_address(const struct server_exchange *x)
{
    static const struct in6_addr none;

    return x->local ? none.s6_addr : x->peer.s6_addr;
}

bool server_peer_near(const struct server_exchange *x)
{
    return x->near;
}

struct arena *server_arena(struct server_exchange *x)
{
    return &x->arena;
}

void *server_user(const struct server_exchange *x)
{
    return x->user;
}

void server_user_set(struct server_exchange *x, void *user)
{
    x->user = user;
}
