/* fields.c - which member a key is: by its length, and then by comparison with the few names
 * that are as long.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/fields.h"

/* The first byte tells most of them apart. */
#define IS(name) (p[0] == (name)[0] && str_same(p, name, sizeof name - 1))

static const str names[] = {
    [OPENAI_AT_ID] = STR_INIT("id"),
    [OPENAI_AT_ROLE] = STR_INIT("role"),
    [OPENAI_AT_TEXT] = STR_INIT("text"),
    [OPENAI_AT_NAME] = STR_INIT("name"),
    [OPENAI_AT_TYPE] = STR_INIT("type"),
    [OPENAI_AT_INDEX] = STR_INIT("index"),
    [OPENAI_AT_DELTA] = STR_INIT("delta"),
    [OPENAI_AT_USAGE] = STR_INIT("usage"),
    [OPENAI_AT_ERROR] = STR_INIT("error"),
    [OPENAI_AT_MODEL] = STR_INIT("model"),
    [OPENAI_AT_OBJECT] = STR_INIT("object"),
    [OPENAI_AT_X_GROQ] = STR_INIT("x_groq"),
    [OPENAI_AT_CUSTOM] = STR_INIT("custom"),
    [OPENAI_AT_CREATED] = STR_INIT("created"),
    [OPENAI_AT_CHOICES] = STR_INIT("choices"),
    [OPENAI_AT_MESSAGE] = STR_INIT("message"),
    [OPENAI_AT_CONTENT] = STR_INIT("content"),
    [OPENAI_AT_REFUSAL] = STR_INIT("refusal"),
    [OPENAI_AT_FUNCTION] = STR_INIT("function"),
    [OPENAI_AT_ARGUMENTS] = STR_INIT("arguments"),
    [OPENAI_AT_TOOL_CALLS] = STR_INIT("tool_calls"),
    [OPENAI_AT_OBFUSCATION] = STR_INIT("obfuscation"),
    [OPENAI_AT_STOP_REASON] = STR_INIT("stop_reason"),
    [OPENAI_AT_MATCHED_STOP] = STR_INIT("matched_stop"),
    [OPENAI_AT_FINISH_REASON] = STR_INIT("finish_reason"),
    [OPENAI_AT_FUNCTION_CALL] = STR_INIT("function_call"),
    [OPENAI_AT_REASONING_CONTENT] = STR_INIT("reasoning_content"),
    [OPENAI_AT_REASONING] = STR_INIT("reasoning"),
    [OPENAI_AT_REASONING_TEXT] = STR_INIT("reasoning_text"),
    [OPENAI_AT_THINKING] = STR_INIT("thinking"),
    [OPENAI_AT_REASONING_DETAILS] = STR_INIT("reasoning_details"),
    [OPENAI_AT_THINKING_BLOCKS] = STR_INIT("thinking_blocks"),
};

static inline int openai_fields_find_name(const char *p, size_t n)
{
    switch (n) {
    case 2:
        return IS("id") ? OPENAI_AT_ID : -1;
    case 4:
        return IS("role")   ? OPENAI_AT_ROLE
               : IS("text") ? OPENAI_AT_TEXT
               : IS("name") ? OPENAI_AT_NAME
               : IS("type") ? OPENAI_AT_TYPE
                            : -1;
    case 5:
        return IS("index")   ? OPENAI_AT_INDEX
               : IS("delta") ? OPENAI_AT_DELTA
               : IS("usage") ? OPENAI_AT_USAGE
               : IS("error") ? OPENAI_AT_ERROR
               : IS("model") ? OPENAI_AT_MODEL
                             : -1;
    case 6:
        return IS("object")   ? OPENAI_AT_OBJECT
               : IS("x_groq") ? OPENAI_AT_X_GROQ
               : IS("custom") ? OPENAI_AT_CUSTOM
                              : -1;
    case 7:
        return IS("created")   ? OPENAI_AT_CREATED
               : IS("choices") ? OPENAI_AT_CHOICES
               : IS("message") ? OPENAI_AT_MESSAGE
               : IS("content") ? OPENAI_AT_CONTENT
               : IS("refusal") ? OPENAI_AT_REFUSAL
                               : -1;
    case 8:
        return IS("function") ? OPENAI_AT_FUNCTION : IS("thinking") ? OPENAI_AT_THINKING : -1;
    case 9:
        return IS("arguments") ? OPENAI_AT_ARGUMENTS : IS("reasoning") ? OPENAI_AT_REASONING : -1;
    case 10:
        return IS("tool_calls") ? OPENAI_AT_TOOL_CALLS : -1;
    case 11:
        return IS("obfuscation")   ? OPENAI_AT_OBFUSCATION
               : IS("stop_reason") ? OPENAI_AT_STOP_REASON
                                   : -1;
    case 12:
        return IS("matched_stop") ? OPENAI_AT_MATCHED_STOP : -1;
    case 13:
        return IS("finish_reason")   ? OPENAI_AT_FINISH_REASON
               : IS("function_call") ? OPENAI_AT_FUNCTION_CALL
                                     : -1;
    case 14:
        return IS("reasoning_text") ? OPENAI_AT_REASONING_TEXT : -1;
    case 15:
        return IS("thinking_blocks") ? OPENAI_AT_THINKING_BLOCKS : -1;
    case 17:
        return IS("reasoning_content")   ? OPENAI_AT_REASONING_CONTENT
               : IS("reasoning_details") ? OPENAI_AT_REASONING_DETAILS
                                         : -1;
    default:
        return -1;
    }
}

static const str counts[] = {
    [OPENAI_OF_PROMPT_TOKENS] = STR_INIT("prompt_tokens"),
    [OPENAI_OF_COMPLETION_TOKENS] = STR_INIT("completion_tokens"),
    [OPENAI_OF_TOTAL_TOKENS] = STR_INIT("total_tokens"),
    [OPENAI_OF_INPUT_TOKENS] = STR_INIT("input_tokens"),
    [OPENAI_OF_OUTPUT_TOKENS] = STR_INIT("output_tokens"),
    [OPENAI_OF_PROMPT_TOKENS_DETAILS] = STR_INIT("prompt_tokens_details"),
    [OPENAI_OF_COMPLETION_TOKENS_DETAILS] = STR_INIT("completion_tokens_details"),
    [OPENAI_OF_INPUT_TOKENS_DETAILS] = STR_INIT("input_tokens_details"),
    [OPENAI_OF_OUTPUT_TOKENS_DETAILS] = STR_INIT("output_tokens_details"),
    [OPENAI_OF_REASONING_TOKENS] = STR_INIT("reasoning_tokens"),
    [OPENAI_OF_CACHED_TOKENS] = STR_INIT("cached_tokens"),
    [OPENAI_OF_PROMPT_CACHE_HIT_TOKENS] = STR_INIT("prompt_cache_hit_tokens"),
    [OPENAI_OF_NUM_CACHED_TOKENS] = STR_INIT("num_cached_tokens"),
    [OPENAI_OF_CACHE_READ_INPUT_TOKENS] = STR_INIT("cache_read_input_tokens"),
    [OPENAI_OF_CACHE_WRITE_TOKENS] = STR_INIT("cache_write_tokens"),
    [OPENAI_OF_CACHE_CREATION_TOKENS] = STR_INIT("cache_creation_tokens"),
    [OPENAI_OF_CACHE_CREATION_INPUT_TOKENS] = STR_INIT("cache_creation_input_tokens"),
};

static inline int openai_fields_find_count(const char *p, size_t n)
{
    switch (n) {
    case 12:
        return IS("total_tokens")   ? OPENAI_OF_TOTAL_TOKENS
               : IS("input_tokens") ? OPENAI_OF_INPUT_TOKENS
                                    : -1;
    case 13:
        return IS("prompt_tokens")   ? OPENAI_OF_PROMPT_TOKENS
               : IS("output_tokens") ? OPENAI_OF_OUTPUT_TOKENS
               : IS("cached_tokens") ? OPENAI_OF_CACHED_TOKENS
                                     : -1;
    case 16:
        return IS("reasoning_tokens") ? OPENAI_OF_REASONING_TOKENS : -1;
    case 17:
        return IS("completion_tokens")   ? OPENAI_OF_COMPLETION_TOKENS
               : IS("num_cached_tokens") ? OPENAI_OF_NUM_CACHED_TOKENS
                                         : -1;
    case 18:
        return IS("cache_write_tokens") ? OPENAI_OF_CACHE_WRITE_TOKENS : -1;
    case 20:
        return IS("input_tokens_details") ? OPENAI_OF_INPUT_TOKENS_DETAILS : -1;
    case 21:
        return IS("prompt_tokens_details")   ? OPENAI_OF_PROMPT_TOKENS_DETAILS
               : IS("output_tokens_details") ? OPENAI_OF_OUTPUT_TOKENS_DETAILS
               : IS("cache_creation_tokens") ? OPENAI_OF_CACHE_CREATION_TOKENS
                                             : -1;
    case 23:
        return IS("prompt_cache_hit_tokens")   ? OPENAI_OF_PROMPT_CACHE_HIT_TOKENS
               : IS("cache_read_input_tokens") ? OPENAI_OF_CACHE_READ_INPUT_TOKENS
                                               : -1;
    case 25:
        return IS("completion_tokens_details") ? OPENAI_OF_COMPLETION_TOKENS_DETAILS : -1;
    case 27:
        return IS("cache_creation_input_tokens") ? OPENAI_OF_CACHE_CREATION_INPUT_TOKENS : -1;
    default:
        return -1;
    }
}

static const str asked[] = {
    [OPENAI_ASK_MODEL] = STR_INIT("model"),
    [OPENAI_ASK_MESSAGES] = STR_INIT("messages"),
    [OPENAI_ASK_STREAM] = STR_INIT("stream"),
    [OPENAI_ASK_TEMPERATURE] = STR_INIT("temperature"),
    [OPENAI_ASK_TOP_P] = STR_INIT("top_p"),
    [OPENAI_ASK_TOP_K] = STR_INIT("top_k"),
    [OPENAI_ASK_SEED] = STR_INIT("seed"),
    [OPENAI_ASK_FREQUENCY_PENALTY] = STR_INIT("frequency_penalty"),
    [OPENAI_ASK_PRESENCE_PENALTY] = STR_INIT("presence_penalty"),
    [OPENAI_ASK_N] = STR_INIT("n"),
    [OPENAI_ASK_MAX_TOKENS] = STR_INIT("max_tokens"),
    [OPENAI_ASK_MAX_COMPLETION_TOKENS] = STR_INIT("max_completion_tokens"),
    [OPENAI_ASK_PARALLEL_TOOL_CALLS] = STR_INIT("parallel_tool_calls"),
    [OPENAI_ASK_STREAM_OPTIONS] = STR_INIT("stream_options"),
    [OPENAI_ASK_USER] = STR_INIT("user"),
    [OPENAI_ASK_STOP] = STR_INIT("stop"),
    [OPENAI_ASK_FUNCTIONS] = STR_INIT("functions"),
    [OPENAI_ASK_TOOLS] = STR_INIT("tools"),
    [OPENAI_ASK_FUNCTION_CALL] = STR_INIT("function_call"),
    [OPENAI_ASK_TOOL_CHOICE] = STR_INIT("tool_choice"),
    [OPENAI_ASK_RESPONSE_FORMAT] = STR_INIT("response_format"),
    [OPENAI_ASK_REASONING_EFFORT] = STR_INIT("reasoning_effort"),
    [OPENAI_ASK_REASONING] = STR_INIT("reasoning"),
    [OPENAI_ASK_THINKING] = STR_INIT("thinking"),
    [OPENAI_ASK_THINK] = STR_INIT("think"),
    [OPENAI_ASK_ENABLE_THINKING] = STR_INIT("enable_thinking"),
    [OPENAI_ASK_CHAT_TEMPLATE_KWARGS] = STR_INIT("chat_template_kwargs"),
    [OPENAI_ASK_THINKING_TOKEN_BUDGET] = STR_INIT("thinking_token_budget"),
    [OPENAI_ASK_THINKING_BUDGET_TOKENS] = STR_INIT("thinking_budget_tokens"),
    [OPENAI_ASK_REASONING_BUDGET_TOKENS] = STR_INIT("reasoning_budget_tokens"),
    [OPENAI_ASK_THINKING_BUDGET] = STR_INIT("thinking_budget"),
    [OPENAI_ASK_INCLUDE_REASONING] = STR_INIT("include_reasoning"),
    [OPENAI_ASK_REASONING_FORMAT] = STR_INIT("reasoning_format"),
};

static inline int openai_fields_find_asked(const char *p, size_t n)
{
    switch (n) {
    case 1:
        return IS("n") ? OPENAI_ASK_N : -1;
    case 4:
        return IS("seed")   ? OPENAI_ASK_SEED
               : IS("user") ? OPENAI_ASK_USER
               : IS("stop") ? OPENAI_ASK_STOP
                            : -1;
    case 5:
        return IS("model")   ? OPENAI_ASK_MODEL
               : IS("top_p") ? OPENAI_ASK_TOP_P
               : IS("top_k") ? OPENAI_ASK_TOP_K
               : IS("tools") ? OPENAI_ASK_TOOLS
               : IS("think") ? OPENAI_ASK_THINK
                             : -1;
    case 6:
        return IS("stream") ? OPENAI_ASK_STREAM : -1;
    case 8:
        return IS("messages") ? OPENAI_ASK_MESSAGES : IS("thinking") ? OPENAI_ASK_THINKING : -1;
    case 9:
        return IS("functions") ? OPENAI_ASK_FUNCTIONS : IS("reasoning") ? OPENAI_ASK_REASONING : -1;
    case 10:
        return IS("max_tokens") ? OPENAI_ASK_MAX_TOKENS : -1;
    case 11:
        return IS("temperature")   ? OPENAI_ASK_TEMPERATURE
               : IS("tool_choice") ? OPENAI_ASK_TOOL_CHOICE
                                   : -1;
    case 13:
        return IS("function_call") ? OPENAI_ASK_FUNCTION_CALL : -1;
    case 14:
        return IS("stream_options") ? OPENAI_ASK_STREAM_OPTIONS : -1;
    case 15:
        return IS("response_format")   ? OPENAI_ASK_RESPONSE_FORMAT
               : IS("enable_thinking") ? OPENAI_ASK_ENABLE_THINKING
               : IS("thinking_budget") ? OPENAI_ASK_THINKING_BUDGET
                                       : -1;
    case 16:
        return IS("presence_penalty")   ? OPENAI_ASK_PRESENCE_PENALTY
               : IS("reasoning_effort") ? OPENAI_ASK_REASONING_EFFORT
               : IS("reasoning_format") ? OPENAI_ASK_REASONING_FORMAT
                                        : -1;
    case 17:
        return IS("frequency_penalty")   ? OPENAI_ASK_FREQUENCY_PENALTY
               : IS("include_reasoning") ? OPENAI_ASK_INCLUDE_REASONING
                                         : -1;
    case 19:
        return IS("parallel_tool_calls") ? OPENAI_ASK_PARALLEL_TOOL_CALLS : -1;
    case 20:
        return IS("chat_template_kwargs") ? OPENAI_ASK_CHAT_TEMPLATE_KWARGS : -1;
    case 21:
        return IS("max_completion_tokens")   ? OPENAI_ASK_MAX_COMPLETION_TOKENS
               : IS("thinking_token_budget") ? OPENAI_ASK_THINKING_TOKEN_BUDGET
                                             : -1;
    case 22:
        return IS("thinking_budget_tokens") ? OPENAI_ASK_THINKING_BUDGET_TOKENS : -1;
    case 23:
        return IS("reasoning_budget_tokens") ? OPENAI_ASK_REASONING_BUDGET_TOKENS : -1;
    default:
        return -1;
    }
}

#define SET(set, names, find)                                                                      \
    static void read_##names(const struct json *doc,                                               \
                             const struct json_node *v,                                            \
                             uint64_t expected,                                                    \
                             struct json_fields *out)                                              \
    {                                                                                              \
        json_fields_walk(&set, find, doc, v, expected, out);                                       \
    }                                                                                              \
    const struct json_field_set set = {names, COUNT_OF(names), find, read_##names};                \
    static_assert(COUNT_OF(names) <= JSON_FIELDS_MAX, "a bit a name")

SET(openai_names, names, openai_fields_find_name);
SET(openai_counts, counts, openai_fields_find_count);
SET(openai_asked, asked, openai_fields_find_asked);
