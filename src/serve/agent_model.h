/* agent_model.h - an agent as a model: see agent_model.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/internal.h"

/* Whether the requested model is an agent: "agent/NAME". */
bool agent_model_is(str model);
/* Replies to a request that was already read. */
void agent_model_handle(struct exchange *ex);
