/* `rationale optimize`: texts that improve from graded runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "cli/cli.h"
#include "optimize/event.h"
#include "optimize/problem.h"

#define ARENA_MAX ((size_t)2 << 30)
#define LINE_SIZE_MAX ((size_t)1 << 30)

enum { REFERENCE };

static const struct cli_option options[] = {
    [REFERENCE] = {"reference", 0, "RUN.json", NULL, "make the run a file describes"},
};

/* A path in a run file is relative to that file. */
static bool read_beside(void *ctx, struct arena *a, str path, str *out, struct err *e)
{
    const char *run_path = ctx, *slash = strrchr(run_path, '/');
    str folder = slash ? (str){run_path, (size_t)(slash - run_path) + 1} : STR("");

    if (path.n == 0 || memchr(path.p, '\0', path.n))
        return err_set(e, ERR_INPUT, "problem: must be a path");
    if (path.p[0] == '/')
        folder = STR("");
    return file_read(a, arena_join(a, folder, path, STR("")).p, PROBLEM_FILE_MAX, out, e);
}

struct printer {
    struct cli *cli;
    struct buf line;
};

static void print_event(void *ctx, const struct optimize_event *ev)
{
    struct printer *p = ctx;

    buf_reset(&p->line);
    optimize_event_json(ev, &p->line);
    file_out_add(&p->cli->out, buf_str(&p->line));
}

static bool run_reference(struct cli *cli, const char *path, struct arena *a, struct err *e)
{
    struct problem_source source = {read_beside, arena_dup(a, str_c(path)).n ? (void *)0 : NULL};
    struct printer p = {.cli = cli};
    struct optimize *o = NULL;
    struct problem_run run;
    struct optimize_task task;
    char *copy = base_alloc(strlen(path) + 1);
    str text;
    bool ok;

    memcpy(copy, path, strlen(path) + 1);
    source.ctx = copy;
    buf_init(&p.line, LINE_SIZE_MAX);
    ok = file_read(a, path, PROBLEM_FILE_MAX, &text, e) &&
         (problem_run_read(a, text, source, &run, e) || err_prefix(e, "%s: ", path));
    if (ok) {
        task = problem_task(&run);
        task.sink = (struct optimize_sink){print_event, &p};
        ok = optimize_new(&task, &o, e) && optimize_run(o, e);
        optimize_free(o);
    }
    buf_release(&p.line);
    free(copy);
    return ok;
}

static int run(struct cli *cli, const struct cli_args *args)
{
    struct arena a;
    struct err e;
    bool ok;

    if (!args->value[REFERENCE])
        return cli_complain(CLI_USAGE, "optimize needs a run: --reference RUN.json");
    arena_init(&a, ARENA_MAX);
    ok = run_reference(cli, args->value[REFERENCE], &a, &e);
    arena_release(&a);
    return ok ? CLI_OK : cli_fail(&e);
}

const struct cli_command cli_optimize = {
    .name = "optimize",
    .summary = "improve texts from graded runs",
    .words = "",
    .about = "Makes the optimisation run that a file describes and prints its events.",
    .examples = "  rationale optimize --reference run.json\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = run,
};
