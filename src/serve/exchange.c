/* exchange.c - one request: finds its key and route, and writes errors in the client's dialect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/exchange_key.h"
#include "serve/methods.h"
#include "serve/page.h"
#include "serve/params.h"
#include "serve/watch.h"

#define VALUE_SIZE 320 /* most bytes that a parsed value of a request can take */
#define LOGGED_SPARE 4096
#define REFUSED_ARENA_MAX ((size_t)1 << 20) /* for the path, which fits into the head */
#define HEADERS_FIRST 5                     /* most replies have no more headers of ours */

void exchange_header(struct exchange *ex, str name, str value)
{
    assert(ex->header_count < SERVE_HEADERS_MAX);
    if (ex->header_count == ex->headers_max)
        ex->headers = arena_grow(server_arena(ex->x),
                                 ex->headers,
                                 ex->header_count,
                                 &ex->headers_max,
                                 sizeof *ex->headers);
    ex->headers[ex->header_count++] = (struct server_header){name, value};
}

void exchange_keep_error(struct exchange *ex, const struct chat_error *error)
{
    assert(!ex->ended);
    if (!ex->error)
        ex->error = arena_alloc(server_arena(ex->x), sizeof *ex->error);
    *ex->error = *error;
}

/* A client's path or model may be a secret by mistake, so it is masked for the log. */
static str exchange_mask_for_log(struct worker *w, struct setup *s, str said, struct arena *a)
{
    struct buf out;

    if (!s || !s->mask || setup_cache_clean(&w->gl.setup_cache, s, said))
        return said;
    buf_init(&out, 4 * said.n + LOGGED_SPARE);
    if (mask_text(s->mask, said, &out, NULL))
        said = buf_full(&out) ? STR("") : arena_dup(a, buf_str(&out));
    buf_release(&out);
    return said;
}

/* The path without the id of a watched run: the id is its credential. */
static str exchange_path_for_log(struct worker *w, struct setup *s, str path, struct arena *a)
{
    if (str_starts(path, STR("/api/v1/watch/")))
        return STR("/api/v1/watch/*");
    if (str_starts(path, STR(WATCH_PREFIX)))
        path = watch_shown_path(path, a);
    return exchange_mask_for_log(w, s, path, a);
}

static uint64_t exchange_took_ns(const struct exchange *ex)
{
    return clock_mono_ns(ex->worker->daemon->gateway.clock) - ex->start_ns;
}

void exchange_done(struct exchange *ex)
{
    bool call = ex->route->handle == chat_handle || ex->route->handle == gemini_handle;
    bool probe = ex->route->handle == health_handle || ex->route->handle == ready_handle;
    struct arena *a = server_arena(ex->x);
    str path = exchange_path_for_log(ex->worker, ex->setup, server_request(ex->x)->path, a);
    str model = exchange_mask_for_log(ex->worker, ex->setup, ex->request.model, a);

    assert(!ex->ended);
    assert(!ex->call);
    LOG_AT_(probe ? LOG_DEBUG : LOG_INFO,
            "request",
            LOG_STR("id", ex->id),
            LOG_STR("method", server_request(ex->x)->method),
            LOG_STR("path", path),
            LOG_I64("status", ex->status),
            LOG_STR("code", ex->refused),
            LOG_U64("us", exchange_took_ns(ex) / 1000),
            LOG_STR("key", ex->key ? ex->key->name : STR("")),
            LOG_STR("model", str_slice(model, 0, 100)));
    if (call && !ex->called)
        metrics_refused(ex->worker->gl.metrics,
                        str_c(ex->route->path),
                        ex->status,
                        ex->request.stream,
                        exchange_took_ns(ex));
    loop_defer(ex->worker->gl.loop, &ex->worker->log_out);
    if (ex->started)
        loop_timer_clear(ex->worker->gl.loop, &ex->keepalive);
    else
        loop_drop(ex->worker->gl.loop, &ex->start);
    json_release(&ex->doc);
    buf_give(loop_bufs(ex->worker->gl.loop), &ex->out);
    setup_release(ex->setup);
    ex->ended = true;
}

void exchange_reply(struct exchange *ex, int status, str type, str body)
{
    struct buf_pool *bufs = loop_bufs(ex->worker->gl.loop);
    struct server_exchange *x = ex->x;
    struct server_header all[PASSED_ALL_MAX];
    struct buf out;
    size_t n;

    assert(!ex->ended);
    ex->status = status;
    if (ex->api)
        api_protect(ex);
    exchange_header(ex, STR("content-type"), type);
    n = passed_merge_headers(ex, all);
    out = ex->out; /* the body may be in `out`, and ex is freed with the exchange */
    buf_init(&ex->out, 0);
    exchange_done(ex);
    if (body.n && body.p == out.p && body.n == out.n)
        server_reply_buf(x, status, all, n, &out);
    else
        server_reply(x, status, all, n, body);
    buf_give(bufs, &out);
}

void exchange_reply_json(struct exchange *ex, int status, struct json_text *t)
{
    json_out_close(&t->o, t->o.depth);
    exchange_reply(ex, status, STR("application/json"), buf_str(&t->buf));
    buf_release(&t->buf);
}

/* Retry-After in whole seconds, rounded up, and in milliseconds if they say more. */
static void exchange_retry_after(struct exchange *ex, int64_t ms)
{
    struct arena *a = server_arena(ex->x);

    assert(ms >= 0);
    exchange_header(
        ex, STR("retry-after"), arena_printf(a, "%lld", (long long)((ms + 999) / 1000)));
    if (ms % 1000)
        exchange_header(ex, STR("retry-after-ms"), arena_printf(a, "%lld", (long long)ms));
}

void exchange_error(struct exchange *ex, const struct chat_error *error)
{
    struct chat_error named = *error;
    struct buf body;

    assert(!ex->ended);
    if (error->retry_after_ms >= 0)
        exchange_retry_after(ex, error->retry_after_ms);
    if (error->no_retry && !passed_has(ex, STR("x-should-retry"))) /* SDKs obey this header */
        exchange_header(ex, STR("x-should-retry"), STR("false"));
    if (!ex->api && !ex->passed.request_id.n)
        exchange_header(ex, passed_id_name(ex), ex->id);
    named.id = ex->passed.request_id.n ? ex->passed.request_id : ex->id;
    buf_init(&body, 1 << 20);
    if (error->raw.n)
        buf_add(&body, error->raw);
    else if (ex->api)
        api_error(error, &body);
    else
        ex->wire->write_error(&named, &body);
    exchange_reply(ex, error->status, STR("application/json"), buf_str(&body));
    buf_release(&body);
}

/* The part before the colon of "messages[0].role: what is wrong". */
static str exchange_param_of(str text)
{
    size_t n = 0;

    while (n < text.n && (strchr("_.[]", text.p[n]) || (text.p[n] >= '0' && text.p[n] <= '9') ||
                          ((text.p[n] | 32) >= 'a' && (text.p[n] | 32) <= 'z')))
        n++;
    return str_starts(str_slice(text, n, text.n), STR(": ")) ? str_slice(text, 0, n) : STR("");
}

void exchange_fail(struct exchange *ex, int status, const char *code, const char *fmt, ...)
{
    struct chat_error error;
    char text[512];
    va_list args;

    assert(status >= 400 && status < 600);
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    error = exchange_error_of(status, code, str_c(text));
    ex->refused = error.code;
    if (status == 400)
        error.param = exchange_param_of(error.message);
    exchange_error(ex, &error);
}

enum config_show exchange_reasoning_asked(const struct http1_head *h)
{
    str value = http1_find(h, STR("x-rationale-reasoning"));

    return value.n == 4 && strncasecmp(value.p, "show", 4) == 0   ? CONFIG_SHOW
           : value.n == 4 && strncasecmp(value.p, "hide", 4) == 0 ? CONFIG_HIDE
                                                                  : CONFIG_SHOW_UNSET;
}

bool exchange_reasoning_valid(struct exchange *ex)
{
    const struct http1_head *h = server_request(ex->x);

    if (!http1_has(h, STR("x-rationale-reasoning")) ||
        exchange_reasoning_asked(h) != CONFIG_SHOW_UNSET)
        return true;
    exchange_fail(ex,
                  400,
                  "invalid_header",
                  "the header x-rationale-reasoning is \"" STR_FMT "\": it takes show or hide",
                  STR_ARG(str_slice(http1_find(h, STR("x-rationale-reasoning")), 0, 40)));
    return false;
}

bool exchange_json(struct exchange *ex)
{
    struct err e;

    assert(!ex->ended);
    if (json_parse(&ex->doc, server_body(ex->x), &e))
        return true;
    exchange_fail(ex, 400, "invalid_json", "the body is not JSON: %s", e.text);
    return false;
}

bool exchange_values_fit(struct exchange *ex)
{
    if (arena_fits(server_arena(ex->x), (size_t)ex->doc.n * VALUE_SIZE, 0))
        return true;
    exchange_fail(ex, 413, "too_many_values", "the body has too many values: %u", ex->doc.n);
    return false;
}

/* The rights of a key are checked for the model name that is read here. If the body had two, the
 * provider might read the other. */
bool exchange_one_model(struct exchange *ex)
{
    const struct json_node *root = json_root(&ex->doc);
    size_t count = 0;

    if (root->kind != JSON_OBJECT || !root->escaped)
        return true;
    JSON_FOREACH(k, &ex->doc, root)
        count += json_is(&ex->doc, k, STR("model"));
    if (count > 1)
        exchange_fail(ex, 400, "invalid_request", "model: occurs %zu times; give it once", count);
    return count <= 1;
}

/* ---- called by the server ---- */

static const struct route unknown = {"", "", CHAT_OPENAI, true, NULL};

/* The methods of a path, for a browser that asks before it lets a page of another site send. */
void exchange_fail_method(struct exchange *ex)
{
    const struct http1_head *h = server_request(ex->x);
    str path = str_slice(h->path, 0, 200), allowed = route_methods(h->path, server_arena(ex->x));

    if (!allowed.n) {
        exchange_fail(ex, 404, "unknown_url", "there is nothing at " STR_FMT, STR_ARG(path));
        return;
    }
    exchange_header(ex, STR("allow"), allowed);
    exchange_fail(ex,
                  405,
                  "method_not_allowed",
                  STR_FMT " does not take " STR_FMT "; use " STR_FMT,
                  STR_ARG(path),
                  STR_ARG(str_slice(h->method, 0, 20)),
                  STR_ARG(allowed));
}

static void exchange_answer_options(struct exchange *ex)
{
    const struct http1_head *h = server_request(ex->x);
    str methods = route_methods(h->path, server_arena(ex->x));
    str wanted = http1_find(h, STR("access-control-request-headers"));

    assert(ex->route == &unknown);
    if (!methods.n) {
        exchange_fail_method(ex);
        return;
    }
    exchange_header(ex, STR("allow"), methods);
    if (!ex->api && ex->setup->config->key_count > 0 && http1_has(h, STR("origin"))) {
        exchange_header(ex, STR("access-control-allow-origin"), STR("*"));
        exchange_header(ex, STR("access-control-allow-methods"), methods);
        exchange_header(ex, STR("access-control-max-age"), STR("3600"));
        exchange_header(ex, STR("vary"), STR("access-control-request-headers"));
        if (wanted.n)
            exchange_header(ex, STR("access-control-allow-headers"), wanted);
    }
    exchange_reply(ex, 204, STR("text/plain"), STR(""));
}

/* Three dialects list their models at the same address. */
static void exchange_models_dialect(struct exchange *ex)
{
    const struct http1_head *h = server_request(ex->x);

    if (http1_has(h, STR("anthropic-version")))
        ex->wire = wire_get(CHAT_ANTHROPIC);
    else if (http1_has(h, STR("x-goog-api-key")) || http1_has(h, STR("x-goog-api-client")))
        ex->wire = wire_get(CHAT_GEMINI);
}

/* If a wrong base URL led here ("/v1" is missing or doubled): the path that was meant; else "". */
static str route_meant(const struct http1_head *h, struct arena *a)
{
    bool twice = str_starts(h->path, STR("/v1/v1/")), known;
    str meant = twice ? str_slice(h->path, 3, h->path.n)
                      : arena_join(a, STR("/v1"), str_slice(h->path, 0, 200), STR(""));
    str rest;

    (void)route_find(h->method, meant, &rest, &known);
    return known ? meant : STR("");
}

/* Anthropic's SDKs add /v1 to the base URL, OpenAI's do not. */
static void exchange_fail_unknown_route(struct exchange *ex)
{
    const struct http1_head *h = server_request(ex->x);
    str meant = route_meant(h, server_arena(ex->x)), path = str_slice(h->path, 0, 100);

    assert(ex->route == &unknown);
    if (!meant.n) {
        exchange_fail(ex,
                      404,
                      "unknown_url",
                      "no route " STR_FMT "; /docs/reference/http-api lists them",
                      STR_ARG(path));
        return;
    }
    ex->wire = wire_get(route_dialect(meant));
    exchange_fail(ex,
                  404,
                  "unknown_url",
                  "no route " STR_FMT "; did you mean " STR_FMT
                  "? Set the SDK's base URL to %s://" STR_FMT "%s",
                  STR_ARG(path),
                  STR_ARG(str_slice(meant, 0, 100)),
                  ex->setup->config->tls_cert.n ? "https" : "http",
                  STR_ARG(str_slice(h->host, 0, 100)),
                  ex->wire->dialect == CHAT_ANTHROPIC ? "" : "/v1");
}

static bool exchange_find_route(struct exchange *ex)
{
    const struct http1_head *h = server_request(ex->x);
    bool path_known;

    assert(!ex->route);
    ex->route = route_find(h->method, h->path, &ex->rest, &path_known);
    if (str_starts(h->path, STR(WATCH_PREFIX))) {
        ex->route = &watch_any;
        ex->rest = str_slice(h->path, sizeof WATCH_PREFIX - 1, h->path.n);
    } else if (!path_known) {
        ex->app = arena_zero(server_arena(ex->x), 1, sizeof *ex->app);
        path_known = apps_route(h->method, h->path, ex->app, NULL);
        ex->api |= path_known;
        ex->route = ex->app->route ? &apps_any : NULL;
    }
    if (ex->route) {
        ex->wire = wire_get(ex->route->dialect);
        if (ex->route->handle == models_handle || ex->route->handle == model_handle)
            exchange_models_dialect(ex);
        return true;
    }
    ex->route = &unknown;
    ex->wire = wire_get(route_dialect(h->path));
    if (path_known && str_eq(h->method, STR("OPTIONS"))) {
        exchange_answer_options(ex);
    } else if (path_known) {
        exchange_fail_method(ex);
    } else if (!page_missing(ex)) {
        exchange_fail_unknown_route(ex);
    }
    return false;
}

static void serve_exchange_on_request(void *ctx, struct server_exchange *x)
{
    struct worker *w = ctx;
    struct arena *a = server_arena(x);
    struct exchange *ex = arena_alloc(a, sizeof *ex);
    char *id = arena_alloc(a, RAND_ID_SIZE);

    memset(ex, 0, sizeof *ex);
    ex->x = x;
    ex->worker = w;
    ex->start_ns = loop_now_ns(w->gl.loop);
    ex->id = rand_id_at(&w->daemon->gateway.ids, gateway_wall_ms(&w->gl), id);
    ex->setup = setup_cache_setup(&w->gl.setup_cache, &w->daemon->gateway);
    ex->rest = ex->request.model = STR("");
    json_init(&ex->doc);
    buf_init(&ex->out, (size_t)64 << 20);
    server_user_set(x, ex);
    ex->headers_max = HEADERS_FIRST;
    ex->headers = arena_alloc(a, HEADERS_FIRST * sizeof *ex->headers);
    exchange_header(ex, STR("x-rationale-id"), ex->id);
    ex->api = api_path(server_request(x)->path);
    if (exchange_find_route(ex) && exchange_authenticate(ex) && api_allowed(ex))
        ex->route->handle(ex);
}

static void serve_exchange_on_gone(void *ctx, struct server_exchange *x)
{
    struct exchange *ex = server_user(x);

    (void)ctx;
    if (!ex || ex->ended)
        return;
    if (ex->call)
        call_cancel(ex->call);
    else if (ex->on_gone)
        ex->on_gone(ex);
    ex->call = NULL;
    ex->status = 499;
    exchange_done(ex);
}

static void serve_exchange_on_room(void *ctx, struct server_exchange *x)
{
    struct exchange *ex = server_user(x);

    (void)ctx;
    if (ex && !ex->ended && ex->call)
        call_resume(ex->call);
    else if (ex && !ex->ended && ex->on_room)
        ex->on_room(ex);
}

/* Writes the error in the dialect of the requested route. */
static void exchange_refuse_in_dialect(const struct server_refusal *r, str id)
{
    struct chat_error error = exchange_error_of(
        r->status, r->status == 413 ? "request_too_large" : "invalid_request", str_c(r->why));
    const struct route *route;
    bool known;
    str rest;

    assert(r->request);
    error.id = id;
    route = route_find(r->request->method, r->request->path, &rest, &known);
    if (api_path(r->request->path))
        api_error(&error, r->body);
    else if (route)
        wire_get(route->dialect)->write_error(&error, r->body);
}

size_t exchange_refusal(void *ctx, const struct server_refusal *r, struct server_header *out)
{
    struct worker *w = ctx;
    str id = rand_id(&w->daemon->gateway.ids, w->refusal_id), path = STR("");
    struct setup *s = setup_cache_setup(&w->gl.setup_cache, &w->daemon->gateway);
    struct arena a;

    assert(r->status >= 400 && r->status < 600);
    arena_init(&a, REFUSED_ARENA_MAX);
    if (r->request)
        path = exchange_path_for_log(w, s, r->request->path, &a);
    log_info("refused",
             LOG_STR("id", id),
             LOG_I64("status", r->status),
             LOG_TEXT("why", r->why),
             LOG_STR("path", str_slice(path, 0, 200)));
    arena_release(&a);
    setup_release(s);
    if (r->status == 413)
        metrics_reject(w->gl.metrics, METRICS_TOO_LARGE);
    if (r->request)
        exchange_refuse_in_dialect(r, id);
    out[0] = (struct server_header){STR("x-rationale-id"), id};
    return 1;
}

const struct server_handler exchange_handler = {
    serve_exchange_on_request, serve_exchange_on_gone, serve_exchange_on_room};
