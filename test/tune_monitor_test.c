/* tune_monitor_test.c - a run is proposed only when the quality of verdicts declines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/tune/monitor.h"
#include "apps/tune/tune.h"
#include "store/db.h"
#include "test.h"

#include <unistd.h>

#define NOW ((int64_t)1790000000 * 1000000)
#define DAY ((int64_t)24 * 3600 * 1000000)

/* The best verdict as far as visible without a label: full citation, high confidence, cited section
 * read. */
#define GOOD                                                                                       \
    "{\"criterion_id\":\"age\",\"status\":\"met\",\"evidence\":null,\"citation\":{\"doc\":\"P\","  \
    "\"version\":\"1\",\"section\":\"Age\",\"pages\":[1]},\"rationale\":\"r\",\"confidence\":0.9," \
    "\"confidence_breakdown\":null,\"search_trajectory\":[],\"retrieval_method\":\"bm25+"          \
    "reranker\","                                                                                  \
    "\"reason_code\":null,\"reasoning_trace\":[{\"step\":1,\"action\":\"pi_search(query='age')\"," \
    "\"observation\":\"0003 Age (page 1): 18 years or older\"},{\"step\":2,"                       \
    "\"action\":\"finish(status='met')\",\"observation\":\"accepted\"}]}"

struct place {
    char dir[64], url[96];
    struct db *db;
    struct arena arena;
    int next;
};

static void place_init(struct place *p)
{
    struct err e;

    *p = (struct place){.next = 0};
    (void)snprintf(p->dir, sizeof p->dir, "%s/tune_monitor.XXXXXX", test_tmp());
    CHECK(mkdtemp(p->dir));
    (void)snprintf(p->url, sizeof p->url, "sqlite:%s/r.db", p->dir);
    CHECK_F(db_open(str_c(p->url), DB_WRITE, &p->db, &e), "%s", e.text);
    arena_init(&p->arena, (size_t)64 << 20);
}

static void place_release(struct place *p)
{
    char command[96];

    db_close(p->db);
    arena_release(&p->arena);
    (void)snprintf(command, sizeof command, "rm -rf %s", p->dir);
    CHECK_INT(system(command), 0);
}

static void put(struct place *p, int n, const char *result, const char *controller, int64_t at)
{
    for (int i = 0; i < n; i++) {
        char id[16];
        struct db_value v[4];
        struct err e;

        (void)snprintf(id, sizeof id, "%d", p->next++);
        v[0] = db_text(str_c(id));
        v[1] = db_text(str_c(controller));
        v[2] = db_int(at);
        v[3] = db_text(str_c(result));
        CHECK_F(db_run(p->db,
                       "INSERT INTO policy_results (result_id, run_id, session_id, case_id,"
                       " criterion_id, status, controller, mode, prompt_id, key_name, created_us,"
                       " result) VALUES ($1, $1, $1, $1, 'c', 'met', $2, 'llm', 'p', '', $3, $4)",
                       v,
                       4,
                       &e),
                "%s",
                e.text);
    }
}

static struct monitor_seen look(struct place *p, int64_t now)
{
    struct monitor_seen seen;
    struct err e;

    CHECK_F(monitor_check(str_c(p->url), now, &p->arena, &seen, &e), "%s", e.text);
    return seen;
}

TEST(good_verdicts_propose_nothing)
{
    struct place p;
    struct monitor_seen s;

    place_init(&p);
    put(&p, 30, GOOD, "react", NOW - DAY);
    s = look(&p, NOW);
    CHECK_INT(s.verdicts, 30);
    CHECK_F(s.quality >= MONITOR_QUALITY, "%f", s.quality);
    CHECK_INT(s.proposed.n, 0);
    place_release(&p);
}

TEST(poor_ones_propose_a_run_once_and_say_why)
{
    struct place p;
    struct monitor_seen first, again;
    struct tune_kept *k;
    struct tune_row row;
    struct err e;

    place_init(&p);
    put(&p, 10, GOOD, "react", NOW - DAY);
    put(&p, 20, "{}", "react", NOW - 2 * DAY);
    first = look(&p, NOW);
    CHECK(first.quality < MONITOR_QUALITY && first.proposed.n > 0);
    again = look(&p, NOW + DAY);
    CHECK(str_eq(first.proposed, again.proposed));
    CHECK_F(tune_kept_open(str_c(p.url), &k, &e), "%s", e.text);
    CHECK_F(tune_kept_get(k, first.proposed, &p.arena, &row, &e), "%s", e.text);
    CHECK_STR(row.status, "proposed");
    CHECK_STR(row.app, "policy");
    CHECK(str_find(row.reason, STR("is below 0.75")) != STR_NONE);
    tune_kept_close(k);
    place_release(&p);
}

/* Each daemon of a store checks the verdicts and finds the same proposed run. */
TEST(a_run_is_started_by_one_process)
{
    static const struct {
        int64_t now, stale;
        bool claimed;
    } tries[] = {{NOW, NOW - 30, true},        /* proposed */
                 {NOW + 10, NOW - 20, false},  /* running */
                 {NOW + 40, NOW + 10, true},   /* stale: nothing was stored for a while */
                 {NOW + 50, NOW + 20, false}}; /* claimed by another process */
    struct monitor_seen seen;
    struct tune_kept *k;
    struct place p;
    struct err e;
    bool claimed;

    place_init(&p);
    put(&p, 30, "{}", "react", NOW - DAY);
    seen = look(&p, NOW);
    CHECK_F(tune_kept_open(str_c(p.url), &k, &e), "%s", e.text);
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        CHECK_F(tune_kept_claim(k, seen.proposed, tries[i].now, tries[i].stale, &claimed, &e),
                "%s",
                e.text);
        CHECK_F(claimed == tries[i].claimed, "%zu", i);
    }
    /* Each stored model answer shows that a process still executes the run. */
    CHECK_F(tune_kept_add(k, seen.proposed, 0, STR("{}\n"), NOW + 100, &e), "%s", e.text);
    CHECK(tune_kept_claim(k, seen.proposed, NOW + 110, NOW + 90, &claimed, &e) && !claimed);
    tune_kept_close(k);
    place_release(&p);
}

TEST(few_old_and_other_controllers_verdicts_do_not_count)
{
    struct place p;

    place_init(&p);
    put(&p, MONITOR_LEAST - 1, "{}", "react", NOW - DAY);
    put(&p, 50, "{}", "react", NOW - 8 * DAY);
    put(&p, 50, "{}", "heuristic", NOW - DAY);
    CHECK_INT(look(&p, NOW).proposed.n, 0);
    put(&p, 1, "{}", "react", NOW - DAY);
    CHECK(look(&p, NOW).proposed.n > 0);
    place_release(&p);
}

TEST(a_verdict_larger_than_others_is_scored)
{
    struct buf result;
    struct place p;

    place_init(&p);
    buf_init(&result, (size_t)32 << 20);
    buf_add(&result, STR("{\"status\":\"met\",\"citation\":{},\"criterion_id\":\""));
    for (int i = 0; i < 10 << 20; i++)
        buf_add(&result, STR("a"));
    buf_add(&result, STR("\\n\",\"rationale\":\""));
    for (int i = 0; i < 10 << 20; i++)
        buf_add(&result, STR("a"));
    buf_add(&result, STR("\\n\"}"));
    buf_add_c(&result, 0);
    put(&p, 1, result.p, "react", NOW - DAY);
    CHECK_INT(look(&p, NOW).proposed.n, 0);
    buf_release(&result);
    place_release(&p);
}

TEST(lines_that_do_not_fit_into_memory_are_an_error)
{
    struct tune_kept *k;
    struct buf lines;
    struct place p;
    struct arena a;
    struct err e;
    int64_t n;
    str text;

    place_init(&p);
    buf_init(&lines, (size_t)4 << 20);
    for (int i = 0; i < 100000; i++)
        buf_add(&lines, STR("{\"event\":\"x\"}\n"));
    CHECK_F(tune_kept_open(str_c(p.url), &k, &e), "%s", e.text);
    CHECK_F(tune_kept_put(k,
                          &(struct tune_row){.id = STR("opt-1"),
                                             .app = STR("policy"),
                                             .status = STR("running"),
                                             .input = STR("{}")},
                          &e),
            "%s",
            e.text);
    CHECK_F(tune_kept_add(k, STR("opt-1"), 0, buf_str(&lines), NOW, &e), "%s", e.text);
    arena_init(&a, (size_t)1 << 20);
    CHECK(!tune_kept_lines(k, STR("opt-1"), &a, &text, &n, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    arena_release(&a);
    CHECK(tune_kept_lines(k, STR("opt-1"), &p.arena, &text, &n, &e));
    CHECK(n == 100000 && str_eq(text, buf_str(&lines)));
    tune_kept_close(k);
    buf_release(&lines);
    place_release(&p);
}

TEST_MAIN(T(good_verdicts_propose_nothing), T(poor_ones_propose_a_run_once_and_say_why),
          T(a_run_is_started_by_one_process),
          T(few_old_and_other_controllers_verdicts_do_not_count),
          T(a_verdict_larger_than_others_is_scored),
          T(lines_that_do_not_fit_into_memory_are_an_error))
