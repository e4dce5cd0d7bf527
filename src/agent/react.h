/* react.h - reads Thought, Action and Action Input, as models without function calling write them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

struct react_reply {
    str thought, action, input; /* input: JSON if it could be parsed, else unchanged */
    str answer;
    bool has_action, has_answer;
};

/* Texts are spans of `said`, or in the arena. */
void react_read(str said, struct arena *a, struct react_reply *out);
