/* utf8.h - characters in bytes, by RFC 3629 to the letter.
 *
 *     for (size_t at = 0, size; at < s.n; at += size) {
 *         uint32_t c;
 *
 *         if (!(size = utf8_decode(str_slice(s, at, s.n), &c)))
 *             return err_set(e, ERR_INPUT, "byte %zu is not UTF-8", at);
 *     }
 *
 * Overlong forms, surrogates and anything past U+10FFFF are no characters. Where bytes are no
 * character, they are counted and replaced as browsers do it (the WHATWG Encoding Standard): the
 * longest front that begins some character, or else one byte, becomes one U+FFFD.
 *
 * Promises:
 *   - No function reads past the span it was given, and none fails on any bytes.
 *   - A text cut at s.n - utf8_tail(s), the rest put before the next piece, is never cut inside a
 *     character, and less than one character is ever held back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#define UTF8_SIZE_MAX 4
#define UTF8_CODE_MAX 0x10FFFFu
#define UTF8_REPLACEMENT 0xFFFDu

/* The character at the front of s: how many bytes it has, or 0 if there is none, out untouched. */
size_t utf8_decode(str s, uint32_t *out) MUST_USE;

/* How many bytes at the front of s are no character and become one U+FFFD; 0 if s is empty or
 * begins with a character. */
size_t utf8_bad(str s);

/* The bytes of a character, and how many; 0 if the code is a surrogate or too large. */
size_t utf8_encode(uint32_t code, char out[UTF8_SIZE_MAX]) MUST_USE;

bool utf8_valid(str s);

/* How many bytes at the front of s are characters: s.n if all of it is valid. */
size_t utf8_valid_size(str s);

/* How many characters, counting each replacement as one. */
size_t utf8_count(str s);

/* The front of s with at most so many characters, or at most so many bytes but no half character
 * at the cut. */
str utf8_cut_count(str s, size_t count_max);
str utf8_cut_size(str s, size_t size_max);

/* Without white space at the ends, that of other scripts included: what a reader would not see. */
str utf8_trim(str s);

/* How many bytes at the end of s begin a character and may yet become one: 0 to 3. */
size_t utf8_tail(str s);

/* Appends s with each byte sequence that is no character replaced; true if none had to be. */
bool utf8_copy(struct buf *out, str s);

/* Whether a character acts on a terminal or on the line instead of being seen: C0 and C1 controls
 * (line feed and tab among them), DEL, line and paragraph separators, and the marks that turn the
 * direction of writing around. */
bool utf8_is_control(uint32_t code);
