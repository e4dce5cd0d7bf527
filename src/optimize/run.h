/* run.h - a run that survives its process: if it is killed anywhere and resumed, it ends the same.
 *
 *     struct optimize_run *run;
 *     if (!optimize_run_new(&task, kept, keeper, &run, e) || !optimize_run_go(run, e))
 *         ...
 *     str best = optimize_text(optimize_run_engine(run), ...);
 *     optimize_run_free(run);
 *
 * A run is a function of its task and of the adapter's answers. So each answer and each event is
 * stored as a line of JSON, in the order in which they happen:
 *
 *     {"run":1,"name":"policy","seed":0,...}                       its task and settings
 *     {"event":"start",...}
 *     {"grade":[0,5],"score":0.5}                                  batch 0, place 5
 *     {"answer":0,"text":"..."}                                    ask 0
 *     {"time":12.5}
 *
 * To resume, the engine runs again from its start. It takes answers from the lines instead of
 * asking again, and checks that each event equals the stored one. A last line without a newline is
 * incomplete and ignored. At most the unfinished answers are lost.
 *
 * Promises:
 *   - Wherever the lines are cut, a resumed run ends with the same lines as an uninterrupted one.
 *   - A run resumes only with the task it started with.
 *   - A run that was stopped (asked_to_stop) has no finish event and can be resumed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "optimize/optimize.h"

#define OPTIMIZE_KEPT_MAX ((size_t)1 << 30)

/* Receives the lines, after those that exist. */
struct optimize_keeper {
    bool (*add)(void *ctx, str line, struct err *e); /* with its newline */
    bool (*sync)(void *ctx, struct err *e);          /* so that they survive a power cut; or NULL */
    void *ctx;
};

struct optimize_run;

/* kept: the stored lines, all complete (optimize_kept_size); empty for a new run. The run borrows
 * kept and task until it is freed. */
bool optimize_run_new(const struct optimize_task *task, str kept, struct optimize_keeper keeper,
                      struct optimize_run **out, struct err *e) MUST_USE;
void optimize_run_free(struct optimize_run *r);
bool optimize_run_go(struct optimize_run *r, struct err *e) MUST_USE;

const struct optimize *optimize_run_engine(const struct optimize_run *r);

/* The size of the complete lines. */
size_t optimize_kept_size(str kept);

/* A folder as the keeper: it has run.jsonl and is locked by one process at a time. */
struct optimize_folder {
    int fd;
};

/* Creates the folder if it does not exist, reads the stored run into the arena (which must have
 * room for OPTIMIZE_KEPT_MAX), and drops an incomplete last line. */
bool optimize_folder_open(const char *path, struct arena *a, struct optimize_folder *out, str *kept,
                          struct err *e) MUST_USE;
struct optimize_keeper optimize_folder_keeper(struct optimize_folder *f);
void optimize_folder_close(struct optimize_folder *f);
