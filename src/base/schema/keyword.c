/* The keywords: one row each, and what each makes of its value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema/internal.h"

#define BIT(kind) (1u << (kind))
#define ANY_KIND 0x7fu
#define NUMBER BIT(JSON_NUMBER)
#define STRING BIT(JSON_STRING)
#define ARRAY BIT(JSON_ARRAY)
#define OBJECT BIT(JSON_OBJECT)

static const struct json *schema_keyword_doc_of(const struct schema_part *p)
{
    return &p->node->resource->doc->json;
}

static bool schema_keyword_wrong(const struct schema_part *p, const char *must, struct err *e)
{
    return schema_wrong(e, p->node->resource->doc, p->value, "%s", must);
}

static void *schema_keyword_alloc_zero(const struct schema_part *p, size_t n, size_t size)
{
    return arena_zero(&p->s->arena, n, size);
}

static bool schema_keyword_get_subschema(const struct schema_part *p, const struct json_node *at,
                                         struct schema_node **out, struct err *e)
{
    assert(at >= p->value && at < p->value + p->value->span);
    return schema_node_get(p->s, p->node->resource->doc, at, out, e);
}

/* ---- assertions ---- */

static unsigned schema_type_bit(const struct json *doc, const struct json_node *v)
{
    static const struct {
        const char *name;
        unsigned bits;
    } types[] = {
        {"null", BIT(JSON_NULL)},
        {"boolean", BIT(JSON_TRUE) | BIT(JSON_FALSE)},
        {"number", NUMBER},
        {"integer", SCHEMA_TYPE_INTEGER},
        {"string", STRING},
        {"array", ARRAY},
        {"object", OBJECT},
    };

    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (json_is(doc, v, str_c(types[i].name)))
            return types[i].bits;
    return 0;
}

static bool schema_make_type(struct schema_part *p, struct err *e)
{
    const char *must = "must be null, boolean, number, integer, string, array or object, or an "
                       "array of these names";
    const struct json *doc = schema_keyword_doc_of(p);

    assert(p->rule->op == SCHEMA_OP_TYPE);
    p->rule->types = schema_type_bit(doc, p->value);
    JSON_FOREACH_ITEM(i, doc, p->value) {
        unsigned bit = schema_type_bit(doc, i);

        if (!bit)
            return schema_keyword_wrong(p, must, e);
        p->rule->types |= bit;
    }
    p->rule->ready = true;
    return p->rule->types != 0 || schema_keyword_wrong(p, must, e);
}

static bool schema_make_values(struct schema_part *p, const struct json_node *first, size_t n,
                               struct err *e)
{
    const struct json *doc = schema_keyword_doc_of(p);
    struct schema_rule *r = p->rule;
    const struct json_node *v = first;

    if (!schema_spend(p->s, n * 16 + p->value->span, e))
        return false;
    r->values = schema_keyword_alloc_zero(p, n, sizeof *r->values);
    r->hashes = schema_keyword_alloc_zero(p, n, sizeof *r->hashes);
    for (size_t i = 0; i < n; i++, v = v + v->span) {
        r->values[i] = v;
        r->hashes[i] = schema_hash(doc, v);
    }
    assert(n == 0 || (first >= p->value && v <= p->value + p->value->span));
    r->count = n;
    r->ready = true;
    return true;
}

static bool schema_make_const(struct schema_part *p, struct err *e)
{
    return schema_make_values(p, p->value, 1, e);
}

static bool schema_make_enum(struct schema_part *p, struct err *e)
{
    if (p->value->kind != JSON_ARRAY)
        return schema_keyword_wrong(p, "must be an array of values", e);
    return schema_make_values(p,
                              json_first(schema_keyword_doc_of(p), p->value),
                              json_count(schema_keyword_doc_of(p), p->value),
                              e);
}

static bool schema_make_number(struct schema_part *p, struct err *e)
{
    if (p->value->kind != JSON_NUMBER)
        return schema_keyword_wrong(p, "must be a number", e);
    schema_decimal_read(&p->rule->number, json_raw(schema_keyword_doc_of(p), p->value));
    p->rule->ready = true;
    return true;
}

static bool schema_make_multiple(struct schema_part *p, struct err *e)
{
    assert(p->rule->op == SCHEMA_OP_MULTIPLE);
    if (!schema_make_number(p, e))
        return false;
    if (p->rule->number.negative || p->rule->number.count == 0)
        return schema_keyword_wrong(p, "must be greater than 0", e);
    if (p->rule->number.count > SCHEMA_DIVISOR_DIGITS_MAX)
        return schema_keyword_wrong(p, "must have no more than 18 digits", e);
    return true;
}

/* In draft 4 these were true or false and changed what minimum and maximum mean. */
static bool schema_make_exclusive(struct schema_part *p, struct err *e)
{
    assert(p->rule->op == SCHEMA_OP_MINIMUM || p->rule->op == SCHEMA_OP_MAXIMUM);
    p->rule->exclusive = p->value->kind == JSON_TRUE;
    return p->rule->exclusive || p->value->kind == JSON_FALSE ||
           schema_keyword_wrong(p, "must be a boolean", e);
}

static bool schema_keyword_read_count(const struct schema_part *p, uint64_t *out, struct err *e)
{
    struct schema_decimal d;

    if (p->value->kind == JSON_NUMBER) {
        schema_decimal_read(&d, json_raw(schema_keyword_doc_of(p), p->value));
        if (schema_decimal_count(&d, out))
            return true;
    }
    return schema_keyword_wrong(p, "must be a whole number, 0 or more", e);
}

static bool schema_make_least(struct schema_part *p, struct err *e)
{
    p->rule->ready = true;
    return schema_keyword_read_count(p, &p->rule->min, e);
}

static bool schema_make_most(struct schema_part *p, struct err *e)
{
    p->rule->ready = true;
    return schema_keyword_read_count(p, &p->rule->max, e);
}

static bool schema_make_regex(const struct schema_part *p, str pattern, struct schema_regex **out,
                              struct err *e)
{
    struct err why;
    struct schema_regex *r;

    if (!schema_regex_new(pattern, &r, &why)) {
        schema_wrong(e, p->node->resource->doc, p->value, "%s", why.text);
        e->code = why.code;
        return false;
    }
    schema_keep_regex(p->s, r);
    *out = r;
    return schema_spend(p->s, schema_regex_size(r) + 64, e);
}

static bool schema_make_pattern(struct schema_part *p, struct err *e)
{
    str text;

    if (!json_text(schema_keyword_doc_of(p), p->value, &p->s->arena, &text))
        return schema_keyword_wrong(p, "must be a string", e);
    p->rule->ready = true;
    return schema_make_regex(p, text, &p->rule->regex, e);
}

static bool schema_make_unique(struct schema_part *p, struct err *e)
{
    p->rule->ready = p->value->kind == JSON_TRUE;
    return p->rule->ready || p->value->kind == JSON_FALSE ||
           schema_keyword_wrong(p, "must be a boolean", e);
}

/* An array of strings. */
static bool schema_read_names(const struct schema_part *p, const struct json_node *v, str **out,
                              size_t *n, struct err *e)
{
    const struct json *doc = schema_keyword_doc_of(p);
    str *names;
    size_t i = 0;

    *n = json_count(doc, v);
    if (v->kind != JSON_ARRAY)
        return schema_wrong(e, p->node->resource->doc, v, "must be an array of strings");
    if (!schema_spend(p->s, *n * sizeof *names, e))
        return false;
    names = schema_keyword_alloc_zero(p, *n, sizeof *names);
    for (const struct json_node *k = json_first(doc, v); k; k = json_next(doc, v, k), i++)
        if (!json_text(doc, k, &p->s->arena, &names[i]))
            return schema_wrong(e, p->node->resource->doc, k, "must be a string");
    assert(i == *n);
    *out = names;
    return true;
}

static bool schema_make_required(struct schema_part *p, struct err *e)
{
    /* Draft 3 had it as a boolean inside the property, and many still write it so. */
    if (p->value->kind == JSON_TRUE || p->value->kind == JSON_FALSE)
        return schema_keyword_wrong(
            p, "must be an array of strings, beside properties and not inside one", e);
    p->rule->ready = true;
    return schema_read_names(p, p->value, &p->rule->names, &p->rule->count, e);
}

/* ---- maps from names ---- */

static int schema_named_cmp(const void *a, const void *b)
{
    const struct schema_named *x = a, *y = b;
    int c = str_cmp(x->name, y->name);

    return c ? c : (x->at > y->at) - (x->at < y->at);
}

/* Sorts by name and keeps the last of equal names; returns how many are left. */
static size_t schema_named_sort(struct schema_named *named, size_t n)
{
    size_t kept = 0;

    qsort(named, n, sizeof *named, schema_named_cmp);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !str_eq(named[i].name, named[i + 1].name))
            named[kept++] = named[i];
    assert(kept <= n && !kept == !n);
    return kept;
}

/* An object's names, sorted, with the places of their values. */
static bool schema_read_map(const struct schema_part *p, struct schema_named **out, size_t *n,
                            struct err *e)
{
    const struct json *doc = schema_keyword_doc_of(p);
    struct schema_named *named;
    size_t i = 0;

    *out = NULL;
    *n = json_count(doc, p->value);
    if (p->value->kind != JSON_OBJECT)
        return schema_keyword_wrong(p, "must be an object", e);
    if (!schema_spend(p->s, *n * sizeof *named, e))
        return false;
    named = schema_keyword_alloc_zero(p, *n, sizeof *named);
    for (const struct json_node *k = json_first(doc, p->value); k;
         k = json_next(doc, p->value, k), i++) {
        named[i].at = json_value(k);
        if (!json_text(doc, k, &p->s->arena, &named[i].name))
            return false;
    }
    assert(i == *n);
    *n = schema_named_sort(named, *n);
    *out = named;
    return true;
}

static bool schema_read_schema_map(const struct schema_part *p, struct schema_named **out,
                                   size_t *n, struct err *e)
{
    if (!schema_read_map(p, out, n, e))
        return false;
    assert(*n == 0 || *out);
    for (size_t i = 0; i < *n; i++)
        if (!schema_keyword_get_subschema(p, (*out)[i].at, &(*out)[i].node, e))
            return false;
    return true;
}

static bool schema_make_properties(struct schema_part *p, struct err *e)
{
    p->rule->ready = true;
    return schema_read_schema_map(p, &p->rule->named, &p->rule->count, e);
}

static bool schema_make_patterns(struct schema_part *p, struct err *e)
{
    struct schema_rule *r = p->rule;

    r->ready = true;
    if (!schema_read_schema_map(p, &r->patterns, &r->pattern_count, e))
        return false;
    for (size_t i = 0; i < r->pattern_count; i++)
        if (!schema_make_regex(p, r->patterns[i].name, &r->patterns[i].regex, e))
            return false;
    return true;
}

static bool schema_make_needs(struct schema_part *p, struct err *e)
{
    struct schema_rule *r = p->rule;

    r->ready = true;
    if (!schema_read_map(p, &r->named, &r->count, e))
        return false;
    for (size_t i = 0; i < r->count; i++)
        if (!schema_read_names(p, r->named[i].at, &r->named[i].needs, &r->named[i].need_count, e))
            return false;
    return true;
}

/* Before 2019-09: both of the above in one keyword. A list of names is stored; it has no schema. */
static bool schema_make_dependencies(struct schema_part *p, struct err *e)
{
    struct schema_rule *r = p->rule;

    r->ready = true;
    if (!schema_read_map(p, &r->named, &r->count, e))
        return false;
    for (size_t i = 0; i < r->count; i++) {
        struct schema_named *d = &r->named[i];

        if (d->at->kind != JSON_ARRAY ? !schema_keyword_get_subschema(p, d->at, &d->node, e)
                                      : !schema_read_names(p, d->at, &d->needs, &d->need_count, e))
            return false;
    }
    return true;
}

/* $defs: checked to be schemas; they do nothing until something refers to them. */
static bool schema_make_defs(struct schema_part *p, struct err *e)
{
    struct schema_named *named;
    size_t n;

    return schema_read_schema_map(p, &named, &n, e);
}

/* ---- schemas in schemas ---- */

static bool schema_make_one(struct schema_part *p, struct err *e)
{
    p->rule->ready = true;
    return schema_keyword_get_subschema(p, p->value, &p->rule->one, e);
}

static bool schema_make_then(struct schema_part *p, struct err *e)
{
    return schema_keyword_get_subschema(p, p->value, &p->rule->two, e);
}

static bool schema_make_else(struct schema_part *p, struct err *e)
{
    return schema_keyword_get_subschema(p, p->value, &p->rule->three, e);
}

/* The rest after the named members or the first items. */
static bool schema_make_rest(struct schema_part *p, struct err *e)
{
    assert(p->rule->op == SCHEMA_OP_MEMBERS || p->rule->op == SCHEMA_OP_ITEMS);
    p->rule->rest_keyword = p->keyword->name;
    return schema_make_one(p, e);
}

static bool schema_keyword_make_list(struct schema_part *p, struct err *e)
{
    const struct json *doc = schema_keyword_doc_of(p);
    struct schema_rule *r = p->rule;
    size_t i = 0;

    if (p->value->kind != JSON_ARRAY || p->value->span == 1)
        return schema_keyword_wrong(p, "must be an array of one schema or more", e);
    r->ready = true;
    r->count = json_count(doc, p->value);
    if (!schema_spend(p->s, r->count * sizeof *r->list, e))
        return false;
    r->list = schema_keyword_alloc_zero(p, r->count, sizeof *r->list);
    for (const struct json_node *v = json_first(doc, p->value); v;
         v = json_next(doc, p->value, v), i++)
        if (!schema_keyword_get_subschema(p, v, &r->list[i], e))
            return false;
    assert(i == r->count && i > 0);
    return true;
}

/* items was prefixItems too before 2020-12, and additionalItems then was what items is now. */
static bool schema_make_items(struct schema_part *p, struct err *e)
{
    if (p->value->kind != JSON_ARRAY)
        return schema_make_rest(p, e);
    if (p->node->resource->draft == SCHEMA_DRAFT_2020)
        return schema_keyword_wrong(
            p, "must be a schema; an array of schemas is prefixItems in 2020-12", e);
    if (p->value->span > 1)
        return schema_keyword_make_list(p, e);
    p->rule->ready = true;
    return true;
}

static bool schema_make_additional_items(struct schema_part *p, struct err *e)
{
    const struct json_node *items = json_find(schema_keyword_doc_of(p), p->node->at, STR("items"));
    bool counts = items && items->kind == JSON_ARRAY;

    if (counts)
        return schema_make_rest(p, e);
    return schema_keyword_get_subschema(p, p->value, &(struct schema_node *){NULL}, e);
}

static bool schema_make_contains(struct schema_part *p, struct err *e)
{
    assert(p->rule->op == SCHEMA_OP_CONTAINS);
    p->rule->marks = p->node->resource->draft & (SCHEMA_DRAFT_2020 | SCHEMA_DRAFT_UNSAID);
    return schema_make_one(p, e);
}

static bool schema_make_min_contains(struct schema_part *p, struct err *e)
{
    p->rule->min_said = true;
    return schema_keyword_read_count(p, &p->rule->min, e);
}

static bool schema_make_max_contains(struct schema_part *p, struct err *e)
{
    return schema_keyword_read_count(p, &p->rule->max, e);
}

static bool schema_make_ref(struct schema_part *p, struct err *e)
{
    struct schema_target t;
    struct err why;
    str ref;

    if (!json_text(schema_keyword_doc_of(p), p->value, &p->s->arena, &ref))
        return schema_keyword_wrong(p, "must be a string", e);
    if (p->rule->op == SCHEMA_OP_RECURSIVE_REF ? !schema_recursive_find(p->s, p->node, &t, &why)
                                               : !schema_ref_find(p->s, p->node, ref, &t, &why)) {
        if (str_starts(str_c(why.text), STR("schema "))) /* the error already has the place */
            return err_set(e, why.code, "%s", why.text);
        schema_wrong(e, p->node->resource->doc, p->value, "%s", why.text);
        e->code = why.code;
        return false;
    }
    assert(t.node);
    p->rule->one = t.node;
    p->rule->dynamic = t.dynamic && p->rule->op != SCHEMA_OP_REF;
    p->rule->anchor = t.anchor;
    p->rule->ready = true;
    return true;
}

/* ---- the table ---- */

#define OLD SCHEMA_DRAFT_OLD
#define D4 SCHEMA_DRAFT_4
#define D19 SCHEMA_DRAFT_2019
#define UNSAID SCHEMA_DRAFT_UNSAID
#define NEW (SCHEMA_DRAFT_2020 | UNSAID)
#define ALL (OLD | D19 | NEW)
#define NOT_4 (ALL & ~(unsigned)D4)
#define SINCE_7 (SCHEMA_DRAFT_7 | D19 | NEW)
#define SINCE_19 (D19 | NEW)

#define HOLDS(what) SCHEMA_HOLDS_##what
#define OP(what) SCHEMA_OP_##what

static const struct schema_keyword core[] = {
    {"$ref", ALL, HOLDS(NONE), OP(REF), ANY_KIND, schema_make_ref},
    {"$dynamicRef", NEW, HOLDS(NONE), OP(DYNAMIC_REF), ANY_KIND, schema_make_ref},
    {"$recursiveRef", D19, HOLDS(NONE), OP(RECURSIVE_REF), ANY_KIND, schema_make_ref},
    {"$defs", ALL, HOLDS(MAP), OP(NONE), 0, schema_make_defs},
    {"definitions", ALL, HOLDS(MAP), OP(NONE), 0, schema_make_defs},
    {NULL, 0, 0, 0, 0, NULL},
};

static const struct schema_keyword applicator[] = {
    {"properties", ALL, HOLDS(MAP), OP(MEMBERS), OBJECT, schema_make_properties},
    {"patternProperties", ALL, HOLDS(MAP), OP(MEMBERS), OBJECT, schema_make_patterns},
    {"additionalProperties", ALL, HOLDS(ONE), OP(MEMBERS), OBJECT, schema_make_rest},
    {"propertyNames", NOT_4, HOLDS(ONE), OP(NAMES), OBJECT, schema_make_one},
    {"prefixItems", NEW, HOLDS(LIST), OP(ITEMS), ARRAY, schema_keyword_make_list},
    {"items", ALL, HOLDS(ITEMS), OP(ITEMS), ARRAY, schema_make_items},
    {"additionalItems",
     OLD | D19 | UNSAID,
     HOLDS(ONE),
     OP(ITEMS),
     ARRAY,
     schema_make_additional_items},
    {"contains", NOT_4, HOLDS(ONE), OP(CONTAINS), ARRAY, schema_make_contains},
    {"allOf", ALL, HOLDS(LIST), OP(ALL), ANY_KIND, schema_keyword_make_list},
    {"anyOf", ALL, HOLDS(LIST), OP(ANY), ANY_KIND, schema_keyword_make_list},
    {"oneOf", ALL, HOLDS(LIST), OP(ONE), ANY_KIND, schema_keyword_make_list},
    {"not", ALL, HOLDS(ONE), OP(NOT), ANY_KIND, schema_make_one},
    {"if", SINCE_7, HOLDS(ONE), OP(IF), ANY_KIND, schema_make_one},
    {"then", SINCE_7, HOLDS(ONE), OP(IF), ANY_KIND, schema_make_then},
    {"else", SINCE_7, HOLDS(ONE), OP(IF), ANY_KIND, schema_make_else},
    {"dependentSchemas", SINCE_19, HOLDS(MAP), OP(DEPENDENT), OBJECT, schema_make_properties},
    {"dependencies", OLD | UNSAID, HOLDS(MAP), OP(DEPENDENCIES), OBJECT, schema_make_dependencies},
    {NULL, 0, 0, 0, 0, NULL},
};

static const struct schema_keyword unevaluated[] = {
    {"unevaluatedItems", SINCE_19, HOLDS(ONE), OP(UNEVALUATED_ITEMS), ARRAY, schema_make_one},
    {"unevaluatedProperties",
     SINCE_19,
     HOLDS(ONE),
     OP(UNEVALUATED_PROPERTIES),
     OBJECT,
     schema_make_one},
    {NULL, 0, 0, 0, 0, NULL},
};

static const struct schema_keyword validation[] = {
    {"type", ALL, HOLDS(NONE), OP(TYPE), ANY_KIND, schema_make_type},
    {"enum", ALL, HOLDS(NONE), OP(ENUM), ANY_KIND, schema_make_enum},
    {"const", NOT_4, HOLDS(NONE), OP(CONST), ANY_KIND, schema_make_const},
    {"minimum", ALL, HOLDS(NONE), OP(MINIMUM), NUMBER, schema_make_number},
    {"maximum", ALL, HOLDS(NONE), OP(MAXIMUM), NUMBER, schema_make_number},
    {"exclusiveMinimum", D4, HOLDS(NONE), OP(MINIMUM), NUMBER, schema_make_exclusive},
    {"exclusiveMaximum", D4, HOLDS(NONE), OP(MAXIMUM), NUMBER, schema_make_exclusive},
    {"exclusiveMinimum", NOT_4, HOLDS(NONE), OP(EXCLUSIVE_MINIMUM), NUMBER, schema_make_number},
    {"exclusiveMaximum", NOT_4, HOLDS(NONE), OP(EXCLUSIVE_MAXIMUM), NUMBER, schema_make_number},
    {"multipleOf", ALL, HOLDS(NONE), OP(MULTIPLE), NUMBER, schema_make_multiple},
    {"minLength", ALL, HOLDS(NONE), OP(LENGTH), STRING, schema_make_least},
    {"maxLength", ALL, HOLDS(NONE), OP(LENGTH), STRING, schema_make_most},
    {"pattern", ALL, HOLDS(NONE), OP(PATTERN), STRING, schema_make_pattern},
    {"minItems", ALL, HOLDS(NONE), OP(ITEM_COUNT), ARRAY, schema_make_least},
    {"maxItems", ALL, HOLDS(NONE), OP(ITEM_COUNT), ARRAY, schema_make_most},
    {"uniqueItems", ALL, HOLDS(NONE), OP(UNIQUE), ARRAY, schema_make_unique},
    {"minContains", SINCE_19, HOLDS(NONE), OP(CONTAINS), ARRAY, schema_make_min_contains},
    {"maxContains", SINCE_19, HOLDS(NONE), OP(CONTAINS), ARRAY, schema_make_max_contains},
    {"minProperties", ALL, HOLDS(NONE), OP(PROPERTY_COUNT), OBJECT, schema_make_least},
    {"maxProperties", ALL, HOLDS(NONE), OP(PROPERTY_COUNT), OBJECT, schema_make_most},
    {"required", ALL, HOLDS(NONE), OP(REQUIRED), OBJECT, schema_make_required},
    {"dependentRequired", SINCE_19, HOLDS(NONE), OP(DEPENDENT_REQUIRED), OBJECT, schema_make_needs},
    {NULL, 0, 0, 0, 0, NULL},
};

static const struct {
    unsigned vocabulary;
    const struct schema_keyword *keywords;
} vocabularies[] = {
    {SCHEMA_CORE, core},
    {SCHEMA_VALIDATION, validation},
    {SCHEMA_APPLICATOR, applicator},
    {SCHEMA_UNEVALUATED, unevaluated},
};

const struct schema_keyword *schema_keyword_find(const struct schema_resource *r,
                                                 const struct json *doc,
                                                 const struct json_node *key)
{
    assert(r->draft && !(r->draft & (r->draft - 1)));
    for (size_t i = 0; i < COUNT_OF(vocabularies); i++) {
        if (!(r->vocabularies & vocabularies[i].vocabulary))
            continue;
        for (const struct schema_keyword *k = vocabularies[i].keywords; k->name; k++)
            if ((k->drafts & r->draft) && schema_text_is(doc, key, str_c(k->name)))
                return k;
    }
    return NULL;
}
