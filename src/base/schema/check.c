/* SPDX-License-Identifier: Apache-2.0 */
#include "base/schema/check.h"

/* ---- marks ---- */

static size_t schema_check_words(size_t n)
{
    return n / 64 + 1;
}

void schema_marks_init(struct schema_marks *m, size_t n)
{
    *m = (struct schema_marks){.n = n};
    m->bits = m->few;
    if (schema_check_words(n) > COUNT_OF(m->few)) {
        m->bits = base_alloc(schema_check_words(n) * sizeof *m->bits);
        memset(m->bits, 0, schema_check_words(n) * sizeof *m->bits);
    }
}

void schema_marks_release(struct schema_marks *m)
{
    if (m->bits != m->few)
        free(m->bits);
}

void schema_marks_set(struct schema_marks *m, size_t i)
{
    if (!m)
        return;
    assert(i < m->n);
    m->bits[i / 64] |= (uint64_t)1 << i % 64;
}

void schema_marks_join(struct schema_marks *m, const struct schema_marks *more)
{
    assert(m->n == more->n);
    m->all |= more->all;
    for (size_t i = 0; i < schema_check_words(m->n) && !m->all; i++)
        m->bits[i] |= more->bits[i];
}

bool schema_marks_has(const struct schema_marks *m, size_t i)
{
    assert(i < m->n);
    return m->all || (m->bits[i / 64] >> i % 64 & 1);
}

/* ---- one node on one value ---- */

bool schema_step(struct schema_check *c, uint64_t steps)
{
    if (c->halted)
        return false;
    if (steps > c->work) {
        c->work = 0;
        return schema_halt(
            c, "the check takes more than %llu steps", (unsigned long long)c->s->work_max);
    }
    c->work -= steps;
    return true;
}

bool schema_goes_on(const struct schema_check *c)
{
    return c->sink && !c->quiet && !c->explain && !c->halted;
}

const struct schema_rule *schema_rule_find(const struct schema_node *n, enum schema_op op)
{
    for (size_t i = 0; i < n->rule_count; i++)
        if (n->rules[i].op == op)
            return &n->rules[i];
    return NULL;
}

static schema_rule_fn *const checks[SCHEMA_OP_COUNT] = {
    [SCHEMA_OP_TYPE] = schema_check_type,
    [SCHEMA_OP_CONST] = schema_check_const,
    [SCHEMA_OP_ENUM] = schema_check_enum,
    [SCHEMA_OP_MINIMUM] = schema_check_minimum,
    [SCHEMA_OP_MAXIMUM] = schema_check_maximum,
    [SCHEMA_OP_EXCLUSIVE_MINIMUM] = schema_check_minimum,
    [SCHEMA_OP_EXCLUSIVE_MAXIMUM] = schema_check_maximum,
    [SCHEMA_OP_MULTIPLE] = schema_check_multiple,
    [SCHEMA_OP_LENGTH] = schema_check_length,
    [SCHEMA_OP_PATTERN] = schema_check_pattern,
    [SCHEMA_OP_ITEM_COUNT] = schema_check_item_count,
    [SCHEMA_OP_PROPERTY_COUNT] = schema_check_property_count,
    [SCHEMA_OP_REQUIRED] = schema_check_required,
    [SCHEMA_OP_DEPENDENT_REQUIRED] = schema_check_needs,
    [SCHEMA_OP_NAMES] = schema_check_names,
    [SCHEMA_OP_MEMBERS] = schema_check_members,
    [SCHEMA_OP_ITEMS] = schema_check_items,
    [SCHEMA_OP_CONTAINS] = schema_check_contains,
    [SCHEMA_OP_UNIQUE] = schema_check_unique,
    [SCHEMA_OP_REF] = schema_check_ref,
    [SCHEMA_OP_DYNAMIC_REF] = schema_check_ref,
    [SCHEMA_OP_RECURSIVE_REF] = schema_check_ref,
    [SCHEMA_OP_ALL] = schema_check_all,
    [SCHEMA_OP_ANY] = schema_check_any,
    [SCHEMA_OP_ONE] = schema_check_one,
    [SCHEMA_OP_NOT] = schema_check_not,
    [SCHEMA_OP_IF] = schema_check_if,
    [SCHEMA_OP_DEPENDENT] = schema_check_dependent,
    [SCHEMA_OP_DEPENDENCIES] = schema_check_dependent,
    [SCHEMA_OP_UNEVALUATED_ITEMS] = schema_check_unevaluated_items,
    [SCHEMA_OP_UNEVALUATED_PROPERTIES] = schema_check_unevaluated_properties,
};

static bool schema_eval_rules(struct schema_check *c, const struct schema_at *at)
{
    const struct schema_node *n = at->node;
    unsigned kind = 1u << at->v->kind;
    bool ok = true;

    for (size_t i = 0; i < n->rule_count; i++) {
        const struct schema_rule *r = &n->rules[i];

        assert(r->op < SCHEMA_OP_COUNT && checks[r->op]);
        assert_slow(i == 0 || n->rules[i - 1].op <= r->op);
        if ((r->kinds & kind) && !checks[r->op](c, at, r)) {
            ok = false;
            if (!schema_goes_on(c))
                break;
        }
    }
    return ok && !c->halted;
}

/* The unevaluated keywords see the marks of their own schema and of the schemas it applies, never
 * outer ones; the outer schema gets all of them afterwards. Marks of failed schemas are passed on,
 * too: the value is already invalid, and a visited member must not be reported as unknown. */
static bool schema_eval_unevaluated(struct schema_check *c, const struct schema_at *at)
{
    struct schema_marks own;
    struct schema_at inner = {at->node, at->v, &own};
    size_t n = at->marks ? at->marks->n : json_count(c->doc, at->v);
    bool ok;

    if (!schema_step(c, n))
        return false;
    schema_marks_init(&own, n);
    ok = schema_eval_rules(c, &inner);
    if (at->marks)
        schema_marks_join(at->marks, &own);
    schema_marks_release(&own);
    return ok;
}

bool schema_eval(struct schema_check *c, const struct schema_node *n, const struct json_node *v,
                 struct schema_marks *marks)
{
    struct schema_frame frame = {n, v, c->frame};
    struct schema_at at = {n, v, marks};
    bool ok;

    if (n->kind == SCHEMA_NODE_TRUE)
        return true;
    if (!schema_step(c, 1))
        return false;
    if (n->kind == SCHEMA_NODE_FALSE)
        return schema_fail(c, &(struct schema_fault){.node = n, .v = v}, "nothing is allowed here");
    if (c->depth == SCHEMA_DEPTH_MAX)
        return schema_halt(c, "the check goes more than %d schemas deep", SCHEMA_DEPTH_MAX);
    c->depth++;
    c->frame = &frame;
    ok = n->unevaluated ? schema_eval_unevaluated(c, &at) : schema_eval_rules(c, &at);
    assert(c->frame == &frame && c->depth > 0);
    c->frame = frame.up;
    c->depth--;
    return ok;
}

/* ---- the whole check ---- */

static bool schema_check_run(struct schema_check *c, const struct json_node *v)
{
    bool ok;

    assert(c->s->root && v);
    c->root = v;
    c->work = c->s->work_max;
    c->matcher.work = &c->work;
    ok = schema_eval(c, c->s->root, v, NULL) && !c->failed;
    schema_matcher_release(&c->matcher);
    assert(c->depth == 0 && !c->frame);
    assert(ok || c->failed);
    return ok;
}

bool schema_check(const struct schema *s, const struct json *doc, const struct json_node *v,
                  struct err *e)
{
    struct schema_check c = {.s = s, .doc = doc, .e = e};

    return schema_check_run(&c, v);
}

bool schema_check_each(const struct schema *s, const struct json *doc, const struct json_node *v,
                       struct schema_sink sink, struct err *e)
{
    struct schema_check c = {.s = s, .doc = doc, .e = e, .sink = &sink};

    return schema_check_run(&c, v);
}
