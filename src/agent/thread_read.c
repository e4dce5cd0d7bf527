/* thread_read.c - reads checkpoints: a tuple with all its values, or a list of checkpoints.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/thread_store.h"

struct reading {
    struct arena *arena;
    size_t left; /* of THREAD_TUPLE_MAX */
    bool full, found;
    struct thread_tuple *tuple;
    str refs;
    size_t write_max;
};

static str agent_thread_read_keep(struct reading *r, const struct db_value *v)
{
    if (v->type == DB_NULL)
        return STR("");
    if (v->s.n > r->left) {
        r->full = true;
        return STR("");
    }
    r->left -= v->s.n;
    return arena_dup(r->arena, v->s);
}

static bool agent_too_large(struct err *e)
{
    return err_set(
        e, ERR_LIMIT, "the checkpoint is larger than %zu MiB", (size_t)THREAD_TUPLE_MAX >> 20);
}

static bool agent_on_checkpoint(void *ctx, const struct db_value *c, size_t n)
{
    struct reading *r = ctx;

    assert(n > 4);
    r->found = true;
    r->tuple->id = agent_thread_read_keep(r, &c[0]);
    r->tuple->parent = agent_thread_read_keep(r, &c[1]);
    r->tuple->checkpoint = agent_thread_read_keep(r, &c[2]);
    r->refs = agent_thread_read_keep(r, &c[3]);
    r->tuple->metadata = agent_thread_read_keep(r, &c[4]);
    return false;
}

static bool agent_thread_read_row(struct db *db, struct reading *r, str id, struct err *e)
{
    struct db_value args[] = {db_text(r->tuple->thread), db_text(r->tuple->ns), db_text(id)};

    return db_query(db,
                    id.n ? "SELECT checkpoint_id, parent_id, checkpoint, refs, metadata"
                           " FROM thread_checkpoints WHERE thread_id = $1 AND ns = $2"
                           " AND checkpoint_id = $3"
                         : "SELECT checkpoint_id, parent_id, checkpoint, refs, metadata"
                           " FROM thread_checkpoints WHERE thread_id = $1 AND ns = $2"
                           " ORDER BY checkpoint_id DESC LIMIT 1",
                    args,
                    id.n ? 3 : 2,
                    (struct db_rows){agent_on_checkpoint, r},
                    e);
}

static bool agent_thread_read_value(struct db *db, struct reading *r, struct thread_value *v,
                                    str writer, struct err *e)
{
    struct thread_place at = {r->tuple->thread, r->tuple->ns, v->channel};
    struct thread_blob b;
    bool ok;

    thread_blob_init(&b);
    ok = thread_value_read(db, &at, v->version, writer, &b, e);
    if (ok && b.bytes.n > r->left)
        ok = agent_too_large(e);
    if (ok && b.found) {
        r->left -= b.bytes.n;
        v->type = arena_dup(r->arena, (str){b.type, b.type_size});
        v->bytes = arena_dup(r->arena, buf_str(&b.bytes));
    }
    v->empty = !b.found;
    thread_blob_release(&b);
    return ok;
}

static bool agent_thread_read_values(struct db *db, struct reading *r,
                                     const struct json *checkpoint, const struct json *refs,
                                     struct err *e)
{
    const struct json_node *root = json_root(refs), *version;
    const struct json_node *versions =
        json_find(checkpoint, json_root(checkpoint), STR("channel_versions"));
    struct thread_tuple *t = r->tuple;
    str writer;

    t->values = arena_zero(r->arena, json_count(refs, root) + 1, sizeof *t->values);
    JSON_FOREACH(key, refs, root) {
        struct thread_value *v = &t->values[t->value_count];

        if (!json_text(refs, key, r->arena, &v->channel) ||
            !json_text(refs, json_value(key), r->arena, &writer))
            continue;
        version = json_find(checkpoint, versions, v->channel);
        if (!version)
            continue;
        v->version = json_raw(checkpoint, version);
        if (!agent_thread_read_value(db, r, v, writer, e))
            return false;
        t->value_count += !v->empty;
    }
    return true;
}

static bool agent_on_write(void *ctx, const struct db_value *c, size_t n)
{
    struct reading *r = ctx;
    struct thread_tuple *t = r->tuple;

    assert(n > 4);
    t->writes = arena_grow(r->arena, t->writes, t->write_count, &r->write_max, sizeof *t->writes);
    t->writes[t->write_count++] = (struct thread_write){
        .task = agent_thread_read_keep(r, &c[0]),
        .idx = c[1].i,
        .channel = agent_thread_read_keep(r, &c[2]),
        .type = agent_thread_read_keep(r, &c[3]),
        .bytes = agent_thread_read_keep(r, &c[4]),
    };
    assert(t->write_count <= THREAD_WRITES_MAX);
    return !r->full && t->write_count < THREAD_WRITES_MAX;
}

static bool read_writes(struct db *db, struct reading *r, struct err *e)
{
    return db_query(
        db,
        "SELECT task_id, idx, channel, type, value FROM thread_writes"
        " WHERE thread_id = $1 AND ns = $2 AND checkpoint_id = $3 ORDER BY task_id, idx",
        DB_ARGS(db_text(r->tuple->thread), db_text(r->tuple->ns), db_text(r->tuple->id)),
        (struct db_rows){agent_on_write, r},
        e);
}

static bool agent_thread_read_parts(struct db *db, struct reading *r, struct err *e)
{
    struct json checkpoint, refs;
    bool ok;

    json_init(&refs);
    ok = json_open(&checkpoint, r->tuple->checkpoint, e) && json_parse(&refs, r->refs, e) &&
         agent_thread_read_values(db, r, &checkpoint, &refs, e) && read_writes(db, r, e);
    json_release(&checkpoint);
    json_release(&refs);
    return ok && (!r->full || agent_too_large(e));
}

static bool read_tuple(struct db *db, const struct thread_asker *who, str id, struct reading *r,
                       struct err *e)
{
    bool there;

    if (!thread_seen(db, who, r->tuple->thread, &there, e))
        return false;
    if (!there)
        return thread_missing(e, r->tuple->thread);
    if (!agent_thread_read_row(db, r, id, e))
        return false;
    if (r->full)
        return agent_too_large(e);
    if (!r->found)
        return err_set(e,
                       ERR_NOT_FOUND,
                       id.n ? "there is no checkpoint \"" STR_FMT "\""
                            : "there is no checkpoint" STR_FMT,
                       STR_ARG(str_slice(id, 0, 120)));
    return agent_thread_read_parts(db, r, e);
}

bool threads_get(struct threads *t, const struct thread_asker *who, struct thread_key key,
                 struct arena *a, struct thread_tuple *out, struct err *e)
{
    struct thread_tuple tuple = {.thread = arena_dup(a, key.thread), .ns = arena_dup(a, key.ns)};
    struct reading r = {.arena = a, .left = THREAD_TUPLE_MAX, .tuple = &tuple, .refs = STR("{}")};
    bool ok;

    pthread_mutex_lock(&t->read_lock);
    ok = db_begin(t->reader, false, e);
    if (ok) {
        ok = read_tuple(t->reader, who, key.id, &r, e);
        db_rollback(t->reader);
    }
    pthread_mutex_unlock(&t->read_lock);
    if (ok)
        *out = tuple;
    return ok;
}

/* ---- listing ---- */

struct listing {
    struct arena *arena, names; /* names: for one row */
    struct json want, has;
    bool filtered;
    struct thread_tuple *list;
    size_t n, max;
};

static bool agent_thread_read_fits(struct listing *l, str metadata)
{
    const struct json_node *root = json_root(&l->want), *value;
    struct err ignored;
    str name;

    if (!l->filtered)
        return true;
    if (!json_parse(&l->has, metadata, &ignored))
        return false;
    arena_reset(&l->names);
    JSON_FOREACH(key, &l->want, root) {
        if (!json_text(&l->want, key, &l->names, &name))
            return false;
        value = json_find(&l->has, json_root(&l->has), name);
        if (!value || !json_equal(&l->want, json_value(key), &l->has, value))
            return false;
    }
    return true;
}

static bool agent_on_listed(void *ctx, const struct db_value *c, size_t n)
{
    struct listing *l = ctx;

    assert(n > 3);
    assert(l->n < l->max);
    if (agent_thread_read_fits(l, c[3].s))
        l->list[l->n++] = (struct thread_tuple){
            .thread = arena_dup(l->arena, c[0].s),
            .ns = arena_dup(l->arena, c[1].s),
            .id = arena_dup(l->arena, c[2].s),
            .metadata = c[3].s.n <= THREAD_LISTED_MAX ? arena_dup(l->arena, c[3].s) : STR("{}"),
        };
    return l->n < l->max;
}

/* For one thread sorted by its checkpoints, for all threads by their ids. */
#define CHECKPOINTS_WHERE(decides)                                                                 \
    "SELECT c.thread_id, c.ns, c.checkpoint_id, c.metadata FROM thread_checkpoints c"              \
    " JOIN threads t ON t.thread_id = c.thread_id"                                                 \
    " WHERE " decides " AND ($1 = '' OR c.thread_id = $1) AND ($2 = 0 OR c.ns = $3)"               \
    " AND ($4 = '' OR c.checkpoint_id < $4) AND ($5 = 1 OR t.key_name = $6)"                       \
    " AND ($7 = 0 OR c.checkpoint_id = (SELECT MAX(n.checkpoint_id) FROM"                          \
    " thread_checkpoints n WHERE n.thread_id = c.thread_id AND n.ns = c.ns))"                      \
    " ORDER BY c.checkpoint_id DESC, c.thread_id, c.ns"

static bool agent_list_rows(struct threads *t, const struct thread_asker *who,
                            const struct thread_filter *f, struct listing *l, struct err *e)
{
    bool ok;

    pthread_mutex_lock(&t->read_lock);
    ok = db_query(t->reader,
                  f->thread.n ? CHECKPOINTS_WHERE("c.thread_id = $1")
                              : CHECKPOINTS_WHERE("c.checkpoint_id >= ''"),
                  DB_ARGS(db_text(f->thread),
                          db_int(f->ns != NULL),
                          db_text(f->ns ? *f->ns : STR("")),
                          db_text(f->before),
                          db_int(who->all),
                          db_text(who->key),
                          db_int(f->newest)),
                  (struct db_rows){agent_on_listed, l},
                  e);
    pthread_mutex_unlock(&t->read_lock);
    return ok;
}

bool threads_list(struct threads *t, const struct thread_asker *who, const struct thread_filter *f,
                  struct arena *a, struct thread_list *out, struct err *e)
{
    struct listing l = {.arena = a, .filtered = f->metadata.n > 0};
    bool ok = true;

    l.max = f->count_max < THREAD_LIST_MAX ? f->count_max : THREAD_LIST_MAX;
    l.list = arena_zero(a, l.max + 1, sizeof *l.list);
    json_init(&l.want);
    json_init(&l.has);
    arena_init(&l.names, f->metadata.n + 65536);
    if (l.filtered &&
        (!json_parse(&l.want, f->metadata, e) || json_root(&l.want)->kind != JSON_OBJECT))
        ok = err_input(e, "metadata: must be a JSON object");
    if (ok && l.max)
        ok = agent_list_rows(t, who, f, &l, e);
    json_release(&l.want);
    json_release(&l.has);
    arena_release(&l.names);
    if (ok)
        *out = (struct thread_list){l.list, l.n};
    return ok;
}
