/* json_write.h - writes JSON members and SSE frames for all dialects, beyond base/json.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

/* A key and a text; nothing if the text is empty. */
void json_write_text(struct json_out *o, const char *key, str text);
/* A key and a value that is already JSON; nothing if it is empty. */
void json_write_raw(struct json_out *o, const char *key, str json);
/* A key and a list of texts; nothing if the list is empty. */
void json_write_texts(struct json_out *o, const char *key, const str *texts, size_t n);
/* A key and a part's data: "data:MIME;base64,DATA", or its address. */
void json_write_url(struct json_out *o, const char *key, const struct chat_part *p);
/* The JSON of a member of the client's body, or of its object `in` (or NULL); empty if it is absent
 * or null. */
str request_member_raw(const struct chat_request *r, const char *in, const char *name);
/* Whether a client of one of OpenAI's dialects asks for log-probabilities; *top is the number of
 * alternatives to each token, or "". */
bool request_wants_logprobs(const struct chat_request *r, str *top);
/* The members that Chat Completions and Responses share, and that chat.h does not have. */
void json_write_shared(struct json_out *o, const struct chat_request *r);
/* For dialects that require a first user message, if the request has none. */
#define SILENT_USER_TEXT "(The user has said nothing yet.)"
/* Begins {"type": TYPE; the caller ends the object. */
void json_write_typed(struct json_out *o, const char *type);

/* Whether a JSON text has line ends, of any kind. */
bool json_has_lines(str json);
/* A value of the provider, unchanged; in an SSE event its line ends need care. */
void json_write_value(struct json_out *o, str json, bool sse);
/* Arguments as an object: the text if it is one, {} if it is empty, else {"arguments": text}. */
void json_write_arguments(struct json_out *o, str json, bool sse);
/* A schema for a tool's arguments: always an object with a type. */
void json_write_schema(struct json_out *o, str schema);
/* The member `tools`, as a provider of this dialect takes it; nothing if no tool goes to it. */
void json_write_tools(struct json_out *o, const struct chat_request *r, enum chat_dialect to);
/* The member `tool_choice` of OpenAI's dialects and Mistral; nothing if no tool goes to it. */
void json_write_choice(struct json_out *o, const struct chat_request *r, enum chat_dialect to);
/* Audio with its data, as the members `type` and `input_audio` of a part; false: it is not that. */
bool json_write_audio(struct json_out *o, const struct chat_part *p) MUST_USE;

/* JSON from a template, in the arena: %q is a str as a JSON string, %j a str that is JSON already,
 * %d an int64_t; ' is written as a double quote.
 *
 *     json_format(a, "{'role':'user','content':%q}", text) */
str json_format(struct arena *a, const char *format, ...);
/* The same, appended to a buffer. */
void json_print(struct buf *out, const char *format, ...);
/* A text as a JSON string, in the arena. */
str json_quoted(struct arena *a, str text);
/* Appends a text as the inside of a JSON string to `out`; returns that part of it. */
str json_escaped(struct buf *out, str text);
/* Whether OpenAI accepts the schema as strict: every object lists all its members as required and
 * allows no others. Clients of OpenAI's dialects know this; strict means less in other dialects. */
bool schema_is_strict(const struct chat_request *r, bool strict, str schema);

/* An SSE event of JSON begins with "event: NAME\ndata: " (only "data: " if the name is empty). The
 * JSON follows, and sse_end writes the blank line. */
void sse_begin(struct buf *out, str name);
void sse_end(struct buf *out);
/* The same end, for JSON from offset `from` on that may have several lines. */
void sse_end_lines(struct buf *out, size_t from);
/* Joins JSON from offset `from` on, which may have several lines, to one line. */
void json_join_lines(struct buf *out, size_t from);
/* A JSON text in an SSE event: its further lines become further data lines. */
void sse_data(struct buf *out, str json);
