/* react.h - a criterion verified by a model that searches, reads and proposes; this module checks
 * the proposal.
 *
 *     struct policy_react_options o = {.doc = doc, .c = &c, .criterion = c.criteria[i], ...};
 *     if (!policy_react(&o, &arena, &result, &info, e)) ...     e: the log failed; to be resumed
 *     if (info.llm_failed) ...                                  the heuristic can still be asked
 *
 * The loop is the agent's: each model call and tool call is an effect in its log, and a second call
 * with the same run resumes it. `finish` is a proposal. The section must be in the tree and the
 * pages in nodes that this run was shown; the evidence must be in the bundle; the confidence is
 * computed from the search results, and the model's own number can only lower it. An error goes
 * back to the model with its code; if the run ends with it, the result has that code:
 *
 *     citation_unknown_section  no section of the document is called that
 *     citation_not_retrieved    it was not shown in this run, or the pages were not
 *     evidence_unknown          no fact of the case is at that place
 *     invalid_confidence        no number from 0 to 1
 *
 * Other codes: agent_uncertain (the model says so, or ends without a proposal), low_confidence
 * (computed below 0.65: it abstains), max_iterations_reached (also a loop), token_budget_exceeded
 * and time_limit_exceeded (the limits of the options), memory_limit_exceeded (half of the arena is
 * used), llm_error and rate_limit_exceeded (the model could not be asked, retries and all),
 * invalid_output (its calls cannot be read), missing_policy_document_id, agent_error (the record of
 * the run is of another one).
 *
 * A controller is the arguments of one call; two calls share no state.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run.h"
#include "apps/policy/result.h"
#include "apps/policy/search.h"
#include "apps/registry.h"

#define POLICY_ITERATIONS_MAX 10
#define POLICY_TOOLS 10

/* Compiled in, under the name "policy": system_prompt, tree_search and a text for each tool. */
extern const struct prompt_built_in policy_built_in;

struct policy_metrics;

struct policy_react_options {
    const struct policy_doc *doc;         /* or NULL */
    const struct policy_doc *const *docs; /* those that temporal_lookup knows */
    size_t doc_count;
    const struct policy_case *c;
    str criterion;
    const struct prompt *prompt;
    str model;
    enum config_search search;
    int64_t tokens_max;      /* of the run and its searches; then no call is made */
    uint64_t time_max_ms;    /* likewise; 0: no limit */
    str run, session, input; /* as the agent's; app is "policy" */
    str key;                 /* likewise */
    struct agent_ask ask;
    struct agent_log *log;          /* or NULL */
    struct store *store;            /* or NULL */
    const struct mask *mask;        /* or NULL */
    struct policy_metrics *metrics; /* or NULL */
    const struct clock *clock;
    const _Atomic bool *cancel;                                 /* or NULL */
    const _Atomic bool *leave;                                  /* or NULL */
    void (*on_effect)(void *ctx, const struct agent_effect *f); /* as the agent's */
    void *ctx;
};

struct policy_react_info {
    bool llm_failed; /* the model could not be asked or understood: the result is no verdict */
    bool left;       /* the process ends: to be resumed */
    unsigned iterations;
    uint64_t model_ns; /* of the time, how much was waiting for the model */
};

bool policy_react(const struct policy_react_options *o, struct arena *a, struct policy_result *out,
                  struct policy_react_info *info, struct err *e) MUST_USE;
