/* kept.c - masks texts for the record, into an arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "mask/mask.h"

typedef bool mask_any(const struct mask *m, str in, struct buf *out, struct mask_counts *counts);

static str mask_kept(mask_any *fn, const struct mask *m, str in, struct arena *a)
{
    struct buf out;

    if (!m || !in.n)
        return in;
    buf_init(&out, 4 * in.n + 65536);
    if (fn(m, in, &out, NULL))
        in = buf_full(&out) ? STR(MASK_LEFT_OUT) : arena_dup(a, buf_str(&out));
    buf_release(&out);
    return in;
}

str mask_text_kept(const struct mask *m, str in, struct arena *a)
{
    return mask_kept(mask_text, m, in, a);
}

str mask_json_kept(const struct mask *m, str in, struct arena *a)
{
    return mask_kept(mask_json, m, in, a);
}
