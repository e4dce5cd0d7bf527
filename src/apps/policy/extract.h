/* extract.h - criteria of a policy, and facts of a case's document, proposed by a model.
 *
 *     struct policy_extract_ask q = {.kind = POLICY_EXTRACT_CRITERIA, .doc = doc, ...};
 *     if (!policy_extract(&q, &arena, &out, e)) ...       e: the model could not be asked at all
 *
 * The text goes to the model in parts, masked. A proposal counts only if its quote is in the text,
 * word for word; others are dropped and counted. A part for which the model gives no usable answer,
 * twice, is reported and the others count.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/react.h"
#include "apps/policy/result_table.h"

#define POLICY_EXTRACT_PART 24000 /* bytes of text in one call */
#define POLICY_EXTRACT_PARTS 64
#define POLICY_EXTRACT_MAX 1000 /* proposals of one extraction */
#define POLICY_EXTRACT_TOKENS 8192
#define POLICY_EXTRACT_TIMEOUT_S 120
#define POLICY_EXTRACT_TIMEOUT_MAX_S 600

enum policy_extract_kind { POLICY_EXTRACT_CRITERIA, POLICY_EXTRACT_FACTS };
enum policy_dropped {
    POLICY_DROPPED_QUOTE,     /* because the text does not have it */
    POLICY_DROPPED_INVALID,   /* no name, or no value */
    POLICY_DROPPED_DUPLICATE, /* because another has the same name at the same place */
    POLICY_DROPPED_OVER,      /* more than POLICY_EXTRACT_MAX */
    POLICY_DROPPED
};

struct policy_extract_ask {
    enum policy_extract_kind kind;
    const struct policy_doc *doc; /* of criteria: the policy */
    str section;                  /* for criteria: only this one and those below it; "": all */
    str text;                     /* of facts: the case's document */
    str doc_id, case_id;          /* of facts */
    str model, session, key;
    int64_t timeout_ms; /* of a call */
    struct agent_ask ask;
    const struct mask *mask;    /* or NULL */
    const _Atomic bool *cancel; /* or NULL */
};

struct policy_extract_failure {
    size_t part; /* from 1 */
    str where;   /* the section it begins with; "" of facts */
    str reason;
};

struct policy_extracted {
    struct policy_proposal *list; /* the caller sets id, session, who and created_us */
    size_t n;
    unsigned dropped[POLICY_DROPPED];
    size_t parts;
    struct policy_extract_failure failures[POLICY_EXTRACT_PARTS];
    size_t failure_count;
};

bool policy_extract(const struct policy_extract_ask *q, struct arena *a,
                    struct policy_extracted *out, struct err *e) MUST_USE;

/* extract_read.c: checks a model's reply against the text and adds its facts to out; false: it
 * is not the requested JSON. */
bool policy_extract_read(const struct policy_extract_ask *q, str reply, struct arena *a,
                         struct policy_extracted *out, struct err *e) MUST_USE;
const char *policy_dropped_name(enum policy_dropped d);
