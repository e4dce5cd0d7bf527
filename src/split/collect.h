/* collect.h - collects a split text: its reasoning, its answer, its tool calls.
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
 * It remembers its first error, which can only be that the text was larger than its limit. A
 * reclassified section is moved, so the result does not depend on how the text was cut.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "split/reader.h"

struct split_collect {
    struct buf reasoning, answer;
    struct split_call *calls; /* in the arena */
    size_t call_count;
    struct split_reader tools; /* `unread`: some markup gave no call */

    /* All members below are private. */
    str join; /* written between separate messages of one kind; lent */
    struct arena arena;
    size_t size_max;
    size_t tool_size; /* bytes of all markup so far */
    size_t call_cap;
    bool join_next[SPLIT_KIND_COUNT];
    bool doubtful;      /* after an ambiguous closer */
    struct buf since;   /* all runs since it, in order */
    size_t answer_then; /* bytes of answer before it */
};

/* size_max limits each kind of text. */
void split_collect_init(struct split_collect *c, str join, size_t size_max);
void split_collect_release(struct split_collect *c);
struct split_sink split_collect_sink(struct split_collect *c);
bool split_collect_ok(const struct split_collect *c, struct err *e) MUST_USE;
