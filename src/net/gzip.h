/* gzip.h - compresses and decompresses bodies, within limits.
 *
 *     struct gzip *g = gzip_new();                 one for many bodies: it is large
 *     gzip_pack(g, body, &out);
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/embed.h"

struct gzip;

struct gzip *gzip_new(void);
void gzip_free(struct gzip *g); /* NULL does nothing */

void gzip_pack(struct gzip *g, str body, struct buf *out);

/* ERR_INPUT if the bytes are not gzip, are truncated or are followed by others; ERR_LIMIT if the
 * result exceeds the limit of `out`. Several members are joined, as RFC 1952 requires. */
bool gzip_unpack(str packed, struct buf *out, struct err *e) MUST_USE; /* `out` must be empty */

/* The same in steps, for a loop that has other work to do: a step reads and writes about
 * GZIP_STEP_SIZE bytes at most. */
#define GZIP_STEP_SIZE ((size_t)128 << 10)
enum gzip_progress { GZIP_MORE, GZIP_DONE, GZIP_FAILED, GZIP_WAITS };

struct gzip_unpacker;

/* The packed bytes must stay valid. */
struct gzip_unpacker *gzip_unpacker_new(str packed, size_t size_max);
void gzip_unpacker_free(struct gzip_unpacker *u); /* NULL does nothing */
/* Sets *e with GZIP_FAILED; no further step may follow one that was not GZIP_MORE. */
enum gzip_progress gzip_unpacker_step(struct gzip_unpacker *u, struct err *e) MUST_USE;
/* The result, to be read or moved away after GZIP_DONE. */
struct buf *gzip_unpacker_plain(struct gzip_unpacker *u);

/* The same for packed bytes that come in pieces, in a content coding that gzip_knows: gzip, x-gzip,
 * or deflate with or without zlib's header. The caller takes the plain bytes away after each step;
 * size_max is the limit of all of them, however many the packed bytes are. A step returns
 * GZIP_WAITS if it needs the next piece, never GZIP_DONE. */
bool gzip_knows(str coding);
struct gzip_unpacker *gzip_unpacker_open(str coding, size_t size_max);
void gzip_unpacker_feed(struct gzip_unpacker *u, str packed); /* copied */
/* With GZIP_WAITS: whether the packed bytes may end here. */
bool gzip_unpacker_is_whole(const struct gzip_unpacker *u);

/* The bytes of a file that tools/embed packed; `out` is initialized here. */
void gzip_unpack_embedded(const struct embed *file, struct buf *out);

/* Whether an Accept-Encoding accepts gzip and does not prefer plain bytes. */
bool gzip_accepted(str accept_encoding);
