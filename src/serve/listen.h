/* listen.h - listening sockets, our own or systemd's, and telling systemd how it goes.
 *
 *     struct listening l;
 *     if (!listen_inherit(&l, e)) ...                 none were given if l.count is 0
 *     if (!listen_open(&l, host, port, loops, e)) ...
 *     listen_on(&l, loop_index, server, e)            each loop takes its own
 *
 * Sockets of our own are one a loop and share the port. Those that were given are served by every
 * loop, however many there are of each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define LISTEN_MAX 64

struct server;

struct listening {
    size_t count;
    int fds[LISTEN_MAX];
    bool given;       /* by systemd */
    bool loopback;    /* nobody but this machine reaches any of them */
    char address[96]; /* of the first */
};

bool listen_parse(str text, str *host, unsigned *port, struct err *e) MUST_USE;
bool listen_open(struct listening *l, str host, unsigned port, size_t count,
                 struct err *e) MUST_USE;
/* Sockets that systemd hands over. False if what it hands over is of no use. */
bool listen_inherit(struct listening *l, struct err *e) MUST_USE;
/* Has the loop of that number listen. */
bool listen_on(const struct listening *l, size_t loop, struct server *s, struct err *e) MUST_USE;
void notify_systemd(const char *state);
