/* past.h - responses that a client may name as its previous_response_id though no provider has
 * them: the provider speaks a dialect that keeps nothing, so what was said before is kept here and
 * sent again.
 *
 *     past_put(past, &response);                        once it was answered
 *     if (past_find(past, who, id, &items, e)) ...      all that was said up to it
 *
 * A response has only its own items, what was asked with it and what it said; those before it are
 * found by the id it went on from. Whoever's they are alone finds them. Bounded in bytes, least
 * used out first, nothing older than a day since it was used; a conversation that is gone on with
 * stays whole. In memory only: after a restart the record may know them (serve/past_read.c). Any
 * thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

struct past;

struct past_response {
    str who;      /* the key's name */
    str id;       /* as the client was told */
    str previous; /* the response it goes on from, or "" */
    str session;
    str items; /* of the Responses dialect, JSON with commas between; may be empty */
};

struct past *past_new(const struct clock *clock, size_t size_max);
void past_free(struct past *p);

/* Everything is copied. What is too large is not kept. */
void past_put(struct past *p, const struct past_response *r);
/* The items of the whole conversation, in order, commas between, appended. ERR_NOT_FOUND: it, or
 * one before it, is not known; ERR_LIMIT: they do not fit. */
bool past_find(struct past *p, str who, str id, struct buf *out, struct err *e) MUST_USE;
/* What was said in a session, or ("") in all of them. */
void past_forget(struct past *p, str session);
