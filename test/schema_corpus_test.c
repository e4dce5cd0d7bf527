/* All required cases of the public test suite of JSON Schema 2020-12.
 *
 * Some cases refer to documents that the suite serves over HTTP. The test fetches nothing, so it
 * excludes those cases by name. A case on the list that passes is an error too. The excluded cases
 * also run with documents of our own in place of the served ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema.h"
#include "test.h"

#include <dirent.h>

#define SUITE "json-schema-2020-12"
#define REMOTE "http://localhost:1234/draft2020-12/"
#define FILE_MAX ((size_t)1 << 20)

/* test NULL: the whole group. */
static const struct {
    const char *file, *group, *test;
} left_out[] = {
    {"refRemote.json", "remote ref", NULL},
    {"refRemote.json", "fragment within remote ref", NULL},
    {"refRemote.json", "anchor within remote ref", NULL},
    {"refRemote.json", "ref within remote ref", NULL},
    {"refRemote.json", "base URI change", NULL},
    {"refRemote.json", "base URI change - change folder", NULL},
    {"refRemote.json", "base URI change - change folder in subschema", NULL},
    {"refRemote.json", "root ref in remote ref", NULL},
    {"refRemote.json", "remote ref with ref to defs", NULL},
    {"refRemote.json", "Location-independent identifier in remote ref", NULL},
    {"refRemote.json", "retrieved nested refs resolve relative to their URI not $id", NULL},
    {"refRemote.json", "remote HTTP ref with different $id", NULL},
    {"refRemote.json", "remote HTTP ref with different URN $id", NULL},
    {"refRemote.json", "remote HTTP ref with nested absolute ref", NULL},
    {"refRemote.json", "$ref to $ref finds detached $anchor", NULL},
    {"dynamicRef.json", "strict-tree schema, guards against misspelled properties", NULL},
    {"dynamicRef.json", "tests for implementation dynamic anchor and reference link", NULL},
    {"dynamicRef.json", "$ref and $dynamicAnchor are independent of order - $defs first", NULL},
    {"dynamicRef.json", "$ref and $dynamicAnchor are independent of order - $ref first", NULL},
    {"dynamicRef.json", "$ref to $dynamicRef finds detached $dynamicAnchor", NULL},
    {"vocabulary.json",
     "schema that uses custom metaschema with with no validation vocabulary",
     "no validation: invalid number, but it still validates"},
};

/* Our documents with the properties that those cases need; ' replaces ". */
static const struct {
    const char *uri, *text;
} documents[] = {
    {REMOTE "integer.json", "{'type':'integer'}"},
    {REMOTE "subSchemas.json",
     "{'$defs':{'integer':{'type':'integer'},'refToInteger':{'$ref':'#/$defs/integer'}}}"},
    {REMOTE "locationIndependentIdentifier.json",
     "{'$defs':{'refToInteger':{'$ref':'#foo'},'A':{'$anchor':'foo','type':'integer'}}}"},
    {REMOTE "baseUriChange/folderInteger.json", "{'type':'integer'}"},
    {REMOTE "baseUriChangeFolder/folderInteger.json", "{'type':'integer'}"},
    {REMOTE "baseUriChangeFolderInSubschema/folderInteger.json", "{'type':'integer'}"},
    {REMOTE "name-defs.json",
     "{'type':'string','$defs':{'orNull':{'anyOf':[{'type':'null'},{'$ref':'#'}]}}}"},
    {REMOTE "ref-and-defs.json",
     "{'$id':'" REMOTE "ref-and-defs.json','$ref':'#/$defs/inner','$defs':{'inner':"
     "{'properties':{'bar':{'type':'string'}}}}}"},
    {REMOTE "nested/foo-ref-string.json", "{'properties':{'foo':{'$ref':'string.json'}}}"},
    {REMOTE "nested/string.json", "{'type':'string'}"},
    {REMOTE "different-id-ref-string.json",
     "{'$id':'http://elsewhere.example/other','$ref':'#/$defs/s','$defs':{'s':"
     "{'type':'string'}}}"},
    {REMOTE "urn-ref-string.json",
     "{'$id':'urn:example:other','$ref':'#/$defs/s','$defs':{'s':{'type':'string'}}}"},
    {REMOTE "nested-absolute-ref-to-string.json",
     "{'$defs':{'s':{'$id':'http://elsewhere.example/s','type':'string'}},"
     "'$ref':'http://elsewhere.example/s'}"},
    {REMOTE "detached-ref.json",
     "{'$id':'" REMOTE "detached-ref.json','$defs':{'foo':{'$ref':'#detached'},"
     "'detached':{'$anchor':'detached','type':'integer'}}}"},
    {REMOTE "tree.json",
     "{'$id':'" REMOTE "tree.json','$dynamicAnchor':'node','type':'object','properties':"
     "{'data':true,'children':{'type':'array','items':{'$dynamicRef':'#node'}}}}"},
    {REMOTE "extendible-dynamic-ref.json",
     "{'$id':'" REMOTE "extendible-dynamic-ref.json','type':'object','properties':{'elements':"
     "{'type':'array','items':{'$dynamicRef':'#elements'}}},'required':['elements'],"
     "'additionalProperties':false,'$defs':{'elements':{'$dynamicAnchor':'elements'}}}"},
    {REMOTE "detached-dynamicref.json",
     "{'$id':'" REMOTE "detached-dynamicref.json','$defs':{'foo':{'$dynamicRef':'#detached'},"
     "'detached':{'$dynamicAnchor':'detached','type':'integer'}}}"},
    {REMOTE "metaschema-no-validation.json",
     "{'$vocabulary':{'https://json-schema.org/draft/2020-12/vocab/applicator':true,"
     "'https://json-schema.org/draft/2020-12/vocab/core':true}}"},
    {REMOTE "metaschema-optional-vocabulary.json",
     "{'$vocabulary':{'https://json-schema.org/draft/2020-12/vocab/validation':true,"
     "'http://localhost:1234/draft2020-12/vocab/custom':false}}"},
};

struct suite {
    bool with_documents;
    size_t passed, left_out, wrong;
    bool seen[COUNT_OF(left_out)];
};

struct test_case {
    const char *file;
    const struct json *doc;
    const struct json_node *group, *test;
};

static void documents_add(struct schema *s)
{
    struct buf text;
    struct err e;

    buf_init(&text, 4096);
    for (size_t i = 0; i < COUNT_OF(documents); i++) {
        buf_reset(&text);
        for (const char *p = documents[i].text; *p; p++)
            buf_add_c(&text, *p == '\'' ? '"' : *p);
        CHECK_F(schema_add(s, str_c(documents[i].uri), buf_str(&text), &e), "%s", e.text);
    }
    buf_release(&text);
}

static bool is_named(const struct test_case *t, const struct json_node *v, const char *name)
{
    return json_is(t->doc, json_find(t->doc, v, STR("description")), str_c(name));
}

/* Whether a test is on the list. Marks the entry as used; each entry must be. */
static bool is_left_out(struct suite *s, const struct test_case *t)
{
    for (size_t i = 0; i < COUNT_OF(left_out); i++)
        if (strcmp(t->file, left_out[i].file) == 0 && is_named(t, t->group, left_out[i].group) &&
            (!left_out[i].test || is_named(t, t->test, left_out[i].test))) {
            s->seen[i] = true;
            return true;
        }
    return false;
}

static void complain(struct suite *s, const struct test_case *t, const char *what)
{
    str group = json_raw(t->doc, json_find(t->doc, t->group, STR("description")));
    str test = json_raw(t->doc, json_find(t->doc, t->test, STR("description")));

    s->wrong++;
    print_error("%s: " STR_FMT ": " STR_FMT ": %s\n", t->file, STR_ARG(group), STR_ARG(test), what);
}

static void ignore_problem(void *ctx, const struct schema_problem *problem)
{
    CHECK(!ctx && problem->text.n > 0 && problem->value);
}

/* Runs a test with a schema, or with the error of compiling it. Both ways to check must agree. */
static void run_case(struct suite *s, const struct test_case *t, const struct schema *schema,
                     const char *why)
{
    const struct json_node *data = json_find(t->doc, t->test, STR("data"));
    struct schema_sink sink = {ignore_problem, NULL, 0};
    bool want, got = false, passes = false;
    struct err e;

    CHECK(json_bool(json_find(t->doc, t->test, STR("valid")), &want));
    if (schema) {
        got = schema_check(schema, t->doc, data, &e);
        CHECK(got == schema_check_each(schema, t->doc, data, sink, &e));
        passes = got == want;
        why = got ? "is valid, should not be" : e.text;
    }
    if (!s->with_documents && is_left_out(s, t)) {
        s->left_out++;
        if (passes)
            complain(s, t, "is on the list of left-out cases and passes");
    } else if (passes) {
        s->passed++;
    } else {
        complain(s, t, why);
    }
}

static void run_group(struct suite *s, struct test_case t)
{
    const struct json_node *tests = json_find(t.doc, t.group, STR("tests"));
    struct schema *schema = schema_new();
    struct err e;
    bool ok;

    if (s->with_documents)
        documents_add(schema);
    ok = schema_compile(schema, json_raw(t.doc, json_find(t.doc, t.group, STR("schema"))), &e);
    for (t.test = json_first(t.doc, tests); t.test; t.test = json_next(t.doc, tests, t.test))
        run_case(s, &t, ok ? schema : NULL, ok ? "" : e.text);
    schema_free(schema);
}

static void run_file(struct suite *s, const char *dir, const char *name)
{
    char path[4096], *bytes = base_alloc(FILE_MAX);
    struct test_case t = {.file = name};
    const struct json_node *root;
    struct json doc;
    struct err e;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "rb");
    CHECK_F(f, "%s", path);
    json_init(&doc);
    CHECK_F(json_parse(&doc, (str){bytes, fread(bytes, 1, FILE_MAX, f)}, &e), "%s", e.text);
    fclose(f);
    root = json_root(&doc);
    t.doc = &doc;
    for (t.group = json_first(&doc, root); t.group; t.group = json_next(&doc, root, t.group))
        run_group(s, t);
    json_release(&doc);
    free(bytes);
}

/* Returns false if the suite is not installed. */
static bool run_suite(struct suite *s)
{
    const char *dir = test_corpora(SUITE);
    struct dirent *entry;
    DIR *d;

    if (!dir)
        return false;
    d = opendir(dir);
    CHECK(d);
    while ((entry = readdir(d)))
        if (str_ends(str_c(entry->d_name), STR(".json")))
            run_file(s, dir, entry->d_name);
    closedir(d);
    print_message("%zu cases: %zu passed, %zu left out, %zu wrong\n",
                  s->passed + s->left_out + s->wrong,
                  s->passed,
                  s->left_out,
                  s->wrong);
    return true;
}

TEST(all_cases_pass_but_the_listed_ones_that_need_other_documents)
{
    struct suite s = {0};

    if (!run_suite(&s))
        return;
    CHECK_INT(s.wrong, 0);
    for (size_t i = 0; i < COUNT_OF(left_out); i++)
        CHECK_F(s.seen[i], "%s: no such case: %s", left_out[i].file, left_out[i].group);
}

TEST(all_cases_pass_with_documents_of_our_own_registered)
{
    struct suite s = {.with_documents = true};

    if (!run_suite(&s))
        return;
    CHECK_INT(s.wrong, 0);
    CHECK_INT(s.left_out, 0);
}

TEST_MAIN(T(all_cases_pass_but_the_listed_ones_that_need_other_documents),
          T(all_cases_pass_with_documents_of_our_own_registered))
