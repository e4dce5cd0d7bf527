/* usage_help.h - a store with several hundred calls of every kind, to compare sums.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/rand.h"
#include "query_help.h"

#define HOUR 3600000
#define MADE 400u

struct side {
    struct place place;
    struct store *store;
    struct reader *reader;
    struct db *db;
    struct buf out, expected;
    struct rand rand;
};

void side_init(struct side *s);
void side_release(struct side *s);
void side_put(struct side *s, unsigned n);
