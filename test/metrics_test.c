/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "gateway/metrics.h"
#include "test.h"

#include <pthread.h>

#define PAGE_MAX ((size_t)16 << 20)
#define SEC 1000000000ull

static const struct metrics_gauges no_gauges;

static struct summary sample_call(void)
{
    struct summary c = {
        .id = STR("id"),
        .session = STR(""),
        .key_name = STR(""),
        .route = STR("/v1/chat/completions"),
        .provider = STR("openai"),
        .model = STR("m-1"),
        .status = 200,
        .stream = true,
        .error_type = STR(""),
        .level = CHAT_LEVEL_HIGH,
        .start_ns = 10 * SEC,
        .reasoning_ns = 11 * SEC,
        .reasoning_end_ns = 15 * SEC,
        .answer_ns = 16 * SEC,
        .end_ns = 20 * SEC,
        .upstream_wait_ns = 10 * SEC - 2000000,
        .usage = {.input = 100, .output = 60, .reasoning = 40, .cache_read = 30, .cache_write = 5},
        .cap = 50,
        .cut_action = STR(""),
        .source = SUMMARY_TAG,
        .cost_usd = 0.25,
        .max_tokens = STR(""),
        .temperature = STR(""),
        .top_p = STR(""),
    };

    return c;
}

static str render(struct metrics *m, bool open, struct buf *page)
{
    buf_reset(page);
    metrics_render(m, &no_gauges, open, page);
    buf_add_c(page, '\0');
    CHECK(!buf_full(page));
    return (str){page->p, page->n - 1};
}

/* The value of a sample, or -1 if it is not on the page. */
static double sample(str page, const char *name)
{
    str want = str_c(name);

    for (size_t at = 0; at < page.n;) {
        str rest = str_slice(page, at, page.n),
            line = str_slice(rest, 0, str_find(rest, STR("\n")));

        if (str_starts(line, want) && line.n > want.n && line.p[want.n] == ' ')
            return strtod(line.p + want.n, NULL);
        at += line.n + 1;
    }
    return -1;
}

#define CHECK_SAMPLE(page, name, want)                                                             \
    CHECK_F(sample(page, name) == (want), "%s is %g", name, sample(page, name))

/* ---- a strict reader of the format ---- */

struct checker {
    struct map samples;
    struct arena arena;
    str family; /* from its TYPE line */
    bool open, eof;
    str bucket; /* labels of the previous bucket, without le, and its value */
    double bucket_value, bucket_bound;
};

static size_t name_size(str s)
{
    size_t n = 0;

    while (n < s.n && (s.p[n] == '_' || s.p[n] == ':' || (s.p[n] >= 'a' && s.p[n] <= 'z') ||
                       (s.p[n] >= 'A' && s.p[n] <= 'Z') || (n && s.p[n] >= '0' && s.p[n] <= '9')))
        n++;
    CHECK(n > 0);
    return n;
}

/* The size of {name="value",...} with its braces. Writes the value of le to *bound. */
static size_t labels_size(str s, double *bound)
{
    size_t at = 1;

    for (;;) {
        size_t n = name_size(str_slice(s, at, s.n));
        bool le = str_eq(str_slice(s, at, at + n), STR("le"));

        at += n;
        CHECK(str_starts(str_slice(s, at, s.n), STR("=\"")));
        at += 2;
        if (le)
            *bound =
                str_starts(str_slice(s, at, s.n), STR("+Inf")) ? 1e300 : strtod(s.p + at, NULL);
        for (; at < s.n && s.p[at] != '"'; at++)
            if (s.p[at] == '\\') {
                at++;
                CHECK(at < s.n && memchr("\\\"n", s.p[at], 3));
            }
        CHECK(at < s.n);
        if (s.p[++at] == '}')
            return at + 1;
        CHECK(s.p[at++] == ',');
    }
}

static void check_sample(struct checker *k, str line)
{
    size_t n = name_size(line), labels = 0;
    str name = str_slice(line, 0, n), key;
    double bound = 0, value;
    struct err e;
    char *end;

    CHECK_F(
        str_starts(name, k->family), STR_FMT " under " STR_FMT, STR_ARG(name), STR_ARG(k->family));
    if (line.p[n] == '{')
        labels = labels_size(str_slice(line, n, line.n), &bound);
    key = str_slice(line, 0, n + labels);
    CHECK_F(!map_find(&k->samples, key), "twice: " STR_FMT, STR_ARG(key));
    CHECK(map_set(&k->samples, key, MAP_U64(1), &e));
    CHECK(line.p[n + labels] == ' ');
    value = strtod(line.p + n + labels + 1, &end);
    CHECK(*end == '\n' && value >= 0);
    if (str_ends(name, STR("_bucket"))) {
        CHECK(k->bucket_bound == 1e300 || (bound > k->bucket_bound && value >= k->bucket_value));
        k->bucket_bound = bound;
        k->bucket_value = value;
    } else if (str_ends(name, STR("_count")) && k->bucket_value >= 0) {
        CHECK(k->bucket_bound == 1e300 && value == k->bucket_value);
    }
}

static void check_line(struct checker *k, str line)
{
    CHECK(!k->eof && line.n > 0);
    if (str_starts(line, STR("# TYPE "))) {
        str rest = str_slice(line, 7, line.n);

        k->family = str_slice(rest, 0, name_size(rest));
        k->bucket_bound = 1e300;
        k->bucket_value = -1;
        CHECK(k->open != str_ends(rest, STR("_total counter")) || !str_ends(rest, STR("counter")));
    } else if (str_eq(line, STR("# EOF"))) {
        k->eof = true;
    } else if (line.p[0] == '#') {
        CHECK(str_starts(line, STR("# HELP ")));
    } else {
        check_sample(k, line);
    }
}

static void check_page(str page, bool open)
{
    struct checker k = {.open = open};

    arena_init(&k.arena, 1 << 20);
    map_init(&k.samples, NULL, 1000000);
    for (size_t at = 0; at < page.n;) {
        str rest = str_slice(page, at, page.n);
        size_t n = str_find(rest, STR("\n"));

        CHECK(n != STR_NONE);
        check_line(&k, str_slice(rest, 0, n));
        at += n + 1;
    }
    CHECK(k.eof == open);
    map_release(&k.samples);
    arena_release(&k.arena);
}

/* ---- tests ---- */

TEST(a_call_is_counted_where_it_belongs)
{
#define WHO "{route=\"/v1/chat/completions\",provider=\"openai\",model=\"m-1\""
#define MODEL "{provider=\"openai\",model=\"m-1\""
    static const struct {
        const char *name;
        double value;
    } want[] = {
        {"rationale_requests_total" WHO ",status_class=\"2xx\",stream=\"true\"}", 1},
        {"rationale_requests_total" WHO ",status_class=\"5xx\",stream=\"false\"}", 0},
        {"rationale_request_duration_seconds_bucket" WHO ",le=\"5\"}", 0},
        {"rationale_request_duration_seconds_bucket" WHO ",le=\"10\"}", 1},
        {"rationale_request_duration_seconds_bucket" WHO ",le=\"+Inf\"}", 1},
        {"rationale_request_duration_seconds_sum" WHO "}", 10},
        {"rationale_request_duration_seconds_count" WHO "}", 1},
        {"rationale_time_to_first_token_seconds_sum{phase=\"reasoning\"}", 1},
        {"rationale_time_to_first_token_seconds_sum{phase=\"answer\"}", 6},
        {"rationale_reasoning_duration_seconds_sum" MODEL ",level=\"high\"}", 4},
        {"rationale_tokens_total" MODEL ",kind=\"input_uncached\"}", 65},
        {"rationale_tokens_total" MODEL ",kind=\"cache_read\"}", 30},
        {"rationale_tokens_total" MODEL ",kind=\"cache_write\"}", 5},
        {"rationale_tokens_total" MODEL ",kind=\"answer\"}", 20},
        {"rationale_tokens_total" MODEL ",kind=\"reasoning\"}", 40},
        {"rationale_reasoning_tokens_bucket" MODEL ",level=\"high\",le=\"32\"}", 0},
        {"rationale_reasoning_tokens_bucket" MODEL ",level=\"high\",le=\"64\"}", 1},
        {"rationale_reasoning_cap_ratio_bucket" MODEL ",level=\"high\",le=\"0.7\"}", 0},
        {"rationale_reasoning_cap_ratio_bucket" MODEL ",level=\"high\",le=\"0.8\"}", 1},
        {"rationale_cost_usd_total" MODEL ",source=\"local\"}", 0.25},
        {"rationale_cost_usd_total" MODEL ",source=\"provider\"}", 0},
        {"rationale_starved_answers_total" MODEL ",repaired=\"false\"}", 0},
        {"rationale_reasoning_source_total{source=\"tag\"}", 1},
        {"rationale_overhead_seconds_bucket{route=\"/v1/chat/completions\",le=\"0.001\"}", 0},
        {"rationale_overhead_seconds_bucket{route=\"/v1/chat/completions\",le=\"0.0025\"}", 1},
        {"rationale_inflight_requests", 1},
        {"rationale_rejected_total{reason=\"rate\"}", 1},
    };
    struct metrics *m = metrics_new(2);
    struct summary c = sample_call();
    struct buf page;
    str text;

    buf_init(&page, PAGE_MAX);
    metrics_begin(metrics_shard(m, 0));
    metrics_begin(metrics_shard(m, 1));
    metrics_done(metrics_shard(m, 1), &c);
    metrics_reject(metrics_shard(m, 0), METRICS_RATE);
    text = render(m, false, &page);
    for (size_t i = 0; i < COUNT_OF(want); i++)
        CHECK_SAMPLE(text, want[i].name, want[i].value);
    check_page(text, false);
    buf_release(&page);
    metrics_free(m);
}

TEST(the_rarer_facts_of_a_call_are_counted_too)
{
    struct metrics *m = metrics_new(1);
    struct metrics_shard *s = metrics_shard(m, 0);
    struct summary c = sample_call();
    struct buf page;
    str text;

    buf_init(&page, PAGE_MAX);
    c.starved = c.repaired = c.cut = c.cut_upstream = c.cost_from_provider = true;
    c.cut_action = STR("restate");
    c.anomalies = 1u << 3 | 1u << 7;
    c.level = CHAT_LEVEL_NOT_GIVEN;
    metrics_done(s, &c);
    c.status = 0;
    c.stream = false;
    c.level = CHAT_LEVEL_ON;
    c.cut_action = STR("something new");
    c.usage = chat_usage_none;
    c.reasoning_ns = c.reasoning_end_ns = c.answer_ns = 0;
    c.cost_usd = -1;
    c.end_ns = 0; /* a wrong clock must not give a huge duration */
    metrics_done(s, &c);
    text = render(m, false, &page);
    CHECK_SAMPLE(text, "rationale_starved_answers_total" MODEL ",repaired=\"true\"}", 2);
    CHECK_SAMPLE(text, "rationale_reasoning_cut_total{by=\"gateway\",action=\"restate\"}", 1);
    CHECK_SAMPLE(text, "rationale_reasoning_cut_total{by=\"upstream\",action=\"none\"}", 1);
    CHECK_SAMPLE(text, "rationale_reasoning_parse_anomalies_total{kind=\"invalid_utf8\"}", 2);
    CHECK_SAMPLE(text, "rationale_reasoning_parse_anomalies_total{kind=\"unopened_close\"}", 2);
    CHECK_SAMPLE(text, "rationale_cost_usd_total" MODEL ",source=\"provider\"}", 0.25);
    CHECK_SAMPLE(
        text, "rationale_requests_total" WHO ",status_class=\"none\",stream=\"false\"}", 1);
    CHECK_SAMPLE(text, "rationale_reasoning_tokens_count" MODEL ",level=\"default\"}", 1);
    CHECK_SAMPLE(text, "rationale_reasoning_tokens_count" MODEL ",level=\"on\"}", -1);
    CHECK_SAMPLE(text, "rationale_tokens_total" MODEL ",kind=\"answer\"}", 20);
    CHECK_SAMPLE(text, "rationale_request_duration_seconds_sum" WHO "}", 10);
    buf_release(&page);
    metrics_free(m);
}

TEST(an_idle_page_is_whole_and_its_counters_are_zero)
{
    static const char *const zeros[] = {
        "rationale_inflight_requests",
        "rationale_rejected_total{reason=\"too_large\"}",
        "rationale_reasoning_source_total{source=\"opaque\"}",
        "rationale_reasoning_cut_total{by=\"gateway\",action=\"prefill\"}",
        "rationale_history_dropped_total",
        "rationale_export_sent_total{exporter=\"otlp\"}",
    };
    struct metrics *m = metrics_new(3);
    struct buf page;

    buf_init(&page, PAGE_MAX);
    for (int open = 0; open < 2; open++) {
        str text = render(m, open, &page);

        check_page(text, open);
        for (size_t i = 0; i < COUNT_OF(zeros); i++)
            CHECK_SAMPLE(text, zeros[i], 0);
        CHECK(str_find(text,
                       STR("\nrationale_build_info{version=\"" RATIONALE_VERSION "\",commit=\"")) !=
              STR_NONE);
        CHECK(sample(text, "process_resident_memory_bytes") > 100000);
        CHECK(sample(text, "process_open_fds") >= 3);
        CHECK(sample(text, "process_cpu_seconds_total") >= 0);
        CHECK(sample(text, "process_start_time_seconds") > 1.6e9);
        CHECK(sample(text, "process_start_time_seconds") <= (double)time(NULL) + 1);
    }
    buf_release(&page);
    metrics_free(m);
}

TEST(the_gauges_are_shown)
{
    struct metrics_gauges g = {
        .queue_depth = 1,
        .queue_capacity = 2,
        .history_pending = 3,
        .history_free = 5,
        .history_window_ms = 50,
        .history_errors = 6,
        .history_dropped = 7,
        .history_commits = {[0] = 3, [4] = 4, [STORE_COMMIT_STEPS] = 1},
        .history_commit_ns = 1500000000,
        .history_records = 5,
        .export_depth = 9,
        .export_sent = 10,
        .export_dropped = 11,
        .connections = 12,
        .keys = (struct metrics_budget[]){{STR("ci"), 0.25}, {STR("spent"), -0.5}},
        .key_count = 2};
    struct metrics *m = metrics_new(1);
    struct buf page;

    buf_init(&page, PAGE_MAX);
    metrics_render(m, &g, false, &page);
    CHECK_SAMPLE(buf_str(&page), "rationale_queue_depth{queue=\"history\"}", 1);
    CHECK_SAMPLE(buf_str(&page), "rationale_history_pending_bytes", 3);
    CHECK_SAMPLE(buf_str(&page), "rationale_history_free_bytes", 5);
    CHECK_SAMPLE(buf_str(&page), "rationale_history_window_seconds", 0.05);
    CHECK_SAMPLE(buf_str(&page), "rationale_history_commit_seconds_sum{mode=\"fast\"}", 1.5);
    CHECK_SAMPLE(buf_str(&page), "rationale_history_commit_seconds_count{mode=\"fast\"}", 8);
    CHECK_SAMPLE(buf_str(&page), "rationale_history_pending_records", 5);
    CHECK(str_find(buf_str(&page), STR("_commit_seconds_bucket{mode=\"fast\",le=\"0.0025\"} 7")) !=
          STR_NONE);
    CHECK_SAMPLE(buf_str(&page), "rationale_export_dropped_total{exporter=\"otlp\"}", 11);
    CHECK_SAMPLE(buf_str(&page), "rationale_connections", 12);
    CHECK_SAMPLE(buf_str(&page), "rationale_key_budget_remaining_ratio{key=\"ci\"}", 0.25);
    CHECK_SAMPLE(buf_str(&page), "rationale_key_budget_remaining_ratio{key=\"spent\"}", 0);
    CHECK_SAMPLE(buf_str(&page), "rationale_live_clients{transport=\"sse\"}", 0);
    buf_release(&page);
    metrics_free(m);
}

TEST(openmetrics_names_families_without_total_and_bounds_with_a_point)
{
    struct metrics *m = metrics_new(1);
    struct summary c = sample_call();
    struct buf page;
    str text;

    buf_init(&page, PAGE_MAX);
    metrics_done(metrics_shard(m, 0), &c);
    text = render(m, true, &page);
    check_page(text, true);
    CHECK(str_ends(text, STR("\n# EOF\n")));
    CHECK(str_find(text, STR("# TYPE rationale_requests counter\n")) != STR_NONE);
    CHECK(str_find(text, STR("# TYPE process_cpu_seconds counter\n")) != STR_NONE);
    CHECK_SAMPLE(text, "rationale_request_duration_seconds_bucket" WHO ",le=\"10.0\"}", 1);
    CHECK(str_find(text, STR("_created")) == STR_NONE);
    text = render(m, false, &page);
    CHECK(str_find(text, STR("# EOF")) == STR_NONE);
    CHECK(str_find(text, STR("# TYPE rationale_requests_total counter\n")) != STR_NONE);
    buf_release(&page);
    metrics_free(m);
}

TEST(whatever_a_label_holds_the_page_can_be_read)
{
    static const struct {
        str value;
        const char *shown;
    } cases[] = {
        {STR_INIT("a\"b\\c\nd"), "a\\\"b\\\\c\\nd"},
        {STR_INIT("caf\xC3\xA9"), "caf\xC3\xA9"},
        {STR_INIT("bad \xFF"), "bad \xEF\xBF\xBD"},
        {STR_INIT("nul\0."), "nul ."},
        {STR_INIT("} 1\n# EOF\n"), "} 1\\n# EOF\\n"},
        {STR_INIT(""), ""},
    };
    struct metrics *m = metrics_new(1);
    struct buf page;
    char name[400], wide[1000];
    struct summary c = sample_call();

    buf_init(&page, PAGE_MAX);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        c.model = cases[i].value;
        metrics_done(metrics_shard(m, 0), &c);
    }
    memset(wide, 0xFF, sizeof wide);
    c.model = (str){wide, sizeof wide};
    metrics_done(metrics_shard(m, 0), &c);
    memset(wide, '\\', sizeof wide);
    metrics_done(metrics_shard(m, 0), &c);
    for (int open = 0; open < 2; open++) {
        str text = render(m, open, &page);

        check_page(text, open);
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            snprintf(name,
                     sizeof name,
                     "rationale_tokens_total{provider=\"openai\",model=\"%s\",kind=\"answer\"}",
                     cases[i].shown);
            CHECK_SAMPLE(text, name, 20);
        }
    }
    buf_release(&page);
    metrics_free(m);
}

TEST(values_that_look_the_same_are_one_series)
{
    static const str models[] = {STR_INIT("x\xFF"),
                                 STR_INIT("x\xFE"),
                                 STR_INIT("x\xEF\xBF\xBD"),
                                 STR_INIT("a b"),
                                 STR_INIT("a\0b"),
                                 STR_INIT("a\rb")};
    struct metrics *m = metrics_new(1);
    struct summary c = sample_call();
    struct buf page;
    str text;

    buf_init(&page, PAGE_MAX);
    for (unsigned round = 0; round < 400; round++)
        for (size_t i = 0; i < COUNT_OF(models); i++) {
            c.model = models[i];
            metrics_done(metrics_shard(m, 0), &c);
        }
    c.provider = c.model = STR("other");
    metrics_done(metrics_shard(m, 0), &c);
    text = render(m, false, &page);
    check_page(text, false);
    CHECK_SAMPLE(text,
                 "rationale_tokens_total{provider=\"openai\",model=\"a b\",kind=\"answer\"}",
                 20 * 3 * 400);
    CHECK_SAMPLE(
        text, "rationale_tokens_total{provider=\"other\",model=\"other\",kind=\"answer\"}", 20);
    buf_release(&page);
    metrics_free(m);
}

TEST(strangers_cannot_make_the_page_grow)
{
    struct metrics *m = metrics_new(2);
    struct summary c = sample_call();
    struct buf page;
    size_t size;
    char model[32];
    str text;

    buf_init(&page, PAGE_MAX);
    c.provider = STR("");
    for (unsigned i = 0; i < 1000; i++) { /* models that no provider serves get no label */
        c.model = (str){model, (size_t)snprintf(model, sizeof model, "guess-%u", i)};
        metrics_done(metrics_shard(m, i % 2), &c);
    }
    text = render(m, false, &page);
    CHECK_SAMPLE(text,
                 "rationale_requests_total{route=\"/v1/chat/completions\",provider=\"none\","
                 "model=\"none\",status_class=\"2xx\",stream=\"true\"}",
                 1000);
    CHECK(str_find(text, STR("guess")) == STR_NONE);
    c.provider = STR("p");
    for (unsigned i = 0; i < 1000; i++) {
        c.model = (str){model, (size_t)snprintf(model, sizeof model, "m-%u", i)};
        metrics_done(metrics_shard(m, i % 2), &c);
    }
    text = render(m, false, &page);
    size = text.n;
    check_page(text, false);
    CHECK_SAMPLE(text, "rationale_tokens_total{provider=\"p\",model=\"m-7\",kind=\"answer\"}", 20);
    CHECK_SAMPLE(text,
                 "rationale_tokens_total{provider=\"other\",model=\"other\",kind=\"answer\"}",
                 20 * (1000 - METRICS_SERIES_MAX));
    for (unsigned i = 0; i < 3000; i++) {
        c.model = (str){model, (size_t)snprintf(model, sizeof model, "m-%u", i)};
        metrics_done(metrics_shard(m, (i + 1) % 2), &c);
    }
    text = render(m, false, &page);
    CHECK(text.n < size + size / 20);
    CHECK_SAMPLE(text, "rationale_tokens_total{provider=\"p\",model=\"m-7\",kind=\"answer\"}", 40);
    buf_release(&page);
    metrics_free(m);
}

#define THREADS 4u
#define CALLS 5000u

static void *count_calls(void *shard)
{
    struct summary c = sample_call();
    char model[32];

    for (unsigned i = 0; i < CALLS; i++) {
        c.model = (str){model, (size_t)snprintf(model, sizeof model, "m-%u", i % 50)};
        metrics_begin(shard);
        metrics_done(shard, &c);
    }
    return NULL;
}

TEST(threads_count_while_others_read)
{
    struct metrics *m = metrics_new(THREADS);
    pthread_t threads[THREADS];
    struct buf page;
    double last = 0;
    str text;

    buf_init(&page, PAGE_MAX);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, count_calls, metrics_shard(m, i)), 0);
    for (unsigned i = 0; i < 5; i++) {
        double now = sample(render(m, false, &page),
                            "rationale_tokens_total{provider=\"openai\",model=\"m-3\",kind="
                            "\"reasoning\"}");

        check_page((str){page.p, page.n - 1}, false);
        CHECK(now == -1 || now >= last); /* -1: not on the page yet */
        last = now;
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    text = render(m, false, &page);
    CHECK_SAMPLE(text,
                 "rationale_tokens_total{provider=\"openai\",model=\"m-3\",kind=\"reasoning\"}",
                 40.0 * THREADS * CALLS / 50);
    CHECK_SAMPLE(text, "rationale_inflight_requests", 0);
    buf_release(&page);
    metrics_free(m);
}

TEST_MAIN(T(a_call_is_counted_where_it_belongs), T(the_rarer_facts_of_a_call_are_counted_too),
          T(an_idle_page_is_whole_and_its_counters_are_zero), T(the_gauges_are_shown),
          T(openmetrics_names_families_without_total_and_bounds_with_a_point),
          T(whatever_a_label_holds_the_page_can_be_read),
          T(values_that_look_the_same_are_one_series), T(strangers_cannot_make_the_page_grow),
          T(threads_count_while_others_read))
