/* decode_items.h - a Responses decoder's state of the items of a reply.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/responses/responses.h"

enum item_kind { ITEM_OTHER, ITEM_MESSAGE, ITEM_REASONING, ITEM_CALL, ITEM_CUSTOM };
enum place_kind {
    PLACE_TEXT,
    PLACE_REFUSAL,
    PLACE_SUMMARY,
    PLACE_THOUGHT,
    PLACE_ARGUMENTS,
    PLACE_INPUT
};

struct responses_item {
    uint32_t index;
    enum item_kind kind;
    bool done;
    bool begun[2]; /* blocks: of a call or a summary, and of raw reasoning */
    uint32_t block[2];
    str id;
};

struct responses_place {
    uint32_t item; /* its index among the items */
    enum place_kind kind;
    uint32_t part;
    bool sent;
    uint32_t block;
    size_t size; /* of the text emitted so far, and its hash */
    uint64_t hash;
};

struct responses_decoder {
    struct responses_item *items;
    struct responses_place *places;
    uint32_t item_count, item_cap, place_count, place_cap;
    uint32_t last; /* output_index of the item of the last event */
    char *kept;    /* the reasoning item that is sent back with the next call */
    size_t kept_size, kept_cap;
    bool calls, stored;
};

/* The current frame. */
struct responses_at {
    struct wire_decoder *d;
    struct responses_decoder *s;
    const struct json *doc;
    const struct json_node *root;
};

void responses_emit(struct responses_at *at, struct chat_event ev);
void responses_fail(struct responses_at *at, const char *message);

enum item_kind responses_kind(struct responses_at *at, const struct json_node *item);
struct responses_item *responses_item_find(struct responses_at *at, uint32_t index);
/* NULL, after emitting an error, if there are too many. */
struct responses_item *responses_item_add(struct responses_at *at, uint32_t index,
                                          enum item_kind kind);
/* The final form of an item: emits what no earlier event has. */
void responses_item_done(struct responses_at *at, struct responses_item *it,
                         const struct json_node *node);

/* Handles an event about an item; false if it is about something else. */
bool responses_item_event(struct responses_at *at, str type);
