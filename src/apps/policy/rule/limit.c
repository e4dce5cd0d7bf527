/* limit.c - limits in words: comparisons, ranges, multiples of other facts. See reader.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/reader.h"

#include <math.h>

#define PERSON_AGE_LEAST 11
#define PERSON_AGE_MOST 100

enum compare { GE, GT, LE, LT, EQ, BETWEEN };
enum { OF_AGE = 1, OF_DATE = 2 };

/* The longer of two that begin alike comes first. */
static const struct {
    const char *words;
    enum compare by;
    int of;
} comparisons[] = {
    {"at least", GE, 0},
    {"at most", LE, 0},
    {"not less than", GE, 0},
    {"no less than", GE, 0},
    {"not fewer than", GE, 0},
    {"no fewer than", GE, 0},
    {"not lower than", GE, 0},
    {"no lower than", GE, 0},
    {"no shorter than", GE, 0},
    {"not younger than", GE, OF_AGE},
    {"no younger than", GE, OF_AGE},
    {"not earlier than", GE, OF_DATE},
    {"no earlier than", GE, OF_DATE},
    {"not more than", LE, 0},
    {"no more than", LE, 0},
    {"not greater than", LE, 0},
    {"no greater than", LE, 0},
    {"not higher than", LE, 0},
    {"no higher than", LE, 0},
    {"no longer than", LE, 0},
    {"not older than", LE, OF_AGE},
    {"no older than", LE, OF_AGE},
    {"not later than", LE, OF_DATE},
    {"no later than", LE, OF_DATE},
    {"not over", LE, 0},
    {"not under", GE, 0},
    {"not below", GE, 0},
    {"not above", LE, 0},
    {"not to exceed", LE, 0},
    {"not exceeding", LE, 0},
    {"a minimum of", GE, 0},
    {"minimum of", GE, 0},
    {"a maximum of", LE, 0},
    {"maximum of", LE, 0},
    {"up to", LE, 0},
    {"more than", GT, 0},
    {"greater than or equal to", GE, 0},
    {"greater than", GT, 0},
    {"higher than", GT, 0},
    {"longer than", GT, 0},
    {"older than", GT, OF_AGE},
    {"later than", GT, OF_DATE},
    {"over", GT, 0},
    {"above", GT, 0},
    {"exceeding", GT, 0},
    {"less than or equal to", LE, 0},
    {"less than", LT, 0},
    {"fewer than", LT, 0},
    {"lower than", LT, 0},
    {"shorter than", LT, 0},
    {"younger than", LT, OF_AGE},
    {"earlier than", LT, OF_DATE},
    {"under", LT, 0},
    {"below", LT, 0},
    {"on or before", LE, OF_DATE},
    {"on or after", GE, OF_DATE},
    {"before", LT, OF_DATE},
    {"after", GT, OF_DATE},
    {"by", LE, OF_DATE},
    {"exactly", EQ, 0},
    {"equal to", EQ, 0},
    {"between", BETWEEN, 0},
    {"from", BETWEEN, 0},
    {"in the range", BETWEEN, 0},
    {">=", GE, 0},
    {"<=", LE, 0},
    {">", GT, 0},
    {"<", LT, 0},
};

static bool reader_comparison(struct reader *r, enum compare *by, int *of)
{
    for (size_t i = 0; i < COUNT_OF(comparisons); i++)
        if (reader_take(r, comparisons[i].words)) {
            *by = comparisons[i].by;
            *of = comparisons[i].of;
            return true;
        }
    return false;
}

bool reader_sees_limit(const struct reader *r)
{
    struct reader peek = *r;
    struct quantity q;
    enum compare by;
    int of;

    return reader_comparison(&peek, &by, &of) || quantity_read(r->w + r->at, r->to - r->at, &q) > 0;
}

static bool reader_quantity(struct reader *r, struct quantity *q)
{
    size_t took = quantity_read(r->w + r->at, r->to - r->at, q);

    r->at += took;
    return took > 0;
}

/* "years of age", "years old", "of age" after the number; the year itself is taken already. */
static bool reader_age_words(struct reader *r, const struct quantity *q)
{
    if (q->unit && !unit_is_year(q->unit))
        return q->unit && reader_take(r, "old");
    return reader_take(r, "of age") || (q->unit && reader_take(r, "old"));
}

static void limit_set(struct limit *l, enum compare by, struct quantity q)
{
    if (by == GE || by == GT || by == EQ) {
        l->has_low = true;
        l->low_open = by == GT;
        l->low = q;
    }
    if (by == LE || by == LT || by == EQ) {
        l->has_high = true;
        l->high_open = by == LT;
        l->high = q;
    }
}

/* "4 and 10 weeks", "4 to 10", after "between" or alone. */
static bool reader_range(struct reader *r, const char *joins, struct limit *l)
{
    struct reader start = *r;

    if (!reader_quantity(r, &l->low) || !reader_take_one(r, joins) ||
        !reader_quantity(r, &l->high) || l->low.date != l->high.date) {
        *r = start;
        return false;
    }
    l->has_low = l->has_high = true;
    if (!l->low.unit)
        l->low.unit = l->high.unit;
    l->age = reader_age_words(r, &l->high);
    (void)(reader_take(r, ", inclusive") || reader_take(r, "inclusive"));
    return l->low.unit == l->high.unit && l->low.number <= l->high.number;
}

/* "or older" after a number: where the limit is; false if there is nothing of the kind. */
static bool reader_suffix(struct reader *r, struct limit *l, struct quantity q)
{
    struct reader start = *r;

    if (reader_take_one(r, "or and")) {
        if (reader_take_one(r, "older")) {
            l->age = true;
            limit_set(l, GE, q);
        } else if (reader_take_one(r, "younger")) {
            l->age = true;
            limit_set(l, LE, q);
        } else if (reader_take_one(r, "more higher greater above over longer later up")) {
            limit_set(l, GE, q);
        } else if (reader_take_one(r, "less fewer lower below under shorter earlier")) {
            limit_set(l, LE, q);
        }
        if (l->has_low || l->has_high)
            return true;
    }
    *r = start;
    return false;
}

/* "times the rent", "% of the income", "the rent", "14 days before the departure date". */
static bool reader_relative(struct reader *r, enum compare by, struct limit *l)
{
    struct reader start = *r;
    struct quantity q;

    if (!reader_quantity(r, &q)) {
        q = (struct quantity){.number = 1};
    } else {
        if (unit_is_whole_days(q.unit) && reader_take_one(r, "before after")) {
            l->before = word_is(&r->w[r->at - 1], "before");
            l->offset = true;
        } else if (unit_is_percent(q.unit) && reader_take(r, "of")) {
            q.number /= 100;
        } else if (q.unit || q.date || !reader_take(r, "times")) {
            *r = start;
            return false;
        }
        if (!l->offset)
            q.unit = NULL;
    }
    if (!reader_noun(r, &l->other)) {
        *r = start;
        return false;
    }
    l->relative = true;
    limit_set(l, by, q);
    return true;
}

/* After a comparison that is no range. */
static bool reader_compared(struct reader *r, enum compare by, int of, struct limit *l)
{
    struct quantity q;

    if (reader_take(r, "the age of"))
        l->age = true;
    else if (reader_relative(r, by, l))
        return true;
    if (!reader_quantity(r, &q))
        return false;
    l->age = reader_age_words(r, &q) || l->age || (of == OF_AGE);
    if ((of == OF_DATE) != q.date && of == OF_DATE)
        return false;
    limit_set(l, by, q);
    return true;
}

static bool reader_one_limit(struct reader *r, struct limit *l)
{
    struct quantity q;
    enum compare by;
    int of;

    if (reader_comparison(r, &by, &of)) {
        if (by == BETWEEN)
            return reader_range(r, "and to through -", l);
        return reader_compared(r, by, of, l);
    }
    if (reader_range(r, "to through -", l))
        return true;
    *l = (struct limit){0};
    if (!reader_quantity(r, &q))
        return false;
    l->age = reader_age_words(r, &q);
    if (reader_suffix(r, l, q))
        return true;
    limit_set(l, EQ, q);
    l->bare = true;
    return true;
}

/* "at least 2 and at most 8": both on one side is no range. */
static bool limit_narrow(struct limit *l, const struct limit *more)
{
    if (more->bare || more->relative || l->relative || l->bare ||
        (l->has_low && (l->has_high || more->has_low)) || (l->has_high && more->has_high))
        return false;
    if (more->has_low) {
        l->has_low = true;
        l->low_open = more->low_open;
        l->low = more->low;
    }
    if (more->has_high) {
        l->has_high = true;
        l->high_open = more->high_open;
        l->high = more->high;
    }
    l->low.unit = l->low.unit ? l->low.unit : l->high.unit;
    l->high.unit = l->high.unit ? l->high.unit : l->low.unit;
    return l->low.unit == l->high.unit && l->low.number <= l->high.number;
}

bool reader_limit(struct reader *r, struct limit *out)
{
    struct reader start = *r, more;
    struct limit next = {0};
    enum compare by;
    int of;

    *out = (struct limit){0};
    if (!reader_one_limit(r, out)) {
        *r = start;
        return false;
    }
    more = *r;
    if (!reader_take_one(&more, "and but"))
        return true;
    start = more;
    if (!reader_comparison(&more, &by, &of))
        return true;
    more = start;
    if (!reader_one_limit(&more, &next) || !limit_narrow(out, &next))
        return true; /* the words that are left make it not understood */
    *r = more;
    return true;
}

bool reader_exceeds(struct reader *r, struct limit *out)
{
    *out = (struct limit){0};
    if (reader_relative(r, GT, out))
        return true;
    if (!reader_limit(r, out) || !out->bare)
        return false;
    out->bare = out->has_high = false;
    out->low_open = true;
    return true;
}

/* "Members must be at least 18" speaks of an age, "members must be at least 20" need not: that may
 * be their number. */
static bool limit_is_age_of(const struct word *person, double number)
{
    static const double ages[] = {14, 16, 17, 18, 21, 25, 55, 60, 62, 65, 67, 70, 75};

    if (person->lower[person->size - 1] != 's' && !word_is(person, "people"))
        return number > PERSON_AGE_LEAST && number < PERSON_AGE_MOST;
    for (size_t i = 0; i < COUNT_OF(ages); i++)
        if (fabs(number - ages[i]) < 0.5)
            return true;
    return false;
}

/* A person's limit is an age, if it says so or can be nothing else. */
bool test_fits(struct test *t)
{
    struct limit *l = &t->limit;
    const struct quantity *q = l->has_low ? &l->low : &l->high;

    if (noun_is_person(&t->noun) && !l->relative && !l->age) {
        if ((q->unit && !unit_is_year(q->unit)) || q->date ||
            (!q->unit && !limit_is_age_of(t->noun.words[0], q->number)))
            return false;
        l->age = true;
    }
    for (size_t i = 0; i < t->noun.n; i++)
        if (word_is(t->noun.words[i], "age")) {
            l->age = !q->unit || unit_is_year(q->unit);
            return true;
        }
    if (l->age)
        t->noun.also = "age";
    return true;
}

bool test_is_ambiguous(const struct test *t)
{
    const struct quantity *q = t->limit.has_low ? &t->limit.low : &t->limit.high;

    return !t->limit.age && !t->limit.relative && !unit_is_money(q->unit) && !q->date &&
           t->noun.n == 1 && word_is_plural(t->noun.words[0]);
}
