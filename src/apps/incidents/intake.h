/* intake.h - the application while it is open, and its routes.
 *
 *   app.c      the row: its routes, and the engine it is opened with
 *   open.c     opened, closed; who watches is told
 *   intake.c   POST /alerts
 *   status.c   what became of them, for whoever asks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/notify/notify.h"
#include "apps/incidents/queue.h"

struct incidents {
    const struct app_host *host;
    /* What is in force; under the lock, but for who has a view of its own. */
    struct setup *held;
    const struct config_incidents *config;
    struct incident_setup *setup;
    const char *const *types; /* known ones, NULL behind the last */
    pthread_mutex_t *lock;
    struct book *book;
    struct queue *queue;
    struct notify *notify;
    struct incident_metrics *metrics;
    struct queue_engine engine;
    bool (*chat)(const struct incident_options *o, str question, struct arena *a,
                 struct incident_answer *out, struct err *e);
};

/* What works on the alerts; `setup` is retained. */
struct incidents_engine {
    struct queue_engine engine;
    bool (*chat)(const struct incident_options *o, str question, struct arena *a,
                 struct incident_answer *out, struct err *e);
    struct incident_setup *setup;
    const char *const *types;
};
bool incidents_open(const struct app_host *h, const struct incidents_engine *engine,
                    struct incidents **out, struct err *e) MUST_USE;
void incidents_close(struct incidents *in);
/* Agents and configuration that are in force from now on; both are retained. */
void incidents_change(struct incidents *in, struct setup *held, struct incident_setup *setup);
/* The application as it is now, whatever changes before the view is given back. */
void incidents_view(struct incidents *in, struct incidents *view);
void incidents_view_done(struct incidents *view);

bool incidents_knows(const struct incidents *in, str alert_type);

/* intake.c */
void intake_alert(void *app, const struct app_request *q, struct app_reply *r);

/* status.c */
void status_types(void *app, const struct app_request *q, struct app_reply *r);
void status_processing(void *app, const struct app_request *q, struct app_reply *r);
void status_list(void *app, const struct app_request *q, struct app_reply *r);
void status_one(void *app, const struct app_request *q, struct app_reply *r);
void status_cancel(void *app, const struct app_request *q, struct app_reply *r);
void status_chat(void *app, const struct app_request *q, struct app_reply *r);
