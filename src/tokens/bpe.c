/* A piece into tokens, by the ranks.
 *
 * The rule: begin with single bytes; of all neighbours that together are a token, merge those with
 * the lowest rank, of equals the leftmost; until there are none. Done as it says, this is
 * quadratic, so it is only done to short pieces. For the rest, two facts (for any ranks
 * whatsoever):
 *
 * 1. Between two places where the result is cut, merging went on as if nothing else were there:
 *    what is lowest of all is also lowest there. So each token is what its own bytes merge into,
 * the last step of that is always the same pair, and neighbours in a result are *compatible*: the
 *    bytes of the two merge into just these two.
 * 2. The other way round: tokens of which all neighbours are compatible are the result. Otherwise
 *    take the first merge across a cut. Until then both neighbours have taken the steps that they
 *    take when alone, in the same order, so that merge would also come when the two are alone.
 *
 * So the last token of a prefix is the only token that ends there and is compatible with the last
 * token of the prefix before it. That needs a look at the tokens that end at one place, and at no
 * more than TOKENS_SIZE_MAX bytes behind it: linear time, and a window instead of the whole piece.
 * It also yields the count of every prefix on the way, which is what a counter is asked for.
 *
 * Compatible: on the way to the tokens x and y, their ends at the cut were first single bytes, then
 * halves, then halves of which those were halves. The packer has checked that a token ranks behind
 * its halves, so steps come in the order of their ranks and can be walked back: undo the one of the
 * higher rank, of equals the right one, which came last. Two ends that stand face to face would
 * have merged if that ranks before the step which made the left one larger, and not behind the step
 * which made the right one larger (of equals, the leftmost).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens/internal.h"

#define NEVER UINT32_MAX /* ranks behind every token */

/* How many bytes are merged by the rule itself, which is quicker while they are few. */
#define SHORT_BITS 6
#define SHORT_MAX (1 << SHORT_BITS)

_Static_assert(TOKENS_WINDOW_MAX > TOKENS_SIZE_MAX && TOKENS_WINDOW_MAX <= UINT16_MAX, "window");

/* How many tokens a new byte is tried to be joined with before all else. */
#define JOINED_MAX 2

static inline bool maybe(const uint64_t *filter, unsigned bits, uint64_t hash)
{
    return !(~filter[tokens_maybe_at(hash, bits)] & tokens_maybe_bits(hash));
}

static inline uint32_t pair_find(const struct tokens_table *t, uint32_t left, uint32_t right)
{
    uint64_t hash = tokens_hash_pair(left, right), pair = tokens_hot_pair(left, right);
    const uint64_t *hot = t->hot_pairs + tokens_hot_at(hash >> 1);
    uint32_t mark = tokens_slot(hash, 0);
    size_t at = (size_t)(hash >> (64 - t->bits));

    if (!maybe(t->pairs_maybe, t->bits, hash))
        return NEVER;
    for (size_t i = 0; i < 4; i++)
        if ((hot[i] ^ pair) < TOKENS_NONE)
            return (uint32_t)(hot[i] ^ pair);
    for (;;) {
        uint32_t slot = t->pairs[at];

        if (slot == TOKENS_EMPTY)
            return NEVER;
        if ((slot & ~TOKENS_NONE) == mark) {
            uint64_t info = t->info[slot & TOKENS_NONE];

            if (tokens_info_left(info) == left && tokens_info_right(info) == right)
                return slot & TOKENS_NONE;
        }
        at = (at + 1) & (((size_t)1 << t->bits) - 1);
    }
}

/* Up to eight bytes are compared as the number they make; the table has room behind its last. */
static inline bool same_bytes(const uint8_t *token, const uint8_t *p, size_t n, uint64_t word)
{
    if (n <= 8)
        return tokens_word(token, n, 8) == word;
    if (n <= 16)
        return tokens_load8(token) == tokens_load8(p) &&
               tokens_load8(token + n - 8) == tokens_load8(p + n - 8);
    return memcmp(token, p, n) == 0;
}

/* The token of these bytes, or NEVER. `word` is what tokens_word says of them if they are few. */
static inline uint32_t word_find(const struct tokens_table *t, const uint8_t *p, size_t n,
                                 uint64_t word, uint64_t hash)
{
    uint32_t mark = tokens_slot(hash, 0);
    size_t at = (size_t)(hash >> (64 - t->bits));

    if (!maybe(t->words_maybe, t->bits, hash))
        return NEVER;
    for (;;) {
        uint32_t slot = t->words[at];

        if (slot == TOKENS_EMPTY)
            return NEVER;
        if ((slot & ~TOKENS_NONE) == mark) {
            uint64_t info = t->info[slot & TOKENS_NONE];
            const uint8_t *token = t->bytes + tokens_info_at(info);

            if (tokens_info_size(info) == n && same_bytes(token, p, n, word))
                return slot & TOKENS_NONE;
        }
        at = (at + 1) & (((size_t)1 << t->bits) - 1);
    }
}

static inline uint32_t bytes_find(const struct tokens_table *t, const uint8_t *p, size_t n)
{
    uint64_t word;

    if (n > 8)
        return word_find(t, p, n, 0, tokens_hash_long(p, n));
    word = tokens_word(p, n, n);
    return word_find(t, p, n, word, tokens_hash_short(word));
}

/* A rank and the place of the pair in one number: the least of all is the pair to merge. */
static inline uint32_t merge_key(uint32_t rank, size_t at)
{
    return rank == NEVER ? NEVER : rank << SHORT_BITS | (uint32_t)at;
}

/* The rule as it stands. A token stays where its first byte was; next and prev lead over the gaps.
 * Leaves the ids at the start of `ids`, which has room for n. */
static size_t merge_short(const struct tokens_table *t, const uint8_t *p, size_t n, uint32_t *ids)
{
    uint8_t next[SHORT_MAX + 1], prev[SHORT_MAX + 1];
    uint32_t key[SHORT_MAX]; /* of each token with the one behind it */
    size_t count = 0;

    assert(n > 1 && n <= SHORT_MAX);
    for (size_t i = 0; i < n; i++) {
        ids[i] = t->single[p[i]];
        next[i] = (uint8_t)(i + 1);
        prev[i + 1] = (uint8_t)i;
        key[i] = i + 1 < n ? merge_key(t->twos[p[i] << 8 | p[i + 1]], i) : NEVER;
    }
    for (;;) {
        uint32_t best = NEVER;
        size_t at, after;

        for (size_t i = 0; i + 1 < n; i++)
            best = key[i] < best ? key[i] : best;
        if (best == NEVER)
            break;
        at = best & (SHORT_MAX - 1);
        key[next[at]] = NEVER;
        after = next[at] = next[next[at]];
        prev[after] = (uint8_t)at;
        ids[at] = best >> SHORT_BITS;
        key[at] = after < n ? merge_key(pair_find(t, ids[at], ids[after]), at) : NEVER;
        if (at > 0)
            key[prev[at]] = merge_key(pair_find(t, ids[prev[at]], ids[at]), prev[at]);
    }
    for (size_t i = 0; i < n; i = next[i])
        ids[count++] = ids[i];
    return count;
}

static bool compatible(const struct tokens_table *t, uint32_t x, uint32_t y)
{
    uint32_t x_grew = NEVER, y_grew = NEVER; /* ranks of the steps that made them larger */

    for (;;) {
        uint32_t both = pair_find(t, x, y);

        if (both < x_grew && both <= y_grew && both != NEVER)
            return false;
        if (x < TOKENS_SINGLE && y < TOKENS_SINGLE)
            return true;
        if (x > y) {
            x_grew = x;
            x = tokens_info_right(t->info[x]);
        } else {
            y_grew = y;
            y = tokens_info_left(t->info[y]);
        }
    }
}

/* A prefix of a piece. */
struct prefix {
    const uint8_t *end;   /* behind its last byte */
    size_t n;             /* its bytes, or more than TOKENS_SIZE_MAX */
    const uint32_t *last; /* last[-k] is the last token of the prefix that ends k bytes before */
};

/* Whether its last token has k bytes: that token, or NEVER. */
static inline uint32_t last_is(const struct tokens_table *t, const struct prefix *x, size_t k)
{
    uint32_t id = bytes_find(t, x->end - k, k);

    if (id == NEVER || k == x->n || compatible(t, x->last[-(ptrdiff_t)k], id))
        return id;
    return NEVER;
}

/* How many bytes the last token has that ends k bytes before, and k. */
static inline size_t joined(const struct tokens_table *t, const struct prefix *x, size_t k)
{
    return k < x->n ? k + tokens_info_size(t->info[x->last[-(ptrdiff_t)k]]) : SIZE_MAX;
}

/* The last token of a prefix. There is but one, so the order of trying is free. Most often the new
 * byte joins a token or two at the end of the prefix before, or stays alone; in long runs of one
 * character it does so every other time. If not, all lengths are tried that such tokens have. */
static uint32_t last_token(const struct tokens_table *t, struct prefix x)
{
    uint64_t lengths = (x.n >= 3 ? t->ends[tokens_ends_at(x.end - 3)] : 0) | tokens_ends_bit(2);
    size_t k = 1, from = x.n < TOKENS_SIZE_MAX ? x.n : TOKENS_SIZE_MAX;
    uint32_t id, alone = t->single[x.end[-1]];

    for (int i = 0; i < JOINED_MAX; i++) {
        k = joined(t, &x, k);
        if (k > from || !(lengths & tokens_ends_bit(k)))
            break;
        if ((id = last_is(t, &x, k)) != NEVER)
            return id;
    }
    if (x.n == 1 || compatible(t, x.last[-1], alone))
        return alone;
    k = joined(t, &x, 2);
    if (k <= from && lengths & tokens_ends_bit(k) && (id = last_is(t, &x, k)) != NEVER)
        return id;

    if (from > 62 && !(lengths >> 63))
        from = 62;
    for (k = from; k > 1; k--)
        if (lengths & tokens_ends_bit(k) && (id = last_is(t, &x, k)) != NEVER)
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
    id = last_token(t, (struct prefix){w->text + w->n, w->moved + w->n, w->last + w->n});
    w->last[w->n] = id;
    w->more[w->n] = (uint16_t)(w->more[w->n - tokens_info_size(t->info[id])] + 1);
}

size_t tokens_window_count(const struct tokens_window *w, size_t back)
{
    assert(back <= w->n);
    return w->base + w->more[w->n - back];
}

static size_t count_long(const struct tokens_table *t, const uint8_t *p, size_t n)
{
    struct tokens_window w;

    tokens_window_reset(&w);
    for (size_t i = 0; i < n; i++)
        tokens_window_push(t, &w, p[i]);
    return tokens_window_count(&w, 0);
}

/* A piece that is not in the small table. */
static size_t count_rare(const struct tokens_table *t, const uint8_t *p, size_t n, uint64_t word,
                         uint64_t hash)
{
    uint32_t ids[SHORT_MAX];

    if (word_find(t, p, n, word, hash) != NEVER)
        return 1;
    return n <= SHORT_MAX ? merge_short(t, p, n, ids) : count_long(t, p, n);
}

size_t tokens_rare_count(const struct tokens_table *t, const uint8_t *p, size_t n, uint64_t word,
                         struct tokens_seen *seen)
{
    uint64_t hash;
    struct tokens_seen *s;

    if (n > TOKENS_SIZE_MAX)
        return count_long(t, p, n);
    hash = n <= 8 ? tokens_hash_short(word) : tokens_hash_long(p, n);
    if (!seen)
        return count_rare(t, p, n, word, hash);
    s = &seen[hash >> (64 - TOKENS_SEEN_BITS)];
    if (s->hash != hash || s->n != n || (n > 8 && memcmp(s->p, p, n) != 0))
        *s = (struct tokens_seen){p, hash, (uint32_t)n, (uint32_t)count_rare(t, p, n, word, hash)};
    return s->count;
}

/* Every prefix' last token, and then back from the end. */
static size_t merge_long(const struct tokens_table *t, const uint8_t *p, size_t n, uint32_t *ids)
{
    uint32_t *last = base_alloc((n + 1) * sizeof *last);
    size_t count = 0, at = n;

    for (size_t i = 1; i <= n; i++)
        last[i] = last_token(t, (struct prefix){p + i, i, last + i});
    for (; at > 0; at -= tokens_info_size(t->info[last[at]]))
        ids[n - ++count] = last[at];
    memmove(ids, ids + n - count, count * sizeof *ids);
    free(last);
    return count;
}

size_t tokens_piece_ids(const struct tokens_table *t, const uint8_t *p, size_t n, size_t room,
                        uint32_t *out)
{
    uint64_t word = 0, hash = 0;

    if (n <= 8) {
        size_t at;

        word = tokens_word(p, n, room);
        hash = tokens_hash_short(word);
        at = tokens_hot_at(hash);
        for (size_t i = at; i < at + 4; i++)
            if (t->hot[i] == word) {
                *out = t->hot_ids[i];
                return 1;
            }
    } else if (n <= TOKENS_SIZE_MAX) {
        hash = tokens_hash_long(p, n);
    }
    *out = n <= TOKENS_SIZE_MAX ? word_find(t, p, n, word, hash) : NEVER;
    if (*out != NEVER)
        return 1;
    return n <= SHORT_MAX ? merge_short(t, p, n, out) : merge_long(t, p, n, out);
}
