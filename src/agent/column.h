/* column.h - columns of a table to fields of a struct and back.
 *
 *     l->rows = arena_grow(l->arena, l->rows, l->n, &l->max, sizeof *l->rows);
 *     l->rows[l->n++] = (struct note){.id = column_text(l->arena, &c[0]),
 *                                     .ended_us = column_time(&c[1])};
 *
 * A field that is absent is NULL in the table, "" or -1 in the struct.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "store/db.h"

/* A copy in the arena. */
static inline str column_text(struct arena *a, const struct db_value *v)
{
    return v->type == DB_TEXT ? arena_dup(a, v->s) : STR("");
}

static inline int64_t column_time(const struct db_value *v)
{
    return v->type == DB_INT ? v->i : -1;
}

static inline struct db_value column_time_or_null(int64_t us)
{
    return us >= 0 ? db_int(us) : db_null();
}

/* Members of an open JSON object from the columns of a row. `names` has a name for each column, in
 * order, separated by spaces; its last character is the form of the value:
 *
 *     name    text                        name@   time
 *     name?   text, null if empty         name*   JSON, null if empty
 *     name#   number                      -       left out
 *
 * "name{" begins an object of the columns up to "}". */
void column_write(struct json_out *o, const char *names, const struct db_value *c);
/* For db_query: each row as an object, an element of the open array. */
struct column_list {
    struct json_out *o;
    const char *names;
};
bool column_on_row(void *list, const struct db_value *c, size_t n);
