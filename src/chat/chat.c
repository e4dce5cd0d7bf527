/* chat.c - names and numbers of the vocabulary.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "chat/chat.h"

#include <strings.h>

const struct chat_usage chat_usage_none = {.input = -1,
                                           .output = -1,
                                           .reasoning = -1,
                                           .cache_read = -1,
                                           .cache_write = -1,
                                           .raw = {"", 0}};

static const char *const levels[CHAT_LEVEL_COUNT] = {
    "", "none", "", "minimal", "low", "medium", "high", "xhigh", "max"};

const char *chat_level_name(enum chat_level level)
{
    assert(level < CHAT_LEVEL_COUNT);
    return levels[level];
}

bool chat_level_parse(str name, enum chat_level *out)
{
    for (size_t i = 0; i < CHAT_LEVEL_COUNT; i++)
        if (levels[i][0] && strlen(levels[i]) == name.n &&
            strncasecmp(levels[i], name.p, name.n) == 0) {
            *out = (enum chat_level)i;
            return true;
        }
    return false;
}

static void chat_take(int64_t *to, int64_t from)
{
    if (from >= 0)
        *to = from;
}

void chat_usage_merge(struct chat_usage *to, const struct chat_usage *from)
{
    chat_take(&to->input, from->input);
    chat_take(&to->output, from->output);
    chat_take(&to->reasoning, from->reasoning);
    chat_take(&to->cache_read, from->cache_read);
    chat_take(&to->cache_write, from->cache_write);
    if (from->raw.n)
        to->raw = from->raw;
}

const char *chat_dialect_name(enum chat_dialect d)
{
    static const char *const names[CHAT_DIALECT_COUNT] = {"openai",
                                                          "responses",
                                                          "anthropic",
                                                          "gemini",
                                                          "mistral",
                                                          "ollama",
                                                          "generate",
                                                          "converse",
                                                          "cohere"};

    assert(d < CHAT_DIALECT_COUNT);
    return names[d];
}

const char *chat_event_name(enum chat_event_kind kind)
{
    static const char *const names[] = {"start",
                                        "text",
                                        "reasoning",
                                        "signature",
                                        "redacted",
                                        "refusal",
                                        "call",
                                        "arguments",
                                        "opaque",
                                        "keep",
                                        "extra",
                                        "usage",
                                        "stop",
                                        "error",
                                        "end"};

    assert((size_t)kind < COUNT_OF(names));
    return names[kind];
}

const char *chat_stop_name(enum chat_stop stop)
{
    static const char *const names[] = {
        "end", "length", "tool", "sequence", "refused", "pause", "other", "failed"};

    assert((size_t)stop < COUNT_OF(names));
    return names[stop];
}

bool chat_tool_goes(const struct chat_tool *t, enum chat_dialect to)
{
    return !t->barred && (t->opaque.n == 0 || t->dialect == to);
}
