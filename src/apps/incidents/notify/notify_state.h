/* notify_state.h - shared by the files of notifications.
 *
 *   notify.c    adding and removing targets, adding messages, reading them
 *   deliver.c   the thread of a target: sends due messages, retries or drops them
 *
 * Locks: the alert table's, then ours; ours is never held while waiting for a target.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/notify/notify.h"
#include "apps/incidents/notify/outbox.h"
#include "base/sha256.h"

#define NOTIFY_PENDING_MAX ((size_t)1 << 20) /* of JSON about the waiting calls */

struct notify_target {
    struct notify *notify;
    const struct config_notify *config; /* of the setup */
    pthread_t thread;
    pthread_cond_t wake;
    bool woken, sending;
    bool rests; /* paused after a failure: a new message does not wake it */
    struct rand chance;
};

/* Kept by name, for as long as the process lives. */
struct notify_counts {
    char name[65];
    uint64_t sent, failed, retried;
};

struct notify {
    const struct app_host *host;
    struct alert_table *alert_table;
    struct mcp_io *io;
    struct tls *tls; /* or NULL */
    struct rand_ids ids;
    pthread_mutex_t lock;
    pthread_cond_t calm; /* a target has stopped sending */
    struct setup *setup;
    struct notify_target targets[CONFIG_NOTIFY_MAX];
    size_t count;
    struct notify_counts counts[2 * CONFIG_NOTIFY_MAX];
    size_t counts_n;
    int64_t waiting; /* pending messages in the store, as last counted: for metrics */
    bool stop;
    _Atomic bool cancel;
};

/* notify.c */
int64_t notify_now_us(const struct notify *n);
/* Locked. With more names than there is room for, the rest share the last. */
struct notify_counts *notify_counts_of(struct notify *n, str name);
/* Distinguishes two questions of one incident: a digest of the waiting calls. */
void notify_occasion(const struct notify *n, str run, char hex[SHA256_HEX_SIZE]);

/* deliver.c */
struct notify_query {
    str of;     /* a target, or an incident */
    str daemon; /* whose messages are sent */
    struct outbox_list list;
    const struct outbox_row *put;
    int64_t waiting; /* pending messages of all targets */
};
struct notify_query notify_query_new(struct arena *a, str of, size_t max);
bool notify_query_of(void *ctx, struct db *db, struct err *e); /* for book_do: of an incident */
void *notify_run(void *target);
