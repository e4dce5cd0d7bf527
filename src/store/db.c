/* SPDX-License-Identifier: Apache-2.0 */
#include "store/db.h"

#include "store/db_driver.h"

static const struct db_driver *const drivers[] = {
    &db_driver_sqlite,
    &db_driver_postgres,
};

static const struct db_driver *db_find(str scheme)
{
    for (size_t i = 0; i < COUNT_OF(drivers); i++)
        for (const char *const *s = drivers[i]->schemes; *s; s++)
            if (str_eq(scheme, str_c(*s)))
                return drivers[i];
    return NULL;
}

bool db_open(str url, enum db_mode mode, struct db **out, struct err *e)
{
    size_t colon = str_find(url, STR(":"));
    str scheme = str_slice(url, 0, colon == STR_NONE ? 0 : colon), where = url;
    const struct db_driver *driver = db_find(scheme);
    struct db *db;

    if (!driver)
        return err_input(e, "a database is \"sqlite:PATH\" or \"postgres://...\"");
    assert(mode != DB_NEW || driver->kind == DB_SQLITE);
    if (driver->kind == DB_SQLITE) {
        where = str_slice(url, colon + 1, url.n);
        if (str_starts(where, STR("//")))
            where = str_slice(where, 2, where.n);
    }
    if (!driver->open(where, mode, &db, e))
        return false;
    if (mode != DB_NEW && !db->tables_known && !db_migrate(db, mode, e)) {
        db_close(db);
        return driver->kind == DB_SQLITE ? err_prefix(e, STR_FMT ": ", STR_ARG(where))
                                         : err_prefix(e, "PostgreSQL: ");
    }
    *out = db;
    return true;
}

void db_close(struct db *db)
{
    if (db)
        db->driver->close(db);
}

enum db_kind db_kind(const struct db *db)
{
    return db->driver->kind;
}

bool db_run(struct db *db, const char *sql, const struct db_value *args, size_t n, struct err *e)
{
    assert(sql && (n == 0 || args));
    return db->driver->run(db, sql, args, n, e);
}

bool db_put(struct db *db, const char *sql, const struct db_value *args, size_t n, struct err *e)
{
    assert(n > 0 && n <= DB_ARGS_MAX && args);
    return db->driver->put(db, sql, args, n, e);
}

bool db_changed(struct db *db, int64_t *out, struct err *e)
{
    return db->driver->changed(db, out, e);
}

bool db_query(struct db *db, const char *sql, const struct db_value *args, size_t n,
              struct db_rows rows, struct err *e)
{
    assert(rows.on_row && (n == 0 || args));
    return db->driver->query(db, sql, args, n, rows, e);
}

bool db_begin(struct db *db, bool durable, struct err *e)
{
    return db->driver->begin(db, durable, e);
}

struct db_turn db_turn(struct db *db)
{
    struct db_turn turn = db->turn;

    db->turn.passed = db->turn.lost = false;
    return turn;
}

bool db_commit(struct db *db, struct err *e)
{
    return db->driver->commit(db, e);
}

void db_rollback(struct db *db)
{
    db->driver->rollback(db);
}

bool db_scrub(struct db *db, bool *done, struct err *e)
{
    return db->driver->scrub(db, done, e);
}

static bool db_on_row(void *row, const struct db_value *columns, size_t n)
{
    const struct db_into *into = ((const struct db_row *)row)->into,
                         *end = into + ((const struct db_row *)row)->n;
    const struct db_value *v = columns;

    for (; into < end; into++) {
        if (into->kind == DB_INTO_FOUND) {
            *(bool *)into->to = true;
            continue;
        }
        assert(v < columns + n);
        if (v->type != DB_NULL && into->kind == DB_INTO_I64)
            *(int64_t *)into->to = v->type == DB_REAL ? (int64_t)v->d : v->i;
        else if (v->type != DB_NULL && into->kind == DB_INTO_TEXT)
            *(str *)into->to = arena_dup(into->arena, v->s);
        else if (v->type != DB_NULL && v->s.n == into->size)
            memcpy(into->to, v->s.p, v->s.n);
        v++;
    }
    return false;
}

struct db_rows db_row_rows(struct db_row *row)
{
    return (struct db_rows){db_on_row, row};
}

bool db_number(struct db *db, const char *sql, const struct db_value *args, size_t n, int64_t *out,
               struct err *e)
{
    *out = 0;
    return db_query(db, sql, args, n, DB_ROW(db_into_i64(out)), e);
}

bool db_size(struct db *db, int64_t *out, struct err *e)
{
    return db_number(db, db->driver->size_sql, DB_NO_ARGS, out, e);
}

void db_interrupt(struct db *db)
{
    db->driver->interrupt(db);
}

bool db_rewrite_due(struct db *db, bool *out, struct err *e)
{
    const char *sql = db->driver->rewrite_due_sql;
    int64_t due = 0;
    bool ok = !sql || db_number(db, sql, DB_NO_ARGS, &due, e);

    *out = due != 0;
    return ok;
}

bool db_rewrite(struct db *db, struct err *e)
{
    return !db->driver->rewrite_sql || db->driver->script(db, db->driver->rewrite_sql, e);
}
