/* common.c - clocks, digits, sockets and samples of both ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void die(const char *what)
{
    perror(what);
    exit(1);
}

void put_digits(char *at, uint64_t n, int digits)
{
    for (int i = digits - 1; i >= 0; i--, n /= 10)
        at[i] = (char)('0' + n % 10);
}

uint64_t read_digits(const char *at, int digits)
{
    uint64_t n = 0;

    for (int i = 0; i < digits; i++)
        n = n * 10 + (uint64_t)(at[i] - '0');
    return n;
}

void quick(int fd)
{
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static struct sockaddr_in here(unsigned port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int dial(unsigned port, bool small)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = here(port);
    int size = 4096;

    if (fd < 0)
        die("socket");
    if (small)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    quick(fd);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)
        die("connect");
    return fd;
}

int listen_on(unsigned *port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = here(*port);
    socklen_t size = sizeof at;

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) < 0 || listen(fd, 16384) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) < 0)
        die("listen");
    *port = ntohs(at.sin_port);
    return fd;
}

void sample(struct samples *s, uint64_t ns)
{
    if (!s->ns && !(s->ns = malloc(SAMPLES_MAX * sizeof *s->ns)))
        die("malloc");
    if (s->n < SAMPLES_MAX)
        s->ns[s->n++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

void samples_print(const char *name, struct samples *s)
{
    if (!s->n)
        return;
    qsort(s->ns, s->n, sizeof *s->ns, by_size);
    printf(",\"%s_p50_us\":%.1f,\"%s_p99_us\":%.1f",
           name,
           s->ns[s->n / 2] / 1e3,
           name,
           s->ns[s->n * 99 / 100] / 1e3);
}
