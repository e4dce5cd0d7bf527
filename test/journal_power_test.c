/* The power fails at every sync. Synced bytes are on disk. Each sector written since the last sync
 * has its old bytes, its new bytes, or noise. Recovery must find every acknowledged record, and no
 * record that was never written.
 *
 * Linked with --wrap=fdatasync and --wrap=fsync: before each sync of a segment the test copies the
 * folder, with the bytes of each file that are certain to be on disk and the list of acknowledged
 * records.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/rand.h"
#include "store/journal.h"
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORDS 240
#define SEGMENTS_MAX 64
#define SYNCS_MAX 512
#define SECTOR 64u /* small, so that many sectors are torn */
#define VARIANTS 12

struct file {
    char *bytes, *sure; /* current bytes, and those certain to be on disk; NULL: no such file */
    size_t size, sure_size;
    bool entered; /* the folder was synced with its name */
};

struct moment {
    struct file files[SEGMENTS_MAX];
    bool acked[RECORDS];
};

static struct {
    char dir[64];
    struct file synced[SEGMENTS_MAX]; /* the bytes at the last sync */
    bool entered[SEGMENTS_MAX];
    _Atomic bool reported[RECORDS];
    struct moment *moments[SYNCS_MAX];
    size_t count;
} disk;

static bool is_ours(int fd, unsigned *segment)
{
    char link[64], path[4096];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    *segment = 0;
    if (!disk.dir[0] || strncmp(path, disk.dir, strlen(disk.dir)) != 0)
        return false;
    if (n > 4 && strcmp(path + n - 4, ".seg") == 0)
        *segment = (unsigned)strtoul(path + strlen(disk.dir) + 1, NULL, 10);
    return true;
}

static char *read_all(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *bytes;

    if (fd < 0)
        return NULL;
    CHECK_INT(fstat(fd, &st), 0);
    bytes = base_alloc((size_t)st.st_size + 1);
    CHECK(read(fd, bytes, (size_t)st.st_size) == st.st_size);
    close(fd);
    *size = (size_t)st.st_size;
    return bytes;
}

static void remember(void)
{
    struct moment *m = base_alloc(sizeof *m);
    char path[FILE_PATH_MAX];

    *m = (struct moment){0};
    for (unsigned i = 0; i < RECORDS; i++)
        m->acked[i] = disk.reported[i];
    for (unsigned i = 1; i < SEGMENTS_MAX; i++) {
        m->files[i].bytes = read_all(segment_path(disk.dir, i, path), &m->files[i].size);
        m->files[i].sure_size = disk.synced[i].size;
        m->files[i].sure = base_alloc(disk.synced[i].size + 1);
        if (disk.synced[i].size)
            memcpy(m->files[i].sure, disk.synced[i].bytes, disk.synced[i].size);
        m->files[i].entered = disk.entered[i];
    }
    CHECK(disk.count < SYNCS_MAX);
    disk.moments[disk.count++] = m;
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fdatasync(int fd)
{
    char path[FILE_PATH_MAX];
    struct file *f;
    unsigned segment;

    if (!is_ours(fd, &segment) || !segment)
        return __real_fdatasync(fd);
    CHECK(segment < SEGMENTS_MAX);
    remember();
    f = &disk.synced[segment];
    free(f->bytes);
    f->bytes = read_all(segment_path(disk.dir, segment, path), &f->size);
    CHECK(f->bytes);
    return 0; /* the test needs the order of syncs only, so it skips the real one */
}

int __wrap_fsync(int fd)
{
    char path[FILE_PATH_MAX];
    unsigned segment;
    struct stat st;

    if (!is_ours(fd, &segment))
        return __real_fsync(fd);
    for (unsigned i = 1; i < SEGMENTS_MAX && !segment; i++)
        disk.entered[i] |= stat(segment_path(disk.dir, i, path), &st) == 0;
    return 0;
}

/* ---- the workload ---- */

struct record {
    struct store_ticket ticket; /* first */
    unsigned n;
};

static void on_stored(struct store_ticket *t, const struct err *e)
{
    CHECK(!e);
    disk.reported[((struct record *)(void *)t)->n] = true;
}

static size_t text_of(unsigned n, char out[128])
{
    return (size_t)snprintf(out, 128, "record %u %0*u", n, (int)(n * 7 % 60) + 1, n);
}

static void put_text(const void *row, char *body)
{
    char text[128];
    size_t size = text_of(*(const unsigned *)row, text);

    memcpy(body, text, size);
}

static void work(struct rand *chance)
{
    static struct record records[RECORDS];
    struct journal_options o = {.dir = disk.dir,
                                .durable = true,
                                .queue_size_max = 1 << 20,
                                .size_max = 64 << 20,
                                .segment_size = 1500};
    struct journal *j;
    struct err e;
    char text[128];

    CHECK_F(journal_open(&o, &j, &e), "%s", e.text);
    CHECK_F(journal_start(j, (struct journal_place){0, 0}, &e), "%s", e.text);
    for (unsigned i = 0; i < RECORDS; i++) {
        bool piece = rand_below(chance, 4) == 0; /* pieces have no ticket, so some stay unsynced */
        bool waits = !piece && rand_below(chance, 2);
        struct journal_item item = {
            piece ? FRAME_PIECE : FRAME_CALL, text_of(i, text), put_text, &records[i].n};

        records[i] = (struct record){.ticket = {.fn = on_stored}, .n = i};
        journal_put(j, &item, piece ? NULL : &records[i].ticket);
        while (waits && !disk.reported[i])
            usleep(100);
    }
    journal_free(j);
}

/* ---- the power fails ---- */

static char sure_at(const struct file *f, size_t at)
{
    return at < f->sure_size ? f->sure[at] : '\0';
}

/* Unsynced sectors keep their old bytes, get the new ones, become noise, or have single bits
 * flipped. The file may also be shorter. */
static size_t spoil(struct rand *chance, unsigned variant, const struct file *f, char *bytes)
{
    size_t size = f->size;

    memcpy(bytes, f->bytes, f->size);
    if (variant == 1 || f->size < f->sure_size)
        return size; /* all writes arrived; or the file was truncated by zeros that nothing needs */
    if (variant == 0 || rand_below(chance, 2))
        size = f->sure_size + (variant ? rand_below(chance, f->size - f->sure_size + 1) : 0);
    for (size_t at = 0; at < size;) {
        size_t end = (at / SECTOR + 1) * SECTOR < size ? (at / SECTOR + 1) * SECTOR : size;
        uint64_t what = variant ? rand_below(chance, 4) : 0;

        for (; at < end; at++) {
            char was = sure_at(f, at);

            if (at < f->sure_size && was == bytes[at])
                continue; /* not written since the last sync */
            bytes[at] = what == 0 ? was : what == 1 ? (char)rand_below(chance, 256) : bytes[at];
            if (what == 2 && rand_below(chance, SECTOR) == 0)
                bytes[at] ^= (char)(1 << rand_below(chance, 8));
        }
    }
    return size;
}

static void write_all(const char *path, const char *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
}

static void make(struct rand *chance, unsigned variant, const struct moment *m, const char *dir)
{
    char path[FILE_PATH_MAX], *bytes;

    for (unsigned i = 1; i < SEGMENTS_MAX; i++) {
        const struct file *f = &m->files[i];

        (void)unlink(segment_path(dir, i, path));
        if (!f->bytes || (!f->entered && rand_below(chance, 2)))
            continue;
        bytes = base_alloc(f->size + 1);
        write_all(path, bytes, spoil(chance, variant, f, bytes));
        free(bytes);
    }
}

static void count_in(const char *dir, const struct segment *s, unsigned *times)
{
    struct segment_reader r;
    struct segment_hole hole;
    struct frame frame;
    enum segment_got got;
    struct err e;

    segment_reader_init(&r, dir);
    CHECK_F(segment_reader_open(&r, s->number, 0, &e), "%s", e.text);
    while ((got = segment_read(&r, s->size, &frame, &hole, &e)) < SEGMENT_END) {
        char text[128];
        unsigned n;

        if (got == SEGMENT_HOLE)
            continue;
        snprintf(text, sizeof text, STR_FMT, STR_ARG(frame.body));
        n = (unsigned)strtoul(text + 7, NULL, 10);
        CHECK(n < RECORDS && str_eq(frame.body, (str){text, text_of(n, text)}));
        times[n]++;
    }
    CHECK(got == SEGMENT_END);
    segment_reader_release(&r);
}

static void recover(const char *dir, const struct moment *m)
{
    struct journal_options o = {.dir = dir, .queue_size_max = 4096, .size_max = 1 << 20};
    unsigned times[RECORDS] = {0};
    struct segment_list l;
    struct journal *j;
    struct err e;

    CHECK_F(journal_open(&o, &j, &e), "%s", e.text);
    journal_free(j);
    CHECK(segment_list_read(dir, &l, &e));
    for (size_t i = 0; i < l.count; i++)
        count_in(dir, &l.items[i], times);
    segment_list_release(&l);
    for (unsigned i = 0; i < RECORDS; i++)
        CHECK_F(
            times[i] <= 1 && times[i] >= m->acked[i], "record %u is there %u times", i, times[i]);
}

static void forget(void)
{
    char rm[96];

    snprintf(rm, sizeof rm, "rm -rf %s", disk.dir);
    CHECK_INT(system(rm), 0);
    for (size_t i = 0; i < disk.count; i++) {
        for (unsigned k = 1; k < SEGMENTS_MAX; k++) {
            free(disk.moments[i]->files[k].bytes);
            free(disk.moments[i]->files[k].sure);
        }
        free(disk.moments[i]);
    }
    for (unsigned k = 1; k < SEGMENTS_MAX; k++)
        free(disk.synced[k].bytes);
}

TEST(whenever_the_power_goes_what_was_acknowledged_is_there)
{
    struct rand chance;
    struct log quiet;
    struct log_scope scope;
    char dir[] = "/tmp/journal_power_out.XXXXXX", rm[96];
    unsigned acked = 0;

    rand_init(&chance, 17);
    log_init(&quiet, open("/dev/null", O_WRONLY | O_CLOEXEC), LOG_ERROR, &clock_real);
    log_scope_enter(&scope, &quiet, STR(""));
    snprintf(disk.dir, sizeof disk.dir, "/tmp/journal_power.XXXXXX");
    CHECK(mkdtemp(disk.dir) && mkdtemp(dir));
    work(&chance);
    CHECK(disk.count > 40);
    for (size_t i = 0; i < disk.count; i++)
        for (unsigned v = 0; v < VARIANTS; v++) {
            make(&chance, v, disk.moments[i], dir);
            recover(dir, disk.moments[i]);
        }
    for (unsigned i = 0; i < RECORDS; i++)
        acked += disk.moments[disk.count - 1]->acked[i];
    CHECK(acked > RECORDS / 2);
    printf("%zu moments, %u ways each\n", disk.count, VARIANTS);
    forget();
    snprintf(rm, sizeof rm, "rm -rf %s", dir);
    CHECK_INT(system(rm), 0);
    log_scope_leave(&scope);
    close(quiet.fd);
}

TEST_MAIN(T(whenever_the_power_goes_what_was_acknowledged_is_there))
