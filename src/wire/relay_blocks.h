/* relay_blocks.h - rewrites the list of content elements in a provider's frame from events.
 *
 * For a frame that the gateway changed, in a dialect whose content is a list (Anthropic's blocks,
 * Gemini's parts, a list of Chat Completions). Each event is matched to the element that it came
 * from, by the place that the decoder gave it; a text without a place is of the next element of its
 * kind. Such an element keeps all of its members except the text. An event without an element
 * becomes a new one; an element without an event is dropped. The time is linear.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/assemble_reply.h"

struct relay_blocks;

/* How a dialect's elements are read and written. */
struct relay_rules {
    enum chat_dialect dialect;
    /* Whether an event is of the list; or NULL: each event of the choice is. */
    bool (*takes)(const struct relay_blocks *r, const struct chat_event *ev);
    bool thinking_blocks; /* empty and redacted reasoning has separate elements */
    const char *empty;    /* the element for an otherwise empty list; or NULL */
    /* Whether an event, or one of its kind that has no place, may have come from an element. */
    bool (*is_source)(const struct json *doc, const struct json_node *element,
                      const struct chat_event *ev);
    /* The text of an element that a block of this kind replaces; NULL: the element stays. */
    const struct json_node *(*find_text)(const struct json *doc, const struct json_node *element,
                                         enum assembled_kind kind);
    void (*on_signature)(struct relay_blocks *r, const struct chat_event *ev);
    /* Whether the current block is written as a new one although it has an element; or NULL. */
    bool (*is_ours)(const struct relay_blocks *r);
    /* Whether an element without an event stays; or NULL: none does. */
    bool (*stays)(const struct json *doc, const struct json_node *element);
    void (*write)(const struct relay_blocks *r, struct json_out *o); /* a new element */
};

struct relay_blocks {
    const struct relay_rules *rules;
    struct wire_encoder *en;
    const struct json *doc;
    const struct json_node *list; /* a list, or a value that has no elements */
    struct buf *out;
    uint32_t choice;
    /* Set by relay_blocks_write. */
    uint32_t index;                  /* of the current block in the new list */
    const struct json_node *from;    /* earlier elements are already matched */
    const struct json_node *near;    /* the last one that was searched by its place, or NULL */
    unsigned missing;                /* 1 << kind: no element is left for such an event */
    const struct json_node *element; /* of the current block, or NULL */
    struct assembled_block block;    /* the current one, if it is pending */
    bool pending;
};

/* Appends the list that expresses the events of the choice. */
void relay_blocks_write(struct relay_blocks *r, const struct chat_event *events, size_t n);

/* For on_signature: the element that the event came from; and a new current block. */
const struct json_node *relay_blocks_find(struct relay_blocks *r, const struct chat_event *ev);
void relay_blocks_begin(struct relay_blocks *r, enum assembled_kind kind,
                        const struct chat_event *ev);
bool relay_blocks_inside(const struct json_node *outer, const struct json_node *node);
