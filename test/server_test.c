/* SPDX-License-Identifier: Apache-2.0 */
#include "server_peer.h"
#include "test.h"

#include "base/rand.h"
#include "net/gzip.h"

#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#define OUT_MAX ((size_t)32 << 20)
#define H "Host: a\r\n"
#define CLOSE "Connection: close\r\n"
#define TEXT(lit)                                                                                  \
    {                                                                                              \
        "" lit, sizeof(lit) - 1                                                                    \
    }

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

static int status_of(str reply)
{
    return str_starts(reply, STR("HTTP/1.1 ")) && reply.n > 12
               ? (reply.p[9] - '0') * 100 + (reply.p[10] - '0') * 10 + reply.p[11] - '0'
               : 0;
}

static str body_of(str reply)
{
    size_t at = str_find(reply, STR("\r\n\r\n"));

    return at == STR_NONE ? STR("") : str_slice(reply, at + 4, reply.n);
}

static bool has(const char *what)
{
    return str_find(buf_str(&out), str_c(what)) != STR_NONE;
}

static size_t count(const char *what)
{
    str rest = buf_str(&out);
    size_t n = 0;

    for (size_t at; (at = str_find(rest, str_c(what))) != STR_NONE; n++)
        rest = str_slice(rest, at + strlen(what), rest.n);
    return n;
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
            CHECK_F(has(table[i].wants[k]), "%zu: no %s in %s", i, table[i].wants[k], out.p);
        CHECK_F(!has(table[i].never), "%zu: %s", i, table[i].never);
    }
    end();
}

/* Every row of the table in which servers differ, and more. */
static const struct {
    str request;
    int status;
} refused[] = {
    {TEXT("POST / HTTP/1.1\r\n" H
          "Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
     400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 7\r\nContent-Length: 8\r\n\r\n1234567"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 7\r\nContent-Length: 7\r\n\r\n1234567"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: +7\r\n\r\n1234567"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length : 7\r\n\r\n1234567"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), 501},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n3\r\nabcX0\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nxyz\r\n"), 400},
    {TEXT("GET / HTTP/9.9\r\n" H "\r\n"), 505},
    {TEXT("GET / HTTP/1.1\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H H "\r\n"), 400},
    {TEXT("GET /\r\n\r\n"), 400},
    {TEXT("\x16\x03\x01\x02\x00"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Expect: gold\r\nContent-Length: 1\r\n\r\n"), 417},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 100001\r\n\r\n"), 413},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 100001\r\nExpect: 100-continue\r\n\r\n"), 413},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Encoding: br\r\nContent-Length: 3\r\n\r\nabc"), 415},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"), 400},
    {TEXT("CONNECT a:80 HTTP/1.1\r\n" H "\r\n"), 501},
};

TEST(server_refuses_bad_input_in_words_and_closes)
{
    begin(&small);
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        str reply = served_ask(&served, refused[i].request, &out);

        CHECK_F(status_of(reply) == refused[i].status, "%zu: " STR_FMT, i, STR_ARG(reply));
        CHECK(has("Connection: close\r\n") && has("Content-Type: application/json\r\n"));
        CHECK(str_starts(body_of(reply), STR("{\"error\":{\"message\":\"")));
        CHECK(has(refused[i].status < 500 ? "\"type\":\"invalid_request_error\"}}"
                                          : "\"type\":\"server_error\"}}"));
        CHECK_INT(count("\r\nDate: "), 1);
    }
    CHECK_INT(served.requests, 0);
    end();
}

TEST(server_has_a_ceiling_for_heads_and_bodies)
{
    struct buf text;

    begin(&small);
    buf_init(&text, 1 << 20);
    buf_add(&text, STR("GET / HTTP/1.1\r\n" H "X: "));
    while (text.n < 100000)
        buf_add_c(&text, 'x');
    CHECK_INT(status_of(served_ask(&served, buf_str(&text), &out)), 431);
    buf_reset(&text);
    buf_add(&text, STR("GET /"));
    while (text.n < 100000)
        buf_add_c(&text, 'x');
    CHECK_INT(status_of(served_ask(&served, buf_str(&text), &out)), 414);
    buf_reset(&text);
    buf_add(&text, STR("POST /size HTTP/1.1\r\n" H CLOSE "Transfer-Encoding: chunked\r\n\r\n"));
    for (int i = 0; i < 11; i++) {
        buf_add(&text, STR("2710\r\n"));
        for (int k = 0; k < 10000; k++)
            buf_add_c(&text, 'x');
        buf_add(&text, STR("\r\n"));
        if (i == 9) {
            size_t n = text.n;

            buf_add(&text, STR("0\r\n\r\n"));
            CHECK_STR(body_of(served_ask(&served, buf_str(&text), &out)), "100000");
            text.n = n;
        }
    }
    CHECK_INT(status_of(served_ask(&served, buf_str(&text), &out)), 413);
    buf_release(&text);
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
    CHECK(has("POST /a  [hello]") && has("POST /b  [xy]") && has("GET /c  []"));
    CHECK_INT(count("HTTP/1.1 200"), 3);
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
    CHECK_INT(count("HTTP/1.1 200"), 2001);
    first = str_find(buf_str(&out), STR("GET /7 "));
    second = str_find(buf_str(&out), STR("GET /1999 "));
    CHECK(first < second && second != STR_NONE && has("GET /last ") && !has("/never"));
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
        CHECK(has("Connection: keep-alive\r\n"));
    }
    buf_reset(&out);
    served_send(fd, STR("GET /k HTTP/1.1\r\n" H "\r\n"));
    CHECK(served_read_until(fd, &out, "[]"));
    CHECK(!has("Connection:"));
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
    CHECK(served_read_all(fd, &out) && has("[ok]"));
    close(fd);
    served_ask(
        &served,
        STR("POST /a HTTP/1.1\r\n" H CLOSE "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nok"),
        &out);
    CHECK(!has("100 Continue") && has("[ok]"));
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
    CHECK_INT(server_count(served.server), 4);
    served_pass(&served, 3000);
    buf_reset(&out);
    CHECK(served_read_all(head, &out));
    CHECK_INT(status_of(buf_str(&out)), 408);
    served_send(body, STR("l")); /* it counts from the last byte */
    served_pass(&served, 25000);
    served_send(body, STR("l"));
    served_pass(&served, 33000);
    buf_reset(&out);
    CHECK(served_read_all(body, &out));
    CHECK_INT(status_of(buf_str(&out)), 408);
    buf_reset(&out);
    CHECK(served_read_all(idle, &out) && out.n == 0);
    CHECK(served_read_all(fresh, &out) && out.n == 0);
    close(head), close(body), close(idle), close(fresh);
    end();
}

static void leave(int fd, bool reset)
{
    struct linger now = {.l_onoff = 1};

    if (reset)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
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
            shutdown(fd, SHUT_WR); /* who sends no more has left */
        else
            leave(fd, i % 4 < 2);
        CHECK_F(served_reached(&served.gone, ++gone), "%d", i);
        if (i / 4 == 1)
            close(fd);
        buf_release(&text);
    }
    CHECK_INT(served.requests, 12);
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
    CHECK(has("4\r\nhalf\r\n") && !has("0\r\n\r\n"));
    fd = served_connect(&served);
    buf_reset(&out);
    served_send(fd, STR("GET /abort HTTP/1.0\r\n\r\n"));
    CHECK(!served_read_all(fd, &out)); /* without chunks only a reset tells */
    close(fd);
    end();
}

TEST(server_answers_what_it_refuses_though_the_body_is_still_coming)
{
    struct buf text;

    begin(&small);
    buf_init(&text, 4 << 20);
    buf_add(&text, STR("POST / HTTP/1.1\r\n" H "Content-Length: 3000000\r\n\r\n"));
    while (text.n < 3000000)
        buf_add(&text, STR("0123456789012345678901234567890123456789"));
    for (int i = 0; i < 5; i++)
        CHECK_INT(status_of(served_ask(&served, buf_str(&text), &out)), 413);
    buf_release(&text);
    end();
}

TEST(server_packs_text_for_who_takes_it)
{
    struct buf plain;
    struct err e;
    str body;

    begin(&small);
    buf_init(&plain, 4000);
    body = body_of(served_ask(
        &served, STR("GET /text HTTP/1.1\r\n" H CLOSE "Accept-Encoding: gzip\r\n\r\n"), &out));
    CHECK(has("Content-Encoding: gzip\r\n") && has("Vary: Accept-Encoding\r\n"));
    CHECK(body.n < 100 && gzip_unpack(body, &plain, &e) && plain.n == 4000);
    body = body_of(served_ask(&served, STR("GET /text HTTP/1.1\r\n" H CLOSE "\r\n"), &out));
    CHECK(!has("Content-Encoding") && has("Vary: Accept-Encoding\r\n") && body.n == 4000);
    buf_release(&plain);
    end();
}

TEST(server_unpacks_bodies_but_no_bombs)
{
    struct gzip *g = gzip_new();
    struct buf body, packed, text;

    begin(&small);
    buf_init(&body, 1 << 20), buf_init(&packed, 1 << 20), buf_init(&text, 1 << 20);
    for (int round = 0; round < 2; round++) {
        while (body.n < (round ? 100001 : 100000))
            buf_add_c(&body, 'x');
        buf_reset(&packed), buf_reset(&text);
        gzip_pack(g, buf_str(&body), &packed);
        buf_printf(&text,
                   "POST /size HTTP/1.1\r\n" H CLOSE
                   "Content-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
                   packed.n);
        buf_add(&text, buf_str(&packed));
        served_ask(&served, buf_str(&text), &out);
        CHECK_INT(status_of(buf_str(&out)), round ? 413 : 200);
        CHECK(round || str_eq(body_of(buf_str(&out)), STR("100000")));
    }
    buf_release(&body), buf_release(&packed), buf_release(&text);
    gzip_free(g);
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
    CHECK_INT(status_of(served_ask(&served, STR("GET /x HTTP/1.1\r\n" H "\r\n"), &out)), 503);
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
    CHECK(has("Connection: close\r\n") && has("late"));
    close(idle), close(busy);
    CHECK(served_reached(&served.idle, 1));
    end();
}

/* One byte of a good request changed, taken out or put in, and the connection closed halfway or
 * not: whatever that is, the next client is served. */
TEST(server_lives_on_after_any_mutated_request)
{
    str good = STR("POST /a HTTP/1.1\r\n" H CLOSE "Transfer-Encoding: chunked\r\n\r\n"
                   "5;x=\"y\"\r\nhello\r\n0\r\nT: u\r\n\r\nGET /b HTTP/1.1\r\n" H CLOSE "\r\n");
    static const char spice[] = "\0\r\n\t :;,\"\x7F\xFF"
                                "A0/";
    struct rand chance;
    struct buf text;

    begin(&small);
    rand_init(&chance, 300);
    buf_init(&text, 4096);
    for (int i = 0; i < 300; i++) {
        size_t at = rand_below(&chance, good.n);
        uint64_t how = rand_below(&chance, 3);
        int fd = served_connect(&served);

        buf_reset(&text);
        buf_add(&text, str_slice(good, 0, at));
        if (how < 2)
            buf_add_c(&text, spice[rand_below(&chance, sizeof spice - 1)]);
        buf_add(&text, str_slice(good, how == 1 ? at : at + 1, good.n));
        served_send(fd, buf_str(&text));
        if (i % 2)
            shutdown(fd, SHUT_WR);
        if (i % 3 == 0)
            leave(fd, true);
        else
            close(fd);
    }
    served_ask(&served, STR("GET /alive HTTP/1.1\r\n" H CLOSE "\r\n"), &out);
    CHECK(has("GET /alive"));
    buf_release(&text);
    end();
}

#define STREAMS 200

/* Beside the exchange's arena, whose first block is 4 KiB, and what the connection itself is. */
TEST(server_holds_little_for_a_silent_stream_and_less_for_an_idle_connection)
{
    int fds[STREAMS];
    size_t before, streaming;

    mallopt(M_ARENA_MAX, 1);
    begin(&small);
    before = mallinfo2().uordblks;
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = served_connect(&served);
        served_send(fds[i], STR("GET /silent HTTP/1.1\r\n" H "\r\n"));
    }
    CHECK(served_reached(&served.requests, STREAMS));
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
    CHECK(served_reached(&served.requests, 2 * STREAMS));
    served_pass(&served, 3000);
    streaming = mallinfo2().uordblks - before;
    CHECK_F(streaming / STREAMS < 2048, "%zu bytes a connection", streaming / STREAMS);
    for (int i = 0; i < STREAMS; i++)
        close(fds[i]);
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

TEST_MAIN(T(server_answers_whole_and_in_pieces), T(server_refuses_bad_input_in_words_and_closes),
          T(server_has_a_ceiling_for_heads_and_bodies), T(server_takes_requests_one_byte_at_a_time),
          T(server_answers_a_pipeline_in_order), T(server_makes_a_pipeline_wait_for_a_late_answer),
          T(server_keeps_connections_alive_as_the_version_says),
          T(server_says_continue_only_if_it_will_read_on), T(server_does_not_wait_forever),
          T(server_notices_at_once_that_a_client_left), T(server_drops_a_client_that_takes_nothing),
          T(server_holds_a_large_reply_back_until_there_is_room),
          T(server_lets_the_client_see_that_a_reply_was_cut),
          T(server_answers_what_it_refuses_though_the_body_is_still_coming),
          T(server_packs_text_for_who_takes_it), T(server_unpacks_bodies_but_no_bombs),
          T(server_says_that_it_is_full),
          T(server_drains_idle_ones_at_once_and_lets_the_others_end),
          T(server_lives_on_after_any_mutated_request),
          T(server_holds_little_for_a_silent_stream_and_less_for_an_idle_connection),
          T(server_can_be_freed_while_exchanges_are_under_way))
