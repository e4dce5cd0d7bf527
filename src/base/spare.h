/* spare.h - memory of small and middling size, kept by a thread for what it asks for next.
 *
 *     spare_open();                      once, in a thread that serves many short-lived things
 *     p = spare_alloc(&size);            size grows to what p really has
 *     spare_free(p, size);
 *     spare_close();                     before the thread ends
 *
 * A request needs a dozen pieces that are gone with it: blocks of arenas, buffers, tapes. malloc
 * works hard for the larger ones and not a little for the others. These go round here instead: a
 * piece has its size from who frees it, so giving and taking is a push and a pop. Where a thread
 * did not open a store, and under a sanitizer that wants to see each of them, it is malloc and
 * free. A piece may be freed by another thread than the one that asked for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/base.h"

#define SPARE_SIZE_MIN 64    /* less is as much */
#define SPARE_SIZE_MAX 32768 /* more is left to malloc */

void spare_open(void);
void spare_close(void);
/* Never NULL. *size is what is asked for, and then what there is. */
void *spare_alloc(size_t *size) MUST_USE;
/* size is what spare_alloc gave, or 0 with NULL. */
void spare_free(void *p, size_t size);
/* Moves the first `used` bytes into a piece of *size or more. */
void *spare_grow(void *p, size_t old_size, size_t used, size_t *size) MUST_USE;
