/* libpq.c - PostgreSQL's client library, loaded when a store first needs it.
 *
 * libpq brings two dozen libraries with it (TLS, Kerberos, LDAP): a third of the memory of an idle
 * daemon, and of the time that it takes to start. Most daemons keep their record elsewhere. So the
 * program is linked without libpq, and these functions, which have its names and types, call it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base.h"

#include <dlfcn.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

static void *libpq_handle;
static pthread_once_t libpq_once = PTHREAD_ONCE_INIT;

static void libpq_load(void)
{
    libpq_handle = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!libpq_handle)
        base_die("a PostgreSQL store needs libpq, which cannot be loaded: %s; install it (Debian: "
                 "apt install libpq5)",
                 dlerror());
}

static void *libpq_find(const char *name)
{
    void *found;

    (void)pthread_once(&libpq_once, libpq_load);
    found = dlsym(libpq_handle, name);
    if (!found)
        base_die("libpq is too old for a PostgreSQL store: it has no %s", name);
    return found;
}

typedef void libpq_fn(void);

/* The function of this name, looked up once. */
static libpq_fn *libpq_get(_Atomic(void *) *kept, const char *name)
{
    void *found = atomic_load_explicit(kept, memory_order_acquire);
    libpq_fn *fn;

    if (!found) {
        found = libpq_find(name);
        atomic_store_explicit(kept, found, memory_order_release);
    }
    memcpy(&fn, &found, sizeof fn);
    return fn;
}

#define LIBPQ(type, name, params, args)                                                            \
    type name params                                                                               \
    {                                                                                              \
        static _Atomic(void *) kept;                                                               \
                                                                                                   \
        return ((type(*) params)libpq_get(&kept, #name))args;                                      \
    }
#define LIBPQ_VOID(name, params, args)                                                             \
    void name params                                                                               \
    {                                                                                              \
        static _Atomic(void *) kept;                                                               \
                                                                                                   \
        ((void(*) params)libpq_get(&kept, #name)) args;                                            \
    }

LIBPQ(int, PQcancel, (PGcancel * cancel, char *errbuf, int errbufsize),
      (cancel, errbuf, errbufsize))
LIBPQ_VOID(PQclear, (PGresult * res), (res))
LIBPQ(char *, PQcmdStatus, (PGresult * res), (res))
LIBPQ(char *, PQcmdTuples, (PGresult * res), (res))
LIBPQ(PGconn *, PQconnectdb, (const char *conninfo), (conninfo))
LIBPQ(PGPing, PQpingParams,
      (const char *const *keywords, const char *const *values, int expand_dbname),
      (keywords, values, expand_dbname))
LIBPQ(PGconn *, PQconnectdbParams,
      (const char *const *keywords, const char *const *values, int expand_dbname),
      (keywords, values, expand_dbname))
LIBPQ_VOID(PQconninfoFree, (PQconninfoOption * connOptions), (connOptions))
LIBPQ(PQconninfoOption *, PQconninfoParse, (const char *conninfo, char **errmsg),
      (conninfo, errmsg))
LIBPQ(int, PQconsumeInput, (PGconn * conn), (conn))
LIBPQ(int, PQenterPipelineMode, (PGconn * conn), (conn))
LIBPQ(char *, PQerrorMessage, (const PGconn *conn), (conn))
LIBPQ(char *, PQescapeLiteral, (PGconn * conn, const char *text, size_t length),
      (conn, text, length))
LIBPQ(PGresult *, PQexec, (PGconn * conn, const char *query), (conn, query))
LIBPQ(int, PQexitPipelineMode, (PGconn * conn), (conn))
LIBPQ_VOID(PQfinish, (PGconn * conn), (conn))
LIBPQ(int, PQflush, (PGconn * conn), (conn))
LIBPQ_VOID(PQfreeCancel, (PGcancel * cancel), (cancel))
LIBPQ_VOID(PQfreemem, (void *ptr), (ptr))
LIBPQ(Oid, PQftype, (const PGresult *res, int field_num), (res, field_num))
LIBPQ(PGcancel *, PQgetCancel, (PGconn * conn), (conn))
LIBPQ(int, PQgetisnull, (const PGresult *res, int tup_num, int field_num),
      (res, tup_num, field_num))
LIBPQ(int, PQgetlength, (const PGresult *res, int tup_num, int field_num),
      (res, tup_num, field_num))
LIBPQ(PGresult *, PQgetResult, (PGconn * conn), (conn))
LIBPQ(char *, PQgetvalue, (const PGresult *res, int tup_num, int field_num),
      (res, tup_num, field_num))
LIBPQ(int, PQisBusy, (PGconn * conn), (conn))
LIBPQ(int, PQnfields, (const PGresult *res), (res))
LIBPQ(PGnotify *, PQnotifies, (PGconn * conn), (conn))
LIBPQ(int, PQntuples, (const PGresult *res), (res))
LIBPQ(int, PQpipelineSync, (PGconn * conn), (conn))
LIBPQ(PGresult *, PQprepare,
      (PGconn * conn, const char *stmtName, const char *query, int nParams, const Oid *paramTypes),
      (conn, stmtName, query, nParams, paramTypes))
LIBPQ_VOID(PQreset, (PGconn * conn), (conn))
LIBPQ(char *, PQresultErrorField, (const PGresult *res, int fieldcode), (res, fieldcode))
LIBPQ(ExecStatusType, PQresultStatus, (const PGresult *res), (res))
LIBPQ(int, PQsendPrepare,
      (PGconn * conn, const char *stmtName, const char *query, int nParams, const Oid *paramTypes),
      (conn, stmtName, query, nParams, paramTypes))
LIBPQ(int, PQsendQuery, (PGconn * conn, const char *query), (conn, query))
LIBPQ(int, PQsendQueryParams,
      (PGconn * conn, const char *command, int nParams, const Oid *paramTypes,
       const char *const *paramValues, const int *paramLengths, const int *paramFormats,
       int resultFormat),
      (conn, command, nParams, paramTypes, paramValues, paramLengths, paramFormats, resultFormat))
LIBPQ(int, PQsendQueryPrepared,
      (PGconn * conn, const char *stmtName, int nParams, const char *const *paramValues,
       const int *paramLengths, const int *paramFormats, int resultFormat),
      (conn, stmtName, nParams, paramValues, paramLengths, paramFormats, resultFormat))
LIBPQ(int, PQserverVersion, (const PGconn *conn), (conn))
LIBPQ(int, PQsetnonblocking, (PGconn * conn, int arg), (conn, arg))
LIBPQ(PQnoticeReceiver, PQsetNoticeReceiver, (PGconn * conn, PQnoticeReceiver proc, void *arg),
      (conn, proc, arg))
LIBPQ(int, PQsetSingleRowMode, (PGconn * conn), (conn))
LIBPQ(int, PQsocket, (const PGconn *conn), (conn))
LIBPQ(ConnStatusType, PQstatus, (const PGconn *conn), (conn))
