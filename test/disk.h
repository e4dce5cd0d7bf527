/* disk.h - a disk that fails when a test wants it to.
 *
 * For binaries linked with --wrap=write, --wrap=pwrite64 (the name of pwrite with large files) and
 * --wrap=fdatasync. Only calls on segments of a journal are counted and fail.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#include <sys/types.h>

/* Counting from now, the Nth write fails with this error after half of its data, and the Nth sync
 * fails; 0: none. Resets the effects of the other functions. */
void disk_set(unsigned write_nth, int error, unsigned sync_nth);

/* Writes are cut to this size. */
void disk_cut(size_t write_size_max);

/* All calls of pwrite (not counted) fail after half of their data. In addition, a pwrite fails if
 * the next counted write will fail. */
void disk_no_ahead(int error);

/* Syncs block until the next disk_set. */
void disk_hold(void);

/* Since the last disk_set. */
unsigned disk_writes(void);
unsigned disk_syncs(void);

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
ssize_t __real_pwrite64(int fd, const void *p, size_t n, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *p, size_t n, off_t at);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
