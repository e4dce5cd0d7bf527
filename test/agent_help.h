/* agent_help.h - a model that says what it is told to, and tools that keep count.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run.h"
#include "test.h"

#define SCRIPT_MAX 32

/* The turn to give is told by how many replies the history has already, as a model would. */
struct script {
    const char *turns[SCRIPT_MAX]; /* a text, or calls: "name {args}\nname {args}" after "!" */
    _Atomic unsigned asked;
    str body; /* of the last request */
    struct arena arena;
};

bool script_ask(void *ctx, const struct ask_request *q, const _Atomic bool *cancel, struct arena *a,
                struct ask_reply *reply);

/* The same, 120 milliseconds later. */
bool script_ask_slowly(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                       struct arena *a, struct ask_reply *reply);

/* Whether each assistant's calls are answered, in order, by tool messages right behind it. */
void check_history(str messages);
