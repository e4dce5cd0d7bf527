/* query_questions.h - the questions of query_bench.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/query.h"

#define DAY_MS ((int64_t)86400000)

enum kind {
    SESSIONS,
    SESSION,
    SESSION_DECISIONS,
    SESSION_SEGMENTS,
    CALL,
    CALL_NEW,
    CALL_SEGMENTS,
    CALLS,
    DECISIONS,
    SEARCH,
    USAGE,
    OVERVIEW,
    REASONING,
    OPTIONS,
    METRICS,
    ACTIVE,
    AUDIT,
    SIZE,
    EXPORT
};

enum { ANY_REASONING, WITHOUT_REASONING, WITH_REASONING };

struct question {
    const char *name;
    enum kind kind;
    const char *key; /* the asker */
    const char *tool, *model, *decision, *sort, *by, *status, *agent, *alert, *subject, *outcome;
    const char *key_filter;
    const char *words; /* one that ends in '#' is another one each time */
    int64_t page;
    int64_t from_ms, to_ms; /* after the first call; 0: no condition */
    int reasoning;
    bool of_session; /* another one each time */
    bool running;    /* while a call runs */
    unsigned after;  /* pages that cursors go past before the one that is measured */
    enum query_format format;
};

extern const struct question questions[];
extern const size_t question_count;
