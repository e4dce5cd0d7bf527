/* watch_runs.h - the coding agents that are being watched: one run for each `rationale watch`.
 *
 *     POST /api/v1/watch {"upstreams": {"anthropic": "https://..."}}   a stream: its first line is
 *                                            {"run": ID, "login": CODE}; the run lasts as long
 *                                            as the connection. The code logs a browser in, once,
 *                                            with the key of the request; "" without a key
 *     GET /api/v1/watch/ID                   {"calls": 12, "tool_calls": 9}
 *     ANY /watch/ID/anthropic/v1/messages    passed on, unchanged: watch.h
 *
 * The id is 128 random bits, and any holder may send requests through the run: no page of a
 * browser and no other user of the machine knows it. The requests count for the key that opened
 * the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/watched.h"

#define WATCH_RUNS_MAX 256
#define WATCH_RUN_ID_SIZE 33
#define WATCH_PREFIX "/watch/"

struct exchange;
struct daemon;
struct worker;

struct watch_run {
    char id[WATCH_RUN_ID_SIZE];
    str key_name; /* "": no key */
    _Atomic uint64_t calls, tool_calls;
    /* References to this struct. */
    _Atomic unsigned refs;
    struct arena arena;
    struct watch_target {
        const struct watched_upstream *upstream;
        struct client_url url;
    } * targets; /* addresses that differ from the default */
    size_t target_count;
};

struct watch_runs;

/* `temporary`: the daemon ends when its last run has ended. */
struct watch_runs *watch_runs_new(bool temporary);
void watch_runs_free(struct watch_runs *all); /* after the loops; NULL is allowed */
/* Called once, on a loop of the daemon: ends a temporary daemon that has no users. */
void watch_runs_begin(struct worker *w);
/* The daemon drains: it accepts no more runs, and the end of the last one sends no signal. */
void watch_runs_stop(struct watch_runs *all);
/* The open runs of this loop end. */
void watch_runs_drain(struct worker *w);
/* The run with this id, with a reference; or NULL. */
struct watch_run *watch_run_find(struct watch_runs *all, str id);
void watch_run_release(struct watch_run *r);
/* Where the run sends requests for an upstream. */
bool watch_run_target(const struct watch_run *r, const struct watched_upstream *u,
                      struct client_url *out);

void watch_open_handle(struct exchange *ex);
void watch_count_handle(struct exchange *ex);
