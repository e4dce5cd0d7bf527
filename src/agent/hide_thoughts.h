/* hide_thoughts.h - the thoughts of a model in the result of a run.
 *
 *     json = run_hide_thoughts(json, arena);
 *
 * A result may have lists named reasoning_trace, with steps of an action and an observation. The
 * observation of a step "think" is what the model thought; it becomes empty for who may not see
 * reasoning.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

/* The JSON without thoughts: itself if it has none, or is no JSON; else in the arena. */
str run_hide_thoughts(str json, struct arena *a);
