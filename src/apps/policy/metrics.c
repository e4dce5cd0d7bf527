/* metrics.c - see metrics.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/metrics.h"

#include "apps/policy/react_state.h"
#include "gateway/metrics_text.h"

#define SCORE_UNIT 1000u

static const char *const reasons[] = {"llm_error", "rate_limit_exceeded", "other"};

static const struct metrics_bounds seconds = {.unit = 1000000,
                                              .count = 12,
                                              .at = {1000,
                                                     5000,
                                                     10000,
                                                     20000,
                                                     50000,
                                                     100000,
                                                     500000,
                                                     1000000,
                                                     4000000,
                                                     8000000,
                                                     20000000,
                                                     60000000}};
static const struct metrics_bounds turns = {.unit = 1, .count = 7, .at = {1, 2, 3, 4, 6, 8, 10}};

struct policy_metrics {
    struct metrics *page;
    pthread_mutex_t lock;
    struct policy_counts counts;
    struct metrics_hist latency[POLICY_CONTROLLERS][POLICY_MODES], iterations;
    struct metrics_hist tool_latency[POLICY_TOOLS];
    uint64_t tools[POLICY_TOOLS + 1][2]; /* the last: unknown names */
    uint64_t fallbacks[COUNT_OF(reasons)];
    uint64_t last; /* confidence, in SCORE_UNIT */
    bool any;
};

const char *policy_controller_name(enum policy_controller c)
{
    return NAME_OF(c, "heuristic", "react");
}

const char *policy_mode_name(enum policy_mode m)
{
    return NAME_OF(m, "shadow", "llm", "ab_test", "heuristic", "asked");
}

/* ---- the page ---- */

static void policy_metrics_write_evaluations(const struct policy_metrics *m, struct metrics_text *t)
{
    char labels[200];

    metrics_family(t, "react_evaluations", METRICS_COUNTER, "Criteria that were evaluated.");
    for (int c = 0; c < POLICY_CONTROLLERS; c++)
        for (int k = 0; k < POLICY_MODES; k++)
            for (int s = 0; s < 3; s++) {
                if (!m->counts.evaluations[c][k][s])
                    continue;
                (void)snprintf(labels,
                               sizeof labels,
                               "controller=\"%s\",mode=\"%s\",status=\"%s\"",
                               policy_controller_name((enum policy_controller)c),
                               policy_mode_name((enum policy_mode)k),
                               policy_status_name((enum policy_status)s));
                metrics_line(t, "", labels, m->counts.evaluations[c][k][s], 1);
            }
    metrics_family(t, "react_latency_seconds", METRICS_HISTOGRAM, "How long a criterion took.");
    for (int c = 0; c < POLICY_CONTROLLERS; c++)
        for (int k = 0; k < POLICY_MODES; k++) {
            if (!metrics_hist_count(&m->latency[c][k]))
                continue;
            (void)snprintf(labels,
                           sizeof labels,
                           "controller=\"%s\",mode=\"%s\"",
                           policy_controller_name((enum policy_controller)c),
                           policy_mode_name((enum policy_mode)k));
            metrics_hist_lines(t, labels, &m->latency[c][k], &seconds);
        }
    metrics_family(t, "react_iterations", METRICS_HISTOGRAM, "Turns of the model a criterion.");
    metrics_hist_lines(t, "", &m->iterations, &turns);
}

static void policy_metrics_write_tools(const struct policy_metrics *m, struct metrics_text *t)
{
    char labels[200];

    metrics_family(t, "react_tool_calls", METRICS_COUNTER, "Calls of tools by the model.");
    for (int i = 0; i <= POLICY_TOOLS; i++)
        for (int ok = 0; ok < 2; ok++) {
            if (!m->tools[i][ok])
                continue;
            (void)snprintf(labels,
                           sizeof labels,
                           "tool_name=\"%s\",success=\"%s\"",
                           i < POLICY_TOOLS ? react_tool_name(i) : "unknown",
                           ok ? "true" : "false");
            metrics_line(t, "", labels, m->tools[i][ok], 1);
        }
    metrics_family(t, "react_tool_latency_seconds", METRICS_HISTOGRAM, "How long a tool took.");
    for (int i = 0; i < POLICY_TOOLS; i++) {
        if (!metrics_hist_count(&m->tool_latency[i]))
            continue;
        (void)snprintf(labels, sizeof labels, "tool_name=\"%s\"", react_tool_name(i));
        metrics_hist_lines(t, labels, &m->tool_latency[i], &seconds);
    }
}

static void policy_metrics_write_rollout(const struct policy_metrics *m, struct metrics_text *t)
{
    metrics_family(
        t, "react_fallback", METRICS_COUNTER, "Criteria that the heuristic took over, by reason.");
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        metrics_count(t, "reason", reasons[i], m->fallbacks[i]);
    metrics_family(
        t, "react_ab_assignments", METRICS_COUNTER, "Cases that the A/B test has assigned.");
    for (int c = 0; c < POLICY_CONTROLLERS; c++)
        metrics_count(
            t, "bucket", policy_controller_name((enum policy_controller)c), m->counts.assigned[c]);
    metrics_family(t,
                   "react_shadow_comparisons",
                   METRICS_COUNTER,
                   "Criteria that both controllers have evaluated, by whether they agree.");
    metrics_count(t, "outcome", "agrees", m->counts.compared - m->counts.differed);
    metrics_count(t, "outcome", "differs", m->counts.differed);
    metrics_count(t, "outcome", "dropped", m->counts.dropped);
    if (!m->any)
        return;
    metrics_value(t,
                  "react_last_confidence_score",
                  METRICS_GAUGE,
                  "Confidence of the newest result.",
                  m->last,
                  SCORE_UNIT);
}

static void policy_metrics_write_all(void *ctx, struct metrics_text *t)
{
    struct policy_metrics *m = ctx;

    pthread_mutex_lock(&m->lock);
    policy_metrics_write_evaluations(m, t);
    policy_metrics_write_tools(m, t);
    policy_metrics_write_rollout(m, t);
    pthread_mutex_unlock(&m->lock);
}

struct policy_metrics *policy_metrics_new(struct metrics *page)
{
    struct policy_metrics *m = base_alloc(sizeof *m);

    memset(m, 0, sizeof *m);
    m->page = page;
    pthread_mutex_init(&m->lock, NULL);
    if (page)
        metrics_source_add(page, policy_metrics_write_all, m);
    return m;
}

void policy_metrics_free(struct policy_metrics *m)
{
    if (!m)
        return;
    if (m->page)
        metrics_source_remove(m->page, m);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* ---- counting ---- */

void policy_metrics_done(struct policy_metrics *m, const struct policy_seen *s)
{
    assert((size_t)s->controller < POLICY_CONTROLLERS && (size_t)s->mode < POLICY_MODES);
    pthread_mutex_lock(&m->lock);
    m->counts.evaluations[s->controller][s->mode][s->status]++;
    metrics_observe(&m->latency[s->controller][s->mode], &seconds, s->took_ns / 1000);
    if (s->iterations)
        metrics_observe(&m->iterations, &turns, s->iterations);
    m->last = (uint64_t)(s->confidence * SCORE_UNIT + 0.5);
    m->any = true;
    pthread_mutex_unlock(&m->lock);
}

void policy_metrics_tool(struct policy_metrics *m, int place, bool ok)
{
    assert(place < POLICY_TOOLS);
    pthread_mutex_lock(&m->lock);
    m->tools[place < 0 ? POLICY_TOOLS : place][ok]++;
    pthread_mutex_unlock(&m->lock);
}

void policy_metrics_tool_took(struct policy_metrics *m, int place, uint64_t took_ns)
{
    assert(place >= 0 && place < POLICY_TOOLS);
    pthread_mutex_lock(&m->lock);
    metrics_observe(&m->tool_latency[place], &seconds, took_ns / 1000);
    pthread_mutex_unlock(&m->lock);
}

void policy_metrics_fallback(struct policy_metrics *m, str reason)
{
    size_t i = 0;

    while (i + 1 < COUNT_OF(reasons) && !str_eq(reason, str_c(reasons[i])))
        i++;
    pthread_mutex_lock(&m->lock);
    m->fallbacks[i]++;
    m->counts.fallbacks++;
    pthread_mutex_unlock(&m->lock);
}

void policy_metrics_assigned(struct policy_metrics *m, enum policy_controller bucket)
{
    assert((size_t)bucket < POLICY_CONTROLLERS);
    pthread_mutex_lock(&m->lock);
    m->counts.assigned[bucket]++;
    pthread_mutex_unlock(&m->lock);
}

void policy_metrics_shadow(struct policy_metrics *m, bool differs)
{
    pthread_mutex_lock(&m->lock);
    m->counts.compared++;
    m->counts.differed += differs;
    assert(m->counts.differed <= m->counts.compared);
    pthread_mutex_unlock(&m->lock);
}

void policy_metrics_shadow_dropped(struct policy_metrics *m)
{
    pthread_mutex_lock(&m->lock);
    m->counts.dropped++;
    pthread_mutex_unlock(&m->lock);
}

void policy_metrics_counts(struct policy_metrics *m, struct policy_counts *out)
{
    pthread_mutex_lock(&m->lock);
    *out = m->counts;
    pthread_mutex_unlock(&m->lock);
}
