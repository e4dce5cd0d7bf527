/* query_otlp.c - events as spans: OTLP/JSON, one ExportTraceServiceRequest a line.
 *
 * A session is a trace. Its id and those of its spans are the fronts of digests of our own ids, so
 * that a second export gives the same. Attribute names are those that the exporter of running calls
 * has (gateway/otlp.c); content is never in a span.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/sha256.h"
#include "base/utf8.h"
#include "store/query_export.h"

enum { KIND_INTERNAL = 1, KIND_CLIENT = 3, STATUS_ERROR = 2 };
enum { TRACE_BYTES = 16, SPAN_BYTES = 8 };

#define TEXT_MAX 1024

static const struct attribute {
    const char *name, *pointer;
} call_attributes[] = {
    {"gen_ai.provider.name", "/details/provider"},
    {"gen_ai.request.model", "/details/upstream_model"},
    {"gen_ai.conversation.id", "/details/session_id"},
    {"gen_ai.request.stream", "/details/stream"},
    {"gen_ai.request.temperature", "/details/temperature"},
    {"gen_ai.request.reasoning.level", "/details/level"},
    {"gen_ai.usage.input_tokens", "/details/input_tokens"},
    {"gen_ai.usage.output_tokens", "/details/output_tokens"},
    {"gen_ai.usage.reasoning.output_tokens", "/details/reasoning_tokens"},
    {"gen_ai.usage.cache_read.input_tokens", "/details/cache_read_tokens"},
    {"gen_ai.usage.cache_write.input_tokens", "/details/cache_write_tokens"},
    {"http.response.status_code", "/details/status"},
    {"error.type", "/details/error_code"},
    {"rationale.call.id", "/details/interaction_id"},
    {"rationale.key.name", "/details/key_name"},
    {"rationale.route", "/details/route"},
    {"rationale.provider", "/details/provider"},
    {"rationale.model", "/details/model_name"},
    {"rationale.reasoning.cap", "/details/cap_tokens"},
    {"rationale.reasoning.state", "/details/reasoning_state"},
    {"rationale.reasoning.source", "/details/reasoning_source"},
    {"rationale.reasoning.tokens_exact", "/details/reasoning_exact"},
    {"rationale.cost.usd", "/details/cost_usd"},
};

static const struct attribute tool_attributes[] = {
    {"gen_ai.tool.name", "/details/tool_name"},
    {"gen_ai.tool.call.id", "/details/communication_id"},
    {"mcp.server.name", "/details/server_name"},
    {"mcp.method.name", "/details/communication_type"},
};

struct span {
    struct json_out *o;
    struct arena *a;
    struct json doc;
};

static void query_otlp_id_write(struct json_out *o, const char *name, str id, size_t bytes)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];

    assert(bytes <= SHA256_SIZE);
    sha256_of(id, digest);
    (void)sha256_hex(digest, hex);
    json_member_str(o, name, (str){hex, bytes * 2});
}

static str query_otlp_text_at(struct span *s, const char *pointer)
{
    str text;

    return json_text(&s->doc, json_pointer(&s->doc, str_c(pointer)), s->a, &text) ? text : STR("");
}

static int64_t query_otlp_number_at(struct span *s, const char *pointer)
{
    int64_t n;

    return json_i64(&s->doc, json_pointer(&s->doc, str_c(pointer)), &n) ? n : 0;
}

/* Whole numbers are texts in OTLP/JSON, as in all JSON of protobuf. */
static void query_otlp_value_out(struct span *s, const struct json_node *v)
{
    struct json_out *o = s->o;
    str text;
    bool flag;

    json_out_object(o);
    if (json_text(&s->doc, v, s->a, &text)) {
        json_member_str(o, "stringValue", utf8_cut_size(text, TEXT_MAX));
    } else if (json_bool(v, &flag)) {
        json_member_bool(o, "boolValue", flag);
    } else if (v->escaped) {
        json_member_raw(o, "doubleValue", json_raw(&s->doc, v));
    } else {
        json_member_str(o, "intValue", json_raw(&s->doc, v));
    }
    json_out_end(o);
}

static void query_otlp_attribute_text(struct json_out *o, const char *name, str text)
{
    json_out_object(o);
    json_member_str(o, "key", str_c(name));
    json_member_object(o, "value");
    json_member_str(o, "stringValue", text);
    json_out_end(o);
    json_out_end(o);
}

static void query_otlp_attributes_write(struct span *s, bool call)
{
    const struct attribute *list = call ? call_attributes : tool_attributes;
    size_t n = call ? COUNT_OF(call_attributes) : COUNT_OF(tool_attributes);

    json_member_array(s->o, "attributes");
    query_otlp_attribute_text(
        s->o, "gen_ai.operation.name", call ? STR("chat") : STR("execute_tool"));
    for (size_t i = 0; i < n; i++) {
        const struct json_node *v = json_pointer(&s->doc, str_c(list[i].pointer));

        if (!v || v->kind == JSON_NULL || v->kind >= JSON_ARRAY)
            continue;
        json_out_object(s->o);
        json_member_str(s->o, "key", str_c(list[i].name));
        json_out_key(s->o, STR("value"));
        query_otlp_value_out(s, v);
        json_out_end(s->o);
    }
    json_out_end(s->o);
}

static void query_otlp_status_write(struct span *s, bool call)
{
    const struct json_node *success = json_pointer(&s->doc, STR("/details/success"));
    str error = query_otlp_text_at(s, call ? "/details/error_code" : "/details/error_message");
    bool good = true;

    (void)!json_bool(success, &good);
    json_member_object(s->o, "status");
    if (error.n || !good) {
        json_member_i64(s->o, "code", STATUS_ERROR);
        json_member_str(s->o, "message", utf8_cut_size(error, TEXT_MAX));
    }
    json_out_end(s->o);
}

static void query_otlp_span_write(struct span *s, str session_id)
{
    struct json_out *o = s->o;
    str id = query_otlp_text_at(s, "/event_id"),
        parent = query_otlp_text_at(s, "/details/parent_id");
    bool call = str_eq(query_otlp_text_at(s, "/type"), STR("llm_interaction"));
    str what = query_otlp_text_at(s, call ? "/details/upstream_model" : "/details/tool_name");
    int64_t start_us = query_otlp_number_at(s, "/timestamp_us");
    int64_t end_us = start_us + query_otlp_number_at(s, "/duration_ms") * 1000;

    json_out_object(o);
    query_otlp_id_write(o, "traceId", session_id, TRACE_BYTES);
    query_otlp_id_write(o, "spanId", id, SPAN_BYTES);
    if (parent.n)
        query_otlp_id_write(o, "parentSpanId", parent, SPAN_BYTES);
    json_member_str(
        o,
        "name",
        str_trim(arena_join(s->a, call ? STR("chat ") : STR("execute_tool "), what, STR(""))));
    json_member_i64(o, "kind", call ? KIND_CLIENT : KIND_INTERNAL);
    json_member_str(o, "startTimeUnixNano", arena_printf(s->a, "%lld000", (long long)start_us));
    json_member_str(o, "endTimeUnixNano", arena_printf(s->a, "%lld000", (long long)end_us));
    query_otlp_attributes_write(s, call);
    query_otlp_status_write(s, call);
    json_out_end(o);
}

static void query_otlp_head_write(struct json_out *o)
{
    json_out_object(o);
    json_member_array(o, "resourceSpans");
    json_out_object(o);
    json_member_object(o, "resource");
    json_member_array(o, "attributes");
    query_otlp_attribute_text(o, "service.name", STR("rationale"));
    query_otlp_attribute_text(o, "service.version", STR(RATIONALE_VERSION));
    json_out_end(o);
    json_out_end(o);
    json_member_array(o, "scopeSpans");
    json_out_object(o);
    json_member_object(o, "scope");
    json_member_str(o, "name", STR("rationale"));
    json_member_str(o, "version", STR(RATIONALE_VERSION));
    json_out_end(o);
    json_member_array(o, "spans");
}

bool otlp_write(struct arena *a, str session_id, const struct event *events, struct buf *out,
                struct err *e)
{
    struct json_out o;
    struct span s = {.o = &o, .a = a};
    bool ok = true;

    json_out_init(&o, out);
    json_init(&s.doc);
    query_otlp_head_write(&o);
    for (const struct event *ev = events; ev && ok; ev = ev->next) {
        ok = json_parse(&s.doc, ev->json, e);
        if (ok)
            query_otlp_span_write(&s, session_id);
    }
    for (unsigned i = 0; i < 6; i++)
        json_out_end(&o);
    assert(o.depth == 0);
    buf_add_c(out, '\n');
    json_release(&s.doc);
    return ok;
}
