/* watched.c - the table of upstreams, and of paths that are model calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/watched.h"

#include "gateway/provider.h"

#define FIRST_MS ((uint64_t)24 * 3600 * 1000) /* the client decides how long it waits */

/* `chatgpt` is where Codex sends its calls after a login with ChatGPT; `codeassist` is where Gemini
 * CLI sends them after a login with Google. */
static const struct watched_upstream upstreams[] = {
    {"anthropic", "https://api.anthropic.com"},
    {"openai", "https://api.openai.com/v1"},
    {"chatgpt", "https://chatgpt.com/backend-api/codex"},
    {"gemini", "https://generativelanguage.googleapis.com"},
    {"codeassist", "https://cloudcode-pa.googleapis.com"},
    {"openrouter", "https://openrouter.ai/api/v1"},
    {"deepseek", "https://api.deepseek.com"},
    {"mistral", "https://api.mistral.ai/v1"},
    {"xai", "https://api.x.ai/v1"},
    {"groq", "https://api.groq.com/openai/v1"},
    {"zen", "https://opencode.ai/zen/v1"},
};

/* How a path ends, after its last '/'. */
static const struct {
    str end;
    enum chat_dialect dialect;
    bool streams;
} ends[] = {
    {STR_INIT("/messages"), CHAT_ANTHROPIC, false},
    {STR_INIT("/responses"), CHAT_RESPONSES, false},
    {STR_INIT("/chat/completions"), CHAT_OPENAI, false},
    {STR_INIT(":generateContent"), CHAT_GEMINI, false},
    {STR_INIT(":streamGenerateContent"), CHAT_GEMINI, true},
};

static const enum chat_dialect dialects[] = {
    CHAT_ANTHROPIC, CHAT_RESPONSES, CHAT_OPENAI, CHAT_GEMINI};
static struct config_provider providers[COUNT_OF(upstreams)][COUNT_OF(dialects)];
static pthread_once_t watched_once = PTHREAD_ONCE_INIT;

const struct watched_upstream *watched_upstream_find(str name)
{
    for (size_t i = 0; i < COUNT_OF(upstreams); i++)
        if (str_eq(name, str_c(upstreams[i].name)))
            return &upstreams[i];
    return NULL;
}

bool watched_read_path(str path, struct watched_call *out)
{
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        size_t at = path.n;
        str front = str_slice(path, 0, path.n - (path.n < ends[i].end.n ? 0 : ends[i].end.n));

        if (!str_ends(path, ends[i].end))
            continue;
        *out = (struct watched_call){ends[i].dialect, STR(""), ends[i].streams};
        if (ends[i].dialect != CHAT_GEMINI)
            return true;
        for (at = front.n; at > 0 && front.p[at - 1] != '/'; at--)
            ;
        out->model = str_slice(front, at, front.n);
        return str_ends(str_slice(front, 0, at), STR("/models/")) && out->model.n > 0;
    }
    return false;
}

static void watched_fill_provider(const struct watched_upstream *u, enum chat_dialect dialect,
                                  struct config_provider *p)
{
    struct err e;

    *p = (struct config_provider){.name = str_c(u->name),
                                  .dialect = dialect,
                                  .base_url = str_c(u->url),
                                  .key_file = STR(""),
                                  .key_missing = STR(""),
                                  .reasoning_params = STR(""),
                                  .cassette = STR(""),
                                  .record = STR(""),
                                  .first_ms = FIRST_MS,
                                  .listed_prices = true};
    if (!client_url_parse(p->base_url, &p->url, &e))
        base_die("%s: %s", u->url, e.text);
    p->row = provider_row(p->name, p->url.host, p->url.path, dialect);
}

static void watched_fill_providers(void)
{
    for (size_t i = 0; i < COUNT_OF(upstreams); i++)
        for (size_t k = 0; k < COUNT_OF(dialects); k++)
            watched_fill_provider(&upstreams[i], dialects[k], &providers[i][k]);
}

const struct config_provider *watched_provider(const struct watched_upstream *u,
                                               enum chat_dialect dialect)
{
    size_t k = 0;

    (void)pthread_once(&watched_once, watched_fill_providers);
    while (k + 1 < COUNT_OF(dialects) && dialects[k] != dialect)
        k++;
    assert((size_t)(u - upstreams) < COUNT_OF(upstreams) && dialects[k] == dialect);
    return &providers[u - upstreams][k];
}
