/* SPDX-License-Identifier: Apache-2.0 */
#include "server_peer.h"

#include "test.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_S 5
#define FLOOD_SIZE ((size_t)6 << 20)

static void flood(struct served *s, struct server_exchange *x)
{
    static const char bytes[10000] = {'x'};

    while (s->flood_left > 0 && !server_full(x)) {
        size_t n = s->flood_left < sizeof bytes ? s->flood_left : sizeof bytes;

        server_write(x, (str){bytes, n});
        s->flood_left -= n;
    }
    if (s->flood_left == 0)
        server_end(x);
}

static const struct server_header plain[] = {{STR_INIT("Content-Type"), STR_INIT("text/plain")}};

static void do_echo(struct served *s, struct server_exchange *x)
{
    const struct http1_head *h = server_request(x);
    str text = arena_printf(server_arena(x),
                            STR_FMT " " STR_FMT " " STR_FMT " [" STR_FMT "]",
                            STR_ARG(h->method),
                            STR_ARG(h->path),
                            STR_ARG(h->query),
                            STR_ARG(server_body(x)));

    (void)s;
    server_reply(x, 200, plain, 1, text);
}

static void do_size(struct served *s, struct server_exchange *x)
{
    (void)s;
    server_reply(x, 200, plain, 1, arena_printf(server_arena(x), "%zu", server_body(x).n));
}

static void do_stream(struct served *s, struct server_exchange *x)
{
    (void)s;
    server_head(x, 200, plain, 1);
    server_write(x, STR("one"));
    server_write(x, STR(""));
    server_write(x, STR("sixteen letters!"));
    server_end(x);
}

static void do_wait(struct served *s, struct server_exchange *x)
{
    s->waiting = x;
    server_user_set(x, s);
}

static void do_silent(struct served *s, struct server_exchange *x)
{
    do_wait(s, x);
    server_head(x, 200, plain, 1);
    server_write(x, STR(": here\n\n"));
}

static void do_flood(struct served *s, struct server_exchange *x)
{
    s->flood_left = FLOOD_SIZE;
    server_head(x, 200, plain, 1);
    flood(s, x);
}

static void do_abort(struct served *s, struct server_exchange *x)
{
    (void)s;
    server_head(x, 200, plain, 1);
    server_write(x, STR("half"));
    server_abort(x);
}

static void do_nothing(struct served *s, struct server_exchange *x)
{
    (void)s;
    server_reply(x, 204, NULL, 0, STR(""));
}

static void do_headers(struct served *s, struct server_exchange *x)
{
    const struct server_header headers[] = {
        {STR("X-Split"), STR("a\r\nInjected: yes")},
        {STR("Bad Name"), STR("x")},
        {STR("Content-Length"), STR("99")},
        {STR("transfer-encoding"), STR("chunked")},
        {STR("Connection"), STR("close")},
        {STR("X-Peer"), server_peer(x)},
    };

    (void)s;
    assert(server_peer_near(x));
    server_reply(x, 200, headers, COUNT_OF(headers), STR("ok"));
}

static void do_text(struct served *s, struct server_exchange *x)
{
    const struct server_header json = {STR("content-type"), STR("application/json")};
    char text[4000];

    (void)s;
    memset(text, 'x', sizeof text);
    server_reply(x, 200, &json, 1, (str){text, sizeof text});
}

/* Sends as many bytes as the query says, copied, or from a buffer. The query's first letter selects
 * how much room that buffer has in front. */
static void do_copied(struct served *s, struct server_exchange *x)
{
    uint64_t n = 0;
    char *text;

    (void)s;
    CHECK(str_u64(str_slice(server_request(x)->query, 1, 20), &n));
    text = arena_alloc(server_arena(x), n);
    memset(text, 'x', n);
    server_reply(x, 200, plain, 1, (str){text, n});
}

static void do_given(struct served *s, struct server_exchange *x)
{
    str query = server_request(x)->query;
    uint64_t n = 0;
    struct buf b;

    (void)s;
    CHECK(str_u64(str_slice(query, 1, 20), &n));
    buf_init(&b, 1 << 20);
    buf_front(&b, query.p[0] == 'a' ? SERVER_HEAD_SIZE : query.p[0] == 'b' ? 10 : 0);
    while (n-- > 0)
        buf_add_c(&b, 'x');
    server_reply_buf(x, 200, plain, 1, &b);
    buf_release(&b);
}

static void ws_message(void *ctx, struct server_ws *w, bool text, str data)
{
    (void)ctx;
    if (str_eq(data, STR("close")))
        server_ws_close(w, 1000, STR("as you wish"));
    else
        server_ws_send(w, text, data);
}

static void ws_over(void *ctx, struct server_ws *w, int code)
{
    struct served *s = ctx;

    (void)w;
    s->ws = NULL;
    atomic_store(&s->ws_closed, code);
}

static const struct server_ws_handler ws_handler = {
    .message_max = 1000, .on_message = ws_message, .on_close = ws_over};

static void do_ws(struct served *s, struct server_exchange *x)
{
    s->ws = server_upgrade(x, NULL, 0, &ws_handler, s);
}

static const struct {
    str path;
    void (*fn)(struct served *, struct server_exchange *);
} routes[] = {
    {STR_INIT("/size"), do_size},
    {STR_INIT("/stream"), do_stream},
    {STR_INIT("/wait"), do_wait},
    {STR_INIT("/silent"), do_silent},
    {STR_INIT("/flood"), do_flood},
    {STR_INIT("/abort"), do_abort},
    {STR_INIT("/nothing"), do_nothing},
    {STR_INIT("/headers"), do_headers},
    {STR_INIT("/text"), do_text},
    {STR_INIT("/copied"), do_copied},
    {STR_INIT("/given"), do_given},
    {STR_INIT("/ws"), do_ws},
};

static void on_request(void *ctx, struct server_exchange *x)
{
    struct served *s = ctx;

    atomic_fetch_add(&s->requests, 1);
    for (size_t i = 0; i < COUNT_OF(routes); i++)
        if (str_eq(server_request(x)->path, routes[i].path)) {
            routes[i].fn(s, x);
            return;
        }
    do_echo(s, x);
}

static void on_gone(void *ctx, struct server_exchange *x)
{
    struct served *s = ctx;

    if (s->waiting == x) {
        assert(server_user(x) == s);
        s->waiting = NULL;
    }
    atomic_fetch_add(&s->gone, 1);
}

static void on_room(void *ctx, struct server_exchange *x)
{
    struct served *s = ctx;

    atomic_fetch_add(&s->rooms, 1);
    flood(s, x);
}

static const struct server_handler handler = {on_request, on_gone, on_room};

static void *run(void *ctx)
{
    loop_run(ctx);
    return NULL;
}

static int listen_on_any(unsigned *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 512) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&a, &size) == 0);
    *port = ntohs(a.sin_port);
    return fd;
}

void served_begin(struct served *s, const struct server_options *o)
{
    struct err e;

    memset(s, 0, sizeof *s);
    clock_fake_init(&s->clock, 784111777000);
    s->loop = loop_new(&s->clock, &e);
    CHECK_F(s->loop, "%s", e.text);
    s->server = server_new(s->loop, o, &handler, s, &e);
    CHECK_F(s->server, "%s", e.text);
    CHECK_F(server_listen(s->server, listen_on_any(&s->port), &e), "%s", e.text);
    CHECK(pthread_create(&s->thread, NULL, run, s->loop) == 0);
}

void served_end(struct served *s)
{
    loop_stop(s->loop);
    pthread_join(s->thread, NULL);
    server_free(s->server);
    loop_free(s->loop);
}

struct call {
    struct served *served;
    struct loop_task task;
    void (*fn)(void *ctx);
    void *ctx;
};

static void on_call(void *ctx)
{
    struct call *c = ctx;

    c->fn(c->ctx);
    atomic_fetch_add(&c->served->posted, 1);
}

void served_call(struct served *s, void (*fn)(void *ctx), void *ctx)
{
    struct call c = {.served = s, .fn = fn, .ctx = ctx};
    int before = atomic_load(&s->posted);

    loop_task_init(&c.task, on_call, &c);
    loop_post(s->loop, &c.task);
    CHECK(served_reached(&s->posted, before + 1));
}

static void nothing(void *ctx)
{
    (void)ctx;
}

void served_pass(struct served *s, uint64_t ms)
{
    for (uint64_t step; ms > 0; ms -= step) {
        step = ms < 500 ? ms : 500;
        clock_fake_advance_ms(&s->clock, step);
        for (int i = 0; i < 3; i++) /* several rounds: timers fire, then their output is sent */
            served_call(s, nothing, NULL);
        usleep(2000);
    }
}

bool served_reached(const atomic_int *counter, int value)
{
    for (int i = 0; i < PATIENCE_S * 2000; i++) {
        if (atomic_load(counter) >= value)
            return true;
        usleep(500);
    }
    return false;
}

int served_connect(const struct served *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    struct timeval patience = {PATIENCE_S, 0};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0);
    return fd;
}

void served_send(int fd, str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);

        if (n <= 0)
            return; /* the server closed first, as some tests intend */
        bytes = str_slice(bytes, (size_t)n, bytes.n);
    }
}

bool served_read_all(int fd, struct buf *out)
{
    for (;;) {
        char *p = buf_room(out, 65536);
        ssize_t n;

        CHECK(p);
        n = recv(fd, p, 65536, 0);
        if (n <= 0)
            return n == 0;
        buf_wrote(out, (size_t)n);
    }
}

bool served_read_until(int fd, struct buf *out, const char *what)
{
    while (str_find(buf_str(out), str_c(what)) == STR_NONE) {
        char *p = buf_room(out, 4096);
        ssize_t n;

        CHECK(p);
        n = recv(fd, p, 4096, 0);
        if (n <= 0)
            return false;
        buf_wrote(out, (size_t)n);
    }
    return true;
}

str served_ask(const struct served *s, str bytes, struct buf *out)
{
    int fd = served_connect(s);

    buf_reset(out);
    served_send(fd, bytes);
    CHECK(served_read_all(fd, out));
    close(fd);
    return buf_str(out);
}

int served_status(str reply)
{
    return str_starts(reply, STR("HTTP/1.1 ")) && reply.n > 12
               ? (reply.p[9] - '0') * 100 + (reply.p[10] - '0') * 10 + reply.p[11] - '0'
               : 0;
}

str served_body(str reply)
{
    size_t at = str_find(reply, STR("\r\n\r\n"));

    return at == STR_NONE ? STR("") : str_slice(reply, at + 4, reply.n);
}

bool served_has(const struct buf *text, const char *what)
{
    return str_find(buf_str(text), str_c(what)) != STR_NONE;
}

size_t served_count(const struct buf *text, const char *what)
{
    str rest = buf_str(text);
    size_t n = 0;

    for (size_t at; (at = str_find(rest, str_c(what))) != STR_NONE; n++)
        rest = str_slice(rest, at + strlen(what), rest.n);
    return n;
}

void served_leave(int fd, bool reset)
{
    struct linger now = {.l_onoff = 1};

    if (reset)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

struct counting {
    const struct server *server;
    size_t count;
};

static void on_count(void *ctx)
{
    struct counting *c = ctx;

    c->count = server_count(c->server);
}

size_t served_connections(struct served *s)
{
    struct counting c = {s->server, 0};

    served_call(s, on_count, &c);
    return c.count;
}
