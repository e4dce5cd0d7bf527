/* responses.c - the row of the Responses dialect, and its errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/responses.h"

#include "wire/openai/openai.h"

#include "wire/responses/decode_items.h"
#include "wire/responses/encode.h"

/* ---- errors ---- */

int responses_error_status(str code)
{
    static const struct {
        str code;
        int status;
    } rows[] = {
        {STR_INIT("server_error"), 500},
        {STR_INIT("internal_error"), 500},
        {STR_INIT("rate_limit_exceeded"), 429},
        {STR_INIT("rate_limit_error"), 429},
        {STR_INIT("insufficient_quota"), 429},
        {STR_INIT("tokens"), 429},
        {STR_INIT("requests"), 429},
        {STR_INIT("context_length_exceeded"), 400},
        {STR_INIT("string_above_max_length"), 400},
        {STR_INIT("content_policy_violation"), 400},
        {STR_INIT("content_filter"), 400},
        {STR_INIT("cyber_policy"), 400},
        {STR_INIT("bio_policy"), 400},
        {STR_INIT("unsupported_image_media_type"), 400},
        {STR_INIT("empty_image_file"), 400},
        {STR_INIT("failed_to_download_image"), 400},
        {STR_INIT("unsupported_parameter"), 400},
        {STR_INIT("unsupported_value"), 400},
        {STR_INIT("unknown_parameter"), 400},
        {STR_INIT("missing_required_parameter"), 400},
        {STR_INIT("authentication_error"), 401},
        {STR_INIT("invalid_api_key"), 401},
        {STR_INIT("permission_error"), 403},
        {STR_INIT("model_not_found"), 404},
        {STR_INIT("not_found_error"), 404},
        {STR_INIT("previous_response_not_found"), 404},
        {STR_INIT("image_file_not_found"), 404},
        {STR_INIT("overloaded_error"), 503},
        {STR_INIT("server_is_overloaded"), 503},
        {STR_INIT("slow_down"), 503},
        {STR_INIT("vector_store_timeout"), 504},
        {STR_INIT("timeout"), 504},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq(rows[i].code, code))
            return rows[i].status;
    if (str_starts(code, STR("invalid_")) || str_starts(code, STR("image_")))
        return 400;
    return 502;
}

void responses_error_members(const struct json *doc, const struct json_node *v, struct arena *a,
                             struct chat_error *out)
{
    str text;

    if (json_text(doc, v, a, &text)) {
        out->message = text;
        return;
    }
    json_get_into(doc, v, "message", a, &out->message);
    json_get_into(doc, v, "type", a, &out->type);
    json_get_into(doc, v, "code", a, &out->code);
    json_get_into(doc, v, "param", a, &out->param);
}

void responses_read_error(const struct json *doc, struct arena *a, struct chat_error *out)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *inner = json_find(doc, root, STR("error"));
    const struct json_node *response = json_find(doc, root, STR("response"));

    if (!inner || inner->kind == JSON_NULL)
        inner = json_find(doc, response, STR("error"));
    if (!inner || inner->kind == JSON_NULL)
        inner = json_find(doc, root, STR("detail")); /* as some self-hosted servers say it */
    responses_error_members(doc, inner ? inner : root, a, out);
    out->raw = doc->src;
}

void responses_write_error(const struct chat_error *error, struct buf *out)
{
    openai_write_error(error, out); /* the same body on both of its routes */
}

const struct wire wire_responses = {
    .dialect = CHAT_RESPONSES,
    .name = "responses",
    .in_turn = true,
    .stream_framing = WIRE_SSE,
    .whole_type = "application/json",
    .stream_type = "text/event-stream",
    .read = responses_read,
    .write = responses_write,
    .patch = responses_patch,
    .path_text = "/responses",
    .decoder_size = sizeof(struct responses_decoder),
    .encoder_size = sizeof(struct responses_encoder),
    .decode = responses_decode,
    .decode_whole = responses_decode_whole,
    .encode = responses_encode,
    .relay = responses_relay,
    .write_error = responses_write_error,
    .read_error = responses_read_error,
};
