/* engine_erase.c - rows that go: because somebody asked for it, or because their time is over.
 *
 * Whole sessions go, with their calls and all that hangs on these. Each row that had an entry in
 * the audit log gets another one that says it was erased; names are in the log only as digests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "base/log.h"
#include "store/engine_in.h"

#define SESSIONS_MAX 100000u /* of one erasure */
#define RETAIN_BATCH 50u
#define DETAIL_SIZE_MAX 300u

struct names {
    struct arena *arena;
    str *items;
    size_t count, cap;
};

struct counts {
    int64_t sessions, interactions, decisions, communications;
};

static bool add_name(void *ctx, const struct db_value *columns, size_t n)
{
    struct names *names = ctx;

    assert(n == 1);
    if (names->count == names->cap) {
        names->cap = names->cap ? 2 * names->cap : 64;
        names->items = base_realloc(names->items, names->cap * sizeof names->items[0]);
    }
    names->items[names->count++] = arena_dup(names->arena, columns[0].s);
    return names->count < SESSIONS_MAX;
}

static bool entomb(struct engine *en, const char *sql, const struct db_value *session,
                   int64_t *count, struct err *e)
{
    struct names names = {.arena = &en->arena};
    bool ok = db_query(en->db, sql, session, 1, (struct db_rows){add_name, &names}, e);

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

static bool drop(struct engine *en, const char *sql, const struct db_value *session, int64_t *count,
                 struct err *e)
{
    int64_t n = 0;

    if (!db_run(en->db, sql, session, 1, e) || (count && !db_changed(en->db, &n, e)))
        return false;
    if (count)
        *count += n;
    return true;
}

#define OF_SESSION "(SELECT interaction_id FROM llm_interactions WHERE session_id = $1)"

/* What is not counted, in this order: what is found by other rows goes before them. */
static const char *const rest[] = {
    "DELETE FROM reasoning_segments WHERE interaction_id IN " OF_SESSION,
    "DELETE FROM llm_interactions WHERE session_id = $1",
    "DELETE FROM mcp_communications WHERE session_id = $1",
    "DELETE FROM call_pieces WHERE call_id IN"
    " (SELECT call_id FROM call_pieces WHERE session_id = $1)",
    "DELETE FROM agent_effects WHERE run_id IN"
    " (SELECT run_id FROM agent_runs WHERE session_id = $1)",
    "DELETE FROM agent_runs WHERE session_id = $1",
    "DELETE FROM policy_results WHERE session_id = $1",
    "DELETE FROM policy_shadow WHERE session_id = $1",
};

static bool drop_rest(struct engine *en, const struct db_value *session, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(rest); i++)
        if (!drop(en, rest[i], session, NULL, e))
            return false;
    return true;
}

static bool erase_session(struct engine *en, str name, struct counts *c, struct err *e)
{
    struct db_value session = db_text(name);

    return entomb(en,
                  "SELECT interaction_id FROM llm_interactions WHERE session_id = $1",
                  &session,
                  &c->interactions,
                  e) &&
           entomb(en,
                  "SELECT communication_id FROM mcp_communications WHERE session_id = $1",
                  &session,
                  &c->communications,
                  e) &&
           drop(en,
                "DELETE FROM decision_tools WHERE decision_id IN"
                " (SELECT decision_id FROM decisions WHERE interaction_id IN " OF_SESSION ")",
                &session,
                NULL,
                e) &&
           drop(en,
                "DELETE FROM decisions WHERE interaction_id IN " OF_SESSION,
                &session,
                &c->decisions,
                e) &&
           drop_rest(en, &session, e) &&
           drop(en, "DELETE FROM alert_sessions WHERE session_id = $1", &session, &c->sessions, e);
}

static bool erase_all(struct engine *en, const struct names *names, struct counts *c, struct err *e)
{
    for (size_t i = 0; i < names->count; i++)
        if (!erase_session(en, names->items[i], c, e))
            return false;
    if (c->interactions + c->communications > 0)
        en->erased_any = true;
    return true;
}

/* ---- what somebody asked for ---- */

static bool put_receipt(struct engine *en, const struct store_note *note, const struct counts *c,
                        struct err *e)
{
    char hex[SHA256_HEX_SIZE];
    struct db_value args[] = {
        db_text(note->id),
        db_int(en->now_us),
        db_int(c->sessions),
        db_int(c->interactions),
        db_int(c->decisions),
        db_int(c->communications),
        db_text(sha256_hex(en->head.hash, hex)),
    };

    return db_run(en->db,
                  "INSERT INTO erasures (receipt_id, erased_at_us, sessions, interactions,"
                  " decisions, communications, head_hash) VALUES ($1, $2, $3, $4, $5, $6, $7)"
                  " ON CONFLICT DO NOTHING",
                  args,
                  COUNT_OF(args),
                  e);
}

static str detail_of(struct engine *en, str receipt, const struct counts *c)
{
    return arena_printf(&en->arena,
                        "{\"receipt_id\":\"" STR_FMT "\",\"sessions\":%lld,\"interactions\":%lld,"
                        "\"decisions\":%lld,\"communications\":%lld}",
                        STR_ARG(receipt),
                        (long long)c->sessions,
                        (long long)c->interactions,
                        (long long)c->decisions,
                        (long long)c->communications);
}

static bool erase(struct engine *en, const struct store_note *note, bool subject, struct err *e)
{
    struct names names = {.arena = &en->arena};
    str name = engine_clean_name(en, note->subject);
    struct db_value arg = db_text(name);
    struct audit_entry entry = {.actor = engine_clean(en, note->actor),
                                .action = note->action,
                                .subject = engine_audit_name(en, note->subject),
                                .digest = STR("")};
    struct counts c = {0};
    bool ok = true;

    if (subject)
        ok = db_query(en->db,
                      "SELECT session_id FROM alert_sessions WHERE subject = $1"
                      " UNION SELECT session_id FROM llm_interactions WHERE subject = $1",
                      &arg,
                      1,
                      (struct db_rows){add_name, &names},
                      e);
    else
        (void)add_name(&names, &arg, 1);
    ok = ok && erase_all(en, &names, &c, e);
    free(names.items);
    entry.detail = detail_of(en, note->id, &c);
    en->scrub |= ok;
    return ok && engine_audit_add(en, &entry, e) && put_receipt(en, note, &c, e);
}

bool engine_note_put(struct engine *en, const struct store_note *note, struct err *e)
{
    struct audit_entry entry = {.actor = engine_clean(en, note->actor),
                                .action = engine_clean(en, note->action),
                                .subject = engine_clean(en, note->subject),
                                .detail = engine_clean(en, note->detail),
                                .digest = STR("")};

    if (str_eq(note->action, STR("erase session")))
        return erase(en, note, false, e);
    if (str_eq(note->action, STR("erase subject")))
        return erase(en, note, true, e);
    return engine_audit_add(en, &entry, e);
}

/* ---- what is over ---- */

/* Those that have not ended stay, however old. */
#define ENDED_US "coalesce(completed_at_us, last_seen_ms * 1000, started_at_us, 0)"
#define OLDEST                                                                                     \
    "SELECT session_id FROM alert_sessions WHERE status <> 'in_progress' AND " ENDED_US            \
    " < $1 ORDER BY started_at_us LIMIT 50"

static bool retain_batch(struct engine *en, int64_t before_us, const char *why, size_t *count,
                         struct err *e)
{
    struct names names = {.arena = &en->arena};
    struct audit_entry entry = {.actor = STR("rationale"),
                                .action = STR("retention"),
                                .subject = str_c(why),
                                .digest = STR("")};
    struct db_value arg = db_int(before_us);
    struct counts c = {0};
    bool ok;

    *count = 0;
    ok = db_query(en->db, OLDEST, &arg, 1, (struct db_rows){add_name, &names}, e);
    if (ok && names.count > 0 && db_begin(en->db, false, e)) {
        ok = engine_audit_begin(en, e) && erase_all(en, &names, &c, e);
        entry.detail = detail_of(en, STR(""), &c);
        ok = ok && engine_audit_add(en, &entry, e) && db_commit(en->db, e);
        if (!ok)
            engine_rollback(en);
    } else if (names.count > 0) {
        ok = false;
    }
    *count = names.count;
    free(names.items);
    arena_reset(&en->arena);
    if (ok && c.sessions > 0)
        log_info(
            "store: retention", LOG_TEXT("why", why), LOG_U64("sessions", (uint64_t)c.sessions));
    return ok;
}

bool engine_retain(struct engine *en, const struct engine_retention *r, bool *more, struct err *e)
{
    int64_t now_us = clock_wall_ms(&clock_real) * 1000, size;
    int64_t age = r->age_us > r->age_min_us ? r->age_us : r->age_min_us;
    size_t count = 0;

    *more = false;
    if (r->age_us > 0 && !retain_batch(en, now_us - age, "age", &count, e))
        return false;
    if (count == 0 && r->size_max > 0) {
        if (!db_size(en->db, &size, e))
            return false;
        if (size > r->size_max && !retain_batch(en, now_us - r->age_min_us, "size", &count, e))
            return false;
    }
    *more = count >= RETAIN_BATCH;
    return true;
}

/* ---- receipts ---- */

static bool keep_receipt(void *ctx, const struct db_value *c, size_t n)
{
    struct store_receipt *r = ctx;

    assert(n == 7);
    (void)snprintf(r->id, sizeof r->id, STR_FMT, STR_ARG(c[0].s));
    r->erased_at_us = c[1].i;
    r->sessions = (uint64_t)c[2].i;
    r->interactions = (uint64_t)c[3].i;
    r->decisions = (uint64_t)c[4].i;
    r->communications = (uint64_t)c[5].i;
    (void)snprintf(r->head_hash, sizeof r->head_hash, STR_FMT, STR_ARG(c[6].s));
    return false;
}

bool engine_receipt(struct engine *en, str id, struct store_receipt *out, struct err *e)
{
    struct db_value arg = db_text(id);
    bool ok;

    *out = (struct store_receipt){0};
    pthread_mutex_lock(&en->read_lock);
    ok = (en->reader || db_open(str_c(en->url), DB_READ, &en->reader, e)) &&
         db_query(en->reader,
                  "SELECT receipt_id, erased_at_us, sessions, interactions, decisions,"
                  " communications, head_hash FROM erasures WHERE receipt_id = $1 AND scrubbed = 1",
                  &arg,
                  1,
                  (struct db_rows){keep_receipt, out},
                  e);
    pthread_mutex_unlock(&en->read_lock);
    return ok && (out->id[0] || err_set(e, ERR_NOT_FOUND, "no erasure of that id"));
}
