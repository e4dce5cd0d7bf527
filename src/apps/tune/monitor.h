/* monitor.h - checks whether verdicts are still good: judges those of the last seven days without
 * labels.
 *
 *     if (!monitor_check(url, now_us, &seen, e)) ...
 *     if (seen.proposed.n) ...                      a run is proposed, or was already
 *
 * A verdict is judged without a label: are the citations complete, does the conclusion rest on
 * passages that the run read, does the confidence fit the status. If the quality is below
 * MONITOR_QUALITY, the check proposes one run of the optimizer: a row with the status "proposed".
 * `rationale optimize --app policy --resume ID` starts it, or the daemon if so configured.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define MONITOR_QUALITY 0.75
#define MONITOR_DAYS 7
#define MONITOR_EVERY_MS (24ull * 3600 * 1000)
#define MONITOR_LEAST 20 /* verdicts; with fewer the mean is not meaningful */
#define MONITOR_MOST 10000

struct monitor_seen {
    size_t verdicts;
    double quality; /* mean; 0 if there are no verdicts */
    str proposed;   /* id of the run, in the arena; or "" */
};

bool monitor_check(str url, int64_t now_us, struct arena *a, struct monitor_seen *out,
                   struct err *e) MUST_USE;
