/* hub.h - publishes running calls to viewers.
 *
 * The code that runs a call reports its progress:
 *
 *     c = hub_call_begin(hub, port, &begin);
 *     hub_call_text(c, HUB_REASONING, piece); ...
 *     hub_call_state(c, &progress); ...
 *     hub_call_end(c, &end);                             frees c
 *
 * or all at once, for texts that stay valid until the end:
 *
 *     if (!hub_call_watched(c)) hub_call_lend(c, &lent);
 *
 * A viewer is on a loop and subscribes to channels by name:
 *
 *     v = hub_viewer_new(port, &scope, &ops, ctx);
 *     hub_subscribe(v, STR("session_42"), 0, e);
 *     ... ops.send(ctx, message) ...
 *     hub_viewer_free(v);
 *
 * A message is written once, as the JSON of docs/reference/live.md, and shared by all viewers. The
 * channels are "dashboard_updates", "system_health", "session_ID" and "alert_ID".
 *
 * Promises:
 *   - A viewer never slows a call. Without viewers, a call is an entry in its loop's list, and a
 *     piece of text an append under the call's own lock, or not even that if it is lent. With
 *     viewers, a call is published once in a round of the loop, and on dashboard_updates at most
 *     HUB_RATE times a second. Many viewers are served a few at a time, so that a loop spends at
 *     most about a twentieth of its time on them.
 *   - A viewer that does not keep up loses messages and gets their number: a gap. After it the
 *     viewer gets the same as a late subscriber: all running calls with their texts so far.
 *   - A text is sent in order; `at` is the position of a piece, so a viewer can check it.
 *   - Calls, texts, viewers, subscriptions and the messages kept for resuming have limits.
 *   - A viewer that may not see a call or its reasoning gets no message about it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/loop.h"

#define HUB_CALLS_MAX 20000              /* running calls that are published */
#define HUB_TEXT_MAX ((size_t)256 << 10) /* of a text of a call; beyond it, the newer half stays */
#define HUB_TEXTS_MAX ((size_t)64 << 20) /* of all calls; beyond it, HUB_TEXT_MIN for each call */
#define HUB_TEXT_MIN ((size_t)8 << 10)
#define HUB_VIEWERS_MAX 2000
#define HUB_SUBS_MAX 32 /* of one viewer */
#define HUB_PORTS_MAX 64
#define HUB_RATE 20
#define HUB_LINGER_MS 60000 /* how long a channel stays active for returning viewers */
#define HUB_RING_MAX 4096   /* messages kept for resuming, for each kind of channel */
#define HUB_RING_SIZE_MAX ((size_t)8 << 20)

struct hub;
struct hub_port; /* one for each loop */
struct hub_call;
struct hub_viewer;
struct hub_message;

struct hub *hub_new(const struct clock *clock); /* lent */
/* Call it when no call runs and no port is left. */
void hub_free(struct hub *h);

/* Create it before the loop runs; free it after the loop and its viewers. NULL is allowed. */
struct hub_port *hub_port_new(struct hub *h, struct loop *l);
void hub_port_free(struct hub_port *p);

/* ---- calls: any thread, but one call by one thread at a time ---- */

enum hub_text { HUB_REASONING, HUB_ANSWER, HUB_TOOL, HUB_TEXT_COUNT };
enum hub_state { HUB_WAITING, HUB_THINKING, HUB_ANSWERING, HUB_CALLING, HUB_DONE };

struct hub_begin;

/* Filters texts before the first viewer sees them: appends the publishable part to out. `last`:
 * that text is complete for now. `describe` fills in the start of the call, which is needed only
 * once somebody watches. `open` sets the members that may be shown (subject, model, asked), valid
 * until the close. Any thread calls them, one at a time; each may be NULL. */
struct hub_filter {
    void (*describe)(void *ctx, struct hub_begin *b);
    void (*feed)(void *ctx, enum hub_text kind, str raw, bool last, struct buf *out);
    void (*open)(void *ctx, struct hub_begin *b);
    void (*close)(void *ctx);
    void *ctx;
};

/* All texts must stay valid until the end, or until hub_call_own. */
struct hub_begin {
    struct hub_filter filter; /* the hub owns it */
    int64_t started_us;
    bool thoughts; /* its reasoning may be shown; otherwise that text is not kept */
    bool part;     /* of an application's session: the call does not change the session's status */
    bool mirror;   /* it runs in another daemon: not relayed */
    /* `describe` may set the members from here on. */
    bool stream;
    int64_t cap; /* tokens; -1: none */
    str id, session, key, subject, dialect;
    str model, provider, level, asked;
};

struct hub_progress {
    enum hub_state state;
    int64_t thinking_ms, reasoning_tokens; /* -1: not known */
    bool cut;
};

/* The texts of a call so far, each with its state, in order. */
#define HUB_LENT_MAX 4

struct hub_lent {
    size_t n;
    struct {
        enum hub_state state;
        enum hub_text kind;
        str text;
    } pieces[HUB_LENT_MAX];
    struct hub_progress progress; /* after all of them */
};

struct hub_end {
    bool success, has_tools, has_reasoning, cut;
    bool decision_thought; /* the decision quotes the reasoning */
    bool error_thought;    /* the error message quotes it */
    int status;            /* HTTP */
    str provider, model;   /* that answered */
    str step, stop, error_message, decision, reasoning_state;
    str stage, agent; /* of an application's call; or "" */
    int64_t duration_ms, thinking_ms, ended_us;
    int64_t input_tokens, output_tokens, reasoning_tokens; /* -1: not known */
    double cost_usd;                                       /* < 0: not known */
};

/* NULL if too many calls run; the other functions accept NULL. `home` is the port of its loop, or
 * NULL: then its own function calls publish, at most HUB_RATE times a second. */
struct hub_call *hub_call_begin(struct hub *h, struct hub_port *home, const struct hub_begin *b);
void hub_call_text(struct hub_call *c, enum hub_text kind, str text);
void hub_call_state(struct hub_call *c, const struct hub_progress *p);
/* The same as a state and a text for each piece, and then the progress; but without viewers nothing
 * is copied or locked. Must stay valid until the end, or until hub_call_keep. */
void hub_call_lend(struct hub_call *c, const struct hub_lent *l);
void hub_call_keep(struct hub_call *c);
/* Copies the texts of hub_begin, which need not stay valid any longer. */
void hub_call_own(struct hub_call *c);
/* Whether somebody watches, or did until a moment ago. */
bool hub_call_watched(const struct hub_call *c);
void hub_call_end(struct hub_call *c, const struct hub_end *e);
/* The same for a call that was never published and needs no message. False: it was published. */
bool hub_call_leave(struct hub_call *c) MUST_USE;

struct hub_running {
    str id, session, key, subject, dialect, model, provider, level, asked;
    int64_t cap, started_us, reasoning_tokens;
    enum hub_state state;
    bool stream;
};

/* Calls fn for running calls, newest first, of a session or ("") all, until fn returns false. The
 * texts are valid only in fn, which must not call the hub. Returns the number of calls of fn. Any
 * thread. */
size_t hub_running(struct hub *h, str session, bool (*fn)(void *ctx, const struct hub_running *r),
                   void *ctx);

/* ---- viewers: on their port's loop ---- */

struct hub_scope {
    bool all;  /* otherwise calls of this key only */
    str key;   /* copied */
    bool hide; /* no reasoning */
};

enum hub_way { HUB_BY_SOCKET, HUB_BY_STREAM, HUB_WAYS };

struct hub_viewer_ops {
    enum hub_way way;                                     /* for statistics */
    void (*send)(void *ctx, const struct hub_message *m); /* valid during the call; must not call
                                                             the hub */
    bool (*full)(void *ctx);                              /* true: do not send now */
    size_t (*queued)(void *ctx);                          /* bytes not sent yet */
    void (*flush)(void *ctx); /* sends buffered messages now; may be NULL, like the next one */
    /* Twice a second: whether the viewer stays. If not, it has freed the viewer. */
    bool (*tick)(void *ctx);
};

/* NULL if there are too many viewers. */
struct hub_viewer *hub_viewer_new(struct hub_port *p, const struct hub_scope *scope,
                                  const struct hub_viewer_ops *ops, void *ctx);
void hub_viewer_free(struct hub_viewer *v);
/* Sends missed messages before it returns. With `after`, the number of the last message the viewer
 * got: all messages since then, or a gap if they are no longer kept. Otherwise: the running calls.
 * ERR_NOT_FOUND: no such channel. ERR_LIMIT: too many. Subscribing twice does nothing. */
bool hub_channel_known(str channel); /* whether a channel can have this name */
bool hub_subscribe(struct hub_viewer *v, str channel, uint64_t after, struct err *e) MUST_USE;
/* Whether another subscription is allowed, or the viewer already has this one. */
bool hub_may_subscribe(struct hub_viewer *v, str channel, struct err *e) MUST_USE;
bool hub_unsubscribe(struct hub_viewer *v, str channel); /* whether the viewer was subscribed */
/* All viewers of a port; fn may free the one it is called for. */
void hub_viewers_each(struct hub_port *p, void (*fn)(void *viewer_ctx));

/* In send: the increasing number to resume from after this message; 0 if the message is not for
 * resuming. It accounts for messages of the viewer's other channels that are still to be sent. */
uint64_t hub_viewer_mark(const struct hub_viewer *v, const struct hub_message *m);
/* Its JSON; the same as a WebSocket frame. */
str hub_message_json(const struct hub_message *m);
str hub_message_frame(const struct hub_message *m);

/* ---- health ---- */

bool hub_health_watched(struct hub *h);
/* `members` are the members of the message as JSON without braces: "status":..., "services":... */
void hub_health(struct hub *h, str members);

/* ---- alerts: any thread ---- */

#define HUB_ALERTS_MAX 4096 /* whose last status is kept for late viewers */
#define HUB_ALERTS_SIZE_MAX ((size_t)32 << 20)

/* Publishes the state of an alert: `status` is a JSON object for alert_ID; `members` is a short
 * form without braces for dashboard_updates. The key is the owner's. */
void hub_alert(struct hub *h, str id, str key, str status, str members);
/* Whether the alert has a status, and the scope may see it. */
bool hub_alert_known(struct hub *h, str id, const struct hub_scope *scope);

/* ---- sessions of applications: any thread ---- */

#define HUB_STATUSES_MAX 1024 /* sessions whose last status is remembered */

struct hub_session {
    str id, key;
    str status, agent_type, alert_type, error_message; /* "": not known */
    int64_t started_us, completed_us;                  /* -1: not known */
};

/* Whether somebody watches, or did until a moment ago; otherwise nothing needs to be published. */
bool hub_awake(struct hub *h);
/* Publishes a session_status_change, if the status is not the one published last. */
void hub_session(struct hub *h, const struct hub_session *s);
/* An event of a session; `members` follow the type in its data, as JSON without braces. */
void hub_event(struct hub *h, const char *type, str session, str key, str members);

struct hub_counts {
    uint64_t viewers[HUB_WAYS], lag_bytes[HUB_WAYS], dropped[HUB_WAYS]; /* by enum hub_way */
    uint64_t running, text_bytes;
};
void hub_counts(struct hub *h, struct hub_counts *out);
