/* tree.c - a parsed tree: values derived from its nodes, and navigation. See tree.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/sentence.h"
#include "apps/policy/tree_build.h"
#include "base/ctype.h"
#include "base/sha256.h"
#include "base/utf8.h"

str policy_one_line(str s, struct arena *a)
{
    char *p = arena_alloc(a, s.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        if (!char_is_json_space(s.p[i]))
            p[n++] = s.p[i];
        else if (n > 0 && p[n - 1] != ' ')
            p[n++] = ' ';
    while (n > 0 && p[n - 1] == ' ')
        n--;
    assert(n <= s.n);
    return (str){p, n};
}

str policy_title(str s, struct arena *a)
{
    str title = utf8_cut_size(policy_one_line(s, a), POLICY_TITLE_MAX);

    if (title.n > 0 && title.p[title.n - 1] == ' ') /* cut between two words */
        title.n--;
    return title;
}

static size_t policy_tree_word_count(str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += !char_is_json_space(s.p[i]) && (i == 0 || char_is_json_space(s.p[i - 1]));
    return n;
}

/* The front of s with so many words. */
static str policy_words_cut(str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        if (!char_is_json_space(s.p[i]) && (i == 0 || char_is_json_space(s.p[i - 1])) &&
            n++ == POLICY_SUMMARY_TOKENS)
            return str_trim(str_slice(s, 0, i));
    return s;
}

#define SUMMARY_SIZE_MAX 2000 /* bytes: there are scripts without spaces */

str policy_summary(str text, struct arena *a)
{
    str front = utf8_cut_size(text, 4 * SUMMARY_SIZE_MAX), out;
    size_t n, words = 0, to = 0;
    struct policy_sentence *all;

    if (text.n <= SUMMARY_SIZE_MAX && policy_tree_word_count(text) <= POLICY_SUMMARY_TOKENS)
        return policy_one_line(text, a);
    n = policy_sentences(front, a, &all);
    for (size_t i = 0; i < n; i++) {
        assert(all[i].from < all[i].to && all[i].to <= front.n);
        words += policy_tree_word_count(str_slice(front, all[i].from, all[i].to));
        if (words > POLICY_SUMMARY_TOKENS)
            break;
        to = all[i].to;
    }
    out = str_slice(front, 0, to);
    if (to == 0)
        out = policy_words_cut(front);
    return utf8_cut_size(policy_one_line(out, a), SUMMARY_SIZE_MAX);
}

/* The summary of an inner node without text: the titles of its children. */
static str policy_children_summary(const struct policy_tree *t, const struct policy_node *n,
                                   struct arena *a)
{
    struct buf b;
    str out;

    buf_init(&b, SUMMARY_SIZE_MAX);
    for (const struct policy_node *c = policy_child(t, n); c; c = policy_sibling(t, c)) {
        if (b.n > 0)
            buf_add(&b, STR("; "));
        buf_add(&b, c->title);
        if (buf_full(&b))
            break;
    }
    out = arena_dup(a, policy_words_cut(buf_str(&b)));
    buf_release(&b);
    return out;
}

static void node_hash(struct policy_node *n)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    struct sha256 h;

    sha256_init(&h);
    sha256_feed(&h, n->title_path);
    sha256_feed(&h, STR("\n"));
    sha256_feed(&h, n->text);
    sha256_finish(&h, digest);
    sha256_hex(digest, hex);
    memcpy(n->hash, hex, 16);
    n->hash[16] = 0;
}

/* Those that are open, from the top, while nodes come in their order. */
static void policy_link_nodes(struct policy_tree *t, struct arena *a)
{
    uint32_t open[POLICY_DEPTH_MAX + 1];

    for (uint32_t i = 0; i < t->node_count; i++) {
        struct policy_node *n = &t->nodes[i];

        assert(n->depth < POLICY_DEPTH_MAX);
        assert(i == 0 ? n->depth == 0 : n->depth <= n[-1].depth + 1); /* no level is left out */
        open[n->depth] = i;
        n->span = 1;
        n->title_path = n->title;
        for (uint32_t d = 0; d < n->depth; d++) {
            struct policy_node *above = &t->nodes[open[d]];

            assert(open[d] < i && above->depth == d);
            above->span = i - open[d] + 1;
            if (n->end_index > above->end_index)
                above->end_index = n->end_index;
        }
        if (n->depth > 0)
            n->title_path = utf8_cut_size(
                arena_join(
                    a, t->nodes[open[n->depth - 1]].title_path, STR(POLICY_PATH_BETWEEN), n->title),
                POLICY_PATH_MAX);
    }
}

void policy_tree_init(struct policy_tree *t, str doc_name, struct arena *a)
{
    *t = (struct policy_tree){.doc_name = arena_dup(a, doc_name)};
    t->doc_description = t->title = t->version = t->effective_start = t->effective_end = STR("");
}

void policy_tree_finish(struct policy_tree *t, str source, struct arena *a)
{
    uint8_t digest[SHA256_SIZE];

    policy_link_nodes(t, a);
    for (uint32_t i = 0; i < t->node_count; i++) {
        struct policy_node *n = &t->nodes[i];

        if (n->node_id.n == 0)
            n->node_id = arena_printf(a, "%04u", (unsigned)i + 1);
        if (n->summary.n == 0)
            n->summary = policy_summary(n->text, a);
        if (n->summary.n == 0 && n->span > 1)
            n->summary = policy_children_summary(t, n, a);
        node_hash(n);
    }
    if (t->doc_description.n == 0 && t->node_count > 0)
        t->doc_description = t->nodes[0].summary;
    sha256_of(source, digest);
    sha256_hex(digest, t->hash);
}

const struct policy_node *policy_node_find(const struct policy_tree *t, str node_id)
{
    for (uint32_t i = 0; i < t->node_count; i++)
        if (str_eq(t->nodes[i].node_id, node_id))
            return &t->nodes[i];
    return NULL;
}

const struct policy_node *policy_node_titled(const struct policy_tree *t, str section)
{
    const struct policy_node *found = NULL;

    section = str_trim(section);
    for (uint32_t i = 0; i < t->node_count; i++)
        if (str_eq_nocase(t->nodes[i].title_path, section))
            return &t->nodes[i];
    for (uint32_t i = 0; i < t->node_count; i++)
        if (str_eq_nocase(t->nodes[i].title, section)) {
            if (found)
                return NULL;
            found = &t->nodes[i];
        }
    return found;
}

const struct policy_node *policy_child(const struct policy_tree *t, const struct policy_node *n)
{
    if (!n)
        return t->node_count > 0 ? t->nodes : NULL;
    assert(n >= t->nodes && n + n->span <= t->nodes + t->node_count);
    return n->span > 1 ? n + 1 : NULL;
}

const struct policy_node *policy_sibling(const struct policy_tree *t, const struct policy_node *n)
{
    const struct policy_node *next = n + n->span;

    assert(n->span >= 1 && next <= t->nodes + t->node_count);

    return next < t->nodes + t->node_count && next->depth == n->depth ? next : NULL;
}

const struct policy_node *policy_parent(const struct policy_tree *t, const struct policy_node *n)
{
    assert(n >= t->nodes && n < t->nodes + t->node_count);
    for (const struct policy_node *p = n; n->depth > 0 && p > t->nodes;)
        if ((--p)->depth < n->depth)
            return p;
    return NULL;
}

const str *policy_titles(const struct policy_tree *t, const struct policy_node *n, struct arena *a)
{
    str *out = arena_alloc(a, (n->depth + 1) * sizeof out[0]);

    for (size_t i = n->depth + 1; n && i > 0; i--, n = policy_parent(t, n))
        out[i - 1] = arena_dup(a, n->title);
    return out;
}

uint32_t policy_page_at(const struct policy_node *n, size_t at)
{
    uint32_t low = 0, high = n->page_count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (n->pages[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    assert(n->page_count == 0 || low == 0 || n->pages[low].at <= at);
    return n->page_count > 0 ? n->pages[low].page : n->start_index;
}
