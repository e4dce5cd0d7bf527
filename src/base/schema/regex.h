/* regex.h - ECMA-262 regular expressions on PCRE2, bounded in time and memory.
 *
 *     struct schema_regex *r;
 *     if (!schema_regex_new(STR("^[a-z]+$"), &r, e))
 *         return err_prefix(e, "pattern: ");
 *     struct schema_matcher m = {.work = &steps_left};
 *     switch (schema_regex_match(r, &m, text)) ...
 *     schema_matcher_release(&m);
 *     schema_regex_free(r);
 *
 * A pattern has its meaning of ECMA-262 with the u flag: it is rewritten where PCRE2 differs, and
 * refused where ECMA-262 has no such syntax. A regex is read only and can be shared by threads; a
 * matcher cannot.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#define SCHEMA_PATTERN_MAX 4096 /* bytes of a pattern */

struct schema_regex;

enum schema_match {
    SCHEMA_MATCH_NO,
    SCHEMA_MATCH_YES,
    SCHEMA_MATCH_LIMIT, /* abandoned: too many steps or too much memory */
};

/* State of matching, created at the first match. The caller sets only `work`. */
struct schema_matcher {
    uint64_t *work; /* steps left; matching decreases it */
    void *data, *context;
    size_t last_at;      /* the last position in the text */
    uint64_t step_extra; /* the additional cost of each step */
};

/* The pattern must be UTF-8. False: e says why it is invalid. */
bool schema_regex_new(str pattern, struct schema_regex **out, struct err *e) MUST_USE;
void schema_regex_free(struct schema_regex *r);
str schema_regex_source(const struct schema_regex *r);
size_t schema_regex_size(const struct schema_regex *r); /* bytes in memory */

/* Whether the pattern matches anywhere in text, which must be UTF-8. */
enum schema_match schema_regex_match(const struct schema_regex *r, struct schema_matcher *m,
                                     str text);
void schema_matcher_release(struct schema_matcher *m);

/* The pattern in PCRE2's syntax (pattern.c). */
bool schema_pattern_translate(str pattern, struct buf *out, struct err *e) MUST_USE;
