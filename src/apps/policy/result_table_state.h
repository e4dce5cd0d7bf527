/* result_table_state.h - shared by the files of the tables of policies:
 *
 *   result_table.c            results and switches
 * result_table_review.c decisions of persons on them
 *   result_table_reverify.c   cases verified again
 * result_table_proposal.c proposals of models
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/column.h"
#include "apps/policy/result_table.h"
#include "base/clock.h"

#define POLICY_KEEP_TEXT_MAX ((size_t)16 << 20)

struct policy_table {
    struct db *writer, *reader; /* NULL: nothing is kept */
    pthread_mutex_t write_lock, read_lock;
};

/* A result r with the newest decision on it, v. */
#define POLICY_RESULT_COLUMNS                                                                      \
    "r.result_id, r.case_id, r.session_id, r.controller, r.mode, r.prompt_id, r.created_us,"       \
    " r.result, r.document_id, r.policy_version, v.status, v.section, v.reason, v.decided_by,"     \
    " v.decided_us"
#define POLICY_RESULT_TABLES                                                                       \
    "policy_results r LEFT JOIN policy_reviews v ON v.result_id = r.result_id AND v.review_id ="   \
    " (SELECT MAX(w.review_id) FROM policy_reviews w WHERE w.result_id = r.result_id)"
/* Writes those columns as one object into the struct json_out that is the context. */
bool policy_table_on_result(void *ctx, const struct db_value *c, size_t n);

/* Replaces *text by the masked text, in out, if it has a secret. False, ERR_LIMIT: the masked text
 * does not fit. mask may be NULL. */
bool policy_table_mask(const struct mask *mask, const char *what, struct buf *out, str *text,
                       struct err *e) MUST_USE;
/* Nothing is found if nothing is kept. */
bool policy_table_query(struct policy_table *k, const char *sql, const struct db_value *args,
                        size_t n, struct db_rows rows, struct err *e) MUST_USE;
/* One statement, on disk when it returns; ERR_INPUT if there is no store. changed may be NULL. */
bool policy_table_run(struct policy_table *k, const char *sql, const struct db_value *args,
                      size_t n, int64_t *changed, struct err *e) MUST_USE;
/* A transaction: locks and begins; commits if ok, else rolls back, and unlocks. */
bool policy_table_begin(struct policy_table *k, struct err *e) MUST_USE;
bool policy_table_end(struct policy_table *k, bool ok, struct err *e) MUST_USE;

/* Statements that must not read a whole table; a test looks at their plans. */
extern const char policy_queue_open_sql[], policy_queue_done_sql[], policy_waiting_sql[],
    policy_labels_sql[], policy_again_next_sql[], policy_again_results_sql[];
