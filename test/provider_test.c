/* The built-in data of providers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/provider.h"

#include "test.h"

static const struct {
    const char *name, *host, *path;
    enum chat_dialect kind;
    const char *row, *otel;
    unsigned levers;
} cases[] = {
    {"x", "h", "", CHAT_OPENAI, "openai", "openai", PROVIDER_EFFORT | PROVIDER_RESTATE},
    {"grok", "h", "", CHAT_OPENAI, "grok", "x_ai", PROVIDER_EFFORT | PROVIDER_RESTATE},
    {"x", "API.X.AI", "/v1", CHAT_OPENAI, "xai", "x_ai", PROVIDER_EFFORT | PROVIDER_RESTATE},
    {"x", "eu.api.x.ai", "", CHAT_RESPONSES, "xai", "x_ai", PROVIDER_EFFORT | PROVIDER_RESTATE},
    {"x",
     "notapi.x.ai.evil",
     "",
     CHAT_OPENAI,
     "openai",
     "openai",
     PROVIDER_EFFORT | PROVIDER_RESTATE},
    {"vllm-east",
     "h",
     "",
     CHAT_OPENAI,
     "vllm",
     "vllm",
     PROVIDER_NATIVE | PROVIDER_PREFILL | PROVIDER_RESTATE},
    {"VLLM2",
     "h",
     "",
     CHAT_OPENAI,
     "vllm",
     "vllm",
     PROVIDER_NATIVE | PROVIDER_PREFILL | PROVIDER_RESTATE},
    {"vllmish", "h", "", CHAT_OPENAI, "openai", "openai", PROVIDER_EFFORT | PROVIDER_RESTATE},
    {"llama.cpp",
     "h",
     "",
     CHAT_OPENAI,
     "llama.cpp",
     "llama.cpp",
     PROVIDER_NATIVE | PROVIDER_CONTROL | PROVIDER_PREFILL | PROVIDER_RESTATE},
    {"x",
     "api.deepseek.com",
     "",
     CHAT_OPENAI,
     "deepseek",
     "deepseek",
     PROVIDER_EFFORT | PROVIDER_RESTATE},
    {"x",
     "api.deepseek.com",
     "/beta",
     CHAT_OPENAI,
     "deepseek",
     "deepseek",
     PROVIDER_EFFORT | PROVIDER_PREFILL | PROVIDER_RESTATE},
    {"deepseek",
     "h",
     "/beta",
     CHAT_OPENAI,
     "deepseek",
     "deepseek",
     PROVIDER_EFFORT | PROVIDER_PREFILL | PROVIDER_RESTATE},
    {"vllm",
     "h",
     "",
     CHAT_ANTHROPIC,
     "anthropic",
     "anthropic",
     PROVIDER_NATIVE | PROVIDER_EFFORT | PROVIDER_RESTATE},
    {"openai",
     "openrouter.ai",
     "/api/v1",
     CHAT_OPENAI,
     "openrouter",
     "openrouter",
     PROVIDER_NATIVE | PROVIDER_EFFORT | PROVIDER_RESTATE},
    {"x",
     "me.openai.azure.com",
     "",
     CHAT_OPENAI,
     "azure",
     "azure.ai.openai",
     PROVIDER_EFFORT | PROVIDER_RESTATE},
    {"m",
     "h",
     "",
     CHAT_MISTRAL,
     "mistral",
     "mistral_ai",
     PROVIDER_EFFORT | PROVIDER_PREFILL | PROVIDER_RESTATE},
};

TEST(hole_11_a_provider_gets_the_row_of_its_host_then_name_then_kind)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct provider_row *row = provider_row(
            str_c(cases[i].name), str_c(cases[i].host), str_c(cases[i].path), cases[i].kind);

        CHECK_F(strcmp(row->name, cases[i].row) == 0, "%zu: %s", i, row->name);
        CHECK_STR(str_c(row->otel_name), cases[i].otel);
        CHECK_F(row->levers == cases[i].levers, "%zu: %u", i, row->levers);
    }
    CHECK_INT(provider_row(STR(""), STR(""), STR(""), CHAT_ANTHROPIC)->native_min, 1024);
}

TEST(every_row_is_whole)
{
    for (size_t i = 0; provider_row_at(i); i++) {
        const struct provider_row *row = provider_row_at(i);

        CHECK(row->name && row->otel_name && row->auth_header && row->auth_prefix);
        CHECK(row->extra_headers && row->levers & PROVIDER_RESTATE);
        CHECK(i > CHAT_OLLAMA || (size_t)row->dialect == i);
        CHECK(!row->extra_headers[0] || str_ends(str_c(row->extra_headers), STR("\r\n")));
    }
}

TEST_MAIN(T(hole_11_a_provider_gets_the_row_of_its_host_then_name_then_kind), T(every_row_is_whole))
