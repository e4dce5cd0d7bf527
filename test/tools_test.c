/* tools_test.c - schemas of tools: converted through every dialect, with non-standard types, with
 * unusual names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/tool.h"
#include "tool_help.h"
#include "wire/wire.h"

#define TEXT_MAX ((size_t)4 << 20)

static bool nothing(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)c, (void)out, (void)e;
    return true;
}

/* ' replaces ". Valid arguments, and invalid ones with the place and the reason. */
static const struct {
    const char *name, *description, *schema, *good, *bad, *where, *why;
} tools[] = {
    {"plain",
     "One text",
     "{'type':'object','properties':{'city':{'type':'string','description':'Where'}},"
     "'required':['city']}",
     "{'city':'Oslo'}",
     "{}",
     "city",
     "required"},
    {"nested",
     "Objects in objects",
     "{'type':'object','properties':{'a':{'type':'object','properties':{'b':{'type':'object',"
     "'properties':{'c':{'type':'integer'}},'required':['c']}},'required':['b']}},"
     "'required':['a']}",
     "{'a':{'b':{'c':3}}}",
     "{'a':{'b':{'c':'3'}}}",
     "/a/b/c",
     "integer"},
    {"rows",
     "A list of objects",
     "{'type':'object','properties':{'rows':{'type':'array','minItems':1,'items':{'type':'object',"
     "'properties':{'sku':{'type':'string'},'n':{'type':'integer','minimum':1}},"
     "'required':['sku','n'],'additionalProperties':false}}},'required':['rows']}",
     "{'rows':[{'sku':'a','n':1},{'sku':'b','n':2}]}",
     "{'rows':[{'sku':'a','n':1},{'sku':'b','n':0}]}",
     "/rows/1/n",
     "1"},
    {"choice",
     "One of three",
     "{'type':'object','properties':{'unit':{'type':'string','enum':['c','f','k']}},"
     "'required':['unit']}",
     "{'unit':'k'}",
     "{'unit':'r'}",
     "/unit",
     "c"},
    {"either",
     "A text or a number",
     "{'type':'object','properties':{'id':{'anyOf':[{'type':'string'},{'type':'integer'}]}},"
     "'required':['id']}",
     "{'id':7}",
     "{'id':true}",
     "/id",
     ""},
    {"exactly",
     "A card or an account",
     "{'type':'object','properties':{'pay':{'oneOf':[{'type':'object','properties':{'card':"
     "{'type':'string'}},'required':['card']},{'type':'object','properties':{'iban':{'type':"
     "'string'}},'required':['iban']}]}},'required':['pay']}",
     "{'pay':{'iban':'NO1'}}",
     "{'pay':{'card':'1','iban':'NO1'}}",
     "/pay",
     ""},
    {"referred",
     "A tree",
     "{'type':'object','$defs':{'node':{'type':'object','properties':{'name':{'type':'string'},"
     "'kids':{'type':'array','items':{'$ref':'#/$defs/node'}}},'required':['name']}},"
     "'properties':{'root':{'$ref':'#/$defs/node'}},'required':['root']}",
     "{'root':{'name':'a','kids':[{'name':'b'}]}}",
     "{'root':{'name':'a','kids':[{'name':1}]}}",
     "/root/kids/0/name",
     "string"},
    {"perhaps",
     "A text or nothing",
     "{'type':'object','properties':{'note':{'type':['string','null']}},'required':['note']}",
     "{'note':null}",
     "{'note':1}",
     "/note",
     "null"},
    {"fixed",
     "Only one value will do",
     "{'type':'object','properties':{'v':{'const':2}},'required':['v']}",
     "{'v':2}",
     "{'v':3}",
     "/v",
     "2"},
    {"usual",
     "With defaults",
     "{'type':'object','properties':{'n':{'type':'integer','default':10},'deep':{'type':'object',"
     "'default':{'type':'dict','properties':[1]}}}}",
     "{}",
     "{'n':'x'}",
     "/n",
     "integer"},
    {"formatted",
     "Formats are notes",
     "{'type':'object','properties':{'at':{'type':'string','format':'date-time'},"
     "'mail':{'type':'string','format':'email'}}}",
     "{'at':'2026-01-01T00:00:00Z'}",
     "{'at':5}",
     "/at",
     "string"},
    {"shaped",
     "A pattern and lengths",
     "{'type':'object','properties':{'code':{'type':'string','pattern':'^[A-Z]{2}\\\\\\\\d+$',"
     "'minLength':3,'maxLength':8}},'required':['code']}",
     "{'code':'AB12'}",
     "{'code':'ab12'}",
     "/code",
     ""},
    {"bounded",
     "Numbers in bounds",
     "{'type':'object','properties':{'p':{'type':'number','minimum':0,'exclusiveMaximum':1,"
     "'multipleOf':0.25},'l':{'type':'array','items':{'type':'number'},'minItems':2,'maxItems':3,"
     "'uniqueItems':true}}}",
     "{'p':0.75,'l':[1,2]}",
     "{'p':1}",
     "/p",
     "1"},
    {"closed",
     "Nothing else",
     "{'type':'object','properties':{'a':{'type':'string'}},'additionalProperties':false}",
     "{'a':'x'}",
     "{'b':'x'}",
     "/b",
     ""},
    {"labels",
     "Any names, numbers only",
     "{'type':'object','additionalProperties':{'type':'number'}}",
     "{'x':1,'y':2.5}",
     "{'x':'1'}",
     "/x",
     "number"},
    {"pair",
     "A place",
     "{'type':'object','properties':{'at':{'type':'array','prefixItems':[{'type':'number'},"
     "{'type':'number'}],'items':false,'minItems':2}},'required':['at']}",
     "{'at':[1,2]}",
     "{'at':[1,2,3]}",
     "/at",
     ""},
    {"none_named", "No properties", "{'type':'object','properties':{}}", "{}", "[]", "", "object"},
    {"nothing_said", "No schema", NULL, "{'what':'ever'}", "7", "", "object"},
    {"empty", "An empty schema", "{}", "{'a':1}", "[1", "", "JSON"},
    {"unicode",
     "Gr\xc3\xb6\xc3\x9f"
     "e \xe2\x80\x94 \xe6\xb8\xa9\xe5\xba\xa6 \xf0\x9f\x8c\xa1 and a \\\\ tab\\t quote \\'",
     "{'type':'object','properties':{'gr\xc3\xb6\xc3\x9f"
     "e':{'type':'string','description':'\xf0\x9f\x98\x80\\\\u0041\\\\n'},"
     "'a\\\\'b':{'type':'integer'}},'required':['gr\xc3\xb6\xc3\x9f"
     "e']}",
     "{'gr\xc3\xb6\xc3\x9f"
     "e':'m','a\\\\'b':1}",
     "{'gr\xc3\xb6\xc3\x9f"
     "e':'m','a\\\\'b':1.5}",
     "/a\"b",
     "integer"},
    {"names_like_words",
     "Properties named as keywords are",
     "{'type':'object','properties':{'type':{'type':'string','enum':['STRING','OBJECT']},"
     "'properties':{'type':'integer'},'items':{'type':'array','items':{'type':'string'}},"
     "'nullable':{'type':'boolean'},'required':{'type':'boolean'}},'required':['type']}",
     "{'type':'STRING','properties':1,'items':['a'],'nullable':true,'required':false}",
     "{'type':'string'}",
     "/type",
     "STRING"},
    {"conditional",
     "If this, then that",
     "{'type':'object','properties':{'kind':{'enum':['a','b']},'n':{'type':'integer'}},"
     "'if':{'properties':{'kind':{'const':'a'}}},'then':{'required':['n']},"
     "'dependentRequired':{'n':['kind']}}",
     "{'kind':'a','n':1}",
     "{'kind':'a'}",
     "n",
     ""},
};

/* \' is a quote inside a string: \\' in the tables is \" in JSON. */
static void unquote(struct buf *out, const char *text)
{
    buf_reset(out);
    for (; *text; text++) {
        if (text[0] == '\\' && text[1] == '\\') {
            buf_add_c(out, '\\');
            text++;
            if (text[1] == '\\' && text[2] == '\\') {
                buf_add_c(out, '\\');
                text += 2;
            }
        } else {
            buf_add_c(out, *text == '\'' ? '"' : *text);
        }
    }
}

static void write_tool(struct buf *out, str name, str description, str schema)
{
    buf_add(out, STR("{\"type\":\"function\",\"function\":{\"name\":"));
    (void)json_quote(out, name);
    buf_add(out, STR(",\"description\":"));
    (void)json_quote(out, description);
    if (schema.n) {
        buf_add(out, STR(",\"parameters\":"));
        buf_add(out, schema);
    }
    buf_add(out, STR("}}"));
}

TEST(every_kind_of_schema_goes_through_every_dialect_and_back)
{
    struct buf body, schema;

    buf_init(&body, TEXT_MAX);
    buf_init(&schema, TEXT_MAX);
    buf_add(&body,
            STR("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],"
                "\"tools\":["));
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        unquote(&schema, tools[i].schema ? tools[i].schema : "");
        buf_add(&body, i ? STR(",") : STR(""));
        write_tool(&body, str_c(tools[i].name), str_c(tools[i].description), buf_str(&schema));
    }
    buf_add(&body, STR("]}"));
    CHECK_INT(check_dialects(buf_str(&body)), 6 * COUNT_OF(tools));
    buf_release(&body);
    buf_release(&schema);
}

TEST(a_very_long_schema_goes_through_every_dialect_and_back)
{
    struct buf body, schema;

    buf_init(&body, TEXT_MAX);
    buf_init(&schema, TEXT_MAX);
    buf_add(&schema, STR("{\"type\":\"object\",\"properties\":{"));
    for (int i = 0; i < 3000; i++)
        buf_printf(&schema,
                   "%s\"property_%d\":{\"type\":\"string\",\"description\":\"number %d of "
                   "many\",\"enum\":[\"a%d\",\"b%d\"]}",
                   i ? "," : "",
                   i,
                   i,
                   i,
                   i);
    buf_add(&schema, STR("}}"));
    buf_add(&body,
            STR("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],"
                "\"tools\":["));
    write_tool(&body, STR("long"), buf_str(&schema), buf_str(&schema));
    buf_add(&body, STR("]}"));
    CHECK_INT(check_dialects(buf_str(&body)), 6);
    buf_release(&body);
    buf_release(&schema);
}

static const struct tool *add(struct toolbox *b, const char *name, str schema, unsigned flags)
{
    struct tool t = {.name = str_c(name),
                     .description = STR("d"),
                     .schema = schema,
                     .flags = flags,
                     .run = nothing};
    struct err e;

    if (!toolbox_add(b, &t, &e))
        fail_msg("%s", e.text);
    return toolbox_find(b, str_c(name));
}

TEST(good_arguments_are_taken_and_bad_ones_come_back_with_path_and_reason)
{
    struct toolbox *b = toolbox_new(&clock_real);
    struct buf text, why;

    buf_init(&text, TEXT_MAX);
    buf_init(&why, TEXT_MAX);
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        const struct tool *t;

        unquote(&text, tools[i].schema ? tools[i].schema : "");
        t = add(b, tools[i].name, buf_str(&text), 0);
        CHECK(!t->loose);
        buf_reset(&why);
        unquote(&text, tools[i].good);
        CHECK_F(toolbox_check(b, t, buf_str(&text), &why),
                "%s: " STR_FMT,
                tools[i].name,
                STR_ARG(buf_str(&why)));
        unquote(&text, tools[i].bad);
        CHECK_F(!toolbox_check(b, t, buf_str(&text), &why), "%s", tools[i].name);
        CHECK_F(str_find(buf_str(&why), str_c(tools[i].where)) != STR_NONE &&
                    str_find(buf_str(&why), str_c(tools[i].why)) != STR_NONE,
                "%s: " STR_FMT,
                tools[i].name,
                STR_ARG(buf_str(&why)));
    }
    buf_release(&text);
    buf_release(&why);
    toolbox_free(b);
}

TEST(types_in_the_words_of_programming_languages_are_understood)
{
    static const struct {
        const char *loose, *meant;
    } rows[] = {
        {"{'type':'dict','properties':{'a':{'type':'float'},'b':{'type':'tuple','items':{'type':"
         "'int'}}},'required':['a']}",
         "{'type':'object','properties':{'a':{'type':'number'},'b':{'type':'array','items':{'type':"
         "'integer'}}},'required':['a']}"},
        {"{'type':'dict','properties':{'m':{'type':'HashMap','properties':{'k':{'type':'String'}}},"
         "'l':{'type':'ArrayList','items':{'type':'long'}},'c':{'type':'char'},'x':{'type':'any'},"
         "'y':{'type':''},'z':{'type':'IResultSetController','description':'d'}}}",
         "{'type':'object','properties':{'m':{'type':'object','properties':{'k':{'type':'string'}},"
         "'required':[]},'l':{'type':'array','items':{'type':'integer'}},'c':{'type':'string'},"
         "'x':{},'y':{},'z':{'description':'d'}},'required':[]}"},
        {"{'type':'OBJECT','properties':{'a':{'type':'ArrayList<String>'},'b':{'type':'double[]'},"
         "'c':{'type':'List[List[int]]'},'d':{'type':'Map<String, Integer>'}}}",
         "{'type':'object','properties':{'a':{'type':'array','items':{'type':'string'}},'b':"
         "{'type':'array','items':{'type':'number'}},'c':{'type':'array','items':{'type':'array',"
         "'items':{'type':'integer'}}},'d':{'type':'object'}},'required':[]}"},
        {"{'type':'dict','properties':{'a':{'type':'str','required':true},'b':{'type':['float',"
         "'None','number']},'c':{'type':'str','enum':['dict','float'],'default':null,"
         "'required':false}},'required':['b']}",
         "{'type':'object','properties':{'a':{'type':'string'},'b':{'type':['number','null']},"
         "'c':{'type':'string','enum':['dict','float'],'default':null}},'required':['b','a']}"},
        {"{'type':'dict','properties':{'type':{'type':'str'},'properties':{'type':'dict',"
         "'properties':{'items':{'type':'list','items':[{'type':'float'},{'type':'bool'}]}}}}}",
         "{'type':'object','properties':{'type':{'type':'string'},'properties':{'type':'object',"
         "'properties':{'items':{'type':'array','prefixItems':[{'type':'number'},{'type':"
         "'boolean'}]}},'required':[]}},'required':[]}"},
        {"{'type':'dict','properties':{'a':{'anyOf':[{'type':'int'},{'type':'none'}]}},'$defs':"
         "{'x':{'type':'bool'}}}",
         "{'type':'object','properties':{'a':{'anyOf':[{'type':'integer'},{'type':'null'}]}},"
         "'$defs':{'x':{'type':'boolean'}},'required':[]}"},
    };
    struct buf loose, meant;

    buf_init(&loose, TEXT_MAX);
    buf_init(&meant, TEXT_MAX);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct toolbox *b = toolbox_new(&clock_real);
        const struct tool *t;

        unquote(&loose, rows[i].loose);
        unquote(&meant, rows[i].meant);
        t = add(b, "t", buf_str(&loose), 0);
        CHECK(t->loose);
        CHECK_F(same_json(t->schema, buf_str(&meant)), STR_FMT, STR_ARG(t->schema));
        toolbox_free(b);
    }
    buf_release(&loose);
    buf_release(&meant);
}

TEST(what_is_no_schema_at_all_is_still_refused)
{
    static const char *const texts[] = {"[]",
                                        "{",
                                        "7",
                                        "{\"type\":\"object\",\"properties\":7}",
                                        "{\"type\":\"dict\",\"properties\":{\"a\":{\"$ref\":7}}}",
                                        "{\"type\":\"object\",\"minProperties\":\"x\"}"};
    struct toolbox *b = toolbox_new(&clock_real);
    struct err e;

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        CHECK_F(!toolbox_add(b,
                             &(struct tool){.name = STR("t"),
                                            .description = STR(""),
                                            .schema = str_c(texts[i]),
                                            .run = nothing},
                             &e),
                "%s",
                texts[i]);
        CHECK(e.code == ERR_INPUT);
        CHECK(strstr(e.text, "tool t: ") == e.text);
    }
    CHECK_INT(toolbox_count(b), 0);
    toolbox_free(b);
}

TEST(a_strict_tool_takes_no_members_that_it_does_not_name)
{
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\",\"properties\":"
        "{\"b\":{\"type\":\"string\"}}},\"any\":{\"type\":\"object\"},"
        "\"open\":{\"type\":\"object\",\"properties\":{},\"additionalProperties\":true}}}";
    struct toolbox *b = toolbox_new(&clock_real);
    const struct tool *open = add(b, "open", str_c(schema), 0),
                      *strict = add(b, "strict", str_c(schema), TOOL_STRICT);
    struct buf why;

    buf_init(&why, TEXT_MAX);
    CHECK(!strict->loose);
    CHECK(toolbox_check(b, strict, STR("{\"a\":{\"b\":\"x\"},\"any\":{\"x\":1}}"), &why));
    CHECK(toolbox_check(b, strict, STR("{\"open\":{\"x\":1}}"), &why));
    CHECK(toolbox_check(b, open, STR("{\"z\":1,\"a\":{\"z\":1}}"), &why));
    CHECK(!toolbox_check(b, strict, STR("{\"z\":1}"), &why));
    CHECK(str_find(buf_str(&why), STR("/z")) != STR_NONE);
    buf_reset(&why);
    CHECK(!toolbox_check(b, strict, STR("{\"a\":{\"bb\":1}}"), &why));
    CHECK(str_find(buf_str(&why), STR("/a/bb")) != STR_NONE);
    buf_release(&why);
    toolbox_free(b);
}

static bool allowed(str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            return false;
    }
    return name.n > 0 && name.n <= 64 && name.p[0] != '-' &&
           !(name.p[0] >= '0' && name.p[0] <= '9');
}

TEST(a_name_that_providers_refuse_is_called_by_another_and_found_by_both)
{
    static const char *const names[] = {
        "math.hypot",
        "math_hypot",
        "math-hypot",
        "math:hypot",
        "a b",
        "a/b",
        "7zip",
        "-x",
        "\xe6\xb8\xa9\xe5\xba\xa6",
        "\xe6\xb8\xa9\xe5\xba\xa7",
        "an_exceedingly_long_name_of_a_tool_that_has_more_than_sixty_four_letters_a",
        "an_exceedingly_long_name_of_a_tool_that_has_more_than_sixty_four_letters_b",
        "\"quoted\"\n"};
    struct toolbox *b = toolbox_new(&clock_real), *other = toolbox_new(&clock_real);
    struct err e;

    for (size_t i = 0; i < COUNT_OF(names); i++)
        add(b, names[i], STR(""), 0);
    for (size_t i = COUNT_OF(names); i--;)
        add(other, names[i], STR(""), 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct tool *t = toolbox_find(b, str_c(names[i]));

        CHECK_STR(t->name, names[i]);
        CHECK_F(allowed(t->called), STR_FMT, STR_ARG(t->called));
        CHECK(toolbox_find(b, t->called) == t);
        CHECK(!allowed(t->name) || str_eq(t->name, t->called));
        CHECK(str_eq(toolbox_find(other, str_c(names[i]))->called, t->called));
    }
    CHECK(!toolbox_add(b, &(struct tool){.name = STR("a/b"), .run = nothing}, &e));
    CHECK(!toolbox_add(b, &(struct tool){.name = STR(""), .run = nothing}, &e));
    toolbox_free(b);
    toolbox_free(other);
}

static void gemini_schema_of(const char *parameters, struct arena *a, str *out)
{
    struct chat_request r;
    struct json *doc = arena_zero(a, 1, sizeof *doc);
    struct buf quoted;
    struct err e;
    str body;

    buf_init(&quoted, TEXT_MAX);
    unquote(&quoted, parameters);
    body = arena_printf(
        a,
        "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]}],"
        "\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\",\"parameters\":" STR_FMT "}]}]}",
        STR_ARG(buf_str(&quoted)));
    buf_release(&quoted);
    json_init(doc);
    if (!json_parse(doc, body, &e) || !wire_get(CHAT_GEMINI)->read(doc, a, &r, &e))
        fail_msg("%s", e.text);
    *out = arena_dup(a, r.tools[0].schema);
    json_release(doc);
}

TEST(a_schema_in_the_words_of_gemini_becomes_json_schema)
{
    static const struct {
        const char *theirs, *ours;
    } rows[] = {
        {"{'type':'OBJECT','properties':{'a':{'type':'STRING','nullable':true},'b':{'type':'ARRAY',"
         "'items':{'type':'INTEGER'},'minItems':'2'}},'required':['a']}",
         "{'type':'object','properties':{'a':{'type':['string','null']},'b':{'type':'array',"
         "'items':{'type':'integer'},'minItems':2}},'required':['a']}"},
        {"{'type':'OBJECT','properties':{'caf\\\\u00e9':{'type':'NUMBER'}}}",
         "{'type':'object','properties':{'caf\xc3\xa9':{'type':'number'}}}"},
        {"{'type':'OBJECT','properties':{'e':{'type':'STRING','enum':['A','B'],'nullable':true}}}",
         "{'type':'object','properties':{'e':{'type':['string','null'],'enum':['A','B',null]}}}"},
        {"{'type':'OBJECT','properties':{'type':{'type':'STRING','enum':['OBJECT']}}}",
         "{'type':'object','properties':{'type':{'type':'string','enum':['OBJECT']}}}"},
    };
    struct arena a;
    struct buf ours;

    arena_init(&a, TEXT_MAX);
    buf_init(&ours, TEXT_MAX);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        str got;

        gemini_schema_of(rows[i].theirs, &a, &got);
        unquote(&ours, rows[i].ours);
        CHECK_F(same_json(got, buf_str(&ours)), STR_FMT, STR_ARG(got));
    }
    buf_release(&ours);
    arena_release(&a);
}

TEST_MAIN(T(every_kind_of_schema_goes_through_every_dialect_and_back),
          T(a_very_long_schema_goes_through_every_dialect_and_back),
          T(good_arguments_are_taken_and_bad_ones_come_back_with_path_and_reason),
          T(types_in_the_words_of_programming_languages_are_understood),
          T(what_is_no_schema_at_all_is_still_refused),
          T(a_strict_tool_takes_no_members_that_it_does_not_name),
          T(a_name_that_providers_refuse_is_called_by_another_and_found_by_both),
          T(a_schema_in_the_words_of_gemini_becomes_json_schema))
