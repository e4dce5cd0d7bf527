/* quantity.c - see quantity.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/quantity.h"

#include <math.h>

enum { DAYS, MONTHS, PERCENT, MASS, LENGTH, VOLUME, OTHER, DEGREES = 50, MONEY = 100 };

#define MONTH_DAYS 30.4375
#define MONTH_SHORT 30  /* days of every month, for some */
#define MONTH_SLACK 2.5 /* days that any number of months may differ from that */
#define AGE_MOST 150
#define SUM_LEAST 1000 /* a plain number far below such a limit may count thousands or millions */
#define SUM_SMALL 500
#define RATIO_MOST 3 /* a plain number up to this may be a ratio or a percentage */

/* Each of the last rows compares with itself alone. */
static const struct unit units[] = {
    {"second seconds sec secs", DAYS, 1.0 / 86400},
    {"minute minutes min mins", DAYS, 1.0 / 1440},
    {"hour hours hr hrs", DAYS, 1.0 / 24},
    {"day days", DAYS, 1},
    {"week weeks wk wks", DAYS, 7},
    {"month months", MONTHS, 1},
    {"year years yr yrs", MONTHS, 12},
    {"percent percentage %", PERCENT, 1},
    {"kg kilogram kilograms", MASS, 1},
    {"g gram grams", MASS, 1e-3},
    {"mg milligram milligrams", MASS, 1e-6},
    {"tonne tonnes", MASS, 1000},
    {"lb lbs", MASS, 0.45359237},
    {"km kilometer kilometers kilometre kilometres", LENGTH, 1000},
    {"meter meters metre metres", LENGTH, 1},
    {"cm centimeter centimeters", LENGTH, 0.01},
    {"mm millimeter millimeters", LENGTH, 0.001},
    {"mile miles", LENGTH, 1609.344},
    {"inch inches", LENGTH, 0.0254},
    {"liter liters litre litres", VOLUME, 1},
    {"ml milliliter milliliters", VOLUME, 0.001},
    {"g/dl", OTHER, 1},
    {"mg/dl", OTHER + 1, 1},
    {"kg/m2", OTHER + 2, 1},
    {"km/h", OTHER + 3, 1},
    {"mph", OTHER + 4, 1},
    {"pound pounds", OTHER + 5, 1},
    {"degree degrees \xC2\xB0", DEGREES, 1},
    {"dollar dollars usd $", MONEY, 1},
    {"euro euros eur \xE2\x82\xAC", MONEY + 1, 1},
    {"gbp \xC2\xA3", MONEY + 2, 1},
    {"yen jpy \xC2\xA5", MONEY + 3, 1},
    {"chf franc francs", MONEY + 4, 1},
    {"cad", MONEY + 5, 1},
    {"aud", MONEY + 6, 1},
};

const struct unit *unit_read(const struct word *w, size_t n, size_t *took)
{
    struct word joined;
    bool ratio = n > 2 && word_is(&w[1], "/");

    *took = 0;
    if (n == 0 || w[0].kind == WORD_NUMBER || (ratio && w[0].size + w[2].size > 10))
        return NULL;
    joined = w[0];
    if (ratio)
        joined.size = (uint8_t)snprintf(
            joined.lower, sizeof joined.lower, "%.9s/%.9s", w[0].lower, w[2].lower);
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (word_among(&joined, units[i].words)) {
            *took = ratio ? 3 : 1;
            return &units[i];
        }
    return NULL;
}

bool unit_is_money(const struct unit *u)
{
    return u && u->dimension >= MONEY;
}

bool unit_is_percent(const struct unit *u)
{
    return u && u->dimension == PERCENT;
}

bool unit_is_year(const struct unit *u)
{
    return u && u->dimension == MONTHS && u->factor > 1;
}

bool unit_is_time(const struct unit *u)
{
    return u && (u->dimension == DAYS || u->dimension == MONTHS);
}

bool unit_is_whole_days(const struct unit *u)
{
    return u && u->dimension == DAYS && u->factor >= 1;
}

/* "1.000": a thousand in some countries, one in others. */
static bool quantity_is_ambiguous(const struct word *w)
{
    const char *dot = strchr(w->lower, '.');

    return dot && w->lower[0] != '0' && strlen(dot) == 4 && dot - w->lower <= 3;
}

size_t quantity_read(const struct word *w, size_t n, struct quantity *out)
{
    size_t at = 0, took = 0;
    const struct unit *before = unit_read(w, n, &took), *after;

    *out = (struct quantity){0};
    if (before && !unit_is_money(before))
        return 0;
    at += took;
    if (at == n || w[at].kind != WORD_NUMBER || quantity_is_ambiguous(&w[at]))
        return 0;
    out->number = w[at].number;
    out->date = word_dates(&w[at]);
    at++;
    after = out->date ? NULL : unit_read(w + at, n - at, &took);
    if (after)
        at += took;
    if ((before && after && before != after) || (before && out->date))
        return 0;
    out->unit = before ? before : after;
    return at;
}

bool quantity_may_be_ratio(const struct quantity *q)
{
    return !q->unit && !q->date && q->number <= RATIO_MOST;
}

bool quantity_may_be_scaled(const struct quantity *q, const struct quantity *limit)
{
    return !q->unit && !q->date && q->number > 0 && limit->number >= SUM_LEAST &&
           q->number < limit->number / SUM_SMALL;
}

static int quantity_order(double a, double b)
{
    return fabs(a - b) < 1e-9 * (1 + fabs(b)) ? 0 : a < b ? -1 : 1;
}

/* Months have no exact number of days: only a result that holds for every month is decided. */
static int quantity_compare_days(double days, double months)
{
    double low = fmin(months * MONTH_DAYS - MONTH_SLACK, months * MONTH_SHORT),
           high = months * MONTH_DAYS + MONTH_SLACK;

    return days < low ? -1 : days > high ? 1 : 2;
}

int quantity_compare(const struct quantity *fact, const struct quantity *limit, bool years)
{
    const struct unit *f = fact->unit, *l = limit->unit;
    double a = fact->number, b = limit->number;

    if ((f && f->dimension == DEGREES) || (l && l->dimension == DEGREES))
        return 2; /* of which scale? */
    if (fact->date || limit->date)
        return fact->date && limit->date ? quantity_order(a, b) : 2;
    if (years) {
        if ((f && !unit_is_year(f)) || (l && !unit_is_year(l)))
            return f && l && f->dimension == l->dimension
                       ? quantity_order(a * f->factor, b * l->factor)
                       : 2;
        /* Who is 18.5 is 18 for some, and older than 18 for others; 1990 is no age. */
        return (a > b && floor(a) <= b) || a < 0 || a > AGE_MOST ? 2 : quantity_order(a, b);
    }
    if (unit_is_money(l) && quantity_may_be_scaled(fact, limit))
        return 2;
    if (!f && l)
        return unit_is_money(l) || (unit_is_percent(l) && a > RATIO_MOST) ? quantity_order(a, b)
                                                                          : 2;
    if (f && !l)
        return 2;
    if (!f)
        return quantity_order(a, b);
    if (f->dimension == l->dimension)
        return quantity_order(a * f->factor, b * l->factor);
    if (f->dimension == DAYS && l->dimension == MONTHS)
        return quantity_compare_days(a * f->factor, b * l->factor);
    if (f->dimension == MONTHS && l->dimension == DAYS) {
        int order = quantity_compare_days(b * l->factor, a * f->factor);

        return order == 2 ? 2 : -order;
    }
    return 2;
}
