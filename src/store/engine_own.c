/* engine_own.c - whose a session is: that of the key that opened it.
 *
 * A name is the client's to choose, and two may choose the same. The first has a session of that
 * name; for each other key there is one of its own, whose id is the name and a digest that nobody
 * else can know before, and whose `named` is the name, by which that key finds it. What comes
 * without a key is this machine's, and what applications ask for (no path is its route) is theirs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/engine_state.h"

struct owner {
    str key; /* "": no key */
};

static bool engine_own_add_owner(struct engine *en, str session, bool there, str key, struct err *e)
{
    struct owner *o = NULL;

    assert(session.n > 0);
    if (there) {
        o = arena_alloc(&en->arena, sizeof *o);
        o->key = arena_dup(&en->arena, key);
    }
    return map_set(&en->owners, arena_dup(&en->arena, session), MAP_PTR(o), e);
}

static bool engine_on_owner(void *ctx, const struct db_value *c, size_t n)
{
    struct engine *en = ctx;
    struct err full;

    assert(n == 2);
    if (!engine_own_add_owner(en, c[0].s, true, c[1].type == DB_NULL ? STR("") : c[1].s, &full))
        base_die("a batch has more sessions than it may");
    return true;
}

bool engine_owners_look_up(struct engine *en, const str *sessions, size_t n, struct err *e)
{
    if (!engine_ask(
            en, ENGINE_LOOK_UP_OWNERS, sessions, n, (struct db_rows){engine_on_owner, en}, e))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!map_find(&en->owners, sessions[i]) &&
            !engine_own_add_owner(en, sessions[i], false, STR(""), e))
            return false;
    return true;
}

void engine_owners_forget(struct engine *en)
{
    map_release(&en->owners);
}

static bool engine_is_from_client(const struct store_call *row)
{
    return row->key_name.n > 0 && (row->route.n == 0 || row->route.p[0] == '/');
}

bool engine_own(struct engine *en, struct store_call *row, str *named, struct err *e)
{
    const struct owner *o;
    struct map_entry *found;
    str mark;

    *named = STR("");
    found = map_find(&en->owners, row->session_id);
    if (!found) {
        if (!engine_owners_look_up(en, &row->session_id, 1, e))
            return false;
        found = map_find(&en->owners, row->session_id);
    }
    assert(found); /* engine_owners_look_up adds each session that it is asked for */
    o = found->value.ptr;
    if (!o)
        return engine_own_add_owner(en, row->session_id, true, row->key_name, e);
    if (!engine_is_from_client(row) || str_eq(o->key, row->key_name))
        return true;
    *named = row->session_id;
    mark = engine_audit_name(en, arena_join(&en->arena, row->session_id, STR("\n"), row->key_name));
    assert(mark.n >= ENGINE_MARK_SIZE);
    row->session_id =
        arena_join(&en->arena, *named, STR("~"), str_slice(mark, 0, ENGINE_MARK_SIZE));
    return true;
}
