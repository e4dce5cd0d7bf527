/* scope.c - which sentences a criterion is about. See scope.h.
 *
 * Words are looked for in blocks, a paragraph or an item with what leads to it: "Payment: ..." is
 * about payment to its end. The heading's words count more, so that of two blocks that both say it
 * the one in the section of that name wins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/scope.h"

#include "apps/policy/fts.h"

#include <math.h>

#define NOTHING_SAID                                                                               \
    "requirement requirements criterion criteria policy check checks rule rules verify "           \
    "verification met default eligibility eligible compliance valid validation"
#define QUESTION_MAX 24
#define OF_TITLE 1.2 /* of a word's weight, where it is in the section's own title, */
#define OF_PATH 0.5  /* in one above it, */
#define OF_LABEL 0.5 /* in the block's label, */
#define OF_HINT 0.3
#define OF_PAIR 0.25 /* beside its neighbour */

/* Words that only number criteria: "c1", "crit-2", "rule 3", "001". */
static bool policy_scope_numbers(const struct word *w)
{
    struct word bare = *w;
    size_t n = strlen(bare.lower), letters = 0;

    for (size_t i = 0; i < n; i++)
        letters += bare.lower[i] < '0' || bare.lower[i] > '9';
    while (n > 0 && bare.lower[n - 1] >= '0' && bare.lower[n - 1] <= '9')
        bare.lower[--n] = 0;
    bare.size = (uint8_t)n;
    return n < 2 || (letters < strlen(w->lower) && letters < 3) ||
           word_among(&bare, NOTHING_SAID " crit req item id no test");
}

size_t scope_question(str criterion, struct arena *a, struct word **out)
{
    size_t n, kept = 0;
    struct word *w;

    for (size_t i = criterion.n; i > 0; i--)
        if (criterion.p[i - 1] == ':' && i < criterion.n) {
            criterion = str_slice(criterion, i, criterion.n);
            break;
        }
    n = words_of_name(criterion, a, &w);
    for (size_t i = 0; i < n; i++) {
        bool last = i + 1 == n && kept == 0 && word_among(&w[i], "eligibility eligible");

        if ((!policy_scope_numbers(&w[i]) || last) && kept < QUESTION_MAX &&
            word_find(w, kept, &w[i]) == kept)
            w[kept++] = w[i];
    }
    *out = w;
    return kept;
}

static const struct clause *clauses_in(const struct reading *r, bool plain, struct arena *a,
                                       size_t *n)
{
    struct clause c[CLAUSES_MAX], *kept;

    *n = clauses_of(r->w, 0, r->n, plain, c);
    kept = arena_alloc(a, *n * sizeof c[0] + 1);
    memcpy(kept, c, *n * sizeof c[0]);
    return kept;
}

static void read_clauses(struct reading *r, struct arena *a)
{
    r->alone = r->clauses = clauses_in(r, false, a, &r->alone_n);
    r->clause_n = r->alone_n;
    if (r->lead)
        r->clauses = clauses_in(r, true, a, &r->clause_n);
}

static void policy_scope_read_node(const struct policy_doc *d, uint32_t node, struct arena *a,
                                   struct scope *s)
{
    const struct policy_node *n = &d->tree.nodes[node];
    const struct policy_sentence *all;
    size_t count = fts_sentences_of(d->index, node, &all), first = s->n;

    for (size_t i = 0; i < count && s->n < SCOPE_SENTENCES_MAX; i++) {
        struct reading *r = &s->all[s->n++];
        struct word *w;

        *r = (struct reading){.node = n,
                              .node_at = node,
                              .sentence_at = (uint32_t)i,
                              .sentence = &all[i],
                              .text = str_slice(n->text, all[i].from, all[i].to)};
        r->n = words_of(r->text, a, &w);
        r->w = w;
        r->label = all[i].begins || s->n - 1 == first ? r : s->all[s->n - 2].label;
        if (all[i].lead != POLICY_NO_LEAD && first + all[i].lead < s->n - 1) {
            struct reading *lead = &s->all[first + all[i].lead];

            r->lead = lead;
            if (lead->item_n == 0)
                lead->items = r;
            /* Those further in come between: only what is next to the others is among them. */
            if (lead->items + lead->item_n == r)
                lead->item_n++;
        }
        /* A table's first row leads to the others. */
        if (all[i].row && s->n - 1 > first && r[-1].sentence->row)
            r->lead = r[-1].lead ? r[-1].lead : &r[-1];
        read_clauses(r, a);
    }
}

void scope_read(const struct policy_doc *d, const struct policy_hits *hits, struct arena *a,
                struct scope *out)
{
    struct word *words;

    *out = (struct scope){0};
    out->all = arena_alloc(a, SCOPE_SENTENCES_MAX * sizeof out->all[0]);
    if (!hits)
        for (uint32_t i = 0; i < d->tree.node_count; i++)
            policy_scope_read_node(d, i, a, out);
    else
        for (size_t i = 0; i < hits->n; i++)
            policy_scope_read_node(d, (uint32_t)(hits->hits[i].node - d->tree.nodes), a, out);
    for (size_t i = 0; i < out->n; i++)
        out->word_n += out->all[i].n;
    out->word_n = out->word_n < SCOPE_WORDS_MAX ? out->word_n : SCOPE_WORDS_MAX;
    words = arena_alloc(a, (out->word_n + 1) * sizeof words[0]);
    for (size_t i = 0, n = 0; i < out->n && n < out->word_n; i++)
        for (size_t k = 0; k < out->all[i].n && n < out->word_n; k++)
            words[n++] = out->all[i].w[k];
    out->words = words;
}

/* The block of a sentence: its paragraph or item; of an item that something leads to, the lead's.
 */
static const struct reading *block_of(const struct reading *r)
{
    const struct reading *b = r->label ? r->label : r;

    while (b->lead)
        b = b->lead->label ? b->lead->label : b->lead;
    return b;
}

static bool says(const struct reading *r, const struct word *q)
{
    if (word_find(r->w, r->n, q) < r->n)
        return true;
    if (strcmp(q->stem, "age") != 0 && !word_is(q, "age"))
        return false;
    return words_tell_age(r->w, 0, r->n);
}

/* In how many blocks a word is; bit i of a block says that question's word i is in it. */
static void find_bits(const struct scope *s, const struct word *q, size_t n, uint32_t *bits)
{
    for (size_t i = 0; i < s->n; i++) {
        size_t block = (size_t)(block_of(&s->all[i]) - s->all);

        for (size_t k = 0; k < n; k++)
            if (says(&s->all[i], &q[k]))
                bits[block] |= 1u << k;
    }
}

static void policy_scope_weigh(const struct scope *s, const uint32_t *bits, size_t n,
                               double *weight)
{
    for (size_t k = 0; k < n; k++) {
        size_t in = 0;

        for (size_t i = 0; i < s->n; i++)
            in += bits[i] >> k & 1;
        weight[k] = log(1 + (double)(s->n + 1) / (double)(in + 1));
    }
}

struct question {
    struct word *w;
    size_t n;
    uint32_t *bits;
    double weight[QUESTION_MAX];
};

static void policy_scope_ask(const struct scope *s, struct question *q, struct arena *a)
{
    q->n = q->n < QUESTION_MAX ? q->n : QUESTION_MAX;
    q->bits = arena_zero(a, s->n + 1, sizeof q->bits[0]);
    find_bits(s, q->w, q->n, q->bits);
    policy_scope_weigh(s, q->bits, q->n, q->weight);
}

/* The words of a block's label, "Payment: ...", from its first sentence. */
static size_t policy_scope_label_of(const struct reading *block)
{
    for (size_t i = 0; i < block->n && i < 8; i++)
        if (word_is(&block->w[i], ":"))
            return i;
    return 0;
}

/* Whether two words of a question that stand together do so in a sentence. */
static bool pair_in(const struct scope *s, const struct reading *block, const struct word *a,
                    const struct word *b)
{
    for (const struct reading *r = block; r < s->all + s->n && block_of(r) == block; r++)
        for (size_t i = 0; i + 1 < r->n; i++)
            if (word_same(&r->w[i], a) && word_same(&r->w[i + 1], b))
                return true;
    return false;
}

/* Of one block; *share: how much of the question it or its headings have. */
static double score_block(const struct scope *s, const struct question *q,
                          const struct reading *block, const struct word *path, size_t path_n,
                          size_t title_n, double *share)
{
    double score = 0, held = 0, all = 0;
    uint32_t bits = q->bits[block - s->all];
    size_t label = policy_scope_label_of(block);

    for (size_t k = 0; k < q->n; k++) {
        bool own = bits >> k & 1, above = word_find(path, path_n, &q->w[k]) < path_n;
        bool title = word_find(path + path_n - title_n, title_n, &q->w[k]) < title_n;

        score += q->weight[k] * ((own ? 1 : 0) + (title ? OF_TITLE : above ? OF_PATH : 0));
        if (word_find(block->w, label, &q->w[k]) < label)
            score += OF_LABEL * q->weight[k];
        if (k + 1 < q->n && own && pair_in(s, block, &q->w[k], &q->w[k + 1]))
            score += OF_PAIR * (q->weight[k] + q->weight[k + 1]);
        held += own || above ? q->weight[k] : 0;
        all += q->weight[k];
    }
    *share = all > 0 ? held / all : 0;
    return score * *share; /* one that has all the words comes before one that has some often */
}

/* How many words of the question a sentence holds by itself. */
static unsigned own_bits(const struct reading *r, const struct question *q)
{
    unsigned n = 0;

    for (size_t k = 0; k < q->n; k++)
        n += says(r, &q->w[k]);
    return n;
}

/* Of each block once; its sentences have it from there. */
static void score_blocks(const struct scope *s, const struct question *q,
                         const struct question *hint, str section, struct arena *a,
                         struct scores *out)
{
    const struct policy_node *node = NULL;
    struct word *path = NULL, *title;
    size_t path_n = 0, title_n = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct reading *r = &s->all[i], *block = block_of(r);
        double share, ignore, score;

        if (block != r) {
            out->score[i] = out->score[block - s->all];
            continue;
        }
        if (r->node != node) {
            path_n = words_of(r->node->title_path, a, &path);
            title_n = words_of(r->node->title, a, &title);
            title_n = title_n < path_n ? title_n : path_n;
        }
        node = r->node;
        score = score_block(s, q, block, path, path_n, title_n, &share);
        if (score > 0 || q->n == 0)
            score += OF_HINT *
                     score_block(s, hint, block, path, path_n, title_n, q->n ? &ignore : &share);
        if (section.n > 0 && str_starts(node->title_path, section))
            score += 10;
        out->score[i] = score;
        if (score > out->most) {
            out->most = score;
            out->coverage = share;
        }
    }
}

/* Whether it goes on about what stood before it. */
static bool policy_scope_goes_on(const struct reading *r)
{
    return r->n > 0 && word_among(&r->w[0],
                                  "this that these those it they such otherwise however except "
                                  "exception exceptions unless also");
}

static bool rules(const struct reading *r)
{
    for (size_t i = 0; i < r->clause_n; i++)
        if (r->clauses[i].kind != CLAUSE_NONE && r->clauses[i].kind != CLAUSE_WAIVE)
            return true;
    return false;
}

/* Whether words that are above a block, its title and its label, have something of a question; and
 * whether a sentence has another word of a title such as "Age and income", which is about two
 * things. */
static bool above(const struct reading *r, const struct question *q, struct arena *a, bool *other)
{
    struct word *title;
    size_t n = words_of(r->node->title, a, &title), label = policy_scope_label_of(block_of(r));
    bool held = false, several = range_has(title, (struct range){0, n}, "and & , or /");

    *other = false;
    if (r->label != r && policy_scope_label_of(r) > 0)
        label = 0; /* "Income: ..." behind "Age: ..." */
    for (size_t k = 0; k < q->n; k++) {
        if (word_find(block_of(r)->w, label, &q->w[k]) < label)
            return true;
        held = held || word_find(title, n, &q->w[k]) < n;
    }
    for (size_t i = 0; i < n && several; i++)
        *other = *other || (title[i].kind == WORD_TEXT && !word_stops(&title[i]) &&
                            word_find(q->w, q->n, &title[i]) == q->n &&
                            word_find(r->w, r->n, &title[i]) < r->n);
    return held;
}

/* Where a rule says by itself what is asked about, its neighbours that do not are about something
 * else: "The age must be at least 18. The income must be at least $20,000." */
static void find_aside(const struct scope *s, const struct question *q, const unsigned *bits,
                       struct arena *a, struct scores *out)
{
    bool *focus = arena_zero(a, s->n + 1, sizeof focus[0]);

    for (size_t i = 0; i < s->n; i++)
        if (out->score[i] > 0 && bits[i] > 0 && out->own[i] && rules(&s->all[i])) {
            focus[block_of(&s->all[i]) - s->all] = true;
            for (const struct reading *lead = s->all[i].lead; lead; lead = lead->lead)
                out->own[lead - s->all] = true;
        }
    for (size_t i = 0; i < s->n; i++) {
        const struct reading *r = &s->all[i];
        bool other;

        if (!focus[block_of(r) - s->all] || out->own[i] || policy_scope_goes_on(r) ||
            (r->lead && bits[r->lead - s->all] > 0))
            continue;
        out->aside[i] = !above(r, q, a, &other) || other;
    }
}

static void find_own(const struct scope *s, const struct question *q, struct arena *a,
                     struct scores *out)
{
    unsigned *bits = arena_zero(a, s->n + 1, sizeof bits[0]);
    unsigned *most = arena_zero(a, s->n + 1, sizeof most[0]);

    for (size_t i = 0; i < s->n; i++) {
        size_t block = (size_t)(block_of(&s->all[i]) - s->all);

        bits[i] = own_bits(&s->all[i], q);
        most[block] = bits[i] > most[block] ? bits[i] : most[block];
    }
    for (size_t i = 0; i < s->n; i++)
        out->own[i] = bits[i] == most[block_of(&s->all[i]) - s->all];
    find_aside(s, q, bits, a, out);
}

void scope_score(const struct scope *s, const struct policy_doc *d, const struct policy_case *c,
                 str criterion, struct arena *a, struct scores *out)
{
    const struct policy_node *named =
        c->section_path.n > 0 ? policy_node_titled(&d->tree, c->section_path) : NULL;
    struct question q = {.n = 0}, h = {.n = 0};

    *out = (struct scores){.score = arena_zero(a, s->n + 1, sizeof out->score[0]),
                           .own = arena_zero(a, s->n + 1, sizeof out->own[0]),
                           .aside = arena_zero(a, s->n + 1, sizeof out->aside[0])};
    q.n = scope_question(criterion, a, &q.w);
    h.n = words_of_name(c->reasoning_hint, a, &h.w);
    policy_scope_ask(s, &q, a);
    policy_scope_ask(s, &h, a);
    score_blocks(s, &q, &h, named ? named->title_path : STR(""), a, out);
    find_own(s, &q, a, out);
    out->open = q.n == 0 && out->most <= 0;
    if (out->open)
        out->coverage = 1;
}
