/* vault.h - what providers want back byte for byte, kept for clients that throw it away.
 *
 * Signatures, encrypted items, thought signatures and reasoning text by the id of the tool call
 * they belong to, with the provider and model they came from; never given out for another. Bounded
 * in bytes, oldest first out, nothing older than a day. Any thread.
 *
 * One id may have entries of several conversations. An entry therefore has its place: what the user
 * had asked until then, the system prompt, and how many results had come since the last question.
 * Of several entries the one that agrees in most is taken; if two agree alike, none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "wire/wire.h"

struct vault;

struct vault *vault_new(const struct clock *clock, size_t size_max);
void vault_free(struct vault *v);

/* A call: the vault's name for it, and where in which conversation it was made. */
struct vault_call {
    str id;
    uint64_t asked, system; /* hashes: vault_hash */
    uint32_t results;       /* since the last question */
    uint64_t reply;         /* vault_put: what the same place gave in an earlier reply goes */
};

/* Appends a text to the hash `chain`; 0 is nothing. Not the same in another vault. */
uint64_t vault_hash(const struct vault *v, uint64_t chain, str text);
uint64_t vault_reply(struct vault *v); /* the number of a new reply */

/* `origin` names provider and model, and whoever's calls these are; fragments of one call in the
 * order they came, a fragment that is there already once. What does not fit is not half kept. */
void vault_put(struct vault *v, str origin, const struct vault_call *call, str name, str text);
/* Copies into the arena. Fragments of another origin are not there. */
size_t vault_find(struct vault *v, str origin, const struct vault_call *call, struct arena *a,
                  struct wire_kept *out, size_t n_max);
/* Whether the id is known at all, under any origin: then what is missing is missing on purpose. */
bool vault_knows(struct vault *v, str call_id);
