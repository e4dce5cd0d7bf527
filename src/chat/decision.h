/* decision.h - a reply as one line of the decision log.
 *
 *     decision_write(&out, &reply, &tools);
 *
 *     [TOOL_CALL] lookup, add: why                with the reasoning, as far as it may be recorded
 *     [TOOL_CALL] lookup, add: lookup(name='Egg', n=2); add(id='7')         without
 *     [DIRECT] why                                or the answer's first 80 characters
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#define DECISION_SNIPPET 80         /* characters */
#define DECISION_WHY_MAX 65536      /* bytes of reasoning in an entry; the rest is dropped */
#define DECISION_ARGUMENTS_MAX 8192 /* bytes of one call's arguments, likewise */

struct decision {
    str why;    /* reasoning that may be recorded, or "" */
    str answer; /* its first characters are enough */
    str calls;  /* JSON array of {id, name, arguments: JSON text}, or "" */
};

/* Writes the entry to out and, unless tools is NULL, the names of the tools to tools, as a JSON
 * array (nothing without tools). */
void decision_write(struct buf *out, struct buf *tools, const struct decision *d);
