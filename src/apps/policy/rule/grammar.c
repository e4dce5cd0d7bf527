/* grammar.c - a sentence as a rule. See rule.h.
 *
 * Around the main clause (forms.c): conditions (if, when, only if), exceptions (unless, except
 * for), and two main clauses joined by "and" or "or". Besides, the sentences that are no
 * requirements: waivers, definitions, leads of lists, notes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rule/reader.h"

#define SENTENCE_WORDS_MAX 80
#define LABEL_WORDS_MAX 5

/* One main clause, or several joined by the same word. */
static bool grammar_main(struct reader *r, const char *join, struct rule *out)
{
    size_t before = out->main.n;

    if (form_read(r, out))
        return true;
    for (size_t i = r->at + 1; i + 1 < r->to; i++) {
        struct reader left = *r, right = *r;
        const char *word = word_is(&r->w[i], "and") ? "and" : "or";

        if (!word_among(&r->w[i], "and or") || (join && strcmp(join, word) != 0))
            continue;
        left.to = i - (i > r->at + 1 && word_is(&r->w[i - 1], ","));
        if (!form_read(&left, out) || out->kind != RULE_REQUIRE || out->wants_items) {
            out->main.n = before;
            continue;
        }
        right.at = i + 1;
        right.person = left.person;
        right.mixed = left.mixed;
        if (grammar_main(&right, word, out) && out->kind == RULE_REQUIRE && !out->wants_items) {
            out->main.any = word[0] == 'o';
            *r = right;
            return true;
        }
        out->main.n = before;
    }
    return false;
}

/* A reader of the words after `at`, with the state of the words before. */
static struct reader grammar_part(const struct reader *r, size_t at, size_t to)
{
    struct reader part = *r;

    part.at = at;
    part.to = to;
    return part;
}

static void grammar_keep(struct reader *r, const struct reader *part)
{
    r->person = part->person;
    r->mixed = r->mixed || part->mixed;
}

/* Exceptions of a main clause: "unless COND", "except for NOUN". */
static bool grammar_exception(struct reader *r, struct rule *out)
{
    struct noun noun;

    out->has_unless = true;
    if (reader_take(r, "unless") || reader_take(r, "except if") || reader_take(r, "except when")) {
        if ((reader_take(r, "one of the following") || reader_take(r, "any of the following")) &&
            (reader_take_one(r, "applies apply") || reader_take(r, "is present"))) {
            out->unless.any = out->wants_items = true;
            return reader_done(r);
        }
        return reader_condition(r, &out->unless);
    }
    if (!reader_take(r, "except for") || !reader_noun(r, &noun) || !reader_done(r))
        return false;
    out->unless.n = 1;
    out->unless.all[0] = (struct test){.kind = TEST_PRESENT, .noun = noun};
    return true;
}

/* The main clause and the clauses after it. */
static bool grammar_clause(struct reader *r, struct rule *out)
{
    size_t k = r->at;
    struct reader left, rest;
    struct noun allowed;

    while (k < r->to && !word_among(&r->w[k], "unless except if when only"))
        k++;
    if (k == r->to || k == r->at)
        return grammar_main(r, NULL, out);
    left = grammar_part(r, r->at, k - word_is(&r->w[k - 1], ","));
    if (word_among(&r->w[k], "unless except")) {
        if (!grammar_main(&left, NULL, out) || out->kind != RULE_REQUIRE || out->wants_items)
            return false;
        rest = grammar_part(&left, k, r->to);
        grammar_keep(r, &rest);
        if (!grammar_exception(&rest, out))
            return false;
        grammar_keep(r, &rest);
        return true;
    }
    rest = grammar_part(r, k, r->to);
    if (reader_take(&rest, "only if") || reader_take(&rest, "only when")) {
        out->kind = RULE_REQUIRE;
        return form_read_allowed(&left, &out->allowed) && reader_condition(&rest, &out->main) &&
               (grammar_keep(r, &rest), true);
    }
    if (!reader_take_one(&rest, "if when"))
        return false;
    if (form_read_allowed(&left, &allowed)) {
        out->kind = RULE_PERMIT;
        return reader_condition(&rest, &out->main);
    }
    left = grammar_part(r, r->at, k - word_is(&r->w[k - 1], ","));
    out->has_when = true;
    if (out->has_unless || !grammar_main(&left, NULL, out) || out->kind != RULE_REQUIRE ||
        out->wants_items || !reader_condition(&rest, &out->when))
        return false;
    grammar_keep(r, &left);
    grammar_keep(r, &rest);
    return true;
}

/* "If COND, MAIN", "Unless COND, MAIN". */
static bool grammar_conditional(struct reader *r, struct rule *out)
{
    bool when = reader_take_one(r, "if when"), unless = !when && reader_take(r, "unless");
    struct reader condition;
    size_t k = r->at;

    if (!when && !unless)
        return grammar_clause(r, out);
    while (k < r->to && !word_is(&r->w[k], ","))
        k++;
    condition = grammar_part(r, r->at, k);
    if (k == r->to || !reader_condition(&condition, when ? &out->when : &out->unless))
        return false;
    grammar_keep(r, &condition);
    r->at = k + 1;
    if (unless) {
        if (!grammar_main(r, NULL, out))
            return false;
    } else if (!grammar_clause(r, out) || out->has_when) {
        return false;
    }
    out->has_when = when;
    out->has_unless = out->has_unless || unless;
    return out->kind == RULE_REQUIRE && !out->wants_items;
}

/* ---- sentences that are no requirements ---- */

static bool tests_present(struct reader *r, struct tests *out)
{
    struct noun noun, thing;

    if (!reader_noun(r, &noun))
        return false;
    if (noun_is_person(&noun) && reader_take(r, "with") &&
        !(reader_noun(r, &thing) && noun_join(&noun, &thing)))
        return false;
    *out = (struct tests){.n = 1, .all = {{.kind = TEST_PRESENT, .noun = noun}}};
    return reader_done(r);
}

/* This requirement is waived if COND. This does not apply to members with NOUN. Students are
 * exempt from the income requirement. */
static bool grammar_waiver(struct reader *r, struct rule *out)
{
    struct reader start = *r;
    struct noun of;

    out->kind = RULE_WAIVE;
    out->has_when = true;
    if (reader_take(r, "this")) {
        (void)reader_take_one(r, "requirement rule limit");
        if (reader_take(r, "is waived") || reader_take(r, "does not apply")) {
            if (reader_take_one(r, "if when"))
                return reader_condition(r, &out->when);
            return reader_take_one(r, "to for") && tests_present(r, &out->when);
        }
        return false;
    }
    if (!reader_noun(r, &of) || !reader_take_one(r, "is are") || !reader_take(r, "exempt from")) {
        *r = start;
        return false;
    }
    out->when = (struct tests){.n = 1, .all = {{.kind = TEST_PRESENT, .noun = of}}};
    (void)reader_take(r, "the");
    (void)reader_take_one(r, "minimum maximum");
    if (!reader_noun(r, &of))
        return false;
    if (of.n > 1 && word_among(of.words[of.n - 1], "requirement requirements rule limit"))
        of.n--;
    out->main = (struct tests){.n = 1, .all = {{.kind = TEST_PRESENT, .noun = of}}};
    return reader_done(r);
}

/* A red flag is any of the following: ... Red flags are A, B and C. */
static bool grammar_define(struct reader *r, struct rule *out)
{
    struct test *t = &out->main.all[0];
    bool and_ = false;

    out->kind = RULE_DEFINE;
    out->main.n = 1;
    if (!reader_noun(r, &t->noun) || !reader_take_one(r, "is are"))
        return false;
    t->kind = TEST_IS;
    if (reader_take(r, "any of the following") || reader_take(r, "one of the following")) {
        out->wants_items = true;
        return reader_done(r);
    }
    while (reader_value(r, t) && !reader_done(r)) {
        bool comma = reader_take(r, ",");

        if (reader_take(r, "and"))
            and_ = true;
        else if (!comma)
            return false;
    }
    return and_ && t->value_n > 2 && reader_done(r);
}

/* All of the following must be met: each item is a rule. */
static bool grammar_lead(struct reader *r, struct rule *out)
{
    bool any = reader_take(r, "any of the following") || reader_take(r, "one of the following") ||
               reader_take(r, "at least one of the following");

    if (!any && !reader_take(r, "all of the following") && !reader_take(r, "the following"))
        return false;
    (void)reader_take_one(r, "conditions criteria requirements rules");
    out->kind = any ? RULE_ANY : RULE_ALL;
    if (any && (reader_take(r, "is enough") || reader_take(r, "is sufficient")))
        return reader_done(r);
    return reader_take(r, "must") &&
           (reader_take_one(r, "hold apply") || reader_take(r, "be met") ||
            reader_take(r, "be satisfied")) &&
           reader_done(r);
}

/* It may be electronic. See section Exclusions. This document lists the rules of the pool. Welcome
 * to the gym. The noun of the last three must be in the document's titles. */
static bool grammar_note(struct reader *r, struct rule *out)
{
    out->kind = RULE_NOTE;
    out->main.n = 0;
    if (reader_take(r, "it may be"))
        return reader_take_one(r, "electronic digital written oral handwritten") && reader_done(r);
    if (reader_take(r, "this") && reader_take_one(r, "document policy page section")) {
        if (!reader_take_one(r, "explains describes lists states contains sets") ||
            !reader_take(r, "the") || !reader_take_one(r, "rules requirements conditions criteria"))
            return false;
        if (reader_done(r))
            return true;
        if (!reader_take_one(r, "of for"))
            return false;
    } else if (!reader_take(r, "see section") && !reader_take(r, "welcome to")) {
        return false;
    }
    out->main.n = 1;
    (void)reader_take_one(r, "the our");
    return reader_noun(r, &out->main.all[0].noun) && reader_done(r);
}

/* ---- a sentence ---- */

/* Whether asterisks only emphasize: "**18**". Another one leads to a note that may change the rule:
 * "older*". */
static bool grammar_is_emphasis(const struct word *w, size_t n)
{
    size_t open = 0;

    for (size_t i = 0, size; i < n; i += size) {
        bool before, after;

        for (size = 0; i + size < n && w[i + size].kind == WORD_MARK &&
                       word_is(&w[i + size], "*") &&
                       (size == 0 || w[i + size].from == w[i + size - 1].to);)
            size++;
        if (size == 0) {
            size = 1;
            continue;
        }
        before = i > 0 && w[i - 1].to == w[i].from;
        after = i + size < n && w[i + size].from == w[i + size - 1].to;
        if (open == 0 && after && !(before && w[i - 1].kind != WORD_MARK))
            open = size;
        else if (open == size && before)
            open = 0;
        else
            return false;
    }
    return open == 0;
}

/* Without marks that only decorate, and a number that is repeated: "six (6)". */
static size_t grammar_clean(const struct word *w, size_t n, struct arena *a, struct word **out)
{
    struct word *all = arena_alloc(a, (n + 1) * sizeof all[0]);
    const char *decorates = grammar_is_emphasis(w, n) ? "* _ ` \" '" : "_ ` \" '";
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (w[i].kind == WORD_MARK && word_among(&w[i], decorates))
            continue;
        if (i + 2 < n && kept > 0 && word_is(&w[i], "(") && word_is(&w[i + 2], ")") &&
            w[i + 1].kind == WORD_NUMBER && word_same(&w[i + 1], &all[kept - 1])) {
            i += 2;
            continue;
        }
        all[kept++] = w[i];
    }
    /* "..." goes on. */
    if (kept > 0 && w[n - 1].kind == WORD_MARK && all[kept - 1].kind == WORD_MARK &&
        word_among(&all[kept - 1], ". ! ; :"))
        kept--;
    *out = all;
    return kept;
}

/* A label in front: "Payment: each order ...". */
static size_t grammar_label(const struct word *w, size_t n, struct rule *out)
{
    for (size_t i = 1; i < n && i <= LABEL_WORDS_MAX; i++) {
        if (w[i - 1].kind != WORD_TEXT)
            return 0;
        if (!word_is(&w[i], ":"))
            continue;
        out->label = (struct phrase){w, i};
        return i + 1;
    }
    return 0;
}

static bool (*const sentences[])(struct reader *r, struct rule *out) = {
    grammar_lead, grammar_conditional, grammar_waiver, grammar_define, grammar_note};

static bool grammar_sentence(const struct word *w, size_t n, struct rule *out)
{
    struct phrase label = out->label;

    for (size_t i = 0; i < COUNT_OF(sentences); i++) {
        struct reader r = {.w = w, .to = n};

        *out = (struct rule){.label = label};
        if (!sentences[i](&r, out) || r.mixed)
            continue;
        out->person = r.person;
        return true;
    }
    return false;
}

bool rule_read(const struct word *w, size_t n, struct arena *a, struct rule *out)
{
    struct word *all;
    size_t label;

    *out = (struct rule){0};
    if (n == 0 || word_among(&w[0], "\" `"))
        return false; /* somebody is quoted, or it is an example of a text */
    n = grammar_clean(w, n, a, &all);
    if (n == 0 || n > SENTENCE_WORDS_MAX)
        return false;
    if (grammar_sentence(all, n, out))
        return true;
    label = grammar_label(all, n, out);
    return label > 0 && label < n && grammar_sentence(all + label, n - label, out);
}

bool rule_add_item(struct rule *lead, const struct word *w, size_t n, struct arena *a)
{
    struct test *t = &lead->main.all[lead->main.n - 1];
    struct reader r = {0};
    struct word *all;

    r.to = grammar_clean(w, n, a, &all);
    r.w = all;
    if (lead->has_unless) {
        struct tests *u = &lead->unless;

        if (u->n == RULE_TESTS_MAX || !reader_noun(&r, &u->all[u->n].noun) || !reader_done(&r))
            return false;
        u->all[u->n].kind = TEST_PRESENT;
        u->n++;
        return true;
    }
    if (t->value_n == RULE_VALUES_MAX || r.to == 0 || !grammar_is_emphasis(w, n))
        return false;
    for (size_t i = 0; i < r.to; i++) /* struck out, or in doubt */
        if (r.w[i].kind == WORD_MARK && word_among(&r.w[i], "~ ? ! < > = + # @ ^ |"))
            return false;
    t->values[t->value_n++] = (struct phrase){r.w, r.to};
    return true;
}
