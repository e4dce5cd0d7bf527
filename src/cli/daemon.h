/* daemon.h - HTTP requests to the daemon that uses the store of a configuration.
 *
 * The daemon is found by the file that it writes beside the store (store_owner), never by the
 * configured `listen`, where a daemon of another store may listen. It must prove that it has this
 * store before the command sends any request.
 *
 *     if (daemon_open(&d, config, e) && daemon_ask(&d, "GET", "/api/v1/live", "", e)) ...
 *     while (daemon_line(&d, &line, e)) ...           lines of the body, until it ends
 *     daemon_close(&d);
 *
 * The key comes from the data folder if the configuration knows that key (data.h), else from the
 * environment: RATIONALE_KEY. The requests use HTTP/1.0, so that bodies are not chunked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/cli.h"
#include "store/query.h"

struct daemon_link {
    const struct config *config; /* lent */
    int fd;
    int status;
    int64_t stored, pending; /* records on disk, and records not in the tables yet */
    struct buf in;
    int64_t body_size; /* of the reply; -1: it lasts until the daemon closes the connection */
    bool ended;        /* the daemon has closed the connection */
};

/* ERR_NOT_FOUND if no daemon uses the store; ERR_UPSTREAM if it does not answer, uses TLS, or if
 * the daemon at its address has another store. Call daemon_close in any case. */
bool daemon_open(struct daemon_link *d, const struct config *c, struct err *e) MUST_USE;
/* Waits until the tables have every record that the store's daemon had on disk when this was
 * called. NONE at once if no daemon of the store answers; TIMEOUT after wait_ms. */
enum daemon_settled { DAEMON_SETTLED, DAEMON_TIMEOUT, DAEMON_NONE };
enum daemon_settled daemon_settle(const struct config *c, unsigned wait_ms);
/* Without a daemon: whether a killed one left records in its journal, and where that is. */
bool daemon_left_records(const struct config *c, struct reader *r, char journal[FILE_PATH_MAX]);
/* A text for a path or a query, in the arena: buf_add_percent. */
str daemon_encode(struct arena *a, str text);
/* Sends a request and reads the reply's head: d->status. */
bool daemon_ask(struct daemon_link *d, const char *method, str path, str body,
                struct err *e) MUST_USE;
/* The next line without its end, valid until the next call; false at the end, or on an error. */
bool daemon_line(struct daemon_link *d, str *line, struct err *e) MUST_USE;
/* All of the body; an error if the connection ends before it is complete. */
bool daemon_body(struct daemon_link *d, str *body, struct err *e) MUST_USE;
void daemon_close(struct daemon_link *d);
/* The text of an error reply: its message, else its beginning. */
str daemon_reply_message(struct arena *a, str reply);
/* Reports that the daemon refused a request, by the status and its reply; returns the exit code: 4,
 * or `otherwise`. */
int daemon_refused(const struct daemon_link *d, str reply, int otherwise);
/* Reports that the daemon could not be asked and the store could not be opened; returns the exit
 * code. */
int daemon_complain(const struct err *daemon, const struct err *store);
