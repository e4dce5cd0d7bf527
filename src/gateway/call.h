/* call.h - one model call, from a request in any dialect to its last event.
 *
 *     if (!call_start(gl, &request, listener, &arena, &call, &error)) ...   the client's mistake
 *     ... on_frame ..., then on_end, or on_error and on_end
 *     call_cancel(call);                                   the client has left
 *
 * A call picks the provider and the preset, writes and sends the request, reads the reply, ends
 * reasoning at its cap, redacts it where policy says so, retries and falls back to other providers
 * while the client has received nothing, and is recorded before on_end. A client that gets its
 * reply in one piece has received nothing before the end. The states are in call/state.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/gateway.h"
#include "gateway/headers.h"
#include "gateway/level.h"
#include "gateway/summary.h"
#include "wire/wire.h"

#define CALL_UNRECORDED_MS 1000 /* try again so long after nothing could be put on record */

struct call;

struct call_request {
    const struct wire *wire;            /* the client's dialect */
    const struct chat_request *request; /* lent until on_end or the cancel */
    str body;                           /* the client's bytes, lent likewise */
    str route;
    str id;                       /* ours, lent */
    str session;                  /* named by the client, or "" */
    str title;                    /* an application's own for the record, lent; or "" */
    const struct config_key *key; /* or NULL */
    struct setup *setup;          /* held by the call */
    enum config_show show;        /* asked for by header */
    bool inside;                  /* asked by this process: the reasoning is not for the client */
    bool defined;                 /* the key's lists of models and levels do not apply: ask.h */
    str level;                    /* asked for by header, or "" */
    /* The client's, lent likewise: its query and headers go to the provider, as headers.h says.
     * NULL: there are none. */
    const struct http1_head *head;
    bool whole; /* what previous_response_id stands for has been put into the request */
    struct otlp_trace trace;
    uint64_t start_ns;
};

/* What stands in x-rationale-usage. */
struct call_facts {
    int64_t reasoning_tokens, cap; /* cap -1: none */
    int64_t over; /* tokens beyond the cap that the provider billed and we could not cut */
    bool cut;
    bool starved, repaired;
    const struct chat_usage *usage;
};

struct call_sink {
    /* Events for the client, in order; lent. With a frame they are what it is to say, for
     * wire_relay; without one they are for wire_encode. `last`: only on_end follows,
     * or bytes of the provider that belong to the same end, `last` as well. They may not leave
     * before on_end. */
    void (*on_frame)(void *ctx, const struct wire_frame *frame, const struct chat_event *events,
                     size_t n, bool touched, bool last);
    /* It has failed; on_end follows. */
    void (*on_error)(void *ctx, const struct chat_error *error);
    /* It is on record; the call is gone when this returns. e: it could not be recorded;
     * what that means for the client is the configuration's `unrecorded`. */
    void (*on_end)(void *ctx, const struct err *e);
    /* No more frames for now: what was gathered should leave. May be NULL. */
    void (*on_rest)(void *ctx);
    /* Another attempt would be made: what came so far does not count then, all comes again. False:
     * some of it has left. May be NULL: all of it has. */
    bool (*on_anew)(void *ctx);
};

/* Who gets what comes of a call. */
struct call_listener {
    const struct call_sink *sink;
    void *ctx;
};

/* False: error says why, in words for the client; its texts live in the arena given. */
bool call_start(struct gateway_loop *gl, const struct call_request *r,
                struct call_listener listener, struct arena *a, struct call **out,
                struct chat_error *error) MUST_USE;
void call_cancel(struct call *c); /* no callback after it */
/* The client has been sent something by its caller: no more attempts after this. */
void call_commit(struct call *c);
void call_pause(struct call *c);
void call_resume(struct call *c);
void call_facts(struct call *c, struct call_facts *out);
/* Whether frames of the upstream may go to wire_relay: told before the first on_frame. */
bool call_relays(const struct call *c);
bool call_hides(const struct call *c);
/* The policy behind it, by the request's wire, key and header; for replies that are made without a
 * call. preset: of the level that was asked for, or NULL. */
bool call_reply_hides(const struct config *c, const struct call_request *r,
                      const struct config_preset *preset);
/* The conversation it is put on record under; "" where nothing is recorded and none was named. */
str call_session(const struct call *c);
/* Headers of the provider's reply that the client may see: of the attempt that the client gets, and
 * none before its head is there. Lent until on_end returns. */
size_t call_reply_headers(const struct call *c, const struct http1_field **out);
/* Of the provider that is asked, or was asked last; lent until on_end returns. */
str call_provider_name(const struct call *c);
/* Our count of the request's tokens, for where the provider gives none: see input_tokens.h. Made
 * when it is first asked for. */
int64_t call_count_input(struct call *c);
/* When the call began, by the clock on the wall: asked for once, so that all its records agree. */
int64_t call_wall_start_ms(struct call *c);
/* Of all its attempts, in US dollars; -1 if not known. To be asked in on_end. */
double call_cost(const struct call *c);
