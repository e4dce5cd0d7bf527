/* policy_airline_test.c - the controller without a model beside the oracle over the airline's
 * reservations. The whole of it is a bench; a part is a test.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic.h"
#include "base/file.h"
#include "bench/policy/airline.h"
#include "test.h"

#define RESERVATIONS 60
#define RIGHT_LEAST 0.97

struct tally {
    const struct policy_doc *doc;
    struct arena arena;
    size_t rows, right;
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
    t->right += r.status == row->status && str_ends(r.citation.section, str_c(row->section));
}

TEST(verdicts_on_the_airlines_policy_are_the_oracles)
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
    CHECK_F((double)t.right >= RIGHT_LEAST * (double)t.rows, "%zu of %zu", t.right, t.rows);
    arena_release(&t.arena);
    airline_free(&l);
    policy_doc_free(doc);
}

TEST_MAIN(T(verdicts_on_the_airlines_policy_are_the_oracles))
