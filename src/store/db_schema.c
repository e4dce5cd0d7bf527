/* db_schema.c - the tables are made, or brought up to date, in one transaction.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/progress.h"
#include "store/db_driver.h"

#include <stdatomic.h>

#define VERSIONS                                                                                   \
    "CREATE TABLE IF NOT EXISTS store_version (version INTEGER PRIMARY KEY, name TEXT NOT NULL)"

/* 0 if there is nothing yet. A database of something else is not ours to write to. */
static bool db_schema_version_now(struct db *db, int64_t *out, struct err *e)
{
    int64_t ours, others;

    *out = 0;
    if (!db_number(db, db->driver->has_versions_sql, DB_NO_ARGS, &ours, e))
        return false;
    if (ours)
        return db_number(
            db, "SELECT coalesce(max(version), 0) FROM store_version", DB_NO_ARGS, out, e);
    if (!db_number(db, db->driver->has_others_sql, DB_NO_ARGS, &others, e))
        return false;
    return others == 0 || err_input(e, "is a database of another program: name one of its own");
}

static bool db_schema_take_step(struct db *db, const struct schema_step *step, struct err *e)
{
    if (!db->driver->script(db, step->sql, e) ||
        !db_run(db,
                "INSERT INTO store_version VALUES ($1, $2)",
                DB_ARGS(db_int(step->version), db_text(str_c(step->name))),
                e)) {
        e->code = ERR_SYSTEM;
        return err_prefix(e, "schema step %d (%s): ", step->version, step->name);
    }
    return true;
}

/* Another process may have been here since the version was read: it is read again inside. */
static bool db_schema_take_steps(struct db *db, struct err *e)
{
    const struct schema_step *steps = db->driver->steps;
    struct progress p;
    int64_t now;
    bool ok = true;

    if (db->driver->alone_sql && !db->driver->script(db, db->driver->alone_sql, e))
        return false;
    if (!db->driver->script(db, VERSIONS, e) || !db_schema_version_now(db, &now, e))
        return false;
    if (now == 0 && db->driver->whole_sql)
        return db->driver->script(db, db->driver->whole_sql, e);
    p = progress_begin("bringing the store up to date", "steps", *db->driver->step_count);
    for (size_t i = 0; ok && i < *db->driver->step_count; i++) {
        progress_set(&p, i);
        assert(i == 0 || steps[i - 1].version < steps[i].version);
        ok = steps[i].version <= now || db_schema_take_step(db, &steps[i], e);
    }
    progress_end(&p);
    return ok;
}

/* Migrations only add. So a running daemon continues when a newer one adds to its tables; but it
 * does not start on them, because it may need parts that it does not know. */
static bool db_schema_runs(const struct db *db, enum db_mode mode, bool known)
{
    static _Atomic bool running;

    if (db_kind(db) == DB_POSTGRES && mode == DB_WRITE && known)
        atomic_store(&running, true);
    return db_kind(db) == DB_POSTGRES && mode != DB_WRITE && atomic_load(&running);
}

bool db_migrate(struct db *db, enum db_mode mode, struct err *e)
{
    int64_t newest = db->driver->steps[*db->driver->step_count - 1].version, now;

    assert(mode != DB_NEW);
    if (!db_schema_version_now(db, &now, e))
        return false;
    if (db_schema_runs(db, mode, now <= newest) && now > newest)
        return true;
    if (now > newest)
        return err_input(
            e,
            "has version %lld and this program knows %lld: it was written by a newer one",
            (long long)now,
            (long long)newest);
    if (now == newest)
        return true;
    if (mode == DB_READ)
        return err_input(e,
                         "has version %lld, which `rationale serve` brings to %lld when it starts",
                         (long long)now,
                         (long long)newest);
    return db_begin(db, true, e) && db_end(db, db_schema_take_steps(db, e), e);
}
