/* log_share.c - the log of several daemons: the owner of a run, and requests to its daemon.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/column.h"
#include "agent/log_state.h"
#include "store/bus.h"

void agent_log_share(struct agent_log *l, str daemon, struct bus *bus)
{
    if (!daemon.n)
        return;
    assert(daemon.n < sizeof l->daemon && !l->daemon[0]); /* not truncated */
    (void)snprintf(l->daemon, sizeof l->daemon, STR_FMT, STR_ARG(daemon));
    l->bus = bus;
}

bool agent_log_is_shared(const struct agent_log *l)
{
    return l->daemon[0] != '\0';
}

/* A takeover changes the owner of the rows and the fence in one transaction. This transaction has
 * compared the fence, so the answer holds until the commit. Parts that have ended keep their old
 * owner; the daemon that resumes the whole run opens them again, so they belong to it, too. */
bool log_check_owner(struct agent_log *l, struct db *db, str run, struct err *e)
{
    bool others = false;

    if (!l->daemon[0])
        return true;
    if (!db_query(db,
                  "SELECT 1 FROM agent_runs WHERE run_id = $1"
                  " AND coalesce(daemon_id, '') NOT IN ('', $2) AND NOT EXISTS"
                  " (SELECT 1 FROM agent_runs r WHERE r.run_id = split_part($1, '/', 1)"
                  " AND r.daemon_id = $2 AND r.status IN ('running', 'waiting'))",
                  DB_ARGS(db_text(run), db_text(str_c(l->daemon))),
                  DB_ROW(db_into_found(&others)),
                  e))
        return false;
    return !others ||
           err_set(e,
                   ERR_CONFLICT,
                   "the run \"" STR_FMT "\" was taken over by another daemon, which continues it",
                   STR_ARG(str_slice(run, 0, 80)));
}

/* ---- requests to the daemon of a run ---- */

/* All rows of a run get the same owner: while one daemon adopts them, the others wait. */
#define SHARE_ALONE "SELECT pg_advisory_xact_lock(8029459031472632425)"

struct log_share_adoption {
    struct agent_log *log;
    bool released;
};

static bool log_share_adopt(void *ctx, struct db *db, struct err *e)
{
    struct log_share_adoption *s = ctx;

    return db_query(db, SHARE_ALONE, DB_NO_ARGS, DB_ROW(db_into_found(&(bool){false})), e) &&
           db_run(db,
                  "UPDATE agent_runs SET daemon_id = $1 WHERE coalesce(daemon_id, '') = ''"
                  " AND status IN ('running', 'waiting') AND ($2 = 0 OR due <> '') AND NOT EXISTS"
                  " (SELECT 1 FROM alerts a WHERE a.alert_id = split_part(run_id, '/', 1))",
                  (struct db_value[]){db_text(str_c(s->log->daemon)), db_int(s->released)},
                  2,
                  e);
}

bool agent_log_adopt(struct agent_log *l, bool released, struct err *e)
{
    struct log_share_adoption s = {l, released};

    return !l->daemon[0] || log_run(l, log_share_adopt, &s, e);
}

static bool log_share_release(void *ctx, struct db *db, struct err *e)
{
    struct agent_log *l = ctx;

    return db_query(db, SHARE_ALONE, DB_NO_ARGS, DB_ROW(db_into_found(&(bool){false})), e) &&
           db_run(db,
                  "UPDATE agent_runs SET daemon_id = '', due ="
                  " CASE WHEN due = '' THEN 'resume' ELSE due END"
                  " WHERE daemon_id = $1 AND status IN ('running', 'waiting')",
                  (struct db_value[]){db_text(str_c(l->daemon))},
                  1,
                  e);
}

bool agent_log_release(struct agent_log *l, struct err *e)
{
    if (!l->daemon[0])
        return true;
    if (!log_run(l, log_share_release, l, e))
        return false;
    bus_send(l->bus, STR(AGENT_DUE_TOPIC), STR(""));
    return true;
}

struct log_share_word {
    struct agent_log *log;
    str run, word;
    int64_t handed;
};

/* A later resume does not replace a cancel. */
static bool log_share_hand(void *ctx, struct db *db, struct err *e)
{
    struct log_share_word *w = ctx;

    return db_run(db,
                  "UPDATE agent_runs SET due = CASE WHEN due = 'cancel' THEN due ELSE $3 END"
                  " WHERE run_id = $1 AND coalesce(daemon_id, '') NOT IN ('', $2)",
                  DB_ARGS(db_text(w->run), db_text(str_c(w->log->daemon)), db_text(w->word)),
                  e) &&
           db_changed(db, &w->handed, e);
}

bool agent_log_hand(struct agent_log *l, str run, const char *word, bool *mine, struct err *e)
{
    struct log_share_word w = {l, run, str_c(word), 0};

    *mine = true;
    if (!l->daemon[0])
        return true;
    if (!log_run(l, log_share_hand, &w, e))
        return false;
    assert(w.handed == 0 || w.handed == 1); /* a run has one row */
    *mine = w.handed == 0;
    if (w.handed)
        bus_send(l->bus, STR(AGENT_DUE_TOPIC), STR(""));
    return true;
}

bool agent_log_elsewhere(const struct agent_log *l, const struct agent_row *row)
{
    return l->daemon[0] && row->daemon.n && !str_eq(row->daemon, str_c(l->daemon));
}

bool agent_log_thread_busy(struct agent_log *l, str key, str thread, bool *busy, struct err *e)
{
    *busy = false;
    return !l->daemon[0] ||
           log_ask(l,
                   "SELECT 1 FROM agent_runs WHERE status = 'running' AND app = 'agents'"
                   " AND daemon_id <> $1 AND coalesce(key_name, '') = $2"
                   " AND position($3 IN input) > 0 LIMIT 1",
                   DB_ARGS(db_text(str_c(l->daemon)), db_text(key), db_text(thread)),
                   DB_ROW(db_into_found(busy)),
                   e);
}

struct log_share_due {
    struct agent_log *log;
    struct agent_log_list list;
};

static bool log_share_take_due(void *ctx, struct db *db, struct err *e)
{
    struct log_share_due *d = ctx;

    d->list.n = 0;
    if (!db_query(db,
                  "SELECT run_id, app, session_id, status, reason, input, result, created_us,"
                  " updated_us, key_name, daemon_id, due FROM agent_runs"
                  " WHERE daemon_id = $1 AND due <> '' ORDER BY created_us, run_id LIMIT $2"
                  " FOR UPDATE",
                  DB_ARGS(db_text(str_c(d->log->daemon)), db_int(AGENT_DUE_MAX)),
                  (struct db_rows){log_on_row, &d->list},
                  e) ||
        !log_rows_fit(&d->list, e))
        return false;
    for (size_t i = 0; i < d->list.n; i++)
        if (!db_run(db,
                    "UPDATE agent_runs SET due = '' WHERE run_id = $1",
                    (struct db_value[]){db_text(d->list.u.rows[i].id)},
                    1,
                    e))
            return false;
    return true;
}

bool agent_log_due(struct agent_log *l, struct arena *a, struct agent_row **out, size_t *n,
                   struct err *e)
{
    struct log_share_due d = {l, {.arena = a}};

    *n = 0;
    if (!l->daemon[0])
        return true;
    if (!log_run(l, log_share_take_due, &d, e))
        return false;
    assert(d.list.n <= AGENT_DUE_MAX);
    *out = d.list.u.rows;
    *n = d.list.n;
    return true;
}
