/* SPDX-License-Identifier: Apache-2.0 */
#include "store/frame.h"

#include "store/crc32c.h"

#define SEGMENT_HEAD_SIZE 32u /* of one of the two */

static const char segment_magic[8] = "RATLJRNL";
/* No text in UTF-8 holds the first of these. */
static const char frame_magic[4] = {(char)0xFE, 'r', 'f', (char)0xA7};

static void frame_put32(char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (char)(v >> (8 * i));
}

static void frame_put64(char *p, uint64_t v)
{
    frame_put32(p, (uint32_t)v);
    frame_put32(p + 4, (uint32_t)(v >> 32));
}

static uint32_t frame_get32(const char *p)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++)
        v |= (uint32_t)(unsigned char)p[i] << (8 * i);
    return v;
}

static uint64_t frame_get64(const char *p)
{
    return frame_get32(p) | (uint64_t)frame_get32(p + 4) << 32;
}

void frame_segment_put(char out[FRAME_SEGMENT_HEAD_SIZE], const struct frame_segment *s)
{
    memset(out, 0, FRAME_SEGMENT_HEAD_SIZE);
    memcpy(out, segment_magic, 8);
    frame_put32(out + 8, s->version);
    frame_put32(out + 12, s->salt);
    frame_put64(out + 16, s->number);
    frame_put32(out + 28, crc32c(0, (str){out, 28}));
    memcpy(out + SEGMENT_HEAD_SIZE, out, SEGMENT_HEAD_SIZE);
}

bool frame_segment_get(str bytes, struct frame_segment *out)
{
    for (size_t at = 0; at < FRAME_SEGMENT_HEAD_SIZE; at += SEGMENT_HEAD_SIZE) {
        str head = str_slice(bytes, at, at + SEGMENT_HEAD_SIZE);

        if (head.n < SEGMENT_HEAD_SIZE || memcmp(head.p, segment_magic, 8) != 0 ||
            frame_get32(head.p + 28) != crc32c(0, (str){head.p, 28}))
            continue;
        *out = (struct frame_segment){
            frame_get32(head.p + 8), frame_get32(head.p + 12), frame_get64(head.p + 16)};
        return true;
    }
    return false;
}

void frame_put(char *p, enum frame_type type, size_t size)
{
    assert(size <= FRAME_BODY_MAX);
    memcpy(p, frame_magic, 4);
    frame_put32(p + 4, (uint32_t)size);
    frame_put32(p + 8, (uint32_t)type);
}

/* The initial value of both checksums. */
static uint32_t frame_seed(uint32_t salt, uint64_t at)
{
    char bytes[12];

    frame_put32(bytes, salt);
    frame_put64(bytes + 4, at);
    return crc32c(0, (str){bytes, sizeof bytes});
}

size_t frame_seal(char *p, uint32_t salt, uint64_t at)
{
    size_t size = frame_get32(p + 4);
    uint32_t begin = frame_seed(salt, at);

    assert(memcmp(p, frame_magic, 4) == 0 && size <= FRAME_BODY_MAX);
    frame_put32(p + 12, crc32c(begin, (str){p + FRAME_HEAD_SIZE, size}));
    frame_put32(p + 16, crc32c(begin, (str){p, 16}));
    return FRAME_HEAD_SIZE + size;
}

static bool frame_head_is_good(const char *p, uint32_t salt, uint64_t at)
{
    return memcmp(p, frame_magic, 4) == 0 && frame_get32(p + 4) <= FRAME_BODY_MAX &&
           frame_get32(p + 16) == crc32c(frame_seed(salt, at), (str){p, 16});
}

enum frame_got frame_get(str bytes, uint32_t salt, uint64_t at, struct frame *out)
{
    size_t size;

    *out = (struct frame){0, STR(""), FRAME_HEAD_SIZE};
    if (bytes.n < FRAME_HEAD_SIZE)
        return FRAME_SHORT;
    if (!frame_head_is_good(bytes.p, salt, at))
        return FRAME_BAD_HEAD;
    size = frame_get32(bytes.p + 4);
    out->type = frame_get32(bytes.p + 8);
    out->size = FRAME_HEAD_SIZE + size;
    if (bytes.n < out->size)
        return FRAME_SHORT;
    out->body = str_slice(bytes, FRAME_HEAD_SIZE, out->size);
    assert(out->body.n == size);
    return crc32c(frame_seed(salt, at), out->body) == frame_get32(bytes.p + 12) ? FRAME_GOOD
                                                                                : FRAME_BAD_BODY;
}

size_t frame_find(str bytes, uint32_t salt, uint64_t at)
{
    size_t i = 0;

    while (i + FRAME_HEAD_SIZE <= bytes.n) {
        const char *p = memchr(bytes.p + i, frame_magic[0], bytes.n - FRAME_HEAD_SIZE + 1 - i);

        if (!p)
            return bytes.n - FRAME_HEAD_SIZE + 1;
        i = (size_t)(p - bytes.p);
        if (frame_head_is_good(p, salt, at + i))
            return i;
        i++;
    }
    return i;
}
