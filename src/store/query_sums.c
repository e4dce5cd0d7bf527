/* query_sums.c - what it all comes to: usage by model, provider, key, level or day; what sessions
 * can be filtered by; how many there are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_in.h"

#define GROUPS_MAX 1000
#define OPTIONS_MAX 200
#define NEWEST_MAX 20000
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

static bool on_group(void *ctx, const struct db_value *v, size_t n)
{
    struct json_out *o = ctx;
    char text[CLOCK_TEXT_SIZE];

    (void)n;
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
    bool ok;

    arena_reset(&r->arena);
    for (size_t i = 0; i < COUNT_OF(groups); i++)
        if (str_eq(group_by, str_c(groups[i].name)))
            group = groups[i].sql;
    if (!group)
        return err_set(e, ERR_INPUT, "group_by: must be model, provider, key, level or day");
    json_out_init(&o, out);
    json_out_object(&o);
    json_member_str(&o, "group_by", group_by);
    json_out_key(&o, STR("groups"));
    json_out_array(&o);
    sql_init(&q);
    sql_add(&q, "SELECT ");
    sql_add(&q, group);
    sql_add(&q, ", ");
    sql_columns(&q, sums, COUNT_OF(sums));
    sql_add(&q, " FROM ");
    usage_from(&q, a, f);
    sql_add(&q, " GROUP BY 1 ORDER BY ");
    sql_add(&q, str_eq(group_by, STR("day")) ? "1" : "2 DESC, 1");
    sql_limit(&q, GROUPS_MAX, 0);
    ok = sql_query(r, &q, (struct db_rows){on_group, &o}, e);
    sql_release(&q);
    json_out_end(&o);
    json_out_end(&o);
    return ok && query_end(out, e);
}

/* ---- what can be filtered by ---- */

struct list {
    struct arena *a;
    str last;
    bool found;
    struct json_out *o;
};

static bool on_option(void *ctx, const struct db_value *v, size_t n)
{
    struct list *l = ctx;

    (void)n;
    json_out_str(l->o, v->s);
    return true;
}

/* Of the sessions, what the newest of them have. */
static bool newest(struct reader *r, const struct query_asker *a, const char *column,
                   struct json_out *o, struct err *e)
{
    struct list l = {.o = o};
    struct sql q;
    bool ok;

    sql_init(&q);
    sql_add(&q, "SELECT DISTINCT x FROM (SELECT ");
    sql_add(&q, column);
    sql_add(&q, " AS x FROM alert_sessions s");
    sql_where_text(&q, "s.key_name =", a->key_name);
    sql_add(&q, " ORDER BY s.started_at_us DESC, s.session_id DESC");
    sql_limit(&q, NEWEST_MAX, 0);
    sql_add(&q, ") AS newest WHERE x IS NOT NULL ORDER BY x");
    sql_limit(&q, OPTIONS_MAX, 0);
    ok = sql_query(r, &q, (struct db_rows){on_option, &l}, e);
    sql_release(&q);
    return ok;
}

static bool on_least(void *ctx, const struct db_value *v, size_t n)
{
    struct list *l = ctx;

    (void)n;
    l->found = v->type == DB_TEXT;
    if (l->found)
        l->last = arena_dup(l->a, v->s);
    return false;
}

/* Each tool once: the least that is greater than the one before, so that the index gives them
 * without its entries being read. */
static bool tools(struct reader *r, struct json_out *o, struct err *e)
{
    struct list l = {&r->arena, STR(""), true, o};
    bool ok = true;

    for (size_t i = 0; ok && l.found && i < OPTIONS_MAX; i++) {
        struct db_value after = db_text(l.last);

        l.found = false;
        ok = db_query(r->db,
                      "SELECT min(tool) FROM decision_tools WHERE tool > $1",
                      &after,
                      1,
                      (struct db_rows){on_least, &l},
                      e);
        if (l.found)
            json_out_str(o, l.last);
    }
    return ok;
}

static void ranges_write(struct json_out *o)
{
    static const struct {
        const char *label, *value;
    } ranges[] = {{"Last hour", "1h"},
                  {"Last 4 hours", "4h"},
                  {"Today", "today"},
                  {"Last 24 hours", "24h"},
                  {"Last 7 days", "7d"},
                  {"Last 30 days", "30d"}};

    json_out_key(o, STR("time_ranges"));
    json_out_array(o);
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
    static const struct {
        const char *name, *column;
    } lists[] = {
        {"agent_types", "coalesce(s.agent_type, 'gateway')"},
        {"alert_types", "s.alert_type"},
        {"models", "s.model"},
        {"keys", "s.key_name"},
    };
    static const char *const statuses[] = {"pending", "in_progress", "completed", "failed"};
    struct json_out o;

    arena_reset(&r->arena);
    json_out_init(&o, out);
    json_out_object(&o);
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        json_out_key(&o, str_c(lists[i].name));
        json_out_array(&o);
        if (!newest(r, a, lists[i].column, &o, e))
            return false;
        json_out_end(&o);
    }
    json_out_key(&o, STR("tools"));
    json_out_array(&o);
    if (!tools(r, &o, e))
        return false;
    json_out_end(&o);
    json_out_key(&o, STR("status_options"));
    json_out_array(&o);
    for (size_t i = 0; i < COUNT_OF(statuses); i++)
        json_out_str(&o, str_c(statuses[i]));
    json_out_end(&o);
    ranges_write(&o);
    json_out_end(&o);
    return query_end(out, e);
}

/* ---- how many ---- */

static const struct column metric_columns[] = {
    {"total_sessions", "count(*)", COLUMN_NUMBER},
    {"completed_sessions",
     SUM("CASE WHEN s.status = 'completed' THEN 1 ELSE 0 END"),
     COLUMN_NUMBER},
    {"failed_sessions", SUM("CASE WHEN s.status = 'failed' THEN 1 ELSE 0 END"), COLUMN_NUMBER},
    {"pending_sessions", SUM("CASE WHEN s.status = 'pending' THEN 1 ELSE 0 END"), COLUMN_NUMBER},
    {"total_llm_interactions", SUM("s.call_count"), COLUMN_NUMBER},
    {"total_mcp_communications", SUM("s.tool_count"), COLUMN_NUMBER},
    {"total_interactions", SUM("s.call_count + s.tool_count"), COLUMN_NUMBER},
    {"total_tokens", SUM("s.input_tokens + s.output_tokens"), COLUMN_NUMBER},
    {"reasoning_tokens", SUM("s.reasoning_tokens"), COLUMN_NUMBER},
    {"cost_usd", "CAST(sum(s.cost_usd) AS DOUBLE PRECISION)", COLUMN_NUMBER},
    {"average_duration_ms",
     "CAST(avg((s.completed_at_us - s.started_at_us) / 1000.0) AS DOUBLE PRECISION)",
     COLUMN_NUMBER},
    {"error_rate",
     "CAST(coalesce(avg(CASE WHEN s.status = 'failed' THEN 1.0 WHEN s.status = 'completed' THEN "
     "0.0 END), 0) AS DOUBLE PRECISION)",
     COLUMN_NUMBER},
    {"active", SUM("CASE WHEN s.status = 'in_progress' THEN 1 ELSE 0 END"), COLUMN_SKIP},
};

struct totals {
    struct json_out *o;
    int64_t active;
};

static bool on_totals(void *ctx, const struct db_value *v, size_t n)
{
    struct totals *t = ctx;

    columns_write(metric_columns, COUNT_OF(metric_columns), v, false, t->o);
    t->active = v[n - 1].i;
    return false;
}

static int64_t running_sessions(const struct query_asker *a)
{
    int64_t n = 0;

    for (size_t i = 0; i < a->running_count; i++) {
        bool first = !a->key_name.n || str_eq(a->running[i].key_name, a->key_name);

        for (size_t j = 0; j < i && first; j++)
            first = !str_eq(a->running[j].session_id, a->running[i].session_id);
        n += first;
    }
    return n;
}

bool query_metrics(struct reader *r, const struct query_asker *a, struct buf *out, struct err *e)
{
    struct json_out o;
    struct totals t = {&o, 0};
    struct sql q;
    int64_t day;
    bool ok;

    arena_reset(&r->arena);
    json_out_init(&o, out);
    json_out_object(&o);
    sql_init(&q);
    sql_add(&q, "SELECT ");
    sql_columns(&q, metric_columns, COUNT_OF(metric_columns));
    sql_add(&q, " FROM alert_sessions s");
    sql_where_text(&q, "s.key_name =", a->key_name);
    ok = sql_query(r, &q, (struct db_rows){on_totals, &t}, e);
    sql_release(&q);
    sql_init(&q);
    sql_add(&q, "SELECT count(*) FROM alert_sessions s");
    sql_where(&q, "s.started_at_us >=", db_int(a->now_us - DAY_US));
    sql_where_text(&q, "s.key_name =", a->key_name);
    ok = ok && sql_number(r, &q, &day, e);
    sql_release(&q);
    if (!ok)
        return false;
    json_member_i64(&o, "active_sessions", t.active + running_sessions(a));
    json_member_i64(&o, "sessions_last_24h", day);
    json_member_i64(&o, "timestamp_us", a->now_us);
    json_out_end(&o);
    return query_end(out, e);
}

bool query_size(struct reader *r, int64_t *out, struct err *e)
{
    static const struct sql_text text = {
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
        "WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"};
    struct sql q;
    bool ok;

    sql_init(&q);
    sql_add(&q, sql_text(r, text));
    ok = sql_number(r, &q, out, e);
    sql_release(&q);
    return ok;
}
