/* fact_tools.c - cross references, versions by date, and the refusal for PubMed. See fact_tools.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/fact_tools.h"

#include "apps/policy/version.h"

#include "apps/policy/scope.h"
#include "base/utf8.h"

#define SECTIONS_MAX 20
#define REFERENCES_MAX 50
#define REFERENCE_WORDS 8 /* read after "see section" */

static void policy_fact_tool_begin(struct json_out *o, bool success)
{
    json_out_object(o);
    json_member_bool(o, "success", success);
}

void policy_tool_refuse(struct json_out *o, const char *code, const char *message)
{
    policy_fact_tool_begin(o, false);
    json_member_str(o, "error", str_c(code));
    json_member_str(o, "message", str_c(message));
    json_out_end(o);
}

/* The section that words name: "section Age", "section 3.2" by how its title begins. */
static const struct policy_node *policy_fact_tool_named(const struct policy_tree *t,
                                                        const struct word *w, size_t n)
{
    const struct policy_node *best = NULL;
    struct arena scratch;
    size_t longest = 0;

    arena_init(&scratch, WORDS_ARENA_MAX);
    for (uint32_t i = 0; i < t->node_count; i++) {
        struct word *title;
        size_t k = 0, size = words_of(t->nodes[i].title, &scratch, &title);
        bool number = size > 0 && title[0].kind == WORD_NUMBER;

        while (k < size && k < n && word_same(&title[k], &w[k]))
            k++;
        if ((k == size || (number && k > 0)) && k > longest) {
            longest = k;
            best = &t->nodes[i];
        }
        arena_reset(&scratch);
    }
    arena_release(&scratch);
    return best;
}

static void policy_fact_tool_write_reference(const struct policy_doc *d, const struct reading *r,
                                             size_t at, struct json_out *o)
{
    size_t n = r->n - at < REFERENCE_WORDS ? r->n - at : REFERENCE_WORDS;
    const struct policy_node *to = policy_fact_tool_named(&d->tree, r->w + at, n);

    assert(at < r->n);
    json_out_object(o);
    json_member_str(o, "from_node_id", r->node->node_id);
    json_member_str(o, "from_section", r->node->title_path);
    json_member_str(o, "text", utf8_cut_count(r->text, POLICY_PREVIEW_CHARS));
    json_member_str_or_null(o, "target_node_id", to ? to->node_id : STR(""));
    json_member_str(o, "target_section", to ? to->title_path : STR(""));
    json_out_end(o);
}

/* Where a reference's target begins in a sentence, or n. */
static size_t policy_fact_tool_find_reference(const struct reading *r, size_t from)
{
    for (size_t i = from; i + 1 < r->n; i++) {
        bool section = word_among(&r->w[i], "section sections chapter appendix");
        bool see = word_is(&r->w[i], "see") || (i > 0 && word_is(&r->w[i], "to") &&
                                                word_among(&r->w[i - 1], "refer according"));

        if (section)
            return i + 1;
        if (see && !word_among(&r->w[i + 1], "section sections the chapter appendix"))
            return i + 1;
    }
    return r->n;
}

static void policy_sections_json(const struct scope *s, const struct phrase *q, bool *named_here,
                                 struct json_out *o)
{
    struct scope_titles titles;
    size_t shown = 0;

    scope_titles_init(&titles);
    json_member_array(o, "sections");
    for (size_t i = 0; i < s->n && shown < SECTIONS_MAX; i++) {
        const struct reading *r = &s->all[i];

        if (named_here[r->node_at] || q->n == 0 || !scope_covers(r, q, &titles))
            continue;
        named_here[r->node_at] = true;
        shown++;
        json_out_object(o);
        json_member_str(o, "node_id", r->node->node_id);
        json_member_str(o, "title", r->node->title);
        json_member_str(o, "section", r->node->title_path);
        json_member_u64(o, "page", policy_page_at(r->node, r->sentence->from));
        json_member_str(o, "text_preview", utf8_cut_count(r->text, POLICY_PREVIEW_CHARS));
        json_out_end(o);
    }
    json_out_end(o);
    scope_titles_release(&titles);
}

void policy_xref(const struct policy_doc *d, str criterion_id, struct arena *a, struct json_out *o)
{
    const struct scope *s;
    struct phrase q;
    size_t shown = 0;
    bool *here;

    if (!d || str_trim(criterion_id).n == 0) {
        policy_tool_refuse(
            o, d ? "missing_criterion_id" : "missing_policy_document_id", "nothing to look up");
        return;
    }
    q = scope_question(criterion_id, a);
    s = scope_of(d, a);
    here = arena_zero(a, d->tree.node_count + 1, sizeof here[0]);
    policy_fact_tool_begin(o, true);
    json_member_str(o, "criterion_id", criterion_id);
    policy_sections_json(s, &q, here, o);
    json_member_array(o, "references");
    for (size_t i = 0; i < s->n && shown < REFERENCES_MAX; i++) {
        const struct reading *r = &s->all[i];

        for (size_t at = policy_fact_tool_find_reference(r, 0);
             here[r->node_at] && at < r->n && shown < REFERENCES_MAX;
             at = policy_fact_tool_find_reference(r, at), shown++)
            policy_fact_tool_write_reference(d, r, at, o);
    }
    json_out_close(o, 2);
}

/* For the tool a policy may be named by its title, too. */
static bool policy_fact_is_version(const struct policy_doc *d, str policy_id)
{
    return policy_is_version(d, policy_id) ||
           (policy_id.n && (str_eq_nocase(d->tree.title, policy_id) ||
                            str_eq_nocase(d->tree.doc_name, policy_id)));
}

static void policy_fact_version_json(const struct policy_doc *d, struct json_out *o)
{
    json_member_str(o, "document_id", d->id);
    json_member_str(o, "version", policy_doc_version(d));
    json_member_str(o, "effective_start", d->tree.effective_start);
    json_member_str(o, "effective_end", d->tree.effective_end);
}

void policy_temporal(const struct policy_doc *const *docs, size_t n, str policy_id, str as_of_date,
                     struct json_out *o)
{
    const struct policy_doc *best = NULL;
    size_t versions = 0;

    as_of_date = str_slice(str_trim(as_of_date), 0, 10);
    if (!policy_is_day(as_of_date)) {
        policy_tool_refuse(o, "invalid_date", "as_of_date is a day as YYYY-MM-DD");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!policy_fact_is_version(docs[i], policy_id))
            continue;
        versions++;
        if (policy_in_force(docs[i], as_of_date) &&
            (!best || str_cmp(docs[i]->tree.effective_start, best->tree.effective_start) > 0))
            best = docs[i];
    }
    assert(!best || versions > 0);
    policy_fact_tool_begin(o, best != NULL);
    json_member_str(o, "policy_id", policy_id);
    json_member_str(o, "as_of_date", as_of_date);
    if (best)
        policy_fact_version_json(best, o);
    else
        json_member_str(
            o, "error", versions > 0 ? STR("no_version_in_force") : STR("policy_not_found"));
    json_member_array(o, "versions");
    for (size_t i = 0; i < n; i++)
        if (policy_fact_is_version(docs[i], policy_id)) {
            json_out_object(o);
            policy_fact_version_json(docs[i], o);
            json_out_end(o);
        }
    json_out_close(o, 2);
}

void policy_pubmed(struct json_out *o)
{
    policy_tool_refuse(
        o, "pubmed_unavailable", "there is no way to PubMed from here; decide without it");
}
