/* encode.h - shared by encoding and relaying of Chat Completions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/citations.h"
#include "wire/openai/openai.h"

/* A member without an event of its own; in pieces if the reply was streamed. */
struct openai_piece {
    str name;
    struct arena_text json; /* the pieces, separated by commas */
    size_t count;
    struct openai_piece *next;
};

struct openai_said_call {
    uint32_t block, index;
    bool argued; /* its arguments have begun */
    bool custom; /* its arguments are one text, written when complete */
    bool passes; /* it is in relayed frames */
    str id, name;
    struct arena_text arguments;
    struct openai_piece *members;
    struct openai_said_call *next;
};

/* A call of relayed frames: the provider's index, and the client's. */
struct openai_moved_call {
    int64_t from;
    uint32_t to;
    bool noted; /* it has an openai_said_call */
    struct openai_moved_call *next;
};

/* The part of one choice that the client has received. */
struct openai_said {
    uint32_t index;
    bool role, finished;
    bool marked_calls; /* calls read from the text were sent */
    struct openai_said_call *calls, *last;
    uint32_t next_call;              /* the first index that no call has */
    uint32_t move_count;             /* at most WIRE_BLOCKS_MAX: later calls stay as they are */
    struct openai_moved_call *moves; /* calls of relayed frames */
    struct openai_said *next;
    /* Only for a whole reply: a stream's struct ends here. */
    struct arena_text text, thought, refusal;
    struct openai_piece *message, *members;
    str finish;
};

#define OPENAI_TAIL_MAX 96 /* bytes after the choices of a chunk that are remembered */

struct openai_encoding {
    str head; /* start of every chunk, up to its choices */
    struct openai_said *choices;
    struct openai_piece *extras; /* in a stream: not written yet */
    struct citations *cites;     /* of the first choice; NULL: none came */
    str usage;                   /* JSON, or "" */
    struct arena_text usage_text;
    size_t chunk_at;     /* where the JSON of the current chunk begins */
    bool shown;          /* reasoning was written */
    bool usage_reported; /* by a relayed frame */
    /* The result of the last touched frame, for frames that differ only in their text. */
    unsigned shape;
    bool quiet;               /* it wrote nothing */
    size_t chunk_head;        /* its only chunk: bytes of data before the choices, */
    uint32_t chunk_of;        /* the choice it belongs to, */
    uint16_t chunk_tail_size; /* and its end; 0 if it was not a single chunk */
    uint16_t chunk_tail_room; /* for up to OPENAI_TAIL_MAX bytes */
    char *chunk_tail;
    /* The position of `"usage": null` in the last untouched frame, from both ends of its data. */
    unsigned null_shape;
    size_t null_from, null_left, null_size;
};

void openai_encode(struct wire_encoder *en, const struct chat_event *ev);
/* Usage that the gateway counted, as the last chunk of a relayed stream, if the client asked. */
void openai_encode_counted_usage(struct wire_encoder *en, const struct chat_event *ev);
void openai_relay(struct wire_encoder *en, const struct wire_frame *f,
                  const struct chat_event *events, size_t n, bool touched);

struct openai_said *openai_said(struct wire_encoder *en, uint32_t choice);
struct openai_said_call *openai_said_call(struct openai_said *c, uint32_t block);
struct openai_said_call *openai_said_call_new(struct wire_encoder *en, struct openai_said *c,
                                              const struct chat_event *ev);
void openai_piece_add(struct wire_encoder *en, struct openai_piece **list, str name, str json);
/* Writes `,"name":value` for each, with its pieces joined. */
void openai_pieces_write(const struct openai_piece *list, struct arena *a, struct buf *out);
const char *openai_finish(const struct chat_event *stop);
void openai_usage_write(const struct chat_usage *u, struct buf *out);
/* Whether a delta can express this event; and writes the delta, with its braces. */
bool openai_says(struct openai_said *c, const struct chat_event *ev);
void openai_delta(struct wire_encoder *en, struct openai_said *c, const struct chat_event *ev,
                  struct buf *out);
/* Takes the head of all chunks from a relayed chunk. */
void openai_take_head(struct wire_encoder *en, const struct json *doc);
/* unrequested_usage.c. Whether a chunk only reports usage that the client did not request. */
bool openai_unrequested_chunk(const struct wire_encoder *en, const struct json *doc);
/* Removes `"usage": null` from a chunk for such a client. */
void openai_unrequested_edit(const struct wire_encoder *en, const struct json *doc,
                             struct json_edits *ed);
/* Passes an untouched frame on, without `"usage": null` for such a client. The second form does so
 * for a frame that repeats the last one, or a row of them; false if the frame must be parsed. */
void openai_unrequested_pass(struct wire_encoder *en, const struct wire_frame *f);
bool openai_unrequested_again(struct wire_encoder *en, const struct wire_frame *f) MUST_USE;
void openai_encode_whole(struct wire_encoder *en, const struct chat_event *ev);
