/* query_help.h - a store with twelve calls, and access to the values of an answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "store/db.h"
#include "store/query.h"
#include "store_help.h"

#define CALLS 12u

struct world {
    struct place place;
    struct store *store;
    struct reader *reader;
    struct buf out;
    struct json doc;
    struct arena arena;
};

extern const struct query_asker everyone, hider;
extern const struct query_page page_one;

void world_init(struct world *w);
void world_release(struct world *w);

/* Parses the answer; the functions below read values from it. */
void answered(struct world *w, bool ok, const struct err *e);
str text_at(struct world *w, const char *pointer);
long long number_at(struct world *w, const char *pointer);
long long count_at(struct world *w, const char *pointer);
