/* export_sqlite.h - the record as plain tables in a new SQLite file, for people who query by SQL.
 *
 *     struct export_sqlite_to to = {.path = "week.db"};          an empty file, or none
 *     if (!export_sqlite_write(reader, &asker, &filter, &to, e)) ...          it is of no use then
 *
 * The file has alert_sessions, llm_interactions with all texts of each call, reasoning_segments,
 * decisions, decision_tools, mcp_communications and usage_hours, for the sessions that the filter
 * lets through; docs/history.md lists the columns. Keys, audit log and conversation digests of the
 * store are left out. Everything is read in one view of the store, a page at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/query.h"

struct export_sqlite_to {
    const char *path;
    /* After each page of calls, or NULL. */
    void (*on_page)(void *ctx, const struct export_sqlite_to *to);
    void *ctx;
    uint64_t sessions, calls; /* how many were written so far */
};

/* ERR_NOT_FOUND: there is no session of filter->session_id. */
bool export_sqlite_write(struct reader *r, const struct query_asker *a,
                         const struct query_filter *f, struct export_sqlite_to *to,
                         struct err *e) MUST_USE;
