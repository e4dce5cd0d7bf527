/* previous_response.h - requests that name a previous_response_id: see previous_response.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

struct exchange;

/* Of a Responses request: what it asks by itself, and what it goes on from. */
struct exchange_previous {
    bool keep;  /* the client may go on from the reply */
    bool whole; /* what it goes on from is known, and stands in the body */
    bool read;  /* the record was asked for it */
    str items, id;
};

/* The request as it would be if the client had sent all of it; false: it was answered, or waits for
 * the record, and chat_read_on is called then. */
bool exchange_add_previous(struct exchange *ex);
/* chat.c: reads the request on. */
void chat_read_on(struct exchange *ex);
/* previous_response_read.c: whether the record is asked for what it goes on from. */
bool exchange_read_previous(struct exchange *ex) MUST_USE;
/* What stands in an array, commas between; a text is what the user says. */
str exchange_items_of(const struct json *doc, const struct json_node *v, struct arena *a);
/* The reply in ex->out is on record, and not sent yet: the client may go on from it. */
void exchange_keep_response(struct exchange *ex);
