/* block.h - the texts of many calls, compressed together.
 *
 *     block_init(&b);
 *     block_entry_put(&texts, &entry);          the texts of one call
 *     block_add(&b, buf_str(&entry));           its place is b.count before the call
 *     if (block_due(&b) && block_pack(&b, &packed, &e)) ... block_reset(&b);
 *
 *     block_open(packed, &arena, &view, &e)
 *     block_entry_get(block_entry(&view, 3), &texts, &e)
 *
 *     entry  = from? text*                      in the order of their tags, each at most once
 *     from   = 0 call_n front back              the request repeats part of an earlier request
 *            | 64 call_n front back at from n   and part of that call's answer: struct block_delta
 *     text   = tag size bytes                   tag: 1 and up, see enum block_text
 *            | tag of lead at n tail bytes      64 + tag: n bytes of the text `of`, from `at` on,
 *                                               between `lead` and `tail` bytes that follow
 *     raw    = entry* directory directory_size  the size in 4 bytes, little-endian
 *     directory = count size*                   the size of each entry; 0: the call was erased
 *     packed = version, then raw as one zstd frame with its content size and a checksum
 *
 * Tags are one byte; every other number is a varint (LEB128): 7 bits a byte, the low bits first.
 * The module does no I/O and knows no database. Stored bytes may be damaged: reading checks every
 * size and fails with ERR_SYSTEM.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* Blocks on disk hold these numbers: add a text at the end, never reorder. */
enum block_text {
    BLOCK_REQUEST,
    BLOCK_REPLY,
    BLOCK_REASONING,
    BLOCK_SUMMARY,
    BLOCK_ANSWER,
    BLOCK_TOOL_CALLS,
    BLOCK_ATTEMPTS,
    BLOCK_ASKED,
    BLOCK_DECISION,
    BLOCK_TOOLS,
    BLOCK_SEGMENTS,
    BLOCK_STEP,
    BLOCK_ERROR,
    BLOCK_TEXT_COUNT
};

#define BLOCK_SIZE ((size_t)256 << 10)    /* raw bytes after which a block is packed */
#define BLOCK_CALLS_MAX ((size_t)65536)   /* calls after which it is packed in any case */
#define BLOCK_RAW_MAX ((size_t)512 << 20) /* ceiling: one call may be much larger than BLOCK_SIZE */
#define BLOCK_DELTA_MIN 256u              /* a delta that shares fewer bytes is not worth it */

/* A part of the answer of the call that a delta refers to: clients send it back in their next
 * request. `n` bytes from `from` on of the answer, escaped as in a JSON string, belong after the
 * first `at` of the request's own bytes. n 0: no part. */
struct block_quote {
    uint64_t at, from, n;
};

/* A request stored as the first `front` and the last `back` bytes of the request of call `call_n`,
 * with its own bytes and a part of that call's answer between them. call_n 0: the request is stored
 * whole. */
struct block_delta {
    int64_t call_n;
    uint64_t front, back;
    struct block_quote answer;
};

/* The earlier call that a delta refers to. */
struct block_base {
    str request, answer;
};

/* The texts of one call. With request_from, text[BLOCK_REQUEST] holds only the request's own
 * bytes. */
struct block_texts {
    str text[BLOCK_TEXT_COUNT];
    struct block_delta request_from;
};

/* Whether the arena, which ends the process otherwise, has room for so many bytes at once. */
bool block_arena_check(const struct arena *a, uint64_t size, struct err *e) MUST_USE;

/* Appends the entry of one call. Empty texts take no bytes; a call without texts has the entry "",
 * the same as an erased call. */
void block_entry_put(const struct block_texts *t, struct buf *out);

/* The texts are lent from the entry, or in the arena; a text that the entry does not have is "".
 * Unknown tags, wrong sizes and texts out of order are ERR_SYSTEM. */
bool block_entry_get(str entry, struct arena *a, struct block_texts *out, struct err *e) MUST_USE;

/* Finds the longest common prefix and then the longest common suffix of two requests, without
 * overlap. Sets only front and back of the delta, and lends `between` from the request.
 * False, with nothing set: they share fewer than BLOCK_DELTA_MIN bytes or less than a quarter of
 * the request. */
bool block_delta_make(str base, str request, struct block_delta *out, str *between) MUST_USE;

/* Finds a part of the answer of the base in the bytes that a delta has between front and back.
 * Returns the bytes without that part, in the arena; if no part is found, the bytes themselves. */
str block_quote_make(str answer, str between, struct arena *a, struct block_quote *out);

/* The whole request, in the arena. ERR_SYSTEM: the delta does not fit its base. ERR_LIMIT: the
 * arena has no room for the request. */
bool block_delta_apply(const struct block_base *base, const struct block_delta *d, str own,
                       struct arena *a, str *out, struct err *e) MUST_USE;

/* A block that is being filled. */
struct block {
    struct buf raw; /* the entries */
    uint32_t *ends; /* where each entry ends in raw */
    size_t count, cap;
    struct ZSTD_CCtx_s *compressor; /* created by the first block_pack, then reused */
};

void block_init(struct block *b);
void block_release(struct block *b);
/* Empties the block. Keeps the compressor and memory of the usual size. */
void block_reset(struct block *b);

/* Adds the entry of the next call. "" keeps the place of an erased call. An entry beyond
 * BLOCK_RAW_MAX or BLOCK_CALLS_MAX makes block_pack fail with ERR_LIMIT. */
void block_add(struct block *b, str entry);

/* The raw bytes of its entries. */
size_t block_size(const struct block *b);
/* Whether it is time to pack it: BLOCK_SIZE or BLOCK_CALLS_MAX is reached. */
bool block_due(const struct block *b);

/* Appends the packed block to out. The block itself does not change: block_reset empties it. */
bool block_pack(struct block *b, struct buf *out, struct err *e) MUST_USE;

/* A stored block, unpacked. */
struct block_view {
    str raw; /* the entries */
    const uint32_t *ends;
    size_t count;
};

/* Unpacks into the arena. ERR_SYSTEM: the bytes are damaged or of a later version. ERR_LIMIT: the
 * arena has no room for it. */
bool block_open(str packed, struct arena *a, struct block_view *out, struct err *e) MUST_USE;

/* The entry at a place, lent from the arena. "": its call was erased, or n is out of range. */
str block_entry(const struct block_view *v, size_t n);
