/* server_http.c - the server at /mcp: access, eras, and how replies are sent.
 *
 * A reply is JSON, or a stream of events if something was sent before it. Without tokens, only
 * this machine may connect, and only by one of its own names (DNS rebinding).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/log.h"
#include "mcp/serving.h"
#include "net/server.h"

#include <netdb.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATH "/mcp"
#define KEEPALIVE_MS 15000
#define DRAIN_MS 2000
#define HEADERS_MAX 4
/* Bytes that a client has not read yet. Above it, the stream of the client is closed. One message
 * may exceed the limit by MCP_MESSAGE_MAX. */
#define UNREAD_MAX ((size_t)4 << 20)

struct http {
    struct mcp_server *server;
    const struct mcp_http_options *o;
    struct loop *loop;
    struct server *http;
    struct loop_timer keepalive, drain;
    struct loop_task close_stalled;
    struct loop_watch signals;
    struct stream *streams; /* streams that have begun */
    const void *who;        /* the caller: set by mcp_may_enter, while a request is read */
    bool draining;
};

/* In the exchange's arena. */
struct stream {
    struct mcp_channel channel; /* first: the core knows only this */
    struct http *http;
    struct server_exchange *x;
    str session; /* the id to send, or empty */
    bool begun;
    bool stalled; /* above UNREAD_MAX; close_stalled closes it */
    struct stream *next, *prev;
};

/* ---- channels ---- */

static void mcp_http_forget(struct stream *s)
{
    if (!s->begun)
        return;
    assert(s->prev || s->http->streams == s);
    if (s->prev)
        s->prev->next = s->next;
    else
        s->http->streams = s->next;
    if (s->next)
        s->next->prev = s->prev;
}

static size_t mcp_usual_headers(const struct stream *s, const char *type, struct server_header *h)
{
    size_t n = 0;

    h[n++] = (struct server_header){STR("content-type"), str_c(type)};
    h[n++] = (struct server_header){STR("cache-control"), STR("no-store")};
    if (s->session.n)
        h[n++] = (struct server_header){STR("mcp-session-id"), s->session};
    assert(n < HEADERS_MAX);
    return n;
}

static void mcp_http_begin(struct stream *s)
{
    struct server_header h[HEADERS_MAX];
    size_t n = mcp_usual_headers(s, "text/event-stream", h);

    assert(!s->begun);
    h[n++] = (struct server_header){STR("x-accel-buffering"), STR("no")};
    server_head(s->x, 200, h, n);
    s->begun = true;
    s->next = s->http->streams;
    s->prev = NULL;
    if (s->next)
        s->next->prev = s;
    s->http->streams = s;
}

/* Whether the stream may be written to. If not, the core may still use its channel until a task
 * closes it. */
static bool mcp_http_has_room(struct stream *s)
{
    if (!s->stalled && server_queued(s->x) > UNREAD_MAX) {
        s->stalled = true;
        loop_defer(s->http->loop, &s->http->close_stalled);
    }
    return !s->stalled;
}

static void mcp_send_event(struct mcp_channel *c, str json)
{
    struct stream *s = (struct stream *)c;
    struct buf b;

    assert(json.n > 0);
    if (!s->begun)
        mcp_http_begin(s);
    if (!mcp_http_has_room(s))
        return;
    buf_init(&b, 4 * MCP_MESSAGE_MAX);
    buf_add(&b, STR("event: message\ndata: "));
    buf_add(&b, json);
    buf_add(&b, STR("\n\n"));
    server_write(s->x, buf_str(&b));
    buf_release(&b);
}

static void mcp_http_close(struct stream *s)
{
    mcp_http_forget(s);
    server_user_set(s->x, NULL);
    if (!s->stalled) {
        server_end(s->x);
        return;
    }
    log_warn("mcp stream closed: its client does not read it",
             LOG_STR("peer", server_peer(s->x)),
             LOG_U64("unread_bytes", server_queued(s->x)));
    server_abort(s->x);
}

static void mcp_send_reply(struct mcp_channel *c, int status, str json)
{
    struct stream *s = (struct stream *)c;
    struct server_header h[HEADERS_MAX];

    if (s->begun) {
        mcp_send_event(c, json);
        mcp_http_close(s);
        return;
    }
    server_user_set(s->x, NULL);
    server_reply(s->x, status, h, mcp_usual_headers(s, "application/json", h), json);
}

/* An HTTP request needs a response, so one without a reply gets an empty stream. */
static void mcp_http_end_cancelled(struct mcp_channel *c)
{
    struct stream *s = (struct stream *)c;

    if (!s->begun)
        mcp_http_begin(s);
    mcp_http_close(s);
}

static struct stream *stream_new(struct http *h, struct server_exchange *x)
{
    struct stream *s = arena_zero(server_arena(x), 1, sizeof *s);

    s->channel =
        (struct mcp_channel){mcp_send_event, mcp_send_reply, mcp_http_end_cancelled, h->who};
    s->http = h;
    s->x = x;
    s->session = STR("");
    server_user_set(x, s);
    return s;
}

static void mcp_http_on_gone(void *ctx, struct server_exchange *x)
{
    struct http *h = ctx;
    struct stream *s = server_user(x);

    if (!s)
        return;
    mcp_gone(h->server, &s->channel);
    mcp_http_forget(s);
}

static void mcp_http_close_stalled(void *ctx)
{
    struct http *h = ctx;
    struct stream *next;

    for (struct stream *s = h->streams; s; s = next) {
        next = s->next;
        if (!s->stalled)
            continue;
        mcp_gone(h->server, &s->channel);
        mcp_http_close(s);
    }
}

static void mcp_on_keepalive(void *ctx)
{
    struct http *h = ctx;

    for (struct stream *s = h->streams; s; s = s->next)
        if (mcp_http_has_room(s))
            server_write(s->x, STR(":\n\n"));
    loop_timer_set(h->loop, &h->keepalive, KEEPALIVE_MS);
}

/* ---- replies without the core ---- */

static void mcp_http_refuse(struct server_exchange *x, int status, int code, str id,
                            const char *why)
{
    struct server_header h[] = {{STR("content-type"), STR("application/json")},
                                {STR("allow"), STR("POST, GET, DELETE")},
                                {STR("www-authenticate"), STR("Bearer")}};
    struct buf b;

    assert(status >= 400);
    buf_init(&b, 4096 + MCP_ID_MAX * 6);
    mcp_emit_error(&b, id, code, str_c(why), STR(""));
    if (status == 401)
        h[1] = h[2];
    server_reply(x, status, h, status == 401 || status == 405 ? 2 : 1, buf_str(&b));
    buf_release(&b);
}

static void mcp_http_reply_status(struct server_exchange *x, int status)
{
    server_reply(x, status, NULL, 0, STR(""));
}

/* ---- access ---- */

static bool mcp_is_local(str host)
{
    return str_is_one_of_nocase(host, "localhost 127.0.0.1 ::1");
}

static bool mcp_origin_ok(const struct http1_head *head, bool keyed)
{
    str origin = http1_find(head, STR("origin")), host;
    size_t slashes = str_find(origin, STR("://"));

    if (!http1_has(head, STR("origin")))
        return true;
    if (slashes == STR_NONE)
        return false;
    host = http1_bare_host(str_slice(origin, slashes + 3, origin.n));
    return mcp_is_local(host) || (keyed && http1_same(host, http1_bare_host(head->host)));
}

static bool mcp_may_enter(struct http *h, struct server_exchange *x)
{
    const struct http1_head *head = server_request(x);
    str auth = http1_find(head, STR("authorization"));
    bool keyed = h->o->allowed != NULL;

    h->who = NULL;
    if (!mcp_origin_ok(head, keyed) || (!keyed && !mcp_is_local(http1_bare_host(head->host)))) {
        mcp_http_refuse(
            x, 403, MCP_INVALID_REQUEST, STR(""), "this host or origin may not come in");
        return false;
    }
    if (keyed && !(auth.n > 7 && http1_same(str_slice(auth, 0, 7), STR("bearer ")) &&
                   h->o->allowed(h->o->ctx, str_trim(str_slice(auth, 7, auth.n)), &h->who))) {
        mcp_http_refuse(
            x, 401, MCP_INVALID_REQUEST, STR(""), "a key is needed: Authorization: Bearer KEY");
        return false;
    }
    return true;
}

/* ---- requests ---- */

static void mcp_take_modern(struct http *h, struct server_exchange *x, const struct json *doc,
                            const struct mcp_message *m)
{
    const struct json_node *meta = json_find(doc, m->params, STR("_meta")),
                           *caps = json_find(doc, meta, STR(MCP_META_CAPABILITIES)),
                           *version = json_find(doc, meta, STR(MCP_META_VERSION));
    const char *why;

    assert(m->kind != MCP_REQUEST || m->id.n > 0);
    if (m->kind != MCP_REQUEST) {
        mcp_http_reply_status(x, 202);
        return;
    }
    if (version && version->kind == JSON_STRING && json_is_object(caps)) {
        why = mcp_check_headers(h->server, server_request(x), doc, m, server_arena(x));
        if (why) {
            mcp_http_refuse(x, 400, MCP_HEADER_MISMATCH, m->id, why);
            return;
        }
    }
    mcp_take(h->server, NULL, doc, m, &stream_new(h, x)->channel);
}

static void mcp_take_legacy(struct http *h, struct server_exchange *x, const struct json *doc,
                            const struct mcp_message *m)
{
    str id = http1_find(server_request(x), STR("mcp-session-id"));
    bool begins = m->kind == MCP_REQUEST && str_eq(m->method, STR("initialize"));
    struct mcp_session *session = id.n ? mcp_session_find(h->server, id, h->who) : NULL;
    struct stream *s;

    if (id.n && !session) {
        mcp_http_refuse(
            x, 404, MCP_SESSION_NOT_FOUND, m->id, "there is no such session; initialize again");
        return;
    }
    if (!session && !begins) {
        mcp_http_refuse(x, 400, MCP_INVALID_REQUEST, m->id, "begin with initialize, or give _meta");
        return;
    }
    if (!session)
        session = mcp_session_new(h->server, h->who);
    if (!session) {
        mcp_http_refuse(x, 503, MCP_INTERNAL_ERROR, m->id, "there are too many sessions");
        return;
    }
    if (m->kind != MCP_REQUEST) {
        mcp_hear(h->server, session, doc, m);
        mcp_http_reply_status(x, 202);
        return;
    }
    s = stream_new(h, x);
    if (begins)
        s->session = arena_dup(server_arena(x), str_c(session->id));
    mcp_take(h->server, session, doc, m, &s->channel);
}

static void mcp_take_post(struct http *h, struct server_exchange *x)
{
    const struct http1_head *head = server_request(x);
    str version = http1_find(head, STR("mcp-protocol-version")),
        type = http1_find(head, STR("content-type"));
    struct mcp_message m;
    struct mcp_fault fault;
    struct json doc;

    if (!http1_same(str_trim(str_slice(type, 0, str_find(type, STR(";")))),
                    STR("application/json"))) {
        mcp_http_refuse(x, 415, MCP_INVALID_REQUEST, STR(""), "the body must be application/json");
        return;
    }
    json_init(&doc);
    if (!mcp_read(&doc, server_body(x), server_arena(x), &m, &fault))
        mcp_http_refuse(x, 400, fault.code, fault.id, fault.why.text);
    else if (mcp_is_modern(&doc, &m) || (version.n && !mcp_legacy_version(version)))
        mcp_take_modern(h, x, &doc, &m);
    else
        mcp_take_legacy(h, x, &doc, &m);
    json_release(&doc);
}

static void mcp_take_get(struct http *h, struct server_exchange *x)
{
    str id = http1_find(server_request(x), STR("mcp-session-id"));
    struct mcp_session *session = id.n ? mcp_session_find(h->server, id, h->who) : NULL;
    struct stream *s;

    if (!id.n) {
        mcp_http_refuse(
            x, 405, MCP_INVALID_REQUEST, STR(""), "there is nothing to get without a session");
    } else if (!session) {
        mcp_http_refuse(x, 404, MCP_SESSION_NOT_FOUND, STR(""), "there is no such session");
    } else if (session->stream) {
        mcp_http_refuse(
            x, 409, MCP_INVALID_REQUEST, STR(""), "the session has such a stream already");
    } else {
        s = stream_new(h, x);
        session->stream = &s->channel;
        mcp_http_begin(s);
        server_write(x, STR(":\n\n"));
    }
}

static void mcp_take_delete(struct http *h, struct server_exchange *x)
{
    str id = http1_find(server_request(x), STR("mcp-session-id"));
    struct mcp_session *session = id.n ? mcp_session_find(h->server, id, h->who) : NULL;

    if (!id.n) {
        mcp_http_refuse(
            x, 405, MCP_INVALID_REQUEST, STR(""), "there is nothing to delete but a session");
        return;
    }
    if (!session) {
        mcp_http_refuse(x, 404, MCP_SESSION_NOT_FOUND, STR(""), "there is no such session");
        return;
    }
    while (session->turns) {
        struct mcp_turn *t = session->turns;
        struct buf b;

        session->turns = t->next;
        buf_init(&b, MCP_MESSAGE_MAX);
        mcp_emit_error(&b, t->id, MCP_SESSION_NOT_FOUND, STR("the session was ended"), STR(""));
        t->channel->end(t->channel, 200, buf_str(&b));
        buf_release(&b);
        mcp_turn_free(t);
    }
    if (session->stream)
        mcp_http_close((struct stream *)session->stream);
    mcp_session_end(h->server, session);
    mcp_http_reply_status(x, 204);
}

static void mcp_http_on_request(void *ctx, struct server_exchange *x)
{
    static const struct {
        str method;
        void (*take)(struct http *h, struct server_exchange *x);
    } ways[] = {{STR_INIT("POST"), mcp_take_post},
                {STR_INIT("GET"), mcp_take_get},
                {STR_INIT("DELETE"), mcp_take_delete}};
    const struct http1_head *head = server_request(x);
    struct http *h = ctx;

    if (!mcp_may_enter(h, x))
        return;
    if (!str_eq(head->path, STR(PATH))) {
        mcp_http_refuse(x, 404, MCP_INVALID_REQUEST, STR(""), "there is only " PATH " here");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        if (str_eq(head->method, ways[i].method)) {
            ways[i].take(h, x);
            return;
        }
    mcp_http_refuse(
        x, 405, MCP_INVALID_REQUEST, STR(""), "only POST, GET and DELETE are known here");
}

static void mcp_http_on_room(void *ctx, struct server_exchange *x)
{
    (void)ctx;
    (void)x;
}

/* ---- the process ---- */

static void mcp_http_stop_loop(void *ctx)
{
    struct http *h = ctx;

    loop_stop(h->loop);
}

static void mcp_http_on_signal(void *ctx, unsigned ready)
{
    struct http *h = ctx;
    struct signalfd_siginfo info;

    (void)ready;
    while (read(h->signals.fd, &info, sizeof info) > 0) {
        if (h->draining)
            loop_stop(h->loop);
        h->draining = true;
        server_drain(h->http, mcp_http_stop_loop, h);
        loop_timer_set(h->loop,
                       &h->drain,
                       h->streams && mcp_hands_count(h->server->hands) == 0 ? 0 : DRAIN_MS);
    }
}

static bool mcp_open_socket(const char *listen_at, bool any, int *fd, char address[96],
                            struct err *e)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
    const char *colon = strrchr(listen_at, ':');
    char host[256], service[16];
    struct sockaddr_storage ss;
    socklen_t size = sizeof ss;
    int rc, on = 1;
    str bare;

    if (!colon || !colon[1])
        return err_input(e, "--http: \"%.80s\" is not ADDR:PORT", listen_at);
    bare = http1_bare_host(str_c(listen_at));
    if (!any && !mcp_is_local(bare))
        return err_input(
            e,
            "without keys in the configuration it listens on loopback only, not on %.80s",
            listen_at);
    (void)snprintf(host, sizeof host, STR_FMT, STR_ARG(str_slice(bare, 0, 250)));
    rc = getaddrinfo(host, colon + 1, &hints, &found);
    if (rc != 0)
        return err_input(e, "listen on \"%.80s\": %s", listen_at, gai_strerror(rc));
    *fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    rc = *fd < 0 || bind(*fd, found->ai_addr, found->ai_addrlen) < 0 || listen(*fd, 512) < 0;
    if (rc) {
        err_sys(e, "listen on %.80s", listen_at);
        if (*fd >= 0)
            close(*fd);
    }
    freeaddrinfo(found);
    if (rc)
        return false;
    if (getsockname(*fd, (struct sockaddr *)&ss, &size) != 0 ||
        getnameinfo((struct sockaddr *)&ss,
                    size,
                    host,
                    sizeof host,
                    service,
                    sizeof service,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        (void)snprintf(service, sizeof service, "%.15s", colon + 1);
    (void)snprintf(address, 96, strchr(host, ':') ? "[%.60s]:%s" : "%.60s:%s", host, service);
    return true;
}

static bool mcp_http_run(struct http *h, struct err *e)
{
    static const struct server_handler handler = {
        mcp_http_on_request, mcp_http_on_gone, mcp_http_on_room};
    struct server_options options = {.body_max = MCP_MESSAGE_MAX, .gzip_min = SIZE_MAX};
    char address[96];
    int fd = -1;

    assert(!h->server->hands);
    h->http = server_new(h->loop, &options, &handler, h, e);
    if (!h->http || !mcp_open_socket(h->o->listen, h->o->allowed != NULL, &fd, address, e) ||
        !server_listen(h->http, fd, e) || !loop_watch_add(h->loop, &h->signals, LOOP_IN, e))
        return false;
    loop_timer_init(&h->keepalive, mcp_on_keepalive, h);
    loop_timer_init(&h->drain, mcp_http_stop_loop, h);
    loop_task_init(&h->close_stalled, mcp_http_close_stalled, h);
    loop_timer_set(h->loop, &h->keepalive, KEEPALIVE_MS);
    h->server->hands = mcp_hands_new(h->server, h->loop);
    if (h->o->on_ready)
        h->o->on_ready(h->o->ctx, str_c(address));
    loop_run(h->loop);
    mcp_hands_free(h->server->hands);
    h->server->hands = NULL;
    loop_drop(h->loop, &h->close_stalled);
    loop_timer_clear(h->loop, &h->keepalive);
    loop_timer_clear(h->loop, &h->drain);
    loop_watch_remove(h->loop, &h->signals);
    return true;
}

bool mcp_serve_http(struct mcp_server *s, const struct mcp_http_options *o, struct err *e)
{
    struct http h = {.server = s, .o = o};
    sigset_t set, before;
    bool ok;
    int fd;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &set, &before);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    h.loop = loop_new(s->clock, e);
    loop_watch_init(&h.signals, fd, mcp_http_on_signal, &h);
    ok = h.loop && mcp_http_run(&h, e);
    if (h.http)
        server_free(h.http);
    if (h.loop)
        loop_free(h.loop);
    close(fd);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}
