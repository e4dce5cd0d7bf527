/* cohere.c - replies of Cohere's v2 chat: read only.
 *
 * A stream is a sequence of typed events: message-start, content-start, content-delta, content-end,
 * tool-plan-delta, tool-call-start, tool-call-delta, tool-call-end, citation-start, citation-end,
 * message-end. The plan for its tools is reasoning; citations are EXTRA.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

static const struct json_node *cohere_find(struct wire_decoder *d, const struct json_node *v,
                                           const char *key)
{
    return json_get(&d->doc, v, key);
}

static void cohere_usage(struct wire_decoder *d, const struct json_node *v)
{
    struct openai_decoding *s = d->state;
    const struct json_node *tokens = cohere_find(d, v, "tokens");
    struct chat_usage now = chat_usage_none;

    if (!json_is_object(v))
        return;
    if (!tokens)
        tokens = cohere_find(d, v, "billed_units");
    now.raw = json_raw(&d->doc, v);
    now.input = json_to_count(&d->doc, cohere_find(d, tokens, "input_tokens"));
    now.output = json_to_count(&d->doc, cohere_find(d, tokens, "output_tokens"));
    now.reasoning = json_to_count(&d->doc, cohere_find(d, tokens, "reasoning_tokens"));
    now.cache_read = json_to_count(&d->doc, cohere_find(d, v, "cached_tokens"));
    openai_emit_usage(d, &s->usage, &s->usage_known, &now);
}

/* The text of an error in the middle of a reply is in `error`, if it has one. */
static bool cohere_failed(struct wire_decoder *d, const struct json_node *v, str reason)
{
    struct chat_error error =
        wire_error(502, "upstream_error", "the provider failed in the middle of its reply");
    str text = json_get_text(&d->doc, v, "error", &d->scratch);

    if (!text.n && !str_is_one_of(reason, "ERROR ERROR_LIMIT TIMEOUT"))
        return false;
    if (text.n)
        error.message = text;
    wire_emit(d, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
    return true;
}

static void cohere_stop(struct wire_decoder *d, struct openai_choice *c, str reason)
{
    struct chat_event ev = openai_event(d, c, CHAT_STOP);

    assert(!d->stopped || d->deaf);
    ev.name = reason;
    ev.stop = reason.n ? openai_stop(reason) : CHAT_STOP_END;
    if (ev.stop == CHAT_STOP_END && c->called)
        ev.stop = CHAT_STOP_TOOL;
    wire_emit(d, &ev);
}

/* finish_reason and usage are members of the reply, or of the last event's delta. */
static void cohere_ending(struct wire_decoder *d, const struct json_node *v)
{
    str name = json_get_text(&d->doc, v, "finish_reason", &d->scratch);
    struct openai_choice *c = openai_choice(d, NULL);

    if (!c)
        return;
    openai_emit_calls(d, c, NULL);
    cohere_usage(
        d, cohere_find(d, v, cohere_find(d, v, "usage") ? "usage" : "meta")); /* the older name */
    if (cohere_failed(d, v, name))
        return;
    cohere_stop(d, c, name);
    wire_emit(d, &(struct chat_event){.kind = CHAT_END});
}

static void cohere_start(struct wire_decoder *d, const struct json_node *root)
{
    struct openai_decoding *s = d->state;
    struct chat_event ev = openai_event(d, NULL, CHAT_START);

    if (d->started)
        return;
    ev.id = json_get_text(&d->doc, root, "id", &d->scratch);
    s->id = wire_keep(d, str_slice(ev.id, 0, 256));
    wire_emit(d, &ev);
}

static void cohere_citations(struct wire_decoder *d, struct openai_choice *c,
                             const struct json_node *v)
{
    struct chat_event ev = openai_event(d, c, CHAT_EXTRA);

    if (openai_empty(&d->doc, v))
        return;
    ev.name = STR("message.citations");
    ev.text = json_raw(&d->doc, v);
    wire_emit(d, &ev);
}

/* A message, whole, or the piece of one that an event has: the same names. */
static void cohere_message(struct wire_decoder *d, const struct json_node *m)
{
    struct openai_choice *c = openai_choice(d, NULL);

    if (!c)
        return;
    openai_emit(d, c, OPENAI_THOUGHT, cohere_find(d, m, "tool_plan"), false);
    openai_content(d, c, cohere_find(d, m, "content"));
    openai_calls(d, c, cohere_find(d, m, "tool_calls"));
    cohere_citations(d, c, cohere_find(d, m, "citations"));
}

/* A piece of content has no type: the member that is present decides. */
static void cohere_content_delta(struct wire_decoder *d, const struct json_node *v)
{
    struct openai_choice *c = openai_choice(d, NULL);

    if (!c)
        return;
    openai_emit(d, c, OPENAI_THOUGHT, cohere_find(d, v, "thinking"), false);
    openai_emit(d, c, OPENAI_TEXT, cohere_find(d, v, "text"), false);
}

static void cohere_decode(struct wire_decoder *d, const struct wire_frame *f)
{
    const struct json_node *root = json_root(&d->doc);
    const struct json_node *delta = cohere_find(d, root, "delta");
    const struct json_node *m = cohere_find(d, delta, "message");
    str type = json_get_text(&d->doc, root, "type", &d->scratch);

    assert(f->doc == &d->doc);
    if (root->kind != JSON_OBJECT || str_eq(f->name, STR("error")) ||
        (type.n == 0 && !delta && cohere_find(d, root, "message"))) {
        openai_emit_error(d, &d->doc, "the provider sent data that is not a chat event");
        return;
    }
    cohere_start(d, root);
    if (str_eq(type, STR("message-end"))) {
        cohere_ending(d, delta);
    } else if (str_eq(type, STR("content-delta"))) {
        cohere_content_delta(d, cohere_find(d, m, "content"));
    } else if (str_eq(type, STR("content-start"))) {
        struct openai_choice *c = openai_choice(d, NULL);

        if (c && c->now != OPENAI_CALL)
            c->now = OPENAI_NOTHING; /* a separate block */
        cohere_content_delta(d, cohere_find(d, m, "content"));
    } else if (str_starts(type, STR("tool-")) || str_starts(type, STR("citation-"))) {
        cohere_message(d, m);
    }
}

static void cohere_decode_whole(struct wire_decoder *d, const struct wire_frame *f)
{
    const struct json_node *root = json_root(&d->doc);
    const struct json_node *m = cohere_find(d, root, "message");
    struct openai_decoding *s = d->state;

    assert(f->doc == &d->doc);
    s->whole = true;
    if (!json_is_object(m)) {
        openai_emit_error(d, &d->doc, "the provider's reply is no chat");
        return;
    }
    cohere_start(d, root);
    cohere_message(d, m);
    cohere_ending(d, root);
}

/* A stream that was cut still owes the calls it has begun. One with [DONE] is complete. */
static void cohere_decode_end(struct wire_decoder *d)
{
    struct openai_decoding *s = d->state;

    if (!s->choices)
        return;
    openai_emit_calls(d, s->choices, NULL);
    if (d->done && !d->stopped)
        cohere_stop(d, s->choices, STR(""));
}

const struct wire wire_cohere = {
    .dialect = CHAT_COHERE,
    .name = "cohere",
    .stream_framing = WIRE_SSE,
    .whole_type = "application/json",
    .stream_type = "text/event-stream",
    .decoder_size = sizeof(struct openai_decoding),
    .decode = cohere_decode,
    .decode_whole = cohere_decode_whole,
    .decode_end = cohere_decode_end,
    .read_error = openai_read_error,
};
