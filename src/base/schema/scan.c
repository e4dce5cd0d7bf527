/* Documents, and the resources and anchors in them.
 *
 * A document is scanned once: wherever a keyword holds a schema, $id begins a resource and $anchor
 * or $dynamicAnchor names a place in it. All of them go into the table by absolute URI. Other
 * values (of enum, of unknown keywords) are not scanned, so an $id in them has no effect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema/internal.h"

#define VOCABULARY SCHEMA_DRAFT_BASE "vocab/"

struct scan {
    struct schema *s;
    struct schema_doc *doc;
    struct err *e;
};

static bool scan_wrong(const struct scan *c, const struct json_node *at, const char *what)
{
    return schema_wrong(c->e, c->doc, at, "%s", what);
}

static const struct json_node *schema_scan_member(const struct scan *c, const struct json_node *v,
                                                  const char *name)
{
    return json_find(&c->doc->json, v, str_c(name));
}

/* The text of a string member; false if the member exists and is not a string. *out is empty if it
 * is absent. */
static bool schema_text_member(const struct scan *c, const struct json_node *v, const char *name,
                               str *out)
{
    const struct json_node *value = schema_scan_member(c, v, name);

    *out = STR("");
    if (!value)
        return true;
    if (value->kind != JSON_STRING)
        return scan_wrong(c, value, "must be a string");
    return json_text(&c->doc->json, value, &c->s->arena, out);
}

static bool schema_anchor_add(const struct scan *c, struct schema_resource *r,
                              const struct json_node *at, str name, bool dynamic)
{
    str key;

    assert(r->doc == c->doc);
    if (!schema_spend(c->s, r->uri.n + name.n + 100, c->e))
        return false;
    key = arena_printf(&c->s->arena, STR_FMT "#" STR_FMT, STR_ARG(r->uri), STR_ARG(name));
    if (!schema_entry_add(c->s, key, c->doc, at, dynamic))
        return scan_wrong(c, at, "has an anchor that another schema already has");
    if (dynamic) {
        struct schema_anchor *a = arena_zero(&c->s->arena, 1, sizeof *a);

        *a = (struct schema_anchor){.name = name, .at = at, .next = r->dynamic};
        r->dynamic = a;
    }
    return true;
}

static bool scan_anchors(const struct scan *c, struct schema_resource *r,
                         const struct json_node *at)
{
    const struct json_node *recursive = schema_scan_member(c, at, "$recursiveAnchor");
    str plain, dynamic;

    if (r->draft & SCHEMA_DRAFT_OLD)
        return true;
    if (!schema_text_member(c, at, "$anchor", &plain) ||
        !schema_text_member(c, at, "$dynamicAnchor", &dynamic))
        return false;
    if (plain.n > 0 && !str_eq(plain, dynamic) && !schema_anchor_add(c, r, at, plain, false))
        return false;
    /* 2019-09: at most one a resource, and it has no name. */
    if (r->draft == SCHEMA_DRAFT_2019 && recursive && recursive->kind == JSON_TRUE)
        return schema_anchor_add(c, r, at, STR(""), true);
    return dynamic.n == 0 || schema_anchor_add(c, r, at, dynamic, true);
}

/* The vocabularies of a metaschema we were given. One that we were not is taken to have them all.
 */
static bool schema_read_vocabularies(const struct scan *c, struct schema_resource *r, str uri)
{
    static const struct {
        const char *uri;
        unsigned vocabulary;
    } known[] = {
        {VOCABULARY "core", SCHEMA_CORE},
        {VOCABULARY "applicator", SCHEMA_APPLICATOR},
        {VOCABULARY "unevaluated", SCHEMA_UNEVALUATED},
        {VOCABULARY "validation", SCHEMA_VALIDATION},
        {VOCABULARY "meta-data", 0},
        {VOCABULARY "format-annotation", 0},
        {VOCABULARY "content", 0},
    };
    const struct schema_entry *meta = schema_entry_find(c->s, uri);
    const struct json *doc = meta ? &meta->doc->json : NULL;
    const struct json_node *list = meta ? json_find(doc, meta->at, STR("$vocabulary")) : NULL;

    if (!list || list->kind != JSON_OBJECT)
        return true;
    r->vocabularies = SCHEMA_CORE;
    JSON_FOREACH(k, doc, list) {
        size_t i = 0;

        while (i < COUNT_OF(known) && !json_is(doc, k, str_c(known[i].uri)))
            i++;
        if (i < COUNT_OF(known))
            r->vocabularies |= known[i].vocabulary;
        else if (json_value(k)->kind == JSON_TRUE)
            return schema_wrong(c->e, meta->doc, json_value(k), "needs an unknown vocabulary");
    }
    return true;
}

/* Which draft and which vocabularies a $schema asks for. */
static bool schema_read_dialect(const struct scan *c, struct schema_resource *r,
                                const struct json_node *at)
{
    static const struct {
        const char *uri;
        enum schema_draft draft;
    } drafts[] = {
        {"json-schema.org/draft-04/", SCHEMA_DRAFT_4},
        {"json-schema.org/draft-06/", SCHEMA_DRAFT_6},
        {"json-schema.org/draft-07/", SCHEMA_DRAFT_7},
        {"json-schema.org/draft/2019-09/", SCHEMA_DRAFT_2019},
        {"json-schema.org/draft/2020-12/", SCHEMA_DRAFT_2020},
    };
    str uri;

    if (!schema_text_member(c, at, "$schema", &uri))
        return false;
    if (uri.n == 0)
        return true;
    r->draft = SCHEMA_DRAFT_2020;
    r->vocabularies = SCHEMA_VOCABULARY_ALL;
    for (size_t i = 0; i < COUNT_OF(drafts); i++)
        if (str_find(uri, str_c(drafts[i].uri)) != STR_NONE) {
            r->draft = drafts[i].draft;
            return true;
        }
    if (str_find(uri, STR("json-schema.org/draft-0")) != STR_NONE)
        return scan_wrong(c, schema_scan_member(c, at, "$schema"), "names a draft older than 4");
    if (str_ends(uri, STR("#")))
        uri.n--;
    return schema_read_vocabularies(c, r, uri);
}

/* The $id of a schema: "" if it has none, or if it does not count. */
static bool schema_scan_read_id(const struct scan *c, const struct schema_resource *outer,
                                const struct json_node *at, str *out)
{
    enum schema_draft draft = outer->draft;

    *out = STR("");
    if ((draft & SCHEMA_DRAFT_OLD) && schema_scan_member(c, at, "$ref"))
        return true; /* these drafts ignore keywords beside a $ref */
    return schema_text_member(c, at, draft == SCHEMA_DRAFT_4 ? "id" : "$id", out);
}

static struct schema_resource *schema_resource_new(struct schema *s, struct schema_doc *doc,
                                                   const struct schema_resource *like, str uri)
{
    struct schema_resource *r = arena_zero(&s->arena, 1, sizeof *r);

    *r = (struct schema_resource){
        .uri = arena_dup(&s->arena, uri),
        .doc = doc,
        .draft = like ? like->draft : SCHEMA_DRAFT_UNSAID,
        .vocabularies = like ? like->vocabularies : SCHEMA_VOCABULARY_ALL,
        .next = doc->resources,
    };
    assert(!like || like->doc == doc);
    doc->resources = r;
    return r;
}

/* Begins a resource at a schema that has an $id. Older drafts also named anchors that way. */
static bool scan_id(const struct scan *c, const struct json_node *at, str id,
                    const struct schema_resource *own, struct schema_resource **r)
{
    size_t hash_at = str_find(id, STR("#"));
    bool anchors = own->draft & (SCHEMA_DRAFT_OLD | SCHEMA_DRAFT_UNSAID);
    struct buf uri;
    bool ok = false;

    assert(id.n > 0 && (*r)->doc == c->doc);
    if (hash_at == 0 && anchors)
        return id.n < 2 || id.p[1] == '/' ||
               schema_anchor_add(c, *r, at, str_slice(id, 1, id.n), false);
    if (hash_at != STR_NONE && hash_at + 1 < id.n && !anchors)
        return scan_wrong(c, at, "has an $id with a fragment; use $anchor");
    buf_init(&uri, SCHEMA_URI_MAX);
    if (!schema_uri_resolve((*r)->uri, str_slice(id, 0, hash_at), &uri, c->e))
        goto out;
    if (!schema_spend(c->s, uri.n + 200, c->e))
        goto out;
    *r = schema_resource_new(c->s, c->doc, own, buf_str(&uri));
    ok = schema_entry_add(c->s, (*r)->uri, c->doc, at, false) ||
         scan_wrong(c, at, "has an $id that another schema already has");
out:
    buf_release(&uri);
    return ok;
}

static bool scan_schema(const struct scan *c, const struct json_node *at,
                        struct schema_resource *r);

/* Each schema in a keyword's value that is an array, or an object of named schemas. */
static bool scan_list(const struct scan *c, const struct json_node *v, struct schema_resource *r)
{
    const struct json *doc = &c->doc->json;

    JSON_FOREACH(i, doc, v) {
        const struct json_node *value = v->kind == JSON_OBJECT ? json_value(i) : i;

        if (!scan_schema(c, value, r))
            return false;
    }
    return true;
}

static bool scan_keyword(const struct scan *c, const struct schema_keyword *k,
                         const struct json_node *v, struct schema_resource *r)
{
    switch (k->holds) {
    case SCHEMA_HOLDS_NONE:
        return true;
    case SCHEMA_HOLDS_ONE:
        return scan_schema(c, v, r);
    case SCHEMA_HOLDS_LIST:
        return v->kind != JSON_ARRAY || scan_list(c, v, r);
    case SCHEMA_HOLDS_MAP:
        return v->kind != JSON_OBJECT || scan_list(c, v, r);
    case SCHEMA_HOLDS_ITEMS:
        return v->kind == JSON_ARRAY ? scan_list(c, v, r) : scan_schema(c, v, r);
    }
    return true;
}

static bool scan_schema(const struct scan *c, const struct json_node *at, struct schema_resource *r)
{
    const struct json *doc = &c->doc->json;
    struct schema_slot *slot = &c->doc->slots[at - doc->nodes];
    struct schema_resource own = *r;
    str id;

    assert(at >= doc->nodes && at < doc->nodes + doc->n);
    if (slot->resource)
        return true;
    slot->resource = r;
    if (at->kind != JSON_OBJECT)
        return true;
    if (!schema_spend(c->s, 16, c->e))
        return false;
    /* $schema counts only where a resource begins, but decides what its $id is called. */
    if (!schema_read_dialect(c, &own, at) || !schema_scan_read_id(c, &own, at, &id))
        return false;
    if (at == json_root(doc)) {
        r->draft = own.draft;
        r->vocabularies = own.vocabularies;
    }
    if (id.n > 0 && !scan_id(c, at, id, &own, &r))
        return false;
    slot->resource = r;
    if (!scan_anchors(c, r, at))
        return false;
    JSON_FOREACH(k, doc, at) {
        const struct schema_keyword *keyword = schema_keyword_find(r, doc, k);

        if (keyword && !scan_keyword(c, keyword, json_value(k), r))
            return false;
    }
    return true;
}

bool schema_doc_new(struct schema *s, str uri, str text, struct schema_doc **out, struct err *e)
{
    struct schema_doc *doc;

    assert(s->text_size <= SCHEMA_SIZE_MAX);
    if (text.n > SCHEMA_SIZE_MAX - s->text_size)
        return err_set(e, ERR_LIMIT, "schemas of more than %zu bytes", SCHEMA_SIZE_MAX);
    if (schema_entry_find(s, uri))
        return err_input(e, "schema: " STR_FMT " is there twice", STR_ARG(uri));
    s->text_size += text.n;
    doc = arena_zero(&s->arena, 1, sizeof *doc);
    doc->uri = arena_dup(&s->arena, uri);
    if (!json_open(&doc->json, arena_dup(&s->arena, text), e)) {
        json_release(&doc->json);
        return err_prefix(e, "schema: ");
    }
    doc->slots = arena_zero(&s->arena, doc->json.n, sizeof *doc->slots);
    doc->next = s->docs;
    s->docs = doc;
    *out = doc;
    return schema_entry_add(s, doc->uri, doc, json_root(&doc->json), false);
}

bool schema_doc_scan(struct schema *s, struct schema_doc *doc, struct err *e)
{
    struct scan c = {s, doc, e};

    return scan_schema(&c, json_root(&doc->json), schema_resource_new(s, doc, NULL, doc->uri));
}

bool schema_place_scan(struct schema *s, struct schema_doc *doc, const struct json_node *at,
                       struct schema_resource *around, struct err *e)
{
    struct scan c = {s, doc, e};

    assert(around->doc == doc);
    return scan_schema(&c, at, around);
}
