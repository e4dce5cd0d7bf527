/* watch_socket.h - a WebSocket of a watched coding agent, such as the one Codex uses.
 *
 * Messages pass unchanged in both directions. A `response.create` of the client is a call: the
 * events that follow, up to its last one, are its reply and are recorded as if they had come as
 * server-sent events. The last event waits until the call is recorded.
 *
 * A side that reads slowly pauses the other one; messages and queues have limits. Close codes pass:
 * 1011 if the upstream's connection broke.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/watch.h"

struct conn;

/* The upstream has switched to a WebSocket. The exchange ends here; `r`, with its reference to the
 * run, and the connection are taken. `rest`: bytes that came after the head. */
void watch_socket_begin(struct exchange *ex, const struct watch_request *r,
                        const struct http1_head *h, struct conn *c, str rest);
