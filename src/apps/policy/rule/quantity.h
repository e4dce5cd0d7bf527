/* quantity.h - numbers with units, and dates, that compare exactly or not at all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/words.h"

struct unit {
    const char *words; /* however it is written, separated by spaces */
    int dimension;     /* units of one dimension convert */
    double factor;
};

struct quantity {
    double number;
    const struct unit *unit; /* NULL: none */
    bool date;               /* number is a day */
};

/* The unit that begins at w[0], or NULL; *took: its words. */
const struct unit *unit_read(const struct word *w, size_t n, size_t *took);
bool unit_is_money(const struct unit *u);
bool unit_is_percent(const struct unit *u);
bool unit_is_year(const struct unit *u);
bool unit_is_time(const struct unit *u);
bool unit_is_whole_days(const struct unit *u); /* a duration with an exact number of days */

/* A quantity at w[0]: how many words it has, or 0. */
size_t quantity_read(const struct word *w, size_t n, struct quantity *out);
/* -1, 0, 1; or 2: they do not compare, or months and days are too close to tell. years: a limit of
 * an age, whose plain numbers are years. */
int quantity_compare(const struct quantity *fact, const struct quantity *limit, bool years);
/* A plain number so far below a limit that it may count thousands, or be a percentage of it. */
bool quantity_may_be_scaled(const struct quantity *q, const struct quantity *limit);
/* A plain number so small that it may be 0.41 for 41 %. */
bool quantity_may_be_ratio(const struct quantity *q);
