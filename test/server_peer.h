/* server_peer.h - a server on a thread of its own, and plain clients that talk to it.
 *
 * The clock stands still until a test moves it, so no timeout comes by itself. The handler does
 * what the path says; see server_peer.c.
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
    struct server_exchange *waiting; /* the last one that /wait or /silent got */
    struct loop_task task;
    atomic_size_t flood_left;
    struct server_ws *ws;
    atomic_int requests, gone, rooms, idle, ws_closed, posted;
};

void served_begin(struct served *s, const struct server_options *o);
void served_end(struct served *s);
/* Calls fn on the server's thread, and returns when it is done. */
void served_call(struct served *s, void (*fn)(void *ctx), void *ctx);
/* Moves the clock in steps, giving the server time to look. */
void served_pass(struct served *s, uint64_t ms);
/* Waits until a counter is as large; false after a few seconds. */
bool served_reached(const atomic_int *counter, int value);

int served_connect(const struct served *s);
void served_send(int fd, str bytes);
/* All until the other side closes; true if it closed in peace, false if it reset or is silent. */
bool served_read_all(int fd, struct buf *out);
/* Until the text holds this, or for a few seconds. */
bool served_read_until(int fd, struct buf *out, const char *what);
/* A connection, these bytes, all that comes back until it closes. */
str served_ask(const struct served *s, str bytes, struct buf *out);

/* Of a reply: its status, what is behind its head. */
int served_status(str reply);
str served_body(str reply);
bool served_has(const struct buf *text, const char *what);
size_t served_count(const struct buf *text, const char *what);
void served_leave(int fd, bool reset);
size_t served_connections(struct served *s);
