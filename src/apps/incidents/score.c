/* score.c - see score.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/score.h"

#include "apps/incidents/score/claims.h"
#include "base/buf.h"

#define MISSING_MAX 4096
#define NAME_WORDS_MAX 64 /* of an alternative */
#define ARENA_MAX ((size_t)64 << 20)
#define NO_WORD UINT16_MAX

/* ---- a fact ---- */

struct fact {
    struct score_word words[SCORE_WORDS_MAX];
    size_t n;
};

static size_t score_fact_find(const struct fact *f, const struct score_word *w, bool any)
{
    for (size_t i = 0; i < f->n; i++)
        if (score_word_eq(&f->words[i], w) && (any || f->words[i].denied == w->denied))
            return i;
    return f->n;
}

static void score_fact_read(str text, enum score_words_kind kind, struct fact *f)
{
    struct score_words all = {.at = f->words, .max = SCORE_WORDS_MAX};

    score_words_read(text, kind, &all);
    f->n = 0;
    for (size_t k = 0; k < all.n; k++) {
        struct score_word w = f->words[k];
        size_t i = score_fact_find(f, &w, true);

        if (i == f->n)
            f->words[f->n++] = w;
        f->words[i].code = f->words[i].code || w.code;
    }
}

/* ---- in the statements ---- */

struct stretch {
    size_t counts[SCORE_WORDS_MAX]; /* of each word of the fact in the stretch now */
    size_t weight, needed;          /* of the words that are there; how many of the needed ones */
    size_t best;
    bool best_whole;
    bool there[SCORE_WORDS_MAX]; /* in the best stretch */
};

static bool score_needed(const struct score_word *w)
{
    return w->code || w->digits;
}

static size_t score_weight(const struct score_word *w)
{
    return score_needed(w) ? 2 : 1;
}

/* A stretch with all needed words is better than any without. */
static void score_stretch_compare(const struct fact *f, struct stretch *s, size_t needed_count)
{
    bool whole = s->needed == needed_count;

    if (whole < s->best_whole || (whole == s->best_whole && s->weight <= s->best))
        return;
    s->best = s->weight;
    s->best_whole = whole;
    for (size_t i = 0; i < f->n; i++)
        s->there[i] = s->counts[i] > 0;
}

static void score_stretch_add(const struct fact *f, struct stretch *s, size_t i)
{
    if (i < f->n && s->counts[i]++ == 0) {
        s->weight += score_weight(&f->words[i]);
        s->needed += score_needed(&f->words[i]);
    }
}

static void score_stretch_remove(const struct fact *f, struct stretch *s, size_t i)
{
    if (i < f->n && --s->counts[i] == 0) {
        s->weight -= score_weight(&f->words[i]);
        s->needed -= score_needed(&f->words[i]);
    }
}

/* The words of all clauses that state something. A fact that has only words without content finds
 * them in the text itself. */
static void score_stretch_find(const struct fact *f, const struct score_words *words,
                               struct stretch *s)
{
    size_t size = 4 * f->n + 20, needed_count = 0, tail = 0;

    for (size_t i = 0; i < f->n; i++)
        needed_count += score_needed(&f->words[i]);
    *s = (struct stretch){.best_whole = needed_count == 0};
    for (size_t i = 0; i < words->n; i++) {
        score_stretch_add(f, s, score_fact_find(f, &words->at[i], false));
        for (; words->at[tail].place + size <= words->at[i].place; tail++)
            score_stretch_remove(f, s, score_fact_find(f, &words->at[tail], false));
        score_stretch_compare(f, s, needed_count);
    }
}

static void score_fact_in(const struct score_words *words, str fact, struct arena *a,
                          struct score_fact *out)
{
    struct fact *f = base_alloc(sizeof *f);
    struct stretch *s = base_alloc(sizeof *s);
    size_t whole = 0;
    struct buf missing;

    score_fact_read(fact, SCORE_WORDS_EXPECTED, f);
    score_stretch_find(f, words, s);
    for (size_t i = 0; i < f->n; i++)
        whole += score_weight(&f->words[i]);
    out->share = whole ? (double)s->best / (double)whole : !fact.n;
    out->met = s->best_whole && out->share >= SCORE_SHARE;
    buf_init(&missing, MISSING_MAX);
    for (size_t i = 0; i < f->n; i++)
        if (!s->there[i])
            buf_printf(
                &missing, "%s%.*s", missing.n ? ", " : "", (int)f->words[i].n, f->words[i].text);
    out->missing = arena_dup(a, buf_str(&missing));
    buf_release(&missing);
    free(s);
    free(f);
}

/* ---- cause and object ---- */

static bool claim_counts(const struct claim *c, bool names)
{
    return !(c->flags & (names ? CLAIM_DROPPED : CLAIM_DROPPED | CLAIM_NAMES));
}

enum point_match {
    POINT_STATED, /* all words of an alternative, each denied or not as there */
    POINT_ANY,    /* the same, denied or not */
    POINT_DENIED, /* stated, with a word that is denied there too: "does not exist" */
    POINT_NAME,   /* the words follow each other, and are not denied */
};

static bool score_word_stated(const struct claims *c, const struct claim *in,
                              const struct score_word *w, bool any)
{
    for (size_t i = 0; i < in->n; i++) {
        const struct score_word *x = &c->words.at[in->first + i];

        if (score_word_eq(x, w) && (any || x->denied == w->denied))
            return true;
    }
    return false;
}

static bool score_all_stated(const struct claims *c, const struct claim *in,
                             const struct score_words *alternative, bool any)
{
    for (size_t i = 0; i < alternative->n; i++)
        if (!score_word_stated(c, in, &alternative->at[i], any))
            return false;
    return alternative->n > 0;
}

/* The words of a name follow each other. */
static bool score_name_stated(const struct claims *c, const struct claim *in,
                              const struct score_words *name)
{
    for (size_t from = 0; name->n && from + name->n <= in->n; from++) {
        const struct score_word *x = &c->words.at[in->first + from];
        size_t i = 0;

        while (i < name->n && score_word_eq(&x[i], &name->at[i]))
            i++;
        if (i == name->n && !x[0].denied)
            return true;
    }
    return false;
}

static bool score_has_denied(const struct score_words *words)
{
    for (size_t i = 0; i < words->n; i++)
        if (words->at[i].denied)
            return true;
    return false;
}

/* Whether the clause states one of the alternatives "a | b | c". */
static bool score_point_stated(const struct claims *c, const struct claim *in, str point,
                               enum point_match match)
{
    struct score_word room[NAME_WORDS_MAX];

    while (point.n) {
        size_t bar = str_find(point, STR("|"));
        struct score_words one = {.at = room, .max = NAME_WORDS_MAX};

        score_words_read(str_slice(point, 0, bar), SCORE_WORDS_EXPECTED, &one);
        if (match == POINT_DENIED && !score_has_denied(&one))
            one.n = 0;
        if (match == POINT_NAME ? score_name_stated(c, in, &one)
                                : score_all_stated(c, in, &one, match == POINT_ANY))
            return true;
        point = bar == STR_NONE ? STR("") : str_slice(point, bar + 1, point.n);
    }
    return false;
}

bool score_point_is_usable(str point)
{
    struct score_word room[NAME_WORDS_MAX];

    for (bool more = true; more;) {
        size_t bar = str_find(point, STR("|"));
        struct score_words one = {.at = room, .max = NAME_WORDS_MAX};

        score_words_read(str_slice(point, 0, bar), SCORE_WORDS_EXPECTED, &one);
        if (!one.n)
            return false;
        more = bar != STR_NONE;
        point = str_slice(point, bar + more, point.n);
    }
    return true;
}

static bool score_point_anywhere(const struct claims *c, str point, bool name)
{
    for (size_t i = 0; i < c->n; i++)
        if (claim_counts(&c->at[i], name) &&
            score_point_stated(c, &c->at[i], point, name ? POINT_NAME : POINT_STATED))
            return true;
    return false;
}

/* The clauses from the i-th on that state the cause, SCORE_CAUSE_CLAUSES at most. *root: one of
 * them, or one beside them, says that it names the cause. */
static bool score_cause_from(const struct claims *c, const struct score_texts *cause, size_t i,
                             bool *root)
{
    size_t met = 0, seen;

    *root = i > 0 && (c->at[i - 1].flags & CLAIM_ROOT);
    for (size_t k = 0; k < cause->n; k++) {
        bool stated = false;

        seen = 0;
        for (size_t j = i; j < c->n && !stated && seen < SCORE_CAUSE_CLAUSES; j++) {
            if (!claim_counts(&c->at[j], false))
                continue;
            seen++;
            *root = *root || (c->at[j].flags & CLAIM_ROOT);
            stated = score_point_stated(c, &c->at[j], cause->at[k], POINT_STATED);
        }
        met += stated;
    }
    return met == cause->n;
}

static bool score_cause_stated(const struct claims *c, const struct score_texts *cause, bool *root)
{
    bool stated = false, named = false;

    for (size_t i = 0; i < c->n && !named; i++)
        if (claim_counts(&c->at[i], false) && score_cause_from(c, cause, i, &named))
            stated = true;
        else
            named = false;
    *root = named;
    return stated;
}

/* An analysis that says "the root cause is ..." and says nothing of the expected cause there. */
static bool score_root_is_another(const struct claims *c, const struct score_texts *cause)
{
    bool any = false;

    for (size_t i = 0; i < c->n; i++) {
        if (!claim_counts(&c->at[i], false) || !(c->at[i].flags & CLAIM_ROOT))
            continue;
        any = true;
        for (size_t j = i - (i > 0 && c->at[i].flags & CLAIM_POINTS_BACK); j < c->n && j <= i + 1;
             j++)
            for (size_t k = 0; k < cause->n; k++)
                if (claim_counts(&c->at[j], false) &&
                    score_point_stated(c, &c->at[j], cause->at[k], POINT_STATED))
                    return false;
    }
    return any;
}

/* A clause that names the object and has all points, one denied: "edge-2 has not expired". */
static bool score_cause_denied(const struct claims *c, const struct score_expected *x)
{
    for (size_t i = 0; i < c->n; i++) {
        bool named = false, all = x->cause.n > 0, denied = false;

        for (size_t k = 0; k < x->object.n; k++)
            named = named || score_point_stated(c, &c->at[i], x->object.at[k], POINT_NAME);
        for (size_t k = 0; k < x->cause.n && named && all; k++) {
            all = score_point_stated(c, &c->at[i], x->cause.at[k], POINT_ANY);
            denied = denied || !score_point_stated(c, &c->at[i], x->cause.at[k], POINT_STATED);
            named = !score_point_stated(c, &c->at[i], x->cause.at[k], POINT_DENIED);
        }
        if (named && all && denied && claim_counts(&c->at[i], false))
            return true;
    }
    return false;
}

static str score_first_alternative(str point)
{
    return str_trim(str_slice(point, 0, str_find(point, STR("|"))));
}

static size_t score_list_missing(const struct claims *c, const struct score_texts *t, bool names,
                                 struct buf *out)
{
    size_t missing = 0;

    for (size_t i = 0; i < t->n; i++)
        if (!score_point_anywhere(c, t->at[i], names)) {
            missing++;
            buf_printf(
                out, "%s" STR_FMT, out->n ? ", " : "", STR_ARG(score_first_alternative(t->at[i])));
        }
    return missing;
}

static bool score_wrong_stated(const struct claims *c, const struct score_expected *x,
                               struct buf *out)
{
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < x->not_cause.n; k++)
            if (claim_counts(&c->at[i], false) && !(c->at[i].flags & CLAIM_HEDGED) &&
                score_point_stated(c, &c->at[i], x->not_cause.at[k], POINT_STATED)) {
                buf_printf(out, "blames: " STR_FMT, STR_ARG(x->not_cause.at[k]));
                return true;
            }
    if (score_cause_denied(c, x))
        buf_add(out, STR("denies the cause"));
    else if (x->cause.n && score_root_is_another(c, &x->cause))
        buf_add(out, STR("blames another cause"));
    else
        return false;
    return true;
}

static enum score_verdict score_decide(const struct claims *c, const struct score_expected *x,
                                       struct buf *missing, size_t *not_stated)
{
    bool root = false, caused = score_cause_stated(c, &x->cause, &root);
    bool stated = false;
    size_t objects;

    for (size_t i = 0; i < c->n; i++)
        stated = stated || (claim_counts(&c->at[i], false) && c->at[i].n);
    *not_stated = score_list_missing(c, &x->cause, false, missing);
    objects = score_list_missing(c, &x->object, true, missing);
    *not_stated += objects;
    if (c->refused && !(x->cause.n && caused && root))
        return SCORE_VERDICT_REFUSED;
    if (!stated)
        return SCORE_VERDICT_SILENT;
    if (score_wrong_stated(c, x, missing))
        return SCORE_VERDICT_WRONG;
    if (x->cause.n && !caused)
        return SCORE_VERDICT_CAUSE;
    return objects ? SCORE_VERDICT_OBJECT : SCORE_VERDICT_FOUND;
}

/* ---- the whole ---- */

const char *score_verdict_name(enum score_verdict v)
{
    static const char *const names[] = {
        "found", "nothing_stated", "refused", "wrong_cause", "cause_missing", "object_missing"};

    return names[v];
}

/* The words of the clauses that state something. */
static void score_stated_words(const struct claims *c, struct arena *a, struct score_words *out)
{
    *out = (struct score_words){.at = arena_alloc(a, (c->words.n + 1) * sizeof *out->at),
                                .max = c->words.n};
    for (size_t i = 0; i < c->n; i++)
        if (claim_counts(&c->at[i], false)) {
            memcpy(out->at + out->n, c->words.at + c->at[i].first, c->at[i].n * sizeof *out->at);
            out->n += c->at[i].n;
        }
}

void score_analysis(str analysis, str evidence, const struct score_expected *x, struct arena *a,
                    struct score_result *out)
{
    size_t not_stated, points = x->cause.n + x->object.n;
    struct score_words words;
    struct buf missing;
    struct claims c;
    double facts;

    claims_read(analysis, evidence, a, &c);
    score_stated_words(&c, a, &words);
    *out = (struct score_result){.facts = arena_zero(a, x->facts.n + 1, sizeof *out->facts)};
    for (size_t i = 0; i < x->facts.n; i++) {
        score_fact_in(&words, x->facts.at[i], a, &out->facts[i]);
        out->facts_met += out->facts[i].met;
    }
    buf_init(&missing, MISSING_MAX);
    out->verdict = score_decide(&c, x, &missing, &not_stated);
    out->missing = arena_dup(a, buf_str(&missing));
    buf_release(&missing);
    facts = x->facts.n ? (double)out->facts_met / (double)x->facts.n : 1;
    if (out->verdict == SCORE_VERDICT_SILENT)
        out->score = 0;
    else if (out->verdict != SCORE_VERDICT_FOUND)
        out->score = SCORE_NOT_FOUND *
                     (x->facts.n ? facts : 1 - (double)not_stated / (double)(points + !points));
    else
        out->score = points ? SCORE_FOUND + (1 - SCORE_FOUND) * facts
                            : facts * (facts < SCORE_FACTS_LEAST ? SCORE_NOT_FOUND : 1);
}

void score_fact(str report, str fact, struct arena *a, struct score_fact *out)
{
    struct score_words words;
    struct claims c;

    claims_read(report, STR(""), a, &c);
    score_stated_words(&c, a, &words);
    score_fact_in(&words, fact, a, out);
}

double score_facts(str report, const str *facts, size_t n, bool *found)
{
    struct score_fact one;
    struct arena a;
    size_t met = 0;

    for (size_t i = 0; i < n; i++) {
        arena_init(&a, ARENA_MAX);
        score_fact(report, facts[i], &a, &one);
        arena_release(&a);
        met += one.met;
        if (found)
            found[i] = one.met;
    }
    return n ? (double)met / (double)n : 1;
}
