/* server.c - the server as a whole: listening, sweeping, draining.
 *
 * No connection has a timer. Once a second, or sooner if a timeout is short, all of them are looked
 * at: that costs less than moving a timer for each request.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/log.h"
#include "net/server/internal.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPT_TURN_MAX 64
#define LAST_TURNS_MAX 64
#define SWEEP_MS_MAX 1000
#define SWEEP_MS_MIN 5
#define OVER_MAX 256 /* connections beyond the limit that get a reply */
#define HEAD_SIZE_MAX (1 << 20)
#define RESTED_MS 1000 /* before a connection may be closed for the sake of another */
#define SHORT_MS 60000 /* without a shortage of descriptors before the next one is logged */

static uint64_t server_ms_of(uint64_t ns)
{
    return ns / CLOCK_NS_PER_MS;
}

static void server_set_defaults(struct server_options *o)
{
    o->body_max = o->body_max ? o->body_max : (size_t)32 << 20;
    o->head_max = o->head_max ? o->head_max : (size_t)32 << 10;
    o->gzip_min = o->gzip_min ? o->gzip_min : 1024;
    o->header_ms = o->header_ms ? o->header_ms : 10000;
    o->body_ms = o->body_ms ? o->body_ms : 30000;
    o->idle_ms = o->idle_ms ? o->idle_ms : 60000;
    o->write_ms = o->write_ms ? o->write_ms : 60000;
    o->conns_max = o->conns_max ? o->conns_max : 20000;
}

static uint64_t sweep_ms_of(const struct server_options *o)
{
    const uint64_t times[] = {o->header_ms, o->body_ms, o->idle_ms, o->write_ms, SERVER_LINGER_MS};
    uint64_t ms = SWEEP_MS_MAX;

    for (size_t i = 0; i < COUNT_OF(times); i++)
        if (times[i] / 4 < ms)
            ms = times[i] / 4;
    return ms < SWEEP_MS_MIN ? SWEEP_MS_MIN : ms;
}

/* A connection keeps memory from request to request while it is busy, and releases it when idle. */
static void server_release_idle_memory(struct server_exchange *x)
{
    assert(x->state == ST_HEAD);
    arena_release(&x->arena);
    server_read_free_large(x);
    if (x->in.n == 0)
        buf_release(&x->in);
}

static void sweep_head(struct server_exchange *x, uint64_t waited_ms)
{
    const struct server_options *o = &x->server->o;

    assert(x->state == ST_HEAD);
    if (x->server->draining && x->in.n == 0 && waited_ms >= SERVER_FRESH_MS) {
        server_exchange_close(x);
    } else if (!x->open) {
        if (waited_ms >= o->header_ms)
            server_exchange_close(x);
    } else if (x->in.n > 0) {
        if (waited_ms >= o->header_ms && !conn_full(x->conn))
            server_refuse(x, 408, "the request's head did not come in time");
    } else if (waited_ms >= o->idle_ms) {
        server_exchange_close(x);
    } else if (waited_ms >= x->server->sweep_ms) {
        server_release_idle_memory(x);
    }
}

static void sweep_linger(struct server_exchange *x, uint64_t now_ns)
{
    assert(x->state == ST_LINGER);
    bool hurry = x->brief && x->server->draining;

    if (hurry && server_ms_of(now_ns - x->linger_ns) >= SERVER_BRIEF_MS)
        server_exchange_close(x);
    else if (conn_queued(x->conn) > 0 && !hurry)
        x->since_ns = x->linger_ns = now_ns; /* its reply was not sent yet */
    else if (x->ended || server_ms_of(now_ns - x->since_ns) >= SERVER_LINGER_MS ||
             server_ms_of(now_ns - x->linger_ns) >= SERVER_LINGER_MS_MAX)
        server_exchange_close(x);
}

/* Whether the client has taken nothing of what waits for it for too long. */
static bool server_is_stuck(struct server_exchange *x, uint64_t now_ns)
{
    uint64_t sent = conn_sent(x->conn);

    assert(sent >= x->sent);
    if (conn_queued(x->conn) == 0 || sent != x->sent) {
        x->sent = sent;
        x->sent_ns = now_ns;
        return false;
    }
    return server_ms_of(now_ns - x->sent_ns) >= x->server->o.write_ms;
}

static void sweep_one(struct server_exchange *x, uint64_t now_ns)
{
    uint64_t waited_ms = server_ms_of(now_ns - x->since_ns);

    assert(now_ns >= x->since_ns);
    if (x->state != ST_CLOSED && server_is_stuck(x, now_ns)) {
        server_exchange_gone(x);
        return;
    }
    switch (x->state) {
    case ST_HEAD:
        sweep_head(x, waited_ms);
        break;
    case ST_BODY:
        if (waited_ms >= x->server->o.body_ms)
            server_refuse(x, 408, "the request's body did not come in time");
        break;
    case ST_SOCKET:
        server_ws_sweep(x, now_ns);
        break;
    case ST_LINGER:
        sweep_linger(x, now_ns);
        break;
    case ST_ANSWER:
    case ST_CLOSED:
        break;
    }
}

static void server_on_sweep(void *ctx)
{
    struct server *s = ctx;
    uint64_t now_ns = loop_now_ns(s->loop);

    for (struct server_exchange *x = s->first; x; x = x->next)
        sweep_one(x, now_ns);
    /* Where no descriptor was left, the edge is lost: look again. */
    for (struct server_listener *l = s->listeners; l; l = l->next)
        loop_defer(s->loop, &l->task);
    loop_timer_set(s->loop, &s->sweep, s->sweep_ms);
}

static void server_on_idle_task(void *ctx)
{
    struct server *s = ctx;

    if (s->on_idle)
        s->on_idle(s->on_idle_ctx);
}

struct server *server_new(struct loop *l, const struct server_options *o,
                          const struct server_handler *h, void *ctx, struct err *e)
{
    struct server *s;

    if (o->head_max > HEAD_SIZE_MAX) {
        err_input(e, "a head of more than %d bytes is too much", HEAD_SIZE_MAX);
        return NULL;
    }
    s = base_alloc(sizeof *s);
    *s = (struct server){.loop = l, .o = *o, .handler = h, .ctx = ctx, .date_s = UINT64_MAX};
    server_set_defaults(&s->o);
    buf_init(&s->out, (size_t)1 << 20);
    loop_timer_init(&s->sweep, server_on_sweep, s);
    loop_task_init(&s->idle_task, server_on_idle_task, s);
    s->sweep_ms = sweep_ms_of(&s->o);
    loop_timer_set(l, &s->sweep, s->sweep_ms);
    return s;
}

void server_options_set(struct server *s, const struct server_options *o)
{
    size_t head_max = s->o.head_max;

    s->o = *o;
    s->o.head_max = head_max; /* buffers of that size are in use */
    server_set_defaults(&s->o);
    s->sweep_ms = sweep_ms_of(&s->o);
}

void server_on_refusal(struct server *s, size_t (*fn)(void *ctx, const struct server_refusal *r,
                                                      struct server_header *out))
{
    s->on_refusal = fn;
}

static void server_stop_listening(struct server *s)
{
    while (s->listeners) {
        struct server_listener *l = s->listeners;

        s->listeners = l->next;
        loop_drop(s->loop, &l->task);
        loop_watch_remove(s->loop, &l->watch);
        close(l->watch.fd);
        free(l);
    }
}

void server_free(struct server *s)
{
    if (!s)
        return;
    server_stop_listening(s);
    s->on_idle = NULL;
    while (s->first) {
        struct server_exchange *x = s->first;

        server_exchange_close(x);
        x->task.fn(x); /* frees it */
    }
    assert(s->count == 0);
    loop_drop(s->loop, &s->idle_task);
    loop_timer_clear(s->loop, &s->sweep);
    gzip_free(s->gzip);
    buf_release(&s->out);
    free(s);
}

/* Closes the connection that has been idle longest, to make room for a new one. */
static bool server_server_make_room(struct server *s)
{
    struct server_exchange *idle = NULL;
    uint64_t now_ns = loop_now_ns(s->loop);

    if (!s->short_ns || server_ms_of(now_ns - s->short_ns) >= SHORT_MS)
        log_warn("no descriptor is left for a connection", LOG_U64("open", s->count));
    s->short_ns = now_ns;
    for (struct server_exchange *x = s->first; x; x = x->next)
        if (x->state == ST_HEAD && x->used && x->in.n == 0 && conn_queued(x->conn) == 0 &&
            server_ms_of(now_ns - x->since_ns) >= RESTED_MS &&
            (!idle || x->since_ns < idle->since_ns))
            idle = x;
    if (idle)
        server_exchange_close(idle);
    return idle != NULL;
}

/* Whether there may be more. */
static bool server_accept_turn(struct server_listener *l)
{
    struct server *s = l->server;

    for (int i = 0; i < ACCEPT_TURN_MAX; i++) {
        struct sockaddr_storage from = {0};
        socklen_t size = sizeof from;
        int fd =
            accept4(l->watch.fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            if (s->count < s->o.conns_max + OVER_MAX)
                server_exchange_add(s, fd, &from);
            else
                close(fd);
        } else if (errno == EMFILE || errno == ENFILE) {
            if (!server_server_make_room(s))
                return false;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return false;
        }
    }
    return true;
}

static void server_accept_some(void *ctx)
{
    struct server_listener *l = ctx;

    if (server_accept_turn(l))
        loop_defer(l->server->loop, &l->task);
}

static void server_on_acceptable(void *ctx, unsigned ready)
{
    (void)ready;
    server_accept_some(ctx);
}

bool server_listen(struct server *s, int fd, struct err *e)
{
    struct server_listener *l = base_alloc(sizeof *l);

    assert(fd >= 0);
    *l = (struct server_listener){.server = s, .next = s->listeners};
    loop_task_init(&l->task, server_accept_some, l);
    loop_watch_init(&l->watch, fd, server_on_acceptable, l);
    if (!loop_watch_add(s->loop, &l->watch, LOOP_IN, e)) {
        close(fd);
        free(l);
        return false;
    }
    s->listeners = l;
    return true;
}

/* Closing the socket would reset connections that the kernel has already accepted. */
static void server_accept_last(struct server *s)
{
    for (struct server_listener *l = s->listeners; l; l = l->next)
        for (int i = 0; i < LAST_TURNS_MAX && server_accept_turn(l); i++)
            ;
}

static bool server_is_young(const struct server_exchange *x)
{
    return server_ms_of(server_now(x) - x->since_ns) < SERVER_FRESH_MS;
}

void server_drain(struct server *s, void (*on_idle)(void *ctx), void *ctx)
{
    s->draining = true;
    s->on_idle = on_idle;
    s->on_idle_ctx = ctx;
    server_accept_last(s);
    server_stop_listening(s);
    for (struct server_exchange *x = s->first; x; x = x->next) {
        if (x->state == ST_HEAD && x->in.n == 0 && !x->used && server_is_young(x))
            continue; /* its request is on its way */
        if (x->state == ST_HEAD && x->in.n == 0 && conn_queued(x->conn) == 0)
            server_exchange_close(x);
        else if (x->state == ST_HEAD && x->in.n == 0)
            server_exchange_linger(x);
        else if (x->state == ST_SOCKET)
            server_ws_gone(x, 1001);
    }
    if (s->count == 0)
        loop_defer(s->loop, &s->idle_task);
}

size_t server_count(const struct server *s)
{
    return s->count;
}

void server_cut(struct server *s)
{
    for (struct server_exchange *x = s->first; x; x = x->next)
        if (x->state != ST_CLOSED)
            server_exchange_gone(x);
}
