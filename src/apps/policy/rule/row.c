/* row.c - a row of a table as a rule. See rule.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/reader.h"

#define COLUMNS_MAX 12

static size_t row_cells(const struct phrase *row, struct phrase out[COLUMNS_MAX])
{
    size_t n = 0, from = 0;

    for (size_t i = 0; i <= row->n && n < COLUMNS_MAX; i++) {
        if (i < row->n && !word_is(&row->w[i], "|"))
            continue;
        if (i > from)
            out[n++] = (struct phrase){row->w + from, i - from};
        from = i + 1;
    }
    return n;
}

/* A cell below the name of what it bounds: false if it is no limit. */
static bool row_limit(const struct phrase *name, const struct phrase *cell, struct rule *out)
{
    struct reader r = {.w = name->w, .to = name->n}, c = {.w = cell->w, .to = cell->n};
    struct test t = {.kind = TEST_LIMIT};
    int sign;

    if (out->main.n == RULE_TESTS_MAX || !reader_noun(&r, &t.noun) || !reader_done(&r) ||
        !reader_limit(&c, &t.limit) || !reader_done(&c) || t.limit.relative)
        return false;
    if (t.limit.bare) {
        sign = noun_take_bound(&t.noun);
        t.limit.bare = false;
        t.limit.has_low = sign < 0;
        t.limit.has_high = sign > 0;
        if (sign == 0)
            return false;
    }
    /* "Maximum participants" is their number. */
    if (!noun_is_person(&t.noun) && !test_fits(&t))
        return false;
    out->main.all[out->main.n++] = t;
    return true;
}

static bool row_condition(const struct phrase *name, const struct phrase *cell, struct rule *out)
{
    struct reader r = {.w = name->w, .to = name->n}, c = {.w = cell->w, .to = cell->n};
    struct test t = {.kind = TEST_IS, .enumerated = true, .row = true};

    if (out->when.n == RULE_TESTS_MAX || !reader_noun(&r, &t.noun) || !reader_done(&r) ||
        !reader_value(&c, &t) || !reader_done(&c))
        return false;
    out->has_when = true;
    out->when.all[out->when.n++] = t;
    return true;
}

bool rule_read_row(const struct phrase *head, const struct phrase *row, struct arena *a,
                   struct rule *out)
{
    struct phrase heads[COLUMNS_MAX], cells[COLUMNS_MAX];
    size_t n = row_cells(row, cells);

    (void)a;
    *out = (struct rule){.kind = RULE_ROW};
    if (n < 2 || n != row_cells(head, heads))
        return false;
    if (n == 2 && heads[1].n == 1 &&
        word_among(&heads[1].w[0], "value rule limit requirement condition")) {
        out->kind = RULE_REQUIRE;
        return row_limit(&cells[0], &cells[1], out);
    }
    for (size_t i = 0; i < n; i++)
        if (!row_limit(&heads[i], &cells[i], out) && !row_condition(&heads[i], &cells[i], out))
            return false;
    return out->main.n > 0 && out->when.n > 0;
}
