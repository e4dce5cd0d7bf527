/* SPDX-License-Identifier: Apache-2.0 */
#include "store_help.h"

#include "postgres_help.h"
#include "store/row.h"
#include "store/words.h"

#include "base/file.h"
#include "base/rand.h"
#include "store/engine_state.h"
#include "store/store_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <unistd.h>

struct count {
    struct store_ticket ticket; /* first */
    _Atomic unsigned *stored, *refused;
    _Atomic enum err_code *code;
};

void postgres_away(struct place *p, bool away)
{
    char sql[300];

    snprintf(sql,
             sizeof sql,
             "ALTER DATABASE \"%s\" WITH ALLOW_CONNECTIONS %s",
             p->database,
             away ? "false" : "true");
    postgres_do("postgres", sql);
    snprintf(sql,
             sizeof sql,
             "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'",
             p->database);
    if (away)
        postgres_do("postgres", sql);
}

void database_away(struct place *p, bool away)
{
    sqlite3 *db = p->held;

    if (p->postgres) {
        postgres_away(p, away);
    } else if (away) {
        CHECK_INT(sqlite3_open(p->path, &db), SQLITE_OK);
        sqlite3_busy_timeout(db, 10000);
        CHECK_INT(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        p->held = db;
    } else {
        CHECK_INT(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
    }
}

static void begin_place(struct place *p, bool empty)
{
    *p = (struct place){0};
    snprintf(p->dir, sizeof p->dir, "%s/store_test.XXXXXX", test_tmp());
    CHECK(mkdtemp(p->dir));
    snprintf(p->path, sizeof p->path, "%s/rationale.db", p->dir);
    snprintf(p->spool, sizeof p->spool, "%s.spool", p->path);
    snprintf(p->url, sizeof p->url, "sqlite:%s", p->path);
    if (getenv("RATIONALE_TEST_POSTGRES")) {
        snprintf(p->database, sizeof p->database, "t_%s", strrchr(p->dir, '.') + 1);
        postgres_create(p->database, empty ? NULL : store_tables_of(INT_MAX));
        postgres_url(p->database, p->url, sizeof p->url);
        p->postgres = true;
    }
    log_init(&p->quiet, open("/dev/null", O_WRONLY | O_CLOEXEC), LOG_ERROR, &clock_real);
    log_scope_enter(&p->scope, &p->quiet, STR(""));
}

void place_init(struct place *p)
{
    begin_place(p, false);
}

void place_init_empty(struct place *p)
{
    begin_place(p, true);
}

/* PostgreSQL starts a process for each connection, so the last one stays open until its database is
 * dropped. */
static struct {
    struct db *db;
    char url[300];
} rows_from;

static void rows_reader_close(void)
{
    db_close(rows_from.db);
    rows_from.db = NULL;
}

static struct db *rows_reader(struct store *s)
{
    struct err e;

    if (rows_from.db && strcmp(rows_from.url, s->engine->url) == 0)
        return rows_from.db;
    rows_reader_close();
    snprintf(rows_from.url, sizeof rows_from.url, "%s", s->engine->url);
    CHECK_F(db_open(str_c(rows_from.url), DB_READ, &rows_from.db, &e), "%s", e.text);
    return rows_from.db;
}

void place_release(struct place *p)
{
    char rm[96];

    rows_reader_close();
    if (p->postgres)
        postgres_drop(p->database);
    log_scope_leave(&p->scope);
    close(p->quiet.fd);
    snprintf(rm, sizeof rm, "rm -rf %s", p->dir);
    CHECK_INT(system(rm), 0);
}

struct store_options options(struct place *p)
{
    return (struct store_options){
        .url = str_c(p->url), .spool = str_c(p->spool), .clock = &clock_real, .log = &p->quiet};
}

struct store *open_store(struct place *p)
{
    struct store_options o = options(p);
    struct store *s = NULL;
    struct err e;

    CHECK_F(store_open(&o, &s, &e), "%s", e.text);
    return s;
}

void settle(struct store *s)
{
    struct err e;

    CHECK_F(store_settle(s, SETTLE_MS, &e), "%s", e.text);
}

/* Bypasses our own driver, which would check the version first. */
static long long ask_sqlite(struct place *p, const char *sql)
{
    long long out = -1;
    sqlite3_stmt *st;
    sqlite3 *db;

    CHECK_INT(sqlite3_open(p->path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    CHECK_F(sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    if (sqlite3_step(st) == SQLITE_ROW)
        out = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return out;
}

long long ask(struct place *p, const char *sql)
{
    return p->postgres ? postgres_ask(p->database, sql) : ask_sqlite(p, sql);
}

struct words_count {
    struct words_query query;
    unsigned fields;
    long long n;
};

/* Counts the word in the texts of an entry, with or without a call. */
static void count_entry(struct words_count *c, str entry)
{
    struct block_texts t;
    struct words_hit hit;
    struct arena a;
    struct err e;

    if (entry.n == 0)
        return;
    arena_init(&a, (size_t)1 << 30);
    CHECK_F(block_entry_get(entry, &a, &t, &e), "%s", e.text);
    c->n += words_match(&c->query, t.text, c->fields, false, &hit);
    arena_release(&a);
}

static bool count_block(void *ctx, const struct db_value *v, size_t n)
{
    struct block_view view;
    struct arena a;
    struct err e;

    CHECK_INT(n, 1);
    arena_init(&a, (size_t)1 << 30);
    CHECK_F(block_open(v[0].s, &a, &view, &e), "%s", e.text);
    for (size_t i = 0; i < view.count; i++)
        count_entry(ctx, block_entry(&view, i));
    arena_release(&a);
    return true;
}

static bool count_text(void *ctx, const struct db_value *v, size_t n)
{
    CHECK_INT(n, 1);
    count_entry(ctx, v[0].s);
    return true;
}

long long words(struct place *p, const char *table, const char *word)
{
    bool calls = strcmp(table, "interactions") == 0;
    struct words_count c = {.fields = calls ? 1u << BLOCK_ASKED | 1u << BLOCK_ANSWER |
                                                  1u << BLOCK_REASONING | 1u << BLOCK_ERROR
                                            : 1u << BLOCK_DECISION};
    struct arena a;
    struct db *db;
    struct err e;

    arena_init(&a, 1 << 20);
    CHECK(words_query_parse(str_c(word), NULL, 0, &a, &c.query));
    CHECK_F(db_open(str_c(p->url), DB_READ, &db, &e), "%s", e.text);
    CHECK_F(
        db_query(
            db, "SELECT texts FROM call_blocks", NULL, 0, (struct db_rows){count_block, &c}, &e),
        "%s",
        e.text);
    CHECK_F(
        db_query(db, "SELECT texts FROM call_texts", NULL, 0, (struct db_rows){count_text, &c}, &e),
        "%s",
        e.text);
    db_close(db);
    arena_release(&a);
    return c.n;
}

void do_sql(struct place *p, const char *sql)
{
    char *why = NULL;
    sqlite3 *db;

    if (p->postgres) {
        postgres_do(p->database, sql);
        return;
    }
    CHECK_INT(sqlite3_open(p->path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    CHECK_F(sqlite3_exec(db, sql, NULL, NULL, &why) == SQLITE_OK, "%s", why);
    sqlite3_close(db);
}

struct packed {
    struct arena arena;
    struct block_view view;
};

static bool open_packed(void *ctx, const struct db_value *columns, size_t n)
{
    struct packed *b = ctx;
    struct err e;

    CHECK_INT(n, 1);
    CHECK_F(block_open(columns[0].s, &b->arena, &b->view, &e), "%s", e.text);
    return false;
}

void block_change(struct place *p, long long block, size_t (*edit)(str *entries, size_t n))
{
    struct db_value args[4] = {db_int(block)};
    struct packed b = {0};
    struct block again;
    struct buf out;
    struct db *db;
    struct err e;
    str *entries;
    size_t n;

    arena_init(&b.arena, (size_t)64 << 20);
    buf_init(&out, (size_t)64 << 20);
    block_init(&again);
    CHECK_F(db_open(str_c(p->url), DB_BESIDE, &db, &e), "%s", e.text);
    CHECK_F(db_query(db,
                     "SELECT texts FROM call_blocks WHERE block = $1",
                     args,
                     1,
                     (struct db_rows){open_packed, &b},
                     &e),
            "%s",
            e.text);
    CHECK_F(b.view.count > 0, "no block %lld", block);
    entries = arena_alloc(&b.arena, (b.view.count + 1) * sizeof *entries);
    for (size_t i = 0; i < b.view.count; i++)
        entries[i] = block_entry(&b.view, i);
    n = edit(entries, b.view.count);
    for (size_t i = 0; i < n; i++)
        block_add(&again, entries[i]);
    CHECK_F(block_pack(&again, &out, &e), "%s", e.text);
    args[1] = db_blob(buf_str(&out));
    args[2] = db_int((int64_t)n);
    args[3] = db_int((int64_t)block_size(&again));
    CHECK_F(db_run(db,
                   "UPDATE call_blocks SET texts = $2, calls = $3, raw_size = $4 WHERE block = $1",
                   args,
                   4,
                   &e),
            "%s",
            e.text);
    db_close(db);
    block_release(&again);
    buf_release(&out);
    arena_release(&b.arena);
}

static void on_stored(struct store_ticket *t, const struct err *e)
{
    struct count *c = (struct count *)(void *)t;

    if (e && c->code)
        *c->code = e->code;
    atomic_fetch_add(e ? c->refused : c->stored, 1);
    free(c);
}

void put_counted(struct store *s, const struct store_call *row, _Atomic unsigned *stored,
                 _Atomic unsigned *refused)
{
    struct count *c = base_alloc(sizeof *c);

    *c = (struct count){{.fn = on_stored}, stored, refused, NULL};
    store_call_put(s, row, &c->ticket);
}

void add_prose(struct buf *b, uint64_t seed, size_t size, unsigned numbers, str after)
{
    struct rand r;
    size_t end = b->n + size;

    rand_init(&r, seed);
    while (b->n < end) {
        uint64_t x = rand_u64(&r), number = (x >> 32) % numbers;
        int shift = number > 0xfff ? 12 : number > 0xff ? 8 : number > 0xf ? 4 : 0;
        char word[5] = {'a' + (char)(x % 26)};
        size_t n = 1;

        for (; shift >= 0; shift -= 4)
            word[n++] = "0123456789abcdef"[number >> shift & 15];
        buf_add(b, (str){word, n});
        buf_add(b, after);
    }
}

void sample_fill(struct sample *m, unsigned who, unsigned n)
{
    size_t size = 100 + (who * 131 + n * 37) % 2500;
    struct rand r;

    rand_init(&r, who * 1000003ull + n);
    for (size_t i = 0; i < size; i++)
        m->body[i] = (char)('a' + rand_below(&r, n % 2 ? 3 : 26));
    snprintf(m->id, sizeof m->id, "%u-%u", who, n);
    snprintf(m->session, sizeof m->session, "s%u", who % 5);
    m->row = store_call_none;
    m->row.id = str_c(m->id);
    m->row.session_id = str_c(m->session);
    m->row.started_ms = 1000 + n;
    m->row.complete = true;
    m->row.request = (str){m->body, size};
    m->row.reply = (str){m->body, size / 2};
    m->row.reasoning = (str){m->body, size / 3};
}

/* Whether a row is exactly the one that sample_fill generated. */
static bool is_sample(const struct store_call *row)
{
    static struct sample m;
    unsigned who, n;
    char id[32];

    snprintf(id, sizeof id, STR_FMT, STR_ARG(row->id));
    if (sscanf(id, "%u-%u", &who, &n) != 2)
        return false;
    sample_fill(&m, who, n);
    return str_eq(m.row.id, row->id) && str_eq(m.row.request, row->request) &&
           str_eq(m.row.reply, row->reply) && str_eq(m.row.reasoning, row->reasoning) &&
           str_eq(m.row.session_id, row->session_id) && m.row.started_ms == row->started_ms &&
           row->complete;
}

struct stored_row {
    struct db_value columns[ENGINE_COLUMNS_MAX];
    size_t n;
};

struct stored_rows {
    struct arena arena;
    struct stored_row *rows;
    size_t count;
};

static bool keep_row(void *ctx, const struct db_value *columns, size_t n)
{
    struct stored_rows *all = ctx;
    struct stored_row *row;

    CHECK(n <= ENGINE_COLUMNS_MAX);
    all->rows = base_realloc(all->rows, (all->count + 1) * sizeof all->rows[0]);
    row = &all->rows[all->count++];
    row->n = n;
    for (size_t i = 0; i < n; i++) {
        row->columns[i] = columns[i];
        row->columns[i].s = arena_dup(&all->arena, columns[i].s);
    }
    return true;
}

/* Rows and their texts come from one snapshot, because a mover or an erasure may run. */
static bool read_rows(struct store *s, const char *where, const struct db_value *args, size_t n,
                      struct store_row_sink sink, struct err *e)
{
    struct stored_rows all = {0};
    struct texts texts;
    struct arena arena;
    struct buf sql;
    struct db *db;
    bool ok;

    db = rows_reader(s);
    buf_init(&sql, 65536);
    buf_add(&sql, STR("SELECT "));
    engine_columns(&sql, false);
    buf_printf(&sql, " FROM llm_interactions %s%c", where, '\0');
    arena_init(&all.arena, ENGINE_ARENA_MAX);
    arena_init(&arena, ENGINE_ARENA_MAX);
    texts_init(&texts, db);
    ok =
        db_begin(db, false, e) && db_query(db, sql.p, args, n, (struct db_rows){keep_row, &all}, e);
    for (size_t i = 0; ok && i < all.count; i++) {
        struct texts_place place;
        struct store_call row;

        arena_reset(&arena);
        engine_row_read(all.rows[i].columns, all.rows[i].n, &place, &row);
        ok = texts_read(&texts, &place, &arena, &row, e);
        if (ok && !sink.on_call(sink.ctx, &row))
            break;
    }
    ok = ok && (all.count > 0 || n == 0 || err_set(e, ERR_NOT_FOUND, "no such call"));
    db_rollback(db);
    texts_release(&texts);
    arena_release(&arena);
    arena_release(&all.arena);
    free(all.rows);
    buf_release(&sql);
    if (db_kind(db) == DB_SQLITE)
        rows_reader_close();
    return ok;
}

bool stored_call(struct store *s, str id, struct store_row_sink sink, struct err *e)
{
    return read_rows(s, "WHERE interaction_id = $1", DB_ARGS(db_text(id)), sink, e);
}

bool stored_calls(struct store *s, struct store_row_sink sink, struct err *e)
{
    return read_rows(s, "ORDER BY started_ms DESC, call_n DESC", DB_NO_ARGS, sink, e);
}

bool check_sample(void *ctx, const struct store_call *row)
{
    CHECK_F(is_sample(row), STR_FMT, STR_ARG(row->id));
    (*(unsigned *)ctx)++;
    return true;
}

unsigned samples_in(struct store *s)
{
    unsigned count = 0;
    struct err e;

    CHECK_F(stored_calls(s, (struct store_row_sink){check_sample, &count}, &e), "%s", e.text);
    return count;
}

bool same_row(void *ctx, const struct store_call *got)
{
    struct expected *x = ctx;
    struct store_call want = *x->row;

    if (want.session_id.n == 0)
        want.session_id = want.id; /* a call without a session is a session by itself */
    for (size_t i = 0; i < row_field_count; i++) {
        const struct row_field *f = &row_fields[i];
        const char *a = (const char *)&want + f->at, *b = (const char *)got + f->at;
        bool same = f->kind <= ROW_BODY
                        ? str_eq(*(const str *)(const void *)a, *(const str *)(const void *)b)
                    : f->kind == ROW_BOOL ? *(const bool *)a == *(const bool *)b
                    : f->kind == ROW_INT  ? memcmp(a, b, sizeof(int)) == 0
                                          : memcmp(a, b, 8) == 0;

        CHECK_F(same, "%s", f->column);
    }
    x->seen++;
    return true;
}

struct audit_report verify_by(struct place *p, struct db *db)
{
    char head[FILE_PATH_MAX];
    struct audit_report r;
    struct err e;

    CHECK_F(audit_head_path(str_c(p->url), str_c(p->spool), head, sizeof head, &e), "%s", e.text);
    CHECK_F(audit_verify(db, head, &r, &e), "%s", e.text);
    return r;
}

struct db *open_reader(struct place *p)
{
    struct db *db;
    struct err e;

    CHECK_F(db_open(str_c(p->url), DB_READ, &db, &e), "%s", e.text);
    return db;
}

struct audit_report verify(struct place *p)
{
    struct db *db = open_reader(p);
    struct audit_report r = verify_by(p, db);

    db_close(db);
    return r;
}

static bool holds(const char *path, str needle)
{
    static char bytes[1 << 16];
    size_t keep = 0, n;
    FILE *f = fopen(path, "rb");
    bool found = false;

    if (!f)
        return false;
    while (!found && (n = fread(bytes + keep, 1, sizeof bytes - keep, f)) > 0) {
        str all = {bytes, keep + n};

        found = str_find(all, needle) != STR_NONE;
        keep = all.n < needle.n ? all.n : needle.n - 1;
        memmove(bytes, bytes + all.n - keep, keep);
    }
    fclose(f);
    return found;
}

bool anywhere(struct place *p, str needle)
{
    const char *folders[] = {p->dir, p->spool};
    char path[600];
    bool found = false;

    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        DIR *d = opendir(folders[i]);
        struct dirent *de;

        while (d && (de = readdir(d))) {
            snprintf(path, sizeof path, "%s/%s", folders[i], de->d_name);
            found |= de->d_type == DT_REG && holds(path, needle);
        }
        if (d)
            closedir(d);
    }
    return found;
}

/* PostgreSQL's files are not readable here, so this searches the tables. Bytes are in
 * hexadecimal. */
bool in_tables(struct place *p, const char *needle)
{
    char sql[700];

    if (!p->postgres)
        return anywhere(p, str_c(needle));
    snprintf(sql,
             sizeof sql,
             "SELECT count(*) FROM (SELECT query_to_xml(format('SELECT x::text FROM %%I x',"
             " table_name), false, false, '')::text AS rows FROM information_schema.tables WHERE"
             " table_schema = 'public' AND table_type = 'BASE TABLE') t WHERE rows LIKE '%%%s%%' OR"
             " rows LIKE '%%' || encode('%s'::bytea, 'hex') || '%%'",
             needle,
             needle);
    return ask(p, sql) > 0;
}
