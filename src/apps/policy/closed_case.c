/* closed_case.c - whether all facts of a case and every word of the criterion were understood. See
 * heuristic.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/heuristic_run.h"

/* Names of facts that only identify: one of the first, beside any of the others. */
#define IDENTIFIERS "name surname id identifier email phone telephone"
#define IDENTIFIED "first last full case policy e mail number"
/* Words of a fact's name or value that may change what another fact says. */
#define QUALIFYING                                                                                 \
    "unit units currency status state remark remarks note notes comment comments date born birth " \
    "birthday dob year years month months week weeks day days hour hours time valid validity "     \
    "expired expiry expires revoked withdrawn suspended cancelled banned ban forged fake not no "  \
    "without former previous current new old actual real true final total sum second third other " \
    "others extra additional added more revised corrected correction changed change changes "      \
    "extension extended effective margin scale basis period frequency interval type kind sort "    \
    "version owner holder spouse husband wife partner child children parent guardian agent "       \
    "representative friend company group role category class level draft pending planned "         \
    "expected estimate estimated approximate approximately reason exception exempt exemption "     \
    "waiver waived special student senior minor trainee learner gross net monthly weekly yearly "  \
    "annual daily percent percentage rate ratio average minimum maximum min max limit count "      \
    "number age method mode source condition damage damaged broken resigned supervisor "           \
    "unregistered registered booked bookings elsewhere after before since until from to only"
#define FOREIGN_WORDS_MAX 3
#define FOREIGN_FACTS_MAX 64 /* of a case; each is looked for in the whole document */
/* Words of a criterion that say nothing. */
#define CRITERION_SAYS "a an the of for to in on at and s"
#define CRITERION_WANTS "must be required is are has have needed"

/* ---- facts ---- */

static bool closed_identifies(const struct noun *name)
{
    bool found = false;

    for (size_t i = 0; i < name->n; i++) {
        found = found || word_among(name->words[i], IDENTIFIERS);
        if (!word_among(name->words[i], IDENTIFIERS) && !word_among(name->words[i], IDENTIFIED) &&
            !word_names_person(name->words[i]))
            return false;
    }
    return found;
}

/* Whether a rule has a noun that is the fact's name. */
static bool closed_binds(const struct rule *r, const struct fact *f)
{
    const struct test *t;
    bool dropped = false;

    for (size_t i = 0; (t = rule_test(r, i)); i++) {
        if (fact_is_named(f, &t->noun, &dropped) ||
            (t->limit.relative && fact_is_named(f, &t->limit.other, &dropped)))
            return true;
        /* "The application must be signed" names application_signed. */
        for (size_t k = 0; k < t->value_n; k++) {
            struct noun named = noun_with_value(t, k);

            if (fact_is_named(f, &named, &dropped))
                return true;
        }
    }
    return false;
}

/* Whether no word of a text is in the document or in the name of another fact, or qualifies. */
static bool closed_is_elsewhere(const struct run *x, const struct fact *f, const struct word *w,
                                size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (w[i].kind != WORD_TEXT || word_among(&w[i], QUALIFYING))
            return false;
        for (size_t k = 0; k < x->scope.n && !word_stops(&w[i]); k++)
            if (words_text_has(x->scope.all[k].text, &w[i]) ||
                words_text_has(x->scope.all[k].node->title_path, &w[i]))
                return false;
        for (size_t k = 0; k < x->facts.n; k++)
            if (&x->facts.all[k] != f && words_text_has(x->facts.all[k].field->name, &w[i]))
                return false;
    }
    return true;
}

/* Whether a fact is plainly about something else: "city" beside "age". */
static bool closed_is_unrelated(const struct run *x, const struct fact *f)
{
    const struct policy_value *v = &f->field->value;
    struct word *name, *value = NULL;
    size_t n = words_of_full_name(f->field->name, x->a, &name), m = 0;

    if (v->kind == POLICY_TEXT)
        m = words_of(v->text, x->a, &value);
    return v->kind == POLICY_TEXT && x->facts.n <= FOREIGN_FACTS_MAX && n <= FOREIGN_WORDS_MAX &&
           m <= FOREIGN_WORDS_MAX && closed_is_elsewhere(x, f, name, n) &&
           closed_is_elsewhere(x, f, value, m);
}

const struct fact *heuristic_foreign_fact(const struct run *x)
{
    for (size_t i = 0; i < x->facts.n; i++) {
        const struct fact *f = &x->facts.all[i];
        bool known = closed_identifies(&f->name) || closed_is_unrelated(x, f);

        for (size_t k = 0; k < x->scope.n && !known; k++)
            known = x->scope.all[k].rule && closed_binds(x->scope.all[k].rule, f);
        if (!known)
            return f;
    }
    return NULL;
}

/* ---- the criterion ---- */

/* A word that a rule's topic may have: of its nouns, its titles, or its only value. */
static bool closed_topic_has(const struct reading *r, const struct word *w)
{
    const struct test *t = &r->rule->main;

    if (words_text_has(r->node->title_path, w) || rule_names(r->rule, w, true))
        return true;
    if (t->value_n == 1 && word_find(t->values[0].w, t->values[0].n, w) < t->values[0].n)
        return true;
    if (word_among(w, CRITERION_WANTS))
        return !t->not_;
    return r->lead && r->lead->rule && closed_topic_has(r->lead, w);
}

bool heuristic_asks_for(const struct run *x, const struct reading *r)
{
    const struct noun *noun = &r->rule->main.noun;
    struct word *w;
    size_t n = words_of_full_name(scope_criterion(x->out->criterion_id), x->a, &w);
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        size_t place = noun_find(noun, &w[i]);

        /* The words are in the order of the noun: a guest reservation is no reserved guest. */
        if (place < at && !word_is(&w[i], "of"))
            return false;
        at = place < noun->n ? place : word_is(&w[i], "of") ? 0 : at;
        if (w[i].kind == WORD_MARK || word_among(&w[i], CRITERION_SAYS))
            continue;
        if (!closed_topic_has(r, &w[i]) && !scope_word_numbers(&w[i]))
            return false;
    }
    return true;
}
