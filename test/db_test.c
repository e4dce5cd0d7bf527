/* SPDX-License-Identifier: Apache-2.0 */
#include "store/db.h"

#include "store/db_driver.h"
#include "store/db_lease.h"
#include "store_help.h"

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

struct seen {
    size_t rows, columns;
    struct db_value last[8];
    char texts[8][64];
};

static bool keep(void *ctx, const struct db_value *columns, size_t n)
{
    struct seen *s = ctx;

    s->rows++;
    s->columns = n;
    for (size_t i = 0; i < n && i < COUNT_OF(s->last); i++) {
        s->last[i] = columns[i];
        if (columns[i].type == DB_TEXT || columns[i].type == DB_BLOB) {
            assert_true(columns[i].s.n < sizeof s->texts[i]);
            memcpy(s->texts[i], columns[i].s.p, columns[i].s.n);
            s->last[i].s.p = NULL; /* a copy would point into the original: see text_at */
        }
    }
    return true;
}

static str text_at(const struct seen *s, size_t i)
{
    return (str){s->texts[i], s->last[i].s.n};
}

static struct db *open_db(struct place *p, enum db_mode mode)
{
    struct db *db;
    struct err e;

    if (!db_open(str_c(p->url), mode, &db, &e))
        fail_msg("%s", e.text);
    return db;
}

static struct seen look(struct db *db, const char *sql, const struct db_value *args, size_t n)
{
    struct seen s = {0};
    struct err e;

    if (!db_query(db, sql, args, n, (struct db_rows){keep, &s}, &e))
        fail_msg("%s: %s", sql, e.text);
    return s;
}

static void run(struct db *db, const char *sql, const struct db_value *args, size_t n)
{
    struct err e;

    if (!db_run(db, sql, args, n, &e))
        fail_msg("%s: %s", sql, e.text);
}

TEST(values_of_every_type_come_back_as_they_went_in)
{
    struct db_value args[] = {db_int(INT64_MIN),
                              db_real(0.1),
                              db_text(STR("caf\xc3\xa9")),
                              db_blob(STR("a\0b")),
                              db_null()};
    struct place p;
    struct seen s;
    struct db *db;

    place_init_empty(&p);
    db = open_db(&p, DB_WRITE);
    run(db,
        db_kind(db) == DB_SQLITE
            ? "CREATE TABLE x (a INTEGER, b REAL, c TEXT, d BLOB, e TEXT)"
            : "CREATE TABLE x (a BIGINT, b DOUBLE PRECISION, c TEXT, d BYTEA, e TEXT)",
        NULL,
        0);
    run(db, "INSERT INTO x VALUES ($1, $2, $3, $4, $5)", args, 5);
    s = look(db, "SELECT a, b, c, d, e FROM x", NULL, 0);
    CHECK(s.rows == 1 && s.columns == 5);
    CHECK(s.last[0].type == DB_INT && s.last[0].i == INT64_MIN);
    CHECK(s.last[1].type == DB_REAL && s.last[1].d == 0.1);
    CHECK(s.last[2].type == DB_TEXT && str_eq(text_at(&s, 2), args[2].s));
    CHECK(s.last[3].type == DB_BLOB && str_eq(text_at(&s, 3), args[3].s));
    CHECK(s.last[4].type == DB_NULL);
    run(db, "DROP TABLE x", NULL, 0);
    db_close(db);
    place_release(&p);
}

TEST(an_argument_is_found_by_its_number_wherever_it_stands)
{
    struct db_value args[] = {db_int(1), db_int(20), db_int(300)};
    struct place p;
    struct seen s;
    struct db *db;

    place_init_empty(&p);
    db = open_db(&p, DB_WRITE);
    for (int i = 0; i < 2; i++) {
        s = look(db, "SELECT $3 + 0, $1 + 0, $3 - $2, $1 + $1", args, 3);
        CHECK(s.last[0].i == 300 && s.last[1].i == 1 && s.last[2].i == 280 && s.last[3].i == 2);
    }
    db_close(db);
    place_release(&p);
}

TEST(more_statements_than_are_kept_work_as_well)
{
    struct place p;
    struct db *db;
    char sql[64];

    place_init_empty(&p);
    db = open_db(&p, DB_WRITE);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < (int)DB_STATEMENTS_MAX + 50; i++) {
            struct seen s;

            (void)snprintf(sql, sizeof sql, "SELECT %d", i);
            s = look(db, sql, NULL, 0);
            assert_int_equal(s.last[0].i, i);
        }
    db_close(db);
    place_release(&p);
}

TEST(mistakes_are_told_and_the_connection_goes_on)
{
    struct db_value one = db_int(1);
    struct place p;
    struct db *db;
    struct err e;
    struct seen s;

    place_init_empty(&p);
    db = open_db(&p, DB_WRITE);
    CHECK(!db_run(db, "SELEC 1", NULL, 0, &e) && e.code == ERR_SYSTEM);
    CHECK(!db_run(db, "SELECT $1 + $2 + 0", &one, 1, &e));
    CHECK(!db_query(db, "SELECT * FROM nothing", NULL, 0, (struct db_rows){keep, &s}, &e));
    s = look(db, "SELECT 1", NULL, 0);
    CHECK(s.last[0].i == 1);
    db_close(db);
    place_release(&p);
}

TEST(a_reader_sees_what_a_writer_committed_and_can_change_nothing)
{
    struct db_value args[] = {db_text(STR("i")), db_text(STR("s"))};
    const char *put = "INSERT INTO alert_sessions (session_id, title) VALUES ($1, $2)";
    struct db *writer, *reader;
    struct place p;
    struct seen s;
    struct err e;

    place_init_empty(&p);
    writer = open_db(&p, DB_WRITE);
    reader = open_db(&p, DB_READ);
    assert_true(db_begin(writer, false, &e));
    run(writer, put, args, 2);
    s = look(reader, "SELECT session_id FROM alert_sessions", NULL, 0);
    CHECK(s.rows == 0);
    assert_true(db_commit(writer, &e));
    s = look(reader, "SELECT session_id FROM alert_sessions", NULL, 0);
    CHECK(s.rows == 1);
    args[0] = db_text(STR("j"));
    CHECK(!db_run(reader, put, args, 2, &e));
    assert_true(db_begin(writer, true, &e));
    run(writer, put, args, 2);
    db_rollback(writer);
    s = look(reader, "SELECT session_id FROM alert_sessions", NULL, 0);
    CHECK(s.rows == 1);
    db_close(reader);
    db_close(writer);
    db_close(NULL);
    place_release(&p);
}

TEST(rows_changed_are_counted_and_a_broken_rule_is_the_rows_fault)
{
    const char *put = "INSERT INTO agent_runs (run_id, app, status, created_us, updated_us)"
                      " VALUES ($1, $1, 'running', 1, 1)";
    struct db_value id = db_text(STR("i")), none = db_null();
    struct place p;
    struct db *db;
    int64_t n;
    struct err e;

    place_init_empty(&p);
    db = open_db(&p, DB_WRITE);
    run(db, put, &id, 1);
    CHECK(db_changed(db, &n, &e) && n == 1);
    run(db, "UPDATE agent_runs SET reason = 'm' WHERE run_id = 'nobody'", NULL, 0);
    CHECK(db_changed(db, &n, &e) && n == 0);
    CHECK(!db_run(db, put, &id, 1, &e) && e.code == ERR_INPUT);
    CHECK(!db_run(db, put, &none, 1, &e) && e.code == ERR_INPUT);
    db_close(db);
    place_release(&p);
}

static void put(struct db *db, const char *sql, const struct db_value *args, size_t n)
{
    struct err e;

    if (!db_put(db, sql, args, n, &e))
        fail_msg("%s: %s", sql, e.text);
}

TEST(rows_that_are_put_are_there_for_whatever_comes_next)
{
    static const char into[] = "INSERT INTO agent_runs (run_id, app, status, created_us,"
                               " updated_us, reason) VALUES ($1, 'a', CASE WHEN $2 > 1 THEN 'late'"
                               " ELSE 'early' END, $2, $2, $3)";
    struct db_value args[3] = {db_null(), db_null(), db_null()};
    struct seen s;
    struct place p;
    struct db *db;
    struct err e;
    char id[16];

    place_init_empty(&p);
    db = open_db(&p, DB_WRITE);
    for (int rows = 1, from = 0; rows < 200; rows = 2 * rows + 1) {
        CHECK(db_begin(db, true, &e));
        for (int i = 0; i < rows; i++, from++) {
            args[0] = db_text(str_c((snprintf(id, sizeof id, "%05d", from), id)));
            args[1] = db_int(from);
            args[2] = from % 3 ? db_text(STR("b")) : db_null();
            put(db, into, args, 3);
        }
        s = look(db, "SELECT count(*), count(reason), max(run_id) FROM agent_runs", NULL, 0);
        CHECK(s.last[0].i == from && s.last[1].i == from - (from + 2) / 3);
        CHECK(str_eq(text_at(&s, 2), str_c(id)));
        CHECK(db_commit(db, &e));
    }
    s = look(db, "SELECT count(*) FROM agent_runs WHERE status = 'early'", NULL, 0);
    CHECK(s.last[0].i == 2);
    db_close(db);
    place_release(&p);
}

TEST(a_row_at_fault_fails_those_that_were_put_with_it)
{
    static const char into[] = "INSERT INTO agent_runs (run_id, app, status, created_us,"
                               " updated_us) VALUES ($1, 'a', 'r', $3, $3)"; /* no $2 */
    struct seen s;
    struct place p;
    struct db *db;
    struct err e;
    char id[16];

    place_init_empty(&p);
    db = open_db(&p, DB_WRITE);
    for (int fault = 0; fault < 2; fault++) {
        bool ok = true;

        CHECK(db_begin(db, true, &e));
        for (int i = 0; i < 20; i++) {
            int n = fault && i == 13 ? 12 : i;
            struct db_value args[] = {
                db_text(str_c((snprintf(id, sizeof id, "%d-%d", fault, n), id))),
                db_text(STR("unused")),
                db_int(i)};

            ok = ok && db_put(db, into, args, 3, &e);
        }
        ok = ok && db_commit(db, &e);
        CHECK(ok == !fault);
        if (fault) {
            CHECK(e.code == ERR_INPUT);
            db_rollback(db);
        }
    }
    s = look(db, "SELECT count(*), max(run_id) FROM agent_runs", NULL, 0);
    CHECK(s.last[0].i == 20 && str_eq(text_at(&s, 1), STR("0-9")));
    db_close(db);
    place_release(&p);
}

TEST(a_row_that_is_put_twice_is_changed_in_order)
{
    static const char add[] = "INSERT INTO agent_runs (run_id, app, status, created_us, updated_us)"
                              " VALUES ($1, $2, 'r', 1, 1) ON CONFLICT (run_id) DO UPDATE SET"
                              " app = excluded.app, updated_us = agent_runs.updated_us + 1";
    static const char set[] = "INSERT INTO agent_runs (run_id, app, status, created_us, updated_us)"
                              " VALUES ($1, $2, 'r', 1, 1) ON CONFLICT (run_id) DO UPDATE SET"
                              " app = 'set'";
    struct db_value one[] = {db_text(STR("one")), db_text(STR("a"))};
    struct db_value two[] = {db_text(STR("two")), db_text(STR("b"))};
    struct seen s;
    struct place p;
    struct db *db;
    struct err e;

    place_init_empty(&p);
    db = open_db(&p, DB_WRITE);
    CHECK(db_begin(db, true, &e));
    put(db, add, one, 2);
    put(db, add, two, 2);
    put(db, set, one, 2);
    put(db, set, two, 2);
    put(db, add, one, 2);
    put(db, add, one, 2);
    run(db, "UPDATE agent_runs SET reason = 'seen'", NULL, 0);
    CHECK(db_commit(db, &e));
    s = look(db, "SELECT app, updated_us FROM agent_runs WHERE run_id = 'one'", NULL, 0);
    CHECK(str_eq(text_at(&s, 0), STR("a")) && s.last[1].i == 3);
    s = look(db, "SELECT app, updated_us FROM agent_runs WHERE run_id = 'two'", NULL, 0);
    CHECK(str_eq(text_at(&s, 0), STR("set")) && s.last[1].i == 1);
    s = look(db, "SELECT count(reason) FROM agent_runs", NULL, 0);
    CHECK(s.last[0].i == 2);

    /* Rows of a transaction that was rolled back must not be in the next one. */
    CHECK(db_begin(db, true, &e));
    one[0] = db_text(STR("three"));
    put(db, add, one, 2);
    db_rollback(db);
    CHECK(db_begin(db, true, &e));
    put(db, add, two, 2);
    CHECK(db_commit(db, &e));
    s = look(db, "SELECT count(*) FROM agent_runs", NULL, 0);
    CHECK(s.last[0].i == 2);
    db_close(db);
    place_release(&p);
}

static void *stop_it(void *db)
{
    usleep(100000);
    db_interrupt(db);
    return NULL;
}

TEST(a_query_can_be_stopped_from_another_thread)
{
    struct seen s = {0};
    struct place p;
    struct db *db;
    pthread_t t;
    struct err e;

    place_init_empty(&p);
    db = open_db(&p, DB_WRITE);
    pthread_create(&t, NULL, stop_it, db);
    CHECK(!db_query(db,
                    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                    "1000000000) SELECT count(*) FROM n",
                    NULL,
                    0,
                    (struct db_rows){keep, &s},
                    &e));
    CHECK(e.code == ERR_CANCELLED);
    pthread_join(t, NULL);
    s = look(db, "SELECT 1", NULL, 0);
    CHECK(s.last[0].i == 1);
    db_close(db);
    place_release(&p);
}

TEST(a_database_that_is_not_there_is_not_made_by_a_reader)
{
    struct place p;
    struct db *db;
    struct err e;

    place_init_empty(&p);
    CHECK(!db_open(str_c(p.url), DB_READ, &db, &e));
    CHECK(e.code == (p.postgres ? ERR_INPUT : ERR_NOT_FOUND));
    CHECK(access(p.path, F_OK) < 0);
    CHECK(!db_open(STR("mysql:x"), DB_READ, &db, &e) && e.code == ERR_INPUT);
    CHECK(!db_open(STR("sqlite:"), DB_READ, &db, &e) && e.code == ERR_INPUT);
    place_release(&p);
}

struct names {
    char text[256][64];
    size_t count;
};

static bool keep_name(void *ctx, const struct db_value *columns, size_t n)
{
    struct names *names = ctx;

    assert_true(n == 1 && names->count < COUNT_OF(names->text));
    (void)snprintf(
        names->text[names->count++], sizeof names->text[0], STR_FMT, STR_ARG(columns[0].s));
    return true;
}

/* The number of rows in database `from` that are missing in database `in` (both attached). */
static int64_t rows_missing(struct db *db, const char *table, const char *in, const char *from)
{
    char sql[256];

    (void)snprintf(sql,
                   sizeof sql,
                   "SELECT count(*) FROM (SELECT * FROM %s.%s EXCEPT SELECT * FROM %s.%s)",
                   from,
                   table,
                   in,
                   table);
    return look(db, sql, NULL, 0).last[0].i;
}

TEST(an_empty_sqlite_database_gets_the_tables_that_the_steps_make)
{
    static const char shapes[] = "CREATE TEMP TABLE %s AS SELECT type, name, tbl_name, sql"
                                 " FROM %s.sqlite_schema";
    struct names names = {0};
    struct place p, whole;
    struct db *db;
    struct err e;
    char sql[600];

    place_init_empty(&p);
    place_init_empty(&whole);
    if (!p.postgres) {
        steps_store(&p, INT_MAX);
        db_close(open_db(&whole, DB_WRITE));
        (void)snprintf(
            sql, sizeof sql, "ATTACH '%s' AS steps; ATTACH '%s' AS whole", p.path, whole.path);
        CHECK(db_open(STR("sqlite::memory:"), DB_NEW, &db, &e));
        CHECK_F(db->driver->script(db, sql, &e), "%s", e.text);
        CHECK(db_query(db,
                       "SELECT name FROM whole.sqlite_schema WHERE type = 'table' AND sql NOT LIKE"
                       " 'CREATE VIRTUAL%' AND name NOT LIKE '%\\_text\\__%' ESCAPE '\\'",
                       DB_NO_ARGS,
                       (struct db_rows){keep_name, &names},
                       &e));
        CHECK(names.count > 30);
        for (size_t i = 0; i < names.count; i++) {
            assert_int_equal(rows_missing(db, names.text[i], "steps", "whole"), 0);
            assert_int_equal(rows_missing(db, names.text[i], "whole", "steps"), 0);
        }
        (void)snprintf(sql, sizeof sql, shapes, "of_steps", "steps");
        run(db, sql, NULL, 0);
        (void)snprintf(sql, sizeof sql, shapes, "of_whole", "whole");
        run(db, sql, NULL, 0);
        CHECK(look(db, "SELECT count(*) FROM of_whole", NULL, 0).last[0].i > 100);
        CHECK_INT(look(db,
                       "SELECT (SELECT count(*) FROM (SELECT * FROM of_steps EXCEPT"
                       " SELECT * FROM of_whole)) + (SELECT count(*) FROM"
                       " (SELECT * FROM of_whole EXCEPT SELECT * FROM of_steps))",
                       NULL,
                       0)
                      .last[0]
                      .i,
                  0);
        db_close(db);
    }
    place_release(&whole);
    place_release(&p);
}

TEST(a_postgres_daemon_opens_a_connection_when_it_is_first_used)
{
    static const char connections[] = "SELECT count(*) FROM pg_stat_activity WHERE datname ="
                                      " current_database() AND application_name = 'rationale'";
    struct db_lease *lease;
    struct db *first, *later;
    struct place p;

    place_init_empty(&p);
    if (p.postgres) {
        first = open_db(&p, DB_WRITE);
        lease = db_lease_new(str_c(p.url), STR("a daemon"));
        later = open_db(&p, DB_READ);
        CHECK_INT(look(first, connections, NULL, 0).last[0].i, 1);
        CHECK_INT(look(later, connections, NULL, 0).last[0].i, 2);
        db_close(later);
        db_lease_free(lease);
        db_close(first);
    }
    place_release(&p);
}

TEST_MAIN(T(values_of_every_type_come_back_as_they_went_in),
          T(an_argument_is_found_by_its_number_wherever_it_stands),
          T(more_statements_than_are_kept_work_as_well),
          T(mistakes_are_told_and_the_connection_goes_on),
          T(a_reader_sees_what_a_writer_committed_and_can_change_nothing),
          T(rows_changed_are_counted_and_a_broken_rule_is_the_rows_fault),
          T(rows_that_are_put_are_there_for_whatever_comes_next),
          T(a_row_at_fault_fails_those_that_were_put_with_it),
          T(a_row_that_is_put_twice_is_changed_in_order),
          T(a_query_can_be_stopped_from_another_thread),
          T(a_database_that_is_not_there_is_not_made_by_a_reader),
          T(an_empty_sqlite_database_gets_the_tables_that_the_steps_make),
          T(a_postgres_daemon_opens_a_connection_when_it_is_first_used))
