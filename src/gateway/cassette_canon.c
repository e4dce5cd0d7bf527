/* cassette_canon.c - when two requests are the same, and where they are not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/cassette_internal.h"

#define SCRATCH_MAX ((size_t)1 << 30)

/* The place of a value: nested, or at the top of a request whose reply is streamed only if it says
 * so, or unless it says no. */
enum place { INSIDE, ON_TOP, ON_TOP_STREAMED };

static enum place cassette_canon_place_of(str path)
{
    return str_ends(path, STR("/api/chat")) || str_ends(path, STR("/api/generate"))
               ? ON_TOP_STREAMED
               : ON_TOP;
}

/* Members that a client may vary without changing the question, and members with their default. */
static bool cassette_is_ignored(const struct json *doc, str key, const struct json_node *value,
                                enum place place)
{
    if (place == INSIDE)
        return false;
    if (str_eq(key, STR("stream")))
        return str_eq(json_raw(doc, value), place == ON_TOP ? STR("false") : STR("true"));
    return value->kind == JSON_NULL || str_eq(key, STR("user")) || str_eq(key, STR("metadata")) ||
           str_eq(key, STR("stream_options")) || str_eq(key, STR("store"));
}

void cassette_body(str body, struct json *doc, struct buf *quoted)
{
    struct err e;

    if (json_parse(doc, body.n ? body : STR("null"), &e))
        return;
    json_quote(quoted, body);
    if (buf_full(quoted) || !json_parse(doc, buf_str(quoted), &e))
        base_die("cassette: a quoted text is not JSON");
}

/* ---- members in order ---- */

struct member {
    str key;
    const struct json_node *value;
    size_t at;
};

struct members {
    struct member *all;
    size_t n;
    struct arena texts; /* of keys that had escapes */
};

static int cassette_canon_by_key(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = str_cmp(x->key, y->key);

    return order ? order : x->at < y->at ? -1 : 1;
}

/* Sorted by the keys' bytes; of two equal keys the last counts. */
static void members_init(struct members *m, const struct json *doc, const struct json_node *v,
                         enum place place)
{
    size_t n = 0, kept = 0;

    arena_init(&m->texts, SCRATCH_MAX);
    m->all = base_alloc((json_count(doc, v) + 1) * sizeof *m->all);
    for (const struct json_node *k = json_first(doc, v); k; k = json_next(doc, v, k)) {
        str key;

        if (json_text(doc, k, &m->texts, &key) &&
            !cassette_is_ignored(doc, key, json_value(k), place))
            m->all[n] = (struct member){key, json_value(k), n}, n++;
    }
    qsort(m->all, n, sizeof *m->all, cassette_canon_by_key);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !str_eq(m->all[i].key, m->all[i + 1].key))
            m->all[kept++] = m->all[i];
    assert(kept <= n);
    m->n = kept;
}

static void members_release(struct members *m)
{
    arena_release(&m->texts);
    free(m->all);
}

/* ---- the canonical form ---- */

/* Digits without zeros at either end and a power of ten: 100, 1e2 and 100.0 are all 1e2. A power
 * that does not fit leaves the number as it is written. */
static void cassette_canon_put_number(struct json_out *o, str raw)
{
    struct buf digits, out;
    int64_t power = 0;
    size_t at = 0, zeros = 0;
    bool negative = raw.p[0] == '-', fraction = false;
    uint64_t exponent = 0;

    assert(raw.n > 0);
    buf_init(&digits, raw.n + 1);
    for (at = negative; at < raw.n && (raw.p[at] | 32) != 'e'; at++) {
        if (raw.p[at] == '.') {
            fraction = true;
            continue;
        }
        power -= fraction;
        if (digits.n > 0 || raw.p[at] != '0')
            buf_add_c(&digits, raw.p[at]);
    }
    if (at < raw.n) {
        bool down = raw.p[++at] == '-';

        at += down || raw.p[at] == '+';
        while (at + 1 < raw.n && raw.p[at] == '0')
            at++;
        if (raw.n - at > 15 || !str_u64(str_slice(raw, at, raw.n), &exponent)) {
            json_out_raw(o, digits.n ? raw : STR("0"));
            buf_release(&digits);
            return;
        }
        power += down ? -(int64_t)exponent : (int64_t)exponent;
    }
    while (zeros < digits.n && digits.p[digits.n - 1 - zeros] == '0')
        zeros++;
    power += (int64_t)zeros;
    buf_init(&out, raw.n + 32);
    buf_printf(&out,
               "%s" STR_FMT,
               negative ? "-" : "",
               STR_ARG(str_slice(buf_str(&digits), 0, digits.n - zeros)));
    if (power != 0)
        buf_printf(&out, "e%lld", (long long)power);
    json_out_raw(o, digits.n > 0 ? buf_str(&out) : STR("0"));
    buf_release(&out);
    buf_release(&digits);
}

static void cassette_canon_put_text(struct json_out *o, const struct json *doc,
                                    const struct json_node *v)
{
    struct arena a;
    str text = STR("");

    arena_init(&a, SCRATCH_MAX);
    if (json_text(doc, v, &a, &text))
        json_out_str(o, text);
    arena_release(&a);
}

static void cassette_canon_put(struct json_out *o, const struct json *doc,
                               const struct json_node *v, enum place place)
{
    struct members m;

    switch ((enum json_kind)v->kind) {
    case JSON_OBJECT:
        json_out_object(o);
        members_init(&m, doc, v, place);
        for (size_t i = 0; i < m.n; i++) {
            json_out_key(o, m.all[i].key);
            cassette_canon_put(o, doc, m.all[i].value, INSIDE);
        }
        members_release(&m);
        json_out_end(o);
        break;
    case JSON_ARRAY:
        json_out_array(o);
        for (const struct json_node *c = json_first(doc, v); c; c = json_next(doc, v, c))
            cassette_canon_put(o, doc, c, INSIDE);
        json_out_end(o);
        break;
    case JSON_STRING:
        cassette_canon_put_text(o, doc, v);
        break;
    case JSON_NUMBER:
        cassette_canon_put_number(o, json_raw(doc, v));
        break;
    default:
        json_out_raw(o, json_raw(doc, v));
        break;
    }
}

void cassette_canonical(const struct json *doc, str path, struct buf *out)
{
    struct json_out o;

    json_out_init(&o, out);
    cassette_canon_put(&o, doc, json_root(doc), path.n ? cassette_canon_place_of(path) : INSIDE);
}

/* ---- the first difference ---- */

static void cassette_canon_add_key(struct buf *pointer, str key)
{
    buf_add_c(pointer, '/');
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] == '~')
            buf_add(pointer, STR("~0"));
        else if (key.p[i] == '/')
            buf_add(pointer, STR("~1"));
        else
            buf_add_c(pointer, key.p[i]);
}

static bool cassette_canon_same_number(str a, str b)
{
    struct buf x, y;
    struct json_out o;
    bool same;

    buf_init(&x, a.n + 64);
    buf_init(&y, b.n + 64);
    json_out_init(&o, &x);
    cassette_canon_put_number(&o, a);
    json_out_init(&o, &y);
    cassette_canon_put_number(&o, b);
    same = str_eq(buf_str(&x), buf_str(&y));
    buf_release(&y);
    buf_release(&x);
    return same;
}

struct pair {
    const struct json *da, *db;
    struct buf *pointer;
};

static bool cassette_canon_values_differ(const struct pair *p, const struct json_node *a,
                                         const struct json_node *b, enum place place);

static bool members_differ(const struct pair *p, const struct json_node *a,
                           const struct json_node *b, enum place place)
{
    struct members ma, mb;
    size_t i = 0, j = 0;
    bool found = false;

    members_init(&ma, p->da, a, place);
    members_init(&mb, p->db, b, place);
    while (!found && (i < ma.n || j < mb.n)) {
        int order = i == ma.n ? 1 : j == mb.n ? -1 : str_cmp(ma.all[i].key, mb.all[j].key);
        size_t before = p->pointer->n;

        cassette_canon_add_key(p->pointer, order <= 0 ? ma.all[i].key : mb.all[j].key);
        found =
            order != 0 || cassette_canon_values_differ(p, ma.all[i].value, mb.all[j].value, INSIDE);
        if (!found)
            p->pointer->n = before;
        i++;
        j++;
    }
    members_release(&mb);
    members_release(&ma);
    return found;
}

static bool cassette_elements_differ(const struct pair *p, const struct json_node *a,
                                     const struct json_node *b)
{
    const struct json_node *x = json_first(p->da, a), *y = json_first(p->db, b);

    for (size_t i = 0; x || y; i++) {
        size_t before = p->pointer->n;

        buf_printf(p->pointer, "/%zu", i);
        if (!x || !y || cassette_canon_values_differ(p, x, y, INSIDE))
            return true;
        p->pointer->n = before;
        x = json_next(p->da, a, x);
        y = json_next(p->db, b, y);
    }
    return false;
}

static bool cassette_canon_values_differ(const struct pair *p, const struct json_node *a,
                                         const struct json_node *b, enum place place)
{
    if (a->kind != b->kind)
        return true;
    switch ((enum json_kind)a->kind) {
    case JSON_OBJECT:
        return members_differ(p, a, b, place);
    case JSON_ARRAY:
        return cassette_elements_differ(p, a, b);
    case JSON_NUMBER:
        return !cassette_canon_same_number(json_raw(p->da, a), json_raw(p->db, b));
    case JSON_STRING:
        return !json_equal(p->da, a, p->db, b);
    default:
        return false;
    }
}

bool cassette_differ(const struct json *da, const struct json *db, str path, struct buf *pointer)
{
    const struct pair p = {da, db, pointer};

    return cassette_canon_values_differ(
        &p, json_root(da), json_root(db), cassette_canon_place_of(path));
}
