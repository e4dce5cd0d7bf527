/* book.h - the rows of alerts: their content, progress and result.
 *
 *     struct book *b;
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
#define BOOK_ALERTS_MAX 2000 /* read per incident */

struct book;

struct book_row {
    str id, session, digest;
    str key;   /* owner: the key's name, or "" */
    str state; /* queued, processing, waiting (for a word), completed, error, cancelled */
    str alert_type, severity, environment, runbook;
    str data;  /* JSON; "" in a list */
    str agent; /* who takes it */
    str step, current_agent;
    str stages; /* JSON array, or "" */
    str error, reason;
    str report; /* JSON, see status.c; "" in a list */
    int64_t timestamp_us, progress;
    int64_t created_us, started_us, completed_us, updated_us; /* -1: not yet */
    bool cancelled; /* cancellation was requested; it may not have happened yet */
    /* Of its alerts, when read: how many, how many still fire, reports of them all, and when the
     * last one ended (-1: one fires, or no alert is known). */
    int64_t alerts, firing, seen, resolved_us;
};

/* An alert of an incident: one firing. */
struct book_alert {
    str incident;
    int64_t position; /* in the incident, from 0 */
    str key, source, fingerprint;
    str group; /* "": none */
    str name, severity;
    str data; /* JSON, masked */
    int64_t starts_us, first_seen_us, last_seen_us;
    int64_t ended_us; /* -1: it fires */
    int64_t seen;     /* how often it was reported */
    /* Of the incident, from book_alert_find alone. */
    str state, reason;
};

/* url "none": in memory, gone with the process. */
bool book_open(str url, struct book **out, struct err *e) MUST_USE;
/* To read, also while another process writes. */
bool book_open_read(str url, struct book **out, struct err *e) MUST_USE;
void book_close(struct book *b); /* NULL: nothing */

/* Between the two, all changes are one transaction, of this thread alone; it ends with a commit if
 * ok, and returns whether it was one. */
bool book_begin(struct book *b, struct err *e) MUST_USE;
bool book_end(struct book *b, bool ok, struct err *e) MUST_USE;

/* New incidents, and alerts that are new or changed: by incident and position. */
struct book_intake {
    struct book_row *rows;
    struct book_alert *alerts;
    size_t row_count, alert_count;
};
bool book_add(struct book *b, const struct book_intake *in, struct err *e) MUST_USE;
/* State, progress, step, agent, stages, error, reason, report, cancelled and times, by the id;
 * they replace the earlier values. durable: on disk when it returns. */
bool book_put(struct book *b, const struct book_row *row, bool durable, struct err *e) MUST_USE;

struct db;
/* Runs in the transaction of each book_put, before its commit; if it fails, the put fails. Under
 * the book's lock: it may not call the book. fn NULL: none. */
void book_on_put(struct book *b,
                 bool (*fn)(void *ctx, struct db *db, const struct book_row *row, struct err *e),
                 void *ctx);
/* Runs it for an event that changes no row, in the transaction that is open (book_begin): the row's
 * state names the event, such as "resolved". */
bool book_announce(struct book *b, const struct book_row *row, struct err *e) MUST_USE;
/* Runs a function in a durable transaction on the book's connection, likewise. */
bool book_do(struct book *b, bool (*fn)(void *ctx, struct db *db, struct err *e), void *ctx,
             struct err *e) MUST_USE;

/* ERR_NOT_FOUND if no row has the id. */
bool book_get(struct book *b, str id, struct arena *a, struct book_row *out,
              struct err *e) MUST_USE;

struct book_filter {
    bool all; /* else those of the key */
    str key;
    str state, alert_type; /* "": any */
    str before;            /* an id: older ones; "": from the newest */
    size_t count_max;
};

/* The newest first. */
bool book_list(struct book *b, const struct book_filter *f, struct arena *a, struct book_row **out,
               size_t *n, struct err *e) MUST_USE;
/* Those that have not ended, the oldest first. */
bool book_alive(struct book *b, struct arena *a, struct book_row **out, size_t *n,
                struct err *e) MUST_USE;

/* ---- book_alerts.c ---- */

/* The last firing of an alert by its key, source and fingerprint; *found false if none is known. */
bool book_alert_find(struct book *b, const struct book_alert *of, struct arena *a,
                     struct book_alert *out, bool *found, struct err *e) MUST_USE;
/* The incident with an alert of this group that fires, and how many alerts it has; "" if no such
 * incident exists. */
bool book_group_find(struct book *b, const struct book_alert *of, struct arena *a, str *incident,
                     int64_t *alerts, struct err *e) MUST_USE;
/* The alerts of an incident in their order. */
bool book_alerts(struct book *b, str incident, struct arena *a, struct book_alert **out, size_t *n,
                 struct err *e) MUST_USE;
