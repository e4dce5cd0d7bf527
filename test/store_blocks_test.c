/* Texts of calls in blocks: texts are read back from every kind of block; a conversation's request
 * costs only its new part; erased texts are gone; earlier stores without blocks are moved.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "base/rand.h"
#include "store/texts.h"
#include "store/word_search.h"
#include "store_help.h"

#define BODY_MAX ((size_t)1 << 20)

struct made {
    char id[32], session[32];
    struct buf request, reply, answer;
    struct store_call row;
};

static void made_init(struct made *m)
{
    *m = (struct made){.row = store_call_none};
    buf_init(&m->request, BODY_MAX);
    buf_init(&m->reply, BODY_MAX);
    buf_init(&m->answer, BODY_MAX);
}

static void made_release(struct made *m)
{
    buf_release(&m->request);
    buf_release(&m->reply);
    buf_release(&m->answer);
}

/* Text that is a function of the number. */
static void prose(struct buf *b, uint64_t seed, size_t size)
{
    add_prose(b, seed, size, 5000, STR(" "));
}

/* A call generated from its number. */
static void make(struct made *m, unsigned n, size_t size)
{
    buf_reset(&m->request);
    buf_reset(&m->reply);
    buf_reset(&m->answer);
    m->row = store_call_none;
    snprintf(m->id, sizeof m->id, "call-%06u", n);
    snprintf(m->session, sizeof m->session, "session-%u", n / 3);
    prose(&m->request, n * 4u, size);
    prose(&m->reply, n * 4u + 1, size / 2);
    prose(&m->answer, n * 4u + 2, size / 2);
    buf_printf(&m->answer, "mark%uend", n);
    m->row.id = str_c(m->id);
    m->row.session_id = str_c(m->session);
    m->row.started_ms = 1000 + n;
    m->row.ended_ms = 2000 + n;
    m->row.status = 200;
    m->row.complete = true;
    m->row.model = STR("m");
    m->row.request = buf_str(&m->request);
    m->row.reply = buf_str(&m->reply);
    m->row.answer = buf_str(&m->answer);
    m->row.asked = str_slice(m->row.request, 0, 40);
    m->row.decision = n % 2 ? STR("[DIRECT] so") : STR("");
}

static size_t size_of(unsigned n)
{
    return n % 97 == 0 ? 300000 : n % 10 == 0 ? 9000 : n % 5 == 0 ? 0 : 1500;
}

static void check_call(struct store *s, unsigned n, size_t size)
{
    struct expected x;
    struct made m;
    struct err e;

    made_init(&m);
    make(&m, n, size);
    x = (struct expected){&m.row, 0};
    CHECK_F(
        stored_call(s, str_c(m.id), (struct store_row_sink){same_row, &x}, &e), "%s", e.text);
    CHECK_INT(x.seen, 1);
    made_release(&m);
}

TEST(texts_are_read_back_from_whichever_block_they_are_in)
{
    enum { CALLS = 400 };
    struct made m;
    struct place p;
    struct store *s;

    place_init(&p);
    made_init(&m);
    s = open_store(&p);
    for (unsigned i = 0; i < CALLS; i++) {
        make(&m, i, size_of(i));
        store_call_put(s, &m.row, NULL);
        if (i % 37 == 0) /* batches of different sizes */
            settle(s);
        if (i % 150 == 149) { /* the next process continues a block that is not full */
            store_close(s);
            s = open_store(&p);
        }
    }
    settle(s);
    for (unsigned i = 0; i < CALLS; i++)
        check_call(s, i, size_of(i));
    CHECK(ask(&p, "SELECT count(*) FROM call_blocks") > 5);
    CHECK(ask(&p, "SELECT count(*) FROM call_texts") < 200);
    CHECK_INT(ask(&p, "SELECT max(call_n) FROM llm_interactions"), CALLS);
    CHECK_INT(ask(&p,
                  "SELECT count(*) FROM llm_interactions i WHERE NOT EXISTS (SELECT 1 FROM"
                  " call_blocks b WHERE b.block = i.block AND i.call_n BETWEEN b.first_n AND"
                  " b.last_n AND i.block_n < b.calls) AND NOT EXISTS (SELECT 1 FROM call_texts t"
                  " WHERE t.block = i.block AND t.block_n = i.block_n AND t.call_n = i.call_n)"),
              0);
    store_close(s);
    made_release(&m);
    place_release(&p);
}

/* ---- conversations ---- */

enum { TURNS = 330, TURN = 300 };

struct conversation {
    struct store_call row; /* of the last turn */
    struct buf messages, request, answer;
    char id[32];
};

static void conversation_init(struct conversation *c)
{
    *c = (struct conversation){.row = store_call_none};
    buf_init(&c->messages, BODY_MAX);
    buf_init(&c->request, BODY_MAX);
    buf_init(&c->answer, BODY_MAX);
    c->row.session_id = STR("talk");
    c->row.status = 200;
    c->row.complete = true;
}

static void conversation_release(struct conversation *c)
{
    buf_release(&c->messages);
    buf_release(&c->request);
    buf_release(&c->answer);
}

/* The next turn: a request with all previous turns, their answers, and a new question. */
static void conversation_turn(struct conversation *c, unsigned n)
{
    snprintf(c->id, sizeof c->id, "turn-%u", n);
    if (n > 0)
        json_quote(&c->messages, buf_str(&c->answer));
    prose(&c->messages, 2 * n, TURN);
    buf_reset(&c->request);
    buf_printf(&c->request, "{\"model\":\"m\",\"messages\":[");
    buf_add(&c->request, buf_str(&c->messages));
    buf_add(&c->request, STR("],\"stream\":true,\"temperature\":0.5}"));
    buf_reset(&c->answer);
    if (n % 7 != 0) { /* some answers are empty, some need no escapes */
        prose(&c->answer, 2 * n + 1, TURN / 2);
        buf_add(&c->answer, n % 7 == 1 ? STR(" ") : STR("\n\"quoted\"\n"));
        prose(&c->answer, 2 * n + 1, TURN / 2);
    }
    c->row.id = str_c(c->id);
    c->row.started_ms = 1000 + n;
    c->row.request = buf_str(&c->request);
    c->row.answer = buf_str(&c->answer);
}

TEST(a_conversation_costs_what_is_new_in_each_turn)
{
    struct conversation c;
    struct place p;
    struct store *s;

    place_init(&p);
    conversation_init(&c);
    s = open_store(&p);
    for (unsigned i = 0; i < TURNS; i++) {
        conversation_turn(&c, i);
        store_call_put(s, &c.row, NULL);
        if (i % 50 == 49) /* the queue holds 16 MiB */
            settle(s);
        if (i == TURNS / 6) { /* the new process has no previous request in memory */
            settle(s);
            store_close(s);
            s = open_store(&p);
        }
    }
    settle(s);
    conversation_release(&c);
    conversation_init(&c);
    for (unsigned i = 0; i < TURNS; i++) {
        struct expected x = {&c.row, 0};
        struct err e;

        conversation_turn(&c, i);
        if (i % 10 > 1)
            continue;
        CHECK_F(
            stored_call(s, c.row.id, (struct store_row_sink){same_row, &x}, &e), "%s", e.text);
        CHECK_INT(x.seen, 1);
    }
    /* Questions and answers are stored once. In addition, every hundredth request is stored
     * whole. */
    CHECK(ask(&p,
              "SELECT coalesce((SELECT sum(raw_size) FROM call_blocks), 0) +"
              " coalesce((SELECT sum(length(texts)) FROM call_texts), 0)") < 2 * TURNS * 2 * TURN);
    store_close(s);
    conversation_release(&c);
    place_release(&p);
}

TEST(a_request_of_a_long_conversation_takes_the_room_of_one_request)
{
    enum { LONG = 95 }; /* consecutive deltas, fewer than the stride */
    struct store_call row = store_call_none;
    struct texts_place at;
    struct conversation c;
    struct texts texts;
    struct arena a;
    struct place p;
    struct store *s;
    struct db *db;
    struct err e;

    place_init(&p);
    conversation_init(&c);
    s = open_store(&p);
    for (unsigned i = 0; i < LONG; i++) {
        conversation_turn(&c, i);
        store_call_put(s, &c.row, NULL);
    }
    settle(s);
    at = (struct texts_place){ask(&p, "SELECT max(call_n) FROM llm_interactions"),
                              ask(&p, "SELECT max(block) FROM llm_interactions"),
                              LONG - 1};
    CHECK_F(db_open(str_c(p.url), DB_READ, &db, &e), "%s", e.text);
    texts_init(&texts, db);
    arena_init(&a, c.row.request.n + 16384);
    CHECK_F(texts_read(&texts, &at, &a, &row, &e), "%s", e.text);
    CHECK(texts.depth > LONG / 2 && str_eq(row.request, c.row.request));
    arena_release(&a);
    arena_init(&a, c.row.request.n / 2); /* too small: an error, and the process continues */
    CHECK(!texts_read(&texts, &at, &a, &row, &e) && e.code == ERR_LIMIT);
    arena_release(&a);
    arena_init(&a, 64);
    CHECK(!texts_read(&texts, &at, &a, &row, &e) && e.code == ERR_LIMIT);
    arena_release(&a);
    texts_release(&texts);
    db_close(db);
    store_close(s);
    conversation_release(&c);
    place_release(&p);
}

/* ---- words ---- */

static unsigned blocks_with(struct place *p, const char *word, bool front)
{
    struct words_query q;
    struct word_search search;
    struct arena a;
    struct db *db;
    struct err e;
    int64_t block, before = INT64_MAX;
    unsigned n = 0;

    arena_init(&a, 1 << 20);
    CHECK(words_query_parse(str_c(word), NULL, 0, &a, &q));
    CHECK_F(db_open(str_c(p->url), DB_READ, &db, &e), "%s", e.text);
    CHECK_F(db_begin(db, false, &e), "%s", e.text); /* pages may be merged meanwhile */
    CHECK_F(word_search_begin(&search, db, &q, front, &e), "%s", e.text);
    for (;;) {
        CHECK_F(word_search_next(&search, &block, &e), "%s", e.text);
        if (!block)
            break;
        CHECK(block < before);
        before = block;
        n++;
    }
    db_rollback(db);
    db_close(db);
    arena_release(&a);
    return n;
}

TEST(words_are_found_in_their_blocks_at_every_level)
{
    enum { CALLS = 580 };
    struct made m;
    struct place p;
    struct store *s;
    char word[32];
    long long blocks;

    place_init(&p);
    made_init(&m);
    s = open_store(&p);
    for (unsigned i = 0; i < CALLS; i++) {
        make(&m, i, BLOCK_SIZE / 2 - 8192); /* two calls exceed a block */
        store_call_put(s, &m.row, NULL);
    }
    settle(s);
    blocks = ask(&p, "SELECT count(*) FROM call_blocks");
    CHECK_F(blocks > 256 + 16, "%lld blocks", blocks);
    CHECK(ask(&p, "SELECT count(*) FROM word_pages WHERE level = 2") > 0);
    CHECK(ask(&p, "SELECT count(*) FROM word_pages WHERE level = 1") > 0);
    CHECK(ask(&p, "SELECT count(DISTINCT first_block) FROM word_pages WHERE level = 0") < 16);
    for (unsigned i = 0; i < CALLS - 4; i += 7) {
        snprintf(word, sizeof word, "mark%uend", i);
        CHECK_F(blocks_with(&p, word, false) == 1, "%s", word);
    }
    CHECK_INT(blocks_with(&p, "nowhere", false), 0);
    CHECK_INT(blocks_with(&p, "mark12", false), 0);
    CHECK(blocks_with(&p, "mark12", true) > 0);
    CHECK_INT(blocks_with(&p, "so", false), blocks);
    store_close(s);
    made_release(&m);
    place_release(&p);
}

TEST(a_damaged_page_of_the_word_index_stops_neither_records_nor_erasures_nor_searches)
{
    enum { BEFORE = 20, CALLS = 40 }; /* two calls exceed a block */
    struct store_receipt receipt;
    struct made m;
    struct place p;
    struct store *s;
    struct err e;

    place_init(&p);
    made_init(&m);
    s = open_store(&p);
    for (unsigned i = 0; i < CALLS; i++) {
        make(&m, i, BLOCK_SIZE / 2 - 8192);
        store_call_put(s, &m.row, NULL);
        if (i == BEFORE) {
            settle(s);
            CHECK_INT(ask(&p, "SELECT max(level) FROM word_pages"), 0);
            do_sql(&p, "UPDATE word_pages SET page = page || page");
            CHECK(blocks_with(&p, "mark3end", false) >= 1);
        }
    }
    settle(s);
    CHECK_INT(ask(&p, "SELECT max(level) FROM word_pages"), 1);
    CHECK_INT(blocks_with(&p, "mark3end", false), 1); /* the pages were rebuilt */
    CHECK_INT(blocks_with(&p, "nowhere", false), 0);
    do_sql(&p, "UPDATE word_pages SET page = page || page WHERE level = 1");
    make(&m, 3, 1);
    CHECK_F(store_erase(s, STORE_ERASE_SESSION, str_c(m.session), STR("op"), &receipt, &e),
            "%s",
            e.text);
    CHECK_INT(receipt.interactions, 3);
    CHECK_INT(blocks_with(&p, "mark3end", false), 0);
    CHECK_INT(blocks_with(&p, "mark6end", false), 1);
    store_close(s);
    made_release(&m);
    place_release(&p);
}

/* ---- erasing ---- */

TEST(what_is_erased_is_in_no_block_and_no_page_and_the_rest_is_as_it_was)
{
    enum { CALLS = 600, GONE = 200 };
    struct store_receipt receipt;
    struct made m;
    struct place p;
    struct store *s;
    struct err e;
    char word[32];

    place_init(&p);
    made_init(&m);
    s = open_store(&p);
    for (unsigned i = 0; i < CALLS; i++) {
        make(&m, i, 6000);
        store_call_put(s, &m.row, NULL);
    }
    settle(s);
    for (unsigned n = GONE; n < CALLS; n += 100) {
        make(&m, n, 6000);
        CHECK_F(store_erase(s, STORE_ERASE_SESSION, str_c(m.session), STR("op"), &receipt, &e),
                "%s",
                e.text);
        CHECK_INT(receipt.interactions, 3);
    }
    for (unsigned n = 0; n < CALLS; n++) {
        bool gone = n >= GONE && (n / 3 == n / 100 * 100 / 3);

        snprintf(word, sizeof word, "mark%uend", n);
        if (gone)
            CHECK_INT(words(&p, "interactions", word), 0);
        if (gone)
            CHECK_INT(blocks_with(&p, word, false), 0);
        if (!gone && n % 5 == 0)
            check_call(s, n, 6000);
    }
    CHECK_INT(words(&p, "interactions", "mark100end"), 1);
    store_close(s);
    made_release(&m);
    place_release(&p);
}

TEST(a_damaged_block_does_not_stop_an_erasure)
{
    struct store_receipt receipt;
    struct made m;
    struct place p;
    struct store *s;
    struct err e;

    place_init(&p);
    made_init(&m);
    s = open_store(&p);
    for (unsigned i = 0; i < 60; i++) {
        make(&m, i, 6000);
        store_call_put(s, &m.row, NULL);
    }
    settle(s);
    do_sql(&p,
           p.postgres ? "UPDATE call_blocks SET texts = overlay(texts placing '\\x000000' from 100)"
                        " WHERE block = 1"
                      : "UPDATE call_blocks SET texts = substr(texts, 1, 99) || x'000000' ||"
                        " substr(texts, 103) WHERE block = 1");
    make(&m, 0, 6000);
    CHECK_F(store_erase(s, STORE_ERASE_SESSION, str_c(m.session), STR("op"), &receipt, &e),
            "%s",
            e.text);
    CHECK_INT(receipt.interactions, 3);
    CHECK_INT(ask(&p, "SELECT count(*) FROM call_blocks WHERE block = 1"), 0);
    for (unsigned i = 40; i < 60; i++)
        check_call(s, i, 6000);
    make(&m, 60, 6000);
    store_call_put(s, &m.row, NULL);
    settle(s);
    check_call(s, 60, 6000);
    store_close(s);
    made_release(&m);
    place_release(&p);
}

TEST(retention_gives_the_disk_back)
{
    enum { CALLS = 900 };
    struct store_options o;
    struct made m;
    struct place p;
    struct store *s;
    struct err e;
    long long before;

    place_init(&p);
    made_init(&m);
    s = open_store(&p);
    for (unsigned i = 0; i < CALLS; i++) {
        make(&m, i, 9000);
        store_call_put(s, &m.row, NULL);
    }
    settle(s);
    store_close(s);
    if (p.postgres) { /* PostgreSQL keeps free pages and reuses them after its own vacuum */
        made_release(&m);
        place_release(&p);
        return;
    }
    before = ask(&p, "SELECT page_count FROM pragma_page_count");
    o = options(&p);
    o.retention_age_ms = 1;
    o.retention_every_ms = 10;
    CHECK_F(store_open(&o, &s, &e), "%s", e.text);
    for (unsigned tries = 0; ask(&p, "SELECT page_count FROM pragma_page_count") > before / 3;
         tries++) {
        struct timespec pause = {0, 20000000};

        CHECK(tries < 6000);
        nanosleep(&pause, NULL);
    }
    store_close(s);
    CHECK_INT(ask(&p, "SELECT count(*) FROM llm_interactions"), 0);
    CHECK_INT(ask(&p, "SELECT count(*) FROM call_blocks"), 0);
    CHECK_INT(ask(&p, "SELECT count(*) FROM call_texts"), 0);
    CHECK_INT(ask(&p, "SELECT count(*) FROM word_pages"), 0);
    made_release(&m);
    place_release(&p);
}

/* ---- stores without blocks ---- */

TEST(a_store_of_before_blocks_is_read_at_once_and_moved)
{
    enum { OLD = 450, NEW = 30 };
    struct made m;
    struct place p;
    struct store *s;

    place_init(&p);
    made_init(&m);
    old_store(&p);
    for (unsigned i = 0; i < OLD; i++) {
        make(&m, i, 1500);
        m.row.session_id = m.row.id;
        old_store_put(&p, &m.row);
    }
    for (int round = 0; round < 2; round++) {
        s = open_store(&p);
        for (unsigned i = 0; i < OLD; i += 50) {
            struct expected x = {&m.row, 0};
            struct err e;

            make(&m, i, 1500);
            m.row.session_id = m.row.id;
            CHECK_F(stored_call(s, m.row.id, (struct store_row_sink){same_row, &x}, &e),
                    "%s",
                    e.text);
            CHECK_INT(x.seen, 1);
        }
        for (unsigned i = 0; i < NEW; i++) {
            make(&m, 10000 + i + NEW * (unsigned)round, 1500);
            store_call_put(s, &m.row, NULL);
        }
        settle(s);
        if (round == 1)
            for (unsigned tries = 0;
                 ask(&p, "SELECT count(*) FROM llm_interactions WHERE block IS NULL") > 0;
                 tries++) {
                struct timespec pause = {0, 20000000};

                CHECK(tries < 6000);
                nanosleep(&pause, NULL);
            }
        for (unsigned i = 0; i < NEW; i++)
            check_call(s, 10000 + i, 1500);
        store_close(s);
    }
    CHECK_INT(words(&p, "interactions", "mark77end"), 1);
    CHECK_INT(ask(&p, "SELECT count(*) FROM llm_interactions"), OLD + 2 * NEW);
    CHECK_INT(
        ask(&p, "SELECT count(*) FROM llm_interactions i WHERE i.call_n <= 450 AND i.block > 512"),
        0);
    CHECK(blocks_with(&p, "mark3end", false) == 1);
    s = open_store(&p);
    for (unsigned i = 0; i < OLD; i++) {
        struct expected x = {&m.row, 0};
        struct err e;

        make(&m, i, 1500);
        m.row.session_id = m.row.id;
        CHECK_F(
            stored_call(s, m.row.id, (struct store_row_sink){same_row, &x}, &e), "%s", e.text);
        CHECK_INT(x.seen, 1);
    }
    store_close(s);
    made_release(&m);
    place_release(&p);
}

TEST_MAIN(T(texts_are_read_back_from_whichever_block_they_are_in),
          T(a_conversation_costs_what_is_new_in_each_turn),
          T(a_request_of_a_long_conversation_takes_the_room_of_one_request),
          T(words_are_found_in_their_blocks_at_every_level),
          T(a_damaged_page_of_the_word_index_stops_neither_records_nor_erasures_nor_searches),
          T(what_is_erased_is_in_no_block_and_no_page_and_the_rest_is_as_it_was),
          T(a_damaged_block_does_not_stop_an_erasure), T(retention_gives_the_disk_back),
          T(a_store_of_before_blocks_is_read_at_once_and_moved))
