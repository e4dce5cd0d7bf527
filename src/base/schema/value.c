/* SPDX-License-Identifier: Apache-2.0 */
#include "base/schema/internal.h"

void schema_text_get(struct schema_text *t, const struct json *doc, const struct json_node *v)
{
    assert(v->kind == JSON_STRING);
    t->copied = v->escaped;
    if (t->copied)
        arena_init(&t->copy, (size_t)v->size * 2 + 8192);
    if (!json_text(doc, v, &t->copy, &t->s))
        t->s = STR("");
}

void schema_text_release(struct schema_text *t)
{
    if (t->copied)
        arena_release(&t->copy);
    t->s = STR("");
}

/* A high surrogate's escape counts nothing: its low one follows and does. */
static bool schema_is_high_surrogate(const char *p)
{
    return p[1] == 'u' && (p[2] == 'd' || p[2] == 'D') && strchr("89abAB", p[3]);
}

uint64_t schema_text_count(const struct json *doc, const struct json_node *v)
{
    str raw = json_raw(doc, v);
    const char *p = raw.p + 1, *end = raw.p + raw.n - 1;
    uint64_t n = 0;

    assert(v->kind == JSON_STRING && raw.n >= 2);
    while (p < end) {
        if (*p == '\\') {
            n += !schema_is_high_surrogate(p);
            p += p[1] == 'u' ? 6 : 2;
        } else {
            n += ((unsigned char)*p & 0xc0) != 0x80;
            p++;
        }
    }
    return n;
}

/* Spreads values that a weak hash left close together. */
static uint64_t schema_hash_mix_bits(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

uint64_t schema_hash_str(str s)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
    return schema_hash_mix_bits(h);
}

static uint64_t schema_hash_text(const struct json *doc, const struct json_node *v)
{
    struct schema_text t;
    uint64_t h;

    schema_text_get(&t, doc, v);
    h = schema_hash_str(t.s);
    schema_text_release(&t);
    return h;
}

uint64_t schema_hash(const struct json *doc, const struct json_node *v)
{
    uint64_t h = schema_hash_mix_bits(v->kind + 1u);
    struct schema_decimal d;

    switch (v->kind) {
    case JSON_NUMBER:
        schema_decimal_read(&d, json_raw(doc, v));
        return schema_hash_mix_bits(h ^ schema_decimal_hash(&d));
    case JSON_STRING:
        return h ^ schema_hash_text(doc, v);
    case JSON_ARRAY:
        JSON_FOREACH(i, doc, v)
            h = schema_hash_mix_bits(h + schema_hash(doc, i));
        return h;
    case JSON_OBJECT: /* a sum, because the order does not count */
        JSON_FOREACH(k, doc, v)
            h += schema_hash_mix_bits(schema_hash_text(doc, k) ^
                                      schema_hash_mix_bits(schema_hash(doc, json_value(k))));
        return h;
    default:
        return h;
    }
}
