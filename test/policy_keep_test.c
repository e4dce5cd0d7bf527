/* policy_keep_test.c - the tables of policies: all texts masked, unique run ids, labels in pages,
 * and no statement that scans a whole table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/result_table_state.h"
#include "store_help.h"

#include <stdlib.h>

#define SECRET "sk-proj-a1B2c3D4e5F6g7H8a1B2c3D4e5F6g7H8a1B2c3D4e5F6g7H8"

struct tables {
    struct place place;
    struct store *store; /* creates the tables */
    struct policy_table *keep;
    struct mask *mask;
    struct arena arena;
};

static void tables_init(struct tables *t)
{
    struct err e;

    place_init(&t->place);
    t->store = open_store(&t->place);
    CHECK_F(policy_table_open(str_c(t->place.url), &t->keep, &e), "%s", e.text);
    CHECK_F(mask_new(&(struct mask_options){.groups = MASK_DEFAULT}, &t->mask, &e), "%s", e.text);
    arena_init(&t->arena, (size_t)256 << 20);
}

static void tables_release(struct tables *t)
{
    arena_release(&t->arena);
    mask_free(t->mask);
    policy_table_close(t->keep);
    store_close(t->store);
    place_release(&t->place);
}

static struct policy_kept_case kept_case(const char *run, const char *key, str body)
{
    return (struct policy_kept_case){.run = str_c(run),
                                     .case_id = STR("case"),
                                     .document_id = STR("plan"),
                                     .key = str_c(key),
                                     .body = body,
                                     .created_us = 1};
}

static bool keep_one(struct tables *t, const struct policy_kept_case *c, const char *hash,
                     str result, struct err *e)
{
    struct policy_kept row = {.id = arena_join(&t->arena, c->run, STR("/0"), STR("")),
                              .run = c->run,
                              .session = c->run,
                              .case_id = c->case_id,
                              .criterion = STR("age"),
                              .status = STR("uncertain"),
                              .controller = STR("heuristic"),
                              .mode = STR("heuristic"),
                              .prompt_id = STR("p"),
                              .key = c->key,
                              .document_id = c->document_id,
                              .version = STR("1"),
                              .hash = str_c(hash),
                              .result = result,
                              .created_us = c->created_us};

    return policy_table_results(t->keep, c, &row, 1, t->mask, e);
}

/* A JSON object with a secret that exceeds the limit of the tables even after masking. */
static str too_large(struct tables *t)
{
    size_t n = POLICY_KEEP_TEXT_MAX;
    char *fill = arena_alloc(&t->arena, n);

    memset(fill, 'x', n);
    return arena_join(
        &t->arena, STR("{\"key\":\"" SECRET "\",\"text\":\""), (str){fill, n}, STR("\"}"));
}

TEST(what_cannot_be_masked_is_not_stored)
{
    struct policy_again_done done = {.id = STR("job"),
                                     .run = STR("r"),
                                     .criterion = STR("c"),
                                     .case_id = STR("case"),
                                     .old_result = STR("{}"),
                                     .error = STR("")};
    struct policy_proposal proposal = {.id = STR("p"),
                                       .session = STR("s"),
                                       .kind = STR("fact"),
                                       .document_id = STR("d"),
                                       .version = STR(""),
                                       .case_id = STR("case"),
                                       .name = STR("n"),
                                       .quote = STR("q"),
                                       .node_id = STR(""),
                                       .section = STR(""),
                                       .model = STR("m"),
                                       .who = STR("w")};
    struct policy_kept_case c;
    struct tables t;
    struct err e;
    str large;

    tables_init(&t);
    large = too_large(&t);
    c = kept_case("run", "k", STR("{}"));
    CHECK(!keep_one(&t, &c, "h", large, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_F(strstr(e.text, "the masked result: larger than"), "%s", e.text);
    c.body = large;
    CHECK(!keep_one(&t, &c, "h", STR("{}"), &e));
    CHECK_INT(e.code, ERR_LIMIT);
    done.new_result = large;
    CHECK(!policy_table_reverified(t.keep, &done, 1, t.mask, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    proposal.value = large;
    CHECK(!policy_table_propose(t.keep, &proposal, 1, t.mask, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    c.body = done.new_result = STR("{\"key\":\"" SECRET "\"}");
    CHECK_F(keep_one(&t, &c, "h", c.body, &e), "%s", e.text);
    CHECK_F(policy_table_reverified(t.keep, &done, 1, t.mask, &e), "%s", e.text);
    CHECK(!anywhere(&t.place, STR("H8a1B2c3D4e5F6g7H8")));
    CHECK(!in_tables(&t.place, "h8a1b2c3d4e5f6g7h8"));
    CHECK_INT(ask(&t.place, "SELECT masked FROM policy_cases"), 1);
    tables_release(&t);
}

TEST(an_id_of_a_run_is_taken_once)
{
    static const struct {
        const char *key, *body, *hash;
        const char *refused; /* part of the error; NULL: accepted as the same run */
    } cases[] = {
        {"ann", "{\"a\":\"" SECRET "\"}", "h1", NULL},
        {"bob", "{\"a\":\"" SECRET "\"}", "h1", "is taken by a run of another key"},
        {"ann", "{\"a\":2}", "h1", "is taken by another request"},
        {"ann", "{\"a\":\"" SECRET "\"}", "h2", "is taken by a run before the policy changed"},
        {"ann", "{\"a\":\"" SECRET "\"}", "h1", NULL},
    };
    struct tables t;
    struct err e;

    tables_init(&t);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct policy_kept_case c = kept_case("run", cases[i].key, str_c(cases[i].body));
        bool free = policy_table_run_free(t.keep, &c, t.mask, &e);

        CHECK_F(free == (!cases[i].refused || strstr(cases[i].refused, "policy")), "%zu", i);
        CHECK_F(keep_one(&t, &c, cases[i].hash, STR("{}"), &e) == !cases[i].refused, "%zu", i);
        if (cases[i].refused) {
            CHECK_INT(e.code, ERR_INPUT);
            CHECK_F(
                strstr(e.text, cases[i].refused) && strstr(e.text, "choose another"), "%s", e.text);
        }
    }
    CHECK_INT(ask(&t.place, "SELECT count(*) FROM policy_results"), 1);
    tables_release(&t);
}

static void label(struct tables *t, const char *run, str body)
{
    struct policy_reviewed v = {.result_id = arena_join(&t->arena, str_c(run), STR("/0"), STR("")),
                                .run = str_c(run),
                                .machine_status = STR("uncertain"),
                                .status = STR("missing"),
                                .section = STR(""),
                                .reason = STR("seen"),
                                .who = STR("op"),
                                .decided_us = 1};
    struct policy_kept_case c = kept_case(run, "k", body);
    struct err e;

    CHECK_F(keep_one(t, &c, "h", STR("{}"), &e), "%s", e.text);
    for (int i = 0; i < 2; i++) { /* the second decision counts */
        v.id = arena_printf(&t->arena, "%s-%d", run, i);
        CHECK_F(policy_table_decide(t->keep, &v, &e), "%s", e.text);
        v.status = STR("met");
    }
}

TEST(labels_come_in_pages)
{
    static const struct {
        size_t cases, bytes; /* limit of a page; size of each case */
        size_t pages[4];     /* cases on each page */
    } rows[] = {
        {500, 10, {7}}, {3, 10, {3, 3, 1}}, {7, 10, {7}}, {500, (size_t)3 << 20, {3, 3, 1}}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct policy_label_page page = {STR("plan"), STR(""), rows[i].cases};
        struct policy_labels got = {.more = true};
        struct tables t;
        size_t seen = 0;
        char *body;
        struct err e;

        tables_init(&t);
        body = arena_alloc(&t.arena, rows[i].bytes);
        memset(body, ' ', rows[i].bytes);
        for (int k = 0; k < 7; k++) {
            char run[16];

            (void)snprintf(run, sizeof run, "run-%d", k);
            label(&t, run, (str){body, rows[i].bytes});
        }
        for (size_t k = 0; k < COUNT_OF(rows[i].pages) && rows[i].pages[k]; k++) {
            CHECK(got.more);
            CHECK_F(policy_table_labels(t.keep, &page, &t.arena, &got, &e), "%s", e.text);
            CHECK_INT(got.n, rows[i].pages[k]);
            for (size_t m = 0; m < got.n; m++, seen++) {
                CHECK_INT(got.list[m].run.p[4] - '0', seen);
                CHECK_STR(got.list[m].status, "met");
                CHECK_INT(got.list[m].body.n, rows[i].bytes);
            }
            page.after = got.list[got.n - 1].run;
        }
        CHECK(!got.more);
        page.document_id = STR("other");
        page.after = STR("");
        CHECK(policy_table_labels(t.keep, &page, &t.arena, &got, &e) && got.n == 0 && !got.more);
        tables_release(&t);
    }
}

/* ---- query plans ---- */

static bool keep_on_plan(void *ctx, const struct db_value *c, size_t n)
{
    struct buf *out = ctx;

    for (size_t i = 0; i < n; i++)
        if (c[i].type == DB_TEXT) {
            buf_add(out, c[i].s);
            buf_add_c(out, '\n');
        }
    return true;
}

static void fill_tables(struct tables *t)
{
    do_sql(&t->place,
           "INSERT INTO policy_results (result_id, run_id, session_id, case_id, criterion_id,"
           " status, controller, mode, prompt_id, key_name, created_us, result, document_id)"
           " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
           " SELECT 'r' || i, 's' || i, 's' || i, 'c' || i, 'age',"
           " CASE WHEN i % 100 = 0 THEN 'uncertain' ELSE 'met' END, 'heuristic', 'heuristic', 'p',"
           " 'k', i, '{}', 'plan' FROM n");
    do_sql(&t->place,
           "INSERT INTO policy_cases SELECT run_id, session_id, case_id, 'plan', 'k', '{}', 0,"
           " created_us FROM policy_results");
    do_sql(&t->place,
           "INSERT INTO policy_reviews SELECT result_id, result_id, session_id, 'uncertain', 'met',"
           " '', 'x', 'op', 1 FROM policy_results WHERE created_us % 2 = 0");
}

TEST(no_statement_reads_a_whole_table)
{
    static const struct {
        const char *sql;
        const char *args[8]; /* a number if it begins with '#' */
        const char *index;   /* the index, or its prefix */
    } statements[] = {
        {policy_queue_open_sql, {"", "#1", "", "", "#50"}, "policy_results_waiting"},
        {policy_waiting_sql, {"", "#1"}, "policy_results_waiting"},
        {policy_queue_done_sql, {"", "#1", "", "", "#50"}, "policy_reviews"},
        {policy_labels_sql, {"", "s100", "#50"}, "policy_reviews_by_session"},
        {policy_again_next_sql,
         {"plan", "plan@%", "plan:%", "#90000", "#9000", "s100", "job"},
         "policy_cases_by_time"},
        {policy_again_results_sql, {"s100"}, "policy_results_by_session"},
    };
    struct tables t;
    struct err e;

    tables_init(&t);
    fill_tables(&t);
    /* The tables are small here. With sequential scans off, PostgreSQL scans a table only if no
     * index fits. */
    if (t.place.postgres) {
        do_sql(&t.place, "ANALYZE");
        CHECK(policy_table_query(
            t.keep, "SET enable_seqscan = off", NULL, 0, (struct db_rows){keep_on_plan, NULL}, &e));
    }
    for (size_t i = 0; i < COUNT_OF(statements); i++) {
        struct db_value args[8];
        size_t n = 0;
        struct buf plan;
        str sql = arena_join(&t.arena,
                             t.place.postgres ? STR("EXPLAIN ") : STR("EXPLAIN QUERY PLAN "),
                             str_c(statements[i].sql),
                             STR(""));

        for (; statements[i].args[n]; n++)
            args[n] = statements[i].args[n][0] == '#' ? db_int(atoll(statements[i].args[n] + 1))
                                                      : db_text(str_c(statements[i].args[n]));
        buf_init(&plan, 65536);
        CHECK_F(
            policy_table_query(t.keep, sql.p, args, n, (struct db_rows){keep_on_plan, &plan}, &e),
            "%s",
            e.text);
        buf_add_c(&plan, '\0');
        CHECK_F(strstr(plan.p, statements[i].index) != NULL, "%s\n%s", sql.p, plan.p);
        /* Only the results of a single run may be sorted when they are read. */
        CHECK_F(n == 1 || !strstr(plan.p, "TEMP B-TREE FOR ORDER"), "%s", plan.p);
        for (const char *at = plan.p; (at = strstr(at, "SCAN ")); at++)
            CHECK_F(strstr(at, " USING ") && strstr(at, " USING ") < strchr(at, '\n'),
                    "%s\n%s",
                    sql.p,
                    plan.p);
        CHECK_F(!strstr(plan.p, "Seq Scan on policy_results") &&
                    !strstr(plan.p, "Seq Scan on policy_cases"),
                "%s\n%s",
                sql.p,
                plan.p);
        buf_release(&plan);
    }
    tables_release(&t);
}

TEST_MAIN(T(what_cannot_be_masked_is_not_stored), T(an_id_of_a_run_is_taken_once),
          T(labels_come_in_pages), T(no_statement_reads_a_whole_table))
