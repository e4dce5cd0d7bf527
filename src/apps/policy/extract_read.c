/* extract_read.c - what a model proposes, held against the text. See extract.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/extract.h"

#include "apps/policy/passage.h"
#include "base/json_get.h"
#include "base/utf8.h"

#define NAME_MAX_BYTES 200
#define VALUE_MAX_BYTES 4000

const char *policy_dropped_name(enum policy_dropped d)
{
    return NAME_OF(d,
                   [POLICY_DROPPED_QUOTE] = "quote_not_found",
                   [POLICY_DROPPED_INVALID] = "invalid",
                   [POLICY_DROPPED_DUPLICATE] = "duplicate",
                   [POLICY_DROPPED_OVER] = "over_the_limit");
}

static str extract_text(const struct json *doc, const struct json_node *v, const char *name,
                        struct arena *a)
{
    return str_trim(json_copy_text(doc, v, name, a));
}

static void extract_add(struct policy_extracted *out, const struct policy_proposal *p)
{
    assert(out->n <= POLICY_EXTRACT_MAX);
    for (size_t i = 0; i < out->n; i++)
        if (str_eq(out->list[i].name, p->name) && str_eq(out->list[i].node_id, p->node_id) &&
            out->list[i].start == p->start) {
            out->dropped[POLICY_DROPPED_DUPLICATE]++;
            return;
        }
    if (out->n == POLICY_EXTRACT_MAX)
        out->dropped[POLICY_DROPPED_OVER]++;
    else
        out->list[out->n++] = *p;
}

/* ---- criteria ---- */

/* Finds the quote in the section that the model names, or else anywhere. */
static const struct policy_node *extract_quoted(const struct policy_tree *t, str section, str quote,
                                                size_t *from, size_t *to)
{
    const struct policy_node *named = policy_node_find(t, section);

    named = named ? named : policy_node_titled(t, section);
    if (named && policy_quote_find(named->text, quote, from, to))
        return named;
    for (size_t i = 0; i < t->node_count; i++)
        if (policy_quote_find(t->nodes[i].text, quote, from, to))
            return &t->nodes[i];
    return NULL;
}

static void extract_criterion(const struct policy_extract_ask *q, const struct json *doc,
                              const struct json_node *v, struct arena *a,
                              struct policy_extracted *out)
{
    struct policy_proposal p = {.kind = STR("criterion"),
                                .document_id = q->doc->id,
                                .version = policy_doc_version(q->doc),
                                .case_id = STR(""),
                                .name = extract_text(doc, v, "criterion_id", a),
                                .value = STR(""),
                                .confidence = 1};
    const struct policy_node *n;
    size_t from, to;

    if (!p.name.n || p.name.n > NAME_MAX_BYTES) {
        out->dropped[POLICY_DROPPED_INVALID]++;
        return;
    }
    n = extract_quoted(&q->doc->tree,
                       extract_text(doc, v, "section", a),
                       extract_text(doc, v, "quote", a),
                       &from,
                       &to);
    if (!n) {
        out->dropped[POLICY_DROPPED_QUOTE]++;
        return;
    }
    p.quote = str_slice(n->text, from, to);
    p.node_id = n->node_id;
    p.section = n->title_path;
    p.page = policy_page_at(n, from);
    p.start = (int64_t)utf8_count(str_slice(n->text, 0, from));
    p.end = p.start + (int64_t)utf8_count(p.quote);
    extract_add(out, &p);
}

/* ---- facts ---- */

/* The page that a marker "<!-- page N -->" before the place begins. */
static uint32_t extract_page(str text, size_t at)
{
    uint32_t page = 1;
    size_t found, from = 0;

    assert(at <= text.n);
    while ((found = str_find(str_slice(text, from, at), STR("<!-- page "))) != STR_NONE) {
        str rest = str_slice(text, from + found + 10, text.n);
        size_t end = str_find(rest, STR(" "));
        uint64_t n;

        if (end != STR_NONE && str_u64(str_slice(rest, 0, end), &n) && n >= 1 &&
            n <= POLICY_PAGE_MAX)
            page = (uint32_t)n;
        from += found + 10;
    }
    return page;
}

static void extract_fact(const struct policy_extract_ask *q, const struct json *doc,
                         const struct json_node *v, struct arena *a, struct policy_extracted *out)
{
    const struct json_node *value = json_find(doc, v, STR("value"));
    struct policy_proposal p = {.kind = STR("fact"),
                                .document_id = q->doc_id,
                                .version = STR(""),
                                .case_id = q->case_id,
                                .name = extract_text(doc, v, "name", a),
                                .node_id = STR(""),
                                .section = STR(""),
                                .confidence = 0.8};
    size_t from, to;

    if (!p.name.n || p.name.n > NAME_MAX_BYTES || !value || value->kind == JSON_NULL ||
        value->kind >= JSON_ARRAY || value->size > VALUE_MAX_BYTES) {
        out->dropped[POLICY_DROPPED_INVALID]++;
        return;
    }
    if (!policy_quote_find(q->text, extract_text(doc, v, "quote", a), &from, &to)) {
        out->dropped[POLICY_DROPPED_QUOTE]++;
        return;
    }
    (void)!json_double(doc, json_find(doc, v, STR("confidence")), &p.confidence);
    p.confidence = p.confidence >= 0 && p.confidence <= 1 ? p.confidence : 0.8;
    p.value = arena_dup(a, json_raw(doc, value));
    p.quote = str_slice(q->text, from, to);
    p.page = extract_page(q->text, from);
    p.start = (int64_t)utf8_count(str_slice(q->text, 0, from));
    p.end = p.start + (int64_t)utf8_count(p.quote);
    extract_add(out, &p);
}

/* The text from the first brace to the last, without words and fences around the object. */
static str extract_object(str reply)
{
    size_t from = str_find(reply, STR("{")), to = str_find_last(reply, '}') + 1;

    return from != STR_NONE && from < to ? str_slice(reply, from, to) : STR("");
}

bool policy_extract_read(const struct policy_extract_ask *q, str reply, struct arena *a,
                         struct policy_extracted *out, struct err *e)
{
    const char *name = q->kind == POLICY_EXTRACT_CRITERIA ? "criteria" : "facts";
    const struct json_node *list;
    struct json doc;
    bool ok;

    json_init(&doc);
    reply = extract_object(reply);
    ok = (reply.n || err_input(e, "there is no JSON object in it")) && json_parse(&doc, reply, e);
    if (ok) {
        list = json_find(&doc, json_root(&doc), str_c(name));
        ok = (list && list->kind == JSON_ARRAY) ||
             err_input(e, "the object has no list \"%s\"", name);
        JSON_FOREACH(v, &doc, ok ? list : NULL) {
            if (v->kind != JSON_OBJECT)
                out->dropped[POLICY_DROPPED_INVALID]++;
            else if (q->kind == POLICY_EXTRACT_CRITERIA)
                extract_criterion(q, &doc, v, a, out);
            else
                extract_fact(q, &doc, v, a, out);
        }
    }
    json_release(&doc);
    return ok;
}
