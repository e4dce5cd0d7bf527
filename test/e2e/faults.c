/* A disk that fails when a test says so: preloaded into the real binary.
 *
 * The file named by FAULTS selects the fault: "full": no room for the store's files; "tables": no
 * room for the tables alone; "beside": no room for the locks and the daemon's address; "sync": one
 * sync fails and later ones succeed; "clock N": the wall clock is N seconds off. Without the file,
 * or if it is empty, all calls succeed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

static bool says(const char *word, long *n)
{
    const char *path = getenv("FAULTS");
    char text[32] = "";
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return false;
    if (read(fd, text, sizeof text - 1) < 0)
        text[0] = '\0';
    close(fd);
    if (n)
        *n = strtol(text + strlen(word), NULL, 10);
    return strncmp(text, word, strlen(word)) == 0;
}

static void path_of(int fd, char out[4096])
{
    char link[64];
    ssize_t n;

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, out, 4095);
    out[n > 0 ? n : 0] = '\0';
}

/* Whether the file belongs to the store: a segment of its journal, or (unless `journal`) its
 * tables. */
static bool is_stored(const char *path, bool journal)
{
    return strstr(path, ".seg") || (!journal && strstr(path, ".db"));
}

SEEN int fdatasync(int fd)
{
    char path[4096];

    path_of(fd, path);
    if (is_stored(path, true) && says("sync", NULL)) {
        (void)!truncate(getenv("FAULTS"), 0);
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

static bool has_no_room(int fd)
{
    char path[4096];

    path_of(fd, path);
    return ((strstr(path, "/address") || strstr(path, "lock")) && says("beside", NULL)) ||
           (is_stored(path, false) &&
            (says("full", NULL) || (!is_stored(path, true) && says("tables", NULL))));
}

SEEN ssize_t write(int fd, const void *p, size_t n)
{
    if (has_no_room(fd)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, fd, p, n);
}

SEEN ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    if (has_no_room(fd)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, p, n, at);
}

SEEN int clock_gettime(clockid_t clock, struct timespec *out)
{
    int got = (int)syscall(SYS_clock_gettime, clock, out);
    long off;

    if (clock == CLOCK_REALTIME && says("clock", &off))
        out->tv_sec += off;
    return got;
}
