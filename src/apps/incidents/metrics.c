/* metrics.c - see metrics.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/metrics.h"

#include "gateway/metrics_text.h"

#define LABEL_MAX 200
#define PARTS_ARENA ((size_t)512 << 20)

static const char *const refusals[] = {"invalid_json",
                                       "validation_failed",
                                       "unknown_alert_type",
                                       "too_large",
                                       "too_many_alerts",
                                       "queue_full",
                                       "not_stored",
                                       "bad_signature"};
static const char *const ends[] = {"completed", "error", "cancelled", "resolved"};

static const struct metrics_bounds seconds = {.unit = 1000000,
                                              .count = 12,
                                              .at = {10000,
                                                     50000,
                                                     100000,
                                                     500000,
                                                     1000000,
                                                     5000000,
                                                     10000000,
                                                     30000000,
                                                     60000000,
                                                     120000000,
                                                     300000000,
                                                     600000000}};

/* One labelled row: of a tool, or of a stage and how it ended. */
struct series {
    char name[LABEL_MAX], outcome[24];
    uint64_t failed;
    struct metrics_hist took;
};

struct series_table {
    struct series at[METRICS_SERIES_MAX];
    size_t n;
};

struct incident_metrics {
    const struct clock *clock;
    struct metrics *page;
    pthread_mutex_t lock; /* of all that follows */
    struct queue_counts queue;
    uint64_t alerts[ALERT_SOURCES][QUEUE_RESOLVED + 1];
    uint64_t refused[COUNT_OF(refusals)], ended[COUNT_OF(ends)];
    struct series_table stages, tools;
};

/* ---- the page ---- */

static void incident_metrics_write_alerts(struct metrics_text *t, const struct incident_metrics *m)
{
    static const struct {
        const char *name, *help;
        int of; /* -1: all of them */
    } families[] = {
        {"rationale_incident_alerts_received", "Alerts in requests that were accepted.", -1},
        {"rationale_incident_alerts_attached",
         "Alerts that were attached to a known incident.",
         QUEUE_ATTACHED},
        {"rationale_incident_alerts_resolved", "Reports that an alert has ended.", QUEUE_RESOLVED},
    };
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        metrics_family(t, families[i].name, METRICS_COUNTER, families[i].help);
        for (int s = 0; s < ALERT_SOURCES; s++) {
            uint64_t n = 0;

            for (int k = 0; k <= QUEUE_RESOLVED; k++)
                n += families[i].of < 0 || families[i].of == k ? m->alerts[s][k] : 0;
            metrics_count(t, "source", alert_source_name((enum alert_source)s), n);
        }
    }
}

static void incident_metrics_write_queue(struct metrics_text *t, const struct incident_metrics *m)
{
    struct queue_counts c = m->queue;
    int64_t now_us = clock_wall_ms(m->clock) * 1000;
    bool aged = c.oldest_us > 0 && now_us > c.oldest_us;
    const struct {
        const char *name, *help;
        uint64_t value, unit;
    } gauges[] = {
        {"rationale_incident_queue_depth", "Incidents that are queued.", c.waiting, 1},
        {"rationale_incident_queue_oldest_seconds",
         "Age of the incident that is queued longest; 0 if none is.",
         aged ? (uint64_t)(now_us - c.oldest_us) : 0,
         1000000},
        {"rationale_incident_running", "Incidents that are being investigated.", c.running, 1},
        {"rationale_incident_awaiting_approval",
         "Incidents that wait for a person's decision.",
         c.asking,
         1},
    };

    for (size_t i = 0; i < COUNT_OF(gauges); i++)
        metrics_value(
            t, gauges[i].name, METRICS_GAUGE, gauges[i].help, gauges[i].value, gauges[i].unit);
}

static void incident_metrics_labels(struct buf *labels, const char *what, const struct series *s)
{
    buf_init(labels, 4 * LABEL_MAX);
    metrics_label(labels, what, str_c(s->name));
    if (s->outcome[0])
        metrics_label(labels, "outcome", str_c(s->outcome));
    buf_add_c(labels, '\0');
    assert(!buf_full(labels));
}

enum series_value { SERIES_CALLS, SERIES_FAILED, SERIES_TOOK };

static void incident_metrics_write_series(struct metrics_text *t, const char *what,
                                          const struct series_table *of, enum series_value value)
{
    struct buf labels;

    for (size_t i = 0; i < of->n; i++) {
        const struct series *s = &of->at[i];

        incident_metrics_labels(&labels, what, s);
        if (value == SERIES_TOOK)
            metrics_hist_lines(t, labels.p, &s->took, &seconds);
        else
            metrics_line(t,
                         "",
                         labels.p,
                         value == SERIES_FAILED ? s->failed : metrics_hist_count(&s->took),
                         1);
        buf_release(&labels);
    }
}

static void incident_metrics_write(void *ctx, struct metrics_text *t)
{
    struct incident_metrics *m = ctx;

    pthread_mutex_lock(&m->lock);
    incident_metrics_write_queue(t, m);
    incident_metrics_write_alerts(t, m);
    metrics_family(t,
                   "rationale_incident_alerts_refused",
                   METRICS_COUNTER,
                   "Requests with alerts that were refused, by the error's code.");
    for (size_t i = 0; i < COUNT_OF(refusals); i++)
        metrics_count(t, "reason", refusals[i], m->refused[i]);
    metrics_family(t, "rationale_incidents", METRICS_COUNTER, "Incidents that have ended.");
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        metrics_count(t, "outcome", ends[i], m->ended[i]);
    metrics_family(t,
                   "rationale_incident_stage_seconds",
                   METRICS_HISTOGRAM,
                   "How long a stage took, from its first agent's start to its last one's end.");
    incident_metrics_write_series(t, "stage", &m->stages, SERIES_TOOK);
    metrics_family(
        t, "rationale_incident_tool_calls", METRICS_COUNTER, "Tool calls of investigations.");
    incident_metrics_write_series(t, "tool", &m->tools, SERIES_CALLS);
    metrics_family(t, "rationale_incident_tool_errors", METRICS_COUNTER, "Tool calls that failed.");
    incident_metrics_write_series(t, "tool", &m->tools, SERIES_FAILED);
    metrics_family(
        t, "rationale_incident_tool_seconds", METRICS_HISTOGRAM, "How long a tool call took.");
    incident_metrics_write_series(t, "tool", &m->tools, SERIES_TOOK);
    pthread_mutex_unlock(&m->lock);
}

/* ---- life ---- */

struct incident_metrics *incident_metrics_new(struct metrics *page, const struct clock *clock)
{
    struct incident_metrics *m = base_alloc(sizeof *m);

    memset(m, 0, sizeof *m);
    m->clock = clock;
    m->page = page;
    pthread_mutex_init(&m->lock, NULL);
    if (page)
        metrics_source_add(page, incident_metrics_write, m);
    return m;
}

void incident_metrics_free(struct incident_metrics *m)
{
    if (!m)
        return;
    if (m->page)
        metrics_source_remove(m->page, m);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* ---- counting ---- */

void incident_metrics_queue(struct incident_metrics *m, const struct queue_counts *c)
{
    if (!m)
        return;
    assert(c->waiting > 0 || c->oldest_us == 0);
    pthread_mutex_lock(&m->lock);
    m->queue = *c;
    pthread_mutex_unlock(&m->lock);
}

void incident_metrics_alerts(struct incident_metrics *m, const struct queue_intake *in)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    assert((size_t)in->source < ALERT_SOURCES);
    for (size_t i = 0; i < in->n; i++)
        m->alerts[in->source][in->items[i].result]++;
    pthread_mutex_unlock(&m->lock);
}

static void incident_metrics_count_named(struct incident_metrics *m, const char *const *names,
                                         uint64_t *counts, size_t n, str name)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < n; i++)
        counts[i] += str_eq(name, str_c(names[i]));
    pthread_mutex_unlock(&m->lock);
}

void incident_metrics_refused(struct incident_metrics *m, const char *reason)
{
    incident_metrics_count_named(
        m, refusals, m ? m->refused : NULL, COUNT_OF(refusals), str_c(reason));
}

void incident_metrics_ended(struct incident_metrics *m, str outcome)
{
    incident_metrics_count_named(m, ends, m ? m->ended : NULL, COUNT_OF(ends), outcome);
}

/* The last entry is for all names without an entry of their own. */
static struct series *series_find(struct series_table *t, str name, str outcome)
{
    struct series *s;

    assert(t->n <= COUNT_OF(t->at));
    for (size_t i = 0; i < t->n; i++)
        if (str_eq(name, str_c(t->at[i].name)) && str_eq(outcome, str_c(t->at[i].outcome)))
            return &t->at[i];
    if (t->n == COUNT_OF(t->at))
        return &t->at[t->n - 1];
    s = &t->at[t->n++];
    if (t->n == COUNT_OF(t->at)) {
        name = STR("other");
        outcome = STR("");
    }
    (void)snprintf(s->name, sizeof s->name, STR_FMT, STR_ARG(name));
    (void)snprintf(s->outcome, sizeof s->outcome, STR_FMT, STR_ARG(outcome));
    return s;
}

static void series_observe(struct incident_metrics *m, struct series_table *t, str name,
                           str outcome, bool failed, int64_t took_us)
{
    struct series *s;

    pthread_mutex_lock(&m->lock);
    s = series_find(t, str_slice(name, 0, LABEL_MAX - 1), outcome);
    s->failed += failed;
    metrics_observe(&s->took, &seconds, took_us > 0 ? (uint64_t)took_us : 0);
    pthread_mutex_unlock(&m->lock);
}

/* SERVER.TOOL, as everywhere else: a model knows it as SERVER__TOOL. */
static str incident_metrics_tool_name(str name, char *to, size_t size)
{
    size_t mark = str_find(name, STR("__"));

    assert(size >= LABEL_MAX);
    if (mark == STR_NONE)
        return name;
    (void)snprintf(to,
                   size,
                   STR_FMT "." STR_FMT,
                   STR_ARG(str_slice(name, 0, mark)),
                   STR_ARG(str_slice(name, mark + 2, name.n)));
    return str_c(to);
}

void incident_metrics_effect(struct incident_metrics *m, const struct agent_effect *f)
{
    bool failed = f->failed || str_starts(f->result, STR("The tool reports an error:"));
    char name[LABEL_MAX];

    if (m && f->state == AGENT_DONE && str_eq(f->kind, STR("tool")))
        series_observe(m,
                       &m->tools,
                       incident_metrics_tool_name(f->name, name, sizeof name),
                       STR(""),
                       failed,
                       f->ended_us - f->started_us);
}

/* The worst of two outcomes of agents in one stage. */
static str incident_metrics_stage_outcome(str a, str b)
{
    static const char *const order[] = {"failed", "cancelled", "stopped"};

    for (size_t i = 0; i < COUNT_OF(order); i++)
        if (str_eq(a, str_c(order[i])) || str_eq(b, str_c(order[i])))
            return str_c(order[i]);
    return b;
}

void incident_metrics_stages(struct incident_metrics *m, struct agent_log *log, str run,
                             str session)
{
    struct agent_rows all = {.n = 0};
    const struct agent_row *parts;
    struct arena a;
    struct err e;
    size_t next;

    if (!m || !log)
        return;
    arena_init(&a, PARTS_ARENA);
    if (!agent_log_parts(log, run, session, &a, &all, &e))
        all.n = 0;
    parts = all.at;
    for (size_t i = 0; i < all.n; i = next) {
        str last, stage = incident_of_part(parts[i].id, &last), outcome = parts[i].status;
        int64_t ended_us = parts[i].updated_us;

        for (next = i + 1; next < all.n && str_eq(incident_of_part(parts[next].id, &last), stage);
             next++) {
            outcome = incident_metrics_stage_outcome(outcome, parts[next].status);
            if (parts[next].updated_us > ended_us)
                ended_us = parts[next].updated_us;
        }
        (void)incident_of_part(stage, &last);
        if (stage.n > run.n) /* not the summary, which is of no stage */
            series_observe(m, &m->stages, last, outcome, false, ended_us - parts[i].created_us);
        assert(next > i);
    }
    arena_release(&a);
}
