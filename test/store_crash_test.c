/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"
#include "store/journal.h"
#include "store/row.h"
#include "store_help.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- killed processes ---- */

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

/* Puts calls until it is killed. Also leaves a call with pieces that never ends. */
static void NORETURN put_until_killed(struct place *p, unsigned cycle, int pipe)
{
    struct sample *m = base_alloc(sizeof *m);
    struct store *s = open_store(p);

    for (unsigned n = 0; n < 100000; n++) {
        struct report *r = base_alloc(sizeof *r);
        struct store_health h;

        sample_fill(m, cycle, n);
        *r = (struct report){{.fn = report_ack}, pipe, n};
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

    place_init_empty(&p);
    rand_init_os(&r);
    for (unsigned c = 0; c < CYCLES; c++) {
        unsigned ms = 1 + (unsigned)rand_below(&r, c % 3 == 0 ? 8 : 40), n;
        int ends[2], status;
        pid_t child;

        CHECK_INT(pipe(ends), 0);
        child = fork();
        CHECK(child >= 0);
        if (child == 0)
            put_until_killed(&p, c, ends[1]);
        close(ends[1]);
        if (c % 3 != 0 && read(ends[0], &n, sizeof n) == sizeof n) /* or perhaps in recovery */
            acked[c][count[c]++] = n;
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
            CHECK_F(stored_call(s, str_c(id), (struct store_row_sink){check_sample, &seen}, &e),
                    "%s: %s",
                    id,
                    e.text);
            CHECK_INT(seen, 1);
        }
    CHECK(all >= CYCLES * 2 / 3);
    kept = (unsigned)ask(&p, "SELECT count(*) FROM llm_interactions");
    CHECK(kept >= all);
    CHECK_INT(ask(&p, "SELECT count(DISTINCT interaction_id) FROM llm_interactions"), kept);
    CHECK_INT(ask(&p, "SELECT sum(call_count) FROM alert_sessions"), kept);
    print_message("%u cycles, %u acknowledged, %u kept\n", (unsigned)CYCLES, all, kept);
    store_close(s);
    place_release(&p);
}

/* A process that dies during some calls: one has begun and has pieces, one has pieces alone, one
 * has ended, one was retried. */
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
        struct store_piece piece = {STR("begun"), i, STR("reasoning"), str_c(parts[i]), 0};

        store_piece_put(s, &piece);
        piece.id = STR("alone");
        piece.kind = STR("answer");
        store_piece_put(s, &piece);
        piece.id = STR("ended");
        store_piece_put(s, &piece);
    }
    row.id = STR("again"); /* its first attempt failed */
    store_call_begin(s, &row);
    store_piece_put(s, &(struct store_piece){row.id, 0, STR("reasoning"), STR("not this"), 80});
    store_piece_put(s, &(struct store_piece){row.id, 1, STR(STORE_RESTART), STR(""), 90});
    store_piece_put(s, &(struct store_piece){row.id, 2, STR("reasoning"), STR("Let me see"), 95});
    row.id = STR("said"); /* its reasoning was open when its first piece was written */
    row.state = STR("unclosed");
    row.reasoning_ms = 78;
    row.ended_ms = 79;
    store_call_begin(s, &row);
    store_piece_put(s, &(struct store_piece){row.id, 0, STR("reasoning"), STR("Let me see"), 80});
    store_piece_put(s, &(struct store_piece){row.id, 1, STR("answer"), STR("It"), 2000});
    store_piece_put(s, &(struct store_piece){row.id, 2, STR("answer"), STR(" is"), 5000});
    row.reasoning_ms = row.ended_ms = -1;
    row.state = STR("");
    row.id = STR("ended");
    row.complete = true;
    row.answer = STR("done");
    store_call_put(s, &row, NULL);
    _exit(store_settle(s, SETTLE_MS, &e) ? 0 : 1);
}

TEST(a_call_cut_off_by_death_is_a_row_of_its_pieces)
{
    struct store_call begun = store_call_none, alone = store_call_none, ended = store_call_none,
                      again, said;
    const struct store_call *const rows[] = {&begun, &alone, &ended, &again, &said};
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
    again = begun;
    again.id = STR("again");
    again.reasoning_ms = again.ended_ms = 95;
    said = begun;
    said.reasoning_ms = 78;
    said.answer_ms = 2000;
    said.ended_ms = 5000;
    said.id = STR("said");
    said.answer = STR("It is");
    said.state = STR("complete");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct expected x = {rows[i], 0};

        CHECK_F(
            stored_call(s, rows[i]->id, (struct store_row_sink){same_row, &x}, &e), "%s", e.text);
        CHECK_INT(x.seen, 1);
    }
    CHECK_INT(ask(&p, "SELECT count(*) FROM call_pieces"), 0);
    store_close(s);
    place_release(&p);
}

/* ---- a damaged journal, and one that is ingested twice ---- */

static void put_row(const void *row, char *body)
{
    row_call_put(row, body);
}

/* A journal whose records never reached the tables. */
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
            journal_health(j, &h); /* one record per group, so that segments end */
        while (h.stored <= n);
    }
    journal_free(j);
}

TEST(damage_in_an_older_segment_costs_one_record_and_is_kept_aside_until_an_erasure)
{
    char path[160], aside[180];
    struct store_receipt receipt;
    struct store_health h;
    struct err e;
    struct place p;
    struct store *s;
    char byte = 0;
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
    /* The damaged segment contains records, so an erasure must delete it. */
    CHECK_F(
        store_erase(s, STORE_ERASE_SESSION, STR("none"), STR("op"), &receipt, &e), "%s", e.text);
    CHECK(access(aside, F_OK) < 0);
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
    CHECK(p.postgres || (stat(p.path, &st) == 0 && (st.st_mode & 0777) == 0600));
    place_release(&p);
}

/* ---- an unavailable database ---- */

TEST(while_the_database_is_away_the_journal_takes_it_all)
{
    static struct sample m;
    _Atomic unsigned stored = 0, refused = 0;
    struct store_options o;
    struct store_health h = {0};
    struct store *s = NULL;
    struct place p;
    struct err e;
    unsigned n = 0, taken, near = 0;

    place_init(&p);
    o = options(&p);
    o.journal_size_max = 1 << 20;
    CHECK_F(store_open(&o, &s, &e), "%s", e.text);
    settle(s);
    database_away(&p, true);
    CHECK(store_takes(s, &e));
    for (; refused < 5; n++) {
        CHECK(n < 100000);
        near += !store_takes(s, &e); /* refuses new calls, while running calls are stored */
        sample_fill(&m, 9, n);
        put_counted(s, &m.row, &stored, &refused);
    }
    CHECK(!store_settle(s, 50, &e) && e.code == ERR_TIMEOUT);
    store_health(s, &h);
    for (int ms = 0; ms < 20000 && h.queue_bytes > 0; ms += 10) { /* until the journal has them */
        usleep(10000);
        store_health(s, &h);
    }
    CHECK_INT(h.queue_bytes, 0);
    CHECK_F(h.journal_bytes <= 1 << 20 && h.journal_bytes > 900 << 10,
            "%llu",
            (unsigned long long)h.journal_bytes);
    for (int ms = 0; ms < 20000 && !strstr(h.why, p.postgres ? "PostgreSQL" : "locked"); ms += 10) {
        usleep(10000);
        store_health(s, &h);
    }
    CHECK_F(!h.tables_ok && strstr(h.why, p.postgres ? "PostgreSQL" : "locked"), "%s", h.why);
    taken = n - 5;
    CHECK_INT(stored, taken);
    CHECK(near > 10 && !store_takes(s, &e) && e.code == ERR_LIMIT && !h.ok);
    CHECK(p.postgres || ask(&p, "SELECT count(*) FROM llm_interactions") == 0);
    database_away(&p, false);
    settle(s);
    CHECK_INT(samples_in(s), taken);
    CHECK(store_takes(s, &e));
    put_counted(s, &m.row, &stored, &refused);
    settle(s);
    CHECK_INT(stored, taken + 1);
    store_health(s, &h);
    CHECK(h.ok && h.tables_ok && h.why[0] == '\0');
    store_close(s);
    place_release(&p);
}

TEST_MAIN(T(what_was_acknowledged_outlives_kill_9),
          T(a_call_cut_off_by_death_is_a_row_of_its_pieces),
          T(damage_in_an_older_segment_costs_one_record_and_is_kept_aside_until_an_erasure),
          T(a_journal_taken_in_again_adds_nothing), T(a_closed_store_leaves_an_empty_spool),
          T(while_the_database_is_away_the_journal_takes_it_all))
