/* build.h - builds the tables of a vocabulary, token by token in the order of their ids.
 *
 * The packer builds them to check a vocabulary at build time, unpack.c to use it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "tokens/layout.h"

#define TOKENS_NEVER UINT32_MAX /* the id of bytes that are not a token */

/* The members are those of tokens_table. At first `words` is all TOKENS_EMPTY, the words of
 * `shorts` are all UINT64_MAX, and the rest is zero. `bytes` has 8 more bytes than the tokens
 * need. */
struct tokens_build {
    struct tokens_bucket *shorts;
    uint64_t *maybe, *info, *ends;
    uint32_t *words, *twos;
    uint8_t *bytes, *single;
    unsigned bits;
};

/* The number of bits of the tables for this many tokens. */
unsigned tokens_build_bits(uint32_t count);
/* The id of these bytes among the tokens added so far. Eight bytes from p on must be readable. */
uint32_t tokens_build_find(const struct tokens_build *b, const uint8_t *p, size_t size);
/* Adds a token whose bytes and info are set, except for its halves. */
void tokens_build_add(struct tokens_build *b, uint32_t id);
/* Fills in the two-byte tokens, after all are added. */
void tokens_build_twos(struct tokens_build *b);
