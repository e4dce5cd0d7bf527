/* query_narrow.h - the calls that a search can have, whatever its words: those of its session, of
 * its key if that has few sessions, or of its tool.
 *
 *     if (!narrow_begin(&x, r, &find, e)) ...
 *     if (narrow_may_have(&x, block) && narrow_block(&x, block, first_n, last_n, &calls, e)) ...
 *
 * It is a superset: the statement that reads the rows still has all conditions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct find;
struct reader;
struct sql;

struct narrow_call {
    int64_t block, block_n, call_n;
};

struct narrow {
    struct reader *r;
    enum { NARROW_NOT, NARROW_LIST, NARROW_TOOL } how;
    struct narrow_call *calls; /* all of them, by block; or with NARROW_TOOL those of one block */
    size_t n, tries;
    str tool;
};

/* The calls of a block; all: it is not known which. */
struct narrow_calls {
    const struct narrow_call *at;
    size_t n;
    bool all;
};

/* A tool as a query names it: both of SERVER.TOOL, unless calls have a tool of that whole name. */
struct tool_name {
    str tool, server; /* server: empty if any will do */
};
bool tool_name_read(struct reader *r, str text, struct tool_name *out, struct err *e) MUST_USE;
/* Adds the condition that the tool's server has it: `column` is that of the session. */
void tool_name_where_server(struct sql *q, const char *column, const struct tool_name *t);

/* The find's tool and session are lent; the result lives as long as the reader's query. */
bool narrow_begin(struct narrow *x, struct reader *r, const struct find *f, struct err *e) MUST_USE;
/* Whether the block may have any, without a query. */
bool narrow_may_have(const struct narrow *x, int64_t block);
bool narrow_block(struct narrow *x, int64_t block, int64_t first_n, int64_t last_n,
                  struct narrow_calls *out, struct err *e) MUST_USE;
