/* Several stores on one PostgreSQL, as daemons open them: they take turns at the same blocks and
 * the same audit log, and a lost lease stops all writes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "store/daemons.h"
#include "store/db.h"
#include "store_help.h"

#include <stdatomic.h>
#include <unistd.h>

#define CALLS 400u /* two blocks and more */
#define WAIT_MS 60000

struct side {
    struct place place;
    char spool[2][128];
    struct store *store[2];
};

static void side_open(struct side *s, int i)
{
    struct store_options o = options(&s->place);
    struct err e;

    (void)snprintf(s->spool[i], sizeof s->spool[i], "%s%s", s->place.spool, i ? "2" : "");
    o.spool = str_c(s->spool[i]);
    o.heartbeat_ms = 100;
    o.lease_ms = WAIT_MS;
    CHECK_F(store_open(&o, &s->store[i], &e), "%s", e.text);
}

/* Returns false with SQLite, which allows one daemon only. */
static bool side_init(struct side *s)
{
    place_init_empty(&s->place);
    if (!s->place.postgres) {
        place_release(&s->place);
        return false;
    }
    side_open(s, 0);
    side_open(s, 1);
    return true;
}

static void side_release(struct side *s)
{
    store_close(s->store[0]);
    store_close(s->store[1]);
    place_release(&s->place);
}

TEST(stores_fill_the_same_blocks_in_turns)
{
    struct audit_report report;
    struct sample m;
    struct side s;

    if (!side_init(&s))
        return;
    CHECK(!str_eq(store_daemon(s.store[0]), store_daemon(s.store[1])));
    for (unsigned n = 0; n < CALLS; n++) {
        sample_fill(&m, n % 2, n);
        store_call_put(s.store[n % 2], &m.row, NULL);
        if (n % 7 == 0)
            settle(s.store[n % 2]);
    }
    settle(s.store[0]);
    settle(s.store[1]);
    CHECK_INT(samples_in(s.store[0]), CALLS);
    CHECK_INT(samples_in(s.store[1]), CALLS);
    CHECK(ask(&s.place, "SELECT count(*) FROM call_blocks") >= 2);
    CHECK_INT(ask(&s.place, "SELECT count(*) - max(call_n) FROM llm_interactions"), 0);
    report = verify(&s.place);
    CHECK_F(report.ok, "%s", report.why);
    side_release(&s);
}

/* A store keeps a session's last request in memory, and stores the next one as a difference to
 * it. */
TEST(a_request_is_not_stored_as_a_difference_to_one_that_another_store_erased)
{
    struct store_receipt receipt;
    char body[4000];
    struct store_call row = store_call_none;
    struct expected want = {&row, 0};
    struct side s;
    struct err e;

    if (!side_init(&s))
        return;
    memset(body, 'a', sizeof body);
    row.session_id = STR("shared");
    row.started_ms = 1000;
    for (int i = 0; i < 3; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "c%d", i);
        row.id = str_c(id);
        row.request = (str){body, 2000 + 100 * (size_t)i};
        if (i == 2)
            CHECK_F(
                store_erase(s.store[1], STORE_ERASE_SESSION, STR("shared"), STR("x"), &receipt, &e),
                "%s",
                e.text);
        store_call_put(s.store[0], &row, NULL);
        settle(s.store[0]);
        CHECK_F(stored_call(s.store[1], row.id, (struct store_row_sink){same_row, &want}, &e),
                "%s",
                e.text);
    }
    CHECK_INT(receipt.interactions, 2);
    CHECK_INT(want.seen, 3);
    CHECK(verify(&s.place).ok);
    side_release(&s);
}

struct lost {
    _Atomic unsigned count;
};

static void count_lost(void *ctx)
{
    struct lost *l = ctx;

    atomic_fetch_add(&l->count, 1);
}

#define RUNNING "SELECT count(*) FROM daemons WHERE state = 'running'"

TEST(a_store_that_was_taken_over_says_so_registers_again_and_goes_on)
{
    struct lost lost = {0};
    struct daemons_watch watch = {.on_lost = count_lost, .ctx = &lost};
    struct daemons_list list;
    struct sample m;
    struct side s;
    char sql[200];

    if (!side_init(&s))
        return;
    daemons_watch(store_daemons(s.store[0]), &watch);
    sample_fill(&m, 0, 0);
    store_call_put(s.store[0], &m.row, NULL);
    settle(s.store[0]);
    (void)snprintf(sql,
                   sizeof sql,
                   "UPDATE daemons SET fence = fence + 1, state = 'gone' WHERE daemon_id = '%s'",
                   store_daemon(s.store[0]).p);
    do_sql(&s.place, sql);
    for (int ms = 0; ms < WAIT_MS && atomic_load(&lost.count) == 0; ms += 10)
        (void)usleep(10000);
    CHECK_INT(atomic_load(&lost.count), 1);
    sample_fill(&m, 1, 1);
    store_call_put(s.store[0], &m.row, NULL);
    settle(s.store[0]);
    CHECK_INT(samples_in(s.store[1]), 2);
    CHECK_INT(ask(&s.place, RUNNING), 2);
    CHECK(daemons_held(store_daemons(s.store[0])));
    for (int ms = 0; ms < WAIT_MS && !daemons_others(store_daemons(s.store[0])); ms += 10)
        (void)usleep(10000);
    daemons_list(store_daemons(s.store[1]), &list);
    CHECK_INT(list.count, 2);
    CHECK(verify(&s.place).ok);
    daemons_watch(store_daemons(s.store[0]), NULL);
    do_sql(&s.place, sql);
    for (int ms = 0; ms < WAIT_MS && ask(&s.place, RUNNING) != 2; ms += 10)
        (void)usleep(10000);
    CHECK_INT(ask(&s.place, RUNNING), 2);
    CHECK_INT(atomic_load(&lost.count), 1); /* the watch was removed */
    side_release(&s);
}

TEST(a_connection_of_a_daemon_writes_under_its_lease)
{
    struct side s;
    struct db *db;
    struct err e;

    if (!side_init(&s))
        return;
    CHECK_F(db_open(str_c(s.place.url), DB_BESIDE, &db, &e), "%s", e.text);
    CHECK(db_run(db, "INSERT INTO store_keys (name, value) VALUES ('a', '')", NULL, 0, &e));
    store_close(s.store[1]); /* this process's newest lease belongs to it */
    CHECK(!db_run(db, "INSERT INTO store_keys (name, value) VALUES ('b', '')", NULL, 0, &e));
    CHECK(!db_begin(db, false, &e));
    CHECK(strstr(e.text, "took over"));
    CHECK_INT(ask(&s.place, "SELECT count(*) FROM store_keys WHERE name IN ('a', 'b')"), 1);
    db_close(db);
    side_open(&s, 1);
    side_release(&s);
}

TEST(retention_keeps_a_session_that_was_used_while_it_waited_for_its_turn)
{
    struct store_options o;
    struct place p;
    struct store *s;
    struct db *db;
    struct err e;
    int64_t fence;

    place_init_empty(&p);
    if (!p.postgres) { /* SQLite has a single writer */
        place_release(&p);
        return;
    }
    o = options(&p);
    o.retention_age_ms = 3600000;
    o.retention_every_ms = 20;
    CHECK_F(store_open(&o, &s, &e), "%s", e.text);
    settle(s);
    usleep(1500000); /* by then only retention takes turns */
    CHECK_F(db_open(str_c(p.url), DB_BESIDE, &db, &e), "%s", e.text);
    CHECK(db_begin(db, false, &e) &&
          db_number(db, "SELECT fence FROM store_turn FOR UPDATE", DB_NO_ARGS, &fence, &e));
    do_sql(&p,
           "INSERT INTO alert_sessions (session_id, status, started_at_us, completed_at_us)"
           " VALUES ('used', 'completed', 1, 2), ('old', 'completed', 1, 2)");
    usleep(500000); /* retention has selected both rows, and waits for its turn */
    do_sql(&p,
           "UPDATE alert_sessions SET completed_at_us = 9000000000000000"
           " WHERE session_id = 'used'");
    CHECK_F(db_commit(db, &e), "%s", e.text);
    for (int ms = 0; ms < WAIT_MS && ask(&p, "SELECT count(*) FROM alert_sessions") > 1; ms += 10)
        usleep(10000);
    CHECK_INT(ask(&p, "SELECT count(*) FROM alert_sessions WHERE session_id = 'used'"), 1);
    CHECK_INT(ask(&p, "SELECT count(*) FROM alert_sessions WHERE session_id = 'old'"), 0);
    db_close(db);
    store_close(s);
    place_release(&p);
}

TEST_MAIN(T(stores_fill_the_same_blocks_in_turns),
          T(a_request_is_not_stored_as_a_difference_to_one_that_another_store_erased),
          T(a_store_that_was_taken_over_says_so_registers_again_and_goes_on),
          T(a_connection_of_a_daemon_writes_under_its_lease),
          T(retention_keeps_a_session_that_was_used_while_it_waited_for_its_turn))
