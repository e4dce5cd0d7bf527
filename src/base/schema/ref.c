/* Resolves references.
 *
 * URIs and anchors are already in the table. A JSON Pointer is resolved when it is first needed,
 * and then added to the table. So are the members of each large object on its path, such as $defs,
 * because otherwise each reference would search all of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ctype.h"
#include "base/schema/internal.h"

#define BUILTIN_MAX 32768
#define INDEX_MIN 128 /* nodes of an object from which on its members are in the table */

/* Undoes %XX from a place in the buffer on. */
static void schema_percent_decode(struct buf *b, size_t from)
{
    size_t to = from;

    assert(from <= b->n);
    for (size_t i = from; i < b->n; i++) {
        int high = i + 2 < b->n ? char_hex_value(b->p[i + 1]) : -1,
            low = high < 0 ? -1 : char_hex_value(b->p[i + 2]);

        if (b->p[i] == '%' && low >= 0) {
            b->p[to++] = (char)(high * 16 + low);
            i += 2;
        } else {
            b->p[to++] = b->p[i];
        }
    }
    b->n = to;
}

/* One token of a JSON Pointer, from the "/" on; its ~0 and ~1 are undone into `token`. */
static str schema_ref_next_token(str pointer, size_t *at, struct buf *token)
{
    buf_reset(token);
    for ((*at)++; *at < pointer.n && pointer.p[*at] != '/'; (*at)++) {
        char c = pointer.p[*at];

        if (c == '~' && *at + 1 < pointer.n && (pointer.p[*at + 1] | 1) == '1')
            c = pointer.p[++*at] == '0' ? '~' : '/';
        buf_add_c(token, c);
    }
    return buf_str(token);
}

struct place {
    struct schema_doc *doc;
    const struct json_node *at;
    struct schema_resource *resource; /* the innermost that is around it */
};

/* The key under which a member of a large object is in the table. The byte in front keeps it apart
 * from URIs. */
static void schema_member_key(const struct place *p, const struct json_node *object, str name,
                              struct buf *key)
{
    buf_reset(key);
    buf_printf(key, "\1%p/%zx/", (void *)p->doc, (size_t)(object - p->doc->json.nodes));
    buf_add(key, name);
}

/* All members of an object that many references go through become entries. */
static bool schema_index_members(struct schema *s, const struct place *p,
                                 const struct json_node *object, struct err *e)
{
    const struct json *doc = &p->doc->json;
    struct buf key;
    bool ok = true;

    buf_init(&key, SCHEMA_SIZE_MAX + 64);
    for (const struct json_node *k = json_first(doc, object); ok && k;
         k = json_next(doc, object, k)) {
        struct schema_text name;

        schema_text_get(&name, doc, k);
        schema_member_key(p, object, name.s, &key);
        schema_text_release(&name);
        ok = schema_spend(s, key.n + sizeof(struct schema_entry), e);
        if (ok && !schema_entry_add(s, buf_str(&key), p->doc, json_value(k), false))
            schema_entry_move(s, buf_str(&key), json_value(k)); /* of equal keys the last counts */
    }
    buf_release(&key);
    p->doc->slots[object - doc->nodes].indexed = true;
    return ok;
}

/* The child a token names becomes the place, or NULL. */
static bool schema_ref_enter_child(struct schema *s, struct place *p, str token, struct err *e)
{
    const struct json *doc = &p->doc->json;
    const struct json_node *v = p->at;
    const struct schema_entry *found;
    struct buf key;
    uint64_t index;

    p->at = NULL;
    if (v->kind == JSON_ARRAY) {
        if (!str_u64(token, &index) || index >= v->span)
            return true;
        p->at = json_at(doc, v, index);
        return schema_spend(s, index + 1, e);
    }
    if (v->kind != JSON_OBJECT || v->span < INDEX_MIN) {
        p->at = json_find(doc, v, token);
        return schema_spend(s, INDEX_MIN, e);
    }
    if (!p->doc->slots[v - doc->nodes].indexed && !schema_index_members(s, p, v, e))
        return false;
    buf_init(&key, SCHEMA_SIZE_MAX + 64);
    schema_member_key(p, v, token, &key);
    found = schema_entry_find(s, buf_str(&key));
    p->at = found ? found->at : NULL;
    buf_release(&key);
    return schema_spend(s, token.n + 16, e);
}

/* Follows a JSON Pointer from a place: p->at becomes NULL if it leads nowhere. */
static bool schema_ref_follow(struct schema *s, struct place *p, str pointer, struct err *e)
{
    const struct json *doc = &p->doc->json;
    struct buf token;
    bool ok = true;

    buf_init(&token, SCHEMA_URI_MAX);
    for (size_t at = 0; ok && p->at && at < pointer.n;) {
        struct schema_resource *r = p->doc->slots[p->at - doc->nodes].resource;

        if (r)
            p->resource = r;
        ok = schema_ref_enter_child(s, p, schema_ref_next_token(pointer, &at, &token), e);
    }
    buf_release(&token);
    return ok;
}

static bool schema_builtin_load(struct schema *s, struct err *e)
{
    struct schema_doc *doc;
    struct buf text;
    bool ok;

    for (doc = s->docs; doc; doc = doc->next)
        if (doc->builtin)
            return true;
    buf_init(&text, BUILTIN_MAX);
    schema_meta_add(&text);
    ok = schema_doc_new(s, STR(SCHEMA_DRAFT_BASE "schema"), buf_str(&text), &doc, e);
    buf_release(&text);
    if (!ok)
        return false;
    doc->builtin = true;
    return schema_doc_scan(s, doc, e);
}

/* Adds the target of a pointer to the table. A place that no keyword declares as a schema becomes
 * one, because it is used as one. */
static bool schema_find_pointer(struct schema *s, const struct schema_entry *base, str key,
                                str pointer, struct err *e)
{
    struct place p = {base->doc, base->at, NULL};

    if (!schema_ref_follow(s, &p, pointer, e))
        return false;
    if (!p.at)
        return true;
    assert(p.resource);
    if (!schema_place_scan(s, p.doc, p.at, p.resource, e) || !schema_anchors_get(s, p.doc, e))
        return false;
    if (!schema_entry_add(s, key, p.doc, p.at, false))
        return err_input(e, "two schemas are called " STR_FMT, STR_ARG(key));
    return true;
}

/* The place of a key; *out stays NULL if it does not exist. hash_at is the position of its
 * fragment, or its end. */
static bool schema_ref_find_key(struct schema *s, str key, size_t hash_at,
                                const struct schema_entry **out, struct err *e)
{
    str uri = str_slice(key, 0, hash_at), fragment = str_slice(key, hash_at + 1, key.n);
    const struct schema_entry *base;

    if (str_starts(uri, STR(SCHEMA_DRAFT_BASE)) && !schema_entry_find(s, uri) &&
        !schema_builtin_load(s, e))
        return false;
    base = schema_entry_find(s, uri);
    if (!schema_entry_find(s, key) && base && str_starts(fragment, STR("/")) &&
        !schema_find_pointer(s, base, key, fragment, e))
        return false;
    *out = schema_entry_find(s, key);
    return true;
}

bool schema_ref_find(struct schema *s, const struct schema_node *from, str ref,
                     struct schema_target *out, struct err *e)
{
    const struct schema_entry *entry = NULL;
    struct buf key;
    size_t hash_at;
    bool ok = false;

    buf_init(&key, SCHEMA_URI_MAX);
    if (!schema_uri_resolve(from->resource->uri, ref, &key, e) || !schema_spend(s, key.n + 32, e))
        goto out;
    hash_at = str_find(buf_str(&key), STR("#"));
    if (hash_at != STR_NONE)
        schema_percent_decode(&key, hash_at);
    if (!schema_ref_find_key(s, buf_str(&key), hash_at == STR_NONE ? key.n : hash_at, &entry, e))
        goto out;
    if (!entry) {
        err_input(e,
                  "\"" STR_FMT "\" names nothing in this schema or the documents registered with "
                  "it; documents are never fetched",
                  STR_ARG(str_slice(ref, 0, 100)));
        goto out;
    }
    out->dynamic = entry->dynamic;
    out->anchor = entry->dynamic ? str_slice(entry->key, hash_at + 1, entry->key.n) : STR("");
    ok = schema_node_get(s, entry->doc, entry->at, &out->node, e);
out:
    buf_release(&key);
    return ok;
}

bool schema_recursive_find(struct schema *s, const struct schema_node *from,
                           struct schema_target *out, struct err *e)
{
    str uri = from->resource->uri;
    const struct schema_entry *root = schema_entry_find(s, uri), *anchor;

    assert(root);
    if (!schema_spend(s, uri.n + 32, e))
        return false;
    anchor = schema_entry_find(s, arena_printf(&s->arena, STR_FMT "#", STR_ARG(uri)));
    out->dynamic = anchor && anchor->at == root->at;
    out->anchor = STR("");
    return schema_node_get(s, root->doc, root->at, &out->node, e);
}
