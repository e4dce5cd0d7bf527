/* lock.h - a lock file: one process at a time has the store.
 *
 *     struct store_lock lock = STORE_LOCK_NONE;
 *     if (!store_lock_take(&lock, path, e)) ...        the error names the process that has it
 *     if (!store_lock_check(&lock, e)) ...             before each write
 *     store_lock_release(&lock);
 *
 * The kernel keeps the lock (flock) while the process lives, also while it is stopped. Somebody may
 * delete the file meanwhile, and another process then locks a new one: store_lock_check finds that
 * the path is no longer the locked file, and the former owner writes nothing any more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/file.h"

struct store_lock {
    int fd; /* -1: none */
    char path[FILE_PATH_MAX + 8];
};
#define STORE_LOCK_NONE ((struct store_lock){.fd = -1})

/* The file is created if missing, and stays. */
bool store_lock_take(struct store_lock *l, const char *path, struct err *e) MUST_USE;
bool store_lock_check(const struct store_lock *l, struct err *e) MUST_USE; /* none: true */
void store_lock_release(struct store_lock *l);

/* Whether the path still names the open file. */
bool lock_is_file(int fd, const char *path);

/* A file as it was found at the start: SQLite keeps writing to a moved or deleted one. */
struct store_file {
    char path[FILE_PATH_MAX + 8]; /* "": none */
    uint64_t device, inode;
};
bool store_file_find(struct store_file *f, const char *path, const char *suffix,
                     struct err *e) MUST_USE;
/* False if another file or none has the path now. */
bool store_file_check(const struct store_file *f, struct err *e) MUST_USE;

#define LOCK_HOLDER_SIZE 64
/* Another process that has the database of SQLite at this path locked for writing: "process 12
 * (sqlite3)", or "another process" if the kernel does not show it. */
void lock_find_holder(const char *path, char out[LOCK_HOLDER_SIZE]);
bool lock_fail_database(const char *path, struct err *e); /* says so, and returns false */
