/* query_calls.h - one call as the API shows it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/query_build.h"

extern const struct column call_columns[];
extern const size_t call_column_count;

/* What a timeline needs of the row beside its details. */
struct call_facts_read {
    str id, step, answer, model;
    int64_t started_us, duration_ms;
    bool failed;
};

/* Requests up to this size are opened for what is only in them. */
#define CALL_REQUEST_MAX 65536

/* From the columns above: the members of `details`, but for its segments. */
void call_write(const struct query_asker *a, const struct db_value *v, const struct store_call *row,
                struct json_out *o);
void call_read(const struct db_value *v, struct call_facts_read *out);

/* The segments of a call, at most max, as elements of the open array. Returns how many. */
size_t segments_write(struct reader *r, const struct query_asker *a, const struct store_call *row,
                      size_t max, struct json_out *o);
