/* request_reader.h - reads a client's body and reports errors with the path of the member.
 *
 * The path and the sentence are those of the dialect's own servers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

/* Where one stands in the body: a chain up to the root, on the stack of the readers. */
struct request_path {
    const struct request_path *up;
    const char *key; /* or NULL: an index */
    size_t index;
};

struct request_reader {
    const struct json *doc;
    struct arena *a;
    struct err *e;
    struct chat_request *out; /* what is being read, if the reader keeps it here */
    bool brackets;            /* messages[0].content, not messages.0.content */
};

/* "messages.0.content.1.type: what"; the key may have dots in it, or be NULL. Always false. */
bool request_fail(const struct request_reader *r, const struct request_path *at, const char *key,
                  const char *what);

/* The member has a value that we do not know: only a provider of the same dialect can judge it. The
 * reading goes on, and r->out keeps the error for providers of other dialects. Always true. */
bool request_defer_error(const struct request_reader *r, const struct request_path *at,
                         const char *key, const char *what);
/* The same of a member that says how much to think: it counts as thinking of any amount. */
bool request_defer_level(const struct request_reader *r, const struct request_path *at,
                         const char *key, const char *what);

/* Zeroed things in the arena; false with ERR_LIMIT if there are too many for it. */
bool request_alloc(const struct request_reader *r, size_t n, size_t size, void *out) MUST_USE;

/* Members of v. Absent or null: true, and out untouched. */
bool request_read_text(const struct request_reader *r, const struct request_path *at,
                       const struct json_node *v, const char *key, str *out) MUST_USE;
bool request_read_bool(const struct request_reader *r, const struct request_path *at,
                       const struct json_node *v, const char *key, bool *out, bool *given) MUST_USE;
/* An array of texts. */
bool request_read_texts(const struct request_reader *r, const struct request_path *at,
                        const struct json_node *v, const char *key, str **out,
                        size_t *count) MUST_USE;
/* A text that must be there. */
bool request_require_text(const struct request_reader *r, const struct request_path *at,
                          const struct json_node *v, const char *key, str *out) MUST_USE;

/* ---- what Responses and Ollama are told in the same words ---- */

/* `model`, which must be there, and `stream`, into r->out. */
bool request_read_head(const struct request_reader *r, const struct json_node *root) MUST_USE;
/* The name, the description and the parameters of a function. */
bool request_read_function(const struct request_reader *r, const struct request_path *at,
                           const struct json_node *v, struct chat_tool *out) MUST_USE;
/* Each of `tools` by a reader, into r->out. */
bool request_read_tools(const struct request_reader *r, const struct json_node *root,
                        bool (*read)(const struct request_reader *r, const struct request_path *at,
                                     const struct json_node *v, struct chat_tool *out)) MUST_USE;
