/* Sends HTTP requests to the daemon that uses the store.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/daemon.h"

#include "cli/data.h"

#include "base/json_get.h"

#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define IN_MAX ((size_t)64 << 20)
#define KEY_VARIABLE "RATIONALE_KEY"
#define KEY_MAX 4096
#define HEALTH_MAX 65536
#define SETTLE_LOOK_US 10000
#define PROVE_SECONDS 5 /* for the reply that names its store */

/* A daemon that listens on every address is reached through loopback. */
static const char *daemon_host_of(str asked, char host[256])
{
    if (str_eq(asked, STR("0.0.0.0")) || asked.n == 0)
        return "127.0.0.1";
    if (str_eq(asked, STR("::")))
        return "::1";
    (void)snprintf(host, 256, STR_FMT, STR_ARG(asked));
    return host;
}

/* Sets the timeout of reads and writes on the connection; 0: none. */
static void daemon_set_timeout(const struct daemon_link *d, time_t seconds)
{
    struct timeval t = {.tv_sec = seconds};

    assert(d->fd >= 0);
    (void)setsockopt(d->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    (void)setsockopt(d->fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

static bool daemon_connect_tcp(struct daemon_link *d, str at, const char *port, struct err *e)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all, *a;
    char host[256];

    assert(d->fd < 0);
    if (getaddrinfo(daemon_host_of(at, host), port, &hints, &all) != 0)
        return err_set(e, ERR_UPSTREAM, "no address for " STR_FMT, STR_ARG(at));
    for (a = all; a && d->fd < 0; a = a->ai_next) {
        d->fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
        if (d->fd >= 0)
            daemon_set_timeout(d, PROVE_SECONDS);
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

static bool daemon_connect_unix(struct daemon_link *d, str path, struct err *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    assert(d->fd < 0);
    if (path.n >= sizeof at.sun_path)
        return err_set(e, ERR_UPSTREAM, "its path is too long");
    memcpy(at.sun_path, path.p, path.n);
    d->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (d->fd < 0)
        return err_sys(e, "socket");
    daemon_set_timeout(d, PROVE_SECONDS);
    return connect(d->fd, (struct sockaddr *)&at, sizeof at) == 0 ||
           err_set(e, ERR_UPSTREAM, "no daemon answers there: %s", strerror(errno));
}

/* HOST:PORT, [V6]:PORT or unix:PATH, as the daemon wrote it. */
static bool daemon_connect(struct daemon_link *d, str address, struct err *e)
{
    char port[16];
    size_t colon = address.n;
    str host;

    assert(d->fd < 0);
    if (str_starts(address, STR("unix:/")))
        return daemon_connect_unix(d, str_slice(address, 5, address.n), e);
    while (colon && address.p[colon - 1] != ':')
        colon--;
    host = str_slice(address, 0, colon ? colon - 1 : 0);
    if (str_starts(host, STR("[")) && host.p[host.n - 1] == ']')
        host = str_slice(host, 1, host.n - 1);
    if (!colon || address.n - colon >= sizeof port)
        return err_set(e, ERR_UPSTREAM, "\"" STR_FMT "\" is not an address", STR_ARG(address));
    (void)snprintf(port, sizeof port, STR_FMT, STR_ARG(str_slice(address, colon, address.n)));
    return daemon_connect_tcp(d, host, port, e);
}

/* A read or a write of n bytes failed. */
static bool daemon_lost(ssize_t n, struct err *e)
{
    bool late = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);

    return err_set(e,
                   ERR_UPSTREAM,
                   late ? "the daemon did not answer in time: try again when it is less busy"
                        : "the daemon went away: see its log");
}

static bool daemon_send_all(struct daemon_link *d, str bytes, struct err *e)
{
    assert(d->fd >= 0);
    while (bytes.n) {
        ssize_t n = write(d->fd, bytes.p, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return daemon_lost(n, e);
        bytes = str_slice(bytes, (size_t)n, bytes.n);
    }
    return true;
}

/* Reads more of the reply; false at its end. */
static bool daemon_fill(struct daemon_link *d, struct err *e)
{
    char *room = buf_room(&d->in, 16384);
    ssize_t n;

    assert(d->fd >= 0);
    if (!room)
        return err_set(e, ERR_LIMIT, "the daemon's reply is too long");
    do
        n = read(d->fd, room, 16384);
    while (n < 0 && errno == EINTR);
    d->ended = n == 0;
    if (n <= 0)
        return daemon_lost(n, e);
    buf_wrote(&d->in, (size_t)n);
    return true;
}

/* ---- the store of the daemon ---- */

/* The content-length of a head; -1 without one. */
static int64_t daemon_body_size(str head)
{
    static const char name[] = "\r\ncontent-length:";
    const size_t skip = sizeof name - 1;
    uint64_t n;

    for (size_t at = 0; at + skip <= head.n; at++)
        if (strncasecmp(head.p + at, name, skip) == 0) {
            str rest = str_slice(head, at + skip, head.n);

            rest = str_trim(str_slice(rest, 0, str_find(rest, STR("\r"))));
            return str_u64(rest, &n) && n <= IN_MAX ? (int64_t)n : -1;
        }
    return -1;
}

/* Removes the reply's head, including the empty line, from d->in; sets the status and body_size. */
static bool daemon_read_head(struct daemon_link *d, struct err *e)
{
    size_t end;

    assert(d->fd >= 0);
    while ((end = str_find(buf_str(&d->in), STR("\r\n\r\n"))) == STR_NONE)
        if (!daemon_fill(d, e))
            return false;
    if (d->in.n < 12 || !str_starts(buf_str(&d->in), STR("HTTP/1.")))
        return err_set(e, ERR_UPSTREAM, "the server at its address is not a Rationale daemon");
    d->status = (d->in.p[9] - '0') * 100 + (d->in.p[10] - '0') * 10 + (d->in.p[11] - '0');
    d->body_size = daemon_body_size(str_slice(buf_str(&d->in), 0, end));
    assert(end + 4 <= d->in.n);
    buf_drop(&d->in, end + 4);
    return true;
}

/* Checks the store on the connection that the request will use, so that both reach the same
 * process, and before any key is sent. */
static bool daemon_prove(struct daemon_link *d, const struct store_owner *owner, struct err *e)
{
    struct arena a;
    struct json doc;
    size_t size = 0;
    bool ok;
    str id = STR("");

    assert(owner->id.n > 0);
    arena_init(&a, 1 << 20);
    json_init(&doc);
    ok = daemon_send_all(d, STR("GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"), e) &&
         daemon_read_head(d, e);
    if (ok && d->body_size > 0 && d->body_size <= HEALTH_MAX)
        size = (size_t)d->body_size;
    while (ok && d->in.n < size)
        ok = daemon_fill(d, e);
    ok = ok && json_parse(&doc, str_slice(buf_str(&d->in), 0, size), e);
    if (ok && !json_text(&doc, json_find(&doc, json_root(&doc), STR("store_id")), &a, &id))
        id = STR("none");
    d->stored = ok ? json_get_i64(&doc, json_root(&doc), "stored_records", 0) : 0;
    d->pending = ok ? json_get_i64(&doc, json_root(&doc), "pending_records", 0) : 0;
    if (ok && !str_eq(id, owner->id))
        ok = err_set(e,
                     ERR_UPSTREAM,
                     "it has another store (id " STR_FMT ", not " STR_FMT ")",
                     STR_ARG(str_slice(id, 0, 8)),
                     STR_ARG(str_slice(owner->id, 0, 8)));
    if (ok)
        buf_drop(&d->in, size);
    json_release(&doc);
    arena_release(&a);
    return ok;
}

bool daemon_open(struct daemon_link *d, const struct config *c, struct err *e)
{
    struct store_owner owner;
    struct arena a;
    bool ok;

    *d = (struct daemon_link){.config = c, .fd = -1};
    buf_init(&d->in, IN_MAX);
    if (str_eq(c->store_url, STR("none")))
        return err_set(e, ERR_NOT_FOUND, "no daemon is known by a store that is \"none\"");
    arena_init(&a, 65536);
    ok = store_owner(c->store_url, c->spool, &a, &owner, e);
    if (!ok && e->code == ERR_NOT_FOUND) {
        err_set(e, ERR_NOT_FOUND, "no daemon has this store");
    } else if (ok) {
        ok = c->tls_cert.n ? err_set(e, ERR_UPSTREAM, "it speaks TLS, which this command does not")
                           : daemon_connect(d, owner.address, e) && daemon_prove(d, &owner, e);
        if (!ok)
            err_prefix(e, "the daemon at " STR_FMT ": ", STR_ARG(owner.address));
    }
    arena_release(&a);
    if (ok)
        daemon_set_timeout(d, 0);
    return ok;
}

enum daemon_settled daemon_settle(const struct config *c, unsigned wait_ms)
{
    uint64_t until = clock_deadline_ns(&clock_real, wait_ms);
    int64_t wanted = -1, ingested;
    struct daemon_link d;
    struct err e;
    bool ok;

    do {
        ok = daemon_open(&d, c, &e);
        if (wanted < 0)
            wanted = d.stored;
        ingested = d.stored - d.pending;
        daemon_close(&d);
        if (!ok)
            return DAEMON_NONE;
        if (ingested >= wanted)
            return DAEMON_SETTLED;
        usleep(SETTLE_LOOK_US);
    } while (clock_mono_ns(&clock_real) < until);
    return DAEMON_TIMEOUT;
}

bool daemon_left_records(const struct config *c, struct reader *r, char journal[FILE_PATH_MAX])
{
    char path[FILE_PATH_MAX];
    struct err e;

    return store_places(c->store_url, c->spool, path, journal, &e) &&
           reader_journal_waits(r, journal);
}

/* ---- asking ---- */

str daemon_encode(struct arena *a, str text)
{
    struct buf out;

    buf_init(&out, 3 * text.n + 1);
    buf_add_percent(&out, text, "");
    assert(!buf_full(&out));
    return arena_move_buf(a, &out);
}

/* A text that a header cannot contain is not sent as a key: the daemon then asks for one. */
static bool daemon_is_key(str key)
{
    bool good = key.n > 0 && key.n <= KEY_MAX;

    for (size_t i = 0; i < key.n; i++)
        good &= key.p[i] > ' ' && key.p[i] < 0x7f;
    return good;
}

bool daemon_ask(struct daemon_link *d, const char *method, str path, str body, struct err *e)
{
    str key = str_trim(str_c(getenv(KEY_VARIABLE))); /* files of keys end in a line end */
    char own[DATA_KEY_SIZE];
    struct buf out;
    bool ok;

    assert(path.n && path.p[0] == '/');
    if (data_key(d->config, own)) /* RATIONALE_KEY may belong to another gateway */
        key = str_c(own);
    buf_init(&out, path.n + body.n + KEY_MAX + 1024);
    buf_printf(&out, "%s " STR_FMT " HTTP/1.0\r\nhost: localhost\r\n", method, STR_ARG(path));
    if (daemon_is_key(key))
        buf_printf(&out, "authorization: Bearer " STR_FMT "\r\n", STR_ARG(key));
    if (strcmp(method, "GET") != 0)
        buf_printf(&out, "content-type: application/json\r\ncontent-length: %zu\r\n", body.n);
    buf_add(&out, STR("\r\n"));
    buf_add(&out, body);
    assert(!buf_full(&out));
    ok = daemon_send_all(d, buf_str(&out), e);
    buf_release(&out);
    return ok && daemon_read_head(d, e);
}

bool daemon_line(struct daemon_link *d, str *line, struct err *e)
{
    static const char newline = '\n';
    char *at;

    assert(d->fd >= 0);
    /* The end of the line that the previous call returned is marked by a NUL. */
    if (d->in.n && (at = memchr(d->in.p, '\0', d->in.n)))
        buf_drop(&d->in, (size_t)(at - d->in.p) + 1);
    while (!(at = d->in.n ? memchr(d->in.p, newline, d->in.n) : NULL))
        if (!daemon_fill(d, e))
            return false;
    *at = '\0';
    *line = (str){d->in.p, (size_t)(at - d->in.p)};
    if (line->n && line->p[line->n - 1] == '\r')
        line->n--;
    return true;
}

bool daemon_body(struct daemon_link *d, str *body, struct err *e)
{
    size_t size = d->body_size < 0 ? IN_MAX : (size_t)d->body_size;

    assert(d->fd >= 0);
    while (d->in.n < size && !d->ended)
        if (!daemon_fill(d, e) && (!d->ended || d->body_size >= 0))
            return false;
    *body = str_slice(buf_str(&d->in), 0, size);
    return true;
}

void daemon_close(struct daemon_link *d)
{
    if (d->fd >= 0)
        close(d->fd);
    buf_release(&d->in);
}

int daemon_complain(const struct err *daemon, const struct err *store)
{
    assert(store->code != ERR_NONE);
    if (daemon->code == ERR_NOT_FOUND || daemon->code == ERR_NONE)
        return cli_complain(CLI_STORE, "the store: %s", store->text);
    return cli_complain(CLI_STORE, "the store: %s; %s", store->text, daemon->text);
}

str daemon_reply_message(struct arena *a, str reply)
{
    static const char *const places[] = {"/detail/message", "/error/message"};
    str text = STR("");
    struct json doc;
    struct err e;
    bool ok;

    ok = json_open(&doc, reply, &e);
    for (size_t i = 0; ok && !text.n && i < COUNT_OF(places); i++)
        if (json_text(&doc, json_pointer(&doc, str_c(places[i])), a, &text))
            text = arena_dup(a, text);
    json_release(&doc);
    return text.n ? text : reply.n ? str_slice(reply, 0, 300) : STR("it gives no reason");
}

int daemon_refused(const struct daemon_link *d, str reply, int otherwise)
{
    struct arena a;
    int code;

    assert(otherwise != CLI_OK);
    if (d->status == 401 || d->status == 403)
        return cli_complain(CLI_AUTH, "the daemon needs an operator's key: set RATIONALE_KEY");
    arena_init(&a, 2 * reply.n + 65536);
    code = cli_complain(
        otherwise, "the daemon refuses: " STR_FMT, STR_ARG(daemon_reply_message(&a, reply)));
    arena_release(&a);
    return code;
}
