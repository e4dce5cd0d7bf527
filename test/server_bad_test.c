/* SPDX-License-Identifier: Apache-2.0 */
#include "server_peer.h"
#include "test.h"

#include "base/rand.h"
#include "net/gzip.h"

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

/* Requests that servers are known to interpret differently, and more. */
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
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n186A1\r\n"), 413},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1869f\r\n"), 413},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nffffffffffff;x"), 413},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n"), 413},
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

        CHECK_F(served_status(reply) == refused[i].status, "%zu: " STR_FMT, i, STR_ARG(reply));
        CHECK(served_has(&out, "Connection: close\r\n") &&
              served_has(&out, "Content-Type: application/json\r\n"));
        CHECK(str_starts(served_body(reply), STR("{\"error\":{\"message\":\"")));
        CHECK(served_has(&out,
                         refused[i].status < 500 ? "\"type\":\"invalid_request_error\"}}"
                                                 : "\"type\":\"server_error\"}}"));
        CHECK_INT(served_count(&out, "\r\nDate: "), 1);
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
    CHECK_INT(served_status(served_ask(&served, buf_str(&text), &out)), 431);
    buf_reset(&text);
    buf_add(&text, STR("GET /"));
    while (text.n < 100000)
        buf_add_c(&text, 'x');
    CHECK_INT(served_status(served_ask(&served, buf_str(&text), &out)), 414);
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
            CHECK_STR(served_body(served_ask(&served, buf_str(&text), &out)), "100000");
            text.n = n;
        }
    }
    CHECK_INT(served_status(served_ask(&served, buf_str(&text), &out)), 413);
    buf_release(&text);
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
        CHECK_INT(served_status(served_ask(&served, buf_str(&text), &out)), 413);
    buf_release(&text);
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
        CHECK_INT(served_status(buf_str(&out)), round ? 413 : 200);
        CHECK(round || str_eq(served_body(buf_str(&out)), STR("100000")));
    }
    buf_release(&body), buf_release(&packed), buf_release(&text);
    gzip_free(g);
    end();
}

/* A request with a compressed body that unpacks to `size` bytes. */
static void write_packed(struct buf *text, const char *path, size_t size)
{
    struct gzip *g = gzip_new();
    struct buf body, packed;

    buf_init(&body, size), buf_init(&packed, size);
    memset(buf_room(&body, size), 'x', size);
    buf_wrote(&body, size);
    gzip_pack(g, buf_str(&body), &packed);
    buf_printf(text,
               "POST %s HTTP/1.1\r\n" H CLOSE
               "Content-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
               path,
               packed.n);
    buf_add(text, buf_str(&packed));
    buf_release(&body), buf_release(&packed);
    gzip_free(g);
}

struct two_clients {
    int packed, plain;
    str request;
};

static void send_both(void *ctx)
{
    struct two_clients *c = ctx;

    served_send(c->packed, str_slice(c->request, c->request.n - 1, c->request.n));
    served_send(c->plain, STR("GET /wait HTTP/1.1\r\n" H CLOSE "\r\n"));
}

static void expect_large_body(void *ctx)
{
    (void)ctx;
    CHECK_INT(server_body(served.waiting).n, 32 << 20);
}

/* Both requests have arrived completely before the server reads them; the later one is handled
 * first. */
TEST(server_does_not_let_others_wait_while_it_unpacks)
{
    static const struct server_options large = {.body_max = 32 << 20, .head_max = 4096};
    struct two_clients c;
    struct buf text;

    begin(&large);
    buf_init(&text, 1 << 20);
    write_packed(&text, "/wait", large.body_max);
    c.request = buf_str(&text);
    c.packed = served_connect(&served);
    c.plain = served_connect(&served);
    served_send(c.packed, str_slice(c.request, 0, c.request.n - 1));
    served_pass(&served, 1); /* the server has read all but the last byte */
    served_call(&served, send_both, &c);
    CHECK(served_reached(&served.requests, 2));
    served_call(&served, expect_large_body, NULL);
    close(c.packed), close(c.plain);

    for (int i = 0; i < 20; i++) { /* clients that leave before the reply */
        c.packed = served_connect(&served);
        served_send(c.packed, c.request);
        served_leave(c.packed, i % 2);
    }
    buf_release(&text);
    end();
}

/* One byte of a valid request is changed, removed or inserted, and the connection is closed early
 * or not. The server must serve the next client. */
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
            served_leave(fd, true);
        else
            close(fd);
    }
    served_ask(&served, STR("GET /alive HTTP/1.1\r\n" H CLOSE "\r\n"), &out);
    CHECK(served_has(&out, "GET /alive"));
    buf_release(&text);
    end();
}

TEST(server_does_not_take_an_empty_line_for_a_request)
{
    int fd;

    begin(&small);
    fd = served_connect(&served);
    served_send(fd, STR("POST /a HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nhi\r\n\r\n"));
    CHECK(served_read_until(fd, &out, "[hi]"));
    served_pass(&served, 15000);
    served_send(fd, STR("\n\r"));
    served_send(fd, STR("\nGET /b HTTP/1.1\r\n" H CLOSE "\r\n"));
    CHECK(served_read_all(fd, &out));
    CHECK(!served_has(&out, "408") && served_has(&out, "GET /b"));
    close(fd);
    end();
}

TEST(server_is_not_kept_waiting_by_empty_lines)
{
    int fd;

    begin(&small);
    fd = served_connect(&served);
    served_send(fd, STR("GET /a HTTP/1.1\r\n" H "\r\n"));
    CHECK(served_read_until(fd, &out, "GET /a"));
    for (int i = 0; i < 8 && served_connections(&served) > 0; i++) {
        (void)send(fd, "\r\n", 2, MSG_NOSIGNAL);
        served_pass(&served, 10000);
    }
    CHECK_INT(served_connections(&served), 0);
    close(fd);
    end();
}

static size_t on_refusal(void *ctx, const struct server_refusal *r, struct server_header *headers)
{
    struct served *s = ctx;

    atomic_fetch_add(&s->idle, 1);
    headers[0] = (struct server_header){STR("X-Id"), r->request ? r->request->path : STR("none")};
    headers[1] = (struct server_header){STR("X-Why"), str_c(r->why)};
    return 2;
}

static void set_on_refusal(void *ctx)
{
    server_on_refusal(((struct served *)ctx)->server, on_refusal);
}

TEST(server_tells_of_what_it_refuses_and_takes_headers_for_it)
{
    begin(&small);
    served_call(&served, set_on_refusal, &served);
    served_ask(&served, STR("POST /big HTTP/1.1\r\n" H "Content-Length: 9999999\r\n\r\n"), &out);
    CHECK(served_has(&out, "413 ") && served_has(&out, "X-Id: /big\r\n"));
    CHECK(served_has(&out, "X-Why: the body is too large\r\n"));
    served_ask(&served, STR("GET / HTTP/1.1\r\n\r\n"), &out);
    CHECK(served_has(&out, "400 ") && served_has(&out, "X-Id: none\r\n"));
    CHECK_INT(served.idle, 2);
    end();
}

TEST_MAIN(T(server_tells_of_what_it_refuses_and_takes_headers_for_it),
          T(server_does_not_take_an_empty_line_for_a_request),
          T(server_is_not_kept_waiting_by_empty_lines),
          T(server_refuses_bad_input_in_words_and_closes),
          T(server_has_a_ceiling_for_heads_and_bodies),
          T(server_answers_what_it_refuses_though_the_body_is_still_coming),
          T(server_unpacks_bodies_but_no_bombs),
          T(server_does_not_let_others_wait_while_it_unpacks),
          T(server_lives_on_after_any_mutated_request))
