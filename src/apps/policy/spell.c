/* spell.c - words that are one number together: "twenty-four", "1.2 million", "March 5, 2026".
 *
 * A date becomes the number of its day, written as 2026-03-05, however it was written. Of dates in
 * figures alone, 2026/03/05 and 15.03.2026 say their order, and so does 03/15/2026; 03/05/2026 does
 * not and is no date.
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

/* ---- dates ---- */

/* Digits of at most so many, and of at least one. */
static bool digits_of(const struct word *w, size_t least, size_t most, int *out)
{
    size_t n = 0;

    *out = 0;
    while (char_is_digit(w->lower[n]) && n < most)
        *out = *out * 10 + (w->lower[n++] - '0');
    return w->kind == WORD_NUMBER && n >= least && w->lower[n] == 0;
}

/* 5, or 5th. */
static bool day_of(const struct word *w, int *out)
{
    char *end;

    if (digits_of(w, 1, 2, out))
        return true;
    if (w->kind != WORD_TEXT || !char_is_digit(w->lower[0]))
        return false;
    *out = (int)strtol(w->lower, &end, 10);
    return strcmp(end, "st") == 0 || strcmp(end, "nd") == 0 || strcmp(end, "rd") == 0 ||
           strcmp(end, "th") == 0;
}

static bool month_of(const struct word *w, int *out)
{
    for (int i = 0; w->kind == WORD_TEXT && i < 12; i++)
        if (word_among(w, month_names[i])) {
            *out = i + 1;
            return true;
        }
    return false;
}

static size_t skip(const struct word *w, size_t n, size_t at, const char *marks)
{
    return at < n && word_among(&w[at], marks) ? at + 1 : at;
}

/* March 5, 2026; 5th of March 2026: how many words, or 0. */
static size_t named_date(const struct word *w, size_t n, int ymd[3])
{
    size_t at = 1;

    if (month_of(&w[0], &ymd[1])) {
        at = skip(w, n, at, ".");
        at = skip(w, n, at, "the");
        if (at == n || !day_of(&w[at++], &ymd[2]))
            return 0;
    } else if (day_of(&w[0], &ymd[2])) {
        at = skip(w, n, at, "of -");
        if (at == n || !month_of(&w[at++], &ymd[1]))
            return 0;
        at = skip(w, n, at, ". -");
    } else {
        return 0;
    }
    at = skip(w, n, at, ",");
    return at < n && digits_of(&w[at], 4, 4, &ymd[0]) ? at + 1 : 0;
}

/* Words that touch, so that "1 / 2 / 2026" is a sum. */
static bool touch(const struct word *w, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (w[i].from != w[i - 1].to)
            return false;
    return true;
}

static size_t slashed_date(const struct word *w, size_t n, int ymd[3])
{
    if (n < 5 || !word_is(&w[1], "/") || !word_is(&w[3], "/") || !touch(w, 5))
        return 0;
    if (digits_of(&w[0], 4, 4, &ymd[0]))
        return digits_of(&w[2], 1, 2, &ymd[1]) && digits_of(&w[4], 1, 2, &ymd[2]) ? 5 : 0;
    if (!digits_of(&w[0], 1, 2, &ymd[1]) || !digits_of(&w[2], 1, 2, &ymd[2]) ||
        !digits_of(&w[4], 4, 4, &ymd[0]))
        return 0;
    if (ymd[1] <= 12 && ymd[2] <= 12 && ymd[1] != ymd[2])
        return 0; /* which is the month? */
    if (ymd[1] > 12) {
        int day = ymd[1];

        ymd[1] = ymd[2];
        ymd[2] = day;
    }
    return 5;
}

/* 15.03.2026, which was read as 15.03 and 2026. */
static size_t dotted_date(const struct word *w, size_t n, int ymd[3])
{
    char *end;

    if (n < 3 || w[0].kind != WORD_NUMBER || !word_is(&w[1], ".") || !touch(w, 3) ||
        !digits_of(&w[2], 4, 4, &ymd[0]) || !char_is_digit(w[0].lower[0]) || w[0].size > 5)
        return 0;
    ymd[2] = (int)strtol(w[0].lower, &end, 10);
    if (*end != '.')
        return 0;
    ymd[1] = (int)strtol(end + 1, &end, 10);
    return *end == 0 && (ymd[2] > 12 || ymd[1] == ymd[2]) ? 3 : 0; /* else: which is the month? */
}

static size_t policy_spell_date_at(const struct word *w, size_t n, struct word *out)
{
    int ymd[3];
    size_t took = named_date(w, n, ymd);
    char text[24];
    double day;

    if (took == 0)
        took = slashed_date(w, n, ymd);
    if (took == 0)
        took = dotted_date(w, n, ymd);
    if (took == 0 || !words_day(ymd[0], ymd[1], ymd[2], &day))
        return 0;
    snprintf(text, sizeof text, "%04d-%02d-%02d", ymd[0], ymd[1], ymd[2]);
    word_set(out, str_c(text));
    out->kind = WORD_NUMBER;
    out->number = day;
    out->from = w[0].from;
    out->to = w[took - 1].to;
    return took;
}

/* ---- numbers ---- */

static bool is_spelled(const struct word *w)
{
    return w->kind == WORD_NUMBER && w->lower[0] >= 'a';
}

static bool scales(const struct word *w)
{
    return is_spelled(w) && w->number >= 1000;
}

/* Adds one more word to a number; false if the word begins another number. */
static bool add_spelled(double *total, double *part, double v)
{
    double ones = *part - 100 * (double)(long)(*part / 100), tens = ones / 10;

    if (v >= 1000 && *part > 0 && (*total <= 0 || *total > v)) {
        *total += *part * v;
        *part = 0;
    } else if (v >= 100 && v < 1000 && *part > 0 && *part < 10) {
        *part *= v;
    } else if (v > 0 && v < 100 && ((*part >= 100 && ones <= 0) || (*part <= 0 && *total > 0))) {
        *part += v;
    } else if (v > 0 && v < 10 && ones >= 20 && tens <= (double)(long)tens) {
        *part += v;
    } else {
        return false;
    }
    return true;
}

/* "one hundred and fifty": but not "between one hundred and two hundred". */
static size_t spelled_at(const struct word *w, size_t n, bool between, struct word *out)
{
    double total = 0, part = w[0].number;
    size_t took = 1, at = 1;

    if (!is_spelled(&w[0]))
        return 0;
    for (; at < n; at++) {
        bool more = at + 1 < n && is_spelled(&w[at + 1]);

        if (more && (word_is(&w[at], "-") || (word_is(&w[at], "and") && !between &&
                                              (part >= 100 || (total > 0 && part <= 0)))))
            at++;
        if (!is_spelled(&w[at]) || !add_spelled(&total, &part, w[at].number))
            break;
        took = at + 1;
    }
    if (took == 1)
        return 0;
    *out = w[0];
    out->number = total + part;
    out->to = w[took - 1].to;
    return took;
}

/* "1.2 million", "minus 10": or 0. */
static size_t scaled_at(const struct word *w, size_t n, struct word *out)
{
    if (n < 2 || w[1].kind != WORD_NUMBER)
        return 0;
    if (word_is(&w[0], "minus")) {
        *out = w[1];
        out->number = -w[1].number;
    } else if (w[0].kind == WORD_NUMBER && char_is_digit(w[0].lower[0]) && scales(&w[1])) {
        *out = w[0];
        out->number = w[0].number * w[1].number;
    } else {
        return 0;
    }
    out->from = w[0].from;
    out->to = w[1].to;
    return 2;
}

size_t words_join(struct word *w, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0, took; i < n; i += took) {
        bool between = i > 0 && word_among(&w[i - 1], "between from");
        struct word whole = {0};

        took = policy_spell_date_at(w + i, n - i, &whole);
        if (took == 0)
            took = spelled_at(w + i, n - i, between, &whole);
        if (took == 0)
            took = scaled_at(w + i, n - i, &whole);
        w[kept++] = took ? whole : w[i];
        took = took ? took : 1;
    }
    return kept;
}
