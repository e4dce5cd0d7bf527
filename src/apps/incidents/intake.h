/* intake.h - the application while it is open, and its routes.
 *
 *   app.c      the row: its routes, and the engine it is opened with
 *   open.c     opening, closing, events for watchers
 *   intake.c   POST /alerts
 *   status.c   states and results of alerts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/notify/notify.h"
#include "apps/incidents/queue.h"

struct incidents {
    const struct app_host *host;
    /* The configuration in force; guarded by the lock. A view needs no lock. */
    struct setup *held;
    const struct config_incidents *config;
    struct incident_setup *setup;
    const char *const *types; /* known ones, ends with NULL */
    pthread_mutex_t *lock;
    struct alert_table *alert_table;
    struct queue *queue;
    struct notify *notify;
    struct incident_metrics *metrics;
    struct queue_engine engine;
    bool (*chat)(const struct incident_options *o, str question, struct arena *a,
                 struct incident_answer *out, struct err *e);
};

/* The engine that investigates alerts; `setup` is retained. */
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
/* A snapshot of the application; changes before its release do not affect it. */
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
void status_questions(void *app, const struct app_request *q, struct app_reply *r);
