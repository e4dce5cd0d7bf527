/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "net/http1.h"
#include "test.h"

static const struct http1_head chunks = {.framing = HTTP1_CHUNKED};

static void on_bytes(void *ctx, str bytes)
{
    CHECK(bytes.n > 0);
    buf_add(ctx, bytes);
}

/* want: the decoded body, or NULL if invalid. rest: the bytes after the body. */
static const struct {
    const char *text, *want, *rest;
} chunked[] = {
    {"0\r\n\r\n", "", ""},
    {"5\r\nhello\r\n0\r\n\r\nGET /", "hello", "GET /"},
    {"5\r\nhello\r\n00006\r\n world\r\n000\r\n\r\n", "hello world", ""},
    {"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789", ""},
    {"1;a\r\nx\r\n0\r\n\r\n", "x", ""},
    {"1;a=b;c=\"d;\\\"e\r\"\r\nx\r\n0\r\n\r\n", NULL, ""},
    {"1;a=b;c=\"d;\\\"e \t\"\r\nx\r\n0\r\n\r\n", "x", ""},
    {"1 ; a = b ;c\r\nx\r\n0;z\r\n\r\n", "x", ""},
    {"0\r\nX: y\r\nZ:\r\n\r\nmore", "", "more"},
    {"5\r\nhello\n0\r\n\r\n", NULL, ""},
    {"5\r\nhello0\r\n\r\n", NULL, ""},
    {"5\r\nhelloX\r\n0\r\n\r\n", NULL, ""},
    {"5\nhello\r\n0\r\n\r\n", NULL, ""},
    {"5\rhello\r\n0\r\n\r\n", NULL, ""},
    {"\r\n", NULL, ""},
    {"g\r\n", NULL, ""},
    {"0x5\r\nhello\r\n", NULL, ""},
    {"+5\r\nhello\r\n", NULL, ""},
    {"-5\r\nhello\r\n", NULL, ""},
    {" 5\r\nhello\r\n", NULL, ""},
    {"5 \r\nhello\r\n", NULL, ""},
    {"5;\r\nhello\r\n", NULL, ""},
    {"5;a=\r\nhello\r\n", NULL, ""},
    {"5;a\nhello\r\n", NULL, ""},
    {"5;a\x01\r\nhello\r\n", NULL, ""},
    {"5;a b\r\nhello\r\n", NULL, ""},
    {"5,a\r\nhello\r\n", NULL, ""},
    {"ffffffffffffffff\r\n", NULL, ""},
    {"10000000000000005\r\nhello\r\n", NULL, ""},
    {"0000000000000005\r\nhello\r\n", NULL, ""},
    {"0\r\n\n", NULL, ""},
    {"0\r\nX: y\n\r\n", NULL, ""},
    {"0\r\n X: y\r\n\r\n", NULL, ""},
    {"0\r\nX : y\r\n\r\n", NULL, ""},
    {"0\r\nX\r\n\r\n", NULL, ""},
    {"0\r\nX: y\x01\r\n\r\n", NULL, ""},
};

/* Feeds a copy of the text in three pieces; how much of it belonged to the body. */
static size_t feed_copy(struct http1_body *b, str text, const size_t *ends, struct buf *got)
{
    size_t used = 0;
    char copy[128];

    CHECK(text.n <= sizeof copy && ends[2] == text.n);
    memcpy(copy, text.p, text.n);
    for (size_t k = 0; k < 3; k++)
        if (ends[k] >= used)
            used += http1_body_feed(
                b, (str){copy + used, ends[k] - used}, (struct http1_sink){on_bytes, got});
    CHECK_STR(((str){copy + used, text.n - used}), str_slice(text, used, text.n).p);
    return used;
}

TEST(http1_chunks_are_joined_or_refused_at_every_pair_of_cuts)
{
    struct buf got;

    buf_init(&got, 1 << 12);
    for (size_t at = 0; at < 2 * COUNT_OF(chunked); at++) {
        size_t c = at / 2;
        str text = str_c(chunked[c].text);

        for (size_t i = 0; i <= text.n; i++)
            for (size_t j = i; j <= text.n; j++) {
                struct http1_body b;
                size_t used;

                http1_body_init(&b, &chunks);
                b.joins = at % 2;
                buf_reset(&got);
                used = feed_copy(&b, text, (size_t[]){i, j, text.n}, &got);
                CHECK_F(b.done == (chunked[c].want != NULL), "%zu: %s", c, text.p);
                CHECK((b.fault.status == 400) == !b.done);
                CHECK(http1_body_finish(&b) == b.done);
                if (!b.done)
                    continue;
                CHECK_STR(buf_str(&got), chunked[c].want);
                CHECK_STR(str_slice(text, used, text.n), chunked[c].rest);
            }
    }
    buf_release(&got);
}

static void count_piece(void *ctx, str bytes)
{
    CHECK_STR(bytes, "hello world");
    ++*(int *)ctx;
}

TEST(http1_chunks_that_may_be_joined_arrive_as_one_piece)
{
    char text[] = "5\r\nhello\r\n1;x=y\r\n \r\n5\r\nworld\r\n0\r\n\r\n";
    struct http1_body b;
    int pieces = 0;

    http1_body_init(&b, &chunks);
    b.joins = true;
    CHECK(http1_body_feed(&b, str_c(text), (struct http1_sink){count_piece, &pieces}) ==
          sizeof text - 1);
    CHECK(b.done && pieces == 1);
}

TEST(http1_a_chunk_that_has_no_room_is_413_at_every_cut)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"A\r\n0123456789\r\n0\r\n\r\n", 0},
        {"5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n", 0},
        {"B\r\n", 413},
        {"5\r\nhello\r\n6\r\nworld!\r\n0\r\n\r\n", 413},
        {"FFFFFFFFFFFFFFFF\r\n", 413},
        {"FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF\r\n", 413},
        {"10000000000000005\r\nhello\r\n", 413},
        {"FFFFFF\x01;", 413},
        {"0000000000000005\r\nhello\r\n", 400},
        {"5\x01\r\n", 400},
    };

    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        str text = str_c(cases[c].text);

        for (size_t i = 0; i <= text.n; i++)
            for (size_t j = i; j <= text.n; j++) {
                struct http1_body b;
                struct buf got;

                buf_init(&got, 1 << 12);
                http1_body_init(&b, &chunks);
                b.room = 10;
                (void)feed_copy(&b, text, (size_t[]){i, j, text.n}, &got);
                CHECK_F(b.fault.status == cases[c].status && b.done == !b.fault.status,
                        "%s cut at %zu and %zu: %d",
                        text.p,
                        i,
                        j,
                        b.fault.status);
                buf_release(&got);
            }
    }
}

TEST(http1_chunks_may_not_have_endless_extensions_or_trailers)
{
    static const char *const floods[][2] = {
        {"1;", "a"}, {"0\r\nx:", "a"}, {"0\r\n", "a: b\r\n"}, {"", "1;abcdefgh\r\nx\r\n"}};
    struct buf sum;

    buf_init(&sum, 1 << 20);
    for (size_t i = 0; i < COUNT_OF(floods); i++) {
        struct http1_sink sink = {on_bytes, &sum};
        struct http1_body b;
        size_t n = 0;

        http1_body_init(&b, &chunks);
        for (http1_body_feed(&b, str_c(floods[i][0]), sink); !b.fault.status && n < 200000; n++)
            http1_body_feed(&b, str_c(floods[i][1]), sink);
        CHECK(b.fault.status == 400 && n < 200000);
    }
    buf_release(&sum);
}

TEST(http1_bodies_end_where_the_head_says)
{
    static const struct {
        enum http1_framing framing;
        uint64_t length;
        const char *text, *body;
        bool done, finished;
    } table[] = {
        {HTTP1_NONE, 0, "x", "", true, true},
        {HTTP1_LENGTH, 0, "x", "", true, true},
        {HTTP1_LENGTH, 3, "abcd", "abc", true, true},
        {HTTP1_LENGTH, 3, "ab", "ab", false, false},
        {HTTP1_CHUNKED, 0, "3\r\nab", "ab", false, false},
        {HTTP1_TO_CLOSE, 0, "ab", "ab", false, true},
    };
    struct http1_head head = {0};
    struct buf got;

    buf_init(&got, 64);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct http1_body b;

        head.framing = table[i].framing;
        head.content_length = table[i].length;
        buf_reset(&got);
        http1_body_init(&b, &head);
        http1_body_feed(&b, str_c(table[i].text), (struct http1_sink){on_bytes, &got});
        CHECK_STR(buf_str(&got), table[i].body);
        CHECK(b.done == table[i].done);
        CHECK(http1_body_finish(&b) == table[i].finished);
    }
    buf_release(&got);
}

TEST_MAIN(T(http1_chunks_are_joined_or_refused_at_every_pair_of_cuts),
          T(http1_chunks_that_may_be_joined_arrive_as_one_piece),
          T(http1_a_chunk_that_has_no_room_is_413_at_every_cut),
          T(http1_chunks_may_not_have_endless_extensions_or_trailers),
          T(http1_bodies_end_where_the_head_says))
