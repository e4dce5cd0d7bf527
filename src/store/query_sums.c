/* query_sums.c - sums: usage by model, provider, key, level or day; the filters of sessions;
 * totals.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/map.h"
#include "store/query_build.h"

#define GROUPS_MAX 1000
#define OPTIONS_MAX 200
#define NEWEST_MAX 5000
#define DAY_MS 86400000
#define DAY_US ((int64_t)DAY_MS * 1000)

/* ---- usage ---- */

static const struct {
    const char *name, *sql;
} groups[] = {
    {"model", "model"},
    {"provider", "provider"},
    {"key", "key_name"},
    {"level", "level"},
    {"day", "hour / 24"},
};

#define SUM(x) "CAST(coalesce(sum(" x "), 0) AS BIGINT)"

static const struct column sums[] = {
    {"calls", SUM("calls"), COLUMN_NUMBER},
    {"failed", SUM("failed"), COLUMN_NUMBER},
    {"input_tokens", SUM("input_tokens"), COLUMN_NUMBER},
    {"output_tokens", SUM("output_tokens"), COLUMN_NUMBER},
    {"reasoning_tokens", SUM("reasoning_tokens"), COLUMN_NUMBER},
    {"cache_read_tokens", SUM("cache_read_tokens"), COLUMN_NUMBER},
    {"cost_usd",
     "CASE WHEN sum(priced) > 0 THEN CAST(sum(cost_usd) AS DOUBLE PRECISION) END",
     COLUMN_NUMBER},
    {"starved", SUM("starved"), COLUMN_NUMBER},
    {"cut", SUM("cut"), COLUMN_NUMBER},
};

static bool usage_on_group(void *ctx, const struct db_value *v, size_t n)
{
    struct json_out *o = ctx;
    char text[CLOCK_TEXT_SIZE];

    assert(n == 1 + COUNT_OF(sums));
    json_out_object(o);
    if (v[0].type == DB_INT)
        json_member_str(o, "key", str_slice(clock_format(v[0].i * DAY_MS, text), 0, 10));
    else
        json_member_str(o, "key", v[0].s);
    columns_write(sums, COUNT_OF(sums), v + 1, false, o);
    json_out_end(o);
    return true;
}

bool query_usage(struct reader *r, const struct query_asker *a, str group_by,
                 const struct query_filter *f, struct buf *out, struct err *e)
{
    const char *group = NULL;
    struct json_out o;
    struct sql q;

    for (size_t i = 0; i < COUNT_OF(groups); i++)
        if (str_eq(group_by, str_c(groups[i].name)))
            group = groups[i].sql;
    if (!group)
        return err_input(e, "group_by: must be model, provider, key, level or day");
    if (!query_begin_object(r, out, &o, e))
        return false;
    json_member_str(&o, "group_by", group_by);
    json_member_array(&o, "groups");
    sql_begin(&q, "SELECT ");
    sql_add(&q, group);
    sql_add(&q, ", ");
    sql_columns(&q, sums, COUNT_OF(sums));
    sql_add(&q, " FROM ");
    usage_from(&q, a, f);
    sql_add(&q, " GROUP BY 1 ORDER BY ");
    sql_add(&q, str_eq(group_by, STR("day")) ? "1" : "2 DESC, 1");
    sql_limit(&q, GROUPS_MAX, 0);
    return query_end_object(r, sql_query(r, &q, (struct db_rows){usage_on_group, &o}, e), &o, e);
}

/* ---- what can be filtered by ---- */

static const struct column options[] = {
    {"agent_types", "coalesce(s.agent_type, 'gateway')", COLUMN_TEXT},
    {"alert_types", "s.alert_type", COLUMN_TEXT},
    {"models", "s.model", COLUMN_TEXT},
    {"keys", "s.key_name", COLUMN_TEXT},
};

struct options_found {
    struct arena *a;
    struct map values[COUNT_OF(options)];
};

static bool options_on_session(void *ctx, const struct db_value *v, size_t n)
{
    struct options_found *found = ctx;
    struct err full;

    assert(n == COUNT_OF(options));
    for (size_t i = 0; i < n; i++)
        if (v[i].type == DB_TEXT && !map_find(&found->values[i], v[i].s))
            (void)!map_set(&found->values[i], arena_dup(found->a, v[i].s), MAP_U64(1), &full);
    return true;
}

static void options_write(struct map *values, struct arena *a, struct json_out *o)
{
    str *names = arena_alloc(a, (OPTIONS_MAX + 1) * sizeof *names);
    size_t n = 0;

    for (struct map_entry *i = map_next(values, NULL); i; i = map_next(values, i))
        names[n++] = i->key;
    assert(n <= OPTIONS_MAX);
    qsort(names, n, sizeof *names, str_order);
    json_out_array(o);
    for (size_t i = 0; i < n; i++)
        json_out_str(o, names[i]);
    json_out_end(o);
}

/* The choices that the newest sessions have. */
static bool options_of_sessions(struct reader *r, const struct query_asker *a, struct json_out *o,
                                struct err *e)
{
    struct options_found found = {.a = &r->arena};
    struct sql q;
    bool ok;

    for (size_t i = 0; i < COUNT_OF(options); i++)
        map_init(&found.values[i], NULL, OPTIONS_MAX);
    sql_select(&q, options, COUNT_OF(options), "alert_sessions s");
    sql_where_text(&q, "s.key_name =", a->key_name);
    sql_add(&q, " ORDER BY s.started_at_us DESC, s.session_id DESC");
    sql_limit(&q, NEWEST_MAX, 0);
    ok = sql_query(r, &q, (struct db_rows){options_on_session, &found}, e);
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        json_out_key(o, str_c(options[i].name));
        options_write(&found.values[i], &r->arena, o);
        map_release(&found.values[i]);
    }
    return ok;
}

/* Each tool once: the least that is greater than the one before, so that the index gives them
 * without its entries being read. */
static bool options_of_tools(struct reader *r, struct json_out *o, struct err *e)
{
    str last = STR("");
    bool ok = true;

    json_member_array(o, "tools");
    for (size_t i = 0; ok && i < OPTIONS_MAX; i++) {
        struct db_value after = db_text(last);

        last = STR("");
        ok = db_query(r->db,
                      "SELECT min(tool) FROM call_tools WHERE tool > $1",
                      &after,
                      1,
                      DB_ROW(db_into_text(&r->arena, &last)),
                      e);
        if (last.n == 0)
            break;
        json_out_str(o, last);
    }
    json_out_end(o);
    return ok;
}

static void options_write_ranges(struct json_out *o)
{
    static const struct {
        const char *label, *value;
    } ranges[] = {{"Last hour", "1h"},
                  {"Last 4 hours", "4h"},
                  {"Today", "today"},
                  {"Last 24 hours", "24h"},
                  {"Last 7 days", "7d"},
                  {"Last 30 days", "30d"}};

    json_member_array(o, "time_ranges");
    for (size_t i = 0; i < COUNT_OF(ranges); i++) {
        json_out_object(o);
        json_member_str(o, "label", str_c(ranges[i].label));
        json_member_str(o, "value", str_c(ranges[i].value));
        json_out_end(o);
    }
    json_out_end(o);
}

bool query_filter_options(struct reader *r, const struct query_asker *a, struct buf *out,
                          struct err *e)
{
    static const char *const statuses[] = {"pending", "in_progress", "completed", "failed"};
    struct json_out o;
    bool ok;

    if (!query_begin_object(r, out, &o, e))
        return false;
    ok = options_of_sessions(r, a, &o, e) && options_of_tools(r, &o, e);
    json_member_array(&o, "status_options");
    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        json_out_str(&o, str_c(statuses[i]));
    json_out_end(&o);
    options_write_ranges(&o);
    return query_end_object(r, ok, &o, e);
}

/* ---- how many ---- */

struct totals {
    int64_t sessions, completed, failed, pending, active;
};

static bool totals_on_status(void *ctx, const struct db_value *v, size_t n)
{
    struct totals *t = ctx;
    const struct {
        const char *status;
        int64_t *to;
    } parts[] = {{"failed", &t->failed}, {"pending", &t->pending}, {"in_progress", &t->active}};

    assert(n == 2);
    t->sessions += v[1].i;
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (v[0].type == DB_TEXT && str_eq(v[0].s, str_c(parts[i].status)))
            *parts[i].to = v[1].i;
    return true;
}

/* Both queries read an index alone: the one by status leaves out the completed sessions. coalesce
 * keeps it from the index of the keys, which has all sessions. */
static bool totals_of_sessions(struct reader *r, const struct query_asker *a, struct totals *out,
                               struct err *e)
{
    int64_t all = 0;
    struct sql q;
    bool ok;

    sql_begin(&q, "SELECT s.status, count(*) FROM alert_sessions s");
    sql_and(&q);
    sql_add(&q, "s.status <> 'completed'");
    sql_where_text(&q, "coalesce(s.key_name, '') =", a->key_name);
    sql_add(&q, " GROUP BY s.status");
    ok = sql_query(r, &q, (struct db_rows){totals_on_status, out}, e);
    sql_begin(&q, "SELECT count(*) FROM alert_sessions s");
    sql_where_text(&q, "s.key_name =", a->key_name);
    ok = ok && sql_number(r, &q, &all, e);
    out->completed = all - out->sessions;
    out->sessions = all;
    return ok;
}

static bool totals_on_number(void *ctx, const struct db_value *v, size_t n)
{
    assert(n == 1);
    *(struct db_value *)ctx = *v;
    return false;
}

/* The average duration of the newest sessions. */
static bool totals_duration(struct reader *r, const struct query_asker *a, struct db_value *out,
                            struct err *e)
{
    struct sql q;

    *out = db_null();
    sql_begin(&q,
              "SELECT CAST(avg(x.us / 1000.0) AS DOUBLE PRECISION) FROM (SELECT s.completed_at_us -"
              " s.started_at_us AS us FROM alert_sessions s");
    sql_where_text(&q, "s.key_name =", a->key_name);
    sql_add(&q, " ORDER BY s.started_at_us DESC, s.session_id DESC");
    sql_limit(&q, NEWEST_MAX, 0);
    sql_add(&q, ") AS x");
    return sql_query(r, &q, (struct db_rows){totals_on_number, out}, e);
}

static bool totals_tools(struct reader *r, const struct query_asker *a, int64_t *out, struct err *e)
{
    struct sql q;

    sql_begin(&q, "SELECT count(*) FROM mcp_communications i");
    sql_key_scope(&q, a);
    return sql_number(r, &q, out, e);
}

static bool totals_day(struct reader *r, const struct query_asker *a, int64_t *out, struct err *e)
{
    struct sql q;

    sql_begin(&q, "SELECT count(*) FROM alert_sessions s");
    sql_where(&q, "s.started_at_us >=", db_int(a->now_us - DAY_US));
    sql_where_text(&q, "s.key_name =", a->key_name);
    return sql_number(r, &q, out, e);
}

enum { USED_CALLS, USED_TOKENS, USED_REASONING, USED_COST, USED_COUNT };

static bool totals_on_used(void *ctx, const struct db_value *v, size_t n)
{
    assert(n == USED_COUNT);
    memcpy(ctx, v, USED_COUNT * sizeof *v);
    return false;
}

static bool totals_used(struct reader *r, const struct query_asker *a, struct db_value *out,
                        struct err *e)
{
    struct sql q;

    sql_begin(
        &q,
        "SELECT " SUM("calls") ", " SUM("input_tokens + output_tokens") ", " SUM(
            "reasoning_tokens") ", CASE WHEN sum(priced) > 0 THEN CAST(sum(cost_usd) AS DOUBLE"
                                " PRECISION) END FROM usage_hours");
    sql_where_text(&q, "key_name =", a->key_name);
    return sql_query(r, &q, (struct db_rows){totals_on_used, out}, e);
}

bool query_metrics(struct reader *r, const struct query_asker *a, struct buf *out, struct err *e)
{
    struct db_value duration = db_null(), used[USED_COUNT] = {{0}};
    int64_t day = 0, tools = 0, unseen = 0, ended;
    struct totals t = {0};
    struct json_out o;
    bool ok;

    if (!query_begin_object(r, out, &o, e))
        return false;
    ok = totals_of_sessions(r, a, &t, e) && session_running_unseen(r, a, &unseen, e) &&
         totals_duration(r, a, &duration, e) && totals_tools(r, a, &tools, e) &&
         totals_day(r, a, &day, e) && totals_used(r, a, used, e);
    ended = t.failed + t.completed;
    json_member_i64(&o, "total_sessions", t.sessions);
    json_member_i64(&o, "completed_sessions", t.completed);
    json_member_i64(&o, "failed_sessions", t.failed);
    json_member_i64(&o, "pending_sessions", t.pending);
    json_member_i64(&o, "total_llm_interactions", used[USED_CALLS].i);
    json_member_i64(&o, "total_mcp_communications", tools);
    json_member_i64(&o, "total_interactions", used[USED_CALLS].i + tools);
    json_member_i64(&o, "total_tokens", used[USED_TOKENS].i);
    json_member_i64(&o, "reasoning_tokens", used[USED_REASONING].i);
    value_write_member(&o, "cost_usd", COLUMN_NUMBER, &used[USED_COST]);
    value_write_member(&o, "average_duration_ms", COLUMN_NUMBER, &duration);
    json_member_double(&o, "error_rate", ended ? (double)t.failed / (double)ended : 0);
    json_member_i64(&o, "active_sessions", t.active + unseen);
    json_member_i64(&o, "sessions_last_24h", day);
    json_member_i64(&o, "timestamp_us", a->now_us);
    return query_end_object(r, ok, &o, e);
}

bool query_size(struct reader *r, int64_t *out, struct err *e)
{
    static const struct sql_text text = {
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
        "WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"};
    struct sql q;

    sql_begin(&q, sql_text(r, text));
    return sql_number(r, &q, out, e);
}
