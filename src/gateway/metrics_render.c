/* metrics_render.c - adds up the shards and writes the page.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/metrics_cells.h"

#define PREFIX "rationale_"
#define LABELS_MAX 4096u
#define USD 1000000000u

static uint64_t metrics_render_value(const _Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

/* The sum of all shards for each set of labels, in the order of the registry. */
struct sums {
    struct metrics_text *t;
    const struct metrics_registry *registry;
    size_t count, each;
    void *memory;
    _Atomic uint64_t *cells; /* in it */
    bool *used;              /* "other" is shown only once it is needed */
};

static void metrics_add_cells(_Atomic uint64_t *to, const _Atomic uint64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        atomic_store_explicit(&to[i],
                              metrics_render_value(&to[i]) + metrics_render_value(&from[i]),
                              memory_order_relaxed);
}

static void sums_init(struct sums *s, struct metrics *m, enum metrics_set set,
                      struct metrics_text *t)
{
    const struct metrics_registry *r = &m->registries[set];

    *s = (struct sums){.t = t, .registry = r, .each = metrics_cell_counts[set]};
    s->count = atomic_load_explicit(&r->count, memory_order_acquire);
    s->cells = s->memory = base_alloc(s->count * s->each * sizeof s->cells[0]);
    s->used = base_alloc(s->count);
    memset(s->used, 0, s->count);
    for (size_t i = 0; i < s->count * s->each; i++)
        atomic_init(&s->cells[i], 0);
    for (unsigned k = 0; k < m->shard_count; k++)
        for (size_t i = 0; i < s->count; i++) {
            const _Atomic uint64_t *from =
                atomic_load_explicit(&m->shards[k].tables[set].cells[i], memory_order_acquire);

            if (from)
                metrics_add_cells(s->cells + i * s->each, from, s->each);
            s->used[i] |= from != NULL;
        }
}

static void sums_release(struct sums *s)
{
    free(s->memory);
    free(s->used);
}

/* The next used set of labels after `at`, from 0 on; NULL at the end. */
static const void *sums_next(const struct sums *s, size_t *at, const char **labels)
{
    assert(*at <= s->count);
    while (*at < s->count && !s->used[*at])
        (*at)++;
    if (*at == s->count)
        return NULL;
    *labels = s->registry->keys[*at].labels;
    return s->cells + (*at)++ * s->each;
}

/* Labels with one or two more; the text returned is the one in out. */
static const char *metrics_render_add_label(char out[LABELS_MAX], const char *labels,
                                            const char *name, const char *text)
{
    int n = snprintf(out, LABELS_MAX, "%s%s%s=\"%s\"", labels, labels[0] ? "," : "", name, text);

    assert(n > 0 && n < (int)LABELS_MAX);
    return out;
}

/* ---- by labels that calls bring ---- */

static void metrics_request_lines(struct sums *s)
{
    static const char *const classes[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
    const struct metrics_route_model *c;
    const char *labels;

    metrics_family(s->t, PREFIX "requests", METRICS_COUNTER, "Model calls that have ended.");
    for (size_t at = 0; (c = sums_next(s, &at, &labels));)
        for (size_t class = 0; class < METRICS_CLASSES; class ++)
            for (size_t stream = 0; stream < 2; stream++) {
                char one[LABELS_MAX], both[LABELS_MAX];
                uint64_t n = metrics_render_value(&c->requests[class][stream]);

                if (n == 0 && class != 2 && class != 4 && class != 5)
                    continue; /* the others begin at 0, so that their first call is a rise */
                metrics_render_add_label(one, labels, "status_class", classes[class]);
                metrics_line(
                    s->t,
                    "",
                    metrics_render_add_label(both, one, "stream", stream ? "true" : "false"),
                    n,
                    1);
            }
    metrics_family(s->t,
                   PREFIX "request_duration_seconds",
                   METRICS_HISTOGRAM,
                   "From the request to the last byte of the reply.");
    for (size_t at = 0; (c = sums_next(s, &at, &labels));)
        metrics_hist_lines(s->t, labels, &c->duration, &metrics_seconds);
}

static void metrics_overhead_lines(struct sums *s)
{
    const struct metrics_route *c;
    const char *labels;

    metrics_family(s->t,
                   PREFIX "overhead_seconds",
                   METRICS_HISTOGRAM,
                   "Time in the gateway, without waiting for the provider.");
    for (size_t at = 0; (c = sums_next(s, &at, &labels));)
        metrics_hist_lines(s->t, labels, &c->overhead, &metrics_overhead);
}

static void rule_lines(struct sums *s)
{
    const struct metrics_rule *c;
    const char *labels;
    size_t at = 0;

    metrics_family(
        s->t, PREFIX "redactions", METRICS_COUNTER, "Matches of masking rules in texts.");
    if (!sums_next(s, &at, &labels))
        metrics_line(s->t, "", "rule=\"none\"", 0, 1); /* so that its first is a rise */
    for (at = 0; (c = sums_next(s, &at, &labels));)
        metrics_line(s->t, "", labels, metrics_render_value(&c->redactions), 1);
}

/* One family of counters, `count` side by side in each cell. */
static void metrics_counter_lines(struct sums *s, size_t offset, const char *label,
                                  const char *const *values, size_t count, uint64_t unit)
{
    const char *cell, *labels;

    for (size_t at = 0; (cell = sums_next(s, &at, &labels));)
        for (size_t i = 0; i < count; i++) {
            const _Atomic uint64_t *from = (const _Atomic uint64_t *)(const void *)(cell + offset);
            char all[LABELS_MAX];

            metrics_line(s->t,
                         "",
                         metrics_render_add_label(all, labels, label, values[i]),
                         metrics_render_value(&from[i]),
                         unit);
        }
}

/* One family of histograms by level; levels that were never asked for are left out. */
static void level_lines(struct sums *s, size_t offset, const struct metrics_bounds *b)
{
    const char *cell, *labels;

    for (size_t at = 0; (cell = sums_next(s, &at, &labels));)
        for (size_t i = 0; i < CHAT_LEVEL_COUNT; i++) {
            const struct metrics_hist *h = (const void *)(cell + offset);
            const char *name = i == CHAT_LEVEL_NOT_GIVEN ? "default"
                               : i == CHAT_LEVEL_ON      ? "on"
                                                         : chat_level_name((enum chat_level)i);
            char all[LABELS_MAX];

            if (metrics_hist_count(&h[i]) > 0)
                metrics_hist_lines(
                    s->t, metrics_render_add_label(all, labels, "level", name), &h[i], b);
        }
}

static void metrics_model_lines(struct sums *s)
{
    static const char *const kinds[METRICS_TOKEN_KINDS] = {
        "input_uncached", "cache_read", "cache_write", "answer", "reasoning"};
    static const char *const sources[] = {"local", "provider"};
    static const char *const repaired[] = {"false", "true"};

    metrics_family(s->t,
                   PREFIX "tokens",
                   METRICS_COUNTER,
                   "Tokens by kind; no kind contains another, so they can be added up.");
    metrics_counter_lines(
        s, offsetof(struct metrics_model, tokens), "kind", kinds, METRICS_TOKEN_KINDS, 1);
    metrics_family(
        s->t, PREFIX "cost_usd", METRICS_COUNTER, "Cost in USD; source says who computed it.");
    metrics_counter_lines(s, offsetof(struct metrics_model, cost), "source", sources, 2, USD);
    metrics_family(s->t,
                   PREFIX "starved_answers",
                   METRICS_COUNTER,
                   "Calls whose reasoning left no room for an answer.");
    metrics_counter_lines(s, offsetof(struct metrics_model, starved), "repaired", repaired, 2, 1);
    metrics_family(s->t,
                   PREFIX "reasoning_duration_seconds",
                   METRICS_HISTOGRAM,
                   "From the first to the last byte of reasoning.");
    level_lines(s, offsetof(struct metrics_model, reasoning), &metrics_seconds);
    metrics_family(
        s->t, PREFIX "reasoning_tokens", METRICS_HISTOGRAM, "Reasoning tokens of a call.");
    level_lines(s, offsetof(struct metrics_model, reasoning_tokens), &metrics_tokens);
    metrics_family(s->t,
                   PREFIX "reasoning_cap_ratio",
                   METRICS_HISTOGRAM,
                   "Reasoning tokens of a call divided by its cap.");
    level_lines(s, offsetof(struct metrics_model, cap_ratio), &metrics_ratio);
}

/* ---- by labels of our own ---- */

static void total_lines(struct metrics_text *t, const char *labels, const char *label,
                        const char *const *values, const _Atomic uint64_t *from, size_t count)
{
    char all[LABELS_MAX];

    for (size_t i = 0; i < count; i++)
        metrics_line(t,
                     "",
                     metrics_render_add_label(all, labels, label, values[i]),
                     metrics_render_value(&from[i]),
                     1);
}

static void totals_render(struct metrics_text *t, const struct metrics_totals *sum)
{
    static const char *const reasons[METRICS_REJECTED_COUNT] = {
        "queue_full", "disk", "rate", "budget", "too_large", "wrong_keys"};
    static const char *const sources[SUMMARY_SOURCE_COUNT] = {
        "none", "field", "tag", "channel", "summary", "opaque"};
    const char *kinds[SPLIT_FLAG_COUNT];
    uint64_t begun = metrics_render_value(&sum->begun), done = metrics_render_value(&sum->done);

    metrics_family(t, PREFIX "inflight_requests", METRICS_GAUGE, "Model calls that are running.");
    metrics_line(t, "", "", begun > done ? begun - done : 0, 1);
    metrics_family(
        t, PREFIX "rejected", METRICS_COUNTER, "Requests that were refused before a call started.");
    total_lines(t, "", "reason", reasons, sum->rejected, METRICS_REJECTED_COUNT);
    metrics_family(t,
                   PREFIX "time_to_first_token_seconds",
                   METRICS_HISTOGRAM,
                   "Until the first byte of reasoning, and of the answer, of a stream.");
    metrics_hist_lines(t, "phase=\"reasoning\"", &sum->first[0], &metrics_seconds);
    metrics_hist_lines(t, "phase=\"answer\"", &sum->first[1], &metrics_seconds);
    metrics_family(t, PREFIX "reasoning_cut", METRICS_COUNTER, "Reasoning ended at its cap.");
    total_lines(
        t, "by=\"gateway\"", "action", metrics_cut_actions, sum->cut[0], METRICS_CUT_ACTIONS);
    total_lines(
        t, "by=\"upstream\"", "action", metrics_cut_actions, sum->cut[1], METRICS_CUT_ACTIONS);
    metrics_family(t,
                   PREFIX "reasoning_source",
                   METRICS_COUNTER,
                   "Calls by the place where their reasoning was found.");
    total_lines(t, "", "source", sources, sum->source, SUMMARY_SOURCE_COUNT);
    metrics_family(t,
                   PREFIX "reasoning_parse_anomalies",
                   METRICS_COUNTER,
                   "Irregularities in texts that were split.");
    for (unsigned i = 0; i < SPLIT_FLAG_COUNT; i++)
        kinds[i] = split_flag_name(i);
    total_lines(t, "", "kind", kinds, sum->anomalies, SPLIT_FLAG_COUNT);
}

static void metrics_commit_lines(struct metrics_text *t, const struct metrics_gauges *g)
{
    struct metrics_bounds bounds = {.unit = 1000000000, .count = STORE_COMMIT_STEPS};
    struct metrics_hist hist = {.sum = g->history_commit_ns};

    for (size_t i = 0; i <= STORE_COMMIT_STEPS; i++) {
        if (i < STORE_COMMIT_STEPS)
            bounds.at[i] = store_commit_steps_ns[i];
        hist.buckets[i] = g->history_commits[i];
    }
    metrics_hist_lines(
        t, g->history_window_ms ? "mode=\"fast\"" : "mode=\"durable\"", &hist, &bounds);
}

#define QUEUE "queue=\"history\""
#define OTLP "exporter=\"otlp\""
#define GAUGE(name, labels, value, help)                                                           \
    {                                                                                              \
        PREFIX name, METRICS_GAUGE, help, labels, value                                            \
    }
#define COUNTER(name, labels, value, help)                                                         \
    {                                                                                              \
        PREFIX name, METRICS_COUNTER, help, labels, value                                          \
    }

static void metrics_gauge_lines(struct metrics_text *t, const struct metrics_gauges *g)
{
    const struct {
        const char *name;
        enum metrics_type type;
        const char *help, *labels;
        uint64_t value;
    } rows[] = {
        GAUGE("queue_depth", QUEUE, g->queue_depth, "Bytes that wait in a queue."),
        GAUGE("queue_capacity", QUEUE, g->queue_capacity, "Bytes that a queue can hold."),
        GAUGE("connections", "", g->connections, "Open connections of clients."),
        GAUGE("history_pending_bytes",
              "",
              g->history_pending,
              "Bytes in the journal that are not in the tables yet."),
        GAUGE("history_pending_records",
              "",
              g->history_records,
              "Records in the journal that are not in the tables yet."),
        GAUGE("history_pending_seconds",
              "",
              g->history_seconds,
              "Age of the oldest record that is not in the tables yet."),
        GAUGE("history_bytes", "", g->history_bytes, "Size of the record."),
        GAUGE("history_free_bytes", "", g->history_free, "Free disk space where the record is."),
        COUNTER("history_errors", "", g->history_errors, "Failed writes of the record."),
        COUNTER(
            "history_dropped", "", g->history_dropped, "Records that were lost or not written."),
        GAUGE("export_queue_depth", OTLP, g->export_depth, "Spans that wait to be sent."),
        COUNTER("export_sent", OTLP, g->export_sent, "Spans that were sent."),
        COUNTER("export_dropped", OTLP, g->export_dropped, "Spans that were not sent."),
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        metrics_family(t, rows[i].name, rows[i].type, rows[i].help);
        metrics_line(t, "", rows[i].labels, rows[i].value, 1);
    }
}

static void metrics_disk_lines(struct metrics_text *t, const struct metrics_gauges *g)
{
    metrics_family(
        t,
        PREFIX "history_window_seconds",
        METRICS_GAUGE,
        "Time span of records that a power loss may lose; 0 if calls wait for the disk.");
    metrics_line(t, "", "", g->history_window_ms, 1000);
    metrics_family(t,
                   PREFIX "history_commit_seconds",
                   METRICS_HISTOGRAM,
                   "Time to write a group of records to disk.");
    metrics_commit_lines(t, g);
}

static void live_lines(struct metrics_text *t, const struct metrics_live live[METRICS_WAYS])
{
    static const char *const ways[METRICS_WAYS] = {"transport=\"ws\"", "transport=\"sse\""};

    metrics_family(t, PREFIX "live_clients", METRICS_GAUGE, "Connected viewers of live events.");
    for (size_t i = 0; i < METRICS_WAYS; i++)
        metrics_line(t, "", ways[i], live[i].clients, 1);
    metrics_family(t, PREFIX "live_lag_bytes", METRICS_GAUGE, "Bytes that wait for live viewers.");
    for (size_t i = 0; i < METRICS_WAYS; i++)
        metrics_line(t, "", ways[i], live[i].lag_bytes, 1);
    metrics_family(t, PREFIX "live_dropped", METRICS_COUNTER, "Messages that live viewers missed.");
    for (size_t i = 0; i < METRICS_WAYS; i++)
        metrics_line(t, "", ways[i], live[i].dropped, 1);
}

static void metrics_key_lines(struct metrics_text *t, const struct metrics_gauges *g)
{
    metrics_family(t,
                   PREFIX "key_budget_remaining_ratio",
                   METRICS_GAUGE,
                   "Part of a key's spend_usd that is left; 1 is all of it.");
    for (size_t i = 0; i < g->key_count && i < METRICS_SERIES_MAX; i++) {
        char name[65], labels[LABELS_MAX];
        double left = g->keys[i].left > 0 ? g->keys[i].left : 0;

        /* A key's name has no character that would have to be escaped: see config_keys.c. */
        (void)snprintf(name, sizeof name, STR_FMT, STR_ARG(g->keys[i].name));
        metrics_line(t,
                     "",
                     metrics_render_add_label(labels, "", "key", name),
                     (uint64_t)(left * 1e9),
                     1000000000);
    }
}

static void metrics_build_line(struct metrics_text *t)
{
    struct buf labels;

    buf_init(&labels, LABELS_MAX);
    metrics_label(&labels, "version", STR(RATIONALE_VERSION));
    metrics_label(&labels, "commit", str_c(metrics_commit));
    buf_add_c(&labels, '\0');
    assert(!buf_full(&labels));
    metrics_line(t, "", labels.p, 1, 1);
    buf_release(&labels);
}

void metrics_render(struct metrics *m, const struct metrics_gauges *g, bool openmetrics,
                    struct buf *out)
{
    static void (*const render[METRICS_SET_COUNT])(struct sums *) = {
        [METRICS_BY_ROUTE_MODEL] = metrics_request_lines,
        [METRICS_BY_MODEL] = metrics_model_lines,
        [METRICS_BY_ROUTE] = metrics_overhead_lines,
        [METRICS_BY_RULE] = rule_lines,
    };
    struct metrics_text t = {.out = out, .open = openmetrics};
    struct metrics_totals totals;

    metrics_family(&t,
                   PREFIX "build_info",
                   METRICS_GAUGE,
                   "Version and commit of the program; the value is 1.");
    metrics_build_line(&t);
    for (size_t set = 0; set < METRICS_SET_COUNT; set++) {
        struct sums s;

        sums_init(&s, m, (enum metrics_set)set, &t);
        render[set](&s);
        sums_release(&s);
    }
    memset(&totals, 0, sizeof totals);
    for (unsigned i = 0; i < m->shard_count; i++)
        metrics_add_cells((_Atomic uint64_t *)(void *)&totals,
                          (const _Atomic uint64_t *)(const void *)&m->shards[i].totals,
                          sizeof totals / sizeof(uint64_t));
    totals_render(&t, &totals);
    metrics_gauge_lines(&t, g);
    metrics_disk_lines(&t, g);
    live_lines(&t, g->live);
    metrics_key_lines(&t, g);
    pthread_mutex_lock(&m->source_lock);
    for (size_t i = 0; i < m->source_count; i++)
        m->sources[i].write(m->sources[i].ctx, &t);
    pthread_mutex_unlock(&m->source_lock);
    metrics_process(&t, m->start_ms);
    metrics_end(&t);
}
