/* spell.c - words that are one date together: "March 5, 2026", "5th of March 2026".
 *
 * A date becomes the number of its day, written as 2026-03-05. Dates in figures alone do not say
 * which is the month, and are no dates.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/words.h"
#include "base/ctype.h"

static const char *const month_names[12] = {
    "january jan",
    "february feb",
    "march mar",
    "april apr",
    "may",
    "june jun",
    "july jul",
    "august aug",
    "september sep sept",
    "october oct",
    "november nov",
    "december dec",
};

bool words_day(int year, int month, int day, double *out)
{
    static const int days[12] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    if (month < 1 || month > 12 || day < 1 || day > days[month - 1])
        return false;
    /* The year begins in March, so that the day that is not always there is its last. */
    year -= month <= 2;
    month += month > 2 ? -3 : 9;
    *out = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    return true;
}

/* The day of a month: 5, or 5th; or 0. */
static int spell_day(const struct word *w)
{
    char *end;
    int day = char_is_digit(w->lower[0]) ? (int)strtol(w->lower, &end, 10) : 0;

    return day > 0 && w->size < 5 &&
                   (*end == 0 || strcmp(end, "st") == 0 || strcmp(end, "nd") == 0 ||
                    strcmp(end, "rd") == 0 || strcmp(end, "th") == 0)
               ? day
               : 0;
}

static int spell_month(const struct word *w)
{
    for (int i = 0; w->kind == WORD_TEXT && i < 12; i++)
        if (word_among(w, month_names[i]))
            return i + 1;
    return 0;
}

/* How many words are a date, or 0. */
static size_t spell_date_at(const struct word *w, size_t n, struct word *out)
{
    int month = spell_month(&w[0]), day = month ? 0 : spell_day(&w[0]);
    size_t at = 1;
    char text[24];

    for (; at < n && word_among(&w[at], ". , of - the"); at++)
        ;
    if ((month == 0 && day == 0) || at == n)
        return 0;
    if (month)
        day = spell_day(&w[at++]);
    else
        month = spell_month(&w[at++]);
    for (; at < n && word_among(&w[at], ". , -"); at++)
        ;
    if (at == n || w[at].kind != WORD_NUMBER || w[at].size != 4 || !char_is_digit(w[at].lower[0]) ||
        !words_day((int)w[at].number, month, day, &out->number))
        return 0;
    snprintf(text, sizeof text, "%04d-%02d-%02d", (int)w[at].number, month, day);
    word_set(out, str_c(text));
    out->kind = WORD_NUMBER;
    out->from = w[0].from;
    out->to = w[at].to;
    return at + 1;
}

size_t words_join(struct word *w, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0, took; i < n; i += took) {
        struct word date = {0};

        took = spell_date_at(w + i, n - i, &date);
        w[kept++] = took ? date : w[i];
        took = took ? took : 1;
    }
    return kept;
}
