/* encode.h - the state of a Responses encoder, which its relay continues from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/citations.h"
#include "wire/responses/responses.h"

#define RESPONSES_EXTRAS_MAX 32
#define RESPONSES_NOTES_MAX 1024 /* annotations of one text */
#define RESPONSES_OPENING_MAX                                                                      \
    2 /* frames that begin a message: of its item, and of its first part */

enum responses_open { OPEN_NONE, OPEN_MESSAGE, OPEN_REASONING };

/* An open function call; several may be open, because their arguments may be interleaved. */
struct responses_call {
    struct responses_call *next;
    uint32_t block, index;
    str id, name; /* the name: its members as JSON */
    bool custom;
    struct rope arguments; /* as the inside of a JSON string */
};

/* The names that the two kinds of calls use. */
struct responses_call_words {
    const char *prefix, *type, *member, *delta, *done;
};
const struct responses_call_words *responses_call_words(const struct responses_call *c);
/* The members of a call for a tool with this name: its name, and its namespace if it has one. */
str responses_call_name_members(struct wire_encoder *en, str name);
/* The arguments of a custom call, {"input": TEXT}, become the text. */
void responses_unwrap(struct wire_encoder *en, struct responses_call *c);

/* A finished item, as in the final response. */
struct responses_entry {
    uint32_t index; /* its output_index */
    const struct rope *rope;
    struct rope_mark from, to;
};

/* A text that a relay has passed on from deltas. */
struct responses_sent {
    struct responses_sent *next;
    uint32_t index, part; /* of the provider's item; of the text in it */
    int kind;
    str item_id; /* as JSON, or "" */
    bool touched;
    bool whole;       /* not by deltas, and unchanged: `text` is empty */
    struct rope text; /* the text sent, as the inside of a JSON string */
};

/* An item of ours among the provider's: it follows the provider's item `after`. */
struct responses_insert {
    int64_t after;
    struct rope_mark from, to;
};

/* A frame that begins a message, which waits for its text: its name, its data, its bytes. */
struct responses_opening {
    struct arena_text bytes;
    size_t name, data; /* their sizes */
};

struct responses_encoder {
    struct rope done;                /* items, one after the other; the last may be open */
    struct responses_entry *entries; /* by output_index */
    uint32_t entry_count, entry_cap;
    uint32_t items;           /* started so far */
    uint64_t sequence;        /* the next event's number */
    bool begun;               /* response.created was sent */
    enum responses_open open; /* and its place in `done` */
    uint32_t index;           /* its output_index */
    struct rope_mark item_at; /* where it begins */
    struct rope_mark part_at; /* where its open part begins, and its text */
    struct rope_mark text_at;
    uint32_t block, part;
    bool part_open, refusal;
    struct citations cites;
    str *notes;      /* annotations of the open text, or the next */
    str notes_whole; /* all of them, if they came in one list of this dialect */
    uint32_t note_count;
    struct arena_text logprobs; /* likewise, separated by commas */
    str sealed;                 /* the raw item that the provider signed, or "" */
    struct responses_call *calls, **calls_end;
    struct chat_usage usage;
    bool has_usage, has_stop, has_failed;
    enum chat_stop stop;
    struct {
        str name, json;
    } extras[RESPONSES_EXTRAS_MAX];
    size_t extra_count;

    /* For a relay. */
    bool relaying, hidden;
    bool took_over;      /* events continue after the last frame */
    str response_id;     /* the provider's, as JSON */
    struct rope relayed; /* its finished items */
    struct {
        bool open, reasoning;
        uint32_t index;
        str id;       /* as JSON */
    } item;           /* the provider's latest item */
    int64_t shift;    /* distance of our event numbers from the provider's */
    int64_t seen_max; /* the provider's highest output_index */
    struct responses_sent *sent;
    size_t sent_count;
    struct responses_insert *inserts; /* at most as many as a reply may have blocks */
    size_t insert_count, insert_max;
    char *held; /* a frame that begins a part of reasoning, which may still be hidden */
    size_t held_size, held_cap;
    struct responses_opening opening[RESPONSES_OPENING_MAX];
    size_t opening_count;
    uint32_t opening_index; /* of their item */
};

/* responses_notes.c: copies a text that is written again later to the arena; a reply that fills the
 * arena is too large. responses_kept_line: the same for JSON in an event, which has one line. */
str responses_kept(struct wire_encoder *en, str s);
str responses_kept_line(struct wire_encoder *en, str json);
/* Adds annotations of either of OpenAI's dialects, or Chat's logprobs. The take functions return
 * them as JSON and empty the list. */
void responses_notes_add(struct wire_encoder *en, str list, enum chat_dialect dialect);
void responses_logprobs_add(struct wire_encoder *en, str json);
str responses_notes_take(struct wire_encoder *en);
str responses_logprobs_take(struct wire_encoder *en);
void responses_encode_event_end(struct wire_encoder *en);
/* Adds a finished item: the bytes of the rope between the marks. */
void responses_entry_add(struct wire_encoder *en, struct responses_entry entry);
/* The relayed frames have ended, but the reply has not: closes open items, and the encoder
 * continues from there. */
void responses_take_over(struct wire_encoder *en);
/* A new item's output_index: the encoder's own count, or the next free one of a relay. */
uint32_t responses_item_index(struct wire_encoder *en);
void responses_close_all(struct wire_encoder *en);
void responses_content(struct wire_encoder *en, const struct chat_event *ev);
/* The reply is larger than we hold: writes an error, once. */
bool responses_full(struct wire_encoder *en);
/* Writes the response object, its output from `done`. */
void responses_object(struct wire_encoder *en, const char *status, const struct chat_error *error,
                      struct buf *out);
