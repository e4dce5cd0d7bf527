/* case.h - the case to verify: facts with their confidence and place in a document.
 *
 *     struct policy_case c;
 *     if (!policy_case_read(body, &arena, &c, e)) ...      e: "case_bundle.fields[2].page: ..."
 *     for (size_t i = 0; i < c.criterion_count; i++) ...
 *     const struct policy_field *f = policy_fact(&c, STR("Patient Age"));
 *
 * Both shapes are taken, alone or in the request envelope {"case_bundle", "self_consistency",
 * "options"}: the bundle (case_id, policy_id, fields[] with field_name, metadata{}) and the fixture
 * (facts[] with field and class, policy{policy_id, version_id, as_of_date, doc_id, section_path},
 * criterion_id), whose defaults are confidence 0.9, page 1, a box of zeros.
 *
 * Everything is checked: an unknown member, a member of the wrong type, a confidence outside of 0
 * to 1, a page below 1, a box that is not four numbers are errors that begin with the path of the
 * member. The metadata may have other members; "name" and "expect" are those of labelled cases.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define POLICY_FIELDS_MAX 4096
#define POLICY_CRITERIA_MAX 256
#define POLICY_VALUE_DEPTH_MAX 16
#define POLICY_VALUES_MAX 500000 /* entries of lists and objects in the values of all fields */
#define POLICY_CASE_MAX ((size_t)10 << 20)

enum policy_kind { POLICY_NULL, POLICY_BOOL, POLICY_NUMBER, POLICY_TEXT, POLICY_LIST, POLICY_MAP };

struct policy_value {
    enum policy_kind kind;
    bool yes;                         /* of a POLICY_BOOL */
    double number;                    /* of a POLICY_NUMBER */
    str text;                         /* of a POLICY_TEXT; of the others their JSON */
    const struct policy_value *items; /* of a POLICY_LIST, and the values of a POLICY_MAP */
    size_t count;
};

struct policy_field {
    str name; /* unchanged */
    str key;  /* lower case, spaces and dashes to underscores */
    struct policy_value value;
    str raw; /* the value as JSON */
    double confidence;
    str doc_id;    /* "" if not given */
    uint32_t page; /* 0 if not given */
    bool has_bbox;
    double bbox[4];
    str field_class; /* "" if not given */
};

struct policy_case {
    str case_id, policy_id;
    struct policy_field *fields;
    size_t field_count;
    size_t value_count; /* entries of lists and objects in their values */
    str *criteria;      /* metadata.criteria, else criterion_id, else "<policy_id>:default" */
    size_t criterion_count;
    bool criteria_default;                     /* the case names none */
    str policy_document_id, policy_version_id; /* "" if not given */
    str as_of_date;   /* selects the version in force on that day, YYYY-MM-DD; or "" */
    str section_path; /* of the fixture shape: joined by " > " */
    str reasoning_hint, effective_start, effective_end;
    str metadata, options; /* JSON objects; "{}" if not there */
    bool self_consistency;
};

/* Texts are in the arena or in json, which must both outlive the case. */
bool policy_case_read(str json, struct arena *a, struct policy_case *out, struct err *e) MUST_USE;
/* The same of a case that was accepted before: unknown members are ignored, because an earlier
 * version may have accepted them. */
bool policy_case_read_stored(str json, struct arena *a, struct policy_case *out,
                             struct err *e) MUST_USE;

/* Lower case, everything else that is no letter or digit to single underscores. */
str policy_key(struct arena *a, str name);
/* The first field of that name however it is written, or NULL. */
const struct policy_field *policy_fact(const struct policy_case *c, str name);
/* facts_get's answer: {"success": true, "field_name", "value", "confidence", "doc_id", "page",
 * "bbox", "field_class"}, with "conflicts" if other fields of that name say something else; or
 * {"success": false, "error", "available_fields": [...]}. */
void policy_fact_json(const struct policy_case *c, str name, struct json_out *o);
/* Whether two values say the same: 18 and "18", "Yes" and true, texts without case. */
bool policy_value_equal(const struct policy_value *a, const struct policy_value *b);
