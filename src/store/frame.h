/* frame.h - how records stand in a journal segment.
 *
 *     segment = head head frame*           the head twice, so that one flipped bit costs nothing
 *     head    = "RATLJRNL" version salt number 0 crc                        32 bytes
 *     frame   = magic size type body_crc head_crc, then `size` bytes        20 bytes and the body
 *
 * All numbers are little-endian. Both sums of a frame begin with the segment's salt, which is
 * random, and the frame's place: a body that happens to hold (or was made to hold) the bytes of a
 * frame is never taken for one when the reader has to look for the next good frame, and neither are
 * bytes of another segment or another place. So the file of a segment can be used again: with a new
 * head, which has a new salt, no frame of its older use is good.
 *
 * The head's own sum lets a reader step over a frame whose body is damaged, and reject what is no
 * frame without reading what it claims to be its body: looking for the next frame is linear.
 *
 * Everything here is bytes in memory; the files are segment.h's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#define FRAME_VERSION                                                                              \
    2u /* the newest: the file was used before, and bytes of an older use may
                                * follow the last frame */
#define FRAME_VERSION_FRESH 1u /* the file was new */
#define FRAME_SEGMENT_HEAD_SIZE 64u
#define FRAME_HEAD_SIZE 20u
#define FRAME_BODY_MAX ((size_t)256 << 20)

enum frame_type {
    FRAME_CALL = 1,
    FRAME_BEGIN = 2,
    FRAME_PIECE = 3,
    FRAME_SESSION = 4,
    FRAME_TOOL = 5,
    FRAME_NOTE = 6
};

struct frame_segment {
    uint32_t version, salt;
    uint64_t number;
};

void frame_segment_put(char out[FRAME_SEGMENT_HEAD_SIZE], const struct frame_segment *s);

/* False if neither of the two heads is whole. The version is not judged. */
bool frame_segment_get(str bytes, struct frame_segment *out) MUST_USE;

/* The head before `size` bytes of body, but for its sums. */
void frame_put(char *p, enum frame_type type, size_t size);

/* Sets the sums of a frame that will stand at `at` of its segment; returns its size. */
size_t frame_seal(char *p, uint32_t salt, uint64_t at);

struct frame {
    uint32_t type; /* perhaps one we do not know */
    str body;
    size_t size; /* of the whole frame */
};

enum frame_got {
    FRAME_GOOD,
    FRAME_SHORT,    /* the head is good or not there yet; `size` bytes are needed */
    FRAME_BAD_BODY, /* the head is good: the next frame is `size` bytes on */
    FRAME_BAD_HEAD  /* there is no frame here */
};

/* The frame at the start of bytes, which stand at `at` of their segment. */
enum frame_got frame_get(str bytes, uint32_t salt, uint64_t at, struct frame *out) MUST_USE;

/* Where the next frame with a good head begins, from the start of bytes on; bytes.n less what may
 * yet be the start of one if there is none. */
size_t frame_find(str bytes, uint32_t salt, uint64_t at);
