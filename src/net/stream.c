/* stream.c - see stream.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/stream.h"

#include "net/conn_state.h"
#include "net/resolve.h"
#include "net/sys.h"

#include <errno.h>
#include <poll.h>

#define LOOK_MS 100 /* how often a wait looks at *cancel */

struct stream {
    int fd;
    const struct stream_until *until;
    struct tls_link *link; /* or NULL: plain */
    char host[RESOLVE_HOST_MAX + 1];
};

static bool stream_wait(struct stream *s, short events, struct err *e)
{
    assert(s->fd >= 0);
    for (;;) {
        int left = clock_left_ms(&clock_real, s->until->deadline_ns), n;
        struct pollfd p = {.fd = s->fd, .events = events};

        if (s->until->cancel && atomic_load(s->until->cancel))
            return err_set(e, ERR_CANCELLED, "interrupted");
        if (left == 0)
            return err_set(e, ERR_TIMEOUT, "%s does not answer in time", s->host);
        n = poll(&p, 1, left < 0 || left > LOOK_MS ? LOOK_MS : left);
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return err_sys(e, "poll");
    }
}

/* ---- opening ---- */

static bool stream_connect(struct stream *s, const struct resolve_addr *a, struct err *e)
{
    socklen_t size = sizeof(int);
    int number = 0;

    s->fd = socket(a->at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0)
        return err_sys(e, "cannot make a socket");
    if (connect(s->fd, &a->at.any, a->size) < 0)
        number = errno;
    if (number == EINPROGRESS) {
        if (!stream_wait(s, POLLOUT, e))
            return false;
        if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &number, &size) < 0)
            number = errno;
    }
    return number == 0 || conn_err_from_errno(number, e);
}

struct stream *stream_open(str host, unsigned port, const struct stream_until *until, struct err *e)
{
    struct stream *s;
    struct resolve_addrs addrs;
    bool ok = false;

    if (host.n == 0 || host.n > RESOLVE_HOST_MAX || memchr(host.p, 0, host.n)) {
        err_input(e, "a host has 1 to %d bytes", RESOLVE_HOST_MAX);
        return NULL;
    }
    s = base_alloc(sizeof *s);
    *s = (struct stream){.fd = -1, .until = until};
    memcpy(s->host, host.p, host.n);
    if (resolve_wait(NULL, NULL, host, until, &addrs, e))
        for (size_t i = 0; !ok && i < addrs.n; i++) {
            if (s->fd >= 0)
                close(s->fd);
            s->fd = -1;
            resolve_set_port(&addrs.addr[i], port);
            ok = stream_connect(s, &addrs.addr[i], e);
        }
    if (ok)
        return s;
    stream_free(s);
    return NULL;
}

void stream_free(struct stream *s)
{
    if (!s)
        return;
    if (s->link)
        tls_link_end(s->link);
    tls_link_free(s->link);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

bool stream_start_tls(struct stream *s, struct tls *tls, struct err *e)
{
    assert(s->fd >= 0 && !s->link); /* plain so far */
    s->link = tls_link_new(tls, s->fd, str_c(s->host), e);
    if (!s->link)
        return false;
    tls_link_no_alpn(s->link);
    for (;;)
        switch (tls_link_shake(s->link, e)) {
        case TLS_DONE:
            return true;
        case TLS_AGAIN:
            /* OpenSSL does not say which of the two it waits for; it writes only in the shaking. */
            if (!stream_wait(s, POLLIN, e))
                return false;
            break;
        default:
            return false;
        }
}

/* ---- bytes ---- */

static enum tls_result stream_send_some(struct stream *s, str bytes, size_t *n, struct err *e)
{
    ssize_t sent;

    assert(bytes.n > 0);
    if (s->link)
        return tls_link_write(s->link, bytes, n, e);
    *n = 0;
    sent = sys_send(s->fd, bytes.p, bytes.n);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return TLS_AGAIN;
    if (sent < 0) {
        conn_err_from_errno(errno, e);
        return TLS_FAILED;
    }
    *n = (size_t)sent;
    return *n == bytes.n ? TLS_DONE : TLS_AGAIN;
}

bool stream_write(struct stream *s, str bytes, struct err *e)
{
    while (bytes.n > 0) {
        size_t n;
        enum tls_result result = stream_send_some(s, bytes, &n, e);

        if (result == TLS_FAILED)
            return false;
        assert(n <= bytes.n);
        bytes = str_slice(bytes, n, bytes.n);
        if (bytes.n > 0 && !stream_wait(s, POLLOUT, e))
            return false;
    }
    return true;
}

static enum tls_result stream_receive_some(struct stream *s, char *bytes, size_t size, size_t *n,
                                           struct err *e)
{
    ssize_t got;

    *n = 0;
    if (s->link)
        return tls_link_read(s->link, bytes, size, n, e);
    got = sys_recv(s->fd, bytes, size);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return TLS_AGAIN;
    if (got < 0) {
        conn_err_from_errno(errno, e);
        return TLS_FAILED;
    }
    *n = (size_t)got;
    return got ? TLS_DONE : TLS_END;
}

bool stream_read(struct stream *s, char *bytes, size_t size, size_t *n, struct err *e)
{
    for (;;) {
        enum tls_result result = stream_receive_some(s, bytes, size, n, e);

        if (*n > 0 || result == TLS_END)
            return true;
        if (result == TLS_FAILED || !stream_wait(s, POLLIN, e))
            return false;
    }
}
