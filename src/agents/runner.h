/* runner.h - runs of the agents and workflows that the configuration defines.
 *
 *     struct agents_runner *r = agents_runner_new(&host);
 *     if (!agents_start(r, &request, &arena, &run, e)) ...    the run is on record, and begins
 *     while (agents_wait(r, run, &version, cancel)) ...       something was added to its log
 *     run_events_read(host.log, run, ...)                     agent/events.h
 *     agents_resume(r, &row);                                 after a restart, a word or a result
 *     agents_runner_free(r);                                  runs stop where they are
 *
 * A run has a thread of its own. Its request is the input of its row, and what it was given (the
 * prompt, the model, the tools that servers listed) is a note in its log, so that another process
 * goes on with it exactly. Handoffs, guards and the stages of a workflow are runs below it,
 * RUN/PART, of the app "agents.part". A run that is active in this process is never started a
 * second time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/log.h"
#include "agent/run.h"
#include "agent/thread.h"
#include "agents/definition.h"
#include "gateway/gateway.h"

#define AGENTS_APP "agents"
#define AGENTS_PART "agents.part"
#define AGENTS_ACTIVE_MAX 512
#define AGENTS_INPUT_MAX ((size_t)4 << 20)
#define AGENTS_CLIENT_TOOLS_MAX 64
#define AGENTS_HANDOFFS_MAX 8 /* in one run */

/* All of it is lent as long as the runner. */
struct agents_host {
    struct gateway *gateway;
    struct gateway_loop *gl;
    struct agent_log *log;   /* NULL: nothing is on record, and nothing can be resumed */
    struct threads *threads; /* likewise */
    const struct clock *clock;
    const _Atomic bool *leave; /* the process ends */
    /* The text of a prompt in the registry. */
    bool (*find_prompt)(void *ctx, str name, struct arena *a, str *text, struct err *e);
    void *prompt_ctx;
};

struct agents_request {
    str run;  /* "": a new id is made */
    str name; /* of the agent or workflow */
    bool workflow;
    str input;        /* what the user says */
    str content;      /* the same as JSON parts, if it has images or files too; or "" */
    str instructions; /* of the caller: behind the agent's prompt; or "" */
    str messages;     /* JSON, comma separated: what was said before; or "" */
    str thread;       /* the conversation that it goes on with, or "" */
    str session;      /* of the record; "": the thread, or the run */
    str metadata;     /* a JSON object, kept with the run; or "" */
    str tools; /* tools of the caller: a JSON array of {"name", "description", "parameters"} */
    str key;   /* whose: the name of the client's key, or "" */
};

struct agents_runner;

struct agents_runner *agents_runner_new(const struct agents_host *h);
/* Waits for the runs to be where they can be left. NULL: nothing. */
void agents_runner_free(struct agents_runner *r);
/* The configuration was read again. */
void agents_runner_reload(struct agents_runner *r);

/* ERR_NOT_FOUND: there is no such agent, or the thread is another key's; ERR_AUTH: the key may not
 * run it; ERR_INPUT: the request is wrong; ERR_CANCELLED: a run is
 * active in this thread; ERR_LIMIT: too many runs are active. */
bool agents_start(struct agents_runner *r, const struct agents_request *q, struct arena *a,
                  str *run, struct err *e) MUST_USE;
/* Goes on with the run, or with the run that it is a part of. One that is active looks at its log
 * again before it ends. */
void agents_resume(struct agents_runner *r, const struct agent_row *row);
/* False: the run is not active in this process. */
bool agents_cancel(struct agents_runner *r, str run);
/* Waits until the log of the run has more than at *version (0 at first), which is then updated, or
 * *cancel is true (may be NULL). False: the run is not active any more. */
bool agents_wait(struct agents_runner *r, str run, uint64_t *version, const _Atomic bool *cancel);
/* Waits for a run that has ended on record to leave this process: then its thread is free. */
void agents_wait_gone(struct agents_runner *r, str run);
/* The request that is the input of a run's row; texts in the arena. */
bool agents_request_read(str json, struct arena *a, struct agents_request *out,
                         struct err *e) MUST_USE;
