/* keep_state.h - the tables of policies as their files see them: keep.c results and switches,
 * keep_review.c what persons said of them, keep_reverify.c cases verified again, keep_proposal.c
 * what models propose.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>

#include "apps/policy/keep.h"
#include "base/clock.h"
#include "store/db.h"

#define POLICY_KEEP_TEXT_MAX ((size_t)16 << 20)

struct policy_keep {
    struct db *writer, *reader; /* NULL: nothing is kept */
    pthread_mutex_t write_lock, read_lock;
};

/* A result r with the newest word of a person on it, v. */
#define POLICY_RESULT_COLUMNS                                                                      \
    "r.result_id, r.case_id, r.session_id, r.controller, r.mode, r.prompt_id, r.created_us,"       \
    " r.result, r.document_id, r.policy_version, v.status, v.section, v.reason, v.decided_by,"     \
    " v.decided_us"
#define POLICY_RESULT_TABLES                                                                       \
    "policy_results r LEFT JOIN policy_reviews v ON v.result_id = r.result_id AND v.review_id ="   \
    " (SELECT MAX(w.review_id) FROM policy_reviews w WHERE w.result_id = r.result_id)"
/* Writes those columns as one object into the struct json_out that is the context. */
bool policy_keep_on_result(void *ctx, const struct db_value *c, size_t n);

/* Nothing is found if nothing is kept. */
bool policy_keep_query(struct policy_keep *k, const char *sql, const struct db_value *args,
                       size_t n, struct db_rows rows, struct err *e) MUST_USE;
/* One statement, on disk when it returns; ERR_INPUT if nothing is kept. changed may be NULL. */
bool policy_keep_run(struct policy_keep *k, const char *sql, const struct db_value *args, size_t n,
                     int64_t *changed, struct err *e) MUST_USE;
void policy_keep_time(struct json_out *o, const char *name, const struct db_value *us);
/* null if it is "" or NULL. */
void policy_keep_text(struct json_out *o, const char *name, const struct db_value *text);
