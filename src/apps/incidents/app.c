/* app.c - the row of incidents: its routes, and the engine it is opened with.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/intake.h"
#include "base/log.h"

static bool incident_app_open(const struct app_host *h, void **out, struct err *e)
{
    struct setup *held = gateway_setup(h->gateway);
    const struct config_incidents *c = &held->config->incidents;
    struct incidents_engine engine = {
        .engine = {incident_run, incident_assigned, incident_stages, incident_drop},
        .chat = incident_chat};
    struct incident_setup *setup = NULL;
    struct incidents *in = NULL;
    struct err ignored;
    bool ok = true;

    *out = NULL;
    if (c->agents.n)
        ok = incident_setup_load(c->agents.p, c->runbooks.p, &setup, e);
    if (ok && setup) {
        engine.setup = setup;
        engine.types = incident_alert_types(setup);
        ok = incidents_open(h, &engine, &in, e);
    }
    if (ok && in && h->log &&
        !incident_chat_settle(h->log, clock_wall_ms(h->clock) * 1000, &ignored))
        log_warn("questions of an earlier process cannot be ended", LOG_ERR(&ignored));
    incident_setup_free(setup); /* retained */
    setup_release(held);
    assert(ok || !in);
    *out = in;
    return ok;
}

/* Alerts that are worked on keep the agents they began with. */
static void incident_app_reload(void *app)
{
    struct incidents *in = app;
    struct setup *held = gateway_setup(in->host->gateway);
    const struct config_incidents *c = &held->config->incidents;
    struct incident_setup *setup;
    struct err e;

    if (!c->agents.n) {
        log_warn("incidents.agents was removed; the agents stay until a restart");
    } else if (!incident_setup_load(c->agents.p, c->runbooks.p, &setup, &e)) {
        log_error("the agents are bad; the old ones stay in force", LOG_ERR(&e));
    } else {
        incidents_change(in, held, setup);
        incident_setup_free(setup);
        log_info("agents read again", LOG_STR("file", c->agents));
    }
    setup_release(held);
}

/* The alert of a run: RUN/STAGE/AGENT of a part. */
static str incident_alert_of(const struct agent_row *row)
{
    str last;

    assert(str_starts(row->app, STR("incidents")));
    return str_eq(row->app, STR("incidents.agent"))
               ? incident_of_part(incident_of_part(row->id, &last), &last)
               : row->id;
}

/* Resumes a run whose approval was answered, or whose command was killed. A run that a person left
 * on purpose is resumed only by a person. */
static void incident_app_resume(void *app, const struct agent_row *row)
{
    struct incidents *in = app;
    struct err e;

    if (queue_resume(in->queue, incident_alert_of(row)) || !str_eq(row->app, STR("incidents")))
        return;
    if (str_eq(row->reason, STR("left")))
        log_info("an investigation was left: continue it with rationale investigate --run",
                 LOG_STR("run", row->id));
    else if (!queue_adopt(in->queue, row, &e))
        log_warn("an investigation that was cut off cannot continue",
                 LOG_STR("run", row->id),
                 LOG_ERR(&e));
}

static bool incident_app_is_chat(const struct agent_row *row)
{
    return str_eq(row->app, STR("incidents.chat"));
}

static bool incident_app_cancel(void *app, const struct agent_row *row)
{
    (void)app;
    return incident_app_is_chat(row) && incident_chat_cancel(row->id);
}

static void app_ended(void *app, const struct agent_row *row)
{
    struct incidents *in = app;
    struct alert_table_row alert;
    struct arena a;
    struct err e;

    if (incident_app_is_chat(row))
        return;
    arena_init(&a, (size_t)64 << 20);
    if (!queue_cancel(in->queue, incident_alert_of(row), &a, &alert, &e))
        log_warn("an alert whose run was ended", LOG_STR("run", row->id), LOG_ERR(&e));
    arena_release(&a);
}

static void incident_app_look(void *app)
{
    queue_look(((struct incidents *)app)->queue);
}

static void incident_app_lost(void *app)
{
    queue_lost(((struct incidents *)app)->queue);
}

static void incident_app_close(void *app)
{
    incidents_close(app);
}

/* ---- routes ---- */

/* Each request uses the configuration in force when it arrives. */
#define VIEWED(name)                                                                               \
    static void viewed_##name(void *app, const struct app_request *q, struct app_reply *r)         \
    {                                                                                              \
        struct incidents view;                                                                     \
                                                                                                   \
        incidents_view(app, &view);                                                                \
        name(&view, q, r);                                                                         \
        incidents_view_done(&view);                                                                \
    }

VIEWED(intake_alert)
VIEWED(status_types)
VIEWED(status_processing)
VIEWED(status_list)
VIEWED(status_one)
VIEWED(status_cancel)
VIEWED(status_chat)
VIEWED(status_questions)

static const struct app_route routes[] = {
    {"POST", "/alerts", viewed_intake_alert, 0, NULL, NULL},
    {"GET", "/alert-types", viewed_status_types, 0, "", NULL},
    {"GET", "/processing-status/*", viewed_status_processing, 0, "", NULL},
    {"GET", "/api/v1/incidents", viewed_status_list, 0, "limit status alert_type before", NULL},
    {"GET", "/api/v1/incidents/*", viewed_status_one, 0, "", NULL},
    {"POST", "/api/v1/incidents/*/cancel", viewed_status_cancel, 0, "", NULL},
    {"POST", "/api/v1/incidents/*/chat", viewed_status_chat, APP_JSON, "", "question"},
    {"GET", "/api/v1/incidents/*/chat", viewed_status_questions, 0, "", NULL},
    {NULL, NULL, NULL, 0, NULL, NULL},
};

const struct app app_incidents = {.resume = incident_app_resume,
                                  .ended = app_ended,
                                  .cancel = incident_app_cancel,
                                  .name = "incidents",
                                  .open = incident_app_open,
                                  .look = incident_app_look,
                                  .lost = incident_app_lost,
                                  .reload = incident_app_reload,
                                  .close = incident_app_close,
                                  .routes = routes};
