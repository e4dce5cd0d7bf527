/* audit_verify_in.h - what the files of the verification share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "store/audit_in.h"
#include "store/engine_in.h"

#define VERIFY_PAGE 100u

struct verify_entry {
    struct audit_entry e;
    uint8_t prev[SHA256_SIZE], hash[SHA256_SIZE];
    bool whole; /* both are as long as they should be */
};

struct verify {
    struct db *db;
    struct audit_report *r;
    struct arena arena; /* of the page */
    str key;
    char key_bytes[SHA256_SIZE];
    struct verify_entry page[VERIFY_PAGE];
    size_t count;
    struct map digests; /* by id: of the rows that are there */
    struct map erased;  /* ids that have an entry "erased" */
    struct buf bytes, sql;
    struct err bad;       /* a row that cannot be read */
    struct json doc;      /* names of tools */
    int64_t calls, tools; /* rows that agree, each once */
    int64_t named_tools, receipts;

    struct arena kept; /* of the whole verification */
    struct map states; /* what the log last said of the sessions of applications, by digests */
};

/* The first that is wrong is the one that is told. */
void verify_wrong(struct verify *v, int64_t seq, const char *why, str about);
/* Which rows of a table the page tells of: $1 to $100, the rest of them NULL. */
size_t verify_ids(struct verify *v, str action, struct db_value args[VERIFY_PAGE]);
/* before, $1 to $100, after, in v->sql. */
void verify_sql_in(struct verify *v, const char *before, const char *after);

/* audit_verify_more.c: what hangs on the page's entries beside their rows, names of tools and
 * receipts; and what applications say of their sessions, held against the tables at the end. */
bool verify_page_more(struct verify *v, struct err *e) MUST_USE;
void verify_session_entry(struct verify *v, const struct verify_entry *en);
/* audit_verify_rest.c: rows that nobody told the log of, and what follows from others and must
 * agree with them. */
bool verify_rest(struct verify *v, struct err *e) MUST_USE;
bool verify_sessions(struct verify *v, struct err *e) MUST_USE;
