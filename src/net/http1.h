/* http1.h - HTTP/1.1 messages: parses heads strictly, removes the framing of bodies, writes heads.
 *
 * These are stages without I/O. A head is parsed from a buffer that has all of it; its fields point
 * into that buffer.
 *
 *     switch (http1_request(bytes, &limits, &head, &used, &fault)) ...
 *     http1_body_init(&body, &head); http1_body_feed(&body, piece, sink)
 *
 * Refused, like nginx or stricter (status in `fault`):
 *   - both Content-Length and Transfer-Encoding; two Content-Length, even equal ones, or one that
 *     is not plain digits; any Transfer-Encoding but one "chunked" (501), or any in HTTP/1.0
 *   - white space before a colon or at a line's start (obs-fold); control characters anywhere,
 *     including NUL and bare CR; a method or a name that is not a token; more than one space in a
 *     row in the request line
 *   - HTTP versions other than 1.0 and 1.1 (505); CONNECT (501); an Expect that is not 100-continue
 *     (417)
 *   - a target with control characters, spaces, non-ASCII bytes or a fragment; a target that is not
 *     a path, except "*" with OPTIONS and http://host/path with a valid host
 *   - no Host in HTTP/1.1, two of them, or an invalid one
 *   - heads over the limit (431) or a request line over it (414); more than HTTP1_FIELDS_MAX fields
 *   - chunk sizes that are not hex, overflow or have bad extensions; chunk data not followed by
 *     CRLF; trailers are checked, limited and dropped
 *
 * A bare LF ends a line of a head, as in nginx, but never one of a chunked body. Empty lines before
 * a request line are skipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#define HTTP1_FIELDS_MAX 100
#define HTTP1_KINDS 64

struct http1_field {
    str name, value; /* value trimmed */
};

enum http1_framing {
    HTTP1_NONE,   /* no body */
    HTTP1_LENGTH, /* content_length bytes */
    HTTP1_CHUNKED,
    HTTP1_TO_CLOSE, /* replies only */
};

struct http1_head {
    bool is_request;
    str method, target, path, query; /* of a request; query without the question mark */
    str host;                        /* of the target, or else of Host; with the port */
    int status;                      /* of a reply */
    str reason;
    int minor;       /* HTTP/1.minor */
    bool keep_alive; /* by version and Connection */
    bool expect_continue, upgrade;
    enum http1_framing framing;
    uint64_t content_length;
    uint8_t at[HTTP1_KINDS]; /* by the kind of a name: 1 + the index of its first field; 0: none */
    size_t field_count;
    struct http1_field fields[HTTP1_FIELDS_MAX]; /* last, so that a copy may have fewer */
};

enum http1_result { HTTP1_MORE, HTTP1_DONE, HTTP1_BAD };

struct http1_fault {
    int status; /* for a request: 400, 414, 417, 431, 501, 505; for a reply: 502 */
    const char *why;
};

/* MORE: the head is incomplete; `size_max` limits it. DONE: the head had `used` bytes. */
enum http1_result http1_request(str bytes, size_t size_max, struct http1_head *out, size_t *used,
                                struct http1_fault *fault);
/* no_body: the reply to a HEAD, or a 2xx to CONNECT. */
enum http1_result http1_reply(str bytes, size_t size_max, bool no_body, struct http1_head *out,
                              size_t *used, struct http1_fault *fault);

/* The end of the head at the start of these bytes, or STR_NONE; of the bytes before `from` only a
 * few are read again. A head without an end need not be parsed yet, so a head in many pieces takes
 * linear time. */
size_t http1_head_end(str bytes, size_t from);

/* For a head whose bytes were copied: makes its spans point into `to` instead of `from`. */
void http1_head_move(struct http1_head *h, str from, const char *to);

/* Names are found by their kind, a hash of the size and the first and last letter. An absent name,
 * the most frequent case, costs one look-up; a present one mostly one comparison. */
#define HTTP1_KIND(n, first, last)                                                                 \
    (((n)*12 + ((unsigned)(first) | 0x20u) + 2 * ((unsigned)(last) | 0x20u)) % HTTP1_KINDS)
#define HTTP1_BIT(n, first, last) ((uint64_t)1 << HTTP1_KIND(n, first, last))
static inline size_t http1_kind(str name)
{
    if (name.n == 0)
        return 0;
    return HTTP1_KIND(name.n, (unsigned char)name.p[0], (unsigned char)name.p[name.n - 1]);
}

/* Whether n bytes are equal, ignoring ASCII case; and the same for two names, which mostly differ
 * in their first letter. */
bool http1_same_size(const char *a, const char *b, size_t n);
static inline bool http1_same(str a, str b)
{
    return a.n == b.n &&
           (a.n == 0 || (((a.p[0] ^ b.p[0]) & ~0x20) == 0 && http1_same_size(a.p, b.p, a.n)));
}

/* The first field of that name, ignoring case, or NULL; its value, or an empty str. */
const struct http1_field *http1_field_from(const struct http1_head *h, size_t at, str name);
static inline const struct http1_field *http1_field(const struct http1_head *h, str name)
{
    size_t at = h->at[http1_kind(name)];

    if (at == 0)
        return NULL;
    return http1_same(h->fields[at - 1].name, name) ? &h->fields[at - 1]
                                                    : http1_field_from(h, at, name);
}

static inline str http1_find(const struct http1_head *h, str name)
{
    const struct http1_field *f = http1_field(h, name);

    return f ? f->value : STR("");
}

static inline bool http1_has(const struct http1_head *h, str name)
{
    return http1_field(h, name) != NULL;
}

/* Iterates over a list "a, b;q=1 , c": true and the next item, trimmed and never empty, or
 * false. */
bool http1_list_next(str *list, str *item);
bool http1_is_token(str s);
str http1_bare_host(str host); /* of a Host header, without port and brackets */
/* Whether every byte of s is allowed in a header value. */
bool http1_is_text(str s);

/* Removes the framing of a body. */
struct http1_body {
    struct http1_fault fault; /* status 0: no error */
    uint64_t left;            /* of the length or of the chunk */
    uint64_t room;            /* bytes that more chunks may have; more is a fault, 413 */
    uint32_t extra;           /* bytes of extensions and trailers so far; limited */
    uint8_t framing;          /* enum http1_framing */
    uint8_t state;
    uint8_t digits; /* of the chunk's size so far */
    bool done : 1;
    bool joins : 1; /* set after http1_body_init by a caller whose bytes may be written: data of
                       several chunks then arrives as one piece */
};

struct http1_sink {
    void (*on_bytes)(void *ctx, str bytes);
    void *ctx;
};

void http1_body_init(struct http1_body *b, const struct http1_head *h);
/* Returns how many bytes belonged to the body: fewer than given when it is complete or invalid. */
size_t http1_body_feed(struct http1_body *b, str bytes, struct http1_sink sink);
/* The connection was closed: true if that ends the body properly. */
bool http1_body_finish(struct http1_body *b);

/* "OK" for 200; "" for an unknown status. */
const char *http1_reason(int status);
