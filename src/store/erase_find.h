/* erase_find.h - finds the rows that an erasure of a subject deletes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/db.h"

/* Passes the ids of the sessions that a subject has a part in, or that name it, and of runs of the
 * optimiser that name it. An id may repeat. */
bool erase_find_sessions(struct db *db, struct arena *a, str subject, struct db_rows rows,
                         struct err *e) MUST_USE;
/* Passes the ids of runs of agents without a session that name the subject. */
bool erase_find_runs(struct db *db, struct arena *a, str subject, struct db_rows rows,
                     struct err *e) MUST_USE;

/* The thread of a session $1 is the one of its name and key. */
#define ERASE_THREAD_OF_SESSION                                                                    \
    " FROM threads t JOIN alert_sessions s ON s.session_id = t.thread_id"                          \
    " WHERE t.thread_id = $1 AND t.key_name = coalesce(s.key_name, '')"
/* Calls of the session $1 that run: their records are dropped when they arrive. */
#define ERASE_RUNNING_CALLS                                                                        \
    "SELECT DISTINCT call_id FROM call_pieces WHERE session_id = $1 AND NOT EXISTS"                \
    " (SELECT 1 FROM llm_interactions WHERE interaction_id = call_id)"
