/* disk.h - a disk that fails when a test wants it to.
 *
 * For binaries linked with --wrap=write, --wrap=pwrite64 (what pwrite is called where files are
 * large) and --wrap=fdatasync. Only calls on segments of a journal are counted and fail.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#include <sys/types.h>

/* From now on the Nth write fails with that error when half of it is done, and the Nth sync fails;
 * 0: none does. Ends what the other calls asked for. */
void disk_set(unsigned write_nth, int error, unsigned sync_nth);

/* Writes are cut short at so many bytes. */
void disk_cut(size_t write_size_max);

/* Writes at a place (pwrite: not counted) fail when half done. So does one before a write that will
 * fail, in any case. */
void disk_no_ahead(int error);

/* Syncs wait until the next disk_set. */
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
