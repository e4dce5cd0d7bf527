/* reader.c - nouns and values. See reader.h.
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
    "combined regardless notwithstanding subject provided via using"
/* Lists that go on, and values that somebody has to judge: "or similar", "adequate". */
#define NOT_CLOSED                                                                                 \
    "others similar equivalent comparable etc like better worse best highest lowest something "    \
    "anything certain various different unique appropriate suitable adequate acceptable "          \
    "reasonable sufficient satisfactory good normal usual proper correct right relevant "          \
    "consistent compatible eligible compliant fair related corresponding one"
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
    return word_is(&r->w[at], "-") && at > 0 && at + 1 < r->to &&
           r->w[at - 1].to == r->w[at].from && r->w[at].to == r->w[at + 1].from;
}

static void reader_note_person(struct reader *r, const struct word *w)
{
    if (!word_names_person(w))
        return;
    r->mixed = r->mixed || (r->person && !word_same_singular(r->person, w));
    r->person = r->person ? r->person : w;
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
        reader_note_person(r, w);
        last = w;
        r->at = at + 1;
    }
    if (out->n == 0 || word_among(last, "to per"))
        return false;
    noun_finish(out);
    return true;
}

/* ---- values ---- */

bool reader_value(struct reader *r, struct test *t)
{
    size_t from;

    while (reader_take(r, "a/an/the"))
        ;
    for (from = r->at; !reader_done(r); r->at++) {
        const struct word *w = &r->w[r->at];

        if (w->kind == WORD_MARK ? !reader_touches(r, r->at)
                                 : word_among(w, RESERVED) || word_among(w, NOT_CLOSED))
            break;
    }
    if (r->at == from || t->value_n == RULE_VALUES_MAX)
        return false;
    t->values[t->value_n++] = (struct phrase){r->w + from, r->at - from};
    return true;
}

bool reader_values(struct reader *r, struct test *t, bool *wants_items)
{
    bool listed = reader_take(r, "one/any/either of") || reader_take(r, "any one of") ||
                  reader_take(r, "either");
    bool and_ = false, or_ = false, closed, more;

    if (listed && reader_take(r, "the following"))
        (void)reader_take(r, "values/codes/options");
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
