/* descend.c - see descend.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/descend.h"

#include "base/utf8.h"

/* A section that can be named; opened: only its own text is meant, its sections have their own. */
struct choice {
    const struct policy_node *node;
    bool opened;
    double score; /* the best of its subtree */
};

struct descent {
    const struct policy_descent *in;
    const struct policy_tree *t;
    struct arena *a;
    unsigned prompts;
    const struct policy_node **out;
    size_t n;
    struct err *e;
};

static bool descend_show_whole(const struct policy_tree *t, struct buf *b)
{
    struct json_out o;
    struct err e;

    if (t->node_count > DESCEND_PART_NODES)
        return false;
    buf_init(b, DESCEND_PART_SIZE);
    json_out_init(&o, b);
    policy_tree_json(t, false, &o);
    if (json_out_ok(&o, &e))
        return true;
    buf_release(b);
    return false;
}

static void descend_choice_json(const struct choice *c, struct json_out *o)
{
    const struct policy_node *n = c->node;

    assert(n->page_count > 0);
    json_out_object(o);
    json_member_str(o, "title", utf8_cut_count(n->title, DESCEND_TITLE));
    json_member_str(o, "node_id", n->node_id);
    json_member_u64(o, "start_index", n->start_index);
    json_member_u64(o, "end_index", c->opened ? n->pages[n->page_count - 1].page : n->end_index);
    json_member_str(o, "summary", utf8_cut_count(n->summary, DESCEND_SUMMARY));
    if (!c->opened && n->span > 1)
        json_member_u64(o, "sections_inside", n->span - 1);
    json_out_end(o);
}

/* Shows as many choices as fit in one prompt; returns their number. */
static size_t descend_show_part(const struct descent *d, const struct choice *list, size_t n,
                                struct buf *b)
{
    struct json_out o;
    size_t shown = 0;

    buf_init(b, 2 * DESCEND_PART_SIZE);
    json_out_init_object(&o, b);
    json_member_str(&o, "doc_name", utf8_cut_count(d->t->doc_name, DESCEND_TITLE));
    json_member_str(&o,
                    "note",
                    STR("This is one level of the tree. To look into an entry with "
                        "sections_inside, name it: its sections are shown next."));
    json_member_array(&o, "structure");
    while (shown < n && shown < DESCEND_PART_NODES && b->n < DESCEND_PART_SIZE - 2048)
        descend_choice_json(&list[shown++], &o);
    json_out_close(&o, 2);
    assert(shown <= n && (shown > 0 || n == 0));
    return shown;
}

static void descend_found(struct descent *d, const struct policy_node *n)
{
    assert(d->n <= POLICY_TOP_MAX);
    for (size_t i = 0; i < d->n; i++)
        if (d->out[i] == n)
            return;
    if (d->n < POLICY_TOP_MAX)
        d->out[d->n++] = n;
}

/* One prompt: the places in the list of those that the model named, best first. */
static bool descend_ask(struct descent *d, str part, const struct choice *list, size_t count,
                        size_t named[DESCEND_BEAM], size_t *n)
{
    struct policy_ids ids = {.n = 0};

    *n = 0;
    d->prompts++;
    if (!d->in->pick->pick(d->in->pick->ctx, d->in->question, part, d->a, &ids, d->e))
        return false;
    for (size_t i = 0; i < ids.n && *n < DESCEND_BEAM; i++)
        for (size_t k = 0; k < count; k++) {
            bool again = false;

            for (size_t m = 0; m < *n; m++)
                again = again || named[m] == k;
            if (!again && str_eq(list[k].node->node_id, ids.at[i]) && *n < DESCEND_BEAM)
                named[(*n)++] = k;
        }
    assert(*n <= DESCEND_BEAM);
    return true;
}

static int descend_by_score(const void *x, const void *y)
{
    const struct choice *a = x, *b = y;

    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return (a->node > b->node) - (a->node < b->node);
}

/* A level that is too wide keeps the sections in which the index found the most. */
static size_t descend_narrow(const struct descent *d, struct choice *list, size_t n)
{
    if (n <= DESCEND_PARTS * (size_t)DESCEND_PART_NODES)
        return n;
    for (size_t i = 0; i < n; i++) {
        const double *score = d->in->score + (list[i].node - d->t->nodes);
        uint32_t span = list[i].opened ? 1 : list[i].node->span;

        assert(list[i].node >= d->t->nodes &&
               list[i].node + span <= d->t->nodes + d->t->node_count);
        for (uint32_t k = 0; k < span; k++)
            list[i].score = score[k] > list[i].score ? score[k] : list[i].score;
    }
    qsort(list, n, sizeof list[0], descend_by_score);
    return DESCEND_PARTS * (size_t)DESCEND_PART_NODES;
}

/* Replaces the named nodes by their children; nodes without children are results. */
static size_t descend_open(struct descent *d, const struct choice *named, size_t n,
                           struct choice **out)
{
    size_t count = 0, most = 1;

    for (size_t i = 0; i < n; i++)
        most += named[i].node->span;
    *out = arena_zero(d->a, most, sizeof **out);
    for (size_t i = 0; i < n; i++) {
        const struct policy_node *at = named[i].node;

        if (named[i].opened || at->span == 1) {
            descend_found(d, at);
            continue;
        }
        if (at->text.n > 0)
            (*out)[count++] = (struct choice){.node = at, .opened = true};
        for (const struct policy_node *c = policy_child(d->t, at); c; c = policy_sibling(d->t, c))
            (*out)[count++] = (struct choice){.node = c};
    }
    assert(count < most);
    return count;
}

/* One level, in as many prompts as it needs: the best of each come before the second of each. */
static bool descend_level(struct descent *d, const struct choice *list, size_t n,
                          struct choice beam[DESCEND_BEAM], size_t *beam_n)
{
    size_t named[DESCEND_PARTS + 1][DESCEND_BEAM], count[DESCEND_PARTS + 1] = {0};
    size_t from[DESCEND_PARTS + 1], parts = 0;

    *beam_n = 0;
    for (size_t at = 0, shown; at < n && parts <= DESCEND_PARTS; at += shown, parts++) {
        struct buf part;
        bool ok;

        shown = descend_show_part(d, list + at, n - at, &part);
        from[parts] = at;
        ok = descend_ask(d, buf_str(&part), list + at, shown, named[parts], &count[parts]);
        buf_release(&part);
        if (!ok)
            return false;
    }
    assert(parts <= DESCEND_PARTS + 1);
    for (size_t rank = 0; rank < DESCEND_BEAM; rank++)
        for (size_t p = 0; p < parts; p++)
            if (rank < count[p] && *beam_n < DESCEND_BEAM)
                beam[(*beam_n)++] = list[from[p] + named[p][rank]];
    return true;
}

static bool descend_levels(struct descent *d)
{
    struct choice top = {.node = NULL}, *list = NULL, beam[DESCEND_BEAM];
    size_t n = 0, beam_n;

    list = arena_zero(d->a, d->t->node_count + 1, sizeof *list);
    for (top.node = policy_child(d->t, NULL); top.node; top.node = policy_sibling(d->t, top.node))
        list[n++] = top;
    while (n > 0) {
        n = descend_narrow(d, list, n);
        if (!descend_level(d, list, n, beam, &beam_n))
            return false;
        assert(beam_n <= DESCEND_BEAM);
        if (d->prompts + DESCEND_PARTS >= DESCEND_PROMPTS) {
            for (size_t i = 0; i < beam_n; i++)
                descend_found(d, beam[i].node);
            break;
        }
        n = descend_open(d, beam, beam_n, &list);
    }
    return true;
}

bool policy_descend(const struct policy_descent *in, struct arena *a,
                    const struct policy_node *out[POLICY_TOP_MAX], size_t *n, struct err *e)
{
    struct descent d = {.in = in, .t = &in->doc->tree, .a = a, .out = out, .e = e};
    struct policy_ids ids = {.n = 0};
    struct buf whole;
    bool ok;

    if (descend_show_whole(d.t, &whole)) {
        ok = in->pick->pick(in->pick->ctx, in->question, buf_str(&whole), a, &ids, e);
        buf_release(&whole);
        for (size_t i = 0; ok && i < ids.n; i++) {
            const struct policy_node *node = policy_node_find(d.t, ids.at[i]);

            if (node)
                descend_found(&d, node);
        }
    } else {
        ok = descend_levels(&d);
    }
    *n = d.n;
    return ok;
}
