/* provider.c - the rows, and the parts of providers' errors that clients may see.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/provider.h"
#include "base/ctype.h"

#define BEARER "authorization", "Bearer ", ""
#define NO_KEY_NEEDED BEARER
#define CLAUDE "x-api-key", "", "anthropic-version: 2023-06-01\r\n"
#define GOOGLE "x-goog-api-key", "", ""
#define AZURE "api-key", "", ""

enum {
    NATIVE = PROVIDER_NATIVE,
    EFFORT = PROVIDER_EFFORT,
    CONTROL = PROVIDER_CONTROL,
    PREFILL = PROVIDER_PREFILL,
    RESTATE = PROVIDER_RESTATE,
};

#define OWN_BUDGET (NATIVE | PREFILL | RESTATE) /* engines that count tokens themselves */
#define LEVELS (EFFORT | RESTATE)

/* The first six are the rows of their kinds; of the rest a host or a name picks one. */

/* clang-format off */
static const struct provider_row rows[] = {
    {"openai", "api.openai.com", CHAT_OPENAI, WIRE_THINK_DEFAULT, LEVELS,
     "openai", BEARER, 0, "https://api.openai.com/v1", NULL},
    {"responses", "api.openai.com", CHAT_RESPONSES, WIRE_THINK_DEFAULT, LEVELS,
     "openai", BEARER, 0, "https://api.openai.com/v1", NULL},
    {"anthropic", "api.anthropic.com", CHAT_ANTHROPIC, WIRE_THINK_DEFAULT, NATIVE | LEVELS,
     "anthropic", CLAUDE, 1024, "https://api.anthropic.com", NULL},
    {"gemini", "generativelanguage.googleapis.com", CHAT_GEMINI, WIRE_THINK_DEFAULT,
     NATIVE | LEVELS, "gcp.gemini", GOOGLE, 0,
     "https://generativelanguage.googleapis.com", NULL},
    {"mistral", "api.mistral.ai", CHAT_MISTRAL, WIRE_THINK_DEFAULT, LEVELS | PREFILL,
     "mistral_ai", BEARER, 0, "https://api.mistral.ai/v1", NULL},
    {"ollama", NULL, CHAT_OLLAMA, WIRE_THINK_DEFAULT, LEVELS,
     "ollama", NO_KEY_NEEDED, 0, "http://127.0.0.1:11434", NULL},
    {"xai", "api.x.ai", CHAT_OPENAI, WIRE_THINK_DEFAULT, LEVELS,
     "x_ai", BEARER, 0, "https://api.x.ai/v1", NULL},
    {"grok", "api.x.ai", CHAT_OPENAI, WIRE_THINK_DEFAULT, LEVELS,
     "x_ai", BEARER, 0, "https://api.x.ai/v1", NULL},
    {"xai", "api.x.ai", CHAT_RESPONSES, WIRE_THINK_DEFAULT, LEVELS,
     "x_ai", BEARER, 0, "https://api.x.ai/v1", NULL},
    {"grok", "api.x.ai", CHAT_RESPONSES, WIRE_THINK_DEFAULT, LEVELS,
     "x_ai", BEARER, 0, "https://api.x.ai/v1", NULL},
    {"deepseek", "api.deepseek.com", CHAT_OPENAI, WIRE_THINK_DEEPSEEK, LEVELS,
     "deepseek", BEARER, 0, "https://api.deepseek.com", NULL},
    {"deepseek", "api.deepseek.com", CHAT_OPENAI, WIRE_THINK_DEEPSEEK, LEVELS | PREFILL,
     "deepseek", BEARER, 0, "https://api.deepseek.com/beta", "/beta"},
    {"deepseek", "api.deepseek.com", CHAT_ANTHROPIC, WIRE_THINK_DEFAULT, LEVELS,
     "deepseek", CLAUDE, 0, "https://api.deepseek.com/anthropic", NULL},
    {"openrouter", "openrouter.ai", CHAT_OPENAI, WIRE_THINK_OPENROUTER, NATIVE | LEVELS,
     "openrouter", BEARER, 0, "https://openrouter.ai/api/v1", NULL},
    {"openrouter", "openrouter.ai", CHAT_RESPONSES, WIRE_THINK_DEFAULT, LEVELS,
     "openrouter", BEARER, 0, "https://openrouter.ai/api/v1", NULL},
    {"openrouter", "openrouter.ai", CHAT_ANTHROPIC, WIRE_THINK_DEFAULT, NATIVE | LEVELS,
     "openrouter", "authorization", "Bearer ", "anthropic-version: 2023-06-01\r\n", 1024,
     "https://openrouter.ai/api", NULL},
    {"groq", "api.groq.com", CHAT_OPENAI, WIRE_THINK_DEFAULT, LEVELS,
     "groq", BEARER, 0, "https://api.groq.com/openai/v1", NULL},
    {"groq", "api.groq.com", CHAT_RESPONSES, WIRE_THINK_DEFAULT, LEVELS,
     "groq", BEARER, 0, "https://api.groq.com/openai/v1", NULL},
    {"azure", ".openai.azure.com", CHAT_OPENAI, WIRE_THINK_DEFAULT, LEVELS,
     "azure.ai.openai", AZURE, 0, NULL, NULL},
    {"azure", ".openai.azure.com", CHAT_RESPONSES, WIRE_THINK_DEFAULT, LEVELS,
     "azure.ai.openai", AZURE, 0, NULL, NULL},
    {"azure-inference", ".services.ai.azure.com", CHAT_OPENAI, WIRE_THINK_DEFAULT, LEVELS,
     "azure.ai.inference", AZURE, 0, NULL, NULL},
    {"together", "api.together.xyz", CHAT_OPENAI, WIRE_THINK_DEFAULT, LEVELS,
     "together", BEARER, 0, "https://api.together.xyz/v1", NULL},
    {"together", "api.together.ai", CHAT_OPENAI, WIRE_THINK_DEFAULT, LEVELS,
     "together", BEARER, 0, "https://api.together.ai/v1", NULL},
    {"fireworks", "api.fireworks.ai", CHAT_OPENAI, WIRE_THINK_DEFAULT, LEVELS,
     "fireworks", BEARER, 0, "https://api.fireworks.ai/inference/v1", NULL},
    {"moonshot", "api.moonshot.ai", CHAT_OPENAI, WIRE_THINK_NONE, RESTATE,
     "moonshot_ai", BEARER, 0, "https://api.moonshot.ai/v1", NULL},
    {"moonshot", "api.moonshot.cn", CHAT_OPENAI, WIRE_THINK_NONE, RESTATE,
     "moonshot_ai", BEARER, 0, "https://api.moonshot.cn/v1", NULL},
    {"perplexity", "api.perplexity.ai", CHAT_OPENAI, WIRE_THINK_DEFAULT, LEVELS,
     "perplexity", BEARER, 0, "https://api.perplexity.ai", NULL},
    {"vllm", NULL, CHAT_OPENAI, WIRE_THINK_VLLM, OWN_BUDGET,
     "vllm", NO_KEY_NEEDED, 0, "http://127.0.0.1:8000/v1", NULL},
    {"sglang", NULL, CHAT_OPENAI, WIRE_THINK_SGLANG, OWN_BUDGET,
     "sglang", NO_KEY_NEEDED, 0, "http://127.0.0.1:30000/v1", NULL},
    {"llama.cpp", NULL, CHAT_OPENAI, WIRE_THINK_LLAMACPP, OWN_BUDGET | CONTROL,
     "llama.cpp", NO_KEY_NEEDED, 0, "http://127.0.0.1:8080/v1", NULL},
    {"llamacpp", NULL, CHAT_OPENAI, WIRE_THINK_LLAMACPP, OWN_BUDGET | CONTROL,
     "llama.cpp", NO_KEY_NEEDED, 0, "http://127.0.0.1:8080/v1", NULL},
    {"llama-server", NULL, CHAT_OPENAI, WIRE_THINK_LLAMACPP, OWN_BUDGET | CONTROL,
     "llama.cpp", NO_KEY_NEEDED, 0, "http://127.0.0.1:8080/v1", NULL},
};
/* clang-format on */

const struct provider_row *provider_row_at(size_t index)
{
    return index < COUNT_OF(rows) ? &rows[index] : NULL;
}

static bool provider_starts_alike(str s, str prefix)
{
    if (s.n < prefix.n)
        return false;
    for (size_t i = 0; i < prefix.n; i++)
        if (char_to_lower(s.p[i]) != char_to_lower(prefix.p[i]))
            return false;
    return true;
}

/* "vllm", and "vllm-east", "vllm2", "vllm_big" as well. */
static bool provider_is_named(str name, str row)
{
    char next;

    if (!provider_starts_alike(name, row))
        return false;
    next = name.n > row.n ? char_to_lower(name.p[row.n]) : '-';
    return next < 'a' || next > 'z';
}

/* A row's host is all of the base URL's host, or ends it at a dot. */
static bool provider_is_hosted(str host, str row)
{
    if (host.n < row.n || !provider_starts_alike(str_slice(host, host.n - row.n, host.n), row))
        return false;
    return host.n == row.n || row.p[0] == '.' || host.p[host.n - row.n - 1] == '.';
}

bool provider_separates(str host)
{
    static const char *const hosts[] = {"api.openai.com",
                                        ".openai.azure.com",
                                        "api.anthropic.com",
                                        "generativelanguage.googleapis.com"};

    for (size_t i = 0; i < COUNT_OF(hosts); i++)
        if (provider_is_hosted(host, str_c(hosts[i])))
            return true;
    return false;
}

/* How well a row fits, 0 if it does not: a known host says more than a name, a longer name more
 * than a shorter one. */
static size_t provider_fit(const struct provider_row *row, str name, str host, str path)
{
    str own_host = str_c(row->host), own_name = str_c(row->name);
    size_t more = row->path ? 1 : 0;

    if (row->path && str_find(path, str_c(row->path)) == STR_NONE)
        return 0;
    if (own_host.n > 0 && provider_is_hosted(host, own_host))
        return 10000 + own_host.n * 2 + more;
    return provider_is_named(name, own_name) ? own_name.n * 2 + more : 0;
}

const struct provider_row *provider_row_find(str name)
{
    const struct provider_row *best = NULL;

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (provider_is_named(name, str_c(rows[i].name)) &&
            (!best || strlen(rows[i].name) > strlen(best->name)))
            best = &rows[i];
    return best;
}

const struct provider_row *provider_row(str name, str host, str path, enum chat_dialect kind)
{
    const struct provider_row *best = &rows[kind];
    size_t best_fit = 0;

    assert(kind <= CHAT_OLLAMA && rows[kind].dialect == kind);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t f = rows[i].dialect == kind ? provider_fit(&rows[i], name, host, path) : 0;

        if (f > best_fit) {
            best = &rows[i];
            best_fit = f;
        }
    }
    return best;
}

static str provider_redact_key(struct arena *a, str text, str key)
{
    size_t at = str_find(text, key);
    struct buf out;

    assert(key.n > 0);
    if (at == STR_NONE)
        return text;
    buf_init(&out, 8 * text.n + 64);
    for (; at != STR_NONE; at = str_find(text, key)) {
        buf_add(&out, str_slice(text, 0, at));
        buf_add(&out, STR("[key]"));
        text = str_slice(text, at + key.n, text.n);
    }
    buf_add(&out, text);
    text = arena_move_buf(a, &out);
    return text;
}

void provider_clean_error(str key, struct arena *a, struct chat_error *error)
{
    str *const texts[] = {&error->message, &error->type, &error->code, &error->param, &error->raw};

    for (size_t i = 0; i < COUNT_OF(texts) && key.n >= PROVIDER_KEY_MIN; i++) {
        str clean = provider_redact_key(a, *texts[i], key);

        if (clean.p != texts[i]->p) /* the frame has it too, maybe with escapes */
            error->frame = STR("");
        *texts[i] = clean;
    }
    if (key.n >= PROVIDER_KEY_MIN && error->frame.n && str_find(error->frame, key) != STR_NONE)
        error->frame = STR("");
}
