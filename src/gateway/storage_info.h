/* storage_info.h - reports what the record stores, where, for how long, and its size.
 *
 *     struct storage_info k;
 *     if (storage_info_read(config, reader, &arena, &k, e)) ... k.reasoning, k.where, k.bytes
 *
 * It queries the store and reads files, so it must not run on a loop's thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"
#include "store/query.h"

struct storage_info {
    str reasoning;         /* none, summary or text; answers and requests are always kept */
    bool masked;           /* secrets are masked before anything is written */
    str where;             /* the database: an absolute path, or a URL without its password */
    int64_t bytes;         /* of the tables; -1: unknown */
    str journal;           /* the journal's folder, absolute */
    int64_t journal_bytes; /* of its files */
    str retention;         /* "age 90d, size 20GiB"; empty: not set, records stay */
};

/* The reader may be NULL: then the size of the tables is unknown. */
bool storage_info_read(const struct config *c, struct reader *r, struct arena *a,
                       struct storage_info *out, struct err *e) MUST_USE;
