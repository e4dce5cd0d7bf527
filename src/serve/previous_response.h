/* previous_response.h - requests that name a previous_response_id: see previous_response.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

struct exchange;

/* The input of a Responses request, and the conversation that it continues. */
struct exchange_previous {
    bool keep;  /* the client may continue from the reply */
    bool whole; /* the previous conversation is known, and is in the body */
    bool read;  /* the record was queried for it */
    str items, id;
};

/* Completes the request as if the client had sent the whole conversation. False: an error reply was
 * sent, or the request waits for the record; then chat_read_on is called later. */
bool exchange_add_previous(struct exchange *ex);
/* chat.c: continues to read the request. */
void chat_read_on(struct exchange *ex);
/* previous_response_read.c: queries the record for the previous conversation; false if it
 * cannot. */
bool exchange_read_previous(struct exchange *ex) MUST_USE;
/* The elements of an array, joined by commas; a text becomes a message of the user. */
str exchange_items_of(const struct json *doc, const struct json_node *v, struct arena *a);
/* The reply in ex->out is recorded and not sent yet: lets the client continue from it. */
void exchange_keep_response(struct exchange *ex);
