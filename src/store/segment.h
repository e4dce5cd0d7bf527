/* segment.h - creates, lists and reads the files of a journal.
 *
 *     struct segment_list list;
 *     if (!segment_list_read(dir, &list, e)) ...
 *     struct segment_reader r;
 *     segment_reader_init(&r, dir);
 *     if (!segment_reader_open(&r, number, 0, e)) ...
 *     while ((got = segment_read(&r, size, &frame, &hole, e)) != SEGMENT_END) ...
 *     segment_reader_release(&r);
 *
 * A segment is DIR/0000000000000007.seg. A reader skips damage: it reports the hole once and
 * continues with the next valid frame.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/file.h"
#include "store/frame.h"

struct segment {
    uint64_t number;
    uint64_t size;     /* committed bytes */
    bool sealed;       /* nothing is appended any more */
    uint64_t begun_ns; /* 0: created by an earlier process */
};

struct segment_list {
    struct segment *items; /* by number */
    size_t count, cap;
};

/* Lists the existing files, all of them sealed. */
bool segment_list_read(const char *dir, struct segment_list *out, struct err *e) MUST_USE;
void segment_list_add(struct segment_list *l, struct segment s);
void segment_list_release(struct segment_list *l);

/* Writes the path to out and returns it. */
const char *segment_path(const char *dir, uint64_t number, char out[FILE_PATH_MAX]);

/* Creates a segment, writes its head and syncs its name to disk. On failure errno is kept, and no
 * file remains. */
bool segment_create(const char *dir, uint64_t number, int *fd, uint32_t *salt,
                    struct err *e) MUST_USE;

/* Keeps the file of a segment that is no longer needed for the next one. */
void segment_keep_spare(const char *dir, uint64_t number);
void segment_drop_spare(const char *dir);
/* Puts a segment aside in which bytes are damaged; and deletes all of these. */
void segment_keep_damaged(const char *dir, uint64_t number);
void segment_drop_damaged(const char *dir);
/* Like segment_create, from the spare file, whose size is returned. The head is synced before the
 * name, so no frame of its older use is valid once it is a segment. */
bool segment_recycle(const char *dir, uint64_t number, int *fd, uint32_t *salt, uint64_t *size,
                     struct err *e) MUST_USE;

/* Writes all bytes; on failure errno says why, and the file may have any part of them. */
bool segment_write(int fd, str bytes) MUST_USE;
bool segment_sync_dir(const char *dir, struct err *e) MUST_USE;

struct segment_reader {
    const char *dir;
    int fd; /* -1: no file is open */
    uint64_t number;
    struct frame_segment head;
    bool readable;   /* the head is good */
    uint64_t at;     /* offset of the next frame */
    uint64_t buf_at; /* offset of buf */
    char *buf;
    size_t buf_n, buf_cap;
};

struct segment_hole {
    uint64_t from, to;
};

enum segment_got { SEGMENT_FRAME, SEGMENT_HOLE, SEGMENT_END, SEGMENT_ERROR };

/* dir is lent until the release. */
void segment_reader_init(struct segment_reader *r, const char *dir);
void segment_reader_release(struct segment_reader *r);

/* A segment of a newer version is an error. After a failure no file is open. */
bool segment_reader_open(struct segment_reader *r, uint64_t number, uint64_t at,
                         struct err *e) MUST_USE;

/* The next frame within the first `size` bytes, lent until the next call; or the hole before it, or
 * up to `size` if no frame follows. */
enum segment_got segment_read(struct segment_reader *r, uint64_t size, struct frame *out,
                              struct segment_hole *hole, struct err *e) MUST_USE;

/* Truncates a record that a crash left incomplete at the end of the newest segment, and logs it. */
bool segment_repair(const char *dir, struct segment *s, struct err *e) MUST_USE;
