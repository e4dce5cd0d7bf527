/* name_table.h - tables of names: stop reasons and error types of each dialect.
 *
 * A table is read in both directions. If several names have one number, the first is the one we
 * write.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

struct name_row {
    const char *name;
    int is;
};

/* The number of a name, or `or_else`. */
int name_table_number(const struct name_row *table, size_t n, str name, int or_else);
/* The name of a number, or NULL. `name` is kept if it is one of several. */
const char *name_table_name(const struct name_row *table, size_t n, int is, str name);
