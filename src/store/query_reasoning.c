/* query_reasoning.c - how much models think: by model and level.
 *
 * Counts and sums are those of the hours (usage.h); the medians are of those that
 * thought among the newest SAMPLES_MAX calls of the range.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/map.h"
#include "store/query_build.h"
#include "store/usage.h"

#define ROWS_MAX 500
#define SAMPLES_MAX 5000

struct row {
    str model, level;
    int64_t calls, with_reasoning, reasoning_tokens, output_tokens, cap_tokens, cut, starved;
    int64_t buckets[USAGE_BUCKETS];
    int64_t *samples;
    size_t sample_count, sample_cap;
};

struct table {
    struct reader *r;
    struct map rows; /* by model and level */
    struct buf key;
};

enum { MODEL, LEVEL, CALLS, REASONED, TOKENS, OUTPUT, CAP, CUT, STARVED, BUCKET_0 };

#define SUM(x) "CAST(sum(" x ") AS BIGINT)"
/* clang-format off */
static const char columns[] =
    "model, level, " SUM("calls") ", " SUM("with_reasoning") ", " SUM("reasoning_tokens")
    ", " SUM("output_tokens") ", max(cap_tokens), " SUM("cut") ", " SUM("starved")
    ", " SUM("b0") ", " SUM("b1") ", " SUM("b2") ", " SUM("b3") ", " SUM("b4")
    ", " SUM("b5") ", " SUM("b6") ", " SUM("b7") ", " SUM("b8") ", " SUM("b9");
/* clang-format on */

static struct row *query_reasoning_row_of(struct table *t, str model, str level)
{
    struct map_entry *found;
    struct row *row;
    struct err e;
    str key;

    assert(map_count(&t->rows) <= ROWS_MAX);
    buf_reset(&t->key);
    buf_add(&t->key, model);
    buf_add_c(&t->key, '\0');
    buf_add(&t->key, level);
    found = map_find(&t->rows, buf_str(&t->key));
    if (found)
        return found->value.ptr;
    key = arena_dup(&t->r->arena, buf_str(&t->key));
    row = arena_zero(&t->r->arena, 1, sizeof *row);
    row->model = arena_dup(&t->r->arena, model);
    row->level = arena_dup(&t->r->arena, level);
    return map_set(&t->rows, key, MAP_PTR(row), &e) ? row : NULL;
}

static void query_reasoning_sample(struct row *row, int64_t ms)
{
    if (ms < 0 || row->sample_count == SAMPLES_MAX)
        return;
    row->samples =
        base_grow(row->samples, row->sample_count, &row->sample_cap, sizeof *row->samples);
    assert(row->sample_count < row->sample_cap);
    row->samples[row->sample_count++] = ms;
}

static bool query_reasoning_on_sums(void *ctx, const struct db_value *v, size_t n)
{
    struct row *row = query_reasoning_row_of(ctx, v[MODEL].s, v[LEVEL].s);

    assert(n == BUCKET_0 + USAGE_BUCKETS);
    if (!row)
        return true;
    row->calls = v[CALLS].i;
    row->with_reasoning = v[REASONED].i;
    row->reasoning_tokens = v[TOKENS].i;
    row->output_tokens = v[OUTPUT].i;
    row->cap_tokens = v[CAP].i;
    row->cut = v[CUT].i;
    row->starved = v[STARVED].i;
    for (size_t i = 0; i < USAGE_BUCKETS; i++)
        row->buckets[i] = v[BUCKET_0 + i].i;
    return true;
}

static bool query_reasoning_on_thought(void *ctx, const struct db_value *v, size_t n)
{
    struct row *row = query_reasoning_row_of(ctx, v[0].s, v[1].s);

    assert(n == 3);
    if (row && v[2].type == DB_INT)
        query_reasoning_sample(row, v[2].i);
    return true;
}

static bool query_reasoning_read_sums(struct table *t, const struct query_asker *a,
                                      const struct query_filter *f, struct err *e)
{
    struct sql q;

    sql_begin(&q, "SELECT ");
    sql_add(&q, columns);
    sql_add(&q, " FROM ");
    usage_from(&q, a, f);
    sql_add(&q, " GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2");
    return sql_query(t->r, &q, (struct db_rows){query_reasoning_on_sums, t}, e);
}

static bool query_reasoning_read_thoughts(struct table *t, const struct query_asker *a,
                                          const struct query_filter *f, struct err *e)
{
    struct sql q;

    sql_begin(&q,
              "SELECT coalesce(x.model, ''), coalesce(x.reasoning_level, ''),"
              " coalesce(x.answer_ms, x.ended_ms) - x.reasoning_ms FROM (SELECT i.model,"
              " i.reasoning_level, i.reasoning_ms, i.answer_ms, i.ended_ms, i.key_name"
              " FROM llm_interactions i");
    if (f->start_us >= 0)
        sql_where(&q, "i.started_ms >=", db_int(f->start_us / 1000));
    if (f->end_us >= 0)
        sql_where(&q, "i.started_ms <=", db_int(f->end_us / 1000));
    sql_add(&q, " ORDER BY i.started_ms DESC");
    sql_limit(&q, SAMPLES_MAX, 0);
    sql_add(&q, ") AS x WHERE x.reasoning_ms IS NOT NULL");
    q.where = true;
    sql_where_text(&q, "x.key_name =", a->key_name);
    return sql_query(t->r, &q, (struct db_rows){query_reasoning_on_thought, t}, e);
}

static int query_reasoning_by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void query_reasoning_percentile_write(struct json_out *o, const char *name,
                                             const struct row *row, size_t percent)
{
    size_t at = row->sample_count ? (row->sample_count * percent + 99) / 100 : 0;

    assert(at <= row->sample_count);
    json_member_i64_or_null(o, name, at ? row->samples[at - 1] : -1);
}

static void query_reasoning_row_write(struct json_out *o, struct row *row)
{
    if (row->sample_count)
        qsort(row->samples, row->sample_count, sizeof *row->samples, query_reasoning_by_size);
    json_out_object(o);
    json_member_str(o, "model", row->model);
    json_member_str(o, "level", row->level);
    json_member_i64(o, "calls", row->calls);
    json_member_i64(o, "with_reasoning", row->with_reasoning);
    json_member_i64(o, "reasoning_tokens", row->reasoning_tokens);
    json_member_i64(o, "output_tokens", row->output_tokens);
    json_member_double(
        o,
        "share",
        row->output_tokens > 0 ? (double)row->reasoning_tokens / (double)row->output_tokens : 0);
    json_member_i64_or_null(o, "cap_tokens", row->cap_tokens ? row->cap_tokens : -1);
    json_member_array(o, "saturation");
    for (size_t i = 0; i < USAGE_BUCKETS; i++)
        json_out_i64(o, row->buckets[i]);
    json_out_end(o);
    json_member_i64(o, "cut", row->cut);
    json_member_i64(o, "starved", row->starved);
    query_reasoning_percentile_write(o, "thinking_ms_p50", row, 50);
    query_reasoning_percentile_write(o, "thinking_ms_p95", row, 95);
    json_out_end(o);
}

bool query_reasoning(struct reader *r, const struct query_asker *a, const struct query_filter *f,
                     struct buf *out, struct err *e)
{
    struct table t = {.r = r};
    struct json_out o;
    bool ok;

    if (!query_begin_object(r, out, &o, e))
        return false;
    map_init(&t.rows, NULL, ROWS_MAX);
    buf_init(&t.key, 65536);
    ok = query_reasoning_read_sums(&t, a, f, e) && query_reasoning_read_thoughts(&t, a, f, e);
    json_member_array(&o, "rows");
    for (struct map_entry *i = map_next(&t.rows, NULL); i; i = map_next(&t.rows, i)) {
        query_reasoning_row_write(&o, i->value.ptr);
        free(((struct row *)i->value.ptr)->samples);
    }
    map_release(&t.rows);
    buf_release(&t.key);
    return query_end_object(r, ok, &o, e);
}
