/* passage.c - see passage.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/passage.h"

#include "base/ctype.h"
#include "base/utf8.h"

#define MARKS_MAX 40 /* quotes of a rationale */

/* How many bytes at the front of the text match the quote; 0: no match. */
static size_t passage_match(str text, str quote)
{
    size_t i = 0, k = 0;

    while (k < quote.n) {
        if (char_is_json_space(quote.p[k])) {
            if (i >= text.n || !char_is_json_space(text.p[i]))
                return 0;
            while (k < quote.n && char_is_json_space(quote.p[k]))
                k++;
            while (i < text.n && char_is_json_space(text.p[i]))
                i++;
        } else if (i < text.n && text.p[i] == quote.p[k]) {
            i++;
            k++;
        } else {
            return 0;
        }
    }
    return i;
}

bool policy_quote_find(str text, str quote, size_t *from, size_t *to)
{
    const char *at = text.p, *end = text.p + text.n;

    quote = str_trim(quote);
    if (!quote.n)
        return false;
    while (at < end && (at = memchr(at, quote.p[0], (size_t)(end - at)))) {
        size_t n = passage_match((str){at, (size_t)(end - at)}, quote);

        if (n) {
            *from = (size_t)(at - text.p);
            *to = *from + n;
            assert(*from < *to && *to <= text.n);
            return true;
        }
        at++;
    }
    return false;
}

/* The longest text between two quotes of the rationale that the node has. A sentence may have
 * quotes of its own, so every pair is tried; marks beyond the first MARKS_MAX are not read. */
static bool passage_by_rationale(str rationale, struct policy_passage *p)
{
    size_t marks[MARKS_MAX], n = 0, best = 0, from, to;

    for (size_t i = 0; i < rationale.n && n < MARKS_MAX; i++)
        if (rationale.p[i] == '"')
            marks[n++] = i;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            size_t size = marks[k] - marks[i] - 1;

            if (size > best && size > 8 &&
                policy_quote_find(
                    p->node->text, str_slice(rationale, marks[i] + 1, marks[k]), &from, &to)) {
                best = size;
                p->from = from;
                p->to = to;
            }
        }
    return best > 0;
}

void policy_passage(const struct policy_doc *d, const struct policy_result *r, struct arena *a,
                    struct policy_passage *out)
{
    struct policy_spans spans;
    struct err e;

    *out = (struct policy_passage){.node = policy_node_titled(&d->tree, r->citation.section)};
    if (!out->node)
        return;
    if (!passage_by_rationale(r->rationale, out) &&
        !(r->has_evidence && r->evidence.text_excerpt.n > 8 &&
          policy_quote_find(out->node->text, r->evidence.text_excerpt, &out->from, &out->to)) &&
        policy_spans(
            d, out->node, arena_join(a, r->criterion_id, STR(" "), r->rationale), a, &spans, &e) &&
        spans.n) {
        out->from = spans.spans[0].from;
        out->to = spans.spans[0].to;
    }
    assert(out->from <= out->to && out->to <= out->node->text.n);
    out->page = policy_page_at(out->node, out->from);
}

/* ---- the page ---- */

/* The part of a node's text that is on a page. */
static str passage_on_page(const struct policy_node *n, uint32_t page, size_t *at)
{
    size_t from = STR_NONE, to = 0;

    for (uint32_t i = 0; i < n->page_count; i++) {
        size_t end = i + 1 < n->page_count ? n->pages[i + 1].at : n->text.n;

        if (n->pages[i].page != page)
            continue;
        from = from == STR_NONE ? n->pages[i].at : from;
        to = end;
    }
    *at = from == STR_NONE ? 0 : from;
    return from == STR_NONE ? STR("") : str_slice(n->text, from, to);
}

/* At most so many bytes around the sentence, whole characters. */
static str passage_around(str text, size_t from, size_t to, size_t max, size_t *cut)
{
    size_t begin, size;

    *cut = 0;
    if (text.n <= max)
        return text;
    size = to - from < max ? (max - (to - from)) / 2 : 0;
    begin = from > size ? from - size : 0;
    while (begin < text.n && ((unsigned char)text.p[begin] & 0xC0) == 0x80)
        begin++;
    *cut = begin;
    return utf8_cut_size(str_slice(text, begin, text.n), max);
}

static void passage_block(const struct policy_node *n, str text, size_t from, size_t to,
                          struct json_out *o)
{
    bool there = to > from && to <= text.n;

    json_out_object(o);
    json_member_str(o, "title", n->title_path);
    json_member_str(o, "text", text);
    json_member_i64_or_null(o, "start", there ? (int64_t)utf8_count(str_slice(text, 0, from)) : -1);
    json_member_i64_or_null(o, "end", there ? (int64_t)utf8_count(str_slice(text, 0, to)) : -1);
    json_out_end(o);
}

static bool passage_blocks(const struct policy_doc *d, const struct policy_passage *p,
                           struct json_out *o)
{
    const struct policy_tree *t = &d->tree;
    size_t first = (size_t)(p->node - t->nodes), last = first, size, at, cut;
    str own = passage_on_page(p->node, p->page, &at), text;
    bool all = true, grows = t->has_pages;

    assert(first < t->node_count && at <= p->from && p->from <= p->to);
    if (p->to > at + own.n) /* the sentence runs on to the next page */
        own = str_slice(p->node->text, at, p->to);
    size = own.n;
    /* Sections before and after it on the same page, as many as there is room for. */
    while (grows) {
        grows = false;
        if (first > 0 && (text = passage_on_page(&t->nodes[first - 1], p->page, &cut)).n) {
            grows = all = size + text.n <= POLICY_PASSAGE_MAX;
            first -= grows;
            size += grows ? text.n : 0;
        }
        if (all && last + 1 < t->node_count &&
            (text = passage_on_page(&t->nodes[last + 1], p->page, &cut)).n) {
            bool fits = size + text.n <= POLICY_PASSAGE_MAX;

            last += fits;
            size += fits ? text.n : 0;
            all = fits;
            grows |= fits;
        }
        grows = grows && all;
    }
    assert(first <= last && last < t->node_count);
    for (size_t i = first; i <= last; i++) {
        text = &t->nodes[i] == p->node ? own : passage_on_page(&t->nodes[i], p->page, &cut);
        if (&t->nodes[i] == p->node) {
            text = passage_around(own, p->from - at, p->to - at, POLICY_PASSAGE_MAX, &cut);
            all = all && text.n == own.n;
            passage_block(p->node, text, p->from - at - cut, p->to - at - cut, o);
        } else if (text.n) {
            passage_block(&t->nodes[i], text, 0, 0, o);
        }
    }
    return all;
}

void policy_passage_json(const struct policy_doc *d, const struct policy_passage *p,
                         struct json_out *o)
{
    bool all;

    json_out_object(o);
    json_member_str(o, "document_id", d->id);
    json_member_str(o, "version", policy_doc_version(d));
    json_member_str(o, "section", p->node->title_path);
    json_member_i64(o, "page", p->page);
    json_member_array(o, "blocks");
    all = passage_blocks(d, p, o);
    json_out_end(o);
    json_member_bool(o, "truncated", !all);
    json_out_end(o);
}
