/* SPDX-License-Identifier: Apache-2.0 */
#include "client_side.h"
#include "net/conn.h"
#include "net_peer.h"
#include "test.h"

#include <sys/socket.h>
#include <unistd.h>

#define MUCH ((size_t)8 << 20)

/* Replies to the requests of one connection from a table until the client closes. */
static const char *const good_replies[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n",
    "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 O\r\ncontent-length: 5\r\n\r\nhello",
    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello",
};

static void serve_good(struct world *w)
{
    int fd = world_accept(w);

    for (size_t i = 0; i < COUNT_OF(good_replies) && world_request(fd); i++)
        world_reply(fd, good_replies[i]);
    peer_read_all(fd);
    close(fd);
}

static void serve_dripping(struct world *w)
{
    int fd = world_accept(w);

    for (size_t i = 0; i < COUNT_OF(good_replies) && world_request(fd); i++)
        peer_drip(fd, str_c(good_replies[i]));
    peer_read_all(fd);
    close(fd);
}

static void check_good_replies(void (*script)(struct world *w))
{
    static const int status[] = {200, 201, 200, 200};
    struct world w;

    world_init(&w, &clock_real, script, 0);
    for (size_t i = 0; i < COUNT_OF(good_replies); i++) {
        struct call c;

        call_start(&c, &w, "GET", STR(""));
        call_run_until(&c, "hbe");
        CHECK_INT(c.status, status[i]);
        CHECK_STR(buf_str(&c.body), "hello");
        CHECK_INT(client_idle_count(w.client), 1);
        call_release(&c);
    }
    CHECK_INT(atomic_load(&w.accepted), 1);
    world_release(&w);
}

TEST(client_uses_one_connection_for_calls_in_a_row)
{
    check_good_replies(serve_good);
}

TEST(client_does_not_see_the_cuts)
{
    check_good_replies(serve_dripping);
}

/* The server sends one reply, then closes, resets or keeps the connection. */
enum after { AFTER_CLOSE, AFTER_RESET, AFTER_WAIT };

static const struct one {
    const char *method, *reply;
    enum after after;
    const char *log;
    const char *words; /* error text after "upstream 127.0.0.1:PORT: " */
    size_t idle;       /* kept connections after the call */
} ones[] = {
    /* Whole replies, and whether the connection is kept. */
    {"GET", "HTTP/1.1 200 OK\r\n\r\nto the end", AFTER_CLOSE, "hbe", NULL, 0},
    {"GET", "HTTP/1.1 200 OK\r\n\r\n", AFTER_CLOSE, "he", NULL, 0},
    {"GET", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", AFTER_WAIT, "hbe", NULL, 0},
    {"GET",
     "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
     AFTER_WAIT,
     "hbe",
     NULL,
     0},
    {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy", AFTER_WAIT, "hbe", NULL, 0},
    {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", AFTER_WAIT, "he", NULL, 1},
    {"GET", "HTTP/1.1 204 No Content\r\n\r\n", AFTER_WAIT, "he", NULL, 1},
    {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", AFTER_WAIT, "he", NULL, 1},
    {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", AFTER_WAIT, "he", NULL, 1},
    /* Cut short. */
    {"GET", "", AFTER_CLOSE, "x", "it closed the connection before it replied", 0},
    {"GET", "", AFTER_RESET, "x", "the connection was reset by the peer before it replied", 0},
    {"GET",
     "HTTP/1.1 100 Continue\r\n\r\n",
     AFTER_CLOSE,
     "x",
     "it closed the connection in the middle of its reply's head",
     0},
    {"GET",
     "HTTP/1.1 20",
     AFTER_CLOSE,
     "x",
     "it closed the connection in the middle of its reply's head",
     0},
    {"GET",
     "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
     AFTER_CLOSE,
     "hbx",
     "it closed the connection after 4 bytes, before the end of its reply",
     0},
    {"GET",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
     AFTER_CLOSE,
     "hbx",
     "it closed the connection after 5 bytes, before the end of its reply",
     0},
    {"GET",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
     AFTER_CLOSE,
     "hbx",
     "it closed the connection after 5 bytes, before the end of its reply",
     0},
    /* Not HTTP. */
    {"GET", "SSH-2.0-OpenSSH_9.2\r\n", AFTER_WAIT, "x", "it did not answer in HTTP/1.1: ", 0},
    {"GET",
     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
     AFTER_WAIT,
     "x",
     "it did not answer in HTTP/1.1: it switched to another protocol",
     0},
    {"GET",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxz",
     AFTER_WAIT,
     "hbx",
     "its reply breaks HTTP/1.1 after 1 bytes: ",
     0},
    {"GET",
     "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
     AFTER_WAIT,
     "x",
     "it did not answer in HTTP/1.1: ",
     0},
};

static void serve_one(struct world *w)
{
    const struct one *one = &ones[w->step];
    int fd = world_accept(w);

    world_request(fd);
    world_reply(fd, one->reply);
    if (one->after == AFTER_RESET) {
        peer_reset(fd);
        return;
    }
    if (one->after == AFTER_CLOSE)
        shutdown(fd, SHUT_WR);
    peer_read_all(fd);
    close(fd);
}

TEST(client_knows_a_whole_reply_from_one_that_was_cut_or_is_none)
{
    for (size_t i = 0; i < COUNT_OF(ones); i++) {
        struct world w;
        struct call c;
        char prefix[64];

        world_init(&w, &clock_real, serve_one, (int)i);
        call_start(&c, &w, ones[i].method, STR(""));
        call_run_until(&c, ones[i].log);
        CHECK_F(client_idle_count(w.client) == ones[i].idle, "%zu: %s", i, ones[i].reply);
        if (ones[i].words) {
            int n = snprintf(prefix, sizeof prefix, "upstream 127.0.0.1:%u: ", w.port);

            CHECK(str_starts(str_c(c.err.text), str_c(prefix)));
            CHECK_F(str_starts(str_c(c.err.text + n), str_c(ones[i].words)), "%s", c.err.text);
            CHECK_INT(c.err.code, ERR_UPSTREAM);
            CHECK(c.sent);
        }
        call_release(&c);
        world_release(&w);
    }
}

static void serve_large_head(struct world *w)
{
    int fd = world_accept(w);

    world_request(fd);
    world_reply(fd, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 80; i++) {
        static char line[1024];

        memset(line, 'a', sizeof line);
        memcpy(line, "x: ", 3);
        memcpy(line + sizeof line - 2, "\r\n", 2);
        peer_send(fd, (str){line, sizeof line});
    }
    peer_read_all(fd);
    close(fd);
}

static void serve_interim(struct world *w)
{
    int fd = world_accept(w);

    world_request(fd);
    for (int i = 0; i < 50; i++)
        world_reply(fd, "HTTP/1.1 100 Continue\r\n\r\n");
    peer_read_all(fd);
    close(fd);
}

TEST(client_bounds_heads_and_interim_replies)
{
    void (*const scripts[])(struct world *) = {serve_large_head, serve_interim};

    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        struct world w;
        struct call c;

        world_init(&w, &clock_real, scripts[i], 0);
        call_start(&c, &w, "GET", STR(""));
        call_run_until(&c, "x");
        CHECK(str_find(str_c(c.err.text), STR("it did not answer in HTTP/1.1: ")) != STR_NONE);
        call_release(&c);
        world_release(&w);
    }
}

/* A body with room before it, into which the client may write the head. */
static void start_behind(struct call *c, struct world *w, char *body, size_t n, size_t front)
{
    call_init(c, w);
    c->request.method = STR("POST");
    c->request.body = (str){body, n};
    c->request.front = front;
    call_begin(c);
}

/* The first connection serves one call and breaks at the second. The next connection serves it,
 * except in step 2 (no reply) and step 3 (no next connection). */
static void serve_stale(struct world *w)
{
    int fd = world_accept(w);

    world_request(fd);
    world_reply(fd, good_replies[0]);
    world_request(fd);
    if (w->step == 3)
        world_reply(fd, "H");
    if (w->step == 1)
        peer_reset(fd);
    else
        close(fd);
    if (w->step == 3)
        return;
    fd = world_accept(w);
    if (world_request(fd) && w->step != 2)
        world_reply(fd, good_replies[0]);
    shutdown(fd, SHUT_WR);
    peer_read_all(fd);
    close(fd);
}

/* One connection, which ends while the second call waits for its reply. */
static void serve_once(struct world *w)
{
    int fd = world_accept(w);

    world_request(fd);
    world_reply(fd, good_replies[0]);
    world_request(fd);
    if (w->step == 1)
        peer_reset(fd);
    else
        close(fd);
}

TEST(client_replaces_a_stale_connection_once_and_unseen)
{
    static const struct {
        const char *log;
        int accepted;
        const char *words;
    } steps[] = {{"hbe", 2, NULL},
                 {"hbe", 2, NULL},
                 {"x", 2, "it closed the connection before it replied"},
                 {"x", 1, "in the middle of its reply's head"}};

    for (int step = 0; step < 4; step++) {
        struct world w;
        struct call a, b;
        char bytes[] = {[200] = '{', [201] = '}'};

        world_init(&w, &clock_real, serve_stale, step);
        call_start(&a, &w, "POST", STR("{}"));
        call_run_until(&a, "hbe");
        start_behind(&b, &w, bytes + 200, 2, 200);
        call_run_until(&b, steps[step].log);
        CHECK_INT(atomic_load(&w.accepted), steps[step].accepted);
        if (steps[step].words) {
            CHECK_F(strstr(b.err.text, steps[step].words), "%s", b.err.text);
            CHECK(b.sent);
        }
        call_release(&a);
        call_release(&b);
        world_release(&w);
    }
}

/* The server has read the second request and may have acted on it, so the client must not repeat
 * it. */
TEST(client_does_not_repeat_what_must_happen_once)
{
    for (int step = 0; step < 2; step++) {
        struct world w;
        struct call a, b;

        world_init(&w, &clock_real, serve_once, step);
        call_start(&a, &w, "POST", STR("{}"));
        call_run_until(&a, "hbe");
        call_init(&b, &w);
        b.request.method = STR("POST");
        b.request.body = STR("{}");
        b.request.once = true;
        call_begin(&b);
        call_run_until(&b, "x");
        CHECK_INT(atomic_load(&w.accepted), 1);
        CHECK(b.sent && b.err.code == ERR_UPSTREAM);
        call_release(&a);
        call_release(&b);
        world_release(&w);
    }
}

TEST(client_says_that_it_was_refused_and_that_nothing_was_sent)
{
    struct world w;
    struct call c;
    char want[100];

    world_init(&w, &clock_real, NULL, 0);
    call_start(&c, &w, "GET", STR(""));
    call_run_until(&c, "x");
    snprintf(want, sizeof want, "upstream 127.0.0.1:%u: the connection was refused", w.port);
    CHECK_STR(str_c(c.err.text), want);
    CHECK_INT(c.err.code, ERR_UPSTREAM);
    CHECK(!c.sent);
    call_release(&c);
    call_url(&c, &w, "http", "[::1]"); /* refused too, or this host has no IPv6 */
    call_run_until(&c, "x");
    CHECK(str_starts(str_c(c.err.text), STR("upstream [::1]:")));
    call_release(&c);
    world_release(&w);
}

TEST(client_tries_the_next_address_and_says_when_there_is_no_name)
{
    struct world w;
    struct call c;

    world_init(&w, &clock_real, serve_good, 0);
    call_url(&c, &w, "http", "no.test");
    call_run_until(&c, "x");
    CHECK(strstr(c.err.text, "upstream no.test:"));
    CHECK(strstr(c.err.text, "the host no.test is not found"));
    CHECK(!c.sent);
    call_release(&c);
    call_url(&c, &w, "http", "two.test");
    call_run_until(&c, "hbe");
    call_release(&c);
    call_url(&c, &w, "http", "two.test"); /* over the kept connection */
    call_run_until(&c, "hbe");
    call_release(&c);
    CHECK_INT(atomic_load(&w.accepted), 1);
    world_release(&w);
}

TEST(client_sends_no_request_that_would_be_two)
{
    static const struct {
        const char *method, *target, *headers;
    } cases[] = {
        {"", "/", ""},
        {"GET x", "/", ""},
        {"get", "/", ""},
        {"GET", "", ""},
        {"GET", "x", ""},
        {"GET", "/a b", ""},
        {"GET", "/\r\n", ""},
        {"GET", "/", "a: b"},
        {"GET", "/", "a: b\n"},
        {"GET", "/", "\r\n"},
        {"GET", "/", "a: b\r\n\r\n"},
        {"GET", "/", "a: b\r\n c\r\n"},
        {"GET", "/", ": b\r\n"},
        {"GET", "/", "a: b\rc\r\n"},
        {"GET", "/", "a: b\nc: d\r\n"},
    };
    struct world w;
    struct call c;

    world_init(&w, &clock_real, NULL, 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        call_init(&c, &w);
        c.request.method = str_c(cases[i].method);
        c.request.target = str_c(cases[i].target);
        c.request.headers = str_c(cases[i].headers);
        call_begin(&c);
        call_run_until(&c, "x");
        CHECK_F(c.err.code == ERR_INPUT, "%zu: %s", i, c.err.text);
        CHECK(!c.sent);
        CHECK(client_lines(str_c(cases[i].headers)) == (cases[i].headers[0] == '\0'));
        call_release(&c);
    }
    CHECK(client_lines(STR("a: b\r\nc:\r\n")));
    call_url(&c, &w, "https", "localhost");
    call_run_until(&c, "x");
    CHECK(strstr(c.err.text, "needs TLS"));
    call_release(&c);
    call_url(&c, &w, "https", "localhost");
    client_cancel(c.call); /* before the call reports its failure */
    call_release(&c);
    world_release(&w);
}

static void serve_request_text(struct world *w)
{
    static const char want[] = "POST /v1/x?y=z HTTP/1.1\r\nHost: 127.0.0.1:%u\r\naccept: "
                               "*/*\r\nContent-Length: 2\r\n\r\n{}";
    char got[1000] = "", text[1000];
    int fd = world_accept(w);
    ssize_t n = recv(fd, got, sizeof got - 1, 0); /* one segment holds all of it */

    snprintf(text, sizeof text, want, w->port);
    CHECK(n > 0);
    CHECK_STR(str_c(got), text);
    world_reply(fd, good_replies[0]);
    peer_read_all(fd);
    close(fd);
}

TEST(client_sends_head_and_body_in_one_piece_wherever_the_head_is_written)
{
    for (size_t front = 0; front <= 200; front += front > 70 && front < 110 ? 1 : 10) {
        char bytes[202];
        struct world w;
        struct call c;

        memset(bytes, '-', 200);
        memcpy(bytes + 200, "{}", 2);
        world_init(&w, &clock_real, serve_request_text, 0);
        start_behind(&c, &w, bytes + 200, 2, front);
        call_run_until(&c, "hbe");
        CHECK(memchr(bytes, '{', 200) == NULL);
        for (size_t i = 0; i < 200 - front; i++)
            CHECK(bytes[i] == '-');
        call_release(&c);
        world_release(&w);
    }
}

static void serve_upload(struct world *w)
{
    int fd = world_accept(w);
    size_t got = 0;
    char bytes[65536];

    while (got < MUCH + 1) {
        ssize_t n = recv(fd, bytes, sizeof bytes, 0);

        CHECK(n > 0);
        for (ssize_t i = 0; i < n; i++)
            got += bytes[i] == 'z';
    }
    atomic_store(&w->server_got, got);
    world_reply(fd, good_replies[0]);
    peer_read_all(fd);
    close(fd);
}

TEST(client_sends_a_large_body_as_the_server_takes_it)
{
    char *much = malloc(512 + MUCH);
    struct world w;
    struct call c;

    memset(much, 'z', 512 + MUCH);
    for (size_t front = 0; front <= 512; front += 512) {
        world_init(&w, &clock_real, serve_upload, 0);
        start_behind(&c, &w, much + 512, MUCH, front); /* the target adds one z */
        call_run_until(&c, "hbe");
        CHECK_INT(atomic_load(&w.server_got), MUCH + 1);
        CHECK_INT(client_idle_count(w.client), 1);
        call_release(&c);
        world_release(&w);
    }
    free(much);
}

static void serve_too_large(struct world *w)
{
    int fd = world_accept(w);

    world_request(fd);
    world_reply(fd, "HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nhello");
    close(fd); /* with unread bytes, so the reply is followed by a RST */
}

TEST(client_reads_a_reply_that_comes_before_its_request_is_sent)
{
    char *much = calloc(1, MUCH);
    struct world w;
    struct call c;

    world_init(&w, &clock_real, serve_too_large, 0);
    call_start(&c, &w, "POST", (str){much, MUCH});
    call_run_until(&c, "hbe");
    CHECK_INT(c.status, 413);
    CHECK_INT(client_idle_count(w.client), 0);
    call_release(&c);
    world_release(&w);
    free(much);
}

TEST_MAIN(T(client_uses_one_connection_for_calls_in_a_row), T(client_does_not_see_the_cuts),
          T(client_knows_a_whole_reply_from_one_that_was_cut_or_is_none),
          T(client_bounds_heads_and_interim_replies),
          T(client_replaces_a_stale_connection_once_and_unseen),
          T(client_does_not_repeat_what_must_happen_once),
          T(client_says_that_it_was_refused_and_that_nothing_was_sent),
          T(client_tries_the_next_address_and_says_when_there_is_no_name),
          T(client_sends_no_request_that_would_be_two),
          T(client_sends_head_and_body_in_one_piece_wherever_the_head_is_written),
          T(client_sends_a_large_body_as_the_server_takes_it),
          T(client_reads_a_reply_that_comes_before_its_request_is_sent))
