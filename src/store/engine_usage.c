/* engine_usage.c - the sums of calls, kept up with them: gathered in a batch, and written
 * at its end, because many calls of one batch are of the same hour.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/engine_state.h"

#define USAGE_COUNT_MAX ((int64_t)1 << 40)
#define USAGE_SQL_MAX 65536
#define USAGE_ARENA_MAX ((size_t)2 << 30)
#define USAGE_TAKEN_MAX 10000u /* sums of erased sessions in memory, then they are written */
#define BUCKETS_WHOLE (USAGE_BUCKETS - 1)

#define USAGE_WHICH_MAX USAGE_WHICH_COUNT
#define USAGE_SUMS_MAX USAGE_SLOT_SUM_COUNT

struct engine_usage {
    const struct usage_table *table;
    struct db_value which[USAGE_WHICH_MAX];
    int64_t sums[USAGE_SUMS_MAX]; /* without the cost */
    double cost_usd;
};

static bool engine_usage_is_of(const struct engine_usage *u, const struct db_value *which)
{
    for (size_t i = 0; i < u->table->which_count; i++)
        if (which[i].type != u->which[i].type ||
            (which[i].type == DB_INT ? which[i].i != u->which[i].i
                                     : !str_eq(which[i].s, u->which[i].s)))
            return false;
    return true;
}

/* The sums of the batch that these belong to: mostly those of the call before, which is *last. */
static struct engine_usage *usage_of(struct engine *en, const struct usage_table *t,
                                     const struct db_value *which, struct engine_usage **last)
{
    struct engine_usage *u;
    struct map_entry *found;
    struct buf key;
    struct err e;

    if (*last && (*last)->table == t && engine_usage_is_of(*last, which))
        return *last;
    buf_init(&key, (size_t)64 << 20);
    buf_add(&key, str_c(t->name));
    for (size_t i = 0; i < t->which_count; i++)
        if (which[i].type == DB_INT)
            buf_printf(&key, "%lld\n", (long long)which[i].i);
        else
            buf_printf(&key, "%zu:", which[i].s.n), buf_add(&key, which[i].s);
    found = map_find(&en->usage.map, buf_str(&key));
    u = found ? found->value.ptr : NULL;
    if (!u) {
        u = arena_zero(&en->usage.arena, 1, sizeof *u);
        u->table = t;
        for (size_t i = 0; i < t->which_count; i++) {
            u->which[i] = which[i];
            if (which[i].type == DB_TEXT)
                u->which[i].s = arena_dup(&en->usage.arena, which[i].s);
        }
        if (!map_set(&en->usage.map, arena_dup(&en->usage.arena, buf_str(&key)), MAP_PTR(u), &e))
            base_die("a batch has more sums than it may");
    }
    buf_release(&key);
    *last = u;
    return u;
}

int64_t engine_usage_counted(int64_t n)
{
    return n < 0 ? 0 : n < USAGE_COUNT_MAX ? n : USAGE_COUNT_MAX;
}

static bool engine_usage_failed(const struct store_call *row)
{
    return row->status >= 400 || row->error_code.n > 0;
}

static bool engine_usage_starved(const struct store_call *row)
{
    return row->has_reasoning && row->status < 400 && row->complete && !row->answer.n &&
           !row->tool_calls.n;
}

static void engine_usage_add_cost(struct engine_usage *u, size_t priced, double usd)
{
    if (usd < 0)
        return;
    u->sums[priced]++;
    u->cost_usd += usd;
}

static void engine_usage_add_hour(struct engine *en, const struct store_call *row)
{
    bool capped = row->cap_tokens > 0;
    struct db_value which[] = {db_int(row->started_ms / USAGE_HOUR_MS),
                               db_text(row->model),
                               db_text(row->provider),
                               db_text(row->key_name),
                               db_text(row->level),
                               db_int(capped ? row->cap_tokens : 0)};
    struct engine_usage *u =
        usage_of(en, &usage_tables[USAGE_BY_HOUR], which, &en->usage.last[ENGINE_USAGE_HOUR]);
    const int64_t add[USAGE_BUCKET_0] = {
        1,
        engine_usage_failed(row),
        engine_usage_counted(row->input_tokens),
        engine_usage_counted(row->output_tokens),
        engine_usage_counted(row->reasoning_tokens),
        engine_usage_counted(row->cache_read_tokens),
        engine_usage_starved(row),
        row->cut.n > 0,
        row->has_reasoning,
    };
    int64_t bucket =
        capped ? engine_usage_counted(row->reasoning_tokens) * USAGE_BUCKETS / row->cap_tokens : 0;

    for (size_t i = 0; i < COUNT_OF(add); i++)
        u->sums[i] += add[i];
    if (capped)
        u->sums[USAGE_BUCKET_0 + (bucket < 0               ? 0
                                  : bucket > BUCKETS_WHOLE ? BUCKETS_WHOLE
                                                           : bucket)]++;
    engine_usage_add_cost(u, USAGE_PRICED, row->cost_usd);
}

static void engine_usage_add_slot(struct engine *en, const struct store_call *row, int64_t seconds,
                                  enum engine_usage_last last)
{
    struct db_value which[] = {db_int(seconds),
                               db_int(row->started_ms / (seconds * 1000)),
                               db_text(row->model),
                               db_text(row->key_name),
                               db_text(row->route)};
    struct engine_usage *u =
        usage_of(en, &usage_tables[USAGE_BY_SLOT], which, &en->usage.last[last]);
    const int64_t add[USAGE_SLOT_LATENCY_0] = {
        1,
        engine_usage_failed(row),
        engine_usage_counted(row->input_tokens),
        engine_usage_counted(row->output_tokens),
        engine_usage_counted(row->reasoning_tokens),
        engine_usage_starved(row),
        row->cut.n > 0,
    };
    size_t class = 0;

    for (size_t i = 0; i < COUNT_OF(add); i++)
        u->sums[i] += add[i];
    while (class < COUNT_OF(usage_latency_ms) &&
           row->ended_ms - row->started_ms >= usage_latency_ms[class])
        class ++;
    if (row->ended_ms >= 0 && !engine_usage_failed(row))
        u->sums[USAGE_SLOT_LATENCY_0 + class]++;
    engine_usage_add_cost(u, USAGE_SLOT_PRICED, row->cost_usd);
}

void engine_usage_add(struct engine *en, const struct store_call *row)
{
    engine_usage_add_hour(en, row);
    engine_usage_add_slot(en, row, USAGE_SLOT_S, ENGINE_USAGE_SLOT);
    engine_usage_add_slot(en, row, USAGE_HOUR_S, ENGINE_USAGE_SLOT_HOUR);
    engine_usage_add_slot(en, row, USAGE_DAY_S, ENGINE_USAGE_SLOT_DAY);
}

struct engine_usage_taking {
    struct engine *en;
    const struct usage_table *table;
    struct engine_usage *last;
};

static bool engine_usage_take_call(void *ctx, const struct db_value *c, size_t n)
{
    struct engine_usage_taking *t = ctx;
    struct engine_usage *u = usage_of(t->en, t->table, c, &t->last);
    size_t cost = t->table->sum_count - 1;

    assert(n == t->table->which_count + t->table->sum_count);
    c += t->table->which_count;
    for (size_t i = 0; i < cost; i++)
        u->sums[i] -= c[i].i;
    u->cost_usd -= c[cost].type == DB_INT ? (double)c[cost].i : c[cost].d;
    return true;
}

bool engine_usage_take(struct engine *en, const struct db_value *session, struct err *e)
{
    bool ok = map_count(&en->usage.map) < USAGE_TAKEN_MAX || engine_usage_flush(en, e);

    for (size_t i = 0; ok && i < COUNT_OF(usage_tables); i++) {
        struct engine_usage_taking taking = {en, &usage_tables[i], NULL};

        ok = db_query(en->db,
                      en->usage.take[i].p,
                      session,
                      1,
                      (struct db_rows){engine_usage_take_call, &taking},
                      e);
    }
    return ok;
}

static void engine_usage_write_take(const struct usage_table *t, struct buf *out)
{
    buf_init(out, USAGE_SQL_MAX);
    buf_add(out, STR("SELECT "));
    usage_write_call(t, out);
    buf_printf(out, " FROM %s WHERE i.session_id = $1", t->call_from);
    buf_add_c(out, '\0');
    assert(!buf_full(out));
}

static void engine_usage_write_drop(const struct usage_table *t, struct buf *out)
{
    str names = str_c(t->which);

    buf_init(out, USAGE_SQL_MAX);
    buf_printf(out, "DELETE FROM %s WHERE calls <= 0", t->name);
    for (size_t n = 1; n <= t->which_count; n++) {
        str name = usage_next_name(&names);

        buf_printf(out, " AND " STR_FMT " = $%zu", STR_ARG(name), n);
    }
    buf_add_c(out, '\0');
    assert(!buf_full(out));
}

void engine_usage_init(struct engine_sums *s)
{
    map_init(&s->map, NULL, MAP_COUNT_MAX);
    arena_init(&s->arena, USAGE_ARENA_MAX);
    for (size_t i = 0; i < COUNT_OF(usage_tables); i++) {
        const struct usage_table *t = &usage_tables[i];
        struct buf *out = &s->put[i];

        buf_init(out, USAGE_SQL_MAX);
        buf_printf(out, "INSERT INTO %s (%s, %s) VALUES (", t->name, t->which, t->sums);
        for (size_t n = 1; n <= t->which_count + t->sum_count; n++)
            buf_printf(out, "%s$%zu", n > 1 ? ", " : "", n);
        buf_add(out, STR(")"));
        usage_write_add(t, out);
        buf_add_c(out, '\0');
        assert(!buf_full(out));
        engine_usage_write_drop(t, &s->drop[i]);
        engine_usage_write_take(t, &s->take[i]);
    }
}

void engine_usage_release(struct engine_sums *s)
{
    map_release(&s->map);
    arena_release(&s->arena);
    for (size_t i = 0; i < COUNT_OF(s->put); i++)
        buf_release(&s->put[i]), buf_release(&s->drop[i]), buf_release(&s->take[i]);
}

/* A row whose last calls were subtracted goes. */
static bool engine_usage_put(struct engine *en, const struct engine_usage *u, struct err *e)
{
    struct db_value args[USAGE_WHICH_MAX + USAGE_SUMS_MAX];
    size_t which = u->table->which_count, sums = u->table->sum_count;
    size_t table = (size_t)(u->table - usage_tables);

    assert(table < COUNT_OF(usage_tables) && which <= USAGE_WHICH_MAX && sums <= USAGE_SUMS_MAX);
    memcpy(args, u->which, which * sizeof args[0]);
    for (size_t i = 0; i < sums - 1; i++)
        args[which + i] = db_int(u->sums[i]);
    args[which + sums - 1] = db_real(u->cost_usd);
    return db_run(en->db, en->usage.put[table].p, args, which + sums, e) &&
           (u->sums[USAGE_CALLS] > 0 ||
            db_run(en->db, en->usage.drop[table].p, u->which, which, e));
}

bool engine_usage_flush(struct engine *en, struct err *e)
{
    for (struct map_entry *i = map_next(&en->usage.map, NULL); i; i = map_next(&en->usage.map, i))
        if (!engine_usage_put(en, i->value.ptr, e))
            return false;
    engine_usage_forget(en);
    return true;
}

void engine_usage_forget(struct engine *en)
{
    map_release(&en->usage.map);
    arena_reset(&en->usage.arena);
    memset(en->usage.last, 0, sizeof en->usage.last);
}

/* ---- sums ---- */

struct spent {
    bool (*fn)(void *ctx, str key, double usd);
    void *ctx;
};

static bool engine_usage_give_spent(void *ctx, const struct db_value *c, size_t n)
{
    const struct spent *s = ctx;

    assert(n == 2);
    return s->fn(s->ctx, c[0].s, c[1].type == DB_INT ? (double)c[1].i : c[1].d);
}

bool engine_spent(struct engine *en, bool (*fn)(void *ctx, str key, double usd), void *ctx,
                  struct err *e)
{
    struct spent s = {fn, ctx};
    bool ok;

    pthread_mutex_lock(&en->read_lock);
    ok = db_query(en->reader,
                  "SELECT key_name, sum(cost_usd) FROM usage_hours WHERE key_name <> ''"
                  " GROUP BY key_name HAVING sum(cost_usd) > 0",
                  DB_NO_ARGS,
                  (struct db_rows){engine_usage_give_spent, &s},
                  e);
    pthread_mutex_unlock(&en->read_lock);
    return ok;
}
