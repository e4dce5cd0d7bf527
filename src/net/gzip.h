/* gzip.h - bodies packed and unpacked, within bounds.
 *
 *     struct gzip *g = gzip_new();                 one for many bodies: it is large
 *     gzip_pack(g, body, &out);                    whole; or
 *     gzip_begin(g); gzip_feed(g, piece, &out)...; gzip_finish(g, &out);
 *
 * After each gzip_feed the other side can read all that was fed (a sync flush), so a stream of
 * events can be packed too; an empty piece adds nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

struct gzip;

struct gzip *gzip_new(void);
void gzip_free(struct gzip *g); /* NULL does nothing */

void gzip_begin(struct gzip *g);
void gzip_feed(struct gzip *g, str piece, struct buf *out);
void gzip_finish(struct gzip *g, struct buf *out);
void gzip_pack(struct gzip *g, str body, struct buf *out);

/* ERR_INPUT if it is not gzip, or cut short, or has more behind it; ERR_LIMIT if it is larger than
 * the ceiling of `out`. Several members are joined, as RFC 1952 has it. */
bool gzip_unpack(str packed, struct buf *out, struct err *e) MUST_USE;

/* Whether an Accept-Encoding takes gzip, and would not rather have the plain bytes. */
bool gzip_accepted(str accept_encoding);
