/* Cuts 64 bytes of text into pieces at once, and counts them.
 *
 * The splitter in pretoken.c branches on the class of every character, which no processor can
 * predict. Here a byte is a bit in a set, and a few operations on sets apply the patterns to all 64
 * bytes without a branch. In ASCII the patterns amount to the following rules; the first byte
 * begins a piece, and nothing else is known of the text before it.
 *
 *   - The tail of punctuation is the line ends right after it, in o200k_base with the slashes among
 *     and after them. A new piece follows, so these slashes are not punctuation.
 *   - A contraction belongs to the word before it (o200k_base), or is a piece where a piece begins
 *     with it (cl100k_base). From then on its bytes count as lower letters; a new piece follows.
 *   - The remaining white space is one piece up to its last line end. Of the blanks after that, the
 *     last one begins a piece, whatever follows, and the others are one piece.
 *   - Punctuation begins a piece, or with the space right before it. If it is one character without
 *     a space before it, and a letter follows, it leads a word.
 *   - Letters begin a piece, or with the blank or the leading punctuation before them. In
 *     o200k_base, an upper letter after a lower one begins a piece.
 *   - Numbers begin a piece, and again after every three digits.
 *
 * The same applies to upper and lower letters and punctuation of other scripts. A character that is
 * anything else, as Chinese or a combining mark, ends the block.
 *
 * A piece whose end depends on text after the block is left to the caller: white space up to the
 * end of the block, or a contraction that may be incomplete. All other beginnings depend only on
 * the text before them and on the character itself.
 *
 * Pieces are counted right away, in order: a word of up to eight bytes is a number, and one look at
 * its bucket shows that it is a token.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens/internal.h"

#define PART_MIN 16 /* bytes that justify a separate block */

/* A piece that no block tells of; 0 if its end is not decided. */
static size_t tokens_count_one(struct tokens_work *w, const uint8_t *p, size_t n)
{
    size_t size = w->vocab->split(p, n, w->over);

    assert(size <= n);
    if (size > 0)
        w->count += tokens_piece_count(w->vocab->table, (struct tokens_piece){p, size, n});
    return size;
}

#if SIMD_HAS_16

/* Each instruction set has its own instance of the functions that are called for each block. */
#define IN_EACH static inline __attribute__((always_inline))

static inline size_t tokens_last_bit(uint64_t set)
{
    return 63 - (size_t)__builtin_clzll(set);
}

/* Turns eight bytes into tokens_word of a shorter piece, by its size. */
static const struct {
    uint64_t keep[9], tag[9];
} by_size = {
#define KEEP(size) UINT64_MAX >> (64 - 8 * (size))
    {0, KEEP(1), KEEP(2), KEEP(3), KEEP(4), KEEP(5), KEEP(6), KEEP(7), UINT64_MAX},
#undef KEEP
#define TAG(size) (uint64_t)(0xF8 + (size)) << 56
    {0, TAG(1), TAG(2), TAG(3), TAG(4), TAG(5), TAG(6), TAG(7), 0},
#undef TAG
};

/* How many tokens but one a piece has that is no short word, or of which eight bytes cannot be
 * read. */
static NOINLINE size_t rare_more(const struct tokens_work *w, const uint8_t *p, size_t n,
                                 size_t room)
{
    struct tokens_piece x = {p, n, room};

    assert(n > 0 && n <= room);
    if (room >= 8)
        return tokens_rare_count(w->vocab->table, &x) - 1;
    return tokens_piece_count(w->vocab->table, x) - 1;
}

/* How many tokens the pieces have that end there. `far` says that eight bytes can be read from each
 * on. */
IN_EACH size_t words_by(const struct tokens_work *w, const uint8_t *p, size_t n, uint64_t ends,
                        bool far)
{
    const struct tokens_table *t = w->vocab->table;
    const struct tokens_bucket *shorts = t->shorts;
    uint64_t mask = tokens_short_mask(t->bits);
    const uint8_t *safe = p + n - 8, *from = p;
    size_t count = (size_t)__builtin_popcountll(ends);

    for (; ends; ends &= ends - 1) {
        const uint8_t *end = p + __builtin_ctzll(ends), *at = from;
        size_t size = (size_t)(end - at);

        from = end;
        if (size <= 8 && (far || at <= safe)) {
            uint64_t word = (tokens_load8(at) & by_size.keep[size]) | by_size.tag[size];
            const struct tokens_bucket *b = tokens_bucket_at(shorts, tokens_short_at(word, mask));

            if (b->word[0] == word || tokens_bucket_has(b, word))
                continue;
        }
        count += rare_more(w, at, size, (size_t)(safe + 8 - at));
    }
    return count;
}

typedef size_t words_fn(const struct tokens_work *w, const uint8_t *p, size_t n, uint64_t ends);

static NOINLINE size_t words_16(const struct tokens_work *w, const uint8_t *p, size_t n,
                                uint64_t ends)
{
    return n >= TOKENS_BLOCK + 8 ? words_by(w, p, n, ends, true) : words_by(w, p, n, ends, false);
}

#if SIMD_HAS_32

SIMD_AVX2 static NOINLINE size_t words_32(const struct tokens_work *w, const uint8_t *p, size_t n,
                                          uint64_t ends)
{
    return n >= TOKENS_BLOCK + 8 ? words_by(w, p, n, ends, true) : words_by(w, p, n, ends, false);
}

#endif

/* The class of each byte. */
struct sets {
    uint64_t upper, lower, digit, space, blank, line, slash, quote;
    uint64_t wide;  /* the first bytes of characters that are not ASCII */
    uint64_t inner; /* the other bytes of those that are punctuation */
    uint64_t known; /* the bytes before the end of the block */
};

/* Sorts 64 bytes. */
typedef void sets_fn(struct sets *s, const uint8_t *p);

static inline simd16 tokens_block_between(simd16 v, int first, int last)
{
    return simd_and(simd_from(v, first), simd_below(v, last + 1));
}

IN_EACH void sets_add_16(struct sets *s, const uint8_t *p, unsigned at)
{
    simd16 v = simd_load((const char *)p + at);
    simd16 line = simd_or(simd_eq(v, '\n'), simd_eq(v, '\r'));
    simd16 space = simd_eq(v, ' ');

    s->upper |= (uint64_t)simd_bits(tokens_block_between(v, 'A', 'Z')) << at;
    s->lower |= (uint64_t)simd_bits(tokens_block_between(v, 'a', 'z')) << at;
    s->digit |= (uint64_t)simd_bits(tokens_block_between(v, '0', '9')) << at;
    s->space |= (uint64_t)simd_bits(space) << at;
    s->line |= (uint64_t)simd_bits(line) << at;
    s->blank |=
        (uint64_t)simd_bits(simd_or(space, simd_andnot(tokens_block_between(v, '\t', '\r'), line)))
        << at;
    s->slash |= (uint64_t)simd_bits(simd_eq(v, '/')) << at;
    s->quote |= (uint64_t)simd_bits(simd_eq(v, '\'')) << at;
    s->wide |= (uint64_t)simd_bits(simd_from(v, 0xC0)) << at;
}

IN_EACH void sets_of_16(struct sets *s, const uint8_t *p)
{
    for (unsigned at = 0; at < TOKENS_BLOCK; at += 16)
        sets_add_16(s, p, at);
}

#if SIMD_HAS_32

/* The class of a byte as bits: the intersection of the classes of its halves. Letters are in two
 * rows each, told apart by how far the row is filled; upper and lower ones differ in a bit of the
 * byte. */
enum kind {
    ROW_TO_O = 128, /* @ is none */
    ROW_TO_Z = 64,
    DIGIT = 32,
    SPACE = 16,
    LINE = 8,
    BLANK = 4, /* but the space */
    SLASH = 2,
    QUOTE = 1,
};

static const uint8_t by_high[16] = {
    LINE | BLANK,
    0,
    SPACE | SLASH | QUOTE,
    DIGIT,
    ROW_TO_O,
    ROW_TO_Z,
    ROW_TO_O,
    ROW_TO_Z,
};

#define LETTERS (ROW_TO_O | ROW_TO_Z)

static const uint8_t by_low[16] = {
    ROW_TO_Z | DIGIT | SPACE,
    LETTERS | DIGIT,
    LETTERS | DIGIT,
    LETTERS | DIGIT,
    LETTERS | DIGIT,
    LETTERS | DIGIT,
    LETTERS | DIGIT,
    LETTERS | DIGIT | QUOTE,
    LETTERS | DIGIT,
    LETTERS | DIGIT | BLANK,
    LETTERS | LINE,
    ROW_TO_O | BLANK,
    ROW_TO_O | BLANK,
    ROW_TO_O | LINE,
    ROW_TO_O,
    ROW_TO_O | SLASH,
};

#undef LETTERS

SIMD_AVX2 static inline __m256i load_32(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

SIMD_AVX2 static inline __m256i look_up(const uint8_t table[16], __m256i nibbles)
{
    __m128i t = _mm_loadu_si128((const __m128i *)(const void *)table);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(t), nibbles);
}

/* The top bits of all bytes of the two, once each is moved up. */
SIMD_AVX2 static inline uint64_t tokens_block_collect_top_bits(__m256i low, __m256i high, int up)
{
    low = _mm256_slli_epi16(low, up);
    high = _mm256_slli_epi16(high, up);
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

/* A byte that is not ASCII finds nothing in the table. */
SIMD_AVX2 static inline __m256i kinds_32(__m256i v)
{
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(0xF));

    return _mm256_and_si256(look_up(by_low, v), look_up(by_high, high));
}

SIMD_AVX2 static inline void sets_of_32(struct sets *s, const uint8_t *p)
{
    __m256i a = load_32(p), b = load_32(p + 32);
    __m256i ka = kinds_32(a), kb = kinds_32(b);
    uint64_t letter = tokens_block_collect_top_bits(ka, kb, 0) |
                      tokens_block_collect_top_bits(ka, kb, 1),
             lower = tokens_block_collect_top_bits(a, b, 2);

    s->upper = letter & ~lower;
    s->lower = letter & lower;
    s->digit = tokens_block_collect_top_bits(ka, kb, 2);
    s->space = tokens_block_collect_top_bits(ka, kb, 3);
    s->line = tokens_block_collect_top_bits(ka, kb, 4);
    s->blank = s->space | tokens_block_collect_top_bits(ka, kb, 5);
    s->slash = tokens_block_collect_top_bits(ka, kb, 6);
    s->quote = tokens_block_collect_top_bits(ka, kb, 7);
    s->wide = tokens_block_collect_top_bits(a, b, 0) & tokens_block_collect_top_bits(a, b, 1);
}

#endif

/* Classifies characters that are not ASCII, if they are complete. */
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

/* `from`, some of `set`, and all that follow it there without a gap: a carry runs through them. */
IN_EACH uint64_t fill_up(uint64_t from, uint64_t set)
{
    return (set & ~(set + from)) | from;
}

/* The same for all that lead to it. */
static uint64_t tokens_fill_down(uint64_t from, uint64_t set)
{
    for (int by = 1; by < TOKENS_BLOCK; by *= 2) {
        from |= from >> by & set;
        set &= set >> by;
    }
    return from;
}

/* Makes letters of the contractions that begin at one of the quotes. Returns where pieces begin
 * for it. */
static uint64_t tokens_block_join_contractions(struct sets *s, uint64_t quotes, const uint8_t *p,
                                               bool cased)
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
IN_EACH uint64_t last_bytes(const struct sets *s, uint64_t first)
{
    for (int i = 1; s->inner && i < 4; i++)
        first = (first << 1 & s->inner) | (first & ~(s->inner >> 1));
    return first;
}

/* A bit for each byte where a piece begins as far as the sets tell; some are not certain. */
IN_EACH uint64_t tokens_block_find_begins(struct sets *s, const uint8_t *p, bool cased)
{
    uint64_t other = ~(s->upper | s->lower | s->digit | s->blank | s->line);
    uint64_t tail = fill_up(s->line & other << 1, cased ? s->line | s->slash : s->line);
    uint64_t quotes, letter, punct, lead, white, last, all;

    other &= ~tail;
    s->line &= ~tail;
    quotes = s->quote & other & ~(other << 1) & s->known;
    quotes &= cased ? (s->upper | s->lower) << 1 : ~(s->space << 1);
    all = 0;
    if (quotes) {
        struct sets with = *s; /* a copy, so that the sets may stay in registers */

        all = tokens_block_join_contractions(&with, quotes, p, cased);
        *s = with;
    }
    letter = s->upper | s->lower;
    other &= ~letter;

    punct = other & ~(other << 1) & ~(s->space << 1);
    lead = (s->blank | last_bytes(s, punct)) & letter >> 1;
    all |= punct | (letter & ~(letter << 1) & ~(lead << 1));
    if (cased)
        all |= s->upper & s->lower << 1;

    white = s->blank | s->line;
    last = s->blank;
    if (s->blank & s->line >> 1)
        last &= ~tokens_fill_down(s->blank & s->line >> 1, s->blank);
    all |= (white & ~(white << 1)) | (last & ~(last << 1)) | (last & ~(last >> 1));

    for (uint64_t three = s->digit & ~(s->digit << 1); three;
         three = three << 3 & s->digit & s->digit << 1 & s->digit << 2)
        all |= three;
    return all & s->known;
}

/* Whether a script without upper and lower letters is near: the block would soon end. By their
 * first bytes, these are Hebrew to Tibetan but Georgian, and Chinese, Japanese, Korean. */
IN_EACH bool tokens_block_has_caseless(const uint8_t *p)
{
    simd16 v = simd_load((const char *)p);

    return simd_high(v) && simd_bits(simd_or(tokens_block_between(v, 0xD7, 0xE0),
                                             tokens_block_between(v, 0xE3, 0xEF)));
}

/* The same as tokens_ends for a block whose sets have only its ASCII characters. */
IN_EACH uint64_t ends_of(struct sets *s, const uint8_t *p, bool cased)
{
    uint64_t all, sure;

    if (s->wide) {
        struct sets with = *s;

        sets_add_wide(&with, p);
        *s = with;
    }
    all = tokens_block_find_begins(s, p, cased);
    /* White space at the end of the known text: only its beginning is certain. */
    sure = s->known & ~(s->blank | s->line);
    if (!sure)
        return 0;
    sure = UINT64_MAX >> __builtin_clzll(sure);
    return all & (sure << 1 | 1) & ~(uint64_t)1;
}

/* The block at p, if it is complete, or a zero-padded copy. */
IN_EACH const uint8_t *block_at(const uint8_t *p, size_t n, uint8_t copy[TOKENS_BLOCK])
{
    if (n >= TOKENS_BLOCK)
        return p;
    memset(copy, 0, TOKENS_BLOCK);
    memcpy(copy, p, n);
    return copy;
}

IN_EACH uint64_t known_of(size_t n)
{
    return n >= TOKENS_BLOCK ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}

IN_EACH uint64_t ends_by(const uint8_t *p, size_t n, bool cased, sets_fn *sets_at)
{
    struct sets s = {.known = known_of(n)};
    uint8_t copy[TOKENS_BLOCK];

    if (n < PART_MIN)
        return 0;
    p = block_at(p, n, copy);
    sets_at(&s, p);
    if (s.wide && tokens_block_has_caseless(p))
        return 0;
    return ends_of(&s, p, cased);
}

IN_EACH size_t count_by(struct tokens_work *w, const uint8_t *p, size_t n, sets_fn *sets_at,
                        words_fn *words)
{
    size_t at = 0, size = 1;

    while (at < n && size > 0) {
        uint64_t ends = ends_by(p + at, n - at, w->vocab->cased, sets_at);

        if (ends) {
            w->count += words(w, p + at, n - at, ends);
            size = tokens_last_bit(ends);
        } else {
            size = tokens_count_one(w, p + at, n - at);
        }
        at += size;
    }
    return at;
}

static uint64_t tokens_ends_16(const uint8_t *p, size_t n, bool cased)
{
    return ends_by(p, n, cased, sets_of_16);
}

static size_t tokens_count_16(struct tokens_work *w, const uint8_t *p, size_t n)
{
    return count_by(w, p, n, sets_of_16, words_16);
}

#endif

#if SIMD_HAS_32

SIMD_AVX2 static uint64_t ends_32(const uint8_t *p, size_t n, bool cased)
{
    return ends_by(p, n, cased, sets_of_32);
}

SIMD_AVX2 static size_t count_32(struct tokens_work *w, const uint8_t *p, size_t n)
{
    return count_by(w, p, n, sets_of_32, words_32);
}

#endif

static size_t tokens_count_plain(struct tokens_work *w, const uint8_t *p, size_t n)
{
    size_t at = 0, size = 1;

    for (; at < n && size > 0; at += size)
        size = tokens_count_one(w, p + at, n - at);
    return at;
}

uint64_t tokens_ends(const uint8_t *p, size_t n, bool cased, enum simd_level level)
{
#if SIMD_HAS_32
    if (level >= SIMD_32)
        return ends_32(p, n, cased);
#endif
#if SIMD_HAS_16
    if (level >= SIMD_16)
        return tokens_ends_16(p, n, cased);
#endif
    (void)p, (void)n, (void)cased, (void)level;
    return 0;
}

size_t tokens_work(struct tokens_work *w, const uint8_t *p, size_t n, enum simd_level level)
{
    if (n < PART_MIN)
        return tokens_count_plain(w, p, n);
#if SIMD_HAS_32
    if (level >= SIMD_32)
        return count_32(w, p, n);
#endif
#if SIMD_HAS_16
    if (level >= SIMD_16)
        return tokens_count_16(w, p, n);
#endif
    (void)level;
    return tokens_count_plain(w, p, n);
}
