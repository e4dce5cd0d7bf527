/* monitor.c - see monitor.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/tune/monitor.h"

#include "apps/tune/judge.h"
#include "apps/tune/tune.h"
#include "store/db.h"

#define DAY_US ((int64_t)24 * 3600 * 1000000)
#define RESULT_ARENA ((size_t)16 << 20) /* and more for a result that is large itself */

struct tally {
    size_t n;
    double sum;
};

/* A result that cannot be read scores 0. */
static double tune_monitor_score_result(str result)
{
    struct verdict_score m = {.total = 0};
    struct policy_result r;
    struct arena a;
    struct json doc;
    struct err e;

    arena_init(&a, RESULT_ARENA + 64 * result.n);
    if (json_open(&doc, result, &e) && policy_result_read(&doc, json_root(&doc), &a, &r, &e)) {
        struct verdict_truth truth = judge_truth(STR(""), STR(""), STR(""), &a);
        struct verdict_run run = judge_run(&r, &a);

        verdict_judge(&truth, &run, &m);
    }
    json_release(&doc);
    arena_release(&a);
    return m.total;
}

static bool tune_monitor_on_result(void *ctx, const struct db_value *c, size_t n)
{
    struct tally *t = ctx;

    assert(n == 1);
    t->n++;
    t->sum += tune_monitor_score_result(c[0].s);
    return t->n < MONITOR_MOST;
}

static bool tune_monitor_count_results(str url, int64_t since_us, struct tally *out, struct err *e)
{
    struct db *db;
    bool ok;

    if (!db_open(url, DB_READ, &db, e))
        return false;
    ok =
        db_query(db,
                 "SELECT result FROM policy_results WHERE created_us >= $1 AND controller = 'react'"
                 " ORDER BY created_us DESC LIMIT $2",
                 DB_ARGS(db_int(since_us), db_int(MONITOR_MOST)),
                 (struct db_rows){tune_monitor_on_result, out},
                 e);
    db_close(db);
    return ok;
}

/* The open run, if any: proposed or running, and created in the days of the check. */
static str tune_monitor_pending(const struct tune_row *list, size_t n, int64_t since_us)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(list[i].app, STR("policy")) && list[i].created_us >= since_us &&
            (str_eq(list[i].status, STR("proposed")) || str_eq(list[i].status, STR("running"))))
            return list[i].id;
    return STR("");
}

static bool tune_monitor_propose(struct tune_kept *k, int64_t now_us, struct arena *a,
                                 struct monitor_seen *out, struct err *e)
{
    struct tune_row *list, row = {.app = STR("policy"),
                                  .status = STR("proposed"),
                                  .input = STR("{}"),
                                  .prompt_id = STR(""),
                                  .best_score = -1,
                                  .seed_score = -1,
                                  .created_us = now_us,
                                  .updated_us = now_us};
    size_t n;

    if (!tune_kept_list(k, a, &list, &n, e))
        return false;
    out->proposed = tune_monitor_pending(list, n, now_us - MONITOR_DAYS * DAY_US);
    if (out->proposed.n > 0)
        return true;
    row.id = arena_printf(a, "opt-quality-%lld", (long long)(now_us / DAY_US));
    row.reason = arena_printf(a,
                              "quality %.3f over %d days (%zu verdicts) is below %.2f",
                              out->quality,
                              MONITOR_DAYS,
                              out->verdicts,
                              MONITOR_QUALITY);
    out->proposed = row.id;
    return tune_kept_put(k, &row, e);
}

bool monitor_check(str url, int64_t now_us, struct arena *a, struct monitor_seen *out,
                   struct err *e)
{
    struct tally t = {0, 0};
    struct tune_kept *k;
    bool ok;

    *out = (struct monitor_seen){.proposed = STR("")};
    if (!tune_monitor_count_results(url, now_us - MONITOR_DAYS * DAY_US, &t, e))
        return false;
    out->verdicts = t.n;
    assert(t.n <= MONITOR_MOST);
    out->quality = t.n ? t.sum / (double)t.n : 0;
    if (t.n < MONITOR_LEAST || out->quality >= MONITOR_QUALITY)
        return true;
    if (!tune_kept_open(url, &k, e))
        return false;
    ok = tune_monitor_propose(k, now_us, a, out, e);
    tune_kept_close(k);
    return ok;
}
