/* policy_bench.c - the controller without a model on the airline's policy: how often it is right,
 * and how long an evaluation takes.
 *
 *     policy_bench [-v] [CORPORA]        -v: the first rows that are wrong of each criterion
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic.h"
#include "base/clock.h"
#include "base/file.h"
#include "bench/policy/airline.h"

#define KINDS_MAX 32
#define TIMES_MAX 100000
#define SHOWN_MAX 2
#define VERBOSE_MAX 200 /* reservations: enough to show wrong rows */

struct kind {
    const char *criterion;
    size_t rows, right, cited;
};

struct bench {
    const struct policy_doc *doc;
    struct arena arena;
    struct kind kinds[KINDS_MAX];
    size_t kind_n;
    uint64_t *times;
    size_t time_n;
    bool verbose;
};

static struct kind *kind_of(struct bench *b, const char *criterion)
{
    for (size_t i = 0; i < b->kind_n; i++)
        if (strcmp(b->kinds[i].criterion, criterion) == 0)
            return &b->kinds[i];
    if (b->kind_n == KINDS_MAX)
        return &b->kinds[KINDS_MAX - 1];
    b->kinds[b->kind_n] = (struct kind){.criterion = criterion};
    return &b->kinds[b->kind_n++];
}

static void show(const struct airline_row *row, const struct policy_result *r)
{
    printf("  %s wants %s, got %s [" STR_FMT "] in " STR_FMT "\n    " STR_FMT "\n    " STR_FMT "\n",
           row->criterion,
           policy_status_name(row->status),
           policy_status_name(r->status),
           STR_ARG(r->reason_code),
           STR_ARG(r->citation.section),
           STR_ARG(row->json),
           STR_ARG(r->rationale));
}

static void on_row(void *ctx, const struct airline_row *row)
{
    struct bench *b = ctx;
    struct kind *k = kind_of(b, row->criterion);
    struct policy_case c;
    struct policy_result r;
    struct err e;
    uint64_t began;
    bool right, cited;

    arena_reset(&b->arena);
    if (!policy_case_read(row->json, &b->arena, &c, &e))
        base_die("policy_bench: %s", e.text);
    began = clock_mono_ns(&clock_real);
    if (!policy_heuristic(b->doc, &c, c.criteria[0], &b->arena, &r, &e))
        base_die("policy_bench: %s", e.text);
    if (b->time_n < TIMES_MAX)
        b->times[b->time_n++] = clock_mono_ns(&clock_real) - began;
    right = r.status == row->status;
    cited = row->section[0] == 0 || str_ends(r.citation.section, str_c(row->section));
    if (b->verbose && (!right || !cited) && k->rows - k->cited < SHOWN_MAX)
        show(row, &r);
    k->rows++;
    k->right += right;
    k->cited += right && cited;
}

static int by_time(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void report(struct bench *b)
{
    struct kind all = {.rows = 0};
    char p50[CLOCK_DURATION_SIZE], p95[CLOCK_DURATION_SIZE];

    printf("policy: the airline's policy without a model, beside an oracle\n");
    printf("  %-36s %7s %9s %18s\n", "criterion", "rows", "status", "status and section");
    for (size_t i = 0; i < b->kind_n; i++) {
        struct kind *k = &b->kinds[i];

        printf("  %-36s %7zu %8.1f%% %17.1f%%\n",
               k->criterion,
               k->rows,
               100.0 * (double)k->right / (double)k->rows,
               100.0 * (double)k->cited / (double)k->rows);
        all.rows += k->rows;
        all.right += k->right;
        all.cited += k->cited;
    }
    printf("  %-36s %7zu %8.1f%% %17.1f%%\n",
           "all",
           all.rows,
           100.0 * (double)all.right / (double)all.rows,
           100.0 * (double)all.cited / (double)all.rows);
    qsort(b->times, b->time_n, sizeof b->times[0], by_time);
    clock_duration(b->times[b->time_n / 2], p50);
    clock_duration(b->times[b->time_n * 95 / 100], p95);
    printf("  an evaluation takes %s at the median, %s at the 95th percentile (bars: 20 ms, 100 "
           "ms)\n",
           p50,
           p95);
}

int main(int argc, char **argv)
{
    const char *corpora = getenv("RATIONALE_CORPORA");
    struct bench b = {.verbose = argc > 1 && strcmp(argv[1], "-v") == 0};
    char folder[FILE_PATH_MAX], path[FILE_PATH_MAX];
    struct policy_doc *doc;
    struct airline l;
    struct err e;

    if (argc > 1 + b.verbose)
        corpora = argv[1 + b.verbose];
    snprintf(folder, sizeof folder, "%s/tau-airline", corpora ? corpora : "../shared/corpora");
    if (snprintf(path, sizeof path, "%s/airline-wiki.md", folder) >= (int)sizeof path)
        return 1;
    if (!policy_doc_load("airline", path, &doc, &e) || !airline_load(&l, folder, &e)) {
        printf("policy: skipped: %s\n", e.text);
        return 0;
    }
    b.doc = doc;
    b.times = base_alloc(TIMES_MAX * sizeof b.times[0]);
    arena_init(&b.arena, POLICY_ARENA_MAX);
    airline_each(&l, b.verbose ? VERBOSE_MAX : UINT32_MAX, on_row, &b);
    report(&b);
    free(b.times);
    arena_release(&b.arena);
    airline_free(&l);
    policy_doc_free(doc);
    return 0;
}
