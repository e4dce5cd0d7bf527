/* reach.h - finds out whether a host accepts connections: its name, the connection and the TLS
 * handshake. Nothing is sent, and the connection is closed at once.
 *
 *     struct reach *r = reach_start(client, &url, 5000, on_done, ctx);
 *     reach_cancel(r);                          instead of on_done
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/client.h"

struct reach;

/* Calls back once, never before it returns, with the problem or NULL. The url's texts must stay
 * valid until then. The reach is freed when the callback returns. */
struct reach *reach_start(struct client *c, const struct client_url *url, uint64_t timeout_ms,
                          void (*on_done)(void *ctx, const struct err *e), void *ctx) MUST_USE;
void reach_cancel(struct reach *r);
