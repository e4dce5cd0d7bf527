/* admin.h - replies of the routes about the daemon itself: one JSON object each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/internal.h"

struct admin {
    struct exchange *ex;
    struct buf buf;
    struct json_out o; /* an object is open */
};

/* False after refusing query parameters, which these routes do not have. */
bool admin_begin(struct admin *a, struct exchange *ex) MUST_USE;
void admin_end(struct admin *a); /* sends the reply */
