/* 64 bytes of text cut into pieces at once.
 *
 * The splitter in pretoken.c asks of every character what it is and goes where that leads, which no
 * processor can guess. Here a byte is a bit in a set, and what the patterns say is said of all 64
 * with a few operations on sets, without a branch. In ASCII the patterns come to this; the first
 * byte begins a piece, which is all that is known of what stands before.
 *
 *   - The tail of punctuation is the line ends right behind it, in o200k_base with the slashes
 *     among and behind them. What follows begins anew, so these slashes are no punctuation.
 *   - A contraction belongs to the word before it (o200k_base), or is a piece where a piece begins
 *     with it (cl100k_base). From then on its bytes count as lower letters; what follows begins a
 *     piece.
 *   - White space (what is left of it) is one piece up to its last line end. Of the blanks behind
 *     that the last one begins a piece, whatever follows, and the others are one.
 *   - Punctuation begins a piece, or with the space right before it. If it is one character, no
 *     space stands before it and a letter follows, then it leads a word.
 *   - Letters begin a piece, or with the blank or the leading punctuation before them. In
 *     o200k_base, an upper letter behind a lower one begins a piece.
 *   - Numbers begin a piece, and again after every three digits.
 *
 * The same goes for upper and lower letters and punctuation of other scripts. A character that is
 * anything else, as Chinese or a combining mark, ends the block.
 *
 * A piece whose end depends on what is behind the block is left to the caller: white space up to
 * the end of the block, or a contraction that may be cut short. All other beginnings depend on what
 * stands before them and on the character itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/simd.h"
#include "tokens/internal.h"

#if SIMD_HAS_16

/* Which of the bytes are what. */
struct sets {
    uint64_t upper, lower, digit, space, blank, line, slash, quote;
    uint64_t wide;  /* the first bytes of characters that are not ASCII */
    uint64_t inner; /* the other bytes of those that are punctuation */
    uint64_t known; /* the bytes before the end of the block */
};

static inline simd16 between(simd16 v, int first, int last)
{
    return simd_and(simd_from(v, first), simd_below(v, last + 1));
}

static inline void sets_add(struct sets *s, const uint8_t *p, unsigned at)
{
    simd16 v = simd_load((const char *)p + at);
    simd16 line = simd_or(simd_eq(v, '\n'), simd_eq(v, '\r'));
    simd16 space = simd_eq(v, ' ');

    s->upper |= (uint64_t)simd_bits(between(v, 'A', 'Z')) << at;
    s->lower |= (uint64_t)simd_bits(between(v, 'a', 'z')) << at;
    s->digit |= (uint64_t)simd_bits(between(v, '0', '9')) << at;
    s->space |= (uint64_t)simd_bits(space) << at;
    s->line |= (uint64_t)simd_bits(line) << at;
    s->blank |= (uint64_t)simd_bits(simd_or(space, simd_andnot(between(v, '\t', '\r'), line)))
                << at;
    s->slash |= (uint64_t)simd_bits(simd_eq(v, '/')) << at;
    s->quote |= (uint64_t)simd_bits(simd_eq(v, '\'')) << at;
    s->wide |= (uint64_t)simd_bits(simd_from(v, 0xC0)) << at;
}

/* Sorts in what is not ASCII, as far as it can be. */
static void sets_add_wide(struct sets *s, const uint8_t *p)
{
    for (uint64_t wide = s->wide; wide; wide &= wide - 1) {
        unsigned at = (unsigned)__builtin_ctzll(wide);
        uint64_t here = (uint64_t)1 << at, bytes;
        size_t size = p[at] < 0xE0 ? 2 : p[at] < 0xF0 ? 3 : 4;
        enum tokens_class class = TOKENS_MARK;

        if (at + size < TOKENS_BLOCK)
            class = tokens_class_at(p + at, &size);
        bytes = (here << size) - here;
        if (class == TOKENS_UPPER) {
            s->upper |= bytes;
        } else if (class == TOKENS_LOWER) {
            s->lower |= bytes;
        } else if (class == TOKENS_OTHER) {
            s->inner |= bytes - here;
        } else {
            s->known = here - 1;
            return;
        }
    }
}

/* `from` and all that follow it without a gap in `set`. */
static inline uint64_t fill_up(uint64_t from, uint64_t set)
{
    for (int by = 1; by < TOKENS_BLOCK; by *= 2) {
        from |= from << by & set;
        set &= set << by;
    }
    return from;
}

/* The same for all that lead to it. */
static inline uint64_t fill_down(uint64_t from, uint64_t set)
{
    for (int by = 1; by < TOKENS_BLOCK; by *= 2) {
        from |= from >> by & set;
        set &= set >> by;
    }
    return from;
}

/* Makes letters of the contractions that begin at one of the quotes. Returns where pieces begin
 * for it. */
static uint64_t contractions(struct sets *s, uint64_t quotes, const uint8_t *p, bool cased)
{
    uint64_t begins = 0;

    for (; quotes; quotes &= quotes - 1) {
        unsigned at = (unsigned)__builtin_ctzll(quotes);
        uint64_t here = (uint64_t)1 << at;
        size_t size;

        if (begins & here && cased)
            continue; /* a word has but one */
        if (!(s->known & here << 3)) {
            s->known &= here - 1;
            break;
        }
        size = tokens_contraction(p + at, 3);
        if (size == 0)
            continue;
        s->lower |= ((here << size) - here);
        s->upper &= ~((here << size) - here);
        begins |= here << size | (cased ? 0 : here);
    }
    return begins;
}

/* The last bytes of the characters that begin there. */
static inline uint64_t last_bytes(const struct sets *s, uint64_t first)
{
    for (int i = 1; s->inner && i < 4; i++)
        first = (first << 1 & s->inner) | (first & ~(s->inner >> 1));
    return first;
}

/* Where pieces begin, of all that is known; not all of it is certain. */
static inline uint64_t begins(struct sets *s, const uint8_t *p, bool cased)
{
    uint64_t other = ~(s->upper | s->lower | s->digit | s->blank | s->line);
    uint64_t tail = fill_up(s->line & other << 1, cased ? s->line | s->slash : s->line);
    uint64_t quotes, letter, punct, lead, white, last, all;

    other &= ~tail;
    s->line &= ~tail;
    quotes = s->quote & other & ~(other << 1) & s->known;
    quotes &= cased ? (s->upper | s->lower) << 1 : ~(s->space << 1);
    all = quotes ? contractions(s, quotes, p, cased) : 0;
    letter = s->upper | s->lower;
    other &= ~letter;

    punct = other & ~(other << 1) & ~(s->space << 1);
    lead = (s->blank | last_bytes(s, punct)) & letter >> 1;
    all |= punct | (letter & ~(letter << 1) & ~(lead << 1));
    if (cased)
        all |= s->upper & s->lower << 1;

    white = s->blank | s->line;
    last = s->blank & ~fill_down(s->blank & s->line >> 1, s->blank);
    all |= (white & ~(white << 1)) | (last & ~(last << 1)) | (last & ~(last >> 1));

    for (uint64_t three = s->digit & ~(s->digit << 1); three;
         three = three << 3 & s->digit & s->digit << 1 & s->digit << 2)
        all |= three;
    return all & s->known;
}

/* Whether a script without upper and lower letters is near: the block would soon end. By their
 * first bytes, these are Hebrew to Tibetan but Georgian, and Chinese, Japanese, Korean. */
static inline bool caseless(const uint8_t *p)
{
    simd16 v = simd_load((const char *)p);

    return simd_bits(simd_or(between(v, 0xD7, 0xE0), between(v, 0xE3, 0xEF)));
}

uint64_t tokens_ends(const uint8_t *p, size_t n, bool cased)
{
    struct sets s = {.known = UINT64_MAX};
    uint64_t all, sure;

    if (n < TOKENS_BLOCK || caseless(p))
        return 0;
    for (unsigned at = 0; at < TOKENS_BLOCK; at += 16)
        sets_add(&s, p, at);
    if (s.wide)
        sets_add_wide(&s, p);
    all = begins(&s, p, cased);
    /* White space at the end of what is known: only where it begins is certain. */
    sure = s.known & ~(s.blank | s.line);
    if (!sure)
        return 0;
    sure = UINT64_MAX >> __builtin_clzll(sure);
    return all & (sure << 1 | 1) & ~(uint64_t)1;
}

#else

uint64_t tokens_ends(const uint8_t *p, size_t n, bool cased)
{
    (void)p, (void)n, (void)cased;
    return 0;
}

#endif
