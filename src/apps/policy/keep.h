/* keep.h - results of verifications on record, and what the shadow found of the same criteria.
 *
 *     struct policy_keep *k;
 *     if (!policy_keep_open(config->store_url, &k, e)) ...          "none": nothing is kept
 *     policy_keep_results(k, &rows, n, e);  policy_keep_list(k, &query, &out, e);
 *     policy_keep_close(k);
 *
 * Any thread. A result that is there already (a run that was resumed) stays as it is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "mask/mask.h"

#define POLICY_LIST_MAX 1000

struct policy_keep;

struct policy_kept {
    str id; /* of the result: its run's */
    str run, session, case_id, criterion, status, controller, mode, prompt_id, key;
    str result; /* JSON */
    int64_t created_us;
};

struct policy_compared {
    str id, session, case_id, criterion;
    str served_status, shadow_status, reason_code, prompt_id;
    double served_confidence, shadow_confidence;
    bool differs;
    int64_t created_us;
};

bool policy_keep_open(str url, struct policy_keep **out, struct err *e) MUST_USE;
void policy_keep_close(struct policy_keep *k); /* NULL: nothing */

/* mask may be NULL. */
bool policy_keep_results(struct policy_keep *k, const struct policy_kept *rows, size_t n,
                         const struct mask *mask, struct err *e) MUST_USE;
bool policy_keep_shadow(struct policy_keep *k, const struct policy_compared *row,
                        struct err *e) MUST_USE;

/* What an operator set, and over what. */
struct policy_set {
    str switches;   /* JSON; "": taken back, the configuration's hold */
    str configured; /* those of the configuration then, JSON */
    str who;
    int64_t set_us;
};
/* Once it returns true it outlives a crash. */
bool policy_keep_switches(struct policy_keep *k, const struct policy_set *s,
                          struct err *e) MUST_USE;
/* The newest one; *found false if there is none, or nothing is kept. */
bool policy_keep_switches_last(struct policy_keep *k, struct arena *a, struct policy_set *out,
                               bool *found, struct err *e) MUST_USE;
/* Elements of an array, the newest first: {"switches", "set_by", "timestamp"}. */
bool policy_keep_switches_list(struct policy_keep *k, int64_t limit, struct json_out *o,
                               struct err *e) MUST_USE;
/* Whether anything is kept at all. */
bool policy_keep_is_open(const struct policy_keep *k);

struct policy_query {
    str key; /* only what this key asked for; with `all` anybody's */
    bool all;
    str case_id, status; /* "": any */
    int64_t limit;
};
/* Elements of an array: CriterionResults, the newest first, each with case_id, session_id,
 * controller, mode, prompt_id and timestamp. */
bool policy_keep_list(struct policy_keep *k, const struct policy_query *q, struct json_out *o,
                      struct err *e) MUST_USE;
/* Elements of an array: {"case_id", "criterion_id", "primary", "shadow", "timestamp"}. */
bool policy_keep_discrepancies(struct policy_keep *k, int64_t limit, struct json_out *o,
                               struct err *e) MUST_USE;
