/* Calls over time agree with the record: by bucket, by group and application, and as a list.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "usage_help.h"

static const struct json_node *overview_member(const struct json *doc, const struct json_node *of,
                                               const char *name)
{
    const struct json_node *v = json_find(doc, of, str_c(name));

    CHECK_F(v != NULL, "%s is missing", name);
    return v;
}

static int64_t overview_number(const struct json *doc, const struct json_node *of, const char *name)
{
    int64_t n = -1;

    CHECK(json_i64(doc, overview_member(doc, of, name), &n));
    return n;
}

/* The series and the groups must add up to the calls. */
static void check_overview(struct side *s, str key, str by, int64_t bucket_s)
{
    static const char *const names[] = {"calls", "failed", "input_tokens", "starved", "cut"};
    int64_t from = 50 * 24 * (int64_t)HOUR, to = from + 31 * HOUR;
    struct query_asker asker = {.key_name = key, .now_us = to * 1000};
    struct query_overview w = {.filter = query_filter_none, .by = by, .bucket_s = bucket_s};
    const struct json_node *total, *series, *groups, *v;
    struct json doc;
    struct err e;
    char sql[600];

    w.filter.start_us = from * 1000;
    w.filter.end_us = to * 1000;
    buf_reset(&s->out);
    CHECK_F(query_overview(s->reader, &asker, &w, &s->out, &e), "%s", e.text);
    json_init(&doc);
    CHECK_F(json_parse(&doc, buf_str(&s->out), &e), "%s", e.text);
    total = overview_member(&doc, json_root(&doc), "total");
    series = overview_member(&doc, total, "series");
    groups = overview_member(&doc, json_root(&doc), "groups");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        int64_t sum = 0, of_groups = 0, n;
        const struct json_node *list = overview_member(&doc, series, names[i]);

        for (v = json_first(&doc, list); v; v = json_next(&doc, list, v)) {
            CHECK(json_i64(&doc, v, &n));
            sum += n;
        }
        CHECK_INT(sum, overview_number(&doc, total, names[i]));
        for (v = json_first(&doc, groups); v; v = json_next(&doc, groups, v))
            of_groups += overview_number(&doc, v, names[i]);
        CHECK(!by.n || of_groups == sum);
    }
    snprintf(sql,
             sizeof sql,
             "SELECT count(*) FROM llm_interactions WHERE started_ms >= %lld AND started_ms < %lld"
             " %s" STR_FMT "%s",
             (long long)from,
             (long long)to,
             key.n ? "AND key_name = '" : "",
             STR_ARG(key),
             key.n ? "'" : "");
    CHECK_INT(overview_number(&doc, total, "calls"), ask(&s->place, sql));
    json_release(&doc);
}

TEST(calls_over_time_are_those_of_the_record)
{
    static const char *const bys[] = {"", "model", "key", "application"};
    static const int64_t buckets[] = {0, 300, 900, 3600, 7200, 86400};
    struct store_receipt receipt;
    struct side s;
    struct err e;

    side_init(&s);
    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT_OF(bys); i++)
            for (size_t k = 0; k < COUNT_OF(buckets); k++)
                check_overview(&s, i % 2 ? STR("k0") : STR(""), str_c(bys[i]), buckets[k]);
        if (round == 0)
            CHECK_F(store_erase(s.store, STORE_ERASE_SESSION, STR("s-7"), STR(""), &receipt, &e),
                    "%s",
                    e.text);
    }
    side_release(&s);
}

TEST(latencies_are_within_13_percent)
{
    static const int64_t took[] = {65, 100, 250, 999, 1500, 4000, 12345, 60000, 700000};
    struct query_asker asker = {.key_name = STR("")};
    struct query_overview w = {.filter = query_filter_none, .by = STR("model")};
    struct store_call row = store_call_none;
    const struct json_node *groups, *v;
    struct side s;
    struct json doc;
    struct err e;

    side_init(&s);
    for (size_t i = 0; i < COUNT_OF(took); i++) {
        char id[32];

        snprintf(id, sizeof id, "took-%lld", (long long)took[i]);
        row.id = row.session_id = row.model = str_c(id);
        row.started_ms = 90 * 24 * (int64_t)HOUR;
        row.ended_ms = row.started_ms + took[i];
        row.status = 200;
        store_call_put(s.store, &row, NULL);
    }
    settle(s.store);
    w.filter.start_us = row.started_ms * 1000;
    w.filter.end_us = (row.started_ms + HOUR) * 1000;
    buf_reset(&s.out);
    CHECK_F(query_overview(s.reader, &asker, &w, &s.out, &e), "%s", e.text);
    json_init(&doc);
    CHECK_F(json_parse(&doc, buf_str(&s.out), &e), "%s", e.text);
    groups = overview_member(&doc, json_root(&doc), "groups");
    for (v = json_first(&doc, groups); v; v = json_next(&doc, groups, v)) {
        int64_t p50 = overview_number(&doc, v, "p50_ms"), p95 = overview_number(&doc, v, "p95_ms");
        struct arena a;
        long long ms = 0;
        str key;

        arena_init(&a, 65536);
        CHECK(json_text(&doc, overview_member(&doc, v, "key"), &a, &key));
        CHECK(sscanf(arena_dup(&a, key).p, "took-%lld", &ms) == 1 && p50 == p95);
        CHECK_F((double)p50 > (double)ms / 1.13 && (double)p50 < (double)ms * 1.13,
                "%lld ms is said to be %lld",
                ms,
                (long long)p50);
        arena_release(&a);
    }
    json_release(&doc);
    side_release(&s);
}

TEST(a_range_has_a_bounded_number_of_buckets)
{
    static const struct {
        int64_t range_s, asked_s, bucket_s;
    } cases[] = {
        {3600, 0, 300},
        {7 * 86400, 0, 3 * 3600},
        {30 * 86400, 0, 86400},
        {86400, 301, 600},
        {5 * 86400, 300, 3600},
        {30 * 86400, 3600, 2 * 3600},
        {5000 * (int64_t)86400, 1, 3 * 86400},
    };
    struct query_asker asker = {.key_name = STR("")};
    int64_t end_us = 20000 * (int64_t)86400 * 1000000;
    struct query_overview w = {.filter = query_filter_none, .by = STR("")};
    struct side s;
    struct err e;

    side_init(&s);
    w.filter.end_us = end_us;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json doc;

        w.filter.start_us = end_us - cases[i].range_s * 1000000;
        w.bucket_s = cases[i].asked_s;
        buf_reset(&s.out);
        CHECK_F(query_overview(s.reader, &asker, &w, &s.out, &e), "%s", e.text);
        json_init(&doc);
        CHECK_F(json_parse(&doc, buf_str(&s.out), &e), "%s", e.text);
        CHECK_INT(overview_number(&doc, json_root(&doc), "bucket_s"), cases[i].bucket_s);
        CHECK(overview_number(&doc, json_root(&doc), "buckets") <= 400);
        json_release(&doc);
    }
    w.filter.start_us = end_us;
    CHECK(!query_overview(s.reader, &asker, &w, &s.out, &e) && e.code == ERR_INPUT);
    side_release(&s);
}

TEST(a_range_may_end_at_any_time)
{
    struct query_asker asker = {.key_name = STR("")};
    struct query_overview w = {.filter = query_filter_none, .by = STR(""), .bucket_s = INT32_MAX};
    struct json doc;
    struct side s;
    struct err e;

    side_init(&s);
    json_init(&doc);
    w.filter.start_us = 0;
    w.filter.end_us = INT64_MAX;
    CHECK_F(query_overview(s.reader, &asker, &w, &s.out, &e), "%s", e.text);
    CHECK_F(json_parse(&doc, buf_str(&s.out), &e), "%s", e.text);
    CHECK(overview_number(&doc, json_root(&doc), "start_us") > 0);
    CHECK(overview_number(&doc, json_root(&doc), "end_us") >
          overview_number(&doc, json_root(&doc), "start_us"));
    json_release(&doc);
    side_release(&s);
}

TEST(calls_are_listed_with_their_filters)
{
    struct query_asker asker = {.key_name = STR("")};
    struct query_calls w = {
        .filter = query_filter_none, .outcome = STR("failed"), .page = {.limit = 7}};
    int64_t found = 0;
    struct arena cursors;
    struct side s;
    struct err e;

    arena_init(&cursors, 65536);
    w.page.cursor = w.page.sort = STR("");
    side_init(&s);
    for (unsigned pages = 0; pages < 100; pages++) {
        const struct json_node *calls, *next;
        struct json doc;
        struct arena a;

        buf_reset(&s.out);
        CHECK_F(query_call_list(s.reader, &asker, &w, &s.out, &e), "%s", e.text);
        json_init(&doc);
        CHECK_F(json_parse(&doc, buf_str(&s.out), &e), "%s", e.text);
        calls = overview_member(&doc, json_root(&doc), "calls");
        for (const struct json_node *v = json_first(&doc, calls); v;
             v = json_next(&doc, calls, v)) {
            CHECK_INT(overview_number(&doc, v, "status"), 500);
            found++;
        }
        next = overview_member(&doc, json_root(&doc), "next_cursor");
        arena_init(&a, 65536);
        if (!json_text(&doc, next, &a, &w.page.cursor))
            pages = 100;
        else
            w.page.cursor = arena_dup(&cursors, w.page.cursor);
        arena_release(&a);
        json_release(&doc);
    }
    CHECK_INT(found, ask(&s.place, "SELECT count(*) FROM llm_interactions WHERE status >= 400"));
    arena_release(&cursors);
    side_release(&s);
}

/* Two calls by each of 300 models, except three by the model whose name sorts last. */
TEST(the_largest_of_many_groups_are_shown)
{
    struct query_asker asker = {.key_name = STR("")};
    struct query_overview w = {.filter = query_filter_none, .by = STR("model")};
    int64_t from = 90 * 24 * (int64_t)HOUR;
    const struct json_node *groups, *v;
    struct store_receipt receipt;
    struct arena a;
    struct side s;
    struct json doc;
    struct err e;
    str key;

    side_init(&s);
    for (unsigned i = 0; i < 601; i++) {
        struct store_call row = store_call_none;
        char id[32], model[32];

        snprintf(id, sizeof id, "g-%u", i);
        snprintf(model, sizeof model, "m-%03u", i < 600 ? i / 2 : 299);
        row.id = str_c(id);
        row.session_id = i == 0 ? STR("g") : str_c(id);
        row.model = str_c(model);
        row.started_ms = row.ended_ms = from;
        row.status = 200;
        store_call_put(s.store, &row, NULL);
    }
    settle(s.store);
    CHECK(store_erase(s.store, STORE_ERASE_SESSION, STR("g-1"), STR(""), &receipt, &e) &&
          store_erase(s.store, STORE_ERASE_SESSION, STR("g"), STR(""), &receipt, &e));
    CHECK_INT(ask(&s.place, "SELECT count(*) FROM usage_slots WHERE model = 'm-000'"), 0);
    CHECK_INT(ask(&s.place, "SELECT count(*) FROM usage_hours WHERE model = 'm-000'"), 0);
    w.filter.start_us = from * 1000;
    w.filter.end_us = (from + HOUR) * 1000;
    buf_reset(&s.out);
    CHECK_F(query_overview(s.reader, &asker, &w, &s.out, &e), "%s", e.text);
    json_init(&doc);
    arena_init(&a, 65536);
    CHECK_F(json_parse(&doc, buf_str(&s.out), &e), "%s", e.text);
    groups = overview_member(&doc, json_root(&doc), "groups");
    v = json_first(&doc, groups);
    CHECK(json_text(&doc, overview_member(&doc, v, "key"), &a, &key) && str_eq(key, STR("m-299")));
    CHECK_INT(overview_number(&doc, v, "calls"), 3);
    for (unsigned i = 0; i < 10; i++)
        v = json_next(&doc, groups, v);
    CHECK_INT(overview_number(&doc, v, "members"), 299 - 10);
    CHECK_INT(overview_number(&doc, v, "calls"), 599 - 3 - 9 * 2);
    CHECK(!json_next(&doc, groups, v));
    arena_release(&a);
    json_release(&doc);
    side_release(&s);
}

TEST(an_application_has_its_calls)
{
    static const struct {
        const char *application;
        int64_t calls;
    } cases[] = {{"incidents", 3}, {"incident", 1}, {"gateway", 2}, {"nobody", 0}};
    static const char *const routes[] = {"agent:incidents.triage",
                                         "agent:incidents",
                                         "incidents",
                                         "agent:incident.x",
                                         "/v1/chat/completions",
                                         ""};
    struct query_asker asker = {.key_name = STR("")};
    struct query_overview w = {.filter = query_filter_none, .by = STR("application")};
    struct query_calls list = {.filter = query_filter_none, .page = {.limit = 50}};
    struct side s;
    struct err e;

    side_init(&s);
    w.filter.start_us = 90 * 24 * (int64_t)HOUR * 1000;
    w.filter.end_us = w.filter.start_us + (int64_t)HOUR * 1000;
    list.page.cursor = list.page.sort = list.outcome = STR("");
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        struct store_call row = store_call_none;
        char id[32];

        snprintf(id, sizeof id, "a-%zu", i);
        row.id = row.session_id = str_c(id);
        row.route = str_c(routes[i]);
        row.started_ms = row.ended_ms = w.filter.start_us / 1000;
        row.status = 200;
        store_call_put(s.store, &row, NULL);
    }
    settle(s.store);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json doc;

        json_init(&doc);
        w.filter.agent_type = str_c(cases[i].application);
        buf_reset(&s.out);
        CHECK_F(query_overview(s.reader, &asker, &w, &s.out, &e), "%s", e.text);
        CHECK_F(json_parse(&doc, buf_str(&s.out), &e), "%s", e.text);
        CHECK_INT(overview_number(&doc, overview_member(&doc, json_root(&doc), "total"), "calls"),
                  cases[i].calls);
        list.filter = w.filter;
        buf_reset(&s.out);
        CHECK_F(query_call_list(s.reader, &asker, &list, &s.out, &e), "%s", e.text);
        CHECK_F(json_parse(&doc, buf_str(&s.out), &e), "%s", e.text);
        CHECK_INT(json_count(&doc, overview_member(&doc, json_root(&doc), "calls")),
                  cases[i].calls);
        json_release(&doc);
    }
    side_release(&s);
}

/* The only failed call is older than the calls that one page scans. */
TEST(a_list_goes_on_behind_the_calls_that_a_page_looks_at)
{
    struct query_asker asker = {.key_name = STR("")};
    struct query_calls w = {
        .filter = query_filter_none, .outcome = STR("failed"), .page = {.limit = 5}};
    int64_t from = 90 * 24 * (int64_t)HOUR;
    struct world all; /* only its answers are used */
    struct side s;
    struct err e;

    side_init(&s);
    w.filter.start_us = from * 1000;
    w.page.cursor = w.page.sort = STR("");
    for (unsigned i = 0; i < 20010; i++) {
        struct store_call row = store_call_none;
        char id[32];

        snprintf(id, sizeof id, "b-%u", i);
        row.id = str_c(id);
        row.session_id = STR("b");
        row.started_ms = row.ended_ms = from + i / 3;
        row.status = i ? 200 : 500;
        store_call_put(s.store, &row, NULL);
    }
    settle(s.store);
    all.out = s.out;
    json_init(&all.doc);
    arena_init(&all.arena, 65536);
    answered(&all, query_call_list(s.reader, &asker, &w, &all.out, &e), &e);
    CHECK_INT(count_at(&all, "/calls"), 0);
    w.page.cursor = text_at(&all, "/next_cursor");
    buf_reset(&all.out);
    answered(&all, query_call_list(s.reader, &asker, &w, &all.out, &e), &e);
    CHECK_INT(count_at(&all, "/calls"), 1);
    CHECK_STR(text_at(&all, "/calls/0/interaction_id"), "b-0");
    json_release(&all.doc);
    arena_release(&all.arena);
    s.out = all.out;
    side_release(&s);
}

TEST_MAIN(T(calls_over_time_are_those_of_the_record), T(latencies_are_within_13_percent),
          T(a_range_has_a_bounded_number_of_buckets), T(a_range_may_end_at_any_time),
          T(calls_are_listed_with_their_filters), T(the_largest_of_many_groups_are_shown),
          T(an_application_has_its_calls), T(a_list_goes_on_behind_the_calls_that_a_page_looks_at))
