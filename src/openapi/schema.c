/* schema.c - converts schemas of an OpenAPI document to self-contained JSON Schema.
 *
 * References are resolved. A cyclic reference becomes a schema that accepts anything, so the result
 * is finite. Keywords of OpenAPI 3.0 that differ in JSON Schema 2020-12 (nullable,
 * exclusiveMinimum: true) are translated; examples, extensions and markup hints are dropped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "openapi/reader.h"

#include "base/json_get.h"
enum openapi_keyword {
    KEYWORD_PLAIN,   /* copied unchanged */
    KEYWORD_SCHEMA,  /* its value is a schema, or a flag */
    KEYWORD_SCHEMAS, /* a list of schemas */
    KEYWORD_MAP,     /* an object whose members are schemas */
    KEYWORD_DROPPED,
};

static const struct {
    const char *name;
    enum openapi_keyword kind;
} openapi_keywords[] = {
    {"properties", KEYWORD_MAP},
    {"patternProperties", KEYWORD_MAP},
    {"dependentSchemas", KEYWORD_MAP},
    {"items", KEYWORD_SCHEMA},
    {"additionalProperties", KEYWORD_SCHEMA},
    {"unevaluatedProperties", KEYWORD_SCHEMA},
    {"propertyNames", KEYWORD_SCHEMA},
    {"contains", KEYWORD_SCHEMA},
    {"not", KEYWORD_SCHEMA},
    {"if", KEYWORD_SCHEMA},
    {"then", KEYWORD_SCHEMA},
    {"else", KEYWORD_SCHEMA},
    {"allOf", KEYWORD_SCHEMAS},
    {"anyOf", KEYWORD_SCHEMAS},
    {"oneOf", KEYWORD_SCHEMAS},
    {"prefixItems", KEYWORD_SCHEMAS},
    {"example", KEYWORD_DROPPED},
    {"examples", KEYWORD_DROPPED},
    {"xml", KEYWORD_DROPPED},
    {"externalDocs", KEYWORD_DROPPED},
    {"discriminator", KEYWORD_DROPPED},
    {"nullable", KEYWORD_DROPPED},
    {"$id", KEYWORD_DROPPED},
    {"$anchor", KEYWORD_DROPPED},
    {"$schema", KEYWORD_DROPPED},
};

static enum openapi_keyword openapi_keyword_of(str key)
{
    if (str_starts(key, STR("x-")))
        return KEYWORD_DROPPED;
    for (size_t i = 0; i < COUNT_OF(openapi_keywords); i++)
        if (str_eq(key, str_c(openapi_keywords[i].name)))
            return openapi_keywords[i].kind;
    return KEYWORD_PLAIN;
}

/* "exclusiveMinimum": true with "minimum": 3 is "exclusiveMinimum": 3. False: not such a bound. */
static bool openapi_write_bound(struct openapi_reader *r, const struct json_node *v, str key,
                                struct json_out *o)
{
    static const char *const pairs[][2] = {{"minimum", "exclusiveMinimum"},
                                           {"maximum", "exclusiveMaximum"}};
    const struct json *doc = r->doc;
    bool on;

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        const struct json_node *other = json_find(doc, v, str_c(pairs[i][1]));

        if (str_eq(key, str_c(pairs[i][1])) && json_bool(other, &on))
            return true;
        if (!str_eq(key, str_c(pairs[i][0])))
            continue;
        if (!json_get_true(doc, v, pairs[i][1]))
            return false;
        json_member_raw(o, pairs[i][1], json_raw(doc, json_find(doc, v, str_c(pairs[i][0]))));
        return true;
    }
    return false;
}

static void openapi_write_type(struct openapi_reader *r, const struct json_node *type,
                               bool nullable, struct json_out *o)
{
    assert(type);
    json_out_key(o, STR("type"));
    if (!nullable || type->kind != JSON_STRING) {
        json_out_raw(o, json_raw(r->doc, type));
        return;
    }
    json_out_array(o);
    json_out_raw(o, json_raw(r->doc, type));
    json_out_str(o, STR("null"));
    json_out_end(o);
}

static void openapi_write_list(struct openapi_reader *r, const struct json_node *v,
                               struct json_out *o)
{
    assert(json_is_array(v));
    json_out_array(o);
    JSON_FOREACH(c, r->doc, v)
        openapi_write_schema(r, c, STR(""), o);
    json_out_end(o);
}

static void openapi_write_map(struct openapi_reader *r, const struct json_node *v,
                              struct json_out *o)
{
    str key;

    assert(json_is_object(v));
    json_out_object(o);
    JSON_FOREACH(k, r->doc, v) {
        if (!openapi_scratch_text(r, k, &key))
            continue;
        json_out_key(o, key);
        openapi_write_schema(r, json_value(k), STR(""), o);
    }
    json_out_end(o);
}

static void openapi_write_keyword(struct openapi_reader *r, const struct json_node *schema, str key,
                                  const struct json_node *v, struct json_out *o)
{
    enum openapi_keyword kind = openapi_keyword_of(key);

    if (kind == KEYWORD_DROPPED || openapi_write_bound(r, schema, key, o))
        return;
    if (str_eq(key, STR("type"))) {
        openapi_write_type(r, v, json_get_true(r->doc, schema, "nullable"), o);
        return;
    }
    json_out_key(o, key);
    if (kind == KEYWORD_SCHEMA && v->kind == JSON_OBJECT)
        openapi_write_schema(r, v, STR(""), o);
    else if (kind == KEYWORD_SCHEMAS && v->kind == JSON_ARRAY)
        openapi_write_list(r, v, o);
    else if (kind == KEYWORD_MAP && v->kind == JSON_OBJECT)
        openapi_write_map(r, v, o);
    else
        json_out_raw(o, json_raw(r->doc, v));
}

static bool openapi_is_open(const struct openapi_reader *r, const struct json_node *v)
{
    assert(r->depth <= OPENAPI_DEPTH_MAX);
    for (size_t i = 0; i < r->depth; i++)
        if (r->open[i] == v)
            return true;
    return false;
}

void openapi_write_schema(struct openapi_reader *r, const struct json_node *v, str description,
                          struct json_out *o)
{
    const struct json *doc = r->doc;
    const struct json_node *to = openapi_follow(r, v);
    bool own = description.n == 0, cut;
    str key;

    /* The operation is omitted if its text is full, so further references need not be followed. */
    if (buf_full(&r->text) || !json_is_object(to)) {
        bool flag = to && (to->kind == JSON_TRUE || to->kind == JSON_FALSE);

        json_out_raw(o, flag ? json_raw(doc, to) : STR("{}"));
        return;
    }
    cut = r->depth == OPENAPI_DEPTH_MAX || openapi_is_open(r, to);
    json_out_object(o);
    if (!own)
        json_member_str(o, "description", description);
    if (!cut) {
        r->open[r->depth++] = to;
        JSON_FOREACH(k, doc, to)
            if (openapi_scratch_text(r, k, &key) && (own || !str_eq(key, STR("description"))))
                openapi_write_keyword(r, to, key, json_value(k), o);
        r->depth--;
    }
    json_out_end(o);
}
