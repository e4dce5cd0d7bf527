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
void exchange_refuse_key(struct exchange *ex, const char *code, const char *message);
