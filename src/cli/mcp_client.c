/* mcp_client.c - the client of the official suite: `--conformance-client`.
 *
 * It does what a client can do with an unknown server: it lists the tools and calls each with
 * arguments that satisfy its schema. The scenario, in the environment, adds more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "cli/mcp.h"
#include "mcp/client.h"
#include "mcp/rpc.h"

#define TIMEOUT_MS 20000
#define ARENA_MAX ((size_t)256 << 20)
#define REDIRECT "http://localhost:3000/callback"
#define IDENTITY "https://conformance-test.local/client-metadata.json"

struct suite {
    struct mcp_io *io;
    struct mcp_client *client;
    struct arena arena;
    str scenario;
    struct json context;
    struct err *e;
};

/* ---- requests of the server ---- */

static bool mcp_client_sample(void *ctx, str params, struct buf *result, struct err *e)
{
    (void)ctx;
    (void)params;
    (void)e;
    buf_add(result,
            STR("{\"role\":\"assistant\",\"model\":\"none\",\"stopReason\":\"endTurn\","
                "\"content\":{\"type\":\"text\",\"text\":\"A sample.\"}}"));
    return true;
}

static bool mcp_client_elicit_defaults(void *ctx, str params, struct buf *result, struct err *e)
{
    (void)ctx;
    return mcp_elicit_defaults(params, result, e);
}

/* Acts as a user who agrees at once: follows the server's redirect. */
static bool mcp_client_authorize_user(void *ctx, str url, struct buf *out, struct err *e)
{
    struct suite *s = ctx;
    struct mcp_fetch_request r = {
        .method = STR("GET"), .url = url, .headers = STR(""), .body = STR("")};
    struct mcp_fetched got;

    if (!mcp_fetch_whole(s->io, &r, clock_deadline_ns(&clock_real, TIMEOUT_MS), &s->arena, &got, e))
        return false;
    if (!got.location.n)
        return err_set(e, ERR_AUTH, "the authorization page answered %d", got.status);
    buf_add(out, got.location);
    return true;
}

/* ---- arguments ---- */

static void mcp_put_sample(const struct json *doc, const struct json_node *schema,
                           struct json_out *o)
{
    const struct json_node *type = json_find(doc, schema, STR("type"));

    if (json_is(doc, type, STR("integer")) || json_is(doc, type, STR("number")))
        json_out_i64(o, 3);
    else if (json_is(doc, type, STR("boolean")))
        json_out_bool(o, true);
    else if (json_is(doc, type, STR("array")))
        json_out_raw(o, STR("[]"));
    else if (json_is(doc, type, STR("object")))
        json_out_raw(o, STR("{}"));
    else if (json_is(doc, type, STR("null")))
        json_out_null(o);
    else
        json_out_str(o, STR("text"));
}

/* Fills in each required argument with some value of the right type. */
static str mcp_sample_arguments(struct suite *s, str schema)
{
    const struct json_node *root, *required, *properties;
    struct json doc;
    struct json_out o;
    struct buf b;
    struct err e;
    str made;

    json_init(&doc);
    buf_init(&b, 1 << 20);
    json_out_init_object(&o, &b);
    if (schema.n && json_parse(&doc, schema, &e)) {
        root = json_root(&doc);
        required = json_find(&doc, root, STR("required"));
        properties = json_find(&doc, root, STR("properties"));
        JSON_FOREACH_ITEM(v, &doc, required) {
            str name;

            if (!json_text(&doc, v, &s->arena, &name))
                continue;
            json_out_key(&o, name);
            mcp_put_sample(&doc, json_find(&doc, properties, name), &o);
        }
    }
    json_out_end(&o);
    made = arena_move_buf(&s->arena, &b);
    json_release(&doc);
    return made;
}

/* ---- scenarios ---- */

static bool mcp_client_call_tool(struct suite *s, str tool, str arguments)
{
    struct mcp_call c = {.tool = tool, .arguments = arguments, .timeout_ms = TIMEOUT_MS};
    struct mcp_result result;

    assert(s->client);
    return mcp_client_call(s->client, &c, &s->arena, &result, s->e);
}

/* The calls that the suite lists for the scenario, if it does. */
static bool mcp_call_wanted(struct suite *s, bool *some)
{
    const struct json *doc = &s->context;
    const struct json_node *calls = json_find(doc, json_root(doc), STR("toolCalls"));

    *some = calls != NULL;
    JSON_FOREACH(v, doc, calls) {
        const struct json_node *arguments = json_find(doc, v, STR("arguments"));

        if (!mcp_client_call_tool(s,
                                  mcp_member(doc, v, STR("name"), &s->arena),
                                  arguments ? json_raw(doc, arguments) : STR("")))
            return false;
    }
    return true;
}

static bool mcp_call_each(struct suite *s, const struct mcp_tools *tools)
{
    for (size_t i = 0; i < tools->n; i++)
        if (!mcp_client_call_tool(
                s, tools->at[i].name, mcp_sample_arguments(s, tools->at[i].input_schema)))
            return false;
    return true;
}

/* Passes the schema of one tool to another tool: nothing of it may be lost on the way. */
static bool mcp_echo_schema(struct suite *s, const struct mcp_tools *tools)
{
    for (size_t i = 0; i < tools->n; i++)
        if (str_eq(tools->at[i].name, STR("json_schema_2020_12_tool")))
            return mcp_client_call_tool(
                s,
                STR("json_schema_echo"),
                arena_join(&s->arena, STR("{\"schema\":"), tools->at[i].input_schema, STR("}")));
    return err_set(s->e, ERR_NOT_FOUND, "the tool with the schema is missing");
}

/* Requests a list, and then its first element. */
static bool mcp_list_and_get(struct suite *s, str list, str array, str get, str key)
{
    const struct json_node *first;
    struct json doc;
    bool ok;
    str result, name;

    assert(s->client);
    json_init(&doc);
    ok = mcp_client_request(s->client,
                            &(struct mcp_client_ask){list, STR(""), TIMEOUT_MS, NULL},
                            &s->arena,
                            &result,
                            s->e) &&
         json_parse(&doc, result, s->e);
    first = json_at(&doc, json_find(&doc, ok ? json_root(&doc) : NULL, array), 0);
    name = mcp_member(&doc, first, key, &s->arena);
    if (ok && name.n)
        ok = mcp_client_request(
            s->client,
            &(struct mcp_client_ask){get,
                                     arena_join(&s->arena,
                                                arena_join(&s->arena, STR("{\""), key, STR("\":")),
                                                json_raw(&doc, json_find(&doc, first, key)),
                                                STR("}")),
                                     TIMEOUT_MS,
                                     NULL},
            &s->arena,
            &result,
            s->e);
    json_release(&doc);
    return ok;
}

static bool mcp_client_play(struct suite *s)
{
    struct mcp_tools tools;
    bool some;

    if (!mcp_client_tools(s->client, TIMEOUT_MS, NULL, &s->arena, &tools, s->e))
        return false;
    if (str_eq(s->scenario, STR("json-schema-ref-no-deref")))
        return true;
    if (str_eq(s->scenario, STR("json-schema-2020-12-preservation")))
        return mcp_echo_schema(s, &tools);
    if (!mcp_call_wanted(s, &some) || (!some && !mcp_call_each(s, &tools)))
        return false;
    if (!str_eq(s->scenario, STR("http-standard-headers")))
        return true;
    return mcp_list_and_get(
               s, STR("resources/list"), STR("resources"), STR("resources/read"), STR("uri")) &&
           mcp_list_and_get(
               s, STR("prompts/list"), STR("prompts"), STR("prompts/get"), STR("name"));
}

static bool mcp_client_run(struct suite *s, const char *url)
{
    static const char *const roots[] = {"file:///tmp", NULL};
    str version = str_c(getenv("MCP_CONFORMANCE_PROTOCOL_VERSION")),
        context = str_c(getenv("MCP_CONFORMANCE_CONTEXT"));
    const struct json_node *root = NULL;
    struct mcp_auth_options auth = {.client_name = STR("rationale"),
                                    .metadata_url = STR(IDENTITY),
                                    .redirect_uri = STR(REDIRECT),
                                    .authorize = mcp_client_authorize_user,
                                    .ctx = s};
    struct mcp_client_options o = {.url = str_c(url),
                                   .auth = &auth,
                                   .roots = roots,
                                   .sample = mcp_client_sample,
                                   .elicit = mcp_client_elicit_defaults,
                                   .ctx = s};

    assert(!s->client && s->io);
    if (context.n && !json_parse(&s->context, context, s->e))
        return false;
    root = json_root(&s->context);
    auth.client_id = mcp_member(&s->context, root, STR("client_id"), &s->arena);
    auth.client_secret = mcp_member(&s->context, root, STR("client_secret"), &s->arena);
    auth.client_issuer = mcp_member(&s->context, root, STR("issuer"), &s->arena);
    auth.client_credentials = str_starts(s->scenario, STR("auth/client-credentials"));
    if (version.n) {
        o.era = mcp_legacy_version(version) ? MCP_ERA_LEGACY : MCP_ERA_MODERN;
        o.version = mcp_legacy_version(version) ? version : STR("");
    }
    s->client = mcp_client_new(s->io, &o, s->e);
    return s->client && mcp_client_play(s);
}

int cli_mcp_client(const char *url)
{
    struct err e;
    struct suite s = {.scenario = str_c(getenv("MCP_CONFORMANCE_SCENARIO")), .e = &e};
    bool ok;

    assert(url);
    s.io = mcp_io_new(NULL, &e);
    if (!s.io)
        return cli_fail(&e);
    arena_init(&s.arena, ARENA_MAX);
    json_init(&s.context);
    ok = mcp_client_run(&s, url);
    mcp_client_free(s.client);
    mcp_io_free(s.io);
    json_release(&s.context);
    arena_release(&s.arena);
    return ok ? CLI_OK : cli_fail(&e);
}
