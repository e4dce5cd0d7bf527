/* SPDX-License-Identifier: Apache-2.0 */
#include "net/dial.h"

#define TRY_MS 2000 /* for an address, while there are others */

struct dial {
    struct dial_to to;
    void (*on_done)(void *ctx, struct conn *c, const struct err *e);
    void *ctx;
    uint64_t until_ns;
    struct loop_timer timer;
    struct loop_task task; /* for results that must not be reported at once */
    struct resolver_ask *ask;
    struct resolve_addrs addrs;
    size_t at; /* the address to try next */
    struct conn *conn;
    struct err err; /* of the last address */
};

static void dial_try_next(struct dial *d);

void dial_cancel(struct dial *d)
{
    if (d->ask)
        resolver_drop(d->ask);
    conn_close(d->conn);
    loop_timer_clear(d->to.loop, &d->timer);
    loop_drop(d->to.loop, &d->task);
    free(d);
}

/* Ends the attempt, with a connection or with an error. */
static void dial_done(struct dial *d, struct conn *c, const struct err *e)
{
    assert(!c != !e);
    void (*on_done)(void *ctx, struct conn *c, const struct err *e) = d->on_done;
    void *ctx = d->ctx;
    struct err copy;

    if (e)
        copy = *e;
    if (c)
        d->conn = NULL;
    dial_cancel(d);
    on_done(ctx, c, c ? NULL : &copy);
}

static void dial_on_task(void *ctx)
{
    struct dial *d = ctx;

    assert(!d->conn && !d->ask);
    dial_done(d, NULL, &d->err);
}

static void dial_on_open(void *ctx)
{
    struct dial *d = ctx;

    assert(d->conn && !d->ask);
    dial_done(d, d->conn, NULL);
}

/* Neither comes before on_open, which puts another handler in this one's place. */
static void dial_on_bytes(void *ctx, str bytes)
{
    (void)ctx;
    (void)bytes;
    base_die("a connection that is not open has no bytes");
}

static void dial_on_end(void *ctx)
{
    (void)ctx;
    base_die("a connection that is not open has no end");
}

static void dial_on_error(void *ctx, const struct err *e)
{
    struct dial *d = ctx;
    bool reached = conn_reached(d->conn);

    assert(!d->ask);
    d->err = *e;
    conn_close(d->conn);
    d->conn = NULL;
    /* A handshake that fails at one address of a host fails at the others, too. */
    if (reached)
        d->at = d->addrs.n;
    dial_try_next(d);
}

static const struct conn_handler handler = {.on_open = dial_on_open,
                                            .on_bytes = dial_on_bytes,
                                            .on_end = dial_on_end,
                                            .on_error = dial_on_error};

static void dial_wait_for_it(struct dial *d)
{
    uint64_t now_ns = loop_now_ns(d->to.loop);
    uint64_t left_ms = d->until_ns <= now_ns ? 0 : (d->until_ns - now_ns) / CLOCK_NS_PER_MS;

    if (d->at < d->addrs.n)
        left_ms = left_ms / 2 < TRY_MS ? left_ms / 2 : TRY_MS;
    loop_timer_set(d->to.loop, &d->timer, left_ms);
}

static void dial_try_next(struct dial *d)
{
    assert(!d->conn && !d->ask && d->at <= d->addrs.n);
    while (d->at < d->addrs.n) {
        struct resolve_addr *a = &d->addrs.addr[d->at++];

        resolve_set_port(a, d->to.port);
        d->conn = conn_connect(
            d->to.loop,
            &(struct conn_target){&a->at.any, (unsigned)a->size, d->to.tls, d->to.host},
            &handler,
            d,
            &d->err);
        if (d->conn) {
            dial_wait_for_it(d);
            return;
        }
    }
    resolver_forget(d->to.resolver, d->to.host);
    loop_timer_clear(d->to.loop, &d->timer);
    loop_defer(d->to.loop, &d->task);
}

static void dial_on_timer(void *ctx)
{
    struct dial *d = ctx;
    bool reached = d->conn && conn_reached(d->conn);
    char took[CLOCK_DURATION_SIZE];

    assert(!d->ask || !d->conn);
    clock_duration(d->to.timeout_ms * CLOCK_NS_PER_MS, took);
    err_set(&d->err,
            ERR_TIMEOUT,
            "%s within %s",
            d->ask    ? "its name was not resolved"
            : reached ? "the TLS handshake did not end"
                      : "there was no connection",
            took);
    if (d->at == d->addrs.n || loop_now_ns(d->to.loop) >= d->until_ns) {
        dial_done(d, NULL, &d->err);
        return;
    }
    conn_close(d->conn);
    d->conn = NULL;
    dial_try_next(d);
}

static void dial_on_answer(void *ctx, const struct resolve_addrs *addrs, const struct err *e)
{
    struct dial *d = ctx;

    assert(d->ask && !d->conn);
    d->ask = NULL;
    if (!addrs) {
        dial_done(d, NULL, e);
        return;
    }
    d->addrs = *addrs;
    dial_try_next(d);
}

struct dial *dial_start(const struct dial_to *to,
                        void (*on_done)(void *ctx, struct conn *c, const struct err *e), void *ctx)
{
    struct dial *d = base_alloc(sizeof *d);

    *d = (struct dial){.to = *to, .on_done = on_done, .ctx = ctx};
    d->until_ns = loop_now_ns(to->loop) + to->timeout_ms * CLOCK_NS_PER_MS;
    loop_timer_init(&d->timer, dial_on_timer, d);
    loop_task_init(&d->task, dial_on_task, d);
    if (resolve_literal(to->host, &d->addrs) || resolver_known(to->resolver, to->host, &d->addrs)) {
        dial_try_next(d);
        return d;
    }
    d->ask = resolver_ask(to->resolver, to->loop, to->host, dial_on_answer, d);
    dial_wait_for_it(d);
    return d;
}
