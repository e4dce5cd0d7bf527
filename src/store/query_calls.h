/* query_calls.h - one call as the API shows it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/query_in.h"

extern const struct column call_columns[];
extern const size_t call_column_count;

/* What a timeline needs of the row beside its details. */
struct call_facts_read {
    str id, step, answer, model;
    int64_t started_us, duration_ms;
    bool failed;
};

/* From the columns above: the members of `details`, but for its segments. */
void call_write(const struct query_asker *a, struct arena *arena, const struct db_value *v,
                struct json_out *o);
void call_read(const struct db_value *v, struct call_facts_read *out);

extern const struct column segment_columns[];
extern const size_t segment_column_count;
void segment_json(const struct query_asker *a, const struct db_value *v, struct json_out *o);
