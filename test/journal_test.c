/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"
#include "store/journal.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a journal and its contents ---- */

#define RECORDS_MAX 4096

struct place {
    char dir[64];
    struct log quiet;
    struct log_scope scope;
};

static void place_init(struct place *p)
{
    snprintf(p->dir, sizeof p->dir, "%s/journal_test.XXXXXX", test_tmp());
    CHECK(mkdtemp(p->dir));
    log_init(&p->quiet, open("/dev/null", O_WRONLY | O_CLOEXEC), LOG_ERROR, &clock_real);
    log_scope_enter(&p->scope, &p->quiet, STR(""));
    disk_set(0, 0, 0);
}

static void place_release(struct place *p)
{
    char rm[96];

    log_scope_leave(&p->scope);
    close(p->quiet.fd);
    snprintf(rm, sizeof rm, "rm -rf %s", p->dir);
    CHECK_INT(system(rm), 0);
}

static struct journal *open_journal(struct place *p, bool durable, uint64_t segment_size)
{
    struct journal_options o = {.dir = p->dir,
                                .durable = durable,
                                .queue_size_max = 1 << 20,
                                .size_max = 64 << 20,
                                .segment_size = segment_size,
                                .clock = &clock_real,
                                .log = &p->quiet};
    struct journal *j = NULL;
    struct err e;

    CHECK_F(journal_open(&o, &j, &e), "%s", e.text);
    CHECK_F(journal_start(j, (struct journal_place){0, 0}, &e), "%s", e.text);
    return j;
}

struct record {
    struct store_ticket ticket; /* first */
    unsigned n;
    _Atomic int reported; /* 0: pending, 1: stored, -1: refused */
    enum err_code code;
    _Atomic unsigned *order; /* counts the tickets that were called */
    unsigned at;
};

static void on_stored(struct store_ticket *t, const struct err *e)
{
    struct record *r = (struct record *)(void *)t;

    assert(r->reported == 0);
    r->code = e ? e->code : ERR_NONE;
    r->at = atomic_fetch_add(r->order, 1);
    r->reported = e ? -1 : 1;
}

static size_t text_of(unsigned n, char out[128])
{
    static const char filler[] = "................................................................";

    return (size_t)snprintf(out, 128, "record %u %.*s", n, (int)(n * 7 % 60), filler);
}

static void put_text(const void *row, char *body)
{
    char text[128];
    size_t size = text_of(*(const unsigned *)row, text);

    memcpy(body, text, size);
}

static void put(struct journal *j, struct record *r, unsigned n, _Atomic unsigned *order)
{
    char text[128];
    struct journal_item item = {FRAME_CALL, text_of(n, text), put_text, &r->n};

    *r = (struct record){.ticket = {.fn = on_stored}, .n = n, .order = order};
    journal_put(j, &item, &r->ticket);
}

static bool wait_told(struct record *r)
{
    for (int ms = 0; ms < 10000 && r->reported == 0; ms++)
        usleep(1000);
    return r->reported != 0;
}

struct found {
    unsigned n[RECORDS_MAX];
    unsigned count, holes, foreign;
};

static void find_in(const char *dir, const struct segment *s, struct found *f)
{
    struct segment_reader r;
    struct segment_hole hole;
    struct frame frame;
    enum segment_got got;
    struct err e;

    segment_reader_init(&r, dir);
    CHECK_F(segment_reader_open(&r, s->number, 0, &e), "%s", e.text);
    while ((got = segment_read(&r, s->size, &frame, &hole, &e)) < SEGMENT_END) {
        char text[128], *end;
        unsigned n;

        if (got == SEGMENT_HOLE) {
            f->holes++;
            continue;
        }
        snprintf(text, sizeof text, STR_FMT, STR_ARG(frame.body));
        n = (unsigned)strtoul(text + 7, &end, 10);
        f->foreign += !str_eq(frame.body, (str){text, text_of(n, text)});
        CHECK(f->count < RECORDS_MAX);
        f->n[f->count++] = n;
    }
    CHECK(got == SEGMENT_END);
    segment_reader_release(&r);
}

static void find_all(const char *dir, struct found *f)
{
    struct segment_list l;
    struct err e;

    *f = (struct found){0};
    CHECK_F(segment_list_read(dir, &l, &e), "%s", e.text);
    for (size_t i = 0; i < l.count; i++)
        find_in(dir, &l.items[i], f);
    segment_list_release(&l);
}

static unsigned times(const struct found *f, unsigned n)
{
    unsigned count = 0;

    for (unsigned i = 0; i < f->count; i++)
        count += f->n[i] == n;
    return count;
}

/* The bytes of a journal with `count` records in one segment. */
static size_t short_journal(struct place *p, unsigned count, char *out, size_t size_max)
{
    static struct record records[64];
    _Atomic unsigned order = 0;
    struct journal *j = open_journal(p, true, 0);
    char path[FILE_PATH_MAX];
    ssize_t n;
    int fd;

    for (unsigned i = 0; i < count; i++)
        put(j, &records[i], i, &order);
    journal_free(j);
    CHECK_INT(order, count);
    fd = open(segment_path(p->dir, 1, path), O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    n = read(fd, out, size_max);
    CHECK(n > 0 && (size_t)n < size_max);
    close(fd);
    return (size_t)n;
}

static void write_segment(struct place *p, const char *bytes, size_t n)
{
    char path[FILE_PATH_MAX];
    int fd = open(segment_path(p->dir, 1, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    CHECK(__real_write(fd, bytes, n) == (ssize_t)n);
    close(fd);
}

/* Recovers the folder twice; the second recovery must change nothing. */
static void recover(struct place *p, struct found *f)
{
    struct journal_options o = {
        .dir = p->dir, .queue_size_max = 4096, .size_max = 1 << 20, .clock = &clock_real};
    struct found again;
    struct journal *j;
    struct err e;

    CHECK_F(journal_open(&o, &j, &e), "%s", e.text);
    journal_free(j);
    find_all(p->dir, f);
    CHECK_F(journal_open(&o, &j, &e), "%s", e.text);
    journal_free(j);
    find_all(p->dir, &again);
    CHECK(memcmp(f, &again, sizeof again) == 0);
}

/* ---- after a crash or on a bad disk ---- */

TEST(a_torn_end_at_every_byte_loses_only_what_is_torn)
{
    struct place p;
    static char bytes[4096], torn[8192], path[FILE_PATH_MAX];
    static struct found f;
    size_t size, ends[9];
    struct stat st;

    place_init(&p);
    size = short_journal(&p, 8, bytes, sizeof bytes);
    ends[0] = FRAME_SEGMENT_HEAD_SIZE;
    for (unsigned i = 0; i < 8; i++) {
        char text[128];

        ends[i + 1] = ends[i] + FRAME_HEAD_SIZE + text_of(i, text);
    }
    CHECK_INT(ends[8], size);
    for (size_t cut = 0; cut <= size; cut++) {
        unsigned whole = 0;

        while (whole < 8 && ends[whole + 1] <= cut)
            whole++;
        memcpy(torn, bytes, cut);
        memset(torn + cut, 0, sizeof torn - cut);
        /* Zeros follow, as the writer preallocates them; but never in place of the segment's head
         * and the first frame's. */
        write_segment(&p, torn, cut % 2 && cut > ends[0] / 2 ? sizeof torn : cut);
        recover(&p, &f);
        CHECK_F(f.count == whole && !f.foreign && !f.holes, "cut at %zu: %u", cut, f.count);
        for (unsigned i = 0; i < whole; i++)
            CHECK_INT(f.n[i], i);
        CHECK(stat(segment_path(p.dir, 1, path), &st) == 0);
        if (cut >= ends[0])
            CHECK_INT(st.st_size, ends[whole]);
    }
    place_release(&p);
}

TEST(a_flipped_bit_costs_at_most_the_record_it_is_in)
{
    struct place p;
    static char bytes[4096];
    static struct found f;
    size_t size;

    place_init(&p);
    size = short_journal(&p, 6, bytes, sizeof bytes);
    for (size_t at = 0; at < size; at++)
        for (int bit = 0; bit < 8; bit += at % 3 == 0 ? 1 : 3) {
            bytes[at] ^= (char)(1 << bit);
            write_segment(&p, bytes, size);
            find_all(p.dir, &f);
            bytes[at] ^= (char)(1 << bit);
            CHECK_INT(f.foreign, 0);
            if (at < FRAME_SEGMENT_HEAD_SIZE)
                CHECK(f.count == 6 && !f.holes);
            else
                CHECK_F(f.count == 5 && f.holes == 1, "%zu.%d: %u", at, bit, f.count);
        }
    place_release(&p);
}

/* A body may contain bytes that look like a frame. Only a frame sealed for that position would be
 * one. */
TEST(a_frame_inside_a_body_is_no_record)
{
    char segment[512] = {0}, *outer = segment + FRAME_SEGMENT_HEAD_SIZE, text[128];
    char *inner = outer + FRAME_HEAD_SIZE + 10;
    struct frame_segment head = {FRAME_VERSION, 4711, 1};
    size_t size = text_of(3, text), n;
    struct place p;
    static struct found f;

    place_init(&p);
    frame_segment_put(segment, &head);
    frame_put(outer, FRAME_CALL, 200);
    frame_put(inner, FRAME_CALL, size);
    memcpy(inner + FRAME_HEAD_SIZE, text, size);
    frame_seal(inner, 4712, (uint64_t)(inner - segment));
    n = FRAME_SEGMENT_HEAD_SIZE + frame_seal(outer, head.salt, FRAME_SEGMENT_HEAD_SIZE);
    outer[5] ^= 1; /* damages the outer frame, so that the reader searches for the next one */
    write_segment(&p, segment, n);
    find_all(p.dir, &f);
    CHECK(f.count == 0 && f.holes == 1);
    frame_seal(inner, head.salt, (uint64_t)(inner - segment) + 1);
    write_segment(&p, segment, n);
    find_all(p.dir, &f);
    CHECK_INT(f.count, 0);
    frame_seal(inner, head.salt, (uint64_t)(inner - segment));
    write_segment(&p, segment, n);
    find_all(p.dir, &f);
    CHECK(f.count == 1 && f.n[0] == 3); /* else the test would pass without a valid inner frame */
    place_release(&p);
}

TEST(a_segment_of_a_newer_version_is_refused)
{
    char bytes[FRAME_SEGMENT_HEAD_SIZE];
    struct frame_segment head = {FRAME_VERSION + 1, 1, 1};
    struct journal_options o = {.queue_size_max = 4096, .size_max = 1 << 20};
    struct journal *j;
    struct place p;
    struct err e;

    place_init(&p);
    frame_segment_put(bytes, &head);
    write_segment(&p, bytes, sizeof bytes);
    o.dir = p.dir;
    CHECK(!journal_open(&o, &j, &e));
    CHECK_F(strstr(e.text, "newer version"), "%s", e.text);
    place_release(&p);
}

/* ---- the writer ---- */

TEST(tickets_are_called_in_order_across_segments)
{
    static struct record records[2000];
    static struct found f;
    _Atomic unsigned order = 0;
    struct store_health h;
    struct place p;
    struct journal *j;

    place_init(&p);
    j = open_journal(&p, true, 8192);
    for (unsigned i = 0; i < 2000; i++)
        put(j, &records[i], i, &order);
    journal_stop(j);
    journal_health(j, &h);
    CHECK(h.ok && h.stored == 2000 && h.dropped == 0 && h.commits >= 1);
    journal_free(j);
    find_all(p.dir, &f);
    CHECK_INT(f.count, 2000);
    for (unsigned i = 0; i < 2000; i++) {
        CHECK_INT(records[i].reported, 1);
        CHECK_INT(records[i].at, i);
        CHECK_INT(f.n[i], i);
    }
    place_release(&p);
}

TEST(what_waits_for_the_disk_is_bounded_and_no_caller_waits)
{
    static struct record records[RECORDS_MAX * 8];
    _Atomic unsigned order = 0;
    unsigned refused = 0, n = 0;
    struct store_health h;
    struct place p;
    struct journal *j;

    place_init(&p);
    disk_hold();
    j = open_journal(&p, true, 0);
    while (refused < 10) {
        CHECK(n < COUNT_OF(records));
        put(j, &records[n], n, &order);
        refused += records[n].reported == -1 && records[n].code == ERR_LIMIT;
        n++;
    }
    journal_health(j, &h);
    CHECK(h.queue_bytes <= 1 << 20 && h.queue_bytes > (1 << 20) - 256);
    CHECK_INT(h.dropped, 10);
    disk_set(0, 0, 0);
    journal_stop(j);
    CHECK_INT(order, n);
    journal_health(j, &h);
    CHECK_INT(h.stored, n - 10);
    journal_free(j);
    place_release(&p);
}

TEST(after_a_failed_sync_nothing_is_acknowledged)
{
    static struct record records[40];
    _Atomic unsigned order = 0;
    struct store_health h;
    struct place p;
    struct journal *j;

    place_init(&p);
    disk_set(0, 0, 6);
    j = open_journal(&p, true, 0);
    for (unsigned i = 0; i < 40; i++) {
        put(j, &records[i], i, &order);
        CHECK(wait_told(&records[i]));
        CHECK_INT(records[i].reported, i < 5 ? 1 : -1);
    }
    CHECK_INT(disk_syncs(), 6); /* and the journal tries no further sync */
    journal_health(j, &h);
    CHECK(!h.ok && h.stored == 5 && h.dropped == 35);
    CHECK_F(strstr(h.why, "sync"), "%s", h.why);
    journal_free(j);
    CHECK_INT(disk_syncs(), 6);
    place_release(&p);
}

TEST(a_full_disk_is_told_and_got_over)
{
    static const int errors[] = {ENOSPC, EDQUOT, EFBIG};
    static struct record records[200];
    static struct found f;

    for (size_t k = 0; k < COUNT_OF(errors); k++) {
        _Atomic unsigned order = 0;
        struct store_health h = {0};
        struct place p;
        struct journal *j;

        place_init(&p);
        disk_set(12, errors[k], 0);
        j = open_journal(&p, true, 0);
        for (unsigned i = 0; i < 100; i++) {
            put(j, &records[i], i, &order);
            CHECK(wait_told(&records[i]));
            CHECK_INT(records[i].reported, i < 10 ? 1 : -1);
        }
        journal_health(j, &h);
        CHECK(!h.ok && h.why[0]);
        for (int ms = 0; ms < 5000 && !h.ok; ms++) {
            usleep(1000);
            journal_health(j, &h);
        }
        CHECK(h.ok);
        for (unsigned i = 100; i < 200; i++)
            put(j, &records[i], i, &order);
        journal_free(j);
        recover(&p, &f);
        CHECK(f.holes == 0 && f.foreign == 0);
        for (unsigned i = 0; i < 200; i++)
            CHECK_INT(times(&f, i), records[i].reported == 1);
        CHECK_INT(f.count, 110);
        place_release(&p);
    }
}

TEST(short_writes_are_gone_on_with)
{
    static struct record records[100];
    static struct found f;
    _Atomic unsigned order = 0;
    struct place p;
    struct journal *j;

    place_init(&p);
    disk_cut(7);
    j = open_journal(&p, true, 0);
    for (unsigned i = 0; i < 100; i++)
        put(j, &records[i], i, &order);
    journal_free(j);
    find_all(p.dir, &f);
    CHECK(f.count == 100 && f.holes == 0 && f.foreign == 0);
    place_release(&p);
}

TEST(no_room_for_zeros_ahead_is_room_for_records)
{
    static struct record records[100];
    static struct found f;
    _Atomic unsigned order = 0;
    struct place p;
    struct journal *j;

    place_init(&p);
    j = open_journal(&p, true, 3000);
    for (unsigned i = 0; i < 100; i++) {
        if (i == 50)
            disk_no_ahead(ENOSPC);
        put(j, &records[i], i, &order);
        CHECK(wait_told(&records[i]));
        CHECK_INT(records[i].reported, 1);
    }
    journal_free(j);
    find_all(p.dir, &f);
    CHECK(f.count == 100 && f.holes == 0 && f.foreign == 0);
    place_release(&p);
}

/* Each write and each sync of a short run fails in turn, until the run has no more of them. */
TEST(whatever_fails_all_that_was_acknowledged_is_there_once)
{
    static struct record records[30];
    static struct found f;

    for (unsigned nth = 1, kind = 0; kind < 2; nth++) {
        _Atomic unsigned order = 0;
        unsigned calls;
        struct place p;
        struct journal *j;

        place_init(&p);
        disk_set(kind == 0 ? nth : 0, EIO, kind == 1 ? nth : 0);
        j = open_journal(&p, true, 500);
        for (unsigned i = 0; i < 30; i++) {
            put(j, &records[i], i, &order);
            CHECK(wait_told(&records[i]));
        }
        journal_free(j);
        calls = kind == 0 ? disk_writes() : disk_syncs();
        recover(&p, &f);
        CHECK_INT(f.foreign, 0);
        for (unsigned i = 0; i < 30; i++) {
            if (records[i].reported == 1)
                CHECK_INT(times(&f, i), 1);
            CHECK(times(&f, i) <= 1);
            CHECK(i == 0 || records[i].reported <= records[i - 1].reported); /* stops for good */
        }
        place_release(&p);
        if (calls < nth) {
            CHECK_INT(records[29].reported, 1);
            kind++;
            nth = 0;
        }
    }
}

TEST(fast_tickets_do_not_wait_and_the_disk_follows)
{
    static struct record records[20];
    static struct found f;
    _Atomic unsigned order = 0;
    struct place p;
    struct journal *j;
    int ms = 0;

    place_init(&p);
    j = open_journal(&p, false, 0);
    for (unsigned i = 0; i < 20; i++) {
        put(j, &records[i], i, &order);
        CHECK_INT(records[i].reported, 1);
    }
    for (; ms < 5000 && disk_syncs() == 0; ms++)
        usleep(1000);
    CHECK(disk_syncs() >= 1);
    find_all(p.dir, &f);
    CHECK_INT(f.count, 20);
    journal_free(j);
    place_release(&p);
}

TEST(the_taker_sees_what_is_committed_and_segments_go)
{
    static struct record records[200];
    _Atomic unsigned order = 0;
    struct journal_place place = {0, 0};
    struct journal_part part;
    struct segment_list l;
    struct store_health h;
    struct place p;
    struct journal *j;
    struct err e;

    place_init(&p);
    j = open_journal(&p, true, 2000);
    CHECK(!journal_next(j, &place, &part, 0));
    for (unsigned i = 0; i < 200; i++) {
        put(j, &records[i], i, &order);
        CHECK(wait_told(&records[i]));
    }
    journal_stop(j);
    CHECK(!journal_settle(j, 1));
    while (journal_next(j, &place, &part, 0)) {
        CHECK(part.sealed && part.number == place.segment);
        place = (struct journal_place){part.number + 1, 0};
        journal_taken(j, place, false);
    }
    CHECK(journal_settle(j, 1));
    journal_health(j, &h);
    CHECK_INT(h.journal_bytes, 0);
    journal_free(j);
    CHECK(segment_list_read(p.dir, &l, &e));
    CHECK_INT(l.count, 0);
    segment_list_release(&l);
    place_release(&p);
}

TEST_MAIN(T(a_torn_end_at_every_byte_loses_only_what_is_torn),
          T(a_flipped_bit_costs_at_most_the_record_it_is_in), T(a_frame_inside_a_body_is_no_record),
          T(a_segment_of_a_newer_version_is_refused),
          T(tickets_are_called_in_order_across_segments),
          T(what_waits_for_the_disk_is_bounded_and_no_caller_waits),
          T(after_a_failed_sync_nothing_is_acknowledged), T(a_full_disk_is_told_and_got_over),
          T(short_writes_are_gone_on_with), T(no_room_for_zeros_ahead_is_room_for_records),
          T(whatever_fails_all_that_was_acknowledged_is_there_once),
          T(fast_tickets_do_not_wait_and_the_disk_follows),
          T(the_taker_sees_what_is_committed_and_segments_go))
