/* number.h - compares and divides JSON numbers without rounding.
 *
 *     struct schema_decimal d;
 *     schema_decimal_read(&d, STR("1e308"));
 *     if (schema_decimal_cmp(&d, &limit) > 0) ...
 *
 * Nothing is allocated: the digits stay in the number's text, which must outlive the struct.
 * Exponents beyond a million billion are treated as a million billion.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

/* 0.d1d2d3... * 10^top. The digits are in the number's text, which may have a point among them.
 */
struct schema_decimal {
    const char *digits;
    size_t count; /* significant digits: neither the first nor the last is 0; 0 for zero */
    int64_t top;
    bool negative;
};

void schema_decimal_read(struct schema_decimal *d, str text);
int schema_decimal_cmp(const struct schema_decimal *a, const struct schema_decimal *b);
bool schema_decimal_is_integer(const struct schema_decimal *d);
uint64_t schema_decimal_hash(const struct schema_decimal *d);

/* A count: a whole number, not negative; UINT64_MAX if it does not fit. */
bool schema_decimal_count(const struct schema_decimal *d, uint64_t *out) MUST_USE;

/* The limit for multipleOf: its digits must fit in 64 bits. */
#define SCHEMA_DIVISOR_DIGITS_MAX 18
bool schema_decimal_divides(const struct schema_decimal *by, const struct schema_decimal *d);
