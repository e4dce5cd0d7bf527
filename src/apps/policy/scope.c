/* scope.c - see scope.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/scope.h"

#include "apps/policy/fts.h"

#define NOTHING_SAID                                                                               \
    "requirement requirements criterion criteria policy check checks rule rules met default "      \
    "eligibility eligible compliance crit req must be than"

bool scope_word_numbers(const struct word *w)
{
    size_t letters = strcspn(w->lower, "0123456789");

    if (w->kind == WORD_NUMBER)
        return w->lower[0] == '0' || w->size < 2;
    return word_among(w, NOTHING_SAID) || w->size < 2 || (letters < w->size && letters < 3) ||
           (letters < w->size && strspn(w->lower + letters, "0123456789") == w->size - letters);
}

str scope_criterion(str criterion)
{
    size_t from = str_find_last(criterion, ':') + 1;

    return from < criterion.n && !memchr(criterion.p, ' ', criterion.n)
               ? str_slice(criterion, from, criterion.n)
               : criterion;
}

struct phrase scope_question(str criterion, struct arena *a)
{
    struct word *w;
    size_t n = words_of_name(scope_criterion(criterion), a, &w), kept = 0;

    for (size_t i = 0; i < n && kept < SCOPE_QUESTION_MAX; i++) {
        bool last = i + 1 == n && kept == 0 && word_among(&w[i], "eligibility eligible");

        if ((!scope_word_numbers(&w[i]) || last) && word_find(w, kept, &w[i]) == kept)
            w[kept++] = w[i];
    }
    assert(kept <= n && kept <= SCOPE_QUESTION_MAX);
    return (struct phrase){w, kept};
}

/* The rule of a sentence; an item may be part of the sentence of its lead. */
static void scope_read_rule(struct reading *r, struct arena *a)
{
    struct rule *lead = r->lead ? r->lead->rule : NULL, rule;
    struct phrase here = {r->w, r->n},
                  head = r->lead ? (struct phrase){r->lead->w, r->lead->n} : here;

    assert(!r->rule && !r->part && (!r->lead || r->lead < r)); /* leads come first */
    if (r->sentence->quoted)
        return; /* it may be a rule for another person */
    if (!r->sentence->row && lead && lead->wants_items) {
        r->part = true;
        if (!rule_add_item(lead, r->w, r->n, a))
            r->lead->rule = NULL;
        return;
    }
    /* A lead that was not understood may change the meaning of its items. Only rules that were
     * understood are kept, because a rule is large. */
    if (r->sentence->row ? r->lead && rule_read_row(&head, &here, a, &rule)
                         : (!r->lead || lead) && rule_read(r->w, r->n, a, &rule)) {
        r->rule = arena_alloc(a, sizeof rule);
        *r->rule = rule;
    }
}

static void scope_read_node(const struct policy_doc *d, uint32_t node, struct arena *a,
                            struct scope *s)
{
    const struct policy_node *n = &d->tree.nodes[node];
    const struct policy_sentence *all;
    size_t count = fts_sentences_of(d->index, node, &all), first = s->n;

    assert(s->n <= SCOPE_SENTENCES_MAX);
    s->cut = s->cut || count > SCOPE_SENTENCES_MAX - s->n;
    for (size_t i = 0; i < count && !s->cut; i++) {
        struct reading *r = &s->all[s->n++];
        struct word *w;

        *r = (struct reading){.node = n,
                              .node_at = node,
                              .sentence = &all[i],
                              .text = str_slice(n->text, all[i].from, all[i].to)};
        r->n = words_of(r->text, a, &w);
        r->w = w;
        s->cut = r->n >= WORDS_MAX || arena_left(a) < SCOPE_ROOM;
        if (all[i].lead != POLICY_NO_LEAD && first + all[i].lead < s->n - 1)
            r->lead = &s->all[first + all[i].lead];
        /* A table's first row leads to the others. */
        if (all[i].row && !all[i].begins && s->n - 1 > first)
            r->lead = r[-1].lead ? r[-1].lead : &r[-1];
        scope_read_rule(r, a);
    }
}

const struct scope *scope_of(const struct policy_doc *d, struct arena *a)
{
    const struct policy_sentence *all;
    struct scope *s;
    size_t most = 0;

    if (d->scope)
        return d->scope;
    s = arena_zero(a, 1, sizeof *s);
    for (uint32_t i = 0; i < d->tree.node_count; i++)
        most += fts_sentences_of(d->index, i, &all);
    most = most < SCOPE_SENTENCES_MAX ? most : SCOPE_SENTENCES_MAX;
    s->all = arena_alloc(a, (most + 1) * sizeof s->all[0]);
    for (uint32_t i = 0; i < d->tree.node_count; i++)
        scope_read_node(d, i, a, s);
    assert(s->n <= most);
    return s;
}

/* Whether a sentence or its lead has a word; "older" has "age". */
static bool scope_says(const struct reading *r, const struct word *q)
{
    return word_find(r->w, r->n, q) < r->n || (r->rule && noun_has(&r->rule->main.noun, q)) ||
           (r->lead && scope_says(r->lead, q));
}

void scope_titles_init(struct scope_titles *t)
{
    *t = (struct scope_titles){.node = NULL};
    arena_init(&t->arena, WORDS_ARENA_MAX);
}

void scope_titles_release(struct scope_titles *t)
{
    arena_release(&t->arena);
}

static void scope_titles_read(struct scope_titles *t, const struct policy_node *n)
{
    struct word *w;

    if (t->node == n)
        return;
    arena_reset(&t->arena);
    t->node = n;
    t->words.n = words_of(n->title_path, &t->arena, &w);
    t->words.w = w;
}

bool scope_covers(const struct reading *r, const struct phrase *q, struct scope_titles *t)
{
    struct phrase path = {NULL, 0};

    if (t) {
        scope_titles_read(t, r->node);
        path = t->words;
    }
    for (size_t k = 0; k < q->n; k++)
        if (!scope_says(r, &q->w[k]) && word_find(path.w, path.n, &q->w[k]) == path.n)
            return false;
    return true;
}
