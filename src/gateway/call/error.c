/* error.c - reads a provider's error reply, and decides what of it the client gets.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "gateway/call/internal.h"

#define PLAIN_MAX 300 /* of an error that is not JSON */

/* Whether an error's body has the form of its dialect: then it may reach the client unchanged. */
static bool call_error_well_formed(enum chat_dialect dialect, const struct json *doc)
{
    const struct json_node *root = json_root(doc), *error = json_find(doc, root, STR("error"));
    const struct json_node *code = json_find(doc, error, STR("code"));
    const struct json_node *message = json_find(doc, error, STR("message"));

    if (dialect == CHAT_OLLAMA)
        return error && error->kind == JSON_STRING;
    if (!message || message->kind != JSON_STRING)
        return false;
    if (dialect == CHAT_GEMINI)
        return code && code->kind == JSON_NUMBER;
    return dialect != CHAT_ANTHROPIC ||
           json_is(doc, json_find(doc, root, STR("type")), STR("error"));
}

/* In these dialects a request that is too long gets status 400, whatever the provider sent. */
static bool call_error_is_openai(const struct call *c)
{
    return c->attempt.wire->dialect == CHAT_OPENAI || c->attempt.wire->dialect == CHAT_RESPONSES;
}

/* The provider's body, with the code of a request that is too long added if it is missing: OpenAI's
 * clients recognise such an error by the code, which many hosts omit. */
static str call_error_body(struct call *c, const struct json *doc, const struct chat_error *error)
{
    const struct json_node *inner = json_find(doc, json_root(doc), STR("error"));
    struct json_edits edits;
    struct buf out;

    if (!call_error_is_openai(c) || !wire_error_is_context(error) ||
        json_is(doc, json_find(doc, inner, STR("code")), STR(WIRE_CONTEXT_CODE)))
        return arena_dup(&c->arena, doc->src);
    json_edits_init(&edits, doc, &c->arena);
    assert(inner);
    json_edit_set_text(&edits, inner, STR("code"), STR(WIRE_CONTEXT_CODE));
    buf_init(&out, 2 * CALL_ERROR_MAX);
    json_edits_apply(&edits, &out);
    return arena_move_buf(&c->arena, &out);
}

/* Whether an event of a stream is an error that readers of its dialect recognize. */
static bool call_error_event_well_formed(const struct call *c, const struct json *doc)
{
    const struct json_node *root = json_root(doc), *type = json_find(doc, root, STR("type"));
    const struct json_node *message = json_find(doc, root, STR("message"));
    const struct json_node *error = json_find(doc, root, STR("error"));
    const struct json_node *response = json_find(doc, root, STR("response"));

    assert(c->failure);
    if (call_error_is_openai(c) && wire_error_is_context(&c->failure->error) &&
        !json_is(doc, json_find(doc, error, STR("code")), STR(WIRE_CONTEXT_CODE)))
        return false; /* clients know it by this code */
    if (c->attempt.wire->dialect != CHAT_RESPONSES)
        return call_error_well_formed(c->attempt.wire->dialect, doc);
    if (c->pipe.ever_touched)
        return false;
    if (json_is(doc, type, STR("response.failed"))) /* it may repeat the output so far */
        return !c->client.hides || !json_count(doc, json_find(doc, response, STR("output")));
    return json_is(doc, type, STR("error")) && message && message->kind == JSON_STRING;
}

/* An error that begins a reply with status 200 is the body of the error reply, if clients of its
 * dialect can read it there. Empty otherwise, also if it has a part of a reply. */
static str call_error_event_body(struct call *c, const struct json *doc)
{
    static const char *const parts[] = {"choices", "candidates", "output", "message", "content"};
    enum chat_dialect dialect = c->attempt.wire->dialect;

    if (dialect != c->in.wire->dialect || c->client.received != CALL_RECEIVED_NOTHING ||
        (dialect == CHAT_RESPONSES && c->frames.kind != FRAMES_WHOLE) ||
        doc->src.n > CALL_ERROR_MAX || !call_error_well_formed(dialect, doc))
        return STR("");
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (json_find(doc, json_root(doc), str_c(parts[i])))
            return STR("");
    return call_error_body(c, doc, &c->failure->error);
}

void call_error_keep(struct call *c, const struct wire_frame *f)
{
    struct chat_error *error = &c->failure->error;
    struct json doc;
    struct err e;

    assert(call_is_reading(c) && c->reply.error_seen);
    if (!f)
        return;
    if (json_open(&doc, f->data, &e)) {
        if (c->attempt.relays && !c->pipe.touched && c->frames.kind != FRAMES_WHOLE &&
            call_error_event_well_formed(c, &doc))
            error->frame = arena_dup(&c->arena, f->raw);
        error->raw = call_error_event_body(c, &doc);
    }
    json_release(&doc);
}

void call_own_error(struct call *c, struct chat_error *error)
{
    str *const texts[] = {&error->message, &error->type, &error->code, &error->param};

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        *texts[i] = arena_dup(&c->arena, *texts[i]);
}

static void call_error_read(struct call *c, struct chat_error *error)
{
    bool same = c->attempt.wire->dialect == c->in.wire->dialect, long_input;
    struct json doc;
    struct err e;

    assert(c->failure && c->attempt.wire);
    if (json_open(&doc, buf_str(&c->failure->body), &e)) {
        c->attempt.wire->read_error(&doc, &c->arena, error);
        error->raw = STR("");
        if (!error->message.n) /* of something before it, which speaks as most do */
            wire_get(CHAT_OPENAI)->read_error(&doc, &c->arena, error);
        call_own_error(c, error);
        wire_error_classify(error);
        long_input = wire_error_is_context(error) && call_error_is_openai(c);
        if (same && c->failure->status >= 400 && c->failure->status < 500 && !long_input)
            error->status = c->failure->status;
        if (same && error->message.n &&
            (error->status == c->failure->status || (long_input && c->failure->status == 413)) &&
            call_error_well_formed(c->attempt.wire->dialect, &doc))
            error->raw = call_error_body(c, &doc, error);
    }
    json_release(&doc);
}

/* A line of plain text, as proxies say it. */
static str call_error_plain(const struct call *c)
{
    str text = str_trim(buf_str(&c->failure->body));

    if (!text.n || text.n > PLAIN_MAX || strchr("<[{", *text.p) || !utf8_valid(text))
        return STR("");
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ')
            return STR("");
    return text;
}

void call_error_bytes(struct call *c, str bytes)
{
    assert(c->state == CALL_REFUSED && c->failure);
    buf_add(&c->failure->body, bytes);
}

void call_error_reply(struct call *c)
{
    struct chat_error error = {.status = c->failure->status,
                               .type = STR(""),
                               .message = STR(""),
                               .code = STR(""),
                               .param = STR(""),
                               .retry_after_ms = c->failure->wait_ms,
                               .no_retry = c->failure->no_retry,
                               .raw = STR("")};

    assert(c->state == CALL_REFUSED);
    if (error.status < 400 || error.status > 599)
        error.status = 502;
    call_error_read(c, &error);
    if (!error.message.n) {
        str words = call_error_plain(c);

        error.message =
            arena_printf(&c->arena,
                         "the provider \"" STR_FMT "\" answered with status %d%s" STR_FMT,
                         STR_ARG(call_provider(c)->name),
                         c->failure->status,
                         words.n ? ": " : "",
                         STR_ARG(words));
    }
    call_fail_attempt(c, &error);
}
