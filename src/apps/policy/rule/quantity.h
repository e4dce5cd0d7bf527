/* quantity.h - numbers with units, and dates, that compare exactly or not at all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/words.h"

struct unit {
    const char *words; /* all its spellings, separated by spaces */
    int dimension;     /* units of one dimension convert */
    double factor;
};

struct quantity {
    double number;
    const struct unit *unit; /* NULL: none */
    bool date;               /* number is a day */
};

enum { UNIT_DAYS, UNIT_MONTHS, UNIT_PERCENT, UNIT_MONEY = 100 }; /* dimensions; and others */

/* The unit that begins at w[0], or NULL; *took: its number of words. */
const struct unit *unit_read(const struct word *w, size_t n, size_t *took);
/* Whether there is a unit of that dimension; the currencies are several. */
bool unit_has(const struct unit *u, int dimension);
bool unit_is_year(const struct unit *u);
/* The number of words of a quantity at w[0], or 0. */
size_t quantity_read(const struct word *w, size_t n, struct quantity *out);
/* -1, 0, 1; or 2: they do not compare. years: a limit of an age, whose plain numbers are years. */
int quantity_compare(const struct quantity *fact, const struct quantity *limit, bool years);
