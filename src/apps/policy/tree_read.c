/* tree_read.c - a tree given as JSON, checked. See tree.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/member.h"
#include "apps/policy/tree_build.h"
#include "base/map.h"

struct reader {
    struct member m; /* its path: that of the node that is read, "structure[0].nodes[2]" */
    struct policy_tree *t;
    struct map ids;
    size_t nodes_max;
};

static void tree_read_fail(struct reader *r, const char *what, int limit)
{
    if (!r->m.failed)
        err_set(r->m.e, ERR_LIMIT, "%s: %s %d", r->m.path, what, limit);
    r->m.failed = true;
}

/* Unchanged if the member is missing or null. */
static void tree_read_text(struct reader *r, const struct json_node *v, const char *key, str *out)
{
    member_text(&r->m, v, key, false, out);
    if (memchr(out->p, 0, out->n))
        member_wrong(&r->m, key, "holds a NUL");
    *out = arena_dup(r->m.arena, *out);
}

/* An id may be a number, as 7 for "0007". */
static void tree_read_id(struct reader *r, const struct json_node *v, struct policy_node *n)
{
    const struct json_node *m = json_find(r->m.doc, v, STR("node_id"));
    int64_t number;

    if (m && m->kind == JSON_NUMBER && json_i64(r->m.doc, m, &number) && number >= 0)
        n->node_id = arena_printf(r->m.arena, "%04lld", (long long)number);
    else
        tree_read_text(r, v, "node_id", &n->node_id);
    if (n->node_id.n > 64)
        member_wrong(&r->m, "node_id", "longer than 64 bytes");
    if (n->node_id.n && map_find(&r->ids, n->node_id))
        member_wrong(&r->m, "node_id", "another node has it too");
    if (n->node_id.n && !r->m.failed)
        r->m.failed = !map_set(&r->ids, n->node_id, MAP_U64(1), r->m.e);
}

static void tree_read_pages(struct reader *r, const struct json_node *v, struct policy_node *n,
                            const struct policy_node *above)
{
    struct policy_page *page = arena_zero(r->m.arena, 1, sizeof *page);
    uint32_t single = 0, start = 0, end = 0;

    member_page(&r->m, v, "page_index", false, &single);
    member_page(&r->m, v, "start_index", false, &start);
    member_page(&r->m, v, "end_index", false, &end);
    if (single || start || end)
        r->t->has_pages = true;
    start = start ? start : single ? single : end ? end : above ? above->start_index : 1;
    if (end && end < start)
        member_wrong(&r->m, "end_index", "is before start_index");
    n->start_index = start;
    n->end_index = end ? end : start;
    page->page = start;
    n->pages = page;
    n->page_count = 1;
}

static const struct json_node *policy_tree_read_children(const struct json *doc,
                                                         const struct json_node *v)
{
    const struct json_node *list = json_find(doc, v, STR("nodes"));

    return list ? list : json_find(doc, v, STR("children"));
}

static void tree_read_node(struct reader *r, const struct json_node *v, uint32_t depth,
                           const struct policy_node *above)
{
    struct policy_node *n = &r->t->nodes[r->t->node_count];
    str title = STR("");

    assert(r->t->node_count <= r->nodes_max);
    if (v->kind != JSON_OBJECT)
        member_wrong_kind(&r->m, "", "an object", v);
    if (r->t->node_count == r->nodes_max)
        tree_read_fail(r, "more nodes than", POLICY_NODES_MAX);
    if (!json_find(r->m.doc, v, STR("title")))
        member_wrong(&r->m, "title", "is missing");
    if (r->m.failed)
        return;
    r->t->node_count++;
    n->depth = depth;
    n->level = depth < 6 ? depth + 1 : 6;
    n->summary = n->text = n->node_id = STR("");
    tree_read_text(r, v, "title", &title);
    tree_read_id(r, v, n);
    tree_read_pages(r, v, n, above);
    tree_read_text(r, v, "prefix_summary", &n->summary);
    tree_read_text(r, v, "summary", &n->summary);
    tree_read_text(r, v, "text", &n->text);
    n->title = policy_title(title, r->m.arena);
}

static void tree_read_list(struct reader *r, const struct json_node *list, uint32_t depth,
                           const struct policy_node *above)
{
    size_t i = 0;

    assert(depth <= POLICY_DEPTH_MAX && (above ? above->depth + 1 == depth : depth == 0));
    if (list->kind != JSON_ARRAY)
        member_wrong(&r->m, "", "a list of nodes is expected");
    if (depth == POLICY_DEPTH_MAX)
        tree_read_fail(r, "deeper than", POLICY_DEPTH_MAX);
    for (const struct json_node *v = json_first(r->m.doc, list); v && !r->m.failed;
         v = json_next(r->m.doc, list, v), i++) {
        const struct policy_node *n = &r->t->nodes[r->t->node_count];
        const struct json_node *inner = policy_tree_read_children(r->m.doc, v);
        size_t path = member_into_at(&r->m, i);

        tree_read_node(r, v, depth, above);
        if (inner && inner->kind != JSON_NULL && !r->m.failed) {
            member_into(&r->m, "nodes");
            tree_read_list(r, inner, depth + 1, n);
        }
        member_back(&r->m, path);
    }
}

/* Omitted ids become the positions of their nodes, unless another node has that id. */
static bool tree_give_ids(struct reader *r)
{
    for (uint32_t i = 0; i < r->t->node_count; i++) {
        struct policy_node *n = &r->t->nodes[i];
        uint32_t place = i + 1;

        if (n->node_id.n > 0)
            continue;
        do
            n->node_id = arena_printf(r->m.arena, "%04u", (unsigned)place);
        while (map_find(&r->ids, n->node_id) && (place += POLICY_NODES_MAX));
        if (!map_set(&r->ids, n->node_id, MAP_U64(1), r->m.e))
            return false;
    }
    return true;
}

static const struct json_node *tree_read_list_of(struct reader *r, const struct json_node *root)
{
    static const char *const names[] = {"structure", "nodes", "tree", "result"};

    if (root->kind == JSON_ARRAY)
        return root;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct json_node *v = json_find(r->m.doc, root, str_c(names[i]));

        if (!v)
            continue;
        member_back(&r->m, 0);
        member_into(&r->m, names[i]);
        return v->kind == JSON_OBJECT ? tree_read_list_of(r, v) : v;
    }
    return NULL;
}

static void read_document(struct reader *r, const struct json_node *root)
{
    struct policy_tree *t = r->t;

    tree_read_text(r, root, "doc_name", &t->doc_name);
    tree_read_text(r, root, "doc_description", &t->doc_description);
    tree_read_text(r, root, "title", &t->title);
    tree_read_text(r, root, "version", &t->version);
    tree_read_text(r, root, "effective_start", &t->effective_start);
    tree_read_text(r, root, "effective_from", &t->effective_start);
    tree_read_text(r, root, "effective_end", &t->effective_end);
    tree_read_text(r, root, "effective_to", &t->effective_end);
    member_page(&r->m, root, "page_count", false, &t->page_count);
}

static bool read_tree(struct reader *r, str json)
{
    const struct json_node *root = json_root(r->m.doc), *list;
    struct policy_tree *t = r->t;

    if (root->kind != JSON_ARRAY && root->kind != JSON_OBJECT)
        return err_input(r->m.e, "a tree is an object or a list of nodes");
    read_document(r, root);
    list = tree_read_list_of(r, root);
    if (!list)
        member_wrong(&r->m, "structure", "is missing: a list of nodes is expected");
    if (r->m.failed)
        return false;
    r->nodes_max = r->m.doc->n < POLICY_NODES_MAX ? r->m.doc->n : POLICY_NODES_MAX;
    t->nodes = arena_zero(r->m.arena, r->nodes_max + 1, sizeof t->nodes[0]);
    tree_read_list(r, list, 0, NULL);
    if (r->m.failed || !tree_give_ids(r))
        return false;
    assert(t->node_count <= r->nodes_max);
    policy_tree_finish(t, json, r->m.arena);
    for (uint32_t i = 0; i < t->node_count; i++)
        if (t->nodes[i].end_index > t->page_count)
            t->page_count = t->nodes[i].end_index;
    if (t->page_count == 0)
        t->page_count = 1;
    return true;
}

bool policy_tree_read(str json, str doc_name, struct arena *a, struct policy_tree *out,
                      struct err *e)
{
    struct json doc;
    struct reader r = {.m = {.doc = &doc, .arena = a, .e = e}, .t = out};
    bool ok;

    policy_tree_init(out, doc_name, a);
    if (json.n > POLICY_SIZE_MAX)
        return err_set(
            e, ERR_LIMIT, "the tree is %zu bytes, the limit is %zu", json.n, POLICY_SIZE_MAX);
    map_init(&r.ids, NULL, POLICY_NODES_MAX);
    ok = json_open(&doc, json, e) && read_tree(&r, json);
    map_release(&r.ids);
    json_release(&doc);
    return ok;
}
