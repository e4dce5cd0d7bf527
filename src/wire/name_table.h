/* name_table.h - tables of words: reasons to stop and types of errors, each dialect's own.
 *
 * A table is read both ways. Of several words for one number the first is how we spell it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

struct name_row {
    const char *name;
    int is;
};

/* What a word is, or `or_else`. */
int name_table_number(const struct name_row *table, size_t n, str name, int or_else);
/* The word for a number, or NULL. `name` is kept, if it is one of several. */
const char *name_table_name(const struct name_row *table, size_t n, int is, str name);
