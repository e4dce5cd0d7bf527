/* query_export.h - the export formats of events.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/query_calls.h"

/* query_csv.c: RFC 4180, one line for each event. A text that a spreadsheet would read as a formula
 * gets a leading apostrophe. */
void csv_head(struct buf *out);
bool csv_write(struct arena *a, str session_id, str event, struct buf *out, struct err *e) MUST_USE;

/* query_otlp.c: one line, an ExportTraceServiceRequest in OTLP/JSON with one span for each
 * event. */
bool otlp_write(struct arena *a, str session_id, const struct event *events, struct buf *out,
                struct err *e) MUST_USE;
