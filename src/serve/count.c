/* count.c - count_tokens and countTokens: the provider's count if it can count, else the gateway's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include "agents/definition.h"
#include "base/json_get.h"
#include "gateway/input_tokens.h"
#include "gateway/level.h"
#include "gateway/provider.h"
#include "gateway/upstream.h"
#include "serve/agent_model.h"
#include "serve/internal.h"

struct count {
    struct exchange *ex;
    bool gemini, boxed; /* countTokens with its request in a wrapper object */

    const struct config_provider *provider;
    struct upstream upstream;
    bool live;
    struct buf headers, body, target, reply;
    int status;
    int64_t retry_after_ms;
    const struct http1_field *passed; /* headers of the reply that the client may see */
    size_t passed_count;
};

static void count_locally(struct count *k)
{
    struct exchange *ex = k->ex;
    char body[64];
    int n = snprintf(body,
                     sizeof body,
                     k->gemini ? "{\"totalTokens\":%lld}" : "{\"input_tokens\":%lld}",
                     (long long)input_tokens_count(&ex->request, ex->worker->gl.gateway->vocab));

    assert(!k->live);
    ex->on_gone = NULL;
    exchange_reply(ex, 200, STR("application/json"), (str){body, (size_t)n});
}

/* ---- counted by the provider ---- */

static void serve_count_release(struct count *k)
{
    buf_release(&k->headers);
    buf_release(&k->body);
    buf_release(&k->target);
    buf_release(&k->reply);
}

static void serve_count_on_head(void *ctx, const struct upstream_head *head)
{
    struct count *k = ctx;

    assert(k->live && k->provider);
    k->passed_count = headers_copy_reply(
        head->fields, secret_reveal(&k->provider->key), server_arena(k->ex->x), &k->passed);
    k->status = head->status;
    k->retry_after_ms = head->retry_after_ms;
}

static void serve_count_on_bytes(void *ctx, str bytes)
{
    buf_add(&((struct count *)ctx)->reply, bytes);
}

/* Passes on the provider's error; false if the provider seems unable to count. */
static bool serve_read_refusal(struct count *k, struct arena *a, struct chat_error *error)
{
    struct json doc;
    struct err e;

    assert(k->status != 200);
    if (json_open(&doc, buf_str(&k->reply), &e))
        wire_get(CHAT_ANTHROPIC)->read_error(&doc, a, error);
    error->message = arena_dup(a, error->message);
    error->type = arena_dup(a, error->type);
    error->raw = STR("");
    json_release(&doc);
    provider_clean_error(secret_reveal(&k->provider->key), a, error);
    if (!error->message.n && (k->status == 404 || k->status == 405 || k->status == 501))
        return false;
    if (!error->message.n)
        error->message = arena_printf(a,
                                      "the provider \"" STR_FMT "\" answered with status %d",
                                      STR_ARG(k->provider->name),
                                      k->status);
    return true;
}

static void serve_count_answer_refusal(struct count *k)
{
    struct exchange *ex = k->ex;
    struct chat_error error =
        exchange_error_of(k->status >= 400 && k->status <= 599 ? k->status : 502, "", STR(""));
    bool is_refusal = serve_read_refusal(k, server_arena(ex->x), &error);

    error.retry_after_ms = k->retry_after_ms;
    serve_count_release(k);
    k->live = false;
    if (!is_refusal) {
        count_locally(k);
        return;
    }
    ex->on_gone = NULL;
    passed_set_headers(ex, k->passed, k->passed_count);
    exchange_error(ex, &error);
}

static void serve_count_on_end(void *ctx)
{
    struct count *k = ctx;
    struct buf reply;
    struct exchange *ex = k->ex;
    int status = k->status;

    assert(k->live && k->status > 0);
    if (status != 200) {
        serve_count_answer_refusal(k);
        return;
    }
    reply = k->reply;
    buf_init(&k->reply, 0);
    ex->on_gone = NULL;
    serve_count_release(k);
    passed_set_headers(ex, k->passed, k->passed_count);
    exchange_reply(ex, status, STR("application/json"), buf_str(&reply));
    buf_release(&reply);
}

static void serve_count_on_error(void *ctx, const struct err *e)
{
    struct count *k = ctx;
    struct exchange *ex = k->ex;

    assert(k->live);
    ex->on_gone = NULL;
    serve_count_release(k);
    exchange_fail(ex, e->code == ERR_TIMEOUT ? 504 : 502, "upstream_error", "%s", e->text);
}

/* The reply is collected as a whole. */
static void serve_count_on_rest(void *ctx)
{
    (void)ctx;
}

static const struct upstream_handler handler = {serve_count_on_head,
                                                serve_count_on_bytes,
                                                serve_count_on_end,
                                                serve_count_on_error,
                                                serve_count_on_rest};

static void serve_count_on_gone(struct exchange *ex)
{
    struct count *k = ex->job;

    if (k->live) {
        upstream_cancel(&k->upstream);
        serve_count_release(k);
    }
}

static void serve_anthropic_ask(struct count *k, const struct config_route *route)
{
    struct exchange *ex = k->ex;
    const struct config_provider *p = route->provider;
    struct json_edits edits;

    assert(!k->gemini && route->provider->dialect == CHAT_ANTHROPIC);
    buf_printf(&k->target, STR_FMT "/v1/messages/count_tokens", STR_ARG(p->url.path));
    json_edits_init(&edits, &ex->doc, server_arena(ex->x));
    wire_get(CHAT_ANTHROPIC)
        ->patch(&ex->doc,
                &(struct wire_plan){.model = route->upstream,
                                    .system_extra = STR(""),
                                    .temperature = STR(""),
                                    .top_p = STR(""),
                                    .max_tokens = STR(""),
                                    .merge = STR(""),
                                    .budget_tokens = -1},
                &edits);
    json_edits_apply(&edits, &k->body);
}

/* Replaces the path's ending ":generateContent" by ":countTokens". */
static void gemini_ask(struct count *k, const struct config_route *route)
{
    struct exchange *ex = k->ex;
    const struct config_provider *p = route->provider;
    struct arena *a = server_arena(ex->x);
    struct json_edits edits;
    str model = route->upstream;

    assert(k->gemini && route->provider->dialect == CHAT_GEMINI);
    buf_add(&k->target, p->url.path);
    wire_get(CHAT_GEMINI)->path(model, false, &k->target);
    k->target.n -= STR(":generateContent").n;
    buf_add(&k->target, STR(":countTokens"));
    if (!k->boxed) {
        buf_add(&k->body, ex->doc.src);
        return;
    }
    json_edits_init(&edits, &ex->doc, a);
    json_edit_set_text(&edits,
                       json_root(&ex->doc),
                       STR("model"),
                       str_starts(model, STR("models/"))
                           ? model
                           : arena_printf(a, "models/" STR_FMT, STR_ARG(model)));
    buf_add(&k->body, STR("{\"generateContentRequest\":"));
    json_edits_apply(&edits, &k->body);
    buf_add(&k->body, STR("}"));
}

/* The same headers as those of a call. */
static bool count_headers(struct count *k, const struct config_provider *p, struct err *e)
{
    const struct http1_head *h = server_request(k->ex->x);

    buf_add(&k->headers, setup_head(k->ex->setup, p, false));
    if (!http1_has(h, STR("user-agent")))
        buf_add(&k->headers, STR("user-agent: rationale/" RATIONALE_VERSION "\r\n"));
    if (!http1_has(h, STR("anthropic-version")))
        buf_add(&k->headers, str_c(p->row->extra_headers));
    return headers_add_request(h, true, &k->headers, e) &&
           buf_ok(&k->headers, "the request's headers", e) && buf_ok(&k->target, "the query", e);
}

static void serve_count_ask_provider(struct count *k, const struct config_route *route)
{
    struct exchange *ex = k->ex;
    const struct config_provider *p = route->provider;
    struct upstream_request r = {.provider = p, .clock = ex->worker->daemon->gateway.clock};
    struct err e;

    buf_init(&k->headers, 16384);
    buf_init(&k->body, (size_t)64 << 20);
    buf_init(&k->target, 4096);
    buf_init(&k->reply, 1 << 20);
    (k->gemini ? gemini_ask : serve_anthropic_ask)(k, route);
    headers_add_query(server_request(ex->x)->query, &k->target);
    if (!count_headers(k, p, &e)) {
        serve_count_release(k);
        exchange_fail(ex, e.code == ERR_LIMIT ? 413 : 400, "invalid_request", "%s", e.text);
        return;
    }
    r.target = buf_str(&k->target);
    r.headers = buf_str(&k->headers);
    r.body = buf_str(&k->body);
    k->live = true;
    k->provider = p;
    upstream_start(&k->upstream, ex->worker->gl.loop, ex->worker->gl.client, &r, &handler, k);
}

/* The request was read: decides who counts. */
static void serve_count_begin(struct exchange *ex, bool boxed)
{
    str model = ex->request.model;
    struct count *k;
    struct level level;
    struct err e;

    assert(!ex->job);
    if (agent_model_is(model) && exchange_may_use(ex, model) &&
        agents_find(ex->setup->config, str_slice(model, 6, model.n))) {
        exchange_fail(
            ex,
            400,
            "unsupported_model",
            "the tokens of a request to an agent cannot be counted before it runs, because "
            "its prompt, tools and steps add to them: count with the agent's own model");
        return;
    }
    if (!level_choose(ex->setup->config, &ex->request, STR(""), ex->key, &level, &e)) {
        exchange_fail(ex, 404, "model_not_found", "%s", e.text);
        return;
    }
    if (!exchange_may_use(ex, level.model)) {
        exchange_refuse_model(ex, str_slice(level.model, 0, 200));
        return;
    }
    k = arena_zero(server_arena(ex->x), 1, sizeof *k);
    k->ex = ex;
    k->gemini = ex->wire->dialect == CHAT_GEMINI;
    k->boxed = boxed;
    ex->job = k;
    ex->on_gone = serve_count_on_gone;
    if (level.route.provider->dialect == ex->wire->dialect && !level.route.provider->replay &&
        !level.route.provider->key_missing.n)
        serve_count_ask_provider(k, &level.route);
    else
        count_locally(k);
}

void count_handle(struct exchange *ex)
{
    struct err e;

    if (!exchange_json(ex) || !exchange_values_fit(ex))
        return;
    if (wire_anthropic_read_count(&ex->doc, server_arena(ex->x), &ex->request, &e))
        serve_count_begin(ex, false);
    else
        exchange_fail(ex, 400, "invalid_request", "%s", e.text);
}

/* The body is either just the contents or, to count a whole request, a wrapper object with it. */
void gemini_count(struct exchange *ex, str model)
{
    const struct json_node *box;
    struct err e;

    ex->called = true; /* it is not a model call, and is not counted as a refused one */
    if (!exchange_json(ex) || !exchange_values_fit(ex))
        return;
    box = json_get(&ex->doc, json_root(&ex->doc), "generateContentRequest");
    if (!box)
        box = json_get(&ex->doc, json_root(&ex->doc), "generate_content_request");
    if ((box && !json_parse(&ex->doc, json_raw(&ex->doc, box), &e)) ||
        !ex->wire->read(&ex->doc, server_arena(ex->x), &ex->request, &e)) {
        exchange_fail(ex, 400, "invalid_request", "%s", e.text);
        return;
    }
    ex->request.model = model;
    serve_count_begin(ex, box != NULL);
}
