/* tree_read.c - a tree given as JSON, checked. See tree.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/tree_build.h"
#include "base/map.h"

struct reader {
    const struct json *doc;
    struct arena *arena;
    struct policy_tree *t;
    struct err *e;
    struct map ids;
    size_t nodes_max;
    char path[200]; /* of the node that is read: "structure[0].nodes[2]" */
};

static bool policy_tree_read_wrong(struct reader *r, const char *member, const char *what)
{
    return err_set(
        r->e, ERR_INPUT, "%s%s%s: %s", r->path, r->path[0] && *member ? "." : "", member, what);
}

/* Unchanged if the member is missing or null. */
static bool policy_tree_read_text_of(struct reader *r, const struct json_node *v, const char *key,
                                     str *out)
{
    const struct json_node *m = json_find(r->doc, v, str_c(key));

    if (!m || m->kind == JSON_NULL)
        return true;
    if (!json_text(r->doc, m, r->arena, out))
        return policy_tree_read_wrong(r, key, "a string is expected");
    if (memchr(out->p, 0, out->n))
        return policy_tree_read_wrong(r, key, "holds a NUL");
    *out = arena_dup(r->arena, *out);
    return true;
}

static bool page_of(struct reader *r, const struct json_node *v, const char *key, uint32_t *out)
{
    const struct json_node *m = json_find(r->doc, v, str_c(key));
    int64_t n;

    if (!m || m->kind == JSON_NULL)
        return true;
    if (!json_i64(r->doc, m, &n) || n < 1 || n > POLICY_PAGE_MAX)
        return policy_tree_read_wrong(r, key, "a page is a whole number from 1");
    *out = (uint32_t)n;
    return true;
}

/* An id may be a number, as 7 for "0007". */
static bool policy_tree_read_id_of(struct reader *r, const struct json_node *v,
                                   struct policy_node *n)
{
    const struct json_node *m = json_find(r->doc, v, STR("node_id"));
    int64_t number;

    if (m && m->kind == JSON_NUMBER && json_i64(r->doc, m, &number) && number >= 0)
        n->node_id = arena_printf(r->arena, "%04lld", (long long)number);
    else if (!policy_tree_read_text_of(r, v, "node_id", &n->node_id))
        return false;
    if (n->node_id.n == 0)
        return true;
    if (n->node_id.n > 64)
        return policy_tree_read_wrong(r, "node_id", "longer than 64 bytes");
    if (map_find(&r->ids, n->node_id))
        return policy_tree_read_wrong(r, "node_id", "another node has it too");
    return map_set(&r->ids, n->node_id, MAP_U64(1), r->e);
}

static bool pages_of(struct reader *r, const struct json_node *v, struct policy_node *n,
                     const struct policy_node *above)
{
    struct policy_page *page = arena_zero(r->arena, 1, sizeof *page);
    uint32_t single = 0, start = 0, end = 0;

    if (!page_of(r, v, "page_index", &single) || !page_of(r, v, "start_index", &start) ||
        !page_of(r, v, "end_index", &end))
        return false;
    if (single || start || end)
        r->t->has_pages = true;
    start = start ? start : single ? single : end ? end : above ? above->start_index : 1;
    if (end && end < start)
        return policy_tree_read_wrong(r, "end_index", "is before start_index");
    n->start_index = start;
    n->end_index = end ? end : start;
    page->page = start;
    n->pages = page;
    n->page_count = 1;
    return true;
}

static const struct json_node *below(const struct json *doc, const struct json_node *v)
{
    const struct json_node *list = json_find(doc, v, STR("nodes"));

    return list ? list : json_find(doc, v, STR("children"));
}

static bool policy_tree_read_node(struct reader *r, const struct json_node *v, uint32_t depth,
                                  const struct policy_node *above)
{
    struct policy_node *n;
    str title = STR("");

    if (v->kind != JSON_OBJECT)
        return policy_tree_read_wrong(r, "", "an object is expected");
    if (r->t->node_count == r->nodes_max)
        return err_set(r->e, ERR_LIMIT, "%s: more than %d nodes", r->path, POLICY_NODES_MAX);
    n = &r->t->nodes[r->t->node_count++];
    n->depth = depth;
    n->level = depth < 6 ? depth + 1 : 6;
    if (!json_find(r->doc, v, STR("title")))
        return policy_tree_read_wrong(r, "title", "is missing");
    n->summary = n->text = n->node_id = STR("");
    if (!policy_tree_read_text_of(r, v, "title", &title) || !policy_tree_read_id_of(r, v, n) ||
        !pages_of(r, v, n, above) ||
        !policy_tree_read_text_of(r, v, "prefix_summary", &n->summary) ||
        !policy_tree_read_text_of(r, v, "summary", &n->summary) ||
        !policy_tree_read_text_of(r, v, "text", &n->text))
        return false;
    n->title = policy_title(title, r->arena);
    return true;
}

static bool policy_tree_read_list(struct reader *r, const struct json_node *list, uint32_t depth,
                                  const struct policy_node *above)
{
    size_t path = strlen(r->path), i = 0;

    if (list->kind != JSON_ARRAY)
        return policy_tree_read_wrong(r, "", "a list of nodes is expected");
    if (depth == POLICY_DEPTH_MAX)
        return err_set(r->e, ERR_LIMIT, "%s: deeper than %d", r->path, POLICY_DEPTH_MAX);
    for (const struct json_node *v = json_first(r->doc, list); v;
         v = json_next(r->doc, list, v), i++) {
        const struct policy_node *n = &r->t->nodes[r->t->node_count];
        const struct json_node *inner = below(r->doc, v);

        snprintf(r->path + path, sizeof r->path - path, "[%zu]", i);
        if (!policy_tree_read_node(r, v, depth, above))
            return false;
        if (!inner || inner->kind == JSON_NULL)
            continue;
        snprintf(r->path + strlen(r->path), sizeof r->path - strlen(r->path), ".nodes");
        if (!policy_tree_read_list(r, inner, depth + 1, n))
            return false;
    }
    r->path[path] = 0;
    return true;
}

/* Ids that were left out get their places, unless somebody has that. */
static bool give_ids(struct reader *r)
{
    for (uint32_t i = 0; i < r->t->node_count; i++) {
        struct policy_node *n = &r->t->nodes[i];
        uint32_t place = i + 1;

        if (n->node_id.n > 0)
            continue;
        do
            n->node_id = arena_printf(r->arena, "%04u", (unsigned)place);
        while (map_find(&r->ids, n->node_id) && (place += POLICY_NODES_MAX));
        if (!map_set(&r->ids, n->node_id, MAP_U64(1), r->e))
            return false;
    }
    return true;
}

static const struct json_node *policy_tree_read_list_of(struct reader *r,
                                                        const struct json_node *root)
{
    static const char *const names[] = {"structure", "nodes", "tree", "result"};

    if (root->kind == JSON_ARRAY)
        return root;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct json_node *v = json_find(r->doc, root, str_c(names[i]));

        if (!v)
            continue;
        snprintf(r->path, sizeof r->path, "%s", names[i]);
        if (v->kind == JSON_OBJECT)
            return policy_tree_read_list_of(r, v);
        return v;
    }
    return NULL;
}

static bool read_document(struct reader *r, const struct json_node *root)
{
    struct policy_tree *t = r->t;
    uint32_t pages = 0;

    if (!policy_tree_read_text_of(r, root, "doc_name", &t->doc_name) ||
        !policy_tree_read_text_of(r, root, "doc_description", &t->doc_description) ||
        !policy_tree_read_text_of(r, root, "title", &t->title) ||
        !policy_tree_read_text_of(r, root, "version", &t->version) ||
        !policy_tree_read_text_of(r, root, "effective_start", &t->effective_start) ||
        !policy_tree_read_text_of(r, root, "effective_from", &t->effective_start) ||
        !policy_tree_read_text_of(r, root, "effective_end", &t->effective_end) ||
        !policy_tree_read_text_of(r, root, "effective_to", &t->effective_end) ||
        !page_of(r, root, "page_count", &pages))
        return false;
    t->page_count = pages;
    return true;
}

static bool read_tree(struct reader *r, str json)
{
    const struct json_node *root = json_root(r->doc), *list;
    struct policy_tree *t = r->t;

    if (root->kind != JSON_ARRAY && root->kind != JSON_OBJECT)
        return err_set(r->e, ERR_INPUT, "a tree is an object or a list of nodes");
    if (!read_document(r, root))
        return false;
    list = policy_tree_read_list_of(r, root);
    if (!list)
        return err_set(r->e, ERR_INPUT, "structure: is missing: a list of nodes is expected");
    r->nodes_max = r->doc->n < POLICY_NODES_MAX ? r->doc->n : POLICY_NODES_MAX;
    t->nodes = arena_zero(r->arena, r->nodes_max + 1, sizeof t->nodes[0]);
    if (!policy_tree_read_list(r, list, 0, NULL) || !give_ids(r))
        return false;
    policy_tree_finish(t, json, r->arena);
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
    struct reader r = {.doc = &doc, .arena = a, .t = out, .e = e};
    bool ok;

    *out = (struct policy_tree){.doc_name = arena_dup(a, doc_name),
                                .doc_description = STR(""),
                                .title = STR(""),
                                .version = STR(""),
                                .effective_start = STR(""),
                                .effective_end = STR("")};
    if (json.n > POLICY_SIZE_MAX)
        return err_set(
            e, ERR_LIMIT, "the tree is %zu bytes, the limit is %zu", json.n, POLICY_SIZE_MAX);
    json_init(&doc);
    map_init(&r.ids, NULL, POLICY_NODES_MAX);
    ok = json_parse(&doc, json, e) && read_tree(&r, json);
    map_release(&r.ids);
    json_release(&doc);
    return ok;
}
