/* listen.c - listening sockets, our own or systemd's, and telling systemd how it goes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 4096
#define FD_FIRST 3 /* of those that systemd hands over */

bool listen_parse(str text, str *host, unsigned *port, struct err *e)
{
    size_t colon = text.n;
    uint64_t number;

    while (colon > 0 && text.p[colon - 1] != ':')
        colon--;
    if (colon == 0 || !str_u64(str_slice(text, colon, text.n), &number) || number > 65535)
        return err_set(e,
                       ERR_INPUT,
                       "\"" STR_FMT "\" is no address to listen on: ADDRESS:PORT, such as "
                       "127.0.0.1:8484 or [::1]:8484",
                       STR_ARG(str_slice(text, 0, 80)));
    *host = str_slice(text, 0, colon - 1);
    if (host->n >= 2 && host->p[0] == '[' && host->p[host->n - 1] == ']')
        *host = str_slice(*host, 1, host->n - 1);
    *port = (unsigned)number;
    return true;
}

/* Sockets of our own share the port; another process of ours may not come to share it unnoticed. */
static bool port_is_free(const struct addrinfo *ai, struct err *e)
{
    int on = 1, fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol);
    bool ok;

    if (fd < 0)
        return err_sys(e, "socket");
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ok = bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 || err_sys(e, "listen");
    close(fd);
    return ok;
}

static bool bind_one(const struct addrinfo *ai, bool share, int *fd, struct err *e)
{
    int on = 1;

    *fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, ai->ai_protocol);
    if (*fd < 0)
        return err_sys(e, "socket");
    (void)setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (share)
        (void)setsockopt(*fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(*fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(*fd, BACKLOG) < 0) {
        err_sys(e, "listen");
        close(*fd);
        return false;
    }
    return true;
}

static void describe(int fd, char address[96], unsigned *port)
{
    struct sockaddr_storage ss;
    socklen_t size = sizeof ss;
    char host[64] = "?", service[16] = "0";

    if (getsockname(fd, (struct sockaddr *)&ss, &size) == 0)
        (void)getnameinfo((struct sockaddr *)&ss,
                          size,
                          host,
                          sizeof host,
                          service,
                          sizeof service,
                          NI_NUMERICHOST | NI_NUMERICSERV);
    *port = (unsigned)strtoul(service, NULL, 10);
    (void)snprintf(address, 96, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, service);
}

bool listen_open(str host, unsigned port, unsigned count, int *fds, char address[96], struct err *e)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM},
                    *found = NULL;
    char name[256], service[16];
    bool ok = true;
    unsigned n = 0;

    (void)snprintf(name, sizeof name, STR_FMT, STR_ARG(str_slice(host, 0, 250)));
    for (; n < count && ok; n++) {
        int rc;

        (void)snprintf(service, sizeof service, "%u", port);
        rc = getaddrinfo(name[0] ? name : NULL, service, &hints, &found);
        if (rc != 0)
            ok = err_set(e, ERR_INPUT, "listen on \"%s\": %s", name, gai_strerror(rc));
        else
            ok = (n > 0 || port_is_free(found, e)) && bind_one(found, count > 1, &fds[n], e);
        if (found)
            freeaddrinfo(found);
        found = NULL;
        if (!ok) {
            err_prefix(e, "%s:%u: ", name, port);
            break;
        }
        if (n == 0)
            describe(fds[0], address, &port); /* port 0 is some port: the others take the same */
    }
    while (!ok && n > 0)
        close(fds[--n]);
    return ok;
}

size_t listen_inherit(int *fds, size_t max)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    uint64_t p, n;

    if (!pid || !count || !str_u64(str_c(pid), &p) || p != (uint64_t)getpid() ||
        !str_u64(str_c(count), &n) || n == 0 || n > max)
        return 0;
    for (size_t i = 0; i < n; i++) {
        fds[i] = FD_FIRST + (int)i;
        (void)fcntl(fds[i], F_SETFD, FD_CLOEXEC);
        (void)fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) | O_NONBLOCK);
    }
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    return (size_t)n;
}

void notify_systemd(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t n = path ? strlen(path) : 0;
    int fd;

    if (n == 0 || n >= sizeof to.sun_path)
        return;
    memcpy(to.sun_path, path, n);
    if (to.sun_path[0] == '@')
        to.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd,
                 state,
                 strlen(state),
                 MSG_NOSIGNAL,
                 (struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    close(fd);
}
