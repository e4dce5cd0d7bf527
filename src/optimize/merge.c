/* Merging of two candidates of different branches with a common ancestor: if only one branch has
 * changed a text, the merge has that change.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/internal.h"

#define ROUNDS_MAX 10
#define DRAWS_MAX 10
#define SAMPLE_EACH 2 /* ids where i is better, j is better, neither is */

struct merge {
    uint32_t i, j, ancestor;
    uint32_t *text;
    uint8_t from[OPTIMIZE_COMPONENTS_MAX]; /* 0: taken from i, 1: from j */
    uint32_t ids[OPTIMIZE_MERGE_IDS];
    double scores[2][OPTIMIZE_MERGE_IDS]; /* of i and j on them */
};

static bool merge_is_ancestor(const struct optimize *o, uint32_t a, uint32_t of)
{
    assert(of < o->count);
    return a < of && o->candidates[of].ancestors[a / 64] >> a % 64 & 1;
}

/* The three numbers of a merge that was formed, as a key. */
static str merge_triple_key(const struct merge *m, uint32_t ancestor, uint32_t key[3])
{
    key[0] = m->i;
    key[1] = m->j;
    key[2] = ancestor;
    return (str){(const char *)key, 3 * sizeof *key};
}

/* i and j and, for each component, which of them it was taken from. */
static str merge_notes_key(const struct optimize *o, const struct merge *m, char *key)
{
    assert(o->task.component_count <= OPTIMIZE_COMPONENTS_MAX);
    memcpy(key, &m->i, sizeof m->i);
    memcpy(key + sizeof m->i, &m->j, sizeof m->j);
    memcpy(key + 2 * sizeof m->i, m->from, o->task.component_count);
    return (str){key, 2 * sizeof m->i + o->task.component_count};
}

/* Whether somewhere i and j differ and one of them still has the ancestor's text. */
static bool merge_one_sided(const struct optimize *o, const struct merge *m, uint32_t ancestor)
{
    const uint32_t *a = o->candidates[ancestor].text;
    const uint32_t *ti = o->candidates[m->i].text, *tj = o->candidates[m->j].text;

    assert(ancestor < o->count && m->i < o->count && m->j < o->count);
    for (size_t c = 0; c < o->task.component_count; c++)
        if (ti[c] != tj[c] && (ti[c] == a[c] || tj[c] == a[c]))
            return true;
    return false;
}

static bool optimize_merge_fits(const struct optimize *o, const struct merge *m, uint32_t a)
{
    uint32_t key[3];

    return merge_is_ancestor(o, a, m->i) && merge_is_ancestor(o, a, m->j) &&
           o->means[a] <= o->means[m->i] && o->means[a] <= o->means[m->j] &&
           merge_one_sided(o, m, a) && !map_find(&o->triples, merge_triple_key(m, a, key));
}

/* Draws an ancestor, weighted by mean; false if no ancestor qualifies. */
static bool merge_draw_ancestor(struct optimize *o, struct merge *m)
{
    uint32_t *list = arena_alloc(&o->scratch, o->count * sizeof *list);
    double *weights = arena_alloc(&o->scratch, o->count * sizeof *weights);
    size_t n = 0;

    for (uint32_t a = 0; a < m->i; a++)
        if (optimize_merge_fits(o, m, a)) {
            list[n] = a;
            /* A mean may be negative where the application's scores are; it weighs nothing. */
            weights[n++] = o->means[a] > 0 ? o->means[a] : 0;
        }
    if (n > 0)
        m->ancestor = list[twister_weighted(&o->chance, weights, n)];
    return n > 0;
}

static bool merge_draw_pair(struct optimize *o, const uint32_t *pool, size_t n, struct merge *m)
{
    assert(n >= 2);
    for (size_t d = 0; d < DRAWS_MAX; d++) {
        uint32_t at[2];

        twister_sample(&o->chance, n, 2, at);
        m->i = pool[at[0] < at[1] ? at[0] : at[1]];
        m->j = pool[at[0] < at[1] ? at[1] : at[0]];
        if (!merge_is_ancestor(o, m->i, m->j) && merge_draw_ancestor(o, m))
            return true;
    }
    return false;
}

static uint8_t merge_better_side(struct optimize *o, const struct merge *m)
{
    if (o->means[m->i] != o->means[m->j])
        return o->means[m->j] > o->means[m->i];
    return (uint8_t)twister_below(&o->chance, 2);
}

static void merge_join_texts(struct optimize *o, struct merge *m)
{
    const uint32_t *a = o->candidates[m->ancestor].text;
    const uint32_t *ti = o->candidates[m->i].text, *tj = o->candidates[m->j].text;

    assert(m->ancestor < m->i && m->i < m->j && m->j < o->count);
    for (size_t c = 0; c < o->task.component_count; c++) {
        if (ti[c] != tj[c] && (ti[c] == a[c] || tj[c] == a[c]))
            m->from[c] = ti[c] == a[c];
        else if (ti[c] != a[c] && tj[c] != a[c])
            m->from[c] = merge_better_side(o, m);
        else
            m->from[c] = 0;
        m->text[c] = m->from[c] ? tj[c] : ti[c];
    }
}

static int merge_compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Finds two candidates and an ancestor whose merge was not formed before. */
static bool merge_form_candidate(struct optimize *o, struct merge *m, bool *formed, struct err *e)
{
    const struct front_reduced *r = select_reduced(o);
    uint32_t *pool = arena_alloc(&o->scratch, r->n * sizeof *pool);
    char notes[2 * sizeof m->i + OPTIMIZE_COMPONENTS_MAX];
    uint32_t triple[3];

    *formed = false;
    m->text = arena_alloc(&o->scratch, o->task.component_count * sizeof *m->text);
    memcpy(pool, r->order, r->n * sizeof *pool);
    qsort(pool, r->n, sizeof *pool, merge_compare_ids);
    if (r->n < 2 || o->count < 3)
        return true;
    for (size_t round = 0; round < ROUNDS_MAX; round++) {
        if (!merge_draw_pair(o, pool, r->n, m))
            continue;
        merge_join_texts(o, m);
        if (map_find(&o->merges, merge_notes_key(o, m, notes)) ||
            o->task.val_count < o->task.settings.merge_overlap)
            continue;
        *formed = true;
        return map_set(&o->merges, merge_notes_key(o, m, notes), MAP_U64(1), e) &&
               map_set(&o->triples, merge_triple_key(m, m->ancestor, triple), MAP_U64(1), e);
    }
    return true;
}

/* ---- which examples to try it on ---- */

/* Adds k random elements of the list. */
static void merge_add_sample(struct optimize *o, const uint32_t *list, size_t n, size_t k,
                             uint32_t *ids, size_t *count)
{
    uint32_t at[OPTIMIZE_MERGE_IDS];

    if (k == 0)
        return;
    assert(k <= n && *count + k <= OPTIMIZE_MERGE_IDS);
    twister_sample(&o->chance, n, k, at);
    for (size_t i = 0; i < k; i++)
        ids[(*count)++] = list[at[i]];
}

static size_t optimize_merge_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Fills up with examples not chosen yet if there are enough, else with any. */
static void merge_fill_up(struct optimize *o, uint32_t *list, uint32_t *ids, size_t count)
{
    size_t v = o->task.val_count, missing = OPTIMIZE_MERGE_IDS - count, n = 0;

    assert(count <= OPTIMIZE_MERGE_IDS);
    for (uint32_t id = 0; id < v; id++) {
        bool chosen = false;

        for (size_t i = 0; i < count; i++)
            chosen |= ids[i] == id;
        if (!chosen)
            list[n++] = id;
    }
    if (missing > 0 && n >= missing)
        merge_add_sample(o, list, n, missing, ids, &count);
    else if (missing > 0)
        twister_choices(&o->chance, v, missing, ids + count);
}

static void merge_choose_ids(struct optimize *o, struct merge *m)
{
    const double *si = o->candidates[m->i].scores, *sj = o->candidates[m->j].scores;
    size_t v = o->task.val_count, count = 0;
    uint32_t *list = arena_alloc(&o->scratch, v * sizeof *list);

    assert(m->i < o->count && m->j < o->count);
    for (int which = 0; which < 3; which++) {
        size_t n = 0;

        for (uint32_t id = 0; id < v; id++) {
            int kind = si[id] > sj[id] ? 0 : si[id] < sj[id] ? 1 : 2;

            if (kind == which)
                list[n++] = id;
        }
        merge_add_sample(
            o,
            list,
            n,
            optimize_merge_min(optimize_merge_min(n, SAMPLE_EACH), OPTIMIZE_MERGE_IDS - count),
            m->ids,
            &count);
    }
    merge_fill_up(o, list, m->ids, count);
    for (size_t i = 0; i < OPTIMIZE_MERGE_IDS; i++) {
        m->scores[0][i] = si[m->ids[i]];
        m->scores[1][i] = sj[m->ids[i]];
    }
}

/* ---- trying it ---- */

static struct optimize_event merge_make_event(const struct merge *m, enum optimize_event_kind kind)
{
    return (struct optimize_event){
        .kind = kind,
        .parents = {m->i, m->j},
        .parent_count = 2,
        .ancestor = m->ancestor,
        .ids = m->ids,
        .n = OPTIMIZE_MERGE_IDS,
        .parent_scores = {m->scores[0], m->scores[1]},
        .before = {trial_sum(m->scores[0], OPTIMIZE_MERGE_IDS),
                   trial_sum(m->scores[1], OPTIMIZE_MERGE_IDS)},
    };
}

static bool merge_validate_candidate(struct optimize *o, const struct merge *m, uint32_t *out,
                                     struct err *e)
{
    struct trial t = {
        .text = m->text,
        .split = OPTIMIZE_VAL,
        .ids = trial_val_ids(o),
        .n = o->task.val_count,
        .cached = true,
    };

    assert(m->i < m->j && m->j < o->count);
    if (!engine_room(o, e) || !trial_run(o, &t, 1, e))
        return false;
    o->calls += t.made;
    *out = engine_add(o, m->text, (const uint32_t[]){m->i, m->j}, 2, t.grades);
    engine_report_added(o, *out);
    assert(o->due > 0);
    o->due--;
    o->merged++;
    return true;
}

bool merge_step(struct optimize *o, bool *formed, bool *accepted, struct err *e)
{
    struct merge m = {0};
    struct trial t = {.split = OPTIMIZE_VAL, .n = OPTIMIZE_MERGE_IDS, .cached = true};
    struct optimize_event ev;

    if (!merge_form_candidate(o, &m, formed, e))
        return false;
    if (!*formed) {
        engine_report(o, (struct optimize_event){.kind = OPTIMIZE_EV_MERGE_NONE});
        return true;
    }
    merge_choose_ids(o, &m);
    t.text = m.text;
    t.ids = m.ids;
    if (!trial_run(o, &t, 1, e))
        return false;
    o->calls += t.made;
    ev = merge_make_event(&m, OPTIMIZE_EV_MERGE);
    ev.scores = t.scores;
    ev.texts = text_list(o, m.text);
    engine_report(o, ev);
    ev = merge_make_event(&m, OPTIMIZE_EV_MERGE_REJECTED);
    ev.after = trial_sum(t.scores, t.n);
    *accepted = ev.after >= ev.before[0] && ev.after >= ev.before[1];
    if (*accepted) {
        if (!merge_validate_candidate(o, &m, &ev.candidate, e))
            return false;
        ev.kind = OPTIMIZE_EV_MERGE_ACCEPTED;
    }
    engine_report(o, ev);
    return true;
}
