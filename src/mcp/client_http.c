/* client_http.c - one request of the client over streamable HTTP, in either era.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/log.h"
#include "mcp/auth_parts.h"
#include "mcp/client_state.h"

#include <unistd.h>

#define SIGN_INS_MAX 2 /* per request: the first token, and one with more scopes */
#define RESUMES_MAX 10
#define RETRY_MS 1000 /* pause before a stream is resumed, if the server does not name one */
#define HEADERS_MAX ((size_t)1 << 20)

static void mcp_client_http_put_line(struct buf *b, str name, str value)
{
    assert(name.n > 0);
    buf_add(b, name);
    buf_add(b, STR(": "));
    buf_add(b, value);
    buf_add(b, STR("\r\n"));
}

static void mcp_put_mirrors(struct buf *b, const struct mcp_exchange *x)
{
    struct arena a;
    struct json doc;
    struct err e;

    arena_init(&a, 2 * MCP_MESSAGE_MAX);
    json_init(&doc);
    if (x->mirrors && x->mirrors->n && json_parse(&doc, x->arguments, &e))
        for (size_t i = 0; i < x->mirrors->n; i++) {
            str value;

            arena_reset(&a); /* two marks may name the same argument */
            if (!mcp_mirror_value(&x->mirrors->at[i], &doc, json_root(&doc), &a, &value))
                continue;
            buf_add(b, STR("Mcp-Param-"));
            buf_add(b, x->mirrors->at[i].header);
            buf_add(b, STR(": "));
            mcp_header_value(b, value);
            buf_add(b, STR("\r\n"));
        }
    json_release(&doc);
    arena_release(&a);
}

unsigned mcp_put_common(struct mcp_client *c, struct buf *b)
{
    unsigned number = 0;

    assert(c->o.url.n > 0);
    mcp_client_http_put_line(b, STR("Accept"), STR("application/json, text/event-stream"));
    buf_add(b, c->o.headers);
    pthread_mutex_lock(&c->lock);
    if (c->version[0])
        mcp_client_http_put_line(b, STR("MCP-Protocol-Version"), str_c(c->version));
    if (c->session[0])
        mcp_client_http_put_line(b, STR("Mcp-Session-Id"), str_c(c->session));
    pthread_mutex_unlock(&c->lock);
    if (c->auth)
        number = mcp_auth_header(c->auth, b);
    return number;
}

static unsigned mcp_client_http_put_headers(struct mcp_client *c, struct mcp_exchange *x,
                                            struct buf *b)
{
    unsigned number;

    pthread_mutex_lock(&c->lock);
    x->session_number = c->session_number;
    pthread_mutex_unlock(&c->lock);
    number = mcp_put_common(c, b);
    mcp_client_http_put_line(b, STR("Content-Type"), STR("application/json"));
    if (mcp_client_era(c) == MCP_ERA_LEGACY)
        return number;
    mcp_client_http_put_line(b, STR("Mcp-Method"), x->method);
    if (x->name.n) {
        buf_add(b, STR("Mcp-Name: "));
        mcp_header_value(b, x->name);
        buf_add(b, STR("\r\n"));
    }
    mcp_put_mirrors(b, x);
    return number;
}

/* Without the id of the session, the server would refuse every later request. */
static bool mcp_keep_session(struct mcp_client *c, const struct mcp_exchange *x, str session,
                             struct err *e)
{
    bool ok = session.n < sizeof c->session;

    if (!str_eq(x->method, STR("initialize")))
        return true;
    for (size_t i = 0; i < session.n; i++)
        ok = ok && session.p[i] > ' ' && session.p[i] <= '~';
    if (!ok)
        return err_set(e,
                       ERR_UPSTREAM,
                       "the MCP server's session id has more than %zu bytes, or not only visible "
                       "characters",
                       sizeof c->session - 1);
    pthread_mutex_lock(&c->lock);
    memcpy(c->session, session.p, session.n);
    c->session[session.n] = 0;
    c->session_number++;
    pthread_mutex_unlock(&c->lock);
    return true;
}

/* Waits, at most until the deadline. */
static bool mcp_client_http_pause_ms(struct mcp_exchange *x, int64_t ms, struct err *e)
{
    uint64_t until = clock_deadline_ns(&clock_real, ms);

    if (until > x->end_ns)
        return err_set(e, ERR_TIMEOUT, "no answer in time");
    while (clock_mono_ns(&clock_real) < until) {
        if (x->cancel && atomic_load(x->cancel))
            return err_set(e, ERR_CANCELLED, "cancelled");
        (void)usleep(5000);
    }
    return true;
}

/* The stream of a reply; if it breaks off, it can be resumed. */
struct resume {
    char id[MCP_EVENT_ID_MAX];
    int64_t retry_ms;
};

enum read_end { READ_DONE, READ_CUT, READ_FAILED };

/* Reads frames until the reply has arrived. */
static enum read_end mcp_read_frames(struct mcp_client *c, struct mcp_exchange *x,
                                     struct mcp_fetch *f, struct resume *r, struct err *e)
{
    uint64_t deadline_ns = mcp_deadline(x->idle_ms, x->end_ns);
    struct mcp_fetch_event event;

    for (;;) {
        if (!mcp_fetch_next(f, deadline_ns, x->cancel, &event, e))
            return e->code == ERR_UPSTREAM && r->id[0] ? READ_CUT : READ_FAILED;
        if (event.what == MCP_FETCH_END)
            return READ_CUT;
        if (event.id.n && event.id.n < sizeof r->id) {
            memcpy(r->id, event.id.p, event.id.n);
            r->id[event.id.n] = 0;
        }
        if (event.retry_ms >= 0)
            r->retry_ms = event.retry_ms;
        if (event.data.n && mcp_handle(c, x, event.data, &deadline_ns))
            return READ_DONE;
        if (!mcp_in_time(deadline_ns, e))
            return READ_FAILED;
    }
}

static struct mcp_fetch *mcp_client_http_take_up(struct mcp_client *c, const struct resume *r,
                                                 struct err *e)
{
    struct mcp_fetch_request q = {.method = STR("GET"), .url = c->o.url, .body = STR("")};
    struct mcp_fetch *f;
    struct buf b;

    assert(r->id[0]);
    buf_init(&b, HEADERS_MAX);
    (void)mcp_put_common(c, &b);
    mcp_client_http_put_line(&b, STR("Last-Event-ID"), str_c(r->id));
    q.headers = buf_str(&b);
    f = mcp_fetch_start(c->io, &q, e);
    buf_release(&b);
    return f;
}

static bool mcp_client_http_read_reply(struct mcp_client *c, struct mcp_exchange *x,
                                       struct mcp_fetch **f, struct err *e)
{
    struct resume r = {.retry_ms = RETRY_MS};
    bool legacy = mcp_client_era(c) == MCP_ERA_LEGACY;

    assert(*f);
    for (int i = 0;; i++) {
        enum read_end end = mcp_read_frames(c, x, *f, &r, e);

        if (end != READ_CUT)
            return end == READ_DONE;
        if (!legacy || !r.id[0] || i == RESUMES_MAX)
            return err_set(e, ERR_UPSTREAM, "the MCP server's reply ended without an answer");
        mcp_fetch_free(*f);
        *f = NULL;
        if (!mcp_client_http_pause_ms(x, r.retry_ms, e))
            return false;
        *f = mcp_client_http_take_up(c, &r, e);
        if (!*f)
            return false;
    }
}

/* A reply with an error status may still contain a message; otherwise the status is the error. */
static bool mcp_read_failure(struct mcp_client *c, struct mcp_exchange *x, struct mcp_fetch *f,
                             struct err *e)
{
    uint64_t deadline_ns = mcp_deadline(x->idle_ms, x->end_ns);
    struct mcp_fetch_event event;

    assert(x->status < 200 || x->status > 299);
    while (mcp_fetch_next(f, deadline_ns, NULL, &event, e) && event.what != MCP_FETCH_END)
        if (event.data.n && mcp_handle(c, x, event.data, &deadline_ns) && x->is_error)
            return true;
    x->is_error = true;
    x->code = 0;
    x->text = arena_printf(x->arena, "the MCP server answered with HTTP status %d", x->status);
    return true;
}

static bool must_sign_in(struct mcp_client *c, int status, str challenge, struct arena *a)
{
    if (!c->auth)
        return false;
    return status == 401 ||
           (status == 403 &&
            str_eq(mcp_challenge_param(challenge, STR("error"), a), STR("insufficient_scope")));
}

bool mcp_exchange_http(struct mcp_client *c, struct mcp_exchange *x, struct err *e)
{
    struct buf body, headers;
    struct mcp_fetch *f = NULL;
    bool ok = false;

    assert(c->o.url.n > 0 && x->id.n > 0);
    buf_init(&body, 2 * MCP_MESSAGE_MAX);
    buf_init(&headers, HEADERS_MAX);
    mcp_emit_request(&body, x->id, x->method, x->params);
    for (int tries = 0;; tries++) {
        struct mcp_fetch_request q = {.method = STR("POST"),
                                      .url = c->o.url,
                                      .body = buf_str(&body),
                                      .once = str_eq(x->method, STR("tools/call"))};
        struct mcp_fetch_event head;
        unsigned token;

        buf_reset(&headers);
        token = mcp_client_http_put_headers(c, x, &headers);
        q.headers = buf_str(&headers);
        if (!buf_ok(&body, "the request", e) || !buf_ok(&headers, "the headers", e))
            break;
        f = mcp_fetch_start(c->io, &q, e);
        if (!f || !mcp_fetch_next(f, mcp_deadline(x->idle_ms, x->end_ns), x->cancel, &head, e))
            break;
        x->status = head.status;
        if (must_sign_in(c, head.status, head.challenge, x->arena) && tries < SIGN_INS_MAX) {
            str challenge = arena_dup(x->arena, head.challenge);

            mcp_fetch_free(f);
            f = NULL;
            if (!mcp_auth_challenged(c->auth,
                                     x->status,
                                     challenge,
                                     token,
                                     (struct mcp_patience){x->end_ns, x->cancel},
                                     e))
                break;
            continue;
        }
        if (head.status < 200 || head.status > 299) {
            ok = mcp_read_failure(c, x, f, e);
            break;
        }
        ok = mcp_keep_session(c, x, head.session, e) && mcp_client_http_read_reply(c, x, &f, e);
        break;
    }
    mcp_fetch_free(f);
    buf_release(&headers);
    buf_release(&body);
    return ok;
}

static bool mcp_notify_http(struct mcp_client *c, str json, str method, uint64_t deadline_ns,
                            const _Atomic bool *cancel, struct err *e)
{
    struct mcp_fetch_request q = {
        .method = STR("POST"), .url = c->o.url, .body = json, .cancel = cancel};
    struct mcp_fetched got;
    struct arena a;
    struct buf b;
    bool ok;

    arena_init(&a, 2 * MCP_FETCH_MAX);
    buf_init(&b, HEADERS_MAX);
    (void)mcp_put_common(c, &b);
    mcp_client_http_put_line(&b, STR("Content-Type"), STR("application/json"));
    if (method.n && mcp_client_era(c) != MCP_ERA_LEGACY)
        mcp_client_http_put_line(&b, STR("Mcp-Method"), method);
    q.headers = buf_str(&b);
    ok = mcp_fetch_whole(c->io, &q, deadline_ns, &a, &got, e);
    if (ok && (got.status < 200 || got.status > 299))
        ok = err_set(e, ERR_UPSTREAM, "the MCP server answered with HTTP status %d", got.status);
    buf_release(&b);
    arena_release(&a);
    return ok;
}

bool mcp_notify(struct mcp_client *c, str json, str method, uint64_t deadline_ns,
                const _Atomic bool *cancel, struct err *e)
{
    bool ok;

    if (c->o.url.n)
        return mcp_notify_http(c, json, method, deadline_ns, cancel, e);
    pthread_mutex_lock(&c->lock);
    ok = c->pipe && mcp_pipe_alive(c->pipe);
    c->users += ok;
    pthread_mutex_unlock(&c->lock);
    if (!ok)
        return err_set(e, ERR_UPSTREAM, "the MCP server has ended");
    ok = mcp_pipe_send(c->pipe, json, deadline_ns, cancel, e);
    pthread_mutex_lock(&c->lock);
    c->users--;
    pthread_mutex_unlock(&c->lock);
    return ok;
}
