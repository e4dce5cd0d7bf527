/* SPDX-License-Identifier: Apache-2.0 */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_TRIES 10 /* somebody deletes the file between its opening and its lock */

static bool store_lock_is_path(const struct store_lock *l)
{
    struct stat ours, there;

    return fstat(l->fd, &ours) == 0 && stat(l->path, &there) == 0 && ours.st_ino == there.st_ino &&
           ours.st_dev == there.st_dev;
}

static bool store_lock_fail(const struct store_lock *l, struct err *e)
{
    char text[32] = "";
    ssize_t n;

    if (errno != EWOULDBLOCK)
        return err_sys(e, "lock %s", l->path);
    n = read(l->fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
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
        if (flock(l->fd, LOCK_EX | LOCK_NB) < 0) {
            store_lock_fail(l, e);
            store_lock_release(l);
            return false;
        }
        if (store_lock_is_path(l))
            break;
        store_lock_release(l);
    }
    n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
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
