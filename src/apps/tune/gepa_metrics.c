/* gepa_metrics.c - see gepa_metrics.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/tune/gepa_metrics.h"

#include "gateway/metrics_text.h"

#define SCORE_UNIT 1000000u
#define SCORES_MAX (OPTIMIZE_OBJECTIVES_MAX + 1)
#define NAME_MAX_SIZE 64
#define ARENA_MAX ((size_t)1 << 20)

static const struct metrics_bounds seconds = {
    .unit = 1, .count = 10, .at = {1, 10, 30, 60, 300, 600, 1800, 3600, 14400, 86400}};
static const struct metrics_bounds calls = {
    .unit = 1, .count = 8, .at = {10, 30, 60, 100, 150, 300, 1000, 10000}};

struct gepa_numbers {
    uint64_t finished, failed, runs;
    struct metrics_hist took, evaluations;
    struct {
        char name[NAME_MAX_SIZE];
        double value;
    } score[SCORES_MAX];
    size_t score_count;
};

struct gepa_metrics {
    struct metrics *page;
    pthread_mutex_t lock;
    struct gepa_numbers now;
};

static void gepa_write(void *ctx, struct metrics_text *t)
{
    struct gepa_metrics *m = ctx;
    struct buf labels;

    buf_init(&labels, 1024);
    pthread_mutex_lock(&m->lock);
    assert(m->now.score_count <= SCORES_MAX && m->now.finished + m->now.failed == m->now.runs);
    metrics_family(t, "gepa_optimizations", METRICS_COUNTER, "Runs of the optimizer that ended.");
    metrics_count(t, "status", "finished", m->now.finished);
    metrics_count(t, "status", "failed", m->now.failed);
    metrics_family(t,
                   "gepa_optimization_duration_seconds",
                   METRICS_HISTOGRAM,
                   "From the start of a run to its end, pauses included.");
    metrics_hist_lines(t, "", &m->now.took, &seconds);
    metrics_family(
        t, "gepa_evaluations_per_run", METRICS_HISTOGRAM, "Evaluations of examples in a run.");
    metrics_hist_lines(t, "", &m->now.evaluations, &calls);
    metrics_family(
        t, "gepa_prompt_score", METRICS_GAUGE, "Scores of the newest prompt of the optimizer.");
    for (size_t i = 0; i < m->now.score_count; i++) {
        buf_reset(&labels);
        metrics_label(&labels, "metric_type", str_c(m->now.score[i].name));
        buf_add_c(&labels, '\0');
        metrics_line(
            t, "", labels.p, (uint64_t)(m->now.score[i].value * SCORE_UNIT + 0.5), SCORE_UNIT);
    }
    pthread_mutex_unlock(&m->lock);
    buf_release(&labels);
}

struct gepa_metrics *gepa_metrics_new(struct metrics *page)
{
    struct gepa_metrics *m = base_alloc(sizeof *m);

    memset(m, 0, sizeof *m);
    m->page = page;
    pthread_mutex_init(&m->lock, NULL);
    if (page)
        metrics_source_add(page, gepa_write, m);
    return m;
}

void gepa_metrics_free(struct gepa_metrics *m)
{
    if (!m)
        return;
    if (m->page)
        metrics_source_remove(m->page, m);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* ---- from the store ---- */

static bool gepa_on_run(void *ctx, const struct tune_ended *r)
{
    struct gepa_numbers *n = ctx;

    n->finished += r->finished;
    n->failed += !r->finished;
    metrics_observe(&n->took, &seconds, (uint64_t)(r->took_us > 0 ? r->took_us / 1000000 : 0));
    metrics_observe(&n->evaluations, &calls, (uint64_t)(r->calls > 0 ? r->calls : 0));
    return ++n->runs < GEPA_RUNS_MAX;
}

static void gepa_add_score(struct gepa_numbers *n, str name, const struct json *doc,
                           const struct json_node *v)
{
    double value;

    assert(n->score_count <= SCORES_MAX);
    if (n->score_count == SCORES_MAX || !json_double(doc, v, &value) || value < 0)
        return;
    (void)snprintf(
        n->score[n->score_count].name, NAME_MAX_SIZE, STR_FMT, STR_ARG(str_slice(name, 0, 60)));
    n->score[n->score_count++].value = value;
}

static void gepa_read_scores(struct gepa_numbers *n, str scores, struct arena *a)
{
    const struct json_node *objectives;
    struct json doc;
    struct err e;
    str name;

    if (json_open(&doc, scores, &e)) {
        gepa_add_score(n, STR("total"), &doc, json_find(&doc, json_root(&doc), STR("score")));
        objectives = json_find(&doc, json_root(&doc), STR("objectives"));
        if (objectives && objectives->kind == JSON_OBJECT)
            JSON_FOREACH(k, &doc, objectives)
                if (json_text(&doc, k, a, &name))
                    gepa_add_score(n, name, &doc, json_value(k));
    }
    json_release(&doc);
}

void gepa_metrics_refresh(struct gepa_metrics *m, struct tune_kept *kept)
{
    struct gepa_numbers *n = base_alloc(sizeof *n);
    struct arena a;
    struct err e;
    str scores;

    memset(n, 0, sizeof *n);
    arena_init(&a, ARENA_MAX);
    if (!tune_kept_ended(kept, gepa_on_run, n, &e) ||
        !tune_kept_newest_scores(kept, &a, &scores, &e)) {
        log_warn("metrics of the optimizer cannot be read", LOG_ERR(&e));
    } else {
        if (scores.n)
            gepa_read_scores(n, scores, &a);
        pthread_mutex_lock(&m->lock);
        m->now = *n;
        pthread_mutex_unlock(&m->lock);
    }
    arena_release(&a);
    free(n);
}
