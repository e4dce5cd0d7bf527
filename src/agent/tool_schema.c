/* tool_schema.c - translates schemas with types of programming languages into JSON Schema.
 *
 * Lists of tools are often written by hand or made from the signatures of functions, and then a
 * type is "dict", "float" or "ArrayList<String>". Their meaning is clear, so the tool is accepted:
 *
 *     dict HashMap ...        object
 *     list tuple Set X[] ...  array; its items, if the word names them
 *     float double ...        number
 *     int long ...            integer
 *     str char ...            string
 *     any and unknown words   any value: the type is left out
 *
 * A list of schemas in "items" is prefixItems, and a "required" that is true or false on a property
 * itself, as older forms have it, goes to the list of its object.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/tool_box.h"

#include "base/json_get.h"

struct walk {
    const struct json *doc;
    struct json_out o;
    struct arena *arena;
    bool close; /* objects take no members but those they name */
};

static const struct {
    const char *type, *words;
} types[] = {
    {"object",
     "object dict dictionary map hashmap linkedhashmap treemap record struct json "
     "mapping hashtable"},
    {"array",
     "array list tuple set frozenset arraylist linkedlist vector sequence iterable "
     "queue stack hashset collection slice"},
    {"number", "number float double decimal bigdecimal real float32 float64 numeric"},
    {"integer", "integer int long short byte bigint biginteger int32 int64 uint"},
    {"string", "string str char character text charsequence"},
    {"boolean", "boolean bool"},
    {"null", "null none nonetype void undefined nil"},
};

/* Keywords whose values are data, not schemas; and keywords whose values map the author's names
 * to schemas. */
static const char data_keys[] = "enum const default example examples";
static const char name_keys[] = "properties patternProperties $defs definitions dependentSchemas";
/* Next to these keywords, a closed object would refuse what they allow. */
static const char open_keys[] =
    "additionalProperties unevaluatedProperties allOf anyOf oneOf $ref $dynamicRef if "
    "patternProperties dependentSchemas";

/* ---- types ---- */

/* NULL: any value. Case is ignored, because languages differ in it. */
static const char *agent_tool_schema_type_of(str word)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (str_is_one_of_nocase(word, types[i].words))
            return types[i].type;
    return NULL;
}

/* The text in <> or [] after a word, or before a last []; *word is the word without it. */
static str agent_inner_of(str *word)
{
    size_t at = STR_NONE, n = word->n;
    str inner = STR("");

    if (n > 2 && word->p[n - 1] == ']' && word->p[n - 2] == '[') {
        inner = str_slice(*word, 0, n - 2);
        *word = STR("array");
        return inner;
    }
    for (size_t i = 0; i < n && at == STR_NONE; i++)
        if (word->p[i] == '<' || word->p[i] == '[')
            at = i;
    if (at == STR_NONE || (word->p[n - 1] != '>' && word->p[n - 1] != ']'))
        return inner;
    inner = str_trim(str_slice(*word, at + 1, n - 1));
    *word = str_trim(str_slice(*word, 0, at));
    return inner;
}

static void agent_write_word(struct walk *w, str word, bool items, unsigned depth)
{
    str inner = agent_inner_of(&word);
    const char *type = agent_tool_schema_type_of(word);

    if (!type)
        return;
    json_member_str(&w->o, "type", str_c(type));
    if (!items || depth > 4 || !inner.n || !str_eq(str_c(type), STR("array")) ||
        str_find(inner, STR(",")) != STR_NONE)
        return;
    json_member_object(&w->o, "items");
    agent_write_word(w, inner, true, depth + 1);
    json_out_end(&w->o);
}

/* NULL: any value, or no text. */
static const char *agent_tool_schema_type_at(struct walk *w, const struct json_node *x)
{
    str word;

    if (!json_text(w->doc, x, w->arena, &word))
        return NULL;
    word = str_trim(word);
    (void)agent_inner_of(&word);
    return agent_tool_schema_type_of(word);
}

/* A list of types: omitted if one of them is any value; two words may mean the same type. */
static void agent_write_types(struct walk *w, const struct json_node *list)
{
    const char *seen[8];
    size_t n = 0, i;

    JSON_FOREACH(x, w->doc, list) {
        const char *type = agent_tool_schema_type_at(w, x);

        if (!type)
            return;
        for (i = 0; i < n && !str_eq(str_c(seen[i]), str_c(type)); i++)
            continue;
        if (i == n && n < COUNT_OF(seen))
            seen[n++] = type;
    }
    if (!n)
        return;
    assert(n <= COUNT_OF(seen));
    json_member_array(&w->o, "type");
    for (i = 0; i < n; i++)
        json_out_str(&w->o, str_c(seen[i]));
    json_out_end(&w->o);
}

static void agent_write_type(struct walk *w, const struct json_node *v, bool items)
{
    str word;

    if (v->kind == JSON_ARRAY)
        agent_write_types(w, v);
    else if (json_text(w->doc, v, w->arena, &word))
        agent_write_word(w, str_trim(word), items, 0);
}

/* ---- schemas ---- */

static void agent_write_schema(struct walk *w, const struct json_node *v);

static void agent_write_key(struct walk *w, const struct json_node *k)
{
    str key;

    if (json_text(w->doc, k, w->arena, &key))
        json_out_key(&w->o, key);
}

static void agent_write_named(struct walk *w, const struct json_node *v)
{
    json_out_object(&w->o);
    JSON_FOREACH(k, w->doc, v) {
        agent_write_key(w, k);
        agent_write_schema(w, json_value(k));
    }
    json_out_end(&w->o);
}

/* The names in the list, and those of properties that have "required": true. */
static void agent_write_required(struct walk *w, const struct json_node *v)
{
    const struct json_node *list = json_find(w->doc, v, STR("required"));
    const struct json_node *all = json_find(w->doc, v, STR("properties"));
    struct map listed;
    struct err e;
    bool yes;
    str name;

    map_init(&listed, NULL, MAP_COUNT_MAX);
    json_member_array(&w->o, "required");
    if (list && list->kind == JSON_ARRAY)
        JSON_FOREACH(x, w->doc, list)
            if (json_text(w->doc, x, w->arena, &name)) {
                json_out_str(&w->o, name);
                (void)!map_set(&listed, name, MAP_U64(1), &e); /* not full: the text was not */
            }
    if (all && all->kind == JSON_OBJECT)
        JSON_FOREACH(k, w->doc, all) {
            if (!json_bool(json_find(w->doc, json_value(k), STR("required")), &yes) || !yes)
                continue;
            if (json_text(w->doc, k, w->arena, &name) && !map_find(&listed, name))
                json_out_str(&w->o, name);
        }
    json_out_end(&w->o);
    map_release(&listed);
}

static void agent_write_member(struct walk *w, const struct json_node *k, bool items)
{
    const struct json_node *v = json_value(k);

    if (json_is(w->doc, k, STR("type"))) {
        agent_write_type(w, v, items);
        return;
    }
    if (json_is(w->doc, k, STR("required")) || v->kind == JSON_NULL)
        return;
    if (json_is(w->doc, k, STR("items")) && v->kind == JSON_ARRAY)
        json_out_key(&w->o, STR("prefixItems"));
    else
        agent_write_key(w, k);
    if (json_is_one_of(w->doc, k, data_keys))
        json_out_raw(&w->o, json_raw(w->doc, v));
    else if (json_is_one_of(w->doc, k, name_keys) && v->kind == JSON_OBJECT)
        agent_write_named(w, v);
    else
        agent_write_schema(w, v);
}

static bool agent_tool_schema_is_open(struct walk *w, const struct json_node *v)
{
    JSON_FOREACH(k, w->doc, v)
        if (json_is_one_of(w->doc, k, open_keys))
            return true;
    return !json_find(w->doc, v, STR("properties"));
}

static void agent_write_object(struct walk *w, const struct json_node *v)
{
    bool items = !json_find(w->doc, v, STR("items")), yes;

    json_out_object(&w->o);
    JSON_FOREACH(k, w->doc, v) {
        const struct json_node *x = json_value(k);

        /* Data next to keywords may be null. */
        if (x->kind == JSON_NULL && json_is_one_of(w->doc, k, data_keys)) {
            agent_write_key(w, k);
            json_out_null(&w->o);
        } else {
            agent_write_member(w, k, items);
        }
    }
    if (json_find(w->doc, v, STR("properties")) ||
        (json_find(w->doc, v, STR("required")) &&
         !json_bool(json_find(w->doc, v, STR("required")), &yes)))
        agent_write_required(w, v);
    if (w->close && !agent_tool_schema_is_open(w, v))
        json_member_bool(&w->o, "additionalProperties", false);
    json_out_end(&w->o);
}

static void agent_write_schema(struct walk *w, const struct json_node *v)
{
    if (v->kind == JSON_OBJECT) {
        agent_write_object(w, v);
    } else if (v->kind == JSON_ARRAY) {
        json_out_array(&w->o);
        JSON_FOREACH(x, w->doc, v)
            agent_write_schema(w, x);
        json_out_end(&w->o);
    } else {
        json_out_raw(&w->o, json_raw(w->doc, v));
    }
}

bool tool_schema(str text, bool close, struct buf *out)
{
    struct walk w = {.close = close};
    struct json doc;
    struct arena a;
    struct err e;
    bool ok;

    if (text.n > SCHEMA_SIZE_MAX)
        return false;
    /* Each text with escapes is copied at most twice, and a short one takes 16 bytes. */
    arena_init(&a, 16 * text.n + 65536);
    ok = json_open(&doc, text, &e) && json_root(&doc)->kind == JSON_OBJECT;
    if (ok) {
        w.doc = &doc;
        w.arena = &a;
        json_out_init(&w.o, out);
        agent_write_schema(&w, json_root(&doc));
        ok = json_out_ok(&w.o, &e);
        assert(!ok || w.o.depth == 0);
    }
    arena_release(&a);
    json_release(&doc);
    return ok;
}
