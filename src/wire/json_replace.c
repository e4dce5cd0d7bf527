/* json_replace.c - a frame with a few of its values replaced.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/json_replace.h"

#include "wire/json_write.h"

static int json_replace_by_place(const void *pa, const void *pb)
{
    const struct json_replacement *a = pa, *b = pb;

    return a->node->at < b->node->at ? -1 : a->node->at > b->node->at;
}

/* White space and commas that end there. */
static str json_replace_gap(const struct json *doc, size_t end)
{
    size_t from = end;

    assert(end <= doc->src.n);
    while (from > 0 && doc->src.p[from - 1] && strchr(" \t\r\n,", doc->src.p[from - 1]))
        from--;
    return str_slice(doc->src, from, end);
}

void json_replace_list_next(const struct json *doc, const struct json_node *element,
                            struct buf *out)
{
    str gap = element ? json_replace_gap(doc, element->at) : STR("");
    bool first = out->n <= 1, comma = str_find(gap, STR(",")) != STR_NONE;

    if (first != comma)
        buf_add(out, gap);
    else if (!first)
        buf_add_c(out, ',');
}

void json_replace_list_end(const struct json *doc, const struct json_node *list, struct buf *out)
{
    if (list->kind == JSON_ARRAY)
        buf_add(out, json_replace_gap(doc, list->at + list->size - 1));
    buf_add_c(out, ']');
}

void json_replace_write(const struct json *doc, struct json_replacement *list, size_t n, bool sse,
                        struct buf *out)
{
    size_t at = 0;

    assert(n <= JSON_REPLACE_MAX);
    qsort(list, n, sizeof *list, json_replace_by_place);
    for (size_t i = 0; i <= n; i++) {
        assert(i == n || list[i].node->at >= at); /* they do not overlap */
        str between = str_slice(doc->src, at, i < n ? list[i].node->at : doc->src.n);

        if (sse)
            sse_data(out, between);
        else
            buf_add(out, between);
        if (i == n)
            break;
        if (list[i].quote)
            (void)json_quote(out, list[i].with);
        else if (sse)
            sse_data(out, list[i].with);
        else
            buf_add(out, list[i].with);
        at = (size_t)list[i].node->at + list[i].node->size;
    }
}
