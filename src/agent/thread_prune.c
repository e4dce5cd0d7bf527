/* thread_prune.c - deletes old checkpoints, but keeps the values that the remaining ones need.
 *
 * Three things refer to older rows: a value that a later checkpoint still has, the base of a value
 * that is kept as a difference, and, for a channel that has a version and no value, the writes of
 * ancestors up to one that has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/column.h"
#include "agent/thread_store.h"
#include "base/map.h"

#define ARENA_MAX ((size_t)512 << 20)
#define SLACK ((size_t)1 << 20)

struct node {
    str ns, id, parent, checkpoint, refs;
    bool kept;
    struct node *next, *todo;
};

struct piece {
    str ns, channel, version, writer, base_version, base_writer;
    bool kept;
    struct piece *next;
};

struct pruning {
    struct db *db;
    str thread;
    struct arena arena, names; /* names: of the search in progress */
    struct map nodes, pieces;
    struct node *first, **last, *todo;
    struct piece *piece;
    str ns; /* of the previous row, and how many it had */
    size_t count, keep, removed;
    bool full;
};

static str agent_thread_prune_key_of(struct arena *a, str x, str y)
{
    return arena_printf(a, "%zu:" STR_FMT STR_FMT, x.n, STR_ARG(x), STR_ARG(y));
}

static bool agent_thread_prune_has_room(struct pruning *p, const struct db_value *c, size_t n)
{
    size_t size = SLACK;

    for (size_t i = 0; i < n; i++)
        size += 4 * c[i].s.n;
    p->full = p->full || arena_left(&p->arena) < size;
    return !p->full;
}

static void agent_thread_prune_keep(struct pruning *p, struct node *n)
{
    if (n->kept)
        return;
    assert(!n->todo);
    n->kept = true;
    n->todo = p->todo;
    p->todo = n;
}

/* Sorts the newest checkpoint of each namespace first. */
static bool agent_on_node(void *ctx, const struct db_value *c, size_t n)
{
    struct pruning *p = ctx;
    struct node *node;
    struct err ignored;

    if (!agent_thread_prune_has_room(p, c, n))
        return false;
    node = arena_zero(&p->arena, 1, sizeof *node);
    node->ns = column_text(&p->arena, &c[0]);
    node->id = column_text(&p->arena, &c[1]);
    node->parent = column_text(&p->arena, &c[2]);
    node->checkpoint = column_text(&p->arena, &c[3]);
    node->refs = column_text(&p->arena, &c[4]);
    if (!p->first || !str_eq(node->ns, p->ns))
        p->count = 0;
    assert(!*p->last && !p->full);
    p->ns = node->ns;
    *p->last = node;
    p->last = &node->next;
    (void)!map_set(&p->nodes,
                   agent_thread_prune_key_of(&p->arena, node->ns, node->id),
                   MAP_PTR(node),
                   &ignored);
    if (p->count++ < p->keep)
        agent_thread_prune_keep(p, node);
    return true;
}

static str piece_key(struct arena *a, str ns, str channel, str version, str writer)
{
    return agent_thread_prune_key_of(a,
                                     agent_thread_prune_key_of(a, ns, channel),
                                     agent_thread_prune_key_of(a, version, writer));
}

static bool agent_thread_prune_on_piece(void *ctx, const struct db_value *c, size_t n)
{
    struct pruning *p = ctx;
    struct piece *x;
    struct err ignored;

    if (!agent_thread_prune_has_room(p, c, n))
        return false;
    x = arena_zero(&p->arena, 1, sizeof *x);
    *x = (struct piece){.ns = column_text(&p->arena, &c[0]),
                        .channel = column_text(&p->arena, &c[1]),
                        .version = column_text(&p->arena, &c[2]),
                        .writer = column_text(&p->arena, &c[3]),
                        .base_version = column_text(&p->arena, &c[4]),
                        .base_writer = column_text(&p->arena, &c[5]),
                        .next = p->piece};
    p->piece = x;
    (void)!map_set(&p->pieces,
                   piece_key(&p->arena, x->ns, x->channel, x->version, x->writer),
                   MAP_PTR(x),
                   &ignored);
    return true;
}

static bool agent_thread_prune_load(struct pruning *p, struct err *e)
{
    struct db_value args[] = {db_text(p->thread)};

    if (!db_query(p->db,
                  "SELECT ns, checkpoint_id, parent_id, checkpoint, refs FROM thread_checkpoints"
                  " WHERE thread_id = $1 ORDER BY ns, checkpoint_id DESC",
                  args,
                  1,
                  (struct db_rows){agent_on_node, p},
                  e) ||
        !db_query(p->db,
                  "SELECT ns, channel, version, writer, base_version, base_writer"
                  " FROM thread_values WHERE thread_id = $1",
                  args,
                  1,
                  (struct db_rows){agent_thread_prune_on_piece, p},
                  e))
        return false;
    return !p->full || err_set(e, ERR_LIMIT, "the thread is too large to be pruned at once");
}

/* ---- rows to keep ---- */

static void agent_keep_piece(struct pruning *p, const struct node *n, str channel, str version,
                             str writer)
{
    struct map_entry *found;

    for (;;) {
        struct piece *x;

        arena_reset(&p->names);
        found = map_find(&p->pieces, piece_key(&p->names, n->ns, channel, version, writer));
        x = found ? found->value.ptr : NULL;
        if (!x || x->kept)
            return;
        x->kept = true;
        version = x->base_version;
        writer = x->base_writer;
        if (!writer.n)
            return;
    }
}

static struct node *agent_parent_of(struct pruning *p, struct arena *a, const struct node *n)
{
    struct map_entry *found =
        n->parent.n ? map_find(&p->nodes, agent_thread_prune_key_of(a, n->ns, n->parent)) : NULL;

    return found ? found->value.ptr : NULL;
}

/* One checkpoint to keep: its values, and its parent if a channel's value is in writes. The same
 * applies to the parent, until an ancestor has the value. */
static bool agent_keep_parts(struct pruning *p, const struct node *n, struct err *e)
{
    struct json doc, refs;
    const struct json_node *versions, *ref;
    struct node *parent;
    struct arena a;
    bool ok, open = false;
    int64_t v = 0;
    str channel, writer;

    json_init(&refs);
    arena_init(&a, ARENA_MAX);
    ok = json_open(&doc, n->checkpoint, e) && json_parse(&refs, n->refs, e);
    versions = ok ? json_find(&doc, json_root(&doc), STR("channel_versions")) : NULL;
    JSON_FOREACH(key, &doc, versions) {
        if (!json_text(&doc, key, &a, &channel))
            continue;
        ref = json_find(&refs, json_root(&refs), channel);
        if (json_text(&refs, ref, &a, &writer))
            agent_keep_piece(p, n, channel, json_raw(&doc, json_value(key)), writer);
        else
            open = true;
    }
    /* Before the fourth version of the format a checkpoint's tasks are its parent's writes. */
    if (ok && json_i64(&doc, json_find(&doc, json_root(&doc), STR("v")), &v) && v < 4)
        open = true;
    parent = open ? agent_parent_of(p, &a, n) : NULL;
    if (parent)
        agent_thread_prune_keep(p, parent);
    arena_release(&a);
    json_release(&refs);
    json_release(&doc);
    return ok;
}

/* ---- rows to delete ---- */

static bool agent_remove_node(struct pruning *p, const struct node *n, struct err *e)
{
    struct db_value args[] = {db_text(p->thread), db_text(n->ns), db_text(n->id)};

    assert(!n->kept);
    p->removed++;
    return db_run(p->db,
                  "DELETE FROM thread_writes WHERE thread_id = $1 AND ns = $2"
                  " AND checkpoint_id = $3",
                  args,
                  COUNT_OF(args),
                  e) &&
           db_run(p->db,
                  "DELETE FROM thread_checkpoints WHERE thread_id = $1 AND ns = $2"
                  " AND checkpoint_id = $3",
                  args,
                  COUNT_OF(args),
                  e);
}

static bool agent_remove_piece(struct pruning *p, const struct piece *x, struct err *e)
{
    assert(!x->kept);
    return db_run(p->db,
                  "DELETE FROM thread_values WHERE thread_id = $1 AND ns = $2 AND channel = $3"
                  " AND version = $4 AND writer = $5",
                  DB_ARGS(db_text(p->thread),
                          db_text(x->ns),
                          db_text(x->channel),
                          db_text(x->version),
                          db_text(x->writer)),
                  e);
}

static bool agent_thread_prune_prune(struct pruning *p, const struct thread_asker *who,
                                     struct err *e)
{
    bool there;

    if (!thread_seen(p->db, who, p->thread, &there, e))
        return false;
    if (!there)
        return thread_missing(e, p->thread);
    if (!agent_thread_prune_load(p, e))
        return false;
    while (p->todo) {
        struct node *n = p->todo;

        assert(n->kept);
        p->todo = n->todo;
        if (!agent_keep_parts(p, n, e))
            return false;
    }
    for (const struct node *n = p->first; n; n = n->next)
        if (!n->kept && !agent_remove_node(p, n, e))
            return false;
    for (const struct piece *x = p->piece; x; x = x->next)
        if (!x->kept && !agent_remove_piece(p, x, e))
            return false;
    return true;
}

bool threads_prune(struct threads *t, const struct thread_asker *who, str thread, size_t keep_count,
                   size_t *removed, struct err *e)
{
    struct pruning p = {.db = t->writer, .thread = thread, .keep = keep_count};
    bool ok;

    p.last = &p.first;
    arena_init(&p.arena, ARENA_MAX);
    arena_init(&p.names, ARENA_MAX);
    map_init(&p.nodes, NULL, MAP_COUNT_MAX);
    map_init(&p.pieces, NULL, MAP_COUNT_MAX);
    pthread_mutex_lock(&t->lock);
    ok = db_begin(t->writer, true, e);
    if (ok)
        ok = db_end(t->writer, agent_thread_prune_prune(&p, who, e), e);
    pthread_mutex_unlock(&t->lock);
    map_release(&p.pieces);
    map_release(&p.nodes);
    arena_release(&p.arena);
    arena_release(&p.names);
    if (ok)
        *removed = p.removed;
    return ok;
}
