/* piece.h - small tools of the dialects with content blocks: text that grows in an arena, a whole
 * reply gathered block by block, a frame with a few values replaced.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/internal.h"

/* Text that grows in an arena up to a ceiling, and is used again after piece_reset. It is sticky:
 * once something did not fit, it is full and takes no more. */
struct piece {
    char *p;
    size_t n, cap;
    bool full;
};

#define PIECE_SIZE_MAX ((size_t)64 << 20)

void piece_add(struct piece *t, struct arena *a, str s);
void piece_reset(struct piece *t);
str piece_str(const struct piece *t);

/* Whether the arena has room for so many bytes, and for what else must still go in. */
bool piece_room(const struct arena *a, size_t size);

/* A copy in the arena; "" if there is no room. */
str piece_dup(struct arena *a, str s);

/* ---- a reply gathered: what a whole body is written from ---- */

enum gather_kind { GATHER_TEXT, GATHER_THINK, GATHER_REDACTED, GATHER_CALL, GATHER_OPAQUE };

struct gather_block {
    struct gather_block *next;
    enum gather_kind kind;
    uint32_t choice, block;
    str id, name;
    struct piece text;  /* or the arguments, or the data, or the raw JSON */
    struct piece extra; /* the signature; citations, with commas between them */
};

struct gather_extra {
    struct gather_extra *next;
    str name, json;
};

struct gather {
    struct gather_block *first, *last;
    struct gather_extra *extras, *last_extra;
    size_t count, extra_count;
    struct chat_usage usage;
    enum chat_stop stop;
    str stop_name, id, model;
    bool begun, stopped, refused, called, full;
};

/* Makes one of all zeroes ready; gather_event does so by itself. */
void gather_begin(struct gather *g);
/* Takes one event of a reply. Signatures, opaque blocks and extras are taken if they are of the
 * dialect; texts are copied into the arena. */
void gather_event(struct gather *g, struct arena *a, const struct chat_event *ev,
                  enum chat_dialect dialect);

/* ---- a frame with values replaced ---- */

struct patchwork {
    const struct json_node *node;
    str with; /* a JSON text, or with `quote` a text that becomes a JSON string */
    bool quote;
};

#define PATCHWORK_MAX 16

/* The source with those values replaced, in the order of their places. With `sse`, line ends in it
 * go on as further data lines. */
void patchwork_write(const struct json *doc, struct patchwork *list, size_t n, bool sse,
                     struct buf *out);

/* Adds a JSON text to an SSE event: line ends in it go on as further data lines. */
void sse_data(struct buf *out, str json);

/* The integer of a member, or -1. */
int64_t piece_count(const struct json *doc, const struct json_node *v, str key);
/* The text of a member, or "". */
str piece_text(const struct json *doc, const struct json_node *v, str key, struct arena *a);

/* ---- writing requests ---- */

/* An object written as JSON: the text if it is one, {} if it is empty, else {"arguments": text}. */
void piece_object(struct json_out *o, str json, bool sse);
/* A schema for a tool's arguments: an object with a type in any case. */
void piece_schema(struct json_out *o, str schema);
/* "data:MIME;base64,DATA" taken apart; false if it is no such thing. */
bool piece_data_url(str url, str *mime, str *data) MUST_USE;
/* The text that base64 stands for; false if it is none. */
bool piece_base64(str data, struct buf *out) MUST_USE;
/* A key and a text, or nothing if the text is empty. */
void piece_put(struct json_out *o, const char *key, str text);
/* The same for a JSON value that is already written. */
void piece_put_raw(struct json_out *o, const char *key, str json);
/* A value of the provider's as it stands; in an SSE event its line ends need care. */
void piece_value(struct json_out *o, str json, bool sse);
/* What a JSON number says; 0 if it is none. */
double piece_number(str json);
