/* What a call leaves behind beside its row: a session, a decision, words, stretches.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/schema.h"
#include "store_help.h"

static struct store_call call(const char *id, const char *session, int64_t started, int64_t ended)
{
    struct store_call row = store_call_none;

    row.id = str_c(id);
    row.session_id = str_c(session);
    row.started_ms = started;
    row.ended_ms = ended;
    row.status = 200;
    row.complete = true;
    row.dialect = STR("openai");
    row.model = STR("m");
    return row;
}

TEST(a_session_is_the_sum_of_its_calls)
{
    struct store_call row;
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    row = call("a", "s", 100, 200);
    row.asked = STR("first words");
    row.input_tokens = 10;
    row.output_tokens = 5;
    row.cost_usd = 0.5;
    row.key_name = STR("key one");
    store_call_put(s, &row, NULL);
    row = call("b", "s", 300, 400);
    row.asked = STR("second words");
    row.input_tokens = 1;
    row.reasoning_tokens = 7;
    row.has_reasoning = true;
    row.cost_usd = 0.25;
    row.answer = STR("so it is");
    row.model = STR("n");
    store_call_put(s, &row, NULL);
    settle(s);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM alert_sessions WHERE session_id = 's' AND status ="
                  " 'completed' AND agent_type = 'gateway' AND alert_type = 'openai' AND"
                  " title = 'first words' AND started_at_us = 100000 AND completed_at_us = 400000"
                  " AND call_count = 2 AND input_tokens = 11 AND output_tokens = 5 AND"
                  " reasoning_tokens = 7 AND cost_usd = 0.75 AND model = 'n' AND"
                  " key_name = 'key one' AND has_reasoning = 1 AND final_analysis = 'so it is'"
                  " AND error_message IS NULL"),
              1);
    store_close(s);
    place_release(&p);
}

TEST(a_session_failed_if_its_last_call_failed_in_whatever_order_they_come)
{
    for (int last_first = 0; last_first < 2; last_first++) {
        struct store_call good = call("a", "s", 100, 200), bad = call("b", "s", 150, 300);
        struct place p;
        struct store *s;

        place_init(&p);
        s = open_store(&p);
        bad.status = 502;
        bad.error_code = STR("upstream");
        bad.error_message = STR("it broke");
        store_call_put(s, last_first ? &bad : &good, NULL);
        store_call_put(s, last_first ? &good : &bad, NULL);
        settle(s);
        CHECK_INT(ask(&p,
                      "SELECT count(*) FROM alert_sessions WHERE status = 'failed' AND"
                      " error_message = 'it broke' AND completed_at_us = 300000"),
                  1);
        good = call("c", "s", 400, 500);
        store_call_put(s, &good, NULL);
        settle(s);
        CHECK_INT(ask(&p,
                      "SELECT count(*) FROM alert_sessions WHERE status = 'completed' AND"
                      " error_message IS NULL"),
                  1);
        store_close(s);
        place_release(&p);
    }
}

TEST(a_session_is_in_progress_while_any_of_its_calls_runs)
{
    struct store_call a = call("a", "s", 100, 200), b = call("b", "s", 150, 190);
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    a.asked = STR("what?");
    store_call_begin(s, &a);
    settle(s);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM alert_sessions WHERE status = 'in_progress' AND"
                  " title = 'what?' AND completed_at_us IS NULL AND call_count = 0"),
              1);
    store_call_begin(s, &b);
    store_call_put(s, &a, NULL);
    settle(s);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM alert_sessions WHERE status = 'in_progress' AND"
                  " completed_at_us IS NULL AND call_count = 1"),
              1);
    b.error_code = STR("cancelled");
    store_call_put(s, &b, NULL);
    settle(s);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM alert_sessions WHERE status = 'completed' AND"
                  " completed_at_us = 200000 AND call_count = 2"),
              1);
    store_call_begin(s, &b); /* again, and too late */
    settle(s);
    CHECK_INT(ask(&p, "SELECT count(*) FROM alert_sessions WHERE status = 'completed'"), 1);
    CHECK_INT(ask(&p, "SELECT count(*) FROM call_pieces"), 0);
    store_close(s);
    place_release(&p);
}

TEST(a_call_of_no_session_is_one_by_itself)
{
    struct store_call row = call("alone", "", 100, 200);
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    store_call_put(s, &row, NULL);
    settle(s);
    CHECK_INT(ask(&p, "SELECT count(*) FROM alert_sessions WHERE session_id = 'alone'"), 1);
    CHECK_INT(ask(&p, "SELECT count(*) FROM llm_interactions WHERE session_id = 'alone'"), 1);
    store_close(s);
    place_release(&p);
}

TEST(a_decision_is_kept_once_with_its_tools_and_found_by_its_words)
{
    struct store_call row = call("a", "s", 100, 200);
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    row.decision = STR("[TOOL_CALL] get_pods, get_logs: the pods crash");
    row.tools = STR("[\"get_pods\",\"get_logs\",\"get_pods\"]");
    store_call_put(s, &row, NULL);
    store_call_put(s, &row, NULL);
    settle(s);
    store_call_put(s, &row, NULL);
    row = call("b", "s", 300, 400);
    row.decision = STR("[DIRECT] nothing is wrong");
    row.tools = STR("not JSON");
    store_call_put(s, &row, NULL);
    settle(s);
    CHECK_INT(ask(&p, "SELECT count(*) FROM decisions"), 2);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM decisions WHERE interaction_id = 'a' AND session_id = 's'"
                  " AND timestamp_us = 200000 AND kind = 'TOOL_CALL' AND model = 'm'"),
              1);
    CHECK_INT(ask(&p, "SELECT count(*) FROM decisions WHERE kind = 'DIRECT'"), 1);
    CHECK_INT(ask(&p, "SELECT count(*) FROM decision_tools"), 2);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM decisions d JOIN decision_tools t ON"
                  " t.decision_id = d.decision_id WHERE t.tool = 'get_logs' AND"
                  " d.interaction_id = 'a'"),
              1);
    CHECK_INT(words(&p, "decisions", "crash"), 1);
    CHECK_INT(words(&p, "decisions", "absent"), 0);
    store_close(s);
    place_release(&p);
}

TEST(hole_4_stretches_of_a_reply_are_rows_in_order_with_their_kind)
{
    struct store_call row = call("a", "s", 100, 200);
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    row.segments =
        STR("[{\"kind\":\"reasoning\",\"text\":\"h\\u00e9 \\n\",\"tokens\":3,\"exact\":true,"
            "\"started_us\":1,\"ended_us\":2,\"budget\":256,\"cut\":false,"
            "\"state\":\"complete\"},"
            "{\"kind\":\"answer\",\"tokens\":null,\"cut\":true},{\"no\":1},7]");
    store_call_put(s, &row, NULL);
    row = call("b", "s", 100, 200);
    row.segments = STR("{\"kind\":\"reasoning\"}");
    store_call_put(s, &row, NULL);
    row = call("c", "s", 100, 200);
    row.segments = STR("[{\"kind\":");
    store_call_put(s, &row, NULL);
    settle(s);
    CHECK_INT(ask(&p, "SELECT count(*) FROM reasoning_segments"), 2);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM reasoning_segments WHERE interaction_id = 'a' AND n = 0 AND"
                  " kind = 'reasoning' AND length(text) = 4 AND tokens = 3 AND exact = 1 AND"
                  " started_us = 1 AND ended_us = 2 AND budget = 256 AND cut = 0 AND"
                  " state = 'complete'"),
              1);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM reasoning_segments WHERE n = 1 AND kind = 'answer' AND"
                  " text IS NULL AND tokens IS NULL AND exact = 0 AND cut = 1 AND state IS NULL"),
              1);
    store_close(s);
    place_release(&p);
}

TEST(calls_are_found_by_their_words)
{
    struct store_call row = call("a", "s", 100, 200);
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    row.asked = STR("why is the cluster slow");
    row.answer = STR("because of the disk");
    row.reasoning = STR("perhaps memory");
    store_call_put(s, &row, NULL);
    row = call("b", "s", 100, 200);
    row.error_message = STR("timeout of the provider");
    store_call_put(s, &row, NULL);
    settle(s);
    CHECK_INT(words(&p, "interactions", "cluster"), 1);
    CHECK_INT(words(&p, "interactions", "memory"), 1);
    CHECK_INT(words(&p, "interactions", "timeout"), 1);
    CHECK_INT(words(&p, "interactions", "nowhere"), 0);
    store_close(s);
    place_release(&p);
}

TEST_MAIN(T(a_session_is_the_sum_of_its_calls),
          T(a_session_failed_if_its_last_call_failed_in_whatever_order_they_come),
          T(a_session_is_in_progress_while_any_of_its_calls_runs),
          T(a_call_of_no_session_is_one_by_itself),
          T(a_decision_is_kept_once_with_its_tools_and_found_by_its_words),
          T(hole_4_stretches_of_a_reply_are_rows_in_order_with_their_kind),
          T(calls_are_found_by_their_words))
