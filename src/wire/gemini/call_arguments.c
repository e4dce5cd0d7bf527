/* call_arguments.c - arguments of a call that come as values with paths, built into one object.
 *
 * A path is $ and then .name, ['name'] or [number]. A value may come in pieces: those of a string
 * are joined. The tree is in the arena of the reply; NODES_MAX bounds it. Arguments that are not
 * complete, because a path is wrong or a limit is reached, are marked as broken.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/gemini/gemini.h"

#define NODES_MAX 4096
#define STEPS_MAX 64

struct gemini_args_node {
    struct gemini_args_node *next, *first; /* elements of an array by their index */
    str key;                               /* empty for an element of an array */
    size_t index;
    bool in_array;
    enum { LEAF_NONE, LEAF_TEXT, LEAF_RAW } leaf;
    struct arena_text value;
};

struct step {
    str key;
    size_t index;
    bool in_array;
};

/* A name with escapes: those of JSON, and \' beside them. */
static bool gemini_args_unescape(str quoted, struct arena *a, str *out)
{
    struct json doc;
    struct err e;
    struct buf b;
    bool ok;

    buf_init(&b, 2 * quoted.n + 2);
    buf_add_c(&b, '"');
    for (size_t i = 0; i < quoted.n; i++) {
        bool escape = quoted.p[i] == '\\' && i + 1 < quoted.n;

        if (quoted.p[i] == '"')
            buf_add_c(&b, '\\');
        if (escape && quoted.p[i + 1] != '\'')
            buf_add_c(&b, '\\');
        i += escape;
        buf_add_c(&b, quoted.p[i]);
    }
    buf_add_c(&b, '"');
    assert(!buf_full(&b)); /* each byte becomes two at most */
    ok = json_open(&doc, buf_str(&b), &e) && json_text(&doc, json_root(&doc), a, out);
    if (ok)
        *out = arena_dup(a, *out);
    json_release(&doc);
    buf_release(&b);
    return ok;
}

static bool gemini_args_quoted_step(str *path, struct arena *a, struct step *out)
{
    char quote = path->p[1];
    bool escaped = false;
    size_t end = 2;

    assert(path->n >= 3 && path->p[0] == '[');
    for (; end < path->n && path->p[end] != quote; end++)
        if (path->p[end] == '\\') {
            escaped = true;
            end++;
        }
    if (end + 1 >= path->n || path->p[end + 1] != ']')
        return false;
    *out = (struct step){.key = str_slice(*path, 2, end)};
    *path = str_slice(*path, end + 2, path->n);
    return !escaped || gemini_args_unescape(out->key, a, &out->key);
}

static bool gemini_args_next_step(str *path, struct arena *a, struct step *out)
{
    size_t end = 1;
    uint64_t index;

    assert(path->n > 0);
    if (path->p[0] == '.') {
        while (end < path->n && path->p[end] != '.' && path->p[end] != '[')
            end++;
        *out = (struct step){.key = str_slice(*path, 1, end)};
        *path = str_slice(*path, end, path->n);
        return out->key.n > 0;
    }
    if (path->p[0] != '[' || path->n < 3)
        return false;
    if (path->p[1] == '\'' || path->p[1] == '"')
        return gemini_args_quoted_step(path, a, out);
    end = str_find(*path, STR("]"));
    if (end == STR_NONE || !str_u64(str_slice(*path, 1, end), &index) || index >= NODES_MAX)
        return false;
    *out = (struct step){.key = STR(""), .index = (size_t)index, .in_array = true};
    *path = str_slice(*path, end + 1, path->n);
    return true;
}

static struct gemini_args_node *gemini_args_add_node(struct gemini_args *args, struct arena *a)
{
    assert(args->count <= NODES_MAX);
    if (args->count >= NODES_MAX || !arena_text_room(a, sizeof(struct gemini_args_node)))
        return NULL;
    args->count++;
    return arena_zero(a, 1, sizeof(struct gemini_args_node));
}

static struct gemini_args_node *gemini_args_child(struct gemini_args *args, struct arena *a,
                                                  struct gemini_args_node *at,
                                                  const struct step *step)
{
    struct gemini_args_node *n, **place = &at->first;

    assert(args->root && args->count > 0);
    for (; (n = *place); place = &n->next) {
        if (n->in_array == step->in_array &&
            (step->in_array ? n->index == step->index : str_eq(n->key, step->key)))
            return n;
        if (step->in_array && n->in_array && n->index > step->index)
            break;
    }
    n = gemini_args_add_node(args, a);
    if (!n)
        return NULL;
    n->key = arena_text_dup(a, step->key);
    n->index = step->index;
    n->in_array = step->in_array;
    n->next = *place;
    *place = n;
    return n;
}

static void gemini_args_set_value(struct gemini_args_node *n, struct arena *a,
                                  const struct json *doc, const struct json_node *partial,
                                  struct arena *scratch)
{
    static const char *const raws[] = {"numberValue", "boolValue"};
    str text, raw = STR("");

    if (json_text(doc, gemini_find(doc, partial, "stringValue"), scratch, &text)) {
        n->leaf = LEAF_TEXT;
        arena_text_add(&n->value, a, text);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(raws); i++)
        if (gemini_find(doc, partial, raws[i]))
            raw = json_raw(doc, gemini_find(doc, partial, raws[i]));
    if (n->leaf == LEAF_TEXT && raw.n == 0 && !json_find(doc, partial, STR("nullValue")))
        return; /* the end of a text, without more of it */
    n->leaf = LEAF_RAW;
    arena_text_reset(&n->value);
    arena_text_add(&n->value, a, raw.n ? raw : STR("null"));
}

void gemini_args_add(struct gemini_args *args, struct arena *a, const struct json *doc,
                     const struct json_node *partial, struct arena *scratch)
{
    str path = STR("");
    struct gemini_args_node *at;
    struct step step;
    size_t steps = 0;

    assert(!args->root == !args->count);
    if (!json_text(doc, gemini_find(doc, partial, "jsonPath"), scratch, &path))
        return;
    if (!args->root)
        args->root = gemini_args_add_node(args, a);
    at = args->root;
    if (path.n && path.p[0] == '$')
        path = str_slice(path, 1, path.n);
    while (at && path.n) {
        if (++steps > STEPS_MAX || !gemini_args_next_step(&path, scratch, &step)) {
            args->broken = true;
            return;
        }
        at = gemini_args_child(args, a, at, &step);
    }
    if (at && at != args->root)
        gemini_args_set_value(at, a, doc, partial, scratch);
    args->broken |= !at || at->value.full;
}

static void gemini_args_write_node(const struct gemini_args_node *n, struct json_out *o)
{
    bool array = n->first && n->first->in_array;

    assert(n->leaf != LEAF_RAW || n->value.n > 0 || n->value.full);
    if (n->leaf == LEAF_TEXT) {
        json_out_str(o, arena_text_str(&n->value));
        return;
    }
    if (n->leaf == LEAF_RAW) {
        json_out_raw(o, arena_text_str(&n->value));
        return;
    }
    if (array)
        json_out_array(o);
    else
        json_out_object(o);
    for (const struct gemini_args_node *c = n->first; c; c = c->next) {
        if (c->in_array != array)
            continue;
        if (!array)
            json_out_key(o, c->key);
        gemini_args_write_node(c, o);
    }
    json_out_end(o);
}

void gemini_args_write(const struct gemini_args *args, struct buf *out)
{
    struct json_out o;

    json_out_init(&o, out);
    if (args->root)
        gemini_args_write_node(args->root, &o);
    else
        json_out_raw(&o, STR("{}"));
}
