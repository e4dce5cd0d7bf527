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
#include "gateway/upstream.h"

#define CALL_UNRECORDED_MS 1000 /* Retry-After of calls refused because nothing can be recorded */

struct call;
struct decision; /* chat/decision.h */

/* Reads the tool calls of a reply for the decision log, for callers whose models may write them as
 * text. `text` is the answer without masks; d is the entry as the gateway has it. The function may
 * replace d->calls, d->why and d->answer, which are masked afterwards; a d->why of its own is kept
 * as reasoning.keep says. On the loop's thread, before on_end or the cancel; texts of more than
 * CALL_READ_MAX bytes are not read. */
#define CALL_READ_MAX ((size_t)256 << 10)
struct call_reader {
    void (*read)(void *ctx, str text, struct arena *a, struct decision *d); /* or NULL */
    void *ctx;
};

/* A call that the gateway records and does not make: nothing of it is changed, capped, hidden or
 * tried again. The bytes of its reply come through `feed`. */
struct call_watch {
    const struct config_provider *provider; /* static */
    struct upstream_feed feed;
    /* The client's credentials, which an error may repeat: they are not recorded. Lent. */
    const str *secrets;
    size_t secret_count;
};

struct call_request {
    const struct wire *wire;            /* the client's dialect */
    const struct chat_request *request; /* lent until on_end or the cancel */
    /* request->doc, if the call may free its nodes and parse it again when it needs them; or
     * NULL. */
    struct json *doc;
    str body; /* the client's bytes; lent likewise */
    str route;
    str id;                       /* the gateway's id for the call; lent */
    str session;                  /* the session that the client named, or "" */
    str title;                    /* an application's title for the record; lent; or "" */
    str step;                     /* the purpose of the call, for the record; lent; or "" */
    struct call_reader reader;    /* lent likewise */
    const struct config_key *key; /* or NULL */
    struct setup *setup;          /* the call holds a reference */
    enum config_show show;        /* from the request's header */
    bool inside;                  /* this process asks: the reasoning is not for the client */
    bool defined;                 /* the key's lists of models and levels do not apply: ask.h */
    bool quiet;                   /* nothing asks for reasoning: enable_reasoning adds no text */
    bool part;                    /* the session's status is an application's, not its calls' */
    bool whole; /* the request already includes the conversation of previous_response_id */
    str level;  /* from the request's header, or "" */
    /* Returns the client's request head, which is lent until the caller of the gateway returns to
     * its loop: its query and headers go to the provider, as headers.h describes. NULL: no head. */
    const struct http1_head *(*head)(void *ctx);
    void *head_ctx;
    const struct call_watch *watch; /* the call only records; lent likewise; or NULL */
    struct otlp_trace trace;
    uint64_t start_ns;
};

/* The values of the x-rationale-usage header. */
struct call_facts {
    int64_t reasoning_tokens, cap; /* cap -1: no cap */
    int64_t over; /* tokens beyond the cap that the provider billed and the gateway could not cut */
    bool cut;
    bool starved, repaired;
    const struct chat_usage *usage;
};

struct call_sink {
    /* Events for the client, in order; lent. With a frame, the events describe that frame, for
     * wire_relay; without a frame, they are for wire_encode. `last`: only on_end follows, or more
     * bytes of the provider that belong to the same end, also with `last`. The receiver holds bytes
     * marked `last` back until on_end. */
    void (*on_frame)(void *ctx, const struct wire_frame *frame, const struct chat_event *events,
                     size_t n, bool touched, bool last);
    /* The call has failed; on_end follows. */
    void (*on_error)(void *ctx, const struct chat_error *error);
    /* The call is recorded; it is freed when this returns. `e`: the call could not be recorded; the
     * setting `unrecorded` decides what the client gets. */
    void (*on_end)(void *ctx, const struct err *e);
    /* No more frames for now: the receiver should send its buffered bytes. May be NULL. */
    void (*on_rest)(void *ctx);
    /* The gateway wants to retry: the receiver discards everything so far, and the reply starts
     * again. False: some bytes have already been sent, so no retry. NULL means false. */
    bool (*on_restart)(void *ctx);
};

/* For store_options.count_interrupted of a command; `config` is a struct config. The reasoning is
 * counted, and the answer as that of any reply for which the provider reports no usage. */
void call_count_interrupted(void *config, struct store_call *row);

/* The receiver of a call's events. */
struct call_listener {
    const struct call_sink *sink;
    void *ctx;
};

/* False: `error` says why, in words for the client; its texts are in the arena `a`. */
bool call_start(struct gateway_loop *gl, const struct call_request *r,
                struct call_listener listener, struct arena *a, struct call **out,
                struct chat_error *error) MUST_USE;
void call_cancel(struct call *c); /* no callback after it */
/* The caller has sent bytes to the client itself: the gateway no longer retries. */
void call_commit(struct call *c);
void call_pause(struct call *c);
void call_resume(struct call *c);
void call_facts(struct call *c, struct call_facts *out);
/* Whether frames of the provider may go to wire_relay. Known before the first on_frame. */
bool call_relays(const struct call *c);
bool call_hides(const struct call *c);
/* The policy that call_hides applies, from the request's wire, key and header; for replies that are
 * made without a call. preset: that of the requested level, or NULL. */
bool call_reply_hides(const struct config *c, const struct call_request *r,
                      const struct config_preset *preset);
/* The session that the call is recorded under; "" if nothing is recorded and the client named
 * none. */
str call_session(const struct call *c);
/* The headers of the provider's reply that the client may see. They are those of the attempt that
 * the client gets; none before its head has arrived. Lent until on_end returns. */
size_t call_reply_headers(const struct call *c, const struct http1_field **out);
/* The parameters of the request that the provider's dialect does not have, separated by commas;
 * lent likewise. */
str call_dropped_params(const struct call *c);
/* The provider that is being asked, or was asked last; lent until on_end returns. */
str call_provider_name(const struct call *c);
/* Our count of the request's tokens, for providers that report none: see input_tokens.h. The first
 * call of this function computes it. */
int64_t call_count_input(struct call *c);
/* Wall-clock time at which the call began. It is read once, so all records of the call agree. */
int64_t call_wall_start_ms(struct call *c);
/* The cost of all attempts in USD; -1 if unknown. Valid in on_end. */
double call_cost(const struct call *c);
