/* query_body.c - bodies as the tables have them: as they are, or packed by zlib if that made them
 * shorter than their size says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_in.h"

#include <zlib.h>

#define BODY_MAX ((int64_t)64 << 20)

bool body_unpack(struct arena *a, const struct db_value *bytes, int64_t size, str *out)
{
    uLongf n = (uLongf)size;
    char *p;

    *out = STR("");
    if (bytes->type == DB_NULL || size <= 0)
        return true;
    if ((int64_t)bytes->s.n == size) {
        *out = arena_dup(a, bytes->s);
        return true;
    }
    if (size > BODY_MAX || (size_t)size > arena_left(a) / 4)
        return false;
    p = arena_alloc(a, (size_t)size);
    if (uncompress((Bytef *)p, &n, (const Bytef *)bytes->s.p, (uLong)bytes->s.n) != Z_OK ||
        n != (uLongf)size)
        return false;
    *out = (str){p, (size_t)size};
    return true;
}
