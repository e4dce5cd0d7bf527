/* segment.h - the files of a journal: made, listed, read.
 *
 *     struct segment_list list;
 *     if (!segment_list_read(dir, &list, e)) ...
 *     struct segment_reader r;
 *     segment_reader_init(&r, dir);
 *     if (!segment_reader_open(&r, number, 0, e)) ...
 *     while ((got = segment_read(&r, size, &frame, &hole, e)) != SEGMENT_END) ...
 *     segment_reader_release(&r);
 *
 * A segment is DIR/0000000000000007.seg. A reader goes over damage: it gives the hole once and goes
 * on with the next frame that verifies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/file.h"
#include "store/frame.h"

struct segment {
    uint64_t number;
    uint64_t size;     /* of what is committed */
    bool sealed;       /* nothing more comes */
    uint64_t begun_ns; /* 0: by an earlier process */
};

struct segment_list {
    struct segment *items; /* by number */
    size_t count, cap;
};

/* Of the files that are there, all of them sealed. */
bool segment_list_read(const char *dir, struct segment_list *out, struct err *e) MUST_USE;
void segment_list_add(struct segment_list *l, struct segment s);
void segment_list_release(struct segment_list *l);

/* The path in out, which is returned. */
const char *segment_path(const char *dir, uint64_t number, char out[FILE_PATH_MAX]);

/* A new one with its head written and its name brought to disk. errno is kept on failure, and no
 * file is left behind. */
bool segment_create(const char *dir, uint64_t number, int *fd, uint32_t *salt,
                    struct err *e) MUST_USE;

/* The file of a segment that is not needed any more is kept for the next one. */
void segment_keep_spare(const char *dir, uint64_t number);
void segment_drop_spare(const char *dir);
/* As segment_create, from the spare file, whose size is given: its head is brought to disk before
 * its name, so that no frame of its older use is good by the time it is a segment. */
bool segment_recycle(const char *dir, uint64_t number, int *fd, uint32_t *salt, uint64_t *size,
                     struct err *e) MUST_USE;

/* All of it; on failure errno says why and any part of it may be in the file. */
bool segment_write(int fd, str bytes) MUST_USE;
bool segment_sync_dir(const char *dir, struct err *e) MUST_USE;

struct segment_reader {
    const char *dir;
    int fd; /* -1: none is open */
    uint64_t number;
    struct frame_segment head;
    bool readable;   /* the head is good */
    uint64_t at;     /* where the next frame begins */
    uint64_t buf_at; /* where buf begins */
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

/* A segment of a newer version is an error. */
bool segment_reader_open(struct segment_reader *r, uint64_t number, uint64_t at,
                         struct err *e) MUST_USE;

/* The next frame among the first `size` bytes, lent until the next call; or the hole up to it, or
 * up to size if there is none. */
enum segment_got segment_read(struct segment_reader *r, uint64_t size, struct frame *out,
                              struct segment_hole *hole, struct err *e) MUST_USE;

/* Drops what a crash left half written at the end of the newest segment, and says so. */
bool segment_repair(const char *dir, struct segment *s, struct err *e) MUST_USE;
