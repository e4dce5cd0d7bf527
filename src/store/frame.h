/* frame.h - the format of records in a journal segment.
 *
 *     segment = head head frame*           the head twice, so that one flipped bit costs nothing
 *     head    = "RATLJRNL" version salt number 0 crc                        32 bytes
 *     frame   = magic size type body_crc head_crc, then `size` bytes        20 bytes and the body
 *
 * All numbers are little-endian. Both checksums of a frame include the segment's random salt and
 * the frame's position. So when a reader searches for the next good frame, it never accepts a body
 * that contains the bytes of a frame (by chance or by intent), nor bytes of another segment or
 * position. Therefore the file of a segment can be reused: a new head has a new salt, which makes
 * all old frames invalid.
 *
 * The head has its own checksum. So a reader can skip a frame whose body is damaged, and reject
 * bytes that are no frame without reading their claimed body: the search for the next frame is
 * linear.
 *
 * Everything here works on bytes in memory; segment.h has the files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#define FRAME_VERSION 2u       /* newest: a reused file; old bytes may follow the last frame */
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

/* False if neither of the two heads is intact. The version is not checked. */
bool frame_segment_get(str bytes, struct frame_segment *out) MUST_USE;

/* Writes the head before `size` bytes of body, without its checksums. */
void frame_put(char *p, enum frame_type type, size_t size);

/* Sets the checksums of a frame at offset `at` of its segment; returns its size. */
size_t frame_seal(char *p, uint32_t salt, uint64_t at);

struct frame {
    uint32_t type; /* may be unknown to this version */
    str body;
    size_t size; /* of the whole frame */
};

enum frame_got {
    FRAME_GOOD,
    FRAME_SHORT,    /* the head is good or incomplete; `size` bytes are needed */
    FRAME_BAD_BODY, /* the head is good: the next frame is `size` bytes on */
    FRAME_BAD_HEAD  /* no frame here */
};

/* The frame at the start of bytes, which are at offset `at` of their segment. */
enum frame_got frame_get(str bytes, uint32_t salt, uint64_t at, struct frame *out) MUST_USE;

/* The offset in bytes of the next frame with a good head. If none is found: bytes.n less the bytes
 * that may be the start of one. */
size_t frame_find(str bytes, uint32_t salt, uint64_t at);
