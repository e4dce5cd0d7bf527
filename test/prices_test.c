/* prices_test.c - the price of a model: from the table, from the configuration, or unknown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"
#include "test.h"

#define DIGEST "00000000000000000000000000000000000000000000000000000000000000ff"

static struct config *load(const char *yaml)
{
    struct config *c;
    struct err e;

    CHECK_F(config_parse(str_c(yaml), "p.yaml", &c, &e), "%s", e.text);
    return c;
}

static bool find_model(const struct config *c, str name, struct config_model *out)
{
    struct config_route r;

    if (!config_find(c, name, &r))
        return false;
    config_route_model(&r, out);
    return true;
}

TEST(a_model_is_found_by_its_name_at_its_provider_only)
{
    static const struct {
        const char *provider, *model, *price; /* of input tokens; "": unknown */
    } cases[] = {
        {"openai: {kind: openai}", "gpt-5", "1.25"},
        {"openai: {kind: openai}", "gpt-5-2025-08-07", "1.25"},
        {"openai: {kind: responses}", "gpt-5-mini", "0.25"},
        {"openai: {kind: openai}", "gpt-4o-2024-05-13", "5"},
        {"openai: {kind: openai}", "gpt-4o-2024-08-06", "2.5"},
        {"openai: {kind: openai}", "gpt-5-turbo", ""},
        {"openai: {kind: openai}", "gpt-5-", ""},
        {"openai: {kind: openai}", "gpt-5-2025-8-07", ""},
        {"openai: {kind: openai}", "-2025-08-07", ""},
        {"openai: {kind: openai}", "claude-opus-4-5", ""},
        {"anthropic: {kind: anthropic}", "claude-sonnet-4-5-20250929", "3"},
        {"anthropic: {kind: anthropic}", "claude-sonnet-4-5", "3"},
        {"anthropic: {kind: anthropic}", "claude-sonnet-4.5", ""},
        {"gemini: {kind: gemini}", "models/gemini-2.5-pro", "1.25"},
        {"gemini: {kind: gemini}", "gemini-2.5-pro", "1.25"},
        {"mistral: {kind: mistral}", "mistral-large-2512", "0.5"},
        {"mistral: {kind: mistral}", "mistral-large-latest", ""},
        {"deepseek: {kind: openai}", "deepseek-v4-pro", "1.32"},
        {"c: {kind: openai, base_url: 'https://api.cohere.ai/compatibility/v1'}",
         "command-a-03-2025",
         "2.5"},
        {"groq: {kind: openai}", "openai/gpt-oss-120b", "0.15"},
        /* OpenRouter charges the makers' prices; an open model has many hosts with different
         * prices. */
        {"openrouter: {kind: openai}", "anthropic/claude-sonnet-4.5", "3"},
        {"openrouter: {kind: openai}", "openai/gpt-5", "1.25"},
        {"openrouter: {kind: openai}", "google/gemini-2.5-pro", "1.25"},
        {"openrouter: {kind: openai}", "openai/gpt-5:free", ""},
        {"openrouter: {kind: openai}", "gpt-5", ""},
        {"openrouter: {kind: openai}", "deepseek/deepseek-v4-pro", ""},
        /* A proxy of the maker's API; a server of our own; other hosts. */
        {"proxy: {kind: openai, base_url: 'https://llm.example/v1'}", "gpt-5", "1.25"},
        {"proxy: {kind: mistral, base_url: 'https://llm.example/v1'}", "mistral-large-2512", ""},
        {"deepseek: {kind: openai, base_url: 'https://llm.example/v1'}", "deepseek-v4-pro", ""},
        {"vllm: {kind: openai}", "gpt-5", ""},
        {"vllm2: {kind: openai, base_url: 'http://gpu:8000/v1'}", "openai/gpt-oss-120b", ""},
        {"llama.cpp: {kind: openai}", "gpt-5", ""},
        {"sglang: {kind: openai}", "gpt-5", ""},
        {"ollama: {kind: ollama}", "gpt-5", ""},
        {"azure: {kind: openai, base_url: 'https://x.openai.azure.com/v1'}", "gpt-5", ""},
        {"together: {kind: openai}", "openai/gpt-oss-120b", ""},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a;
        struct config *c;
        struct config_model m;
        char got[32] = "";

        arena_init(&a, 65536);
        c = load(arena_printf(&a, "providers: {%s}", cases[i].provider).p);
        CHECK(find_model(c, str_c(cases[i].model), &m));
        if (price_known(&m.price))
            (void)snprintf(got, sizeof got, "%g", m.price.rate.input);
        CHECK_F(
            strcmp(got, cases[i].price) == 0, "%s %s: %s", cases[i].provider, cases[i].model, got);
        config_release(c);
        arena_release(&a);
    }
}

TEST(every_row_is_plausible_and_found_by_its_own_name)
{
    struct price p, before = price_none;
    size_t n = 0, providers = 0;
    str model;

    for (; price_at(n, &model, &p); n++) {
        const struct price_rate *r = &p.rate;

        providers += !str_eq(p.provider, before.provider);
        CHECK_F(model.n > 1 && r->input > 0 && r->output >= r->input, STR_FMT, STR_ARG(model));
        CHECK_F(r->cache_read < r->input && (r->cache_write < 0 || r->cache_write >= r->input),
                STR_FMT,
                STR_ARG(model));
        CHECK_F(!p.above ||
                    (p.above >= 100000 && p.over.input >= r->input && p.over.output >= r->output),
                STR_FMT,
                STR_ARG(model));
        CHECK_INT(p.date.n, 10);
        CHECK(str_starts(p.date, STR("20")));
        before = p;
    }
    CHECK(n > 60 && n < 200 && providers >= 8);
}

TEST(the_configuration_wins_and_can_switch_the_table_off)
{
    struct config *c =
        load("providers:\n"
             "  openai:\n"
             "    kind: openai\n"
             "    models: {mine: gpt-5, other: gpt-5-mini}\n"
             "    prices:\n"
             "      gpt-5: {input: 7, output: 9, above: {tokens: 1000, input: 14}}\n");
    struct config_model m;
    struct chat_usage u = chat_usage_none;

    CHECK(find_model(c, STR("mine"), &m));
    CHECK(m.price.rate.input == 7 && m.price.over.input == 14);
    CHECK(m.price.over.output == 9 && m.price.line == 6);
    u.input = 1000;
    u.output = 0;
    CHECK(call_price(&m, &u) == 7 * 1000 / 1e6);
    u.input = 1001;
    CHECK(call_price(&m, &u) == 14 * 1001 / 1e6);
    CHECK(find_model(c, STR("other"), &m) && m.price.rate.input == 0.25);
    CHECK_STR(m.price.provider, "openai");
    config_release(c);

    c = load("prices: none\n"
             "providers: {openai: {kind: openai, prices: {gpt-5-mini: {output: 3}}}}");
    CHECK(find_model(c, STR("gpt-5"), &m) && !price_known(&m.price));
    CHECK(call_price(&m, &u) < 0);
    CHECK(find_model(c, STR("gpt-5-mini"), &m) && m.price.rate.output == 3);
    config_release(c);
}

TEST(a_budget_that_cannot_hold_is_warned_of)
{
    static const struct {
        const char *providers, *key, *warning; /* "": no warning */
    } cases[] = {
        {"{openai: {kind: openai}}", "", ""},
        {"{openai: {kind: openai, models: [gpt-5]}}", "", ""},
        {"{openai: {kind: openai, models: [gpt-5, new]}}", "", "no price is known of openai/new:"},
        {"{openai: {kind: openai, models: [gpt-5, new]}}", "models: [gpt-5]", ""},
        {"{openai: {kind: openai, models: [a, b, c, d, e]}}",
         "",
         "no price is known of openai/a, openai/b, openai/c and 2 more:"},
        {"{openai: {kind: openai, models: [a], prices: {a: {input: 1}}}}", "", ""},
        {"{vllm: {kind: openai, enable_reasoning: false}}", "", "no price is known of vllm/*:"},
        {"{t: {kind: replay, cassette: x.jsonl}}", "", ""},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str said = STR("");
        struct arena a;
        struct config *c;

        arena_init(&a, 65536);
        c = load(arena_printf(&a,
                              "providers: %s\nkeys:\n - {name: k, sha256: '" DIGEST
                              "', spend_usd: 1, %s}\n",
                              cases[i].providers,
                              cases[i].key)
                     .p);
        for (size_t j = 0; j < c->warning_count; j++)
            if (str_find(c->warnings[j], STR("spend_usd")) != STR_NONE)
                said = c->warnings[j];
        CHECK_F(cases[i].warning[0] ? str_find(said, str_c(cases[i].warning)) != STR_NONE
                                    : said.n == 0,
                "%s: " STR_FMT,
                cases[i].providers,
                STR_ARG(said));
        config_release(c);
        arena_release(&a);
    }
}

TEST(a_limit_in_dollars_that_cannot_hold_is_warned_of)
{
    static const struct {
        const char *provider, *agent;
        bool warned;
    } cases[] = {
        {"{kind: openai, models: [gpt-5]}", "limits: {usd: 1}", false},
        {"{kind: openai, models: [new]}", "limits: {usd: 1}", true},
        {"{kind: openai, models: [gpt-5, new]}", "model: new, limits: {usd: 1}", true},
        {"{kind: openai, models: [gpt-5, new]}", "model: gpt-5, limits: {usd: 1}", false},
        {"{kind: openai, models: [new]}", "limits: {tokens: 1000}", false},
        {"{kind: openai, models: [new], prices: {new: {input: 1}}}", "limits: {usd: 1}", false},
        {"{kind: replay, cassette: x.jsonl, models: [new]}", "limits: {usd: 1}", false},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[256];
        bool warned = false;
        struct config *c;

        (void)snprintf(yaml,
                       sizeof yaml,
                       "providers: {p: %s}\nagents: {a: {prompt: You help., %s}}\n",
                       cases[i].provider,
                       cases[i].agent);
        c = load(yaml);
        for (size_t j = 0; j < c->warning_count; j++)
            warned |= str_find(c->warnings[j],
                               STR("agents.a.limits.usd: no price is known of p/new: the limit "
                                   "cannot be held")) != STR_NONE;
        CHECK_F(warned == cases[i].warned, "%s %s", cases[i].provider, cases[i].agent);
        config_release(c);
    }
}

TEST_MAIN(T(a_model_is_found_by_its_name_at_its_provider_only),
          T(every_row_is_plausible_and_found_by_its_own_name),
          T(the_configuration_wins_and_can_switch_the_table_off),
          T(a_budget_that_cannot_hold_is_warned_of),
          T(a_limit_in_dollars_that_cannot_hold_is_warned_of))
