/* zip.h - one part of a ZIP archive, unpacked within bounds.
 *
 *     if (!zip_open(&z, bytes, e) || !zip_read(&z, STR("word/document.xml"), max, &out, e)) ...
 *
 * Supports only the features of office files: one disk, no ZIP64, parts stored or deflated. Sizes
 * and checksums must be as the directory says; a part never takes more than `size_max` bytes,
 * whatever size it claims.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#define ZIP_PARTS_MAX 20000

struct zip {
    str bytes;
    str directory; /* of all parts */
    unsigned count;
};

/* ERR_INPUT: it is damaged, or uses unsupported features. */
bool zip_open(struct zip *z, str bytes, struct err *e) MUST_USE;
bool zip_has(const struct zip *z, str name);
/* ERR_NOT_FOUND: there is no such part. ERR_LIMIT: it is larger. */
bool zip_read(const struct zip *z, str name, size_t size_max, struct buf *out,
              struct err *e) MUST_USE;
