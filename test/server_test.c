/* SPDX-License-Identifier: Apache-2.0 */
#include "server_peer.h"
#include "test.h"

#include "net/gzip.h"

#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#define OUT_MAX ((size_t)32 << 20)
#define H "Host: a\r\n"
#define CLOSE "Connection: close\r\n"

static const struct server_options small = {.body_max = 100000, .head_max = 4096};
static struct served served;
static struct buf out;

static void begin(const struct server_options *o)
{
    buf_init(&out, OUT_MAX);
    served_begin(&served, o);
}

static void end(void)
{
    served_end(&served);
    buf_release(&out);
}

TEST(server_answers_whole_and_in_pieces)
{
    static const struct {
        const char *request, *wants[4], *never;
    } table[] = {
        {"GET /a?b=c HTTP/1.1\r\n" H CLOSE "\r\n",
         {"HTTP/1.1 200 OK\r\n", "GET /a b=c []", "Content-Length: 13\r\n", "Connection: close"},
         "chunked"},
        {"POST /p HTTP/1.1\r\n" H CLOSE "Content-Length: 5\r\n\r\nhello",
         {"POST /p  [hello]", "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"},
         "chunked"},
        {"POST /p HTTP/1.1\r\n" H CLOSE
         "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n",
         {"POST /p  [hello]"},
         "chunked"},
        {"GET /stream HTTP/1.1\r\n" H CLOSE "\r\n",
         {"Transfer-Encoding: chunked\r\n",
          "\r\n\r\n3\r\none\r\n10\r\nsixteen letters!\r\n0\r\n\r\n"},
         "Content-Length"},
        {"GET /stream HTTP/1.0\r\n\r\n",
         {"Connection: close\r\n", "\r\n\r\nonesixteen letters!"},
         "chunked"},
        {"GET /a HTTP/1.0\r\n\r\n", {"Connection: close\r\n", "GET /a  []"}, "keep-alive"},
        {"HEAD /a HTTP/1.1\r\n" H CLOSE "\r\n", {"Content-Length: 11\r\n"}, "HEAD"},
        {"HEAD /stream HTTP/1.1\r\n" H CLOSE "\r\n", {"Transfer-Encoding: chunked"}, "one"},
        {"GET /nothing HTTP/1.1\r\n" H CLOSE "\r\n", {"HTTP/1.1 204 No Content\r\n"}, "Length"},
        {"GET /headers HTTP/1.1\r\n" H CLOSE "\r\n",
         {"X-Split: a  Injected: yes\r\n", "Content-Length: 2\r\n", "X-Peer: 127.0.0.1\r\n"},
         "Bad Name"},
    };

    begin(&small);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        served_ask(&served, str_c(table[i].request), &out);
        for (size_t k = 0; k < 4 && table[i].wants[k]; k++)
            CHECK_F(served_has(&out, table[i].wants[k]),
                    "%zu: no %s in %s",
                    i,
                    table[i].wants[k],
                    out.p);
        CHECK_F(!served_has(&out, table[i].never), "%zu: %s", i, table[i].never);
    }
    end();
}

TEST(server_takes_requests_one_byte_at_a_time)
{
    str text = STR("POST /a HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
                   "0\r\n\r\nPOST /b HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nxyGET /c HTTP/1.1\n"
                   "Host: a\nConnection: close\n\n");
    int fd;

    begin(&small);
    fd = served_connect(&served);
    for (size_t i = 0; i < text.n; i++) {
        served_send(fd, str_slice(text, i, i + 1));
        usleep(100);
    }
    CHECK(served_read_all(fd, &out));
    CHECK(served_has(&out, "POST /a  [hello]") && served_has(&out, "POST /b  [xy]") &&
          served_has(&out, "GET /c  []"));
    CHECK_INT(served_count(&out, "HTTP/1.1 200"), 3);
    close(fd);
    end();
}

static void answer_waiting(void *ctx)
{
    struct served *s = ctx;

    if (s->waiting)
        server_reply(s->waiting, 200, NULL, 0, STR("late"));
    s->waiting = NULL;
}

TEST(server_answers_a_pipeline_in_order)
{
    struct buf text;
    size_t first, second;

    begin(&small);
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 2000; i++)
        buf_printf(&text, "GET /%d HTTP/1.1\r\n" H "\r\n", i);
    buf_add(&text, STR("GET /last HTTP/1.1\r\n" H CLOSE "\r\nGET /never HTTP/1.1\r\n" H "\r\n"));
    served_ask(&served, buf_str(&text), &out);
    CHECK_INT(served_count(&out, "HTTP/1.1 200"), 2001);
    first = str_find(buf_str(&out), STR("GET /7 "));
    second = str_find(buf_str(&out), STR("GET /1999 "));
    CHECK(first < second && second != STR_NONE && served_has(&out, "GET /last ") &&
          !served_has(&out, "/never"));
    buf_release(&text);
    end();
}

TEST(server_makes_a_pipeline_wait_for_a_late_answer)
{
    int fd;

    begin(&small);
    fd = served_connect(&served);
    served_send(fd, STR("GET /wait HTTP/1.1\r\n" H "\r\nGET /next HTTP/1.1\r\n" H CLOSE "\r\n"));
    CHECK(served_reached(&served.requests, 1));
    served_send(fd, STR("more"));
    served_pass(&served, 100);
    CHECK_INT(served.requests, 1);
    served_call(&served, answer_waiting, &served);
    CHECK(served_read_all(fd, &out));
    CHECK(str_find(buf_str(&out), STR("late")) < str_find(buf_str(&out), STR("GET /next")));
    close(fd);
    end();
}

TEST(server_keeps_connections_alive_as_the_version_says)
{
    int fd;

    begin(&small);
    fd = served_connect(&served);
    for (int i = 0; i < 3; i++) {
        buf_reset(&out);
        served_send(fd, STR("GET /k HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
        CHECK(served_read_until(fd, &out, "[]"));
        CHECK(served_has(&out, "Connection: keep-alive\r\n"));
    }
    buf_reset(&out);
    served_send(fd, STR("GET /k HTTP/1.1\r\n" H "\r\n"));
    CHECK(served_read_until(fd, &out, "[]"));
    CHECK(!served_has(&out, "Connection:"));
    CHECK_INT(served.requests, 4);
    close(fd);
    end();
}

TEST(server_says_continue_only_if_it_will_read_on)
{
    int fd;

    begin(&small);
    fd = served_connect(&served);
    served_send(
        fd,
        STR("POST /a HTTP/1.1\r\n" H CLOSE "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    CHECK(served_read_until(fd, &out, "\r\n\r\n"));
    CHECK_STR(buf_str(&out), "HTTP/1.1 100 Continue\r\n\r\n");
    served_send(fd, STR("ok"));
    CHECK(served_read_all(fd, &out) && served_has(&out, "[ok]"));
    close(fd);
    served_ask(
        &served,
        STR("POST /a HTTP/1.1\r\n" H CLOSE "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nok"),
        &out);
    CHECK(!served_has(&out, "100 Continue") && served_has(&out, "[ok]"));
    end();
}

TEST(server_does_not_wait_forever)
{
    int head, body, idle, fresh;

    begin(&small);
    head = served_connect(&served);
    served_send(head, STR("GET / HTTP/1.1\r\nHos"));
    body = served_connect(&served);
    served_send(body, STR("POST / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhe"));
    idle = served_connect(&served);
    served_send(idle, STR("GET /x HTTP/1.1\r\n" H "\r\n"));
    CHECK(served_read_until(idle, &out, "[]"));
    fresh = served_connect(&served);
    served_pass(&served, 9000);
    CHECK_INT(served_connections(&served), 4);
    served_pass(&served, 3000);
    buf_reset(&out);
    CHECK(served_read_all(head, &out));
    CHECK_INT(served_status(buf_str(&out)), 408);
    served_send(body, STR("l")); /* the time limit restarts at each byte */
    served_pass(&served, 25000);
    served_send(body, STR("l"));
    served_pass(&served, 33000);
    buf_reset(&out);
    CHECK(served_read_all(body, &out));
    CHECK_INT(served_status(buf_str(&out)), 408);
    buf_reset(&out);
    CHECK(served_read_all(idle, &out) && out.n == 0);
    CHECK(served_read_all(fresh, &out) && out.n == 0);
    close(head), close(body), close(idle), close(fresh);
    end();
}

TEST(server_notices_at_once_that_a_client_left)
{
    static const char *const paths[] = {"/wait", "/silent"};
    int gone = 0;

    begin(&small);
    for (int i = 0; i < 12; i++) {
        struct buf text;
        int fd = served_connect(&served);

        buf_init(&text, 4096);
        buf_printf(&text, "GET %s HTTP/1.1\r\n" H "\r\n", paths[i % 2]);
        if (i >= 8)
            buf_add(&text, STR("GET /pipelined HTTP/1.1\r\n" H "\r\n"));
        served_send(fd, buf_str(&text));
        CHECK(served_reached(&served.requests, i + 1));
        if (i % 2) {
            buf_reset(&out);
            CHECK(served_read_until(fd, &out, ": here"));
        }
        if (i / 4 == 1)
            shutdown(fd, SHUT_WR); /* a client that half-closes has left */
        else
            served_leave(fd, i % 4 < 2);
        CHECK_F(served_reached(&served.gone, ++gone), "%d", i);
        if (i / 4 == 1)
            close(fd);
        buf_release(&text);
    }
    CHECK_INT(served.requests, 12);
    end();
}

/* Requests that can be answered at once are answered after a half-close. A request that has to wait
 * is dropped, because its client has left. */
TEST(server_answers_who_sends_no_more_what_it_can_at_once)
{
    str one = STR("POST /a HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nhi");
    int fd;

    begin(&small);
    for (int i = 0; i < 40; i++) {
        fd = served_connect(&served);
        if (i % 2)
            served_send(fd, str_slice(one, 0, (size_t)i));
        served_send(fd, str_slice(one, i % 2 ? (size_t)i : 0, one.n));
        for (int k = 0; k < 20; k++)
            served_send(fd, one);
        served_send(fd, STR("GET /unfinished HT"));
        shutdown(fd, SHUT_WR);
        buf_reset(&out);
        CHECK(served_read_all(fd, &out));
        CHECK_INT(served_count(&out, "[hi]"), 21);
        CHECK(!served_has(&out, "unfinished"));
        close(fd);
    }
    fd = served_connect(&served);
    served_send(fd, one);
    served_send(fd, STR("GET /wait HTTP/1.1\r\n" H "\r\n"));
    served_send(fd, one);
    shutdown(fd, SHUT_WR);
    CHECK(served_reached(&served.gone, 1));
    close(fd);
    end();
}

TEST(server_drops_a_client_that_takes_nothing)
{
    int fd;

    begin(&small);
    fd = served_connect(&served);
    served_send(fd, STR("GET /flood HTTP/1.1\r\n" H "\r\n"));
    CHECK(served_reached(&served.requests, 1));
    served_pass(&served, 50000);
    CHECK_INT(served.gone, 0);
    served_pass(&served, 15000);
    CHECK(served_reached(&served.gone, 1));
    close(fd);
    end();
}

TEST(server_holds_a_large_reply_back_until_there_is_room)
{
    int fd;

    begin(&small);
    fd = served_connect(&served);
    served_send(fd, STR("GET /flood HTTP/1.1\r\n" H CLOSE "\r\n"));
    CHECK(served_reached(&served.requests, 1));
    served_pass(&served, 100);
    CHECK(served.flood_left > 0);
    CHECK(served_read_all(fd, &out));
    CHECK(out.n > 6 << 20 && served.rooms > 0);
    CHECK(str_ends(buf_str(&out), STR("\r\n0\r\n\r\n")));
    close(fd);
    end();
}

TEST(server_lets_the_client_see_that_a_reply_was_cut)
{
    int fd;

    begin(&small);
    served_ask(&served, STR("GET /abort HTTP/1.1\r\n" H "\r\n"), &out);
    CHECK(served_has(&out, "4\r\nhalf\r\n") && !served_has(&out, "0\r\n\r\n"));
    fd = served_connect(&served);
    buf_reset(&out);
    served_send(fd, STR("GET /abort HTTP/1.0\r\n\r\n"));
    CHECK(!served_read_all(fd, &out)); /* without chunks, only a RST shows the truncation */
    close(fd);
    end();
}

TEST(server_packs_text_for_who_takes_it)
{
    struct buf plain;
    struct err e;
    str body;

    begin(&small);
    buf_init(&plain, 4000);
    body = served_body(served_ask(
        &served, STR("GET /text HTTP/1.1\r\n" H CLOSE "Accept-Encoding: gzip\r\n\r\n"), &out));
    CHECK(served_has(&out, "Content-Encoding: gzip\r\n") &&
          served_has(&out, "Vary: Accept-Encoding\r\n"));
    CHECK(body.n < 100 && gzip_unpack(body, &plain, &e) && plain.n == 4000);
    body = served_body(served_ask(&served, STR("GET /text HTTP/1.1\r\n" H CLOSE "\r\n"), &out));
    CHECK(!served_has(&out, "Content-Encoding") && served_has(&out, "Vary: Accept-Encoding\r\n") &&
          body.n == 4000);
    buf_release(&plain);
    end();
}

TEST(server_sends_a_buffer_as_it_sends_a_copy_of_it)
{
    static const char *const sizes[] = {"0", "1", "1000", "2000", "20000", "90000"};
    static const char *const lines[] = {"", "Accept-Encoding: gzip\r\n"};
    static const char *const methods[] = {"GET", "HEAD"};
    struct buf text, copied;

    begin(&small);
    buf_init(&text, 4096);
    buf_init(&copied, OUT_MAX);
    for (size_t i = 0; i < 2 * 2 * 3 * COUNT_OF(sizes); i++)
        for (int given = 0; given < 2; given++) {
            buf_reset(&text);
            for (int twice = 0; twice < 2; twice++) /* the second request is queued */
                buf_printf(&text,
                           "%s /%s?%c%s HTTP/1.1\r\n" H "%s%s\r\n",
                           methods[i / 2 % 2],
                           given ? "given" : "copied",
                           "abc"[i / 4 % 3],
                           sizes[i / 12],
                           lines[i % 2],
                           twice ? CLOSE : "");
            served_ask(&served, buf_str(&text), given ? &out : &copied);
            if (given)
                CHECK_F(str_eq(buf_str(&out), buf_str(&copied)), "%s", text.p);
        }
    buf_release(&copied);
    buf_release(&text);
    end();
}

TEST(server_says_that_it_is_full)
{
    const struct server_options two = {.conns_max = 2};
    int a, b;

    begin(&two);
    a = served_connect(&served);
    served_send(a, STR("GET /x HTTP/1.1\r\n" H "\r\n"));
    CHECK(served_read_until(a, &out, "[]"));
    b = served_connect(&served);
    buf_reset(&out);
    served_send(b, STR("GET /x HTTP/1.1\r\n" H "\r\n"));
    CHECK(served_read_until(b, &out, "[]"));
    CHECK_INT(served_status(served_ask(&served, STR("GET /x HTTP/1.1\r\n" H "\r\n"), &out)), 503);
    close(a);
    close(b);
    end();
}

static void on_idle(void *ctx)
{
    atomic_fetch_add(&((struct served *)ctx)->idle, 1);
}

static void drain(void *ctx)
{
    struct served *s = ctx;

    server_drain(s->server, on_idle, s);
}

TEST(server_drains_idle_ones_at_once_and_lets_the_others_end)
{
    int idle, busy;

    begin(&small);
    idle = served_connect(&served);
    served_send(idle, STR("GET /x HTTP/1.1\r\n" H "\r\n"));
    CHECK(served_read_until(idle, &out, "[]"));
    busy = served_connect(&served);
    served_send(busy, STR("GET /wait HTTP/1.1\r\n" H "\r\n"));
    CHECK(served_reached(&served.requests, 2));
    served_call(&served, drain, &served);
    buf_reset(&out);
    CHECK(served_read_all(idle, &out) && out.n == 0);
    CHECK_INT(served.idle, 0);
    served_call(&served, answer_waiting, &served);
    CHECK(served_read_all(busy, &out));
    CHECK(served_has(&out, "Connection: close\r\n") && served_has(&out, "late"));
    close(idle), close(busy);
    CHECK(served_reached(&served.idle, 1));
    end();
}

/* Writes more than the socket buffers hold to a client that does not read. */
static void leave_stalled(void *ctx)
{
    static char bytes[1 << 20];
    struct served *s = ctx;

    memset(bytes, 'x', sizeof bytes);
    for (int i = 0; i < 24; i++)
        server_write(s->waiting, (str){bytes, sizeof bytes});
    server_flush(s->waiting);
    CHECK(server_queued(s->waiting) > sizeof bytes);
    drain(s);
    server_leave(s->waiting);
}

TEST(server_does_not_wait_in_a_drain_for_one_that_was_left)
{
    int fd;

    begin(&small);
    fd = served_connect(&served);
    served_send(fd, STR("GET /silent HTTP/1.1\r\n" H "\r\n"));
    CHECK(served_read_until(fd, &out, ": here"));
    served_call(&served, leave_stalled, &served);
    CHECK_INT(served.idle, 0);
    served_pass(&served, 1500);
    CHECK(served_reached(&served.idle, 1));
    close(fd);
    end();
}

#define STREAMS 200

/* In addition to the exchange's arena, whose first block is 4 KiB, and the connection itself. */
TEST(server_holds_little_for_a_silent_stream_and_less_for_an_idle_connection)
{
    int fds[STREAMS];
    size_t before, streaming;

    mallopt(M_ARENA_MAX, 1);
    begin(&small);
    served_ask(&served, STR("GET /first HTTP/1.1\r\n" H CLOSE "\r\n"), &out); /* warm-up */
    before = mallinfo2().uordblks;
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = served_connect(&served);
        served_send(fds[i], STR("GET /silent HTTP/1.1\r\n" H "\r\n"));
    }
    CHECK(served_reached(&served.requests, 1 + STREAMS));
    served_pass(&served, 2000);
    streaming = mallinfo2().uordblks - before;
    CHECK_F(streaming / STREAMS < 4096 + 2048, "%zu bytes a stream", streaming / STREAMS);
    for (int i = 0; i < STREAMS; i++)
        close(fds[i]);
    CHECK(served_reached(&served.gone, STREAMS));
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = served_connect(&served);
        served_send(fds[i], STR("GET /idle HTTP/1.1\r\n" H "\r\n"));
    }
    CHECK(served_reached(&served.requests, 1 + 2 * STREAMS));
    served_pass(&served, 3000);
    streaming = mallinfo2().uordblks - before;
    CHECK_F(streaming / STREAMS < 2048, "%zu bytes a connection", streaming / STREAMS);
    for (int i = 0; i < STREAMS; i++)
        close(fds[i]);
    end();
}

/* A waiting stream drops its parsed head. server_request parses it again and gives the same
 * texts. */
static void drop_request(void *ctx)
{
    struct served *s = ctx;
    struct server_exchange *x = s->waiting;
    const struct http1_head *h = server_request(x);
    str path = h->path, query = h->query, value = http1_find(h, STR("x-last"));
    size_t count = h->field_count;

    server_head(x, 200, NULL, 0);
    for (int i = 0; i < 3; i++) {
        server_request_drop(x);
        server_request_drop(x);
        h = server_request(x);
        CHECK(h->path.p == path.p && h->path.n == path.n && h->query.p == query.p);
        CHECK_INT(h->field_count, count);
        CHECK(http1_find(h, STR("X-Last")).p == value.p);
        CHECK(str_eq(http1_find(h, STR("x-last")), STR("yes")));
        CHECK(str_eq(h->method, STR("POST")) && h->keep_alive);
    }
    server_request_drop(x);
    server_write(x, server_body(x));
    server_end(x);
    s->waiting = NULL;
}

TEST(server_parses_a_dropped_request_again)
{
    static const struct server_options large = {.body_max = 100000, .head_max = 16384};
    const size_t fills[] = {0, 3000, 9000}; /* head within the arena's blocks or beyond */
    struct buf text;

    begin(&large);
    buf_init(&text, 1 << 20);
    for (size_t i = 0; i < COUNT_OF(fills); i++) {
        int fd = served_connect(&served);

        buf_reset(&text);
        buf_add(&text, STR("POST /wait?a=1 HTTP/1.1\r\n" H "X-Fill: "));
        for (size_t k = 0; k < fills[i]; k++)
            buf_add_c(&text, 'f');
        buf_add(&text, STR("\r\nContent-Length: 2000\r\nX-Last: yes\r\n\r\n"));
        for (size_t k = 0; k < 2000; k++)
            buf_add_c(&text, 'b');
        served_send(fd, buf_str(&text));
        CHECK(served_reached(&served.requests, 2 * (int)i + 1));
        served_call(&served, drop_request, &served);
        /* The connection still works. */
        served_send(fd, STR("GET /a HTTP/1.1\r\n" H CLOSE "\r\n"));
        CHECK(served_read_all(fd, &out));
        CHECK(served_has(&out, "bbb") && served_has(&out, "GET /a  []"));
        buf_reset(&out);
        close(fd);
    }
    buf_release(&text);
    end();
}

TEST(server_can_be_freed_while_exchanges_are_under_way)
{
    int a, b, c;

    begin(&small);
    a = served_connect(&served);
    b = served_connect(&served);
    c = served_connect(&served);
    served_send(a, STR("GET /silent HTTP/1.1\r\n" H "\r\n"));
    served_send(b, STR("POST /x HTTP/1.1\r\n" H "Content-Length: 9999\r\n\r\nabc"));
    served_send(c, STR("GET /flood HTTP/1.1\r\n" H "\r\n"));
    CHECK(served_reached(&served.requests, 2));
    end();
    close(a), close(b), close(c);
}

TEST_MAIN(T(server_answers_whole_and_in_pieces), T(server_takes_requests_one_byte_at_a_time),
          T(server_answers_a_pipeline_in_order), T(server_makes_a_pipeline_wait_for_a_late_answer),
          T(server_keeps_connections_alive_as_the_version_says),
          T(server_says_continue_only_if_it_will_read_on), T(server_does_not_wait_forever),
          T(server_notices_at_once_that_a_client_left),
          T(server_answers_who_sends_no_more_what_it_can_at_once),
          T(server_drops_a_client_that_takes_nothing),
          T(server_holds_a_large_reply_back_until_there_is_room),
          T(server_lets_the_client_see_that_a_reply_was_cut), T(server_packs_text_for_who_takes_it),
          T(server_sends_a_buffer_as_it_sends_a_copy_of_it), T(server_says_that_it_is_full),
          T(server_drains_idle_ones_at_once_and_lets_the_others_end),
          T(server_does_not_wait_in_a_drain_for_one_that_was_left),
          T(server_holds_little_for_a_silent_stream_and_less_for_an_idle_connection),
          T(server_parses_a_dropped_request_again),
          T(server_can_be_freed_while_exchanges_are_under_way))
