/* SPDX-License-Identifier: Apache-2.0 */
#include "base/schema/internal.h"

#define IN_PLACE_MAX 256 /* schemas that apply one another to the same value */

enum colour { WHITE, GREY, BLACK };

bool schema_anchors_get(struct schema *s, struct schema_doc *doc, struct err *e)
{
    if (!doc->used)
        return true;
    for (struct schema_resource *r = doc->resources; r; r = r->next)
        for (struct schema_anchor *a = r->dynamic; a; a = a->next) {
            if (!schema_spend(s, 1, e))
                return false;
            if (!a->node && !schema_node_get(s, doc, a->at, &a->node, e))
                return false;
        }
    return true;
}

bool schema_node_get(struct schema *s, struct schema_doc *doc, const struct json_node *at,
                     struct schema_node **out, struct err *e)
{
    struct schema_slot *slot = &doc->slots[at - doc->json.nodes];
    struct schema_node *n = slot->node;

    assert(slot->resource);
    assert(at >= doc->json.nodes && at < doc->json.nodes + doc->json.n);
    if (!n) {
        if (at->kind != JSON_OBJECT && at->kind != JSON_TRUE && at->kind != JSON_FALSE)
            return schema_wrong(e, doc, at, "must be a schema: an object, true or false");
        if (s->node_count == SCHEMA_NODES_MAX)
            return err_set(e, ERR_LIMIT, "more than %d subschemas", SCHEMA_NODES_MAX);
        s->node_count++;
        n = slot->node = arena_zero(&s->arena, 1, sizeof *n);
        *n = (struct schema_node){.resource = slot->resource, .at = at, .pending = s->pending};
        n->kind = at->kind == JSON_OBJECT ? SCHEMA_NODE_RULES
                  : at->kind == JSON_TRUE ? SCHEMA_NODE_TRUE
                                          : SCHEMA_NODE_FALSE;
        s->pending = n;
    }
    *out = n;
    if (doc->used)
        return true;
    doc->used = true;
    return schema_anchors_get(s, doc, e);
}

/* ---- the rules of one node ---- */

/* The rule a keyword goes into: one that is there already if it shares it with another. */
static struct schema_rule *schema_rule_for(struct schema_node *n, const struct schema_keyword *k)
{
    struct schema_rule *r;

    for (size_t i = 0; i < n->rule_count; i++)
        if (n->rules[i].op == k->op)
            return &n->rules[i];
    assert(n->rule_count < SCHEMA_OP_COUNT);
    r = &n->rules[n->rule_count++];
    *r = (struct schema_rule){
        .op = (uint8_t)k->op, .kinds = (uint8_t)k->kinds, .keyword = k->name, .max = UINT64_MAX};
    return r;
}

static int schema_rule_cmp(const void *a, const void *b)
{
    const struct schema_rule *x = a, *y = b;

    return x->op - y->op;
}

/* Drops rules without an effect, and sorts the others in the order of checking. */
static void schema_rules_finish(struct schema_node *n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->rule_count; i++)
        if (n->rules[i].ready)
            n->rules[kept++] = n->rules[i];
    n->rule_count = kept;
    qsort(n->rules, kept, sizeof *n->rules, schema_rule_cmp);
    for (size_t i = 0; i < kept; i++)
        if (n->rules[i].op >= SCHEMA_OP_UNEVALUATED_ITEMS)
            n->unevaluated = true;
}

static bool schema_node_rules(struct schema *s, struct schema_node *n, struct err *e)
{
    const struct json *doc = &n->resource->doc->json;
    bool only_ref = (n->resource->draft & SCHEMA_DRAFT_OLD) && json_find(doc, n->at, STR("$ref"));
    size_t count = 0;

    JSON_FOREACH(k, doc, n->at)
        count += schema_keyword_find(n->resource, doc, k) != NULL;
    if (count > SCHEMA_OP_COUNT) /* keywords given twice share a rule */
        count = SCHEMA_OP_COUNT;
    if (!schema_spend(s, (count + 1) * sizeof *n->rules, e))
        return false;
    n->rules = arena_zero(&s->arena, count, sizeof *n->rules);
    JSON_FOREACH(k, doc, n->at) {
        const struct schema_keyword *keyword = schema_keyword_find(n->resource, doc, k);
        struct schema_part p = {s, n, NULL, keyword, json_value(k)};

        if (!keyword || (only_ref && !json_is(doc, k, STR("$ref"))))
            continue;
        p.rule = schema_rule_for(n, keyword);
        if (!keyword->compile(&p, e))
            return false;
    }
    schema_rules_finish(n);
    return true;
}

bool schema_rules_make(struct schema *s, struct err *e)
{
    while (s->pending) {
        struct schema_node *n = s->pending;

        s->pending = n->pending;
        if (n->kind == SCHEMA_NODE_RULES && !schema_node_rules(s, n, e))
            return false;
    }
    return true;
}

/* ---- schemas that would apply themselves to the same value without end ---- */

static bool schema_visit_node(struct schema_node *n, unsigned depth, struct err *e);

static bool schema_visit_rule(const struct schema_rule *r, unsigned depth, struct err *e)
{
    struct schema_node *one[] = {r->one, r->two, r->three};

    switch ((enum schema_op)r->op) {
    case SCHEMA_OP_REF:
    case SCHEMA_OP_NOT:
    case SCHEMA_OP_IF:
        for (size_t i = 0; i < COUNT_OF(one); i++)
            if (one[i] && !schema_visit_node(one[i], depth, e))
                return false;
        return true;
    case SCHEMA_OP_ALL:
    case SCHEMA_OP_ANY:
    case SCHEMA_OP_ONE:
        for (size_t i = 0; i < r->count; i++)
            if (!schema_visit_node(r->list[i], depth, e))
                return false;
        return true;
    case SCHEMA_OP_DEPENDENT:
    case SCHEMA_OP_DEPENDENCIES:
        for (size_t i = 0; i < r->count; i++)
            if (r->named[i].node && !schema_visit_node(r->named[i].node, depth, e))
                return false;
        return true;
    default: /* the others go down into the value, or depend on who refers to whom in a check */
        return true;
    }
}

static bool schema_visit_node(struct schema_node *n, unsigned depth, struct err *e)
{
    if (n->colour == BLACK)
        return true;
    if (n->colour == GREY)
        return schema_wrong(
            e, n->resource->doc, n->at, "refers back to itself for the same value, without end");
    if (depth == IN_PLACE_MAX)
        return err_set(
            e, ERR_LIMIT, "more than %d schemas in a row for the same value", IN_PLACE_MAX);
    n->colour = GREY;
    for (size_t i = 0; i < n->rule_count; i++)
        if (!schema_visit_rule(&n->rules[i], depth + 1, e))
            return false;
    n->colour = BLACK;
    return true;
}

bool schema_loops_check(struct schema *s, struct err *e)
{
    for (struct schema_doc *doc = s->docs; doc; doc = doc->next)
        for (size_t i = 0; i < doc->json.n; i++)
            if (doc->slots[i].node && !schema_visit_node(doc->slots[i].node, 0, e))
                return false;
    return true;
}
