/* client_side.h - a client and the servers it calls, for tests.
 *
 *     struct world w;
 *     world_init(&w, &clock_real, script, 0);      runs `script` as the server, in a thread
 *     call_start(&a, &w, "GET", "");
 *     call_run_until(&a, "hbe");
 *     world_release(&w);
 *
 * The log of a call has one letter per event: h head, b bytes (one for consecutive events), e end,
 * x error. Each stops the loop.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "net/client.h"
#include "net/resolve.h"

#include <pthread.h>
#include <stdatomic.h>

struct world {
    struct loop *loop;
    struct resolver *resolver;
    struct tls *tls; /* of the client; NULL unless the test sets it */
    struct client *client;
    struct client_url url;
    char url_text[64];
    int listener;
    unsigned port;
    void (*script)(struct world *w);
    bool running;
    pthread_t thread;
    atomic_int accepted;
    atomic_size_t server_got; /* bytes of request bodies */
    int step;                 /* chosen by the test, for its script */
};

struct call {
    struct world *world;
    struct client_call *call;
    struct buf log, body;
    int status;
    struct err err;
    bool sent, keep;
    char cancel_at, pause_at;
    struct call *then; /* the call to start when this one ends */
    uint64_t got;
    struct client_request request;
};

/* Without a script no server runs: the URL has a port that refuses connections. */
void world_init(struct world *w, const struct clock *clock, void (*script)(struct world *w),
                int step);
void world_release(struct world *w);
/* Runs one round of the loop without blocking. */
void world_turn(struct world *w);

/* For scripts; both functions block. */
int world_accept(struct world *w);
/* Reads a request's head; false if the client closed. */
bool world_request(int fd);
void world_reply(int fd, const char *reply);

void call_init(struct call *c, struct world *w);
void call_start(struct call *c, struct world *w, const char *method, str body);
void call_begin(struct call *c);
/* A GET to the world's port under another name. */
void call_url(struct call *c, struct world *w, const char *scheme, const char *host);
void call_run_until(struct call *c, const char *log);
void call_release(struct call *c);
