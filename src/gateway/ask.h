/* ask.h - a model call made inside this process: any thread starts it and waits for its reply.
 *
 *     struct ask *a = ask_begin(gl, &request);
 *     ask_cancel(a);                                    any thread, any time before the end
 *     if (ask_wait(a, &arena, &reply)) ...              not on the loop's own thread; frees it
 *
 * The call runs like a client's Chat Completions request, without the HTTP: levels, budgets,
 * retries, fallbacks, the record and the metrics are the same. If the request names a key, the call
 * belongs to that key: the key's models, levels, limits and spend apply, and the record names the
 * key. The reply always includes the reasoning, because the code that asks decides who sees it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/call.h"

struct ask;

struct ask_request {
    str body;            /* the same JSON that a client would send: model, messages, tools ... */
    str route;           /* for the record: the part of the program that asks, such as "agent" */
    str session;         /* the session's id, or "" */
    str title;           /* the session's title in the record; "": taken from the user's question */
    str step;            /* the purpose of the call, for the record; or "" */
    bool quiet;          /* the prompt needs no reasoning: enable_reasoning does not ask for it */
    bool part;           /* an application sets the session's status, not its calls */
    str id;              /* the call's id; "": the gateway makes one */
    str level;           /* the same values as in the header, or "" */
    str key;             /* name of the client key that the call belongs to, or "": no key */
    bool defined;        /* an agent's definition chose the model and level, so the key's lists
                            of models and levels do not apply */
    struct setup *setup; /* NULL: the current setup */
    int64_t timeout_ms;  /* ask_wait cancels the call after this time; 0: never */
    /* Called with each piece of text on the loop's thread; may be NULL. */
    void (*on_text)(void *ctx, bool reasoning, str text);
    void *ctx;
    struct call_reader reader; /* gets the whole text; lent until the wait returns */
};

struct ask_call {
    str id, name, arguments; /* arguments: JSON text as the model wrote it */
};

struct ask_reply {
    str id; /* the call's id in the record */
    str text, reasoning;
    bool thought; /* the text is reasoning, written as text: why the tool calls are made */
    struct ask_call *calls;
    size_t call_count;
    enum chat_stop stop;
    struct chat_usage usage;
    double cost_usd;         /* -1: unknown */
    bool recorded;           /* the store has the call, or nothing is recorded */
    bool begun;              /* part of the reply had arrived, so the failure was not retried */
    struct chat_error error; /* set if the call failed */
};

/* Copies the request, except the setup, on which it takes a reference. */
struct ask *ask_begin(struct gateway_loop *gl, const struct ask_request *r);
void ask_cancel(struct ask *a);
/* False: reply->error says why. The reply's texts are in the arena. */
bool ask_wait(struct ask *a, struct arena *arena, struct ask_reply *reply) MUST_USE;
/* Like ask_wait; also cancels the call once *cancel is true. NULL: never. */
bool ask_wait_for(struct ask *a, const _Atomic bool *cancel, struct arena *arena,
                  struct ask_reply *reply) MUST_USE;
