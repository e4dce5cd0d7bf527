/* params.h - query parameters, decoded and checked.
 *
 *     struct params p;
 *     params_init(&p, ex, arena);
 *     limit = params_i64(&p, "limit", 20, 1, 100);
 *     text = params_text(&p, "q");
 *     if (!params_ok(&p)) return;               after answering 422
 *
 * Sticky: params_ok reports the first wrong parameter. A parameter that no call has asked for is
 * unknown, and refused with 400: a filter that is misspelt must not be a list of everything. Names
 * that begin with "_" pass, because clients add such ones against caches.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/internal.h"
#include "store/query.h"

#define PARAMS_MAX 64
#define PARAMS_TEXT_MAX 1000 /* bytes of a value */
#define PARAMS_KNOWN_MAX 24

struct params {
    struct exchange *ex;
    size_t n;
    struct {
        str name, value;
    } at[PARAMS_MAX];
    str known[PARAMS_KNOWN_MAX]; /* the names that were asked for */
    size_t known_count;
    const char *field, *expected; /* of the wrong parameter; NULL: none */
    str value;
    char why[160];
};

/* The texts are in the arena. */
void params_init(struct params *p, struct exchange *ex, struct arena *a);
/* Empty if it was not given. */
str params_text(struct params *p, const char *name);
int64_t params_i64(struct params *p, const char *name, int64_t otherwise, int64_t min, int64_t max);
int params_flag(struct params *p, const char *name); /* -1 if it was not given */
/* One of the words, which are separated by spaces, or empty. */
str params_choice(struct params *p, const char *name, const char *words);
void params_wrong(struct params *p, const char *field, const char *expected, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* start_date_us, end_date_us and the other filters of sessions; the filters of decisions. */
void params_dates(struct params *p, struct query_filter *f);
void params_sessions(struct params *p, struct query_filter *f);
void params_decisions(struct params *p, struct query_filter *f);
/* Replies 422 to a wrong parameter, 400 to an unknown one. */
bool params_ok(struct params *p) MUST_USE;
/* The same for a route that has only these names, separated by spaces, and reads them itself. A
 * name that ends with '*' may be given several times. */
bool params_are(struct exchange *ex, const char *names) MUST_USE;

/* Decodes %XX and, in a query, +; false if the result is not UTF-8 or has a NUL, or a %XX is
 * incomplete. */
bool params_decode(struct arena *a, str text, bool query, str *out) MUST_USE;
/* Replies 422 (or another status) with field and reason. */
void api_invalid(struct exchange *ex, int status, const char *field, str value,
                 const char *expected, const char *why);
