/* host.c - the host of an application that a command runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/app.h"
#include "store/daemons.h"

bool app_model(const struct config *c, str wanted, str *out, struct err *e)
{
    struct config_route route;

    if (wanted.n > 0) {
        *out = wanted;
        return config_find(c, wanted, &route) ||
               err_input(e,
                         "no provider has the model \"" STR_FMT "\"",
                         STR_ARG(str_slice(wanted, 0, 80)));
    }
    for (size_t i = 0; i < c->provider_count; i++)
        if (c->providers[i].model_count > 0) {
            *out = c->providers[i].models[0].alias;
            return true;
        }
    return err_input(
        e,
        "no provider lists a model: name one under models, or say which the application "
        "is to ask (model)");
}

bool app_local_open(const char *config, struct app_local *l, struct err *e)
{
    struct config *c;

    memset(l, 0, sizeof *l);
    return config_load(config, &c, e) && app_local_start(c, l, e);
}

bool app_local_start(struct config *c, struct app_local *l, struct err *e)
{
    struct gateway *g;

    memset(l, 0, sizeof *l);
    if (!local_open(c, &l->local, e))
        return false;
    g = local_loop(l->local)->gateway;
    assert(g && g->clock);
    l->host = (struct app_host){.gateway = g,
                                .gl = local_loop(l->local),
                                .clock = g->clock,
                                .leave = &l->leave,
                                .daemon = STR("")};
    if (!g->records)
        return true;
    if (agent_log_open(c->store_url, &l->host.log, e) &&
        threads_open(c->store_url, &l->host.threads, e)) {
        agent_log_share(l->host.log, store_daemon(g->store), NULL);
        return true;
    }
    app_local_close(l);
    return false;
}

void app_local_close(struct app_local *l)
{
    threads_close(l->host.threads);
    agent_log_close(l->host.log);
    local_close(l->local);
}
