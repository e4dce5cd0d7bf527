/* exchange_key.h - the key of a request.
 *
 * A wrong key is a 401, or a 429 while its address sends too many: see gateway/guesses.h. The key
 * is checked before, so a right one passes from the same address.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/internal.h"

/* Finds the key of the request, if its route needs one; false after a refusal. */
bool exchange_authenticate(struct exchange *ex) MUST_USE;
/* The key that the request shows in a header or the query; or empty. */
str exchange_shown_key(struct exchange *ex);
/* Counts a wrong key or signature of the client's address; true after a 429. */
bool exchange_throttle_guess(struct exchange *ex, str message) MUST_USE;
void exchange_refuse_key(struct exchange *ex, const char *code, const char *message);
