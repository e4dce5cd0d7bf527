/* schema.c - Gemini's kind of schema (OpenAPI 3.0, types in capitals) as JSON Schema.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/gemini/gemini.h"

#define SCHEMA_SIZE_MAX ((size_t)16 << 20)

static const char *const types[] = {
    "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"};

/* Members whose values are data or named by the client, not schema words. */
static const char *const data_keys[] = {"enum", "default", "example", "examples", "const", "title"};
static const char *const name_keys[] = {"properties", "$defs", "defs", "definitions"};
/* Counts that OpenAPI writes as text. */
static const char *const count_keys[] = {
    "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"};

static bool gemini_schema_one_of(const struct json *doc, const struct json_node *key,
                                 const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (json_is(doc, key, str_c(list[i])))
            return true;
    return false;
}

struct walk {
    const struct json *doc;
    struct arena *arena; /* for keys with escapes */
    struct json_out o;
    bool changed;
};

static void gemini_schema_write_schema(struct walk *w, const struct json_node *v);

static bool gemini_schema_write_type(struct walk *w, const struct json_node *type, bool nullable)
{
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        char lower[16];
        size_t n = 0;

        for (; types[i][n]; n++)
            lower[n] = (char)(types[i][n] - 'A' + 'a');
        assert(n < sizeof lower);
        if (!json_is(w->doc, type, str_c(types[i])) &&
            !(nullable && json_is(w->doc, type, (str){lower, n})))
            continue;
        w->changed = true;
        if (nullable)
            json_out_array(&w->o);
        json_out_str(&w->o, (str){lower, n});
        if (nullable) {
            json_out_str(&w->o, STR("null"));
            json_out_end(&w->o);
        }
        return true;
    }
    return false;
}

static bool gemini_schema_write_count(struct walk *w, const struct json_node *v)
{
    str raw = json_raw(w->doc, v);
    uint64_t n;

    if (v->kind != JSON_STRING || v->escaped || !str_u64(str_slice(raw, 1, raw.n - 1), &n))
        return false;
    w->changed = true;
    json_out_u64(&w->o, n);
    return true;
}

static void gemini_schema_write_key(struct walk *w, const struct json_node *k)
{
    str key;

    assert(k->kind == JSON_STRING);
    if (arena_text_room(w->arena, k->size) && json_text(w->doc, k, w->arena, &key))
        json_out_key(&w->o, key);
    else
        w->o.bad_text = true; /* then the whole stays as it is */
}

/* OpenAPI's null is beside the list, JSON Schema's in it. */
static void gemini_schema_write_enum(struct walk *w, const struct json_node *v)
{
    bool null = false;

    assert(v->kind == JSON_ARRAY);
    json_out_array(&w->o);
    JSON_FOREACH(x, w->doc, v) {
        json_out_raw(&w->o, json_raw(w->doc, x));
        null = null || x->kind == JSON_NULL;
    }
    if (!null)
        json_out_null(&w->o);
    json_out_end(&w->o);
}

/* An object whose values are schemas: properties and the like. */
static void gemini_schema_write_named(struct walk *w, const struct json_node *v)
{
    if (v->kind != JSON_OBJECT) {
        json_out_raw(&w->o, json_raw(w->doc, v));
        return;
    }
    json_out_object(&w->o);
    JSON_FOREACH(k, w->doc, v) {
        gemini_schema_write_key(w, k);
        gemini_schema_write_schema(w, json_value(k));
    }
    json_out_end(&w->o);
}

static void gemini_schema_write_member(struct walk *w, const struct json_node *k, bool nullable)
{
    const struct json_node *v = json_value(k);

    if (nullable && json_is(w->doc, k, STR("nullable"))) {
        w->changed = true;
        return;
    }
    gemini_schema_write_key(w, k);
    if (nullable && v->kind == JSON_ARRAY && json_is(w->doc, k, STR("enum"))) {
        gemini_schema_write_enum(w, v);
        return;
    }
    if (json_is(w->doc, k, STR("type")) && gemini_schema_write_type(w, v, nullable))
        return;
    if (gemini_schema_one_of(w->doc, k, count_keys, COUNT_OF(count_keys)) &&
        gemini_schema_write_count(w, v))
        return;
    if (gemini_schema_one_of(w->doc, k, data_keys, COUNT_OF(data_keys)))
        json_out_raw(&w->o, json_raw(w->doc, v));
    else if (gemini_schema_one_of(w->doc, k, name_keys, COUNT_OF(name_keys)))
        gemini_schema_write_named(w, v);
    else
        gemini_schema_write_schema(w, v);
}

static void gemini_schema_write_schema(struct walk *w, const struct json_node *v)
{
    bool nullable = false;

    if (v->kind == JSON_ARRAY) {
        json_out_array(&w->o);
        JSON_FOREACH(x, w->doc, v)
            gemini_schema_write_schema(w, x);
        json_out_end(&w->o);
        return;
    }
    if (v->kind != JSON_OBJECT) {
        json_out_raw(&w->o, json_raw(w->doc, v));
        return;
    }
    if (!json_bool(json_find(w->doc, v, STR("nullable")), &nullable))
        nullable = false;
    nullable = nullable && json_find(w->doc, v, STR("type"));
    json_out_object(&w->o);
    JSON_FOREACH(k, w->doc, v)
        gemini_schema_write_member(w, k, nullable);
    json_out_end(&w->o);
}

str gemini_schema(const struct json *doc, const struct json_node *v, struct arena *a)
{
    struct walk w = {.doc = doc, .arena = a};
    str out = json_raw(doc, v);
    struct err e;
    struct buf b;

    buf_init(&b, SCHEMA_SIZE_MAX);
    json_out_init(&w.o, &b);
    gemini_schema_write_schema(&w, v);
    if (json_out_ok(&w.o, &e) && w.changed && arena_text_room(a, b.n + 1))
        out = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return out;
}
