/* openai_usage.c - counts and ends, in the spellings of all hosts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai.h"

#include <strings.h>

struct place {
    str box, name; /* a member, or a member of the member `box` */
};

#define HERE(name)                                                                                 \
    {                                                                                              \
        STR_INIT(""), STR_INIT(name)                                                               \
    }
#define INSIDE(box, name)                                                                          \
    {                                                                                              \
        STR_INIT(box), STR_INIT(name)                                                              \
    }

/* The first of these members that is a number. */
static int64_t count_of(const struct json *doc, const struct json_node *v,
                        const struct place *places, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct json_node *at = places[i].box.n ? json_find(doc, v, places[i].box) : v;
        int64_t count;

        at = json_find(doc, at, places[i].name);
        if (at && json_i64(doc, at, &count) && count >= 0)
            return count;
    }
    return -1;
}

static const struct place input[] = {HERE("prompt_tokens"), HERE("input_tokens")};
static const struct place output[] = {HERE("completion_tokens"), HERE("output_tokens")};
static const struct place reasoning[] = {
    INSIDE("completion_tokens_details", "reasoning_tokens"),
    INSIDE("output_tokens_details", "reasoning_tokens"),
    HERE("reasoning_tokens"),
};
static const struct place cache_read[] = {
    INSIDE("prompt_tokens_details", "cached_tokens"),
    INSIDE("input_tokens_details", "cached_tokens"),
    HERE("prompt_cache_hit_tokens"),
    HERE("cached_tokens"),
    HERE("num_cached_tokens"),
    HERE("cache_read_input_tokens"),
};
static const struct place cache_write[] = {
    INSIDE("prompt_tokens_details", "cache_write_tokens"),
    INSIDE("prompt_tokens_details", "cache_creation_tokens"),
    INSIDE("prompt_tokens_details", "cache_creation_input_tokens"),
    HERE("cache_creation_input_tokens"),
    HERE("cache_write_tokens"),
};

#define COUNT(places) count_of(doc, v, places, COUNT_OF(places))

void openai_usage(const struct json *doc, const struct json_node *v, struct chat_usage *out)
{
    int64_t total = member_count(doc, v, "total_tokens");

    *out = chat_usage_none;
    out->raw = json_raw(doc, v);
    out->input = COUNT(input);
    out->output = COUNT(output);
    out->reasoning = COUNT(reasoning);
    out->cache_read = COUNT(cache_read);
    out->cache_write = COUNT(cache_write);
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
