/* agents.h - the agents of the configuration as an application: routes for the daemon, and the same
 * for commands.
 *
 *     struct agents_app *app;
 *     if (!agents_app_open(&host, &app, e)) ...
 *     agents_start(app->runner, &request, &arena, &run, e)       agents/runner.h
 *     agents_write_run(host.log, run, &who, &out, e)             its result as JSON
 *     agents_app_close(app);
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run_json.h"
#include "agents/runner.h"
#include "apps/app.h"

struct registry;

struct agents_app {
    struct app_host host;
    struct registry *registry; /* of prompts; NULL: nothing is on record */
    struct agents_runner *runner;
};

bool agents_app_open(const struct app_host *h, struct agents_app **out, struct err *e) MUST_USE;
void agents_app_close(struct agents_app *app); /* NULL: nothing */

/* ---- view.c ---- */

/* The row of a run. ERR_NOT_FOUND: there is no such run, or it is not this key's. */
bool agents_find_run(struct agent_log *log, str run, const struct run_asker *who, struct arena *a,
                     struct agent_row *out, struct err *e) MUST_USE;
/* {"run_id", "agent", "status", "reason", "detail", "text", "output", "usage", "pending", ...}: the
 * result of a run. ERR_NOT_FOUND, likewise. */
bool agents_write_run(struct agent_log *log, str run, const struct run_asker *who, struct buf *out,
                      struct err *e) MUST_USE;
/* {"runs": [...]}, each as agents_write_run has it but in brief, the newest first. Of all runs of
 * agents on record the newest AGENT_LIST_MAX are looked at. */
struct agents_run_query {
    str name;
    bool workflow;
    size_t count_max, offset; /* among those that are found */
};
bool agents_write_runs(struct agent_log *log, const struct agents_run_query *q,
                       const struct run_asker *who, struct buf *out, struct err *e) MUST_USE;
void agents_write_definition(const struct config *c, const struct config_agent *d,
                             struct json_out *o);
void agents_write_workflow(const struct config *c, const struct config_workflow *w,
                           struct json_out *o);

/* ---- routes.c ---- */

/* Whether there is a record; if not, it answers with an error. */
bool agents_app_ready(void *app, struct app_reply *r);
extern const struct app_route agents_app_routes[];
