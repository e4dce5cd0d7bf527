/* params.h - what stands behind the question mark, decoded and checked.
 *
 *     struct params p;
 *     params_init(&p, ex, arena);
 *     limit = params_i64(&p, "limit", 20, 1, 100);
 *     text = params_text(&p, "q");
 *     if (!params_ok(&p)) return;               after answering 422
 *
 * Sticky: the first wrong parameter is remembered and told at the end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/internal.h"
#include "store/query.h"

#define PARAMS_MAX 64

struct params {
    struct exchange *ex;
    size_t n;
    struct {
        str name, value;
    } at[PARAMS_MAX];
    const char *field, *expected; /* of what is wrong; NULL: nothing is */
    str value;
    char why[160];
};

/* The texts will be in the arena. */
void params_init(struct params *p, struct exchange *ex, struct arena *a);
/* Empty if it was not given. */
str params_text(struct params *p, const char *name);
int64_t params_i64(struct params *p, const char *name, int64_t otherwise, int64_t min, int64_t max);
int params_flag(struct params *p, const char *name); /* -1 if it was not given */
/* One of the words, or empty. */
str params_choice(struct params *p, const char *name, const char *const *words, size_t n);
void params_wrong(struct params *p, const char *field, const char *expected, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* start_date_us, end_date_us and what else filters sessions; what filters decisions. */
void params_dates(struct params *p, struct query_filter *f);
void params_sessions(struct params *p, struct query_filter *f);
void params_decisions(struct params *p, struct query_filter *f);
bool params_ok(struct params *p) MUST_USE;

/* %XX and, in a query, + undone; false if it is not UTF-8 then, has a NUL or half a %XX. */
bool params_decode(struct arena *a, str text, bool query, str *out) MUST_USE;
/* 422 (or another) with field and reason. */
void api_invalid(struct exchange *ex, int status, const char *field, str value,
                 const char *expected, const char *why);
