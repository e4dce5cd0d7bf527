/* audit.h - the audit log of the store: a hash chain, and its verification.
 *
 *     struct audit_report report;
 *     if (!audit_verify(db, head_path, &report, e)) ...         it could not be looked at
 *     if (!report.ok) ...                                       report.why, from report.bad_seq on
 *
 * The writer adds one entry for all calls of a batch and one for each other record, in the
 * transaction that stores them. It also adds entries for each erasure, each retention run and each
 * store_audit_put. The hash of an entry covers the entry and the hash before it. Its digest is an
 * HMAC over the row, or over the digests of the batch's calls, with a key of the store, so it
 * reveals nothing about an erased row. An erased row leaves an entry "erased".
 *
 * Anyone who can write to the tables could rewrite the whole chain. So its head is also kept in a
 * separate file, written to disk about once a second: verification detects any truncation, change
 * or rewrite of entries before that head. A copy of the file kept elsewhere protects all entries
 * before it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/sha256.h"
#include "store/db.h"

struct audit_head {
    int64_t seq, time_us; /* 0: no entry yet */
    uint8_t hash[SHA256_SIZE];
};

struct audit_report {
    bool ok;
    int64_t bad_seq; /* the first wrong entry, or 0 */
    char why[200];
    struct audit_head head;        /* of the chain, as far as it is valid */
    struct audit_head anchor;      /* from the file; seq 0: no file */
    int64_t entries, rows, erased; /* entries checked; rows that match; rows that were erased */
};

/* Reads one snapshot of the database; a writer may run at the same time. head_path may be NULL: no
 * file is compared. False: the database failed. */
bool audit_verify(struct db *db, const char *head_path, struct audit_report *out,
                  struct err *e) MUST_USE;

/* The head in the file: ERR_NOT_FOUND if there is no file. */
bool audit_head_read(const char *path, struct audit_head *out, struct err *e) MUST_USE;
bool audit_head_write(const char *path, const struct audit_head *head, struct err *e) MUST_USE;

/* The path of a store's head file, as store_open names it. `spool` as there. */
bool audit_head_path(str url, str spool, char *out, size_t size, struct err *e) MUST_USE;
