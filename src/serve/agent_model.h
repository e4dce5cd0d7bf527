/* agent_model.h - an agent as a model: see agent_model.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/internal.h"

/* Whether the model that is asked for is an agent's: "agent/NAME". */
bool agent_model_is(str model);
/* Answers the request, which has been read. */
void agent_model_handle(struct exchange *ex);
