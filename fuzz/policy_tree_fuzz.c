/* Arbitrary text as a tree in JSON and as a case: refused with an error, or complete.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/case.h"
#include "apps/policy/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tree(str text, struct arena *a)
{
    struct policy_tree t;
    struct json_out o;
    struct buf b;
    struct err e;

    if (!policy_tree_read(text, STR("n"), a, &t, &e)) {
        assert(e.text[0]);
        return;
    }
    for (uint32_t i = 0; i < t.node_count; i++) {
        assert(policy_node_find(&t, t.nodes[i].node_id) == &t.nodes[i]);
        assert(t.nodes[i].end_index >= t.nodes[i].start_index && t.nodes[i].start_index >= 1);
    }
    buf_init(&b, (size_t)64 << 20);
    json_out_init(&o, &b);
    policy_tree_json(&t, true, &o);
    if (!json_out_ok(&o, &e))
        abort();
    buf_release(&b);
}

static void check_case(str text, struct arena *a)
{
    struct policy_case c;
    struct json_out o;
    struct buf b;
    struct err e;

    if (!policy_case_read(text, a, &c, &e)) {
        assert(e.text[0]);
        return;
    }
    assert(c.criterion_count > 0);
    buf_init(&b, (size_t)64 << 20);
    for (size_t i = 0; i < c.field_count; i++) {
        const struct policy_field *f = &c.fields[i];

        assert(f->confidence >= 0 && f->confidence <= 1);
        assert(policy_value_equal(&f->value, &f->value) || f->value.kind == POLICY_NUMBER);
        if (f->key.n > 0)
            assert(policy_fact(&c, f->name) != NULL);
        buf_reset(&b);
        json_out_init(&o, &b);
        policy_fact_json(&c, f->name, &o);
        if (!json_out_ok(&o, &e))
            abort();
    }
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = {(const char *)data, size};
    struct arena a;

    arena_init(&a, POLICY_ARENA_MAX);
    check_tree(text, &a);
    check_case(text, &a);
    arena_release(&a);
    return 0;
}
