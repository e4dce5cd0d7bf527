/* chat.c - model calls: reads a request in any dialect, starts its call, and sends the reply as it
 * arrives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <strings.h>

#include "base/log.h"
#include "serve/agent_model.h"

#define ENCODE_SPARE ((size_t)80 << 20) /* more than one event can take */

/* Buffered output is sent before it outgrows the memory that the loop reuses. */
#define FLUSH_SIZE (BUF_SPARE_MAX - 4096)

#define TRACE_STATE_MAX 512 /* the size that every participant must pass on (W3C Trace Context) */

static bool serve_chat_is_sse(const struct exchange *ex)
{
    return ex->request.stream && ex->wire->stream_framing == WIRE_SSE;
}

/* Gemini streams a JSON array, unless the client asks for server-sent events. */
static bool gemini_array(const struct exchange *ex)
{
    return ex->request.stream && ex->wire->dialect == CHAT_GEMINI &&
           str_find(server_request(ex->x)->query, STR("alt=sse")) == STR_NONE;
}

/* ---- the reply ---- */

/* Valid until the next call of this function. */
static str serve_usage_words(struct exchange *ex)
{
    struct buf *out = &ex->worker->words;
    struct call_facts f;

    assert(ex->call);
    call_facts(ex->call, &f);
    buf_reset(out);
    buf_add(out, STR("reasoning_tokens="));
    buf_add_u64(out, f.reasoning_tokens > 0 ? (uint64_t)f.reasoning_tokens : 0);
    buf_add(out, STR("; cap="));
    if (f.cap >= 0)
        buf_add_u64(out, (uint64_t)f.cap);
    else
        buf_add(out, STR("none"));
    buf_add(out, f.cut ? STR("; cut=budget") : STR("; cut=none"));
    if (f.over > 0) {
        buf_add(out, STR("; over="));
        buf_add_u64(out, (uint64_t)f.over);
    }
    if (f.repaired || f.starved)
        buf_add(out, f.repaired ? STR("; starved=repaired") : STR("; starved=yes"));
    return buf_str(out);
}

static bool serve_speaks_to_gateway(const struct exchange *ex)
{
    const struct http1_head *h = server_request(ex->x);

    for (size_t i = 0; i < h->field_count; i++)
        if (h->fields[i].name.n > 12 && strncasecmp(h->fields[i].name.p, "x-rationale-", 12) == 0)
            return true;
    return ex->wire->dialect == CHAT_GENERATE;
}

/* Whether the end of a stream has the values of x-rationale-usage: only for a client that addresses
 * the gateway (one of our headers, /generate), or whose reply the gateway may have changed. All
 * others get the provider's bytes and nothing else. A framing without comments gets them only if
 * there was reasoning. */
static bool stream_tells_usage(const struct exchange *ex)
{
    struct call_facts f;

    assert(ex->call);
    call_facts(ex->call, &f);
    if (f.cap >= 0 || f.starved || (call_hides(ex->call) && f.reasoning_tokens > 0))
        return true;
    return serve_speaks_to_gateway(ex) &&
           ((serve_chat_is_sse(ex) && !gemini_array(ex)) || f.reasoning_tokens > 0);
}

/* Passes on the provider's rate limits, request id and similar headers. */
static void pass_headers(struct exchange *ex)
{
    const struct http1_field *fields;
    str dropped;
    size_t n;

    if (!ex->call)
        return;
    n = call_reply_headers(ex->call, &fields);
    passed_set_headers(ex, fields, n);
    dropped = call_dropped_params(ex->call);
    if (dropped.n)
        exchange_header(ex, STR("x-rationale-dropped"), arena_dup(server_arena(ex->x), dropped));
}

static void serve_chat_head(struct exchange *ex)
{
    struct server_header all[PASSED_ALL_MAX];
    size_t n;

    if (ex->headed)
        return;
    assert(!ex->ended && ex->encoder.wire);
    ex->headed = true;
    ex->status = 200;
    exchange_header(ex, STR("content-type"), str_c(ex->encoder.wire->stream_type));
    exchange_header(ex, STR("cache-control"), STR("no-cache"));
    exchange_header(ex, STR("x-accel-buffering"), STR("no"));
    pass_headers(ex);
    n = passed_merge_headers(ex, all);
    server_head(ex->x, 200, all, n);
}

static void serve_chat_flush(struct exchange *ex)
{
    if (!ex->out.n)
        return;
    serve_chat_head(ex);
    server_write(ex->x, buf_str(&ex->out));
    buf_reset(&ex->out);
    ex->last_ns = loop_now_ns(ex->worker->gl.loop);
    if (server_full(ex->x) && ex->call) {
        call_pause(ex->call);
        buf_release(&ex->out); /* a stalled client only keeps its send buffer */
    }
}

static void chat_encoder_set_counts(struct exchange *ex)
{
    struct call_facts f;

    call_facts(ex->call, &f);
    wire_generate_counts(&ex->encoder, f.reasoning_tokens, f.cap);
}

static void chat_encoder_set_times(struct exchange *ex)
{
    ex->encoder.took_ns =
        (int64_t)(clock_mono_ns(ex->worker->daemon->gateway.clock) - ex->start_ns);
    if (ex->encoder.first_ns == 0)
        ex->encoder.first_ns = ex->encoder.took_ns;
}

static const struct chat_error too_large = {
    .status = 502,
    .type = STR_INIT(""),
    .message = STR_INIT("the reply is too large to be given in this form"),
    .code = STR_INIT("upstream_too_large"),
    .param = STR_INIT(""),
    .raw = STR_INIT(""),
    .retry_after_ms = -1,
};

/* The encoder's copy of a reply is limited; the rest is dropped, and the client gets an error. */
static void serve_check_room(struct exchange *ex)
{
    bool full = buf_full(&ex->out) || arena_left(server_arena(ex->x)) < ENCODE_SPARE;

    assert(ex->encoder.wire);
    if (!full || ex->encoder.failed)
        return;
    buf_reset(&ex->out);
    ex->encoder.ended = false;
    wire_encode(&ex->encoder, &(struct chat_event){.kind = CHAT_ERROR, .error = &too_large});
    ex->encoder.failed = true;
}

static void serve_chat_on_frame(void *ctx, const struct wire_frame *frame,
                                const struct chat_event *events, size_t n, bool touched, bool last)
{
    struct exchange *ex = ctx;
    bool ends = last && ex->request.stream && !ex->last; /* else appended to the last frame */
    bool note = ends && stream_tells_usage(ex);
    /* Some readers of Gemini's events (LiteLLM) ignore what follows a comment, so the note comes
     * last. */
    bool behind = note && ex->wire->dialect == CHAT_GEMINI && !gemini_array(ex);

    assert(ex->call && !ex->ended);
    buf_take(loop_bufs(ex->worker->gl.loop), &ex->out);
    if (!ex->request.stream && !ex->out.n && !ex->out.front)
        buf_front(&ex->out, SERVER_HEAD_SIZE);
    if (ex->wire->dialect == CHAT_GENERATE)
        chat_encoder_set_counts(ex);
    if (ex->wire->dialect == CHAT_OLLAMA)
        chat_encoder_set_times(ex);
    if (ends)
        serve_chat_flush(ex);
    if (note && !behind)
        wire_encode_note(&ex->encoder, serve_usage_words(ex));
    if (frame)
        wire_relay(&ex->encoder, frame, events, n, touched);
    for (size_t i = 0; !frame && i < n; i++)
        wire_encode(&ex->encoder, &events[i]);
    if (behind)
        wire_encode_note(&ex->encoder, serve_usage_words(ex));
    serve_check_room(ex);
    ex->last = last;
    if (ex->request.stream && !last && ex->out.n >= FLUSH_SIZE)
        serve_chat_flush(ex);
}

/* At the end of a round: sends the events of this round together. The stream may then be silent for
 * long. */
static void serve_chat_on_rest(void *ctx)
{
    struct exchange *ex = ctx;
    bool some = ex->out.n > 0;

    if (!ex->request.stream || ex->last)
        return;
    serve_chat_flush(ex);
    buf_give(loop_bufs(ex->worker->gl.loop), &ex->out);
    if (ex->headed)
        server_request_drop(ex->x);
    if (some)
        server_flush(ex->x); /* sends it now, before the events of other calls of this round */
}

static void serve_chat_on_error(void *ctx, const struct chat_error *error)
{
    struct exchange *ex = ctx;

    serve_chat_on_rest(ex);
    assert(!ex->error);
    exchange_keep_error(ex, error);
    ex->error->id = ex->id;
    if (ex->headed) /* the head was sent, so the stream contains the error */
        wire_encode(&ex->encoder, &(struct chat_event){.kind = CHAT_ERROR, .error = ex->error});
    else
        buf_reset(&ex->out);
}

static void serve_end_stream(struct exchange *ex)
{
    struct server_exchange *x = ex->x;

    assert(!ex->call);
    serve_chat_flush(ex);
    serve_chat_head(ex);
    exchange_done(ex);
    server_end(x);
}

/* Informs the client while headers can still be sent. */
static void chat_mark_unrecorded(struct exchange *ex)
{
    assert(!ex->ended);
    if (!ex->headed && !ex->unrecorded)
        exchange_header(ex, STR("x-rationale-recorded"), STR("no"));
    ex->unrecorded = true;
}

static void serve_chat_on_end(void *ctx, const struct err *e)
{
    struct exchange *ex = ctx;
    struct chat_error unstored = exchange_error_of(503, "not_recorded", STR(""));

    assert(ex->call && !ex->ended);
    unstored.retry_after_ms = CALL_UNRECORDED_MS;
    if (ex->error && !ex->headed)
        exchange_header(ex,
                        STR("x-rationale-provider"),
                        arena_dup(server_arena(ex->x), call_provider_name(ex->call)));
    if (e && ex->setup->config->unrecorded == CONFIG_PASS) {
        chat_mark_unrecorded(ex);
    } else if (e && !ex->error) {
        unstored.message =
            arena_printf(server_arena(ex->x), "the answer could not be put on record: %s", e->text);
        buf_reset(&ex->out);
        ex->encoder.ended = false; /* the end of the reply was not sent yet */
        serve_chat_on_error(ex, &unstored);
    }
    if (!ex->headed)
        pass_headers(ex);
    if (!ex->error)
        exchange_keep_response(ex);
    if (!ex->error && !ex->request.stream)
        exchange_header(ex, STR("x-rationale-usage"), serve_usage_words(ex));
    ex->call = NULL;
    if (ex->error && !ex->headed)
        exchange_error(ex, ex->error);
    else if (ex->request.stream)
        serve_end_stream(ex);
    else
        exchange_reply(
            ex, ex->encoder.failed ? 502 : 200, str_c(ex->wire->whole_type), buf_str(&ex->out));
}

static void serve_encoder_up(struct exchange *ex);

static bool serve_chat_on_retry(void *ctx)
{
    struct exchange *ex = ctx;

    assert(ex->call);
    if (ex->headed)
        return false;
    buf_reset(&ex->out);
    serve_encoder_up(ex);
    return true;
}

static const struct call_sink sink = {serve_chat_on_frame,
                                      serve_chat_on_error,
                                      serve_chat_on_end,
                                      serve_chat_on_rest,
                                      serve_chat_on_retry};

/* Sends a comment now and then while the model is silent, so that no proxy cuts the stream. */
static void serve_chat_keep_alive(void *ctx)
{
    struct exchange *ex = ctx;
    uint64_t every_ms = ex->setup->config->keepalive_ms;
    uint64_t quiet_ms = (loop_now_ns(ex->worker->gl.loop) - ex->last_ns) / CLOCK_NS_PER_MS;

    assert(!ex->ended);
    if (quiet_ms >= every_ms && ex->call && !ex->last && !ex->error) {
        call_commit(ex->call);
        wire_encode_ping(&ex->encoder);
        serve_chat_flush(ex);
        buf_give(loop_bufs(ex->worker->gl.loop), &ex->out);
        quiet_ms = 0;
    }
    if (quiet_ms > every_ms)
        quiet_ms = 0;
    loop_timer_set(ex->worker->gl.loop, &ex->keepalive, every_ms - quiet_ms);
}

/* ---- the request ---- */

static str level_header(const struct http1_head *h)
{
    static const str names[] = {STR_INIT("x-rationale-level"),
                                STR_INIT("x-rationale-reasoning-effort"),
                                STR_INIT("x-reasoning-effort")};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (http1_has(h, names[i]))
            return http1_find(h, names[i]);
    return STR("");
}

static int64_t chat_count_input(void *ctx)
{
    struct exchange *ex = ctx;

    return ex->call ? call_count_input(ex->call) : 0;
}

static void serve_encoder_up(struct exchange *ex)
{
    assert(ex->call);
    wire_encoder_init(
        &ex->encoder, ex->wire, &ex->request, ex->request.stream, server_arena(ex->x), &ex->out);
    ex->encoder.id = ex->id;
    ex->encoder.both_names = exchange_reasoning_asked(server_request(ex->x)) == CONFIG_SHOW;
    ex->encoder.created_s = call_wall_start_ms(ex->call) / 1000;
    ex->encoder.count_input = chat_count_input;
    ex->encoder.count_ctx = ex;
    if (ex->wire->dialect == CHAT_GENERATE)
        wire_generate_options(&ex->encoder, ex->setup->config->delta, !call_hides(ex->call));
    if (gemini_array(ex))
        wire_gemini_array(&ex->encoder);
    /* Google's own SDKs, at least for Python and Go, fail at a comment. */
    ex->encoder.bare = ex->wire->dialect == CHAT_GEMINI &&
                       http1_has(server_request(ex->x), STR("x-goog-api-client"));
}

static const struct http1_head *serve_chat_request_head(void *ctx)
{
    const struct exchange *ex = ctx;

    return server_request(ex->x);
}

static void serve_chat_start(void *ctx)
{
    struct exchange *ex = ctx;
    const struct http1_head *h = server_request(ex->x);
    struct call_request r = {
        .wire = ex->wire,
        .request = &ex->request,
        /* A reply in the Responses dialect repeats members of the request. */
        .doc = ex->request.stream && ex->wire->dialect != CHAT_RESPONSES ? &ex->doc : NULL,
        .body = server_body(ex->x),
        .route = str_c(ex->route->path),
        .id = ex->id,
        .session = str_slice(http1_find(h, STR("x-rationale-session")), 0, 256),
        .key = ex->key,
        .setup = ex->setup,
        .show = exchange_reasoning_asked(h),
        .level = level_header(h),
        .whole = ex->previous.whole,
        .head = serve_chat_request_head,
        .head_ctx = ex,
        .start_ns = ex->start_ns,
    };
    struct chat_error error;
    struct err e;

    assert(!ex->call && !ex->called);
    if (!exchange_reasoning_valid(ex))
        return;
    if (otlp_trace_begin(http1_find(h, STR("traceparent")), &ex->worker->gl.rand, &r.trace))
        r.trace.state = str_slice(http1_find(h, STR("tracestate")), 0, TRACE_STATE_MAX);
    if (!call_start(&ex->worker->gl,
                    &r,
                    (struct call_listener){&sink, ex},
                    server_arena(ex->x),
                    &ex->call,
                    &error)) {
        ex->refused = error.code;
        exchange_error(ex, &error);
        return;
    }
    ex->called = true;
    if (ex->setup->config->unrecorded == CONFIG_PASS &&
        !store_takes(ex->worker->daemon->gateway.store, &e))
        chat_mark_unrecorded(ex);
    if (call_session(ex->call).n)
        exchange_header(
            ex, STR("x-rationale-session"), arena_dup(server_arena(ex->x), call_session(ex->call)));
    serve_encoder_up(ex);
    ex->last_ns = loop_now_ns(ex->worker->gl.loop);
    if (ex->request.stream && ex->setup->config->keepalive_ms) {
        ex->started = true;
        loop_timer_init(&ex->keepalive, serve_chat_keep_alive, ex);
        loop_timer_set(ex->worker->gl.loop, &ex->keepalive, ex->setup->config->keepalive_ms);
    }
}

/* The request is read; the call starts in a separate step, together with other calls: loop.h. */
static void serve_start_soon(struct exchange *ex)
{
    assert(!ex->call && !ex->ended);
    loop_task_init(&ex->start, serve_chat_start, ex);
    loop_soon(ex->worker->gl.loop, &ex->start);
}

/* The error text begins with the path of the member, if it is about one. */
static void serve_chat_refuse(struct exchange *ex, str why)
{
    struct chat_error error = exchange_error_of(400, "invalid_request", why);
    size_t colon = str_find(why, STR(": "));

    if (colon != STR_NONE && str_find(str_slice(why, 0, colon), STR(" ")) == STR_NONE)
        error.param = str_slice(why, 0, colon);
    ex->refused = error.code;
    exchange_error(ex, &error);
}

static bool serve_read_body(struct exchange *ex)
{
    struct err e;

    assert(!ex->ended);
    if (!exchange_values_fit(ex))
        return false;
    if (ex->wire->read(&ex->doc, server_arena(ex->x), &ex->request, &e))
        return true;
    serve_chat_refuse(ex, str_c(e.text));
    return false;
}

/* Ollama: a request without messages loads or unloads a model. For other providers, nothing needs
 * to be loaded. */
static bool serve_chat_answer_load(struct exchange *ex)
{
    const struct chat_request *r = &ex->request;
    const struct json_node *keep = json_find(&ex->doc, json_root(&ex->doc), STR("keep_alive"));
    struct config_route route;
    char when[CLOCK_TEXT_SIZE];
    struct buf body;
    int64_t n = 1;

    if (ex->wire->dialect != CHAT_OLLAMA || r->message_count > 0 ||
        !config_find(ex->setup->config, r->model, &route) || !exchange_may_use(ex, r->model) ||
        route.provider->dialect == CHAT_OLLAMA)
        return false;
    (void)!json_i64(&ex->doc, keep, &n);
    buf_init(&body, 65536);
    clock_format(clock_wall_ms(ex->worker->daemon->gateway.clock), when);
    buf_add(&body, STR("{\"model\":"));
    (void)json_quote(&body, r->model);
    buf_printf(&body,
               ",\"created_at\":\"%.19s.000000000Z\",%s,\"done\":true,\"done_reason\":\"%s\"}\n",
               when,
               ex->wire == &wire_ollama_prompt
                   ? "\"response\":\"\""
                   : "\"message\":{\"role\":\"assistant\",\"content\":\"\"}",
               n == 0 ? "unload" : "load");
    ex->called = true; /* it is not a model call */
    exchange_reply(
        ex, 200, str_c(r->stream ? ex->wire->stream_type : ex->wire->whole_type), buf_str(&body));
    buf_release(&body);
    return true;
}

/* The first configured model, for /generate, whose requests need not name one. */
static str serve_first_model(const struct config *c)
{
    for (size_t i = 0; i < c->provider_count; i++)
        if (c->providers[i].model_count)
            return c->providers[i].models[0].alias;
    return STR("");
}

void chat_handle(struct exchange *ex)
{
    if (strcmp(ex->route->path, "/api/generate") == 0)
        ex->wire = &wire_ollama_prompt;
    if (exchange_json(ex) && exchange_one_model(ex))
        chat_read_on(ex);
}

void chat_read_on(struct exchange *ex)
{
    assert(!ex->ended && !ex->call);
    if (!exchange_add_previous(ex) || !serve_read_body(ex))
        return;
    if (!ex->request.model.n && ex->wire->dialect == CHAT_GENERATE)
        ex->request.model = serve_first_model(ex->setup->config);
    if (agent_model_is(ex->request.model))
        agent_model_handle(ex);
    else if (!serve_chat_answer_load(ex))
        serve_start_soon(ex);
}

/* /v1beta/models/MODEL:generateContent: the path names the model and says whether to stream. */
void gemini_handle(struct exchange *ex)
{
    str verb = STR(""), rest = exchange_rest(ex), model = rest;

    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] == ':') {
            model = str_slice(rest, 0, i);
            verb = str_slice(rest, i + 1, rest.n);
        }
    if (str_eq(verb, STR("countTokens"))) {
        gemini_count(ex, model);
        return;
    }
    if (str_eq(verb, STR("embedContent")) || str_eq(verb, STR("batchEmbedContents"))) {
        pass_on_gemini(ex, model, verb);
        return;
    }
    if (!str_eq(verb, STR("generateContent")) && !str_eq(verb, STR("streamGenerateContent"))) {
        exchange_fail(ex,
                      404,
                      "not_found",
                      "the method \"" STR_FMT "\" is not known: generateContent, "
                      "streamGenerateContent, countTokens, embedContent or batchEmbedContents",
                      STR_ARG(str_slice(verb, 0, 60)));
        return;
    }
    if (!exchange_json(ex) || !exchange_one_model(ex) || !serve_read_body(ex))
        return;
    ex->request.model = model;
    ex->request.stream = verb.p[0] == 's';
    if (agent_model_is(model))
        agent_model_handle(ex);
    else
        serve_start_soon(ex);
}
