/* Stores without blocks while they are moved, and places in blocks: erased or damaged places must
 * not affect others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "base/rand.h"
#include "store/word_search.h"
#include "store_help.h"

#define BODY_MAX ((size_t)4 << 20)

struct made {
    char id[32], answer[64];
    struct buf request;
    struct store_call row;
};

/* A call generated from its number; it is a session by itself. */
static void make(struct made *m, unsigned n, size_t size)
{
    struct rand r;

    m->row = store_call_none;
    rand_init(&r, n);
    buf_reset(&m->request);
    while (m->request.n < size)
        buf_printf(&m->request, "%llx ", (long long)rand_below(&r, UINT64_C(1) << 60));
    snprintf(m->id, sizeof m->id, "call-%06u", n);
    snprintf(m->answer, sizeof m->answer, "answer mark%uend", n);
    m->row.id = m->row.session_id = str_c(m->id);
    m->row.started_ms = 1000 + n;
    m->row.ended_ms = 2000 + n;
    m->row.status = 200;
    m->row.complete = true;
    m->row.request = buf_str(&m->request);
    m->row.answer = str_c(m->answer);
}

static void check_row(struct store *s, const struct store_call *row)
{
    struct expected x = {row, 0};
    struct err e;

    CHECK_F(stored_call(s, row->id, (struct store_row_sink){same_row, &x}, &e), "%s", e.text);
    CHECK_INT(x.seen, 1);
}

static void make_old(struct place *p, unsigned count, size_t size)
{
    struct made m;

    buf_init(&m.request, BODY_MAX);
    old_store(p);
    for (unsigned i = 0; i < count; i++) {
        make(&m, i, size);
        old_store_put(p, &m.row);
    }
    if (!p->postgres)
        do_sql(p, "INSERT INTO interactions_text (interactions_text) VALUES ('rebuild')");
    buf_release(&m.request);
}

static void wait_for(struct place *p, const char *sql)
{
    struct timespec pause = {0, 50000000};

    for (unsigned tries = 0; ask(p, sql) == 0; tries++) {
        CHECK_F(tries < 6000, "%s", sql);
        nanosleep(&pause, NULL);
    }
}

static void wait_moved(struct place *p)
{
    wait_for(p, "SELECT CAST(count(*) = 0 AS INTEGER) FROM llm_interactions WHERE block IS NULL");
    wait_for(p,
             p->postgres ? "SELECT CAST(to_regclass('old_interactions') IS NULL AS INTEGER)"
                         : "SELECT count(*) = 0 FROM sqlite_master WHERE name ="
                           " 'old_interactions'");
}

static void erase_one(struct store *s, str session)
{
    struct store_receipt receipt;
    struct err e;

    CHECK_F(store_erase(s, STORE_ERASE_SESSION, session, STR("op"), &receipt, &e), "%s", e.text);
}

/* The number of blocks in which the index has a word. */
static unsigned blocks_with(struct place *p, const char *word)
{
    struct word_search search;
    struct words_query q;
    struct arena a;
    struct db *db;
    struct err e;
    int64_t block = 1;
    unsigned n = 0;

    arena_init(&a, 1 << 20);
    CHECK(words_query_parse(str_c(word), NULL, 0, &a, &q));
    CHECK_F(db_open(str_c(p->url), DB_READ, &db, &e), "%s", e.text);
    CHECK_F(word_search_begin(&search, db, &q, false, &e), "%s", e.text);
    while (block) {
        CHECK_F(word_search_next(&search, &block, &e), "%s", e.text);
        n += block > 0;
    }
    db_close(db);
    arena_release(&a);
    return n;
}

TEST(words_are_found_after_the_last_moved_block_is_erased)
{
    enum { OLD = 18, LARGE = 140000 }; /* each call fills a block */
    struct place p;
    struct store *s;
    struct made m;
    char word[32];

    place_init(&p);
    buf_init(&m.request, BODY_MAX);
    make_old(&p, OLD, LARGE);
    s = open_store(&p);
    wait_moved(&p);
    for (unsigned i = 14; i < OLD; i++) { /* including the last of a segment of sixteen */
        make(&m, i, LARGE);
        erase_one(s, m.row.id);
    }
    store_close(s);
    s = open_store(&p);
    for (unsigned i = 0; i < OLD; i++) {
        snprintf(word, sizeof word, "mark%uend", i);
        CHECK_F(blocks_with(&p, word) == (i < 14), "%s", word);
    }
    store_close(s);
    buf_release(&m.request);
    place_release(&p);
}

TEST(a_damaged_call_of_before_does_not_stop_the_others)
{
    enum { OLD = 300, BAD = 100 };
    struct place p;
    struct store *s;
    struct made m;

    place_init(&p);
    buf_init(&m.request, BODY_MAX);
    make_old(&p, OLD, 1500);
    do_sql(&p,
           "UPDATE llm_interactions SET request_size = request_size + 1 WHERE interaction_id ="
           " 'call-000100'");
    s = open_store(&p);
    wait_moved(&p);
    for (unsigned i = 0; i < OLD; i++) {
        make(&m, i, 1500);
        if (i == BAD)
            m.row.request = STR(""); /* all readable parts remain */
        check_row(s, &m.row);
    }
    store_close(s);
    CHECK(!verify(&p).ok);
    buf_release(&m.request);
    place_release(&p);
}

TEST(what_is_erased_while_calls_are_moved_is_in_no_file)
{
    struct place p;
    struct store *s;
    struct made m;

    place_init(&p);
    buf_init(&m.request, BODY_MAX);
    old_store(&p);
    do_sql(&p,
           "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n <"
           " 40000) INSERT INTO llm_interactions (interaction_id, session_id, answer) SELECT 'x' ||"
           " n, 'x', 'word' || n FROM numbers");
    make(&m, 7777777, 100); /* the last one to be moved */
    old_store_put(&p, &m.row);
    if (!p.postgres)
        do_sql(&p, "INSERT INTO interactions_text (interactions_text) VALUES ('rebuild')");
    s = open_store(&p);
    erase_one(s, m.row.id);
    CHECK(!in_tables(&p, "mark7777777end"));
    if (!p.postgres)
        CHECK(!anywhere(&p, STR("mark7777777end")));
    wait_moved(&p);
    store_close(s);
    buf_release(&m.request);
    place_release(&p);
}

TEST(a_call_without_texts_keeps_its_place)
{
    struct store_call none = store_call_none;
    struct audit_report r;
    struct place p;
    struct store *s;
    struct made m;

    place_init(&p);
    buf_init(&m.request, BODY_MAX);
    none.id = none.session_id = STR("no-texts");
    none.started_ms = 1;
    none.status = 200;
    s = open_store(&p);
    store_call_put(s, &none, NULL);
    settle(s);
    store_close(s);
    s = open_store(&p);
    make(&m, 1, 1000);
    store_call_put(s, &m.row, NULL);
    settle(s);
    check_row(s, &none);
    check_row(s, &m.row);
    store_close(s);
    r = verify(&p);
    CHECK_F(r.ok, "%s", r.why);
    buf_release(&m.request);
    place_release(&p);
}

/* Each turn runs in a new process, so that no process has the previous request in memory. */
TEST(a_conversation_of_many_restarts_can_be_read)
{
    enum { TURNS = 130 };
    struct store_call row = store_call_none;
    struct place p;
    struct store *s;
    struct made m;
    char id[32];

    place_init(&p);
    buf_init(&m.request, BODY_MAX);
    make(&m, 1, 140000 + TURNS);
    row.session_id = STR("talk");
    row.status = 200;
    for (unsigned i = 0; i < TURNS; i++) {
        s = open_store(&p);
        snprintf(id, sizeof id, "turn-%u", i);
        row.id = str_c(id);
        row.started_ms = 1000 + i;
        row.request = str_slice(buf_str(&m.request), 0, 140000 + i);
        store_call_put(s, &row, NULL);
        settle(s);
        store_close(s);
    }
    s = open_store(&p);
    for (unsigned i = 0; i < TURNS; i++) {
        snprintf(id, sizeof id, "turn-%u", i);
        row.id = str_c(id);
        row.started_ms = 1000 + i;
        row.request = str_slice(buf_str(&m.request), 0, 140000 + i);
        check_row(s, &row);
    }
    store_close(s);
    buf_release(&m.request);
    place_release(&p);
}

TEST_MAIN(T(words_are_found_after_the_last_moved_block_is_erased),
          T(a_damaged_call_of_before_does_not_stop_the_others),
          T(what_is_erased_while_calls_are_moved_is_in_no_file),
          T(a_call_without_texts_keeps_its_place), T(a_conversation_of_many_restarts_can_be_read))
