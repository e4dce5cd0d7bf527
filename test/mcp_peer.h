/* mcp_peer.h - an HTTP server for tests of the MCP client: each connection has one request, which a
 * function of the test answers with raw bytes.
 *
 *     static void serve(struct peer *p, int fd, str head, str body) { peer_reply(fd, ...); }
 *     peer_start(&p, serve);
 *     ... "http://127.0.0.1:PORT/..." with p.port ...
 *     peer_stop(&p);
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define PEER_REQUEST_MAX ((size_t)64 << 20)

struct peer {
    void (*serve)(struct peer *p, int fd, str head, str body);
    int fd;
    unsigned port;
    pthread_t thread;
    atomic_int open;  /* connections */
    atomic_int count; /* requests so far */
    atomic_bool stop;
};

struct peer_visit {
    struct peer *peer;
    int fd;
};

static inline void peer_send(int fd, str bytes)
{
    for (size_t at = 0; at < bytes.n;) {
        ssize_t n = send(fd, bytes.p + at, bytes.n - at, MSG_NOSIGNAL);

        if (n <= 0)
            return;
        at += (size_t)n;
    }
}

static inline void peer_say(int fd, const char *text)
{
    peer_send(fd, str_c(text));
}

/* Sends a whole reply; `more` has additional header lines. */
static inline void peer_reply(int fd, int status, const char *more, str body)
{
    struct buf b;

    buf_init(&b, PEER_REQUEST_MAX);
    buf_printf(&b,
               "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
               "Connection: close\r\n%s\r\n",
               status,
               body.n,
               more);
    buf_add(&b, body);
    peer_send(fd, buf_str(&b));
    buf_release(&b);
}

static inline size_t peer_length(str head)
{
    size_t at = str_find(head, STR("ontent-Length: ")), n = 0;

    if (at == STR_NONE)
        at = str_find(head, STR("ontent-length: "));
    if (at != STR_NONE)
        n = strtoul(head.p + at + 15, NULL, 10);
    return n;
}

static inline void *peer_visit(void *ctx)
{
    struct peer_visit *v = ctx;
    struct buf in;
    size_t end;
    char bytes[65536];
    ssize_t n;

    buf_init(&in, PEER_REQUEST_MAX);
    while ((n = recv(v->fd, bytes, sizeof bytes, 0)) > 0) {
        buf_add(&in, (str){bytes, (size_t)n});
        end = str_find(buf_str(&in), STR("\r\n\r\n"));
        if (end != STR_NONE && in.n >= end + 4 + peer_length(str_slice(buf_str(&in), 0, end))) {
            atomic_fetch_add(&v->peer->count, 1);
            v->peer->serve(v->peer,
                           v->fd,
                           str_slice(buf_str(&in), 0, end),
                           str_slice(buf_str(&in), end + 4, in.n));
            break;
        }
    }
    buf_release(&in);
    close(v->fd);
    atomic_fetch_sub(&v->peer->open, 1);
    free(v);
    return NULL;
}

static inline void *peer_accept(void *ctx)
{
    struct peer *p = ctx;

    for (;;) {
        int fd = accept(p->fd, NULL, NULL);
        struct peer_visit *v;
        pthread_t thread;

        if (fd < 0 || atomic_load(&p->stop)) {
            if (fd >= 0)
                close(fd);
            return NULL;
        }
        v = base_alloc(sizeof *v);
        *v = (struct peer_visit){p, fd};
        atomic_fetch_add(&p->open, 1);
        CHECK(pthread_create(&thread, NULL, peer_visit, v) == 0);
        (void)pthread_detach(thread);
    }
}

static inline void peer_start(struct peer *p,
                              void (*serve)(struct peer *p, int fd, str head, str body))
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;

    (void)signal(SIGPIPE, SIG_IGN);
    memset(p, 0, sizeof *p);
    p->serve = serve;
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(p->fd >= 0 && bind(p->fd, (struct sockaddr *)&at, sizeof at) == 0 &&
          listen(p->fd, 64) == 0 && getsockname(p->fd, (struct sockaddr *)&at, &size) == 0);
    p->port = ntohs(at.sin_port);
    CHECK(pthread_create(&p->thread, NULL, peer_accept, p) == 0);
}

/* Call after the client was freed: blocks until all connections are closed. */
static inline void peer_stop(struct peer *p)
{
    atomic_store(&p->stop, true);
    (void)shutdown(p->fd, SHUT_RDWR);
    pthread_join(p->thread, NULL);
    close(p->fd);
    while (atomic_load(&p->open))
        (void)usleep(1000);
}
