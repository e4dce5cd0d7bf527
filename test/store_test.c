/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/rand.h"
#include "store/row.h"
#include "store/schema.h"
#include "store_help.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

/* ---- rows ---- */

/* Each field has a value of its own; `seed` selects the sizes of the texts. */
static struct store_call every_field(struct arena *a, unsigned seed, bool plain)
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
                /* any byte, or compressible ones; letters where the field requires text */
                p[k] = (char)(plain ? 'a' + rand_below(&r, seed % 2 ? 26 : 3)
                                    : rand_below(&r, seed % 2 ? 256 : 4));
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
    if (plain) /* PostgreSQL truncates names */
        c.session_id = c.parent_id = c.subject = c.model = c.key_name = c.provider = c.level =
            c.route = c.talk = arena_printf(a, "name-%u", seed);
    return c;
}

TEST(every_field_comes_back_as_it_was_put)
{
    struct store_call rows[12];
    struct arena a;
    struct place p;
    struct store *s;
    struct err e;

    place_init_empty(&p);
    arena_init(&a, 64 << 20);
    s = open_store(&p);
    for (unsigned i = 0; i < 11; i++) {
        rows[i] = every_field(&a, i, p.postgres);
        store_call_put(s, &rows[i], NULL);
    }
    rows[11] = store_call_none;
    rows[11].id = STR("nothing else");
    store_call_put(s, &rows[11], NULL);
    settle(s);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 12; i++) {
            struct expected x = {&rows[i], 0};

            CHECK_F(stored_call(s, rows[i].id, (struct store_row_sink){same_row, &x}, &e),
                    "%s",
                    e.text);
            CHECK_INT(x.seen, 1);
        }
        store_close(s);
        s = open_store(&p); /* the same after a restart */
    }
    CHECK(!stored_call(s, STR("not there"), (struct store_row_sink){same_row, NULL}, &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
    store_close(s);
    arena_release(&a);
    place_release(&p);
}

static bool keep_texts(void *ctx, const struct store_call *row)
{
    str *out = ctx;
    char *p = base_alloc(64 + row->answer.n);

    CHECK(row->session_id.n < 600 && str_starts(row->session_id, STR("sssss")));
    *out = (str){p, row->answer.n};
    memcpy(p, row->answer.p, row->answer.n);
    return true;
}

TEST(what_is_no_text_is_kept_as_near_to_it_as_can_be)
{
    struct store_call row = store_call_none;
    static char name[5000];
    struct place p;
    struct store *s;
    struct err e;
    str got;

    place_init_empty(&p);
    s = open_store(&p);
    memset(name, 's', sizeof name);
    row.id = STR("one");
    row.session_id = p.postgres ? (str){name, sizeof name} : STR("sssss");
    row.answer = STR("a\0b\xff"
                     "c\xed\xa0\x80 d\xc3");
    row.request = STR("\0\xff");
    row.cost_usd = (double)NAN;
    row.tools = STR("[\"\\u0000\"]");
    row.decision = STR("[TOOL_CALL] \xff");
    store_call_put(s, &row, NULL);
    settle(s);
    CHECK_F(stored_call(s, row.id, (struct store_row_sink){keep_texts, &got}, &e), "%s", e.text);
    CHECK(str_eq(got, row.answer));
    free((void *)(uintptr_t)got.p);
    CHECK_INT(ask(&p, "SELECT count(*) FROM alert_sessions"), 1);
    CHECK_INT(ask(&p, "SELECT count(*) FROM call_tools"), 1);
    store_close(s);
    place_release(&p);
}

TEST(texts_that_began_in_pieces_are_whole_in_the_row)
{
    struct store_call row = store_call_none, want;
    struct place p;
    struct store *s;
    struct err e;
    struct expected x = {&want, 0};

    place_init_empty(&p);
    s = open_store(&p);
    row.id = STR("one");
    store_call_begin(s, &row);
    store_piece_put(s, &(struct store_piece){row.id, 0, STR(STORE_CONTINUED), STR(""), 0});
    store_piece_put(s, &(struct store_piece){row.id, 1, STR("answer"), STR("to be, "), 0});
    store_piece_put(s, &(struct store_piece){row.id, 2, STR("reasoning"), STR("hm"), 0});
    store_piece_put(s, &(struct store_piece){row.id, 3, STR("answer"), STR("or not "), 0});
    row.answer = STR("to be");
    row.complete = true;
    store_call_put(s, &row, NULL);
    settle(s);
    want = row;
    want.answer = STR("to be, or not to be");
    want.reasoning = STR("hm");
    CHECK(stored_call(s, row.id, (struct store_row_sink){same_row, &x}, &e));
    CHECK_INT(x.seen, 1);
    CHECK_INT(ask(&p, "SELECT count(*) FROM call_pieces"), 0);
    store_close(s);
    place_release(&p);
}

TEST(a_call_put_twice_is_one_row_and_counts_once)
{
    static struct sample m;
    _Atomic unsigned stored = 0, refused = 0;
    struct place p;
    struct store *s;

    place_init_empty(&p);
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

/* ---- concurrency ---- */

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

    place_init_empty(&p);
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

/* ---- versions, owners, names ---- */

TEST(a_store_of_version_1_is_migrated_and_read)
{
    struct store_call row = store_call_none;
    struct expected x = {&row, 0};
    struct place p;
    struct store *s;
    struct err e;

    place_init_empty(&p);
    if (p.postgres) { /* PostgreSQL never had a version 1 */
        place_release(&p);
        return;
    }
    CHECK(schema_steps[0].version == 1 && schema_step_count > 1);
    do_sql(&p, schema_steps[0].sql);
    do_sql(&p,
           "CREATE TABLE store_version (version INTEGER PRIMARY KEY, name TEXT NOT NULL);"
           "INSERT INTO store_version VALUES (1, 'calls');"
           "INSERT INTO llm_interactions (interaction_id, reasoning_content, has_reasoning,"
           " started_ms) VALUES ('old', 'because', 1, 5);"
           "INSERT INTO llm_interactions (interaction_id, session_id, started_ms, ended_ms, model)"
           " VALUES ('older', 's', 3, 9, 'm'); INSERT INTO alert_sessions VALUES ('s', 3, 3, 1)");
    s = open_store(&p);
    row.id = STR("old");
    row.reasoning = STR("because");
    row.has_reasoning = true;
    row.started_ms = 5;
    CHECK_F(stored_call(s, STR("old"), (struct store_row_sink){same_row, &x}, &e), "%s", e.text);
    row.id = STR("new");
    store_call_put(s, &row, NULL);
    settle(s);
    store_close(s);
    CHECK_INT(ask(&p, "SELECT max(version) FROM store_version"),
              schema_steps[schema_step_count - 1].version);
    CHECK_INT(ask(&p, "SELECT count(*) FROM llm_interactions"), 3);
    CHECK_F(verify(&p).ok, "%s", verify(&p).why);
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
    CHECK(!strstr(e.text, "hunter2"));
}

TEST(what_is_not_ours_is_refused_and_left_alone)
{
    struct place p;
    int fd;

    place_init_empty(&p);
    store_close(open_store(&p));
    do_sql(&p, "INSERT INTO store_version VALUES (999, 'future')");
    check_refused(&p, p.url, "newer");
    if (p.postgres) {
        do_sql(&p, "DROP TABLE store_version");
        check_refused(&p, p.url, "another program");
        place_release(&p);
        return;
    }
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
        {"", "a store is \"sqlite:PATH\""},
        {"rationale.db", "a store is \"sqlite:PATH\""},
        {"mysql://u:hunter2@x", "not \"mysql:\""},
        {"postgres://u:hunter2@127.0.0.1:1/x", "127.0.0.1"},
        {"postgres://u:hunter2@[::bad/x", "IPv6"},
        {"sqlite:", "needs a path"},
        {"sqlite://", "needs a path"},
        {"sqlite::memory:", "memory"},
        {"sqlite:/proc/nowhere/x.db", "/proc/nowhere"},
    };
    struct place p;

    place_init_empty(&p);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused(&p, bad[i].url, bad[i].why);
    if (p.postgres) {
        store_close(open_store(&p));
        place_release(&p);
        return;
    }
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

    place_init_empty(&p);
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

    place_init_empty(&p);
    snprintf(p.url, sizeof p.url, "none");
    s = open_store(&p);
    sample_fill(&m, 1, 1);
    put_counted(s, &m.row, &stored, &refused);
    CHECK_INT(stored, 1);
    store_call_begin(s, &m.row);
    store_piece_put(s, &(struct store_piece){STR("x"), 0, STR("answer"), STR("y"), 0});
    settle(s);
    store_health(s, &h);
    CHECK(h.ok && h.tables_ok);
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

    place_init_empty(&p);
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

TEST_MAIN(T(every_field_comes_back_as_it_was_put),
          T(what_is_no_text_is_kept_as_near_to_it_as_can_be),
          T(texts_that_began_in_pieces_are_whole_in_the_row),

          T(a_call_put_twice_is_one_row_and_counts_once), T(what_many_threads_put_is_there_once),
          T(a_store_of_version_1_is_migrated_and_read),
          T(what_is_not_ours_is_refused_and_left_alone), T(a_store_is_named_by_its_url),
          T(a_store_has_one_owner_and_says_who),
          T(with_none_every_ticket_is_well_and_nothing_is_kept),
          T(a_record_that_is_too_large_is_refused_and_the_next_is_not))
