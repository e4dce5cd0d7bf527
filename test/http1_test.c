/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http1.h"

#include "base/buf.h"
#include "base/rand.h"
#include "test.h"

#define HEAD_MAX 2048
#define H "Host: a\r\n"

static struct http1_head head;

/* 0 if complete and valid, -1 if incomplete, else the status. */
static int request(const char *text, size_t n)
{
    struct http1_fault fault = {0};
    size_t used = 0;
    enum http1_result got = http1_request((str){text, n}, HEAD_MAX, &head, &used, &fault);

    CHECK(got != HTTP1_BAD || (fault.status >= 400 && fault.why[0]));
    CHECK(got != HTTP1_DONE || used <= n);
    return got == HTTP1_DONE ? 0 : got == HTTP1_MORE ? -1 : fault.status;
}

#define TEXT(lit) lit, sizeof(lit) - 1

static const struct {
    const char *text;
    size_t n;
    int status;
} requests[] = {
    {TEXT("GET / HTTP/1.1\r\n" H "\r\n"), 0},
    {TEXT("GET / HTTP/1.1\nHost: a\n\n"), 0},
    {TEXT("\r\n\nGET / HTTP/1.1\r\n" H "\r\n"), 0},
    {TEXT("GET / HTTP/1.0\r\n\r\n"), 0},
    {TEXT("GET / HTTP/1.1\r\n" H "X:\r\nY: \t \r\nZ: a\tb \xC3\xA4\t\r\n\r\n"), 0},
    {TEXT("OPTIONS * HTTP/1.1\r\n" H "\r\n"), 0},
    {TEXT("GET * HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET http://b:80/c?d HTTP/1.1\r\n" H "\r\n"), 0},
    {TEXT("GET HTTPS://b HTTP/1.1\r\n" H "\r\n"), 0},
    {TEXT("GET http://b/ HTTP/1.1\r\n\r\n"), 400},
    {TEXT("GET http://u@b/ HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET http:///x HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET ftp://b/ HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET b:80 HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET b HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("CONNECT b:80 HTTP/1.1\r\n" H "\r\n"), 501},
    {TEXT("GET //x//y HTTP/1.1\r\n" H "\r\n"), 0},
    {TEXT("GET /%00{}|\"<> HTTP/1.1\r\n" H "\r\n"), 0},
    {TEXT("GET /a#b HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET /a\tb HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET /a\0b HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET /a\x7F HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET /\xC3\xA4 HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET /a b HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET  / HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET /  HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET / HTTP/1.1 \r\n" H "\r\n"), 400},
    {TEXT(" GET / HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r" H "\r\n"), 400},
    {TEXT("GET\t/ HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET /\r\n" H "\r\n"), 400},
    {TEXT("GET\r\n\r\n"), 400},
    {TEXT("G(T / HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("G\xC3T / HTTP/1.1\r\n" H "\r\n"), 400},
    {TEXT("get-it! / HTTP/1.1\r\n" H "\r\n"), 0},
    {TEXT("GET / HTTP/9.9\r\n" H "\r\n"), 505},
    {TEXT("GET / HTTP/2.0\r\n" H "\r\n"), 505},
    {TEXT("GET / HTTP/1.2\r\n" H "\r\n"), 505},
    {TEXT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505},
    {TEXT("GET / HTTP/1.10\r\n" H "\r\n"), 400},
    {TEXT("GET / HTTP/1\r\n" H "\r\n"), 400},
    {TEXT("GET / http/1.1\r\n" H "\r\n"), 400},
    {TEXT("GET / HTTP/1,1\r\n" H "\r\n"), 400},
    {TEXT("\x16\x03\x01\x02"), 400},
    {TEXT("{\"a\": 1}"), 400},
    /* fields */
    {TEXT("GET / HTTP/1.1\r\n" H "X : 1\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X\t: 1\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H " X: 1\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n X: 1\r\n" H "\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X: 1\r\n 2\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X: 1\r\n\t2\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X: a\rb\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X: a\x01\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X: a\x7F\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X: a\x0B\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X\0: a\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X: a\r\n\rb\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H ": a\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X[]: a\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H "X\xC3: a\r\n\r\n"), 400},
    /* Host */
    {TEXT("GET / HTTP/1.1\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\n" H H "\r\n"), 400},
    {TEXT("GET / HTTP/1.0\r\n" H "host: b\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\nHost: u@b\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\nHost: :80\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\nHost: a:\r\n\r\n"), 0},
    {TEXT("GET / HTTP/1.1\r\nHost: a_b.c-d:8080\r\n\r\n"), 0},
    {TEXT("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"), 0},
    {TEXT("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\nHost: a::1\r\n\r\n"), 400},
    {TEXT("GET / HTTP/1.1\r\nHost: a\\b\r\n\r\n"), 400},
    /* framing */
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 7\r\n\r\n"), 0},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 007\r\n\r\n"), 0},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: +7\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: -7\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 0x7\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 7 7\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 7, 7\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 7;\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length : 7\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 7\r\nContent-Length: 7\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 7\r\ncontent-length: 8\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551616\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 0000000000000000000000007\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"), 0},
    {TEXT("POST / HTTP/1.1\r\n" H "transfer-encoding:\tChunked \r\n\r\n"), 0},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n"), 501},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, chunked\r\n\r\n"), 501},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n"), 501},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: \"chunked\"\r\n\r\n"), 501},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked;\r\n\r\n"), 501},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n\r\n"), 501},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n"),
     400},
    {TEXT("POST / HTTP/1.1\r\n" H "Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 7\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n"), 400},
    {TEXT("POST / HTTP/1.1\r\n" H "Expect: 100-Continue\r\n\r\n"), 0},
    {TEXT("POST / HTTP/1.1\r\n" H "Expect: gold\r\n\r\n"), 417},
    /* incomplete */
    {TEXT(""), -1},
    {TEXT("\r"), -1},
    {TEXT("\r\n"), -1},
    {TEXT("GET"), -1},
    {TEXT("GET / HTTP/1.1"), -1},
    {TEXT("GET / HTTP/1.1\r\n" H "\r"), -1},
};

TEST(http1_requests_are_taken_or_refused_as_the_table_says)
{
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        int got = request(requests[i].text, requests[i].n);

        CHECK_F(got == requests[i].status,
                "%zu: %d, not %d: %s",
                i,
                got,
                requests[i].status,
                requests[i].text);
    }
}

/* A prefix of a request is incomplete or refused with the request's status. http1_head_end finds no
 * end in an incomplete head. */
TEST(http1_requests_in_part_wait_or_are_refused_but_never_taken)
{
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        size_t end = http1_head_end((str){requests[i].text, requests[i].n}, 0);

        CHECK((end != STR_NONE) >= (requests[i].status == 0));
        for (size_t n = 0; n < requests[i].n; n++) {
            char *copy = base_alloc(n + 1);
            int got;

            memcpy(copy, requests[i].text, n);
            got = request(copy, n);
            CHECK(got == -1 || got == requests[i].status ||
                  (got == 0 && n >= end)); /* in the case with a second request after the first */
            CHECK((http1_head_end((str){copy, n}, n / 2) == STR_NONE) >= (got == -1 && n < end));
            free(copy);
        }
    }
}

TEST(http1_requests_say_what_they_mean)
{
    const char *text = "POST /v1/chat?a=b?c HTTP/1.1\r\nHost: api.x:80\r\nConnection: Keep-Alive, "
                       "UPGRADE\r\nUpgrade: websocket\r\nExpect: 100-continue\r\nContent-Length: "
                       "12\r\nX-Y:  z \r\n\r\nbody";
    struct http1_fault fault;
    size_t used;

    CHECK(http1_request(str_c(text), HEAD_MAX, &head, &used, &fault) == HTTP1_DONE);
    CHECK_INT(used, strlen(text) - 4);
    CHECK_STR(head.method, "POST");
    CHECK_STR(head.target, "/v1/chat?a=b?c");
    CHECK_STR(head.path, "/v1/chat");
    CHECK_STR(head.query, "a=b?c");
    CHECK_STR(head.host, "api.x:80");
    CHECK(head.keep_alive && head.upgrade && head.expect_continue && head.minor == 1);
    CHECK(head.framing == HTTP1_LENGTH && head.content_length == 12);
    CHECK_STR(http1_find(&head, STR("x-y")), "z");
    CHECK_STR(http1_find(&head, STR("x-z")), "");
    CHECK(http1_has(&head, STR("UPGRADE")) && !http1_has(&head, STR("nope")));
    CHECK_INT(request(TEXT("GET http://b:1?q HTTP/1.1\r\n" H "\r\n")), 0);
    CHECK_STR(head.path, "/");
    CHECK_STR(head.query, "q");
    CHECK_STR(head.host, "b:1");
}

TEST(http1_connections_are_kept_by_version_and_options)
{
    static const struct {
        const char *text;
        size_t n;
        bool kept;
    } table[] = {
        {TEXT("GET / HTTP/1.1\r\n" H "\r\n"), true},
        {TEXT("GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\n"), false},
        {TEXT("GET / HTTP/1.1\r\n" H "Connection: x, ,CLOSE ,y\r\n\r\n"), false},
        {TEXT("GET / HTTP/1.1\r\n" H "Connection: x\r\nConnection: close\r\n\r\n"), false},
        {TEXT("GET / HTTP/1.1\r\n" H "Connection: closed\r\n\r\n"), true},
        {TEXT("GET / HTTP/1.0\r\n\r\n"), false},
        {TEXT("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), true},
        {TEXT("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"), false},
    };

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        CHECK_INT(request(table[i].text, table[i].n), 0);
        CHECK(head.keep_alive == table[i].kept);
    }
}

TEST(http1_heads_have_ceilings)
{
    struct http1_fault fault = {0};
    struct buf b;
    size_t used;

    buf_init(&b, 1 << 16);
    buf_add(&b, STR("GET /"));
    while (b.n < HEAD_MAX - 1)
        buf_add_c(&b, 'x');
    CHECK_INT(request(b.p, b.n), -1);
    buf_add_c(&b, 'x');
    CHECK_INT(request(b.p, b.n), 414);
    buf_add(&b, STR(" HTTP/1.1\r\n" H "\r\n"));
    CHECK_INT(request(b.p, b.n), 414);

    buf_reset(&b);
    buf_add(&b, STR("GET / HTTP/1.1\r\n" H "X: "));
    while (b.n < HEAD_MAX - 4)
        buf_add_c(&b, 'x');
    buf_add(&b, STR("\r\n\r\nmore"));
    CHECK(http1_request(buf_str(&b), HEAD_MAX, &head, &used, &fault) == HTTP1_DONE);
    CHECK_INT(used, HEAD_MAX);
    CHECK(http1_request(buf_str(&b), HEAD_MAX - 1, &head, &used, &fault) == HTTP1_BAD);
    CHECK_INT(fault.status, 431);

    for (int count = HTTP1_FIELDS_MAX - 1; count <= HTTP1_FIELDS_MAX; count++) {
        buf_reset(&b);
        buf_add(&b, STR("GET / HTTP/1.1\r\n" H));
        for (int i = 0; i < count; i++)
            buf_add(&b, STR("A: b\r\n"));
        buf_add(&b, STR("\r\n"));
        CHECK_INT(request(b.p, b.n), count < HTTP1_FIELDS_MAX ? 0 : 431);
    }
    buf_release(&b);
}

TEST(http1_heads_can_be_moved)
{
    static const char text[] = "GET http://b HTTP/1.1\r\n" H "X: y\r\n\r\n";
    char copy[sizeof text];
    str from = {text, sizeof text - 1};

    CHECK_INT(request(from.p, from.n), 0);
    memcpy(copy, text, sizeof text);
    http1_head_move(&head, from, copy);
    CHECK(head.method.p == copy && head.host.p == copy + 11);
    CHECK_STR(head.path, "/");
    CHECK_STR(http1_find(&head, STR("X")), "y");
    CHECK(http1_find(&head, STR("X")).p > copy && http1_find(&head, STR("X")).p < copy + from.n);
}

static const struct {
    const char *text;
    size_t n;
    int status; /* 0: invalid; -1: incomplete */
    enum http1_framing framing;
    bool kept;
} replies[] = {
    {TEXT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), 200, HTTP1_LENGTH, true},
    {TEXT("HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n"), 200, HTTP1_CHUNKED, true},
    {TEXT("HTTP/1.1 200\r\n\r\n"), 200, HTTP1_TO_CLOSE, false},
    {TEXT("HTTP/1.1 200 Na \xC3\xA4\tja\r\n\r\n"), 200, HTTP1_TO_CLOSE, false},
    {TEXT("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n"), 200, HTTP1_LENGTH, false},
    {TEXT("HTTP/1.1 200 OK\nContent-Length: 5\nConnection: close\n\n"), 200, HTTP1_LENGTH, false},
    {TEXT("HTTP/1.1 100 Continue\r\n\r\n"), 100, HTTP1_NONE, true},
    {TEXT("HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\n"), 204, HTTP1_NONE, true},
    {TEXT("HTTP/1.1 304 x\r\nTransfer-Encoding: chunked\r\n\r\n"), 304, HTTP1_NONE, true},
    {TEXT("HTTP/1.1 529 x\r\nContent-Length: 0\r\n\r\n"), 529, HTTP1_LENGTH, true},
    {TEXT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), 0, 0, 0},
    {TEXT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"), 0, 0, 0},
    {TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"), 0, 0, 0},
    {TEXT("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), 0, 0, 0},
    {TEXT("HTTP/1.1 20 OK\r\n\r\n"), 0, 0, 0},
    {TEXT("HTTP/1.1 2000 OK\r\n\r\n"), 0, 0, 0},
    {TEXT("HTTP/1.1 099 OK\r\n\r\n"), 0, 0, 0},
    {TEXT("HTTP/1.1  200 OK\r\n\r\n"), 0, 0, 0},
    {TEXT("HTTP/1.1\r\n\r\n"), 0, 0, 0},
    {TEXT("HTTP/2.0 200 OK\r\n\r\n"), 0, 0, 0},
    {TEXT("HTTP/1.1 200 O\0K\r\n\r\n"), 0, 0, 0},
    {TEXT("HTTP/1.1 200 OK\rX\r\n\r\n"), 0, 0, 0},
    {TEXT("HTTP/1.1 200 OK\r\n X: 1\r\n\r\n"), 0, 0, 0},
    {TEXT("<html>"), 0, 0, 0},
    {TEXT("\r\nHTTP/1.1 200 OK\r\n\r\n"), 0, 0, 0},
    {TEXT("HTT"), -1, 0, 0},
    {TEXT("HTTP/1.1 200 OK\r\nA: b\r\n"), -1, 0, 0},
};

TEST(http1_replies_are_taken_or_refused_as_the_table_says)
{
    for (size_t i = 0; i < COUNT_OF(replies); i++) {
        struct http1_fault fault = {0};
        size_t used;
        str text = {replies[i].text, replies[i].n};
        enum http1_result got = http1_reply(text, HEAD_MAX, false, &head, &used, &fault);

        CHECK_F(got == (replies[i].status > 0    ? HTTP1_DONE
                        : replies[i].status == 0 ? HTTP1_BAD
                                                 : HTTP1_MORE),
                "%zu: %d %s",
                i,
                got,
                text.p);
        if (got != HTTP1_DONE)
            continue;
        CHECK_INT(head.status, replies[i].status);
        CHECK_INT(head.framing, replies[i].framing);
        CHECK(head.keep_alive == replies[i].kept);
        CHECK(http1_reply(text, HEAD_MAX, true, &head, &used, &fault) == HTTP1_DONE);
        CHECK_INT(head.framing, HTTP1_NONE);
    }
}

/* Whether two bytes are equal except for ASCII case, computed without a table. */
static bool same_byte(unsigned char a, unsigned char b)
{
    unsigned char small = a >= 'A' && a <= 'Z' ? (unsigned char)(a + 32) : a;
    unsigned char other = b >= 'A' && b <= 'Z' ? (unsigned char)(b + 32) : b;

    return small == other;
}

TEST(http1_names_are_the_same_but_for_the_case_of_letters)
{
    char a[20], b[20];

    for (size_t n = 1; n <= sizeof a; n++)
        for (size_t at = 0; at < n; at++)
            for (unsigned pair = 0; pair < 65536; pair++) {
                memset(a, 'x', n);
                memset(b, 'X', n);
                a[at] = (char)(pair >> 8);
                b[at] = (char)pair;
                if (http1_same((str){a, n}, (str){b, n}) !=
                    same_byte((unsigned char)a[at], (unsigned char)b[at]))
                    CHECK(false);
            }
    CHECK(http1_same(STR(""), STR("")));
    CHECK(!http1_same(STR("a"), STR("ab")));
}

TEST(http1_fields_are_found_among_others_of_their_kind)
{
    /* All but Host have the same size and the same first letter. */
    CHECK(request(TEXT("GET / HTTP/1.1\r\n" H "xaa: 1\r\nxbb: 2\r\nXAA: 3\r\nxcc:\r\n\r\n")) == 0);
    CHECK_STR(http1_find(&head, STR("XAA")), "1");
    CHECK_STR(http1_find(&head, STR("xBb")), "2");
    CHECK(http1_has(&head, STR("xcc")) && http1_find(&head, STR("xcc")).n == 0);
    CHECK(!http1_has(&head, STR("xdd")) && http1_find(&head, STR("xdd")).n == 0);
    CHECK(!http1_has(&head, STR("")) && !http1_has(&head, STR("y")));
    CHECK_STR(http1_find(&head, STR("host")), "a");
}

TEST(http1_lists_and_reasons)
{
    str list = STR(" a,, b;q=0.5 ,\t,c"), item;

    CHECK(http1_list_next(&list, &item) && str_eq(item, STR("a")));
    CHECK(http1_list_next(&list, &item) && str_eq(item, STR("b;q=0.5")));
    CHECK(http1_list_next(&list, &item) && str_eq(item, STR("c")));
    CHECK(!http1_list_next(&list, &item));
    CHECK_STR(str_c(http1_reason(200)), "OK");
    CHECK_STR(str_c(http1_reason(799)), "");
}

TEST_MAIN(T(http1_requests_are_taken_or_refused_as_the_table_says),
          T(http1_requests_in_part_wait_or_are_refused_but_never_taken),
          T(http1_requests_say_what_they_mean),
          T(http1_connections_are_kept_by_version_and_options), T(http1_heads_have_ceilings),
          T(http1_heads_can_be_moved), T(http1_replies_are_taken_or_refused_as_the_table_says),
          T(http1_names_are_the_same_but_for_the_case_of_letters),
          T(http1_fields_are_found_among_others_of_their_kind), T(http1_lists_and_reasons))
