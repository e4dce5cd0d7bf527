/* responses.h - shared by the files of the Responses dialect, and its interface for the gateway.
 *
 * A reply of this API is a list of items: messages of several parts, reasoning, function calls, and
 * calls of tools that the host runs itself. As chat events:
 *
 *     message part          its own TEXT or REFUSAL block; annotations: OPAQUE of that block, with
 *                           the name "annotations"
 *     reasoning item        one REASONING block for its summary and one for its raw text, if it has
 *                           both; parts of one kind are joined by a blank line, which is an event
 *                           without a node. With encrypted content: a SIGNATURE, the raw item
 *     function call         CALL and ARGUMENTS; before it KEEP "reasoning_item", the raw item that
 *                           preceded it
 *     any other item        OPAQUE, the raw item
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/internal.h"
#include "wire/settings.h"

#define RESPONSES_KEEP "reasoning_item"
#define RESPONSES_OWN "_rationale_" /* in the ids of items that we made: rs_rationale_ID_0 */
#define RESPONSES_JOINT "\n\n"
#define RESPONSES_INDEX_MAX (1 << 20) /* of items and parts; larger values count as 0 */

bool responses_read(const struct json *doc, struct arena *a, struct chat_request *out,
                    struct err *e);
extern const struct settings responses_settings;
/* Reads everything except the input. */
bool responses_read_settings(const struct request_reader *r, const struct json_node *root) MUST_USE;
/* Reads one tool of a list. */
typedef bool responses_tool_reader(const struct request_reader *r, const struct request_path *at,
                                   const struct json_node *v, struct chat_tool *out);
/* Replaces namespaces among the tools, which were read with `read`, by their tools. */
bool responses_read_namespaces(const struct request_reader *r, const struct json_node *root,
                               responses_tool_reader *read) MUST_USE;
/* The name of a call's tool, with its namespace. */
str responses_call_name(const struct json *doc, const struct json_node *call, struct arena *a);
void responses_write(const struct chat_request *r, struct buf *out);
void responses_patch(const struct json *doc, const struct wire_plan *plan,
                     struct json_edits *edits);

void responses_decode(struct wire_decoder *d, const struct wire_frame *f);
void responses_decode_whole(struct wire_decoder *d, const struct wire_frame *f);

void responses_encode(struct wire_encoder *en, const struct chat_event *ev);
void responses_relay(struct wire_encoder *en, const struct wire_frame *f,
                     const struct chat_event *events, size_t n, bool touched);

void responses_write_error(const struct chat_error *error, struct buf *out);
void responses_read_error(const struct json *doc, struct arena *a, struct chat_error *out);
/* The HTTP status for an error code of a failed response. */
int responses_error_status(str code);
/* Members of an error object: message, type, code, param. */
void responses_error_members(const struct json *doc, const struct json_node *v, struct arena *a,
                             struct chat_error *out);

/* A member that is an integer in bounds, else `or_else`. */
uint32_t responses_index(const struct json *doc, const struct json_node *v, const char *key,
                         uint32_t or_else);
