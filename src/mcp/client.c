/* client.c - the client: its era, process and session; sends requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/client.h"

#include "base/log.h"
#include "mcp/client_state.h"

#define DEATH_MS 1000     /* time to find out why a server does not read any more */
#define CANCEL_LOOK_MS 50 /* how often a wait for a lock looks at *cancel */

/* ---- made and gone ---- */

struct mcp_client *mcp_client_new(struct mcp_io *io, const struct mcp_client_options *o,
                                  struct err *e)
{
    struct mcp_client *c;

    assert(io);
    if (!o->argv == !o->url.n) {
        err_input(e, "an MCP server is either a program or a URL");
        return NULL;
    }
    c = base_alloc(sizeof *c);
    *c = (struct mcp_client){.io = io, .o = *o, .era = o->era};
    if (!c->o.headers.p)
        c->o.headers = STR("");
    if (!c->o.version.p)
        c->o.version = STR("");
    pthread_mutex_init(&c->connecting, NULL);
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->listing, NULL);
    pthread_mutex_init(&c->knowing, NULL);
    mcp_known_init(&c->known);
    if (o->auth && o->url.n)
        c->auth = mcp_auth_new(io, o->auth, o->url);
    return c;
}

/* Ends a legacy session; if that fails, the session expires by itself. */
static void mcp_end_session(struct mcp_client *c)
{
    struct mcp_fetch_request q = {.method = STR("DELETE"), .url = c->o.url, .body = STR("")};
    struct mcp_fetched got;
    struct arena a;
    struct buf b;
    struct err e;

    assert(c->o.url.n > 0);
    if (!c->session[0])
        return;
    arena_init(&a, 2 * MCP_FETCH_MAX);
    buf_init(&b, 65536);
    buf_printf(&b, "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: %s\r\n", c->session, c->version);
    buf_add(&b, c->o.headers);
    if (c->auth)
        (void)mcp_auth_header(c->auth, &b);
    q.headers = buf_str(&b);
    if (!mcp_fetch_whole(c->io, &q, clock_deadline_ns(&clock_real, 1000), &a, &got, &e))
        log_debug("mcp session was not ended", LOG_ERR(&e));
    buf_release(&b);
    arena_release(&a);
}

void mcp_client_free(struct mcp_client *c)
{
    struct mcp_pipe *pipe;

    if (!c)
        return;
    mcp_listen_stop(c);
    if (c->o.url.n)
        mcp_end_session(c);
    if (c->pipe)
        mcp_pipe_end_calls(c->pipe);
    pipe = mcp_client_take_pipe(c);
    if (pipe)
        mcp_pipe_free(pipe);
    mcp_auth_free(c->auth);
    mcp_known_release(&c->known);
    pthread_mutex_destroy(&c->knowing);
    pthread_mutex_destroy(&c->listing);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->connecting);
    free(c);
}

enum mcp_era mcp_client_era(struct mcp_client *c)
{
    enum mcp_era era;

    pthread_mutex_lock(&c->lock);
    era = c->era;
    pthread_mutex_unlock(&c->lock);
    return era;
}

str mcp_client_version(struct mcp_client *c)
{
    return str_c(c->version);
}

uint64_t mcp_deadline(uint64_t idle_ms, uint64_t end_ns)
{
    uint64_t idle = clock_deadline_ns(&clock_real, (int64_t)idle_ms);

    return idle < end_ns ? idle : end_ns;
}

bool mcp_in_time(uint64_t deadline_ns, struct err *e)
{
    return clock_mono_ns(&clock_real) < deadline_ns || err_set(e, ERR_TIMEOUT, "no answer in time");
}

bool mcp_lock_until(pthread_mutex_t *lock, uint64_t deadline_ns, const _Atomic bool *cancel,
                    struct err *e)
{
    for (;;) {
        uint64_t look_ns = clock_deadline_ns(&clock_real, CANCEL_LOOK_MS),
                 until_ns = cancel && look_ns < deadline_ns ? look_ns : deadline_ns;

        if (cancel && atomic_load(cancel))
            return err_set(e, ERR_CANCELLED, "cancelled");
        if (clock_mutex_lock(lock, until_ns))
            return true;
        if (until_ns == deadline_ns)
            return err_set(e, ERR_TIMEOUT, "another call waits for the MCP server");
    }
}

/* ---- one request ---- */

static void mcp_client_notify_cancelled(struct mcp_client *c, const struct mcp_exchange *x,
                                        const struct err *why)
{
    struct buf params, out;
    struct err e;

    assert(x->id.n > 0);
    buf_init(&params, 4096);
    buf_init(&out, 8192);
    buf_add(&params, STR("{\"requestId\":"));
    buf_add(&params, x->id);
    buf_add(&params, STR(",\"reason\":"));
    (void)json_quote(&params, str_c(why->text));
    buf_add_c(&params, '}');
    mcp_emit_notification(&out, STR("notifications/cancelled"), buf_str(&params));
    if (!mcp_notify(c,
                    buf_str(&out),
                    STR("notifications/cancelled"),
                    clock_deadline_ns(&clock_real, 1000),
                    NULL,
                    &e))
        log_debug("mcp call was not cancelled", LOG_ERR(&e));
    buf_release(&out);
    buf_release(&params);
}

/* If sending fails because the server died, the reason of its death says more. */
static bool mcp_client_send_line(struct mcp_wait *wait, str line, uint64_t deadline_ns,
                                 const _Atomic bool *cancel, struct err *e)
{
    struct err why;
    str other;

    if (mcp_pipe_send(wait->pipe, line, deadline_ns, cancel, e))
        return true;
    if (e->code == ERR_UPSTREAM &&
        !mcp_pipe_next(wait, clock_deadline_ns(&clock_real, DEATH_MS), NULL, &other, &why) &&
        why.code == ERR_UPSTREAM)
        *e = why;
    return false;
}

bool mcp_exchange_pipe(struct mcp_client *c, struct mcp_exchange *x, struct err *e)
{
    uint64_t deadline_ns = mcp_deadline(x->idle_ms, x->end_ns);
    struct mcp_pipe *p;
    struct mcp_wait wait;
    struct buf body;
    bool ok;
    str line;

    assert(c->o.argv && x->id.n > 0);
    pthread_mutex_lock(&c->lock);
    p = c->pipe; /* NULL while another thread restarts the server */
    c->users += p != NULL;
    pthread_mutex_unlock(&c->lock);
    x->unsent = !p;
    if (!p)
        return err_set(e, ERR_UPSTREAM, "the MCP server has ended");
    buf_init(&body, 2 * MCP_MESSAGE_MAX);
    mcp_emit_request(&body, x->id, x->method, x->params);
    mcp_pipe_expect(p, &wait, x->id);
    ok = buf_ok(&body, "the request", e) &&
         mcp_client_send_line(&wait, buf_str(&body), deadline_ns, x->cancel, e);
    x->unsent = !ok;
    x->status = 200;
    while (ok) {
        ok = mcp_pipe_next(&wait, deadline_ns, x->cancel, &line, e);
        if (ok && mcp_handle(c, x, line, &deadline_ns))
            break;
        ok = ok && mcp_in_time(deadline_ns, e);
    }
    mcp_pipe_forget(&wait);
    buf_release(&body);
    pthread_mutex_lock(&c->lock);
    assert(c->users > 0);
    c->users--;
    pthread_mutex_unlock(&c->lock);
    return ok;
}

static bool mcp_client_run_exchange(struct mcp_client *c, struct mcp_exchange *x, struct err *e)
{
    bool ok = c->o.url.n ? mcp_exchange_http(c, x, e) : mcp_exchange_pipe(c, x, e);
    bool gave_up = !ok && (e->code == ERR_TIMEOUT || e->code == ERR_CANCELLED);

    /* Over HTTP in the modern era, closing the connection cancels the request. */
    if (gave_up && !str_eq(x->method, STR("initialize")) &&
        (!c->o.url.n || mcp_client_era(c) == MCP_ERA_LEGACY))
        mcp_client_notify_cancelled(c, x, e);
    return ok;
}

void mcp_put_params(struct mcp_client *c, str params, str id, struct buf *b)
{
    str rest = str_trim(str_slice(params, 1, params.n));

    assert(params.n >= 2 && params.p[0] == '{');
    buf_add(b, STR("{\"_meta\":{"));
    if (mcp_client_era(c) != MCP_ERA_LEGACY) {
        buf_add(b, STR("\"" MCP_META_VERSION "\":\"" MCP_MODERN "\","));
        buf_add(b,
                STR("\"" MCP_META_CLIENT "\":" MCP_CLIENT_INFO ",\"" MCP_META_CAPABILITIES "\":"));
        mcp_put_client_capabilities(c, b);
        buf_add_c(b, ',');
    }
    buf_add(b, STR("\"progressToken\":"));
    buf_add(b, id);
    buf_add_c(b, '}');
    if (rest.n > 1)
        buf_add_c(b, ',');
    buf_add(b, rest.n ? rest : STR("}"));
}

/* Sends the request under a new id. */
bool mcp_exchange_new(struct mcp_client *c, struct mcp_exchange *x, str params, struct err *e)
{
    struct buf b;
    bool ok;

    assert(x->method.n > 0 && x->arena);
    x->id = arena_printf(x->arena, "%llu", (unsigned long long)(atomic_fetch_add(&c->ids, 1) + 1));
    x->is_error = x->too_large = false;
    x->text = x->data = x->result = STR("");
    buf_init(&b, 2 * MCP_MESSAGE_MAX);
    if (str_eq(x->method, STR("initialize")))
        buf_add(&b, params);
    else
        mcp_put_params(c, params, x->id, &b);
    x->params = buf_str(&b);
    ok = buf_ok(&b, "the request", e) && mcp_client_run_exchange(c, x, e);
    buf_release(&b);
    return ok;
}

/* ---- requests, repeated where the protocol requires it ---- */

static bool mcp_answer_inputs(struct mcp_client *c, const struct json *doc,
                              const struct json_node *requests, struct arena *a, struct buf *out,
                              struct err *e)
{
    struct buf result;
    bool ok = true;

    assert(json_is_object(requests));
    buf_add(out, STR(",\"inputResponses\":{"));
    buf_init(&result, MCP_MESSAGE_MAX);
    for (const struct json_node *k = json_first(doc, requests); k && ok;
         k = json_next(doc, requests, k)) {
        const struct json_node *q = json_value(k), *p = json_find(doc, q, STR("params"));

        buf_reset(&result);
        ok = mcp_fulfil(
            c, mcp_member(doc, q, STR("method"), a), p ? json_raw(doc, p) : STR("{}"), &result, e);
        if (k != json_first(doc, requests))
            buf_add_c(out, ',');
        buf_add(out, json_raw(doc, k));
        buf_add_c(out, ':');
        buf_add(out, buf_str(&result));
    }
    buf_add_c(out, '}');
    buf_release(&result);
    return ok || err_prefix(e, "the MCP server asked for more: ");
}

/* The parameters of the next round: those of the first one, our answers, and the unchanged
 * state. */
static bool mcp_next_round(struct mcp_client *c, const struct mcp_exchange *x,
                           const struct json *doc, str params, str *next, struct err *e)
{
    const struct json_node *root = json_root(doc),
                           *requests = json_find(doc, root, STR("inputRequests")),
                           *state = json_find(doc, root, STR("requestState"));
    str rest = str_trim(str_slice(params, 1, params.n));
    struct buf b;
    bool ok = true;

    assert(params.n >= 2 && params.p[0] == '{');
    if (!json_is_object(requests) && !state)
        return err_set(e, ERR_UPSTREAM, "the MCP server wants input and does not say which");
    buf_init(&b, 2 * MCP_MESSAGE_MAX);
    buf_add(&b, STR("{\"_\":0")); /* a dummy member before the commas; removed below */
    if (json_is_object(requests))
        ok = mcp_answer_inputs(c, doc, requests, x->arena, &b, e);
    if (state) {
        buf_add(&b, STR(",\"requestState\":"));
        buf_add(&b, json_raw(doc, state));
    }
    if (rest.n > 1)
        buf_add_c(&b, ',');
    buf_add(&b, rest.n ? rest : STR("}"));
    ok = ok && buf_ok(&b, "the answer", e);
    if (ok && arena_left(x->arena) < 2 * b.n + MCP_ARENA_ROOM)
        ok = err_set(
            e, ERR_LIMIT, "the MCP server's state is too large for the memory of this call");
    if (ok)
        *next = arena_join(
            x->arena, STR("{"), str_slice(buf_str(&b), sizeof "{\"_\":0," - 1, b.n), STR(""));
    buf_release(&b);
    return ok;
}

static bool mcp_client_set_error(const struct mcp_exchange *x, struct err *e)
{
    enum err_code code = x->too_large                           ? ERR_LIMIT
                         : x->status == 401 || x->status == 403 ? ERR_AUTH
                         : x->code == MCP_METHOD_NOT_FOUND      ? ERR_NOT_FOUND
                         : x->code == MCP_INVALID_PARAMS        ? ERR_INPUT
                                                                : ERR_UPSTREAM;

    assert(x->is_error);
    if (x->code)
        return err_set(e,
                       code,
                       "MCP error %lld: " STR_FMT,
                       (long long)x->code,
                       STR_ARG(str_slice(x->text, 0, 200)));
    return err_set(e, code, STR_FMT, STR_ARG(str_slice(x->text, 0, 200)));
}

/* Whether the request can be repeated in a new session, which another thread may have started. */
static bool mcp_lose_session(struct mcp_client *c, const struct mcp_exchange *x)
{
    bool had, newer;

    pthread_mutex_lock(&c->lock);
    newer = c->session_number != x->session_number;
    had = c->session[0] != 0;
    c->ready = c->ready && (newer || !had);
    pthread_mutex_unlock(&c->lock);
    return had || newer;
}

/* Whether an error means that the same request should be sent again. */
static bool mcp_client_again(struct mcp_client *c, const struct mcp_exchange *x)
{
    assert(x->is_error);
    if (x->code == MCP_UNSUPPORTED_VERSION)
        return mcp_lists_version(x->data, STR("supported"), STR(MCP_MODERN));
    return x->status == 404 && mcp_lose_session(c, x);
}

/* Whether repeating a request is harmless. */
static bool mcp_client_is_safe(str method)
{
    return str_ends(method, STR("/list")) || str_eq(method, STR("resources/read"));
}

bool mcp_ask(struct mcp_client *c, struct mcp_exchange *x, str params, struct err *e)
{
    bool retried = false;
    str first = params;

    for (int rounds = 0;;) {
        struct json doc;
        bool more, ok;

        assert(rounds <= MCP_ROUNDS_MAX);
        if (!mcp_ready(c, mcp_deadline(x->idle_ms, x->end_ns), x->cancel, e))
            return false;
        if (!mcp_exchange_new(c, x, params, e)) {
            if (retried || e->code != ERR_UPSTREAM || !(x->unsent || mcp_client_is_safe(x->method)))
                return false;
            retried = true;
            continue;
        }
        if (x->is_error) {
            if (retried || !mcp_client_again(c, x))
                return mcp_client_set_error(x, e);
            retried = true;
            continue;
        }
        ok = json_open(&doc, x->result, e);
        more = ok && mcp_client_era(c) == MCP_ERA_MODERN &&
               json_is(&doc,
                       json_find(&doc, json_root(&doc), STR("resultType")),
                       STR("input_required"));
        if (more && ++rounds > MCP_ROUNDS_MAX)
            ok = err_set(e, ERR_LIMIT, "the MCP server asks and asks");
        else if (more)
            ok = mcp_next_round(c, x, &doc, first, &params, e);
        json_release(&doc);
        if (!ok || !more)
            return ok;
    }
}

bool mcp_client_request(struct mcp_client *c, const struct mcp_client_ask *ask, struct arena *a,
                        str *result, struct err *e)
{
    struct mcp_exchange x = {.method = ask->method,
                             .name = STR(""),
                             .idle_ms = (uint64_t)ask->timeout_ms,
                             .end_ns = clock_deadline_ns(&clock_real, ask->timeout_ms),
                             .cancel = ask->cancel,
                             .arena = a};
    str method = ask->method, params = ask->params.n ? ask->params : STR("{}");
    struct json doc;

    if (arena_left(a) < 2 * params.n + MCP_ARENA_ROOM)
        return err_set(e, ERR_LIMIT, "there is too little memory for this request");
    if (!json_open(&doc, params, e) || json_root(&doc)->kind != JSON_OBJECT) {
        json_release(&doc);
        return err_input(e, "the parameters must be a JSON object");
    }
    params = str_trim(params); /* so that it begins with the bracket */
    if (str_eq(method, STR("prompts/get")) || str_eq(method, STR("tools/call")))
        x.name = mcp_member(&doc, json_root(&doc), STR("name"), a);
    else if (str_eq(method, STR("resources/read")))
        x.name = mcp_member(&doc, json_root(&doc), STR("uri"), a);
    json_release(&doc);
    if (!mcp_ask(c, &x, params, e))
        return false;
    *result = x.result;
    return true;
}
