/* version.h - versions of a policy: which of them a case is verified against.
 *
 *     struct policy_want w = {.id = id, .version = version, .as_of = date, .today = today};
 *     if (!policy_version_find(docs, n, &w, &doc, e)) ...       e names the versions there are
 *
 * Documents of one id, with or without what follows an @ or a colon, are versions of one policy. A
 * version is in force from the day of effective_start to that of effective_end, both included; a
 * bound that is not given does not bound. If several are in force on a day, the one that began last
 * counts. If two of them began on the same day (their ids differ), the case is refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/case.h"
#include "apps/policy/search.h"
#include "base/clock.h"

#define POLICY_DAY_SIZE 11 /* "2026-11-17" and its NUL */

struct policy_want {
    str id;      /* of the document */
    str version; /* "": the one in force */
    str as_of;   /* a day, YYYY-MM-DD; "": today, or any day if the version is named */
    str today;
};

bool policy_is_day(str s);
str policy_today(const struct clock *c, char out[POLICY_DAY_SIZE]);
/* Whether the document has this id, or is a version of this one. */
bool policy_is_version(const struct policy_doc *d, str id);
bool policy_in_force(const struct policy_doc *d, str day);
struct policy_version_others {
    size_t count;                      /* of all versions of the id */
    const struct policy_doc *same_day; /* another one that began on the same day; or NULL */
};
/* The version of an id that is in force on a day; NULL: none. */
const struct policy_doc *policy_version_on(const struct policy_doc *const *docs, size_t n, str id,
                                           str day, struct policy_version_others *others);
/* *out NULL if there is no such document. False, ERR_INPUT: the document has versions, but not
 * the requested one; e does not begin with a path. */
bool policy_version_find(const struct policy_doc *const *docs, size_t n,
                         const struct policy_want *w, const struct policy_doc **out,
                         struct err *e) MUST_USE;
/* The document that a case names, or the only one there is, in the version that it names. *out is
 * NULL if there is no such document. False: e begins with the path of the member. */
bool policy_case_doc(const struct policy_case *c, const struct policy_doc *const *docs, size_t n,
                     str today, const struct policy_doc **out, struct err *e) MUST_USE;
/* The same for a document that is given as a file; the name in the case is ignored. */
bool policy_file_doc(const struct policy_case *c, const struct policy_doc *doc, str today,
                     const struct policy_doc **out, struct err *e) MUST_USE;
/* "v1 (2025-01-01 to 2025-12-31), v2 (from 2026-01-01)": those of an id, as many as fit. */
void policy_version_names(const struct policy_doc *const *docs, size_t n, str id, struct buf *out);
/* Dates are days and in order; versions of one id differ in name and in the day they begin. */
bool policy_versions_check(const struct policy_doc *const *docs, size_t n, struct err *e) MUST_USE;
/* {"version", "hash", "effective_from", "effective_to", "in_force"} into an open object. */
void policy_version_json(const struct policy_doc *d, bool in_force, struct json_out *o);
