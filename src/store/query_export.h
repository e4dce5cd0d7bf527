/* query_export.h - events in the forms they are exported in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/query_build.h"

/* query_csv.c: RFC 4180, a line an event. A text that a spreadsheet would take for a formula has an
 * apostrophe before it. */
void csv_head(struct buf *out);
bool csv_write(struct arena *a, str session_id, str event, struct buf *out, struct err *e) MUST_USE;

/* query_otlp.c: one line, an ExportTraceServiceRequest in OTLP/JSON with a span an event. */
bool otlp_write(struct arena *a, str session_id, const struct event *events, struct buf *out,
                struct err *e) MUST_USE;
