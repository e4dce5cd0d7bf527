/* sqlite_schema.c - the tables are made, or brought up to date, in one transaction.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/schema.h"
#include "store/sqlite.h"

#define VERSIONS                                                                                   \
    "CREATE TABLE IF NOT EXISTS store_version ("                                                   \
    "version INTEGER PRIMARY KEY, name TEXT NOT NULL)"

/* One number out of the database. */
static bool ask(sqlite3 *db, const char *sql, int *out, struct err *e)
{
    sqlite3_stmt *st;
    bool ok;

    if (!sqlite_prepare(db, sql, &st, e))
        return false;
    ok = sqlite3_step(st) == SQLITE_ROW;
    if (ok)
        *out = sqlite3_column_int(st, 0);
    else
        sqlite_err(db, "read the version", e);
    sqlite3_finalize(st);
    return ok;
}

/* 0 if there is nothing yet. A database of something else is not ours to write to. */
static bool version_now(sqlite3 *db, int *out, struct err *e)
{
    int ours, tables;

    if (!ask(db, "SELECT count(*) FROM sqlite_master WHERE name = 'store_version'", &ours, e) ||
        !ask(db, "SELECT count(*) FROM sqlite_master", &tables, e))
        return false;
    *out = 0;
    if (!ours && tables > 0)
        return err_set(e, ERR_INPUT, "is a database of another program: name a file of its own");
    return !ours || ask(db, "SELECT coalesce(max(version), 0) FROM store_version", out, e);
}

static bool take_step(sqlite3 *db, const struct schema_step *step, struct err *e)
{
    char sql[160];

    (void)sqlite3_snprintf(
        sizeof sql, sql, "INSERT INTO store_version VALUES (%d, %Q)", step->version, step->name);
    if (!sqlite_do(db, step->sql, e) || !sqlite_do(db, sql, e))
        return err_prefix(e, "schema step %d (%s): ", step->version, step->name);
    return true;
}

bool sqlite_migrate(sqlite3 *db, struct err *e)
{
    int newest = schema_steps[schema_step_count - 1].version, now;
    bool ok;

    if (!version_now(db, &now, e))
        return false;
    if (now > newest)
        return err_set(e,
                       ERR_INPUT,
                       "has version %d and this program knows %d: it was written by a newer one",
                       now,
                       newest);
    if (now == newest)
        return true;
    if (!sqlite_do(db, "BEGIN IMMEDIATE", e))
        return false;
    ok = sqlite_do(db, VERSIONS, e) && version_now(db, &now, e);
    for (size_t i = 0; ok && i < schema_step_count; i++)
        ok = schema_steps[i].version <= now || take_step(db, &schema_steps[i], e);
    ok = ok && sqlite_do(db, "COMMIT", e);
    if (!ok)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return ok;
}
