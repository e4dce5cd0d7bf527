/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres_help.h"

#include "test.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void postgres_url(const char *database, char *out, size_t size)
{
    const char *url = getenv("RATIONALE_TEST_POSTGRES"), *mark = strstr(url, "%s");

    CHECK(mark);
    snprintf(out, size, "%.*s%s%s", (int)(mark - url), url, database, mark + 2);
}

/* Each process and thread keeps one connection per database. A test may poll many times a second,
 * and PostgreSQL starts a process for each new connection. */
struct kept {
    char database[32];
    PGconn *conn;
    pid_t owner;
};

static _Thread_local struct kept kept[2]; /* for the database "postgres", and for the place's */

static PGconn *postgres_connect(const char *database)
{
    struct kept *k = &kept[strcmp(database, "postgres") != 0];
    char url[300];

    if (k->conn && k->owner == getpid() && strcmp(k->database, database) == 0 &&
        PQstatus(k->conn) == CONNECTION_OK)
        return k->conn;
    if (k->conn && k->owner == getpid())
        PQfinish(k->conn);
    snprintf(k->database, sizeof k->database, "%s", database);
    postgres_url(database, url, sizeof url);
    k->owner = getpid();
    k->conn = PQconnectdb(url);
    CHECK_F(PQstatus(k->conn) == CONNECTION_OK, "%s", PQerrorMessage(k->conn));
    return k->conn;
}

void postgres_disconnect(void)
{
    struct kept *k = &kept[1];

    if (k->conn && k->owner == getpid())
        PQfinish(k->conn);
    k->conn = NULL;
}

static bool postgres_says(const PGresult *r, const char *code)
{
    const char *said = PQresultErrorField(r, PG_DIAG_SQLSTATE);

    return said && strcmp(said, code) == 0;
}

/* Runs a statement. Reconnects if the server closed the connection, and retries if a table was
 * dropped while the statement iterated over all tables. */
static PGresult *postgres_run(const char *database, const char *sql)
{
    PGconn *c = postgres_connect(database);
    PGresult *r = PQexec(c, sql);

    for (int i = 0; i < 3 && (PQstatus(c) != CONNECTION_OK || postgres_says(r, "42P01")); i++) {
        PQclear(r);
        c = postgres_connect(database);
        r = PQexec(c, sql);
    }
    CHECK_F(PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK,
            "%s",
            PQerrorMessage(c));
    return r;
}

void postgres_do(const char *database, const char *sql)
{
    PQclear(postgres_run(database, sql));
}

long long postgres_ask(const char *database, const char *sql)
{
    PGresult *r = postgres_run(database, sql);
    long long out = PQntuples(r) > 0 ? 0 : -1;

    CHECK_INT(PQnfields(r), 1);
    if (PQntuples(r) > 0 && !PQgetisnull(r, 0, 0)) {
        char *text = PQgetvalue(r, 0, 0), *end;

        out = strtoll(text, &end, 10);
        CHECK_F(end > text && (*end == '\0' || *end == '.'), "not a number: %s", text);
    }
    PQclear(r);
    return out;
}

/* From version 15 on, the default strategy writes each page of a copy to the WAL, which takes twice
 * the time. */
void postgres_create(const char *database, const char *copy_of)
{
    static int version;
    char sql[200];

    if (version == 0)
        version = (int)postgres_ask("postgres", "SELECT current_setting('server_version_num')");
    snprintf(sql,
             sizeof sql,
             "CREATE DATABASE \"%s\" TEMPLATE \"%s\"%s",
             database,
             copy_of ? copy_of : "template1",
             version >= 150000 ? " STRATEGY FILE_COPY" : "");
    postgres_do("postgres", sql);
}

void postgres_drop(const char *database)
{
    char sql[100];

    snprintf(sql, sizeof sql, "DROP DATABASE \"%s\" WITH (FORCE)", database);
    postgres_do("postgres", sql);
}
