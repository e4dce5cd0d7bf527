/* book_state.h - shared by the files of the book.
 *
 *   book.c          incidents
 *   book_alerts.c   the alerts of each
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/book.h"
#include "store/db.h"

#include <pthread.h>

struct book {
    struct db *db;
    pthread_mutex_t lock; /* recursive: a transaction holds it */
    bool open;            /* a transaction is */
    bool (*on_put)(void *ctx, struct db *db, const struct book_row *row, struct err *e);
    void *ctx;
};

/* -1 is NULL. */
struct db_value book_time_or_null(int64_t us);
int64_t book_time_of(const struct db_value *v);
str book_text_of(struct arena *a, const struct db_value *v);
/* In the caller's transaction. */
bool book_alert_put(struct db *db, const struct book_alert *alert, struct err *e) MUST_USE;
