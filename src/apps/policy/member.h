/* member.h - members of JSON objects, read strictly: an error begins with the member's path.
 *
 *     struct member m = {.doc = &doc, .arena = &arena, .e = e};
 *     v = member_enter(&m, v, "case_bundle", true, &at);
 *     member_text(&m, v, "case_id", true, &id);             "case_bundle.case_id: is missing"
 *     member_back(&m, at);
 *     return !m.failed;
 *
 * Each function leaves its output unchanged if the member is absent or null, unless the member is
 * required. A reader is sticky: it keeps its first error in e, and then reads nothing more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

struct member {
    const struct json *doc;
    struct arena *arena;
    struct err *e;
    bool failed;
    bool strict;    /* unknown members are errors, where a reader checks them */
    char path[200]; /* of the object that is read */
};

/* Goes into a member; returns the value for member_back. */
size_t member_into(struct member *m, const char *name);
size_t member_into_at(struct member *m, size_t index);
void member_back(struct member *m, size_t at);
/* The object of that name, and into it; NULL if it is not there. */
const struct json_node *member_enter(struct member *m, const struct json_node *v, const char *name,
                                     bool must, size_t *at);
/* Always false. */
bool member_wrong(struct member *m, const char *name, const char *what);
/* "NAME: a list is expected, not a number". */
bool member_wrong_kind(struct member *m, const char *name, const char *want,
                       const struct json_node *found);

/* NULL if it is absent or null. */
const struct json_node *member_find(const struct member *m, const struct json_node *v,
                                    const char *name);
bool member_text(struct member *m, const struct json_node *v, const char *name, bool must,
                 str *out);
/* The same of an id, which is stored and shown with each result: at most MEMBER_ID_MAX bytes. */
bool member_id(struct member *m, const struct json_node *v, const char *name, bool must, str *out);
#define MEMBER_ID_MAX 4096
bool member_bool(struct member *m, const struct json_node *v, const char *name, bool *out);
bool member_between(struct member *m, const struct json_node *v, const char *name, double low,
                    double high, double *out);
bool member_page(struct member *m, const struct json_node *v, const char *name, bool must,
                 uint32_t *out);
/* Exactly four numbers. */
bool member_box(struct member *m, const struct json_node *v, const char *name, bool *has,
                double out[4]);
/* NULL if it is absent. */
const struct json_node *member_kind(struct member *m, const struct json_node *v, const char *name,
                                    enum json_kind kind);
