/* check.h - a check in progress, for the files that implement it.
 *
 * schema_eval tries one node on one value. A rule that fails calls schema_fail, which reports the
 * problem unless the check is quiet (an alternative is being tried), and returns false. Rules
 * continue after a failure only if schema_goes_on returns true.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/schema/internal.h"

/* Which members or elements of one value have been evaluated, for the unevaluated keywords. */
struct schema_marks {
    uint64_t *bits;
    size_t n;
    bool all;
    uint64_t few[2]; /* the bits, if they fit */
};

void schema_marks_init(struct schema_marks *m, size_t n);
void schema_marks_release(struct schema_marks *m);
void schema_marks_set(struct schema_marks *m, size_t i); /* m may be NULL */
void schema_marks_join(struct schema_marks *m, const struct schema_marks *more);
bool schema_marks_has(const struct schema_marks *m, size_t i);

/* The schemas around the one being tried, innermost first: the dynamic scope. */
struct schema_frame {
    const struct schema_node *node;
    const struct json_node *v;
    const struct schema_frame *up;
};

struct schema_check {
    const struct schema *s;
    const struct json *doc;
    const struct json_node *root;
    uint64_t work; /* steps left */
    const struct schema_frame *frame;
    unsigned depth;
    unsigned quiet; /* not 0: problems are not reported */
    bool halted;    /* a limit was reached or enough was reported: all functions return */
    bool failed;
    struct buf *explain; /* receives the first problem, which is not reported elsewhere */
    const struct schema_sink *sink;
    size_t report_count;
    struct err *e;
    struct schema_matcher matcher;
};

/* The value that a rule is checked on. marks is NULL if no keyword needs them. */
struct schema_at {
    const struct schema_node *node;
    const struct json_node *v;
    struct schema_marks *marks;
};

typedef bool schema_rule_fn(struct schema_check *c, const struct schema_at *at,
                            const struct schema_rule *r);

bool schema_eval(struct schema_check *c, const struct schema_node *n, const struct json_node *v,
                 struct schema_marks *marks);

/* Counts steps; false if none are left: then the check ends. */
bool schema_step(struct schema_check *c, uint64_t steps);
bool schema_goes_on(const struct schema_check *c);

schema_rule_fn schema_check_type, schema_check_const, schema_check_enum, schema_check_minimum,
    schema_check_maximum, schema_check_multiple, schema_check_length, schema_check_pattern,
    schema_check_item_count, schema_check_property_count, schema_check_required, schema_check_needs,
    schema_check_unique; /* assert.c */
schema_rule_fn schema_check_names, schema_check_members, schema_check_items, schema_check_contains,
    schema_check_unevaluated_items, schema_check_unevaluated_properties; /* children.c */
schema_rule_fn schema_check_ref, schema_check_all, schema_check_any, schema_check_one,
    schema_check_not, schema_check_if, schema_check_dependent; /* in_place.c */

/* Whether an object has a member of this name. Counts steps. */
bool schema_has(struct schema_check *c, const struct json_node *object, str name);
const struct schema_rule *schema_rule_find(const struct schema_node *n, enum schema_op op);
bool schema_type_fits(struct schema_check *c, const struct json_node *v, unsigned types);
/* Whether v is one of the values of a const or enum rule of node. */
bool schema_value_in(struct schema_check *c, const struct json_node *v,
                     const struct schema_node *node, const struct schema_rule *r);
/* Matches a regular expression with a string; reaching a limit halts the check. */
bool schema_matches(struct schema_check *c, const struct schema_regex *regex, str text);

/* ---- reporting: report.c ---- */

struct schema_fault {
    const struct schema_node *node;
    const struct json_node *v;
    const char *keyword;
    enum schema_problem_kind kind;
    str name, nearest;
};

/* Both return false. */
bool schema_fail(struct schema_check *c, const struct schema_fault *f, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
bool schema_halt(struct schema_check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A property that no keyword allows; f.v is its value. */
bool schema_fail_unknown(struct schema_check *c, const struct schema_fault *f,
                         const struct json_node *key);

/* Words for sentences, truncated to fit. */
struct schema_word {
    char p[72];
};
struct schema_word schema_quote(str name);
struct schema_word schema_show(const struct json *doc, const struct json_node *v);
const char *schema_kind_name(const struct json_node *v);
/* "string", "string or null", "string, number or null". */
struct schema_word schema_types_name(unsigned types);
