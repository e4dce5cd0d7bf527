/* The daemon that runs here, asked by plain HTTP.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/daemon.h"

#include "store/store.h"

#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#define IN_MAX ((size_t)64 << 20)
#define KEY_VARIABLE "RATIONALE_KEY"

/* What it listens on may be "any": then this machine will do. */
static const char *host_of(str asked, char host[256])
{
    if (str_eq(asked, STR("0.0.0.0")) || asked.n == 0)
        return "127.0.0.1";
    if (str_eq(asked, STR("::")))
        return "::1";
    (void)snprintf(host, 256, STR_FMT, STR_ARG(asked));
    return host;
}

static bool reach(struct daemon_link *d, str at, const char *port, struct err *e)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all, *a;
    char host[256];

    if (getaddrinfo(host_of(at, host), port, &hints, &all) != 0)
        return err_set(e, ERR_UPSTREAM, "no address for " STR_FMT, STR_ARG(at));
    for (a = all; a && d->fd < 0; a = a->ai_next) {
        d->fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
        if (d->fd >= 0 && connect(d->fd, a->ai_addr, a->ai_addrlen) != 0) {
            close(d->fd);
            d->fd = -1;
        }
    }
    freeaddrinfo(all);
    if (d->fd >= 0)
        return true;
    return err_set(e, ERR_UPSTREAM, "no daemon answers on port %s: %s", port, strerror(errno));
}

/* Where the one that has the store said that it listens: `serve --listen` may have been told
 * otherwise than the configuration. */
static bool reach_owner(struct daemon_link *d, const struct config *c)
{
    struct arena a;
    struct err e;
    char port[16];
    str at, host;
    size_t colon;
    bool ok;

    arena_init(&a, 65536);
    ok = !str_eq(c->store_url, STR("none")) && store_owner(c->store_url, c->spool, &a, &at, &e);
    if (ok) {
        for (colon = at.n; colon && at.p[colon - 1] != ':';)
            colon--;
        host = str_slice(at, 0, colon ? colon - 1 : 0);
        if (str_starts(host, STR("[")) && host.p[host.n - 1] == ']')
            host = str_slice(host, 1, host.n - 1);
        ok = colon && at.n - colon < sizeof port &&
             snprintf(port, sizeof port, STR_FMT, STR_ARG(str_slice(at, colon, at.n))) > 0 &&
             reach(d, host, port, &e);
    }
    arena_release(&a);
    return ok;
}

bool daemon_open(struct daemon_link *d, const struct config *c, struct err *e)
{
    char port[16];

    *d = (struct daemon_link){.config = c, .fd = -1};
    buf_init(&d->in, IN_MAX);
    if (c->tls_cert.n)
        return err_set(e, ERR_UPSTREAM, "the daemon speaks TLS, which this command does not");
    (void)snprintf(port, sizeof port, "%u", c->listen_port);
    return reach_owner(d, c) || reach(d, c->listen_host, port, e);
}

static bool send_all(struct daemon_link *d, str bytes, struct err *e)
{
    while (bytes.n) {
        ssize_t n = write(d->fd, bytes.p, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(e, ERR_UPSTREAM, "the daemon went away");
        bytes = str_slice(bytes, (size_t)n, bytes.n);
    }
    return true;
}

/* More of the reply; false with nothing left. */
static bool fill(struct daemon_link *d, struct err *e)
{
    char *room = buf_room(&d->in, 16384);
    ssize_t n;

    if (!room)
        return err_set(e, ERR_LIMIT, "the daemon's reply is too long");
    do
        n = read(d->fd, room, 16384);
    while (n < 0 && errno == EINTR);
    if (n <= 0) {
        d->ended = true;
        return err_set(e, ERR_UPSTREAM, "the daemon went away");
    }
    buf_wrote(&d->in, (size_t)n);
    return true;
}

bool daemon_ask(struct daemon_link *d, const char *method, str path, str body, struct err *e)
{
    const char *key = getenv(KEY_VARIABLE);
    struct buf out;
    size_t end;
    bool ok;

    buf_init(&out, path.n + body.n + 16384);
    buf_printf(&out, "%s " STR_FMT " HTTP/1.0\r\nhost: localhost\r\n", method, STR_ARG(path));
    if (key && *key)
        buf_printf(&out, "authorization: Bearer %s\r\n", key);
    if (strcmp(method, "GET") != 0)
        buf_printf(&out, "content-type: application/json\r\ncontent-length: %zu\r\n", body.n);
    buf_add(&out, STR("\r\n"));
    buf_add(&out, body);
    ok = send_all(d, buf_str(&out), e);
    buf_release(&out);
    if (!ok)
        return false;
    while ((end = str_find(buf_str(&d->in), STR("\r\n\r\n"))) == STR_NONE)
        if (!fill(d, e))
            return false;
    if (d->in.n < 12 || !str_starts(buf_str(&d->in), STR("HTTP/1.")))
        return err_set(e, ERR_UPSTREAM, "what answers there is no daemon of ours");
    d->status = (d->in.p[9] - '0') * 100 + (d->in.p[10] - '0') * 10 + (d->in.p[11] - '0');
    buf_drop(&d->in, end + 4);
    return true;
}

bool daemon_line(struct daemon_link *d, str *line, struct err *e)
{
    static const char newline = '\n';
    char *at;

    /* What was lent by the call before is marked by a NUL in the place of its end. */
    if (d->in.n && (at = memchr(d->in.p, '\0', d->in.n)))
        buf_drop(&d->in, (size_t)(at - d->in.p) + 1);
    while (!(at = d->in.n ? memchr(d->in.p, newline, d->in.n) : NULL))
        if (!fill(d, e))
            return false;
    *at = '\0';
    *line = (str){d->in.p, (size_t)(at - d->in.p)};
    if (line->n && line->p[line->n - 1] == '\r')
        line->n--;
    return true;
}

bool daemon_body(struct daemon_link *d, str *body, struct err *e)
{
    while (!d->ended)
        if (!fill(d, e) && !d->ended)
            return false;
    *body = buf_str(&d->in);
    return true;
}

void daemon_close(struct daemon_link *d)
{
    if (d->fd >= 0)
        close(d->fd);
    buf_release(&d->in);
}
