/* SPDX-License-Identifier: Apache-2.0 */
#include "net_peer.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define MUST(claim)                                                                                \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            perror(#claim);                                                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

struct sockaddr_in peer_address(unsigned port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int peer_refuse(unsigned *port)
{
    struct sockaddr_in a = peer_address(0);
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    MUST(fd >= 0);
    MUST(bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
    MUST(getsockname(fd, (struct sockaddr *)&a, &size) == 0);
    *port = ntohs(a.sin_port);
    return fd;
}

int peer_listen(unsigned *port)
{
    int fd = peer_refuse(port);

    MUST(listen(fd, 1024) == 0);
    return fd;
}

static void no_delay(int fd)
{
    int one = 1;

    MUST(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
}

int peer_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    MUST(fd >= 0);
    no_delay(fd);
    return fd;
}

int peer_connect(unsigned port)
{
    struct sockaddr_in a = peer_address(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    MUST(fd >= 0);
    MUST(connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    no_delay(fd);
    return fd;
}

void peer_send(int fd, str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);

        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return; /* the peer closed early, as some tests intend */
        MUST(n > 0);
        bytes = str_slice(bytes, (size_t)n, bytes.n);
    }
}

void peer_drip(int fd, str bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        peer_send(fd, str_slice(bytes, i, i + 1));
}

size_t peer_read_until(int fd, const char *end, char *bytes, size_t size)
{
    size_t n = 0, end_size = strlen(end);

    while (n < size) {
        ssize_t got = recv(fd, bytes + n, size - n, 0);

        if (got <= 0)
            return 0;
        n += (size_t)got;
        if (memmem(bytes, n, end, end_size))
            return n;
    }
    return n;
}

long peer_read_all(int fd)
{
    static _Thread_local char bytes[65536];
    long sum = 0;
    ssize_t n;

    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        sum += n;
    return n < 0 ? -1 : sum;
}

void peer_no_sigpipe(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    MUST(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}

void peer_reset(int fd)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};

    MUST(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
    close(fd);
}

/* Forwards bytes one at a time. Returns false at the end of the input. */
static bool hand_on(int from, int to)
{
    char bytes[65536];
    ssize_t n = recv(from, bytes, sizeof bytes, 0);

    if (n <= 0) {
        shutdown(to, SHUT_WR);
        return false;
    }
    peer_drip(to, (str){bytes, (size_t)n});
    return true;
}

static void *relay(void *ctx)
{
    struct peer_relay *r = ctx;
    int client = peer_accept(r->listener), server = peer_connect(r->server_port);
    struct pollfd fds[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};

    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        MUST(poll(fds, 2, -1) > 0);
        if (fds[0].fd >= 0 && fds[0].revents && !hand_on(client, server))
            fds[0].fd = -1;
        if (fds[1].fd >= 0 && fds[1].revents && !hand_on(server, client))
            fds[1].fd = -1;
    }
    close(client);
    close(server);
    return NULL;
}

void peer_relay_start(struct peer_relay *r, unsigned server_port)
{
    r->server_port = server_port;
    r->listener = peer_listen(&r->port);
    MUST(pthread_create(&r->thread, NULL, relay, r) == 0);
}

void peer_relay_join(struct peer_relay *r)
{
    pthread_join(r->thread, NULL);
    close(r->listener);
}
