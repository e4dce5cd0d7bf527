/* optimize.h - GEPA: texts that improve from graded runs.
 *
 * A candidate has one text for each component (a system prompt, the description of a tool, ...).
 * The engine evaluates the seed and then iterates: it picks a parent that is best somewhere, runs
 * it on a few training examples, lets a reflector read the traces and write new texts, runs these
 * on the same examples, and validates a child that scores better. Sometimes it merges two branches.
 *
 *     struct optimize_task task = {.settings = optimize_defaults(), .components = ..., ...};
 *     struct optimize *o;
 *     if (!optimize_new(&task, &o, e))
 *         return false;
 *     ok = optimize_run(o, e);
 *     str best = optimize_text(o, optimize_best(o), 0);
 *     optimize_free(o);
 *
 * The engine does no I/O. It asks the adapter, a table of functions, and reports events to one
 * sink. So a run is a function of the task and of the adapter's answers: optimize/run.h stores the
 * answers and resumes a killed run.
 *
 * Promises:
 *   - The same task and the same answers give the same events.
 *   - `calls`, the examples evaluated, never exceeds settings.metric_calls. Only with
 *     settings.reference it does, exactly as the reference implementation (gepa 0.1.4) does.
 *   - A candidate whose mean is 0 is as good an ancestor of a merge as any other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define OPTIMIZE_COMPONENTS_MAX 64
#define OPTIMIZE_OBJECTIVES_MAX 16
#define OPTIMIZE_EXAMPLES_MAX 100000
#define OPTIMIZE_CANDIDATES_MAX 10000
#define OPTIMIZE_BATCH_MAX 10000
#define OPTIMIZE_TASKS_MAX 1024 /* parents x batches */
#define OPTIMIZE_TEXT_MAX ((size_t)1 << 20)
#define OPTIMIZE_STOPS_MAX 8
#define OPTIMIZE_MERGE_IDS 5 /* validation examples that a merge is tested on */

enum optimize_selection {
    OPTIMIZE_PARETO,
    OPTIMIZE_CURRENT_BEST,
    OPTIMIZE_EPSILON_GREEDY,
    OPTIMIZE_TOP_K_PARETO
};
enum optimize_frontier {
    OPTIMIZE_INSTANCE,
    OPTIMIZE_OBJECTIVE,
    OPTIMIZE_HYBRID,
    OPTIMIZE_CARTESIAN
};
enum optimize_pick {
    OPTIMIZE_ROUND_ROBIN,
    OPTIMIZE_ALL_COMPONENTS,
    /* One that a run of the minibatch used: of these the one proposed least often so far. */
    OPTIMIZE_USED_COMPONENTS
};
enum optimize_acceptance { OPTIMIZE_STRICT, OPTIMIZE_OR_EQUAL };
enum optimize_keep { OPTIMIZE_KEEP_ALL, OPTIMIZE_KEEP_BEST, OPTIMIZE_KEEP_TOP };

enum optimize_stop_kind {
    OPTIMIZE_STOP_CALLS,
    OPTIMIZE_STOP_SCORE,          /* the best mean has reached it */
    OPTIMIZE_STOP_NO_IMPROVEMENT, /* so many iterations in a row */
    OPTIMIZE_STOP_CANDIDATES,
    OPTIMIZE_STOP_ITERATIONS,
    OPTIMIZE_STOP_COST, /* as reported by the adapter */
    OPTIMIZE_STOP_TIME, /* in seconds, by the adapter's clock */
};

struct optimize_stop {
    enum optimize_stop_kind kind;
    double limit;
};

struct optimize_settings {
    enum optimize_selection selection;
    double epsilon; /* of epsilon_greedy */
    size_t top_k;   /* of top_k_pareto */
    enum optimize_frontier frontier;
    enum optimize_pick pick;
    size_t minibatch;
    enum optimize_acceptance acceptance;
    bool skip_perfect;
    double perfect_score;
    bool merge;
    size_t max_merges, merge_overlap;
    bool cache;
    size_t parents, batches; /* P x N tasks per iteration */
    enum optimize_keep keep;
    size_t keep_count; /* of OPTIMIZE_KEEP_TOP */
    uint64_t metric_calls;
    struct optimize_stop stops[OPTIMIZE_STOPS_MAX]; /* besides metric_calls */
    size_t stop_count;
    bool stop_all;  /* all of stops must agree; else any of them ends the run */
    bool reference; /* with the faults of the reference */
};

/* The defaults of the reference; metric_calls is 0 and must be set. */
struct optimize_settings optimize_defaults(void);

enum optimize_split { OPTIMIZE_TRAIN, OPTIMIZE_VAL };

/* The result of one example. A failure is a score of 0 and a trace with the reason, not an error.
 * */
struct optimize_grade {
    double score; /* higher is better */
    uint32_t objective_count;
    uint32_t objective[OPTIMIZE_OBJECTIVES_MAX]; /* indexes of task.objectives, each once */
    double value[OPTIMIZE_OBJECTIVES_MAX];
    double cost; /* in the unit of OPTIMIZE_STOP_COST */
    str trace;   /* for the reflector; in the batch's arena */
    str unasked; /* why the model could not be asked, or ""; for the adapter alone */
    bool done;
};

/* A candidate to be evaluated on some examples. The adapter fills the grades in any order and calls
 * optimize_graded for each, one thread at a time. It skips grades that are done already. */
struct optimize_batch {
    const str *texts; /* one for each component */
    enum optimize_split split;
    const uint32_t *ids; /* an id can occur twice */
    size_t n;
    bool traces; /* whether traces are needed */
    struct optimize_grade *grades;
    struct arena *arena; /* for the traces; lives as long as the iteration */
    void (*on_graded)(void *ctx, struct optimize_batch *b, size_t place);
    void *ctx;
};

static inline void optimize_graded(struct optimize_batch *b, size_t place)
{
    b->grades[place].done = true;
    if (b->on_graded)
        b->on_graded(b->ctx, b, place);
}

/* A question to the reflector: a better text for one component, after these runs. */
struct optimize_ask {
    size_t component;
    const str *texts; /* of the parent, all components */
    const uint32_t *ids;
    const struct optimize_grade *grades; /* with their traces */
    size_t n;
    struct arena *arena; /* for the answer */
    uint64_t serial;     /* earlier questions of this run */
    bool done;           /* answered, also if without a text */
    bool has_text;
    str text;
    double cost;
    void (*on_answered)(void *ctx, struct optimize_ask *ask);
    void *ctx;
};

static inline void optimize_answered(struct optimize_ask *ask)
{
    ask->done = true;
    if (ask->on_answered)
        ask->on_answered(ask->ctx, ask);
}

struct optimize_adapter {
    /* Evaluates all batches, in any order, in parallel if possible. */
    bool (*evaluate)(void *ctx, struct optimize_batch *batches, size_t n, struct err *e);
    /* Answers all asks, likewise. An error ends the run; a missing text does not. */
    bool (*propose)(void *ctx, struct optimize_ask *asks, size_t n, struct err *e);
    /* Seconds since the start of the run, once per iteration; NULL: no time limit. */
    double (*elapsed_s)(void *ctx);
    /* Whether the run should stop (a signal, a file). NULL: never. */
    bool (*asked_to_stop)(void *ctx);
    void *ctx;
    /* For OPTIMIZE_USED_COMPONENTS: whether the run of this grade used the component's text, by
     * the trace alone, so that a resumed run decides the same. NULL: every run uses all. */
    bool (*uses)(void *ctx, const struct optimize_grade *g, size_t component);
};

struct optimize_event;

struct optimize_sink {
    /* Lent for the call. */
    void (*on_event)(void *ctx, const struct optimize_event *ev);
    void *ctx;
};

struct optimize_component {
    str name, seed;
};

/* Everything in it is lent until optimize_free. */
struct optimize_task {
    struct optimize_settings settings;
    str name;
    const struct optimize_component *components;
    size_t component_count;
    const str *objectives; /* names; none if the adapter reports none */
    size_t objective_count;
    size_t train_count, val_count;
    bool val_is_train; /* validation uses the training examples: one name space in the cache */
    str seed;          /* a whole number in decimal */
    struct optimize_adapter adapter;
    struct optimize_sink sink;
};

struct optimize;

/* False: a setting or a name is wrong; e says which. */
bool optimize_new(const struct optimize_task *task, struct optimize **out, struct err *e) MUST_USE;
void optimize_free(struct optimize *o);

/* Runs to the end. False: the adapter failed, or a limit was reached. */
bool optimize_run(struct optimize *o, struct err *e) MUST_USE;

/* Whether the run ended by a request to stop, not by its own conditions. */
bool optimize_interrupted(const struct optimize *o);

size_t optimize_count(const struct optimize *o); /* of candidates; 0 is the seed */
size_t optimize_best(const struct optimize *o);
str optimize_text(const struct optimize *o, size_t candidate, size_t component);
double optimize_mean(const struct optimize *o, size_t candidate);
/* The mean of one objective over the validation examples; -1: no example reported it. */
double optimize_objective(const struct optimize *o, size_t candidate, size_t objective);
/* The examples evaluated so far, and the limit of their number. */
uint64_t optimize_calls(const struct optimize *o);
uint64_t optimize_calls_max(const struct optimize *o);
