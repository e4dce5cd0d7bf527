/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

static size_t json_splice_end_of(const struct json_node *v)
{
    return (size_t)v->at + v->size;
}

void json_splice(const struct json *doc, const struct json_node *v, str with, struct buf *out)
{
    assert(v && json_splice_end_of(v) <= doc->src.n);
    assert(v >= doc->nodes && v < doc->nodes + doc->n);
    buf_add(out, str_slice(doc->src, 0, v->at));
    buf_add(out, with);
    buf_add(out, str_slice(doc->src, json_splice_end_of(v), doc->src.n));
}

void json_splice_set(const struct json *doc, const struct json_node *v, str key, str with,
                     struct buf *out)
{
    const struct json_node *old = json_find(doc, v, key), *last = NULL;
    size_t at;

    assert(v && v->kind == JSON_OBJECT);
    if (old) {
        json_splice(doc, old, with, out);
        return;
    }
    JSON_FOREACH(k, doc, v)
        last = json_value(k);
    at = last ? json_splice_end_of(last) : (size_t)v->at + 1;
    buf_add(out, str_slice(doc->src, 0, at));
    if (last)
        buf_add_c(out, ',');
    json_quote(out, key);
    buf_add_c(out, ':');
    buf_add(out, with);
    buf_add(out, str_slice(doc->src, at, doc->src.n));
}

/* Each member that stays brings the text before it along, its comma among it; the first that stays
 * has no comma to bring. */
void json_splice_remove(const struct json *doc, const struct json_node *v, str key, struct buf *out)
{
    const struct json_node *first = json_first(doc, v);
    size_t written = 0; /* of the source; the bytes up to the next member are undecided */
    bool any = false;

    assert(v && v->kind == JSON_OBJECT);
    if (first) {
        buf_add(out, str_slice(doc->src, 0, first->at));
        written = first->at;
    }
    for (const struct json_node *k = first; k; k = json_next(doc, v, k)) {
        size_t end = json_splice_end_of(json_value(k));

        if (!json_is(doc, k, key)) {
            buf_add(out, str_slice(doc->src, any ? written : k->at, end));
            any = true;
        }
        written = end;
    }
    assert(written <= doc->src.n);
    buf_add(out, str_slice(doc->src, written, doc->src.n));
}
