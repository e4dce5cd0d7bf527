/* airline.h - labelled rows from the reservations of the airline's corpus: what its policy says of
 * each, told by a program that was written by reading the policy, not by reading sentences.
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

/* One row: a case as JSON, what is asked, and what the policy says. Lent for the call. */
struct airline_row {
    const char *criterion;
    str json;
    enum policy_status status;
    const char *section; /* the title of the section that says so; "": any */
};

/* False: e says which file is missing. */
bool airline_load(struct airline *l, const char *folder, struct err *e) MUST_USE;
void airline_free(struct airline *l);
/* Of at most so many reservations. */
void airline_each(struct airline *l, unsigned max,
                  void (*on_row)(void *ctx, const struct airline_row *row), void *ctx);
