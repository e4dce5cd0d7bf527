/* Arbitrary bytes as JSON: all readers agree. A document that was read is consistent, can be
 * spliced, and can be written without loss.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json/internal.h"

#define NODES_TRIED_MAX 48
#define MEMORY_MAX ((size_t)1 << 24)
#define HOLDS(claim) ((claim) ? (void)0 : base_die("line %d: %s", __LINE__, #claim))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool by_all_paths(struct json *doc, str src)
{
    struct err want = {0};
    bool ok = json_parse_at(doc, src, SIMD_WORD, &want);

    for (enum simd_level level = SIMD_16; level <= simd_best(); level++) {
        struct err e = {0};
        struct json other;

        json_init(&other);
        HOLDS(json_parse_at(&other, src, level, &e) == ok);
        HOLDS(ok || (e.code == want.code && strcmp(e.text, want.text) == 0));
        HOLDS(other.n == doc->n);
        HOLDS(!ok || memcmp(other.nodes, doc->nodes, doc->n * sizeof *doc->nodes) == 0);
        json_release(&other);
    }
    return ok;
}

/* Children lie inside their parent, one after the other. */
static void check_spans(const struct json *doc, const struct json_node *v)
{
    size_t end = (size_t)v->at + v->size, at = (size_t)v->at + 1;
    const struct json_node *last = v;

    HOLDS(v->size > 0 && v->span > 0 && end <= doc->src.n);
    HOLDS(v + v->span <= doc->nodes + doc->n);
    HOLDS(v->span == 1 || v->kind == JSON_ARRAY || v->kind == JSON_OBJECT);
    for (const struct json_node *c = json_first(doc, v); c; c = json_next(doc, v, c)) {
        last = v->kind == JSON_OBJECT ? json_value(c) : c;
        HOLDS(v->kind != JSON_OBJECT || c->kind == JSON_STRING);
        HOLDS(c->at >= at && last->at >= c->at);
        at = (size_t)last->at + last->size;
        HOLDS(at < end);
    }
    HOLDS(last == v || last + last->span == v + v->span);
}

static void copy_value(const struct json *doc, const struct json_node *v, struct arena *a,
                       struct json_out *o)
{
    bool object = v->kind == JSON_OBJECT;
    str s;

    if (v->kind != JSON_ARRAY && !object) {
        if (json_text(doc, v, a, &s))
            json_out_str(o, s);
        else
            json_out_raw(o, json_raw(doc, v));
        return;
    }
    if (object)
        json_out_object(o);
    else
        json_out_array(o);
    for (const struct json_node *c = json_first(doc, v); c; c = json_next(doc, v, c)) {
        HOLDS(!object || json_text(doc, c, a, &s));
        if (object)
            json_out_key(o, s);
        copy_value(doc, object ? json_value(c) : c, a, o);
    }
    json_out_end(o);
}

static void check_copy(const struct json *doc, struct arena *a, struct buf *b)
{
    struct json again;
    struct json_out o;
    struct err e;

    json_init(&again);
    buf_reset(b);
    json_out_init(&o, b);
    copy_value(doc, json_root(doc), a, &o);
    HOLDS(json_out_ok(&o, &e));
    HOLDS(by_all_paths(&again, buf_str(b)));
    HOLDS(again.n == doc->n);
    HOLDS(json_equal(doc, json_root(doc), &again, json_root(&again)));
    json_release(&again);
}

/* An integer keeps its value as a double, and when it is written again. */
static void check_number(const struct json *doc, const struct json_node *v)
{
    struct json_double_text t;
    int64_t i;
    double d;

    HOLDS(json_number_equal(json_raw(doc, v), json_raw(doc, v)));
    HOLDS(json_double(doc, v, &d) && d == d);
    if (json_i64(doc, v, &i))
        HOLDS((double)i == d);
    if (d - d == 0) {
        t = json_double_text(d);
        HOLDS(t.n > 0);
    }
}

static void check_text(const struct json *doc, const struct json_node *v, struct arena *a)
{
    char *room = base_alloc(v->size);
    str text;

    HOLDS(json_text(doc, v, a, &text));
    HOLDS(json_is(doc, v, text));
    for (enum simd_level level = SIMD_WORD; level <= simd_best(); level++) {
        size_t n = json_unescape((str){doc->src.p + v->at + 1, v->size - 2}, room, level);

        HOLDS(str_eq((str){room, n}, text));
    }
    free(room);
}

static void check_members(const struct json *doc, const struct json_node *v, struct buf *b)
{
    const size_t at = (size_t)(v - doc->nodes);
    struct json again;
    struct err e;
    int64_t i;

    json_init(&again);
    for (const char *key = "ab"; *key; key++) {
        buf_reset(b);
        json_splice_set(doc, v, str_c(key), STR("77"), b);
        HOLDS(json_parse(&again, buf_str(b), &e));
        HOLDS(json_i64(&again, json_find(&again, again.nodes + at, str_c(key)), &i) && i == 77);
        buf_reset(b);
        json_splice_remove(doc, v, str_c(key), b);
        HOLDS(json_parse(&again, buf_str(b), &e));
        HOLDS(!json_find(&again, again.nodes + at, str_c(key)));
        HOLDS(json_find(doc, v, str_c(key)) || str_eq(buf_str(b), doc->src));
    }
    json_release(&again);
}

static void check_node(const struct json *doc, const struct json_node *v, struct arena *a,
                       struct buf *b)
{
    struct json again;
    struct err e;

    check_spans(doc, v);
    json_init(&again);
    HOLDS(json_parse(&again, json_raw(doc, v), &e));
    HOLDS(again.n == v->span);
    HOLDS(json_equal(doc, v, &again, json_root(&again)));
    json_release(&again);
    buf_reset(b);
    json_splice(doc, v, json_raw(doc, v), b);
    HOLDS(str_eq(buf_str(b), doc->src));
    if (v->kind == JSON_NUMBER)
        check_number(doc, v);
    else if (v->kind == JSON_STRING)
        check_text(doc, v, a);
    else if (v->kind == JSON_OBJECT)
        check_members(doc, v, b);
}

/* Arbitrary bytes as text: quoted they are JSON, and read as the same text if they were UTF-8. */
static void check_quote(str text, struct arena *a, struct buf *b)
{
    bool good = !utf8_scan(text.p, text.p + text.n, SIMD_WORD);
    struct json doc;
    struct err e;
    str back;

    json_init(&doc);
    for (enum simd_level level = SIMD_WORD; level <= simd_best(); level++) {
        buf_reset(b);
        HOLDS(!utf8_scan(text.p, text.p + text.n, level) == good);
        HOLDS(json_quote_at(b, text, level) == good);
        HOLDS(json_parse(&doc, buf_str(b), &e));
        HOLDS(json_text(&doc, json_root(&doc), a, &back));
        HOLDS(!good || str_eq(back, text));
    }
    json_release(&doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str src = size ? (str){(const char *)data, size} : STR("");
    struct json doc;
    struct arena a;
    struct buf b;

    json_init(&doc);
    arena_init(&a, MEMORY_MAX);
    buf_init(&b, MEMORY_MAX);
    check_quote(src, &a, &b);
    (void)json_pointer(&doc, src);
    if (by_all_paths(&doc, src)) {
        (void)json_pointer(&doc, src);
        check_copy(&doc, &a, &b);
        for (uint32_t i = 0; i < doc.n && i < NODES_TRIED_MAX; i++)
            check_node(&doc, &doc.nodes[i], &a, &b);
    }
    buf_release(&b);
    arena_release(&a);
    json_release(&doc);
    return 0;
}
