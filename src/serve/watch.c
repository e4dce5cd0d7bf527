/* watch.c - see watch.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/watch.h"

#include "net/gzip.h"
#include "net/ws.h"
#include "serve/internal.h"
#include "serve/watch_socket.h"

#include <zstd.h>

struct watch {
    struct exchange *ex;
    struct watch_request request;
    struct buf lines; /* headers for the upstream */
    bool upgrades;    /* the client asks for a WebSocket */
    struct client_call *up;
    bool headed, ended, broken; /* the head, the end or an error of the upstream has arrived */
    int error_status;
    str error; /* of `broken` */
    /* The call that records; NULL: none, or it has ended. */
    struct call *call;
    struct call_watch record;
    str secrets[HEADERS_SECRETS_MAX]; /* the client's credentials, lent by its request */
    struct upstream *shadow;          /* takes the reply's bytes; NULL: no longer */
    bool failed;                      /* the call was refused before the upstream was contacted */
    bool holds;                       /* bytes that wait until the call is recorded */
    struct buf held;
};

/* ---- the end ---- */

static void watch_release(struct watch *w)
{
    assert(w->request.run);
    buf_release(&w->lines);
    buf_release(&w->held);
    watch_run_release(w->request.run);
}

static void watch_write(struct watch *w, str bytes)
{
    server_write(w->ex->x, bytes);
    server_flush(w->ex->x);
    if (w->up && server_full(w->ex->x))
        client_pause(w->up);
}

static void watch_fail(struct watch *w)
{
    struct exchange *ex = w->ex;
    struct server_exchange *x = ex->x;

    assert(w->broken && !w->call);
    watch_release(w);
    if (!w->headed) {
        exchange_fail(ex, w->error_status, "upstream_error", STR_FMT, STR_ARG(w->error));
        return;
    }
    exchange_done(ex);
    server_abort(x);
}

/* Sends the bytes that waited for the record, and ends the reply when both sides are done. */
static void watch_settle(struct watch *w)
{
    struct exchange *ex = w->ex;
    struct server_exchange *x = ex->x;

    assert(!ex->ended);
    if (w->call)
        return;
    if (w->failed) {
        watch_release(w);
        exchange_error(ex, ex->error);
        return;
    }
    if (w->holds) {
        w->holds = false;
        watch_write(w, buf_str(&w->held));
        buf_release(&w->held);
    }
    if (w->broken) {
        watch_fail(w);
    } else if (w->ended) {
        watch_release(w);
        exchange_done(ex);
        server_end(x);
    }
}

/* ---- the upstream ---- */

/* All headers but those of this connection; the first WATCH_HEADERS_MAX. */
static void watch_send_head(struct watch *w, const struct http1_head *h)
{
    struct exchange *ex = w->ex;
    struct server_header all[SERVE_HEADERS_MAX + WATCH_HEADERS_MAX];
    size_t n = ex->header_count, own = n;

    assert(!w->headed && n <= SERVE_HEADERS_MAX);
    memcpy(all, ex->headers, n * sizeof *all);
    for (size_t i = 0; i < h->field_count && n < own + WATCH_HEADERS_MAX; i++)
        if (!headers_is_hop(h->fields[i].name))
            all[n++] = (struct server_header){h->fields[i].name, h->fields[i].value};
    ex->status = h->status;
    w->headed = true;
    server_head(ex->x, h->status, all, n);
}

static void watch_on_head(void *ctx, const struct http1_head *h)
{
    struct watch *w = ctx;
    struct upstream_head head = upstream_read_head(h, w->ex->worker->daemon->gateway.clock);

    watch_send_head(w, h);
    w->holds = w->call && !http1_same(head.type, STR("text/event-stream"));
    if (w->shadow)
        upstream_feed_head(w->shadow, &head);
}

static void watch_on_bytes(void *ctx, str bytes)
{
    struct watch *w = ctx;

    assert(w->headed);
    if (w->shadow)
        upstream_feed_bytes(w->shadow, bytes); /* may set `holds` */
    if (w->holds && w->call)
        buf_add(&w->held, bytes);
    if (w->holds && buf_full(&w->held)) {
        log_warn("a reply is too large to wait for its record", LOG_STR("id", w->ex->id));
        w->holds = false;
        watch_write(w, buf_str(&w->held));
        buf_release(&w->held);
        buf_init(&w->held, WATCH_HELD_MAX);
    }
    if (!w->holds)
        watch_write(w, bytes);
}

static void watch_on_end(void *ctx)
{
    struct watch *w = ctx;
    struct upstream *shadow = w->shadow;

    assert(!w->ended && !w->broken);
    w->up = NULL;
    w->ended = true;
    w->shadow = NULL;
    if (shadow)
        upstream_feed_end(shadow);
    watch_settle(w);
}

static void watch_on_error(void *ctx, const struct err *e, bool sent)
{
    struct watch *w = ctx;
    struct upstream *shadow = w->shadow;

    assert(!w->ended && !w->broken);
    (void)sent;
    w->up = NULL;
    w->broken = true;
    w->error_status = e->code == ERR_TIMEOUT ? 504 : 502;
    w->error = arena_dup(server_arena(w->ex->x), str_c(e->text));
    w->shadow = NULL;
    if (shadow)
        upstream_feed_error(shadow, e);
    watch_settle(w);
}

static const struct client_handler watch_client = {
    watch_on_head, watch_on_bytes, watch_on_end, watch_on_error, NULL};

/* The upstream has switched to a WebSocket, as the client asked. */
static void watch_on_upgrade(void *ctx, const struct http1_head *h, struct conn *c, str rest)
{
    struct watch *w = ctx;

    w->up = NULL;
    buf_release(&w->lines);
    buf_release(&w->held);
    watch_socket_begin(w->ex, &w->request, h, c, rest);
}

static void watch_send_request(struct watch *w)
{
    const struct http1_head *h = server_request(w->ex->x);
    struct client_request r = {.url = &w->request.url,
                               .method = h->method,
                               .target = w->request.target,
                               .headers = buf_str(&w->lines),
                               .body = server_body(w->ex->x),
                               .on_upgrade = w->upgrades ? watch_on_upgrade : NULL};

    assert(!w->up && !w->headed);
    w->up = client_start(w->ex->worker->gl.client, &r, &watch_client, w);
}

static void watch_on_room(struct exchange *ex)
{
    struct watch *w = ex->job;

    if (w->up)
        client_resume(w->up);
}

static void watch_on_gone(struct exchange *ex)
{
    struct watch *w = ex->job;

    if (w->call) { /* it is recorded as cancelled */
        call_cancel(w->call);
        w->request.run->calls++;
    }
    if (w->up)
        client_cancel(w->up);
    watch_release(w);
}

/* ---- the record ---- */

static void watch_feed_start(void *ctx, struct upstream *u)
{
    struct watch *w = ctx;

    assert(!w->shadow);
    w->shadow = u;
    watch_send_request(w);
}

static void watch_feed_detach(void *ctx)
{
    ((struct watch *)ctx)->shadow = NULL;
}

static void watch_on_frame(void *ctx, const struct wire_frame *frame,
                           const struct chat_event *events, size_t n, bool touched, bool last)
{
    struct watch *w = ctx;

    (void)frame;
    (void)touched;
    for (size_t i = 0; i < n; i++)
        if (events[i].kind == CHAT_CALL)
            w->request.run->tool_calls++;
    w->holds |= last;
}

/* The client gets the upstream's error; if the upstream was not contacted, it gets ours. */
static void watch_on_call_error(void *ctx, const struct chat_error *error)
{
    struct watch *w = ctx;

    if (w->up || w->headed || w->broken || w->ended)
        return;
    w->failed = true;
    exchange_keep_error(w->ex, error);
    w->ex->error->message = arena_dup(server_arena(w->ex->x), error->message);
}

static void watch_on_recorded(void *ctx, const struct err *e)
{
    struct watch *w = ctx;

    assert(w->call);
    if (e)
        log_error("a call could not be put on record", LOG_STR("id", w->ex->id), LOG_ERR(e));
    else
        w->request.run->calls++;
    w->call = NULL;
    watch_settle(w);
}

static const struct call_sink watch_sink = {
    watch_on_frame, watch_on_call_error, watch_on_recorded, NULL, NULL};

/* zstd, in any number of frames. */
static bool watch_unpack_zstd(str packed, struct buf *out, struct err *e)
{
    ZSTD_DStream *z = ZSTD_createDStream();
    ZSTD_inBuffer in = {packed.p, packed.n, 0};
    size_t left = 1, chunk = ZSTD_DStreamOutSize();
    bool ok = true;

    while (ok && in.pos < in.size) {
        char *room = buf_room(out, chunk);
        ZSTD_outBuffer to = {room, chunk, 0};

        ok = room || err_set(e, ERR_LIMIT, "the body is too large");
        left = ok ? ZSTD_decompressStream(z, &to, &in) : 0;
        if (ok && ZSTD_isError(left))
            ok = err_input(e, "the body is no zstd");
        else if (ok)
            buf_wrote(out, to.pos);
    }
    ZSTD_freeDStream(z);
    return ok && (left == 0 || err_input(e, "the body is cut short"));
}

/* The body as the model's provider reads it. */
static bool watch_read_body(struct exchange *ex, str *body, struct err *e)
{
    str coding = http1_find(server_request(ex->x), STR("content-encoding"));
    struct buf out;
    bool ok;

    *body = server_body(ex->x);
    if (!coding.n || http1_same(coding, STR("identity")))
        return true;
    buf_init(&out, ex->setup->config->body_max); /* the arena has room for several of these */
    if (http1_same(coding, STR("gzip")))
        ok = gzip_unpack(*body, &out, e);
    else if (http1_same(coding, STR("zstd")))
        ok = watch_unpack_zstd(*body, &out, e);
    else
        ok = err_input(e, "the body's coding is not known");
    if (ok)
        *body = arena_dup(server_arena(ex->x), buf_str(&out));
    buf_release(&out);
    return ok;
}

static bool watch_read_request(struct exchange *ex, const struct watched_call *kind, str *body,
                               struct err *e)
{
    struct arena *a = server_arena(ex->x);

    ex->wire = wire_get(kind->dialect);
    if (!watch_read_body(ex, body, e) || !json_parse(&ex->doc, *body, e))
        return false;
    if (!arena_fits(a, (size_t)ex->doc.n * WATCH_VALUE_SIZE, 0))
        return err_set(e, ERR_LIMIT, "the body has too many values");
    if (!ex->wire->read(&ex->doc, a, &ex->request, e))
        return false;
    if (kind->dialect == CHAT_GEMINI) {
        ex->request.model = kind->model;
        ex->request.stream = kind->streams;
    }
    return true;
}

/* True: a call was started, or was refused. False: the request is passed on without a record. */
static bool watch_start_call(struct watch *w)
{
    struct exchange *ex = w->ex;
    const struct http1_head *h = server_request(ex->x);
    struct call_request r = {.wire = ex->wire,
                             .request = &ex->request,
                             .route = str_c(ex->route->path),
                             .id = ex->id,
                             .session = STR(""),
                             .title = STR(""),
                             .level = STR(""),
                             .key = ex->key,
                             .setup = ex->setup,
                             .show = CONFIG_SHOW,
                             .watch = &w->record,
                             .start_ns = ex->start_ns};
    struct watched_call kind;
    struct chat_error error;
    struct err e;

    assert(!w->call && !w->shadow);
    if (!str_eq(h->method, STR("POST")) || !watched_read_path(w->request.path, &kind))
        return false;
    if (!watch_read_request(ex, &kind, &r.body, &e)) {
        log_warn("a call of a watched agent is not recorded", LOG_STR("id", ex->id), LOG_ERR(&e));
        return false;
    }
    r.wire = ex->wire;
    w->record = (struct call_watch){watched_provider(w->request.upstream, kind.dialect),
                                    {watch_feed_start, watch_feed_detach, w},
                                    w->secrets,
                                    headers_find_secrets(h, w->secrets)};
    (void)otlp_trace_begin(http1_find(h, STR("traceparent")), &ex->worker->gl.rand, &r.trace);
    ex->called = true;
    if (call_start(&ex->worker->gl,
                   &r,
                   (struct call_listener){&watch_sink, w},
                   server_arena(ex->x),
                   &w->call,
                   &error))
        return true;
    w->failed = true;
    exchange_keep_error(ex, &error);
    watch_settle(w);
    return true;
}

/* ---- the request ---- */

str watch_shown_path(str path, struct arena *a)
{
    str rest = str_slice(path, sizeof WATCH_PREFIX - 1, path.n);
    size_t slash = str_find(rest, STR("/"));

    assert(str_starts(path, STR(WATCH_PREFIX)));
    return slash == STR_NONE
               ? STR(WATCH_PREFIX)
               : arena_join(a, STR(WATCH_PREFIX), str_slice(rest, slash + 1, rest.n), STR(""));
}

/* A run counts for the key that opened it. */
static bool watch_may_use(struct exchange *ex, const struct watch_run *run)
{
    const struct config *c = ex->setup->config;

    for (size_t i = 0; i < c->key_count && run->key_name.n; i++)
        if (str_eq(c->keys[i].name, run->key_name))
            ex->key = &c->keys[i];
    if (!run->key_name.n == !c->key_count && (!run->key_name.n || ex->key))
        return true;
    exchange_fail(ex, 401, "invalid_api_key", "the key that opened this run is not known any more");
    return false;
}

/* RUN/NAME/REST; false after a reply. */
static bool watch_read_target(struct exchange *ex, struct watch_request *r)
{
    const struct http1_head *h = server_request(ex->x);
    str rest = ex->rest, run = str_cut(&rest, '/');
    size_t end = str_find(rest, STR("/"));
    str name = str_slice(rest, 0, end);

    r->upstream = watched_upstream_find(name);
    if (r->upstream && str_eq(name, STR("openai")) && http1_has(h, STR("chatgpt-account-id")))
        r->upstream = watched_upstream_find(STR("chatgpt"));
    r->run = watch_run_find(ex->worker->daemon->watch_runs, run);
    if (!r->run || !r->upstream) {
        if (r->run)
            watch_run_release(r->run);
        exchange_fail(ex,
                      404,
                      "unknown_run",
                      r->run ? "no such upstream"
                             : "this gateway does not watch that run (was it restarted?): start "
                               "`rationale watch` again");
        return false;
    }
    if (!watch_may_use(ex, r->run) || !watch_run_target(r->run, r->upstream, &r->url)) {
        watch_run_release(r->run);
        return false;
    }
    r->path = end == STR_NONE ? STR("") : str_slice(rest, end, rest.n);
    r->target =
        arena_join(server_arena(ex->x), r->url.path, r->path.n ? r->path : STR("/"), STR(""));
    if (h->query.n)
        r->target = arena_join(server_arena(ex->x), r->target, STR("?"), h->query);
    return true;
}

/* The headers for the upstream. The gateway could not read compressed replies and WebSocket
 * messages, so it removes the client's offers to accept them. */
static bool watch_write_headers(struct watch *w, struct err *e)
{
    const struct http1_head *h = server_request(w->ex->x);
    char accept[WS_KEY_SIZE];
    struct http1_fault fault;
    struct watched_call kind;

    w->upgrades = h->upgrade && ws_handshake(h, accept, &fault);
    if (w->upgrades)
        buf_add(&w->lines, STR("connection: Upgrade\r\nupgrade: websocket\r\n"));
    return headers_add_all(h, watched_read_path(w->request.path, &kind), &w->lines, e);
}

static void watch_handle(struct exchange *ex)
{
    struct watch *w = arena_zero(server_arena(ex->x), 1, sizeof *w);
    struct err e;

    if (!watch_read_target(ex, &w->request))
        return;
    w->ex = ex;
    buf_init(&w->lines, WATCH_LINES_MAX);
    buf_init(&w->held, WATCH_HELD_MAX);
    if (!watch_write_headers(w, &e)) {
        watch_release(w);
        exchange_fail(ex, e.code == ERR_LIMIT ? 413 : 400, "invalid_request", "%s", e.text);
        return;
    }
    ex->job = w;
    ex->on_gone = watch_on_gone;
    ex->on_room = watch_on_room;
    if (!watch_start_call(w))
        watch_send_request(w);
}

const struct route watch_any = {"", WATCH_PREFIX "*", CHAT_OPENAI, true, watch_handle};
