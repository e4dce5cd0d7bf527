/* words_fold.c - how characters are folded, and which of them separate words.
 *
 * The tables give the base letter, in lower case, of Latin letters with a diacritic or a stroke.
 * Other letters (ae, thorn, eng) become their lower case.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/words.h"

#define WORDS_LATIN 0xC0u
#define WORDS_LATIN_MORE 0x1E00u

/* U+00C0 to U+024F */
static const uint16_t words_latin[] = {
    'a',   'a',    'a',   'a',   'a',   'a',    0xE6,  'c',   'e',   'e',   'e',   'e',   'i',
    'i',   'i',    'i',   0xF0,  'n',   'o',    'o',   'o',   'o',   'o',   0,     'o',   'u',
    'u',   'u',    'u',   'y',   0xFE,  0xDF,   'a',   'a',   'a',   'a',   'a',   'a',   0xE6,
    'c',   'e',    'e',   'e',   'e',   'i',    'i',   'i',   'i',   0xF0,  'n',   'o',   'o',
    'o',   'o',    'o',   0,     'o',   'u',    'u',   'u',   'u',   'y',   0xFE,  'y',   'a',
    'a',   'a',    'a',   'a',   'a',   'c',    'c',   'c',   'c',   'c',   'c',   'c',   'c',
    'd',   'd',    'd',   'd',   'e',   'e',    'e',   'e',   'e',   'e',   'e',   'e',   'e',
    'e',   'g',    'g',   'g',   'g',   'g',    'g',   'g',   'g',   'h',   'h',   'h',   'h',
    'i',   'i',    'i',   'i',   'i',   'i',    'i',   'i',   'i',   'i',   0x133, 0x133, 'j',
    'j',   'k',    'k',   0x138, 'l',   'l',    'l',   'l',   'l',   'l',   'l',   'l',   'l',
    'l',   'n',    'n',   'n',   'n',   'n',    'n',   'n',   0x14B, 0x14B, 'o',   'o',   'o',
    'o',   'o',    'o',   0x153, 0x153, 'r',    'r',   'r',   'r',   'r',   'r',   's',   's',
    's',   's',    's',   's',   's',   's',    't',   't',   't',   't',   't',   't',   'u',
    'u',   'u',    'u',   'u',   'u',   'u',    'u',   'u',   'u',   'u',   'u',   'w',   'w',
    'y',   'y',    'y',   'z',   'z',   'z',    'z',   'z',   'z',   's',   0x180, 0x253, 0x183,
    0x183, 0x185,  0x185, 0x254, 0x188, 0x188,  0x256, 0x257, 0x18C, 0x18C, 0x18D, 0x1DD, 0x259,
    0x25B, 0x192,  0x192, 0x260, 0x263, 0x195,  0x269, 0x268, 0x199, 0x199, 0x19A, 0x19B, 0x26F,
    0x272, 0x19E,  0x275, 'o',   'o',   0x1A3,  0x1A3, 0x1A5, 0x1A5, 0x280, 0x1A8, 0x1A8, 0x283,
    0x1AA, 0x1AB,  0x1AD, 0x1AD, 0x288, 'u',    'u',   0x28A, 0x28B, 0x1B4, 0x1B4, 0x1B6, 0x1B6,
    0x292, 0x1B9,  0x1B9, 0x1BA, 0x1BB, 0x1BD,  0x1BD, 0x1BE, 0x1BF, 0x1C0, 0x1C1, 0x1C2, 0x1C3,
    0x1C6, 0x1C6,  0x1C6, 0x1C9, 0x1C9, 0x1C9,  0x1CC, 0x1CC, 0x1CC, 'a',   'a',   'i',   'i',
    'o',   'o',    'u',   'u',   'u',   'u',    'u',   'u',   'u',   'u',   'u',   'u',   0x1DD,
    'a',   'a',    'a',   'a',   0xE6,  0xE6,   0x1E5, 0x1E5, 'g',   'g',   'k',   'k',   'o',
    'o',   'o',    'o',   0x292, 0x292, 'j',    0x1F3, 0x1F3, 0x1F3, 'g',   'g',   0x195, 0x1BF,
    'n',   'n',    'a',   'a',   0xE6,  0xE6,   'o',   'o',   'a',   'a',   'a',   'a',   'e',
    'e',   'e',    'e',   'i',   'i',   'i',    'i',   'o',   'o',   'o',   'o',   'r',   'r',
    'r',   'r',    'u',   'u',   'u',   'u',    's',   's',   't',   't',   0x21D, 0x21D, 'h',
    'h',   0x19E,  0x221, 0x223, 0x223, 0x225,  0x225, 'a',   'a',   'e',   'e',   'o',   'o',
    'o',   'o',    'o',   'o',   'o',   'o',    'y',   'y',   0x234, 0x235, 0x236, 0x237, 0x238,
    0x239, 0x2C65, 0x23C, 0x23C, 0x19A, 0x2C66, 0x23F, 0x240, 0x242, 0x242, 0x180, 0x289, 0x28C,
    0x247, 0x247,  0x249, 0x249, 0x24B, 0x24B,  0x24D, 0x24D, 0x24F, 0x24F,
};

/* U+1E00 to U+1EFF */
static const uint16_t words_latin_more[] = {
    'a',    'a',    'b',    'b',    'b',  'b',    'b', 'b', 'c', 'c', 'd', 'd', 'd',    'd',
    'd',    'd',    'd',    'd',    'd',  'd',    'e', 'e', 'e', 'e', 'e', 'e', 'e',    'e',
    'e',    'e',    'f',    'f',    'g',  'g',    'h', 'h', 'h', 'h', 'h', 'h', 'h',    'h',
    'h',    'h',    'i',    'i',    'i',  'i',    'k', 'k', 'k', 'k', 'k', 'k', 'l',    'l',
    'l',    'l',    'l',    'l',    'l',  'l',    'm', 'm', 'm', 'm', 'm', 'm', 'n',    'n',
    'n',    'n',    'n',    'n',    'n',  'n',    'o', 'o', 'o', 'o', 'o', 'o', 'o',    'o',
    'p',    'p',    'p',    'p',    'r',  'r',    'r', 'r', 'r', 'r', 'r', 'r', 's',    's',
    's',    's',    's',    's',    's',  's',    's', 's', 't', 't', 't', 't', 't',    't',
    't',    't',    'u',    'u',    'u',  'u',    'u', 'u', 'u', 'u', 'u', 'u', 'v',    'v',
    'v',    'v',    'w',    'w',    'w',  'w',    'w', 'w', 'w', 'w', 'w', 'w', 'x',    'x',
    'x',    'x',    'y',    'y',    'z',  'z',    'z', 'z', 'z', 'z', 'h', 't', 'w',    'y',
    0x1E9A, 's',    0x1E9C, 0x1E9D, 0xDF, 0x1E9F, 'a', 'a', 'a', 'a', 'a', 'a', 'a',    'a',
    'a',    'a',    'a',    'a',    'a',  'a',    'a', 'a', 'a', 'a', 'a', 'a', 'a',    'a',
    'a',    'a',    'e',    'e',    'e',  'e',    'e', 'e', 'e', 'e', 'e', 'e', 'e',    'e',
    'e',    'e',    'e',    'e',    'i',  'i',    'i', 'i', 'o', 'o', 'o', 'o', 'o',    'o',
    'o',    'o',    'o',    'o',    'o',  'o',    'o', 'o', 'o', 'o', 'o', 'o', 'o',    'o',
    'o',    'o',    'o',    'o',    'u',  'u',    'u', 'u', 'u', 'u', 'u', 'u', 'u',    'u',
    'u',    'u',    'u',    'u',    'y',  'y',    'y', 'y', 'y', 'y', 'y', 'y', 0x1EFB, 0x1EFB,
    0x1EFD, 0x1EFD, 0x1EFF, 0x1EFF,
};

enum words_fold_kind {
    WORDS_FOLD_SEPARATE,
    WORDS_FOLD_DROP,
    WORDS_FOLD_ADD,   /* a distance to the lower case */
    WORDS_FOLD_PAIRS, /* upper and lower case in turn, beginning with an upper case */
    WORDS_FOLD_NONE,  /* a letter as it is, inside a range of others */
};

struct words_fold_range {
    uint32_t from, to;
    enum words_fold_kind kind;
    int32_t add;
};

/* Ascending. Characters of no range are letters without case. */
static const struct words_fold_range words_fold_ranges[] = {
    {0x80, 0xA9, WORDS_FOLD_SEPARATE, 0},
    {0xAB, 0xB4, WORDS_FOLD_SEPARATE, 0},
    {0xB5, 0xB5, WORDS_FOLD_ADD, 0x3BC - 0xB5}, /* the micro sign is a mu */
    {0xB6, 0xB9, WORDS_FOLD_SEPARATE, 0},
    {0xBB, 0xBF, WORDS_FOLD_SEPARATE, 0},
    {0x300, 0x36F, WORDS_FOLD_DROP, 0},
    {0x370, 0x373, WORDS_FOLD_PAIRS, 0},
    {0x376, 0x377, WORDS_FOLD_PAIRS, 0},
    {0x37E, 0x37E, WORDS_FOLD_SEPARATE, 0},
    {0x384, 0x385, WORDS_FOLD_SEPARATE, 0},
    {0x386, 0x386, WORDS_FOLD_ADD, 38},
    {0x387, 0x387, WORDS_FOLD_SEPARATE, 0},
    {0x388, 0x38A, WORDS_FOLD_ADD, 37},
    {0x38C, 0x38C, WORDS_FOLD_ADD, 64},
    {0x38E, 0x38F, WORDS_FOLD_ADD, 63},
    {0x391, 0x3A1, WORDS_FOLD_ADD, 32},
    {0x3A3, 0x3AB, WORDS_FOLD_ADD, 32},
    {0x3C2, 0x3C2, WORDS_FOLD_ADD, 1}, /* a sigma at the end of a word */
    {0x3D8, 0x3EF, WORDS_FOLD_PAIRS, 0},
    {0x400, 0x40F, WORDS_FOLD_ADD, 80},
    {0x410, 0x42F, WORDS_FOLD_ADD, 32},
    {0x460, 0x481, WORDS_FOLD_PAIRS, 0},
    {0x482, 0x482, WORDS_FOLD_SEPARATE, 0},
    {0x483, 0x489, WORDS_FOLD_DROP, 0},
    {0x48A, 0x4BF, WORDS_FOLD_PAIRS, 0},
    {0x4C0, 0x4C0, WORDS_FOLD_ADD, 15},
    {0x4C1, 0x4CE, WORDS_FOLD_PAIRS, 0},
    {0x4D0, 0x52F, WORDS_FOLD_PAIRS, 0},
    {0x531, 0x556, WORDS_FOLD_ADD, 48},
    {0x55A, 0x55F, WORDS_FOLD_SEPARATE, 0},
    {0x589, 0x58F, WORDS_FOLD_SEPARATE, 0},
    {0x5BE, 0x5BE, WORDS_FOLD_SEPARATE, 0},
    {0x5C0, 0x5C0, WORDS_FOLD_SEPARATE, 0},
    {0x5C3, 0x5C3, WORDS_FOLD_SEPARATE, 0},
    {0x5F3, 0x5F4, WORDS_FOLD_SEPARATE, 0},
    {0x600, 0x60F, WORDS_FOLD_SEPARATE, 0},
    {0x61B, 0x61F, WORDS_FOLD_SEPARATE, 0},
    {0x66A, 0x66D, WORDS_FOLD_SEPARATE, 0},
    {0x6D4, 0x6D4, WORDS_FOLD_SEPARATE, 0},
    {0x964, 0x965, WORDS_FOLD_SEPARATE, 0},
    {0xE3F, 0xE3F, WORDS_FOLD_SEPARATE, 0},
    {0x1680, 0x1680, WORDS_FOLD_SEPARATE, 0},
    {0x1AB0, 0x1AFF, WORDS_FOLD_DROP, 0},
    {0x1DC0, 0x1DFF, WORDS_FOLD_DROP, 0},
    {0x2000, 0x206F, WORDS_FOLD_SEPARATE, 0},
    {0x20A0, 0x20CF, WORDS_FOLD_SEPARATE, 0}, /* currencies */
    {0x20D0, 0x20FF, WORDS_FOLD_DROP, 0},
    {0x2190, 0x245F, WORDS_FOLD_SEPARATE, 0}, /* arrows, mathematics, technical signs */
    {0x2500, 0x2BFF, WORDS_FOLD_SEPARATE, 0}, /* lines, shapes, dingbats, more arrows */
    {0x2E00, 0x2E7F, WORDS_FOLD_SEPARATE, 0},
    {0x2FF0, 0x3004, WORDS_FOLD_SEPARATE, 0},
    {0x3005, 0x3007, WORDS_FOLD_NONE, 0}, /* iteration mark, closing mark, zero: parts of words */
    {0x3008, 0x303F, WORDS_FOLD_SEPARATE, 0},
    {0x30FB, 0x30FB, WORDS_FOLD_SEPARATE, 0},
    {0xD800, 0xF8FF, WORDS_FOLD_SEPARATE, 0}, /* no characters, then private use */
    {0xFE00, 0xFE0F, WORDS_FOLD_DROP, 0},
    {0xFE10, 0xFE1F, WORDS_FOLD_SEPARATE, 0},
    {0xFE20, 0xFE2F, WORDS_FOLD_DROP, 0},
    {0xFE30, 0xFE6F, WORDS_FOLD_SEPARATE, 0},
    {0xFEFF, 0xFF0F, WORDS_FOLD_SEPARATE, 0},
    {0xFF10, 0xFF19, WORDS_FOLD_ADD, '0' - 0xFF10}, /* full width */
    {0xFF1A, 0xFF20, WORDS_FOLD_SEPARATE, 0},
    {0xFF21, 0xFF3A, WORDS_FOLD_ADD, 'a' - 0xFF21},
    {0xFF3B, 0xFF40, WORDS_FOLD_SEPARATE, 0},
    {0xFF41, 0xFF5A, WORDS_FOLD_ADD, 'a' - 0xFF41},
    {0xFF5B, 0xFF65, WORDS_FOLD_SEPARATE, 0},
    {0xFFE0, 0xFFFF, WORDS_FOLD_SEPARATE, 0},
    {0x1F000, 0x1FAFF, WORDS_FOLD_SEPARATE, 0}, /* emoji and other pictures */
    {0xE0000, 0xE0FFF, WORDS_FOLD_DROP, 0},     /* tags and variants */
    {0xF0000, UINT32_MAX, WORDS_FOLD_SEPARATE, 0},
};

static uint32_t words_fold_by_range(uint32_t code)
{
    const struct words_fold_range *r = words_fold_ranges;
    size_t n = COUNT_OF(words_fold_ranges);

    while (n > 0) {
        const struct words_fold_range *mid = r + n / 2;

        if (code > mid->to) {
            r = mid + 1;
            n -= n / 2 + 1;
        } else if (code < mid->from) {
            n /= 2;
        } else {
            r = mid;
            break;
        }
    }
    if (n == 0)
        return code;
    assert(code >= r->from && code <= r->to);
    switch (r->kind) {
    case WORDS_FOLD_SEPARATE:
        return 0;
    case WORDS_FOLD_DROP:
        return WORDS_MARK;
    case WORDS_FOLD_ADD:
        return (uint32_t)((int32_t)code + r->add);
    case WORDS_FOLD_PAIRS:
        return code + ((code - r->from) % 2 == 0);
    case WORDS_FOLD_NONE:
        break;
    }
    return code;
}

static uint32_t words_fold_ascii(uint32_t c)
{
    bool digit = c >= '0' && c <= '9', letter = (c | 32) >= 'a' && (c | 32) <= 'z';

    return digit || letter ? c | 32 : 0;
}

uint32_t words_fold(uint32_t code)
{
    if (code < 0x80)
        return words_fold_ascii(code);
    if (code - WORDS_LATIN < COUNT_OF(words_latin))
        return words_latin[code - WORDS_LATIN];
    if (code - WORDS_LATIN_MORE < COUNT_OF(words_latin_more))
        return words_latin_more[code - WORDS_LATIN_MORE];
    return words_fold_by_range(code);
}
