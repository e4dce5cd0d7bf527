/* build.h - the tables of a vocabulary, filled token by token in the order of their ids.
 *
 * The packer fills them to check a vocabulary when the program is built, unpack.c to use it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "tokens/layout.h"

#define TOKENS_NEVER UINT32_MAX /* the id of bytes that are no token */

/* The members are those of tokens_table. `bytes` has 8 more than the tokens need, `words` is all
 * TOKENS_EMPTY and the words of `shorts` all UINT64_MAX at first, the rest zero. */
struct tokens_build {
    struct tokens_bucket *shorts;
    uint64_t *maybe, *info, *ends;
    uint32_t *words, *twos;
    uint8_t *bytes, *single;
    unsigned bits;
};

/* How many bits the tables of so many tokens have. */
unsigned tokens_build_bits(uint32_t count);
/* The id of these bytes, among the tokens added so far. Eight bytes may be read from p on. */
uint32_t tokens_build_find(const struct tokens_build *b, const uint8_t *p, size_t size);
/* Adds a token whose bytes and whose info, but for its halves, are there. */
void tokens_build_add(struct tokens_build *b, uint32_t id);
/* The two-byte tokens, when all are added. */
void tokens_build_twos(struct tokens_build *b);
