/* thread_state.c - an update becomes a checkpoint: read, folded and put while no other is put.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/channel.h"
#include "agent/thread_store.h"
#include "base/ctype.h"
#include "base/rand.h"

#define ID_SIZE 37
#define CONFLICTS_MAX 8 /* with updates of other daemons, until an update of the newest fails */
/* From 1582-10-15 to 1970, in tenths of microseconds: UUIDs count from 1582. */
#define UUID_EPOCH 0x01b21dd213814000u

struct updating {
    struct arena *arena;
    const struct thread_update *update;
    struct thread_tuple from; /* values of the checkpoint it continues from; empty if none */
    struct json before, values, reducers;
    struct thread_tuple put;
    int64_t version; /* of what changes now */
};

/* The time of an id of version 6; 0: it is another. */
static uint64_t thread_state_id_time(str id)
{
    uint64_t at = 0;

    if (id.n != ID_SIZE - 1 || id.p[14] != '6')
        return 0;
    for (size_t i = 0; i < 18; i++) {
        int digit = char_hex_value(id.p[i]);

        if (i == 8 || i == 13 || i == 14)
            continue;
        if (digit < 0)
            return 0;
        at = at << 4 | (uint64_t)digit;
    }
    return at;
}

/* A UUID of version 6, as other savers of checkpoints make them: as text they sort by time. It is
 * later than its parent, which the clock of another machine may have made. */
static str agent_thread_state_new_id(struct threads *t, const struct thread_asker *who, str parent,
                                     struct arena *a)
{
    uint64_t at = (uint64_t)who->now_us * 10 + UUID_EPOCH, chance;

    if (at <= t->last_id)
        at = t->last_id + 1;
    t->last_id = at;
    if (at <= thread_state_id_time(parent))
        at = thread_state_id_time(parent) + 1;
    rand_os(&chance, sizeof chance);
    return arena_printf(a,
                        "%08llx-%04llx-6%03llx-%04llx-%012llx",
                        (unsigned long long)(at >> 28 & 0xffffffff),
                        (unsigned long long)(at >> 12 & 0xffff),
                        (unsigned long long)(at & 0xfff),
                        (unsigned long long)(0x8000 | (chance >> 48 & 0x3fff)),
                        (unsigned long long)(chance & 0xffffffffffff));
}

static const struct json_node *agent_thread_state_member(const struct json *doc, str name)
{
    return json_find(doc, json_root(doc), name);
}

static bool agent_next_version(struct updating *u, struct err *e)
{
    const struct json_node *all = agent_thread_state_member(&u->before, STR("channel_versions"));
    int64_t n;

    u->version = 1;
    JSON_FOREACH(key, &u->before, all) {
        if (!json_i64(&u->before, json_value(key), &n) || n < 0 || n > INT64_MAX - 2)
            return err_input(e, "channel_versions: are not counted in whole numbers");
        if (n >= u->version)
            u->version = n + 1;
    }
    assert(u->version >= 1);
    return true;
}

static bool agent_thread_state_kind_of(struct updating *u, str channel, enum channel_kind *out,
                                       struct err *e)
{
    const struct json_node *before =
        json_find(&u->before, agent_thread_state_member(&u->before, STR("reducers")), channel);
    const struct json_node *now = json_find(&u->reducers, json_root(&u->reducers), channel);
    const struct json *doc = now ? &u->reducers : &u->before;
    str name = STR("last");

    if ((now || before) && !json_text(doc, now ? now : before, u->arena, &name))
        return err_input(e, "reducers: must name them");
    return channel_kind_find(name, out) ||
           err_input(e,
                     "reducers: \"" STR_FMT "\" is none of last, append, messages",
                     STR_ARG(str_slice(name, 0, 40)));
}

static bool fold_one(struct updating *u, str channel, str update, struct thread_value *out,
                     struct err *e)
{
    const struct thread_value *now = thread_tuple_value(&u->from, channel);
    enum channel_kind kind = CHANNEL_LAST;
    struct buf b;
    bool ok;

    assert(update.n > 0 && channel.n <= THREAD_ID_MAX);
    if (!agent_thread_state_kind_of(u, channel, &kind, e))
        return false;
    if (now && kind != CHANNEL_LAST && !str_eq(now->type, STR("json")))
        return err_input(
            e, "values: the stored value is not JSON, so an update cannot be added to it");
    buf_init(&b, THREAD_TUPLE_MAX);
    ok = channel_fold(kind, now && kind != CHANNEL_LAST ? now->bytes : STR(""), update, &b, e);
    ok = ok && (arena_fits(u->arena, b.n + 1, 4096) || err_set(e, ERR_LIMIT, "values: too large"));
    if (ok)
        *out = (struct thread_value){
            .channel = channel, .type = STR("json"), .bytes = arena_dup(u->arena, buf_str(&b))};
    buf_release(&b);
    return ok;
}

static bool fold_all(struct updating *u, struct err *e)
{
    const struct json_node *root = json_root(&u->values);
    size_t n = json_count(&u->values, root);
    str channel;

    if (n > THREAD_CHANNELS_MAX)
        return err_input(e, "values: more than %d", THREAD_CHANNELS_MAX);
    u->put.values = arena_zero(u->arena, n + 1, sizeof *u->put.values);
    JSON_FOREACH(key, &u->values, root) {
        assert(u->put.value_count < n);
        if (!json_text(&u->values, key, u->arena, &channel) || channel.n > THREAD_ID_MAX ||
            memchr(channel.p, 0, channel.n))
            return err_input(e, "values: the name of a channel is too long, or has a NUL");
        if (thread_tuple_value(&u->put, channel))
            return err_input(e, "values: a channel is there twice");
        if (!fold_one(u,
                      channel,
                      json_raw(&u->values, json_value(key)),
                      &u->put.values[u->put.value_count],
                      e))
            return false;
        u->put.value_count++;
    }
    return true;
}

/* ---- the checkpoint ---- */

/* The members of an object that another does not have. */
static void members_but(struct json_out *o, const struct json *doc, const struct json_node *all,
                        const struct json *other, struct arena *a)
{
    str name;

    JSON_FOREACH(key, doc, all) {
        if (!json_text(doc, key, a, &name) || (other && json_find(other, json_root(other), name)))
            continue;
        json_out_key(o, name);
        json_out_raw(o, json_raw(doc, json_value(key)));
    }
}

static void agent_write_versions(struct updating *u, struct json_out *o)
{
    json_member_object(o, "channel_versions");
    members_but(o,
                &u->before,
                agent_thread_state_member(&u->before, STR("channel_versions")),
                &u->values,
                u->arena);
    for (size_t i = 0; i < u->put.value_count; i++) {
        json_out_key(o, u->put.values[i].channel);
        json_out_i64(o, u->version);
    }
    json_out_end(o);
}

static bool agent_write_checkpoint(struct updating *u, const struct thread_asker *who,
                                   struct err *e)
{
    const struct json_node *seen = agent_thread_state_member(&u->before, STR("versions_seen"));
    char ts[CLOCK_TEXT_SIZE];
    struct json_out o;
    struct buf b;
    bool ok;

    assert(u->put.id.n > 0 && u->version >= 1);
    buf_init(&b, THREAD_TUPLE_MAX / 4);
    json_out_init_object(&o, &b);
    json_member_i64(&o, "v", 4);
    json_member_str(&o, "id", u->put.id);
    json_member_str(&o, "ts", clock_format(who->now_us / 1000, ts));
    agent_write_versions(u, &o);
    json_member_raw(&o, "versions_seen", seen ? json_raw(&u->before, seen) : STR("{}"));
    json_member_object(&o, "reducers");
    members_but(&o,
                &u->before,
                agent_thread_state_member(&u->before, STR("reducers")),
                &u->reducers,
                u->arena);
    members_but(&o, &u->reducers, json_root(&u->reducers), NULL, u->arena);
    json_out_close(&o, 2);
    ok = json_out_ok(&o, e);
    if (ok)
        u->put.checkpoint = arena_dup(u->arena, buf_str(&b));
    buf_release(&b);
    return ok;
}

/* The metadata of the checkpoint before, with the members of the update in place of its own: an
 * update that says nothing of itself leaves the thread to the program that keeps it. */
static bool thread_state_metadata(struct updating *u, struct err *e)
{
    struct json before, now;
    struct json_out o;
    struct buf b;
    bool ok;

    u->put.metadata = u->update->metadata;
    if (!u->from.id.n)
        return true;
    buf_init(&b, THREAD_TUPLE_MAX / 4);
    json_init(&now);
    ok = json_open(&before, u->from.metadata, e) && json_parse(&now, u->update->metadata, e);
    if (ok && json_root(&now)->kind == JSON_OBJECT) {
        json_out_init_object(&o, &b);
        members_but(&o, &before, json_root(&before), &now, u->arena);
        members_but(&o, &now, json_root(&now), NULL, u->arena);
        json_out_end(&o);
        ok = json_out_ok(&o, e);
        u->put.metadata = arena_dup(u->arena, buf_str(&b));
    }
    json_release(&before);
    json_release(&now);
    buf_release(&b);
    return ok;
}

static bool agent_update_locked(struct threads *t, const struct thread_asker *who,
                                struct updating *u, struct err *e)
{
    const struct thread_update *from = u->update;
    struct err none;

    err_set(&none, ERR_NOT_FOUND, "the thread is new");
    if ((from->newest && !from->from.n) ||
        !threads_get(t,
                     who,
                     (struct thread_key){from->thread, from->ns, from->from},
                     u->arena,
                     &u->from,
                     &none)) {
        *e = none;
        if (none.code != ERR_NOT_FOUND || from->from.n)
            return false;
        u->from = (struct thread_tuple){.id = STR(""), .checkpoint = STR("{}")};
    }
    u->put = (struct thread_tuple){.thread = from->thread,
                                   .ns = from->ns,
                                   .id = agent_thread_state_new_id(t, who, u->from.id, u->arena),
                                   .parent = u->from.id,
                                   .newest = from->newest || !from->from.n};
    return thread_state_metadata(u, e) && json_parse(&u->before, u->from.checkpoint, e) &&
           agent_next_version(u, e) && fold_all(u, e) && agent_write_checkpoint(u, who, e) &&
           thread_put_locked(t, who, &u->put, e);
}

bool threads_update(struct threads *t, const struct thread_asker *who,
                    const struct thread_update *update, struct arena *a, str *id_out, struct err *e)
{
    struct updating u = {.update = update};
    struct arena try;
    bool ok;

    /* A retry reads the thread again: its arena has room for one try. */
    arena_init(&try, 2 * THREAD_TUPLE_MAX + 2 * (update->values.n + update->metadata.n));
    u.arena = &try;
    json_init(&u.before);
    json_init(&u.reducers);
    ok = json_open(&u.values, update->values, e) && json_parse(&u.reducers, update->reducers, e);
    pthread_mutex_lock(&t->lock);
    for (int i = 0; ok && i < CONFLICTS_MAX; i++) {
        arena_reset(&try);
        if (agent_update_locked(t, who, &u, e))
            break;
        ok = i + 1 < CONFLICTS_MAX && e->code == ERR_CONFLICT && !update->from.n && !update->newest;
    }
    pthread_mutex_unlock(&t->lock);
    json_release(&u.before);
    json_release(&u.values);
    json_release(&u.reducers);
    if (ok)
        *id_out = arena_dup(a, u.put.id);
    arena_release(&try);
    return ok;
}
