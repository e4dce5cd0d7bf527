/* previous_response.h - responses that a client may name as its previous_response_id, for providers
 * that store none: the gateway keeps the conversation and sends all of it again.
 *
 *     previous_response_put(all, &response);                      once it was answered
 *     if (previous_response_find(all, who, id, &items, e)) ...    the conversation up to it
 *
 * A response stores only its own items: its request's input and its output. Earlier items are found
 * by the id of the response before it. Only the key that made a response finds it. The size in
 * bytes is limited; the least recently used responses are dropped first, and all that were not used
 * for a day. A conversation that continues stays complete. In memory only: after a restart, the
 * record may have them (serve/previous_response_read.c). Any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"

struct previous_responses;

struct previous_response {
    str who;      /* the key's name */
    str id;       /* as the client received it */
    str previous; /* the response before it, or "" */
    str session;
    str items; /* of the Responses dialect, JSON separated by commas; may be empty */
};

struct previous_responses *previous_response_new(const struct clock *clock, size_t size_max);
void previous_response_free(struct previous_responses *p);

/* Copies everything. A response that is too large is not stored. */
void previous_response_put(struct previous_responses *p, const struct previous_response *r);
/* Appends the items of the whole conversation, in order, separated by commas. ERR_NOT_FOUND: this
 * response, or one before it, is unknown; ERR_LIMIT: they do not fit. */
bool previous_response_find(struct previous_responses *p, str who, str id, struct buf *out,
                            struct err *e) MUST_USE;
/* Drops the responses of a session, or ("") of all sessions. */
void previous_response_forget(struct previous_responses *p, str session);
