/* internal.h - shared by the files of http1: which bytes are valid where.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/simd.h"
#include "net/http1_again.h"

#define HTTP1_TOKEN 1u  /* tchar of RFC 9110 */
#define HTTP1_HEX 2u    /* a hex digit */
#define HTTP1_TARGET 4u /* valid in a request's target */
#define HTTP1_HOST 8u   /* valid in a registered name */
#define HTTP1_TEXT 16u  /* valid in a value */

extern const uint8_t http1_chars[256];

static inline bool http1_is(char c, unsigned kind)
{
    return http1_chars[(unsigned char)c] & kind;
}

/* The first byte that is not of this kind, or the end. */
const char *http1_span(const char *p, const char *end, unsigned kind);

/* The first byte that is invalid in a value, or the end. */
static inline const char *http1_text_end(const char *p, const char *end)
{
#if SIMD_HAS_16
    for (; end - p >= 16; p += 16) {
        simd16 v = simd_load(p);
        simd16 bad = simd_andnot(simd_below(v, 0x20), simd_eq(v, '\t'));
        uint32_t hit = simd_bits(simd_or(bad, simd_eq(v, 0x7F)));

        if (hit)
            return p + __builtin_ctz(hit);
    }
#endif
    return http1_span(p, end, HTTP1_TEXT);
}

/* The same for a token. Nearly all bytes are letters, digits and hyphens; others are looked up. */
static inline const char *http1_token_end(const char *p, const char *end)
{
#if SIMD_HAS_16
    while (end - p >= 16) {
        simd16 v = simd_load(p);
        simd16 letter = simd_or(simd_within(v, 'A', 'Z'), simd_within(v, 'a', 'z'));
        simd16 other = simd_or(simd_within(v, '0', '9'), simd_eq(v, '-'));
        uint32_t hit = simd_bits(simd_or(letter, other)) ^ 0xFFFF;

        if (hit) {
            p += __builtin_ctz(hit);
            if (!http1_is(*p, HTTP1_TOKEN))
                return p;
            p++;
        } else {
            p += 16;
        }
    }
#endif
    return http1_span(p, end, HTTP1_TOKEN);
}

/* Sets the fault of an invalid head; returns false. */
bool http1_bad(struct http1_reading *r, int status, const char *why);

/* The parts of http1_request_again and http1_reply_again: parsing a head that begins with the known
 * prefix, and parsing that prefix of the bytes. False: it is invalid. */
enum http1_result http1_from(const struct http1_again *a, str bytes, struct http1_reply_rules rules,
                             struct http1_head *out, size_t *used, struct http1_fault *fault);
bool http1_front(struct http1_again *a, size_t size, bool is_request) MUST_USE;

bool http1_target(struct http1_reading *r) MUST_USE;
bool http1_is_host(str s);
/* Kinds of the names that have a meaning here, one bit each. */
#define HTTP1_MEANT                                                                                \
    (HTTP1_BIT(4, 'h', 't') /* host */ | HTTP1_BIT(6, 'e', 't') /* expect */ |                     \
     HTTP1_BIT(7, 'u', 'e') /* upgrade */ | HTTP1_BIT(10, 'c', 'n') /* connection */ |             \
     HTTP1_BIT(14, 'c', 'h') /* content-length */ |                                                \
     HTTP1_BIT(17, 't', 'g') /* transfer-encoding */)
/* Reads one field of those kinds, which counts if its name is known; and evaluates all of them. */
bool http1_field_read(struct http1_reading *r, const struct http1_field *f) MUST_USE;
bool http1_request_done(struct http1_reading *r) MUST_USE;
bool http1_reply_done(struct http1_reading *r, bool no_body) MUST_USE;
