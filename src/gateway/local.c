/* local.c - see local.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/local.h"

#define LOOK_MS 2

struct local {
    struct gateway gateway;
    struct gateway_loop gl;
    struct tls *tls;
    struct resolver *resolver;
    pthread_t thread;
    struct loop_task ending;
    struct loop_timer look;
};

static void *local_work(void *arg)
{
    struct local *l = arg;

    loop_run(l->gl.loop);
    return NULL;
}

/* The store may still post to the loop while a call is being put on record. */
static void local_look(void *ctx)
{
    struct local *l = ctx;

    if (l->gl.calls == 0)
        loop_stop(l->gl.loop);
    else
        loop_timer_set(l->gl.loop, &l->look, LOOK_MS);
}

static bool local_parts(struct local *l, struct err *e)
{
    const struct config *c = l->gateway.setup->config;

    l->gl.gateway = &l->gateway;
    l->gl.metrics = metrics_shard(l->gateway.metrics, 0);
    rand_init_os(&l->gl.rand);
    l->tls = tls_client_new(c->ca_file.n ? c->ca_file.p : NULL, e);
    if (!l->tls)
        return false;
    l->resolver = resolver_new(1, e);
    if (!l->resolver)
        return false;
    l->gl.loop = loop_new(l->gateway.clock, e);
    if (!l->gl.loop)
        return false;
    l->gl.client = client_new(l->gl.loop, l->resolver, l->tls);
    return true;
}

static void local_release(struct local *l)
{
    if (l->gl.client)
        client_free(l->gl.client);
    if (l->gl.loop) {
        mask_work_leave(l->gateway.mask_work, l->gl.loop);
        loop_free(l->gl.loop);
    }
    if (l->resolver)
        resolver_free(l->resolver);
    if (l->tls)
        tls_free(l->tls);
    gateway_release(&l->gateway);
    free(l);
}

bool local_open(struct config *c, struct local **out, struct err *e)
{
    struct gateway_options o = {.clock = &clock_real, .loops = 1};
    struct local *l = base_alloc(sizeof *l);

    memset(l, 0, sizeof *l);
    if (!setup_new(c, &o.setup, e) || !gateway_init(&l->gateway, &o, e)) {
        free(l);
        return false;
    }
    if (!local_parts(l, e)) {
        local_release(l);
        return false;
    }
    loop_task_init(&l->ending, local_look, l);
    loop_timer_init(&l->look, local_look, l);
    if (pthread_create(&l->thread, NULL, local_work, l) != 0)
        base_die("no thread could be started");
    *out = l;
    return true;
}

struct gateway_loop *local_loop(struct local *l)
{
    return &l->gl;
}

void local_close(struct local *l)
{
    if (!l)
        return;
    loop_post(l->gl.loop, &l->ending);
    pthread_join(l->thread, NULL);
    local_release(l);
}
