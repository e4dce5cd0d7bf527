/* engine_session.c - what the calls of a batch add to their sessions, written once a session.
 *
 * Many calls of a batch are of one session. What they add is gathered first, as the statement below
 * would have added them one after the other; so each session costs one statement a batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/engine_state.h"
#include "store/title.h"

/* A session runs while another call of it has begun and not ended. Its result is that of its last
 * call; an application that runs the session sets the result itself. */
#define RUNS "EXISTS (SELECT 1 FROM call_pieces WHERE session_id = $1 AND call_id <> $2)"
#define RUNS_NOT "1 = 0"
#define NEWER "coalesce(excluded.last_seen_ms, 0) >= coalesce(alert_sessions.last_seen_ms, 0)"

#define SESSION(runs)                                                                              \
    "INSERT INTO alert_sessions (session_id, first_seen_ms, last_seen_ms, call_count, agent_type," \
    " alert_type, status, outcome, started_at_us, completed_at_us, error_message,"                 \
    " key_name, subject, model, title, input_tokens, output_tokens, reasoning_tokens, cost_usd,"   \
    " has_reasoning, named, tool_call_count)"                                                      \
    " VALUES ($1, $3, $4, $20, 'gateway', $5, CASE WHEN " runs                                     \
    " THEN 'in_progress' ELSE $6 END, $6,"                                                         \
    " $7, CASE WHEN " runs " THEN NULL ELSE CAST($8 AS BIGINT) END, $9, $10, $11, $12, $13,"       \
    " $14, $15, $16, $17, $18, $19, $21)"                                                          \
    " ON CONFLICT (session_id) DO UPDATE SET call_count = alert_sessions.call_count + "            \
    "excluded.call_count,"                                                                         \
    " tool_call_count = alert_sessions.tool_call_count + excluded.tool_call_count,"                \
    " first_seen_ms = CASE WHEN alert_sessions.first_seen_ms <= excluded.first_seen_ms"            \
    " OR excluded.first_seen_ms IS NULL THEN alert_sessions.first_seen_ms"                         \
    " ELSE excluded.first_seen_ms END,"                                                            \
    " started_at_us = CASE WHEN alert_sessions.started_at_us <= excluded.started_at_us"            \
    " OR excluded.started_at_us IS NULL THEN alert_sessions.started_at_us"                         \
    " ELSE excluded.started_at_us END,"                                                            \
    " last_seen_ms = CASE WHEN " NEWER " THEN excluded.last_seen_ms"                               \
    " ELSE alert_sessions.last_seen_ms END,"                                                       \
    " outcome = CASE WHEN " NEWER " THEN excluded.outcome ELSE alert_sessions.outcome END,"        \
    " status = CASE WHEN NOT (" ENGINE_SESSION_IS_OURS ") THEN alert_sessions.status"              \
    " WHEN excluded.status = 'in_progress' THEN 'in_progress'"                                     \
    " WHEN " NEWER " THEN excluded.outcome"                                                        \
    " ELSE coalesce(alert_sessions.outcome, excluded.outcome) END,"                                \
    " completed_at_us = CASE WHEN NOT (" ENGINE_SESSION_IS_OURS                                    \
    ") THEN alert_sessions.completed_at_us"                                                        \
    " WHEN excluded.status = 'in_progress' THEN NULL"                                              \
    " WHEN " NEWER " THEN excluded.completed_at_us ELSE alert_sessions.last_seen_ms * 1000 END,"   \
    " error_message = CASE WHEN " ENGINE_SESSION_IS_OURS " AND " NEWER                             \
    " THEN excluded.error_message"                                                                 \
    " ELSE alert_sessions.error_message END,"                                                      \
    " model = CASE WHEN " NEWER " THEN excluded.model ELSE alert_sessions.model END,"              \
    " alert_type = coalesce(alert_sessions.alert_type, excluded.alert_type),"                      \
    " agent_type = coalesce(alert_sessions.agent_type, 'gateway'),"                                \
    " key_name = coalesce(alert_sessions.key_name, excluded.key_name),"                            \
    " subject = coalesce(alert_sessions.subject, excluded.subject),"                               \
    " title = coalesce(alert_sessions.title, excluded.title),"                                     \
    " input_tokens = alert_sessions.input_tokens + excluded.input_tokens,"                         \
    " output_tokens = alert_sessions.output_tokens + excluded.output_tokens,"                      \
    " reasoning_tokens = alert_sessions.reasoning_tokens + excluded.reasoning_tokens,"             \
    " cost_usd = CASE WHEN excluded.cost_usd IS NULL THEN alert_sessions.cost_usd"                 \
    " ELSE coalesce(alert_sessions.cost_usd, 0) + excluded.cost_usd END,"                          \
    " has_reasoning = CASE WHEN excluded.has_reasoning = 1 THEN 1"                                 \
    " ELSE alert_sessions.has_reasoning END"

static const char session_sql[] = SESSION(RUNS), session_alone_sql[] = SESSION(RUNS_NOT);

/* The values of the statement, from $1 on. */
enum engine_session_value {
    SESSION_ID,
    SESSION_CALL,
    SESSION_FIRST_MS,
    SESSION_LAST_MS,
    SESSION_DIALECT,
    SESSION_OUTCOME,
    SESSION_STARTED_US,
    SESSION_COMPLETED_US,
    SESSION_ERROR,
    SESSION_KEY,
    SESSION_SUBJECT,
    SESSION_MODEL,
    SESSION_TITLE,
    SESSION_INPUT,
    SESSION_OUTPUT,
    SESSION_REASONING,
    SESSION_COST,
    SESSION_HAS_REASONING,
    SESSION_NAMED,
    SESSION_CALLS,
    SESSION_TOOL_CALLS,
    SESSION_VALUES
};

/* The sums that the calls of a batch add to a session. */
struct engine_session_added {
    struct db_value v[SESSION_VALUES];
    bool runs; /* perhaps another call of it does: the statement looks */
};

/* How a value of a later call is added to that of the calls before. */
static const enum engine_session_sum {
    SESSION_SUM_KEEP,  /* it is not */
    SESSION_SUM_FIRST, /* the first that is known */
    SESSION_SUM_LEAST,
    SESSION_SUM_NEWEST, /* that of the call that ended last */
    SESSION_SUM_ADD,
    SESSION_SUM_LAST,
} engine_session_sums[SESSION_VALUES] = {
    [SESSION_CALL] = SESSION_SUM_LAST,           [SESSION_FIRST_MS] = SESSION_SUM_LEAST,
    [SESSION_LAST_MS] = SESSION_SUM_NEWEST,      [SESSION_DIALECT] = SESSION_SUM_FIRST,
    [SESSION_OUTCOME] = SESSION_SUM_NEWEST,      [SESSION_STARTED_US] = SESSION_SUM_LEAST,
    [SESSION_COMPLETED_US] = SESSION_SUM_NEWEST, [SESSION_ERROR] = SESSION_SUM_NEWEST,
    [SESSION_KEY] = SESSION_SUM_FIRST,           [SESSION_SUBJECT] = SESSION_SUM_FIRST,
    [SESSION_MODEL] = SESSION_SUM_NEWEST,        [SESSION_TITLE] = SESSION_SUM_FIRST,
    [SESSION_INPUT] = SESSION_SUM_ADD,           [SESSION_OUTPUT] = SESSION_SUM_ADD,
    [SESSION_REASONING] = SESSION_SUM_ADD,       [SESSION_COST] = SESSION_SUM_ADD,
    [SESSION_HAS_REASONING] = SESSION_SUM_ADD,   [SESSION_CALLS] = SESSION_SUM_ADD,
    [SESSION_TOOL_CALLS] = SESSION_SUM_ADD,
};

static int64_t engine_session_ended_ms(const struct store_call *row)
{
    return row->ended_ms >= 0 ? row->ended_ms : row->started_ms;
}

static bool engine_session_failed(const struct store_call *row)
{
    return row->error_code.n > 0 || row->status >= 400;
}

static struct db_value engine_session_tokens(int64_t n)
{
    return db_int(engine_usage_counted(n));
}

static void engine_session_read(struct engine *en, const struct store_call *row, str named,
                                struct db_value out[SESSION_VALUES])
{
    bool failed = engine_session_failed(row);
    int64_t ended_ms = engine_session_ended_ms(row);
    char title[TITLE_SIZE];
    const struct db_value values[SESSION_VALUES] = {
        db_text(row->session_id),
        db_text(row->id),
        engine_known(row->started_ms),
        engine_known(ended_ms),
        db_text_or_null(row->dialect),
        db_text(failed ? STR("failed") : STR("completed")),
        engine_known(engine_us(row->started_ms)),
        engine_known(engine_us(ended_ms)),
        failed ? db_text_or_null(engine_clean(en, row->error_message)) : db_null(),
        db_text_or_null(row->key_name),
        db_text_or_null(row->subject),
        db_text_or_null(row->model),
        db_text_or_null(arena_dup(&en->arena, engine_clean(en, title_of(row->asked, title)))),
        engine_session_tokens(row->input_tokens),
        engine_session_tokens(row->output_tokens),
        engine_session_tokens(row->reasoning_tokens),
        row->cost_usd >= 0 ? db_real(row->cost_usd) : db_null(),
        db_int(row->has_reasoning),
        db_text_or_null(named),
        db_int(1),
        db_int(row_tool_count(row)),
    };

    memcpy(out, values, sizeof values);
}

/* A value of a call into that of the calls before it. */
static void engine_session_sum(enum engine_session_sum how, bool newer, struct db_value *to,
                               const struct db_value *v)
{
    bool take = false;

    switch (how) {
    case SESSION_SUM_KEEP:
        break;
    case SESSION_SUM_FIRST:
        take = to->type == DB_NULL;
        break;
    case SESSION_SUM_LEAST:
        take = v->type != DB_NULL && (to->type == DB_NULL || v->i < to->i);
        break;
    case SESSION_SUM_NEWEST:
        take = newer;
        break;
    case SESSION_SUM_ADD:
        take = to->type == DB_NULL;
        if (!take && v->type != DB_NULL) {
            to->i += v->i;
            to->d += v->d;
        }
        break;
    case SESSION_SUM_LAST:
        take = true;
        break;
    }
    if (take)
        *to = *v;
}

bool engine_session_add(struct engine *en, const struct store_call *row, str named, struct err *e)
{
    struct map_entry *found = map_find(&en->sessions, row->session_id);
    struct engine_session_added *to = found ? found->value.ptr : NULL;
    struct db_value v[SESSION_VALUES];
    bool newer;

    engine_session_read(en, row, named, v);
    if (!to) {
        to = arena_alloc(&en->arena, sizeof *to);
        memcpy(to->v, v, sizeof v);
        to->runs = false;
        return map_set(&en->sessions, arena_dup(&en->arena, row->session_id), MAP_PTR(to), e);
    }
    assert(str_eq(to->v[SESSION_ID].s, row->session_id) && to->v[SESSION_CALLS].i > 0);
    newer = v[SESSION_LAST_MS].i >= to->v[SESSION_LAST_MS].i; /* 0 where it is not known */
    for (size_t i = 0; i < SESSION_VALUES; i++)
        engine_session_sum(engine_session_sums[i], newer, &to->v[i], &v[i]);
    return true;
}

/* ---- sessions whose calls run ---- */

static bool engine_session_on_running(void *ctx, const struct db_value *v, size_t n)
{
    struct engine *en = ctx;
    struct map_entry *found = map_find(&en->sessions, v[0].s);

    assert(n == 1);
    if (found)
        ((struct engine_session_added *)found->value.ptr)->runs = true;
    return true;
}

/* Marks the calls that have pieces in the tables: one query is cheaper than one for each row. */
static bool engine_sessions_look_up_running(struct engine *en, struct err *e)
{
    struct map_entry *i = map_next(&en->sessions, NULL);
    struct db_value args[ENGINE_MARKS];

    while (i && !engine_pieces_none(en)) {
        for (size_t n = 0; n < ENGINE_MARKS; n++) {
            args[n] = i ? db_text(i->key) : db_null();
            i = i ? map_next(&en->sessions, i) : NULL;
        }
        if (!db_query(en->db,
                      en->text[ENGINE_LOOK_UP_RUNNING].p,
                      args,
                      ENGINE_MARKS,
                      (struct db_rows){engine_session_on_running, en},
                      e))
            return false;
    }
    return true;
}

static bool engine_sessions_put(struct engine *en, bool runs, const char *sql, struct err *e)
{
    bool ok = true;

    for (struct map_entry *i = map_next(&en->sessions, NULL); ok && i;
         i = map_next(&en->sessions, i)) {
        struct engine_session_added *s = i->value.ptr;

        assert(s->v[SESSION_CALLS].i > 0);
        if (s->runs != runs)
            continue;
        s->v[SESSION_HAS_REASONING].i = s->v[SESSION_HAS_REASONING].i > 0;
        ok = db_put(en->db, sql, s->v, SESSION_VALUES, e);
    }
    return ok;
}

bool engine_sessions_write(struct engine *en, struct err *e)
{
    bool ok = engine_sessions_look_up_running(en, e) &&
              engine_sessions_put(en, false, session_alone_sql, e) &&
              engine_sessions_put(en, true, session_sql, e);

    engine_sessions_forget(en);
    return ok;
}

bool engine_sessions_write_with(struct engine *en, str session_id, struct err *e)
{
    return !map_find(&en->sessions, session_id) || engine_sessions_write(en, e);
}

void engine_sessions_forget(struct engine *en)
{
    map_release(&en->sessions);
}
