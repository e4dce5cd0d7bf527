/* Parsing the configuration: defaults, values, presets, printing and paths.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config.h"

#include "base/sha256.h"
#include "gateway/provider.h"
#include "test.h"

#define P "providers: {a: {kind: openai, base_url: http://h/v1, format: think}}\n"
#define DIGEST "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef"

static struct config *parse(const char *yaml)
{
    struct config *c = NULL;
    struct err e = {0};

    if (!config_parse(str_c(yaml), "c.yaml", &c, &e))
        fail_msg("%s", e.text);
    return c;
}

/* ---- the parsed configuration ---- */

TEST(defaults_are_as_documented)
{
    struct config *c = parse(P);

    CHECK_STR(c->listen_host, "127.0.0.1");
    CHECK_INT(c->listen_port, 8484);
    CHECK_STR(c->store_url, "sqlite:rationale.db");
    CHECK_INT(c->durability, STORE_DURABLE);
    CHECK_INT(c->unrecorded, CONFIG_REFUSE);
    CHECK_INT(c->key_count, 0);
    CHECK(!c->show && !c->delta && !c->repair_starved && !c->adaptive && c->drop_from_history);
    CHECK_INT(c->keep, CONFIG_KEEP_TEXT);
    CHECK_INT(c->header_ms, 10000);
    CHECK_INT(c->body_ms, 30000);
    CHECK_INT(c->idle_ms, 60000);
    CHECK_INT(c->write_ms, 60000);
    CHECK_INT(c->drain_ms, 30000);
    CHECK_INT(c->keepalive_ms, 15000);
    CHECK_INT(c->body_max, 32 << 20);
    CHECK_INT(c->breaker_failures, 5);
    CHECK_INT(c->breaker_ms, 30000);
    CHECK_INT(c->log_level, LOG_INFO);
    CHECK_INT(c->threads, 0);
    CHECK_STR(c->otlp_url, "");
    CHECK_STR(c->otlp_headers, "");
    CHECK_INT(c->providers[0].connect_ms, 10000);
    CHECK_INT(c->providers[0].first_ms, 600000);
    CHECK_INT(c->providers[0].stall_ms, 120000);
    CHECK_INT(c->providers[0].retries_max, 3);
    CHECK_INT(c->providers[0].backoff_ms, 1000);
    CHECK_STR(c->presets[0].temperature, "0.6");
    CHECK_STR(c->presets[1].top_p, "0.92");
    CHECK_INT(c->presets[2].reasoning_max_tokens, 512);
    CHECK_INT(c->warning_count, 0);
    config_release(c);
}

/* clang-format off */
static const char full[] =
    "listen: '[::1]:0'\n"
    "store: postgres://u@h/db\n"
    "durability: fast\n"
    "unrecorded: pass\n"
    "threads: ${TEST_THREADS}\n"
    "body_max: 1.5MiB\n"
    "timeouts: {header: 2.5, body: 500ms, idle: 5m, write: 20s, drain: 0, keepalive: '1 s'}\n"
    "breaker: {failures: 2, open: 1h}\n"
    "log: {level: warn}\n"
    "tls: {cert: c.pem, key: k.pem}\n"
    "ca_file: ca.pem\n"
    "otlp: {endpoint: 'https://o.example/x', headers: {authorization: Bearer t}}\n"
    "reasoning: {show: true, keep: summary, delta: true, repair_starved: false,\n"
    "  adaptive: true, drop_from_history: false}\n"
    "llm:\n"
    "  reasoning_presets:\n"
    "    medium: {temperature: 0.70, top_p: null, show: false, repair_starved: true}\n"
    "keys:\n"
    "- {name: ci, sha256: '" DIGEST "', models: [fast], levels: [low, none], rpm: 60,\n"
    "   tpm: 1000000, spend_usd: 2.5, reasoning: hide, role: operator}\n"
    "- {name: me, key_env: TEST_CLIENT_KEY}\n"
    "providers:\n"
    "  one: {kind: openai, base_url: 'https://one.example:444/v1/', api_key_env:\n"
    "    TEST_UPSTREAM_KEY, models: {fast: big-model-v2, slow: slow}, open: '<a>',\n"
    "    close: '</a>', starts_in_reasoning: true, enable_reasoning: true,\n"
    "    reasoning_params: {thinking: {type: on, budget: 0x10}}, fallback: [two],\n"
    "    prices: {big-model-v2: {input: 1.25, output: 10}}, retries: 0, backoff: 0.25,\n"
    "    connect_timeout: 1s, first_token_timeout: 2s, stall_timeout: 3s,\n"
    "    record: out.jsonl}\n"
    "  two: {kind: gemini}\n";
/* clang-format on */

static struct config *parse_full(void)
{
    setenv("TEST_UPSTREAM_KEY", " sk-upstream \n", 1);
    setenv("TEST_CLIENT_KEY", "rk-client", 1);
    setenv("TEST_THREADS", "4", 1);
    return parse(full);
}

TEST(every_setting_at_the_top_arrives)
{
    struct config *c = parse_full();

    CHECK_STR(c->listen_host, "::1");
    CHECK_INT(c->listen_port, 0);
    CHECK_STR(c->store_url, "postgres://u@h/db");
    CHECK_INT(c->durability, STORE_FAST);
    CHECK_INT(c->unrecorded, CONFIG_PASS);
    CHECK_INT(c->threads, 4);
    CHECK_INT(c->body_max, 3 << 19);
    CHECK_INT(c->header_ms, 2500);
    CHECK_INT(c->body_ms, 500);
    CHECK_INT(c->idle_ms, 300000);
    CHECK_INT(c->write_ms, 20000);
    CHECK_INT(c->drain_ms, 0);
    CHECK_INT(c->keepalive_ms, 1000);
    CHECK_INT(c->breaker_failures, 2);
    CHECK_INT(c->breaker_ms, 3600000);
    CHECK_INT(c->log_level, LOG_WARN);
    CHECK_STR(c->tls_key, "k.pem");
    CHECK_STR(c->ca_file, "ca.pem");
    CHECK_STR(c->otlp_url, "https://o.example/x");
    CHECK_STR(c->otlp_headers, "authorization: Bearer t\r\n");
    CHECK(c->show && c->delta && c->adaptive && !c->drop_from_history);
    CHECK(c->repair_starved == CONFIG_REPAIR_NEVER);
    CHECK_INT(c->keep, CONFIG_KEEP_SUMMARY);
    CHECK_STR(c->presets[1].temperature, "0.70");
    CHECK_STR(c->presets[1].top_p, "");
    CHECK_INT(c->presets[1].show, CONFIG_HIDE);
    CHECK_INT(c->presets[1].reasoning_max_tokens, 256);
    CHECK(c->presets[1].repair_given && c->presets[1].repair_starved);
    CHECK(!c->presets[0].repair_given);
    CHECK_INT(c->warning_count, 0);
    config_release(config_retain(c));
    config_release(c);
}

TEST(every_setting_of_a_key_arrives)
{
    struct config *c = parse_full();
    uint8_t digest[SHA256_SIZE];

    CHECK_INT(c->key_count, 2);
    CHECK_STR(c->keys[0].name, "ci");
    CHECK_INT(c->keys[0].sha256[15], 0xef);
    CHECK_INT(c->keys[0].levels, 1 << CHAT_LEVEL_LOW | 1 << CHAT_LEVEL_NONE);
    CHECK_INT(c->keys[0].rpm, 60);
    CHECK_INT(c->keys[0].tpm, 1000000);
    CHECK(c->keys[0].spend_usd > 2.49 && c->keys[0].spend_usd < 2.51);
    CHECK_INT(c->keys[0].reasoning, CONFIG_HIDE);
    CHECK_INT(c->keys[0].role, CONFIG_OPERATOR);
    CHECK_INT(c->keys[1].role, CONFIG_CLIENT);
    CHECK_STR(c->keys[0].models[0], "fast");
    CHECK(c->keys[1].rpm == -1 && c->keys[1].tpm == -1 && c->keys[1].spend_usd < 0);
    sha256_of(STR("rk-client"), digest);
    CHECK(config_key_find(c, digest) == &c->keys[1]);
    digest[3] ^= 1;
    CHECK(!config_key_find(c, digest));
    config_release(c);
}

TEST(every_setting_of_a_provider_arrives)
{
    struct config *c = parse_full();
    const struct config_provider *one = &c->providers[0], *two = &c->providers[1];

    CHECK_STR(secret_reveal(&one->key), "sk-upstream");
    CHECK_STR(one->url.host, "one.example");
    CHECK_INT(one->url.port, 444);
    CHECK_STR(one->url.path, "/v1");
    CHECK(one->url.tls);
    CHECK_INT(one->model_count, 2);
    CHECK_STR(one->models[0].upstream, "big-model-v2");
    CHECK(one->models[0].price.rate.input > 1.24 && one->models[0].price.rate.cache_read < 0);
    CHECK(one->models[1].price.rate.input < 0);
    CHECK(one->format->marks == one->pair->marks);
    CHECK(one->starts_in_reasoning && one->enable_reasoning);
    CHECK_STR(one->reasoning_params, "{\"thinking\":{\"type\":\"on\",\"budget\":16}}");
    CHECK_INT(one->fallback_count, 1);
    CHECK_INT(one->fallback[0], 1);
    CHECK_INT(one->retries_max, 0);
    CHECK_INT(one->backoff_ms, 250);
    CHECK_INT(one->first_ms, 2000);
    CHECK_STR(one->record, "out.jsonl");
    CHECK_INT(two->dialect, CHAT_GEMINI);
    CHECK_STR(two->url.host, "generativelanguage.googleapis.com");
    CHECK_STR(str_c(two->row->otel_name), "gcp.gemini");
    config_release(c);
}

TEST(a_provider_without_its_key_is_a_warning)
{
    struct config *c = parse("providers:\n"
                             "  gemini:\n"
                             "    api_key_env: NOT_SET_ANYWHERE\n"
                             "  xai: {api_key_file: /nowhere/key}\n"
                             "  anthropic: {api_key_env: AIzaSyVerySecretVerySecretVerySecret1}\n");

    CHECK_INT(c->warning_count, 3);
    CHECK_STR(
        c->warnings[0],
        "c.yaml:3: providers.gemini.api_key_env: the environment variable NOT_SET_ANYWHERE is "
        "not set; calls of this provider will fail");
    CHECK_STR(c->providers[0].key_missing, "the environment variable NOT_SET_ANYWHERE is not set");
    CHECK(str_find(c->warnings[1], STR("/nowhere/key cannot be read")) != STR_NONE);
    CHECK(str_find(c->warnings[2], STR("VerySecret")) == STR_NONE);
    CHECK_INT(c->providers[1].dialect, CHAT_OPENAI);
    config_release(c);
}

TEST(text_is_split_by_its_first_marker_unless_the_host_separates_reasoning)
{
    static const struct {
        const char *yaml, *format, *asked;
        size_t warnings;
    } cases[] = {
        {"openai: {}", "", "thinking", 0},
        {"azure: {base_url: 'https://a.openai.azure.com/openai/v1'}", "", "thinking", 0},
        {"anthropic: {}", "", "thinking", 0},
        {"gemini: {}", "", "thinking", 0},
        {"openai: {base_url: 'http://127.0.0.1:1/v1'}", "auto", "auto+thinking", 0},
        {"m: {kind: anthropic, base_url: 'http://127.0.0.1:1'}", "auto", "auto+thinking", 0},
        {"vllm: {}", "auto", "auto+thinking", 0},
        {"ollama: {}", "auto", "auto+thinking", 0},
        {"deepseek: {}", "auto", "auto+thinking", 0},
        {"openai: {format: auto}", "auto", "auto+thinking", 0},
        {"vllm: {format: none}", "", "thinking", 0},
        {"vllm: {format: qwen3}", "qwen3", "qwen3+thinking", 0},
        {"vllm: {open: '<a>', close: '</a>'}", "pair", "pair+thinking", 0},
        {"vllm: {starts_in_reasoning: true}", "auto", "auto+thinking", 0},
        {"vllm: {format: none, starts_in_reasoning: true}", "", "thinking", 1},
        {"openai: {starts_in_reasoning: true}", "", "thinking", 1},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[200], asked[40];
        const struct config_provider *provider;
        struct config *c;

        (void)snprintf(yaml, sizeof yaml, "providers: {%s}", cases[i].yaml);
        c = parse(yaml);
        provider = &c->providers[0];
        (void)snprintf(asked,
                       sizeof asked,
                       "%s%s%s",
                       provider->asked_format->id,
                       provider->asked_format->also ? "+" : "",
                       provider->asked_format->also ? provider->asked_format->also->id : "");
        CHECK_F(c->warning_count == cases[i].warnings, "%s", yaml);
        CHECK_F(str_eq(str_c(provider->format ? provider->format->id : ""), str_c(cases[i].format)),
                "%s",
                yaml);
        CHECK_F(str_eq(str_c(asked), str_c(cases[i].asked)), "%s: %s", yaml, asked);
        config_release(c);
    }
}

TEST(an_address_for_all_without_keys_is_a_warning)
{
    static const char *const hosts[] = {"0.0.0.0:80", "'[::]:80'", "128.0.0.1:80"};

    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        char yaml[160];
        struct config *c;

        (void)snprintf(
            yaml, sizeof yaml, "providers: {openai: {format: think}}\nlisten: %s\n", hosts[i]);
        c = parse(yaml);
        CHECK_INT(c->warning_count, 1);
        CHECK(str_find(c->warnings[0], STR("without keys only a loopback")) != STR_NONE);
        config_release(c);
    }
}

static void check_route(const struct config *c, const char *model, const char *want)
{
    struct config_route r;
    char got[200] = "-";

    if (config_find(c, str_c(model), &r))
        snprintf(
            got, sizeof got, STR_FMT " " STR_FMT, STR_ARG(r.provider->name), STR_ARG(r.upstream));
    CHECK_F(strcmp(got, want) == 0, "%s goes to %s, not %s", model, got, want);
}

TEST(models_find_their_provider)
{
    struct config *c = parse("providers:\n"
                             "  a: {kind: openai, format: think, models: {x: up-x, y: up-y}}\n"
                             "  b: {kind: openai, format: think, models: [y, c/z]}\n"
                             "  c: {kind: openai, format: think, prices: {m: {input: 3}}}\n");
    struct config_route r;
    struct config_model m;

    check_route(c, "x", "a up-x");
    check_route(c, "y", "a up-y");
    check_route(c, "b/y", "b y");
    check_route(c, "c/z", "b c/z");
    check_route(c, "c/anything/at/all", "c anything/at/all");
    check_route(c, "a/unknown", "-");
    check_route(c, "anything", "-");
    check_route(c, "c/", "-");
    check_route(c, "", "-");
    CHECK(config_find(c, STR("c/m"), &r) && !r.listed);
    config_route_model(&r, &m);
    CHECK(m.price.rate.input > 2.9 && m.price.rate.output < 0);
    config_release(c);

    c = parse("providers: {openrouter: {}}");
    check_route(c, "openai/gpt", "openrouter openai/gpt");
    check_route(c, "openrouter/openai/gpt", "openrouter openai/gpt");
    check_route(c, "gpt", "openrouter gpt");
    check_route(c, "", "-");
    config_release(c);

    c = parse("providers: {a: {kind: openai, models: [m]}}");
    check_route(c, "other", "-");
    config_release(c);
}

TEST(a_version_that_the_dialect_says_itself_is_not_said_twice)
{
    static const struct {
        const char *kind, *url, *path;
    } cases[] = {
        {"anthropic", "http://h/v1", ""},
        {"anthropic", "http://h/v1/", ""},
        {"anthropic", "http://h", ""},
        {"anthropic", "http://h/x/v1", "/x"},
        {"anthropic", "http://h/x", "/x"},
        {"gemini", "http://h/v1beta", ""},
        {"ollama", "http://h/api", ""},
        {"openai", "http://h/v1", "/v1"},
        {"responses", "http://h/v1", "/v1"},
        {"mistral", "http://h/v1", "/v1"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[200];
        struct config *c;

        snprintf(yaml,
                 sizeof yaml,
                 "providers: {a: {kind: %s, base_url: '%s'}}",
                 cases[i].kind,
                 cases[i].url);
        c = parse(yaml);
        CHECK_STR(c->providers[0].url.path, cases[i].path);
        config_release(c);
    }
}

TEST(levels_have_presets)
{
    struct config *c = parse(P);

    CHECK(config_preset(c, CHAT_LEVEL_LOW) == &c->presets[0]);
    CHECK(config_preset(c, CHAT_LEVEL_ON) == &c->presets[1]);
    CHECK(config_preset(c, CHAT_LEVEL_MINIMAL) == &c->presets[0]);
    CHECK(config_preset(c, CHAT_LEVEL_HIGH) == &c->presets[2]);
    CHECK(config_preset(c, CHAT_LEVEL_XHIGH) == &c->presets[3]);
    CHECK(config_preset(c, CHAT_LEVEL_MAX) == &c->presets[4]);
    CHECK(!config_preset(c, CHAT_LEVEL_NONE));
    CHECK(!config_preset(c, CHAT_LEVEL_NOT_GIVEN));
    config_release(c);
}

/* ---- scalars of the core schema ---- */

TEST(scalars_are_those_of_the_core_schema)
{
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        {"1", "1"},
        {"-0", "-0"},
        {"+1", "1"},
        {"007", "7"},
        {"0o17", "15"},
        {"0x1F", "31"},
        {".5", "0.5"},
        {"5.", "5"},
        {"-.5e3", "-0.5e3"},
        {"1e5", "1e5"},
        {"1.E5", "1E5"},
        {"0.70", "0.70"},
        {"1_000", "\"1_000\""},
        {"1e", "\"1e\""},
        {".", "\".\""},
        {"+", "\"+\""},
        {"-", "[null]"},
        {"1:30", "\"1:30\""},
        {"yes", "\"yes\""},
        {"no", "\"no\""},
        {"true", "true"},
        {"False", "false"},
        {"~", "null"},
        {"", "null"},
        {"'1'", "\"1\""},
        {"\"~\"", "\"~\""},
        {"0x", "\"0x\""},
        {"0o8", "\"0o8\""},
        {"2024-01-01", "\"2024-01-01\""},
        {"$${x}", "\"${x}\""},
        {"a$$b", "\"a$$b\""},
        {"0xFFFFFFFFFFFFFFFFFF", "\"0xFFFFFFFFFFFFFFFFFF\""},
        {"123456789012345678901234567890", "123456789012345678901234567890"},
        {"|\n      a\n      b\n", "\"a\\nb\\n\""},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[300], want[300];
        struct config *c;

        snprintf(yaml,
                 sizeof yaml,
                 "providers:\n  gemini:\n    reasoning_params:\n     x: %s\n",
                 cases[i].yaml);
        snprintf(want, sizeof want, "{\"x\":%s}", cases[i].json);
        if (strcmp(cases[i].yaml, "-") == 0)
            continue;
        c = parse(yaml);
        CHECK_F(str_eq(c->providers[0].reasoning_params, str_c(want)),
                "%s became " STR_FMT,
                cases[i].yaml,
                STR_ARG(c->providers[0].reasoning_params));
        config_release(c);
    }
}

/* ---- printing ---- */

TEST(what_is_printed_can_be_read_again_and_tells_no_secret)
{
    static const char yaml[] =
        "store: postgres://u:hunter2@h/db\n"
        "otlp: {endpoint: '${TEST_URL}', headers: {x-key: hunter2}}\n"
        "keys: [{name: ci, sha256: '" DIGEST "', rpm: 3}]\n"
        "providers:\n"
        "  one: {kind: openai, base_url: '${TEST_URL}', api_key_env: TEST_KEY,\n"
        "    reasoning_params: {a: '${TEST_KEY}'}, models: [m], prices: {m: {input: 1}}}\n"
        "  two: {kind: anthropic, fallback: [one]}\n";
    struct config *c, *again = NULL;
    struct buf b;
    struct err e = {0};

    setenv("TEST_URL", "http://hunter2.example/v1", 1);
    setenv("TEST_KEY", "hunter2", 1);
    c = parse(yaml);
    buf_init(&b, 1 << 20);
    config_print(c, &b);
    CHECK_F(str_find(buf_str(&b), STR("hunter2")) == STR_NONE, STR_FMT, STR_ARG(buf_str(&b)));
    CHECK(str_find(buf_str(&b), STR("${TEST_URL}")) != STR_NONE);
    CHECK(str_find(buf_str(&b), STR("# c.yaml:3\n")) != STR_NONE);
    CHECK(str_find(buf_str(&b), STR("# default\n")) != STR_NONE);
    CHECK(str_find(buf_str(&b), STR("sha256: \"01234567...\"")) != STR_NONE);
    CHECK(str_find(buf_str(&b), STR("01234567...\"")) != STR_NONE);
    CHECK(str_find(buf_str(&b), STR("0123456789")) == STR_NONE);
    CHECK(!config_parse(buf_str(&b), "c.yaml", &again, &e)); /* printed digests are truncated */
    CHECK_F(strstr(e.text, "sha256"), "%s", e.text);
    config_release(c);
    for (size_t i = 0; i < 2; i++) {
        buf_reset(&b);
        c = parse(i ? P "listen: 'a\"b:1'\n" : P "listen: '[::1]:1'\n");
        config_print(c, &b);
        again = parse(b.p ? arena_dup(&c->arena, buf_str(&b)).p : "");
        CHECK_STR(again->listen_host, i ? "a\"b" : "::1");
        CHECK_INT(again->idle_ms, c->idle_ms);
        CHECK_INT(again->body_max, c->body_max);
        CHECK(again->providers[0].format->marks == c->providers[0].format->marks);
        config_release(again);
        config_release(c);
    }
    buf_release(&b);
}

TEST(a_name_that_begins_with_a_known_one_says_the_kind)
{
    static const struct {
        const char *name;
        enum chat_dialect dialect;
        const char *url;
    } cases[] = {
        {"vllm", CHAT_OPENAI, "http://127.0.0.1:8000/v1"},
        {"vllm2", CHAT_OPENAI, "http://127.0.0.1:8000/v1"},
        {"Ollama-gpu", CHAT_OLLAMA, "http://127.0.0.1:11434"},
        {"anthropic_eu", CHAT_ANTHROPIC, "https://api.anthropic.com"},
        {"llama.cpp-east", CHAT_OPENAI, "http://127.0.0.1:8080/v1"},
    };
    struct config *c = NULL;
    struct err e = {0};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[160];

        (void)snprintf(yaml, sizeof yaml, "providers: {%s: {format: think}}", cases[i].name);
        c = parse(yaml);
        CHECK_INT(c->providers[0].dialect, cases[i].dialect);
        CHECK_STR(c->providers[0].base_url, cases[i].url);
        config_release(c);
    }
    CHECK(!config_parse(STR("providers: {vllmish: {format: think}}"), "c.yaml", &c, &e));
    CHECK_F(strstr(e.text, "\"kind\" is missing"), "%s", e.text);
}

/* ---- paths ---- */

static struct config *parse_at(const char *path, const char *yaml)
{
    struct config *c = NULL;
    struct err e = {0};

    if (!config_parse(str_c(yaml), path, &c, &e))
        fail_msg("%s", e.text);
    return c;
}

/* Every setting with a file path, in each section. */
TEST(paths_are_relative_to_the_file)
{
    static const char yaml[] =
        "store: sqlite:s.db\nspool: ./spool\ntls: {cert: c.pem, key: /k.pem}\nca_file: ../ca.pem\n"
        "incidents: {agents: a/agents.yaml, runbooks: runbooks}\norders: {menu: menu.json}\n"
        "policy: {documents: {p: p.md, q: /q.md}, train: t, val: v}\n"
        "providers:\n"
        "  a: {kind: openai, base_url: http://h/v1, format: think, record: r.jsonl,\n"
        "      api_key_file: key}\n"
        "  b: {kind: replay, cassette: b.jsonl, format: think}\n"
        "  c: {kind: replay, base_url: 'file:c.jsonl', format: think}\n"
        "  d: {kind: replay, base_url: 'file:///d.jsonl', format: think}\n";
    struct config *c = parse_at("/etc/r/c.yaml", yaml);

    CHECK_STR(c->store_url, "sqlite:/etc/r/s.db");
    CHECK_STR(c->spool, "/etc/r/spool");
    CHECK_STR(c->tls_cert, "/etc/r/c.pem");
    CHECK_STR(c->tls_key, "/k.pem");
    CHECK_STR(c->ca_file, "/etc/r/../ca.pem");
    CHECK_STR(c->incidents.agents, "/etc/r/a/agents.yaml");
    CHECK_STR(c->incidents.runbooks, "/etc/r/runbooks");
    CHECK_STR(c->orders.menu, "/etc/r/menu.json");
    CHECK_STR(c->policy.documents[0].file, "/etc/r/p.md");
    CHECK_STR(c->policy.documents[1].file, "/q.md");
    CHECK_STR(c->policy.train, "/etc/r/t");
    CHECK_STR(c->policy.val, "/etc/r/v");
    CHECK_STR(c->providers[0].record, "/etc/r/r.jsonl");
    CHECK_STR(c->providers[0].key_file, "/etc/r/key");
    CHECK_F(str_find(c->providers[0].key_missing, STR("/etc/r/key")) == 0,
            STR_FMT,
            STR_ARG(c->providers[0].key_missing));
    CHECK_STR(c->providers[1].cassette, "/etc/r/b.jsonl");
    CHECK_STR(c->providers[2].cassette, "/etc/r/c.jsonl");
    CHECK_STR(c->providers[3].cassette, "/d.jsonl");
    config_release(c);
}

TEST(stores_and_homes)
{
    static const struct {
        const char *yaml, *store, *spool;
    } cases[] = {
        {"", "sqlite:/etc/r/rationale.db", ""},
        {"store: sqlite:///s.db\n", "sqlite:/s.db", ""},
        {"store: sqlite://s.db\n", "sqlite:/etc/r/s.db", ""},
        {"store: sqlite:~/s.db\nspool: ~/spool\n", "sqlite:/home/me/s.db", "/home/me/spool"},
        {"store: none\n", "none", ""},
        {"store: postgres://u@h/d\n", "postgres://u@h/d", "/etc/r/rationale.spool"},
        {"store: postgres://u@h/d\nspool: s\n", "postgres://u@h/d", "/etc/r/s"},
    };
    struct config *c = NULL;
    struct err e = {0};

    setenv("HOME", "/home/me", 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[512];

        snprintf(yaml, sizeof yaml, P "%s", cases[i].yaml);
        c = parse_at("/etc/r/c.yaml", yaml);
        CHECK_STR(c->store_url, cases[i].store);
        CHECK_STR(c->spool, cases[i].spool);
        config_release(c);
    }
    unsetenv("HOME");
    CHECK(!config_parse(STR(P "ca_file: ~/ca.pem\n"), "/etc/r/c.yaml", &c, &e));
    CHECK_F(strstr(e.text, "/etc/r/c.yaml:2: ca_file: ~ needs"), "%s", e.text);
}

TEST_MAIN(T(defaults_are_as_documented), T(every_setting_at_the_top_arrives),
          T(every_setting_of_a_key_arrives), T(every_setting_of_a_provider_arrives),
          T(a_provider_without_its_key_is_a_warning),
          T(text_is_split_by_its_first_marker_unless_the_host_separates_reasoning),
          T(an_address_for_all_without_keys_is_a_warning), T(models_find_their_provider),
          T(a_version_that_the_dialect_says_itself_is_not_said_twice), T(levels_have_presets),
          T(scalars_are_those_of_the_core_schema),
          T(a_name_that_begins_with_a_known_one_says_the_kind), T(paths_are_relative_to_the_file),
          T(stores_and_homes), T(what_is_printed_can_be_read_again_and_tells_no_secret))
