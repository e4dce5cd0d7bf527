/* query_calls.h - one call as the API presents it; the events of a session.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/query_build.h"

extern const struct column call_columns[];
extern const size_t call_column_count;

/* The values of a row that a timeline needs besides its details. */
struct call_facts_read {
    str id, step, answer, model;
    int64_t started_us, duration_ms;
    bool failed;
};

/* Requests up to this size are read for values that only they contain. */
#define CALL_REQUEST_MAX 65536

/* Writes the members of `details` from the columns above, except its segments. */
void call_write(const struct query_asker *a, const struct db_value *v, const struct store_call *row,
                struct json_out *o);
void call_read(const struct db_value *v, struct call_facts_read *out);

/* Writes the segments of a call, at most max, as elements of the open array. Returns their
 * number. */
size_t segments_write(struct reader *r, const struct query_asker *a, const struct store_call *row,
                      size_t max, struct json_out *o);

/* query_events.c: the calls and tool exchanges of a session, ordered by time. */
struct event {
    int64_t timestamp_us;
    str id;
    str json; /* {event_id, type, ...} */
    struct event *next;
};
struct event_sums {
    int64_t errors;
    str last_answer;
    bool cut; /* more events exist than fit */
};
bool events_read(struct reader *r, const struct query_asker *a, str session_id, struct event **out,
                 struct event_sums *sums, struct err *e) MUST_USE;
