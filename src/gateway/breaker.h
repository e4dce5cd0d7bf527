/* breaker.h - a provider's model that keeps failing is left alone for a while.
 *
 * Closed: calls pass. After so many failures in a row it opens; after a time one call is let
 * through, and what becomes of it decides. Any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "base/str.h"

struct breaker;

struct breaker *breaker_new(const struct clock *clock);
void breaker_free(struct breaker *b);
/* Whether nothing has failed since it last went well: then all pass, and that one went well is no
 * news. The bounds are those of the next failure. */
bool breaker_idle(struct breaker *b, unsigned failures_max, uint64_t open_ms);
/* name is provider and model. False: how long it stays open. */
bool breaker_pass(struct breaker *b, str name, unsigned failures_max, uint64_t open_ms,
                  uint64_t *left_ms);
void breaker_done(struct breaker *b, str name, bool ok);
/* The call that was let through came to no end that says anything (the client left). */
void breaker_undecided(struct breaker *b, str name);
/* Whether it is open, for whoever looks; how often it failed in a row, how long it stays open. */
bool breaker_look(struct breaker *b, str name, unsigned *failures, uint64_t *left_ms);
