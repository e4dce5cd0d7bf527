/* Exports of the record; and no query scans a whole table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "query_help.h"

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

/* The first, the middle and the last step over many sessions, some with equal start times. */
TEST(a_step_of_an_export_looks_at_few_sessions)
{
    struct query_filter f = query_filter_none;
    unsigned steps = 0, last = 6000;
    struct query_export x;
    struct world w;
    struct err e;

    world_init(&w);
    for (unsigned i = 0; i <= last; i++) {
        struct store_call row = store_call_none;
        char id[32];

        (void)snprintf(id, sizeof id, "many-%u", i);
        row.id = row.session_id = str_c(id);
        row.model = i % (last / 2) ? STR("common") : STR("rare");
        row.started_ms = 5000 + (i < 4000 || i == last ? i : 4000);
        row.ended_ms = row.started_ms;
        store_call_put(w.store, &row, NULL);
    }
    settle(w.store);
    f.model = STR("rare");
    buf_reset(&w.out);
    query_export_init(&x, QUERY_JSON, &f);
    for (; !x.done; steps++) {
        CHECK_F(query_export_step(w.reader, &everyone, &x, &w.out, &e), "%s", e.text);
        CHECK(steps < 10);
    }
    query_export_release(&x);
    CHECK_INT(steps, 4);
    answered(&w, true, &e);
    CHECK_INT(count_at(&w, "/sessions"), 3);
    CHECK_STR(text_at(&w, "/sessions/1/session_id"), "many-3000");
    CHECK_STR(text_at(&w, "/sessions/2/session_id"), "many-6000");
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

/* ---- query plans ---- */

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
        "SELECT i.model FROM call_tools t CROSS JOIN llm_interactions i WHERE i.call_n = t.call_n "
        "AND t.tool = 'x' AND coalesce(i.decision_kind, '') <> '' ORDER BY t.call_n DESC LIMIT 51",
        "SELECT i.model FROM llm_interactions i WHERE i.ended_ms IS NOT NULL AND "
        "coalesce(i.decision_kind, '') <> '' ORDER BY i.ended_ms DESC, i.call_n DESC LIMIT 51",
        "SELECT i.model FROM llm_interactions i WHERE i.ended_ms IS NOT NULL AND "
        "coalesce(i.decision_kind, '') <> '' AND (i.ended_ms, i.call_n) < (5, 5) ORDER BY "
        "i.ended_ms DESC, i.call_n DESC LIMIT 51",
        "SELECT i.model FROM llm_interactions i WHERE i.ended_ms IS NOT NULL AND i.decision_kind = "
        "'DIRECT' ORDER BY i.ended_ms DESC, i.call_n DESC LIMIT 51",
        "SELECT i.model FROM llm_interactions i WHERE i.ended_ms IS NOT NULL AND i.model = 'm' AND "
        "coalesce(i.decision_kind, '') = 'DIRECT' ORDER BY i.ended_ms DESC, i.call_n DESC LIMIT 51",
        "SELECT i.model FROM llm_interactions i WHERE i.session_id = 's' AND "
        "coalesce(i.decision_kind, '') <> '' ORDER BY coalesce(i.ended_ms, i.started_ms), i.call_n",
        "SELECT i.model FROM llm_interactions i WHERE i.call_n >= 1 AND i.call_n <= 9 AND i.block "
        "= "
        "1 AND EXISTS (SELECT 1 FROM alert_sessions k WHERE k.session_id = i.session_id AND "
        "k.key_name = 'k') ORDER BY i.call_n DESC",
        "SELECT s.title FROM alert_sessions s ORDER BY s.started_at_us DESC, s.session_id DESC "
        "LIMIT 21",
        "SELECT s.title FROM alert_sessions s WHERE s.key_name = 'k' ORDER BY s.started_at_us "
        "DESC, s.session_id DESC LIMIT 21",
    };
    struct world w;
    struct err e;
    struct db *db;

    world_init(&w);
    if (w.place.postgres) { /* its planner depends on table sizes, and these are small */
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
        CHECK_F(!strstr(p.text.p, "SCAN i\n") && !strstr(p.text.p, "SCAN s\n") &&
                    !strstr(p.text.p, "SCAN t\n"),
                "%s:\n%s",
                questions[i],
                p.text.p);
        if (!strstr(questions[i], "'s'"))
            /* Only sessions with equal start times may be sorted when they are read. */
            CHECK_F(!strstr(p.text.p, "TEMP B-TREE FOR ORDER") &&
                        !strstr(p.text.p, "TEMP B-TREE FOR GROUP"),
                    "%s:\n%s",
                    questions[i],
                    p.text.p);
        buf_release(&p.text);
    }
    db_close(db);
    world_release(&w);
}

TEST_MAIN(T(exports_have_everything_once), T(a_step_of_an_export_looks_at_few_sessions),
          T(no_text_becomes_a_formula), T(no_question_to_the_decision_log_reads_all_of_it))
