/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http1_again.h"

#include "base/buf.h"
#include "base/rand.h"
#include "test.h"

#define HEAD_MAX 2048

static struct http1_head head;

/* Header lines of all kinds, good and bad. Most heads have most of them, in this order. */
static const char *const lines[] = {
    "Host: a\r\n",
    "Accept: application/json\r\n",
    "Connection: keep-alive, upgrade\r\n",
    "Upgrade: websocket\n",
    "Content-Type: application/json\r\n",
    "X-Stainless-Lang: \tpython \r\n",
    "X-Empty:\r\n",
    "Content-Length: 12\r\n",
    "x-api-key: sk-secret\r\n",
    "Authorization: Bearer sk-secret\r\n",
    "Cookie: sk-secret\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Host: b\r\n",
    "Content-Length: 13\r\n",
    "Connection: close\r\n",
    "Expect: 100-continue\r\n",
    " folded\r\n",
    "no colon\r\n",
    "X: \x01\r\n",
};

static void some_head(struct rand *r, struct buf *out)
{
    static const char *const first[] = {"POST /v1/chat/completions HTTP/1.1\r\n",
                                        "POST /v1/chat/completions?x=y HTTP/1.1\r\n",
                                        "GET http://b HTTP/1.1\r\n",
                                        "\r\nGET / HTTP/1.0\r\n",
                                        "GET /\r\n"};

    buf_reset(out);
    buf_add(out, str_c(first[rand_below(r, 8) ? 0 : rand_below(r, COUNT_OF(first))]));
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (rand_below(r, 16) < (i < 8 ? 15 : i < 11 ? 5 : 1))
            buf_add(out, str_c(lines[i]));
    buf_add(out, STR("\r\nthe body"));
    if (rand_below(r, 16) == 0)
        out->n = rand_below(r, out->n);
}

TEST(http1_requests_that_begin_as_others_are_read_as_any_other)
{
    static struct http1_again again;
    static struct http1_head other;
    struct http1_fault fault = {0}, other_fault = {0};
    size_t used = 0, other_used = 0, fronts = 0;
    struct rand r;
    struct buf b;

    rand_init(&r, 7);
    buf_init(&b, 4096);
    for (int i = 0; i < 200000; i++) {
        size_t size_max = rand_below(&r, 32) ? HEAD_MAX : rand_below(&r, 200);
        enum http1_result got, want;

        some_head(&r, &b);
        fronts += again.size > 100;
        want = http1_request(buf_str(&b), size_max, &other, &other_used, &other_fault);
        got = http1_request_again(&again, buf_str(&b), size_max, &head, &used, &fault);
        CHECK_INT(got, want);
        CHECK(got != HTTP1_BAD ||
              (fault.status == other_fault.status && strcmp(fault.why, other_fault.why) == 0));
        CHECK(str_find((str){again.bytes, again.last}, STR("sk-secret")) == STR_NONE);
        if (got != HTTP1_DONE)
            continue;
        CHECK_INT(used, other_used);
        CHECK(memcmp(&head, &other, offsetof(struct http1_head, fields)) == 0);
        CHECK(memcmp(head.fields, other.fields, head.field_count * sizeof *head.fields) == 0);
    }
    CHECK(fronts > 10000);
    buf_release(&b);
}

static void some_reply(struct rand *r, struct buf *out)
{
    static const char *const first[] = {"HTTP/1.1 200 OK\r\n",
                                        "HTTP/1.1 200 OK\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                                        "HTTP/1.1 204 No Content\r\n",
                                        "HTTP/1.1 100 Continue\r\n",
                                        "HTTP/1.0 200\r\n",
                                        "HTTP/1.1 99 Less\r\n",
                                        "FTP\r\n"};

    buf_reset(out);
    buf_add(out, str_c(first[rand_below(r, 8) ? 0 : rand_below(r, COUNT_OF(first))]));
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (rand_below(r, 16) < (i < 8 ? 15 : i < 11 ? 5 : 1))
            buf_add(out, str_c(lines[i]));
    if (rand_below(r, 4) == 0)
        buf_add(out, STR("Set-Cookie: sk-secret\r\n"));
    buf_add(out, STR("\r\nthe body"));
    if (rand_below(r, 16) == 0)
        out->n = rand_below(r, out->n);
}

TEST(http1_replies_that_begin_as_others_are_read_as_any_other)
{
    static struct http1_again again;
    static struct http1_head other;
    struct http1_fault fault = {0}, other_fault = {0};
    size_t used = 0, other_used = 0, fronts = 0;
    struct rand r;
    struct buf b;

    rand_init(&r, 8);
    buf_init(&b, 4096);
    for (int i = 0; i < 200000; i++) {
        size_t size_max = rand_below(&r, 32) ? HEAD_MAX : rand_below(&r, 200);
        bool no_body = rand_below(&r, 8) == 0;
        enum http1_result got, want;

        some_reply(&r, &b);
        fronts += again.size > 80;
        want = http1_reply(buf_str(&b), size_max, no_body, &other, &other_used, &other_fault);
        got = http1_reply_again(&again,
                                buf_str(&b),
                                (struct http1_reply_rules){size_max, no_body},
                                &head,
                                &used,
                                &fault);
        CHECK_INT(got, want);
        CHECK(got != HTTP1_BAD ||
              (fault.status == other_fault.status && strcmp(fault.why, other_fault.why) == 0));
        CHECK(str_find((str){again.bytes, again.last}, STR("sk-secret")) == STR_NONE);
        if (got != HTTP1_DONE)
            continue;
        CHECK_INT(used, other_used);
        CHECK(memcmp(&head, &other, offsetof(struct http1_head, fields)) == 0);
        CHECK(memcmp(head.fields, other.fields, head.field_count * sizeof *head.fields) == 0);
    }
    CHECK(fronts > 10000);
    buf_release(&b);
}

/* The remembered prefix has the lines that two heads share, up to the first line with a
 * credential. */
TEST(http1_fronts_are_whole_lines_without_credentials)
{
    static const struct {
        const char *one, *two, *front;
    } cases[] = {
#define FIRST "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n"
        {FIRST "Content-Length: 1\r\n\r\n", FIRST "Content-Length: 12\r\n\r\n", FIRST},
        {FIRST "A: b\r\n\r\n", FIRST "A: b\r\n\r\n", FIRST "A: b\r\n"},
        {FIRST "A: b\n\n", FIRST "A: b\n\n", FIRST "A: b\n"},
        {FIRST "COOKIE: b\r\nA: b\r\n\r\n", FIRST "COOKIE: b\r\nA: b\r\n\r\n", FIRST},
        {FIRST "\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", ""},
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", FIRST "\r\n", ""},
#undef FIRST
    };
    static struct http1_again again;
    struct http1_fault fault;
    size_t used;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const str both[] = {str_c(cases[i].one), str_c(cases[i].two)};

        again = (struct http1_again){0};
        for (size_t k = 0; k < 2; k++)
            CHECK(http1_request_again(&again, both[k], HEAD_MAX, &head, &used, &fault) ==
                  HTTP1_DONE);
        CHECK_STR(((str){again.bytes, again.size}), cases[i].front);
    }
}

TEST_MAIN(T(http1_requests_that_begin_as_others_are_read_as_any_other),
          T(http1_replies_that_begin_as_others_are_read_as_any_other),
          T(http1_fronts_are_whole_lines_without_credentials))
