/* spare.h - a thread's cache of small and medium pieces of memory.
 *
 *     spare_open();                      once, in a thread that serves many short-lived things
 *     p = spare_alloc(&size);            size grows to what p really has
 *     spare_free(p, size);
 *     spare_close();                     before the thread ends
 *
 * A request needs a dozen short-lived pieces of memory: blocks of arenas, buffers, tapes. malloc is
 * slow for them, especially for the larger ones. Here they are reused: the caller of spare_free
 * passes the size, so freeing and allocating is a push and a pop. If a thread did not call
 * spare_open, or under a sanitizer, the functions use malloc and free. Another thread than the one
 * that allocated a piece may free it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/base.h"

#define SPARE_SIZE_MIN 64    /* smaller requests are rounded up */
#define SPARE_SIZE_MAX 32768 /* larger ones use malloc */

void spare_open(void);
void spare_close(void);
/* Never NULL. *size is the requested size, and then the actual size. */
void *spare_alloc(size_t *size) MUST_USE;
/* size is the one that spare_alloc returned, or 0 with NULL. */
void spare_free(void *p, size_t size);
/* Moves the first `used` bytes into a piece of *size or more. */
void *spare_grow(void *p, size_t old_size, size_t used, size_t *size) MUST_USE;
