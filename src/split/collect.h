/* collect.h - the whole of a split text: its reasoning, its answer, its tool calls.
 *
 *     struct split_collect c;
 *     struct split sp;
 *     split_collect_init(&c, STR(""), 1 << 20);
 *     split_init(&sp, format, false, split_collect_sink(&c));
 *     ... feed, finish ...
 *     if (split_collect_ok(&c, e))
 *         use(buf_str(&c.reasoning), buf_str(&c.answer), c.calls, c.call_count);
 *     split_collect_release(&c);
 *
 * An end: it remembers its first error, which can only be that the text was larger than its
 * ceiling. A reclassified stretch is moved, so the result is the same however the text was cut.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "split/reader.h"

struct split_collect {
    struct buf reasoning, answer;
    struct split_call *calls; /* in the arena */
    size_t call_count;
    struct split_reader tools; /* `unread` says that some markup gave no call */

    /* All below is the collector's own. */
    str join; /* put between separate messages of one kind; lent */
    struct arena arena;
    size_t size_max;
    size_t tool_size; /* of all markup so far */
    size_t call_cap;
    bool join_next[SPLIT_KIND_COUNT];
    bool doubtful;      /* behind an ambiguous closer */
    struct buf since;   /* all runs since it, in order */
    size_t answer_then; /* how much answer there was before it */
};

/* size_max is the ceiling of each kind of text. */
void split_collect_init(struct split_collect *c, str join, size_t size_max);
void split_collect_release(struct split_collect *c);
struct split_sink split_collect_sink(struct split_collect *c);
bool split_collect_ok(const struct split_collect *c, struct err *e) MUST_USE;
