/* upstream.c - a provider's replies, live or recorded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/upstream.h"

#include "gateway/retry.h"

/* ---- over the network ---- */

static str without_parameters(str type)
{
    size_t n = 0;

    while (n < type.n && type.p[n] != ';')
        n++;
    return str_trim(str_slice(type, 0, n));
}

static void net_head(void *ctx, const struct http1_head *h)
{
    struct upstream *u = ctx;
    str id = http1_find(h, STR("x-request-id"));
    struct upstream_head head = {
        .status = h->status,
        .type = without_parameters(http1_find(h, STR("content-type"))),
        .retry_after_ms = retry_after_ms(
            http1_find(h, STR("retry-after")), http1_find(h, STR("retry-after-ms")), u->wall_ms),
        .request_id = id.n ? id : http1_find(h, STR("request-id")),
    };

    u->handler->on_head(u->ctx, &head);
}

static void net_bytes(void *ctx, str bytes)
{
    struct upstream *u = ctx;

    u->handler->on_bytes(u->ctx, bytes);
}

static void net_end(void *ctx)
{
    struct upstream *u = ctx;

    u->call = NULL;
    u->handler->on_end(u->ctx);
}

static void net_error(void *ctx, const struct err *e, bool sent)
{
    struct upstream *u = ctx;

    (void)sent; /* a model call may be made twice: nothing but tokens is lost by it */
    u->call = NULL;
    u->handler->on_error(u->ctx, e);
}

static const struct client_handler net_handler = {net_head, net_bytes, net_end, net_error};

static void net_start(struct upstream *u, struct client *c, const struct upstream_request *r)
{
    const struct config_provider *p = r->provider;
    struct client_request request = {
        .url = &p->url,
        .method = STR("POST"),
        .target = r->target,
        .headers = r->headers,
        .body = r->body,
        .connect_ms = p->connect_ms,
        .first_ms = p->first_ms,
        .stall_ms = p->stall_ms,
    };

    u->call = client_start(c, &request, &net_handler, u);
}

/* ---- from a cassette ---- */

static void play(void *ctx);

/* Pieces that come at once are played in one go; the others wait for their time. */
static void play_next(struct upstream *u)
{
    const struct cassette_call *call = u->played;

    if (u->piece < call->piece_count && call->pieces[u->piece].after_ms > 0) {
        u->waiting = true;
        loop_timer_set(u->loop, &u->timer, call->pieces[u->piece].after_ms);
    } else {
        loop_timer_set(u->loop, &u->timer, 0);
    }
}

static void play(void *ctx)
{
    struct upstream *u = ctx;
    const struct cassette_call *call = u->played;
    struct upstream_head head;

    if (u->paused)
        return;
    if (!call) {
        u->handler->on_error(u->ctx, &u->miss);
        return;
    }
    if (!u->headed) {
        u->headed = true;
        head = (struct upstream_head){.status = call->status,
                                      .type = call->type,
                                      .retry_after_ms = -1,
                                      .request_id = STR("")};
        play_next(u);
        u->handler->on_head(u->ctx, &head);
        return;
    }
    if (u->piece == call->piece_count) {
        u->played = NULL;
        u->handler->on_end(u->ctx);
        return;
    }
    u->piece++;
    play_next(u);
    u->handler->on_bytes(u->ctx, call->pieces[u->piece - 1].bytes);
}

static void play_start(struct upstream *u, const struct upstream_request *r)
{
    loop_timer_init(&u->timer, play, u);
    u->played = NULL;
    if (!cassette_find(r->cassette, r->target, r->body, r->nth, &u->played, &u->miss))
        u->played = NULL;
    loop_timer_set(u->loop, &u->timer, 0);
}

/* ---- both ---- */

void upstream_start(struct upstream *u, struct loop *l, struct client *c,
                    const struct upstream_request *r, const struct upstream_handler *h, void *ctx)
{
    *u = (struct upstream){.handler = h, .ctx = ctx, .loop = l, .wall_ms = r->wall_ms};
    if (r->cassette)
        play_start(u, r);
    else
        net_start(u, c, r);
}

void upstream_cancel(struct upstream *u)
{
    if (u->call)
        client_cancel(u->call);
    u->call = NULL;
    if (u->timer.fn)
        loop_timer_clear(u->loop, &u->timer);
    u->played = NULL;
}

void upstream_pause(struct upstream *u)
{
    u->paused = true;
    if (u->call)
        client_pause(u->call);
}

void upstream_resume(struct upstream *u)
{
    if (!u->paused)
        return;
    u->paused = false;
    if (u->call)
        client_resume(u->call);
    else if (u->timer.fn && !u->timer.slot)
        loop_timer_set(u->loop, &u->timer, 0);
}
