/* edit.c - collects changes to one JSON text and applies them in one pass.
 *
 * An edit is a range of the source and its replacement. Commas need no bookkeeping: an addition
 * writes a comma first, unless the last written byte is an opening bracket. Removing a member also
 * removes the comma after it or, if it is the last member, the comma written before it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ctype.h"
#include "base/json/internal.h"
#include "base/json_edit.h"

#define FEW 12 /* edits that are looked at one by one; more are found by their places */
#define SLOTS_MIN 32

/* In the order in which edits at one place are applied: of an element that is both dropped and
 * replaced, nothing stays. */
enum what {
    BEFORE,  /* an element put before another */
    GONE,    /* a member or element */
    REPLACE, /* a value */
    ADD,     /* something at the end of an object or array */
};

/* An object that a path created: its members in the order of the edits. */
struct made {
    str key;
    str with; /* a value, if this is not an object */
    struct made *members, *members_last;
    bool object;
    bool text; /* with is a text, still without its quotes */
    struct made *next;
};

struct json_edit {
    enum what what;
    uint32_t at, end; /* of the source */
    uint32_t owner;   /* where the object begins whose member `key` this is about */
    bool has_key, dead;
    str key;          /* of a member */
    struct made made; /* the replacement */
    size_t order;
    struct json_edit *next;
};

void json_edits_init(struct json_edits *ed, const struct json *doc, struct arena *a)
{
    *ed = (struct json_edits){.doc = doc, .arena = a};
}

static struct json_edit *json_edit_add(struct json_edits *ed, enum what what, uint32_t at,
                                       uint32_t end)
{
    struct json_edit *e = arena_alloc(ed->arena, sizeof *e);

    assert(at <= end && end <= ed->doc->src.n);
    assert(!ed->first == !ed->last);
    *e = (struct json_edit){
        .what = what, .at = at, .end = end, .made.with = STR(""), .order = ed->n++};
    LIST_APPEND(ed->first, ed->last, e);
    return e;
}

/* ---- sorted by the position of the replaced value, and of the object of a new member ---- */

struct json_edit_link {
    struct json_edit *edit;
    uint32_t place;
    struct json_edit_link *next; /* an older one */
};

static struct json_edit_link **json_edit_get_slot(const struct json_edits *ed, uint32_t place)
{
    assert_slow(ed->slot_count && (ed->slot_count & (ed->slot_count - 1)) == 0);
    return &ed->slots[(place * 2654435761u >> 8) & (ed->slot_count - 1)];
}

static void json_edit_grow(struct json_edits *ed)
{
    struct json_edit_link **old = ed->slots;
    size_t count = ed->slot_count;

    ed->slot_count = count ? 4 * count : SLOTS_MIN;
    ed->slots = arena_zero(ed->arena, ed->slot_count, sizeof(struct json_edit_link *));
    for (size_t i = 0; i < count; i++) {
        struct json_edit_link *turned = NULL, *next;

        for (struct json_edit_link *l = old[i]; l; l = next) {
            next = l->next;
            l->next = turned;
            turned = l;
        }
        for (struct json_edit_link *l = turned; l; l = next) { /* the oldest first */
            next = l->next;
            l->next = *json_edit_get_slot(ed, l->place);
            *json_edit_get_slot(ed, l->place) = l;
        }
    }
}

static void json_link_at(struct json_edits *ed, struct json_edit *e, uint32_t place)
{
    struct json_edit_link *l = arena_alloc(ed->arena, sizeof *l);

    if (ed->link_count++ >= 2 * ed->slot_count)
        json_edit_grow(ed);
    *l = (struct json_edit_link){e, place, *json_edit_get_slot(ed, place)};
    *json_edit_get_slot(ed, place) = l;
}

static void json_link_places(struct json_edits *ed, struct json_edit *e)
{
    if (e->what == REPLACE)
        json_link_at(ed, e, e->at);
    if (e->has_key)
        json_link_at(ed, e, e->owner);
}

/* The edit that was added last is complete. */
static void json_edit_note(struct json_edits *ed)
{
    assert(ed->last && ed->n > 0);
    if (ed->slot_count) {
        json_link_places(ed, ed->last);
    } else if (ed->n > FEW) {
        json_edit_grow(ed);
        for (struct json_edit *e = ed->first; e; e = e->next)
            json_link_places(ed, e);
    }
}

/* Goes over the edits that are about one place, and perhaps some others. */
struct look {
    struct json_edit *edit; /* the one at hand; NULL: there are no more */
    struct json_edit_link *link;
};

static struct look json_edit_look_at(const struct json_edits *ed, uint32_t place)
{
    struct json_edit_link *l = ed->slot_count ? *json_edit_get_slot(ed, place) : NULL;

    return (struct look){ed->slot_count ? (l ? l->edit : NULL) : ed->first, l};
}

static void json_look_on(const struct json_edits *ed, struct look *l)
{
    assert(l->edit && (!ed->slot_count || l->link));
    if (l->link)
        l->link = l->link->next;
    l->edit = !ed->slot_count ? l->edit->next : l->link ? l->link->edit : NULL;
}

static void json_edit_set_owner(struct json_edits *ed, struct json_edit *e,
                                const struct json_node *v, str key)
{
    assert(!e->has_key && e == ed->last);
    e->has_key = true;
    e->owner = v->at;
    e->key = key;
    json_edit_note(ed);
}

static uint32_t json_edit_end_of(const struct json_node *v)
{
    return v->at + v->size;
}

/* A new replacement of the value; earlier ones of it are cancelled. */
static struct json_edit *json_edit_add_replacement(struct json_edits *ed, const struct json_node *v)
{
    assert(v >= ed->doc->nodes && v < ed->doc->nodes + ed->doc->n);
    for (struct look l = json_edit_look_at(ed, v->at); l.edit; json_look_on(ed, &l))
        if (l.edit->what == REPLACE && l.edit->at == v->at)
            l.edit->dead = true;
    return json_edit_add(ed, REPLACE, v->at, json_edit_end_of(v));
}

void json_edit_replace(struct json_edits *ed, const struct json_node *v, str with)
{
    json_edit_add_replacement(ed, v)->made.with = with;
    json_edit_note(ed);
}

/* Cancels earlier edits of this member; returns an earlier addition of it. */
static struct json_edit *json_edit_forget(struct json_edits *ed, const struct json_node *v, str key)
{
    struct json_edit *adding = NULL;

    for (struct look l = json_edit_look_at(ed, v->at); l.edit; json_look_on(ed, &l)) {
        struct json_edit *e = l.edit;

        if (e->dead || !e->has_key || e->owner != v->at || !str_eq(e->key, key))
            continue;
        if (e->what != ADD)
            e->dead = true;
        else if (!adding)
            adding = e;
    }
    return adding;
}

/* The edit that gives the member its new value. */
static struct json_edit *json_edit_member(struct json_edits *ed, const struct json_node *v, str key)
{
    const struct json_node *there = json_find(ed->doc, v, key);
    struct json_edit *e = json_edit_forget(ed, v, key);

    assert(v->kind == JSON_OBJECT);
    assert(v >= ed->doc->nodes && v < ed->doc->nodes + ed->doc->n);
    if (e)
        return e;
    if (there)
        e = json_edit_add_replacement(ed, there);
    else
        e = json_edit_add(ed, ADD, json_edit_end_of(v) - 1, json_edit_end_of(v) - 1);
    json_edit_set_owner(ed, e, v, key);
    return e;
}

void json_edit_set(struct json_edits *ed, const struct json_node *v, str key, str with)
{
    json_edit_member(ed, v, key)->made = (struct made){.with = with};
}

void json_edit_set_text(struct json_edits *ed, const struct json_node *v, str key, str text)
{
    json_edit_member(ed, v, key)->made = (struct made){.with = text, .text = true};
}

void json_edit_remove(struct json_edits *ed, const struct json_node *v, str key)
{
    struct json_edit *adding;

    if (!json_is_object(v))
        return;
    adding = json_edit_forget(ed, v, key);
    if (adding)
        adding->dead = true;
    if (!json_may_have(v, key))
        return;
    JSON_FOREACH(k, ed->doc, v)
        if (json_is(ed->doc, k, key))
            json_edit_set_owner(
                ed, json_edit_add(ed, GONE, k->at, json_edit_end_of(json_value(k))), v, key);
}

void json_edit_insert(struct json_edits *ed, const struct json_node *array,
                      const struct json_node *before, str with)
{
    uint32_t at = before ? before->at : json_edit_end_of(array) - 1;

    assert(array->kind == JSON_ARRAY);
    assert(!before || (before > array && before < array + array->span));
    json_edit_add(ed, before ? BEFORE : ADD, at, at)->made.with = with;
    json_edit_note(ed);
}

void json_edit_drop(struct json_edits *ed, const struct json_node *v, const struct json_node *child)
{
    const struct json_node *last = v->kind == JSON_OBJECT ? json_value(child) : child;

    assert(v->kind >= JSON_ARRAY);
    assert(child > v && last < v + v->span);
    json_edit_add(ed, GONE, child->at, json_edit_end_of(last));
    json_edit_note(ed);
}

static struct made *json_edit_new_member(struct json_edits *ed, struct made *m, str key)
{
    struct made *child;

    for (child = m->members; child; child = child->next)
        if (str_eq(child->key, key))
            return child;
    child = arena_zero(ed->arena, 1, sizeof *child);
    child->key = key;
    child->with = STR("");
    LIST_APPEND(m->members, m->members_last, child);
    return child;
}

/* Follows the path within created objects, and creates missing ones. */
static void json_edit_new_set(struct json_edits *ed, struct made *m, const str *path, size_t n,
                              str with)
{
    assert(n > 0);
    for (size_t i = 0; i < n; i++) {
        if (!m->object)
            *m = (struct made){.key = m->key, .with = STR(""), .object = true, .next = m->next};
        m = json_edit_new_member(ed, m, path[i]);
    }
    *m = (struct made){.key = m->key, .with = with, .next = m->next};
}

/* The edit that already gives this member a value as a whole, or NULL. */
static struct json_edit *json_edit_pending(struct json_edits *ed, const struct json_node *v,
                                           str key)
{
    for (struct look l = json_edit_look_at(ed, v->at); l.edit; json_look_on(ed, &l)) {
        struct json_edit *e = l.edit;

        if (!e->dead && e->has_key && e->what != GONE && e->owner == v->at && str_eq(e->key, key))
            return e;
    }
    return NULL;
}

void json_edit_set_path(struct json_edits *ed, const struct json_node *v, const str *path, size_t n,
                        str with)
{
    assert(n > 0);
    for (size_t i = 0; i + 1 < n; i++) {
        const struct json_node *there = json_find(ed->doc, v, path[i]);
        struct json_edit *e = json_edit_pending(ed, v, path[i]);

        if (e || !there || there->kind != JSON_OBJECT) {
            if (!e)
                e = json_edit_member(ed, v, path[i]);
            json_edit_new_set(ed, &e->made, path + i + 1, n - i - 1, with);
            return;
        }
        v = there;
    }
    json_edit_set(ed, v, path[n - 1], with);
}

static void base_json_edit_merge(struct json_edits *ed, const struct json_node *v,
                                 const struct json *doc, const struct json_node *from, str *path,
                                 size_t depth)
{
    assert(depth < JSON_DEPTH_MAX);
    JSON_FOREACH(k, doc, from) {
        const struct json_node *value = json_value(k);

        if (!json_text(doc, k, ed->arena, &path[depth]))
            continue;
        if (value->kind == JSON_OBJECT && json_count(doc, value) > 0 && depth + 1 < JSON_DEPTH_MAX)
            base_json_edit_merge(ed, v, doc, value, path, depth + 1);
        else
            json_edit_set_path(ed, v, path, depth + 1, json_raw(doc, value));
    }
}

void json_edit_merge(struct json_edits *ed, const struct json_node *v, const struct json *from_doc,
                     const struct json_node *from)
{
    str path[JSON_DEPTH_MAX];

    if (from && from->kind == JSON_OBJECT && v && v->kind == JSON_OBJECT)
        base_json_edit_merge(ed, v, from_doc, from, path, 0);
}

static int json_edit_by_place(const void *pa, const void *pb)
{
    const struct json_edit *a = *(struct json_edit *const *)pa;
    const struct json_edit *b = *(struct json_edit *const *)pb;

    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->what != b->what)
        return a->what < b->what ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static void json_edit_comma(struct buf *out)
{
    size_t n = out->n;

    while (n > 0 && char_is_json_space(out->p[n - 1]))
        n--;
    if (n > 0 && out->p[n - 1] != '{' && out->p[n - 1] != '[')
        buf_add_c(out, ',');
}

/* A piece of the source needs no escapes. */
static void json_edit_write_text(str src, str text, struct buf *out)
{
    uintptr_t from = (uintptr_t)src.p, at = (uintptr_t)text.p;

    if (at < from || at + text.n > from + src.n) {
        (void)json_quote(out, text);
        return;
    }
    json_quote_plain(out, text);
}

static void json_edit_write_new(const struct json_edits *ed, const struct made *m, struct buf *out)
{
    if (m->text) {
        json_edit_write_text(ed->doc->src, m->with, out);
        return;
    }
    if (!m->object) {
        buf_add(out, m->with);
        return;
    }
    buf_add_c(out, '{');
    for (const struct made *child = m->members; child; child = child->next) {
        if (child != m->members)
            buf_add_c(out, ',');
        (void)json_quote(out, child->key);
        buf_add_c(out, ':');
        json_edit_write_new(ed, child, out);
    }
    buf_add_c(out, '}');
}

/* The position in the source after a removed member or element: after its comma. If no comma
 * follows, the comma before it is removed. */
static uint32_t json_skip_gone(const struct json_edits *ed, const struct json_edit *e,
                               struct buf *out)
{
    str src = ed->doc->src;
    uint32_t at = e->end;

    assert(e->what == GONE && at <= src.n);
    while (at < src.n && char_is_json_space(src.p[at]))
        at++;
    if (at < src.n && src.p[at] == ',') {
        at++;
        while (at < src.n && char_is_json_space(src.p[at]))
            at++;
        return at;
    }
    while (out->n > 0 && char_is_json_space(out->p[out->n - 1]))
        out->n--;
    if (out->n > 0 && out->p[out->n - 1] == ',')
        out->n--;
    return e->end;
}

static uint32_t json_edit_apply(const struct json_edits *ed, const struct json_edit *e,
                                struct buf *out)
{
    switch (e->what) {
    case BEFORE:
        json_edit_write_new(ed, &e->made, out);
        buf_add_c(out, ',');
        return e->at;
    case REPLACE:
        json_edit_write_new(ed, &e->made, out);
        return e->end;
    case GONE:
        return json_skip_gone(ed, e, out);
    case ADD:
        json_edit_comma(out);
        if (e->has_key) {
            (void)json_quote(out, e->key);
            buf_add_c(out, ':');
        }
        json_edit_write_new(ed, &e->made, out);
        return e->at;
    }
    return e->end;
}

/* Few come one by one to their places, and mostly in order. */
static void json_edit_sort_list(struct json_edit **list, size_t n)
{
    if (n > FEW) {
        qsort(list, n, sizeof(struct json_edit *), json_edit_by_place);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct json_edit *e = list[i];
        size_t k = i;

        for (; k > 0 && json_edit_by_place(&e, &list[k - 1]) < 0; k--)
            list[k] = list[k - 1];
        list[k] = e;
    }
}

void json_edits_apply(struct json_edits *ed, struct buf *out)
{
    struct json_edit *few[FEW], **sorted = few;
    str src = ed->doc->src;
    size_t n = 0, size = src.n;
    uint32_t at = 0;

    if (ed->n > FEW)
        sorted = arena_alloc(ed->arena, ed->n * sizeof *sorted);
    for (struct json_edit *e = ed->first; e; e = e->next)
        if (!e->dead) {
            sorted[n++] = e;
            size += e->key.n + e->made.with.n + 8;
        }
    assert(n <= ed->n);
    json_edit_sort_list(sorted, n);
    if (size > out->cap - out->n) /* by doubling, as there may be more of them */
        buf_reserve(out, size > out->cap ? size : out->cap);
    for (size_t i = 0; i < n; i++) {
        assert_slow(i == 0 || json_edit_by_place(&sorted[i - 1], &sorted[i]) < 0);
        assert(i == 0 || sorted[i]->what != REPLACE || sorted[i - 1]->what != REPLACE ||
               sorted[i]->at != sorted[i - 1]->at); /* one replacement of a value */
        if (sorted[i]->at < at)
            continue; /* inside something that is no more */
        buf_add(out, str_slice(src, at, sorted[i]->at));
        at = json_edit_apply(ed, sorted[i], out);
        assert(at >= sorted[i]->at && at <= src.n);
    }
    buf_add(out, str_slice(src, at, src.n));
}
