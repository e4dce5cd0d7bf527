/* tour.h - the automatic part of the demo: an incident, a policy, an order, each decision as it is
 * made.
 *
 *     struct tour t = {.cli = cli, .config = "demo.yaml", .script = text};
 *     tour_begin(&t, address);                  starts a thread
 * ok = tour_end(&t); waits for it; whether all three succeeded
 *
 * It uses the daemon's HTTP API.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/cli.h"

struct tour {
    struct cli *cli;
    const char *config;
    str script;              /* JSON: see example/demo/tour.json */
    void (*done)(void *ctx); /* called after the last one, on its thread; may be NULL */
    void *ctx;
    str at; /* the daemon's address */
    _Atomic bool stop;
    bool begun, ok;
    pthread_t thread;
    char address[96];
};

void tour_begin(struct tour *t, str address);
bool tour_end(struct tour *t);
