/* runner.h - runs the agents and workflows that the configuration defines.
 *
 *     struct agents_runner *r = agents_runner_new(&host);
 *     if (!agents_start(r, &request, &arena, &run, e)) ...    the run is on record, and begins
 *     while (agents_wait(r, run, &version, cancel)) ...       something was added to its log
 *     run_events_read(host.log, run, ...)                     agent/events.h
 *     agents_resume(r, &row);                                 after a restart, a word or a result
 *     agents_runner_free(r);                                  runs stop where they are
 *
 * Each run has its own thread. Its request is the input of its row. Its inputs (the prompt, the
 * model, the tools that servers listed) are a note in its log, so that another process can resume
 * it exactly. Handoffs, guards and the stages of a workflow are runs below it, RUN/PART, of the app
 * "agents.part". A run that is active in this process is never started a second time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/thread.h"
#include "agents/definition.h"

#define AGENTS_APP "agents"
#define AGENTS_PART "agents.part"
#define AGENTS_ACTIVE_MAX 512
#define AGENTS_INPUT_MAX ((size_t)4 << 20)
#define AGENTS_CLIENT_TOOLS_MAX 64
#define AGENTS_HANDOFFS_MAX 8 /* in one run */

/* All members are lent as long as the runner. */
struct agents_host {
    struct gateway *gateway;
    struct gateway_loop *gl;
    struct agent_log *log;   /* NULL: nothing is recorded, so nothing can be resumed */
    struct threads *threads; /* likewise */
    const struct clock *clock;
    const _Atomic bool *leave; /* the process ends */
    /* Finds the text of a prompt in the registry. */
    bool (*find_prompt)(void *ctx, str name, struct arena *a, str *text, struct err *e);
    void *prompt_ctx;
};

struct agents_request {
    str run;  /* "": a new id is made */
    str name; /* of the agent or workflow */
    bool workflow;
    str input;        /* the user's message */
    str content;      /* the same as JSON parts, if it has images or files; or "" */
    str instructions; /* the caller's system prompt, added after the agent's; or "" */
    str messages;     /* JSON, separated by commas: earlier messages; or "" */
    str thread;       /* the conversation that the run continues, or "" */
    str session;      /* in the record; "": the thread, or the run */
    str metadata;     /* a JSON object, stored with the run; or "" */
    str tools; /* tools of the caller: a JSON array of {"name", "description", "parameters"} */
    str key;   /* name of the client key it belongs to, or "" */
};

struct agents_runner;

struct agents_runner *agents_runner_new(const struct agents_host *h);
/* Waits until the runs have stopped at a point where they can be resumed. NULL is allowed. */
void agents_runner_free(struct agents_runner *r);
/* Call it after a reload of the configuration. */
void agents_runner_reload(struct agents_runner *r);

/* ERR_NOT_FOUND: there is no such agent, or the thread is another key's; ERR_AUTH: the key may not
 * run it; ERR_INPUT: the request is wrong; ERR_CANCELLED: a run is active in this thread;
 * ERR_LIMIT: too many runs are active. */
bool agents_start(struct agents_runner *r, const struct agents_request *q, struct arena *a,
                  str *run, struct err *e) MUST_USE;
/* Resumes the run, or the run that it is a part of. An active run reads its log again before it
 * ends. If the run belongs to another daemon, that daemon resumes it. */
void agents_resume(struct agents_runner *r, const struct agent_row *row);
/* Cancels the run, or the run that it is a part of; a waiting run is resumed to end. If the run
 * belongs to another daemon, that daemon cancels it. */
void agents_end(struct agents_runner *r, str run);
/* False: the run is not active in this process. */
bool agents_cancel(struct agents_runner *r, str run);
/* Another daemon took over all runs: they stop here. */
void agents_lost(struct agents_runner *r);
/* Waits until the log of the run has more than at *version (0 at first), which is then updated, or
 * until *cancel is true (may be NULL). False: the run is no longer active. For the run of another
 * daemon, the log may have more after each wait. */
bool agents_wait(struct agents_runner *r, str run, uint64_t *version, const _Atomic bool *cancel);
/* Waits until a run that has ended in the log is no longer active here: then another run may use
 * its thread. */
void agents_wait_gone(struct agents_runner *r, str run);
/* Reads the request from the input of a run's row; texts in the arena. */
bool agents_request_read(str json, struct arena *a, struct agents_request *out,
                         struct err *e) MUST_USE;
