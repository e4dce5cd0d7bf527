/* words.c - reading words, their keys, and sets of keys.
 *
 * Words of ASCII letters and digits, up to 15 bytes, never leave two registers: 16 bytes are
 * loaded, one comparison finds where the word ends, and setting bit 5 of every byte folds it
 * (digits have that bit). All other words go through words_read_any, character by character.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/words.h"

#include "base/simd.h"
#include "base/utf8.h"

#define WORDS_CHUNK 16
#define WORDS_WINDOW 64
#define WORDS_CODE_OTHER 37  /* the first of the codes of characters beyond ASCII */
#define WORDS_SLOT_BITS 13   /* of a new set */
#define WORDS_KEEP_BITS 17   /* a reset keeps a set of this size */
#define WORDS_RECENT_BITS 12 /* words in the cache of those that were added */
#define WORDS_RADIX_BITS 10  /* a quarter of a key */

/* 16 bytes of a folded word, the first byte lowest. */
struct words_chunk {
    uint64_t low, high;
};

/* Order preserving: the end of a word, digits, letters. Other characters share what is left. */
static const uint8_t words_codes[128] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['g'] = 17, ['h'] = 18, ['i'] = 19, ['j'] = 20, ['k'] = 21, ['l'] = 22, ['m'] = 23, ['n'] = 24,
    ['o'] = 25, ['p'] = 26, ['q'] = 27, ['r'] = 28, ['s'] = 29, ['t'] = 30, ['u'] = 31, ['v'] = 32,
    ['w'] = 33, ['x'] = 34, ['y'] = 35, ['z'] = 36,
};

static inline struct words_chunk words_chunk_load(const char *p)
{
    struct words_chunk c;

    memcpy(&c.low, p, 8);
    memcpy(&c.high, p + 8, 8);
    return (struct words_chunk){le64toh(c.low), le64toh(c.high)};
}

static inline void words_chunk_store(char *p, struct words_chunk c)
{
    c = (struct words_chunk){htole64(c.low), htole64(c.high)};
    memcpy(p, &c, sizeof c);
}

static inline uint64_t words_hash_chunk(uint64_t h, struct words_chunk c)
{
    h = (h ^ c.low) * UINT64_C(0x9E3779B97F4A7C15);
    h = ((h << 32 | h >> 32) ^ c.high) * UINT64_C(0xD6E8FEB86659FD93);
    return h;
}

static inline uint64_t words_hash_bits(uint64_t h)
{
    return h >> 48;
}

/* The codes of the first four characters of a word of ASCII. */
static inline uint64_t words_ascii_codes(uint64_t low)
{
    return (uint64_t)words_codes[low & 127] << 34 | (uint64_t)words_codes[low >> 8 & 127] << 28 |
           (uint64_t)words_codes[low >> 16 & 127] << 22 |
           (uint64_t)words_codes[low >> 24 & 127] << 16;
}

/* The codes of the first four characters, and how many characters there are, up to four. */
static uint64_t words_front_codes(str folded, unsigned *count)
{
    uint64_t key = 0;
    unsigned n = 0;

    for (size_t at = 0, size; at < folded.n && n < 4; at += size, n++) {
        uint32_t c = (unsigned char)folded.p[at];
        unsigned code;

        size = c < 128 ? 1 : utf8_decode(str_slice(folded, at, folded.n), &c);
        if (size == 0) {
            size = 1;
            c = UTF8_REPLACEMENT;
        }
        code = c < 128 ? words_codes[c] : WORDS_CODE_OTHER + c % (64 - WORDS_CODE_OTHER);
        key |= (uint64_t)code << (34 - 6 * n);
    }
    assert(n <= 4 && key <= WORDS_KEY_MAX);
    *count = n;
    return key;
}

/* `padded` has zeros up to the next multiple of 16. */
static uint64_t words_padded_key(const char *padded, size_t n)
{
    unsigned count;
    uint64_t h = 0;

    assert(n > 0 && n <= WORDS_SIZE_MAX);
    for (size_t i = 0; i < n; i += WORDS_CHUNK)
        h = words_hash_chunk(h, words_chunk_load(padded + i));
    return words_front_codes((str){padded, n}, &count) | words_hash_bits(h);
}

uint64_t words_key(str folded)
{
    char padded[WORDS_SIZE_MAX] = {0};
    size_t n = folded.n < sizeof padded ? folded.n : sizeof padded;

    memcpy(padded, folded.p, n);
    return words_padded_key(padded, n);
}

void words_front_range(str front, uint64_t *lo, uint64_t *hi)
{
    unsigned count;
    uint64_t key = words_front_codes(front, &count);

    *lo = key;
    *hi = key | WORDS_KEY_MAX >> 6 * count;
    assert(*lo <= *hi);
}

#if SIMD_HAS_16

/* A bit for each of the 16 bytes at p that is an ASCII letter or digit; *beyond: those that are not
 * ASCII. */
static inline uint32_t words_chunk_letters(const char *p, uint32_t *beyond)
{
    simd16 v = simd_load(p);

    *beyond = simd_high(v);
    return simd_bits(simd_or(simd_within(v, '0', '9'),
                             simd_or(simd_within(v, 'a', 'z'), simd_within(v, 'A', 'Z'))));
}

/* Folds the first n bytes, ASCII letters and digits, and drops the others. Words are short and long
 * in no order, so a branch on n would often be predicted wrong. */
static inline struct words_chunk words_chunk_fold(const char *p, unsigned n)
{
    static const uint64_t kept[2 * WORDS_CHUNK / 8] = {UINT64_MAX, UINT64_MAX};
    const uint64_t lower = UINT64_C(0x2020202020202020);
    struct words_chunk c = words_chunk_load(p);
    struct words_chunk mask = words_chunk_load((const char *)kept + WORDS_CHUNK - n);

    return (struct words_chunk){(c.low | lower) & mask.low, (c.high | lower) & mask.high};
}

#endif

/* The next character of the text, folded; `size` is its bytes. Bytes that are no character separate
 * words. */
static inline uint32_t words_fold_next(const char *at, const char *end, size_t *size)
{
    uint32_t c;

    *size = 1;
    if ((unsigned char)*at < 0x80)
        return words_fold((unsigned char)*at);
    *size = utf8_decode((str){at, (size_t)(end - at)}, &c);
    if (*size == 0) {
        *size = 1;
        return 0;
    }
    return words_fold(c);
}

static void words_read_put(struct words_reader *r, uint32_t c, bool *full)
{
    char bytes[UTF8_SIZE_MAX];
    size_t size = utf8_encode(c, bytes);

    assert(r->n <= WORDS_SIZE_MAX);
    if (r->n + size > WORDS_SIZE_MAX)
        *full = true;
    if (*full)
        return;
    memcpy(r->folded + r->n, bytes, size);
    r->n += size;
}

/* Reads the ASCII letters and digits of a word 16 at a time, while there is room for so many. */
static inline void words_read_ascii(struct words_reader *r)
{
#if SIMD_HAS_16
    unsigned n = WORDS_CHUNK;

    while (n == WORDS_CHUNK && r->end - r->at >= WORDS_CHUNK &&
           r->n + WORDS_CHUNK <= WORDS_SIZE_MAX) {
        uint32_t beyond, letters = words_chunk_letters(r->at, &beyond);
        struct words_chunk c;

        n = (unsigned)__builtin_ctz(~letters | 1u << WORDS_CHUNK);
        c = words_chunk_fold(r->at, n);
        words_chunk_store(r->folded + r->n, c);
        if (r->n == 0)
            r->start = r->at;
        r->at += n;
        r->n += n;
    }
#else
    (void)r;
#endif
}

/* Any word, most of it character by character. Marks before the first letter belong to no word. */
static NOINLINE bool words_read_any(struct words_reader *r)
{
    bool full = false;
    size_t size;

    r->n = 0;
    while (r->at < r->end) {
        uint32_t c;

        if ((unsigned char)*r->at < 0x80)
            words_read_ascii(r);
        if (r->at == r->end)
            break;
        c = words_fold_next(r->at, r->end, &size);
        if (c == 0 && r->n > 0)
            break;
        if (c != 0 && c != WORDS_MARK) {
            if (r->n == 0)
                r->start = r->at;
            words_read_put(r, c, &full);
        }
        r->at += size;
    }
    assert(r->n <= WORDS_SIZE_MAX);
    memset(r->folded + r->n, 0, WORDS_CHUNK);
    return r->n > 0;
}

void words_read_init(struct words_reader *r, str text)
{
    r->at = text.p;
    r->end = text.p + text.n;
    r->start = text.p;
    r->n = 0;
}

bool words_read(struct words_reader *r)
{
#if SIMD_HAS_16
    while (r->end - r->at >= WORDS_CHUNK) {
        uint32_t beyond, letters = words_chunk_letters(r->at, &beyond);
        unsigned n = (unsigned)__builtin_ctz(~letters | 1u << WORDS_CHUNK);

        if (n == 0 && !(beyond & 1)) {
            r->at += __builtin_ctz(letters | beyond | 1u << WORDS_CHUNK);
            continue;
        }
        if (n == WORDS_CHUNK || (beyond >> n & 1))
            break;
        words_chunk_store(r->folded, words_chunk_fold(r->at, n));
        r->start = r->at;
        r->at += n;
        r->n = n;
        return true;
    }
#endif
    return words_read_any(r);
}

void words_set_init(struct words_set *s)
{
    *s = (struct words_set){0};
}

void words_set_release(struct words_set *s)
{
    free(s->slots);
    free(s->keys);
    free(s->recent);
    words_set_init(s);
}

void words_set_reset(struct words_set *s)
{
    if (s->bits > WORDS_KEEP_BITS)
        words_set_release(s);
    if (s->n > 0) {
        memset(s->slots, 0, sizeof *s->slots << s->bits);
        memset(s->recent, 0, sizeof *s->recent << WORDS_RECENT_BITS);
    }
    s->n = 0;
}

static inline size_t words_set_slot(uint64_t key, size_t bits)
{
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - bits));
}

static inline bool words_set_put(struct words_set *s, uint64_t key)
{
    size_t at = words_set_slot(key, s->bits), mask = ((size_t)1 << s->bits) - 1;

    assert_slow(key != 0 && key <= WORDS_KEY_MAX); /* 0 is a free slot */
    while (s->slots[at] != key) {
        if (s->slots[at] == 0) {
            s->slots[at] = key;
            return true;
        }
        at = (at + 1) & mask;
    }
    return false;
}

/* A set is at most half full: s->keys has two places for each key. */
static NOINLINE void words_set_grow(struct words_set *s)
{
    if (!s->recent) {
        s->recent = base_alloc(sizeof *s->recent << WORDS_RECENT_BITS);
        memset(s->recent, 0, sizeof *s->recent << WORDS_RECENT_BITS);
    }
    s->bits = s->slots ? s->bits + 1 : WORDS_SLOT_BITS;
    free(s->slots);
    s->slots = base_alloc(sizeof *s->slots << s->bits);
    memset(s->slots, 0, sizeof *s->slots << s->bits);
    s->keys = base_realloc(s->keys, sizeof *s->keys << s->bits);
    for (size_t i = 0; i < s->n; i++)
        (void)words_set_put(s, s->keys[i]);
    assert(s->n * 2 < (size_t)1 << s->bits);
}

static inline void words_set_add(struct words_set *s, uint64_t key)
{
    if (!words_set_put(s, key))
        return;
    s->keys[s->n++] = key;
    if (s->n * 2 >= (size_t)1 << s->bits)
        words_set_grow(s);
}

#if SIMD_HAS_16

/* Most words of a block repeat: those that were added a short time ago need no key. */
static inline void words_set_add_chunk(struct words_set *s, struct words_chunk c)
{
    uint64_t h = words_hash_chunk(0, c);
    struct words_chunk *recent = &s->recent[h >> (64 - WORDS_RECENT_BITS)];

    if (recent->low == c.low && recent->high == c.high)
        return;
    *recent = c;
    words_set_add(s, words_ascii_codes(c.low) | words_hash_bits(h));
}

/* ASCII letters and digits of WORDS_WINDOW bytes, a bit each. */
static inline uint64_t words_window_letters(const char *p, uint64_t *beyond)
{
    uint64_t letters = 0;

    *beyond = 0;
    for (unsigned at = 0; at < WORDS_WINDOW; at += WORDS_CHUNK) {
        uint32_t high;

        letters |= (uint64_t)words_chunk_letters(p + at, &high) << at;
        *beyond |= (uint64_t)high << at;
    }
    return letters;
}

/* Adds the words of the window at p that end in it, up to the first one that only words_read_any
 * can read. Returns the first byte not looked at: p if that is the first word. The bytes of a chunk
 * after the window must be readable. */
static inline const char *words_set_add_window(struct words_set *s, const char *p)
{
    uint64_t beyond, letters = words_window_letters(p, &beyond), starts, ends;

    if (beyond) {
        /* Only the words before the last separator; the byte itself counts as a letter. */
        uint64_t first = beyond & -beyond;

        letters = (letters & (first - 1)) | -first;
    }
    starts = letters & ~(letters << 1);
    ends = ~letters & letters << 1;
    while (ends) {
        unsigned start = (unsigned)__builtin_ctzll(starts), end = (unsigned)__builtin_ctzll(ends);
        struct words_chunk c;

        if (end - start >= WORDS_CHUNK)
            return p + start;
        c = words_chunk_fold(p + start, end - start);
        words_set_add_chunk(s, c);
        starts &= starts - 1;
        ends &= ends - 1;
    }
    return p + (starts ? (unsigned)__builtin_ctzll(starts) : WORDS_WINDOW);
}

#endif

/* Adds the words up to the first one that only words_read_any can read. `room` bytes after the
 * end of the text are readable and separate words; without them the last windows are left. */
static void words_set_add_windows(struct words_set *s, struct words_reader *r, ptrdiff_t room)
{
#if SIMD_HAS_16
    const char *at = NULL;

    while (at != r->at && r->at < r->end && r->end - r->at + room >= WORDS_WINDOW + WORDS_CHUNK) {
        at = r->at;
        r->at = words_set_add_window(s, at);
    }
#else
    (void)s;
    (void)r;
    (void)room;
#endif
}

void words_set_add_text(struct words_set *s, str text)
{
    char padded[2 * (WORDS_WINDOW + WORDS_CHUNK)] = {0};
    ptrdiff_t room = 0;
    struct words_reader r;

    words_read_init(&r, text);
    if (!s->slots)
        words_set_grow(s);
    for (;;) {
        words_set_add_windows(s, &r, room);
        if (room == 0 && r.end - r.at < WORDS_WINDOW + WORDS_CHUNK) {
            size_t left = (size_t)(r.end - r.at);

            assert(left < sizeof padded);
            if (left > 0)
                memcpy(padded, r.at, left);
            words_read_init(&r, (str){padded, left});
            room = (ptrdiff_t)(sizeof padded - left);
            continue;
        }
        if (!words_read_any(&r))
            return;
        words_set_add(s, words_padded_key(r.folded, r.n));
    }
}

static bool words_set_is_sorted(const struct words_set *s)
{
    for (size_t i = 1; i < s->n; i++)
        if (s->keys[i - 1] >= s->keys[i])
            return false;
    return true;
}

/* A radix sort from the lowest digit to the highest, between the two halves of s->keys: after four
 * passes the result is in the first half. */
const uint64_t *words_set_sorted(struct words_set *s, size_t *n)
{
    const size_t digits = (size_t)1 << WORDS_RADIX_BITS;
    uint64_t *from = s->keys, *to = s->keys + s->n;

    assert(s->n == 0 || s->n * 2 < (size_t)1 << s->bits); /* room for both halves */
    *n = s->n;
    for (unsigned shift = 0; shift < 40 && s->n > 0; shift += WORDS_RADIX_BITS) {
        uint32_t place[1 << WORDS_RADIX_BITS] = {0}, sum = 0;
        uint64_t *swap = from;

        for (size_t i = 0; i < s->n; i++)
            place[from[i] >> shift & (digits - 1)]++;
        for (size_t d = 0; d < digits; d++) {
            uint32_t count = place[d];

            place[d] = sum;
            sum += count;
        }
        for (size_t i = 0; i < s->n; i++)
            to[place[from[i] >> shift & (digits - 1)]++] = from[i];
        from = to;
        to = swap;
    }
    assert_slow(words_set_is_sorted(s));
    return s->keys;
}

static bool words_is_inner(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
}

/* A part of the greatest size is the beginning of words that were cut. */
static bool words_is_at(const char *p, const struct words_part *part, bool front)
{
    return memcmp(p, part->folded, part->n) == 0 && !words_is_inner(p[-1]) &&
           (front || part->n == WORDS_SIZE_MAX || !words_is_inner(p[part->n]));
}

bool words_lower_has(str lower, const struct words_part *part, bool front)
{
    const char *p = lower.p, *end = lower.p + lower.n;

    assert(part->n > 0 && part->n <= WORDS_SIZE_MAX);
#if SIMD_HAS_16
    for (; p < end; p += WORDS_CHUNK) {
        simd16 firsts = simd_eq(simd_load(p), part->folded[0]);
        simd16 lasts = simd_eq(simd_load(p + part->n - 1), part->folded[part->n - 1]);
        uint32_t both = simd_bits(simd_and(firsts, lasts));

        for (; both; both &= both - 1)
            if (words_is_at(p + __builtin_ctz(both), part, front))
                return true;
    }
#else
    while ((p = memmem(p, (size_t)(end - p), part->folded, part->n))) {
        if (words_is_at(p, part, front))
            return true;
        p++;
    }
#endif
    return false;
}

bool words_copy_lower(char *to, str from)
{
    unsigned char all = 0;

    for (size_t i = 0; i < from.n; i++) {
        unsigned char c = (unsigned char)from.p[i];

        all |= c;
        to[i] = (char)(c + ((unsigned char)(c - 'A') < 26) * ('a' - 'A'));
    }
    return all < 128;
}
