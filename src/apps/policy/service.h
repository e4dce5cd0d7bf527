/* service.h - verification as a service: from the request's body to the envelope, on record.
 *
 *     struct policy_service *s;
 *     if (!policy_service_open(&host, &s, e)) ...
 *     struct policy_ask q = {.body = body, .key = key};
 *     if (!policy_review(s, &q, &arena, &review, e)) ...     ERR_INPUT: "case_bundle.fields[2]: "
 *     policy_service_close(s);
 *
 * The configuration is read for each case, so a reload of switches, model or documents holds at
 * once. The service chooses controller, prompt and model of a case once and stores the choice with
 * the run before any other step; the next process resumes an interrupted run with the same choice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/app.h"
#include "apps/policy/rollout.h"
#include "apps/policy/verify.h"

#define POLICY_SHADOW_MAX 64 /* cases that wait for it */

struct policy_service;
struct policy_docs;
struct policy_reverify;

bool policy_service_open(const struct app_host *h, struct policy_service **out,
                         struct err *e) MUST_USE;
void policy_service_close(struct policy_service *s); /* NULL: nothing */

struct policy_ask {
    str body;       /* a case, alone or in the request's envelope */
    str run;        /* "": options.run_id, or a new one */
    str key;        /* the client */
    bool operator_; /* may choose the controller, and resume anybody's run */
    str controller; /* "heuristic", "react"; "" or "auto": options.controller, or the switches */
    str model;      /* "": as configured */
    str version, as_of;           /* of the policy, instead of the case's; or "" */
    str document_id;              /* with one of these, instead of the case's; or "" */
    bool masked;                  /* secrets of the body were masked before */
    bool stored;                  /* the body was accepted before */
    const struct policy_doc *doc; /* instead of those configured; or NULL */
    const char *doc_file;         /* its file, needed to resume the run; or NULL */
    void (*on_effect)(void *ctx, const struct agent_effect *f);
    void *ctx;
};

struct policy_review {
    struct policy_case c;
    struct policy_verify_options options;
    struct policy_verdict verdict;
    str run, envelope; /* JSON */
    bool left;         /* the process ends; the next one resumes the run */
};

bool policy_review(struct policy_service *s, const struct policy_ask *q, struct arena *a,
                   struct policy_review *out, struct err *e) MUST_USE;
/* Resumes a run of an earlier process, on a thread of its own. */
void policy_resume(struct policy_service *s, const struct agent_row *row);

/* The state that the routes show. */
struct registry *policy_registry(struct policy_service *s);
struct policy_table *policy_kept_results(struct policy_service *s);
struct policy_rollout *policy_rollout_of(struct policy_service *s);
struct policy_metrics *policy_metrics_of(struct policy_service *s);
struct policy_reverify *policy_reverify_of(struct policy_service *s);
const struct app_host *policy_host(struct policy_service *s);

/* The configuration in force for policies, held: that of the documents. It is the one before if the
 * documents of the newest could not be loaded, or another thread is loading them. */
struct config *policy_config_now(struct policy_service *s);
/* The documents that are configured now, held; NULL: none are configured. */
struct policy_docs *policy_docs_now(struct policy_service *s, struct err *e);
void policy_docs_release(struct policy_docs *d); /* NULL: nothing */
size_t policy_docs_count(const struct policy_docs *d);
const struct policy_doc *policy_docs_at(const struct policy_docs *d, size_t i);
const struct policy_doc *policy_docs_find(const struct policy_docs *d, str id);
const struct policy_doc *const *policy_docs_all(const struct policy_docs *d);
