/* turn_state.h - the calls of one turn as their own files see them: turn.c carries them out,
 * turn_approval.c asks people about them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run_state.h"

struct turn_call {
    const struct ask_call *asked;
    const struct tool *tool;
    str arguments; /* as they are given to the tool: perhaps changed by a person */
    str shown;     /* and as the log has them: masked */
    int64_t seq;
    bool valid, ok, settled; /* settled: the result is there without a run */
    str result;              /* whole, in the run's arena */
};

struct turn {
    struct run *r;
    struct turn_call *calls;
    size_t n;
};

/* turn.c: the result is there, without a run of the tool. */
void turn_settle(struct turn *t, struct turn_call *c, bool ok, str result);
/* Whether there is such a tool, and the arguments are valid; if not, the call is settled. */
void turn_check(struct turn *t, struct turn_call *c);
str turn_error(struct run *r, str why);

/* turn_approval.c: false if nobody has said anything yet, or the run is broken. */
/* What a person said to a call. */
struct turn_word {
    str word; /* approve, deny, change */
    str note; /* why, or "" */
};

bool turn_ask_person(struct turn *t, struct turn_call *c, int64_t seq, str why,
                     struct turn_word *said);
bool turn_approve(struct turn *t);
