/* otlp.h - sends spans of finished calls to an OpenTelemetry collector: protobuf over HTTP.
 *
 * otlp_span only converts facts to bytes. The exporter batches spans on its own thread and sends
 * them with the client of net. It never slows a call: if the queue is full, it drops the span and
 * counts it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/rand.h"
#include "gateway/summary.h"

struct otlp;

struct otlp_trace {
    uint8_t trace_id[16], span_id[8], parent_id[8]; /* parent all zero: no parent */
    bool sampled;
    str state; /* tracestate */
};

/* Parses a traceparent header; false, with a new trace, if it is not valid. The ids come from the
 * caller's generator: they need not be secret, only unique. */
bool otlp_trace_begin(str traceparent, struct rand *chance, struct otlp_trace *out);
void otlp_trace_format(const struct otlp_trace *t, char out[56]);

/* Writes an ExportTraceServiceRequest with one span. Several of them may be concatenated to a
 * batch. */
void otlp_span(const struct summary *c, const struct otlp_trace *t, struct buf *out);

struct otlp *otlp_new(str url, str headers, const char *ca_file, struct err *e) MUST_USE;
void otlp_free(struct otlp *o); /* sends the queued spans, for at most 2 s */
void otlp_add(struct otlp *o, const struct summary *c, const struct otlp_trace *t); /* any thread */
void otlp_counts(struct otlp *o, uint64_t *depth, uint64_t *sent, uint64_t *dropped);
