/* registry.c - see registry.h.
 *
 * One connection writes and one reads, each under a lock: prompts are few, and the active version
 * is cached for REGISTRY_FRESH_MS.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/registry.h"

#include <pthread.h>

#include "agent/column.h"
#include "base/log.h"
#include "base/map.h"

#define CACHE_MAX 256
#define SCORES_MAX ((size_t)1 << 20)
#define WHO_MAX 256

#define COLUMNS_WITH(components)                                                                   \
    "prompt_id, name, " components ", state, parent, run_id, scores, created_us, created_by,"      \
    " approved_us, approved_by, moved_us, moved_by"
#define COLUMNS COLUMNS_WITH("components")

/* The allowed changes of state; back to active only for versions that a person has approved. */
static const bool ways[4][4] = {
    [PROMPT_DRAFT] = {[PROMPT_APPROVED] = true, [PROMPT_RETIRED] = true},
    [PROMPT_APPROVED] = {[PROMPT_ACTIVE] = true, [PROMPT_RETIRED] = true},
    [PROMPT_ACTIVE] = {[PROMPT_RETIRED] = true},
    [PROMPT_RETIRED] = {[PROMPT_ACTIVE] = true},
};

/* The cached active version. */
struct seen {
    uint64_t until_ns;
    bool there;
    struct arena arena;
    struct prompt prompt;
};

struct registry {
    const struct clock *clock;
    struct db *writer, *reader; /* NULL: nothing is kept, or only read */
    struct store *store;        /* or NULL */
    pthread_mutex_t write_lock, read_lock;
    struct arena names;
    struct map seen; /* by name; under read_lock */
};

static bool registry_open_as(bool write, str url, const struct clock *clock, struct registry **out,
                             struct err *e)
{
    struct registry *r = base_alloc(sizeof *r);

    *r = (struct registry){.clock = clock};
    if (!str_eq(url, STR("none")) &&
        ((write && !db_open(url, DB_BESIDE, &r->writer, e)) ||
         (!db_open(url, DB_READ, &r->reader, e) && (write || e->code != ERR_NOT_FOUND)))) {
        db_close(r->writer);
        free(r);
        return err_prefix(e, "the prompts: ");
    }
    assert(!r->writer || r->reader);
    pthread_mutex_init(&r->write_lock, NULL);
    pthread_mutex_init(&r->read_lock, NULL);
    arena_init(&r->names, (size_t)1 << 20);
    map_init(&r->seen, &r->names, CACHE_MAX);
    *out = r;
    return true;
}

bool registry_open(str url, const struct clock *clock, struct registry **out, struct err *e)
{
    return registry_open_as(true, url, clock, out, e);
}

bool registry_open_read(str url, struct registry **out, struct err *e)
{
    return registry_open_as(false, url, &clock_real, out, e);
}

void registry_close(struct registry *r)
{
    if (!r)
        return;
    for (struct map_entry *i = map_next(&r->seen, NULL); i; i = map_next(&r->seen, i)) {
        struct seen *s = i->value.ptr;

        arena_release(&s->arena);
        free(s);
    }
    map_release(&r->seen);
    arena_release(&r->names);
    db_close(r->writer);
    db_close(r->reader);
    pthread_mutex_destroy(&r->write_lock);
    pthread_mutex_destroy(&r->read_lock);
    free(r);
}

void registry_audit(struct registry *r, struct store *s)
{
    r->store = s;
}

/* ---- reading ---- */

struct rows {
    struct arena *arena;
    struct prompt *list;
    size_t n, cap;
};

static enum prompt_state registry_state_of(str name)
{
    for (enum prompt_state i = PROMPT_DRAFT; i < PROMPT_RETIRED; i++)
        if (str_eq(name, str_c(prompt_state_name(i))))
            return i;
    return PROMPT_RETIRED;
}

static bool app_registry_on_row(void *ctx, const struct db_value *c, size_t n)
{
    struct rows *r = ctx;

    assert(n == 13);
    r->list = arena_grow(r->arena, r->list, r->n, &r->cap, sizeof *r->list);
    r->list[r->n++] = (struct prompt){.id = column_text(r->arena, &c[0]),
                                      .name = column_text(r->arena, &c[1]),
                                      .components = column_text(r->arena, &c[2]),
                                      .state = registry_state_of(c[3].s),
                                      .parent = column_text(r->arena, &c[4]),
                                      .run_id = column_text(r->arena, &c[5]),
                                      .scores = column_text(r->arena, &c[6]),
                                      .created_us = c[7].i,
                                      .created_by = column_text(r->arena, &c[8]),
                                      .approved_us = c[9].type == DB_INT ? c[9].i : 0,
                                      .approved_by = column_text(r->arena, &c[10]),
                                      .moved_us = c[11].i,
                                      .moved_by = column_text(r->arena, &c[12])};
    return r->n < PROMPT_LIST_MAX;
}

static bool app_registry_refuse_unknown(struct err *e, str what)
{
    return err_set(e, ERR_NOT_FOUND, "there is no prompt \"" STR_FMT "\"", STR_ARG(what));
}

/* The first row, if there is one. */
static bool app_registry_one(struct db *db, const char *sql, str arg, struct arena *a,
                             struct prompt *out, struct err *e)
{
    struct rows rows = {.arena = a};

    if (!db)
        return app_registry_refuse_unknown(e, arg);
    if (!db_query(db, sql, DB_ARGS(db_text(arg)), (struct db_rows){app_registry_on_row, &rows}, e))
        return false;
    if (!rows.n)
        return app_registry_refuse_unknown(e, arg);
    assert(rows.n == 1); /* an id is unique, and so is the active version of a name */
    *out = rows.list[0];
    return true;
}

static bool app_registry_read_one(struct registry *r, const char *sql, str arg, struct arena *a,
                                  struct prompt *out, struct err *e)
{
    bool ok;

    pthread_mutex_lock(&r->read_lock);
    ok = app_registry_one(r->reader, sql, arg, a, out, e);
    pthread_mutex_unlock(&r->read_lock);
    return ok;
}

bool registry_get(struct registry *r, str id, struct arena *a, struct prompt *out, struct err *e)
{
    return app_registry_read_one(
        r, "SELECT " COLUMNS " FROM prompts WHERE prompt_id = $1", id, a, out, e);
}

bool registry_candidate(struct registry *r, str name, struct arena *a, struct prompt *out,
                        struct err *e)
{
    return app_registry_read_one(r,
                                 "SELECT " COLUMNS
                                 " FROM prompts WHERE name = $1 AND state = 'approved'"
                                 " ORDER BY approved_us DESC, prompt_id LIMIT 1",
                                 name,
                                 a,
                                 out,
                                 e);
}

bool registry_list(struct registry *r, str name, struct arena *a, struct prompt **out, size_t *n,
                   struct err *e)
{
    struct rows rows = {.arena = a};
    bool ok;

    *n = 0;
    if (!r->reader)
        return true;
    pthread_mutex_lock(&r->read_lock);
    ok = db_query(r->reader,
                  "SELECT " COLUMNS_WITH("''") " FROM prompts WHERE $1 = '' OR name = $1"
                                               " ORDER BY created_us DESC, prompt_id",
                  DB_ARGS(db_text(name)),
                  (struct db_rows){app_registry_on_row, &rows},
                  e);
    pthread_mutex_unlock(&r->read_lock);
    assert(rows.n <= PROMPT_LIST_MAX);
    *out = rows.list;
    *n = rows.n;
    return ok;
}

/* ---- the active version ---- */

static struct seen *app_registry_seen_of(struct registry *r, str name)
{
    struct map_entry *found = map_find(&r->seen, name);
    struct seen *s;
    struct err e;

    assert(map_count(&r->seen) <= CACHE_MAX);
    if (found)
        return found->value.ptr;
    s = base_alloc(sizeof *s);
    *s = (struct seen){0};
    arena_init(&s->arena, 16 * PROMPT_SIZE_MAX);
    if (map_set(&r->seen, name, MAP_PTR(s), &e))
        return s;
    arena_release(&s->arena);
    free(s);
    return NULL;
}

static struct prompt registry_copy_of(const struct prompt *p, struct arena *a)
{
    struct prompt c = *p;

    assert(p->id.n > 0 && p->state == PROMPT_ACTIVE);
    c.id = arena_dup(a, p->id);
    c.name = arena_dup(a, p->name);
    c.components = arena_dup(a, p->components);
    c.parent = arena_dup(a, p->parent);
    c.run_id = arena_dup(a, p->run_id);
    c.scores = arena_dup(a, p->scores);
    c.created_by = arena_dup(a, p->created_by);
    c.approved_by = arena_dup(a, p->approved_by);
    c.moved_by = arena_dup(a, p->moved_by);
    return c;
}

/* Under the lock of readers. */
static bool app_registry_look(struct registry *r, struct seen *s, str name, struct err *e)
{
    uint64_t now = clock_mono_ns(r->clock);

    if (now < s->until_ns)
        return true;
    arena_reset(&s->arena);
    s->there =
        app_registry_one(r->reader,
                         "SELECT " COLUMNS " FROM prompts WHERE name = $1 AND state = 'active'",
                         name,
                         &s->arena,
                         &s->prompt,
                         e);
    if (!s->there && e->code != ERR_NOT_FOUND) {
        s->until_ns = 0;
        return false;
    }
    s->until_ns = now + REGISTRY_FRESH_MS * (uint64_t)CLOCK_NS_PER_MS;
    return true;
}

bool registry_active(struct registry *r, str name, struct arena *a, struct prompt *out,
                     struct err *e)
{
    struct seen *s;
    bool ok;

    pthread_mutex_lock(&r->read_lock);
    s = app_registry_seen_of(r, name);
    if (!s)
        ok = err_set(e, ERR_LIMIT, "more than %d names of prompts are asked for", CACHE_MAX);
    else if ((ok = app_registry_look(r, s, name, e)) && s->there)
        *out = registry_copy_of(&s->prompt, a);
    else if (ok)
        ok = err_set(e, ERR_NOT_FOUND, "no prompt \"" STR_FMT "\" is active", STR_ARG(name));
    pthread_mutex_unlock(&r->read_lock);
    return ok;
}

void registry_in_force(struct registry *r, const struct prompt_built_in *b, struct arena *a,
                       struct prompt *out)
{
    struct err e;

    assert(b->count > 0);
    if (r && r->reader) {
        if (registry_active(r, str_c(b->name), a, out, &e))
            return;
        if (e.code != ERR_NOT_FOUND)
            log_warn("prompts cannot be read: the built-in ones are used", LOG_ERR(&e));
    }
    prompt_built_in(b, a, out);
}

/* ---- writing ---- */

static bool app_registry_kept(const struct registry *r, struct err *e)
{
    return r->writer || err_input(e, "the store is \"none\": no prompts are kept");
}

static void app_registry_forget(struct registry *r)
{
    pthread_mutex_lock(&r->read_lock);
    for (struct map_entry *i = map_next(&r->seen, NULL); i; i = map_next(&r->seen, i))
        ((struct seen *)i->value.ptr)->until_ns = 0;
    pthread_mutex_unlock(&r->read_lock);
}

static bool registry_check_rest(const struct prompt_new *p, struct err *e)
{
    struct json doc;
    bool ok = true;

    if (p->who.n > WHO_MAX || p->run_id.n > WHO_MAX || p->parent.n > PROMPT_ID_SIZE)
        return err_set(e, ERR_LIMIT, "who, run_id and parent have at most %d bytes", WHO_MAX);
    if (!p->scores.n)
        return true;
    json_init(&doc);
    ok = p->scores.n <= SCORES_MAX ? json_parse(&doc, p->scores, e)
                                   : err_set(e, ERR_LIMIT, "at most %zu bytes", SCORES_MAX);
    if (!ok)
        err_prefix(e, "scores: ");
    json_release(&doc);
    return ok;
}

/* In one transaction: the version exists, or it is new, or another text has the same twelve
 * digits. */
static bool app_registry_put_row(struct registry *r, const struct prompt_new *p, str components,
                                 str id, struct err *e)
{
    int64_t now = clock_wall_ms(r->clock) * 1000;
    struct prompt there;
    struct arena a;
    bool ok;

    assert(id.n < PROMPT_ID_SIZE);
    if (!db_begin(r->writer, true, e))
        return false;
    arena_init(&a, 16 * PROMPT_SIZE_MAX);
    ok = db_run(r->writer,
                "INSERT INTO prompts (prompt_id, name, components, state, parent, run_id, scores,"
                " created_us, created_by, moved_us, moved_by) VALUES ($1, $2, $3, 'draft', $4, $5,"
                " $6, $7, $8, $7, $8) ON CONFLICT (prompt_id) DO NOTHING",
                DB_ARGS(db_text(id),
                        db_text(p->name),
                        db_text(components),
                        db_text_or_null(p->parent),
                        db_text_or_null(p->run_id),
                        db_text_or_null(p->scores),
                        db_int(now),
                        db_text_or_null(p->who)),
                e) &&
         app_registry_one(
             r->writer, "SELECT " COLUMNS " FROM prompts WHERE prompt_id = $1", id, &a, &there, e);
    if (ok && !str_eq(there.components, components))
        ok = err_input(e, STR_FMT " is another text with the same digest", STR_ARG(id));
    ok = db_end(r->writer, ok, e);
    arena_release(&a);
    return ok;
}

bool registry_put(struct registry *r, const struct prompt_new *p, struct arena *a, str *id,
                  struct err *e)
{
    str components, made;
    bool ok;

    if (!app_registry_kept(r, e) ||
        !prompt_settle(p->name, p->components, a, &components, &made, e) ||
        !registry_check_rest(p, e))
        return false;
    pthread_mutex_lock(&r->write_lock);
    ok = app_registry_put_row(r, p, components, made, e);
    pthread_mutex_unlock(&r->write_lock);
    if (ok)
        *id = made;
    return ok;
}

static bool registry_may_move(const struct prompt *p, enum prompt_state to, struct err *e)
{
    assert((size_t)p->state < COUNT_OF(ways) && (size_t)to < COUNT_OF(ways));
    if (!ways[p->state][to])
        return err_input(e,
                         STR_FMT " is %s: from there it cannot become %s",
                         STR_ARG(p->id),
                         prompt_state_name(p->state),
                         prompt_state_name(to));
    if (p->state == PROMPT_RETIRED && !p->approved_us)
        return err_input(
            e, STR_FMT " was never approved, so it cannot be made active", STR_ARG(p->id));
    return true;
}

static bool registry_set_state(struct registry *r, const struct prompt *p, enum prompt_state to,
                               str who, struct err *e)
{
    int64_t now = clock_wall_ms(r->clock) * 1000, n = 0;

    assert(ways[p->state][to]);
    if (to == PROMPT_ACTIVE &&
        !db_run(r->writer,
                "UPDATE prompts SET state = 'retired', moved_us = $2, moved_by = $3"
                " WHERE name = $1 AND state = 'active'",
                DB_ARGS(db_text(p->name), db_int(now), db_text_or_null(who)),
                e))
        return false;
    if (!db_run(r->writer,
                to == PROMPT_APPROVED
                    ? "UPDATE prompts SET state = $2, moved_us = $4, moved_by = $5,"
                      " approved_us = $4, approved_by = $5 WHERE prompt_id = $1 AND state = $3"
                    : "UPDATE prompts SET state = $2, moved_us = $4, moved_by = $5"
                      " WHERE prompt_id = $1 AND state = $3",
                DB_ARGS(db_text(p->id),
                        db_text(str_c(prompt_state_name(to))),
                        db_text(str_c(prompt_state_name(p->state))),
                        db_int(now),
                        db_text_or_null(who)),
                e) ||
        !db_changed(r->writer, &n, e))
        return false;
    return n == 1 || err_input(e, STR_FMT " was moved meanwhile", STR_ARG(p->id));
}

static bool app_registry_move(struct registry *r, str id, enum prompt_state to, str who,
                              struct err *e)
{
    struct prompt p;
    struct arena a;
    bool ok, same = false;

    if (!db_begin(r->writer, true, e))
        return false;
    arena_init(&a, 16 * PROMPT_SIZE_MAX);
    ok = app_registry_one(
        r->writer, "SELECT " COLUMNS " FROM prompts WHERE prompt_id = $1", id, &a, &p, e);
    if (ok && p.state == to)
        same = true;
    else if (ok)
        ok = registry_may_move(&p, to, e) && registry_set_state(r, &p, to, who, e);
    ok = db_end(r->writer, ok, e);
    if (ok && !same && r->store)
        store_audit_put(r->store, who, STR("prompt"), id, str_c(prompt_state_name(to)));
    arena_release(&a);
    return ok;
}

bool registry_move(struct registry *r, str id, enum prompt_state to, str who, struct err *e)
{
    bool ok;

    if (!app_registry_kept(r, e))
        return false;
    pthread_mutex_lock(&r->write_lock);
    ok = app_registry_move(r, id, to, str_slice(who, 0, WHO_MAX), e);
    pthread_mutex_unlock(&r->write_lock);
    app_registry_forget(r);
    return ok;
}
