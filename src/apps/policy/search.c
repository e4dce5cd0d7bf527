/* search.c - which sections answer a question. See search.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/search.h"

#include "apps/policy/descend.h"
#include "apps/policy/fts.h"
#include "apps/policy/words.h"
#include "base/utf8.h"

#include <math.h>

#define ROWS_MAX 400    /* passages that are looked at */
#define FROM_PARENT 0.5 /* share of the score of a node without a text that its inner nodes get */

struct scored {
    uint32_t node, passages;
    double sum, score;
};

/* Passages to nodes: sum / sqrt(n + 1). Few rows, so a search through those found is enough. */
static size_t policy_search_fold(const struct fts_row *rows, size_t n, struct scored *out)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (k < count && out[k].node != rows[i].at)
            k++;
        if (k == count)
            out[count++] = (struct scored){.node = rows[i].at};
        out[k].sum += rows[i].score;
        out[k].passages++;
    }
    assert(count <= n);
    for (size_t k = 0; k < count; k++)
        out[k].score = out[k].sum / sqrt((double)out[k].passages + 1);
    return count;
}

/* A node without text of its own only leads to its inner nodes, which get its score. */
static void policy_search_lower_parents(const struct policy_tree *t, struct scored *s, size_t *n)
{
    size_t kept = 0;

    for (size_t i = 0; i < *n; i++) {
        const struct policy_node *above = &t->nodes[s[i].node];

        assert(s[i].node + above->span <= t->node_count);
        if (above->text.n > 0 || above->span == 1)
            continue;
        for (size_t k = 0; k < *n; k++)
            if (s[k].node > s[i].node && s[k].node < s[i].node + above->span) {
                s[k].score += FROM_PARENT * s[i].score;
                s[i].passages = 0;
            }
        if (s[i].passages > 0) { /* nothing in it matched by itself: the first node with a text */
            for (uint32_t k = s[i].node + 1; k < s[i].node + above->span; k++)
                if (t->nodes[k].text.n > 0) {
                    s[i].node = k;
                    break;
                }
        }
    }
    for (size_t i = 0; i < *n; i++)
        if (s[i].passages > 0)
            s[kept++] = s[i];
    assert(kept <= *n);
    *n = kept;
}

static int policy_search_by_score(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;

    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static str policy_search_preview(const struct policy_node *n, struct arena *a)
{
    str text = n->text.n > 0 ? n->text : n->summary;

    return arena_dup(a, utf8_cut_count(utf8_trim(text), POLICY_PREVIEW_CHARS));
}

static void policy_search_add_hit(struct policy_hits *h, const struct policy_node *n, double score,
                                  struct arena *a)
{
    assert(h->n <= POLICY_TOP_MAX);
    for (size_t i = 0; i < h->n; i++)
        if (h->hits[i].node == n)
            return;
    if (h->n < POLICY_TOP_MAX)
        h->hits[h->n++] = (struct policy_hit){n, score, policy_search_preview(n, a)};
}

/* How much of the question's words the node has, in itself or in its path. */
static double policy_search_covered(const struct policy_node *n, str query, struct arena *a)
{
    struct word *q, *text, *path;
    size_t qn = words_of_name(query, a, &q), held = 0;
    size_t text_n = words_of(n->text, a, &text), path_n = words_of(n->title_path, a, &path);

    for (size_t i = 0; i < qn; i++)
        held += word_find(text, text_n, &q[i]) < text_n || word_find(path, path_n, &q[i]) < path_n;
    return qn > 0 ? (double)held / (double)qn : 0;
}

/* Confidence: the share of the question in the best hit, and its lead over the next. */
static double policy_search_confidence(const struct policy_hits *h, str query, struct arena *a)
{
    double best = h->hits[0].score, next = h->n > 1 ? h->hits[1].score : 0;
    double lead = best > 0 ? (best - next) / best : 0.5;
    double c =
        0.5 + 0.4 * policy_search_covered(h->hits[0].node, query, a) + 0.1 * (lead > 0 ? lead : 0);

    assert(h->n > 0);
    return c > 1 ? 1 : c;
}

static double policy_search_variance(const struct scored *s, size_t n)
{
    double mean = 0, sum = 0, most = n > 0 && s[0].score > 0 ? s[0].score : 1;

    for (size_t i = 0; i < n; i++)
        mean += s[i].score / most / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += (s[i].score / most - mean) * (s[i].score / most - mean) / (double)n;
    return sum;
}

/* The model's picks, and between them, where scores are far apart, what the index found. */
static bool policy_search_merge_picks(const struct policy_doc *d, const struct policy_question *q,
                                      const struct scored *s, size_t n, struct arena *a,
                                      struct policy_hits *out)
{
    const struct policy_tree *t = &d->tree;
    const struct policy_node *nodes[POLICY_TOP_MAX];
    bool hybrid = policy_search_variance(s, n) > POLICY_HYBRID_VARIANCE, ok;
    double *score = arena_zero(a, t->node_count + 1, sizeof *score);
    size_t node_n = 0;
    struct err e;

    for (size_t i = 0; i < n; i++)
        score[s[i].node] = s[i].score;
    ok =
        policy_descend(&(struct policy_descent){d, q->text, score, q->pick}, a, nodes, &node_n, &e);
    assert(node_n <= POLICY_TOP_MAX);
    for (size_t i = 0; ok && i < POLICY_TOP_MAX && (i < node_n || (hybrid && i < n)); i++) {
        if (i < node_n)
            policy_search_add_hit(out, nodes[i], score[nodes[i] - t->nodes], a);
        if (hybrid && i < n && out->n > 0)
            policy_search_add_hit(out, &t->nodes[s[i].node], s[i].score, a);
    }
    out->method = hybrid ? "pageindex-hybrid" : "pageindex-llm";
    return out->n > 0;
}

bool policy_search(const struct policy_doc *d, const struct policy_question *asked, struct arena *a,
                   struct policy_hits *out, struct err *e)
{
    struct fts_rows rows = {.at = arena_alloc(a, ROWS_MAX * sizeof rows.at[0]), .max = ROWS_MAX};
    struct scored *s = arena_alloc(a, ROWS_MAX * sizeof s[0]);
    struct policy_question q = *asked;
    str expression;
    size_t n;

    memset(out, 0, sizeof *out);
    q.top_k = q.top_k == 0 ? POLICY_TOP_K : q.top_k > POLICY_TOP_MAX ? POLICY_TOP_MAX : q.top_k;
    q.text = utf8_cut_size(q.text, POLICY_QUERY_MAX);
    expression = fts_expression(q.text, a);
    if (!fts_nodes(d->index, expression, &rows, e))
        return false;
    n = policy_search_fold(rows.at, rows.n, s);
    policy_search_lower_parents(&d->tree, s, &n);
    if (n > 1)
        qsort(s, n, sizeof s[0], policy_search_by_score);
    if (!q.pick || expression.n == 0 || !policy_search_merge_picks(d, &q, s, n, a, out)) {
        out->method = "bm25+reranker";
        for (size_t i = 0; i < n && out->n < q.top_k; i++)
            policy_search_add_hit(out, &d->tree.nodes[s[i].node], s[i].score, a);
    }
    out->n = out->n > q.top_k ? q.top_k : out->n;
    out->reason_code = out->n == 0 ? "no_matches" : NULL;
    if (out->n == 0)
        return true;
    assert(out->n <= q.top_k && q.top_k <= POLICY_TOP_MAX);
    out->confidence = policy_search_confidence(out, q.text, a);
    out->trajectory = policy_titles(&d->tree, out->hits[0].node, a);
    out->trajectory_n = out->hits[0].node->depth + 1;
    return true;
}

static void policy_search_pages_json(const struct policy_node *n, struct json_out *o)
{
    json_out_array(o);
    for (uint32_t p = n->start_index; p <= n->end_index && p < n->start_index + 50; p++)
        json_out_u64(o, p);
    json_out_end(o);
}

void policy_hits_json(const struct policy_hits *h, struct json_out *o)
{
    json_out_object(o);
    json_member_bool(o, "success", true);
    json_member_array(o, "nodes");
    for (size_t i = 0; i < h->n; i++) {
        json_out_object(o);
        json_member_str(o, "node_id", h->hits[i].node->node_id);
        json_member_str(o, "title", h->hits[i].node->title);
        json_out_key(o, STR("pages"));
        policy_search_pages_json(h->hits[i].node, o);
        json_member_str(o, "text_preview", h->hits[i].preview);
        json_out_end(o);
    }
    json_out_end(o);
    json_member_texts(o, "trajectory", h->trajectory, h->trajectory_n);
    json_member_double(o, "confidence", round(h->confidence * 1000) / 1000);
    json_member_str(o, "retrieval_method", str_c(h->method));
    if (h->reason_code)
        json_member_str(o, "reason_code", str_c(h->reason_code));
    json_out_end(o);
}
