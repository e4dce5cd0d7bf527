/* outbox.h - the rows of messages; each function runs on the connection of the alert table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "store/db.h"

#define OUTBOX_LIST_MAX 200

struct outbox_row {
    str id, alert_id, session, target, event, occasion;
    str state; /* pending, sent, failed, skipped */
    str error, receipt;
    int64_t tries, next_us, created_us, updated_us;
    str daemon; /* for outbox_add: the daemon that sends it */
};

struct outbox_list {
    struct arena *arena;
    struct outbox_row *rows; /* room for `max` */
    size_t n, max;
};

/* *added is false if there is such a message. */
bool outbox_add(struct db *db, const struct outbox_row *row, bool *added, struct err *e) MUST_USE;
/* State, tries, next_us, error, receipt, updated_us, by the id. */
bool outbox_put(struct db *db, const struct outbox_row *row, struct err *e) MUST_USE;
/* The message of this daemon, or without an owner, that is due first, even if it is not due yet. */
bool outbox_next(struct db *db, str target, str daemon, struct outbox_list *out,
                 struct err *e) MUST_USE;
/* All of an incident, the oldest first. */
bool outbox_of(struct db *db, str alert_id, struct outbox_list *out, struct err *e) MUST_USE;
/* Those of all incidents, the newest first. */
bool outbox_newest(struct db *db, struct outbox_list *out, struct err *e) MUST_USE;
/* As the API has it. */
void outbox_write(struct json_out *o, const struct outbox_row *row);
/* How many wait. */
bool outbox_waiting(struct db *db, int64_t *out, struct err *e) MUST_USE;
/* The names of the targets that messages wait for, in `target` of the rows. */
bool outbox_targets(struct db *db, struct outbox_list *out, struct err *e) MUST_USE;
/* All that wait for the target fail; *n is their number. */
bool outbox_fail(struct db *db, str target, str why, int64_t now_us, int64_t *n,
                 struct err *e) MUST_USE;
/* Messages that were never tried are due now: their target may have its secret at last. */
bool outbox_make_due(struct db *db, int64_t now_us, struct err *e) MUST_USE;
