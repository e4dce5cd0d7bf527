/* runner_state.h - a run of an agent as its own files see it.
 *
 *   runner.c    which runs are active, their threads
 *   request.c   the request as the input of the run's row, and back
 *   part.c      one agent at work: its tools, its prompt, its result
 *   given.c     what a run was given, as a note in its log
 *   guard.c     guards of the input and of the output
 *   handoff.c   the conversation passed on to another agent
 *   memory.c    the conversation that a thread keeps
 *   workflow.c  stages of agents
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>

#include "agents/runner.h"
#include "base/json.h"

#define AGENTS_ARENA ((size_t)2 << 30) /* address space of one agent at work */
#define AGENTS_TEXT_MAX ((size_t)32 << 20)
#define agents_limits_none ((struct agent_limits){.iterations = 0, .tokens = -1})
#define AGENTS_EXTRA "\"stream\":true" /* watchers see the reply grow, and stalls are noticed */

struct agents_job {
    struct agents_runner *runner;
    struct agents_request q; /* texts in the arena */
    str input;               /* of the row */
    str session;
    struct arena arena;
    struct setup *setup; /* held: the configuration that it works by */
    pthread_t thread;
    _Atomic bool stop; /* cancelled, or the process ends */
    struct agents_job *next;
    /* Under the runner's lock. */
    uint64_t version; /* counts what was put into the log */
    bool again, over;
};

struct agents_runner {
    struct agents_host host;
    struct agents_servers *servers;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct agents_job *jobs;
    size_t job_count;
    _Atomic bool leaving;
};

/* An agent that the conversation may be passed on to. */
struct agents_handoff {
    str name, description;
};

struct agents_guard {
    enum config_guard_kind kind;
    str name; /* of the agent, or of the source of tools; "": a URL alone */
    str url;
};

/* One agent at work. */
struct agents_part {
    struct agents_job *job;
    const struct config_agent *agent;
    str run;
    str input;    /* what the user says, or what the part before it has found */
    str messages; /* JSON, comma separated; or "" */
    bool root;    /* the run itself: it has the caller's tools and the thread */
    unsigned depth;
    struct arena *arena;
    struct agents_tools *tools;
    /* What the run that it is a part of leaves to it (agents_limits_none: no limits); once it is
     * loaded, its own limits within these. */
    struct agent_limits limits;
    /* Of the definition, as given when the run began. */
    str model, system, level;
    struct agents_handoff *handoffs;
    size_t handoff_count;
    struct agents_guard guard_input, guard_output;
    struct agent_result before; /* usage of the guard of its input */
};

/* ---- request.c ---- */

void agents_request_write(const struct agents_request *q, struct buf *out);
bool agents_request_check(const struct agents_request *q, const struct config *c,
                          struct err *e) MUST_USE;
/* The caller's tools into the box. */
bool agents_request_add_tools(str tools, struct toolbox *box, struct err *e) MUST_USE;

/* ---- part.c ---- */

/* Until there is a result. False: the log failed, and the run can be resumed. */
bool agents_part_run(struct agents_part *p, struct agent_result *out, struct err *e) MUST_USE;
/* A run that ends without its loop: its row says why. */
bool agents_part_end(struct agents_part *p, struct agent_result *out, enum agent_end end,
                     const char *reason, str detail, struct err *e) MUST_USE;
/* What the part leaves to a run below it, once it has used that much. False: nothing; *out says
 * which limit is reached. */
bool agents_limits_left(const struct agents_part *p, const struct agent_result *used,
                        struct agent_limits *left, struct agent_result *out);
/* What runs of the job have in common. */
struct agent_options agents_job_options(struct agents_job *j, str run, bool root);
/* JSON as it may be kept; in the arena. */
str agents_job_masked(const struct agents_job *j, str json, struct arena *a);
const struct config_agents *agents_job_config(const struct agents_job *j);

/* ---- given.c ---- */

/* Opens the tools of the part, and sets all that it has of its definition: as in the run's note, or
 * as configured now, which then is the note. ERR_INPUT and ERR_NOT_FOUND: they cannot be had. */
bool agents_given_load(struct agents_part *p, struct err *e) MUST_USE;

/* ---- guard.c ---- */

struct agents_verdict {
    bool allow, waiting;
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
/* If the run ended with a handoff, the other agent's result takes the place of its own. */
bool agents_handoff_follow(struct agents_part *p, struct agent_result *out, struct err *e) MUST_USE;

/* ---- memory.c ---- */

/* Before anything of the run happens. ERR_NOT_FOUND: the thread is another key's. */
bool agents_memory_claim(struct agents_job *j, struct err *e) MUST_USE;
/* The messages of the thread, as of now; "" if it is new. */
bool agents_memory_read(struct agents_job *j, struct arena *a, str *messages,
                        struct err *e) MUST_USE;
/* What was said in this run, once. */
bool agents_memory_add(struct agents_job *j, str input, str answer, struct arena *a,
                       struct err *e) MUST_USE;

/* ---- workflow.c ---- */

/* `w`: as configured now, NULL if it is gone; a run that is resumed has its stages in its log.
 * ERR_NOT_FOUND: it has them nowhere. */
bool agents_workflow_run(struct agents_job *j, const struct config_workflow *w, struct arena *a,
                         struct agent_result *out, struct err *e) MUST_USE;
