/* spans.c - the sentences of one section that answer a question. See search.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/fts.h"
#include "apps/policy/search.h"
#include "apps/policy/words.h"
#include "base/utf8.h"

#include <math.h>

#define SPAN_ROWS_MAX 50

/* How much of the question's words a sentence has. */
static double policy_spans_covered(str text, const struct word *q, size_t qn, struct arena *a)
{
    struct word *w;
    size_t n = words_of(text, a, &w), held = 0;

    for (size_t i = 0; i < qn; i++)
        held += word_find(w, n, &q[i]) < n;
    return qn > 0 ? (double)held / (double)qn : 0;
}

bool policy_spans(const struct policy_doc *d, const struct policy_node *n, str query,
                  struct arena *a, struct policy_spans *out, struct err *e)
{
    uint32_t node = (uint32_t)(n - d->tree.nodes);
    struct fts_row rows[SPAN_ROWS_MAX];
    struct fts_rows found = {.at = rows, .max = SPAN_ROWS_MAX};
    const struct policy_sentence *all;
    struct word *q;
    size_t qn;
    double best;

    assert(n >= d->tree.nodes && node < d->tree.node_count);
    memset(out, 0, sizeof *out);
    query = utf8_cut_size(query, POLICY_QUERY_MAX);
    fts_sentences_of(d->index, node, &all);
    if (!fts_sentences(d->index, node, fts_expression(query, a), &found, e))
        return false;
    qn = words_of_name(query, a, &q);
    best = found.n > 0 && rows[0].score > 0 ? rows[0].score : 1;
    for (size_t i = 0; i < found.n; i++) {
        const struct policy_sentence *s = &all[rows[i].at];
        str text = str_slice(n->text, s->from, s->to);
        double score = 0.5 * rows[i].score / best + 0.5 * policy_spans_covered(text, q, qn, a);
        struct policy_span span = {
            text, s->from, s->to, policy_page_at(n, s->from), score < 0 ? 0 : score};
        size_t at = out->n < POLICY_SPANS_MAX ? out->n++ : POLICY_SPANS_MAX;

        assert(s->from < s->to && s->to <= n->text.n && out->n <= POLICY_SPANS_MAX);
        while (at > 0 && out->spans[at - 1].score < span.score) {
            if (at < POLICY_SPANS_MAX)
                out->spans[at] = out->spans[at - 1];
            at--;
        }
        if (at < POLICY_SPANS_MAX)
            out->spans[at] = span;
    }
    return true;
}

void policy_spans_json(const struct policy_node *n, const struct policy_spans *s,
                       struct json_out *o)
{
    json_out_object(o);
    json_member_bool(o, "success", true);
    json_member_str(o, "node_id", n->node_id);
    json_member_array(o, "spans");
    for (size_t i = 0; i < s->n; i++) {
        const struct policy_span *p = &s->spans[i];
        size_t start = utf8_count(str_slice(n->text, 0, p->from));

        json_out_object(o);
        json_member_str(o, "text", p->text);
        json_member_u64(o, "start", start);
        json_member_u64(o, "end", start + utf8_count(p->text));
        json_member_u64(o, "page", p->page);
        json_member_double(o, "score", round(p->score * 1000) / 1000);
        json_out_end(o);
    }
    json_out_end(o);
    if (s->n == 0)
        json_member_str(o, "reason_code", STR("no_matches"));
    json_out_end(o);
}
