/* incident_bench.h - alerts on a host of their own, with an engine that the test controls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/intake.h"
#include "store_help.h"

#include <pthread.h>

/* The engine: each run lasts until the test lets it end or cancels it. */
struct stub_engine {
    pthread_mutex_t lock; /* among the engine's threads; the test accesses the fields without it */
    _Atomic unsigned running, most, begun;
    _Atomic unsigned may; /* this many runs may end */
    _Atomic bool open;    /* all runs may end */
    _Atomic bool fails;
    _Atomic bool waits; /* runs end as waiting for an approval, even when cancelled */
    char last[RAND_ID_SIZE];
};
struct stub_engine *stub_engine(void);
#define stub (*stub_engine())

struct bench {
    struct place place;
    struct app_local local;
    struct incidents *in;
};

/* `incidents`: additional YAML lines of that section. */
void bench_new(struct bench *b, const char *incidents);
void bench_open(struct bench *b);
void bench_close(struct bench *b);
void bench_end(struct bench *b);

struct answer {
    struct arena arena;
    struct app_reply reply;
    struct json doc;
};

typedef void route(void *app, const struct app_request *q, struct app_reply *r);

struct answer *asks_as(struct bench *b, route *fn, const char *part, str body, const char *key,
                       bool operator_);
/* Sends an alert with the header of a sender's signature. */
struct answer *asks_signed(struct bench *b, const char *body, const char *signature);
struct answer *asks(struct bench *b, route *fn, const char *part, const char *body);
const struct json_node *at(const struct answer *a, const char *path);
bool says(const struct answer *a, const char *path, const char *want);
void done(struct answer *a);

/* Sends an alert with this number in it; writes its id to `id`. */
int sends(struct bench *b, int n, const char *want, char out[RAND_ID_SIZE]);
void waits_for(struct bench *b, const char *id, const char *state);
void waits_for_begun(unsigned n);
void waits_for_calm(struct bench *b); /* until no alert waits or runs */

/* Posts a webhook; the status and the incident of an alert in the answer. */
int posts(struct bench *b, const char *body, int alert, const char *status, char id[RAND_ID_SIZE]);
/* -1 if it is not a number. */
int64_t answer_number(const struct answer *a, const char *path);
/* Checks the state and the count of one alert of an incident. */
void alert_is(struct bench *b, const char *id, int alert, const char *state, int seen);

#define CHECK_ANSWER(a, code, path, want)                                                          \
    CHECK_F((a)->reply.status == (code) && says((a), path, want),                                  \
            "%d: " STR_FMT,                                                                        \
            (a)->reply.status,                                                                     \
            STR_ARG(buf_str(&(a)->reply.body)))
