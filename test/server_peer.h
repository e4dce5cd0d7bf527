/* server_peer.h - a server on its own thread, and plain clients.
 *
 * The clock stands still until a test advances it, so no timeout expires by itself. The path of a
 * request selects what the handler does; see server_peer.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "net/server.h"

#include <pthread.h>
#include <stdatomic.h>

struct served {
    struct clock clock;
    struct loop *loop;
    struct server *server;
    pthread_t thread;
    unsigned port;
    struct server_exchange *waiting; /* the last exchange of /wait or /silent */
    struct loop_task task;
    atomic_size_t flood_left;
    struct server_ws *ws;
    atomic_int requests, gone, rooms, idle, ws_closed, posted;
};

void served_begin(struct served *s, const struct server_options *o);
void served_end(struct served *s);
/* Calls fn on the server's thread and waits until it returns. */
void served_call(struct served *s, void (*fn)(void *ctx), void *ctx);
/* Advances the clock in steps, so that the server sees each timeout. */
void served_pass(struct served *s, uint64_t ms);
/* Waits until a counter has reached a value; false after a few seconds. */
bool served_reached(const atomic_int *counter, int value);

int served_connect(const struct served *s);
void served_send(int fd, str bytes);
/* Reads until the peer closes; false after a RST or a time-out. */
bool served_read_all(int fd, struct buf *out);
/* Reads until the text contains `what`; false after a few seconds. */
bool served_read_until(int fd, struct buf *out, const char *what);
/* Connects, sends these bytes, and reads until the server closes. */
str served_ask(const struct served *s, str bytes, struct buf *out);

/* The status and the body of a reply. */
int served_status(str reply);
str served_body(str reply);
bool served_has(const struct buf *text, const char *what);
size_t served_count(const struct buf *text, const char *what);
void served_leave(int fd, bool reset);
size_t served_connections(struct served *s);
