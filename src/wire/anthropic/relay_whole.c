/* relay_whole.c - a whole reply of /v1/messages with some of its blocks changed.
 *
 * Each event finds the block of the body that it speaks of: by the place of its text, by the id of
 * its call, by being that block's JSON. Such a block keeps all its members but the text; what finds
 * none is a block of our own; what no event speaks of is left out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"

struct whole {
    struct wire_encoder *en;
    const struct json *doc;
    const struct json_node *content;
    const struct json_node *from; /* blocks before it are spoken for */
    struct buf *out;
    uint32_t index;

    const struct json_node *element; /* that the text at hand belongs to, or NULL: ours */
    struct assembled_block block;    /* the text at hand */
    bool pending, changed;
};

static bool anthropic_relay_whole_inside(const struct json_node *outer,
                                         const struct json_node *node)
{
    return node >= outer && node < outer + outer->span;
}

static bool anthropic_relay_whole_is_type(const struct whole *w, const struct json_node *element,
                                          const char *type)
{
    return json_is(w->doc, json_find(w->doc, element, STR("type")), str_c(type));
}

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

/* Whether the event may speak of this block. */
static bool anthropic_relay_whole_speaks_of(const struct whole *w, const struct chat_event *ev,
                                            const struct json_node *element)
{
    const char *type = anthropic_relay_whole_type_of(ev->kind);

    if (ev->kind == CHAT_OPAQUE)
        return str_eq(json_raw(w->doc, element), ev->text);
    if (!type || !anthropic_relay_whole_is_type(w, element, type))
        return false;
    if (ev->kind == CHAT_CALL)
        return json_is(w->doc, json_find(w->doc, element, STR("id")), ev->id);
    return !ev->node || anthropic_relay_whole_inside(element, ev->node);
}

static const struct json_node *anthropic_relay_whole_element_of(const struct whole *w,
                                                                const struct chat_event *ev)
{
    for (const struct json_node *x = w->from; x; x = json_next(w->doc, w->content, x))
        if (anthropic_relay_whole_speaks_of(w, ev, x))
            return x;
    return NULL;
}

static const char *anthropic_relay_whole_text_member(enum assembled_kind kind)
{
    return kind == ASSEMBLED_TEXT ? "text" : kind == ASSEMBLED_THINK ? "thinking" : "data";
}

static void anthropic_relay_whole_flush_ours(struct whole *w)
{
    struct json_out o;

    json_out_init(&o, w->out);
    anthropic_block_json(w->en, &w->block, w->index, &o);
}

/* Thinking without its signature was cut short, and gets one of ours. */
static bool anthropic_relay_whole_lost_signature(const struct whole *w)
{
    return w->block.kind == ASSEMBLED_THINK && !w->block.extra.n &&
           json_find(w->doc, w->element, STR("signature"));
}

/* Its own bytes, with the text replaced if it is another. */
static void anthropic_relay_whole_flush_theirs(struct whole *w)
{
    const struct json_node *node =
        json_find(w->doc, w->element, str_c(anthropic_relay_whole_text_member(w->block.kind)));
    str raw = json_raw(w->doc, w->element);
    size_t from = node ? node->at - w->element->at : 0;

    if (w->block.kind == ASSEMBLED_CALL || w->block.kind == ASSEMBLED_OPAQUE || !node ||
        json_is(w->doc, node, arena_text_str(&w->block.text))) {
        buf_add(w->out, raw);
        return;
    }
    buf_add(w->out, str_slice(raw, 0, from));
    (void)json_quote(w->out, arena_text_str(&w->block.text));
    buf_add(w->out, str_slice(raw, from + node->size, raw.n));
}

static void anthropic_relay_whole_flush(struct whole *w)
{
    if (!w->pending)
        return;
    w->pending = false;
    json_replace_list_next(w->doc, w->element, w->out);
    if (w->element && !anthropic_relay_whole_lost_signature(w))
        anthropic_relay_whole_flush_theirs(w);
    else
        anthropic_relay_whole_flush_ours(w);
    w->index++;
}

static void anthropic_relay_whole_begin(struct whole *w, enum assembled_kind kind,
                                        const struct chat_event *ev)
{
    anthropic_relay_whole_flush(w);
    w->element = anthropic_relay_whole_element_of(w, ev);
    if (w->element)
        w->from = json_next(w->doc, w->content, w->element);
    w->block =
        (struct assembled_block){.kind = kind, .block = ev->block, .id = ev->id, .name = ev->name};
    w->pending = true;
}

static void anthropic_relay_whole_add_text(struct whole *w, enum assembled_kind kind,
                                           const struct chat_event *ev)
{
    if (!w->pending || w->block.kind != kind || w->block.block != ev->block)
        anthropic_relay_whole_begin(w, kind, ev);
    arena_text_add(&w->block.text, w->en->arena, ev->text);
}

static void anthropic_relay_whole_take(struct whole *w, const struct chat_event *ev)
{
    switch (ev->kind) {
    case CHAT_TEXT:
    case CHAT_REFUSAL:
        if (ev->text.n)
            anthropic_relay_whole_add_text(w, ASSEMBLED_TEXT, ev);
        break;
    case CHAT_REASONING:
        anthropic_relay_whole_add_text(w, ASSEMBLED_THINK, ev);
        break;
    case CHAT_SIGNATURE:
        if (!w->pending || w->block.kind != ASSEMBLED_THINK || w->block.block != ev->block)
            anthropic_relay_whole_begin(w, ASSEMBLED_THINK, ev);
        arena_text_add(&w->block.extra, w->en->arena, ev->text);
        break;
    case CHAT_REDACTED:
        anthropic_relay_whole_add_text(w, ASSEMBLED_REDACTED, ev);
        break;
    case CHAT_CALL:
        anthropic_relay_whole_begin(w, ASSEMBLED_CALL, ev);
        break;
    case CHAT_ARGUMENTS:
        if (w->pending && w->block.kind == ASSEMBLED_CALL)
            arena_text_add(&w->block.text, w->en->arena, ev->text);
        break;
    case CHAT_OPAQUE:
        if (!str_eq(ev->name, STR("citation")) && ev->dialect == CHAT_ANTHROPIC) {
            anthropic_relay_whole_begin(w, ASSEMBLED_OPAQUE, ev);
            arena_text_add(&w->block.text, w->en->arena, ev->text);
        }
        break;
    default:
        break;
    }
}

void anthropic_relay_whole(struct wire_encoder *en, const struct wire_frame *f,
                           const struct chat_event *events, size_t n)
{
    const struct json_node *root = json_root(f->doc);
    struct json_replacement list[JSON_REPLACE_MAX];
    struct whole w = {.en = en, .doc = f->doc};
    struct buf content, reason;
    size_t k = 0;

    w.content = json_find(f->doc, root, STR("content"));
    if (!w.content || (w.content->kind != JSON_ARRAY && w.content->kind != JSON_STRING)) {
        buf_add(en->out, f->data);
        return;
    }
    buf_init(&content, f->data.n * 6 + ((size_t)1 << 20));
    buf_init(&reason, 256);
    w.out = &content;
    w.from = json_first(f->doc, w.content);
    buf_add_c(&content, '[');
    for (size_t i = 0; i < n; i++) {
        const struct json_node *node = json_find(f->doc, root, STR("stop_reason"));

        anthropic_relay_whole_take(&w, &events[i]);
        if (events[i].kind == CHAT_STOP && node && k == 0 && events[i].stop != CHAT_STOP_OTHER) {
            (void)json_quote(&reason, anthropic_stop_name(events[i].stop, events[i].name));
            list[k++] = (struct json_replacement){.node = node, .with = buf_str(&reason)};
        }
    }
    anthropic_relay_whole_flush(&w);
    json_replace_list_end(f->doc, w.content, &content);
    list[k++] = (struct json_replacement){.node = w.content, .with = buf_str(&content)};
    json_replace_write(f->doc, list, k, false, en->out);
    buf_release(&content);
    buf_release(&reason);
}
