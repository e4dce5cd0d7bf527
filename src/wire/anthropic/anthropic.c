/* anthropic.c - the Anthropic Messages dialect: its row, its stop reasons and its errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"

/* The first row of a kind is how we spell it. */
static const struct name_row stops[] = {
    {"end_turn", CHAT_STOP_END},
    {"max_tokens", CHAT_STOP_LENGTH},
    {"model_context_window_exceeded", CHAT_STOP_LENGTH},
    {"tool_use", CHAT_STOP_TOOL},
    {"stop_sequence", CHAT_STOP_SEQUENCE},
    {"refusal", CHAT_STOP_REFUSED},
    {"pause_turn", CHAT_STOP_PAUSE},
    {"compaction", CHAT_STOP_PAUSE},
};

enum chat_stop anthropic_stop_of(str name)
{
    return (enum chat_stop)name_table_number(stops, COUNT_OF(stops), name, CHAT_STOP_OTHER);
}

str anthropic_stop_name(enum chat_stop stop, str name)
{
    const char *word = name_table_name(
        stops, COUNT_OF(stops), (int)stop, stop == CHAT_STOP_SEQUENCE ? STR("") : name);

    return word ? str_c(word) : STR("end_turn");
}

/* ---- errors ---- */

static const struct name_row errors[] = {
    {"invalid_request_error", 400},
    {"authentication_error", 401},
    {"billing_error", 402},
    {"permission_error", 403},
    {"not_found_error", 404},
    {"request_too_large", 413},
    {"rate_limit_error", 429},
    {"api_error", 500},
    {"timeout_error", 504},
    {"timeout_error", 408},
    {"overloaded_error", 529},
    {"overloaded_error", 503},
};

/* Clients switch on the type, so it is one of theirs. The status decides: other dialects have words
 * that are spelt alike and mean something else (OpenAI's 401 is an invalid_request_error). */
static const char *anthropic_error_type(const struct chat_error *error)
{
    const char *type = name_table_name(errors, COUNT_OF(errors), error->status, error->type);

    if (type)
        return type;
    return error->status >= 400 && error->status < 500 ? "invalid_request_error" : "api_error";
}

/* Clients know a request that is too long by how the message begins, and read the numbers. */
static void anthropic_put_error_message(struct json_out *o, const struct chat_error *error)
{
    static const str known[] = {STR_INIT("prompt is too long"), STR_INIT("input length and ")};
    uint64_t used, max;
    struct buf text;

    if (!wire_error_is_context(error) || str_starts(error->message, known[0]) ||
        str_starts(error->message, known[1])) {
        json_member_str(o, "message", error->message);
        return;
    }
    buf_init(&text, error->message.n + 128);
    buf_add(&text, known[0]);
    if (wire_error_tokens(error, &used, &max))
        buf_printf(&text,
                   ": %llu tokens > %llu maximum",
                   (unsigned long long)used,
                   (unsigned long long)max);
    else
        buf_printf(&text, ": " STR_FMT, STR_ARG(error->message));
    json_member_str(o, "message", buf_str(&text));
    buf_release(&text);
}

void anthropic_error_body(const struct chat_error *error, struct json_out *o)
{
    json_write_typed(o, anthropic_error_type(error));
    anthropic_put_error_message(o, error);
    if (str_starts(error->code, STR("thread_"))) {
        json_member_object(o, "details");
        json_member_str(o, "error_code", error->code);
        json_out_end(o);
    }
    json_out_end(o);
}

/* The provider's id of the request, if it sent one; otherwise ours. */
static void anthropic_put_request_id(const struct chat_error *error, struct json_out *o)
{
    const struct json_node *id = NULL;
    struct json doc;
    struct err e;

    json_init(&doc);
    if (error->raw.n && json_parse(&doc, error->raw, &e))
        id = json_find(&doc, json_root(&doc), STR("request_id"));
    if (id && id->kind == JSON_STRING)
        json_write_raw(o, "request_id", json_raw(&doc, id));
    else
        json_write_text(o, "request_id", error->id);
    json_release(&doc);
}

void anthropic_write_error(const struct chat_error *error, struct buf *out)
{
    struct json_out o;

    json_out_init(&o, out);
    json_write_typed(&o, "error");
    json_out_key(&o, STR("error"));
    anthropic_error_body(error, &o);
    anthropic_put_request_id(error, &o);
    json_out_end(&o);
    assert(o.depth == 0);
}

void anthropic_read_error(const struct json *doc, struct arena *a, struct chat_error *out)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *error = json_find(doc, root, STR("error"));
    str text;

    if (json_text(doc, json_find(doc, error, STR("type")), a, &text))
        out->type = text;
    if (json_text(doc, json_find(doc, error, STR("message")), a, &text))
        out->message = text;
    else if (json_text(doc, json_find(doc, root, STR("message")), a, &text) ||
             json_text(doc, error, a, &text))
        out->message = text;
    if (out->status <= 0)
        out->status = name_table_number(errors, COUNT_OF(errors), out->type, 500);
    if (error)
        out->raw = json_raw(doc, root);
}

const struct wire wire_anthropic = {
    .dialect = CHAT_ANTHROPIC,
    .name = "anthropic",
    .in_turn = true,
    .one_call = true,
    .stream_framing = WIRE_SSE,
    .whole_type = "application/json",
    .stream_type = "text/event-stream",
    .read = anthropic_read,
    .write = anthropic_write,
    .patch = anthropic_patch,
    .path_text = "/v1/messages",
    .decoder_size = sizeof(struct anthropic_decoder),
    .encoder_size = sizeof(struct anthropic_encoder),
    .decode = anthropic_decode,
    .decode_whole = anthropic_decode_whole,
    .whole_lasts = true,
    .decode_end = anthropic_decode_end,
    .encode = anthropic_encode,
    .relay = anthropic_relay,
    .write_error = anthropic_write_error,
    .read_error = anthropic_read_error,
};
