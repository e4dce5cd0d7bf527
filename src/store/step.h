/* step.h - the purpose of a model call or tool call (step_description), with its stage and agent.
 *
 *     step_write(a, STR("gather"), STR("PodAgent"), STR("turn 2"))    gather / PodAgent: turn 2
 *     step_read(step, &stage, &agent)                                 gather, PodAgent
 *
 * A stage or an agent may be "": "PodAgent: turn 2", "turn 2". Their names have neither ": " nor
 * " / " in them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

str step_write(struct arena *a, str stage, str agent, str what);
/* Spans of the step, or "". */
void step_read(str step, str *stage, str *agent);
