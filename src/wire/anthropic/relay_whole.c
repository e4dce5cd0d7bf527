/* relay_whole.c - a whole reply of /v1/messages with some of its blocks changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"

#include "wire/relay_blocks.h"

static const char *anthropic_relay_whole_type_of(enum chat_event_kind kind)
{
    switch (kind) {
    case CHAT_TEXT:
    case CHAT_REFUSAL:
        return "text";
    case CHAT_REASONING:
    case CHAT_SIGNATURE:
        return "thinking";
    case CHAT_REDACTED:
        return "redacted_thinking";
    case CHAT_CALL:
        return "tool_use";
    default:
        return NULL;
    }
}

static bool anthropic_relay_whole_is_source(const struct json *doc, const struct json_node *element,
                                            const struct chat_event *ev)
{
    const char *type = anthropic_relay_whole_type_of(ev->kind);

    if (ev->kind == CHAT_OPAQUE)
        return str_eq(json_raw(doc, element), ev->text);
    return type && json_get_is(doc, element, "type", type) &&
           (ev->kind != CHAT_CALL || json_is(doc, json_find(doc, element, STR("id")), ev->id));
}

static const struct json_node *anthropic_relay_whole_find_text(const struct json *doc,
                                                               const struct json_node *element,
                                                               enum assembled_kind kind)
{
    if (kind == ASSEMBLED_CALL || kind == ASSEMBLED_OPAQUE)
        return NULL;
    return json_find(doc,
                     element,
                     kind == ASSEMBLED_TEXT    ? STR("text")
                     : kind == ASSEMBLED_THINK ? STR("thinking")
                                               : STR("data"));
}

static void anthropic_relay_whole_on_signature(struct relay_blocks *r, const struct chat_event *ev)
{
    assert(ev->kind == CHAT_SIGNATURE);
    if (!r->pending || r->block.kind != ASSEMBLED_THINK || r->block.block != ev->block)
        relay_blocks_begin(r, ASSEMBLED_THINK, ev);
    arena_text_add(&r->block.extra, r->en->arena, ev->text);
}

/* Thinking without its signature was cut short, and gets a signature of ours. */
static bool anthropic_relay_whole_is_ours(const struct relay_blocks *r)
{
    assert(r->element); /* of a block that the provider began */
    return r->block.kind == ASSEMBLED_THINK && !r->block.extra.n &&
           json_find(r->doc, r->element, STR("signature"));
}

static void anthropic_relay_whole_write(const struct relay_blocks *r, struct json_out *o)
{
    anthropic_block_json(r->en, &r->block, r->index, o);
}

static const struct relay_rules anthropic_relay_rules = {
    .dialect = CHAT_ANTHROPIC,
    .thinking_blocks = true,
    .is_source = anthropic_relay_whole_is_source,
    .find_text = anthropic_relay_whole_find_text,
    .on_signature = anthropic_relay_whole_on_signature,
    .is_ours = anthropic_relay_whole_is_ours,
    .write = anthropic_relay_whole_write,
};

void anthropic_relay_whole(struct wire_encoder *en, const struct wire_frame *f,
                           const struct chat_event *events, size_t n)
{
    const struct json_node *root = json_root(f->doc);
    const struct json_node *stop = json_find(f->doc, root, STR("stop_reason"));
    struct json_replacement list[JSON_REPLACE_MAX];
    struct relay_blocks r = {.rules = &anthropic_relay_rules, .en = en, .doc = f->doc};
    struct buf content, reason;
    size_t k = 0;

    r.list = json_find(f->doc, root, STR("content"));
    if (!r.list || (r.list->kind != JSON_ARRAY && r.list->kind != JSON_STRING)) {
        buf_add(en->out, f->data);
        return;
    }
    buf_init(&content, f->data.n * 6 + ((size_t)1 << 20));
    buf_init(&reason, 256);
    r.out = &content;
    relay_blocks_write(&r, events, n);
    for (size_t i = 0; i < n && k == 0 && stop; i++)
        if (events[i].kind == CHAT_STOP && events[i].stop != CHAT_STOP_OTHER) {
            (void)json_quote(&reason, anthropic_stop_name(events[i].stop, events[i].name));
            list[k++] = (struct json_replacement){.node = stop, .with = buf_str(&reason)};
        }
    list[k++] = (struct json_replacement){.node = r.list, .with = buf_str(&content)};
    json_replace_write(f->doc, list, k, false, en->out);
    buf_release(&content);
    buf_release(&reason);
}
