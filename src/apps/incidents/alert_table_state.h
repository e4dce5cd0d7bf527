/* alert_table_state.h - shared by the files of the table.
 *
 *   alert_table.c          incidents
 *   alert_table_alerts.c   the alerts of each
 *   alert_table_share.c    whose they are, if several daemons share the table
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/column.h"
#include "apps/incidents/alert_table.h"

#include <pthread.h>

struct alert_table {
    struct db *db;
    pthread_mutex_t lock; /* recursive: a transaction holds it */
    bool open;            /* a transaction is */
    char daemon[64];      /* "": the table is not shared */
    bool (*on_put)(void *ctx, struct db *db, const struct alert_table_row *row, struct err *e);
    void *ctx;
};

/* In the caller's transaction. */
bool alert_table_alert_put(struct db *db, const struct alert_table_alert *alert,
                           struct err *e) MUST_USE;
/* One incident at a time is accepted, by whichever daemon. In a transaction. */
bool alert_table_lock_intake(struct alert_table *b, struct err *e) MUST_USE;
/* Under the lock. */
bool alert_table_query(struct alert_table *b, const char *sql, const struct db_value *args,
                       size_t n, struct db_rows rows, struct err *e) MUST_USE;
/* The statement of alert_table_list, with an index for what few incidents fit. */
const char *alert_table_list_sql(const struct alert_table_filter *f);
#define BOOK_ALIVE "state IN ('queued', 'processing', 'waiting')"
/* alert_table.c: rows of BOOK_SELECT; the table is locked. */
struct alert_table_rows {
    struct arena *arena;
    struct alert_table_row *rows;
    size_t n, cap, max;
};
bool alert_table_on_row(void *ctx, const struct db_value *columns, size_t n);
#define BOOK_OF_INCIDENT " FROM incident_alerts m WHERE m.incident_id = alerts.alert_id"
#define BOOK_SELECT(data, stages, report)                                                          \
    "SELECT alert_id, session_id, digest, key_name, state, alert_type, severity, environment,"     \
    " runbook, " data ", agent, current_step, current_agent, " stages ", error, reason, " report   \
    ", timestamp_us, progress, created_us, started_us, completed_us, updated_us, cancelled"        \
    ", (SELECT COUNT(*)" BOOK_OF_INCIDENT "), (SELECT COUNT(*)" BOOK_OF_INCIDENT                   \
    " AND m.ended_us IS NULL)"                                                                     \
    ", (SELECT CAST(COALESCE(SUM(m.seen), 0) AS BIGINT)" BOOK_OF_INCIDENT                          \
    "), (SELECT MAX(m.ended_us)" BOOK_OF_INCIDENT ") FROM alerts"
