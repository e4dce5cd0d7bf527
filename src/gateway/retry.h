/* retry.h - whether a failure passes by itself, and how long to wait for that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/rand.h"
#include "base/str.h"

#define RETRY_WAIT_MAX_MS 60000 /* a longer Retry-After is not waited for */

/* 408, 409, 425, 429, all 5xx; 0 is a connection that failed or timed out. */
bool retry_transient(int status);

/* Whether an error (400, 422) may be about how something was asked and not about what: it names a
 * parameter, or says nothing. */
bool retry_otherwise(str message);

/* Before attempt n (from 1): backoff 1, 2, 4 times the base, give or take a quarter; at least what
 * the provider asked for (-1: nothing). */
uint64_t retry_wait_ms(struct rand *r, uint64_t base_ms, unsigned n, int64_t retry_after_ms);

/* Retry-After: seconds, a fraction, or an HTTP date; retry-after-ms is taken first. -1: neither. */
int64_t retry_after_ms(str retry_after, str retry_after_ms_text, int64_t now_wall_ms);
