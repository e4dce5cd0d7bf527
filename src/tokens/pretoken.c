/* Splits text into pieces by the vocabularies' patterns, without a regular expression at run time.
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
 * How a backtracking matcher reads a word of o200k_base: A* takes all it can. If a lower letter
 * follows, C+ has its character. If not, A* gives characters back until there is one: the last
 * letter or mark that is in both sets; the upper letters after it are a separate piece. Without
 * any, the second alternative takes the upper letters. A mark at the start may be the optional
 * first character or belong to A: the piece is the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens/internal.h"

/* A character: its class, and its bytes above that. */
#define CLASS(c) ((c)&7)
#define SIZE(c) ((size_t)(c) >> 3)

#define O (1 << 3 | TOKENS_OTHER)
#define S (1 << 3 | TOKENS_SPACE)
#define R (1 << 3 | TOKENS_NEWLINE)
#define N (1 << 3 | TOKENS_NUMBER)
#define U (1 << 3 | TOKENS_UPPER)
#define L (1 << 3 | TOKENS_LOWER)

static const uint8_t ascii[128] = {
    O, O, O, O, O, O, O, O, O, S, R, S, S, R, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    S, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, N, N, N, N, N, N, N, N, N, N, O, O, O, O, O, O,
    O, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, O, O, O, O, O,
    O, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, O, O, O, O, O,
};

/* The bytes before a word that may belong to it: SPACE and OTHER, but not the apostrophe. */
static const uint8_t leads[256] = {
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1,
    1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1,
    1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1,
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

static unsigned tokens_class_of_point(uint32_t point)
{
    uint32_t block = tokens_class_blocks[point >> TOKENS_POINT_BITS];
    uint32_t in = point & ((1U << TOKENS_POINT_BITS) - 1);

    return tokens_class_kinds[block << TOKENS_POINT_BITS | in];
}

static unsigned tokens_wide_char(const uint8_t *p)
{
    uint32_t low = p[1] & 0x3FU;

    if (p[0] < 0xE0)
        return 2 << 3 | tokens_class_of_point((p[0] & 0x1FU) << 6 | low);
    low = low << 6 | (p[2] & 0x3FU);
    if (p[0] < 0xF0)
        return 3 << 3 | tokens_class_of_point((p[0] & 0x0FU) << 12 | low);
    return 4 << 3 | tokens_class_of_point((p[0] & 0x07U) << 18 | low << 6 | (p[3] & 0x3FU));
}

static inline unsigned tokens_pretoken_char_at(const uint8_t *p)
{
    return *p < 0x80 ? ascii[*p] : tokens_wide_char(p);
}

static inline unsigned tokens_set_of(unsigned c)
{
    return SET(CLASS(c));
}

enum tokens_class tokens_class_at(const uint8_t *p, size_t *size)
{
    unsigned c = tokens_pretoken_char_at(p);

    *size = SIZE(c);
    return (enum tokens_class)CLASS(c);
}

/* The number of ASCII lower letters at the start of eight bytes. */
static inline size_t tokens_lower_of_8(uint64_t v)
{
    const uint64_t high = 0x8080808080808080U, ones = 0x0101010101010101U;
    uint64_t low7 = v & ~high;
    uint64_t from_a = low7 + (0x80 - 'a') * ones;
    uint64_t past_z = low7 + (0x80 - 'z' - 1) * ones;
    uint64_t other = ~(from_a & ~past_z & ~v) & high;

    return other ? (size_t)__builtin_ctzll(other) / 8 : 8;
}

static inline size_t tokens_spaces_of_8(uint64_t v)
{
    uint64_t other = v ^ 0x2020202020202020U;

    return other ? (size_t)__builtin_ctzll(other) / 8 : 8;
}

/* The end of the run of characters of a set that continues at i. */
static inline size_t tokens_pretoken_run(const uint8_t *p, size_t n, size_t i, unsigned set)
{
    while (i < n) {
        unsigned c = tokens_pretoken_char_at(p + i);

        if (!(tokens_set_of(c) & set))
            break;
        i += SIZE(c);
    }
    return i;
}

/* The same for sets with the lower letters in them, which are most of most texts. */
static inline size_t tokens_run_lower(const uint8_t *p, size_t n, size_t i, unsigned set)
{
    for (;;) {
        unsigned c;

        while (n - i >= 8) {
            size_t more = tokens_lower_of_8(tokens_load8(p + i));

            i += more;
            if (more < 8)
                break;
        }
        if (i == n)
            return i;
        c = tokens_pretoken_char_at(p + i);
        if (!(tokens_set_of(c) & set))
            return i;
        i += SIZE(c);
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
static inline size_t tokens_word_end(const uint8_t *p, size_t n, size_t i, bool over)
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
static size_t tokens_cased_word(const uint8_t *p, size_t n, size_t i, bool over)
{
    size_t both = 0; /* after the last character that is in A and C */

    assert(i < n);
    while (i < n) {
        unsigned c = tokens_pretoken_char_at(p + i);

        if (CLASS(c) == TOKENS_LOWER)
            return tokens_word_end(p, n, tokens_run_lower(p, n, i + SIZE(c), TAIL), over);
        if (!(tokens_set_of(c) & (BOTH | SET(TOKENS_UPPER))))
            break;
        i += SIZE(c);
        if (CLASS(c) != TOKENS_UPPER)
            both = i;
    }
    if (i == n && !over)
        return 0;
    return both && both < i ? both : tokens_word_end(p, n, i, over);
}

/* The end of punctuation that continues at i; includes its line ends and `tail`. */
static inline size_t tokens_pretoken_skip_punctuation(const uint8_t *p, size_t n, size_t i,
                                                      bool over, uint8_t tail)
{
    i = tokens_pretoken_run(p, n, i, PUNCT);
    while (i < n && (p[i] == '\r' || p[i] == '\n' || p[i] == tail))
        i++;
    return i == n && !over ? 0 : i;
}

static inline size_t tokens_pretoken_number(const uint8_t *p, size_t n, size_t i, bool over)
{
    for (int digits = 1; digits < 3; digits++) {
        unsigned c;

        if (i == n)
            return over ? i : 0;
        c = tokens_pretoken_char_at(p + i);
        if (CLASS(c) != TOKENS_NUMBER)
            break;
        i += SIZE(c);
    }
    return i;
}

/* White space whose first character begins no word and no punctuation. */
static size_t tokens_pretoken_skip_blank(const uint8_t *p, size_t n, bool over,
                                         bool end_takes_lines)
{
    size_t i = 0, line = 0, last = 0;

    assert(n > 0);
    while (i < n) {
        unsigned c = tokens_pretoken_char_at(p + i);

        if (!(tokens_set_of(c) & BLANK))
            break;
        if (p[i] == ' ' && n - i >= 8)
            i += tokens_spaces_of_8(tokens_load8(p + i)) - 1;
        last = i;
        i += SIZE(c);
        if (CLASS(c) == TOKENS_NEWLINE)
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

/* Most pieces of most texts: an ASCII character that may lead a word or none, some ASCII letters of
 * which at least one is lower, and then something in ASCII that ends the word in either pattern.
 * Found with few branches that could be guessed wrong; 0 says nothing. `fold` has the bits that
 * make upper letters lower ones. An apostrophe is left to others. */
static inline size_t tokens_plain_word(const uint8_t *p, size_t n, uint64_t fold)
{
    size_t from, letters;
    uint8_t behind;

    if (n < 10)
        return 0;
    from = leads[p[0]];
    letters = tokens_lower_of_8(tokens_load8(p + from) | fold);
    behind = p[from + letters];
    if (letters <= (p[from] < 'a') || letters == 8 || behind >= 0x80 || behind == '\'')
        return 0;
    return from + letters;
}

size_t tokens_split_o200k(const uint8_t *p, size_t n, bool over)
{
    size_t i = tokens_plain_word(p, n, 0x20);
    unsigned first, next;

    if (i)
        return i;
    first = tokens_pretoken_char_at(p);
    i = SIZE(first);
    if (tokens_set_of(first) & (WORD | SET(TOKENS_MARK)))
        return tokens_cased_word(p, n, 0, over);
    if (CLASS(first) == TOKENS_NUMBER)
        return tokens_pretoken_number(p, n, i, over);
    if (CLASS(first) == TOKENS_NEWLINE)
        return tokens_pretoken_skip_blank(p, n, over, false);
    if (i == n)
        return over ? i : 0;
    next = tokens_set_of(tokens_pretoken_char_at(p + i));
    if (next & (WORD | SET(TOKENS_MARK)))
        return tokens_cased_word(p, n, i, over);
    if (CLASS(first) == TOKENS_OTHER || (p[0] == ' ' && next & PUNCT))
        return tokens_pretoken_skip_punctuation(p, n, i, over, '/');
    return tokens_pretoken_skip_blank(p, n, over, false);
}

size_t tokens_split_cl100k(const uint8_t *p, size_t n, bool over)
{
    size_t i = tokens_plain_word(p, n, 0x2020202020202020U);
    unsigned first, next;

    if (i)
        return i;
    first = tokens_pretoken_char_at(p);
    i = SIZE(first);
    if (CLASS(first) == TOKENS_NUMBER)
        return tokens_pretoken_number(p, n, i, over);
    if (CLASS(first) == TOKENS_NEWLINE)
        return tokens_pretoken_skip_blank(p, n, over, true);
    if (p[0] == '\'') {
        size_t short_form = tokens_contraction(p, n);

        if (short_form > 1)
            return short_form;
        if (short_form == 1 && !over)
            return 0;
    }
    if (!(tokens_set_of(first) & WORD)) {
        if (i == n)
            return over ? i : 0;
        next = tokens_set_of(tokens_pretoken_char_at(p + i));
        if (!(next & WORD)) {
            if (tokens_set_of(first) & PUNCT || (p[0] == ' ' && next & PUNCT))
                return tokens_pretoken_skip_punctuation(p, n, i, over, '\n');
            return tokens_pretoken_skip_blank(p, n, over, true);
        }
    }
    i = tokens_run_lower(p, n, i, WORD);
    return i == n && !over ? 0 : i;
}
