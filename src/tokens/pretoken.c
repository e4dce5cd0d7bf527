/* Text into pieces, as the vocabularies' patterns say, without a regular expression at run time.
 *
 * o200k_base, in the order the alternatives are tried (A is Lu Lt Lm Lo M, C is Ll Lm Lo M):
 *
 *     [^\r\n\p{L}\p{N}]? A* C+ contraction?     a word: upper letters, then lower ones
 *     [^\r\n\p{L}\p{N}]? A+ C* contraction?
 *     \p{N}{1,3}
 *     ' '? [^\s\p{L}\p{N}]+ [\r\n/]*            punctuation
 *     \s* [\r\n]+                               white space up to its last line end
 *     \s+ (?!\S)                                white space but its last character
 *     \s+
 *
 * cl100k_base:
 *
 *     contraction
 *     [^\r\n\p{L}\p{N}]? \p{L}+
 *     \p{N}{1,3}
 *     ' '? [^\s\p{L}\p{N}]+ [\r\n]*
 *     \s+ $                                     white space to the end of the text, lines and all
 *     \s* [\r\n]
 *     \s+ (?!\S)
 *     \s
 *
 * A contraction is ' and one of s d m t ll ve re, in either case.
 *
 * What a backtracking matcher makes of a word of o200k_base: A* takes all it can. If a lower letter
 * follows, C+ has its character. If not, A* gives back until there is one: the last letter or mark
 * that is in both sets; what is behind it, only upper letters, is a piece of its own. Without any,
 * the second alternative takes the upper letters. A mark at the start may be the optional first
 * character or belong to A: the piece is the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens/internal.h"

#define O TOKENS_OTHER
#define S TOKENS_SPACE
#define R TOKENS_NEWLINE
#define N TOKENS_NUMBER
#define U TOKENS_UPPER
#define L TOKENS_LOWER

static const uint8_t ascii[128] = {
    O, O, O, O, O, O, O, O, O, S, R, S, S, R, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    S, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, N, N, N, N, N, N, N, N, N, N, O, O, O, O, O, O,
    O, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, O, O, O, O, O,
    O, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, O, O, O, O, O,
};

#undef O
#undef S
#undef R
#undef N
#undef U
#undef L

/* Sets of classes, a bit each. */
#define SET(class) (1U << (class))
#define WORD (SET(TOKENS_LETTER) | SET(TOKENS_UPPER) | SET(TOKENS_LOWER))
#define BOTH (SET(TOKENS_LETTER) | SET(TOKENS_MARK))
#define TAIL (BOTH | SET(TOKENS_LOWER))
#define BLANK (SET(TOKENS_SPACE) | SET(TOKENS_NEWLINE))
#define PUNCT (SET(TOKENS_OTHER) | SET(TOKENS_MARK))

static enum tokens_class class_of_point(uint32_t point)
{
    uint32_t block = tokens_class_blocks[point >> TOKENS_POINT_BITS];
    uint32_t in = point & ((1U << TOKENS_POINT_BITS) - 1);

    return (enum tokens_class)tokens_class_kinds[block << TOKENS_POINT_BITS | in];
}

static enum tokens_class wide_class(const uint8_t *p, size_t *size)
{
    uint32_t low = p[1] & 0x3FU;

    if (p[0] < 0xE0) {
        *size = 2;
        return class_of_point((p[0] & 0x1FU) << 6 | low);
    }
    low = low << 6 | (p[2] & 0x3FU);
    if (p[0] < 0xF0) {
        *size = 3;
        return class_of_point((p[0] & 0x0FU) << 12 | low);
    }
    *size = 4;
    return class_of_point((p[0] & 0x07U) << 18 | low << 6 | (p[3] & 0x3FU));
}

static inline enum tokens_class class_at(const uint8_t *p, size_t *size)
{
    if (*p < 0x80) {
        *size = 1;
        return (enum tokens_class)ascii[*p];
    }
    return wide_class(p, size);
}

enum tokens_class tokens_class_at(const uint8_t *p, size_t *size)
{
    return class_at(p, size);
}

/* How many ASCII lower letters stand at the start of eight bytes. */
static inline size_t lower_of_8(uint64_t v)
{
    const uint64_t high = 0x8080808080808080U, ones = 0x0101010101010101U;
    uint64_t low7 = v & ~high;
    uint64_t from_a = low7 + (0x80 - 'a') * ones;
    uint64_t past_z = low7 + (0x80 - 'z' - 1) * ones;
    uint64_t other = ~(from_a & ~past_z & ~v) & high;

    return other ? (size_t)__builtin_ctzll(other) / 8 : 8;
}

/* Where the run of characters of a set ends that goes on at i. */
static inline size_t run(const uint8_t *p, size_t n, size_t i, unsigned set)
{
    size_t size;

    while (i < n && SET(class_at(p + i, &size)) & set)
        i += size;
    return i;
}

/* The same for sets with the lower letters in them, which are most of most texts. */
static inline size_t run_lower(const uint8_t *p, size_t n, size_t i, unsigned set)
{
    for (;;) {
        size_t size;

        while (n - i >= 8) {
            size_t more = lower_of_8(tokens_load8(p + i));

            i += more;
            if (more < 8)
                break;
        }
        if (i == n || !(SET(class_at(p + i, &size)) & set))
            return i;
        i += size;
    }
}

size_t tokens_contraction(const uint8_t *p, size_t n)
{
    uint8_t second;

    if (n == 0 || p[0] != '\'')
        return 0;
    if (n == 1)
        return 1;
    switch (p[1] | 0x20) {
    case 's':
    case 'd':
    case 'm':
    case 't':
        return 2;
    case 'l':
        second = 'l';
        break;
    case 'v':
    case 'r':
        second = 'e';
        break;
    default:
        return 0;
    }
    if (n == 2)
        return 1;
    return (p[2] | 0x20) == second ? 3 : 0;
}

/* The end of a word of o200k_base whose letters end at i. */
static inline size_t word_end(const uint8_t *p, size_t n, size_t i, bool over)
{
    size_t more;

    if (i == n)
        return over ? i : 0;
    if (p[i] != '\'')
        return i;
    more = tokens_contraction(p + i, n - i);
    if (more == 1)
        return over ? i : 0;
    return i + more;
}

/* A word of o200k_base whose letters and marks, at least one, begin at i. */
static inline size_t cased_word(const uint8_t *p, size_t n, size_t i, bool over)
{
    size_t both = 0; /* behind the last character that is in A and C */
    size_t size;

    while (i < n) {
        unsigned set = SET(class_at(p + i, &size));

        if (set & SET(TOKENS_LOWER))
            return word_end(p, n, run_lower(p, n, i + size, TAIL), over);
        if (!(set & (BOTH | SET(TOKENS_UPPER))))
            break;
        i += size;
        if (set & BOTH)
            both = i;
    }
    if (i == n && !over)
        return 0;
    return both && both < i ? both : word_end(p, n, i, over);
}

/* From the character at p, of a size: punctuation, with `tail` taken along behind its line ends. */
static inline size_t punctuation(const uint8_t *p, size_t n, size_t i, bool over, uint8_t tail)
{
    i = run(p, n, i, PUNCT);
    while (i < n && (p[i] == '\r' || p[i] == '\n' || p[i] == tail))
        i++;
    return i == n && !over ? 0 : i;
}

static inline size_t number(const uint8_t *p, size_t n, size_t i, bool over)
{
    size_t size;

    for (int digits = 1; digits < 3; digits++) {
        if (i == n)
            return over ? i : 0;
        if (class_at(p + i, &size) != TOKENS_NUMBER)
            break;
        i += size;
    }
    return i;
}

/* White space of which the first character, of a size, starts no word and no punctuation. */
static inline size_t blank(const uint8_t *p, size_t n, bool over, bool end_takes_lines)
{
    size_t i = 0, line = 0, last = 0, size;

    while (i < n) {
        unsigned set = SET(class_at(p + i, &size));

        if (!(set & BLANK))
            break;
        last = i;
        i += size;
        if (set & SET(TOKENS_NEWLINE))
            line = i;
    }
    if (i == n) {
        if (!over)
            return 0;
        return line && !end_takes_lines ? line : i;
    }
    if (line)
        return line;
    return last ? last : i;
}

size_t tokens_split_o200k(const uint8_t *p, size_t n, bool over)
{
    size_t size, next_size;
    enum tokens_class first = class_at(p, &size);
    unsigned next;

    if (SET(first) & (WORD | SET(TOKENS_MARK)))
        return cased_word(p, n, 0, over);
    if (first == TOKENS_NUMBER)
        return number(p, n, size, over);
    if (first == TOKENS_NEWLINE)
        return blank(p, n, over, false);
    if (size == n)
        return over ? size : 0;
    next = SET(class_at(p + size, &next_size));
    if (next & (WORD | SET(TOKENS_MARK)))
        return cased_word(p, n, size, over);
    if (first == TOKENS_OTHER || (p[0] == ' ' && next & PUNCT))
        return punctuation(p, n, size, over, '/');
    return blank(p, n, over, false);
}

size_t tokens_split_cl100k(const uint8_t *p, size_t n, bool over)
{
    size_t size, next_size, i;
    enum tokens_class first = class_at(p, &size);
    unsigned next;

    if (first == TOKENS_NUMBER)
        return number(p, n, size, over);
    if (first == TOKENS_NEWLINE)
        return blank(p, n, over, true);
    if (p[0] == '\'') {
        size_t short_form = tokens_contraction(p, n);

        if (short_form > 1)
            return short_form;
        if (short_form == 1 && !over)
            return 0;
    }
    if (!(SET(first) & WORD)) {
        if (size == n)
            return over ? size : 0;
        next = SET(class_at(p + size, &next_size));
        if (!(next & WORD)) {
            if (SET(first) & PUNCT || (p[0] == ' ' && next & PUNCT))
                return punctuation(p, n, size, over, '\n');
            return blank(p, n, over, true);
        }
    }
    i = run_lower(p, n, size, WORD);
    return i == n && !over ? 0 : i;
}
