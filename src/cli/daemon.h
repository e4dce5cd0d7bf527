/* daemon.h - the daemon that runs here, asked by plain HTTP: where the store's owner says it
 * listens, else at the address of the configuration.
 *
 *     if (daemon_open(&d, config, e) && daemon_ask(&d, "GET", "/api/v1/live", "", e)) ...
 *     while (daemon_read(&d, &line, e)) ...           lines of the body, until it ends
 *     daemon_close(&d);
 *
 * The key is that of the environment: RATIONALE_KEY. HTTP/1.0, so that the body is as it comes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "gateway/config.h"

struct daemon_link {
    const struct config *config; /* lent */
    int fd;
    int status;
    struct buf in;
    bool ended;
};

/* ERR_UPSTREAM if nobody answers there, or it speaks TLS. */
bool daemon_open(struct daemon_link *d, const struct config *c, struct err *e) MUST_USE;
/* Sends a request and reads the reply's head: d->status. */
bool daemon_ask(struct daemon_link *d, const char *method, str path, str body,
                struct err *e) MUST_USE;
/* The next line without its end, lent until the next call; false at the end, or with an error. */
bool daemon_line(struct daemon_link *d, str *line, struct err *e) MUST_USE;
/* All of the body. */
bool daemon_body(struct daemon_link *d, str *body, struct err *e) MUST_USE;
void daemon_close(struct daemon_link *d);
