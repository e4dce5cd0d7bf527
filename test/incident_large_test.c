/* incident_large_test.c - incidents whose data is larger than the memory limit of their readers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/alert_table_state.h"
#include "apps/incidents/queue_state.h"
#include "incident_bench.h"

#include <stdlib.h>

/* A group whose alerts arrived with large data, one request each. */
static void group_put_large(struct bench *b, size_t n, size_t size)
{
    char *data = base_alloc(size);
    struct alert_table_row row = {.id = STR("large"),
                                  .session = STR("large"),
                                  .digest = STR("large"),
                                  .key = STR(""),
                                  .state = STR("completed"),
                                  .alert_type = STR("disk"),
                                  .severity = STR("warning"),
                                  .environment = STR("production"),
                                  .runbook = STR(""),
                                  .data = STR("{}")};
    struct alert_table_intake put = {.rows = &row, .row_count = 1};
    struct err e;

    memset(data, 'd', size);
    memcpy(data, "{\"a\":\"", 6);
    memcpy(data + size - 2, "\"}", 2);
    CHECK_F(alert_table_add(b->in->alert_table, &put, &e), "%s", e.text);
    for (size_t i = 0; i < n; i++) {
        struct alert_table_alert alert = {.incident = row.id,
                                          .position = (int64_t)i,
                                          .key = STR(""),
                                          .source = STR("alertmanager"),
                                          .fingerprint = STR("f"),
                                          .group = STR("g"),
                                          .name = STR("disk"),
                                          .severity = STR("warning"),
                                          .data = (str){data, size},
                                          .ended_us = -1,
                                          .seen = 1};

        put = (struct alert_table_intake){.alerts = &alert, .alert_count = 1};
        CHECK_F(alert_table_add(b->in->alert_table, &put, &e), "%s", e.text);
    }
    free(data);
}

/* Each request may be 10 MB, and a group joins 1,000 alerts: not all data of an incident fits into
 * the memory of a request or of an investigation. */
TEST(the_alerts_of_an_incident_are_read_without_the_data_that_is_too_large)
{
    enum { ALERTS = 80, SIZE = 1 << 20 };
    struct alert_table_alert known, *all,
        of = {.incident = STR(""),
              .key = STR(""),
              .source = STR("alertmanager"),
              .fingerprint = STR("f")};
    struct answer *r;
    struct arena a;
    struct bench b;
    struct err e;
    bool found;
    size_t n;

    bench_new(&b, "");
    group_put_large(&b, ALERTS, SIZE);
    arena_init(&a, SIZE / 2);
    CHECK_F(alert_table_alert_find(b.in->alert_table, &of, &a, &known, &found, &e), "%s", e.text);
    CHECK(found && !known.data.n);
    arena_release(&a);
    arena_init(&a, 2 * BOOK_ALERTS_DATA_MAX);
    CHECK_F(alert_table_alerts(b.in->alert_table, STR("large"), &a, &all, &n, &e), "%s", e.text);
    CHECK_INT(n, ALERTS);
    CHECK_INT(all[0].data.n, SIZE);
    CHECK_INT(all[ALERTS - 1].data.n, 0);
    arena_release(&a);
    r = asks(&b, status_one, "large", "");
    CHECK_ANSWER(r, 200, "alerts.79.state", "firing");
    CHECK(at(r, "alerts.79.data")->kind == JSON_NULL);
    done(r);
    bench_end(&b);
}

/* A page of the list has 500 incidents, and each stage's analysis may be long. */
TEST(a_list_of_incidents_is_read_without_their_stages)
{
    struct alert_table_filter f = {
        .all = true, .key = STR(""), .state = STR(""), .alert_type = STR(""), .before = STR("")};
    size_t size = (size_t)4 << 20, n;
    char *stages = base_alloc(size);
    struct alert_table_row row, *rows;
    struct arena a;
    struct bench b;
    struct err e;

    bench_new(&b, "");
    group_put_large(&b, 1, 100);
    arena_init(&a, (size_t)64 << 20);
    CHECK_F(alert_table_get(b.in->alert_table, STR("large"), &a, &row, &e), "%s", e.text);
    memset(stages, 's', size);
    row.stages = (str){stages, size};
    CHECK_F(alert_table_put(b.in->alert_table, &row, true, &e), "%s", e.text);
    arena_release(&a);
    arena_init(&a, size / 2);
    CHECK_F(alert_table_list(b.in->alert_table, &f, &a, &rows, &n, &e), "%s", e.text);
    CHECK_INT(n, 1);
    CHECK_INT(rows[0].stages.n, 0);
    arena_release(&a);
    bench_end(&b);
    free(stages);
}

static bool large_on_plan(void *ctx, const struct db_value *columns, size_t n)
{
    buf_printf(ctx, STR_FMT "\n", STR_ARG(columns[n - 1].s));
    return true;
}

/* A search in an index's order reads one page of rows, however many incidents there are.
 * PostgreSQL's planner would scan a table of a few rows, so the test disables that. */
TEST(a_list_of_incidents_is_read_by_an_index_for_every_filter)
{
    static const struct {
        const char *state, *type, *key, *index;
    } cases[] = {
        {"", "", "", "alerts_1 (alert_id"},
        {"completed", "", "", "alerts_1 (alert_id"},
        {"error", "", "", "alerts_of_state (state=?"},
        {"waiting", "", "", "alerts_of_state (state=?"},
        {"cancelled", "disk", "team", "alerts_of_state (state=?"},
        {"completed", "disk", "", "alerts_of_type (alert_type=?"},
        {"", "disk", "team", "alerts_of_type (alert_type=?"},
        {"", "", "team", "alerts_of_key (key_name=?"},
        {"completed", "", "team", "alerts_of_key (key_name=?"},
    };
    bool postgres = getenv("RATIONALE_TEST_POSTGRES") != NULL;
    struct bench b;
    struct err ignored;

    bench_new(&b, "");
    for (const char *off = "seqscan\0bitmapscan\0sort\0"; postgres && *off;
         off += strlen(off) + 1) {
        char sql[64];

        (void)snprintf(sql, sizeof sql, "SET enable_%s = off", off);
        CHECK(alert_table_query(
            b.in->alert_table, sql, NULL, 0, (struct db_rows){large_on_plan, NULL}, &ignored));
    }
    for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
        const char *index = postgres ? "Index Scan Backward using alerts" : cases[i / 2].index;
        struct alert_table_filter f = {.all = !*cases[i / 2].key,
                                       .key = str_c(cases[i / 2].key),
                                       .state = str_c(cases[i / 2].state),
                                       .alert_type = str_c(cases[i / 2].type),
                                       .before = str_c(i % 2 ? "01a1e872" : "")};
        struct db_rows rows = {large_on_plan, NULL};
        struct buf sql, plan;
        struct err e;

        buf_init(&sql, 65536);
        buf_init(&plan, 65536);
        rows.ctx = &plan;
        buf_printf(
            &sql, "EXPLAIN %s%s%c", postgres ? "" : "QUERY PLAN ", alert_table_list_sql(&f), '\0');
        CHECK_F(alert_table_query(b.in->alert_table,
                                  sql.p,
                                  DB_ARGS(db_int(f.all),
                                          db_text(f.key),
                                          db_text(f.state),
                                          db_text(f.alert_type),
                                          db_text(f.before),
                                          db_int(100)),
                                  rows,
                                  &e),
                "%s",
                e.text);
        buf_add_c(&plan, '\0');
        CHECK_F(strstr(plan.p, index) && !strstr(plan.p, "TEMP B-TREE") && !strstr(plan.p, "Sort"),
                "case %zu:\n%s",
                i,
                plan.p);
        buf_release(&sql);
        buf_release(&plan);
    }
    bench_end(&b);
}

/* Data above the limit would not fit into the prompt or the stored input of the run. */
TEST(the_input_of_an_investigation_has_a_part_of_many_large_alerts_and_counts_the_rest)
{
    struct alert_table_alert alerts[60];
    size_t size = (size_t)400 << 10;
    char *large = base_alloc(size);
    struct arena a;
    struct json doc;
    struct err e;
    str data;
    int64_t more = 0;

    memset(large, 'd', size);
    memcpy(large, "{\"a\":\"", 6);
    memcpy(large + size - 2, "\"}", 2);
    for (size_t i = 0; i < COUNT_OF(alerts); i++)
        alerts[i] = (struct alert_table_alert){.data = i < 59 ? (str){large, size} : STR("")};
    arena_init(&a, (size_t)64 << 20);
    data = queue_alert_data(alerts, COUNT_OF(alerts), &a);
    CHECK(data.n < (size_t)2 << 20);
    json_init(&doc);
    CHECK_F(json_parse(&doc, data, &e), "%s", e.text);
    CHECK_INT(json_count(&doc, json_find(&doc, json_root(&doc), STR("alerts"))), 3);
    CHECK(json_i64(&doc, json_find(&doc, json_root(&doc), STR("more_alerts")), &more));
    CHECK_INT(more, 57);
    json_release(&doc);
    arena_release(&a);
    free(large);
}

TEST_MAIN(T(the_alerts_of_an_incident_are_read_without_the_data_that_is_too_large),
          T(a_list_of_incidents_is_read_without_their_stages),
          T(a_list_of_incidents_is_read_by_an_index_for_every_filter),
          T(the_input_of_an_investigation_has_a_part_of_many_large_alerts_and_counts_the_rest))
