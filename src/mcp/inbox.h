/* inbox.h - a queue between the loop's thread and one that waits: items of bytes, then perhaps why
 * there will be no more.
 *
 * Within src/mcp only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#include <pthread.h>

struct mcp_item {
    struct mcp_item *next;
    int kind;
    size_t n;
    char bytes[];
};

struct mcp_inbox {
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct mcp_item *first, *last;
    size_t size, size_max;
    bool failed;
    struct err why;
};

void mcp_inbox_init(struct mcp_inbox *b, size_t size_max);
void mcp_inbox_release(struct mcp_inbox *b);
/* The bytes are copied. What does not fit fails the box. */
void mcp_inbox_put(struct mcp_inbox *b, int kind, str bytes);
/* What is in it can still be taken. The first reason stays. */
void mcp_inbox_fail(struct mcp_inbox *b, const struct err *why);
/* The next item, which is the caller's to free; NULL: e says why, ERR_TIMEOUT and ERR_CANCELLED
 * among it. cancel may be NULL. */
struct mcp_item *mcp_inbox_take(struct mcp_inbox *b, uint64_t deadline_ns,
                                const _Atomic bool *cancel, struct err *e) MUST_USE;
