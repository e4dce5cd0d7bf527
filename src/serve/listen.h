/* listen.h - listening sockets, our own or systemd's, and notifications to systemd.
 *
 *     struct listening l;
 *     if (!listen_inherit(&l, e)) ...                 none were given if l.count is 0
 *     if (!listen_open(&l, host, port, loops, e)) ...
 *     listen_on(&l, loop_index, server, e)            each loop takes its own
 *
 * Our own sockets share the port; each loop has one. Every loop serves all sockets from systemd.
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
    bool loopback;    /* only this machine can reach them */
    char address[96]; /* of the first */
};

bool listen_parse(str text, str *host, unsigned *port, struct err *e) MUST_USE;
bool listen_open(struct listening *l, str host, unsigned port, size_t count,
                 struct err *e) MUST_USE;
/* Takes the sockets that systemd passes. False if they are unusable. */
bool listen_inherit(struct listening *l, struct err *e) MUST_USE;
/* Makes the loop with this index listen. */
bool listen_on(const struct listening *l, size_t loop, struct server *s, struct err *e) MUST_USE;
void notify_systemd(const char *state);
