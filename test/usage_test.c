/* Hourly sums equal sums over all calls: for any range, any group, and after erasure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "usage_help.h"

#define RANGES 12u

/* A row in the answer's form: the names of its columns, the first a text. */
struct writing {
    struct buf *out;
    const char *const *names;
    size_t rows;
};

static bool write_row(void *ctx, const struct db_value *v, size_t n)
{
    struct writing *w = ctx;

    buf_add(w->out, w->rows++ ? STR(",{") : STR("{"));
    for (size_t i = 0; i < n; i++) {
        buf_printf(w->out, "%s\"%s\":", i ? "," : "", w->names[i]);
        if (v[i].type == DB_NULL)
            buf_add(w->out, STR("null"));
        else if (v[i].type == DB_INT)
            buf_printf(w->out, "%lld", (long long)v[i].i);
        else if (v[i].type == DB_REAL)
            buf_printf(w->out, "%g", v[i].d);
        else
            (void)json_quote(w->out, v[i].s);
    }
    buf_add_c(w->out, '}');
    return true;
}

static void where(struct buf *sql, const struct query_asker *a, const struct query_filter *f)
{
    buf_add(sql, STR(" WHERE 1 = 1"));
    if (f->start_us >= 0)
        buf_printf(sql, " AND started_ms >= %lld", (long long)(f->start_us / 1000));
    if (f->end_us >= 0)
        buf_printf(sql, " AND started_ms <= %lld", (long long)(f->end_us / 1000));
    if (a->key_name.n)
        buf_printf(sql, " AND key_name = '" STR_FMT "'", STR_ARG(a->key_name));
}

static void check_usage(struct side *s, const struct query_asker *a, const struct query_filter *f)
{
    static const char *const names[] = {"key",
                                        "calls",
                                        "failed",
                                        "input_tokens",
                                        "output_tokens",
                                        "reasoning_tokens",
                                        "cache_read_tokens",
                                        "cost_usd",
                                        "starved",
                                        "cut"};
    static const struct {
        const char *by, *column;
    } groups[] = {{"model", "coalesce(model, '')"},
                  {"provider", "coalesce(provider, '')"},
                  {"key", "coalesce(key_name, '')"},
                  {"level", "coalesce(reasoning_level, '')"}};

    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        struct writing w = {&s->expected, names, 0};
        struct buf sql;
        struct err e;

        buf_init(&sql, 8192);
        buf_printf(
            &sql,
            "SELECT %s, count(*),"
            " CAST(sum(CASE WHEN status >= 400 THEN 1 ELSE 0 END) AS BIGINT),"
            " CAST(coalesce(sum(input_tokens), 0) AS BIGINT),"
            " CAST(coalesce(sum(output_tokens), 0) AS BIGINT),"
            " CAST(coalesce(sum(reasoning_tokens), 0) AS BIGINT),"
            " CAST(coalesce(sum(cache_read_tokens), 0) AS BIGINT), sum(cost_usd),"
            " CAST(sum(CASE WHEN has_reasoning = 1 AND status < 400 AND (texts & 16) = 0 THEN 1"
            " ELSE 0 END) AS BIGINT),"
            " CAST(sum(CASE WHEN reasoning_cut IS NOT NULL THEN 1 ELSE 0 END) AS BIGINT)"
            " FROM llm_interactions",
            groups[i].column);
        where(&sql, a, f);
        buf_add(&sql, STR(" GROUP BY 1 ORDER BY 2 DESC, 1"));
        buf_add_c(&sql, '\0');
        buf_reset(&s->expected);
        buf_printf(&s->expected, "{\"group_by\":\"%s\",\"groups\":[", groups[i].by);
        CHECK_F(db_query(s->db, sql.p, NULL, 0, (struct db_rows){write_row, &w}, &e), "%s", e.text);
        buf_add(&s->expected, STR("]}"));
        buf_reset(&s->out);
        CHECK_F(query_usage(s->reader, a, str_c(groups[i].by), f, &s->out, &e), "%s", e.text);
        CHECK_F(str_eq(buf_str(&s->out), buf_str(&s->expected)),
                "%lld to %lld:\n" STR_FMT "\n" STR_FMT,
                (long long)f->start_us,
                (long long)f->end_us,
                STR_ARG(buf_str(&s->out)),
                STR_ARG(buf_str(&s->expected)));
        buf_release(&sql);
    }
}

/* The buckets and counts of all rows in total. */
static void check_reasoning(struct side *s, const struct query_asker *a,
                            const struct query_filter *f)
{
    static const char *const wanted[] = {"count(*)",
                                         "coalesce(sum(has_reasoning), 0)",
                                         "coalesce(sum(reasoning_tokens), 0)",
                                         "coalesce(sum(output_tokens), 0)"};
    static const char *const names[] = {
        "calls", "with_reasoning", "reasoning_tokens", "output_tokens"};
    long long got[COUNT_OF(wanted)] = {0}, buckets[10] = {0};
    const struct json_node *rows, *v;
    struct json doc;
    struct buf sql;
    struct err e;
    int64_t n;

    buf_init(&sql, 8192);
    json_init(&doc);
    buf_reset(&s->out);
    CHECK_F(query_reasoning(s->reader, a, f, &s->out, &e), "%s", e.text);
    CHECK(json_parse(&doc, buf_str(&s->out), &e));
    rows = json_find(&doc, json_root(&doc), STR("rows"));
    for (v = json_first(&doc, rows); v; v = json_next(&doc, rows, v)) {
        const struct json_node *saturation = json_find(&doc, v, STR("saturation"));

        for (size_t i = 0; i < COUNT_OF(names); i++) {
            CHECK(json_i64(&doc, json_find(&doc, v, str_c(names[i])), &n));
            got[i] += n;
        }
        for (size_t i = 0; i < 10; i++) {
            CHECK(json_i64(&doc, json_at(&doc, saturation, i), &n));
            buckets[i] += n;
        }
    }
    for (size_t i = 0; i < COUNT_OF(wanted) + 10; i++) {
        size_t k = i - COUNT_OF(wanted);

        buf_reset(&sql);
        if (i < COUNT_OF(wanted))
            buf_printf(&sql, "SELECT CAST(%s AS BIGINT) FROM llm_interactions", wanted[i]);
        else
            buf_add(&sql, STR("SELECT count(*) FROM llm_interactions"));
        where(&sql, a, f);
        if (i >= COUNT_OF(wanted))
            buf_printf(&sql,
                       " AND cap_tokens > 0 AND CASE WHEN coalesce(reasoning_tokens, 0) * 10 /"
                       " cap_tokens > 9 THEN 9 ELSE coalesce(reasoning_tokens, 0) * 10 / cap_tokens"
                       " END = %zu",
                       k);
        buf_add_c(&sql, '\0');
        CHECK_INT(i < COUNT_OF(wanted) ? got[i] : buckets[k], ask(&s->place, sql.p));
    }
    buf_release(&sql);
    json_release(&doc);
}

static void check_ranges(struct side *s)
{
    static const char *const keys[] = {"", "k0", "k1"};

    for (unsigned i = 0; i < RANGES; i++) {
        struct query_asker a = {.key_name = str_c(keys[i % 3])};
        struct query_filter f = query_filter_none;
        int64_t from = 50 * 24 * (int64_t)HOUR + (int64_t)rand_below(&s->rand, 20 * HOUR);
        int64_t to = from + (int64_t)rand_below(&s->rand, i % 4 ? 20 * HOUR : HOUR);

        if (i % 5 == 1) { /* exactly on the hour */
            from -= from % HOUR;
            to -= to % HOUR + 1;
        }
        f.start_us = i % 6 == 0 ? -1 : from * 1000;
        f.end_us = i % 4 == 3 || i == 0 ? -1 : to * 1000;
        check_usage(s, &a, &f);
        check_reasoning(s, &a, &f);
    }
}

struct spent {
    double of_k0, of_k1;
    size_t keys;
};

static bool add_spent(void *ctx, str key, double usd)
{
    struct spent *s = ctx;

    *(str_eq(key, STR("k0")) ? &s->of_k0 : &s->of_k1) = usd;
    s->keys++;
    return true;
}

static bool count_spent(void *ctx, const struct db_value *v, size_t n)
{
    (void)n;
    *(double *)ctx = 0.25 * (double)v[0].i;
    return true;
}

TEST(what_a_key_has_spent_is_the_cost_of_its_calls)
{
    static const char *const keys[] = {"k0", "k1"};
    struct spent spent = {0};
    struct side s;
    struct err e;
    double want;

    side_init(&s);
    CHECK_F(store_spent(s.store, add_spent, &spent, &e), "%s", e.text);
    CHECK(spent.keys == 2); /* calls without a key are not counted */
    for (size_t i = 0; i < 2; i++) {
        struct db_value key = db_text(str_c(keys[i]));

        CHECK_F(db_query(s.db,
                         "SELECT count(*) FROM llm_interactions WHERE key_name = $1"
                         " AND cost_usd IS NOT NULL",
                         &key,
                         1,
                         (struct db_rows){count_spent, &want},
                         &e),
                "%s",
                e.text);
        CHECK(want > 0 && (i ? spent.of_k1 : spent.of_k0) == want);
    }
    side_release(&s);
}

TEST(sums_are_those_of_the_calls)
{
    struct side s;

    side_init(&s);
    check_ranges(&s);
    side_release(&s);
}

TEST(sums_are_those_of_the_calls_that_are_left)
{
    struct store_receipt receipt;
    struct side s;
    char name[32];
    struct err e;

    side_init(&s);
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "s-%u", i * 5);
        CHECK_F(store_erase(s.store, STORE_ERASE_SESSION, str_c(name), STR("op"), &receipt, &e),
                "%s",
                e.text);
    }
    check_ranges(&s);
    for (unsigned i = MADE; i < MADE + 50; i++)
        side_put(&s, i);
    settle(s.store);
    check_ranges(&s);
    side_release(&s);
}

TEST(a_store_of_before_has_its_sums)
{
    struct side s;
    struct err e;

    side_init(&s);
    store_close(s.store);
    db_close(s.db);
    reader_close(s.reader);
    place_release(&s.place);
    place_init(&s.place);
    old_store(&s.place);
    for (unsigned i = 0; i < 60; i++) {
        struct store_call row = store_call_none;
        char id[32];

        snprintf(id, sizeof id, "c-%u", i);
        row.id = row.session_id = str_c(id);
        row.started_ms = 50 * 24 * (int64_t)HOUR + (int64_t)i * HOUR / 7;
        row.ended_ms = row.started_ms + 5;
        row.status = i % 9 ? 200 : 500;
        row.complete = true;
        row.model = i % 2 ? STR("m0") : STR("m1");
        row.input_tokens = i;
        row.has_reasoning = i % 3 == 0;
        row.answer = i % 4 ? STR("yes") : STR("");
        old_store_put(&s.place, &row);
    }
    /* Restores the tables from before the sums existed, so that the schema step runs again. */
    do_sql(&s.place,
           "DROP TABLE usage_hours; DROP INDEX llm_interactions_by_thought;"
           "DROP INDEX llm_interactions_by_talk; DROP INDEX alert_sessions_by_name;"
           "ALTER TABLE alert_sessions DROP COLUMN named;"
           "ALTER TABLE llm_interactions DROP COLUMN talk;"
           "DELETE FROM store_version WHERE version = 11");
    s.store = open_store(&s.place);
    settle(s.store);
    CHECK_F(reader_open(str_c(s.place.url), &s.reader, &e), "%s", e.text);
    CHECK_F(db_open(str_c(s.place.url), DB_READ, &s.db, &e), "%s", e.text);
    CHECK_INT(ask(&s.place, "SELECT CAST(sum(calls) AS BIGINT) FROM usage_hours"), 60);
    check_ranges(&s);
    side_release(&s);
}

TEST_MAIN(T(what_a_key_has_spent_is_the_cost_of_its_calls), T(sums_are_those_of_the_calls),
          T(sums_are_those_of_the_calls_that_are_left), T(a_store_of_before_has_its_sums))
