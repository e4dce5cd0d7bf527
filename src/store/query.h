/* query.h - questions to the record: sessions, calls, decisions, segments, search, sums.
 *
 *     struct reader *r;
 *     if (!reader_open(url, &r, e)) ...                  beside a store that writes, here or not
 *     if (!query_sessions(r, &filter, &page, arena, &list, e)) ...
 *     reader_close(r);
 *
 * A reader is one connection for one thread at a time, and only reads. What it gives lives in the
 * arena it is given. Lists are bounded (page.limit, at most QUERY_LIMIT_MAX); a list that goes on
 * has a cursor, an opaque text that stays right while rows are added.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "store/store.h"

#define QUERY_LIMIT_MAX 1000

struct reader;

bool reader_open(str url, struct reader **out, struct err *e) MUST_USE;
void reader_close(struct reader *r);     /* NULL: nothing */
void reader_interrupt(struct reader *r); /* from another thread */
