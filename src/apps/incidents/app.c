/* app.c - the row of incidents: its routes, and the engine it is opened with.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/intake.h"

static bool app_open(const struct app_host *h, void **out, struct err *e)
{
    struct setup *held = gateway_setup(h->gateway);
    const struct config_incidents *c = &held->config->incidents;
    struct incidents_engine engine = {.engine = {incident_run, incident_assigned, incident_stages},
                                      .chat = incident_chat};
    struct incident_setup *setup = NULL;
    struct incidents *in = NULL;
    bool ok = true;

    *out = NULL;
    if (c->agents.n)
        ok = incident_setup_load(c->agents.p, c->runbooks.p, &setup, e);
    if (ok && setup) {
        engine.setup = setup;
        engine.types = incident_alert_types(setup);
        ok = incidents_open(h, &engine, &in, e);
    }
    if (!ok)
        incident_setup_free(setup);
    setup_release(held);
    *out = in;
    return ok;
}

static void app_close(void *app)
{
    struct incidents *in = app;
    struct incident_setup *setup = in->setup;

    incidents_close(in);
    incident_setup_free(setup);
}

static const struct app_route routes[] = {
    {"POST", "/alerts", intake_alert},
    {"GET", "/alert-types", status_types},
    {"GET", "/processing-status/*", status_processing},
    {"GET", "/api/v1/incidents", status_list},
    {"GET", "/api/v1/incidents/*", status_one},
    {"POST", "/api/v1/incidents/*/cancel", status_cancel},
    {"POST", "/api/v1/incidents/*/chat", status_chat},
    {NULL, NULL, NULL},
};

const struct app app_incidents = {
    .name = "incidents", .open = app_open, .close = app_close, .routes = routes};
