/* tools.c - the model's tools, one row each; remembers the texts that the model was shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/fact_tools.h"
#include "apps/policy/metrics.h"
#include "apps/policy/react_state.h"
#include "base/json_get.h"

#define SEARCH_TIMEOUT_MS 60000     /* of a search by a model, which takes several calls */
#define ARENA_MAX ((size_t)1 << 30) /* a large document is read whole */

/* One call of a tool. */
struct react_call {
    struct react *r;
    const struct json *doc;     /* its arguments */
    const _Atomic bool *cancel; /* true: the caller no longer waits for it */
    struct arena *a;
    struct json_out *o; /* the result */
    struct err *e;
};

static str policy_tools_text(const struct react_call *c, const char *name)
{
    return json_get_text(c->doc, json_root(c->doc), name, c->a);
}

static bool policy_tools_has_doc(const struct react_call *c)
{
    return c->r->o->doc || err_set(c->e,
                                   ERR_NOT_FOUND,
                                   "missing_policy_document_id: the case names no policy document, "
                                   "so there is nothing to search");
}

/* ---- texts that were shown ---- */

static void policy_tools_show(struct react *r, const struct policy_node *n, double confidence,
                              const char *method)
{
    struct react_seen *s = &r->seen[n - r->o->doc->tree.nodes];

    assert(n >= r->o->doc->tree.nodes && s < r->seen + r->o->doc->tree.node_count);
    pthread_mutex_lock(&r->lock);
    if (!s->shown || confidence > s->confidence) {
        s->confidence = confidence;
        s->method = method;
    }
    s->shown = true;
    pthread_mutex_unlock(&r->lock);
}

static void policy_tools_read_fact(struct react *r, str name)
{
    const struct policy_field *f = policy_fact(r->o->c, name);
    bool there = !f;

    pthread_mutex_lock(&r->lock);
    assert(r->fact_count <= REACT_FACTS_MAX);
    for (size_t i = 0; i < r->fact_count; i++)
        there |= r->facts[i] == f;
    if (!there && r->fact_count < REACT_FACTS_MAX)
        r->facts[r->fact_count++] = f;
    pthread_mutex_unlock(&r->lock);
}

/* ---- the tools ---- */

static const char *policy_tools_method(str name)
{
    static const char *const methods[] = {
        "bm25+reranker", "pageindex-llm", "pageindex-hybrid", "bm25-fallback"};

    for (size_t i = 0; i < COUNT_OF(methods); i++)
        if (str_eq(name, str_c(methods[i])))
            return methods[i];
    return methods[0];
}

struct picking {
    struct react *r;
    const _Atomic bool *cancel;
    bool failed;
};

static bool policy_tools_pick(void *ctx, str question, str tree_json, struct arena *a,
                              struct policy_ids *out, struct err *e)
{
    struct picking *p = ctx;
    struct react_search s = {question, p->cancel};
    bool ok = react_pick(p->r, &s, tree_json, a, out, e);

    p->failed |= !ok;
    return ok;
}

static bool policy_pi_search(const struct react_call *c)
{
    struct react *r = c->r;
    struct picking picking = {.r = r, .cancel = c->cancel};
    struct policy_pick pick = {policy_tools_pick, &picking};
    struct policy_hits *hits = arena_zero(c->a, 1, sizeof *hits);
    struct policy_question q;
    int64_t top_k = 0;

    if (!policy_tools_has_doc(c))
        return false;
    if (!json_i64(c->doc, json_find(c->doc, json_root(c->doc), STR("top_k")), &top_k) || top_k < 1)
        top_k = POLICY_TOP_K;
    q = (struct policy_question){.text = policy_tools_text(c, "query"),
                                 .top_k =
                                     (unsigned)(top_k < POLICY_TOP_MAX ? top_k : POLICY_TOP_MAX),
                                 .pick = r->o->search == CONFIG_SEARCH_MODEL ? &pick : NULL};
    if (!policy_search(r->o->doc, &q, c->a, hits, c->e))
        return err_prefix(c->e, "retrieval_error: ");
    if (picking.failed) {
        hits->method = "bm25-fallback";
        if (!hits->reason_code)
            hits->reason_code = "pageindex_error";
    }
    assert(hits->n <= POLICY_TOP_MAX && hits->method);
    for (size_t i = 0; i < hits->n; i++)
        policy_tools_show(r, hits->hits[i].node, hits->confidence, hits->method);
    policy_hits_json(hits, c->o);
    return true;
}

static bool facts_get(const struct react_call *c)
{
    str name = policy_tools_text(c, "field_name");

    policy_tools_read_fact(c->r, name);
    policy_fact_json(c->r->o->c, name, c->o);
    return true;
}

/* Only what the run was shown: an id that was guessed is no place to read. */
static bool policy_spans_tighten(const struct react_call *c)
{
    const struct policy_doc *d = c->r->o->doc;
    str id = policy_tools_text(c, "node_id");
    struct policy_spans *spans = arena_zero(c->a, 1, sizeof *spans);
    const struct policy_node *n;
    bool shown = false;

    if (!policy_tools_has_doc(c))
        return false;
    n = policy_node_find(&d->tree, id);
    if (n) {
        pthread_mutex_lock(&c->r->lock);
        shown = c->r->seen[n - d->tree.nodes].shown;
        pthread_mutex_unlock(&c->r->lock);
    }
    if (!shown)
        return err_input(c->e,
                         "node_not_retrieved: pi_search has not given the node \"" STR_FMT
                         "\" in this run; search first",
                         STR_ARG(str_slice(id, 0, 40)));
    assert(n >= d->tree.nodes && n < d->tree.nodes + d->tree.node_count);
    if (!policy_spans(d, n, policy_tools_text(c, "query"), c->a, spans, c->e))
        return err_prefix(c->e, "retrieval_error: ");
    policy_spans_json(n, spans, c->o);
    return true;
}

static bool policy_tools_find_references(const struct react_call *c)
{
    if (!policy_tools_has_doc(c))
        return false;
    policy_xref(c->r->o->doc, policy_tools_text(c, "criterion_id"), c->a, c->o);
    return true;
}

static bool policy_tools_find_version(const struct react_call *c)
{
    policy_temporal(c->r->o->docs,
                    c->r->o->doc_count,
                    policy_tools_text(c, "policy_id"),
                    policy_tools_text(c, "as_of_date"),
                    c->o);
    return true;
}

static bool policy_tools_score(const struct react_call *c)
{
    policy_confidence_score(c->doc, json_root(c->doc), c->a, c->o);
    return true;
}

static bool policy_tools_find_contradictions(const struct react_call *c)
{
    policy_contradictions(c->doc, json_root(c->doc), c->a, c->o);
    return true;
}

static bool policy_tools_check_codes(const struct react_call *c)
{
    str icd10 = policy_tools_text(c, "icd10"), cpt = policy_tools_text(c, "cpt");

    policy_codes(c->r->o->doc, icd10, cpt, c->a, c->o);
    return true;
}

static bool policy_tools_search_pubmed(const struct react_call *c)
{
    policy_pubmed(c->o);
    return true;
}

static bool policy_tools_finish(const struct react_call *c)
{
    struct react_proposal p;
    struct policy_result result;

    if (!react_check(c->r, c->doc->src, c->a, &p, c->e))
        return false;
    react_conclude(c->r, &p, c->a, &result);
    json_out_object(c->o);
    json_member_bool(c->o, "success", true);
    json_member_str(c->o, "status", str_c(policy_status_name(result.status)));
    json_member_str_or_null(c->o, "reason_code", result.reason_code);
    json_member_double(c->o, "confidence", result.confidence);
    json_out_end(c->o);
    return true;
}

/* ---- the rows ---- */

#define STRING "{\"type\":\"string\"}"
#define STRING_OR_NULL "{\"type\":[\"string\",\"null\"]}"
#define INTEGER_OR_NULL "{\"type\":[\"integer\",\"null\"]}"
#define OBJECT(properties, required)                                                               \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required                 \
    "],\"additionalProperties\":false}"

#define FINISH_CORE                                                                                \
    "\"status\":{\"type\":\"string\",\"enum\":[\"met\",\"missing\",\"uncertain\"]},"               \
    "\"rationale\":" STRING ",\"confidence\":{\"type\":\"number\"},"                               \
    "\"policy_section\":" STRING ",\"policy_pages\":{\"type\":\"array\",\"items\":{\"type\":"      \
    "\"integer\"}},"                                                                               \
    "\"evidence_doc_id\":" STRING_OR_NULL ",\"evidence_page\":" INTEGER_OR_NULL
#define FINISH_NEEDS "\"status\",\"rationale\",\"confidence\",\"policy_section\",\"policy_pages\""

#define SCORED                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"criterion_id\":" STRING_OR_NULL ",\"status\":" STRING  \
    ",\"confidence\":{\"type\":\"number\"}},"
#define STANCE                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"node_id\":" STRING_OR_NULL                             \
    ",\"snippet\":" STRING_OR_NULL ",\"stance\":{\"type\":\"string\",\"enum\":[\"support\","       \
    "\"oppose\",\"neutral\"]}},"
#define FINDINGS(needs)                                                                            \
    "\"findings\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"             \
    "\"criterion_id\":" STRING ",\"evidence\":{\"type\":\"array\",\"items\":" STANCE needs "}},"   \
    "\"required\":[\"criterion_id\",\"evidence\"],\"additionalProperties\":false}}"
#define CLOSED(required) "\"required\":[" required "],\"additionalProperties\":false}"

static const struct row {
    const char *name;
    bool (*run)(const struct react_call *c);
    unsigned flags, calls_a_min;
    const char *schema;  /* strict: all are required, optional members may be null */
    const char *accepts; /* members that may be null may be omitted; NULL: the same */
} rows[POLICY_TOOLS] = {
    {"pi_search",
     policy_pi_search,
     TOOL_CACHEABLE | TOOL_READ_ONLY,
     120,
     OBJECT("\"query\":" STRING ",\"top_k\":" INTEGER_OR_NULL, "\"query\",\"top_k\""),
     OBJECT("\"query\":" STRING ",\"top_k\":" INTEGER_OR_NULL, "\"query\"")},
    {"facts_get",
     facts_get,
     TOOL_CACHEABLE | TOOL_READ_ONLY | TOOL_PURE,
     0,
     OBJECT("\"field_name\":" STRING, "\"field_name\""),
     NULL},
    {"spans_tighten",
     policy_spans_tighten,
     TOOL_CACHEABLE | TOOL_READ_ONLY | TOOL_PURE,
     0,
     OBJECT("\"node_id\":" STRING ",\"query\":" STRING, "\"node_id\",\"query\""),
     NULL},
    {"finish",
     policy_tools_finish,
     TOOL_FINISH | TOOL_READ_ONLY | TOOL_PURE,
     0,
     OBJECT(FINISH_CORE, FINISH_NEEDS ",\"evidence_doc_id\",\"evidence_page\""),
     OBJECT(FINISH_CORE ",\"text_excerpt\":" STRING_OR_NULL, FINISH_NEEDS)},
    {"policy_xref",
     policy_tools_find_references,
     TOOL_CACHEABLE | TOOL_READ_ONLY | TOOL_PURE,
     0,
     OBJECT("\"criterion_id\":" STRING, "\"criterion_id\""),
     NULL},
    {"temporal_lookup",
     policy_tools_find_version,
     TOOL_CACHEABLE | TOOL_READ_ONLY | TOOL_PURE,
     0,
     OBJECT("\"policy_id\":" STRING ",\"as_of_date\":" STRING, "\"policy_id\",\"as_of_date\""),
     NULL},
    {"confidence_score",
     policy_tools_score,
     TOOL_CACHEABLE | TOOL_READ_ONLY | TOOL_PURE,
     0,
     OBJECT("\"criteria_results\":{\"type\":\"array\",\"items\":" SCORED CLOSED(
                "\"criterion_id\",\"status\",\"confidence\"") "}",
            "\"criteria_results\""),
     OBJECT("\"criteria_results\":{\"type\":\"array\",\"items\":" SCORED CLOSED(
                "\"status\",\"confidence\"") "}",
            "\"criteria_results\"")},
    {"contradiction_detector",
     policy_tools_find_contradictions,
     TOOL_CACHEABLE | TOOL_READ_ONLY | TOOL_PURE,
     0,
     OBJECT(FINDINGS(CLOSED("\"node_id\",\"snippet\",\"stance\"")), "\"findings\""),
     OBJECT(FINDINGS(CLOSED("\"stance\"")), "\"findings\"")},
    {"code_validator",
     policy_tools_check_codes,
     TOOL_CACHEABLE | TOOL_READ_ONLY | TOOL_PURE,
     0,
     OBJECT("\"icd10\":" STRING_OR_NULL ",\"cpt\":" STRING_OR_NULL, "\"icd10\",\"cpt\""),
     OBJECT("\"icd10\":" STRING_OR_NULL ",\"cpt\":" STRING_OR_NULL, "")},
    {"pubmed_search",
     policy_tools_search_pubmed,
     TOOL_CACHEABLE | TOOL_READ_ONLY | TOOL_PURE,
     30,
     OBJECT("\"condition\":" STRING ",\"treatment\":" STRING, "\"condition\",\"treatment\""),
     NULL},
};

int react_tool_place(str name)
{
    for (int i = 0; i < POLICY_TOOLS; i++)
        if (str_eq(name, str_c(rows[i].name)))
            return i;
    return -1;
}

const char *react_tool_name(int place)
{
    assert(place >= 0 && place < POLICY_TOOLS);
    return rows[place].name;
}

struct bound {
    struct react *r;
    const struct row *row;
};

static bool policy_tools_run_tool(void *ctx, const struct tool_call *call, struct buf *out,
                                  struct err *e)
{
    const struct bound *b = ctx;
    uint64_t began = clock_mono_ns(b->r->o->clock);
    struct json_out o;
    struct json doc;
    struct arena a;
    bool ok;

    assert(b->row >= rows && b->row < rows + POLICY_TOOLS);
    arena_init(&a, ARENA_MAX);
    json_out_init(&o, out);
    ok = json_open(&doc, call->arguments.n ? call->arguments : STR("{}"), e) &&
         b->row->run(&(struct react_call){b->r, &doc, call->cancel, &a, &o, e});
    arena_release(&a);
    json_release(&doc);
    if (b->r->o->metrics)
        policy_metrics_tool_took(
            b->r->o->metrics, (int)(b->row - rows), clock_mono_ns(b->r->o->clock) - began);
    return ok;
}

bool react_tools(struct react *r, struct err *e)
{
    struct bound *bound = arena_zero(&r->arena, POLICY_TOOLS, sizeof *bound);

    for (size_t i = 0; i < POLICY_TOOLS; i++) {
        bool by_model = r->o->search == CONFIG_SEARCH_MODEL && rows[i].run == policy_pi_search;
        unsigned quick = r->o->search == CONFIG_SEARCH_MODEL ? 0 : TOOL_PURE;
        struct tool t = {.name = str_c(rows[i].name),
                         .description =
                             prompt_text(r->o->prompt, &policy_built_in, rows[i].name, &r->arena),
                         .schema = str_c(rows[i].schema),
                         .accepts = str_c(rows[i].accepts),
                         .server = STR("policy"),
                         .flags = rows[i].flags | TOOL_SAYS_STRICT | quick,
                         .timeout_ms = by_model ? SEARCH_TIMEOUT_MS : 0,
                         .retries = 1,
                         .calls_a_min = rows[i].calls_a_min,
                         .run = policy_tools_run_tool};

        bound[i] = (struct bound){r, &rows[i]};
        t.ctx = &bound[i];
        if (!toolbox_add(r->box, &t, e))
            return false;
    }
    return true;
}

/* ---- after a restart ---- */

/* A search whose answer is in the log is not repeated; the answer contains the nodes it showed. */
static void policy_tools_prime_search(struct react *r, const struct json *doc, struct arena *a)
{
    const struct json_node *root = json_root(doc), *nodes = json_find(doc, root, STR("nodes"));
    double confidence = 0;

    (void)!json_double(doc, json_find(doc, root, STR("confidence")), &confidence);
    JSON_FOREACH(v, doc, nodes) {
        const struct policy_node *n =
            policy_node_find(&r->o->doc->tree, json_get_text(doc, v, "node_id", a));

        if (n)
            policy_tools_show(r,
                              n,
                              confidence,
                              policy_tools_method(json_get_text(doc, root, "retrieval_method", a)));
    }
}

static void policy_tools_prime_one(struct react *r, const struct agent_effect *f)
{
    struct json doc;
    struct arena a;
    struct err e;

    if (!str_eq(f->kind, STR("tool")) || f->state != AGENT_DONE || f->failed)
        return;
    json_init(&doc);
    arena_init(&a, ARENA_MAX);
    if (str_eq(f->name, STR("pi_search")) && r->o->doc && json_parse(&doc, f->result, &e))
        policy_tools_prime_search(r, &doc, &a);
    if (str_eq(f->name, STR("facts_get")) && json_parse(&doc, f->request, &e))
        policy_tools_read_fact(r, json_get_text(&doc, json_root(&doc), "field_name", &a));
    arena_release(&a);
    json_release(&doc);
}

bool react_prime(struct react *r, struct err *e)
{
    struct agent_effect *list;
    size_t n = 0;

    if (!r->o->log)
        return true;
    if (!agent_log_read(r->o->log, r->o->run, &r->arena, &list, &n, e))
        return false;
    for (size_t i = 0; i < n; i++)
        policy_tools_prime_one(r, &list[i]);
    return true;
}
