/* Any schema and any value: the input is the schema, a NUL byte, and the value.
 *
 * Neither may crash or hang the check, and the two ways to check must agree. Bytes changed at
 * random are rarely JSON, so most changes swap whole values or keys for others of the input or for
 * a word that has a meaning in a schema.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema.h"

#define WORK_MAX 200000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed);

static const char *const keys[] = {
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "$defs",
    "definitions",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$schema",
    "properties",
    "patternProperties",
    "additionalProperties",
    "required",
    "propertyNames",
    "prefixItems",
    "items",
    "contains",
    "minContains",
    "maxContains",
    "additionalItems",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "type",
    "enum",
    "const",
    "unevaluatedItems",
    "minimum",
    "multipleOf",
    "exclusiveMinimum",
    "unevaluatedProperties",
    "minLength",
    "pattern",
    "uniqueItems",
    "dependentRequired",
    "maxItems",
    "dependencies",
    "$recursiveAnchor",
    "minProperties",
};

static const char *const values[] = {
    "true",
    "false",
    "{}",
    "[]",
    "null",
    "0",
    "-1.50e3",
    "1e400",
    "\"\"",
    "\"a\"",
    "\"\\ud83d\\ude00\"",
    "\"#\"",
    "\"#/$defs/a\"",
    "\"#a\"",
    "\"object\"",
    "[\"string\",\"integer\"]",
    "{\"$ref\":\"#\"}",
    "{\"$dynamicRef\":\"#a\"}",
    "{\"a\":1,\"b\":[1,{}]}",
    "\"^(a|b)+\\\\p{L}[\\\\s-z]$\"",
    "\"(a*)*\\\\1\"",
    "\"https://json-schema.org/draft/2020-12/schema\"",
    "\"https://json-schema.org/draft/2019-09/schema\"",
    "\"http://json-schema.org/draft-07/schema#\"",
    "\"http://json-schema.org/draft-04/schema#\"",
};

/* The index of the byte before the value. */
static size_t cut_of(str all)
{
    size_t cut = str_find(all, (str){"\0", 1});

    return cut == STR_NONE ? all.n : cut;
}

static void on_problem(void *ctx, const struct schema_problem *p)
{
    size_t *n = ctx;

    assert(p->text.n > 0 && p->value && p->path.p && p->keyword.p && p->name.p && p->nearest.p);
    (*n)++;
}

static void check(const struct schema *s, str value)
{
    size_t problems = 0;
    struct schema_sink sink = {on_problem, &problems, 50};
    struct json doc;
    struct err e;

    json_init(&doc);
    if (json_parse(&doc, value, &e)) {
        bool ok = schema_check(s, &doc, json_root(&doc), &e);
        bool limit = !ok && e.code == ERR_LIMIT;
        bool each = schema_check_each(s, &doc, json_root(&doc), sink, &e);

        /* Continuing after a problem, or describing it, may use up the remaining steps. */
        assert(ok == each || limit || e.code == ERR_LIMIT);
        assert(each == (problems == 0));
    }
    json_release(&doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str all = size ? (str){(const char *)data, size} : STR("");
    size_t cut = cut_of(all);
    struct schema *s = schema_new();
    struct err e;

    schema_work_set(s, WORK_MAX);
    if (schema_compile(s, str_slice(all, 0, cut), &e))
        check(s, str_slice(all, cut + 1, size));
    schema_free(s);
    return 0;
}

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* A key is a string that a value follows: the first child of an object, or the one after a value.
 */
static bool is_key(const struct json *doc, const struct json_node *v)
{
    for (const struct json_node *o = doc->nodes; o < v; o++) {
        if (o->kind != JSON_OBJECT || v >= o + o->span)
            continue;
        for (const struct json_node *k = json_first(doc, o); k; k = json_next(doc, o, k))
            if (k == v)
                return true;
    }
    return false;
}

/* The text with one value or key replaced; the result is JSON. */
static void change(str text, unsigned *seed, struct buf *out)
{
    const struct json_node *v, *other;
    struct json doc;
    struct err e;

    json_init(&doc);
    if (!json_parse(&doc, text, &e)) {
        buf_add(out, STR("{}"));
    } else {
        v = doc.nodes + next(seed) % doc.n;
        other = doc.nodes + next(seed) % doc.n;
        if (is_key(&doc, v)) {
            struct buf key;

            buf_init(&key, 64);
            json_quote(&key, str_c(keys[next(seed) % COUNT_OF(keys)]));
            json_splice(&doc, v, buf_str(&key), out);
            buf_release(&key);
        } else if (v->kind == JSON_OBJECT && next(seed) % 3 == 0) {
            json_splice_set(&doc,
                            v,
                            str_c(keys[next(seed) % COUNT_OF(keys)]),
                            next(seed) % 2 ? json_raw(&doc, other)
                                           : str_c(values[next(seed) % COUNT_OF(values)]),
                            out);
        } else {
            json_splice(&doc,
                        v,
                        next(seed) % 2 ? json_raw(&doc, other)
                                       : str_c(values[next(seed) % COUNT_OF(values)]),
                        out);
        }
    }
    json_release(&doc);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed)
{
    str all = size ? (str){(const char *)data, size} : STR("");
    size_t cut = cut_of(all);
    str schema = str_slice(all, 0, cut), value = str_slice(all, cut + 1, all.n);
    struct buf out;

    if (next(&seed) % 8 == 0)
        return LLVMFuzzerMutate(data, size, size_max);
    buf_init(&out, size_max);
    if (next(&seed) % 3) {
        change(schema, &seed, &out);
        buf_add_c(&out, '\0');
        buf_add(&out, value);
    } else {
        buf_add(&out, schema);
        buf_add_c(&out, '\0');
        change(value, &seed, &out);
    }
    if (!buf_full(&out)) {
        size = out.n;
        memcpy(data, out.p, size);
    }
    buf_release(&out);
    return size;
}
