/* openai.c - OpenAI's Chat Completions, as its clients and two dozen hosts speak it: the row, and
 * its errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

#include "base/ctype.h"
#include "wire/openai/encode.h"

/* ---- errors out ---- */

static const struct {
    int from, to;
    const char *type, *code;
} kinds[] = {
    {400, 400, "invalid_request_error", ""},
    {401, 401, "authentication_error", "invalid_api_key"},
    {402, 402, "insufficient_quota", "insufficient_quota"},
    {403, 403, "permission_error", ""},
    {404, 404, "not_found_error", "model_not_found"},
    {429, 429, "rate_limit_error", "rate_limit_exceeded"},
    {408, 408, "timeout_error", ""},
    {413, 413, "invalid_request_error", "request_too_large"},
    {405, 499, "invalid_request_error", ""},
    {504, 504, "timeout_error", ""},
    {500, 599, "server_error", ""},
};

static const char *openai_kind_of(int status, bool code)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (status >= kinds[i].from && status <= kinds[i].to)
            return code ? kinds[i].code : kinds[i].type;
    return code ? "" : "api_error";
}

/* Types and codes are written small; others (Google's RESOURCE_EXHAUSTED, an HTTP status) are
 * nothing its clients know. */
static bool openai_is_word(str word)
{
    uint64_t status;

    return word.n && !char_is_upper(word.p[0]) && !(str_u64(word, &status) && status < 600);
}

/* Types of hosts stay unchanged; Anthropic's are replaced by the type of the status. */
str openai_error_type(const struct chat_error *error)
{
    bool known =
        openai_is_word(error->type) &&
        !str_is_one_of(error->type, "api_error overloaded_error billing_error request_too_large");

    return known ? error->type : str_c(openai_kind_of(error->status, false));
}

str openai_error_code(const struct chat_error *error)
{
    return openai_is_word(error->code) ? error->code : str_c(openai_kind_of(error->status, true));
}

void openai_write_error(const struct chat_error *error, struct buf *out)
{
    struct json_out o;

    json_out_init_object(&o, out);
    json_member_object(&o, "error");
    json_member_str(&o, "message", error->message.n ? error->message : STR("the request failed"));
    json_member_str(&o, "type", openai_error_type(error));
    json_member_str_or_null(&o, "param", error->param);
    json_member_str_or_null(&o, "code", openai_error_code(error));
    json_out_close(&o, 2);
    assert(o.depth == 0);
}

/* ---- errors in ---- */

static void openai_take_status(const struct json *doc, const struct json_node *v,
                               struct chat_error *out)
{
    static const char *const members[] = {
        "status_code", "status", "code", "http_status", "statusCode"};

    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const struct json_node *m = json_get(doc, v, members[i]);
        int64_t status;
        uint64_t number;
        bool given = json_i64(doc, m, &status);

        if (!given && m && m->kind == JSON_STRING && m->size == 5 &&
            str_u64(str_slice(json_raw(doc, m), 1, 4), &number)) {
            status = (int64_t)number;
            given = true;
        }
        if (given && status >= 400 && status <= 599) {
            out->status = (int)status;
            return;
        }
    }
}

/* FastAPI's {"detail": "..."} or {"detail": [{"loc": [...], "msg": "..."}]}. */
static void openai_take_detail(const struct json *doc, const struct json_node *v, struct arena *a,
                               struct chat_error *out)
{
    const struct json_node *first = json_is_array(v) ? json_first(doc, v) : v;
    const struct json_node *loc = json_find(doc, first, STR("loc"));
    str text = STR("");

    if (json_text(doc, first, a, &text)) {
        out->message = text;
        return;
    }
    json_get_into(doc, first, "msg", a, &out->message);
    json_get_into(doc, first, "message", a, &out->message);
    json_get_into(doc, first, "type", a, &out->type);
    JSON_FOREACH(p, doc, loc)
        out->param = out->param.n
                         ? arena_printf(a,
                                        STR_FMT "." STR_FMT,
                                        STR_ARG(out->param),
                                        STR_ARG(str_slice(json_raw(doc, p),
                                                          p->kind == JSON_STRING,
                                                          p->size - (p->kind == JSON_STRING))))
                         : str_slice(json_raw(doc, p),
                                     p->kind == JSON_STRING,
                                     p->size - (p->kind == JSON_STRING));
}

static void openai_take_members(const struct json *doc, const struct json_node *v, struct arena *a,
                                struct chat_error *out)
{
    const struct json_node *message = json_get(doc, v, "message");

    if (json_is_object(message)) /* Mistral's {"message": {"detail": [...]}} */
        openai_take_detail(doc, json_get(doc, message, "detail"), a, out);
    openai_take_detail(doc, json_get(doc, v, "detail"), a, out);
    openai_take_detail(doc, json_get(doc, v, "errors"), a, out);
    json_get_into(doc, v, "msg", a, &out->message);
    json_get_into(doc, v, "message", a, &out->message);
    json_get_into(doc, v, "type", a, &out->type);
    json_get_into(doc, v, "code", a, &out->code);
    json_get_into(doc, v, "param", a, &out->param);
    openai_take_status(doc, v, out);
}

/* The member `error` of v: a text or an object. */
static void openai_take_error(const struct json *doc, const struct json_node *v, struct arena *a,
                              struct chat_error *out)
{
    const struct json_node *error = json_get(doc, v, "error"), *raw;

    json_get_into(doc, v, "error", a, &out->message);
    if (!json_is_object(error))
        return;
    openai_take_members(doc, error, a, out);
    /* OpenRouter: the text of the actual provider is more useful. */
    raw = json_find(doc, json_find(doc, error, STR("metadata")), STR("raw"));
    if (raw && raw->kind == JSON_STRING && raw->size > 2)
        out->message = arena_printf(
            a,
            STR_FMT ": " STR_FMT,
            STR_ARG(out->message),
            STR_ARG(json_get_text(doc, json_find(doc, error, STR("metadata")), "raw", a)));
}

void openai_read_error(const struct json *doc, struct arena *a, struct chat_error *out)
{
    const struct json_node *root = json_root(doc);

    if (json_is_array(root)) /* Google's endpoint puts it into a list */
        root = json_first(doc, root);
    if (!root)
        return;
    if (json_is_object(json_get(doc, root, "error"))) {
        openai_take_status(doc, root, out);
        openai_take_error(doc, root, a, out);
    } else {
        openai_take_error(doc, root, a, out);
        openai_take_members(doc, root, a, out);
    }
}

static bool openai_is_code(size_t i, str word)
{
    return kinds[i].code[0] && str_eq(word, str_c(kinds[i].code));
}

/* The status by the error's words, if there is no other: the code is more precise than the type,
 * but hosts also swap the two. */
static int openai_status_of(const struct chat_error *error)
{
    str word = error->type.n ? error->type : error->code;

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (openai_is_code(i, error->code))
            return kinds[i].from;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (kinds[i].from == kinds[i].to &&
            (str_eq(word, str_c(kinds[i].type)) || openai_is_code(i, word)))
            return kinds[i].from;
    return 502;
}

void openai_emit_error(struct wire_decoder *d, const struct json *doc, const char *otherwise)
{
    struct chat_event ev = openai_event(d, NULL, CHAT_ERROR);
    struct chat_error error = wire_error(0, "", "");

    openai_read_error(doc, &d->scratch, &error);
    if (error.message.n)
        error.raw = doc->src;
    else
        error.message = str_c(otherwise);
    if (error.status == 0)
        error.status = openai_status_of(&error);
    if (error.type.n == 0)
        error.type =
            error.raw.n ? str_c(openai_kind_of(error.status, false)) : STR("upstream_error");
    ev.error = &error;
    wire_emit(d, &ev);
}

void openai_emit_choice_error(struct wire_decoder *d, const struct json_node *choice)
{
    struct chat_error error = wire_error(0, "upstream_error", "");
    struct chat_event ev = openai_event(d, NULL, CHAT_ERROR);

    assert(json_is_object(choice));
    openai_take_error(&d->doc, choice, &d->scratch, &error); /* OpenRouter has one there */
    if (!error.message.n)
        error.message = arena_printf(
            &d->scratch,
            "the provider failed in the middle of its reply (finish_reason: " STR_FMT ")",
            STR_ARG(json_get_text(&d->doc, choice, "finish_reason", &d->scratch)));
    if (error.status == 0)
        error.status = openai_status_of(&error);
    ev.error = &error;
    wire_emit(d, &ev);
}

/* ---- the row ---- */

const struct wire wire_openai = {
    .dialect = CHAT_OPENAI,
    .name = "openai",
    .in_turn = true,
    .one_thought = true,
    .one_call = true,
    .stream_framing = WIRE_SSE,
    .whole_type = "application/json",
    .stream_type = "text/event-stream",
    .read = openai_read,
    .write = openai_write,
    .patch = openai_patch,
    .path_text = "/chat/completions",
    .decoder_size = sizeof(struct openai_decoding),
    .encoder_size = sizeof(struct openai_encoding),
    .decode = openai_decode,
    .decode_whole = openai_decode_whole,
    .whole_lasts = true,
    .decode_end = openai_decode_end,
    .again = openai_again,
    .encode = openai_encode,
    .relay = openai_relay,
    .write_error = openai_write_error,
    .read_error = openai_read_error,
};
