/* Queries of the record, on either database: answers, pages, scopes, searches, sums.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "query_help.h"
#include "store/query_build.h"

static void sessions(struct world *w, const struct query_asker *a, const struct query_filter *f,
                     const struct query_page *p)
{
    struct err e;

    buf_reset(&w->out);
    answered(w, query_sessions(w->reader, a, f, p, &w->out, &e), &e);
}

TEST(sessions_are_listed_newest_first_and_filtered)
{
    struct query_filter f = query_filter_none;
    struct world w;

    world_init(&w);
    sessions(&w, &everyone, &f, &page_one);
    CHECK_INT(count_at(&w, "/sessions"), 6);
    CHECK_STR(text_at(&w, "/sessions/0/session_id"), "s-5");
    CHECK_STR(text_at(&w, "/sessions/0/title"), "what about number10");
    CHECK_STR(text_at(&w, "/sessions/0/agent_type"), "gateway");
    CHECK_INT(number_at(&w, "/sessions/0/started_at_us"), 1100000);
    CHECK_INT(number_at(&w, "/sessions/0/llm_interaction_count"), 2);
    CHECK_INT(number_at(&w, "/pagination/total_items"), 6);
    f.status[f.status_count++] = STR("failed");
    sessions(&w, &everyone, &f, &page_one);
    CHECK_INT(count_at(&w, "/sessions"), 1);
    CHECK_STR(text_at(&w, "/sessions/0/session_id"), "s-2");
    f = query_filter_none;
    f.tool = STR("look1");
    sessions(&w, &everyone, &f, &page_one);
    CHECK_INT(count_at(&w, "/sessions"), 4); /* calls 1, 5, 7, 11 */
    f = query_filter_none;
    f.search = STR("number9");
    sessions(&w, &everyone, &f, &page_one);
    CHECK_INT(count_at(&w, "/sessions"), 1);
    CHECK_STR(text_at(&w, "/sessions/0/session_id"), "s-4");
    f.search = STR("100%_\\");
    sessions(&w, &everyone, &f, &page_one);
    CHECK_INT(count_at(&w, "/sessions"), 0);
    world_release(&w);
}

TEST(every_order_gives_every_session_once_by_cursor_and_by_page)
{
    static const char *const orders[] = {"",
                                         "started_at_us",
                                         "-duration_ms",
                                         "duration_ms",
                                         "total_tokens",
                                         "-total_tokens",
                                         "cost_usd",
                                         "-cost_usd"};
    struct world w;

    world_init(&w);
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        struct query_page by_cursor = page_one, by_page = page_one;
        struct query_filter f = query_filter_none;
        unsigned seen = 0, rounds = 0;

        by_cursor.limit = by_page.limit = 1;
        by_cursor.sort = by_page.sort = str_c(orders[i]);
        do {
            str id;

            sessions(&w, &everyone, &f, &by_cursor);
            id = arena_dup(&w.arena, text_at(&w, "/sessions/0/session_id"));
            CHECK(id.n == 3);
            seen |= 1u << (id.p[2] - '0');
            by_cursor.cursor = arena_dup(&w.arena, text_at(&w, "/pagination/next_cursor"));
            sessions(&w, &everyone, &f, &by_page);
            CHECK(str_eq(text_at(&w, "/sessions/0/session_id"), id));
            by_page.page++;
        } while (!str_eq(by_cursor.cursor, STR("(none)")) && ++rounds < 20);
        CHECK_INT(seen, 0x3f);
        CHECK_INT(rounds, 5);
    }
    world_release(&w);
}

TEST(bad_orders_and_cursors_are_refused)
{
    static const char *const cursors[] = {
        "x",
        "zz",
        "61",
        "7c",
        "2d737461727465645f61745f75737c787c79",
        "2d737461727465645f61745f75737c317cff",     /* -started_at_us|1|\xff */
        "2d737461727465645f61745f75737c317c610062", /* -started_at_us|1|a\0b */
    };
    struct query_filter f = query_filter_none;
    struct query_page p = page_one;
    struct world w;
    struct err e;

    world_init(&w);
    p.sort = STR("-size");
    CHECK(!query_sessions(w.reader, &everyone, &f, &p, &w.out, &e) && e.code == ERR_INPUT);
    CHECK(str_starts(str_c(e.text), STR("sort: ")));
    p.sort = STR("");
    for (size_t i = 0; i < COUNT_OF(cursors); i++) {
        p.cursor = str_c(cursors[i]);
        CHECK(!query_sessions(w.reader, &everyone, &f, &p, &w.out, &e) && e.code == ERR_INPUT);
        CHECK(!query_decisions(w.reader, &everyone, &f, &p, &w.out, &e) && e.code == ERR_INPUT);
        CHECK(str_starts(str_c(e.text), STR("cursor: ")));
    }
    p.sort = STR("-cost_usd");
    p.cursor = STR("2d636f73745f7573647c6e616e7c79"); /* -cost_usd|nan|y */
    CHECK(!query_sessions(w.reader, &everyone, &f, &p, &w.out, &e) && e.code == ERR_INPUT);
    world_release(&w);
}

TEST(hole_7_a_session_has_its_calls_its_segments_and_its_sums)
{
    struct world w;
    struct err e;

    world_init(&w);
    answered(&w, query_session(w.reader, &everyone, STR("s-0"), &w.out, &e), &e);
    CHECK_INT(count_at(&w, "/chronological_timeline"), 2);
    CHECK_STR(text_at(&w, "/chronological_timeline/1/event_id"), "call-1");
    CHECK_STR(text_at(&w, "/chronological_timeline/1/details/reasoning_content"),
              "I wonder about it");
    CHECK_INT(count_at(&w, "/chronological_timeline/1/details/segments"), 2);
    CHECK_STR(text_at(&w, "/chronological_timeline/1/details/decision"),
              "[TOOL_CALL] look1, add: because number1");
    CHECK_STR(text_at(&w, "/final_analysis"), "It is \"so\", -it- is");
    CHECK_INT(number_at(&w, "/summary/tokens/input"), 20);
    CHECK_INT(number_at(&w, "/summary/errors"), 0);
    buf_reset(&w.out);
    CHECK(!query_session(w.reader, &everyone, STR("s-9"), &w.out, &e) && e.code == ERR_NOT_FOUND);
    buf_reset(&w.out);
    answered(&w, query_call(w.reader, &everyone, STR("call-1"), &w.out, &e), &e);
    CHECK_INT(count_at(&w, "/request/messages"), 0);
    CHECK(json_pointer(&w.doc, STR("/request/temperature")));
    CHECK_INT(count_at(&w, "/segments"), 2);
    buf_reset(&w.out);
    answered(&w, query_call_segments(w.reader, &everyone, STR("call-1"), &w.out, &e), &e);
    CHECK_INT(count_at(&w, "/segments"), 2);
    world_release(&w);
}

TEST(a_key_sees_its_own_and_may_not_see_reasoning)
{
    struct query_filter f = query_filter_none;
    struct world w;
    struct err e;

    world_init(&w);
    sessions(&w, &hider, &f, &page_one);
    CHECK_INT(number_at(&w, "/pagination/total_items"), 3);
    buf_reset(&w.out);
    CHECK(!query_session(w.reader, &hider, STR("s-0"), &w.out, &e) && e.code == ERR_NOT_FOUND);
    CHECK(!query_session_decisions(w.reader, &hider, STR("s-0"), &w.out, &e));
    CHECK(!query_session_segments(w.reader, &hider, STR("s-0"), &w.out, &e));
    CHECK(!query_call(w.reader, &hider, STR("call-0"), &w.out, &e));
    CHECK(!query_call_segments(w.reader, &hider, STR("call-0"), &w.out, &e));
    buf_reset(&w.out);
    answered(&w, query_session(w.reader, &hider, STR("s-3"), &w.out, &e), &e);
    CHECK(str_find(buf_str(&w.out), STR("wonder")) == STR_NONE);
    CHECK_STR(text_at(&w, "/chronological_timeline/1/details/reasoning_state"), "hidden");
    CHECK_STR(text_at(&w, "/chronological_timeline/1/details/decision"), "[TOOL_CALL] look1, add");
    buf_reset(&w.out);
    answered(&w, query_session_decisions(w.reader, &hider, STR("s-3"), &w.out, &e), &e);
    CHECK_STR(text_at(&w, "/decisions/0/entry"), "[DIRECT] no tool 0 6"); /* without reasoning */
    CHECK_STR(text_at(&w, "/decisions/1/entry"), "[TOOL_CALL] look1, add");
    for (size_t i = 0; i < 2; i++) {
        buf_reset(&w.out);
        answered(&w,
                 query_search(
                     w.reader, &hider, i ? STR("reasoning:wonder") : STR("wonder"), 20, &w.out, &e),
                 &e);
        CHECK_INT(count_at(&w, "/results"), 0);
    }
    world_release(&w);
}

static long long decisions(struct world *w, const struct query_filter *f)
{
    struct err e;

    buf_reset(&w->out);
    answered(w, query_decisions(w->reader, &everyone, f, &page_one, &w->out, &e), &e);
    return count_at(w, "/decisions");
}

TEST(decisions_are_found_by_tool_kind_time_and_words)
{
    struct query_filter f = query_filter_none;
    struct world w;

    world_init(&w);
    CHECK_INT(decisions(&w, &f), CALLS);
    CHECK_STR(text_at(&w, "/decisions/0/interaction_id"), "call-11");
    f.tool = STR("add");
    CHECK_INT(decisions(&w, &f), 8);
    f.kind = STR("DIRECT");
    CHECK_INT(decisions(&w, &f), 0);
    f.tool = STR("");
    CHECK_INT(decisions(&w, &f), 4);
    f = query_filter_none;
    f.search = STR("because number7");
    CHECK_INT(decisions(&w, &f), 1);
    CHECK_STR(text_at(&w, "/decisions/0/interaction_id"), "call-7");
    f.search = STR("because");
    f.tool = STR("look0");
    CHECK_INT(decisions(&w, &f), 4);
    f = query_filter_none;
    f.model = STR("m1");
    CHECK_INT(decisions(&w, &f), 6);
    f.end_us = 1050000;
    CHECK_INT(decisions(&w, &f), 2);
    world_release(&w);
}

/* Stores a call of the tool `name` of the server `server` in a session. */
static void put_exchange(struct world *w, const char *id, const char *session, const char *server)
{
    struct store_tool t = {.id = str_c(id),
                           .session_id = str_c(session),
                           .parent_id = STR(""),
                           .server_name = str_c(server),
                           .communication_type = STR("tool_call"),
                           .tool_name = STR("add"),
                           .arguments = STR(""),
                           .result = STR(""),
                           .available_tools = STR(""),
                           .error_message = STR(""),
                           .step = STR(""),
                           .timestamp_us = 1};

    store_tool_put(w->store, &t);
}

TEST(a_tool_is_found_by_its_own_name_and_by_that_with_its_server)
{
    struct store_call row = store_call_none;
    struct query_filter f = query_filter_none;
    struct world w;

    world_init(&w);
    put_exchange(&w, "t-1", "s-0", "sums");
    put_exchange(&w, "t-2", "s-1", "other");
    row.id = STR("call-dot");
    row.session_id = STR("s-dot");
    row.started_ms = row.ended_ms = 5000;
    row.decision = STR("[TOOL_CALL] files.add: because");
    row.tools = STR("[\"files.add\"]");
    store_call_put(w.store, &row, NULL);
    settle(w.store);
    for (int i = 0; i < 3; i++) { /* filtered by tool, by time, by words */
        f = query_filter_none;
        f.session_id = i == 1 ? STR("s-0") : STR("");
        f.search = i == 2 ? STR("because") : STR("");
        f.tool = STR("sums.add");
        CHECK_INT(decisions(&w, &f), 1);
        CHECK_STR(text_at(&w, "/decisions/0/interaction_id"), "call-1");
        f.tool = STR("sums.look1");
        CHECK_INT(decisions(&w, &f), 0);
        f.tool = STR("nobody.add");
        CHECK_INT(decisions(&w, &f), 0);
    }
    f = query_filter_none;
    f.tool = STR("files.add"); /* a tool with a dot in its own name */
    CHECK_INT(decisions(&w, &f), 1);
    sessions(&w, &everyone, &f, &page_one);
    CHECK_INT(count_at(&w, "/sessions"), 1);
    f.tool = STR("other.add");
    sessions(&w, &everyone, &f, &page_one);
    CHECK_INT(count_at(&w, "/sessions"), 1);
    CHECK_STR(text_at(&w, "/sessions/0/session_id"), "s-1");
    world_release(&w);
}

TEST(any_text_is_words_and_no_syntax)
{
    static const char *const texts[] = {"\"",
                                        "'",
                                        "a'b\"c",
                                        "\\",
                                        "\\'",
                                        "*",
                                        "a*",
                                        "AND",
                                        "NOT x",
                                        "a OR",
                                        "NEAR(a b)",
                                        "-x",
                                        "x-y",
                                        "entry:x",
                                        "{a b}:c",
                                        "^a",
                                        "(",
                                        ")))",
                                        "a & b | !c <-> d",
                                        "x:*",
                                        ":",
                                        "\xf0\x9f\x98\x80",
                                        "\xf0\x9f\x98\x80 word",
                                        "reasoning:",
                                        "reasoning:'",
                                        "asked:\"",
                                        "$1 %s ?1",
                                        "\xe4\xb8\x96\xe7\x95\x8c"};
    struct world w;
    struct err e;

    world_init(&w);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct query_filter f = query_filter_none;

        f.search = str_c(texts[i]);
        buf_reset(&w.out);
        answered(&w, query_search(w.reader, &everyone, f.search, 10, &w.out, &e), &e);
        decisions(&w, &f);
        sessions(&w, &everyone, &f, &page_one);
    }
    buf_reset(&w.out);
    answered(&w, query_search(w.reader, &everyone, STR("a\0b"), 10, &w.out, &e), &e);
    buf_reset(&w.out);
    answered(&w, query_search(w.reader, &everyone, STR("..."), 10, &w.out, &e), &e);
    CHECK_INT(count_at(&w, "/results"), 0);
    CHECK_INT(number_at(&w, "/searched_back_to_us"), -999); /* null: searched everything */
    buf_reset(&w.out);
    answered(&w, query_search(w.reader, &everyone, STR("asked:numb"), 100, &w.out, &e), &e);
    CHECK_INT(count_at(&w, "/results"), CALLS);
    buf_reset(&w.out);
    answered(&w, query_search(w.reader, &everyone, STR("reasoning:wonder"), 100, &w.out, &e), &e);
    CHECK_INT(count_at(&w, "/results"), CALLS / 2);
    CHECK(str_find(text_at(&w, "/results/0/snippet"), STR("wonder")) != STR_NONE);
    buf_reset(&w.out);
    answered(&w, query_search(w.reader, &everyone, STR("answer:number1"), 100, &w.out, &e), &e);
    CHECK_INT(count_at(&w, "/results"), 0);
    world_release(&w);
}

TEST(a_search_without_reasoning_says_why_and_the_size_is_known)
{
    static const struct {
        const char *words, *why;
        const struct query_asker *asker;
    } cases[] = {
        {"reasoning:wonder", "(none)", &everyone},
        {"reasoning:nowhere", "(none)", &everyone}, /* the call has reasoning, but not this word */
        {"nowhere", "(none)", &everyone},
        {"reasoning:wonder", "hidden_from_key", &hider},
        {"reasoning:nowhere", "hidden_from_key", &hider},
    };
    struct query_filter f = query_filter_none;
    struct world w;
    int64_t bytes;
    struct err e;

    world_init(&w);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_reset(&w.out);
        answered(
            &w, query_search(w.reader, cases[i].asker, str_c(cases[i].words), 10, &w.out, &e), &e);
        CHECK_STR(text_at(&w, "/reasoning_absent"), cases[i].why);
        f.search = str_c(cases[i].words);
        sessions(&w, cases[i].asker, &f, &page_one);
        CHECK_STR(text_at(&w, "/reasoning_absent"), cases[i].why);
    }
    f.search = STR("nowhere");
    CHECK_INT(decisions(&w, &f), 0);
    CHECK_STR(text_at(&w, "/reasoning_absent"), "(none)");
    f.search = STR("");
    CHECK(decisions(&w, &f) > 0);
    buf_reset(&w.out);
    answered(&w, query_session_decisions(w.reader, &everyone, STR("s-3"), &w.out, &e), &e);
    CHECK_STR(text_at(&w, "/decisions/0/reasoning_absent"), "none_given");
    CHECK_STR(text_at(&w, "/decisions/1/reasoning_absent"), "(none)");
    CHECK(query_size(w.reader, &bytes, &e) && bytes > 8192);
    world_release(&w);
}

TEST(sums_add_up)
{
    struct query_filter f = query_filter_none;
    struct world w;
    struct err e;

    world_init(&w);
    answered(&w, query_usage(w.reader, &everyone, STR("model"), &f, &w.out, &e), &e);
    CHECK_INT(count_at(&w, "/groups"), 2);
    CHECK_INT(number_at(&w, "/groups/0/calls"), 6);
    CHECK_INT(number_at(&w, "/groups/0/input_tokens"), 60);
    CHECK_INT(number_at(&w, "/groups/0/cost_usd"), 3);
    buf_reset(&w.out);
    answered(&w, query_usage(w.reader, &everyone, STR("day"), &f, &w.out, &e), &e);
    CHECK_STR(text_at(&w, "/groups/0/key"), "1970-01-01");
    CHECK_INT(number_at(&w, "/groups/0/failed"), 1);
    CHECK_INT(number_at(&w, "/groups/0/starved"), 1); /* call 7 has reasoning but no answer */
    buf_reset(&w.out);
    CHECK(!query_usage(w.reader, &everyone, STR("x; DROP"), &f, &w.out, &e));
    buf_reset(&w.out);
    answered(&w, query_reasoning(w.reader, &everyone, &f, &w.out, &e), &e);
    CHECK_INT(count_at(&w, "/rows"), 2);
    CHECK_INT(count_at(&w, "/rows/0/saturation"), 10);
    CHECK_INT(number_at(&w, "/rows/0/with_reasoning"), 3);
    CHECK_INT(number_at(&w, "/rows/0/thinking_ms_p50"), 4); /* of 0 1 4 5 8 9 */
    CHECK_INT(number_at(&w, "/rows/0/thinking_ms_p95"), 9);
    CHECK_INT(number_at(&w, "/rows/0/saturation/9"), 1); /* call 9: 90 of 100 */
    buf_reset(&w.out);
    answered(&w, query_metrics(w.reader, &everyone, &w.out, &e), &e);
    CHECK_INT(number_at(&w, "/total_sessions"), 6);
    CHECK_INT(number_at(&w, "/failed_sessions"), 1);
    CHECK_INT(number_at(&w, "/total_interactions"), CALLS);
    CHECK_INT(number_at(&w, "/sessions_last_24h"), 6);
    buf_reset(&w.out);
    answered(&w, query_filter_options(w.reader, &everyone, &w.out, &e), &e);
    CHECK_INT(count_at(&w, "/tools"), 3);
    CHECK_STR(text_at(&w, "/tools/0"), "add");
    CHECK_INT(count_at(&w, "/keys"), 2);
    CHECK_STR(text_at(&w, "/alert_types/0"), "openai");
    world_release(&w);
}

TEST(what_runs_is_in_progress_and_there_before_its_record)
{
    const struct query_running running[] = {
        {STR("call-x"), STR("s-new"), STR("k1"), STR("m9"), STR("what now"), STR("openai"), 999},
        {STR("call-y"), STR("s-1"), STR("k1"), STR("m0"), STR("more"), STR("openai"), 999},
        {STR("call-z"), STR("s-1"), STR("k1"), STR("m0"), STR("more"), STR("openai"), 999},
    };
    struct query_asker a = everyone;
    struct query_filter f = query_filter_none;
    struct world w;
    struct err e;

    world_init(&w);
    a.running = running;
    a.running_count = COUNT_OF(running);
    sessions(&w, &a, &f, &page_one);
    CHECK_INT(count_at(&w, "/sessions"), 7);
    CHECK_INT(number_at(&w, "/pagination/total_items"), 7);
    CHECK_STR(text_at(&w, "/sessions/0/session_id"), "s-new");
    CHECK_STR(text_at(&w, "/sessions/0/title"), "what now");
    f.status[f.status_count++] = STR("in_progress");
    sessions(&w, &a, &f, &page_one);
    CHECK_INT(count_at(&w, "/sessions"), 2);
    CHECK_STR(text_at(&w, "/sessions/1/session_id"), "s-1");
    CHECK_STR(text_at(&w, "/sessions/1/status"), "in_progress");
    f.status[0] = STR("completed");
    sessions(&w, &a, &f, &page_one);
    CHECK_INT(count_at(&w, "/sessions"), 4); /* neither s-1 nor s-2, which failed */
    buf_reset(&w.out);
    answered(&w, query_active(w.reader, &a, &w.out, &e), &e);
    CHECK_INT(count_at(&w, ""), 2);
    buf_reset(&w.out);
    answered(&w, query_session(w.reader, &a, STR("s-new"), &w.out, &e), &e);
    CHECK_STR(text_at(&w, "/status"), "in_progress");
    CHECK_INT(count_at(&w, "/chronological_timeline"), 0);
    a.key_name = STR("k0");
    sessions(&w, &a, &query_filter_none, &page_one);
    CHECK_INT(count_at(&w, "/sessions"), 3);
    buf_reset(&w.out);
    CHECK(!query_session(w.reader, &a, STR("s-new"), &w.out, &e) && e.code == ERR_NOT_FOUND);
    world_release(&w);
}

TEST(an_answer_that_needs_too_much_memory_is_refused)
{
    struct world w;
    struct err e;

    world_init(&w);
    reader_close(w.reader);
    CHECK_F(reader_open(str_c(w.place.url), &w.reader, &e), "%s", e.text);
    w.reader->arena.size_max = 1024; /* a small limit instead of very many decisions */
    CHECK(!query_session_decisions(w.reader, &everyone, STR("s-3"), &w.out, &e));
    CHECK(e.code == ERR_LIMIT && strstr(e.text, "too many calls"));
    world_release(&w);
}

TEST(a_block_larger_than_the_memory_of_a_search_is_searched)
{
    static char answer[20000];
    struct store_call row = store_call_none;
    struct world w;
    struct err e;

    world_init(&w);
    memset(answer, 'x', sizeof answer);
    memcpy(answer + sizeof answer - 8, " kumquat", 8);
    row.id = STR("long");
    row.started_ms = row.ended_ms = 1000;
    row.answer = (str){answer, sizeof answer};
    store_call_put(w.store, &row, NULL);
    settle(w.store);
    reader_close(w.reader);
    CHECK_F(reader_open(str_c(w.place.url), &w.reader, &e), "%s", e.text);
    w.reader->row.size_max = 8192;
    answered(&w, query_search(w.reader, &everyone, STR("kumquat"), 10, &w.out, &e), &e);
    CHECK_STR(text_at(&w, "/results/0/interaction_id"), "long");
    world_release(&w);
}

TEST_MAIN(T(sessions_are_listed_newest_first_and_filtered),
          T(every_order_gives_every_session_once_by_cursor_and_by_page),
          T(bad_orders_and_cursors_are_refused),
          T(hole_7_a_session_has_its_calls_its_segments_and_its_sums),
          T(a_key_sees_its_own_and_may_not_see_reasoning),
          T(decisions_are_found_by_tool_kind_time_and_words),
          T(a_tool_is_found_by_its_own_name_and_by_that_with_its_server),
          T(any_text_is_words_and_no_syntax),
          T(a_search_without_reasoning_says_why_and_the_size_is_known), T(sums_add_up),
          T(what_runs_is_in_progress_and_there_before_its_record),
          T(an_answer_that_needs_too_much_memory_is_refused),
          T(a_block_larger_than_the_memory_of_a_search_is_searched))
