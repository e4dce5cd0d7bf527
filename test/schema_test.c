/* Schemas and values are written with ' instead of ".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema.h"
#include "test.h"

#define D7 "'$schema':'http://json-schema.org/draft-07/schema#'"
#define D4 "'$schema':'http://json-schema.org/draft-04/schema#'"
#define D19 "'$schema':'https://json-schema.org/draft/2019-09/schema'"
#define D20 "'$schema':'https://json-schema.org/draft/2020-12/schema'"
#define META "https://json-schema.org/draft/2020-12/schema"

/* problem NULL: the value is valid. schema NULL: that of the previous row. */
struct row {
    const char *schema, *value, *problem;
};

static str quotes(struct arena *a, const char *text)
{
    str s = arena_dup(a, str_c(text));
    char *p = arena_alloc(a, s.n + 1);

    for (size_t i = 0; i <= s.n; i++)
        p[i] = s.p[i] == '\'' ? '"' : s.p[i];
    return (str){p, s.n};
}

static struct schema *compile(const char *text)
{
    struct schema *s = schema_new();
    struct arena a;
    struct err e;

    arena_init(&a, 1 << 20);
    CHECK_F(schema_compile(s, quotes(&a, text), &e), "%s\n%s", text, e.text);
    arena_release(&a);
    return s;
}

static void check_row(const struct schema *s, const struct row *row)
{
    struct arena a;
    struct json doc;
    struct err e;
    bool ok;

    arena_init(&a, 1 << 20);
    json_init(&doc);
    CHECK_F(json_parse(&doc, quotes(&a, row->value), &e), "%s: %s", row->value, e.text);
    ok = schema_check(s, &doc, json_root(&doc), &e);
    CHECK_F(ok == !row->problem, "%s: %s", row->value, ok ? "should not be valid" : e.text);
    if (!ok) {
        CHECK_INT(e.code, ERR_INPUT);
        CHECK_STR(str_c(e.text), quotes(&a, row->problem).p);
    }
    json_release(&doc);
    arena_release(&a);
}

static void check_rows(const struct row *rows, size_t n)
{
    struct schema *s = NULL;

    for (size_t i = 0; i < n; i++) {
        if (rows[i].schema) {
            schema_free(s);
            s = compile(rows[i].schema);
        }
        check_row(s, &rows[i]);
    }
    schema_free(s);
}

#define CHECK_ROWS(rows) check_rows(rows, COUNT_OF(rows))

TEST(type_const_and_enum_say_what_was_expected)
{
    static const struct row rows[] = {
        {"{'type':'string'}", "'a'", NULL},
        {NULL, "1", "expected string, got number (schema /type)"},
        {"{'type':['string','null']}", "null", NULL},
        {NULL, "[]", "expected string or null, got array (schema /type)"},
        {"{'type':'integer'}", "1.0", NULL},
        {NULL, "1e2", NULL},
        {NULL, "12345678901234567890123456789", NULL},
        {NULL, "1.5", "expected integer, got 1.5 (schema /type)"},
        {NULL, "true", "expected integer, got boolean (schema /type)"},
        {"{'type':['array','object','boolean','number']}", "false", NULL},
        {NULL, "null", "expected number, boolean, array or object, got null (schema /type)"},
        {"{'const':{'a':1,'b':[true]}}", "{'b':[true],'a':1.0}", NULL},
        {NULL, "{'b':[true]}", "must be an object, got an object (schema /const)"},
        {"{'const':'x'}", "'\\u0078'", NULL},
        {NULL, "'y'", "must be 'x', got 'y' (schema /const)"},
        {"{'enum':['a',1,null]}", "1.0", NULL},
        {NULL, "'b'", "must be one of 'a', 1, null; got 'b' (schema /enum)"},
        {"{'enum':[]}", "1", "must be one of ; got 1 (schema /enum)"},
        {"true", "1", NULL},
        {"false", "1", "nothing is allowed here"},
        {"{}", "1", NULL},
    };

    CHECK_ROWS(rows);
}

TEST(numbers_are_compared_without_rounding)
{
    static const struct row rows[] = {
        {"{'minimum':9007199254740993}", "9007199254740993", NULL},
        {NULL,
         "9007199254740992",
         "must be at least 9007199254740993, got 9007199254740992 (schema /minimum)"},
        {NULL,
         "9007199254740992.9999999",
         "must be at least 9007199254740993, got "
         "9007199254740992.9999999 (schema /minimum)"},
        {NULL, "1e400", NULL},
        {NULL, "'text'", NULL},
        {"{'maximum':-0.5}", "-0.50", NULL},
        {NULL, "-5e-1", NULL},
        {NULL, "-0.4", "must be at most -0.5, got -0.4 (schema /maximum)"},
        {NULL, "0", "must be at most -0.5, got 0 (schema /maximum)"},
        {"{'exclusiveMinimum':0}", "1e-999999999999999999999", NULL},
        {NULL, "-0.0", "must be greater than 0, got -0.0 (schema /exclusiveMinimum)"},
        {"{'exclusiveMaximum':10}", "9.99", NULL},
        {NULL, "10.0", "must be less than 10, got 10.0 (schema /exclusiveMaximum)"},
        {"{'multipleOf':0.0001}", "0.0075", NULL},
        {NULL, "0.00751", "must be a multiple of 0.0001, got 0.00751 (schema /multipleOf)"},
        {NULL, "0", NULL},
        {NULL, "-3", NULL},
        {"{'multipleOf':0.123456789}",
         "1e308",
         "must be a multiple of 0.123456789, got 1e308 (schema /multipleOf)"},
        {NULL, "123456789e999999999", NULL},
        {"{'multipleOf':3}", "111111111111111111111111111111", NULL},
        {NULL,
         "111111111111111111111111111112",
         "must be a multiple of 3, got 111111111111111111111111111112 (schema /multipleOf)"},
        {"{'multipleOf':1e2}", "1e1", "must be a multiple of 1e2, got 1e1 (schema /multipleOf)"},
        {NULL, "12e2", NULL},
        {"{'multipleOf':999999999999999999}", "999999999999999999000000", NULL},
    };

    CHECK_ROWS(rows);
}

TEST(lengths_count_characters_not_bytes)
{
    static const struct row rows[] = {
        {"{'minLength':2,'maxLength':2}", "'\xc3\xa9\xf0\x9f\x98\x80'", NULL},
        {NULL, "'\\ud83d\\ude00\\n'", NULL},
        {NULL, "'\\u00e9'", "must have at least 2 characters, has 1 (schema /minLength)"},
        {NULL, "'abc'", "must have at most 2 characters, has 3 (schema /maxLength)"},
        {NULL, "7", NULL},
        {"{'maxLength':1e400}", "'abc'", NULL},
        {"{'minItems':1.0,'maxItems':2}", "[[]]", NULL},
        {NULL, "[]", "must have at least 1 item, has 0 (schema /minItems)"},
        {NULL, "[1,2,3]", "must have at most 2 items, has 3 (schema /maxItems)"},
        {"{'minProperties':1,'maxProperties':1}", "{'a':[]}", NULL},
        {NULL, "{}", "must have at least 1 member, has 0 (schema /minProperties)"},
        {NULL, "{'a':1,'b':2}", "must have at most 1 member, has 2 (schema /maxProperties)"},
    };

    CHECK_ROWS(rows);
}

TEST(objects_are_checked_by_name_pattern_and_rest)
{
    static const struct row rows[] = {
        {"{'properties':{'city':{'type':'string'}},'patternProperties':{'^x-':{'type':'number'}},"
         "'additionalProperties':{'type':'boolean'}}",
         "{'city':'a','x-1':1,'other':true}",
         NULL},
        {NULL, "{'city':1}", "/city: expected string, got number (schema /properties/city/type)"},
        {NULL,
         "{'\\u0063ity':1}",
         "/city: expected string, got number (schema /properties/city/type)"},
        {NULL,
         "{'x-a':''}",
         "/x-a: expected number, got string (schema /patternProperties/^x-/type)"},
        {NULL,
         "{'a/b~':1}",
         "/a~1b~0: expected boolean, got number (schema /additionalProperties/type)"},
        {"{'properties':{'city':true,'unit':true},'additionalProperties':false}", "{}", NULL},
        {NULL,
         "{'citty':1}",
         "/citty: unknown property 'citty', did you mean 'city'? (schema /additionalProperties)"},
        {NULL,
         "{'wholly':1}",
         "/wholly: unknown property 'wholly'; known are 'city', 'unit' (schema "
         "/additionalProperties)"},
        {"{'properties':{'a':false}}", "{'b':1}", NULL},
        {NULL, "{'a':1}", "/a: nothing is allowed here (schema /properties/a)"},
        {"{'required':['a','b']}", "{'b':1,'a':2}", NULL},
        {NULL, "{'b':1}", "the property 'a' is required (schema /required)"},
        {NULL, "[]", NULL},
        {"{'dependentRequired':{'a':['b','c']}}", "{'b':1}", NULL},
        {NULL,
         "{'a':1,'b':1}",
         "the property 'c' is required because 'a' is there (schema /dependentRequired)"},
        {"{'dependentSchemas':{'a':{'maxProperties':1}}}", "{'b':1,'c':1}", NULL},
        {NULL,
         "{'b':1,'a':1}",
         "must have at most 1 member, has 2 (schema /dependentSchemas/a/maxProperties)"},
        {"{'propertyNames':{'maxLength':1}}", "{'a':1}", NULL},
        {NULL,
         "{'a':1,'bc':1}",
         "/bc: must have at most 1 character, has 2 (schema /propertyNames/maxLength)"},
    };

    CHECK_ROWS(rows);
}

TEST(arrays_are_checked_by_place_and_content)
{
    static const struct row rows[] = {
        {"{'prefixItems':[{'type':'string'}],'items':{'type':'number'}}", "['a',1,2]", NULL},
        {NULL, "[1]", "/0: expected string, got number (schema /prefixItems/0/type)"},
        {NULL, "['a',1,'b']", "/2: expected number, got string (schema /items/type)"},
        {"{'prefixItems':[true],'items':false}", "[1]", NULL},
        {NULL, "[1,2]", "/1: no more than 1 item is allowed (schema /items)"},
        {"{'contains':{'type':'string'}}", "[1,'a']", NULL},
        {NULL, "[1]", "must contain at least 1 item of the wanted kind, has 0 (schema /contains)"},
        {"{'contains':{'type':'string'},'minContains':2,'maxContains':3}", "['a',1,'b']", NULL},
        {NULL,
         "['a']",
         "must contain at least 2 items of the wanted kind, has 1 (schema /minContains)"},
        {NULL,
         "['a','b','c','d','e']",
         "must contain at most 3 items of the wanted kind, has 4 or more (schema /maxContains)"},
        {"{'contains':{'type':'string'},'minContains':0}", "[]", NULL},
        {"{'minContains':5}", "[]", NULL},
        {"{'uniqueItems':true}", "[1,'1',true,[1],[[1]],{'a':1},{'a':2},null]", NULL},
        {NULL, "[1,2,1.0]", "items 0 and 2 are equal, all must differ (schema /uniqueItems)"},
        {NULL,
         "[{'a':1,'b':[2]},{'b':[2e0],'\\u0061':1}]",
         "items 0 and 1 are equal, all must differ (schema /uniqueItems)"},
        {"{'uniqueItems':false}", "[1,1]", NULL},
    };

    CHECK_ROWS(rows);
}

TEST(combinations_explain_the_alternative_that_was_meant)
{
    static const struct row rows[] = {
        {"{'allOf':[{'type':'number'},{'minimum':2}]}", "2", NULL},
        {NULL, "1", "must be at least 2, got 1 (schema /allOf/1/minimum)"},
        {"{'anyOf':[{'type':'string'},{'type':'null'}]}", "null", NULL},
        {NULL, "1", "expected string or null, got number (schema /anyOf)"},
        {"{'anyOf':[{'type':'object','required':['a']},{'type':'null'}]}",
         "{}",
         "the property 'a' is required (schema /anyOf/0/required)"},
        {"{'anyOf':[{'minimum':5},{'maximum':1}]}",
         "3",
         "fits none of the 2 alternatives: (1) must be at least 5, got 3; (2) must be at most 1, "
         "got 3 (schema /anyOf)"},
        {"{'oneOf':[{'type':'integer'},{'minimum':2}]}", "1", NULL},
        {NULL, "3", "fits alternatives 1 and 2, must fit only one (schema /oneOf)"},
        {"{'oneOf':[{'properties':{'k':{'const':'a'},'x':{'type':'number'}}},"
         "{'properties':{'k':{'const':'b'},'y':{'type':'number'}}}]}",
         "{'k':'a','x':''}",
         "/x: expected number, got string (schema /oneOf/0/properties/x/type)"},
        {NULL,
         "{'k':'c'}",
         "fits none of the 2 alternatives: (1) /k: must be 'a', got 'c'; (2) /k: must be 'b', got "
         "'c' (schema /oneOf)"},
        {"{'anyOf':[false,{'type':'null'}]}", "1", "expected null, got number (schema /anyOf)"},
        {"{'not':{'type':'null'}}", "1", NULL},
        {NULL, "null", "matches a schema that it must not match (schema /not)"},
        {"{'if':{'type':'string'},'then':{'minLength':1},'else':{'const':0}}", "'a'", NULL},
        {NULL, "''", "must have at least 1 character, has 0 (schema /then/minLength)"},
        {NULL, "1", "must be 0, got 1 (schema /else/const)"},
        {"{'then':false,'else':false}", "1", NULL},
        {"{'if':{'type':'string'},'else':false}", "'a'", NULL},
    };

    CHECK_ROWS(rows);
}

TEST(unevaluated_sees_what_its_own_schema_looked_at)
{
    static const struct row rows[] = {
        {"{'properties':{'a':true},'allOf':[{'properties':{'b':true}}],"
         "'unevaluatedProperties':false}",
         "{'a':1,'b':2}",
         NULL},
        {NULL,
         "{'c':1}",
         "/c: unknown property 'c'; known are 'a' (schema /unevaluatedProperties)"},
        {"{'anyOf':[{'properties':{'a':{'const':1}},'required':['a']},"
         "{'properties':{'b':true},'required':['b']}],'unevaluatedProperties':false}",
         "{'a':1,'b':2}",
         NULL},
        {NULL, "{'a':2,'b':2}", "/a: unknown property 'a' (schema /unevaluatedProperties)"},
        {"{'allOf':[{'properties':{'a':true}},{'unevaluatedProperties':false}]}",
         "{'a':1}",
         "/a: unknown property 'a' (schema /allOf/1/unevaluatedProperties)"},
        {"{'if':{'properties':{'a':{'const':1}}},'then':{'properties':{'b':true}},"
         "'unevaluatedProperties':{'type':'null'}}",
         "{'a':1,'b':2,'c':null}",
         NULL},
        {NULL, "{'a':2}", "/a: expected null, got number (schema /unevaluatedProperties/type)"},
        {"{'not':{'properties':{'a':{'const':1}}},'unevaluatedProperties':false}",
         "{'a':2}",
         "/a: unknown property 'a' (schema /unevaluatedProperties)"},
        {"{'prefixItems':[true],'contains':{'const':7},'unevaluatedItems':false}", "[1,7]", NULL},
        {NULL, "[1,7,2]", "/2: no item is allowed here (schema /unevaluatedItems)"},
        {"{'$ref':'#/$defs/a','unevaluatedItems':{'type':'null'},'$defs':{'a':{'prefixItems':"
         "[true]}}}",
         "[1,null]",
         NULL},
        {NULL, "[1,2]", "/1: expected null, got number (schema /unevaluatedItems/type)"},
        {"{'patternProperties':{'^a':true},'unevaluatedProperties':false}", "{'ab':1}", NULL},
        {"{'dependentSchemas':{'a':{'properties':{'a':true,'b':true}}},'unevaluatedProperties':"
         "false}",
         "{'a':1,'b':1}",
         NULL},
    };

    CHECK_ROWS(rows);
}

TEST(references_reach_pointers_anchors_and_ids)
{
    static const struct row rows[] = {
        {"{'$ref':'#/$defs/a%22~1','$defs':{'a\\\"/':{'type':'null'}}}",
         "1",
         "expected null, got number (schema /$defs/a'~1/type)"},
        {"{'$ref':'#x','$defs':{'a':{'$anchor':'x','type':'null'}}}", "null", NULL},
        {"{'$id':'http://e.x/a/b','properties':{'p':{'$ref':'../c?q#/$defs/d'}},'$defs':{'c':"
         "{'$id':'http://e.x/c?q','$defs':{'d':{'type':'null'}}}}}",
         "{'p':1}",
         "/p: expected null, got number (schema /$defs/c/$defs/d/type)"},
        {"{'$id':'urn:x:y','$ref':'#/$defs/a','$defs':{'a':{'type':'null'}}}", "null", NULL},
        {"{'properties':{'child':{'$ref':'#'},'v':{'type':'null'}}}",
         "{'child':{'child':{'v':1}}}",
         "/child/child/v: expected null, got number (schema /properties/v/type)"},
        {"{'$ref':'#/other/0','other':[{'type':'null'}]}", "null", NULL},
        {"{'$ref':'#/$defs/a','maximum':1,'$defs':{'a':{'minimum':0}}}",
         "2",
         "must be at most 1, got 2 (schema /maximum)"},
        {"{'$id':'http://e.x/strict','$dynamicAnchor':'node','$ref':'tree','required':['v'],"
         "'$defs':{'t':{'$id':'tree','$dynamicAnchor':'node','properties':{'kids':{'items':"
         "{'$dynamicRef':'#node'}}}}}}",
         "{'v':1,'kids':[{'v':2}]}",
         NULL},
        {NULL, "{'v':1,'kids':[{}]}", "/kids/0: the property 'v' is required (schema /required)"},
        {"{'$ref':'" META "'}", "{'type':'object'}", NULL},
        {NULL,
         "{'properties':{'a':{'minLength':-1}}}",
         "/properties/a/minLength: must be at least 0, got -1 (schema " META
         "#/$defs/validation/$defs/count/minimum)"},
    };

    CHECK_ROWS(rows);
}

TEST(older_drafts_are_read_as_they_were_meant)
{
    static const struct row rows[] = {
        {"{" D7 ",'items':[{'type':'string'}],'additionalItems':{'type':'null'}}",
         "['a',null]",
         NULL},
        {NULL, "['a',1]", "/1: expected null, got number (schema /additionalItems/type)"},
        {"{'items':[{'type':'string'}]}",
         "[1]",
         "/0: expected string, got number (schema "
         "/items/0/type)"},
        {"{" D7 ",'dependencies':{'a':['b'],'c':{'required':['d']}}}", "{'x':1}", NULL},
        {NULL,
         "{'a':1}",
         "the property 'b' is required because 'a' is there (schema /dependencies)"},
        {NULL, "{'c':1}", "the property 'd' is required (schema /dependencies/c/required)"},
        {"{" D20 ",'dependencies':{'a':['b']}}", "{'a':1}", NULL},
        {"{" D7 ",'definitions':{'a':{'type':'null'}},'$ref':'#/definitions/a','const':1}",
         "null",
         NULL},
        {"{" D7 ",'definitions':{'a':{'$id':'#x','type':'null'}},'items':{'$ref':'#x'}}",
         "[1]",
         "/0: expected null, got number (schema /definitions/a/type)"},
        {"{" D4 ",'minimum':1,'exclusiveMinimum':true}", "2", NULL},
        {NULL, "1", "must be greater than 1, got 1 (schema /minimum)"},
        {"{" D4 ",'id':'http://e.x/a','$ref':'#/definitions/b','definitions':{'b':"
         "{'type':'null'}}}",
         "null",
         NULL},
        {"{" D4 ",'const':1}", "2", NULL},
        {"{" D19 ",'$recursiveAnchor':true,'properties':{'a':{'$recursiveRef':'#'},'v':"
         "{'type':'null'}}}",
         "{'a':{'v':1}}",
         "/a/v: expected null, got number (schema /properties/v/type)"},
        {"{'format':'email','contentEncoding':'base64','title':7,'x-mine':{'$ref':'nowhere'}}",
         "'?'",
         NULL},
    };

    CHECK_ROWS(rows);
}

TEST(schemas_that_are_wrong_are_refused_with_the_place)
{
    static const struct {
        const char *schema, *problem;
    } rows[] = {
        {"{'type':7}",
         "schema /type: must be null, boolean, number, integer, string, array or "
         "object, or an array of these names, got 7"},
        {"{'type':'text'}",
         "schema /type: must be null, boolean, number, integer, string, array "
         "or object, or an array of these names, got 'text'"},
        {"{'required':'a'}", "schema /required: must be an array of strings, got 'a'"},
        {"{'required':[1]}", "schema /required/0: must be a string, got 1"},
        {"{'pattern':'('}",
         "schema /pattern: not a regular expression: missing closing parenthesis"},
        {"{'patternProperties':{'[':true}}",
         "schema /patternProperties: a class that is not closed, at character 1 of the regular "
         "expression"},
        {"{'items':{'minLength':-1}}",
         "schema /items/minLength: must be a whole number, 0 or more, got -1"},
        {"{'maxItems':1.5}", "schema /maxItems: must be a whole number, 0 or more, got 1.5"},
        {"{'multipleOf':0}", "schema /multipleOf: must be greater than 0, got 0"},
        {"{'minimum':'1'}", "schema /minimum: must be a number, got '1'"},
        {"{'enum':{}}", "schema /enum: must be an array of values, got {}"},
        {"{'uniqueItems':1}", "schema /uniqueItems: must be a boolean, got 1"},
        {"{'properties':[]}", "schema /properties: must be an object, got []"},
        {"{'properties':{'a':1}}",
         "schema /properties/a: must be a schema: an object, true or false, got 1"},
        {"{'allOf':[]}", "schema /allOf: must be an array of one schema or more, got []"},
        {"{'not':null}", "schema /not: must be a schema: an object, true or false, got null"},
        {"{'$defs':{'a':{'type':1}}}",
         "schema /$defs/a/type: must be null, boolean, number, "
         "integer, string, array or object, or an array of these "
         "names, got 1"},
        {"{" D20 ",'items':[true]}",
         "schema /items: must be a schema; an array of schemas is "
         "prefixItems in 2020-12, got an array"},
        {"{'$ref':7}", "schema /$ref: must be a string, got 7"},
        {"{'$ref':'#/$defs/b'}",
         "schema /$ref: '#/$defs/b' names nothing in this schema or the "
         "documents registered with it; documents are never fetched"},
        {"{'$ref':'http://e.x/s'}",
         "schema /$ref: 'http://e.x/s' names nothing in this schema or the documents registered "
         "with it; documents are never fetched"},
        {"{'$ref':'#/type','type':'null'}",
         "schema /type: must be a schema: an object, true or false, got 'null'"},
        {"{'$ref':'#'}", "schema: refers back to itself for the same value, without end"},
        {"{'$defs':{'a':{'anyOf':[{'$ref':'#/$defs/b'}]},'b':{'not':{'$ref':'#/$defs/a'}}}}",
         "schema /$defs/a: refers back to itself for the same value, without end"},
        {"{'$defs':{'a':{'$anchor':'x'},'b':{'$anchor':'x'}}}",
         "schema /$defs/b: has an anchor that another schema already has"},
        {"{" D20 ",'$defs':{'a':{'$id':'x#y'}}}",
         "schema /$defs/a: has an $id with a fragment; use $anchor"},
        {"{'$schema':'http://json-schema.org/draft-03/schema#'}",
         "schema /$schema: names a draft older than 4"},
        {"[]", "schema: must be a schema: an object, true or false, got []"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct schema *s = schema_new();
        struct arena a;
        struct err e;

        arena_init(&a, 1 << 16);
        CHECK_F(!schema_compile(s, quotes(&a, rows[i].schema), &e), "%s", rows[i].schema);
        CHECK_INT(e.code, ERR_INPUT);
        CHECK_STR(str_c(e.text), quotes(&a, rows[i].problem).p);
        schema_free(s);
        arena_release(&a);
    }
}

TEST_MAIN(T(type_const_and_enum_say_what_was_expected), T(numbers_are_compared_without_rounding),
          T(lengths_count_characters_not_bytes), T(objects_are_checked_by_name_pattern_and_rest),
          T(arrays_are_checked_by_place_and_content),
          T(combinations_explain_the_alternative_that_was_meant),
          T(unevaluated_sees_what_its_own_schema_looked_at),
          T(references_reach_pointers_anchors_and_ids), T(older_drafts_are_read_as_they_were_meant),
          T(schemas_that_are_wrong_are_refused_with_the_place))
