/* SPDX-License-Identifier: Apache-2.0 */
#include "net_side.h"

#include "net_peer.h"
#include "test.h"

#include <sys/socket.h>
#include <unistd.h>

void side_happened(struct side *s, char what)
{
    if (what != 'b' || s->log.n == 0 || s->log.p[s->log.n - 1] != 'b')
        buf_add_c(&s->log, what); /* consecutive bytes are one event */
    if (what == s->pause_at)
        conn_pause(s->conn);
    if (what == s->close_at)
        conn_close(s->conn);
    loop_stop(s->loop);
}

void side_flood(struct side *s)
{
    static const char bytes[40000];

    while (s->flood_left > 0 && !conn_full(s->conn)) {
        size_t n = s->flood_left < sizeof bytes ? s->flood_left : sizeof bytes;

        conn_write(s->conn, (str){bytes, n});
        s->flood_left -= n;
        if (conn_queued(s->conn) > s->queued_most)
            s->queued_most = conn_queued(s->conn);
    }
}

static void on_open(void *ctx)
{
    side_happened(ctx, 'o');
}

static void on_bytes(void *ctx, str bytes)
{
    struct side *s = ctx;

    s->got += bytes.n;
    if (s->keep)
        buf_add(&s->in, bytes);
    side_happened(s, 'b');
}

static void on_room(void *ctx)
{
    struct side *s = ctx;

    side_happened(s, 'r');
    if (s->close_at != 'r')
        side_flood(s);
}

static void on_hangup(void *ctx)
{
    side_happened(ctx, 'h');
}

static void on_end(void *ctx)
{
    side_happened(ctx, 'e');
}

static void on_error(void *ctx, const struct err *e)
{
    struct side *s = ctx;

    s->err = *e;
    side_happened(s, 'x');
}

const struct conn_handler side_handler = {on_open, on_bytes, on_room, on_hangup, on_end, on_error};

void side_init(struct side *s, struct side *other)
{
    struct err e;

    *s = (struct side){.keep = true, .shared = other != NULL};
    s->loop = other ? other->loop : loop_new(&clock_real, &e);
    CHECK(s->loop);
    buf_init(&s->in, 1 << 20);
    buf_init(&s->log, 1000);
}

void side_release(struct side *s)
{
    if (!s->close_at || !memchr(s->log.p ? s->log.p : "", s->close_at, s->log.n))
        conn_close(s->conn);
    if (!s->shared)
        loop_free(s->loop);
    buf_release(&s->in);
    buf_release(&s->log);
}

int side_accept(struct side *s)
{
    return side_accept_on(s, NULL);
}

int side_accept_on(struct side *s, struct side *other)
{
    unsigned port;
    int listener = peer_listen(&port), peer = peer_connect(port), fd;
    struct err e;

    side_init(s, other);
    fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    close(listener);
    s->conn = conn_accept(s->loop, fd, NULL, &side_handler, s, &e);
    CHECK_F(s->conn, "%s", e.text);
    return peer;
}

void side_run_until(struct side *s, const char *log)
{
    while (s->log.n < strlen(log))
        loop_run(s->loop);
    CHECK_STR(buf_str(&s->log), log);
}

static void stop(void *ctx)
{
    loop_stop(ctx);
}

void side_run_once(struct side *s)
{
    struct loop_task t;

    loop_task_init(&t, stop, s->loop);
    loop_defer(s->loop, &t);
    loop_run(s->loop);
    loop_drop(s->loop, &t); /* another event may have stopped the loop first */
}

void side_connect(struct side *s, struct tls *tls, const char *host, unsigned port)
{
    struct sockaddr_in a = peer_address(port);
    struct err e;

    side_init(s, NULL);
    s->conn = conn_connect(s->loop,
                           &(struct conn_target){(struct sockaddr *)&a, sizeof a, tls, str_c(host)},
                           &side_handler,
                           s,
                           &e);
    CHECK_F(s->conn, "%s", e.text);
}
