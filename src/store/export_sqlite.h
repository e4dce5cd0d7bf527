/* export_sqlite.h - exports the record as plain tables in a new SQLite file, for SQL queries.
 *
 *     struct export_sqlite_to to = {.path = "week.db"};          an empty file, or none
 *     if (!export_sqlite_write(reader, &asker, &filter, &to, e)) ...          it is of no use then
 *
 * The file has alert_sessions, llm_interactions with all texts of each call, reasoning_segments,
 * decisions, decision_tools, mcp_communications and usage_hours, for the sessions that match the
 * filter; docs/reference/history.md lists the columns. The keys, audit log and conversation digests
 * of the store are left out. Everything is read from one snapshot of the store, a page at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/query.h"

struct export_sqlite_to {
    const char *path;
    uint64_t sessions, calls; /* number written so far */
};

/* ERR_NOT_FOUND: no session has the id filter->session_id. */
bool export_sqlite_write(struct reader *r, const struct query_asker *a,
                         const struct query_filter *f, struct export_sqlite_to *to,
                         struct err *e) MUST_USE;
