/* pass_on.c - requests whose reply has no reasoning: embeddings, moderations, ranks, pictures,
 * speech.
 *
 * They go to the provider of their model, which must speak the dialect of the route. The gateway
 * replaces only the model's name and the credentials, and relays the reply unchanged. Nothing is
 * recorded. For the limits of the key, a request counts one token for four bytes of its body; its
 * price is not known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_get.h"
#include "serve/internal.h"

#define PASS_ON_BODY_MAX ((size_t)64 << 20)
#define PASS_ON_ERROR_MAX 65536 /* bytes kept of a provider's error */
#define PASS_ON_TOKEN_BYTES 4   /* bytes of a usual token */

struct pass_on {
    struct exchange *ex;
    const struct config_provider *provider;
    struct upstream upstream;
    struct buf lines, target, body; /* for the provider */
    struct buf error;               /* the beginning of the provider's error */
    int status;
    str type;    /* of the provider's body */
    bool coded;  /* it is compressed, although the gateway asks for plain bytes */
    bool headed; /* the client has the head */
};

static void pass_on_release(struct pass_on *p)
{
    buf_release(&p->lines);
    buf_release(&p->target);
    buf_release(&p->body);
    buf_release(&p->error);
}

/* ---- the reply ---- */

static void pass_on_head(void *ctx, const struct upstream_head *head)
{
    struct pass_on *p = ctx;
    struct exchange *ex = p->ex;
    struct arena *a = server_arena(ex->x);
    struct server_header all[PASSED_ALL_MAX];
    const struct http1_field *fields;
    size_t n = headers_copy_reply(head->fields, secret_reveal(&p->provider->key), a, &fields);

    assert(!p->headed);
    passed_set_headers(ex, fields, n);
    p->status = head->status;
    p->type = arena_dup(a, http1_find(head->fields, STR("content-type")));
    p->coded = head->coding.n && !http1_same(head->coding, STR("identity"));
    if (p->status >= 400)
        return; /* collected as a whole: it may quote the provider's key */
    p->headed = true;
    if (head->coding.n)
        exchange_header(ex, STR("content-encoding"), arena_dup(a, head->coding));
    ex->status = p->status;
    if (p->type.n)
        exchange_header(ex, STR("content-type"), p->type);
    n = passed_merge_headers(ex, all);
    server_head(ex->x, p->status, all, n);
}

static void pass_on_bytes(void *ctx, str bytes)
{
    struct pass_on *p = ctx;

    assert(p->status > 0);
    if (!p->headed) {
        buf_add(&p->error, bytes);
        return;
    }
    server_write(p->ex->x, bytes);
    server_flush(p->ex->x);
    if (server_full(p->ex->x))
        upstream_pause(&p->upstream);
}

/* Ends the exchange, and p with it. */
static void pass_on_refuse(struct pass_on *p)
{
    struct exchange *ex = p->ex;
    str key = secret_reveal(&p->provider->key);
    str said = arena_dup(server_arena(ex->x), buf_str(&p->error));
    bool unknown = p->status > 599; /* HTTP has no higher status */
    /* Compressed bytes would hide the key from the search. */
    bool replaced =
        unknown || p->coded || buf_full(&p->error) || (key.n && str_find(said, key) != STR_NONE);

    assert(!p->headed && p->status >= 400);
    pass_on_release(p);
    if (replaced)
        exchange_fail(ex,
                      unknown ? 502 : p->status,
                      "upstream_error",
                      "the provider \"" STR_FMT "\" answered with status %d",
                      STR_ARG(p->provider->name),
                      p->status);
    else
        exchange_reply(ex, p->status, p->type, said);
}

static void pass_on_end(void *ctx)
{
    struct pass_on *p = ctx;
    struct exchange *ex = p->ex;
    struct server_exchange *x = ex->x;

    assert(!ex->ended);
    ex->on_gone = NULL;
    if (!p->headed) {
        pass_on_refuse(p);
        return;
    }
    pass_on_release(p);
    exchange_done(ex);
    server_end(x);
}

static void pass_on_error(void *ctx, const struct err *e)
{
    struct pass_on *p = ctx;
    struct exchange *ex = p->ex;
    struct server_exchange *x = ex->x;
    bool headed = p->headed;

    assert(!ex->ended);
    ex->on_gone = NULL;
    pass_on_release(p);
    if (!headed) {
        exchange_fail(ex, e->code == ERR_TIMEOUT ? 504 : 502, "upstream_error", "%s", e->text);
        return;
    }
    exchange_done(ex);
    server_abort(x);
}

static void pass_on_rest(void *ctx)
{
    (void)ctx; /* all bytes were relayed unchanged */
}

static const struct upstream_handler pass_on_handler = {
    pass_on_head, pass_on_bytes, pass_on_end, pass_on_error, pass_on_rest};

static void pass_on_room(struct exchange *ex)
{
    assert(ex->job);
    upstream_resume(&((struct pass_on *)ex->job)->upstream);
}

static void pass_on_gone(struct exchange *ex)
{
    struct pass_on *p = ex->job;

    assert(p);
    upstream_cancel(&p->upstream);
    pass_on_release(p);
}

/* ---- the request ---- */

/* The path of the provider: those of OpenAI have "/v1" in their address already, and Gemini's has
 * the model. */
static void pass_on_write_target(struct pass_on *p, str model, str verb)
{
    struct exchange *ex = p->ex;
    str path = str_c(ex->route->path);

    buf_add(&p->target, p->provider->url.path);
    if (ex->wire->dialect == CHAT_GEMINI) {
        ex->wire->path(model, false, &p->target);
        p->target.n -= STR("generateContent").n;
        buf_add(&p->target, verb);
    } else {
        buf_add(&p->target, ex->wire->dialect == CHAT_OPENAI ? str_slice(path, 3, path.n) : path);
    }
    headers_add_query(server_request(ex->x)->query, &p->target);
}

static bool pass_on_write(struct pass_on *p, const struct config_route *route, str verb,
                          struct err *e)
{
    struct exchange *ex = p->ex;
    const struct http1_head *h = server_request(ex->x);
    struct json_edits edits;

    assert(p->provider == route->provider);
    json_edits_init(&edits, &ex->doc, server_arena(ex->x));
    if (ex->request.model.n && ex->wire->dialect != CHAT_GEMINI &&
        !str_eq(ex->request.model, route->upstream))
        json_edit_set_text(&edits, json_root(&ex->doc), STR("model"), route->upstream);
    json_edits_apply(&edits, &p->body);
    pass_on_write_target(p, route->upstream, verb);
    buf_add(&p->lines, setup_head(ex->setup, p->provider, false));
    return headers_add_request(h, true, &p->lines, e) &&
           buf_ok(&p->lines, "the request's headers", e) && buf_ok(&p->target, "the query", e) &&
           buf_ok(&p->body, "the body", e);
}

static bool pass_on_speaks(const struct exchange *ex, const struct config_provider *p)
{
    enum chat_dialect wanted = ex->wire->dialect;

    return p->dialect == wanted || (wanted == CHAT_OPENAI && p->dialect == CHAT_RESPONSES);
}

/* Some requests may name no model: then there must be exactly one provider for them. */
static bool pass_on_find(const struct exchange *ex, struct config_route *out)
{
    const struct config *c = ex->setup->config;
    size_t count = 0;

    if (ex->request.model.n)
        return config_find(c, ex->request.model, out);
    for (size_t i = 0; i < c->provider_count; i++)
        if (pass_on_speaks(ex, &c->providers[i])) {
            *out = (struct config_route){.provider = &c->providers[i]};
            count++;
        }
    return count == 1;
}

/* The model may be allowed under the client's name for it, or under the provider's. */
static bool pass_on_allowed(const struct exchange *ex, const struct config_route *route)
{
    str alias = route->listed ? route->listed->alias : route->upstream;

    return exchange_may_use(ex, ex->request.model) || (alias.n && exchange_may_use(ex, alias));
}

/* The provider of the request's model; false after an error reply. */
static bool pass_on_choose(struct exchange *ex, struct config_route *out)
{
    str model = str_slice(ex->request.model, 0, 200);

    if (!pass_on_find(ex, out))
        exchange_fail(ex,
                      model.n ? 404 : 400,
                      model.n ? "model_not_found" : "invalid_request",
                      model.n ? "the model \"" STR_FMT "\" is not served here: add it to the "
                                "`models` of a provider"
                              : "model: give the name of a model" STR_FMT,
                      STR_ARG(model));
    else if (!pass_on_allowed(ex, out))
        exchange_refuse_model(ex, model);
    else if (!pass_on_speaks(ex, out->provider) || out->provider->replay)
        exchange_fail(ex,
                      400,
                      "not_supported",
                      "the provider \"" STR_FMT "\" of this model cannot be asked for it: it %s",
                      STR_ARG(out->provider->name),
                      out->provider->replay ? "replays recorded calls"
                                            : "speaks another API than that of this path");
    else if (out->provider->key_missing.n)
        exchange_fail(
            ex, 401, "provider_key_missing", STR_FMT, STR_ARG(out->provider->key_missing));
    else
        return true;
    return false;
}

static bool pass_on_within_limits(struct exchange *ex)
{
    struct limits_want want = {
        (int64_t)(server_body(ex->x).n / PASS_ON_TOKEN_BYTES), loop_now_ns(ex->worker->gl.loop), 0};
    struct chat_error error = exchange_error_of(429, "rate_limit_exceeded", STR(""));
    int64_t retry_ms = -1;
    struct err e;

    if (!ex->key || limits_take(ex->worker->gl.gateway->limits, ex->key, &want, &retry_ms, &e))
        return true;
    if (retry_ms == LIMITS_SPENT)
        error.code = error.type = STR("insufficient_quota");
    error.message = arena_dup(server_arena(ex->x), str_c(e.text));
    error.retry_after_ms = retry_ms < 0 ? -1 : retry_ms;
    error.no_retry = retry_ms < 0;
    exchange_error(ex, &error);
    return false;
}

static void pass_on_start(struct exchange *ex, str verb)
{
    struct config_route route;
    struct pass_on *p;
    struct err e;

    assert(!ex->job);
    if (!pass_on_choose(ex, &route) || !pass_on_within_limits(ex))
        return;
    p = arena_zero(server_arena(ex->x), 1, sizeof *p);
    p->ex = ex;
    p->provider = route.provider;
    p->type = STR("");
    buf_init(&p->lines, 16384);
    buf_init(&p->target, 4096);
    buf_init(&p->body, PASS_ON_BODY_MAX);
    buf_init(&p->error, PASS_ON_ERROR_MAX);
    if (!pass_on_write(p, &route, verb, &e)) {
        pass_on_release(p);
        exchange_fail(ex, e.code == ERR_LIMIT ? 413 : 400, "invalid_request", "%s", e.text);
        return;
    }
    ex->job = p;
    ex->on_gone = pass_on_gone;
    ex->on_room = pass_on_room;
    upstream_start(&p->upstream,
                   ex->worker->gl.loop,
                   ex->worker->gl.client,
                   &(struct upstream_request){.provider = p->provider,
                                              .clock = ex->worker->daemon->gateway.clock,
                                              .keep_packed = true,
                                              .target = buf_str(&p->target),
                                              .headers = buf_str(&p->lines),
                                              .body = buf_str(&p->body)},
                   &pass_on_handler,
                   p);
}

void pass_on_handle(struct exchange *ex)
{
    if (!exchange_json(ex) || !exchange_one_model(ex))
        return;
    ex->request.model = json_get_text(&ex->doc, json_root(&ex->doc), "model", server_arena(ex->x));
    pass_on_start(ex, STR(""));
}

void pass_on_gemini(struct exchange *ex, str model, str verb)
{
    ex->called = true; /* it is not a model call, and is not counted as a refused one */
    if (!exchange_json(ex))
        return;
    ex->request.model = model;
    pass_on_start(ex, verb);
}
