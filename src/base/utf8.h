/* utf8.h - UTF-8, strictly by RFC 3629.
 *
 *     for (size_t at = 0, size; at < s.n; at += size) {
 *         uint32_t c;
 *
 *         if (!(size = utf8_decode(str_slice(s, at, s.n), &c)))
 *             return err_input(e, "byte %zu is not UTF-8", at);
 *     }
 *
 * Overlong forms, surrogates and codes above U+10FFFF are invalid. Invalid bytes are counted and
 * replaced as browsers do it (the WHATWG Encoding Standard): the longest prefix that begins some
 * character, or else one byte, becomes one U+FFFD.
 *
 * Promises:
 *   - No function reads beyond its input, and all accept any bytes.
 *   - Cutting a text at s.n - utf8_tail(s) and prepending the rest to the next piece never cuts a
 *     character, and holds back less than one character.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#define UTF8_SIZE_MAX 4
#define UTF8_CODE_MAX 0x10FFFFu
#define UTF8_REPLACEMENT 0xFFFDu

/* Decodes the first character of s and returns its size in bytes; 0 if s begins with none, and out
 * is unchanged. */
size_t utf8_decode(str s, uint32_t *out) MUST_USE;

/* The number of bytes at the start of s that are invalid and become one U+FFFD; 0 if s is empty or
 * begins with a character. */
size_t utf8_bad(str s);

/* Writes the bytes of a character and returns their number; 0 if the code is a surrogate or too
 * large. */
size_t utf8_encode(uint32_t code, char out[UTF8_SIZE_MAX]) MUST_USE;

bool utf8_valid(str s);

/* The number of bytes at the start of s that are valid: s.n if all are. */
size_t utf8_valid_size(str s);

/* The number of characters, counting each replacement as one. */
size_t utf8_count(str s);

/* The prefix of s with at most this many characters, or at most this many bytes without cutting a
 * character. */
str utf8_cut_count(str s, size_t count_max);
str utf8_cut_size(str s, size_t size_max);

/* s without white space at both ends, including the white space of other scripts. */
str utf8_trim(str s);

/* The number of bytes at the end of s that begin an incomplete character: 0 to 3. */
size_t utf8_tail(str s);

/* Appends s with invalid bytes replaced; true if all of s was valid. */
bool utf8_copy(struct buf *out, str s);
/* A text that every database accepts: without invalid bytes, and with a space for each NUL. It is s
 * itself, or in the arena. */
str utf8_storable(str s, struct arena *a);

/* Whether a character controls a terminal or the line instead of being visible: C0 and C1 controls
 * (including line feed and tab), DEL, line and paragraph separators, and marks that change the
 * direction of text. */
bool utf8_is_control(uint32_t code);
