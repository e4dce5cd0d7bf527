/* finish.c - checks a proposal against the texts that the run was shown, and makes a result of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/react_state.h"
#include "base/ctype.h"

#define PAGES_MAX 1000
#define HINT_SIZE 120
#define EXCERPT_READ 500 /* bytes of one that are compared */
#define LINK_WORDS_MAX 50

/* Factors of the confidence in the evidence. */
#define LINK_FLOOR 0.8     /* the section need not use the words of the fact's name */
#define NOT_READ 0.8       /* a fact that is cited and was not looked at */
#define UNSEEN_MET 0.5     /* met by no fact at all */
#define UNSEEN_MISSING 0.9 /* missing because there is no fact */

/* ---- the section ---- */

static bool policy_is_shown(const struct react *r, const struct policy_node *n)
{
    assert(n >= r->o->doc->tree.nodes && n < r->o->doc->tree.nodes + r->o->doc->tree.node_count);
    return r->seen[n - r->o->doc->tree.nodes].shown;
}

/* The section with this title; if there are several, one that the model was shown. */
static const struct policy_node *shown_titled(const struct react *r, str title)
{
    const struct policy_tree *t = &r->o->doc->tree;
    const struct policy_node *any = NULL;

    for (uint32_t i = 0; i < t->node_count; i++)
        if (str_eq_nocase(t->nodes[i].title, title)) {
            if (policy_is_shown(r, &t->nodes[i]))
                return &t->nodes[i];
            any = &t->nodes[i];
        }
    return any;
}

static const struct policy_node *policy_finish_named(const struct react *r, str name)
{
    const struct policy_tree *t = &r->o->doc->tree;
    const struct policy_node *n = policy_node_titled(t, name);

    if (!n)
        n = policy_node_find(t, name);
    return n ? n : shown_titled(r, name);
}

/* "Coverage / Age", "Coverage > Age" however the path is drawn. A text that is much longer than any
 * path names none, and joining its parts would take memory by the square of its length. */
static const struct policy_node *policy_by_path(const struct react *r, str text, struct arena *a)
{
    static const char *const between[] = {" / ", "/", " \xe2\x80\xba ", " :: ", "::", ">", "\\"};

    for (size_t i = 0; text.n <= 2 * POLICY_PATH_MAX && i < COUNT_OF(between); i++) {
        str path = STR(""), rest = text, mark = str_c(between[i]);
        const struct policy_node *n;
        size_t at;

        while ((at = str_find(rest, mark)) != STR_NONE) {
            path = arena_printf(a,
                                STR_FMT STR_FMT POLICY_PATH_BETWEEN,
                                STR_ARG(path),
                                STR_ARG(str_trim(str_slice(rest, 0, at))));
            rest = str_slice(rest, at + mark.n, rest.n);
        }
        n = path.n
                ? policy_node_titled(&r->o->doc->tree, arena_join(a, path, str_trim(rest), STR("")))
                : NULL;
        if (n)
            return n;
    }
    return NULL;
}

/* As people write it: "Section 2.1 Age", "## Age", "[0003] Age". */
static const struct policy_node *policy_finish_find_section(const struct react *r, str text,
                                                            struct arena *a)
{
    static const char *const fronts[] = {
        "section ", "Section ", "SECTION ", "\xc2\xa7 ", "\xc2\xa7", "# ", "## ", "### ", "#### "};
    const struct policy_node *n = policy_finish_named(r, str_trim(text));
    size_t close;

    text = str_trim(text);
    for (size_t i = 0; !n && i < COUNT_OF(fronts); i++)
        if (str_starts(text, str_c(fronts[i])))
            n = policy_finish_named(r, str_trim(str_slice(text, strlen(fronts[i]), text.n)));
    close = str_find(text, STR("]"));
    if (!n && str_starts(text, STR("[")) && close != STR_NONE)
        n = policy_node_find(&r->o->doc->tree, str_slice(text, 1, close));
    return n ? n : policy_by_path(r, text, a);
}

/* The model was shown this node, or a node below it, whose path contains its title. */
static bool policy_was_retrieved(const struct react *r, const struct policy_node *n)
{
    for (uint32_t i = 0; i < n->span; i++)
        if (policy_is_shown(r, n + i))
            return true;
    return false;
}

static bool policy_page_retrieved(const struct react *r, int64_t page)
{
    const struct policy_tree *t = &r->o->doc->tree;

    for (uint32_t i = 0; i < t->node_count; i++)
        if (policy_is_shown(r, &t->nodes[i]) && page >= t->nodes[i].start_index &&
            page <= t->nodes[i].end_index)
            return true;
    return false;
}

/* The titles that can be cited, for the model's correction. */
static str shown_titles(const struct react *r, struct arena *a)
{
    const struct policy_tree *t = &r->o->doc->tree;
    str all = STR("");

    for (uint32_t i = 0; i < t->node_count && all.n < HINT_SIZE; i++)
        if (policy_is_shown(r, &t->nodes[i]))
            all = arena_printf(a,
                               STR_FMT "%s\"" STR_FMT "\"",
                               STR_ARG(all),
                               all.n ? ", " : "",
                               STR_ARG(t->nodes[i].title));
    return all.n ? all : STR("nothing yet: call pi_search");
}

static bool policy_check_section(const struct react *r, str name, struct arena *a,
                                 struct react_proposal *p, struct err *e)
{
    p->node = policy_finish_find_section(r, name, a);
    if (!p->node)
        return err_input(e,
                         "citation_unknown_section: the policy has no section \"" STR_FMT
                         "\"; retrieved in this run: " STR_FMT,
                         STR_ARG(str_slice(name, 0, 60)),
                         STR_ARG(shown_titles(r, a)));
    if (!policy_was_retrieved(r, p->node))
        return err_input(e,
                         "citation_not_retrieved: the section \"" STR_FMT
                         "\" was not retrieved in this run; retrieved: " STR_FMT,
                         STR_ARG(str_slice(p->node->title, 0, 60)),
                         STR_ARG(shown_titles(r, a)));
    return true;
}

/* If no pages are given: those of the section, as far as they were shown. */
static bool policy_check_pages(const struct react *r, const struct json *doc, struct arena *a,
                               struct react_proposal *p, struct err *e)
{
    const struct json_node *list = json_find(doc, json_root(doc), STR("policy_pages"));
    size_t n = json_count(doc, list), cited = p->node->end_index - p->node->start_index + 1;
    uint32_t *pages = arena_zero(a, (n > cited ? n : cited) + 1, sizeof *pages);
    int64_t page;

    assert(p->node->start_index <= p->node->end_index);
    if (n > PAGES_MAX)
        return err_input(e, "citation_not_retrieved: at most %d pages can be cited", PAGES_MAX);
    JSON_FOREACH(v, doc, list) {
        if (!json_i64(doc, v, &page) || page < p->node->start_index || page > p->node->end_index ||
            !policy_page_retrieved(r, page))
            return err_input(e,
                             "citation_not_retrieved: page " STR_FMT
                             " of that section was not retrieved in this run; \"" STR_FMT
                             "\" has pages %u to %u",
                             STR_ARG(json_raw(doc, v)),
                             STR_ARG(str_slice(p->node->title, 0, 60)),
                             p->node->start_index,
                             p->node->end_index);
        pages[p->page_count++] = (uint32_t)page;
    }
    if (!p->page_count && cited <= PAGES_MAX)
        for (uint32_t i = p->node->start_index; i <= p->node->end_index; i++)
            if (policy_page_retrieved(r, i))
                pages[p->page_count++] = i;
    p->pages = pages;
    return true;
}

/* ---- the evidence ---- */

static bool policy_finish_is_blank(char c)
{
    return char_is_json_space(c) || c == '"' || c == '*' || c == '`';
}

static bool policy_stands_at(const struct policy_field *f, str doc_id, int64_t page)
{
    return (!doc_id.n || str_eq(f->doc_id, doc_id)) && (page < 0 || page == (int64_t)f->page);
}

/* Prefers a fact that this run has read; without document and page, the last one it read. */
static const struct policy_field *policy_evidence_at(const struct react *r, str doc_id,
                                                     int64_t page)
{
    const struct policy_case *c = r->o->c;

    assert(r->fact_count <= REACT_FACTS_MAX);
    for (size_t i = r->fact_count; i-- > 0;)
        if (policy_stands_at(r->facts[i], doc_id, page))
            return r->facts[i];
    for (size_t i = 0; (doc_id.n || page >= 0) && i < c->field_count; i++)
        if (policy_stands_at(&c->fields[i], doc_id, page))
            return &c->fields[i];
    return NULL;
}

static bool policy_check_evidence(const struct react *r, const struct json *doc, struct arena *a,
                                  struct react_proposal *p, struct err *e)
{
    const struct json_node *root = json_root(doc);
    str doc_id = STR("");
    int64_t page = -1;
    bool said = json_text(doc, json_find(doc, root, STR("evidence_doc_id")), a, &doc_id);

    assert(p->node && !p->field);
    said |= json_i64(doc, json_find(doc, root, STR("evidence_page")), &page);
    p->field = policy_evidence_at(r, doc_id, page);
    if (!said || p->field || (!doc_id.n && page < 0))
        return true;
    if (page < 0)
        return err_input(e,
                         "evidence_unknown: no fact of the case is in \"" STR_FMT "\"",
                         STR_ARG(str_slice(doc_id, 0, 60)));
    return err_input(e,
                     "evidence_unknown: no fact of the case is on page %lld of \"" STR_FMT "\"",
                     (long long)page,
                     STR_ARG(str_slice(doc_id, 0, 60)));
}

/* Whether a text contains another, ignoring white space, case and quotes. A match does not begin
 * with these: a long run of them would be read again from each of its characters. */
static bool policy_finish_contains_excerpt(str text, str excerpt)
{
    assert(excerpt.n <= EXCERPT_READ);
    for (size_t at = 0; at < text.n; at++) {
        size_t i = at, k = 0;

        if (policy_finish_is_blank(text.p[at]))
            continue;
        while (i < text.n && k < excerpt.n) {
            if (policy_finish_is_blank(text.p[i])) {
                i++;
            } else if (policy_finish_is_blank(excerpt.p[k])) {
                k++;
            } else if (char_to_lower(text.p[i++]) != char_to_lower(excerpt.p[k++])) {
                k = 0;
                break;
            }
        }
        while (k < excerpt.n && policy_finish_is_blank(excerpt.p[k]))
            k++;
        if (k == excerpt.n)
            return true;
    }
    return false;
}

/* An excerpt, where one is given, is of the fact or of the section: nothing is put in a mouth. */
static bool policy_check_excerpt(const struct json *doc, struct arena *a,
                                 const struct react_proposal *p, struct err *e)
{
    str text = STR(""), shown;

    assert(p->node);
    if (!json_text(doc, json_find(doc, json_root(doc), STR("text_excerpt")), a, &text) ||
        str_trim(text).n == 0)
        return true;
    text = str_slice(text, 0, EXCERPT_READ);
    if (policy_finish_contains_excerpt(p->node->text, text))
        return true;
    shown = p->field ? policy_fact_text(p->field, a) : STR("");
    if (p->field && (policy_finish_contains_excerpt(shown, text) ||
                     policy_finish_contains_excerpt(p->field->raw, text)))
        return true;
    return err_input(e,
                     "evidence_unknown: neither the section nor the fact has the words \"" STR_FMT
                     "\"",
                     STR_ARG(str_slice(text, 0, 60)));
}

/* ---- the proposal ---- */

static bool policy_check_citation(struct react *r, const struct json *doc, struct arena *a,
                                  struct react_proposal *p, struct err *e)
{
    str name = STR("");

    (void)!json_text(doc, json_find(doc, json_root(doc), STR("policy_section")), a, &name);
    if (!r->o->doc)
        return err_input(e,
                         "missing_policy_document_id: there is no policy to cite; the status can "
                         "only be uncertain");
    return policy_check_section(r, name, a, p, e) && policy_check_pages(r, doc, a, p, e);
}

bool react_check(struct react *r, str arguments, struct arena *a, struct react_proposal *out,
                 struct err *e)
{
    struct react_proposal none;
    const struct json_node *root;
    struct json doc;
    str status = STR("");
    bool ok;

    *out = (struct react_proposal){.rationale = STR(""), .status = POLICY_UNCERTAIN};
    ok = json_open(&doc, arguments, e);
    root = json_root(&doc);
    if (ok && json_text(&doc, json_find(&doc, root, STR("rationale")), a, &out->rationale))
        out->rationale = arena_dup(a, out->rationale);
    if (ok && !(json_text(&doc, json_find(&doc, root, STR("status")), a, &status) &&
                policy_status_find(status, &out->status)))
        ok = err_input(e, "invalid_status: status is met, missing or uncertain");
    if (ok && (!json_double(&doc, json_find(&doc, root, STR("confidence")), &out->confidence) ||
               !(out->confidence >= 0 && out->confidence <= 1)))
        ok = err_input(e, "invalid_confidence: confidence is a number from 0 to 1");
    none = *out;
    if (ok && out->status == POLICY_UNCERTAIN) {
        /* An uncertain verdict needs no citation; citations that cannot be found are dropped. */
        struct err ignored;

        if (!policy_check_citation(r, &doc, a, out, &ignored) ||
            !policy_check_evidence(r, &doc, a, out, &ignored))
            *out = none;
    } else if (ok) {
        ok = policy_check_citation(r, &doc, a, out, e) &&
             policy_check_evidence(r, &doc, a, out, e) && policy_check_excerpt(&doc, a, out, e);
    }
    json_release(&doc);
    return ok;
}

/* ---- the result ---- */

/* The best search that showed it, or something below it. */
static const struct react_seen *policy_finish_seen_of(const struct react *r,
                                                      const struct policy_node *n)
{
    const struct react_seen *best = NULL;

    assert(n + n->span <= r->o->doc->tree.nodes + r->o->doc->tree.node_count);
    for (uint32_t i = 0; i < n->span; i++) {
        const struct react_seen *s = &r->seen[n + i - r->o->doc->tree.nodes];

        if (s->shown && (!best || s->confidence > best->confidence))
            best = s;
    }
    return best;
}

static bool policy_holds_word(str text, str word)
{
    for (size_t i = 0; i + word.n <= text.n; i++)
        if (str_eq_nocase(str_slice(text, i, i + word.n), word))
            return true;
    return false;
}

/* The share of a name's words that the section contains, of its first LINK_WORDS_MAX. */
static double policy_words_held(const struct policy_node *n, str name)
{
    size_t held = 0, all = 0;

    while (name.n && all < LINK_WORDS_MAX) {
        str word = str_cut(&name, '_');
        if (!word.n)
            continue;
        all++;
        held += policy_holds_word(n->text, word) || policy_holds_word(n->title_path, word);
    }
    assert(held <= all);
    return all ? (double)held / (double)all : 0;
}

/* How strongly the section is linked to the case: by the words of the fact's name or of the
 * criterion. */
static double policy_finish_measure_link(const struct react *r, const struct react_proposal *p,
                                         struct arena *a)
{
    double by_criterion = policy_words_held(p->node, policy_key(a, r->o->criterion));
    double by_fact = p->field ? policy_words_held(p->node, p->field->key) : 0;

    return by_fact > by_criterion ? by_fact : by_criterion;
}

static bool policy_was_read(const struct react *r, const struct policy_field *f)
{
    for (size_t i = 0; i < r->fact_count; i++)
        if (r->facts[i] == f)
            return true;
    return false;
}

/* How well the evidence supports the verdict: for a fact that this run has read, its confidence
 * and the share of its name in the section. The verdict "missing" needs no fact. */
static double policy_span_of(const struct react *r, const struct react_proposal *p, double link)
{
    assert(p->node && link >= 0 && link <= 1);
    if (!p->field)
        return p->status == POLICY_MISSING ? UNSEEN_MISSING : UNSEEN_MET;
    return p->field->confidence * (policy_was_read(r, p->field) ? 1 : NOT_READ) *
           (LINK_FLOOR + (1 - LINK_FLOOR) * link);
}

/* c_final by status, and the model's own number as its ceiling: it can lower the confidence and
 * never raise it. */
static void policy_finish_limit_confidence(struct policy_result *out, double c_tree, double c_span,
                                           double own)
{
    assert(own >= 0 && own <= 1);
    policy_confide(out, c_tree, c_span);
    if (own >= out->c_final)
        return;
    out->c_final = policy_round(own);
    out->c_joint = out->confidence = policy_round(out->c_tree * out->c_span * out->c_final);
    if (out->confidence < POLICY_ABSTAIN && out->status != POLICY_UNCERTAIN) {
        out->status = POLICY_UNCERTAIN;
        out->reason_code = STR("low_confidence");
    }
}

void react_conclude(struct react *r, const struct react_proposal *p, struct arena *a,
                    struct policy_result *out)
{
    const struct react_seen *seen = p->node ? policy_finish_seen_of(r, p->node) : NULL;
    double c_tree = seen ? seen->confidence : 0, c_span = 0, link;

    out->status = p->status;
    out->rationale = arena_dup(a, p->rationale);
    out->reason_code = p->status == POLICY_UNCERTAIN ? STR("agent_uncertain") : STR("");
    if (p->node) {
        /* The search's confidence depends on the query's words; the section's own words about
         * the fact compensate for a poor query. */
        link = policy_finish_measure_link(r, p, a);
        c_tree += (1 - c_tree) * link;
        policy_result_cite(out, &r->o->doc->tree, p->node, a);
        out->citation.pages = p->pages;
        out->citation.page_count = p->page_count;
        c_span = policy_span_of(r, p, link);
    }
    if (seen && strcmp(seen->method, "bm25-fallback") != 0)
        out->retrieval_method = str_c(seen->method);
    if (p->field)
        policy_result_show(out, p->field, a);
    policy_finish_limit_confidence(out, c_tree, c_span, p->confidence);
}
