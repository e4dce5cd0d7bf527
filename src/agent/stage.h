/* stage.h - runs several agents at once, for the stages of workflows and investigations.
 *
 *     agent_stage_work(&(struct agent_stage){parts, sizeof *parts, n, true, part_work});
 *     struct agent_finding f[] = {{name, &result, ok, NULL}, ...};
 *     if (!agent_stage_judge(f, n, all, &arena, &out, e)) ...
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run.h"

#define AGENT_STAGE_MAX 64 /* agents in parallel; further ones run one after the other */

struct agent_stage {
    void *agents; /* an array; `work` gets a pointer to each element */
    size_t size;  /* of an element */
    size_t count;
    bool parallel;
    void (*work)(void *agent);
};

/* Returns when all have finished. The first runs on the caller's thread, as do those for which no
 * thread can be started. */
void agent_stage_work(const struct agent_stage *s);

struct agent_finding {
    str name;
    const struct agent_result *result;
    bool ok;                  /* the result counts as a success */
    const struct err *broken; /* the agent's log failed; or NULL */
};

/* The result of a stage: usage is added to *out, its text is that of the successful agents (with
 * several agents, each below its name). `all`: all must succeed, else one is enough; but while one
 * waits or was cancelled, the stage is not over. False: a log failed. */
bool agent_stage_judge(const struct agent_finding *f, size_t n, bool all, struct arena *a,
                       struct agent_result *out, struct err *e) MUST_USE;
