/* listen.c - see listen.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/listen.h"

#include "gateway/config.h"
#include "net/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
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
        return err_input(e,
                         "\"" STR_FMT
                         "\" is not an address to listen on: give ADDRESS:PORT, such as "
                         "127.0.0.1:8484 or [::1]:8484",
                         STR_ARG(str_slice(text, 0, 80)));
    *host = str_slice(text, 0, colon - 1);
    if (host->n >= 2 && host->p[0] == '[' && host->p[host->n - 1] == ']')
        *host = str_slice(*host, 1, host->n - 1);
    *port = (unsigned)number;
    return true;
}

/* Our own sockets share the port, so another instance could share it unnoticed; this check prevents
 * it. */
static bool listen_port_is_free(const struct addrinfo *ai, struct err *e)
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

static bool serve_listen_bind_one(const struct addrinfo *ai, bool share, int *fd, struct err *e)
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

/* The address of a socket as text; returns whether only this machine can reach it. */
static bool serve_listen_describe(int fd, char address[96], unsigned *port)
{
    struct sockaddr_storage ss = {0};
    struct sockaddr_un un;
    socklen_t size = sizeof ss;
    char host[64] = "?", service[16] = "0";

    if (getsockname(fd, (struct sockaddr *)&ss, &size) != 0)
        ss.ss_family = AF_UNSPEC;
    if (ss.ss_family == AF_UNIX) {
        memcpy(&un, &ss, sizeof un);
        (void)snprintf(address, 96, "unix:%.80s", un.sun_path[0] ? un.sun_path : "@");
        return true;
    }
    (void)getnameinfo((struct sockaddr *)&ss,
                      size,
                      host,
                      sizeof host,
                      service,
                      sizeof service,
                      NI_NUMERICHOST | NI_NUMERICSERV);
    *port = (unsigned)strtoul(service, NULL, 10);
    (void)snprintf(address, 96, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, service);
    return config_is_loopback(str_c(host));
}

bool listen_open(struct listening *l, str host, unsigned port, size_t count, struct err *e)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM},
                    *found = NULL;
    char name[256], service[16];
    bool ok = true;

    assert(count <= LISTEN_MAX);
    *l = (struct listening){0};
    (void)snprintf(name, sizeof name, STR_FMT, STR_ARG(str_slice(host, 0, 250)));
    for (; l->count < count && ok; l->count += ok) {
        int rc;

        (void)snprintf(service, sizeof service, "%u", port);
        rc = getaddrinfo(name[0] ? name : NULL, service, &hints, &found);
        if (rc != 0)
            ok = err_input(e, "listen on \"%s\": %s", name, gai_strerror(rc));
        else
            ok = (l->count > 0 || listen_port_is_free(found, e)) &&
                 serve_listen_bind_one(found, count > 1, &l->fds[l->count], e);
        if (found)
            freeaddrinfo(found);
        found = NULL;
        if (!ok)
            err_prefix(e, "%s:%u: ", name, port);
        else if (l->count == 0) /* port 0: the others take the system's choice */
            l->loopback = serve_listen_describe(l->fds[0], l->address, &port);
    }
    while (!ok && l->count > 0)
        close(l->fds[--l->count]);
    return ok;
}

/* Whether the socket accepts connections. */
static bool listen_is_listening(int fd)
{
    int type = 0, listens = 0;
    socklen_t size = sizeof type;

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens;
}

static bool listen_take_inherited(struct listening *l, size_t count, struct err *e)
{
    char address[96];
    unsigned port;

    assert(count <= LISTEN_MAX);
    l->given = l->loopback = true;
    for (; l->count < count; l->count++) {
        int fd = FD_FIRST + (int)l->count;

        if (!listen_is_listening(fd))
            return err_input(e,
                             "of the %zu sockets in LISTEN_FDS, descriptor %d is none that listens",
                             count,
                             fd);
        l->loopback &= serve_listen_describe(fd, l->count ? address : l->address, &port);
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        l->fds[l->count] = fd;
    }
    return true;
}

bool listen_inherit(struct listening *l, struct err *e)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    uint64_t p, n;

    *l = (struct listening){0};
    if (!pid || !count || !str_u64(str_c(pid), &p) || p != (uint64_t)getpid() ||
        !str_u64(str_c(count), &n) || n == 0)
        return true;
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    if (n > LISTEN_MAX)
        return err_input(e, "more than %d sockets in LISTEN_FDS", LISTEN_MAX);
    return listen_take_inherited(l, (size_t)n, e);
}

bool listen_on(const struct listening *l, size_t loop, struct server *s, struct err *e)
{
    assert(l->given || loop < l->count);
    if (!l->given)
        return server_listen(s, l->fds[loop], e);
    for (size_t i = 0; i < l->count; i++) {
        int fd = fcntl(l->fds[i], F_DUPFD_CLOEXEC, 0);

        if (fd < 0)
            return err_sys(e, "a socket of systemd");
        if (!server_listen(s, fd, e))
            return false;
    }
    return true;
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
