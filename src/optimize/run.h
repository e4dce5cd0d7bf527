/* run.h - a run that outlives its process: kill it anywhere, go on, and it ends as it would have.
 *
 *     struct optimize_run *run;
 *     if (!optimize_run_new(&task, kept, keeper, &run, e) || !optimize_run_go(run, e))
 *         ...
 *     str best = optimize_text(optimize_run_engine(run), ...);
 *     optimize_run_free(run);
 *
 * A run is a function of its task and of the adapter's answers. So each answer is kept as it comes,
 * each event as it is told, a line of JSON each, in the order in which they happened:
 *
 *     {"run":1,"name":"policy","seed":0,...}                       what it was begun with
 *     {"event":"start",...}
 *     {"grade":[0,5],"score":0.5}                                  batch 0, place 5
 *     {"answer":0,"text":"..."}                                    ask 0
 *     {"time":12.5}
 *
 * To go on, the engine runs again from its start; what stands in the lines is not asked again, and
 * each event must be the one that stands there. A last line without its newline was not written
 * whole and is as if it were not there. At most what was in flight is lost.
 *
 * Promises:
 *   - Cut the lines anywhere: going on ends with the same lines as a run that was never cut.
 *   - A run is only gone on with under the task it was begun with.
 *   - A run that somebody stopped (asked_to_stop) has no finish in its lines, and can be gone on
 *     with.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "optimize/optimize.h"

#define OPTIMIZE_KEPT_MAX ((size_t)1 << 30)

/* Where the lines go: behind those that are there. */
struct optimize_keeper {
    bool (*add)(void *ctx, str line, struct err *e); /* with its newline */
    bool (*sync)(void *ctx, struct err *e);          /* so that they survive a power cut; or NULL */
    void *ctx;
};

struct optimize_run;

/* kept: what was kept before, all of it whole lines (optimize_kept_size), empty for a new run; lent
 * until the free, as is the task. */
bool optimize_run_new(const struct optimize_task *task, str kept, struct optimize_keeper keeper,
                      struct optimize_run **out, struct err *e) MUST_USE;
void optimize_run_free(struct optimize_run *r);
bool optimize_run_go(struct optimize_run *r, struct err *e) MUST_USE;

const struct optimize *optimize_run_engine(const struct optimize_run *r);

/* How much of it is whole lines. */
size_t optimize_kept_size(str kept);

/* A folder as the keeper: run.jsonl in it, held by one process at a time. */
struct optimize_folder {
    int fd;
};

/* Makes the folder if it is not there, reads what is kept into the arena (which must have room for
 * OPTIMIZE_KEPT_MAX) and drops a line that was not written whole. */
bool optimize_folder_open(const char *path, struct arena *a, struct optimize_folder *out, str *kept,
                          struct err *e) MUST_USE;
struct optimize_keeper optimize_folder_keeper(struct optimize_folder *f);
void optimize_folder_close(struct optimize_folder *f);
