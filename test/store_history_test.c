/* What the store derives from a call besides its row: a session, a decision, words, segments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/call_segments.h"
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
                  " key_name = 'key one' AND has_reasoning = 1 AND final_analysis IS NULL"
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
    store_call_begin(s, &b); /* a late repetition */
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
    CHECK_INT(ask(&p, "SELECT count(*) FROM llm_interactions WHERE decision_kind IS NOT NULL"), 2);
    CHECK_INT(
        ask(&p,
            "SELECT count(*) FROM llm_interactions WHERE interaction_id = 'a' AND session_id ="
            " 's' AND ended_ms = 200 AND decision_kind = 'TOOL_CALL' AND model = 'm'"),
        1);
    CHECK_INT(ask(&p, "SELECT count(*) FROM llm_interactions WHERE decision_kind = 'DIRECT'"), 1);
    CHECK_INT(ask(&p, "SELECT count(*) FROM call_tools"), 2);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM llm_interactions i JOIN call_tools t ON"
                  " t.call_n = i.call_n WHERE t.tool = 'get_logs' AND"
                  " i.interaction_id = 'a'"),
              1);
    CHECK_INT(words(&p, "decisions", "crash"), 1);
    CHECK_INT(words(&p, "decisions", "absent"), 0);
    store_close(s);
    place_release(&p);
}

struct seen_segments {
    struct call_segments segments;
    struct arena arena;
    struct db_value at[4][SEGMENT_COLUMNS];
    size_t n;
};

static bool keep_segment(void *ctx, const struct db_value *v, size_t n)
{
    struct seen_segments *s = ctx;

    CHECK_INT(n, SEGMENT_COLUMNS);
    CHECK(s->n < COUNT_OF(s->at));
    memcpy(s->at[s->n++], v, SEGMENT_COLUMNS * sizeof *v);
    return true;
}

TEST(hole_4_segments_of_a_reply_come_in_order_with_their_kind)
{
    struct store_call row = call("a", "s", 100, 200);
    struct seen_segments s = {.n = 0};
    struct db_rows rows = {keep_segment, &s};

    call_segments_init(&s.segments);
    arena_init(&s.arena, 1 << 20);
    row.segments =
        STR("[{\"kind\":\"reasoning\",\"text\":\"h\\u00e9 \\n\",\"tokens\":3,\"exact\":true,"
            "\"started_us\":1,\"ended_us\":2,\"budget\":256,\"cut\":false,"
            "\"state\":\"complete\"},"
            "{\"kind\":\"answer\",\"tokens\":null,\"cut\":true},{\"no\":1},7]");
    call_segments_read(&s.segments, &row, &s.arena, rows);
    CHECK_INT(s.n, 2);
    CHECK_STR(s.at[0][SEGMENT_CALL].s, "a");
    CHECK_STR(s.at[0][SEGMENT_KIND].s, "reasoning");
    CHECK_STR(s.at[0][SEGMENT_TEXT].s, "h\xc3\xa9 \n");
    CHECK_INT(s.at[0][SEGMENT_N].i, 0);
    CHECK_INT(s.at[0][SEGMENT_TOKENS].i, 3);
    CHECK_INT(s.at[0][SEGMENT_EXACT].i, 1);
    CHECK_INT(s.at[0][SEGMENT_STARTED_US].i, 1);
    CHECK_INT(s.at[0][SEGMENT_ENDED_US].i, 2);
    CHECK_INT(s.at[0][SEGMENT_BUDGET].i, 256);
    CHECK_INT(s.at[0][SEGMENT_CUT].i, 0);
    CHECK_STR(s.at[0][SEGMENT_STATE].s, "complete");
    CHECK_INT(s.at[1][SEGMENT_N].i, 1);
    CHECK_STR(s.at[1][SEGMENT_KIND].s, "answer");
    CHECK(s.at[1][SEGMENT_TEXT].type == DB_NULL && s.at[1][SEGMENT_TOKENS].type == DB_NULL);
    CHECK(s.at[1][SEGMENT_STATE].type == DB_NULL);
    CHECK_INT(s.at[1][SEGMENT_EXACT].i, 0);
    CHECK_INT(s.at[1][SEGMENT_CUT].i, 1);
    s.n = 0;
    row.segments = STR("[{\"kind\":\"reasoning\",\"at\":0,\"size\":0,\"after_us\":7,\"took_us\":5},"
                       "{\"kind\":\"answer\",\"after_us\":12,\"state\":\"unclosed\"}]");
    call_segments_read(&s.segments, &row, &s.arena, rows);
    CHECK_INT(s.n, 2);
    CHECK_INT(s.at[0][SEGMENT_STARTED_US].i, 100007);
    CHECK_INT(s.at[0][SEGMENT_ENDED_US].i, 100012);
    CHECK_STR(s.at[0][SEGMENT_STATE].s, "complete");
    CHECK_INT(s.at[1][SEGMENT_STARTED_US].i, 100012);
    CHECK_INT(s.at[1][SEGMENT_ENDED_US].i, 100012);
    CHECK_STR(s.at[1][SEGMENT_STATE].s, "unclosed");
    s.n = 0;
    row.segments = STR("{\"kind\":\"reasoning\"}");
    call_segments_read(&s.segments, &row, &s.arena, rows);
    row.segments = STR("[{\"kind\":");
    call_segments_read(&s.segments, &row, &s.arena, rows);
    CHECK_INT(s.n, 0);
    arena_release(&s.arena);
    call_segments_release(&s.segments);
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

TEST(a_session_that_goes_on_after_it_was_erased_has_a_start)
{
    struct store_session row = {
        .id = STR("talk"), .status = STR("completed"), .started_us = -1, .completed_us = 7};
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    store_session_put(s, &row);
    settle(s); /* without a start time, lists would not page beyond it */
    CHECK_INT(ask(&p, "SELECT count(*) FROM alert_sessions WHERE started_at_us = put_at_us"), 1);
    row.started_us = 5;
    store_session_put(s, &row);
    row.started_us = -1;
    store_session_put(s, &row);
    settle(s);
    CHECK_INT(ask(&p, "SELECT started_at_us FROM alert_sessions"), 5);
    CHECK(verify(&p).ok);
    store_close(s);
    place_release(&p);
}

TEST(calls_whose_provider_counts_more_tokens_than_there_are_can_be_stored_and_summed)
{
    struct store_call row = store_call_none;
    struct place p;
    struct store *s;
    char id[16];

    place_init(&p);
    s = open_store(&p);
    row.session_id = STR("talk");
    row.started_ms = row.ended_ms = 1000;
    row.input_tokens = row.output_tokens = row.reasoning_tokens = INT64_MAX;
    row.cache_read_tokens = row.cache_write_tokens = INT64_MAX;
    for (unsigned i = 0; i < 4; i++) {
        snprintf(id, sizeof id, "call-%u", i);
        row.id = str_c(id);
        store_call_put(s, &row, NULL);
        if (i % 2)
            settle(s); /* calls 0 and 1 share a batch; so do 2 and 3 */
    }
    CHECK_INT(ask(&p, "SELECT count(*) FROM llm_interactions"), 4);
    CHECK_INT(ask(&p, "SELECT input_tokens / 4 FROM alert_sessions"), 1LL << 40);
    CHECK_F(verify(&p).ok, "%s", verify(&p).why);
    store_close(s);
    place_release(&p);
}

TEST_MAIN(T(a_session_is_the_sum_of_its_calls),
          T(a_session_failed_if_its_last_call_failed_in_whatever_order_they_come),
          T(a_session_is_in_progress_while_any_of_its_calls_runs),
          T(a_call_of_no_session_is_one_by_itself),
          T(a_decision_is_kept_once_with_its_tools_and_found_by_its_words),
          T(hole_4_segments_of_a_reply_come_in_order_with_their_kind),
          T(calls_are_found_by_their_words),
          T(a_session_that_goes_on_after_it_was_erased_has_a_start),
          T(calls_whose_provider_counts_more_tokens_than_there_are_can_be_stored_and_summed))
