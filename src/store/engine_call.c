/* engine_call.c - stores a call and what depends on it: its texts in a block, the tools that it
 * called, its session's sums.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/engine_state.h"
#include "store/title.h"

#define TOOLS_MAX 1000u

static const char begin_sql[] =
    "INSERT INTO alert_sessions (session_id, first_seen_ms, agent_type, alert_type, status,"
    " started_at_us, key_name, subject, model, title, named)"
    " VALUES ($1, $2, 'gateway', $3, 'in_progress', $4, $5, $6, $7, $8, $9)"
    " ON CONFLICT (session_id) DO UPDATE SET"
    " status = CASE WHEN " ENGINE_SESSION_IS_OURS
    " THEN 'in_progress' ELSE alert_sessions.status END,"
    " completed_at_us = CASE WHEN " ENGINE_SESSION_IS_OURS
    " THEN NULL ELSE alert_sessions.completed_at_us END,"
    " title = coalesce(alert_sessions.title, excluded.title)";

bool engine_title_fits(struct engine *en, const struct store_call *row, str title)
{
    char out[TITLE_SIZE];

    return str_eq(title, engine_clean(en, title_of(row->asked, out))) ||
           str_eq(title, engine_clean(en, title_of_earlier_versions(row->asked)));
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
            if (!(sql == put_tool_sql ? db_put : db_run)(en->db, sql, args, 2, e))
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

    assert(row->id.n > 0 && en->blocks_known);
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
    return db_put(en->db,
                  en->text[ENGINE_PUT_CALL].p,
                  values,
                  engine_row_values(row, &at, values),
                  e) &&
           engine_call_tools(en, row, at.call_n, put_tool_sql, e) &&
           engine_pieces_drop(en, row->id, e) && engine_session_add(en, row, named, e);
}

bool engine_call_begin(struct engine *en, struct store_call *row, str body, struct err *e)
{
    struct store_piece piece;
    char title[TITLE_SIZE];
    str named;

    engine_row_clean(en, row);
    if (!engine_own(en, row, &named, e) || !engine_sessions_write_with(en, row->session_id, e))
        return false;
    assert(row->id.n > 0 && row->session_id.n > 0);
    piece = (struct store_piece){row->id, 0, STR(ENGINE_BEGIN_KIND), body, 0};
    struct db_value args[] = {
        db_text(row->session_id),
        engine_known(row->started_ms),
        db_text_or_null(row->dialect),
        engine_known(engine_us(row->started_ms)),
        db_text_or_null(row->key_name),
        db_text_or_null(row->subject),
        db_text_or_null(row->model),
        db_text_or_null(engine_clean(en, title_of(row->asked, title))),
        db_text_or_null(named),
    };

    return engine_piece_put(en, &piece, row->session_id, e) &&
           db_run(en->db, begin_sql, args, COUNT_OF(args), e);
}
