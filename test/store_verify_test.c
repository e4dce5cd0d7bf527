/* The audit log also protects sessions, tools of calls, and receipts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store_help.h"

/* A closed store with one of each: two sessions of two keys with the same name, an application's
 * session with calls and one without, a failed one, and an erased one. */
static void make_all(struct place *p)
{
    struct store_session app = {.id = STR("app"),
                                .alert_id = STR("alert-1"),
                                .agent_type = STR("incident"),
                                .alert_type = STR(""),
                                .status = STR("in_progress"),
                                .alert_data = STR("{\"pod\":\"a\"}"),
                                .session_metadata = STR("{}"),
                                .error_message = STR(""),
                                .final_analysis = STR(""),
                                .started_us = 900000,
                                .completed_us = -1,
                                .key_name = STR("")};
    struct store_tool tool = {.id = STR("tool-1"),
                              .session_id = STR("app"),
                              .tool_name = STR("look"),
                              .result = STR("42"),
                              .timestamp_us = 950000,
                              .duration_ms = -1,
                              .success = true};
    static const struct {
        const char *id, *session, *key, *asked, *error;
    } calls[] = {
        {"c-1", "s", "alice", "first", ""},
        {"c-2", "s", "alice", "second", ""},
        {"c-3", "s", "bob", "of another", ""},
        {"c-4", "broken", "alice", "and this", "overloaded"},
        {"c-5", "app", "", "of the application", ""},
        {"c-6", "gone", "alice", "to be erased", ""},
    };
    struct store_receipt receipt;
    struct store *s;
    struct err e;

    place_init(p);
    s = open_store(p);
    store_session_put(s, &app);
    store_tool_put(s, &tool);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        struct store_call row = store_call_none;

        row.id = str_c(calls[i].id);
        row.session_id = str_c(calls[i].session);
        row.key_name = row.subject = str_c(calls[i].key);
        row.route = row.key_name.n ? STR("/v1/chat/completions") : STR("agent:incident");
        row.asked = str_c(calls[i].asked);
        row.error_code = row.error_message = str_c(calls[i].error);
        row.dialect = STR("openai");
        row.model = STR("m");
        row.status = row.error_code.n ? 500 : 200;
        row.started_ms = 1000 + (int64_t)i;
        row.ended_ms = 2000 + (int64_t)i;
        row.input_tokens = 7;
        row.cost_usd = 0.1;
        row.answer = STR("an answer");
        row.decision = STR("[TOOL_CALL] look, see: because");
        row.tools = STR("[\"look\",\"see\",\"look\"]");
        store_call_put(s, &row, NULL);
    }
    app.status = STR("completed");
    app.final_analysis = STR("all is well");
    app.completed_us = 3000000;
    store_session_put(s, &app);
    app.id = STR("quiet"); /* a session without calls */
    store_session_put(s, &app);
    settle(s);
    CHECK_F(
        store_erase(s, STORE_ERASE_SESSION, STR("gone"), STR("op"), &receipt, &e), "%s", e.text);
    store_close(s);
}

/* Forged inserts and updates; a test below also changes each column of each table. */
static const char *const inserts[] = {
    "INSERT INTO alert_sessions (session_id, status) VALUES ('forged', 'completed')",
    "INSERT INTO alert_sessions (session_id, status, agent_type) VALUES ('forged', 'completed',"
    " 'incident')",
    "INSERT INTO call_tools (tool, call_n) VALUES ('forged', 1)",
    "INSERT INTO call_tools (tool, call_n) VALUES ('look', 999)",
    "INSERT INTO erasures (receipt_id, erased_at_us, sessions, interactions, decisions,"
    " communications, head_hash) VALUES ('x', 1, 1, 1, 1, 1, 'x')",
    "INSERT INTO mcp_communications (communication_id, session_id) VALUES ('x', 's')",
    "INSERT INTO llm_interactions (call_n, interaction_id, session_id) VALUES (999, 'x', 's')",
    "UPDATE alert_sessions SET status = 'in_progress', completed_at_us = NULL WHERE session_id ="
    " 's'",
    "UPDATE alert_sessions SET outcome = 'completed', status = 'completed', error_message = NULL"
    " WHERE session_id = 'broken'",
    "UPDATE alert_sessions SET final_analysis = NULL WHERE session_id = 'app'",
    "UPDATE alert_sessions SET agent_type = 'gateway' WHERE session_id = 'app'",
    "UPDATE alert_sessions SET key_name = 'bob' WHERE session_id = 's'",
    "UPDATE alert_sessions SET key_name = 'alice' WHERE session_id = 'app'",
    "UPDATE alert_sessions SET named = NULL",
    "UPDATE alert_sessions SET session_id = 'elsewhere' WHERE session_id = 's'",
    "UPDATE erasures SET sessions = 2",
    "UPDATE alert_sessions SET title = 'first\nline' WHERE session_id = 's'",
    "UPDATE alert_sessions SET title = 'first…' WHERE session_id = 's'",
    "UPDATE alert_sessions SET error_message = 'another' WHERE session_id = 'broken'",
    "UPDATE alert_sessions SET error_message = NULL WHERE session_id = 'broken'",
    "UPDATE alert_sessions SET final_analysis = 'an answer' WHERE session_id = 's'",
    "UPDATE call_tools SET tool = 'other' WHERE tool = 'see'",
    "DELETE FROM alert_sessions WHERE session_id = 's'",
    "DELETE FROM alert_sessions WHERE session_id = 'app'",
    "DELETE FROM alert_sessions WHERE session_id = 'quiet'",
    "DELETE FROM call_tools WHERE tool = 'see'",
    "DELETE FROM mcp_communications",
    "DELETE FROM erasures",
};

static void check_seen(const char *sql)
{
    struct audit_report r;
    struct place p;

    make_all(&p);
    r = verify(&p);
    CHECK_F(r.ok, "before %s: %lld: %s", sql, (long long)r.bad_seq, r.why);
    do_sql(&p, sql);
    CHECK_F(!verify(&p).ok, "%s", sql);
    place_release(&p);
}

TEST(rows_that_are_not_of_the_log_or_gone_from_it_are_seen)
{
    for (size_t i = 0; i < COUNT_OF(inserts); i++)
        check_seen(inserts[i]);
}

/* Each column of each kind of session: texts, then numbers. */
TEST(no_column_of_a_session_can_be_changed)
{
    static const char *const texts[] = {"alert_id",
                                        "agent_type",
                                        "alert_type",
                                        "status",
                                        "alert_data",
                                        "session_metadata",
                                        "error_message",
                                        "final_analysis",
                                        "key_name",
                                        "subject",
                                        "model",
                                        "title",
                                        "outcome",
                                        "named"};
    static const char *const numbers[] = {"first_seen_ms",
                                          "last_seen_ms",
                                          "call_count",
                                          "started_at_us",
                                          "completed_at_us",
                                          "tool_count",
                                          "tool_call_count",
                                          "input_tokens",
                                          "output_tokens",
                                          "reasoning_tokens",
                                          "cost_usd",
                                          "has_reasoning"};
    static const char *const sessions[] = {"'s'", "'app'"};
    char sql[200];
    size_t n = COUNT_OF(texts) + COUNT_OF(numbers);
    struct place p;

    make_all(&p);
    do_sql(&p, "CREATE TABLE kept AS SELECT * FROM alert_sessions");
    for (size_t i = 0; i < COUNT_OF(sessions) * n; i++) {
        const char *session = sessions[i / n];
        size_t k = i % n;
        const char *column = k < COUNT_OF(texts) ? texts[k] : numbers[k - COUNT_OF(texts)];

        if (k < COUNT_OF(texts))
            snprintf(sql,
                     sizeof sql,
                     "UPDATE alert_sessions SET %s = coalesce(%s, '') || 'x' WHERE session_id = %s",
                     column,
                     column,
                     session);
        else
            snprintf(sql,
                     sizeof sql,
                     "UPDATE alert_sessions SET %s = coalesce(%s, 0) + 1 WHERE session_id = %s",
                     column,
                     column,
                     session);
        do_sql(&p, sql);
        CHECK_F(!verify(&p).ok, "%s", sql);
        do_sql(&p, "DELETE FROM alert_sessions; INSERT INTO alert_sessions SELECT * FROM kept");
        CHECK_F(verify(&p).ok, "%s", sql);
    }
    place_release(&p);
}

TEST(every_column_of_a_receipt_is_held)
{
    static const char *const columns[] = {"erased_at_us",
                                          "sessions",
                                          "interactions",
                                          "decisions",
                                          "communications",
                                          "threads",
                                          "runs",
                                          "scrubbed"};
    char sql[200];
    struct place p;

    make_all(&p);
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        snprintf(sql, sizeof sql, "UPDATE erasures SET %s = %s + 1", columns[i], columns[i]);
        do_sql(&p, sql);
        CHECK_F(!verify(&p).ok, "%s", sql);
        snprintf(sql, sizeof sql, "UPDATE erasures SET %s = %s - 1", columns[i], columns[i]);
        do_sql(&p, sql);
        CHECK_F(verify(&p).ok, "%s", sql);
    }
    do_sql(&p, "UPDATE erasures SET head_hash = 'x'");
    CHECK(!verify(&p).ok);
    place_release(&p);
}

TEST_MAIN(T(rows_that_are_not_of_the_log_or_gone_from_it_are_seen),
          T(no_column_of_a_session_can_be_changed), T(every_column_of_a_receipt_is_held))
