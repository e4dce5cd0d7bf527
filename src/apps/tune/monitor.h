/* monitor.h - whether verdicts are still good: the last seven days, judged without labels.
 *
 *     if (!monitor_check(url, now_us, &seen, e)) ...
 *     if (seen.proposed.n) ...                      a run is proposed, or was already
 *
 * A verdict is judged by what can be seen without a label (is what is cited whole, does the
 * conclusion rest on what was looked at, is it as sure as its status should be). Below
 * MONITOR_QUALITY a run of the optimizer is proposed, once: a row with the status "proposed", which
 * somebody begins with `rationale optimize --app policy --resume ID`, or the daemon by itself if it
 * is configured so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define MONITOR_QUALITY 0.75
#define MONITOR_DAYS 7
#define MONITOR_EVERY_MS (24ull * 3600 * 1000)
#define MONITOR_LEAST 20 /* verdicts; fewer say nothing */
#define MONITOR_MOST 10000

struct monitor_seen {
    size_t verdicts;
    double quality; /* mean; 0 if there are none */
    str proposed;   /* id of the run, in the arena; or "" */
};

bool monitor_check(str url, int64_t now_us, struct arena *a, struct monitor_seen *out,
                   struct err *e) MUST_USE;
