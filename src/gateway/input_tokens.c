/* input_tokens.c - see input_tokens.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/input_tokens.h"

#define MESSAGE_TOKENS 4 /* what wraps a message, about */
#define DATA_BYTES 64    /* a token */
#define IMAGE_TOKENS_MAX 1600

struct input_tokens {
    const struct tokens_vocab *vocab;
    size_t counted, tokens, beyond; /* bytes that were counted, their tokens, bytes that were not */
};

static void input_tokens_add_text(struct input_tokens *t, str text)
{
    size_t room = INPUT_TOKENS_EXACT - t->counted;
    str first = str_slice(text, 0, room);

    assert(t->counted <= INPUT_TOKENS_EXACT);
    t->tokens += first.n ? tokens_count(t->vocab, first) : 0;
    t->counted += first.n;
    t->beyond += text.n - first.n;
}

static void input_tokens_add_parts(struct input_tokens *t, const struct chat_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        input_tokens_add_text(t, parts[i].text);
        input_tokens_add_text(t, parts[i].name);
        input_tokens_add_text(t, parts[i].json);
        input_tokens_add_parts(t, parts[i].parts, parts[i].part_count);
    }
}

static void input_tokens_add_data_of(const struct chat_part *parts, size_t n,
                                     struct input_tokens_data *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t tokens = parts[i].data.n / DATA_BYTES;

        if (parts[i].kind == CHAT_PART_IMAGE && tokens > IMAGE_TOKENS_MAX)
            tokens = IMAGE_TOKENS_MAX;
        out->bytes += parts[i].data.n;
        out->tokens += tokens;
        input_tokens_add_data_of(parts[i].parts, parts[i].part_count, out);
    }
}

void input_tokens_add_data(const struct chat_request *r, struct input_tokens_data *out)
{
    for (size_t i = 0; i < r->message_count; i++)
        input_tokens_add_data_of(r->messages[i].parts, r->messages[i].part_count, out);
}

int64_t input_tokens_count(const struct chat_request *r, const struct tokens_vocab *vocab)
{
    struct input_tokens t = {.vocab = vocab};
    struct input_tokens_data data = {0};

    for (size_t i = 0; i < r->message_count; i++)
        input_tokens_add_parts(&t, r->messages[i].parts, r->messages[i].part_count);
    for (size_t i = 0; i < r->tool_count; i++) {
        input_tokens_add_text(&t, r->tools[i].name);
        input_tokens_add_text(&t, r->tools[i].description);
        input_tokens_add_text(&t, r->tools[i].schema);
    }
    input_tokens_add_data(r, &data);
    assert(!t.beyond || t.counted > 0);
    if (t.beyond)
        t.tokens += (size_t)((double)t.beyond * (double)t.tokens / (double)t.counted);
    return (int64_t)(t.tokens + data.tokens + MESSAGE_TOKENS * r->message_count);
}
