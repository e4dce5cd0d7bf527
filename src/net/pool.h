/* pool.h - connections that are kept open between calls.
 *
 * Within src/net only. For each key, the connection that was put last is taken first. Any event on
 * a kept connection (unexpected bytes, its end, idle_ms passed) closes it. The pool has no limit
 * except what the peers keep open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/conn.h"

struct pool;

struct pool *pool_new(struct loop *l, uint64_t idle_ms) MUST_USE;
void pool_free(struct pool *p);
/* A connection that the caller then owns and must give another handler, or NULL. */
struct conn *pool_take(struct pool *p, str key) MUST_USE;
/* Takes ownership of the connection. Copies the key. */
void pool_put(struct pool *p, str key, struct conn *c);
size_t pool_count(const struct pool *p);
