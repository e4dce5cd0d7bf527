/* query_overview.c - calls over time: sums and latencies by buckets of time, by model, key or
 * application.
 *
 * All numbers are of usage_slots (usage.h), so the work depends on the range and on how many
 * models, keys and routes were used in it, not on the number of calls. A range is widened to whole
 * slots. An application is the part of the program that made the calls: "gateway" for those of
 * clients.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/map.h"
#include "store/query_build.h"
#include "store/usage.h"

#define BUCKETS_MAX 400
#define GROUPS_SHOWN 10
#define GROUPS_MAX 20000 /* that are compared; smaller ones are part of the rest */
#define DAY_S USAGE_DAY_S
#define HOUR_S USAGE_HOUR_S
#define RANGE_S_MAX (800 * DAY_S)
#define END_S_MAX ((int64_t)253402300800) /* the year 10000, so that no sum of times overflows */
#define ROUTE_OF_AGENTS "agent:"
#define GATEWAY "gateway"
#define CLASS_MIDDLE 1.122462 /* times its beginning: a sixth of an octave */

struct sums {
    int64_t n[USAGE_SLOT_COST];
    double cost_usd;
};

struct group {
    str key;
    int64_t calls;
    struct sums *total, *buckets; /* NULL: it is part of the rest */
};

struct overview {
    struct reader *r;
    const struct query_filter *f;
    str by;
    int64_t seconds;           /* of a slot */
    int64_t first, end;        /* slots */
    int64_t bucket_s, buckets; /* length in seconds, count */
    struct group total, rest;
    struct map groups;
    struct group **list; /* the most calls first */
};

/* ---- which ---- */

static int64_t overview_bucket(int64_t range_s)
{
    static const struct {
        int64_t bucket_s, range_s_max;
    } lengths[] = {{USAGE_SLOT_S, 8 * HOUR_S},
                   {HOUR_S, 4 * DAY_S},
                   {3 * HOUR_S, 10 * DAY_S},
                   {DAY_S, 100 * DAY_S},
                   {7 * DAY_S, RANGE_S_MAX}};
    size_t i = 0;

    while (i + 1 < COUNT_OF(lengths) && range_s > lengths[i].range_s_max)
        i++;
    return lengths[i].bucket_s;
}

static int64_t overview_round_up(int64_t n, int64_t unit)
{
    assert(n >= 0 && unit > 0);
    return (n + unit - 1) / unit * unit;
}

/* A long range has long buckets, so that the number of rows that are read is limited. */
static int64_t overview_unit(int64_t range_s)
{
    return range_s > 62 * DAY_S ? DAY_S : range_s > 2 * DAY_S ? HOUR_S : USAGE_SLOT_S;
}

/* The range in whole slots and buckets. */
static bool overview_range(struct overview *v, const struct query_asker *a, int64_t bucket_s,
                           struct err *e)
{
    int64_t asked = (v->f->end_us >= 0 ? v->f->end_us : a->now_us) / 1000000;
    int64_t to = asked < END_S_MAX ? asked : END_S_MAX;
    int64_t from = v->f->start_us >= 0 ? v->f->start_us / 1000000 : to - DAY_S;
    int64_t range, unit, least;

    if (from >= to)
        return err_input(e, "start_date_us: must be before end_date_us");
    from = from < to - RANGE_S_MAX ? to - RANGE_S_MAX : from;
    range = to - from;
    unit = overview_unit(range);
    least = range / (BUCKETS_MAX - 2) + 1;
    bucket_s = bucket_s > 0 ? bucket_s : overview_bucket(range);
    v->bucket_s = overview_round_up(bucket_s > least ? bucket_s : least, unit);
    v->seconds = v->bucket_s % DAY_S == 0    ? DAY_S
                 : v->bucket_s % HOUR_S == 0 ? HOUR_S
                                             : USAGE_SLOT_S;
    v->first = from / v->seconds;
    v->end = (to + v->seconds - 1) / v->seconds;
    v->buckets = ((v->end - v->first) * v->seconds + v->bucket_s - 1) / v->bucket_s;
    assert(v->first < v->end && v->bucket_s % v->seconds == 0);
    assert(v->buckets > 0 && v->buckets <= BUCKETS_MAX);
    return true;
}

str overview_application(str route)
{
    str app;

    if (!str_starts(route, STR(ROUTE_OF_AGENTS)))
        return route.n == 0 || str_starts(route, STR("/")) ? STR(GATEWAY) : route;
    app = str_slice(route, strlen(ROUTE_OF_AGENTS), route.n);
    return str_slice(app, 0, str_find(app, STR(".")));
}

void overview_where_application(struct sql *q, const char *column, str app, struct arena *a)
{
    str front = arena_printf(a, ROUTE_OF_AGENTS STR_FMT ".", STR_ARG(app));

    if (!app.n)
        return;
    sql_and(q);
    sql_add(q, "(");
    if (str_eq(app, STR(GATEWAY))) {
        sql_add(q, "substr(coalesce(");
        sql_add(q, column);
        sql_add(q, ", '/'), 1, 1) = '/' OR ");
        sql_add(q, column);
        sql_add(q, " = '')");
        return;
    }
    sql_add(q, column);
    sql_add(q, " = ");
    sql_value(q, db_text(app));
    sql_add(q, " OR ");
    sql_add(q, column);
    sql_add(q, " = ");
    sql_value(q, db_text(str_slice(front, 0, front.n - 1)));
    sql_add(q, " OR substr(");
    sql_add(q, column);
    sql_add(q, ", 1, length(");
    sql_value(q, db_text(front));
    sql_add(q, ")) = ");
    sql_value(q, db_text(front));
    sql_add(q, ")");
}

/* ---- sums ---- */

static void sums_add(struct sums *to, const struct db_value *v)
{
    for (size_t i = 0; i < USAGE_SLOT_COST; i++)
        to->n[i] += v[i].i;
    to->cost_usd +=
        v[USAGE_SLOT_COST].type == DB_INT ? (double)v[USAGE_SLOT_COST].i : v[USAGE_SLOT_COST].d;
}

/* ---- groups ---- */

static void overview_give_room(struct overview *v, struct group *g)
{
    g->total = arena_zero(&v->r->arena, 1, sizeof *g->total);
    g->buckets = arena_zero(&v->r->arena, (size_t)v->buckets, sizeof *g->buckets);
}

static void overview_add_group(struct sql *q, const struct overview *v)
{
    sql_add(q,
            str_eq(v->by, STR("key"))           ? "key_name"
            : str_eq(v->by, STR("application")) ? "route"
                                                : "model");
}

static str overview_key(const struct overview *v, str column)
{
    return str_eq(v->by, STR("application")) ? overview_application(column) : column;
}

static void overview_add_from(struct sql *q, const struct overview *v, const struct query_asker *a)
{
    assert(v->first < v->end && v->seconds > 0);
    sql_add(q, " FROM usage_slots");
    sql_where(q, "seconds =", db_int(v->seconds));
    sql_where(q, "slot >=", db_int(v->first));
    sql_where(q, "slot <", db_int(v->end));
    sql_where_text(q, "key_name =", a->key_name);
    sql_where_text(q, "key_name =", v->f->key);
    sql_where_text(q, "model =", v->f->model);
    overview_where_application(q, "route", v->f->agent_type, &v->r->arena);
}

static bool overview_on_group(void *ctx, const struct db_value *c, size_t n)
{
    struct overview *v = ctx;
    str key = overview_key(v, c[0].s);
    struct map_entry *found = map_find(&v->groups, key);
    struct group *g = found ? found->value.ptr : NULL;
    struct err e;

    assert(n == 2);
    if (!g) {
        g = arena_zero(&v->r->arena, 1, sizeof *g);
        g->key = arena_dup(&v->r->arena, key);
        if (!map_set(&v->groups, g->key, MAP_PTR(g), &e))
            return false; /* no more are compared */
    }
    g->calls += c[1].i;
    return true;
}

/* The most calls first, then by name. */
static int overview_by_calls(const void *a, const void *b)
{
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

    if (x->calls != y->calls)
        return x->calls < y->calls ? 1 : -1;
    return str_cmp(x->key, y->key);
}

/* The largest groups get room for their sums; all others are the rest. */
static bool overview_find_groups(struct overview *v, const struct query_asker *a, struct err *e)
{
    struct sql q;
    size_t n = 0;
    bool ok;

    sql_begin(&q, "SELECT ");
    overview_add_group(&q, v);
    sql_add(&q, ", CAST(sum(calls) AS BIGINT) AS n");
    overview_add_from(&q, v, a);
    sql_add(&q, " GROUP BY ");
    overview_add_group(&q, v);
    sql_add(&q, " ORDER BY n DESC");
    sql_limit(&q, GROUPS_MAX, 0);
    ok = sql_query(v->r, &q, (struct db_rows){overview_on_group, v}, e);
    v->list = arena_zero(&v->r->arena, v->groups.count + 1, sizeof(struct group *));
    for (struct map_entry *i = map_next(&v->groups, NULL); i; i = map_next(&v->groups, i))
        v->list[n++] = i->value.ptr;
    assert(n == v->groups.count && n <= GROUPS_MAX);
    qsort(v->list, n, sizeof v->list[0], overview_by_calls);
    for (size_t i = 0; i < n && i < GROUPS_SHOWN; i++)
        overview_give_room(v, v->list[i]);
    return ok;
}

static struct group *overview_group(struct overview *v, str key)
{
    struct map_entry *found = map_find(&v->groups, key);
    struct group *g = found ? found->value.ptr : NULL;

    return g && g->total ? g : &v->rest;
}

enum { SLOT, GROUP, SUMS };

static bool overview_on_row(void *ctx, const struct db_value *c, size_t n)
{
    struct overview *v = ctx;
    struct group *g = NULL;
    int64_t at = (c[SLOT].i - v->first) / (v->bucket_s / v->seconds);

    assert(n == SUMS + USAGE_SLOT_SUM_COUNT);
    if (at < 0 || at >= v->buckets)
        return true;
    if (v->by.n)
        g = overview_group(v, overview_key(v, c[GROUP].s));
    sums_add(v->total.total, c + SUMS);
    sums_add(&v->total.buckets[at], c + SUMS);
    if (g) {
        sums_add(g->total, c + SUMS);
        sums_add(&g->buckets[at], c + SUMS);
    }
    return true;
}

static bool overview_read(struct overview *v, const struct query_asker *a, struct err *e)
{
    struct sql q;

    /* Summed here: a sum of so many columns costs the databases more than the rows do. */
    sql_begin(&q, "SELECT slot, ");
    overview_add_group(&q, v);
    sql_add(&q, ", " USAGE_SLOT_SUMS);
    overview_add_from(&q, v, a);
    return sql_query(v->r, &q, (struct db_rows){overview_on_row, v}, e);
}

/* ---- as JSON ---- */

/* The middle of the class in which this part of the answered calls is, or -1. */
static int64_t sums_latency(const struct sums *s, int64_t percent)
{
    const int64_t *classes = s->n + USAGE_SLOT_LATENCY_0;
    int64_t all = 0, seen = 0, rank;

    for (size_t i = 0; i < USAGE_LATENCY_COUNT; i++)
        all += classes[i];
    assert(percent > 0 && percent <= 100);
    rank = (all * percent + 99) / 100;
    for (size_t i = 0; all && i < USAGE_LATENCY_COUNT; i++)
        if ((seen += classes[i]) >= rank)
            return i == 0 ? usage_latency_ms[0] / 2
                          : (int64_t)((double)usage_latency_ms[i - 1] * CLASS_MIDDLE);
    return -1;
}

static const char *const names[] = {
    "calls", "failed", "input_tokens", "output_tokens", "reasoning_tokens", "starved", "cut"};

static void overview_write_latency(struct json_out *o, const struct sums *s, int64_t percent)
{
    int64_t ms = sums_latency(s, percent);

    if (ms < 0)
        json_out_null(o);
    else
        json_out_i64(o, ms);
}

static void overview_write_cost(struct json_out *o, const struct sums *s)
{
    if (s->n[USAGE_SLOT_PRICED] > 0)
        json_out_double(o, s->cost_usd);
    else
        json_out_null(o);
}

static void overview_write_series(struct json_out *o, const struct group *g, size_t buckets)
{
    json_member_object(o, "series");
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        json_member_array(o, names[k]);
        for (size_t i = 0; i < buckets; i++)
            json_out_i64(o, g->buckets[i].n[k]);
        json_out_end(o);
    }
    json_member_array(o, "cost_usd");
    for (size_t i = 0; i < buckets; i++)
        overview_write_cost(o, &g->buckets[i]);
    json_out_end(o);
    for (int64_t percent = 50; percent <= 95; percent += 45) {
        json_out_key(o, percent == 50 ? STR("p50_ms") : STR("p95_ms"));
        json_out_array(o);
        for (size_t i = 0; i < buckets; i++)
            overview_write_latency(o, &g->buckets[i], percent);
        json_out_end(o);
    }
    json_out_end(o);
}

static void overview_write_group(struct json_out *o, const struct group *g, size_t buckets)
{
    for (size_t k = 0; k < COUNT_OF(names); k++)
        json_member_i64(o, names[k], g->total->n[k]);
    json_out_key(o, STR("cost_usd"));
    overview_write_cost(o, g->total);
    json_out_key(o, STR("p50_ms"));
    overview_write_latency(o, g->total, 50);
    json_out_key(o, STR("p95_ms"));
    overview_write_latency(o, g->total, 95);
    overview_write_series(o, g, buckets);
}

static void overview_write_member(struct overview *v, struct json_out *o, const struct group *g,
                                  int64_t members)
{
    json_out_object(o);
    if (g == &v->rest)
        json_member_null(o, "key");
    else
        json_member_str(o, "key", g->key);
    json_member_i64(o, "members", members);
    overview_write_group(o, g, (size_t)v->buckets);
    json_out_end(o);
}

/* The largest groups; the rest is one of its own, without a key. */
static void overview_write_groups(struct overview *v, struct json_out *o)
{
    size_t n = v->groups.count;

    json_member_array(o, "groups");
    for (size_t i = 0; i < n && i < GROUPS_SHOWN; i++)
        overview_write_member(v, o, v->list[i], 1);
    if (v->rest.total->n[USAGE_CALLS] > 0)
        overview_write_member(v, o, &v->rest, (int64_t)n - GROUPS_SHOWN);
    json_out_end(o);
}

bool query_overview(struct reader *r, const struct query_asker *a, const struct query_overview *w,
                    struct buf *out, struct err *e)
{
    struct overview v = {.r = r, .f = &w->filter, .by = w->by};
    struct json_out o;
    bool ok;

    if (!overview_range(&v, a, w->bucket_s, e) || !query_begin_object(r, out, &o, e))
        return false;
    map_init(&v.groups, NULL, GROUPS_MAX);
    overview_give_room(&v, &v.total);
    overview_give_room(&v, &v.rest);
    ok = (!v.by.n || overview_find_groups(&v, a, e)) && overview_read(&v, a, e);
    json_member_i64(&o, "start_us", v.first * v.seconds * 1000000);
    json_member_i64(&o, "end_us", v.end * v.seconds * 1000000);
    json_member_i64(&o, "bucket_s", v.bucket_s);
    json_member_i64(&o, "buckets", v.buckets);
    json_member_object(&o, "total");
    overview_write_group(&o, &v.total, (size_t)v.buckets);
    json_out_end(&o);
    overview_write_groups(&v, &o);
    map_release(&v.groups);
    return query_end_object(r, ok, &o, e);
}
