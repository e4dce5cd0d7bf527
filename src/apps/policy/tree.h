/* tree.h - a policy as a tree of sections: from Markdown, from JSON, and as JSON.
 *
 *     struct policy_tree t;
 *     if (!policy_tree_markdown(text, STR("lumbar.md"), &arena, &t, e)) ...
 *     const struct policy_node *n = policy_node_find(&t, STR("0003"));
 *     for (const struct policy_node *c = policy_child(&t, n); c; c = policy_sibling(&t, c)) ...
 *     policy_tree_json(&t, true, &out);
 *
 * The nodes are in one array in the order of the document (pre-order), so a subtree is a slice of
 * it: [n, n + n->span). Their ids are their places in it, four digits, from 0001; since places
 * change when the document is edited, a citation says the title path and the hash as well.
 *
 * Markdown. A heading of any of CommonMark's two kinds begins a node, whose text runs to the next
 * heading; deeper ones nest in it, also when a level is left out. Headings inside of code, HTML
 * comments and the front matter do not count. Text before the first heading is a node titled as the
 * document. `<!-- page N -->` on a line of its own begins page N; it is not part of any text. Front
 * matter (between two lines "---" at the very start) gives title, version, effective_start and
 * effective_end.
 *
 * JSON. The formats of PageIndex: {"doc_name", "structure": [...]} or {"nodes": [...]} or "tree",
 * or the bare list of nodes; a node has title, and may have node_id, start_index and end_index (or
 * page_index), summary or prefix_summary, text, nodes. Ids given are kept; they must differ.
 *
 * Promises: the same bytes give the same tree; time is linear; every text is UTF-8 or an error;
 * errors have the line (Markdown) or the path (JSON).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define POLICY_SIZE_MAX ((size_t)32 << 20)
#define POLICY_NODES_MAX 100000
#define POLICY_DEPTH_MAX 64 /* of nodes in JSON; Markdown has six levels */
#define POLICY_PAGE_MAX 1000000
#define POLICY_TITLE_MAX 1000              /* bytes; a longer title is cut at a character */
#define POLICY_SUMMARY_TOKENS 60           /* words that a summary has at most */
#define POLICY_PATH_MAX 2000               /* bytes of a title path, likewise */
#define POLICY_PATH_BETWEEN " > "          /* between the titles of a title path */
#define POLICY_ARENA_MAX ((size_t)1 << 30) /* size limit of an arena for a tree */

/* Where in a node's text a page begins. */
struct policy_page {
    uint32_t at;
    uint32_t page;
};

struct policy_node {
    str node_id;
    str title;
    str title_path;                  /* with the titles above: "Coverage > Age" */
    uint32_t start_index, end_index; /* pages, inclusive, of it and all below it */
    str summary;                     /* JSON: "summary" of a leaf, "prefix_summary" otherwise */
    str text;                        /* its own, without heading, markers and children */
    const struct policy_page *pages; /* of its own text; pages[0].at is 0 */
    uint32_t page_count;             /* at least 1 */
    uint32_t line;                   /* of its heading in Markdown, from 1; 0 in JSON */
    uint32_t level;                  /* of its heading, 1 to 6; 0: before the first heading */
    uint32_t depth;                  /* 0: at the top */
    uint32_t span;                   /* nodes of its subtree, itself included */
    char hash[17];                   /* of title path and text: first 16 digits of their SHA-256 */
};

struct policy_tree {
    str doc_name, doc_description;
    str title, version, effective_start, effective_end; /* of the front matter; "" if not there */
    str front_other; /* the first line of the front matter that is none of these; "": none */
    uint32_t page_count, line_count;
    bool has_pages; /* markers or page numbers were there; otherwise all is on page 1 */
    struct policy_node *nodes;
    uint32_t node_count;
    char hash[65]; /* SHA-256 of the source */
};

/* text is copied into the arena, which needs a ceiling of POLICY_ARENA_MAX. */
bool policy_tree_markdown(str text, str doc_name, struct arena *a, struct policy_tree *out,
                          struct err *e) MUST_USE;
bool policy_tree_read(str json, str doc_name, struct arena *a, struct policy_tree *out,
                      struct err *e) MUST_USE;

/* The member "structure" of that: the nodes. */
void policy_structure_json(const struct policy_tree *t, bool with_text, struct json_out *o);
/* {"doc_name", "doc_description", "page_count", "line_count", ..., "structure": [...]}. */
void policy_tree_json(const struct policy_tree *t, bool with_text, struct json_out *o);

const struct policy_node *policy_node_find(const struct policy_tree *t, str node_id);
/* By its title path, or else by its title if only one has it; case does not matter. */
const struct policy_node *policy_node_titled(const struct policy_tree *t, str section);
/* NULL for n: the first at the top. */
const struct policy_node *policy_child(const struct policy_tree *t, const struct policy_node *n);
const struct policy_node *policy_sibling(const struct policy_tree *t, const struct policy_node *n);
const struct policy_node *policy_parent(const struct policy_tree *t, const struct policy_node *n);
/* Copies of the titles from the top to a node: its depth and one more. */
const str *policy_titles(const struct policy_tree *t, const struct policy_node *n, struct arena *a);
/* The page of a byte of its text. */
uint32_t policy_page_at(const struct policy_node *n, size_t at);
