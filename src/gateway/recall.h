/* recall.h - restores the state of an earlier process from the record: conversations, and the spend
 * of keys.
 *
 *     recall_start(g);       waits RECALL_MS at most for what is on its way to the tables
 *     recall_known(r)        whether all of it is known
 *     recall_stop(r);        before the store closes
 *
 * If more rows are on their way to the tables than fit in that time, or the tables cannot be read,
 * a thread waits for them. Until then calls run, except those of a key with a spending limit, which
 * wait (call/admit.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/base.h"

struct gateway;
struct recall;

/* Creates g->conversations; needs g->store and g->limits. */
struct recall *recall_start(struct gateway *g);
bool recall_known(const struct recall *r);
void recall_stop(struct recall *r);
