/* peers.h - the other daemons of the store: the bus, and work that they hand over to this daemon.
 *
 *     d->peers = peers_new(d);       NULL: the store is not shared
 *     peers_start(d->peers);         once the applications are open
 *     peers_stop(d->peers);          no more work is taken
 *     peers_free(d->peers);          before the gateway
 *
 * A thread looks once a second, and when another daemon asks for it: at runs that were handed to
 * this daemon, at alerts that it may claim. All functions accept NULL.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

struct bus;
struct daemon;
struct peers;

#define PEERS_LOOK_MS 1000

struct peers *peers_new(struct daemon *d);
void peers_start(struct peers *p);
void peers_stop(struct peers *p);
void peers_free(struct peers *p);
struct bus *peers_bus(struct peers *p);
/* Hands the runs of this daemon over to another one, if there is one. */
void peers_release_runs(struct peers *p);
/* A login has ended before its time: all daemons refuse it from now on. Any thread. */
void peers_login_ended(struct peers *p, const char *digest, int64_t until_ms);
