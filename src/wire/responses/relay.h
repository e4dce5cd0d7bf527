/* relay.h - the texts of a relayed Responses reply: the sent ones, and where they are repeated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/responses/encode.h"

enum responses_place_kind { AT_TEXT, AT_REFUSAL, AT_SUMMARY, AT_THOUGHT };

/* An event, and the text of the frame that it came from. */
struct responses_said {
    const struct json_node *node;
    size_t event;
};

struct responses_relay {
    struct wire_encoder *en;
    struct responses_encoder *s;
    const struct wire_frame *f;
    const struct json *doc;
    const struct json_node *root;
    const struct chat_event *events;
    size_t n;
    bool touched;
    str item_id;         /* of the frame's item, as JSON, or "" */
    struct arena *arena; /* for this frame */
    struct json_edits ed;
    const struct json_node *first_text; /* of a whole body */
    struct responses_said *said;        /* by the place of the text; NULL: not listed yet */
    size_t said_count;
    struct responses_sent spare; /* for a text beyond the limit */
};

/* The provider's output_index as the client has it: after the items of ours before it. */
uint32_t responses_moved(const struct responses_encoder *s, uint32_t index);

/* relay.c: the number of the event; false if it has none that any stream reaches. */
bool responses_relay_number(const struct responses_relay *r, int64_t *out) MUST_USE;
/* Edits a number of the frame, or both of its numbers; writes the frame with its edits; and all of
 * this. */
void responses_relay_edit_number(struct responses_relay *r, const char *key, int64_t value);
void responses_relay_edit_numbers(struct responses_relay *r);
void responses_relay_write(struct responses_relay *r);
void responses_relay_frame_out(struct responses_relay *r);

/* relay_held.c: a frame that begins a part of reasoning waits for its text; it is written. */
void responses_held_begin(struct responses_relay *r);
void responses_held_out(struct responses_relay *r);
/* The same for frames that begin a message; and whether the frame is of such a message. */
void responses_opening_add(struct responses_relay *r);
void responses_opening_out(struct responses_relay *r);
bool responses_opening_is_of(const struct responses_relay *r);

/* relay_to_encode.c: remembers an item that begins, or is done, in case that no more frames arrive;
 * out_at is where the output of its frame begins. */
void responses_note_item(struct responses_relay *r, bool done, size_t out_at);

bool responses_at_reasoning(enum responses_place_kind kind);
/* The kind of event that has a text of this kind. */
enum chat_event_kind responses_at_event(enum responses_place_kind kind);
enum responses_place_kind responses_part_kind(const struct responses_relay *r,
                                              const struct json_node *part,
                                              enum responses_place_kind or_else);
/* Whether it is the blank line between two parts of reasoning, which is in no frame. */
bool responses_is_joint(const struct chat_event *ev);

/* The text that was sent from a place. At the limit: an entry that nothing reads, and `done` is
 * full. */
struct responses_sent *responses_sent_get(struct responses_relay *r, uint32_t index,
                                          enum responses_place_kind kind, uint32_t part);
void responses_sent_add(struct responses_relay *r, struct responses_sent *t, str text);
bool responses_sent_nothing(const struct responses_sent *t);

/* Empties the list of tokens of a changed text, because the list has the removed tokens, too. */
void responses_drop_tokens(struct responses_relay *r, const struct json_node *of);
/* Replaces the text at a place by the text that was sent; `of` is its object, or NULL. False:
 * nothing of this reasoning was sent, so the place must be removed. */
bool responses_fix_place(struct responses_relay *r, const struct json_node *of,
                         const struct json_node *node, uint32_t index,
                         enum responses_place_kind kind, uint32_t part);
void responses_fix_item(struct responses_relay *r, const struct json_node *item, uint32_t index);
/* The first text of the messages in a list of items, or NULL. */
const struct json_node *responses_first_text(const struct responses_relay *r,
                                             const struct json_node *list);
/* The same for all items of a response, including ours. */
void responses_fix_response(struct responses_relay *r, const struct json_node *response);
/* Sets the number of reasoning tokens, if we counted them and the host did not report it. */
void responses_fix_usage(struct responses_relay *r, const struct json_node *response);
