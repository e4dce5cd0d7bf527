/* engine_usage.h - the sums of usage.h for the engine's batch: gathered for each call, written at
 * the end of the batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/map.h"
#include "store/db.h"
#include "store/store.h"
#include "store/usage.h"

struct engine;
struct engine_usage;

enum engine_usage_last {
    ENGINE_USAGE_HOUR,
    ENGINE_USAGE_SLOT,
    ENGINE_USAGE_SLOT_HOUR,
    ENGINE_USAGE_SLOT_DAY,
    ENGINE_USAGE_LASTS
};

struct engine_sums {
    struct map map;     /* additions, or subtractions: struct engine_usage */
    struct arena arena; /* of these */
    struct engine_usage *last[ENGINE_USAGE_LASTS]; /* the last of them used, or NULL */
    /* The statements that add them, drop a row without calls, and read a session's calls. */
    struct buf put[USAGE_BY_COUNT], drop[USAGE_BY_COUNT], take[USAGE_BY_COUNT];
};

void engine_usage_init(struct engine_sums *s);
void engine_usage_release(struct engine_sums *s);
/* Tokens of a call as they are summed: a provider may report any number, and sums must not run
 * over. usage.c and audit_verify_derived.c have the same in SQL. */
int64_t engine_usage_counted(int64_t n);
void engine_usage_add(struct engine *en, const struct store_call *row);
/* Subtracts a session's calls, before they are deleted. */
bool engine_usage_take(struct engine *en, const struct db_value *session, struct err *e) MUST_USE;
bool engine_usage_flush(struct engine *en, struct err *e) MUST_USE;
void engine_usage_forget(struct engine *en);
