/* hub.h - what runs right now, told to whoever watches.
 *
 * Whoever runs a call says how it goes:
 *
 *     c = hub_call_begin(hub, port, &begin);
 *     hub_call_text(c, HUB_REASONING, piece); ...
 *     hub_call_state(c, &progress); ...
 *     hub_call_end(c, &end);                             c is gone
 *
 * or, of what lies there until the end, all at once:
 *
 *     if (!hub_call_watched(c)) hub_call_lend(c, &lent);
 *
 * Whoever watches is a viewer on a loop, and subscribes to channels by name:
 *
 *     v = hub_viewer_new(port, &scope, &ops, ctx);
 *     hub_subscribe(v, STR("session_42"), 0, e);
 *     ... ops.send(ctx, message) ...
 *     hub_viewer_free(v);
 *
 * A message is made once, as JSON in the words of docs/live.md, and lent to all who get it. The
 * channels are "dashboard_updates", "system_health", "session_ID" and "alert_ID".
 *
 * Promises:
 *   - A viewer never slows a call. Nobody watching, a call is a place in its loop's list and a
 *     piece of text an append under the call's own lock, or not even that if it is lent; watched,
 *     it is told once a round of the loop, and on dashboard_updates at most HUB_RATE times a second
 *     a call. Where many watch, they are served a few at a time, and so seldom that a loop spends
 *     no more than about a twentieth of its time on them.
 *   - A viewer that does not keep up loses messages and is told how many: a gap. Behind it comes
 *     what one who subscribes late gets: all running calls with their texts so far.
 *   - A text is told in order; `at` says where a piece begins, so nobody has to trust it.
 *   - Calls, texts, viewers, subscriptions and the messages kept to resume from are bounded.
 *   - Who may not see a call or its reasoning gets no message of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "net/loop.h"

#define HUB_CALLS_MAX 20000              /* running, that are told of */
#define HUB_TEXT_MAX ((size_t)256 << 10) /* of one kind of a call; then the newer half of it */
#define HUB_TEXTS_MAX ((size_t)64 << 20) /* of all calls; then HUB_TEXT_MIN a call */
#define HUB_TEXT_MIN ((size_t)8 << 10)
#define HUB_VIEWERS_MAX 2000
#define HUB_SUBS_MAX 32 /* of one viewer */
#define HUB_PORTS_MAX 64
#define HUB_RATE 20
#define HUB_LINGER_MS 60000 /* how long a channel is told on for who may come back */
#define HUB_RING_MAX 4096   /* messages to resume from, of each kind of channel */
#define HUB_RING_SIZE_MAX ((size_t)8 << 20)

struct hub;
struct hub_port; /* one a loop */
struct hub_call;
struct hub_viewer;
struct hub_message;

struct hub *hub_new(const struct clock *clock); /* lent */
/* No call runs, no port is left. */
void hub_free(struct hub *h);

/* Before the loop runs; and when it has been freed, as have the viewers. NULL is fine. */
struct hub_port *hub_port_new(struct hub *h, struct loop *l);
void hub_port_free(struct hub_port *p);

/* ---- calls: any thread, but one call by one thread at a time ---- */

enum hub_text { HUB_REASONING, HUB_ANSWER, HUB_TOOL, HUB_TEXT_COUNT };
enum hub_state { HUB_WAITING, HUB_THINKING, HUB_ANSWERING, HUB_CALLING, HUB_DONE };

struct hub_begin;

/* What texts go through before anybody sees them, when somebody is about to: appends to out what
 * can be told. `last`: that text is over, for now. `describe` says what the call began with, which
 * need not be said before somebody asks; `open` puts what may be shown into it: subject, model,
 * asked; lent until the close. All are called by any thread, one at a time; each may be NULL. */
struct hub_filter {
    void (*describe)(void *ctx, struct hub_begin *b);
    void (*feed)(void *ctx, enum hub_text kind, str raw, bool last, struct buf *out);
    void (*open)(void *ctx, struct hub_begin *b);
    void (*close)(void *ctx);
    void *ctx;
};

/* All texts are lent until the end, or until hub_call_own. */
struct hub_begin {
    struct hub_filter filter; /* taken over */
    int64_t started_us;
    bool thoughts; /* its reasoning may be shown; else that text is not kept */
    /* From here on it may be left to `describe`. */
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

/* What a call has come to, each text with the state it was said in, in order. */
#define HUB_LENT_MAX 4

struct hub_lent {
    size_t n;
    struct {
        enum hub_state state;
        enum hub_text kind;
        str text;
    } pieces[HUB_LENT_MAX];
    struct hub_progress progress; /* behind them all */
};

struct hub_end {
    bool success, has_tools, has_reasoning, cut;
    bool decision_thought; /* the decision says something of the reasoning */
    int status;            /* HTTP */
    str provider, model;   /* that answered */
    str step, stop, error_message, decision, reasoning_state;
    int64_t duration_ms, thinking_ms, ended_us;
    int64_t input_tokens, output_tokens, reasoning_tokens; /* -1: not known */
    double cost_usd;                                       /* < 0: not known */
};

/* NULL if too many run; the others take that. `home` is the port of the loop that it runs on, or
 * NULL: then what it says is told by its own calls, at most HUB_RATE times a second. */
struct hub_call *hub_call_begin(struct hub *h, struct hub_port *home, const struct hub_begin *b);
void hub_call_text(struct hub_call *c, enum hub_text kind, str text);
void hub_call_state(struct hub_call *c, const struct hub_progress *p);
/* The same as a state and a text for each of the pieces, and then the progress; but if nobody
 * looks, nothing is copied or locked. Lent until the end, or until hub_call_keep. */
void hub_call_lend(struct hub_call *c, const struct hub_lent *l);
void hub_call_keep(struct hub_call *c);
/* What it began with is lent no longer. */
void hub_call_own(struct hub_call *c);
/* Somebody looks, or did a moment ago. */
bool hub_call_watched(const struct hub_call *c);
void hub_call_end(struct hub_call *c, const struct hub_end *e);
/* The same for one that nobody has heard of, which needs no words; false: it is not such a one. */
bool hub_call_leave(struct hub_call *c) MUST_USE;

struct hub_running {
    str id, session, key, subject, dialect, model, provider, level, asked;
    int64_t cap, started_us, reasoning_tokens;
    enum hub_state state;
    bool stream;
};

/* Running calls, newest first, of a session or ("") all, until fn says false; lent for fn, which
 * may not ask the hub for anything. Returns how many it was called for. Any thread. */
size_t hub_running(struct hub *h, str session, bool (*fn)(void *ctx, const struct hub_running *r),
                   void *ctx);

/* ---- viewers: on their port's loop ---- */

struct hub_scope {
    bool all;  /* else calls of this key only */
    str key;   /* copied */
    bool hide; /* no reasoning */
};

enum hub_way { HUB_BY_SOCKET, HUB_BY_STREAM, HUB_WAYS };

struct hub_viewer_ops {
    enum hub_way way;                                     /* for counting */
    void (*send)(void *ctx, const struct hub_message *m); /* lent; may not call the hub */
    bool (*full)(void *ctx);                              /* better not now */
    size_t (*queued)(void *ctx);                          /* bytes that wait for it */
    void (*flush)(void *ctx); /* what was sent goes out now; may be NULL, as the others below */
    /* Twice a second: whether it is to stay. If not, it has freed its viewer. */
    bool (*tick)(void *ctx);
};

/* NULL if there are too many. */
struct hub_viewer *hub_viewer_new(struct hub_port *p, const struct hub_scope *scope,
                                  const struct hub_viewer_ops *ops, void *ctx);
void hub_viewer_free(struct hub_viewer *v);
/* What it missed is sent before this returns: with `after`, the number of the last message it got,
 * all since then if that is still known, else a gap; else the running calls. ERR_NOT_FOUND: no such
 * channel. ERR_LIMIT: too many. Subscribing twice does nothing. */
bool hub_channel_known(str channel); /* whether it is the name of one */
bool hub_subscribe(struct hub_viewer *v, str channel, uint64_t after, struct err *e) MUST_USE;
/* Whether there is room for one more, or it is subscribed already. */
bool hub_may_subscribe(struct hub_viewer *v, str channel, struct err *e) MUST_USE;
bool hub_unsubscribe(struct hub_viewer *v, str channel); /* whether it was subscribed */
/* All viewers of a port; fn may free the one it is called for. */
void hub_viewers_each(struct hub_port *p, void (*fn)(void *viewer_ctx));

/* In send: the number to resume from for who got this message last, rising; 0 if it is none to
 * resume from. Channels are told at their own pace: what others of it have still to tell is not
 * lost by it. */
uint64_t hub_viewer_mark(const struct hub_viewer *v, const struct hub_message *m);
/* Its JSON; the same as a frame of a WebSocket. */
str hub_message_json(const struct hub_message *m);
str hub_message_frame(const struct hub_message *m);

/* ---- health ---- */

bool hub_health_watched(struct hub *h);
/* `members` are those of the message, as JSON without its braces: "status":..., "services":... */
void hub_health(struct hub *h, str members);

/* ---- alerts: any thread ---- */

#define HUB_ALERTS_MAX 4096 /* of which the last word is kept, for who comes later */
#define HUB_ALERTS_SIZE_MAX ((size_t)32 << 20)

/* How an alert stands: `status` is a JSON object, for who watches alert_ID; `members` is the same
 * in brief and without its braces, for dashboard_updates. The key is whose it is. */
void hub_alert(struct hub *h, str id, str key, str status, str members);
/* Whether something is known of it that the scope may see. */
bool hub_alert_known(struct hub *h, str id, const struct hub_scope *scope);

struct hub_counts {
    uint64_t viewers[HUB_WAYS], lag_bytes[HUB_WAYS], dropped[HUB_WAYS]; /* by enum hub_way */
    uint64_t running, text_bytes;
};
void hub_counts(struct hub *h, struct hub_counts *out);
