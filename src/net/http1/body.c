/* body.c - framing taken off: lengths counted, chunks joined.
 *
 * All of a chunked body but its data is read by one table: the state, the kind of byte, the next
 * state. Data is handed on in the pieces it came in, or, if the caller allows it, with the chunks
 * of a piece moved together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/http1/internal.h"

#define DIGITS_MAX 15 /* of a chunk's size, leading zeros too */
#define PLAIN_MAX 10  /* CRLF, six digits, CRLF */
#define EXTRA_MAX (64 * 1024)

enum kind {
    K_BAD, /* control characters */
    K_HEX,
    K_TOKEN, /* other bytes of a token */
    K_SEMICOLON,
    K_COLON,
    K_EQUALS,
    K_QUOTE,
    K_BACKSLASH,
    K_SPACE,
    K_CR,
    K_LF,
    K_OTHER,
    K_COUNT
};

enum state {
    S_BAD, /* so that what the table does not name is refused */
    S_SIZE_BEGIN,
    S_SIZE,
    S_SIZE_SPACE,
    S_NAME_BEGIN, /* of an extension */
    S_NAME,
    S_NAME_SPACE,
    S_VALUE_BEGIN,
    S_VALUE,
    S_VALUE_SPACE,
    S_QUOTED,
    S_ESCAPED,
    S_QUOTED_END,
    S_SIZE_LF,
    S_DATA,
    S_DATA_CR,
    S_DATA_LF,
    S_LINE_BEGIN, /* of a trailer */
    S_LINE_NAME,
    S_LINE_VALUE,
    S_LINE_LF,
    S_END_LF,
    S_END,
    S_COUNT
};

static const uint8_t next[S_COUNT][K_COUNT] = {
    [S_SIZE_BEGIN] = {[K_HEX] = S_SIZE},
    [S_SIZE] = {[K_HEX] = S_SIZE,
                [K_SPACE] = S_SIZE_SPACE,
                [K_SEMICOLON] = S_NAME_BEGIN,
                [K_CR] = S_SIZE_LF},
    [S_SIZE_SPACE] = {[K_SPACE] = S_SIZE_SPACE, [K_SEMICOLON] = S_NAME_BEGIN},
    [S_NAME_BEGIN] = {[K_SPACE] = S_NAME_BEGIN, [K_HEX] = S_NAME, [K_TOKEN] = S_NAME},
    [S_NAME] = {[K_HEX] = S_NAME,
                [K_TOKEN] = S_NAME,
                [K_SPACE] = S_NAME_SPACE,
                [K_EQUALS] = S_VALUE_BEGIN,
                [K_SEMICOLON] = S_NAME_BEGIN,
                [K_CR] = S_SIZE_LF},
    [S_NAME_SPACE] =
        {[K_SPACE] = S_NAME_SPACE, [K_EQUALS] = S_VALUE_BEGIN, [K_SEMICOLON] = S_NAME_BEGIN},
    [S_VALUE_BEGIN] =
        {[K_SPACE] = S_VALUE_BEGIN, [K_HEX] = S_VALUE, [K_TOKEN] = S_VALUE, [K_QUOTE] = S_QUOTED},
    [S_VALUE] = {[K_HEX] = S_VALUE,
                 [K_TOKEN] = S_VALUE,
                 [K_SPACE] = S_VALUE_SPACE,
                 [K_SEMICOLON] = S_NAME_BEGIN,
                 [K_CR] = S_SIZE_LF},
    [S_VALUE_SPACE] = {[K_SPACE] = S_VALUE_SPACE, [K_SEMICOLON] = S_NAME_BEGIN},
    [S_QUOTED] = {[K_HEX] = S_QUOTED,
                  [K_TOKEN] = S_QUOTED,
                  [K_SEMICOLON] = S_QUOTED,
                  [K_COLON] = S_QUOTED,
                  [K_EQUALS] = S_QUOTED,
                  [K_SPACE] = S_QUOTED,
                  [K_OTHER] = S_QUOTED,
                  [K_BACKSLASH] = S_ESCAPED,
                  [K_QUOTE] = S_QUOTED_END},
    [S_ESCAPED] = {[K_HEX] = S_QUOTED,
                   [K_TOKEN] = S_QUOTED,
                   [K_SEMICOLON] = S_QUOTED,
                   [K_COLON] = S_QUOTED,
                   [K_EQUALS] = S_QUOTED,
                   [K_SPACE] = S_QUOTED,
                   [K_OTHER] = S_QUOTED,
                   [K_BACKSLASH] = S_QUOTED,
                   [K_QUOTE] = S_QUOTED},
    [S_QUOTED_END] = {[K_SPACE] = S_VALUE_SPACE, [K_SEMICOLON] = S_NAME_BEGIN, [K_CR] = S_SIZE_LF},
    [S_SIZE_LF] = {[K_LF] = S_DATA}, /* or the trailers, if the size is 0 */
    [S_DATA_CR] = {[K_CR] = S_DATA_LF},
    [S_DATA_LF] = {[K_LF] = S_SIZE_BEGIN},
    [S_LINE_BEGIN] = {[K_HEX] = S_LINE_NAME, [K_TOKEN] = S_LINE_NAME, [K_CR] = S_END_LF},
    [S_LINE_NAME] = {[K_HEX] = S_LINE_NAME, [K_TOKEN] = S_LINE_NAME, [K_COLON] = S_LINE_VALUE},
    [S_LINE_VALUE] = {[K_HEX] = S_LINE_VALUE,
                      [K_TOKEN] = S_LINE_VALUE,
                      [K_SEMICOLON] = S_LINE_VALUE,
                      [K_COLON] = S_LINE_VALUE,
                      [K_EQUALS] = S_LINE_VALUE,
                      [K_QUOTE] = S_LINE_VALUE,
                      [K_BACKSLASH] = S_LINE_VALUE,
                      [K_SPACE] = S_LINE_VALUE,
                      [K_OTHER] = S_LINE_VALUE,
                      [K_CR] = S_LINE_LF},
    [S_LINE_LF] = {[K_LF] = S_LINE_BEGIN},
    [S_END_LF] = {[K_LF] = S_END},
};

static enum kind http1_body_kind_of(char c)
{
    switch (c) {
    case ';':
        return K_SEMICOLON;
    case ':':
        return K_COLON;
    case '=':
        return K_EQUALS;
    case '"':
        return K_QUOTE;
    case '\\':
        return K_BACKSLASH;
    case ' ':
    case '\t':
        return K_SPACE;
    case '\r':
        return K_CR;
    case '\n':
        return K_LF;
    default:
        return http1_is(c, HTTP1_HEX)     ? K_HEX
               : http1_is(c, HTTP1_TOKEN) ? K_TOKEN
               : http1_is(c, HTTP1_TEXT)  ? K_OTHER
                                          : K_BAD;
    }
}

static void http1_body_fail(struct http1_body *b, int status, const char *why)
{
    assert(!b->fault.status);
    b->fault = (struct http1_fault){status, why};
    b->state = S_BAD;
}

static const char *http1_why_bad(enum state s)
{
    assert(s > S_BAD && s < S_COUNT);
    return s <= S_SIZE      ? "a chunk's size is not a hexadecimal number"
           : s <= S_SIZE_LF ? "a chunk's extension is bad"
           : s <= S_DATA_LF ? "a chunk's data is not followed by CRLF"
                            : "a trailer is bad";
}

static unsigned http1_body_read_hex_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

static bool http1_is_extra(enum state s)
{
    return (s >= S_SIZE_SPACE && s < S_SIZE_LF) || (s >= S_LINE_NAME && s <= S_LINE_LF);
}

/* One byte that is not data. */
static void http1_body_step(struct http1_body *b, char c)
{
    enum state was = b->state;

    assert_slow(was > S_BAD && was < S_COUNT && was != S_DATA);
    b->state = next[was][http1_body_kind_of(c)];
    if (b->state == S_BAD) {
        http1_body_fail(b, 400, http1_why_bad(was));
    } else if (b->state == S_SIZE) {
        b->left = b->left << 4 | http1_body_read_hex_digit(c);
        if (b->left > b->room)
            http1_body_fail(b, 413, "the body is too large");
        else if (++b->digits > DIGITS_MAX)
            http1_body_fail(b, 400, "a chunk's size has too many digits");
    } else if (b->state == S_DATA) {
        b->digits = 0;
        b->room -= b->left;
        if (b->left == 0)
            b->state = S_LINE_BEGIN;
    } else if (b->state == S_END) {
        b->done = true;
    }
    if (http1_is_extra(b->state) && ++b->extra > EXTRA_MAX)
        http1_body_fail(b, 400, "too much beside the data of a chunked body");
}

/* As much of the bytes as the length or the chunk still has. */
static str http1_take_data(struct http1_body *b, str bytes)
{
    str data = str_slice(bytes, 0, bytes.n < b->left ? bytes.n : (size_t)b->left);

    b->left -= data.n;
    return data;
}

/* Adds a chunk's data to the data before it in the same memory, over the framing between them. */
static str http1_join_data(str joined, str data)
{
    char *end = (char *)(uintptr_t)joined.p + joined.n;

    if (joined.n == 0)
        return data;
    assert(end <= data.p);
    memmove(end, data.p, data.n);
    joined.n += data.n;
    return joined;
}

/* Between two chunks there is mostly CRLF, a few digits and CRLF: all of it at once, or nothing. */
static size_t http1_step_over(struct http1_body *b, str bytes)
{
    size_t at = 2;
    uint64_t size = 0;

    assert(b->state == S_DATA_CR && b->left == 0);
    if (bytes.n < PLAIN_MAX || bytes.p[0] != '\r' || bytes.p[1] != '\n')
        return 0;
    while (at < PLAIN_MAX - 2 && http1_is(bytes.p[at], HTTP1_HEX))
        size = size << 4 | http1_body_read_hex_digit(bytes.p[at++]);
    if (size == 0 || size > b->room || bytes.p[at] != '\r' || bytes.p[at + 1] != '\n')
        return 0;
    assert(at + 2 <= PLAIN_MAX);
    b->left = size;
    b->room -= size;
    b->state = S_DATA;
    return at + 2;
}

static size_t http1_feed_chunked(struct http1_body *b, str bytes, struct http1_sink sink)
{
    size_t at = 0, over;
    str joined = STR("");

    assert(b->state > S_BAD && b->state < S_COUNT);
    while (at < bytes.n && !b->done && !b->fault.status) {
        str data;

        over = b->state == S_DATA_CR ? http1_step_over(b, str_slice(bytes, at, bytes.n)) : 0;
        if (over) {
            at += over;
            continue;
        }
        if (b->state != S_DATA) {
            http1_body_step(b, bytes.p[at++]);
            continue;
        }
        data = http1_take_data(b, str_slice(bytes, at, bytes.n));
        at += data.n;
        if (b->joins)
            joined = http1_join_data(joined, data);
        else
            sink.on_bytes(sink.ctx, data);
        if (b->left == 0)
            b->state = S_DATA_CR;
    }
    if (joined.n > 0)
        sink.on_bytes(sink.ctx, joined);
    assert(at <= bytes.n);
    return at;
}

void http1_body_init(struct http1_body *b, const struct http1_head *h)
{
    *b = (struct http1_body){
        .framing = (uint8_t)h->framing, .state = S_SIZE_BEGIN, .room = UINT64_MAX};
    if (h->framing == HTTP1_LENGTH)
        b->left = h->content_length;
    b->done = h->framing == HTTP1_NONE || (h->framing == HTTP1_LENGTH && b->left == 0);
}

size_t http1_body_feed(struct http1_body *b, str bytes, struct http1_sink sink)
{
    str data;

    if (b->done || b->fault.status)
        return 0;
    switch (b->framing) {
    case HTTP1_NONE:
        return 0;
    case HTTP1_LENGTH:
        data = http1_take_data(b, bytes);
        if (data.n > 0)
            sink.on_bytes(sink.ctx, data);
        b->done = b->left == 0;
        return data.n;
    case HTTP1_CHUNKED:
        return http1_feed_chunked(b, bytes, sink);
    case HTTP1_TO_CLOSE:
        if (bytes.n > 0)
            sink.on_bytes(sink.ctx, bytes);
        return bytes.n;
    }
    return 0;
}

bool http1_body_finish(struct http1_body *b)
{
    if (b->framing == HTTP1_TO_CLOSE)
        b->done = true;
    return b->done;
}
