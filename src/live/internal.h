/* internal.h - shared by the files of the hub.
 *
 *   hub.c      the hub: channels, messages, the rings for resuming
 *   call.c     running calls
 *   text.c     their texts
 *   messages.c the JSON of each message, see messages.h
 *   alert.c    the state of alerts
 *   session.c  the state and events of applications' sessions
 *   relay.c    calls of other daemons
 *   port.c     loops: passes messages to their viewers
 *   sweep.c    the same for many viewers: a few at a time
 *   viewer.c   subscriptions: missed and lost messages
 *
 * Three locks, in this order: the hub's, for all shared data; a port's, for its quiet calls; a
 * call's, for its texts. A piece of text needs only the last one; a lent text needs none: a
 * viewer's thread copies it under that lock. Messages are written under the first lock: some
 * microseconds each, and only while somebody watches.
 *
 * Without viewers the hub sleeps: a call that begins is quiet, that is, only its port knows it. The
 * first viewer wakes the hub, and all quiet calls enter it: from then on they have a channel.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "live/port.h"
#include "live/relay.h"

enum hub_channel_kind {
    HUB_DASH,
    HUB_HEALTH,
    HUB_SESSION,
    HUB_ALERT,
    HUB_RELAY, /* for messages to other daemons; it has no viewers here */
    HUB_CHANNEL_KINDS
};
#define HUB_RAW_MAX ((size_t)32 << 10) /* of a text, not filtered yet */
enum { HUB_REPORTED = 3 };             /* kinds of channel that get texts: cursors of a text */

enum hub_audience { HUB_ANYONE, HUB_SEES_THOUGHTS, HUB_SEES_NONE };

struct hub_message {
    _Atomic unsigned refs;
    uint64_t seq;
    bool sent;    /* sent to all; otherwise for one viewer */
    bool passing; /* not needed by a viewer that later got all running calls */
    enum hub_channel_kind kind;
    enum hub_audience audience;
    str session, key; /* stored after it, like the bytes */
    str frame, json;  /* `frame` ends with `json` */
    size_t size;
};

struct hub_ring {
    struct hub_message *at[HUB_RING_MAX];
    size_t first, n, size;
    uint64_t lost; /* the newest dropped message */
};

/* A session exists while it has calls or viewers, or had some a moment ago; an alert also while its
 * last message is kept. */
struct hub_channel {
    enum hub_channel_kind kind;
    str name; /* of the session or alert; stored after the struct */
    _Atomic bool watched;
    uint64_t ports;          /* with subscribers, one bit each */
    uint64_t since, idle_ns; /* watched since that message; the time when the last viewer left */
    bool spoke;              /* a message was published since then */
    bool lingers, lingers_silent;
    struct hub_channel *linger_older, *linger_newer;
    struct hub_call *calls; /* running, newest first */
    /* Of an alert: its last message, and its neighbours in that order. */
    struct hub_message *last;
    struct hub_channel *older, *newer;
};

static inline bool hub_channel_tells(const struct hub_channel *to)
{
    return atomic_load_explicit(&to->watched, memory_order_acquire);
}

/* A text of a call; `raw` is not filtered yet. */
struct hub_reported {
    uint64_t at, units; /* bytes sent so far, and the same in UTF-16 units */
};

struct hub_filtered {
    struct buf text;
    uint64_t base, base_units; /* bytes dropped from the start of the text */
    struct hub_reported sent[HUB_REPORTED];
};

struct hub_words {
    struct buf raw;
    struct hub_filtered *filtered; /* NULL: nothing was filtered, because nobody watched */
    bool begun;                    /* has text since the text last ended */
    bool over;                     /* complete for now: the filter must pass all of it */
};

struct hub_call {
    pthread_mutex_t lock;                         /* of its texts; reused after the call ends */
    struct hub *hub;                              /* from here on reset for each call */
    struct hub_port *home;                        /* or NULL */
    struct hub_call *next, *prev;                 /* of all calls, or of the quiet ones */
    struct hub_call *session_next, *session_prev; /* of its session */
    _Atomic(struct hub_channel *) channel;        /* NULL: the hub does not know the call yet */
    _Atomic(const struct hub_lent *) lent;        /* lent texts, not copied yet; or NULL */
    /* Used by its own thread only. */
    struct {
        struct hub_call *next, **at; /* `at` is the pointer to this call; NULL: not in the list */
    } news[HUB_NEWS_COUNT];
    uint64_t reported_ns;
    bool quiet; /* under the port's lock */
    /* Under its lock. */
    bool opened;      /* its first message may be shown */
    uint32_t charged; /* bytes of its texts, as counted by the hub */
    char *own;
    struct hub_words *words[HUB_TEXT_COUNT]; /* NULL: no text of this kind */
    struct hub_begin *about;                 /* lent, or in `own`; NULL until it is described */
    struct {                                 /* those of hub_begin that `describe` does not set */
        struct hub_filter filter;
        int64_t started_us;
        bool thoughts, part, mirror;
    } b;
    struct hub_progress progress;
};

_Static_assert(offsetof(struct hub_call, b.mirror) - offsetof(struct hub_call, b) ==
                   offsetof(struct hub_begin, mirror),
               "copied as one piece");

struct hub {
    const struct clock *clock;
    pthread_mutex_t lock;
    struct hub_port *here; /* of the thread that holds the lock */
    struct hub_port *ports[HUB_PORTS_MAX];
    struct hub_channel dash, health, relay;
    struct hub_relay relay_ops;
    struct hub_mirrors mirrors;
    struct map sessions, alerts;                     /* of struct hub_channel */
    struct hub_channel *alert_oldest, *alert_newest; /* alerts whose last message is kept */
    size_t alert_count, alert_size;
    struct hub_channel *linger_oldest, *linger_newest; /* by idle_ns */
    size_t linger_silent; /* those of them without a call or a message */
    struct hub_call *calls;
    _Atomic size_t call_count; /* including quiet ones */
    size_t watched;     /* channels that calls publish on, until a while after the last viewer */
    _Atomic bool awake; /* some channel is watched */
    size_t viewers[HUB_WAYS];
    uint64_t seq, statuses[HUB_STATUSES_MAX][2]; /* statuses: for session.c */
    struct hub_ring *rings[HUB_CHANNEL_KINDS];
    struct buf scratch; /* a message being written */
    bool passing;       /* that message is transient */
    _Atomic uint64_t text_bytes, dropped[HUB_WAYS];
};

/* hub.c; the hub is locked, except for the first */
void hub_lock(struct hub *h, struct hub_port *here);
void hub_unlock(struct hub *h);
struct hub_channel *hub_channel_of(struct hub *h, enum hub_channel_kind kind, str session);
void hub_channel_watch(struct hub *h, struct hub_channel *c, struct hub_port *p);
void hub_channel_leave(struct hub *h, struct hub_channel *c, struct hub_port *p);
void hub_channel_drop(struct hub *h, struct hub_channel *c); /* frees it if nobody needs it */
void hub_linger_sweep(struct hub *h);
/* Creates a message from the scratch. The caller owns one reference. */
struct hub_message *hub_message_new(struct hub *h, const struct hub_channel *to, str key,
                                    enum hub_audience audience);
void hub_publish(struct hub *h, struct hub_channel *to, struct hub_message *m); /* takes m */
void hub_message_free(struct hub_message *m); /* one reference; any thread */

/* text.c; the call is locked; threads other than the call's own must not use its loop */
void hub_call_add(struct hub_call *c, enum hub_text kind, str text);
void hub_call_become(struct hub_call *c, const struct hub_progress *p);
void hub_call_take(struct hub_call *c);                  /* copies the lent texts */
void hub_call_close(struct hub_call *c, unsigned kinds); /* ends these texts for now */
/* Fills in c->about. The hub is locked, or no other thread knows the call yet. */
void hub_call_describe(struct hub_call *c);
/* For the first viewer. The call is locked, or no other thread knows it yet. */
void hub_call_open(struct hub_call *c);
/* text.c; the hub is locked, except for the first function, which filters waiting text
 * beforehand */
void hub_call_prepare(struct hub_call *c);
enum hub_flush {
    HUB_FLUSH,       /* up to the last whole character */
    HUB_FLUSH_LAST,  /* all: the call is over */
    HUB_FLUSH_QUIET, /* not published: late viewers get all texts up to now */
};
/* Publishes the new part of its texts on one kind of channel. */
void hub_call_flush(struct hub_call *c, enum hub_channel_kind kind, enum hub_flush how);
/* Passes the messages for a late viewer to fn, one by one, with texts of at most text_max. */
void hub_call_replay(struct hub_call *c, const struct hub_channel *to, size_t text_max,
                     void (*fn)(void *ctx, struct hub_message *m), void *ctx);
void hub_calls_enter(struct hub *h); /* call.c; the hub is locked: the quiet calls enter it */
/* call.c; the hub is not locked */
void hub_port_flush(void *port);
void hub_port_flush_late(void *port);
void hub_port_calls_free(struct hub_port *p); /* ended ones */

/* sweep.c */
void hub_sweep_add(struct hub_port *p, struct hub_place *place, struct hub_message *m);
void hub_sweep(void *port);
void hub_sweep_forget(struct hub_port *p, struct hub_place *place);
/* The oldest message that the viewer has not got yet; UINT64_MAX if none. */
uint64_t hub_sweep_oldest(const struct hub_sub *s);

/* call.c: frees a call without a message. */
void hub_call_drop(struct hub_call *c);

/* alert.c; the hub is locked */
void hub_alert_forget(struct hub *h, struct hub_channel *c);

/* viewer.c */
void hub_viewer_offer(struct hub_sub *s, const struct hub_message *m);
void hub_viewer_catch_up(struct hub_sub *s); /* if the viewer has room now */
struct hub_place *hub_place_find(struct hub_port *p, enum hub_channel_kind kind, str session);
