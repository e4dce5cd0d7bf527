/* patchwork.c - a frame with a few of its values replaced.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/patchwork.h"

#include "wire/say.h"

static int by_place(const void *pa, const void *pb)
{
    const struct patchwork *a = pa, *b = pb;

    return a->node->at < b->node->at ? -1 : a->node->at > b->node->at;
}

void patchwork_write(const struct json *doc, struct patchwork *list, size_t n, bool sse,
                     struct buf *out)
{
    size_t at = 0;

    assert(n <= PATCHWORK_MAX);
    qsort(list, n, sizeof *list, by_place);
    for (size_t i = 0; i <= n; i++) {
        str between = str_slice(doc->src, at, i < n ? list[i].node->at : doc->src.n);

        if (sse)
            say_sse_data(out, between);
        else
            buf_add(out, between);
        if (i == n)
            break;
        if (list[i].quote)
            (void)json_quote(out, list[i].with);
        else if (sse)
            say_sse_data(out, list[i].with);
        else
            buf_add(out, list[i].with);
        at = (size_t)list[i].node->at + list[i].node->size;
    }
}
