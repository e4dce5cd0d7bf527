/* db_postgres_lease.c - proves in each transaction that this daemon's lease holds, and takes turns
 * with the engines of other daemons.
 *
 * A daemon may be taken over without noticing, for example while it is stopped. So each transaction
 * locks the daemon's row (FOR KEY SHARE, which the heartbeat's updates do not wait for) and
 * compares its fence: that of a daemon that was taken over fails before its first write, and a
 * takeover, which locks the row FOR UPDATE, waits for transactions that are under way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include "store/db_postgres.h"

#include <stdatomic.h>
#include <unistd.h>

#define LOCK_KEY "8029459031472632421" /* any number that is ours */
#define LOCK_WAIT_MS 5000u
#define LOCK_POLL_MS 50u
#define TURN_COLUMNS 3

struct db_lease {
    struct db_lease *next;
    char *url, *daemon;
    _Atomic int64_t fence;
    unsigned refs; /* under the lock */
};

static pthread_mutex_t leases_lock = PTHREAD_MUTEX_INITIALIZER;
static struct db_lease *leases; /* of this process, the newest first */

/* ---- leases ---- */

struct db_lease *db_lease_new(str url, str daemon)
{
    struct db_lease *l = base_alloc(sizeof *l);

    *l = (struct db_lease){.url = str_copy(url), .daemon = str_copy(daemon), .refs = 1};
    pthread_mutex_lock(&leases_lock);
    l->next = leases;
    leases = l;
    pthread_mutex_unlock(&leases_lock);
    return l;
}

void db_lease_release(struct db_lease *l)
{
    bool last;

    if (!l)
        return;
    pthread_mutex_lock(&leases_lock);
    assert(l->refs > 0);
    last = --l->refs == 0;
    pthread_mutex_unlock(&leases_lock);
    if (last) {
        free(l->url);
        free(l->daemon);
        free(l);
    }
}

void db_lease_free(struct db_lease *l)
{
    if (!l)
        return;
    db_lease_set(l, 0);
    pthread_mutex_lock(&leases_lock);
    for (struct db_lease **p = &leases; *p; p = &(*p)->next)
        if (*p == l) {
            *p = l->next;
            break;
        }
    pthread_mutex_unlock(&leases_lock);
    db_lease_release(l);
}

struct db_lease *db_lease_find(str url)
{
    struct db_lease *l;

    pthread_mutex_lock(&leases_lock);
    for (l = leases; l && !str_eq(url, str_c(l->url)); l = l->next)
        ;
    if (l)
        l->refs++;
    pthread_mutex_unlock(&leases_lock);
    return l;
}

void db_lease_set(struct db_lease *l, int64_t fence)
{
    atomic_store(&l->fence, fence);
}

int64_t db_lease_fence(const struct db_lease *l)
{
    return atomic_load(&l->fence);
}

void db_lease_join(struct db *db, struct db_lease *l)
{
    struct pg_db *d;

    if (db_kind(db) != DB_POSTGRES)
        return;
    d = pg_of(db);
    assert(!d->open);
    if (l) {
        pthread_mutex_lock(&leases_lock);
        l->refs++;
        pthread_mutex_unlock(&leases_lock);
    }
    db_lease_release(d->lease);
    d->lease = l;
    d->ready = false; /* it is set up again, with the lease */
}

/* ---- versions before there were several daemons ---- */

/* Such a version holds the lock for itself. Daemons of this one share it. */
static bool pg_lease_fail_owner(struct pg_db *d, struct err *e)
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
                   "the database is in use by an older rationale (%s), which shares it with no"
                   " other: stop that one; until then this one keeps its records in the journal",
                   text[0] ? text : "unknown");
}

static bool pg_lease_share_lock(struct pg_db *d, struct err *e)
{
    char text[8];

    for (unsigned ms = 0; ms <= LOCK_WAIT_MS; ms += LOCK_POLL_MS) {
        if (!pg_exec_text(
                d, "SELECT pg_try_advisory_lock_shared(" LOCK_KEY ")", text, sizeof text, e))
            return false;
        if (text[0] == 't')
            return true;
        (void)usleep(LOCK_POLL_MS * 1000);
    }
    return pg_lease_fail_owner(d, e);
}

/* The name of the connection says whose it is, so that a takeover can end it. */
bool pg_lease_set_up(struct pg_db *d, struct err *e)
{
    char sql[160];

    if (d->mode == DB_WRITE && !pg_lease_share_lock(d, e))
        return false;
    if (!d->lease)
        return true;
    (void)snprintf(sql, sizeof sql, "SET application_name = 'rationale %s'", d->lease->daemon);
    return pg_exec(d, sql, e);
}

/* ---- a transaction ---- */

static bool pg_lease_fail(struct err *e)
{
    return err_set(
        e,
        ERR_CONFLICT,
        "the lease of this daemon expired, and another daemon took over its work: nothing"
        " was written, and this daemon registers again");
}

/* The row of each result that has one goes to `rows`, as text. */
static bool pg_lease_exec(struct pg_db *d, const char *sql, PGresult *rows[2], struct err *e)
{
    bool ok = PQsendQuery(d->conn, sql) == 1 || pg_fail_conn(d, e);
    size_t n = 0;
    PGresult *r;

    rows[0] = rows[1] = NULL;
    while (ok && (r = PQgetResult(d->conn))) {
        ExecStatusType got = PQresultStatus(r);

        if (got == PGRES_TUPLES_OK && n < 2) {
            rows[n++] = r;
            continue;
        }
        ok = got == PGRES_COMMAND_OK || pg_fail_result(d, r, e);
        PQclear(r);
    }
    while (!ok && (r = PQgetResult(d->conn)))
        PQclear(r);
    assert(n <= 2);
    return ok;
}

static bool pg_lease_is(const PGresult *r, int column, int64_t fence)
{
    return r && PQntuples(r) == 1 && fence > 0 &&
           strtoll(PQgetvalue(r, 0, column), NULL, 10) == fence;
}

static bool pg_lease_read_turn(struct pg_db *d, const PGresult *r, int64_t fence, struct err *e)
{
    assert(d->lease && d->mode == DB_WRITE);
    if (!r || PQntuples(r) != 1 || PQnfields(r) != TURN_COLUMNS)
        return err_set(e, ERR_SYSTEM, "the table store_turn has no row");
    d->db.turn.erased = strtoll(PQgetvalue(r, 0, 2), NULL, 10);
    d->claims = strcmp(PQgetvalue(r, 0, 0), d->lease->daemon) != 0 || !pg_lease_is(r, 1, fence);
    d->db.turn.passed |= d->claims;
    d->claimed = fence;
    return true;
}

bool pg_lease_claim_turn(struct pg_db *d, struct err *e)
{
    assert(d->lease && d->open);
    return db_run(&d->db,
                  "UPDATE store_turn SET daemon_id = $1, fence = $2",
                  DB_ARGS(db_text(str_c(d->lease->daemon)), db_int(d->claimed)),
                  e);
}

bool pg_lease_begin(struct pg_db *d, const char *sql, struct err *e)
{
    int64_t fence = db_lease_fence(d->lease);
    struct err ignored;
    PGresult *rows[2];
    char all[400];
    bool ok;

    assert(d->lease && !d->open);
    (void)snprintf(
        all,
        sizeof all,
        "%s; SELECT fence FROM daemons WHERE daemon_id = '%s' FOR KEY SHARE%s",
        sql,
        d->lease->daemon,
        d->mode == DB_WRITE ? "; SELECT daemon_id, fence, erased FROM store_turn FOR UPDATE" : "");
    ok = pg_lease_exec(d, all, rows, e) && (pg_lease_is(rows[0], 0, fence) || pg_lease_fail(e)) &&
         (d->mode != DB_WRITE || pg_lease_read_turn(d, rows[1], fence, e));
    PQclear(rows[0]);
    PQclear(rows[1]);
    if (!ok && PQstatus(d->conn) == CONNECTION_OK)
        (void)pg_exec(d, "ROLLBACK", &ignored);
    return ok;
}
