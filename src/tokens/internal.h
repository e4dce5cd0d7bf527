/* internal.h - shared by the files of tokens: the splitter and the merger.
 *
 *     pretoken.c   text -> pieces, by the vocabulary's pattern
 *     block.c      the same, many at once
 *     bpe.c        piece -> tokens, by the ranks
 *     counter.c    both, on text that arrives in pieces
 *     tokens.c     both, on whole texts
 *     unpack.c     the tables, on first use of a vocabulary
 *
 * All text here is valid UTF-8; tokens_utf8 checks it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/simd.h"
#include "tokens/layout.h"
#include "tokens/tokens.h"

#include <pthread.h>
#include <stdatomic.h>

/* The size of the piece that begins at p, of n available bytes, at least one. `over`: nothing
 * follows them. Otherwise the result is 0 if the end of the piece depends on what follows. */
typedef size_t tokens_split(const uint8_t *p, size_t n, bool over);

/* A cache of the counts of pieces that are not in shorts, for all texts, because words repeat. All
 * threads read and write it. The top bits of a piece's key are the index of its entry; the entry
 * has the other bits of the key, and the count in the lowest byte. 0: empty. */
#define TOKENS_MEMO_BITS 14
#define TOKENS_MEMO_SIZE_MAX 16 /* bytes of a piece */

struct tokens_memo {
    uint64_t seed[2]; /* random, so that pieces with the same key cannot be chosen */
    _Atomic uint64_t entry[1 << TOKENS_MEMO_BITS];
};

/* The mutable part of a vocabulary: its unpacked tables and the cache of counts. */
struct tokens_vocab_state {
    struct tokens_memo memo;
    struct tokens_table table;
    pthread_once_t once;
    atomic_bool ready, warmed;
};

struct tokens_vocab {
    const char *name;
    const struct tokens_packed *packed;
    const struct tokens_table *table; /* of the state; call tokens_vocab_need first */
    struct tokens_vocab_state *state;
    void (*unpack)(void); /* for the state's `once` */
    tokens_split *split;
    bool cased; /* the pattern distinguishes upper and lower case, and attaches a contraction to its
                  word */
};

/* Unpacks into the state of a vocabulary. */
void tokens_unpack(const struct tokens_packed *packed, struct tokens_vocab_state *out);
void tokens_vocab_unpack(const struct tokens_vocab *v);

/* Unpacks the vocabulary on first use. */
static inline void tokens_vocab_need(const struct tokens_vocab *v)
{
    if (!atomic_load_explicit(&v->state->ready, memory_order_acquire))
        tokens_vocab_unpack(v);
}

tokens_split tokens_split_o200k, tokens_split_cl100k;

/* The ends of pieces in the next TOKENS_BLOCK bytes, or in the available ones, one bit each, as far
 * as they do not depend on what follows. A piece begins at p. 0: unknown.
 */
#define TOKENS_BLOCK 64

uint64_t tokens_ends(const uint8_t *p, size_t n, bool cased, enum simd_level level);

/* The class and the size in bytes of the character at p. */
enum tokens_class tokens_class_at(const uint8_t *p, size_t *size);

/* The size of a contraction at p; 0: none, 1: more text must decide. */
size_t tokens_contraction(const uint8_t *p, size_t n);

/* The number of valid UTF-8 bytes at the start of p. If invalid bytes follow, `bad` is how many of
 * them become one U+FFFD; `cut`: they may be an incomplete character. */
size_t tokens_utf8(const uint8_t *p, size_t n, size_t *bad, bool *cut);

#define TOKENS_REPLACEMENT "\xEF\xBF\xBD"

/* A cache of the ids of rare pieces of the same text, because words repeat. */
#define TOKENS_SEEN_BITS 10
#define TOKENS_SEEN_MIN 3072 /* bytes of text; in shorter texts the cache does not pay off */

struct tokens_seen {
    const uint8_t *p;
    uint64_t hash; /* unique for up to 8 bytes */
    uint32_t n, count;
    uint32_t ids[4];
};

/* Counts text that begins at a piece. */
struct tokens_work {
    const struct tokens_vocab *vocab;
    bool over;    /* nothing follows the text */
    size_t count; /* grows */
};

/* Counts the pieces whose ends are certain, all of them if `over`; returns the end of the last
 * one. */
size_t tokens_work(struct tokens_work *w, const uint8_t *p, size_t n, enum simd_level level);

/* A piece of n bytes, at least one. `room` bytes from p on are readable. */
struct tokens_piece {
    const uint8_t *p;
    size_t n, room;
};

/* The number of tokens of a piece that is not in shorts. */
size_t tokens_rare_count(const struct tokens_table *t, const struct tokens_piece *x);

/* Writes the ids of such a piece to out, which has room for n; returns their number. `seen` has 1
 * << TOKENS_SEEN_BITS entries, initially zero, and must not outlive the text; or NULL. */
size_t tokens_rare_ids(const struct tokens_table *t, const struct tokens_piece *x,
                       struct tokens_seen *seen, uint32_t *out);

static inline const struct tokens_bucket *tokens_bucket_of(const struct tokens_table *t,
                                                           uint64_t word)
{
    return tokens_bucket_at(t->shorts, tokens_short_at(word, tokens_short_mask(t->bits)));
}

static inline bool tokens_bucket_has(const struct tokens_bucket *b, uint64_t word)
{
    return (b->word[0] == word) | (b->word[1] == word) | (b->word[2] == word) |
           (b->word[3] == word) | (b->word[4] == word);
}

/* The id of a word in the bucket, without a branch, which would often be mispredicted. */
static inline uint32_t tokens_bucket_id(const struct tokens_bucket *b, uint64_t word)
{
    return b->id[(b->word[1] == word) + 2U * (b->word[2] == word) + 3U * (b->word[3] == word) +
                 4U * (b->word[4] == word)];
}

static inline size_t tokens_piece_count(const struct tokens_table *t, struct tokens_piece x)
{
    struct tokens_piece rare;

    if (x.n <= 8) {
        uint64_t word = tokens_word(x.p, x.n, x.room);

        if (tokens_bucket_has(tokens_bucket_of(t, word), word))
            return 1;
    }
    rare = x; /* only this path needs it in memory */
    return tokens_rare_count(t, &rare);
}

static inline size_t tokens_piece_ids(const struct tokens_table *t, struct tokens_piece x,
                                      struct tokens_seen *seen, uint32_t *out)
{
    if (x.n <= 8) {
        uint64_t word = tokens_word(x.p, x.n, x.room);
        const struct tokens_bucket *b = tokens_bucket_of(t, word);

        if (tokens_bucket_has(b, word)) {
            *out = tokens_bucket_id(b, word);
            return 1;
        }
    }
    return tokens_rare_ids(t, &x, seen, out);
}

size_t tokens_count_valid(const struct tokens_vocab *v, const uint8_t *p, size_t n);

void tokens_window_reset(struct tokens_window *w);
void tokens_window_push(const struct tokens_table *t, struct tokens_window *w, uint8_t byte);
/* The number of tokens of the pushed bytes without the last `back` ones, at most 4. */
size_t tokens_window_count(const struct tokens_window *w, size_t back);
