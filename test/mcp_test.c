/* The parts of MCP without I/O: messages, names, headers, results, and the texts of OAuth.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "mcp/auth_parts.h"
#include "mcp/content.h"
#include "mcp/header.h"
#include "mcp/name.h"
#include "mcp/rpc.h"
#include "test.h"

#define ARENA_MAX ((size_t)64 << 20)

static const struct {
    const char *text, *id, *method;
    enum mcp_kind kind;
} good[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}", "7", "ping", MCP_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"ping\"}", "-7", "ping", MCP_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\",\"method\":\"p\"}", "\"a\"", "p", MCP_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"p\",\"more\":1}", "\"\"", "p", MCP_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{}}", "", "n", MCP_NOTIFICATION},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "1", "", MCP_RESULT},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\"}}",
     "1",
     "",
     MCP_ERROR},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-1,\"message\":\"\"}}",
     "",
     "",
     MCP_ERROR},
};

TEST(messages_are_read_with_their_ids_in_one_form)
{
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct mcp_message m;
        struct mcp_fault fault;
        struct arena a;
        struct json doc;

        arena_init(&a, ARENA_MAX);
        json_init(&doc);
        CHECK_F(mcp_read(&doc, str_c(good[i].text), &a, &m, &fault), "%s", fault.why.text);
        CHECK_STR(m.id, good[i].id);
        CHECK_STR(m.method, good[i].method);
        CHECK_INT(m.kind, good[i].kind);
        json_release(&doc);
        arena_release(&a);
    }
}

TEST(what_is_no_message_is_refused_with_its_code_and_id)
{
    static const struct {
        const char *text;
        int code;
        const char *id;
    } bad[] = {
        {"", MCP_PARSE_ERROR, ""},
        {"{", MCP_PARSE_ERROR, ""},
        {"null", MCP_INVALID_REQUEST, ""},
        {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}]", MCP_INVALID_REQUEST, ""},
        {"{\"id\":1,\"method\":\"m\"}", MCP_INVALID_REQUEST, "1"},
        {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", MCP_INVALID_REQUEST, "1"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"m\"}", MCP_INVALID_REQUEST, ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"m\"}", MCP_INVALID_REQUEST, ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}", MCP_INVALID_REQUEST, ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", MCP_INVALID_REQUEST, ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", MCP_INVALID_REQUEST, ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"m\"}",
         MCP_INVALID_REQUEST,
         ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", MCP_INVALID_REQUEST, "1"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[]}", MCP_INVALID_PARAMS, "1"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"result\":{}}", MCP_INVALID_REQUEST, "1"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", MCP_INVALID_REQUEST, "1"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":7}", MCP_INVALID_REQUEST, "1"},
        {"{\"jsonrpc\":\"2.0\",\"result\":{}}", MCP_INVALID_REQUEST, ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":\"x\"}}", MCP_INVALID_REQUEST, "1"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", MCP_INVALID_REQUEST, "1"},
    };

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct mcp_message m;
        struct mcp_fault fault;
        struct arena a;
        struct json doc;

        arena_init(&a, ARENA_MAX);
        json_init(&doc);
        CHECK_F(!mcp_read(&doc, str_c(bad[i].text), &a, &m, &fault), "%s", bad[i].text);
        CHECK_INT(fault.code, bad[i].code);
        CHECK_STR(fault.id, bad[i].id);
        CHECK(fault.why.text[0]);
        json_release(&doc);
        arena_release(&a);
    }
}

TEST(an_id_that_is_too_long_is_none)
{
    char text[1000];
    struct mcp_message m;
    struct mcp_fault fault;
    struct arena a;
    struct json doc;

    (void)snprintf(
        text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":\"%0300d\"}", 1);
    arena_init(&a, ARENA_MAX);
    json_init(&doc);
    CHECK(!mcp_read(&doc, str_c(text), &a, &m, &fault));
    json_release(&doc);
    arena_release(&a);
}

TEST(what_is_emitted_is_one_line_and_can_be_read)
{
    struct mcp_message m;
    struct mcp_fault fault;
    struct arena a;
    struct json doc;
    struct buf b;

    arena_init(&a, ARENA_MAX);
    json_init(&doc);
    buf_init(&b, 1 << 20);
    mcp_emit_request(&b, STR("\"a\""), STR("x/\"y\""), STR("{\n\"k\":\r\n\"v\\n\"}"));
    CHECK(!memchr(b.p, '\n', b.n) && !memchr(b.p, '\r', b.n));
    CHECK(mcp_read(&doc, buf_str(&b), &a, &m, &fault));
    CHECK_STR(m.method, "x/\"y\"");
    CHECK_STR(mcp_member(&doc, m.params, STR("k"), &a), "v\n");
    buf_reset(&b);
    mcp_emit_error(&b, STR(""), -5, STR("no\nway"), STR("{\"x\":1}"));
    CHECK_STR(buf_str(&b),
              "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-5,\"message\":\"no\\nway\","
              "\"data\":{\"x\":1}}}");
    buf_release(&b);
    json_release(&doc);
    arena_release(&a);
}

/* ---- names ---- */

static bool is_name(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", s.p[i]))
            return false;
    return s.n >= 1 && s.n <= MCP_NAME_MAX;
}

static const struct {
    const char *server, *tool;
} tools[] = {
    {"files", "read_file"},
    {"files", "read/file"},
    {"files", "read.file"},
    {"files", "read file"},
    {"a", "b__c"},
    {"a__b", "c"},
    {"a_", "_b"},
    {"a", "__b"},
    {"", "x"},
    {"x", ""},
    {"sörver", "wörk"},
    {"server", "a-very-long-name-that-goes-on-and-on-until-it-does-not-fit-into-what-is-allowed"},
    {"server", "a-very-long-name-that-goes-on-and-on-until-it-does-not-fit-into-what-is-allowed2"},
    {"files", "read_file_0000000000"},
};

TEST(every_tool_gets_a_name_that_leads_back_to_it)
{
    str name[COUNT_OF(tools)], server, tool, again;
    struct mcp_names n;
    struct arena a;
    struct err e;

    arena_init(&a, ARENA_MAX);
    mcp_names_init(&n, &a);
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        CHECK(mcp_names_add(&n, str_c(tools[i].server), str_c(tools[i].tool), &name[i], &e));
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        CHECK_F(is_name(name[i]), STR_FMT, STR_ARG(name[i]));
        CHECK(mcp_names_find(&n, name[i], &server, &tool));
        CHECK_STR(server, tools[i].server);
        CHECK_STR(tool, tools[i].tool);
        for (size_t k = 0; k < i; k++)
            CHECK(!str_eq(name[i], name[k]));
        CHECK(mcp_names_add(&n, str_c(tools[i].server), str_c(tools[i].tool), &again, &e));
        CHECK(str_eq(again, name[i]));
    }
    CHECK_STR(name[0], "files__read_file");
    CHECK(!mcp_names_find(&n, STR("files__other"), &server, &tool));
    mcp_names_release(&n);
    arena_release(&a);
}

TEST(names_do_not_depend_on_the_order)
{
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        struct mcp_names one, all;
        struct arena a;
        struct err e;
        str alone, among, other;

        arena_init(&a, ARENA_MAX);
        mcp_names_init(&one, &a);
        mcp_names_init(&all, &a);
        CHECK(mcp_names_add(&one, str_c(tools[i].server), str_c(tools[i].tool), &alone, &e));
        for (size_t k = COUNT_OF(tools); k-- > 0;)
            CHECK(mcp_names_add(&all, str_c(tools[k].server), str_c(tools[k].tool), &other, &e));
        CHECK(mcp_names_add(&all, str_c(tools[i].server), str_c(tools[i].tool), &among, &e));
        CHECK(str_eq(alone, among));
        mcp_names_release(&one);
        mcp_names_release(&all);
        arena_release(&a);
    }
}

/* ---- headers ---- */

TEST(values_become_headers_as_the_specification_shows)
{
    static const struct {
        str value;
        const char *header;
    } cases[] = {
        {STR_INIT("us-west1"), "us-west1"},
        {STR_INIT(""), ""},
        {STR_INIT("us west 1"), "us west 1"},
        {STR_INIT("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?="},
        {STR_INIT(" padded "), "=?base64?IHBhZGRlZCA=?="},
        {STR_INIT("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?="},
        {STR_INIT("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
        {STR_INIT("a\tb"), "=?base64?YQli?="},
        {STR_INIT("a\0b"), "=?base64?YQBi?="},
    };
    struct buf b, back;

    buf_init(&b, 1000);
    buf_init(&back, 1000);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_reset(&b);
        buf_reset(&back);
        mcp_header_value(&b, cases[i].value);
        CHECK_STR(buf_str(&b), cases[i].header);
        CHECK(mcp_header_read(buf_str(&b), &back) && str_eq(buf_str(&back), cases[i].value));
    }
    CHECK(!mcp_header_read(STR("=?base64?!?="), &back));
    CHECK(!mcp_header_read(STR("caf\xc3\xa9"), &back));
    buf_release(&back);
    buf_release(&b);
}

/* The number of parameters that the schema mirrors into headers; -1 if it is refused. */
static int marks(const char *schema, const char *arguments, char values[256])
{
    struct mcp_mirrors m;
    struct arena a;
    struct json doc, args;
    struct err e;
    char copy[1000];
    int n = -1;

    arena_init(&a, ARENA_MAX);
    json_init(&doc);
    json_init(&args);
    values[0] = 0;
    (void)snprintf(copy, sizeof copy, "%s", schema);
    CHECK(json_parse(&doc, str_c(copy), &e) && json_parse(&args, str_c(arguments), &e));
    if (mcp_mirrors_read(&doc, json_root(&doc), &a, &m, &e)) {
        memset(copy, 'x', sizeof copy); /* mcp_mirrors must not point into the schema's text */
        n = (int)m.n;
        for (size_t i = 0; i < m.n; i++) {
            size_t used = strlen(values);
            str value;

            if (mcp_mirror_value(&m.at[i], &args, json_root(&args), &a, &value))
                (void)snprintf(values + used,
                               256 - used,
                               STR_FMT "=" STR_FMT ";",
                               STR_ARG(m.at[i].header),
                               STR_ARG(value));
        }
    }
    json_release(&args);
    json_release(&doc);
    arena_release(&a);
    return n;
}

#define OBJECT(properties) "{\"type\":\"object\",\"properties\":{" properties "}}"
#define MARK(type, name) "{\"type\":\"" type "\",\"x-mcp-header\":\"" name "\"}"

TEST(marked_arguments_are_found_and_their_values_taken)
{
    static const struct {
        const char *schema, *arguments, *values;
        int n;
    } cases[] = {
        {OBJECT("\"a\":" MARK("string", "A")), "{\"a\":\"x\"}", "A=x;", 1},
        {OBJECT("\"a\":" MARK("integer", "A")), "{\"a\":42}", "A=42;", 1},
        {OBJECT("\"a\":" MARK("integer", "A")), "{\"a\":42.0}", "A=42;", 1},
        {OBJECT("\"a\":" MARK("boolean", "A")), "{\"a\":false}", "A=false;", 1},
        {OBJECT("\"a\":" MARK("string", "A")), "{\"a\":null}", "", 1},
        {OBJECT("\"a\":" MARK("string", "A")), "{}", "", 1},
        {OBJECT("\"o\":" OBJECT("\"a\":" MARK("string", "A"))), "{\"o\":{\"a\":\"x\"}}", "A=x;", 1},
        {OBJECT("\"x-mcp-header\":{\"type\":\"string\"}"), "{\"x-mcp-header\":\"v\"}", "", 0},
        {OBJECT("\"a\":{\"default\":{\"x-mcp-header\":\"A\"}}"), "{}", "", 0},
        {OBJECT("\"a\":{\"type\":[\"string\",\"null\"],\"x-mcp-header\":\"A\"}"),
         "{\"a\":\"x\"}",
         "A=x;",
         1},
        {"true", "{}", "", 0},
    };
    char values[256];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK_INT(marks(cases[i].schema, cases[i].arguments, values), cases[i].n);
        CHECK_STR(str_c(values), cases[i].values);
    }
}

TEST(a_mark_that_is_wrong_refuses_the_tool)
{
    static const char *const bad[] = {
        OBJECT("\"a\":" MARK("string", "")),
        OBJECT("\"a\":" MARK("string", "a b")),
        OBJECT("\"a\":" MARK("string", "a:b")),
        OBJECT("\"a\":" MARK("string", "R\\u00e9gion")),
        OBJECT("\"a\":" MARK("string", "a\\r\\nb")),
        OBJECT("\"a\":" MARK("number", "A")),
        OBJECT("\"a\":" MARK("object", "A")),
        OBJECT("\"a\":" MARK("array", "A")),
        OBJECT("\"a\":" MARK("null", "A")),
        OBJECT("\"a\":{\"x-mcp-header\":\"A\"}"),
        OBJECT("\"a\":{\"type\":\"string\",\"x-mcp-header\":7}"),
        OBJECT("\"a\":" MARK("string", "A") ",\"b\":" MARK("string", "a")),
        OBJECT("\"a\":{\"type\":\"array\",\"items\":" MARK("string", "A") "}"),
        "{\"type\":\"object\",\"anyOf\":[" OBJECT("\"a\":" MARK("string", "A")) "]}",
        "{\"type\":\"object\",\"$defs\":{\"d\":" MARK("string", "A") "}}",
        "{\"type\":\"object\",\"if\":" OBJECT("\"a\":" MARK("string", "A")) "}",
        "{\"type\":\"string\",\"x-mcp-header\":\"A\"}",
    };
    char values[256];

    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK_F(marks(bad[i], "{}", values) == -1, "%s", bad[i]);
}

/* ---- results ---- */

TEST(a_long_name_above_many_marks_is_not_copied_for_each)
{
    struct mcp_mirrors m;
    struct arena a;
    struct json doc;
    struct buf b;
    struct err e;

    arena_init(&a, (size_t)64 << 20);
    json_init(&doc);
    buf_init(&b, (size_t)8 << 20);
    buf_add(&b, STR("{\"properties\":{\""));
    for (size_t i = 0; i < (size_t)2 << 20; i++)
        buf_add_c(&b, 'a');
    buf_add(&b, STR("\":{\"properties\":{"));
    for (int i = 0; i < MCP_MIRRORS_MAX; i++)
        buf_printf(&b, "%s\"%d\":" MARK("string", "H%d"), i ? "," : "", i, i);
    buf_add(&b, STR("}}}}"));
    CHECK(json_parse(&doc, buf_str(&b), &e));
    CHECK(!mcp_mirrors_read(&doc, json_root(&doc), &a, &m, &e));
    CHECK_F(e.code == ERR_LIMIT, "%s", e.text);
    buf_release(&b);
    json_release(&doc);
    arena_release(&a);
}

TEST(a_result_is_its_parts_and_what_a_model_can_read_of_it)
{
    static const char json[] =
        "{\"content\":[{\"type\":\"text\",\"text\":\"h\\u00e4llo\"},"
        "{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"},"
        "{\"type\":\"resource_link\",\"uri\":\"file:///x\",\"name\":\"x\"},"
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"inside\"}},"
        "{\"type\":\"hologram\",\"x\":1}],\"isError\":true,\"structuredContent\":{\"n\":1}}";
    struct mcp_result r;
    struct arena a;
    struct buf b;
    struct err e;

    arena_init(&a, ARENA_MAX);
    buf_init(&b, 1 << 20);
    CHECK(mcp_result_read(str_c(json), &a, &r, &e));
    CHECK(r.is_error && r.part_count == 5);
    CHECK_INT(r.parts[4].kind, MCP_OTHER);
    CHECK_STR(r.structured, "{\"n\":1}");
    mcp_result_text(&r, 1000, &b);
    CHECK_STR(buf_str(&b),
              "hällo\n[image (image/png), 3 bytes]\n[link \"x\" file:///x]\n[file a:b]\ninside\n"
              "{\"type\":\"hologram\",\"x\":1}");
    for (size_t max = 0; max < 60; max++) {
        str shown;

        buf_reset(&b);
        mcp_result_text(&r, max, &b);
        shown = str_slice(buf_str(&b), 0, str_find(buf_str(&b), STR("\n[cut here")));
        CHECK(shown.n <= max && utf8_valid(shown));
        CHECK(str_find(buf_str(&b), STR("[cut here")) != STR_NONE);
    }
    buf_release(&b);
    arena_release(&a);
}

TEST(what_is_no_result_of_a_tool_is_refused)
{
    static const char *const bad[] = {"{}",
                                      "{\"content\":{}}",
                                      "{\"content\":[7]}",
                                      "{\"content\":[{\"text\":\"x\"}]}",
                                      "[]",
                                      "{\"content\":[}"};

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct mcp_result r;
        struct arena a;
        struct err e;

        arena_init(&a, ARENA_MAX);
        CHECK_F(!mcp_result_read(str_c(bad[i]), &a, &r, &e), "%s", bad[i]);
        arena_release(&a);
    }
}

TEST(structured_content_is_held_to_its_schema)
{
    static const struct {
        const char *json;
        bool ok;
    } cases[] = {
        {"{\"content\":[],\"structuredContent\":{\"n\":1}}", true},
        {"{\"content\":[],\"structuredContent\":{\"n\":\"x\"}}", false},
        {"{\"content\":[],\"structuredContent\":{}}", false},
        {"{\"content\":[]}", false},
        {"{\"content\":[],\"isError\":true}", true},
    };
    struct schema *s = schema_new();
    struct err e;

    CHECK(schema_compile(s,
                         STR("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"
                             "\"required\":[\"n\"]}"),
                         &e));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mcp_result r;
        struct arena a;

        arena_init(&a, ARENA_MAX);
        CHECK(mcp_result_read(str_c(cases[i].json), &a, &r, &e));
        CHECK_F(mcp_result_check(&r, s, &e) == cases[i].ok, "%s", cases[i].json);
        if (!cases[i].ok)
            CHECK_INT(e.code, ERR_UPSTREAM);
        arena_release(&a);
    }
    schema_free(s);
}

/* ---- the texts of OAuth ---- */

TEST(a_challenge_is_read_quotes_and_all)
{
    static const struct {
        const char *challenge, *name, *value;
    } cases[] = {
        {"Bearer scope=\"a b\", resource_metadata=\"http://x/y?z=1,2\"",
         "resource_metadata",
         "http://x/y?z=1,2"},
        {"Bearer scope=\"a b\", error=\"e\"", "scope", "a b"},
        {"Bearer SCOPE=plain,error=e", "scope", "plain"},
        {"Bearer scope=\"say \\\"hi\\\"\"", "scope", "say \"hi\""},
        {"Bearer xscope=\"no\", scope=\"yes\"", "scope", "yes"},
        {"Bearer error_description=\"scope=wrong\", scope=right", "scope", "right"},
        {"Bearer", "scope", ""},
        {"", "scope", ""},
        {"Bearer scope=\"never closed", "scope", "never closed"},
        {"Basic realm=\"x\", Bearer scope=s", "scope", "s"},
    };
    struct arena a;

    arena_init(&a, ARENA_MAX);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        CHECK_STR(mcp_challenge_param(str_c(cases[i].challenge), str_c(cases[i].name), &a),
                  cases[i].value);
    arena_release(&a);
}

TEST(forms_are_written_and_queries_read_back)
{
    struct arena a;
    struct buf b;
    str value;

    arena_init(&a, ARENA_MAX);
    buf_init(&b, 1000);
    buf_add(&b, STR("http://h/p?"));
    mcp_form_add(&b, STR("a"), STR("x y&=?#ü"));
    mcp_form_add(&b, STR("empty"), STR(""));
    mcp_form_add(&b, STR("b"), STR("2"));
    CHECK_STR(buf_str(&b), "http://h/p?a=x%20y%26%3D%3F%23%C3%BC&b=2");
    CHECK(mcp_query_param(buf_str(&b), STR("a"), &a, &value));
    CHECK_STR(value, "x y&=?#ü");
    CHECK(!mcp_query_param(buf_str(&b), STR("c"), &a, &value));
    CHECK(mcp_query_param(STR("x?code=a+b%2&c"), STR("code"), &a, &value));
    CHECK_STR(value, "a b%2");
    CHECK(!mcp_query_param(STR("http://h/#code=1"), STR("code"), &a, &value));
    buf_release(&b);
    arena_release(&a);
}

TEST(only_https_and_this_machine_are_safe)
{
    static const struct {
        const char *url, *origin, *path;
        bool safe;
    } cases[] = {
        {"https://a.b/c/d/", "https://a.b", "/c/d", true},
        {"http://localhost:8/x?y", "http://localhost:8", "/x", true},
        {"http://127.0.0.1", "http://127.0.0.1", "", true},
        {"http://[::1]:80/", "http://[::1]:80", "", true},
        {"http://localhost.evil.com/", "http://localhost.evil.com", "", false},
        {"http://a.b/", "http://a.b", "", false},
        {"ftp://localhost/", "ftp://localhost", "", false},
        {"nonsense", "", "nonsense", false},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK_STR(mcp_url_origin(str_c(cases[i].url)), cases[i].origin);
        CHECK_STR(mcp_url_path(str_c(cases[i].url)), cases[i].path);
        CHECK_INT(mcp_url_is_safe(str_c(cases[i].url)), cases[i].safe);
    }
}

TEST_MAIN(T(messages_are_read_with_their_ids_in_one_form),
          T(what_is_no_message_is_refused_with_its_code_and_id), T(an_id_that_is_too_long_is_none),
          T(what_is_emitted_is_one_line_and_can_be_read),
          T(every_tool_gets_a_name_that_leads_back_to_it), T(names_do_not_depend_on_the_order),
          T(values_become_headers_as_the_specification_shows),
          T(marked_arguments_are_found_and_their_values_taken),
          T(a_mark_that_is_wrong_refuses_the_tool),
          T(a_long_name_above_many_marks_is_not_copied_for_each),
          T(a_result_is_its_parts_and_what_a_model_can_read_of_it),
          T(what_is_no_result_of_a_tool_is_refused), T(structured_content_is_held_to_its_schema),
          T(a_challenge_is_read_quotes_and_all), T(forms_are_written_and_queries_read_back),
          T(only_https_and_this_machine_are_safe))
