/* conn.c - sockets on the loop: events set flags, and one function does the work.
 *
 * The loop is edge-triggered, so an event only sets a flag (readable, not blocked any more, ended,
 * gone) and reads the available bytes of a plain socket. In the next step conn_work() acts on the
 * flags: it performs the handshake, sends the queue, reads and delivers bytes, and reports events.
 * Code that changes a flag elsewhere (a resume, a failed send) defers conn_work() to the end of the
 * round. So callbacks are called in one place, which checks after each of them whether the
 * connection was closed. Sending waits for the end of the round's steps: see conn_out.c.
 *
 * A closed connection releases everything at once except its struct, which conn_work() frees at the
 * end of the round, because callers on the stack may still read its flags.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/conn_state.h"
#include "net/sys.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#define READ_TURN_MAX (64 * 1024) /* bytes read before other connections get their turn */
#define GREEDY_SIZE (16 * 1024)   /* the same for one that had more than that */
#define KEEPALIVE_S 60

static const struct {
    int number;
    const char *what;
} reasons[] = {
    {ECONNREFUSED, "the connection was refused"},
    {ECONNRESET, "the connection was reset by the peer"},
    {EPIPE, "the connection was closed by the peer"},
    {ETIMEDOUT, "the peer does not answer any more"},
    {EHOSTUNREACH, "there is no route to it"},
    {ENETUNREACH, "there is no route to its network"},
};

bool conn_err_from_errno(int number, struct err *e)
{
    const char *what = strerrordesc_np(number);

    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (reasons[i].number == number)
            return err_set(e, ERR_UPSTREAM, "%s", reasons[i].what);
    return err_set(e, ERR_UPSTREAM, "the connection failed: %s", what ? what : "unknown error");
}

void conn_release_queue(struct conn *c)
{
    buf_give(loop_bufs(c->loop), &c->out);
    c->out_at = 0;
    c->lent = STR("");
}

/* Writing has failed. conn_work() reports it after the received bytes are read. */
void conn_set_fault(struct conn *c, const struct err *e)
{
    assert(c->life != CONN_CLOSED);
    if (c->fault)
        return;
    c->fault = base_alloc(sizeof *c->fault);
    *c->fault = *e;
    c->readable = true;
    conn_release_queue(c);
    loop_defer(c->loop, &c->task);
}

/* Reading. */

static bool conn_can_read(const struct conn *c)
{
    return (c->readable || c->early.n > 0) && !c->paused && c->life < CONN_DEAD && !c->end_reported;
}

/* Reads at most this many bytes; the result says whether there are more. */
static enum tls_result conn_receive_bytes(struct conn *c, char *to, size_t most, str *got,
                                          int *number)
{
    ssize_t n;

    do
        n = sys_recv(c->watch.fd, to, most);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return TLS_END;
    if (n < 0 && errno == EAGAIN)
        return TLS_AGAIN;
    if (n < 0) {
        *number = errno;
        return TLS_FAILED;
    }
    *got = (str){to, (size_t)n};
    /* Fewer bytes than requested: the socket is empty, and epoll reports the next ones. But an end
     * that epoll has already reported is not reported again. */
    return got->n < most && !c->ended && !c->gone && !c->fault ? TLS_AGAIN : TLS_DONE;
}

/* All sockets of a round are read before the bytes of the first are processed. */
static void conn_read_early(struct conn *c)
{
    size_t room;
    char *to;

    if (!conn_can_read(c) || c->link || c->ended || c->early.n > 0 || c->early_errno)
        return;
    to = loop_early(c->loop, &room);
    if (room == 0)
        return;
    if (conn_receive_bytes(
            c, to, room < READ_TURN_MAX ? room : READ_TURN_MAX, &c->early, &c->early_errno) ==
        TLS_AGAIN)
        c->readable = false;
    loop_early_keep(c->loop, c->early.n);
}

/* The bytes are kept until the reader resumes. */
static void conn_hold_early(struct conn *c)
{
    struct buf held;

    assert(c->early.n > 0 && !c->held);
    buf_init(&held, CONN_QUEUE_MAX);
    buf_take(loop_bufs(c->loop), &held);
    buf_add(&held, c->early);
    assert(held.n == c->early.n && held.front == 0);
    c->early = buf_str(&held);
    c->held = held.p;
    c->held_cap = (uint32_t)held.cap; /* at most BUF_SPARE_MAX, or a little more than the bytes */
}

/* The connection holds no bytes from here on. */
static struct buf conn_take_held(struct conn *c)
{
    struct buf held = {.p = c->held, .cap = c->held_cap, .size_max = CONN_QUEUE_MAX};

    c->held = NULL;
    return held;
}

static enum tls_result conn_take(struct conn *c, size_t most, str *got, struct err *e)
{
    enum tls_result result;

    *got = (str){loop_scratch(c->loop), 0};
    if (c->early.n > 0) {
        *got = c->early;
        c->early.n = 0;
        return c->readable ? TLS_DONE : TLS_AGAIN;
    }
    if (c->link)
        return tls_link_read(c->link, loop_scratch(c->loop), most, &got->n, e);
    result = c->early_errno
                 ? TLS_FAILED
                 : conn_receive_bytes(c, loop_scratch(c->loop), most, got, &c->early_errno);
    if (result == TLS_FAILED)
        conn_err_from_errno(c->early_errno, e);
    return result;
}

static void conn_report_error(struct conn *c, const struct err *e)
{
    struct err copy = *e;

    assert(c->life < CONN_DEAD); /* once, and last */
    c->life = CONN_DEAD;
    conn_release_queue(c);
    c->handler->on_error(c->ctx, &copy);
}

/* The held bytes outlive a close in the callback. */
static void conn_hand_on(struct conn *c, str bytes)
{
    struct buf held = conn_take_held(c);

    assert(c->life == CONN_OPEN);
    c->handler->on_bytes(c->ctx, bytes);
    if (held.p)
        buf_give(loop_bufs(c->loop), &held);
}

static void conn_read_turn(struct conn *c)
{
    size_t turn = c->greedy ? GREEDY_SIZE : READ_TURN_MAX, taken = 0;

    while (conn_can_read(c)) {
        enum tls_result result;
        struct err e;
        str got;

        if (taken >= turn) {
            c->greedy = true;
            loop_yield(c->loop, &c->task);
            return;
        }
        result = conn_take(c, turn < LOOP_SCRATCH_SIZE ? turn : LOOP_SCRATCH_SIZE, &got, &e);
        taken += got.n;
        if (result != TLS_DONE)
            c->readable = c->greedy = false;
        if (got.n > 0) {
            conn_hand_on(c, got);
        } else if (result == TLS_END) {
            c->end_reported = true;
            c->handler->on_end(c->ctx);
        } else if (result == TLS_FAILED) {
            conn_report_error(c, &e);
        }
    }
}

void conn_pause(struct conn *c)
{
    c->paused = true;
    if (c->ended || c->gone)
        loop_defer(c->loop, &c->task);
}

void conn_resume(struct conn *c)
{
    c->paused = false;
    if (c->readable || c->early.n > 0)
        loop_defer(c->loop, &c->task);
}

/* Finds an error of the socket that no read would report. */
static void conn_look_for_error(struct conn *c)
{
    int number = 0;
    socklen_t size = sizeof number;
    struct err e;

    if (!c->gone || c->fault || (!c->paused && !c->end_reported))
        return;
    c->gone = false;
    if (getsockopt(c->watch.fd, SOL_SOCKET, SO_ERROR, &number, &size) == 0 && number != 0) {
        conn_err_from_errno(number, &e);
        conn_set_fault(c, &e);
    }
}

/* Opening. */

static void conn_set_open(struct conn *c)
{
    assert(c->life < CONN_OPEN && c->reached);
    c->life = CONN_OPEN;
    loop_defer(c->loop, &c->task); /* for bytes written in the meantime */
    if (c->handler->on_open)
        c->handler->on_open(c->ctx);
}

static void conn_tls_handshake(struct conn *c)
{
    struct err e;

    switch (tls_link_shake(c->link, &e)) {
    case TLS_DONE:
        conn_set_open(c);
        break;
    case TLS_AGAIN:
        break;
    default:
        conn_report_error(c, &e);
    }
}

static void conn_finish_connect(struct conn *c)
{
    int number = 0;
    socklen_t size = sizeof number;
    struct err e;

    assert(c->life == CONN_CONNECTING);
    if (getsockopt(c->watch.fd, SOL_SOCKET, SO_ERROR, &number, &size) < 0)
        number = errno;
    if (number != 0) {
        conn_err_from_errno(number, &e);
        conn_report_error(c, &e);
        return;
    }
    c->reached = true;
    if (c->link)
        c->life = CONN_SHAKING;
    else
        conn_set_open(c);
}

/* All that is due. */
static void conn_work(struct conn *c)
{
    assert(c->life != CONN_CLOSED);
    if (c->life == CONN_SHAKING)
        conn_tls_handshake(c);
    if (c->life != CONN_OPEN)
        return;
    conn_flush_queue(c);
    conn_read_turn(c);
    if (c->life != CONN_OPEN)
        return;
    if (c->early.n > 0 && !c->held)
        conn_hold_early(c);
    conn_look_for_error(c);
    if (c->was_full && conn_queued(c) <= CONN_LOW && !c->fault) {
        c->was_full = false;
        if (c->handler->on_room)
            c->handler->on_room(c->ctx);
    }
    if (c->life == CONN_OPEN && c->paused && c->ended && !c->hangup_reported) {
        c->hangup_reported = true;
        if (c->handler->on_hangup)
            c->handler->on_hangup(c->ctx);
    }
    if (c->life == CONN_OPEN && c->fault && !conn_can_read(c))
        conn_report_error(c, c->fault);
}

static void conn_on_task(void *ctx)
{
    struct conn *c = ctx;

    if (c->life == CONN_CLOSED)
        free(c);
    else
        conn_work(c);
}

static void conn_on_ready(void *ctx, unsigned ready)
{
    struct conn *c = ctx;

    if (c->life == CONN_CONNECTING && (ready & (LOOP_OUT | LOOP_GONE)) == 0)
        return;
    if (c->life == CONN_CONNECTING)
        conn_finish_connect(c);
    if (c->life >= CONN_DEAD)
        return;
    if (ready & LOOP_OUT)
        c->blocked = false;
    /* TLS may have to write before it reads on. */
    if ((ready & (LOOP_IN | LOOP_END | LOOP_GONE)) || c->link)
        c->readable = true;
    if (ready & (LOOP_END | LOOP_GONE))
        c->ended = true;
    if (ready & LOOP_GONE)
        c->gone = true;
    if (c->greedy) {
        loop_yield(c->loop, &c->task);
        return;
    }
    conn_read_early(c);
    loop_soon(c->loop, &c->task);
}

static struct conn *conn_new(struct loop *l, int fd, enum conn_life life,
                             const struct conn_handler *h, void *ctx)
{
    struct conn *c = base_alloc(sizeof *c);

    *c = (struct conn){.life = (uint8_t)life,
                       .reached = life != CONN_CONNECTING,
                       .loop = l,
                       .handler = h,
                       .ctx = ctx,
                       .lent = STR("")};
    buf_init(&c->out, CONN_QUEUE_MAX);
    loop_watch_init(&c->watch, fd, conn_on_ready, c);
    loop_task_init(&c->task, conn_on_task, c);
    loop_task_init(&c->sending, conn_on_send, c);
    return c;
}

static void conn_set_option(int fd, int level, int name, int value)
{
    /* A socket of another family has no such option, and does without. */
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

/* The rest of making one; if it fails, nothing is left, the descriptor neither. */
static struct conn *conn_start(struct conn *c, struct tls *tls, str host, struct err *e)
{
    conn_set_option(c->watch.fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (tls) {
        c->link = tls_link_new(tls, c->watch.fd, host, e);
        if (!c->link)
            goto failed;
    }
    if (loop_watch_add(c->loop, &c->watch, LOOP_IN | LOOP_OUT, e))
        return c;
failed:
    tls_link_free(c->link);
    close(c->watch.fd);
    free(c);
    return NULL;
}

struct conn *conn_accept(struct loop *l, int fd, struct tls *tls, const struct conn_handler *h,
                         void *ctx, struct err *e)
{
    struct conn *c = conn_new(l, fd, tls ? CONN_SHAKING : CONN_OPEN, h, ctx);

    /* The system would buffer megabytes for a client that does not read. Bytes under way to one
     * that does are not limited by this. */
    conn_set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, CONN_UNSENT);
    return conn_start(c, tls, STR(""), e);
}

struct conn *conn_connect(struct loop *l, const struct conn_target *to,
                          const struct conn_handler *h, void *ctx, struct err *e)
{
    int fd = socket(to->addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct conn *c;

    if (fd < 0) {
        err_sys(e, "cannot make a socket");
        return NULL;
    }
    /* A call may be silent for minutes while a model thinks, and some boxes on the way forget. */
    conn_set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    conn_set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S);
    conn_set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_S / 4);
    if (connect(fd, to->addr, to->addr_size) < 0 && errno != EINPROGRESS) {
        conn_err_from_errno(errno, e);
        close(fd);
        return NULL;
    }
    c = conn_new(l, fd, CONN_CONNECTING, h, ctx);
    return conn_start(c, to->tls, to->host, e);
}

void conn_handler_set(struct conn *c, const struct conn_handler *h, void *ctx)
{
    c->handler = h;
    c->ctx = ctx;
}

void conn_close(struct conn *c)
{
    struct buf held;
    bool says_end;

    if (!c || c->life == CONN_CLOSED)
        return;
    says_end = c->link && c->life != CONN_DEAD && !c->fault;
    c->life = CONN_CLOSED;
    loop_drop(c->loop, &c->sending);
    loop_drop(c->loop, &c->task); /* freed at the round's end, not in the next step */
    loop_watch_remove(c->loop, &c->watch);
    if (says_end)
        tls_link_end(c->link);
    tls_link_free(c->link);
    c->link = NULL;
    close(c->watch.fd);
    conn_release_queue(c);
    held = conn_take_held(c);
    if (held.p)
        buf_give(loop_bufs(c->loop), &held);
    free(c->fault);
    c->fault = NULL;
    loop_defer(c->loop, &c->task);
}

bool conn_reached(const struct conn *c)
{
    return c->reached;
}

bool conn_resumed(const struct conn *c)
{
    return c->link && tls_link_resumed(c->link);
}
