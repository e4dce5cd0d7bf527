/* ctype.h - classes of ASCII characters. Unlike <ctype.h>, no locale and no undefined argument.
 *
 *     while (char_is_json_space(*p))
 *         p++;
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>

static inline bool char_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool char_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool char_is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static inline bool char_is_alnum(char c)
{
    return char_is_digit(c) || char_is_letter(c);
}

/* What words consist of: letters and digits, and any character beyond ASCII. */
static inline bool char_in_word(char c)
{
    return char_is_alnum(c) || (unsigned char)c >= 0x80;
}

/* Space, tab, line feed, carriage return: the white space of JSON, YAML and HTTP. */
static inline bool char_is_json_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The white space of C: that of JSON, vertical tab and form feed. */
static inline bool char_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline char char_to_lower(char c)
{
    return char_is_upper(c) ? (char)(c | 0x20) : c;
}

/* 0 to 15, or -1 if c is not a hexadecimal digit. */
static inline int char_hex_value(char c)
{
    if (char_is_digit(c))
        return c - '0';
    c = char_to_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
