/* The audit log and the rows that it protects; erasure, retention; sessions of applications.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "store/audit.h"
#include "store/db.h"
#include "erase_help.h"

#include <unistd.h>

#define CALLS 250u /* more than two pages of the verifier */

static void fill(struct store *s, unsigned from, unsigned to, const char *session)
{
    for (unsigned i = from; i < to; i++) {
        struct store_call row = store_call_none;
        char id[32];

        snprintf(id, sizeof id, "call-%05u", i);
        row.id = str_c(id);
        row.session_id = str_c(session);
        row.subject = STR("patient 4711");
        row.started_ms = 1000 + i;
        row.ended_ms = 2000 + i;
        row.cost_usd = 0.1 * i;
        row.request = row.reply = STR("{\"messages\":[]}");
        row.reasoning = STR("a thought");
        row.answer = STR("an answer");
        row.decision = STR("[TOOL_CALL] look: because");
        row.tools = STR("[\"look\"]");
        row.segments = STR("[{\"kind\":\"reasoning\",\"at\":0,\"size\":9,\"tokens\":2},"
                           "{\"kind\":\"answer\",\"at\":3,\"size\":6,\"exact\":true}]");
        store_call_put(s, &row, NULL);
    }
}

/* Creates a store with records, and closes it. */
static void make(struct place *p)
{
    struct store_tool tool = {.id = STR("tool-1"),
                              .session_id = STR("s"),
                              .tool_name = STR("look"),
                              .result = STR("42"),
                              .timestamp_us = 5,
                              .duration_ms = -1,
                              .success = true};
    struct store *s;

    place_init(p);
    s = open_store(p);
    fill(s, 0, CALLS, "s");
    settle(s); /* the calls' entries come first */
    store_tool_put(s, &tool);
    store_audit_put(s, STR("me"), STR("config"), STR("reload"), STR("{}"));
    store_close(s);
}

TEST(a_log_that_nobody_touched_holds)
{
    struct audit_report r;
    struct place p;
    struct store *s;

    make(&p);
    r = verify(&p);
    CHECK_F(r.ok, "%lld: %s", (long long)r.bad_seq, r.why);
    CHECK(r.entries >= 3 && r.entries <= (int64_t)CALLS + 2); /* one entry per batch of calls */
    CHECK_INT(r.rows, CALLS + 1);
    CHECK(r.anchor.seq == r.head.seq && memcmp(r.anchor.hash, r.head.hash, 32) == 0);
    s = open_store(&p); /* the log grows */
    fill(s, CALLS, CALLS + 10, "t");
    fill(s, 0, 10, "s"); /* the same calls again */
    settle(s);
    r = verify(&p); /* with the store open */
    CHECK_F(r.ok, "%lld: %s", (long long)r.bad_seq, r.why);
    CHECK_INT(r.rows, CALLS + 11);
    store_close(s);
    r = verify(&p);
    CHECK_F(r.ok && r.anchor.seq == r.head.seq, "%s", r.why);
    place_release(&p);
}

/* Deletes the last entries of the log and the rows that they cover. */
#define CUT_TAIL                                                                                   \
    "DELETE FROM audit_log WHERE action IN ('tool', 'config'); DELETE FROM mcp_communications;"    \
    " UPDATE alert_sessions SET tool_count = 0"

static const struct {
    const char *sql, *postgres; /* NULL: as sql */
    const char *why;
    int64_t seq; /* -1: any */
} crimes[] = {
    {"UPDATE llm_interactions SET cost_usd = 0.0000001 WHERE interaction_id = 'call-00000'",
     NULL,
     "a call is not as it was stored",
     1},
    {"UPDATE call_texts SET texts = x'00' || substr(texts, 2) WHERE call_n = 200",
     "UPDATE call_texts SET texts = '\\x00'::bytea || substr(texts, 2) WHERE call_n = 200",
     "call-00199",
     -1},
    {"UPDATE llm_interactions SET session_id = 'other' WHERE interaction_id = 'call-00249'",
     NULL,
     "a call is not as it was stored",
     -1},
    {"UPDATE mcp_communications SET tool_result = '43'", NULL, "not as it was stored: tool-1", -1},
    {"DELETE FROM llm_interactions WHERE interaction_id = 'call-00100'",
     NULL,
     "a call is missing and was not erased: its number is: 101",
     -1},
    {"INSERT INTO llm_interactions (call_n, interaction_id) VALUES (999, 'forged')",
     NULL,
     "does not know",
     -1},
    {"INSERT INTO mcp_communications (communication_id) VALUES ('forged')",
     NULL,
     "does not know",
     -1},
    {"UPDATE audit_log SET actor = 'you' WHERE action = 'config'", NULL, "was changed", -1},
    {"UPDATE audit_log SET time_us = time_us - 1 WHERE seq = 2", NULL, "was changed", 2},
    {"UPDATE audit_log SET detail = '1 2' WHERE seq = 1", NULL, "was changed", 1},
    {"DELETE FROM audit_log WHERE seq = 2", NULL, "entry is missing", 2},
    {"DELETE FROM audit_log WHERE seq = 1", NULL, "entry is missing", 1},
    /* swaps two entries */
    {"UPDATE audit_log SET seq = -1 WHERE seq = 1; UPDATE audit_log SET seq = 1 WHERE seq = 2;"
     "UPDATE audit_log SET seq = 2 WHERE seq = -1",
     NULL,
     "does not follow",
     1},
    {CUT_TAIL, NULL, "ends before its anchored head", -1},
    {"DELETE FROM audit_log", NULL, "ends before", 1},
    {"UPDATE store_keys SET value = "
     "x'0000000000000000000000000000000000000000000000000000000000000000'",
     "UPDATE store_keys SET value = "
     "'\\x0000000000000000000000000000000000000000000000000000000000000000'",
     "not as it was stored",
     1},
};

TEST(whatever_is_changed_removed_or_added_is_seen)
{
    for (size_t i = 0; i < COUNT_OF(crimes); i++) {
        struct audit_report r;
        struct place p;

        make(&p);
        do_sql(&p, p.postgres && crimes[i].postgres ? crimes[i].postgres : crimes[i].sql);
        r = verify(&p);
        CHECK_F(!r.ok, "%s", crimes[i].sql);
        CHECK_F(strstr(r.why, crimes[i].why), "%s: %s", crimes[i].sql, r.why);
        CHECK_F(crimes[i].seq < 0 || r.bad_seq == crimes[i].seq,
                "%s: %lld",
                crimes[i].sql,
                (long long)r.bad_seq);
        place_release(&p);
    }
}

TEST(a_tail_that_was_cut_is_seen_also_after_more_was_added)
{
    struct audit_report r;
    int64_t left;
    struct place p;
    struct store *s;

    make(&p);
    left = (int64_t)ask(&p, "SELECT count(*) FROM audit_log WHERE action = 'records'");
    do_sql(&p, CUT_TAIL);
    s = open_store(&p);
    fill(s, CALLS, CALLS + 50, "s");
    store_close(s);
    r = verify(&p);
    CHECK_F(!r.ok && strstr(r.why, "did not end at the entry that its head named"), "%s", r.why);
    CHECK_INT(r.bad_seq, left + 1);
    place_release(&p);
}

TEST(a_log_without_its_head_is_not_trusted)
{
    struct audit_report r;
    struct place p;
    char head[FILE_PATH_MAX];
    struct err e;

    make(&p);
    CHECK(audit_head_path(str_c(p.url), str_c(p.spool), head, sizeof head, &e));
    CHECK_INT(unlink(head), 0);
    r = verify(&p);
    CHECK_F(!r.ok && strstr(r.why, "head"), "%s", r.why);
    place_release(&p);
}

/* ---- erasure ---- */

static struct store_call secret_call(const char *id, const char *session, const char *subject)
{
    struct store_call row = store_call_none;

    row.id = str_c(id);
    row.session_id = str_c(session);
    row.subject = str_c(subject);
    row.started_ms = 1;
    row.asked = STR("zanzibarquery about me");
    row.answer = STR("zanzibaranswer for you");
    row.reasoning = STR("zanzibarthought of mine");
    row.request = STR("{\"zanzibarrequest\":1}");
    row.error_message = STR("zanzibarerror");
    row.decision = STR("[TOOL_CALL] zanzibartool: zanzibarwhy");
    row.tools = STR("[\"zanzibartool\"]");
    row.segments = STR("[{\"kind\":\"reasoning\",\"at\":0,\"size\":23}]");
    return row;
}

static void check_erased(struct place *p, struct store *s, enum store_erase_what what,
                         const char *name)
{
    struct audit_report r;
    struct store_receipt got;

    erase_as_counted(p, s, what, name, &got);
    CHECK_INT(got.sessions, 1);
    CHECK_INT(got.interactions, 2);
    CHECK_INT(got.decisions, 2);
    CHECK_INT(got.communications, 1);
    CHECK(strlen(got.id) == 36 && strlen(got.head_hash) == 64 && got.erased_at_us > 0);
    CHECK_INT(ask(p, "SELECT count(*) FROM llm_interactions WHERE session_id = 'gone'"), 0);
    CHECK_INT(ask(p, "SELECT count(*) FROM alert_sessions"), 1);
    CHECK_INT(ask(p, "SELECT count(*) FROM call_texts"), 300);
    CHECK_INT(ask(p, "SELECT count(*) FROM call_tools"), 300);
    CHECK(!anywhere(p, STR("zanzibar")));
    CHECK(!anywhere(p, STR("jane")));
    r = verify(p);
    CHECK_F(r.ok && r.erased == 3, "%lld: %s", (long long)r.bad_seq, r.why);
}

TEST(what_is_erased_is_gone_from_every_file_and_the_log_still_holds)
{
    for (int subject = 0; subject < 2; subject++) {
        struct store_tool tool = {.id = STR("t"),
                                  .session_id = STR("gone"),
                                  .arguments = STR("zanzibarargument"),
                                  .duration_ms = -1};
        struct store_piece piece = {STR("b"), 0, STR("answer"), STR("zanzibarpiece"), 0};
        struct store_call row;
        struct store_receipt got;
        struct place p;
        struct store *s;
        struct err e;

        place_init(&p);
        s = open_store(&p);
        fill(s, 0, 150, "stays");
        row = secret_call("a", "gone", "jane");
        store_call_begin(s, &row);
        store_call_put(s, &row, NULL);
        row = secret_call("b", "gone", "jane");
        store_piece_put(s, &piece);
        if (subject)
            settle(s);
        store_call_put(s, &row, NULL);
        store_tool_put(s, &tool);
        fill(s, 150, 300, "stays");
        check_erased(
            &p, s, subject ? STORE_ERASE_SUBJECT : STORE_ERASE_SESSION, subject ? "jane" : "gone");
        row = secret_call("a", "gone", "jane");
        store_call_put(s, &row, NULL); /* erased calls are not stored again */
        settle(s);
        for (int ms = 0; ms < 20000 && anywhere(&p, STR("zanzibar")); ms += 20)
            usleep(20000);
        CHECK(!anywhere(&p, STR("zanzibar")) && !anywhere(&p, STR("jane")));
        CHECK_INT(ask(&p, "SELECT count(*) FROM llm_interactions WHERE session_id = 'gone'"), 0);
        CHECK_F(
            store_erase(s, STORE_ERASE_SUBJECT, STR("nobody"), STR(""), &got, &e), "%s", e.text);
        CHECK(got.sessions == 0 && got.interactions == 0);
        CHECK(!store_erase(s, STORE_ERASE_SUBJECT, STR(""), STR(""), &got, &e));
        store_close(s);
        CHECK(verify(&p).ok);
        place_release(&p);
    }
}

/* ---- retention ---- */

static void wait_for(struct place *p, const char *sql, long long want)
{
    for (int ms = 0; ms < 20000 && ask(p, sql) != want; ms += 20)
        usleep(20000);
    CHECK_INT(ask(p, sql), want);
}

TEST(sessions_whose_time_is_over_go_and_others_stay)
{
    int64_t now = clock_wall_ms(&clock_real);
    struct store_options o;
    struct store *s;
    struct place p;
    struct err e;

    place_init(&p);
    o = options(&p);
    o.retention_age_ms = 3600000;
    o.retention_every_ms = 50;
    CHECK_F(store_open(&o, &s, &e), "%s", e.text);
    for (unsigned i = 0; i < 120; i++) {
        struct store_call row = store_call_none;
        char id[32];

        snprintf(id, sizeof id, "c%u", i);
        row.id = str_c(id);
        row.started_ms = row.ended_ms = i % 2 ? now : now - 7200000;
        store_call_put(s, &row, NULL);
    }
    settle(s);
    wait_for(&p, "SELECT count(*) FROM llm_interactions", 60);
    CHECK_INT(ask(&p, "SELECT count(*) FROM alert_sessions"), 60);
    CHECK(ask(&p, "SELECT count(*) FROM audit_log WHERE action = 'retention'") >= 2);
    store_close(s);
    CHECK(verify(&p).ok && verify(&p).erased == 60);
    place_release(&p);
}

TEST(the_oldest_go_once_there_is_too_much_but_none_before_its_time)
{
    int64_t now = clock_wall_ms(&clock_real);
    static char body[20000];
    struct rand r;
    struct store_options o;
    struct store *s;
    struct place p;
    struct err e;

    place_init(&p);
    rand_init(&r, 1);
    o = options(&p);
    o.retention_bytes = 1 << 20;
    o.retention_min_ms = 3600000;
    o.retention_every_ms = 50;
    CHECK_F(store_open(&o, &s, &e), "%s", e.text);
    for (unsigned i = 0; i < 400; i++) {
        struct store_call row = store_call_none;
        char id[32];

        snprintf(id, sizeof id, "c%u", i);
        row.id = str_c(id);
        row.started_ms = row.ended_ms = i < 50 ? now : now - 7200000 - i;
        for (size_t k = 0; k < sizeof body; k++)
            body[k] = (char)('!' + rand_below(&r, 90)); /* incompressible, unrelated texts */
        row.reasoning_summary = (str){body, 10000 + i};
        row.answer = (str){body + i, 9000};
        store_call_put(s, &row, NULL);
    }
    settle(s);
    wait_for(&p, "SELECT count(*) FROM llm_interactions WHERE interaction_id = 'c399'", 0);
    wait_for(&p,
             "SELECT count(*) FROM llm_interactions WHERE started_ms > 1000000 AND"
             " interaction_id IN ('c0', 'c49')",
             2);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM llm_interactions WHERE interaction_id IN"
                  " ('c0', 'c10', 'c20', 'c49')"),
              4);
    store_close(s);
    CHECK(verify(&p).ok);
    place_release(&p);
}

/* ---- sessions of applications ---- */

TEST(a_session_that_an_application_runs_is_its_own_to_end)
{
    struct store_session row = {.id = STR("s"),
                                .alert_id = STR("alert-1"),
                                .agent_type = STR("kubernetes"),
                                .alert_type = STR("NamespaceTerminating"),
                                .status = STR("in_progress"),
                                .alert_data = STR("{\"a\":1}"),
                                .started_us = 1000,
                                .completed_us = -1};
    struct store_session more = {
        .id = STR("s"), .session_metadata = STR("{}"), .started_us = -1, .completed_us = -1};
    struct store_call call = store_call_none;
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    store_session_put(s, &row);
    store_session_put(s, &row);
    call.id = STR("c");
    call.session_id = STR("s");
    call.started_ms = call.ended_ms = 5;
    call.input_tokens = 7;
    store_call_put(s, &call, NULL);
    store_session_put(s, &more);
    settle(s);
    CHECK_INT(
        ask(&p,
            "SELECT count(*) FROM alert_sessions WHERE status = 'in_progress' AND agent_type ="
            " 'kubernetes' AND alert_type = 'NamespaceTerminating' AND alert_id = 'alert-1'"
            " AND alert_data = '{\"a\":1}' AND session_metadata = '{}' AND call_count = 1 AND"
            " input_tokens = 7 AND completed_at_us IS NULL AND started_at_us = 1000"),
        1);
    more.status = STR("failed");
    more.error_message = STR("no");
    more.completed_us = 9000;
    store_session_put(s, &more);
    store_close(s);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM alert_sessions WHERE status = 'failed' AND error_message ="
                  " 'no' AND completed_at_us = 9000 AND agent_type = 'kubernetes'"),
              1);
    CHECK(verify(&p).ok);
    place_release(&p);
}

TEST(an_exchange_with_a_tool_is_kept_once_and_counted_once)
{
    struct store_tool row = {.id = STR("t"),
                             .session_id = STR("s"),
                             .parent_id = STR("c"),
                             .server_name = STR("k8s"),
                             .communication_type = STR("tool_call"),
                             .tool_name = STR("get_pods"),
                             .arguments = STR("{}"),
                             .result = STR("[]"),
                             .available_tools = STR("[\"get_pods\"]"),
                             .error_message = STR("e"),
                             .step = STR("look"),
                             .timestamp_us = 77,
                             .duration_ms = 5,
                             .success = true};
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    store_tool_put(s, &row);
    store_tool_put(s, &row);
    settle(s);
    store_tool_put(s, &row);
    store_close(s);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM mcp_communications WHERE communication_id = 't' AND"
                  " session_id = 's' AND parent_id = 'c' AND server_name = 'k8s' AND"
                  " communication_type = 'tool_call' AND tool_name = 'get_pods' AND"
                  " tool_arguments = '{}' AND tool_result = '[]' AND available_tools ="
                  " '[\"get_pods\"]' AND error_message = 'e' AND step_description = 'look' AND"
                  " timestamp_us = 77 AND duration_ms = 5 AND success = 1"),
              1);
    CHECK_INT(ask(&p, "SELECT tool_count FROM alert_sessions WHERE session_id = 's'"), 1);
    CHECK(verify(&p).ok);
    place_release(&p);
}

TEST_MAIN(T(a_log_that_nobody_touched_holds), T(whatever_is_changed_removed_or_added_is_seen),
          T(a_tail_that_was_cut_is_seen_also_after_more_was_added),
          T(a_log_without_its_head_is_not_trusted),
          T(what_is_erased_is_gone_from_every_file_and_the_log_still_holds),
          T(sessions_whose_time_is_over_go_and_others_stay),
          T(the_oldest_go_once_there_is_too_much_but_none_before_its_time),
          T(a_session_that_an_application_runs_is_its_own_to_end),
          T(an_exchange_with_a_tool_is_kept_once_and_counted_once))
