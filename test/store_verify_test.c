/* What the audit log guards beside its rows: texts in blocks, sessions, tools of calls, sums by the
 * hour, receipts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "base/rand.h"
#include "store/block.h"
#include "store_help.h"

#include <unistd.h>

/* A store with one of each: sessions of two keys that chose one name, one of an application with
 * calls and one without, one that failed, one that was erased; closed. */
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
    store_session_put(s, &app, NULL);
    store_tool_put(s, &tool, NULL);
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
    store_session_put(s, &app, NULL);
    app.id = STR("quiet"); /* one that asked nothing */
    store_session_put(s, &app, NULL);
    settle(s);
    CHECK_F(
        store_erase(s, STORE_ERASE_SESSION, STR("gone"), STR("op"), &receipt, &e), "%s", e.text);
    store_close(s);
}

/* A table, and what is done to it; each column of each is changed below as well. */
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

/* Every column of a session, of each kind of them: texts, then numbers. */
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

/* ---- texts in blocks ---- */

#define BLOCK_CALLS 80u

static char noise[8000];

static void put_noise(struct store *s, unsigned i, int64_t started_ms)
{
    struct store_call row = store_call_none;
    char id[32], session[32], asked[64], tools[64];

    snprintf(id, sizeof id, "n-%02u", i);
    snprintf(session, sizeof session, "s-%u", i % 7);
    snprintf(asked, sizeof asked, "question %u\nand more of it", i);
    snprintf(tools, sizeof tools, "[\"tool-%u\"]", i % 3);
    row.id = str_c(id);
    row.session_id = str_c(session);
    row.key_name = STR("alice");
    row.model = STR("m");
    row.provider = STR("p");
    row.dialect = STR("openai");
    row.level = STR("high");
    row.cap_tokens = 100;
    row.status = i % 9 == 8 ? 500 : 200;
    row.error_code = row.error_message = row.status == 500 ? str_c(id) : STR("");
    row.started_ms = started_ms;
    row.ended_ms = started_ms + 1000;
    row.input_tokens = i;
    row.output_tokens = 3;
    row.reasoning_tokens = i % 110;
    row.cache_read_tokens = 1;
    row.cost_usd = 0.01 * i;
    row.has_reasoning = true;
    row.complete = true;
    row.cut = i % 4 == 0 ? STR("cap") : STR("");
    row.asked = str_c(asked);
    row.request = (str){noise, 1000 + 13 * i};
    row.reasoning = (str){noise + i, 5000};
    row.answer = i % 5 == 0 ? STR("") : str_c(asked);
    row.decision = i % 2 ? STR("[DIRECT] because") : STR("[TOOL_CALL] tool: because");
    row.tools = str_c(tools);
    store_call_put(s, &row, NULL);
}

static const char *const kept[] = {
    "llm_interactions", "call_blocks", "call_texts", "call_tools", "usage_hours", "store_counters"};

/* Calls in two packed blocks and in an open one, those of session s-6 erased; closed. */
static void make_blocks(struct place *p)
{
    struct store_receipt receipt;
    char sql[100];
    struct rand r;
    struct store *s;
    struct err e;

    rand_init(&r, 7);
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)('!' + rand_below(&r, 90));
    place_init(p);
    s = open_store(p);
    for (unsigned i = 0; i < BLOCK_CALLS; i++)
        put_noise(s, i, 1000 + i);
    settle(s);
    CHECK_F(store_erase(s, STORE_ERASE_SESSION, STR("s-6"), STR("op"), &receipt, &e), "%s", e.text);
    store_close(s);
    CHECK(ask(p, "SELECT count(*) FROM call_blocks") >= 2);
    CHECK(ask(p, "SELECT count(*) FROM call_texts") >= 2);
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        snprintf(sql, sizeof sql, "CREATE TABLE kept_%s AS SELECT * FROM %s", kept[i], kept[i]);
        do_sql(p, sql);
    }
}

static void check_why(struct place *p, const char *what, const char *why)
{
    struct audit_report r = verify(p);
    char sql[200];

    CHECK_F(!r.ok, "%s", what);
    CHECK_F(strstr(r.why, why), "%s: %s", what, r.why);
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        snprintf(sql,
                 sizeof sql,
                 "DELETE FROM %s; INSERT INTO %s SELECT * FROM kept_%s",
                 kept[i],
                 kept[i],
                 kept[i]);
        do_sql(p, sql);
    }
    r = verify(p);
    CHECK_F(r.ok, "after %s: %s", what, r.why);
}

static size_t swap_entries(str *entries, size_t n)
{
    str first = entries[0];

    entries[0] = entries[1];
    entries[1] = first;
    return n;
}

static str changed_entry(str entry, enum block_text which, str text)
{
    static char bytes[100000];
    struct block_texts t;
    struct buf out;
    struct err e;

    CHECK(block_entry_get(entry, &t, &e));
    t.text[which] = text;
    buf_init(&out, sizeof bytes);
    block_entry_put(&t, &out);
    memcpy(bytes, out.p, out.n);
    entry = (str){bytes, out.n};
    buf_release(&out);
    return entry;
}

static size_t replace_reasoning(str *entries, size_t n)
{
    entries[3] = changed_entry(entries[3], BLOCK_REASONING, STR("something else"));
    return n;
}

static size_t replace_decision(str *entries, size_t n)
{
    entries[3] = changed_entry(entries[3], BLOCK_DECISION, STR("[TOOL_CALL] not so"));
    return n;
}

static size_t drop_answer(str *entries, size_t n)
{
    entries[3] = changed_entry(entries[3], BLOCK_ANSWER, STR(""));
    return n;
}

static size_t drop_entry(str *entries, size_t n)
{
    entries[2] = STR("");
    return n;
}

static size_t break_entry(str *entries, size_t n)
{
    entries[2] = STR("\xff not an entry");
    return n;
}

/* The place of n-06, which was erased. */
static size_t fill_erased(str *entries, size_t n)
{
    CHECK_INT(entries[6].n, 0);
    entries[6] = entries[5];
    return n;
}

static size_t append_entry(str *entries, size_t n)
{
    entries[n] = entries[0];
    return n + 1;
}

TEST(a_text_in_a_block_cannot_be_changed)
{
    static const struct {
        const char *what;
        size_t (*edit)(str *entries, size_t n);
        const char *why;
    } edits[] = {
        {"two entries swapped", swap_entries, "a call does not have the texts that its row says"},
        {"reasoning replaced", replace_reasoning, "a call is not as it was stored"},
        {"decision replaced", replace_decision, "not of the kind that its row says: n-03"},
        {"answer dropped", drop_answer, "does not have the texts that its row says: n-03"},
        {"entry dropped", drop_entry, "does not have the texts that its row says: n-02"},
        {"entry damaged", break_entry, "the texts of a call cannot be read: n-02"},
        {"erased text put back", fill_erased, "texts that no call has: block 1"},
        {"entry added", append_entry, "texts that no call has: block 1"},
    };
    struct audit_report r;
    struct place p;

    make_blocks(&p);
    r = verify(&p);
    CHECK_F(r.ok, "%lld: %s", (long long)r.bad_seq, r.why);
    for (size_t i = 0; i < COUNT_OF(edits); i++) {
        block_change(&p, 1, edits[i].edit);
        check_why(&p, edits[i].what, edits[i].why);
    }
    place_release(&p);
}

#define SWAP_BLOCKS                                                                                \
    "CREATE TABLE two AS SELECT * FROM call_blocks; UPDATE call_blocks SET texts = (SELECT"        \
    " t.texts FROM two t WHERE t.block = 3 - call_blocks.block), calls = (SELECT t.calls FROM two" \
    " t WHERE t.block = 3 - call_blocks.block), raw_size = (SELECT t.raw_size FROM two t WHERE"    \
    " t.block = 3 - call_blocks.block) WHERE block IN (1, 2); DROP TABLE two"

TEST(blocks_and_the_places_of_calls_cannot_be_changed)
{
    static const struct {
        const char *sql, *postgres, *why;
    } crimes[] = {
        {SWAP_BLOCKS, NULL, "call"},
        {"UPDATE call_blocks SET block = -1 WHERE block = 1; UPDATE call_blocks SET block = 1 WHERE"
         " block = 2; UPDATE call_blocks SET block = 2 WHERE block = -1",
         NULL,
         "call"},
        {"DELETE FROM call_blocks WHERE block = 2", NULL, "texts that its row says"},
        {"UPDATE call_blocks SET texts = substr(texts, 1, 100) WHERE block = 1",
         NULL,
         "the texts of a call cannot be read: n-00: block 1"},
        {"INSERT INTO call_blocks SELECT 999, 999, 999, calls, raw_size, texts FROM call_blocks"
         " WHERE block = 1; UPDATE store_counters SET block = 999",
         NULL,
         "a block has texts that no call has: block 999"},
        {"INSERT INTO call_blocks VALUES (999, 999, 999, 1, 1, x'00'); UPDATE store_counters SET"
         " block = 999",
         "INSERT INTO call_blocks VALUES (999, 999, 999, 1, 1, '\\x00'); UPDATE store_counters SET"
         " block = 999",
         "a block cannot be read: block 999"},
        {"UPDATE call_blocks SET calls = calls + 1 WHERE block = 1", NULL, "not of the size"},
        {"UPDATE call_blocks SET raw_size = 7 WHERE block = 1", NULL, "not of the size"},
        {"UPDATE call_blocks SET first_n = 2 WHERE block = 1", NULL, "texts that no call has"},
        {"UPDATE call_blocks SET last_n = 1000 WHERE block = 1", NULL, "does not follow"},
        {"DELETE FROM call_texts WHERE block_n = (SELECT max(block_n) FROM call_texts)",
         NULL,
         "a call does not have the texts that its row says"},
        {"UPDATE call_texts SET block_n = 999 WHERE block_n = (SELECT max(block_n) FROM"
         " call_texts)",
         NULL,
         "a call does not have the texts that its row says"},
        {"INSERT INTO call_texts SELECT block, 999, 999, texts FROM call_texts WHERE block_n = 0",
         NULL,
         "texts"},
        {"INSERT INTO call_texts SELECT 999, 0, 1, texts FROM call_texts WHERE block_n = 0",
         NULL,
         "texts"},
        {"INSERT INTO call_texts SELECT 1, 0, 1, texts FROM call_texts WHERE block_n = 0",
         NULL,
         "texts"},
        {"UPDATE llm_interactions SET block_n = 1 WHERE call_n = 1", NULL, "call"},
        {"UPDATE llm_interactions SET block_n = 9999 WHERE call_n = 1",
         NULL,
         "texts that its row says: n-00"},
        {"UPDATE llm_interactions SET block = 2 WHERE call_n = 1", NULL, "n-00"},
        {"UPDATE llm_interactions SET block = NULL WHERE call_n = 1", NULL, "has no block: n-00"},
        {"UPDATE llm_interactions SET texts = texts + 2 WHERE call_n = 1",
         NULL,
         "texts that its row says: n-00"},
        {"UPDATE llm_interactions SET decision_kind = 'DIRECT' WHERE call_n = 1",
         NULL,
         "of the kind that its row says: n-00"},
        {"UPDATE llm_interactions SET decision_kind = NULL WHERE call_n = 1",
         NULL,
         "of the kind that its row says: n-00"},
        {"UPDATE llm_interactions SET call_n = 7 WHERE call_n = 1",
         NULL,
         "gone and was not erased: its number is: 1"},
        {"UPDATE llm_interactions SET has_reasoning = 2 WHERE call_n = 1",
         NULL,
         "not as it was stored: n-00"},
        {"UPDATE llm_interactions SET stop = '' WHERE call_n = 1",
         NULL,
         "not as it was stored: n-00"},
        {"DELETE FROM llm_interactions WHERE call_n = 1", NULL, "its number is: 1"},
        {"INSERT INTO llm_interactions (call_n, interaction_id) VALUES (7, 'again')",
         NULL,
         "a call that was erased is there: again"},
        {"INSERT INTO llm_interactions (call_n, interaction_id) VALUES (999, 'forged')",
         NULL,
         "the log does not know"},
        {"UPDATE call_tools SET tool = 'other' WHERE call_n = 1", NULL, "tool-0 1"},
        {"INSERT INTO call_tools VALUES ('other', 1)", NULL, "no call called"},
        {"UPDATE store_counters SET call_n = 79", NULL, "store_counters is behind"},
        {"UPDATE store_counters SET block = 1", NULL, "store_counters is behind"},
        {"DELETE FROM store_counters", NULL, "store_counters is behind"},
    };
    struct place p;

    make_blocks(&p);
    for (size_t i = 0; i < COUNT_OF(crimes); i++) {
        const char *sql = p.postgres && crimes[i].postgres ? crimes[i].postgres : crimes[i].sql;

        do_sql(&p, sql);
        check_why(&p, sql, crimes[i].why);
    }
    place_release(&p);
}

TEST(no_column_of_a_call_can_be_changed)
{
    static const char *const texts[] = {"interaction_id",
                                        "session_id",
                                        "parent_id",
                                        "key_name",
                                        "route",
                                        "provider",
                                        "model",
                                        "upstream_model",
                                        "dialect",
                                        "upstream_dialect",
                                        "stop",
                                        "error_code",
                                        "reasoning_level",
                                        "reasoning_cut",
                                        "reasoning_state",
                                        "reasoning_source",
                                        "subject",
                                        "talk"};
    static const char *const numbers[] = {"started_ms",
                                          "first_ms",
                                          "reasoning_ms",
                                          "answer_ms",
                                          "ended_ms",
                                          "status",
                                          "stream",
                                          "complete",
                                          "has_reasoning",
                                          "cap_tokens",
                                          "input_tokens",
                                          "output_tokens",
                                          "reasoning_tokens",
                                          "cache_read_tokens",
                                          "cache_write_tokens",
                                          "reasoning_exact",
                                          "cost_usd"};
    char sql[200];
    struct place p;

    make_blocks(&p);
    for (size_t i = 0; i < COUNT_OF(texts) + COUNT_OF(numbers); i++) {
        bool text = i < COUNT_OF(texts);
        const char *column = text ? texts[i] : numbers[i - COUNT_OF(texts)];

        snprintf(sql,
                 sizeof sql,
                 text ? "UPDATE llm_interactions SET %s = coalesce(%s, '') || 'x' WHERE call_n = 2"
                      : "UPDATE llm_interactions SET %s = coalesce(%s, 0) + 1 WHERE call_n = 2",
                 column,
                 column);
        do_sql(&p, sql);
        check_why(&p, sql, "not as it was stored");
    }
    place_release(&p);
}

/* ---- sums by the hour ---- */

TEST(the_sums_of_an_hour_are_those_of_its_calls)
{
    static const char *const texts[] = {"model", "provider", "key_name", "level"};
    static const char *const numbers[] = {"hour",
                                          "cap_tokens",
                                          "calls",
                                          "failed",
                                          "input_tokens",
                                          "output_tokens",
                                          "reasoning_tokens",
                                          "cache_read_tokens",
                                          "starved",
                                          "cut",
                                          "with_reasoning",
                                          "b0",
                                          "b1",
                                          "b2",
                                          "b3",
                                          "b4",
                                          "b5",
                                          "b6",
                                          "b7",
                                          "b8",
                                          "b9",
                                          "priced",
                                          "cost_usd"};
    char sql[200];
    struct place p;

    make_blocks(&p);
    for (size_t i = 0; i < COUNT_OF(texts) + COUNT_OF(numbers); i++) {
        bool text = i < COUNT_OF(texts);
        const char *column = text ? texts[i] : numbers[i - COUNT_OF(texts)];

        snprintf(sql,
                 sizeof sql,
                 text ? "UPDATE usage_hours SET %s = %s || 'x'"
                      : "UPDATE usage_hours SET %s = %s + 1",
                 column,
                 column);
        do_sql(&p, sql);
        check_why(&p, sql, "the sums of an hour are not those of its calls: hour");
    }
    do_sql(&p, "UPDATE usage_hours SET cost_usd = cost_usd * 1.000001");
    check_why(&p, "a small change of the cost", "the sums of an hour");
    do_sql(&p, "DELETE FROM usage_hours");
    check_why(&p, "no sums", "the sums of an hour");
    do_sql(&p,
           "INSERT INTO usage_hours SELECT hour + 1, model, provider, key_name, level, cap_tokens,"
           " 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM usage_hours");
    check_why(&p, "an empty hour", "the sums of an hour");
    place_release(&p);
}

/* ---- after calls went ---- */

TEST(blocks_hold_after_erasure_and_after_retention)
{
    struct store_receipt receipt;
    struct store_options o;
    struct audit_report r;
    struct place p;
    struct store *s;
    struct err e;

    make_blocks(&p);
    s = open_store(&p);
    for (unsigned i = 0; i < 6; i++) {
        char name[16];

        snprintf(name, sizeof name, "s-%u", i);
        CHECK_F(
            store_erase(s, STORE_ERASE_SESSION, str_c(name), STR(""), &receipt, &e), "%s", e.text);
        put_noise(s, BLOCK_CALLS + i, 5000);
        settle(s);
        r = verify(&p);
        CHECK_F(r.ok, "%s: %s", name, r.why);
    }
    store_close(s);
    r = verify(&p);
    CHECK_F(r.ok && r.erased >= BLOCK_CALLS, "%lld: %s", (long long)r.erased, r.why);
    CHECK_INT(ask(&p, "SELECT count(*) FROM call_blocks"), 0);
    o = options(&p);
    o.retention_age_ms = 1000;
    o.retention_every_ms = 20;
    CHECK_F(store_open(&o, &s, &e), "%s", e.text);
    for (int i = 0; i < 2400 && ask(&p, "SELECT count(*) FROM llm_interactions"); i++)
        usleep(20000);
    for (unsigned i = 0; i < 30; i++)
        put_noise(s, 200 + i, clock_wall_ms(&clock_real));
    settle(s);
    store_close(s);
    r = verify(&p);
    CHECK_F(r.ok && r.rows == 30, "%lld: %s", (long long)r.rows, r.why);
    CHECK_INT(ask(&p, "SELECT sum(calls) FROM usage_hours"), 30);
    place_release(&p);
}

TEST_MAIN(T(rows_that_are_not_of_the_log_or_gone_from_it_are_seen),
          T(no_column_of_a_session_can_be_changed), T(every_column_of_a_receipt_is_held),
          T(a_text_in_a_block_cannot_be_changed),
          T(blocks_and_the_places_of_calls_cannot_be_changed),
          T(no_column_of_a_call_can_be_changed), T(the_sums_of_an_hour_are_those_of_its_calls),
          T(blocks_hold_after_erasure_and_after_retention))
