/* The keywords that look at the value alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema/check.h"

#define FAULT(at, word)                                                                            \
    (&(struct schema_fault){.node = (at)->node, .v = (at)->v, .keyword = (word)})
#define ENUM_SHOWN_MAX 12

/* Size of a text or number that is read as a whole by each check. */
static bool schema_step_size(struct schema_check *c, const struct json_node *v)
{
    return schema_step(c, v->size / 16);
}

bool schema_type_fits(struct schema_check *c, const struct json_node *v, unsigned types)
{
    struct schema_decimal d;

    if (types & 1u << v->kind)
        return true;
    if (v->kind != JSON_NUMBER || !(types & SCHEMA_TYPE_INTEGER))
        return false;
    if (!v->escaped)
        return true; /* neither fraction nor exponent */
    if (!schema_step_size(c, v))
        return false;
    schema_decimal_read(&d, json_raw(c->doc, v));
    return schema_decimal_is_integer(&d);
}

bool schema_check_type(struct schema_check *c, const struct schema_at *at,
                       const struct schema_rule *r)
{
    if (schema_type_fits(c, at->v, r->types))
        return true;
    if (c->quiet || c->halted)
        return false;
    return schema_fail(c,
                       FAULT(at, r->keyword),
                       "expected %s, got %s",
                       schema_types_name(r->types).p,
                       at->v->kind == JSON_NUMBER && (r->types & SCHEMA_TYPE_INTEGER)
                           ? schema_show(c->doc, at->v).p
                           : schema_kind_name(at->v));
}

bool schema_value_in(struct schema_check *c, const struct json_node *v,
                     const struct schema_node *node, const struct schema_rule *r)
{
    const struct json *doc = &node->resource->doc->json;
    uint64_t hash;

    assert(r->op == SCHEMA_OP_CONST || r->op == SCHEMA_OP_ENUM);
    if (!schema_step(c, v->span + v->size / 32 + r->count / 8))
        return false;
    hash = schema_hash(c->doc, v);
    for (size_t i = 0; i < r->count; i++)
        if (r->hashes[i] == hash && json_equal(doc, r->values[i], c->doc, v))
            return true;
    return false;
}

bool schema_check_const(struct schema_check *c, const struct schema_at *at,
                        const struct schema_rule *r)
{
    assert(r->count == 1);
    if (schema_value_in(c, at->v, at->node, r))
        return true;
    if (c->quiet)
        return false;
    return schema_fail(c,
                       FAULT(at, r->keyword),
                       "must be %s, got %s",
                       schema_show(&at->node->resource->doc->json, r->values[0]).p,
                       schema_show(c->doc, at->v).p);
}

bool schema_check_enum(struct schema_check *c, const struct schema_at *at,
                       const struct schema_rule *r)
{
    size_t shown = r->count < ENUM_SHOWN_MAX ? r->count : ENUM_SHOWN_MAX;
    struct buf list;

    if (schema_value_in(c, at->v, at->node, r))
        return true;
    if (c->quiet)
        return false;
    buf_init(&list, 2048);
    for (size_t i = 0; i < shown; i++)
        buf_printf(&list,
                   "%s%s",
                   i ? ", " : "",
                   schema_show(&at->node->resource->doc->json, r->values[i]).p);
    if (shown < r->count)
        buf_printf(&list, " and %zu more", r->count - shown);
    schema_fail(c,
                FAULT(at, r->keyword),
                "must be one of " STR_FMT "; got %s",
                STR_ARG(buf_str(&list)),
                schema_show(c->doc, at->v).p);
    buf_release(&list);
    return false;
}

/* How the value compares with the rule's number. */
static int schema_assert_compare(const struct schema_check *c, const struct json_node *v,
                                 const struct schema_rule *r)
{
    struct schema_decimal d;

    assert(v->kind == JSON_NUMBER);
    schema_decimal_read(&d, json_raw(c->doc, v));
    return schema_decimal_cmp(&d, &r->number);
}

static bool schema_assert_out_of_bounds(struct schema_check *c, const struct schema_at *at,
                                        const struct schema_rule *r, const char *must)
{
    const struct json *doc = &at->node->resource->doc->json;

    if (c->quiet)
        return false;
    return schema_fail(c,
                       FAULT(at, r->keyword),
                       "must be %s %s, got %s",
                       must,
                       schema_show(doc, json_find(doc, at->node->at, str_c(r->keyword))).p,
                       schema_show(c->doc, at->v).p);
}

bool schema_check_minimum(struct schema_check *c, const struct schema_at *at,
                          const struct schema_rule *r)
{
    bool strict = r->exclusive || r->op == SCHEMA_OP_EXCLUSIVE_MINIMUM;

    if (!schema_step_size(c, at->v))
        return false;
    if (schema_assert_compare(c, at->v, r) >= strict)
        return true;
    return schema_assert_out_of_bounds(c, at, r, strict ? "greater than" : "at least");
}

bool schema_check_maximum(struct schema_check *c, const struct schema_at *at,
                          const struct schema_rule *r)
{
    bool strict = r->exclusive || r->op == SCHEMA_OP_EXCLUSIVE_MAXIMUM;

    if (!schema_step_size(c, at->v))
        return false;
    if (schema_assert_compare(c, at->v, r) <= -strict)
        return true;
    return schema_assert_out_of_bounds(c, at, r, strict ? "less than" : "at most");
}

bool schema_check_multiple(struct schema_check *c, const struct schema_at *at,
                           const struct schema_rule *r)
{
    struct schema_decimal d;

    if (!schema_step_size(c, at->v))
        return false;
    assert(at->v->kind == JSON_NUMBER && r->number.count > 0);
    schema_decimal_read(&d, json_raw(c->doc, at->v));
    return schema_decimal_divides(&r->number, &d) ||
           schema_assert_out_of_bounds(c, at, r, "a multiple of");
}

/* least and most are the keywords' names, `thing` names the counted elements. */
static bool schema_check_count(struct schema_check *c, const struct schema_at *at,
                               const struct schema_rule *r, uint64_t n, const char *const names[3])
{
    bool few = n < r->min;
    uint64_t bound = few ? r->min : r->max;

    if (!few && n <= r->max)
        return true;
    return schema_fail(c,
                       FAULT(at, names[!few]),
                       "must have at %s %llu %s%s, has %llu",
                       few ? "least" : "most",
                       (unsigned long long)bound,
                       names[2],
                       bound == 1 ? "" : "s",
                       (unsigned long long)n);
}

bool schema_check_length(struct schema_check *c, const struct schema_at *at,
                         const struct schema_rule *r)
{
    static const char *const names[] = {"minLength", "maxLength", "character"};

    return schema_step_size(c, at->v) &&
           schema_check_count(c, at, r, schema_text_count(c->doc, at->v), names);
}

bool schema_check_item_count(struct schema_check *c, const struct schema_at *at,
                             const struct schema_rule *r)
{
    static const char *const names[] = {"minItems", "maxItems", "item"};
    size_t n = json_count(c->doc, at->v);

    return schema_step(c, n / 4) && schema_check_count(c, at, r, n, names);
}

bool schema_check_property_count(struct schema_check *c, const struct schema_at *at,
                                 const struct schema_rule *r)
{
    static const char *const names[] = {"minProperties", "maxProperties", "member"};
    size_t n = json_count(c->doc, at->v);

    return schema_step(c, n / 4) && schema_check_count(c, at, r, n, names);
}

bool schema_matches(struct schema_check *c, const struct schema_regex *regex, str text)
{
    if (!schema_step(c, 4))
        return false;
    switch (schema_regex_match(regex, &c->matcher, text)) {
    case SCHEMA_MATCH_YES:
        return true;
    case SCHEMA_MATCH_NO:
        return false;
    case SCHEMA_MATCH_LIMIT:
        break;
    }
    return schema_halt(c,
                       "the pattern %s takes too many steps on this text",
                       schema_quote(schema_regex_source(regex)).p);
}

bool schema_check_pattern(struct schema_check *c, const struct schema_at *at,
                          const struct schema_rule *r)
{
    struct schema_text t;
    bool ok;

    if (!schema_step_size(c, at->v))
        return false;
    assert(r->regex && at->v->kind == JSON_STRING);
    schema_text_get(&t, c->doc, at->v);
    ok = schema_matches(c, r->regex, t.s);
    schema_text_release(&t);
    if (ok || c->quiet)
        return ok;
    return schema_fail(c,
                       FAULT(at, r->keyword),
                       "does not match the pattern %s",
                       schema_quote(schema_regex_source(r->regex)).p);
}

bool schema_has(struct schema_check *c, const struct json_node *object, str name)
{
    uint64_t seen = 1;
    bool found = false;

    assert(object->kind == JSON_OBJECT);
    for (const struct json_node *k = json_first(c->doc, object); k && !found;
         k = json_next(c->doc, object, k), seen++)
        found = schema_text_is(c->doc, k, name);
    return schema_step(c, seen / 4 + 1) && found;
}

bool schema_check_required(struct schema_check *c, const struct schema_at *at,
                           const struct schema_rule *r)
{
    bool ok = true;

    for (size_t i = 0; i < r->count && (ok || schema_goes_on(c)); i++) {
        struct schema_fault *f = FAULT(at, r->keyword);

        if (schema_has(c, at->v, r->names[i]))
            continue;
        f->kind = SCHEMA_MISSING;
        f->name = r->names[i];
        ok = c->quiet
                 ? false
                 : schema_fail(c, f, "the property %s is required", schema_quote(r->names[i]).p);
    }
    return ok;
}

/* The names that one property brings with it. */
static bool schema_assert_check_needs(struct schema_check *c, const struct schema_at *at,
                                      const struct schema_named *d, const char *keyword)
{
    bool ok = true;

    for (size_t i = 0; i < d->need_count && (ok || schema_goes_on(c)); i++) {
        struct schema_fault *f = FAULT(at, keyword);

        if (schema_has(c, at->v, d->needs[i]))
            continue;
        f->kind = SCHEMA_MISSING;
        f->name = d->needs[i];
        ok = c->quiet ? false
                      : schema_fail(c,
                                    f,
                                    "the property %s is required because %s is there",
                                    schema_quote(d->needs[i]).p,
                                    schema_quote(d->name).p);
    }
    return ok;
}

bool schema_check_needs(struct schema_check *c, const struct schema_at *at,
                        const struct schema_rule *r)
{
    bool ok = true;

    for (size_t i = 0; i < r->count && (ok || schema_goes_on(c)); i++)
        if (r->named[i].need_count > 0 && schema_has(c, at->v, r->named[i].name))
            ok = schema_assert_check_needs(c, at, &r->named[i], r->keyword) && ok;
    return ok;
}

/* ---- uniqueItems ---- */

struct item {
    uint64_t hash;
    const struct json_node *v;
};

static int schema_item_cmp(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->v > y->v) - (x->v < y->v);
}

/* Among items sorted by hash, the first two that are equal. */
static bool schema_find_twins(struct schema_check *c, const struct item *items, size_t n,
                              const struct json_node *twins[2])
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n && items[j].hash == items[i].hash; j++) {
            if (!schema_step(c, items[i].v->span))
                return false;
            if (json_equal(c->doc, items[i].v, c->doc, items[j].v)) {
                twins[0] = items[i].v;
                twins[1] = items[j].v;
                return true;
            }
        }
    return false;
}

static size_t schema_index_of(const struct schema_check *c, const struct json_node *array,
                              const struct json_node *item)
{
    size_t n = 0;

    assert(item > array && item < array + array->span);
    for (const struct json_node *i = json_first(c->doc, array); i && i != item;
         i = json_next(c->doc, array, i))
        n++;
    return n;
}

bool schema_check_unique(struct schema_check *c, const struct schema_at *at,
                         const struct schema_rule *r)
{
    const struct json_node *twins[2];
    size_t n = json_count(c->doc, at->v), i = 0;
    struct item *items;
    bool found;

    if (n < 2)
        return true;
    if (!schema_step(c, at->v->span + at->v->size / 32 + n))
        return false;
    items = base_alloc(n * sizeof *items);
    for (const struct json_node *v = json_first(c->doc, at->v); v;
         v = json_next(c->doc, at->v, v), i++)
        items[i] = (struct item){schema_hash(c->doc, v), v};
    assert(i == n);
    qsort(items, n, sizeof *items, schema_item_cmp);
    found = schema_find_twins(c, items, n, twins);
    free(items);
    assert(!found || twins[0] < twins[1]);
    if (!found || c->quiet)
        return !found && !c->halted;
    return schema_fail(c,
                       FAULT(at, r->keyword),
                       "items %zu and %zu are equal, all must differ",
                       schema_index_of(c, at->v, twins[0]),
                       schema_index_of(c, at->v, twins[1]));
}
