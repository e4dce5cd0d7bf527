/* queue.h - the queue of alerts: a limited number runs at once, the rest waits.
 *
 *     struct queue *q;
 *     if (!queue_open(&options, &q, e)) ...          resumes alerts of an earlier process
 *     queue_add(q, &intake, e)                       on disk when it returns; ERR_LIMIT: it is full
 *     queue_cancel(q, id, &row, e)                   at any state
 *     queue_close(q);                                running alerts resume at the next start
 *
 *     queued --claimed--> processing --> completed | error | cancelled
 *        |                 |  ^                           ^
 *        |                 v  | queue_resume              |
 *        |               waiting  (for an approval) ------|
 *        `------------------------------------------------`
 *
 * Promises:
 *   - Room and entry are one step under one lock, and so are the free place and the claim: neither
 *     limit is ever exceeded, however many ask.
 *   - The queue accepts all alerts of a list or none.
 *   - A firing has one incident, also after a restart: repeats attach to it (queue_attach.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/alert.h"
#include "apps/incidents/alert_table.h"
#include "apps/incidents/incident.h"

/* The engine: incident.h, or a substitute. */
struct queue_engine {
    bool (*run)(const struct incident_options *o, struct arena *a, struct incident_report *out,
                struct err *e);
    bool (*assigned)(const struct incident_setup *s, str alert_type, str *agent,
                     const char *const **servers);
    bool (*stages)(const struct incident_setup *s, struct agent_log *log, str run, str alert_type,
                   struct buf *out, struct err *e);
    /* incident_drop; may be NULL. */
    bool (*drop)(struct agent_log *log, str run, int64_t now_us, struct err *e);
};

/* Settings that may change while alerts run; a running alert keeps those it started with. */
struct queue_rules {
    struct incident_setup *setup; /* retained, for those that run; or NULL */
    unsigned running_max, waiting_max;
    uint64_t timeout_ms; /* of one alert, from its claim on */
};

struct queue_options {
    const struct app_host *host;
    struct queue_rules rules;
    const struct queue_engine *engine;
    struct alert_table *alert_table;  /* lent */
    struct incident_metrics *metrics; /* lent; or NULL */
    /* At each change, in order; under the queue's lock, so it may not ask the queue. May be NULL.
     */
    void (*on_change)(void *ctx, const struct alert_table_row *row);
    void *ctx;
};

struct incident_metrics;
struct queue;

bool queue_open(const struct queue_options *o, struct queue **out, struct err *e) MUST_USE;
void queue_close(struct queue *q); /* NULL: nothing */
void queue_change(struct queue *q, const struct queue_rules *rules);

enum queue_result {
    QUEUE_QUEUED,   /* a new incident, or one of the alerts of a new one */
    QUEUE_ATTACHED, /* its incident is known */
    QUEUE_RESOLVED, /* the alert has ended */
};

struct queue_item {
    const struct alert *alert;
    str type; /* the alert type for the setup; "": no agent takes it */
    enum queue_result result;
    char id[RAND_ID_SIZE]; /* out: of the incident; "": resolved, and it was never known */
};

/* The alerts of one request. */
struct queue_intake {
    str key;
    enum alert_source source;
    str group; /* one incident for all of them; "": one each */
    struct queue_item *items;
    size_t n;
    size_t incidents;  /* out: new ones */
    bool unknown_type; /* out: the error is that no agent takes an alert of this type */
};

/* On an error nothing was taken. ERR_LIMIT: not all of them fit. */
bool queue_add(struct queue *q, struct queue_intake *in, struct err *e) MUST_USE;

/* *row is the state afterwards: cancelled, or processing with `cancelled` set, which ends soon.
 * ERR_INPUT: it had ended before. ERR_NOT_FOUND. */
bool queue_cancel(struct queue *q, str id, struct arena *a, struct alert_table_row *row,
                  struct err *e) MUST_USE;

/* Resumes a run that another process left; adds an alert for the run if it has none. */
bool queue_adopt(struct queue *q, const struct agent_row *run, struct err *e) MUST_USE;

/* Masks data before it is stored or shown; copied into the arena only if it changed. */
str queue_masked(struct queue *q, struct arena *a, str data);

/* Resumes an alert whose approval was answered. False if the alert is not in the queue. */
bool queue_resume(struct queue *q, str id);

/* Several daemons share the table (queue_share.c). queue_look adds the alerts that now belong to
 * this daemon, and claims some of other daemons if there is room. queue_lost drops all alerts:
 * another daemon has them. */
void queue_look(struct queue *q);
void queue_lost(struct queue *q);

struct queue_counts {
    size_t waiting, running, asking; /* asking: waiting for an approval, without taking a worker */
    int64_t oldest_us;               /* since when the first one waits; 0: none waits */
};
void queue_counts(struct queue *q, struct queue_counts *out);
