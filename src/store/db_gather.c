/* SPDX-License-Identifier: Apache-2.0 */
#include "store/db_gather.h"

#include "base/buf.h"

#define GATHER_SIZES 4u
#define GATHER_KINDS 8u
#define GATHER_ROW_SIZE ((size_t)16 << 10) /* of values that wait, for each row of rows_max */
#define GATHER_SQL_MAX ((size_t)1 << 20)
#define GATHER_ARENA_MAX ((size_t)1 << 30)

/* How many rows a statement may have. */
static const size_t gather_sizes[GATHER_SIZES] = {64, 16, 4, 1};

struct gather_kind {
    const char *sql; /* the caller's: it lives as long as the connection */
    size_t args;     /* of a row */
    bool updates;
    struct buf texts[GATHER_SIZES]; /* empty: not made yet */
    struct db_value *values;        /* rows_max rows */
    size_t count;
};

struct db_gather {
    struct db *db;
    const struct db_gather_way *way;
    struct gather_kind kinds[GATHER_KINDS];
    size_t kind_count;
    struct arena arena; /* of the values that wait */
    size_t bytes;
};

/* ---- texts ---- */

/* A row of values whose first one is $(from + 1). */
static void gather_add_marks(struct buf *out, str row, size_t from, char mark)
{
    for (size_t i = 0; i < row.n;) {
        uint64_t n = 0;

        bool value = row.p[i] == '$';

        buf_add_c(out, value ? mark : row.p[i]);
        i++;
        if (!value)
            continue;
        for (; i < row.n && row.p[i] >= '0' && row.p[i] <= '9'; i++)
            n = 10 * n + (uint64_t)(row.p[i] - '0');
        buf_add_u64(out, n + from);
    }
}

/* The end of the parenthesis that opens at `from`. */
static size_t gather_find_end(str sql, size_t from)
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

static const char *gather_text(const struct db_gather *g, struct gather_kind *k, size_t size)
{
    struct buf *b = &k->texts[size];
    str sql = str_c(k->sql);
    size_t from = str_find(sql, STR(" VALUES (")) + strlen(" VALUES ");
    size_t end = gather_find_end(sql, from);

    if (b->n > 0)
        return b->p;
    assert(str_starts(sql, STR("INSERT ")));
    buf_add(b, g->way->insert);
    buf_add(b, str_slice(sql, strlen("INSERT"), from));
    for (size_t i = 0; i < gather_sizes[size]; i++) {
        buf_add(b, i ? STR(", ") : STR(""));
        gather_add_marks(b, str_slice(sql, from, end), i * k->args, g->way->mark);
    }
    buf_add(b, str_slice(sql, end, sql.n));
    buf_add_c(b, '\0');
    assert(!buf_full(b));
    return b->p;
}

/* ---- rows ---- */

static bool gather_send_kind(struct db_gather *g, struct gather_kind *k, struct err *e)
{
    size_t done = 0, count = k->count;

    assert(count <= g->way->rows_max);
    k->count = 0;
    for (size_t i = 0; i < GATHER_SIZES; i++)
        for (; count - done >= gather_sizes[i]; done += gather_sizes[i]) {
            const struct db_value *values = k->values + done * k->args;

            if (!g->way->run(g->db, gather_text(g, k, i), values, gather_sizes[i] * k->args, e))
                return false;
        }
    assert(done == count);
    return true;
}

bool db_gather_send(struct db_gather *g, struct err *e)
{
    bool ok = true;

    if (!g || g->bytes == 0)
        return true;
    for (size_t i = 0; ok && i < g->kind_count; i++)
        ok = gather_send_kind(g, &g->kinds[i], e);
    db_gather_drop(g);
    return ok;
}

static struct gather_kind *gather_find_kind(struct db_gather *g, const char *sql, size_t n)
{
    struct gather_kind *k;

    for (size_t i = 0; i < g->kind_count; i++)
        if (g->kinds[i].sql == sql)
            return &g->kinds[i];
    if (g->kind_count == GATHER_KINDS)
        return NULL;
    k = &g->kinds[g->kind_count++];
    assert(n > 0 && g->kind_count <= GATHER_KINDS);
    *k = (struct gather_kind){
        .sql = sql, .args = n, .updates = str_find(str_c(sql), STR(" DO UPDATE ")) != STR_NONE};
    for (size_t i = 0; i < GATHER_SIZES; i++)
        buf_init(&k->texts[i], GATHER_SQL_MAX);
    k->values = base_alloc(g->way->rows_max * n * sizeof *k->values);
    return k;
}

static bool gather_has_key(const struct gather_kind *k, str key)
{
    for (size_t i = 0; i < k->count; i++)
        if (str_eq(k->values[i * k->args].s, key))
            return true;
    return false;
}

/* Sends those rows beside which a row of this key may not wait. */
static bool gather_make_way(struct db_gather *g, const struct gather_kind *k, str key,
                            struct err *e)
{
    bool ok = true;

    for (size_t i = 0; ok && k->updates && i < g->kind_count; i++) {
        struct gather_kind *other = &g->kinds[i];

        if (other->updates && (other != k || gather_has_key(k, key)))
            ok = gather_send_kind(g, other, e);
    }
    return ok;
}

static bool gather_has_text(const struct db_value *v)
{
    return v->type == DB_TEXT || v->type == DB_BLOB;
}

/* All texts of a row are one piece of memory; each ends with a NUL. */
static void gather_copy_row(struct db_gather *g, struct db_value *to, const struct db_value *args,
                            size_t n)
{
    size_t size = 0;
    char *p;

    for (size_t i = 0; i < n; i++)
        size += gather_has_text(&args[i]) ? args[i].s.n + 1 : 0;
    p = arena_alloc(&g->arena, size);
    for (size_t i = 0; i < n; i++) {
        to[i] = args[i];
        if (!gather_has_text(&args[i]))
            continue;
        to[i].s.p = p;
        p = str_put(p, args[i].s);
        *p++ = '\0';
    }
    g->bytes += n * sizeof *to + size;
}

bool db_gather_put(struct db_gather *g, const char *sql, const struct db_value *args, size_t n,
                   struct err *e)
{
    struct gather_kind *k = gather_find_kind(g, sql, n);

    if (!k)
        return db_gather_send(g, e) && g->way->run(g->db, sql, args, n, e);
    assert(k->args == n);
    if ((g->bytes > g->way->rows_max * GATHER_ROW_SIZE && !db_gather_send(g, e)) ||
        !gather_make_way(g, k, args[0].s, e))
        return false;
    assert(k->count < g->way->rows_max);
    gather_copy_row(g, k->values + k->count * n, args, n);
    return ++k->count < g->way->rows_max || gather_send_kind(g, k, e);
}

void db_gather_drop(struct db_gather *g)
{
    if (!g)
        return;
    assert(g->kind_count <= GATHER_KINDS);
    for (size_t i = 0; i < g->kind_count; i++)
        g->kinds[i].count = 0;
    arena_reset(&g->arena);
    g->bytes = 0;
}

struct db_gather *db_gather_new(struct db *db, const struct db_gather_way *way)
{
    struct db_gather *g = base_alloc(sizeof *g);

    *g = (struct db_gather){.db = db, .way = way};
    arena_init(&g->arena, GATHER_ARENA_MAX);
    return g;
}

void db_gather_free(struct db_gather *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->kind_count; i++) {
        for (size_t t = 0; t < GATHER_SIZES; t++)
            buf_release(&g->kinds[i].texts[t]);
        free(g->kinds[i].values);
    }
    arena_release(&g->arena);
    free(g);
}
