/* runner_state.h - the internals of an agent's run.
 *
 *   runner.c    the active runs and their threads
 *   request.c   the request as the input of the run's row, and back
 *   part.c      one agent of a run: its tools, its prompt, its result
 *   saved.c     the run's inputs, as a note in its log
 *   guard.c     input and output guards
 *   handoff.c   hands the conversation to another agent
 *   memory.c    the conversation that a thread keeps
 *   workflow.c  stages of agents
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agents/runner.h"

#define AGENTS_ARENA ((size_t)2 << 30) /* address space for one agent */
#define AGENTS_HANDOFF "handoff_to_"   /* begins the name of a tool that hands over */
#define AGENTS_TEXT_MAX ((size_t)32 << 20)
#define agents_limits_none ((struct agent_limits){.iterations = 0, .tokens = -1})
#define AGENTS_EXTRA "\"stream\":true" /* so that watchers see the reply grow */

struct agents_job {
    struct agents_runner *runner;
    struct agents_request q; /* texts in the arena */
    str input;               /* of the row */
    str session;
    struct arena arena;
    struct setup *setup; /* held: the run's configuration */
    _Atomic bool stop;   /* cancelled, or the process ends */
    _Atomic bool left;   /* the process ends, or another daemon has the run: it is not over */
    struct agents_job *next;
    /* Under the runner's lock. */
    uint64_t version; /* counts the puts into the log */
    bool again;
    bool ready, begun;   /* its row is stored; its thread has been started */
    bool broken, ending; /* its thread's: PostgreSQL failed; it is resumed only to end */
};

struct agents_runner {
    struct agents_host host;
    struct agents_servers *servers;
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t changed;
    struct agents_job *jobs; /* the newest first */
    size_t job_count, begun_count;
    _Atomic bool leaving;
};

/* An agent that may take over the conversation. */
struct agents_handoff {
    str name, description;
};

struct agents_guard {
    enum config_guard_kind kind;
    str name; /* of the agent, or of the tool source; "": only a URL */
    str url;
};

/* One agent of a run. */
struct agents_part {
    struct agents_job *job;
    const struct config_agent *agent;
    str run, stage; /* stage: its number in a workflow; or "" */
    str input;      /* the user's message, or the result of the previous stage */
    str messages;   /* JSON, separated by commas; or "" */
    bool root;      /* the run itself: it has the caller's tools and the thread */
    unsigned depth;
    struct arena *arena;
    struct agents_tools *tools;
    /* The remaining limits of the run above (agents_limits_none: no limits); once the part is
     * loaded, its own limits within these. */
    struct agent_limits limits;
    /* Copied from the definition when the run began. */
    str model, system, level;
    struct agents_handoff *handoffs;
    size_t handoff_count;
    struct agents_guard guard_input, guard_output;
    struct agent_result before; /* usage of its input guard */
};

/* ---- request.c ---- */

void agents_request_write(const struct agents_request *q, struct buf *out);
bool agents_request_check(const struct agents_request *q, const struct config *c,
                          struct err *e) MUST_USE;
/* Adds the caller's tools to the box. */
bool agents_request_add_tools(str tools, struct toolbox *box, struct err *e) MUST_USE;

/* ---- part.c ---- */

/* Runs until there is a result. False: the log failed, and the run can be resumed. */
bool agents_part_run(struct agents_part *p, struct agent_result *out, struct err *e) MUST_USE;
/* Ends a run without its loop; the run's row has the reason. */
bool agents_part_end(struct agents_part *p, struct agent_result *out, enum agent_end end,
                     const char *reason, str detail, struct err *e) MUST_USE;
/* Ends the parts of a cancelled run that are not over: nothing resumes them. */
void agents_parts_cancel(struct agents_runner *r, str run, str session);
/* The limits that the part leaves to a run below it, after `used`. False: nothing is left; *out
 * names the limit that is reached. */
bool agents_limits_left(const struct agents_part *p, const struct agent_result *used,
                        struct agent_limits *left, struct agent_result *out);
/* The options that all runs of the job share. */
struct agent_options agents_job_options(struct agents_job *j, str run, bool root);
/* JSON masked for storage; in the arena. */
str agents_job_masked(const struct agents_job *j, str json, struct arena *a);
const struct config_agents *agents_job_config(const struct agents_job *j);

/* ---- saved.c ---- */

/* Opens the tools of the part, and sets its values of the definition: from the run's note, or
 * as configured now, which then becomes the note. ERR_INPUT and ERR_NOT_FOUND: they are not
 * available. */
bool agents_saved_load(struct agents_part *p, struct err *e) MUST_USE;

/* ---- guard.c ---- */

struct agents_verdict {
    bool allow, waiting;
    bool cancelled; /* before the verdict: by a person, or the process ends */
    str reason;
    struct agent_result used; /* usage of the guard */
};
/* `what`: "input" or "output"; `left`: the guard's limits. False: the log failed. */
struct agents_question {
    const struct agents_guard *guard;
    const char *what;
    str text;
    struct agent_limits left;
};
bool agents_guard_ask(struct agents_part *p, const struct agents_question *q,
                      struct agents_verdict *out, struct err *e) MUST_USE;

/* ---- handoff.c ---- */

bool agents_handoff_add_tools(struct agents_part *p, struct err *e) MUST_USE;
/* If the run ended with a handoff, the other agent's result replaces its own. */
bool agents_handoff_follow(struct agents_part *p, struct agent_result *out, struct err *e) MUST_USE;

/* ---- memory.c ---- */

/* Call it before the run does anything. ERR_NOT_FOUND: the thread is another key's. */
bool agents_memory_claim(struct agents_job *j, struct err *e) MUST_USE;
/* The current messages of the thread; "" if it is new. */
bool agents_memory_read(struct agents_job *j, struct arena *a, str *messages,
                        struct err *e) MUST_USE;
/* Adds the messages of this run, once. */
bool agents_memory_add(struct agents_job *j, str input, str answer, struct arena *a,
                       struct err *e) MUST_USE;

/* ---- workflow.c ---- */

/* `w`: as configured now, NULL if it no longer exists; a resumed run has its stages in its log.
 * ERR_NOT_FOUND: neither has them. */
bool agents_workflow_run(struct agents_job *j, const struct config_workflow *w, struct arena *a,
                         struct agent_result *out, struct err *e) MUST_USE;
