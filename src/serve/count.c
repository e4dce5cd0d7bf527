/* count.c - count_tokens: the provider's own count where it has one, else ours.
 *
 * Our own is made in slices, one a round of the loop, because a body may be large and a loop must
 * not wait.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include "gateway/level.h"
#include "gateway/provider.h"
#include "gateway/upstream.h"
#include "serve/internal.h"

#define SLICE 65536
#define MESSAGE_TOKENS 4 /* what wraps a message, about */

struct count {
    struct exchange *ex;
    struct loop_task task;
    struct tokens_counter counter;
    str *texts;
    size_t text_count, text_max, at, from;
    size_t tokens;

    struct upstream upstream;
    bool live;
    struct buf headers, body, target, reply;
    int status;
};

static void answer(struct count *k)
{
    struct exchange *ex = k->ex;
    char body[64];
    int n = snprintf(body, sizeof body, "{\"input_tokens\":%zu}", k->tokens);

    ex->on_gone = NULL;
    exchange_reply(ex, 200, STR("application/json"), (str){body, (size_t)n});
}

static void slice(void *ctx)
{
    struct count *k = ctx;
    str text;

    if (k->at == k->text_count) {
        answer(k);
        return;
    }
    text = k->texts[k->at];
    if (k->from == 0)
        tokens_counter_init(&k->counter, k->ex->worker->gl.gateway->vocab);
    tokens_counter_feed(&k->counter, str_slice(text, k->from, k->from + SLICE));
    k->from += SLICE;
    if (k->from >= text.n) {
        k->tokens += tokens_counter_count(&k->counter);
        k->at++;
        k->from = 0;
    }
    loop_timer_set(k->ex->worker->gl.loop, &k->ex->keepalive, 0);
}

static void add(struct count *k, str text)
{
    if (k->text_count < k->text_max && text.n)
        k->texts[k->text_count++] = text;
}

static void add_parts(struct count *k, const struct chat_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        add(k, parts[i].text);
        add(k, parts[i].name);
        add(k, parts[i].json);
        add_parts(k, parts[i].parts, parts[i].part_count);
    }
}

static size_t part_count(const struct chat_part *parts, size_t n)
{
    size_t all = n;

    for (size_t i = 0; i < n; i++)
        all += part_count(parts[i].parts, parts[i].part_count);
    return all;
}

static void local(struct count *k)
{
    struct exchange *ex = k->ex;
    const struct chat_request *r = &ex->request;
    size_t n = 0;

    for (size_t i = 0; i < r->message_count; i++)
        n += part_count(r->messages[i].parts, r->messages[i].part_count);
    k->text_max = 3 * n + 3 * r->tool_count;
    k->texts = arena_alloc(server_arena(ex->x), (k->text_max + 1) * sizeof(str));
    for (size_t i = 0; i < r->message_count; i++)
        add_parts(k, r->messages[i].parts, r->messages[i].part_count);
    for (size_t i = 0; i < r->tool_count; i++) {
        add(k, r->tools[i].name);
        add(k, r->tools[i].description);
        add(k, r->tools[i].schema);
    }
    k->tokens = MESSAGE_TOKENS * r->message_count;
    loop_timer_init(&ex->keepalive, slice, k);
    loop_timer_set(ex->worker->gl.loop, &ex->keepalive, 0);
}

/* ---- the provider's own ---- */

static void release(struct count *k)
{
    buf_release(&k->headers);
    buf_release(&k->body);
    buf_release(&k->target);
    buf_release(&k->reply);
}

static void on_head(void *ctx, const struct upstream_head *head)
{
    ((struct count *)ctx)->status = head->status;
}

static void on_bytes(void *ctx, str bytes)
{
    buf_add(&((struct count *)ctx)->reply, bytes);
}

static void on_end(void *ctx)
{
    struct count *k = ctx;
    struct buf reply = k->reply;
    struct exchange *ex = k->ex;
    int status = k->status;

    buf_init(&k->reply, 0);
    ex->on_gone = NULL;
    release(k);
    exchange_reply(ex, status, STR("application/json"), buf_str(&reply));
    buf_release(&reply);
}

static void on_error(void *ctx, const struct err *e)
{
    struct count *k = ctx;
    struct exchange *ex = k->ex;

    ex->on_gone = NULL;
    release(k);
    exchange_fail(ex, e->code == ERR_TIMEOUT ? 504 : 502, "upstream_error", "%s", e->text);
}

/* The reply is gathered whole. */
static void on_rest(void *ctx)
{
    (void)ctx;
}

static const struct upstream_handler handler = {on_head, on_bytes, on_end, on_error, on_rest};

static void on_gone(struct exchange *ex)
{
    struct count *k = ex->job;

    if (k->live) {
        upstream_cancel(&k->upstream);
        release(k);
    }
}

static void remote(struct count *k, const struct config_route *route)
{
    struct exchange *ex = k->ex;
    const struct config_provider *p = route->provider;
    struct upstream_request r = {.provider = p, .clock = ex->worker->daemon->gateway.clock};
    struct json_edits edits;
    str version = http1_find(server_request(ex->x), STR("anthropic-version"));

    buf_init(&k->headers, 16384);
    buf_init(&k->body, (size_t)64 << 20);
    buf_init(&k->target, 4096);
    buf_init(&k->reply, 1 << 20);
    buf_add(&k->headers, STR("content-type: application/json\r\n"));
    if (secret_reveal(&p->key).n)
        buf_printf(&k->headers,
                   "%s: %s" STR_FMT "\r\n",
                   p->row->auth_header,
                   p->row->auth_prefix,
                   STR_ARG(secret_reveal(&p->key)));
    if (version.n)
        buf_printf(&k->headers, "anthropic-version: " STR_FMT "\r\n", STR_ARG(version));
    else
        buf_add(&k->headers, str_c(p->row->extra_headers));
    buf_printf(&k->target, STR_FMT "/v1/messages/count_tokens", STR_ARG(p->url.path));
    json_edits_init(&edits, &ex->doc, server_arena(ex->x));
    wire_get(CHAT_ANTHROPIC)
        ->patch(&ex->doc,
                &(struct wire_plan){.model = route->model.upstream,
                                    .system_extra = STR(""),
                                    .temperature = STR(""),
                                    .top_p = STR(""),
                                    .max_tokens = STR(""),
                                    .merge = STR(""),
                                    .budget_tokens = -1},
                &edits);
    json_edits_apply(&edits, &k->body);
    r.target = buf_str(&k->target);
    r.headers = buf_str(&k->headers);
    r.body = buf_str(&k->body);
    k->live = true;
    upstream_start(&k->upstream, ex->worker->gl.loop, ex->worker->gl.client, &r, &handler, k);
}

void count_handle(struct exchange *ex)
{
    struct count *k;
    struct level level;
    struct err e;

    if (!exchange_json(ex))
        return;
    if (!wire_anthropic_read_count(&ex->doc, server_arena(ex->x), &ex->request, &e)) {
        exchange_fail(ex, 400, "invalid_request", "%s", e.text);
        return;
    }
    if (!level_choose(ex->setup->config, &ex->request, STR(""), &level, &e)) {
        exchange_fail(ex, 404, "model_not_found", "%s", e.text);
        return;
    }
    if (!exchange_may_use(ex, level.model)) {
        exchange_fail(ex,
                      403,
                      "model_not_allowed",
                      "the key \"" STR_FMT "\" may not use the model \"" STR_FMT "\"",
                      STR_ARG(ex->key->name),
                      STR_ARG(str_slice(level.model, 0, 200)));
        return;
    }
    k = arena_zero(server_arena(ex->x), 1, sizeof *k);
    k->ex = ex;
    ex->job = k;
    ex->on_gone = on_gone;
    if (level.route.provider->dialect == CHAT_ANTHROPIC && !level.route.provider->replay)
        remote(k, &level.route);
    else
        local(k);
}
