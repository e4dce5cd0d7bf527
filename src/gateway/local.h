/* local.h - a gateway without a server: for commands that make calls themselves.
 *
 *     struct local *l;
 *     if (!local_open(config, &l, e)) ...
 *     ask_begin(local_loop(l), &request) ...
 *     local_close(l);                                   after the last ask_wait
 *
 * It has one loop on its own thread. It opens the store for writing, so no daemon may have it open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/gateway.h"

struct local;

/* Takes over the configuration, also if it fails. */
bool local_open(struct config *c, struct local **out, struct err *e) MUST_USE;
struct gateway_loop *local_loop(struct local *l);
void local_close(struct local *l); /* stores everything that is queued first */
