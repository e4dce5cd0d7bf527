/* decode.c - replies of /v1/messages, streamed and whole, into events: the message around
 * the blocks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"

void anthropic_decode_end(struct wire_decoder *d)
{
    if (d->stopped)
        anthropic_blocks_end(d);
}

/* Members that nothing else says. */
static void anthropic_decode_emit_extras(struct wire_decoder *d, const struct json *doc,
                                         const struct json_node *v, const char *known)
{
    if (!json_is_object(v))
        return;
    JSON_FOREACH(k, doc, v) {
        str key;

        if (json_value(k)->kind != JSON_NULL && !json_is_one_of(doc, k, known) &&
            json_text(doc, k, &d->scratch, &key))
            anthropic_emit(d, CHAT_EXTRA, 0, STR(""), key, json_raw(doc, json_value(k)));
    }
}

static void anthropic_decode_know(int64_t *to, int64_t n)
{
    if (n >= 0)
        *to = n;
}

/* The usage at the start of a message has only placeholders for the output. */
static void anthropic_decode_emit_usage(struct wire_decoder *d, const struct json *doc,
                                        const struct json_node *v, bool final)
{
    struct anthropic_decoder *s = d->state;
    struct chat_usage u = chat_usage_none;

    if (!json_is_object(v))
        return;
    if (!s->usage_begun)
        s->input = s->cache_read = s->cache_write = -1;
    s->usage_begun = true;
    anthropic_decode_know(&s->input, json_get_count(doc, v, "input_tokens"));
    anthropic_decode_know(&s->cache_read, json_get_count(doc, v, "cache_read_input_tokens"));
    anthropic_decode_know(&s->cache_write, json_get_count(doc, v, "cache_creation_input_tokens"));
    if (s->input >= 0)
        u.input = s->input + (s->cache_read > 0 ? s->cache_read : 0) +
                  (s->cache_write > 0 ? s->cache_write : 0);
    u.cache_read = s->cache_read;
    u.cache_write = s->cache_write;
    if (final) {
        u.output = json_get_count(doc, v, "output_tokens");
        u.reasoning =
            json_get_count(doc, json_find(doc, v, STR("output_tokens_details")), "thinking_tokens");
    }
    u.raw = json_raw(doc, v);
    wire_emit(d, &(struct chat_event){.kind = CHAT_USAGE, .usage = &u});
}

static void anthropic_decode_emit_stop(struct wire_decoder *d, const struct json *doc,
                                       const struct json_node *v)
{
    enum chat_stop stop;
    str name;

    if (!json_to_text(doc, json_find(doc, v, STR("stop_reason")), &d->scratch, &name) ||
        name.n == 0)
        return;
    stop = anthropic_stop_of(name);
    if (stop == CHAT_STOP_SEQUENCE)
        name = json_get_text(doc, v, "stop_sequence", &d->scratch);
    wire_emit(d, &(struct chat_event){.kind = CHAT_STOP, .stop = stop, .name = name});
}

/* It has ended, though it did not say why. */
static void anthropic_decode_ensure_stop(struct wire_decoder *d)
{
    struct anthropic_decoder *s = d->state;

    if (!d->stopped)
        wire_emit(d,
                  &(struct chat_event){.kind = CHAT_STOP,
                                       .stop = s->called ? CHAT_STOP_TOOL : CHAT_STOP_END});
}

static const char message_known[] = "id type role model content stop_reason stop_sequence usage";

static void anthropic_decode_emit_start(struct wire_decoder *d, const struct json *doc,
                                        const struct json_node *v)
{
    if (!d->started)
        anthropic_emit(d,
                       CHAT_START,
                       0,
                       json_get_text(doc, v, "id", &d->scratch),
                       json_get_text(doc, v, "model", &d->scratch),
                       STR(""));
}

/* A provider that lost its place may start again: open blocks end, and indexes restart. */
static void anthropic_decode_on_message_start(struct wire_decoder *d, const struct json *doc,
                                              const struct json_node *root)
{
    const struct json_node *message = json_find(doc, root, STR("message"));

    anthropic_blocks_end(d);
    anthropic_decode_emit_start(d, doc, message);
    anthropic_decode_emit_extras(d, doc, message, message_known);
    anthropic_decode_emit_usage(d, doc, json_find(doc, message, STR("usage")), false);
}

static void anthropic_decode_on_block_start(struct wire_decoder *d, const struct json *doc,
                                            const struct json_node *root)
{
    const struct json_node *block = json_find(doc, root, STR("content_block"));
    int64_t index = json_get_count(doc, root, "index");
    struct anthropic_block *open = anthropic_block_find(d, index);

    if (open)
        anthropic_block_end(d, open);
    if (json_is_object(block))
        (void)anthropic_block_begin(d, doc, block, index);
}

static void anthropic_decode_on_block_stop(struct wire_decoder *d, const struct json *doc,
                                           const struct json_node *root)
{
    struct anthropic_block *b = anthropic_block_find(d, json_get_count(doc, root, "index"));

    if (b && b->kind == KIND_TEXT)
        d->text_ended = b->block + 1;
    if (b)
        anthropic_block_end(d, b);
}

static void anthropic_decode_on_message_delta(struct wire_decoder *d, const struct json *doc,
                                              const struct json_node *root)
{
    const struct json_node *delta = json_find(doc, root, STR("delta"));

    anthropic_blocks_end(d);
    anthropic_decode_emit_extras(d, doc, delta, "stop_reason stop_sequence");
    anthropic_decode_emit_extras(d, doc, root, "type delta usage");
    anthropic_decode_emit_usage(d, doc, json_find(doc, root, STR("usage")), true);
    anthropic_decode_emit_stop(d, doc, delta);
}

static void anthropic_decode_on_message_stop(struct wire_decoder *d, const struct json *doc,
                                             const struct json_node *root)
{
    (void)doc;
    (void)root;
    anthropic_blocks_end(d);
    anthropic_decode_ensure_stop(d);
    anthropic_emit(d, CHAT_END, 0, STR(""), STR(""), STR(""));
}

static void anthropic_decode_on_error(struct wire_decoder *d, const struct json *doc,
                                      const struct json_node *root)
{
    struct chat_error error = wire_error(0, "api_error", "the provider reported an error");

    (void)root;
    anthropic_read_error(doc, &d->scratch, &error);
    wire_emit(d, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
}

static void anthropic_decode_on_ping(struct wire_decoder *d, const struct json *doc,
                                     const struct json_node *root)
{
    (void)d;
    (void)doc;
    (void)root;
}

static const struct {
    const char *type;
    void (*on)(struct wire_decoder *d, const struct json *doc, const struct json_node *root);
} frames[] = {
    {"content_block_delta", anthropic_block_delta},
    {"content_block_start", anthropic_decode_on_block_start},
    {"content_block_stop", anthropic_decode_on_block_stop},
    {"ping", anthropic_decode_on_ping},
    {"message_start", anthropic_decode_on_message_start},
    {"message_delta", anthropic_decode_on_message_delta},
    {"message_stop", anthropic_decode_on_message_stop},
    {"error", anthropic_decode_on_error},
};

void anthropic_decode(struct wire_decoder *d, const struct wire_frame *f)
{
    const struct json_node *root = json_root(f->doc);
    const struct json_node *type = json_find(f->doc, root, STR("type"));
    bool typed = type && type->kind == JSON_STRING;

    for (size_t i = 0; i < COUNT_OF(frames); i++)
        if (typed ? json_is(f->doc, type, str_c(frames[i].type))
                  : str_eq(f->name, str_c(frames[i].type))) {
            frames[i].on(d, f->doc, root);
            return;
        }
    if (json_has_content(f->doc, json_find(f->doc, root, STR("error"))))
        anthropic_decode_on_error(d, f->doc, root);
    else if (type)
        anthropic_emit(d,
                       CHAT_EXTRA,
                       0,
                       STR(""),
                       json_get_text(f->doc, root, "type", &d->scratch),
                       json_raw(f->doc, root));
}

static void anthropic_decode_whole_block(struct wire_decoder *d, const struct json *doc,
                                         const struct json_node *v, int64_t index)
{
    struct anthropic_block *open = anthropic_block_begin(d, doc, v, index);

    if (open && open->used)
        anthropic_block_end(d, open);
}

void anthropic_decode_whole(struct wire_decoder *d, const struct wire_frame *f)
{
    struct anthropic_decoder *state = d->state;
    const struct json_node *root = json_root(f->doc);
    const struct json_node *content = json_get(f->doc, root, "content");
    int64_t index = 0;

    if (json_get_is(f->doc, root, "type", "error") ||
        (!content && json_has_content(f->doc, json_find(f->doc, root, STR("error"))))) {
        anthropic_decode_on_error(d, f->doc, root);
        return;
    }
    /* A reply without text but with a stop reason may omit the content. */
    if (content ? content->kind != JSON_ARRAY && content->kind != JSON_STRING
                : !json_get(f->doc, root, "stop_reason")) {
        wire_emit_error(d, "upstream_error", "the provider's reply has no content");
        return;
    }
    assert(!state->whole);
    state->whole = true;
    anthropic_decode_emit_start(d, f->doc, root);
    if (content && content->kind == JSON_STRING)
        anthropic_decode_whole_block(d, f->doc, content, index);
    for (const struct json_node *b = json_first(f->doc, content); b && !d->deaf;
         b = json_next(f->doc, content, b))
        anthropic_decode_whole_block(d, f->doc, b, index++);
    anthropic_decode_emit_extras(d, f->doc, root, message_known);
    anthropic_decode_emit_usage(d, f->doc, json_find(f->doc, root, STR("usage")), true);
    anthropic_decode_emit_stop(d, f->doc, root);
    anthropic_decode_ensure_stop(d);
}
