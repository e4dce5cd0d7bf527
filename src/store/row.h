/* row.h - the rows of store.h as bytes and as columns: one table describes both.
 *
 *     size_t size = row_call_size(&call);
 *     row_call_put(&call, p);                    writes exactly that many bytes
 *     if (!row_call_get(bytes, &back)) ...       texts lent from bytes
 *
 * A row is the number of its fields followed by the fields in the order of the table. Fields are
 * only added at the end, so older and newer journals stay readable: missing fields are empty,
 * unknown ones are ignored.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store/block.h"
#include "store/store.h"

enum row_kind {
    ROW_TEXT,
    ROW_BODY, /* text that old_interactions may hold compressed, with its size */
    ROW_INT,
    ROW_BOOL,
    ROW_I64,
    ROW_KNOWN, /* a number; -1: unknown */
    ROW_COST   /* a double; negative: unknown */
};

struct row_field {
    const char *column;
    size_t column_n; /* bytes of its name */
    enum row_kind kind;
    size_t at;          /* offset in its struct */
    unsigned char text; /* 1 + enum block_text: stored in the call's block; 0: a column */
};

/* The first field is the id, and never empty. */
struct row_table {
    const struct row_field *fields;
    size_t count;
};

/* An event of the store itself, or a task for it. */
struct store_note {
    str id; /* of its receipt */
    str actor, action, subject, detail;
    int64_t time_us;
};

extern const struct row_field row_fields[];
extern const size_t row_field_count;
extern const struct row_table row_calls, row_sessions, row_tools, row_notes;

static inline str *row_text(struct store_call *c, const struct row_field *f)
{
    return (str *)(void *)((char *)c + f->at);
}

/* The texts for a block that are not empty: bit N is text N of enum block_text. */
int64_t row_text_bits(const struct store_call *row);
/* How many tool calls the call asked its client for. */
int64_t row_tool_count(const struct store_call *row);

/* For any of the tables. Fields that are not in the bytes keep their value in out. out may be
 * changed even if row_get fails. */
size_t row_size(const struct row_table *t, const void *row);
void row_put(const struct row_table *t, const void *row, char *p);
bool row_get(const struct row_table *t, str bytes, void *out) MUST_USE;

size_t row_call_size(const struct store_call *c);
void row_call_put(const struct store_call *c, char *p);
bool row_call_get(str bytes, struct store_call *out) MUST_USE;

size_t row_piece_size(const struct store_piece *piece);
void row_piece_put(const struct store_piece *piece, char *p);
bool row_piece_get(str bytes, struct store_piece *out) MUST_USE;
