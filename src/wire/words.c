/* words.c - tables of words, read both ways.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/words.h"

int word_is(const struct word *table, size_t n, str name, int or_else)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(name, str_c(table[i].name)))
            return table[i].is;
    return or_else;
}

const char *word_for(const struct word *table, size_t n, int is, str name)
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
