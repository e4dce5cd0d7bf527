/* db_postgres.c - the PostgreSQL implementation of db.h.
 *
 * In a transaction statements are sent without waiting for their answers (pipeline mode); the first
 * error is kept and reported by the next call, at the latest by the commit. The connection does not
 * block while it sends, so that both sides can always get rid of what they have to say.
 *
 * The next begin (or query, outside of a transaction) opens a lost connection again. The writes of
 * a daemon prove its lease (db_postgres_lease.c), a single one in a transaction of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/db_postgres.h"

#include <errno.h>
#include <poll.h>

#define COLUMNS_MAX 128
#define PENDING_MAX 512u
#define NUMBER_SIZE 32
#define PG_ARGS_MAX 65535u /* of the protocol */

enum oid {
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_TEXT = 25,
    OID_FLOAT4 = 700,
    OID_FLOAT8 = 701,
    OID_NUMERIC = 1700
};

/* ---- answers ---- */

/* All that was sent is on its way; what comes meanwhile is taken in. */
static bool db_postgres_flush(struct pg_db *d, struct err *e)
{
    int got;

    while ((got = PQflush(d->conn)) == 1) {
        struct pollfd p = {PQsocket(d->conn), POLLIN | POLLOUT, 0};

        if (poll(&p, 1, -1) < 0 && errno != EINTR)
            return err_sys(e, "wait for PostgreSQL");
        if ((p.revents & POLLIN) && !PQconsumeInput(d->conn))
            return pg_fail_conn(d, e);
    }
    return got == 0 || pg_fail_conn(d, e);
}

static struct db_value db_postgres_number(const char *text)
{
    char *end;
    long long n;

    errno = 0;
    n = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0 ? db_int(n) : db_real(strtod(text, NULL));
}

static unsigned pg_hex_value(char c)
{
    return c >= 'a' ? (unsigned)(c - 'a' + 10) : (unsigned)(c - '0');
}

static struct db_value pg_bytes_read(struct arena *a, const char *text, size_t n)
{
    size_t size = n > 2 ? (n - 2) / 2 : 0;
    char *out = arena_alloc(a, size);

    for (size_t i = 0; i < size; i++)
        out[i] = (char)(pg_hex_value(text[2 + 2 * i]) << 4 | pg_hex_value(text[3 + 2 * i]));
    return db_blob((str){size ? out : "", size});
}

static struct db_value db_postgres_column(struct arena *a, const PGresult *r, int row, int at)
{
    const char *text = PQgetvalue(r, row, at);

    if (PQgetisnull(r, row, at))
        return db_null();
    switch ((unsigned)PQftype(r, at)) {
    case OID_BOOL:
        return db_int(text[0] == 't');
    case OID_INT2:
    case OID_INT4:
    case OID_INT8:
    case OID_NUMERIC:
        return db_postgres_number(text);
    case OID_FLOAT4:
    case OID_FLOAT8:
        return db_real(strtod(text, NULL));
    case OID_BYTEA:
        return pg_bytes_read(a, text, (size_t)PQgetlength(r, row, at));
    default:
        return db_text((str){text, (size_t)PQgetlength(r, row, at)});
    }
}

/* False once on_row has had enough. */
static bool pg_give_rows(struct pg_db *d, const PGresult *r, struct db_rows rows)
{
    struct db_value columns[COLUMNS_MAX];
    int count = PQnfields(r);

    assert(count <= COLUMNS_MAX);
    for (int row = 0; row < PQntuples(r); row++) {
        arena_reset(&d->arena);
        d->given++;
        for (int i = 0; i < count; i++)
            columns[i] = db_postgres_column(&d->arena, r, row, i);
        if (!rows.on_row(rows.ctx, columns, (size_t)count))
            return false;
    }
    return true;
}

/* The first error of a transaction counts; later ones are its consequences. */
static void db_postgres_note(struct pg_db *d, const PGresult *r)
{
    if (!d->failed)
        pg_fail_result(d, r, &d->why);
    d->failed = true;
}

/* One answer of the pipeline. The rows of the last one, if it is a query, go to rows. */
static bool db_postgres_read_answer(struct pg_db *d, const struct db_rows *rows, struct err *e)
{
    PGresult *r = PQgetResult(d->conn);
    ExecStatusType got = PQresultStatus(r);

    assert(d->piped && d->pending > 0);
    if (!r || PQstatus(d->conn) != CONNECTION_OK) {
        PQclear(r);
        return pg_fail_conn(d, e);
    }
    if (got == PGRES_TUPLES_OK && rows)
        (void)pg_give_rows(d, r, *rows);
    else if (got == PGRES_COMMAND_OK)
        d->changed = strtoll(PQcmdTuples(r), NULL, 10);
    else if (got != PGRES_TUPLES_OK)
        db_postgres_note(d, r);
    PQclear(r);
    while ((r = PQgetResult(d->conn)))
        PQclear(r);
    d->pending--;
    return true;
}

/* All answers are read, and the pipeline is in step again. */
static bool db_postgres_drain(struct pg_db *d, const struct db_rows *rows, struct err *e)
{
    PGresult *r;

    if (!d->piped)
        return true;
    if (d->pending > 0) {
        bool ok = PQpipelineSync(d->conn) == 1 ? db_postgres_flush(d, e) : pg_fail_conn(d, e);

        while (ok && d->pending > 0)
            ok = db_postgres_read_answer(d, d->pending == 1 ? rows : NULL, e);
        if (!ok)
            return false;
        r = PQgetResult(d->conn);
        ok = PQresultStatus(r) == PGRES_PIPELINE_SYNC || pg_fail_conn(d, e);
        PQclear(r);
        if (!ok)
            return false;
    }
    if (d->failed)
        *e = d->why;
    return !d->failed;
}

static bool db_postgres_enter(struct pg_db *d, struct err *e)
{
    if (!d->piped && !PQenterPipelineMode(d->conn))
        return pg_fail_conn(d, e);
    d->piped = true;
    return true;
}

static bool db_postgres_leave(struct pg_db *d, struct err *e)
{
    bool ok = db_postgres_drain(d, NULL, e);

    if (d->piped && PQstatus(d->conn) == CONNECTION_OK && d->pending == 0) {
        if (!PQexitPipelineMode(d->conn))
            return ok ? pg_fail_conn(d, e) : false;
        d->piped = false;
    }
    return ok;
}

/* ---- statements ---- */

struct args {
    int n;
    Oid *types;
    const char **values;
    int *sizes, *formats;
    char (*numbers)[NUMBER_SIZE];
};

static void pg_set_arg(struct args *a, size_t i, const struct db_value *v)
{
    a->values[i] = NULL;
    a->types[i] = 0;
    a->sizes[i] = a->formats[i] = 0;
    switch (v->type) {
    case DB_NULL:
        break;
    case DB_INT:
        (void)snprintf(a->numbers[i], NUMBER_SIZE, "%lld", (long long)v->i);
        a->values[i] = a->numbers[i];
        a->types[i] = OID_INT8;
        break;
    case DB_REAL:
        (void)snprintf(a->numbers[i], NUMBER_SIZE, "%.17g", v->d);
        a->values[i] = a->numbers[i];
        a->types[i] = OID_FLOAT8;
        break;
    case DB_TEXT:
        /* As bytes with their length: nothing is copied, and a NUL is an error, not an end. */
        a->values[i] = v->s.n ? v->s.p : "";
        a->sizes[i] = (int)v->s.n;
        a->formats[i] = 1;
        a->types[i] = OID_TEXT;
        break;
    case DB_BLOB:
        a->values[i] = v->s.n ? v->s.p : "";
        a->sizes[i] = (int)v->s.n;
        a->formats[i] = 1;
        a->types[i] = OID_BYTEA;
        break;
    }
}

static bool pg_set_args(struct pg_db *d, struct args *a, const struct db_value *args, size_t n,
                        struct err *e)
{
    struct arena *to = &d->sending;

    if (n > PG_ARGS_MAX)
        return err_set(e, ERR_LIMIT, "a statement with %zu parameters", n);
    arena_reset(to);
    *a = (struct args){(int)n,
                       arena_alloc(to, n * sizeof *a->types),
                       arena_alloc(to, n * sizeof *a->values),
                       arena_alloc(to, n * sizeof *a->sizes),
                       arena_alloc(to, n * sizeof *a->formats),
                       arena_alloc(to, n * sizeof *a->numbers)};
    for (size_t i = 0; i < n; i++) {
        if (args[i].s.n > (size_t)1 << 30)
            return err_input(e, "a value of %zu bytes", args[i].s.n);
        pg_set_arg(a, i, &args[i]);
    }
    return true;
}

static bool pg_count_sent(struct pg_db *d, int ok, struct err *e)
{
    if (!ok)
        return pg_fail_conn(d, e);
    d->pending++;
    return true;
}

static bool pg_drop_oldest(struct pg_db *d, struct err *e)
{
    struct pg_statement *oldest = NULL;
    char sql[64];
    bool ok;

    for (struct map_entry *i = map_next(&d->statements, NULL); i; i = map_next(&d->statements, i)) {
        struct pg_statement *s = i->value.ptr;

        if (!oldest || s->used < oldest->used)
            oldest = s;
    }
    assert(oldest);
    (void)snprintf(sql, sizeof sql, "DEALLOCATE %s", oldest->name);
    ok = d->piped
             ? pg_count_sent(d, PQsendQueryParams(d->conn, sql, 0, NULL, NULL, NULL, NULL, 0), e)
             : pg_exec(d, sql, e);
    map_remove(&d->statements, str_c(oldest->sql));
    free(oldest->sql);
    free(oldest);
    return ok;
}

static bool pg_prepare_now(struct pg_db *d, const struct pg_statement *s, const char *sql,
                           const struct args *a, struct err *e)
{
    PGresult *r = PQprepare(d->conn, s->name, sql, a->n, a->types);
    bool ok = PQresultStatus(r) == PGRES_COMMAND_OK || pg_fail_result(d, r, e);

    if (!ok)
        e->code = e->code == ERR_CANCELLED ? ERR_CANCELLED : ERR_SYSTEM;
    PQclear(r);
    return ok;
}

static bool db_postgres_prepare(struct pg_db *d, const char *sql, const struct args *a,
                                struct pg_statement **out, struct err *e)
{
    struct map_entry *found = map_find(&d->statements, str_c(sql));
    struct pg_statement *s = found ? found->value.ptr : NULL;

    if (!s) {
        if (map_count(&d->statements) >= DB_STATEMENTS_MAX && !pg_drop_oldest(d, e))
            return false;
        s = base_alloc(sizeof *s);
        *s = (struct pg_statement){0};
        (void)snprintf(s->name, sizeof s->name, "s%llu", (unsigned long long)++d->names);
        if (!(d->piped ? pg_count_sent(d, PQsendPrepare(d->conn, s->name, sql, a->n, a->types), e)
                       : pg_prepare_now(d, s, sql, a, e))) {
            free(s);
            return false;
        }
        s->sql = base_alloc(strlen(sql) + 1);
        memcpy(s->sql, sql, strlen(sql) + 1);
        if (!map_set(&d->statements, str_c(s->sql), MAP_PTR(s), e))
            base_die("the map of statements is full");
    }
    s->used = ++d->uses;
    *out = s;
    return true;
}

bool pg_send(struct db *db, const char *sql, const struct db_value *args, size_t n, struct err *e)
{
    struct pg_db *d = pg_of(db);
    struct pg_statement *s;
    struct args a = {0};

    return pg_set_args(d, &a, args, n, e) && db_postgres_prepare(d, sql, &a, &s, e) &&
           pg_count_sent(
               d, PQsendQueryPrepared(d->conn, s->name, a.n, a.values, a.sizes, a.formats, 0), e) &&
           db_postgres_flush(d, e);
}

/* In a transaction that has failed nothing more is sent. */
static bool pg_make_ready(struct pg_db *d, struct err *e)
{
    assert(d->open || !d->failed); /* only a transaction fails for good */
    if (!d->open)
        return pg_connected(d, e);
    if (d->failed) {
        *e = d->why;
        return false;
    }
    return db_postgres_enter(d, e);
}

/* ---- outside of transactions: one at a time ---- */

/* Row by row, so that a long answer needs no memory. When the caller wants no more rows, the query
 * is cancelled. That takes another connection to the server, so a query that has ended is not. */
static bool pg_read_alone(struct pg_db *d, const struct db_rows *rows, struct err *e)
{
    bool ok = true, more = true, cancelled = false;
    PGresult *r;

    assert(!d->piped && !d->open);
    if (rows)
        (void)PQsetSingleRowMode(d->conn);
    while ((r = PQgetResult(d->conn))) {
        ExecStatusType got = PQresultStatus(r);
        char why[256];

        if (got == PGRES_COMMAND_OK)
            d->changed = strtoll(PQcmdTuples(r), NULL, 10);
        else if (got == PGRES_SINGLE_TUPLE || got == PGRES_TUPLES_OK)
            more = more && (!rows || pg_give_rows(d, r, *rows));
        else if (ok && more)
            ok = pg_fail_result(d, r, e);
        PQclear(r);
        if (!more && !cancelled && d->cancel && PQconsumeInput(d->conn) && PQisBusy(d->conn))
            cancelled = PQcancel(d->cancel, why, sizeof why);
    }
    d->pending = 0;
    return ok;
}

static bool pg_run_alone(struct pg_db *d, const char *sql, const struct db_value *args, size_t n,
                         const struct db_rows *rows, struct err *e)
{
    d->given = 0;
    return pg_send(&d->db, sql, args, n, e) && pg_read_alone(d, rows, e);
}

static bool db_postgres_run_leased(struct db *db, const char *sql, const struct db_value *args,
                                   size_t n, struct err *e);

static bool db_postgres_run(struct db *db, const char *sql, const struct db_value *args, size_t n,
                            struct err *e)
{
    struct pg_db *d = pg_of(db);

    if (d->lease && !d->open)
        return db_postgres_run_leased(db, sql, args, n, e);
    if (!pg_make_ready(d, e))
        return false;
    if (!d->open)
        return pg_run_alone(d, sql, args, n, NULL, e);
    return db_gather_send(d->rows, e) && pg_send(&d->db, sql, args, n, e) &&
           (d->pending < PENDING_MAX || db_postgres_drain(d, NULL, e));
}

static bool pg_put(struct db *db, const char *sql, const struct db_value *args, size_t n,
                   struct err *e)
{
    struct pg_db *d = pg_of(db);

    if (!d->open || !pg_make_ready(d, e))
        return db_postgres_run(db, sql, args, n, e);
    return db_gather_put(d->rows, sql, args, n, e) &&
           (d->pending < PENDING_MAX || db_postgres_drain(d, NULL, e));
}

static bool db_postgres_changed(struct db *db, int64_t *out, struct err *e)
{
    struct pg_db *d = pg_of(db);

    if (!db_postgres_drain(d, NULL, e))
        return false;
    *out = d->changed;
    return true;
}

static bool db_postgres_query(struct db *db, const char *sql, const struct db_value *args, size_t n,
                              struct db_rows rows, struct err *e)
{
    struct pg_db *d = pg_of(db);

    if (!pg_make_ready(d, e))
        return false;
    if (d->open)
        return db_gather_send(d->rows, e) && pg_send(&d->db, sql, args, n, e) &&
               db_postgres_drain(d, &rows, e);
    if (pg_run_alone(d, sql, args, n, &rows, e))
        return true;
    /* A server that went and came back in the meantime is asked again. */
    return PQstatus(d->conn) != CONNECTION_OK && d->given == 0 && pg_connected(d, e) &&
           pg_run_alone(d, sql, args, n, &rows, e);
}

static bool db_postgres_script(struct db *db, const char *sql, struct err *e)
{
    struct pg_db *d = pg_of(db);

    if (!pg_make_ready(d, e) || !db_gather_send(d->rows, e) || !db_postgres_leave(d, e))
        return false;
    if (pg_exec(d, sql, e))
        return true;
    if (d->open) {
        d->failed = true;
        d->why = *e;
    }
    return false;
}

/* ---- transactions ---- */

static bool pg_begin_once(struct pg_db *d, const char *sql, struct err *e)
{
    return pg_connected(d, e) &&
           (d->lease && d->mode != DB_READ ? pg_lease_begin(d, sql, e) : pg_exec(d, sql, e));
}

static void db_postgres_rollback(struct db *db);

static bool db_postgres_begin(struct db *db, bool durable, struct err *e)
{
    struct pg_db *d = pg_of(db);
    const char *sql = d->mode == DB_READ ? "BEGIN ISOLATION LEVEL REPEATABLE READ"
                      : durable          ? "BEGIN; SET LOCAL synchronous_commit = on"
                                         : "BEGIN; SET LOCAL synchronous_commit = off";

    assert(!d->open);
    /* A server that restarted since the last use costs a second try. */
    if (!pg_begin_once(d, sql, e) &&
        (PQstatus(d->conn) == CONNECTION_OK || !pg_begin_once(d, sql, e)))
        return false;
    d->open = true;
    d->failed = false;
    if (!d->claims)
        return true;
    d->claims = false;
    if (pg_lease_claim_turn(d, e))
        return true;
    db_postgres_rollback(db);
    return false;
}

static bool db_postgres_commit(struct db *db, struct err *e)
{
    struct pg_db *d = pg_of(db);
    PGresult *r;
    bool ok;

    assert(d->open);
    if (!pg_make_ready(d, e) || !db_gather_send(d->rows, e) || !db_postgres_leave(d, e))
        return false;
    r = PQexec(d->conn, "COMMIT");
    ok = PQresultStatus(r) == PGRES_COMMAND_OK || pg_fail_result(d, r, e);
    if (ok && strcmp(PQcmdStatus(r), "COMMIT") != 0)
        ok = err_set(e, ERR_SYSTEM, "PostgreSQL: the transaction was rolled back");
    PQclear(r);
    d->open = !ok;
    return ok;
}

/* Statements prepared after a failure do not exist. */
static void db_postgres_rollback(struct db *db)
{
    struct pg_db *d = pg_of(db);
    struct err e;

    if (!d->open)
        return;
    db_gather_drop(d->rows);
    (void)db_postgres_leave(d, &e);
    d->open = false;
    if (!d->piped)
        (void)pg_exec(d, "ROLLBACK", &e);
    if (d->failed || d->piped) {
        if (!d->piped)
            (void)pg_exec(d, "DEALLOCATE ALL", &e);
        pg_forget_statements(d);
    }
    d->failed = false;
    if (d->piped) { /* it is lost, or out of step */
        d->piped = false;
        pg_reset(d);
    }
    assert(!d->open && !d->failed && !d->piped);
}

static bool db_postgres_run_leased(struct db *db, const char *sql, const struct db_value *args,
                                   size_t n, struct err *e)
{
    if (db_postgres_begin(db, true, e)) {
        if (db_postgres_run(db, sql, args, n, e) && db_postgres_commit(db, e))
            return true;
        db_postgres_rollback(db);
    }
    return false;
}

/* VACUUM frees the space of dead rows for new ones, but may leave their bytes on the disk. */
static bool db_postgres_scrub(struct db *db, bool *done, struct err *e)
{
    struct pg_db *d = pg_of(db);

    *done = pg_make_ready(d, e) &&
            pg_exec(d,
                    "VACUUM alert_sessions, llm_interactions, mcp_communications, call_blocks,"
                    " call_texts, call_tools, word_pages, call_pieces, agent_runs, agent_effects,"
                    " threads, thread_checkpoints, thread_values, thread_writes, alerts,"
                    " incident_alerts, notifications, policy_results, policy_shadow, policy_cases,"
                    " policy_reviews, policy_reverified, policy_proposals, optimize_runs,"
                    " optimize_lines, prompts",
                    e);
    return *done;
}

#define OURS                                                                                       \
    "SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = current_schema() AND tablename"

const struct db_driver db_driver_postgres = {
    .kind = DB_POSTGRES,
    .schemes = {"postgres", "postgresql"},
    .steps = schema_postgres_steps,
    .step_count = &schema_postgres_step_count,
    .has_versions_sql = OURS " = 'store_version'",
    .alone_sql = "SELECT pg_advisory_xact_lock(8029459031472632422)",
    .has_others_sql = OURS " IN ('alert_sessions', 'llm_interactions', 'mcp_communications')",
    .open = pg_open,
    .close = pg_close,
    .script = db_postgres_script,
    .run = db_postgres_run,
    .put = pg_put,
    .changed = db_postgres_changed,
    .query = db_postgres_query,
    .begin = db_postgres_begin,
    .commit = db_postgres_commit,
    .rollback = db_postgres_rollback,
    .interrupt = pg_interrupt,
    .scrub = db_postgres_scrub,
    .size_sql = "SELECT coalesce(sum(600 * calls + pg_column_size(texts)), 0)::bigint"
                " + (SELECT coalesce(sum(600 + pg_column_size(texts)), 0)::bigint FROM call_texts)"
                " + (SELECT coalesce(sum(200 + pg_column_size(value)), 0)::bigint"
                " FROM thread_values)"
                " + (SELECT coalesce(sum(200 + coalesce(pg_column_size(request), 0) +"
                " coalesce(pg_column_size(result), 0)), 0)::bigint FROM agent_effects)"
                " FROM call_blocks",
};
