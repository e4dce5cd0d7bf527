/* relay.h - the hubs of several daemons: viewers of one see the calls of all.
 *
 * While another daemon has viewers, the hub passes the news of its own calls and applications to
 * `send`, as text for hub_relay_receive of that daemon. There each call is a mirror: a call of that
 * hub, which its viewers see like any other. The scope of a viewer holds for mirrors, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/map.h"
#include "live/hub.h"

#define HUB_PEERS_MAX 64

struct hub_relay {
    void (*send)(void *ctx, str message); /* called under the hub's lock: must not call the hub */
    void (*wake)(void *ctx);              /* hub_relay_state has changed; called the same way */
    void *ctx;
};

void hub_relay_set(struct hub *h, const struct hub_relay *r); /* called first */
/* The message that other daemons get regularly: whether this hub has viewers. */
str hub_relay_state(struct hub *h);
/* Handles a message of another daemon. One thread calls all functions below. */
void hub_relay_receive(struct hub *h, unsigned peer, str message);
/* Messages of a peer were lost: the hub asks all peers for their running calls. */
void hub_relay_gap(struct hub *h);
/* The peer is gone: its calls end. */
void hub_relay_gone(struct hub *h, unsigned peer);

/* ---- for the hub ---- */

struct hub_mirrors {
    struct map calls; /* of struct mirror, by the call's id */
    bool watching[HUB_PEERS_MAX];
    bool ask, replay; /* work to do: ask for running calls; send our own */
    uint64_t asked_ns, replayed_ns;
};

struct hub_told_alert {
    str id, key, status, members;
};
/* relay.c; the hub is not locked. Passes it on to the other daemons. */
bool hub_relay_watched(const struct hub *h);
void hub_relay_session(struct hub *h, const struct hub_session *s);
void hub_relay_event(struct hub *h, const char *type, str session, str key, str members);
void hub_relay_alert(struct hub *h, const struct hub_told_alert *a);
/* session.c, alert.c: publishes to the viewers of this hub only. */
void hub_session_here(struct hub *h, const struct hub_session *s);
void hub_event_here(struct hub *h, const char *type, str session, str key, str members);
void hub_alert_here(struct hub *h, const struct hub_told_alert *a);
