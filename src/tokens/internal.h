/* internal.h - what the files of tokens share: the splitter and the merger behind the counting.
 *
 *     pretoken.c   text -> pieces, by the vocabulary's pattern
 *     block.c      the same, many at once
 *     bpe.c        piece -> tokens, by the ranks
 *     counter.c    both, on text that arrives
 *     tokens.c     both, on text that is there
 *     unpack.c     the tables, when a vocabulary is first used
 *
 * All text here is valid UTF-8; the way to it is tokens_utf8.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/simd.h"
#include "tokens/layout.h"
#include "tokens/tokens.h"

#include <pthread.h>
#include <stdatomic.h>

/* How many bytes the piece has that begins at p, of n bytes that are there, at least one. `over`
 * says that nothing follows them; if something may, and the end depends on it, the answer is 0. */
typedef size_t tokens_split(const uint8_t *p, size_t n, bool over);

/* What pieces that are not in shorts were counted as, in any text: words come again. Any thread
 * reads and writes it. The top bits of a piece's key are the index of its entry; the entry is the
 * other bits of the key, then the count in the lowest byte. 0: empty. */
#define TOKENS_MEMO_BITS 12
#define TOKENS_MEMO_SIZE_MAX 16 /* bytes of a piece */

struct tokens_memo {
    uint64_t seed[2]; /* random: nobody can choose pieces that have the same key */
    _Atomic uint64_t entry[1 << TOKENS_MEMO_BITS];
};

/* What changes of a vocabulary: it is unpacked, once, and remembers counts. */
struct tokens_vocab_state {
    struct tokens_memo memo;
    struct tokens_table table;
    pthread_once_t once;
    atomic_bool ready, warmed;
};

struct tokens_vocab {
    const char *name;
    const struct tokens_packed *packed;
    const struct tokens_table *table; /* of the state; tokens_vocab_need comes before it */
    struct tokens_vocab_state *state;
    void (*unpack)(void); /* for the state's `once` */
    tokens_split *split;
    bool
        cased; /* the pattern tells upper from lower letters, and takes a contraction to its word */
};

/* Into the state of a vocabulary. */
void tokens_unpack(const struct tokens_packed *packed, struct tokens_vocab_state *out);
void tokens_vocab_unpack(const struct tokens_vocab *v);

/* Unpacks the vocabulary unless it is. */
static inline void tokens_vocab_need(const struct tokens_vocab *v)
{
    if (!atomic_load_explicit(&v->state->ready, memory_order_acquire))
        tokens_vocab_unpack(v);
}

tokens_split tokens_split_o200k, tokens_split_cl100k;

/* Where pieces end in the next TOKENS_BLOCK bytes, or in those that are there, a bit each, as far
 * as that is certain whatever follows; one begins at p. 0 says nothing.
 */
#define TOKENS_BLOCK 64

uint64_t tokens_ends(const uint8_t *p, size_t n, bool cased, enum simd_level level);

/* What the character at p is, and how many bytes it has. */
enum tokens_class tokens_class_at(const uint8_t *p, size_t *size);

/* The bytes of a contraction at p: 0 if there is none, 1 if there may be one once more is there. */
size_t tokens_contraction(const uint8_t *p, size_t n);

/* How much of p is valid UTF-8 from its start. What follows, if anything, is not: `bad` says how
 * many bytes of it one U+FFFD stands for, and `cut` that it may yet become a character. */
size_t tokens_utf8(const uint8_t *p, size_t n, size_t *bad, bool *cut);

#define TOKENS_REPLACEMENT "\xEF\xBF\xBD"

/* The ids of rare pieces of the same text: words come again. */
#define TOKENS_SEEN_BITS 10
#define TOKENS_SEEN_MIN 3072 /* bytes of text; in less, they come too rarely to pay for it */

struct tokens_seen {
    const uint8_t *p;
    uint64_t hash; /* for up to 8 bytes as good as the bytes themselves */
    uint32_t n, count;
    uint32_t ids[4];
};

/* Counting what begins at a piece. */
struct tokens_work {
    const struct tokens_vocab *vocab;
    bool over;    /* nothing follows the text */
    size_t count; /* grows */
};

/* Counts the pieces whose ends are decided, which are all if it is over; returns where the last one
 * ends. */
size_t tokens_work(struct tokens_work *w, const uint8_t *p, size_t n, enum simd_level level);

/* A piece of n bytes, at least one. `room` bytes may be read from p on. */
struct tokens_piece {
    const uint8_t *p;
    size_t n, room;
};

/* How many tokens a piece has that is not in shorts. */
size_t tokens_rare_count(const struct tokens_table *t, const struct tokens_piece *x);

/* The ids of such a piece into out, which has room for n; returns how many. `seen` has
 * 1 << TOKENS_SEEN_BITS entries, at first zero, and the text outlives it; or it is NULL. */
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

/* The id of a word that the bucket has. Nobody can guess which it is, so there is no branch. */
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
    rare = x; /* only now it has to be in memory */
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
/* The tokens of all that was pushed, or of all but the last `back` bytes of it, at most 4. */
size_t tokens_window_count(const struct tokens_window *w, size_t back);
