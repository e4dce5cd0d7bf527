/* otlp.c - a call as a span of OpenTelemetry: protobuf by hand, and W3C trace contexts.
 *
 * The messages of opentelemetry/proto/trace/v1 need four wire types; lengths are written by
 * building what is inside first. Attribute names are those of the GenAI conventions that link
 * semconv 1.44; content is never in a span.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/otlp.h"

#include "base/utf8.h"

#define TEXT_MAX 1024 /* bytes of an attribute */
#define SPAN_MAX ((size_t)64 << 10)

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { KIND_CLIENT = 3, STATUS_ERROR = 2 };
enum { FLAG_SAMPLED = 1, FLAG_KNOWS_REMOTE = 0x100, FLAG_REMOTE = 0x200 };

/* ---- protobuf ---- */

static void otlp_put_varint(struct buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_add_c(b, (char)((v & 0x7f) | 0x80));
    buf_add_c(b, (char)v);
}

static void otlp_put_tag(struct buf *b, unsigned field, unsigned type)
{
    otlp_put_varint(b, (uint64_t)field << 3 | type);
}

static void otlp_put_bytes(struct buf *b, unsigned field, str bytes)
{
    otlp_put_tag(b, field, BYTES);
    otlp_put_varint(b, bytes.n);
    buf_add(b, bytes);
}

static void otlp_put_int(struct buf *b, unsigned field, uint64_t v)
{
    otlp_put_tag(b, field, VARINT);
    otlp_put_varint(b, v);
}

static void otlp_put_fixed(struct buf *b, unsigned field, unsigned type, uint64_t v)
{
    assert(type == FIXED64 || type == FIXED32);
    otlp_put_tag(b, field, type);
    for (unsigned i = 0; i < (type == FIXED64 ? 8u : 4u); i++)
        buf_add_c(b, (char)(v >> 8 * i & 0xff));
}

static size_t otlp_varint_size(uint64_t v)
{
    size_t n = 1;

    for (; v >= 0x80; v >>= 7)
        n++;
    return n;
}

/* The size of a protobuf field with a number below 16 and n bytes of content. */
static size_t otlp_field_size(size_t n)
{
    return 1 + otlp_varint_size(n) + n;
}

/* A receiver refuses the whole request if one string in it is not UTF-8. */
static str otlp_clean(str text, struct buf *room)
{
    str cut = utf8_cut_size(text, TEXT_MAX);

    if (utf8_valid(cut))
        return cut;
    utf8_copy(room, cut);
    return buf_str(room);
}

static void otlp_put_text(struct buf *b, unsigned field, str text)
{
    struct buf room;

    buf_init(&room, TEXT_MAX * 3 + 16);
    otlp_put_bytes(b, field, otlp_clean(text, &room));
    buf_release(&room);
}

/* ---- attributes ---- */

enum { SPAN_ATTRIBUTES = 9, RESOURCE_ATTRIBUTES = 1 };
enum { VALUE_TEXT = 1, VALUE_BOOL = 2, VALUE_INT = 3, VALUE_DOUBLE = 4, VALUE_ARRAY = 5 };

/* A KeyValue up to where its AnyValue of so many bytes begins. */
static void otlp_begin_attribute(struct buf *b, unsigned field, const char *key, size_t value_size)
{
    str name = str_c(key);

    assert(field < 16);
    otlp_put_tag(b, field, BYTES);
    otlp_put_varint(b, otlp_field_size(name.n) + otlp_field_size(value_size));
    otlp_put_bytes(b, 1, name);
    otlp_put_tag(b, 2, BYTES);
    otlp_put_varint(b, value_size);
}

static void otlp_add_text_as(struct buf *b, unsigned field, const char *key, str text)
{
    struct buf room;

    buf_init(&room, TEXT_MAX * 3 + 16);
    text = otlp_clean(text, &room);
    otlp_begin_attribute(b, field, key, otlp_field_size(text.n));
    otlp_put_bytes(b, VALUE_TEXT, text);
    buf_release(&room);
}

/* Nothing for an empty text. */
static void otlp_add_text(struct buf *b, const char *key, str text)
{
    if (text.n > 0)
        otlp_add_text_as(b, SPAN_ATTRIBUTES, key, text);
}

/* Nothing for a count that is not known. */
static void otlp_add_int(struct buf *b, const char *key, int64_t n)
{
    if (n < 0)
        return;
    otlp_begin_attribute(b, SPAN_ATTRIBUTES, key, 1 + otlp_varint_size((uint64_t)n));
    otlp_put_int(b, VALUE_INT, (uint64_t)n);
}

static void otlp_add_bool(struct buf *b, const char *key, bool flag)
{
    otlp_begin_attribute(b, SPAN_ATTRIBUTES, key, 2);
    otlp_put_int(b, VALUE_BOOL, flag);
}

static void otlp_add_double(struct buf *b, const char *key, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    otlp_begin_attribute(b, SPAN_ATTRIBUTES, key, 9);
    otlp_put_fixed(b, VALUE_DOUBLE, FIXED64, bits);
}

/* A list of one text. */
static void otlp_add_list(struct buf *b, const char *key, const char *text)
{
    str s = str_c(text);
    size_t item = otlp_field_size(s.n), array = otlp_field_size(item);

    otlp_begin_attribute(b, SPAN_ATTRIBUTES, key, otlp_field_size(array));
    otlp_put_tag(b, VALUE_ARRAY, BYTES);
    otlp_put_varint(b, array);
    otlp_put_tag(b, 1, BYTES);
    otlp_put_varint(b, item);
    otlp_put_bytes(b, VALUE_TEXT, s);
}

/* A number of the request, which is kept as its text; nothing if it is none. */
static void otlp_add_number(struct buf *b, const char *key, str text, bool whole)
{
    struct json doc;
    struct err e;
    int64_t n;
    double x;

    json_init(&doc);
    if (text.n > 0 && text.n < 64 && json_parse(&doc, text, &e)) {
        if (whole && json_i64(&doc, json_root(&doc), &n))
            otlp_add_int(b, key, n);
        else if (!whole && json_double(&doc, json_root(&doc), &x))
            otlp_add_double(b, key, x);
    }
    json_release(&doc);
}

/* ---- the span ---- */

static const char *otlp_finish_reason(const struct summary *c)
{
    static const char *const names[] = {
        [CHAT_STOP_END] = "stop",
        [CHAT_STOP_LENGTH] = "length",
        [CHAT_STOP_TOOL] = "tool_call",
        [CHAT_STOP_SEQUENCE] = "stop",
        [CHAT_STOP_REFUSED] = "content_filter",
        [CHAT_STOP_PAUSE] = "pause",
        [CHAT_STOP_OTHER] = "other",
        [CHAT_STOP_FAILED] = "error",
    };

    assert((size_t)c->stop < COUNT_OF(names));
    return c->complete ? names[c->stop] : "error";
}

static str otlp_model_of(const struct summary *c)
{
    return c->upstream_model.n ? c->upstream_model : c->model;
}

static void otlp_add_request(const struct summary *c, struct buf *b)
{
    otlp_add_text(b, "gen_ai.operation.name", STR("chat"));
    otlp_add_text(b, "gen_ai.provider.name", c->otel_provider.n ? c->otel_provider : c->provider);
    otlp_add_text(b, "gen_ai.request.model", otlp_model_of(c));
    otlp_add_text(b, "server.address", c->server_host);
    if (c->server_host.n > 0 && c->server_port > 0)
        otlp_add_int(b, "server.port", c->server_port);
    if (!str_eq(c->session, c->id)) /* an unknown one is replaced by a new one */
        otlp_add_text(b, "gen_ai.conversation.id", c->session);
    if (c->stream)
        otlp_add_bool(b, "gen_ai.request.stream", true);
    otlp_add_number(b, "gen_ai.request.max_tokens", c->max_tokens, true);
    otlp_add_number(b, "gen_ai.request.temperature", c->temperature, false);
    otlp_add_number(b, "gen_ai.request.top_p", c->top_p, false);
    otlp_add_number(b, "gen_ai.request.top_k", c->top_k, false);
    otlp_add_number(b, "gen_ai.request.seed", c->seed, true);
    otlp_add_number(b, "gen_ai.request.frequency_penalty", c->frequency_penalty, false);
    otlp_add_number(b, "gen_ai.request.presence_penalty", c->presence_penalty, false);
    if (!str_eq(c->n, STR("1")))
        otlp_add_number(b, "gen_ai.request.choice.count", c->n, true);
    otlp_add_text(b, "gen_ai.request.reasoning.level", str_c(chat_level_name(c->level)));
}

static void otlp_add_reply(const struct summary *c, struct buf *b)
{
    otlp_add_text(b, "gen_ai.response.id", c->reply_id);
    otlp_add_text(b, "gen_ai.response.model", c->reply_model);
    otlp_add_list(b, "gen_ai.response.finish_reasons", otlp_finish_reason(c));
    if (c->stream && c->first_byte_ns > c->start_ns)
        otlp_add_double(b,
                        "gen_ai.response.time_to_first_chunk",
                        (double)(c->first_byte_ns - c->start_ns) / 1e9);
    otlp_add_int(b, "gen_ai.usage.input_tokens", c->usage.input);
    otlp_add_int(b, "gen_ai.usage.output_tokens", c->usage.output);
    otlp_add_int(b, "gen_ai.usage.reasoning.output_tokens", c->usage.reasoning);
    otlp_add_int(b, "gen_ai.usage.cache_read.input_tokens", c->usage.cache_read);
    otlp_add_int(b, "gen_ai.usage.cache_write.input_tokens", c->usage.cache_write);
    otlp_add_text(b, "error.type", c->error_type);
    otlp_add_int(b, "http.response.status_code", c->status > 0 ? c->status : -1);
}

static void otlp_add_own(const struct summary *c, struct buf *b)
{
    static const char *const sources[SUMMARY_SOURCE_COUNT] = {
        "none", "field", "tag", "channel", "summary", "opaque"};

    otlp_add_text(b, "rationale.call.id", c->id);
    otlp_add_text(b, "rationale.key.name", c->key_name);
    otlp_add_text(b, "rationale.route", c->route);
    otlp_add_text(b, "rationale.provider", c->provider);
    otlp_add_text(b, "rationale.model", c->model);
    otlp_add_int(b, "rationale.attempts", c->attempts);
    otlp_add_int(b, "rationale.reasoning.cap", c->cap);
    otlp_add_bool(b, "rationale.reasoning.cut", c->cut);
    otlp_add_text(b, "rationale.reasoning.cut_action", c->cut_action);
    otlp_add_bool(b, "rationale.reasoning.starved", c->starved);
    otlp_add_bool(b, "rationale.reasoning.repaired", c->repaired);
    assert((size_t)c->source < COUNT_OF(sources));
    otlp_add_text(b, "rationale.reasoning.source", str_c(sources[c->source]));
    otlp_add_bool(b, "rationale.reasoning.tokens_exact", c->reasoning_exact);
    if (c->cost_usd >= 0) {
        otlp_add_double(b, "rationale.cost.usd", c->cost_usd);
        otlp_add_text(
            b, "rationale.cost.source", c->cost_from_provider ? STR("provider") : STR("local"));
    }
}

static bool otlp_is_zero(const uint8_t *bytes, size_t n)
{
    uint8_t any = 0;

    for (size_t i = 0; i < n; i++)
        any |= bytes[i];
    return any == 0;
}

static void otlp_put_status(const struct summary *c, struct buf *b)
{
    struct buf status;

    if (c->error_type.n == 0)
        return;
    buf_init(&status, SPAN_MAX);
    otlp_put_text(&status, 2, c->error_type);
    otlp_put_int(&status, 3, STATUS_ERROR);
    otlp_put_bytes(b, 15, buf_str(&status));
    buf_release(&status);
}

static void otlp_put_span(const struct summary *c, const struct otlp_trace *t, struct buf *b)
{
    uint64_t start = (uint64_t)(c->wall_start_ms > 0 ? c->wall_start_ms : 0) * CLOCK_NS_PER_MS;
    uint64_t took = c->end_ns > c->start_ns ? c->end_ns - c->start_ns : 0;
    bool child = !otlp_is_zero(t->parent_id, sizeof t->parent_id);
    struct buf name;

    buf_init(&name, TEXT_MAX + 16);
    buf_add(&name, STR("chat "));
    buf_add(&name, utf8_cut_size(otlp_model_of(c), TEXT_MAX - 16));
    otlp_put_bytes(b, 1, (str){(const char *)t->trace_id, sizeof t->trace_id});
    otlp_put_bytes(b, 2, (str){(const char *)t->span_id, sizeof t->span_id});
    if (t->state.n > 0)
        otlp_put_text(b, 3, t->state);
    if (child)
        otlp_put_bytes(b, 4, (str){(const char *)t->parent_id, sizeof t->parent_id});
    otlp_put_text(b, 5, str_trim(buf_str(&name)));
    otlp_put_int(b, 6, KIND_CLIENT);
    otlp_put_fixed(b, 7, FIXED64, start);
    otlp_put_fixed(b, 8, FIXED64, start + took);
    otlp_add_request(c, b);
    otlp_add_reply(c, b);
    otlp_add_own(c, b);
    otlp_put_status(c, b);
    otlp_put_fixed(b,
                   16,
                   FIXED32,
                   (t->sampled ? FLAG_SAMPLED : 0u) | FLAG_KNOWS_REMOTE |
                       (child ? FLAG_REMOTE : 0u));
    buf_release(&name);
}

void otlp_span(const struct summary *c, const struct otlp_trace *t, struct buf *out)
{
    struct buf resource, scope, spans, all;

    buf_init(&resource, SPAN_MAX);
    buf_init(&scope, SPAN_MAX);
    buf_init(&spans, SPAN_MAX);
    buf_init(&all, SPAN_MAX * 2);
    otlp_add_text_as(&resource, RESOURCE_ATTRIBUTES, "service.name", STR("rationale"));
    otlp_add_text_as(&resource, RESOURCE_ATTRIBUTES, "service.version", STR(RATIONALE_VERSION));
    otlp_put_span(c, t, &all);
    otlp_put_bytes(&scope, 1, STR("rationale"));
    otlp_put_bytes(&scope, 2, STR(RATIONALE_VERSION));
    otlp_put_bytes(&spans, 1, buf_str(&scope)); /* of ScopeSpans */
    otlp_put_bytes(&spans, 2, buf_str(&all));
    buf_reset(&all);
    otlp_put_bytes(&all, 1, buf_str(&resource)); /* of ResourceSpans */
    otlp_put_bytes(&all, 2, buf_str(&spans));
    otlp_put_bytes(out, 1, buf_str(&all)); /* of the request */
    buf_release(&all);
    buf_release(&spans);
    buf_release(&scope);
    buf_release(&resource);
}

/* ---- trace contexts ---- */

/* Lower case only, as the recommendation has it. */
static bool otlp_read_hex(str s, uint8_t *out)
{
    assert(s.n % 2 == 0);
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : 16;

        if (digit > 15)
            return false;
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] | digit : digit << 4);
    }
    return true;
}

static void otlp_random_id(struct rand *chance, uint8_t *out, size_t n)
{
    assert(n % sizeof(uint64_t) == 0);
    do
        for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
            uint64_t x = rand_u64(chance);

            memcpy(out + i, &x, sizeof x);
        }
    while (otlp_is_zero(out, n));
}

static bool otlp_read_parent(str s, struct otlp_trace *t)
{
    uint8_t version, flags;

    if (s.n < 55 || s.p[2] != '-' || s.p[35] != '-' || s.p[52] != '-')
        return false;
    if (!otlp_read_hex(str_slice(s, 0, 2), &version) || version == 0xff ||
        (s.n > 55 && (version == 0 || s.p[55] != '-')))
        return false;
    if (!otlp_read_hex(str_slice(s, 3, 35), t->trace_id) ||
        !otlp_read_hex(str_slice(s, 36, 52), t->parent_id) ||
        !otlp_read_hex(str_slice(s, 53, 55), &flags))
        return false;
    t->sampled = flags & 1;
    return !otlp_is_zero(t->trace_id, sizeof t->trace_id) &&
           !otlp_is_zero(t->parent_id, sizeof t->parent_id);
}

bool otlp_trace_begin(str traceparent, struct rand *chance, struct otlp_trace *out)
{
    bool ok;

    *out = (struct otlp_trace){.state = STR("")};
    ok = otlp_read_parent(traceparent, out);
    if (!ok) {
        *out = (struct otlp_trace){.sampled = true, .state = STR("")};
        otlp_random_id(chance, out->trace_id, sizeof out->trace_id);
    }
    otlp_random_id(chance, out->span_id, sizeof out->span_id);
    return ok;
}

/* So many bytes, a multiple of four. */
static inline char *otlp_write_hex(char *at, const uint8_t *bytes, size_t n)
{
    uint32_t four;

    assert(n % sizeof four == 0);
    for (size_t i = 0; i < n; i += sizeof four) {
        memcpy(&four, bytes + i, sizeof four);
        at = str_put_hex(at, be32toh(four));
    }
    return at;
}

void otlp_trace_format(const struct otlp_trace *t, char out[56])
{
    char *at = out;

    *at++ = '0';
    *at++ = '0';
    *at++ = '-';
    at = otlp_write_hex(at, t->trace_id, sizeof t->trace_id);
    *at++ = '-';
    at = otlp_write_hex(at, t->span_id, sizeof t->span_id);
    *at++ = '-';
    *at++ = '0';
    *at++ = t->sampled ? '1' : '0';
    *at = '\0';
    assert(at == out + 55);
}
