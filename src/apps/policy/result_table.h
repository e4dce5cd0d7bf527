/* result_table.h - stores results of verifications, and the shadow's results for the same criteria.
 *
 *     struct policy_keep *k;
 *     if (!policy_keep_open(config->store_url, &k, e)) ...          "none": nothing is kept
 *     policy_keep_results(k, &rows, n, e);  policy_keep_list(k, &query, &out, e);
 *     policy_keep_close(k);
 *
 * Any thread. A result that already exists (of a resumed run) is not changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "mask/mask.h"

#define POLICY_LIST_MAX 1000

struct policy_table;

struct policy_kept {
    str id; /* of the result: its run's */
    str run, session, case_id, criterion, status, controller, mode, prompt_id, key;
    str document_id, version, hash; /* of the policy; or "" */
    str result;                     /* JSON */
    int64_t created_us;
};

/* The case of a run, to be verified again. */
struct policy_kept_case {
    str run, case_id, document_id, key;
    str body;    /* unchanged */
    bool masked; /* it was already masked */
    int64_t created_us;
};

struct policy_compared {
    str id, session, case_id, criterion;
    str served_status, shadow_status, reason_code, prompt_id;
    double served_confidence, shadow_confidence;
    bool differs;
    int64_t created_us;
};

bool policy_table_open(str url, struct policy_table **out, struct err *e) MUST_USE;
void policy_table_close(struct policy_table *k); /* NULL: nothing */

#define POLICY_RUN_TAKEN "options.run_id: is taken %s; choose another, or leave it out"
/* ERR_INPUT: the run's id belongs to a run of another key or with another body. */
bool policy_table_run_free(struct policy_table *k, const struct policy_kept_case *c,
                           const struct mask *mask, struct err *e) MUST_USE;
/* Of one case, all or none. mask may be NULL. ERR_INPUT as policy_keep_run_free, and if the policy
 * has changed since a run of the same id; ERR_LIMIT: a masked text is too large to store. */
bool policy_table_results(struct policy_table *k, const struct policy_kept_case *c,
                          const struct policy_kept *rows, size_t n, const struct mask *mask,
                          struct err *e) MUST_USE;
bool policy_table_shadow(struct policy_table *k, const struct policy_compared *row,
                         struct err *e) MUST_USE;

/* The switches an operator set, and the configured ones they override. */
struct policy_set {
    str switches;   /* JSON; "": taken back, the configuration's hold */
    str configured; /* those of the configuration then, JSON */
    str who;
    int64_t set_us, step; /* step: the row's number, from 1, once it is stored */
};
/* Once it returns true it outlives a crash. */
bool policy_table_switches(struct policy_table *k, const struct policy_set *s,
                           struct err *e) MUST_USE;
/* The newest one; *found false if none exists or the store is "none". */
bool policy_table_switches_last(struct policy_table *k, struct arena *a, struct policy_set *out,
                                bool *found, struct err *e) MUST_USE;
/* Elements of an array, the newest first: {"switches", "set_by", "timestamp"}. */
bool policy_table_switches_list(struct policy_table *k, int64_t limit, struct json_out *o,
                                struct err *e) MUST_USE;
/* Whether anything is kept at all. */
bool policy_table_is_open(const struct policy_table *k);

struct policy_query {
    str key; /* only those that this key requested; with `all`, everybody's */
    bool all;
    str case_id, status; /* "": any */
    int64_t limit;
};
/* Elements of an array: CriterionResults, the newest first, each with case_id, session_id,
 * controller, mode, prompt_id and timestamp. */
bool policy_table_list(struct policy_table *k, const struct policy_query *q, struct json_out *o,
                       struct err *e) MUST_USE;
/* Elements of an array: {"case_id", "criterion_id", "primary", "shadow", "timestamp"}. */
bool policy_table_discrepancies(struct policy_table *k, int64_t limit, struct json_out *o,
                                struct err *e) MUST_USE;

/* ---- what persons say of results (result_table_review.c) ---- */

struct policy_queue {
    str key; /* as in struct policy_query */
    bool all;
    bool done;               /* the decided ones, instead of the waiting ones */
    str document_id, reason; /* "": any */
    int64_t limit;
};
/* Elements of an array as policy_keep_list writes them, the newest first. */
bool policy_table_queue(struct policy_table *k, const struct policy_queue *q, struct json_out *o,
                        struct err *e) MUST_USE;
/* How many wait. */
bool policy_table_waiting(struct policy_table *k, str key, bool all, int64_t *out,
                          struct err *e) MUST_USE;

/* One result with its case. */
struct policy_item {
    str json;   /* as in a list */
    str result; /* the CriterionResult, JSON */
    str document_id, version, hash, run, status;
    str body; /* of the case, masked; "": not kept */
};
/* ERR_NOT_FOUND if there is no such result, or it is not for this key. */
bool policy_table_item(struct policy_table *k, const struct policy_query *q, str result_id,
                       struct arena *a, struct policy_item *out, struct err *e) MUST_USE;

struct policy_reviewed {
    str id, result_id, run, machine_status, status, section, reason, who;
    int64_t decided_us;
};
/* ERR_INPUT if nothing is kept. */
bool policy_table_decide(struct policy_table *k, const struct policy_reviewed *v,
                         struct err *e) MUST_USE;
/* Elements of an array, the newest first. */
bool policy_table_reviews(struct policy_table *k, str result_id, struct json_out *o,
                          struct err *e) MUST_USE;

/* The newest decision on each result, grouped by run, in the order of the runs. */
struct policy_label {
    str run, result_id, criterion, status, section, document_id, version;
    str body; /* of the case, masked; "": not kept */
};
struct policy_label_page {
    str document_id, after; /* "": of any document; from the first run on */
    size_t cases_max;       /* at most POLICY_LABEL_CASES_MAX */
};
struct policy_labels {
    struct policy_label *list;
    size_t n;
    bool more; /* there are labels after the last run of the list */
};
#define POLICY_LABEL_CASES_MAX 500
#define POLICY_LABEL_BYTES_MAX ((size_t)8 << 20) /* a page ends with the case that reaches it */
#define POLICY_LABELS_MAX 256                    /* of one case */
bool policy_table_labels(struct policy_table *k, const struct policy_label_page *page,
                         struct arena *a, struct policy_labels *out, struct err *e) MUST_USE;

/* ---- cases verified again (result_table_reverify.c) ---- */

struct policy_reverify_row {
    str id, document_id, request, status, error, who; /* request: JSON */
    int64_t total, created_us, ended_us;              /* ended_us 0: it runs */
    str daemon;                                       /* to put: the daemon that runs it */
};
/* The cases of a document and of its versions (version.h), the newest run of each. */
bool policy_table_reverify_count(struct policy_table *k, str document_id, int64_t until_us,
                                 struct arena *a, int64_t *out, struct err *e) MUST_USE;
bool policy_table_reverify_put(struct policy_table *k, const struct policy_reverify_row *row,
                               struct err *e) MUST_USE;
/* Ends the job with the status, the error and the time of the row; after that, none of its cases is
 * next. *ended false: the job does not run. */
bool policy_table_reverify_end(struct policy_table *k, const struct policy_reverify_row *row,
                               bool *ended, struct err *e) MUST_USE;
/* A job of this daemon, or without an owner, that runs, if there is one: *found. */
bool policy_table_reverify_running(struct policy_table *k, str daemon, struct arena *a,
                                   struct policy_reverify_row *out, bool *found,
                                   struct err *e) MUST_USE;

/* A case to be verified again, with its previous results. */
struct policy_again {
    str run, case_id, key, body, controller;
    str *criteria, *results, *ids, *versions; /* results: JSON */
    size_t n;
    bool masked; /* values of the body are masked: its verdict may differ for that */
    int64_t created_us;
};
/* The next after the run and created_us that it has; *found false: that was the last, or the job
 * was cancelled. */
bool policy_table_reverify_next(struct policy_table *k, const struct policy_reverify_row *job,
                                struct arena *a, struct policy_again *it, bool *found,
                                struct err *e) MUST_USE;

/* The new result of a criterion; with an error, of the whole case. */
struct policy_again_done {
    str id, run, criterion, case_id, old_result, new_result, error; /* results: JSON, or "" */
    bool flipped;
    int64_t created_us;
};
bool policy_table_reverified(struct policy_table *k, const struct policy_again_done *rows, size_t n,
                             const struct mask *mask, struct err *e) MUST_USE;
/* How many cases are done. */
bool policy_table_reverify_done(struct policy_table *k, str id, int64_t *out,
                                struct err *e) MUST_USE;
/* Elements of an array, the newest first; of one id ("": all), and then with what flipped. */
bool policy_table_reverify_list(struct policy_table *k, str id, int64_t limit, struct json_out *o,
                                struct err *e) MUST_USE;

/* ---- proposals of models (result_table_proposal.c) ---- */

struct policy_proposal {
    str id, session, kind; /* criterion or fact */
    str document_id, version, case_id;
    str name, value; /* value: JSON, of a fact */
    str quote, node_id, section;
    uint32_t page;
    int64_t start, end; /* characters: of the section's text, or of the case's document */
    double confidence;
    str model, who;
    int64_t created_us;
};
/* All of them or none, as they were proposed. */
bool policy_table_propose(struct policy_table *k, const struct policy_proposal *rows, size_t n,
                          const struct mask *mask, struct err *e) MUST_USE;
struct policy_proposals {
    str id, kind, state, document_id, version, case_id; /* "": any */
    int64_t limit;
};
/* Elements of an array, in the order they were proposed. */
bool policy_table_proposals(struct policy_table *k, const struct policy_proposals *q,
                            struct json_out *o, struct err *e) MUST_USE;
/* A person's word. ERR_NOT_FOUND: there is no such proposal. */
struct policy_proposal_word {
    str id, state, who, reason; /* state: confirmed or rejected */
    int64_t decided_us;
};
bool policy_table_proposal_decide(struct policy_table *k, const struct policy_proposal_word *w,
                                  struct err *e) MUST_USE;
/* The names of the confirmed criteria of a version. */
struct policy_names {
    str *list;
    size_t n;
};
bool policy_table_confirmed(struct policy_table *k, str document_id, str version, struct arena *a,
                            struct policy_names *out, struct err *e) MUST_USE;
/* The confirmed facts of a case, elements of "fields" of a bundle. */
bool policy_table_confirmed_facts(struct policy_table *k, str case_id, struct json_out *o,
                                  size_t *n, struct err *e) MUST_USE;
