/* inbox.h - a queue from the loop's thread to a waiting thread: items of bytes, and finally perhaps
 * the reason of its end.
 *
 * Within src/mcp only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "base/err.h"

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
    size_t size, size_max; /* of all items, with their heads */
    bool failed;
    struct err why;
};

void mcp_inbox_init(struct mcp_inbox *b, size_t size_max);
void mcp_inbox_release(struct mcp_inbox *b);
/* Copies the bytes. If they do not fit, the box fails. */
void mcp_inbox_put(struct mcp_inbox *b, int kind, str bytes);
/* Present items can still be taken. The first reason is kept. */
void mcp_inbox_fail(struct mcp_inbox *b, const struct err *why);
/* The next item, which the caller must free; NULL: e has the reason, for example ERR_TIMEOUT or
 * ERR_CANCELLED. cancel may be NULL. */
struct mcp_item *mcp_inbox_take(struct mcp_inbox *b, uint64_t deadline_ns,
                                const _Atomic bool *cancel, struct err *e) MUST_USE;
