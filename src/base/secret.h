/* secret.h - a key or token that nothing prints by mistake.
 *
 *     struct secret key;
 *     if (!secret_init(&key, str_c(getenv("API_KEY")), e))
 *         return false;
 *     header_add(h, STR("x-api-key"), secret_reveal(&key));
 *     secret_release(&key);
 *
 * The bytes are in separate pages outside the heap, which are not swapped out and not in core
 * dumps, as far as the system allows it. The struct has no member that printf or a log field
 * accepts: only secret.c knows the type of its pointer. So secret_reveal is the only access to the
 * bytes, and one grep finds every use.
 *
 * Promises:
 *   - secret_release overwrites the bytes before it frees the memory.
 *   - The duration of secret_equal reveals only whether the sizes are equal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define SECRET_SIZE_MAX 16384 /* large enough for a private key in PEM */

struct secret_page;

/* A zeroed struct is an empty secret, which may be revealed, compared and released. */
struct secret {
    struct secret_page *page;
};

/* Copies the bytes; the caller must overwrite the source (secret_wipe). */
bool secret_init(struct secret *s, str bytes, struct err *e) MUST_USE;
void secret_release(struct secret *s);

/* Valid until secret_release. The bytes are followed by a NUL, which the size does not count. */
str secret_reveal(const struct secret *s);

/* Whether the secret equals `given`, for example a client's token. An empty secret equals
 * nothing. */
bool secret_equal(const struct secret *s, str given);

/* Disables core dumps of the process and its children, because copies of a secret are also in the
 * environment and in requests, outside its pages. */
void secret_no_dumps(void);

/* Overwrites memory; the compiler cannot optimize this away. */
void secret_wipe(void *bytes, size_t size);
