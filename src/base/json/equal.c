/* Equality by value. Objects are compared by sorting the keys of both, so that neither the order of
 * the members nor their number matters much: n log n, whatever the keys are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json/internal.h"

#define KEYS_ON_STACK 16 /* of both: json_equal may be JSON_DEPTH_MAX calls deep */

struct side {
    const struct json *doc;
    const struct json_node *key;
};

/* By text, then by place: of equal keys the one that counts is the last. */
static int json_side_cmp(const void *pa, const void *pb)
{
    const struct side *a = pa, *b = pb;
    int c = json_cursor_cmp(json_cursor_of(a->doc, a->key), json_cursor_of(b->doc, b->key));

    return c ? c : (a->key > b->key) - (a->key < b->key);
}

static bool json_equal_same_key(const struct side *a, const struct side *b)
{
    return json_cursor_cmp(json_cursor_of(a->doc, a->key), json_cursor_of(b->doc, b->key)) == 0;
}

static bool json_is_sorted(const struct side *sides, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (json_side_cmp(&sides[i - 1], &sides[i]) > 0)
            return false;
    return true;
}

/* The keys that count, sorted; returns how many. */
static size_t json_sort_keys(const struct json *doc, const struct json_node *v, struct side *sides)
{
    size_t n = 0, kept = 0;

    JSON_FOREACH(k, doc, v)
        sides[n++] = (struct side){doc, k};
    if (!json_is_sorted(sides, n))
        qsort(sides, n, sizeof *sides, json_side_cmp);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !json_equal_same_key(&sides[i], &sides[i + 1]))
            sides[kept++] = sides[i];
    assert(kept <= n && !kept == !n);
    return kept;
}

static bool json_objects_equal(const struct json *da, const struct json_node *a,
                               const struct json *db, const struct json_node *b)
{
    size_t na = json_count(da, a), nb = json_count(db, b);
    struct side few[KEYS_ON_STACK], *sides = few, *other;
    bool equal;

    if (na + nb > KEYS_ON_STACK)
        sides = base_alloc((na + nb) * sizeof *sides);
    other = sides + na;
    na = json_sort_keys(da, a, sides);
    nb = json_sort_keys(db, b, other);
    assert(other >= sides + na);
    equal = na == nb;
    for (size_t i = 0; equal && i < na; i++)
        equal = json_equal_same_key(&sides[i], &other[i]) &&
                json_equal(da, json_value(sides[i].key), db, json_value(other[i].key));
    if (sides != few)
        free(sides);
    return equal;
}

static bool json_arrays_equal(const struct json *da, const struct json_node *a,
                              const struct json *db, const struct json_node *b)
{
    const struct json_node *x = json_first(da, a), *y = json_first(db, b);

    while (x && y && json_equal(da, x, db, y)) {
        x = json_next(da, a, x);
        y = json_next(db, b, y);
    }
    return !x && !y;
}

bool json_equal(const struct json *da, const struct json_node *a, const struct json *db,
                const struct json_node *b)
{
    if (!a || !b)
        return a == b;
    if (a->kind != b->kind)
        return false;
    switch ((enum json_kind)a->kind) {
    case JSON_NULL:
    case JSON_FALSE:
    case JSON_TRUE:
        return true;
    case JSON_NUMBER:
        return json_number_equal(json_raw(da, a), json_raw(db, b));
    case JSON_STRING:
        return json_cursor_cmp(json_cursor_of(da, a), json_cursor_of(db, b)) == 0;
    case JSON_ARRAY:
        return json_arrays_equal(da, a, db, b);
    case JSON_OBJECT:
        return json_objects_equal(da, a, db, b);
    }
    return false;
}
