/* SPDX-License-Identifier: Apache-2.0 */
#include "net/reach.h"

#include "net/client_parts.h"

struct reach {
    struct dial *dial;
    void (*on_done)(void *ctx, const struct err *e);
    void *ctx;
};

static void reach_on_dial(void *ctx, struct conn *c, const struct err *e)
{
    struct reach *r = ctx;

    assert(!c != !e);
    conn_close(c);
    r->on_done(r->ctx, c ? NULL : e);
    free(r);
}

struct reach *reach_start(struct client *c, const struct client_url *url, uint64_t timeout_ms,
                          void (*on_done)(void *ctx, const struct err *e), void *ctx)
{
    struct reach *r = base_alloc(sizeof *r);
    struct dial_to to;

    *r = (struct reach){.on_done = on_done, .ctx = ctx};
    client_dial_to(c, url->tls, &to);
    to.host = url->host;
    to.port = url->port;
    to.timeout_ms = timeout_ms;
    r->dial = dial_start(&to, reach_on_dial, r);
    return r;
}

void reach_cancel(struct reach *r)
{
    if (!r)
        return;
    dial_cancel(r->dial);
    free(r);
}
