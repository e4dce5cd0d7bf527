/* reader.c - nouns, values and limits. See reader.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/reader.h"

/* Words that have a meaning of their own in the grammar: no noun and no value has one. */
#define RESERVED                                                                                   \
    "must shall may can cannot can't should will would might could not no nor neither never "      \
    "without unless except excluding if when whenever where whereas while only or and but than "   \
    "at least most more less fewer over under above below between within before after by until "   \
    "till since is are be been being was were has have had having do does did don't doesn't "      \
    "isn't aren't mustn't won't all any each every either both none some who which whose that "    \
    "this these those it they he she we you i such same other another otherwise instead however "  \
    "exceed exceeds exceeding require requires required need needs needed include includes "       \
    "contain contains exempt waived times twice half double triple third quarter up about around " \
    "approximately nearly almost as with whether because due then else also too very so equal "    \
    "exactly older younger longer shorter higher lower greater later earlier aged plus minus "     \
    "combined regardless notwithstanding subject provided via using hundred thousand million"
#define ARTICLES "a an the its their his her your our"

/* Whether a word is one of n bytes of alternatives: "is/are". */
static bool reader_word_is(const struct word *w, const char *p, size_t n)
{
    for (size_t from = 0, to; from < n; from = to + 1) {
        to = from + strcspn(p + from, "/ ");
        if (w->size == to - from && memcmp(w->lower, p + from, w->size) == 0)
            return true;
    }
    return false;
}

bool reader_take(struct reader *r, const char *words)
{
    size_t at = r->at;

    assert(at <= r->to);

    for (const char *p = words; *p;) {
        size_t n = strcspn(p, " ");

        if (at == r->to || !reader_word_is(&r->w[at], p, n))
            return false;
        at++;
        p += n + (p[n] == ' ');
    }
    r->at = at;
    return true;
}

/* Whether a dash joins two words: "loan-to-value". */
static bool reader_touches(const struct reader *r, size_t at)
{
    assert(at < r->to);
    return word_is(&r->w[at], "-") && at > 0 && at + 1 < r->to &&
           r->w[at - 1].to == r->w[at].from && r->w[at].to == r->w[at + 1].from;
}

bool reader_noun(struct reader *r, struct noun *out)
{
    const struct word *last = NULL;
    size_t place = 0;

    *out = (struct noun){0};
    for (size_t at = r->at; at < r->to; at++) {
        const struct word *w = &r->w[at];

        if (w->kind == WORD_MARK ? !reader_touches(r, at)
            : w->kind == WORD_NUMBER
                ? !last || !word_among(last, "last past previous first next") || word_dates(w)
                : word_among(w, RESERVED))
            break;
        if (word_is(w, "of"))
            place = 0; /* "the purpose of imaging" is the imaging purpose */
        if (w->kind == WORD_MARK || word_among(w, ARTICLES))
            continue;
        if (word_among(w, "of in on for from to per") && !last)
            break;
        if (word_among(w, "of in on for from"))
            continue;
        if (!noun_insert(out, place++, w))
            return false;
        r->mixed = r->mixed || (r->person && word_names_person(w) && !word_same(r->person, w));
        r->person = r->person || !word_names_person(w) ? r->person : w;
        last = w;
        r->at = at + 1;
    }
    if (out->n == 0 || word_among(last, "to per"))
        return false;
    assert(r->at <= r->to);
    noun_finish(out);
    return true;
}

/* ---- values ---- */

bool reader_value(struct reader *r, struct test *t)
{
    size_t from;

    assert(t->value_n <= RULE_VALUES_MAX);
    while (reader_take(r, "a/an/the"))
        ;
    for (from = r->at; !reader_done(r); r->at++) {
        const struct word *w = &r->w[r->at];

        if (w->kind == WORD_MARK ? !reader_touches(r, r->at) : word_among(w, RESERVED))
            break;
    }
    if (r->at == from || t->value_n == RULE_VALUES_MAX)
        return false;
    t->values[t->value_n++] = (struct phrase){r->w + from, r->at - from};
    return true;
}

bool reader_values(struct reader *r, struct test *t, bool *wants_items)
{
    bool listed = reader_take(r, "one/any/either of") || reader_take(r, "either");
    bool and_ = false, or_ = false, closed, more;

    (void)(listed && reader_take(r, "the following"));
    (void)(listed && reader_take(r, ":"));
    if (listed && reader_done(r)) {
        *wants_items = true;
        return true;
    }
    closed = listed && reader_take(r, "(");
    do {
        if (!reader_value(r, t))
            return false;
        more = reader_take(r, ",");
        if (reader_take(r, "or"))
            or_ = more = true;
        else if (reader_take(r, "and"))
            and_ = more = true;
    } while (more);
    return (!closed || reader_take(r, ")")) && !(and_ && (or_ || !listed)) &&
           (listed || or_ || t->value_n == 1);
}

/* ---- limits: comparisons, ranges, multiples of other facts ---- */

enum compare { NONE, GE, GT, LE, LT, EQ, BETWEEN };

/* The longer of two that begin alike comes first. The last two follow a number: "18 or older". */
static const struct {
    const char *words;
    enum compare by;
} comparisons[] = {
    {"at least", GE},
    {"at most", LE},
    {"no/not less/fewer/lower/shorter/younger/earlier than", GE},
    {"no/not more/greater/higher/longer/older/later than", LE},
    {"not under/below", GE},
    {"not over/above/exceeding", LE},
    {"a minimum of", GE},
    {"a maximum of", LE},
    {"up to", LE},
    {"greater than or equal to", GE},
    {"less than or equal to", LE},
    {"more/greater/higher/longer/older/later than", GT},
    {"less/fewer/lower/shorter/younger/earlier than", LT},
    {"over/above/exceed/exceeds/exceeding/after", GT},
    {"under/below/before", LT},
    {"on or before", LE},
    {"on or after", GE},
    {"by", LE},
    {"exactly", EQ},
    {"between/from", BETWEEN},
    {">=", GE},
    {"<=", LE},
    {">", GT},
    {"<", LT},
    {"or/and more/higher/greater/above/over/longer/later/older", GE},
    {"or/and less/fewer/lower/below/under/shorter/earlier/younger", LE},
};
#define AFTER_NUMBER (COUNT_OF(comparisons) - 2)

static bool reader_quantity(struct reader *r, struct quantity *q)
{
    size_t took = quantity_read(r->w + r->at, r->to - r->at, q);

    assert(took <= r->to - r->at);
    r->at += took;
    return took > 0;
}

/* "years of age", "years old", "of age" after the number; the year itself is taken already. */
static bool reader_age_words(struct reader *r, const struct quantity *q)
{
    return reader_take(r, "of age") || (q->unit && reader_take(r, "old"));
}

static void limit_set(struct limit *l, enum compare by, struct quantity q)
{
    assert(by != BETWEEN); /* reader_range sets both bounds itself */
    if (by != LE && by != LT)
        l->low = (struct bound){true, by == GT, q};
    if (by != GE && by != GT)
        l->high = (struct bound){true, by == LT, q};
}

/* Both bounds of a range have the unit of either. */
static bool limit_share_unit(struct limit *l)
{
    struct quantity *low = &l->low.q, *high = &l->high.q;

    low->unit = low->unit ? low->unit : high->unit;
    high->unit = high->unit ? high->unit : low->unit;
    return low->unit == high->unit && low->date == high->date && low->number <= high->number;
}

/* "4 and 10 weeks", "4 to 10", after "between" or alone. */
static bool reader_range(struct reader *r, const char *joins, struct limit *l)
{
    struct quantity low, high;

    if (!reader_quantity(r, &low) || !reader_take(r, joins) || !reader_quantity(r, &high))
        return false;
    limit_set(l, GE, low);
    limit_set(l, LE, high);
    l->age = reader_age_words(r, &high);
    return limit_share_unit(l);
}

/* After a comparison that is no range: a quantity, or a limit that is relative to another fact:
 * "three times the rent", "5% of the income", "the rent", "14 days before the departure date". */
static bool reader_compared(struct reader *r, enum compare by, struct limit *l)
{
    struct quantity q = {0};
    bool age = reader_take(r, "the age of"), number = reader_quantity(r, &q);

    l->relative = !age && (!number || (unit_has(q.unit, UNIT_PERCENT) ? reader_take(r, "of")
                                       : q.unit ? reader_take(r, "before/after")
                                                : reader_take(r, "times")));
    if (l->relative) {
        l->low.is = l->high.is = true;
        return reader_noun(r, &l->other);
    }
    if (!number || (l->date && !q.date))
        return false;
    l->age = reader_age_words(r, &q) || l->age || age;
    limit_set(l, by, q);
    return true;
}

/* Takes one of the comparisons of some rows; notes if its words are of an age or a date. */
static enum compare reader_comparison(struct reader *r, size_t row, size_t end, struct limit *l)
{
    size_t start = r->at;

    assert(row < end && end <= COUNT_OF(comparisons));
    while (row < end && !reader_take(r, comparisons[row].words))
        row++;
    if (row == end)
        return NONE;
    for (size_t i = start; i < r->at; i++) {
        l->age = l->age || word_among(&r->w[i], "older younger");
        l->date = l->date || word_among(&r->w[i], "earlier later before after by");
    }
    return comparisons[row].by;
}

static bool reader_one_limit(struct reader *r, struct limit *l)
{
    struct reader start = *r;
    struct quantity q;
    enum compare by;

    *l = (struct limit){0};
    by = reader_comparison(r, 0, AFTER_NUMBER, l);
    if (by != NONE)
        return by == BETWEEN ? reader_range(r, "and/to/through/-", l) : reader_compared(r, by, l);
    if (reader_range(r, "to/through/-", l))
        return true;
    *r = start;
    *l = (struct limit){0};
    if (!reader_quantity(r, &q))
        return false;
    l->age = reader_age_words(r, &q);
    by = reader_comparison(r, AFTER_NUMBER, COUNT_OF(comparisons), l);
    l->bare = by == NONE;
    limit_set(l, by, q);
    return true;
}

bool reader_limit(struct reader *r, struct limit *out)
{
    struct limit next;
    struct reader more;

    if (!reader_one_limit(r, out))
        return false;
    /* "at least 2 and at most 8": other words that follow begin something else. */
    more = *r;
    if (out->relative || !reader_take(&more, "and/but") || !reader_one_limit(&more, &next) ||
        next.relative || out->low.is == next.low.is || out->high.is == next.high.is)
        return true;
    *(next.low.is ? &out->low : &out->high) = next.low.is ? next.low : next.high;
    *r = more;
    return limit_share_unit(out);
}
