/* ask.h - a model call from inside this process: begun by any thread, waited for by it.
 *
 *     struct ask *a = ask_begin(gl, &request);
 *     ask_cancel(a);                                    any thread, any time before the end
 *     if (ask_wait(a, &arena, &reply)) ...              not on the loop's own thread; frees it
 *
 * It is a call like a client's of Chat Completions, without the HTTP: levels, budgets, retries,
 * fallbacks, the record and the metrics are the same. Made for a key, it is that key's call: its
 * models, levels, limits and spend hold, and it is on record as its own. Only the reasoning is
 * always given back, because whoever asks here decides who is shown it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/call.h"

struct ask;

struct ask_request {
    str body;            /* as a client would send it: model, messages, tools ... */
    str route;           /* for the record: what asks, such as "agent" */
    str session;         /* or "" */
    str title;           /* what the record names the session; or "": what the user asked */
    str id;              /* of the call; "": a new one is made */
    str level;           /* as in the header, or "" */
    str key;             /* the name of the client's key it is made for, or "": nobody's */
    bool defined;        /* an agent's definition chose model and level: the key's lists of them do
                            not apply */
    struct setup *setup; /* NULL: the one in force */
    int64_t timeout_ms;  /* ask_wait cancels the call after that time; 0: never */
    /* Text as it comes, on the loop's thread; may be NULL. */
    void (*on_text)(void *ctx, bool reasoning, str text);
    void *ctx;
};

struct ask_call {
    str id, name, arguments; /* arguments: JSON text as the model wrote it */
};

struct ask_reply {
    str id; /* of the call on record */
    str text, reasoning;
    bool thought; /* the text is why the calls are made: reasoning, written as text */
    struct ask_call *calls;
    size_t call_count;
    enum chat_stop stop;
    struct chat_usage usage;
    double cost_usd;         /* -1: not known */
    bool recorded;           /* it is in the store, or nothing is kept */
    bool begun;              /* some of it had come, so that a failure was not tried again */
    struct chat_error error; /* if it failed */
};

/* Copies what it is given, but the setup, which it holds on to. */
struct ask *ask_begin(struct gateway_loop *gl, const struct ask_request *r);
void ask_cancel(struct ask *a);
/* False: reply->error says why. What is in the reply lives in the arena. */
bool ask_wait(struct ask *a, struct arena *arena, struct ask_reply *reply) MUST_USE;
/* The same, and the call is cancelled once *cancel is true; NULL: never. */
bool ask_wait_for(struct ask *a, const _Atomic bool *cancel, struct arena *arena,
                  struct ask_reply *reply) MUST_USE;
