/* alert_table_share.c - the owner of an alert, if several daemons share the table.
 *
 * The runs of an alert are the alert's run and its parts, RUN/...: they go where the alert goes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/alert_table_state.h"

#define DUE_MAX 256
#define CLAIM_AFTER_US 1000000 /* alerts that wait longer than this wait for a free worker */

void alert_table_share(struct alert_table *b, str daemon)
{
    assert(!b->open && daemon.n < sizeof b->daemon); /* a cut name would be another daemon */
    (void)snprintf(b->daemon, sizeof b->daemon, STR_FMT, STR_ARG(daemon));
}

bool alert_table_lock_intake(struct alert_table *b, struct err *e)
{
    return !b->daemon[0] || db_query(b->db,
                                     "SELECT pg_advisory_xact_lock(8029459031472632426)",
                                     NULL,
                                     0,
                                     DB_ROW(db_into_found(&(bool){false})),
                                     e);
}

/* Each statement gets this daemon as $1. */
static bool alert_table_share_do(struct alert_table *b, const char *const *statements,
                                 struct err *e)
{
    bool ok, begun;

    pthread_mutex_lock(&b->lock);
    assert(!b->open);
    ok = begun = db_begin(b->db, true, e);
    for (; ok && *statements; statements++)
        ok = db_run(b->db, *statements, DB_ARGS(db_text(str_c(b->daemon))), e);
    ok = begun && db_end(b->db, ok, e);
    pthread_mutex_unlock(&b->lock);
    return ok;
}

#define RUNS_FOLLOW                                                                                \
    "UPDATE agent_runs r SET daemon_id = $1 FROM alerts a"                                         \
    " WHERE r.status IN ('running', 'waiting') AND coalesce(r.daemon_id, '') <> $1"                \
    " AND a.alert_id = split_part(r.run_id, '/', 1) AND a.daemon_id = $1 AND a.due <> ''"

bool alert_table_adopt(struct alert_table *b, bool released, struct err *e)
{
    static const char *const all[] = {"UPDATE alerts SET daemon_id = $1, due = 'resume'"
                                      " WHERE coalesce(daemon_id, '') = '' AND " BOOK_ALIVE,
                                      "UPDATE notifications SET daemon_id = $1"
                                      " WHERE coalesce(daemon_id, '') = '' AND state = 'pending'",
                                      RUNS_FOLLOW,
                                      NULL};
    static const char *const some[] = {
        "UPDATE alerts SET daemon_id = $1 WHERE daemon_id = '' AND due <> ''",
        "UPDATE notifications SET daemon_id = $1 WHERE daemon_id = '' AND state = 'pending'",
        RUNS_FOLLOW,
        NULL};

    return !b->daemon[0] || alert_table_share_do(b, released ? some : all, e);
}

bool alert_table_release(struct alert_table *b, struct err *e)
{
    static const char *const release[] = {
        "UPDATE alerts SET daemon_id = '', due = CASE WHEN due = '' THEN 'resume' ELSE due END"
        " WHERE daemon_id = $1 AND " BOOK_ALIVE,
        "UPDATE notifications SET daemon_id = '' WHERE daemon_id = $1 AND state = 'pending'",
        NULL};

    return !b->daemon[0] || alert_table_share_do(b, release, e);
}

bool alert_table_claim(struct alert_table *b, size_t max, struct err *e)
{
    bool ok;

    if (!b->daemon[0] || !max)
        return true;
    pthread_mutex_lock(&b->lock);
    ok = db_run(b->db,
                "UPDATE alerts SET daemon_id = $1, due = 'resume' WHERE alert_id IN"
                " (SELECT alert_id FROM alerts WHERE state = 'queued' AND daemon_id <> $1"
                " AND daemon_id <> '' AND due = '' AND cancelled = 0 AND created_us + $3 <"
                " extract(epoch FROM clock_timestamp())::bigint * 1000000"
                " ORDER BY created_us, alert_id LIMIT $2 FOR UPDATE SKIP LOCKED)",
                DB_ARGS(db_text(str_c(b->daemon)), db_int((int64_t)max), db_int(CLAIM_AFTER_US)),
                e);
    pthread_mutex_unlock(&b->lock);
    return ok;
}

bool alert_table_hand(struct alert_table *b, str id, const char *word, bool *mine, struct err *e)
{
    int64_t handed = 0;
    bool ok;

    *mine = true;
    if (!b->daemon[0])
        return true;
    pthread_mutex_lock(&b->lock);
    ok = db_run(b->db,
                "UPDATE alerts SET due = $3 WHERE alert_id = $1"
                " AND coalesce(daemon_id, '') NOT IN ('', $2) AND " BOOK_ALIVE,
                DB_ARGS(db_text(id), db_text(str_c(b->daemon)), db_text(str_c(word))),
                e) &&
         db_changed(b->db, &handed, e);
    pthread_mutex_unlock(&b->lock);
    *mine = handed == 0;
    return ok;
}

static bool alert_table_share_take_due(struct alert_table *b, struct alert_table_rows *l,
                                       struct err *e)
{
    if (!db_query(b->db,
                  "SELECT q.*, (SELECT due FROM alerts d WHERE d.alert_id = q.alert_id) FROM "
                  "(" BOOK_SELECT("''", "''", "''") " WHERE daemon_id = $1 AND due <> '' ORDER BY "
                                                    "created_us, alert_id LIMIT $2) q",
                  DB_ARGS(db_text(str_c(b->daemon)), db_int(DUE_MAX)),
                  (struct db_rows){alert_table_on_row, l},
                  e))
        return false;
    for (size_t i = 0; i < l->n; i++)
        if (!db_run(b->db,
                    "UPDATE alerts SET due = '' WHERE alert_id = $1 AND due = $2",
                    DB_ARGS(db_text(l->rows[i].id), db_text(l->rows[i].due)),
                    e))
            return false;
    return true;
}

bool alert_table_due(struct alert_table *b, struct arena *a, struct alert_table_row **out,
                     size_t *n, struct err *e)
{
    struct alert_table_rows l = {.arena = a, .max = DUE_MAX};
    bool ok;

    *n = 0;
    if (!b->daemon[0])
        return true;
    pthread_mutex_lock(&b->lock);
    assert(!b->open);
    ok = db_begin(b->db, false, e) && db_end(b->db, alert_table_share_take_due(b, &l, e), e);
    pthread_mutex_unlock(&b->lock);
    *out = l.rows;
    *n = ok ? l.n : 0;
    return ok;
}

bool alert_table_is_own(struct alert_table *b, str id, bool *own, struct err *e)
{
    *own = false;
    return alert_table_query(b,
                             "SELECT alert_id FROM alerts WHERE alert_id = $1 AND daemon_id = $2"
                             " AND " BOOK_ALIVE,
                             DB_ARGS(db_text(id), db_text(str_c(b->daemon))),
                             DB_ROW(db_into_found(own)),
                             e);
}

bool alert_table_find_alive(struct alert_table *b, str key, str digest, struct arena *a, str *id,
                            struct err *e)
{
    *id = STR("");
    return alert_table_query(b,
                             "SELECT alert_id FROM alerts WHERE digest = $1 AND key_name = $2"
                             " AND " BOOK_ALIVE " ORDER BY created_us LIMIT 1",
                             DB_ARGS(db_text(digest), db_text(key)),
                             DB_ROW(db_into_text(a, id)),
                             e);
}
