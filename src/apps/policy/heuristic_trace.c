/* heuristic_trace.c - the heuristic's output for a criterion: its steps, citation, evidence and
 * reasons. See heuristic_run.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic_run.h"
#include "apps/policy/tree_build.h"
#include "base/utf8.h"

void heuristic_step(struct run *x, const char *action, str observation)
{
    size_t at = x->out->trace_count++;

    assert(at < STEPS);
    x->steps[at] = (struct policy_step){
        (unsigned)at + 1, str_c(action), utf8_cut_count(observation, POLICY_OBSERVATION_MAX)};
}

#define PAGES_MAX 50

/* The pages of a sentence, without page numbers that the markers skip. A tree from JSON has no
 * page positions within a section: then all pages up to the first child are cited. */
static void cite_pages(struct run *x, const struct policy_node *n, size_t from, size_t to)
{
    const struct policy_node *child = n->span > 1 ? n + 1 : NULL;
    uint32_t last =
        child && child->start_index >= n->start_index ? child->start_index : n->end_index;
    uint32_t *pages = arena_alloc(x->a, (PAGES_MAX + 1) * sizeof pages[0]);
    size_t count = 0;

    if (n->line == 0 && n->page_count <= 1)
        for (uint32_t p = n->start_index; p <= last && count < PAGES_MAX; p++)
            pages[count++] = p;
    for (uint32_t i = 0; i < n->page_count && count < PAGES_MAX && n->page_count > 1; i++) {
        size_t end = i + 1 < n->page_count ? n->pages[i + 1].at : n->text.n + 1;

        if (n->pages[i].at < to && end > from &&
            (count == 0 || pages[count - 1] != n->pages[i].page))
            pages[count++] = n->pages[i].page;
    }
    if (count == 0)
        pages[count++] = policy_page_at(n, from);
    x->out->citation.pages = pages;
    x->out->citation.page_count = count;
}

static void policy_trace_cite(struct run *x, const struct judged *j)
{
    struct policy_result *out = x->out;
    const struct policy_node *n = j ? j->r->node : x->hits.n > 0 ? x->hits.hits[0].node : NULL;
    str *titles;

    out->citation.section = n ? arena_dup(x->a, n->title_path) : STR("");
    if (!n)
        return;
    cite_pages(x, n, j ? j->r->sentence->from : 0, j ? j->r->sentence->to : n->text.n);
    out->trajectory_count = n->depth + 1;
    out->trajectory = titles = arena_alloc(x->a, out->trajectory_count * sizeof titles[0]);
    for (size_t i = out->trajectory_count; n && i > 0; i--, n = policy_parent(&x->doc->tree, n))
        titles[i - 1] = arena_dup(x->a, n->title);
}

static void policy_trace_evidence(struct run *x, const struct judged *j)
{
    const struct policy_field *f;
    struct policy_result *out = x->out;
    str value;

    if (!j || j->h.used_n == 0)
        return;
    f = j->h.used[0]->field;
    value = f->value.kind == POLICY_TEXT ? f->value.text : f->raw;
    out->has_evidence = true;
    out->evidence = (struct policy_evidence){
        .doc_id = f->doc_id,
        .page = f->page,
        .has_bbox = f->has_bbox,
        .text_excerpt = arena_printf(x->a,
                                     STR_FMT ": " STR_FMT,
                                     STR_ARG(f->name),
                                     STR_ARG(utf8_cut_count(value, POLICY_EXCERPT_MAX)))};
    memcpy(out->evidence.bbox, f->bbox, sizeof f->bbox);
}

/* "age is 17, income is 500": the facts that a rule was held against. */
static str heuristic_facts_text(struct run *x, const struct judged *j)
{
    struct buf b;
    str out;

    buf_init(&b, 2000);
    for (size_t i = 0; i < j->h.used_n && b.n < 600; i++)
        buf_printf(&b,
                   "%s" STR_FMT " is " STR_FMT,
                   i ? ", " : "",
                   STR_ARG(utf8_cut_count(j->h.used[i]->field->name, 60)),
                   STR_ARG(utf8_cut_count(j->h.used[i]->field->raw, 80)));
    out = arena_dup(x->a, buf_str(&b));
    buf_release(&b);
    return out;
}

static const struct {
    const char *code, *words;
} reasons[] = {
    {"conformal_ambiguity", "the facts contradict each other, or one may change another"},
    {"low_confidence", "a fact it rests on is not sure enough"},
    {"missing_evidence", "the case has no fact that compares with what the policy asks"},
    {"not_understood", "not understood"},
    {"insufficient_policy_context",
     "the policy has no rule about it that can be held against facts"},
    {"policy_too_long", "the policy is longer than can be read whole"},
    {"no_relevant_nodes", "no section of the policy is about it"},
    {"treestore_no_nodes", "the policy has no sections"},
    {"treestore_missing_text", "the policy's sections have no text"},
    {"missing_policy_document_id", "there is no policy document to verify against"},
};

const char *heuristic_reason_words(str code)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (str_eq(code, str_c(reasons[i].code)))
            return reasons[i].words;
    return "it cannot be told";
}

static void heuristic_write_rationale(struct run *x, const struct decision *d)
{
    static const char *const ends[] = {"so it is met", "so it is not met", "so it is uncertain"};
    struct policy_result *out = x->out;
    str text = d->by ? utf8_cut_count(policy_one_line(d->by->r->text, x->a), 240) : STR("");
    str why = d->by ? heuristic_facts_text(x, d->by) : STR("");
    bool doubt = out->status == POLICY_UNCERTAIN;

    out->rationale = arena_printf(x->a,
                                  STR_FMT "%s%s%s%s" STR_FMT "%s%s.",
                                  STR_ARG(why),
                                  why.n > 0 ? "; " : "",
                                  doubt ? heuristic_reason_words(out->reason_code) : "",
                                  doubt ? ", " : "",
                                  text.n > 0 ? "by \"" : "",
                                  STR_ARG(text),
                                  text.n > 0 ? "\" " : "",
                                  ends[out->status]);
}

void heuristic_trace_retrieved(struct run *x)
{
    struct buf b;

    buf_init(&b, 4000);
    buf_printf(&b, "%zu section%s by %s:", x->hits.n, x->hits.n == 1 ? "" : "s", x->hits.method);
    for (size_t i = 0; i < x->hits.n && i < 5; i++)
        buf_printf(&b,
                   " " STR_FMT " " STR_FMT " (page %u)%s",
                   STR_ARG(x->hits.hits[i].node->node_id),
                   STR_ARG(utf8_cut_count(x->hits.hits[i].node->title, 60)),
                   (unsigned)x->hits.hits[i].node->start_index,
                   i + 1 < x->hits.n ? "," : "");
    heuristic_step(x, "retrieve", arena_dup(x->a, buf_str(&b)));
    buf_release(&b);
}

void heuristic_trace_read(struct run *x)
{
    struct buf b;

    buf_init(&b, 8000);
    buf_printf(&b, "%zu rule%s read", x->n, x->n == 1 ? "" : "s");
    for (size_t i = 0; i < x->n && i < 4; i++)
        buf_printf(&b,
                   "%s \"" STR_FMT "\"",
                   i == 0 ? ":" : ",",
                   STR_ARG(utf8_cut_count(policy_one_line(x->rules[i].r->text, x->a), 160)));
    heuristic_step(x, "read", arena_dup(x->a, buf_str(&b)));
    buf_reset(&b);
    for (size_t i = 0; i < x->n && i < 6; i++)
        if (x->rules[i].h.used_n > 0)
            buf_printf(&b,
                       "%s" STR_FMT,
                       b.n > 0 ? "; " : "",
                       STR_ARG(heuristic_facts_text(x, &x->rules[i])));
    heuristic_step(
        x, "link", arena_dup(x->a, b.n > 0 ? buf_str(&b) : STR("no fact is named by them")));
    buf_release(&b);
}

void heuristic_trace_decision(struct run *x, const struct decision *d)
{
    policy_trace_cite(x, d->by);
    policy_trace_evidence(x, d->by);
    heuristic_write_rationale(x, d);
}
