/* Recycled journal files: no byte of a file's earlier use is ever read as a record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/journal.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENT 3000
#define FILE_MAX (256 << 10)
#define FOUND_MAX 256

struct place {
    char dir[64];
    struct journal *journal;
    struct log quiet;
    struct log_scope scope;
    unsigned count; /* records written so far */
};

static struct journal_options journal_of(const char *dir, struct log *log)
{
    return (struct journal_options){.dir = dir,
                                    .durable = true,
                                    .queue_size_max = 1 << 20,
                                    .size_max = 64 << 20,
                                    .segment_size = SEGMENT,
                                    .log = log};
}

static void place_open(struct place *p)
{
    struct journal_options o = journal_of(p->dir, &p->quiet);
    struct err e;

    CHECK_F(journal_open(&o, &p->journal, &e), "%s", e.text);
    CHECK_F(journal_start(p->journal, (struct journal_place){0, 0}, &e), "%s", e.text);
}

static void place_init(struct place *p)
{
    *p = (struct place){0};
    snprintf(p->dir, sizeof p->dir, "%s/journal_recycle.XXXXXX", test_tmp());
    CHECK(mkdtemp(p->dir));
    log_init(&p->quiet, open("/dev/null", O_WRONLY | O_CLOEXEC), LOG_ERROR, &clock_real);
    log_scope_enter(&p->scope, &p->quiet, STR(""));
    place_open(p);
}

static void place_release(struct place *p)
{
    char rm[96];

    if (p->journal)
        journal_free(p->journal);
    log_scope_leave(&p->scope);
    close(p->quiet.fd);
    snprintf(rm, sizeof rm, "rm -rf %s", p->dir);
    CHECK_INT(system(rm), 0);
}

/* ---- records ---- */

struct record {
    struct store_ticket ticket; /* first */
    _Atomic bool reported;
};

static void on_stored(struct store_ticket *t, const struct err *e)
{
    CHECK(!e);
    ((struct record *)(void *)t)->reported = true;
}

/* All records have one size, so that frames of an earlier use begin where new ones do. */
static size_t text_of(unsigned n, char out[128])
{
    return (size_t)snprintf(out, 128, "record %080u", n);
}

static void put_text(const void *row, char *body)
{
    char text[128];
    size_t size = text_of(*(const unsigned *)row, text);

    memcpy(body, text, size);
}

/* Writes one record as a group of its own. */
static void put_one(struct place *p)
{
    struct record r = {.ticket = {.fn = on_stored}};
    unsigned n = p->count++;
    char text[128];
    struct journal_item item = {FRAME_CALL, text_of(n, text), put_text, &n};

    journal_put(p->journal, &item, &r.ticket);
    while (!r.reported)
        usleep(100);
}

/* Recycles all segments that have ended. */
static void take_sealed(struct place *p)
{
    struct journal_place at = {0, 0};
    struct journal_part part;

    while (journal_next(p->journal, &at, &part, 0) && part.sealed) {
        at = (struct journal_place){part.number + 1, 0};
        journal_taken(p->journal, at, false);
    }
}

static size_t read_segment(const char *dir, uint64_t number, char *out)
{
    char path[FILE_PATH_MAX];
    int fd = open(segment_path(dir, number, path), O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return 0;
    n = read(fd, out, FILE_MAX);
    CHECK(n >= 0 && n < FILE_MAX);
    close(fd);
    return (size_t)n;
}

static uint32_t version_of(const char *bytes, size_t n)
{
    struct frame_segment head = {0};

    return frame_segment_get((str){bytes, n}, &head) ? head.version : 0;
}

/* Returns the number of the first recycled segment that has at least one record and room for
 * more. */
static uint64_t fill_until_recycled(struct place *p)
{
    static char bytes[FILE_MAX];

    for (int i = 0; i < 1000; i++) {
        struct store_health h;

        put_one(p);
        take_sealed(p);
        for (uint64_t number = 1; number < 50; number++) {
            size_t n = read_segment(p->dir, number, bytes);

            journal_health(p->journal, &h);
            if (n > 0 && version_of(bytes, n) == FRAME_VERSION && h.journal_bytes < SEGMENT / 3)
                return number;
        }
    }
    fail_msg("no file was used again");
    return 0;
}

static unsigned record_number(str body)
{
    char text[128];

    CHECK(body.n > 7 && body.n < sizeof text);
    memcpy(text, body.p, body.n); /* no NUL follows the number in a body */
    text[body.n] = '\0';
    return (unsigned)strtoul(text + 7, NULL, 10);
}

/* The numbers of the records that recovery finds in one segment. */
static unsigned recover(const char *dir, uint64_t number, unsigned *out)
{
    struct journal_options o = journal_of(dir, NULL);
    struct segment_reader r;
    struct segment_hole hole;
    struct frame frame;
    struct segment_list l;
    struct journal *j;
    unsigned count = 0;
    struct err e;

    CHECK_F(journal_open(&o, &j, &e), "%s", e.text);
    journal_free(j);
    CHECK(segment_list_read(dir, &l, &e));
    CHECK(l.count == 1 && l.items[0].number == number);
    segment_reader_init(&r, dir);
    CHECK_F(segment_reader_open(&r, number, 0, &e), "%s", e.text);
    while (segment_read(&r, l.items[0].size, &frame, &hole, &e) == SEGMENT_FRAME)
        out[count++] = record_number(frame.body);
    CHECK_INT(r.at, l.items[0].size); /* no bytes remain after the last record */
    segment_reader_release(&r);
    segment_list_release(&l);
    return count;
}

/* Writes the file as after a crash in which only the first `cut` bytes of the new state reached the
 * disk. */
static void write_cut(const char *dir, uint64_t number, const char *before, const char *after,
                      size_t n, size_t cut)
{
    char path[FILE_PATH_MAX];
    int fd = open(segment_path(dir, number, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    CHECK(fd >= 0 && write(fd, after, cut) == (ssize_t)cut &&
          write(fd, before + cut, n - cut) == (ssize_t)(n - cut));
    close(fd);
}

TEST(every_cut_of_the_last_group_leaves_the_groups_before_it)
{
    static char before[FILE_MAX], after[FILE_MAX];
    unsigned want[FOUND_MAX], got[FOUND_MAX], count;
    char dir[64], rm[96], path[FILE_PATH_MAX];
    struct place p;
    uint64_t number;
    size_t n, end = 0;

    place_init(&p);
    snprintf(dir, sizeof dir, "%s/journal_cut.XXXXXX", test_tmp());
    CHECK(mkdtemp(dir));
    number = fill_until_recycled(&p);
    put_one(&p);
    n = read_segment(p.dir, number, before);
    put_one(&p);
    CHECK_INT(read_segment(p.dir, number, after), n); /* it overwrites older bytes */
    for (size_t i = 0; i < n; i++)
        end = before[i] != after[i] ? i + 1 : end;
    write_cut(dir, number, before, after, n, 0);
    count = recover(dir, number, want);
    CHECK(count >= 2 && want[count - 1] == p.count - 2);
    for (size_t cut = 1; cut <= end; cut++) {
        unsigned found;

        write_cut(dir, number, before, after, n, cut);
        found = recover(dir, number, got);
        CHECK_F(found == count + (cut == end), "%u records at %zu of %zu", found, cut, end);
        CHECK(memcmp(got, want, count * sizeof want[0]) == 0);
        CHECK(found == count || got[count] == p.count - 1);
    }
    CHECK_INT(unlink(segment_path(dir, number, path)), 0);
    snprintf(rm, sizeof rm, "rm -rf %s", dir);
    CHECK_INT(system(rm), 0);
    place_release(&p);
}

TEST(a_killed_process_leaves_no_record_of_an_older_use)
{
    static char bytes[FILE_MAX];
    unsigned got[FOUND_MAX], count, first;
    char dir[64], rm[96];
    struct place p;
    uint64_t number;
    size_t n;

    place_init(&p);
    snprintf(dir, sizeof dir, "%s/journal_kill.XXXXXX", test_tmp());
    CHECK(mkdtemp(dir));
    number = fill_until_recycled(&p);
    n = read_segment(p.dir, number, bytes);
    CHECK(n > SEGMENT); /* full size, with frames of its earlier use */
    write_cut(dir, number, bytes, bytes, n, n);
    count = recover(dir, number, got);
    CHECK(count >= 1 && count < SEGMENT / 100 / 2);
    first = p.count - count;
    for (unsigned i = 0; i < count; i++)
        CHECK_INT(got[i], first + i);
    snprintf(rm, sizeof rm, "rm -rf %s", dir);
    CHECK_INT(system(rm), 0);
    place_release(&p);
}

static bool folder_holds(const char *dir, const char *text)
{
    static char bytes[FILE_MAX];
    struct dirent *entry;
    bool found = false;
    DIR *d = opendir(dir);

    CHECK(d);
    while ((entry = readdir(d))) {
        char path[FILE_PATH_MAX];
        ssize_t n;
        int fd;

        snprintf(path, sizeof path, "%s/%.200s", dir, entry->d_name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd >= 0 ? read(fd, bytes, sizeof bytes) : -1;
        found |= n > 0 && memmem(bytes, (size_t)n, text, strlen(text)) != NULL;
        if (fd >= 0)
            close(fd);
    }
    closedir(d);
    return found;
}

TEST(a_segment_that_is_ended_for_an_erasure_leaves_no_byte)
{
    struct place p;

    place_init(&p);
    (void)fill_until_recycled(&p);
    CHECK(folder_holds(p.dir, "record 0"));
    journal_roll(p.journal);
    take_sealed(&p);
    CHECK(!folder_holds(p.dir, "record 0"));
    put_one(&p);
    put_one(&p);
    CHECK(folder_holds(p.dir, "record 0"));
    place_release(&p);
}

TEST(records_of_an_earlier_process_are_part_of_the_backlog)
{
    struct journal_place place = {0, 0};
    struct journal_part part;
    struct store_health h;
    struct place p;
    uint64_t n;

    place_init(&p);
    while (p.count < 200)
        put_one(&p);
    journal_free(p.journal);
    place_open(&p);
    n = journal_old_records(p.journal, 0);
    CHECK_F(n > 10, "%llu", (unsigned long long)n);
    CHECK(journal_next(p.journal, &place, &part, 0));
    journal_taken(p.journal, (struct journal_place){part.number + 1, 0}, false);
    n = journal_old_records(p.journal, SEGMENT / 107);
    CHECK_F(n > 120 && n < 200, "%llu", (unsigned long long)n);
    take_sealed(&p);
    CHECK_INT(journal_old_records(p.journal, 200), 0);
    journal_health(p.journal, &h);
    CHECK_INT(h.pending_s, 0);
    place_release(&p);
}

/* ---- without the lock ---- */

struct slow {
    struct journal *journal;
    _Atomic bool begun, other_done;
    bool in_time;
};

/* Other threads use the journal while a record is being written. */
static void put_slowly(const void *row, char *body)
{
    struct slow *s = (struct slow *)(uintptr_t)row;

    s->begun = true;
    for (int ms = 0; ms < 10000 && !s->other_done; ms++)
        usleep(1000);
    s->in_time = s->other_done;
    memset(body, 'x', 16);
}

static void *use_journal(void *slow)
{
    struct slow *s = slow;
    struct store_health h;

    while (!s->begun)
        usleep(100);
    journal_health(s->journal, &h);
    s->other_done = true;
    return NULL;
}

TEST(records_are_written_into_the_queue_without_the_lock)
{
    struct record r = {.ticket = {.fn = on_stored}};
    struct slow s = {0};
    struct journal_item item = {FRAME_CALL, 16, put_slowly, &s};
    struct place p;
    pthread_t other;

    place_init(&p);
    s.journal = p.journal;
    CHECK_INT(pthread_create(&other, NULL, use_journal, &s), 0);
    journal_put(p.journal, &item, &r.ticket);
    CHECK(s.in_time);
    pthread_join(other, NULL);
    while (!r.reported)
        usleep(100);
    CHECK(folder_holds(p.dir, "xxxxxxxxxxxxxxxx"));
    place_release(&p);
}

TEST(a_segment_whose_head_could_not_be_read_is_not_taken_for_open)
{
    char path[FILE_PATH_MAX];
    struct segment_reader r;
    struct place p;
    struct err e;
    uint32_t salt;
    int fd;

    place_init(&p);
    CHECK_F(segment_create(p.dir, 100, &fd, &salt, &e), "%s", e.text);
    close(fd);
    segment_reader_init(&r, p.dir);
    CHECK_F(segment_reader_open(&r, 100, 0, &e), "%s", e.text);
    CHECK(r.fd >= 0 && r.readable);
    CHECK(mkdir(segment_path(p.dir, 101, path), 0700) == 0); /* opens, but reading fails */
    CHECK(!segment_reader_open(&r, 101, 0, &e) && e.code == ERR_SYSTEM);
    CHECK(r.fd < 0 && !r.readable); /* else salt 100 would check segment 101 */
    segment_reader_release(&r);
    place_release(&p);
}

TEST_MAIN(T(every_cut_of_the_last_group_leaves_the_groups_before_it),
          T(a_killed_process_leaves_no_record_of_an_older_use),
          T(a_segment_that_is_ended_for_an_erasure_leaves_no_byte),
          T(records_of_an_earlier_process_are_part_of_the_backlog),
          T(records_are_written_into_the_queue_without_the_lock),
          T(a_segment_whose_head_could_not_be_read_is_not_taken_for_open))
