/* past.h - Responses that go on from another by its id, for providers that keep none: see past.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

struct exchange;

/* Of a Responses request: what it asks by itself, and what it goes on from. */
struct exchange_past {
    bool keep;  /* the client may go on from the reply */
    bool whole; /* what it goes on from is known, and stands in the body */
    str items, previous;
};

/* The request as it would be if the client had sent all of it; false: it was answered. */
bool past_begin(struct exchange *ex);
/* The reply in ex->out is on record, and not sent yet: the client may go on from it. */
void past_end(struct exchange *ex);
