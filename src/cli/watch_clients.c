/* watch_clients.c - the table of coding agents.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/watch_clients.h"

#define AT "%s"
#define GEMINI_NO_AUTH 41 /* exit status of Gemini CLI */

/* If GOOGLE_GEMINI_BASE_URL is set, Gemini CLI does not log in with Google, so it is set only for
 * other logins; for a login with Google, the address is CODE_ASSIST_ENDPOINT. */
#define GEMINI                                                                                     \
    {"GOOGLE_GEMINI_BASE_URL", "gemini", AT, "GEMINI_API_KEY"},                                    \
    {                                                                                              \
        "CODE_ASSIST_ENDPOINT", "codeassist", AT, NULL                                             \
    }

static const struct watch_client clients[] = {
    {"claude", "Claude Code", {{"ANTHROPIC_BASE_URL", "anthropic", AT, NULL}}, {{0}}},
    {"codex", "Codex", {{0}}, {{"-c", "openai", "openai_base_url=\"" AT "\"", NULL}}},
    {"opencode", "opencode", {{"OPENCODE_CONFIG_CONTENT", NULL, NULL, NULL}}, {{0}}},
    {"gemini", "Gemini CLI", {GEMINI}, {{0}}},
    {"aider",
     "aider",
     {{"ANTHROPIC_API_BASE", "anthropic", AT, NULL},
      {"OPENAI_API_BASE", "openai", AT, NULL},
      {"GEMINI_API_BASE", "gemini", AT "/v1beta", NULL},
      {"DEEPSEEK_API_BASE", "deepseek", AT, NULL},
      {"OPENROUTER_API_BASE", "openrouter", AT, NULL}},
     {{0}}},
    {"qwen", "Qwen Code", {{"OPENAI_BASE_URL", "openai", AT, NULL}}, {{0}}},
    {NULL,
     "any command",
     {{"ANTHROPIC_BASE_URL", "anthropic", AT, NULL},
      {"OPENAI_BASE_URL", "openai", AT, NULL},
      {"OPENAI_API_BASE", "openai", AT, NULL},
      GEMINI},
     {{0}}},
};

/* opencode's names of providers, and the path that its SDKs expect in the address. */
static const struct {
    const char *name, *upstream, *after;
} watch_providers[] = {
    {"anthropic", "anthropic", "/v1"},
    {"openai", "openai", ""},
    {"google", "gemini", "/v1beta"},
    {"openrouter", "openrouter", ""},
    {"deepseek", "deepseek", ""},
    {"mistral", "mistral", ""},
    {"xai", "xai", ""},
    {"groq", "groq", ""},
    {"opencode", "zen", ""},
};

const char *watch_client_name(size_t index)
{
    return index < COUNT_OF(clients) ? clients[index].name : NULL;
}

const struct watch_client *watch_client_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        if (!name ? !clients[i].name : clients[i].name && strcmp(clients[i].name, name) == 0)
            return &clients[i];
    return NULL;
}

/* With GOOGLE_GEMINI_BASE_URL set, Gemini CLI (0.61) chooses a login that it refuses without a
 * terminal, unless its settings select the key. */
const char *watch_client_hint(const struct watch_client *c, int status)
{
    assert(c);
    return status == GEMINI_NO_AUTH && c->name && strcmp(c->name, "gemini") == 0
               ? "without a terminal, Gemini CLI takes an API key at another address only if "
                 "~/.gemini/settings.json has {\"security\": {\"auth\": {\"selectedType\": "
                 "\"gemini-api-key\"}}}"
               : NULL;
}

void watch_providers_json(const char *root, struct buf *out)
{
    assert(root[0]);
    buf_add(out, STR("{\"provider\":{"));
    for (size_t i = 0; i < COUNT_OF(watch_providers); i++)
        buf_printf(out,
                   "%s\"%s\":{\"options\":{\"baseURL\":\"%s/%s%s\"}}",
                   i ? "," : "",
                   watch_providers[i].name,
                   root,
                   watch_providers[i].upstream,
                   watch_providers[i].after);
    buf_add(out, STR("}}"));
}
