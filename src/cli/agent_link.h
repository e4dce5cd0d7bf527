/* agent_link.h - executes a command's runs of agents: in the daemon that uses the store, or in the
 * command itself without a daemon.
 *
 * if (!agent_link_open(&l, "rationale.yaml", &code)) return code; an error was printed
 *     if (agent_link_run(&l, &request, &show, e)) ...                     until it ends or waits
 * if (agent_link_answer(&l, &show, true, e)) ... a decision; continues
 *     agent_link_close(&l);
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/agents/agents.h"
#include "cli/agent_show.h"

#include <signal.h>

struct agent_link {
    struct config *config;
    bool daemon; /* the daemon executes the runs */
    struct app_local local;
    bool local_open;
    struct agents_app *app;
    sigset_t signals; /* the previous signal mask, if it was changed */
    bool blocked;     /* it was: SIGINT and SIGTERM set local.leave */
    pthread_t watcher;
    bool watching;
    _Atomic bool ended;
};

bool agent_link_open(struct agent_link *l, const char *config, int *code) MUST_USE;
void agent_link_close(struct agent_link *l);
bool agent_link_run(struct agent_link *l, const struct agents_request *q, struct agent_show *s,
                    struct err *e) MUST_USE;
/* Resumes a run that was interrupted or waits. */
bool agent_link_resume(struct agent_link *l, str run, struct agent_show *s, struct err *e) MUST_USE;
bool agent_link_answer(struct agent_link *l, struct agent_show *s, bool allow,
                       struct err *e) MUST_USE;
