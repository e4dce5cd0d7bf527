/* usage.c - counts and ends, in the spellings of all hosts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

#include <strings.h>

/* The usage itself, and the boxes in it. */
enum box { HERE, OF_PROMPT, OF_INPUT, OF_COMPLETION, OF_OUTPUT, BOX_COUNT };

static const enum openai_usage_field boxes[BOX_COUNT] = {
    [OF_PROMPT] = OPENAI_OF_PROMPT_TOKENS_DETAILS,
    [OF_INPUT] = OPENAI_OF_INPUT_TOKENS_DETAILS,
    [OF_COMPLETION] = OPENAI_OF_COMPLETION_TOKENS_DETAILS,
    [OF_OUTPUT] = OPENAI_OF_OUTPUT_TOKENS_DETAILS,
};

struct place {
    enum box box;
    enum openai_usage_field name;
};

static const struct place input[] = {{HERE, OPENAI_OF_PROMPT_TOKENS},
                                     {HERE, OPENAI_OF_INPUT_TOKENS}};
static const struct place output[] = {{HERE, OPENAI_OF_COMPLETION_TOKENS},
                                      {HERE, OPENAI_OF_OUTPUT_TOKENS}};
static const struct place total[] = {{HERE, OPENAI_OF_TOTAL_TOKENS}};
static const struct place reasoning[] = {
    {OF_COMPLETION, OPENAI_OF_REASONING_TOKENS},
    {OF_OUTPUT, OPENAI_OF_REASONING_TOKENS},
    {HERE, OPENAI_OF_REASONING_TOKENS},
};
static const struct place cache_read[] = {
    {OF_PROMPT, OPENAI_OF_CACHED_TOKENS},
    {OF_INPUT, OPENAI_OF_CACHED_TOKENS},
    {HERE, OPENAI_OF_PROMPT_CACHE_HIT_TOKENS},
    {HERE, OPENAI_OF_CACHED_TOKENS},
    {HERE, OPENAI_OF_NUM_CACHED_TOKENS},
    {HERE, OPENAI_OF_CACHE_READ_INPUT_TOKENS},
};
static const struct place cache_write[] = {
    {OF_PROMPT, OPENAI_OF_CACHE_WRITE_TOKENS},
    {OF_PROMPT, OPENAI_OF_CACHE_CREATION_TOKENS},
    {OF_PROMPT, OPENAI_OF_CACHE_CREATION_INPUT_TOKENS},
    {HERE, OPENAI_OF_CACHE_CREATION_INPUT_TOKENS},
    {HERE, OPENAI_OF_CACHE_WRITE_TOKENS},
};

/* The first of these members that is a count. */
static int64_t openai_usage_count_of(const struct json *doc, const struct json_fields *in,
                                     const struct place *places, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t count = json_to_count(doc, json_fields_get(&in[places[i].box], places[i].name));

        if (count >= 0)
            return count;
    }
    return -1;
}

#define COUNT(places) openai_usage_count_of(doc, in, places, COUNT_OF(places))

void openai_usage(const struct json *doc, const struct json_node *v, struct chat_usage *out)
{
    struct json_fields in[BOX_COUNT];
    int64_t all;

    json_fields_read(&openai_usage_fields, doc, v, 0, &in[HERE]);
    for (size_t i = HERE + 1; i < BOX_COUNT; i++) {
        const struct json_node *box = json_fields_get(&in[HERE], boxes[i]);

        in[i].seen = 0;
        if (box)
            json_fields_read(&openai_usage_fields, doc, box, 0, &in[i]);
    }
    all = COUNT(total);
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
         (out->input >= 0 && all >= 0 && all - out->input - out->output == out->reasoning)))
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
        str name;
        enum chat_stop stop;
    } names[] = {
        {STR_INIT("stop"), CHAT_STOP_END},
        {STR_INIT("eos"), CHAT_STOP_END},
        {STR_INIT("eos_token"), CHAT_STOP_END},
        {STR_INIT("end_turn"), CHAT_STOP_END},
        {STR_INIT("complete"), CHAT_STOP_END},
        {STR_INIT("stop_sequence"), CHAT_STOP_SEQUENCE},
        {STR_INIT("length"), CHAT_STOP_LENGTH},
        {STR_INIT("max_tokens"), CHAT_STOP_LENGTH},
        {STR_INIT("max_length"), CHAT_STOP_LENGTH},
        {STR_INIT("model_length"), CHAT_STOP_LENGTH},
        {STR_INIT("model_context_window_exceeded"), CHAT_STOP_LENGTH},
        {STR_INIT("tool_calls"), CHAT_STOP_TOOL},
        {STR_INIT("tool_call"), CHAT_STOP_TOOL},
        {STR_INIT("tool_use"), CHAT_STOP_TOOL},
        {STR_INIT("function_call"), CHAT_STOP_TOOL},
        {STR_INIT("content_filter"), CHAT_STOP_REFUSED},
        {STR_INIT("sensitive"), CHAT_STOP_REFUSED},
        {STR_INIT("safety"), CHAT_STOP_REFUSED},
        {STR_INIT("refusal"), CHAT_STOP_REFUSED},
        {STR_INIT("error_toxic"), CHAT_STOP_REFUSED},
        {STR_INIT("pause_turn"), CHAT_STOP_PAUSE},
        {STR_INIT("error"), CHAT_STOP_FAILED},                        /* Mistral, OpenRouter */
        {STR_INIT("network_error"), CHAT_STOP_FAILED},                /* Z.ai */
        {STR_INIT("insufficient_system_resource"), CHAT_STOP_FAILED}, /* DeepSeek */
        {STR_INIT("abort"), CHAT_STOP_FAILED},                        /* vLLM, SGLang */
    };

    if (str_eq(name, STR("stop"))) /* the most frequent one */
        return CHAT_STOP_END;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (names[i].name.n == name.n && strncasecmp(names[i].name.p, name.p, name.n) == 0)
            return names[i].stop;
    return CHAT_STOP_OTHER;
}
