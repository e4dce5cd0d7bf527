/* bound.c - numbers that bound something. See bound.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/bound.h"

#include "apps/policy/fact.h"

#include <math.h>

/* What a number behind it only names. */
#define NUMBERED "section sections page pages table step chapter appendix item form article part"

enum op { OP_NONE, OP_GE, OP_GT, OP_LE, OP_LT, OP_EQ, OP_WITHIN };

/* What stands before the number, longest first. */
static const struct {
    const char *words;
    enum op op;
} before_rows[] = {
    {"no less than", OP_GE},
    {"not less than", OP_GE},
    {"no fewer than", OP_GE},
    {"not fewer than", OP_GE},
    {"greater than or equal to", OP_GE},
    {"equal to or greater than", OP_GE},
    {"less than or equal to", OP_LE},
    {"equal to or less than", OP_LE},
    {"a minimum of", OP_GE},
    {"minimum of", OP_GE},
    {"at least", OP_GE},
    {"at minimum", OP_GE},
    {"minimum", OP_GE},
    {"min", OP_GE},
    {"no more than", OP_LE},
    {"not more than", OP_LE},
    {"no greater than", OP_LE},
    {"not greater than", OP_LE},
    {"no older than", OP_LE},
    {"not older than", OP_LE},
    {"no younger than", OP_GE},
    {"not exceed", OP_LE},
    {"not exceeding", OP_LE},
    {"cannot exceed", OP_LE},
    {"not to exceed", OP_LE},
    {"never exceed", OP_LE},
    {"no later than", OP_LE},
    {"no longer than", OP_LE},
    {"not longer than", OP_LE},
    {"no earlier than", OP_GE},
    {"not over", OP_LE},
    {"a maximum of", OP_LE},
    {"maximum of", OP_LE},
    {"at most", OP_LE},
    {"maximum", OP_LE},
    {"max", OP_LE},
    {"up to", OP_LE},
    {"limited to", OP_LE},
    {"limit of", OP_LE},
    {"not above", OP_LE},
    {"within the last", OP_WITHIN},
    {"within the past", OP_WITHIN},
    {"within the first", OP_WITHIN},
    {"within", OP_WITHIN},
    {"in the last", OP_WITHIN},
    {"in the past", OP_WITHIN},
    {"more than", OP_GT},
    {"greater than", OP_GT},
    {"longer than", OP_GT},
    {"older than", OP_GT},
    {"higher than", OP_GT},
    {"over", OP_GT},
    {"above", OP_GT},
    {"equal or exceed", OP_GE},
    {"equals or exceeds", OP_GE},
    {"meet or exceed", OP_GE},
    {"meets or exceeds", OP_GE},
    {"exceeds", OP_GT},
    {"exceeding", OP_GT},
    {"exceed", OP_GT},
    {"less than", OP_LT},
    {"fewer than", OP_LT},
    {"lower than", OP_LT},
    {"younger than", OP_LT},
    {"shorter than", OP_LT},
    {"under", OP_LT},
    {"below", OP_LT},
    {"exactly", OP_EQ},
    {"equal to", OP_EQ},
    {">=", OP_GE},
    {"<=", OP_LE},
    {">", OP_GT},
    {"<", OP_LT},
    {"=", OP_EQ},
};

/* What stands behind it, perhaps with its unit between. */
static const struct {
    const char *words;
    enum op op;
} behind_rows[] = {
    {"or older", OP_GE},    {"and older", OP_GE},  {"or more", OP_GE},   {"and more", OP_GE},
    {"or above", OP_GE},    {"and above", OP_GE},  {"or over", OP_GE},   {"and over", OP_GE},
    {"or greater", OP_GE},  {"or higher", OP_GE},  {"or longer", OP_GE}, {"or later", OP_GE},
    {"or up", OP_GE},       {"and up", OP_GE},     {"or better", OP_GE}, {"or younger", OP_LE},
    {"and younger", OP_LE}, {"or less", OP_LE},    {"or fewer", OP_LE},  {"or below", OP_LE},
    {"and below", OP_LE},   {"or under", OP_LE},   {"and under", OP_LE}, {"or lower", OP_LE},
    {"or shorter", OP_LE},  {"or earlier", OP_LE}, {"minimum", OP_GE},   {"maximum", OP_LE},
    {"at least", OP_GE},    {"at most", OP_LE},    {"+", OP_GE},
};

/* Before a date alone: "after 6 weeks" compares nothing. */
static const struct {
    const char *words;
    enum op op;
} date_rows[] = {
    {"on or before", OP_LE},
    {"on or after", OP_GE},
    {"before", OP_LT},
    {"after", OP_GT},
    {"by", OP_LE},
    {"until", OP_LE},
    {"through", OP_LE},
    {"since", OP_GE},
    {"from", OP_GE},
    {"prior to", OP_LT},
    {"later than", OP_GT},
    {"earlier than", OP_LT},
};

/* What a row begins with. */
#define FIRSTS                                                                                     \
    "no not greater equal equals meet meets less a minimum at cannot never maximum up limited "    \
    "limit more longer older higher above exceeds exceeding exceed fewer lower younger shorter "   \
    "below >= <= > < = on before after by until through since from prior later earlier exactly"

/* How many words of a row end at `end`, or 0. */
static size_t ends_with(const struct word *w, size_t from, size_t end, const char *words)
{
    const char *tail = words + strlen(words);
    size_t n = 0;

    while (tail > words) {
        const char *head = tail;
        size_t k;

        while (head > words && head[-1] != ' ')
            head--;
        k = (size_t)(tail - head);
        if (end - n == from || strlen(w[end - n - 1].lower) != k ||
            memcmp(w[end - n - 1].lower, head, k) != 0)
            return 0;
        n++;
        tail = head > words ? head - 1 : head;
    }
    return n;
}

static size_t begins_with(const struct word *w, size_t from, size_t to, const char *words)
{
    size_t n = 0;

    for (const char *p = words; *p;) {
        size_t k = strcspn(p, " ");

        if (from + n == to || strlen(w[from + n].lower) != k ||
            memcmp(w[from + n].lower, p, k) != 0)
            return 0;
        n++;
        p += k + (p[k] == ' ');
    }
    return n;
}

/* "The maximum stay is 10 days": as long as no other number is between. */
static enum op op_adjective(const struct word *w, size_t from, size_t at, size_t *begin)
{
    for (size_t i = at; i > from && i + 7 > at; i--) {
        if (w[i - 1].kind == WORD_NUMBER || word_among(&w[i - 1], ", ; and or"))
            break;
        if (word_among(&w[i - 1], "minimum min maximum max")) {
            *begin = i - 1;
            return w[i - 1].lower[1] == 'i' ? OP_GE : OP_LE;
        }
    }
    return OP_NONE;
}

static enum op op_before(const struct word *w, size_t from, size_t at, size_t *begin)
{
    size_t end = at;

    for (size_t i = 0; word_dates(&w[at]) && i < COUNT_OF(date_rows); i++) {
        size_t n = ends_with(w, from, at, date_rows[i].words);

        if (n > 0 && !(at - n > from && word_among(&w[at - n - 1], "no not"))) {
            *begin = at - n;
            return date_rows[i].op;
        }
    }
    while (end > from && word_among(&w[end - 1], "$ ( : the an a of age is ages aged be"))
        end--;
    for (size_t tries = 0; tries < 2; tries++) {
        for (size_t i = 0; i < COUNT_OF(before_rows); i++) {
            size_t n = ends_with(w, from, tries ? at : end, before_rows[i].words);

            if (n > 0) {
                *begin = (tries ? at : end) - n;
                return before_rows[i].op;
            }
        }
        if (at > from && word_is(&w[at - 1], "("))
            at--; /* "six (6)" has its comparison before the first of them */
    }
    return op_adjective(w, from, at, begin);
}

static enum op op_behind(const struct word *w, size_t at, size_t to, size_t *end)
{
    for (size_t i = at; i < to && i < at + 5; i++) {
        for (size_t k = 0; k < COUNT_OF(behind_rows); k++) {
            size_t n = begins_with(w, i, to, behind_rows[k].words);

            if (n > 0 && (i == at || behind_rows[k].op != OP_NONE)) {
                *end = i + n;
                return behind_rows[k].op;
            }
        }
        if (w[i].kind == WORD_NUMBER || (w[i].kind == WORD_MARK && !word_among(&w[i], ") (")))
            break;
    }
    return OP_NONE;
}

static void policy_bound_set(struct bound *b, enum op op, double v)
{
    b->low = -INFINITY;
    b->high = INFINITY;
    b->over = op == OP_GT;
    b->under = op == OP_LT;
    b->condition = op == OP_WITHIN;
    b->bare = op == OP_NONE;
    if (op == OP_GE || op == OP_GT || op == OP_EQ || op == OP_NONE)
        b->low = v;
    if (op == OP_LE || op == OP_LT || op == OP_EQ || op == OP_NONE || op == OP_WITHIN)
        b->high = v;
}

static const char *unit_near(const struct word *w, size_t from, size_t at, size_t to)
{
    if (word_dates(&w[at]))
        return "date";
    if (at > from && word_is(&w[at - 1], "$"))
        return "dollar";
    for (size_t i = at + 1; i < to && i < at + 5; i++) {
        if (unit_of(&w[i]))
            return unit_of(&w[i]);
        if (w[i].kind == WORD_NUMBER || !word_among(&w[i],
                                                    "( ) - business calendar consecutive full "
                                                    "complete working"))
            break;
    }
    return NULL;
}

static bool each_behind(const struct word *w, size_t at, size_t to)
{
    for (size_t i = at + 1; i < to && i < at + 8; i++) {
        if (word_among(&w[i], "each per every"))
            return true;
        if (w[i].kind == WORD_NUMBER || word_among(&w[i], ", ; ."))
            return false;
    }
    return false;
}

/* "between A and B", "from A to B", "A to B", "A-B". */
static bool range_at(const struct word *w, size_t from, size_t at, size_t to, struct bound *b)
{
    size_t second = at + 2;

    if (at + 1 < to && unit_of(&w[at + 1]))
        second++; /* between 2 weeks and 4 weeks */
    if (second >= to || w[second].kind != WORD_NUMBER)
        return false;
    if (at > from && word_is(&w[at - 1], "between") && word_is(&w[second - 1], "and"))
        b->from = at - 1;
    else if (word_among(&w[second - 1], "to through") ||
             (second == at + 2 && word_is(&w[at + 1], "-")))
        b->from = at;
    else
        return false;
    policy_bound_set(b, OP_EQ, w[at].number);
    b->high = w[second].number;
    if (b->high < b->low)
        return false;
    b->at = second;
    b->to = second + 1;
    return true;
}

static bool bound_at(const struct word *w, size_t from, size_t at, size_t to, struct bound *b)
{
    enum op op, behind = OP_NONE;

    *b = (struct bound){.from = at, .at = at, .to = at + 1};
    if (!range_at(w, from, at, to, b)) {
        size_t begin = at, end = at + 1;

        op = op_before(w, from, at, &begin);
        behind = op_behind(w, at + 1, to, &end);
        /* "at least one of" is a list's, no number's. */
        if (op != OP_NONE)
            b->from = begin;
        else
            op = behind;
        if (behind != OP_NONE)
            b->to = end;
        policy_bound_set(b, op, w[at].number);
    }
    b->unit = unit_near(w, from, b->at, to);
    b->each = each_behind(w, b->at, to);
    return true;
}

/* "one of", "one or more of": how many of a list, not how much of something. */
static bool counts_list(const struct word *w, size_t at, size_t to)
{
    return at + 1 < to && (word_is(&w[at + 1], "of") ||
                           (at + 3 < to && word_is(&w[at + 1], "or") && word_is(&w[at + 3], "of")));
}

static bool only_low(const struct bound *b)
{
    return isfinite(b->low) && !isfinite(b->high);
}

static bool only_high(const struct bound *b)
{
    return isfinite(b->high) && !isfinite(b->low) && !b->condition;
}

/* "at least 2 and at most 8", "over 18 but under 65 years": one is the low end of what the other is
 * the high end of, if nothing else is between. */
static bool one_range(const struct word *w, struct bound *first, const struct bound *second)
{
    const struct bound *low = only_low(first) ? first : second,
                       *high = low == first ? second : first;
    bool joined = false;

    if (!only_low(low) || !only_high(high) || low->low > high->high || second->from <= first->at ||
        (first->unit && second->unit && strcmp(first->unit, second->unit) != 0))
        return false;
    for (size_t i = first->at + 1; i < second->from; i++) {
        if (!word_among(&w[i], "and but , yet old of age ( )") && !unit_of(&w[i]))
            return false;
        joined = joined || word_among(&w[i], "and but , yet");
    }
    if (!joined)
        return false;
    *first = (struct bound){.low = low->low,
                            .high = high->high,
                            .over = low->over,
                            .under = high->under,
                            .each = first->each || second->each,
                            .from = first->from,
                            .at = second->at,
                            .to = second->to,
                            .unit = second->unit ? second->unit : first->unit};
    return true;
}

size_t bounds_of(const struct word *w, size_t from, size_t to, struct bound out[BOUNDS_MAX])
{
    size_t n = 0;

    for (size_t i = from; i < to && n < BOUNDS_MAX; i++) {
        /* "six (6)": once is enough. */
        bool again = i > from + 1 && word_is(&w[i - 1], "(") && n > 0 && out[n - 1].at == i - 2 &&
                     w[i - 2].kind == WORD_NUMBER;

        if (w[i].kind != WORD_NUMBER || counts_list(w, i, to) ||
            (i > from && word_is(&w[i], "one") && word_among(&w[i - 1], "no any every")) ||
            (i > from && word_among(&w[i - 1], NUMBERED)))
            continue;
        if (again) {
            out[n - 1].unit = unit_near(w, from, i, to);
            continue;
        }
        if (bound_at(w, from, i, to, &out[n])) {
            i = out[n].at;
            if (n == 0 || !one_range(w, &out[n - 1], &out[n]))
                n++;
        }
    }
    return n;
}

size_t bound_relation(const struct word *w, size_t at, size_t to, bool date, struct bound *b)
{
    *b = (struct bound){.from = at};
    if (!word_among(&w[at], FIRSTS))
        return 0;
    for (size_t i = 0; date && i < COUNT_OF(date_rows); i++) {
        size_t n = begins_with(w, at, to, date_rows[i].words);

        if (n > 0) {
            policy_bound_set(b, date_rows[i].op, 0);
            return n;
        }
    }
    for (size_t i = 0; i < COUNT_OF(before_rows); i++) {
        size_t n = begins_with(w, at, to, before_rows[i].words);

        /* Single words are prepositions as often: "over the phone". */
        if (n == 0 || before_rows[i].op == OP_WITHIN ||
            (n == 1 && !word_among(&w[at], "exceed exceeds exceeding above below >= <= > < =")))
            continue;
        policy_bound_set(b, before_rows[i].op, 0);
        return n;
    }
    return 0;
}

static bool is_calendar(const char *unit)
{
    return strcmp(unit, "month") == 0 || strcmp(unit, "year") == 0;
}

/* A month is 30 or 31 days and a year 365 or 366: n of them are as many days as that can be. */
static void days_of(double n, const char *unit, double *least, double *most)
{
    bool month = strcmp(unit, "month") == 0, long_ = !month || fabs(n) >= 12;
    double low = month ? n / 12 : n, high = low;

    *least = long_ ? low * 365 : n * 30;
    *most = long_ ? high * 366 : n * 31;
}

/* Below, at or above a limit: -1, 0, 1. */
static int against(double number, const char *unit, double limit, const char *limit_unit)
{
    double to_days = unit_days(unit), of_days = unit_days(limit_unit), slack = 1e-6;

    if (to_days > 0 && of_days > 0 && is_calendar(unit) != is_calendar(limit_unit)) {
        bool mine = is_calendar(unit);
        double least, most, days = mine ? limit * of_days : number * to_days;

        days_of(mine ? number : limit, mine ? unit : limit_unit, &least, &most);
        if (days >= least * (1 - slack) && days <= most * (1 + slack))
            return 0;
        return (days > most) != mine ? 1 : -1;
    }
    if (to_days > 0 && of_days > 0)
        number *= to_days / of_days;
    /* What was converted is not exact: six weeks are 42 days. */
    if (fabs(number - limit) <= slack * fabs(number))
        return 0;
    return number > limit ? 1 : -1;
}

bool bound_holds(const struct bound *b, double number, const char *unit)
{
    double limit = isfinite(b->high) ? b->high : b->low;
    int low = 1, high = -1;

    /* 0.85 where 80 % is meant. */
    if (b->unit && !unit && strcmp(b->unit, "percent") == 0 && limit >= 10 && number > 0 &&
        number < 1)
        number *= 100;
    if (isfinite(b->low))
        low = against(number, unit, b->low, b->unit);
    if (isfinite(b->high))
        high = against(number, unit, b->high, b->unit);
    return (low > 0 || (low == 0 && !b->over)) && (high < 0 || (high == 0 && !b->under));
}

void bound_say(const struct bound *b, char out[80])
{
    double last = isfinite(b->high) ? b->high : b->low;
    bool many = b->unit && last != 1 && strlen(b->unit) > 2 && strcmp(b->unit, "percent") != 0;
    char unit[24];

    snprintf(
        unit, sizeof unit, "%s%s%s", b->unit ? " " : "", b->unit ? b->unit : "", many ? "s" : "");

    if (b->unit && strcmp(b->unit, "date") == 0)
        snprintf(out,
                 80,
                 "%s the day it names",
                 !isfinite(b->low)    ? b->under ? "before" : "by"
                 : !isfinite(b->high) ? b->over ? "after" : "from"
                                      : "between the days, or on");
    else if (isfinite(b->low) && isfinite(b->high) && b->low < b->high)
        snprintf(out,
                 80,
                 "%s %g %s %g%s",
                 b->over ? "more than" : "from",
                 b->low,
                 b->under ? "and less than" : "to",
                 b->high,
                 unit);
    else if (isfinite(b->low) && isfinite(b->high))
        snprintf(out, 80, "%g%s", b->low, unit);
    else if (isfinite(b->low))
        snprintf(out, 80, "%s %g%s", b->over ? "more than" : "at least", b->low, unit);
    else
        snprintf(out, 80, "%s %g%s", b->under ? "less than" : "at most", b->high, unit);
}
