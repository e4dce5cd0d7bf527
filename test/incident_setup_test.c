/* incident_setup_test.c - agents.yaml: valid settings, and the error for each invalid one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/setup.h"
#include "test.h"

static const char good[] =
    "mcp_servers:\n"
    "  kubernetes:\n"
    "    server_id: kubernetes\n"
    "    server_type: kubernetes\n"
    "    enabled: true\n"
    "    connection_params:\n"
    "      command: npx\n"
    "      args: [-y, kubernetes-mcp-server, --port, 80, \"${INCIDENT_TEST}\"]\n"
    "      environment: {KUBECONFIG: /etc/kube, VERBOSE: 1}\n"
    "      cwd: sub\n"
    "    instructions: Look only.\n"
    "    data_masking:\n"
    "      enabled: true\n"
    "      pattern_groups: [kubernetes]\n"
    "      patterns: [certificate, token]\n"
    "      custom_patterns:\n"
    "        - {name: ticket, pattern: 'TCK-[0-9]+', replacement: '[T]', description: d}\n"
    "    timeout: 30s\n"
    "  off:\n"
    "    enabled: false\n"
    "    connection_params: {command: nothing}\n"
    "  metrics:\n"
    "    connection_params: {url: \"http://127.0.0.1:1/mcp\", headers: {X-Key: abc}}\n"
    "agents:\n"
    "  KubernetesAgent:\n"
    "    alert_types: [kubernetes, NamespaceTerminating]\n"
    "    mcp_servers: [kubernetes, off]\n"
    "    custom_instructions: Be brief.\n"
    "    enable_reasoning: {default: false, NamespaceTerminating: true}\n"
    "    tools: [pods_get, metrics.query]\n"
    "    max_iterations: 3\n"
    "  Other:\n"
    "    strategy: native\n"
    "    mcp_servers: [metrics, kubernetes]\n"
    "    enable_reasoning: [Deep]\n"
    "  Third: {strategy: react, enable_reasoning: true, alert_types: [\"*\"]}\n"
    "chains:\n"
    "  deep:\n"
    "    alert_types: [Deep]\n"
    "    success_policy: all\n"
    "    stages:\n"
    "      - {name: look, agents: [KubernetesAgent, Other]}\n"
    "      - {agent: Other, replicas: 3, success_policy: any}\n"
    "    synthesis: {agent: Third}\n"
    "    executive_summary: true\n";

static struct incident_setup *load(const char *yaml)
{
    struct incident_setup *s = NULL;
    struct err e;

    if (!incident_setup_parse(str_c(yaml), "dir/agents.yaml", "books", &s, &e))
        fail_msg("%s", e.text);
    return s;
}

TEST(servers_are_read_with_their_command_environment_and_masking)
{
    struct incident_setup *s;
    const struct config_tools *k;
    struct buf out;

    setenv("INCIDENT_TEST", "from env", 1);
    s = load(good);
    k = s->config->agents->tools;
    CHECK(s->config->agents->tools_count == 3 && !s->servers[1].on);
    CHECK_STR(s->servers[0].instructions, "Look only.");
    CHECK(strcmp(k->argv[0], "npx") == 0 && strcmp(k->argv[4], "80") == 0);
    CHECK(strcmp(k->argv[5], "from env") == 0 && !k->argv[6]);
    CHECK(strcmp(k->env[0], "KUBECONFIG=/etc/kube") == 0 && strcmp(k->env[1], "VERBOSE=1") == 0);
    CHECK(strcmp(k->cwd, "dir/sub") == 0 && k->timeout_ms == 30000);
    CHECK_STR(k[2].url, "http://127.0.0.1:1/mcp");
    CHECK_STR(secret_reveal(&k[2].headers), "X-Key: abc\r\n");
    CHECK(!str_eq(k[0].digest, k[1].digest) && k[0].digest.n > 0);
    buf_init(&out, 4096);
    CHECK(mask_text(k->mask, STR("see TCK-12 now"), &out, NULL));
    CHECK_STR(buf_str(&out), "see [T] now");
    buf_release(&out);
    incident_setup_free(s);
}

TEST(a_person_is_asked_about_all_tools_of_a_server_or_about_those_it_names)
{
    static const struct {
        const char *approval;
        size_t count;
        bool named;
    } cases[] = {
        {"true", 1, false}, {"false", 0, false}, {"[]", 0, false}, {"[restart, delete]", 2, true}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct incident_setup *s, *again;
        char yaml[300];

        (void)snprintf(yaml,
                       sizeof yaml,
                       "mcp_servers: {k: {connection_params: {command: x}, approval: %s}}\n"
                       "agents: {A: {alert_types: [t], mcp_servers: [k]}}\nchains:\n",
                       cases[i].approval);
        s = load(yaml);
        CHECK(s->agents[0].def.approve_count == cases[i].count);
        CHECK(!cases[i].count || (s->approve[0].tool.n > 0) == cases[i].named);
        again = incident_setup_retain(s);
        incident_setup_free(s);
        CHECK_STR(again->config->agents->tools[0].name,
                  "k"); /* the server lives until its last reference is released */
        incident_setup_free(again);
    }
}

TEST(agents_and_chains_take_alerts_by_type)
{
    struct incident_setup *s = load(good);
    const char *const *types = incident_alert_types(s), *const * servers;
    const struct incident_chain *c;
    str who;

    CHECK(strcmp(types[0], "Deep") == 0 && strcmp(types[1], "NamespaceTerminating") == 0);
    CHECK(strcmp(types[2], "kubernetes") == 0 && !types[3]);
    CHECK(incident_assigned(s, STR("kubernetes"), &who, &servers));
    CHECK_STR(who, "KubernetesAgent");
    CHECK(strcmp(servers[0], "kubernetes") == 0 && !servers[1]); /* the other one is disabled */
    CHECK(incident_assigned(s, STR("anything else"), &who, &servers));
    CHECK_STR(who, "Third");
    CHECK(incident_assigned(s, STR("Deep"), &who, &servers));
    CHECK_STR(who, "deep");
    CHECK(servers[0] && servers[1] && !servers[2]);
    c = setup_chain(s, STR("Deep"));
    CHECK(c->stage_count == 2 && c->summary && c->synthesis == &s->agents[2]);
    CHECK(c->stages[0].all && !c->stages[1].all);
    CHECK_STR(c->stages[1].name, "stage-2");
    CHECK_STR(c->stages[1].labels[2], "Other-3");
    incident_setup_free(s);
}

TEST(defect_1_reasoning_is_switched_by_agent_and_by_alert_type)
{
    struct incident_setup *s = load(good);
    const struct incident_agent *a = s->agents;

    CHECK(setup_reasoning(&a[0], STR("kubernetes")) == INCIDENT_OFF);
    CHECK(setup_reasoning(&a[0], STR("NamespaceTerminating")) == INCIDENT_ON);
    CHECK(setup_reasoning(&a[1], STR("Deep")) == INCIDENT_ON);
    CHECK(setup_reasoning(&a[1], STR("kubernetes")) == INCIDENT_OFF);
    CHECK(setup_reasoning(&a[2], STR("x")) == INCIDENT_ON);
    incident_setup_free(s);
    s = load("agents: {A: {alert_types: [x]}}");
    CHECK(setup_reasoning(&s->agents[0], STR("x")) == INCIDENT_AS_CONFIGURED);
    CHECK(s->agents[0].strategy == INCIDENT_CLASSIC && s->agents[0].iterations == 10);
    incident_setup_free(s);
}

#define SERVER "mcp_servers:\n  kubernetes: {connection_params: {command: x}}\n"

static const struct {
    const char *yaml, *says[3];
} wrong[] = {
    {"agents: {A: {alert_types: [x], mcp_server: [a]}}",
     {"agents.yaml:1", "agents.A", "mcp_servers"}},
    {SERVER "agents:\n  A:\n    alert_types: [x]\n    mcp_servers: [kubernets]\n",
     {"agents.yaml:6", "no server \"kubernets\"", "did you mean \"kubernetes\""}},
    {"agents:\n  A: {alert_types: [x]}\n  B: {alert_types: [y, x]}\n",
     {"agents.yaml:3", "\"x\"", "\"A\" already"}},
    {"agents:\n  A: {alert_types: [x]}\n  A: {alert_types: [y]}\n", {"agents.yaml:3", "A"}},
    {"agents:\n  A: {}\nchains:\n  c: {alert_types: [x], stages: [{agents: [B]}]}\n",
     {"agents.yaml:4", "no agent \"B\""}},
    {"agents:\n  A: {alert_types: [x]}\nchains:\n  c: {alert_types: [x], stages: [{agent: A}]}\n",
     {"agents.yaml:4", "\"A\" already"}},
    {"agents:\n  A: {}\nchains:\n  A: {alert_types: [x], stages: [{agent: A}]}\n",
     {"agents.yaml:4", "an agent has this name"}},
    {"agents:\n  A: {}\nchains:\n  c: {alert_types: [x], stages: [{agent: A, agents: [A]}]}\n",
     {"either agents or an agent"}},
    {"agents:\n  A: {}\nchains:\n  c: {alert_types: [x], stages: [{agents: [A], replicas: 2}]}\n",
     {"replicas"}},
    {"agents:\n  A: {}\nchains:\n  c: {alert_types: [x], stages: [{agent: A, replicas: 99}]}\n",
     {"agents.yaml:4", "replicas"}},
    {"agents:\n  A: {}\n", {"no agent and no chain has an alert type"}},
    {"agents: {A: {alert_types: [x], strategy: clasic}}", {"strategy", "classic"}},
    {"agents: {A: {alert_types: [x], max_iterations: 0}}", {"max_iterations"}},
    {"mcp_servers: {k: {connection_params: {command: x, url: y}}}\nagents: {A: {alert_types: "
     "[x]}}",
     {"either a command or a url"}},
    {"mcp_servers: {k: {connection_params: {url: ftp://x}}}\nagents: {A: {alert_types: [x]}}",
     {"http://"}},
    {"mcp_servers: {k: {server_id: j, connection_params: {command: x}}}\nagents: {A: {}}",
     {"not the name"}},
    {"mcp_servers: {k: {connection_params: {command: x}, data_masking: {pattern_groups: "
     "[kubernetis]}}}\nagents: {A: {alert_types: [x]}}",
     {"kubernetis", "did you mean \"kubernetes\""}},
    {"mcp_servers: {k: {connection_params: {command: x}, data_masking: {custom_patterns: [{name: "
     "p, pattern: '('}]}}}\nagents: {A: {alert_types: [x]}}",
     {"custom_patterns"}},
    {"mcp_servers: {k: {connection_params: {command: x}, timeout: soon}}\nagents: {A: "
     "{alert_types: [x]}}",
     {"30s"}},
    {"mcp_servers: {k: {connection_params: {command: \"${NOT_SET_ANYWHERE}\"}}}\nagents: {A: {}}",
     {"NOT_SET_ANYWHERE"}},
    {"- a\n", {"object"}},
    {"agents: [\n", {"agents.yaml:"}},
    {"", {"agents.yaml"}},
};

TEST(what_is_wrong_is_told_with_file_line_and_the_nearest_name)
{
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct incident_setup *s;
        struct err e;

        if (incident_setup_parse(str_c(wrong[i].yaml), "agents.yaml", "", &s, &e))
            fail_msg("taken: %s", wrong[i].yaml);
        for (size_t j = 0; j < 3 && wrong[i].says[j]; j++)
            CHECK_F(strstr(e.text, wrong[i].says[j]),
                    "%s\n gave: %s\n without: %s",
                    wrong[i].yaml,
                    e.text,
                    wrong[i].says[j]);
    }
}

TEST(a_secret_from_the_environment_is_in_no_error)
{
    struct incident_setup *s;
    struct err e;

    setenv("INCIDENT_TEST", "hunter2-secret", 1);
    CHECK(!incident_setup_parse(
        STR("agents: {A: {alert_types: [x], strategy: \"${INCIDENT_TEST}\"}}"),
        "a.yaml",
        "",
        &s,
        &e));
    CHECK(!strstr(e.text, "hunter2"));
}

TEST_MAIN(T(servers_are_read_with_their_command_environment_and_masking),
          T(a_person_is_asked_about_all_tools_of_a_server_or_about_those_it_names),
          T(agents_and_chains_take_alerts_by_type),
          T(defect_1_reasoning_is_switched_by_agent_and_by_alert_type),
          T(what_is_wrong_is_told_with_file_line_and_the_nearest_name),
          T(a_secret_from_the_environment_is_in_no_error))
