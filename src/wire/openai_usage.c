/* openai_usage.c - counts and ends, in the spellings of all hosts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai.h"

#include <strings.h>

/* The first of these members that is a number; "a/b" is a member of a member. */
static int64_t count_of(const struct json *doc, const struct json_node *v, const char *const *names,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        str name = str_c(names[i]);
        size_t slash = str_find(name, STR("/"));
        const struct json_node *at = v;
        int64_t count;

        if (slash != STR_NONE) {
            at = json_find(doc, v, str_slice(name, 0, slash));
            name = str_slice(name, slash + 1, name.n);
        }
        if (json_i64(doc, json_find(doc, at, name), &count) && count >= 0)
            return count;
    }
    return -1;
}

#define COUNT(...)                                                                                 \
    count_of(doc,                                                                                  \
             v,                                                                                    \
             (const char *const[]){__VA_ARGS__},                                                   \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

void openai_usage(const struct json *doc, const struct json_node *v, struct chat_usage *out)
{
    int64_t total = COUNT("total_tokens");

    *out = chat_usage_none;
    out->raw = json_raw(doc, v);
    out->input = COUNT("prompt_tokens", "input_tokens");
    out->output = COUNT("completion_tokens", "output_tokens");
    out->reasoning = COUNT("completion_tokens_details/reasoning_tokens",
                           "output_tokens_details/reasoning_tokens",
                           "reasoning_tokens");
    out->cache_read = COUNT("prompt_tokens_details/cached_tokens",
                            "input_tokens_details/cached_tokens",
                            "prompt_cache_hit_tokens",
                            "cached_tokens",
                            "num_cached_tokens",
                            "cache_read_input_tokens");
    out->cache_write = COUNT("prompt_tokens_details/cache_write_tokens",
                             "prompt_tokens_details/cache_creation_tokens",
                             "prompt_tokens_details/cache_creation_input_tokens",
                             "cache_creation_input_tokens",
                             "cache_write_tokens");
    /* xAI and some others count reasoning beside the completion, not in it. */
    if (out->reasoning > 0 && out->output >= 0 && out->output <= INT64_MAX - out->reasoning &&
        (out->reasoning > out->output ||
         (out->input >= 0 && total >= 0 && total - out->input - out->output == out->reasoning)))
        out->output += out->reasoning;
}

void openai_emit_usage(struct wire_decoder *d, struct chat_usage *last, bool *known,
                       const struct chat_usage *now)
{
    struct chat_event ev = openai_event(d, NULL, CHAT_USAGE);

    if (*known && last->input == now->input && last->output == now->output &&
        last->reasoning == now->reasoning && last->cache_read == now->cache_read &&
        last->cache_write == now->cache_write)
        return;
    *last = *now;
    last->raw = STR("");
    *known = true;
    ev.usage = now;
    wire_emit(d, &ev);
}

enum chat_stop openai_stop(str name)
{
    static const struct {
        const char *name;
        enum chat_stop stop;
    } names[] = {
        {"stop", CHAT_STOP_END},
        {"eos", CHAT_STOP_END},
        {"eos_token", CHAT_STOP_END},
        {"end_turn", CHAT_STOP_END},
        {"complete", CHAT_STOP_END},
        {"stop_sequence", CHAT_STOP_SEQUENCE},
        {"length", CHAT_STOP_LENGTH},
        {"max_tokens", CHAT_STOP_LENGTH},
        {"max_length", CHAT_STOP_LENGTH},
        {"model_length", CHAT_STOP_LENGTH},
        {"model_context_window_exceeded", CHAT_STOP_LENGTH},
        {"tool_calls", CHAT_STOP_TOOL},
        {"tool_call", CHAT_STOP_TOOL},
        {"tool_use", CHAT_STOP_TOOL},
        {"function_call", CHAT_STOP_TOOL},
        {"content_filter", CHAT_STOP_REFUSED},
        {"sensitive", CHAT_STOP_REFUSED},
        {"safety", CHAT_STOP_REFUSED},
        {"refusal", CHAT_STOP_REFUSED},
        {"error_toxic", CHAT_STOP_REFUSED},
        {"pause_turn", CHAT_STOP_PAUSE},
    };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strlen(names[i].name) == name.n && strncasecmp(names[i].name, name.p, name.n) == 0)
            return names[i].stop;
    return CHAT_STOP_OTHER; /* insufficient_system_resource, network_error, abort... */
}
