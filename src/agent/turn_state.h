/* turn_state.h - the calls of one turn: turn.c makes them, turn_approval.c asks people about them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run_state.h"

struct turn_call {
    const struct ask_call *asked;
    const struct tool *tool;
    str arguments; /* as passed to the tool: a person may have changed them */
    str shown;     /* as in the log: masked */
    int64_t seq;
    bool valid, ok, settled; /* settled: the result is known without running the tool */
    str result;              /* whole, in the run's arena */
};

struct turn {
    struct run *r;
    struct turn_call *calls;
    size_t n;
};

/* turn.c: sets the result without running the tool. */
void turn_settle(struct turn *t, struct turn_call *c, bool ok, str result);
/* Checks that the tool exists and the arguments are valid; if not, settles the call. */
void turn_check(struct turn *t, struct turn_call *c);
str turn_error(struct run *r, str why);

/* A person's decision on a call. */
struct turn_word {
    str word; /* approve, deny, change */
    str note; /* why, or "" */
};

/* turn_approval.c: false if nobody has decided yet, or the run is broken. */
bool turn_ask_person(struct turn *t, struct turn_call *c, int64_t seq, str why,
                     struct turn_word *said);
bool turn_approve(struct turn *t);
