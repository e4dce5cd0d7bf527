/* secret.h - a key or token that nothing prints by mistake.
 *
 *     struct secret key;
 *     if (!secret_init(&key, str_c(getenv("API_KEY")), e))
 *         return false;
 *     header_add(h, STR("x-api-key"), secret_reveal(&key));
 *     secret_release(&key);
 *
 * The bytes live in pages of their own, away from the heap, which are not swapped out and not in a
 * core dump as far as the system allows it. The struct has nothing a printf or a log field would
 * take: the type behind its pointer is known to secret.c alone, so secret_reveal is the one way to
 * the bytes, and one grep finds every use.
 *
 * Promises:
 *   - secret_release overwrites the bytes before the memory goes back.
 *   - How long secret_equal takes says nothing but whether the sizes agree.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define SECRET_SIZE_MAX 16384 /* a key is short; a private key in PEM fits */

struct secret_page;

/* All zero it is empty, and may be revealed, compared and released. */
struct secret {
    struct secret_page *page;
};

/* Copies the bytes; what they were copied from is the caller's to overwrite (secret_wipe). */
bool secret_init(struct secret *s, str bytes, struct err *e) MUST_USE;
void secret_release(struct secret *s);

/* Lent until the release. The bytes are followed by a NUL, which does not count. */
str secret_reveal(const struct secret *s);

/* Whether it is what was given, as when a client shows its token. An empty one equals nothing. */
bool secret_equal(const struct secret *s, str given);

/* From here on the process leaves no core dump, nor do its children: a secret also stands where it
 * came from (the environment) and where it is used (a request), outside its own pages. */
void secret_no_dumps(void);

/* Overwrites memory in a way that the compiler does not leave out. */
void secret_wipe(void *bytes, size_t size);
