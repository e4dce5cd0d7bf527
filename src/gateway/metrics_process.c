/* metrics_process.c - what /proc says of this process, under the names everybody uses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "gateway/metrics_text.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#define PROC_SIZE_MAX 4096u

/* The number in the given column of a /proc file, from 0 on; 0 if it cannot be read. Columns are
 * counted after the last ")", which ends a name that may contain anything. */
static uint64_t metrics_process_column(const char *path, unsigned at)
{
    uint64_t out = 0;
    struct arena a;
    struct err e;
    str text;

    arena_init(&a, 4 * PROC_SIZE_MAX);
    if (file_read(&a, path, PROC_SIZE_MAX, &text, &e)) {
        for (size_t i = text.n; i > 0; i--)
            if (text.p[i - 1] == ')') {
                text = str_trim(str_slice(text, i, text.n));
                break;
            }
        for (; at > 0 && text.n > 0; at--)
            (void)str_cut(&text, ' ');
        (void)!str_u64(str_cut(&text, ' '), &out);
    }
    arena_release(&a);
    return out;
}

uint64_t metrics_process_start(void)
{
    uint64_t ticks = metrics_process_column("/proc/self/stat", 19),
             hz = (uint64_t)sysconf(_SC_CLK_TCK);
    struct timespec wall, boot;
    uint64_t wall_ms, boot_ms;

    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    wall_ms = (uint64_t)wall.tv_sec * 1000 + (uint64_t)wall.tv_nsec / 1000000;
    boot_ms = (uint64_t)boot.tv_sec * 1000 + (uint64_t)boot.tv_nsec / 1000000;
    return ticks && hz ? wall_ms - boot_ms + ticks * 1000 / hz : wall_ms;
}

static uint64_t metrics_open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    uint64_t n = 0;

    if (!d)
        return 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n > 3 ? n - 3 : 0; /* ".", ".." and the folder itself */
}

void metrics_process(struct metrics_text *t, uint64_t start_ms)
{
    struct rusage used = {0};
    uint64_t us, page = (uint64_t)sysconf(_SC_PAGESIZE);

    (void)getrusage(RUSAGE_SELF, &used);
    us = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
         (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    metrics_family(t, "process_cpu_seconds", METRICS_COUNTER, "Processor time, user and system.");
    metrics_line(t, "", "", us, 1000000);
    metrics_family(t, "process_resident_memory_bytes", METRICS_GAUGE, "Memory in use.");
    metrics_line(t, "", "", metrics_process_column("/proc/self/statm", 1) * page, 1);
    metrics_family(t, "process_open_fds", METRICS_GAUGE, "Open file descriptors.");
    metrics_line(t, "", "", metrics_open_files(), 1);
    metrics_family(t, "process_start_time_seconds", METRICS_GAUGE, "Start, in seconds since 1970.");
    metrics_line(t, "", "", start_ms, 1000);
}
