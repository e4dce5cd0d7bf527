/* relay_blocks.c - see relay_blocks.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/relay_blocks.h"

#include "wire/json_replace.h"

bool relay_blocks_inside(const struct json_node *outer, const struct json_node *node)
{
    return node >= outer && node < outer + outer->span;
}

/* The element that has a node of the frame. Nodes come in their order, so that each element is
 * passed once. */
static const struct json_node *relay_blocks_locate(struct relay_blocks *r,
                                                   const struct json_node *node)
{
    if (!relay_blocks_inside(r->list, node))
        return NULL;
    if (!r->near || r->near > node || r->near < r->from)
        r->near = r->from;
    while (r->near && r->near + r->near->span <= node)
        r->near = json_next(r->doc, r->list, r->near);
    return r->near && relay_blocks_inside(r->near, node) ? r->near : NULL;
}

const struct json_node *relay_blocks_find(struct relay_blocks *r, const struct chat_event *ev)
{
    const struct json_node *x;

    assert(!r->from || relay_blocks_inside(r->list, r->from));
    if (ev->node) {
        x = relay_blocks_locate(r, ev->node);
        return x && r->rules->is_source(r->doc, x, ev) ? x : NULL;
    }
    if (ev->kind == CHAT_CALL || ev->kind == CHAT_OPAQUE || r->missing >> ev->kind & 1)
        return NULL;
    for (x = r->from; x && !r->rules->is_source(r->doc, x, ev);)
        x = json_next(r->doc, r->list, x);
    if (!x) /* nor for a later event, which searches fewer elements */
        r->missing |= 1u << ev->kind;
    return x;
}

/* The element's own bytes, with another text if the text changed. */
static void relay_blocks_write_theirs(struct relay_blocks *r)
{
    const struct json_node *text = r->rules->find_text(r->doc, r->element, r->block.kind);
    str raw = json_raw(r->doc, r->element);
    size_t from = text ? text->at - r->element->at : 0;

    assert(!text || relay_blocks_inside(r->element, text));
    if (!text || json_is(r->doc, text, arena_text_str(&r->block.text))) {
        buf_add(r->out, raw);
        return;
    }
    buf_add(r->out, str_slice(raw, 0, from));
    (void)json_quote(r->out, arena_text_str(&r->block.text));
    buf_add(r->out, str_slice(raw, from + text->size, raw.n));
}

static void relay_blocks_flush(struct relay_blocks *r)
{
    struct json_out o;

    assert(!r->element || relay_blocks_inside(r->list, r->element));
    if (!r->pending)
        return;
    r->pending = false;
    json_replace_list_next(r->doc, r->element, r->out);
    if (r->element && !(r->rules->is_ours && r->rules->is_ours(r))) {
        relay_blocks_write_theirs(r);
    } else {
        json_out_init(&o, r->out);
        r->rules->write(r, &o);
        assert(o.depth == 0);
    }
    r->index++;
}

/* Writes the elements before `to` that stay without an event. */
static void relay_blocks_keep(struct relay_blocks *r, const struct json_node *to)
{
    assert(!to || relay_blocks_inside(r->list, to));
    for (const struct json_node *x = r->rules->stays ? r->from : NULL; x && x != to;
         x = json_next(r->doc, r->list, x))
        if (r->rules->stays(r->doc, x)) {
            json_replace_list_next(r->doc, x, r->out);
            buf_add(r->out, json_raw(r->doc, x));
        }
}

void relay_blocks_begin(struct relay_blocks *r, enum assembled_kind kind,
                        const struct chat_event *ev)
{
    const struct json_node *element = relay_blocks_find(r, ev);

    relay_blocks_flush(r);
    assert(!r->pending);
    if (element) {
        relay_blocks_keep(r, element);
        r->from = json_next(r->doc, r->list, element);
    }
    r->element = element;
    r->block =
        (struct assembled_block){.kind = kind, .block = ev->block, .id = ev->id, .name = ev->name};
    r->pending = true;
}

static void relay_blocks_add_text(struct relay_blocks *r, enum assembled_kind kind,
                                  const struct chat_event *ev)
{
    bool same = r->pending && r->block.kind == kind && r->block.block == ev->block;

    /* Two elements may be of one block: the next one begins where its own text does. */
    if (!same || (ev->node && r->element && !relay_blocks_inside(r->element, ev->node)))
        relay_blocks_begin(r, kind, ev);
    arena_text_add(&r->block.text, r->en->arena, ev->text);
}

static void relay_blocks_take(struct relay_blocks *r, const struct chat_event *ev)
{
    switch (ev->kind) {
    case CHAT_TEXT:
    case CHAT_REFUSAL:
        if (ev->text.n)
            relay_blocks_add_text(r, ASSEMBLED_TEXT, ev);
        break;
    case CHAT_REASONING:
        if (ev->text.n || r->rules->thinking_blocks)
            relay_blocks_add_text(r, ASSEMBLED_THINK, ev);
        break;
    case CHAT_REDACTED:
        if (r->rules->thinking_blocks)
            relay_blocks_add_text(r, ASSEMBLED_REDACTED, ev);
        break;
    case CHAT_SIGNATURE:
        r->rules->on_signature(r, ev);
        break;
    case CHAT_CALL:
        relay_blocks_begin(r, ASSEMBLED_CALL, ev);
        break;
    case CHAT_ARGUMENTS:
        if (r->pending && r->block.kind == ASSEMBLED_CALL)
            arena_text_add(&r->block.text, r->en->arena, ev->text);
        break;
    case CHAT_OPAQUE:
        if (ev->dialect == r->rules->dialect && !str_eq(ev->name, STR("citation"))) {
            relay_blocks_begin(r, ASSEMBLED_OPAQUE, ev);
            arena_text_add(&r->block.text, r->en->arena, ev->text);
        }
        break;
    default:
        break;
    }
}

void relay_blocks_write(struct relay_blocks *r, const struct chat_event *events, size_t n)
{
    size_t begin = r->out->n;

    r->from = json_first(r->doc, r->list);
    r->near = NULL;
    r->missing = 0;
    r->index = 0;
    r->pending = false;
    buf_add_c(r->out, '[');
    for (size_t i = 0; i < n; i++)
        if (events[i].choice == r->choice && (!r->rules->takes || r->rules->takes(r, &events[i])))
            relay_blocks_take(r, &events[i]);
    relay_blocks_flush(r);
    relay_blocks_keep(r, NULL);
    assert(!r->pending && r->out->n > begin);
    if (r->out->n == begin + 1 && r->rules->empty)
        buf_add(r->out, str_c(r->rules->empty));
    json_replace_list_end(r->doc, r->list, r->out);
}
