/* SPDX-License-Identifier: Apache-2.0 */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LOCK_TRIES 10 /* another process may delete the file between its opening and its lock */
#define LOCK_WAIT_MS 2000
#define LOCK_STEP_MS 10
#define LOCK_TABLE_MAX ((size_t)1 << 20)

bool lock_is_file(int fd, const char *path)
{
    struct stat ours, there;

    assert(fd >= 0);
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
           ours.st_dev == there.st_dev;
}

static void store_lock_read_owner(const struct store_lock *l, char text[32])
{
    ssize_t n = pread(l->fd, text, 31, 0);

    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

/* A process that was killed while it started another one leaves the lock to that one for a moment,
 * until it becomes another program. */
static bool store_lock_wait(const struct store_lock *l)
{
    char text[32];
    pid_t owner;

    for (int ms = 0; flock(l->fd, LOCK_EX | LOCK_NB) < 0; ms += LOCK_STEP_MS) {
        int why = errno;

        store_lock_read_owner(l, text);
        owner = (pid_t)strtol(text, NULL, 10);
        if (why != EWOULDBLOCK || ms >= LOCK_WAIT_MS || owner <= 0 || kill(owner, 0) == 0 ||
            errno != ESRCH) {
            errno = why;
            return false;
        }
        (void)usleep(LOCK_STEP_MS * 1000);
    }
    return true;
}

static bool store_lock_fail(const struct store_lock *l, struct err *e)
{
    char text[32];

    if (errno != EWOULDBLOCK)
        return err_sys(e, "lock %s", l->path);
    store_lock_read_owner(l, text);
    return err_set(
        e,
        ERR_SYSTEM,
        "%s is in use by process %s: a store has one owner; end that process, or give this one "
        "another store",
        l->path,
        text[0] ? text : "(unknown)");
}

bool store_lock_take(struct store_lock *l, const char *path, struct err *e)
{
    char text[32];
    int n;

    assert(l->fd < 0);
    (void)snprintf(l->path, sizeof l->path, "%s", path);
    for (int i = 0; i < LOCK_TRIES; i++) {
        l->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (l->fd < 0)
            return err_sys(e, "open %s", path);
        if (!store_lock_wait(l)) {
            store_lock_fail(l, e);
            store_lock_release(l);
            return false;
        }
        if (lock_is_file(l->fd, l->path))
            break;
        store_lock_release(l);
    }
    if (l->fd < 0)
        return err_sys(e, "open %s", path);
    n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    assert(n > 0 && (size_t)n < sizeof text);
    if (pwrite(l->fd, text, (size_t)n, 0) == n && ftruncate(l->fd, n) == 0)
        return true;
    /* A full disk: the number of the process is only for errors of others. */
    return ((errno == ENOSPC || errno == EDQUOT) && ftruncate(l->fd, 0) == 0) ||
           err_sys(e, "write %s", path);
}

bool store_lock_check(const struct store_lock *l, struct err *e)
{
    return l->fd < 0 || lock_is_file(l->fd, l->path) ||
           err_set(e,
                   ERR_SYSTEM,
                   "%s was deleted or replaced while this daemon had it locked, so another process"
                   " may have the store: this one writes nothing to the tables any more; stop the"
                   " other one, then restart this one",
                   l->path);
}

void store_lock_release(struct store_lock *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

bool store_file_find(struct store_file *f, const char *path, const char *suffix, struct err *e)
{
    struct stat st;

    (void)snprintf(f->path, sizeof f->path, "%s%s", path, suffix);
    if (stat(f->path, &st) < 0)
        return err_sys(e, "find %s", f->path);
    f->device = st.st_dev;
    f->inode = st.st_ino;
    return true;
}

bool store_file_check(const struct store_file *f, struct err *e)
{
    struct stat st;

    if (!f->path[0] || (stat(f->path, &st) == 0 && st.st_dev == f->device && st.st_ino == f->inode))
        return true;
    return err_set(e,
                   ERR_SYSTEM,
                   "%s was moved, deleted or replaced while this daemon uses it: put it back, or"
                   " restart the daemon",
                   f->path);
}

/* Lines such as "7: POSIX  ADVISORY  WRITE 4711 fe:01:1234 120 120". */
static pid_t lock_read_table(str table, str file)
{
    while (table.n) {
        str line = str_cut(&table, '\n');
        size_t write = str_find(line, STR(" WRITE "));
        long pid;

        if (write == STR_NONE || str_find(line, file) == STR_NONE)
            continue;
        pid = strtol(line.p + write + 7, NULL, 10);
        if (pid > 0 && pid != (long)getpid())
            return (pid_t)pid;
    }
    return 0;
}

static pid_t lock_find_pid(const char *path, struct arena *a)
{
    struct stat st;
    char file[64];
    struct err e;
    str table;

    if (stat(path, &st) < 0 || !file_read(a, "/proc/locks", LOCK_TABLE_MAX, &table, &e))
        return 0;
    (void)snprintf(file,
                   sizeof file,
                   " %02x:%02x:%llu ",
                   major(st.st_dev),
                   minor(st.st_dev),
                   (unsigned long long)st.st_ino);
    return lock_read_table(table, str_c(file));
}

/* A lock of the WAL is one of the file with its index. */
void lock_find_holder(const char *path, char out[LOCK_HOLDER_SIZE])
{
    char other[FILE_PATH_MAX + 8];
    struct arena a;
    struct err e;
    pid_t pid;
    str name;

    assert(path);
    arena_init(&a, 3 * LOCK_TABLE_MAX);
    (void)snprintf(other, sizeof other, "%s-shm", path);
    pid = lock_find_pid(other, &a);
    if (!pid)
        pid = lock_find_pid(path, &a);
    (void)snprintf(other, sizeof other, "/proc/%ld/comm", (long)pid);
    if (pid && file_read(&a, other, 64, &name, &e))
        (void)snprintf(
            out, LOCK_HOLDER_SIZE, "process %ld (" STR_FMT ")", (long)pid, STR_ARG(str_trim(name)));
    else
        (void)snprintf(out, LOCK_HOLDER_SIZE, "another process");
    arena_release(&a);
}

bool lock_fail_database(const char *path, struct err *e)
{
    char holder[LOCK_HOLDER_SIZE];

    lock_find_holder(path, holder);
    return err_set(e,
                   ERR_SYSTEM,
                   "database: database is locked by %s: end that process, or wait until it has"
                   " finished",
                   holder);
}
