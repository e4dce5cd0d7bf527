/* apps.c - the routes of the applications, on threads that may wait for models and tools.
 *
 * Output is collected under a lock and written on the exchange's loop. The end of the request is
 * posted to the same loop. These two posts may arrive in either order, so the later one ends the
 * exchange.
 *
 * At shutdown the applications end while the loops still run, because code that waits for a model
 * waits for a loop; and on a separate thread, so that the deadline of the drain applies to them,
 * too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/exchange_key.h"
#include "serve/params.h"
#include "serve/peers.h"
#include "serve/work.h"
#include "store/daemons.h"

#define HANDS 64 /* threads; each request that waits for a run occupies one */
#define ARENA_MAX ((size_t)256 << 20)
#define OUT_MAX ((size_t)64 << 20)

struct app_job {
    struct work_job job;
    struct exchange *ex; /* NULL once the client has left */
    struct worker *worker;
    struct arena arena;
    struct buf body;
    struct app_match match;
    struct app_request request;
    struct app_reply reply;
    _Atomic bool cancel;

    struct loop_task writing;
    struct loop_timer keepalive;
    uint64_t sent_ns;
    bool headed;          /* the head of a stream was sent */
    bool events;          /* a stream of server-sent events, which may have comments */
    bool over;            /* the reply is complete; used on the loop's thread only */
    pthread_mutex_t lock; /* protects the members below */
    struct buf pieces;    /* output to be written */
    const char *type;     /* of `pieces`; the other thread may change that of the reply */
    bool posted;
};

static void serve_apps_job_free(struct app_job *j)
{
    loop_timer_clear(j->worker->gl.loop, &j->keepalive);
    pthread_mutex_destroy(&j->lock);
    buf_release(&j->pieces);
    buf_release(&j->body);
    buf_release(&j->reply.body);
    arena_release(&j->arena);
    free(j);
}

static void serve_apps_on_gone(struct exchange *ex)
{
    struct app_job *j = ex->job;

    assert(j->ex == ex);
    j->ex = NULL;
    j->cancel = true;
}

static void serve_apps_run(struct work_job *job, struct reader *r, const struct err *e)
{
    struct app_job *j = (struct app_job *)(void *)job;

    assert(!r && !e);
    (void)r;
    (void)e;
    apps_answer(j->worker->daemon->apps, &j->match, &j->request, &j->reply);
}

static void serve_apps_answer(struct app_job *j)
{
    struct exchange *ex = j->ex;
    char after[16];
    int n;

    assert(!j->headed);
    ex->on_gone = NULL;
    if (j->reply.status == 401 && j->request.signature.n &&
        exchange_throttle_guess(ex,
                                STR("the signature is wrong, and this address has sent many wrong "
                                    "ones: correct the sender's secret, or wait")))
        return;
    if (j->reply.retry_after_s > 0) {
        n = snprintf(after, sizeof after, "%u", j->reply.retry_after_s);
        exchange_header(
            ex, STR("retry-after"), arena_dup(server_arena(ex->x), (str){after, (size_t)n}));
    }
    if (j->reply.error && j->reply.status >= 400)
        ex->refused = str_c(j->reply.error);
    if (buf_full(&j->reply.body))
        exchange_fail(ex, 500, "answer_too_large", "the answer is larger than %zu bytes", OUT_MAX);
    else
        exchange_reply(ex, j->reply.status, str_c(j->reply.type), buf_str(&j->reply.body));
}

/* ---- streamed replies ---- */

static void apps_write_some(struct app_job *j, str bytes)
{
    struct exchange *ex = j->ex;

    if (!ex || bytes.n == 0)
        return;
    server_write(ex->x, bytes);
    server_flush(ex->x);
    j->sent_ns = loop_now_ns(j->worker->gl.loop);
}

static void serve_apps_keep_alive(void *ctx)
{
    struct app_job *j = ctx;
    uint64_t every_ms = j->ex ? j->ex->setup->config->keepalive_ms : 0;
    uint64_t quiet_ms = (loop_now_ns(j->worker->gl.loop) - j->sent_ns) / CLOCK_NS_PER_MS;

    if (!j->ex)
        return;
    assert(j->events);
    if (quiet_ms >= every_ms) {
        apps_write_some(j, STR(": keep-alive\n\n"));
        quiet_ms = 0;
    }
    loop_timer_set(j->worker->gl.loop, &j->keepalive, every_ms - quiet_ms);
}

static void serve_apps_head(struct app_job *j)
{
    struct exchange *ex = j->ex;
    uint64_t every_ms = ex->setup->config->keepalive_ms;

    assert(!j->headed);
    j->headed = true;
    ex->status = 200;
    j->events =
        strcmp(j->type, "text/event-stream") == 0 && !(j->request.call && j->request.call->bare);
    exchange_header(ex, STR("content-type"), str_c(j->type));
    if (ex->api)
        api_protect(ex);
    exchange_header(ex, STR("x-accel-buffering"), STR("no"));
    server_head(ex->x, 200, ex->headers, ex->header_count);
    if (every_ms && j->events)
        loop_timer_set(j->worker->gl.loop, &j->keepalive, every_ms);
}

static void serve_apps_end(struct app_job *j)
{
    struct exchange *ex = j->ex;
    struct server_exchange *x = ex ? ex->x : NULL;

    assert(j->over);
    if (ex && j->headed) {
        ex->on_gone = NULL;
        apps_write_some(j, buf_str(&j->reply.body));
        exchange_done(ex);
        server_end(x);
    } else if (ex) {
        serve_apps_answer(j);
    }
    serve_apps_job_free(j);
}

static void serve_apps_write_pieces(void *ctx)
{
    struct app_job *j = ctx;

    pthread_mutex_lock(&j->lock);
    j->posted = false;
    if (j->ex && j->pieces.n && !j->headed)
        serve_apps_head(j);
    apps_write_some(j, buf_str(&j->pieces));
    buf_reset(&j->pieces);
    pthread_mutex_unlock(&j->lock);
    if (j->over)
        serve_apps_end(j);
}

/* Any thread. */
static void apps_send_some(void *ctx, str bytes)
{
    struct app_job *j = ctx;
    bool post;

    assert(j->reply.type);
    pthread_mutex_lock(&j->lock);
    buf_add(&j->pieces, bytes);
    j->type = j->reply.type;
    post = !j->posted;
    j->posted = true;
    pthread_mutex_unlock(&j->lock);
    if (post)
        loop_post(j->worker->gl.loop, &j->writing);
}

static void serve_apps_done(struct work_job *job)
{
    struct app_job *j = (struct app_job *)(void *)job;
    bool posted;

    assert(j->worker->jobs > 0 && !j->over);
    j->worker->jobs--;
    pthread_mutex_lock(&j->lock);
    posted = j->posted;
    pthread_mutex_unlock(&j->lock);
    j->over = true;
    if (!posted)
        serve_apps_end(j);
}

/* ---- from the request ---- */

static void serve_apps_who(struct app_job *j)
{
    const struct config_key *k = j->ex->key;

    assert(j->ex);
    j->request.key = k ? arena_dup(&j->arena, k->name) : STR("");
    j->request.subject = STR("");
    j->request.operator_ = api_operator(j->ex);
    j->request.sees_reasoning = api_sees_reasoning(j->ex);
}

static bool serve_apps_parts(struct app_job *j)
{
    for (size_t i = 0; i < APP_PARTS_MAX; i++)
        if (!params_decode(&j->arena, j->match.parts[i], false, &j->request.parts[i]))
            return false;
    return true;
}

static const struct app_call *apps_copy_call(struct app_job *j)
{
    struct app_call *c;

    if (!j->ex->app_call)
        return NULL;
    c = arena_zero(&j->arena, 1, sizeof *c);
    *c = *j->ex->app_call;
    c->id = arena_dup(&j->arena, c->id);
    c->model = arena_dup(&j->arena, c->model);
    c->session = arena_dup(&j->arena, c->session);
    c->body = arena_dup(&j->arena, c->body);
    c->items = arena_dup(&j->arena, c->items);
    c->previous = arena_dup(&j->arena, c->previous);
    c->unknown = arena_dup(&j->arena, c->unknown);
    return c;
}

static struct app_job *serve_apps_job_new(struct exchange *ex)
{
    const struct http1_head *h = server_request(ex->x);
    struct app_job *j = base_alloc(sizeof *j);

    assert(ex->app);
    *j = (struct app_job){.ex = ex, .worker = ex->worker, .match = *ex->app};
    arena_init(&j->arena, ARENA_MAX);
    buf_init(&j->body, JSON_SIZE_MAX);
    buf_init(&j->reply.body, OUT_MAX);
    buf_init(&j->pieces, OUT_MAX);
    pthread_mutex_init(&j->lock, NULL);
    j->reply.send = apps_send_some;
    j->reply.send_ctx = j;
    loop_task_init(&j->writing, serve_apps_write_pieces, j);
    loop_timer_init(&j->keepalive, serve_apps_keep_alive, j);
    buf_add(&j->body, server_body(ex->x));
    j->request = (struct app_request){
        .method = arena_dup(&j->arena, h->method),
        .path = arena_dup(&j->arena, h->path),
        .query = arena_dup(&j->arena, h->query),
        .body = buf_str(&j->body),
        .type = arena_dup(&j->arena, http1_find(h, STR("content-type"))),
        .accept = arena_dup(&j->arena, http1_find(h, STR("accept"))),
        .last_event = arena_dup(&j->arena, http1_find(h, STR("last-event-id"))),
        .idempotency_key = arena_dup(&j->arena, http1_find(h, STR("idempotency-key"))),
        .signature = arena_dup(&j->arena, http1_find(h, STR("x-pagerduty-signature"))),
        .cancel = &j->cancel,
        .arena = &j->arena};
    if (!j->request.signature.n)
        j->request.signature =
            arena_dup(&j->arena, http1_find(h, STR("x-grafana-alerting-signature")));
    j->request.call = apps_copy_call(j);
    serve_apps_who(j);
    return j;
}

static void serve_apps_handle(struct exchange *ex)
{
    const char *names = ex->app->route->query;
    struct app_job *j;

    if (names && !params_are(ex, names))
        return;
    j = serve_apps_job_new(ex);
    if (!serve_apps_parts(j)) {
        exchange_fail(ex, 404, "unknown_url", "a part of the path is not UTF-8 written with %%XX");
        serve_apps_job_free(j);
        return;
    }
    ex->job = j;
    ex->on_gone = serve_apps_on_gone;
    j->job.run = serve_apps_run;
    j->job.done = serve_apps_done;
    if (work_post(ex->worker->daemon->hands, ex->worker->gl.loop, &j->job)) {
        ex->worker->jobs++;
        return;
    }
    j->reply.status = 503;
    j->reply.type = "application/json";
    j->reply.retry_after_s = 1;
    if (ex->worker->daemon->leave)
        app_fail(&j->reply, 503, "draining", "the gateway is going down");
    else
        app_fail(&j->reply, 503, "busy", "too many requests to the applications wait already");
    serve_apps_answer(j);
    serve_apps_job_free(j);
}

const struct route apps_any = {"", "(application)", CHAT_OPENAI, false, serve_apps_handle};

/* ---- start and end ---- */

bool apps_begin(struct daemon *d, struct err *e)
{
    struct app_host host = {.gateway = &d->gateway,
                            .gl = &d->workers[0].gl,
                            .log = d->runs,
                            .threads = d->threads,
                            .clock = d->gateway.clock,
                            .leave = &d->leave,
                            .daemon = store_daemon(d->gateway.store),
                            .bus = peers_bus(d->peers)};

    assert(d->worker_count > 0 && !d->apps);
    if (!apps_open(&host, &d->apps, e))
        return false;
    d->hands = work_new(STR(""), NULL, HANDS, d->log);
    return true;
}

static void *apps_close_all(void *arg)
{
    struct daemon *d = arg;
    struct log_scope scope;

    log_scope_enter(&scope, d->log, STR(""));
    pthread_rwlock_wrlock(&d->apps_use); /* until the last thread has left; no other may enter */
    pthread_rwlock_unlock(&d->apps_use);
    work_stop(d->hands);
    peers_stop(d->peers);
    apps_close(d->apps);
    peers_release_runs(d->peers);
    log_scope_leave(&scope);
    d->apps_ended = true;
    return NULL;
}

void apps_end(struct daemon *d)
{
    assert(d->apps && !d->leave);
    d->leave = true;
    if (pthread_create(&d->closer, NULL, apps_close_all, d) != 0)
        base_die("no thread could be started");
}

void apps_end_wait(struct daemon *d)
{
    pthread_join(d->closer, NULL);
    work_free(d->hands);
}

bool apps_enter(struct daemon *d)
{
    pthread_rwlock_rdlock(&d->apps_use);
    if (d->apps && !d->leave)
        return true;
    pthread_rwlock_unlock(&d->apps_use);
    return false;
}

void apps_leave(struct daemon *d)
{
    pthread_rwlock_unlock(&d->apps_use);
}
