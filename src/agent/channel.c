/* channel.c - see channel.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/channel.h"

#include "base/json.h"
#include "base/map.h"

/* Both sides of a fold, parsed. */
struct fold {
    struct json now, update;
    bool fresh; /* the channel has no value yet */
};

static bool fold_last(struct fold *f, struct buf *out, struct err *e)
{
    (void)e;
    buf_add(out, json_raw(&f->update, json_root(&f->update)));
    return true;
}

/* The text between the brackets of a list. */
static str agent_channel_list_text(const struct json *doc, const struct json_node *list)
{
    str raw = json_raw(doc, list);

    assert(list->kind == JSON_ARRAY && raw.n >= 2);
    return str_trim(str_slice(raw, 1, raw.n - 1));
}

static bool fold_append(struct fold *f, struct buf *out, struct err *e)
{
    const struct json_node *now = f->fresh ? NULL : json_root(&f->now);
    const struct json_node *more = json_root(&f->update);
    str old, add;

    if (now && now->kind != JSON_ARRAY)
        return err_input(e, "append: the value that is there is no list");
    old = now ? agent_channel_list_text(&f->now, now) : STR("");
    add = more->kind == JSON_ARRAY ? agent_channel_list_text(&f->update, more)
                                   : json_raw(&f->update, more);
    buf_add_c(out, '[');
    buf_add(out, old);
    if (old.n && add.n)
        buf_add_c(out, ',');
    buf_add(out, add);
    buf_add_c(out, ']');
    return true;
}

/* ---- messages ---- */

/* A message while a list is built; raw is empty once it was removed. */
struct messages {
    struct arena arena;
    str *raw;
    size_t n, max;
    struct map by_id; /* maps an id to an index of raw */
};

static bool agent_channel_place(struct messages *m, str id, str raw, struct err *e)
{
    struct map_entry *found = id.n ? map_find(&m->by_id, id) : NULL;

    if (found) {
        assert(found->value.u64 < m->n);
        m->raw[found->value.u64] = raw;
        return true;
    }
    assert(m->n < m->max);
    m->raw[m->n++] = raw;
    return !id.n || map_set(&m->by_id, id, MAP_U64(m->n - 1), e);
}

static bool channel_take_away(struct messages *m, str id, struct err *e)
{
    struct map_entry *found;

    if (str_eq(id, STR("__remove_all__"))) {
        map_release(&m->by_id);
        map_init(&m->by_id, NULL, MAP_COUNT_MAX);
        m->n = 0;
        return true;
    }
    found = map_find(&m->by_id, id);
    if (!found)
        return err_input(e,
                         "messages: \"" STR_FMT "\" should be removed, but does not exist",
                         STR_ARG(str_slice(id, 0, 80)));
    assert(found->value.u64 < m->n);
    m->raw[found->value.u64] = STR("");
    map_remove(&m->by_id, id);
    return true;
}

static bool channel_take_message(struct messages *m, const struct json *doc,
                                 const struct json_node *v, bool removes, struct err *e)
{
    str id = STR("");
    bool has_id;

    if (v->kind != JSON_OBJECT)
        return err_input(e, "messages: each must be an object");
    has_id = json_text(doc, json_find(doc, v, STR("id")), &m->arena, &id);
    if (removes && json_is(doc, json_find(doc, v, STR("type")), STR("remove")))
        return has_id ? channel_take_away(m, id, e)
                      : err_input(e, "messages: a message to remove needs an id");
    return agent_channel_place(m, id, json_raw(doc, v), e);
}

static bool channel_take_messages(struct messages *m, const struct json *doc, bool removes,
                                  struct err *e)
{
    const struct json_node *root = json_root(doc);

    if (root->kind != JSON_ARRAY)
        return removes ? channel_take_message(m, doc, root, removes, e)
                       : err_input(e, "messages: the value that is there is no list");
    JSON_FOREACH(i, doc, root)
        if (!channel_take_message(m, doc, i, removes, e))
            return false;
    return true;
}

static bool fold_messages(struct fold *f, struct buf *out, struct err *e)
{
    size_t max = json_count(&f->update, json_root(&f->update)) + 1;
    struct messages m = {.n = 0};
    const char *comma = "";
    bool ok;

    if (!f->fresh)
        max += json_count(&f->now, json_root(&f->now));
    arena_init(&m.arena, 2 * (f->now.src.n + f->update.src.n) + max * sizeof *m.raw + 65536);
    m.raw = arena_zero(&m.arena, max, sizeof *m.raw);
    m.max = max;
    map_init(&m.by_id, NULL, MAP_COUNT_MAX);
    ok = (f->fresh || channel_take_messages(&m, &f->now, false, e)) &&
         channel_take_messages(&m, &f->update, true, e);
    if (ok) {
        buf_add_c(out, '[');
        for (size_t i = 0; i < m.n; i++) {
            if (!m.raw[i].n)
                continue;
            buf_add(out, str_c(comma));
            buf_add(out, m.raw[i]);
            comma = ",";
        }
        buf_add_c(out, ']');
    }
    map_release(&m.by_id);
    arena_release(&m.arena);
    return ok;
}

/* ---- the table ---- */

static const struct {
    const char *name;
    bool (*fold)(struct fold *f, struct buf *out, struct err *e);
} kinds[CHANNEL_KIND_COUNT] = {
    [CHANNEL_LAST] = {"last", fold_last},
    [CHANNEL_APPEND] = {"append", fold_append},
    [CHANNEL_MESSAGES] = {"messages", fold_messages},
};

bool channel_kind_find(str name, enum channel_kind *out)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (str_eq(name, str_c(kinds[i].name))) {
            *out = (enum channel_kind)i;
            return true;
        }
    return false;
}

bool channel_fold(enum channel_kind kind, str now, str update, struct buf *out, struct err *e)
{
    struct fold f = {.fresh = now.n == 0};
    bool ok;

    assert(kind < CHANNEL_KIND_COUNT);
    json_init(&f.now);
    ok = json_open(&f.update, update, e) && (f.fresh || json_parse(&f.now, now, e)) &&
         kinds[kind].fold(&f, out, e) && buf_ok(out, "the value", e);
    json_release(&f.update);
    json_release(&f.now);
    return ok;
}
