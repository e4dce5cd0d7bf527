/* message_parts.h - builds the messages, parts and tools of a request, for the readers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/map.h"
#include "chat/chat.h"

struct request_reader;

/* An empty request, part and tool. */
void part_request_init(struct chat_request *out, enum chat_dialect dialect, const struct json *doc);
struct chat_part part_new(enum chat_part_kind kind, enum chat_dialect dialect);
struct chat_tool part_tool(enum chat_dialect dialect);
/* A part of text, in the arena. */
struct chat_part *part_text_new(struct arena *a, str text, enum chat_dialect dialect);
/* A message that could not be read, as it is; false with ERR_LIMIT if it does not fit. */
bool part_message_opaque(const struct request_reader *r, const struct json_node *v,
                         enum chat_dialect dialect, struct chat_message *out) MUST_USE;

/* Parts of a message that is being read. A list that does not fit is `full`: it keeps its parts,
 * ignores all later ones, and its reader checks for that once. */
struct parts {
    struct chat_part *p;
    size_t n, cap;
    bool full;
    struct chat_part ignored; /* in place of a part that did not fit */
};
/* The result is valid until the next part is added. */
struct chat_part *parts_add(struct parts *list, const struct request_reader *r,
                            enum chat_part_kind kind, enum chat_dialect dialect);
/* False with ERR_LIMIT if some did not fit. */
bool parts_ok(const struct parts *list, struct err *e) MUST_USE;
/* Makes messages from parts: results of tools become separate messages with role TOOL. `out` must
 * have room for one message for each part, and at least for one. */
size_t parts_to_messages(struct chat_part *parts, size_t n, enum chat_role role,
                         struct chat_message *out);

/* The kind of choice that "auto", "none" and "required" mean; false if v is none of them. */
bool part_choice_word(const struct json *doc, const struct json_node *v,
                      enum chat_choice_kind *out) MUST_USE;

/* Only allowed functions may be called. Names are collected, and lent until the end, which bars all
 * other tools: both lists may be long. */
void part_allow_begin(struct map *allowed);
void part_allow(struct map *allowed, str name);
void part_allow_end(struct map *allowed, struct chat_request *q);
/* The arguments of a call, a text or an object, as one JSON object. Invalid JSON, as a model may
 * write it, is wrapped as a string. */
str part_arguments(const struct json *doc, const struct json_node *v, struct arena *a);
/* A tool that takes a text, maybe of a grammar: converts it to a function with one text. */
void part_tool_custom(const struct json *doc, const struct json_node *v, struct arena *a,
                      struct chat_tool *t);
bool part_is_custom(const struct chat_request *r, str name);
/* The arguments of such a function; `input` is a JSON string or NULL. */
str part_custom_arguments(const struct json *doc, const struct json_node *input, struct arena *a);
/* The same of an input that arrives in pieces: the arguments' text for the next piece. */
str part_custom_piece(str input, bool first, bool last, struct arena *a);
/* The reverse: the text in them, or all of them if they contain none. */
str part_custom_input(str arguments, struct arena *a);
/* The number of tools that a provider of this dialect gets. */
size_t part_tools_going(const struct chat_request *r, enum chat_dialect to);

/* Splits "data:MIME;base64,DATA"; false if it has another form. */
bool part_data_url(str url, str *mime, str *data) MUST_USE;
/* The same into mime and data; anything else into url. */
void part_set_url(str url, struct chat_part *out);
/* Decodes base64 to text; false if it is not valid. */
bool part_base64(str data, struct buf *out) MUST_USE;
/* The value of a JSON number; 0 if it is not one. */
double part_number(str json);

/* The name of the call with this id, in the messages before `end`. "" if it is not found, or so far
 * back that every result would scan a long history again. */
str part_call_name(const struct chat_request *r, size_t end, str id);
