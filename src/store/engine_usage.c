/* engine_usage.c - the sums by the hour, kept up with the calls: gathered in a batch, and written
 * at its end, because many calls of one batch are of the same hour.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/engine_state.h"
#include "store/usage.h"

#define USAGE_COUNT_MAX ((int64_t)1 << 40)
#define BUCKETS_WHOLE (USAGE_BUCKETS - 1)

struct engine_usage {
    struct db_value which[USAGE_WHICH_COUNT];
    int64_t sums[USAGE_COST];
    double cost_usd;
};

static const char put_sql[] =
    "INSERT INTO usage_hours (" USAGE_WHICH ", " USAGE_SUMS ") VALUES ($1, $2, $3, $4, $5, $6, $7,"
    " $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,"
    " $27)" USAGE_ADD;

static bool engine_usage_is_of(const struct engine_usage *u, const struct db_value *which)
{
    for (size_t i = 0; i < USAGE_WHICH_COUNT; i++)
        if (which[i].type != u->which[i].type ||
            (which[i].type == DB_INT ? which[i].i != u->which[i].i
                                     : !str_eq(which[i].s, u->which[i].s)))
            return false;
    return true;
}

/* The sums of the batch that these belong to: mostly those of the call before. */
static struct engine_usage *usage_of(struct engine *en, const struct db_value *which)
{
    struct engine_usage *u;
    struct map_entry *found;
    struct buf key;
    struct err e;

    if (en->usage_last && engine_usage_is_of(en->usage_last, which))
        return en->usage_last;
    buf_init(&key, (size_t)64 << 20);
    for (size_t i = 0; i < USAGE_WHICH_COUNT; i++)
        if (which[i].type == DB_INT)
            buf_printf(&key, "%lld\n", (long long)which[i].i);
        else
            buf_printf(&key, "%zu:" STR_FMT, which[i].s.n, STR_ARG(which[i].s));
    found = map_find(&en->usage, buf_str(&key));
    u = found ? found->value.ptr : NULL;
    if (!u) {
        u = arena_zero(&en->arena, 1, sizeof *u);
        for (size_t i = 0; i < USAGE_WHICH_COUNT; i++) {
            u->which[i] = which[i];
            if (which[i].type == DB_TEXT)
                u->which[i].s = arena_dup(&en->arena, which[i].s);
        }
        if (!map_set(&en->usage, arena_dup(&en->arena, buf_str(&key)), MAP_PTR(u), &e))
            base_die("a batch has more sums than it may");
    }
    buf_release(&key);
    en->usage_last = u;
    return u;
}

/* Nobody counts so many; sums of those there are must not run over. usage.c has the same. */
static int64_t engine_usage_counted(int64_t n)
{
    return n < 0 ? 0 : n < USAGE_COUNT_MAX ? n : USAGE_COUNT_MAX;
}

void engine_usage_add(struct engine *en, const struct store_call *row)
{
    bool capped = row->cap_tokens > 0, failed = row->status >= 400 || row->error_code.n > 0;
    struct db_value which[] = {db_int(row->started_ms / USAGE_HOUR_MS),
                               db_text(row->model),
                               db_text(row->provider),
                               db_text(row->key_name),
                               db_text(row->level),
                               db_int(capped ? row->cap_tokens : 0)};
    struct engine_usage *u = usage_of(en, which);
    const int64_t add[USAGE_BUCKET_0] = {
        1,
        failed,
        engine_usage_counted(row->input_tokens),
        engine_usage_counted(row->output_tokens),
        engine_usage_counted(row->reasoning_tokens),
        engine_usage_counted(row->cache_read_tokens),
        row->has_reasoning && row->status < 400 && row->complete && !row->answer.n &&
            !row->tool_calls.n,
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
    if (row->cost_usd >= 0) {
        u->sums[USAGE_PRICED]++;
        u->cost_usd += row->cost_usd;
    }
}

static bool engine_usage_take_call(void *ctx, const struct db_value *c, size_t n)
{
    struct engine *en = ctx;
    struct engine_usage *u = usage_of(en, c);

    assert(n == USAGE_WHICH_COUNT + USAGE_SUM_COUNT);
    c += USAGE_WHICH_COUNT;
    for (size_t i = 0; i < USAGE_COST; i++)
        u->sums[i] -= c[i].i;
    u->cost_usd -= c[USAGE_COST].type == DB_INT ? (double)c[USAGE_COST].i : c[USAGE_COST].d;
    en->usage_less = true;
    return true;
}

bool engine_usage_take(struct engine *en, const struct db_value *session, struct err *e)
{
    struct buf sql;
    bool ok;

    buf_init(&sql, 16384);
    buf_printf(&sql,
               "SELECT %s, %s FROM llm_interactions i WHERE i.session_id = $1",
               usage_of_call_which,
               usage_of_call_sums);
    buf_add_c(&sql, '\0');
    ok = db_query(en->db, sql.p, session, 1, (struct db_rows){engine_usage_take_call, en}, e);
    buf_release(&sql);
    return ok;
}

bool engine_usage_flush(struct engine *en, struct err *e)
{
    struct db_value args[USAGE_WHICH_COUNT + USAGE_SUM_COUNT];
    bool less = en->usage_less;

    for (struct map_entry *i = map_next(&en->usage, NULL); i; i = map_next(&en->usage, i)) {
        const struct engine_usage *u = i->value.ptr;

        memcpy(args, u->which, sizeof u->which);
        for (size_t k = 0; k < USAGE_COST; k++)
            args[USAGE_WHICH_COUNT + k] = db_int(u->sums[k]);
        args[USAGE_WHICH_COUNT + USAGE_COST] = db_real(u->cost_usd);
        if (!db_run(en->db, put_sql, args, COUNT_OF(args), e))
            return false;
    }
    engine_usage_forget(en);
    return !less || db_run(en->db, "DELETE FROM usage_hours WHERE calls <= 0", NULL, 0, e);
}

void engine_usage_forget(struct engine *en)
{
    map_release(&en->usage);
    map_init(&en->usage, NULL, ENGINE_OWNERS_MAX);
    en->usage_last = NULL;
    en->usage_less = false;
}

/* ---- what they come to ---- */

struct spent {
    bool (*fn)(void *ctx, str key, double usd);
    void *ctx;
};

static bool give_spent(void *ctx, const struct db_value *c, size_t n)
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
    ok = (en->reader || db_open(str_c(en->url), DB_READ, &en->reader, e)) &&
         db_query(en->reader,
                  "SELECT key_name, sum(cost_usd) FROM usage_hours WHERE key_name <> ''"
                  " GROUP BY key_name HAVING sum(cost_usd) > 0",
                  NULL,
                  0,
                  (struct db_rows){give_spent, &s},
                  e);
    pthread_mutex_unlock(&en->read_lock);
    return ok;
}
