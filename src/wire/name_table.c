/* name_table.c - tables of words, read both ways.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/name_table.h"

int name_table_number(const struct name_row *table, size_t n, str name, int or_else)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(name, str_c(table[i].name)))
            return table[i].is;
    return or_else;
}

const char *name_table_name(const struct name_row *table, size_t n, int is, str name)
{
    const char *first = NULL;

    for (size_t i = 0; i < n; i++) {
        if (table[i].is != is)
            continue;
        if (str_eq(name, str_c(table[i].name)))
            return table[i].name;
        first = first ? first : table[i].name;
    }
    return first;
}
