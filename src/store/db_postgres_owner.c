/* db_postgres_owner.c - one process owns the tables, and proves it in each of its transactions.
 *
 * An advisory lock of the session keeps others off while the owner's connection lives. The owner
 * may lose its connection without noticing, for example while it is stopped, and another process
 * may own the tables meanwhile. So each owner's connection adds one to the epoch in `store_owner`,
 * and each transaction locks that row and compares: the transaction of a former owner fails before
 * its first write, and a new owner waits for a transaction that is under way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/db_postgres.h"

#include <unistd.h>

#define LOCK_KEY "8029459031472632421" /* any number that is ours */
#define LOCK_WAIT_MS 5000u
#define LOCK_POLL_MS 50u
#define NUMBER_TEXT_SIZE 24

static bool pg_owner_fail(struct pg_db *d, struct err *e)
{
    char text[120];

    if (!pg_exec_text(d,
                      "SELECT coalesce(host(client_addr), 'this machine') || ', connected since '"
                      " || to_char(backend_start, 'YYYY-MM-DD HH24:MI:SS') FROM pg_locks l"
                      " JOIN pg_stat_activity a ON a.pid = l.pid WHERE locktype = 'advisory' AND"
                      " (classid::bigint << 32 | objid::bigint) = " LOCK_KEY " AND granted AND"
                      " l.database = (SELECT oid FROM pg_database WHERE datname ="
                      " current_database()) LIMIT 1",
                      text,
                      sizeof text,
                      e))
        return false;
    return err_set(e,
                   ERR_SYSTEM,
                   "the database is in use by another rationale (%s): stop one of the two; until"
                   " then this one writes nothing to it and keeps its records in the journal",
                   text[0] ? text : "unknown");
}

/* The server releases the lock of a killed process once it notices that the process is gone. */
bool pg_owner_take_lock(struct pg_db *d, struct err *e)
{
    char text[8];

    for (unsigned ms = 0; ms <= LOCK_WAIT_MS; ms += LOCK_POLL_MS) {
        if (!pg_exec_text(d, "SELECT pg_try_advisory_lock(" LOCK_KEY ")", text, sizeof text, e))
            return false;
        if (text[0] == 't')
            return true;
        (void)usleep(LOCK_POLL_MS * 1000);
    }
    return pg_owner_fail(d, e);
}

/* CREATE TABLE needs a right that a user of an existing store may not have. */
static bool pg_owner_make_table(struct pg_db *d, struct err *e)
{
    char text[8];

    return pg_exec_text(d, "SELECT to_regclass('store_owner') IS NULL", text, sizeof text, e) &&
           (text[0] != 't' || pg_exec(d,
                                      "CREATE TABLE IF NOT EXISTS store_owner"
                                      " (one INTEGER PRIMARY KEY CHECK (one = 1),"
                                      " epoch BIGINT NOT NULL)",
                                      e));
}

static bool pg_owner_claim(struct pg_db *d, struct err *e)
{
    char text[NUMBER_TEXT_SIZE];
    int64_t was = d->epoch;

    if (!pg_owner_make_table(d, e) ||
        !pg_exec_text(d,
                      "INSERT INTO store_owner VALUES (1, 1) ON CONFLICT (one)"
                      " DO UPDATE SET epoch = store_owner.epoch + 1 RETURNING epoch",
                      text,
                      sizeof text,
                      e))
        return false;
    d->epoch = strtoll(text, NULL, 10);
    d->claimed = true;
    return was == 0 || d->epoch == was + 1 ||
           err_set(e,
                   ERR_SYSTEM,
                   "another rationale wrote to the database while this one was not connected:"
                   " its state is read again");
}

bool pg_owner_begin(struct pg_db *d, const char *sql, struct err *e)
{
    char all[256], text[NUMBER_TEXT_SIZE];
    struct err ignored;

    if (!d->claimed && !pg_owner_claim(d, e))
        return false;
    (void)snprintf(all, sizeof all, "%s; SELECT epoch FROM store_owner FOR SHARE", sql);
    if (pg_exec_text(d, all, text, sizeof text, e)) {
        if (strtoll(text, NULL, 10) == d->epoch)
            return true;
        err_set(e,
                ERR_SYSTEM,
                "another rationale took over the database: this one wrote nothing since, and keeps"
                " its records in the journal; stop one of the two");
        d->claimed = d->ready = false;
    }
    if (PQstatus(d->conn) == CONNECTION_OK)
        (void)pg_exec(d, "ROLLBACK", &ignored);
    return false;
}
