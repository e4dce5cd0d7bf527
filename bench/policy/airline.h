/* airline.h - labelled rows from the reservations of the airline's corpus. The labels come from
 * code that somebody wrote from the policy; it does not parse the policy's sentences.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/result.h"
#include "base/json.h"

struct airline {
    struct json reservations, users, flights;
    struct arena arena;
};

/* One row: a case as JSON, the question, and the verdict of the policy. Valid during the call. */
struct airline_row {
    const char *criterion;
    str json;
    enum policy_status status;
    const char *section; /* the title of the deciding section; "": any */
};

/* False: e names the missing file. */
bool airline_load(struct airline *l, const char *folder, struct err *e) MUST_USE;
void airline_free(struct airline *l);
/* Of at most so many reservations. */
void airline_each(struct airline *l, unsigned max,
                  void (*on_row)(void *ctx, const struct airline_row *row), void *ctx);
