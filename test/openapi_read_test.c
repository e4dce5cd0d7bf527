/* openapi_read_test.c - OpenAPI documents as tools: names, schemas, requests, and refused
 * operations.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "openapi/openapi.h"

#include "base/json.h"
#include "base/schema.h"
#include "test.h"

static const char stock[] =
    "{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"Stock\"},"
    "\"servers\":[{\"url\":\"https://stock.example\"}],\"paths\":{"
    "\"/items\":{\"get\":{\"operationId\":\"search\",\"summary\":\"Find items\",\"parameters\":["
    "{\"name\":\"q\",\"in\":\"query\",\"required\":true,\"description\":\"words\","
    "\"schema\":{\"type\":\"string\"}},"
    "{\"name\":\"tag\",\"in\":\"query\",\"schema\":{\"type\":\"array\",\"items\":{\"type\":"
    "\"string\"}}},"
    "{\"name\":\"near\",\"in\":\"query\",\"style\":\"deepObject\",\"schema\":{\"type\":\"object\"}}"
    "]},\"post\":{\"operationId\":\"create\",\"requestBody\":{\"$ref\":"
    "\"#/components/requestBodies/Item\"}}},"
    "\"/items/{id}\":{\"parameters\":[{\"$ref\":\"#/components/parameters/Id\"}],"
    "\"get\":{\"parameters\":[{\"name\":\"X-Trace\",\"in\":\"header\",\"schema\":{\"type\":"
    "\"string\"}},"
    "{\"name\":\"Authorization\",\"in\":\"header\",\"schema\":{\"type\":\"string\"}}]},"
    "\"delete\":{\"operationId\":\"remove\"}},"
    "\"/upload\":{\"post\":{\"operationId\":\"upload\",\"requestBody\":{\"required\":true,"
    "\"content\":{\"multipart/form-data\":{\"schema\":{}}}}}}},"
    "\"components\":{\"parameters\":{\"Id\":{\"name\":\"id\",\"in\":\"path\",\"required\":true,"
    "\"schema\":{\"type\":\"string\"}}},"
    "\"requestBodies\":{\"Item\":{\"required\":true,\"content\":{\"application/json; "
    "charset=utf-8\":"
    "{\"schema\":{\"$ref\":\"#/components/schemas/Item\"}}}}},"
    "\"schemas\":{\"Item\":{\"type\":\"object\",\"x-internal\":1,\"example\":{},"
    "\"properties\":{\"example\":{\"type\":\"string\",\"nullable\":true},"
    "\"n\":{\"type\":\"integer\",\"minimum\":0,\"exclusiveMinimum\":true},"
    "\"parts\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/Item\"}}}}}}}";

static struct openapi openapi_opened(struct arena *a)
{
    struct openapi api;
    struct err e;

    arena_init(a, OPENAPI_ARENA);
    CHECK_F(openapi_read(str_c(stock), a, &api, &e), "%s", e.text);
    return api;
}

TEST(operations_are_named_and_described)
{
    static const struct {
        const char *name, *method, *path;
        bool read_only, idempotent;
    } want[] = {{"search", "GET", "/items", true, true},
                {"create", "POST", "/items", false, false},
                {"get_items_id", "GET", "/items/{id}", true, true},
                {"remove", "DELETE", "/items/{id}", false, true}};
    struct arena a;
    struct openapi api = openapi_opened(&a);

    CHECK_STR(api.title, "Stock");
    CHECK_STR(api.server, "https://stock.example");
    CHECK_INT(api.count, COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        const struct openapi_operation *op = openapi_find(&api, str_c(want[i].name));

        CHECK_F(op, "%s", want[i].name);
        CHECK_STR(op->method, want[i].method);
        CHECK_STR(op->path, want[i].path);
        CHECK_F(op->read_only == want[i].read_only, "%s", want[i].name);
        CHECK_F(op->idempotent == want[i].idempotent, "%s", want[i].name);
    }
    CHECK_STR(openapi_find(&api, STR("search"))->description, "Find items");
    CHECK_STR(api.left_out, "upload: its body is not JSON");
    arena_release(&a);
}

TEST(schemas_have_their_references_filled_in)
{
    struct arena a;
    struct openapi api = openapi_opened(&a);

    CHECK_STR(openapi_find(&api, STR("create"))->schema,
              "{\"type\":\"object\",\"properties\":{\"body\":{\"type\":\"object\",\"properties\":{"
              "\"example\":{\"type\":[\"string\",\"null\"]},"
              "\"n\":{\"type\":\"integer\",\"exclusiveMinimum\":0},"
              "\"parts\":{\"type\":\"array\",\"items\":{}}}}},"
              "\"required\":[\"body\"],\"additionalProperties\":false}");
    for (size_t i = 0; i < api.count; i++) {
        struct schema *s = schema_new();
        struct err e;

        CHECK_F(schema_compile(s, api.operations[i].schema, &e), "%s", e.text);
        schema_free(s);
    }
    arena_release(&a);
}

TEST(arguments_become_a_request)
{
    static const struct {
        const char *name, *arguments, *target, *headers, *body; /* target NULL: refused */
    } cases[] = {
        {"search", "{\"q\":\"a b&c\"}", "/items?q=a%20b%26c", "", ""},
        {"search",
         "{\"q\":\"\\u00e9\",\"tag\":[\"x\",\"y\"]}",
         "/items?q=%C3%A9&tag=x&tag=y",
         "",
         ""},
        {"search", "{\"q\":\"x\",\"near\":{\"lat\":1.5}}", "/items?q=x&near%5Blat%5D=1.5", "", ""},
        {"create", "{\"body\":{\"n\":2}}", "/items", "", "{\"n\":2}"},
        {"get_items_id", "{\"id\":\"a/../b\"}", "/items/a%2F..%2Fb", "", ""},
        {"get_items_id", "{\"id\":7,\"X-Trace\":\"t\"}", "/items/7", "X-Trace: t\r\n", ""},
        {"get_items_id", "{\"id\":\"..\"}", NULL, "", ""},
        {"get_items_id", "{\"id\":\"\"}", NULL, "", ""},
        {"get_items_id", "{}", NULL, "", ""},
        {"get_items_id", "{\"id\":1,\"X-Trace\":\"a\\r\\nHost: b\"}", NULL, "", ""},
    };
    struct arena a;
    struct openapi api = openapi_opened(&a);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf target, headers, body;
        struct err e;
        bool ok;

        buf_init(&target, 4096);
        buf_init(&headers, 4096);
        buf_init(&body, 4096);
        ok = openapi_request(openapi_find(&api, str_c(cases[i].name)),
                             str_c(cases[i].arguments),
                             &target,
                             &headers,
                             &body,
                             &e);
        CHECK_F(ok == (cases[i].target != NULL), "case %zu", i);
        if (ok) {
            CHECK_STR(buf_str(&target), cases[i].target);
            CHECK_STR(buf_str(&headers), cases[i].headers);
            CHECK_STR(buf_str(&body), cases[i].body);
        }
        buf_release(&target);
        buf_release(&headers);
        buf_release(&body);
    }
    arena_release(&a);
}

TEST(what_cannot_be_used_is_refused_with_its_reason)
{
    static const struct {
        const char *doc, *why;
    } cases[] = {
        {"{\"swagger\":\"2.0\"}", "convert it"},
        {"{\"openapi\":\"4.0\"}", "3.x"},
        {"{\"openapi\":\"3.1.0\"}", "paths"},
        {"{\"openapi\":\"3.1.0\",\"paths\":{}}", "none of its operations"},
        {"{\"openapi\":", "line 1"},
        {"{\"openapi\":\"3.1.0\",\"paths\":{\"/a\":{\"get\":{\"operationId\":\"x\"},"
         "\"put\":{\"operationId\":\"x\"}}}}",
         "two operations"},
        {"{\"openapi\":\"3.1.0\",\"paths\":{\"/{a}\":{\"get\":{}}}}", "none of its operations"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a;
        struct openapi api;
        struct err e;

        arena_init(&a, OPENAPI_ARENA);
        CHECK_F(!openapi_read(str_c(cases[i].doc), &a, &api, &e), "case %zu", i);
        CHECK_F(strstr(e.text, cases[i].why), "case %zu: %s", i, e.text);
        arena_release(&a);
    }
}

/* Each schema refers twice to the next: expanded, the first would contain 2^30 copies of the
 * last. */
TEST(references_that_multiply_end_at_the_ceiling)
{
    struct buf doc;
    struct arena a;
    struct openapi api;
    struct err e;

    buf_init(&doc, 1 << 20);
    buf_add(&doc,
            STR("{\"openapi\":\"3.1.0\",\"paths\":{\"/ok\":{\"get\":{\"operationId\":\"ok\"}},"
                "\"/a\":{\"post\":{\"operationId\":\"big\",\"requestBody\":{\"content\":{"
                "\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/S0\"}}}}}}},"
                "\"components\":{\"schemas\":{"));
    for (int i = 0; i < 30; i++)
        buf_printf(&doc,
                   "\"S%d\":{\"properties\":{\"a\":{\"$ref\":\"#/components/schemas/S%d\"},"
                   "\"b\":{\"$ref\":\"#/components/schemas/S%d\"}}},",
                   i,
                   i + 1,
                   i + 1);
    buf_add(&doc, STR("\"S30\":{\"type\":\"string\"}}}}"));
    arena_init(&a, OPENAPI_ARENA);
    CHECK_F(openapi_read(buf_str(&doc), &a, &api, &e), "%s", e.text);
    CHECK_INT(api.count, 1);
    CHECK_STR(api.left_out, "big: its schema is too large");
    arena_release(&a);
    buf_release(&doc);
}

/* The reader copies a text with an escape, which takes memory. */
static void add_text(struct buf *doc, size_t n)
{
    buf_add(doc, STR("\"\\n"));
    for (size_t i = 0; i < n; i++)
        buf_add_c(doc, 'x');
    buf_add_c(doc, '"');
}

TEST(a_large_text_that_all_operations_share_is_kept_once_for_each)
{
    struct buf doc;
    struct arena a;
    struct openapi api;
    struct err e;

    buf_init(&doc, 8 << 20);
    buf_add(&doc, STR("{\"openapi\":\"3.1.0\",\"paths\":{"));
    for (int i = 0; i < 390; i++)
        buf_printf(&doc,
                   "\"/p%d\":{\"get\":{\"operationId\":\"o%d\",\"parameters\":["
                   "{\"$ref\":\"#/components/parameters/P\"}]}},",
                   i,
                   i);
    buf_add(&doc, STR("\"/many\":{\"get\":{\"operationId\":\"many\",\"parameters\":["));
    for (int i = 0; i < 400; i++) /* a repeated parameter is read, then ignored */
        buf_add(&doc, STR("{\"$ref\":\"#/components/parameters/N\"},"));
    buf_add(&doc,
            STR("{\"name\":\"q\",\"in\":\"query\"}]}}},\"components\":{\"parameters\":{\"P\":{"
                "\"name\":\"p\",\"in\":\"query\",\"schema\":{},\"description\":"));
    add_text(&doc, 200000);
    buf_add(&doc, STR("},\"N\":{\"in\":\"query\",\"name\":"));
    add_text(&doc, 200000);
    buf_add(&doc, STR("}}}}"));
    CHECK(!buf_full(&doc));
    arena_init(&a, OPENAPI_ARENA);
    CHECK_F(openapi_read(buf_str(&doc), &a, &api, &e), "%s", e.text);
    CHECK_INT(api.count, 41); /* 8 MB of schemas */
    CHECK(str_find(api.left_out, STR("o389: its schema is too large")) != STR_NONE);
    CHECK(str_find(api.left_out, STR("many: its schema is too large")) != STR_NONE);
    arena_release(&a);
    buf_release(&doc);
}

TEST(arguments_have_different_names)
{
    struct arena a;
    struct openapi api;
    struct err e;

    arena_init(&a, OPENAPI_ARENA);
    CHECK_F(
        openapi_read(
            STR("{\"openapi\":\"3.1.0\",\"paths\":{\"/a/{id}\":{\"parameters\":[{\"name\":\"id\","
                "\"in\":\"path\"}],\"get\":{\"operationId\":\"good\",\"parameters\":[{\"name\":"
                "\"id\",\"in\":\"query\"}]},\"put\":{\"operationId\":\"bad\",\"parameters\":["
                "{\"name\":\"path_id\",\"in\":\"query\"},{\"name\":\"id\",\"in\":\"query\"}]}}}}"),
            &a,
            &api,
            &e),
        "%s",
        e.text);
    CHECK_INT(api.count, 1);
    CHECK_STR(api.operations[0].params[1].member, "path_id");
    CHECK_STR(api.left_out, "bad: two of its parameters have the same name");
    arena_release(&a);
}

TEST(a_path_that_repeats_an_argument_without_end_is_refused)
{
    struct buf doc, target, headers, body, arguments;
    struct openapi api;
    struct arena a;
    struct err e;

    arena_init(&a, OPENAPI_ARENA);
    buf_init(&doc, OPENAPI_SIZE_MAX);
    buf_init(&arguments, 1 << 16);
    buf_init(&target, 1 << 16);
    buf_init(&headers, 1 << 16);
    buf_init(&body, 1 << 16);
    buf_add(&doc, STR("{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"T\"},\"paths\":{\"/"));
    for (int i = 0; i < 100000; i++)
        buf_add(&doc, STR("{id}"));
    buf_add(
        &doc,
        STR("\":{\"get\":{\"operationId\":\"o\",\"parameters\":[{\"name\":\"id\",\"in\":\"path\","
            "\"required\":true,\"schema\":{\"type\":\"string\"}}]}}}}"));
    buf_add(&arguments, STR("{\"id\":\"\\u0041"));
    for (int i = 0; i < 1000; i++)
        buf_add_c(&arguments, 'a');
    buf_add(&arguments, STR("\"}"));
    CHECK_F(openapi_read(buf_str(&doc), &a, &api, &e) && api.count == 1, "%s", e.text);
    CHECK(!openapi_request(&api.operations[0], buf_str(&arguments), &target, &headers, &body, &e));
    CHECK_F(e.code == ERR_LIMIT, "%s", e.text);
    buf_release(&body);
    buf_release(&headers);
    buf_release(&target);
    buf_release(&arguments);
    buf_release(&doc);
    arena_release(&a);
}

TEST(a_header_that_the_client_writes_is_no_argument)
{
    static const char *const names[] = {"Accept-Encoding",
                                        "EXPECT",
                                        "Idempotency-Key",
                                        "Host",
                                        "Keep-Alive",
                                        "Proxy-Connection",
                                        "Trailer"};
    struct openapi api;
    struct buf doc;
    struct arena a;
    struct err e;

    arena_init(&a, OPENAPI_ARENA);
    buf_init(&doc, 1 << 16);
    buf_add(&doc, STR("{\"openapi\":\"3.0.3\",\"paths\":{\"/a\":{\"get\":{\"parameters\":["));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        buf_printf(
            &doc, "{\"name\":\"%s\",\"in\":\"header\",\"required\":true,\"schema\":{}},", names[i]);
    buf_add(&doc, STR("{\"name\":\"Expected\",\"in\":\"header\",\"schema\":{}}]}}}}"));
    CHECK_F(openapi_read(buf_str(&doc), &a, &api, &e) && api.count == 1, "%s", e.text);
    CHECK_INT(api.operations[0].param_count, 1);
    CHECK_STR(api.operations[0].params[0].name, "Expected");
    buf_release(&doc);
    arena_release(&a);
}

TEST_MAIN(T(a_header_that_the_client_writes_is_no_argument),
          T(a_path_that_repeats_an_argument_without_end_is_refused),
          T(operations_are_named_and_described), T(schemas_have_their_references_filled_in),
          T(arguments_become_a_request), T(what_cannot_be_used_is_refused_with_its_reason),
          T(references_that_multiply_end_at_the_ceiling),
          T(a_large_text_that_all_operations_share_is_kept_once_for_each),
          T(arguments_have_different_names))
