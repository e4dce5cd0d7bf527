/* agent_help.h - a scripted model, and tools that count their calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run.h"
#include "test.h"

#define SCRIPT_MAX 32

/* A scripted model. The number of replies in the history selects the turn. */
struct script {
    const char *turns[SCRIPT_MAX]; /* a text, or calls: "name {args}\nname {args}" after "!" */
    _Atomic unsigned asked;
    str body; /* of the last request */
    struct arena arena;
};

bool script_ask(void *ctx, const struct ask_request *q, const _Atomic bool *cancel, struct arena *a,
                struct ask_reply *reply);

/* The same, with a delay of 120 milliseconds. */
bool script_ask_slowly(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                       struct arena *a, struct ask_reply *reply);

/* Ten turns; each but the last has one or more calls of `double`. */
extern struct script ten_steps;

/* Schema of the arguments of the tools here: {"n": an integer >= 0}. */
extern const char number_schema[];
/* A tool that ends the run, unless n is 13. */
bool finish(void *ctx, const struct tool_call *c, struct buf *out, struct err *e);

/* Options of a run with this script, all others at their defaults. */
struct agent_options script_options(struct script *s, struct toolbox *box);
/* Runs the agent and checks the history; fails the test if the run fails. */
struct agent_result script_run(const struct agent_options *o, struct arena *a);
/* Opens the log r.db in the folder. */
struct agent_log *log_in(const char *dir, struct arena *a);

bool has(str text, const char *what);
/* Parses "name {args}\nname {args}" as the calls of a turn. */
void calls_of(const char *text, size_t turn, struct arena *a, struct ask_reply *out);

/* Checks that tool messages with the results, in order, follow each message with calls. */
void check_history(str messages);
