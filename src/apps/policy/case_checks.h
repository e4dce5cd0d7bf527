/* case_checks.h - checks a case for errors before anybody decides on it, without a model.
 *
 *     policy_qa(&c, doc, &arena, &out);          {"issues": [...], "clean": false}
 *
 * An issue is {issue_type, description, severity, affected_fields, evidence}. Types:
 *
 *     low_confidence_field  high    its extraction is below the floor
 *     conflicting_fields    high    two fields of one name say different things
 *     duplicate_field       low     two fields of one name say the same
 *     missing_value         medium  null, or an empty text
 *     missing_evidence      medium  no document is named, so nobody can look it up
 *     invalid_code          high    a field named as a code that has not its form
 *     invalid_date          medium  a field named as a date that is not a date
 *     dates_out_of_order    high    a start after its end, a birth after a visit
 *     missing_policy_document  high    the case names no policy document that is known
 *     no_fields             high    there is nothing to verify with
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/case.h"
#include "apps/policy/search.h"

/* doc may be NULL. */
void policy_case_check(const struct policy_case *c, const struct policy_doc *doc, struct arena *a,
                       struct json_out *o);
