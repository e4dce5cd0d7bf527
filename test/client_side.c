/* SPDX-License-Identifier: Apache-2.0 */
#include "client_side.h"

#include "net_peer.h"
#include "test.h"

#include <unistd.h>

static void *run_script(void *ctx)
{
    struct world *w = ctx;

    w->script(w);
    return NULL;
}

/* Resolves names in tests: the first address of "two.test" refuses, the second accepts. */
static bool look_up(void *ctx, const char *host, struct resolve_addrs *out, struct err *e)
{
    struct resolve_addrs second;

    (void)ctx;
    if (strcmp(host, "two.test") == 0) {
        CHECK(resolve_literal(STR("127.0.0.2"), out));
        CHECK(resolve_literal(STR("127.0.0.1"), &second));
        out->addr[out->n++] = second.addr[0];
        return true;
    }
    if (strcmp(host, "localhost") == 0)
        return resolve_literal(STR("127.0.0.1"), out);
    return err_set(e, ERR_UPSTREAM, "the host %s is not found", host);
}

void world_init(struct world *w, const struct clock *clock, void (*script)(struct world *w),
                int step)
{
    struct err e;

    *w = (struct world){.script = script, .step = step, .loop = loop_new(clock, &e)};
    CHECK(w->loop);
    w->resolver = resolver_new_by(&(struct resolver_options){.threads = 1, .lookup = look_up}, &e);
    CHECK(w->resolver);
    w->client = client_new(w->loop, w->resolver, NULL);
    w->listener = script ? peer_listen(&w->port) : peer_refuse(&w->port);
    snprintf(w->url_text, sizeof w->url_text, "http://127.0.0.1:%u", w->port);
    CHECK(client_url_parse(str_c(w->url_text), &w->url, &e));
    if (!script)
        return;
    CHECK(pthread_create(&w->thread, NULL, run_script, w) == 0);
    w->running = true;
}

void world_release(struct world *w)
{
    client_free(w->client);
    loop_free(w->loop);
    resolver_free(w->resolver);
    if (w->running)
        pthread_join(w->thread, NULL);
    close(w->listener);
}

static void stop(void *ctx)
{
    loop_stop(ctx);
}

void world_turn(struct world *w)
{
    struct loop_task t;

    loop_task_init(&t, stop, w->loop);
    loop_defer(w->loop, &t);
    loop_run(w->loop);
    loop_drop(w->loop, &t); /* another event may have stopped the loop first */
}

int world_accept(struct world *w)
{
    int fd = peer_accept(w->listener);

    atomic_fetch_add(&w->accepted, 1);
    return fd;
}

bool world_request(int fd)
{
    char head[8192];

    return peer_read_until(fd, "\r\n\r\n", head, sizeof head) > 0;
}

void world_reply(int fd, const char *reply)
{
    peer_send(fd, str_c(reply));
}

static void happened(struct call *c, char what)
{
    if (what != 'b' || c->log.n == 0 || c->log.p[c->log.n - 1] != 'b')
        buf_add_c(&c->log, what);
    if (what == c->cancel_at)
        client_cancel(c->call);
    else if (what == c->pause_at)
        client_pause(c->call);
    loop_stop(c->world->loop);
}

static void on_head(void *ctx, const struct http1_head *head)
{
    struct call *c = ctx;

    c->status = head->status;
    happened(c, 'h');
}

static void on_bytes(void *ctx, str bytes)
{
    struct call *c = ctx;

    c->got += bytes.n;
    if (c->keep)
        buf_add(&c->body, bytes);
    happened(c, 'b');
}

static void on_end(void *ctx)
{
    struct call *c = ctx;

    happened(c, 'e');
    if (c->then)
        call_begin(c->then);
}

static void on_error(void *ctx, const struct err *e, bool sent)
{
    struct call *c = ctx;

    c->err = *e;
    c->sent = sent;
    happened(c, 'x');
}

static const struct client_handler handler = {on_head, on_bytes, on_end, on_error, NULL};

void call_init(struct call *c, struct world *w)
{
    *c = (struct call){.world = w, .keep = true};
    buf_init(&c->log, 1000);
    buf_init(&c->body, 1 << 20);
    c->request = (struct client_request){.url = &w->url,
                                         .method = STR("GET"),
                                         .target = STR("/v1/x?y=z"),
                                         .headers = STR("accept: */*\r\n"),
                                         .body = STR("")};
}

void call_begin(struct call *c)
{
    c->call = client_start(c->world->client, &c->request, &handler, c);
    CHECK(c->call && c->log.n == 0);
}

void call_url(struct call *c, struct world *w, const char *scheme, const char *host)
{
    struct err e;

    snprintf(w->url_text, sizeof w->url_text, "%s://%s:%u", scheme, host, w->port);
    CHECK(client_url_parse(str_c(w->url_text), &w->url, &e));
    call_init(c, w);
    call_begin(c);
}

void call_start(struct call *c, struct world *w, const char *method, str body)
{
    call_init(c, w);
    c->request.method = str_c(method);
    c->request.body = body;
    call_begin(c);
}

void call_run_until(struct call *c, const char *log)
{
    while (c->log.n < strlen(log))
        loop_run(c->world->loop);
    CHECK_F(str_eq(buf_str(&c->log), str_c(log)),
            STR_FMT " for %s, %s",
            STR_ARG(buf_str(&c->log)),
            log,
            c->err.text);
}

void call_release(struct call *c)
{
    buf_release(&c->log);
    buf_release(&c->body);
}
