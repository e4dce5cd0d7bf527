/* Spans of calls, parsed by a reader of protobuf wire types only; trace contexts; and the exporter
 * against a server that refuses, delays and accepts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/otlp.h"

#include "base/clock.h"
#include "net/gzip.h"
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a minimal reader of protobuf ---- */

struct field {
    unsigned number, type;
    uint64_t value;
    str bytes;
};

static bool varint(str s, size_t *at, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; *at < s.n && shift < 64; shift += 7) {
        uint8_t byte = (uint8_t)s.p[(*at)++];

        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool next_field(str s, size_t *at, struct field *f)
{
    uint64_t tag, n;

    if (*at == s.n)
        return false;
    CHECK(varint(s, at, &tag));
    *f = (struct field){.number = (unsigned)(tag >> 3), .type = tag & 7, .bytes = STR("")};
    if (f->type == 0) {
        CHECK(varint(s, at, &f->value));
        return true;
    }
    if (f->type == 2)
        CHECK(varint(s, at, &n));
    else
        n = f->type == 1 ? 8 : 4;
    CHECK(f->type == 1 || f->type == 2 || f->type == 5);
    CHECK(n <= s.n - *at);
    f->bytes = str_slice(s, *at, *at + n);
    for (size_t i = 0; f->type != 2 && i < n; i++)
        f->value |= (uint64_t)(uint8_t)f->bytes.p[i] << 8 * i;
    *at += n;
    return true;
}

/* The nth field with this number, or an empty field. */
static struct field get(str s, unsigned number, size_t nth)
{
    struct field f;

    for (size_t at = 0; next_field(s, &at, &f);)
        if (f.number == number && nth-- == 0)
            return f;
    return (struct field){.bytes = STR("")};
}

/* An attribute as text: "s:...", "i:...", "b:...", "d:...", "a:..." or "". */
static const char *attribute(str message, unsigned field, const char *key)
{
    static char out[2048];
    struct field f;

    for (size_t at = 0; next_field(message, &at, &f);) {
        str value = f.number == field ? get(f.bytes, 2, 0).bytes : STR("");
        struct field v;
        size_t in = 0;
        double x;

        if (f.number != field || !str_eq(get(f.bytes, 1, 0).bytes, str_c(key)))
            continue;
        CHECK(next_field(value, &in, &v));
        memcpy(&x, &v.value, sizeof x);
        if (v.number == 1)
            snprintf(out, sizeof out, "s:" STR_FMT, STR_ARG(v.bytes));
        else if (v.number == 2)
            snprintf(out, sizeof out, "b:%d", (int)v.value);
        else if (v.number == 3)
            snprintf(out, sizeof out, "i:%lld", (long long)v.value);
        else if (v.number == 4)
            snprintf(out, sizeof out, "d:%g", x);
        else
            snprintf(
                out, sizeof out, "a:" STR_FMT, STR_ARG(get(get(v.bytes, 1, 0).bytes, 1, 0).bytes));
        return out;
    }
    return "";
}

/* ---- spans ---- */

static struct summary call_of(void)
{
    return (struct summary){.id = STR("id-1"),
                            .session = STR(""),
                            .key_name = STR("ci"),
                            .route = STR("/v1/chat/completions"),
                            .provider = STR("one"),
                            .otel_provider = STR("openai"),
                            .model = STR("fast"),
                            .upstream_model = STR("gpt-x"),
                            .reply_model = STR("gpt-x-2025"),
                            .reply_id = STR("chatcmpl-1"),
                            .server_host = STR("api.example"),
                            .server_port = 443,
                            .status = 200,
                            .stream = true,
                            .complete = true,
                            .stop = CHAT_STOP_TOOL,
                            .error_type = STR(""),
                            .level = CHAT_LEVEL_HIGH,
                            .wall_start_ms = 1700000000123,
                            .start_ns = 1000000000,
                            .first_byte_ns = 1500000000,
                            .end_ns = 3000000000,
                            .usage = {100, 200, 150, -1, -1, STR("")},
                            .cap = 512,
                            .cut = true,
                            .cut_action = STR("restate"),
                            .source = SUMMARY_FIELD,
                            .cost_usd = 0.25,
                            .attempts = 2,
                            .max_tokens = STR("4096"),
                            .temperature = STR("0.70"),
                            .top_p = STR(""),
                            .top_k = STR("40"),
                            .seed = STR("7"),
                            .frequency_penalty = STR("0.5"),
                            .presence_penalty = STR("[1]"),
                            .n = STR("1")};
}

static const struct otlp_trace trace = {
    .trace_id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
    .span_id = {1, 1, 1, 1, 1, 1, 1, 1},
    .parent_id = {2, 2, 2, 2, 2, 2, 2, 2},
    .sampled = true,
    .state = STR_INIT("a=b")};

/* The span of an export request with one span. It points into the buffer. */
static str span_of(struct buf *b, const struct summary *c, const struct otlp_trace *t)
{
    str resource_spans, resource, scope_spans;

    buf_reset(b);
    otlp_span(c, t, b);
    CHECK(!buf_full(b));
    resource_spans = get(buf_str(b), 1, 0).bytes;
    resource = get(resource_spans, 1, 0).bytes;
    CHECK_STR(str_c(attribute(resource, 1, "service.name")), "s:rationale");
    scope_spans = get(resource_spans, 2, 0).bytes;
    CHECK_STR(get(get(scope_spans, 1, 0).bytes, 1, 0).bytes, "rationale");
    return get(scope_spans, 2, 0).bytes;
}

TEST(a_span_says_who_when_and_how)
{
    struct summary c = call_of();
    struct buf b;
    str s;

    buf_init(&b, 1 << 20);
    s = span_of(&b, &c, &trace);
    CHECK(str_eq(get(s, 1, 0).bytes, (str){(const char *)trace.trace_id, 16}));
    CHECK(str_eq(get(s, 2, 0).bytes, (str){(const char *)trace.span_id, 8}));
    CHECK_STR(get(s, 3, 0).bytes, "a=b");
    CHECK(str_eq(get(s, 4, 0).bytes, (str){(const char *)trace.parent_id, 8}));
    CHECK_STR(get(s, 5, 0).bytes, "chat gpt-x");
    CHECK_INT(get(s, 6, 0).value, 3);
    CHECK_INT(get(s, 7, 0).type, 1);
    CHECK_INT(get(s, 7, 0).value, 1700000000123000000);
    CHECK_INT(get(s, 8, 0).value, 1700000002123000000);
    CHECK_INT(get(s, 15, 0).bytes.n, 0);
    CHECK_INT(get(s, 16, 0).type, 5);
    CHECK_INT(get(s, 16, 0).value, 0x301);
    buf_release(&b);
}

TEST(attributes_have_the_names_of_the_conventions)
{
    static const struct {
        const char *key, *value;
    } want[] = {
        {"gen_ai.operation.name", "s:chat"},
        {"gen_ai.provider.name", "s:openai"},
        {"gen_ai.request.model", "s:gpt-x"},
        {"gen_ai.request.stream", "b:1"},
        {"gen_ai.request.max_tokens", "i:4096"},
        {"gen_ai.request.temperature", "d:0.7"},
        {"gen_ai.request.top_p", ""},
        {"gen_ai.request.top_k", "d:40"},
        {"gen_ai.request.seed", "i:7"},
        {"gen_ai.request.frequency_penalty", "d:0.5"},
        {"gen_ai.request.presence_penalty", ""},
        {"gen_ai.request.choice.count", ""},
        {"gen_ai.request.reasoning.level", "s:high"},
        {"gen_ai.conversation.id", ""},
        {"gen_ai.response.id", "s:chatcmpl-1"},
        {"gen_ai.response.model", "s:gpt-x-2025"},
        {"gen_ai.response.finish_reasons", "a:tool_call"},
        {"gen_ai.response.time_to_first_chunk", "d:0.5"},
        {"gen_ai.usage.input_tokens", "i:100"},
        {"gen_ai.usage.output_tokens", "i:200"},
        {"gen_ai.usage.reasoning.output_tokens", "i:150"},
        {"gen_ai.usage.cache_read.input_tokens", ""},
        {"server.address", "s:api.example"},
        {"server.port", "i:443"},
        {"error.type", ""},
        {"rationale.reasoning.cap", "i:512"},
        {"rationale.reasoning.cut", "b:1"},
        {"rationale.reasoning.starved", "b:0"},
        {"rationale.reasoning.cut_action", "s:restate"},
        {"rationale.cost.usd", "d:0.25"},
        {"rationale.cost.source", "s:local"},
    };
    struct summary c = call_of();
    struct buf b;
    str s;

    buf_init(&b, 1 << 20);
    s = span_of(&b, &c, &trace);
    for (size_t i = 0; i < COUNT_OF(want); i++)
        CHECK_F(strcmp(attribute(s, 9, want[i].key), want[i].value) == 0,
                "%s is \"%s\"",
                want[i].key,
                attribute(s, 9, want[i].key));
    buf_release(&b);
}

TEST(a_failed_call_says_so)
{
    struct summary c = call_of();
    struct otlp_trace t = trace;
    struct buf b;
    str s, status;

    c.complete = false;
    c.error_type = STR("timeout");
    c.session = STR("s-1");
    c.upstream_model = STR("");
    c.max_tokens = STR("many");
    c.n = STR("3");
    memset(t.parent_id, 0, sizeof t.parent_id);
    buf_init(&b, 1 << 20);
    s = span_of(&b, &c, &t);
    status = get(s, 15, 0).bytes;
    CHECK_STR(get(status, 2, 0).bytes, "timeout");
    CHECK_INT(get(status, 3, 0).value, 2);
    CHECK_STR(str_c(attribute(s, 9, "error.type")), "s:timeout");
    CHECK_STR(str_c(attribute(s, 9, "gen_ai.request.choice.count")), "i:3");
    CHECK_STR(str_c(attribute(s, 9, "gen_ai.response.finish_reasons")), "a:error");
    CHECK_STR(str_c(attribute(s, 9, "gen_ai.conversation.id")), "s:s-1");
    c.session = c.id; /* no client named a session, and none was recognised */
    buf_reset(&b);
    s = span_of(&b, &c, &t);
    CHECK_STR(str_c(attribute(s, 9, "gen_ai.conversation.id")), "");
    CHECK_STR(str_c(attribute(s, 9, "gen_ai.request.max_tokens")), "");
    CHECK_STR(get(s, 5, 0).bytes, "chat fast");
    CHECK_INT(get(s, 4, 0).bytes.n, 0);
    CHECK_INT(get(s, 16, 0).value, 0x101);
    buf_release(&b);
}

TEST(texts_are_valid_and_bounded)
{
    struct summary c = call_of();
    char *large = base_alloc(100000);
    struct buf b;
    str s;

    memset(large, 'x', 100000);
    c.reply_id = (str){large, 100000};
    c.model = c.upstream_model = c.provider = c.route = c.error_type = c.reply_id;
    c.reply_model = STR("a\xff\xc3");
    buf_init(&b, 1 << 20);
    s = span_of(&b, &c, &trace);
    CHECK_INT(strlen(attribute(s, 9, "gen_ai.response.id")), 1026);
    CHECK_STR(str_c(attribute(s, 9, "gen_ai.response.model")), "s:a\xef\xbf\xbd\xef\xbf\xbd");
    buf_release(&b);
    free(large);
}

/* ---- trace contexts ---- */

#define TRACE_ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN_ID "00f067aa0ba902b7"

TEST(a_traceparent_is_taken_only_as_the_recommendation_has_it)
{
    static const struct {
        const char *text;
        bool ok, sampled;
    } cases[] = {
        {"00-" TRACE_ID "-" SPAN_ID "-01", true, true},
        {"00-" TRACE_ID "-" SPAN_ID "-00", true, false},
        {"00-" TRACE_ID "-" SPAN_ID "-ff", true, true},
        {"00-" TRACE_ID "-" SPAN_ID "-02", true, false},
        {"cc-" TRACE_ID "-" SPAN_ID "-01", true, true},
        {"cc-" TRACE_ID "-" SPAN_ID "-01-what-comes", true, true},
        {"cc-" TRACE_ID "-" SPAN_ID "-01.what", false, true},
        {"00-" TRACE_ID "-" SPAN_ID "-01-more", false, true},
        {"ff-" TRACE_ID "-" SPAN_ID "-01", false, true},
        {"00-" TRACE_ID "-" SPAN_ID "-1", false, true},
        {"00-" TRACE_ID "-" SPAN_ID, false, true},
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN_ID "-01", false, true},
        {"00-00000000000000000000000000000000-" SPAN_ID "-01", false, true},
        {"00-" TRACE_ID "-0000000000000000-01", false, true},
        {"0g-" TRACE_ID "-" SPAN_ID "-01", false, true},
        {"00-" TRACE_ID "-" SPAN_ID "-0x", false, true},
        {"00_" TRACE_ID "-" SPAN_ID "-01", false, true},
        {" 00-" TRACE_ID "-" SPAN_ID "-01", false, true},
        {"", false, true},
    };
    struct rand chance;

    rand_init(&chance, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct otlp_trace t;
        char text[56];

        CHECK_F(otlp_trace_begin(str_c(cases[i].text), &chance, &t) == cases[i].ok,
                "%s",
                cases[i].text);
        CHECK_INT(t.sampled, cases[i].sampled);
        otlp_trace_format(&t, text);
        CHECK_INT(strlen(text), 55);
        CHECK((memcmp(text + 3, TRACE_ID, 32) == 0) == cases[i].ok);
        CHECK(memcmp(text + 36, SPAN_ID, 16) != 0);
        CHECK(otlp_trace_begin(str_c(text), &chance, &t));
    }
}

/* ---- the exporter ---- */

/* Answers requests in sequence with the given statuses, then ends. */
struct server {
    int fd;
    unsigned port;
    const char *statuses[8];
    size_t count;
    _Atomic unsigned wait_ms; /* before each reply */
    size_t spans, requests;
    char head[4096];
};

static size_t count_spans(str packed)
{
    struct buf plain;
    struct field f;
    struct err e;
    size_t n = 0;

    buf_init(&plain, 64 << 20);
    CHECK(gzip_unpack(packed, &plain, &e));
    for (size_t at = 0; next_field(buf_str(&plain), &at, &f);)
        n++;
    buf_release(&plain);
    return n;
}

static void serve_one(struct server *s, int fd, const char *status)
{
    struct buf b;
    size_t head = STR_NONE, size = 0;
    char reply[256];

    buf_init(&b, 16 << 20);
    while (head == STR_NONE || b.n < head + 4 + size) {
        char *room = buf_room(&b, 65536);
        ssize_t n = read(fd, room, 65536);
        const char *length;

        if (n <= 0)
            break;
        buf_wrote(&b, (size_t)n);
        head = str_find(buf_str(&b), STR("\r\n\r\n"));
        if (head == STR_NONE)
            continue;
        snprintf(s->head, sizeof s->head, "%.*s", (int)head, b.p);
        length = strcasestr(s->head, "content-length: ");
        size = length ? strtoul(length + 16, NULL, 10) : 0;
    }
    if (head != STR_NONE && strstr(status, "200"))
        s->spans += count_spans(str_slice(buf_str(&b), head + 4, b.n));
    s->requests++;
    usleep(s->wait_ms * 1000);
    snprintf(reply,
             sizeof reply,
             "HTTP/1.1 %s\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
             status);
    CHECK(write(fd, reply, strlen(reply)) > 0);
    buf_release(&b);
}

static void *serve(void *arg)
{
    struct server *s = arg;

    for (size_t i = 0; i < s->count; i++) {
        int fd = accept(s->fd, NULL, NULL);

        if (fd < 0)
            break;
        if (s->statuses[i][0])
            serve_one(s, fd, s->statuses[i]);
        close(fd);
    }
    return NULL;
}

static void listen_on(struct server *s, pthread_t *thread)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t n = sizeof a;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(s->fd >= 0 && bind(s->fd, (struct sockaddr *)&a, sizeof a) == 0);
    CHECK(listen(s->fd, 8) == 0 && getsockname(s->fd, (struct sockaddr *)&a, &n) == 0);
    s->port = ntohs(a.sin_port);
    CHECK(pthread_create(thread, NULL, serve, s) == 0);
}

static struct otlp *exporter(const struct server *s)
{
    char url[64];
    struct err e = {0};
    struct otlp *o;

    snprintf(url, sizeof url, "http://127.0.0.1:%u/base", s->port);
    o = otlp_new(str_c(url), STR("x-token: t\r\n"), NULL, &e);
    CHECK_F(o, "%s", e.text);
    return o;
}

TEST(what_is_queued_is_sent_before_it_leaves)
{
    struct server s = {.statuses = {"200 OK"}, .count = 1};
    struct summary c = call_of();
    struct otlp_trace quiet = trace;
    uint64_t depth, sent, dropped;
    pthread_t thread;
    struct otlp *o;

    listen_on(&s, &thread);
    o = exporter(&s);
    quiet.sampled = false;
    for (int i = 0; i < 10; i++)
        otlp_add(o, &c, i % 2 ? &trace : &quiet);
    otlp_counts(o, &depth, &sent, &dropped);
    CHECK(depth == 5 && sent == 0 && dropped == 0);
    otlp_free(o);
    pthread_join(thread, NULL);
    close(s.fd);
    CHECK_INT(s.spans, 5);
    CHECK(strstr(s.head, "POST /base/v1/traces HTTP/1.1\r\n") == s.head);
    CHECK(strcasestr(s.head, "content-type: application/x-protobuf"));
    CHECK(strcasestr(s.head, "content-encoding: gzip"));
    CHECK(strcasestr(s.head, "x-token: t"));
}

static void wait_for(struct otlp *o, uint64_t settled)
{
    uint64_t depth, sent = 0, dropped = 0;

    for (int i = 0; i < 2000 && sent + dropped < settled; i++) {
        otlp_counts(o, &depth, &sent, &dropped);
        usleep(10000);
    }
    CHECK(sent + dropped >= settled);
}

TEST(a_full_batch_goes_at_once_and_is_tried_again_where_that_helps)
{
    struct server s = {.statuses = {"503 Busy", "429 Slow", "200 OK", "400 Bad", "200 OK"},
                       .count = 5};
    struct summary c = call_of();
    uint64_t depth, sent, dropped;
    pthread_t thread;
    struct otlp *o;

    listen_on(&s, &thread);
    o = exporter(&s);
    for (int i = 0; i < 512; i++)
        otlp_add(o, &c, &trace);
    wait_for(o, 512);
    for (int i = 0; i < 512; i++)
        otlp_add(o, &c, &trace);
    wait_for(o, 1024);
    otlp_counts(o, &depth, &sent, &dropped);
    CHECK_INT(sent, 512);
    CHECK_INT(dropped, 512);
    otlp_add(o, &c, &trace);
    otlp_free(o);
    pthread_join(thread, NULL);
    close(s.fd);
    CHECK_INT(s.spans, 513);
    CHECK_INT(s.requests, 5);
}

/* A full batch is sent before the interval of 5 s has passed; its reply arrives after the
 * interval. */
TEST(a_batch_whose_reply_comes_late_is_sent_once)
{
    struct server s = {.statuses = {"200 OK", "200 OK"}, .count = 2, .wait_ms = 5500};
    struct summary c = call_of();
    pthread_t thread;
    struct otlp *o;

    listen_on(&s, &thread);
    o = exporter(&s);
    for (int i = 0; i < 512; i++)
        otlp_add(o, &c, &trace);
    wait_for(o, 512);
    s.wait_ms = 0;
    otlp_add(o, &c, &trace);
    otlp_free(o);
    pthread_join(thread, NULL);
    close(s.fd);
    CHECK_INT(s.spans, 513);
    CHECK_INT(s.requests, 2);
}

TEST(a_server_that_is_not_there_costs_no_more_than_the_queue)
{
    struct summary c = call_of();
    uint64_t depth, sent, dropped, began;
    struct err e;
    struct otlp *o = otlp_new(STR("http://127.0.0.1:1"), STR(""), NULL, &e);

    CHECK(o);
    for (int i = 0; i < 20000; i++)
        otlp_add(o, &c, &trace);
    otlp_counts(o, &depth, &sent, &dropped);
    CHECK(depth <= 8192 && sent == 0 && dropped >= 20000 - 8192 - 512);
    began = clock_mono_ms(&clock_real);
    otlp_free(o);
    CHECK(clock_mono_ms(&clock_real) - began < 4000);
    CHECK(!otlp_new(STR("ftp://x"), STR(""), NULL, &e));
    otlp_free(NULL);
}

TEST_MAIN(T(a_span_says_who_when_and_how), T(attributes_have_the_names_of_the_conventions),
          T(a_failed_call_says_so), T(texts_are_valid_and_bounded),
          T(a_traceparent_is_taken_only_as_the_recommendation_has_it),
          T(what_is_queued_is_sent_before_it_leaves),
          T(a_full_batch_goes_at_once_and_is_tried_again_where_that_helps),
          T(a_batch_whose_reply_comes_late_is_sent_once),
          T(a_server_that_is_not_there_costs_no_more_than_the_queue))
