/* clause.c - a sentence taken apart. See clause.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/clause.h"

#define MUST                                                                                       \
    "must shall should need needs needed require requires required necessary mandatory mustn't"
#define MAY                                                                                        \
    "can may could allowed permitted eligible covered qualify qualifies acceptable accepted "      \
    "entitled approved payable reimbursed reimbursable possible refundable returnable "            \
    "transferable renewable"
#define NEVER "cannot can't mustn't shouldn't won't"
#define BAD                                                                                        \
    "prohibited forbidden excluded ineligible denied disallowed refused uncovered unacceptable "   \
    "contraindicated deny"
#define WAIVES "waived waive waives exempt exempted exemption bypass bypassed bypasses"
#define STATES MUST " " MAY " " NEVER " " BAD " " WAIVES

bool range_has(const struct word *w, struct range r, const char *names)
{
    for (size_t i = r.from; i < r.to; i++)
        if (word_among(&w[i], names))
            return true;
    return false;
}

static size_t find_word(const struct word *w, size_t from, size_t to, const char *names)
{
    while (from < to && !word_among(&w[from], names))
        from++;
    return from;
}

static bool has_verb(const struct word *w, size_t from, size_t to)
{
    return find_word(w, from, to, STATES) < to;
}

/* Where what began with "if" at `from` ends: the comma before what follows from it. Commas inside a
 * list ("A, B, or C") are none. */
static size_t lead_end(const struct word *w, size_t from, size_t to)
{
    size_t verb = find_word(w, from, to, STATES), after = from;

    for (size_t i = from; verb < to && i + 1 < verb; i++)
        if (word_is(&w[i], ",") && word_among(&w[i + 1], "and or"))
            after = i + 1;
    for (size_t i = after; i + 1 < to; i++)
        if ((word_is(&w[i], ",") && !word_among(&w[i + 1], "and or")) ||
            word_among(&w[i], "then :"))
            return i;
    return to;
}

static void take_except(const struct word *w, struct clause *c)
{
    size_t at = find_word(w, c->main.from, c->main.to, "unless except excepting barring");

    if (at == c->main.to)
        return;
    if (at == c->main.from) {
        size_t end = lead_end(w, at + 1, c->main.to);

        c->except = (struct range){at + 1, end};
        c->main.from = end + 1 < c->main.to ? end + 1 : c->main.to;
    } else {
        c->except = (struct range){at + 1, c->main.to};
        c->main.to = at;
    }
    while (c->except.from < c->except.to &&
           word_among(&w[c->except.from], "if when where that for in case cases with of"))
        c->except.from++;
}

/* "if" and its like between `from` and `to`; skips "even if". */
static size_t find_if(const struct word *w, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        bool even = i > from && word_among(&w[i - 1], "even as");

        if (word_among(&w[i], "if when whenever provided once") && !even &&
            !(word_is(&w[i], "provided") && i + 1 < to && !word_is(&w[i + 1], "that")))
            return i;
        if (i + 3 <= to && word_among(&w[i], "as so") && word_is(&w[i + 1], "long") &&
            word_is(&w[i + 2], "as"))
            return i + 2;
    }
    return to;
}

static void take_guard(const struct word *w, struct clause *c)
{
    size_t first = c->main.from, at;

    while (first < c->main.to && word_among(&w[first], "otherwise however , and but also then"))
        first++;
    c->otherwise =
        first > c->main.from && range_has(w, (struct range){c->main.from, first}, "otherwise");
    at = find_if(w, first, c->main.to);
    if (first < c->main.to && word_among(&w[first], "for in where") &&
        lead_end(w, first, c->main.to) < c->main.to && at > lead_end(w, first, c->main.to))
        at = first; /* "For gold members, ..." */
    if (at == c->main.to)
        return;
    if (at == first) {
        size_t end = lead_end(w, at + 1, c->main.to);

        if (end == c->main.to)
            return; /* nothing follows from it */
        c->guard = (struct range){at + 1, end};
        c->main.from = end + 1;
        return;
    }
    c->guard = (struct range){at + 1, c->main.to};
    c->main.to = at;
    while (c->main.to > c->main.from && word_among(&w[c->main.to - 1], "only , or and but")) {
        c->only = c->only || word_is(&w[c->main.to - 1], "only");
        c->or_guard = c->or_guard || word_is(&w[c->main.to - 1], "or");
        c->main.to--;
    }
    while (c->guard.from < c->guard.to && word_is(&w[c->guard.from], "that"))
        c->guard.from++;
}

/* "Trips longer than 5 days require approval", "receipts are required for expenses over $25": the
 * number says when, if what is required is something else. */
static void take_case(const struct word *w, struct clause *c)
{
    size_t at = find_word(w, c->main.from, c->main.to, STATES), after = at + 1, content = 0;
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(w, c->main.from, c->main.to, b);

    if (at == c->main.to || !range_empty(c->guard) || n != 1 || b[0].bare)
        return;
    if (b[0].from == c->main.from && !b[0].over && !b[0].under)
        return; /* "At least 3 weeks of notice must be given": it is what is required */
    if (word_among(&w[at], "required needed necessary mandatory")) {
        after = find_word(w, at, c->main.to, "for on");
        if (after < b[0].from && b[0].at > after) {
            c->guard = (struct range){after + 1, c->main.to};
            c->main.to = after;
        }
        return;
    }
    for (; after < c->main.to; after++)
        content += w[after].kind == WORD_TEXT && !word_stops(&w[after]);
    if (b[0].at < at && content > 0 &&
        word_among(&w[at], "must shall should need needs require requires")) {
        c->guard = (struct range){c->main.from, at};
        c->main.from = at;
    }
}

static void take_without(const struct word *w, struct clause *c)
{
    size_t at = find_word(w, c->main.from, c->main.to, "without");

    if (at == c->main.to || at == c->main.from)
        return;
    c->without = (struct range){at + 1, c->main.to};
    c->main.to = at;
}

/* A "not" that belongs to a comparison ("not more than 5") denies nothing. */
static bool in_bound(const struct bound *b, size_t n, size_t at)
{
    for (size_t i = 0; i < n; i++)
        if (at >= b[i].from && at <= b[i].at)
            return true;
    return false;
}

/* Whether the word that makes the kind is denied: "may not", "is not covered", "do not". */
static bool denied(const struct word *w, struct range r, size_t at, const struct bound *b, size_t n)
{
    if (word_among(&w[at], NEVER))
        return !in_bound(b, n, at);
    for (size_t i = at + 1; i < r.to && i < at + 3; i++)
        if (word_among(&w[i], "not never no") && !in_bound(b, n, i) &&
            !(i > at + 1 && word_among(&w[i - 1], "and or")))
            return true;
    for (size_t i = at; i > r.from && i + 4 > at; i--) {
        if (word_among(&w[i - 1], "not never neither no nor") && !in_bound(b, n, i - 1))
            return true;
        if (!word_among(&w[i - 1], "be is are been currently generally otherwise longer ever"))
            break;
    }
    return false;
}

static bool is_waiver(const struct word *w, struct range r)
{
    size_t at;

    at = find_word(w, r.from, r.to, WAIVES);
    if (at < r.to && !(at > r.from && word_among(&w[at - 1], "or ,")))
        return true; /* "must be paid or waived" lists what it may be */
    at = find_word(w, r.from, r.to, "not no");
    for (; at < r.to; at = find_word(w, at + 1, r.to, "not no"))
        for (size_t i = at + 1;
             i < r.to && i < at + 3 && !(at > r.from && word_among(&w[at - 1], "' \""));
             i++) /* a reason in quotes, "no longer needed", waives nothing */
            if (word_among(&w[i], "required necessary needed apply applies applicable"))
                return true;
    return false;
}

/* "is one of (A, B)", "any of A or B". */
static bool policy_clause_one_of(const struct word *w, struct range r)
{
    for (size_t i = r.from; i + 2 < r.to; i++)
        if (word_among(&w[i], "one any") && word_is(&w[i + 1], "of") &&
            range_has(w, (struct range){i, r.to}, ", or : |"))
            return true;
    return false;
}

static void find_kind(const struct word *w, bool plain, struct clause *c)
{
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(w, c->main.from, c->main.to, b);
    struct range r = c->main;
    size_t at = find_word(w, r.from, r.to, STATES);

    c->modal = at;
    c->verb = at < r.to;
    if (is_waiver(w, r)) {
        c->kind = CLAUSE_WAIVE;
    } else if (r.from + 1 < r.to && word_among(&w[r.from], "do never don't") &&
               (word_is(&w[r.from], "never") || word_among(&w[r.from + 1], "not") ||
                word_is(&w[r.from], "don't"))) {
        c->kind = CLAUSE_FORBID;
        c->verb = true;
        c->modal = r.from;
    } else if (at == r.to) {
        bool compares = false;

        for (size_t i = 0; i < n; i++)
            compares = compares || !b[i].bare || b[i].each;
        c->kind = plain || compares || policy_clause_one_of(w, r) ||
                          range_has(w, r, "either following only limited")
                      ? CLAUSE_REQUIRE
                      : CLAUSE_NONE;
    } else if (denied(w, r, at, b, n) || word_among(&w[at], BAD) ||
               (word_among(&w[r.from], "no nobody none") && !in_bound(b, n, r.from))) {
        c->kind = word_among(&w[at], BAD) && denied(w, r, at, b, n) ? CLAUSE_PERMIT : CLAUSE_FORBID;
    } else if (word_among(&w[at], MUST)) {
        c->kind = CLAUSE_REQUIRE;
    } else {
        bool only = at + 1 < r.to && word_is(&w[at + 1], "only");

        c->kind = only && range_empty(c->guard) ? CLAUSE_REQUIRE : CLAUSE_PERMIT;
        c->only = c->only || only;
    }
}

/* Whether what is behind a semicolon says something itself, and is no further item of a list. */
static bool stands_alone(const struct word *w, size_t from, size_t to)
{
    struct bound b[BOUNDS_MAX];
    size_t n = bounds_of(w, from, to, b);

    for (size_t i = 0; i < n; i++)
        if (!b[i].bare)
            return true;
    return has_verb(w, from, to) || find_if(w, from, to) < to ||
           find_word(w, from, to, "unless except is are :") < to;
}

/* "but not more than 40" goes on with a comparison. */
static bool bounds_at(const struct word *w, size_t at, size_t to)
{
    struct bound b[BOUNDS_MAX];

    return bounds_of(w, at, to, b) > 0 && b[0].from == at && !b[0].bare;
}

/* Where one clause ends and the next begins, both with a verb of their own. */
static size_t split_at(const struct word *w, size_t from, size_t to)
{
    for (size_t i = from; i + 1 < to; i++) {
        bool comma = word_is(&w[i], ",") && word_among(&w[i + 1], "and but while whereas however");

        if (word_is(&w[i], ";") && stands_alone(w, i + 1, to))
            return i;
        if (word_is(&w[i], "but") && (word_is(&w[i + 1], "not") || has_verb(w, i, to)) &&
            has_verb(w, from, i) && !bounds_at(w, i + 1, to))
            return i;
        if (word_is(&w[i], "and") && has_verb(w, from, i) && find_if(w, from, i) == i &&
            find_word(w, i, to, MUST " " NEVER " can may") < (i + 5 < to ? i + 5 : to))
            return i; /* "A must ... and B must ..." */
        if (comma && has_verb(w, from, i) && has_verb(w, i, to) && find_if(w, from, i) != from &&
            !word_among(&w[i + 2 < to ? i + 2 : i], "if when"))
            return i;
    }
    return to;
}

/* "Payment: each reservation can ...": where what is said begins, behind a label. */
static size_t label_end(const struct word *w, size_t from, size_t to)
{
    for (size_t i = from; i + 1 < to && i < from + 7; i++)
        if (word_is(&w[i], ":"))
            return has_verb(w, i, to) || find_if(w, i, to) < to ||
                           find_word(w, i, to, "unless except") < to
                       ? i + 1
                       : from;
    return from;
}

size_t clauses_of(const struct word *w, size_t from, size_t to, bool plain,
                  struct clause out[CLAUSES_MAX])
{
    size_t n = 0;

    from = label_end(w, from, to);
    while (from < to && n < CLAUSES_MAX) {
        size_t end = split_at(w, from, to);
        struct clause *c = &out[n];
        bool but_not;

        *c = (struct clause){.main = {from, end}};
        while (c->main.from < c->main.to && word_among(&w[c->main.from], ", ; and but while"))
            c->main.from++;
        but_not = c->main.from < c->main.to && word_is(&w[c->main.from], "not") && n > 0;
        take_except(w, c);
        take_guard(w, c);
        take_case(w, c);
        take_without(w, c);
        find_kind(w, plain, c);
        if (but_not)
            c->kind = CLAUSE_FORBID;
        if (!range_empty(c->main) || !range_empty(c->guard))
            n++;
        from = end + (end < to);
    }
    return n;
}
