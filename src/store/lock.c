/* SPDX-License-Identifier: Apache-2.0 */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_TRIES 10 /* another process may delete the file between its opening and its lock */
#define LOCK_WAIT_MS 2000
#define LOCK_STEP_MS 10

static bool store_lock_is_path(const struct store_lock *l)
{
    struct stat ours, there;

    assert(l->fd >= 0);
    return fstat(l->fd, &ours) == 0 && stat(l->path, &there) == 0 && ours.st_ino == there.st_ino &&
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
        if (store_lock_is_path(l))
            break;
        store_lock_release(l);
    }
    n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    assert(n > 0 && (size_t)n < sizeof text);
    if (l->fd < 0 || ftruncate(l->fd, 0) < 0 || pwrite(l->fd, text, (size_t)n, 0) != n)
        return err_sys(e, "write %s", path);
    return true;
}

bool store_lock_check(const struct store_lock *l, struct err *e)
{
    return l->fd < 0 || store_lock_is_path(l) ||
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
