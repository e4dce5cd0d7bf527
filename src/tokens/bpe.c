/* Merges a piece into tokens, by the ranks.
 *
 * The rule: begin with single bytes; of all neighbours that together are a token, merge those with
 * the lowest rank, of equals the leftmost; until there are none. Done literally, this is quadratic,
 * so it is only done for short pieces. For longer ones, two facts help (for any ranks):
 *
 * 1. Between two places where the result is cut, merging proceeded as if nothing else existed: the
 *    lowest rank of all is also the lowest there. So each token is what its own bytes merge into,
 *    the last step of that is always the same pair, and neighbours in a result are *compatible*:
 *    the bytes of the two merge into just these two.
 * 2. The other way round: tokens of which all neighbours are compatible are the result. Otherwise
 *    take the first merge across a cut. Until then both neighbours have taken the steps that they
 *    take when alone, in the same order, so that merge would also come when the two are alone.
 *
 * So the last token of a prefix is the only token that ends there and is compatible with the last
 * token of the prefix before it. That needs a look at the tokens that end at one place, and at no
 * more than TOKENS_SIZE_MAX bytes before it: linear time, and a window instead of the whole piece.
 * It also yields the count of every prefix, which a counter needs.
 *
 * Compatible: on the way to the tokens x and y, their ends at the cut were first single bytes, then
 * halves, then halves of which those were halves. The packer has checked that a token ranks after
 * its halves, so steps come in the order of their ranks and can be walked back: undo the one of the
 * higher rank, of equals the right one, which came last. Two ends at the cut would have merged if
 * that merge ranks before the step that made the left one larger, and not after the step that made
 * the right one larger (of equals, the leftmost).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens/internal.h"

#define NEVER UINT32_MAX /* ranks after every token */

/* How many bytes are merged by the rule itself, which is quicker while they are few. */
#define SHORT_BITS 6
#define SHORT_MAX (1 << SHORT_BITS)

_Static_assert(TOKENS_WINDOW_MAX > TOKENS_SIZE_MAX && TOKENS_WINDOW_MAX <= UINT16_MAX, "window");

/* How many tokens a new byte is tried to be joined with before all else. */
#define JOINED_MAX 2

/* Up to eight bytes are compared as the number they make; the table has room after its last
 * token. */
static inline bool tokens_same_bytes(const uint8_t *token, const uint8_t *p, size_t n,
                                     uint64_t word)
{
    if (n <= 8)
        return tokens_word(token, n, 8) == word;
    if (n <= 16)
        return tokens_load8(token) == tokens_load8(p) &&
               tokens_load8(token + n - 8) == tokens_load8(p + n - 8);
    return memcmp(token, p, n) == 0;
}

/* The token of these bytes if it is in `words`, or NEVER. `word` is the result of tokens_word for a
 * short text. */
static inline uint32_t tokens_words_find(const struct tokens_table *t, const uint8_t *p, size_t n,
                                         uint64_t word, uint64_t hash)
{
    uint32_t mark = tokens_slot(hash, 0);

    for (size_t at = tokens_word_at(hash, t->bits);; at = (at + 1) & (((size_t)1 << t->bits) - 1)) {
        uint32_t slot = t->words[at];

        if (slot == TOKENS_EMPTY)
            return NEVER;
        if ((slot & ~TOKENS_NONE) == mark) {
            uint64_t info = t->info[slot & TOKENS_NONE];
            const uint8_t *token = t->bytes + tokens_info_at(info);

            if (tokens_info_size(info) == n && tokens_same_bytes(token, p, n, word))
                return slot & TOKENS_NONE;
        }
    }
}

static inline bool tokens_bpe_can_contain(const struct tokens_table *t, uint64_t hash)
{
    return !(~t->maybe[tokens_maybe_at(hash, t->bits)] & tokens_maybe_bits(hash));
}

static inline uint32_t tokens_long_find(const struct tokens_table *t, const uint8_t *p, size_t n)
{
    uint64_t hash;

    if (n > TOKENS_SIZE_MAX)
        return NEVER;
    hash = tokens_hash_long(p, n);
    return tokens_bpe_can_contain(t, hash) ? tokens_words_find(t, p, n, 0, hash) : NEVER;
}

/* The token of n bytes, at most 8, that are this number, or NEVER. */
static inline uint32_t tokens_short_find(const struct tokens_table *t, const uint8_t *p, size_t n,
                                         uint64_t word)
{
    uint64_t hash = tokens_hash_short(word);
    const struct tokens_bucket *b = tokens_bucket_of(t, word);

    if (!tokens_bpe_can_contain(t, hash))
        return NEVER;
    return tokens_bucket_has(b, word) ? tokens_bucket_id(b, word)
                                      : tokens_words_find(t, p, n, word, hash);
}

/* The token of the bytes from `from` to `to` of a piece, or NEVER. */
static inline uint32_t tokens_part_find(const struct tokens_table *t, const struct tokens_piece *x,
                                        size_t from, size_t to)
{
    const uint8_t *p = x->p + from;
    size_t n = to - from;

    return n > 8 ? tokens_long_find(t, p, n)
                 : tokens_short_find(t, p, n, tokens_word(p, n, x->room - from));
}

/* The token of n bytes that end at `end`, or NEVER; `before` bytes may be read there. */
static inline uint32_t tokens_end_find(const struct tokens_table *t, const uint8_t *end, size_t n,
                                       size_t before)
{
    const uint8_t *p = end - n;

    if (n > 8)
        return tokens_long_find(t, p, n);
    if (before < 8)
        return tokens_short_find(t, p, n, tokens_word(p, n, n));
    return tokens_short_find(
        t, p, n, tokens_load8(end - 8) >> (64 - 8 * n) | (0xF8 + (uint64_t)n) << 56);
}

/* A rank and the place of the pair in one number: the least of all is the pair to merge. */
static inline uint32_t tokens_merge_key(uint32_t rank, size_t at)
{
    return rank == NEVER ? NEVER : rank << SHORT_BITS | (uint32_t)at;
}

static inline uint32_t tokens_bpe_get_smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t tokens_least_of_8(const uint32_t *k)
{
    return tokens_bpe_get_smaller(tokens_bpe_get_smaller(tokens_bpe_get_smaller(k[0], k[1]),
                                                         tokens_bpe_get_smaller(k[2], k[3])),
                                  tokens_bpe_get_smaller(tokens_bpe_get_smaller(k[4], k[5]),
                                                         tokens_bpe_get_smaller(k[6], k[7])));
}

/* Applies the rule literally. A token stays at the position of its first byte; next and prev skip
 * the gaps. Leaves the ids at the start of `ids`, which has room for n. */
static size_t tokens_merge_short(const struct tokens_table *t, const struct tokens_piece *x,
                                 uint32_t *ids)
{
    uint8_t next[SHORT_MAX + 1], prev[SHORT_MAX + 1];
    uint32_t key[SHORT_MAX]; /* of each token with the next one */
    size_t n = x->n, count = 0;

    assert(n > 1 && n <= SHORT_MAX);
    for (size_t i = 0; i < n; i++) {
        ids[i] = t->single[x->p[i]];
        next[i] = (uint8_t)(i + 1);
        prev[i + 1] = (uint8_t)i;
        key[i] = i + 1 < n ? tokens_merge_key(t->twos[x->p[i] << 8 | x->p[i + 1]], i) : NEVER;
    }
    for (size_t i = n; i % 8; i++)
        key[i] = NEVER;
    for (;;) {
        uint32_t best = NEVER;
        size_t at, after;

        for (size_t i = 0; i < n; i += 8)
            best = tokens_bpe_get_smaller(best, tokens_least_of_8(key + i));
        if (best == NEVER)
            break;
        at = best & (SHORT_MAX - 1);
        assert_slow(at < n && next[at] < n);
        key[next[at]] = NEVER;
        after = next[at] = next[next[at]];
        prev[after] = (uint8_t)at;
        ids[at] = best >> SHORT_BITS;
        key[at] = after < n ? tokens_merge_key(tokens_part_find(t, x, at, next[after]), at) : NEVER;
        if (at > 0)
            key[prev[at]] = tokens_merge_key(tokens_part_find(t, x, prev[at], after), prev[at]);
    }
    for (size_t i = 0; i < n; i = next[i])
        ids[count++] = ids[i];
    assert(count > 0 && count <= n);
    return count;
}

/* A prefix of a piece. */
struct prefix {
    const uint8_t *end;   /* after its last byte */
    size_t n;             /* its bytes, or more than TOKENS_SIZE_MAX */
    const uint32_t *last; /* last[-k] is the last token of the prefix that ends k bytes before */
};

/* Whether the token y, its last k bytes, may follow the token x. */
static bool tokens_bpe_can_follow(const struct tokens_table *t, const struct prefix *whole,
                                  size_t k, uint32_t x, uint32_t y)
{
    uint32_t x_grew = NEVER, y_grew = NEVER; /* ranks of the steps that made them larger */
    size_t x_size = tokens_info_size(t->info[x]), y_size = k;

    for (;;) {
        uint32_t both =
            tokens_end_find(t, whole->end - k + y_size, x_size + y_size, whole->n - k + y_size);

        if (both < x_grew && both <= y_grew && both != NEVER)
            return false;
        if (x < TOKENS_SINGLE && y < TOKENS_SINGLE)
            return true;
        if (x > y) {
            x_grew = x;
            x = tokens_info_right(t->info[x]);
            x_size = tokens_info_size(t->info[x]);
        } else {
            y_grew = y;
            y = tokens_info_left(t->info[y]);
            y_size = tokens_info_size(t->info[y]);
        }
    }
}

/* Whether its last token has k bytes: that token, or NEVER. */
static inline uint32_t tokens_last_is(const struct tokens_table *t, const struct prefix *x,
                                      size_t k)
{
    uint32_t id = tokens_end_find(t, x->end, k, x->n);

    if (id == NEVER || k == x->n || tokens_bpe_can_follow(t, x, k, x->last[-(ptrdiff_t)k], id))
        return id;
    return NEVER;
}

/* How many bytes the last token has that ends k bytes before, and k. */
static inline size_t tokens_bpe_joined(const struct tokens_table *t, const struct prefix *x,
                                       size_t k)
{
    return k < x->n ? k + tokens_info_size(t->info[x->last[-(ptrdiff_t)k]]) : SIZE_MAX;
}

/* The last token of a prefix. There is but one, so the order of trying is free. Most often the new
 * byte joins a token or two at the end of the prefix before, or stays alone; in long runs of one
 * character it does so every other time. If not, all lengths are tried that such tokens have. */
static uint32_t tokens_last_token(const struct tokens_table *t, struct prefix x)
{
    uint64_t lengths = (x.n >= 3 ? t->ends[tokens_ends_at(x.end - 3)] : 0) | tokens_ends_bit(2);
    size_t k = 1, from = x.n < TOKENS_SIZE_MAX ? x.n : TOKENS_SIZE_MAX;
    uint32_t id, alone = t->single[x.end[-1]];

    for (int i = 0; i < JOINED_MAX; i++) {
        k = tokens_bpe_joined(t, &x, k);
        if (k > from || !(lengths & tokens_ends_bit(k)))
            break;
        if ((id = tokens_last_is(t, &x, k)) != NEVER)
            return id;
    }
    if (x.n == 1 || tokens_bpe_can_follow(t, &x, 1, x.last[-1], alone))
        return alone;
    k = tokens_bpe_joined(t, &x, 2);
    if (k <= from && lengths & tokens_ends_bit(k) && (id = tokens_last_is(t, &x, k)) != NEVER)
        return id;

    if (from > 62 && !(lengths >> 63))
        from = 62;
    for (k = from; k > 1; k--)
        if (lengths & tokens_ends_bit(k) && (id = tokens_last_is(t, &x, k)) != NEVER)
            return id;
    base_die("tokens: a prefix without a last token");
}

void tokens_window_reset(struct tokens_window *w)
{
    w->base = w->moved = 0;
    w->n = 0;
    w->more[0] = 0;
}

/* Forgets all but what may still be looked back on. */
static void window_move(struct tokens_window *w)
{
    uint32_t by = w->n - TOKENS_SIZE_MAX;
    uint16_t less = w->more[by];

    assert(w->n > TOKENS_SIZE_MAX);
    memmove(w->text, w->text + by, TOKENS_SIZE_MAX);
    memmove(w->last, w->last + by, (TOKENS_SIZE_MAX + 1) * sizeof w->last[0]);
    for (size_t i = 0; i <= TOKENS_SIZE_MAX; i++)
        w->more[i] = (uint16_t)(w->more[i + by] - less);
    w->base += less;
    w->moved += by;
    w->n = TOKENS_SIZE_MAX;
}

void tokens_window_push(const struct tokens_table *t, struct tokens_window *w, uint8_t byte)
{
    uint32_t id;

    if (w->n == TOKENS_WINDOW_MAX)
        window_move(w);
    w->text[w->n++] = byte;
    id = tokens_last_token(t, (struct prefix){w->text + w->n, w->moved + w->n, w->last + w->n});
    assert_slow(w->n <= TOKENS_WINDOW_MAX && tokens_info_size(t->info[id]) <= w->n);
    w->last[w->n] = id;
    w->more[w->n] = (uint16_t)(w->more[w->n - tokens_info_size(t->info[id])] + 1);
}

size_t tokens_window_count(const struct tokens_window *w, size_t back)
{
    assert(back <= w->n);
    return w->base + w->more[w->n - back];
}

static size_t tokens_count_long(const struct tokens_table *t, const uint8_t *p, size_t n)
{
    struct tokens_window w;

    tokens_window_reset(&w);
    for (size_t i = 0; i < n; i++)
        tokens_window_push(t, &w, p[i]);
    return tokens_window_count(&w, 0);
}

/* The hash of a piece, and its word if it is short. */
static inline uint64_t piece_hash(const struct tokens_piece *x, uint64_t *word)
{
    *word = x->n <= 8 ? tokens_word(x->p, x->n, x->room) : 0;
    return x->n <= 8 ? tokens_hash_short(*word) : tokens_hash_long(x->p, x->n);
}

static inline bool tokens_is_seen(const struct tokens_seen *s, const struct tokens_piece *x,
                                  uint64_t hash)
{
    return s->hash == hash && s->n == x->n && (x->n <= 8 || memcmp(s->p, x->p, x->n) == 0);
}

/* A number for a piece: no other has it if it has up to eight bytes, and no other that is likely to
 * come in the life of a machine if it has more. */
static inline uint64_t tokens_memo_key(const struct tokens_memo *m, const struct tokens_piece *x,
                                       uint64_t hash)
{
    __extension__ typedef unsigned __int128 wide;
    wide product;

    if (x->n <= 8)
        return hash;
    product =
        (wide)(tokens_load8(x->p) ^ m->seed[0]) * (tokens_load8(x->p + x->n - 8) ^ m->seed[1]);
    return ((uint64_t)product ^ (uint64_t)(product >> 64)) + tokens_mix(x->n);
}

static size_t tokens_bpe_rare_count(const struct tokens_table *t, const struct tokens_piece *x,
                                    uint64_t word, uint64_t hash)
{
    uint32_t ids[SHORT_MAX];

    if (tokens_bpe_can_contain(t, hash) && tokens_words_find(t, x->p, x->n, word, hash) != NEVER)
        return 1;
    return tokens_merge_short(t, x, ids);
}

size_t tokens_rare_count(const struct tokens_table *t, const struct tokens_piece *x)
{
    uint64_t word, hash, key, kept;
    _Atomic uint64_t *entry;
    size_t count;

    if (x->n > SHORT_MAX)
        return tokens_long_find(t, x->p, x->n) == NEVER ? tokens_count_long(t, x->p, x->n) : 1;
    hash = piece_hash(x, &word);
    if (x->n > TOKENS_MEMO_SIZE_MAX)
        return tokens_bpe_rare_count(t, x, word, hash);
    key = tokens_memo_key(t->memo, x, hash);
    entry = &t->memo->entry[key >> (64 - TOKENS_MEMO_BITS)];
    kept = atomic_load_explicit(entry, memory_order_relaxed);
    if (kept && (kept ^ key << 8) < 256)
        return kept & 255;
    count = tokens_bpe_rare_count(t, x, word, hash);
    atomic_store_explicit(entry, key << 8 | count, memory_order_relaxed);
    return count;
}

/* Every prefix' last token, and then back from the end. */
static size_t tokens_merge_long(const struct tokens_table *t, const uint8_t *p, size_t n,
                                uint32_t *ids)
{
    uint32_t *last = base_alloc((n + 1) * sizeof *last);
    size_t count = 0, at = n;

    for (size_t i = 1; i <= n; i++)
        last[i] = tokens_last_token(t, (struct prefix){p + i, i, last + i});
    for (; at > 0; at -= tokens_info_size(t->info[last[at]]))
        ids[n - ++count] = last[at];
    assert(at == 0 && count <= n);
    memmove(ids, ids + n - count, count * sizeof *ids);
    free(last);
    return count;
}

size_t tokens_rare_ids(const struct tokens_table *t, const struct tokens_piece *x,
                       struct tokens_seen *seen, uint32_t *out)
{
    uint64_t word, hash;
    struct tokens_seen *s;
    size_t count = 1;

    if (x->n > SHORT_MAX) {
        *out = tokens_long_find(t, x->p, x->n);
        return *out != NEVER ? 1 : tokens_merge_long(t, x->p, x->n, out);
    }
    hash = piece_hash(x, &word);
    s = seen ? &seen[hash >> (64 - TOKENS_SEEN_BITS)] : NULL;
    if (s && tokens_is_seen(s, x, hash)) {
        memcpy(out, s->ids, s->count * sizeof *out);
        return s->count;
    }
    *out = tokens_bpe_can_contain(t, hash) ? tokens_words_find(t, x->p, x->n, word, hash) : NEVER;
    if (*out == NEVER)
        count = tokens_merge_short(t, x, out);
    assert(count > 0 && count <= x->n);
    if (s && count <= COUNT_OF(s->ids)) {
        *s = (struct tokens_seen){x->p, hash, (uint32_t)x->n, (uint32_t)count, {0}};
        memcpy(s->ids, out, count * sizeof *out);
    }
    return count;
}
