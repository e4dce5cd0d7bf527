/* message_parts.h - the messages, parts and tools of a request, as the readers build them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

/* A request, a part and a tool with nothing in them. */
void part_request_init(struct chat_request *out, enum chat_dialect dialect, const struct json *doc);
struct chat_part part_new(enum chat_part_kind kind, enum chat_dialect dialect);
struct chat_tool part_tool(enum chat_dialect dialect);
/* The same in the arena. */
struct chat_part *part_text_new(struct arena *a, str text, enum chat_dialect dialect);

/* Parts of a message that is being read. */
struct parts {
    struct chat_part *p;
    size_t n, cap;
};
/* The answer is valid until the next is added. */
struct chat_part *parts_add(struct parts *list, struct arena *a, enum chat_part_kind kind,
                            enum chat_dialect dialect);
/* Messages from parts: results of tools are messages of their own, role TOOL. `out` must have room
 * for as many as there are parts, and for one if there are none. */
size_t parts_to_messages(struct chat_part *parts, size_t n, enum chat_role role,
                         struct chat_message *out);

/* The kind of choice that "auto", "none" and "required" stand for; false if v is none of them. */
bool part_choice_word(const struct json *doc, const struct json_node *v,
                      enum chat_choice_kind *out) MUST_USE;

/* Of the functions only those that are allowed may be called: all are barred, then some are not. */
void part_tools_bar(struct chat_request *q);
void part_tool_allow(struct chat_request *q, str name);
/* A tool that takes a text, which may have to be of a grammar: as a function of one text. */
void part_tool_custom(const struct json *doc, const struct json_node *v, struct arena *a,
                      struct chat_tool *t);
bool part_is_custom(const struct chat_request *r, str name);
/* The arguments of such a function; `input` is a JSON string or NULL. */
str part_custom_arguments(const struct json *doc, const struct json_node *input, struct arena *a);
/* And back: the text in them, or all of them if there is none. */
str part_custom_input(str arguments, struct arena *a);
/* How many tools a provider of this dialect is given. */
size_t part_tools_going(const struct chat_request *r, enum chat_dialect to);

/* "data:MIME;base64,DATA" taken apart; false if it is no such thing. */
bool part_data_url(str url, str *mime, str *data) MUST_USE;
/* The same into mime and data; anything else into url. */
void part_set_url(str url, struct chat_part *out);
/* The text that base64 stands for; false if it is none. */
bool part_base64(str data, struct buf *out) MUST_USE;
/* What a JSON number says; 0 if it is none. */
double part_number(str json);

/* The name of the call that has this id, in the messages before `end`; "" if it is not there, or
 * so far back that a long history would be read again for every result. */
str part_call_name(const struct chat_request *r, size_t end, str id);
