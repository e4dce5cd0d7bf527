/* pool.h - connections that are kept open between calls.
 *
 * Within src/net only. By key, the one that was put last is taken first. Whatever happens to a kept
 * connection (bytes that nobody asked for, its end, idle_ms over) closes it. There is no cap but
 * what the peers keep open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/conn.h"

struct pool;

struct pool *pool_new(struct loop *l, uint64_t idle_ms) MUST_USE;
void pool_free(struct pool *p);
/* One that is the caller's from here on and needs another handler, or NULL. */
struct conn *pool_take(struct pool *p, str key) MUST_USE;
/* Takes the connection. The key is copied. */
void pool_put(struct pool *p, str key, struct conn *c);
size_t pool_count(const struct pool *p);
