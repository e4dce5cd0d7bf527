/* otlp.h - spans of finished calls to an OpenTelemetry collector: protobuf over HTTP.
 *
 * otlp_span is a stage (facts in, bytes out); the exporter batches on a thread of its own and sends
 * with the client of net. It never slows a call: a full queue drops and counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/rand.h"
#include "gateway/summary.h"

struct otlp;

struct otlp_trace {
    uint8_t trace_id[16], span_id[8], parent_id[8]; /* parent all zero: none */
    bool sampled;
    str state; /* tracestate */
};

/* From a traceparent header; false (and a new trace) if it is not one. */
bool otlp_trace_parse(str traceparent, struct otlp_trace *out);
/* The same with ids by the chance of the caller: they need not be secret, only rare. */
bool otlp_trace_begin(str traceparent, struct rand *chance, struct otlp_trace *out);
void otlp_trace_format(const struct otlp_trace *t, char out[56]);

/* An ExportTraceServiceRequest of one span; for a batch, ResourceSpans may simply be joined. */
void otlp_span(const struct summary *c, const struct otlp_trace *t, struct buf *out);

struct otlp *otlp_new(str url, str headers, const char *ca_file, struct err *e) MUST_USE;
void otlp_free(struct otlp *o); /* sends what is there, for at most 2 s */
void otlp_add(struct otlp *o, const struct summary *c, const struct otlp_trace *t); /* any thread */
void otlp_counts(struct otlp *o, uint64_t *depth, uint64_t *sent, uint64_t *dropped);
