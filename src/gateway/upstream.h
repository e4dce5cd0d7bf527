/* upstream.h - one exchange with a provider: over the network, from a cassette, or fed.
 *
 * The caller sees the same in each case: a head, bytes, an end or an error. No callback happens
 * before upstream_start returns, or after upstream_cancel. Between two exchanges, and before the
 * first with a `handler` of NULL, all functions except upstream_start do nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/cassette.h"
#include "gateway/cassette_writer.h"
#include "gateway/config.h"

struct upstream_head {
    int status;
    str type; /* Content-Type, without its parameters */
    int64_t retry_after_ms;
    str coding; /* Content-Encoding of the bytes that follow; the gateway asks for none */
    const struct http1_head *fields; /* the whole head, lent for the call; NULL from a cassette */
};

struct upstream_handler {
    void (*on_head)(void *ctx, const struct upstream_head *head);
    void (*on_bytes)(void *ctx, str bytes);
    void (*on_end)(void *ctx);
    void (*on_error)(void *ctx, const struct err *e);
    void (*on_rest)(void *ctx); /* after on_bytes: no more for now */
};

struct upstream;
struct upstream_tape;   /* a reply being recorded */
struct upstream_play;   /* a reply being played from a cassette */
struct upstream_unpack; /* a reply being unpacked */

/* An exchange whose bytes another part of the process moves. That part reports them with
 * upstream_feed_*. */
struct upstream_feed {
    void (*on_start)(void *ctx, struct upstream *u); /* the request may be sent now */
    void (*on_detach)(void *ctx); /* the exchange takes no more bytes; `u` may be gone soon */
    void *ctx;
};

struct upstream {
    const struct upstream_handler *handler; /* NULL: no exchange is running */
    void *ctx;
    struct loop *loop;
    const struct clock *clock;

    struct client_call *call;         /* over the network */
    struct upstream_tape *tape;       /* or NULL */
    const struct upstream_feed *feed; /* fed; lent until the end; or NULL */

    struct upstream_play *play;     /* from a cassette; or NULL */
    struct upstream_unpack *unpack; /* the reply is packed; or NULL */
    bool keep_packed, paused;
};

struct upstream_request {
    const struct config_provider *provider;
    const struct cassette *cassette;  /* for a replay provider */
    const struct upstream_feed *feed; /* for a fed exchange; or NULL */
    size_t nth;                       /* index among recordings of the same request */
    str target, headers;
    str path; /* the target without the client's query, as recorded */
    str body; /* lent until the end, or upstream_has_sent; the other texts only during the start */
    bool keep_packed; /* do not unpack a reply in gzip or deflate */
    size_t front;     /* free bytes before the body, for the head: client.h */
    str known;        /* headers that are sent before the others: client.h */
    struct cassette_writer *cassette_writer; /* writes the recording, if the provider is recorded */
    const struct clock *clock;               /* lent likewise */
};

void upstream_start(struct upstream *u, struct loop *l, struct client *c,
                    const struct upstream_request *r, const struct upstream_handler *h, void *ctx);
bool upstream_is_live(const struct upstream *u); /* a callback may follow */
/* For the handler's on_head: whether the request's texts are no longer needed. */
bool upstream_has_sent(const struct upstream *u);
void upstream_cancel(struct upstream *u);
/* Like upstream_cancel, for a reply that has all that is needed: the bytes so far are recorded. */
void upstream_let_go(struct upstream *u);
void upstream_pause(struct upstream *u);
void upstream_resume(struct upstream *u);
/* A fed exchange: passes on the provider's bytes. After the end, or an error, `u` may be freed. */
void upstream_feed_head(struct upstream *u, const struct upstream_head *head);
void upstream_feed_bytes(struct upstream *u, str bytes);
void upstream_feed_end(struct upstream *u);
void upstream_feed_error(struct upstream *u, const struct err *e);
/* The values of a reply's head; texts are lent. */
struct upstream_head upstream_read_head(const struct http1_head *h, const struct clock *clock);
