/* inbox.c - the queue.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/inbox.h"

#define CANCEL_LOOK_NS (50u * CLOCK_NS_PER_MS) /* how often a wait checks *cancel */

void mcp_inbox_init(struct mcp_inbox *b, size_t size_max)
{
    *b = (struct mcp_inbox){.size_max = size_max};
    pthread_mutex_init(&b->lock, NULL);
    clock_cond_init(&b->some);
}

void mcp_inbox_release(struct mcp_inbox *b)
{
    assert(!b->first == !b->last);
    while (b->first) {
        struct mcp_item *i = b->first;

        b->first = i->next;
        free(i);
    }
    pthread_cond_destroy(&b->some);
    pthread_mutex_destroy(&b->lock);
}

static void mcp_fail_locked(struct mcp_inbox *b, const struct err *why)
{
    assert(why->code != ERR_NONE);
    if (!b->failed)
        b->why = *why;
    b->failed = true;
    pthread_cond_broadcast(&b->some);
}

void mcp_inbox_fail(struct mcp_inbox *b, const struct err *why)
{
    pthread_mutex_lock(&b->lock);
    mcp_fail_locked(b, why);
    pthread_mutex_unlock(&b->lock);
}

void mcp_inbox_put(struct mcp_inbox *b, int kind, str bytes)
{
    struct err e;

    pthread_mutex_lock(&b->lock);
    if (b->failed) {
        pthread_mutex_unlock(&b->lock);
        return;
    }
    assert(b->size <= b->size_max && !b->first == !b->last);
    if (sizeof(struct mcp_item) + bytes.n > b->size_max - b->size) {
        err_set(&e, ERR_LIMIT, "more than %zu bytes came and were not taken", b->size_max);
        mcp_fail_locked(b, &e);
    } else {
        struct mcp_item *i = base_alloc(sizeof *i + bytes.n + 1);

        *i = (struct mcp_item){.kind = kind, .n = bytes.n};
        memcpy(i->bytes, bytes.p, bytes.n);
        i->bytes[bytes.n] = 0;
        LIST_APPEND(b->first, b->last, i);
        b->size += sizeof *i + bytes.n;
        pthread_cond_broadcast(&b->some);
    }
    pthread_mutex_unlock(&b->lock);
}

struct mcp_item *mcp_inbox_take(struct mcp_inbox *b, uint64_t deadline_ns,
                                const _Atomic bool *cancel, struct err *e)
{
    struct mcp_item *i = NULL;

    pthread_mutex_lock(&b->lock);
    if (cancel && atomic_load(cancel)) { /* even if items keep coming */
        err_set(e, ERR_CANCELLED, "cancelled");
        goto out;
    }
    while (!b->first && !b->failed) {
        uint64_t now = clock_mono_ns(&clock_real), until = deadline_ns;

        if (cancel && atomic_load(cancel)) {
            err_set(e, ERR_CANCELLED, "cancelled");
            goto out;
        }
        if (now >= deadline_ns) {
            err_set(e, ERR_TIMEOUT, "no answer in time");
            goto out;
        }
        if (cancel && until - now > CANCEL_LOOK_NS)
            until = now + CANCEL_LOOK_NS;
        (void)clock_cond_wait(&b->some, &b->lock, until);
    }
    i = b->first;
    assert(b->size <= b->size_max && !b->first == !b->last);
    if (i) {
        b->first = i->next;
        if (!b->first)
            b->last = NULL;
        assert(b->size >= sizeof *i + i->n);
        b->size -= sizeof *i + i->n;
    } else {
        *e = b->why;
    }
out:
    pthread_mutex_unlock(&b->lock);
    return i;
}
