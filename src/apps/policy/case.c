/* case.c - a case from its JSON. See case.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/case.h"

#include "apps/policy/member.h"
#include "gateway/config_build.h"

#define FIXTURE_CONFIDENCE 0.9
#define BETWEEN_SECTIONS " > "

/* The members of each object; a labelled case also has a name and the expected results. */
#define BUNDLE_MEMBERS "case_id policy_id fields facts metadata criterion_id policy name expect"
#define ENVELOPE_MEMBERS " self_consistency options"
#define AROUND_MEMBERS                                                                             \
    "case_bundle case_id metadata criterion_id policy name expect" ENVELOPE_MEMBERS
#define FIELD_MEMBERS "field_name value confidence doc_id page bbox field_class field class"
#define POLICY_MEMBERS "policy_id version_id as_of_date doc_id section_path"
#define OPTION_MEMBERS "run_id samples controller"

/* The list must not be allocated then: its size is what the sender chose. */
static bool policy_case_is_over(struct member *m, const char *member, size_t n, size_t max)
{
    if (n > max && !m->failed) {
        m->failed = true;
        err_set(m->e, ERR_LIMIT, "%s%s: more than %zu", m->path, member, max);
    }
    return m->failed;
}

static void policy_case_check_members(struct member *m, const struct json_node *object,
                                      const char *names)
{
    if (m->failed || !m->strict || config_check_members(m->doc, object, names, m->e))
        return;
    m->failed = true;
    if (m->path[0])
        err_prefix(m->e, "%s.", m->path);
}

static struct policy_value policy_case_value_of(struct member *m, const struct json_node *v,
                                                unsigned depth, struct policy_case *c)
{
    struct policy_value out = {.kind = POLICY_NULL, .text = json_raw(m->doc, v)};
    bool object = v->kind == JSON_OBJECT;
    struct policy_value *items;
    size_t n = json_count(m->doc, v);

    assert(depth <= POLICY_VALUE_DEPTH_MAX);
    switch ((enum json_kind)v->kind) {
    case JSON_NULL:
        return out;
    case JSON_FALSE:
    case JSON_TRUE:
        out.kind = POLICY_BOOL;
        out.yes = v->kind == JSON_TRUE;
        return out;
    case JSON_NUMBER:
        out.kind = POLICY_NUMBER;
        return json_double(m->doc, v, &out.number) ? out : (struct policy_value){.text = out.text};
    case JSON_STRING:
        out.kind = POLICY_TEXT;
        return json_text(m->doc, v, m->arena, &out.text) ? out : (struct policy_value){0};
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    out.kind = object ? POLICY_MAP : POLICY_LIST;
    if (depth == POLICY_VALUE_DEPTH_MAX || n == 0 || m->failed)
        return out;
    if (n > POLICY_VALUES_MAX - c->value_count) {
        m->failed = true;
        err_set(m->e,
                ERR_LIMIT,
                "%s.value: more than %d entries in the values of a case",
                m->path,
                POLICY_VALUES_MAX);
        return out;
    }
    c->value_count += n;
    out.items = items = arena_zero(m->arena, n, sizeof items[0]);
    JSON_FOREACH(x, m->doc, v)
        items[out.count++] = policy_case_value_of(m, object ? json_value(x) : x, depth + 1, c);
    return out;
}

static void policy_read_field(struct member *m, const struct json_node *v, bool fixture,
                              struct policy_case *c)
{
    struct policy_field *f = &c->fields[c->field_count++];
    const char *name = fixture ? "field" : "field_name";
    const struct json_node *value = json_find(m->doc, v, STR("value"));

    *f = (struct policy_field){.name = STR(""), .doc_id = STR(""), .field_class = STR("")};
    if (v->kind != JSON_OBJECT)
        member_wrong_kind(m, "", "an object", v);
    policy_case_check_members(m, v, FIELD_MEMBERS);
    if (!member_find(m, v, name)) /* either name in either shape */
        name = member_find(m, v, "field") ? "field" : "field_name";
    f->confidence = fixture ? FIXTURE_CONFIDENCE : -1;
    f->page = fixture ? 1 : 0;
    f->has_bbox = fixture;
    member_text(m, v, name, true, &f->name);
    if (!value)
        member_wrong(m, "value", "is missing");
    if (m->failed)
        return;
    f->raw = json_raw(m->doc, value);
    f->value = policy_case_value_of(m, value, 0, c);
    f->key = policy_key(m->arena, f->name);
    member_between(m, v, "confidence", 0, 1, &f->confidence);
    member_page(m, v, "page", false, &f->page);
    member_box(m, v, "bbox", &f->has_bbox, f->bbox);
    member_id(m, v, "doc_id", false, &f->doc_id);
    member_text(m, v, "class", false, &f->field_class);
    member_text(m, v, "field_class", false, &f->field_class);
    if (f->confidence < 0)
        member_wrong(m, "confidence", "is missing");
}

static void policy_read_fields(struct member *m, const struct json_node *v, struct policy_case *c)
{
    const struct json_node *fields = member_kind(m, v, "fields", JSON_ARRAY);
    const struct json_node *facts = member_kind(m, v, "facts", JSON_ARRAY);
    const struct json_node *list = fields ? fields : facts;
    size_t at, n = json_count(m->doc, list);

    if (!list) {
        member_wrong(m, "fields", "is missing");
        return;
    }
    at = member_into(m, fields ? "fields" : "facts");
    if (policy_case_is_over(m, "", n, POLICY_FIELDS_MAX))
        return;
    c->fields = arena_zero(m->arena, n + 1, sizeof c->fields[0]);
    for (const struct json_node *f = json_first(m->doc, list); f && !m->failed;
         f = json_next(m->doc, list, f)) {
        size_t inner = member_into_at(m, c->field_count);

        assert(c->field_count < n);
        policy_read_field(m, f, list == facts, c);
        member_back(m, inner);
    }
    member_back(m, at);
}

static void policy_read_criteria(struct member *m, const struct json_node *list,
                                 struct policy_case *c)
{
    size_t n = json_count(m->doc, list);

    if (policy_case_is_over(m, ".criteria", n, POLICY_CRITERIA_MAX))
        return;
    c->criteria = arena_zero(m->arena, n + 1, sizeof c->criteria[0]);
    c->criterion_count = 0; /* the list of the bundle replaces the case's own */
    for (const struct json_node *v = json_first(m->doc, list); v && !m->failed;
         v = json_next(m->doc, list, v)) {
        /* An entry may also be an object that has the id. */
        const struct json_node *id = v->kind == JSON_OBJECT ? member_find(m, v, "criterion_id") : v;
        str *to = &c->criteria[c->criterion_count++];

        assert(c->criterion_count <= n);
        if (!json_text(m->doc, id, m->arena, to) || str_trim(*to).n == 0)
            member_wrong(m, "criteria", "a list of criterion ids is expected");
        else if (to->n > MEMBER_ID_MAX)
            member_wrong(m, "criteria", "a criterion has more than 4096 bytes");
    }
}

static void policy_case_read_metadata(struct member *m, const struct json_node *v,
                                      struct policy_case *c, str *single)
{
    size_t at;
    const struct json_node *meta = member_enter(m, v, "metadata", false, &at), *list;

    if (!meta)
        return;
    c->metadata = json_raw(m->doc, meta);
    list = member_kind(m, meta, "criteria", JSON_ARRAY);
    if (list)
        policy_read_criteria(m, list, c);
    member_text(m, meta, "policy_document_id", false, &c->policy_document_id);
    member_text(m, meta, "policy_version_id", false, &c->policy_version_id);
    member_text(m, meta, "as_of_date", false, &c->as_of_date);
    member_id(m, meta, "criterion_id", false, single);
    member_text(m, meta, "reasoning_hint", false, &c->reasoning_hint);
    member_text(m, meta, "effective_start", false, &c->effective_start);
    member_text(m, meta, "effective_end", false, &c->effective_end);
    member_back(m, at);
}

/* A path is a text, or a list of titles. */
static void policy_read_section(struct member *m, const struct json_node *v, struct policy_case *c)
{
    const struct json_node *path = member_find(m, v, "section_path");
    struct buf all;

    if (!path || json_text(m->doc, path, m->arena, &c->section_path))
        return;
    if (path->kind != JSON_ARRAY)
        member_wrong(m, "section_path", "a string or a list of titles is expected");
    buf_init(&all, 2 * POLICY_CASE_MAX);
    JSON_FOREACH(n, m->doc, path) {
        str title = STR("");

        if (!json_text(m->doc, n, m->arena, &title))
            member_wrong(m, "section_path", "a string or a list of titles is expected");
        buf_add(&all, all.n ? STR(BETWEEN_SECTIONS) : STR(""));
        buf_add(&all, title);
    }
    c->section_path = arena_move_buf(m->arena, &all);
}

/* The fixture's policy, where the bundle does not name one. */
static void policy_read_policy(struct member *m, const struct json_node *v, struct policy_case *c)
{
    size_t at;
    const struct json_node *policy = member_enter(m, v, "policy", false, &at);

    if (!policy)
        return;
    policy_case_check_members(m, policy, POLICY_MEMBERS);
    member_id(m, policy, "policy_id", false, &c->policy_id);
    member_text(m, policy, "version_id", false, &c->policy_version_id);
    member_text(m, policy, "as_of_date", false, &c->as_of_date);
    member_text(m, policy, "doc_id", false, &c->policy_document_id);
    policy_read_section(m, policy, c);
    member_back(m, at);
}

static void policy_default_criterion(struct member *m, struct policy_case *c, str single)
{
    if (c->criterion_count > 0)
        return;
    c->criteria = arena_zero(m->arena, 1, sizeof c->criteria[0]);
    c->criteria[0] =
        single.n > 0 ? single : arena_join(m->arena, c->policy_id, STR(":default"), STR(""));
    c->criterion_count = 1;
    c->criteria_default = single.n == 0;
    assert(c->criterion_count > 0);
}

static void policy_read_bundle(struct member *m, const struct json_node *v,
                               const struct json_node *outer, struct policy_case *c)
{
    bool fixture = member_find(m, v, "facts") && !member_find(m, v, "fields");
    str single = STR("");

    policy_read_policy(m, outer, c);
    if (v != outer)
        policy_read_policy(m, v, c);
    member_id(m, outer, "criterion_id", false, &single);
    member_id(m, v, "criterion_id", false, &single);
    member_id(m, outer, "case_id", false, &c->case_id);
    member_id(m, v, "case_id", !fixture, &c->case_id);
    member_id(m, v, "policy_id", !fixture, &c->policy_id);
    policy_read_fields(m, v, c);
    if (v != outer)
        policy_case_read_metadata(m, outer, c, &single);
    policy_case_read_metadata(m, v, c, &single);
    if (c->case_id.n == 0)
        c->case_id = STR("case");
    policy_default_criterion(m, c, single);
}

static void policy_read_envelope(struct member *m, const struct json_node *v,
                                 struct policy_case *out)
{
    const struct json_node *bundle = member_kind(m, v, "case_bundle", JSON_OBJECT), *options;
    size_t at;

    policy_case_check_members(m, v, bundle ? AROUND_MEMBERS : BUNDLE_MEMBERS ENVELOPE_MEMBERS);
    member_bool(m, v, "self_consistency", &out->self_consistency);
    options = member_enter(m, v, "options", false, &at);
    if (options) {
        policy_case_check_members(m, options, OPTION_MEMBERS);
        out->options = json_raw(m->doc, options);
        member_back(m, at);
    }
    if (bundle) {
        member_into(m, "case_bundle");
        policy_case_check_members(m, bundle, BUNDLE_MEMBERS);
    }
    if (!m->failed)
        policy_read_bundle(m, bundle ? bundle : v, v, out);
}

static bool policy_case_read_as(str json, bool strict, struct arena *a, struct policy_case *out,
                                struct err *e)
{
    struct json doc;
    struct member m = {.doc = &doc, .arena = a, .e = e, .strict = strict};
    const struct json_node *root;
    str empty = STR("");

    if (json.n > POLICY_CASE_MAX)
        return err_set(
            e, ERR_LIMIT, "the case is %zu bytes, the limit is %zu", json.n, POLICY_CASE_MAX);
    *out = (struct policy_case){.case_id = empty, .policy_id = empty, .section_path = empty};
    out->policy_document_id = out->policy_version_id = out->reasoning_hint = empty;
    out->effective_start = out->effective_end = out->as_of_date = empty;
    out->metadata = out->options = STR("{}");
    m.failed = !json_open(&doc, json, e);
    root = m.failed ? NULL : json_root(&doc);
    if (root && root->kind == JSON_OBJECT)
        policy_read_envelope(&m, root, out);
    else if (root)
        member_wrong(&m, "case", "an object is expected");
    json_release(&doc);
    return !m.failed;
}

bool policy_case_read(str json, struct arena *a, struct policy_case *out, struct err *e)
{
    return policy_case_read_as(json, true, a, out, e);
}

bool policy_case_read_stored(str json, struct arena *a, struct policy_case *out, struct err *e)
{
    return policy_case_read_as(json, false, a, out, e);
}
