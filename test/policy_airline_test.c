/* policy_airline_test.c - the controller without a model, compared with the oracle over the
 * airline's reservations. Most sentences of that policy match none of its forms, so it leaves them
 * open, but each verdict must be right. This test takes a part; the bench takes all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic.h"
#include "base/file.h"
#include "bench/policy/airline.h"
#include "test.h"

#define RESERVATIONS 60

struct tally {
    const struct policy_doc *doc;
    struct arena arena;
    size_t rows, decided, wrong;
};

static void on_row(void *ctx, const struct airline_row *row)
{
    struct tally *t = ctx;
    struct policy_result r;
    struct policy_case c;
    struct err e;

    arena_reset(&t->arena);
    CHECK_F(policy_case_read(row->json, &t->arena, &c, &e), "%s", e.text);
    CHECK_F(policy_heuristic(t->doc, &c, c.criteria[0], &t->arena, &r, &e), "%s", e.text);
    t->rows++;
    t->decided += r.status != POLICY_UNCERTAIN;
    if (r.status == POLICY_UNCERTAIN || r.status == row->status)
        return;
    t->wrong++;
    print_error("%s: %s\n  " STR_FMT "\n",
                row->criterion,
                policy_status_name(r.status),
                STR_ARG(r.rationale));
}

TEST(no_verdict_on_the_airlines_policy_is_wrong)
{
    const char *found = test_corpora("tau-airline");
    char folder[FILE_PATH_MAX - 64], path[FILE_PATH_MAX];
    struct tally t = {.rows = 0};
    struct policy_doc *doc;
    struct airline l;
    struct err e;

    if (!found)
        return;
    snprintf(folder, sizeof folder, "%s", found);
    snprintf(path, sizeof path, "%s/airline-wiki.md", folder);
    CHECK_F(policy_doc_load("airline", path, &doc, &e), "%s", e.text);
    CHECK_F(airline_load(&l, folder, &e), "%s", e.text);
    t.doc = doc;
    arena_init(&t.arena, POLICY_ARENA_MAX);
    airline_each(&l, RESERVATIONS, on_row, &t);
    CHECK(t.rows > 0);
    print_message("%zu of %zu decided, %zu wrong\n", t.decided, t.rows, t.wrong);
    CHECK_INT(t.wrong, 0);
    arena_release(&t.arena);
    airline_free(&l);
    policy_doc_free(doc);
}

TEST_MAIN(T(no_verdict_on_the_airlines_policy_is_wrong))
