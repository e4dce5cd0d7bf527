/* problem.h - runs that are data: a problem whose evaluator and reflector are described in a file.
 *
 * With such a file an engine in any language can repeat the run, and the logs can be compared.
 * The files are gepa-run/1 and gepa-problem/1; docs/reference/optimize.md describes them.
 *
 *     struct problem_run run;
 *     if (!problem_run_read(&arena, path, text, &run, e) ...
 *
 * Reading is strict: a member that is missing, unknown, twice there, of the wrong kind or out of
 * range is an error that names the member by its path.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "optimize/optimize.h"

#define PROBLEM_FILE_MAX ((size_t)64 << 20)
#define PROBLEM_NUMBER_MAX ((int64_t)1 << 31)

/* A word in a component's text. */
struct problem_word {
    uint32_t component;
    str word;
};

struct problem_rule {
    struct problem_word at;
    int64_t weight;
    uint32_t objective;
};

struct problem_example {
    uint32_t objective_count;
    uint32_t objective[OPTIMIZE_OBJECTIVES_MAX]; /* in the example's own order */
    int64_t base[OPTIMIZE_OBJECTIVES_MAX];       /* by the problem's index of the objective */
    struct problem_rule *needs, *hurts;
    size_t need_count, hurt_count;
    int64_t share_sum;
};

struct problem_conflict {
    struct problem_word a, b, unless;
    bool has_unless;
    int64_t cost;
    uint32_t objective;
};

enum problem_action {
    PROBLEM_ADD,
    PROBLEM_ADD_ALL,
    PROBLEM_SWAP,
    PROBLEM_CUT,
    PROBLEM_DROP,
    PROBLEM_NOISE,
    PROBLEM_ECHO,
    PROBLEM_NONE,
    PROBLEM_ACTION_COUNT
};

/* In the arena it was read into. */
struct problem {
    str name;
    int64_t unit;
    struct optimize_component *components;
    size_t component_count;
    str objectives[OPTIMIZE_OBJECTIVES_MAX];
    int64_t share[OPTIMIZE_OBJECTIVES_MAX];
    size_t objective_count;
    bool report_objectives;
    bool has_length;
    int64_t length_limit, length_cost;
    uint32_t length_objective;
    struct problem_conflict *conflicts;
    size_t conflict_count;
    struct problem_example *train, *val;
    size_t train_count, val_count;
    bool val_is_train;
    str salt;
    bool counter;
    enum problem_action *actions;
    size_t action_count;
    str *noise;
    size_t noise_count;
};

struct problem_run {
    struct problem problem;
    struct optimize_settings settings;
    str seed;
};

/* Reads the problem's file, if the problem is not in the run's file. */
struct problem_source {
    bool (*read)(void *ctx, struct arena *a, str path, str *out, struct err *e);
    void *ctx;
};

/* A run; its problem is in it, or in a file that `source` reads (path as written in the run). */
bool problem_run_read(struct arena *a, str text, struct problem_source source,
                      struct problem_run *out, struct err *e) MUST_USE;

bool problem_read(struct arena *a, str text, struct problem *out, struct err *e) MUST_USE;

/* The grade of a candidate on an example. */
void problem_grade(const struct problem *p, const struct problem_example *x, const str *texts,
                   struct optimize_grade *out);

/* The reflector's answer, in the arena; false: none. `asked`: how often it was asked before. */
bool problem_reflect(const struct problem *p, const struct optimize_ask *ask, str *out) MUST_USE;

/* An adapter that evaluates and proposes by the problem, which it borrows. */
struct optimize_adapter problem_adapter(struct problem *p);
/* The task of a run: components, objectives, settings, seed, adapter. */
struct optimize_task problem_task(struct problem_run *run);
