/* react_state.h - one run of the controller as its files see it: react.c the loop, tools.c the
 * tools, finish.c the proposal, pick.c the tree search by a model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/react.h"

#define REACT_FACTS_MAX 64

/* The part of a node that this run was shown. */
struct react_seen {
    bool shown;
    double confidence; /* the best of the searches that gave it */
    const char *method;
};

struct react {
    const struct policy_react_options *o;
    struct toolbox *box;
    pthread_mutex_t lock; /* protects the members below, because tools run in parallel */
    struct arena arena;
    struct react_seen *seen;                           /* by place in the tree */
    const struct policy_field *facts[REACT_FACTS_MAX]; /* read in this run, in order */
    size_t fact_count;
    uint64_t model_ns;
    int64_t search_tokens; /* of searches by a model that the run has not counted yet */
};

/* A proposal that was looked at. */
struct react_proposal {
    enum policy_status status;
    str rationale;
    double confidence;
    const struct policy_node *node; /* or NULL */
    const uint32_t *pages;
    size_t page_count;
    const struct policy_field *field; /* the evidence, or NULL */
};

/* tools.c */
bool react_tools(struct react *r, struct err *e) MUST_USE;
/* Marks as seen the nodes that an earlier process of this run was shown. */
bool react_prime(struct react *r, struct err *e) MUST_USE;
/* The row of a tool, which is its index in metrics. */
int react_tool_place(str name);
const char *react_tool_name(int place);

/* pick.c */
struct react_search {
    str question;
    const _Atomic bool *cancel; /* of the tool call: true once the run has reached its deadline */
};
bool react_pick(struct react *r, const struct react_search *s, str tree_json, struct arena *a,
                struct policy_ids *out, struct err *e);

/* Parses the ids in a model's answer, ignoring text or a fence around them; false if it contains
 * no list. */
bool react_read_ids(str text, struct arena *a, struct policy_ids *out);

/* finish.c: false if it is refused; e begins with the code. */
bool react_check(struct react *r, str arguments, struct arena *a, struct react_proposal *out,
                 struct err *e) MUST_USE;
void react_conclude(struct react *r, const struct react_proposal *p, struct arena *a,
                    struct policy_result *out);

/* react.c. For the record: which policy, which case. */
str react_title(const struct react *r, struct arena *a);
/* A model call through the run's own way, its time counted. */
bool react_ask(struct react *r, const struct ask_request *q, const _Atomic bool *cancel,
               struct arena *a, struct ask_reply *reply);
