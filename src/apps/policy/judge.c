/* judge.c - a clause held against the facts. See judge.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/judge.h"

#define BY_VALUE 0.97
#define LOOSELY 0.93

static void policy_judge_merge(struct used *into, const struct used *from)
{
    for (size_t i = 0; i < from->n; i++)
        used_add(into, from->facts[i], from->quality);
}

static void policy_judge_say(const struct judge *j, struct verdict *v, const char *text)
{
    v->why = v->why.n > 0 ? arena_printf(j->arena, STR_FMT "; %s", STR_ARG(v->why), text)
                          : arena_dup(j->arena, str_c(text));
}

static void say_facts(const struct judge *j, struct verdict *v, const struct used *u,
                      const char *what)
{
    struct buf b;

    buf_init(&b, 2000);
    for (size_t i = 0; i < u->n; i++) {
        const struct policy_field *f = u->facts[i]->field;
        str value = f->value.kind == POLICY_TEXT ? f->value.text : f->raw;

        buf_printf(&b,
                   "%s" STR_FMT " is " STR_FMT,
                   i > 0 ? ", " : "",
                   STR_ARG(f->name),
                   STR_ARG(str_slice(value, 0, 80)));
    }
    buf_printf(&b, "%s%s", u->n > 0 ? ": " : "", what);
    buf_add_c(&b, 0);
    policy_judge_say(j, v, b.p ? b.p : what);
    buf_release(&b);
}

/* Whom the clause is about: those of a value, or all. */
static enum truth subject(const struct judge *j, const struct word *w, const struct clause *c,
                          struct used *used)
{
    size_t end = c->modal < c->main.to ? c->modal : c->main.from;
    struct range r = {c->main.from, end};
    struct bound b[BOUNDS_MAX];
    enum truth t = TRUTH_UNKNOWN;

    while (r.to > r.from &&
           word_among(&w[r.to - 1], "is are be been not never currently also still"))
        r.to--;
    if (range_has(w, r, "all any every including regardless other no"))
        return TRUTH_UNKNOWN;
    for (size_t i = 0; i < j->facts->n; i++) {
        const struct fact *f = &j->facts->all[i];

        if (fact_valued(f, w, r.from, r.to)) {
            used_add(used, f, BY_VALUE);
            return TRUTH_YES;
        }
        if (fact_contrasts(f, w, r.from, r.to)) {
            used_add(used, f, BY_VALUE);
            t = TRUTH_NO;
        }
    }
    for (size_t at = r.from; at < r.to && t == TRUTH_UNKNOWN; at++)
        if (word_among(&w[at], "with having whose who") && /* patients with diabetes must */
            !(c->kind == CLAUSE_PERMIT && bounds_of(w, at, r.to, b) > 0))
            t = judge_condition(j, w, (struct range){at + 1, r.to}, used);
    return t;
}

/* "The license must not be expired": what stands behind "be". */
static struct range behind_be(const struct word *w, struct range r)
{
    for (size_t i = r.from; i + 1 < r.to; i++)
        if (word_is(&w[i], "be"))
            return (struct range){i + 1, r.to};
    return r;
}

/* A word or two for each of them: all that a value may be compared with. */
static bool is_short(const struct word *w, struct range r)
{
    size_t content = 0, elements = 1;

    for (size_t i = r.from; i < r.to; i++) {
        content += w[i].kind != WORD_MARK && !word_stops(&w[i]);
        elements += word_among(&w[i], ", or");
    }
    return content > 0 && content <= 2 * elements;
}

/* Whether something a fact names is the case that the words forbid or are "without". */
static enum truth named_by(const struct judge *j, const struct word *w, struct range r, bool loose,
                           struct used *used)
{
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(w, r.from, r.to, b);
    struct range said = behind_be(w, r);
    bool denied = range_has(w, r, "no"); /* "no prior claims": 0 of them are none */
    enum truth t = TRUTH_UNKNOWN;

    for (size_t i = 0; i < j->facts->n; i++) {
        const struct fact *f = &j->facts->all[i];
        bool yes;

        if (!(fact_named(f, w, r.from, r.to, loose) && (!loose || f->is_number)) &&
            !(loose && fact_stated(f, w, r.from, r.to)))
            continue;
        if (f->is_number && n > 0)
            yes = bound_holds(&b[0], f->number, f->unit);
        else if (f->is_bool || f->none || (denied && f->field->value.kind == POLICY_NUMBER))
            yes = fact_present(f);
        else if (judge_member(f, w, said, j->arena) == TRUTH_YES)
            yes = true;
        else if (said.from > r.from && !f->is_number && is_short(w, said))
            yes = false;
        else
            continue; /* a text that is not the one which is named, a number without a bound */
        used_add(used, f, loose ? LOOSELY : 1.0);
        t = yes || t == TRUTH_YES ? TRUTH_YES : TRUTH_NO;
    }
    return t;
}

static enum truth named_case(const struct judge *j, const struct word *w, struct range r,
                             struct used *used)
{
    enum truth t = named_by(j, w, r, false, used);

    return t == TRUTH_UNKNOWN ? named_by(j, w, r, true, used) : t;
}

/* Guard and subject as one; *linked: whether any fact decided. */
static enum truth applies(const struct judge *j, const struct word *w, const struct clause *c,
                          struct used *used)
{
    enum truth s = subject(j, w, c, used), g = TRUTH_YES;

    if (s == TRUTH_NO)
        return TRUTH_NO;
    if (!range_empty(c->guard))
        g = judge_condition(j, w, c->guard, used);
    return g;
}

/* Whether a fact could be held against it: it has a number that compares, or a list. */
static bool measures(const struct reading *r, const struct clause *c)
{
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(r->w, c->main.from, c->main.to, b);

    for (size_t i = 0; i < n; i++)
        if (!b[i].bare)
            return true;
    return range_has(r->w, c->main, "either following");
}

/* Whether none of them is a text: a yes or no, a number. */
static bool plain_facts(const struct used *u)
{
    for (size_t i = 0; i < u->n; i++)
        if (!u->facts[i]->is_bool && !u->facts[i]->is_number)
            return false;
    return true;
}

/* "except in A where it may be up to N": another number instead of none. */
static enum truth excepted(const struct reading *r, const struct clause *c, const struct used *u)
{
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(r->w, c->except.from, c->except.to, b);

    for (size_t i = 0; i < u->n; i++)
        for (size_t k = 0; k < n && u->facts[i]->is_number; k++)
            if (!b[k].bare && !bound_holds(&b[k], u->facts[i]->number, u->facts[i]->unit))
                return TRUTH_NO;
    return TRUTH_YES;
}

static void judge_require_clause(const struct judge *j, const struct reading *r,
                                 const struct clause *c, struct verdict *v)
{
    struct used guard = {.quality = 1}, except = {.quality = 1};
    enum truth x = TRUTH_NO, g, t;
    bool disagree = false;

    g = applies(j, r->w, c, &guard);
    if (!range_empty(c->except))
        x = judge_condition(j, r->w, c->except, &except);
    t = judge_require(j, r, c, &v->used, &disagree, &v->why);
    if (x == TRUTH_YES)
        x = excepted(r, c, &v->used);
    if (g == TRUTH_NO) {
        v->used = guard;
        v->why = STR("");
        v->weak = true;
        v->found = c->verb && plain_facts(&guard) ? FOUND_HOLDS : FOUND_NOTHING;
        say_facts(j, v, &guard, "it is not required");
        return;
    }
    if (v->used.n > 0 || t != TRUTH_UNKNOWN)
        policy_judge_merge(&v->used, &guard);
    if (disagree) {
        v->found = FOUND_DISAGREES;
    } else if (x == TRUTH_YES && t != TRUTH_YES) {
        say_facts(j, v, &except, "the exception applies");
        policy_judge_merge(&except, &v->used); /* what it rests on first */
        v->used = except;
        v->found = FOUND_HOLDS;
        v->waived = true;
    } else if (t == TRUTH_YES) {
        v->found = FOUND_HOLDS;
    } else if (t == TRUTH_NO) {
        v->found = g == TRUTH_YES ? FOUND_BROKEN : FOUND_OPEN;
        if (!range_empty(c->except) && x == TRUTH_NO)
            say_facts(j, v, &except, "the exception does not apply");
        policy_judge_merge(&v->used, &except);
    } else {
        v->weak = v->used.n == 0 && except.n == 0;
        v->found = v->weak && !measures(r, c) ? FOUND_NOTHING : FOUND_OPEN;
        policy_judge_merge(&v->used, &except);
        if (v->found == FOUND_NOTHING && g == TRUTH_YES && guard.n > 0 && !c->verb) {
            policy_judge_merge(
                &v->used, &guard); /* "if the status is A, B": that much is said of this case */
            v->found = FOUND_HOLDS;
            v->weak = true;
        }
    }
}

static void judge_forbid_clause(const struct judge *j, const struct reading *r,
                                const struct clause *c, struct verdict *v)
{
    struct used except = {.quality = 1}, guard = {.quality = 1};
    enum truth x = TRUTH_NO, g = TRUTH_YES, s, t;

    s = subject(j, r->w, c, &v->used);
    t = s == TRUTH_NO ? TRUTH_NO : named_case(j, r->w, c->main, &v->used);
    if (t == TRUTH_UNKNOWN)
        t = s;
    if (!range_empty(c->guard))
        g = judge_condition(j, r->w, c->guard, &guard);
    if (!range_empty(c->except))
        x = judge_condition(j, r->w, c->except, &except);
    policy_judge_merge(&v->used, &guard);
    if (v->used.n == 0 && except.n == 0)
        return; /* nothing of it is known */
    if (t == TRUTH_UNKNOWN && (!range_empty(c->guard) || except.n > 0))
        t = TRUTH_YES; /* what is forbidden is what is asked about */
    if (x == TRUTH_YES) {
        policy_judge_merge(&v->used, &except);
        say_facts(j, v, &except, "the exception applies");
        v->found = FOUND_HOLDS;
        v->waived = true;
    } else if (t == TRUTH_NO || g == TRUTH_NO) {
        say_facts(j, v, &v->used, "not what the policy forbids");
        v->weak = g == TRUTH_NO || s == TRUTH_NO;
        /* Another case of several is none of this one. */
        v->found = g == TRUTH_NO && !plain_facts(&guard) ? FOUND_NOTHING : FOUND_HOLDS;
    } else if (g == TRUTH_YES && x == TRUTH_NO && t == TRUTH_YES) {
        policy_judge_merge(&v->used, &except);
        say_facts(j, v, &v->used, "what the policy forbids");
        v->found = FOUND_BROKEN;
    } else {
        v->found = FOUND_OPEN;
    }
}

/* The condition that stands in the main part: "within 24 hours of booking". */
static enum truth inner(const struct judge *j, const struct reading *r, const struct clause *c,
                        struct used *used)
{
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(r->w, c->main.from, c->main.to, b);

    for (size_t i = 0; i < n; i++)
        if (b[i].condition) {
            struct range part = {b[i].from, i + 1 < n ? b[i + 1].from : c->main.to};

            return judge_condition(j, r->w, part, used);
        }
    return TRUTH_UNKNOWN;
}

static bool has_cap(const struct word *w, const struct clause *c)
{
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(w, c->main.from, c->main.to, b);

    for (size_t i = 0; i < n; i++)
        if (!b[i].condition && !b[i].bare)
            return true;
    return false;
}

static bool has_inner(const struct word *w, const struct clause *c)
{
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(w, c->main.from, c->main.to, b);

    for (size_t i = 0; i < n; i++)
        if (b[i].condition)
            return true;
    return false;
}

/* "Only residents of A or B are eligible": whoever the facts name is one of them, or is not. */
static enum truth among_only(const struct judge *j, const struct word *w, const struct clause *c,
                             struct used *used)
{
    struct range r = {c->main.from + 1, c->modal};
    enum truth t = TRUTH_UNKNOWN;

    for (size_t i = 0; i < j->facts->n; i++) {
        const struct fact *f = &j->facts->all[i];
        bool named = fact_named(f, w, r.from, r.to, true), yes;

        if (f->is_bool ? !named : !named && !fact_valued(f, w, r.from, r.to))
            continue;
        yes = f->is_bool
                  ? f->yes
                  : judge_member(f, w, r, j->arena) == TRUTH_YES || fact_valued(f, w, r.from, r.to);
        used_add(used, f, named ? 1.0 : BY_VALUE);
        t = yes ? TRUTH_YES : t == TRUTH_YES ? TRUTH_YES : TRUTH_NO;
    }
    return t;
}

/* "Covered diagnoses include A, B and C": a fact that is named before a list is in it, or not. */
static enum truth policy_judge_listed(const struct judge *j, const struct word *w,
                                      const struct clause *c, struct used *used)
{
    size_t at = c->main.from;
    enum truth t = TRUTH_UNKNOWN;
    struct range list;

    if (range_has(w, c->main, ":"))
        while (!word_is(&w[at], ":"))
            at++;
    while (at < c->main.to && !word_among(&w[at], "include includes are : following"))
        at++;
    list = (struct range){at + 1 < c->main.to ? at + 1 : c->main.to, c->main.to};
    if (!range_has(w, list, ", or and") || range_has(w, list, "if when can may must"))
        return TRUTH_UNKNOWN;
    for (size_t i = 0; i < j->facts->n; i++) {
        const struct fact *f = &j->facts->all[i];
        enum truth one;

        if (f->is_bool || f->none || f->field->value.kind == POLICY_NUMBER ||
            !fact_named(f, w, c->main.from, at, false))
            continue;
        one = judge_member(f, w, list, j->arena);
        if (one == TRUTH_UNKNOWN)
            continue;
        used_add(used, f, 1.0);
        t = one == TRUTH_NO || t == TRUTH_NO ? TRUTH_NO : TRUTH_YES;
    }
    return t;
}

/* "Applicants with a license are eligible": who has none is not. */
static bool lacks(const struct judge *j, const struct word *w, const struct clause *c,
                  struct used *used)
{
    struct range r = {c->main.from, c->modal};

    if (c->modal >= c->main.to ||
        !word_among(&w[c->modal], "eligible covered qualify qualifies entitled accepted"))
        return false;
    while (r.from < r.to && !word_among(&w[r.from], "with having whose who"))
        r.from++;
    r.from += r.from < r.to;
    while (r.to > r.from && word_among(&w[r.to - 1], "is are be"))
        r.to--;
    return !range_empty(r) && judge_condition(j, w, r, used) == TRUTH_NO;
}

static void judge_permit_clause(const struct judge *j, const struct reading *r,
                                const struct clause *c, struct verdict *v)
{
    struct used guard = {.quality = 1}, except = {.quality = 1};
    bool only = c->modal < c->main.to && word_is(&r->w[c->main.from], "only");
    enum truth s = only ? TRUTH_UNKNOWN : subject(j, r->w, c, &guard);
    enum truth g = only ? among_only(j, r->w, c, &guard) : TRUTH_YES, w = TRUTH_NO;

    if (s == TRUTH_NO) {
        if (lacks(j, r->w, c, &v->used)) {
            v->found = FOUND_REFUSES;
            say_facts(j, v, &v->used, "the condition does not hold");
        }
        return;
    }
    if (!only && policy_judge_listed(j, r->w, c, &guard) == TRUTH_NO)
        w = TRUTH_YES;
    if (!range_empty(c->guard))
        g = judge_condition(j, r->w, c->guard, &guard);
    if (has_inner(r->w, c)) {
        enum truth in = inner(j, r, c, &guard);

        if (range_empty(c->guard))
            g = in;
        else if (c->or_guard)
            g = in == TRUTH_YES || g == TRUTH_YES ? TRUTH_YES
                : in == TRUTH_NO && g == TRUTH_NO ? TRUTH_NO
                                                  : TRUTH_UNKNOWN;
        else
            g = in == TRUTH_NO || g == TRUTH_NO     ? TRUTH_NO
                : in == TRUTH_YES && g == TRUTH_YES ? TRUTH_YES
                                                    : TRUTH_UNKNOWN;
    }
    if (!range_empty(c->without) && w == TRUTH_NO)
        w = named_case(j, r->w, c->without, &guard);
    (void)named_case(j, r->w, c->main, &guard);
    if (!range_empty(c->except) && judge_condition(j, r->w, c->except, &except) == TRUTH_YES) {
        v->used = except;
        v->found = FOUND_REFUSES;
        say_facts(j, v, &except, "what the policy excepts");
        return;
    }
    policy_judge_merge(&v->used, &guard);
    v->weak = v->used.n == 0;
    if (g == TRUTH_NO || w == TRUTH_YES) {
        v->found = FOUND_REFUSES;
        say_facts(j, v, &guard, "the condition does not hold");
    } else if (g == TRUTH_YES) {
        v->found = FOUND_PERMITS;
        say_facts(j, v, &guard, "the policy permits it");
    } else {
        v->found = FOUND_ASKS;
    }
}

/* "X are exempt from", "it does not apply to X", "is not required for X": the X. */
static struct range who_is_exempt(const struct word *w, const struct clause *c)
{
    size_t verb = c->main.from, to;

    while (verb < c->main.to && !word_among(&w[verb],
                                            "waived waive waives exempt exempted bypassed "
                                            "required necessary needed apply applies "
                                            "applicable"))
        verb++;
    to = verb;
    while (to < c->main.to && !word_among(&w[to], "for to"))
        to++;
    return to < c->main.to ? (struct range){to + 1, c->main.to}
                           : (struct range){c->main.from, verb};
}

static void judge_waive_clause(const struct judge *j, const struct reading *r,
                               const struct clause *c, struct verdict *v)
{
    struct range part = !range_empty(c->guard) ? c->guard : who_is_exempt(r->w, c);
    enum truth t = judge_condition(j, r->w, part, &v->used);

    if (t != TRUTH_YES || v->used.n == 0) {
        v->used.n = 0;
        return;
    }
    say_facts(j, v, &v->used, "the requirement is waived");
    v->found = FOUND_WAIVES;
}

/* "must not exceed the property value" says how two facts must be. */
static bool relates(const struct judge *j, const struct reading *r, const struct clause *c)
{
    struct used used = {.quality = 1};
    struct relation rel;

    judge_relation(j, r->w, (struct range){0, r->n}, c->main, &used, &rel);
    return rel.shaped;
}

void judge_clause(const struct judge *j, const struct reading *r, const struct clause *c,
                  struct verdict *out)
{
    *out = (struct verdict){.why = STR("")};
    out->used.quality = 1;
    switch (c->kind) {
    case CLAUSE_NONE:
        return;
    case CLAUSE_REQUIRE:
        judge_require_clause(j, r, c, out);
        return;
    case CLAUSE_FORBID:
        if (relates(j, r, c))
            judge_require_clause(j, r, c, out);
        else
            judge_forbid_clause(j, r, c, out);
        return;
    case CLAUSE_WAIVE:
        judge_waive_clause(j, r, c, out);
        return;
    case CLAUSE_PERMIT:
        if (has_cap(r->w, c)) {
            judge_require_clause(j, r, c, out);
            if (out->found != FOUND_NOTHING)
                return;
            *out = (struct verdict){.why = STR(""), .used = {.quality = 1}};
        }
        judge_permit_clause(j, r, c, out);
        return;
    }
}

/* Each item as a condition: all of them, or any. */
static enum truth items_hold(const struct judge *j, const struct reading *lead, bool any,
                             struct verdict *v)
{
    enum truth t = any ? TRUTH_NO : TRUTH_YES;

    for (size_t i = 0; i < lead->item_n; i++) {
        const struct reading *r = &lead->items[i];
        struct used used = {.quality = 1};
        struct clause c = {.kind = CLAUSE_REQUIRE, .main = {0, r->n}};
        bool disagree = false;
        str why = STR("");
        enum truth one = judge_require(j, r, &c, &used, &disagree, &why);

        if (one == TRUTH_UNKNOWN)
            one = judge_condition(j, r->w, (struct range){0, r->n}, &used);
        if (any)
            t = t == TRUTH_YES || one == TRUTH_YES ? TRUTH_YES
                : t == TRUTH_NO && one == TRUTH_NO ? TRUTH_NO
                                                   : TRUTH_UNKNOWN;
        else
            t = t == TRUTH_NO || one == TRUTH_NO     ? TRUTH_NO
                : t == TRUTH_YES && one == TRUTH_YES ? TRUTH_YES
                                                     : TRUTH_UNKNOWN;
        policy_judge_merge(&v->used, &used);
    }
    return t;
}

/* A fact that the lead names, against the items as the values it may have. */
static enum truth items_list(const struct judge *j, const struct reading *lead, struct range names,
                             struct verdict *v)
{
    enum truth t = TRUTH_UNKNOWN;

    for (size_t i = 0; i < j->facts->n; i++) {
        const struct fact *f = &j->facts->all[i];
        enum truth one = TRUTH_NO;

        if (!fact_named(f, lead->w, names.from, names.to, false) || f->is_bool)
            continue;
        for (size_t k = 0; k < lead->item_n && one == TRUTH_NO; k++)
            one = judge_member(f, lead->items[k].w, (struct range){0, lead->items[k].n}, j->arena);
        if (one == TRUTH_UNKNOWN)
            continue;
        used_add(&v->used, f, 1.0);
        t = one == TRUTH_NO ? TRUTH_NO : t == TRUTH_NO ? TRUTH_NO : one;
    }
    return t;
}

void judge_group(const struct judge *j, const struct reading *lead, const struct clause *c,
                 struct verdict *out)
{
    struct range whole = {0, lead->n};
    bool any = range_has(lead->w, whole, "any one either unless");
    bool waives = c->kind == CLAUSE_WAIVE || range_has(lead->w, whole, "unless except");
    bool forbids = c->kind == CLAUSE_FORBID;
    enum truth t;

    *out = (struct verdict){.why = STR("")};
    out->used.quality = 1;
    /* "... unless one of the following applies": the items are of the exception. */
    t = items_list(j, lead, range_empty(c->except) ? whole : c->except, out);
    if (t == TRUTH_UNKNOWN)
        t = items_hold(j, lead, any || waives || forbids, out);
    if (t == TRUTH_UNKNOWN) {
        out->found = waives || forbids ? FOUND_NOTHING : FOUND_OPEN;
        out->weak = out->used.n == 0;
    } else if (waives) {
        out->found = t == TRUTH_YES ? FOUND_WAIVES : FOUND_NOTHING;
    } else {
        out->found = (t == TRUTH_YES) != forbids ? FOUND_HOLDS : FOUND_BROKEN;
    }
    say_facts(j,
              out,
              &out->used,
              t == TRUTH_YES  ? "in the policy's list"
              : t == TRUTH_NO ? "not in the policy's list"
                              : "not enough for the policy's list");
}
