/* query_usage.c - sums of the calls of a range: whole hours from the stored sums, the rest call by
 * call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_build.h"
#include "store/usage.h"

/* [from, to] in ms, -1: open; the hours in it are [first, end). */
struct range {
    int64_t from, to, first, end;
};

static struct range usage_range(const struct query_filter *f)
{
    struct range r = {.from = f->start_us < 0 ? -1 : f->start_us / 1000,
                      .to = f->end_us < 0 ? -1 : f->end_us / 1000};

    r.first = r.from < 0 ? INT64_MIN : (r.from + USAGE_HOUR_MS - 1) / USAGE_HOUR_MS;
    r.end = r.to < 0 ? INT64_MAX : (r.to + 1) / USAGE_HOUR_MS;
    return r;
}

/* A part of the range that no whole hour has: each by itself, so that it is found by its index. */
static void usage_add_calls(struct sql *q, const struct query_asker *a, int64_t from, int64_t to)
{
    if (from > to)
        return;
    sql_add(q, " UNION ALL SELECT ");
    usage_write_call(&usage_tables[USAGE_BY_HOUR], &q->text);
    sql_add(q, " FROM llm_interactions i");
    q->where = false;
    sql_where(q, "i.started_ms >=", db_int(from));
    sql_where(q, "i.started_ms <=", db_int(to));
    sql_where_text(q, "i.key_name =", a->key_name);
}

void usage_from(struct sql *q, const struct query_asker *a, const struct query_filter *f)
{
    struct range r = usage_range(f);

    sql_add(q, "(SELECT " USAGE_WHICH ", " USAGE_SUMS " FROM usage_hours u");
    q->where = false;
    if (r.from >= 0)
        sql_where(q, "u.hour >=", db_int(r.first));
    if (r.to >= 0)
        sql_where(q, "u.hour <", db_int(r.end));
    sql_where_text(q, "u.key_name =", a->key_name);
    if (r.first >= r.end) {
        usage_add_calls(q, a, r.from, r.to);
    } else {
        if (r.from >= 0)
            usage_add_calls(q, a, r.from, r.first * USAGE_HOUR_MS - 1);
        if (r.to >= 0)
            usage_add_calls(q, a, r.end * USAGE_HOUR_MS, r.to);
    }
    sql_add(q, ") x");
    q->where = false;
}
