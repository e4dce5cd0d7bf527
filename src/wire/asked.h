/* asked.h - reading a client's body: members with a path, so that an error names the one at fault,
 * spelt as the dialect's own servers spell it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

/* Where one stands in the body: a chain up to the root, on the stack of the readers. */
struct asked_at {
    const struct asked_at *up;
    const char *key; /* or NULL: an index */
    size_t index;
};

struct asked {
    const struct json *doc;
    struct arena *a;
    struct err *e;
    struct chat_request *out; /* what is being read, if the reader keeps it here */
    bool brackets;            /* messages[0].content, not messages.0.content */
};

/* "messages.0.content.1.type: what"; the key may have dots in it, or be NULL. Always false. */
bool asked_bad(const struct asked *r, const struct asked_at *at, const char *key, const char *what);

/* The member has a value that we do not know: only a provider of the same dialect can judge it. The
 * reading goes on, and r->out keeps the error for providers of other dialects. Always true. */
bool asked_defer_error(const struct asked *r, const struct asked_at *at, const char *key,
                       const char *what);
/* The same of a member that says how much to think: it counts as thinking of any amount. */
bool asked_defer_level(const struct asked *r, const struct asked_at *at, const char *key,
                       const char *what);

/* Zeroed things in the arena; false with ERR_LIMIT if there are too many for it. */
bool asked_alloc(const struct asked *r, size_t n, size_t size, void *out) MUST_USE;

/* Members of v. Absent or null: true, and out untouched. */
bool asked_text(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                const char *key, str *out) MUST_USE;
bool asked_bool(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                const char *key, bool *out, bool *given) MUST_USE;
/* The number's text, if it is between the two; whole: without a fraction. Any other value is left
 * to providers of the same dialect. */
bool asked_number(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                  const char *key, double min, double max, bool whole, str *out) MUST_USE;
/* An array of texts. */
bool asked_texts(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                 const char *key, str **out, size_t *count) MUST_USE;
/* A text that must be there. */
bool asked_need_text(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                     const char *key, str *out) MUST_USE;

/* ---- what Responses and Ollama are told in the same words ---- */

/* `model`, which must be there, and `stream`, into r->out. */
bool asked_head(const struct asked *r, const struct json_node *root) MUST_USE;
/* The name, the description and the parameters of a function. */
bool asked_function(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                    struct chat_tool *out) MUST_USE;
/* Each of `tools` by a reader, into r->out. */
bool asked_tools(const struct asked *r, const struct json_node *root,
                 bool (*read)(const struct asked *r, const struct asked_at *at,
                              const struct json_node *v, struct chat_tool *out)) MUST_USE;
