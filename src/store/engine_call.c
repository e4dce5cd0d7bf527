/* engine_call.c - a call and what follows from it: its texts in a block, its session's sums, the
 * tools it called.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "store/engine_in.h"
#include "store/row.h"

#define TITLE_MAX 120u /* characters */
#define TOOLS_MAX 1000u

/* A session runs while there is another call of it that has begun and not ended. What it came to is
 * what its last call came to; an application that runs the session says so itself. */
#define RUNS "EXISTS (SELECT 1 FROM call_pieces WHERE session_id = $1 AND call_id <> $2)"
#define RUNS_NOT "1 = 0"
#define NEWER "coalesce(excluded.last_seen_ms, 0) >= coalesce(alert_sessions.last_seen_ms, 0)"
#define OURS "coalesce(alert_sessions.agent_type, 'gateway') = 'gateway'"

#define SESSION(runs)                                                                              \
    "INSERT INTO alert_sessions (session_id, first_seen_ms, last_seen_ms, call_count, agent_type," \
    " alert_type, status, outcome, started_at_us, completed_at_us, error_message,"                 \
    " key_name, subject, model, title, input_tokens, output_tokens, reasoning_tokens, cost_usd,"   \
    " has_reasoning, named)"                                                                       \
    " VALUES ($1, $3, $4, 1, 'gateway', $5, CASE WHEN " runs                                       \
    " THEN 'in_progress' ELSE $6 END, $6,"                                                         \
    " $7, CASE WHEN " runs " THEN NULL ELSE CAST($8 AS BIGINT) END, $9, $10, $11, $12, $13,"       \
    " $14, $15, $16, $17, $18, $19)"                                                               \
    " ON CONFLICT (session_id) DO UPDATE SET call_count = alert_sessions.call_count + 1,"          \
    " first_seen_ms = CASE WHEN alert_sessions.first_seen_ms <= excluded.first_seen_ms"            \
    " OR excluded.first_seen_ms IS NULL THEN alert_sessions.first_seen_ms"                         \
    " ELSE excluded.first_seen_ms END,"                                                            \
    " started_at_us = CASE WHEN alert_sessions.started_at_us <= excluded.started_at_us"            \
    " OR excluded.started_at_us IS NULL THEN alert_sessions.started_at_us"                         \
    " ELSE excluded.started_at_us END,"                                                            \
    " last_seen_ms = CASE WHEN " NEWER " THEN excluded.last_seen_ms"                               \
    " ELSE alert_sessions.last_seen_ms END,"                                                       \
    " outcome = CASE WHEN " NEWER " THEN excluded.outcome ELSE alert_sessions.outcome END,"        \
    " status = CASE WHEN NOT (" OURS ") THEN alert_sessions.status"                                \
    " WHEN excluded.status = 'in_progress' THEN 'in_progress'"                                     \
    " WHEN " NEWER " THEN excluded.outcome"                                                        \
    " ELSE coalesce(alert_sessions.outcome, excluded.outcome) END,"                                \
    " completed_at_us = CASE WHEN NOT (" OURS ") THEN alert_sessions.completed_at_us"              \
    " WHEN excluded.status = 'in_progress' THEN NULL"                                              \
    " WHEN " NEWER " THEN excluded.completed_at_us ELSE alert_sessions.last_seen_ms * 1000 END,"   \
    " error_message = CASE WHEN " OURS " AND " NEWER " THEN excluded.error_message"                \
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

static const char begin_sql[] =
    "INSERT INTO alert_sessions (session_id, first_seen_ms, agent_type, alert_type, status,"
    " started_at_us, key_name, subject, model, title, named)"
    " VALUES ($1, $2, 'gateway', $3, 'in_progress', $4, $5, $6, $7, $8, $9)"
    " ON CONFLICT (session_id) DO UPDATE SET"
    " status = CASE WHEN " OURS " THEN 'in_progress' ELSE alert_sessions.status END,"
    " completed_at_us = CASE WHEN " OURS " THEN NULL ELSE alert_sessions.completed_at_us END,"
    " title = coalesce(alert_sessions.title, excluded.title)";

static int64_t ended_ms(const struct store_call *row)
{
    return row->ended_ms >= 0 ? row->ended_ms : row->started_ms;
}

static bool failed(const struct store_call *row)
{
    return row->error_code.n > 0 || row->status >= 400;
}

static struct db_value tokens(int64_t n)
{
    return db_int(n > 0 ? n : 0);
}

str engine_title(struct engine *en, const struct store_call *row)
{
    size_t end = str_find(row->asked, STR("\n"));
    str line = str_slice(row->asked, 0, end == STR_NONE ? row->asked.n : end);

    return engine_clean(en, utf8_cut_count(line, TITLE_MAX));
}

static bool put_session(struct engine *en, const struct store_call *row, str named, struct err *e)
{
    struct db_value args[] = {
        db_text(row->session_id),
        db_text(row->id),
        engine_known(row->started_ms),
        engine_known(ended_ms(row)),
        engine_text(row->dialect),
        db_text(failed(row) ? STR("failed") : STR("completed")),
        engine_known(engine_us(row->started_ms)),
        engine_known(engine_us(ended_ms(row))),
        failed(row) ? engine_text(engine_clean(en, row->error_message)) : db_null(),
        engine_text(row->key_name),
        engine_text(row->subject),
        engine_text(row->model),
        engine_text(engine_title(en, row)),
        tokens(row->input_tokens),
        tokens(row->output_tokens),
        tokens(row->reasoning_tokens),
        row->cost_usd >= 0 ? db_real(row->cost_usd) : db_null(),
        db_int(row->has_reasoning),
        engine_text(named),
    };

    return db_run(
        en->db, engine_pieces_none(en) ? session_alone_sql : session_sql, args, COUNT_OF(args), e);
}

/* ---- tools ---- */

static const char put_tool_sql[] =
    "INSERT INTO call_tools (tool, call_n) VALUES ($1, $2) ON CONFLICT DO NOTHING";

bool engine_call_tools(struct engine *en, const struct store_call *row, int64_t call_n,
                       const char *sql, struct err *e)
{
    const struct json_node *root, *v;
    struct err bad;
    unsigned n = 0;

    if (row->tools.n == 0 || row->decision.n == 0 || !json_parse(&en->doc, row->tools, &bad))
        return true;
    root = json_root(&en->doc);
    for (v = json_first(&en->doc, root); v && n < TOOLS_MAX; n++) {
        struct db_value args[2] = {db_null(), db_int(call_n)};
        str name;

        if (json_text(&en->doc, v, &en->arena, &name)) {
            args[0] = db_text(engine_clean_name(en, name));
            if (!db_run(en->db, sql, args, 2, e))
                return false;
        }
        v = json_next(&en->doc, root, v);
    }
    return true;
}

/* ---- all of it ---- */

bool engine_call_put(struct engine *en, struct store_call *row, struct err *e)
{
    struct db_value values[ENGINE_COLUMNS_MAX];
    struct texts_place at;
    str named;

    row->id = engine_clean_name(en, row->id);
    if (!engine_pieces_join(en, row, e))
        return false;
    engine_row_clean(en, row);
    if (!engine_own(en, row, &named, e))
        return false;
    engine_usage_add(en, row);
    at.call_n = ++en->last_n;
    if (!engine_block_put(en, ENGINE_NEW, row, &at, e))
        return false;
    engine_audit_record(en, row, at.call_n);
    return db_run(en->db,
                  en->text[ENGINE_PUT_CALL].p,
                  values,
                  engine_row_values(row, &at, values),
                  e) &&
           engine_call_tools(en, row, at.call_n, put_tool_sql, e) &&
           engine_pieces_drop(en, row->id, e) && put_session(en, row, named, e);
}

bool engine_call_begin(struct engine *en, struct store_call *row, str body, struct err *e)
{
    struct store_piece piece;
    str named;

    engine_row_clean(en, row);
    if (!engine_own(en, row, &named, e))
        return false;
    piece = (struct store_piece){row->id, 0, STR(ENGINE_BEGIN_KIND), body};
    struct db_value args[] = {
        db_text(row->session_id),
        engine_known(row->started_ms),
        engine_text(row->dialect),
        engine_known(engine_us(row->started_ms)),
        engine_text(row->key_name),
        engine_text(row->subject),
        engine_text(row->model),
        engine_text(engine_title(en, row)),
        engine_text(named),
    };

    return engine_piece_put(en, &piece, row->session_id, e) &&
           db_run(en->db, begin_sql, args, COUNT_OF(args), e);
}
