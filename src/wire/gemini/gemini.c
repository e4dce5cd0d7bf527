/* gemini.c - the Gemini dialect: its row, its spellings, its stop reasons and its errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/gemini/gemini.h"

#include "base/ctype.h"

#define KEY_SIZE_MAX 64

/* camelCase to snake_case; false if there is no other spelling. */
static bool gemini_snake(const char *camel, char out[KEY_SIZE_MAX])
{
    size_t n = 0;
    bool other = false;

    for (; *camel && n + 2 < KEY_SIZE_MAX; camel++) {
        if (!char_is_upper(*camel)) {
            out[n++] = *camel;
            continue;
        }
        out[n++] = '_';
        out[n++] = char_to_lower(*camel);
        other = true;
    }
    assert(n < KEY_SIZE_MAX);
    out[n] = '\0';
    return other;
}

const struct json_node *gemini_find(const struct json *doc, const struct json_node *v,
                                    const char *camel)
{
    const struct json_node *found;
    char other[KEY_SIZE_MAX];

    if (!json_is_object(v))
        return NULL;
    found = json_find(doc, v, str_c(camel));
    if (!found && gemini_snake(camel, other))
        found = json_find(doc, v, str_c(other));
    return found && found->kind != JSON_NULL ? found : NULL;
}

str gemini_key(const struct json *doc, const struct json_node *v, const char *camel,
               struct arena *a)
{
    char other[KEY_SIZE_MAX];

    if (!json_find(doc, v, str_c(camel)) && gemini_snake(camel, other) &&
        json_find(doc, v, str_c(other)))
        return arena_dup(a, str_c(other));
    return str_c(camel);
}

int64_t gemini_choice(const struct json *doc, const struct json_node *candidate, int64_t place,
                      bool only)
{
    int64_t index = json_get_count(doc, candidate, "index");

    assert(place >= 0);
    return only || index < 0 || index >= GEMINI_CHOICES_MAX ? place : index;
}

/* The first row of a kind is how we spell it. */
static const struct name_row stops[] = {
    {"STOP", CHAT_STOP_END},
    {"STOP", CHAT_STOP_TOOL},
    {"STOP", CHAT_STOP_SEQUENCE},
    {"MAX_TOKENS", CHAT_STOP_LENGTH},
    {"CONTINUATION", CHAT_STOP_LENGTH},
    {"SAFETY", CHAT_STOP_REFUSED},
    {"RECITATION", CHAT_STOP_REFUSED},
    {"BLOCKLIST", CHAT_STOP_REFUSED},
    {"PROHIBITED_CONTENT", CHAT_STOP_REFUSED},
    {"SPII", CHAT_STOP_REFUSED},
    {"LANGUAGE", CHAT_STOP_REFUSED},
    {"MODEL_ARMOR", CHAT_STOP_REFUSED},
    {"IMAGE_SAFETY", CHAT_STOP_REFUSED},
    {"IMAGE_PROHIBITED_CONTENT", CHAT_STOP_REFUSED},
    {"IMAGE_RECITATION", CHAT_STOP_REFUSED},
    {"OTHER", CHAT_STOP_OTHER},
    {"MALFORMED_FUNCTION_CALL", CHAT_STOP_FAILED},
    {"UNEXPECTED_TOOL_CALL", CHAT_STOP_FAILED},
    {"TOO_MANY_TOOL_CALLS", CHAT_STOP_FAILED},
    {"MISSING_THOUGHT_SIGNATURE", CHAT_STOP_FAILED},
    {"MALFORMED_RESPONSE", CHAT_STOP_FAILED},
    {"NO_IMAGE", CHAT_STOP_OTHER},
    {"IMAGE_OTHER", CHAT_STOP_OTHER},
    {"OTHER", CHAT_STOP_PAUSE},
};

enum chat_stop gemini_stop_of(str name)
{
    return (enum chat_stop)name_table_number(stops, COUNT_OF(stops), name, CHAT_STOP_OTHER);
}

str gemini_stop_name(enum chat_stop stop, str name)
{
    const char *word = name_table_name(stops, COUNT_OF(stops), (int)stop, name);

    return str_c(word ? word : "OTHER");
}

/* ---- errors ---- */

static const struct name_row errors[] = {
    {"INVALID_ARGUMENT", 400},
    {"FAILED_PRECONDITION", 400},
    {"UNAUTHENTICATED", 401},
    {"PERMISSION_DENIED", 403},
    {"NOT_FOUND", 404},
    {"DEADLINE_EXCEEDED", 408},
    {"ABORTED", 409},
    {"INVALID_ARGUMENT", 413}, /* as it says of a body that is too large */
    {"INVALID_ARGUMENT", 422},
    {"RESOURCE_EXHAUSTED", 429},
    {"CANCELLED", 499},
    {"INTERNAL", 500},
    {"UNIMPLEMENTED", 501},
    {"UNAVAILABLE", 502},
    {"UNAVAILABLE", 503},
    {"DEADLINE_EXCEEDED", 504},
    {"UNAVAILABLE", 529},
};

static const char *gemini_status_name(const struct chat_error *error)
{
    const char *name = name_table_name(errors, COUNT_OF(errors), error->status, error->type);

    if (name)
        return name;
    return error->status >= 400 && error->status < 500 ? "FAILED_PRECONDITION" : "INTERNAL";
}

/* A request that is too long is known by the wording alone: its status is that of any other. */
static void gemini_put_error_message(struct json_out *o, const struct chat_error *error)
{
    static const char begins[] = "The input token count";
    uint64_t used, max;
    struct buf text;

    if (!wire_error_is_context(error) || str_starts(error->message, str_c(begins))) {
        json_member_str(o, "message", error->message);
        return;
    }
    buf_init(&text, error->message.n + 128);
    if (wire_error_tokens(error, &used, &max))
        buf_printf(&text,
                   "%s (%llu) exceeds the maximum number of tokens allowed (%llu).",
                   begins,
                   (unsigned long long)used,
                   (unsigned long long)max);
    else
        buf_printf(&text,
                   "%s exceeds the maximum number of tokens allowed: " STR_FMT,
                   begins,
                   STR_ARG(error->message));
    assert(!buf_full(&text));
    json_member_str(o, "message", buf_str(&text));
    buf_release(&text);
}

void gemini_write_error(const struct chat_error *error, struct buf *out)
{
    struct json_out o;

    json_out_init_object(&o, out);
    json_member_object(&o, "error");
    json_member_i64(&o, "code", error->status > 0 ? error->status : 500);
    gemini_put_error_message(&o, error);
    json_write_text(&o, "status", str_c(gemini_status_name(error)));
    json_out_close(&o, 2);
    assert(o.depth == 0);
}

/* "32.5s" in milliseconds; -1 if invalid. */
static int64_t gemini_delay_ms(str text)
{
    size_t dot = str_find(text, STR("."));
    uint64_t s, ms = 0;

    if (!str_ends(text, STR("s")))
        return -1;
    text = str_slice(text, 0, text.n - 1);
    if (!str_u64(str_slice(text, 0, dot == STR_NONE ? text.n : dot), &s) || s > 86400)
        return -1;
    if (dot != STR_NONE && text.n > dot + 1) {
        str digits = str_slice(text, dot + 1, dot + 4);

        if (!str_u64(digits, &ms))
            return -1;
        for (size_t n = digits.n; n < 3; n++)
            ms *= 10;
    }
    assert(ms < 1000);
    return (int64_t)(s * 1000 + ms);
}

static void gemini_read_details(const struct json *doc, const struct json_node *details,
                                struct arena *a, struct chat_error *out)
{
    JSON_FOREACH_ITEM(d, doc, details) {
        int64_t ms = gemini_delay_ms(json_get_text(doc, d, "retryDelay", a));
        str reason = json_get_text(doc, d, "reason", a);

        if (ms >= 0)
            out->retry_after_ms = ms;
        if (reason.n)
            out->code = reason;
    }
}

void gemini_read_error_of(const struct json *doc, const struct json_node *v, struct arena *a,
                          struct chat_error *out)
{
    const struct json_node *error = json_find(doc, v, STR("error"));
    int64_t code;
    str text;

    if (!error)
        return;
    code = json_get_count(doc, error, "code");
    if (json_text(doc, json_find(doc, error, STR("status")), a, &text))
        out->type = text;
    if (json_text(doc, json_find(doc, error, STR("message")), a, &text) ||
        json_text(doc, error, a, &text))
        out->message = text;
    if (out->status <= 0)
        out->status = code >= 400 && code < 600 ? (int)code : 500;
    assert(out->status > 0);
    gemini_read_details(doc, json_find(doc, error, STR("details")), a, out);
    out->raw = json_raw(doc, v);
}

void gemini_read_error(const struct json *doc, struct arena *a, struct chat_error *out)
{
    const struct json_node *root = json_root(doc);

    gemini_read_error_of(doc, json_is_array(root) ? json_first(doc, root) : root, a, out);
}

static void gemini_path(str model, bool stream, struct buf *out)
{
    if (str_starts(model, STR("models/")))
        model = str_slice(model, 7, model.n);
    buf_add(out, STR("/v1beta/models/"));
    buf_add_percent(out, model, "@/");
    buf_add(out, stream ? STR(":streamGenerateContent?alt=sse") : STR(":generateContent"));
}

/* White space between the values of an array; an event without a line between events, as readers of
 * them take a comment for data, and Google's for Go takes one empty line for the next one's. */
static void gemini_ping(struct wire_encoder *en)
{
    struct gemini_encoder *s = en->state;

    assert(en->stream);
    buf_add(en->out, s->array ? STR("\n") : STR("\n\n"));
}

#define ROW(framing, type)                                                                         \
    {                                                                                              \
        .dialect = CHAT_GEMINI, .name = "gemini", .in_turn = true, .one_thought = true,            \
        .stream_framing = (framing), .whole_type = "application/json; charset=UTF-8",              \
        .stream_type = (type), .read = gemini_read, .write = gemini_write, .patch = gemini_patch,  \
        .path = gemini_path, .decoder_size = sizeof(struct gemini_decoder),                        \
        .encoder_size = sizeof(struct gemini_encoder), .decode = gemini_decode,                    \
        .decode_whole = gemini_decode_whole, .decode_end = gemini_decode_end,                      \
        .encode = gemini_encode, .relay = gemini_relay, .ping = gemini_ping, .note = gemini_note,  \
        .write_error = gemini_write_error, .read_error = gemini_read_error,                        \
    }

const struct wire wire_gemini = ROW(WIRE_SSE, "text/event-stream");

/* The same with a stream that is one JSON array, which allows nothing else, not even comments.
 */
static const struct wire as_array = ROW(WIRE_WHOLE, "application/json; charset=UTF-8");

void wire_gemini_array(struct wire_encoder *en)
{
    struct gemini_encoder *s = en->state;

    assert(en->wire == &wire_gemini);
    s->array = true;
    en->wire = &as_array;
}
