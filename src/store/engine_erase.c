/* engine_erase.c - deletes rows: on request, or because their retention is over.
 *
 * Whole sessions go, with their calls and all that hangs on these, and runs of agents and of the
 * optimiser; and threads: that of a session is the one of its name and key, those of a subject are
 * those of a key of that name. What applications keep has no subject of its own: it is of a subject
 * if it came by a key of that name, or has the name in it as a JSON string. Each row that had an
 * entry in the audit log gets another one that says it was erased; names are in the log only as
 * digests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/progress.h"
#include "store/engine_state.h"
#include "store/erase_find.h"

#define SESSIONS_MAX 10000000u /* of one erasure: one that would need more is refused */
#define RETAIN_BATCH 50u
#define CALLS_AT_ONCE 1000 /* of a session, in memory */

struct names {
    struct arena *arena;
    str *items;
    size_t count, cap;
};

static bool engine_erase_add_name(void *ctx, const struct db_value *columns, size_t n)
{
    struct names *names = ctx;

    assert(n == 1);
    names->items = base_grow(names->items, names->count, &names->cap, sizeof names->items[0]);
    names->items[names->count++] = arena_dup(names->arena, columns[0].s);
    return names->count < SESSIONS_MAX;
}

static bool engine_note_erased(struct engine *en, const char *sql, const struct db_value *session,
                               int64_t *count, struct err *e)
{
    struct names names = {.arena = &en->arena};
    bool ok = db_query(en->db, sql, session, 1, (struct db_rows){engine_erase_add_name, &names}, e);

    for (size_t i = 0; ok && i < names.count; i++) {
        struct audit_entry entry = {.actor = STR(""),
                                    .action = STR("erased"),
                                    .subject = names.items[i],
                                    .detail = STR(""),
                                    .digest = STR("")};

        ok = engine_audit_add(en, &entry, e);
    }
    *count += (int64_t)names.count;
    free(names.items);
    return ok;
}

static bool engine_erase_drop(struct engine *en, const char *sql, const struct db_value *session,
                              int64_t *count, struct err *e)
{
    int64_t n = 0;

    if (!db_run(en->db, sql, session, 1, e) || (count && !db_changed(en->db, &n, e)))
        return false;
    if (count)
        *count += n;
    return true;
}

/* ---- of agents ---- */

/* A row, and the rows that belong to it. If the first statement deletes nothing, the others do not
 * run. */
static const char *const thread_rows[] = {
    "DELETE FROM threads WHERE thread_id = $1 AND updated_us < $2",
    "DELETE FROM thread_checkpoints WHERE thread_id = $1",
    "DELETE FROM thread_values WHERE thread_id = $1",
    "DELETE FROM thread_writes WHERE thread_id = $1",
    NULL,
};
static const char *const run_rows[] = {
    "DELETE FROM agent_runs WHERE run_id = $1 AND updated_us < $2",
    "DELETE FROM agent_effects WHERE run_id = $1",
    NULL,
};

/* A row that was used since it was found is no longer too old, and stays. */
static bool engine_erase_forget(struct engine *en, const char *const *rows,
                                const struct names *names, int64_t before_us, int64_t *count,
                                struct err *e)
{
    assert(rows[0] && names->count <= names->cap);
    for (size_t i = 0; i < names->count; i++) {
        struct db_value args[] = {db_text(names->items[i]), db_int(before_us)};
        int64_t n = 1;

        for (size_t j = 0; rows[j] && n > 0; j++)
            if (!db_run(en->db, rows[j], args, j == 0 ? 2 : 1, e) ||
                (j == 0 && !db_changed(en->db, &n, e)))
                return false;
        *count += n;
    }
    return true;
}

static bool engine_erase_forget_those(struct engine *en, const char *sql, const struct db_value *of,
                                      const char *const *rows, int64_t *count, struct err *e)
{
    struct names names = {.arena = &en->arena};
    bool ok = db_query(en->db, sql, of, 1, (struct db_rows){engine_erase_add_name, &names}, e) &&
              engine_erase_forget(en, rows, &names, INT64_MAX, count, e);

    free(names.items);
    return ok;
}

static const char *const tuned_rows[] = {
    "DELETE FROM optimize_runs WHERE run_id = $1 AND updated_us < $2 AND status <> 'running'",
    "DELETE FROM optimize_lines WHERE run_id = $1",
    NULL,
};

#define RUNS_OF_SESSION "SELECT run_id FROM agent_runs WHERE session_id = $1"
#define THREADS_OF_KEY "SELECT thread_id FROM threads WHERE key_name = $1"
#define THREAD_OF_SESSION "SELECT t.thread_id" ERASE_THREAD_OF_SESSION

/* ---- calls ---- */

/* Places whose texts go once all sessions are through. */
struct erased_places {
    struct texts_place *items;
    size_t count, cap;
};

static void engine_erase_add_place(struct erased_places *p, const struct texts_place *place)
{
    p->items = base_grow(p->items, p->count, &p->cap, sizeof p->items[0]);
    assert(p->count < p->cap);
    p->items[p->count++] = *place;
}

/* The log keeps the digest of the row, so that the digest over all of its batch can still be
 * verified. */
static bool engine_erase_entomb_call(struct engine *en, struct engine_call *call,
                                     struct arena *texts, struct err *e)
{
    uint8_t digest[SHA256_SIZE];
    struct audit_entry entry = {.actor = STR(""),
                                .action = STR("erased"),
                                .subject = call->row.id,
                                .digest = {(const char *)digest, SHA256_SIZE}};
    str raw;

    arena_reset(texts);
    if (texts_read_reply(&en->texts, &call->at, texts, &call->row, e) &&
        texts_entry(&en->texts, &call->at, texts, &raw, e))
        engine_audit_digest_call(en, &call->row, call->at.call_n, raw, digest);
    else if (en->texts.damaged)
        entry.digest = STR(""); /* verification will say so */
    else
        return false;
    entry.detail = arena_printf(texts, "%lld", (long long)call->at.call_n);
    return engine_audit_add(en, &entry, e);
}

/* Some calls of a session, which may have millions. */
static bool engine_erase_some_calls(struct engine *en, struct engine_calls *calls,
                                    struct arena *texts, struct audit_counts *c,
                                    struct erased_places *places, struct err *e)
{
    for (size_t i = 0; i < calls->count; i++) {
        struct engine_call *call = &calls->items[i];

        if (!engine_erase_entomb_call(en, call, texts, e) ||
            !engine_call_tools(en,
                               &call->row,
                               call->at.call_n,
                               "DELETE FROM call_tools WHERE tool = $1 AND call_n = $2",
                               e))
            return false;
        c->decisions += call->row.decision.n > 0;
        engine_erase_add_place(places, &call->at);
    }
    c->interactions += (int64_t)calls->count;
    return true;
}

static bool engine_erase_calls(struct engine *en, const struct db_value *session,
                               struct audit_counts *c, struct erased_places *places, struct err *e)
{
    struct db_value args[] = {
        *session, db_int(INT64_MIN), db_int(INT64_MIN), db_int(CALLS_AT_ONCE)};
    struct arena rows, texts;
    struct engine_calls calls = {.arena = &rows};
    bool ok;

    arena_init(&rows, ENGINE_ARENA_MAX);
    arena_init(&texts, ENGINE_ARENA_MAX);
    do {
        calls.count = 0;
        arena_reset(&rows);
        ok = engine_calls_read(en, ENGINE_GET_SESSION, args, COUNT_OF(args), &calls, e) &&
             engine_erase_some_calls(en, &calls, &texts, c, places, e);
        assert(calls.count <= CALLS_AT_ONCE);
        if (calls.count > 0) {
            args[1] = db_int(calls.items[calls.count - 1].row.started_ms);
            args[2] = db_int(calls.items[calls.count - 1].at.call_n);
        }
    } while (ok && calls.count == CALLS_AT_ONCE);
    arena_release(&rows);
    arena_release(&texts);
    free(calls.items);
    return ok;
}

/* ---- sessions ---- */

#define OF_SESSION "(SELECT interaction_id FROM llm_interactions WHERE session_id = $1)"

/* Those of before blocks, while there are any. */
static const char *const old_rows[] = {
    "DELETE FROM old_segments WHERE interaction_id IN " OF_SESSION,
    "DELETE FROM old_decisions WHERE interaction_id IN " OF_SESSION,
    "DELETE FROM old_interactions WHERE interaction_id IN " OF_SESSION,
};

/* Rows that are not counted. Rows that are found through other rows are deleted before those. */
static const char *const rest[] = {
    "DELETE FROM llm_interactions WHERE session_id = $1",
    "DELETE FROM mcp_communications WHERE session_id = $1",
    "DELETE FROM incident_alerts WHERE incident_id IN (SELECT alert_id FROM alerts"
    " WHERE session_id = $1 AND state NOT IN ('queued', 'processing', 'waiting'))",
    "DELETE FROM alerts WHERE session_id = $1 AND state NOT IN ('queued', 'processing', 'waiting')",
    "DELETE FROM notifications WHERE session_id = $1 AND alert_id NOT IN"
    " (SELECT alert_id FROM alerts WHERE session_id = $1)",
    "DELETE FROM call_pieces WHERE call_id IN"
    " (SELECT call_id FROM call_pieces WHERE session_id = $1)",
    "DELETE FROM agent_effects WHERE run_id IN"
    " (SELECT run_id FROM agent_runs WHERE session_id = $1)",
    "DELETE FROM agent_runs WHERE session_id = $1",
    "DELETE FROM policy_results WHERE session_id = $1",
    "DELETE FROM policy_shadow WHERE session_id = $1",
    "DELETE FROM policy_cases WHERE session_id = $1",
    "DELETE FROM policy_reviews WHERE session_id = $1",
    "DELETE FROM policy_reverified WHERE session_id = $1",
    /* Confirmed criteria are settings of a policy: they quote it, and no case. */
    "DELETE FROM policy_proposals WHERE session_id = $1 AND NOT (kind = 'criterion' AND"
    " state = 'confirmed')",
    "DELETE FROM optimize_lines WHERE run_id = $1",
    "DELETE FROM prompts WHERE run_id = $1 AND state = 'draft'",
};

static bool engine_erase_drop_rest(struct engine *en, const struct db_value *session, struct err *e)
{
    for (size_t i = 0; en->move == ENGINE_MOVE && i < COUNT_OF(old_rows); i++)
        if (!engine_erase_drop(en, old_rows[i], session, NULL, e))
            return false;
    for (size_t i = 0; i < COUNT_OF(rest); i++)
        if (!engine_erase_drop(en, rest[i], session, NULL, e))
            return false;
    return true;
}

static bool engine_erase_drop_head(struct engine *en, const struct db_value *session,
                                   int64_t *count, struct err *e)
{
    struct audit_entry entry = {.actor = STR(""),
                                .action = STR("erased session"),
                                .subject = engine_audit_name(en, session->s),
                                .detail = STR(""),
                                .digest = STR("")};
    int64_t before = *count;

    return engine_erase_drop(
               en, "DELETE FROM alert_sessions WHERE session_id = $1", session, count, e) &&
           (*count == before || engine_audit_add(en, &entry, e));
}

static bool engine_erase_session(struct engine *en, str name, struct audit_counts *c,
                                 struct erased_places *places, struct err *e)
{
    struct db_value session = db_text(name);

    return engine_usage_take(en, &session, e) &&
           engine_erase_forget_those(en, RUNS_OF_SESSION, &session, run_rows, &c->runs, e) &&
           engine_erase_drop(
               en, "DELETE FROM optimize_runs WHERE run_id = $1", &session, &c->runs, e) &&
           engine_erase_calls(en, &session, c, places, e) &&
           engine_note_erased(en, ERASE_RUNNING_CALLS, &session, &c->interactions, e) &&
           engine_note_erased(
               en,
               "SELECT communication_id FROM mcp_communications WHERE session_id = $1",
               &session,
               &c->communications,
               e) &&
           engine_erase_drop_rest(en, &session, e) &&
           engine_erase_drop_head(en, &session, &c->sessions, e);
}

static bool engine_erase_all(struct engine *en, const struct names *names, struct audit_counts *c,
                             struct err *e)
{
    struct erased_places places = {0};
    struct progress p;
    bool ok = engine_blocks_begin(en, e) && engine_audit_records(en, e) &&
              engine_blocks_commit(en, e) && (names->count == 0 || engine_move_drop_words(en, e));

    assert(en->head_known && names->count <= names->cap);
    p = progress_begin("erase", "sessions", names->count);
    for (size_t i = 0; ok && i < names->count; i++) {
        progress_set(&p, i);
        if (i == 0 || !str_eq(names->items[i], names->items[i - 1]))
            ok = engine_erase_session(en, names->items[i], c, &places, e);
    }
    progress_end(&p);
    ok = ok && engine_blocks_blank(en, places.items, places.count, e) &&
         (en->kind != DB_POSTGRES || names->count == 0 ||
          db_run(en->db, "UPDATE store_turn SET erased = erased + 1", DB_NO_ARGS, e));
    free(places.items);
    engine_requests_forget(en);
    if (c->interactions + c->communications > 0)
        en->erased_any = true;
    return ok;
}

/* ---- on request ---- */

static bool engine_erase_erase(struct engine *en, const struct store_note *note, bool subject,
                               struct err *e)
{
    struct names names = {.arena = &en->arena}, runs = {.arena = &en->arena};
    str name = engine_clean_name(en, note->subject);
    struct db_value arg = db_text(name);
    struct audit_entry entry = {.actor = engine_clean(en, note->actor),
                                .action = note->action,
                                .subject = engine_audit_name(en, note->subject),
                                .digest = STR("")};
    struct audit_counts c = {0};
    bool ok = true;

    engine_owners_forget(en);
    if (subject)
        ok = erase_find_sessions(
                 en->db, &en->arena, name, (struct db_rows){engine_erase_add_name, &names}, e) &&
             erase_find_runs(
                 en->db, &en->arena, name, (struct db_rows){engine_erase_add_name, &runs}, e) &&
             engine_erase_forget(en, run_rows, &runs, INT64_MAX, &c.runs, e) &&
             engine_erase_forget_those(en, THREADS_OF_KEY, &arg, thread_rows, &c.threads, e);
    else
        (void)engine_erase_add_name(&names, &arg, 1);
    if (ok && names.count >= SESSIONS_MAX)
        ok = err_input(e, "%zu sessions are too many for one erasure", names.count);
    for (size_t i = 0; ok && i < names.count; i++) {
        struct db_value session = db_text(names.items[i]);

        ok = engine_erase_forget_those(en, THREAD_OF_SESSION, &session, thread_rows, &c.threads, e);
    }
    ok = ok && engine_erase_all(en, &names, &c, e);
    free(names.items);
    free(runs.items);
    entry.detail = audit_erasure(&en->arena, note->id, &c);
    en->scrub |= ok;
    return ok && engine_audit_add(en, &entry, e) && engine_receipt_put(en, note, &c, e) &&
           (en->kind != DB_POSTGRES ||
            db_run(en->db, "UPDATE store_turn SET asked = asked + 1", DB_NO_ARGS, e));
}

bool engine_note_put(struct engine *en, const struct store_note *note, struct err *e)
{
    struct audit_entry entry = {.actor = engine_clean(en, note->actor),
                                .action = engine_clean(en, note->action),
                                .subject = engine_clean(en, note->subject),
                                .detail = engine_clean(en, note->detail),
                                .digest = STR("")};

    if (str_eq(note->action, STR("erase session")))
        return engine_erase_erase(en, note, false, e);
    if (str_eq(note->action, STR("erase subject")))
        return engine_erase_erase(en, note, true, e);
    return engine_audit_add(en, &entry, e);
}

/* ---- by retention ---- */

/* Sessions and runs that have not ended are kept, whatever their age. */
#define ENDED_US "coalesce(completed_at_us, last_seen_ms * 1000, started_at_us, 0)"
#define UNFINISHED "('running', 'waiting')"

enum { OLD_SESSIONS, OLD_RESULTS, OLD_THREADS, OLD_RUNS, OLD_TUNED, OLD_COUNT };
static const char *const oldest[OLD_COUNT] = {
    [OLD_SESSIONS] =
        "SELECT session_id FROM alert_sessions WHERE status <> 'in_progress' AND " ENDED_US
        " < $1 AND NOT EXISTS (SELECT 1 FROM agent_runs r WHERE r.session_id ="
        " alert_sessions.session_id AND r.status IN " UNFINISHED
        ") ORDER BY started_at_us LIMIT 50",
    /* Results of the heuristic and their cases have no session. There is one row for each
     * criterion, so the same name repeats in consecutive rows. */
    [OLD_RESULTS] =
        "SELECT session_id FROM policy_results p WHERE controller = 'heuristic' AND created_us < $1"
        " AND NOT EXISTS (SELECT 1 FROM alert_sessions s WHERE s.session_id = p.session_id)"
        " ORDER BY created_us, session_id LIMIT 50",
    [OLD_THREADS] = "SELECT thread_id FROM threads WHERE updated_us < $1"
                    " ORDER BY updated_us LIMIT 50",
    [OLD_RUNS] = "SELECT run_id FROM agent_runs WHERE updated_us < $1 AND status NOT IN " UNFINISHED
                 " ORDER BY updated_us LIMIT 50",
    [OLD_TUNED] = "SELECT run_id FROM optimize_runs WHERE updated_us < $1 AND status <> 'running'"
                  " ORDER BY updated_us LIMIT 50",
};

/* A second verification goes with the last of its cases. */
static const char empty_reverifications[] =
    "DELETE FROM policy_reverify WHERE ended_us < $1 AND NOT EXISTS (SELECT 1 FROM"
    " policy_reverified d WHERE d.reverify_id = policy_reverify.reverify_id)";

/* One run of retention. */
struct retaining {
    int64_t before_us; /* older ones go */
    struct names old[OLD_COUNT];
    size_t count; /* of the longest list */
    struct audit_counts erased;
};

static bool engine_erase_find_old(struct engine *en, struct retaining *r, struct err *e)
{
    bool ok = true;

    r->count = 0;
    for (size_t i = 0; ok && i < OLD_COUNT; i++) {
        r->old[i].arena = &en->arena;
        r->old[i].count = 0;
        ok = db_query(en->db,
                      oldest[i],
                      DB_ARGS(db_int(r->before_us)),
                      (struct db_rows){engine_erase_add_name, &r->old[i]},
                      e);
        r->count = r->old[i].count > r->count ? r->old[i].count : r->count;
    }
    assert(r->count <= RETAIN_BATCH); /* of each statement */
    return ok;
}

static bool engine_erase_old(struct engine *en, struct retaining *r, const char *why, struct err *e)
{
    struct audit_counts *c = &r->erased;
    struct audit_entry entry = {.actor = STR("rationale"),
                                .action = STR("retention"),
                                .subject = str_c(why),
                                .digest = STR("")};
    bool ok =
        engine_audit_begin(en, e) && engine_erase_all(en, &r->old[OLD_SESSIONS], c, e) &&
        engine_erase_all(en, &r->old[OLD_RESULTS], c, e) &&
        engine_erase_forget(en, thread_rows, &r->old[OLD_THREADS], r->before_us, &c->threads, e) &&
        engine_erase_forget(en, run_rows, &r->old[OLD_RUNS], r->before_us, &c->runs, e) &&
        engine_erase_forget(en, tuned_rows, &r->old[OLD_TUNED], r->before_us, &c->runs, e) &&
        db_run(en->db, empty_reverifications, DB_ARGS(db_int(r->before_us)), e);

    entry.detail = audit_erasure(&en->arena, STR(""), c);
    return ok && engine_audit_add(en, &entry, e) && engine_usage_flush(en, e) &&
           db_commit(en->db, e);
}

/* Another daemon may use a session that is old until its turn is over: so they are looked for
 * again in a turn of this one. */
static bool engine_erase_retain_batch(struct engine *en, int64_t before_us, const char *why,
                                      size_t *count, struct err *e)
{
    struct retaining r = {.before_us = before_us};
    bool ok = engine_erase_find_old(en, &r, e), erased;

    if (ok && r.count > 0) {
        ok = engine_turn(en, false, e) && engine_erase_find_old(en, &r, e);
        erased = ok && r.count > 0 && engine_erase_old(en, &r, why, e);
        ok = ok && (erased || r.count == 0);
        if (!erased)
            engine_rollback(en);
    }
    *count = r.count;
    for (size_t i = 0; i < OLD_COUNT; i++)
        free(r.old[i].items);
    arena_reset(&en->arena);
    if (ok && r.erased.sessions + r.erased.threads + r.erased.runs > 0)
        log_info("store: retention",
                 LOG_TEXT("why", why),
                 LOG_U64("sessions", (uint64_t)r.erased.sessions),
                 LOG_U64("threads", (uint64_t)r.erased.threads),
                 LOG_U64("runs", (uint64_t)r.erased.runs));
    return ok;
}

bool engine_retain(struct engine *en, const struct engine_retention *r, bool *more, struct err *e)
{
    int64_t now_us = clock_wall_ms(&clock_real) * 1000, size;
    int64_t age = r->age_us > r->age_min_us ? r->age_us : r->age_min_us;
    size_t count = 0;

    *more = false;
    if (r->age_us > 0 && !engine_erase_retain_batch(en, now_us - age, "age", &count, e))
        return false;
    if (count == 0 && r->size_max > 0) {
        if (!db_size(en->db, &size, e))
            return false;
        if (size > r->size_max &&
            !engine_erase_retain_batch(en, now_us - r->age_min_us, "size", &count, e))
            return false;
    }
    *more = count >= RETAIN_BATCH;
    en->freed |= count > 0;
    if (en->freed && !*more) { /* gives the space back to the disk */
        en->scrub = true;
        en->freed = false;
    }
    return true;
}
