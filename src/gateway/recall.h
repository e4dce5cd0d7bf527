/* recall.h - what an earlier process knew, taken from the record: conversations, and what keys have
 * spent.
 *
 *     recall_start(g);       waits RECALL_MS at most for what is on its way to the tables
 *     recall_known(r)        whether all of it is known
 *     recall_stop(r);        before the store closes
 *
 * If more than that is on its way, a thread waits for it. Meanwhile calls run, but those of a key
 * that may spend only so much wait (call/admit.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/base.h"

struct gateway;
struct recall;

/* Makes g->conversations; g->store and g->limits are there. */
struct recall *recall_start(struct gateway *g);
bool recall_known(const struct recall *r);
void recall_stop(struct recall *r);
