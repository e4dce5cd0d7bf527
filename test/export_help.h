/* export_help.h - calls generated from their numbers; every field is set in some of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

#define EXPORT_TEXT_MAX ((size_t)4 << 20)
#define EXPORT_TURNS 12u /* calls per session; each repeats the request of the previous one */

struct export_call {
    char id[32], session[32], key[16], model[16], decision[80], segments[200];
    struct buf request, reply, reasoning, answer;
    struct store_call row;
};

void export_call_init(struct export_call *m);
void export_call_release(struct export_call *m);
void export_call_make(struct export_call *m, unsigned n);

/* Text of at least that many bytes, a function of the seed alone. */
void export_add_prose(struct buf *b, uint64_t seed, size_t size);
