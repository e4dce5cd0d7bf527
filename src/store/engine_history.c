/* engine_history.c - stores the sessions and tool calls of applications.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/engine_state.h"

/* A session that an application has reported is ended by the application only. It stays with the
 * key that opened it. */
static const char session_sql[] =
    "INSERT INTO alert_sessions (session_id, alert_id, agent_type, alert_type, status, alert_data,"
    " session_metadata, error_message, final_analysis, started_at_us, completed_at_us, key_name,"
    " put_at_us) VALUES ($1, $2, coalesce($3, 'application'), $4, coalesce($5, 'pending'), $6, $7,"
    /* A session that continues after an erasure starts with its next update. */
    " $8, $9, coalesce(CAST($10 AS BIGINT), CAST($13 AS BIGINT)), $11, $12, $13)"
    " ON CONFLICT (session_id) DO UPDATE SET"
    " alert_id = coalesce(excluded.alert_id, alert_sessions.alert_id),"
    " agent_type = CASE WHEN excluded.agent_type <> 'application' OR"
    " coalesce(alert_sessions.agent_type, 'gateway') = 'gateway' THEN excluded.agent_type"
    " ELSE alert_sessions.agent_type END,"
    " alert_type = coalesce(excluded.alert_type, alert_sessions.alert_type),"
    /* Journals of several daemons arrive in any order. */
    " status = CASE WHEN excluded.put_at_us < alert_sessions.put_at_us THEN alert_sessions.status"
    " ELSE coalesce($5, alert_sessions.status) END,"
    " put_at_us = CASE WHEN $5 IS NULL OR excluded.put_at_us < alert_sessions.put_at_us"
    " THEN alert_sessions.put_at_us ELSE excluded.put_at_us END,"
    " alert_data = coalesce(excluded.alert_data, alert_sessions.alert_data),"
    " session_metadata = coalesce(excluded.session_metadata, alert_sessions.session_metadata),"
    " error_message = coalesce(excluded.error_message, alert_sessions.error_message),"
    " final_analysis = coalesce(excluded.final_analysis, alert_sessions.final_analysis),"
    " started_at_us = coalesce($10, alert_sessions.started_at_us, excluded.started_at_us),"
    " completed_at_us = coalesce(excluded.completed_at_us, alert_sessions.completed_at_us),"
    " key_name = coalesce(alert_sessions.key_name, excluded.key_name)";

static void engine_history_clean(struct engine *en, const struct row_table *t, void *row)
{
    for (size_t i = 0; i < t->count; i++) {
        str *text = (str *)(void *)((char *)row + t->fields[i].at);

        if (t->fields[i].kind == ROW_TEXT)
            *text = engine_clean(en, *text);
    }
}

/* $1, $2, ... are the fields of the row. */
static bool engine_history_run(struct engine *en, const char *sql, const struct row_table *t,
                               const void *row, struct err *e)
{
    struct db_value args[ENGINE_COLUMNS_MAX];

    assert(t->count <= ENGINE_COLUMNS_MAX);
    for (size_t i = 0; i < t->count; i++)
        args[i] = engine_field_value(&t->fields[i], row);
    return db_run(en->db, sql, args, t->count, e);
}

struct state {
    struct engine *en;
    str detail;
};

static bool engine_history_add_state(void *ctx, const struct db_value *c, size_t n)
{
    struct state *s = ctx;

    assert(n == AUDIT_SESSION_COUNT);
    audit_add_session(&s->en->canon, c);
    s->detail = arena_printf(
        &s->en->arena,
        "{\"started_at_us\":%lld,\"alert_type\":%s,\"key_name\":%s}",
        c[AUDIT_SESSION_STARTED].type == DB_NULL ? -1LL : (long long)c[AUDIT_SESSION_STARTED].i,
        c[AUDIT_SESSION_ALERT_TYPE].type == DB_NULL ? "false" : "true",
        c[AUDIT_SESSION_KEY].type == DB_NULL ? "false" : "true");
    return false;
}

/* A session's row is merged from all its updates; the audit log has the merged row. */
static bool engine_history_audit_session(struct engine *en, str id, struct err *e)
{
    struct state s = {en, STR("")};

    buf_reset(&en->canon);
    return db_query(en->db,
                    "SELECT " AUDIT_SESSION_COLUMNS " FROM alert_sessions WHERE session_id = $1",
                    DB_ARGS(db_text(id)),
                    (struct db_rows){engine_history_add_state, &s},
                    e) &&
           engine_audit_row(en, STR("session"), engine_audit_name(en, id), s.detail, e);
}

bool engine_session_put(struct engine *en, struct store_session *row, struct err *e)
{
    assert(row->id.n > 0 && map_count(&en->sessions) == 0);
    row->id = engine_clean_name(en, row->id);
    engine_history_clean(en, &row_sessions, row);
    (void)map_remove(&en->owners, row->id);
    return engine_history_run(en, session_sql, &row_sessions, row, e) &&
           engine_history_audit_session(en, row->id, e);
}

static bool engine_history_count_tool(struct engine *en, const struct store_tool *row,
                                      struct err *e)
{
    (void)map_remove(&en->owners, row->session_id);
    return db_run(en->db,
                  "INSERT INTO alert_sessions (session_id, status, started_at_us, tool_count,"
                  " tool_call_count)"
                  " VALUES ($1, 'in_progress', $2, 1, $3) ON CONFLICT (session_id) DO UPDATE SET"
                  " tool_count = alert_sessions.tool_count + 1,"
                  " tool_call_count = alert_sessions.tool_call_count + excluded.tool_call_count",
                  DB_ARGS(db_text(row->session_id),
                          db_int(row->timestamp_us),
                          db_int(str_eq(row->communication_type, STR("tool_call")))),
                  e);
}

bool engine_tool_put(struct engine *en, struct store_tool *row, struct err *e)
{
    assert(row->id.n > 0 && map_count(&en->sessions) == 0);
    row->id = engine_clean_name(en, row->id);
    row->session_id = engine_clean_name(en, row->session_id);
    engine_history_clean(en, &row_tools, row);
    buf_reset(&en->canon);
    audit_add_row(&en->canon, &row_tools, row);
    return engine_history_run(
               en,
               "INSERT INTO mcp_communications (" ENGINE_TOOL_COLUMNS ")"
               " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
               " ON CONFLICT DO NOTHING",
               &row_tools,
               row,
               e) &&
           (row->session_id.n == 0 || engine_history_count_tool(en, row, e)) &&
           engine_audit_row(en, STR("tool"), row->id, STR(""), e);
}

void engine_tool_read(const struct db_value *columns, struct store_tool *out)
{
    for (size_t i = 0; i < row_tools.count; i++)
        engine_field_read(&row_tools.fields[i], &columns[i], out);
}
