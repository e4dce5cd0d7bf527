/* ollama.c - the row of the Ollama dialect, its errors, and its replies as chat events.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/ollama/ollama.h"

#define THOUGHT_SIZE_MAX ((size_t)1 << 20)

/* ---- errors ---- */

void ollama_read_error(const struct json *doc, struct arena *a, struct chat_error *out)
{
    const struct json_node *v = json_find(doc, json_root(doc), STR("error"));
    int64_t status;
    str text;

    if (json_is_object(v)) /* as its OpenAI side says it */
        v = json_find(doc, v, STR("message"));
    if (json_text(doc, v, a, &text) && text.n)
        out->message = text;
    v = json_find(doc, json_root(doc), STR("status_code"));
    if (!v)
        v = json_find(doc, json_root(doc), STR("StatusCode"));
    if (json_i64(doc, v, &status) && status >= 400 && status < 600)
        out->status = (int)status;
    out->raw = doc->src;
}

void ollama_write_error(const struct chat_error *error, struct buf *out)
{
    json_print(out, "{'error':%q}", error->message);
}

/* ---- replies ---- */

static bool ollama_block_new(struct wire_decoder *d, uint32_t *out)
{
    assert(d->blocks <= WIRE_BLOCKS_MAX);
    if (d->blocks >= WIRE_BLOCKS_MAX) {
        wire_emit_error(d, "upstream_error", "the reply has too many content blocks");
        return false;
    }
    *out = d->blocks++;
    return true;
}

static void ollama_keep(struct wire_decoder *d, str call_id)
{
    const struct ollama_decoder *s = d->state;

    assert(call_id.n > 0); /* CHAT_KEEP needs it */
    if (s->thought.n && !s->thought.full)
        wire_emit(d,
                  &(struct chat_event){.kind = CHAT_KEEP,
                                       .text = arena_text_str(&s->thought),
                                       .id = call_id,
                                       .name = STR(OLLAMA_KEEP)});
}

static void ollama_piece(struct wire_decoder *d, const struct json *doc,
                         const struct json_node *node, enum chat_event_kind kind)
{
    struct ollama_decoder *s = d->state;
    str text;

    if (!json_to_text(doc, node, &d->scratch, &text) || !text.n)
        return;
    if (s->kind != 1 + (int)kind) {
        if (!ollama_block_new(d, &s->block))
            return;
        s->kind = 1 + (int)kind;
    }
    assert(s->block < d->blocks);
    if (kind == CHAT_REASONING)
        arena_text_add_max(&s->thought, d->arena, text, THOUGHT_SIZE_MAX);
    wire_emit(d,
              &(struct chat_event){.kind = kind,
                                   .block = s->block,
                                   .text = text,
                                   .node = node->kind == JSON_STRING ? node : NULL});
}

static void ollama_decode_call(struct wire_decoder *d, const struct json *doc,
                               const struct json_node *v)
{
    struct ollama_decoder *s = d->state;
    const struct json_node *f = json_find(doc, v, STR("function"));
    const struct json_node *arguments = json_find(doc, f, STR("arguments"));
    str id = json_get_as_text(doc, v, "id", &d->scratch), text;
    str name = json_get_as_text(doc, f, "name", &d->scratch);

    if (!name.n) /* nobody could run it */
        return;
    s->kind = 0;
    if (!ollama_block_new(d, &s->block))
        return;
    if (!id.n)
        id = wire_call_id(d, s->calls);
    ollama_keep(d, id);
    arena_text_reset(&s->thought);
    s->calls++;
    wire_emit(d,
              &(struct chat_event){.kind = CHAT_CALL, .block = s->block, .id = id, .name = name});
    if (json_is_object(arguments))
        text = json_raw(doc, arguments);
    else if (!json_text(doc, arguments, &d->scratch, &text) || !text.n)
        text = STR("{}");
    wire_emit(d, &(struct chat_event){.kind = CHAT_ARGUMENTS, .block = s->block, .text = text});
}

static void ollama_message(struct wire_decoder *d, const struct json *doc,
                           const struct json_node *root)
{
    const struct json_node *m = json_find(doc, root, STR("message"));
    const struct json_node *calls = json_find(doc, m ? m : root, STR("tool_calls"));

    if (json_is_object(m)) {
        ollama_piece(d, doc, json_find(doc, m, STR("thinking")), CHAT_REASONING);
        ollama_piece(d, doc, json_find(doc, m, STR("content")), CHAT_TEXT);
    } else {
        ollama_piece(d, doc, json_find(doc, root, STR("thinking")), CHAT_REASONING);
        ollama_piece(d, doc, json_find(doc, root, STR("response")), CHAT_TEXT);
    }
    JSON_FOREACH_ITEM(v, doc, calls)
        if (!d->deaf)
            ollama_decode_call(d, doc, v);
}

/* Log-probabilities, in Chat's form: the tokens are the same. */
static void ollama_tokens(struct wire_decoder *d, str list)
{
    wire_emit(d,
              &(struct chat_event){.kind = CHAT_EXTRA,
                                   .name = STR("choice.logprobs"),
                                   .text = json_format(&d->scratch, "{'content':%j}", list)});
}

static void ollama_extras(struct wire_decoder *d, const struct json *doc,
                          const struct json_node *root)
{
    static const str said[] = {STR_INIT("model"),
                               STR_INIT("created_at"),
                               STR_INIT("message"),
                               STR_INIT("response"),
                               STR_INIT("thinking"),
                               STR_INIT("tool_calls"),
                               STR_INIT("done"),
                               STR_INIT("done_reason"),
                               STR_INIT("prompt_eval_count"),
                               STR_INIT("eval_count")};

    JSON_FOREACH(k, doc, root) {
        bool known = json_value(k)->kind == JSON_NULL;
        str name;

        for (size_t i = 0; i < COUNT_OF(said) && !known; i++)
            known = json_is(doc, k, said[i]);
        if (!known && !d->relays && json_is(doc, k, STR("logprobs")))
            ollama_tokens(d, json_raw(doc, json_value(k)));
        else if (!known && json_text(doc, k, &d->scratch, &name))
            wire_emit(d,
                      &(struct chat_event){
                          .kind = CHAT_EXTRA, .name = name, .text = json_raw(doc, json_value(k))});
    }
}

static void ollama_finish(struct wire_decoder *d, const struct json *doc,
                          const struct json_node *root)
{
    const struct ollama_decoder *s = d->state;
    struct chat_usage usage = chat_usage_none;
    enum chat_stop stop = s->calls ? CHAT_STOP_TOOL : CHAT_STOP_END;
    str reason = json_get_text(doc, root, "done_reason", &d->scratch);

    assert(!d->stopped && !d->ended);
    usage.input = json_get_count(doc, root, "prompt_eval_count");
    usage.output = json_get_count(doc, root, "eval_count");
    if (usage.input >= 0 || usage.output >= 0)
        wire_emit(d, &(struct chat_event){.kind = CHAT_USAGE, .usage = &usage});
    if (str_eq(reason, STR("length")))
        stop = CHAT_STOP_LENGTH;
    else if (reason.n && !str_eq(reason, STR("stop")) && !s->calls)
        stop = CHAT_STOP_OTHER; /* load, unload */
    wire_emit(d, &(struct chat_event){.kind = CHAT_STOP, .stop = stop, .name = reason});
    wire_emit(d, &(struct chat_event){.kind = CHAT_END});
}

/* The reply to a request that only loads a model says nothing but `done`. */
static bool ollama_is_reply(const struct json *doc, const struct json_node *root)
{
    JSON_FOREACH(k, doc, root)
        if (json_is_one_of(doc, k, "response thinking tool_calls done"))
            return true;
    return json_is_object(json_find(doc, root, STR("message")));
}

static void ollama_line(struct wire_decoder *d, const struct wire_frame *f, bool whole)
{
    const struct json_node *root = json_root(f->doc);
    const struct json_node *error = json_find(f->doc, root, STR("error"));

    if (json_has_content(f->doc, error)) {
        struct chat_error e = wire_error(500, "api_error", "the provider says that it failed");

        ollama_read_error(f->doc, &d->scratch, &e);
        wire_emit(d, &(struct chat_event){.kind = CHAT_ERROR, .error = &e});
        return;
    }
    if (root->kind != JSON_OBJECT) {
        wire_emit_error(d, "upstream_error", "the reply is not a JSON object");
        return;
    }
    if (whole && !ollama_is_reply(f->doc, root)) {
        wire_emit_error(
            d, "upstream_error", "the provider's reply has neither a message nor a response");
        return;
    }
    if (!d->started)
        wire_emit(d,
                  &(struct chat_event){.kind = CHAT_START,
                                       .name = json_get_text(f->doc, root, "model", &d->scratch)});
    ollama_message(d, f->doc, root);
    ollama_extras(d, f->doc, root);
    if (whole || json_to_bool(f->doc, json_find(f->doc, root, STR("done"))))
        ollama_finish(d, f->doc, root);
}

void ollama_decode(struct wire_decoder *d, const struct wire_frame *f)
{
    ollama_line(d, f, false);
}

void ollama_decode_whole(struct wire_decoder *d, const struct wire_frame *f)
{
    ollama_line(d, f, true);
}

#define OLLAMA_ROW                                                                                 \
    .dialect = CHAT_OLLAMA, .name = "ollama", .in_turn = true, .one_thought = true,                \
    .stream_framing = WIRE_NDJSON, .whole_type = "application/json; charset=utf-8",                \
    .stream_type = "application/x-ndjson", .write = ollama_write, .patch = ollama_patch,           \
    .decoder_size = sizeof(struct ollama_decoder), .encoder_size = sizeof(struct ollama_encoder),  \
    .decode = ollama_decode, .decode_whole = ollama_decode_whole, .encode = ollama_encode,         \
    .relay = ollama_relay, .ping = ollama_ping, .note = ollama_note,                               \
    .write_error = ollama_write_error, .read_error = ollama_read_error

const struct wire wire_ollama = {OLLAMA_ROW, .read = ollama_read, .path_text = "/api/chat"};
const struct wire wire_ollama_prompt = {
    OLLAMA_ROW, .read = ollama_read_prompt, .path_text = "/api/generate"};
