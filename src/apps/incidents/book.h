/* book.h - the rows of alerts: what came in, how far it is, what came of it.
 *
 *     struct book *b;
 *     if (!book_open(store_url, &b, e)) ...
 *     book_add(b, rows, n, e)                on disk when it returns, all of them or none
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

struct book;

struct book_row {
    str id, session, digest;
    str key;   /* whose: the key's name, or "" */
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
    bool cancelled; /* somebody asked for it, it may not have come to that yet */
};

/* url "none": in memory, gone with the process. */
bool book_open(str url, struct book **out, struct err *e) MUST_USE;
void book_close(struct book *b); /* NULL: nothing */

bool book_add(struct book *b, const struct book_row *rows, size_t n, struct err *e) MUST_USE;
/* State, progress, step, agent, stages, error, reason, report, cancelled and times, by the id; what
 * was there before is as `row` has it. durable: on disk when it returns. */
bool book_put(struct book *b, const struct book_row *row, bool durable, struct err *e) MUST_USE;

struct db;
/* Runs in the transaction of each book_put, before its commit; if it fails, the put fails. Under
 * the book's lock: it may not call the book. fn NULL: none. */
void book_on_put(struct book *b,
                 bool (*fn)(void *ctx, struct db *db, const struct book_row *row, struct err *e),
                 void *ctx);
/* Runs a function in a durable transaction on the book's connection, likewise. */
bool book_do(struct book *b, bool (*fn)(void *ctx, struct db *db, struct err *e), void *ctx,
             struct err *e) MUST_USE;

/* ERR_NOT_FOUND if there is none. */
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
