/* estimate.c - about how many tokens a request is, before anybody has counted them.
 *
 * Four bytes of text are a token. What is attached in base64 is not read as text: an image is never
 * more than some tokens however many bytes it has, and a page of a document or a minute of sound is
 * a few thousand of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"

#define TEXT_BYTES 4 /* a token */
#define DATA_BYTES 64
#define IMAGE_TOKENS_MAX 1600
#define ATTACHED_MIN 4096 /* a body that is not larger is not looked through */

struct attached {
    size_t bytes, tokens;
};

static void add(const struct chat_part *parts, size_t n, struct attached *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t tokens = parts[i].data.n / DATA_BYTES;

        if (parts[i].kind == CHAT_PART_IMAGE && tokens > IMAGE_TOKENS_MAX)
            tokens = IMAGE_TOKENS_MAX;
        out->bytes += parts[i].data.n;
        out->tokens += tokens;
        add(parts[i].parts, parts[i].part_count, out);
    }
}

int64_t call_estimate(const struct call_request *r)
{
    struct attached a = {0};

    for (size_t i = 0; r->body.n > ATTACHED_MIN && i < r->request->message_count; i++)
        add(r->request->messages[i].parts, r->request->messages[i].part_count, &a);
    a.bytes = a.bytes < r->body.n ? a.bytes : r->body.n; /* what came before may be in it again */
    return (int64_t)((r->body.n - a.bytes) / TEXT_BYTES + a.tokens);
}
