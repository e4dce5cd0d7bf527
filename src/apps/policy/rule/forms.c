/* forms.c - the shapes that a main clause may have. See reader.h.
 *
 * Each form is a function that reads one shape; the table `forms` is tried in order, and a form
 * counts only if no word is left.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/reader.h"

/* Words for handing something in: a fact may have them in its name or not. */
#define HANDED                                                                                     \
    "provided presented submitted given attached included supplied furnished filed made paid "     \
    "deposited"
/* A fine is there before it is paid: of what must be so, a fact has the word in its name. */
#define DONE "filed made paid deposited"
#define REQUIRED "required needed necessary mandatory"
#define ALLOWED "allowed permitted accepted covered eligible"

struct form_out {
    struct tests *tests;
    bool wants_items;
    enum rule_kind kind;
    struct noun purpose;
};

static struct test *form_add(struct form_out *o, enum test_kind kind, const struct noun *noun)
{
    struct test *t = &o->tests->all[o->tests->n];

    if (o->tests->n == RULE_TESTS_MAX)
        return NULL;
    o->tests->n++;
    *t = (struct test){.kind = kind, .noun = *noun};
    return t;
}

bool form_subject(struct reader *r, struct noun *out)
{
    (void)reader_take_one(r, "each every all any");
    return reader_noun(r, out);
}

/* A participle: part of the noun, or a word that the fact's name may have or not. */
static bool form_participle(struct reader *r, struct noun *n)
{
    if (reader_done(r) || r->w[r->at].kind != WORD_TEXT || !noun_add(n, &r->w[r->at]))
        return false;
    if (word_among(&r->w[r->at], HANDED))
        n->neutral |= 1u << (n->n - 1);
    r->at++;
    return true;
}

static bool limit_is_least(const struct limit *l)
{
    return l->has_low && (!l->has_high || l->bare);
}

static bool limit_is_most(const struct limit *l)
{
    return l->has_high && !l->has_low;
}

/* "are required", "must be paid", "are allowed", or nothing, after a limit and its noun. */
static bool form_tail(struct reader *r, struct test *t)
{
    bool least = limit_is_least(&t->limit), most = limit_is_most(&t->limit);

    if (reader_done(r))
        return !t->limit.bare;
    if (reader_take_one(r, "is are")) {
        if (reader_take_one(r, REQUIRED))
            return !most;
        return reader_take_one(r, ALLOWED) && most;
    }
    if (reader_take(r, "must be") || reader_take(r, "shall be"))
        return form_participle(r, &t->noun) && (!most || !t->limit.bare) && (least || !most);
    return reader_take(r, "may be") && form_participle(r, &t->noun) && most;
}

/* At least 6 weeks of treatment are required. No more than two bags are allowed. */
static bool form_amount(struct reader *r, struct form_out *o)
{
    struct noun noun;
    struct limit l;
    struct test *t;

    if (!reader_limit(r, &l) || l.relative || l.age)
        return false;
    (void)reader_take(r, "of");
    if (!reader_noun(r, &noun) || !(t = form_add(o, TEST_LIMIT, &noun)))
        return false;
    t->limit = l;
    return form_tail(r, t);
}

/* A deposit of at least 50 euros must be paid. */
static bool form_noun_of(struct reader *r, struct form_out *o)
{
    struct noun noun;
    struct test *t;

    if (!form_subject(r, &noun) || !reader_take(r, "of") || !(t = form_add(o, TEST_LIMIT, &noun)) ||
        !reader_limit(r, &t->limit))
        return false;
    return test_fits(t) && form_tail(r, t);
}

/* No felony conviction is allowed. No overdraft fees in the last 30 days. */
static bool form_no(struct reader *r, struct form_out *o)
{
    struct noun noun;

    if (!reader_take(r, "no") || !reader_noun(r, &noun) || !form_add(o, TEST_NONE, &noun))
        return false;
    return reader_done(r) || (reader_take_one(r, "is are") && reader_take_one(r, ALLOWED));
}

/* A referral is required. Pets are not allowed. */
static bool form_required(struct reader *r, struct form_out *o)
{
    struct noun noun;
    struct test *t;

    if (!form_subject(r, &noun) || !reader_take_one(r, "is are"))
        return false;
    if (reader_take_one(r, REQUIRED))
        return form_add(o, TEST_PRESENT, &noun);
    if (!reader_take(r, "not allowed") && !reader_take(r, "not permitted") &&
        !reader_take_one(r, "prohibited forbidden"))
        return false;
    t = form_add(o, TEST_PRESENT, &noun);
    if (t)
        t->not_ = true;
    return t;
}

/* Age: 18 or older. Minimum age: 21. Age >= 21. Age at least 18. The deductible is at most 20%. */
static bool form_stated(struct reader *r, struct form_out *o)
{
    struct noun noun;
    struct test *t;
    int sign;

    if (!form_subject(r, &noun))
        return false;
    if (!reader_take(r, ":") && !reader_take_one(r, "is are") &&
        (reader_done(r) || (r->w[r->at].kind == WORD_TEXT && !reader_sees(r, "at"))))
        return false;
    if (!(t = form_add(o, TEST_LIMIT, &noun)) || !reader_limit(r, &t->limit))
        return false;
    if (t->limit.bare) {
        sign = noun_take_bound(&t->noun);
        t->limit.bare = false;
        t->limit.has_low = sign < 0;
        t->limit.has_high = sign > 0;
        if (sign == 0)
            return false;
    }
    return test_fits(t) && !test_is_ambiguous(t);
}

/* Accepted file formats are PDF, PNG and JPEG. Severity is one of (high, critical). */
static bool form_listed(struct reader *r, struct form_out *o)
{
    bool accepted = reader_take_one(r, "accepted approved allowed permitted");
    struct noun noun;
    struct test *t;

    if (!reader_noun(r, &noun) || !(t = form_add(o, TEST_IS, &noun)))
        return false;
    if (!accepted)
        return reader_take(r, "is") && (reader_sees(r, "one of") || reader_sees(r, "any of")) &&
               !reader_sees(r, "any of the following") && reader_values(r, t, &o->wants_items);
    if (!reader_take_one(r, "are is :"))
        return false;
    t->enumerated = true;
    while (reader_value(r, t)) {
        bool comma = reader_take_one(r, ", ;");

        if (!reader_take_one(r, "or and") && !comma)
            break;
    }
    return t->value_n > 1;
}

/* A number that is a code is no quantity. */
static bool form_is_code(const struct reader *r, const struct noun *n)
{
    return n->n > 0 && word_is(n->words[n->n - 1], "code") && !reader_done(r) &&
           r->w[r->at].kind == WORD_NUMBER && r->at + 1 == r->to;
}

/* After "must be". */
static bool form_be(struct reader *r, const struct noun *noun, bool not_, struct form_out *o)
{
    size_t first = o->tests->n;
    struct test *t = form_add(o, TEST_IS, noun);

    if (!t)
        return false;
    t->not_ = not_;
    if (reader_take(r, "dated"))
        t->noun.also = "date";
    if (!reader_sees(r, "one of") && !form_is_code(r, &t->noun) && reader_limit(r, &t->limit)) {
        t->kind = TEST_LIMIT;
        (void)(reader_take(r, "on the day of the request") ||
               reader_take(r, "at the time of the request") || reader_take(r, "long"));
        return test_fits(t) && !test_is_ambiguous(t);
    }
    if (t->noun.also)
        return false;
    if (!reader_done(r) && word_among(&r->w[r->at], HANDED)) {
        t->kind = TEST_PRESENT;
        if (!form_participle(r, &t->noun))
            return false;
        if (word_among(t->noun.words[t->noun.n - 1], DONE))
            t->noun.neutral = 0;
        return true;
    }
    if (reader_values(r, t, &o->wants_items) && reader_done(r))
        return true;
    /* "signed and notarized" */
    o->tests->n = first;
    return false;
}

static bool form_be_both(struct reader *r, const struct noun *noun, struct form_out *o)
{
    do {
        struct test *t = form_add(o, TEST_IS, noun);

        if (!t || !reader_value(r, t))
            return false;
    } while (reader_take(r, "and"));
    return true;
}

/* After "must have". */
static bool form_have(struct reader *r, const struct noun *noun, bool not_, struct form_out *o)
{
    struct noun thing = {0};
    struct test *t = form_add(o, TEST_PRESENT, noun);

    if (!t)
        return false;
    t->not_ = not_;
    noun_drop_request(&t->noun);
    if (reader_take(r, "been")) {
        t->kind = TEST_LIMIT;
        return form_participle(r, &t->noun) && reader_take(r, "for") &&
               reader_limit(r, &t->limit) && !t->limit.relative && !t->limit.age;
    }
    if (!reader_sees_limit(r) && !reader_done(r) && r->at + 1 < r->to && r->w[r->at].size > 4 &&
        strcmp(r->w[r->at].lower + r->w[r->at].size - 2, "ed") == 0) {
        struct reader next = *r;

        next.at++;
        if (reader_sees_limit(&next) && !form_participle(r, &thing))
            return false;
    }
    if (reader_sees_limit(r)) {
        t->kind = TEST_LIMIT;
        if (!reader_limit(r, &t->limit) || t->limit.relative || t->limit.age)
            return false;
        (void)reader_take(r, "of");
    } else if (thing.n == 0 && reader_take(r, "no")) {
        t->kind = TEST_NONE;
    }
    return noun_join(&t->noun, &thing) && reader_noun(r, &thing) && noun_join(&t->noun, &thing);
}

/* The verb after "must" and its like. */
static bool form_predicate(struct reader *r, const struct noun *noun, bool not_, struct form_out *o)
{
    struct reader start = *r;
    struct noun thing;
    struct test *t;

    if (reader_take_one(r, "be remain stay")) {
        struct reader be = *r;

        if (!word_is(&start.w[start.at], "be") && noun_is_person(noun) && reader_sees_limit(r))
            return false; /* "must stay at least 2 years" is no age */
        if (form_be(r, noun, not_, o))
            return true;
        *r = be;
        return !not_ && form_be_both(r, noun, o);
    }
    if (reader_take(r, "have"))
        return form_have(r, noun, not_, o);
    if (reader_take_one(r, "exceed last")) {
        t = form_add(o, TEST_LIMIT, noun);
        if (!t)
            return false;
        t->not_ = not_;
        if (word_is(&start.w[start.at], "exceed"))
            return reader_exceeds(r, &t->limit) && test_fits(t);
        return reader_limit(r, &t->limit) && (t->limit.low.unit || t->limit.high.unit);
    }
    if (reader_take_one(r, "include contain provide submit present") && reader_noun(r, &thing)) {
        t = form_add(o, TEST_PRESENT, noun);
        if (!t)
            return false;
        t->not_ = not_;
        noun_drop_request(&t->noun);
        return noun_join(&t->noun, &thing);
    }
    return false;
}

/* "must", "must not", "may", ...: 1, -1 for what must not be, 2 for what may be, 0 for none. */
static int form_modal(struct reader *r)
{
    static const struct {
        const char *words;
        int sign;
    } modals[] = {{"must not", -1},
                  {"shall not", -1},
                  {"may not", -1},
                  {"cannot", -1},
                  {"can not", -1},
                  {"mustn't", -1},
                  {"can't", -1},
                  {"must", 1},
                  {"shall", 1},
                  {"has to", 1},
                  {"have to", 1},
                  {"needs to", 1},
                  {"need to", 1},
                  {"is required to", 1},
                  {"are required to", 1},
                  {"may", 2},
                  {"can", 2}};

    for (size_t i = 0; i < COUNT_OF(modals); i++)
        if (reader_take(r, modals[i].words))
            return modals[i].sign;
    return 0;
}

/* The age must be 18 or older. Each reservation can have at most five passengers. */
static bool form_must(struct reader *r, struct form_out *o)
{
    struct noun noun, thing;
    struct test *t;
    bool be;
    int sign;

    if (!form_subject(r, &noun))
        return false;
    sign = form_modal(r);
    if (sign == 1 || sign == -1)
        return form_predicate(r, &noun, sign < 0, o);
    be = reader_sees(r, "be");
    if (sign != 2 || !reader_take_one(r, "be have use bring take"))
        return false;
    t = form_add(o, TEST_LIMIT, &noun);
    if (!t || !reader_limit(r, &t->limit) || !limit_is_most(&t->limit) || t->limit.relative)
        return false;
    if (be)
        return test_fits(t);
    noun_drop_request(&t->noun);
    (void)reader_take(r, "of");
    return reader_noun(r, &thing) && noun_join(&t->noun, &thing);
}

/* The customer has not filed more than 2 disputes. */
static bool form_has_not(struct reader *r, struct form_out *o)
{
    struct noun noun;
    bool not_;

    if (!form_subject(r, &noun) || !reader_take_one(r, "has have"))
        return false;
    not_ = reader_take(r, "not");
    return form_have(r, &noun, not_, o) &&
           (not_ || o->tests->all[o->tests->n - 1].kind != TEST_PRESENT);
}

/* Properties of a person: "aged 65 and over", "who are under 25", "with a pacemaker". */
static bool form_person(struct reader *r, const struct noun *person, struct test *t)
{
    struct noun thing;

    *t = (struct test){.kind = TEST_LIMIT, .noun = *person};
    if (reader_take(r, "with") || reader_take_one(r, "having")) {
        t->kind = TEST_PRESENT;
        return !reader_sees_limit(r) && reader_noun(r, &thing) && noun_join(&t->noun, &thing);
    }
    if (reader_take(r, "whose"))
        return reader_noun(r, &t->noun) && reader_take(r, "is") && reader_limit(r, &t->limit) &&
               !t->limit.bare;
    if (reader_take(r, "aged"))
        t->limit.age = true;
    else
        (void)reader_take(r, "who are");
    return reader_limit(r, &t->limit) && !t->limit.bare && test_fits(t);
}

/* Applicants aged 65 and over are eligible. Members over the age of 65 are not covered. */
static bool form_eligible(struct reader *r, struct form_out *o)
{
    bool only = reader_take(r, "only"), not_;
    struct noun person;
    struct test t;

    if (!reader_noun(r, &person) || !noun_is_person(&person) || !form_person(r, &person, &t))
        return false;
    if (reader_take_one(r, "qualify")) {
        not_ = false;
    } else {
        if (!reader_take_one(r, "is are"))
            return false;
        not_ = reader_take(r, "not");
        if (!not_ && reader_take_one(r, "excluded ineligible"))
            not_ = true;
        else if (!reader_take_one(r, ALLOWED))
            return false;
    }
    if (reader_take(r, "for") && !reader_noun(r, &o->purpose))
        return false;
    if (only && not_)
        return false;
    o->kind = only || not_ ? RULE_REQUIRE : RULE_PERMIT;
    t.not_ = t.not_ != not_;
    if (o->tests->n == RULE_TESTS_MAX)
        return false;
    o->tests->all[o->tests->n++] = t;
    return true;
}

static bool (*const forms[])(struct reader *r, struct form_out *o) = {
    form_amount,
    form_noun_of,
    form_no,
    form_required,
    form_stated,
    form_listed,
    form_must,
    form_has_not,
    form_eligible,
};

bool form_read(struct reader *r, struct rule *out)
{
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        struct reader one = *r;
        struct form_out o = {.tests = &out->main, .kind = RULE_REQUIRE};
        size_t before = out->main.n;

        if (forms[i](&one, &o) && reader_done(&one)) {
            *r = one;
            out->kind = o.kind;
            out->purpose = o.purpose;
            out->wants_items = out->wants_items || o.wants_items;
            return true;
        }
        out->main.n = before;
    }
    return false;
}

bool form_read_allowed(struct reader *r, struct noun *out)
{
    return form_subject(r, out) && reader_take_one(r, "is are") && reader_take_one(r, ALLOWED) &&
           reader_done(r);
}
