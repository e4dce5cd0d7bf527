/* audit.h - the chain of what happened to the store, and whether it still holds.
 *
 *     struct audit_report report;
 *     if (!audit_verify(db, head_path, &report, e)) ...         it could not be looked at
 *     if (!report.ok) ...                                       report.why, from report.bad_seq on
 *
 * The writer adds one entry for all calls of a batch, and one for each other record, in the
 * transaction that stores them, and for each erasure, each run of retention and whatever else
 * store_audit_put is given. An entry's hash is over the entry and the hash before it; its digest is
 * an HMAC over the row, or over the digests of the batch's calls, with a key of the store, so that
 * it tells nothing of a row that was erased. An erased row leaves an entry "erased".
 *
 * Whoever can write to the tables could write the chain anew. So its head is also kept outside, in
 * a file, brought to disk about once a second: what was cut, changed or written anew before that
 * is seen. A copy of that file kept elsewhere binds all before it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/sha256.h"
#include "store/db.h"

struct audit_head {
    int64_t seq, time_us; /* 0: nothing yet */
    uint8_t hash[SHA256_SIZE];
};

struct audit_report {
    bool ok;
    int64_t bad_seq; /* the first that is wrong, or 0 */
    char why[200];
    struct audit_head head;        /* of the chain as far as it was good */
    struct audit_head anchor;      /* of the file; seq 0: there is none */
    int64_t entries, rows, erased; /* looked at; rows that agree; rows that were erased */
};

/* In one view of the database; a writer may be at work. head_path may be NULL: nothing is compared
 * then. False: the database failed. */
bool audit_verify(struct db *db, const char *head_path, struct audit_report *out,
                  struct err *e) MUST_USE;

/* The head in the file: ERR_NOT_FOUND if there is none. */
bool audit_head_read(const char *path, struct audit_head *out, struct err *e) MUST_USE;
bool audit_head_write(const char *path, const struct audit_head *head, struct err *e) MUST_USE;

/* The head's file of a store, as store_open names it. spool as there. */
bool audit_head_path(str url, str spool, char *out, size_t size, struct err *e) MUST_USE;

#define AUDIT_HASH_TEXT_SIZE SHA256_HEX_SIZE
