/* fields.h - the members of Chat Completions that we know by name: a new one is a row in a list.
 *
 * Each list makes an enum, the table of names and the lookup. See wire/json_fields.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/json_fields.h"

/* clang-format off */
/* Fields of a reply: its choices, messages and calls. */
#define OPENAI_REPLY_FIELDS(LENGTH, FIELD)                                                         \
    LENGTH(2)                                                                                      \
    FIELD(OPENAI_AT_ID, "id")                                                                      \
    LENGTH(4)                                                                                      \
    FIELD(OPENAI_AT_ROLE, "role")                                                                  \
    FIELD(OPENAI_AT_TEXT, "text")                                                                  \
    FIELD(OPENAI_AT_NAME, "name")                                                                  \
    FIELD(OPENAI_AT_TYPE, "type")                                                                  \
    LENGTH(5)                                                                                      \
    FIELD(OPENAI_AT_INDEX, "index")                                                                \
    FIELD(OPENAI_AT_DELTA, "delta")                                                                \
    FIELD(OPENAI_AT_USAGE, "usage")                                                                \
    FIELD(OPENAI_AT_ERROR, "error")                                                                \
    FIELD(OPENAI_AT_MODEL, "model")                                                                \
    LENGTH(6)                                                                                      \
    FIELD(OPENAI_AT_OBJECT, "object")                                                              \
    FIELD(OPENAI_AT_X_GROQ, "x_groq")                                                              \
    FIELD(OPENAI_AT_CUSTOM, "custom")                                                              \
    LENGTH(7)                                                                                      \
    FIELD(OPENAI_AT_CREATED, "created")                                                            \
    FIELD(OPENAI_AT_CHOICES, "choices")                                                            \
    FIELD(OPENAI_AT_MESSAGE, "message")                                                            \
    FIELD(OPENAI_AT_CONTENT, "content")                                                            \
    FIELD(OPENAI_AT_REFUSAL, "refusal")                                                            \
    LENGTH(8)                                                                                      \
    FIELD(OPENAI_AT_FUNCTION, "function")                                                          \
    FIELD(OPENAI_AT_THINKING, "thinking")                                                          \
    LENGTH(9)                                                                                      \
    FIELD(OPENAI_AT_ARGUMENTS, "arguments")                                                        \
    FIELD(OPENAI_AT_REASONING, "reasoning")                                                        \
    LENGTH(10)                                                                                     \
    FIELD(OPENAI_AT_TOOL_CALLS, "tool_calls")                                                      \
    LENGTH(11)                                                                                     \
    FIELD(OPENAI_AT_OBFUSCATION, "obfuscation")                                                    \
    FIELD(OPENAI_AT_STOP_REASON, "stop_reason")                                                    \
    LENGTH(12)                                                                                     \
    FIELD(OPENAI_AT_MATCHED_STOP, "matched_stop")                                                  \
    LENGTH(13)                                                                                     \
    FIELD(OPENAI_AT_FINISH_REASON, "finish_reason")                                                \
    FIELD(OPENAI_AT_FUNCTION_CALL, "function_call")                                                \
    LENGTH(14)                                                                                     \
    FIELD(OPENAI_AT_REASONING_TEXT, "reasoning_text")                                              \
    LENGTH(15)                                                                                     \
    FIELD(OPENAI_AT_THINKING_BLOCKS, "thinking_blocks")                                            \
    LENGTH(17)                                                                                     \
    FIELD(OPENAI_AT_REASONING_CONTENT, "reasoning_content")                                        \
    FIELD(OPENAI_AT_REASONING_DETAILS, "reasoning_details")

/* Fields of a reply's usage. */
#define OPENAI_USAGE_FIELDS(LENGTH, FIELD)                                                         \
    LENGTH(12)                                                                                     \
    FIELD(OPENAI_OF_TOTAL_TOKENS, "total_tokens")                                                  \
    FIELD(OPENAI_OF_INPUT_TOKENS, "input_tokens")                                                  \
    LENGTH(13)                                                                                     \
    FIELD(OPENAI_OF_PROMPT_TOKENS, "prompt_tokens")                                                \
    FIELD(OPENAI_OF_OUTPUT_TOKENS, "output_tokens")                                                \
    FIELD(OPENAI_OF_CACHED_TOKENS, "cached_tokens")                                                \
    LENGTH(16)                                                                                     \
    FIELD(OPENAI_OF_REASONING_TOKENS, "reasoning_tokens")                                          \
    LENGTH(17)                                                                                     \
    FIELD(OPENAI_OF_COMPLETION_TOKENS, "completion_tokens")                                        \
    FIELD(OPENAI_OF_NUM_CACHED_TOKENS, "num_cached_tokens")                                        \
    LENGTH(18)                                                                                     \
    FIELD(OPENAI_OF_CACHE_WRITE_TOKENS, "cache_write_tokens")                                      \
    LENGTH(20)                                                                                     \
    FIELD(OPENAI_OF_INPUT_TOKENS_DETAILS, "input_tokens_details")                                  \
    LENGTH(21)                                                                                     \
    FIELD(OPENAI_OF_PROMPT_TOKENS_DETAILS, "prompt_tokens_details")                                \
    FIELD(OPENAI_OF_OUTPUT_TOKENS_DETAILS, "output_tokens_details")                                \
    FIELD(OPENAI_OF_CACHE_CREATION_TOKENS, "cache_creation_tokens")                                \
    LENGTH(23)                                                                                     \
    FIELD(OPENAI_OF_PROMPT_CACHE_HIT_TOKENS, "prompt_cache_hit_tokens")                            \
    FIELD(OPENAI_OF_CACHE_READ_INPUT_TOKENS, "cache_read_input_tokens")                            \
    LENGTH(25)                                                                                     \
    FIELD(OPENAI_OF_COMPLETION_TOKENS_DETAILS, "completion_tokens_details")                        \
    LENGTH(27)                                                                                     \
    FIELD(OPENAI_OF_CACHE_CREATION_INPUT_TOKENS, "cache_creation_input_tokens")

/* Fields of a client's request. */
#define OPENAI_REQUEST_FIELDS(LENGTH, FIELD)                                                       \
    LENGTH(1)                                                                                      \
    FIELD(OPENAI_ASK_N, "n")                                                                       \
    LENGTH(4)                                                                                      \
    FIELD(OPENAI_ASK_SEED, "seed")                                                                 \
    FIELD(OPENAI_ASK_USER, "user")                                                                 \
    FIELD(OPENAI_ASK_STOP, "stop")                                                                 \
    LENGTH(5)                                                                                      \
    FIELD(OPENAI_ASK_TOP_P, "top_p")                                                               \
    FIELD(OPENAI_ASK_TOP_K, "top_k")                                                               \
    FIELD(OPENAI_ASK_MODEL, "model")                                                               \
    FIELD(OPENAI_ASK_TOOLS, "tools")                                                               \
    FIELD(OPENAI_ASK_THINK, "think")                                                               \
    LENGTH(6)                                                                                      \
    FIELD(OPENAI_ASK_STREAM, "stream")                                                             \
    LENGTH(8)                                                                                      \
    FIELD(OPENAI_ASK_MESSAGES, "messages")                                                         \
    FIELD(OPENAI_ASK_THINKING, "thinking")                                                         \
    LENGTH(9)                                                                                      \
    FIELD(OPENAI_ASK_FUNCTIONS, "functions")                                                       \
    FIELD(OPENAI_ASK_REASONING, "reasoning")                                                       \
    LENGTH(10)                                                                                     \
    FIELD(OPENAI_ASK_MAX_TOKENS, "max_tokens")                                                     \
    LENGTH(11)                                                                                     \
    FIELD(OPENAI_ASK_TEMPERATURE, "temperature")                                                   \
    FIELD(OPENAI_ASK_TOOL_CHOICE, "tool_choice")                                                   \
    LENGTH(13)                                                                                     \
    FIELD(OPENAI_ASK_FUNCTION_CALL, "function_call")                                               \
    LENGTH(14)                                                                                     \
    FIELD(OPENAI_ASK_STREAM_OPTIONS, "stream_options")                                             \
    LENGTH(15)                                                                                     \
    FIELD(OPENAI_ASK_RESPONSE_FORMAT, "response_format")                                           \
    FIELD(OPENAI_ASK_ENABLE_THINKING, "enable_thinking")                                           \
    FIELD(OPENAI_ASK_THINKING_BUDGET, "thinking_budget")                                           \
    LENGTH(16)                                                                                     \
    FIELD(OPENAI_ASK_PRESENCE_PENALTY, "presence_penalty")                                         \
    FIELD(OPENAI_ASK_REASONING_EFFORT, "reasoning_effort")                                         \
    FIELD(OPENAI_ASK_REASONING_FORMAT, "reasoning_format")                                         \
    LENGTH(17)                                                                                     \
    FIELD(OPENAI_ASK_FREQUENCY_PENALTY, "frequency_penalty")                                       \
    FIELD(OPENAI_ASK_INCLUDE_REASONING, "include_reasoning")                                       \
    LENGTH(19)                                                                                     \
    FIELD(OPENAI_ASK_PARALLEL_TOOL_CALLS, "parallel_tool_calls")                                   \
    LENGTH(20)                                                                                     \
    FIELD(OPENAI_ASK_CHAT_TEMPLATE_KWARGS, "chat_template_kwargs")                                 \
    LENGTH(21)                                                                                     \
    FIELD(OPENAI_ASK_MAX_COMPLETION_TOKENS, "max_completion_tokens")                               \
    FIELD(OPENAI_ASK_THINKING_TOKEN_BUDGET, "thinking_token_budget")                               \
    LENGTH(22)                                                                                     \
    FIELD(OPENAI_ASK_THINKING_BUDGET_TOKENS, "thinking_budget_tokens")                             \
    LENGTH(23)                                                                                     \
    FIELD(OPENAI_ASK_REASONING_BUDGET_TOKENS, "reasoning_budget_tokens")

/* clang-format on */

enum openai_reply_field { OPENAI_REPLY_FIELDS(JSON_FIELD_NO_LENGTH, JSON_FIELD_ENUM) };
enum openai_usage_field { OPENAI_USAGE_FIELDS(JSON_FIELD_NO_LENGTH, JSON_FIELD_ENUM) };
enum openai_request_field { OPENAI_REQUEST_FIELDS(JSON_FIELD_NO_LENGTH, JSON_FIELD_ENUM) };

extern const struct json_field_set openai_reply_fields, openai_usage_fields, openai_request_fields;

/* The members that hold reasoning, in the order in which they are read; and those with its
 * details. */
#define OPENAI_THOUGHT_COUNT 4
#define OPENAI_DETAIL_COUNT 2
extern const enum openai_reply_field openai_thought_fields[OPENAI_THOUGHT_COUNT],
    openai_detail_fields[OPENAI_DETAIL_COUNT];

static inline str openai_thought_name(size_t i)
{
    return openai_reply_fields.names[openai_thought_fields[i]];
}

static inline str openai_detail_name(size_t i)
{
    return openai_reply_fields.names[openai_detail_fields[i]];
}
