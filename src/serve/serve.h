/* serve.h - the daemon: loops, listeners, signals and all routes.
 *
 *     serve_run(&options, e)            until SIGTERM or SIGINT has drained it
 *
 * SIGTERM and SIGINT: /ready reports not ready, no connection is accepted, and running calls may
 * end until the deadline; a second signal ends the daemon at once. SIGHUP: reloads the
 * configuration; an invalid one changes nothing. Under systemd the daemon uses the passed sockets
 * (LISTEN_FDS) and reports when it is ready (NOTIFY_SOCKET).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct serve_options {
    const char *config;  /* the configuration file */
    const char *listen;  /* ADDR:PORT, or NULL for the one in the configuration */
    unsigned port_tries; /* how many ports to try from that one on while they are in use; 0: one */
    str questions;       /* suggested questions for the first page: a JSON array; empty: none */
    str text;            /* a configuration, in place of the file `config`; or empty */
    bool temporary;      /* ends when the last watched agent has ended */
    bool hangup_ends;    /* SIGHUP also ends it: for a command in a terminal without a file to
                            reload */
    /* Called with its URL when it accepts connections; may be NULL. */
    void (*on_ready)(void *ctx, str url);
    void (*on_leave)(void *ctx); /* called once, when the daemon must end; may be NULL */
    void *ctx;
};

bool serve_run(const struct serve_options *o, struct err *e) MUST_USE;
