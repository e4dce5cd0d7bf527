/* gemini.h - shared by the files of the Gemini dialect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/assemble_reply.h"
#include "wire/citations.h"
#include "wire/json_replace.h"
#include "wire/settings.h"

#define GEMINI_CHOICES_MAX 8

bool gemini_read(const struct json *doc, struct arena *a, struct chat_request *out,
                 struct err *e) MUST_USE;
void gemini_write(const struct chat_request *r, struct buf *out);
void gemini_patch(const struct json *doc, const struct wire_plan *plan, struct json_edits *ed);
void gemini_decode(struct wire_decoder *d, const struct wire_frame *f);
void gemini_decode_whole(struct wire_decoder *d, const struct wire_frame *f);
void gemini_decode_end(struct wire_decoder *d);
void gemini_encode(struct wire_encoder *en, const struct chat_event *ev);
void gemini_note(struct wire_encoder *en, str words);
void gemini_relay(struct wire_encoder *en, const struct wire_frame *f,
                  const struct chat_event *events, size_t n, bool touched);
void gemini_write_error(const struct chat_error *error, struct buf *out);
void gemini_read_error(const struct json *doc, struct arena *a, struct chat_error *out);
/* The same for one chunk of a list. */
void gemini_read_error_of(const struct json *doc, const struct json_node *v, struct arena *a,
                          struct chat_error *out);

extern const struct settings gemini_settings;
/* Parts of the reader: tools and tool choice, generationConfig. */
bool gemini_read_config(const struct request_reader *r, const struct json_node *root,
                        struct chat_request *out) MUST_USE;
bool gemini_read_tools(const struct request_reader *r, const struct json_node *root,
                       struct chat_request *out) MUST_USE;

/* Finds a member under both spellings: camelCase, as given, and snake_case. */
const struct json_node *gemini_find(const struct json *doc, const struct json_node *v,
                                    const char *camel);
/* The spelling that the body uses for a member; camelCase if it is absent. */
str gemini_key(const struct json *doc, const struct json_node *v, const char *camel,
               struct arena *a);

/* Converts a schema of Gemini's OpenAPI kind to JSON Schema: types in lower case, nullable as a
 * type. In the arena if it was changed, else the original. */
str gemini_schema(const struct json *doc, const struct json_node *v, struct arena *a);

/* The choice number of a candidate: its index, or its position among the others if its index is
 * missing or invalid. The only candidate of a whole reply is the first. */
int64_t gemini_choice(const struct json *doc, const struct json_node *candidate, int64_t place,
                      bool only);

str gemini_stop_name(enum chat_stop stop, str name);
enum chat_stop gemini_stop_of(str name);

/* ---- arguments that arrive in pieces ---- */

struct gemini_args_node;
struct gemini_args {
    struct gemini_args_node *root;
    size_t count;
    bool broken; /* a value is missing */
};
/* Adds one element of partialArgs: {jsonPath, stringValue | numberValue | boolValue |
 * nullValue}. */
void gemini_args_add(struct gemini_args *args, struct arena *a, const struct json *doc,
                     const struct json_node *partial, struct arena *scratch);
void gemini_args_write(const struct gemini_args *args, struct buf *out);

/* ---- states ---- */

enum gemini_kind { GEMINI_NONE, GEMINI_TEXT, GEMINI_THINK, GEMINI_CALL, GEMINI_OTHER };

struct gemini_candidate {
    enum gemini_kind open;
    uint32_t block, blocks;
    bool called, stopped, in_args;
    enum chat_stop stop;
    str stop_name, stop_message;
    struct gemini_args args; /* of a call whose arguments arrive in pieces */
};

struct gemini_decoder {
    struct gemini_candidate candidates[GEMINI_CHOICES_MAX];
    str id; /* responseId, for the ids of calls */
    uint32_t calls;
    bool extras_said;
};

/* How a candidate that is written has ended. */
struct gemini_ending {
    bool begun, stopped, refused;
    enum chat_stop stop;
    str name;
};

struct gemini_encoder {
    struct citations cites;
    struct gemini_ending endings[GEMINI_CHOICES_MAX];
    struct assembled_reply gather;  /* whole: everything; streamed: usage, stop, extras */
    struct assembled_reply pending; /* calls with incomplete arguments */
    bool array, finished, begun;    /* begun: part of the stream was written */
    bool relayed, thinking;         /* thinking: the last text written was reasoning */
    bool ended;                     /* a relayed chunk had the end, and nothing came since */
};

/* Written around a chunk of a stream: an SSE event, or an element of the array. */
void gemini_chunk_begin(struct wire_encoder *en);
void gemini_chunk_end(struct wire_encoder *en);
void gemini_part_json(const struct assembled_block *b, bool sse, struct json_out *o);
