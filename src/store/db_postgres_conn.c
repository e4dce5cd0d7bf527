/* db_postgres_conn.c - connections to PostgreSQL: opened, lost, opened again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/db_postgres.h"

#include "base/log.h"

#include <unistd.h>

#define PG_START_MS 10000
#define PG_START_STEP_MS 200

/* ---- errors ---- */

static enum err_code pg_code_of(const char *state)
{
    if (!state)
        return ERR_SYSTEM;
    if (strcmp(state, "57014") == 0)
        return ERR_CANCELLED;
    if (strcmp(state, "53100") == 0) /* the disk is full */
        return ERR_LIMIT;
    /* Error classes of one statement: data, constraints, and limits of the program. */
    return memcmp(state, "22", 2) == 0 || memcmp(state, "23", 2) == 0 || memcmp(state, "54", 2) == 0
               ? ERR_INPUT
               : ERR_SYSTEM;
}

bool pg_fail_conn(struct pg_db *d, struct err *e)
{
    str text = str_trim(str_c(PQerrorMessage(d->conn)));

    return err_set(e, ERR_SYSTEM, "PostgreSQL: " STR_FMT, STR_ARG(text));
}

bool pg_fail_result(struct pg_db *d, const PGresult *r, struct err *e)
{
    const char *text = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;

    if (!text)
        return pg_fail_conn(d, e);
    return err_set(e, pg_code_of(PQresultErrorField(r, PG_DIAG_SQLSTATE)), "PostgreSQL: %s", text);
}

/* ---- connecting ---- */

/* libpq's error for a bad URL may quote the URL with its password. */
static bool pg_check_url(const char *url, struct err *e)
{
    char *why = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &why);
    bool ok = options != NULL;
    str text = str_trim(str_c(why ? why : "no memory"));
    size_t quote = str_find(text, STR(": \""));

    if (!ok)
        err_input(e,
                  "PostgreSQL: " STR_FMT,
                  STR_ARG(str_slice(text, 0, quote == STR_NONE ? text.n : quote)));
    PQconninfoFree(options);
    PQfreemem(why);
    return ok;
}

void pg_forget_statements(struct pg_db *d)
{
    for (struct map_entry *i = map_next(&d->statements, NULL); i; i = map_next(&d->statements, i)) {
        struct pg_statement *s = i->value.ptr;

        free(s->sql);
        free(s);
    }
    map_release(&d->statements);
}

void pg_set_cancel(struct pg_db *d, PGcancel *cancel)
{
    pthread_mutex_lock(&d->lock);
    PQfreeCancel(d->cancel);
    d->cancel = cancel;
    pthread_mutex_unlock(&d->lock);
}

/* Something that gives no rows. */
bool pg_exec(struct pg_db *d, const char *sql, struct err *e)
{
    PGresult *r = PQexec(d->conn, sql);
    ExecStatusType got = PQresultStatus(r);
    bool ok = got == PGRES_COMMAND_OK || got == PGRES_TUPLES_OK || pg_fail_result(d, r, e);

    PQclear(r);
    return ok;
}

bool pg_exec_text(struct pg_db *d, const char *sql, char *out, size_t size, struct err *e)
{
    PGresult *r = PQexec(d->conn, sql);
    bool ok = PQresultStatus(r) == PGRES_TUPLES_OK || pg_fail_result(d, r, e);

    if (ok)
        (void)snprintf(out, size, "%s", PQntuples(r) > 0 ? PQgetvalue(r, 0, 0) : "");
    PQclear(r);
    return ok;
}

/* Statements are prepared once, perhaps while the tables are empty: the server would keep a plan
 * that reads them whole. Those of a writer all have an index. For a reader's, the parameters decide
 * which index is best, so each query gets its own plan. JIT takes longer than the queries. */
#define PG_SHORT "SET client_min_messages = error; SET jit = off;"
static const char *const pg_settings[] = {
    [DB_WRITE] = PG_SHORT "SET enable_seqscan = off",
    [DB_BESIDE] = PG_SHORT "SET enable_seqscan = off",
    [DB_READ] = PG_SHORT "SET plan_cache_mode = force_custom_plan;"
                         "SET default_transaction_read_only = on",
};

/* Prepares a connection. One whose lease does not hold is not ready, however good it is. */
static bool pg_set_up(struct pg_db *d, struct err *e)
{
    if (PQstatus(d->conn) == CONNECTION_OK && map_count(&d->statements) > 0 &&
        !pg_exec(d, "DEALLOCATE ALL", e))
        return false;
    pg_forget_statements(d);
    d->ready = d->open = d->piped = d->failed = false;
    d->pending = 0;
    if (PQstatus(d->conn) != CONNECTION_OK)
        return pg_fail_conn(d, e);
    if (PQserverVersion(d->conn) < 120000)
        return err_input(e, "PostgreSQL 12 or newer is needed");
    pg_set_cancel(d, PQgetCancel(d->conn));
    if (PQsetnonblocking(d->conn, 1) != 0)
        return pg_fail_conn(d, e);
    assert((size_t)d->mode < COUNT_OF(pg_settings));
    d->ready = pg_exec(d, pg_settings[d->mode], e) && pg_lease_set_up(d, e);
    return d->ready;
}

static void pg_no_notices(void *ctx, const PGresult *r)
{
    (void)ctx;
    (void)r;
}

/* For the start of a daemon: a server that starts with the machine, or recovers from a crash,
 * refuses connections for a while. */
static void pg_wait_for_server(struct pg_db *d, const char *const *keys, const char *const *values)
{
    const uint64_t end_ns = clock_deadline_ns(&clock_real, PG_START_MS);

    for (bool first = true; PQstatus(d->conn) != CONNECTION_OK; first = false) {
        if (clock_mono_ns(&clock_real) >= end_ns || PQpingParams(keys, values, 1) != PQPING_REJECT)
            break;
        if (first)
            log_warn("store: waiting for PostgreSQL, which does not accept connections yet");
        (void)usleep(PG_START_STEP_MS * 1000);
        PQreset(d->conn);
    }
}

static void pg_connect(struct pg_db *d)
{
    /* The URL comes last and may say otherwise. */
    const char *keys[] = {"application_name",
                          "connect_timeout",
                          "tcp_user_timeout",
                          "dbname",
                          "client_encoding",
                          NULL};
    const char *values[] = {"rationale", "10", "30000", d->url, "UTF8", NULL};

    assert(!d->conn);
    d->conn = PQconnectdbParams(keys, values, 1);
    if (!d->conn)
        base_die("no memory for a connection");
    if (!d->db.tables_known && d->mode != DB_READ)
        pg_wait_for_server(d, keys, values);
    PQsetNoticeReceiver(d->conn, pg_no_notices, NULL);
}

bool pg_connected(struct pg_db *d, struct err *e)
{
    if (d->ready && PQstatus(d->conn) == CONNECTION_OK)
        return true;
    if (!d->conn)
        pg_connect(d);
    else if (PQstatus(d->conn) != CONNECTION_OK)
        pg_reset(d);
    return pg_set_up(d, e);
}

void pg_interrupt(struct db *db)
{
    struct pg_db *d = pg_of(db);
    char why[256];

    pthread_mutex_lock(&d->lock);
    if (d->cancel)
        (void)PQcancel(d->cancel, why, sizeof why);
    pthread_mutex_unlock(&d->lock);
}

void pg_reset(struct pg_db *d)
{
    assert(d->conn);
    d->ready = false;
    d->db.turn.lost = true;
    pg_set_cancel(d, NULL);
    PQreset(d->conn);
}

void pg_close(struct db *db)
{
    struct pg_db *d = pg_of(db);

    pg_forget_statements(d);
    map_release(&d->statements);
    pg_set_cancel(d, NULL);
    PQfinish(d->conn);
    pthread_mutex_destroy(&d->lock);
    arena_release(&d->arena);
    arena_release(&d->sending);
    db_gather_free(d->rows);
    db_lease_release(d->lease);
    free(d->url);
    free(d);
}

static const struct db_gather_way pg_rows = {64, STR_INIT("INSERT"), '$', pg_send};

bool pg_open(str where, enum db_mode mode, struct db **out, struct err *e)
{
    struct pg_db *d;

    if (memchr(where.p, '\0', where.n))
        return err_input(e, "a URL with a NUL");
    d = base_alloc(sizeof *d);
    *d = (struct pg_db){.db = {.driver = &db_driver_postgres}, .mode = mode};
    d->url = str_copy(where);
    pthread_mutex_init(&d->lock, NULL);
    arena_init(&d->arena, PG_ARENA_MAX);
    arena_init(&d->sending, PG_ARENA_MAX);
    map_init(&d->statements, NULL, DB_STATEMENTS_MAX);
    d->rows = db_gather_new(&d->db, &pg_rows);
    d->lease = db_lease_find(where);
    /* A daemon with a lease has migrated the tables. Most of its connections are for one
     * application or one kind of question, and a server allows a limited number: they wait for
     * their first use. */
    d->db.tables_known = d->lease && mode != DB_WRITE;
    if (mode != DB_BESIDE) {
        db_lease_release(d->lease);
        d->lease = NULL;
    }
    if (pg_check_url(d->url, e) && (d->db.tables_known || pg_connected(d, e))) {
        *out = &d->db;
        return true;
    }
    pg_close(&d->db);
    return false;
}
