/* internal.h - shared by the files of json and their tests.
 *
 * Text in three spellings is compared without copying: a cursor returns it in pieces, each a run of
 * plain bytes or the bytes of one escape.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "base/utf8_scan.h"

/* json_parse and json_quote with a given SIMD level. */
bool json_parse_at(struct json *doc, str src, enum simd_level level, struct err *e) MUST_USE;
bool json_quote_at(struct buf *out, str text, enum simd_level level);
/* The same for text without characters to escape. */
void json_quote_plain(struct buf *out, str text);

/* The first quote, backslash or control character, or end; sets high if a byte before it is not
 * ASCII, and leaves it unchanged otherwise. */
const char *json_scan(const char *p, const char *end, enum simd_level level, bool *high);

#define JSON_EACH ((uint64_t)0x0101010101010101) /* times a byte: that byte in each position */

/* Sets bits where a byte of w is zero, and perhaps in bytes after it. */
static inline uint64_t json_zeros(uint64_t w)
{
    return (w - JSON_EACH) & ~w & JSON_EACH * 0x80;
}

/* Not 0 if a byte of w ends a run or is not ASCII. */
static inline uint64_t json_odd_bytes(uint64_t w)
{
    return json_zeros(w ^ JSON_EACH * '"') | json_zeros(w ^ JSON_EACH * '\\') |
           (((w - JSON_EACH * 0x20) | w) & JSON_EACH * 0x80);
}

#if SIMD_HAS_16
/* One bit for each such byte. */
static inline uint32_t json_ends_run(simd16 v)
{
    return simd_bits(simd_or(simd_or(simd_eq(v, '"'), simd_eq(v, '\\')), simd_below(v, 0x20)));
}

/* The same, and one bit for each byte that is not ASCII. */
static inline uint32_t json_ends_plain(simd16 v)
{
    return simd_bits(simd_or(simd_or(simd_eq(v, '"'), simd_eq(v, '\\')), simd_beyond(v, 0x20)));
}
#endif

/* Whether up to 32 bytes, as in names, are plain ASCII, with two loads that may overlap. False for
 * more bytes. */
static inline bool json_plain_few(str s)
{
    const char *end;
    uint64_t a = JSON_EACH * 'x', b;
    uint32_t half;

    if (s.n > 32)
        return false;
    if (s.n < 4) {
        for (size_t i = 0; i < s.n; i++)
            a = a << 8 | (unsigned char)s.p[i];
        return !json_odd_bytes(a);
    }
    end = s.p + s.n;
    if (s.n < 8) {
        memcpy(&half, s.p, sizeof half);
        a = half;
        memcpy(&half, end - sizeof half, sizeof half);
        return !json_odd_bytes(a << 32 | half);
    }
    if (s.n <= 16) {
        memcpy(&a, s.p, sizeof a);
        memcpy(&b, end - sizeof b, sizeof b);
        return !(json_odd_bytes(a) | json_odd_bytes(b));
    }
#if SIMD_HAS_16
    return !(json_ends_plain(simd_load(s.p)) | json_ends_plain(simd_load(end - 16)));
#else
    return false;
#endif
}

/* The character of a backslash and this byte; 0 for u and for bytes that are not an escape. */
extern const char json_escapes[256];

/* Unescapes the inside of a valid string; out has room for raw.n bytes. Returns the number of bytes
 * written. */
size_t json_unescape(str raw, char *out, enum simd_level level);

struct json_run {
    uint64_t high, escaped; /* not 0: a byte was not ASCII; a byte was a backslash */
};

/* Skips plain text and simple escapes, and stops before anything else: the closing quote, \u, an
 * error, or within the last few bytes, but never between a backslash and the byte it escapes. */
const char *json_run(const char *p, const char *end, enum simd_level level, struct json_run *r);

enum json_spelling {
    JSON_PLAIN,   /* plain bytes */
    JSON_ESCAPED, /* the inside of a JSON string */
    JSON_POINTED, /* a token of a JSON Pointer: ~0 is ~, ~1 is / */
};

struct json_cursor {
    str rest;
    enum json_spelling spelling;
    char bytes[4]; /* the bytes of the last escape */
};

/* The next piece, empty at the end; valid until the next call. */
str json_piece(struct json_cursor *c);

/* The text of a string node. */
struct json_cursor json_cursor_of(const struct json *doc, const struct json_node *v);

/* Like str_cmp, on the unescaped texts. */
int json_cursor_cmp(struct json_cursor a, struct json_cursor b);

/* Whether two JSON numbers have the same value, at any size. */
bool json_number_equal(str a, str b);

struct json_double_text {
    char text[32];
    size_t n;
};

/* The shortest text that reads back as v, which is finite. */
struct json_double_text json_double_text(double v);
