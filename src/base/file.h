/* file.h - reads and writes whole files; a buffered writer that remembers its first error.
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
 *   - Interrupted and short reads and writes are continued. If a non-blocking descriptor is not
 *     ready, the functions wait for it, so do not call them on an event loop.
 *   - After file_write_atomic the path holds the whole old or the whole new text, whatever happens.
 *
 * A missing path is ERR_NOT_FOUND, so that callers can distinguish it from an unreadable file. The
 * process must ignore SIGPIPE, as the whole program does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#include <sys/types.h>

#define FILE_OUT_SIZE 8192
#define FILE_PATH_MAX 4096 /* including the NUL; a longer path is an error */

/* The whole content of a file, pipe or /proc entry, followed by a NUL that the size does not
 * count. More than size_max bytes are ERR_LIMIT. The arena must have room for size_max bytes and
 * the NUL. */
bool file_read(struct arena *a, const char *path, size_t size_max, str *out,
               struct err *e) MUST_USE;

/* The same from the current position of a descriptor to its end; it stays open. */
bool file_read_fd(struct arena *a, int fd, size_t size_max, str *out, struct err *e) MUST_USE;

/* Replaces the file (or the symbolic link) at path: writes a new file beside it, syncs it and
 * renames it. The file gets exactly this mode, regardless of the umask. */
bool file_write_atomic(const char *path, str bytes, mode_t mode, struct err *e) MUST_USE;
/* Removes the files that file_write_atomic of this path left when its process was killed. Only for
 * the path's only writer. */
void file_remove_unfinished(const char *path);

/* A file that is written over a longer time: it is called NAME.part until it is complete. Only its
 * owner can read it. */
struct file_part {
    char path[FILE_PATH_MAX], part[FILE_PATH_MAX];
    int fd; /* of the part, to write to */
};

/* Creates the part, or empties the one that a killed process left. ERR_LIMIT: another process
 * writes it now. */
bool file_part_open(struct file_part *f, const char *path, struct err *e) MUST_USE;
/* Syncs the part and renames it to its name, replacing a file of that name. */
bool file_part_keep(struct file_part *f, struct err *e) MUST_USE;
/* Deletes the part. */
void file_part_drop(struct file_part *f);

/* Whether the path exists and can be reached; false for a broken link. */
bool file_exists(const char *path);
/* Whether a file or folder can be read, without opening it. NULL: no path was given, true. */
bool file_check_readable(const char *path, struct err *e) MUST_USE;

/* Creates the folder and missing parents; the umask applies to the mode. */
bool file_mkdirs(const char *path, mode_t mode, struct err *e) MUST_USE;

/* A sticky end: after the first error it ignores all writes. It does not own the descriptor. */
struct file_out {
    int fd;
    int error; /* the first errno, or 0 */
    size_t n;  /* buffered in bytes, not written yet */
    char bytes[FILE_OUT_SIZE];
};

void file_out_init(struct file_out *o, int fd);
void file_out_add(struct file_out *o, str s);
void file_out_printf(struct file_out *o, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Writes the buffered bytes now, for example for a person who watches a stream. */
void file_out_flush(struct file_out *o);

/* Whether the reader has closed its end, which is not an error of ours. */
bool file_out_gone(const struct file_out *o);

/* Flushes, and returns whether everything was written; `what` begins the error text if not. */
bool file_out_finish(struct file_out *o, const char *what, struct err *e) MUST_USE;
