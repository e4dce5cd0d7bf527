/* daemon.h - the daemon that has the store of a configuration, asked by plain HTTP.
 *
 * It is found by the file that it writes beside the store (store_owner), never by the configured
 * `listen`, where a daemon of another store may be. It must prove that it has this store before
 * anything is asked of it.
 *
 *     if (daemon_open(&d, config, e) && daemon_ask(&d, "GET", "/api/v1/live", "", e)) ...
 *     while (daemon_line(&d, &line, e)) ...           lines of the body, until it ends
 *     daemon_close(&d);
 *
 * The key is that of the environment: RATIONALE_KEY. HTTP/1.0, so that the body is as it comes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "cli/cli.h"
#include "gateway/config.h"

struct daemon_link {
    const struct config *config; /* lent */
    int fd;
    int status;
    int64_t stored, pending; /* records it has put on disk, and those not in the tables yet */
    struct buf in;
    bool ended;
};

/* ERR_NOT_FOUND if no daemon has the store; ERR_UPSTREAM if it does not answer, speaks TLS, or if
 * what answers at its address has another store. daemon_close in any case. */
bool daemon_open(struct daemon_link *d, const struct config *c, struct err *e) MUST_USE;
/* Waits until the tables have every record that the store's daemon had on disk when this was
 * called. True at once if no daemon has the store; false if it took longer than wait_ms. */
bool daemon_settle(const struct config *c, unsigned wait_ms);
/* Sends a request and reads the reply's head: d->status. */
bool daemon_ask(struct daemon_link *d, const char *method, str path, str body,
                struct err *e) MUST_USE;
/* The next line without its end, lent until the next call; false at the end, or with an error. */
bool daemon_line(struct daemon_link *d, str *line, struct err *e) MUST_USE;
/* All of the body. */
bool daemon_body(struct daemon_link *d, str *body, struct err *e) MUST_USE;
void daemon_close(struct daemon_link *d);
/* Says that a command could neither ask the daemon nor open the store itself; the exit code. */
int daemon_complain(const struct err *daemon, const struct err *store);
