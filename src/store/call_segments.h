/* call_segments.h - the segments of a call's reply, derived from its texts.
 *
 *     struct call_segments s;
 *     call_segments_init(&s);
 *     call_segments_read(&s, &row, &arena, rows);    rows.on_row once for each segment
 *     call_segments_release(&s);
 *
 * A row has the columns of enum call_segment, which are those of the former segments table.
 *
 * A call's segments are stored as JSON: [{"kind", "at", "size", "tokens", "after_us", ...}], where
 * at and size are a part of the call's reasoning or answer, or at is the place of a tool call.
 * after_us counts from the call's start. Members with their usual value are left out: took_us 0,
 * exact false, cut false, state "complete", budget null. Records of earlier versions have
 * started_us and ended_us, microseconds of the wall clock, instead of after_us and took_us.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "store/db.h"
#include "store/store.h"

enum call_segment {
    SEGMENT_CALL, /* interaction_id */
    SEGMENT_N,
    SEGMENT_KIND,
    SEGMENT_TEXT,
    SEGMENT_TOKENS,
    SEGMENT_EXACT,
    SEGMENT_STARTED_US,
    SEGMENT_ENDED_US,
    SEGMENT_BUDGET,
    SEGMENT_CUT,
    SEGMENT_STATE,
    SEGMENT_COLUMNS
};

struct call_segments {
    struct json doc, calls;
};

void call_segments_init(struct call_segments *s);
void call_segments_release(struct call_segments *s);
/* Texts are lent from the row, or are in the arena. Unreadable segments are skipped. */
void call_segments_read(struct call_segments *s, const struct store_call *row, struct arena *a,
                        struct db_rows rows);
