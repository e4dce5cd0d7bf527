/* config_agents_test.c - agents, tools and workflows in the configuration: accepted and refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_agents.h"

#include "base/file.h"
#include "gateway/config.h"
#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define HEAD                                                                                       \
    "store: none\n"                                                                                \
    "providers: {local: {kind: openai, base_url: 'http://127.0.0.1:1/v1', models: [qwen]}}\n"
#define TOOLS                                                                                      \
    "tools:\n"                                                                                     \
    "  library: {mcp: {command: python3, args: [library.py], env: {KEY: '${AGENTS_KEY}'}}}\n"      \
    "  stock: {openapi: stock.json, base_url: 'http://127.0.0.1:9000'}\n"                          \
    "  refund: {http: {url: 'http://127.0.0.1:9001/refunds', schema: refund.schema.json,\n"        \
    "                  headers: {Authorization: 'Bearer ${AGENTS_KEY}'}}, timeout: 3s}\n"
#define AGENTS                                                                                     \
    "agents:\n"                                                                                    \
    "  librarian:\n"                                                                               \
    "    model: qwen\n"                                                                            \
    "    prompt: prompts/librarian.md\n"                                                           \
    "    level: medium\n"                                                                          \
    "    strategy: react\n"                                                                        \
    "    tools: [library, stock.search]\n"                                                         \
    "    output: answer.schema.json\n"                                                             \
    "    limits: {steps: 7, tokens: 50000, usd: 0.50, time: 2m}\n"                                 \
    "    approve: [library.lend]\n"                                                                \
    "    handoff: [cataloguer]\n"                                                                  \
    "    guard: {input: judge, output: refund}\n"                                                  \
    "  judge: {prompt: Say whether it is allowed.}\n"
#define WORKFLOWS                                                                                  \
    "workflows:\n"                                                                                 \
    "  triage: [{agents: [librarian, judge], parallel: true, success: all}, {agent: judge}]\n"
#define ALL HEAD AGENTS TOOLS "agents_folder: agents\n" WORKFLOWS

static char folder[] = "/tmp/config-agents-XXXXXX";

static void agents_test_write(const char *name, const char *text)
{
    char path[256];
    struct err e;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_F(file_write_atomic(path, str_c(text), 0600, &e), "%s", e.text);
}

static int agents_test_setup(void **state)
{
    char path[256];

    (void)state;
    if (!mkdtemp(folder))
        return 1;
    (void)snprintf(path, sizeof path, "%s/prompts", folder);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/agents", folder);
    (void)mkdir(path, 0700);
    (void)setenv("AGENTS_KEY", "hush-hush", 1);
    agents_test_write("prompts/librarian.md", "You lend books.\n");
    agents_test_write("answer.schema.json", "{\"type\":\"object\"}");
    agents_test_write("refund.schema.json", "{\"type\":\"object\",\"required\":[\"order\"]}");
    agents_test_write("broken.schema.json", "{\"type\":\"objekt\"}");
    agents_test_write("stock.json",
                      "{\"openapi\":\"3.0.0\",\"paths\":{\"/items\":{\"get\":{\"operationId\":"
                      "\"search\"}}}}");
    agents_test_write("stock.yaml",
                      "openapi: 3.1.0\npaths:\n  /items:\n    get:\n      operationId: search\n");
    agents_test_write("agents/cataloguer.yaml", "prompt: You keep the catalogue.\n");
    return 0;
}

static int agents_test_end(void **state)
{
    char command[300];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command); /* NOLINT(cert-env33-c) */
}

static bool agents_test_parse(const char *yaml, struct config **out, struct err *e)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/r.yaml", folder);
    return config_parse(str_c(yaml), path, out, e);
}

TEST(a_definition_is_read_whole)
{
    struct config *c;
    const struct config_agent *a;
    struct err e;

    CHECK_F(agents_test_parse(ALL, &c, &e), "%s", e.text);
    CHECK_INT(c->agents->agent_count, 3);
    a = &c->agents->agents[0];
    CHECK_STR(a->name, "librarian");
    CHECK_STR(a->model, "qwen");
    CHECK_STR(a->prompt, "You lend books.\n");
    CHECK_STR(a->output, "{\"type\":\"object\"}");
    CHECK_INT(a->level, CHAT_LEVEL_MEDIUM);
    CHECK_INT(a->strategy, CONFIG_REACT);
    CHECK_INT(a->limits.steps, 7);
    CHECK_INT(a->limits.tokens, 50000);
    CHECK_INT(a->limits.time_ms, 120000);
    CHECK(a->limits.usd > 0.49 && a->limits.usd < 0.51);
    CHECK_INT(a->tool_count, 2);
    CHECK_INT(a->tools[1].source, 1);
    CHECK_STR(a->tools[1].tool, "search");
    CHECK_STR(a->approve[0].tool, "lend");
    CHECK_STR(c->agents->agents[a->handoff[0]].name, "cataloguer");
    CHECK_INT(a->guard_input.kind, CONFIG_GUARD_AGENT);
    CHECK_STR(c->agents->agents[a->guard_input.agent].name, "judge");
    CHECK_INT(a->guard_output.kind, CONFIG_GUARD_HTTP);
    CHECK_STR(a->guard_output.url, "http://127.0.0.1:9001/refunds");
    CHECK_INT(a->line, 4);
    a = &c->agents->agents[2];
    CHECK_STR(a->name, "cataloguer");
    CHECK(str_ends(a->file, STR("/agents/cataloguer.yaml")));
    CHECK_STR(a->model, "qwen");
    CHECK_INT(a->limits.steps, 20);
    CHECK_INT(a->limits.tokens, -1);
    config_release(c);
}

TEST(tools_and_workflows_are_read_whole)
{
    struct config *c;
    const struct config_tools *t;
    const struct config_workflow *w;
    struct err e;

    CHECK_F(agents_test_parse(ALL, &c, &e), "%s", e.text);
    t = c->agents->tools;
    CHECK(strcmp(t[0].argv[1], "library.py") == 0 && !t[0].argv[2]);
    CHECK(strcmp(t[0].env[0], "KEY=hush-hush") == 0);
    CHECK_INT(t[1].openapi.count, 1);
    CHECK_STR(t[2].method, "POST");
    CHECK_INT(t[2].timeout_ms, 3000);
    CHECK_STR(secret_reveal(&t[2].headers), "Authorization: Bearer hush-hush\r\n");
    w = c->agents->workflows;
    CHECK_STR(w->name, "triage");
    CHECK_INT(w->stage_count, 2);
    CHECK(w->stages[0].parallel && w->stages[0].all && !w->stages[1].parallel);
    CHECK_STR(c->agents->agents[w->stages[1].agents[0]].name, "judge");
    config_release(c);
    CHECK_F(agents_test_parse(
                HEAD "agents: {a: {}}\nworkflows: {w: [{agent: a, replicas: 2}]}\n", &c, &e),
            "%s",
            e.text);
    w = c->agents->workflows;
    CHECK(w->stages[0].agent_count == 2 && !w->stages[0].all);
    CHECK_STR(w->stages[0].labels[1], "a-2");
    config_release(c);
    CHECK_F(agents_test_parse(
                HEAD "tools: {stock: {openapi: stock.yaml, base_url: 'http://h'}}\n", &c, &e),
            "%s",
            e.text);
    CHECK_STR(c->agents->tools[0].openapi.operations[0].name, "search");
    config_release(c);
}

TEST(a_prompt_is_a_text_a_file_or_a_name)
{
    static const struct {
        const char *given, *text, *name;
    } cases[] = {{"You are brief.", "You are brief.", ""},
                 {"prompts/librarian.md", "You lend books.\n", ""},
                 {"librarian", "", "librarian"},
                 {"", "", ""}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[512];
        struct config *c;
        struct err e;

        (void)snprintf(yaml, sizeof yaml, "%sagents: {a: {prompt: '%s'}}\n", HEAD, cases[i].given);
        CHECK_F(agents_test_parse(yaml, &c, &e), "%s", e.text);
        CHECK_STR(c->agents->agents[0].prompt, cases[i].text);
        CHECK_STR(c->agents->agents[0].prompt_name, cases[i].name);
        config_release(c);
    }
}

TEST(what_is_wrong_is_refused_with_line_and_nearest_name)
{
    static const struct {
        const char *yaml, *where, *what;
    } cases[] = {
        {"agents:\n  a: {model: qwne}\n", ":4: agents.a.model: ", "did you mean \"qwen\"?"},
        {"agents:\n  a:\n    prompt: prompts/libarian.md\n",
         ":5: agents.a.prompt: ",
         "did you mean \"librarian.md\"?"},
        {"agents:\n  a: {output: anwser.schema.json}\n",
         ":4: agents.a.output: ",
         "did you mean \"answer.schema.json\"?"},
        {"agents:\n  a: {output: broken.schema.json}\n", ":4: agents.a.output: ", "a JSON Schema"},
        {"agents:\n  a: {tools: [libary]}\n" TOOLS,
         ":4: agents.a.tools.0: no tool source \"libary\"",
         "did you mean \"library\"?"},
        {"agents:\n  a: {tools: [stock.serch]}\n" TOOLS,
         ":4: agents.a.tools.0: no operation \"serch\"",
         "did you mean \"search\"?"},
        {"agents:\n  a: {tools: [refund.x]}\n" TOOLS, ":4: agents.a.tools.0: ", "is one tool"},
        {"agents:\n  a: {tools: [stock], approve: [library.lend]}\n" TOOLS,
         ":4: agents.a.approve.0: ",
         "add it to tools"},
        {"agents:\n  a: {handoff: [jugde]}\n  judge: {}\n",
         ":4: agents.a.handoff.0: no agent \"jugde\"",
         "did you mean \"judge\"?"},
        {"agents:\n  a: {handoff: [a]}\n", ":4: agents.a.handoff.0: ", "to itself"},
        {"agents:\n  a: {guard: {input: jugde}}\n  judge: {}\n",
         ":4: agents.a.guard.input: ",
         "did you mean \"judge\"?"},
        {"agents:\n  a: {guard: {input: b}}\n  b: {guard: {input: c}}\n  c: {}\n",
         ":4: agents.a.guard: ",
         "guards of its own"},
        {"agents:\n  a: {limits: {steps: 0}}\n", ":4: agents.a.limits.steps: ", "1 to 1000"},
        {"agents:\n  a: {strategy: fast}\n", ":4: agents.a.strategy: ", "native"},
        {"agents:\n  a: {tool: []}\n", ":4: agents.a.tool: ", "did you mean \"tools\"?"},
        {"agents:\n  a: {}\nworkflows:\n  a: [{agent: a}]\n", ":6: workflows.a: ", "agent"},
        {"agents:\n  judge: {}\nworkflows:\n  w: [{agent: jugde}]\n",
         ":6: workflows.w.0.agent: no agent \"jugde\"",
         "did you mean \"judge\"?"},
        {"agents:\n  a: {}\nworkflows:\n  w: [{agent: a, replicas: 17}]\n",
         ":6: workflows.w.0.replicas: ",
         "1 to 16 agents"},
        {"agents:\n  a: {}\nworkflows:\n  w: [{agent: a, agents: [a]}]\n",
         ":6: workflows.w.0: ",
         "either"},
        {"tools:\n  a: {mcp: {}}\n", ":4: tools.a.mcp: ", "either a command or a url"},
        {"tools:\n  a: {}\n", ":4: tools.a: ", "one of mcp, openapi and http"},
        {"tools:\n  a.b: {http: {url: 'http://h'}}\n", ":4: tools.a.b: ", "no dot"},
        {"tools:\n  a: {http: {url: 'http://h/?a b'}}\n", ":4: tools.a.http.url: ", "a space"},
        {"tools:\n  a: {http: {url: 'ftp://h'}}\n", ":4: tools.a.http.url: ", "http"},
        {"tools:\n  a: {openapi: stok.json, base_url: 'http://h'}\n",
         ":4: tools.a.openapi: ",
         "did you mean \"stock.json\"?"},
        {"tools:\n  a: {openapi: stock.json}\n", ":4: tools.a: ", "base_url"},
        {"tools:\n  a: {openapi: answer.schema.json, base_url: 'http://h'}\n",
         ":4: tools.a.openapi: ",
         "not an OpenAPI 3"},
        {"agents_folder: agnts\n", ":3: agents_folder: ", "No such file"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[2048];
        struct config *c;
        struct err e;

        (void)snprintf(yaml, sizeof yaml, "%s%s", HEAD, cases[i].yaml);
        CHECK_F(!agents_test_parse(yaml, &c, &e), "case %zu", i);
        CHECK_F(strstr(e.text, cases[i].where), "case %zu: %s", i, e.text);
        CHECK_F(strstr(e.text, cases[i].what), "case %zu: %s", i, e.text);
    }
}

TEST(a_name_without_a_similar_one_gets_the_list_of_those_that_exist)
{
    static const char *const cases[][2] = {
        {HEAD "agents:\n  a: {tools: [weather-station]}\n" TOOLS,
         ":4: agents.a.tools.0: no tool source \"weather-station\": there are library, stock, "
         "refund"},
        {HEAD "agents:\n  a: {tools: [library]}\n",
         ":4: agents.a.tools.0: no tool source \"library\": there are none"},
        {"store: none\nproviders: {local: {kind: openai, base_url: 'http://127.0.0.1:1/v1', "
         "models: [a1, b1, c1, d1, e1, f1]}}\nagents:\n  a: {model: llama}\n",
         ":4: agents.a.model: no model \"llama\": there are a1, b1, c1, d1, e1 and others"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct config *c;
        struct err e;

        CHECK_F(!agents_test_parse(cases[i][0], &c, &e), "case %zu", i);
        CHECK_F(strstr(e.text, cases[i][1]), "case %zu: %s", i, e.text);
    }
}

TEST(an_agents_file_is_named_with_its_own_lines)
{
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"prompt: x y\ntools: [librry]\n", "/agents/other.yaml:2: tools.0: no tool source"},
        {"prompt: x y\ntool: [library]\n", "/agents/other.yaml:2: tool: unknown property"},
        {"prompt: x y\nmodel: [qwen\n", "/agents/other.yaml:3: "},
        {"prompt: librarian.md\n", "/agents/other.yaml:1: prompt: "},
    };
    struct config *c;
    struct err e;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        agents_test_write("agents/other.yaml", cases[i].text);
        CHECK_F(!agents_test_parse(ALL, &c, &e), "case %zu", i);
        CHECK_F(strstr(e.text, cases[i].what), "case %zu: %s", i, e.text);
    }
    agents_test_write("agents/other.yaml", "prompt: ../prompts/librarian.md\n");
    CHECK_F(agents_test_parse(ALL, &c, &e), "%s", e.text);
    CHECK_STR(c->agents->agents[3].prompt, "You lend books.\n");
    config_release(c);
    agents_test_write("agents/judge.yaml", "{}\n");
    CHECK(!agents_test_parse(ALL, &c, &e));
    CHECK_F(strstr(e.text, "/agents/judge.yaml:1: there is an agent \"judge\""), "%s", e.text);
}

static void agents_test_folder(const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(mkdir(path, 0700) == 0);
}

TEST(a_folder_with_too_many_agents_is_refused)
{
    struct config *c;
    struct err e;
    char name[64];

    agents_test_folder("many");
    for (int i = 0; i <= CONFIG_AGENTS_MAX; i++) {
        (void)snprintf(name, sizeof name, "many/a%d.yaml", i);
        agents_test_write(name, "prompt: x y\n");
    }
    CHECK(!agents_test_parse(HEAD "agents_folder: many\n", &c, &e));
    CHECK_F(strstr(e.text, "r.yaml:3: agents_folder: the folder has more than 256"), "%s", e.text);
}

/* Opening a pipe for reading blocks until a writer opens it. */
TEST(a_pipe_among_the_agents_is_refused)
{
    struct config *c;
    struct err e;
    char path[256];

    agents_test_folder("pipes");
    (void)snprintf(path, sizeof path, "%s/pipes/a.yaml", folder);
    CHECK(mkfifo(path, 0600) == 0);
    CHECK(!agents_test_parse(HEAD "agents_folder: pipes\n", &c, &e));
    CHECK_F(strstr(e.text, "/pipes/a.yaml is a pipe, a socket or a device"), "%s", e.text);
    CHECK(!agents_test_parse(HEAD "agents: {a: {prompt: pipes/a.yaml}}\n", &c, &e));
    CHECK_F(strstr(e.text, "/pipes/a.yaml is a pipe, a socket or a device"), "%s", e.text);
}

TEST(files_of_agents_that_are_too_large_together_are_refused)
{
    struct config *c;
    struct buf text;
    struct err e;
    char name[64];

    agents_test_folder("large");
    buf_init(&text, 1 << 20);
    buf_add(&text, STR("prompt: x y\noutput: {enum: [a"));
    while (text.n < 1000000)
        buf_add(&text, STR(",a"));
    buf_add(&text, STR("]}\n"));
    buf_add_c(&text, '\0');
    for (int i = 0; i < 24; i++) {
        (void)snprintf(name, sizeof name, "large/a%d.yaml", i);
        agents_test_write(name, text.p);
    }
    buf_release(&text);
    CHECK(!agents_test_parse(HEAD "agents_folder: large\n", &c, &e));
    CHECK_F(strstr(e.text, "agents_folder: the files of agents and tools are too large together"),
            "%s",
            e.text);
}

static void agents_test_count(void *ctx, const struct config_problem *p)
{
    (void)p;
    ++*(size_t *)ctx;
}

TEST(the_time_for_many_problems_is_bounded)
{
    size_t count = 0;
    struct config_problem_sink sink = {agents_test_count, &count};
    clock_t from = clock();
    struct config *c;
    struct buf text;
    struct err e;
    char path[256];

    buf_init(&text, 1 << 20);
    buf_add(&text, STR(HEAD "agents:\n"));
    for (int i = 0; i < 250; i++) {
        buf_printf(&text, "  a%d: {tools: [x", i);
        for (int k = 1; k < 1024; k++)
            buf_add(&text, STR(",x"));
        buf_add(&text, STR("]}\n"));
    }
    buf_add_c(&text, '\0');
    agents_test_write("problems.yaml", text.p);
    buf_release(&text);
    (void)snprintf(path, sizeof path, "%s/problems.yaml", folder);
    CHECK(!config_load_each(path, &sink, &c, &e));
    CHECK(count > 0 && count <= 100);
    CHECK(clock() - from < 5 * CLOCKS_PER_SEC);
}

TEST(a_list_of_tools_has_a_ceiling)
{
    struct config *c;
    struct buf text;
    struct err e;

    buf_init(&text, 1 << 20);
    buf_add(&text, STR(HEAD TOOLS "agents: {a: {tools: [library"));
    for (int i = 0; i < 1024; i++)
        buf_add(&text, STR(",library"));
    buf_add(&text, STR("]}}\n"));
    buf_add_c(&text, '\0');
    CHECK(!agents_test_parse(text.p, &c, &e));
    CHECK_F(strstr(e.text, "agents.a.tools: at most 1024 tools"), "%s", e.text);
    buf_release(&text);
}

TEST(a_program_that_is_not_there_is_a_warning)
{
    static const struct {
        const char *command;
        size_t warnings;
    } cases[] = {{"sh", 0}, {"no-such-program", 1}, {"./stock.json", 1}, {"rationale", 0}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[512];
        struct config *c;
        struct err e;

        (void)snprintf(
            yaml, sizeof yaml, "%stools: {a: {mcp: {command: %s}}}\n", HEAD, cases[i].command);
        CHECK_F(agents_test_parse(yaml, &c, &e), "%s", e.text);
        CHECK_F(c->warning_count == cases[i].warnings, "case %zu", i);
        if (c->warning_count)
            CHECK_F(strstr(c->warnings[0].p, ":3: tools.a.mcp.command: there is no program"),
                    "%s",
                    c->warnings[0].p);
        config_release(c);
    }
}

TEST(what_is_printed_has_no_secret_and_is_read_again)
{
    struct config *c, *again;
    struct buf out;
    struct err e;

    CHECK_F(
        agents_test_parse(HEAD AGENTS "  cataloguer: {}\n" TOOLS WORKFLOWS, &c, &e), "%s", e.text);
    buf_init(&out, 1 << 20);
    config_print(c, &out);
    buf_add_c(&out, '\0');
    CHECK(!strstr(out.p, "hush"));
    CHECK(strstr(out.p, "\"librarian\": {\"model\":\"qwen\""));
    out.n--;
    CHECK_F(
        config_parse(
            buf_str(&out), arena_join(&c->arena, c->folder, STR("r.yaml"), STR("")).p, &again, &e),
        "%s",
        e.text);
    CHECK_INT(again->agents->agent_count, 3);
    config_release(again);
    buf_release(&out);
    config_release(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_definition_is_read_whole),
        T(tools_and_workflows_are_read_whole),
        T(a_prompt_is_a_text_a_file_or_a_name),
        T(what_is_wrong_is_refused_with_line_and_nearest_name),
        T(a_folder_with_too_many_agents_is_refused),
        T(a_pipe_among_the_agents_is_refused),
        T(files_of_agents_that_are_too_large_together_are_refused),
        T(the_time_for_many_problems_is_bounded),
        T(a_list_of_tools_has_a_ceiling),
        T(a_program_that_is_not_there_is_a_warning),
        T(what_is_printed_has_no_secret_and_is_read_again),
        T(a_name_without_a_similar_one_gets_the_list_of_those_that_exist),
        T(an_agents_file_is_named_with_its_own_lines),
    };

    return cmocka_run_group_tests(tests, agents_test_setup, agents_test_end);
}
