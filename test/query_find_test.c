/* Searches in a store with several hundred blocks: each call is found by its words, in whatever
 * form its block is stored, and a query that cannot search every block reports how far it searched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "query_help.h"
#include "store/block.h"

#include <unistd.h>

#define FIND_CALLS_PUT 1804u /* six per block: index segments of all levels, and an open block */
#define FILLER_SIZE (BLOCK_SIZE / 5)

struct many {
    struct place place;
    struct store *store;
    struct reader *reader;
    struct buf out;
    struct json doc;
    struct arena arena;
};

static void many_put(struct many *m, unsigned n, const char *filler)
{
    struct store_call row = store_call_none;
    char id[32], session[32], asked[64], reasoning[64], decision[64];

    (void)snprintf(id, sizeof id, "call-%u", n);
    (void)snprintf(session, sizeof session, "s-%u", n / 2);
    (void)snprintf(asked, sizeof asked, "about uniq%ux and kind%u", n, n % 7);
    /* The decision repeats the reasoning up to the middle of a word. */
    (void)snprintf(reasoning, sizeof reasoning, "secretly chosen%uxyz deep%ux", n, n);
    (void)snprintf(decision, sizeof decision, "[DIRECT] secretly chosen%ux...", n);
    row.id = str_c(id);
    row.session_id = str_c(session);
    row.key_name = n / 2 % 100 ? STR("many") : STR("few");
    row.started_ms = 1000 + n;
    row.ended_ms = 1001 + n;
    row.status = 200;
    row.complete = true;
    row.has_reasoning = true;
    row.asked = str_c(asked);
    row.reasoning = str_c(reasoning);
    row.decision = str_c(decision);
    row.answer = (str){filler, FILLER_SIZE};
    store_call_put(m->store, &row, NULL);
}

static void many_init(struct many *m, unsigned calls)
{
    static const char words[] = "the filler of an answer, as long as it must be. ";
    char *filler = base_alloc(FILLER_SIZE);
    struct err e;

    for (size_t i = 0; i < FILLER_SIZE; i++)
        filler[i] = words[i % (sizeof words - 1)];
    place_init(&m->place);
    m->store = open_store(&m->place);
    for (unsigned i = 0; i < calls; i++) {
        many_put(m, i, filler);
        if (i % 100 == 99)
            settle(m->store);
    }
    settle(m->store);
    free(filler);
    CHECK_F(reader_open(str_c(m->place.url), &m->reader, &e), "%s", e.text);
    buf_init(&m->out, QUERY_OUT_MAX);
    json_init(&m->doc);
    arena_init(&m->arena, 1 << 24);
}

static void many_release(struct many *m)
{
    arena_release(&m->arena);
    json_release(&m->doc);
    buf_release(&m->out);
    reader_close(m->reader);
    if (m->store)
        store_close(m->store);
    place_release(&m->place);
}

static size_t many_find(struct many *m, const struct query_asker *a, const char *words)
{
    struct err e;

    buf_reset(&m->out);
    CHECK_F(query_search(m->reader, a, str_c(words), 1000, &m->out, &e), "%s: %s", words, e.text);
    CHECK(json_parse(&m->doc, buf_str(&m->out), &e));
    return json_count(&m->doc, json_pointer(&m->doc, STR("/results")));
}

static str many_text(struct many *m, const char *pointer)
{
    const struct json_node *v = json_pointer(&m->doc, str_c(pointer));
    str s;

    return v && json_text(&m->doc, v, &m->arena, &s) ? s : STR("");
}

static bool many_bounded(struct many *m)
{
    int64_t us;

    return json_i64(&m->doc, json_pointer(&m->doc, STR("/searched_back_to_us")), &us);
}

TEST(every_call_is_found_by_its_own_word)
{
    static const char *const words[] = {"asked:uniq", "reasoning:DEEP", "chosen"};
    struct store_receipt receipt;
    struct many m;
    struct err e;

    many_init(&m, FIND_CALLS_PUT);
    CHECK(ask(&m.place, "SELECT count(*) FROM call_blocks") > 256 + 16);
    CHECK(ask(&m.place, "SELECT count(*) FROM call_texts") > 0);
    for (unsigned n = 0; n < FIND_CALLS_PUT; n += n < FIND_CALLS_PUT - 20 ? 89 : 1)
        for (size_t i = 0; i < COUNT_OF(words); i++) {
            char typed[64], id[32];

            (void)snprintf(typed, sizeof typed, "%s%ux", words[i], n);
            (void)snprintf(id, sizeof id, "call-%u", n);
            CHECK_INT(many_find(&m, &everyone, typed), 1);
            CHECK_STR(many_text(&m, "/results/0/interaction_id"), id);
            CHECK_STR(many_text(&m, "/results/0/type"), i == 2 ? "decision" : "interaction");
            CHECK(!many_bounded(&m));
        }
    CHECK_F(store_erase(m.store, STORE_ERASE_SESSION, STR("s-350"), STR("op"), &receipt, &e),
            "%s",
            e.text);
    CHECK_INT(many_find(&m, &everyone, "asked:uniq700x"), 0);
    CHECK_INT(many_find(&m, &everyone, "asked:uniq699x"), 1);
    CHECK_INT(many_find(&m, &everyone, "asked:uniq702x"), 1);
    many_release(&m);
}

TEST(a_search_that_ends_early_says_how_far_it_came)
{
    struct query_filter f = query_filter_none;
    struct many m;
    struct err e;

    many_init(&m, FIND_CALLS_PUT);
    /* "uniq17" is not a whole word. As a prefix it may be in every block, so only the newest blocks
     * are searched. */
    CHECK_INT(many_find(&m, &everyone, "asked:uniq17"), 100); /* calls 1700 to 1799 */
    CHECK_STR(many_text(&m, "/results/0/interaction_id"), "call-1799");
    CHECK(many_bounded(&m));
    /* Both words are in every block, but no call has both. */
    CHECK_INT(many_find(&m, &everyone, "asked:filler answer:kind3"), 0);
    CHECK(many_bounded(&m));
    f.search = STR("asked:uniq17");
    buf_reset(&m.out);
    CHECK_F(query_sessions(m.reader, &everyone, &f, &page_one, &m.out, &e), "%s", e.text);
    CHECK(json_parse(&m.doc, buf_str(&m.out), &e));
    CHECK_INT(json_count(&m.doc, json_pointer(&m.doc, STR("/sessions"))), 20);
    CHECK(many_bounded(&m));
    f.search = STR("uniq17x");
    buf_reset(&m.out);
    CHECK_F(query_sessions(m.reader, &everyone, &f, &page_one, &m.out, &e), "%s", e.text);
    CHECK(json_parse(&m.doc, buf_str(&m.out), &e));
    CHECK_STR(many_text(&m, "/sessions/0/session_id"), "s-8");
    CHECK(!many_bounded(&m));
    many_release(&m);
}

TEST(a_key_finds_its_own_and_no_reasoning_that_it_may_not_see)
{
    struct query_asker few = {.key_name = STR("few")}, blind = few;
    struct many m;

    blind.hide_reasoning = true;
    many_init(&m, 250);
    CHECK_INT(many_find(&m, &few, "asked:uniq201x"), 1);
    CHECK_INT(many_find(&m, &few, "asked:uniq199x"), 0);
    CHECK_INT(many_find(&m, &few, "deep201x"), 1);
    CHECK_INT(many_find(&m, &blind, "deep201x"), 0);
    CHECK_INT(many_find(&m, &blind, "reasoning:deep201x"), 0);
    CHECK_INT(many_find(&m, &blind, "chosen201x"), 0); /* the decision repeats the reasoning */
    CHECK_INT(many_find(&m, &few, "chosen201x"), 1);
    /* A prefix search covers a key's own calls, although calls of another key match too. */
    CHECK_INT(many_find(&m, &everyone, "asked:uniq20"), 11);
    CHECK_INT(many_find(&m, &few, "asked:uniq20"), 2);
    many_release(&m);
}

/* Reads all pages of the decisions that pass the filter; returns their number. */
static size_t many_list(struct many *m, const struct query_asker *a, const struct query_filter *f,
                        size_t *pages)
{
    struct query_page p = {.limit = 50, .page = 1, .cursor = STR("")};
    size_t n = 0;
    struct err e;

    for (*pages = 0; *pages == 0 || p.cursor.n; ++*pages) {
        buf_reset(&m->out);
        CHECK_F(query_decisions(m->reader, a, f, &p, &m->out, &e), "%s", e.text);
        CHECK(json_parse(&m->doc, buf_str(&m->out), &e));
        n += json_count(&m->doc, json_pointer(&m->doc, STR("/decisions")));
        p.cursor = many_text(m, "/next_cursor");
        CHECK(*pages < 1000);
    }
    return n;
}

/* The calls are not in the newest blocks with these words. The result must be the same as if every
 * block were searched. */
TEST(a_search_of_few_calls_looks_only_at_their_blocks)
{
    struct query_asker few = {.key_name = STR("few")}, many = {.key_name = STR("many")};
    struct query_filter f = query_filter_none;
    struct many m;
    size_t pages;

    many_init(&m, FIND_CALLS_PUT);
    /* The key has two calls of every 200: 20 in all, in 10 of 300 blocks. */
    CHECK_INT(many_find(&m, &few, "answer:filler"), 20);
    CHECK(!many_bounded(&m));
    CHECK_STR(many_text(&m, "/results/0/interaction_id"), "call-1801");
    CHECK_STR(many_text(&m, "/results/19/interaction_id"), "call-0");
    CHECK_INT(many_find(&m, &few, "asked:uniq"), 20); /* a prefix */
    CHECK(!many_bounded(&m));
    CHECK_INT(many_find(&m, &few, "asked:kind3"), 2); /* calls 801 and 1200 */
    CHECK_INT(many_find(&m, &many, "asked:uniq201x"), 0);
    f.search = STR("chosen");
    CHECK_INT(many_list(&m, &few, &f, &pages), 20);
    f.tool = STR("hammer");
    CHECK_INT(many_list(&m, &everyone, &f, &pages), 0);
    f.tool = STR("");
    f.session_id = STR("s-350");
    CHECK_INT(many_list(&m, &everyone, &f, &pages), 2);
    CHECK_INT(many_list(&m, &few, &f, &pages), 0);
    many_release(&m);
}

#define PLANTED 12000 /* more than a page of decisions scans */

/* Calls of one model and one tool, without texts; the oldest three have another kind. */
static void many_plant_decisions(struct many *m)
{
    char sql[1024];

    (void)snprintf(sql,
                   sizeof sql,
                   "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                   " INSERT INTO llm_interactions (call_n, interaction_id, session_id, model,"
                   " started_ms, ended_ms, decision_kind, block)"
                   " SELECT 1000000 + i, 'planted-' || i, 's-0', 'm', 5000 + i / 2, 5000 + i / 2,"
                   " CASE WHEN i <= 3 THEN 'DIRECT' ELSE 'TOOL_CALL' END, 1000000 FROM n",
                   PLANTED);
    do_sql(&m->place, sql);
    do_sql(&m->place,
           "INSERT INTO call_tools (tool, call_n) SELECT 'saw', call_n FROM llm_interactions"
           " WHERE call_n > 1000000");
}

/* A page that scans only part of the calls reports that, and its cursor continues after them. */
TEST(a_list_of_decisions_that_few_calls_pass_continues_where_a_page_ended)
{
    struct query_asker few = {.key_name = STR("few")};
    struct query_filter f = query_filter_none;
    struct many m;
    size_t pages;

    many_init(&m, 20);
    many_plant_decisions(&m);
    f.model = STR("m");
    f.kind = STR("DIRECT");
    CHECK_INT(many_list(&m, &everyone, &f, &pages), 3);
    CHECK_INT(pages, 2);
    CHECK(!many_bounded(&m)); /* the last page reached the end */
    f.model = STR("");
    f.tool = STR("saw");
    CHECK_INT(many_list(&m, &everyone, &f, &pages), 3);
    CHECK_INT(pages, 4);
    f.kind = STR("");
    CHECK_INT(many_list(&m, &everyone, &f, &pages), PLANTED);
    CHECK_INT(many_list(&m, &few, &f, &pages), PLANTED); /* all are in its session s-0 */
    f.end_us = (int64_t)(5000 + 100) * 1000; /* enough calls of a tool for a scan by time */
    CHECK_INT(many_list(&m, &everyone, &f, &pages), 201);
    CHECK_INT(pages, 5);
    f.kind = STR("DIRECT");
    CHECK_INT(many_list(&m, &everyone, &f, &pages), 3);
    f.tool = STR("hammer");
    CHECK_INT(many_list(&m, &everyone, &f, &pages), 0);
    many_release(&m);
}

static void many_plant_old(struct many *m, const char *id, int n)
{
    char sql[512];

    (void)snprintf(sql,
                   sizeof sql,
                   "INSERT INTO llm_interactions (call_n, interaction_id, session_id, started_ms,"
                   " ended_ms) VALUES (%d, '%s', 's-old', 1, 2)",
                   -n,
                   id);
    do_sql(&m->place, sql);
    (void)snprintf(sql,
                   sizeof sql,
                   "INSERT INTO old_interactions (interaction_id, asked, answer) VALUES ('%s',"
                   " 'an okapi%d', 'in the old tables')",
                   id,
                   n);
    do_sql(&m->place, sql);
}

TEST(calls_that_are_in_no_block_yet_are_found_and_read)
{
    struct many m;
    struct err e;

    many_init(&m, 50);
    while (ask(&m.place,
               m.place.postgres ? "SELECT count(*) FROM pg_class WHERE relname = 'old_interactions'"
                                : "SELECT count(*) FROM sqlite_master WHERE name ="
                                  " 'old_interactions'"))
        usleep(10000); /* the store drops the empty table itself */
    store_close(m.store);
    m.store = NULL; /* a store would move the planted rows */
    do_sql(&m.place,
           m.place.postgres
               ? "CREATE TABLE old_interactions (interaction_id TEXT, request BYTEA, request_size"
                 " BIGINT, reply BYTEA, reply_size BIGINT, reasoning_content TEXT,"
                 " reasoning_summary TEXT, answer TEXT, tool_calls TEXT, attempts TEXT, asked TEXT,"
                 " decision TEXT, tools TEXT, segments TEXT, step_description TEXT, error_message"
                 " TEXT)"
               : "CREATE TABLE old_interactions (interaction_id TEXT, request BLOB, request_size"
                 " BIGINT, reply BLOB, reply_size BIGINT, reasoning_content TEXT,"
                 " reasoning_summary TEXT, answer TEXT, tool_calls TEXT, attempts TEXT, asked TEXT,"
                 " decision TEXT, tools TEXT, segments TEXT, step_description TEXT, error_message"
                 " TEXT)");
    many_plant_old(&m, "old-1", 1);
    many_plant_old(&m, "old-2", 2);
    CHECK_INT(many_find(&m, &everyone, "okapi1"), 1);
    CHECK_STR(many_text(&m, "/results/0/interaction_id"), "old-1");
    CHECK_INT(many_find(&m, &everyone, "okapi"), 2);
    CHECK_STR(many_text(&m, "/results/0/interaction_id"), "old-1");
    buf_reset(&m.out);
    CHECK_F(query_call(m.reader, &everyone, STR("old-2"), &m.out, &e), "%s", e.text);
    CHECK(str_find(buf_str(&m.out), STR("in the old tables")) != STR_NONE);
    many_release(&m);
}

TEST_MAIN(T(every_call_is_found_by_its_own_word), T(a_search_that_ends_early_says_how_far_it_came),
          T(a_key_finds_its_own_and_no_reasoning_that_it_may_not_see),
          T(a_search_of_few_calls_looks_only_at_their_blocks),
          T(a_list_of_decisions_that_few_calls_pass_continues_where_a_page_ended),
          T(calls_that_are_in_no_block_yet_are_found_and_read))
