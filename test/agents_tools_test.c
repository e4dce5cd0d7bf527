/* agents_tools_test.c - an agent's tools from MCP servers, OpenAPI documents and HTTP requests,
 * with real servers, good and bad.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent_help.h"
#include "agents/definition.h"
#include "base/file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/agents-tools-XXXXXX";
static char port[16];
static pid_t service;

struct tools_ground {
    struct arena arena;
    struct config *config;
    struct agents_servers *servers;
    struct agents_tools *tools;
};

static str tools_test_source(struct arena *a, const char *file)
{
    const char *root = getenv("RATIONALE_SOURCE");

    return arena_printf(a, "%s/test/agents/%s", root ? root : ".", file);
}

/* Opens a configuration with one agent `a` that has these tools. */
static bool tools_test_open(struct tools_ground *g, const char *tools, const char *use,
                            const char *approve, struct err *e)
{
    struct agents_tools_options o = {.clock = &clock_real, .listed = STR("")};
    str yaml, path;

    memset(g, 0, sizeof *g);
    arena_init(&g->arena, 64 << 20);
    path = arena_printf(&g->arena, "%s/r.yaml", folder);
    yaml = arena_printf(&g->arena,
                        "store: none\nproviders: {local: {kind: openai, base_url: "
                        "'http://127.0.0.1:1/v1', models: [m]}}\n"
                        "agents: {a: {tools: [%s], approve: [%s]}}\ntools: {%s}\n",
                        use,
                        approve,
                        tools);
    g->servers = agents_servers_new();
    if (!config_parse(yaml, path.p, &g->config, e))
        return false;
    o.config = g->config;
    o.agent = agents_find(g->config, STR("a"));
    o.servers = g->servers;
    return agents_open_tools(&o, &g->tools, e);
}

static void tools_test_close(struct tools_ground *g)
{
    agents_close_tools(g->tools);
    agents_servers_free(g->servers);
    config_release(g->config);
    arena_release(&g->arena);
}

/* Calls a tool; returns its result, or the error in brackets. */
static str tools_test_call(struct tools_ground *g, const char *name, const char *arguments)
{
    struct tool_result r = {.tool = toolbox_find(g->tools->box, str_c(name))};
    struct tool_batch b = {.results = &r, .n = 1};
    str out;

    CHECK_F(r.tool, "no tool %s", name);
    r.call = (struct tool_call){.id = STR("1"),
                                .name = r.tool->name,
                                .arguments = str_c(arguments),
                                .key = STR("key-1"),
                                .session = STR("")};
    buf_init(&r.out, TOOL_RESULT_MAX);
    toolbox_run(g->tools->box, &b);
    out =
        r.ok ? arena_dup(&g->arena, buf_str(&r.out)) : arena_printf(&g->arena, "[%s]", r.err.text);
    buf_release(&r.out);
    return out;
}

static str tools_test_server(struct arena *a, const char *how, const char *timeout)
{
    return arena_printf(a,
                        "library: {mcp: {command: python3, args: [-SB, '" STR_FMT
                        "', %s]}, timeout: %s}",
                        STR_ARG(tools_test_source(a, "server.py")),
                        how,
                        timeout);
}

TEST(definitions_are_found_by_name_or_the_nearest)
{
    struct config *c;
    struct err e;

    CHECK_F(config_parse(STR("store: none\nproviders: {l: {kind: openai, base_url: 'http://h/v1', "
                             "models: [m]}}\nagents: {judge: {strategy: classic}}\n"
                             "workflows: {triage: [{agent: judge}]}\n"),
                         "r.yaml",
                         &c,
                         &e),
            "%s",
            e.text);
    CHECK(agents_find(c, STR("judge")) && !agents_find(c, STR("triage")));
    CHECK(agents_find_workflow(c, STR("triage")) && !agents_find_workflow(c, STR("judge")));
    CHECK(strcmp(agents_nearest(c, STR("jugde")), "judge") == 0);
    CHECK(strcmp(agents_nearest(c, STR("triag")), "triage") == 0);
    CHECK(!agents_nearest(c, STR("nothing-like-it")));
    CHECK(strcmp(agents_strategy_name(agents_find(c, STR("judge"))->strategy), "classic") == 0);
    config_release(c);
}

TEST(a_server_has_the_tools_that_the_agent_names)
{
    struct tools_ground g;
    struct arena a;
    struct err e;
    const struct tool *t;

    arena_init(&a, 1 << 16);
    CHECK_F(
        tools_test_open(&g, tools_test_server(&a, "good", "60s").p, "library", "library.lend", &e),
        "%s",
        e.text);
    CHECK_STR(g.tools->notes, "");
    CHECK_INT(toolbox_count(g.tools->box), 3);
    t = toolbox_find(g.tools->box, STR("library__lend"));
    CHECK(t && (t->flags & TOOL_APPROVAL) && !(t->flags & TOOL_READ_ONLY));
    t = toolbox_find(g.tools->box, STR("library__find"));
    CHECK(t && !(t->flags & TOOL_APPROVAL) && (t->flags & TOOL_READ_ONLY));
    CHECK(toolbox_find(g.tools->box, STR("result_search")));
    CHECK_STR(agents_tool_name(g.tools, STR("library__lend")), "library.lend");
    CHECK_STR(tools_test_call(&g, "library__find", "{\"book\":\"Emma\"}"), "find Emma 1");
    tools_test_close(&g);
    CHECK_F(tools_test_open(&g, tools_test_server(&a, "good", "60s").p, "library.find", "", &e),
            "%s",
            e.text);
    CHECK_INT(toolbox_count(g.tools->box), 2);
    tools_test_close(&g);
    arena_release(&a);
}

TEST(a_tool_that_a_server_does_not_have_is_refused_with_the_nearest)
{
    static const char *const cases[][2] = {{"library.lned", ""}, {"library", "library.lned"}};
    struct arena a;

    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tools_ground g;
        struct err e;

        CHECK(!tools_test_open(
            &g, tools_test_server(&a, "good", "60s").p, cases[i][0], cases[i][1], &e));
        CHECK_INT(e.code, ERR_INPUT);
        CHECK_F(
            strstr(e.text, ":3: the server library has no tool \"lned\", did you mean \"lend\"?"),
            "%s",
            e.text);
        tools_test_close(&g);
    }
    arena_release(&a);
}

TEST(a_resumed_run_has_the_tools_that_were_listed)
{
    struct agents_tools_options o = {.clock = &clock_real};
    struct agents_tools *again;
    struct tools_ground g;
    struct arena a;
    struct err e;

    arena_init(&a, 1 << 16);
    CHECK_F(tools_test_open(&g, tools_test_server(&a, "good", "60s").p, "library", "", &e),
            "%s",
            e.text);
    o.config = g.config;
    o.agent = agents_find(g.config, STR("a"));
    o.servers = g.servers;
    o.listed = STR("{\"library\":[{\"name\":\"old\",\"description\":\"was there\",\"schema\":{"
                   "\"type\":\"object\"},\"read_only\":true,\"idempotent\":false}]}");
    CHECK_F(agents_open_tools(&o, &again, &e), "%s", e.text);
    CHECK(toolbox_find(again->box, STR("library__old")));
    CHECK(!toolbox_find(again->box, STR("library__lend")));
    CHECK_STR(again->listed, o.listed.p);
    agents_close_tools(again);
    /* The form that earlier versions wrote into the logs of investigations. */
    o.listed = STR("{\"library\":{\"tools\":[{\"name\":\"old\",\"schema\":{}}]}}");
    CHECK_F(agents_open_tools(&o, &again, &e), "%s", e.text);
    CHECK(toolbox_find(again->box, STR("library__old")) && !again->notes.n);
    agents_close_tools(again);
    o.listed = STR("{\"library\":{\"error\":\"it was closed\"}}");
    CHECK_F(agents_open_tools(&o, &again, &e), "%s", e.text);
    CHECK_STR(again->notes, "The server library could not be used: it was closed");
    agents_close_tools(again);
    tools_test_close(&g);
    arena_release(&a);
}

/* Two runs share a server process. After a reload without the server, it ends with the last run
 * that uses it. */
TEST(a_server_is_shared_and_ends_with_its_configuration)
{
    struct agents_tools_options o = {.clock = &clock_real, .listed = STR("")};
    struct agents_tools *again;
    struct config *other;
    struct tools_ground g;
    struct arena a;
    struct err e;

    arena_init(&a, 1 << 16);
    CHECK_F(tools_test_open(&g, tools_test_server(&a, "good", "60s").p, "library", "", &e),
            "%s",
            e.text);
    o.config = g.config;
    o.agent = agents_find(g.config, STR("a"));
    o.servers = g.servers;
    CHECK_F(agents_open_tools(&o, &again, &e), "%s", e.text);
    CHECK_STR(tools_test_call(&g, "library__find", "{\"book\":\"A\"}"), "find A 1");
    agents_close_tools(g.tools);
    g.tools = again;
    CHECK_STR(tools_test_call(&g, "library__find", "{\"book\":\"B\"}"), "find B 2");
    CHECK(
        config_parse(STR("store: none\nproviders: {l: {kind: openai, base_url: 'http://h/v1'}}\n"),
                     "r.yaml",
                     &other,
                     &e));
    agents_servers_reload(g.servers, other);
    CHECK_STR(tools_test_call(&g, "library__find", "{\"book\":\"C\"}"), "find C 3");
    agents_close_tools(g.tools);
    CHECK_F(agents_open_tools(&o, &g.tools, &e), "%s", e.text);
    CHECK_STR(tools_test_call(&g, "library__find", "{\"book\":\"D\"}"), "find D 1");
    /* A run with the old configuration starts the server after the reload; the server ends with
     * this run. */
    agents_close_tools(g.tools);
    CHECK_F(agents_open_tools(&o, &g.tools, &e), "%s", e.text);
    CHECK_STR(tools_test_call(&g, "library__find", "{\"book\":\"E\"}"), "find E 1");
    /* After a reload with the server, it keeps running. */
    agents_servers_reload(g.servers, g.config);
    agents_close_tools(g.tools);
    CHECK_F(agents_open_tools(&o, &g.tools, &e), "%s", e.text);
    CHECK_STR(tools_test_call(&g, "library__find", "{\"book\":\"F\"}"), "find F 2");
    config_release(other);
    tools_test_close(&g);
    arena_release(&a);
}

TEST(a_server_that_is_bad_at_its_start_is_a_note)
{
    static const struct {
        const char *how, *why, *timeout;
    } cases[] = {{"dies_at_start", "ended", "100s"}, {"hangs_at_start", "in time", "1s"}};
    struct arena a;

    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tools_ground g;
        struct err e;

        CHECK_F(tools_test_open(&g,
                                tools_test_server(&a, cases[i].how, cases[i].timeout).p,
                                "library.lend",
                                "library.lend",
                                &e),
                "%s",
                e.text);
        CHECK_F(has(g.tools->notes, "The server library could not be used: "),
                STR_FMT,
                STR_ARG(g.tools->notes));
        CHECK_F(has(g.tools->notes, cases[i].why), STR_FMT, STR_ARG(g.tools->notes));
        CHECK_INT(toolbox_count(g.tools->box), 0);
        tools_test_close(&g);
    }
    arena_release(&a);
}

TEST(a_server_that_is_bad_later_is_a_sentence)
{
    static const struct {
        const char *how, *says, *timeout;
    } cases[] = {
        {"dies", "ended", "100s"},
        {"hangs", "in time", "1500ms"},
        {"other_id", "in time", "1500ms"},
        {"floods", "too long", "100s"},
        {"lies", "copies", "100s"},
        {"noise", "lend Emma 1", "100s"},
    };
    struct arena a;

    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tools_ground g;
        struct err e;
        str out;

        CHECK_F(tools_test_open(
                    &g, tools_test_server(&a, cases[i].how, cases[i].timeout).p, "library", "", &e),
                "%s",
                e.text);
        CHECK_STR(g.tools->notes, "");
        out = tools_test_call(&g, "library__lend", "{\"book\":\"Emma\"}");
        CHECK_F(has(out, cases[i].says), "%s: " STR_FMT, cases[i].how, STR_ARG(out));
        tools_test_close(&g);
    }
    arena_release(&a);
}

TEST(operations_and_requests_reach_their_service)
{
    struct tools_ground g;
    struct arena a;
    struct err e;
    str out;

    arena_init(&a, 1 << 16);
    (void)setenv("STOCK_KEY", "hush", 1);
    CHECK_F(tools_test_open(
                &g,
                arena_printf(&a,
                             "stock: {openapi: stock.json, base_url: 'http://127.0.0.1:%s/'}, "
                             "refund: {http: {url: 'http://127.0.0.1:%s/refunds', headers: "
                             "{Authorization: 'Bearer ${STOCK_KEY}'}}}, "
                             "look: {http: {method: GET, url: 'http://127.0.0.1:%s/look?a=1'}}",
                             port,
                             port,
                             port)
                    .p,
                "stock, refund, look",
                "refund",
                &e),
            "%s",
            e.text);
    CHECK_STR(tools_test_call(&g, "stock__search", "{\"q\":\"a b\"}"),
              "{\"path\": \"/items?q=a%20b\"}");
    CHECK_STR(tools_test_call(&g, "look", "{\"b\":\"2\"}"), "{\"path\": \"/look?a=1&b=2\"}");
    CHECK(toolbox_find(g.tools->box, STR("refund"))->flags & TOOL_APPROVAL);
    CHECK(toolbox_find(g.tools->box, STR("look"))->flags & TOOL_READ_ONLY);
    out = tools_test_call(&g, "refund", "{\"order\":7}");
    CHECK_STR(out,
              "{\"body\": {\"order\": 7}, \"path\": \"/refunds\", \"key\": \"key-1\", "
              "\"authorization\": \"Bearer hush\"}");
    CHECK(!has(g.tools->listed, "hush"));
    tools_test_close(&g);
    arena_release(&a);
}

TEST(a_bad_service_is_a_sentence)
{
    static const struct {
        const char *path, *says, *timeout;
    } cases[] = {
        {"redirect", "[the tool s: the service answers with a redirect (status 302)", "100s"},
        {"hang", "in time", "2s"},
        {"drip", "in time", "3s"},
        {"flood", "larger than", "100s"},
        {"fails", "The service answers with status 500:\n{\"error\":\"out of paper\"}", "100s"},
        {"picture", "[6 bytes of image/png, which are no text]", "100s"},
        {"garbage", "[the tool s: ", "100s"},
    };
    struct arena a;

    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tools_ground g;
        struct err e;
        str out;

        CHECK_F(tools_test_open(&g,
                                arena_printf(&a,
                                             "s: {http: {method: GET, url: "
                                             "'http://127.0.0.1:%s/%s'}, timeout: %s}",
                                             port,
                                             cases[i].path,
                                             cases[i].timeout)
                                    .p,
                                "s",
                                "",
                                &e),
                "%s",
                e.text);
        out = tools_test_call(&g, "s", "{}");
        CHECK_F(has(out, cases[i].says), "%s: " STR_FMT, cases[i].path, STR_ARG(out));
        tools_test_close(&g);
    }
    arena_release(&a);
}

/* The model gets the head and the tail, and finds the middle with result_search. */
TEST(a_large_result_is_searched)
{
    static struct script s = {.turns = {"!library__find {\"book\":\"x\"}",
                                        "!result_search {\"result\":1,\"query\":\"needle\"}",
                                        "!result_search {\"result\":9}",
                                        "done"}};
    struct tools_ground g;
    struct agent_result r;
    struct agent_options o;
    struct arena a;
    struct err e;

    arena_init(&a, 64 << 20);
    CHECK_F(tools_test_open(&g, tools_test_server(&a, "large", "60s").p, "library", "", &e),
            "%s",
            e.text);
    arena_init(&s.arena, 64 << 20);
    o = script_options(&s, g.tools->box);
    o.results = g.tools->results;
    r = script_run(&o, &a);
    CHECK_INT(r.end, AGENT_FINISHED);
    CHECK(r.messages.n < 2 * AGENT_RESULT_SHOWN);
    CHECK(
        has(r.messages, "bytes are left out here. This is result 1: search it with result_search"));
    CHECK(has(r.messages, "byte 100004: the Needle is here"));
    CHECK(has(r.messages, "there is no result 9: those that are kept are 1 to 1"));
    tools_test_close(&g);
    arena_release(&s.arena);
    arena_release(&a);
}

static int tools_test_setup(void **state)
{
    struct arena a;
    struct err e;
    int pipes[2];
    FILE *out;

    (void)state;
    arena_init(&a, 1 << 16);
    if (!mkdtemp(folder) || pipe(pipes) != 0)
        return 1;
    if (!file_write_atomic(arena_printf(&a, "%s/stock.json", folder).p,
                           STR("{\"openapi\":\"3.0.0\",\"paths\":{\"/items\":{\"get\":{"
                               "\"operationId\":\"search\",\"parameters\":[{\"name\":\"q\",\"in\":"
                               "\"query\",\"schema\":{\"type\":\"string\"}}]}}}}"),
                           0600,
                           &e))
        return 1;
    service = fork();
    if (service == 0) {
        (void)dup2(pipes[1], 1);
        (void)execlp("python3", "python3", "-SB", tools_test_source(&a, "service.py").p, NULL);
        _exit(1);
    }
    close(pipes[1]);
    out = fdopen(pipes[0], "r");
    if (!out || !fgets(port, sizeof port, out))
        return 1;
    port[strcspn(port, "\n")] = '\0';
    (void)fclose(out);
    arena_release(&a);
    return 0;
}

static int tools_test_end(void **state)
{
    char command[100];

    (void)state;
    (void)kill(service, SIGKILL);
    (void)waitpid(service, NULL, 0);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command); /* NOLINT(cert-env33-c) */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(definitions_are_found_by_name_or_the_nearest),
        T(a_server_has_the_tools_that_the_agent_names),
        T(a_tool_that_a_server_does_not_have_is_refused_with_the_nearest),
        T(a_resumed_run_has_the_tools_that_were_listed),
        T(a_server_is_shared_and_ends_with_its_configuration),
        T(a_server_that_is_bad_at_its_start_is_a_note),
        T(a_server_that_is_bad_later_is_a_sentence),
        T(operations_and_requests_reach_their_service),
        T(a_bad_service_is_a_sentence),
        T(a_large_result_is_searched),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, tools_test_setup, tools_test_end);
}
