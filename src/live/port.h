/* port.h - a loop's side of the hub: its viewers and their subscriptions. Included by internal.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/map.h"
#include "live/hub.h"

struct hub_sub {
    struct hub_viewer *viewer;
    struct hub_place *place;
    struct hub_sub *next, *prev; /* of the place */
    uint64_t from;               /* messages after this one */
    uint64_t caught;             /* the same for transient ones */
    uint64_t done;               /* the last message that the viewer got or may not see */
    uint64_t missed;
    uint64_t missed_seen; /* messages that all viewers of the place missed */
    uint64_t replay_ns;
};

struct hub_batch {
    struct hub_message **at;
    size_t n, cap, size;
};

/* A channel in a port. If it has many subscribers, messages wait for the next sweep. */
struct hub_place {
    struct hub_channel *channel;
    struct hub_sub *subs;
    size_t sub_count;
    struct hub_batch waiting, batch; /* messages for the next sweep; messages of the current one */
    uint64_t missed;                 /* messages that were dropped for lack of room */
    uint64_t batch_missed;           /* the same when the sweep began */
    bool queued, sweeping;
    struct hub_place *queue_next;
    struct hub_sub *sweep_at;
    uint64_t spent_ns, rest_until_ns;
};

struct hub_viewer {
    struct hub_port *port;
    struct hub_viewer *next, *prev;
    struct hub_scope scope;
    const struct hub_viewer_ops *ops;
    void *ctx;
    struct hub_sub *subs[HUB_SUBS_MAX];
    size_t sub_count;
};

/* Lists of calls with news: for their session's channel at the end of the round, for the other
 * channels later. */
enum hub_news { HUB_NEWS_SESSION, HUB_NEWS_LATE, HUB_NEWS_COUNT };

struct hub_port {
    struct hub *hub;
    struct loop *loop;
    unsigned index;
    /* Used by its own thread only. */
    struct hub_viewer *viewers;
    struct hub_place dash, health;
    struct map sessions, alerts;           /* of struct hub_place */
    struct hub_call *news[HUB_NEWS_COUNT]; /* calls with something to publish */
    struct hub_call *idle;                 /* ended calls, for reuse */
    size_t idle_count;
    struct loop_task flush, turn;
    struct loop_timer late_timer, tick, sweep;
    struct hub_viewer *tick_next;
    struct hub_place *queue; /* with something to sweep */
    _Atomic uint64_t lag_bytes[HUB_WAYS];
    pthread_mutex_t quiet_lock;
    struct hub_call *quiet; /* newest first */
    /* Under the hub's lock. */
    struct loop_task task;
    bool posted;
    struct hub_message **inbox;
    size_t inbox_n, inbox_cap, inbox_size;
    bool overrun;
};
