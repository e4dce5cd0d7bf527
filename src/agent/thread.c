/* thread.c - see thread.h: opening, and writing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/thread_store.h"

#define REFS_MAX ((size_t)8 << 20)

bool threads_open(str url, struct threads **out, struct err *e)
{
    struct threads *t = base_alloc(sizeof *t);

    memset(t, 0, sizeof *t);
    if (!db_open(url, DB_BESIDE, &t->writer, e) || !db_open(url, DB_READ, &t->reader, e)) {
        db_close(t->writer);
        free(t);
        return false;
    }
    pthread_mutex_init(&t->lock, NULL);
    pthread_mutex_init(&t->read_lock, NULL);
    pthread_mutex_init(&t->queue_lock, NULL);
    pthread_cond_init(&t->queued, NULL);
    *out = t;
    return true;
}

void threads_close(struct threads *t)
{
    if (!t)
        return;
    db_close(t->writer);
    db_close(t->reader);
    pthread_mutex_destroy(&t->lock);
    pthread_mutex_destroy(&t->read_lock);
    pthread_mutex_destroy(&t->queue_lock);
    pthread_cond_destroy(&t->queued);
    free(t);
}

int64_t thread_special(str channel, int64_t idx)
{
    size_t place = str_place(channel, "__error__ __scheduled__ __interrupt__ __resume__");

    return place == STR_NONE ? idx : -1 - (int64_t)place;
}

/* ---- owners ---- */

bool thread_missing(struct err *e, str thread)
{
    return err_set(
        e, ERR_NOT_FOUND, "there is no thread \"" STR_FMT "\"", STR_ARG(str_slice(thread, 0, 120)));
}

struct seen {
    str key;
    bool there, ours;
};

static bool thread_on_owner(void *ctx, const struct db_value *c, size_t n)
{
    struct seen *s = ctx;

    assert(n > 0);
    s->there = true;
    s->ours = str_eq(c[0].s, s->key);
    return false;
}

static bool agent_thread_owner(struct db *db, const struct thread_asker *who, str thread,
                               struct seen *out, struct err *e)
{
    *out = (struct seen){.key = who->key};
    if (!db_query(db,
                  "SELECT key_name FROM threads WHERE thread_id = $1",
                  DB_ARGS(db_text(thread)),
                  (struct db_rows){thread_on_owner, out},
                  e))
        return false;
    assert(out->there || !out->ours);
    out->ours = out->there && (out->ours || who->all);
    return true;
}

bool thread_seen(struct db *db, const struct thread_asker *who, str thread, bool *there,
                 struct err *e)
{
    struct seen s;

    if (!agent_thread_owner(db, who, thread, &s, e))
        return false;
    *there = s.ours;
    return true;
}

bool thread_is_order(str metadata)
{
    struct json doc;
    struct err e;
    bool order = json_open(&doc, metadata, &e) &&
                 json_is(&doc, json_find(&doc, json_root(&doc), STR("app")), STR("orders"));

    json_release(&doc);
    return order;
}

static bool thread_on_order(void *ctx, const struct db_value *c, size_t n)
{
    assert(n > 0);
    *(bool *)ctx = thread_is_order(c[0].s);
    return false;
}

static bool agent_thread_refuse_order(str thread, struct err *e)
{
    return err_set(e,
                   ERR_CONFLICT,
                   "the thread \"" STR_FMT "\" is an order's, and only its turns write it: POST "
                   "/api/v1/orders/ID/say, or take another thread",
                   STR_ARG(str_slice(thread, 0, 80)));
}

/* Most metadata are not parsed: LIKE finds every checkpoint of an order, as orders write them. */
static bool agent_thread_may_write(struct db *db, const struct thread_asker *who, str thread,
                                   struct err *e)
{
    bool order = false;

    return who->order ||
           (db_query(db,
                     "SELECT metadata FROM (SELECT metadata FROM thread_checkpoints WHERE"
                     " thread_id = $1 AND ns = '' ORDER BY checkpoint_id DESC LIMIT 1) AS x"
                     " WHERE metadata LIKE '%\"app\":\"orders\"%'",
                     DB_ARGS(db_text(thread)),
                     (struct db_rows){thread_on_order, &order},
                     e) &&
            (!order || agent_thread_refuse_order(thread, e)));
}

/* Creates the thread if it does not exist. */
static bool agent_thread_claim(struct db *db, const struct thread_asker *who, str thread,
                               struct err *e)
{
    struct seen s;

    if (!db_run(db,
                "INSERT INTO threads (thread_id, key_name, created_us, updated_us)"
                " VALUES ($1, $2, $3, $3) ON CONFLICT (thread_id) DO UPDATE SET updated_us = $3",
                DB_ARGS(db_text(thread), db_text(who->key), db_int(who->now_us)),
                e) ||
        !agent_thread_owner(db, who, thread, &s, e))
        return false;
    return s.ours ? agent_thread_may_write(db, who, thread, e) : thread_missing(e, thread);
}

static bool agent_thread_claim_now(struct threads *t, const struct thread_asker *who, str thread,
                                   struct err *e)
{
    bool ok;

    pthread_mutex_lock(&t->lock);
    ok = db_begin(t->writer, false, e) &&
         db_end(t->writer, agent_thread_claim(t->writer, who, thread, e), e);
    pthread_mutex_unlock(&t->lock);
    return ok;
}

bool threads_claim(struct threads *t, const struct thread_asker *who, str thread, struct err *e)
{
    struct seen s;
    bool ok;

    assert(thread.n > 0);
    pthread_mutex_lock(&t->read_lock);
    ok = agent_thread_owner(t->reader, who, thread, &s, e) &&
         (!s.ours || agent_thread_may_write(t->reader, who, thread, e));
    pthread_mutex_unlock(&t->read_lock);
    if (ok && !s.there)
        ok = agent_thread_claim_now(t, who, thread, e);
    else if (ok && !s.ours)
        ok = thread_missing(e, thread);
    if (!ok && e->code == ERR_NOT_FOUND)
        err_set(e,
                ERR_NOT_FOUND,
                "there is no thread \"" STR_FMT "\" of this key: choose another name",
                STR_ARG(str_slice(thread, 0, 80)));
    return ok;
}

/* ---- checkpoints ---- */

/* The state of a put in progress. */
struct putting {
    struct db *db;
    const struct thread_asker *who;
    const struct thread_tuple *put;
    struct arena arena;
    struct json checkpoint; /* of the put */
    struct json parent, parent_refs;
    struct buf refs;
    struct json_out out;
};

static bool agent_thread_read_parent(struct putting *p, struct err *e)
{
    str checkpoint = STR(""), refs = STR("");
    bool found = false;

    if (!p->put->parent.n)
        return true;
    if (!db_query(p->db,
                  "SELECT checkpoint, refs FROM thread_checkpoints WHERE thread_id = $1 AND ns = $2"
                  " AND checkpoint_id = $3",
                  DB_ARGS(db_text(p->put->thread), db_text(p->put->ns), db_text(p->put->parent)),
                  DB_ROW(db_into_found(&found),
                         db_into_text(&p->arena, &checkpoint),
                         db_into_text(&p->arena, &refs)),
                  e))
        return false;
    return !found ||
           (json_parse(&p->parent, checkpoint, e) && json_parse(&p->parent_refs, refs, e));
}

static const struct json_node *agent_thread_versions(const struct json *checkpoint)
{
    return json_find(checkpoint, json_root(checkpoint), STR("channel_versions"));
}

/* The parent's value of a channel, if it has one. */
static bool agent_thread_find_inherited(struct putting *p, str channel, str *version, str *writer)
{
    const struct json_node *v = agent_thread_versions(&p->parent), *w;

    v = v ? json_find(&p->parent, v, channel) : NULL;
    w = v ? json_find(&p->parent_refs, json_root(&p->parent_refs), channel) : NULL;
    if (!v || !json_text(&p->parent_refs, w, &p->arena, writer))
        return false;
    *version = json_raw(&p->parent, v);
    return true;
}

/* A copy of a sibling has the sibling's versions and names the sibling's parent: its values are the
 * newest of that version. */
static bool thread_of_version(struct putting *p, str channel, str version, str *writer,
                              struct err *e)
{
    return db_query(
        p->db,
        "SELECT writer FROM thread_values WHERE thread_id = $1 AND ns = $2"
        " AND channel = $3 AND version = $4 ORDER BY created_us DESC, writer DESC LIMIT 1",
        DB_ARGS(db_text(p->put->thread), db_text(p->put->ns), db_text(channel), db_text(version)),
        DB_ROW(db_into_text(&p->arena, writer)),
        e);
}

const struct thread_value *thread_tuple_value(const struct thread_tuple *put, str channel)
{
    for (size_t i = 0; i < put->value_count; i++)
        if (str_eq(put->values[i].channel, channel))
            return &put->values[i];
    return NULL;
}

/* Stores the value of one channel, or a reference to the checkpoint that has it. */
static bool thread_put_channel(struct putting *p, str channel, str version, struct err *e)
{
    struct thread_place at = {p->put->thread, p->put->ns, channel};
    const struct thread_value *v = thread_tuple_value(p->put, channel);
    str base_version = STR(""), base_writer = STR(""), writer = STR("");
    bool has_base = agent_thread_find_inherited(p, channel, &base_version, &base_writer);

    if (v && !v->empty) {
        struct thread_value whole = *v;

        whole.version = version;
        writer = p->put->id;
        if (!thread_value_write(
                p->db,
                &at,
                &whole,
                &(struct thread_origin){writer, base_version, base_writer, p->who->now_us},
                e))
            return false;
    } else if (!v && has_base && str_eq(base_version, version)) {
        writer = base_writer;
    } else if (!v && !thread_of_version(p, channel, version, &writer, e)) {
        return false;
    }
    if (writer.n) {
        json_out_key(&p->out, channel);
        json_out_str(&p->out, writer);
    }
    return true;
}

static bool thread_put_channels(struct putting *p, struct err *e)
{
    const struct json_node *all = agent_thread_versions(&p->checkpoint);
    size_t n = 0;
    str name;

    json_out_object(&p->out);
    JSON_FOREACH(key, &p->checkpoint, all) {
        if (++n > THREAD_CHANNELS_MAX)
            return err_input(e, "checkpoint: has more than %d channels", THREAD_CHANNELS_MAX);
        if (!json_text(&p->checkpoint, key, &p->arena, &name) ||
            !thread_put_channel(p, name, json_raw(&p->checkpoint, json_value(key)), e))
            return false;
    }
    json_out_end(&p->out);
    return json_out_ok(&p->out, e);
}

static bool agent_thread_put_row(struct putting *p, struct err *e)
{
    const struct thread_tuple *put = p->put;

    return db_run(p->db,
                  "INSERT INTO thread_checkpoints (thread_id, ns, checkpoint_id, parent_id,"
                  " checkpoint, refs, metadata, created_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
                  " ON CONFLICT (thread_id, ns, checkpoint_id) DO UPDATE SET"
                  " parent_id = excluded.parent_id, checkpoint = excluded.checkpoint,"
                  " refs = excluded.refs, metadata = excluded.metadata",
                  DB_ARGS(db_text(put->thread),
                          db_text(put->ns),
                          db_text(put->id),
                          put->parent.n ? db_text(put->parent) : db_null(),
                          db_text(put->checkpoint),
                          db_text(buf_str(&p->refs)),
                          db_text(put->metadata),
                          db_int(p->who->now_us)),
                  e);
}

/* Checks that every given value belongs to a version. */
static bool thread_all_versioned(struct putting *p, struct err *e)
{
    const struct json_node *all = agent_thread_versions(&p->checkpoint);

    for (size_t i = 0; i < p->put->value_count; i++)
        if (!all || !json_find(&p->checkpoint, all, p->put->values[i].channel))
            return err_input(e,
                             "values: channel \"" STR_FMT "\" is not in channel_versions",
                             STR_ARG(str_slice(p->put->values[i].channel, 0, 80)));
    return true;
}

/* The next checkpoint reads this one as its parent, in addition to its own needs. */
static bool agent_thread_checkpoint_fits(const struct thread_tuple *put, struct err *e)
{
    return put->checkpoint.n <= THREAD_TUPLE_MAX / 2 ||
           err_set(e,
                   ERR_LIMIT,
                   "checkpoint: larger than %zu MiB without its values",
                   (size_t)THREAD_TUPLE_MAX / 2 >> 20);
}

/* The claim locked the thread, so the answer holds until the commit. */
static bool agent_thread_is_newest(struct putting *p, struct err *e)
{
    str newest = STR("");

    if (!p->put->newest)
        return true;
    if (!db_query(p->db,
                  "SELECT checkpoint_id FROM thread_checkpoints WHERE thread_id = $1 AND ns = $2"
                  " ORDER BY checkpoint_id DESC LIMIT 1",
                  DB_ARGS(db_text(p->put->thread), db_text(p->put->ns)),
                  DB_ROW(db_into_text(&p->arena, &newest)),
                  e))
        return false;
    return str_eq(newest, p->put->parent) ||
           err_set(e,
                   ERR_CONFLICT,
                   "the thread \"" STR_FMT
                   "\" went on at the same time, perhaps on another daemon: read it and try again",
                   STR_ARG(str_slice(p->put->thread, 0, 80)));
}

static bool agent_thread_put_all(struct putting *p, struct err *e)
{
    if (!p->who->order && thread_is_order(p->put->metadata))
        return err_set(e, ERR_CONFLICT, "metadata: app \"orders\" is that of orders alone");
    return agent_thread_checkpoint_fits(p->put, e) &&
           json_parse(&p->checkpoint, p->put->checkpoint, e) && thread_all_versioned(p, e) &&
           agent_thread_claim(p->db, p->who, p->put->thread, e) && agent_thread_is_newest(p, e) &&
           agent_thread_read_parent(p, e) && thread_put_channels(p, e) &&
           agent_thread_put_row(p, e);
}

static bool agent_thread_put_writes(struct db *db, const struct thread_asker *who,
                                    const struct thread_tuple *put, struct err *e)
{
    assert(put->id.n > 0 && put->write_count <= THREAD_WRITES_MAX);
    if (!agent_thread_claim(db, who, put->thread, e))
        return false;
    for (size_t i = 0; i < put->write_count; i++) {
        const struct thread_write *w = &put->writes[i];

        if (!db_run(db,
                    "INSERT INTO thread_writes (thread_id, ns, checkpoint_id, task_id, idx,"
                    " channel, type, value) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
                    " ON CONFLICT (thread_id, ns, checkpoint_id, task_id, idx) DO UPDATE SET"
                    " channel = excluded.channel, type = excluded.type, value = excluded.value"
                    " WHERE thread_writes.idx < 0",
                    DB_ARGS(db_text(put->thread),
                            db_text(put->ns),
                            db_text(put->id),
                            db_text(w->task),
                            db_int(w->idx),
                            db_text(w->channel),
                            db_text(w->type),
                            db_blob(w->bytes)),
                    e))
            return false;
    }
    return true;
}

/* ---- transactions ---- */

static bool thread_put_checkpoint(struct db *db, const struct thread_asker *who,
                                  const struct thread_tuple *put, struct err *e)
{
    struct putting p = {.db = db, .who = who, .put = put};
    bool ok;

    assert(put->thread.n > 0 && put->id.n > 0);
    arena_init(&p.arena, THREAD_TUPLE_MAX);
    buf_init(&p.refs, REFS_MAX);
    json_out_init(&p.out, &p.refs);
    json_init(&p.checkpoint);
    json_init(&p.parent);
    json_init(&p.parent_refs);
    ok = agent_thread_put_all(&p, e);
    json_release(&p.parent_refs);
    json_release(&p.parent);
    json_release(&p.checkpoint);
    buf_release(&p.refs);
    arena_release(&p.arena);
    return ok;
}

bool thread_put_locked(struct threads *t, const struct thread_asker *who,
                       const struct thread_tuple *put, struct err *e)
{
    return db_begin(t->writer, true, e) &&
           db_end(t->writer, thread_put_checkpoint(t->writer, who, put, e), e);
}

bool threads_put(struct threads *t, const struct thread_asker *who, const struct thread_tuple *put,
                 struct err *e)
{
    struct thread_job j = {.put = thread_put_checkpoint, .who = who, .tuple = put};

    return thread_put_together(t, &j, e);
}

bool threads_put_writes(struct threads *t, const struct thread_asker *who,
                        const struct thread_tuple *put, struct err *e)
{
    struct thread_job j = {.put = agent_thread_put_writes, .who = who, .tuple = put};

    return thread_put_together(t, &j, e);
}

static bool thread_delete_all(struct db *db, const struct thread_asker *who, str thread,
                              struct err *e)
{
    static const char *const tables[] = {
        "DELETE FROM thread_writes WHERE thread_id = $1",
        "DELETE FROM thread_values WHERE thread_id = $1",
        "DELETE FROM thread_checkpoints WHERE thread_id = $1",
        "DELETE FROM threads WHERE thread_id = $1",
    };
    struct seen s;

    assert(thread.n > 0);
    if (!agent_thread_owner(db, who, thread, &s, e))
        return false;
    if (s.there && !s.ours)
        return thread_missing(e, thread);
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if (!db_run(db, tables[i], DB_ARGS(db_text(thread)), e))
            return false;
    return true;
}

bool threads_delete(struct threads *t, const struct thread_asker *who, str thread, struct err *e)
{
    bool ok;

    pthread_mutex_lock(&t->lock);
    ok = db_begin(t->writer, true, e);
    if (ok)
        ok = db_end(t->writer, thread_delete_all(t->writer, who, thread, e), e);
    pthread_mutex_unlock(&t->lock);
    return ok;
}
