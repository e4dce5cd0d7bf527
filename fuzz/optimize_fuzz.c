/* Run files and problem files: arbitrary bytes are refused with a reason, or describe a run that is
 * valid and survives storing and loading.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "optimize/problem.h"
#include "optimize/run.h"

#define ITERATIONS_MAX 8
#define WORK_MAX 20000 /* examples x tasks: larger problems are only read */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool add(void *ctx, str line, struct err *e)
{
    (void)e;
    buf_add(ctx, line);
    return true;
}

static void go(const struct optimize_task *task, str kept, struct buf *lines)
{
    struct optimize_run *run = NULL;
    struct err e;
    bool ok = optimize_run_new(task, kept, (struct optimize_keeper){add, NULL, lines}, &run, &e) &&
              optimize_run_go(run, &e);

    assert(ok || e.text[0]);
    optimize_run_free(run);
}

static void check_run(struct problem_run *run)
{
    struct optimize_settings *s = &run->settings;
    struct optimize_task task;
    struct buf lines, rest;
    size_t cut;

    if ((s->minibatch * s->parents * s->batches + run->problem.val_count) > WORK_MAX)
        return;
    s->stops[s->stop_count++] = (struct optimize_stop){OPTIMIZE_STOP_ITERATIONS, ITERATIONS_MAX};
    task = problem_task(run);
    buf_init(&lines, (size_t)64 << 20);
    buf_init(&rest, (size_t)64 << 20);
    go(&task, STR(""), &lines);
    assert(!buf_full(&lines));
    cut = optimize_kept_size(str_slice(buf_str(&lines), 0, lines.n / 2));
    buf_add(&rest, str_slice(buf_str(&lines), 0, cut));
    go(&task, str_slice(buf_str(&lines), 0, cut), &rest);
    assert(str_eq(buf_str(&lines), buf_str(&rest)));
    buf_release(&lines);
    buf_release(&rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = {(const char *)data, size};
    struct problem_run run;
    struct problem problem;
    struct arena a;
    struct err e;

    arena_init(&a, (size_t)256 << 20);
    if (problem_run_read(&a, text, (struct problem_source){0}, &run, &e))
        check_run(&run);
    else
        assert(e.text[0]);
    if (!problem_read(&a, text, &problem, &e))
        assert(e.text[0]);
    arena_release(&a);
    return 0;
}
