/* agent_model_state.h - a reply of an agent as a model, as its own files see it: agent_model.c
 * follows the run and writes the reply, agent_model_begin.c finds or starts the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/events.h"
#include "apps/agents/agents.h"
#include "serve/agent_model.h"

#define MODEL_OUT_MAX ((size_t)64 << 20)
#define MODEL_CALLS_MAX 64 /* results of client tools in one request */
/* A reply that waits for a person has this sentence, by which the next request finds the run. */
#define MODEL_APPROVE "rationale runs approve '"

struct model_reply {
    struct agents_app *app;
    const struct app_request *q;
    struct app_reply *r;
    const struct wire *wire;
    struct json doc;
    struct chat_request request;
    struct wire_encoder encoder;
    struct buf out;
    bool stream, shows;
    str run;
    size_t calls;     /* of the client's tools, in the reply */
    struct buf items; /* the same calls, as items of the Responses dialect */
    bool begun;
    bool full;    /* the reply is complete: later events belong to the next one */
    bool resumed; /* the run was started by an earlier request */
    /* Events before this one were in earlier replies: the result of one of these calls, or the
     * decision on the question. */
    bool skipping;
    str results[MODEL_CALLS_MAX];
    size_t result_count;
    str decided_run;
    int64_t decided_seq;
    struct chat_usage usage;
    str text;
    struct conversation conversation; /* the conversation, recognized by its history */
    str session;
};

/* Finds the run that the request continues, or starts one. */
bool model_begin(struct model_reply *m, struct err *e) MUST_USE;
