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
    size_t write_size_max; /* 0: no limit; else longer writes are cut to this size */
    bool hold;             /* syncs block */
    bool no_ahead;         /* pwrite fails with `error` */
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER, .released = PTHREAD_COND_INITIALIZER};

static bool is_segment(int fd)
{
    char link[64], path[4096];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path);
    return n > 0 && str_ends((str){path, (size_t)n}, STR(".seg"));
}

/* Counts a write and shortens *n to the limit. Returns whether the write fails. */
static bool next_fails(size_t *n)
{
    bool fails;

    pthread_mutex_lock(&disk.lock);
    fails = ++disk.writes == disk.write_nth;
    if (disk.write_size_max && *n > disk.write_size_max)
        *n = disk.write_size_max;
    pthread_mutex_unlock(&disk.lock);
    return fails;
}

/* Called after half of the data was written; fails with the error that the test set. */
static ssize_t fail(ssize_t half)
{
    (void)half;
    errno = disk.error;
    return -1;
}

ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    if (!is_segment(fd) || !next_fails(&n))
        return __real_write(fd, p, n);
    return fail(__real_write(fd, p, n / 2));
}

ssize_t __wrap_pwrite64(int fd, const void *p, size_t n, off_t at)
{
    bool fails;

    pthread_mutex_lock(&disk.lock);
    fails = disk.no_ahead || disk.writes + 1 == disk.write_nth;
    pthread_mutex_unlock(&disk.lock);
    if (!fails || !is_segment(fd))
        return __real_pwrite64(fd, p, n, at);
    return fail(__real_pwrite64(fd, p, n / 2, at));
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
    disk.hold = disk.no_ahead = false;
    pthread_cond_broadcast(&disk.released);
    pthread_mutex_unlock(&disk.lock);
}

void disk_no_ahead(int error)
{
    pthread_mutex_lock(&disk.lock);
    disk.no_ahead = true;
    disk.error = error;
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
