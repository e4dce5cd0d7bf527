/* tune.h - an application's prompts improved from its labelled cases; a run is a row in the store.
 *
 *     struct tune_options o = {.host = host, .app = tune_app_find(STR("policy")), .train = dir,
 *                              .val = dir, .budget = 150, .run = id, ...};
 *     if (!tune_run(&o, &arena, &result, e)) ...    e: the error; the run can be resumed
 *     result.prompt_id                              the best candidate, a draft in the registry
 *
 * The engine is src/optimize; this is its adapter. A candidate is a version of the application's
 * prompt, an example is a labelled case, an evaluation is a run of the application on it, and
 * reflection is a call through the gateway. Every answer is in the store before it is used, so a
 * run that is killed anywhere resumes to the same end.
 *
 * Each application has a row, struct tune_app.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/app.h"
#include "apps/registry.h"
#include "optimize/event.h"
#include "optimize/optimize.h"

#define TUNE_EXAMPLES_MAX 10000
#define TUNE_THREADS 4 /* evaluations at once */
#define TUNE_ID_MAX 128
#define TUNE_LIST_MAX 200

/* One labelled case. */
struct tune_example {
    str id;
    str text;         /* no prompt may copy from it */
    const str *parts; /* nor from these, each on its own */
    size_t part_count;
    const void *data; /* the application's data */
};

/* The environment of an evaluation. */
struct tune_env {
    const struct app_host *host;
    const struct setup *setup; /* in force when the run started, held until it ends */
    str model, session, run;
    str chosen_model; /* of the options; "": the application's configured one */
    void *app;        /* the result of its open */
    const _Atomic bool *cancel;
};

struct tune_app {
    const char *name; /* of --app, and of its prompts in the registry */
    const struct prompt_built_in *prompt;
    const char *const *objectives; /* names, NULL after the last */
    const double *floors;          /* means below these count as failed; NULL: none */
    const char *names;             /* that a text must keep if it has them, between spaces */
    /* State for the whole run; *out is passed to close. */
    bool (*open)(const struct tune_env *env, struct arena *a, void **out, struct err *e);
    void (*close)(void *app);
    /* The cases of a folder, in the order of their names. */
    bool (*load)(void *app, const char *folder, struct arena *a, struct tune_example **out,
                 size_t *n, struct err *e);
    /* Evaluates an example with these texts, one for each part of the prompt. An error is a score
     * of 0 and a trace with the reason. Any thread. The trace is a JSON object, in the arena. */
    void (*grade)(const struct tune_env *env, const str *texts, const struct tune_example *x,
                  struct arena *a, struct optimize_grade *out);
    /* Whether a run with this trace used the component's text; NULL: every run uses all. */
    bool (*uses)(const struct tune_env *env, str component, str trace);
};

extern const struct tune_app tune_policy, tune_orders, tune_incidents;

/* The rows, NULL after the last; and the one of that name, or NULL. */
const struct tune_app *tune_app_at(size_t i);
const struct tune_app *tune_app_find(str name);
/* Of every run on an application. */
struct optimize_settings tune_settings(str frontier);

struct tune_options {
    const struct app_host *host;
    const struct tune_app *app;
    const char *train,
        *val; /* folders; val NULL: the training cases; both NULL: those the run started with */
    uint64_t budget;          /* metric calls; 0: by the formula, light */
    str run;                  /* "": a new one */
    bool resume;              /* the run must exist */
    str model;                /* whose answers are graded; "": the application's */
    str reflection_model;     /* the reflector's model; "": the same */
    str seed;                 /* of the random numbers; "": 0, or what the run started with */
    str frontier;             /* "instance", ...; "": hybrid, or what the run started with */
    const _Atomic bool *stop; /* or NULL; set: the run stops and can be resumed */
    struct optimize_sink sink;
    void (*on_note)(void *ctx, const char *words); /* a message for a person; may be NULL */
    void *ctx;
};

struct tune_result {
    str run, prompt_id; /* prompt_id "": no candidate beat the prompt in force */
    double seed_score, best_score;
    uint64_t calls, candidates;
    bool finished; /* else it was interrupted */
};

bool tune_run(const struct tune_options *o, struct arena *a, struct tune_result *out,
              struct err *e) MUST_USE;

/* ---- scores of a candidate (scores.c) ---- */

/* The examples that are not done are those for which the model could not be asked: their scores
 * count. ERR_UPSTREAM: that is so for all examples of the seed, or of a parent's minibatch. These
 * texts have not changed, so the model is to blame, and nothing is stored. */
bool tune_settle_unasked(struct optimize_batch *batches, size_t n, bool seed,
                         struct err *e) MUST_USE;

/* {"score", "parent", "calls", "cases", "objectives": {...}, "below_floor": [...]} */
struct tune_row;
str tune_scores_json(const struct tune_app *app, const struct optimize *engine, size_t candidate,
                     const struct tune_row *row, size_t case_count, struct arena *a);
/* The texts of a candidate, each by its component's name. */
str tune_components_json(const struct tune_app *app, const struct optimize *engine,
                         size_t candidate, struct arena *a);
/* "citation 0.62 is below 0.85, ..."; "": no objective is below its floor. */
str tune_scores_failed(const struct tune_app *app, const struct optimize *engine, size_t candidate,
                       struct arena *a);

/* ---- runs in the store (kept.c) ---- */

struct tune_row {
    str id, app, status, reason, input, prompt_id;
    int64_t calls, budget, candidates, created_us, updated_us;
    double best_score, seed_score; /* -1: none yet */
};

struct tune_kept;

bool tune_kept_open(str url, struct tune_kept **out, struct err *e) MUST_USE;
void tune_kept_close(struct tune_kept *k); /* NULL: nothing */
/* Inserts or replaces the row; created_us stays. */
bool tune_kept_put(struct tune_kept *k, const struct tune_row *row, struct err *e) MUST_USE;
/* Takes a run to start or to resume it: one that is proposed, or that runs and was not stored since
 * stale_us, because its process was killed. *claimed false: another process works on it. */
bool tune_kept_claim(struct tune_kept *k, str id, int64_t now_us, int64_t stale_us, bool *claimed,
                     struct err *e) MUST_USE;
/* A setting that a run keeps from its start ("": it has none). False: `chosen`, which the option
 * gives, is another one. */
bool tune_kept_setting(const struct tune_row *row, const char *option, str started, str *chosen,
                       struct err *e) MUST_USE;
/* ERR_NOT_FOUND if it does not exist. */
bool tune_kept_get(struct tune_kept *k, str id, struct arena *a, struct tune_row *out,
                   struct err *e) MUST_USE;
/* The newest first. */
bool tune_kept_list(struct tune_kept *k, struct arena *a, struct tune_row **out, size_t *n,
                    struct err *e) MUST_USE;
/* Runs that ended, newest first, without their texts: as many as `on_row` accepts. */
struct tune_ended {
    bool finished; /* else it failed */
    int64_t calls, took_us;
};
bool tune_kept_ended(struct tune_kept *k, bool (*on_row)(void *ctx, const struct tune_ended *r),
                     void *ctx, struct err *e) MUST_USE;
/* The scores of the newest prompt that a run has produced, as JSON; "": none. */
bool tune_kept_newest_scores(struct tune_kept *k, struct arena *a, str *out,
                             struct err *e) MUST_USE;
/* Its events, as elements of an open JSON array; the other lines are needed to resume it. */
bool tune_kept_events(struct tune_kept *k, str id, struct json_out *o, struct err *e) MUST_USE;
/* All its lines, joined, and their number. ERR_LIMIT: they do not fit into the arena. */
bool tune_kept_lines(struct tune_kept *k, str id, struct arena *a, str *out, int64_t *n,
                     struct err *e) MUST_USE;
/* Lines from the n-th on, each with its newline, and the time of the run's row, in one
 * transaction. */
bool tune_kept_add(struct tune_kept *k, str id, int64_t n, str lines, int64_t now_us,
                   struct err *e) MUST_USE;
