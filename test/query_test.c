/* Questions to the record, on whichever database: answers, pages, scopes, words, plans.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "store/db.h"
#include "store/query.h"
#include "store_help.h"

struct world {
    struct place place;
    struct store *store;
    struct reader *reader;
    struct buf out;
    struct json doc;
    struct arena arena;
};

static const struct query_asker everyone = {.key_name = STR_INIT(""), .now_us = 2000000000};
static const struct query_asker hider = {.key_name = STR_INIT("k1"), .hide_reasoning = true};

static void put(struct world *w, unsigned n)
{
    struct store_call row = store_call_none;
    char id[32], session[32], decision[128], asked[64];

    (void)snprintf(id, sizeof id, "call-%u", n);
    (void)snprintf(session, sizeof session, "s-%u", n / 2);
    (void)snprintf(asked, sizeof asked, "what about number%u", n);
    (void)snprintf(decision,
                   sizeof decision,
                   n % 3 ? "[TOOL_CALL] look%u, add: because number%u" : "[DIRECT] no tool %u %u",
                   n % 2,
                   n);
    row.id = str_c(id);
    row.session_id = str_c(session);
    row.key_name = n / 2 % 2 ? STR("k1") : STR("k0");
    row.provider = STR("p");
    row.model = n % 4 < 2 ? STR("m0") : STR("m1");
    row.dialect = STR("openai");
    row.started_ms = 1000 + 10 * n;
    row.reasoning_ms = row.started_ms + 1;
    row.answer_ms = row.started_ms + 1 + n;
    row.ended_ms = row.started_ms + 5 + n;
    row.status = n == 5 ? 500 : 200;
    row.error_code = n == 5 ? STR("upstream") : STR("");
    row.complete = true;
    row.has_reasoning = n % 2;
    row.reasoning = n % 2 ? STR("I wonder about it") : STR("");
    row.state = n % 2 ? STR("complete") : STR("none");
    row.level = STR("low");
    row.cap_tokens = 100;
    row.reasoning_tokens = n % 2 ? 10 * n : 0;
    row.input_tokens = 10;
    row.output_tokens = 100;
    row.cost_usd = 0.5;
    row.asked = str_c(asked);
    row.answer = n == 7 ? STR("") : STR("It is \"so\", -it- is");
    row.decision = str_c(decision);
    row.tools = n % 3 == 0 ? STR("")
                : n % 2    ? STR("[\"look1\",\"add\"]")
                           : STR("[\"look0\",\"add\"]");
    row.segments = n == 1
                       ? STR("[{\"kind\":\"reasoning\",\"text\":\"I wonder about it\",\"tokens\":4,"
                             "\"exact\":true,\"state\":\"complete\"},{\"kind\":\"answer\"}]")
                       : STR("");
    row.request = STR("{\"temperature\": 0.5, \"messages\": []}");
    store_call_put(w->store, &row, NULL);
}

#define CALLS 12u

static void world_init(struct world *w)
{
    struct err e;

    place_init(&w->place);
    w->store = open_store(&w->place);
    for (unsigned i = 0; i < CALLS; i++)
        put(w, i);
    settle(w->store);
    CHECK_F(reader_open(str_c(w->place.url), &w->reader, &e), "%s", e.text);
    buf_init(&w->out, QUERY_OUT_MAX);
    json_init(&w->doc);
    arena_init(&w->arena, 1 << 24);
}

static void world_release(struct world *w)
{
    arena_release(&w->arena);
    json_release(&w->doc);
    buf_release(&w->out);
    reader_close(w->reader);
    store_close(w->store);
    place_release(&w->place);
}

/* The answer, parsed. */
static void answered(struct world *w, bool ok, const struct err *e)
{
    struct err bad;

    CHECK_F(ok, "%s", e->text);
    CHECK_F(json_parse(&w->doc, buf_str(&w->out), &bad),
            "%s in %.*s",
            bad.text,
            STR_ARG(buf_str(&w->out)));
}

static str text_at(struct world *w, const char *pointer)
{
    str s;

    return json_text(&w->doc, json_pointer(&w->doc, str_c(pointer)), &w->arena, &s) ? s
                                                                                    : STR("(none)");
}

static long long number_at(struct world *w, const char *pointer)
{
    int64_t n;

    return json_i64(&w->doc, json_pointer(&w->doc, str_c(pointer)), &n) ? n : -999;
}

static long long count_at(struct world *w, const char *pointer)
{
    return (long long)json_count(&w->doc, json_pointer(&w->doc, str_c(pointer)));
}

static void sessions(struct world *w, const struct query_asker *a, const struct query_filter *f,
                     const struct query_page *p)
{
    struct err e;

    buf_reset(&w->out);
    answered(w, query_sessions(w->reader, a, f, p, &w->out, &e), &e);
}

static const struct query_page page_one = {
    .limit = 20, .page = 1, .cursor = STR_INIT(""), .sort = STR_INIT("")};

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
        "x", "zz", "61", "7c", "2d737461727465645f61745f75737c787c79"};
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
    world_release(&w);
}

TEST(a_session_has_its_calls_its_segments_and_its_sums)
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
    CHECK_STR(text_at(&w, "/decisions/0/entry"), "[DIRECT] no tool 0 6"); /* nothing was thought */
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
    CHECK_INT(number_at(&w, "/groups/0/starved"), 1); /* call 7 thought and said nothing */
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
        {STR("call-y"), STR("s-1"), STR("k0"), STR("m0"), STR("more"), STR("openai"), 999},
        {STR("call-z"), STR("s-1"), STR("k0"), STR("m0"), STR("more"), STR("openai"), 999},
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
    CHECK_INT(count_at(&w, "/sessions"), 4); /* not s-1, not s-2 which failed */
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

static void exported(struct world *w, enum query_format format, const struct query_filter *f)
{
    struct query_export x;
    struct err e;

    buf_reset(&w->out);
    query_export_init(&x, format, f);
    for (unsigned i = 0; !x.done; i++) {
        CHECK_F(query_export_step(w->reader, &everyone, &x, &w->out, &e), "%s", e.text);
        CHECK(i < 10);
    }
    query_export_release(&x);
}

static size_t lines(str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '\n';
    return n;
}

TEST(exports_have_everything_once)
{
    struct query_filter f = query_filter_none;
    struct world w;
    struct err none;

    world_init(&w);
    exported(&w, QUERY_JSON, &f);
    answered(&w, true, &none);
    CHECK_INT(count_at(&w, "/sessions"), 6);
    CHECK_STR(text_at(&w, "/sessions/0/session_id"), "s-0");
    exported(&w, QUERY_CSV, &f);
    CHECK_INT(lines(buf_str(&w.out)), CALLS + 1);
    CHECK(str_find(buf_str(&w.out), STR("\"It is \"\"so\"\", -it- is\"")) != STR_NONE);
    exported(&w, QUERY_OTLP, &f);
    CHECK_INT(lines(buf_str(&w.out)), 6);
    CHECK(str_find(buf_str(&w.out), STR("wonder")) == STR_NONE);
    w.out.n = str_find(buf_str(&w.out), STR("\n"));
    answered(&w, true, &none);
    CHECK_INT(count_at(&w, "/resourceSpans/0/scopeSpans/0/spans"), 2);
    f.session_id = STR("s-4");
    exported(&w, QUERY_JSON, &f);
    answered(&w, true, &none);
    CHECK_STR(text_at(&w, "/session_id"), "s-4");
    f.session_id = STR("");
    f.model = STR("none");
    exported(&w, QUERY_JSON, &f);
    answered(&w, true, &none);
    CHECK_INT(count_at(&w, "/sessions"), 0);
    world_release(&w);
}

TEST(no_text_becomes_a_formula)
{
    static const char *const texts[] = {
        "=1+1", "+1", "-1", "@x", "\t=1", " =1", "\r=1", "|x", "%0A=1"};
    struct query_filter f = query_filter_none;
    struct world w;

    world_init(&w);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct store_call row = store_call_none;
        char id[32];

        (void)snprintf(id, sizeof id, "formula-%zu", i);
        row.id = str_c(id);
        row.session_id = STR("formula");
        row.started_ms = 5000;
        row.answer = str_c(texts[i]);
        store_call_put(w.store, &row, NULL);
    }
    settle(w.store);
    f.session_id = STR("formula");
    exported(&w, QUERY_CSV, &f);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        str quoted = arena_printf(&w.arena, ",\"'%s\",", texts[i]);

        CHECK_F(str_find(buf_str(&w.out), quoted) != STR_NONE, "%s", texts[i]);
    }
    world_release(&w);
}

/* ---- plans ---- */

struct plan {
    struct buf text;
};

static bool on_plan(void *ctx, const struct db_value *v, size_t n)
{
    struct plan *p = ctx;

    buf_add(&p->text, v[n - 1].s);
    buf_add_c(&p->text, '\n');
    return true;
}

TEST(no_question_to_the_decision_log_reads_all_of_it)
{
    static const char *const questions[] = {
        "SELECT d.entry FROM decision_tools t JOIN decisions d ON d.decision_id = t.decision_id "
        "WHERE t.tool = 'x' ORDER BY t.decision_id DESC LIMIT 51",
        "SELECT d.entry FROM decisions d ORDER BY d.timestamp_us DESC, d.decision_id DESC LIMIT 51",
        "SELECT d.entry FROM decisions d WHERE (d.timestamp_us, d.decision_id) < (5, 5) ORDER BY "
        "d.timestamp_us DESC, d.decision_id DESC LIMIT 51",
        "SELECT d.entry FROM decisions d WHERE d.kind = 'DIRECT' ORDER BY d.timestamp_us DESC, "
        "d.decision_id DESC LIMIT 51",
        "SELECT d.entry FROM decisions d WHERE d.session_id = 's' ORDER BY d.timestamp_us, "
        "d.decision_id",
        "SELECT d.entry FROM decisions_text w CROSS JOIN decisions d ON d.decision_id = w.rowid "
        "WHERE w.decisions_text MATCH 'x' ORDER BY w.rowid DESC LIMIT 500",
        "SELECT s.title FROM alert_sessions s ORDER BY s.started_at_us DESC, s.session_id DESC "
        "LIMIT 21",
        "SELECT s.title FROM alert_sessions s WHERE s.key_name = 'k' ORDER BY s.started_at_us "
        "DESC, s.session_id DESC LIMIT 21",
    };
    struct world w;
    struct err e;
    struct db *db;

    world_init(&w);
    if (w.place.postgres) { /* its planner looks at sizes, and these tables are small */
        world_release(&w);
        return;
    }
    CHECK(db_open(str_c(w.place.url), DB_READ, &db, &e));
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        struct plan p;
        str sql = arena_join(&w.arena, STR("EXPLAIN QUERY PLAN "), str_c(questions[i]), STR(""));

        buf_init(&p.text, 65536);
        CHECK_F(db_query(db, sql.p, NULL, 0, (struct db_rows){on_plan, &p}, &e), "%s", e.text);
        buf_add_c(&p.text, '\0');
        CHECK_F(!strstr(p.text.p, "SCAN d\n") && !strstr(p.text.p, "SCAN s\n") &&
                    !strstr(p.text.p, "SCAN t\n"),
                "%s:\n%s",
                questions[i],
                p.text.p);
        if (!strstr(questions[i], "'s'"))
            CHECK_F(!strstr(p.text.p, "TEMP B-TREE"), "%s:\n%s", questions[i], p.text.p);
        buf_release(&p.text);
    }
    db_close(db);
    world_release(&w);
}

TEST_MAIN(T(sessions_are_listed_newest_first_and_filtered),
          T(every_order_gives_every_session_once_by_cursor_and_by_page),
          T(bad_orders_and_cursors_are_refused),
          T(a_session_has_its_calls_its_segments_and_its_sums),
          T(a_key_sees_its_own_and_may_not_see_reasoning),
          T(decisions_are_found_by_tool_kind_time_and_words), T(any_text_is_words_and_no_syntax),
          T(sums_add_up), T(what_runs_is_in_progress_and_there_before_its_record),
          T(exports_have_everything_once), T(no_text_becomes_a_formula),
          T(no_question_to_the_decision_log_reads_all_of_it))
