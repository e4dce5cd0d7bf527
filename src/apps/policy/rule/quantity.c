/* quantity.c - see quantity.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/quantity.h"

#include <math.h>

enum { MASS = UNIT_PERCENT + 1, LENGTH, VOLUME, OTHER };

#define AGE_MOST 150
#define SUM_LEAST 1000 /* a plain number far below such a limit may count thousands or millions */
#define SUM_SMALL 500

/* Each of the last rows compares with itself alone. */
static const struct unit units[] = {
    {"second seconds sec secs", UNIT_DAYS, 1.0 / 86400},
    {"minute minutes min mins", UNIT_DAYS, 1.0 / 1440},
    {"hour hours hr hrs", UNIT_DAYS, 1.0 / 24},
    {"day days", UNIT_DAYS, 1},
    {"week weeks wk wks", UNIT_DAYS, 7},
    {"month months", UNIT_MONTHS, 1},
    {"year years yr yrs", UNIT_MONTHS, 12},
    {"percent percentage %", UNIT_PERCENT, 1},
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
    {"db decibel decibels", OTHER + 6, 1},
    {"dollar dollars usd $", UNIT_MONEY, 1},
    {"euro euros eur \xE2\x82\xAC", UNIT_MONEY + 1, 1},
    {"gbp \xC2\xA3", UNIT_MONEY + 2, 1},
    {"yen jpy \xC2\xA5", UNIT_MONEY + 3, 1},
    {"chf franc francs", UNIT_MONEY + 4, 1},
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
            assert(*took <= n);
            return &units[i];
        }
    return NULL;
}

bool unit_has(const struct unit *u, int dimension)
{
    return u &&
           (u->dimension == dimension || (dimension == UNIT_MONEY && u->dimension > UNIT_MONEY));
}

bool unit_is_year(const struct unit *u)
{
    return unit_has(u, UNIT_MONTHS) && u->factor > 1;
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
    if (before && !unit_has(before, UNIT_MONEY))
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
    assert(at > 0 && at <= n);
    return at;
}

static int quantity_order(double a, double b)
{
    return fabs(a - b) < 1e-9 * (1 + fabs(b)) ? 0 : a < b ? -1 : 1;
}

int quantity_compare(const struct quantity *fact, const struct quantity *limit, bool years)
{
    const struct unit *f = fact->unit, *l = limit->unit;
    double a = fact->number, b = limit->number;

    assert(!(fact->date && f) && !(limit->date && l));
    if (fact->date || limit->date)
        return fact->date && limit->date ? quantity_order(a, b) : 2;
    if (years && (!f || unit_is_year(f)) && (!l || unit_is_year(l)))
        /* Who is 18.5 is 18 for some, and older than 18 for others; 1990 is no age. */
        return (a > b && floor(a) <= b) || a < 0 || a > AGE_MOST ? 2 : quantity_order(a, b);
    if (f && l)
        return f->dimension == l->dimension ? quantity_order(a * f->factor, b * l->factor) : 2;
    if (f || (l && !unit_has(l, UNIT_MONEY)) || (l && a > 0 && b >= SUM_LEAST && a < b / SUM_SMALL))
        return 2;
    return quantity_order(a, b);
}
