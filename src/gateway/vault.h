/* vault.h - what providers want back byte for byte, kept for clients that throw it away.
 *
 * Signatures, encrypted items, thought signatures and reasoning text by the id of the tool call
 * they belong to, with the provider and model they came from; never given out for another. Bounded
 * in bytes, oldest first out, nothing older than a day. Any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "wire/wire.h"

struct vault;

struct vault *vault_new(const struct clock *clock, size_t size_max);
void vault_free(struct vault *v);

/* `origin` names provider and model, and whoever's calls these are; fragments of one call in the
 * order they came, a fragment that is there already once. What does not fit is not half kept. */
void vault_put(struct vault *v, str origin, str call_id, str name, str text);
/* Copies into the arena. Fragments of another origin are not there. */
size_t vault_find(struct vault *v, str origin, str call_id, struct arena *a, struct wire_kept *out,
                  size_t n_max);
/* Whether the id is known at all, under any origin: then what is missing is missing on purpose. */
bool vault_knows(struct vault *v, str call_id);
