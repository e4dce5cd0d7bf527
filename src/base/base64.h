/* base64.h - base64 (RFC 4648).
 *
 *     base64_add(&out, bytes);
 *     if (base64_decode(text, &out)) ...
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

/* The standard alphabet, padded. */
void base64_add(struct buf *out, str bytes);
/* The URL alphabet, not padded. */
void base64_add_url(struct buf *out, str bytes);
/* Strict: the standard alphabet, padded, no white space, unused bits 0; false otherwise, and out is
 * unchanged. */
bool base64_decode(str text, struct buf *out) MUST_USE;

/* The value of a digit of either alphabet; -1: it is none. */
static inline int base64_digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+' || c == '-' ? 62
           : c == '/' || c == '_' ? 63
                                  : -1;
}
