/* audit_verify_state.h - shared by the files of the verification.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/call_segments.h"
#include "store/engine_state.h"

#define VERIFY_PAGE 100u

struct verify_entry {
    struct audit_entry e;
    uint8_t prev[SHA256_SIZE], hash[SHA256_SIZE];
    bool whole; /* both have the right length */
};

/* A call of the current page. */
struct verify_call {
    struct store_call row;
    struct texts_place at;
    int64_t text_bits;
    struct db_value decision_kind;
    int64_t tool_count;
    bool same; /* the row and its columns agree */
    uint8_t digest[SHA256_SIZE];
};

/* The session of a call. */
struct verify_session {
    str id, title, error;
    int64_t last_ms, first_n; /* first_n: number of the call that began first */
    bool failed, runs;        /* failed: the session has the error of a call */
};

struct verify {
    struct db *db;
    struct audit_report *r;
    struct arena arena; /* of the current page */
    str key;
    char key_bytes[SHA256_SIZE];
    int64_t tree_from; /* see audit_call */
    struct verify_entry page[VERIFY_PAGE];
    size_t count;
    struct map digests; /* by id: of the existing rows */
    struct map erased;  /* ids with an entry "erased" */
    struct buf bytes, sql;
    struct json doc;      /* names of tools */
    int64_t calls, tools; /* rows that match, each once */
    int64_t receipts;
    int64_t placed; /* entries of packed blocks that belong to a call */

    /* Calls. */
    struct verify_call call_page[VERIFY_PAGE];
    size_t call_count;
    struct arena call_arena, text_arena; /* of that page; of one call's texts */
    struct map sessions;                 /* of that page, by id: struct verify_session */
    struct map doubts;                   /* those that disagree with their first or last call */
    struct map tombstones;               /* of that page, by call number */
    struct texts texts;
    struct call_segments segments;
    struct engine *en; /* only its kind and its arena, for engine_clean */
    int64_t last_n;    /* number of the last call in the log */
    bool moving;       /* old_interactions exists */

    /* Tools of calls that are still to be looked up: name, number, name, number ... */
    struct db_value named[VERIFY_PAGE];
    size_t named_count;
    uint64_t named_seen; /* bit n: pair n exists */
    int64_t named_total;

    struct arena kept; /* lives for the whole verification */
    struct map states; /* last logged state of the applications' sessions, by digest */
};

/* Reports a problem; only the first one is kept. */
void verify_wrong(struct verify *v, int64_t seq, const char *why, str about);
/* The ids of a table's rows that the page's entries name: $1 to $100, padded with NULL. */
size_t verify_ids(struct verify *v, str action, struct db_value args[VERIFY_PAGE]);
/* Writes before, $1 to $100 and ")" to v->sql. */
void verify_sql_in(struct verify *v, const char *before);

void verify_keep_digest(struct verify *v, str id, const uint8_t digest[SHA256_SIZE]);

/* audit_verify_calls.c: the digests of the calls that the page's entries "record" name; and the
 * check of one entry AUDIT_RECORDS. */
bool verify_read_calls(struct verify *v, struct err *e) MUST_USE;
bool verify_records(struct verify *v, const struct verify_entry *en, struct err *e) MUST_USE;

/* Reads a page of calls that `where` selects: without texts, but with their sessions.
 * verify_texts_read then reads the texts of one of them. If these are damaged, *ok is false and the
 * report says so. */
bool verify_page_read(struct verify *v, const char *where, const struct db_value *args, size_t n,
                      struct err *e) MUST_USE;
bool verify_texts_read(struct verify *v, struct verify_call *call, bool *ok,
                       struct err *e) MUST_USE;

/* audit_verify_follow.c: checks what is derived from calls: the tools they called, and what their
 * sessions have from them. verify_follow is for one call with its texts, verify_named for the end
 * of a page of calls, verify_doubts for the end of a page of entries. */
bool verify_follow(struct verify *v, const struct verify_call *call, struct err *e) MUST_USE;
bool verify_named(struct verify *v, struct err *e) MUST_USE;
bool verify_doubts(struct verify *v, struct err *e) MUST_USE;

/* audit_verify_blocks.c: texts that belong to no call, and hourly sums. */
bool verify_blocks(struct verify *v, struct err *e) MUST_USE;
bool verify_usage(struct verify *v, struct err *e) MUST_USE;

/* audit_verify_receipts.c: receipts of the page's erasures; and the sessions that applications
 * reported, compared with the tables at the end. */
bool verify_page_more(struct verify *v, struct err *e) MUST_USE;
void verify_session_entry(struct verify *v, const struct verify_entry *en);
/* audit_verify_derived.c: rows that the log does not mention, and rows derived from others, which
 * must match them. */
bool verify_rest(struct verify *v, struct err *e) MUST_USE;
bool verify_sessions(struct verify *v, struct err *e) MUST_USE;
