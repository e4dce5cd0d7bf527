/* serve.h - the daemon: loops, listeners, signals, and everything a client can reach.
 *
 *     serve_run(&options, e)            until SIGTERM or SIGINT has drained it
 *
 * SIGTERM and SIGINT: /ready says no, nothing new is accepted, calls end until the deadline; a
 * second one ends it now. SIGHUP: the configuration is read again; a bad one changes nothing. Under
 * systemd it takes the sockets it is given (LISTEN_FDS) and tells when it is ready (NOTIFY_SOCKET).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct serve_options {
    const char *config;  /* the file */
    const char *listen;  /* ADDR:PORT, or NULL for the file's */
    unsigned port_tries; /* so many ports from that one on are tried while they are taken; 0: one */
    str questions;       /* for the first page: a JSON array, lent; empty: none */
    bool hangup_ends;    /* SIGHUP ends it too: for who has a terminal and no file to read again */
    /* Called once it accepts connections, with its URL; may be NULL. */
    void (*on_ready)(void *ctx, str url);
    void (*on_leave)(void *ctx); /* once, when it is told to end; may be NULL */
    void *ctx;
};

bool serve_run(const struct serve_options *o, struct err *e) MUST_USE;
