/* error.c - the tables of what providers say when a request is too long or a key is wrong.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/error.h"

#include "base/ctype.h"

#define COUNT_MIN 512 /* smaller numbers in a message are no context: statuses, versions */

static const char *const context_codes[] = {
    WIRE_CONTEXT_CODE,           /* OpenAI, Azure, Groq */
    "context_window_exceeded",   /* Together */
    "exceed_context_size_error", /* llama.cpp */
    "model_context_window_exceeded",
};

/* In lower case; anywhere in the message. */
static const char *const context_phrases[] = {
    "context_length_exceeded",
    "maximum context length",               /* OpenAI, Azure, vLLM, SGLang, DeepSeek, OpenRouter */
    "exceeds the context window",           /* OpenAI Responses */
    "prompt is too long",                   /* Anthropic, Fireworks */
    "exceed context limit",                 /* Anthropic, with max_tokens */
    "exceeds the maximum number of tokens", /* Gemini */
    "input token count is",                 /* Vertex */
    "exceeds the available context size",   /* llama.cpp */
    "exceed the available context size",
    "exceeds the context length", /* Ollama */
    "exceeded max context length",
    "exceeds maximum context length",
    "model's context length",               /* SGLang */
    "longer than the maximum model length", /* vLLM */
    "is too long to fit into the model",
    "too large for model with",                   /* Mistral */
    "please reduce the length of the messages",   /* Groq */
    "maximum prompt length",                      /* xAI */
    "input is too long for requested model",      /* Bedrock */
    "too many tokens: ",                          /* Cohere */
    "`inputs` tokens + `max_new_tokens` must be", /* TGI, Together */
    "exceeded model token limit",                 /* Moonshot */
    "context window exceeds limit",               /* MiniMax */
    "prompt exceeds max length",                  /* Zhipu */
    "greater than the context length",            /* LM Studio */
    "range of input length should be",            /* DashScope */
    "`inputs` must have less than",               /* TGI */
    "loaded with context length of only",         /* LM Studio */
    "exceeds maximum input length",
    "should not exceed max_num_tokens", /* TensorRT-LLM */
};

static bool wire_error_has_phrase(str text, str phrase)
{
    for (size_t i = 0; i + phrase.n <= text.n; i++) {
        size_t n = 0;

        while (n < phrase.n && char_to_lower(text.p[i + n]) == phrase.p[n])
            n++;
        if (n == phrase.n)
            return true;
    }
    return false;
}

/* A status that a request which is too long can have; a limit per minute has another. */
static bool wire_error_may_be_context(int status)
{
    return status == 400 || status == 413 || status == 422 || status == 500 || status == 502;
}

static bool wire_error_says_context(const struct chat_error *error)
{
    for (size_t i = 0; i < COUNT_OF(context_codes); i++)
        if (str_eq(error->code, str_c(context_codes[i])) ||
            str_eq(error->type, str_c(context_codes[i])))
            return true;
    for (size_t i = 0; i < COUNT_OF(context_phrases); i++)
        if (wire_error_has_phrase(error->message, str_c(context_phrases[i])))
            return true;
    /* GitHub Copilot: "prompt token count of 9000 exceeds the limit of 8000" */
    return wire_error_has_phrase(error->message, STR("prompt token count of ")) &&
           wire_error_has_phrase(error->message, STR(" exceeds the limit of "));
}

void wire_error_classify(struct chat_error *error)
{
    if (wire_error_may_be_context(error->status) && wire_error_says_context(error)) {
        error->status = 400;
        error->type = STR("invalid_request_error");
        error->code = STR(WIRE_CONTEXT_CODE);
    } else if (error->status == 400 && str_eq(error->code, STR("API_KEY_INVALID"))) {
        error->status = 401; /* Gemini's way to say it */
        error->type = error->code = STR("");
    }
}

bool wire_error_is_context(const struct chat_error *error)
{
    return str_eq(error->code, STR(WIRE_CONTEXT_CODE));
}

static bool wire_error_in_word(char c)
{
    return char_is_digit(c) || char_is_letter(c) || c == '-' || c == '_' || c == '.';
}

/* The next number that is a whole word, from *at on. */
static bool wire_error_next_count(str text, size_t *at, uint64_t *out)
{
    for (size_t i = *at, end; i < text.n; i = end) {
        for (end = i; end < text.n && wire_error_in_word(text.p[end]); end++)
            ;
        if (end == i) {
            end++;
            continue;
        }
        assert(end > i && end <= text.n);
        *at = end;
        if (text.p[end - 1] == '.') /* that ends the sentence */
            end--;
        else if (str_ends(str_slice(text, i, end), STR(".0")))
            end -= 2;
        if (str_u64(str_slice(text, i, end), out) && *out >= COUNT_MIN)
            return true;
        end = *at;
    }
    return false;
}

bool wire_error_tokens(const struct chat_error *error, uint64_t *used, uint64_t *max)
{
    size_t at = 0;
    uint64_t a, b;

    if (str_find(error->message, STR(" + ")) != STR_NONE ||
        !wire_error_next_count(error->message, &at, &a) ||
        !wire_error_next_count(error->message, &at, &b) || a == b)
        return false;
    *used = a > b ? a : b;
    *max = a > b ? b : a;
    assert(*used > *max);
    return true;
}
