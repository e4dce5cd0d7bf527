/* The keywords that apply schemas to the same value: references and combinations.
 *
 * If no alternative matches, the report depends on which one was meant. Alternatives with another
 * type, or with other constant members, were not. If one remains, its problems are reported as if
 * it were the only schema; if several remain, the first problem of each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema/check.h"

#define FAULT(at, word)                                                                            \
    (&(struct schema_fault){.node = (at)->node, .v = (at)->v, .keyword = (word)})
#define EXPLAINED_MAX 6
#define REF_HOPS_MAX 8

/* An alternative: its marks count only if it fits. */
static bool schema_try_quietly(struct schema_check *c, const struct schema_node *n,
                               const struct schema_at *at)
{
    struct schema_marks own;
    bool ok;

    c->quiet++;
    if (at->marks) {
        schema_step(c, at->marks->n / 64);
        schema_marks_init(&own, at->marks->n);
        ok = schema_eval(c, n, at->v, &own);
        if (ok)
            schema_marks_join(at->marks, &own);
        schema_marks_release(&own);
    } else {
        ok = schema_eval(c, n, at->v, NULL);
    }
    assert(c->quiet > 0);
    c->quiet--;
    return ok && !c->halted;
}

/* ---- references ---- */

/* The outermost schema around us whose resource has this dynamic anchor decides. */
static const struct schema_node *schema_dynamic_target(struct schema_check *c,
                                                       const struct schema_rule *r)
{
    const struct schema_node *target = r->one;
    const struct schema_resource *seen = NULL;
    uint64_t steps = 1;

    for (const struct schema_frame *f = c->frame; f; f = f->up) {
        if (f->node->resource == seen)
            continue;
        seen = f->node->resource;
        for (const struct schema_anchor *a = seen->dynamic; a; a = a->next, steps++)
            if (a->node && str_eq(a->name, r->anchor))
                target = a->node;
        steps++;
    }
    schema_step(c, steps / 4);
    return target;
}

static bool schema_is_around(const struct schema_check *c, const struct schema_node *n,
                             const struct json_node *v)
{
    for (const struct schema_frame *f = c->frame; f && f->v == v; f = f->up)
        if (f->node == n)
            return true;
    return false;
}

bool schema_check_ref(struct schema_check *c, const struct schema_at *at,
                      const struct schema_rule *r)
{
    const struct schema_node *target = r->dynamic ? schema_dynamic_target(c, r) : r->one;

    assert(target && (!r->dynamic || r->op != SCHEMA_OP_REF));
    /* Loops of plain references are found at compile time. */
    if (r->op != SCHEMA_OP_REF && schema_is_around(c, target, at->v))
        return schema_halt(
            c, "%s refers back to itself for the same value, without end", r->keyword);
    return schema_eval(c, target, at->v, at->marks);
}

/* ---- why no alternative fits ---- */

/* The types that a schema admits, as far as its own keywords show. */
static unsigned schema_types_of(const struct schema_node *n)
{
    if (n->kind == SCHEMA_NODE_FALSE)
        return 0;
    for (int hops = 0; hops < REF_HOPS_MAX; hops++) {
        const struct schema_rule *type = schema_rule_find(n, SCHEMA_OP_TYPE);
        const struct schema_rule *ref = schema_rule_find(n, SCHEMA_OP_REF);

        if (type)
            return type->types;
        if (!ref)
            break;
        n = ref->one;
    }
    return ~0u;
}

/* The member that the schema holds constant and that has another value, if there is one:
 * {"kind": "circle", ...}. *got is its value. */
static const struct schema_named *schema_find_clash(struct schema_check *c,
                                                    const struct schema_node *n,
                                                    const struct json_node *v,
                                                    const struct json_node **got)
{
    const struct schema_rule *members;

    for (int hops = 0; hops < REF_HOPS_MAX && schema_rule_find(n, SCHEMA_OP_REF); hops++)
        n = schema_rule_find(n, SCHEMA_OP_REF)->one;
    members = schema_rule_find(n, SCHEMA_OP_MEMBERS);
    for (size_t i = 0; members && v->kind == JSON_OBJECT && i < members->count; i++) {
        const struct schema_node *property = members->named[i].node;
        const struct schema_rule *value = schema_rule_find(property, SCHEMA_OP_CONST);

        if (!value)
            value = schema_rule_find(property, SCHEMA_OP_ENUM);
        if (!value)
            continue;
        if (!schema_step(c, v->span / 8 + 1))
            return NULL;
        *got = json_find(c->doc, v, members->named[i].name);
        if (*got && !schema_value_in(c, *got, property, value))
            return &members->named[i];
    }
    return NULL;
}

/* The first problem of one alternative, as a clause; a constant that differs is the best reason. */
static void schema_explain_one(struct schema_check *c, const struct schema_node *n,
                               const struct json_node *v, size_t number, struct buf *out)
{
    const struct json_node *got;
    const struct schema_named *clash = schema_find_clash(c, n, v, &got);
    struct buf text;

    assert(!c->explain);
    buf_init(&text, 240);
    c->explain = &text;
    if (!(clash ? schema_eval(c, clash->node, got, NULL) : schema_eval(c, n, v, NULL)))
        buf_printf(
            out, "%s(%zu) " STR_FMT, out->n ? "; " : "", number + 1, STR_ARG(buf_str(&text)));
    c->explain = NULL;
    buf_release(&text);
}

static bool schema_explain_some(struct schema_check *c, const struct schema_at *at,
                                const struct schema_rule *r, const bool *near)
{
    struct buf list;
    size_t shown = 0;

    assert(!c->explain && !c->quiet); /* no report is wanted */
    buf_init(&list, 1024);
    for (size_t i = 0; i < r->count && shown < EXPLAINED_MAX; i++)
        if (!near || near[i]) {
            schema_explain_one(c, r->list[i], at->v, i, &list);
            shown++;
        }
    schema_fail(c,
                FAULT(at, r->keyword),
                "fits none of the %zu alternatives: " STR_FMT,
                r->count,
                STR_ARG(buf_str(&list)));
    buf_release(&list);
    return false;
}

/* Which alternatives were perhaps meant; returns how many. If constants rule out all of them, none
 * is ruled out. */
static size_t schema_find_near(struct schema_check *c, const struct schema_at *at,
                               const struct schema_rule *r, bool *near, unsigned *types)
{
    const struct json_node *got;
    size_t typed = 0, n = 0;

    assert(r->count > 0);
    *types = 0;
    for (size_t i = 0; i < r->count; i++) {
        unsigned wanted = schema_types_of(r->list[i]);

        *types |= wanted;
        near[i] = schema_type_fits(c, at->v, wanted);
        typed += near[i];
    }
    for (size_t i = 0; i < r->count && typed > 1; i++)
        n += near[i] && !schema_find_clash(c, r->list[i], at->v, &got);
    for (size_t i = 0; i < r->count && n > 0; i++)
        near[i] = near[i] && !schema_find_clash(c, r->list[i], at->v, &got);
    assert(n <= typed && typed <= r->count);
    return n > 0 ? n : typed;
}

static bool schema_explain_none(struct schema_check *c, const struct schema_at *at,
                                const struct schema_rule *r)
{
    bool *near, explained = false;
    unsigned types;
    size_t n;

    if (c->quiet || c->halted)
        return false;
    if (c->explain)
        return schema_fail(c, FAULT(at, r->keyword), "fits none of the %zu alternatives", r->count);
    near = base_alloc(r->count * sizeof *near);
    n = schema_find_near(c, at, r, near, &types);
    if (n == 0 && types != 0) {
        schema_fail(c,
                    FAULT(at, r->keyword),
                    "expected %s, got %s",
                    schema_types_name(types).p,
                    schema_kind_name(at->v));
        explained = true;
    }
    for (size_t i = 0; i < r->count && n == 1 && !explained; i++)
        explained = near[i] && !schema_eval(c, r->list[i], at->v, NULL);
    if (!explained)
        schema_explain_some(c, at, r, n > 0 ? near : NULL);
    free(near);
    return false;
}

/* ---- combinations ---- */

bool schema_check_all(struct schema_check *c, const struct schema_at *at,
                      const struct schema_rule *r)
{
    bool ok = true;

    for (size_t i = 0; i < r->count && (ok || schema_goes_on(c)); i++)
        ok = schema_eval(c, r->list[i], at->v, at->marks) && ok;
    return ok;
}

bool schema_check_any(struct schema_check *c, const struct schema_at *at,
                      const struct schema_rule *r)
{
    bool fits = false;

    for (size_t i = 0; i < r->count && (!fits || at->marks) && !c->halted; i++)
        fits = schema_try_quietly(c, r->list[i], at) || fits;
    if (fits || c->halted)
        return fits && !c->halted;
    if (at->marks)
        at->marks->all = true; /* it is unknown which members would have been evaluated */
    return schema_explain_none(c, at, r);
}

bool schema_check_one(struct schema_check *c, const struct schema_at *at,
                      const struct schema_rule *r)
{
    size_t fits = 0, first = 0, second = 0;

    for (size_t i = 0; i < r->count && fits < 2 && !c->halted; i++)
        if (schema_try_quietly(c, r->list[i], at))
            *(fits++ == 0 ? &first : &second) = i;
    assert(fits <= 2 && r->count > 0);
    if (fits == 1 || c->halted)
        return !c->halted;
    if (at->marks)
        at->marks->all = true;
    if (fits == 0)
        return schema_explain_none(c, at, r);
    return schema_fail(c,
                       FAULT(at, r->keyword),
                       "fits alternatives %zu and %zu, must fit only one",
                       first + 1,
                       second + 1);
}

bool schema_check_not(struct schema_check *c, const struct schema_at *at,
                      const struct schema_rule *r)
{
    struct schema_at alone = {at->node, at->v, NULL};

    assert(r->one);
    if (!schema_try_quietly(c, r->one, &alone))
        return !c->halted;
    return schema_fail(c, FAULT(at, r->keyword), "matches a schema that it must not match");
}

bool schema_check_if(struct schema_check *c, const struct schema_at *at,
                     const struct schema_rule *r)
{
    const struct schema_node *next = schema_try_quietly(c, r->one, at) ? r->two : r->three;

    return !c->halted && (!next || schema_eval(c, next, at->v, at->marks));
}

bool schema_check_dependent(struct schema_check *c, const struct schema_at *at,
                            const struct schema_rule *r)
{
    bool ok = true;

    for (size_t i = 0; i < r->count && (ok || schema_goes_on(c)); i++)
        if (r->named[i].node && schema_has(c, at->v, r->named[i].name))
            ok = schema_eval(c, r->named[i].node, at->v, at->marks) && ok;
    return (r->op != SCHEMA_OP_DEPENDENCIES || schema_check_needs(c, at, r)) && ok;
}
