/* conn_out.c - writes to a connection: queues bytes, or sends them at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/conn_state.h"
#include "net/sys.h"

#include <errno.h>
#include <sys/uio.h>

#define DIRECT_SIZE (16 * 1024) /* from here on a write does not wait for the round to end */
#define PARTS_MAX 3
#define RECORD_SIZE 16384 /* the most a TLS record takes */

/* Space for this many bytes at the end of the queue, or NULL if the queue is full. */
static char *queue_room(struct conn *c, size_t size)
{
    struct err e;
    char *p;

    assert(c->out_at <= c->out.n);
    if (c->out_at > DIRECT_SIZE && c->out_at >= c->out.n / 2) {
        buf_drop(&c->out, c->out_at);
        c->out_at = 0;
    }
    if (!c->out.p)
        buf_take(loop_bufs(c->loop), &c->out);
    p = buf_room(&c->out, size);
    if (p)
        return p;
    err_set(&e, ERR_LIMIT, "more than %zu bytes wait to be sent", CONN_QUEUE_MAX);
    conn_set_fault(c, &e);
    return NULL;
}

static void conn_out_queue_add(struct conn *c, str bytes)
{
    char *p;

    if (bytes.n == 0 || c->fault)
        return;
    p = queue_room(c, bytes.n);
    if (!p)
        return;
    memcpy(p, bytes.p, bytes.n);
    buf_wrote(&c->out, bytes.n);
}

/* The bytes of the queue that are copied and not sent. */
static size_t conn_out_count_copied(const struct conn *c)
{
    assert(c->out_at <= c->out.n);
    return c->out.n - c->out_at;
}

/* Copies lent bytes before more are queued after them. */
static void conn_copy_lent(struct conn *c)
{
    str lent = c->lent;

    c->lent = STR("");
    conn_out_queue_add(c, lent);
}

static void queue_sent(struct conn *c, size_t n)
{
    assert(n <= conn_out_count_copied(c));
    c->out_at += n;
    if (conn_out_count_copied(c) == 0)
        conn_release_queue(c);
}

/* The front of it was sent; how much of `sent` goes beyond. */
static size_t conn_out_pass(str *s, size_t sent)
{
    size_t n = sent < s->n ? sent : s->n;

    s->p += n;
    s->n -= n;
    return sent - n;
}

static void conn_put_iov(struct msghdr *msg, str s)
{
    if (s.n > 0)
        msg->msg_iov[msg->msg_iovlen++] = (struct iovec){(void *)(uintptr_t)s.p, s.n};
}

static void conn_send_plain(struct conn *c, str *more, size_t count)
{
    assert(count <= PARTS_MAX);
    while (!c->blocked) {
        str queue = conn_out_count_copied(c) ? (str){c->out.p + c->out_at, conn_out_count_copied(c)}
                                             : STR("");
        struct iovec iov[1 + PARTS_MAX];
        struct msghdr msg = {.msg_iov = iov};
        size_t left;
        struct err e;
        ssize_t n;

        conn_put_iov(&msg, queue);
        for (size_t i = 0; i < count; i++)
            conn_put_iov(&msg, more[i]);
        if (msg.msg_iovlen == 0)
            return;
        n = msg.msg_iovlen == 1 ? sys_send(c->watch.fd, iov[0].iov_base, iov[0].iov_len)
                                : sendmsg(c->watch.fd, &msg, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            c->blocked = true;
            return;
        }
        if (n < 0) {
            conn_err_from_errno(errno, &e);
            conn_set_fault(c, &e);
            return;
        }
        c->sent += (size_t)n;
        left = conn_out_pass(&queue, (size_t)n);
        queue_sent(c, (size_t)n - left);
        for (size_t i = 0; i < count; i++)
            left = conn_out_pass(&more[i], left);
    }
}

/* Bytes to TLS; how many were taken. */
static size_t conn_send_records(struct conn *c, str bytes)
{
    struct err e;
    size_t n = 0;

    if (bytes.n == 0 || c->blocked || c->fault)
        return 0;
    switch (tls_link_write(c->link, bytes, &n, &e)) {
    case TLS_AGAIN:
        c->blocked = true;
        break;
    case TLS_FAILED:
        conn_set_fault(c, &e);
        break;
    default:
        break;
    }
    c->sent += n;
    return n;
}

static void conn_send_tls(struct conn *c, str *more)
{
    size_t fill, n;

    assert(c->link);
    /* The head and what follows it share a record. */
    if (conn_out_count_copied(c) > 0 && conn_out_count_copied(c) < RECORD_SIZE && more->n > 0) {
        fill = RECORD_SIZE - conn_out_count_copied(c);
        conn_out_queue_add(c, str_slice(*more, 0, fill));
        *more = str_slice(*more, fill, more->n);
    }
    if (conn_out_count_copied(c) > 0) {
        n = conn_send_records(c, (str){c->out.p + c->out_at, conn_out_count_copied(c)});
        if (!c->fault)
            queue_sent(c, n);
    }
    if (conn_out_count_copied(c) == 0) {
        n = conn_send_records(c, *more);
        *more = str_slice(*more, n, more->n);
    }
}

/* Sends the queue and then these bytes until the socket is full; the rest is queued. */
static void conn_send_now(struct conn *c, const str *parts, size_t n)
{
    str more[PARTS_MAX], none = STR("");

    assert(n <= PARTS_MAX);
    for (size_t i = 0; i < n; i++)
        more[i] = parts[i];
    if (!c->link && !c->blocked)
        conn_send_plain(c, more, n);
    for (size_t i = 0; i < n; i++) {
        if (c->link && !c->blocked && more[i].n >= RECORD_SIZE)
            conn_send_tls(c, &more[i]);
        conn_out_queue_add(c, more[i]);
    }
    if (c->link && !c->blocked)
        conn_send_tls(c, &none);
}

void conn_flush_queue(struct conn *c)
{
    if (!conn_is_open(c))
        return;
    if (c->lent.n > 0) {
        str lent = c->lent;

        c->lent = STR("");
        conn_send_now(c, &lent, 1);
    } else if (conn_out_count_copied(c) > 0) {
        conn_send_now(c, NULL, 0);
    }
    if (c->out_state != CONN_OUT_FINISHING || conn_queued(c) > 0 || c->fault)
        return;
    if (c->link)
        tls_link_end(c->link);
    shutdown(c->watch.fd, SHUT_WR);
    c->out_state = CONN_OUT_FINISHED;
}

static bool conn_out_takes(const struct conn *c)
{
    return c->life < CONN_DEAD && c->out_state == CONN_OUT_OPEN && !c->fault;
}

/* Something was put into the queue. */
static void queue_grew(struct conn *c)
{
    if (conn_queued(c) > 0 && !c->blocked)
        loop_out(c->loop, &c->sending);
    if (conn_full(c))
        c->was_full = true;
}

void conn_write(struct conn *c, str bytes)
{
    if (bytes.n == 0 || !conn_out_takes(c))
        return;
    conn_copy_lent(c);
    if (conn_is_open(c) && conn_queued(c) + bytes.n >= DIRECT_SIZE)
        conn_send_now(c, &bytes, 1);
    else
        conn_out_queue_add(c, bytes);
    queue_grew(c);
}

void conn_write_parts(struct conn *c, const str *parts, size_t n)
{
    size_t size = 0;
    char *p;

    for (size_t i = 0; i < n; i++)
        size += parts[i].n;
    if (size == 0 || !conn_out_takes(c))
        return;
    conn_copy_lent(c);
    if (conn_is_open(c) && conn_queued(c) + size >= DIRECT_SIZE) {
        conn_send_now(c, parts, n);
    } else {
        p = queue_room(c, size);
        if (!p)
            return;
        for (size_t i = 0; i < n; i++)
            p = str_put(p, parts[i]);
        buf_wrote(&c->out, size);
    }
    queue_grew(c);
}

void conn_write_lent(struct conn *c, str bytes)
{
    if (conn_queued(c) > 0 || bytes.n >= DIRECT_SIZE || !conn_is_open(c) || c->blocked) {
        conn_write(c, bytes);
        return;
    }
    if (!conn_out_takes(c))
        return;
    c->lent = bytes;
    queue_grew(c);
}

void conn_write_buf(struct conn *c, struct buf *b)
{
    if (c->out.p || c->lent.n > 0 || b->n > CONN_QUEUE_MAX) {
        conn_write(c, buf_str(b));
        return;
    }
    if (b->n == 0 || !conn_out_takes(c))
        return;
    assert(c->out_at == 0 && c->out.n == 0);
    buf_move(&c->out, b);
    if (conn_queued(c) >= DIRECT_SIZE)
        conn_flush_queue(c);
    queue_grew(c);
}

bool conn_full(const struct conn *c)
{
    return conn_queued(c) >= CONN_HIGH;
}

size_t conn_queued(const struct conn *c)
{
    return conn_out_count_copied(c) + c->lent.n;
}

uint64_t conn_sent(const struct conn *c)
{
    return c->sent;
}

void conn_flush(struct conn *c)
{
    conn_flush_queue(c);
    if (c->was_full)
        loop_defer(c->loop, &c->task); /* on_room may be due */
}

void conn_finish(struct conn *c)
{
    if (c->out_state == CONN_OUT_OPEN)
        c->out_state = CONN_OUT_FINISHING;
    loop_defer(c->loop, &c->task);
}

void conn_on_send(void *ctx)
{
    conn_flush(ctx);
}
