/* Viewers of the gateway's bench: WebSockets that watch all calls, every other one not reading.
 *
 *     watch PORT KEY N        says "watching N", then reads until standard input ends
 *
 * Prints one line of JSON: the messages that the readers got, and the gaps among them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common.h"

#include <poll.h>

#define HEAD                                                                                       \
    "GET /ws/dashboard/bench HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"               \
    "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"                        \
    "Sec-WebSocket-Version: 13\r\nx-api-key: %s\r\n\r\n"
#define ASK "{\"type\":\"subscribe\",\"channel\":\"dashboard_updates\"}"
#define ANSWER "\"success\":true"

static void send_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);

        if (sent < 0 && errno != EAGAIN && errno != EINPROGRESS && errno != ENOTCONN)
            die("send");
        if (sent < 0) {
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 1000);
            continue;
        }
        bytes += sent;
        n -= (size_t)sent;
    }
}

/* Until it is subscribed. */
static void subscribe(int fd, const char *key)
{
    unsigned char frame[6 + sizeof ASK - 1] = {0x81, 0x80 | (sizeof ASK - 1)};
    char text[65536];
    size_t n = 0;
    int size = snprintf(text, sizeof text, HEAD, key);

    send_all(fd, text, (size_t)size);
    memcpy(frame + 6, ASK, sizeof ASK - 1); /* under a mask of zeros */
    send_all(fd, (const char *)frame, sizeof frame);
    while (n + 1 < sizeof text) {
        ssize_t got = recv(fd, text + n, sizeof text - 1 - n, 0);

        if (got == 0 || (got < 0 && errno != EAGAIN))
            die("a viewer was refused");
        if (got < 0) {
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000);
            continue;
        }
        n += (size_t)got;
        if (memmem(text, n, ANSWER, sizeof ANSWER - 1))
            return;
    }
    die("a viewer was not subscribed");
}

int main(int argc, char **argv)
{
    static char bytes[1 << 18];
    struct epoll_event events[ROUND_EVENTS];
    unsigned long long read_bytes = 0;
    size_t n, readers = 0;
    int epoll = epoll_create1(0);

    if (argc != 4 || epoll < 0)
        die("usage: watch PORT KEY N");
    n = (size_t)strtoul(argv[3], NULL, 10);
    for (size_t i = 0; i < n; i++) {
        int fd = dial((unsigned)strtoul(argv[1], NULL, 10), i % 2 == 1);
        struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

        subscribe(fd, argv[2]);
        if (i % 2 == 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0)
            readers++;
    }
    (void)epoll_ctl(
        epoll, EPOLL_CTL_ADD, 0, &(struct epoll_event){.events = EPOLLIN, .data.fd = 0});
    printf("watching %zu\n", n);
    fflush(stdout);
    for (bool over = false; !over;) {
        int ready = epoll_wait(epoll, events, ROUND_EVENTS, -1);

        for (int i = 0; i < ready; i++) {
            ssize_t got;

            if (events[i].data.fd == 0) {
                over = true;
                continue;
            }
            got = recv(events[i].data.fd, bytes, sizeof bytes, 0);
            if (got == 0 || (got < 0 && errno != EAGAIN))
                die("a viewer was sent away");
            read_bytes += got > 0 ? (unsigned long long)got : 0;
        }
    }
    printf("{\"readers\": %zu, \"bytes\": %llu}\n", readers, read_bytes);
    return 0;
}
