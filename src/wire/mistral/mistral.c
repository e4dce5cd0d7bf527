/* mistral.c - Mistral's chat completions: OpenAI's with a list of chunks for content.
 *
 *     "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "..."}]},
 *                 {"type": "text", "text": "..."}]
 *
 * Ids of calls have nine letters and digits, `required` is `any`, `seed` is `random_seed`, usage
 * comes without being asked for, and a message may end in a prefix whose thinking is open or
 * closed. No client speaks it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

static void mistral_write(const struct chat_request *r, struct buf *out)
{
    openai_write_kin(r, true, out);
}

static void mistral_patch(const struct json *doc, const struct wire_plan *plan,
                          struct json_edits *edits)
{
    openai_patch_kin(doc, plan, true, edits);
}

const struct wire wire_mistral = {
    .dialect = CHAT_MISTRAL,
    .name = "mistral",
    .stream_framing = WIRE_SSE,
    .whole_type = "application/json",
    .stream_type = "text/event-stream",
    .write = mistral_write,
    .patch = mistral_patch,
    .path_text = "/chat/completions",
    .decoder_size = sizeof(struct openai_decoding),
    .decode = openai_decode,
    .decode_whole = openai_decode_whole,
    .whole_lasts = true,
    .decode_end = openai_decode_end,
    .again = openai_again,
    .read_error = openai_read_error,
};
