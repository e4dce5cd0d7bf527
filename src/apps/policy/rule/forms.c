/* forms.c - the sentences that are understood: a table of forms, and the clauses around them. See
 * rule.h.
 *
 * A form is words and names of parts, separated by spaces. Alternatives have a slash between them;
 * a word with a question mark may be there or not. The parts:
 *
 *     NOUN     what the rule is about            THING    more words of the same noun
 *     VALUES   "one of a, b or c", "a"           SIGN     nothing, but ">=" or "at" follows
 *     LIMIT    "at least 18", "exceed 5"
 *     DONE     a participle                      FOR      "for a loan", or nothing
 *     MUST     must, shall, has to               CANNOT   must not, may not, cannot
 *     BARRED   are not eligible, are excluded    HANDED   provided, presented
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/reader.h"

#include <math.h>

#define SENTENCE_WORDS_MAX 80
/* Words for handing something in: a fact's name has none of them. */
#define HANDED "provided/presented/submitted/given/attached/supplied/available"
#define PAID "filed/made/paid/deposited"
#define REQUESTS                                                                                   \
    "application applications claim claims request requests order orders reservation "             \
    "reservations booking bookings submission submissions"

enum {
    NOT = 1,
    LEAST = 2,     /* a lower limit */
    MOST = 4,      /* an upper limit */
    STATED = 8,    /* a bare number needs "minimum" or "maximum" */
    COMPARED = 16, /* no bare number */
    COUNTS = 32,   /* a number of things: neither an age nor a multiple */
    PERSON = 64,   /* the noun is a person */
    DATED = 128,   /* the noun's date */
    NOTE = 256,    /* no fact can break it */
    ITEMS = 512,   /* it leads to items; with NOTE: each is a rule of its own */
    IF = 1024      /* after "if" or "unless" */
};

struct form {
    const char *words;
    unsigned flags;
};

static const struct form forms[] = {
    {"all? of? the following conditions/criteria/requirements/rules? MUST be? met/hold",
     NOTE | ITEMS},
    {"NOUN is/are any/one of the following", ITEMS},
    {"it may be electronic/digital/written/oral/handwritten", NOTE},
    {"see section THING", NOTE},
    {"welcome to THING", NOTE},
    {"this document/policy/page/section lists the rules/requirements", NOTE},
    {"this document/policy/page/section lists the rules/requirements of/for THING", NOTE},
    {"NOUN MUST be LIMIT", 0},
    {"NOUN MUST be LIMIT on/at the day/time of the request", 0},
    {"NOUN CANNOT be LIMIT", NOT},
    {"NOUN MUST be dated LIMIT", DATED},
    {"NOUN CANNOT LIMIT", NOT | COMPARED},
    {"NOUN MUST LIMIT", COMPARED},
    {"NOUN MUST last LIMIT", 0},
    {"NOUN may/can be LIMIT", MOST},
    {"NOUN : LIMIT", STATED},
    {"NOUN is/are LIMIT", STATED},
    {"NOUN SIGN LIMIT", COMPARED},
    {"NOUN of LIMIT", COMPARED},
    {"NOUN of LIMIT is/are required/needed", LEAST},
    {"NOUN of LIMIT MUST be DONE", LEAST},
    {"NOUN of LIMIT is/are allowed/permitted/accepted", MOST},
    {"LIMIT of? THING", COMPARED | COUNTS},
    {"LIMIT of? THING is/are required/needed", LEAST | COUNTS},
    {"LIMIT of? THING MUST be DONE", LEAST | COUNTS},
    {"LIMIT of? THING is/are allowed/permitted/accepted/covered", MOST | COUNTS},
    {"NOUN MUST have LIMIT of? THING", COUNTS},
    {"NOUN CANNOT have LIMIT of? THING", NOT | COUNTS},
    {"NOUN may/can have/use/bring/take LIMIT of? THING", MOST | COUNTS},
    {"NOUN MUST have DONE LIMIT of? THING", COUNTS},
    {"NOUN has/have not DONE LIMIT of? THING", NOT | COUNTS},
    {"NOUN MUST have been DONE for LIMIT", COUNTS},
    {"NOUN MUST be HANDED", 0},
    {"NOUN MUST be VALUES", 0},
    {"NOUN CANNOT be VALUES", NOT},
    {"NOUN MUST have no THING", NOT},
    {"NOUN MUST have/include/contain/provide/submit/present THING", 0},
    {"NOUN CANNOT have/include/contain THING", NOT},
    {"NOUN is/are required/needed/necessary/mandatory", 0},
    {"NOUN is/are not allowed/permitted", NOT},
    {"NOUN is/are prohibited/forbidden", NOT},
    {"no THING is/are? allowed/permitted/accepted?", NOT},
    {"NOUN with/having THING BARRED FOR", NOT | PERSON},
    {"NOUN who? are? aged? LIMIT BARRED FOR", NOT | PERSON},
    {"only NOUN who? are? aged? LIMIT are eligible/covered FOR", PERSON},
    {"NOUN is/are present", IF},
    {"NOUN is/are HANDED", IF},
    {"NOUN is/are not HANDED", IF | NOT},
    {"NOUN is/are LIMIT", IF},
    {"NOUN LIMIT", IF | COMPARED},
    {"NOUN has/have LIMIT THING", IF | COUNTS},
    {"NOUN is/are VALUES", IF},
    {"NOUN is/are not VALUES", IF | NOT},
    {"NOUN has/have no THING", IF | NOT},
    {"NOUN has/have THING", IF},
};

/* Takes a part by the first letter of its name. */
static bool form_part(struct reader *r, char name, struct test *t, struct rule *out)
{
    struct noun thing;

    switch (name) {
    case 'N':
        (void)reader_take(r, "each/every/all/any");
        return reader_noun(r, &t->noun);
    case 'T':
        if (t->noun.n == 1 && word_among(t->noun.words[0], REQUESTS))
            t->noun.drop = 1; /* each reservation has ... */
        if (!reader_noun(r, &thing))
            return false;
        t->noun.drop = t->noun.n == 0 ? thing.drop : t->noun.drop;
        t->noun.counted = t->noun.counted || thing.counted;
        for (size_t i = 0; i < thing.n; i++)
            if (!noun_insert(&t->noun, t->noun.n, thing.words[i]))
                return false;
        return true;
    case 'L':
        t->kind = TEST_LIMIT;
        return reader_limit(r, &t->limit);
    case 'V':
        t->kind = TEST_IS;
        return reader_values(r, t, &out->wants_items);
    case 'D': /* one of handing in is no part of the noun */
        if (reader_take(r, HANDED "/" PAID))
            return true;
        return !reader_done(r) && r->w[r->at].size > 3 &&
               str_ends(str_c(r->w[r->at].lower), STR("ed")) &&
               noun_insert(&t->noun, t->noun.n, &r->w[r->at++]);
    case 'F':
        return !reader_take(r, "for") || reader_noun(r, &out->purpose);
    case 'M':
        return reader_take(r, "must/shall") || reader_take(r, "has/have/needs/need to");
    case 'C':
        return reader_take(r, "must/shall/may/can not") || reader_take(r, "cannot");
    case 'H':
        return reader_take(r, HANDED);
    case 'S':
        return !reader_done(r) && word_among(&r->w[r->at], ">= <= > < at");
    case 'B':
        return reader_take(r, "is/are excluded/ineligible") ||
               reader_take(r, "is/are not eligible/covered/allowed/permitted/accepted");
    default:
        return false;
    }
}

/* Whether the words of a form are here, up to the end. */
static bool form_matches(struct reader *r, const char *words, struct test *t, struct rule *out)
{
    for (const char *p = words; *p;) {
        size_t n = strcspn(p, " ");
        bool may = p[n - 1] == '?';
        char word[100];

        assert(n > may && n < sizeof word);
        snprintf(word, sizeof word, "%.*s", (int)(n - may), p);
        if (word[0] >= 'A' && word[0] <= 'Z' ? !form_part(r, word[0], t, out)
                                             : !reader_take(r, word) && !may)
            return false;
        p += n + (p[n] == ' ');
    }
    return reader_done(r);
}

/* Takes "minimum" or "maximum" from the front of a bare number's noun; false: it has neither. */
static bool test_take_bound(struct test *t)
{
    struct noun *n = &t->noun;
    bool low = word_among(n->words[0], "minimum min");

    assert(n->n > 0 && t->limit.bare);
    if (n->n < 2 || (!low && !word_among(n->words[0], "maximum max")))
        return false;
    memmove(&n->words[0], &n->words[1], --n->n * sizeof n->words[0]);
    t->limit.bare = false;
    t->limit.low.is = low;
    t->limit.high.is = !low;
    return true;
}

/* Limits of persons that are ages: "members must be at least 20" may be about their number. */
static bool limit_is_usual_age(const struct quantity *q)
{
    static const double ages[] = {14, 16, 17, 18, 21, 25, 30, 55, 60, 62, 65, 67, 70, 75};

    for (size_t i = 0; i < COUNT_OF(ages); i++)
        if (!q->unit && !q->date && fabs(q->number - ages[i]) < 0.5)
            return true;
    return unit_is_year(q->unit);
}

/* Makes a limit on a person one on the person's age; false if it may be on something else. */
static bool test_fits(struct test *t, struct arena *a)
{
    const struct quantity *q = limit_quantity(&t->limit);
    struct limit *l = &t->limit;

    assert(t->kind == TEST_LIMIT && t->noun.n > 0);
    if (noun_is_person(&t->noun) && !l->relative && !l->age) {
        if (!limit_is_usual_age(q))
            return false;
        l->age = true;
    }
    for (size_t i = 0; i < t->noun.n; i++)
        if (word_is(t->noun.words[i], "age")) {
            l->age = !q->unit || unit_is_year(q->unit);
            return true;
        }
    if (l->age)
        return noun_imply(&t->noun, "age", a);
    /* "Guests must be over 21" may be about their age or about their number. */
    return l->relative || unit_has(q->unit, UNIT_MONEY) || q->date || t->noun.n > 1 ||
           t->noun.counted || word_is(t->noun.words[0], t->noun.words[0]->singular);
}

/* Whether a limit is one that the form can have. */
static bool form_limits(const struct form *f, struct test *t, struct arena *a)
{
    struct limit *l = &t->limit;
    bool most = l->high.is && !l->low.is;

    assert(t->kind == TEST_LIMIT && (l->low.is || l->high.is));
    /* A number that is a code is no quantity. */
    if (l->bare && t->noun.n > 0 && word_is(t->noun.words[t->noun.n - 1], "code"))
        return false;
    if (((f->flags & LEAST) && most) || ((f->flags & MOST) && !most) ||
        ((f->flags & COUNTS) && (l->relative || l->age)) ||
        ((f->flags & (PERSON | COMPARED)) && l->bare))
        return false;
    if ((f->flags & STATED) && l->bare && !test_take_bound(t))
        return false;
    if ((f->flags & DATED) && !noun_imply(&t->noun, "date", a))
        return false;
    return (f->flags & COUNTS) || (test_fits(t, a) && (!(f->flags & PERSON) || l->age));
}

/* A clause in one of the forms; condition: IF, or 0. */
static bool form_read(struct reader *r, unsigned condition, struct test *t, struct rule *out)
{
    struct reader after = *r; /* its noun, which most forms begin with */
    struct test named = {0};
    bool has_noun;

    assert(condition == 0 || condition == IF);
    has_noun = form_part(&after, 'N', &named, out);
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        bool starts = str_starts(str_c(forms[i].words), STR("NOUN "));
        struct reader one = starts ? after : *r;

        if ((starts && !has_noun) || (forms[i].flags & IF) != condition)
            continue;
        *t = (struct test){.not_ = (forms[i].flags & NOT) != 0};
        t->noun = starts ? named.noun : t->noun;
        if (form_matches(&one, forms[i].words + (starts ? strlen("NOUN ") : 0), t, out) &&
            (!(forms[i].flags & PERSON) || word_names_person(t->noun.words[0])) &&
            (t->kind != TEST_LIMIT || form_limits(&forms[i], t, r->arena))) {
            *r = one;
            out->kind = forms[i].flags & NOTE    ? forms[i].flags & ITEMS ? RULE_ALL : RULE_NOTE
                        : forms[i].flags & ITEMS ? RULE_DEFINE
                                                 : out->kind;
            out->wants_items = out->wants_items || out->kind == RULE_DEFINE;
            return true;
        }
    }
    return false;
}

/* The clause after the main one: "unless COND", "if COND", "except for NOUN". */
static bool form_trail(struct reader *r, struct rule *out)
{
    bool when = reader_take(r, "if/when");
    struct test *t = when ? &out->when : &out->unless;

    if (t->noun.n > 0 || out->wants_items)
        return false;
    if (reader_take(r, "except for"))
        return reader_noun(r, &t->noun) && reader_done(r);
    if (!when && !reader_take(r, "unless") && !reader_take(r, "except if/when"))
        return false;
    return form_read(r, IF, t, out) && !out->wants_items;
}

/* The next of some words from a place on, or the end. */
static size_t form_find(const struct reader *r, const char *words)
{
    size_t at = r->at;

    assert(at <= r->to);
    while (at < r->to && !word_among(&r->w[at], words))
        at++;
    return at;
}

/* A main clause with a condition or an exception in front, up to the comma, and one after it. */
static bool form_requirement(struct reader *r, struct rule *out)
{
    size_t end = r->to;
    bool lead = !reader_done(r) && word_among(&r->w[r->at], "if when unless");

    *out = (struct rule){0};
    if (lead) {
        r->to = form_find(r, ",");
        if (r->to == end || !form_trail(r, out))
            return false;
        assert(r->at == r->to && r->to < end); /* at the comma */
        r->at++;
        r->to = end;
    }
    r->to = form_find(r, "unless except if when");
    if (r->to < end && r->to > r->at && word_is(&r->w[r->to - 1], ","))
        r->to--;
    assert(r->at <= r->to && r->to <= end);
    if (!form_read(r, 0, &out->main, out))
        return false;
    assert(reader_done(r));
    r->to = end;
    (void)reader_take(r, ",");
    out->person = r->person;
    return (reader_done(r) || form_trail(r, out)) && !r->mixed &&
           (out->kind == RULE_REQUIRE || out->when.noun.n + out->unless.noun.n == 0);
}

/* Without marks that only decorate, and a number that is repeated: "six (6)". */
static size_t form_clean(const struct word *w, size_t n, struct arena *a, struct word **out)
{
    struct word *all = arena_alloc(a, (n + 1) * sizeof all[0]);
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (w[i].kind == WORD_MARK && word_among(&w[i], "_ ` \" '"))
            continue;
        if (i + 2 < n && kept > 0 && word_is(&w[i], "(") && word_is(&w[i + 2], ")") &&
            w[i + 1].kind == WORD_NUMBER && word_same(&w[i + 1], &all[kept - 1])) {
            i += 2;
            continue;
        }
        all[kept++] = w[i];
    }
    /* "..." continues a sentence. */
    if (kept > 0 && w[n - 1].kind == WORD_MARK && all[kept - 1].kind == WORD_MARK &&
        word_among(&all[kept - 1], ". ! ; :"))
        kept--;
    assert(kept <= n);
    *out = all;
    return kept;
}

bool rule_read(const struct word *w, size_t n, struct arena *a, struct rule *out)
{
    struct reader r = {.arena = a};
    struct word *all;

    if (n == 0 || n > SENTENCE_WORDS_MAX || word_among(&w[0], "\" `"))
        return false; /* a quotation, or an example of a text */
    r.to = form_clean(w, n, a, &all);
    r.w = all;
    return r.to > 0 && form_requirement(&r, out);
}

bool rule_add_item(struct rule *lead, const struct word *w, size_t n, struct arena *a)
{
    struct test *t = &lead->main;
    struct word *all;

    assert(lead->wants_items && t->value_n <= RULE_VALUES_MAX);
    n = form_clean(w, n, a, &all);
    if (n == 0 || t->value_n == RULE_VALUES_MAX || !phrase_is_plain(all, n))
        return false;
    t->values[t->value_n++] = (struct phrase){all, n};
    return true;
}

/* ---- rows of tables ---- */

/* The two cells of a row; false if it has more or less. */
static bool rule_row_cells(const struct phrase *row, struct phrase out[2])
{
    size_t bars = 0, at = 0;

    for (size_t i = 0; i < row->n; i++)
        if (word_is(&row->w[i], "|") && bars++ == 0)
            at = i;
    if (bars < 1 || bars > 2 || (bars == 2 && !word_is(&row->w[row->n - 1], "|")))
        return false;
    assert(at + bars <= row->n);
    out[0] = (struct phrase){row->w, at};
    out[1] = (struct phrase){row->w + at + 1, row->n - at - bars};
    return true;
}

static struct reader rule_row_reader(const struct phrase *p, struct arena *a)
{
    return (struct reader){.w = p->w, .to = p->n, .arena = a};
}

/* A row is for the case that its first cell names, and limits what its second column names. */
bool rule_read_row(const struct phrase *head, const struct phrase *row, struct arena *a,
                   struct rule *out)
{
    struct phrase heads[2], cells[2];
    struct reader r[4];
    struct test *t = &out->main;

    *out = (struct rule){.kind = RULE_ROW, .main = {.kind = TEST_LIMIT}};
    out->when = (struct test){.kind = TEST_IS, .row = true};
    if (!rule_row_cells(head, heads) || !rule_row_cells(row, cells))
        return false;
    for (size_t i = 0; i < 4; i++)
        r[i] = rule_row_reader(i < 2 ? &heads[i] : &cells[i - 2], a);
    if (!reader_noun(&r[0], &out->when.noun) || !reader_noun(&r[1], &t->noun) ||
        !reader_value(&r[2], &out->when) || !reader_limit(&r[3], &t->limit) || t->limit.relative)
        return false;
    for (size_t i = 0; i < 4; i++)
        if (!reader_done(&r[i]))
            return false;
    /* "Maximum participants" is their number. */
    return (!t->limit.bare || test_take_bound(t)) && (noun_is_person(&t->noun) || test_fits(t, a));
}
