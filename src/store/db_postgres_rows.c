/* db_postgres_rows.c - rows of one INSERT gathered into a statement of many rows.
 *
 * Starting a statement costs the server several times what a row of it does. So rows of db_put wait
 * until PG_ROWS_MAX of one text are together or something else is sent; then they go as statements
 * of 64, 16, 4 and 1 rows, each text prepared once:
 *
 *     INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4), ... ON CONFLICT ...
 *
 * A statement that updates on conflict may meet a row only once. Its first value is the key: a row
 * with the key of one that waits sends those that wait first, and so does a row of another such
 * statement, so that they change a row in the order of their puts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/db_postgres.h"

#define PG_ROWS_MAX 64u
#define PG_ROWS_SIZES 4u /* how many rows a statement has: 64, 16, 4, 1 */
#define PG_ROWS_KINDS 8u
#define PG_ROWS_BYTES_MAX ((size_t)4 << 20) /* of values that wait */
#define PG_ROWS_SQL_MAX ((size_t)1 << 20)

static const size_t pg_rows_sizes[PG_ROWS_SIZES] = {64, 16, 4, 1};

struct pg_rows_kind {
    const char *sql; /* the caller's: it lives as long as the connection */
    size_t args;     /* of a row */
    bool updates;
    struct buf texts[PG_ROWS_SIZES]; /* empty: not made yet */
    struct db_value *values;         /* PG_ROWS_MAX rows */
    size_t count;
};

struct pg_rows {
    struct pg_rows_kind kinds[PG_ROWS_KINDS];
    size_t kind_count;
    struct arena arena; /* of the values that wait */
    size_t bytes;
};

/* ---- texts ---- */

/* A row of values whose first one is $(from + 1). */
static void pg_rows_add_marks(struct buf *out, str row, size_t from)
{
    for (size_t i = 0; i < row.n;) {
        uint64_t n = 0;

        buf_add_c(out, row.p[i]);
        if (row.p[i++] != '$')
            continue;
        for (; i < row.n && row.p[i] >= '0' && row.p[i] <= '9'; i++)
            n = 10 * n + (uint64_t)(row.p[i] - '0');
        buf_add_u64(out, n + from);
    }
}

/* The end of the parenthesis that opens at `from`. */
static size_t pg_rows_find_end(str sql, size_t from)
{
    size_t depth = 0, i = from;

    do {
        assert(i < sql.n);
        depth += sql.p[i] == '(';
        depth -= sql.p[i] == ')';
        i++;
    } while (depth > 0);
    return i;
}

static const char *pg_rows_text(struct pg_rows_kind *k, size_t size)
{
    struct buf *b = &k->texts[size];
    str sql = str_c(k->sql);
    size_t from = str_find(sql, STR(" VALUES (")) + strlen(" VALUES ");
    size_t end = pg_rows_find_end(sql, from);

    if (b->n > 0)
        return b->p;
    buf_add(b, str_slice(sql, 0, from));
    for (size_t i = 0; i < pg_rows_sizes[size]; i++) {
        buf_add(b, i ? STR(", ") : STR(""));
        pg_rows_add_marks(b, str_slice(sql, from, end), i * k->args);
    }
    buf_add(b, str_slice(sql, end, sql.n));
    buf_add_c(b, '\0');
    assert(!buf_full(b));
    return b->p;
}

/* ---- rows ---- */

static bool pg_rows_send_kind(struct pg_db *d, struct pg_rows_kind *k, struct err *e)
{
    size_t done = 0, count = k->count;

    k->count = 0;
    for (size_t i = 0; i < PG_ROWS_SIZES; i++)
        for (; count - done >= pg_rows_sizes[i]; done += pg_rows_sizes[i]) {
            const struct db_value *values = k->values + done * k->args;

            if (!pg_send(d, pg_rows_text(k, i), values, pg_rows_sizes[i] * k->args, e))
                return false;
        }
    return true;
}

bool pg_rows_send(struct pg_db *d, struct err *e)
{
    struct pg_rows *r = d->rows;
    bool ok = true;

    if (!r || r->bytes == 0)
        return true;
    for (size_t i = 0; ok && i < r->kind_count; i++)
        ok = pg_rows_send_kind(d, &r->kinds[i], e);
    pg_rows_drop(d);
    return ok;
}

static struct pg_rows_kind *pg_rows_find_kind(struct pg_rows *r, const char *sql, size_t n)
{
    struct pg_rows_kind *k;

    for (size_t i = 0; i < r->kind_count; i++)
        if (r->kinds[i].sql == sql)
            return &r->kinds[i];
    if (r->kind_count == PG_ROWS_KINDS)
        return NULL;
    k = &r->kinds[r->kind_count++];
    *k = (struct pg_rows_kind){
        .sql = sql, .args = n, .updates = str_find(str_c(sql), STR(" DO UPDATE ")) != STR_NONE};
    for (size_t i = 0; i < PG_ROWS_SIZES; i++)
        buf_init(&k->texts[i], PG_ROWS_SQL_MAX);
    k->values = base_alloc(PG_ROWS_MAX * n * sizeof *k->values);
    return k;
}

static bool pg_rows_has_key(const struct pg_rows_kind *k, str key)
{
    for (size_t i = 0; i < k->count; i++)
        if (str_eq(k->values[i * k->args].s, key))
            return true;
    return false;
}

/* Sends those rows beside which a row of this key may not wait. */
static bool pg_rows_make_way(struct pg_db *d, const struct pg_rows_kind *k, str key, struct err *e)
{
    bool ok = true;

    for (size_t i = 0; ok && k->updates && i < d->rows->kind_count; i++) {
        struct pg_rows_kind *other = &d->rows->kinds[i];

        if (other->updates && (other != k || pg_rows_has_key(k, key)))
            ok = pg_rows_send_kind(d, other, e);
    }
    return ok;
}

bool pg_rows_put(struct pg_db *d, const char *sql, const struct db_value *args, size_t n,
                 struct err *e)
{
    struct pg_rows_kind *k;
    struct db_value *to;

    if (!d->rows) {
        d->rows = base_alloc(sizeof *d->rows);
        *d->rows = (struct pg_rows){.kind_count = 0};
        arena_init(&d->rows->arena, PG_ARENA_MAX);
    }
    k = pg_rows_find_kind(d->rows, sql, n);
    if (!k)
        return pg_rows_send(d, e) && pg_send(d, sql, args, n, e);
    assert(k->args == n);
    if ((d->rows->bytes > PG_ROWS_BYTES_MAX && !pg_rows_send(d, e)) ||
        !pg_rows_make_way(d, k, args[0].s, e))
        return false;
    to = k->values + k->count * n;
    for (size_t i = 0; i < n; i++) {
        to[i] = args[i];
        if (args[i].type == DB_TEXT || args[i].type == DB_BLOB)
            to[i].s = arena_dup(&d->rows->arena, args[i].s);
        d->rows->bytes += sizeof *to + args[i].s.n;
    }
    return ++k->count < PG_ROWS_MAX || pg_rows_send_kind(d, k, e);
}

void pg_rows_drop(struct pg_db *d)
{
    if (!d->rows)
        return;
    for (size_t i = 0; i < d->rows->kind_count; i++)
        d->rows->kinds[i].count = 0;
    arena_reset(&d->rows->arena);
    d->rows->bytes = 0;
}

void pg_rows_free(struct pg_db *d)
{
    struct pg_rows *r = d->rows;

    if (!r)
        return;
    for (size_t i = 0; i < r->kind_count; i++) {
        for (size_t t = 0; t < PG_ROWS_SIZES; t++)
            buf_release(&r->kinds[i].texts[t]);
        free(r->kinds[i].values);
    }
    arena_release(&r->arena);
    free(r);
}
