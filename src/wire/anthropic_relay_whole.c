/* anthropic_relay_whole.c - a whole reply of /v1/messages with some of its blocks changed.
 *
 * Each event finds the block of the body that it speaks of: by the place of its text, by the id of
 * its call, by being that block's JSON. Such a block keeps all its members but the text; what finds
 * none is a block of our own; what no event speaks of is left out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic.h"

struct whole {
    struct wire_encoder *en;
    const struct json *doc;
    const struct json_node *content;
    const struct json_node *from; /* blocks before it are spoken for */
    struct buf *out;
    uint32_t index;

    const struct json_node *element; /* that the text at hand belongs to, or NULL: ours */
    struct gather_block block;       /* the text at hand */
    bool pending, changed;
};

static bool inside(const struct json_node *outer, const struct json_node *node)
{
    return node >= outer && node < outer + outer->span;
}

static bool is_type(const struct whole *w, const struct json_node *element, const char *type)
{
    return json_is(w->doc, json_find(w->doc, element, STR("type")), str_c(type));
}

static const char *type_of(enum chat_event_kind kind)
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
static bool speaks_of(const struct whole *w, const struct chat_event *ev,
                      const struct json_node *element)
{
    const char *type = type_of(ev->kind);

    if (ev->kind == CHAT_OPAQUE)
        return str_eq(json_raw(w->doc, element), ev->text);
    if (!type || !is_type(w, element, type))
        return false;
    if (ev->kind == CHAT_CALL)
        return json_is(w->doc, json_find(w->doc, element, STR("id")), ev->id);
    return !ev->node || inside(element, ev->node);
}

static const struct json_node *element_of(const struct whole *w, const struct chat_event *ev)
{
    for (const struct json_node *x = w->from; x; x = json_next(w->doc, w->content, x))
        if (speaks_of(w, ev, x))
            return x;
    return NULL;
}

static const char *text_member(enum gather_kind kind)
{
    return kind == GATHER_TEXT ? "text" : kind == GATHER_THINK ? "thinking" : "data";
}

static void flush_ours(struct whole *w)
{
    struct json_out o;

    json_out_init(&o, w->out);
    anthropic_block_json(w->en, &w->block, w->index, &o);
}

/* Thinking without its signature was cut short, and gets one of ours. */
static bool lost_signature(const struct whole *w)
{
    return w->block.kind == GATHER_THINK && !w->block.extra.n &&
           json_find(w->doc, w->element, STR("signature"));
}

/* Its own bytes, with the text replaced if it is another. */
static void flush_theirs(struct whole *w)
{
    const struct json_node *node = json_find(w->doc, w->element, str_c(text_member(w->block.kind)));
    str raw = json_raw(w->doc, w->element);
    size_t from = node ? node->at - w->element->at : 0;

    if (w->block.kind == GATHER_CALL || w->block.kind == GATHER_OPAQUE || !node ||
        json_is(w->doc, node, piece_str(&w->block.text))) {
        buf_add(w->out, raw);
        return;
    }
    buf_add(w->out, str_slice(raw, 0, from));
    (void)json_quote(w->out, piece_str(&w->block.text));
    buf_add(w->out, str_slice(raw, from + node->size, raw.n));
}

static void flush(struct whole *w)
{
    if (!w->pending)
        return;
    w->pending = false;
    patchwork_list_next(w->doc, w->element, w->out);
    if (w->element && !lost_signature(w))
        flush_theirs(w);
    else
        flush_ours(w);
    w->index++;
}

static void begin(struct whole *w, enum gather_kind kind, const struct chat_event *ev)
{
    flush(w);
    w->element = element_of(w, ev);
    if (w->element)
        w->from = json_next(w->doc, w->content, w->element);
    w->block =
        (struct gather_block){.kind = kind, .block = ev->block, .id = ev->id, .name = ev->name};
    w->pending = true;
}

static void add_text(struct whole *w, enum gather_kind kind, const struct chat_event *ev)
{
    if (!w->pending || w->block.kind != kind || w->block.block != ev->block)
        begin(w, kind, ev);
    piece_add(&w->block.text, w->en->arena, ev->text);
}

static void take(struct whole *w, const struct chat_event *ev)
{
    switch (ev->kind) {
    case CHAT_TEXT:
    case CHAT_REFUSAL:
        if (ev->text.n)
            add_text(w, GATHER_TEXT, ev);
        break;
    case CHAT_REASONING:
        add_text(w, GATHER_THINK, ev);
        break;
    case CHAT_SIGNATURE:
        if (!w->pending || w->block.kind != GATHER_THINK || w->block.block != ev->block)
            begin(w, GATHER_THINK, ev);
        piece_add(&w->block.extra, w->en->arena, ev->text);
        break;
    case CHAT_REDACTED:
        add_text(w, GATHER_REDACTED, ev);
        break;
    case CHAT_CALL:
        begin(w, GATHER_CALL, ev);
        break;
    case CHAT_ARGUMENTS:
        if (w->pending && w->block.kind == GATHER_CALL)
            piece_add(&w->block.text, w->en->arena, ev->text);
        break;
    case CHAT_OPAQUE:
        if (!str_eq(ev->name, STR("citation")) && ev->dialect == CHAT_ANTHROPIC) {
            begin(w, GATHER_OPAQUE, ev);
            piece_add(&w->block.text, w->en->arena, ev->text);
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
    struct patchwork list[PATCHWORK_MAX];
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

        take(&w, &events[i]);
        if (events[i].kind == CHAT_STOP && node && k == 0 && events[i].stop != CHAT_STOP_OTHER) {
            (void)json_quote(&reason, anthropic_stop_name(events[i].stop, events[i].name));
            list[k++] = (struct patchwork){.node = node, .with = buf_str(&reason)};
        }
    }
    flush(&w);
    patchwork_list_end(f->doc, w.content, &content);
    list[k++] = (struct patchwork){.node = w.content, .with = buf_str(&content)};
    patchwork_write(f->doc, list, k, false, en->out);
    buf_release(&content);
    buf_release(&reason);
}
