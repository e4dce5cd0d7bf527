/* file.h - whole files in and out, and a buffered way to write that remembers its first error.
 *
 *     if (!file_read(&arena, "config.yaml", 1 << 20, &text, e))
 *         return false;
 *     if (!file_write_atomic("state.json", text, 0600, e))
 *         return false;
 *
 *     struct file_out out;
 *     file_out_init(&out, STDOUT_FILENO);
 *     file_out_printf(&out, "%zu rows\n", n);
 *     if (!file_out_finish(&out, "stdout", e)) ...     look once, at the end
 *
 * Promises:
 *   - Every descriptor opened here is closed on exec, and closed again before the call returns.
 *   - Interrupted and short reads and writes are gone on with; a descriptor that is not ready
 *     (non-blocking) is waited for. So none of this belongs on an event loop.
 *   - After file_write_atomic the path holds the whole old or the whole new text, whatever happens.
 *
 * A path that is not there is ERR_NOT_FOUND, so that a file which may be missing is easily told
 * from one that cannot be read. SIGPIPE is expected to be ignored, as the whole house has it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#include <sys/types.h>

#define FILE_OUT_SIZE 8192
#define FILE_PATH_MAX 4096 /* a longer path is an error, its NUL counted */

/* All of a file, pipe or /proc entry, with a NUL behind it that does not count. More than size_max
 * bytes are ERR_LIMIT. The arena must have room for size_max bytes and the NUL. */
bool file_read(struct arena *a, const char *path, size_t size_max, str *out,
               struct err *e) MUST_USE;

/* The same from where a descriptor stands to its end; it stays open. */
bool file_read_fd(struct arena *a, int fd, size_t size_max, str *out, struct err *e) MUST_USE;

/* Replaces the file (or the symbolic link) at path: written beside it, brought to disk, renamed.
 * The mode is set as given, whatever the umask is. */
bool file_write_atomic(const char *path, str bytes, mode_t mode, struct err *e) MUST_USE;
/* Removes the files that file_write_atomic of this path left when its process was killed. Only for
 * the path's only writer. */
void file_remove_unfinished(const char *path);

/* A file that is written over a longer time: it has its name once it is whole, and is called
 * NAME.part before. Only its owner can read it. */
struct file_part {
    char path[FILE_PATH_MAX], part[FILE_PATH_MAX];
    int fd; /* of the part, to write to */
};

/* Creates the part, or empties the one that a killed process left. ERR_LIMIT: another process
 * writes it now. */
bool file_part_open(struct file_part *f, const char *path, struct err *e) MUST_USE;
/* Brings the part to disk and gives it its name; a file of that name is replaced. */
bool file_part_keep(struct file_part *f, struct err *e) MUST_USE;
/* Deletes the part. */
void file_part_drop(struct file_part *f);

/* Whether something is there that can be reached; a link that leads nowhere is not. */
bool file_exists(const char *path);

/* The folder and those above it, as far as they are missing; the mode goes through the umask. */
bool file_mkdirs(const char *path, mode_t mode, struct err *e) MUST_USE;

/* A sticky end: after the first error the rest is ignored. It borrows the descriptor. */
struct file_out {
    int fd;
    int error; /* the errno that stopped it, or 0 */
    size_t n;  /* held in bytes, not written yet */
    char bytes[FILE_OUT_SIZE];
};

void file_out_init(struct file_out *o, int fd);
void file_out_add(struct file_out *o, str s);
void file_out_printf(struct file_out *o, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* What is held goes out now, as for a person who watches a stream. */
void file_out_flush(struct file_out *o);

/* Whether the other side has gone: nobody reads any more, which is no failure of ours. */
bool file_out_gone(const struct file_out *o);

/* Flushes, and tells whether everything went out; `what` begins the sentence if not. */
bool file_out_finish(struct file_out *o, const char *what, struct err *e) MUST_USE;
