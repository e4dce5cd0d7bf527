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

/* Ten turns with a call or more of `double` in all but the last. */
extern struct script ten_steps;

/* What the tools here take: {"n": a whole number from 0}. */
extern const char number_schema[];
/* A tool that ends the run, unless n is 13. */
bool finish(void *ctx, const struct tool_call *c, struct buf *out, struct err *e);

/* A run of that script with nothing else to it. */
struct agent_options script_options(struct script *s, struct toolbox *box);
/* Runs it and checks the history it leaves; a run that fails ends the test. */
struct agent_result script_run(const struct agent_options *o, struct arena *a);
/* In the folder's r.db. */
struct agent_log *log_in(const char *dir, struct arena *a);

bool has(str text, const char *what);
/* "name {args}\nname {args}" as calls of that turn. */
void calls_of(const char *text, size_t turn, struct arena *a, struct ask_reply *out);

/* Whether each assistant's calls are answered, in order, by tool messages right behind it. */
void check_history(str messages);
