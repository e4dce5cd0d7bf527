/* internal.h - what the files of the hub share.
 *
 *   hub.c      the hub: channels, messages, the rings to resume from
 *   call.c     running calls
 *   text.c     their texts
 *   words.c    the JSON of each message, see words.h
 *   alert.c    how alerts stand
 *   port.c     loops: what came in is handed to their viewers
 *   sweep.c    the same where they are many: a few at a time
 *   viewer.c   subscriptions: what was missed, what was lost
 *
 * Three locks, in this order: the hub's, of all that is shared; a port's, of its quiet calls; a
 * call's, of its texts. A piece of text takes the last alone; one that is lent takes none: whoever
 * looks, under that lock, takes it from where it lies. Messages are made under the first:
 * that is some microseconds for each, and only while somebody watches.
 *
 * While nobody does, the hub sleeps: a call that begins is quiet, which is to say that only its
 * port knows it. Who comes to look wakes the hub, and all quiet calls enter it: from then on they
 * have a channel.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "base/map.h"
#include "live/hub.h"

#include <pthread.h>
#include <stdatomic.h>

enum hub_channel_kind { HUB_DASH, HUB_HEALTH, HUB_SESSION, HUB_ALERT, HUB_CHANNEL_KINDS };
#define HUB_RAW_MAX ((size_t)32 << 10) /* of a text, not through the filter yet */
enum { HUB_TOLD = 2 }; /* kinds of channel that texts are told on: cursors of a text */

enum hub_audience { HUB_ANYONE, HUB_SEES_THOUGHTS, HUB_SEES_NONE };

struct hub_message {
    _Atomic unsigned refs;
    uint64_t seq;
    bool told;    /* to all; else made for one viewer */
    bool passing; /* of no use to who has since been told all that runs */
    enum hub_channel_kind kind;
    enum hub_audience audience;
    str session, key; /* behind it, as are the bytes */
    str frame, json;  /* the latter is the end of the former */
    size_t size;
};

struct hub_ring {
    struct hub_message *at[HUB_RING_MAX];
    size_t first, n, size;
    uint64_t lost; /* the newest that is not there any more */
};

/* A session is there while it has calls, viewers, or had some a moment ago; an alert also while
 * what was last told of it is kept. */
struct hub_channel {
    enum hub_channel_kind kind;
    str name; /* of the session or alert; behind it */
    _Atomic bool watched;
    uint64_t ports;          /* that have subscribers: a bit each */
    uint64_t since, idle_ns; /* watched since that message; when the last viewer left */
    bool lingers;
    struct hub_channel *linger_next;
    struct hub_call *calls; /* running, newest first */
    /* Of an alert: what was told last, and its neighbours in the order of that. */
    struct hub_message *last;
    struct hub_channel *older, *newer;
};

/* A text of a call: `raw` is what the filter has not seen. */
struct hub_told {
    uint64_t at, units; /* bytes told so far, and the same in UTF-16 */
};

struct hub_words {
    struct buf raw, text;
    uint64_t base, base_units; /* of the text, dropped at its front */
    bool begun;                /* some of it came since it was over */
    bool over;                 /* for now: the filter is to give all of it */
    struct hub_told told[HUB_TOLD];
};

struct hub_call {
    pthread_mutex_t lock;                         /* of its texts; lives on when the call is over */
    struct hub *hub;                              /* from here on it is new with each call */
    struct hub_port *home;                        /* or NULL */
    struct hub_call *next, *prev;                 /* of all, or of the quiet ones */
    struct hub_call *session_next, *session_prev; /* of its session */
    _Atomic(struct hub_channel *) channel;        /* NULL: it has not entered */
    _Atomic(const struct hub_lent *) lent;        /* what was not taken yet; or NULL */
    /* Its own thread's. */
    struct hub_call *dirty_next, *late_next;
    uint64_t told_ns;
    bool dirty, late;
    bool described; /* under the hub's lock, or known to nobody else yet */
    bool quiet;     /* under the port's lock of these */
    /* Under its lock. */
    bool opened; /* what it began with can be shown */
    bool spoken; /* its words are made */
    char *own;
    size_t charged;
    struct hub_begin b; /* lent, or in `own` */
    struct hub_progress progress;
    struct hub_words words[HUB_TEXT_COUNT]; /* not before it has spoken, or somebody looks */
};

struct hub {
    const struct clock *clock;
    pthread_mutex_t lock;
    struct hub_port *here; /* of the thread that holds the lock */
    struct hub_port *ports[HUB_PORTS_MAX];
    struct hub_channel dash, health;
    struct map sessions, alerts;                     /* of struct hub_channel */
    struct hub_channel *alert_oldest, *alert_newest; /* whose last message is kept */
    size_t alert_count, alert_size;
    struct hub_channel *lingering;
    struct hub_call *calls;
    _Atomic size_t call_count; /* the quiet ones too */
    size_t watched;            /* channels that calls tell on: somebody looks, or just did */
    _Atomic bool awake;        /* there are such */
    size_t viewers[HUB_WAYS];
    uint64_t seq;
    struct hub_ring *rings[HUB_CHANNEL_KINDS];
    struct buf scratch; /* a message being made */
    bool passing;       /* it is such a one */
    _Atomic uint64_t text_bytes, dropped[HUB_WAYS];
};

struct hub_sub {
    struct hub_viewer *viewer;
    struct hub_place *place;
    struct hub_sub *next, *prev; /* of the place */
    uint64_t from;               /* messages behind this one */
    uint64_t caught;             /* the same of passing ones */
    uint64_t done;               /* the last that was taken to it, or kept from it */
    uint64_t missed;
    uint64_t missed_seen; /* of those that all of the place missed */
    uint64_t replay_ns;
};

struct hub_batch {
    struct hub_message **at;
    size_t n, cap, size;
};

/* A channel as a port has it. Where it has many subscribers, messages wait for the next sweep. */
struct hub_place {
    struct hub_channel *channel;
    struct hub_sub *subs;
    size_t sub_count;
    struct hub_batch waiting, batch; /* for the next sweep; of the one under way */
    uint64_t missed;                 /* that did not even find room to wait */
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

struct hub_port {
    struct hub *hub;
    struct loop *loop;
    unsigned index;
    /* Its own thread's. */
    struct hub_viewer *viewers;
    struct hub_place dash, health;
    struct map sessions, alerts;   /* of struct hub_place */
    struct hub_call *dirty, *late; /* with something to tell on session channels, on the other */
    struct hub_call *idle;         /* over, for those to come */
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

/* hub.c; the hub is locked but for the first */
void hub_lock(struct hub *h, struct hub_port *here);
void hub_unlock(struct hub *h);
struct hub_channel *hub_channel_of(struct hub *h, enum hub_channel_kind kind, str session);
void hub_channel_watch(struct hub *h, struct hub_channel *c, struct hub_port *p);
void hub_channel_leave(struct hub *h, struct hub_channel *c, struct hub_port *p);
void hub_channel_drop(struct hub *h, struct hub_channel *c); /* if nobody needs it */
void hub_linger_sweep(struct hub *h);
/* From what is in the scratch. One reference is the caller's. */
struct hub_message *hub_message_new(struct hub *h, const struct hub_channel *to, str key,
                                    enum hub_audience audience);
void hub_publish(struct hub *h, struct hub_channel *to, struct hub_message *m); /* takes it */
void hub_message_free(struct hub_message *m); /* one reference; any thread */

/* text.c; the call is locked; by another thread than its own, nothing of its loop is used */
void hub_call_add(struct hub_call *c, enum hub_text kind, str text);
void hub_call_become(struct hub_call *c, const struct hub_progress *p);
void hub_call_take(struct hub_call *c);                  /* what was lent becomes its own */
void hub_call_close(struct hub_call *c, unsigned kinds); /* these texts are over, for now */
/* Somebody looks. The call is locked, or known to nobody else yet. */
void hub_call_open(struct hub_call *c);
/* text.c; the hub is locked but for the first: what waits goes through the filter before */
void hub_call_prepare(struct hub_call *c);
enum hub_flush {
    HUB_FLUSH,       /* up to the last whole character */
    HUB_FLUSH_LAST,  /* all: the call is over */
    HUB_FLUSH_QUIET, /* nobody is told: those who come are sent all so far */
};
/* Tells what is new of its texts on one kind of channel. */
void hub_call_flush(struct hub_call *c, enum hub_channel_kind kind, enum hub_flush how);
/* What a late viewer is to be sent of it, the texts no longer than so: to fn, one by one. */
void hub_call_replay(struct hub_call *c, const struct hub_channel *to, size_t text_max,
                     void (*fn)(void *ctx, struct hub_message *m), void *ctx);
void hub_calls_enter(struct hub *h); /* call.c; the hub is locked: the quiet calls enter it */
/* call.c; the hub is not locked */
void hub_port_flush(void *port);
void hub_port_flush_late(void *port);
void hub_port_calls_free(struct hub_port *p); /* those that are over */

/* sweep.c */
void hub_sweep_add(struct hub_port *p, struct hub_place *place, struct hub_message *m);
void hub_sweep(void *port);
void hub_sweep_forget(struct hub_port *p, struct hub_place *place);
/* The oldest that has not been taken to it yet; UINT64_MAX if there is none. */
uint64_t hub_sweep_oldest(const struct hub_sub *s);

/* alert.c; the hub is locked */
void hub_alert_forget(struct hub *h, struct hub_channel *c);

/* viewer.c */
void hub_viewer_offer(struct hub_sub *s, const struct hub_message *m);
void hub_viewer_catch_up(struct hub_sub *s); /* if it has room now */
struct hub_place *hub_place_find(struct hub_port *p, enum hub_channel_kind kind, str session);
