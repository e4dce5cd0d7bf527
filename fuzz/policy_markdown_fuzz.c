/* Arbitrary text as a policy in Markdown: the tree keeps its invariants and can be read from its
 * JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/tree.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_node(const struct policy_tree *t, uint32_t i)
{
    const struct policy_node *n = &t->nodes[i];
    char id[16];

    snprintf(id, sizeof id, "%04u", (unsigned)i + 1);
    assert(str_eq(n->node_id, str_c(id)));
    assert(n->span >= 1 && i + n->span <= t->node_count);
    assert(n->start_index >= 1 && n->start_index <= n->end_index && n->end_index <= t->page_count);
    assert(n->page_count >= 1 && n->pages[0].at == 0);
    for (uint32_t k = 1; k < n->page_count; k++)
        assert(n->pages[k].at >= n->pages[k - 1].at && n->pages[k].at <= n->text.n &&
               n->pages[k].page >= n->pages[k - 1].page);
    assert(utf8_valid(n->title) && utf8_valid(n->text) && utf8_valid(n->summary));
    assert(n->title.n <= POLICY_TITLE_MAX && n->title_path.n <= POLICY_PATH_MAX);
    for (uint32_t k = i + 1; k < i + n->span; k++)
        assert(t->nodes[k].depth > n->depth);
    assert(i + n->span == t->node_count || t->nodes[i + n->span].depth <= n->depth);
    assert((n->depth == 0) == (policy_parent(t, n) == NULL));
}

static void check_back(const struct policy_tree *t, struct arena *a)
{
    struct policy_tree back;
    struct json_out o;
    struct buf b;
    struct err e;
    bool ok;

    buf_init(&b, (size_t)64 << 20);
    json_out_init(&o, &b);
    policy_tree_json(t, true, &o);
    ok = json_out_ok(&o, &e) && policy_tree_read(buf_str(&b), STR("x"), a, &back, &e);
    assert(ok && back.node_count == t->node_count);
    for (uint32_t i = 0; i < t->node_count; i++)
        assert(str_eq(back.nodes[i].title, t->nodes[i].title) &&
               str_eq(back.nodes[i].text, t->nodes[i].text) &&
               back.nodes[i].span == t->nodes[i].span);
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct policy_tree t;
    struct arena a;
    struct err e;

    arena_init(&a, POLICY_ARENA_MAX);
    if (policy_tree_markdown((str){(const char *)data, size}, STR("doc"), &a, &t, &e)) {
        for (uint32_t i = 0; i < t.node_count; i++)
            check_node(&t, i);
        check_back(&t, &a);
    } else {
        assert(e.text[0]);
    }
    arena_release(&a);
    return 0;
}
