/* prices.h - prices of models: the table that ships with the binary, and the price of a model.
 *
 *     struct price p;
 *     if (price_find(host, maker, STR("gpt-5-2025-08-07"), &p)) ... p.rate.input
 *
 * Rates are USD for a million tokens at the provider's standard tier. A provider whose host is
 * known gets that host's list. A provider at any other host gets a list only if its `maker` alone
 * sells models by these names (OpenAI, Anthropic, Google); open models, which anybody may serve,
 * are priced at their own host only. A name that is not in the list has no price.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

struct price_rate {
    double input, output, cache_read, cache_write; /* < 0: no price */
};

struct price {
    struct price_rate rate;
    int64_t above;          /* more input tokens than this make a call cost `over`; 0: none */
    struct price_rate over; /* applies to the whole call */
    str provider;           /* whose list it is from; empty: the configuration, or no price */
    str date;               /* when the list was last checked against the provider's page */
    unsigned line;          /* in the configuration; 0: not from there */
};

extern const struct price price_none;

/* Whether a price of input or of output is known. */
bool price_known(const struct price *p);

/* Finds the price in the table; false, with price_none, if it has none. `maker` is the provider
 * row's otel_name. */
bool price_find(str host, str maker, str model, struct price *out);

/* Whether the table has prices for a provider of this kind. */
bool price_has_list(str host, str maker);

/* The name without a date at its end: -20250929 or -2025-08-07. */
str price_without_date(str model);

/* The rows of the table by index; false after the last. */
bool price_at(size_t index, str *model, struct price *out);
