/* table.c - a row of a table held against the facts. See judge.h.
 *
 * Its cells are about what the header says. A row is for a case if the facts that the header names
 * have the values that stand in it; then the numbers in it bound those that the header, or the
 * section's title, names. Or its first cell names the fact, as in a table of limits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/judge.h"

#include <math.h>

#define COLUMNS_MAX 16

static size_t policy_table_cells_of(const struct word *w, size_t n, struct range out[COLUMNS_MAX])
{
    size_t count = 0, from = 0;

    for (size_t i = 0; i <= n && count < COLUMNS_MAX; i++) {
        if (i < n && !word_is(&w[i], "|"))
            continue;
        if (i > from || i < n)
            out[count++] = (struct range){from, i};
        from = i + 1;
    }
    return count;
}

struct table {
    const struct judge *j;
    const struct reading *row, *head;
    struct range cells[COLUMNS_MAX], heads[COLUMNS_MAX];
    size_t n;
};

static bool policy_table_is_text(const struct fact *f)
{
    return !f->is_bool && (f->value_n > 0 || f->field->value.kind == POLICY_LIST) &&
           !(f->is_number && f->field->value.kind == POLICY_NUMBER);
}

/* Whether the row is for this case: one of its cells is a fact's value, and none another one. */
static bool is_for(const struct table *t, struct verdict *v)
{
    bool found = false;

    for (size_t i = 0; i < t->j->facts->n; i++) {
        const struct fact *f = &t->j->facts->all[i];

        for (size_t k = 0; policy_table_is_text(f) && k < t->n; k++) {
            struct range h = t->heads[k], c = t->cells[k];
            bool named = fact_named(f, t->head->w, h.from, h.to, true);
            bool same = judge_member(f, t->row->w, c, t->j->arena) == TRUTH_YES;

            if ((named && !same && !f->is_number) ||
                (!named && fact_contrasts(f, t->row->w, c.from, c.to)))
                return false;
            if (!same || (!named && k > 0))
                continue;
            used_add(&v->used, f, named ? 1.0 : 0.97);
            found = true;
        }
    }
    return found;
}

/* A number by itself is a limit of the kind that the header says. */
static void policy_table_read_bare(struct bound *b, const struct word *w, struct range head)
{
    if (!b->bare || !isfinite(b->low) || !isfinite(b->high))
        return;
    if (range_has(w, head, "minimum min least from lowest"))
        b->high = INFINITY;
    else if (range_has(w, head, "maximum max most limit cap up highest allowance allowed"))
        b->low = -INFINITY;
}

/* The bound for a fact in a row: in the column it names, or, if the section's title names it, in
 * the only one that has a number. */
static bool bound_for(const struct table *t, const struct fact *f, struct bound *out)
{
    struct word *title;
    size_t title_n = words_of(t->row->node->title, t->j->arena, &title), numbers = 0;

    for (size_t k = 0; k < t->n; k++) {
        struct bound b[BOUNDS_MAX];
        struct range h = t->heads[k], c = t->cells[k];

        if (bounds_of(t->row->w, c.from, c.to, b) == 0)
            continue;
        policy_table_read_bare(&b[0], t->head->w, h);
        *out = b[0];
        if (fact_named(f, t->head->w, h.from, h.to, true))
            return true;
        numbers++;
    }
    return numbers == 1 && fact_named(f, title, 0, title_n, true);
}

/* "Minimum age | 18": the row itself names the fact, and another of its cells bounds it. */
static bool by_first_cell(const struct table *t, const struct fact *f, struct bound *out)
{
    for (size_t k = 1; k < t->n; k++) {
        struct bound b[BOUNDS_MAX];

        if (!fact_named(f, t->row->w, t->cells[0].from, t->cells[0].to, true) ||
            bounds_of(t->row->w, t->cells[k].from, t->cells[k].to, b) == 0)
            continue;
        policy_table_read_bare(&b[0], t->row->w, t->cells[0]);
        policy_table_read_bare(&b[0], t->head->w, t->heads[k]);
        *out = b[0];
        return true;
    }
    return false;
}

void judge_row(const struct judge *j, const struct reading *row, struct verdict *out)
{
    struct table t = {.j = j, .row = row, .head = row->lead};
    size_t heads = policy_table_cells_of(t.head->w, t.head->n, t.heads);
    bool mine;

    *out = (struct verdict){.why = STR("")};
    out->used.quality = 1;
    t.n = policy_table_cells_of(row->w, row->n, t.cells);
    t.n = t.n < heads ? t.n : heads;
    mine = is_for(&t, out);
    for (size_t i = 0; i < j->facts->n; i++) {
        const struct fact *f = &j->facts->all[i];
        struct bound b;
        char say[80];
        bool holds;

        if (!f->is_number || !(mine ? bound_for(&t, f, &b) : by_first_cell(&t, f, &b)))
            continue;
        holds = bound_holds(&b, f->number, f->unit);
        bound_say(&b, say);
        out->why = arena_printf(j->arena,
                                STR_FMT " is " STR_FMT ", the table says %s",
                                STR_ARG(f->field->name),
                                STR_ARG(str_slice(f->field->raw, 0, 80)),
                                say);
        used_add(&out->used, f, 1.0);
        if (out->found != FOUND_BROKEN)
            out->found = holds ? FOUND_HOLDS : FOUND_BROKEN;
        if (!holds)
            return;
    }
}
