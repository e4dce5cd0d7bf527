/* check.h - a check in progress, as the files that put it into effect share it.
 *
 * schema_eval tries one node on one value. A rule that fails calls schema_fail, which tells the
 * problem unless the check is quiet (an alternative is being tried), and answers false. Rules go on
 * after a failure only if schema_goes_on says so.
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
    unsigned quiet; /* problems are not told */
    bool halted;    /* a bound was reached or enough was told: everybody returns */
    bool failed;
    struct buf *explain; /* the first problem goes here and no further */
    const struct schema_sink *sink;
    size_t told;
    struct err *e;
    struct schema_matcher matcher;
};

/* What a rule is checked on. marks is NULL if nobody asks for them. */
struct schema_at {
    const struct schema_node *node;
    const struct json_node *v;
    struct schema_marks *marks;
};

typedef bool schema_rule_fn(struct schema_check *c, const struct schema_at *at,
                            const struct schema_rule *r);

bool schema_eval(struct schema_check *c, const struct schema_node *n, const struct json_node *v,
                 struct schema_marks *marks);

/* Takes steps; false if there are none left, and then the check has halted. */
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

/* Whether an object has a member of this name. Takes steps. */
bool schema_has(struct schema_check *c, const struct json_node *object, str name);
const struct schema_rule *schema_rule_find(const struct schema_node *n, enum schema_op op);
bool schema_type_fits(const struct schema_check *c, const struct json_node *v, unsigned types);
/* Whether v is one of the values of a const or enum rule of node. */
bool schema_value_in(struct schema_check *c, const struct json_node *v,
                     const struct schema_node *node, const struct schema_rule *r);
/* A regular expression on a string; a bound that was reached halts the check. */
bool schema_matches(struct schema_check *c, const struct schema_regex *regex, str text);

/* ---- telling: report.c ---- */

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

/* Words for sentences, cut to fit. */
struct schema_word {
    char p[72];
};
struct schema_word schema_quote(str name);
struct schema_word schema_show(const struct json *doc, const struct json_node *v);
const char *schema_kind_name(const struct json_node *v);
/* "string", "string or null", "string, number or null". */
struct schema_word schema_types_name(unsigned types);
