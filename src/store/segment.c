/* SPDX-License-Identifier: Apache-2.0 */
#include "store/segment.h"

#include "base/log.h"
#include "base/rand.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT_MAX 1000000u
#define READ_SIZE ((size_t)256 << 10)

static const str suffix = STR_INIT(".seg"), damaged_suffix = STR_INIT(".seg.damaged");

const char *segment_path(const char *dir, uint64_t number, char out[FILE_PATH_MAX])
{
    (void)snprintf(out, FILE_PATH_MAX, "%s/%016llu.seg", dir, (unsigned long long)number);
    return out;
}

void segment_list_add(struct segment_list *l, struct segment s)
{
    assert(l->count <= l->cap);
    l->items = base_grow(l->items, l->count, &l->cap, sizeof l->items[0]);
    l->items[l->count++] = s;
}

void segment_list_release(struct segment_list *l)
{
    free(l->items);
    *l = (struct segment_list){0};
}

static int segment_by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct segment *)a)->number, y = ((const struct segment *)b)->number;

    return x < y ? -1 : x > y;
}

static bool segment_list_one(const char *dir, const char *name, struct segment_list *l,
                             struct err *e)
{
    str s = str_c(name);
    struct segment one = {.sealed = true};
    char path[FILE_PATH_MAX];
    struct stat st;

    if (!str_ends(s, suffix) || !str_u64(str_slice(s, 0, s.n - suffix.n), &one.number))
        return true;
    if (l->count == COUNT_MAX)
        return err_set(e, ERR_LIMIT, "%s has more than %u segments", dir, COUNT_MAX);
    if (stat(segment_path(dir, one.number, path), &st) < 0)
        return err_sys(e, "stat %s", path);
    one.size = (uint64_t)st.st_size;
    segment_list_add(l, one);
    return true;
}

bool segment_list_read(const char *dir, struct segment_list *out, struct err *e)
{
    struct segment_list l = {0};
    struct dirent *entry;
    bool ok = true;
    DIR *d = opendir(dir);

    if (!d)
        return err_sys(e, "open %s", dir);
    while (ok && (entry = readdir(d)))
        ok = segment_list_one(dir, entry->d_name, &l, e);
    closedir(d);
    if (!ok) {
        segment_list_release(&l);
        return false;
    }
    if (l.count > 0)
        qsort(l.items, l.count, sizeof l.items[0], segment_by_number);
    *out = l;
    return true;
}

bool segment_sync_dir(const char *dir, struct err *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int why;

    if (fd < 0)
        return err_sys(e, "open %s", dir);
    why = fsync(fd) == 0 ? 0 : errno;
    close(fd);
    errno = why;
    if (why == 0)
        return true;
    err_sys(e, "sync %s", dir);
    errno = why;
    return false;
}

bool segment_write(int fd, str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(fd, bytes.p, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC; /* a file that takes nothing and says nothing */
        if (n <= 0)
            return false;
        bytes = str_slice(bytes, (size_t)n, bytes.n);
    }
    return true;
}

static const char *segment_spare_path(const char *dir, char out[FILE_PATH_MAX])
{
    (void)snprintf(out, FILE_PATH_MAX, "%s/spare", dir);
    return out;
}

void segment_keep_spare(const char *dir, uint64_t number)
{
    char path[FILE_PATH_MAX], spare[FILE_PATH_MAX];

    if (rename(segment_path(dir, number, path), segment_spare_path(dir, spare)) < 0)
        log_warn("journal: cannot rename a segment",
                 LOG_TEXT("file", path),
                 LOG_TEXT("why", strerror(errno)));
}

void segment_drop_spare(const char *dir)
{
    char spare[FILE_PATH_MAX];

    (void)unlink(segment_spare_path(dir, spare));
}

void segment_keep_damaged(const char *dir, uint64_t number)
{
    char path[FILE_PATH_MAX], aside[FILE_PATH_MAX + 16];

    (void)snprintf(aside, sizeof aside, "%s.damaged", segment_path(dir, number, path));
    if (rename(path, aside) < 0)
        log_warn("journal: cannot put a damaged segment aside",
                 LOG_TEXT("file", path),
                 LOG_TEXT("why", strerror(errno)));
}

void segment_drop_damaged(const char *dir)
{
    struct dirent *entry;
    DIR *d = opendir(dir);

    while (d && (entry = readdir(d))) {
        if (!str_ends(str_c(entry->d_name), damaged_suffix))
            continue;
        if (unlinkat(dirfd(d), entry->d_name, 0) == 0)
            log_warn("journal: a damaged segment was deleted together with the erased data",
                     LOG_TEXT("file", entry->d_name));
        else
            log_error("journal: a damaged segment may still have erased data",
                      LOG_TEXT("file", entry->d_name),
                      LOG_TEXT("why", strerror(errno)));
    }
    if (d)
        closedir(d);
}

static void segment_make_head(uint32_t version, uint64_t number, char bytes[], uint32_t *salt)
{
    struct frame_segment head = {.version = version, .number = number};

    rand_os(&head.salt, sizeof head.salt);
    frame_segment_put(bytes, &head);
    *salt = head.salt;
}

bool segment_recycle(const char *dir, uint64_t number, int *out, uint32_t *salt, uint64_t *size,
                     struct err *e)
{
    char bytes[FRAME_SEGMENT_HEAD_SIZE], path[FILE_PATH_MAX], spare[FILE_PATH_MAX];
    int fd = open(segment_spare_path(dir, spare), O_WRONLY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return err_sys(e, "open %s", spare);
    segment_make_head(FRAME_VERSION, number, bytes, salt);
    if (fstat(fd, &st) == 0 && segment_write(fd, (str){bytes, sizeof bytes}) &&
        fdatasync(fd) == 0 && rename(spare, segment_path(dir, number, path)) == 0 &&
        segment_sync_dir(dir, e)) {
        *size = (uint64_t)st.st_size;
        *out = fd;
        return true;
    }
    err_sys(e, "use %s again", spare);
    close(fd);
    (void)unlink(spare);
    (void)unlink(segment_path(dir, number, path));
    return false;
}

bool segment_create(const char *dir, uint64_t number, int *out, uint32_t *salt, struct err *e)
{
    char bytes[FRAME_SEGMENT_HEAD_SIZE], path[FILE_PATH_MAX];
    int fd, why;

    segment_path(dir, number, path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        why = errno;
        err_sys(e, "create %s", path);
        errno = why;
        return false;
    }
    segment_make_head(FRAME_VERSION_FRESH, number, bytes, salt);
    errno = 0;
    if (segment_write(fd, (str){bytes, sizeof bytes}) && segment_sync_dir(dir, e)) {
        *out = fd;
        return true;
    }
    why = errno;
    err_sys(e, "begin %s", path);
    close(fd);
    unlink(path);
    errno = why;
    return false;
}

void segment_reader_init(struct segment_reader *r, const char *dir)
{
    *r = (struct segment_reader){.dir = dir, .fd = -1};
}

static void segment_reader_close(struct segment_reader *r)
{
    assert(r->buf_n <= r->buf_cap);
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    r->readable = false;
    r->at = r->buf_at = 0;
    r->buf_n = 0;
}

void segment_reader_release(struct segment_reader *r)
{
    segment_reader_close(r);
    free(r->buf);
    segment_reader_init(r, r->dir);
}

/* Makes buf hold as many bytes from r->at on as the file has, up to `need`. Reads nothing after the
 * first `limit` bytes of the file: the writer may be at work there. */
static bool segment_fill(struct segment_reader *r, size_t need, uint64_t limit, struct err *e)
{
    size_t skip = (size_t)(r->at - r->buf_at), size;

    assert(r->fd >= 0);
    if (r->at < r->buf_at || r->at > r->buf_at + r->buf_n) {
        r->buf_n = skip = 0;
        r->buf_at = r->at;
    }
    assert(skip <= r->buf_n && r->buf_n <= r->buf_cap);
    if (r->buf_n - skip >= need)
        return true;
    if (skip > 0)
        memmove(r->buf, r->buf + skip, r->buf_n - skip);
    r->buf_n -= skip;
    r->buf_at = r->at;
    size = need > READ_SIZE ? need : READ_SIZE;
    if (size > r->buf_cap) {
        r->buf = base_realloc(r->buf, size);
        r->buf_cap = size;
    }
    while (r->buf_n < need && r->buf_at + r->buf_n < limit) {
        uint64_t from = r->buf_at + r->buf_n, left = limit - from;
        size_t room = r->buf_cap - r->buf_n;
        ssize_t n = pread(r->fd, r->buf + r->buf_n, room < left ? room : (size_t)left, (off_t)from);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, "read segment %llu of %s", (unsigned long long)r->number, r->dir);
        if (n == 0)
            break;
        r->buf_n += (size_t)n;
    }
    assert(r->buf_n <= r->buf_cap && r->buf_at == r->at);
    return true;
}

static str segment_readable(const struct segment_reader *r, uint64_t size)
{
    size_t skip = (size_t)(r->at - r->buf_at), n = r->buf_n - skip;

    assert(r->at >= r->buf_at && skip <= r->buf_n && r->at <= size);
    if (n > size - r->at)
        n = (size_t)(size - r->at);
    return (str){n ? r->buf + skip : "", n};
}

static bool segment_reader_read_head(struct segment_reader *r, const char *path, struct err *e)
{
    if (!segment_fill(r, FRAME_SEGMENT_HEAD_SIZE, FRAME_SEGMENT_HEAD_SIZE, e))
        return false;
    r->readable = frame_segment_get((str){r->buf, r->buf_n}, &r->head);
    return !r->readable || r->head.version <= FRAME_VERSION ||
           err_input(e,
                     "%s was written by a newer version (%u, this is %u)",
                     path,
                     r->head.version,
                     FRAME_VERSION);
}

bool segment_reader_open(struct segment_reader *r, uint64_t number, uint64_t at, struct err *e)
{
    char path[FILE_PATH_MAX];

    segment_reader_close(r);
    r->number = number;
    r->fd = open(segment_path(r->dir, number, path), O_RDONLY | O_CLOEXEC);
    if (r->fd < 0)
        return err_sys(e, "open %s", path);
    if (!segment_reader_read_head(r, path, e)) {
        segment_reader_close(r); /* the next try reads the head again, and its salt */
        return false;
    }
    r->at = at > FRAME_SEGMENT_HEAD_SIZE ? at : r->readable ? FRAME_SEGMENT_HEAD_SIZE : 0;
    return true;
}

/* Called where no frame begins: moves to the next frame with a valid head, or to the end. */
static bool segment_skip_to_frame(struct segment_reader *r, uint64_t size, struct err *e)
{
    assert(r->at < size);
    r->at++;
    while (r->at + FRAME_HEAD_SIZE <= size) {
        str bytes;
        size_t n;

        if (!segment_fill(r, FRAME_HEAD_SIZE, size, e))
            return false;
        bytes = segment_readable(r, size);
        if (bytes.n < FRAME_HEAD_SIZE)
            break;
        n = frame_find(bytes, r->head.salt, r->at);
        assert(n <= bytes.n);
        r->at += n;
        if (n + FRAME_HEAD_SIZE <= bytes.n)
            return true;
    }
    r->at = size;
    return true;
}

/* The frame at r->at; SHORT only if it is longer than what there is. */
static bool segment_look(struct segment_reader *r, uint64_t size, enum frame_got *got,
                         struct frame *f, struct err *e)
{
    assert(r->at < size);
    if (!segment_fill(r, FRAME_HEAD_SIZE, size, e))
        return false;
    *got = frame_get(segment_readable(r, size), r->head.salt, r->at, f);
    if (*got != FRAME_SHORT || f->size > size - r->at)
        return true;
    if (!segment_fill(r, f->size, size, e))
        return false;
    *got = frame_get(segment_readable(r, size), r->head.salt, r->at, f);
    return true;
}

enum segment_got segment_read(struct segment_reader *r, uint64_t size, struct frame *out,
                              struct segment_hole *hole, struct err *e)
{
    uint64_t from = r->at;

    if (!r->readable && r->at < size) {
        *hole = (struct segment_hole){r->at, size};
        r->at = size;
        return SEGMENT_HOLE;
    }
    while (r->at < size) {
        enum frame_got got;

        if (!segment_look(r, size, &got, out, e))
            return SEGMENT_ERROR;
        if (got == FRAME_GOOD && r->at > from)
            break;
        if (got == FRAME_GOOD) {
            r->at += out->size;
            return SEGMENT_FRAME;
        }
        if (got == FRAME_BAD_BODY)
            r->at += out->size;
        else if (!segment_skip_to_frame(r, size, e))
            return SEGMENT_ERROR;
    }
    assert(r->at >= from);
    if (r->at == from)
        return SEGMENT_END;
    *hole = (struct segment_hole){from, r->at};
    return SEGMENT_HOLE;
}

/* The end of the valid frames. A hole with valid frames after it is damage, which the reader
 * reports; a hole at the very end is an unfinished write of a process or machine that stopped. */
static bool segment_good_size(const char *dir, const struct segment *s, uint64_t *out,
                              bool *recycled, struct err *e)
{
    struct segment_hole hole;
    struct segment_reader r;
    struct frame frame;
    enum segment_got got = SEGMENT_ERROR;

    *out = s->size;
    segment_reader_init(&r, dir);
    if (segment_reader_open(&r, s->number, 0, e))
        while ((got = segment_read(&r, s->size, &frame, &hole, e)) < SEGMENT_END)
            if (got == SEGMENT_HOLE && hole.to == s->size &&
                (r.readable || s->size <= FRAME_SEGMENT_HEAD_SIZE))
                *out = hole.from;
    *recycled = r.readable && r.head.version != FRAME_VERSION_FRESH;
    segment_reader_release(&r);
    return got == SEGMENT_END;
}

/* The size of the file without its trailing zeros, which the writer writes in advance. */
static bool segment_written_size(const char *path, uint64_t at, uint64_t *out, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char bytes[4096];
    ssize_t n = 0;

    if (fd < 0)
        return err_sys(e, "open %s", path);
    *out = at;
    while ((n = pread(fd, bytes, sizeof bytes, (off_t)at)) > 0 || (n < 0 && errno == EINTR)) {
        for (ssize_t i = 0; i < n; i++)
            if (bytes[i])
                *out = at + (uint64_t)i + 1;
        at += n > 0 ? (uint64_t)n : 0;
    }
    if (n < 0)
        err_sys(e, "read %s", path);
    close(fd);
    return n == 0;
}

bool segment_repair(const char *dir, struct segment *s, struct err *e)
{
    char path[FILE_PATH_MAX];
    uint64_t size, written = 0;
    bool recycled;

    segment_path(dir, s->number, path);
    if (!segment_good_size(dir, s, &size, &recycled, e))
        return false;
    assert(size <= s->size);
    if (size == s->size)
        return true;
    /* Bytes of an earlier use cannot be distinguished from a half-written record. */
    if (!recycled && !segment_written_size(path, size, &written, e))
        return false;
    if (written > size)
        log_warn("journal: dropped an incomplete record at the end",
                 LOG_TEXT("file", path),
                 LOG_U64("at", size),
                 LOG_U64("bytes", written - size));
    if (truncate(path, (off_t)size) < 0)
        return err_sys(e, "truncate %s", path);
    s->size = size;
    return true;
}
