/* tree_json.c - a tree as JSON, in the form of PageIndex. See tree.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/tree.h"

/* All of a node but those below it; "nodes" is open afterwards if there are any. */
static void node_begin(const struct policy_node *n, bool with_text, struct json_out *o)
{
    assert(n->span > 0 && n->start_index <= n->end_index);
    json_out_object(o);
    json_member_str(o, "title", n->title);
    json_member_str(o, "node_id", n->node_id);
    json_member_u64(o, "start_index", n->start_index);
    json_member_u64(o, "end_index", n->end_index);
    json_member_str(o, n->span > 1 ? "prefix_summary" : "summary", n->summary);
    json_member_str(o, "title_path", n->title_path);
    json_member_str(o, "hash", str_c(n->hash));
    if (n->line > 0)
        json_member_u64(o, "line_num", n->line);
    if (with_text)
        json_member_str(o, "text", n->text);
    if (n->span == 1) {
        json_out_end(o);
        return;
    }
    json_member_array(o, "nodes");
}

void policy_structure_json(const struct policy_tree *t, bool with_text, struct json_out *o)
{
    uint32_t open = 0; /* nodes that are open: each holds the next */

    json_member_array(o, "structure");
    for (uint32_t i = 0; i < t->node_count; i++) {
        for (; open > t->nodes[i].depth; open--) {
            json_out_close(o, 2);
        }
        assert(open == t->nodes[i].depth);
        node_begin(&t->nodes[i], with_text, o);
        open += t->nodes[i].span > 1;
    }
    for (; open > 0; open--) {
        json_out_close(o, 2);
    }
    json_out_end(o);
}

void policy_tree_json(const struct policy_tree *t, bool with_text, struct json_out *o)
{
    json_out_object(o);
    json_member_str(o, "doc_name", t->doc_name);
    json_member_str(o, "doc_description", t->doc_description);
    if (t->title.n > 0)
        json_member_str(o, "title", t->title);
    if (t->version.n > 0)
        json_member_str(o, "version", t->version);
    if (t->effective_start.n > 0)
        json_member_str(o, "effective_start", t->effective_start);
    if (t->effective_end.n > 0)
        json_member_str(o, "effective_end", t->effective_end);
    json_member_u64(o, "page_count", t->page_count);
    if (t->line_count > 0)
        json_member_u64(o, "line_count", t->line_count);
    json_member_str(o, "hash", str_c(t->hash));
    policy_structure_json(t, with_text, o);
    json_out_end(o);
}
