/* internal.h - the engine's state, shared by its files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/map.h"
#include "optimize/event.h"
#include "optimize/front.h"
#include "optimize/twister.h"

#define OPTIMIZE_TEXTS_SIZE_MAX ((size_t)1 << 30)     /* of all texts of a run */
#define OPTIMIZE_CACHE_SIZE_MAX ((size_t)1 << 31)     /* when reached, nothing more is cached */
#define OPTIMIZE_SCORES_MAX ((size_t)1 << 27)         /* candidates x validation examples */
#define OPTIMIZE_ITERATION_SIZE_MAX ((size_t)1 << 32) /* traces and answers */

/* Texts are interned, so that equal ones have equal numbers. */
struct candidate {
    uint32_t *text; /* one for each component */
    uint32_t parents[2];
    size_t parent_count;
    double *scores; /* one for each validation example */
    double sum_objective[OPTIMIZE_OBJECTIVES_MAX];
    uint32_t count_objective[OPTIMIZE_OBJECTIVES_MAX];
    size_t place;        /* of the next component in round robin */
    uint64_t *ancestors; /* one bit for each earlier candidate */
};

/* Which minibatch is next. */
struct batches {
    uint32_t *list;
    size_t n;
    uint64_t epoch;
    size_t given; /* in this iteration */
};

struct optimize {
    struct optimize_task task;
    struct twister chance;
    struct arena texts_arena, cache_arena, scratch;
    struct map text_ids; /* text -> number */
    str *texts;
    size_t text_count, text_cap;
    struct candidate *candidates;
    double *means;
    size_t count, cap;
    size_t best;
    struct front front;
    size_t *key_of; /* cartesian: example x objective -> 1 + key; objective: objective -> 1 + key */
    uint32_t objective_order[OPTIMIZE_OBJECTIVES_MAX];
    size_t objective_seen;
    struct front_reduced reduced;
    bool reduced_valid;
    struct batches batches;
    struct map cache;           /* texts and split -> a row of grades */
    struct map merges, triples; /* formed before, by notes and by ancestor */
    uint64_t iteration, calls, asked;
    uint32_t proposed[OPTIMIZE_COMPONENTS_MAX]; /* how often each component was proposed */
    size_t due, merged;
    bool found; /* the last iteration added a candidate by reflection */
    double cost, best_seen;
    uint64_t stalled;
    bool any_seen, interrupted;
};

/* ---- engine.c ---- */

/* Adds the fields that every event has, and reports the event. */
void engine_report(struct optimize *o, struct optimize_event ev);

/* Metric calls left; UINT64_MAX in reference mode, which does not check. */
uint64_t engine_left(const struct optimize *o);

/* Adds a validated candidate and updates the fronts; returns its number. */
uint32_t engine_add(struct optimize *o, const uint32_t *text, const uint32_t *parents,
                    size_t parent_count, const struct optimize_grade *grades);
void engine_report_added(struct optimize *o, uint32_t candidate);

/* Room for one more. */
bool engine_room(struct optimize *o, struct err *e) MUST_USE;

/* ---- text.c ---- */
bool text_intern(struct optimize *o, str text, uint32_t *out, struct err *e) MUST_USE;
/* The texts of these numbers, in the scratch arena. */
const str *text_list(struct optimize *o, const uint32_t *ids);
bool text_same(const struct optimize *o, const uint32_t *a, const uint32_t *b);

/* ---- evaluate.c ---- */

/* A candidate to be evaluated, and the grades. */
struct trial {
    const uint32_t *text;
    enum optimize_split split;
    const uint32_t *ids;
    size_t n;
    bool traces;
    bool cached;                   /* cached examples are not evaluated */
    struct optimize_grade *grades; /* set by trial_run, in the scratch arena */
    double *scores;                /* likewise */
    uint64_t made;                 /* examples evaluated, without cached ones */
};

/* All at once. Does not count the calls. */
bool trial_run(struct optimize *o, struct trial *t, size_t n, struct err *e) MUST_USE;
/* The adapter belongs to the application, so its grades are checked. False: e has the error. */
bool trial_check_grade(const struct optimize *o, const struct optimize_grade *g, uint32_t id,
                       struct err *e) MUST_USE;
/* 0..val_count-1, in the scratch arena. */
const uint32_t *trial_val_ids(struct optimize *o);
double trial_sum(const double *scores, size_t n);

/* ---- cache.c ---- */
bool cache_get(struct optimize *o, const struct trial *t, uint32_t id, struct optimize_grade *out);
void cache_put(struct optimize *o, const struct trial *t, uint32_t id,
               const struct optimize_grade *g);

/* ---- select.c ---- */
const struct front_reduced *select_reduced(struct optimize *o);
uint32_t select_parent(struct optimize *o);

/* ---- batch.c ---- */
/* The next minibatch, into out. */
void batch_next(struct optimize *o, uint32_t *out);

/* ---- reflect.c, merge.c ---- */
bool reflect_step(struct optimize *o, bool *accepted, struct err *e) MUST_USE;
/* formed: an iteration that merged is over. */
bool merge_step(struct optimize *o, bool *formed, bool *accepted, struct err *e) MUST_USE;

/* ---- stop.c ---- */
bool stop_now(struct optimize *o);
