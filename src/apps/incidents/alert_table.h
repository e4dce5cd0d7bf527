/* alert_table.h - the rows of alerts: their content, progress and result.
 *
 *     struct alert_table *b;
 *     if (!book_open(store_url, &b, e)) ...
 *     book_add(b, &intake, e)                on disk when it returns, all of it or nothing
 *     book_get(b, id, &arena, &row, e)
 *     book_close(b);
 *
 * A connection of its own; any thread, one at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define BOOK_LIST_MAX 500
#define BOOK_ALERTS_MAX 2000                    /* read per incident */
#define BOOK_ALERTS_DATA_MAX ((size_t)32 << 20) /* bytes of their data, read per incident */

struct alert_table;

struct alert_table_row {
    str id, session, digest;
    str key;   /* owner: the key's name, or "" */
    str state; /* queued, processing, waiting (for a word), completed, error, cancelled */
    str alert_type, severity, environment, runbook;
    str data;  /* JSON; "" in a list */
    str agent; /* the agent or chain that takes it */
    str step, current_agent;
    str stages; /* JSON array, or ""; "" in a list */
    str error, reason;
    str report; /* JSON, see status.c; "" in a list */
    int64_t timestamp_us, progress;
    int64_t created_us, started_us, completed_us, updated_us; /* -1: not yet */
    bool cancelled; /* cancellation was requested; it may not have happened yet */
    /* Of its alerts, when read: how many, how many are still firing, the number of all reports, and
     * when the last one ended (-1: one is firing, or no alert is known). */
    int64_t alerts, firing, seen, resolved_us;
    str due; /* from book_due alone */
};

/* An alert of an incident: one firing. */
struct alert_table_alert {
    str incident;
    int64_t position; /* in the incident, from 0 */
    str key, source, fingerprint;
    str group; /* "": none */
    str name, severity;
    str data; /* JSON, masked; "" from alert_table_alert_find, and beyond BOOK_ALERTS_DATA_MAX */
    int64_t starts_us, first_seen_us, last_seen_us;
    int64_t ended_us; /* -1: it fires */
    int64_t seen;     /* how often it was reported */
    /* Of the incident, from book_alert_find alone. */
    str state, reason;
};

/* url "none": in memory, gone with the process. */
bool alert_table_open(str url, struct alert_table **out, struct err *e) MUST_USE;
/* To read, also while another process writes. */
bool alert_table_open_read(str url, struct alert_table **out, struct err *e) MUST_USE;
void alert_table_close(struct alert_table *b); /* NULL: nothing */

/* Between the two, all changes are one transaction, of this thread alone; it ends with a commit if
 * ok, and returns whether it was one. */
bool alert_table_begin(struct alert_table *b, struct err *e) MUST_USE;
bool alert_table_end(struct alert_table *b, bool ok, struct err *e) MUST_USE;

/* New incidents, and alerts that are new or changed: by incident and position. */
struct alert_table_intake {
    struct alert_table_row *rows;
    struct alert_table_alert *alerts;
    size_t row_count, alert_count;
};
bool alert_table_add(struct alert_table *b, const struct alert_table_intake *in,
                     struct err *e) MUST_USE;
/* State, progress, step, agent, stages, error, reason, report, cancelled and times, by the id;
 * they replace the earlier values. durable: on disk when it returns. ERR_CONFLICT: another daemon
 * has it. */
bool alert_table_put(struct alert_table *b, const struct alert_table_row *row, bool durable,
                     struct err *e) MUST_USE;

struct db;
/* Runs in the transaction of each book_put, before its commit; if it fails, the put fails. Under
 * the table's lock: it may not call the table. fn NULL: none. */
void alert_table_on_put(struct alert_table *b,
                        bool (*fn)(void *ctx, struct db *db, const struct alert_table_row *row,
                                   struct err *e),
                        void *ctx);
/* Runs it for an event that changes no row, in the transaction that is open (book_begin): the row's
 * state names the event, such as "resolved". */
bool alert_table_announce(struct alert_table *b, const struct alert_table_row *row,
                          struct err *e) MUST_USE;
/* Runs a function in a durable transaction on the table's connection, likewise. */
bool alert_table_do(struct alert_table *b, bool (*fn)(void *ctx, struct db *db, struct err *e),
                    void *ctx, struct err *e) MUST_USE;

/* ERR_NOT_FOUND if no row has the id. */
bool alert_table_get(struct alert_table *b, str id, struct arena *a, struct alert_table_row *out,
                     struct err *e) MUST_USE;

struct alert_table_filter {
    bool all; /* else those of the key */
    str key;
    str state, alert_type; /* "": any */
    str before;            /* an id: older ones; "": from the newest */
    size_t count_max;
};

/* The newest first. */
bool alert_table_list(struct alert_table *b, const struct alert_table_filter *f, struct arena *a,
                      struct alert_table_row **out, size_t *n, struct err *e) MUST_USE;
/* Those that have not ended, the oldest first. */
bool alert_table_alive(struct alert_table *b, struct arena *a, struct alert_table_row **out,
                       size_t *n, struct err *e) MUST_USE;

/* ---- alert_table_share.c: several daemons ----
 *
 * An alert belongs to the daemon that accepted or claimed it, and so do its runs. Only that daemon
 * can put it. */

/* Call it before the first change; "": the table is not shared. */
void alert_table_share(struct alert_table *b, str daemon);
/* Gives this daemon the alerts without an owner: all that have not ended, or those that another
 * daemon released. The same for pending messages. */
bool alert_table_adopt(struct alert_table *b, bool released, struct err *e) MUST_USE;
/* Releases all alerts of this daemon that have not ended. */
bool alert_table_release(struct alert_table *b, struct err *e) MUST_USE;
/* Claims up to `max` alerts that have waited for a while in the queues of other daemons. */
bool alert_table_claim(struct alert_table *b, size_t max, struct err *e) MUST_USE;
/* Whether the alert is this daemon's; if not, its daemon is to do the word: cancel, resolved. */
bool alert_table_hand(struct alert_table *b, str id, const char *word, bool *mine,
                      struct err *e) MUST_USE;
/* The alerts of this daemon that others handed to it, or that it adopted or claimed, oldest first;
 * each is returned once. */
bool alert_table_due(struct alert_table *b, struct arena *a, struct alert_table_row **out,
                     size_t *n, struct err *e) MUST_USE;
/* Whether the alert is still this daemon's and has not ended. */
bool alert_table_is_own(struct alert_table *b, str id, bool *own, struct err *e) MUST_USE;
/* The alert of our own form that is alive, wherever; "" if none is. */
bool alert_table_find_alive(struct alert_table *b, str key, str digest, struct arena *a, str *id,
                            struct err *e) MUST_USE;

/* ---- alert_table_alerts.c ---- */

/* The last firing of an alert by its key, source and fingerprint, in its incident unless that is
 * ""; *found false if none is known. */
bool alert_table_alert_find(struct alert_table *b, const struct alert_table_alert *of,
                            struct arena *a, struct alert_table_alert *out, bool *found,
                            struct err *e) MUST_USE;
/* The incident with an alert of this group that fires, and how many alerts it has; "" if no such
 * incident exists. */
bool alert_table_group_find(struct alert_table *b, const struct alert_table_alert *of,
                            struct arena *a, str *incident, int64_t *alerts,
                            struct err *e) MUST_USE;
/* The alerts of an incident in their order. */
bool alert_table_alerts(struct alert_table *b, str incident, struct arena *a,
                        struct alert_table_alert **out, size_t *n, struct err *e) MUST_USE;
