/* member.h - members of JSON objects, read strictly: an error begins with the member's path.
 *
 *     struct member m = {.doc = &doc, .arena = &arena, .e = e};
 *     member_into(&m, "case_bundle");
 *     ok = member_text(&m, v, "case_id", true, &id);        "case_bundle.case_id: is missing"
 *     member_back(&m, at);
 *
 * Each leaves what it was given alone where the member is not there or null, unless it must be.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"

struct member {
    const struct json *doc;
    struct arena *arena;
    struct err *e;
    char path[160]; /* of the object that is read */
};

/* Further in; gives what member_back wants. */
size_t member_into(struct member *m, const char *name);
size_t member_into_at(struct member *m, size_t index);
void member_back(struct member *m, size_t at);
bool member_wrong(struct member *m, const char *name, const char *what);

/* NULL if it is not there or null. */
const struct json_node *member_find(const struct member *m, const struct json_node *v,
                                    const char *name);
bool member_text(struct member *m, const struct json_node *v, const char *name, bool must,
                 str *out) MUST_USE;
bool member_bool(struct member *m, const struct json_node *v, const char *name, bool *out) MUST_USE;
bool member_between(struct member *m, const struct json_node *v, const char *name, double low,
                    double high, double *out) MUST_USE;
bool member_page(struct member *m, const struct json_node *v, const char *name, bool must,
                 uint32_t *out) MUST_USE;
/* Exactly four numbers. */
bool member_box(struct member *m, const struct json_node *v, const char *name, bool *has,
                double out[4]) MUST_USE;
/* NULL in *out if it is not there. */
bool member_kind(struct member *m, const struct json_node *v, const char *name, enum json_kind kind,
                 const struct json_node **out) MUST_USE;
