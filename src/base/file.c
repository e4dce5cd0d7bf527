/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include "base/buf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BESIDE ".new-"  /* after the name of an unfinished file, */
#define RANDOM "XXXXXX" /* followed by the characters of mkstemp */

#define READ_SIZE 65536

static bool file_fail(struct err *e, const char *what, const char *path)
{
    int why = errno;

    err_sys(e, "%s %s", what, path[0] ? path : "\"\"");
    if (why == ENOENT)
        e->code = ERR_NOT_FOUND;
    return false;
}

/* Whether a failed read or write may be tried again: at once if it was interrupted, after a wait
 * if the descriptor was not ready. */
static bool file_again(int fd, short events)
{
    struct pollfd ready = {.fd = fd, .events = events};

    if (errno == EINTR)
        return true;
    if (errno != EAGAIN)
        return false;
    return poll(&ready, 1, -1) >= 0 || errno == EINTR;
}

/* Into b up to its ceiling: when that is reached, there may be more. */
static bool file_read_into(struct buf *b, int fd, struct err *e)
{
    assert(b->n <= b->size_max);
    for (;;) {
        size_t want = b->size_max - b->n;
        ssize_t n;
        char *p;

        if (want == 0)
            return true;
        if (want > READ_SIZE)
            want = READ_SIZE;
        p = buf_room(b, want);
        assert(p);
        n = read(fd, p, want);
        if (n == 0)
            return true;
        if (n > 0)
            buf_wrote(b, (size_t)n);
        else if (!file_again(fd, POLLIN))
            return err_sys(e, "read");
    }
}

/* The size a file says it has is only a hint: entries of /proc say 0, and any file may grow. */
bool file_read_fd(struct arena *a, int fd, size_t size_max, str *out, struct err *e)
{
    bool ok = false;
    struct stat st;
    struct buf b;

    assert(size_max < SIZE_MAX);
    buf_init(&b, size_max + 1); /* one byte more shows that the file is too large */
    if (fstat(fd, &st) < 0) {
        err_sys(e, "stat");
        goto out;
    }
    if (S_ISREG(st.st_mode) && (uintmax_t)st.st_size > size_max && lseek(fd, 0, SEEK_CUR) == 0) {
        err_set(e, ERR_LIMIT, "%jd bytes, the limit is %zu", (intmax_t)st.st_size, size_max);
        goto out;
    }
    if (!file_read_into(&b, fd, e))
        goto out;
    if (b.n > size_max) {
        err_set(e, ERR_LIMIT, "more than %zu bytes, which is the limit", size_max);
        goto out;
    }
    *out = arena_dup(a, buf_str(&b));
    ok = true;
out:
    buf_release(&b);
    return ok;
}

bool file_read(struct arena *a, const char *path, size_t size_max, str *out, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool ok;

    if (fd < 0)
        return file_fail(e, "open", path);
    ok = file_read_fd(a, fd, size_max, out, e) || err_prefix(e, "%s: ", path);
    close(fd);
    return ok;
}

/* 0, or the errno that stopped it. */
static int file_write_all(int fd, str s)
{
    while (s.n > 0) {
        ssize_t n = write(fd, s.p, s.n);

        if (n >= 0)
            s = str_slice(s, (size_t)n, s.n);
        else if (!file_again(fd, POLLOUT))
            return errno;
    }
    return 0;
}

static bool file_write_and_sync(int fd, str bytes, mode_t mode)
{
    errno = file_write_all(fd, bytes);
    return errno == 0 && fchmod(fd, mode) == 0 && fsync(fd) == 0;
}

/* A rename is on disk when its folder is. Some file systems cannot do that and say EINVAL. */
static bool file_sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[FILE_PATH_MAX];
    bool ok;
    int fd;

    if (slash == path)
        snprintf(folder, sizeof folder, "/");
    else if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    else
        snprintf(folder, sizeof folder, ".");
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES; /* a folder we may write into but not read */
    ok = fsync(fd) == 0 || errno == EINVAL;
    close(fd);
    return ok;
}

bool file_write_atomic(const char *path, str bytes, mode_t mode, struct err *e)
{
    char beside[FILE_PATH_MAX];
    int fd, n;

    n = snprintf(beside, sizeof beside, "%s" BESIDE RANDOM, path);
    if (n < 0 || (size_t)n >= sizeof beside)
        return err_input(e, "a path of more than %d bytes", FILE_PATH_MAX - 12);
    fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0)
        return file_fail(e, "create a file beside", path);
    if (!file_write_and_sync(fd, bytes, mode)) {
        file_fail(e, "write", beside);
        close(fd);
        unlink(beside);
        return false;
    }
    close(fd);
    if (rename(beside, path) < 0) {
        file_fail(e, "replace", path);
        unlink(beside);
        return false;
    }
    return file_sync_folder_of(path) || file_fail(e, "bring to disk the folder of", path);
}

void file_remove_unfinished(const char *path)
{
    const char *slash = strrchr(path, '/');
    str name = str_c(slash ? slash + 1 : path);
    char folder[FILE_PATH_MAX], full[FILE_PATH_MAX + 12];
    struct dirent *entry;
    DIR *dir;

    (void)snprintf(
        folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        str found = str_c(entry->d_name);

        if (found.n != name.n + strlen(BESIDE RANDOM) || !str_starts(found, name) ||
            !str_starts(str_slice(found, name.n, found.n), STR(BESIDE)))
            continue;
        (void)snprintf(full, sizeof full, "%s%s", path, found.p + name.n);
        (void)unlink(full);
    }
    if (dir)
        closedir(dir);
}

bool file_part_open(struct file_part *f, const char *path, struct err *e)
{
    int n = snprintf(f->part, sizeof f->part, "%s.part", path);

    if (n < 0 || (size_t)n >= sizeof f->part)
        return err_input(e, "a path of more than %d bytes", FILE_PATH_MAX - 6);
    snprintf(f->path, sizeof f->path, "%s", path);
    f->fd = open(f->part, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (f->fd < 0)
        return file_fail(e, "create", f->part);
    if (flock(f->fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            err_set(e, ERR_LIMIT, "%s: another process writes it now", f->part);
        else
            file_fail(e, "lock", f->part);
    } else if (ftruncate(f->fd, 0) < 0 || fchmod(f->fd, 0600) < 0) {
        file_fail(e, "empty", f->part);
    } else {
        return true;
    }
    close(f->fd);
    return false;
}

void file_part_drop(struct file_part *f)
{
    assert(f->fd >= 0); /* neither dropped nor kept before */
    unlink(f->part);
    close(f->fd);
    f->fd = -1;
}

bool file_part_keep(struct file_part *f, struct err *e)
{
    assert(f->fd >= 0); /* neither dropped nor kept before */
    if (fsync(f->fd) < 0 || rename(f->part, f->path) < 0) {
        file_fail(e, "finish", f->part);
        file_part_drop(f);
        return false;
    }
    close(f->fd);
    f->fd = -1;
    return file_sync_folder_of(f->path) || file_fail(e, "bring to disk the folder of", f->path);
}

bool file_exists(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

bool file_check_readable(const char *path, struct err *e)
{
    return !path || access(path, R_OK) == 0 || file_fail(e, "open", path);
}

static bool file_make_folder(const char *path, mode_t mode, struct err *e)
{
    struct stat st;

    if (mkdir(path, mode) == 0)
        return true;
    if (errno != EEXIST)
        return file_fail(e, "make the folder", path);
    if (stat(path, &st) < 0)
        return file_fail(e, "make the folder", path);
    return S_ISDIR(st.st_mode) || err_input(e, "%s exists and is not a folder", path);
}

bool file_mkdirs(const char *path, mode_t mode, struct err *e)
{
    size_t n = strlen(path);
    char part[FILE_PATH_MAX];

    if (n == 0 || n >= sizeof part)
        return err_input(e, "a path has 1 to %zu bytes", sizeof part - 1);
    memcpy(part, path, n + 1);
    for (size_t i = 1; i < n; i++) {
        if (part[i] != '/' || part[i - 1] == '/')
            continue;
        part[i] = '\0';
        if (!file_make_folder(part, mode, e))
            return false;
        part[i] = '/';
    }
    return file_make_folder(part, mode, e);
}

void file_out_init(struct file_out *o, int fd)
{
    assert(fd >= 0);
    o->fd = fd;
    o->error = 0;
    o->n = 0;
}

void file_out_flush(struct file_out *o)
{
    assert(o->n <= sizeof o->bytes);
    if (!o->error)
        o->error = file_write_all(o->fd, (str){o->bytes, o->n});
    o->n = 0;
}

void file_out_add(struct file_out *o, str s)
{
    assert(o->n <= sizeof o->bytes);
    if (s.n > sizeof o->bytes - o->n)
        file_out_flush(o);
    if (o->error)
        return;
    if (s.n > sizeof o->bytes) {
        o->error = file_write_all(o->fd, s);
        return;
    }
    assert(s.n <= sizeof o->bytes - o->n);
    memcpy(o->bytes + o->n, s.p, s.n);
    o->n += s.n;
}

void file_out_printf(struct file_out *o, const char *fmt, ...)
{
    char small[512], *large;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    if ((size_t)n < sizeof small) {
        file_out_add(o, (str){small, (size_t)n});
        return;
    }
    large = base_alloc((size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf(large, (size_t)n + 1, fmt, ap);
    va_end(ap);
    file_out_add(o, (str){large, (size_t)n});
    free(large);
}

bool file_out_gone(const struct file_out *o)
{
    return o->error == EPIPE;
}

bool file_out_finish(struct file_out *o, const char *what, struct err *e)
{
    file_out_flush(o);
    if (!o->error)
        return true;
    errno = o->error;
    return err_sys(e, "write %s", what);
}
