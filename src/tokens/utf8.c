/* SPDX-License-Identifier: Apache-2.0 */
#include "tokens/internal.h"

/* How many bytes a character has that begins so, and in which range its second byte must be; 0 for
 * bytes that begin none. */
static size_t lead(uint8_t c, uint8_t *from, uint8_t *to)
{
    *from = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    *to = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (c < 0x80)
        return 1;
    if (c < 0xC2 || c > 0xF4)
        return 0;
    return c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

/* The bytes at p that are the start of a character, up to all of it: *whole. At least 1. */
static size_t character(const uint8_t *p, size_t n, bool *whole, bool *cut)
{
    uint8_t from, to;
    size_t size = lead(p[0], &from, &to), have = 1;

    while (have < size && have < n && p[have] >= from && p[have] <= to) {
        from = 0x80;
        to = 0xBF;
        have++;
    }
    *whole = have == size;
    *cut = have < size && have == n;
    return have;
}

size_t tokens_utf8(const uint8_t *p, size_t n, size_t *bad, bool *cut)
{
    size_t i = 0;

    *bad = 0;
    *cut = false;
    while (i < n) {
        size_t size;
        bool whole;

        while (n - i >= 8 && !(tokens_load8(p + i) & 0x8080808080808080U))
            i += 8;
        if (i == n)
            break;
        if (p[i] < 0x80) {
            i++;
            continue;
        }
        size = character(p + i, n - i, &whole, cut);
        if (!whole) {
            *bad = size;
            break;
        }
        i += size;
    }
    assert(i <= n);
    return i;
}
