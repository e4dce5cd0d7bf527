/* scribe.h - lines appended to files by a thread of its own, so that no loop waits for a disk.
 *
 * Used for cassettes. A queue of at most SCRIBE_MAX bytes; what does not fit is dropped and said.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define SCRIBE_MAX ((size_t)64 << 20)

struct scribe;

struct scribe *scribe_new(void);
void scribe_free(struct scribe *s); /* writes what is queued */
/* Appends to the file at path; a new file begins with `head`. Any thread; both are copied. */
void scribe_add(struct scribe *s, str path, str head, str line);
