/* reflector.h - a proposer for any application: prompt, model reply, checks.
 *
 *     struct reflector r = {.complete = ask_the_gateway, .ctx = ..., .names = names, ...};
 *     return reflector_propose(&r, asks, n, e);     in the adapter's propose
 *
 * For each question it builds the prompt from the traces, gets a reply, extracts the text and
 * checks it with guard.h. It drops a text that copies an example or loses a name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "optimize/guard.h"
#include "optimize/optimize.h"

#define REFLECTOR_PROMPT_MAX ((size_t)8 << 20)

enum reflector_verdict {
    REFLECTOR_GOOD,
    REFLECTOR_EMPTY,
    REFLECTOR_COPIES, /* what: the words copied */
    REFLECTOR_LOSES,  /* what: the name lost */
    REFLECTOR_TOO_LONG,
};

struct reflector_reply {
    str text; /* in the arena of the ask */
    double cost;
};

struct reflector {
    str template; /* empty: prompt_template */
    /* Calls the model; the reply is in the arena. An error ends the run, so the function should
     * retry transient ones. */
    bool (*complete)(void *ctx, const struct optimize_ask *ask, str prompt,
                     struct reflector_reply *reply, struct err *e);
    const str *examples; /* texts of the training examples, which no text may copy */
    size_t example_count;
    const str *names; /* that a text must keep: statuses, names of the output schema */
    size_t name_count;
    /* Called with the outcome of each reply; or NULL. `what` is lent. */
    void (*on_verdict)(void *ctx, const struct optimize_ask *ask, enum reflector_verdict v,
                       str what);
    void *ctx;
};

/* Whether a text may replace another. */
enum reflector_verdict reflector_look(const struct reflector *r, str proposed, str current,
                                      str *what);

/* Implements an adapter's propose. */
bool reflector_propose(const struct reflector *r, struct optimize_ask *asks, size_t n,
                       struct err *e);
