/* json_write.h - JSON members and SSE frames as all dialects write them, beyond base/json.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

/* A key and a text, or null where the text is empty. */
void json_write_text_or_null(struct json_out *o, const char *key, str text);
/* A key and a text; nothing if the text is empty. */
void json_write_text(struct json_out *o, const char *key, str text);
/* A key and a value that is already JSON; nothing if it is empty. */
void json_write_raw(struct json_out *o, const char *key, str json);
/* A key and a list of texts; nothing where there are none. */
void json_write_texts(struct json_out *o, const char *key, const str *texts, size_t n);
/* A key and where a part's data is: "data:MIME;base64,DATA", or its address. */
void json_write_url(struct json_out *o, const char *key, const struct chat_part *p);
/* The JSON of a member of the client's body, or of the object `in` of it (or NULL); empty if it is
 * absent or null. */
str request_member_raw(const struct chat_request *r, const char *in, const char *name);
/* The members that mean the same in Chat Completions and Responses, and have no place in chat.h. */
void json_write_shared(struct json_out *o, const struct chat_request *r);
/* For dialects that demand a first message of the user, if the request has none. */
#define SILENT_USER_TEXT "(The user has said nothing yet.)"
/* {"type": TYPE, which the caller ends. */
void json_write_typed(struct json_out *o, const char *type);

/* A value of the provider's as it stands; in an SSE event its line ends need care. */
void json_write_value(struct json_out *o, str json, bool sse);
/* Arguments as an object: the text if it is one, {} if it is empty, else {"arguments": text}. */
void json_write_arguments(struct json_out *o, str json, bool sse);
/* A schema for a tool's arguments: an object with a type in any case. */
void json_write_schema(struct json_out *o, str schema);
/* The parameters of a tool as they are, or those of a tool that takes none. */
str tool_parameters(const struct chat_tool *t);

/* JSON from a template, in the arena: %q is a str as a JSON string, %j a str that is JSON already,
 * %d an int64_t; ' stands for the double quote.
 *
 *     json_format(a, "{'role':'user','content':%q}", text) */
str json_format(struct arena *a, const char *format, ...);
/* A text as a JSON string, in the arena. */
str json_quoted(struct arena *a, str text);
/* A text as the inside of a JSON string, behind what is in `out`; the answer is that part of it. */
str json_escaped(struct buf *out, str text);
/* Whether OpenAI takes the schema as strict: every object names all its members as required, and
 * allows no others. Clients of its own dialects know; strict of others means less. */
bool schema_is_strict(const struct chat_request *r, bool strict, str schema);

/* An SSE event of JSON begins with "event: NAME\ndata: " ("data: " alone if the name is empty);
 * what is written between goes behind it, and the end is the blank line. */
void sse_begin(struct buf *out, str name);
void sse_end(struct buf *out);
/* The same end, for JSON that began there and may have come on several lines. */
void sse_end_lines(struct buf *out, size_t from);
/* JSON from there on, which may have come on several lines, on one. */
void json_join_lines(struct buf *out, size_t from);
/* A JSON text in an SSE event: line ends in it go on as further data lines. */
void sse_data(struct buf *out, str json);
