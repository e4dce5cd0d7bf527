/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t released;
    unsigned write_nth, sync_nth, writes, syncs;
    int error;
    size_t write_size_max; /* 0: no bound; else writes are cut short */
    bool hold;             /* syncs wait */
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER, .released = PTHREAD_COND_INITIALIZER};

static bool is_segment(int fd)
{
    char link[64], path[4096];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path);
    return n > 0 && str_ends((str){path, (size_t)n}, STR(".seg"));
}

ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    bool fails;

    if (!is_segment(fd))
        return __real_write(fd, p, n);
    pthread_mutex_lock(&disk.lock);
    fails = ++disk.writes == disk.write_nth;
    if (disk.write_size_max && n > disk.write_size_max)
        n = disk.write_size_max;
    pthread_mutex_unlock(&disk.lock);
    if (!fails)
        return __real_write(fd, p, n);
    n = (size_t)__real_write(fd, p, n / 2); /* as a disk that is full half way */
    (void)n;
    errno = disk.error;
    return -1;
}

int __wrap_fdatasync(int fd)
{
    bool fails;

    pthread_mutex_lock(&disk.lock);
    fails = ++disk.syncs == disk.sync_nth;
    while (disk.hold)
        pthread_cond_wait(&disk.released, &disk.lock);
    pthread_mutex_unlock(&disk.lock);
    if (!fails)
        return __real_fdatasync(fd);
    errno = EIO;
    return -1;
}

void disk_set(unsigned write_nth, int error, unsigned sync_nth)
{
    pthread_mutex_lock(&disk.lock);
    disk.write_nth = write_nth;
    disk.error = error;
    disk.sync_nth = sync_nth;
    disk.writes = disk.syncs = 0;
    disk.write_size_max = 0;
    disk.hold = false;
    pthread_cond_broadcast(&disk.released);
    pthread_mutex_unlock(&disk.lock);
}

unsigned disk_syncs(void)
{
    unsigned n;

    pthread_mutex_lock(&disk.lock);
    n = disk.syncs;
    pthread_mutex_unlock(&disk.lock);
    return n;
}

unsigned disk_writes(void)
{
    unsigned n;

    pthread_mutex_lock(&disk.lock);
    n = disk.writes;
    pthread_mutex_unlock(&disk.lock);
    return n;
}

void disk_cut(size_t write_size_max)
{
    pthread_mutex_lock(&disk.lock);
    disk.write_size_max = write_size_max;
    pthread_mutex_unlock(&disk.lock);
}

void disk_hold(void)
{
    pthread_mutex_lock(&disk.lock);
    disk.hold = true;
    pthread_mutex_unlock(&disk.lock);
}
