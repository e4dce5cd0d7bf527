/* app.c - the row of the agents that the configuration defines: their routes and their runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/agents/agents.h"
#include "apps/registry.h"

static bool agents_find_prompt(void *ctx, str name, struct arena *a, str *text, struct err *e)
{
    struct agents_app *app = ctx;
    struct prompt p;

    if (!app->registry)
        return err_input(e, "there is no registry of prompts without a store");
    if (!registry_active(app->registry, name, a, &p, e))
        return false;
    *text = prompt_text(&p, NULL, "system_prompt", a);
    return true;
}

static struct agents_host agents_app_host(const struct app_host *h, struct agents_app *app)
{
    return (struct agents_host){.gateway = h->gateway,
                                .gl = h->gl,
                                .log = h->log,
                                .threads = h->threads,
                                .clock = h->clock,
                                .leave = h->leave,
                                .find_prompt = agents_find_prompt,
                                .prompt_ctx = app};
}

bool agents_app_open(const struct app_host *h, struct agents_app **out, struct err *e)
{
    struct agents_app *app = base_alloc(sizeof *app);
    struct setup *setup = gateway_setup(h->gateway);
    struct agents_host host;
    bool ok = true;

    assert(h->gl && h->clock && !h->log == !h->threads);
    *app = (struct agents_app){.host = *h};
    if (h->gateway->records)
        ok = registry_open(setup->config->store_url, h->clock, &app->registry, e);
    setup_release(setup);
    if (!ok) {
        free(app);
        return false;
    }
    host = agents_app_host(h, app);
    app->runner = agents_runner_new(&host);
    *out = app;
    return true;
}

void agents_app_close(struct agents_app *app)
{
    if (!app)
        return;
    agents_runner_free(app->runner);
    registry_close(app->registry);
    free(app);
}

static bool agents_app_row_open(const struct app_host *h, void **out, struct err *e)
{
    struct agents_app *app;

    if (!agents_app_open(h, &app, e))
        return false;
    *out = app;
    return true;
}

static void agents_app_row_close(void *app)
{
    agents_app_close(app);
}

static void agents_app_resume(void *app, const struct agent_row *row)
{
    assert(str_starts(row->app, STR(AGENTS_APP)));
    agents_resume(((struct agents_app *)app)->runner, row);
}

/* If a person ends a part, the run that it belongs to ends, too. */
static void agents_app_ended(void *app, const struct agent_row *row)
{
    struct agent_log *log = ((struct agents_app *)app)->host.log;
    size_t slash = str_find(row->id, STR("/"));
    struct agent_row root;
    struct arena a;
    struct err e;

    if (slash == STR_NONE)
        return;
    arena_init(&a, (size_t)256 << 20);
    if (agent_log_run_get(log, str_slice(row->id, 0, slash), &a, &root, &e)) {
        root.status = root.reason = STR("cancelled");
        root.updated_us = row->updated_us;
        (void)!agent_log_run_put(log, &root, &e);
    }
    arena_release(&a);
}

/* A run that another daemon was asked to cancel may be waiting now. The cancel is on disk before it
 * is acknowledged, so that a restart does not resume the run. */
static bool agents_app_cancel(void *app, const struct agent_row *row)
{
    struct agents_app *x = app;
    str root = str_slice(row->id, 0, str_find(row->id, STR("/")));
    struct err e;

    assert(str_starts(row->app, STR(AGENTS_APP)));
    if (str_eq(row->from, STR("cancel")))
        agents_end(x->runner, row->id);
    else if (!agents_cancel(x->runner, row->id))
        return false;
    if (!agent_keep_cancel(x->host.log, root, clock_wall_ms(x->host.clock) * 1000, &e))
        log_warn(
            "a cancelled run resumes if the process ends now", LOG_STR("run", root), LOG_ERR(&e));
    return true;
}

static void agents_app_lost(void *app)
{
    agents_lost(((struct agents_app *)app)->runner);
}

static void agents_app_reload(void *app)
{
    agents_runner_reload(((struct agents_app *)app)->runner);
}

const struct app app_agents = {.name = AGENTS_APP,
                               .open = agents_app_row_open,
                               .resume = agents_app_resume,
                               .resumes_active = true,
                               .ended = agents_app_ended,
                               .cancel = agents_app_cancel,
                               .lost = agents_app_lost,
                               .reload = agents_app_reload,
                               .close = agents_app_row_close,
                               .ready = agents_app_ready,
                               .routes = agents_app_routes};
