/* withheld.h - what an output guard keeps back: the answer of a guarded run and all that the runs
 * below it (RUN/PART: handoffs, guards) said, until the guarded run is done. A run that ended in
 * any other way (the guard denied, somebody cancelled) keeps it back for good. Only an operator who
 * may see reasoning reads it, in GET run and in a replay; the events never have it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/log.h"

struct run_withheld {
    bool answer;   /* of the run itself: replies without calls */
    bool all;      /* a run above it is guarded: everything */
    bool for_good; /* nobody will allow it any more */
};

bool run_withheld_read(struct agent_log *log, str run, struct arena *a, struct run_withheld *out,
                       struct err *e) MUST_USE;
