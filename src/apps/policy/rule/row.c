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

/* A cell below the name of what it bounds, or of what the row is for. */
static bool row_cell(const struct phrase *name, const struct phrase *cell, struct arena *a,
                     struct rule *out)
{
    struct reader r = {.w = name->w, .to = name->n, .arena = a};
    struct reader limit = {.w = cell->w, .to = cell->n, .arena = a}, value = limit;
    struct test t = {.kind = TEST_LIMIT}, is = {.kind = TEST_IS, .row = true};

    if (out->main.n == RULE_TESTS_MAX || out->when.n == RULE_TESTS_MAX ||
        !reader_noun(&r, &t.noun) || !reader_done(&r))
        return false;
    is.noun = t.noun;
    /* "Maximum participants" is their number. */
    if (reader_limit(&limit, &t.limit) && reader_done(&limit) && !t.limit.relative &&
        (!t.limit.bare || test_take_bound(&t)) && (noun_is_person(&t.noun) || test_fits(&t, a))) {
        out->main.all[out->main.n++] = t;
        return true;
    }
    out->when.all[out->when.n++] = is;
    return reader_value(&value, &out->when.all[out->when.n - 1]) && reader_done(&value);
}

bool rule_read_row(const struct phrase *head, const struct phrase *row, struct arena *a,
                   struct rule *out)
{
    struct phrase heads[COLUMNS_MAX], cells[COLUMNS_MAX];
    size_t n = row_cells(row, cells);

    *out = (struct rule){.kind = RULE_ROW};
    if (n < 2 || n != row_cells(head, heads))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!row_cell(&heads[i], &cells[i], a, out))
            return false;
    return out->main.n > 0 && out->when.n > 0;
}
