/* withheld.h - the texts that an output guard withholds: the answer of a guarded run and everything
 * from the runs below it (RUN/PART: handoffs, guards), until the guarded run is done. A run that
 * ended in any other way (denied by the guard, cancelled) withholds them permanently. Only an
 * operator who may see reasoning can read them, in GET run and in a replay; the events never have
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/log.h"

struct run_withheld {
    bool answer;   /* the run's own: replies without calls */
    bool all;      /* a run above it is guarded: everything */
    bool for_good; /* permanently: no result can release it any more */
};

bool run_withheld_read(struct agent_log *log, str run, struct arena *a, struct run_withheld *out,
                       struct err *e) MUST_USE;
