/* queue_state.h - shared by the files of the queue.
 *
 *   queue.c          the lists of incidents; cancelling
 *   queue_attach.c   accepts alerts: attaches them to incidents, or starts one
 *   queue_work.c     claims an incident, investigates it, stores the result
 *   queue_share.c    incidents of several daemons
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/queue.h"
#include "base/map.h"

#define QUEUE_WORKERS_MAX 256
#define QUEUE_ASKING_MAX 10000                  /* that wait for a person at once */
#define QUEUE_ALIVE "queued processing waiting" /* the states of alerts that have not ended */

/* An alert that is alive. Its row is without data and report. */
struct entry {
    struct entry *next, *prev;  /* the list that it is in */
    struct alert_table_row row; /* its texts in the arena, but those below */
    struct arena arena;
    str name;    /* key and digest: the identity of the alert */
    str runbook; /* as sent: the row has it without credentials. "" after a restart */
    struct buf step, agent;
    bool running, asking; /* else it waits */
    bool again;           /* the decision came while the alert was still being set aside */
    bool timed_out;
    bool unstored; /* its last change: the table failed */
    uint64_t deadline_ns;
    _Atomic bool cancel;
};

struct list {
    struct entry *first, *last;
    size_t n;
};

struct queue {
    struct queue_options o;
    struct app_host host; /* as given, but with a `leave` of our own */
    struct queue_rules rules;
    _Atomic bool leave;
    pthread_mutex_t lock;
    pthread_cond_t work, keep, calm;
    struct map ids, names; /* of struct entry */
    struct list waiting, running, asking;
    pthread_t workers[QUEUE_WORKERS_MAX], keeper;
    size_t worker_count, idle;
    bool stop;
    bool blind; /* the last look at the table failed */
    struct rand_ids new_ids;
};

/* queue.c; the queue is locked */
struct entry *queue_enter(struct queue *q, const struct alert_table_row *row);
void queue_drop(struct queue *q, struct entry *n);
void list_add(struct list *l, struct entry *n);
void list_take(struct list *l, struct entry *n);
/* The metrics get the lengths of the lists, after a change of one. */
void queue_counted(struct queue *q);
/* Moves it to another list: waiting alerts, or alerts that ask a person. */
void queue_put_back(struct queue *q, struct entry *n, bool asks);
/* Closes the runs of an alert that will not be resumed. */
void queue_end_runs(struct queue *q, const struct entry *n);
/* Stores and publishes a change. If the table fails, that is logged and the work continues. False:
 * another daemon has the alert. */
bool queue_changed(struct queue *q, struct entry *n, bool durable, str report);
int64_t queue_now_us(const struct queue *q);
/* The agent or chain that takes it now; or "". */
str queue_agent(struct queue *q, str alert_type);

/* Identifies an alert in our own form: a key of the map `names`. */
str queue_name(struct arena *a, str key, str digest);
void queue_cancel_entry(struct queue *q, struct entry *n);
/* Ends an incident that was not started if none of its alerts is firing any more, and frees the
 * entry; else false. `row` is the row of the table. */
bool queue_end_resolved(struct queue *q, struct entry *n, const struct alert_table_row *row);

/* queue_share.c: an alert that is not in this queue; false: it has ended. The queue is not
 * locked. */
bool queue_cancel_elsewhere(struct queue *q, str id);

/* queue_attach.c: the data of an incident with n > 0 alerts. */
str queue_alert_data(const struct alert_table_alert *alerts, size_t n, struct arena *a);

/* queue_work.c */
void queue_start(struct queue *q); /* the keeper */
void queue_hire(struct queue *q);  /* locked: wakes a worker for the next alert */
void *queue_worker(void *queue);
/* Adds the alert to the record of sessions. */
void queue_publish_session(struct queue *q, const struct alert_table_row *row, str data);
