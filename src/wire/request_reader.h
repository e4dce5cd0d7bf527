/* request_reader.h - reads a client's body and reports errors with the path of the member.
 *
 * Path and message have the form that the dialect's own servers use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

/* The position in the body: a chain up to the root, on the stack of the readers. */
struct request_path {
    const struct request_path *up;
    const char *key; /* or NULL: an index */
    size_t index;
};

struct request_reader {
    const struct json *doc;
    struct arena *a;
    struct err *e;
    struct chat_request *out; /* the request being read, if the reader keeps it here */
    bool brackets;            /* messages[0].content, not messages.0.content */
};

/* Reports "messages.0.content.1.type: what"; the key may contain dots, or be NULL. Always false. */
bool request_fail(const struct request_reader *r, const struct request_path *at, const char *key,
                  const char *what);

/* The member has a value that we do not know: only a provider of the same dialect can judge it.
 * Reading continues, and r->out keeps the error for providers of other dialects. Always true. */
bool request_defer_error(const struct request_reader *r, const struct request_path *at,
                         const char *key, const char *what);
/* The same for a member that sets the amount of reasoning: it counts as reasoning of any amount. */
bool request_defer_level(const struct request_reader *r, const struct request_path *at,
                         const char *key, const char *what);
/* After a message or a tool could not be read: whether reading may continue without it. The error
 * is then deferred, as by request_defer_error. False if the request has reached a limit. */
bool request_defer_failure(const struct request_reader *r) MUST_USE;

/* Zeroed memory in the arena; false with ERR_LIMIT if it does not fit. Use it for lists whose
 * length the body decides: an arena that is full ends the process. */
bool request_alloc(const struct request_reader *r, size_t n, size_t size, void *out) MUST_USE;

/* Read members of v. Absent or null: true, and out is unchanged. */
bool request_read_text(const struct request_reader *r, const struct request_path *at,
                       const struct json_node *v, const char *key, str *out) MUST_USE;
bool request_read_bool(const struct request_reader *r, const struct request_path *at,
                       const struct json_node *v, const char *key, bool *out, bool *given) MUST_USE;
/* An array of texts. */
bool request_read_texts(const struct request_reader *r, const struct request_path *at,
                        const struct json_node *v, const char *key, str **out,
                        size_t *count) MUST_USE;
/* A required text. */
bool request_require_text(const struct request_reader *r, const struct request_path *at,
                          const struct json_node *v, const char *key, str *out) MUST_USE;

/* ---- shared by Responses and Ollama, with the same messages ---- */

/* Reads `model`, which is required, and `stream` into r->out. */
bool request_read_head(const struct request_reader *r, const struct json_node *root) MUST_USE;
/* Reads the name, the description and the parameters of a function. */
bool request_read_function(const struct request_reader *r, const struct request_path *at,
                           const struct json_node *v, struct chat_tool *out) MUST_USE;
/* Reads each of `tools` with `read`, into r->out. */
bool request_read_tools(const struct request_reader *r, const struct json_node *root,
                        bool (*read)(const struct request_reader *r, const struct request_path *at,
                                     const struct json_node *v, struct chat_tool *out)) MUST_USE;
