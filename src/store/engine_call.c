/* engine_call.c - a call and what follows from it: its session's sums, its entry in the decision
 * log, the stretches of its reply.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "store/engine_in.h"
#include "store/row.h"

#define TITLE_MAX 120u /* characters */
#define SEGMENTS_MAX 10000u
#define TOOLS_MAX 1000u

/* A session runs while there is another call of it that has begun and not ended. What it came to is
 * what its last call came to; an application that runs the session says so itself. */
#define RUNS "EXISTS (SELECT 1 FROM call_pieces WHERE session_id = $1 AND call_id <> $2)"
#define RUNS_NOT "1 = 0"
#define NEWER "coalesce(excluded.last_seen_ms, 0) >= coalesce(alert_sessions.last_seen_ms, 0)"
#define OURS "coalesce(alert_sessions.agent_type, 'gateway') = 'gateway'"

#define SESSION(runs)                                                                              \
    "INSERT INTO alert_sessions (session_id, first_seen_ms, last_seen_ms, call_count, agent_type," \
    " alert_type, status, outcome, started_at_us, completed_at_us, error_message, final_analysis," \
    " key_name, subject, model, title, input_tokens, output_tokens, reasoning_tokens, cost_usd,"   \
    " has_reasoning, named)"                                                                       \
    " VALUES ($1, $3, $4, 1, 'gateway', $5, CASE WHEN " runs                                       \
    " THEN 'in_progress' ELSE $6 END, $6,"                                                         \
    " $7, CASE WHEN " runs " THEN NULL ELSE CAST($8 AS BIGINT) END, $9, $10, $11, $12, $13, $14,"  \
    " $15, $16, $17, $18, $19, $20)"                                                               \
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
    " final_analysis = CASE WHEN " OURS " AND " NEWER " THEN excluded.final_analysis"              \
    " ELSE alert_sessions.final_analysis END,"                                                     \
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

static struct db_value title(const struct store_call *row)
{
    size_t end = str_find(row->asked, STR("\n"));
    str line = str_slice(row->asked, 0, end == STR_NONE ? row->asked.n : end);

    return engine_text(utf8_cut_count(line, TITLE_MAX));
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
        failed(row) ? engine_text(row->error_message) : db_null(),
        engine_text(row->answer),
        engine_text(row->key_name),
        engine_text(row->subject),
        engine_text(row->model),
        title(row),
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

/* ---- the decision log ---- */

/* No statement here is INSERT ... SELECT, and none has a trigger: for each such SQLite opens a
 * savepoint, upon which FTS5 writes out all it has gathered, three times the work of all else. */

static bool put_tools(struct engine *en, const struct store_call *row, struct err *e)
{
    const struct json_node *root, *v;
    struct err bad;
    unsigned n = 0;

    if (row->tools.n == 0 || !json_parse(&en->doc, row->tools, &bad))
        return true;
    root = json_root(&en->doc);
    for (v = json_first(&en->doc, root); v && n < TOOLS_MAX; n++) {
        struct db_value args[2] = {db_text(row->id)};
        str name;

        if (json_text(&en->doc, v, &en->arena, &name)) {
            args[1] = db_text(engine_clean_name(en, name));
            if (!db_run(en->db,
                        "INSERT INTO decision_tools (tool, decision_id) VALUES ($2,"
                        " (SELECT decision_id FROM decisions WHERE interaction_id = $1))"
                        " ON CONFLICT DO NOTHING",
                        args,
                        2,
                        e))
                return false;
        }
        v = json_next(&en->doc, root, v);
    }
    return true;
}

static bool put_decision(struct engine *en, const struct store_call *row, struct err *e)
{
    bool tool = str_starts(row->decision, STR("[TOOL_CALL]"));
    int64_t us = engine_us(ended_ms(row));
    struct db_value args[] = {
        db_text(row->id),
        db_text(row->session_id),
        db_int(us < 0 ? 0 : us),
        db_text(tool ? STR("TOOL_CALL") : STR("DIRECT")),
        engine_text(row->tools),
        engine_text(row->model),
        db_text(row->decision),
    };

    if (row->decision.n == 0)
        return true;
    return db_run(en->db,
                  "INSERT INTO decisions (interaction_id, session_id, timestamp_us, kind, tools,"
                  " model, entry) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
                  args,
                  COUNT_OF(args),
                  e) &&
           (en->kind != DB_SQLITE ||
            db_run(en->db,
                   "INSERT INTO decisions_text (rowid, entry) VALUES (last_insert_rowid(), $1)",
                   &args[6],
                   1,
                   e)) &&
           put_tools(en, row, e);
}

/* ---- the stretches of the reply ---- */

static struct db_value text_of(struct engine *en, const struct json_node *v, const char *key)
{
    str text;

    if (!json_text(&en->doc, json_find(&en->doc, v, str_c(key)), &en->arena, &text))
        return db_null();
    return engine_text(engine_clean(en, text));
}

/* The text of a stretch: its own, or the part of the row's that it says; a tool call's is the
 * call. */
static struct db_value stretch_of(struct engine *en, const struct store_call *row,
                                  const struct json_node *v)
{
    bool reasoning = json_is(&en->doc, json_find(&en->doc, v, STR("kind")), STR("reasoning"));
    bool answer = json_is(&en->doc, json_find(&en->doc, v, STR("kind")), STR("answer"));
    str whole = reasoning ? row->reasoning : row->answer;
    int64_t at, size;
    struct err bad;

    if (json_find(&en->doc, v, STR("text")) ||
        !json_i64(&en->doc, json_find(&en->doc, v, STR("at")), &at) || at < 0)
        return text_of(en, v, "text");
    if (!reasoning && !answer) {
        const struct json_node *call = NULL;

        if (json_parse(&en->calls, row->tool_calls, &bad))
            call = json_at(&en->calls, json_root(&en->calls), (size_t)at);
        return call ? engine_text(json_raw(&en->calls, call)) : db_null();
    }
    if (!json_i64(&en->doc, json_find(&en->doc, v, STR("size")), &size) || size <= 0 ||
        (uint64_t)at > whole.n || (uint64_t)size > whole.n - (uint64_t)at)
        return db_null();
    return engine_text(engine_clean(en, str_slice(whole, (size_t)at, (size_t)at + (size_t)size)));
}

static struct db_value number_of(struct engine *en, const struct json_node *v, const char *key)
{
    int64_t n;

    return json_i64(&en->doc, json_find(&en->doc, v, str_c(key)), &n) ? engine_known(n) : db_null();
}

static struct db_value flag_of(struct engine *en, const struct json_node *v, const char *key)
{
    const struct json_node *flag = json_find(&en->doc, v, str_c(key));
    bool set = flag && (flag->kind == JSON_TRUE || (flag->kind == JSON_STRING && flag->size > 2));

    return db_int(set);
}

static bool put_segments(struct engine *en, const struct store_call *row, struct err *e)
{
    const struct json_node *root, *v;
    struct err bad;
    unsigned n = 0;

    if (row->segments.n == 0 || !json_parse(&en->doc, row->segments, &bad))
        return true;
    root = json_root(&en->doc);
    for (v = json_first(&en->doc, root); v && n < SEGMENTS_MAX; v = json_next(&en->doc, root, v)) {
        struct db_value args[] = {
            db_text(row->id),
            db_int(n++),
            text_of(en, v, "kind"),
            stretch_of(en, row, v),
            number_of(en, v, "tokens"),
            flag_of(en, v, "exact"),
            number_of(en, v, "started_us"),
            number_of(en, v, "ended_us"),
            number_of(en, v, "budget"),
            flag_of(en, v, "cut"),
            text_of(en, v, "state"),
        };

        if (root->kind != JSON_ARRAY)
            break;
        if (args[2].type == DB_NULL)
            continue;
        audit_add_values(&en->canon, args + 1, COUNT_OF(args) - 1);
        if (!db_run(en->db,
                    "INSERT INTO reasoning_segments (interaction_id, n, kind, text, tokens, exact,"
                    " started_us, ended_us, budget, cut, state)"
                    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING",
                    args,
                    COUNT_OF(args),
                    e))
            return false;
    }
    return true;
}

/* ---- all of it ---- */

/* Just behind the row, whose number it takes. PostgreSQL makes words of a row by itself. */
static bool put_words(struct engine *en, const struct store_call *row, struct err *e)
{
    struct db_value args[] = {engine_text(row->asked),
                              engine_text(row->answer),
                              engine_text(row->reasoning),
                              engine_text(row->error_message)};

    return en->kind != DB_SQLITE ||
           db_run(en->db,
                  "INSERT INTO interactions_text (rowid, asked, answer, reasoning_content,"
                  " error_message) VALUES (last_insert_rowid(), $1, $2, $3, $4)",
                  args,
                  COUNT_OF(args),
                  e);
}

bool engine_call_put(struct engine *en, struct store_call *row, struct err *e)
{
    struct db_value values[ENGINE_COLUMNS_MAX];
    str named;

    row->id = engine_clean_name(en, row->id);
    if (!engine_pieces_join(en, row, e))
        return false;
    engine_row_clean(en, row);
    if (!engine_own(en, row, &named, e))
        return false;
    engine_usage_add(en, row);
    buf_reset(&en->canon);
    audit_add_row(&en->canon, &row_calls, row);
    return db_run(en->db,
                  en->text[ENGINE_PUT_CALL].p,
                  values,
                  engine_row_values(en, row, values),
                  e) &&
           put_words(en, row, e) && put_segments(en, row, e) &&
           engine_audit_row(en, STR("record"), row->id, STR(""), e) && put_decision(en, row, e) &&
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
        title(row),
        engine_text(named),
    };

    return engine_piece_put(en, &piece, row->session_id, e) &&
           db_run(en->db, begin_sql, args, COUNT_OF(args), e);
}
