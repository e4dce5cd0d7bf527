/* The keywords that go down into an object's members or an array's items.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema/check.h"

static const struct schema_named *schema_named_find(const struct schema_rule *r, str name)
{
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = str_cmp(r->named[mid].name, name);

        if (c == 0)
            return &r->named[mid];
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* Applies a rest keyword to one child; `false` has its own message for a member. */
static bool schema_eval_rest(struct schema_check *c, const struct schema_at *at,
                             const char *keyword, const struct schema_node *rest,
                             const struct json_node *key)
{
    struct schema_fault f = {
        .node = at->node, .v = json_value(key), .keyword = keyword, .kind = SCHEMA_UNKNOWN};

    if (rest->kind == SCHEMA_NODE_FALSE)
        return schema_step(c, 1) && schema_fail_unknown(c, &f, key);
    return schema_eval(c, rest, f.v, NULL);
}

/* One member against all keywords that may name it; *named says whether any did. */
static bool schema_eval_member(struct schema_check *c, const struct schema_rule *r,
                               const struct json_node *key, bool *named)
{
    const struct json_node *v = json_value(key);
    const struct schema_named *property;
    struct schema_text name;
    bool ok = true;

    schema_text_get(&name, c->doc, key);
    property = schema_named_find(r, name.s);
    *named = property;
    if (property)
        ok = schema_eval(c, property->node, v, NULL);
    for (size_t i = 0; i < r->pattern_count && (ok || schema_goes_on(c)); i++)
        if (schema_matches(c, r->patterns[i].regex, name.s)) {
            *named = true;
            ok = schema_eval(c, r->patterns[i].node, v, NULL) && ok;
        }
    schema_text_release(&name);
    return ok;
}

bool schema_check_members(struct schema_check *c, const struct schema_at *at,
                          const struct schema_rule *r)
{
    size_t i = 0;
    bool ok = true;

    for (const struct json_node *k = json_first(c->doc, at->v); k && (ok || schema_goes_on(c));
         k = json_next(c->doc, at->v, k), i++) {
        bool named = false;

        if (!schema_step(c, 1 + k->size / 16))
            return false;
        ok = schema_eval_member(c, r, k, &named) && ok;
        if (!named && r->one && (ok || schema_goes_on(c)))
            ok = schema_eval_rest(c, at, r->rest_keyword, r->one, k) && ok;
        if (named || r->one)
            schema_marks_set(at->marks, i);
    }
    return ok;
}

/* A key is a string on the tape, so it can be checked like any value. */
bool schema_check_names(struct schema_check *c, const struct schema_at *at,
                        const struct schema_rule *r)
{
    bool ok = true;

    for (const struct json_node *k = json_first(c->doc, at->v); k && (ok || schema_goes_on(c));
         k = json_next(c->doc, at->v, k))
        ok = schema_step(c, 1) && schema_eval(c, r->one, k, NULL) && ok;
    return ok;
}

bool schema_check_items(struct schema_check *c, const struct schema_at *at,
                        const struct schema_rule *r)
{
    size_t i = 0;
    bool ok = true;

    for (const struct json_node *v = json_first(c->doc, at->v); v && (ok || schema_goes_on(c));
         v = json_next(c->doc, at->v, v), i++) {
        const struct schema_node *n = i < r->count ? r->list[i] : r->one;
        struct schema_fault f = {.node = at->node, .v = v, .keyword = r->rest_keyword};

        if (!n)
            break;
        schema_marks_set(at->marks, i);
        if (!schema_step(c, 1))
            return false;
        if (n->kind == SCHEMA_NODE_FALSE && i >= r->count)
            ok = schema_fail(c,
                             &f,
                             "no more than %zu item%s allowed",
                             r->count,
                             r->count == 1 ? " is" : "s are");
        else
            ok = schema_eval(c, n, v, NULL) && ok;
    }
    return ok;
}

static bool schema_contains_report(struct schema_check *c, const struct schema_at *at,
                                   const struct schema_rule *r, uint64_t found, uint64_t min)
{
    bool few = found < min;
    uint64_t bound = few ? min : r->max;
    struct schema_fault f = {.node = at->node,
                             .v = at->v,
                             .keyword = !few          ? "maxContains"
                                        : r->min_said ? "minContains"
                                                      : "contains"};

    return schema_fail(c,
                       &f,
                       "must contain at %s %llu item%s of the wanted kind, has %llu%s",
                       few ? "least" : "most",
                       (unsigned long long)bound,
                       bound == 1 ? "" : "s",
                       (unsigned long long)found,
                       few ? "" : " or more");
}

bool schema_check_contains(struct schema_check *c, const struct schema_at *at,
                           const struct schema_rule *r)
{
    uint64_t found = 0, min = r->min_said ? r->min : 1;
    bool every = r->marks && at->marks; /* each match counts, even when there are enough */
    size_t i = 0;

    for (const struct json_node *v = json_first(c->doc, at->v); v && found <= r->max;
         v = json_next(c->doc, at->v, v), i++) {
        bool match;

        if (!every && found >= min && r->max == UINT64_MAX)
            break;
        if (!schema_step(c, 1))
            return false;
        c->quiet++;
        match = schema_eval(c, r->one, v, NULL);
        assert(c->quiet > 0);
        c->quiet--;
        if (match && every)
            schema_marks_set(at->marks, i);
        found += match;
    }
    return !c->halted &&
           ((found >= min && found <= r->max) || schema_contains_report(c, at, r, found, min));
}

bool schema_check_unevaluated_items(struct schema_check *c, const struct schema_at *at,
                                    const struct schema_rule *r)
{
    struct schema_fault f = {.node = at->node, .keyword = r->keyword};
    size_t i = 0;
    bool ok = true;

    assert(at->marks);
    for (const struct json_node *v = json_first(c->doc, at->v); v && (ok || schema_goes_on(c));
         v = json_next(c->doc, at->v, v), i++) {
        if (!schema_step(c, 1))
            return false;
        f.v = v;
        if (schema_marks_has(at->marks, i))
            continue;
        if (r->one->kind == SCHEMA_NODE_FALSE)
            ok = schema_fail(c, &f, "no item is allowed here");
        else
            ok = schema_eval(c, r->one, v, NULL) && ok;
    }
    at->marks->all = true;
    return ok;
}

bool schema_check_unevaluated_properties(struct schema_check *c, const struct schema_at *at,
                                         const struct schema_rule *r)
{
    size_t i = 0;
    bool ok = true;

    assert(at->marks);
    for (const struct json_node *k = json_first(c->doc, at->v); k && (ok || schema_goes_on(c));
         k = json_next(c->doc, at->v, k), i++) {
        if (!schema_step(c, 1))
            return false;
        if (!schema_marks_has(at->marks, i))
            ok = schema_eval_rest(c, at, r->keyword, r->one, k) && ok;
    }
    at->marks->all = true;
    return ok;
}
