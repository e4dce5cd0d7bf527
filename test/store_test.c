/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/rand.h"
#include "store/journal.h"
#include "store/row.h"
#include "store/schema.h"
#include "store/store.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETTLE_MS 60000

struct place {
    char dir[64], path[96], url[128];
    struct log quiet;
    struct log_scope scope;
};

static void place_init(struct place *p)
{
    snprintf(p->dir, sizeof p->dir, "/tmp/store_test.XXXXXX");
    CHECK(mkdtemp(p->dir));
    snprintf(p->path, sizeof p->path, "%s/rationale.db", p->dir);
    snprintf(p->url, sizeof p->url, "sqlite:%s", p->path);
    log_init(&p->quiet, open("/dev/null", O_WRONLY | O_CLOEXEC), LOG_ERROR, &clock_real);
    log_scope_enter(&p->scope, &p->quiet, STR(""));
}

static void place_release(struct place *p)
{
    char rm[96];

    log_scope_leave(&p->scope);
    close(p->quiet.fd);
    snprintf(rm, sizeof rm, "rm -rf %s", p->dir);
    CHECK_INT(system(rm), 0);
}

static struct store_options options(struct place *p)
{
    return (struct store_options){.url = str_c(p->url), .clock = &clock_real, .log = &p->quiet};
}

static struct store *open_store(struct place *p)
{
    struct store_options o = options(p);
    struct store *s = NULL;
    struct err e;

    CHECK_F(store_open(&o, &s, &e), "%s", e.text);
    return s;
}

static void settle(struct store *s)
{
    struct err e;

    CHECK_F(store_settle(s, SETTLE_MS, &e), "%s", e.text);
}

/* One number, by a connection of its own. */
static long long ask(struct place *p, const char *sql)
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

static void do_sql(struct place *p, const char *sql)
{
    char *why = NULL;
    sqlite3 *db;

    CHECK_INT(sqlite3_open(p->path, &db), SQLITE_OK);
    CHECK_F(sqlite3_exec(db, sql, NULL, NULL, &why) == SQLITE_OK, "%s", why);
    sqlite3_close(db);
}

struct count {
    struct store_ticket ticket; /* first */
    _Atomic unsigned *stored, *refused;
    _Atomic enum err_code *code;
};

static void on_stored(struct store_ticket *t, const struct err *e)
{
    struct count *c = (struct count *)(void *)t;

    if (e && c->code)
        *c->code = e->code;
    atomic_fetch_add(e ? c->refused : c->stored, 1);
    free(c);
}

static void put_counted(struct store *s, const struct store_call *row, _Atomic unsigned *stored,
                        _Atomic unsigned *refused)
{
    struct count *c = base_alloc(sizeof *c);

    *c = (struct count){{on_stored, NULL}, stored, refused, NULL};
    store_call_put(s, row, &c->ticket);
}

/* A row that can be told from its number alone. */
struct sample {
    char id[32], session[16], body[3000];
    struct store_call row;
};

static void sample_fill(struct sample *m, unsigned who, unsigned n)
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

/* Whether a row is just as sample_fill made it. */
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

static bool check_sample(void *ctx, const struct store_call *row)
{
    CHECK_F(is_sample(row), STR_FMT, STR_ARG(row->id));
    (*(unsigned *)ctx)++;
    return true;
}

static unsigned samples_in(struct store *s)
{
    unsigned count = 0;
    struct err e;

    CHECK_F(store_call_list(s, STR(""), 10000, (struct store_row_sink){check_sample, &count}, &e),
            "%s",
            e.text);
    return count;
}

/* ---- rows ---- */

struct expected {
    const struct store_call *row;
    unsigned seen;
};

static bool same_row(void *ctx, const struct store_call *got)
{
    struct expected *x = ctx;

    for (size_t i = 0; i < row_field_count; i++) {
        const struct row_field *f = &row_fields[i];
        const char *a = (const char *)x->row + f->at, *b = (const char *)got + f->at;
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

/* Each field has a value of its own; `seed` chooses how long the texts are. */
static struct store_call every_field(struct arena *a, unsigned seed)
{
    static const size_t sizes[] = {1, 511, 512, 513, 20000};
    struct store_call c = store_call_none;
    struct rand r;

    rand_init(&r, seed);
    for (size_t i = 0; i < row_field_count; i++) {
        const struct row_field *f = &row_fields[i];
        char *at = (char *)&c + f->at, *p;
        size_t n = sizes[(i + seed) % COUNT_OF(sizes)];

        if (f->kind <= ROW_BODY) {
            p = arena_alloc(a, n);
            for (size_t k = 0; k < n; k++)
                p[k] = (char)rand_below(&r, seed % 2 ? 256 : 4); /* any byte, or what packs well */
            *(str *)(void *)at = (str){p, n};
        } else if (f->kind == ROW_BOOL) {
            *(bool *)at = rand_below(&r, 2);
        } else if (f->kind == ROW_INT) {
            *(int *)(void *)at = (int)rand_below(&r, 600);
        } else if (f->kind == ROW_COST) {
            *(double *)(void *)at = (double)rand_below(&r, 1000) / 7;
        } else {
            *(int64_t *)(void *)at = (int64_t)rand_below(&r, INT64_MAX);
        }
    }
    c.id = arena_printf(a, "id-%u", seed);
    return c;
}

TEST(every_field_comes_back_as_it_was_put)
{
    struct store_call rows[12];
    struct arena a;
    struct place p;
    struct store *s;
    struct err e;

    place_init(&p);
    arena_init(&a, 64 << 20);
    s = open_store(&p);
    for (unsigned i = 0; i < 11; i++) {
        rows[i] = every_field(&a, i);
        store_call_put(s, &rows[i], NULL);
    }
    rows[11] = store_call_none;
    rows[11].id = STR("nothing else");
    store_call_put(s, &rows[11], NULL);
    settle(s);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 12; i++) {
            struct expected x = {&rows[i], 0};

            CHECK_F(store_call_get(s, rows[i].id, (struct store_row_sink){same_row, &x}, &e),
                    "%s",
                    e.text);
            CHECK_INT(x.seen, 1);
        }
        store_close(s);
        s = open_store(&p); /* and so they do the next time */
    }
    CHECK(!store_call_get(s, STR("not there"), (struct store_row_sink){same_row, NULL}, &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
    store_close(s);
    arena_release(&a);
    place_release(&p);
}

struct ids {
    char text[400];
    unsigned n_max;
};

static bool add_id(void *ctx, const struct store_call *row)
{
    struct ids *ids = ctx;
    size_t n = strlen(ids->text);

    snprintf(ids->text + n, sizeof ids->text - n, STR_FMT " ", STR_ARG(row->id));
    return --ids->n_max > 0;
}

TEST(the_newest_are_listed_first_and_page_by_page)
{
    static const struct {
        const char *before;
        unsigned n_max, stop;
        const char *ids;
    } cases[] = {
        {"", 10, 10, "c b2 b1 a none "},
        {"", 2, 10, "c b2 "},
        {"b2", 2, 10, "b1 a "},
        {"a", 10, 10, "none "},
        {"none", 10, 10, ""},
        {"", 10, 1, "c "},
    };
    static const struct {
        const char *id;
        int64_t ms;
    } rows[] = {{"b1", 20}, {"a", 10}, {"c", 30}, {"b2", 20}, {"none", -1}};
    struct place p;
    struct store *s;
    struct err e;

    place_init(&p);
    s = open_store(&p);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct store_call row = store_call_none;

        row.id = str_c(rows[i].id);
        row.started_ms = rows[i].ms;
        store_call_put(s, &row, NULL);
    }
    settle(s);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct ids ids = {"", cases[i].stop};

        CHECK(store_call_list(
            s, str_c(cases[i].before), cases[i].n_max, (struct store_row_sink){add_id, &ids}, &e));
        CHECK_STR(str_c(ids.text), cases[i].ids);
    }
    CHECK(!store_call_list(s, STR("x"), 9, (struct store_row_sink){add_id, NULL}, &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
    store_close(s);
    place_release(&p);
}

TEST(a_call_put_twice_is_one_row_and_counts_once)
{
    static struct sample m;
    _Atomic unsigned stored = 0, refused = 0;
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    for (unsigned i = 0; i < 6; i++) {
        sample_fill(&m, 1, i % 3);
        put_counted(s, &m.row, &stored, &refused);
    }
    settle(s);
    CHECK_INT(stored, 6);
    CHECK_INT(samples_in(s), 3);
    CHECK_INT(ask(&p, "SELECT call_count FROM alert_sessions WHERE session_id = 's1'"), 3);
    CHECK_INT(ask(&p, "SELECT first_seen_ms FROM alert_sessions"), 1000);
    CHECK_INT(ask(&p, "SELECT last_seen_ms FROM alert_sessions"), 1002);
    store_close(s);
    place_release(&p);
}

/* ---- many at once ---- */

#define THREADS 64u
#define EACH 60u

struct putter {
    struct store *s;
    unsigned who;
    _Atomic unsigned *stored, *refused;
    pthread_t thread;
};

static void *put_many(void *arg)
{
    struct putter *t = arg;
    struct sample *m = base_alloc(sizeof *m);

    for (unsigned n = 0; n < EACH; n++) {
        sample_fill(m, t->who, n);
        put_counted(t->s, &m->row, t->stored, t->refused);
    }
    free(m);
    return NULL;
}

TEST(what_many_threads_put_is_there_once)
{
    static struct putter threads[THREADS];
    _Atomic unsigned stored = 0, refused = 0;
    struct store_health h;
    struct place p;
    struct store *s;

    place_init(&p);
    s = open_store(&p);
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i] = (struct putter){s, i, &stored, &refused, 0};
        CHECK_INT(pthread_create(&threads[i].thread, NULL, put_many, &threads[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i].thread, NULL);
    settle(s);
    CHECK(stored == THREADS * EACH && refused == 0);
    CHECK_INT(samples_in(s), THREADS * EACH);
    store_health(s, &h);
    CHECK(h.ok && h.tables_ok && h.stored == THREADS * EACH && h.commits <= h.stored);
    CHECK_INT(h.journal_bytes, 0);
    CHECK(h.queue_bytes == 0 && h.free_bytes > 0);
    store_close(s);
    CHECK_INT(ask(&p, "SELECT sum(call_count) FROM alert_sessions"), THREADS * EACH);
    place_release(&p);
}

/* ---- death ---- */

struct report {
    struct store_ticket ticket; /* first */
    int pipe;
    unsigned n;
};

static void report_ack(struct store_ticket *t, const struct err *e)
{
    struct report *r = (struct report *)(void *)t;

    if (!e && write(r->pipe, &r->n, sizeof r->n) != sizeof r->n)
        _exit(3);
    free(r);
}

/* Puts until it is killed. Also leaves a call that never ends, with pieces. */
static void NORETURN put_until_killed(struct place *p, unsigned cycle, int pipe)
{
    struct sample *m = base_alloc(sizeof *m);
    struct store *s = open_store(p);

    for (unsigned n = 0; n < 100000; n++) {
        struct report *r = base_alloc(sizeof *r);
        struct store_health h;

        sample_fill(m, cycle, n);
        *r = (struct report){{report_ack, NULL}, pipe, n};
        store_call_put(s, &m->row, &r->ticket);
        do {
            store_health(s, &h);
            if (h.queue_bytes > 256 << 10)
                usleep(200);
        } while (h.queue_bytes > 256 << 10);
    }
    pause();
    _exit(0);
}

TEST(what_was_acknowledged_outlives_kill_9)
{
    enum { CYCLES = 30 };
    static unsigned acked[CYCLES][100000], count[CYCLES];
    unsigned all = 0, kept;
    struct rand r;
    struct place p;
    struct store *s;

    place_init(&p);
    rand_init_os(&r);
    for (unsigned c = 0; c < CYCLES; c++) {
        unsigned ms = (unsigned)rand_between(&r, 1, c % 3 == 0 ? 8 : 60), n;
        int ends[2], status;
        pid_t child;

        CHECK_INT(pipe(ends), 0);
        child = fork();
        CHECK(child >= 0);
        if (child == 0)
            put_until_killed(&p, c, ends[1]);
        close(ends[1]);
        usleep(ms * 1000);
        kill(child, SIGKILL);
        while (read(ends[0], &n, sizeof n) == sizeof n)
            acked[c][count[c]++] = n;
        CHECK_INT(waitpid(child, &status, 0), child);
        CHECK_F(WIFSIGNALED(status), "it ended by itself: %d", status);
        close(ends[0]);
        all += count[c];
    }
    s = open_store(&p);
    settle(s);
    for (unsigned c = 0; c < CYCLES; c++)
        for (unsigned i = 0; i < count[c]; i++) {
            char id[32];
            unsigned seen = 0;
            struct err e;

            snprintf(id, sizeof id, "%u-%u", c, acked[c][i]);
            CHECK_F(store_call_get(s, str_c(id), (struct store_row_sink){check_sample, &seen}, &e),
                    "%s: %s",
                    id,
                    e.text);
            CHECK_INT(seen, 1);
        }
    kept = (unsigned)ask(&p, "SELECT count(*) FROM llm_interactions");
    CHECK(kept >= all);
    CHECK_INT(ask(&p, "SELECT count(DISTINCT interaction_id) FROM llm_interactions"), kept);
    CHECK_INT(ask(&p, "SELECT sum(call_count) FROM alert_sessions"), kept);
    print_message("%u cycles, %u acknowledged, %u kept\n", (unsigned)CYCLES, all, kept);
    store_close(s);
    place_release(&p);
}

/* A process that dies in the middle of three calls: one that was begun and has pieces, one with
 * pieces alone, one that ended. */
static void NORETURN die_in_a_call(struct place *p)
{
    static const char *const parts[] = {"Let me ", "see", ""};
    struct store_call row = store_call_none;
    struct store *s = open_store(p);
    struct err e;

    row.id = STR("begun");
    row.session_id = STR("s");
    row.model = STR("m");
    row.started_ms = 77;
    row.request = STR("{}");
    store_call_begin(s, &row);
    for (unsigned i = 0; i < 3; i++) {
        struct store_piece piece = {STR("begun"), i, STR("reasoning"), str_c(parts[i])};

        store_piece_put(s, &piece);
        piece.id = STR("alone");
        piece.kind = STR("answer");
        store_piece_put(s, &piece);
        piece.id = STR("ended");
        store_piece_put(s, &piece);
    }
    row.id = STR("ended");
    row.complete = true;
    row.answer = STR("done");
    store_call_put(s, &row, NULL);
    _exit(store_settle(s, SETTLE_MS, &e) ? 0 : 1);
}

TEST(a_call_cut_off_by_death_is_a_row_of_its_pieces)
{
    struct store_call begun = store_call_none, alone = store_call_none, ended = store_call_none;
    struct place p;
    struct store *s;
    int status;
    pid_t child;
    struct err e;

    place_init(&p);
    child = fork();
    if (child == 0)
        die_in_a_call(&p);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_INT(ask(&p, "SELECT count(*) FROM llm_interactions"), 1);
    s = open_store(&p);
    settle(s);
    begun.id = STR("begun");
    begun.session_id = STR("s");
    begun.model = STR("m");
    begun.started_ms = 77;
    begun.request = STR("{}");
    begun.reasoning = STR("Let me see");
    begun.has_reasoning = true;
    begun.state = STR("unclosed");
    alone.id = STR("alone");
    alone.answer = STR("Let me see");
    begun.error_code = alone.error_code = STR("interrupted");
    begun.error_message = alone.error_message = STR("the process ended before the call did");
    ended = begun;
    ended.id = STR("ended");
    ended.complete = true;
    ended.answer = STR("done");
    ended.has_reasoning = false;
    ended.reasoning = ended.state = ended.error_code = ended.error_message = STR("");
    for (unsigned i = 0; i < 3; i++) {
        const struct store_call *row = i == 0 ? &begun : i == 1 ? &alone : &ended;
        struct expected x = {row, 0};

        CHECK_F(
            store_call_get(s, row->id, (struct store_row_sink){same_row, &x}, &e), "%s", e.text);
        CHECK_INT(x.seen, 1);
    }
    CHECK_INT(ask(&p, "SELECT count(*) FROM call_pieces"), 0);
    store_close(s);
    place_release(&p);
}

/* ---- a journal that is damaged, and one that is taken in again ---- */

static void put_row(const void *row, char *body)
{
    row_call_put(row, body);
}

/* A journal as a process leaves it that never got to its tables. */
static void make_journal(struct place *p, unsigned count, uint64_t segment_size)
{
    static struct sample m;
    char dir[128];
    struct journal_options o = {.dir = dir,
                                .durable = true,
                                .queue_size_max = 1 << 20,
                                .size_max = 64 << 20,
                                .segment_size = segment_size,
                                .clock = &clock_real};
    struct journal *j = NULL;
    struct err e;

    snprintf(dir, sizeof dir, "%s.spool", p->path);
    CHECK_F(journal_open(&o, &j, &e), "%s", e.text);
    CHECK_F(journal_start(j, (struct journal_place){0, 0}, &e), "%s", e.text);
    for (unsigned n = 0; n < count; n++) {
        struct store_health h;

        sample_fill(&m, 3, n);
        journal_put(
            j, &(struct journal_item){FRAME_CALL, row_call_size(&m.row), put_row, &m.row}, NULL);
        do
            journal_health(j, &h); /* one a group, so that segments end */
        while (h.stored <= n);
    }
    journal_free(j);
}

TEST(damage_in_an_older_segment_costs_one_record_and_is_kept_aside)
{
    char path[160], aside[180];
    struct store_health h;
    struct place p;
    struct store *s;
    char byte;
    int fd;

    place_init(&p);
    make_journal(&p, 40, 10000);
    snprintf(path, sizeof path, "%s.spool/%016d.seg", p.path, 1);
    snprintf(aside, sizeof aside, "%s.damaged", path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && pread(fd, &byte, 1, 2000) == 1);
    byte ^= 0x10;
    CHECK(pwrite(fd, &byte, 1, 2000) == 1);
    close(fd);
    s = open_store(&p);
    settle(s);
    CHECK_INT(samples_in(s), 39);
    store_health(s, &h);
    CHECK(h.ok && h.tables_ok && h.errors == 1);
    CHECK(access(path, F_OK) < 0 && access(aside, F_OK) == 0);
    store_close(s);
    place_release(&p);
}

TEST(a_journal_taken_in_again_adds_nothing)
{
    struct place p;
    struct store *s;

    place_init(&p);
    for (unsigned round = 0; round < 3; round++) {
        make_journal(&p, 30, 10000);
        s = open_store(&p);
        settle(s);
        CHECK_INT(samples_in(s), 30);
        store_close(s);
        CHECK_INT(ask(&p, "SELECT sum(call_count) FROM alert_sessions"), 30);
        do_sql(&p, "DELETE FROM store_progress");
    }
    place_release(&p);
}

TEST(a_closed_store_leaves_an_empty_spool)
{
    static struct sample m;
    char spool[128];
    struct segment_list l;
    struct stat st;
    struct place p;
    struct store *s;
    struct err e;

    place_init(&p);
    s = open_store(&p);
    sample_fill(&m, 1, 1);
    store_call_put(s, &m.row, NULL);
    store_close(s);
    snprintf(spool, sizeof spool, "%s.spool", p.path);
    CHECK(segment_list_read(spool, &l, &e));
    CHECK_INT(l.count, 0);
    segment_list_release(&l);
    CHECK(stat(p.path, &st) == 0 && (st.st_mode & 0777) == 0600);
    place_release(&p);
}

/* ---- an engine that is away ---- */

TEST(while_the_database_is_locked_the_journal_takes_it_all)
{
    static struct sample m;
    _Atomic unsigned stored = 0, refused = 0;
    struct store_options o;
    struct store_health h = {0};
    struct store *s = NULL;
    struct place p;
    sqlite3 *db;
    struct err e;
    unsigned n = 0, taken;

    place_init(&p);
    o = options(&p);
    o.journal_size_max = 1 << 20;
    CHECK_F(store_open(&o, &s, &e), "%s", e.text);
    settle(s);
    CHECK_INT(sqlite3_open(p.path, &db), SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    for (; refused < 5; n++) {
        CHECK(n < 100000);
        sample_fill(&m, 9, n);
        put_counted(s, &m.row, &stored, &refused);
    }
    CHECK(!store_settle(s, 50, &e) && e.code == ERR_TIMEOUT);
    store_health(s, &h);
    CHECK(h.journal_bytes <= 1 << 20 && h.journal_bytes > 900 << 10 && h.queue_bytes == 0);
    for (int ms = 0; ms < 20000 && (h.tables_ok || !strstr(h.why, "locked")); ms += 10) {
        usleep(10000);
        store_health(s, &h);
    }
    CHECK_F(!h.tables_ok && strstr(h.why, "locked"), "%s", h.why);
    taken = n - 5;
    CHECK_INT(stored, taken);
    CHECK_INT(ask(&p, "SELECT count(*) FROM llm_interactions"), 0);
    CHECK_INT(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    settle(s);
    CHECK_INT(samples_in(s), taken);
    put_counted(s, &m.row, &stored, &refused);
    settle(s);
    CHECK_INT(stored, taken + 1);
    store_health(s, &h);
    CHECK(h.ok && h.tables_ok && h.why[0] == '\0');
    store_close(s);
    place_release(&p);
}

/* ---- versions, owners, names ---- */

TEST(a_store_of_version_1_is_migrated_and_read)
{
    struct store_call row = store_call_none;
    struct expected x = {&row, 0};
    struct place p;
    struct store *s;
    struct err e;

    place_init(&p);
    CHECK(schema_steps[0].version == 1 && schema_step_count > 1);
    do_sql(&p, schema_steps[0].sql);
    do_sql(&p,
           "CREATE TABLE store_version (version INTEGER PRIMARY KEY, name TEXT NOT NULL);"
           "INSERT INTO store_version VALUES (1, 'calls');"
           "INSERT INTO llm_interactions (interaction_id, reasoning_content, has_reasoning,"
           " started_ms) VALUES ('old', 'because', 1, 5)");
    s = open_store(&p);
    row.id = STR("old");
    row.reasoning = STR("because");
    row.has_reasoning = true;
    row.started_ms = 5;
    CHECK_F(store_call_get(s, STR("old"), (struct store_row_sink){same_row, &x}, &e), "%s", e.text);
    row.id = STR("new");
    store_call_put(s, &row, NULL);
    settle(s);
    store_close(s);
    CHECK_INT(ask(&p, "SELECT max(version) FROM store_version"),
              schema_steps[schema_step_count - 1].version);
    CHECK_INT(ask(&p, "SELECT count(*) FROM llm_interactions"), 2);
    place_release(&p);
}

static void check_refused(struct place *p, const char *url, const char *why)
{
    struct store_options o = options(p);
    struct store *s;
    struct err e;

    o.url = str_c(url);
    CHECK(!store_open(&o, &s, &e));
    CHECK_F(strstr(e.text, why), "%s: %s", url, e.text);
}

TEST(what_is_not_ours_is_refused_and_left_alone)
{
    struct place p;
    int fd;

    place_init(&p);
    store_close(open_store(&p));
    do_sql(&p, "INSERT INTO store_version VALUES (999, 'future')");
    check_refused(&p, p.url, "newer");
    unlink(p.path);
    do_sql(&p, "CREATE TABLE songs (title)");
    check_refused(&p, p.url, "another program");
    CHECK_INT(ask(&p, "SELECT count(*) FROM sqlite_master"), 1);
    unlink(p.path);
    fd = open(p.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(write(fd, "this is no database, it is a letter to my aunt and quite long", 61) == 61);
    close(fd);
    check_refused(&p, p.url, "not a database");
    place_release(&p);
}

TEST(a_store_is_named_by_its_url)
{
    static const struct {
        const char *url, *why;
    } bad[] = {
        {"", "\"sqlite:PATH\" or \"none\""},
        {"rationale.db", "\"sqlite:PATH\" or \"none\""},
        {"mysql://x", "\"sqlite:PATH\" or \"none\""},
        {"postgres://host/db", "no PostgreSQL"},
        {"postgresql://host/db", "no PostgreSQL"},
        {"sqlite:", "needs a path"},
        {"sqlite://", "needs a path"},
        {"sqlite::memory:", "memory"},
        {"sqlite:/proc/nowhere/x.db", "/proc/nowhere"},
    };
    struct place p;

    place_init(&p);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused(&p, bad[i].url, bad[i].why);
    snprintf(p.url, sizeof p.url, "sqlite://%s", p.path);
    store_close(open_store(&p));
    CHECK(access(p.path, F_OK) == 0);
    place_release(&p);
}

TEST(a_store_has_one_owner_and_says_who)
{
    struct place p;
    struct store *s;
    char pid[32];

    place_init(&p);
    s = open_store(&p);
    snprintf(pid, sizeof pid, "process %ld", (long)getpid());
    check_refused(&p, p.url, pid);
    store_close(s);
    store_close(open_store(&p));
    place_release(&p);
}

TEST(with_none_every_ticket_is_well_and_nothing_is_kept)
{
    static struct sample m;
    _Atomic unsigned stored = 0, refused = 0;
    struct store_health h;
    struct place p;
    struct store *s;
    unsigned seen = 0;
    struct err e;

    place_init(&p);
    snprintf(p.url, sizeof p.url, "none");
    s = open_store(&p);
    sample_fill(&m, 1, 1);
    put_counted(s, &m.row, &stored, &refused);
    CHECK_INT(stored, 1);
    store_call_begin(s, &m.row);
    store_piece_put(s, &(struct store_piece){STR("x"), 0, STR("answer"), STR("y")});
    settle(s);
    store_health(s, &h);
    CHECK(h.ok && h.tables_ok);
    CHECK(!store_call_get(s, m.row.id, (struct store_row_sink){check_sample, &seen}, &e));
    CHECK(store_call_list(s, STR(""), 9, (struct store_row_sink){check_sample, &seen}, &e));
    CHECK_INT(seen, 0);
    store_close(s);
    place_release(&p);
}

TEST(a_record_that_is_too_large_is_refused_and_the_next_is_not)
{
    static struct sample m;
    _Atomic unsigned stored = 0, refused = 0;
    struct store_options o;
    struct store *s = NULL;
    struct place p;
    char *big = base_alloc(100000);
    struct err e;

    place_init(&p);
    o = options(&p);
    o.queue_size_max = 65536;
    CHECK(store_open(&o, &s, &e));
    sample_fill(&m, 1, 1);
    memset(big, 'x', 100000);
    m.row.answer = (str){big, 100000};
    put_counted(s, &m.row, &stored, &refused);
    CHECK_INT(refused, 1);
    m.row.answer = STR("");
    put_counted(s, &m.row, &stored, &refused);
    settle(s);
    CHECK(stored == 1 && refused == 1);
    store_close(s);
    free(big);
    place_release(&p);
}

TEST_MAIN(T(every_field_comes_back_as_it_was_put), T(the_newest_are_listed_first_and_page_by_page),
          T(a_call_put_twice_is_one_row_and_counts_once), T(what_many_threads_put_is_there_once),
          T(what_was_acknowledged_outlives_kill_9),
          T(a_call_cut_off_by_death_is_a_row_of_its_pieces),
          T(damage_in_an_older_segment_costs_one_record_and_is_kept_aside),
          T(a_journal_taken_in_again_adds_nothing), T(a_closed_store_leaves_an_empty_spool),
          T(while_the_database_is_locked_the_journal_takes_it_all),
          T(a_store_of_version_1_is_migrated_and_read),
          T(what_is_not_ours_is_refused_and_left_alone), T(a_store_is_named_by_its_url),
          T(a_store_has_one_owner_and_says_who),
          T(with_none_every_ticket_is_well_and_nothing_is_kept),
          T(a_record_that_is_too_large_is_refused_and_the_next_is_not))
