/* retry.h - whether to retry a failure, and after how long.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/rand.h"

#define RETRY_WAIT_MAX_MS 60000 /* no retry if Retry-After is longer */

/* Whether a retry may help: 408, 409, 425, 429 and all 5xx; 0 is a connection that failed or timed
 * out. */
bool retry_transient(int status);

/* The wait before attempt n (from 1): 1, 2, 4 times the base, plus or minus a quarter; at least the
 * time that the provider asked for (-1: none). */
uint64_t retry_wait_ms(struct rand *r, uint64_t base_ms, unsigned n, int64_t retry_after_ms);

/* Parses Retry-After: seconds, a fraction, or an HTTP date; retry-after-ms has precedence. -1:
 * neither. */
int64_t retry_after_ms(str retry_after, str retry_after_ms_text, int64_t now_wall_ms);
