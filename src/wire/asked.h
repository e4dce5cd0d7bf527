/* asked.h - reading a client's body: members with a path, so that an error names the one at fault.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

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
};

/* "messages.0.content.1.type: what". Always false. */
bool asked_bad(const struct asked *r, const struct asked_at *at, const char *key, const char *what);

/* Zeroed things in the arena; false with ERR_LIMIT if there are too many for it. */
bool asked_alloc(const struct asked *r, size_t n, size_t size, void *out) MUST_USE;

/* Members of v. Absent or null: true, and out untouched. */
bool asked_text(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                const char *key, str *out) MUST_USE;
bool asked_bool(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                const char *key, bool *out, bool *given) MUST_USE;
/* The number's text, if it is between the two; whole: without a fraction. */
bool asked_number(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                  const char *key, double min, double max, bool whole, str *out) MUST_USE;
/* An array of texts. */
bool asked_texts(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                 const char *key, str **out, size_t *count) MUST_USE;
/* A text that must be there. */
bool asked_need_text(const struct asked *r, const struct asked_at *at, const struct json_node *v,
                     const char *key, str *out) MUST_USE;

/* A member that is there and not null, or NULL. */
const struct json_node *asked_find(const struct asked *r, const struct json_node *v,
                                   const char *key);
