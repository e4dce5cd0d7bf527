/* relay.h - shared by relaying a chunk and relaying a whole body of Chat Completions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/openai/encode.h"

/* The current frame and its events. */
struct openai_relay_frame {
    struct wire_encoder *en;
    const struct wire_frame *f;
    const struct json *doc;
    const struct json_node *root, *choices;
    const struct chat_event *events;
    size_t n;
    struct arena a;   /* for the edits of this frame */
    bool role;        /* was written with a text of this frame */
    bool details;     /* were written with its reasoning */
    str chunk;        /* the choices that were inserted last */
    size_t chunk_end; /* and where that chunk ended in the output */
};

/* The texts of all events of one kind, joined. */
struct openai_relay_text {
    str text; /* the only one so far */
    struct arena_text all;
    bool any;
};

/* The content to write in one choice. */
struct openai_relay_heard {
    struct openai_relay_text text, thought;
    bool calls;
};

/* The index of a choice: 0 if v is missing or not a number. */
uint32_t openai_relay_index_at(const struct json *doc, const struct json_node *v);
uint32_t openai_relay_index_of(const struct json *doc, const struct json_node *choice);
/* The delta or message of a choice; NULL: it has none. */
const struct json_node *openai_relay_message_of(const struct openai_relay_frame *r,
                                                const struct json_node *choice);
bool openai_relay_has_calls(const struct openai_relay_frame *r, const struct json_fields *message);
/* Whether the event is of a chunk in the list `content` that is neither text nor reasoning. */
bool openai_relay_is_chunk(const struct json_node *content, const struct chat_event *ev);
struct openai_relay_heard openai_relay_hear(struct openai_relay_frame *r, uint32_t choice);
str openai_relay_joined(const struct openai_relay_text *j);
/* Whether the details of a message contain no more than the content to write. */
bool openai_relay_details_fit(struct openai_relay_frame *r, const struct json_fields *message,
                              const struct openai_relay_heard *now);
void openai_relay_drop_thoughts(struct json_edits *ed, const struct json_node *message,
                                const struct json_fields *of, bool details);
void openai_relay_edit_finish(struct openai_relay_frame *r, struct json_edits *ed,
                              const struct json_node *choice, const struct json_node *was,
                              uint32_t index);
void openai_relay_edit_usage(struct openai_relay_frame *r, struct json_edits *ed);

/* relay_calls.c. Reads the indices of the calls in a chunk; whether the client must get others,
 * because calls read from the text came before. */
bool openai_relay_moves_calls(struct openai_relay_frame *r);
void openai_relay_edit_call_indices(struct openai_relay_frame *r, struct json_edits *ed,
                                    const struct json_node *choice);
/* Remembers a call of relayed frames, in case that we have to end it. */
void openai_relay_note_call(struct wire_encoder *en, const struct chat_event *ev);
/* Whether the client has the call from relayed frames, which have all of its arguments. */
bool openai_relay_passes(struct wire_encoder *en, const struct chat_event *ev);

/* relay_whole.c: a whole body with its texts edited in place. */
void openai_relay_body(struct openai_relay_frame *r);
