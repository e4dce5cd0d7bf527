/* SPDX-License-Identifier: Apache-2.0 */
#include "tokens/build.h"

unsigned tokens_build_bits(uint32_t count)
{
    unsigned bits = 0;

    assert(count > 0);
    while ((uint32_t)1 << bits < count / 2)
        bits++;
    return bits;
}

/* Where a word is in its bucket, or where it may be put; TOKENS_BUCKET if the bucket is full. */
static size_t tokens_build_short(const struct tokens_build *b, uint64_t word,
                                 struct tokens_bucket **in)
{
    size_t at = 0;

    *in = b->shorts + tokens_short_at(word, tokens_short_mask(b->bits)) / sizeof **in;
    while (at < TOKENS_BUCKET && (*in)->word[at] != UINT64_MAX && (*in)->word[at] != word)
        at++;
    return at;
}

/* The slot that has these bytes, or the empty one that they go to. */
static size_t tokens_build_slot(const struct tokens_build *b, const uint8_t *p, size_t size,
                                uint64_t hash)
{
    size_t mask = ((size_t)1 << b->bits) - 1;
    uint32_t mark = tokens_slot(hash, 0);

    for (size_t at = tokens_word_at(hash, b->bits);; at = (at + 1) & mask) {
        uint32_t slot = b->words[at], id = slot & TOKENS_NONE;

        if (slot == TOKENS_EMPTY)
            return at;
        if (slot - id == mark && tokens_info_size(b->info[id]) == size &&
            memcmp(b->bytes + tokens_info_at(b->info[id]), p, size) == 0)
            return at;
    }
}

static uint64_t tokens_build_hash(const uint8_t *p, size_t size)
{
    return size <= 8 ? tokens_hash_short(tokens_word(p, size, 8)) : tokens_hash_long(p, size);
}

uint32_t tokens_build_find(const struct tokens_build *b, const uint8_t *p, size_t size)
{
    struct tokens_bucket *in;
    uint32_t slot;

    if (size <= 8) {
        uint64_t word = tokens_word(p, size, 8);
        size_t at = tokens_build_short(b, word, &in);

        if (at < TOKENS_BUCKET)
            return in->word[at] == word ? in->id[at] : TOKENS_NEVER;
    }
    slot = b->words[tokens_build_slot(b, p, size, tokens_build_hash(p, size))];
    return slot == TOKENS_EMPTY ? TOKENS_NEVER : slot & TOKENS_NONE;
}

/* A short token whose bucket is full is put among the longer ones. The tokens come in the order of
 * their ranks, so that is rare for those that are often used. */
void tokens_build_add(struct tokens_build *b, uint32_t id)
{
    const uint8_t *p = b->bytes + tokens_info_at(b->info[id]);
    size_t size = tokens_info_size(b->info[id]), at = TOKENS_BUCKET;
    uint64_t hash = tokens_build_hash(p, size);
    struct tokens_bucket *in = NULL;

    assert(size > 0 && size <= TOKENS_SIZE_MAX && id < TOKENS_NONE);
    if (size == 1)
        b->single[p[0]] = (uint8_t)id;
    if (size >= 3)
        b->ends[tokens_ends_at(p + size - 3)] |= tokens_ends_bit(size);
    b->maybe[tokens_maybe_at(hash, b->bits)] |= tokens_maybe_bits(hash);
    if (size <= 8)
        at = tokens_build_short(b, tokens_word(p, size, 8), &in);
    if (at < TOKENS_BUCKET) {
        in->word[at] = tokens_word(p, size, 8);
        in->id[at] = id;
    } else {
        b->words[tokens_build_slot(b, p, size, hash)] = tokens_slot(hash, id);
    }
}

void tokens_build_twos(struct tokens_build *b)
{
    uint8_t two[8] = {0};

    for (unsigned i = 0; i < 1 << 16; i++) {
        two[0] = (uint8_t)(i >> 8);
        two[1] = (uint8_t)i;
        b->twos[i] = tokens_build_find(b, two, 2);
    }
}
