/* reader.c - nouns, values and conditions. See reader.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/reader.h"

/* Words that have a meaning of their own in the grammar: no noun has one. */
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
    "combined per unless one's regardless notwithstanding subject provided via using"
/* No value of a list has one of these. */
#define NOT_IN_VALUES                                                                              \
    "must shall may can cannot should will would not no nor neither without unless except if "     \
    "when where only or and but than at least most more less fewer over under above below "        \
    "between within before after by until since is are be been was were has have had who which "   \
    "whose that any all each every either both one with " NOT_CLOSED
/* Lists that go on, and values that somebody has to judge: "or similar", "adequate". */
#define NOT_CLOSED                                                                                 \
    "other others another similar equivalent comparable etc like such so same equal better worse " \
    "higher lower greater best highest lowest otherwise else something anything some certain "     \
    "various different unique appropriate suitable adequate acceptable reasonable sufficient "     \
    "satisfactory good normal usual proper correct right relevant consistent compatible eligible " \
    "compliant fair related corresponding"
#define ARTICLES "a an the its their his her your our"
#define PREPOSITIONS "of in on for to from"
/* Who a case is about. A rule about any other person needs a fact that names this person. */
#define PERSONS                                                                                    \
    "applicant applicants patient patients member members customer customers client clients user " \
    "users person persons individual individuals employee employees insured policyholder "         \
    "policyholders borrower borrowers driver drivers candidate candidates participant "            \
    "participants claimant claimants cardholder cardholders people"
/* Of whom a case has one. */
#define OWN_PERSONS "applicant patient claimant candidate"
#define REQUESTS                                                                                   \
    "application applications claim claims request requests order orders reservation "             \
    "reservations booking bookings submission submissions"
#define CATEGORIES                                                                                 \
    "type class status code plan tier color colour category method level grade format size "       \
    "severity rating position brand model"
/* Nouns whose values have several names: a value that is not in the list may be another name of
 * one that is. */
#define MANY_NAMES                                                                                 \
    "country countries state states city cities currency language nationality citizenship "        \
    "residence location destination origin address name region occupation profession degree"

bool reader_sees(const struct reader *r, const char *words)
{
    struct reader peek = *r;

    return reader_take(&peek, words);
}

bool reader_take(struct reader *r, const char *words)
{
    size_t at = r->at;

    for (const char *p = words; *p;) {
        size_t n = strcspn(p, " ");

        if (at == r->to || r->w[at].size != n || memcmp(r->w[at].lower, p, n) != 0)
            return false;
        at++;
        p += n + (p[n] == ' ');
    }
    r->at = at;
    return true;
}

bool reader_take_one(struct reader *r, const char *words)
{
    if (reader_done(r) || !word_among(&r->w[r->at], words))
        return false;
    r->at++;
    return true;
}

bool noun_add(struct noun *n, const struct word *w)
{
    if (n->n == NOUN_WORDS_MAX)
        return false;
    if (word_among(w, PERSONS))
        n->drop |= 1u << n->n;
    n->words[n->n++] = w;
    return true;
}

bool noun_join(struct noun *n, const struct noun *more)
{
    for (size_t i = 0; i < more->n; i++) {
        if (n->n == NOUN_WORDS_MAX)
            return false;
        n->drop |= (more->drop >> i & 1) << n->n;
        n->neutral |= (more->neutral >> i & 1) << n->n;
        n->words[n->n++] = more->words[i];
    }
    n->also = more->also ? more->also : n->also;
    return true;
}

int noun_take_bound(struct noun *n)
{
    for (size_t i = 0; i < n->n; i++) {
        int sign = word_among(n->words[i], "minimum min")   ? -1
                   : word_among(n->words[i], "maximum max") ? 1
                                                            : 0;

        if (sign == 0 || n->n == 1)
            continue;
        n->drop = (n->drop & ((1u << i) - 1)) | (n->drop >> 1 & ~((1u << i) - 1));
        memmove(&n->words[i], &n->words[i + 1], (n->n - i - 1) * sizeof n->words[0]);
        n->n--;
        return sign;
    }
    return 0;
}

void noun_drop_request(struct noun *n)
{
    for (size_t i = 0; i < n->n; i++)
        if (word_among(n->words[i], REQUESTS))
            n->drop |= 1u << i;
}

bool word_names_person(const struct word *w)
{
    return word_among(w, PERSONS);
}

bool noun_is_person(const struct noun *n)
{
    return n->n == 1 && n->drop == 1;
}

bool noun_is_category(const struct noun *n)
{
    return n->n > 0 && word_among(n->words[n->n - 1], CATEGORIES);
}

static bool noun_has_many_names(const struct noun *n)
{
    for (size_t i = 0; i < n->n; i++)
        if (word_among(n->words[i], MANY_NAMES))
            return true;
    return false;
}

static bool reader_touches(const struct reader *r, size_t at)
{
    return at > 0 && at + 1 < r->to && r->w[at - 1].to == r->w[at].from &&
           r->w[at].to == r->w[at + 1].from && r->w[at + 1].kind == WORD_TEXT;
}

/* The case's own person may be left out of a fact's name, but not of a compound: the member's fee
 * is the fee, a member fee is one of several. Nor after "per". */
static void reader_keep_compound(const struct reader *r, size_t at, struct noun *n)
{
    const struct word *w = &r->w[at], *before = at > 0 ? &r->w[at - 1] : NULL;

    if (!before || n->n == 0)
        return;
    if (word_is(before, "per"))
        n->drop &= ~(1u << (n->n - 1));
    if (n->n > 1 && n->words[n->n - 2] == before && before->to + 1 == w->from &&
        before->to - before->from == before->size && !word_among(before, OWN_PERSONS))
        n->drop &= ~(1u << (n->n - 2));
}

static void reader_note_person(struct reader *r, const struct word *w)
{
    if (!word_among(w, PERSONS))
        return;
    r->mixed = r->mixed || (r->person && !noun_word_same(r->person, w));
    r->person = r->person ? r->person : w;
}

bool reader_noun(struct reader *r, struct noun *out)
{
    size_t at = r->at, end = r->at;

    *out = (struct noun){0};
    for (; at < r->to; at++) {
        const struct word *w = &r->w[at];

        if (w->kind == WORD_MARK) {
            if (!word_is(w, "-") || !reader_touches(r, at))
                break;
        } else if (w->kind == WORD_NUMBER) {
            if (out->n == 0 ||
                !word_among(out->words[out->n - 1], "last past previous first next") ||
                word_dates(w) || !noun_add(out, w))
                break;
            end = at + 1;
        } else if (word_among(w, PREPOSITIONS) && out->n == 0) {
            break;
        } else if (word_among(w, "per")) {
            if (at + 1 == r->to || out->n == 0 || r->w[at + 1].kind != WORD_TEXT)
                break;
        } else if (!word_among(w, ARTICLES) && !word_among(w, PREPOSITIONS)) {
            if (word_among(w, RESERVED))
                break;
            if (!noun_add(out, w))
                return false;
            reader_keep_compound(r, at, out);
            reader_note_person(r, w);
            end = at + 1;
        }
    }
    if (out->n == 0)
        return false;
    r->at = end;
    return true;
}

/* ---- values ---- */

/* One element: words up to a separator. */
bool reader_value(struct reader *r, struct test *t)
{
    size_t from;

    while (reader_take_one(r, "a an the"))
        ;
    from = r->at;
    while (!reader_done(r) && (r->w[r->at].kind != WORD_MARK ||
                               (word_is(&r->w[r->at], "-") && reader_touches(r, r->at)))) {
        if (word_among(&r->w[r->at], NOT_IN_VALUES))
            break;
        r->at++;
    }
    if (r->at == from || t->value_n == RULE_VALUES_MAX)
        return false;
    t->values[t->value_n++] = (struct phrase){r->w + from, r->at - from};
    return true;
}

/* "one of", "any of the following": false if it does not begin so. */
static bool reader_list_words(struct reader *r, bool *following)
{
    static const char *const begins[] = {"any one of",
                                         "one of",
                                         "any of",
                                         "either of",
                                         "in the following list",
                                         "on the following list",
                                         "one among",
                                         "either"};
    bool found = false;

    *following = false;
    for (size_t i = 0; i < COUNT_OF(begins) && !found; i++)
        found = reader_take(r, begins[i]);
    if (!found)
        return false;
    *following =
        reader_take(r, "the following") || (r->at > 0 && word_is(&r->w[r->at - 1], "list"));
    if (*following)
        (void)reader_take_one(r, "values codes options");
    return true;
}

bool reader_values(struct reader *r, struct test *t, bool *wants_items)
{
    struct reader start = *r;
    bool following, listed = reader_list_words(r, &following), and_ = false, or_ = false;
    const char *close;

    t->kind = TEST_IS;
    (void)(listed && reader_take(r, ":"));
    if (listed && reader_done(r)) {
        *wants_items = true;
        t->enumerated = !noun_has_many_names(&t->noun);
        return true;
    }
    close = reader_take(r, "(") ? ")" : reader_take(r, "[") ? "]" : reader_take(r, "{") ? "}" : "";
    while (reader_value(r, t)) {
        bool comma = reader_take_one(r, ", ;");

        if (reader_take(r, "or"))
            or_ = true;
        else if (reader_take(r, "and"))
            and_ = true;
        else if (!comma)
            break;
    }
    if (t->value_n == 0 || (*close && !reader_take(r, close)) || (and_ && (or_ || !listed)) ||
        (!listed && !or_ && t->value_n > 1)) {
        *r = start;
        return false;
    }
    t->enumerated =
        (listed || t->value_n > 1 || noun_is_category(&t->noun)) && !noun_has_many_names(&t->noun);
    return true;
}

/* ---- states and conditions ---- */

#define PRESENCE "present available attached provided included submitted presented supplied"

/* After "is" or "are". */
static bool reader_state_is(struct reader *r, struct test *t)
{
    t->not_ = reader_take(r, "not");
    if (reader_take_one(r, PRESENCE) || reader_take(r, "on file")) {
        t->kind = TEST_PRESENT;
        return true;
    }
    if (reader_limit(r, &t->limit)) {
        t->kind = TEST_LIMIT;
        return test_fits(t);
    }
    if (!reader_value(r, t))
        return false;
    t->kind = TEST_IS;
    t->enumerated = noun_is_category(&t->noun);
    return true;
}

bool reader_state(struct reader *r, const struct noun *noun, struct test *t)
{
    struct noun thing;

    *t = (struct test){.noun = *noun};
    if (reader_take_one(r, "is are"))
        return reader_state_is(r, t);
    if (reader_take_one(r, "exceeds exceed")) {
        t->kind = TEST_LIMIT;
        return reader_exceeds(r, &t->limit);
    }
    if (!reader_take_one(r, "has have"))
        return false;
    noun_drop_request(&t->noun);
    if (reader_sees_limit(r)) {
        t->kind = TEST_LIMIT;
        if (!reader_limit(r, &t->limit))
            return false;
    } else {
        t->kind = reader_take(r, "no") ? TEST_NONE : TEST_PRESENT;
    }
    return reader_noun(r, &thing) && noun_join(&t->noun, &thing);
}

bool reader_condition(struct reader *r, struct tests *out)
{
    struct noun noun = {0}, next;
    const char *join = NULL;

    *out = (struct tests){0};
    while (out->n < RULE_TESTS_MAX) {
        if (!reader_sees(r, "has") && !reader_sees(r, "is")) {
            if (!reader_noun(r, &next))
                return false;
            noun = next;
        } else if (out->n == 0) {
            return false;
        }
        if (!reader_state(r, &noun, &out->all[out->n++]))
            return false;
        if (reader_done(r))
            return true;
        if (!join)
            join = reader_sees(r, "or") ? "or" : "and";
        if (!reader_take(r, join))
            return false;
        out->any = join[0] == 'o';
    }
    return false;
}
