/* past.h - Responses that go on from another by its id, for providers that keep none: see past.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

struct exchange;

/* Of a Responses request: what it asks by itself, and what it goes on from. */
struct exchange_past {
    bool keep;  /* the client may go on from the reply */
    bool whole; /* what it goes on from is known, and stands in the body */
    bool read;  /* the record was asked for it */
    str items, previous;
};

/* The request as it would be if the client had sent all of it; false: it was answered, or waits for
 * the record, and chat_read_on is called then. */
bool past_begin(struct exchange *ex);
/* chat.c: reads the request on. */
void chat_read_on(struct exchange *ex);
/* past_read.c: whether the record is asked for what it goes on from. */
bool past_read(struct exchange *ex) MUST_USE;
/* What stands in an array, commas between; a text is what the user says. */
str past_items_of(const struct json *doc, const struct json_node *v, struct arena *a);
/* The reply in ex->out is on record, and not sent yet: the client may go on from it. */
void past_end(struct exchange *ex);
