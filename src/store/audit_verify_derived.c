/* audit_verify_derived.c - rows that the log does not know, and rows derived from known ones.
 *
 * What a session says of itself is counted, or taken, from its calls: so it is counted again. While
 * a call of it runs, which its pieces show, what that call may have set is left out. Each rule is a
 * query for what breaks it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/audit_verify_state.h"

#define US_MAX "9223372036854775" /* ms beyond it are no time */

#define FAILED "(i.error_code IS NOT NULL OR i.status >= 400)"
#define ENDED                                                                                      \
    "CASE WHEN i.ended_ms >= 0 THEN i.ended_ms WHEN i.started_ms <> -1 THEN i.started_ms END"
#define RUNS "EXISTS (SELECT 1 FROM call_pieces p WHERE p.session_id = s.session_id)"
#define OURS "coalesce(s.agent_type, 'gateway') = 'gateway'"
#define A_CALL "EXISTS (SELECT 1 FROM llm_interactions i WHERE i.session_id = s.session_id AND "
#define TOKENS(name)                                                                               \
    "sum(CASE WHEN i." name " > 1099511627776 THEN 1099511627776 WHEN i." name " > 0 THEN i." name \
    " ELSE 0 END) AS " name
#define CALLS                                                                                      \
    "(SELECT i.session_id, count(*) AS n, " TOKENS("input_tokens") ", " TOKENS(                    \
        "output_tokens") ", " TOKENS("reasoning_tokens") ", sum(i.cost_usd) AS cost,"              \
                                                         " max(i.has_reasoning) AS thought,"       \
                                                         " min(CASE WHEN i.started_ms <> -1 THEN"  \
                                                         " i.started_ms END) AS first,"            \
                                                         " max(coalesce(" ENDED ", 0)) AS last"    \
                                                         " FROM llm_interactions i"                \
                                                         " GROUP BY i.session_id) c"
/* Whether a session's column is wrong: it has a value that none of these calls has, or no value
 * although one of them has. */
#define SAID(column, of_call)                                                                      \
    "(s." column " IS NOT NULL AND NOT " A_CALL of_call " = s." column ")) OR (s." column          \
    " IS NULL AND " A_CALL of_call " IS NOT NULL))"

struct rule {
    const char *sql; /* its only column names the subject */
    const char *why;
};

static const struct rule rules[] = {
    {"SELECT i.session_id FROM llm_interactions i WHERE NOT EXISTS"
     " (SELECT 1 FROM alert_sessions s WHERE s.session_id = i.session_id)",
     "the session of a call is missing"},
    {"SELECT s.session_id FROM alert_sessions s LEFT JOIN " CALLS
     " ON c.session_id = s.session_id WHERE s.call_count <> coalesce(c.n, 0)"
     " OR s.input_tokens <> coalesce(c.input_tokens, 0)"
     " OR s.output_tokens <> coalesce(c.output_tokens, 0)"
     " OR s.reasoning_tokens <> coalesce(c.reasoning_tokens, 0)"
     " OR s.has_reasoning <> coalesce(c.thought, 0)"
     " OR abs(coalesce(s.cost_usd, -1) - coalesce(c.cost, -1)) >"
     " 0.000000001 * (1 + abs(coalesce(c.cost, 0)))"
     " OR coalesce(s.last_seen_ms, 0) <> coalesce(c.last, 0)"
     " OR (coalesce(s.first_seen_ms, -1) <> coalesce(c.first, -1) AND NOT " RUNS ")",
     "a session does not add up"},
    {"SELECT s.session_id FROM alert_sessions s WHERE s.tool_count <> (SELECT count(*) FROM"
     " mcp_communications t WHERE t.session_id = s.session_id)",
     "a session does not add up"},
    {"SELECT s.session_id FROM alert_sessions s WHERE s.tool_call_count <> (SELECT count(*) FROM"
     " mcp_communications t WHERE t.session_id = s.session_id AND t.communication_type ="
     " 'tool_call') + (SELECT coalesce(sum(i.tool_count), 0) FROM llm_interactions i WHERE"
     " i.session_id = s.session_id)",
     "a session does not add up"},
    {"SELECT s.session_id FROM alert_sessions s WHERE s.call_count > 0 AND NOT " A_CALL
     "coalesce(" ENDED ", 0) = coalesce(s.last_seen_ms, 0) AND coalesce(i.model, '') ="
     " coalesce(s.model, '') AND s.outcome = CASE WHEN " FAILED " THEN 'failed' ELSE 'completed'"
     " END AND (NOT (" OURS ") OR " FAILED " OR s.error_message IS NULL))",
     "a session does not end as its last call did"},
    {"SELECT s.session_id FROM alert_sessions s WHERE " OURS " AND (s.status <> CASE WHEN " RUNS
     " THEN 'in_progress' ELSE coalesce(s.outcome,"
     " 'in_progress') END OR coalesce(s.completed_at_us, -1) <> CASE WHEN " RUNS
     " OR s.outcome IS NULL OR s.last_seen_ms IS NULL OR s.last_seen_ms > " US_MAX
     " THEN -1 ELSE s.last_seen_ms * 1000 END)",
     "a session is not in the state of its calls"},
    {"SELECT s.session_id FROM alert_sessions s WHERE " OURS " AND NOT " RUNS
     " AND coalesce(s.started_at_us, -1) <> CASE WHEN s.first_seen_ms IS NULL OR"
     " s.first_seen_ms > " US_MAX " THEN -1 ELSE s.first_seen_ms * 1000 END AND NOT EXISTS"
     " (SELECT 1 FROM mcp_communications t WHERE t.session_id = s.session_id AND"
     " t.timestamp_us = s.started_at_us)",
     "a session did not begin when it says"},
    {"SELECT s.session_id FROM alert_sessions s WHERE " OURS
     " AND ((s.call_count = 0 AND s.tool_count = 0 AND NOT " RUNS ") OR s.alert_id IS NOT NULL OR"
     " s.alert_data IS NOT NULL OR s.session_metadata IS NOT NULL OR s.final_analysis IS NOT"
     " NULL)",
     "there is a session that the log does not know"},
    {"SELECT s.session_id FROM alert_sessions s WHERE " OURS " AND NOT " RUNS
     " AND (" SAID("key_name", "i.key_name") " OR " SAID("alert_type", "i.dialect") ")",
     "a session is not the one of its calls"},
    {"SELECT s.session_id FROM alert_sessions s WHERE NOT " RUNS
     " AND (" SAID("subject", "i.subject") ")",
     "a session is not the one of its calls"},
    {"SELECT s.session_id FROM alert_sessions s WHERE s.call_count = 0 AND s.title IS NOT NULL AND"
     " NOT " RUNS,
     "a session is not the one of its calls"},
    {"SELECT receipt_id FROM erasures WHERE scrubbed NOT IN (0, 1)",
     "a receipt is not as it was given"},
    {"SELECT 'block ' || t.block || ' place ' || t.block_n FROM call_texts t LEFT JOIN"
     " llm_interactions i ON i.call_n = t.call_n WHERE i.block IS NULL OR i.block <> t.block OR"
     " i.block_n <> t.block_n",
     "an open block has texts that no call has"},
    {"SELECT 'block ' || t.block || ' place ' || t.block_n FROM call_texts t JOIN call_blocks b ON"
     " b.block = t.block",
     "a packed block has texts beside it"},
};

/* While calls of before blocks are being moved into them. */
static const struct rule moving_rules[] = {
    {"SELECT o.interaction_id FROM old_interactions o LEFT JOIN llm_interactions i ON"
     " i.interaction_id = o.interaction_id WHERE i.interaction_id IS NULL OR i.block IS NOT NULL",
     "old_interactions has texts that no call has"},
    {"SELECT o.interaction_id FROM old_segments o LEFT JOIN llm_interactions i ON"
     " i.interaction_id = o.interaction_id WHERE i.interaction_id IS NULL",
     "old_segments has texts that no call has"},
    {"SELECT o.interaction_id FROM old_decisions o LEFT JOIN llm_interactions i ON"
     " i.interaction_id = o.interaction_id WHERE i.interaction_id IS NULL",
     "old_decisions has texts that no call has"},
};

static bool audit_verify_report_row(void *ctx, const struct db_value *c, size_t n)
{
    struct verify *v = ((void **)ctx)[0];
    const struct rule *rule = ((void **)ctx)[1];

    assert(n == 1);
    verify_wrong(v, 0, rule->why, c[0].s);
    return false;
}

static bool audit_verify_follow(struct verify *v, const struct rule *all, size_t n, struct err *e)
{
    for (size_t i = 0; i < n && v->r->ok; i++) {
        void *both[] = {v, (void *)(uintptr_t)&all[i]};

        if (!db_query(
                v->db, all[i].sql, DB_NO_ARGS, (struct db_rows){audit_verify_report_row, both}, e))
            return false;
    }
    return true;
}

/* Checks that there is an entry for each row. */
static bool audit_verify_count_rows(struct verify *v, struct err *e)
{
    const struct {
        const char *sql;
        int64_t expected;
        const char *why;
    } tables[] = {
        {"SELECT count(*) FROM llm_interactions",
         v->calls,
         "there are calls that the log does not know"},
        {"SELECT count(*) FROM mcp_communications",
         v->tools,
         "there are tool calls that the log does not know"},
        {"SELECT count(*) FROM call_tools",
         v->named_total,
         "there are tools in call_tools that no call called"},
        {"SELECT count(*) FROM erasures",
         v->receipts,
         "there are receipts that the log does not know"},
        {"SELECT count(*) FROM store_counters WHERE call_n >= $1 AND call_n >= (SELECT"
         " coalesce(max(call_n), 0) FROM llm_interactions) AND block >= (SELECT"
         " coalesce(max(block), 0) FROM call_blocks) AND moved_to <= block AND moved >= (SELECT"
         " coalesce(max(block), 0) FROM call_blocks WHERE block <= moved_to)",
         1,
         "store_counters is lower than the numbers of calls or blocks, or empty"},
    };
    struct db_value last_n = db_int(v->last_n);

    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        int64_t n = 0;

        if (!db_number(v->db, tables[i].sql, &last_n, strstr(tables[i].sql, "$1") ? 1 : 0, &n, e))
            return false;
        if (n != tables[i].expected)
            verify_wrong(v, 0, tables[i].why, STR(""));
    }
    return true;
}

/* Only a session that was renamed for another key has `named`, the name that the key asked for. */
static bool audit_verify_judge_name(void *ctx, const struct db_value *c, size_t n)
{
    struct verify *v = ctx;
    str id = c[0].s, key = c[2].type == DB_NULL ? STR("") : c[2].s, name, mark;
    bool own = false;
    size_t at = id.n;

    assert(n == 3);
    while (at > 0 && id.p[at - 1] != '~')
        at--;
    arena_reset(&v->arena);
    name = str_slice(id, 0, at > 0 ? at - 1 : 0);
    if (at > 0 && id.n - at == ENGINE_MARK_SIZE) {
        mark = audit_name(v->key, arena_join(&v->arena, name, STR("\n"), key), &v->arena);
        own = str_eq(str_slice(mark, 0, ENGINE_MARK_SIZE), str_slice(id, at, id.n));
    }
    if (own != (c[1].type != DB_NULL) || (own && !str_eq(name, c[1].s)))
        verify_wrong(v, 0, "a session is not of the name it was given", id);
    return v->r->ok;
}

bool verify_rest(struct verify *v, struct err *e)
{
    assert(v->r->ok);
    if (!audit_verify_count_rows(v, e))
        return false;
    if (!audit_verify_follow(v, rules, COUNT_OF(rules), e) ||
        (v->moving && !audit_verify_follow(v, moving_rules, COUNT_OF(moving_rules), e)))
        return false;
    return !v->r->ok || db_query(v->db,
                                 "SELECT session_id, named, key_name FROM alert_sessions"
                                 " WHERE named IS NOT NULL OR session_id LIKE '%~%'",
                                 DB_NO_ARGS,
                                 (struct db_rows){audit_verify_judge_name, v},
                                 e);
}
