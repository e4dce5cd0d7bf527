/* stage.h - runs several agents at once, for the stages of workflows and investigations.
 *
 *     agent_stage_work(&(struct agent_stage){parts, sizeof *parts, n, true, part_work});
 *     struct agent_finding f[] = {{name, text, ok}, ...};
 *     text = agent_stage_join(f, n, &arena);
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
    str name, text;
    bool ok;
};

/* The texts of those that are ok, in the arena; with several agents, each below its name. */
str agent_stage_join(const struct agent_finding *f, size_t n, struct arena *a);
