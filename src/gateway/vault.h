/* vault.h - keeps data that providers need back byte for byte, for clients that drop it.
 *
 * It stores signatures, encrypted items, thought signatures and reasoning text by the id of their
 * tool call, with the provider and model they came from; no other provider or model gets them. The
 * size in bytes is limited; the oldest entries are dropped first, and all that are older than a
 * day. Any thread.
 *
 * One id may have entries of several conversations. Therefore an entry also stores its position:
 * the user's questions until then, the system prompt, and the number of results since the last
 * question. Of several entries, the one that agrees in most of these is used; if two agree equally,
 * none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "wire/wire.h"

struct vault;

struct vault *vault_new(const struct clock *clock, size_t size_max);
void vault_free(struct vault *v);
/* Vaults with the same seed give the same hashes. Call it before any other function. */
void vault_seed(struct vault *v, const uint64_t seed[2]);

/* A tool call: its id, and its position in a conversation. */
struct vault_call {
    str id;
    uint64_t asked, system; /* hashes by vault_hash */
    uint32_t results;       /* since the last question */
    uint64_t reply;         /* for vault_put: entries of an earlier reply at this position are
                               replaced */
    uint64_t age_ns;        /* for vault_add: since another vault stored it */
};

/* Appends a text to the hash `chain`; 0 is the empty hash. Another vault gives other hashes. */
uint64_t vault_hash(const struct vault *v, uint64_t chain, str text);
uint64_t vault_reply(struct vault *v); /* the number of a new reply */

/* `origin` names the provider, the model and the key. The fragments of a call are stored in the
 * order they came, a repeated fragment once. A call whose fragments do not all fit is not
 * stored. */
void vault_put(struct vault *v, str origin, const struct vault_call *call, str name, str text);
/* Like vault_put, for a fragment of another vault: an entry of another reply at this position
 * stays unchanged. */
void vault_add(struct vault *v, str origin, const struct vault_call *call, str name, str text);
/* Copies the latest entries with up to size_max bytes into the arena, the oldest of them first. */
struct vault_fragment {
    struct vault_call call;
    str origin, name, text;
};
size_t vault_latest(struct vault *v, size_t size_max, struct arena *a, struct vault_fragment **out);
/* Copies into the arena. Fragments of another origin are not found. */
size_t vault_find(struct vault *v, str origin, const struct vault_call *call, struct arena *a,
                  struct wire_kept *out, size_t n_max);
/* Whether the id is known under any origin: then a missing fragment is missing on purpose. */
bool vault_knows(struct vault *v, str call_id);
