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

void admin_begin(struct admin *a, struct exchange *ex);
void admin_end(struct admin *a); /* sends the reply */
