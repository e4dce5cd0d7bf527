/* The record as tables in a new SQLite file: every column of every row has the value that was
 * stored.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/export_sqlite.h"

#include "export_help.h"
#include "query_help.h"
#include "store/row.h"

#include <math.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#define ERASED_SESSION 7u

static void put_calls(struct store *s, unsigned from, unsigned to)
{
    struct export_call m;

    export_call_init(&m);
    for (unsigned i = from; i < to; i++) {
        export_call_make(&m, i);
        store_call_put(s, &m.row, NULL);
    }
    settle(s);
    export_call_release(&m);
}

/* ---- the file ---- */

struct exported {
    char path[128];
    struct export_sqlite_to to;
    sqlite3 *db;
};

static void export_close(struct exported *x)
{
    sqlite3_close(x->db);
    unlink(x->path);
}

static bool export_try(struct place *p, const struct query_asker *a, const struct query_filter *f,
                       struct exported *x, struct err *e)
{
    struct reader *r;
    bool ok;

    *x = (struct exported){.to = {.path = x->path}};
    snprintf(x->path, sizeof x->path, "%s/out.db", p->dir);
    CHECK_F(reader_open(str_c(p->url), &r, e), "%s", e->text);
    ok = export_sqlite_write(r, a, f, &x->to, e);
    reader_close(r);
    return ok;
}

static void export_to(struct place *p, const struct query_asker *a, const struct query_filter *f,
                      struct exported *x)
{
    struct stat st;
    struct err e;

    CHECK_F(export_try(p, a, f, x, &e), "%s", e.text);
    CHECK(stat(x->path, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(sqlite3_open_v2(x->path, &x->db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK);
}

static sqlite3_stmt *query(struct exported *x, const char *sql)
{
    sqlite3_stmt *st;

    CHECK_F(sqlite3_prepare_v2(x->db, sql, -1, &st, NULL) == SQLITE_OK,
            "%s: %s",
            sql,
            sqlite3_errmsg(x->db));
    return st;
}

static long long number(struct exported *x, const char *sql)
{
    sqlite3_stmt *st = query(x, sql);
    long long n;

    CHECK(sqlite3_step(st) == SQLITE_ROW);
    n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

static int column_named(sqlite3_stmt *st, const char *name)
{
    for (int i = 0; i < sqlite3_column_count(st); i++)
        if (strcmp(sqlite3_column_name(st, i), name) == 0)
            return i;
    return -1;
}

/* The statement's current row has the values that were stored. */
static void row_at(sqlite3_stmt *st, struct store_call *out)
{
    *out = store_call_none;
    for (size_t i = 0; i < row_field_count; i++) {
        const struct row_field *f = &row_fields[i];
        int at = column_named(st, f->column);
        void *to = (char *)out + f->at;

        if (strcmp(f->column, "talk") == 0) {
            CHECK_INT(at, -1);
            continue;
        }
        CHECK_F(at >= 0, "%s", f->column);
        if (sqlite3_column_type(st, at) == SQLITE_NULL)
            continue; /* NULL, as in store_call_none */
        if (f->kind <= ROW_BODY) {
            CHECK_F(sqlite3_column_type(st, at) == SQLITE_TEXT, "%s", f->column);
            *(str *)to = (str){(const char *)sqlite3_column_text(st, at),
                               (size_t)sqlite3_column_bytes(st, at)};
        } else if (f->kind == ROW_COST) {
            *(double *)to = sqlite3_column_double(st, at);
        } else if (f->kind == ROW_BOOL) {
            *(bool *)to = sqlite3_column_int(st, at);
        } else if (f->kind == ROW_INT) {
            *(int *)to = sqlite3_column_int(st, at);
        } else {
            *(int64_t *)to = sqlite3_column_int64(st, at);
        }
    }
}

/* Checks that the file has every call from `from` to `to` once, with its stored values, except
 * those of the erased session. Returns how many. */
static unsigned check_calls(struct exported *x, unsigned from, unsigned to)
{
    sqlite3_stmt *st = query(x, "SELECT * FROM llm_interactions ORDER BY interaction_id");
    unsigned seen = 0;
    struct export_call m;

    export_call_init(&m);
    for (unsigned i = from; i < to; i++) {
        struct store_call got;

        if (i / EXPORT_TURNS == ERASED_SESSION)
            continue;
        CHECK(sqlite3_step(st) == SQLITE_ROW);
        export_call_make(&m, i);
        m.row.talk = STR("");
        row_at(st, &got);
        (void)same_row(&(struct expected){&m.row, 0}, &got);
        CHECK_INT(sqlite3_column_int64(st, column_named(st, "request_size")), m.row.request.n);
        CHECK_INT(sqlite3_column_int64(st, column_named(st, "reply_size")), m.row.reply.n);
        seen++;
    }
    CHECK(sqlite3_step(st) == SQLITE_DONE);
    sqlite3_finalize(st);
    export_call_release(&m);
    return seen;
}

static void check_derived(struct exported *x)
{
    static const char *const wrong[] = {
        /* Each decision agrees with its call, and has the call's number. */
        "SELECT count(*) FROM llm_interactions i LEFT JOIN decisions d ON d.decision_id = i.call_n"
        " WHERE i.decision IS NOT d.entry OR (i.decision IS NOT NULL AND (d.interaction_id <>"
        " i.interaction_id OR d.session_id <> i.session_id OR d.model <> i.model"
        " OR d.tools IS NOT i.tools OR d.timestamp_us <> 1000 * coalesce(i.ended_ms, i.started_ms)"
        " OR d.kind <> CASE WHEN i.tools IS NULL THEN 'DIRECT' ELSE 'TOOL_CALL' END))",
        "SELECT count(*) FROM decisions WHERE decision_id NOT IN"
        " (SELECT call_n FROM llm_interactions)",
        "SELECT count(*) FROM decisions d WHERE (SELECT count(*) FROM decision_tools t WHERE"
        " t.decision_id = d.decision_id AND t.tool IN ('look', 'take')) <>"
        " CASE WHEN d.tools IS NULL THEN 0 ELSE 2 END",
        "SELECT count(*) FROM decision_tools WHERE decision_id NOT IN"
        " (SELECT decision_id FROM decisions)",
        /* Segments. */
        "SELECT count(*) FROM llm_interactions i LEFT JOIN reasoning_segments g ON"
        " g.interaction_id = i.interaction_id AND g.n = 0 WHERE g.text IS NOT i.reasoning_content"
        " OR (i.segments IS NOT NULL AND (g.kind <> 'reasoning' OR g.tokens <> 5 OR g.exact <> 1 OR"
        " g.started_us <> 10 OR g.ended_us <> 20 OR g.budget IS NOT NULL OR g.cut <> 0 OR"
        " g.state <> 'complete'))",
        "SELECT count(*) FROM llm_interactions i LEFT JOIN reasoning_segments g ON"
        " g.interaction_id = i.interaction_id AND g.n = 1 WHERE (g.kind = 'tool_call') IS NOT"
        " CASE WHEN i.segments IS NULL THEN NULL ELSE 1 END OR (i.segments IS NOT NULL AND"
        " (g.text <> '{\"name\":\"look\"}' OR g.cut <> 1 OR g.tokens IS NOT NULL))",
        "SELECT count(*) FROM reasoning_segments WHERE n > 1",
        /* final_analysis is the session's last answer. */
        "SELECT count(*) FROM alert_sessions s WHERE agent_type = 'gateway' AND final_analysis IS"
        " NOT (SELECT answer FROM llm_interactions i WHERE i.session_id = s.session_id AND answer"
        " IS NOT NULL ORDER BY started_ms DESC LIMIT 1)",
        "SELECT count(*) FROM alert_sessions s WHERE call_count <> (SELECT count(*) FROM"
        " llm_interactions i WHERE i.session_id = s.session_id)",
        "SELECT count(*) FROM llm_interactions WHERE session_id NOT IN (SELECT session_id FROM"
        " alert_sessions)",
        "SELECT (SELECT sum(calls) FROM usage_hours) - (SELECT count(*) FROM llm_interactions)",
    };

    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        CHECK_F(number(x, wrong[i]) == 0, "%lld: %s", number(x, wrong[i]), wrong[i]);
}

/* Compares rows of the store with those of the file, in the same order. */
struct beside {
    sqlite3_stmt *st;
    const char *table;
    unsigned rows;
};

static bool same_columns(void *ctx, const struct db_value *v, size_t n)
{
    struct beside *b = ctx;

    CHECK_F(sqlite3_step(b->st) == SQLITE_ROW, "%s", b->table);
    for (size_t i = 0; i < n; i++) {
        int at = (int)i, type = sqlite3_column_type(b->st, at);
        const char *name = sqlite3_column_name(b->st, at);
        str text = {(const char *)sqlite3_column_text(b->st, at),
                    (size_t)sqlite3_column_bytes(b->st, at)};

        CHECK_F((v[i].type == DB_NULL) == (type == SQLITE_NULL), "%s.%s", b->table, name);
        if (v[i].type == DB_TEXT)
            CHECK_F(str_eq(v[i].s, text), "%s.%s", b->table, name);
        else if (v[i].type != DB_NULL)
            CHECK_F(fabs(sqlite3_column_double(b->st, at) -
                         (v[i].type == DB_INT ? (double)v[i].i : v[i].d)) < 1e-6,
                    "%s.%s",
                    b->table,
                    name);
    }
    b->rows++;
    return true;
}

/* Checks that these columns of a table are the same in the store and in the file. Returns the
 * number of rows. */
static unsigned same_rows(struct place *p, struct exported *x, const char *table,
                          const char *columns, const char *order)
{
    struct beside b = {.table = table};
    char sql[2000], theirs[2000];
    struct db *db;
    struct err e;

    snprintf(sql, sizeof sql, "SELECT %s FROM %s ORDER BY %s", columns, table, order);
    snprintf(theirs,
             sizeof theirs,
             "SELECT %s FROM %s ORDER BY %s%s",
             columns,
             table,
             order,
             p->postgres ? " COLLATE \"C\"" : "");
    b.st = query(x, sql);
    CHECK_F(db_open(str_c(p->url), DB_READ, &db, &e), "%s", e.text);
    CHECK_F(db_query(db, theirs, NULL, 0, (struct db_rows){same_columns, &b}, &e), "%s", e.text);
    CHECK_F(sqlite3_step(b.st) == SQLITE_DONE, "%s", table);
    db_close(db);
    sqlite3_finalize(b.st);
    return b.rows;
}

#define SESSION_COLUMNS                                                                            \
    "session_id, named, alert_id, agent_type, alert_type, status, outcome, title, model,"          \
    " key_name, subject, first_seen_ms, last_seen_ms, started_at_us, completed_at_us, call_count," \
    " tool_count, tool_call_count, input_tokens, output_tokens, reasoning_tokens, cost_usd,"       \
    " has_reasoning,"                                                                              \
    " error_message, alert_data, session_metadata"
#define TOOL_COLUMNS                                                                               \
    "communication_id, session_id, parent_id, timestamp_us, server_name, communication_type,"      \
    " tool_name, tool_arguments, tool_result, available_tools, duration_ms, success,"              \
    " error_message, step_description"
#define USAGE_COLUMNS                                                                              \
    "hour, model, provider, key_name, level, cap_tokens, calls, failed, input_tokens,"             \
    " output_tokens, reasoning_tokens, cache_read_tokens, starved, cut, with_reasoning, b0, b1,"   \
    " b2, b3, b4, b5, b6, b7, b8, b9, priced, cost_usd"

/* ---- the tests ---- */

static void put_app(struct store *s)
{
    struct store_session session = {.id = STR("an-app"),
                                    .agent_type = STR("incidents"),
                                    .alert_type = STR("disk"),
                                    .status = STR("completed"),
                                    .alert_data = STR("{\"a\":1}"),
                                    .final_analysis = STR("so it was"),
                                    .started_us = 5,
                                    .completed_us = 9};
    struct store_tool tool = {.server_name = STR("srv"),
                              .communication_type = STR("tool_call"),
                              .tool_name = STR("look"),
                              .arguments = STR("{}"),
                              .timestamp_us = 7,
                              .duration_ms = -1,
                              .success = true};
    struct buf long_text;
    char id[32], of[32];

    buf_init(&long_text, EXPORT_TEXT_MAX);
    export_add_prose(&long_text, 5, 200000);
    store_session_put(s, &session);
    for (unsigned i = 0; i < 150; i++) { /* more than two pages */
        snprintf(id, sizeof id, "tool-%03u", i);
        snprintf(of, sizeof of, "session-%u", i % 30);
        tool.id = str_c(id);
        tool.session_id = i % 3 ? str_c(of) : STR("an-app");
        tool.result = i % 50 ? STR("a result") : buf_str(&long_text);
        tool.error_message = i % 7 ? STR("") : STR("it failed");
        tool.success = i % 7 != 0;
        store_tool_put(s, &tool);
    }
    settle(s);
    buf_release(&long_text);
}

/* The number of tables, indexes and columns with this name in the file. */
static long long named(struct exported *x, const char *name)
{
    char sql[300];

    snprintf(sql,
             sizeof sql,
             "SELECT count(*) FROM sqlite_master WHERE sql LIKE '%%%s%%' OR name LIKE '%%%s%%'",
             name,
             name);
    return number(x, sql);
}

TEST(every_column_of_every_row_is_as_it_was_put)
{
    enum { CALLS_PUT = 900 }; /* more than three pages */
    static const char *const secrets[] = {"store_keys", "talk", "audit", "erasures", "call_blocks"};
    struct query_filter f = query_filter_none;
    struct store_receipt receipt;
    struct exported x;
    struct place p;
    struct store *s;
    struct err e;

    place_init(&p);
    s = open_store(&p);
    put_calls(s, 0, 500);
    store_close(s);
    s = open_store(&p);
    put_calls(s, 500, CALLS_PUT);
    put_app(s);
    CHECK_F(store_erase(s, STORE_ERASE_SESSION, STR("session-7"), STR("somebody"), &receipt, &e),
            "%s",
            e.text);
    for (int closed = 0; closed < 2; closed++) { /* store open in this process, then closed */
        export_to(&p, &everyone, &f, &x);
        CHECK_INT(check_calls(&x, 0, CALLS_PUT), CALLS_PUT - EXPORT_TURNS);
        CHECK_INT(x.to.calls, CALLS_PUT - EXPORT_TURNS);
        CHECK_INT(x.to.sessions, CALLS_PUT / EXPORT_TURNS);
        check_derived(&x);
        CHECK_INT(same_rows(&p, &x, "alert_sessions", SESSION_COLUMNS, "session_id"),
                  CALLS_PUT / EXPORT_TURNS);
        CHECK(same_rows(&p, &x, "mcp_communications", TOOL_COLUMNS, "communication_id") > 140);
        CHECK(same_rows(&p, &x, "usage_hours", USAGE_COLUMNS, "hour, cap_tokens, model, key_name") >
              20);
        CHECK_INT(number(&x,
                         "SELECT count(*) FROM alert_sessions WHERE session_id = 'an-app' AND"
                         " final_analysis = 'so it was'"),
                  1);
        for (size_t i = 0; i < COUNT_OF(secrets); i++)
            CHECK_F(named(&x, secrets[i]) == 0, "%s", secrets[i]);
        CHECK_INT(number(&x,
                         "SELECT count(*) FROM pragma_integrity_check WHERE"
                         " integrity_check <> 'ok'"),
                  0);
        export_close(&x);
        if (!closed)
            store_close(s);
    }
    place_release(&p);
}

TEST(an_empty_store_gives_empty_tables)
{
    struct query_filter f = query_filter_none;
    struct exported x;
    struct place p;

    place_init(&p);
    store_close(open_store(&p));
    export_to(&p, &everyone, &f, &x);
    CHECK_INT(number(&x, "SELECT count(*) FROM llm_interactions"), 0);
    CHECK_INT(number(&x, "SELECT count(*) FROM usage_hours"), 0);
    CHECK_INT(number(&x, "SELECT count(*) FROM sqlite_master WHERE type = 'table'"), 7);
    export_close(&x);
    place_release(&p);
}

/* Checks that the export has the calls that the filter allows; `where` selects the same sessions in
 * the store's tables. */
static void check_filter(struct place *p, const struct query_asker *a, const struct query_filter *f,
                         const char *where)
{
    static const char *const tables[] = {"llm_interactions", "mcp_communications"};
    struct exported x;
    char sql[500];

    export_to(p, a, f, &x);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM alert_sessions s WHERE %s", where);
    CHECK_F(ask(p, sql) == number(&x, "SELECT count(*) FROM alert_sessions"), "%s", where);
    CHECK_INT(x.to.sessions, ask(p, sql));
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        char mine[100];

        snprintf(mine, sizeof mine, "SELECT count(*) FROM %s", tables[i]);
        snprintf(sql,
                 sizeof sql,
                 "SELECT count(*) FROM %s i JOIN alert_sessions s ON s.session_id = i.session_id"
                 " WHERE %s",
                 tables[i],
                 where);
        CHECK_F(ask(p, sql) == number(&x, mine), "%s: %s", tables[i], where);
    }
    CHECK_INT(number(&x, "SELECT coalesce(sum(calls), 0) FROM usage_hours"), x.to.calls);
    if (!a->hide_reasoning)
        check_derived(&x);
    export_close(&x);
}

TEST(filters_are_those_of_the_other_forms)
{
    struct query_filter f;
    struct query_asker key = everyone;
    struct exported x;
    struct place p;
    struct store *s;
    struct err e;

    place_init(&p);
    s = open_store(&p);
    put_calls(s, 0, 300);
    put_app(s);
    f = query_filter_none;
    f.session_id = STR("session-3");
    check_filter(&p, &everyone, &f, "s.session_id = 'session-3'");
    f = query_filter_none;
    f.key = STR("key-1");
    check_filter(&p, &everyone, &f, "s.key_name = 'key-1'");
    f.model = STR("model-2");
    check_filter(&p, &everyone, &f, "s.key_name = 'key-1' AND s.model = 'model-2'");
    f = query_filter_none;
    f.status[0] = STR("failed");
    f.status_count = 1;
    check_filter(&p, &everyone, &f, "s.status = 'failed'");
    f = query_filter_none;
    f.start_us = 200000;
    f.end_us = 7200000000;
    check_filter(&p, &everyone, &f, "s.started_at_us BETWEEN 200000 AND 7200000000");
    f = query_filter_none;
    f.model = STR("none");
    check_filter(&p, &everyone, &f, "1 = 0");
    f = query_filter_none;
    key.key_name = STR("key-2");
    check_filter(&p, &key, &f, "s.key_name = 'key-2'");
    f.session_id = STR("nothing");
    CHECK(!export_try(&p, &everyone, &f, &x, &e) && e.code == ERR_NOT_FOUND);
    unlink(x.path);
    store_close(s);
    place_release(&p);
}

static str redact_all(str body, struct arena *a)
{
    return arena_join(a, STR("redacted "), str_slice(body, 0, 5), STR(""));
}

TEST(an_asker_who_may_not_see_reasoning_gets_none)
{
    struct query_asker blind = everyone;
    struct query_filter f = query_filter_none;
    struct exported x;
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    put_calls(s, 0, 60);
    blind.hide_reasoning = true;
    for (int redacts = 0; redacts < 2; redacts++) {
        blind.redact = redacts ? redact_all : NULL;
        export_to(&p, &blind, &f, &x);
        CHECK_INT(number(&x,
                         "SELECT count(*) FROM llm_interactions WHERE reasoning_content IS NOT NULL"
                         " OR reasoning_summary IS NOT NULL OR reply IS NOT NULL OR segments IS NOT"
                         " NULL"),
                  0);
        CHECK_INT(number(&x,
                         "SELECT count(*) FROM llm_interactions WHERE (reasoning_state = 'hidden')"
                         " <> has_reasoning"),
                  0);
        CHECK_INT(number(&x, "SELECT count(*) FROM llm_interactions WHERE request IS NOT NULL"),
                  redacts ? 60 : 0);
        CHECK_INT(
            number(&x, "SELECT count(*) FROM llm_interactions WHERE request NOT LIKE 'redacted%'"),
            0);
        CHECK_INT(number(&x,
                         "SELECT count(*) FROM decisions d JOIN llm_interactions i ON"
                         " i.call_n = d.decision_id WHERE d.entry <> i.decision OR"
                         " i.has_reasoning = (d.entry LIKE '%because%')"),
                  0);
        CHECK_INT(number(&x,
                         "SELECT count(*) FROM reasoning_segments WHERE kind = 'reasoning' AND"
                         " (text IS NOT NULL OR state <> 'hidden')"),
                  0);
        CHECK(number(&x, "SELECT count(*) FROM reasoning_segments WHERE text IS NOT NULL") > 0);
        export_close(&x);
    }
    store_close(s);
    place_release(&p);
}

TEST(calls_that_are_not_in_blocks_yet_are_exported_too)
{
    enum { OLD = 270 }; /* more than a page */
    struct query_filter f = query_filter_none;
    struct exported x;
    struct export_call m;
    struct place p;
    struct store *s;

    place_init(&p);
    export_call_init(&m);
    old_store(&p);
    for (unsigned i = 0; i < OLD; i++) {
        export_call_make(&m, i);
        m.row.session_id = m.row.id;
        m.row.talk = STR("");
        old_store_put(&p, &m.row);
    }
    s = open_store(&p);
    for (int moved = 0; moved < 2; moved++) { /* during the move, and after it */
        sqlite3_stmt *st;

        export_to(&p, &everyone, &f, &x);
        st = query(&x, "SELECT * FROM llm_interactions ORDER BY interaction_id");
        for (unsigned i = 0; i < OLD; i++) {
            struct store_call got;

            CHECK(sqlite3_step(st) == SQLITE_ROW);
            export_call_make(&m, i);
            m.row.session_id = m.row.id;
            m.row.talk = STR("");
            row_at(st, &got);
            (void)same_row(&(struct expected){&m.row, 0}, &got);
        }
        CHECK(sqlite3_step(st) == SQLITE_DONE);
        sqlite3_finalize(st);
        export_close(&x);
        while (!moved && ask(&p, "SELECT count(*) FROM llm_interactions WHERE block IS NULL") > 0)
            usleep(20000);
    }
    store_close(s);
    export_call_release(&m);
    place_release(&p);
}

TEST(a_file_that_cannot_be_written_is_an_error)
{
    struct query_filter f = query_filter_none;
    struct export_sqlite_to to = {.path = "/nowhere/at/all.db"};
    struct world w;
    struct err e;

    world_init(&w);
    CHECK(!export_sqlite_write(w.reader, &everyone, &f, &to, &e));
    CHECK(strstr(e.text, "/nowhere/at/all.db"));
    world_release(&w);
}

TEST_MAIN(T(every_column_of_every_row_is_as_it_was_put), T(an_empty_store_gives_empty_tables),
          T(filters_are_those_of_the_other_forms), T(an_asker_who_may_not_see_reasoning_gets_none),
          T(calls_that_are_not_in_blocks_yet_are_exported_too),
          T(a_file_that_cannot_be_written_is_an_error))
