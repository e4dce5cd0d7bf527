/* Erased texts are gone from every table of every application: the test dumps the tables and
 * searches them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "erase_help.h"
#include "store/engine_state.h"
#include "store/row.h"

#include <unistd.h>

#define WORD "zanzibar"

/* One row for each table of an application, with the word in every text. SESSION, KEY and WHO are
 * placeholders. */
static const char *const rows[] = {
    "INSERT INTO agent_runs VALUES ('SESSION-run', 'policy', 'SESSION', 'finished', 'zanzibar',"
    " '{\"case\":{\"who\":\"WHO\"},\"text\":\"zanzibar\"}', 'zanzibar', 1, 2, 'WHO', 'd', '')",
    "INSERT INTO agent_effects VALUES ('SESSION-run', 1, 'tool', 'look', 'k', 'zanzibar',"
    " 'zanzibar', 0, 1, 1, 2)",
    "INSERT INTO policy_results (result_id, run_id, session_id, case_id, criterion_id, status,"
    " controller, mode, prompt_id, key_name, created_us, result) VALUES ('SESSION-r', "
    "'SESSION-run', 'SESSION', 'case-1', 'c', "
    "'met',"
    " 'react', 'on', 'p', 'KEY', 1, '{\"patient\":\"WHO\",\"why\":\"zanzibar\"}')",
    "INSERT INTO policy_shadow VALUES ('SESSION-r', 'SESSION', 'zanzibar', 'c', 'met', 1, 'met', 1,"
    " 'zanzibar', 'p', 0, 1)",
    "INSERT INTO alerts VALUES ('SESSION-a', 'SESSION', 'd', 'KEY', 'completed', 'pod', 'high',"
    " 'prod', 'zanzibar', '{\"owner\":\"WHO\",\"text\":\"zanzibar\"}', 1, 'zanzibar', 100,"
    " 'zanzibar', 'zanzibar', 'zanzibar', 0, 'zanzibar', 'zanzibar', 'zanzibar', 1, 1, 2, 2, 'd', "
    "'')",
    "INSERT INTO optimize_runs VALUES ('SESSION-tune', 'policy', 'finished', 'zanzibar',"
    " '{\"train\":\"zanzibar\"}', 1, 1, 1, 0.5, 0.4, NULL, 1, 2)",
    "INSERT INTO optimize_lines VALUES ('SESSION-tune', 1, '{\"trace\":\"a case: {\\\"who\\\":"
    "\\\"WHO\\\"} zanzibar\"}')",
    "INSERT INTO optimize_lines VALUES ('SESSION-tune', 2, '{\"trace\":\"zanzibar\"}')",
    "INSERT INTO prompts VALUES ('SESSION-prompt', 'policy', '{\"text\":\"zanzibar\"}', 'draft',"
    " NULL, 'SESSION-tune', NULL, 1, 'op', NULL, NULL, 1, NULL)",
    "INSERT INTO threads VALUES ('SESSION', 'KEY', 1, 2)",
    "INSERT INTO thread_checkpoints VALUES ('SESSION', '', '1', NULL, 'zanzibar', '{}', 'zanzibar',"
    " 1)",
    "INSERT INTO thread_writes VALUES ('SESSION', '', '1', 't', 0, 'a', 'json', 'zanzibar')",
};

/* Runs without a session that name a person in JSON, and in JSON within a JSON string. */
static const char *const free_runs[] = {
    "INSERT INTO agent_runs VALUES ('free-1', 'policy', NULL, 'finished', 'zanzibar',"
    " '{\"who\":\"WHO\"}', 'zanzibar', 1, 2, 'k', 'd', '')",
    "INSERT INTO agent_runs VALUES ('free-2', 'policy', NULL, 'finished', 'zanzibar',"
    " '{\"text\":\"a case: {\\\"who\\\":\\\"WHO\\\"}\"}', 'zanzibar', 1, 2, 'k', 'd', '')",
};

static void put_row(struct place *p, const char *row, const char *key, const char *who)
{
    const struct {
        const char *name, *value;
    } names[] = {{"SESSION", "run-1"}, {"KEY", key}, {"WHO", who}};
    struct buf sql;

    buf_init(&sql, 4096);
    while (*row) {
        size_t i = 0;

        while (i < COUNT_OF(names) && strncmp(row, names[i].name, strlen(names[i].name)) != 0)
            i++;
        if (i < COUNT_OF(names)) {
            buf_add(&sql, str_c(names[i].value));
            row += strlen(names[i].name);
        } else {
            buf_add_c(&sql, *row++);
        }
    }
    buf_add_c(&sql, '\0');
    do_sql(p, sql.p);
    buf_release(&sql);
}

/* Adds an application's session with a row of every kind that can belong to it. */
static void plant(struct place *p, struct store *s, const char *key, const char *who)
{
    char data[200];
    struct store_session app = {.id = STR("run-1"),
                                .alert_id = STR("zanzibar"),
                                .agent_type = STR("incident"),
                                .alert_type = STR("zanzibar"),
                                .status = STR("completed"),
                                .session_metadata = STR("{\"of\":\"zanzibar\"}"),
                                .error_message = STR("zanzibar"),
                                .final_analysis = STR("zanzibar"),
                                .started_us = 1,
                                .completed_us = 2,
                                .key_name = str_c(key)};
    struct store_tool tool = {.id = STR("tool"),
                              .session_id = STR("run-1"),
                              .tool_name = STR("zanzibar"),
                              .arguments = STR("{\"a\":\"zanzibar\"}"),
                              .result = STR("zanzibar"),
                              .timestamp_us = 1,
                              .duration_ms = 1};
    struct store_call call = store_call_none;

    snprintf(data, sizeof data, "{\"text\":\"zanzibar\",\"owner\":\"%s\"}", who);
    app.alert_data = str_c(data);
    call.id = STR("call");
    call.session_id = STR("run-1");
    call.route = STR("agent:incident");
    call.asked = call.answer = call.reasoning = STR("zanzibar");
    call.request = call.reply = STR("{\"x\":\"zanzibar\"}");
    call.decision = STR("[TOOL_CALL] zanzibar: zanzibar");
    call.tools = STR("[\"zanzibar\"]");
    call.segments = STR("[{\"kind\":\"reasoning\",\"at\":0,\"size\":8}]");
    store_session_put(s, &app);
    store_tool_put(s, &tool);
    store_call_put(s, &call, NULL);
    settle(s);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        put_row(p, rows[i], key, who);
    CHECK(in_tables(p, WORD));
}

static void erase(struct place *p, struct store *s, enum store_erase_what what, const char *name)
{
    struct store_receipt got;
    struct audit_report r;

    erase_as_counted(p, s, what, name, &got);
    r = verify(p);
    CHECK_F(r.ok, "%s", r.why);
}

TEST(a_subject_that_a_key_or_a_text_names_is_nowhere)
{
    static const struct {
        const char *key, *who, *subject;
    } ways[] = {
        {"jane", "nobody", "jane"},
        {"clinic", "jane", "jane"},
        {"clinic", "jane_1%!", "jane_1%!"}, /* with wildcards of LIKE */
    };

    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct place p;
        struct store *s;

        place_init(&p);
        s = open_store(&p);
        plant(&p, s, ways[i].key, ways[i].who);
        for (size_t k = 0; i > 0 && k < COUNT_OF(free_runs); k++)
            put_row(&p, free_runs[k], ways[i].key, ways[i].who);
        erase(&p, s, STORE_ERASE_SUBJECT, "zanzib"); /* part of a name matches nobody */
        erase(&p, s, STORE_ERASE_SUBJECT, "jan");
        erase(&p, s, STORE_ERASE_SUBJECT, "%");
        CHECK(in_tables(&p, WORD));
        erase(&p, s, STORE_ERASE_SUBJECT, ways[i].subject);
        if (i == 0) /* a run of the optimiser has no key, so it is erased by its session */
            erase(&p, s, STORE_ERASE_SESSION, "run-1-tune");
        store_close(s);
        CHECK(!in_tables(&p, WORD));
        place_release(&p);
    }
}

/* The call ends after the erasure, or its process does. */
TEST(a_call_that_runs_is_nowhere)
{
    for (int ends = 0; ends < 2; ends++) {
        struct store_call row = store_call_none;
        struct place p;
        struct store *s;

        place_init(&p);
        s = open_store(&p);
        row.id = STR("one");
        row.session_id = STR("run-1");
        row.asked = STR("zanzibar");
        store_call_begin(s, &row);
        store_piece_put(s, &(struct store_piece){row.id, 0, STR("answer"), STR("zanzibar "), 0});
        settle(s);
        CHECK(in_tables(&p, WORD));
        erase(&p, s, STORE_ERASE_SESSION, "run-1");
        CHECK_INT(ask(&p, "SELECT count(*) FROM call_pieces"), 0);
        CHECK_INT(ask(&p, "SELECT interactions FROM erasures"), 1);
        store_piece_put(s, &(struct store_piece){row.id, 1, STR("answer"), STR("zanzibar"), 0});
        row.answer = STR("zanzibar zanzibar");
        row.complete = true;
        if (ends)
            store_call_put(s, &row, NULL);
        settle(s);
        store_close(s);
        store_close(open_store(&p));
        CHECK(!in_tables(&p, WORD));
        CHECK_INT(ask(&p, "SELECT count(*) FROM alert_sessions"), 0);
        CHECK(verify(&p).ok);
        place_release(&p);
    }
}

TEST(a_session_of_an_application_is_nowhere)
{
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    plant(&p, s, "clinic", "jane");
    erase(&p, s, STORE_ERASE_SESSION, "run-1");
    erase(&p, s, STORE_ERASE_SESSION, "run-1-tune");
    store_close(s);
    CHECK(!in_tables(&p, WORD));
    place_release(&p);
}

/* Passes a record to the engine as the taker does. */
static void engine_take(struct engine *en, uint32_t type, const struct row_table *t,
                        const void *row)
{
    char body[4096];
    struct err e;

    CHECK(row_size(t, row) <= sizeof body);
    row_put(t, row, body);
    CHECK_F(engine_put(en, type, (str){body, row_size(t, row)}, &e), "%s", e.text);
}

static struct engine *open_engine(struct place *p)
{
    struct engine_options o = {.url = str_c(p->url), .spool = STR("spool")};
    struct engine *en;
    struct err e;

    CHECK_F(engine_open(&o, &en, &e), "%s", e.text);
    return en;
}

/* Erases by the engine itself: store_erase waits at most STORE_ERASE_MS, which is too short on a
 * busy machine. */
static struct store_receipt engine_erase_jane(struct engine *en, uint64_t offset)
{
    struct store_note note = {
        STR("receipt"), STR("op"), STR("erase subject"), STR("jane"), STR(""), 0};
    struct store_receipt got;
    struct err e;

    CHECK_F(engine_begin(en, false, &e), "%s", e.text);
    engine_take(en, FRAME_NOTE, &row_notes, &note);
    CHECK_F(engine_commit(en, (struct journal_place){1, offset}, &e), "%s", e.text);
    engine_tidy(en);
    CHECK_F(engine_receipt(en, STR("receipt"), &got, &e), "%s", e.text);
    return got;
}

TEST(a_subject_of_very_many_sessions_is_nowhere)
{
    struct place p;
    struct engine *en;

    place_init(&p);
    if (p.postgres) { /* the same statements, but they take minutes on a busy server */
        place_release(&p);
        return;
    }
    en = open_engine(&p);
    do_sql(&p,
           "INSERT INTO alert_sessions (session_id, subject, status, started_at_us)"
           " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)"
           " SELECT 's-' || i, 'jane', 'completed', i FROM n");
    CHECK_INT(engine_erase_jane(en, 1).sessions, 100100);
    engine_close(en);
    CHECK(!in_tables(&p, "jane"));
    place_release(&p);
}

TEST(memory_does_not_grow_with_the_calls_of_a_subject)
{
    enum { CALLS = 20000, SESSIONS = 20 };
    struct store_call row = store_call_none;
    struct journal_place place = {1, 0};
    struct store_receipt got;
    char id[32], session[32];
    struct engine *en;
    struct place p;
    struct err e;

    place_init(&p);
    en = open_engine(&p);
    row.id = (str){id, 0};
    row.subject = STR("jane");
    row.answer = STR("an answer of a few words");
    for (unsigned i = 0; i < CALLS;) {
        CHECK_F(engine_begin(en, false, &e), "%s", e.text);
        for (; i < CALLS && !engine_full(en); i++) {
            row.id.n = (size_t)snprintf(id, sizeof id, "call-%u", i);
            snprintf(session, sizeof session, "session-%u", i % SESSIONS);
            row.session_id = str_c(session);
            row.started_ms = row.ended_ms = (int64_t)i * 300000; /* each in its own slot */
            engine_take(en, FRAME_CALL, &row_calls, &row);
        }
        place.offset++;
        CHECK_F(engine_commit(en, place, &e), "%s", e.text);
    }
    en->arena.size_max = en->arena.size; /* the peak of a full batch: using more ends the process */
    got = engine_erase_jane(en, place.offset + 1);
    CHECK(got.sessions == SESSIONS && got.interactions == CALLS);
    engine_close(en);
    CHECK_INT(ask(&p, "SELECT count(*) FROM llm_interactions"), 0);
    CHECK_INT(ask(&p, "SELECT count(*) FROM usage_slots") +
                  ask(&p, "SELECT count(*) FROM usage_hours"),
              0);
    place_release(&p);
}

TEST(what_is_over_is_nowhere)
{
    struct store_options o;
    struct place p;
    struct store *s;
    struct err e;

    place_init(&p);
    s = open_store(&p);
    plant(&p, s, "clinic", "jane");
    store_close(s);
    o = options(&p);
    o.retention_age_ms = 1000;
    o.retention_every_ms = 50;
    CHECK_F(store_open(&o, &s, &e), "%s", e.text);
    for (int i = 0; i < 2400 && ask(&p, "SELECT count(*) FROM optimize_runs"); i++)
        usleep(50000);
    store_close(s);
    CHECK_INT(ask(&p, "SELECT count(*) FROM alert_sessions"), 0);
    CHECK_INT(ask(&p, "SELECT count(*) FROM optimize_lines"), 0);
    CHECK_INT(ask(&p, "SELECT count(*) FROM alerts"), 0);
    CHECK_INT(ask(&p, "SELECT count(*) FROM threads"), 0);
    CHECK_INT(ask(&p, "SELECT count(*) FROM policy_results"), 0);
    CHECK_INT(ask(&p, "SELECT count(*) FROM prompts"), 1); /* a draft awaits review and is kept */
    CHECK(verify(&p).ok);
    place_release(&p);
}

/* 130 old cases with three criteria each and a new case, all without a session; one more case
 * belongs to a session that has not ended. */
static const char *const heuristic_rows[] = {
    "INSERT INTO policy_results (result_id, run_id, session_id, case_id, criterion_id, status,"
    " controller, mode, prompt_id, key_name, created_us, result)"
    " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 390)"
    " SELECT 'h-' || i, 'h' || (i / 3), 'h' || (i / 3), 'zanzibar', 'c' || i, 'uncertain',"
    " 'heuristic', 'heuristic', 'p', 'k', 1, '{}' FROM n",
    "INSERT INTO policy_cases SELECT DISTINCT run_id, session_id, case_id, 'd', 'k', 'zanzibar', 0,"
    " 1 FROM policy_results",
    "INSERT INTO policy_reviews SELECT result_id, result_id, session_id, 'uncertain', 'met', '',"
    " 'zanzibar', 'op', 1 FROM policy_results",
    "INSERT INTO policy_reverified SELECT 'v', run_id, session_id, criterion_id, case_id,"
    " 'zanzibar', '', 0, '', 1 FROM policy_results",
    "INSERT INTO policy_reverify (reverify_id, document_id, request, status, error, total,"
    " created_by, created_us, ended_us) VALUES ('v', 'd', 'zanzibar', 'done', '', 130, 'op', 1, 2),"
    " ('now', 'd', '{}', 'running', '', 0, 'op', 1, NULL)",
    "INSERT INTO policy_results (result_id, run_id, session_id, case_id, criterion_id, status,"
    " controller, mode, prompt_id, key_name, created_us, result) VALUES"
    " ('new', 'new', 'new', 'case-2', 'c', 'met', 'heuristic', 'heuristic', 'p', 'k',"
    " 9000000000000000, '{}'), ('open', 'open', 'open', 'case-3', 'c', 'met', 'heuristic',"
    " 'llm', 'p', 'k', 1, '{}')",
    "INSERT INTO policy_cases VALUES ('new', 'new', 'case-2', 'd', 'k', '{}', 0,"
    " 9000000000000000)",
};

TEST(results_without_a_session_that_are_over_are_nowhere)
{
    struct store_session open = {.id = STR("open"),
                                 .alert_id = STR(""),
                                 .agent_type = STR("policy"),
                                 .alert_type = STR(""),
                                 .status = STR("in_progress"),
                                 .alert_data = STR(""),
                                 .session_metadata = STR(""),
                                 .error_message = STR(""),
                                 .final_analysis = STR(""),
                                 .key_name = STR("k"),
                                 .started_us = 1,
                                 .completed_us = -1};
    struct store_options o;
    struct audit_report r;
    struct place p;
    struct store *s;
    struct err e;

    place_init(&p);
    s = open_store(&p);
    store_session_put(s, &open);
    store_close(s);
    for (size_t i = 0; i < COUNT_OF(heuristic_rows); i++)
        do_sql(&p, heuristic_rows[i]);
    CHECK(in_tables(&p, WORD));
    o = options(&p);
    o.retention_age_ms = 1000;
    o.retention_every_ms = 50;
    CHECK_F(store_open(&o, &s, &e), "%s", e.text);
    for (int i = 0; i < 600 && ask(&p, "SELECT count(*) FROM policy_results") > 2; i++)
        usleep(50000);
    store_close(s);
    CHECK_INT(ask(&p, "SELECT count(*) FROM policy_results"), 2);
    CHECK_INT(ask(&p, "SELECT count(*) FROM policy_cases"), 1);
    CHECK_INT(ask(&p, "SELECT count(*) FROM policy_reviews"), 0);
    CHECK_INT(ask(&p, "SELECT count(*) FROM policy_reverified"), 0);
    CHECK_INT(ask(&p, "SELECT count(*) FROM policy_reverify"), 1);
    CHECK(!in_tables(&p, WORD));
    r = verify(&p);
    CHECK_F(r.ok, "%s", r.why);
    place_release(&p);
}

TEST_MAIN(T(a_subject_that_a_key_or_a_text_names_is_nowhere), T(a_call_that_runs_is_nowhere),
          T(a_session_of_an_application_is_nowhere), T(a_subject_of_very_many_sessions_is_nowhere),
          T(memory_does_not_grow_with_the_calls_of_a_subject), T(what_is_over_is_nowhere),
          T(results_without_a_session_that_are_over_are_nowhere))
