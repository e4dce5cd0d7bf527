/* audit_bytes.h - the bytes of entries and rows that are hashed; used by writer and verification.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/audit.h"
#include "store/row.h"

struct audit_entry {
    int64_t seq, time_us;
    str actor, action, subject, detail; /* "" is NULL in the table */
    str digest;                         /* "" likewise */
};

void audit_hash(const struct audit_entry *en, const uint8_t prev[SHA256_SIZE],
                uint8_t out[SHA256_SIZE]);

/* Appends a row's bytes: the name and value of each field that is not empty, so that fields added
 * later change nothing. audit_add_values appends plain values in their order. */
void audit_add_row(struct buf *out, const struct row_table *t, const void *row);
void audit_add_values(struct buf *out, const struct db_value *v, size_t n);
/* A call of an entry AUDIT_RECORDS. Calls from store_counters.tree_from on are digested with
 * BLAKE2bp. Calls stored by an earlier version use BLAKE2b, which takes three times as long. */
struct audit_call {
    const struct store_call *row;
    str entry; /* in its block, as stored */
    bool tree; /* with BLAKE2bp */
};
/* The digest covers the key, the columns of the row and the entry, so a request stored as a delta
 * costs only its delta. `bytes` is scratch. */
void audit_digest_call(str key, const struct audit_call *call, struct buf *bytes,
                       uint8_t out[SHA256_SIZE]);
/* Appends one call of an entry AUDIT_RECORDS, whose digest covers all of them. The detail of such
 * an entry is "FIRST LAST", the numbers of its calls. The entry "erased" of a call has its number
 * as detail and the digest of its former row. */
#define AUDIT_RECORDS "records"
void audit_add_record(struct buf *out, int64_t call_n, const uint8_t digest[SHA256_SIZE]);
void audit_digest(str key, str bytes, uint8_t out[SHA256_SIZE]);

/* A pseudonym that identifies nobody, in the arena. */
str audit_name(str key, str name, struct arena *a);

/* The columns of a session that an application reported, as the tables have them, followed by its
 * start time. Calls fill in what the application left out. So the detail of the entry says whether
 * the application gave those two columns, and which start time. */
#define AUDIT_SESSION_COLUMNS                                                                      \
    "alert_id, agent_type, alert_type, status, alert_data, session_metadata, error_message,"       \
    " final_analysis, completed_at_us, key_name, started_at_us"
enum {
    AUDIT_SESSION_ALERT_TYPE = 2,
    AUDIT_SESSION_KEY = 9,
    AUDIT_SESSION_STARTED = 10,
    AUDIT_SESSION_COUNT
};
void audit_add_session(struct buf *out, const struct db_value c[AUDIT_SESSION_COUNT]);

/* The counts of an erasure in the log; its receipt has the same. */
struct audit_counts {
    int64_t sessions, interactions, decisions, communications, threads, runs;
};
str audit_erasure(struct arena *a, str receipt, const struct audit_counts *c);

/* The key of the digests, 32 bytes in the arena; ERR_NOT_FOUND if the store has none yet. */
bool audit_key(struct db *db, struct arena *a, str *out, struct err *e) MUST_USE;
bool audit_last(struct db *db, struct audit_head *out, struct err *e) MUST_USE;
