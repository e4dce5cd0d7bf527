/* breaker.h - a circuit breaker: pauses calls to a provider's model that keeps failing.
 *
 * While the circuit is closed, all calls pass. After a number of consecutive failures it opens;
 * after a pause it lets one call through, and the outcome of that call closes or reopens it. Any
 * thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"

struct breaker;

struct breaker *breaker_new(const struct clock *clock);
void breaker_free(struct breaker *b);
/* Whether no model has failed since its last success. Then every call passes and a success need not
 * be reported. The two limits apply from the next failure on. */
bool breaker_idle(struct breaker *b, unsigned failures_max, uint64_t open_ms);
/* `name` is provider and model. False: the circuit is open for another *left_ms. */
bool breaker_pass(struct breaker *b, str name, unsigned failures_max, uint64_t open_ms,
                  uint64_t *left_ms);
void breaker_done(struct breaker *b, str name, bool ok);
/* The call that was let through ended without saying anything about the provider (the client
 * left). */
void breaker_undecided(struct breaker *b, str name);
/* For display: whether the circuit is open, the failures in a row, and how long it stays open. */
bool breaker_look(struct breaker *b, str name, unsigned *failures, uint64_t *left_ms);
